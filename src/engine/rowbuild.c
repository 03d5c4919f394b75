/* From a change to fold entries. Here the table's settings are applied: which fields are the key, what a delete means, what a missing
 * column means. Every field goes through the tracker; if one is refused the row leaves no trace. */
#include "rowbuild_parts.h"

#include "dotted.h"
#include "lane.h"
#include "patches.h"
#include "positions.h"

bool mr_rowbuild_is_barrier(const struct mr_change *ev)
{
    return ev->op == MR_OP_TRUNCATE || ev->old_key.count > 0;
}

static bool is_skipped_lane(const struct mr_row_build *b, uint32_t lane)
{
    return b->rec->position <= b->part->dispatched[lane];
}

void mr_row_fold(struct mr_row_build *b, struct mr_entry *e)
{
    e->origin = b->origin;
    e->unit = b->in->build_seq;
    e->merged = 1;
    e->lane = mr_lane_of(b->rel->target_table, e->lane_key, b->part->lanes);
    struct mr_fold *fold = mr_batch_fold(b->batch, b->rel);
    if (!is_skipped_lane(b, e->lane))
        mr_fold_add(fold, b->batch->ar, e);
}

static struct mr_field deleted_field(bool deleted)
{
    struct mr_field f = {.path = MR_DELETED_PATH, .type = MR_TYPE(MR_T_BOOL), .value = mr_value_bool(deleted)};
    f.type.origin = MR_SCHEMA;
    return f;
}

/* What happens to the row of the old key: the judged fields from `start` on. */
static bool build_old_key(struct mr_row_build *b, size_t start, struct mr_entry *e)
{
    struct mr_judged *all = b->in->judged;
    size_t end = b->in->judged_count;
    bool soft = b->rel->set->delete_mode == MR_DELETE_SOFT;
    *e = (struct mr_entry){.kind = soft ? MR_ROW_UPSERT : MR_ROW_DELETE};
    b->in->judged = all + start; /* the key of these fields alone */
    bool ok = mr_row_key(b, end - start, e);
    b->in->judged = all;
    if (!ok)
        return false;
    e->cells = mr_row_cells(b, start, end, false, &e->cell_count);
    int mark = soft ? mr_tracker_find(b->rel->tk, MR_DELETED_PATH) : -1;
    if (mark >= 0)
        e->cells[mark] = mr_value_bool(true);
    return true;
}

/* Does the row leave a column as it is? Then the row of the old key has to bring it along. */
static bool leaves_something(const struct mr_row_build *b, const struct mr_entry *e)
{
    for (uint32_t i = 0; i < e->cell_count; i++)
        if ((e->cells[i].tag <= MR_V_UNAVAILABLE || e->cells[i].tag == MR_V_PATCH) && !mr_tracker_column(b->rel->tk, i)->is_key)
            return true;
    return false;
}

/* The old key's row under the new key: what the update does not tell travels along. One transaction must hold both keys' lanes: such changes are
 * barriers. Order counts from here on: nothing more is merged in this batch. */
static bool move_row(struct mr_row_build *b, const struct mr_entry *old, const struct mr_entry *e)
{
    if (old->kind != MR_ROW_DELETE || !b->in->is_one_job || !leaves_something(b, e))
        return false;
    struct mr_entry move = *e;
    move.kind = MR_ROW_MOVE;
    move.full = move.is_new = false;
    move.cells = mr_arena_alloc(b->batch->ar, (e->cell_count + 1) * sizeof *move.cells);
    move.match = mr_arena_alloc(b->batch->ar, (e->cell_count + 1) * sizeof *move.match);
    move.match_count = e->cell_count;
    for (uint32_t i = 0; i < e->cell_count; i++) {
        bool is_key = mr_tracker_column(b->rel->tk, i)->is_key;
        move.cells[i] = is_key ? e->cells[i] : (struct mr_value){.tag = MR_V_ABSENT};
        move.match[i] = is_key ? mr_entry_cell(old, i) : (struct mr_value){.tag = MR_V_ABSENT};
    }
    mr_batch_fold(b->batch, b->rel)->ordered = true;
    mr_row_fold(b, &move);
    return true;
}

