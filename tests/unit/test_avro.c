/* Avro's schemas and data by themselves: what the cases, which go through the whole program, cannot show (tests/cases/run_payload_cases.py). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <millrace/base/mem.h>

#include "decode/avro.h"

struct avro {
    struct mr_avro_schema *schema;
    struct mr_json_build build;
    struct mr_arena *ar;
    struct mr_json_doc doc;
    struct mr_error err;
};

static struct avro *with_schema(const char *text_z)
{
    struct avro *a = mr_xcalloc(1, sizeof(*a));
    a->schema = mr_avro_schema_create();
    a->ar = mr_arena_create(0);
    mr_json_build_init(&a->build, 1 << 20);
    assert_int_equal(mr_avro_schema_parse(a->schema, mr_str_z(text_z), &a->err), MR_OK);
    return a;
}

static void avro_free(struct avro *a)
{
    mr_json_build_free(&a->build);
    mr_arena_destroy(a->ar);
    mr_avro_schema_destroy(a->schema);
    mr_xfree(a);
}

static enum mr_status read_bytes(struct avro *a, const void *bytes, size_t len)
{
    static const struct mr_avro_limits limits = {.max_depth = 128, .max_items = 1000000};
    mr_json_build_reset(&a->build);
    enum mr_status status = mr_avro_read(a->schema, mr_str_of(bytes, len), &limits, &a->build, &a->err);
    return status != MR_OK ? status : mr_json_build_finish(&a->build, a->ar, &a->doc, &a->err);
}

#define READ(a, literal) read_bytes((a), (literal), sizeof(literal) - 1)

static void assert_reads(struct avro *a, const void *bytes, size_t len, const char *json_z)
{
    assert_int_equal(read_bytes(a, bytes, len), MR_OK);
    assert_true(mr_str_eq(a->doc.text, mr_str_z(json_z)));
}
#define ASSERT_READS(a, literal, json) assert_reads((a), (literal), sizeof(literal) - 1, (json))

static void assert_refused(const char *schema_z)
{
    struct mr_avro_schema *s = mr_avro_schema_create();
    struct mr_error err = {0};
    assert_int_equal(mr_avro_schema_parse(s, mr_str_z(schema_z), &err), MR_E_DATA);
    assert_string_equal(err.code, MR_CODE_BAD_SCHEMA);
    mr_avro_schema_destroy(s);
}

static void test_schemas_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    assert_refused("[]");
    assert_refused("[\"int\",[\"null\"]]");
    assert_refused("[\"int\",\"int\"]");
    assert_refused("{\"type\":\"fixed\",\"name\":\"F\",\"size\":-1}");
    assert_refused("{\"type\":\"fixed\",\"name\":\"F\"}");
    assert_refused("{\"type\":\"record\",\"name\":\"R\"}");
    assert_refused("{\"type\":\"record\",\"fields\":[]}");
    assert_refused("{\"type\":\"enum\",\"name\":\"E\"}");
    assert_refused("{\"type\":\"array\"}");
    assert_refused("\"record\"");
    assert_refused("\"a.Missing\"");
    assert_refused("7");
    assert_refused("{");
}

static void test_schema_nested_without_end_is_refused(void **state)
{
    (void)state;
    struct mr_buf text = MR_BUF_INIT(1 << 20);
    for (int i = 0; i < 5000; i++)
        mr_buf_append_z(&text, "{\"type\":\"array\",\"items\":");
    mr_buf_append_z(&text, "\"int\"");
    for (int i = 0; i < 5000; i++)
        mr_buf_append_char(&text, '}');
    assert_refused(mr_buf_z(&text));
    mr_buf_free(&text);
}

static void test_members_of_a_schema_stand_in_any_order(void **state)
{
    (void)state;
    struct avro *a = with_schema("{\"fields\":[{\"name\":\"x\",\"type\":{\"fields\":[{\"name\":\"v\","
                                 "\"type\":\"int\"}],\"name\":\"In\",\"type\":\"record\"}},"
                                 "{\"name\":\"y\",\"type\":\"In\"}],\"name\":\"Out\",\"namespace\":\"late."
                                 "space\",\"type\":\"record\"}");
    ASSERT_READS(a, "\x02\x04", "{\"x\":{\"v\":1},\"y\":{\"v\":2}}");
    avro_free(a);
}

static void test_schema_sees_what_earlier_ones_have_named(void **state)
{
    (void)state;
    struct avro *a = with_schema(
        "{\"type\":\"record\",\"name\":\"c.Money\",\"fields\":[{\"name\":\"cents\",\"type\":\"long\"}]}");
    assert_int_equal(
        mr_avro_schema_parse(a->schema, MR_STR("{\"type\":\"array\",\"items\":\"c.Money\"}"), &a->err),
        MR_OK);
    ASSERT_READS(a, "\x04\x02\x04\x00", "[{\"cents\":1},{\"cents\":2}]");
    avro_free(a);
}

static void test_length_beyond_the_message_costs_nothing(void **state)
{
    (void)state;
    struct avro *a = with_schema("\"string\"");
    assert_int_equal(READ(a, "\xfe\xff\xff\xff\x0f"
                             "a"),
                     MR_E_DATA);
    assert_string_equal(a->err.code, MR_CODE_TRUNCATED);
    avro_free(a);
}

static void test_array_of_a_billion_nulls_is_refused_at_once(void **state)
{
    (void)state;
    struct avro *a = with_schema("{\"type\":\"array\",\"items\":\"null\"}");
    assert_int_equal(READ(a, "\x80\xa8\xd6\xb9\x07\x00"), MR_E_DATA);
    assert_string_equal(a->err.code, MR_CODE_LIMIT_EXCEEDED);
    avro_free(a);
}

static void test_many_blocks_of_nothing_share_one_limit(void **state)
{
    (void)state;
    struct avro *a =
        with_schema("{\"type\":\"array\",\"items\":{\"type\":\"record\",\"name\":\"E\",\"fields\":[]}}");
    char bytes[40];
    for (int i = 0; i < 10; i++)
        memcpy(bytes + 3 * i, "\xc0\x9a\x0c", 3); /* 100,000 each */
    bytes[30] = 0;
    assert_int_equal(read_bytes(a, bytes, 31), MR_E_DATA);
    assert_string_equal(a->err.code,
                        MR_CODE_TOO_LARGE); /* a million of {} is more than the builder may hold here */
    for (int i = 0; i < 13; i++)
        memcpy(bytes + 3 * i, "\xc0\x9a\x0c", 3);
    bytes[39] = 0;
    mr_json_build_free(&a->build);
    mr_json_build_init(&a->build, 1u << 30);
    assert_int_equal(read_bytes(a, bytes, 40), MR_E_DATA);
    assert_string_equal(a->err.code, MR_CODE_LIMIT_EXCEEDED);
    avro_free(a);
}

