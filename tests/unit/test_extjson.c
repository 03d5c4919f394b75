/* Every BSON type in every notation, flattened and as JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <millrace/base/encode.h>
#include <millrace/base/mem.h>
#include <millrace/base/time.h>
#include <millrace/base/utf8.h>

#include "decode/extjson.h"

struct fixture {
    struct mr_json_reader *reader;
    struct mr_arena *ar;
    struct mr_config cfg;
    struct mr_extjson ej;
};

static int set_up(void **state)
{
    struct fixture *f = mr_xcalloc(1, sizeof *f);
    struct mr_json_limits limits = {.max_depth = 10000, .max_bytes = 1 << 24, .allow_words = true};

    f->reader = mr_json_reader_create(&limits);
    f->ar = mr_arena_create(0);
    f->cfg.flatten_struct = true;
    mr_extjson_init(&f->ej, &f->cfg);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    mr_extjson_free(&f->ej);
    mr_json_reader_destroy(f->reader);
    mr_arena_destroy(f->ar);
    mr_xfree(f);
    return 0;
}

static struct mr_fields fields_of(struct fixture *f, const char *json_z)
{
    struct mr_json_doc doc;
    struct mr_error err = {0};
    struct mr_field_list list = {0};

    if (mr_json_parse(f->reader, mr_str_z(json_z), &doc, &err) != MR_OK)
        fail_msg("%s: %s", json_z, err.message);
    mr_extjson_fields(&f->ej, &doc, 0, (struct mr_str){NULL, 0}, f->ar, &list);
    return mr_field_list_get(&list);
}

/* The value as a person reads it: tag and text. */
static void describe(struct mr_value v, struct mr_buf *out)
{
    static const char *const tags[] = {[MR_V_NULL] = "null", [MR_V_BOOL] = "bool", [MR_V_INT] = "int",
                                       [MR_V_NUMBER] = "number", [MR_V_FLOAT] = "float", [MR_V_TEXT] = "text",
                                       [MR_V_BYTES] = "bytes", [MR_V_TIMESTAMPTZ] = "instant",
                                       [MR_V_JSON] = "json", [MR_V_INVALID] = "invalid"};
    assert_true(v.tag < sizeof tags / sizeof *tags && tags[v.tag] != NULL);
    mr_buf_append_z(out, tags[v.tag]);
    mr_buf_append_char(out, ' ');
    if (v.tag == MR_V_INT || v.tag == MR_V_BOOL || v.tag == MR_V_TIMESTAMPTZ)
        mr_buf_printf(out, "%lld", (long long)v.i);
    else if (v.tag == MR_V_FLOAT)
        mr_buf_printf(out, "%.17g", v.f);
    else if (v.tag == MR_V_BYTES)
        mr_hex_append(out, mr_value_str(v));
    else if (v.tag == MR_V_INVALID)
        mr_buf_append_z(out, v.aux == MR_INVALID_RANGE ? "range" : "bad");
    else if (v.tag != MR_V_NULL)
        mr_buf_append_str(out, mr_value_str(v));
}

/* {"v": <json>} gives one field `v` of that type and value. */
static void assert_value(struct fixture *f, const char *json_z, enum mr_type_kind kind, const char *want_z)
{
    struct mr_buf doc = MR_BUF_INIT(1 << 20), got = MR_BUF_INIT(1 << 20);

    mr_buf_printf(&doc, "{\"v\": %s}", json_z);
    struct mr_fields fields = fields_of(f, mr_buf_z(&doc));
    assert_int_equal(fields.count, 1);
    assert_true(mr_str_eq_z(fields.items[0].path, "v"));
    describe(fields.items[0].value, &got);
    if (strcmp(mr_buf_z(&got), want_z) != 0)
        fail_msg("%s gives \"%s\", want \"%s\"", json_z, mr_buf_z(&got), want_z);
    assert_int_equal(fields.items[0].type.kind, kind);
    assert_int_equal(fields.items[0].type.origin, kind == MR_T_NONE ? MR_OBSERVED : MR_TYPED);
    assert_int_equal(fields.items[0].type.open, kind == MR_T_DECIMAL);
    mr_buf_free(&doc);
    mr_buf_free(&got);
}

