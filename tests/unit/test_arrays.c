/* Arrays of scalars: what their elements have in common, JSON read as one, what the tracker makes of them, and Extended JSON's arrays under
 * unwrap.array.encoding. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <millrace/base/arena.h>
#include <millrace/base/utf8.h>
#include <millrace/model/value.h>
#include <millrace/schema/lattice.h>

#include <millrace/base/mem.h>

#include "decode/extjson.h"

static struct mr_arena *ar;

static int setup(void **state)
{
    (void)state;
    ar = mr_arena_create(0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    mr_arena_destroy(ar);
    return 0;
}

static struct mr_value number(const char *text)
{
    return mr_value_bytes(MR_V_NUMBER, mr_str_z(text));
}

static struct mr_value array_of(struct mr_value a, struct mr_value b)
{
    struct mr_value *items = mr_arena_alloc(ar, 2 * sizeof *items);

    items[0] = a;
    items[1] = b;
    return mr_array_of(items, 2, MR_STR("[]"), 0, MR_OBSERVED, ar);
}

static void assert_type(struct mr_value v, const char *want)
{
    char text[32];

    assert_string_equal(mr_value_array(v)->is_mixed ? "mixed" : mr_type_text(mr_value_type(v), text), want);
}

static void test_an_array_is_of_what_its_elements_have_in_common(void **state)
{
    (void)state;
    struct mr_value i = mr_value_int(1), f = mr_value_float(1.5), t = mr_value_text(MR_STR("x")),
                    null = mr_value_null();

    assert_type(array_of(i, i), "int64[]");
    assert_type(array_of(i, null), "int64[]");
    assert_type(array_of(null, null), "none[]");
    assert_type(mr_array_of(NULL, 0, MR_STR("[]"), 0, MR_OBSERVED, ar), "none[]");
    assert_type(array_of(i, number("1.5")), "decimal[]");
    assert_type(array_of(f, f), "float64[]");
    assert_type(array_of(f, i), "mixed");
    assert_type(array_of(t, i), "mixed");
    assert_type(array_of(mr_value_time(MR_V_TIME, 1), mr_value_time(MR_V_DURATION, -1)), "duration[]");
    assert_type(array_of(mr_value_time(MR_V_TIMESTAMP, 1), mr_value_time(MR_V_TIMESTAMPTZ, 1)), "mixed");
    assert_type(array_of(mr_value_bytes(MR_V_BITS, MR_STR("1")), mr_value_bytes(MR_V_BITS, MR_STR("10"))),
                "bits[]");
    assert_type(array_of(i, mr_value_bytes(MR_V_JSON, MR_STR("{}"))), "mixed");
}

static void test_type_names_of_arrays_are_read_as_they_are_written(void **state)
{
    static const char *const names[] = {"int64[]",   "decimal(18,2)[]", "decimal[]",
                                        "bits(5)[]", "none[]",          "timestamptz[]"};
    char text[32];
    struct mr_type type;

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_true(mr_type_parse(mr_str_z(names[i]), &type));
        assert_string_equal(mr_type_text(type, text), names[i]);
    }
    assert_true(mr_type_parse(MR_STR(" bigint ARRAY "), &type));
    assert_string_equal(mr_type_text(type, text), "int64[]");
    assert_false(mr_type_parse(MR_STR("json[]"), &type));
    assert_false(mr_type_parse(MR_STR("int64[][]"), &type));
    assert_false(mr_type_parse(MR_STR("[]"), &type));
    assert_false(mr_type_parse(MR_STR("int64[3]"), &type));
}

static struct mr_value json(const char *text)
{
    return mr_value_bytes(MR_V_JSON, mr_str_z(text));
}

static void test_json_is_read_as_an_array_of_scalars(void **state)
{
    struct mr_value v;
    struct mr_type ints = mr_type_array_of(MR_TYPE(MR_T_INT64)),
                   floats = mr_type_array_of(MR_TYPE(MR_T_FLOAT64));

    (void)state;
    assert_true(mr_array_of_json(json(" [ 1 ,null,\t-9223372036854775808 ] "), ints, ar, &v));
    assert_int_equal(mr_value_array(v)->count, 3);
    assert_int_equal(mr_value_array(v)->items[1].tag, MR_V_NULL);
    assert_int_equal(mr_value_array(v)->items[2].i, INT64_MIN);
    assert_true(mr_array_of_json(json("[]"), ints, ar, &v));
    assert_int_equal(mr_value_array(v)->count, 0);
    assert_true(mr_array_of_json(json("[1.5,\"NaN\"]"), floats, ar, &v));
    assert_true(mr_type_accepts(floats, v));
    assert_true(mr_array_of_json(json("[\"a\\\"]\\u00e4,\\ud83d\\ude00\",\"\\n\"]"), ints, ar, &v));
    assert_int_equal(mr_value_array(v)->count, 2);
    assert_true(
        mr_str_eq(mr_value_str(mr_value_array(v)->items[0]), MR_STR("a\"]\xC3\xA4,\xF0\x9F\x98\x80")));
    assert_true(mr_array_of_json(json("[\"\\u0000\",\"\\ud800\"]"), ints, ar, &v));
    assert_int_equal(mr_value_array(v)->items[0].flags, MR_TEXT_HAS_NUL);
    assert_int_equal(mr_value_array(v)->items[1].flags, MR_TEXT_HAS_SURROGATE);
    assert_false(mr_array_of_json(json("[1,\"a\"]"), ints, ar, &v));
    assert_false(mr_array_of_json(json("[[1]]"), ints, ar, &v));
    assert_false(mr_array_of_json(json("[{\"a\":1}]"), ints, ar, &v));
    assert_false(mr_array_of_json(json("{\"a\":1}"), ints, ar, &v));
    assert_false(mr_array_of_json(json("7"), ints, ar, &v));
}

static void test_an_array_fits_element_by_element(void **state)
{
    struct mr_type small = mr_type_array_of(MR_TYPE(MR_T_INT16)), bare = mr_type_array_of(MR_TYPE(MR_T_NONE)),
                   joined;
    struct mr_value v = array_of(mr_value_int(7), mr_value_int(40000)),
                    empty = mr_array_of(NULL, 0, MR_STR("[]"), 0, MR_OBSERVED, ar);
    struct mr_facts facts = mr_facts_of(v);

    (void)state;
    assert_false(mr_type_accepts(small, v));
    assert_true(mr_type_accepts(mr_type_array_of(MR_TYPE(MR_T_INT32)), v));
    assert_true(mr_type_accepts(MR_TYPE(MR_T_JSON), v));
    assert_false(mr_type_accepts(MR_TYPE(MR_T_TEXT), v));
    assert_false(mr_type_accepts(bare, v));
    assert_true(mr_type_accepts(small, empty));
    assert_true(mr_type_accepts(bare, empty));
    assert_int_equal(facts.max_abs, 40000);
    assert_true(mr_type_join(small, mr_type_array_of(MR_TYPE(MR_T_INT64)), &facts, &joined));
    assert_int_equal(joined.element, MR_T_INT64);
    assert_true(mr_type_join(bare, MR_TYPE(MR_T_JSON), &facts, &joined));
    assert_int_equal(joined.kind, MR_T_JSON);
    assert_false(mr_type_join(small, MR_TYPE(MR_T_JSON), &facts, &joined));
    assert_false(mr_type_join(small, MR_TYPE(MR_T_INT16), &facts, &joined));
    assert_false(mr_type_join(small, mr_type_array_of(MR_TYPE(MR_T_TEXT)), &facts, &joined));
}

/* ---- Extended JSON ---- */

