/* Applying the rows of one table. Which way a row goes is a matter of speed alone; all ways give the same table
 * (tests/integration/test_pg_apply_paths.c):
 *
 *   bulk    binary COPY into the staging table, then one INSERT … ON CONFLICT per set of columns; deletes as one statement with
 *           the keys as arrays
 *   direct  binary COPY into the target itself: rows that cannot conflict (an empty table, a table without key)
 *   small   a prepared statement a row, pipelined
 *
 * Where the target has unique indexes beside the key, two rows may exchange a value, which no order of single updates allows. So the
 * deletes come first, then every row that changes such a value gives it up (set to NULL; where the index forbids that the row is deleted and
 * comes back with the upsert), then the upserts. A complete row alone can be deleted and come back, and only where no foreign key refers to
 * the table and all columns are ours; elsewhere rows are applied one by one in the order in which they came. */
#include "plan.h"

#include "copy.h"
#include "encode.h"
#include "pipe.h"

#define COPY_SAVEPOINT "millrace_copy"

/* ---- Bulk ---- */

/* A join with few keys must not read the whole target: for the rest of the transaction there are only nested loops over its index. */
static enum mr_status joins_off(struct mr_pg *pg, struct mr_error *err)
{
    if (pg->joins_off)
        return MR_OK;
    MR_TRY(mr_pg_run(pg, "SET LOCAL enable_hashjoin TO off; SET LOCAL enable_mergejoin TO off", "cannot set up the transaction", err));
    pg->joins_off = true;
    return MR_OK;
}

/* One statement over the staging table for the rows of a group (-1: all). */
static enum mr_status run_staged(struct mr_pg_plan *pl, enum mr_pg_stmt_kind kind, size_t group, struct mr_error *err)
{
    struct mr_pg_spec spec = {
        .shape = pl->shape,
        .kind = kind,
        .cells = pl->batch->rows[pl->group_first[group]].cells,
        .from_stage = true,
        .group = pl->group_count > 1 ? (int64_t)group : -1,
    };
    const char *sql_z;

    mr_buf_clear(&pl->pg->sql);
    if (!mr_pg_statement(&spec, &pl->pg->sql, NULL, NULL))
        return MR_OK;
    MR_TRY(mr_pg_sql(pl->pg, &sql_z, err));
    return mr_pg_run(pl->pg, sql_z, "cannot apply rows", err);
}

static enum mr_status stage_upserts(struct mr_pg_plan *pl, struct mr_error *err)
{
    struct mr_pg_picked picked = {pl->upserts, pl->upsert_count, pl->group_count > 1 ? pl->groups : NULL};

    if (pl->upsert_count == 0)
        return MR_OK;
    return mr_pg_copy_stage(pl->pg, pl->shape, pl->batch, &picked, err);
}

static enum mr_status vacate_staged(struct mr_pg_plan *pl, struct mr_error *err)
{
    for (size_t g = 0; pl->upsert_count > 0 && g < pl->group_count; g++) {
        if (pl->group_first[g] == UINT32_MAX)
            continue;
        MR_TRY(joins_off(pl->pg, err));
        MR_TRY(run_staged(pl, MR_PG_VACATE, g, err));
    }
    return MR_OK;
}

static enum mr_status upsert_staged(struct mr_pg_plan *pl, struct mr_error *err)
{
    for (size_t g = 0; pl->upsert_count > 0 && g < pl->group_count; g++) {
        if (pl->group_first[g] == UINT32_MAX)
            continue;
        if (mr_pg_is_guarded(pl->shape, pl->batch->rows[pl->group_first[g]].cells)) {
            MR_TRY(joins_off(pl->pg, err));
            MR_TRY(run_staged(pl, MR_PG_UPSERT_UPDATE, g, err));
        }
        MR_TRY(run_staged(pl, MR_PG_UPSERT, g, err));
    }
    return MR_OK;
}

