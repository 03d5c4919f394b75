/* Patches: steps on a JSON text and on arrays of scalars, their order, and what hostile ones do. A step is written as "+path=json" (set), "-path"
 * (unset) or "<path=size" (cut), names joined by dots. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <millrace/base/arena.h>
#include <millrace/base/hash.h>
#include <millrace/model/patch.h>

static struct mr_arena *ar;
static struct mr_patch_style style;

static int setup(void **state)
{
    (void)state;
    ar = mr_arena_create(0);
    style = (struct mr_patch_style){0};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    mr_arena_destroy(ar);
    return 0;
}

static struct mr_step step(const char *text)
{
    const char *equal = strchr(text, '=');
    const char *end = equal != NULL ? equal : text + strlen(text);
    struct mr_step out = {.kind = text[0] == '+'   ? MR_STEP_SET
                                  : text[0] == '-' ? MR_STEP_UNSET
                                                   : MR_STEP_CUT};
    struct mr_str *names = mr_arena_alloc(ar, (strlen(text) + 1) * sizeof *names);

    for (const char *at = text + 1; at < end || (at == end && out.count > 0);) {
        const char *dot = memchr(at, '.', (size_t)(end - at));
        const char *stop = dot != NULL ? dot : end;
        names[out.count++] = mr_str_of(at, (size_t)(stop - at));
        if (dot == NULL)
            break;
        at = dot + 1;
    }
    out.names = names;
    if (out.kind == MR_STEP_SET)
        out.json = mr_str_z(equal + 1);
    else if (out.kind == MR_STEP_CUT)
        out.size = atoll(equal + 1);
    out.is_empty = mr_str_eq_z(out.json, "[]");
    return out;
}

/* NULL at the end of the list. */
static const struct mr_patch *patch_of(const char *first, ...)
{
    struct mr_patch *patch = mr_arena_zalloc(ar, sizeof *patch);
    struct mr_step *steps = mr_arena_alloc(ar, 16 * sizeof *steps);
    va_list more;

    va_start(more, first);
    for (const char *text = first; text != NULL; text = va_arg(more, const char *))
        steps[patch->count++] = step(text);
    va_end(more);
    patch->steps = steps;
    patch->style = style;
    return patch;
}

static struct mr_value json(const char *text)
{
    return text == NULL ? mr_value_null() : mr_value_bytes(MR_V_JSON, mr_str_z(text));
}

/* What the JSON `have` becomes: a text, "NULL", or "code: message". */
static const char *apply(const char *have, const struct mr_patch *patch)
{
    struct mr_value out = {0};
    struct mr_error err = {0};

    if (mr_patch_apply(patch, json(have), MR_TYPE(MR_T_JSON), ar, &out, &err) != MR_OK) {
        assert_int_equal(err.status, MR_E_DATA);
        assert_true(err.message[0] != '\0');
        return mr_arena_strndup(ar, err.code, strlen(err.code));
    }
    if (out.tag == MR_V_NULL)
        return "NULL";
    assert_int_equal(out.tag, MR_V_JSON);
    return mr_arena_strndup(ar, out.ptr, out.len);
}

#define PATCHED(have, want, ...) assert_string_equal(apply(have, patch_of(__VA_ARGS__, NULL)), want)

static void test_a_member_is_set_where_it_stood_and_all_else_stays_as_it_was_written(void **state)
{
    (void)state;
    PATCHED("{ \"a\" : 1.10, \"b\":{\"c\": 1e2 ,\"d\":\"\\u00e4\\/\"}}",
            "{\"a\":1.10,\"b\":{\"c\":9007199254740993,\"d\":\"\\u00e4\\/\"}}", "+b.c=9007199254740993");
    PATCHED("{\"a\":{\"x\":[1, 2]}}", "{\"a\":{\"x\":[1, 2]},\"new\":[]}", "+new=[]");
    PATCHED("{\"a\":1}", "{\"a\":{\"b\":{\"c\":2}}}", "+a={\"b\":{\"c\":2}}");
    PATCHED("[{\"p\":1},{\"p\":2}]", "[{\"p\":1},{\"p\":20}]", "+1.p=20");
    PATCHED("[[1,2],[3]]", "[[1,2],[3,\"x\"]]", "+1.1=\"x\"");
    PATCHED("{\"m\":{\"0\":1}}", "{\"m\":{\"0\":2,\"5\":3}}", "+m.0=2", "+m.5=3");
}

