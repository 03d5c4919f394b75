/* PostgreSQL's dialect without a server: names, types, limits, DDL texts, error classes, binary forms, the texts of statements. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <millrace/base/time.h>
#include <millrace/base/utf8.h>

#include "sink/postgres/encode.h"
#include "sink/postgres/pg.h"
#include "sink/postgres/query_text.h"
#include "sink/postgres/statement.h"

#define D mr_pg_dialect

/* ---- Names and types ---- */

static void test_identifiers_are_always_quoted_and_quotes_doubled(void **state)
{
    (void)state;
    struct mr_buf buf = MR_BUF_INIT(1000);
    D.quote_table(MR_STR("Shop"), MR_STR("a\"b;--"), &buf);
    assert_string_equal(mr_buf_z(&buf), "\"Shop\".\"a\"\"b;--\"");
    mr_buf_free(&buf);
}

static void assert_column_type(struct mr_type type, const char *native, const char *in_catalog)
{
    struct mr_buf buf = MR_BUF_INIT(1000);
    struct mr_column col = {.name = MR_STR("c"), .type = type};
    D.column_type(&col, &buf);
    assert_string_equal(mr_buf_z(&buf), native);
    assert_true(D.native_holds(mr_buf_str(&buf), type));
    assert_true(D.native_holds(mr_str_z(in_catalog), type));
    mr_buf_free(&buf);
}

static void test_every_type_has_a_column_that_holds_it(void **state)
{
    (void)state;
    assert_column_type(MR_TYPE(MR_T_BOOL), "boolean", "boolean");
    assert_column_type(MR_TYPE(MR_T_INT16), "smallint", "bigint");
    assert_column_type(MR_TYPE(MR_T_INT32), "integer", "numeric(10,0)");
    assert_column_type(MR_TYPE(MR_T_INT64), "bigint", "numeric(19,0)");
    assert_column_type(MR_TYPE_DECIMAL(18, 2), "numeric(18,2)", "numeric(20,4)");
    assert_column_type(MR_TYPE_DECIMAL(1001, 2), "numeric", "numeric");
    assert_column_type(MR_TYPE_DECIMAL(3, -2), "numeric(5,0)", "numeric(5,0)");
    assert_column_type(MR_TYPE_DECIMAL(2, 5), "numeric(5,5)", "numeric(5,5)");
    assert_column_type(MR_TYPE_DECIMAL_OPEN, "numeric", "numeric");
    assert_column_type(MR_TYPE(MR_T_FLOAT32), "real", "double precision");
    assert_column_type(MR_TYPE(MR_T_FLOAT64), "double precision", "double precision");
    assert_column_type(MR_TYPE(MR_T_TEXT), "text", "character varying");
    assert_column_type(MR_TYPE(MR_T_BYTES), "bytea", "bytea");
    assert_column_type(MR_TYPE(MR_T_DATE), "date", "text");
    assert_column_type(MR_TYPE(MR_T_TIME), "time", "time without time zone");
    assert_column_type(MR_TYPE(MR_T_DURATION), "interval", "interval");
    assert_column_type(MR_TYPE(MR_T_TIMESTAMP), "timestamp", "timestamp(6) without time zone");
    assert_column_type(MR_TYPE(MR_T_TIMESTAMPTZ), "timestamptz", "timestamp with time zone");
    assert_column_type(MR_TYPE(MR_T_UUID), "uuid", "uuid");
    assert_column_type(MR_TYPE_BITS(5), "bit(5)", "bit varying(8)");
    assert_column_type(MR_TYPE_BITS(0), "bit varying", "bit varying");
    assert_column_type(MR_TYPE(MR_T_JSON), "jsonb", "json");
    assert_column_type(mr_type_array_of(MR_TYPE(MR_T_INT64)), "bigint[]", "bigint[]");
    assert_column_type(mr_type_array_of(MR_TYPE_DECIMAL(10, 2)), "numeric(10,2)[]", "numeric[]");
    assert_column_type(mr_type_array_of(MR_TYPE(MR_T_NONE)), "text[]", "text[]");
    assert_column_type(mr_type_array_of(MR_TYPE(MR_T_NONE)), "text[]", "bigint[]");
}

