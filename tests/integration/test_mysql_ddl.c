/* DDL on a real server, MariaDB or MySQL: tables are made and altered, what is stored is converted without loss, and what ended half-way is
 * finished. */
#include <math.h>

#include <millrace/base/time.h>

#include "my_helper.h"

static struct mr_str native_of(const char *table, const char *column)
{
    struct mr_catalog_table now;
    OK(sink->ops->describe_table(sink, MR_STR("s"), mr_str_z(table), ar, &now, e));
    for (size_t i = 0; i < now.column_count; i++)
        if (mr_str_eq_z(now.columns[i].name, column))
            return now.columns[i].native;
    fail_msg("%s has no column %s", table, column);
    return MR_STR("");
}

static void assert_native(const char *table, const char *column, const char *native)
{
    struct mr_str have = native_of(table, column);
    assert_string_equal(mr_arena_strndup(ar, have.ptr, have.len), native);
}

/* ---- Making ---- */

static void test_every_type_is_made_and_recognised(void **state)
{
    (void)state;
    static const struct mr_type types[] = {
        {.kind = MR_T_BOOL}, {.kind = MR_T_INT16}, {.kind = MR_T_INT32}, {.kind = MR_T_INT64}, {.kind = MR_T_DECIMAL, .precision = 18, .scale = 2},
        {.kind = MR_T_DECIMAL, .open = true}, {.kind = MR_T_DECIMAL, .open = true, .origin = MR_TYPED}, {.kind = MR_T_DECIMAL, .precision = 90, .scale = 40},
        {.kind = MR_T_FLOAT32}, {.kind = MR_T_FLOAT64}, {.kind = MR_T_TEXT}, {.kind = MR_T_BYTES}, {.kind = MR_T_DATE}, {.kind = MR_T_TIME},
        {.kind = MR_T_DURATION}, {.kind = MR_T_TIMESTAMP}, {.kind = MR_T_TIMESTAMPTZ}, {.kind = MR_T_UUID}, {.kind = MR_T_BITS, .precision = 64},
        {.kind = MR_T_BITS}, {.kind = MR_T_JSON},
    };
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        for (int key = 0; key < 2; key++) {
            struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"v", types[i], key == 1});
            sql("DROP TABLE IF EXISTS s.t");
            create(tbl);
            assert_true(sink->ops->dialect->native_holds(native_of("t", "v"), types[i]));
            assert_int_equal(bring(tbl), 0);
            mr_table_unref(made[--made_count]);
        }
    }
    struct mr_table *tbl = TABLE("u", {"id", MR_TYPE(MR_T_INT64), true}, {"j", MR_TYPE(MR_T_JSON)}, {"tz", MR_TYPE(MR_T_TIMESTAMPTZ)});
    create(tbl);
    assert_native("u", "j", "json");
    assert_native("u", "tz", "datetime(6) comment 'UTC'");
}

static void test_making_what_is_there_changes_nothing(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"v", MR_TYPE(MR_T_TEXT)});
    struct mr_ddl_step schema = {.kind = MR_DDL_CREATE_SCHEMA, .tbl = tbl};
    run_ddl(&schema);
    create(tbl);
    create(tbl);
    assert_int_equal(bring(tbl), 0);
}

static void test_the_catalog_is_read(void **state)
{
    (void)state;
    sql("CREATE TABLE s.parent (a bigint, b varchar(10), c text, d bigint AS (a + 1) STORED, f bigint NOT NULL DEFAULT 5, g bigint DEFAULT NULL, "
        "PRIMARY KEY (b, a), UNIQUE u1 (f, g), UNIQUE u2 (c(5)), KEY k (g))");
    sql("CREATE TABLE s.child (x varchar(10), y bigint, FOREIGN KEY (x, y) REFERENCES s.parent (b, a))");
    struct mr_catalog_table now;
    OK(sink->ops->describe_table(sink, MR_STR("s"), MR_STR("parent"), ar, &now, e));
    assert_true(now.exists && now.has_foreign_keys);
    assert_int_equal(now.column_count, 6);
    assert_int_equal(now.key_count, 2);
    assert_true(mr_str_eq_z(now.key[0], "b") && mr_str_eq_z(now.key[1], "a"));
    assert_int_equal(now.unique_count, 2);
    assert_int_equal(now.unique_set_sizes[0], 2);
    assert_int_equal(now.unique_set_sizes[1], 0); /* a prefix: no key */
    assert_true(now.columns[3].generated);
    assert_true(now.columns[4].has_default && !now.columns[4].nullable && !now.columns[4].generated);
    assert_true(now.columns[5].nullable && !now.columns[5].has_default);
    OK(sink->ops->describe_table(sink, MR_STR("s"), MR_STR("child"), ar, &now, e));
    assert_true(now.has_foreign_keys);
    OK(sink->ops->describe_table(sink, MR_STR("s"), MR_STR("Parent"), ar, &now, e));
    assert_false(now.exists); /* the file system tells names apart, whatever information_schema does */
    sql("CREATE VIEW s.v AS SELECT 1 AS a");
    struct mr_error err = {0};
    assert_int_equal(sink->ops->describe_table(sink, MR_STR("s"), MR_STR("v"), ar, &now, &err), MR_E_CONFIG);
}

