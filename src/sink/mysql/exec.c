/* Named queries: each statement is prepared once per connection, when it is first needed. Results are read whole before the first callback, so
 * that a callback may use the same connection, and run the same query. */
#include <millrace/base/decimal.h>
#include <millrace/base/mem.h>

#include "my.h"
#include "query_text.h"
#include "shape.h"

#define MAX_BUSY 20 /* a query of several statements outside a transaction meets others: it is tried again */

struct query {
    bool is_split;
    struct mr_my_statement *statements;
    size_t count;
    MYSQL_STMT **prepared; /* per statement; NULL: not yet */
};

struct mr_my_queries {
    struct mr_arena *ar;
    struct query items[MR_QUERY_COUNT];
};

struct mr_my_queries *mr_my_queries_create(void)
{
    struct mr_my_queries *queries = mr_xcalloc(1, sizeof(*queries));
    queries->ar = mr_arena_create(0);
    return queries;
}

static void forget(struct query *query)
{
    for (size_t i = 0; i < query->count; i++) {
        if (query->prepared[i])
            mysql_stmt_close(query->prepared[i]);
        query->prepared[i] = NULL;
    }
}

void mr_my_queries_destroy(struct mr_my_queries *queries)
{
    if (!queries)
        return;
    for (size_t i = 0; i < MR_QUERY_COUNT; i++)
        forget(&queries->items[i]);
    mr_arena_destroy(queries->ar);
    mr_xfree(queries);
}

/* All statements are prepared before the first is run: ROW_COUNT() must find what the statement before it has left. */
static enum mr_status prepare(struct mr_my *my, enum mr_query id, struct query **out, struct mr_error *err)
{
    struct query *query = *out = &my->queries->items[id];
    struct mr_arena *ar = my->queries->ar;

    if (!query->is_split) {
        MR_TRY(mr_my_query_split(mr_sql_mysql[id], mr_buf_str(&my->control), mr_my_collation(&my->server), ar, &query->statements,
                                 &query->count, err));
        query->prepared = mr_arena_zalloc(ar, (query->count + 1) * sizeof(MYSQL_STMT *));
        query->is_split = true;
    }
    for (size_t i = 0; i < query->count; i++) {
        if (query->prepared[i])
            continue;
        MYSQL_STMT *stmt = mysql_stmt_init(my->conn);
        if (!stmt)
            return mr_my_fail(my, "cannot prepare a control query", err);
        if (!mr_my_prepare(my, stmt, query->statements[i].text)) {
            enum mr_status status = mr_my_fail_stmt(my, stmt, "cannot prepare a control query", err);
            mysql_stmt_close(stmt);
            return status;
        }
        query->prepared[i] = stmt;
    }
    return MR_OK;
}

/* ---- Parameters ---- */

