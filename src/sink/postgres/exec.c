/* Named queries: each statement is prepared once per connection, when it is first needed. Parameters and results travel as text
 * (bytes in binary), since the server, not we, decides the parameters' types. Results are read whole before the first callback, so that a
 * callback may use the same connection. */
#include "pg.h"

#include "query_text.h"

#include <millrace/base/decimal.h>
#include <millrace/base/encode.h>
#include <millrace/base/mem.h>

#include <stdlib.h>

struct query {
    bool is_split;
    struct mr_pg_statement *statements;
    size_t count;
    bool *is_prepared; /* per statement */
};

struct mr_pg_queries {
    struct mr_arena *ar;
    uint64_t generation; /* part of the statements' names: grows when all were lost */
    struct query items[MR_QUERY_COUNT];
};

struct mr_pg_queries *mr_pg_queries_create(void)
{
    struct mr_pg_queries *queries = mr_xcalloc(1, sizeof(*queries));
    queries->ar = mr_arena_create(0);
    return queries;
}

void mr_pg_queries_destroy(struct mr_pg_queries *queries)
{
    if (!queries)
        return;
    mr_arena_destroy(queries->ar);
    mr_xfree(queries);
}

void mr_pg_queries_forget(struct mr_pg_queries *queries)
{
    queries->generation++;
    for (size_t i = 0; i < MR_QUERY_COUNT; i++)
        for (size_t k = 0; k < queries->items[i].count; k++)
            queries->items[i].is_prepared[k] = false;
}

static enum mr_status split_query(struct mr_pg *pg, enum mr_query id, struct query **out, struct mr_error *err)
{
    struct query *query = &pg->queries->items[id];

    if (!query->is_split) {
        MR_TRY(mr_pg_query_split(mr_sql_postgres[id], mr_buf_str(&pg->control), pg->queries->ar, &query->statements,
                                 &query->count, err));
        query->is_prepared = mr_arena_zalloc(pg->queries->ar, query->count + 1);
        query->is_split = true;
    }
    *out = query;
    return MR_OK;
}

/* ---- Parameters ---- */

struct params {
    const char **values; /* NULL = null */
    int *lengths;
    int *formats; /* 0 text, 1 binary */
};

static enum mr_status param_of(struct mr_value v, struct mr_arena *ar, struct params *to, size_t i, struct mr_error *err)
{
    char text[32];

    to->lengths[i] = 0;
    to->formats[i] = 0;
    switch ((enum mr_tag)v.tag) {
    case MR_V_NULL:
        to->values[i] = NULL;
        return MR_OK;
    case MR_V_BOOL:
        to->values[i] = v.i ? "true" : "false";
        return MR_OK;
    case MR_V_INT:
        to->values[i] = mr_arena_strndup(ar, text, (size_t)snprintf(text, sizeof(text), "%lld", (long long)v.i));
        return MR_OK;
    case MR_V_FLOAT:
        to->values[i] = mr_arena_strndup(ar, text, mr_double_text(v.f, text));
        return MR_OK;
    case MR_V_TEXT:
        if (v.len && memchr(v.ptr, '\0', v.len))
            return mr_fail_data(err, MR_CODE_TEXT_INVALID, "a control table cannot hold the character U+0000");
        to->values[i] = mr_arena_strndup(ar, v.ptr, v.len);
        return MR_OK;
    case MR_V_BYTES:
        to->values[i] = v.len ? v.ptr : "";
        to->lengths[i] = (int)v.len;
        to->formats[i] = 1;
        return v.len <= MR_PG_MAX_VALUE ? MR_OK : mr_fail_data(err, MR_CODE_TOO_LARGE, "a parameter is longer than 1 GiB");
    case MR_V_ABSENT:
    case MR_V_UNAVAILABLE:
    case MR_V_NUMBER:
    case MR_V_DATE:
    case MR_V_TIME:
    case MR_V_DURATION:
    case MR_V_TIMESTAMP:
    case MR_V_TIMESTAMPTZ:
    case MR_V_UUID:
    case MR_V_BITS:
    case MR_V_JSON:
    case MR_V_ARRAY:
    case MR_V_PATCH:
    case MR_V_INVALID:
        break;
    }
    return mr_fail(err, MR_E_BUG, "a named query's parameter has tag %u", (unsigned)v.tag);
}

static enum mr_status bind(const struct mr_pg_statement *st, const struct mr_value *params, size_t param_count,
                           struct mr_arena *ar, struct params *out, struct mr_error *err)
{
    out->values = mr_arena_alloc(ar, (st->param_count + 1) * sizeof(*out->values));
    out->lengths = mr_arena_alloc(ar, (st->param_count + 1) * sizeof(*out->lengths));
    out->formats = mr_arena_alloc(ar, (st->param_count + 1) * sizeof(*out->formats));
    for (size_t i = 0; i < st->param_count; i++) {
        if (st->params[i] >= param_count)
            return mr_fail(err, MR_E_BUG, "a named query wants parameter %u", st->params[i] + 1u);
        MR_TRY(param_of(params[st->params[i]], ar, out, i, err));
    }
    return MR_OK;
}

