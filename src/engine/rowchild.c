/* From the elements of a change to entries of the tables of arrays. Everything is judged before anything is folded, here and in the root's table, so
 * that a record is taken as a whole or not at all. See ARCHITECTURE.md, "Arrays as tables". */
#include "rowchild.h"

#include <millrace/base/hash.h>

#include "lane.h"

/* What one record may come to; more is a dead letter, since a few bytes of an array could else fill the memory: cells of all its rows. */
#define MAX_CELLS ((size_t)1 << 25)

/* ---- taking part ---- */

static struct mr_str position_path(uint32_t level, struct mr_arena *ar)
{
    return level == 0 ? MR_OWN_PATH("_pos") : mr_arena_printf(ar, "\\_pos%u", (unsigned)level + 1);
}

static bool is_position_path(struct mr_str path)
{
    return mr_str_starts(path, MR_OWN_PATH("_pos"));
}

/* The root's key fields under the paths that they have in the child, and a field for each position. */
static struct mr_fields key_fields(struct mr_row_build *b, const struct mr_rel *rel, struct mr_fields root_key)
{
    struct mr_arena *ar = b->batch->ar;
    struct mr_field *items = mr_arena_zalloc(ar, (root_key.count + rel->depth + 1) * sizeof *items);
    for (size_t i = 0; i < root_key.count; i++) {
        items[i] = root_key.items[i];
        items[i].path = mr_arena_printf(ar, "%s%.*s", MR_ROOT_KEY_MARK, MR_STR_FMT(root_key.items[i].path));
    }
    for (uint32_t level = 0; level < rel->depth; level++) {
        struct mr_field *pos = &items[root_key.count + level];
        pos->path = position_path(level, ar);
        pos->type = MR_TYPE(MR_T_INT32);
        pos->type.origin = MR_SCHEMA;
        pos->value = mr_value_int(0);
    }
    return (struct mr_fields){items, root_key.count + rel->depth};
}

static const struct mr_judged *find_judged(const struct mr_judged *cells, size_t count, int column)
{
    for (size_t i = 0; i < count; i++)
        if ((int)cells[i].column == column)
            return &cells[i];
    return NULL;
}

/* Has the type of a key column changed since the batch has folded rows by it? */
static bool has_new_key_type(const struct mr_row_build *b, size_t count, size_t i, struct mr_type type)
{
    const struct mr_rel *rel = b->rel;
    bool is_remembered = rel->batch_seq == b->batch->seq && rel->fold != NULL && rel->key_type_count == count;
    return !b->batch->unfolded && is_remembered && !mr_type_eq(rel->key_types[i], type);
}

/* The root's key by the child's tracker. */
static bool judge_key(struct mr_child_build *cb, struct mr_fields fields, uint64_t lane_key, struct mr_child_key *out)
{
    struct mr_row_build *b = &cb->b;
    struct mr_intake *in = b->in;
    size_t start = in->judged_count;
    bool ok = mr_row_judge_all(b, fields, 0, true);
    size_t judged = in->judged_count - start;
    out->cells = mr_arena_alloc(b->batch->ar, (judged + 1) * sizeof *out->cells);
    memcpy(out->cells, in->judged + start, judged * sizeof *out->cells);
    out->count = judged;
    out->lane_key = lane_key;
    in->judged_count = start;

    const struct mr_str *paths = NULL;
    size_t count = mr_tracker_key(b->rel->tk, &paths);
    mr_buf_clear(&in->key);
    for (size_t i = 0; ok && i < count; i++) {
        int column = mr_tracker_find(b->rel->tk, paths[i]);
        const struct mr_judged *j = find_judged(out->cells, judged, column);
        if (is_position_path(paths[i]))
            continue;
        if (column < 0 || j == NULL || j->value.tag <= MR_V_NULL) {
            mr_fail_data(b->err, MR_CODE_NULL_KEY, "%.*s: key column \"%.*s\" is null or missing", MR_STR_FMT(b->rel->source_name),
                         MR_STR_FMT(paths[i]));
            b->outcome = MR_ROW_DEAD;
            return false;
        }
        struct mr_type type = mr_tracker_column(b->rel->tk, (size_t)column)->type;
        if (has_new_key_type(b, count, i, type)) {
            b->outcome = MR_ROW_SPLIT;
            return false;
        }
        mr_value_append_key(j->value, type, &in->key);
    }
    out->bytes = mr_arena_copy(b->batch->ar, mr_buf_str(&in->key));
    return ok;
}

