/* MySQL's and MariaDB's dialect: names, types, limits of values, DDL text and its cost, error numbers, control query texts, URLs. No server. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <millrace/base/time.h>
#include <millrace/base/utf8.h>
#include <millrace/schema/name.h>

#include "sink/mysql/bind.h"
#include "sink/mysql/my.h"
#include "sink/mysql/native.h"
#include "sink/mysql/query_text.h"

static const struct mr_dialect *const d = &mr_my_dialect;
static const struct mr_server mariadb = {.version = 101119, .text = "MariaDB 10.11.19-MariaDB"};
static const struct mr_server mysql = {.version = 90700, .text = "MySQL 9.7.0"};
static const struct mr_server old_mysql = {.version = 80018, .text = "MySQL 8.0.18"};
static struct mr_buf buf = {.max = 1 << 24};

static const char *text(void)
{
    return mr_buf_z(&buf);
}

/* ---- Names ---- */

static void test_identifiers_are_quoted_with_backticks_doubled(void **state)
{
    (void)state;
    mr_buf_clear(&buf);
    d->quote_table(MR_STR("a`b"), MR_STR("t; DROP"), &buf);
    assert_string_equal(text(), "`a``b`.`t; DROP`");
    mr_buf_clear(&buf);
    d->quote_table(MR_STR(""), MR_STR("t"), &buf);
    assert_string_equal(text(), "`t`");
}

static void test_literals_do_not_depend_on_backslash_escapes(void **state)
{
    (void)state;
    mr_buf_clear(&buf);
    mr_my_quote_text(MR_STR("it's"), &buf);
    assert_string_equal(text(), "'it''s'");
    mr_buf_clear(&buf);
    mr_my_quote_text(MR_STR("a\\'"), &buf);
    assert_string_equal(text(), "_utf8mb4 0x615C27");
}

static const char *name_for(const char *wanted)
{
    static char out[1024];
    struct mr_names *names = mr_names_create(d);
    bool substituted;
    struct mr_str name = mr_names_give(names, MR_STR("p"), mr_str_z(wanted), &substituted);
    snprintf(out, sizeof(out), "%.*s", MR_STR_FMT(name));
    mr_names_destroy(names);
    return out;
}

static void test_identifiers_are_counted_in_characters(void **state)
{
    (void)state;
    char umlauts[65 * 2 + 1];
    for (int i = 0; i < 65; i++)
        memcpy(umlauts + 2 * i, "ä", 2);
    umlauts[64 * 2] = '\0';
    assert_string_equal(name_for(umlauts), umlauts); /* 64 characters, 128 bytes */
    umlauts[64 * 2] = 'x';
    umlauts[64 * 2 + 1] = '\0';
    const char *cut = name_for(umlauts);
    assert_int_equal(mr_utf8_count(mr_str_z(cut)), 64);
    assert_int_equal(strlen(cut), 55 * 2 + 9);
}

static void test_names_that_the_server_refuses_are_changed(void **state)
{
    (void)state;
    assert_string_equal(name_for("smile \xf0\x9f\x98\x80!"), "smile _!"); /* beyond U+FFFF */
    assert_string_equal(name_for("blanks  "), "blanks__");
}

static void test_names_that_differ_only_in_case_are_the_same(void **state)
{
    (void)state;
    struct mr_names *names = mr_names_create(d);
    bool substituted;
    mr_names_give(names, MR_STR("a"), MR_STR("Ärger"), &substituted);
    assert_false(substituted);
    mr_names_give(names, MR_STR("b"), MR_STR("äRGER"), &substituted);
    assert_true(substituted);
    mr_names_destroy(names);
}

/* ---- Types ---- */

static const struct {
    struct mr_type type;
    bool is_key;
    const char *native;  /* what the column is made with */
    const char *catalog; /* how the catalog spells it */
    struct mr_type read; /* what the catalog's type is read as; kind NONE = the same type */
} types[] = {
    {{.kind = MR_T_BOOL}, false, "TINYINT(1)", "tinyint(1)", {0}},
    {{.kind = MR_T_INT16}, false, "SMALLINT", "smallint(6)", {0}},
    {{.kind = MR_T_INT32}, false, "INT", "int(11)", {0}},
    {{.kind = MR_T_INT32}, false, "INT", "int", {0}},
    {{.kind = MR_T_INT64}, true, "BIGINT", "bigint(20)", {0}},
    {{.kind = MR_T_DECIMAL, .precision = 18, .scale = 2}, false, "DECIMAL(18,2)", "decimal(18,2)", {0}},
    {{.kind = MR_T_DECIMAL, .precision = 65, .scale = 0}, false, "DECIMAL(65,0)", "decimal(65,0)", {0}},
    {{.kind = MR_T_DECIMAL, .precision = 5, .scale = -3}, false, "DECIMAL(8,0)", "decimal(8,0)", {.kind = MR_T_DECIMAL, .precision = 8}},
    {{.kind = MR_T_DECIMAL, .precision = 80, .scale = 20}, false, "DECIMAL(65,20)", "decimal(65,20)",
     {.kind = MR_T_DECIMAL, .precision = 65, .scale = 20}},
    {{.kind = MR_T_DECIMAL, .precision = 40, .scale = 35}, false, "DECIMAL(35,30)", "decimal(35,30)",
     {.kind = MR_T_DECIMAL, .precision = 35, .scale = 30}},
    {{.kind = MR_T_DECIMAL, .open = true, .origin = MR_TYPED}, false, "DECIMAL(65,30)", "decimal(65,30)", {0}},
    {{.kind = MR_T_DECIMAL, .open = true}, false, "DOUBLE", "double", {.kind = MR_T_FLOAT64}},
    {{.kind = MR_T_FLOAT32}, false, "DOUBLE", "double", {.kind = MR_T_FLOAT64}},
    {{.kind = MR_T_FLOAT64}, false, "DOUBLE", "double", {0}},
    {{.kind = MR_T_TEXT}, false, "LONGTEXT", "longtext", {0}},
    {{.kind = MR_T_TEXT}, true, "VARCHAR(768)", "varchar(768)", {0}},
    {{.kind = MR_T_BYTES}, false, "LONGBLOB", "longblob", {0}},
    {{.kind = MR_T_BYTES}, true, "VARBINARY(3072)", "varbinary(3072)", {0}},
    {{.kind = MR_T_DATE}, false, "DATE", "date", {0}},
    {{.kind = MR_T_TIME}, false, "TIME(6)", "time(6)", {.kind = MR_T_DURATION}},
    {{.kind = MR_T_DURATION}, false, "TIME(6)", "time(6)", {0}},
    {{.kind = MR_T_TIMESTAMP}, false, "DATETIME(6)", "datetime(6)", {0}},
    {{.kind = MR_T_TIMESTAMPTZ}, false, "DATETIME(6) COMMENT 'UTC'", "datetime(6) comment 'UTC'", {0}},
    {{.kind = MR_T_UUID}, false, "CHAR(36)", "char(36)", {.kind = MR_T_TEXT}},
    {{.kind = MR_T_BITS, .precision = 5}, false, "BIT(5)", "bit(5)", {0}},
    {{.kind = MR_T_BITS, .precision = 65}, false, "LONGTEXT", "longtext", {.kind = MR_T_TEXT}},
    {{.kind = MR_T_BITS}, true, "VARCHAR(768)", "varchar(768)", {.kind = MR_T_TEXT}},
    {{.kind = MR_T_JSON}, false, "JSON", "json", {0}},
    {{.kind = MR_T_JSON}, true, "VARCHAR(768)", "varchar(768)", {.kind = MR_T_TEXT}},
};