/* One key column of the deleted rows as a binary array. */
static enum mr_status encode_key_array(struct mr_pg_plan *pl, const struct mr_pg_column *col, uint32_t i, struct mr_buf *out,
                                       struct mr_error *err)
{
    mr_buf_append_u32be(out, 1); /* dimensions */
    mr_buf_append_u32be(out, 0); /* no nulls */
    mr_buf_append_u32be(out, mr_pg_wire_info(col->wire)->oid);
    mr_buf_append_u32be(out, (uint32_t)pl->delete_count);
    mr_buf_append_u32be(out, 1); /* lower bound */
    for (size_t d = 0; d < pl->delete_count; d++) {
        struct mr_value v = pl->batch->rows[pl->deletes[d]].cells[i];
        enum mr_status status = mr_pg_encode_field(col->wire, pl->pg->server.version, v, out, err);
        if (status != MR_OK) {
            if (err)
                err->row = pl->deletes[d];
            return status;
        }
    }
    return mr_buf_check(out, "the keys to delete", err);
}

static void append_delete(struct mr_pg_plan *pl)
{
    const struct mr_pg_shape *shape = pl->shape;
    struct mr_buf *sql = &pl->pg->sql;

    mr_buf_clear(sql);
    mr_buf_append_z(sql, "DELETE FROM ");
    mr_buf_append_str(sql, shape->target);
    if (shape->key_count == 1 && !shape->columns[shape->key[0]].compares_cast) {
        mr_buf_append_z(sql, " AS t WHERE t.");
        mr_buf_append_str(sql, shape->columns[shape->key[0]].ident);
        mr_buf_append_z(sql, " = ANY ($1)");
        return;
    }
    mr_buf_append_z(sql, " AS t USING unnest(");
    for (size_t k = 0; k < shape->key_count; k++)
        mr_buf_printf(sql, k ? ", $%zu" : "$%zu", k + 1);
    mr_buf_append_z(sql, ") AS k (");
    for (size_t k = 0; k < shape->key_count; k++)
        mr_buf_printf(sql, k ? ", k%zu" : "k%zu", k + 1);
    mr_buf_append_char(sql, ')');
    for (size_t k = 0; k < shape->key_count; k++) {
        const struct mr_pg_column *col = &shape->columns[shape->key[k]];
        mr_buf_append_z(sql, k ? " AND t." : " WHERE t.");
        mr_buf_append_str(sql, col->ident);
        mr_buf_printf(sql, " = k.k%zu", k + 1);
        if (col->compares_cast) {
            mr_buf_append_z(sql, "::");
            mr_buf_append_str(sql, col->native);
        }
    }
}

static enum mr_status delete_keys(struct mr_pg_plan *pl, struct mr_error *err)
{
    const struct mr_pg_shape *shape = pl->shape;
    size_t count = shape->key_count;
    struct mr_buf *data = mr_arena_zalloc(pl->ar, count * sizeof(*data));
    const char **values = mr_arena_alloc(pl->ar, count * sizeof(*values));
    int *lengths = mr_arena_alloc(pl->ar, count * sizeof(*lengths));
    int *formats = mr_arena_alloc(pl->ar, count * sizeof(*formats));
    Oid *types = mr_arena_alloc(pl->ar, count * sizeof(*types));
    enum mr_status status = MR_OK;
    MR_PG_RESULT res = NULL;
    const char *sql_z;

    for (size_t k = 0; k < count && status == MR_OK; k++) {
        const struct mr_pg_column *col = &shape->columns[shape->key[k]];
        data[k] = MR_BUF_INIT(MR_PG_MAX_VALUE);
        status = encode_key_array(pl, col, shape->key[k], &data[k], err);
        values[k] = data[k].data;
        lengths[k] = (int)data[k].len;
        formats[k] = 1;
        types[k] = mr_pg_wire_info(col->wire)->array_oid;
    }
    MR_TRY_DONE(status);
    if (count > 1 || shape->columns[shape->key[0]].compares_cast)
        MR_TRY_DONE(joins_off(pl->pg, err));
    append_delete(pl);
    MR_TRY_DONE(mr_pg_sql(pl->pg, &sql_z, err));
    res = PQexecParams(pl->pg->conn, sql_z, (int)count, types, values, lengths, formats, 0);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        status = mr_pg_fail(pl->pg, res, "cannot delete rows", err);

done:
    for (size_t k = 0; k < count; k++)
        mr_buf_free(&data[k]);
    return status;
}

