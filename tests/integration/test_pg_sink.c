/* The PostgreSQL sink against a real server: types, rows of every kind, errors. That its ways of applying rows agree with one another is in
 * test_pg_apply_paths.c; DDL is in test_pg_ddl.c, all the rest in test_pg_session.c. */
#include "pg_helper.h"

#include <millrace/base/time.h>

static const struct mr_type t_int = {.kind = MR_T_INT64}, t_text = {.kind = MR_T_TEXT};

/* ---- Types ---- */

struct type_case {
    struct mr_type type;
    struct mr_value value;
    const char *text;    /* as the server prints it */
    int server;          /* from this version on; 0 = all */
};

static void check_types(uint32_t bulk_rows)
{
    static const char uuid[] = "\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd\xef";
    const struct type_case cases[] = {
        {MR_TYPE(MR_T_BOOL), BOOL(true), "true", 0},
        {MR_TYPE(MR_T_INT16), INT(INT16_MIN), "-32768", 0},
        {MR_TYPE(MR_T_INT32), INT(INT32_MIN), "-2147483648", 0},
        {MR_TYPE(MR_T_INT64), INT(INT64_MIN), "-9223372036854775808", 0},
        {MR_TYPE_DECIMAL(18, 2), NUM("-1234567890123456.70"), "-1234567890123456.70", 0},
        {MR_TYPE_DECIMAL_OPEN, NUM("0"), "0", 0},
        {MR_TYPE_DECIMAL_OPEN, NUM("0.000"), "0.000", 0},
        {MR_TYPE_DECIMAL_OPEN, NUM("1.10"), "1.10", 0},
        {MR_TYPE_DECIMAL_OPEN, NUM("18446744073709551616"), "18446744073709551616", 0},
        {MR_TYPE_DECIMAL_OPEN, NUM("0.00000000000000000000000000000000000001"), "0.00000000000000000000000000000000000001", 0},
        {MR_TYPE_DECIMAL_OPEN, NUM("100000000.00010000"), "100000000.00010000", 0},
        {MR_TYPE_DECIMAL_OPEN, NUM("-9999.9999"), "-9999.9999", 0},
        {MR_TYPE_DECIMAL(10, 2), NUM("NaN"), "NaN", 0},
        {MR_TYPE_DECIMAL_OPEN, NUM("-Infinity"), "-Infinity", 140000},
        {MR_TYPE(MR_T_FLOAT32), FLOAT((double)0.1f), "0.1", 0},
        {MR_TYPE(MR_T_FLOAT64), FLOAT(0.1), "0.1", 0},
        {MR_TYPE(MR_T_FLOAT64), FLOAT(-0.0), "-0", 0},
        {MR_TYPE(MR_T_FLOAT64), FLOAT(5e-324), "5e-324", 0},
        {MR_TYPE(MR_T_FLOAT64), FLOAT(NAN), "NaN", 0},
        {MR_TYPE(MR_T_FLOAT32), FLOAT(-INFINITY), "-Infinity", 0},
        {MR_TYPE(MR_T_TEXT), TEXT("tab\t, \\N, \"quoted\", 'single', ü, 🜁"), "tab\t, \\N, \"quoted\", 'single', ü, 🜁", 0},
        {MR_TYPE(MR_T_TEXT), TEXT(""), "", 0},
        {MR_TYPE(MR_T_BYTES), BYTES("\0\xff\\"), "\\x00ff5c", 0},
        {MR_TYPE(MR_T_BYTES), BYTES(""), "\\x", 0},
        {MR_TYPE(MR_T_DATE), TIME(MR_V_DATE, 0), "1970-01-01", 0},
        {MR_TYPE(MR_T_DATE), TIME(MR_V_DATE, mr_days_from_civil(5874897, 12, 31)), "5874897-12-31", 0},
        {MR_TYPE(MR_T_DATE), TIME(MR_V_DATE, mr_days_from_civil(-4713, 11, 24)), "4714-11-24 BC", 0},
        {MR_TYPE(MR_T_DATE), TIME(MR_V_DATE, MR_TIME_NEG_INFINITY), "-infinity", 0},
        {MR_TYPE(MR_T_TIME), TIME(MR_V_TIME, MR_US_PER_DAY), "24:00:00", 0},
        {MR_TYPE(MR_T_TIME), TIME(MR_V_TIME, 1), "00:00:00.000001", 0},
        {MR_TYPE(MR_T_DURATION), TIME(MR_V_DURATION, -(838 * INT64_C(3600000000) + 1)), "-838:00:00.000001", 0},
        {MR_TYPE(MR_T_TIMESTAMP), TIME(MR_V_TIMESTAMP, -1), "1969-12-31 23:59:59.999999", 0},
        {MR_TYPE(MR_T_TIMESTAMP), TIME(MR_V_TIMESTAMP, MR_TIME_INFINITY), "infinity", 0},
        {MR_TYPE(MR_T_TIMESTAMP), TIME(MR_V_TIMESTAMP, INT64_MAX - 1), "294247-01-10 04:00:54.775806", 0},
        {MR_TYPE(MR_T_TIMESTAMPTZ), TIME(MR_V_TIMESTAMPTZ, 1), "1970-01-01 00:00:00.000001+00", 0},
        {MR_TYPE(MR_T_UUID), mr_value_bytes(MR_V_UUID, mr_str_of(uuid, 16)), "01234567-89ab-cdef-0123-456789abcdef", 0},
        {MR_TYPE_BITS(10), BITS("1010000011"), "1010000011", 0},
        {MR_TYPE_BITS(0), BITS(""), "", 0},
        {MR_TYPE_BITS(0), BITS("101010101"), "101010101", 0},
        {MR_TYPE(MR_T_JSON), JSON("{\"b\": [1, null], \"a\": 1.10}"), "{\"a\": 1.10, \"b\": [1, null]}", 0},
        {MR_TYPE(MR_T_JSON), JSON("\"x\""), "\"x\"", 0},
    };
    size_t count = sizeof(cases) / sizeof(cases[0]);
    struct col cols[64] = {{"id", t_int, true}};
    struct mr_value values[64] = {INT(1)}, nulls[64] = {INT(2)};
    size_t used = 0;
    const char *want[64];

    for (size_t i = 0; i < count; i++) {
        if (cases[i].server > sink->ops->server(sink)->version)
            continue;
        want[++used] = cases[i].text;
        cols[used] = (struct col){text_of("c%zu", used), cases[i].type, false};
        values[used] = cases[i].value;
        nulls[used] = NIL;
    }
    struct mr_table *tbl = table_of("types", cols, used + 1);
    create(tbl);
    struct rows *rows = rows_of(tbl);
    cfg.bulk_rows = bulk_rows;
    add_row(rows, MR_ROW_UPSERT, values);
    add_row(rows, MR_ROW_UPSERT, nulls);
    apply(rows);
    for (size_t i = 1; i <= used; i++) {
        const char *query = text_of("SELECT c%zu::text FROM s.types WHERE id = 1", i);
        assert_string_equal(sql_value(query), want[i]);
        query = text_of("SELECT c%zu::text FROM s.types WHERE id = 2", i);
        assert_string_equal(sql_value(query), "(null)");
    }
    mr_table_unref(tbl);
}