static void test_every_type_has_a_column_that_holds_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        struct mr_column col = {.type = types[i].type, .is_key = types[i].is_key};
        mr_buf_clear(&buf);
        d->column_type(&col, &buf);
        assert_string_equal(text(), types[i].native);
        assert_true(d->native_holds(mr_str_z(types[i].native), types[i].type));
        assert_true(d->native_holds(mr_str_z(types[i].catalog), types[i].type));
        struct mr_type want = types[i].read.kind == MR_T_NONE ? types[i].type : types[i].read;
        struct mr_type have = d->type_of_column(mr_str_z(types[i].catalog));
        if (!mr_type_eq(want, have))
            fail_msg("%s is read as kind %u", types[i].catalog, have.kind);
    }
}

static void test_columns_made_by_hand_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *native;
        struct mr_type type;
    } rows[] = {
        {"tinyint(4)", {.kind = MR_T_INT16}},
        {"tinyint(1) unsigned", {.kind = MR_T_INT16}},
        {"smallint(5) unsigned", {.kind = MR_T_INT32}},
        {"mediumint(9)", {.kind = MR_T_INT32}},
        {"int unsigned", {.kind = MR_T_INT64}},
        {"bigint(20) unsigned zerofill", {.kind = MR_T_DECIMAL, .precision = 20}},
        {"decimal(10,0)", {.kind = MR_T_DECIMAL, .precision = 10}},
        {"float", {.kind = MR_T_FLOAT32}},
        {"float(7,4)", {.kind = MR_T_FLOAT32}},
        {"enum('a','b,c','d)')", {.kind = MR_T_TEXT}},
        {"set('a','b')", {.kind = MR_T_TEXT}},
        {"binary(16)", {.kind = MR_T_BYTES}},
        {"timestamp", {.kind = MR_T_TIMESTAMPTZ}},
        {"timestamp(6)", {.kind = MR_T_TIMESTAMPTZ}},
        {"year(4)", {.kind = MR_T_INT16}},
        {"uuid", {.kind = MR_T_UUID}},
        {"point", {.kind = MR_T_NONE}},
        {"", {.kind = MR_T_NONE}},
        {"inet6", {.kind = MR_T_NONE}},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct mr_type have = d->type_of_column(mr_str_z(rows[i].native));
        if (!mr_type_eq(rows[i].type, have))
            fail_msg("%s is read as kind %u", rows[i].native, have.kind);
    }
}

static void assert_holds(const char *native, struct mr_type type, bool wanted)
{
    char name[32];
    if (d->native_holds(mr_str_z(native), type) != wanted)
        fail_msg("%s %s %s", native, wanted ? "must hold" : "must not hold", mr_type_text(type, name));
}

static void test_a_native_type_holds_what_it_does_not_change(void **state)
{
    (void)state;
    assert_holds("int(11)", MR_TYPE(MR_T_INT16), true);
    assert_holds("int(11)", MR_TYPE(MR_T_INT64), false);
    assert_holds("int(10) unsigned", MR_TYPE(MR_T_INT16), false);
    assert_holds("decimal(19,0)", MR_TYPE(MR_T_INT64), true);
    assert_holds("decimal(18,0)", MR_TYPE(MR_T_INT64), false);
    assert_holds("decimal(12,2)", MR_TYPE_DECIMAL(10, 2), true);
    assert_holds("decimal(12,2)", MR_TYPE_DECIMAL(12, 4), false);
    assert_holds("decimal(12,2)", MR_TYPE_DECIMAL_OPEN, false);
    assert_holds("decimal(65,30)", MR_TYPE_DECIMAL_OPEN, true);
    assert_holds("double", MR_TYPE_DECIMAL_OPEN, true);
    assert_holds("double", (struct mr_type){.kind = MR_T_DECIMAL, .open = true, .origin = MR_SCHEMA}, false);
    assert_holds("double", MR_TYPE(MR_T_INT64), false);
    assert_holds("float", MR_TYPE(MR_T_FLOAT32), false); /* it shows six digits */
    assert_holds("datetime", MR_TYPE(MR_T_TIMESTAMP), false);
    assert_holds("datetime(3)", MR_TYPE(MR_T_TIMESTAMP), false);
    assert_holds("timestamp(6)", MR_TYPE(MR_T_TIMESTAMP), false);
    assert_holds("char(40)", MR_TYPE(MR_T_TEXT), false);
    assert_holds("char(40)", MR_TYPE(MR_T_UUID), true);
    assert_holds("longtext", MR_TYPE(MR_T_JSON), true);
    assert_holds("json", MR_TYPE(MR_T_TEXT), false);
    assert_holds("enum('a')", MR_TYPE(MR_T_TEXT), false);
    assert_holds("binary(3)", MR_TYPE(MR_T_BYTES), false);
    assert_holds("bit(4)", MR_TYPE_BITS(5), false);
    assert_holds("point", MR_TYPE(MR_T_TEXT), false);
}

/* ---- Key columns ---- */

static struct mr_table *keyed_table(const struct mr_column *columns, size_t count)
{
    struct mr_table *tbl = mr_table_create(MR_STR("db"), MR_STR("t"));
    struct mr_column *copy = mr_arena_zalloc(tbl->ar, (count + 1) * sizeof(*copy));
    uint32_t *keys = mr_arena_zalloc(tbl->ar, (count + 1) * sizeof(*keys));
    for (size_t i = 0; i < count; i++) {
        copy[i] = columns[i];
        if (columns[i].is_key)
            keys[tbl->key_count++] = (uint32_t)i;
    }
    tbl->columns = copy;
    tbl->column_count = count;
    tbl->key_columns = keys;
    return tbl;
}
#define KEYED(...) keyed_table((const struct mr_column[]){__VA_ARGS__}, sizeof((const struct mr_column[]){__VA_ARGS__}) / sizeof(struct mr_column))
#define KEY(column_name, column_kind, ...) {.name = {column_name, 1}, .type = {.kind = column_kind}, .is_key = true, __VA_ARGS__}

