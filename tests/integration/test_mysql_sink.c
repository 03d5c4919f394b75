/* The MySQL sink against a real server, MariaDB or MySQL: values of every type, writing rows, transactions, what the server refuses. */
#include <math.h>

#include <millrace/base/decimal.h>
#include <millrace/base/time.h>

#include "my_helper.h"

#define DECIMAL_KEPT ((struct mr_type){.kind = MR_T_DECIMAL, .open = true, .origin = MR_TYPED})

/* ---- Values ---- */

static void assert_dump(const char *table, const char *expected)
{
    assert_string_equal(dump_of(table), expected);
}

static void test_values_of_every_type_come_back_exactly(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"b", MR_TYPE(MR_T_BOOL)}, {"i2", MR_TYPE(MR_T_INT16)},
                                 {"i4", MR_TYPE(MR_T_INT32)}, {"i8", MR_TYPE(MR_T_INT64)}, {"d", MR_TYPE_DECIMAL(18, 2)},
                                 {"dd", DECIMAL_KEPT}, {"f4", MR_TYPE(MR_T_FLOAT32)}, {"f8", MR_TYPE(MR_T_FLOAT64)},
                                 {"t", MR_TYPE(MR_T_TEXT)}, {"by", MR_TYPE(MR_T_BYTES)}, {"da", MR_TYPE(MR_T_DATE)}, {"ti", MR_TYPE(MR_T_TIME)},
                                 {"du", MR_TYPE(MR_T_DURATION)}, {"ts", MR_TYPE(MR_T_TIMESTAMP)}, {"tz", MR_TYPE(MR_T_TIMESTAMPTZ)},
                                 {"u", MR_TYPE(MR_T_UUID)}, {"bi", MR_TYPE_BITS(5)}, {"bv", MR_TYPE_BITS(0)}, {"j", MR_TYPE(MR_T_JSON)});
    create(tbl);
    struct rows *rows = rows_of(tbl);
    ROW(rows, MR_ROW_UPSERT, INT(INT64_MIN), BOOL(1), INT(INT16_MIN), INT(INT32_MIN), INT(INT64_MAX), NUM("-1234567890123456.70"),
        NUM("12345678901234567890123456789012345.000000000000000000000000000001"), FLOAT((double)0.1f), FLOAT(5e-324),
        mr_value_text(MR_STR("a\0b ä\xf0\x9f\x98\x80 ")), BYTES("\0\xff\x80"), TIME(MR_V_DATE, mr_days_from_civil(1, 1, 1)),
        TIME(MR_V_TIME, MR_US_PER_DAY), TIME(MR_V_DURATION, -INT64_C(3020398000000)),
        TIME(MR_V_TIMESTAMP, mr_days_from_civil(9999, 12, 31) * MR_US_PER_DAY + MR_US_PER_DAY - 1), TIME(MR_V_TIMESTAMPTZ, -1),
        mr_value_bytes(MR_V_UUID, MR_STR("\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd\xef")), BITS("10101"), BITS("0011"),
        JSON("{\"a\":1}"));
    ROW(rows, MR_ROW_UPSERT, INT(1), NIL, NIL, NIL, NIL, NIL, NIL, NIL, NIL, NIL, NIL, NIL, NIL, NIL, NIL, NIL, NIL, NIL, NIL, NIL);
    apply(rows);
    assert_string_equal(rows_text("SELECT id, b, i2, i4, i8, d, dd, f4, f8, HEX(t), HEX(`by`), da, ti, du, ts, tz, u, BIN(bi + 0), bv, "
                                  "JSON_EXTRACT(j, '$.a') FROM s.t ORDER BY id"),
                        "-9223372036854775808|1|-32768|-2147483648|9223372036854775807|-1234567890123456.70|"
                        "12345678901234567890123456789012345.000000000000000000000000000001|0.1|5e-324|"
                        "61006220C3A4F09F988020|00FF80|0001-01-01|24:00:00.000000|-838:59:58.000000|9999-12-31 23:59:59.999999|"
                        "1969-12-31 23:59:59.999999|01234567-89ab-cdef-0123-456789abcdef|10101|0011|1\n"
                        "1|-|-|-|-|-|-|-|-|-|-|-|-|-|-|-|-|-|-|-\n");
}

/* Doubles come back the same, bit for bit. */
static void test_doubles_come_back_the_same(void **state)
{
    (void)state;
    static const double numbers[] = {0.0, 1e300, -1.7976931348623157e308, 2.2250738585072014e-308, 1e-6, 1e-7, 123456789.12345678, 9007199254740993.0};
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"f", MR_TYPE(MR_T_FLOAT64)});
    create(tbl);
    struct rows *rows = rows_of(tbl);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        ROW(rows, MR_ROW_UPSERT, INT((int64_t)i), FLOAT(numbers[i]));
    apply(rows);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        const char *have = rows_text(text_of("SELECT f FROM s.t WHERE id = %zu", i));
        assert_true(strtod(have, NULL) == numbers[i]);
    }
}

/* Case, accents and blanks at the end: keys that differ for the source never merge. */
static void test_keys_are_told_apart_by_every_byte(void **state)
{
    (void)state;
    static const char *const keys[] = {"a", "A", "ä", "Ä", "a ", "a  ", " a", "", " ", "ﬀ", "ff", "\xe2\x80\x8b", "ss", "ß"};
    struct mr_table *tbl = TABLE("t", {"k", MR_TYPE(MR_T_TEXT), true}, {"v", MR_TYPE(MR_T_INT64)});
    create(tbl);
    size_t count = sizeof(keys) / sizeof(keys[0]);
    struct rows *rows = rows_of(tbl);
    for (size_t i = 0; i < count; i++)
        ROW(rows, MR_ROW_UPSERT, TEXT(keys[i]), INT((int64_t)i));
    apply(rows);
    assert_string_equal(rows_text("SELECT COUNT(*), SUM(v) FROM s.t"), text_of("%zu|%zu\n", count, count * (count - 1) / 2));
    rows = rows_of(tbl);
    ROW(rows, MR_ROW_DELETE, TEXT("a"), ABSENT);
    apply(rows);
    assert_string_equal(rows_text("SELECT COUNT(*) FROM s.t"), text_of("%zu\n", count - 1));
}

