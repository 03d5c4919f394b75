/* Named queries: sql/sqlite/<name>.sql with its placeholders filled in, prepared once. Several statements of a file run in one transaction. */
#include "internal.h"

#include <millrace/base/mem.h>

extern const char *const mr_sql_sqlite[];

/* `{name}` becomes the quoted control table; the control schema is a prefix. */
static void append_control_name(const struct mr_sqlite *s, struct mr_str name, struct mr_buf *out)
{
    struct mr_buf full = MR_BUF_INIT(4096);
    mr_buf_append_z(&full, s->cfg->control_schema && *s->cfg->control_schema ? s->cfg->control_schema : "millrace");
    mr_buf_append_char(&full, '_');
    mr_buf_append_str(&full, name);
    mr_sqlite_quote(mr_buf_str(&full), out);
    mr_buf_free(&full);
}

static void fill_in(const struct mr_sqlite *s, struct mr_str text, struct mr_buf *out)
{
    while (text.len > 0) {
        ptrdiff_t open = mr_str_find(text, '{');
        ptrdiff_t close = open < 0 ? -1 : mr_str_find(mr_str_of(text.ptr + open, text.len - (size_t)open), '}');
        if (close < 0) {
            mr_buf_append_str(out, text);
            return;
        }
        mr_buf_append(out, text.ptr, (size_t)open);
        append_control_name(s, mr_str_of(text.ptr + open + 1, (size_t)close - 1), out);
        size_t used = (size_t)open + (size_t)close + 1;
        text = mr_str_of(text.ptr + used, text.len - used);
    }
}

static void free_query(struct mr_sqlite_query *q)
{
    for (size_t i = 0; i < q->count; i++)
        sqlite3_finalize(q->stmts[i]);
    mr_xfree(q->stmts);
    *q = (struct mr_sqlite_query){0};
}

void mr_sqlite_forget_queries(struct mr_sqlite *s)
{
    for (size_t i = 0; i < MR_QUERY_COUNT; i++)
        free_query(&s->queries[i]);
}

/* Prepare all statements of a file. */
static enum mr_status prepare_all(struct mr_sqlite *s, enum mr_query query, struct mr_sqlite_query *q, struct mr_error *err)
{
    struct mr_buf sql = MR_BUF_INIT(MR_SQLITE_SQL_MAX);
    fill_in(s, mr_str_z(mr_sql_sqlite[query]), &sql);
    enum mr_status status = MR_OK;
    size_t cap = 0;
    for (struct mr_str rest = mr_buf_str(&sql); status == MR_OK && rest.len > 0;) {
        sqlite3_stmt *stmt = NULL;
        status = mr_sqlite_prepare(s, rest, true, &stmt, &rest, err);
        if (!stmt)
            continue;
        q->stmts = mr_xgrow(q->stmts, &cap, q->count + 1, sizeof(*q->stmts));
        q->stmts[q->count++] = stmt;
    }
    mr_buf_free(&sql);
    if (status != MR_OK)
        free_query(q);
    return status;
}

static enum mr_status bind_param(struct mr_sqlite *s, sqlite3_stmt *stmt, int index, struct mr_value v, struct mr_error *err)
{
    int rc = SQLITE_OK;
    switch ((enum mr_tag)v.tag) {
    case MR_V_NULL:
        rc = sqlite3_bind_null(stmt, index);
        break;
    case MR_V_BOOL:
    case MR_V_INT:
        rc = sqlite3_bind_int64(stmt, index, v.i);
        break;
    case MR_V_FLOAT:
        rc = sqlite3_bind_double(stmt, index, v.f);
        break;
    case MR_V_TEXT:
    case MR_V_JSON:
        rc = sqlite3_bind_text64(stmt, index, v.len ? v.ptr : "", v.len, SQLITE_STATIC, SQLITE_UTF8);
        break;
    case MR_V_BYTES:
        rc = sqlite3_bind_blob64(stmt, index, v.len ? v.ptr : "", v.len, SQLITE_STATIC);
        break;
    case MR_V_ABSENT:
    case MR_V_UNAVAILABLE:
    case MR_V_NUMBER:
    case MR_V_ARRAY:
    case MR_V_DATE:
    case MR_V_TIME:
    case MR_V_DURATION:
    case MR_V_TIMESTAMP:
    case MR_V_TIMESTAMPTZ:
    case MR_V_UUID:
    case MR_V_BITS:
    case MR_V_PATCH:
    case MR_V_INVALID:
        return mr_fail(err, MR_E_BUG, "parameter %d of a control query has tag %u", index, (unsigned)v.tag);
    }
    return rc == SQLITE_OK ? MR_OK : mr_sqlite_fail(s, err, "bind parameter %d", index);
}

static struct mr_value cell_of(sqlite3_stmt *stmt, int i)
{
    switch (sqlite3_column_type(stmt, i)) {
    case SQLITE_INTEGER:
        return mr_value_int(sqlite3_column_int64(stmt, i));
    case SQLITE_FLOAT:
        return mr_value_float(sqlite3_column_double(stmt, i));
    case SQLITE_NULL:
        return mr_value_null();
    default:
        break;
    }
    bool is_text = sqlite3_column_type(stmt, i) == SQLITE_TEXT;
    const char *ptr = is_text ? (const char *)sqlite3_column_text(stmt, i) : sqlite3_column_blob(stmt, i);
    struct mr_str bytes = {ptr ? ptr : "", (size_t)sqlite3_column_bytes(stmt, i)};
    return mr_value_bytes(is_text ? MR_V_TEXT : MR_V_BYTES, bytes);
}