static void test_numbers_in_all_notations(void **state)
{
    struct fixture *f = *state;

    assert_value(f, "1004", MR_T_INT64, "int 1004");
    assert_value(f, "{\"$numberInt\": \"-42\"}", MR_T_INT64, "int -42");
    assert_value(f, "{\"$numberLong\": \"9223372036854775807\"}", MR_T_INT64, "int 9223372036854775807");
    assert_value(f, "{\"$numberLong\": \"-9223372036854775808\"}", MR_T_INT64, "int -9223372036854775808");
    assert_value(f, "{\"$numberLong\":5}", MR_T_INT64, "int 5");
    assert_value(f, "{\"$numberLong\": \"9223372036854775808\"}", MR_T_INT64, "invalid bad");
    assert_value(f, "{\"$numberLong\": \"5.0\"}", MR_T_INT64, "invalid bad");
    assert_value(f, "18446744073709551616", MR_T_NONE, "number 18446744073709551616");
    assert_value(f, "10.0", MR_T_FLOAT64, "float 10");
    assert_value(f, "1.0E+21", MR_T_FLOAT64, "float 1e+21");
    assert_value(f, "4.9E-324", MR_T_FLOAT64, "float 4.9406564584124654e-324");
    assert_value(f, "1e400", MR_T_FLOAT64, "float inf");
    assert_value(f, "-1e400", MR_T_FLOAT64, "float -inf");
    assert_value(f, "-0.0", MR_T_FLOAT64, "float -0");
    assert_value(f, "NaN", MR_T_FLOAT64, "float nan");
    assert_value(f, "-Infinity", MR_T_FLOAT64, "float -inf");
    assert_value(f, "{\"$numberDouble\": \"10.0\"}", MR_T_FLOAT64, "float 10");
    assert_value(f, "{\"$numberDouble\": \"Infinity\"}", MR_T_FLOAT64, "float inf");
    assert_value(f, "{\"$numberDouble\": \"x\"}", MR_T_FLOAT64, "invalid bad");
}

static void test_decimals_keep_their_text(void **state)
{
    struct fixture *f = *state;

    assert_value(f, "{\"$numberDecimal\": \"1.50\"}", MR_T_DECIMAL, "number 1.50");
    assert_value(f, "{\"$numberDecimal\": \"1.5E+3\"}", MR_T_DECIMAL, "number 1.5E+3");
    assert_value(f, "{\"$numberDecimal\": \"-0\"}", MR_T_DECIMAL, "number -0");
    assert_value(f, "{\"$numberDecimal\": \"007.5\"}", MR_T_DECIMAL, "number 7.5");
    assert_value(f, "{\"$numberDecimal\": \"NaN\"}", MR_T_DECIMAL, "number NaN");
    assert_value(f, "{\"$numberDecimal\": \"-Infinity\"}", MR_T_DECIMAL, "number -Infinity");
    assert_value(f, "{\"$numberDecimal\": \"inf\"}", MR_T_DECIMAL, "number Infinity");
    assert_value(f, "{\"$numberDecimal\": \"1E+999999\"}", MR_T_DECIMAL, "invalid range");
    assert_value(f, "{\"$numberDecimal\": \"\"}", MR_T_DECIMAL, "invalid bad");
    assert_value(f, "{\"$numberDecimal\": \"1,5\"}", MR_T_DECIMAL, "invalid bad");
}

static void test_dates_in_all_notations(void **state)
{
    struct fixture *f = *state;

    assert_value(f, "{\"$date\": 1580122032311}", MR_T_TIMESTAMPTZ, "instant 1580122032311000");
    assert_value(f, "{\"$date\": -1}", MR_T_TIMESTAMPTZ, "instant -1000");
    assert_value(f, "{\"$date\": \"2020-01-27T10:47:12.311Z\"}", MR_T_TIMESTAMPTZ, "instant 1580122032311000");
    assert_value(f, "{\"$date\": \"2020-01-27T10:47:12.01Z\"}", MR_T_TIMESTAMPTZ, "instant 1580122032010000");
    assert_value(f, "{\"$date\": \"2020-01-27T10:47:12Z\"}", MR_T_TIMESTAMPTZ, "instant 1580122032000000");
    assert_value(f, "{\"$date\": \"2020-01-27T10:47:12.311999+02:00\"}", MR_T_TIMESTAMPTZ, "instant 1580114832311000");
    assert_value(f, "{\"$date\": \"2020-01-27\"}", MR_T_TIMESTAMPTZ, "instant 1580083200000000");
    assert_value(f, "{\"$date\": {\"$numberLong\": \"-2208988800000\"}}", MR_T_TIMESTAMPTZ, "instant -2208988800000000");
    assert_value(f, "{\"$date\": {\"$numberLong\": \"9223372036854775807\"}}", MR_T_TIMESTAMPTZ, "invalid range");
    assert_value(f, "{\"$date\": 9223372036854775808}", MR_T_TIMESTAMPTZ, "invalid range");
    assert_value(f, "{\"$date\": {\"$numberLong\": \"99999999999999999999\"}}", MR_T_TIMESTAMPTZ, "invalid range");
    assert_value(f, "{\"$date\": \"infinity\"}", MR_T_TIMESTAMPTZ, "invalid bad");
    assert_value(f, "{\"$date\": \"yesterday\"}", MR_T_TIMESTAMPTZ, "invalid bad");
}