static bool prepare(struct mr_child_build *cb, struct mr_fields root_key, uint64_t lane_key)
{
    struct mr_row_build *b = &cb->b;
    if (!mr_row_has_table(b))
        return false;
    b->key = key_fields(b, b->rel, root_key);
    if (!mr_row_settle_key(b) || !judge_key(cb, b->key, lane_key, &cb->key))
        return false;
    for (uint32_t level = 0; level < b->rel->depth; level++) {
        int column = mr_tracker_find(b->rel->tk, b->key.items[root_key.count + level].path);
        cb->pos_column[level] = column < 0 ? 0 : (uint32_t)column;
    }
    return true;
}

bool mr_child_key_of(struct mr_child_build *cb, struct mr_fields root_key, uint64_t lane_key, struct mr_child_key *out)
{
    if (judge_key(cb, key_fields(cb->root, cb->b.rel, root_key), lane_key, out))
        return true;
    cb->root->outcome = cb->b.outcome;
    return false;
}

struct mr_child_build *mr_child_begin(struct mr_row_build *b, struct mr_rel *rel)
{
    if (rel->build_seq == b->in->build_seq && ((struct mr_child_build *)rel->build)->key.cells != NULL)
        return rel->build;
    struct mr_child_build *cb = rel->build_seq == b->in->build_seq ? rel->build : mr_arena_zalloc(b->batch->ar, sizeof *cb);
    cb->root = b;
    cb->b = *b;
    cb->b.rel = rel;
    cb->b.children = NULL;
    cb->b.key_changed = false;
    rel->build_seq = b->in->build_seq;
    rel->build = cb;
    cb->next = b->children;
    b->children = cb;
    mr_tracker_row_begin(rel->tk, &b->place);
    if (prepare(cb, b->key, b->lane_key))
        return cb;
    b->outcome = cb->b.outcome;
    return NULL;
}

bool mr_child_has_rows(const struct mr_rel *rel)
{
    return rel->exists || mr_tracker_count(rel->tk) > 0;
}

/* ---- entries ---- */

static bool too_large(struct mr_row_build *b)
{
    mr_fail_data(b->err, MR_CODE_TOO_LARGE, "%.*s: the rows of the record's arrays have more than %zu cells",
                 MR_STR_FMT(b->rel->source_name), MAX_CELLS);
    mr_error_hint(b->err, "unwrap.array.encoding=json keeps arrays in one column each");
    b->outcome = MR_ROW_DEAD;
    return false;
}

bool mr_child_add(struct mr_row_build *root, struct mr_child_list *list, const struct mr_entry *e, size_t cells)
{
    root->cell_total += cells;
    if (root->cell_total > MAX_CELLS)
        return too_large(root);
    if (list->count == list->cap) {
        size_t cap = list->cap == 0 ? 16 : list->cap * 2;
        struct mr_entry *bigger = mr_arena_alloc(root->batch->ar, cap * sizeof *bigger);
        if (list->count > 0)
            memcpy(bigger, list->items, list->count * sizeof *bigger);
        list->items = bigger;
        list->cap = cap;
    }
    list->items[list->count] = *e;
    list->items[list->count].origin = root->origin;
    list->items[list->count].unit = root->in->build_seq;
    list->items[list->count++].merged = 1;
    return true;
}

static bool add_entry(struct mr_row_build *root, struct mr_child_build *cb, const struct mr_entry *e, size_t cells)
{
    return mr_child_add(root, e->kind == MR_ROW_DELETE_RANGE ? &cb->ranges : &cb->rows, e, cells);
}

