/* From the folds of a batch to the jobs of its lanes: rows get dense cells in column order, coerced to the column's type, and are sorted by key, so
 * that every instance takes locks in the same order and the target's index is walked in one direction. */
#include "batch.h"

#include <stdlib.h>

#include <millrace/base/mem.h>
#include <millrace/model/patch.h>

#include "dead_letter.h"

/* Coerce one cell; keep markers become ABSENT. */
static enum mr_status fill_cell(struct mr_value in, const struct mr_column *col, struct mr_arena *ar,
                                struct mr_value *out, bool *keep, struct mr_error *err)
{
    if (in.tag == MR_V_ABSENT || in.tag == MR_V_UNAVAILABLE) {
        *out = (struct mr_value){.tag = MR_V_ABSENT};
        *keep = true;
        return MR_OK;
    }
    if (in.tag == MR_V_NULL || in.tag == MR_V_PATCH || (in.tag == mr_type_tag(col->type.kind) && col->type.kind != MR_T_DECIMAL && col->type.kind != MR_T_ARRAY &&
                                !mr_type_is_integer(col->type) && col->type.kind != MR_T_FLOAT32)) {
        *out = in;
        return MR_OK;
    }
    return mr_value_coerce(in, col->type, ar, out, err);
}

static enum mr_status fill_row(const struct mr_entry *e, const struct mr_table *tbl, struct mr_arena *ar,
                               struct mr_row *row, struct mr_error *err)
{
    struct mr_value *cells = mr_arena_alloc(ar, tbl->column_count * sizeof *cells);
    bool keep = false, patched = false;
    for (uint32_t i = 0; i < tbl->column_count; i++) {
        struct mr_value in = mr_entry_cell(e, i);
        if (e->kind == MR_ROW_DELETE && !tbl->columns[i].is_key)
            in = (struct mr_value){.tag = MR_V_ABSENT};
        patched |= in.tag == MR_V_PATCH;
        MR_TRY(fill_cell(in, &tbl->columns[i], ar, &cells[i], &keep, err));
    }
    *row = (struct mr_row){.kind = e->kind, .has_keep = keep, .has_patch = patched, .cells = cells, .origin = e->origin};
    if (e->match == NULL)
        return MR_OK;
    struct mr_value *match = mr_arena_alloc(ar, tbl->column_count * sizeof *match);
    bool ignored = false;
    for (uint32_t i = 0; i < tbl->column_count; i++) {
        struct mr_value beyond = e->kind == MR_ROW_MOVE ? (struct mr_value){.tag = MR_V_ABSENT} : mr_value_null();
        struct mr_value in = i < e->match_count ? e->match[i] : beyond;
        MR_TRY(fill_cell(in, &tbl->columns[i], ar, &match[i], &ignored, err));
    }
    row->match = match;
    return MR_OK;
}

/* A row, ready but for its place. */
struct item {
    struct mr_row row;
    const struct mr_entry *e;
};

/* Sorting moves these and looks at a row only where two begin alike. */
struct sort_item {
    uint64_t begin; /* of the first key column, so that less is before */
    const struct item *it;
    uint32_t first_key;
};

static uint64_t begin_of(struct mr_value v)
{
    uint64_t begin = 0;
    if (v.tag == MR_V_INT)
        return (uint64_t)v.i ^ UINT64_C(1) << 63;
    if (v.tag != MR_V_TEXT)
        return 0;
    for (uint32_t i = 0; i < 8; i++)
        begin = begin << 8 | (i < v.len ? (unsigned char)v.ptr[i] : 0);
    return begin;
}

static int compare_items(const void *a, const void *b)
{
    const struct sort_item *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    struct mr_value v = x->it->row.cells[x->first_key], w = y->it->row.cells[y->first_key];
    if (v.tag == MR_V_TEXT && w.tag == MR_V_TEXT) {
        int order = mr_str_cmp(mr_value_str(v), mr_value_str(w));
        if (order != 0)
            return order;
    }
    return mr_str_cmp(x->it->e->key, y->it->e->key);
}

static struct sort_item *sorted(const struct item *items, size_t count, const struct mr_table *tbl, bool ordered,
                                struct mr_arena *ar)
{
    struct sort_item *order = mr_arena_alloc(ar, (count + 1) * sizeof *order);
    uint32_t first_key = tbl->key_count > 0 ? tbl->key_columns[0] : 0;
    for (size_t i = 0; i < count; i++)
        order[i] = (struct sort_item){ordered ? 0 : begin_of(items[i].row.cells[first_key]), &items[i], first_key};
    if (!ordered && count > 1)
        qsort(order, count, sizeof *order, compare_items);
    return order;
}

/* Is every row one that the target cannot have, by what the producer says? The sink finds out if it is not so. */
static bool are_new(const struct sort_item *order, size_t count, const struct mr_rel *rel)
{
    if (rel->new_pause > 0)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!order[i].it->e->is_new || order[i].it->row.kind != MR_ROW_UPSERT || order[i].it->row.has_keep)
            return false;
    return true;
}

/* A row whose value does not coerce: its record becomes a dead letter. */
static void refuse(struct mr_batch *batch, struct mr_job *job, const struct mr_config *cfg,
                   const struct mr_rel *rel, const struct mr_entry *e, const struct mr_error *err)
{
    (void)batch;
    if (job->letter_count == job->letter_cap) {
        size_t cap = job->letter_cap == 0 ? 8 : job->letter_cap * 2;
        struct mr_dead_letter *bigger = mr_arena_alloc(job->ar, cap * sizeof *bigger);
        if (job->letter_count > 0)
            memcpy(bigger, job->letters, job->letter_count * sizeof *bigger);
        job->letters = bigger;
        job->letter_cap = cap;
    }
    mr_dead_letter_fill(&job->letters[job->letter_count++], &job->batch->records[e->origin], err,
                        mr_str_z(cfg->pipeline), rel->target_schema, rel->target_table, (struct mr_str){0},
                        job->ar);
}

