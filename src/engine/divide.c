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

/* The end of a range, in the column of the last key cell that is set. */
static const struct mr_value *range_end(const struct mr_entry *e, const struct mr_table *tbl, const struct mr_value *cells,
                                        struct mr_arena *ar)
{
    struct mr_value *match = mr_arena_zalloc(ar, (tbl->column_count + 1) * sizeof *match);
    uint32_t last = 0;
    for (size_t k = 0; k < tbl->key_count; k++)
        if (cells[tbl->key_columns[k]].tag != MR_V_ABSENT)
            last = tbl->key_columns[k];
    match[last] = mr_value_int(e->end);
    return match;
}

static enum mr_status fill_row(const struct mr_entry *e, const struct mr_table *tbl, struct mr_arena *ar,
                               struct mr_row *row, struct mr_error *err)
{
    struct mr_value *cells = mr_arena_alloc(ar, tbl->column_count * sizeof *cells);
    bool keep = false, patched = false;
    for (uint32_t i = 0; i < tbl->column_count; i++) {
        struct mr_value in = mr_entry_cell(e, i);
        bool is_delete = e->kind == MR_ROW_DELETE || e->kind == MR_ROW_DELETE_RANGE || e->kind == MR_ROW_MOVE_ALL || e->kind == MR_ROW_FILL;
        if (is_delete && !tbl->columns[i].is_key)
            in = (struct mr_value){.tag = MR_V_ABSENT};
        patched |= in.tag == MR_V_PATCH;
        MR_TRY(fill_cell(in, &tbl->columns[i], ar, &cells[i], &keep, err));
    }
    *row = (struct mr_row){.kind = e->kind, .has_keep = keep, .has_patch = patched, .cells = cells, .origin = e->origin, .unit = e->unit};
    if (e->kind == MR_ROW_DELETE_RANGE)
        row->match = range_end(e, tbl, cells, ar);
    if (e->match == NULL)
        return MR_OK;
    struct mr_value *match = mr_arena_alloc(ar, tbl->column_count * sizeof *match);
    bool ignored = false, is_move = e->kind == MR_ROW_MOVE || e->kind == MR_ROW_MOVE_ALL;
    for (uint32_t i = 0; i < tbl->column_count; i++) {
        struct mr_value beyond = is_move ? (struct mr_value){.tag = MR_V_ABSENT} : mr_value_null();
        struct mr_value in = i < e->match_count ? e->match[i] : beyond;
        MR_TRY(fill_cell(in, &tbl->columns[i], ar, &match[i], &ignored, err));
    }
    row->match = match;
    return MR_OK;
}

/* What is taken of a table. */
enum part { PART_ALL, PART_RANGES, PART_ROWS, PART_FILLS };

static bool is_of_part(const struct mr_entry *e, enum part part)
{
    if (e->kind == MR_ROW_FILL && e->end == 0)
        return false; /* nothing is left to do */
    return part == PART_ALL || part == (e->kind == MR_ROW_DELETE_RANGE ? PART_RANGES : e->kind == MR_ROW_FILL ? PART_FILLS : PART_ROWS);
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
    case MR_ROW_DELETE_RANGE: /* how many rows it takes away nobody knows */
    case MR_ROW_FILL:
    case MR_ROW_MOVE: /* the upsert behind it counts */
    case MR_ROW_MOVE_ALL:
        break;
    }
}

/* Rows [from, end) of the table as one part of the job. Ranges are a part of their own. */
static void add_part(struct mr_job *job, struct mr_rel *rel, const struct sort_item *order, size_t from, size_t end, bool ordered,
                     bool truncate)
{
    const struct mr_fold *fold = rel->fold;
    size_t count = end - from;
    if (job->table_count == job->table_cap) {
        size_t cap = job->table_cap * 2 + 8;
        struct mr_job_table *bigger = mr_arena_alloc(job->ar, cap * sizeof *bigger);
        if (job->table_count > 0)
            memcpy(bigger, job->tables, job->table_count * sizeof *bigger);
        job->tables = bigger;
        job->table_cap = cap;
    }
    struct mr_job_table *jt = &job->tables[job->table_count++];
    *jt = (struct mr_job_table){.rel = rel, .truncate_origin = fold->truncate_origin, .in_family = rel->root != NULL || rel->child_count > 0};
    jt->merged = mr_arena_alloc(job->ar, (count + 1) * sizeof *jt->merged);
    jt->tried_new = !ordered && count > 0 && are_new(order + from, count, rel);
    jt->rows = (struct mr_table_batch){
        .tbl = mr_table_ref(rel->tbl),
        .rows = mr_arena_alloc(job->ar, (count + 1) * sizeof(struct mr_row)),
        .row_count = count,
        .truncate_first = truncate,
        .ordered = ordered,
        .all_new = jt->tried_new,
        .row_by_row = job->batch->unfolded,
    };
    for (size_t i = 0; i < count; i++) {
        jt->rows.rows[i] = order[from + i].it->row;
        jt->merged[i] = order[from + i].it->e->merged;
    }
}

