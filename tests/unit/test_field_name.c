/* Names of members as the MongoDB transform adjusts them. The expectations are what the transform gave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <millrace/model/field_name.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_a_mode_names_stay_as_they_are),
        cmocka_unit_test(test_avro_makes_underscores_of_what_is_not_legal),
        cmocka_unit_test(test_avro_unicode_writes_codes),
        cmocka_unit_test(test_a_character_beyond_the_basic_plane_counts_as_two),
        cmocka_unit_test(test_bytes_that_are_no_text_are_replaced_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