static void test_narrow_columns_do_not_hold_what_they_would_change(void **state)
{
    (void)state;
    assert_false(D.native_holds(MR_STR("character varying(20)"), MR_TYPE(MR_T_TEXT)));
    assert_false(D.native_holds(MR_STR("character(20)"), MR_TYPE(MR_T_TEXT)));
    assert_false(D.native_holds(MR_STR("integer"), MR_TYPE(MR_T_INT64)));
    assert_false(D.native_holds(MR_STR("numeric(10,1)"), MR_TYPE_DECIMAL(10, 2)));
    assert_false(D.native_holds(MR_STR("numeric(10,2)"), MR_TYPE_DECIMAL_OPEN));
    assert_false(D.native_holds(MR_STR("numeric(9,0)"), MR_TYPE(MR_T_INT32)));
    assert_false(D.native_holds(MR_STR("real"), MR_TYPE(MR_T_FLOAT64)));
    assert_false(D.native_holds(MR_STR("timestamp(3) without time zone"), MR_TYPE(MR_T_TIMESTAMP)));
    assert_false(D.native_holds(MR_STR("time(0) without time zone"), MR_TYPE(MR_T_TIME)));
    assert_false(D.native_holds(MR_STR("bit(4)"), MR_TYPE_BITS(5)));
    assert_false(D.native_holds(MR_STR("bit varying(4)"), MR_TYPE_BITS(0)));
    assert_false(D.native_holds(MR_STR("text[]"), MR_TYPE(MR_T_TEXT)));
    assert_false(D.native_holds(MR_STR("text[]"), mr_type_array_of(MR_TYPE(MR_T_INT64))));
    assert_false(D.native_holds(MR_STR("integer[]"), mr_type_array_of(MR_TYPE(MR_T_INT64))));
    assert_false(D.native_holds(MR_STR("character varying(9)[]"), mr_type_array_of(MR_TYPE(MR_T_TEXT))));
    assert_false(D.native_holds(MR_STR("integer"), mr_type_array_of(MR_TYPE(MR_T_INT32))));
    assert_false(D.native_holds(MR_STR("integer[]"), MR_TYPE(MR_T_INT32)));
    assert_false(D.native_holds(MR_STR("mood"), MR_TYPE(MR_T_TEXT)));
    assert_false(D.native_holds(MR_STR(""), MR_TYPE(MR_T_TEXT)));
    assert_false(D.native_holds(MR_STR("numeric(10,2"), MR_TYPE(MR_T_INT16)));
    assert_false(D.native_holds(MR_STR("numeric)10("), MR_TYPE(MR_T_INT16)));
}

static void assert_reads(const char *native, struct mr_type type)
{
    struct mr_type got = D.type_of_column(mr_str_z(native));
    char a[32], b[32];
    if (!mr_type_eq(got, type))
        fail_msg("%s is read as %s, not %s", native, mr_type_text(got, a), mr_type_text(type, b));
}

static void test_catalog_types_are_read_back(void **state)
{
    (void)state;
    assert_reads("character varying(20)", MR_TYPE(MR_T_TEXT));
    assert_reads("character(2)", MR_TYPE(MR_T_TEXT));
    assert_reads("numeric", MR_TYPE_DECIMAL_OPEN);
    assert_reads("numeric(18,2)", MR_TYPE_DECIMAL(18, 2));
    assert_reads("numeric(3,-2)", MR_TYPE_DECIMAL(3, -2));
    assert_reads("timestamp(3) with time zone", MR_TYPE(MR_T_TIMESTAMPTZ));
    assert_reads("bit(5)", MR_TYPE_BITS(5));
    assert_reads("bit varying(5)", MR_TYPE_BITS(0));
    assert_reads("json", MR_TYPE(MR_T_JSON));
    assert_reads("integer[]", mr_type_array_of(MR_TYPE(MR_T_INT32)));
    assert_reads("numeric(10,2)[]", mr_type_array_of(MR_TYPE_DECIMAL(10, 2)));
    assert_reads("numeric[]", mr_type_array_of(MR_TYPE_DECIMAL_OPEN));
    assert_reads("bit(5)[]", mr_type_array_of(MR_TYPE_BITS(5)));
    assert_reads("timestamp with time zone[]", mr_type_array_of(MR_TYPE(MR_T_TIMESTAMPTZ)));
    assert_reads("character varying(9)[]", mr_type_array_of(MR_TYPE(MR_T_TEXT)));
    assert_reads("jsonb[]", MR_TYPE(MR_T_NONE));
    assert_reads("mood[]", MR_TYPE(MR_T_NONE));
    assert_reads("[]", MR_TYPE(MR_T_NONE));
    assert_reads("interval year to month", MR_TYPE(MR_T_NONE));
    assert_reads("time with time zone", MR_TYPE(MR_T_NONE));
    assert_reads("money", MR_TYPE(MR_T_NONE));
    assert_reads("s.my_domain", MR_TYPE(MR_T_NONE));
}

