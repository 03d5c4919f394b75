/* Applying the rows of one table. Which way a row goes is a matter of speed alone; all ways give the same table
 * (tests/integration/test_mysql_apply_paths.c):
 *
 *   bulk    rows that set the same columns in one execution: arrays on MariaDB, statements of many rows on MySQL
 *   small   a prepared statement a row
 *
 * ON DUPLICATE KEY UPDATE answers to any unique index, and may then change another row. So where the target has unique indexes beside the key it
 * is never used: the deletes come first, then an UPDATE by key for each row, and an INSERT where there was none. A row whose value another one still has
 * waits for that one. Rows that wait for each other give their values up (set to NULL; where the index forbids that the row is deleted and comes
 * back) and get the new ones then. Two rows can exchange a value that way, which no order of single updates allows. A complete row alone can be
 * deleted and come back, and only where no foreign key refers to the table and all columns are ours; elsewhere rows are applied one by one in the
 * order in which they came. */
#include "rows.h"

struct plan {
    struct mr_my_run run;
    struct mr_arena *ar;
    struct mr_error *err;
};

static const struct mr_row *row_of(const struct plan *pl, size_t row)
{
    return &pl->run.batch->rows[row];
}

static size_t bulk_rows(const struct plan *pl)
{
    return pl->run.my->cfg->bulk_rows ? pl->run.my->cfg->bulk_rows : 1;
}

/* ---- One row ---- */

static enum mr_status update_or_insert(struct plan *pl, uint32_t row, enum mr_my_stmt_kind update)
{
    uint64_t found = 0;
    MR_TRY(mr_my_run_row(&pl->run, update, row, &found, pl->err));
    return found > 0 ? MR_OK : mr_my_run_row(&pl->run, MR_MY_INSERT, row, NULL, pl->err);
}

/* Is a column NOT NULL that the row leaves out? Then ON DUPLICATE KEY would refuse the row even if it exists already. */
static bool is_guarded(const struct plan *pl, const struct mr_row *row)
{
    for (size_t i = 0; row->has_keep && i < pl->run.shape->column_count; i++)
        if (pl->run.shape->columns[i].not_null && !mr_my_is_set(row->cells[i]))
            return true;
    return false;
}

static enum mr_status upsert_row(struct plan *pl, uint32_t row)
{
    if (pl->run.shape->vacate != MR_MY_VACATE_NONE || is_guarded(pl, row_of(pl, row)))
        return update_or_insert(pl, row, MR_MY_UPDATE);
    return mr_my_run_row(&pl->run, MR_MY_UPSERT, row, NULL, pl->err);
}

static enum mr_status insert_only(struct plan *pl, uint32_t row)
{
    uint64_t found = 0;
    MR_TRY(mr_my_run_row(&pl->run, MR_MY_LOOK, row, &found, pl->err));
    pl->run.batch->rows[row].was_there = found > 0;
    return found > 0 ? MR_OK : mr_my_run_row(&pl->run, MR_MY_INSERT, row, NULL, pl->err);
}

/* Under a new key. Where there is a row with that key already, it makes room: a statement that fails changes nothing here. */
static enum mr_status move_row(struct plan *pl, uint32_t row)
{
    enum mr_status status = mr_my_run_row(&pl->run, MR_MY_UPDATE_MATCH, row, NULL, pl->err);
    if (status != MR_E_DATA || strcmp(pl->err->native, "1062") != 0)
        return status;
    mr_error_clear(pl->err);
    MR_TRY(mr_my_run_row(&pl->run, MR_MY_DELETE, row, NULL, pl->err));
    return mr_my_run_row(&pl->run, MR_MY_UPDATE_MATCH, row, NULL, pl->err);
}