static void test_every_type_arrives_exactly_through_copy(void **state)
{
    (void)state;
    check_types(1);
}

static void test_every_type_arrives_exactly_through_parameters(void **state)
{
    (void)state;
    check_types(1000);
}

static void test_very_long_numbers_arrive(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", t_int, true}, {"n", MR_TYPE_DECIMAL_OPEN});
    create(tbl);
    for (int bulk = 0; bulk < 2; bulk++) {
        char *digits = mr_arena_alloc(ar, 131072 + 16383 + 2);
        memset(digits, '7', 131072 + 16383 + 1);
        digits[131072] = '.';
        digits[131072 + 16383 + 1] = '\0';
        struct rows *rows = rows_of(tbl);
        cfg.bulk_rows = bulk ? 1 : 1000;
        ROW(rows, MR_ROW_UPSERT, INT(bulk), NUM(digits));
        apply(rows);
        const char *query = text_of("SELECT md5(n::text) = md5(repeat('7', 131072) || '.' || repeat('7', 16383)) "
                                                  "FROM s.t WHERE id = %d", bulk);
        assert_string_equal(sql_value(query), "t");
    }
    mr_table_unref(tbl);
}

/* What somebody has made of the columns by hand takes our values all the same, as long as the database knows an assignment. */
static void test_columns_of_other_types_take_our_values(void **state)
{
    (void)state;
    sql("CREATE DOMAIN s.amount AS numeric CHECK (VALUE > 0);"
        "CREATE TABLE s.t (id numeric PRIMARY KEY, wide bigint, n numeric, txt text, short varchar(5), padded char(4), j json, jb jsonb, "
        "dom s.amount, ts timestamptz, extra text DEFAULT 'mine')");
    struct mr_table *tbl = TABLE("t", {"id", t_int, true}, {"wide", MR_TYPE(MR_T_INT16)}, {"n", MR_TYPE(MR_T_INT32)},
                                 {"txt", MR_TYPE(MR_T_TIMESTAMPTZ)}, {"short", t_text}, {"padded", t_text},
                                 {"j", MR_TYPE(MR_T_JSON)}, {"jb", MR_TYPE(MR_T_BOOL)}, {"dom", t_int}, {"ts", MR_TYPE(MR_T_DATE)});
    for (int bulk = 0; bulk < 2; bulk++) {
        struct rows *rows = rows_of(tbl);
        cfg.bulk_rows = bulk ? 1 : 1000;
        ROW(rows, MR_ROW_UPSERT, INT(1), INT(2), INT(3), TIME(MR_V_TIMESTAMPTZ, 1500000), TEXT("abcde"), TEXT("ab"), JSON("{\"b\":1, \"a\":2}"),
            BOOL(true), INT(7), TIME(MR_V_DATE, 0));
        ROW(rows, MR_ROW_UPSERT, INT(2), INT(2), INT(3), NIL, NIL, NIL, NIL, NIL, NIL, NIL);
        apply(rows);
        apply(rows);
        assert_string_equal(rows_text("SELECT * FROM s.t ORDER BY id"),
                            "1|2|3|1970-01-01T00:00:01.500000Z|abcde|ab  |{\"b\":1, \"a\":2}|true|7|1970-01-01 00:00:00+00|mine\n"
                            "2|2|3|-|-|-|-|-|-|-|mine\n");
        rows = rows_of(tbl);
        for (int i = 1; i <= 2; i++)
            ROW(rows, MR_ROW_DELETE, INT(i), ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT);
        apply(rows);
        assert_string_equal(sql_value("SELECT count(*) FROM s.t"), "0");
    }
    mr_table_unref(tbl);
}

/* ---- Rows ---- */

static void test_absent_cells_keep_what_is_there_and_are_null_in_new_rows(void **state)
{
    (void)state;
    sql("CREATE TABLE s.t (id bigint PRIMARY KEY, a text DEFAULT 'default', b text, mine text)");
    struct mr_table *tbl = TABLE("t", {"id", t_int, true}, {"a", t_text}, {"b", t_text});
    for (int bulk = 0; bulk < 2; bulk++) {
        cfg.bulk_rows = bulk ? 1 : 1000;
        sql("TRUNCATE s.t; INSERT INTO s.t VALUES (1, 'a1', 'b1', 'm1'), (2, 'a2', 'b2', 'm2')");
        struct rows *rows = rows_of(tbl);
        ROW(rows, MR_ROW_UPSERT, INT(1), TEXT("new"), ABSENT);
        ROW(rows, MR_ROW_UPSERT, INT(2), ABSENT, NIL);
        ROW(rows, MR_ROW_UPSERT, INT(3), ABSENT, TEXT("b3"));
        ROW(rows, MR_ROW_UPSERT, INT(4), ABSENT, ABSENT);
        apply(rows);
        assert_string_equal(rows_text("SELECT * FROM s.t ORDER BY id"), "1|new|b1|m1\n2|a2|-|m2\n3|-|b3|-\n4|-|-|-\n");
    }
    mr_table_unref(tbl);
}