void mr_child_set_key(const struct mr_child_build *cb, const struct mr_child_key *key, const uint32_t *pos, uint32_t count,
                    const uint32_t *end, struct mr_entry *e)
{
    size_t len = key->bytes.len + ((size_t)count + (end != NULL)) * 4;
    char *bytes = mr_arena_alloc(cb->b.batch->ar, len + 1), *p = bytes + key->bytes.len;
    memcpy(bytes, key->bytes.ptr, key->bytes.len);
    for (uint32_t i = 0; i < count + (end != NULL); i++) {
        uint32_t n = i < count ? pos[i] : *end;
        for (int shift = 24; shift >= 0; shift -= 8)
            *p++ = (char)(n >> shift);
    }
    e->key = mr_str_of(bytes, len);
    e->root_len = (uint32_t)key->bytes.len;
    e->lane_key = key->lane_key;
    mr_entry_hash(e);
}

struct mr_entry mr_child_range_entry(struct mr_child_build *cb, const struct mr_child_key *key, const uint32_t *pos, uint32_t count, uint32_t from,
                                uint32_t end)
{
    uint32_t cells = cb->pos_column[count];
    for (size_t i = 0; i < key->count; i++)
        cells = key->cells[i].column > cells ? key->cells[i].column : cells;
    struct mr_entry e = {.kind = MR_ROW_DELETE_RANGE, .from = from, .end = end, .cell_count = cells + 1};
    e.cells = mr_arena_zalloc(cb->b.batch->ar, e.cell_count * sizeof *e.cells);
    for (size_t i = 0; i < key->count; i++) /* the positions among them are dummies */
        e.cells[key->cells[i].column] = key->cells[i].value;
    for (uint32_t level = 0; level < cb->b.rel->depth; level++)
        e.cells[cb->pos_column[level]] = level < count ? mr_value_int(pos[level]) : (struct mr_value){.tag = MR_V_ABSENT};
    e.cells[cb->pos_column[count]] = mr_value_int(from);
    mr_child_set_key(cb, key, pos, count, &end, &e);
    return e;
}

bool mr_child_range_of(struct mr_child_build *cb, const struct mr_child_key *key, const uint32_t *pos, uint32_t count, uint32_t from,
                       uint32_t end)
{
    struct mr_entry e = mr_child_range_entry(cb, key, pos, count, from, end);
    return add_entry(cb->root, cb, &e, 2 * mr_tracker_count(cb->b.rel->tk));
}

bool mr_child_range(struct mr_row_build *b, struct mr_rel *rel, const uint32_t *pos, uint32_t count, uint32_t from, uint32_t end)
{
    if (!mr_child_has_rows(rel))
        return true;
    struct mr_child_build *cb = mr_child_begin(b, rel);
    return cb != NULL && mr_child_range_of(cb, &cb->key, pos, count, from, end);
}

/* A partial update may set an element beyond the array's end: those between are null then. */
static bool fill_before(struct mr_child_build *cb, const struct mr_element *el)
{
    uint32_t depth = cb->b.rel->depth, place = el->pos[depth - 1], column = cb->pos_column[depth - 1], count = column + 1;
    struct mr_entry e = {.kind = MR_ROW_FILL, .from = column, .end = place};
    if (place == 0)
        return true;
    for (size_t i = 0; i < cb->key.count; i++)
        count = cb->key.cells[i].column >= count ? cb->key.cells[i].column + 1 : count;
    for (uint32_t level = 0; level < depth; level++)
        count = cb->pos_column[level] >= count ? cb->pos_column[level] + 1 : count;
    e.cell_count = count;
    e.cells = mr_arena_zalloc(cb->b.batch->ar, count * sizeof *e.cells);
    for (size_t i = 0; i < cb->key.count; i++)
        e.cells[cb->key.cells[i].column] = cb->key.cells[i].value;
    for (uint32_t level = 0; level < depth; level++)
        e.cells[cb->pos_column[level]] = mr_value_int(el->pos[level]);
    mr_child_set_key(cb, &cb->key, el->pos, depth, NULL, &e);
    return add_entry(cb->root, cb, &e, 2 * (size_t)count);
}