/* ---- Small ---- */

static enum mr_pg_stmt_kind statement_of(enum mr_row_kind kind)
{
    switch (kind) {
    case MR_ROW_UPSERT:
        return MR_PG_UPSERT;
    case MR_ROW_DELETE:
        return MR_PG_DELETE;
    case MR_ROW_APPEND:
        return MR_PG_APPEND;
    case MR_ROW_UPDATE_MATCH:
        return MR_PG_UPDATE_MATCH;
    case MR_ROW_MOVE:
        return MR_PG_MOVE;
    case MR_ROW_DELETE_MATCH:
        return MR_PG_DELETE_MATCH;
    case MR_ROW_INSERT_ONLY:
        return MR_PG_INSERT_ONLY;
    case MR_ROW_DELETE_RANGE:
        return MR_PG_DELETE_RANGE;
    case MR_ROW_FILL:
        return MR_PG_FILL;
    case MR_ROW_MOVE_ALL:
        return MR_PG_MOVE_ALL;
    }
    return MR_PG_UPSERT;
}

enum single_pass { PASS_DELETES, PASS_VACATE, PASS_UPSERTS, PASS_ALL };

static bool is_in_pass(const struct mr_pg_plan *pl, enum single_pass pass, size_t row)
{
    bool is_delete = pl->batch->rows[row].kind == MR_ROW_DELETE;
    return pass == PASS_ALL || is_delete == (pass == PASS_DELETES);
}

/* Send those of the single rows that belong to a pass. */
static enum mr_status send_singles(struct mr_pg_plan *pl, enum single_pass pass, struct mr_error *err)
{
    for (size_t i = 0; i < pl->single_count; i++) {
        size_t row = pl->singles[i];
        if (!is_in_pass(pl, pass, row))
            continue;
        if (pl->batch->rows[row].kind == MR_ROW_MOVE)
            MR_TRY(mr_pg_pipe_row(pl->pg, MR_PG_MOVE_CLEAR, row, err));
        enum mr_pg_stmt_kind kind = pass == PASS_VACATE ? MR_PG_VACATE : statement_of(pl->batch->rows[row].kind);
        MR_TRY(mr_pg_pipe_row(pl->pg, kind, row, err));
    }
    return MR_OK;
}

static enum mr_status run_singles(struct mr_pg_plan *pl, enum single_pass pass, struct mr_error *err)
{
    size_t i = 0;

    while (i < pl->single_count && !is_in_pass(pl, pass, pl->singles[i]))
        i++;
    if (i == pl->single_count)
        return MR_OK;
    MR_TRY(mr_pg_pipe_begin(pl->pg, pl->shape, pl->batch, err));
    return mr_pg_pipe_end(pl->pg, send_singles(pl, pass, err), err);
}

/* ---- Order of a keyed batch ---- */

static enum mr_status run_deletes(struct mr_pg_plan *pl, struct mr_error *err)
{
    if (pl->delete_count > 0)
        MR_TRY(delete_keys(pl, err));
    return run_singles(pl, PASS_DELETES, err);
}

/* A row by itself has nobody to exchange values with. */
static bool may_exchange(const struct mr_pg_plan *pl)
{
    size_t upserts = pl->upsert_count;

    for (size_t i = 0; i < pl->single_count && upserts < 2; i++)
        upserts += pl->batch->rows[pl->singles[i]].kind == MR_ROW_UPSERT;
    return pl->shape->vacate != MR_PG_VACATE_NONE && upserts > 1;
}

