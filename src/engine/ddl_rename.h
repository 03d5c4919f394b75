/* Tables that change their names within one statement: whether a table may go where another one takes its name. */
#ifndef MILLRACE_ENGINE_DDL_RENAME_H
#define MILLRACE_ENGINE_DDL_RENAME_H

#include "batch.h"
#include "relation.h"

struct mr_engine;

/* What holds of one action of a schema change. */
struct mr_rename_verdict {
    struct mr_str why;              /* the table stays as it is, and why; "" = nothing stands against it */
    bool waits;                     /* nothing is done or told: the event of a later clause decides */
    struct mr_source_action before; /* a rename to be followed first; kind MR_SRC_RENAME_TABLE if there is one */
};

/* Action `part` of ev, which speaks of rel. In `ar`. Errors are the target's, and DATA where names give no table. Main thread. */
enum mr_status mr_ddl_rename_judge(struct mr_engine *e, const struct mr_record *rec, const struct mr_change *ev, size_t part, const struct mr_rel *rel,
                                   struct mr_arena *ar, struct mr_rename_verdict *out, struct mr_error *err) MR_MUST_CHECK;
bool mr_relation_is_same(const struct mr_relation *a, const struct mr_relation *b);

#endif
