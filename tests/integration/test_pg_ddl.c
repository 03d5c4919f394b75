/* DDL on a real server: what a step does to the rows that are there. What becomes text must be exactly the text that the same value would be
 * written with from then on. */
#include "pg_helper.h"

#include <millrace/base/time.h>

static const struct mr_type t_int = {.kind = MR_T_INT64}, t_text = {.kind = MR_T_TEXT};

static struct mr_ddl_step alter(struct mr_table *tbl, uint32_t column, struct mr_type to)
{
    struct mr_column *col = (struct mr_column *)&tbl->columns[column];
    struct mr_ddl_step step = {.kind = MR_DDL_ALTER_TYPE, .tbl = tbl, .column = column, .from = col->type};
    col->type = to;
    tbl->version++;
    return step;
}

/* Values into a column of `from`, the column to text, then each must be what the model's text of it is. */
static void check_to_text(struct mr_type from, const struct mr_value *values, size_t count, bool bulk)
{
    sql("DROP TABLE IF EXISTS s.t");
    struct mr_table *tbl = TABLE("t", {"id", t_int, true}, {"v", from});
    create(tbl);
    cfg.bulk_rows = bulk ? 1 : 1000;
    struct rows *rows = rows_of(tbl);
    for (size_t i = 0; i < count; i++)
        ROW(rows, MR_ROW_UPSERT, INT((int64_t)i), values[i]);
    apply(rows);
    struct mr_ddl_step step = alter(tbl, 1, t_text);
    run_ddl(&step);
    for (size_t i = 0; i < count; i++) {
        struct mr_buf text = MR_BUF_INIT(10000);
        mr_value_append_text(values[i], &text);
        assert_string_equal(sql_value(text_of("SELECT v FROM s.t WHERE id = %zu", i)), mr_buf_z(&text));
        mr_buf_free(&text);
    }
    mr_table_unref(tbl);
}
#define TO_TEXT(type, ...)                                                                         \
    check_to_text(type, (const struct mr_value[]){__VA_ARGS__},                                    \
                  sizeof((const struct mr_value[]){__VA_ARGS__}) / sizeof(struct mr_value), true)

static struct mr_value civil(enum mr_tag tag, int64_t year, int month, int day, int64_t us)
{
    int64_t days = mr_days_from_civil(year, month, day);
    return TIME(tag, tag == MR_V_DATE ? days : days * MR_US_PER_DAY + us);
}