/* ---- Values ---- */

static void assert_holds(struct mr_type type, bool is_key, struct mr_value v, const char *code)
{
    struct mr_error err = {0};
    enum mr_status status = D.holds(type, is_key, v, &err);
    if (!code)
        assert_int_equal(status, MR_OK);
    else {
        assert_int_equal(status, MR_E_DATA);
        assert_string_equal(err.code, code);
    }
}

static struct mr_value flagged(enum mr_tag tag, unsigned flags)
{
    struct mr_value v = mr_value_bytes(tag, MR_STR("x"));
    v.flags = (uint8_t)flags;
    return v;
}

static void test_texts_and_documents_that_cannot_be_stored_are_refused(void **state)
{
    (void)state;
    for (unsigned flag = 1; flag <= 4; flag *= 2) {
        assert_holds(MR_TYPE(MR_T_TEXT), false, flagged(MR_V_TEXT, flag), "text_invalid");
        assert_holds(MR_TYPE(MR_T_JSON), false, flagged(MR_V_JSON, flag), "text_invalid");
    }
    assert_holds(MR_TYPE(MR_T_TEXT), false, flagged(MR_V_TEXT, 0), NULL);
    assert_holds(MR_TYPE(MR_T_BYTES), false, mr_value_bytes(MR_V_BYTES, MR_STR("\0")), NULL);
}

static void test_times_beyond_the_calendar_of_the_server_are_refused(void **state)
{
    (void)state;
    int64_t first_day = mr_days_from_civil(-4713, 11, 24), last_day = mr_days_from_civil(5874897, 12, 31);
    assert_holds(MR_TYPE(MR_T_DATE), false, mr_value_time(MR_V_DATE, first_day), NULL);
    assert_holds(MR_TYPE(MR_T_DATE), false, mr_value_time(MR_V_DATE, first_day - 1), "out_of_range");
    assert_holds(MR_TYPE(MR_T_DATE), false, mr_value_time(MR_V_DATE, last_day), NULL);
    assert_holds(MR_TYPE(MR_T_DATE), false, mr_value_time(MR_V_DATE, last_day + 1), "out_of_range");
    assert_holds(MR_TYPE(MR_T_DATE), false, mr_value_time(MR_V_DATE, MR_TIME_INFINITY), NULL);
    int64_t first_us = first_day * MR_US_PER_DAY;
    assert_holds(MR_TYPE(MR_T_TIMESTAMP), false, mr_value_time(MR_V_TIMESTAMP, first_us), NULL);
    assert_holds(MR_TYPE(MR_T_TIMESTAMP), false, mr_value_time(MR_V_TIMESTAMP, first_us - 1), "out_of_range");
    assert_holds(MR_TYPE(MR_T_TIMESTAMPTZ), false, mr_value_time(MR_V_TIMESTAMPTZ, MR_TIME_NEG_INFINITY), NULL);
    assert_holds(MR_TYPE(MR_T_TIMESTAMPTZ), false, mr_value_time(MR_V_TIMESTAMPTZ, INT64_MAX - 1), NULL);
    assert_holds(MR_TYPE(MR_T_TIME), false, mr_value_time(MR_V_TIME, MR_US_PER_DAY), NULL);
    assert_holds(MR_TYPE(MR_T_TIME), false, mr_value_time(MR_V_TIME, MR_US_PER_DAY + 1), "out_of_range");
    assert_holds(MR_TYPE(MR_T_TIME), false, mr_value_time(MR_V_TIME, -1), "out_of_range");
    assert_holds(MR_TYPE(MR_T_DURATION), false, mr_value_time(MR_V_DURATION, -1), NULL);
    assert_holds(MR_TYPE(MR_T_DURATION), false, mr_value_time(MR_V_DURATION, MR_TIME_INFINITY), "out_of_range");
}