static void test_timestamps_have_unsigned_seconds(void **state)
{
    struct fixture *f = *state;

    assert_value(f, "{\"$timestamp\": {\"t\": 1580205633,\"i\": 7}}", MR_T_TIMESTAMPTZ, "instant 1580205633000000");
    assert_value(f, "{\"$timestamp\": {\"t\": 4294967295,\"i\": 1}}", MR_T_TIMESTAMPTZ, "instant 4294967295000000");
    assert_value(f, "{\"$timestamp\": {\"t\": 4294967296,\"i\": 1}}", MR_T_TIMESTAMPTZ, "invalid bad");
    assert_value(f, "{\"$timestamp\": {\"t\": -1,\"i\": 1}}", MR_T_TIMESTAMPTZ, "invalid bad");
}

static void test_binaries_in_all_notations(void **state)
{
    struct fixture *f = *state;

    assert_value(f, "{\"$binary\": \"AQID/w==\",\"$type\": \"00\"}", MR_T_BYTES, "bytes 010203ff");
    assert_value(f, "{\"$type\": \"80\",\"$binary\": \"CQ==\"}", MR_T_BYTES, "bytes 09");
    assert_value(f, "{\"$binary\": \"CQ\",\"$type\": 0}", MR_T_BYTES, "bytes 09");
    assert_value(f, "{\"$binary\": {\"base64\": \"\",\"subType\": \"FF\"}}", MR_T_BYTES, "bytes ");
    assert_value(f, "{\"$uuid\": \"01234567-89AB-cdef-0123-456789abcdef\"}", MR_T_BYTES,
                 "bytes 0123456789abcdef0123456789abcdef");
    assert_value(f, "{\"$binary\": \"a-_b\",\"$type\": \"00\"}", MR_T_BYTES, "invalid bad");
    assert_value(f, "{\"$uuid\": \"0123\"}", MR_T_BYTES, "invalid bad");
}

static void test_texts_and_the_rest(void **state)
{
    struct fixture *f = *state;

    assert_value(f, "{\"$oid\": \"596E275826f08b2730779e1F\"}", MR_T_TEXT, "text 596e275826f08b2730779e1f");
    assert_value(f, "{\"$oid\": \"596E\"}", MR_T_TEXT, "invalid bad");
    assert_value(f, "{\"\\u0024oid\": \"596e275826f08b2730779e1f\"}", MR_T_TEXT, "text 596e275826f08b2730779e1f");
    assert_value(f, "\"a\\tb\"", MR_T_TEXT, "text a\tb");
    assert_value(f, "{\"$symbol\": \"s\"}", MR_T_TEXT, "text s");
    assert_value(f, "{\"$code\": \"f()\"}", MR_T_TEXT, "text f()");
    assert_value(f, "{\"$code\": \"f()\",\"$scope\": {\"a\": {\"$numberLong\": \"1\"}}}", MR_T_JSON,
                 "json {\"code\":\"f()\",\"scope\":{\"a\":1}}");
    assert_value(f, "{\"$minKey\": 1}", MR_T_JSON, "json {\"$minKey\":1}");
    assert_value(f, "{\"$maxKey\": 1}", MR_T_JSON, "json {\"$maxKey\":1}");
    assert_value(f, "true", MR_T_BOOL, "bool 1");
    assert_value(f, "null", MR_T_NONE, "null ");
    assert_value(f, "[]", MR_T_JSON, "json []");
    assert_int_equal(fields_of(f, "{\"v\": {\"$undefined\": true}}").count, 0);
}

