/* Prepared row statements in a pipeline: see pipe.h. */
#include "pipe.h"

#include "encode.h"

#include <millrace/base/mem.h>

#include <stdlib.h>

#define MAX_QUEUED 256           /* statements between two syncs: bounds what the server's answers can pile up to */
#define MAX_QUEUED_BYTES (8u << 20)
#define MAX_STATEMENTS 128       /* of one table; many different sets of columns would else fill the server */

struct mr_pg_row_stmt {
    char name[48];
    bool is_prepared;
    char *text_z;
    size_t param_count;
    struct mr_pg_param *params;
    Oid *types;
    enum mr_pg_wire *wires;
};

struct op {
    struct mr_pg_row_stmt *stmt;
    enum mr_pg_stmt_kind kind;
    bool is_prepare;
    size_t row;
};

struct mr_pg_pipe {
    struct mr_pg_shape *shape;     /* of the run */
    struct mr_table_batch *batch;
    struct op ops[MAX_QUEUED];
    size_t op_count;
    size_t bytes;                  /* of parameters queued */
    uint64_t name_clock;           /* names of statements are never used twice */
    struct mr_buf data;            /* one row's parameters */
    struct mr_buf key;             /* of a statement */
    size_t *offsets;               /* parameters' places in data */
    const char **values;
    int *lengths, *formats;
    size_t cap_offsets, cap_values, cap_lengths, cap_formats;
};

struct mr_pg_pipe *mr_pg_pipe_create(void)
{
    struct mr_pg_pipe *pipe = mr_xcalloc(1, sizeof(*pipe));
    pipe->data = MR_BUF_INIT(MR_PG_MAX_VALUE + 65536);
    pipe->key = MR_BUF_INIT(65536);
    return pipe;
}

void mr_pg_pipe_destroy(struct mr_pg_pipe *pipe)
{
    if (!pipe)
        return;
    mr_buf_free(&pipe->data);
    mr_buf_free(&pipe->key);
    mr_xfree(pipe->offsets);
    mr_xfree(pipe->values);
    mr_xfree(pipe->lengths);
    mr_xfree(pipe->formats);
    mr_xfree(pipe);
}

void mr_pg_row_stmt_free(void *ptr)
{
    struct mr_pg_row_stmt *stmt = ptr;
    if (!stmt)
        return;
    mr_xfree(stmt->text_z);
    mr_xfree(stmt->params);
    mr_xfree(stmt->types);
    mr_xfree(stmt->wires);
    mr_xfree(stmt);
}

void mr_pg_row_stmts_forget(struct mr_pg *pg, struct mr_pg_shape *shape)
{
    for (size_t i = 0; i < mr_map_count(shape->statements); i++) {
        struct mr_str key;
        const struct mr_pg_row_stmt *stmt = mr_map_at(shape->statements, i, &key);
        if (!stmt->is_prepared)
            continue;
        mr_buf_clear(&pg->sql);
        mr_buf_append_z(&pg->sql, "DEALLOCATE ");
        mr_buf_append_z(&pg->sql, stmt->name);
        PQclear(PQexec(pg->conn, mr_buf_z(&pg->sql)));
    }
    mr_map_clear(shape->statements, mr_pg_row_stmt_free);
}

/* ---- Statements ---- */

/* Two bits a cell: left out, null, value. Nulls matter only where rows are matched. */
static void append_states(struct mr_buf *key, const struct mr_value *cells, size_t count, bool with_nulls)
{
    for (size_t i = 0; i < count; i++) {
        bool is_set = mr_pg_is_set(cells[i]);
        mr_buf_append_char(key, !is_set ? '-' : with_nulls && cells[i].tag == MR_V_NULL ? '0' : '1');
    }
}

static void make_key(struct mr_pg_pipe *pipe, enum mr_pg_stmt_kind kind, const struct mr_row *row)
{
    size_t count = pipe->shape->column_count;

    mr_buf_clear(&pipe->key);
    mr_buf_append_char(&pipe->key, (char)('A' + (int)kind));
    if (kind == MR_PG_UPDATE_MATCH || kind == MR_PG_DELETE_MATCH || kind == MR_PG_MOVE || kind == MR_PG_MOVE_CLEAR ||
        kind == MR_PG_MOVE_ALL)
        append_states(&pipe->key, row->match, count, true);
    if (kind != MR_PG_DELETE && kind != MR_PG_DELETE_MATCH)
        append_states(&pipe->key, row->cells, count, false);
}

static struct mr_pg_row_stmt *make_statement(struct mr_pg *pg, enum mr_pg_stmt_kind kind, const struct mr_row *row)
{
    struct mr_pg_pipe *pipe = pg->pipe;
    const struct mr_pg_shape *shape = pipe->shape;
    struct mr_pg_row_stmt *stmt = mr_xcalloc(1, sizeof(*stmt));
    struct mr_pg_spec spec = {.shape = shape, .kind = kind, .cells = row->cells, .match = row->match, .group = -1};