/* ---- Results ---- */

static struct mr_value bytes_of(struct mr_str text, struct mr_arena *ar)
{
    struct mr_str bytes;
    if (!mr_str_starts(text, MR_STR("\\x")) || !mr_hex_decode(mr_str_of(text.ptr + 2, text.len - 2), ar, &bytes))
        bytes = (struct mr_str){"", 0};
    return mr_value_bytes(MR_V_BYTES, bytes);
}

static struct mr_value cell_of(const PGresult *res, int row, int col, struct mr_arena *ar)
{
    struct mr_str text = mr_str_of(PQgetvalue(res, row, col), (size_t)PQgetlength(res, row, col));
    int64_t i = 0;
    double f = 0;

    if (PQgetisnull(res, row, col))
        return mr_value_null();
    switch (PQftype(res, col)) {
    case 16: /* bool */
        return mr_value_bool(text.len > 0 && text.ptr[0] == 't');
    case 20: /* int8, int2, int4, oid */
    case 21:
    case 23:
    case 26:
        return mr_parse_int64(text, &i) ? mr_value_int(i) : mr_value_text(text);
    case 700: /* float4, float8 */
    case 701:
        return mr_parse_double(text, &f) ? mr_value_float(f) : mr_value_text(text);
    case 17: /* bytea */
        return bytes_of(text, ar);
    }
    return mr_value_text(text);
}

static enum mr_status hand_out(const PGresult *res, mr_row_fn on_row, void *ctx, struct mr_error *err)
{
    int rows = PQntuples(res), cols = PQnfields(res);
    struct mr_arena *ar = mr_arena_create(0);
    enum mr_status status = MR_OK;

    for (int row = 0; row < rows && status == MR_OK; row++) {
        mr_arena_reset(ar);
        struct mr_value *cells = mr_arena_alloc(ar, ((size_t)cols + 1) * sizeof(*cells));
        for (int col = 0; col < cols; col++)
            cells[col] = cell_of(res, row, col, ar);
        status = on_row(ctx, cells, (size_t)cols, err);
    }
    mr_arena_destroy(ar);
    return status;
}

/* ---- Running ---- */

static enum mr_status run_statement(struct mr_pg *pg, enum mr_query id, struct query *query, size_t i,
                                    const struct params *params, PGresult **res, struct mr_error *err)
{
    const struct mr_pg_statement *st = &query->statements[i];
    char name[64];

    snprintf(name, sizeof(name), "mr_query_%d_%zu_%llu", (int)id, i, (unsigned long long)pg->queries->generation);
    if (!query->is_prepared[i]) {
        MR_PG_RESULT made = PQprepare(pg->conn, name, st->text_z, 0, NULL);
        if (PQresultStatus(made) != PGRES_COMMAND_OK)
            return mr_pg_fail(pg, made, "cannot prepare a control query", err);
        query->is_prepared[i] = true;
    }
    *res = PQexecPrepared(pg->conn, name, (int)st->param_count, params->values, params->lengths, params->formats, 0);
    ExecStatusType status = PQresultStatus(*res);
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
        return MR_OK;
    struct mr_error own = {0};
    struct mr_error *to = err ? err : &own;
    enum mr_status failed = mr_pg_fail(pg, *res, "a control query failed", to);
    if (strcmp(to->native, "0A000") == 0) /* "cached plan must not change result type" */
        failed = to->status = MR_E_SCHEMA;
    if (failed == MR_E_SCHEMA) /* the statement may be stale: make all of them anew */
        mr_pg_queries_forget(pg->queries);
    return failed;
}

enum mr_status mr_pg_exec(struct mr_sink *sink, enum mr_query id, const struct mr_value *params,
                          size_t param_count, mr_row_fn on_row, void *ctx, uint64_t *affected,
                          struct mr_error *err)
{
    struct mr_pg *pg = mr_pg_of(sink);
    struct query *query;
    struct mr_arena *ar = mr_arena_create(0);
    MR_PG_RESULT res = NULL;
    enum mr_status status;

    MR_TRY_DONE(split_query(pg, id, &query, err));
    for (size_t i = 0; i < query->count; i++) {
        struct params bound;
        MR_TRY_DONE(bind(&query->statements[i], params, param_count, ar, &bound, err));
        mr_pg_clear(&res);
        MR_TRY_DONE(run_statement(pg, id, query, i, &bound, &res, err));
    }
    if (affected)
        *affected = res ? strtoull(PQcmdTuples(res), NULL, 10) : 0;
    if (on_row && res)
        MR_TRY_DONE(hand_out(res, on_row, ctx, err));
    status = MR_OK;

done:
    mr_arena_destroy(ar);
    return status;
}
