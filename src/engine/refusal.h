/* What the target has refused to become: a column that it does not add or alter, a key that its rows forbid, a table that it does not create. What
 * would need it goes to the dead letters, as under `evolve: add`, and everything else goes on. Remembered until the process ends, whatever
 * happens to the trackers in between; the next start tries once more. Keys and tables are tried again after a minute: the rows that stood in the
 * way may be gone, and everything of the table waits for it. Main thread only. */
#ifndef MILLRACE_ENGINE_REFUSAL_H
#define MILLRACE_ENGINE_REFUSAL_H

#include <millrace/base/buf.h>
#include <millrace/base/map.h>
#include <millrace/base/str.h>

enum mr_refused {
    MR_REFUSED_TABLE,   /* it cannot be created */
    MR_REFUSED_COLUMN,  /* `what` (a path, "" any) cannot be added */
    MR_REFUSED_ALTER,   /* `what` (a path) keeps its type */
    MR_REFUSED_KEY,     /* `what` (mr_refusal_key_name) cannot be the key */
};

struct mr_refusal {
    const struct mr_refusal *next;
    enum mr_refused kind;
    struct mr_str what;
    const char *why_z; /* the target's words; NULL: it has failed once, and is tried once more */
    int64_t until_ms;  /* holds until then */
};

struct mr_refusals;

struct mr_refusals *mr_refusals_create(void);
void mr_refusals_destroy(struct mr_refusals *refusals);
/* Note one. False if it had been noted before: what was to be kept from the target came to it again. */
bool mr_refusals_add(struct mr_refusals *refusals, struct mr_str schema, struct mr_str table, enum mr_refused kind,
                     struct mr_str what, const char *why_z);
/* Note a first failure that may have another cause (somebody changed the table at the same time). False if it is not the first. */
bool mr_refusals_try_again(struct mr_refusals *refusals, struct mr_str schema, struct mr_str table, enum mr_refused kind,
                           struct mr_str what);
/* Those of a table; NULL none. Valid until the next is added. */
const struct mr_refusal *mr_refusals_of(const struct mr_refusals *refusals, struct mr_str schema, struct mr_str table);

/* Why the target refuses it, NULL if it does not, or may be asked again. */
const char *mr_refusal_why(const struct mr_refusal *list, enum mr_refused kind, struct mr_str what);
/* One name for a set of key paths, in whatever order they come. */
void mr_refusal_key_name(const struct mr_str *paths, size_t count, struct mr_buf *out);

#endif