static uint32_t index_bytes(const struct mr_table *tbl, const struct mr_catalog_table *now)
{
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < tbl->column_count; i++)
        bytes += mr_my_is_bounded_key(tbl->columns[i].type) ?
                     mr_my_key_length(tbl, i, now) * (tbl->columns[i].type.kind == MR_T_BYTES ? 1 : 4) : 8;
    return bytes;
}

static void test_key_columns_share_the_index(void **state)
{
    (void)state;
    struct mr_table *one = KEYED(KEY("a", MR_T_TEXT, .max_len = 3));
    assert_int_equal(mr_my_key_length(one, 0, NULL), 768);
    struct mr_table *two = KEYED(KEY("a", MR_T_TEXT, .max_len = 3), KEY("b", MR_T_TEXT, .max_len = 3), KEY("c", MR_T_INT64));
    assert_int_equal(mr_my_key_length(two, 0, NULL), 255);
    assert_int_equal(mr_my_key_length(two, 1, NULL), 255);
    struct mr_table *long_one = KEYED(KEY("a", MR_T_TEXT, .max_len = 500), KEY("b", MR_T_TEXT, .max_len = 3));
    assert_int_equal(mr_my_key_length(long_one, 0, NULL), 512);
    assert_int_equal(mr_my_key_length(long_one, 1, NULL), 255);
    /* A value that does not fit at all does not take from the others what theirs would. */
    struct mr_table *all_long = KEYED(KEY("a", MR_T_TEXT, .max_len = 300), KEY("b", MR_T_TEXT, .max_len = 300), KEY("c", MR_T_TEXT, .max_len = 300),
                                      KEY("d", MR_T_TEXT, .max_len = 130));
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(mr_my_key_length(all_long, i, NULL), 192);
    mr_table_unref(all_long);
    struct mr_table *mixed = KEYED(KEY("a", MR_T_TEXT, .max_len = 9000), KEY("b", MR_T_BYTES, .max_len = 9000), KEY("c", MR_T_JSON));
    assert_true(index_bytes(mixed, NULL) <= 3072);
    mr_table_unref(one);
    mr_table_unref(two);
    mr_table_unref(long_one);
    mr_table_unref(mixed);
}

static void test_key_columns_of_many_parts_fit_the_index(void **state)
{
    (void)state;
    struct mr_column columns[16];
    for (size_t n = 1; n <= 16; n++) {
        for (size_t i = 0; i < n; i++)
            columns[i] = (struct mr_column)KEY("a", MR_T_TEXT, .max_len = (uint32_t)(i * 97));
        struct mr_table *tbl = keyed_table(columns, n);
        assert_true(index_bytes(tbl, NULL) <= 3072);
        for (uint32_t i = 0; i < n; i++)
            assert_true(mr_my_key_length(tbl, i, NULL) >= 16);
        mr_table_unref(tbl);
    }
}

static void test_a_key_column_grows_into_what_the_index_has_left(void **state)
{
    (void)state;
    struct mr_catalog_column have[] = {{.name = MR_STR("a"), .native = MR_STR("varchar(255)")},
                                       {.name = MR_STR("b"), .native = MR_STR("varchar(255)")}};
    struct mr_catalog_table now = {.exists = true, .columns = have, .column_count = 2};
    struct mr_table *tbl = KEYED(KEY("a", MR_T_TEXT, .max_len = 300), KEY("b", MR_T_TEXT, .max_len = 10));
    assert_true(d->wants_wider(tbl, 0, &now, have[0].native));
    assert_false(d->wants_wider(tbl, 1, &now, have[1].native));
    assert_int_equal(mr_my_key_length(tbl, 0, &now), 320);
    assert_int_equal(mr_my_key_length(tbl, 1, &now), 255);
    /* Full: it stays as it is, and the row that is too long is refused. */
    have[0].native = MR_STR("varchar(513)");
    struct mr_table *full = KEYED(KEY("a", MR_T_TEXT, .max_len = 3000), KEY("b", MR_T_TEXT, .max_len = 10));
    assert_false(d->wants_wider(full, 0, &now, have[0].native));
    mr_table_unref(tbl);
    mr_table_unref(full);
}

static void test_texts_and_doubles_become_wider_for_what_was_seen(void **state)
{
    (void)state;
    struct mr_column columns[] = {{.name = MR_STR("a"), .type = MR_TYPE(MR_T_TEXT), .max_len = 300},
                                  {.name = MR_STR("b"), .type = MR_TYPE_DECIMAL_OPEN, .has_inexact = true, .int_digits = 3, .frac_digits = 20},
                                  {.name = MR_STR("c"), .type = MR_TYPE_DECIMAL_OPEN, .has_inexact = true, .int_digits = 300}};
    struct mr_table *tbl = keyed_table(columns, 3);
    assert_true(d->wants_wider(tbl, 0, NULL, MR_STR("varchar(20)")));
    assert_true(d->wants_wider(tbl, 0, NULL, MR_STR("tinytext")));
    assert_false(d->wants_wider(tbl, 0, NULL, MR_STR("text")));
    assert_true(d->wants_wider(tbl, 1, NULL, MR_STR("double")));
    assert_false(d->wants_wider(tbl, 1, NULL, MR_STR("decimal(65,30)")));
    assert_false(d->wants_wider(tbl, 2, NULL, MR_STR("double"))); /* it has held what no DECIMAL does */
    mr_table_unref(tbl);
}

/* ---- Values ---- */

static const char *code_of(struct mr_type type, bool is_key, struct mr_value v)
{
    static struct mr_error err;
    err = (struct mr_error){0};
    enum mr_status status = d->holds(type, is_key, v, &err);
    assert_true(status == MR_OK || status == MR_E_DATA);
    return status == MR_OK ? "" : err.code;
}
#define HELD(type, v) assert_string_equal(code_of(type, false, v), "")
#define REFUSED(type, v, code) assert_string_equal(code_of(type, false, v), code)

static struct mr_value number(const char *digits)
{
    return mr_value_bytes(MR_V_NUMBER, mr_str_z(digits));
}

static struct mr_value flagged(unsigned flags)
{
    struct mr_value v = mr_value_text(MR_STR("x"));
    v.flags = (uint8_t)flags;
    return v;
}