/* Under primary_key: [fields] the producer does not tell of key changes; the before image does. */
static struct mr_fields old_key_of(struct mr_row_build *b)
{
    struct mr_fields none = {0};
    if (b->rel->set->delete_mode == MR_DELETE_IGNORE)
        return none;
    if (b->ev->old_key.count > 0)
        return b->ev->old_key;
    if (b->rel->set->key_mode != MR_KEY_FIELDS || b->ev->before.count == 0)
        return none;
    struct mr_fields old = {0};
    struct mr_error ignored = {0};
    struct mr_error *keep = b->err;
    b->err = &ignored;
    bool ok = mr_row_pick_fields(b, b->ev->before, none, none, &old);
    b->err = keep;
    for (size_t i = 0; ok && i < old.count; i++)
        ok = old.items[i].value.tag > MR_V_NULL; /* the image does not tell, and no row of the target has such a key */
    if (!ok)
        return none;
    struct mr_buf a = MR_BUF_INIT(1u << 20), c = MR_BUF_INIT(1u << 20);
    for (size_t i = 0; i < old.count; i++) {
        mr_value_append_key(old.items[i].value, mr_value_type(old.items[i].value), &a);
        mr_value_append_key(b->key.items[i].value, mr_value_type(b->key.items[i].value), &c);
    }
    bool same = mr_str_eq(mr_buf_str(&a), mr_buf_str(&c));
    mr_buf_free(&a);
    mr_buf_free(&c);
    return same ? none : old;
}

/* ---- the operations ---- */

static bool build_upsert(struct mr_row_build *b, bool deleted_mark)
{
    const struct mr_change *ev = b->ev;
    bool soft = b->rel->set->delete_mode == MR_DELETE_SOFT;
    bool full = !ev->partial && !deleted_mark && b->rel->set->missing != MR_MISSING_KEEP;
    if (!mr_row_judge_all(b, b->key, 0, true))
        return false;
    if (!(deleted_mark ? mr_row_judge_deleted(b, b->key.count, &full) : mr_row_judge_row(b, ev->after, b->key.count)))
        return false;
    if (!mr_row_judge_all(b, ev->meta, b->key.count + ev->after.count, false))
        return false;
    if (soft) {
        struct mr_field mark = deleted_field(deleted_mark);
        if (!mr_row_judge(b, &mark, b->key.count + ev->after.count + ev->meta.count, false))
            return false;
    }

    size_t end = b->in->judged_count;
    struct mr_fields old_key = deleted_mark ? (struct mr_fields){0} : old_key_of(b);
    if (!mr_row_judge_all(b, old_key, 0, true)) /* before any key is made: the old one may be of a wider type */
        return false;
    struct mr_entry e = {.kind = MR_ROW_UPSERT, .full = full}, old;
    if (!mr_row_key(b, end, &e) || (old_key.count > 0 && !build_old_key(b, end, &old)))
        return false;
    e.cells = mr_row_cells(b, 0, end, full, &e.cell_count);
    mr_row_null_removed(b, ev->removed, e.cells, e.cell_count);
    e.is_new = ev->is_new && full && old_key.count == 0 && b->rel->set->delete_mode == MR_DELETE_HARD;
    if (!deleted_mark && !mr_row_children(b, &e, old_key.count > 0 ? &old : NULL, old_key, full))
        return false;
    mr_row_remember_key_types(b);
    if (old_key.count > 0 && !move_row(b, &old, &e))
        mr_row_fold(b, &old);
    mr_row_fold(b, &e);
    return true;
}