/* "type value" of one member `a` of the document; fields separated by "; ". */
static void assert_field(enum mr_array_encoding encoding, bool flatten, const char *document,
                         const char *want)
{
    struct mr_config *cfg = mr_xcalloc(1, sizeof *cfg);
    struct mr_json_limits limits = {.max_depth = 200, .max_bytes = 1 << 26, .allow_words = true};
    struct mr_json_reader *reader = mr_json_reader_create(&limits);
    struct mr_buf out = MR_BUF_INIT(1 << 20);
    struct mr_field_list list = {0};
    struct mr_extjson ej;
    struct mr_json_doc doc;
    struct mr_error err = {0};

    cfg->array_encoding = encoding;
    cfg->flatten_struct = flatten;
    mr_extjson_init(&ej, cfg);
    assert_int_equal(mr_json_parse(reader, mr_str_z(document), &doc, &err), MR_OK);
    mr_extjson_fields(&ej, &doc, 0, (struct mr_str){NULL, 0}, ar, &list);
    for (size_t i = 0; i < list.count; i++) {
        const struct mr_field *f = &list.items[i];
        char text[32];
        bool is_mixed = f->value.tag == MR_V_ARRAY && mr_value_array(f->value)->is_mixed;
        mr_buf_printf(&out, "%s%.*s %s ", i ? "; " : "", MR_STR_FMT(f->path),
                      is_mixed ? "mixed" : mr_type_text(f->type, text));
        mr_value_append_json(f->value, &out);
    }
    assert_string_equal(mr_buf_z(&out), want);
    mr_buf_free(&out);
    mr_extjson_free(&ej);
    mr_json_reader_destroy(reader);
    mr_xfree(cfg);
}