static bool tells_apart(const char *type)
{
    struct mr_catalog_table now;
    sql("DROP TABLE IF EXISTS s.t");
    sql(text_of("CREATE TABLE s.t (a %s) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci", type));
    OK(sink->ops->describe_table(sink, MR_STR("s"), MR_STR("t"), ar, &now, e));
    assert_true(now.columns[0].merges_texts == (now.columns[0].tell_apart.len > 0));
    return !now.columns[0].merges_texts;
}

static void test_collations_under_which_texts_that_differ_are_equal_are_known(void **state)
{
    static const char *const apart[] = {"bigint", "varbinary(10)", "date"};
    static const char *const merging[] = {"varchar(10)", "text", "enum('a')", "varchar(10) COLLATE utf8mb4_bin", "varchar(10) COLLATE utf8mb4_unicode_ci",
                                          "varchar(10) CHARACTER SET latin1 COLLATE latin1_bin"};
    (void)state;
    for (size_t i = 0; i < sizeof(apart) / sizeof(apart[0]); i++)
        assert_true(tells_apart(apart[i]));
    for (size_t i = 0; i < sizeof(merging) / sizeof(merging[0]); i++)
        assert_false(tells_apart(merging[i]));
    assert_true(tells_apart(is_mariadb() ? "varchar(10) COLLATE utf8mb4_nopad_bin" : "varchar(10) COLLATE utf8mb4_0900_bin"));
    assert_false(tells_apart(is_mariadb() ? "varchar(10) COLLATE utf8mb4_general_nopad_ci" : "varchar(10) COLLATE utf8mb4_0900_as_cs"));
    struct mr_catalog_table now;
    sql("CREATE TABLE s.n (a varchar(9) NOT NULL, b bigint) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin");
    OK(sink->ops->describe_table(sink, MR_STR("s"), MR_STR("n"), ar, &now, e));
    sql(text_of("ALTER TABLE s.n %.*s", MR_STR_FMT(now.columns[0].tell_apart)));
    OK(sink->ops->describe_table(sink, MR_STR("s"), MR_STR("n"), ar, &now, e));
    assert_false(now.columns[0].merges_texts);
    assert_false(now.columns[0].nullable);
}

static void test_engines_without_transactions_are_known(void **state)
{
    static const char *const engines[] = {"MyISAM", "MEMORY", "Aria"};
    (void)state;
    for (size_t i = 0; i < (is_mariadb() ? 3u : 2u); i++) {
        struct mr_catalog_table now;
        sql("DROP TABLE IF EXISTS s.t");
        sql(text_of("CREATE TABLE s.t (a bigint) ENGINE=%s", engines[i]));
        OK(sink->ops->describe_table(sink, MR_STR("s"), MR_STR("t"), ar, &now, e));
        assert_true(now.exists && mr_str_find(now.unfit, engines[i][0]) >= 0);
        sql(text_of("ALTER TABLE s.t %.*s", MR_STR_FMT(now.remedy)));
        OK(sink->ops->describe_table(sink, MR_STR("s"), MR_STR("t"), ar, &now, e));
        assert_int_equal(now.unfit.len, 0);
    }
}

static void test_names_may_hold_what_separates_statements(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t;\n`x'", {"id", MR_TYPE(MR_T_INT64), true}, {"a;\n'b`", MR_TYPE(MR_T_TIME)});
    create(tbl);
    struct mr_table *text = TABLE("t;\n`x'", {"id", MR_TYPE(MR_T_INT64), true}, {"a;\n'b`", MR_TYPE(MR_T_TEXT)});
    assert_int_equal(bring(text), 1);
    assert_native("t;\n`x'", "a;\n'b`", "longtext");
}