static bool build_delete(struct mr_row_build *b)
{
    if (!b->rel->exists && mr_tracker_count(b->rel->tk) == 0) {
        b->batch->skipped++; /* no table, no row */
        return true;
    }
    if (!mr_row_judge_all(b, b->key, 0, true))
        return false;
    struct mr_entry e = {.kind = MR_ROW_DELETE};
    size_t end = b->in->judged_count;
    if (!mr_row_key(b, end, &e))
        return false;
    e.cells = mr_row_cells(b, 0, end, false, &e.cell_count);
    if (!mr_row_children_gone(b, &e))
        return false;
    mr_row_remember_key_types(b);
    mr_row_fold(b, &e);
    return true;
}

/* The before image as match cells; false if no row of the table can equal it (a value in a column that does not exist). */
static bool build_match(struct mr_row_build *b, struct mr_fields before, struct mr_entry *e)
{
    size_t n = mr_tracker_count(b->rel->tk);
    e->match = mr_arena_alloc(b->batch->ar, (n + 1) * sizeof *e->match);
    e->match_count = (uint32_t)n;
    for (size_t i = 0; i < n; i++) /* columns Millrace adds itself are not the source's */
        e->match[i] = mr_value_null();
    for (size_t i = 0; i < b->ev->meta.count; i++) {
        int column = mr_tracker_find(b->rel->tk, b->ev->meta.items[i].path);
        if (column >= 0)
            e->match[column] = (struct mr_value){.tag = MR_V_ABSENT};
    }
    for (size_t i = 0; i < before.count; i++) {
        const struct mr_field *f = &before.items[i];
        int column = mr_tracker_find(b->rel->tk, f->path);
        if (column < 0) {
            if (f->value.tag > MR_V_NULL)
                return false;
            continue;
        }
        struct mr_value out;
        struct mr_type type = mr_tracker_column(b->rel->tk, (size_t)column)->type;
        struct mr_value in = f->value.tag == MR_V_UNAVAILABLE ? (struct mr_value){.tag = MR_V_ABSENT} : f->value;
        struct mr_error ignored = {0};
        if (mr_value_coerce(in, type, b->batch->ar, &out, &ignored) != MR_OK)
            return false;
        e->match[column] = out;
    }
    return true;
}

/* Rows without a key: inserts append; updates and deletes match one row by its whole before image. */
static bool build_keyless(struct mr_row_build *b)
{
    const struct mr_change *ev = b->ev;
    bool soft = b->rel->set->delete_mode == MR_DELETE_SOFT;
    if (ev->op == MR_OP_DELETE) {
        if (b->append_only && !soft) {
            b->batch->skipped++; /* a log of what was; nothing leaves it */
            return true;
        }
        if (!b->append_only && ev->before.count == 0) {
            mr_fail_data(b->err, MR_CODE_NO_KEY, "%.*s: a delete without key and without before image",
                         MR_STR_FMT(b->rel->source_name));
            mr_error_hint(b->err, "give the topic a key at the producer, or set tables.\"%.*s\".primary_key",
                          MR_STR_FMT(b->rel->source_name));
            b->outcome = MR_ROW_DEAD;
            return false;
        }
    }
    struct mr_entry e = {.kind = MR_ROW_APPEND, .full = !ev->partial};
    bool is_delete = ev->op == MR_OP_DELETE;
    struct mr_fields row = !is_delete ? ev->after : (struct mr_fields){0};
    if (is_delete && soft)
        row = ev->before.count > 0 ? ev->before : ev->after.count > 0 ? ev->after : ev->key;
    if (!is_delete || soft) {
        if (!mr_row_judge_row(b, row, 0) || !mr_row_judge_all(b, ev->meta, row.count, false))
            return false;
        struct mr_field mark = deleted_field(is_delete);
        if (soft && !mr_row_judge(b, &mark, row.count + ev->meta.count, false))
            return false;
        if (mr_tracker_count(b->rel->tk) == 0) { /* later rows may bring columns; this one would be gone without a trace */
            mr_fail_data(b->err, MR_CODE_NO_TABLE, "%.*s: the row has neither key nor value, and its table no column yet",
                         MR_STR_FMT(b->rel->source_name));
            b->outcome = MR_ROW_DEAD;
            return false;
        }
        e.cells = mr_row_cells(b, 0, b->in->judged_count, e.full, &e.cell_count);
    }
    if (!b->append_only && ev->before.count > 0) {
        bool can_match = build_match(b, ev->before, &e);
        if (!can_match && is_delete) {
            b->batch->skipped++;
            return true;
        }
        e.kind = !can_match ? MR_ROW_APPEND : is_delete && !soft ? MR_ROW_DELETE_MATCH : MR_ROW_UPDATE_MATCH;
        if (!can_match)
            e.match = NULL;
    }
    mr_row_fold(b, &e);
    return true;
}