static void test_what_becomes_text_has_the_canonical_text(void **state)
{
    (void)state;
    static const char uuid[] = "\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd\xef";
    static char long_bytes[200];
    memset(long_bytes, 0xfb, sizeof(long_bytes));
    TO_TEXT(MR_TYPE(MR_T_BOOL), BOOL(true), BOOL(false));
    TO_TEXT(MR_TYPE(MR_T_INT64), INT(INT64_MIN), INT(0), INT(7));
    TO_TEXT(MR_TYPE_DECIMAL_OPEN, NUM("1.10"), NUM("-0.000001"), NUM("NaN"), NUM("123456789012345678901234567890"));
    TO_TEXT(MR_TYPE(MR_T_FLOAT64), FLOAT(0), FLOAT(-0.0), FLOAT(0.1), FLOAT(-1.5), FLOAT(1e15), FLOAT(1e20), FLOAT(1e21),
            FLOAT(1.5e300), FLOAT(1e-6), FLOAT(9.9e-7), FLOAT(1e-7), FLOAT(5e-324), FLOAT(123456789.125), FLOAT(NAN),
            FLOAT(INFINITY), FLOAT(-INFINITY), FLOAT(-2.5e-9), FLOAT(1.7976931348623157e308), FLOAT(9007199254740993.0));
    TO_TEXT(MR_TYPE(MR_T_BYTES), BYTES(""), BYTES("\0\xff"), mr_value_bytes(MR_V_BYTES, mr_str_of(long_bytes, 200)));
    TO_TEXT(MR_TYPE(MR_T_DATE), civil(MR_V_DATE, 1970, 1, 1, 0), civil(MR_V_DATE, 1, 1, 1, 0), civil(MR_V_DATE, 0, 12, 31, 0),
            civil(MR_V_DATE, -1, 2, 3, 0), civil(MR_V_DATE, -4713, 11, 24, 0), civil(MR_V_DATE, 9999, 12, 31, 0),
            civil(MR_V_DATE, 10000, 1, 1, 0), civil(MR_V_DATE, 5874897, 12, 31, 0), TIME(MR_V_DATE, MR_TIME_INFINITY),
            TIME(MR_V_DATE, MR_TIME_NEG_INFINITY));
    TO_TEXT(MR_TYPE(MR_T_TIME), TIME(MR_V_TIME, 0), TIME(MR_V_TIME, MR_US_PER_DAY), TIME(MR_V_TIME, 1),
            TIME(MR_V_TIME, 500000), TIME(MR_V_TIME, INT64_C(86399999999)));
    TO_TEXT(MR_TYPE(MR_T_DURATION), TIME(MR_V_DURATION, 0), TIME(MR_V_DURATION, -1), TIME(MR_V_DURATION, 838 * INT64_C(3600000000)),
            TIME(MR_V_DURATION, -(838 * INT64_C(3600000000) + INT64_C(3599000000))), TIME(MR_V_DURATION, 1500000));
    for (int tz = 0; tz < 2; tz++) {
        enum mr_tag tag = tz ? MR_V_TIMESTAMPTZ : MR_V_TIMESTAMP;
        TO_TEXT(MR_TYPE(tz ? MR_T_TIMESTAMPTZ : MR_T_TIMESTAMP), civil(tag, 1970, 1, 1, -1), civil(tag, 2024, 2, 29, INT64_C(43200000000)),
                civil(tag, 2024, 2, 29, 100), civil(tag, 1, 1, 1, 0), civil(tag, 0, 1, 1, 1), civil(tag, -4713, 11, 24, 0),
                civil(tag, 9999, 12, 31, INT64_C(86399999999)), civil(tag, 10000, 1, 1, 0), TIME(tag, INT64_MAX - 1),
                TIME(tag, MR_TIME_INFINITY), TIME(tag, MR_TIME_NEG_INFINITY));
    }
    TO_TEXT(MR_TYPE(MR_T_UUID), mr_value_bytes(MR_V_UUID, mr_str_of(uuid, 16)));
    TO_TEXT(MR_TYPE_BITS(0), BITS("10101"), BITS(""));
    TO_TEXT(MR_TYPE(MR_T_JSON), JSON("{\"a\": [1, \"x\"]}"));
}

/* As documents they must be equal to the model's JSON of the value. */
static void check_to_json(struct mr_type from, const struct mr_value *values, size_t count)
{
    sql("DROP TABLE IF EXISTS s.t");
    struct mr_table *tbl = TABLE("t", {"id", t_int, true}, {"v", from});
    create(tbl);
    struct rows *rows = rows_of(tbl);
    for (size_t i = 0; i < count; i++)
        ROW(rows, MR_ROW_UPSERT, INT((int64_t)i), values[i]);
    apply(rows);
    struct mr_ddl_step step = alter(tbl, 1, MR_TYPE(MR_T_JSON));
    run_ddl(&step);
    for (size_t i = 0; i < count; i++) {
        struct mr_buf text = MR_BUF_INIT(10000);
        mr_value_append_json(values[i], &text);
        const char *query = text_of("SELECT v = $x$%s$x$::jsonb FROM s.t WHERE id = %zu", mr_buf_z(&text), i);
        if (strcmp(sql_value(query), "t") != 0)
            fail_msg("%s", query);
        mr_buf_free(&text);
    }
    mr_table_unref(tbl);
}
#define TO_JSON(type, ...)                                                                         \
    check_to_json(type, (const struct mr_value[]){__VA_ARGS__},                                    \
                  sizeof((const struct mr_value[]){__VA_ARGS__}) / sizeof(struct mr_value))

static void test_what_becomes_json_is_the_canonical_document(void **state)
{
    (void)state;
    TO_JSON(MR_TYPE(MR_T_BOOL), BOOL(true));
    TO_JSON(MR_TYPE(MR_T_INT16), INT(-7));
    TO_JSON(MR_TYPE_DECIMAL(10, 2), NUM("1.10"), NUM("NaN"));
    TO_JSON(MR_TYPE(MR_T_FLOAT64), FLOAT(0.1), FLOAT(1e300), FLOAT(NAN), FLOAT(-INFINITY));
    TO_JSON(MR_TYPE(MR_T_TEXT), TEXT("a \"quoted\" \\ text\n"), TEXT("1"));
    TO_JSON(MR_TYPE(MR_T_BYTES), BYTES("\0\xff"));
    TO_JSON(MR_TYPE(MR_T_DATE), civil(MR_V_DATE, 2024, 2, 29, 0));
    TO_JSON(MR_TYPE(MR_T_TIMESTAMPTZ), civil(MR_V_TIMESTAMPTZ, 2024, 2, 29, 1));
    TO_JSON(MR_TYPE_BITS(3), BITS("101"));
}