static enum mr_status give_row(sqlite3_stmt *stmt, mr_row_fn on_row, void *ctx, struct mr_error *err)
{
    struct mr_value cells[64];
    int count = sqlite3_column_count(stmt);
    if (count > 64)
        return mr_fail(err, MR_E_BUG, "a control query of %d columns", count);
    for (int i = 0; i < count; i++)
        cells[i] = cell_of(stmt, i);
    return on_row(ctx, cells, (size_t)count, err);
}

static enum mr_status step_all(struct mr_sqlite *s, sqlite3_stmt *stmt, mr_row_fn on_row, void *ctx, struct mr_error *err)
{
    for (;;) {
        int rc = sqlite3_step(stmt);
        if (rc == SQLITE_DONE)
            return MR_OK;
        if (rc != SQLITE_ROW)
            return mr_sqlite_fail(s, err, "run a control query");
        if (on_row)
            MR_TRY(give_row(stmt, on_row, ctx, err));
    }
}

static enum mr_status run_statement(struct mr_sqlite *s, sqlite3_stmt *stmt, const struct mr_value *params, size_t count,
                                    mr_row_fn on_row, void *ctx, struct mr_error *err)
{
    /* A statement may name fewer parameters than the file has. */
    size_t named = (size_t)sqlite3_bind_parameter_count(stmt);
    if (named > count)
        return mr_fail(err, MR_E_BUG, "a control query wants %zu parameters, got %zu", named, count);
    enum mr_status status = MR_OK;
    for (size_t i = 0; status == MR_OK && i < named; i++)
        status = bind_param(s, stmt, (int)i + 1, params[i], err);
    if (status == MR_OK)
        status = step_all(s, stmt, on_row, ctx, err);
    sqlite3_reset(stmt);
    sqlite3_clear_bindings(stmt);
    return status;
}

static enum mr_status run_query(struct mr_sqlite *s, struct mr_sqlite_query *q, const struct mr_value *params, size_t count,
                                mr_row_fn on_row, void *ctx, uint64_t *affected, struct mr_error *err)
{
    for (size_t i = 0; i < q->count; i++) {
        bool is_last = i + 1 == q->count;
        MR_TRY(run_statement(s, q->stmts[i], params, count, is_last ? on_row : NULL, ctx, err));
        if (is_last && affected)
            *affected = sqlite3_stmt_readonly(q->stmts[i]) ? 0 : (uint64_t)sqlite3_changes64(s->db);
    }
    return MR_OK;
}

static bool is_running(const struct mr_sqlite_query *q)
{
    for (size_t i = 0; i < q->count; i++) {
        if (sqlite3_stmt_busy(q->stmts[i]))
            return true;
    }
    return false;
}

/* control_create makes the tables that its later statements name, so it cannot be prepared as a whole. */
static enum mr_status run_script(struct mr_sqlite *s, enum mr_query query, mr_row_fn on_row, void *ctx, struct mr_error *err)
{
    struct mr_buf sql = MR_BUF_INIT(MR_SQLITE_SQL_MAX);
    fill_in(s, mr_str_z(mr_sql_sqlite[query]), &sql);
    enum mr_status status = MR_OK;
    for (struct mr_str rest = mr_buf_str(&sql); status == MR_OK && rest.len > 0;) {
        sqlite3_stmt *stmt = NULL;
        status = mr_sqlite_prepare(s, rest, false, &stmt, &rest, err);
        if (stmt)
            status = step_all(s, stmt, on_row, ctx, err); /* only the last one has rows */
        sqlite3_finalize(stmt);
    }
    mr_buf_free(&sql);
    return status;
}

static enum mr_status run_named(struct mr_sqlite *s, enum mr_query query, const struct mr_value *params, size_t count,
                                mr_row_fn on_row, void *ctx, uint64_t *affected, struct mr_error *err)
{
    if (query == MR_Q_control_create)
        return run_script(s, query, on_row, ctx, err);
    struct mr_sqlite_query *kept = &s->queries[query];
    if (kept->count == 0)
        MR_TRY(prepare_all(s, query, kept, err));
    if (!is_running(kept))
        return run_query(s, kept, params, count, on_row, ctx, affected, err);

    /* Called from the row callback of the same query. */
    struct mr_sqlite_query own = {0};
    MR_TRY(prepare_all(s, query, &own, err));
    enum mr_status status = run_query(s, &own, params, count, on_row, ctx, affected, err);
    free_query(&own);
    return status;
}

enum mr_status mr_sqlite_exec(struct mr_sink *sink, enum mr_query query, const struct mr_value *params, size_t param_count,
                              mr_row_fn on_row, void *ctx, uint64_t *affected, struct mr_error *err)
{
    struct mr_sqlite *s = mr_sqlite_of(sink);
    mr_sqlite_enter(s);
    bool is_script = query == MR_Q_control_create || strchr(mr_sql_sqlite[query], ';') != NULL;
    if (!is_script || !sqlite3_get_autocommit(s->db))
        return run_named(s, query, params, param_count, on_row, ctx, affected, err);

    MR_TRY(mr_sqlite_begin(sink, err));
    enum mr_status status = run_named(s, query, params, param_count, on_row, ctx, affected, err);
    if (status == MR_OK)
        status = mr_sqlite_commit(sink, err);
    if (status != MR_OK)
        mr_sqlite_rollback(sink);
    return status;
}