/* Is the change's key another set of columns than the table's? */
static bool is_foreign_key(const struct mr_row_build *b)
{
    const struct mr_str *have = NULL;
    return !b->keyless && mr_tracker_key(b->rel->tk, &have) > 0 && !mr_row_is_same_key(b, b->key.count);
}

bool mr_row_has_table(struct mr_row_build *b)
{
    const char *why_z = mr_refusal_why(b->rel->refused, MR_REFUSED_TABLE, (struct mr_str){0});
    if (why_z == NULL)
        return true;
    b->outcome = MR_ROW_DEAD;
    mr_fail_data(b->err, MR_CODE_REFUSED, "%.*s: there is no table for it in the target", MR_STR_FMT(b->rel->source_name));
    mr_error_detail(b->err, "the target refused to create it: %s", why_z);
    return false;
}

/* A row without a key has no name by which its elements could be rows of a table of their own. */
static bool has_keyless_elements(struct mr_row_build *b)
{
    bool any = false;
    for (size_t i = 0; i < b->ev->elements.count && !any; i++)
        any = b->ev->elements.items[i].kind == MR_ELEMENT_ROW;
    if (!b->keyless || !any)
        return false;
    mr_fail_data(b->err, MR_CODE_NO_KEY, "%.*s: the row has no key, and its arrays are to be tables", MR_STR_FMT(b->rel->source_name));
    mr_error_hint(b->err, "name the key with tables.\"%.*s\".primary_key, or keep arrays as JSON: unwrap.array.encoding=json",
                  MR_STR_FMT(b->rel->source_name));
    b->outcome = MR_ROW_DEAD;
    return true;
}

/* The table's key is other fields than the record's (primary_key: [...]), and the delete event, which had them, has done the work. */
static bool is_idle_echo(const struct mr_row_build *b)
{
    bool has_work = b->rel->set->tombstones_remove || b->in->cfg->drops_delete_events;
    return b->ev->is_echo && !has_work && strcmp(b->err->code, MR_CODE_NO_KEY) == 0;
}

static bool build(struct mr_row_build *b)
{
    const struct mr_change *ev = b->ev;
    if (!mr_row_has_table(b))
        return false;
    enum mr_delete_mode mode = b->rel->set->delete_mode;
    if (ev->op == MR_OP_DELETE && mode == MR_DELETE_IGNORE) {
        b->batch->skipped++;
        return true;
    }
    if (!mr_row_resolve_key(b)) {
        if (!is_idle_echo(b)) {
            b->outcome = MR_ROW_DEAD;
            return false;
        }
        mr_error_clear(b->err);
        b->batch->skipped++;
        return true;
    }
    if (ev->is_tombstone && !ev->is_key_observed && is_foreign_key(b)) {
        b->batch->skipped++; /* the echo of a delete by a key that the table no longer has */
        return true;
    }
    if (has_keyless_elements(b) || !mr_row_settle_key(b))
        return false;
    if (b->keyless)
        return build_keyless(b);
    bool is_removed = mode == MR_DELETE_HARD || (ev->is_tombstone && b->rel->set->tombstones_remove);
    if (ev->op == MR_OP_DELETE)
        return !is_removed ? build_upsert(b, true) : build_delete(b);
    return build_upsert(b, false);
}