/* ---- What the column would change ---- */

static void assert_refused(struct rows *rows, const char *code, const char *message)
{
    struct mr_error err = {0};
    assert_int_equal(try_apply(rows, &err), MR_E_DATA);
    assert_string_equal(err.code, code);
    if (!strstr(err.message, message))
        fail_msg("\"%s\" does not say \"%s\"", err.message, message);
    assert_int_equal(err.row, 0);
}

/* A table that was there: the server would round and cut without a word. */
static void test_what_a_column_would_change_is_refused(void **state)
{
    (void)state;
    sql("CREATE TABLE s.t (id bigint PRIMARY KEY, dt datetime(3), de decimal(5,2), ch char(5), bi binary(3), fl float, ti time, ye year, "
        "en enum('x','it''s'), st set('a','b','x''y')) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci");
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"dt", MR_TYPE(MR_T_TIMESTAMP)}, {"de", MR_TYPE_DECIMAL(5, 2)},
                                 {"ch", MR_TYPE(MR_T_TEXT)}, {"bi", MR_TYPE(MR_T_BYTES)}, {"fl", MR_TYPE(MR_T_FLOAT64)},
                                 {"ti", MR_TYPE(MR_T_DURATION)}, {"ye", MR_TYPE(MR_T_INT16)}, {"en", MR_TYPE(MR_T_TEXT)},
                                 {"st", MR_TYPE(MR_T_TEXT)});
    struct mr_value fine[] = {INT(1), TIME(MR_V_TIMESTAMP, 1000), NUM("1.50"), TEXT("a"), BYTES("abc"), FLOAT(0.5), TIME(MR_V_DURATION, MR_US_PER_SEC),
                              INT(1999), TEXT("it's"), TEXT("a,b")};
    static const struct {
        size_t column;
        struct mr_value v;
        const char *message;
    } bad[] = {
        {1, {.tag = MR_V_TIMESTAMP, .i = 1}, "rounded"},
        {2, {.tag = MR_V_NUMBER, .len = 5, .ptr = "1.505"}, "after the point"},
        {2, {.tag = MR_V_NUMBER, .len = 4, .ptr = "1234"}, "before the point"},
        {3, {.tag = MR_V_TEXT, .len = 2, .ptr = "a "}, "blanks"},
        {4, {.tag = MR_V_BYTES, .len = 2, .ptr = "ab"}, "zeros"},
        {5, {.tag = MR_V_FLOAT, .f = 0.1}, "FLOAT"},
        {6, {.tag = MR_V_DURATION, .i = 1}, "rounded"},
        {7, {.tag = MR_V_INT, .i = 1}, "YEAR"},
        {8, {.tag = MR_V_TEXT, .len = 1, .ptr = "X"}, "none of the column's"},
        {8, {.tag = MR_V_TEXT, .len = 2, .ptr = "x "}, "none of the column's"},
        {8, {.tag = MR_V_TEXT, .len = 4, .ptr = "IT'S"}, "none of the column's"},
        {8, {.tag = MR_V_TEXT, .len = 1, .ptr = "1"}, "none of the column's"},
        {8, {.tag = MR_V_TEXT, .len = 0, .ptr = ""}, "none of the column's"},
        {9, {.tag = MR_V_TEXT, .len = 3, .ptr = "a,B"}, "none of the column's"},
        {9, {.tag = MR_V_TEXT, .len = 3, .ptr = "b,a"}, "the column's order"},
        {9, {.tag = MR_V_TEXT, .len = 3, .ptr = "a,a"}, "each once"},
        {9, {.tag = MR_V_TEXT, .len = 2, .ptr = "a,"}, "each once"},
        {9, {.tag = MR_V_TEXT, .len = 3, .ptr = "X'Y"}, "none of the column's"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct mr_value cells[10];
        memcpy(cells, fine, sizeof(cells));
        cells[bad[i].column] = bad[i].v;
        struct rows *rows = rows_of(tbl);
        add_match(rows, MR_ROW_UPSERT, cells, NULL);
        assert_refused(rows, "out_of_range", bad[i].message);
    }
    struct rows *rows = rows_of(tbl);
    add_match(rows, MR_ROW_UPSERT, fine, NULL);
    apply(rows);
}

/* As the text 0.1 or as the bits of the float nearest to it. */
static void test_a_float_has_its_place_in_a_float_column(void **state)
{
    (void)state;
    sql("CREATE TABLE s.t (f float PRIMARY KEY, v bigint)");
    struct mr_table *tbl = TABLE("t", {"f", MR_TYPE(MR_T_FLOAT32), true}, {"v", MR_TYPE(MR_T_INT64)});
    struct rows *rows = rows_of(tbl);
    ROW(rows, MR_ROW_UPSERT, FLOAT(0.1), INT(1));
    ROW(rows, MR_ROW_UPSERT, FLOAT(3.4e38), INT(2));
    apply(rows);
    rows = rows_of(tbl);
    ROW(rows, MR_ROW_UPSERT, FLOAT((double)0.1f), INT(3));
    ROW(rows, MR_ROW_DELETE, FLOAT(3.4e38), ABSENT);
    apply(rows);
    assert_string_equal(rows_text("SELECT f, v FROM s.t"), "0.1|3\n");
    rows = rows_of(tbl);
    ROW(rows, MR_ROW_UPSERT, FLOAT(0.12345678901), INT(1));
    assert_refused(rows, "out_of_range", "FLOAT");
}

