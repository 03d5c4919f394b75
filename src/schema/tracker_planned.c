/* DDL that was cut off. Where the server commits DDL by itself a column may be in the target as it was to be, and the control tables still know
 * it as it was, or not at all. What was planned is on record before the DDL runs; it is held against the catalog here, so that no change of ours is
 * taken for one that somebody has made by hand. */
#include "tracker_parts.h"

#include <millrace/base/mem.h>

#include "fold.h"

struct mr_tk_planned {
    struct mr_tk_planned *next;
    struct mr_tracked_column
        col; /* texts owned; once taken, as the control tables would have it, had the DDL not been cut off */
    uint32_t column;
    bool taken;
};

void mr_tracker_planned(struct mr_tracker *tk, const struct mr_tracked_column *col)
{
    struct mr_tk_planned *p = mr_xcalloc(1, sizeof(*p)), **end = &tk->planned;

    p->col = *col;
    p->col.name = mr_tk_keep(col->name);
    p->col.path = mr_tk_keep(col->path);
    p->col.first.topic = mr_tk_keep_topic(tk, col->first.topic);
    p->col.widened.topic = mr_tk_keep_topic(tk, col->widened.topic);
    while (*end)
        end = &(*end)->next;
    *end = p;
}

void mr_tk_planned_clear(struct mr_tracker *tk)
{
    struct mr_tk_planned *p = tk->planned;

    while (p) {
        struct mr_tk_planned *next = p->next;
        mr_tk_drop(p->col.name);
        mr_tk_drop(p->col.path);
        mr_xfree(p);
        p = next;
    }
    tk->planned = NULL;
}

/* The target has a column that is on record only as planned. What it has seen was never committed. */
static void take_new(struct mr_tracker *tk, struct mr_tk_planned *p)
{
    memset(p->col.counts, 0, sizeof(p->col.counts));
    p->col.conflicts = 0;
    p->col.facts = (struct mr_facts){0};
    mr_tracker_restore(tk, &p->col);
    p->column = (uint32_t)tk->count - 1;
    tk->columns[p->column]->pub.dirty = true;
}

static void take_type(struct mr_tracker *tk, struct mr_tk_planned *p, uint32_t column)
{
    struct mr_tracked_column *col = &tk->columns[column]->pub;

    col->widened_from = col->type;
    col->type = p->col.type;
    col->widened = p->col.widened;
    col->dirty = true;
    p->col.facts = col->facts;
    memcpy(p->col.counts, col->counts, sizeof(p->col.counts));
    p->col.conflicts = col->conflicts;
    p->col.widened_from = col->widened_from;
    p->column = column;
}

static bool take(struct mr_tracker *tk, struct mr_tk_planned *p, const struct mr_catalog_table *now)
{
    int found = mr_catalog_find(tk->dialect, now, p->col.name), column = mr_tk_find(tk, p->col.path);

    if (found < 0 || !tk->dialect->native_holds(now->columns[found].native, p->col.type))
        return false;
    if (column < 0) {
        take_new(tk, p);
        return true;
    }
    const struct mr_tk_column *col = tk->columns[column];
    if (col->pub.by_hand || !mr_str_eq(col->pub.name, p->col.name) ||
        tk->dialect->native_holds(now->columns[found].native, col->pub.type))
        return false;
    take_type(tk, p, (uint32_t)column);
    return true;
}

void mr_tk_take_planned(struct mr_tracker *tk, const struct mr_catalog_table *now)
{
    for (struct mr_tk_planned *p = tk->planned; now->exists && p; p = p->next) {
        p->taken = p->taken || take(tk, p, now);
        tk->changed |= p->taken;
    }
}

const struct mr_tracked_column *mr_tracker_taken(const struct mr_tracker *tk, size_t column)
{
    for (const struct mr_tk_planned *p = tk->planned; p; p = p->next)
        if (p->taken && p->column == column)
            return &p->col;
    return NULL;
}