/* ON CONFLICT checks NOT NULL before it finds out that the row exists. */
static void test_partial_update_of_a_row_with_a_required_column(void **state)
{
    (void)state;
    sql("CREATE TABLE s.t (id bigint PRIMARY KEY, a text NOT NULL, b text)");
    struct mr_table *tbl = TABLE("t", {"id", t_int, true}, {"a", t_text}, {"b", t_text});
    for (int bulk = 0; bulk < 2; bulk++) {
        struct mr_error err = {0};
        cfg.bulk_rows = bulk ? 1 : 1000;
        sql("TRUNCATE s.t; INSERT INTO s.t VALUES (1, 'a1', 'b1'), (2, 'a2', 'b2')");
        struct rows *rows = rows_of(tbl);
        ROW(rows, MR_ROW_UPSERT, INT(1), ABSENT, TEXT("new"));
        ROW(rows, MR_ROW_UPSERT, INT(2), ABSENT, ABSENT);
        ROW(rows, MR_ROW_UPSERT, INT(3), TEXT("a3"), ABSENT);
        apply(rows);
        assert_string_equal(rows_text("SELECT * FROM s.t ORDER BY id"), "1|a1|new\n2|a2|b2\n3|a3|-\n");
        rows = rows_of(tbl);
        ROW(rows, MR_ROW_UPSERT, INT(9), ABSENT, TEXT("no a"));
        assert_int_equal(try_apply(rows, &err), MR_E_DATA);
        assert_string_equal(err.native, "23502");
        assert_string_equal(err.code, "constraint");
    }
    mr_table_unref(tbl);
}

static void add_range(struct rows *rows, int64_t id, int64_t from, int64_t end)
{
    struct mr_value *match = mr_arena_zalloc(ar, 3 * sizeof *match);
    match[1] = INT(end);
    ROW(rows, MR_ROW_DELETE_RANGE, INT(id), INT(from), ABSENT)->match = match;
}

static void test_a_range_deletes_the_rows_between(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", t_int, true}, {"pos", t_int, true}, {"v", t_text});
    create(tbl);
    sql("INSERT INTO s.t SELECT i, p, 'x' FROM generate_series(1, 2) i, generate_series(0, 4) p");
    struct rows *rows = rows_of(tbl);
    add_range(rows, 1, 1, 3);
    add_range(rows, 2, 3, INT32_MAX);
    add_range(rows, 9, 0, 9);
    apply(rows);
    assert_string_equal(rows_text("SELECT id, string_agg(pos::text, ',' ORDER BY pos) FROM s.t GROUP BY 1 ORDER BY 1"), "1|0,3,4\n2|0,1,2\n");
    mr_table_unref(tbl);
}

static void test_all_rows_of_a_part_of_the_key_are_moved(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", t_int, true}, {"pos", t_int, true}, {"v", t_text});
    create(tbl);
    sql("INSERT INTO s.t SELECT i, p, 'x' || i FROM generate_series(1, 2) i, generate_series(0, 2) p");
    struct rows *rows = rows_of(tbl);
    struct mr_value *match = mr_arena_zalloc(ar, 3 * sizeof *match);
    match[0] = INT(1);
    ROW(rows, MR_ROW_MOVE_ALL, INT(3), ABSENT, ABSENT)->match = match;
    ROW(rows, MR_ROW_UPSERT, INT(3), INT(1), TEXT("new"));
    rows->batch.ordered = true;
    apply(rows);
    assert_string_equal(rows_text("SELECT id, string_agg(pos || v, ',' ORDER BY pos) FROM s.t GROUP BY 1 ORDER BY 1"),
                        "2|0x2,1x2,2x2\n3|0x1,1new,2x1\n");
    mr_table_unref(tbl);
}

/* By bytes: 1.5 is not 1.50, and types without an equality of their own do not matter. */
static void test_rows_that_are_the_same_are_not_written_where_the_table_says_so(void **state)
{
    (void)state;
    sql("CREATE TABLE s.t (id bigint PRIMARY KEY, n numeric, v text, j json)");
    struct mr_table *tbl = TABLE("t", {"id", t_int, true}, {"n", MR_TYPE_DECIMAL_OPEN}, {"v", t_text}, {"j", MR_TYPE(MR_T_JSON)});
    tbl->skips_same = true;
    for (int bulk = 0; bulk < 2; bulk++) {
        cfg.bulk_rows = bulk ? 1 : 1000;
        sql("TRUNCATE s.t; DROP TABLE IF EXISTS s.was");
        for (int pass = 0; pass < 2; pass++) {
            if (pass == 1)
                sql("CREATE TABLE s.was AS SELECT id, ctid AS place FROM s.t");
            struct rows *rows = rows_of(tbl);
            ROW(rows, MR_ROW_UPSERT, INT(1), NUM("1.5"), TEXT("a"), JSON("[1]"));
            ROW(rows, MR_ROW_UPSERT, INT(2), NUM(pass ? "1.50" : "1.5"), NIL, NIL);
            ROW(rows, MR_ROW_UPSERT, INT(3), NIL, TEXT(pass ? "A" : "a"), NIL);
            ROW(rows, MR_ROW_UPSERT, INT(4), NUM("1"), pass ? NIL : TEXT("b"), NIL);
            ROW(rows, MR_ROW_UPSERT, INT(5), ABSENT, TEXT("b"), pass ? JSON("[1, 2]") : JSON("[1,2]"));
            apply(rows);
        }
        assert_string_equal(rows_text("SELECT id FROM s.t AS t JOIN s.was USING (id) WHERE t.ctid <> place ORDER BY 1"), "2\n3\n4\n5\n");
    }
    mr_table_unref(tbl);
}

static void test_composite_keys_are_upserted_and_deleted(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"b", t_text, true}, {"v", t_text}, {"a", MR_TYPE_DECIMAL(10, 2), true});
    create(tbl);
    for (int bulk = 0; bulk < 2; bulk++) {
        cfg.bulk_rows = bulk ? 1 : 1000;
        struct rows *rows = rows_of(tbl);
        ROW(rows, MR_ROW_UPSERT, TEXT("x"), TEXT("1"), NUM("1.00"));
        ROW(rows, MR_ROW_UPSERT, TEXT("x"), TEXT("2"), NUM("2.00"));
        ROW(rows, MR_ROW_UPSERT, TEXT("y"), TEXT("3"), NUM("1.00"));
        apply(rows);
        rows = rows_of(tbl);
        ROW(rows, MR_ROW_DELETE, TEXT("x"), ABSENT, NUM("2.00"));
        ROW(rows, MR_ROW_DELETE, TEXT("y"), ABSENT, NUM("2.00")); /* not there */
        apply(rows);
        assert_string_equal(rows_text("SELECT * FROM s.t ORDER BY 1, 3"), "x|1|1.00\ny|3|1.00\n");
        rows = rows_of(tbl);
        rows->batch.truncate_first = true;
        apply(rows);
    }
    mr_table_unref(tbl);
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