/* The present time in place of a NULL, or the next number. */
static void test_a_null_that_would_become_something_else_is_refused(void **state)
{
    (void)state;
    sql("CREATE TABLE s.t (id bigint PRIMARY KEY, at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6), n bigint AUTO_INCREMENT, KEY (n))");
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"at", MR_TYPE(MR_T_TIMESTAMPTZ)}, {"n", MR_TYPE(MR_T_INT64)});
    struct rows *rows = rows_of(tbl);
    ROW(rows, MR_ROW_UPSERT, INT(1), NIL, INT(1));
    assert_refused(rows, "constraint", "at");
    rows = rows_of(tbl);
    ROW(rows, MR_ROW_UPSERT, INT(1), TIME(MR_V_TIMESTAMPTZ, MR_US_PER_DAY), NIL);
    assert_refused(rows, "constraint", "n");
}

/* ON UPDATE CURRENT_TIMESTAMP is for those who say nothing about the column. */
static void test_a_column_that_follows_the_others_keeps_what_an_event_leaves_out(void **state)
{
    (void)state;
    sql("CREATE TABLE s.t (id bigint PRIMARY KEY, v bigint, at datetime(6) ON UPDATE CURRENT_TIMESTAMP(6), u bigint, UNIQUE (u))");
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"v", MR_TYPE(MR_T_INT64)}, {"at", MR_TYPE(MR_T_TIMESTAMP)},
                                 {"u", MR_TYPE(MR_T_INT64)});
    sql("CREATE TABLE s.plain (id bigint PRIMARY KEY, v bigint, at datetime(6) ON UPDATE CURRENT_TIMESTAMP(6))");
    struct mr_table *plain = TABLE("plain", {"id", MR_TYPE(MR_T_INT64), true}, {"v", MR_TYPE(MR_T_INT64)}, {"at", MR_TYPE(MR_T_TIMESTAMP)});
    sql("INSERT INTO s.t VALUES (1, 1, '2001-01-01', 1), (2, 1, '2002-01-01', 2)");
    sql("INSERT INTO s.plain VALUES (1, 1, '2001-01-01')");
    struct rows *rows = rows_of(tbl);
    ROW(rows, MR_ROW_UPSERT, INT(1), INT(5), ABSENT, INT(2));
    ROW(rows, MR_ROW_UPSERT, INT(2), INT(6), ABSENT, INT(1)); /* they exchange u: it is NULL in between */
    apply(rows);
    rows = rows_of(plain);
    ROW(rows, MR_ROW_UPSERT, INT(1), INT(7), ABSENT);
    apply(rows);
    assert_string_equal(rows_text("SELECT id, v, DATE(at), u FROM s.t ORDER BY id"), "1|5|2001-01-01|2\n2|6|2002-01-01|1\n");
    assert_string_equal(rows_text("SELECT id, v, DATE(at) FROM s.plain"), "1|7|2001-01-01\n");
}

/* Errors of generated columns, indexes over expressions and character sets have numbers without end. */
static void test_what_a_function_of_the_table_refuses_is_the_rows_fault(void **state)
{
    (void)state;
    sql("CREATE TABLE s.t (id bigint PRIMARY KEY, n bigint, d bigint AS (10 DIV n) STORED, j longtext, jj int AS (JSON_EXTRACT(j, '$.a')) STORED, "
        "l varchar(10) CHARACTER SET latin1)");
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"n", MR_TYPE(MR_T_INT64)}, {"j", MR_TYPE(MR_T_TEXT)},
                                 {"l", MR_TYPE(MR_T_TEXT)});
    struct rows *rows = rows_of(tbl);
    ROW(rows, MR_ROW_UPSERT, INT(1), INT(0), NIL, NIL);
    assert_refused(rows, "out_of_range", "ivision by 0");
    rows = rows_of(tbl);
    ROW(rows, MR_ROW_UPSERT, INT(1), INT(1), TEXT("nope"), NIL);
    assert_refused(rows, "refused", "json_extract");
    struct mr_error err = {0};
    rows = rows_of(tbl);
    ROW(rows, MR_ROW_UPSERT, INT(1), INT(1), NIL, TEXT("\xc5\x82"));
    assert_int_equal(try_apply(rows, &err), MR_E_SCHEMA);
    assert_string_equal(err.code, "wrong_type");
    if (is_mariadb())
        return;
    sql("CREATE TABLE s.f (id bigint PRIMARY KEY, t varchar(100), j json, INDEX ((CAST(t AS CHAR(3)))))");
    struct mr_table *f = TABLE("f", {"id", MR_TYPE(MR_T_INT64), true}, {"t", MR_TYPE(MR_T_TEXT)}, {"j", MR_TYPE(MR_T_JSON)});
    rows = rows_of(f);
    ROW(rows, MR_ROW_UPSERT, INT(1), TEXT("four"), NIL);
    assert_refused(rows, "out_of_range", "functional index");
    char *key = mr_arena_alloc(ar, 70010);
    memset(key, 'k', 70010);
    memcpy(key, "{\"", 2);
    memcpy(key + 70000, "\":1}", 4);
    rows = rows_of(f);
    ROW(rows, MR_ROW_UPSERT, INT(1), NIL, mr_value_bytes(MR_V_JSON, mr_str_of(key, 70004)));
    assert_refused(rows, "out_of_range", "too long");
}