/* InnoDB's rows must fit half a page; only a row that really does not is refused. */
static void test_a_table_may_have_very_many_columns(void **state)
{
    (void)state;
    enum { COUNT = 900 };
    struct col *cols = mr_xcalloc(COUNT + 1, sizeof(*cols));
    struct mr_value *cells = mr_xcalloc(COUNT, sizeof(*cells));
    for (int i = 0; i < COUNT; i++) {
        cols[i] = (struct col){text_of("c%d", i), MR_TYPE(i ? MR_T_TEXT : MR_T_INT64), i == 0};
        cells[i] = i ? (i < 100 ? TEXT("a text of some length, though not of a very long one") : NIL) : INT(1);
    }
    struct mr_table *tbl = table_of("t", cols, COUNT);
    struct mr_ddl_step step = {.kind = MR_DDL_CREATE_TABLE, .tbl = tbl};
    struct mr_str text;
    struct mr_error err = {0};
    enum mr_status status = try_ddl(&step, &text, &err);
    if (status == MR_OK) {
        struct rows *rows = rows_of(tbl);
        add_match(rows, MR_ROW_UPSERT, cells, NULL);
        apply(rows);
        assert_string_equal(rows_text("SELECT c1 FROM s.t"), "a text of some length, though not of a very long one\n");
        cols[COUNT] = (struct col){"one_more", MR_TYPE(MR_T_TEXT)}; /* MySQL adds none at once to rows that may get so long */
        assert_int_equal(bring(table_of("t", cols, COUNT + 1)), 1);
    } else {
        assert_int_equal(status, MR_E_DATA);
        assert_string_equal(err.code, "too_large");
    }
    mr_xfree(cols);
    mr_xfree(cells);
}

/* ---- Altering ---- */

static void test_columns_are_added(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true});
    create(tbl);
    sql("INSERT INTO s.t VALUES (1)");
    struct mr_table *more = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"v", MR_TYPE(MR_T_TEXT)}, {"j", MR_TYPE(MR_T_JSON)},
                                  {"tz", MR_TYPE(MR_T_TIMESTAMPTZ)});
    struct mr_ddl_step step = {.kind = MR_DDL_ADD_COLUMN, .tbl = more, .column = 1};
    const char *ran = run_ddl(&step);
    assert_non_null(strstr(ran, "ALGORITHM=INSTANT"));
    assert_int_equal(bring(more), 2);
    assert_int_equal(bring(more), 0);
    assert_string_equal(rows_text("SELECT * FROM s.t"), "1|-|-|-\n");
}

/* More instant columns than the server counts, and what it cannot do instantly: another algorithm is taken, and told. */
static void test_what_cannot_be_instant_is_done_otherwise(void **state)
{
    (void)state;
    sql("CREATE TABLE s.t (id bigint PRIMARY KEY, t text, FULLTEXT (t)) ROW_FORMAT=COMPRESSED");
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"v", MR_TYPE(MR_T_INT64)});
    struct mr_ddl_step step = {.kind = MR_DDL_ADD_COLUMN, .tbl = tbl, .column = 1};
    const char *ran = run_ddl(&step);
    assert_null(strstr(ran, "INSTANT"));
    assert_non_null(strstr(ran, "ALGORITHM="));
    assert_native("t", "v", is_mariadb() ? "bigint(20)" : "bigint");
}

struct conversion {
    struct mr_type from, to;
    struct mr_value values[8];
    size_t count;
};

#define KEPT ((struct mr_type){.kind = MR_T_DECIMAL, .open = true, .origin = MR_TYPED})
#define T(k) {.kind = (k)}