    stmt->params = mr_xcalloc(2 * shape->column_count + 1, sizeof(*stmt->params));
    mr_buf_clear(&pg->sql);
    if (mr_pg_statement(&spec, &pg->sql, stmt->params, &stmt->param_count))
        stmt->text_z = mr_xstrndup(pg->sql.data, pg->sql.len);
    stmt->types = mr_xcalloc(stmt->param_count + 1, sizeof(*stmt->types));
    stmt->wires = mr_xcalloc(stmt->param_count + 1, sizeof(*stmt->wires));
    for (size_t i = 0; i < stmt->param_count; i++) {
        stmt->wires[i] = shape->columns[stmt->params[i].column].wire;
        stmt->types[i] = mr_pg_wire_info(stmt->wires[i])->oid;
    }
    snprintf(stmt->name, sizeof(stmt->name), "mr_row_%llu", (unsigned long long)++pipe->name_clock);
    mr_map_put(shape->statements, mr_buf_str(&pipe->key), stmt);
    return stmt;
}

/* ---- Answers ---- */

static void note_inserted(struct mr_pg_pipe *pipe, const struct op *op, PGresult *res)
{
    if (op->kind == MR_PG_INSERT_ONLY)
        pipe->batch->rows[op->row].was_there = strcmp(PQcmdTuples(res), "0") == 0;
}

/* Whoever dropped one prepared statement behind our back (a connection pooler) has dropped them all. */
static void unprepare_all(struct mr_pg_shape *shape)
{
    for (size_t i = 0; i < mr_map_count(shape->statements); i++) {
        struct mr_str key;
        ((struct mr_pg_row_stmt *)mr_map_at(shape->statements, i, &key))->is_prepared = false;
    }
}

static enum mr_status take_answer(struct mr_pg *pg, const struct op *op, enum mr_status status, struct mr_error *err)
{
    MR_PG_RESULT res = PQgetResult(pg->conn);
    ExecStatusType got = PQresultStatus(res);

    if (got != PGRES_COMMAND_OK && op->is_prepare)
        op->stmt->is_prepared = false;
    if (got == PGRES_COMMAND_OK && !op->is_prepare) {
        note_inserted(pg->pipe, op, res);
    } else if (got != PGRES_COMMAND_OK && got != PGRES_PIPELINE_ABORTED && status == MR_OK) {
        status = mr_pg_fail(pg, res, "cannot apply a row", err);
        if (err && !op->is_prepare)
            err->row = (int64_t)op->row;
        if (status == MR_E_SCHEMA)
            unprepare_all(pg->pipe->shape);
    }
    if (res && PQstatus(pg->conn) == CONNECTION_OK) {
        MR_PG_RESULT end = PQgetResult(pg->conn);
        if (end && status == MR_OK)
            return mr_fail(err, MR_E_BUG, "two answers to one statement");
    }
    return status;
}

/* Send the sync and read all answers up to it. */
static enum mr_status flush(struct mr_pg *pg, enum mr_status status, struct mr_error *err)
{
    struct mr_pg_pipe *pipe = pg->pipe;

    if (!PQpipelineSync(pg->conn)) {
        pipe->op_count = 0;
        return status != MR_OK ? status : mr_pg_fail(pg, NULL, "cannot apply rows", err);
    }
    for (size_t i = 0; i < pipe->op_count && PQstatus(pg->conn) == CONNECTION_OK; i++)
        status = take_answer(pg, &pipe->ops[i], status, err);
    pipe->op_count = 0;
    pipe->bytes = 0;
    if (PQstatus(pg->conn) == CONNECTION_OK) {
        MR_PG_RESULT sync = PQgetResult(pg->conn);
        if (PQresultStatus(sync) == PGRES_PIPELINE_SYNC)
            return status;
    }
    return status != MR_OK ? status : mr_pg_fail(pg, NULL, "cannot apply rows", err);
}

/* ---- Sending ---- */

static struct op *new_op(struct mr_pg_pipe *pipe, struct mr_pg_row_stmt *stmt, enum mr_pg_stmt_kind kind, size_t row)
{
    struct op *op = &pipe->ops[pipe->op_count++];
    *op = (struct op){.stmt = stmt, .kind = kind, .row = row};
    return op;
}

static enum mr_status send_prepare(struct mr_pg *pg, struct mr_pg_row_stmt *stmt, enum mr_pg_stmt_kind kind, size_t row,
                                   struct mr_error *err)
{
    if (!PQsendPrepare(pg->conn, stmt->name, stmt->text_z, (int)stmt->param_count, stmt->types))
        return mr_pg_fail(pg, NULL, "cannot apply rows", err);
    new_op(pg->pipe, stmt, kind, row)->is_prepare = true;
    stmt->is_prepared = true; /* as far as the rows behind it are concerned; the answer may take it back */
    return MR_OK;
}