/* Too long may become long enough: it is the schema's matter first. */
static void test_a_value_that_is_too_long_asks_for_a_new_plan(void **state)
{
    (void)state;
    sql("CREATE TABLE s.t (id bigint PRIMARY KEY, v varchar(3), w varbinary(3))");
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"v", MR_TYPE(MR_T_TEXT), false, 5}, {"w", MR_TYPE(MR_T_BYTES), false, 2});
    struct rows *rows = rows_of(tbl);
    struct mr_error err = {0};
    ROW(rows, MR_ROW_UPSERT, INT(1), TEXT("abc  "), NIL); /* the server would cut the blanks */
    assert_int_equal(try_apply(rows, &err), MR_E_SCHEMA);
    assert_string_equal(err.code, "out_of_range");
    assert_int_equal(bring(tbl), 1);
    apply(rows);
    assert_string_equal(rows_text("SELECT HEX(v) FROM s.t"), "6162632020\n");
}

static void test_constraints_refuse_the_row(void **state)
{
    (void)state;
    sql("CREATE TABLE s.t (id bigint PRIMARY KEY, v bigint NOT NULL CHECK (v < 100), small smallint)");
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"v", MR_TYPE(MR_T_INT64)}, {"small", MR_TYPE(MR_T_INT64)});
    static const struct {
        struct mr_value v, small;
        const char *code;
    } bad[] = {
        {{.tag = MR_V_INT, .i = 100}, {.tag = MR_V_NULL}, "constraint"},
        {{.tag = MR_V_NULL}, {.tag = MR_V_NULL}, "constraint"},
        {{.tag = MR_V_INT, .i = 1}, {.tag = MR_V_INT, .i = 40000}, "out_of_range"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct rows *rows = rows_of(tbl);
        ROW(rows, MR_ROW_UPSERT, INT(1), bad[i].v, bad[i].small);
        assert_refused(rows, bad[i].code, "");
    }
}

/* ---- Rows ---- */

static void test_a_range_deletes_the_rows_between(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"pos", MR_TYPE(MR_T_INT64), true}, {"v", MR_TYPE(MR_T_TEXT)});
    create(tbl);
    for (int bulk = 0; bulk < 2; bulk++) {
        cfg.bulk_rows = bulk ? 1 : 1000;
        sql("DELETE FROM s.t");
        struct rows *rows = rows_of(tbl);
        for (int id = 1; id <= 2; id++)
            for (int pos = 0; pos < 5; pos++)
                ROW(rows, MR_ROW_UPSERT, INT(id), INT(pos), TEXT("x"));
        apply(rows);
        rows = rows_of(tbl);
        add_match(rows, MR_ROW_DELETE_RANGE, CELLS(INT(1), INT(1), ABSENT), CELLS(ABSENT, INT(3), ABSENT));
        add_match(rows, MR_ROW_DELETE_RANGE, CELLS(INT(2), INT(3), ABSENT), CELLS(ABSENT, INT(INT32_MAX), ABSENT));
        add_match(rows, MR_ROW_DELETE_RANGE, CELLS(INT(9), INT(0), ABSENT), CELLS(ABSENT, INT(9), ABSENT));
        apply(rows);
        assert_string_equal(rows_text("SELECT id, GROUP_CONCAT(pos ORDER BY pos) FROM s.t GROUP BY id ORDER BY id"), "1|0,3,4\n2|0,1,2\n");
    }
}

static void test_all_rows_of_a_part_of_the_key_are_moved(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"pos", MR_TYPE(MR_T_INT64), true}, {"v", MR_TYPE(MR_T_TEXT)});
    create(tbl);
    struct rows *rows = rows_of(tbl);
    for (int pos = 0; pos < 3; pos++) {
        ROW(rows, MR_ROW_UPSERT, INT(1), INT(pos), TEXT("x1"));
        ROW(rows, MR_ROW_UPSERT, INT(2), INT(pos), TEXT("x2"));
    }
    apply(rows);
    rows = rows_of(tbl);
    add_match(rows, MR_ROW_MOVE_ALL, CELLS(INT(3), ABSENT, ABSENT), CELLS(INT(1), ABSENT, ABSENT));
    ROW(rows, MR_ROW_UPSERT, INT(3), INT(1), TEXT("new"));
    rows->batch.ordered = true;
    apply(rows);
    assert_string_equal(rows_text("SELECT id, GROUP_CONCAT(CONCAT(pos, v) ORDER BY pos) FROM s.t GROUP BY id ORDER BY id"),
                        "2|0x2,1x2,2x2\n3|0x1,1new,2x1\n");
}

static void test_upserts_and_deletes(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"a", MR_TYPE(MR_T_INT64), true}, {"b", MR_TYPE(MR_T_TEXT), true}, {"v", MR_TYPE(MR_T_TEXT)},
                                 {"w", MR_TYPE(MR_T_INT64)});
    create(tbl);
    struct rows *rows = rows_of(tbl);
    ROW(rows, MR_ROW_UPSERT, INT(1), TEXT("x"), TEXT("one"), INT(1));
    ROW(rows, MR_ROW_UPSERT, INT(1), TEXT("y"), TEXT("two"), INT(2));
    ROW(rows, MR_ROW_UPSERT, INT(2), TEXT("x"), ABSENT, INT(3));
    apply(rows);
    rows = rows_of(tbl);
    ROW(rows, MR_ROW_UPSERT, INT(1), TEXT("x"), ABSENT, INT(10));
    ROW(rows, MR_ROW_DELETE, INT(1), TEXT("y"), ABSENT, ABSENT);
    ROW(rows, MR_ROW_DELETE, INT(9), TEXT("z"), ABSENT, ABSENT);
    ROW(rows, MR_ROW_UPSERT, INT(2), TEXT("x"), ABSENT, ABSENT);
    apply(rows);
    assert_dump("t", "a|b|v|w\n1|x|one|10\n2|x|~|3\n");
}