/* What becomes text is the text that the same value would be written with from then on. */
static void test_what_becomes_text_has_the_canonical_form(void **state)
{
    (void)state;
    const struct conversion rows[] = {
        {T(MR_T_BOOL), T(MR_T_TEXT), {BOOL(0), BOOL(1)}, 2},
        {T(MR_T_INT64), T(MR_T_TEXT), {INT(INT64_MIN), INT(0), INT(7)}, 3},
        {{.kind = MR_T_DECIMAL, .precision = 10, .scale = 2}, T(MR_T_TEXT), {NUM("-1.50"), NUM("12345678.00")}, 2},
        {{.kind = MR_T_DECIMAL, .open = true, .origin = MR_TYPED}, T(MR_T_TEXT), {NUM("0.1"), NUM("-123"), NUM("12345678901234567890.000000000000000000000000000001")}, 3},
        {T(MR_T_FLOAT32), T(MR_T_TEXT), {FLOAT(-0.5), FLOAT((double)16777216.0f)}, 2},
        {T(MR_T_FLOAT64), T(MR_T_TEXT), {FLOAT(0.1), FLOAT(1e20), FLOAT(123456789012345680.0), FLOAT(1e-6), FLOAT(-1.2345678901234567e-6), FLOAT(1e15), FLOAT(3)}, 7},
        {T(MR_T_FLOAT64), T(MR_T_TEXT), {FLOAT(1e21), FLOAT(1.5e-7), FLOAT(-1e-9), FLOAT(1e300), FLOAT(5e-324), FLOAT(-2.5e22), FLOAT(1.2345678901234567e-8)}, 7},
        {T(MR_T_BYTES), T(MR_T_TEXT), {BYTES("\0\xff"), BYTES("0123456789012345678901234567890123456789012345678901234567890123456789")}, 2},
        {T(MR_T_DATE), T(MR_T_TEXT), {TIME(MR_V_DATE, -719162), TIME(MR_V_DATE, 0)}, 2},
        {T(MR_T_TIME), T(MR_T_TEXT), {TIME(MR_V_TIME, 0), TIME(MR_V_TIME, 1), TIME(MR_V_TIME, MR_US_PER_DAY)}, 3},
        {T(MR_T_DURATION), T(MR_T_TEXT), {TIME(MR_V_DURATION, -INT64_C(360000000001)), TIME(MR_V_DURATION, INT64_C(3000000000000))}, 2},
        {T(MR_T_TIMESTAMP), T(MR_T_TEXT), {TIME(MR_V_TIMESTAMP, 0), TIME(MR_V_TIMESTAMP, 100000), TIME(MR_V_TIMESTAMP, -1)}, 3},
        {T(MR_T_TIMESTAMPTZ), T(MR_T_TEXT), {TIME(MR_V_TIMESTAMPTZ, 0), TIME(MR_V_TIMESTAMPTZ, 123456), TIME(MR_V_TIMESTAMPTZ, -1)}, 3},
        {T(MR_T_UUID), T(MR_T_TEXT), {mr_value_bytes(MR_V_UUID, MR_STR("\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd\xef"))}, 1},
        {{.kind = MR_T_BITS, .precision = 4}, T(MR_T_TEXT), {BITS("0011"), BITS("1000")}, 2},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct conversion *c = &rows[i];
        struct mr_table *before = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"v", c->from}, {"w", MR_TYPE(MR_T_INT64)});
        sql("DROP TABLE IF EXISTS s.t");
        create(before);
        struct rows *data = rows_of(before);
        for (size_t k = 0; k < c->count; k++)
            ROW(data, MR_ROW_UPSERT, INT((int64_t)k), c->values[k], INT(5));
        ROW(data, MR_ROW_UPSERT, INT(99), NIL, INT(6));
        apply(data);
        struct mr_table *after = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"v", c->to}, {"w", MR_TYPE(MR_T_INT64)});
        assert_int_equal(bring(after), 1);
        assert_int_equal(bring(after), 0);
        for (size_t k = 0; k < c->count; k++) {
            struct mr_buf want = MR_BUF_INIT(4096);
            mr_value_append_text(c->values[k], &want);
            mr_buf_append_char(&want, '\n');
            assert_string_equal(rows_text(text_of("SELECT v FROM s.t WHERE id = %zu", k)), mr_buf_z(&want));
            mr_buf_free(&want);
        }
        assert_string_equal(rows_text("SELECT * FROM s.t WHERE id = 99"), "99|-|6\n"); /* in its place */
        mr_table_unref(made[--made_count]);
        mr_table_unref(made[--made_count]);
    }
}

static void test_what_becomes_json_is_json(void **state)
{
    (void)state;
    const struct {
        struct mr_type from;
        struct mr_value v;
        const char *type, *text; /* JSON_TYPE, and the value unquoted */
    } rows[] = {
        {T(MR_T_INT64), INT(7), "INTEGER", "7"},
        {T(MR_T_BOOL), BOOL(1), "BOOLEAN", "true"},
        {T(MR_T_FLOAT64), FLOAT(1.5), "DOUBLE", "1.5"},
        {T(MR_T_TIMESTAMPTZ), TIME(MR_V_TIMESTAMPTZ, 0), "STRING", "1970-01-01T00:00:00Z"},
        {T(MR_T_DATE), TIME(MR_V_DATE, 0), "STRING", "1970-01-01"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct mr_table *before = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"v", rows[i].from});
        sql("DROP TABLE IF EXISTS s.t");
        create(before);
        struct rows *data = rows_of(before);
        ROW(data, MR_ROW_UPSERT, INT(1), rows[i].v);
        ROW(data, MR_ROW_UPSERT, INT(2), NIL);
        apply(data);
        struct mr_table *after = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"v", MR_TYPE(MR_T_JSON)});
        assert_int_equal(bring(after), 1);
        assert_native("t", "v", "json");
        assert_string_equal(rows_text("SELECT JSON_TYPE(v), JSON_UNQUOTE(v) FROM s.t ORDER BY id"),
                            text_of("%s|%s\n-|-\n", rows[i].type, rows[i].text));
        mr_table_unref(made[--made_count]);
        mr_table_unref(made[--made_count]);
    }
}