static void size_arrays(struct mr_pg_pipe *pipe, size_t count)
{
    pipe->offsets = mr_xgrow(pipe->offsets, &pipe->cap_offsets, count + 1, sizeof(*pipe->offsets));
    pipe->values = mr_xgrow(pipe->values, &pipe->cap_values, count + 1, sizeof(*pipe->values));
    pipe->lengths = mr_xgrow(pipe->lengths, &pipe->cap_lengths, count + 1, sizeof(*pipe->lengths));
    pipe->formats = mr_xgrow(pipe->formats, &pipe->cap_formats, count + 1, sizeof(*pipe->formats));
}

static enum mr_status encode_params(struct mr_pg *pg, const struct mr_pg_row_stmt *stmt, const struct mr_row *row,
                                    struct mr_error *err)
{
    struct mr_pg_pipe *pipe = pg->pipe;

    size_arrays(pipe, stmt->param_count);
    mr_buf_clear(&pipe->data);
    for (size_t i = 0; i < stmt->param_count; i++) {
        const struct mr_value *cells = stmt->params[i].from_match ? row->match : row->cells;
        struct mr_value v = cells[stmt->params[i].column];
        pipe->offsets[i] = v.tag == MR_V_NULL ? SIZE_MAX : pipe->data.len;
        if (v.tag != MR_V_NULL)
            MR_TRY(mr_pg_encode(stmt->wires[i], pg->server.version, v, &pipe->data, err));
        pipe->lengths[i] = (int)(v.tag == MR_V_NULL ? 0 : pipe->data.len - pipe->offsets[i]);
        pipe->formats[i] = 1;
    }
    if (pipe->data.overflow)
        return mr_fail_data(err, MR_CODE_TOO_LARGE, "the row is longer than 1 GiB");
    mr_buf_z(&pipe->data); /* an empty value needs an address too */
    for (size_t i = 0; i < stmt->param_count; i++)
        pipe->values[i] = pipe->offsets[i] == SIZE_MAX ? NULL : pipe->data.data + pipe->offsets[i];
    return MR_OK;
}

static enum mr_status send_row(struct mr_pg *pg, struct mr_pg_row_stmt *stmt, enum mr_pg_stmt_kind kind, size_t row,
                               struct mr_error *err)
{
    struct mr_pg_pipe *pipe = pg->pipe;
    enum mr_status status = encode_params(pg, stmt, &pipe->batch->rows[row], err);

    if (status != MR_OK) {
        if (err)
            err->row = (int64_t)row;
        return status;
    }
    if (!PQsendQueryPrepared(pg->conn, stmt->name, (int)stmt->param_count, pipe->values, pipe->lengths, pipe->formats, 0))
        return mr_pg_fail(pg, NULL, "cannot apply rows", err);
    new_op(pipe, stmt, kind, row);
    pipe->bytes += pipe->data.len;
    return MR_OK;
}

enum mr_status mr_pg_pipe_begin(struct mr_pg *pg, struct mr_pg_shape *shape, struct mr_table_batch *batch,
                                struct mr_error *err)
{
    pg->pipe->shape = shape;
    pg->pipe->batch = batch;
    pg->pipe->op_count = 0;
    pg->pipe->bytes = 0;
    if (mr_map_count(shape->statements) > MAX_STATEMENTS)
        mr_pg_row_stmts_forget(pg, shape);
    if (!PQenterPipelineMode(pg->conn))
        return mr_pg_fail(pg, NULL, "cannot apply rows", err);
    return MR_OK;
}

enum mr_status mr_pg_pipe_row(struct mr_pg *pg, enum mr_pg_stmt_kind kind, size_t row, struct mr_error *err)
{
    struct mr_pg_pipe *pipe = pg->pipe;

    make_key(pipe, kind, &pipe->batch->rows[row]);
    struct mr_pg_row_stmt *stmt = mr_map_get(pipe->shape->statements, mr_buf_str(&pipe->key));
    if (!stmt)
        stmt = make_statement(pg, kind, &pipe->batch->rows[row]);
    if (!stmt->text_z)
        return MR_OK; /* nothing to do for such a row */
    if (pipe->op_count + 2 > MAX_QUEUED || pipe->bytes > MAX_QUEUED_BYTES)
        MR_TRY(flush(pg, MR_OK, err));

    if (!stmt->is_prepared)
        MR_TRY(send_prepare(pg, stmt, kind, row, err));
    return send_row(pg, stmt, kind, row, err);
}

enum mr_status mr_pg_pipe_end(struct mr_pg *pg, enum mr_status status, struct mr_error *err)
{
    struct mr_error ignored = {0};

    /* After a failure of ours the rest is read all the same, and its errors are of no interest. */
    status = flush(pg, status, status == MR_OK ? err : &ignored);
    if (PQstatus(pg->conn) == CONNECTION_OK && !PQexitPipelineMode(pg->conn) && status == MR_OK)
        return mr_pg_fail(pg, NULL, "cannot apply rows", err);
    return status;
}
