/* Model: types as texts, records, tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <millrace/model/record.h>
#include <millrace/model/table.h>
#include <millrace/model/type.h>

static void test_types_are_written_and_read_back(void **state)
{
    (void)state;
    const struct {
        struct mr_type type;
        const char *text;
    } cases[] = {
        {MR_TYPE(MR_T_NONE), "none"},
        {MR_TYPE(MR_T_BOOL), "boolean"},
        {MR_TYPE(MR_T_INT16), "int16"},
        {MR_TYPE(MR_T_INT32), "int32"},
        {MR_TYPE(MR_T_INT64), "int64"},
        {MR_TYPE_DECIMAL(18, 2), "decimal(18,2)"},
        {MR_TYPE_DECIMAL(5, -2), "decimal(5,-2)"},
        {MR_TYPE_DECIMAL(UINT16_MAX, INT16_MIN), "decimal(65535,-32768)"},
        {MR_TYPE_DECIMAL_OPEN, "decimal"},
        {MR_TYPE(MR_T_FLOAT32), "float32"},
        {MR_TYPE(MR_T_FLOAT64), "float64"},
        {MR_TYPE(MR_T_TEXT), "text"},
        {MR_TYPE(MR_T_BYTES), "bytes"},
        {MR_TYPE(MR_T_DATE), "date"},
        {MR_TYPE(MR_T_TIME), "time"},
        {MR_TYPE(MR_T_DURATION), "duration"},
        {MR_TYPE(MR_T_TIMESTAMP), "timestamp"},
        {MR_TYPE(MR_T_TIMESTAMPTZ), "timestamptz"},
        {MR_TYPE(MR_T_UUID), "uuid"},
        {MR_TYPE_BITS(5), "bits(5)"},
        {MR_TYPE_BITS(0), "bits"},
        {MR_TYPE(MR_T_JSON), "json"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[32];
        struct mr_type back;
        assert_string_equal(mr_type_text(cases[i].type, text), cases[i].text);
        if (!mr_type_parse(mr_str_z(text), &back) || !mr_type_eq(back, cases[i].type))
            fail_msg("%s did not come back", text);
        struct mr_buf buf = MR_BUF_INIT(100);
        mr_type_format(cases[i].type, &buf);
        assert_string_equal(mr_buf_z(&buf), cases[i].text);
        mr_buf_free(&buf);
    }
}

static void test_usual_names_of_types_are_understood(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"int", "int32"},
        {"INTEGER", "int32"},
        {"bigint", "int64"},
        {"smallint", "int16"},
        {" Numeric ( 10 , 4 ) ", "decimal(10,4)"},
        {"numeric", "decimal"},
        {"decimal(7)", "decimal(7,0)"},
        {"double", "float64"},
        {"double precision", "float64"},
        {"real", "float32"},
        {"float", "float64"},
        {"varchar", "text"},
        {"varchar(255)", "text"},
        {"char(3)", "text"},
        {"string", "text"},
        {"bytea", "bytes"},
        {"bool", "boolean"},
        {"jsonb", "json"},
        {"datetime", "timestamp"},
        {"datetime(6)", "timestamp"},
        {"timestamp with time zone", "timestamptz"},
        {"interval", "duration"},
        {"bit(8)", "bits(8)"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[32];
        struct mr_type type;
        assert_true(mr_type_parse(mr_str_z(cases[i][0]), &type));
        assert_string_equal(mr_type_text(type, text), cases[i][1]);
    }
    static const char *const bad[] = {"",           "   ",          "foo",           "int(",          "int)",
                                      "int()",      "decimal()",    "decimal(,)",    "decimal(0,0)",  "decimal(5,)",
                                      "decimal(x)", "decimal(65536)", "decimal(5,40000)", "decimal(1,2,3)", "bits(0)",
                                      "bits(-1)",   "int(4)",       "decimal(5,2) x", "(5)",          "decimal((5))",
                                      "uuid(16)",   "varchar(x)"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct mr_type type;
        if (mr_type_parse(mr_str_z(bad[i]), &type))
            fail_msg("\"%s\" is a type", bad[i]);
    }
}

static void test_type_equality_looks_at_kind_and_digits_only(void **state)
{
    (void)state;
    struct mr_type declared = MR_TYPE_DECIMAL(5, 2);
    declared.origin = MR_SCHEMA;
    declared.not_null = true;
    assert_true(mr_type_eq(declared, MR_TYPE_DECIMAL(5, 2)));
    assert_false(mr_type_eq(declared, MR_TYPE_DECIMAL(5, 1)));
    assert_false(mr_type_eq(declared, MR_TYPE_DECIMAL(6, 2)));
    assert_false(mr_type_eq(declared, MR_TYPE_DECIMAL_OPEN));
    assert_false(mr_type_eq(MR_TYPE(MR_T_INT16), MR_TYPE(MR_T_INT32)));
}

static void test_kinds_of_numbers(void **state)
{
    (void)state;
    for (int kind = 0; kind < MR_TYPE_KINDS; kind++) {
        bool is_integer = kind >= MR_T_INT16 && kind <= MR_T_INT64;
        assert_int_equal(mr_type_is_integer(MR_TYPE((uint8_t)kind)), is_integer);
        bool is_numeric = is_integer || kind == MR_T_DECIMAL || kind == MR_T_FLOAT32 || kind == MR_T_FLOAT64;
        assert_int_equal(mr_type_is_numeric(MR_TYPE((uint8_t)kind)), is_numeric);
    }
}

static void test_the_last_header_of_a_name_counts(void **state)
{
    (void)state;
    struct mr_header headers[] = {
        {.name = MR_STR("a"), .value = MR_STR("1")},
        {.name = MR_STR("b"), .is_null = true},
        {.name = MR_STR("a"), .value = MR_STR("2")},
    };
    struct mr_record rec = {.headers = headers, .header_count = 3};
    assert_ptr_equal(mr_record_header(&rec, "a"), &headers[2]);
    assert_ptr_equal(mr_record_header(&rec, "b"), &headers[1]);
    assert_null(mr_record_header(&rec, "A"));
    rec.header_count = 0;
    assert_null(mr_record_header(&rec, "a"));
}

static struct mr_table *orders(void)
{
    struct mr_table *tbl = mr_table_create(MR_STR("shop"), MR_STR("orders"));
    struct mr_column *columns = mr_arena_zalloc(tbl->ar, 2 * sizeof(*columns));
    columns[0] = (struct mr_column){.name = MR_STR("id"), .path = MR_STR("id"), .type = MR_TYPE(MR_T_INT64), .is_key = true};
    columns[1] = (struct mr_column){.name = MR_STR("a_b"),
                                    .path = MR_STR("a.b"),
                                    .type = MR_TYPE_DECIMAL(5, 2),
                                    .native = MR_STR("numeric(5,2)"),
                                    .by_hand = true,
                                    .max_len = 7};
    uint32_t *keys = mr_arena_zalloc(tbl->ar, sizeof(*keys));
    tbl->columns = columns;
    tbl->column_count = 2;
    tbl->key_columns = keys;
    tbl->key_count = 1;
    tbl->exists = true;
    return tbl;
}

static void test_a_clone_is_the_next_version_and_shares_nothing(void **state)
{
    (void)state;
    struct mr_table *tbl = orders();
    struct mr_table *next = mr_table_clone(tbl, 3);
    assert_int_equal(next->version, tbl->version + 1);
    assert_int_equal(next->id, tbl->id);
    assert_int_equal(next->refs, 1);
    mr_table_unref(tbl);
    assert_true(mr_str_eq_z(next->schema, "shop"));
    assert_true(mr_str_eq_z(next->name, "orders"));
    assert_true(next->exists);
    assert_int_equal(next->column_count, 2);
    assert_int_equal(next->key_count, 1);
    assert_int_equal(next->key_columns[0], 0);
    assert_true(next->columns[0].is_key);
    assert_true(mr_str_eq_z(next->columns[1].name, "a_b"));
    assert_true(mr_str_eq_z(next->columns[1].path, "a.b"));
    assert_true(mr_str_eq_z(next->columns[1].native, "numeric(5,2)"));
    assert_true(next->columns[1].by_hand);
    assert_int_equal(next->columns[1].max_len, 7);
    assert_true(mr_type_eq(next->columns[1].type, MR_TYPE_DECIMAL(5, 2)));
    struct mr_column *more = (struct mr_column *)next->columns + 2;
    for (size_t i = 0; i < 3; i++)
        more[i].name = MR_STR("more");
    mr_table_unref(next);
}

static void test_tables_are_told_apart_and_searched(void **state)
{
    (void)state;
    struct mr_table *a = orders(), *b = mr_table_create(MR_STR(""), MR_STR("x"));
    assert_int_not_equal(a->id, b->id);
    assert_int_equal(mr_table_find(a, MR_STR("id")), 0);
    assert_int_equal(mr_table_find(a, MR_STR("a_b")), 1);
    assert_int_equal(mr_table_find(a, MR_STR("A_B")), -1);
    assert_int_equal(mr_table_find(b, MR_STR("id")), -1);
    struct mr_table *empty = mr_table_clone(b, 0);
    assert_int_equal(empty->column_count, 0);
    assert_ptr_equal(mr_table_ref(a), a);
    assert_int_equal(a->refs, 2);
    mr_table_unref(a);
    assert_int_equal(a->refs, 1);
    mr_table_unref(a);
    mr_table_unref(b);
    mr_table_unref(empty);
    mr_table_unref(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types_are_written_and_read_back),
        cmocka_unit_test(test_usual_names_of_types_are_understood),
        cmocka_unit_test(test_type_equality_looks_at_kind_and_digits_only),
        cmocka_unit_test(test_kinds_of_numbers),
        cmocka_unit_test(test_the_last_header_of_a_name_counts),
        cmocka_unit_test(test_a_clone_is_the_next_version_and_shares_nothing),
        cmocka_unit_test(test_tables_are_told_apart_and_searched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
