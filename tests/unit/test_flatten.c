/* Plain documents to columns: paths, leaves, and what keeps absurd documents from filling the memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <millrace/base/mem.h>
#include <millrace/base/utf8.h>

#include "decode/flatten.h"

struct fixture {
    struct mr_json_reader *reader;
    struct mr_arena *ar;
};

static int set_up(void **state)
{
    struct fixture *f = mr_xcalloc(1, sizeof *f);
    struct mr_json_limits limits = {.max_depth = 10000, .max_bytes = 1 << 26, .allow_words = true};

    f->reader = mr_json_reader_create(&limits);
    f->ar = mr_arena_create(0);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    mr_json_reader_destroy(f->reader);
    mr_arena_destroy(f->ar);
    mr_xfree(f);
    return 0;
}

static struct mr_fields flattened(struct fixture *f, bool flatten_struct, struct mr_str json)
{
    struct mr_config cfg = {.flatten_struct = flatten_struct};
    struct mr_json_doc doc;
    struct mr_error err = {0};
    struct mr_field_list list = {0};

    if (mr_json_parse(f->reader, json, &doc, &err) != MR_OK)
        fail_msg("%s", err.message);
    mr_flatten_json(&cfg, &doc, 0, (struct mr_str){NULL, 0}, f->ar, &list);
    return mr_field_list_get(&list);
}

/* "path=text" of every field, one a line; JSON values in brackets of kind. */
static void assert_fields(struct fixture *f, bool flatten_struct, const char *json_z, const char *want_z)
{
    struct mr_fields fields = flattened(f, flatten_struct, mr_str_z(json_z));
    struct mr_buf buf = MR_BUF_INIT(1 << 20);

    for (size_t i = 0; i < fields.count; i++) {
        mr_buf_append_str(&buf, fields.items[i].path);
        mr_buf_append_char(&buf, '=');
        if (fields.items[i].value.tag == MR_V_NULL)
            mr_buf_append_z(&buf, "NULL");
        mr_value_append_text(fields.items[i].value, &buf);
        mr_buf_append_char(&buf, '\n');
    }
    assert_string_equal(mr_buf_z(&buf), want_z);
    mr_buf_free(&buf);
}

static void test_nested_objects_become_paths(void **state)
{
    assert_fields(*state, true, "{\"a\":1,\"b\":{\"c\":\"x\",\"d\":{\"e\":null,\"f\":[1,{\"g\":2}]}},\"h\":true}",
                  "a=1\nb.c=x\nb.d.e=NULL\nb.d.f=[1,{\"g\":2}]\nh=true\n");
}

static void test_without_flattening_an_object_is_one_json_field(void **state)
{
    assert_fields(*state, false, "{\"a\":1,\"b\":{\"c\": \"x\"}}", "a=1\nb={\"c\":\"x\"}\n");
}

static void test_an_empty_object_leaves_no_trace_only_when_flattened(void **state)
{
    assert_fields(*state, true, "{\"a\":{},\"b\":{\"c\":{}},\"d\":[]}", "d=[]\n");
    assert_fields(*state, false, "{\"a\":{}}", "a={}\n");
    assert_fields(*state, true, "{}", "");
}

static void test_dots_and_backslashes_in_names_are_escaped(void **state)
{
    assert_fields(*state, true, "{\"a.b\":1,\"c\\\\d\":{\"e.f\":2},\"\":{\"\":3}}", "a\\.b=1\nc\\\\d.e\\.f=2\n\\~.=3\n");
    assert_fields(*state, true, "{\"\":{\"a\":1},\"a\":2,\"b\":{\"\":3}}", "\\~.a=1\na=2\nb.=3\n");
}

static void test_a_repeated_member_counts_once_with_its_last_value(void **state)
{
    assert_fields(*state, true, "{\"a\":{\"x\":1},\"b\":2,\"a\":3}", "b=2\na=3\n");
}