#define READ(tbl, ...) read_text(tbl, (const struct mr_value[]){__VA_ARGS__})

static struct mr_value texts(const char *a, const char *b)
{
    struct mr_value *items = mr_arena_alloc(ar, 2 * sizeof(*items));
    items[0] = TEXT(a);
    items[1] = b ? TEXT(b) : NIL;
    return mr_array_of(items, 2, MR_STR("[]"), 0, MR_OBSERVED, ar);
}

static struct mr_value array_of_one(struct mr_value v)
{
    struct mr_value *items = mr_arena_alloc(ar, sizeof(*items));
    *items = v;
    return mr_array_of(items, 1, MR_STR("[]"), 0, MR_OBSERVED, ar);
}

static void test_cells_of_a_row_are_read_and_locked(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"k", t_text, true}, {"j", MR_TYPE(MR_T_JSON)}, {"n", MR_TYPE_DECIMAL(10, 2), true}, {"v", t_text},
                                 {"a", mr_type_array_of(MR_TYPE(MR_T_TEXT))}, {"x", mr_type_array_of(MR_TYPE(MR_T_BYTES))},
                                 {"z", mr_type_array_of(MR_TYPE(MR_T_TIMESTAMPTZ))}, {"f", mr_type_array_of(MR_TYPE(MR_T_FLOAT64))});
    create(tbl);
    struct rows *rows = rows_of(tbl);
    ROW(rows, MR_ROW_UPSERT, TEXT("a\"'\\"), JSON("{\"d\": 1.10}"), NUM("1.00"), TEXT(""), texts("q\"", NULL), array_of_one(BYTES("\1\2")),
        array_of_one(TIME(MR_V_TIMESTAMPTZ, 1500)), array_of_one(FLOAT(0.1)));
    ROW(rows, MR_ROW_UPSERT, TEXT("b"), NIL, NUM("2.00"), TEXT("t"), NIL, NIL, mr_array_of(NULL, 0, MR_STR("[]"), 0, MR_OBSERVED, ar), NIL);
    apply(rows);
    OK(sink->ops->begin(sink, e));
    assert_string_equal(READ(tbl, TEXT("a\"'\\"), NIL, NUM("1.00"), NIL, NIL, NIL, NIL, NIL),
                        "{\"d\": 1.10};;[\"q\\\"\", null];[\"AQI=\"];[\"1970-01-01T00:00:00.001500Z\"];[\"0.1\"];");
    assert_string_equal(READ(tbl, TEXT("b"), NIL, NUM("2.00"), ABSENT, NIL, ABSENT, NIL, ABSENT), "NULL;NULL;[];");
    assert_string_equal(READ(tbl, TEXT("b"), NIL, NUM("1.00"), NIL, NIL, NIL, NIL, NIL), "none");
    PGresult *res = PQexec(raw, "SELECT 1 FROM s.t WHERE k = 'b' FOR UPDATE NOWAIT");
    assert_string_equal(PQresultErrorField(res, PG_DIAG_SQLSTATE), "55P03");
    PQclear(res);
    OK(sink->ops->commit(sink, e));
    mr_table_unref(tbl);
}

static void test_rows_of_key_columns_alone(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", t_int, true});
    create(tbl);
    for (int bulk = 0; bulk < 2; bulk++) {
        cfg.bulk_rows = bulk ? 1 : 1000;
        struct rows *rows = rows_of(tbl);
        ROW(rows, MR_ROW_UPSERT, INT(1));
        ROW(rows, MR_ROW_UPSERT, INT(2));
        apply(rows);
        apply(rows);
        assert_string_equal(rows_text("SELECT * FROM s.t ORDER BY 1"), "1\n2\n");
    }
    mr_table_unref(tbl);
}

static void test_rows_without_key_are_matched_null_safe_one_at_a_time(void **state)
{
    (void)state;
    sql("CREATE TABLE s.t (a bigint, b text, j jsonb, f double precision, plain json)");
    struct mr_table *tbl = TABLE("t", {"a", t_int}, {"b", t_text}, {"j", MR_TYPE(MR_T_JSON)}, {"f", MR_TYPE(MR_T_FLOAT64)},
                                 {"plain", MR_TYPE(MR_T_JSON)});
    struct rows *rows = rows_of(tbl);
    rows->batch.ordered = true;
    for (int i = 0; i < 2; i++)
        ROW(rows, MR_ROW_APPEND, INT(1), NIL, JSON("{\"x\": 1, \"y\": 2}"), FLOAT(0.1), JSON("[1,  2]"));
    ROW(rows, MR_ROW_APPEND, INT(2), TEXT("x"), NIL, FLOAT(NAN), NIL);
    struct mr_row *row = ROW(rows, MR_ROW_UPDATE_MATCH, INT(7), ABSENT, NIL, ABSENT, ABSENT);
    const struct mr_value same[] = {INT(1), NIL, JSON("{\"y\":2,\"x\":1.0}"), FLOAT(0.1), JSON("[1,2]")};
    row->match = same;
    row = ROW(rows, MR_ROW_UPDATE_MATCH, INT(8), TEXT("inserted"), ABSENT, ABSENT, ABSENT);
    const struct mr_value none[] = {INT(1), TEXT("not null"), ABSENT, ABSENT, ABSENT};
    row->match = none;
    row = ROW(rows, MR_ROW_DELETE_MATCH, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT);
    const struct mr_value gone[] = {INT(2), TEXT("x"), NIL, FLOAT(NAN), NIL};
    row->match = gone;
    row = ROW(rows, MR_ROW_DELETE_MATCH, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT);
    const struct mr_value nothing[] = {ABSENT, ABSENT, ABSENT, ABSENT, ABSENT};
    row->match = nothing; /* compares nothing: must not empty the table */
    apply(rows);
    assert_string_equal(rows_text("SELECT * FROM s.t ORDER BY a, b"),
                        "1|-|{\"x\": 1, \"y\": 2}|0.1|[1,  2]\n7|-|-|0.1|[1,  2]\n8|inserted|-|-|-\n");
    mr_table_unref(tbl);
}