/* The cells asked for, each with a semicolon; "none" where there is no such row. */
static const char *read_text(const struct mr_table *tbl, const struct mr_value *cells)
{
    static struct mr_buf text = {.max = (size_t)1 << 26};
    struct mr_value *out = mr_arena_zalloc(ar, tbl->column_count * sizeof(*out));
    bool found = false;

    mr_buf_clear(&text);
    OK(sink->ops->read_row(sink, tbl, cells, ar, out, &found, e));
    for (size_t i = 0; found && i < tbl->column_count; i++) {
        if (out[i].tag == MR_V_ABSENT)
            continue;
        assert_true(out[i].tag == MR_V_NULL || out[i].tag == (tbl->columns[i].type.kind == MR_T_TEXT ? MR_V_TEXT : MR_V_JSON));
        mr_buf_printf(&text, "%.*s;", out[i].tag == MR_V_NULL ? 4 : (int)out[i].len, out[i].tag == MR_V_NULL ? "NULL" : out[i].ptr);
    }
    return found ? mr_buf_z(&text) : "none";
}

static void test_cells_of_a_row_are_read_and_locked(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"a", MR_TYPE(MR_T_INT64), true}, {"j", MR_TYPE(MR_T_JSON)}, {"b", MR_TYPE(MR_T_TEXT), true, 10},
                                 {"v", MR_TYPE(MR_T_TEXT)});
    struct mr_buf large = MR_BUF_INIT((size_t)1 << 24);
    create(tbl);
    mr_buf_append_z(&large, "[\"");
    for (int i = 0; i < 200000; i++)
        mr_buf_append_z(&large, "\xc3\xa4");
    mr_buf_append_z(&large, "\"]");
    struct rows *rows = rows_of(tbl);
    ROW(rows, MR_ROW_UPSERT, INT(1), JSON("{\"d\": [1.5, \"\xc3\xa4\"]}"), TEXT("x"), TEXT(""));
    ROW(rows, MR_ROW_UPSERT, INT(2), NIL, TEXT("y"), TEXT("t"));
    ROW(rows, MR_ROW_UPSERT, INT(3), JSON(mr_buf_z(&large)), TEXT("z"), NIL);
    apply(rows);
    OK(sink->ops->begin(sink, e));
    assert_string_equal(read_text(tbl, CELLS(INT(1), NIL, TEXT("x"), NIL)), "{\"d\": [1.5, \"\xc3\xa4\"]};;");
    assert_string_equal(read_text(tbl, CELLS(INT(2), NIL, TEXT("y"), NIL)), "NULL;t;");
    assert_string_equal(read_text(tbl, CELLS(INT(2), ABSENT, TEXT("y"), NIL)), "t;");
    assert_string_equal(read_text(tbl, CELLS(INT(2), NIL, TEXT("x"), NIL)), "none");
    const char *text = read_text(tbl, CELLS(INT(3), NIL, TEXT("z"), ABSENT));
    assert_int_equal(strlen(text), large.len + 1);
    assert_memory_equal(text, large.data, large.len);
    mr_buf_free(&large);
    OK(sink->ops->commit(sink, e));
}

static void test_a_table_named_like_our_alias_is_upserted(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("mr_new", {"id", MR_TYPE(MR_T_INT64), true}, {"mr_new", MR_TYPE(MR_T_INT64)});
    create(tbl);
    for (int64_t i = 0; i < 2; i++) {
        struct rows *rows = rows_of(tbl);
        ROW(rows, MR_ROW_UPSERT, INT(1), INT(i));
        apply(rows);
    }
    assert_dump("mr_new", "id|mr_new\n1|1\n");
}

static void test_a_table_of_keys_alone_is_upserted(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"a", MR_TYPE(MR_T_INT64), true}, {"b", MR_TYPE(MR_T_INT64), true});
    create(tbl);
    for (int i = 0; i < 2; i++) {
        struct rows *rows = rows_of(tbl);
        ROW(rows, MR_ROW_UPSERT, INT(1), INT(2));
        ROW(rows, MR_ROW_UPSERT, INT(3), INT(4));
        apply(rows);
    }
    assert_dump("t", "a|b\n1|2\n3|4\n");
}

/* A partial row of a table that wants a value it leaves out. */
static void test_a_partial_update_does_not_need_what_it_keeps(void **state)
{
    (void)state;
    sql("CREATE TABLE s.t (id bigint PRIMARY KEY, must bigint NOT NULL, v bigint)");
    sql("INSERT INTO s.t VALUES (1, 5, 6)");
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"must", MR_TYPE(MR_T_INT64)}, {"v", MR_TYPE(MR_T_INT64)});
    struct rows *rows = rows_of(tbl);
    ROW(rows, MR_ROW_UPSERT, INT(1), ABSENT, INT(6)); /* nothing changes, and yet it is there */
    apply(rows);
    rows = rows_of(tbl);
    ROW(rows, MR_ROW_UPSERT, INT(1), ABSENT, INT(7));
    apply(rows);
    assert_dump("t", "id|must|v\n1|5|7\n");
    rows = rows_of(tbl);
    ROW(rows, MR_ROW_UPSERT, INT(2), ABSENT, INT(7));
    assert_refused(rows, "constraint", "must");
}