static void test_what_is_no_wrapper_is_a_document(void **state)
{
    struct fixture *f = *state;

    f->cfg.flatten_struct = false;
    assert_value(f, "{\"z\": 1,\"$oid\": \"596e275826f08b2730779e1f\"}", MR_T_JSON,
                 "json {\"z\":1,\"$oid\":\"596e275826f08b2730779e1f\"}");
    assert_value(f, "{\"$oid\": \"596e275826f08b2730779e1f\",\"z\": 1}", MR_T_JSON,
                 "json {\"$oid\":\"596e275826f08b2730779e1f\",\"z\":1}");
    assert_value(f, "{\"$type\": \"string\"}", MR_T_JSON, "json {\"$type\":\"string\"}");
    assert_value(f, "{\"$regex\": \"a\"}", MR_T_JSON, "json {\"$regex\":\"a\"}");
    assert_value(f, "{\"$binary\": \"AQID\"}", MR_T_JSON, "json {\"$binary\":\"AQID\"}");
    assert_value(f, "{\"$oid\": 5}", MR_T_JSON, "json {\"$oid\":5}");
    assert_value(f, "{\"$date\": null}", MR_T_JSON, "json {\"$date\":null}");
    assert_value(f, "{\"$set\": {\"a\": 1}}", MR_T_JSON, "json {\"$set\":{\"a\":1}}");
    assert_value(f, "{\"$ref\": \"c\",\"$id\": {\"$oid\": \"596e275826f08b2730779e1f\"},\"$db\": \"d\"}", MR_T_JSON,
                 "json {\"$ref\":\"c\",\"$id\":\"596e275826f08b2730779e1f\",\"$db\":\"d\"}");
    assert_value(f, "{\"$dbPointer\": {\"$ref\": \"c\",\"$id\": {\"$oid\": \"596e275826f08b2730779e1f\"}}}", MR_T_JSON,
                 "json {\"$ref\":\"c\",\"$id\":\"596e275826f08b2730779e1f\"}");
}

static void assert_paths(struct fixture *f, const char *json_z, const char *want_z)
{
    struct mr_fields fields = fields_of(f, json_z);
    struct mr_buf got = MR_BUF_INIT(1 << 20);

    for (size_t i = 0; i < fields.count; i++) {
        mr_buf_append_str(&got, fields.items[i].path);
        mr_buf_append_char(&got, '=');
        describe(fields.items[i].value, &got);
        mr_buf_append_char(&got, '\n');
    }
    if (strcmp(mr_buf_z(&got), want_z) != 0)
        fail_msg("%s gives\n%swant\n%s", json_z, mr_buf_z(&got), want_z);
    mr_buf_free(&got);
}

static void test_documents_flatten_to_paths(void **state)
{
    assert_paths(*state,
                 "{\"_id\": {\"company\": 32,\"dept\": \"x\"},\"a\": {\"b\": {\"c\": {\"$numberLong\": \"7\"}},\"e\": {}},"
                 "\"d.e\": 1,\"rx\": {\"$regularExpression\": {\"pattern\": \"^a\",\"options\": \"im\"}},"
                 "\"ry\": {\"$regex\": \"b\",\"$options\": \"\"},\"p\": {\"$ref\": \"c\",\"$id\": 4},"
                 "\"q\": {\"$dbPointer\": {\"$ref\": \"c\",\"$id\": 5}},\"u\": {\"v\": {\"$undefined\": true}}}",
                 "_id.company=int 32\n_id.dept=text x\na.b.c=int 7\nd\\.e=int 1\nrx.regex=text ^a\n"
                 "rx.options=text im\nry.regex=text b\nry.options=text \np.$ref=text c\np.$id=int 4\n"
                 "q.$ref=text c\nq.$id=int 5\n");
}