static void test_numbers_widen_in_place(void **state)
{
    (void)state;
    struct mr_table *ints = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"v", MR_TYPE(MR_T_INT32)});
    create(ints);
    sql("INSERT INTO s.t VALUES (1, -2147483648), (2, NULL)");
    assert_int_equal(bring(TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"v", MR_TYPE(MR_T_INT64)})), 1);
    sql("INSERT INTO s.t VALUES (3, 9223372036854775807)");
    assert_int_equal(bring(TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"v", MR_TYPE_DECIMAL(20, 0)})), 1);
    sql("INSERT INTO s.t VALUES (4, 18446744073709551615)");
    struct mr_table *open = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"v", MR_TYPE_DECIMAL_OPEN});
    assert_int_equal(bring(open), 1);
    struct rows *rows = rows_of(open);
    ROW(rows, MR_ROW_UPSERT, INT(5), NUM("0.5"));
    apply(rows);
    assert_native("t", "v", "decimal(65,30)");
    assert_string_equal(rows_text("SELECT TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM v)) FROM s.t ORDER BY id"),
                        "-2147483648\n-\n9223372036854775807\n18446744073709551615\n0.5\n");
}

/* A number with more digits than a double has: the column becomes a DECIMAL, unless it has held what a DECIMAL cannot. */
static void test_a_double_becomes_a_decimal_when_digits_count(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"v", MR_TYPE_DECIMAL_OPEN});
    create(tbl);
    assert_native("t", "v", "double");
    struct rows *rows = rows_of(tbl), *exact = rows_of(tbl);
    ROW(rows, MR_ROW_UPSERT, INT(1), NUM("0.1"));
    apply(rows);
    ROW(exact, MR_ROW_UPSERT, INT(2), NUM("0.12345678901234567890"));
    struct mr_error err = {0};
    assert_int_equal(try_apply(exact, &err), MR_E_SCHEMA);
    struct mr_column *col = (struct mr_column *)(uintptr_t)&tbl->columns[1];
    col->has_inexact = true;
    col->frac_digits = 20;
    assert_int_equal(bring(tbl), 1);
    apply(exact);
    assert_string_equal(rows_text("SELECT v FROM s.t ORDER BY id"),
                        "0.100000000000000000000000000000\n0.123456789012345678900000000000\n");
    /* Declared now, and there is a double that no DECIMAL holds: text loses nothing. */
    sql("CREATE TABLE s.u (id bigint PRIMARY KEY, v double)");
    sql("INSERT INTO s.u VALUES (1, 1e300), (2, 0.5)");
    struct mr_table *declared = TABLE("u", {"id", MR_TYPE(MR_T_INT64), true}, {"v", KEPT});
    assert_int_equal(bring(declared), 1);
    assert_native("u", "v", "longtext");
    assert_string_equal(rows_text("SELECT v FROM s.u ORDER BY id"), "1e300\n0.5\n");
    assert_int_equal(bring(declared), 0);
}

static void test_texts_and_keys_grow(void **state)
{
    (void)state;
    sql("CREATE TABLE s.t (id bigint PRIMARY KEY, v varchar(10), w text, x tinyblob)");
    sql("INSERT INTO s.t VALUES (1, 'a ', 'b', 'c')");
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"v", MR_TYPE(MR_T_TEXT), false, 11}, {"w", MR_TYPE(MR_T_TEXT), false, 70000},
                                 {"x", MR_TYPE(MR_T_BYTES), false, 100});
    assert_int_equal(bring(tbl), 2);
    assert_native("t", "v", "longtext");
    assert_native("t", "w", "longtext");
    assert_native("t", "x", "tinyblob");
    assert_string_equal(rows_text("SELECT CONCAT(v, '|') FROM s.t"), "a |\n");
    struct mr_table *keyed = TABLE("k", {"a", MR_TYPE(MR_T_TEXT), true, 3}, {"b", MR_TYPE(MR_T_TEXT), true, 3});
    create(keyed);
    assert_native("k", "a", "varchar(255)");
    struct mr_table *longer = TABLE("k", {"a", MR_TYPE(MR_T_TEXT), true, 400}, {"b", MR_TYPE(MR_T_TEXT), true, 3});
    assert_int_equal(bring(longer), 1);
    assert_native("k", "a", "varchar(448)");
    assert_int_equal(bring(longer), 0);
    char key[401];
    memset(key, 'k', 400);
    key[400] = '\0';
    struct rows *rows = rows_of(longer);
    ROW(rows, MR_ROW_UPSERT, TEXT(key), TEXT("b"));
    apply(rows);
}

/* A change of type says all about a column: what it does not repeat would be gone. */
static void test_a_change_of_type_keeps_what_the_column_is_beside_its_type(void **state)
{
    (void)state;
    sql("CREATE TABLE s.t (id int AUTO_INCREMENT PRIMARY KEY, n bigint NOT NULL DEFAULT 7 COMMENT 'it''s', v varchar(3) NOT NULL DEFAULT 'q''r' COMMENT 'c')"
        " CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci");
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"n", MR_TYPE(MR_T_FLOAT64)}, {"v", MR_TYPE(MR_T_TEXT), false, 10});
    assert_int_equal(bring(tbl), 3);
    sql("INSERT INTO s.t () VALUES ()");
    assert_string_equal(rows_text("SELECT * FROM s.t"), "1|7|q'r\n");
    assert_string_equal(rows_text("SELECT DATA_TYPE, IS_NULLABLE, COLUMN_COMMENT, COALESCE(COLLATION_NAME, ''), EXTRA LIKE '%auto_increment%' FROM "
                                  "information_schema.COLUMNS WHERE TABLE_SCHEMA = 's' ORDER BY ORDINAL_POSITION"),
                        "bigint|NO|||1\ndouble|NO|it's||0\nlongtext|NO|c|utf8mb4_general_ci|0\n");
}