static void test_numbers_within_the_widest_decimal_are_held(void **state)
{
    (void)state;
    struct mr_type open = {.kind = MR_T_DECIMAL, .open = true, .origin = MR_TYPED};
    HELD(open, number("99999999999999999999999999999999999.999999999999999999999999999999"));
    REFUSED(open, number("100000000000000000000000000000000000"), "out_of_range");
    REFUSED(open, number("0.0000000000000000000000000000001"), "out_of_range");
    HELD(open, number("0.1000000000000000000000000000000000")); /* zeros are no digits */
    REFUSED(open, number("NaN"), "out_of_range");
    REFUSED(open, number("Infinity"), "out_of_range");
    HELD(MR_TYPE_DECIMAL(65, 0), number("99999999999999999999999999999999999999999999999999999999999999999"));
    /* JSON alone has told it: a double may hold it. */
    HELD(MR_TYPE_DECIMAL_OPEN, number("1e300"));
    HELD(MR_TYPE_DECIMAL_OPEN, number("4.9E-324"));
    REFUSED(MR_TYPE_DECIMAL_OPEN, number("1.23456789012345678901e300"), "out_of_range");
}

static void test_floats_have_no_special_values(void **state)
{
    (void)state;
    HELD(MR_TYPE(MR_T_FLOAT64), mr_value_float(-0.0));
    REFUSED(MR_TYPE(MR_T_FLOAT64), mr_value_float((double)NAN), "out_of_range");
    REFUSED(MR_TYPE(MR_T_FLOAT32), mr_value_float((double)INFINITY), "out_of_range");
}

static void test_texts_hold_nul_and_no_broken_characters(void **state)
{
    (void)state;
    HELD(MR_TYPE(MR_T_TEXT), flagged(MR_TEXT_HAS_NUL));
    REFUSED(MR_TYPE(MR_T_TEXT), flagged(MR_TEXT_HAS_SURROGATE), "text_invalid");
    REFUSED(MR_TYPE(MR_T_TEXT), flagged(MR_TEXT_ILL_FORMED), "text_invalid");
}

static void test_dates_lie_in_the_years_1_to_9999(void **state)
{
    (void)state;
    int64_t first = mr_days_from_civil(1, 1, 1), last = mr_days_from_civil(9999, 12, 31);
    HELD(MR_TYPE(MR_T_DATE), mr_value_time(MR_V_DATE, first));
    HELD(MR_TYPE(MR_T_DATE), mr_value_time(MR_V_DATE, last));
    REFUSED(MR_TYPE(MR_T_DATE), mr_value_time(MR_V_DATE, first - 1), "out_of_range");
    REFUSED(MR_TYPE(MR_T_DATE), mr_value_time(MR_V_DATE, last + 1), "out_of_range");
    REFUSED(MR_TYPE(MR_T_DATE), mr_value_time(MR_V_DATE, MR_TIME_INFINITY), "out_of_range");
    HELD(MR_TYPE(MR_T_TIMESTAMPTZ), mr_value_time(MR_V_TIMESTAMPTZ, (last + 1) * MR_US_PER_DAY - 1));
    REFUSED(MR_TYPE(MR_T_TIMESTAMP), mr_value_time(MR_V_TIMESTAMP, (last + 1) * MR_US_PER_DAY), "out_of_range");
}

static void test_durations_have_their_limit(void **state)
{
    (void)state;
    HELD(MR_TYPE(MR_T_TIME), mr_value_time(MR_V_TIME, MR_US_PER_DAY));
    REFUSED(MR_TYPE(MR_T_TIME), mr_value_time(MR_V_TIME, -1), "out_of_range");
    HELD(MR_TYPE(MR_T_DURATION), mr_value_time(MR_V_DURATION, -INT64_C(3020399999999)));
    REFUSED(MR_TYPE(MR_T_DURATION), mr_value_time(MR_V_DURATION, INT64_C(3020400000000)), "out_of_range");
}

static void test_keys_fit_an_index(void **state)
{
    (void)state;
    char ascii[800], umlauts[800 * 2];
    memset(ascii, 'x', sizeof(ascii));
    for (int i = 0; i < 800; i++)
        memcpy(umlauts + 2 * i, "ä", 2);
    assert_string_equal(code_of(MR_TYPE(MR_T_TEXT), true, mr_value_text(mr_str_of(ascii, 768))), "");
    assert_string_equal(code_of(MR_TYPE(MR_T_TEXT), true, mr_value_text(mr_str_of(ascii, 769))), "out_of_range");
    assert_string_equal(code_of(MR_TYPE(MR_T_TEXT), true, mr_value_text(mr_str_of(umlauts, 768 * 2))), "");
    assert_string_equal(code_of(MR_TYPE(MR_T_TEXT), true, mr_value_text(mr_str_of(umlauts, 769 * 2))), "out_of_range");
    assert_string_equal(code_of(MR_TYPE(MR_T_BYTES), true, mr_value_bytes(MR_V_BYTES, mr_str_of(umlauts, 1600))), "");
}

static void test_json_is_exact_while_its_numbers_are(void **state)
{
    (void)state;
    assert_true(mr_my_json_is_exact(MR_STR("{\"a\":[1,-2.5,1e3,18446744073709551615],\"b\":\"0.12345678901234567890\\\"9\"}")));
    assert_false(mr_my_json_is_exact(MR_STR("[18446744073709551616123]")));
    assert_false(mr_my_json_is_exact(MR_STR("{\"a\\\\\":0.12345678901234567890}")));
    assert_true(mr_my_json_is_exact(MR_STR("\"unfinished 1.234567890123456789012345")));
}

/* ---- DDL ---- */

static const struct mr_column orders[] = {
    {.name = {"id", 2}, .type = {.kind = MR_T_INT64}, .is_key = true},
    {.name = {"at", 2}, .type = {.kind = MR_T_TIMESTAMPTZ}},
    {.name = {"no`te", 5}, .type = {.kind = MR_T_TEXT}},
    {.name = {"doc", 3}, .type = {.kind = MR_T_JSON}},
};

static const char *rendered(enum mr_ddl_kind kind, const struct mr_table *tbl, uint32_t column, struct mr_type from,
                            const struct mr_catalog_table *now, const struct mr_server *server)
{
    struct mr_ddl_step step = {.kind = kind, .tbl = tbl, .column = column, .from = from};
    mr_buf_clear(&buf);
    d->render(&step, now, server, &buf);
    return text();
}