static enum mr_status apply_row(struct plan *pl, uint32_t row)
{
    switch (row_of(pl, row)->kind) {
    case MR_ROW_UPSERT:
        return upsert_row(pl, row);
    case MR_ROW_DELETE:
        return mr_my_run_row(&pl->run, MR_MY_DELETE, row, NULL, pl->err);
    case MR_ROW_APPEND:
        return mr_my_run_row(&pl->run, MR_MY_INSERT, row, NULL, pl->err);
    case MR_ROW_UPDATE_MATCH:
        return update_or_insert(pl, row, MR_MY_UPDATE_MATCH);
    case MR_ROW_MOVE:
        return move_row(pl, row);
    case MR_ROW_DELETE_MATCH:
        return mr_my_run_row(&pl->run, MR_MY_DELETE_MATCH, row, NULL, pl->err);
    case MR_ROW_INSERT_ONLY:
        return insert_only(pl, row);
    case MR_ROW_DELETE_RANGE:
        return mr_my_run_row(&pl->run, MR_MY_DELETE_RANGE, row, NULL, pl->err);
    case MR_ROW_FILL:
        return mr_my_run_row(&pl->run, MR_MY_FILL, row, NULL, pl->err);
    case MR_ROW_MOVE_ALL:
        return mr_my_run_row(&pl->run, MR_MY_MOVE_ALL, row, NULL, pl->err);
    }
    return mr_fail(pl->err, MR_E_BUG, "a row of kind %d", (int)row_of(pl, row)->kind);
}

/* ---- Many rows ---- */

/* Rows of one kind that set the same columns. */
static enum mr_status run_group(struct plan *pl, enum mr_my_stmt_kind kind, const uint32_t *rows, size_t count)
{
    if (!pl->run.batch->row_by_row && count >= bulk_rows(pl))
        return mr_my_run_many(&pl->run, kind, rows, count, pl->err);
    for (size_t i = 0; i < count; i++)
        MR_TRY(mr_my_run_row(&pl->run, kind, rows[i], NULL, pl->err));
    return MR_OK;
}

/* The rows of the batch that are of that kind. */
static uint32_t *rows_of_kind(struct plan *pl, enum mr_row_kind kind, size_t *count)
{
    uint32_t *rows = mr_arena_alloc(pl->ar, (pl->run.batch->row_count + 1) * sizeof(*rows));
    *count = 0;
    for (size_t r = 0; r < pl->run.batch->row_count; r++)
        if (row_of(pl, r)->kind == kind)
            rows[(*count)++] = (uint32_t)r;
    return rows;
}

static bool same_mask(const struct plan *pl, size_t a, size_t b)
{
    const struct mr_row *ra = row_of(pl, a), *rb = row_of(pl, b);
    if (!ra->has_keep && !rb->has_keep)
        return true;
    for (size_t i = 0; i < pl->run.shape->column_count; i++)
        if (mr_my_is_set(ra->cells[i]) != mr_my_is_set(rb->cells[i]))
            return false;
    return true;
}

/* Rows by the columns that they set. A batch with very many sets is cut at MAX_GROUPS: what comes after them goes one by one. */
#define MAX_GROUPS 64
struct groups {
    uint32_t *rows[MAX_GROUPS];
    size_t sizes[MAX_GROUPS];
    size_t count;
    uint32_t *rest;
    size_t rest_count;
};

static void divide(struct plan *pl, const uint32_t *rows, size_t count, struct groups *out)
{
    size_t last = 0;

    out->count = out->rest_count = 0;
    out->rest = mr_arena_alloc(pl->ar, (count + 1) * sizeof(*out->rest));
    for (size_t i = 0; i < count; i++) {
        size_t g = out->count > 0 && same_mask(pl, out->rows[last][0], rows[i]) ? last : 0;
        while (g < out->count && !same_mask(pl, out->rows[g][0], rows[i]))
            g++;
        if (g == MAX_GROUPS) {
            out->rest[out->rest_count++] = rows[i];
            continue;
        }
        if (g == out->count) {
            out->rows[g] = mr_arena_alloc(pl->ar, (count - i) * sizeof(*out->rest));
            out->sizes[g] = 0;
            out->count++;
        }
        out->rows[g][out->sizes[g]++] = rows[i];
        last = g;
    }
}

static enum mr_status run_deletes(struct plan *pl)
{
    size_t count;
    const uint32_t *rows = rows_of_kind(pl, MR_ROW_DELETE, &count);
    return run_group(pl, MR_MY_DELETE, rows, count);
}

static enum mr_status run_upsert_group(struct plan *pl, const uint32_t *rows, size_t count)
{
    if (!is_guarded(pl, row_of(pl, rows[0])))
        return run_group(pl, MR_MY_UPSERT, rows, count);
    for (size_t i = 0; i < count; i++)
        MR_TRY(update_or_insert(pl, rows[i], MR_MY_UPDATE));
    return MR_OK;
}