static void check_widen(struct mr_type from, struct mr_value value, struct mr_type to, const char *want)
{
    sql("DROP TABLE IF EXISTS s.t");
    struct mr_table *tbl = TABLE("t", {"id", t_int, true}, {"v", from});
    create(tbl);
    struct rows *rows = rows_of(tbl);
    ROW(rows, MR_ROW_UPSERT, INT(1), value);
    apply(rows);
    struct mr_ddl_step step = alter(tbl, 1, to);
    run_ddl(&step);
    assert_string_equal(sql_value("SELECT v::text FROM s.t"), want);
    struct mr_buf native = MR_BUF_INIT(100);
    mr_buf_append_z(&native, sql_value("SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 's.t'::regclass AND "
                                       "attname = 'v'"));
    assert_true(sink->ops->dialect->native_holds(mr_buf_str(&native), to));
    assert_true(mr_type_eq(sink->ops->dialect->type_of_column(mr_buf_str(&native)), to));
    mr_buf_free(&native);
    mr_table_unref(tbl);
}

static void test_widening_keeps_every_value(void **state)
{
    (void)state;
    check_widen(MR_TYPE(MR_T_INT16), INT(-32768), MR_TYPE(MR_T_INT64), "-32768");
    check_widen(MR_TYPE(MR_T_INT64), INT(INT64_MAX), MR_TYPE_DECIMAL_OPEN, "9223372036854775807");
    check_widen(MR_TYPE(MR_T_INT32), INT(INT32_MAX), MR_TYPE(MR_T_FLOAT64), "2147483647");
    check_widen(MR_TYPE(MR_T_INT64), INT(5), MR_TYPE_DECIMAL(21, 2), "5.00");
    check_widen(MR_TYPE_DECIMAL(4, 2), NUM("12.34"), MR_TYPE_DECIMAL(10, 4), "12.3400");
    check_widen(MR_TYPE_DECIMAL(4, 2), NUM("12.34"), MR_TYPE_DECIMAL_OPEN, "12.34");
    check_widen(MR_TYPE(MR_T_FLOAT64), FLOAT(0.12345678901234568), MR_TYPE_DECIMAL_OPEN, "0.12345678901234568");
    check_widen(MR_TYPE(MR_T_FLOAT64), FLOAT(9007199254740993.0), MR_TYPE_DECIMAL_OPEN, "9007199254740992");
    check_widen(MR_TYPE(MR_T_FLOAT32), FLOAT((double)0.1f), MR_TYPE(MR_T_FLOAT64), "0.1");
    check_widen(MR_TYPE(MR_T_FLOAT32), FLOAT((double)1.19973e-21f), MR_TYPE(MR_T_FLOAT64), "1.19973e-21");
    check_widen(MR_TYPE(MR_T_TIME), TIME(MR_V_TIME, 1), MR_TYPE(MR_T_DURATION), "00:00:00.000001");
    check_widen(MR_TYPE(MR_T_TIMESTAMP), TIME(MR_V_TIMESTAMP, 0), MR_TYPE(MR_T_TIMESTAMPTZ), "1970-01-01 00:00:00+00");
    check_widen(MR_TYPE(MR_T_DATE), TIME(MR_V_DATE, 0), MR_TYPE(MR_T_TIMESTAMP), "1970-01-01 00:00:00");
    check_widen(MR_TYPE_BITS(3), BITS("101"), MR_TYPE_BITS(0), "101");
}