/* MariaDB has checks of columns, which MySQL makes checks of the table; MySQL tells a default that is an expression with escapes. */
static void test_a_change_of_type_keeps_checks_and_expressions(void **state)
{
    (void)state;
    sql(is_mariadb() ? "CREATE TABLE s.t (id bigint PRIMARY KEY, n bigint CHECK (n < 100), v varchar(4) INVISIBLE DEFAULT (CONCAT('a''c', 'b')))" :
                       "CREATE TABLE s.t (id bigint PRIMARY KEY, n bigint CHECK (n < 100), v varchar(4) DEFAULT (CONCAT('a''c', 'b')) INVISIBLE)");
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"n", MR_TYPE(MR_T_FLOAT64)}, {"v", MR_TYPE(MR_T_TEXT), false, 10});
    assert_int_equal(bring(tbl), 2);
    sql("INSERT INTO s.t (id, n) VALUES (1, 1.5)");
    assert_string_equal(rows_text("SELECT * FROM s.t"), "1|1.5\n");
    assert_string_equal(rows_text("SELECT v FROM s.t"), "a'cb\n");
    assert_int_not_equal(mysql_query(raw, "INSERT INTO s.t (id, n) VALUES (2, 1000)"), 0);
}

/* Its history goes through the change like the table; MariaDB alone has them. */
static void test_a_system_versioned_table_is_altered(void **state)
{
    (void)state;
    if (!is_mariadb())
        return;
    sql("CREATE TABLE s.t (id bigint PRIMARY KEY, v bigint) WITH SYSTEM VERSIONING");
    sql("INSERT INTO s.t VALUES (1, 1)");
    sql("UPDATE s.t SET v = 2");
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"v", MR_TYPE(MR_T_FLOAT64)}, {"w", MR_TYPE(MR_T_TEXT)});
    assert_int_equal(bring(tbl), 2);
    assert_string_equal(rows_text("SELECT id, v FROM s.t FOR SYSTEM_TIME ALL ORDER BY v"), "1|1\n1|2\n");
}

/* sql_generate_invisible_primary_key: the key is none that rows of events could have. */
static void test_a_key_that_the_server_adds_is_not_seen(void **state)
{
    (void)state;
    if (is_mariadb() || mysql_query(raw, "SET SESSION sql_generate_invisible_primary_key = ON") != 0)
        return;
    sql("CREATE TABLE s.t (v bigint)");
    sql("SET SESSION sql_generate_invisible_primary_key = OFF");
    struct mr_table *tbl = TABLE("t", {"v", MR_TYPE(MR_T_INT64)});
    assert_int_equal(bring(tbl), 0);
}

/* What the server has a rule about does not change by waiting. */
static void test_what_partitions_forbid_is_refused(void **state)
{
    (void)state;
    sql("CREATE TABLE s.t (id bigint PRIMARY KEY, v bigint) PARTITION BY HASH (id) PARTITIONS 2");
    struct mr_table *wider = TABLE("t", {"id", MR_TYPE(MR_T_FLOAT64), true}, {"v", MR_TYPE(MR_T_INT64)});
    struct mr_table *other = TABLE("t", {"id", MR_TYPE(MR_T_INT64)}, {"v", MR_TYPE(MR_T_INT64), true});
    struct mr_ddl_step alter = {.kind = MR_DDL_ALTER_TYPE, .tbl = wider, .column = 0, .from = MR_TYPE(MR_T_INT64)};
    struct mr_ddl_step key = {.kind = MR_DDL_REPLACE_KEY, .tbl = other};
    struct mr_str text;
    struct mr_error err = {0};
    assert_int_equal(try_ddl(&alter, &text, &err), MR_E_CONFIG);
    assert_int_equal(try_ddl(&key, &text, &err), MR_E_CONFIG);
}