static void test_appended_rows_are_copied_in_order_between_others(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"a", t_int}, {"b", t_text});
    create(tbl);
    cfg.bulk_rows = 3;
    struct rows *rows = rows_of(tbl);
    rows->batch.ordered = true;
    for (int i = 0; i < 5; i++)
        ROW(rows, MR_ROW_APPEND, INT(i), NIL);
    struct mr_value match[] = {INT(3), NIL};
    ROW(rows, MR_ROW_DELETE_MATCH, ABSENT, ABSENT)->match = match;
    ROW(rows, MR_ROW_APPEND, INT(3), TEXT("again"));
    apply(rows);
    assert_string_equal(rows_text("SELECT a, b FROM s.t ORDER BY a, b"), "0|-\n1|-\n2|-\n3|again\n4|-\n");
    mr_table_unref(tbl);
}

static void test_insert_only_reports_what_was_there(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", t_int, true}, {"a", t_text});
    create(tbl);
    sql("INSERT INTO s.t VALUES (1, 'old')");
    cfg.bulk_rows = 1;
    struct rows *rows = rows_of(tbl);
    ROW(rows, MR_ROW_INSERT_ONLY, INT(1), TEXT("new"));
    ROW(rows, MR_ROW_INSERT_ONLY, INT(2), ABSENT);
    apply(rows);
    assert_true(rows->items[0].was_there);
    assert_false(rows->items[1].was_there);
    assert_string_equal(rows_text("SELECT * FROM s.t ORDER BY 1"), "1|old\n2|-\n");
    mr_table_unref(tbl);
}

static void test_truncate_falls_back_to_delete_under_foreign_keys(void **state)
{
    (void)state;
    sql("CREATE TABLE s.t (id bigint PRIMARY KEY); CREATE TABLE s.child (t bigint REFERENCES s.t);"
        "INSERT INTO s.t VALUES (1), (2)");
    struct mr_table *tbl = TABLE("t", {"id", t_int, true});
    struct rows *rows = rows_of(tbl);
    rows->batch.truncate_first = true;
    ROW(rows, MR_ROW_UPSERT, INT(3));
    apply(rows);
    assert_string_equal(rows_text("SELECT * FROM s.t"), "3\n");
    mr_table_unref(tbl);
}

static void test_rows_that_refer_to_one_another_in_one_table(void **state)
{
    (void)state;
    sql("CREATE TABLE s.t (id bigint PRIMARY KEY, parent bigint REFERENCES s.t)");
    struct mr_table *tbl = TABLE("t", {"id", t_int, true}, {"parent", t_int});
    struct rows *rows = rows_of(tbl);
    ROW(rows, MR_ROW_UPSERT, INT(1), INT(2));
    ROW(rows, MR_ROW_UPSERT, INT(2), INT(3));
    ROW(rows, MR_ROW_UPSERT, INT(3), NIL);
    apply(rows);
    rows = rows_of(tbl);
    ROW(rows, MR_ROW_UPSERT, INT(1), NIL);
    ROW(rows, MR_ROW_DELETE, INT(3), ABSENT);
    ROW(rows, MR_ROW_DELETE, INT(2), ABSENT);
    apply(rows);
    assert_string_equal(rows_text("SELECT * FROM s.t"), "1|-\n");
    mr_table_unref(tbl);
}

static void test_new_rows_are_copied_into_the_table_and_fall_back_if_not_new(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", t_int, true}, {"a", t_text});
    create(tbl);
    cfg.bulk_rows = 2;
    for (int round = 0; round < 2; round++) {
        struct rows *rows = rows_of(tbl);
        rows->batch.all_new = true; /* not true in the second round */
        for (int i = 0; i < 10; i++)
            ROW(rows, MR_ROW_UPSERT, INT(i), round ? TEXT("second") : ABSENT);
        apply(rows);
        assert_int_equal(rows->batch.all_new, round == 0); /* told back */
        assert_string_equal(sql_value("SELECT count(*) || ' ' || coalesce(min(a), '-') FROM s.t"), round ? "10 second" : "10 -");
    }
    mr_table_unref(tbl);
}

/* A bigint 5 is a valid binary numeric with another value: what is copied straight into the target must know its types of this moment. */
static void test_a_type_changed_by_somebody_else_never_garbles_copied_rows(void **state)
{
    (void)state;
    struct mr_table *keyless = TABLE("k", {"a", t_int});
    struct mr_table *keyed = TABLE("t", {"id", t_int, true}, {"a", t_int});
    create(keyless);
    create(keyed);
    cfg.bulk_rows = 2;
    for (int round = 0; round < 2; round++) {
        struct rows *appended = rows_of(keyless), *upserted = rows_of(keyed);
        appended->batch.ordered = true;
        for (int i = 0; i < 5; i++) {
            ROW(appended, MR_ROW_APPEND, INT(i));
            ROW(upserted, MR_ROW_UPSERT, INT(i), INT(i));
        }
        apply(appended);
        apply(upserted);
        sql("ALTER TABLE s.k ALTER a TYPE numeric; ALTER TABLE s.t ALTER a TYPE numeric");
    }
    assert_string_equal(rows_text("SELECT sum(a) FROM s.k UNION ALL SELECT sum(a) FROM s.t"), "20\n10\n");
    mr_table_unref(keyless);
    mr_table_unref(keyed);
}