static void test_leaves_keep_their_digits(void **state)
{
    struct mr_fields fields =
        flattened(*state, true, MR_STR("{\"a\":9223372036854775807,\"b\":9223372036854775808,\"c\":1.10,\"d\":NaN,"
                                       "\"e\":-Infinity,\"f\":\"\\u0000\",\"g\":[\"\\ud800\"],\"h\":false}"));

    assert_int_equal(fields.count, 8);
    assert_int_equal(fields.items[0].value.tag, MR_V_INT);
    assert_true(fields.items[0].value.i == INT64_MAX);
    assert_int_equal(fields.items[1].value.tag, MR_V_NUMBER);
    assert_true(mr_str_eq_z(mr_value_str(fields.items[1].value), "9223372036854775808"));
    assert_int_equal(fields.items[2].value.tag, MR_V_NUMBER);
    assert_true(mr_str_eq_z(mr_value_str(fields.items[2].value), "1.10"));
    assert_int_equal(fields.items[3].value.tag, MR_V_FLOAT);
    assert_true(fields.items[3].value.f != fields.items[3].value.f);
    assert_true(fields.items[4].value.f < -1e308);
    assert_int_equal(fields.items[5].value.flags, MR_TEXT_HAS_NUL);
    assert_int_equal(fields.items[6].value.tag, MR_V_JSON);
    assert_int_equal(fields.items[6].value.flags, MR_TEXT_HAS_SURROGATE);
    for (size_t i = 0; i < fields.count; i++) {
        assert_int_equal(fields.items[i].type.kind, MR_T_NONE);
        assert_int_equal(fields.items[i].type.origin, MR_OBSERVED);
    }
}

/* One name of a megabyte over 50,000 members would make 50 GB of paths. */
static void test_absurdly_long_paths_stay_json(void **state)
{
    struct fixture *f = *state;
    struct mr_buf buf = MR_BUF_INIT((size_t)1 << 24);

    mr_buf_append_z(&buf, "{\"");
    for (int i = 0; i < 1 << 20; i++)
        mr_buf_append_char(&buf, 'n');
    mr_buf_append_z(&buf, "\":{\"m\":0");
    for (int i = 0; i < 50000; i++)
        mr_buf_printf(&buf, ",\"m%d\":1", i);
    mr_buf_append_z(&buf, "},\"b\":{\"c\":1}}");

    struct mr_fields fields = flattened(f, true, mr_buf_str(&buf));
    assert_int_equal(fields.count, 2);
    assert_int_equal(fields.items[0].value.tag, MR_V_JSON);
    assert_true(mr_str_eq_z(fields.items[1].path, "b.c"));
    assert_true(mr_arena_used(f->ar) < (size_t)1 << 22);
    mr_buf_free(&buf);
}

static void test_deep_documents_are_walked_without_recursion_and_paths_stay_bounded(void **state)
{
    struct fixture *f = *state;
    struct mr_buf buf = MR_BUF_INIT((size_t)1 << 24);

    for (int i = 0; i < 9000; i++)
        mr_buf_append_z(&buf, "{\"a\":");
    mr_buf_append_char(&buf, '1');
    for (int i = 0; i < 9000; i++)
        mr_buf_append_char(&buf, '}');
    struct mr_fields fields = flattened(f, true, mr_buf_str(&buf));
    assert_int_equal(fields.count, 1);
    assert_int_equal(fields.items[0].value.tag, MR_V_JSON);
    assert_in_range(fields.items[0].path.len, 1000, 1030);
    mr_buf_free(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nested_objects_become_paths, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_without_flattening_an_object_is_one_json_field, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_empty_object_leaves_no_trace_only_when_flattened, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_dots_and_backslashes_in_names_are_escaped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_repeated_member_counts_once_with_its_last_value, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_leaves_keep_their_digits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_absurdly_long_paths_stay_json, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_deep_documents_are_walked_without_recursion_and_paths_stay_bounded,
                                        set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
