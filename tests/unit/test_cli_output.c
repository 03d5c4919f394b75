/* Output for people and for programs: columns stand under one another, nothing from a message reaches the terminal as a command, JSON is JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/json_out.h"
#include "cli/text_out.h"

static struct mr_buf out = MR_BUF_INIT(1u << 20);

static int clear(void **state)
{
    (void)state;
    mr_buf_clear(&out);
    return 0;
}

static void assert_out(const char *wanted)
{
    assert_string_equal(mr_buf_z(&out), wanted);
}

static void test_control_characters_are_spelled_out(void **state)
{
    (void)state;
    mr_text_append_safe(&out, MR_STR("a\033[31m\tb\nc\x7f\xc2\x9bx\xe2\x80\xae"), false);
    assert_out("a\\u001b[31m\\u0009b\\u000ac\\u007f\\u009bx\\u202e");
    mr_buf_clear(&out);
    mr_text_append_safe(&out, MR_STR("a\tb\nc\033"), true);
    assert_out("a\tb\nc\\u001b");
}

static void test_ill_formed_bytes_and_surrogates_are_replaced(void **state)
{
    (void)state;
    mr_text_append_safe(&out, MR_STR("a\xff\xed\xa0\x80z"), false);
    assert_out("a\xef\xbf\xbd\xef\xbf\xbdz");
}

static void test_a_text_is_cut_by_characters_only_if_it_is_too_long(void **state)
{
    (void)state;
    mr_text_append_cut(&out, MR_STR("äöü"), 3);
    assert_out("äöü");
    mr_buf_clear(&out);
    mr_text_append_cut(&out, MR_STR("äöüß"), 3);
    assert_out("äö…");
    mr_buf_clear(&out);
    mr_text_append_cut(&out, MR_STR("a\033b"), 5); /* what is spelled out is not cut in its middle */
    assert_out("a…");
}

static void test_counts_have_commas_and_unknown_times_a_dash(void **state)
{
    (void)state;
    mr_text_append_count(&out, 0);
    mr_buf_append_char(&out, ' ');
    mr_text_append_count(&out, 999);
    mr_buf_append_char(&out, ' ');
    mr_text_append_count(&out, UINT64_MAX);
    mr_buf_append_char(&out, ' ');
    mr_text_append_time(&out, 0);
    mr_buf_append_char(&out, ' ');
    mr_text_append_time(&out, INT64_C(1769839200123456));
    assert_out("0 999 18,446,744,073,709,551,615 - 2026-01-31 06:00:00");
}

static void test_a_block_keeps_its_lines_behind_the_indent(void **state)
{
    (void)state;
    mr_text_append_block(&out, MR_STR("one\ntwo\r\nthree\n"), 2);
    assert_out("  one\n  two\\u000d\n  three\n");
}

static void test_columns_are_as_wide_as_their_widest_cell(void **state)
{
    (void)state;
    struct mr_grid *grid = mr_grid_create("name|>n|notes");
    mr_grid_add(grid, MR_STR("ä"));
    mr_grid_add_count(grid, 1234);
    mr_grid_add_z(grid, "");
    mr_grid_add_z(grid, "longer");
    mr_grid_add_int(grid, -1);
    mr_grid_add_z(grid, "x\ny");
    mr_grid_print(grid, 1, &out);
    mr_grid_destroy(grid);
    assert_out(" name        n  notes\n"
               " ä       1,234\n"
               " longer     -1  x\\u000ay\n");
}

static void test_columns_without_any_text_are_left_out(void **state)
{
    (void)state;
    struct mr_grid *grid = mr_grid_create("a|b|c");
    for (int row = 0; row < 2; row++) {
        mr_grid_add_z(grid, "x");
        mr_grid_add_z(grid, "");
        mr_grid_add_z(grid, "");
    }
    mr_grid_print(grid, 0, &out);
    mr_grid_destroy(grid);
    assert_out("a\nx\nx\n");
}

static void test_json_is_indented_and_numbers_keep_their_digits(void **state)
{
    (void)state;
    struct mr_jo js = {.out = &out};
    mr_jo_object(&js, NULL);
    mr_jo_uint(&js, "n", UINT64_MAX);
    mr_jo_int(&js, "i", INT64_MIN);
    mr_jo_list(&js, "list");
    mr_jo_str(&js, NULL, MR_STR("a\"\n\xff"));
    mr_jo_bool(&js, NULL, true);
    mr_jo_null(&js, NULL);
    mr_jo_end_list(&js);
    mr_jo_object(&js, "empty");
    mr_jo_end_object(&js);
    mr_jo_time(&js, "at", INT64_C(1769839200123456));
    mr_jo_time(&js, "never", INT64_MIN);
    mr_jo_type(&js, "type", MR_TYPE_DECIMAL(18, 2));
    mr_jo_end_object(&js);
    assert_out("{\n  \"n\": 18446744073709551615,\n  \"i\": -9223372036854775808,\n  \"list\": [\n    \"a\\\"\\n\xef\xbf\xbd\",\n"
               "    true,\n    null\n  ],\n  \"empty\": {},\n  \"at\": \"2026-01-31T06:00:00.123456Z\",\n  \"never\": null,\n"
               "  \"type\": \"decimal(18,2)\"\n}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_control_characters_are_spelled_out, clear),
        cmocka_unit_test_setup(test_ill_formed_bytes_and_surrogates_are_replaced, clear),
        cmocka_unit_test_setup(test_a_text_is_cut_by_characters_only_if_it_is_too_long, clear),
        cmocka_unit_test_setup(test_counts_have_commas_and_unknown_times_a_dash, clear),
        cmocka_unit_test_setup(test_a_block_keeps_its_lines_behind_the_indent, clear),
        cmocka_unit_test_setup(test_columns_are_as_wide_as_their_widest_cell, clear),
        cmocka_unit_test_setup(test_columns_without_any_text_are_left_out, clear),
        cmocka_unit_test_setup(test_json_is_indented_and_numbers_keep_their_digits, clear),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    mr_buf_free(&out);
    return failed;
}