/* Those of the fold's entries that belong to the job; only those of a part, where they come apart. */
static size_t pick_items(struct mr_batch *batch, struct mr_job *job, const struct mr_config *cfg, struct mr_rel *rel, enum part part,
                         struct item *items)
{
    const struct mr_fold *fold = rel->fold;
    size_t count = 0;
    struct mr_error err;
    mr_error_clear(&err);
    for (size_t i = 0; i < fold->count; i++) {
        const struct mr_entry *e = &fold->entries[i];
        if ((!job->all_lanes && e->lane != job->lane) || !is_of_part(e, part))
            continue;
        struct item *it = &items[count];
        if (fill_row(e, rel->tbl, job->ar, &it->row, &err) != MR_OK) {
            refuse(batch, job, cfg, rel, e, &err);
            mr_error_clear(&err);
            continue;
        }
        it->e = e;
        count_row(job, &it->row);
        count++;
    }
    return count;
}

static void fill_table(struct mr_batch *batch, struct mr_job *job, const struct mr_config *cfg, struct mr_rel *rel, enum part part)
{
    const struct mr_fold *fold = rel->fold;
    const struct mr_table *tbl = rel->tbl;
    struct item *items = mr_arena_alloc(job->ar, (fold->count + 1) * sizeof *items);
    size_t count = pick_items(batch, job, cfg, rel, part, items);
    bool truncate = fold->truncate_first && part != PART_ROWS && part != PART_FILLS && (job->all_lanes || job->lane == 0);
    if (count == 0 && !truncate)
        return;
    bool ordered = fold->ordered || tbl->key_count == 0 || tbl->has_other_unique;
    const struct sort_item *order = sorted(items, count, tbl, ordered, job->ar);
    for (size_t from = 0, end; from < count || truncate; from = end, truncate = false) {
        bool is_range = from < count && order[from].it->row.kind == MR_ROW_DELETE_RANGE;
        for (end = from; end < count && (order[end].it->row.kind == MR_ROW_DELETE_RANGE) == is_range;)
            end++;
        add_part(job, rel, order, from, end, ordered, truncate);
    }
}

/* Are the ranges of a table applied before all rows? Then also before those of other tables: elements go before what they hang below. */
static bool comes_apart(const struct mr_rel *rel)
{
    return rel->root != NULL && !rel->fold->ordered;
}

static bool has_work(const struct mr_rel *rel)
{
    return rel->fold != NULL && rel->tbl != NULL;
}

static void fill_tables(struct mr_batch *batch, struct mr_job *job, const struct mr_config *cfg)
{
    for (size_t r = batch->rel_count; r-- > 0;)
        if (has_work(batch->rels[r]) && comes_apart(batch->rels[r]))
            fill_table(batch, job, cfg, batch->rels[r], PART_RANGES);
    for (size_t r = 0; r < batch->rel_count; r++) {
        if (!has_work(batch->rels[r]))
            continue;
        bool apart = comes_apart(batch->rels[r]);
        fill_table(batch, job, cfg, batch->rels[r], apart ? PART_ROWS : PART_ALL);
        if (apart)
            fill_table(batch, job, cfg, batch->rels[r], PART_FILLS);
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
        if (i == 0) { /* what belongs to no key belongs to lane 0 */
            job->letters = batch->letters;
            job->letter_count = job->letter_cap = batch->letter_count;
            job->notes = batch->notes;
            job->note_count = batch->note_count;
            job->reports = batch->reports;
            job->report_count = batch->report_count;
        }
        fill_tables(batch, job, cfg);
        fill_moves(batch, job);
    }
}
