/* For the tests of the PostgreSQL sink: a connection to the test server, tables and rows in short words, and a second, plain connection to
 * look at what has become of them. */
#ifndef TESTS_INTEGRATION_PG_HELPER_H
#define TESTS_INTEGRATION_PG_HELPER_H

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <libpq-fe.h>

#include <millrace/base/mem.h>
#include <millrace/sink.h>

#define UNUSED __attribute__((unused))

static struct mr_config cfg;
static char server_url[512];
static PGconn *raw;           /* the plain connection */
static struct mr_sink *sink;  /* the connection under test */
static struct mr_arena *ar;   /* values of the running test */
static uint64_t table_ids;

/* The server's URL stands in the file that MILLRACE_TEST_PG names: postgresql://USER@/postgres?host=SOCKET. */
static void read_url(char *url, size_t size)
{
    const char *path = getenv("MILLRACE_TEST_PG");
    FILE *file = path ? fopen(path, "r") : NULL;
    if (!file || !fgets(url, (int)size, file)) {
        fprintf(stderr, "MILLRACE_TEST_PG must name the file that holds the test server's URL\n");
        exit(1);
    }
    fclose(file);
    url[strcspn(url, "\n")] = '\0';
}

static void no_notice(void *arg, const char *message)
{
    (void)arg;
    (void)message;
}

/* Each program works in a database of its own, so that several may run at once. */
static void make_database(void)
{
    char url[400], text[200];
    read_url(url, sizeof(url));
    PGconn *conn = PQconnectdb(url);
    PQsetNoticeProcessor(conn, no_notice, NULL);
    snprintf(text, sizeof(text), "DROP DATABASE IF EXISTS \"%s\"", program_invocation_short_name);
    PQclear(PQexec(conn, text));
    snprintf(text, sizeof(text), "CREATE DATABASE \"%s\"", program_invocation_short_name);
    PGresult *res = PQexec(conn, text);
    char *options = strstr(url, "/postgres?");
    if (PQresultStatus(res) != PGRES_COMMAND_OK || !options) {
        fprintf(stderr, "no test database: %s", PQerrorMessage(conn));
        exit(1);
    }
    PQclear(res);
    PQfinish(conn);
    snprintf(server_url, sizeof(server_url), "%.*s/%s%s", (int)(options - url), url, program_invocation_short_name,
             options + strlen("/postgres"));
}

UNUSED static void sql(const char *text)
{
    PGresult *res = PQexec(raw, text);
    if (PQresultStatus(res) != PGRES_COMMAND_OK && PQresultStatus(res) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", text, PQerrorMessage(raw));
    PQclear(res);
}

/* First cell of the first row; lives until the next call. */
UNUSED static const char *sql_value(const char *text)
{
    static char *value;
    PGresult *res = PQexec(raw, text);
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
        fail_msg("%s: %d rows, %s", text, PQntuples(res), PQerrorMessage(raw));
    free(value);
    value = strdup(PQgetisnull(res, 0, 0) ? "(null)" : PQgetvalue(res, 0, 0));
    PQclear(res);
    return value;
}

UNUSED static void ok(enum mr_status status, const struct mr_error *err)
{
    if (status != MR_OK)
        fail_msg("%s [%s %s] %s | %s", mr_status_name(status), err->code, err->native, err->message, err->detail);
}
/* A call that must succeed; it takes `e` for its error. */
static struct mr_error ok_error;
UNUSED static struct mr_error *const e = &ok_error;
#define OK(call) (ok_error = (struct mr_error){0}, ok((call), &ok_error))

/* printf to a text that lives as long as the test. */
__attribute__((format(printf, 1, 2))) UNUSED static const char *text_of(const char *fmt, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, fmt);
    assert_true(vasprintf(&text, fmt, args) >= 0);
    va_end(args);
    const char *copy = mr_arena_strndup(ar, text, strlen(text));
    free(text);
    return copy;
}

static int open_server(void **state)
{
    (void)state;
    make_database();
    cfg = (struct mr_config){
        .target_url = server_url,
        .target_password_file = (char *)"",
        .control_schema = (char *)"mr control",
        .lock_timeout_ms = 500,
        .connect_timeout_ms = 5000,
        .bulk_rows = 50,
    };
    raw = PQconnectdb(server_url);
    if (PQstatus(raw) != CONNECTION_OK) {
        fprintf(stderr, "%s", PQerrorMessage(raw));
        return 1;
    }
    PQsetNoticeProcessor(raw, no_notice, NULL);
    PQclear(PQexec(raw, "SET timezone TO 'UTC'"));
    ar = mr_arena_create(0);
    return 0;
}

static int close_server(void **state)
{
    (void)state;
    PQfinish(raw);
    mr_arena_destroy(ar);
    return 0;
}

static void connect_sink(void)
{
    const struct mr_sink_ops *ops;
    struct mr_sink_options opt = {.cfg = &cfg, .application_z = "millrace test"};
    OK(mr_sink_for_url(cfg.target_url, &ops, e));
    OK(ops->connect(&opt, &sink, e));
}

/* Each test has an empty schema `s` of its own and a fresh connection. */
static int begin_test(void **state)
{
    (void)state;
    sql("DROP SCHEMA IF EXISTS s CASCADE; DROP SCHEMA IF EXISTS \"mr control\" CASCADE; CREATE SCHEMA s");
    mr_arena_reset(ar);
    connect_sink();
    return 0;
}