static void test_what_is_missing_on_the_way_is_made_as_documents(void **state)
{
    (void)state;
    PATCHED(NULL, "{\"city\":\"B\"}", "+city=\"B\"");
    PATCHED("null", "{\"a\":{\"b\":{\"c\":1}}}", "+a.b.c=1");
    PATCHED("{}", "{\"a\":{\"b\":1,\"c\":2}}", "+a.b=1", "+a.c=2");
    PATCHED("[1]", "[1,null,null,{\"p\":4}]", "+3.p=4");
    PATCHED("[]", "[null,null,7]", "+2=7");
}

static void test_a_position_in_nothing_is_refused(void **state)
{
    (void)state;
    PATCHED(NULL, "unsupported", "+0=1");
    PATCHED("{}", "unsupported", "+a.0=1");
    PATCHED("[1]", "unsupported", "+1.0=1");
    PATCHED(NULL, "unsupported", "<=1");
    PATCHED("{}", "unsupported", "<a=1");
}

static void test_what_leads_through_a_scalar_is_refused(void **state)
{
    (void)state;
    PATCHED("5", "unsupported", "+a=1");
    PATCHED("{\"a\":\"text\"}", "unsupported", "+a.b=1");
    PATCHED("{\"a\":null}", "unsupported", "+a.b=1");
    PATCHED("{\"a\":true}", "unsupported", "+a.0=1");
    PATCHED("[1,2]", "unsupported", "+x=1");
    PATCHED("[1,2]", "unsupported", "+01=1");
    PATCHED("{\"a\":{}}", "unsupported", "<a=0");
}

static void test_members_go_and_elements_become_null(void **state)
{
    (void)state;
    PATCHED("{\"a\":1,\"b\":2,\"c\":3}", "{\"a\":1,\"c\":3}", "-b");
    PATCHED("{\"a\":{\"x\":1}}", "{\"a\":{}}", "-a.x");
    PATCHED("[1,2,3]", "[1,null,3]", "-1");
    PATCHED("[{\"a\":1,\"b\":2}]", "[{\"b\":2}]", "-0.a");
    PATCHED("{\"a\":1}", "{\"b\":1,\"a\":2}", "-a", "+b=1", "+a=2");
    /* gone already */
    PATCHED("{\"a\":1}", "{\"a\":1}", "-x", "-x.y", "-a.b");
    PATCHED("[1]", "[1]", "-5", "-x", "-0.y");
    PATCHED(NULL, "NULL", "-a", "-0", "-a.b");
}

static void test_arrays_are_cut_short(void **state)
{
    (void)state;
    PATCHED("[1,2,3]", "[1,2]", "<=2");
    PATCHED("[1,2,3]", "[]", "<=0");
    PATCHED("{\"a\":{\"b\":[1,2,3]}}", "{\"a\":{\"b\":[1]}}", "<a.b=1");
    PATCHED("[[1,2],[3,4]]", "[[1,2],[3]]", "<1=1");
    PATCHED("[1]", "[1]", "<=5");
    PATCHED("[1,2,3]", "[1,9]", "<=1", "+1=9");
    PATCHED("{\"a\":1}", "unsupported", "<=1");
}

static void test_names_may_hold_anything(void **state)
{
    (void)state;
    PATCHED("{\"q\\\"\\\\\":1,\"\\u00e4\":2,\"\":{\"x\":3}}", "{\"q\\\"\\\\\":10,\"ä\":20,\"\":{\"x\":30}}",
            "+q\"\\=10", "+ä=20", "+.x=30");
}

static void test_names_with_dots_are_found_where_there_is_no_such_path(void **state)
{
    (void)state;
    PATCHED("{\"a.b\":1}", "{\"a.b\":2}", "+a.b=2");
    PATCHED("{\"x\":{\"a.b\":{\"c\":1},\"z\":0}}", "{\"x\":{\"a.b\":{\"c\":2},\"z\":0}}", "+x.a.b.c=2");
    PATCHED("{\"a.b.c\":1,\"a.b\":{\"c\":2}}", "{\"a.b\":{\"c\":2}}", "-a.b.c");
}