static enum mr_status run_free_upserts(struct plan *pl, const uint32_t *rows, size_t count)
{
    struct groups *groups = mr_arena_alloc(pl->ar, sizeof(*groups));

    divide(pl, rows, count, groups);
    for (size_t g = 0; g < groups->count; g++)
        MR_TRY(run_upsert_group(pl, groups->rows[g], groups->sizes[g]));
    for (size_t i = 0; i < groups->rest_count; i++)
        MR_TRY(upsert_row(pl, groups->rest[i]));
    return MR_OK;
}

/* ---- Upserts beside other unique indexes ---- */

/* Rows that found a value taken stay in the list, in reverse: where each of a thousand rows waits for the next one, they are done on the way back. A
 * statement that fails changes nothing here. */
static enum mr_status try_upserts(struct plan *pl, uint32_t *rows, size_t *count)
{
    size_t blocked = 0;

    for (size_t i = 0; i < *count; i++) {
        struct mr_error own = {.row = -1};
        struct plan attempt = *pl;
        attempt.err = &own;
        enum mr_status status = update_or_insert(&attempt, rows[i], MR_MY_UPDATE);
        if (status == MR_OK)
            continue;
        if (status != MR_E_DATA || strcmp(own.native, "1062") != 0) {
            *pl->err = own;
            return status;
        }
        if (blocked == 0)
            *pl->err = own;
        rows[blocked++] = rows[i];
    }
    for (size_t i = 0; i < blocked / 2; i++) {
        uint32_t kept = rows[i];
        rows[i] = rows[blocked - 1 - i];
        rows[blocked - 1 - i] = kept;
    }
    *count = blocked;
    return MR_OK;
}

static enum mr_status vacate(struct plan *pl, const uint32_t *rows, size_t count)
{
    struct groups *groups = mr_arena_alloc(pl->ar, sizeof(*groups));

    divide(pl, rows, count, groups);
    for (size_t g = 0; g < groups->count; g++)
        MR_TRY(run_group(pl, MR_MY_VACATE, groups->rows[g], groups->sizes[g]));
    for (size_t i = 0; i < groups->rest_count; i++)
        MR_TRY(mr_my_run_row(&pl->run, MR_MY_VACATE, groups->rest[i], NULL, pl->err));
    return MR_OK;
}

static enum mr_status run_guarded_upserts(struct plan *pl, uint32_t *rows, size_t count)
{
    MR_TRY(try_upserts(pl, rows, &count));
    MR_TRY(try_upserts(pl, rows, &count));
    if (count > 1) {
        MR_TRY(vacate(pl, rows, count));
        MR_TRY(try_upserts(pl, rows, &count));
    }
    if (count > 0)
        return MR_E_DATA; /* pl->err is the first one's */
    mr_error_clear(pl->err);
    pl->err->row = -1;
    return MR_OK;
}

static enum mr_status run_upserts(struct plan *pl)
{
    size_t count;
    uint32_t *rows = rows_of_kind(pl, MR_ROW_UPSERT, &count);

    return pl->run.shape->vacate == MR_MY_VACATE_NONE ? run_free_upserts(pl, rows, count) : run_guarded_upserts(pl, rows, count);
}

/* A row that another row of the table refers to can go only after that one has let go of it. */
static enum mr_status run_keyed(struct plan *pl)
{
    if (pl->run.shape->references_itself && pl->run.shape->vacate == MR_MY_VACATE_NONE) {
        MR_TRY(run_upserts(pl));
        return run_deletes(pl);
    }
    MR_TRY(run_deletes(pl));
    return run_upserts(pl);
}

/* As listed; runs of appended rows together. */
static enum mr_status run_in_order(struct plan *pl)
{
    const struct mr_table_batch *batch = pl->run.batch;
    uint32_t *rows = mr_arena_alloc(pl->ar, (batch->row_count + 1) * sizeof(*rows));

    for (size_t r = 0; r < batch->row_count;) {
        size_t count = 0;
        while (r + count < batch->row_count && batch->rows[r + count].kind == MR_ROW_APPEND) {
            rows[count] = (uint32_t)(r + count);
            count++;
        }
        if (count > 0)
            MR_TRY(run_group(pl, MR_MY_INSERT, rows, count));
        else
            MR_TRY(apply_row(pl, (uint32_t)r));
        r += count > 0 ? count : 1;
    }
    return MR_OK;
}