/* An element as a row. */
static bool add_row(struct mr_row_build *b, struct mr_rel *rel, const struct mr_element *el)
{
    struct mr_child_build *cb = mr_child_begin(b, rel);
    if (cb == NULL)
        return false;
    struct mr_intake *in = b->in;
    bool is_whole = el->kind == MR_ELEMENT_ROW;
    size_t start = in->judged_count;
    for (size_t i = 0; i < cb->key.count; i++)
        mr_row_put(&cb->b, cb->key.cells[i].column, true, cb->key.cells[i].value);
    for (uint32_t level = 0; level < rel->depth; level++) /* later ones win */
        mr_row_put(&cb->b, cb->pos_column[level], true, mr_value_int(el->pos[level]));
    if (!mr_row_judge_all(&cb->b, el->fields, 0, false)) {
        b->outcome = cb->b.outcome;
        return false;
    }
    struct mr_entry e = {.kind = MR_ROW_UPSERT, .full = is_whole, .is_new = b->ev->is_new && is_whole};
    e.cells = mr_row_cells(&cb->b, start, in->judged_count, is_whole, &e.cell_count);
    mr_row_null_removed(&cb->b, el->removed, e.cells, e.cell_count);
    in->judged_count = start;
    mr_child_set_key(cb, &cb->key, el->pos, rel->depth, NULL, &e);
    rel->rows_seen++;
    return add_entry(b, cb, &e, 2 * (size_t)e.cell_count) && (el->is_inner || fill_before(cb, el));
}

/* ---- what a change says ---- */

/* Arrays within whole elements, by table and in order; and which arrays stand by themselves. */
static void sort_out(struct mr_row_build *b, struct mr_rel *const *rels)
{
    const struct mr_elements *els = &b->ev->elements;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < els->count; i++) {
            if (els->items[i].kind != MR_ELEMENT_LENGTH || !els->items[i].is_inner || rels[i] == NULL)
                continue;
            struct mr_rel *rel = rels[i];
            if (rel->build_seq != b->in->build_seq) {
                rel->build = mr_arena_zalloc(b->batch->ar, sizeof(struct mr_child_build));
                rel->build_seq = b->in->build_seq;
            }
            struct mr_child_build *cb = rel->build;
            if (pass == 1 && cb->inner == NULL) {
                cb->inner = mr_arena_alloc(b->batch->ar, (cb->inner_count + 1) * sizeof *cb->inner);
                cb->inner_count = 0;
            }
            if (pass == 1)
                cb->inner[cb->inner_count] = (uint32_t)i;
            cb->inner_count++;
        }
    }
}

/* A range of elements of `rel`, and with them everything within. */
static bool clear_family(struct mr_row_build *b, struct mr_rel *rel, const uint32_t *pos, uint32_t count, uint32_t from, uint32_t end)
{
    const struct mr_rel *root = b->rel;
    if (from < end && !mr_child_range(b, rel, pos, count, from, end))
        return false;
    for (size_t i = 0; i < root->child_count; i++) {
        struct mr_rel *in = root->children[i];
        if (mr_array_is_within(in->array, rel->array) && !mr_child_range(b, in, pos, count, from, end))
            return false;
    }
    return true;
}

static bool fill_gaps(struct mr_row_build *b, struct mr_rel *rel, const uint32_t *pos, uint32_t count, uint32_t from, uint32_t end,
                      uint32_t set)
{
    for (size_t i = 0; i < b->rel->child_count; i++) {
        struct mr_rel *in = b->rel->children[i];
        if (mr_array_is_within(in->array, rel->array) && !mr_child_gaps(b, in, pos, count, from, end, set))
            return false;
    }
    return true;
}

/* Does an array that stands by itself replace the arrays whose outermost one within `outer` (NULL: the row) has that path? */
static bool is_mentioned(const struct mr_row_build *b, const struct mr_rel *outer, struct mr_str step, uint32_t set)
{
    struct mr_buf path = MR_BUF_INIT(1u << 20);
    if (outer != NULL) {
        mr_buf_append_str(&path, outer->array);
        mr_buf_append_z(&path, MR_ARRAY_MARK);
    }
    mr_buf_append_str(&path, step);
    const struct mr_rel *top = mr_rel_find_child(b->rel, mr_buf_str(&path));
    mr_buf_free(&path);
    return top != NULL && top->mention_seq == b->in->build_seq && (set == 0 || top->mention_set == set);
}