static void test_numbers_and_keys_have_limits(void **state)
{
    (void)state;
    static char long_text[3000];
    memset(long_text, '7', sizeof(long_text));
    struct mr_value number = mr_value_bytes(MR_V_NUMBER, MR_STR("1e16384"));
    assert_holds(MR_TYPE_DECIMAL_OPEN, false, mr_value_bytes(MR_V_NUMBER, MR_STR("NaN")), NULL);
    assert_holds(MR_TYPE_DECIMAL_OPEN, false, mr_value_bytes(MR_V_NUMBER, MR_STR("-Infinity")), NULL);
    assert_holds(MR_TYPE_DECIMAL(10, 2), false, mr_value_bytes(MR_V_NUMBER, MR_STR("Infinity")), "out_of_range");
    assert_holds(MR_TYPE_DECIMAL_OPEN, false, number, NULL);
    assert_holds(MR_TYPE_DECIMAL_OPEN, false, mr_value_bytes(MR_V_NUMBER, MR_STR("1e-16384")), "out_of_range");
    assert_holds(MR_TYPE(MR_T_TEXT), true, mr_value_text(mr_str_of(long_text, 2692)), NULL);
    assert_holds(MR_TYPE(MR_T_TEXT), true, mr_value_text(mr_str_of(long_text, 2693)), "out_of_range");
    assert_holds(MR_TYPE(MR_T_TEXT), false, mr_value_text(mr_str_of(long_text, 3000)), NULL);
    assert_holds(MR_TYPE_BITS(5), false, mr_value_bytes(MR_V_BITS, MR_STR("0101")), "out_of_range");
}

/* ---- Binary forms ---- */

static void assert_encodes(enum mr_pg_wire wire, struct mr_value v, const char *bytes, size_t len)
{
    struct mr_buf buf = MR_BUF_INIT(1000);
    struct mr_error err = {0};
    assert_int_equal(mr_pg_encode(wire, 150000, v, &buf, &err), MR_OK);
    assert_int_equal(buf.len, len);
    assert_memory_equal(buf.data, bytes, len);
    mr_buf_free(&buf);
}
#define ENCODES(wire, v, literal) assert_encodes(wire, v, literal, sizeof(literal) - 1)

static struct mr_value number(const char *text)
{
    return mr_value_bytes(MR_V_NUMBER, mr_str_z(text));
}

static void test_numeric_is_in_groups_of_four_digits(void **state)
{
    (void)state;
    ENCODES(MR_PG_NUMERIC, number("0"), "\0\0\0\0\0\0\0\0");
    ENCODES(MR_PG_NUMERIC, number("0.000"), "\0\0\0\0\0\0\0\3");
    ENCODES(MR_PG_NUMERIC, number("-12345.678"), "\0\3\0\1\x40\0\0\3\0\1\x09\x29\x1a\x7c");
    ENCODES(MR_PG_NUMERIC, number("10000"), "\0\1\0\1\0\0\0\0\0\1");
    ENCODES(MR_PG_NUMERIC, number("0.00001"), "\0\1\xff\xfe\0\0\0\5\x03\xe8");
    ENCODES(MR_PG_NUMERIC, number("1.0"), "\0\1\0\0\0\0\0\1\0\1");
    ENCODES(MR_PG_NUMERIC, number("NaN"), "\0\0\0\0\xc0\0\0\0");
    ENCODES(MR_PG_NUMERIC, number("-Infinity"), "\0\0\0\0\xf0\0\0\0");
}

