/* A row gets another key: what becomes of its elements. Those that the change tells are written under the new key; those that it leaves as they are
 * travel along, as the row itself does (move_row in rowbuild.c). Never are they lost, nor mixed with what was left under the new key. */
#include "rowchild.h"

/* The child's part, and the key that the row had before by the child's tracker; *cb is NULL if the table has never had a row. */
static bool begin_old(struct mr_row_build *b, struct mr_rel *rel, const struct mr_entry *old, struct mr_fields old_key,
                      struct mr_child_build **cb, struct mr_child_key *key)
{
    *cb = NULL;
    if (!mr_child_has_rows(rel))
        return true;
    *cb = mr_child_begin(b, rel);
    if (*cb == NULL)
        return false;
    return mr_child_key_of(*cb, old_key, old->lane_key, key);
}

static bool old_rows_gone(struct mr_row_build *b, const struct mr_entry *old, struct mr_fields old_key)
{
    for (size_t i = 0; i < b->rel->child_count; i++) {
        struct mr_child_build *cb;
        struct mr_child_key key = {0};
        if (!begin_old(b, b->rel->children[i], old, old_key, &cb, &key))
            return false;
        if (cb == NULL)
            continue;
        if (!mr_child_range_of(cb, &key, NULL, 0, 0, MR_LAST_POSITION))
            return false;
        cb->old_ranges = cb->ranges.count;
    }
    return true;
}

/* Cells of a key, without positions. */
static struct mr_value *root_key_cells(const struct mr_child_build *cb, const struct mr_child_key *key, uint32_t count)
{
    struct mr_value *cells = mr_arena_alloc(cb->b.batch->ar, ((size_t)count + 1) * sizeof *cells);
    for (uint32_t i = 0; i < count; i++)
        cells[i] = (struct mr_value){.tag = MR_V_ABSENT};
    for (size_t i = 0; i < key->count; i++)
        cells[key->cells[i].column] = key->cells[i].value;
    for (uint32_t level = 0; level < cb->b.rel->depth; level++)
        cells[cb->pos_column[level]] = (struct mr_value){.tag = MR_V_ABSENT};
    return cells;
}

/* The elements go along with the key. What somebody has left under the new one makes room first: no row of the source had it. */
static bool move_rows(struct mr_child_build *cb, const struct mr_child_key *from)
{
    uint32_t count = (uint32_t)mr_tracker_count(cb->b.rel->tk);
    if (mr_str_eq(from->bytes, cb->key.bytes)) /* said to be another, and is the same */
        return true;
    struct mr_entry room = mr_child_range_entry(cb, &cb->key, NULL, 0, 0, MR_LAST_POSITION);
    struct mr_entry move = {.kind = MR_ROW_MOVE_ALL, .cell_count = count, .match_count = count};
    move.cells = root_key_cells(cb, &cb->key, count);
    move.match = root_key_cells(cb, from, count);
    mr_child_set_key(cb, &cb->key, NULL, 0, NULL, &move);
    return mr_child_add(cb->root, &cb->moves, &room, 2 * (size_t)count) && mr_child_add(cb->root, &cb->moves, &move, 2 * (size_t)count);
}

static bool old_rows_move(struct mr_row_build *b, const struct mr_entry *old, struct mr_fields old_key)
{
    for (size_t i = 0; i < b->rel->child_count; i++) {
        struct mr_child_build *cb;
        struct mr_child_key key = {0};
        if (!begin_old(b, b->rel->children[i], old, old_key, &cb, &key) || (cb != NULL && !move_rows(cb, &key)))
            return false;
    }
    return true;
}

/* Does the change leave elements of some array as they are? */
static bool leaves_elements(const struct mr_row_build *b, bool full)
{
    bool has_rows = false, is_partial = !full;
    for (size_t i = 0; i < b->rel->child_count; i++)
        has_rows = has_rows || mr_child_has_rows(b->rel->children[i]);
    for (size_t i = 0; i < b->ev->elements.count; i++)
        is_partial = is_partial || b->ev->elements.items[i].kind == MR_ELEMENT_KEEP;
    return has_rows && is_partial;
}

/* The elements of an array can be neither written under the new key, nor may they be lost without a word. */
static bool cannot_move(struct mr_row_build *b, bool soft)
{
    mr_fail_data(b->err, MR_CODE_UNSUPPORTED, "%.*s: the key changes, and the event does not bring all arrays, whose elements %s",
                 MR_STR_FMT(b->rel->source_name),
                 soft ? "stay with the row that is marked as deleted" : "are in the hands of another applier");
    mr_error_hint(b->err, soft ? "let the source send whole rows (PostgreSQL: REPLICA IDENTITY FULL)" :
                                 "let the source send whole rows (PostgreSQL: REPLICA IDENTITY FULL), or set target.appliers=1");
    b->outcome = MR_ROW_DEAD;
    return false;
}

bool mr_child_leave_key(struct mr_row_build *b, const struct mr_entry *old, struct mr_fields old_key, bool full)
{
    bool soft = old->kind != MR_ROW_DELETE;
    if (!leaves_elements(b, full))
        return soft || old_rows_gone(b, old, old_key);
    return soft || !b->in->is_one_job ? cannot_move(b, soft) : old_rows_move(b, old, old_key);
}