static void test_list_nested_without_end_is_refused_before_the_stack_ends(void **state)
{
    (void)state;
    struct avro *a = with_schema(
        "{\"type\":\"record\",\"name\":\"L\",\"fields\":[{\"name\":\"n\",\"type\":[\"null\",\"L\"]}]}");
    char *bytes = mr_xmalloc(60000);
    memset(bytes, 2, 60000);
    assert_int_equal(read_bytes(a, bytes, 60000), MR_E_DATA);
    assert_string_equal(a->err.code, MR_CODE_LIMIT_EXCEEDED);
    mr_xfree(bytes);
    avro_free(a);
}

static void test_block_that_says_another_length_is_corrupt(void **state)
{
    (void)state;
    struct avro *a = with_schema("{\"type\":\"array\",\"items\":\"long\"}");
    ASSERT_READS(a, "\x03\x04\x06\x36\x00", "[3,27]");
    assert_int_equal(READ(a, "\x03\x02\x06\x36\x00"), MR_E_DATA);
    assert_string_equal(a->err.code, MR_CODE_CORRUPT);
    avro_free(a);
}

static void test_repeated_key_of_a_map_means_the_last(void **state)
{
    (void)state;
    struct avro *a = with_schema("{\"type\":\"map\",\"values\":\"int\"}");
    assert_int_equal(READ(a, "\x04\x02"
                             "a\x02\x02"
                             "a\x04\x00"),
                     MR_OK);
    assert_true(mr_str_eq(mr_json_raw(&a->doc, MR_JSON_MEMBER(&a->doc, 0, "a")), MR_STR("2")));
    avro_free(a);
}