static void test_partitioned_tables(void **state)
{
    (void)state;
    sql("CREATE TABLE s.t (id bigint, a text, PRIMARY KEY (id)) PARTITION BY RANGE (id);"
        "CREATE TABLE s.t1 PARTITION OF s.t FOR VALUES FROM (0) TO (10); CREATE TABLE s.t2 PARTITION OF s.t FOR VALUES FROM (10) TO (99);"
        "CREATE TABLE s.k (id bigint, a text) PARTITION BY RANGE (id);"
        "CREATE TABLE s.k1 PARTITION OF s.k FOR VALUES FROM (0) TO (10); CREATE TABLE s.k2 PARTITION OF s.k FOR VALUES FROM (10) TO (99)");
    struct mr_table *tbl = TABLE("t", {"id", t_int, true}, {"a", t_text}), *keyless = TABLE("k", {"id", t_int}, {"a", t_text});
    cfg.bulk_rows = 2;
    struct rows *rows = rows_of(tbl);
    rows->batch.truncate_first = true;
    ROW(rows, MR_ROW_UPSERT, INT(1), TEXT("a"));
    ROW(rows, MR_ROW_UPSERT, INT(20), TEXT("b"));
    ROW(rows, MR_ROW_DELETE, INT(5), ABSENT);
    apply(rows);
    apply(rows);
    rows = rows_of(keyless);
    struct mr_value match[] = {INT(20), ABSENT};
    ROW(rows, MR_ROW_APPEND, INT(1), TEXT("a"));
    ROW(rows, MR_ROW_APPEND, INT(20), TEXT("b"));
    ROW(rows, MR_ROW_UPDATE_MATCH, ABSENT, TEXT("c"))->match = match;
    apply(rows);
    assert_string_equal(rows_text("SELECT * FROM s.t UNION ALL SELECT * FROM s.k ORDER BY 1, 2"), "1|a\n1|a\n20|b\n20|c\n");
    mr_table_unref(tbl);
    mr_table_unref(keyless);
}

/* ---- Other unique indexes ---- */

/* `first` is what the rows are then; NULL: they are refused, and nothing of theirs is lost. */
static void check_swap(const char *create_sql, const char *query, const char *first, bool bulk, bool row_by_row)
{
    sql("DROP TABLE IF EXISTS s.child, s.t");
    sql(create_sql);
    struct mr_table *tbl = TABLE("t", {"id", t_int, true}, {"u", t_text}, {"v", t_text});
    cfg.bulk_rows = bulk ? 1 : 1000;
    struct rows *rows = rows_of(tbl);
    rows->batch.ordered = true;
    rows->batch.row_by_row = row_by_row;
    ROW(rows, MR_ROW_UPSERT, INT(1), TEXT("b"), TEXT("v1"));
    ROW(rows, MR_ROW_UPSERT, INT(2), TEXT("a"), TEXT("v2"));
    ROW(rows, MR_ROW_UPSERT, INT(3), TEXT("c"), TEXT("v3"));
    ROW(rows, MR_ROW_DELETE, INT(4), ABSENT, ABSENT); /* holds c */
    if (first) {
        apply(rows);
        assert_string_equal(rows_text(query), first);
    } else {
        struct mr_error err = {0};
        assert_int_equal(try_apply(rows, &err), MR_E_DATA);
        assert_string_equal(err.code, "constraint");
    }
    mr_table_unref(tbl);
}

static void test_two_rows_exchange_a_unique_value(void **state)
{
    (void)state;
    static const char kept[] = "1|b|v1|m1\n2|a|v2|m2\n3|c|v3|-\n", swapped[] = "1|b|v1\n2|a|v2\n3|c|v3\n";
    static const char rows[] = "INSERT INTO s.t (id, u, v, mine) VALUES (1, 'a', 'x', 'm1'), (2, 'b', 'x', 'm2'), (4, 'c', 'x', 'm4');";
    static const char ours[] = "INSERT INTO s.t (id, u, v) VALUES (1, 'a', 'x'), (2, 'b', 'x'), (4, 'c', 'x');";
#define SWAP(definition, after, want)                                                              \
    for (int way = 0; way < 3; way++)                                                              \
    check_swap(text_of("CREATE TABLE s.t (id bigint PRIMARY KEY, u text %s, v text, mine text); %s %s", definition, rows, \
                               after), "SELECT id, u, v, mine FROM s.t ORDER BY 1", want, way == 1, way == 2)
#define SWAP_OURS(definition, after)                                                               \
    for (int way = 0; way < 3; way++)                                                              \
    check_swap(text_of("CREATE TABLE s.t (id bigint PRIMARY KEY, u text %s, v text); %s %s", definition, ours, after), \
                               "SELECT id, u, v FROM s.t ORDER BY 1", swapped, way == 1, way == 2)
    SWAP("UNIQUE", "", kept);
    SWAP("", "CREATE UNIQUE INDEX ON s.t (u, v)", kept);
    SWAP("UNIQUE", "CREATE TABLE s.child (t bigint REFERENCES s.t ON DELETE CASCADE); INSERT INTO s.child VALUES (1)", kept);
    SWAP("", "CREATE UNIQUE INDEX ON s.t (u) WHERE v <> ''", kept);
    /* No NULL to wait with: the row is deleted and comes back, where it has nothing that only the table knows. */
    SWAP_OURS("UNIQUE NOT NULL", "");
    SWAP_OURS("", "CREATE UNIQUE INDEX ON s.t (lower(u))");
    SWAP_OURS("", "ALTER TABLE s.t ADD g text GENERATED ALWAYS AS (u || '!') STORED UNIQUE");
    SWAP("UNIQUE NOT NULL", "", NULL);
    SWAP("", "CREATE UNIQUE INDEX ON s.t (lower(u))", NULL);
    /* A NULL would be passed on to those who refer to the value. */
    SWAP("UNIQUE", "CREATE TABLE s.child (u text REFERENCES s.t (u) ON UPDATE CASCADE)", NULL);
}

static void test_partial_rows_exchange_a_unique_value(void **state)
{
    (void)state;
    sql("CREATE TABLE s.t (id bigint PRIMARY KEY, u text UNIQUE, v text); INSERT INTO s.t VALUES (1, 'a', 'x'), (2, 'b', 'y')");
    struct mr_table *tbl = TABLE("t", {"id", t_int, true}, {"u", t_text}, {"v", t_text});
    for (int bulk = 0; bulk < 2; bulk++) {
        cfg.bulk_rows = bulk ? 1 : 1000;
        struct rows *rows = rows_of(tbl);
        ROW(rows, MR_ROW_UPSERT, INT(1), TEXT(bulk ? "a" : "b"), ABSENT);
        ROW(rows, MR_ROW_UPSERT, INT(2), TEXT(bulk ? "b" : "a"), ABSENT);
        ROW(rows, MR_ROW_UPSERT, INT(3), ABSENT, TEXT("z"));
        apply(rows);
        assert_string_equal(rows_text("SELECT * FROM s.t ORDER BY 1"), bulk ? "1|a|x\n2|b|y\n3|-|z\n" : "1|b|x\n2|a|y\n3|-|z\n");
    }
    mr_table_unref(tbl);
}