/* Ranges name keys of one, two, or more columns: each kind by itself. */
static enum mr_status run_ranges(struct plan *pl)
{
    size_t count;
    const uint32_t *rows = rows_of_kind(pl, MR_ROW_DELETE_RANGE, &count);
    struct groups *groups = mr_arena_alloc(pl->ar, sizeof(*groups));

    divide(pl, rows, count, groups);
    for (size_t g = 0; g < groups->count; g++)
        MR_TRY(run_group(pl, MR_MY_DELETE_RANGE, groups->rows[g], groups->sizes[g]));
    return MR_OK;
}

/* ---- Order ---- */

static bool has_repeated_keys(const struct plan *pl)
{
    const struct mr_table_batch *batch = pl->run.batch;
    struct mr_map *seen = mr_map_create();
    struct mr_buf key = MR_BUF_INIT((size_t)1 << 30);
    bool is_repeated = false;

    for (size_t r = 0; r < batch->row_count && !is_repeated; r++) {
        mr_buf_clear(&key);
        for (size_t k = 0; k < batch->tbl->key_count; k++) {
            uint32_t i = batch->tbl->key_columns[k];
            mr_value_append_key(batch->rows[r].cells[i], batch->tbl->columns[i].type, &key);
        }
        is_repeated = mr_map_get(seen, mr_buf_str(&key)) != NULL;
        mr_map_put(seen, mr_buf_str(&key), &is_repeated);
    }
    mr_buf_free(&key);
    mr_map_destroy(seen, NULL);
    return is_repeated;
}

static bool is_complete(const struct plan *pl, size_t row)
{
    for (size_t i = 0; i < pl->run.shape->column_count; i++)
        if (!mr_my_is_set(row_of(pl, row)->cells[i]))
            return false;
    return true;
}

/* Rows may change places unless they came in an order and that order is all we can rely on. */
static bool must_keep_order(const struct plan *pl)
{
    const struct mr_my_shape *shape = pl->run.shape;
    const struct mr_table_batch *batch = pl->run.batch;

    if (shape->key_count == 0 || shape->vacate == MR_MY_VACATE_NEVER)
        return true;
    for (size_t r = 0; r < batch->row_count; r++) {
        if (batch->rows[r].kind != MR_ROW_UPSERT && batch->rows[r].kind != MR_ROW_DELETE)
            return true;
        if (shape->vacate == MR_MY_VACATE_ROW && batch->rows[r].kind == MR_ROW_UPSERT && !is_complete(pl, r))
            return true;
    }
    return batch->ordered && has_repeated_keys(pl);
}

/* ---- All ---- */

/* Not TRUNCATE: that would commit. */
static enum mr_status empty_table(struct plan *pl)
{
    struct mr_my *my = pl->run.my;

    mr_buf_clear(&my->sql);
    mr_buf_append_z(&my->sql, "DELETE FROM ");
    mr_buf_append_str(&my->sql, pl->run.shape->target);
    return mr_my_run_built(my, "cannot empty the table", pl->err);
}

static enum mr_status apply_batch(struct plan *pl)
{
    if (pl->run.batch->truncate_first)
        MR_TRY(empty_table(pl));
    if (pl->run.batch->row_count == 0)
        return MR_OK;
    if (row_of(pl, 0)->kind == MR_ROW_DELETE_RANGE)
        return run_ranges(pl);
    return must_keep_order(pl) ? run_in_order(pl) : run_keyed(pl);
}

enum mr_status mr_my_apply(struct mr_sink *sink, struct mr_table_batch *batch, struct mr_error *err)
{
    struct mr_my *my = mr_my_of(sink);
    struct mr_error own = {0};
    struct plan pl = {.run = {.my = my, .batch = batch}, .ar = my->scratch, .err = err ? err : &own};

    pl.err->row = -1;
    mr_arena_reset(my->scratch);
    MR_TRY(mr_my_shape_get(my, batch->tbl, &pl.run.shape, pl.err));
    enum mr_status status = apply_batch(&pl);
    if (status == MR_E_SCHEMA)
        pl.run.shape->is_stale = true;
    return status;
}