static void test_a_name_with_dots_beside_such_a_path_is_refused(void **state)
{
    (void)state;
    PATCHED("{\"a\":{},\"a.b\":1}", "unsupported", "+a.b=2");
    PATCHED("{\"a\":{\"b\":0},\"a.b\":1}", "unsupported", "-a.b");
    PATCHED("{\"a\":{\"b\":0},\"a.c\":1}", "{\"a\":{\"b\":2},\"a.c\":1}", "+a.b=2");
}

static void test_of_members_with_one_name_the_last_counts(void **state)
{
    (void)state;
    PATCHED("{\"a\":1,\"a\":2,\"b\":3}", "{\"b\":3}", "-a");
    PATCHED("{\"a\":1,\"a\":{\"x\":2}}", "{\"a\":{\"x\":3}}", "+a.x=3");
}

static void test_adjusted_names_are_found_and_given(void **state)
{
    (void)state;
    style.names = MR_NAMES_AVRO;
    PATCHED("{\"a_b\":1}", "{\"a_b\":2,\"c_d\":{\"_1\":3}}", "+a-b=2", "+c-d.1x=0", "-c-d.1x", "+c-d.1=3");
    PATCHED("[{\"e_f\":1}]", "[{\"e_f\":2}]", "+0.e f=2");
    PATCHED("{\"x_y\":1}", "{\"x_y\":5}", "+x.y=5"); /* the name had a dot */
    style.names = MR_NAMES_AVRO_UNICODE;
    PATCHED("{\"a_u002db\":1}", "{\"a_u002db\":2}", "+a-b=2");
}

static void test_an_array_without_elements_is_null_where_names_are_adjusted(void **state)
{
    (void)state;
    style.names = MR_NAMES_AVRO;
    PATCHED(NULL, "[7]", "+0=7");
    PATCHED("{\"a\":null}", "{\"a\":[null,1]}", "+a.1=1");
    PATCHED("{\"a\":[1]}", "{\"a\":null}", "<a=0");
    PATCHED("[1,2]", "NULL", "<=0");
    PATCHED("{\"a\":1}", "{\"a\":null}", "+a=[]");
    PATCHED("[1]", "[[]]", "+0=[]");
    PATCHED(NULL, "NULL", "<=0");
}

static void test_arrays_that_are_documents_have_their_elements_changed(void **state)
{
    (void)state;
    style.arrays_are_documents = true;
    PATCHED("{\"_0\":1,\"_1\":{\"p\":2}}", "{\"_0\":1,\"_1\":{\"p\":3},\"_2\":null,\"_3\":4}", "+1.p=3",
            "+3=4");
    PATCHED("{\"_0\":1,\"_1\":2,\"_2\":3}", "{\"_0\":1}", "<=1");
    PATCHED("{\"_0\":1,\"_1\":2}", "{\"_0\":null,\"_1\":2}", "-0");
    PATCHED("{\"a\":1}", "{\"a\":1,\"0\":2}", "+0=2");
    PATCHED("{\"2\":1}", "{\"2\":5}", "+2=5");
    PATCHED("{\"a\":1,\"_0\":2}", "unsupported", "+1=2");
    PATCHED("{}", "unsupported", "+0=2");
    PATCHED("{\"_0\":1,\"_4000000000\":2}", "{\"_0\":1}", "<=1");
    style.names = MR_NAMES_AVRO_UNICODE;
    PATCHED("{\"_u005f0\":1}", "{\"_u005f0\":1,\"_u005f1\":2}", "+1=2");
}