static void test_a_key_repeated_in_an_ordered_batch_ends_as_listed(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", t_int, true}, {"a", t_text});
    create(tbl);
    cfg.bulk_rows = 1;
    struct rows *rows = rows_of(tbl);
    rows->batch.ordered = true;
    ROW(rows, MR_ROW_UPSERT, INT(1), TEXT("first"));
    ROW(rows, MR_ROW_DELETE, INT(1), ABSENT);
    ROW(rows, MR_ROW_UPSERT, INT(1), TEXT("last"));
    ROW(rows, MR_ROW_UPSERT, INT(2), TEXT("x"));
    ROW(rows, MR_ROW_DELETE, INT(2), ABSENT);
    apply(rows);
    assert_string_equal(rows_text("SELECT * FROM s.t"), "1|last\n");
    mr_table_unref(tbl);
}

/* ---- Errors ---- */

static void test_a_refused_row_is_named(void **state)
{
    (void)state;
    sql("CREATE TABLE s.t (id bigint PRIMARY KEY, a varchar(3), n numeric(4,1) CHECK (n < 100));"
        "CREATE TABLE s.k (a varchar(3), n bigint CHECK (n < 100), u bigint UNIQUE)");
    struct mr_table *tbl = TABLE("t", {"id", t_int, true}, {"a", t_text}, {"n", MR_TYPE_DECIMAL(4, 1)});
    struct mr_table *keyless = TABLE("k", {"a", t_text}, {"n", t_int}, {"u", t_int});
    struct mr_error err = {0};
    struct rows *rows;

    for (int bulk = 0; bulk < 2; bulk++) { /* too long: seen by COPY too */
        cfg.bulk_rows = bulk ? 1 : 1000;
        rows = rows_of(tbl);
        for (int i = 0; i < 20; i++)
            ROW(rows, MR_ROW_UPSERT, INT(i), TEXT(i == 13 ? "long" : "ok"), NIL);
        assert_int_equal(try_apply(rows, &err), MR_E_DATA);
        assert_string_equal(err.code, "out_of_range");
        assert_int_equal(err.row, 13);
    }
    cfg.bulk_rows = 1000; /* a constraint: the small path knows the row, INSERT … SELECT does not */
    rows = rows_of(tbl);
    for (int i = 0; i < 300; i++)
        ROW(rows, MR_ROW_UPSERT, INT(i), NIL, NUM(i == 290 ? "100.0" : "1.0"));
    assert_int_equal(try_apply(rows, &err), MR_E_DATA);
    assert_string_equal(err.native, "23514");
    assert_int_equal(err.row, 290);
    cfg.bulk_rows = 1;
    assert_int_equal(try_apply(rows, &err), MR_E_DATA);
    assert_int_equal(err.row, -1);
    for (int what = 0; what < 3; what++) { /* COPY into the target itself */
        rows = rows_of(keyless);
        rows->batch.ordered = true;
        for (int i = 0; i < 2000; i++)
            ROW(rows, MR_ROW_APPEND, TEXT(what == 0 && i == 1999 ? "long" : "ok"), INT(what == 1 && i == 1500 ? 100 : 1),
                INT(what == 2 && i == 1700 ? 3 : i));
        assert_int_equal(try_apply(rows, &err), MR_E_DATA);
        assert_int_equal(err.row, what == 0 ? 1999 : what == 1 ? 1500 : 1700);
    }
    assert_string_equal(sql_value("SELECT (SELECT count(*) FROM s.t) + (SELECT count(*) FROM s.k)"), "0");
    mr_table_unref(tbl);
    mr_table_unref(keyless);
}

static void test_what_the_server_version_cannot_hold_is_data(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", t_int, true}, {"n", MR_TYPE_DECIMAL_OPEN});
    create(tbl);
    for (int bulk = 0; bulk < 2; bulk++) {
        struct mr_error err = {0};
        cfg.bulk_rows = bulk ? 1 : 1000;
        struct rows *rows = rows_of(tbl);
        ROW(rows, MR_ROW_UPSERT, INT(1), NUM("1"));
        ROW(rows, MR_ROW_UPSERT, INT(2), NUM("Infinity"));
        enum mr_status status = try_apply(rows, &err);
        if (sink->ops->server(sink)->version >= 140000) {
            ok(status, &err);
            continue;
        }
        assert_int_equal(status, MR_E_DATA);
        assert_string_equal(err.code, "out_of_range");
        assert_int_equal(err.row, 1);
    }
    mr_table_unref(tbl);
}

static void test_documents_and_texts_the_server_refuses_are_data(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", t_int, true}, {"a", t_text}, {"j", MR_TYPE(MR_T_JSON)});
    create(tbl);
    struct mr_value bad[] = {mr_value_bytes(MR_V_TEXT, MR_STR("a\0b")), TEXT("\xff"), TEXT("\xed\xa0\x80")};
    for (int bulk = 0; bulk < 2; bulk++) {
        struct mr_error err = {0};
        cfg.bulk_rows = bulk ? 1 : 1000;
        for (size_t i = 0; i < 3; i++) {
            struct rows *rows = rows_of(tbl);
            ROW(rows, MR_ROW_UPSERT, INT(1), bad[i], NIL);
            assert_int_equal(try_apply(rows, &err), MR_E_DATA);
            assert_string_equal(err.code, "text_invalid");
            assert_int_equal(err.row, 0);
        }
        struct rows *rows = rows_of(tbl);
        ROW(rows, MR_ROW_UPSERT, INT(1), NIL, JSON("\"\\u0000\""));
        assert_int_equal(try_apply(rows, &err), MR_E_DATA);
        assert_string_equal(err.code, "text_invalid");
        rows = rows_of(tbl);
        ROW(rows, MR_ROW_UPSERT, INT(1), NIL, JSON("{broken"));
        assert_int_equal(try_apply(rows, &err), MR_E_DATA);
    }
    mr_table_unref(tbl);
}