static void test_other_types_have_their_binary_forms(void **state)
{
    (void)state;
    ENCODES(MR_PG_BOOL, mr_value_bool(true), "\1");
    ENCODES(MR_PG_INT2, mr_value_int(-2), "\xff\xfe");
    ENCODES(MR_PG_INT4, mr_value_int(258), "\0\0\1\2");
    ENCODES(MR_PG_FLOAT4, mr_value_float(1.5), "\x3f\xc0\0\0");
    ENCODES(MR_PG_FLOAT8, mr_value_float(-0.0), "\x80\0\0\0\0\0\0\0");
    ENCODES(MR_PG_TEXT, mr_value_int(-5), "-5");
    ENCODES(MR_PG_DATE, mr_value_time(MR_V_DATE, 10958), "\0\0\0\1");
    ENCODES(MR_PG_DATE, mr_value_time(MR_V_DATE, MR_TIME_NEG_INFINITY), "\x80\0\0\0");
    ENCODES(MR_PG_TIMESTAMP, mr_value_time(MR_V_TIMESTAMP, 946684800000001), "\0\0\0\0\0\0\0\1");
    ENCODES(MR_PG_TIMESTAMPTZ, mr_value_time(MR_V_TIMESTAMPTZ, MR_TIME_INFINITY), "\x7f\xff\xff\xff\xff\xff\xff\xff");
    ENCODES(MR_PG_INTERVAL, mr_value_time(MR_V_DURATION, -1), "\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\0\0\0\0");
    ENCODES(MR_PG_VARBIT, mr_value_bytes(MR_V_BITS, MR_STR("1010000011")), "\0\0\0\x0a\xa0\xc0");
    ENCODES(MR_PG_JSONB, mr_value_bytes(MR_V_JSON, MR_STR("{}")), "\1{}");
    ENCODES(MR_PG_JSON, mr_value_text(MR_STR("a\"b")), "\"a\\\"b\"");
}

static void assert_refuses(enum mr_pg_wire wire, int server, struct mr_value v, enum mr_status want)
{
    struct mr_buf buf = MR_BUF_INIT(100000);
    struct mr_error err = {0};
    assert_int_equal(mr_pg_encode(wire, server, v, &buf, &err), want);
    mr_buf_free(&buf);
}

static void test_what_does_not_fit_is_data_and_what_cannot_be_is_a_bug(void **state)
{
    (void)state;
    assert_refuses(MR_PG_INT2, 150000, mr_value_int(32768), MR_E_DATA);
    assert_refuses(MR_PG_INT4, 150000, mr_value_int(INT64_MIN), MR_E_DATA);
    assert_refuses(MR_PG_FLOAT4, 150000, mr_value_float(1e39), MR_E_DATA);
    assert_refuses(MR_PG_NUMERIC, 130018, number("Infinity"), MR_E_DATA);
    assert_refuses(MR_PG_NUMERIC, 140000, number("Infinity"), MR_OK);
    assert_refuses(MR_PG_NUMERIC, 150000, number("1e5"), MR_E_BUG);
    assert_refuses(MR_PG_NUMERIC, 150000, number(""), MR_E_BUG);
    assert_refuses(MR_PG_NUMERIC, 150000, number("-"), MR_E_BUG);
    assert_refuses(MR_PG_INT8, 150000, mr_value_text(MR_STR("1")), MR_E_BUG);
    assert_refuses(MR_PG_UUID, 150000, mr_value_bytes(MR_V_UUID, MR_STR("short")), MR_E_BUG);
    assert_refuses(MR_PG_TIME, 150000, mr_value_time(MR_V_TIME, -1), MR_E_DATA);
}

/* ---- DDL ---- */

struct fixture {
    struct mr_table *tbl;
    struct mr_column *columns;
    struct mr_buf buf;
};

static struct fixture fixture_of(size_t count)
{
    struct fixture fx = {.tbl = mr_table_create(MR_STR("s"), MR_STR("t")), .buf = MR_BUF_INIT(100000)};
    fx.columns = mr_arena_zalloc(fx.tbl->ar, count * sizeof(*fx.columns));
    for (size_t i = 0; i < count; i++)
        fx.columns[i].name = mr_arena_printf(fx.tbl->ar, "c%zu", i);
    fx.tbl->columns = fx.columns;
    fx.tbl->column_count = count;
    return fx;
}

static void fixture_free(struct fixture *fx)
{
    mr_table_unref(fx->tbl);
    mr_buf_free(&fx->buf);
}