static enum mr_status run_upserts(struct mr_pg_plan *pl, struct mr_error *err)
{
    MR_TRY(stage_upserts(pl, err));
    if (may_exchange(pl)) {
        MR_TRY(vacate_staged(pl, err));
        MR_TRY(run_singles(pl, PASS_VACATE, err));
    }
    MR_TRY(upsert_staged(pl, err));
    return run_singles(pl, PASS_UPSERTS, err);
}

/* A row that another row of the table refers to can go only after that one has let go of it. */
static enum mr_status run_keyed(struct mr_pg_plan *pl, struct mr_error *err)
{
    if (pl->shape->references_itself && pl->shape->vacate == MR_PG_VACATE_NONE) {
        MR_TRY(run_upserts(pl, err));
        return run_deletes(pl, err);
    }
    MR_TRY(run_deletes(pl, err));
    return run_upserts(pl, err);
}

/* ---- Direct ---- */

static bool may_copy_direct(const struct mr_pg_plan *pl)
{
    return !pl->batch->row_by_row && !pl->shape->any_casts && !pl->shape->has_row_security && pl->shape->column_count > 0;
}

/* All rows are new: straight into the target. If one is there all the same, the other paths do it. */
static enum mr_status copy_new(struct mr_pg_plan *pl, const struct mr_pg_picked *picked, bool *done, struct mr_error *err)
{
    *done = false;
    MR_TRY(mr_pg_shape_verify(pl->pg, pl->batch->tbl, &pl->shape, err));
    if (!may_copy_direct(pl))
        return MR_OK;
    MR_TRY(mr_pg_run(pl->pg, "SAVEPOINT " COPY_SAVEPOINT, "cannot set a savepoint", err));
    enum mr_status status = mr_pg_copy_target(pl->pg, pl->shape, pl->batch, picked, err);
    if (status == MR_OK) {
        *done = true;
        return mr_pg_run(pl->pg, "RELEASE SAVEPOINT " COPY_SAVEPOINT, "cannot release a savepoint", err);
    }
    if (status != MR_E_DATA || strcmp(err->native, "23505") != 0)
        return status;
    pl->batch->all_new = false;
    pl->pg->undo_mark++;
    pl->pg->joins_off = false;
    return mr_pg_run(pl->pg, "ROLLBACK TO SAVEPOINT " COPY_SAVEPOINT "; RELEASE SAVEPOINT " COPY_SAVEPOINT,
                     "cannot go back to a savepoint", err);
}

/* Rows of a table without key from `from` on that are appended one after another; enough of them are copied. */
static enum mr_status append_run(struct mr_pg_plan *pl, size_t from, size_t *end, struct mr_error *err)
{
    const struct mr_table_batch *batch = pl->batch;
    size_t to = from;

    while (to < batch->row_count && batch->rows[to].kind == MR_ROW_APPEND)
        to++;
    *end = from;
    if (to - from < mr_pg_bulk_rows(pl->pg) || !may_copy_direct(pl))
        return MR_OK;
    MR_TRY(mr_pg_shape_verify(pl->pg, batch->tbl, &pl->shape, err));
    if (!may_copy_direct(pl))
        return MR_OK;
    uint32_t *rows = mr_arena_alloc(pl->ar, (to - from) * sizeof(*rows));
    for (size_t r = from; r < to; r++)
        rows[r - from] = (uint32_t)r;
    struct mr_pg_picked picked = {rows, to - from, NULL};
    MR_TRY(mr_pg_copy_target(pl->pg, pl->shape, batch, &picked, err));
    *end = to;
    return MR_OK;
}

/* As listed: runs of appended rows by COPY, everything between through the pipeline. */
static enum mr_status run_in_order(struct mr_pg_plan *pl, struct mr_error *err)
{
    size_t row_count = pl->batch->row_count;
    size_t row = 0;