static void test_numbers_at_their_ends_are_exact(void **state)
{
    (void)state;
    struct avro *a = with_schema("\"long\"");
    ASSERT_READS(a, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "-9223372036854775808");
    ASSERT_READS(a, "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", "9223372036854775807");
    assert_int_equal(READ(a, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), MR_E_DATA);
    avro_free(a);
}

static void test_texts_are_escaped_as_json_wants(void **state)
{
    (void)state;
    struct avro *a = with_schema("\"string\"");
    ASSERT_READS(a, "\x0a\"\\\n\0x", "\"\\\"\\\\\\u000a\\u0000x\"");
    unsigned flags;
    struct mr_str s = mr_json_string(&a->doc, 0, a->ar, &flags);
    assert_int_equal(s.len, 5);
    assert_memory_equal(s.ptr, "\"\\\n\0x", 5);
    avro_free(a);
}

static void test_type_below_itself_is_a_document_there(void **state)
{
    (void)state;
    struct avro *a = with_schema("{\"type\":\"record\",\"name\":\"L\",\"fields\":[{\"name\":\"v\",\"type\":"
                                 "\"int\"},{\"name\":\"n\",\"type\":[\"null\",\"L\"]}]}");
    const struct mr_connect_schema *c = mr_avro_connect(a->schema);
    assert_int_equal(c->kind, MR_C_STRUCT);
    assert_int_equal(c->fields[1].schema->type.kind, MR_T_JSON);
    avro_free(a);
}

static void test_type_named_twice_is_made_once(void **state)
{
    (void)state;
    struct avro *a = with_schema("{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"a\",\"type\":{"
                                 "\"type\":\"record\",\"name\":\"I\",\"fields\":"
                                 "[{\"name\":\"v\",\"type\":\"int\"}]}},{\"name\":\"b\",\"type\":\"I\"}]}");
    const struct mr_connect_schema *c = mr_avro_connect(a->schema);
    assert_ptr_equal(c->fields[0].schema, c->fields[1].schema);
    avro_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schemas_that_make_no_sense_are_refused),
        cmocka_unit_test(test_schema_nested_without_end_is_refused),
        cmocka_unit_test(test_members_of_a_schema_stand_in_any_order),
        cmocka_unit_test(test_schema_sees_what_earlier_ones_have_named),
        cmocka_unit_test(test_length_beyond_the_message_costs_nothing),
        cmocka_unit_test(test_array_of_a_billion_nulls_is_refused_at_once),
        cmocka_unit_test(test_many_blocks_of_nothing_share_one_limit),
        cmocka_unit_test(test_list_nested_without_end_is_refused_before_the_stack_ends),
        cmocka_unit_test(test_block_that_says_another_length_is_corrupt),
        cmocka_unit_test(test_repeated_key_of_a_map_means_the_last),
        cmocka_unit_test(test_numbers_at_their_ends_are_exact),
        cmocka_unit_test(test_texts_are_escaped_as_json_wants),
        cmocka_unit_test(test_type_below_itself_is_a_document_there),
        cmocka_unit_test(test_type_named_twice_is_made_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
