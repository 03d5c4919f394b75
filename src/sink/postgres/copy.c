/* COPY in binary: see copy.h. */
#include "copy.h"

#include "encode.h"

#define CHUNK_BYTES ((size_t)64 << 10) /* handed to libpq at once: the server reads while we encode what follows */
#define KEEP_BYTES ((size_t)1 << 20)   /* a buffer beyond this goes back after a giant row */

/* What every binary COPY begins with: signature, flags, length of the header's extension. */
static const char header[19] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0";

struct copy {
    struct mr_pg *pg;
    const struct mr_pg_shape *shape;
    const struct mr_table_batch *batch;
    const struct mr_pg_picked *picked;
    struct mr_buf *data; /* the connection's own, kept from batch to batch */
    const char *what;
};

static enum mr_status send_data(struct copy *cp, struct mr_error *err)
{
    if (cp->data->len > 0 && PQputCopyData(cp->pg->conn, cp->data->data, (int)cp->data->len) != 1)
        return mr_pg_fail(cp->pg, NULL, cp->what, err);
    mr_buf_clear(cp->data);
    return MR_OK;
}

static enum mr_status encode_row(struct copy *cp, size_t i, struct mr_error *err)
{
    const struct mr_row *row = &cp->batch->rows[cp->picked->rows[i]];
    size_t count = cp->shape->column_count;

    mr_buf_append_u16be(cp->data, (uint16_t)(count + (cp->picked->groups != NULL)));
    if (cp->picked->groups) {
        mr_buf_append_u32be(cp->data, 4);
        mr_buf_append_u32be(cp->data, (uint32_t)cp->picked->groups[i]);
    }
    for (size_t k = 0; k < count; k++)
        MR_TRY(mr_pg_encode_field(cp->shape->columns[k].wire, cp->pg->server.version, row->cells[k], cp->data, err));
    return MR_OK;
}

static enum mr_status send_rows(struct copy *cp, struct mr_error *err)
{
    mr_buf_append(cp->data, header, sizeof(header));
    for (size_t i = 0; i < cp->picked->count; i++) {
        enum mr_status status = encode_row(cp, i, err);
        if (status != MR_OK) {
            if (err)
                err->row = cp->picked->rows[i];
            return status;
        }
        if (cp->data->len >= CHUNK_BYTES)
            MR_TRY(send_data(cp, err));
    }
    mr_buf_append_u16be(cp->data, UINT16_MAX); /* end of the data */
    return send_data(cp, err);
}

/* Read the COPY's answer. When the server has refused a line, the row it stands for is known. */
static enum mr_status finish(struct copy *cp, struct mr_str relation, struct mr_error *err)
{
    enum mr_status status = MR_OK;

    for (;;) {
        MR_PG_RESULT res = PQgetResult(cp->pg->conn);
        if (!res)
            break;
        if (PQresultStatus(res) == PGRES_COMMAND_OK || status != MR_OK)
            continue;
        status = mr_pg_fail(cp->pg, res, cp->what, err);
        int64_t line = mr_pg_copy_line(res, relation);
        if (err && status == MR_E_DATA && line >= 0 && line < (int64_t)cp->picked->count)
            err->row = cp->picked->rows[line];
    }
    if (status == MR_OK && PQstatus(cp->pg->conn) != CONNECTION_OK)
        return mr_pg_fail(cp->pg, NULL, cp->what, err);
    return status;
}

/* Begin the COPY whose text stands in pg->sql, send the rows, end it. */
static enum mr_status run(struct copy *cp, struct mr_str relation, struct mr_error *err)
{
    const char *sql_z;
    struct mr_error ignored = {0};

    MR_TRY(mr_pg_sql(cp->pg, &sql_z, err));
    MR_PG_RESULT begun = PQexec(cp->pg->conn, sql_z);
    if (PQresultStatus(begun) != PGRES_COPY_IN)
        return mr_pg_fail(cp->pg, begun, cp->what, err);

    cp->data = &cp->pg->copy;
    enum mr_status status = send_rows(cp, err);
    mr_buf_clear(cp->data);
    if (cp->data->cap > KEEP_BYTES)
        mr_buf_free(cp->data);
    int ended = PQputCopyEnd(cp->pg->conn, status == MR_OK ? NULL : "a row could not be encoded");
    if (ended != 1 && status == MR_OK)
        status = mr_pg_fail(cp->pg, NULL, cp->what, err);
    enum mr_status answer = finish(cp, relation, status == MR_OK ? err : &ignored);
    return status != MR_OK ? status : answer;
}

enum mr_status mr_pg_copy_stage(struct mr_pg *pg, struct mr_pg_shape *shape, const struct mr_table_batch *batch,
                                const struct mr_pg_picked *picked, struct mr_error *err)
{
    struct copy cp = {.pg = pg, .shape = shape, .batch = batch, .picked = picked, .what = "cannot copy rows"};

    mr_buf_clear(&pg->sql);
    mr_pg_stage_append(pg, shape, batch->tbl);
    mr_buf_append_z(&pg->sql, "; COPY ");
    mr_buf_append_str(&pg->sql, shape->stage);
    mr_buf_append_z(&pg->sql, " (");
    mr_buf_append_z(&pg->sql, picked->groups ? "g, " : "");
    for (size_t i = 0; i < shape->column_count; i++) {
        mr_buf_append_z(&pg->sql, i ? ", " : "");
        mr_buf_append_str(&pg->sql, shape->columns[i].stage);
    }
    mr_buf_append_z(&pg->sql, ") FROM STDIN (FORMAT binary)");
    MR_TRY(run(&cp, shape->stage_name, err));
    mr_pg_stage_made(pg, shape);
    return MR_OK;
}

enum mr_status mr_pg_copy_target(struct mr_pg *pg, struct mr_pg_shape *shape, const struct mr_table_batch *batch,
                                 const struct mr_pg_picked *picked, struct mr_error *err)
{
    struct copy cp = {.pg = pg, .shape = shape, .batch = batch, .picked = picked, .what = "cannot copy rows"};

    mr_buf_clear(&pg->sql);
    mr_buf_append_z(&pg->sql, "COPY ");
    mr_buf_append_str(&pg->sql, shape->target);
    mr_buf_append_z(&pg->sql, " (");
    for (size_t i = 0; i < shape->column_count; i++) {
        mr_buf_append_z(&pg->sql, i ? ", " : "");
        mr_buf_append_str(&pg->sql, shape->columns[i].ident);
    }
    mr_buf_append_z(&pg->sql, ") FROM STDIN (FORMAT binary)");
    return run(&cp, shape->relname, err);
}