static void test_create_table_has_keys_not_null_and_no_defaults(void **state)
{
    (void)state;
    struct fixture fx = fixture_of(3);
    static const uint32_t key[] = {1, 0};
    struct mr_ddl_step step = {.kind = MR_DDL_CREATE_TABLE, .tbl = fx.tbl};
    fx.columns[0] = (struct mr_column){.name = MR_STR("id"), .type = MR_TYPE(MR_T_INT64), .is_key = true};
    fx.columns[1] = (struct mr_column){.name = MR_STR("tenant"), .type = MR_TYPE(MR_T_TEXT), .is_key = true};
    fx.columns[2] = (struct mr_column){.name = MR_STR("Name"), .type = MR_TYPE(MR_T_TEXT)};
    fx.columns[2].type.not_null = true; /* information only */
    fx.tbl->key_columns = key;
    fx.tbl->key_count = 2;
    D.render(&step, NULL, NULL, &fx.buf);
    assert_string_equal(mr_buf_z(&fx.buf), "CREATE TABLE IF NOT EXISTS \"s\".\"t\" (\n    \"id\" bigint NOT NULL,\n"
                                           "    \"tenant\" text NOT NULL,\n    \"Name\" text,\n"
                                           "    PRIMARY KEY (\"tenant\", \"id\")\n)");
    assert_int_equal(D.cost(&step, NULL), MR_COST_CATALOG);
    fixture_free(&fx);
}

static void assert_alter(struct mr_type from, struct mr_type to, const char *text, enum mr_ddl_cost cost)
{
    struct fixture fx = fixture_of(1);
    struct mr_ddl_step step = {.kind = MR_DDL_ALTER_TYPE, .tbl = fx.tbl, .from = from};
    fx.columns[0].type = to;
    D.render(&step, NULL, NULL, &fx.buf);
    assert_string_equal(mr_buf_z(&fx.buf), text);
    assert_int_equal(D.cost(&step, NULL), cost);
    fixture_free(&fx);
}

static void test_alter_type_is_lossless_and_knows_its_cost(void **state)
{
    (void)state;
    assert_alter(MR_TYPE(MR_T_INT32), MR_TYPE(MR_T_INT64), "ALTER TABLE \"s\".\"t\" ALTER COLUMN \"c0\" TYPE bigint",
                 MR_COST_REWRITE);
    assert_alter(MR_TYPE_DECIMAL(10, 2), MR_TYPE_DECIMAL(18, 2),
                 "ALTER TABLE \"s\".\"t\" ALTER COLUMN \"c0\" TYPE numeric(18,2)", MR_COST_CATALOG);
    assert_alter(MR_TYPE_DECIMAL(10, 2), MR_TYPE_DECIMAL(18, 4),
                 "ALTER TABLE \"s\".\"t\" ALTER COLUMN \"c0\" TYPE numeric(18,4)", MR_COST_REWRITE);
    assert_alter(MR_TYPE_DECIMAL(10, 2), MR_TYPE_DECIMAL_OPEN, "ALTER TABLE \"s\".\"t\" ALTER COLUMN \"c0\" TYPE numeric",
                 MR_COST_CATALOG);
    assert_alter(MR_TYPE(MR_T_FLOAT64), MR_TYPE_DECIMAL_OPEN,
                 "ALTER TABLE \"s\".\"t\" ALTER COLUMN \"c0\" TYPE numeric USING \"c0\"::text::numeric", MR_COST_REWRITE);
    assert_alter(MR_TYPE(MR_T_TEXT), MR_TYPE(MR_T_TEXT), "ALTER TABLE \"s\".\"t\" ALTER COLUMN \"c0\" TYPE text",
                 MR_COST_CATALOG);
    assert_alter(MR_TYPE_BITS(4), MR_TYPE_BITS(0), "ALTER TABLE \"s\".\"t\" ALTER COLUMN \"c0\" TYPE bit varying",
                 MR_COST_CATALOG);
    assert_alter(MR_TYPE(MR_T_BYTES), MR_TYPE(MR_T_TEXT),
                 "ALTER TABLE \"s\".\"t\" ALTER COLUMN \"c0\" TYPE text USING replace(encode(\"c0\", 'base64'), chr(10), '')",
                 MR_COST_REWRITE);
    assert_alter(MR_TYPE(MR_T_INT64), MR_TYPE(MR_T_JSON),
                 "ALTER TABLE \"s\".\"t\" ALTER COLUMN \"c0\" TYPE jsonb USING to_jsonb(\"c0\")", MR_COST_REWRITE);
    assert_alter(MR_TYPE(MR_T_TIME), MR_TYPE(MR_T_DURATION),
                 "ALTER TABLE \"s\".\"t\" ALTER COLUMN \"c0\" TYPE interval USING \"c0\"::interval", MR_COST_REWRITE);
}