static void test_tables_are_made_with_a_collation_that_compares_bytes(void **state)
{
    (void)state;
    struct mr_table *tbl = keyed_table(orders, 4);
    assert_string_equal(rendered(MR_DDL_CREATE_TABLE, tbl, 0, (struct mr_type){0}, NULL, &mariadb),
                        "CREATE TABLE IF NOT EXISTS `db`.`t` (\n    `id` BIGINT NOT NULL,\n    `at` DATETIME(6) COMMENT 'UTC',\n"
                        "    `no``te` LONGTEXT,\n    `doc` JSON,\n    PRIMARY KEY (`id`)\n"
                        ") ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin");
    assert_non_null(strstr(rendered(MR_DDL_CREATE_TABLE, tbl, 0, (struct mr_type){0}, NULL, &mysql), "COLLATE utf8mb4_0900_bin"));
    assert_string_equal(rendered(MR_DDL_CREATE_SCHEMA, tbl, 0, (struct mr_type){0}, NULL, &mysql),
                        "CREATE DATABASE IF NOT EXISTS `db` CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin");
    mr_table_unref(tbl);
}

static void test_alters_name_their_algorithm(void **state)
{
    (void)state;
    struct mr_table *tbl = keyed_table(orders, 4);
    assert_string_equal(rendered(MR_DDL_ADD_COLUMN, tbl, 2, (struct mr_type){0}, NULL, &mariadb),
                        "ALTER TABLE `db`.`t` ADD COLUMN `no``te` LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, ALGORITHM=INSTANT");
    struct mr_column wide[] = {{.name = {"n", 1}, .type = {.kind = MR_T_INT64}}};
    struct mr_table *ints = keyed_table(wide, 1);
    assert_string_equal(rendered(MR_DDL_ALTER_TYPE, ints, 0, MR_TYPE(MR_T_INT32), NULL, &mysql),
                        "ALTER TABLE `db`.`t` MODIFY COLUMN `n` BIGINT, ALGORITHM=COPY");
    mr_table_unref(tbl);
    mr_table_unref(ints);
}

static void test_a_longer_key_column_costs_the_catalog_only(void **state)
{
    (void)state;
    struct mr_catalog_column have[] = {{.name = MR_STR("a"), .native = MR_STR("varchar(255)"), .type = MR_TYPE(MR_T_TEXT)},
                                       {.name = MR_STR("b"), .native = MR_STR("varchar(255)"), .type = MR_TYPE(MR_T_TEXT)}};
    struct mr_catalog_table now = {.exists = true, .columns = have, .column_count = 2};
    struct mr_table *tbl = KEYED(KEY("a", MR_T_TEXT, .max_len = 300), KEY("b", MR_T_TEXT));
    struct mr_ddl_step step = {.kind = MR_DDL_ALTER_TYPE, .tbl = tbl, .column = 0, .from = MR_TYPE(MR_T_TEXT), .wider = true};
    mr_buf_clear(&buf);
    d->render(&step, &now, &mariadb, &buf);
    assert_string_equal(text(), "ALTER TABLE `db`.`t` MODIFY COLUMN `a` VARCHAR(320) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NOT NULL, "
                                "ALGORITHM=INSTANT");
    mr_buf_clear(&buf);
    d->render(&step, &now, &mysql, &buf);
    assert_non_null(strstr(text(), "ALGORITHM=INPLACE"));
    assert_int_equal(d->cost(&step, &mysql), MR_COST_CATALOG);
    mr_table_unref(tbl);
}

/* What a DECIMAL has before the point leaves no room for what is to stand behind it. */
static void test_a_decimal_that_no_decimal_can_become_is_text(void **state)
{
    (void)state;
    struct mr_catalog_column have[] = {{.name = MR_STR("n"), .native = MR_STR("decimal(60,0)"), .type = MR_TYPE_DECIMAL(60, 0)}};
    struct mr_catalog_table now = {.exists = true, .columns = have, .column_count = 1};
    struct mr_column columns[] = {{.name = MR_STR("n"), .type = MR_TYPE_DECIMAL_OPEN}};
    struct mr_table *tbl = keyed_table(columns, 1);
    assert_non_null(strstr(rendered(MR_DDL_ALTER_TYPE, tbl, 0, MR_TYPE_DECIMAL(60, 0), &now, &mariadb), " MODIFY COLUMN `n` LONGTEXT "));
    have[0].native = MR_STR("decimal(30,20)");
    columns[0].type = MR_TYPE_DECIMAL(40, 10);
    struct mr_table *other = keyed_table(columns, 1);
    assert_non_null(strstr(rendered(MR_DDL_ALTER_TYPE, other, 0, MR_TYPE_DECIMAL(30, 20), &now, &mariadb), " MODIFY COLUMN `n` DECIMAL(50,20)"));
    mr_table_unref(tbl);
    mr_table_unref(other);
}

static void test_a_column_that_becomes_text_is_filled_before_it_takes_its_place(void **state)
{
    (void)state;
    struct mr_catalog_column have[] = {{.name = MR_STR("a"), .native = MR_STR("int(11)"), .type = MR_TYPE(MR_T_INT32)},
                                       {.name = MR_STR("at"), .native = MR_STR("datetime(6) comment 'UTC'"), .type = MR_TYPE(MR_T_TIMESTAMPTZ)}};
    struct mr_catalog_table now = {.exists = true, .columns = have, .column_count = 2};
    struct mr_column columns[] = {{.name = MR_STR("at"), .type = MR_TYPE(MR_T_TEXT)}};
    struct mr_table *tbl = keyed_table(columns, 1);
    assert_string_equal(
        rendered(MR_DDL_ALTER_TYPE, tbl, 0, MR_TYPE(MR_T_TIMESTAMPTZ), &now, &mariadb),
        "ALTER TABLE `db`.`t` ADD COLUMN `millrace_new_78d499fc` LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, ALGORITHM=INSTANT;\n"
        "UPDATE `db`.`t` SET `millrace_new_78d499fc` = CONCAT(REPLACE(TRIM(TRAILING '.000000' FROM CAST(`at` AS CHAR)), ' ', 'T'), 'Z');\n"
        "ALTER TABLE `db`.`t` DROP COLUMN `at`, CHANGE COLUMN `millrace_new_78d499fc` `at` LONGTEXT CHARACTER SET utf8mb4 COLLATE "
        "utf8mb4_nopad_bin AFTER `a`, ALGORITHM=COPY");
    mr_table_unref(tbl);
}