static void test_json_is_rendered_as_connect_does(void **state)
{
    struct fixture *f = *state;

    f->cfg.flatten_struct = false;
    assert_value(f,
                 "{\"lat\": 40.5,\"at\": {\"$date\": 1000},\"iso\": {\"$date\": \"1970-01-01T00:00:00.005Z\"},"
                 "\"ref\": {\"$oid\": \"596E275826f08b2730779e1f\"},\"n\": {\"$numberLong\": \"7\"},\"b\": {\"$binary\": \"AQI\",\"$type\": \"00\"},"
                 "\"d\": {\"$numberDecimal\": \"1.50\"},\"x\": NaN,\"y\": {\"$numberDouble\": \"-Infinity\"},\"z\": {\"$numberDouble\": \"1.0E+21\"},"
                 "\"t\": {\"$timestamp\": {\"t\": 2,\"i\": 1}},\"r\": {\"$regex\": \"^a\",\"$options\": \"i\"},\"u\": {\"$undefined\": true},"
                 "\"m\": {\"$minKey\": 1},\"e\": {},\"s\": \"q\\\"\\u00e9\",\"big\": 18446744073709551616,\"bad\": {\"$date\": \"x\"}}",
                 MR_T_JSON,
                 "json {\"lat\":40.5,\"at\":1000,\"iso\":5,\"ref\":\"596e275826f08b2730779e1f\",\"n\":7,\"b\":\"AQI=\","
                 "\"d\":\"1.50\",\"x\":\"NaN\",\"y\":\"-Infinity\",\"z\":1.0E+21,\"t\":2000,"
                 "\"r\":{\"regex\":\"^a\",\"options\":\"i\"},\"m\":{\"$minKey\":1},\"e\":{},\"s\":\"q\\\"\\u00e9\","
                 "\"big\":18446744073709551616,\"bad\":{\"$date\":\"x\"}}");
    assert_value(f, "[1,null,{\"$undefined\": true},[[],{\"a\": [true]}],{\"$symbol\": \"s\"},{\"$code\": \"c\",\"$scope\": {}}]",
                 MR_T_JSON, "json [1,null,[[],{\"a\":[true]}],\"s\",{\"code\":\"c\",\"scope\":{}}]");
    assert_value(f, "{\"a\": 1,\"b\": 2,\"a\": {\"$numberLong\": \"3\"}}", MR_T_JSON, "json {\"b\":2,\"a\":3}");
}

static void test_texts_with_nul_and_surrogates_are_flagged(void **state)
{
    struct fixture *f = *state;
    struct mr_fields fields =
        fields_of(f, "{\"a\": \"x\\u0000\",\"b\": [{\"k\\ud800\": 1}],\"c\": [{\"$symbol\": \"\\u0000\"}],\"d\": [\"\"]}");

    assert_int_equal(fields.count, 4);
    assert_int_equal(fields.items[0].value.flags, MR_TEXT_HAS_NUL);
    assert_int_equal(fields.items[1].value.flags, MR_TEXT_HAS_SURROGATE);
    assert_int_equal(fields.items[2].value.flags, MR_TEXT_HAS_NUL);
    assert_int_equal(fields.items[3].value.flags, 0);
}

static void test_deep_documents_render_without_recursion(void **state)
{
    struct fixture *f = *state;
    struct mr_buf in = MR_BUF_INIT(1 << 20);

    mr_buf_append_z(&in, "{\"v\":");
    for (int i = 0; i < 3000; i++)
        mr_buf_append_z(&in, "{\"$date\":[{\"$code\":\"c\",\"$scope\":{\"a\":");
    mr_buf_append_z(&in, "1");
    for (int i = 0; i < 3000; i++)
        mr_buf_append_z(&in, "}}]}");
    mr_buf_append_z(&in, "}");
    f->cfg.flatten_struct = false;

    struct mr_json_limits limits = {.max_depth = 20000, .max_bytes = 1 << 24};
    struct mr_json_reader *deep = mr_json_reader_create(&limits);
    struct mr_json_doc doc, again;
    struct mr_error err = {0};
    struct mr_field_list list = {0};
    assert_int_equal(mr_json_parse_arena(deep, mr_buf_str(&in), f->ar, &doc, &err), MR_OK);
    mr_extjson_fields(&f->ej, &doc, 0, (struct mr_str){NULL, 0}, f->ar, &list);
    assert_int_equal(list.count, 1);
    assert_int_equal(mr_json_parse(deep, mr_value_str(list.items[0].value), &again, &err), MR_OK);
    mr_json_reader_destroy(deep);
    mr_buf_free(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_numbers_in_all_notations, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_decimals_keep_their_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_dates_in_all_notations, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_timestamps_have_unsigned_seconds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_binaries_in_all_notations, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_texts_and_the_rest, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_no_wrapper_is_a_document, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_documents_flatten_to_paths, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_json_is_rendered_as_connect_does, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_texts_with_nul_and_surrogates_are_flagged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_deep_documents_render_without_recursion, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