static void test_patches_follow_one_another(void **state)
{
    (void)state;
    const struct mr_patch *one = patch_of("+a.b=1", NULL), *two = patch_of("+a.c=2", "-a.b", NULL);
    struct mr_value absent = {.tag = MR_V_ABSENT};
    struct mr_value v =
        mr_patch_after(mr_value_of_patch(two), mr_patch_after(mr_value_of_patch(one), absent, ar), ar);

    assert_int_equal(mr_patch_base(mr_value_patch(v)).tag, MR_V_ABSENT);
    assert_string_equal(apply("{}", mr_value_patch(v)), "{\"a\":{\"c\":2}}");
    v = mr_patch_after(mr_value_of_patch(two), mr_patch_after(mr_value_of_patch(one), json("{\"z\":0}"), ar),
                       ar);
    assert_int_equal(mr_patch_base(mr_value_patch(v)).tag, MR_V_JSON);
    assert_string_equal(apply("{\"z\":0}", mr_value_patch(v)), "{\"z\":0,\"a\":{\"c\":2}}");
    assert_int_equal(one->base.tag, MR_V_ABSENT); /* what others hold is not changed */
}

static void test_texts_take_patches_as_json(void **state)
{
    (void)state;
    struct mr_value out = {0};
    struct mr_error err = {0};
    const struct mr_patch *patch = patch_of("+1=2", NULL);

    assert_int_equal(mr_patch_apply(patch, mr_value_text(MR_STR("[1]")), MR_TYPE(MR_T_TEXT), ar, &out, &err),
                     MR_OK);
    assert_int_equal(out.tag, MR_V_TEXT);
    assert_true(mr_str_eq_z(mr_value_str(out), "[1,2]"));
    const char *const broken[] = {"no JSON", "[1",   "[1,]", "{\"a\"}", "{\"a\":1,}", "\"\\x\"", "01",
                                  "1.",      "[1]]", "\"",   "",        "tru",        "{1:2}",   "-"};
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        assert_int_equal(
            mr_patch_apply(patch, mr_value_text(mr_str_z(broken[i])), MR_TYPE(MR_T_TEXT), ar, &out, &err),
            MR_E_DATA);
        assert_string_equal(err.code, "unsupported");
    }
    assert_int_equal(mr_patch_apply(patch, mr_value_int(1), MR_TYPE(MR_T_INT64), ar, &out, &err), MR_E_DATA);
    assert_string_equal(err.code, "type_conflict");
}

/* ---- Arrays of scalars ---- */

static struct mr_step item_step(const char *text, struct mr_value item)
{
    struct mr_step out = step(text);

    out.item = item;
    return out;
}

static enum mr_status on_array(struct mr_value have, struct mr_type element, const struct mr_step *steps,
                               size_t count, struct mr_buf *out)
{
    struct mr_patch patch = {.steps = steps, .count = count, .style = style};
    struct mr_value made = {0};
    struct mr_error err = {0};
    enum mr_status status = mr_patch_apply(&patch, have, mr_type_array_of(element), ar, &made, &err);

    mr_buf_clear(out);
    if (status != MR_OK) {
        mr_buf_append_z(out, err.code);
    } else if (made.tag == MR_V_NULL) {
        mr_buf_append_z(out, "NULL");
    } else {
        assert_int_equal(made.tag, MR_V_ARRAY);
        for (uint32_t i = 0; i < mr_value_array(made)->count; i++) {
            mr_buf_append_z(out, i > 0 ? "," : "");
            mr_value_append_json(mr_value_array(made)->items[i], out);
        }
    }
    return status;
}

