/* Names of members as the MongoDB transform adjusts them. The expectations are what the transform gave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <millrace/model/field_name.h>
#include <millrace/schema/name.h>
#include <millrace/schema/tracker.h>

#include "decode/extjson.h"

static void assert_adjusts(enum mr_name_mode mode, const char *name_z, const char *expected_z)
{
    struct mr_buf out = MR_BUF_INIT(1024);

    mr_field_name_append(mode, mr_str_z(name_z), &out);
    assert_string_equal(mr_buf_z(&out), expected_z);
    mr_buf_free(&out);
}

static void test_without_a_mode_names_stay_as_they_are(void **state)
{
    (void)state;
    assert_adjusts(MR_NAMES_NONE, "a-b.c d\xc3\xa9", "a-b.c d\xc3\xa9");
}

static void test_avro_makes_underscores_of_what_is_not_legal(void **state)
{
    (void)state;
    assert_adjusts(MR_NAMES_AVRO, "plain_Name9", "plain_Name9");
    assert_adjusts(MR_NAMES_AVRO, "_id", "_id");
    assert_adjusts(MR_NAMES_AVRO, "1abc", "_1abc");
    assert_adjusts(MR_NAMES_AVRO, "9", "_9");
    assert_adjusts(MR_NAMES_AVRO, "a-b", "a_b");
    assert_adjusts(MR_NAMES_AVRO, "a.b", "a_b");
    assert_adjusts(MR_NAMES_AVRO, "$ref", "_ref");
    assert_adjusts(MR_NAMES_AVRO, "x y", "x_y");
    assert_adjusts(MR_NAMES_AVRO, "\xc3\xa9", "_");
    assert_adjusts(MR_NAMES_AVRO, "", "");
}

static void test_avro_unicode_writes_codes(void **state)
{
    (void)state;
    assert_adjusts(MR_NAMES_AVRO_UNICODE, "_id", "_u005fid");
    assert_adjusts(MR_NAMES_AVRO_UNICODE, "1abc", "_u0031abc");
    assert_adjusts(MR_NAMES_AVRO_UNICODE, "a1", "a1");
    assert_adjusts(MR_NAMES_AVRO_UNICODE, "a-b", "a_u002db");
    assert_adjusts(MR_NAMES_AVRO_UNICODE, "a.b", "a_u002eb");
    assert_adjusts(MR_NAMES_AVRO_UNICODE, "\xc3\xa9", "_u00e9");
    assert_adjusts(MR_NAMES_AVRO_UNICODE, "e\xcc\x81", "e_u301"); /* no zero in front of three digits */
    assert_adjusts(MR_NAMES_AVRO_UNICODE, "_0", "_u005f0");
}

static void test_a_character_beyond_the_basic_plane_counts_as_two(void **state)
{
    (void)state;
    assert_adjusts(MR_NAMES_AVRO, "\xf0\x9f\x98\x80", "__");
    assert_adjusts(MR_NAMES_AVRO_UNICODE, "\xf0\x9f\x98\x80", "_ud83d_ude00");
}

static void test_bytes_that_are_no_text_are_replaced_one_by_one(void **state)
{
    (void)state;
    assert_adjusts(MR_NAMES_AVRO, "a\xff\xfe", "a__");
    assert_adjusts(MR_NAMES_AVRO_UNICODE, "\xff", "_ufffd");
}

static void test_a_path_is_adjusted_segment_by_segment(void **state)
{
    static const char *const paths[][2] = {
        {"a-b", "a_b"}, {"a.b-c", "a.b_c"}, {"a\\.b.$c", "a_b._c"}, {"", ""}, {".", "."}, {"a..1", "a.._1"}, {"\\__op", "__op"}, {"\\.x", "_x"},
    };
    struct mr_arena *ar = mr_arena_create(0);

    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct mr_str got = mr_path_adjusted_name(mr_str_z(paths[i][0]), MR_STR("."), MR_NAMES_AVRO, ar);
        if (!mr_str_eq_z(got, paths[i][1]))
            fail_msg("%s gives %.*s", paths[i][0], MR_STR_FMT(got));
    }
    mr_arena_destroy(ar);
}

static void assert_renders(enum mr_name_mode mode, const char *json_z, const char *want_z)
{
    struct mr_config cfg = {.field_names = mode};
    struct mr_json_limits limits = {.max_depth = 100, .max_bytes = 1 << 20};
    struct mr_json_reader *reader = mr_json_reader_create(&limits);
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_extjson ej;
    struct mr_json_doc doc;
    struct mr_error err = {0};
    struct mr_value value;
    struct mr_type type;

    mr_extjson_init(&ej, &cfg);
    assert_int_equal(mr_json_parse(reader, mr_str_z(json_z), &doc, &err), MR_OK);
    assert_true(mr_extjson_value(&ej, &doc, 0, ar, &value, &type));
    if (!mr_str_eq_z(mr_value_str(value), want_z))
        fail_msg("%s gives %.*s", json_z, MR_STR_FMT(mr_value_str(value)));
    mr_extjson_free(&ej);
    mr_arena_destroy(ar);
    mr_json_reader_destroy(reader);
}

static void test_names_inside_json_are_adjusted(void **state)
{
    (void)state;
    assert_renders(MR_NAMES_AVRO, "{\"a-b\": {\"$c\": 1}, \"d\": [{\"e f\": 2}]}", "{\"a_b\":{\"_c\":1},\"d\":[{\"e_f\":2}]}");
    assert_renders(MR_NAMES_AVRO_UNICODE, "{\"_x\": 1, \"\\u0041\": 2}", "{\"_u005fx\":1,\"\\u0041\":2}");
    assert_renders(MR_NAMES_AVRO, "{\"f\": {\"$code\": \"g\", \"$scope\": {\"a-b\": 1}}}", "{\"f\":{\"code\":\"g\",\"scope\":{\"a_b\":1}}}");
    assert_renders(MR_NAMES_NONE, "{\"a-b\": []}", "{\"a-b\":[]}");
}

static void test_names_inside_json_that_would_collide_stay_as_they_are(void **state)
{
    (void)state;
    assert_renders(MR_NAMES_AVRO, "{\"a-b\": 1, \"a_b\": 2, \"c-d\": 3}", "{\"a-b\":1,\"a_b\":2,\"c_d\":3}");
    assert_renders(MR_NAMES_AVRO, "{\"a-b\": 1, \"a.b\": 2}", "{\"a-b\":1,\"a.b\":2}");
    assert_renders(MR_NAMES_AVRO, "{\"a-b\": 1, \"a-b\": 2}", "{\"a_b\":2}"); /* a repeated member is one member */
}

static void test_an_empty_array_is_null_where_names_are_adjusted(void **state)
{
    (void)state;
    assert_renders(MR_NAMES_AVRO, "{\"a\": [], \"b\": [[]]}", "{\"a\":null,\"b\":[[]]}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_a_mode_names_stay_as_they_are),
        cmocka_unit_test(test_avro_makes_underscores_of_what_is_not_legal),
        cmocka_unit_test(test_avro_unicode_writes_codes),
        cmocka_unit_test(test_a_character_beyond_the_basic_plane_counts_as_two),
        cmocka_unit_test(test_bytes_that_are_no_text_are_replaced_one_by_one),
        cmocka_unit_test(test_a_path_is_adjusted_segment_by_segment),
        cmocka_unit_test(test_names_inside_json_are_adjusted),
        cmocka_unit_test(test_names_inside_json_that_would_collide_stay_as_they_are),
        cmocka_unit_test(test_an_empty_array_is_null_where_names_are_adjusted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