static void test_a_key_is_replaced_in_one_statement(void **state)
{
    (void)state;
    struct mr_catalog_column have[] = {{.name = MR_STR("a"), .native = MR_STR("bigint(20)")}, {.name = MR_STR("b"), .native = MR_STR("longtext")}};
    struct mr_str old_key[] = {MR_STR("a")};
    struct mr_catalog_table now = {.exists = true, .columns = have, .column_count = 2, .key = old_key, .key_count = 1, .key_name = MR_STR("PRIMARY")};
    struct mr_column columns[] = {{.name = MR_STR("a"), .type = MR_TYPE(MR_T_INT64)},
                                  {.name = MR_STR("b"), .type = MR_TYPE(MR_T_TEXT), .is_key = true}};
    struct mr_table *tbl = keyed_table(columns, 2);
    assert_string_equal(rendered(MR_DDL_REPLACE_KEY, tbl, 0, (struct mr_type){0}, &now, &mariadb),
                        "ALTER TABLE `db`.`t` DROP PRIMARY KEY, MODIFY COLUMN `a` BIGINT, MODIFY COLUMN `b` VARCHAR(768) CHARACTER SET utf8mb4 "
                        "COLLATE utf8mb4_nopad_bin NOT NULL, ADD PRIMARY KEY (`b`), ALGORITHM=COPY");
    mr_table_unref(tbl);
}

static void test_the_cost_of_a_step_is_known(void **state)
{
    (void)state;
    struct mr_table *tbl = keyed_table(orders, 4);
    struct mr_ddl_step step = {.kind = MR_DDL_ADD_COLUMN, .tbl = tbl, .column = 1};
    assert_int_equal(d->cost(&step, &mysql), MR_COST_CATALOG);
    step.kind = MR_DDL_ALTER_TYPE;
    assert_int_equal(d->cost(&step, &mysql), MR_COST_REWRITE);
    step.kind = MR_DDL_REPLACE_KEY;
    assert_int_equal(d->cost(&step, &mysql), MR_COST_REWRITE);
    mr_table_unref(tbl);
}

static void test_servers_are_told_apart(void **state)
{
    (void)state;
    assert_true(mr_my_is_mariadb(&mariadb));
    assert_false(mr_my_is_mariadb(&mysql));
    assert_false(mr_my_has_row_alias(&mariadb));
    assert_false(mr_my_has_row_alias(&old_mysql));
    assert_true(mr_my_has_row_alias(&mysql));
}

/* ---- Errors ---- */