static void test_zero_is_a_key_like_any_other(void **state)
{
    (void)state;
    sql("CREATE TABLE s.t (id bigint AUTO_INCREMENT PRIMARY KEY, v bigint)");
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"v", MR_TYPE(MR_T_INT64)});
    struct rows *rows = rows_of(tbl);
    ROW(rows, MR_ROW_UPSERT, INT(0), INT(1));
    apply(rows);
    assert_dump("t", "id|v\n0|1\n");
}

static void test_an_existing_row_is_reported_and_stays(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"v", MR_TYPE(MR_T_TEXT)});
    create(tbl);
    sql("INSERT INTO s.t VALUES (1, 'old')");
    struct rows *rows = rows_of(tbl);
    struct mr_row *there = ROW(rows, MR_ROW_INSERT_ONLY, INT(1), TEXT("new"));
    struct mr_row *fresh = ROW(rows, MR_ROW_INSERT_ONLY, INT(2), TEXT("new"));
    apply(rows);
    assert_true(there->was_there);
    assert_false(fresh->was_there);
    assert_dump("t", "id|v\n1|old\n2|new\n");
}

/* A trigger of the user's says no, with a state of its own or with a number of its own. */
static void test_what_a_trigger_raises_refuses_the_row(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"v", MR_TYPE(MR_T_INT64)});
    create(tbl);
    sql("CREATE TRIGGER s.no BEFORE INSERT ON s.t FOR EACH ROW IF NEW.v = 1 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no ones'; "
        "ELSEIF NEW.v = 2 THEN SIGNAL SQLSTATE '45001' SET MYSQL_ERRNO = 5999, MESSAGE_TEXT = 'no twos'; END IF");
    for (int v = 1; v <= 2; v++) {
        struct rows *rows = rows_of(tbl);
        ROW(rows, MR_ROW_UPSERT, INT(1), INT(v));
        assert_refused(rows, "refused", v == 1 ? "no ones" : "no twos");
    }
}

/* ---- Tables without a key ---- */

static void test_rows_without_a_key_are_matched_by_their_content(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"a", MR_TYPE(MR_T_INT64)}, {"t", MR_TYPE(MR_T_TEXT)}, {"d", DECIMAL_KEPT}, {"j", MR_TYPE(MR_T_JSON)},
                                 {"at", MR_TYPE(MR_T_TIMESTAMP)}, {"bi", MR_TYPE_BITS(3)}, {"by", MR_TYPE(MR_T_BYTES)});
    create(tbl);
    struct mr_value one[] = {INT(1), TEXT("x "), NUM("12345678901234567890.000000000000000001"), JSON("{\"a\": 1, \"b\": [1.0, null]}"),
                             TIME(MR_V_TIMESTAMP, 1000001), BITS("101"), BYTES("\xff")};
    struct mr_value nulls[] = {INT(2), NIL, NIL, NIL, NIL, NIL, NIL};
    struct rows *rows = rows_of(tbl);
    rows->batch.ordered = true;
    add_match(rows, MR_ROW_APPEND, one, NULL);
    add_match(rows, MR_ROW_APPEND, one, NULL);
    add_match(rows, MR_ROW_APPEND, nulls, NULL);
    /* One of the two equal rows; the JSON in another order and spelling. */
    struct mr_value same[7], changed[7];
    memcpy(same, one, sizeof(same));
    memcpy(changed, one, sizeof(changed));
    same[3] = JSON("{\"b\":[1.0,null],\"a\":1}");
    changed[0] = INT(10);
    add_match(rows, MR_ROW_UPDATE_MATCH, changed, same);
    add_match(rows, MR_ROW_DELETE_MATCH, nulls, nulls);
    /* Nothing like it: an update inserts, a delete does nothing. */
    struct mr_value other[7];
    memcpy(other, one, sizeof(other));
    other[2] = NUM("12345678901234567890.000000000000000002");
    add_match(rows, MR_ROW_DELETE_MATCH, other, other);
    struct mr_value inserted[] = {INT(3), NIL, NIL, NIL, NIL, NIL, NIL};
    add_match(rows, MR_ROW_UPDATE_MATCH, inserted, other);
    apply(rows);
    assert_string_equal(rows_text("SELECT a FROM s.t ORDER BY a"), "1\n3\n10\n");
    /* An update that changes nothing has found its row. */
    rows = rows_of(tbl);
    rows->batch.ordered = true;
    add_match(rows, MR_ROW_UPDATE_MATCH, inserted, inserted);
    /* A match that compares nothing matches nothing. */
    struct mr_value nothing[7] = {{0}};
    add_match(rows, MR_ROW_DELETE_MATCH, nothing, nothing);
    apply(rows);
    assert_string_equal(rows_text("SELECT a FROM s.t ORDER BY a"), "1\n3\n10\n");
}

static void test_rows_without_a_key_are_matched_by_every_character(void **state)
{
    (void)state;
    sql("CREATE TABLE s.t (t varchar(10)) CHARACTER SET latin1 COLLATE latin1_swedish_ci");
    sql("INSERT INTO s.t VALUES ('A'), ('a '), ('\xc3\xa1'), ('a')");
    struct mr_table *tbl = TABLE("t", {"t", MR_TYPE(MR_T_TEXT)});
    struct rows *rows = rows_of(tbl);
    rows->batch.ordered = true;
    struct mr_value plain[] = {TEXT("a")}, accent[] = {TEXT("\xc3\xa1")}, other[] = {TEXT("b")};
    add_match(rows, MR_ROW_DELETE_MATCH, plain, plain);
    add_match(rows, MR_ROW_UPDATE_MATCH, other, accent);
    apply(rows);
    assert_string_equal(rows_text("SELECT CONCAT('[', t, ']') FROM s.t ORDER BY HEX(t)"), "[A]\n[a ]\n[b]\n");
}

/* ---- Other unique indexes ---- */