static void test_a_key_is_replaced(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"a", MR_TYPE(MR_T_INT64), true}, {"b", MR_TYPE(MR_T_TEXT)}, {"c", MR_TYPE(MR_T_BYTES)});
    create(tbl);
    sql("INSERT INTO s.t VALUES (1, 'x ', 'c'), (2, 'x', 'c')");
    struct mr_table *other = TABLE("t", {"a", MR_TYPE(MR_T_INT64)}, {"b", MR_TYPE(MR_T_TEXT), true}, {"c", MR_TYPE(MR_T_BYTES), true});
    assert_int_equal(bring(other), 1);
    assert_int_equal(bring(other), 0);
    sql("INSERT INTO s.t (a, b, c) VALUES (NULL, 'y', 'c')");
    struct mr_table *none = TABLE("t", {"a", MR_TYPE(MR_T_INT64)}, {"b", MR_TYPE(MR_T_TEXT)}, {"c", MR_TYPE(MR_T_BYTES)});
    assert_int_equal(bring(none), 1);
    sql("INSERT INTO s.t (a, b, c) VALUES (1, NULL, NULL), (1, NULL, NULL)");
    struct mr_ddl_step back = {.kind = MR_DDL_REPLACE_KEY, .tbl = tbl};
    struct mr_str text;
    struct mr_error err = {0};
    assert_int_equal(try_ddl(&back, &text, &err), MR_E_DATA); /* the rows forbid it */
    assert_string_equal(rows_text("SELECT COUNT(*) FROM s.t"), "5\n");
}

/* ---- Trouble ---- */

/* The process ended after any of the three statements: the next attempt goes on. */
static void test_a_conversion_that_was_ended_is_finished(void **state)
{
    (void)state;
    for (int done = 0; done < 3; done++) {
        sql("DROP TABLE IF EXISTS s.t");
        struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"at", MR_TYPE(MR_T_TIMESTAMP)});
        create(tbl);
        sql("INSERT INTO s.t VALUES (1, '2020-01-02 03:04:05')");
        struct mr_table *text = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"at", MR_TYPE(MR_T_TEXT)});
        if (done > 0)
            sql("ALTER TABLE s.t ADD COLUMN millrace_new_78d499fc longtext");
        if (done > 1) {
            sql("UPDATE s.t SET millrace_new_78d499fc = '2020-01-02T03:04:05'");
            sql("INSERT INTO s.t (id, at) VALUES (2, '2021-01-02 03:04:05')"); /* written meanwhile */
        }
        assert_int_equal(bring(text), 1);
        assert_string_equal(rows_text("SELECT at FROM s.t"), done > 1 ? "2020-01-02T03:04:05\n2021-01-02T03:04:05\n" : "2020-01-02T03:04:05\n");
        assert_string_equal(rows_text("SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 's' AND TABLE_NAME = 't'"), "2\n");
        mr_table_unref(made[--made_count]);
        mr_table_unref(made[--made_count]);
    }
}

static void test_an_index_on_a_converted_column_is_not_dropped(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"at", MR_TYPE(MR_T_TIMESTAMP)});
    create(tbl);
    sql("CREATE INDEX mine ON s.t (at)");
    struct mr_table *text = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"at", MR_TYPE(MR_T_TEXT)});
    struct mr_ddl_step step = {.kind = MR_DDL_ALTER_TYPE, .tbl = text, .column = 1, .from = MR_TYPE(MR_T_TIMESTAMP)};
    struct mr_str ran;
    struct mr_error err = {0};
    assert_int_equal(try_ddl(&step, &ran, &err), MR_E_CONFIG);
    assert_non_null(strstr(err.message, "mine"));
    sql("DROP INDEX mine ON s.t");
    run_ddl(&step);
}

/* Nor is a check, which would go without a word; and what the target refuses leaves nothing behind. */
static void test_a_conversion_that_is_refused_leaves_nothing_behind(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"f", MR_TYPE(MR_T_FLOAT64)}, {"j", MR_TYPE(MR_T_JSON)});
    create(tbl);
    sql("ALTER TABLE s.t ADD CONSTRAINT mine CHECK (f > 0)");
    struct mr_table *text = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"f", MR_TYPE(MR_T_TEXT)}, {"j", MR_TYPE(MR_T_JSON)});
    struct mr_ddl_step step = {.kind = MR_DDL_ALTER_TYPE, .tbl = text, .column = 1, .from = MR_TYPE(MR_T_FLOAT64)};
    struct mr_str ran;
    struct mr_error err = {0};
    assert_int_equal(try_ddl(&step, &ran, &err), MR_E_CONFIG);
    assert_non_null(strstr(err.message, "mine"));
    sql(is_mariadb() ? "ALTER TABLE s.t DROP CONSTRAINT mine" : "ALTER TABLE s.t DROP CHECK mine");
    sql("ALTER TABLE s.t ADD g double AS (f * 2) VIRTUAL");
    if (try_ddl(&step, &ran, &err) != MR_OK) /* MariaDB takes it */
        assert_string_equal(rows_text("SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 's'"), "4\n");
    sql("ALTER TABLE s.t DROP COLUMN g");
    run_ddl(&step);
    assert_native("t", "f", "longtext");
}