    while (row < row_count) {
        size_t end = row;
        if (pl->batch->rows[row].kind == MR_ROW_APPEND)
            MR_TRY(append_run(pl, row, &end, err));
        if (end > row) {
            row = end;
            continue;
        }
        pl->single_count = 0;
        bool is_append = pl->batch->rows[row].kind == MR_ROW_APPEND;
        while (row < row_count && (pl->batch->rows[row].kind == MR_ROW_APPEND) == is_append)
            pl->singles[pl->single_count++] = (uint32_t)row++;
        MR_TRY(run_singles(pl, PASS_ALL, err));
    }
    return MR_OK;
}

static bool all_are_upserts(const struct mr_table_batch *batch)
{
    for (size_t r = 0; r < batch->row_count; r++)
        if (batch->rows[r].kind != MR_ROW_UPSERT)
            return false;
    return true;
}

static enum mr_status run_new(struct mr_pg_plan *pl, bool *done, struct mr_error *err)
{
    *done = false;
    if (!pl->batch->all_new || pl->in_order || pl->batch->row_count < mr_pg_bulk_rows(pl->pg) || !may_copy_direct(pl) ||
        !all_are_upserts(pl->batch))
        return MR_OK;
    uint32_t *rows = mr_arena_alloc(pl->ar, pl->batch->row_count * sizeof(*rows));
    for (size_t r = 0; r < pl->batch->row_count; r++)
        rows[r] = (uint32_t)r;
    struct mr_pg_picked picked = {rows, pl->batch->row_count, NULL};
    return copy_new(pl, &picked, done, err);
}

/* ---- Truncate ---- */

/* TRUNCATE where nothing forbids it (a foreign key, a missing right), else DELETE. Children of an inheritance stay; partitions go. */
static enum mr_status empty_table(struct mr_pg *pg, const struct mr_pg_shape *shape, struct mr_error *err)
{
    const char *sql_z;

    mr_buf_clear(&pg->sql);
    mr_buf_append_z(&pg->sql, shape->may_truncate ? "TRUNCATE TABLE " : "DELETE FROM ");
    mr_buf_append_z(&pg->sql, shape->is_partitioned ? "" : "ONLY ");
    mr_buf_append_str(&pg->sql, shape->target);
    MR_TRY(mr_pg_sql(pg, &sql_z, err));
    return mr_pg_run(pg, sql_z, "cannot empty the table", err);
}

/* ---- All ---- */

static enum mr_status apply_rows(struct mr_pg_plan *pl, struct mr_error *err)
{
    bool done;

    if (pl->batch->truncate_first)
        MR_TRY(empty_table(pl->pg, pl->shape, err));
    if (pl->batch->row_count == 0)
        return MR_OK;
    pl->in_order = mr_pg_must_keep_order(pl);
    MR_TRY(run_new(pl, &done, err));
    if (!done) {
        mr_pg_sort_out(pl);
        MR_TRY(pl->in_order ? run_in_order(pl, err) : run_keyed(pl, err));
    }
    /* Isolating a bad row: what a deferred constraint has to say must be said of this row, not at commit. */
    if (pl->batch->row_by_row && pl->shape->has_deferrable)
        return mr_pg_run(pl->pg, "SET CONSTRAINTS ALL IMMEDIATE", "cannot apply rows", err);
    return MR_OK;
}

enum mr_status mr_pg_apply(struct mr_sink *sink, struct mr_table_batch *batch, struct mr_error *err)
{
    struct mr_pg *pg = mr_pg_of(sink);
    struct mr_pg_plan pl = {.pg = pg, .batch = batch, .ar = pg->scratch};
    struct mr_error own = {0};
    struct mr_error *to = err ? err : &own;

    to->row = -1;
    mr_arena_reset(pg->scratch);
    MR_TRY(mr_pg_shape_get(pg, batch->tbl, &pl.shape, to));
    enum mr_status status = apply_rows(&pl, to);
    if (status == MR_E_SCHEMA && pl.shape)
        pl.shape->is_stale = true;
    return status;
}