static const struct {
    const char *native;
    enum mr_status status;
    const char *code;
} classes[] = {
    {"2002", MR_E_ENV, "connection"},   {"2003", MR_E_ENV, "connection"},   {"2005", MR_E_ENV, "connection"},
    {"2006", MR_E_ENV, "connection"},   {"2012", MR_E_ENV, "connection"},   {"2013", MR_E_ENV, "connection"},
    {"2000", MR_E_ENV, "connection"},   {"2001", MR_E_ENV, "connection"},   {"2004", MR_E_ENV, "connection"},
    {"2008", MR_E_ENV, "out_of_memory"}, {"2020", MR_E_DATA, "too_large"},  {"2026", MR_E_ENV, "tls"},
    {"2055", MR_E_ENV, "connection"},   {"2059", MR_E_ENV, "authentication"}, {"2061", MR_E_ENV, "authentication"},
    {"1020", MR_E_BUSY, "busy"},        {"1021", MR_E_ENV, "disk_full"},    {"1030", MR_E_ENV, "server_io"},
    {"1037", MR_E_ENV, "out_of_memory"}, {"1038", MR_E_ENV, "out_of_memory"}, {"1040", MR_E_ENV, "too_many_connections"},
    {"1041", MR_E_ENV, "out_of_memory"}, {"1044", MR_E_ENV, "no_rights"},   {"1045", MR_E_ENV, "authentication"},
    {"1053", MR_E_ENV, "shutdown"},     {"1077", MR_E_ENV, "shutdown"},     {"1079", MR_E_ENV, "shutdown"},
    {"1114", MR_E_ENV, "disk_full"},    {"1129", MR_E_ENV, "connection"},   {"1130", MR_E_ENV, "authentication"},
    {"1142", MR_E_ENV, "no_rights"},    {"1143", MR_E_ENV, "no_rights"},    {"1158", MR_E_ENV, "connection"},
    {"1159", MR_E_ENV, "connection"},   {"1160", MR_E_ENV, "connection"},   {"1161", MR_E_ENV, "connection"},
    {"1203", MR_E_ENV, "too_many_connections"}, {"1206", MR_E_ENV, "out_of_memory"}, {"1226", MR_E_ENV, "too_many_connections"},
    {"1227", MR_E_ENV, "no_rights"},    {"1290", MR_E_ENV, "read_only"},    {"1317", MR_E_ENV, "canceled"},
    {"1461", MR_E_ENV, "too_many_statements"}, {"1792", MR_E_ENV, "read_only"}, {"1836", MR_E_ENV, "read_only"}, {"1845", MR_E_ENV, "no_such_algorithm"},
    {"1846", MR_E_ENV, "no_such_algorithm"}, {"1927", MR_E_ENV, "connection"}, {"3024", MR_E_ENV, "canceled"},
    {"3100", MR_E_ENV, "refused_by_a_hook"}, {"3101", MR_E_BUSY, "busy"},   {"3169", MR_E_ENV, "canceled"},
    {"4031", MR_E_ENV, "connection"},   {"4092", MR_E_ENV, "no_such_algorithm"}, {"4157", MR_E_ENV, "no_such_algorithm"}, {"1205", MR_E_BUSY, "lock_timeout"},
    {"1213", MR_E_BUSY, "deadlock"},    {"1412", MR_E_BUSY, "busy"},        {"1614", MR_E_BUSY, "deadlock"},
    {"1615", MR_E_BUSY, "busy"},        {"1637", MR_E_BUSY, "busy"},        {"1007", MR_E_SCHEMA, "exists"},
    {"1050", MR_E_SCHEMA, "exists"},    {"1051", MR_E_SCHEMA, "no_table"},  {"1054", MR_E_SCHEMA, "no_column"},
    {"1060", MR_E_SCHEMA, "exists"},    {"1061", MR_E_SCHEMA, "exists"},    {"1091", MR_E_SCHEMA, "no_column"},
    {"1109", MR_E_SCHEMA, "no_table"},  {"1136", MR_E_SCHEMA, "no_column"}, {"1146", MR_E_SCHEMA, "no_table"},
    {"1243", MR_E_SCHEMA, "no_statement"}, {"1265", MR_E_SCHEMA, "wrong_type"}, {"1347", MR_E_SCHEMA, "wrong_object"},
    {"1366", MR_E_SCHEMA, "wrong_type"}, {"1406", MR_E_SCHEMA, "out_of_range"}, {"3105", MR_E_SCHEMA, "generated"},
    {"1906", MR_E_SCHEMA, "generated"}, {"1049", MR_E_SCHEMA, "no_database"}, {"1059", MR_E_CONFIG, "name_too_long"},
    {"1068", MR_E_CONFIG, "wrong_key"}, {"1070", MR_E_DATA, "too_large"}, {"1102", MR_E_CONFIG, "wrong_name"},
    {"1103", MR_E_CONFIG, "wrong_name"}, {"1115", MR_E_CONFIG, "no_utf8mb4"}, {"1166", MR_E_CONFIG, "wrong_name"},
    {"1251", MR_E_CONFIG, "authentication"}, {"1273", MR_E_CONFIG, "no_collation"}, {"1286", MR_E_CONFIG, "no_innodb"},
    {"1665", MR_E_CONFIG, "binlog_format"}, {"3750", MR_E_CONFIG, "key_required"},
    {"1553", MR_E_CONFIG, "has_dependents"}, {"1828", MR_E_CONFIG, "has_dependents"}, {"1829", MR_E_CONFIG, "has_dependents"},
    {"1832", MR_E_CONFIG, "has_dependents"}, {"1833", MR_E_CONFIG, "has_dependents"}, {"1834", MR_E_CONFIG, "has_dependents"},
    {"3108", MR_E_CONFIG, "has_dependents"}, {"3780", MR_E_CONFIG, "has_dependents"}, {"1048", MR_E_DATA, "constraint"},
    {"1062", MR_E_DATA, "constraint"},  {"1071", MR_E_DATA, "too_large"},   {"1074", MR_E_DATA, "too_large"},
    {"1117", MR_E_DATA, "too_large"},   {"1118", MR_E_DATA, "too_large"},   {"1138", MR_E_DATA, "constraint"},
    {"1153", MR_E_DATA, "too_large"},   {"1162", MR_E_DATA, "too_large"},   {"1169", MR_E_DATA, "constraint"},
    {"1216", MR_E_DATA, "constraint"},  {"1217", MR_E_DATA, "constraint"},  {"1264", MR_E_DATA, "out_of_range"},
    {"1292", MR_E_DATA, "out_of_range"}, {"1300", MR_E_DATA, "text_invalid"}, {"1301", MR_E_DATA, "too_large"},
    {"1364", MR_E_DATA, "constraint"},  {"1369", MR_E_DATA, "constraint"},  {"1441", MR_E_DATA, "out_of_range"},
    {"1451", MR_E_DATA, "constraint"},  {"1452", MR_E_DATA, "constraint"},  {"1526", MR_E_DATA, "constraint"},
    {"1557", MR_E_DATA, "constraint"},  {"1586", MR_E_DATA, "constraint"},  {"1644", MR_E_DATA, "refused"},
    {"1690", MR_E_DATA, "out_of_range"}, {"1709", MR_E_DATA, "too_large"},  {"1748", MR_E_DATA, "constraint"},
    {"1761", MR_E_DATA, "constraint"},  {"1762", MR_E_DATA, "constraint"},  {"1916", MR_E_DATA, "out_of_range"},
    {"3140", MR_E_DATA, "refused"},     {"3141", MR_E_DATA, "refused"},     {"3150", MR_E_DATA, "too_large"},
    {"3156", MR_E_DATA, "refused"},     {"3157", MR_E_DATA, "too_large"},   {"3158", MR_E_DATA, "too_large"},
    {"3819", MR_E_DATA, "constraint"},  {"4025", MR_E_DATA, "constraint"},  {"1064", MR_E_BUG, "bug"},
    {"1210", MR_E_BUG, "bug"},          {"2030", MR_E_BUG, "bug"},          {"2031", MR_E_BUG, "bug"},
    {"1089", MR_E_CONFIG, "has_dependents"}, {"1101", MR_E_CONFIG, "has_dependents"}, {"1170", MR_E_CONFIG, "has_dependents"},
    {"1283", MR_E_CONFIG, "has_dependents"}, {"1491", MR_E_CONFIG, "has_dependents"}, {"1503", MR_E_CONFIG, "has_dependents"},
    {"1654", MR_E_CONFIG, "has_dependents"}, {"1659", MR_E_CONFIG, "has_dependents"}, {"3106", MR_E_CONFIG, "has_dependents"},
    {"3837", MR_E_CONFIG, "has_dependents"}, {"3959", MR_E_CONFIG, "has_dependents"}, {"4108", MR_E_CONFIG, "has_dependents"},
    {"4111", MR_E_CONFIG, "has_dependents"}, {"4119", MR_E_CONFIG, "has_dependents"}, {"1267", MR_E_SCHEMA, "wrong_type"},
    {"3854", MR_E_SCHEMA, "wrong_type"}, {"3988", MR_E_SCHEMA, "wrong_type"}, {"1411", MR_E_DATA, "out_of_range"},
    {"1442", MR_E_DATA, "refused"},     {"3643", MR_E_DATA, "refused"},     {"3751", MR_E_DATA, "out_of_range"},
    {"3752", MR_E_DATA, "out_of_range"}, {"3905", MR_E_DATA, "too_large"},  {"3906", MR_E_DATA, "too_large"},
    {"3908", MR_E_DATA, "refused"},     {"4036", MR_E_DATA, "refused"},     {"4037", MR_E_DATA, "refused"},
    {"4038", MR_E_DATA, "refused"},     {"4039", MR_E_DATA, "refused"},     {"4040", MR_E_DATA, "too_large"},
    {"9999", MR_E_ENV, "unknown"},      {"", MR_E_ENV, "unknown"},          {"x", MR_E_ENV, "unknown"},
};

static void test_every_error_number_has_its_class(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
        const char *code;
        enum mr_status status = d->classify(classes[i].native, &code);
        if (status != classes[i].status || strcmp(code, classes[i].code) != 0)
            fail_msg("%s is %s, %s", classes[i].native, mr_status_name(status), code);
    }
}

static void test_an_unknown_number_is_the_rows_fault_if_its_state_says_so(void **state)
{
    (void)state;
    static const struct {
        const char *state;
        enum mr_status status;
        const char *code;
    } states[] = {{"22032", MR_E_DATA, "out_of_range"}, {"23000", MR_E_DATA, "constraint"}, {"45000", MR_E_DATA, "refused"},
                  {"HY000", MR_E_ENV, "unknown"}, {"42000", MR_E_ENV, "unknown"}, {"08S01", MR_E_ENV, "unknown"}, {"", MR_E_ENV, "unknown"}};
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        const char *code;
        assert_int_equal(mr_my_classify_state(states[i].state, &code), states[i].status);
        assert_string_equal(code, states[i].code);
    }
}

/* ---- Control queries ---- */