static void test_replacing_the_key_frees_the_old_columns(void **state)
{
    (void)state;
    struct fixture fx = fixture_of(2);
    static const uint32_t key[] = {1};
    struct mr_str old[] = {MR_STR("c0"), MR_STR("c1")};
    struct mr_catalog_table now = {.exists = true, .key = old, .key_count = 2, .key_name = MR_STR("t_pkey")};
    struct mr_ddl_step step = {.kind = MR_DDL_REPLACE_KEY, .tbl = fx.tbl};
    fx.tbl->key_columns = key;
    fx.tbl->key_count = 1;
    D.render(&step, &now, NULL, &fx.buf);
    assert_string_equal(mr_buf_z(&fx.buf), "ALTER TABLE \"s\".\"t\" DROP CONSTRAINT \"t_pkey\";\n"
                                           "ALTER TABLE \"s\".\"t\" ALTER COLUMN \"c0\" DROP NOT NULL;\n"
                                           "ALTER TABLE \"s\".\"t\" ADD PRIMARY KEY (\"c1\")");
    assert_int_equal(D.cost(&step, NULL), MR_COST_REWRITE);
    fixture_free(&fx);
}

/* ---- Errors ---- */

static void assert_class(const char *state, enum mr_status status, const char *code)
{
    const char *got;
    if (D.classify(state, &got) != status || strcmp(got, code) != 0)
        fail_msg("%s is %s %s", state, mr_status_name(D.classify(state, &got)), got);
}

static void test_only_what_is_surely_data_is_data(void **state)
{
    (void)state;
    assert_class("08006", MR_E_ENV, "connection");
    assert_class("57P01", MR_E_ENV, "shutdown");
    assert_class("53100", MR_E_ENV, "disk_full");
    assert_class("55P03", MR_E_ENV, "lock_timeout");
    assert_class("42501", MR_E_ENV, "no_rights");
    assert_class("25006", MR_E_ENV, "read_only");
    assert_class("0A000", MR_E_ENV, "not_supported");
    assert_class("P0004", MR_E_DATA, "refused");
    assert_class("38001", MR_E_DATA, "refused");
    assert_class("XX000", MR_E_ENV, "unknown");
    assert_class("40P01", MR_E_BUSY, "busy");
    assert_class("40001", MR_E_BUSY, "busy");
    assert_class("42703", MR_E_SCHEMA, "no_column");
    assert_class("42P01", MR_E_SCHEMA, "no_table");
    assert_class("42804", MR_E_SCHEMA, "wrong_type");
    assert_class("22P03", MR_E_SCHEMA, "wrong_type");
    assert_class("26000", MR_E_SCHEMA, "no_statement");
    assert_class("22003", MR_E_DATA, "out_of_range");
    assert_class("22P02", MR_E_DATA, "bad_value");
    assert_class("22021", MR_E_DATA, "text_invalid");
    assert_class("23505", MR_E_DATA, "constraint");
    assert_class("23502", MR_E_DATA, "constraint");
    assert_class("54000", MR_E_DATA, "too_large");
    assert_class("XX000", MR_E_ENV, "unknown");
    assert_class("99999", MR_E_ENV, "unknown");
    assert_class("", MR_E_ENV, "unknown");
    assert_class("2", MR_E_ENV, "unknown");
}

/* ---- Named queries ---- */

static void assert_split(const char *text, size_t count, const char *const *statements, const uint16_t *first_params)
{
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_pg_statement *got;
    struct mr_error err = {0};
    size_t n;
    assert_int_equal(mr_pg_query_split(text, MR_STR("\"it's\""), ar, &got, &n, &err), MR_OK);
    assert_int_equal(n, count);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(got[i].text_z, statements[i]);
        if (first_params && first_params[i] != UINT16_MAX)
            assert_int_equal(got[i].params[0], first_params[i]);
    }
    mr_arena_destroy(ar);
}