/* Nothing has changed for those who look at the time of the last change. */
static void test_a_conversion_is_no_change_of_the_rows(void **state)
{
    (void)state;
    sql("CREATE TABLE s.t (id bigint PRIMARY KEY, f double, at datetime ON UPDATE CURRENT_TIMESTAMP)");
    sql("INSERT INTO s.t VALUES (1, 1.5, '2001-01-01')");
    struct mr_table *text = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"f", MR_TYPE(MR_T_TEXT)});
    assert_int_equal(bring(text), 1);
    assert_string_equal(rows_text("SELECT * FROM s.t"), "1|1.5|2001-01-01 00:00:00\n");
}

static void test_ddl_waits_for_locks_no_longer_than_it_may(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true});
    create(tbl);
    sql("BEGIN");
    sql("SELECT * FROM s.t");
    struct mr_table *more = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"v", MR_TYPE(MR_T_TEXT)});
    struct mr_ddl_step step = {.kind = MR_DDL_ADD_COLUMN, .tbl = more, .column = 1};
    struct mr_str text;
    struct mr_error err = {0};
    int64_t before = mr_monotonic_ms();
    assert_int_equal(try_ddl(&step, &text, &err), MR_E_ENV);
    assert_string_equal(err.code, "lock_timeout");
    assert_true(mr_monotonic_ms() - before < 5000);
    sql("ROLLBACK");
    run_ddl(&step);
}

/* DDL commits by itself; what the caller began goes on, so that what it records is one transaction. */
static void test_a_transaction_is_open_after_ddl(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true});
    struct mr_ddl_step step = {.kind = MR_DDL_CREATE_TABLE, .tbl = tbl};
    struct mr_catalog_table now = {0};
    struct mr_str text;
    struct rows *rows = rows_of(tbl);
    ROW(rows, MR_ROW_UPSERT, INT(1));
    OK(sink->ops->begin(sink, e));
    OK(sink->ops->ddl(sink, &step, &now, ar, &text, e));
    OK(sink->ops->apply(sink, &rows->batch, e));
    sink->ops->rollback(sink);
    assert_string_equal(rows_text("SELECT COUNT(*) FROM s.t"), "0\n");
}

/* It is not waited for: the other one may be rewriting a table for an hour. */
static void test_one_instance_at_a_time_is_in_the_gate(void **state)
{
    (void)state;
    struct mr_sink *other = connect_with(&cfg);
    struct mr_error err = {0};
    OK(sink->ops->gate_lock(sink, e));
    assert_int_equal(other->ops->gate_lock(other, &err), MR_E_BUSY);
    sink->ops->gate_unlock(sink);
    OK(other->ops->gate_lock(other, e));
    assert_int_equal(sink->ops->gate_lock(sink, &err), MR_E_BUSY);
    other->ops->destroy(other); /* the end of a connection gives it back */
    enum mr_status status = MR_E_BUSY;
    for (int i = 0; i < 100 && status == MR_E_BUSY; i++) {
        status = sink->ops->gate_lock(sink, &err);
        mr_sleep_ms(20);
    }
    assert_int_equal(status, MR_OK);
    sink->ops->gate_unlock(sink);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_every_type_is_made_and_recognised),
        TEST(test_making_what_is_there_changes_nothing),
        TEST(test_the_catalog_is_read),
        TEST(test_collations_under_which_texts_that_differ_are_equal_are_known),
        TEST(test_engines_without_transactions_are_known),
        TEST(test_names_may_hold_what_separates_statements),
        TEST(test_a_table_may_have_very_many_columns),
        TEST(test_columns_are_added),
        TEST(test_what_cannot_be_instant_is_done_otherwise),
        TEST(test_what_becomes_text_has_the_canonical_form),
        TEST(test_what_becomes_json_is_json),
        TEST(test_numbers_widen_in_place),
        TEST(test_a_double_becomes_a_decimal_when_digits_count),
        TEST(test_texts_and_keys_grow),
        TEST(test_a_change_of_type_keeps_what_the_column_is_beside_its_type),
        TEST(test_a_change_of_type_keeps_checks_and_expressions),
        TEST(test_a_system_versioned_table_is_altered),
        TEST(test_a_key_that_the_server_adds_is_not_seen),
        TEST(test_what_partitions_forbid_is_refused),
        TEST(test_a_key_is_replaced),
        TEST(test_a_conversion_that_was_ended_is_finished),
        TEST(test_an_index_on_a_converted_column_is_not_dropped),
        TEST(test_a_conversion_that_is_refused_leaves_nothing_behind),
        TEST(test_a_conversion_is_no_change_of_the_rows),
        TEST(test_ddl_waits_for_locks_no_longer_than_it_may),
        TEST(test_a_transaction_is_open_after_ddl),
        TEST(test_one_instance_at_a_time_is_in_the_gate),
    };
    return cmocka_run_group_tests(tests, open_server, close_server);
}