static void test_a_query_text_is_taken_apart(void **state)
{
    (void)state;
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_my_statement *st;
    size_t count;
    assert_int_equal(mr_my_query_split("-- it's ?1\nINSERT INTO {meta} VALUES (?2, '?1;{x}', ?1, ?2) COLLATE {collation};\n\nSELECT 1 FROM {control}.`a;`",
                                       MR_STR("`c`"), "coll", ar, &st, &count, NULL), MR_OK);
    assert_int_equal(count, 2);
    assert_string_equal(mr_arena_strndup(ar, st[0].text.ptr, st[0].text.len),
                        "INSERT INTO `c`.`millrace_meta` VALUES (?, '?1;{x}', ?, ?) COLLATE coll");
    assert_int_equal(st[0].param_count, 3);
    assert_int_equal(st[0].params[0], 1);
    assert_int_equal(st[0].params[1], 0);
    assert_int_equal(st[0].params[2], 1);
    assert_string_equal(mr_arena_strndup(ar, st[1].text.ptr, st[1].text.len), "SELECT 1 FROM `c`.`a;`");
    assert_int_equal(mr_my_query_split("SELECT 'open", MR_STR("`c`"), "coll", ar, &st, &count, NULL), MR_E_BUG);
    assert_int_equal(mr_my_query_split("SELECT ?", MR_STR("`c`"), "coll", ar, &st, &count, NULL), MR_E_BUG);
    mr_arena_destroy(ar);
}

/* ---- URLs ---- */

static enum mr_status check(const char *url, struct mr_error *err)
{
    struct mr_config cfg = {.target_url = (char *)(uintptr_t)url, .target_password_file = (char *)"", .control_schema = (char *)""};
    return mr_my_check_url(&cfg, err);
}

static void test_urls_are_read(void **state)
{
    (void)state;
    static const char *const good[] = {
        "mysql://u:p@h:3306/db", "mariadb://u@h/db", "mysql://h/db", "mysql://u:p%40%2F@h/d%20b?ssl-mode=required",
        "mysql://u:p@/db?socket=/run/mysqld/mysqld.sock", "mysql://u:p@localhost/db?socket=%2Ftmp%2Fs", "mysql://u:p@[::1]:3307/db",
        "mysql://u:a@b@h/db", "mysql://u:p@h/db?ssl-mode=VERIFY_CA&ssl-ca=/ca.pem&ssl-cert=/c.pem&ssl-key=/k.pem",
    };
    static const char *const bad[] = {
        "mysql://u:p@h:3306/", "mysql://u:p@h", "mysql://", "mysql://u:p@h:0/db", "mysql://u:p@h:x/db", "mysql://u:p@h/db?port=1",
        "mysql://u:p%4@h/db", "mysql://u:p%zz@h/db", "mysql://u:p%00@h/db", "mysql://u:p@h/db?ssl-mode=maybe", "mysql://u:p@h/db?socket",
        "mysql://u:p@h/db?ssl-mode=VERIFY_CA", "mysql://u:p@h/db?socket=/s", "mysql://u:p@[::1/db",
    };
    struct mr_error err;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        if (check(good[i], &err) != MR_OK)
            fail_msg("%s: %s", good[i], err.message);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        err = (struct mr_error){0};
        if (check(bad[i], &err) != MR_E_CONFIG)
            fail_msg("%s was taken", bad[i]);
    }
}

static void test_a_broken_url_is_not_quoted(void **state)
{
    (void)state;
    struct mr_error err = {0};
    assert_int_equal(check("mysql://u:secret%zz@h/db", &err), MR_E_CONFIG);
    assert_null(strstr(err.message, "secret"));
    assert_null(strstr(err.hint, "secret"));
}

static void test_the_urls_database_is_the_default_schema(void **state)
{
    (void)state;
    struct mr_config cfg = {.target_url = (char *)"mysql://u@h/my%20db?ssl-mode=DISABLED", .target_password_file = (char *)""};
    mr_buf_clear(&buf);
    mr_my_default_schema(&cfg, &buf);
    assert_string_equal(text(), "my db");
}

static int free_buf(void **state)
{
    (void)state;
    mr_buf_free(&buf);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_identifiers_are_quoted_with_backticks_doubled),
        cmocka_unit_test(test_literals_do_not_depend_on_backslash_escapes),
        cmocka_unit_test(test_identifiers_are_counted_in_characters),
        cmocka_unit_test(test_names_that_the_server_refuses_are_changed),
        cmocka_unit_test(test_names_that_differ_only_in_case_are_the_same),
        cmocka_unit_test(test_every_type_has_a_column_that_holds_it),
        cmocka_unit_test(test_columns_made_by_hand_are_read),
        cmocka_unit_test(test_a_native_type_holds_what_it_does_not_change),
        cmocka_unit_test(test_key_columns_share_the_index),
        cmocka_unit_test(test_key_columns_of_many_parts_fit_the_index),
        cmocka_unit_test(test_a_key_column_grows_into_what_the_index_has_left),
        cmocka_unit_test(test_texts_and_doubles_become_wider_for_what_was_seen),
        cmocka_unit_test(test_numbers_within_the_widest_decimal_are_held),
        cmocka_unit_test(test_floats_have_no_special_values),
        cmocka_unit_test(test_texts_hold_nul_and_no_broken_characters),
        cmocka_unit_test(test_dates_lie_in_the_years_1_to_9999),
        cmocka_unit_test(test_durations_have_their_limit),
        cmocka_unit_test(test_keys_fit_an_index),
        cmocka_unit_test(test_json_is_exact_while_its_numbers_are),
        cmocka_unit_test(test_tables_are_made_with_a_collation_that_compares_bytes),
        cmocka_unit_test(test_alters_name_their_algorithm),
        cmocka_unit_test(test_a_longer_key_column_costs_the_catalog_only),
        cmocka_unit_test(test_a_decimal_that_no_decimal_can_become_is_text),
        cmocka_unit_test(test_a_column_that_becomes_text_is_filled_before_it_takes_its_place),
        cmocka_unit_test(test_a_key_is_replaced_in_one_statement),
        cmocka_unit_test(test_the_cost_of_a_step_is_known),
        cmocka_unit_test(test_servers_are_told_apart),
        cmocka_unit_test(test_every_error_number_has_its_class),
        cmocka_unit_test(test_an_unknown_number_is_the_rows_fault_if_its_state_says_so),
        cmocka_unit_test(test_a_query_text_is_taken_apart),
        cmocka_unit_test(test_urls_are_read),
        cmocka_unit_test(test_a_broken_url_is_not_quoted),
        cmocka_unit_test(test_the_urls_database_is_the_default_schema),
    };
    return cmocka_run_group_tests(tests, NULL, free_buf);
}