static void count_row(struct mr_job *job, const struct mr_row *row)
{
    switch (row->kind) {
    case MR_ROW_UPSERT:
    case MR_ROW_INSERT_ONLY:
    case MR_ROW_UPDATE_MATCH:
        job->upserts++;
        break;
    case MR_ROW_DELETE:
    case MR_ROW_DELETE_MATCH:
        job->deletes++;
        break;
    case MR_ROW_APPEND:
        job->appends++;
        break;
    case MR_ROW_MOVE: /* the upsert behind it counts */
        break;
    }
}

static void fill_table(struct mr_batch *batch, struct mr_job *job, const struct mr_config *cfg,
                       struct mr_rel *rel)
{
    const struct mr_fold *fold = rel->fold;
    const struct mr_table *tbl = rel->tbl;
    struct item *items = mr_arena_alloc(job->ar, (fold->count + 1) * sizeof *items);
    size_t count = 0;
    struct mr_error err;
    mr_error_clear(&err);
    for (size_t i = 0; i < fold->count; i++) {
        const struct mr_entry *e = &fold->entries[i];
        if (!job->all_lanes && e->lane != job->lane)
            continue;
        struct item *it = &items[count];
        if (fill_row(e, tbl, job->ar, &it->row, &err) != MR_OK) {
            refuse(batch, job, cfg, rel, e, &err);
            mr_error_clear(&err);
            continue;
        }
        it->e = e;
        count_row(job, &it->row);
        count++;
    }
    bool truncate = fold->truncate_first && (job->all_lanes || job->lane == 0);
    if (count == 0 && !truncate)
        return;
    bool ordered = fold->ordered || tbl->key_count == 0 || tbl->has_other_unique;
    const struct sort_item *order = sorted(items, count, tbl, ordered, job->ar);

    struct mr_job_table *jt = &job->tables[job->table_count++];
    jt->rel = rel;
    jt->truncate_origin = fold->truncate_origin;
    jt->refused = 0;
    jt->done_us = 0;
    jt->merged = mr_arena_alloc(job->ar, (count + 1) * sizeof *jt->merged);
    jt->tried_new = !ordered && count > 0 && are_new(order, count, rel);
    jt->rows = (struct mr_table_batch){
        .tbl = mr_table_ref(tbl),
        .rows = mr_arena_alloc(job->ar, (count + 1) * sizeof(struct mr_row)),
        .row_count = count,
        .truncate_first = truncate,
        .ordered = ordered,
        .all_new = jt->tried_new,
        .row_by_row = batch->unfolded,
    };
    for (size_t i = 0; i < count; i++) {
        jt->rows.rows[i] = order[i].it->row;
        jt->merged[i] = order[i].it->e->merged;
    }
}

static void fill_moves(struct mr_batch *batch, struct mr_job *job)
{
    job->moves = mr_arena_alloc(job->ar, (batch->part_count * MR_MAX_LANES + 1) * sizeof *job->moves);
    for (size_t p = 0; p < batch->part_count; p++) {
        struct mr_part_state *ps = batch->parts[p];
        uint32_t first = job->all_lanes ? 0 : job->lane;
        uint32_t end = job->all_lanes ? ps->lanes : job->lane + 1;
        for (uint32_t lane = first; lane < end; lane++) {
            if (batch->part_to[p] <= ps->dispatched[lane])
                continue; /* this lane is further already (catching up) */
            job->moves[job->move_count++] = (struct mr_position_move){
                .part = ps->part,
                .lane = lane,
                .from = ps->dispatched[lane],
                .to = batch->part_to[p],
                .epoch = ps->epoch,
            };
            ps->dispatched[lane] = batch->part_to[p];
        }
    }
}

void mr_batch_divide(struct mr_batch *batch, const struct mr_config *cfg, uint32_t lanes, int64_t schema_epoch)
{
    size_t jobs = batch->barrier ? 1 : lanes;
    if (batch->jobs == NULL)
        batch->jobs = mr_xcalloc(MR_MAX_LANES, sizeof *batch->jobs);
    batch->job_count = jobs;
    for (uint32_t i = 0; i < jobs; i++) {
        struct mr_job *job = &batch->jobs[i];
        struct mr_arena *ar = job->ar != NULL ? job->ar : mr_arena_create(1u << 18);
        *job = (struct mr_job){
            .batch = batch, .lane = i, .all_lanes = batch->barrier, .ar = ar, .schema_epoch = schema_epoch};
        job->tables = mr_arena_alloc(job->ar, (batch->rel_count + 1) * sizeof *job->tables);
        if (i == 0) { /* what belongs to no key belongs to lane 0 */
            job->letters = batch->letters;
            job->letter_count = job->letter_cap = batch->letter_count;
            job->notes = batch->notes;
            job->note_count = batch->note_count;
            job->reports = batch->reports;
            job->report_count = batch->report_count;
        }
        for (size_t r = 0; r < batch->rel_count; r++)
            if (batch->rels[r]->fold != NULL && batch->rels[r]->tbl != NULL)
                fill_table(batch, job, cfg, batch->rels[r]);
        fill_moves(batch, job);
    }
}