/* An update by positions in arrays becomes one of columns, one of what lies within columns a patch of them. */
static bool place_positions(struct mr_row_build *b, const struct mr_change *ev)
{
    struct mr_arena *ar = b->batch->ar;
    enum mr_status status = mr_dotted_check_elements(b->rel, ev, b->err);
    if (status == MR_OK)
        status = mr_dotted_resolve(b->rel->tk, b->in->cfg, ev, ar, &b->ev, b->err);
    if (status == MR_OK && (b->ev->has_positions || b->ev->parts.count > 0)) {
        struct mr_change *placed = mr_arena_alloc(ar, sizeof *placed);
        status = ev->has_positions ? mr_positions_resolve(b->rel->tk, b->ev, ar, placed, b->err) :
                                     mr_patches_place(b->rel->tk, b->in->cfg, b->ev, ar, placed, b->err);
        b->ev = placed;
    }
    if (status != MR_OK)
        b->outcome = MR_ROW_DEAD;
    return status == MR_OK;
}

static void truncate_fold(struct mr_row_build *b, struct mr_rel *rel)
{
    mr_fold_truncate(mr_batch_fold(b->batch, rel), b->origin);
}

static void truncate_rel(struct mr_row_build *b)
{
    struct mr_rel *rel = b->rel;
    if (rel->set->delete_mode == MR_DELETE_IGNORE || (!rel->exists && mr_tracker_count(rel->tk) == 0)) {
        b->batch->skipped++;
        return;
    }
    struct mr_fold *fold = mr_batch_fold(b->batch, rel);
    if (fold->ordered && fold->count > 0 && b->origin > 0) {
        b->outcome = MR_ROW_SPLIT;
        return;
    }
    if (is_skipped_lane(b, 0))
        return;
    mr_fold_truncate(fold, b->origin);
    for (size_t i = 0; i < rel->child_count; i++)
        if (rel->children[i]->exists || mr_tracker_count(rel->children[i]->tk) > 0)
            truncate_fold(b, rel->children[i]);
    b->batch->truncates++;
}

enum mr_row_outcome mr_rowbuild(struct mr_intake *in, struct mr_batch *batch, struct mr_rel *rel,
                                struct mr_rel *const *element_rels, const struct mr_change *ev, uint32_t origin,
                                const struct mr_part_state *part, struct mr_error *err)
{
    struct mr_row_build b = {
        .in = in, .batch = batch, .rel = rel, .ev = ev, .rec = &batch->records[origin],
        .origin = origin, .part = part, .err = err, .outcome = MR_ROW_TAKEN,
    };
    in->judged_count = 0;
    in->build_seq++;
    if (ev->op == MR_OP_TRUNCATE) {
        truncate_rel(&b);
        return b.outcome;
    }
    b.element_rels = element_rels;
    b.place = (struct mr_place){b.rec->topic.len > 0 ? b.rec->topic : mr_str_z(b.rec->part->topic_z),
                             b.rec->partition, b.rec->offset, ev->source_us};
    size_t notes = batch->note_count;
    mr_tracker_row_begin(rel->tk, &b.place);
    bool ok = place_positions(&b, ev) && build(&b);
    if (!ok) {
        mr_tracker_row_rollback(rel->tk);
        mr_row_restore_key(&b);
        mr_row_children_forget(&b);
        batch->note_count = notes;
        return b.outcome;
    }
    mr_tracker_row_commit(rel->tk);
    mr_row_children_fold(&b);
    if (mr_tracker_changed(rel->tk) && !rel->shape_dirty) {
        rel->shape_dirty = true;
        rel->shape_place = b.place;
    }
    return MR_ROW_TAKEN;
}