static void assert_exchange(const char *create_sql)
{
    sql("DROP TABLE IF EXISTS s.t");
    sql(create_sql);
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"u", MR_TYPE(MR_T_TEXT)}, {"v", MR_TYPE(MR_T_TEXT)});
    struct rows *rows = rows_of(tbl);
    ROW(rows, MR_ROW_UPSERT, INT(1), TEXT("a"), TEXT("one"));
    ROW(rows, MR_ROW_UPSERT, INT(2), TEXT("b"), TEXT("two"));
    ROW(rows, MR_ROW_UPSERT, INT(3), TEXT("c"), TEXT("three"));
    apply(rows);
    rows = rows_of(tbl);
    ROW(rows, MR_ROW_UPSERT, INT(1), TEXT("b"), TEXT("one"));
    ROW(rows, MR_ROW_UPSERT, INT(2), TEXT("a"), TEXT("two"));
    ROW(rows, MR_ROW_DELETE, INT(3), ABSENT, ABSENT);
    ROW(rows, MR_ROW_UPSERT, INT(4), TEXT("c"), TEXT("four"));
    apply(rows);
    assert_dump("t", "id|u|v\n1|b|one\n2|a|two\n4|c|four\n");
}

static void test_two_rows_exchange_a_unique_value(void **state)
{
    (void)state;
    assert_exchange("CREATE TABLE s.t (id bigint PRIMARY KEY, u varchar(20), v text, UNIQUE (u))");
    assert_exchange("CREATE TABLE s.t (id bigint PRIMARY KEY, u varchar(20) NOT NULL, v text, UNIQUE (u))");
    assert_exchange("CREATE TABLE s.t (id bigint PRIMARY KEY, u text NOT NULL, v text, UNIQUE (u(10)))");
}

/* ON DUPLICATE KEY UPDATE would answer to the other index, and change the row of another key. */
static void test_a_taken_unique_value_refuses_the_row_and_changes_no_other(void **state)
{
    (void)state;
    sql("CREATE TABLE s.t (id bigint PRIMARY KEY, u bigint, UNIQUE (u))");
    sql("INSERT INTO s.t VALUES (1, 10)");
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"u", MR_TYPE(MR_T_INT64)});
    struct rows *rows = rows_of(tbl);
    ROW(rows, MR_ROW_UPSERT, INT(2), INT(10));
    assert_refused(rows, "constraint", "10");
    assert_dump("t", "id|u\n1|10\n");
}

static void test_rows_that_are_referenced_are_never_deleted_to_come_back(void **state)
{
    (void)state;
    sql("CREATE TABLE s.t (id bigint PRIMARY KEY, u bigint NOT NULL, UNIQUE (u))");
    sql("CREATE TABLE s.child (id bigint PRIMARY KEY, p bigint, FOREIGN KEY (p) REFERENCES s.t (id) ON DELETE CASCADE)");
    sql("INSERT INTO s.t VALUES (1, 10)");
    sql("INSERT INTO s.child VALUES (1, 1)");
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"u", MR_TYPE(MR_T_INT64)});
    struct rows *rows = rows_of(tbl);
    rows->batch.ordered = true;
    ROW(rows, MR_ROW_UPSERT, INT(1), INT(11));
    ROW(rows, MR_ROW_UPSERT, INT(2), INT(10));
    apply(rows);
    assert_dump("t", "id|u\n1|11\n2|10\n");
    assert_string_equal(rows_text("SELECT COUNT(*) FROM s.child"), "1\n");
}

/* An index over what another column computes, one over somebody else's column, and rows that only change places in a long chain. */
static void test_values_behind_other_indexes_are_exchanged_too(void **state)
{
    (void)state;
    sql("CREATE TABLE s.t (sid bigint AUTO_INCREMENT, id bigint NOT NULL, u bigint, g bigint AS (u * 2) STORED, PRIMARY KEY (sid), UNIQUE (id), UNIQUE (g))");
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"u", MR_TYPE(MR_T_INT64)});
    struct rows *rows = rows_of(tbl);
    for (int64_t i = 0; i < 200; i++)
        ROW(rows, MR_ROW_UPSERT, INT(i), INT(i));
    apply(rows);
    struct mr_table *own = TABLE("t2", {"id", MR_TYPE(MR_T_INT64), true}, {"u", MR_TYPE(MR_T_INT64)});
    sql("CREATE TABLE s.t2 (id bigint PRIMARY KEY, u bigint, g bigint AS (u * 2) STORED, UNIQUE (g))");
    struct rows *first = rows_of(own), *next = rows_of(own);
    for (int64_t i = 0; i < 200; i++) {
        ROW(first, MR_ROW_UPSERT, INT(i), INT(i));
        ROW(next, MR_ROW_UPSERT, INT(i), INT(i < 198 ? i + 1 : i == 198 ? 0 : 199)); /* in a circle */
    }
    apply(first);
    apply(next);
    assert_string_equal(rows_text("SELECT COUNT(*), SUM(u = id + 1), SUM(u) FROM s.t2"), "200|198|19900\n");
    const char *before = rows_text("SELECT SUM(sid * id) FROM s.t");
    rows = rows_of(tbl);
    for (int64_t i = 199; i >= 0; i--)
        ROW(rows, MR_ROW_UPSERT, INT(i), INT(i + 1));
    apply(rows);
    assert_string_equal(rows_text("SELECT COUNT(*), SUM(u = id + 1) FROM s.t"), "200|200\n");
    assert_string_equal(rows_text("SELECT SUM(sid * id) FROM s.t"), before); /* nobody has been deleted to come back */
}

/* ---- Transactions ---- */