static void test_a_changed_catalog_is_schema_and_the_next_try_sees_it(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", t_int, true}, {"a", t_text});
    struct mr_error err = {0};
    create(tbl);
    for (int bulk = 0; bulk < 2; bulk++) {
        cfg.bulk_rows = bulk ? 1 : 1000;
        struct rows *rows = rows_of(tbl);
        ROW(rows, MR_ROW_UPSERT, INT(1), TEXT("x"));
        apply(rows);
        sql("ALTER TABLE s.t DROP COLUMN a");
        assert_int_equal(try_apply(rows, &err), MR_E_SCHEMA);
        assert_int_equal(try_apply(rows, &err), MR_E_SCHEMA);
        sql("ALTER TABLE s.t ADD COLUMN a varchar");
        apply(rows);
        sql("ALTER TABLE s.t RENAME TO elsewhere");
        assert_int_equal(try_apply(rows, &err), MR_E_SCHEMA);
        sql("ALTER TABLE s.elsewhere RENAME TO t");
        apply(rows);
        sql("ALTER TABLE s.t DROP CONSTRAINT t_pkey");
        assert_int_equal(try_apply(rows, &err), MR_E_SCHEMA);
        sql("ALTER TABLE s.t ADD PRIMARY KEY (id)");
        apply(rows);
        sql("ALTER TABLE s.t ALTER COLUMN a TYPE text");
    }
    mr_table_unref(tbl);
}

static void test_rights_and_read_only_servers_are_environment(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", t_int, true});
    struct mr_error err = {0};
    create(tbl);
    sql("DROP ROLE IF EXISTS mr_weak; CREATE ROLE mr_weak LOGIN; GRANT USAGE ON SCHEMA s TO mr_weak; GRANT SELECT ON s.t TO mr_weak;"
        "REVOKE TEMP ON DATABASE test_pg_sink FROM PUBLIC");
    sink->ops->destroy(sink);
    char url[600];
    snprintf(url, sizeof(url), "%s&user=mr_weak", server_url);
    cfg.target_url = url;
    connect_sink();
    struct rows *rows = rows_of(tbl);
    ROW(rows, MR_ROW_UPSERT, INT(1));
    assert_int_equal(try_apply(rows, &err), MR_E_ENV);
    assert_string_equal(err.native, "42501");
    assert_true(err.hint[0]);
    sql("GRANT INSERT, UPDATE, DELETE ON s.t TO mr_weak");
    cfg.bulk_rows = 1; /* no right to temporary tables: the small path does it */
    apply(rows);
    sql("ALTER TABLE s.t ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON s.t USING (true); TRUNCATE s.t");
    ((struct mr_table *)tbl)->version++;
    rows->batch.all_new = true; /* under a policy there is no COPY into the table */
    apply(rows);
    rows->batch.all_new = false;
    rows->batch.truncate_first = true; /* no right to TRUNCATE: DELETE */
    apply(rows);
    sql("ALTER ROLE mr_weak SET default_transaction_read_only TO on"); /* we say READ WRITE ourselves */
    sink->ops->destroy(sink);
    connect_sink();
    apply(rows);
    sql("GRANT TEMP ON DATABASE test_pg_sink TO PUBLIC; DROP OWNED BY mr_weak");
    cfg.target_url = server_url;
    mr_table_unref(tbl);
}

static void test_deferred_constraints_speak_when_a_row_is_isolated(void **state)
{
    (void)state;
    sql("CREATE TABLE s.parent (id bigint PRIMARY KEY);"
        "CREATE TABLE s.t (id bigint PRIMARY KEY, p bigint REFERENCES s.parent DEFERRABLE INITIALLY DEFERRED)");
    struct mr_table *tbl = TABLE("t", {"id", t_int, true}, {"p", t_int});
    struct mr_error err = {0};
    struct rows *rows = rows_of(tbl);
    ROW(rows, MR_ROW_UPSERT, INT(1), INT(1));
    OK(sink->ops->begin(sink, e));
    OK(sink->ops->apply(sink, &rows->batch, e));
    assert_int_equal(sink->ops->commit(sink, &err), MR_E_DATA);
    rows->batch.row_by_row = true;
    OK(sink->ops->begin(sink, e));
    OK(sink->ops->savepoint(sink, e));
    assert_int_equal(sink->ops->apply(sink, &rows->batch, &err), MR_E_DATA);
    OK(sink->ops->rollback_savepoint(sink, e));
    OK(sink->ops->commit(sink, e));
    mr_table_unref(tbl);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_every_type_arrives_exactly_through_copy),
        TEST(test_every_type_arrives_exactly_through_parameters),
        TEST(test_very_long_numbers_arrive),
        TEST(test_columns_of_other_types_take_our_values),
        TEST(test_absent_cells_keep_what_is_there_and_are_null_in_new_rows),
        TEST(test_partial_update_of_a_row_with_a_required_column),
        TEST(test_composite_keys_are_upserted_and_deleted),
        TEST(test_a_range_deletes_the_rows_between),
        TEST(test_all_rows_of_a_part_of_the_key_are_moved),
        TEST(test_rows_that_are_the_same_are_not_written_where_the_table_says_so),
        TEST(test_cells_of_a_row_are_read_and_locked),
        TEST(test_rows_of_key_columns_alone),
        TEST(test_rows_without_key_are_matched_null_safe_one_at_a_time),
        TEST(test_appended_rows_are_copied_in_order_between_others),
        TEST(test_insert_only_reports_what_was_there),
        TEST(test_truncate_falls_back_to_delete_under_foreign_keys),
        TEST(test_rows_that_refer_to_one_another_in_one_table),
        TEST(test_new_rows_are_copied_into_the_table_and_fall_back_if_not_new),
        TEST(test_a_type_changed_by_somebody_else_never_garbles_copied_rows),
        TEST(test_partitioned_tables),
        TEST(test_two_rows_exchange_a_unique_value),
        TEST(test_partial_rows_exchange_a_unique_value),
        TEST(test_a_key_repeated_in_an_ordered_batch_ends_as_listed),
        TEST(test_a_refused_row_is_named),
        TEST(test_what_the_server_version_cannot_hold_is_data),
        TEST(test_documents_and_texts_the_server_refuses_are_data),
        TEST(test_a_changed_catalog_is_schema_and_the_next_try_sees_it),
        TEST(test_rights_and_read_only_servers_are_environment),
        TEST(test_deferred_constraints_speak_when_a_row_is_isolated),
    };
    return cmocka_run_group_tests(tests, open_server, close_server);
}