/* The cost that plan tells must be what happens: a rewrite gives the table another file. */
static void test_the_cost_is_what_happens(void **state)
{
    (void)state;
    static const struct {
        struct mr_type from, to;
    } cases[] = {
        {{.kind = MR_T_INT32}, {.kind = MR_T_INT64}},
        {{.kind = MR_T_INT64}, {.kind = MR_T_DECIMAL, .open = true}},
        {{.kind = MR_T_DECIMAL, .precision = 4, .scale = 2}, {.kind = MR_T_DECIMAL, .precision = 9, .scale = 2}},
        {{.kind = MR_T_DECIMAL, .precision = 4, .scale = 2}, {.kind = MR_T_DECIMAL, .precision = 9, .scale = 3}},
        {{.kind = MR_T_DECIMAL, .precision = 4, .scale = 2}, {.kind = MR_T_DECIMAL, .open = true}},
        {{.kind = MR_T_BITS, .precision = 4}, {.kind = MR_T_BITS}},
        {{.kind = MR_T_FLOAT64}, {.kind = MR_T_TEXT}},
        {{.kind = MR_T_BOOL}, {.kind = MR_T_JSON}},
        {{.kind = MR_T_TIME}, {.kind = MR_T_DURATION}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sql("DROP TABLE IF EXISTS s.t");
        struct mr_table *tbl = TABLE("t", {"id", t_int, true}, {"v", cases[i].from});
        create(tbl);
        sql("INSERT INTO s.t (id) VALUES (1)");
        const char *before = text_of("%s", sql_value("SELECT pg_relation_filenode('s.t')"));
        struct mr_ddl_step step = alter(tbl, 1, cases[i].to);
        enum mr_ddl_cost cost = sink->ops->dialect->cost(&step, sink->ops->server(sink));
        run_ddl(&step);
        bool is_rewritten = strcmp(before, sql_value("SELECT pg_relation_filenode('s.t')")) != 0;
        if (is_rewritten != (cost == MR_COST_REWRITE))
            fail_msg("case %zu: %s", i, is_rewritten ? "rewritten" : "not rewritten");
        mr_table_unref(tbl);
    }
}

static void test_steps_can_be_repeated(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("T \"x\"", {"id", t_int, true}, {"New", t_text});
    struct mr_ddl_step schema = {.kind = MR_DDL_CREATE_SCHEMA, .tbl = tbl}, add = {.kind = MR_DDL_ADD_COLUMN, .tbl = tbl, .column = 1};
    tbl->schema = MR_STR("no_such_schema_yet");
    sql("DROP SCHEMA IF EXISTS no_such_schema_yet CASCADE");
    for (int i = 0; i < 2; i++) {
        run_ddl(&schema);
        create(tbl);
        run_ddl(&add);
    }
    assert_string_equal(rows_text("SELECT * FROM no_such_schema_yet.\"T \"\"x\"\"\""), "");
    sql("DROP SCHEMA no_such_schema_yet CASCADE");
    mr_table_unref(tbl);
}

static void test_the_primary_key_is_replaced_or_dropped(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"a", t_int, true}, {"b", t_int, true}, {"c", t_int});
    struct mr_catalog_table now;
    create(tbl);
    sql("INSERT INTO s.t VALUES (1, 1, 5), (1, 2, 6)");
    uint32_t key[] = {2, 0};
    struct mr_ddl_step step = {.kind = MR_DDL_REPLACE_KEY, .tbl = tbl};
    tbl->key_columns = key;
    run_ddl(&step);
    OK(sink->ops->describe_table(sink, MR_STR("s"), MR_STR("t"), ar, &now, e));
    assert_int_equal(now.key_count, 2);
    assert_true(mr_str_eq_z(now.key[0], "c") && mr_str_eq_z(now.key[1], "a"));
    assert_true(!now.columns[0].nullable && now.columns[1].nullable && !now.columns[2].nullable);

    /* Rows that forbid it: data, so that the old key can stay. */
    struct mr_error err = {0};
    struct mr_str text;
    tbl->key_columns = &key[1];
    tbl->key_count = 1;
    OK(sink->ops->begin(sink, e));
    assert_int_equal(sink->ops->ddl(sink, &step, &now, ar, &text, &err), MR_E_DATA);
    assert_string_equal(err.native, "23505");
    sink->ops->rollback(sink);
    tbl->key_count = 0;
    run_ddl(&step);
    OK(sink->ops->describe_table(sink, MR_STR("s"), MR_STR("t"), ar, &now, e));
    assert_int_equal(now.key_count, 0);
    assert_true(now.columns[0].nullable && now.columns[2].nullable);
    mr_table_unref(tbl);
}

