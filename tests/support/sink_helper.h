/* For tests against a real sink: tables built from short lists, batches, rows read back as text. Header only; what a test does not use costs
 * nothing. */
#ifndef MILLRACE_TEST_SINK_HELPER_H
#define MILLRACE_TEST_SINK_HELPER_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>

#include <millrace/base/mem.h>
#include <millrace/sink.h>

#define HELPER __attribute__((unused)) static

/* ---- Tables ---- */

struct column_spec {
    const char *name;
    struct mr_type type;
    bool is_key;
};

/* Each call gives a table of its own id. */
HELPER struct mr_table *make_table(const char *name, const struct column_spec *specs, size_t count)
{
    static uint64_t next_id = 1;
    struct mr_table *tbl = mr_table_create(MR_STR(""), mr_str_z(name));
    struct mr_column *columns = mr_arena_zalloc(tbl->ar, count * sizeof(*columns));
    uint32_t *keys = mr_arena_zalloc(tbl->ar, count * sizeof(*keys));
    tbl->id = next_id++;
    for (size_t i = 0; i < count; i++) {
        columns[i].name = mr_str_z(specs[i].name);
        columns[i].path = mr_str_z(specs[i].name);
        columns[i].type = specs[i].type;
        columns[i].is_key = specs[i].is_key;
        if (specs[i].is_key)
            keys[tbl->key_count++] = (uint32_t)i;
    }
    tbl->columns = columns;
    tbl->column_count = count;
    tbl->key_columns = keys;
    return tbl;
}
#define TABLE(name, ...)                                                                                                         \
    make_table((name), (const struct column_spec[]){__VA_ARGS__},                                                               \
               sizeof((const struct column_spec[]){__VA_ARGS__}) / sizeof(struct column_spec))

/* ---- Calls that must succeed; they name their error `err` ---- */

#define OK(call)                                                                                                                 \
    do {                                                                                                                         \
        struct mr_error err = {.row = -1};                                                                                       \
        enum mr_status ok_status_ = (call);                                                                                      \
        if (ok_status_ != MR_OK)                                                                                                 \
            fail_msg("%s: %s: %s", #call, mr_status_name(ok_status_), err.message);                                            \
    } while (0)

HELPER struct mr_str run_step(struct mr_sink *sink, struct mr_ddl_step step, struct mr_arena *ar)
{
    struct mr_catalog_table now;
    struct mr_str statement = {0};
    OK(sink->ops->gate_lock(sink, &err));
    OK(sink->ops->begin(sink, &err));
    OK(sink->ops->describe_table(sink, step.tbl->schema, step.tbl->name, ar, &now, &err));
    OK(sink->ops->ddl(sink, &step, &now, ar, &statement, &err));
    OK(sink->ops->commit(sink, &err));
    sink->ops->gate_unlock(sink);
    return statement;
}

HELPER void create_table(struct mr_sink *sink, const struct mr_table *tbl)
{
    struct mr_arena *ar = mr_arena_create(0);
    run_step(sink, (struct mr_ddl_step){.kind = MR_DDL_CREATE_TABLE, .tbl = tbl}, ar);
    mr_arena_destroy(ar);
}

/* One batch in one transaction, rolled back on failure. */
HELPER enum mr_status apply_rows(struct mr_sink *sink, const struct mr_table *tbl, struct mr_row *rows, size_t count,
                                 bool ordered, struct mr_error *refusal)
{
    struct mr_table_batch batch = {.tbl = tbl, .rows = rows, .row_count = count, .ordered = ordered};
    OK(sink->ops->begin(sink, &err));
    enum mr_status status = sink->ops->apply(sink, &batch, refusal);
    if (status == MR_OK)
        OK(sink->ops->commit(sink, &err));
    else
        sink->ops->rollback(sink);
    return status;
}

#define CELLS(...) ((const struct mr_value[]){__VA_ARGS__})
#define ROW(k, ...) ((struct mr_row){.kind = (k), .cells = CELLS(__VA_ARGS__)})
#define APPLY(sink, tbl, ordered, ...)                                                                                           \
    OK(apply_rows((sink), (tbl), (struct mr_row[]){__VA_ARGS__}, sizeof((struct mr_row[]){__VA_ARGS__}) / sizeof(struct mr_row), \
                  (ordered), &err))

/* ---- Values ---- */

HELPER struct mr_value int_value(int64_t i)
{
    return mr_value_int(i);
}
HELPER struct mr_value text_value(const char *text_z)
{
    return mr_value_text(mr_str_z(text_z));
}
HELPER struct mr_value number_value(const char *digits_z)
{
    return mr_value_bytes(MR_V_NUMBER, mr_str_z(digits_z));
}
HELPER struct mr_value json_value(const char *json_z)
{
    return mr_value_bytes(MR_V_JSON, mr_str_z(json_z));
}
HELPER struct mr_value null_value(void)
{
    return mr_value_null();
}
HELPER struct mr_value absent_value(void)
{
    return (struct mr_value){.tag = MR_V_ABSENT};
}

/* ---- Reading ---- */

struct dump {
    struct mr_buf text;
};

HELPER enum mr_status dump_row(void *ctx, const struct mr_value *cells, size_t count, struct mr_error *err)
{
    struct mr_buf *out = ctx;
    (void)err;
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            mr_buf_append_char(out, '|');
        if (cells[i].tag == MR_V_NULL)
            mr_buf_append_z(out, "~");
        else
            mr_buf_append_str(out, mr_value_str(cells[i]));
    }
    mr_buf_append_char(out, '\n');
    return MR_OK;
}

/* The table as lines "a|b|c", NULL as ~, the first line the names. */
HELPER void assert_table(struct mr_sink *sink, const char *schema, const char *table, const char *expected)
{
    struct mr_buf out = MR_BUF_INIT(64u << 20);
    OK(sink->ops->dump_table(sink, mr_str_z(schema), mr_str_z(table), 1000000, dump_row, &out, &err));
    assert_string_equal(mr_buf_z(&out), expected);
    mr_buf_free(&out);
}

#endif