static void test_query_texts_are_split_named_and_numbered(void **state)
{
    (void)state;
    static const char *const want[] = {"SELECT $1, $2 FROM \"it's\".\"position\"", "UPDATE x SET a = $1, b = $1, c = $2"};
    static const uint16_t params[] = {1, 2};
    assert_split("-- {a}; comment\nSELECT $2, $1 FROM {position};\n/* $9; */ UPDATE x SET a = $3, b = $3, c = $1 ;\n;", 2, want,
                 params);
}

static void test_quoted_parts_of_query_texts_are_left_alone(void **state)
{
    (void)state;
    static const char *const want[] = {"SELECT ';$1''--', \"a;$1\", $x$;$1$x$, '{}', '{\"a\":1}', a || '\"it''s\".\"meta\"', $1"};
    assert_split("SELECT ';$1''--', \"a;$1\", $x$;$1$x$, '{}', '{\"a\":1}', a || '{meta}', $7", 1, want, NULL);
}

static void test_a_query_text_that_does_not_end_is_a_bug(void **state)
{
    (void)state;
    static const char *const texts[] = {"SELECT 'a", "SELECT \"a", "SELECT $x$ a", "SELECT /* a", "SELECT $0"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct mr_arena *ar = mr_arena_create(0);
        struct mr_pg_statement *got;
        struct mr_error err = {0};
        size_t n;
        assert_int_equal(mr_pg_query_split(texts[i], MR_STR("c"), ar, &got, &n, &err), MR_E_BUG);
        mr_arena_destroy(ar);
    }
}

static void test_urls_are_checked_without_repeating_them(void **state)
{
    (void)state;
    struct mr_config cfg = {.target_password_file = (char *)"", .control_schema = (char *)""};
    struct mr_error err = {0};
    cfg.target_url = (char *)"postgresql://me:secret@host/db?sslmode=require";
    assert_int_equal(mr_sink_postgres.check_url(&cfg, &err), MR_OK);
    static const char *const bad[] = {"postgresql://me:sec%zzret@host/db", "postgresql://me:secret@[::1/db",
                                      "postgresql://me:secret@host/db?no_such_option=1"};
    for (size_t i = 0; i < 3; i++) {
        cfg.target_url = (char *)bad[i];
        assert_int_equal(mr_sink_postgres.check_url(&cfg, &err), MR_E_CONFIG);
        assert_null(strstr(err.message, "sec"));
        assert_null(strstr(err.hint, "secret"));
    }
    cfg.target_url = (char *)"postgresql://me:secret@host/db";
    cfg.target_password_file = (char *)"/nonexistent";
    assert_int_equal(mr_sink_postgres.check_url(&cfg, &err), MR_E_CONFIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_identifiers_are_always_quoted_and_quotes_doubled),
        cmocka_unit_test(test_every_type_has_a_column_that_holds_it),
        cmocka_unit_test(test_narrow_columns_do_not_hold_what_they_would_change),
        cmocka_unit_test(test_catalog_types_are_read_back),
        cmocka_unit_test(test_texts_and_documents_that_cannot_be_stored_are_refused),
        cmocka_unit_test(test_times_beyond_the_calendar_of_the_server_are_refused),
        cmocka_unit_test(test_numbers_and_keys_have_limits),
        cmocka_unit_test(test_numeric_is_in_groups_of_four_digits),
        cmocka_unit_test(test_other_types_have_their_binary_forms),
        cmocka_unit_test(test_what_does_not_fit_is_data_and_what_cannot_be_is_a_bug),
        cmocka_unit_test(test_create_table_has_keys_not_null_and_no_defaults),
        cmocka_unit_test(test_alter_type_is_lossless_and_knows_its_cost),
        cmocka_unit_test(test_replacing_the_key_frees_the_old_columns),
        cmocka_unit_test(test_only_what_is_surely_data_is_data),
        cmocka_unit_test(test_query_texts_are_split_named_and_numbered),
        cmocka_unit_test(test_quoted_parts_of_query_texts_are_left_alone),
        cmocka_unit_test(test_a_query_text_that_does_not_end_is_a_bug),
        cmocka_unit_test(test_urls_are_checked_without_repeating_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