static void test_bson_arrays_are_of_one_connect_type_or_mixed(void **state)
{
    static const char *const cases[][2] = {
        {"{\"a\":[1,{\"$numberLong\":\"5000000000\"}]}", "a int64[] [1,5000000000]"},
        {"{\"a\":[1.5,NaN]}", "a float64[] [1.5,\"NaN\"]"},
        {"{\"a\":[\"x\",null]}", "a text[] [\"x\",null]"},
        {"{\"a\":[null]}", "a none[] [null]"},
        {"{\"a\":[]}", "a none[] []"},
        {"{\"a\":[{\"$numberDecimal\":\"1.50\"},null]}", "a decimal[] [\"1.50\",null]"},
        {"{\"a\":[{\"$numberDecimal\":\"1.50\"},\"x\"]}", "a text[] [\"1.50\",\"x\"]"},
        {"{\"a\":[{\"$oid\":\"596e275826f08b2730779e1f\"},{\"$symbol\":\"s\"}]}",
         "a text[] [\"596e275826f08b2730779e1f\",\"s\"]"},
        {"{\"a\":[{\"$date\":1},{\"$timestamp\":{\"t\":4000000000,\"i\":1}}]}",
         "a timestamptz[] [1,4000000000000]"},
        {"{\"a\":[true,false]}", "a boolean[] [true,false]"},
        {"{\"a\":[{\"$undefined\":true},1]}", "a int64[] [1]"},
        {"{\"a\":[1,null]}", "a mixed [1,null]"},
        {"{\"a\":[1,2.5]}", "a mixed [1,2.5]"},
        {"{\"a\":[1,\"x\"]}", "a mixed [1,\"x\"]"},
        {"{\"a\":[true,null]}", "a mixed [true,null]"},
        {"{\"a\":[{\"b\":1},1]}", "a mixed [{\"b\":1},1]"},
        {"{\"a\":[{\"b\":1},[]]}", "a mixed [{\"b\":1},[]]"},
        {"{\"a\":[[1],1]}", "a mixed [[1],1]"},
        {"{\"a\":[{\"b\":1},{\"b\":\"x\"}]}", "a mixed [{\"b\":1},{\"b\":\"x\"}]"},
        {"{\"a\":[{\"b\":1},null,{\"c\":\"x\"}]}", "a json [{\"b\":1},null,{\"c\":\"x\"}]"},
        {"{\"a\":[[],[1],[[\"x\"]]]}", "a json [[],[1],[[\"x\"]]]"},
        {"{\"a\":[{\"$regex\":\"^a\",\"$options\":\"\"},{\"b\":1}]}",
         "a json [{\"regex\":\"^a\",\"options\":\"\"},{\"b\":1}]"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_field(MR_ARRAY_ARRAY, true, cases[i][0], cases[i][1]);
}

static void test_document_encoding_makes_members_of_elements(void **state)
{
    (void)state;
    assert_field(MR_ARRAY_DOCUMENT, true, "{\"a\":[1,\"x\",[true],{\"b\":2},{},[]]}",
                 "a._0 int64 1; a._1 text \"x\"; a._2._0 boolean true; a._3.b int64 2");
    assert_field(MR_ARRAY_DOCUMENT, false, "{\"a\":[1,[\"x\"],{\"b\":[]}]}",
                 "a json {\"_0\":1,\"_1\":{\"_0\":\"x\"},\"_2\":{\"b\":{}}}");
    assert_field(MR_ARRAY_DOCUMENT, false, "{\"a\":[1,{\"$undefined\":true},2]}",
                 "a json {\"_0\":1,\"_2\":2}");
    assert_field(MR_ARRAY_DOCUMENT, true, "{\"a\":[1,{\"$undefined\":true},2]}",
                 "a._0 int64 1; a._2 int64 2");
    assert_field(MR_ARRAY_JSON, true, "{\"a\":[1,\"x\"]}", "a json [1,\"x\"]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_an_array_is_of_what_its_elements_have_in_common, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_type_names_of_arrays_are_read_as_they_are_written, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_json_is_read_as_an_array_of_scalars, setup, teardown),
        cmocka_unit_test_setup_teardown(test_an_array_fits_element_by_element, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bson_arrays_are_of_one_connect_type_or_mixed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_document_encoding_makes_members_of_elements, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