static int end_test(void **state)
{
    (void)state;
    sink->ops->destroy(sink);
    sink = NULL;
    return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin_test, end_test)

/* ---- Tables ---- */

struct col {
    const char *name;
    struct mr_type type;
    bool is_key;
};

UNUSED static struct mr_table *table_of(const char *name, const struct col *cols, size_t count)
{
    struct mr_table *tbl = mr_table_create(MR_STR("s"), mr_str_z(name));
    struct mr_column *columns = mr_arena_zalloc(tbl->ar, (count + 1) * sizeof(*columns));
    uint32_t *keys = mr_arena_zalloc(tbl->ar, (count + 1) * sizeof(*keys));

    for (size_t i = 0; i < count; i++) {
        columns[i].name = mr_arena_copy(tbl->ar, mr_str_z(cols[i].name));
        columns[i].path = columns[i].name;
        columns[i].type = cols[i].type;
        columns[i].is_key = cols[i].is_key;
        if (cols[i].is_key)
            keys[tbl->key_count++] = (uint32_t)i;
    }
    tbl->id = ++table_ids;
    tbl->version = 1;
    tbl->columns = columns;
    tbl->column_count = count;
    tbl->key_columns = keys;
    return tbl;
}
#define TABLE(name, ...)                                                                           \
    table_of(name, (const struct col[]){__VA_ARGS__}, sizeof((const struct col[]){__VA_ARGS__}) / sizeof(struct col))

UNUSED static void run_ddl(const struct mr_ddl_step *step)
{
    struct mr_catalog_table now = {0};
    struct mr_str text;
    OK(sink->ops->describe_table(sink, step->tbl->schema, step->tbl->name, ar, &now, e));
    OK(sink->ops->begin(sink, e));
    OK(sink->ops->ddl(sink, step, &now, ar, &text, e));
    OK(sink->ops->commit(sink, e));
}

UNUSED static void create(const struct mr_table *tbl)
{
    struct mr_ddl_step step = {.kind = MR_DDL_CREATE_TABLE, .tbl = tbl};
    run_ddl(&step);
}

/* ---- Rows ---- */

#define MAX_ROWS 4096
struct rows {
    struct mr_table_batch batch;
    struct mr_row items[MAX_ROWS];
};

UNUSED static struct rows *rows_of(const struct mr_table *tbl)
{
    struct rows *rows = mr_arena_zalloc(ar, sizeof(*rows));
    rows->batch.tbl = tbl;
    rows->batch.rows = rows->items;
    return rows;
}

UNUSED static struct mr_row *add_row(struct rows *rows, enum mr_row_kind kind, const struct mr_value *cells)
{
    size_t count = rows->batch.tbl->column_count;
    struct mr_value *copy = mr_arena_alloc(ar, (count + 1) * sizeof(*copy));
    struct mr_row *row = &rows->items[rows->batch.row_count++];

    assert_true(rows->batch.row_count <= MAX_ROWS);
    for (size_t i = 0; i < count; i++) {
        copy[i] = cells[i];
        row->has_keep = row->has_keep || cells[i].tag == MR_V_ABSENT;
    }
    row->kind = kind;
    row->cells = copy;
    return row;
}
#define ROW(rows, kind, ...) add_row(rows, kind, (const struct mr_value[]){__VA_ARGS__})

#define ABSENT ((struct mr_value){.tag = MR_V_ABSENT})
#define NIL mr_value_null()
#define INT(n) mr_value_int(n)
#define BOOL(b) mr_value_bool(b)
#define FLOAT(f) mr_value_float(f)
#define TEXT(z) mr_value_text(mr_str_z(z))
#define NUM(z) mr_value_bytes(MR_V_NUMBER, mr_str_z(z))
#define JSON(z) mr_value_bytes(MR_V_JSON, mr_str_z(z))
#define BITS(z) mr_value_bytes(MR_V_BITS, mr_str_z(z))
#define BYTES(literal) mr_value_bytes(MR_V_BYTES, MR_STR(literal))
#define TIME(tag, n) mr_value_time(tag, n)

UNUSED static enum mr_status try_apply(struct rows *rows, struct mr_error *err)
{
    OK(sink->ops->begin(sink, e));
    enum mr_status status = sink->ops->apply(sink, &rows->batch, err);
    if (status != MR_OK) {
        sink->ops->rollback(sink);
        return status;
    }
    return sink->ops->commit(sink, err);
}

UNUSED static void apply(struct rows *rows)
{
    OK(try_apply(rows, e));
}

/* ---- Looking ---- */

/* All rows of a query as one text: cells by |, rows by newline. */
UNUSED static const char *rows_text(const char *query)
{
    static struct mr_buf buf = {.max = (size_t)1 << 26};
    PGresult *res = PQexec(raw, query);
    if (PQresultStatus(res) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", query, PQerrorMessage(raw));
    mr_buf_clear(&buf);
    for (int row = 0; row < PQntuples(res); row++) {
        for (int col = 0; col < PQnfields(res); col++) {
            mr_buf_append_z(&buf, col ? "|" : "");
            mr_buf_append_z(&buf, PQgetisnull(res, row, col) ? "-" : PQgetvalue(res, row, col));
        }
        mr_buf_append_z(&buf, "\n");
    }
    PQclear(res);
    return mr_buf_z(&buf);
}

#endif