static void test_arrays_of_scalars_take_elements(void **state)
{
    (void)state;
    struct mr_buf out = MR_BUF_INIT(1000);
    struct mr_step set[] = {item_step("+1=5", mr_value_int(5)), item_step("+4=6", mr_value_int(6)),
                            step("-0")};

    assert_int_equal(on_array(json("[\"1\",\"2\",\"9007199254740993\"]"), MR_TYPE(MR_T_INT64), set, 3, &out),
                     MR_OK);
    assert_string_equal(mr_buf_z(&out), "null,5,9007199254740993,null,6");
    assert_int_equal(on_array(json("[\"0.5\",null]"), MR_TYPE(MR_T_FLOAT64), set, 1, &out), MR_OK);
    assert_string_equal(mr_buf_z(&out), "0.5,5");
    struct mr_step time = item_step("+0=1", mr_value_time(MR_V_TIMESTAMPTZ, 0));
    assert_int_equal(on_array(json("[\"2020-01-02T03:04:05.25Z\",\"2021-01-01T00:00:00Z\"]"),
                              MR_TYPE(MR_T_TIMESTAMPTZ), &time, 1, &out),
                     MR_OK);
    assert_string_equal(mr_buf_z(&out), "\"1970-01-01T00:00:00Z\",\"2021-01-01T00:00:00Z\"");
    struct mr_step size = step("<=1");
    assert_int_equal(on_array(json("[\"a\",\"b\"]"), MR_TYPE(MR_T_TEXT), &size, 1, &out), MR_OK);
    assert_string_equal(mr_buf_z(&out), "\"a\"");
    struct mr_value items[] = {mr_value_int(1), mr_value_int(2)};
    struct mr_value base = mr_array_of(items, 2, MR_STR("[1,2]"), 0, MR_OBSERVED, ar);
    assert_int_equal(on_array(base, MR_TYPE_DECIMAL_OPEN, &set[0], 1, &out), MR_OK);
    assert_string_equal(mr_buf_z(&out), "1,5");
    mr_buf_free(&out);
}

static void test_arrays_of_scalars_refuse_what_cannot_be_in_them(void **state)
{
    (void)state;
    struct mr_buf out = MR_BUF_INIT(1000);
    struct mr_step text = item_step("+0=\"x\"", mr_value_text(MR_STR("x"))), document = step("+0={}"),
                   deep = item_step("+0.a=1", mr_value_int(1));
    struct mr_step number = item_step("+0=1", mr_value_int(1)),
                   far = item_step("+99999999=1", mr_value_int(1));

    assert_int_equal(on_array(json("[]"), MR_TYPE(MR_T_INT64), &text, 1, &out), MR_E_DATA);
    assert_string_equal(mr_buf_z(&out), "type_conflict");
    assert_int_equal(on_array(json("[]"), MR_TYPE(MR_T_INT64), &document, 1, &out), MR_E_DATA);
    assert_string_equal(mr_buf_z(&out), "type_conflict");
    assert_int_equal(on_array(json("[]"), MR_TYPE(MR_T_INT64), &deep, 1, &out), MR_E_DATA);
    assert_string_equal(mr_buf_z(&out), "type_conflict");
    assert_int_equal(on_array(mr_value_null(), MR_TYPE(MR_T_INT64), &number, 1, &out), MR_E_DATA);
    assert_string_equal(mr_buf_z(&out), "unsupported");
    assert_int_equal(on_array(json("[]"), MR_TYPE(MR_T_INT64), &far, 1, &out), MR_E_DATA);
    assert_string_equal(mr_buf_z(&out), "too_large");
    mr_buf_free(&out);
}

/* ---- Hostile ---- */

static void test_positions_far_beyond_the_end_are_refused(void **state)
{
    (void)state;
    PATCHED("[]", "too_large", "+99999999=1");
    PATCHED("[1]", "too_large", "+999999999999999999=1");
    PATCHED("[1]", "unsupported", "+99999999999999999999999=1");
    PATCHED("{\"a\":[],\"b\":[]}", "too_large", "+a.1000000=1", "+b.1000000=1");
    style.arrays_are_documents = true;
    PATCHED("{\"_0\":1}", "too_large", "+99999999=1");
}

static void test_deep_documents_and_paths_take_no_stack(void **state)
{
    (void)state;
    enum { DEPTH = 1000000 };
    char *deep = malloc(2 * DEPTH + 1);
    assert_non_null(deep);
    memset(deep, '[', DEPTH);
    memset(deep + DEPTH, ']', DEPTH);
    deep[2 * DEPTH] = '\0';
    assert_int_equal(strlen(apply(deep, patch_of("+0.0.0.1=1", NULL))), 2 * DEPTH + 2);
    deep[2 * DEPTH - 1] = '\0';
    assert_string_equal(apply(deep, patch_of("+0.0.0.1=1", NULL)), "unsupported");
    free(deep);
}