/* `store` holds what numbers are bound from; it lives as long as the binding. */
static enum mr_status bind_param(struct mr_value v, MYSQL_BIND *bind, long long *store, struct mr_error *err)
{
    *bind = (MYSQL_BIND){0};
    switch ((enum mr_tag)v.tag) {
    case MR_V_NULL:
        bind->buffer_type = MYSQL_TYPE_NULL;
        return MR_OK;
    case MR_V_BOOL:
    case MR_V_INT:
        *store = v.i;
        bind->buffer_type = MYSQL_TYPE_LONGLONG;
        bind->buffer = store;
        return MR_OK;
    case MR_V_TEXT:
    case MR_V_BYTES:
        bind->buffer_type = v.tag == MR_V_TEXT ? MYSQL_TYPE_STRING : MYSQL_TYPE_BLOB;
        bind->buffer = (void *)(uintptr_t)(v.len ? v.ptr : "");
        bind->buffer_length = v.len;
        bind->length_value = v.len;
        bind->length = &bind->length_value;
        return MR_OK;
    case MR_V_ABSENT:
    case MR_V_UNAVAILABLE:
    case MR_V_NUMBER:
    case MR_V_FLOAT:
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

static enum mr_status bind_params(const struct mr_my_statement *st, const struct mr_value *params, size_t count, struct mr_arena *ar,
                                  MYSQL_BIND **out, struct mr_error *err)
{
    MYSQL_BIND *bind = mr_arena_zalloc(ar, (st->param_count + 1) * sizeof(*bind));
    long long *store = mr_arena_alloc(ar, (st->param_count + 1) * sizeof(*store));

    for (size_t i = 0; i < st->param_count; i++) {
        if (st->params[i] >= count)
            return mr_fail(err, MR_E_BUG, "a named query wants parameter %u", st->params[i] + 1u);
        MR_TRY(bind_param(params[st->params[i]], &bind[i], &store[i], err));
    }
    *out = bind;
    return MR_OK;
}

#define STATEMENT_MARGIN 65536 /* of a packet: the statement's own text, types, lengths */

uint64_t mr_my_room(const struct mr_sink *sink)
{
    uint64_t max = ((const struct mr_my *)(const void *)sink)->max_packet;
    return max > 2 * STATEMENT_MARGIN ? max - STATEMENT_MARGIN : max / 2;
}

static enum mr_status check_size(struct mr_my *my, const struct mr_value *params, size_t count, struct mr_error *err)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += params[i].tag == MR_V_TEXT || params[i].tag == MR_V_BYTES ? params[i].len : 8;
    if (bytes <= mr_my_room(&my->base))
        return MR_OK;
    enum mr_status status = mr_fail_data(err, MR_CODE_TOO_LARGE, "%llu bytes for a control table do not fit max_allowed_packet, which is %llu",
                                         (unsigned long long)bytes, (unsigned long long)my->max_packet);
    mr_error_hint(err, "raise max_allowed_packet on the server");
    return status;
}

/* ---- Results ---- */

struct rows {
    struct mr_arena *ar;
    struct mr_value **items;
    size_t count, cap;
    unsigned width;
};

enum { CHARSET_BINARY = 63 };

struct column {
    MYSQL_BIND bind;
    unsigned long length;
    my_bool is_null, error;
    long long number;
    enum mr_tag tag;
};

static void describe_column(const MYSQL_FIELD *field, struct column *col)
{
    switch (field->type) {
    case MYSQL_TYPE_TINY:
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_LONGLONG:
        col->tag = MR_V_INT;
        col->bind.buffer_type = MYSQL_TYPE_LONGLONG;
        col->bind.buffer = &col->number;
        col->bind.buffer_length = sizeof(col->number);
        break;
    case MYSQL_TYPE_TINY_BLOB:
    case MYSQL_TYPE_MEDIUM_BLOB:
    case MYSQL_TYPE_LONG_BLOB:
    case MYSQL_TYPE_BLOB:
    case MYSQL_TYPE_STRING:
    case MYSQL_TYPE_VAR_STRING:
        col->tag = field->charsetnr == CHARSET_BINARY ? MR_V_BYTES : MR_V_TEXT;
        col->bind.buffer_type = MYSQL_TYPE_STRING;
        break;
    default:
        col->tag = MR_V_TEXT;
        col->bind.buffer_type = MYSQL_TYPE_STRING;
        break;
    }
    col->bind.length = &col->length;
    col->bind.is_null = &col->is_null;
    col->bind.error = &col->error;
}

static enum mr_status take_cell(struct mr_my *my, MYSQL_STMT *stmt, struct column *col, unsigned i, struct mr_arena *ar,
                                struct mr_value *out, struct mr_error *err)
{
    if (col->is_null) {
        *out = mr_value_null();
        return MR_OK;
    }
    if (col->tag == MR_V_INT) {
        *out = mr_value_int(col->number);
        return MR_OK;
    }
    char *text = mr_arena_alloc(ar, col->length + 1);
    MYSQL_BIND bind = {.buffer_type = MYSQL_TYPE_STRING, .buffer = text, .buffer_length = col->length, .length = &col->length,
                       .is_null = &col->is_null, .error = &col->error};
    if (col->length > 0 && mysql_stmt_fetch_column(stmt, &bind, i, 0) != 0)
        return mr_my_fail_stmt(my, stmt, "cannot read the result of a control query", err);
    *out = mr_value_bytes(col->tag, mr_str_of(text, col->length));
    return MR_OK;
}

static enum mr_status take_rows(struct mr_my *my, MYSQL_STMT *stmt, struct column *columns, struct rows *rows, struct mr_error *err)
{
    for (;;) {
        int rc = mysql_stmt_fetch(stmt);
        if (rc == MYSQL_NO_DATA)
            return MR_OK;
        if (rc != 0 && rc != MYSQL_DATA_TRUNCATED) /* the buffers are made for the lengths, which only the row tells */
            return mr_my_fail_stmt(my, stmt, "cannot read the result of a control query", err);
        struct mr_value *cells = mr_arena_alloc(rows->ar, (rows->width + 1) * sizeof(*cells));
        for (unsigned i = 0; i < rows->width; i++)
            MR_TRY(take_cell(my, stmt, &columns[i], i, rows->ar, &cells[i], err));
        rows->items = mr_xgrow(rows->items, &rows->cap, rows->count + 1, sizeof(struct mr_value *));
        rows->items[rows->count++] = cells;
    }
}

static enum mr_status read_result(struct mr_my *my, MYSQL_STMT *stmt, struct rows *rows, struct mr_error *err)
{
    MR_MY_RESULT meta = mysql_stmt_result_metadata(stmt);
    if (!meta)
        return MR_OK;
    rows->width = mysql_num_fields(meta);
    struct column *columns = mr_arena_zalloc(rows->ar, (rows->width + 1) * sizeof(*columns));
    MYSQL_BIND *bind = mr_arena_zalloc(rows->ar, (rows->width + 1) * sizeof(*bind));
    const MYSQL_FIELD *fields = mysql_fetch_fields(meta);
    for (unsigned i = 0; i < rows->width; i++) {
        describe_column(&fields[i], &columns[i]);
        bind[i] = columns[i].bind;
    }
    if (mysql_stmt_bind_result(stmt, bind) != 0 || mysql_stmt_store_result(stmt) != 0)
        return mr_my_fail_stmt(my, stmt, "cannot read the result of a control query", err);
    return take_rows(my, stmt, columns, rows, err);
}

/* ---- Running ---- */

static enum mr_status run_statement(struct mr_my *my, const struct mr_my_statement *st, MYSQL_STMT *stmt, const struct mr_value *params,
                                    size_t param_count, struct rows *rows, uint64_t *affected, struct mr_error *err)
{
    MYSQL_BIND *bind = NULL;
    MR_TRY(bind_params(st, params, param_count, rows->ar, &bind, err));
    if ((st->param_count > 0 && mysql_stmt_bind_param(stmt, bind) != 0) || mysql_stmt_execute(stmt) != 0)
        return mr_my_fail_stmt(my, stmt, "a control query failed", err);
    rows->count = 0;
    enum mr_status status = read_result(my, stmt, rows, err);
    if (status != MR_OK)
        mr_my_break(my);
    bool has_rows = rows->width > 0;
    *affected = has_rows ? 0 : mysql_stmt_affected_rows(stmt);
    mysql_stmt_free_result(stmt);
    return status;
}

static enum mr_status run_query(struct mr_my *my, enum mr_query id, const struct mr_value *params, size_t param_count,
                                struct rows *rows, uint64_t *affected, struct mr_error *err)
{
    struct query *query;
    MR_TRY(prepare(my, id, &query, err));
    for (size_t i = 0; i < query->count; i++) {
        rows->width = 0;
        enum mr_status status =
            run_statement(my, &query->statements[i], query->prepared[i], params, param_count, rows, affected, err);
        if (status == MR_E_SCHEMA) /* the statements may be stale: they are made anew */
            forget(query);
        MR_TRY(status);
    }
    return MR_OK;
}

/* In a transaction of its own, which is tried again when it met another one. */
static enum mr_status run_alone(struct mr_my *my, enum mr_query id, const struct mr_value *params, size_t param_count,
                                struct rows *rows, uint64_t *affected, struct mr_error *err)
{
    enum mr_status status = MR_E_BUSY;
    for (int i = 0; i < MAX_BUSY && status == MR_E_BUSY; i++) {
        MR_TRY(mr_my_begin(&my->base, err));
        status = run_query(my, id, params, param_count, rows, affected, err);
        if (status == MR_OK)
            status = mr_my_commit(&my->base, err);
        if (status != MR_OK)
            mr_my_rollback(&my->base);
    }
    return status;
}

static enum mr_status hand_out(const struct rows *rows, mr_row_fn on_row, void *ctx, struct mr_error *err)
{
    for (size_t i = 0; i < rows->count; i++)
        MR_TRY(on_row(ctx, rows->items[i], rows->width, err));
    return MR_OK;
}

enum mr_status mr_my_exec(struct mr_sink *sink, enum mr_query id, const struct mr_value *params, size_t param_count, mr_row_fn on_row,
                          void *ctx, uint64_t *affected, struct mr_error *err)
{
    struct mr_my *my = mr_my_of(sink);
    struct rows rows = {.ar = mr_arena_create(0)};
    uint64_t changed = 0;
    enum mr_status status;

    MR_TRY_DONE(check_size(my, params, param_count, err));
    if (my->in_txn || id == MR_Q_control_version)
        status = run_query(my, id, params, param_count, &rows, &changed, err);
    else
        status = run_alone(my, id, params, param_count, &rows, &changed, err);
    MR_TRY_DONE(status);
    if (affected)
        *affected = changed;
    if (on_row)
        status = hand_out(&rows, on_row, ctx, err);

done:
    mr_xfree(rows.items);
    mr_arena_destroy(rows.ar);
    return status;
}