static void test_collations_under_which_texts_that_differ_are_equal_are_known(void **state)
{
    (void)state;
    struct mr_catalog_table now;
    sql("DROP TABLE IF EXISTS s.t; CREATE COLLATION IF NOT EXISTS s.any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)");
    sql("CREATE TABLE s.t (\"A b\" varchar(9) COLLATE s.any_case PRIMARY KEY, b text, c text COLLATE \"C\", d bigint)");
    OK(sink->ops->describe_table(sink, MR_STR("s"), MR_STR("t"), ar, &now, e));
    assert_true(now.columns[0].merges_texts);
    for (size_t i = 1; i < now.column_count; i++)
        assert_false(now.columns[i].merges_texts);
    sql(text_of("ALTER TABLE s.t %.*s", MR_STR_FMT(now.columns[0].tell_apart)));
    OK(sink->ops->describe_table(sink, MR_STR("s"), MR_STR("t"), ar, &now, e));
    assert_false(now.columns[0].merges_texts);
    assert_true(mr_str_eq_z(now.columns[0].native, "character varying(9)"));
}

static enum mr_status try_ddl(const struct mr_ddl_step *step, struct mr_error *err)
{
    struct mr_catalog_table now;
    struct mr_str text;
    OK(sink->ops->describe_table(sink, step->tbl->schema, step->tbl->name, ar, &now, e));
    OK(sink->ops->begin(sink, e));
    enum mr_status status = sink->ops->ddl(sink, step, &now, ar, &text, err);
    sink->ops->rollback(sink);
    return status;
}

static void test_ddl_does_not_wait_long_for_locks_and_what_the_table_forbids_is_no_trouble_of_the_server(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", t_int, true}, {"v", t_int});
    struct mr_error err = {0};
    create(tbl);
    struct mr_ddl_step step = alter(tbl, 1, t_text);
    sql("BEGIN; SELECT * FROM s.t");
    assert_int_equal(try_ddl(&step, &err), MR_E_ENV);
    assert_string_equal(err.code, "lock_timeout");
    sql("ROLLBACK; CREATE VIEW s.v AS SELECT v FROM s.t");
    assert_int_equal(try_ddl(&step, &err), MR_E_CONFIG);
    assert_true(err.hint[0]);
    sql("DROP VIEW s.v");
    run_ddl(&step);
    OK(sink->ops->begin(sink, e)); /* rows, unlike DDL, wait as long as it takes */
    OK(sink->ops->commit(sink, e));
    tbl->schema = MR_STR("pg_mine");
    step.kind = MR_DDL_CREATE_SCHEMA;
    assert_int_equal(try_ddl(&step, &err), MR_E_DATA);
    mr_table_unref(tbl);
}

static void test_a_wide_table_takes_rows(void **state)
{
    (void)state;
    static struct col cols[1600];
    static struct mr_value cells[1600];
    for (size_t i = 0; i < 1600; i++) {
        cols[i] = (struct col){text_of("c%zu", i), MR_TYPE(MR_T_BOOL), i == 0};
        cells[i] = BOOL(true);
    }
    for (size_t count = 1599; count <= 1600; count++) {
        struct mr_table *tbl = table_of(text_of("t%zu", count), cols, count);
        create(tbl);
        struct rows *rows = rows_of(tbl);
        cfg.bulk_rows = 1;
        add_row(rows, MR_ROW_UPSERT, cells);
        apply(rows);
        assert_string_equal(sql_value(text_of("SELECT count(*) FROM s.t%zu WHERE c%zu", count, count - 1)), "1");
        mr_table_unref(tbl);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_becomes_text_has_the_canonical_text),
        TEST(test_what_becomes_json_is_the_canonical_document),
        TEST(test_widening_keeps_every_value),
        TEST(test_the_cost_is_what_happens),
        TEST(test_steps_can_be_repeated),
        TEST(test_the_primary_key_is_replaced_or_dropped),
        TEST(test_collations_under_which_texts_that_differ_are_equal_are_known),
        TEST(test_ddl_does_not_wait_long_for_locks_and_what_the_table_forbids_is_no_trouble_of_the_server),
        TEST(test_a_wide_table_takes_rows),
    };
    return cmocka_run_group_tests(tests, open_server, close_server);
}
