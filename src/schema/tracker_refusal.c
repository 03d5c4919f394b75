/* What the target has refused: columns that it does not add, types that it does not change. By path, since a tracker that is made anew learns
 * its columns later. */
#include "tracker_parts.h"

#include <millrace/base/mem.h>

#define MAX_KEY (64 * 1024)

/* "+path" for a column that is not added, "~path" for one that is not altered. */
static void note(struct mr_tracker *tk, char kind, struct mr_str path, const char *why_z)
{
    struct mr_buf key = MR_BUF_INIT(MAX_KEY);

    mr_buf_append_char(&key, kind);
    mr_buf_append_str(&key, path);
    if (!tk->refused)
        tk->refused = mr_map_create();
    if (!mr_map_get(tk->refused, mr_buf_str(&key)))
        mr_map_put(tk->refused, mr_buf_str(&key), mr_xstrndup(why_z, strlen(why_z)));
    mr_buf_free(&key);
}

static const char *find(const struct mr_tracker *tk, char kind, struct mr_str path)
{
    struct mr_buf key = MR_BUF_INIT(MAX_KEY);

    if (!tk->refused)
        return NULL;
    mr_buf_append_char(&key, kind);
    mr_buf_append_str(&key, path);
    const char *why_z = mr_map_get(tk->refused, mr_buf_str(&key));
    mr_buf_free(&key);
    return why_z;
}

void mr_tracker_refuse_new(struct mr_tracker *tk, struct mr_str path, const char *why_z)
{
    note(tk, '+', path, why_z);
}

const char *mr_tk_refused_new(const struct mr_tracker *tk, struct mr_str path)
{
    const char *why_z = find(tk, '+', path);

    return why_z ? why_z : find(tk, '+', MR_STR(""));
}

const char *mr_tk_refused_alter(const struct mr_tracker *tk, struct mr_str path)
{
    return find(tk, '~', path);
}

void mr_tk_refusals_clear(struct mr_tracker *tk)
{
    mr_map_destroy(tk->refused, mr_xfree);
    tk->refused = NULL;
}

void mr_tracker_refuse_alter(struct mr_tracker *tk, struct mr_str path, const char *why_z)
{
    int found = mr_tk_find(tk, path);

    note(tk, '~', path, why_z);
    if (found < 0)
        return;
    struct mr_tk_column *col = tk->columns[found];
    col->alter_refused = mr_tk_refused_alter(tk, path);
    /* A type that only the configuration asks for, not yet the target's. */
    if (col->stored.kind != MR_T_NONE && !mr_type_eq(col->stored, col->pub.type) && mr_tk_needs_alter(tk, col, col->pub.type)) {
        col->pub.type = col->stored;
        col->pub.configured = false;
        col->seen = MR_TYPE(MR_T_NONE);
    }
}