/* Arrays at or below a path that is gone, in the row (outer NULL) or in an element. */
static bool remove_arrays(struct mr_row_build *b, const struct mr_rel *outer, struct mr_str path, const uint32_t *pos, uint32_t count, uint32_t set)
{
    size_t skip = outer != NULL ? outer->array.len + sizeof MR_ARRAY_MARK - 1 : 0;
    for (size_t i = 0; i < b->rel->child_count; i++) {
        struct mr_rel *rel = b->rel->children[i];
        if (outer != NULL && !mr_array_is_within(rel->array, outer->array))
            continue;
        struct mr_str step = mr_array_first_step(mr_str_of(rel->array.ptr + skip, rel->array.len - skip));
        if (!mr_path_is_below(step, path) || is_mentioned(b, outer, step, set))
            continue;
        if (!mr_child_range(b, rel, pos, count, 0, MR_LAST_POSITION))
            return false;
    }
    return true;
}

/* A whole row does not mention these: they are empty. */
static bool remove_unmentioned(struct mr_row_build *b)
{
    for (size_t i = 0; i < b->rel->child_count; i++) {
        struct mr_rel *rel = b->rel->children[i];
        if (!is_mentioned(b, NULL, mr_array_first_step(rel->array), 0) &&
            !mr_child_range(b, rel, NULL, 0, 0, MR_LAST_POSITION))
            return false;
    }
    return true;
}

static bool take_part(struct mr_row_build *b, struct mr_rel *rel, const struct mr_element *el)
{
    for (size_t i = 0; i < el->removed.count; i++)
        if (!remove_arrays(b, rel, el->removed.items[i].path, el->pos, rel->depth, el->set + 1))
            return false;
    return add_row(b, rel, el);
}

static bool take_element(struct mr_row_build *b, struct mr_rel *rel, const struct mr_element *el)
{
    const uint32_t *pos = el->pos;
    uint32_t around = rel->depth - 1;
    switch ((enum mr_element_kind)el->kind) {
    case MR_ELEMENT_LENGTH:
        if (!mr_child_range(b, rel, pos, around, el->length, MR_LAST_POSITION))
            return false;
        return el->is_inner || fill_gaps(b, rel, pos, around, 0, MR_LAST_POSITION, el->set);
    case MR_ELEMENT_ROW:
        if (!el->is_inner && !fill_gaps(b, rel, pos, around, pos[around], pos[around] + 1, el->set))
            return false;
        return add_row(b, rel, el);
    case MR_ELEMENT_PART:
        return take_part(b, rel, el);
    case MR_ELEMENT_CUT:
        return clear_family(b, rel, pos, around, el->length, MR_LAST_POSITION);
    case MR_ELEMENT_KEEP:
        break;
    }
    return true;
}

/* Which arrays are told of by themselves: a removed path around them must not empty them. */
static void note_mentioned(struct mr_row_build *b, struct mr_rel *const *rels)
{
    for (size_t i = 0; i < b->ev->elements.count; i++) {
        const struct mr_element *el = &b->ev->elements.items[i];
        bool is_array = el->kind == MR_ELEMENT_LENGTH || el->kind == MR_ELEMENT_KEEP;
        if (!is_array || el->is_inner || rels[i] == NULL)
            continue;
        rels[i]->mention_seq = b->in->build_seq;
        rels[i]->mention_set = el->set + 1;
    }
}

static bool cannot_place(struct mr_row_build *b, const struct mr_element *el)
{
    mr_fail_data(b->err, MR_CODE_UNSUPPORTED,
                 "the update of \"%.*s\" cannot be applied without the document: %u names a position in an array, or a member, and what is known "
                 "of the table does not tell which", MR_STR_FMT(el->array), el->pos[el->depth - 1]);
    mr_error_hint(b->err, "let the connector send full documents: capture.mode change_streams_update_full or "
                          "change_streams_update_full_with_pre_image");
    mr_error_field(b->err, el->array.ptr, el->array.len);
    b->outcome = MR_ROW_DEAD;
    return false;
}