static void test_truncate_is_part_of_the_transaction(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true});
    create(tbl);
    sql("INSERT INTO s.t VALUES (1), (2)");
    struct rows *rows = rows_of(tbl);
    rows->batch.truncate_first = true;
    ROW(rows, MR_ROW_UPSERT, INT(3));
    OK(sink->ops->begin(sink, e));
    OK(sink->ops->apply(sink, &rows->batch, e));
    sink->ops->rollback(sink);
    assert_dump("t", "id\n1\n2\n");
    apply(rows);
    assert_dump("t", "id\n3\n");
}

static void test_a_savepoint_undoes_what_came_after_it(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true});
    create(tbl);
    struct rows *one = rows_of(tbl), *two = rows_of(tbl), *three = rows_of(tbl);
    ROW(one, MR_ROW_UPSERT, INT(1));
    ROW(two, MR_ROW_UPSERT, INT(2));
    ROW(three, MR_ROW_UPSERT, INT(3));
    OK(sink->ops->begin(sink, e));
    OK(sink->ops->apply(sink, &one->batch, e));
    OK(sink->ops->savepoint(sink, e));
    OK(sink->ops->apply(sink, &two->batch, e));
    OK(sink->ops->rollback_savepoint(sink, e));
    OK(sink->ops->savepoint(sink, e));
    OK(sink->ops->apply(sink, &three->batch, e));
    OK(sink->ops->release_savepoint(sink, e));
    OK(sink->ops->commit(sink, e));
    assert_dump("t", "id\n1\n3\n");
    sink->ops->rollback(sink); /* without a transaction: fine */
}

static void test_a_row_that_does_not_fit_a_packet_is_data(void **state)
{
    (void)state;
    uint64_t max = strtoull(rows_text("SELECT @@global.max_allowed_packet"), NULL, 10);
    if (max > (64u << 20))
        max = 64u << 20;
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"v", MR_TYPE(MR_T_TEXT)});
    create(tbl);
    char *big = mr_xmalloc(max);
    memset(big, 'x', max);
    for (int bulk = 0; bulk < 2; bulk++) {
        struct rows *rows = rows_of(tbl);
        for (int i = 0; i < (bulk ? 200 : 1); i++)
            ROW(rows, MR_ROW_UPSERT, INT(i), i == (bulk ? 150 : 0) ? mr_value_text(mr_str_of(big, max)) : TEXT("small"));
        struct mr_error err = {0};
        assert_int_equal(try_apply(rows, &err), MR_E_DATA);
        assert_string_equal(err.code, "too_large");
        assert_int_equal(err.row, bulk ? 150 : 0);
    }
    mr_xfree(big);
    struct rows *rows = rows_of(tbl); /* the connection is as good as before */
    ROW(rows, MR_ROW_UPSERT, INT(1), TEXT("small"));
    apply(rows);
}

/* Many rows of some megabytes: split so that each execution fits a packet. */
static void test_large_rows_are_spread_over_packets(void **state)
{
    (void)state;
    enum { SIZE = 1 << 20, COUNT = 100 };
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"v", MR_TYPE(MR_T_BYTES)});
    create(tbl);
    char *big = mr_xmalloc(SIZE);
    memset(big, 0xe4, SIZE);
    struct rows *rows = rows_of(tbl);
    for (int i = 0; i < COUNT; i++)
        ROW(rows, MR_ROW_UPSERT, INT(i), mr_value_bytes(MR_V_BYTES, mr_str_of(big, SIZE)));
    apply(rows);
    mr_xfree(big);
    assert_string_equal(rows_text("SELECT COUNT(*), SUM(LENGTH(v)) FROM s.t"), text_of("%d|%d\n", COUNT, COUNT * SIZE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_values_of_every_type_come_back_exactly),
        TEST(test_doubles_come_back_the_same),
        TEST(test_keys_are_told_apart_by_every_byte),
        TEST(test_what_a_column_would_change_is_refused),
        TEST(test_a_float_has_its_place_in_a_float_column),
        TEST(test_a_null_that_would_become_something_else_is_refused),
        TEST(test_a_column_that_follows_the_others_keeps_what_an_event_leaves_out),
        TEST(test_what_a_function_of_the_table_refuses_is_the_rows_fault),
        TEST(test_a_value_that_is_too_long_asks_for_a_new_plan),
        TEST(test_constraints_refuse_the_row),
        TEST(test_upserts_and_deletes),
        TEST(test_a_range_deletes_the_rows_between),
        TEST(test_all_rows_of_a_part_of_the_key_are_moved),
        TEST(test_cells_of_a_row_are_read_and_locked),
        TEST(test_a_table_named_like_our_alias_is_upserted),
        TEST(test_a_table_of_keys_alone_is_upserted),
        TEST(test_a_partial_update_does_not_need_what_it_keeps),
        TEST(test_zero_is_a_key_like_any_other),
        TEST(test_an_existing_row_is_reported_and_stays),
        TEST(test_rows_without_a_key_are_matched_by_their_content),
        TEST(test_rows_without_a_key_are_matched_by_every_character),
        TEST(test_two_rows_exchange_a_unique_value),
        TEST(test_a_taken_unique_value_refuses_the_row_and_changes_no_other),
        TEST(test_rows_that_are_referenced_are_never_deleted_to_come_back),
        TEST(test_values_behind_other_indexes_are_exchanged_too),
        TEST(test_truncate_is_part_of_the_transaction),
        TEST(test_a_savepoint_undoes_what_came_after_it),
        TEST(test_a_row_that_does_not_fit_a_packet_is_data),
        TEST(test_large_rows_are_spread_over_packets),
        TEST(test_what_a_trigger_raises_refuses_the_row),
    };
    return cmocka_run_group_tests(tests, open_server, close_server);
}
