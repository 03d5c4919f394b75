/* For the tests of the MySQL sink: tables and rows in short words, on a connection and in a database of each test's own. */
#ifndef TESTS_INTEGRATION_MY_HELPER_H
#define TESTS_INTEGRATION_MY_HELPER_H

#include "my_server.h"

static struct mr_sink *sink;
static struct mr_arena *ar;
UNUSED static uint64_t table_ids;
static struct mr_table *made[64]; /* by the test at hand */
static size_t made_count;

UNUSED static const char *text_of(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static const char *text_of(const char *fmt, ...)
{
    va_list args;
    char *text;
    va_start(args, fmt);
    assert_true(vasprintf(&text, fmt, args) >= 0);
    va_end(args);
    const char *copy = mr_arena_strndup(ar, text, strlen(text));
    free(text);
    return copy;
}

/* Each test has an empty database `s` of its own and a fresh connection. */
static int begin_test(void **state)
{
    (void)state;
    sql("DROP DATABASE IF EXISTS `mr control`");
    sql("DROP DATABASE IF EXISTS s");
    sql(is_mariadb() ? "CREATE DATABASE s CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin" :
                       "CREATE DATABASE s CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin");
    ar = mr_arena_create(0);
    sink = connect_with(&cfg);
    return 0;
}

static int end_test(void **state)
{
    (void)state;
    sink->ops->destroy(sink);
    mr_arena_destroy(ar);
    while (made_count > 0)
        mr_table_unref(made[--made_count]);
    return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin_test, end_test)

/* ---- Tables ---- */

struct col {
    const char *name;
    struct mr_type type;
    bool is_key;
    uint32_t max_len;
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
        columns[i].max_len = cols[i].max_len;
        if (cols[i].is_key)
            keys[tbl->key_count++] = (uint32_t)i;
    }
    tbl->id = ++table_ids;
    tbl->version = 1;
    tbl->columns = columns;
    tbl->column_count = count;
    tbl->key_columns = keys;
    assert_true(made_count < sizeof(made) / sizeof(made[0]));
    return made[made_count++] = tbl;
}
#define TABLE(name, ...)                                                                           \
    table_of(name, (const struct col[]){__VA_ARGS__}, sizeof((const struct col[]){__VA_ARGS__}) / sizeof(struct col))

UNUSED static enum mr_status try_ddl(const struct mr_ddl_step *step, struct mr_str *text, struct mr_error *err)
{
    struct mr_catalog_table now = {0};
    OK(sink->ops->begin(sink, e));
    OK(sink->ops->describe_table(sink, step->tbl->schema, step->tbl->name, ar, &now, e));
    enum mr_status status = sink->ops->ddl(sink, step, &now, ar, text, err);
    if (status == MR_OK)
        OK(sink->ops->commit(sink, e));
    else
        sink->ops->rollback(sink);
    return status;
}

UNUSED static const char *run_ddl(const struct mr_ddl_step *step)
{
    struct mr_str text;
    OK(try_ddl(step, &text, e));
    return mr_arena_strndup(ar, text.ptr, text.len);
}

UNUSED static void create(const struct mr_table *tbl)
{
    struct mr_ddl_step step = {.kind = MR_DDL_CREATE_TABLE, .tbl = tbl};
    run_ddl(&step);
}

/* Bring the catalog to what is wanted, as the gate does; returns the number of steps. */
UNUSED static size_t bring(const struct mr_table *tbl)
{
    struct mr_catalog_table now = {0};
    struct mr_ddl_step *steps;
    size_t count;
    OK(sink->ops->describe_table(sink, tbl->schema, tbl->name, ar, &now, e));
    OK(mr_evolve_diff(tbl, &now, true, sink->ops->dialect, ar, &steps, &count, e));
    for (size_t i = 0; i < count; i++)
        run_ddl(&steps[i]);
    return count;
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

UNUSED static struct mr_row *add_match(struct rows *rows, enum mr_row_kind kind, const struct mr_value *cells, const struct mr_value *match)
{
    size_t count = rows->batch.tbl->column_count;
    struct mr_row *row = &rows->items[rows->batch.row_count++];
    struct mr_value *copy = mr_arena_alloc(ar, (2 * count + 1) * sizeof(*copy));

    assert_true(rows->batch.row_count <= MAX_ROWS);
    for (size_t i = 0; i < count; i++) {
        copy[i] = cells[i];
        copy[count + i] = match ? match[i] : (struct mr_value){0};
        row->has_keep = row->has_keep || cells[i].tag == MR_V_ABSENT;
    }
    row->kind = kind;
    row->cells = copy;
    row->match = match ? copy + count : NULL;
    return row;
}
#define ROW(rows, kind, ...) add_match(rows, kind, (const struct mr_value[]){__VA_ARGS__}, NULL)
#define CELLS(...) ((const struct mr_value[]){__VA_ARGS__})

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

/* The table as dump_table shows it: cells by |, NULL as ~, the first line the names. */
UNUSED static enum mr_status on_dump(void *ctx, const struct mr_value *cells, size_t count, struct mr_error *err)
{
    struct mr_buf *out = ctx;
    (void)err;
    for (size_t i = 0; i < count; i++) {
        mr_buf_append_z(out, i ? "|" : "");
        if (cells[i].tag == MR_V_NULL)
            mr_buf_append_z(out, "~");
        else
            mr_buf_append_str(out, mr_value_str(cells[i]));
    }
    mr_buf_append_char(out, '\n');
    return MR_OK;
}

UNUSED static const char *dump_of(const char *table)
{
    static struct mr_buf out = {.max = (size_t)1 << 28};
    mr_buf_clear(&out);
    OK(sink->ops->dump_table(sink, MR_STR("s"), mr_str_z(table), 1000000, on_dump, &out, e));
    return mr_buf_z(&out);
}

#endif