bool mr_row_children(struct mr_row_build *b, const struct mr_entry *e, const struct mr_entry *old, struct mr_fields old_key, bool full)
{
    if (!b->ev->has_elements || (b->ev->elements.count == 0 && b->rel->child_count == 0))
        return true;
    struct mr_rel *const *rels = b->element_rels;
    b->lane_key = e->lane_key;
    sort_out(b, rels);
    if (old != NULL && !mr_child_leave_key(b, old, old_key, full))
        return false;
    note_mentioned(b, rels);
    if (full && !remove_unmentioned(b))
        return false;
    for (size_t i = 0; i < b->ev->removed.count; i++)
        if (!remove_arrays(b, NULL, b->ev->removed.items[i].path, NULL, 0, 0))
            return false;
    for (size_t i = 0; i < b->ev->elements.count; i++) {
        bool is_row = b->ev->elements.items[i].kind == MR_ELEMENT_ROW || b->ev->elements.items[i].kind == MR_ELEMENT_PART;
        if (rels[i] == NULL && is_row)
            return cannot_place(b, &b->ev->elements.items[i]);
    }
    for (size_t i = 0; i < b->ev->elements.count; i++)
        if (rels[i] != NULL && !take_element(b, rels[i], &b->ev->elements.items[i]))
            return false;
    return true;
}

bool mr_row_children_gone(struct mr_row_build *b, const struct mr_entry *e)
{
    b->lane_key = e->lane_key;
    for (size_t i = 0; i < b->rel->child_count; i++)
        if (!mr_child_range(b, b->rel->children[i], NULL, 0, 0, MR_LAST_POSITION))
            return false;
    return true;
}

/* ---- all or nothing ---- */

static void fold_list(struct mr_row_build *b, struct mr_fold *fold, struct mr_child_list *list)
{
    struct mr_str name = b->rel->target_table; /* the root's: its rows and these are in one lane */
    for (size_t i = 0; i < list->count; i++) {
        struct mr_entry *e = &list->items[i];
        e->lane = mr_lane_of(name, e->lane_key, b->part->lanes);
        if (b->rec->position > b->part->dispatched[e->lane])
            mr_fold_add(fold, b->batch->ar, e);
    }
}

/* The ranges before the rows, as they are applied. What is void in the fold is so in lanes that have passed the record, too: they have no entries. */
static void fold_child(struct mr_row_build *b, struct mr_child_build *cb)
{
    struct mr_rel *rel = cb->b.rel;
    mr_row_remember_key_types(&cb->b);
    struct mr_fold *fold = mr_batch_fold(b->batch, rel);
    if (cb->moves.count > 0)
        mr_fold_order(fold, b->batch->ar);
    fold_list(b, fold, &cb->moves);
    if (!fold->ordered) {
        mr_fold_void(fold, cb->ranges.items, cb->old_ranges);
        mr_fold_void(fold, cb->ranges.items + cb->old_ranges, cb->ranges.count - cb->old_ranges);
    }
    if (rel->exists || fold->ordered) /* else there is nothing in the target that could go */
        fold_list(b, fold, &cb->ranges);
    fold_list(b, fold, &cb->rows);
}

void mr_row_children_fold(struct mr_row_build *b)
{
    for (size_t c = 0; b->children != NULL && c < b->rel->child_count; c++) { /* outer arrays first */
        struct mr_rel *rel = b->rel->children[c];
        struct mr_child_build *cb = rel->build_seq == b->in->build_seq ? rel->build : NULL;
        if (cb == NULL || cb->key.cells == NULL)
            continue;
        fold_child(b, cb);
        mr_tracker_row_commit(rel->tk);
        if (mr_tracker_changed(rel->tk) && !rel->shape_dirty) {
            rel->shape_dirty = true;
            rel->shape_place = b->place;
        }
    }
}

void mr_row_children_forget(struct mr_row_build *b)
{
    for (struct mr_child_build *cb = b->children; cb != NULL; cb = cb->next) {
        mr_tracker_row_rollback(cb->b.rel->tk);
        mr_row_restore_key(&cb->b);
    }
}