static void test_many_steps_on_a_large_document_are_quick(void **state)
{
    (void)state;
    enum { MEMBERS = 50000 };
    struct mr_buf text = MR_BUF_INIT((size_t)1 << 24);
    struct mr_step *steps = mr_arena_zalloc(ar, 3 * MEMBERS * sizeof *steps);
    struct mr_patch patch = {.steps = steps};

    mr_buf_append_char(&text, '{');
    for (int i = 0; i < MEMBERS; i++)
        mr_buf_printf(&text, "%s\"m%d\":{\"v\":%d}", i > 0 ? "," : "", i, i);
    mr_buf_append_char(&text, '}');
    for (int i = 0; i < MEMBERS; i++) {
        steps[patch.count++] = step(mr_arena_printf(ar, "+m%d.v=1%c", i, 0).ptr);
        steps[patch.count++] = step(mr_arena_printf(ar, "+n%d.v=1%c", i, 0).ptr);
        if (i % 2)
            steps[patch.count++] = step(mr_arena_printf(ar, "-m%d%c", i, 0).ptr);
    }
    struct mr_value out = {0};
    struct mr_error err = {0};
    assert_int_equal(mr_patch_apply(&patch, mr_value_bytes(MR_V_JSON, mr_buf_str(&text)), MR_TYPE(MR_T_JSON),
                                    ar, &out, &err),
                     MR_OK);
    mr_buf_free(&text);
}

/* Steps one patch at a time, each on what the one before has left, and all in one patch: the same. */
static void test_steps_together_are_steps_one_by_one(void **state)
{
    (void)state;
    static const char *const paths[] = {"a",   "b",   "a.x",   "a.y.z", "0", "1",
                                        "l.0", "l.1", "l.1.p", "l.3",   "l", "a.0"};
    static const char *const values[] = {"1", "null", "{}", "[]", "\"t\"", "{\"x\":[1,2]}", "[{\"p\":1},2]"};
    uint64_t seed = 88172645463325252u;

    for (int run = 0; run < 3000; run++) {
        struct mr_step steps[6];
        const char *alone = "{\"a\":{\"x\":1},\"l\":[1,{\"p\":2}]}", *begin = alone;
        for (int i = 0; i < 6; i++) {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            const char *path = paths[seed % 12];
            unsigned kind = seed >> 8 & 7;
            struct mr_str text = kind < 5 ? mr_arena_printf(ar, "+%s=%s%c", path, values[(seed >> 16) % 7], 0)
                                 : kind < 7
                                     ? mr_arena_printf(ar, "-%s%c", path, 0)
                                     : mr_arena_printf(ar, "<%s=%u%c", path, (unsigned)(seed >> 20 & 3), 0);
            steps[i] = step(text.ptr);
            struct mr_patch one = {.steps = &steps[i], .count = 1, .style = style};
            if (alone[0] == '{' || alone[0] == '[')
                alone = apply(alone, &one);
        }
        struct mr_patch all = {.steps = steps, .count = 6, .style = style};
        assert_string_equal(apply(begin, &all), alone);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(test_a_member_is_set_where_it_stood_and_all_else_stays_as_it_was_written),
        TEST(test_what_is_missing_on_the_way_is_made_as_documents),
        TEST(test_a_position_in_nothing_is_refused),
        TEST(test_what_leads_through_a_scalar_is_refused),
        TEST(test_members_go_and_elements_become_null),
        TEST(test_arrays_are_cut_short),
        TEST(test_names_may_hold_anything),
        TEST(test_names_with_dots_are_found_where_there_is_no_such_path),
        TEST(test_a_name_with_dots_beside_such_a_path_is_refused),
        TEST(test_of_members_with_one_name_the_last_counts),
        TEST(test_adjusted_names_are_found_and_given),
        TEST(test_an_array_without_elements_is_null_where_names_are_adjusted),
        TEST(test_arrays_that_are_documents_have_their_elements_changed),
        TEST(test_patches_follow_one_another),
        TEST(test_texts_take_patches_as_json),
        TEST(test_arrays_of_scalars_take_elements),
        TEST(test_arrays_of_scalars_refuse_what_cannot_be_in_them),
        TEST(test_positions_far_beyond_the_end_are_refused),
        TEST(test_deep_documents_and_paths_take_no_stack),
        TEST(test_many_steps_on_a_large_document_are_quick),
        TEST(test_steps_together_are_steps_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
