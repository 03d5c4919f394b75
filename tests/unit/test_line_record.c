/* Lines of files as records: which line is a record, which a bare event, and what arrives of each member. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <millrace/base/buf.h>
#include <millrace/base/mem.h>

#include "source/line_record.h"

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

/* The line is copied to the heap without a byte to spare, so that reading beyond it is seen. */
static struct mr_record read_bytes(const char *ptr, size_t len)
{
    struct mr_line_place place = {"in.jsonl", 7, MR_STR("named")};
    struct mr_record rec = {0};
    char *copy = mr_xmalloc(len ? len : 1);

    memcpy(copy, ptr, len);
    mr_line_record(mr_str_of(copy, len), &place, ar, &rec);
    /* What the record borrows must outlive this function. */
    if (rec.has_value)
        rec.value = mr_arena_copy(ar, rec.value);
    if (rec.has_key)
        rec.key = mr_arena_copy(ar, rec.key);
    rec.topic = mr_arena_copy(ar, rec.topic);
    for (size_t i = 0; i < rec.header_count; i++) {
        rec.headers[i].name = mr_arena_copy(ar, rec.headers[i].name);
        rec.headers[i].value = mr_arena_copy(ar, rec.headers[i].value);
    }
    mr_xfree(copy);
    return rec;
}

static struct mr_record read_line(const char *line_z)
{
    return read_bytes(line_z, strlen(line_z));
}

static void assert_str(struct mr_str s, const char *expected_z)
{
    char text[512];

    assert_true(s.len < sizeof(text));
    memcpy(text, s.ptr ? s.ptr : "", s.len);
    text[s.len] = '\0';
    assert_string_equal(text, expected_z);
}

static void assert_bare(const char *line_z)
{
    struct mr_record rec = read_line(line_z);

    if (rec.broken_code || !rec.is_bare)
        fail_msg("not a bare event: %s", line_z);
    assert_str(rec.value, line_z);
    assert_str(rec.topic, "named");
    assert_false(rec.has_key);
    assert_int_equal(rec.offset, 7);
    assert_int_equal(rec.partition, -1);
    assert_int_equal(rec.timestamp_ms, -1);
}

static void assert_record(const char *line_z)
{
    struct mr_record rec = read_line(line_z);

    if (rec.broken_code || rec.is_bare)
        fail_msg("not a record: %s", line_z);
}

static void assert_broken(const char *line_z, const char *message_part_z)
{
    struct mr_record rec = read_line(line_z);

    if (!rec.broken_code)
        fail_msg("not broken: %s", line_z);
    assert_string_equal(rec.broken_code, MR_CODE_BAD_LINE);
    assert_str(rec.value, line_z);
    if (!memmem(rec.broken_message.ptr, rec.broken_message.len, message_part_z,
                strlen(message_part_z)))
        fail_msg("\"%s\" is not in: %.*s", message_part_z, MR_STR_FMT(rec.broken_message));
    assert_true(mr_str_starts(rec.broken_message, MR_STR("in.jsonl, line 7: ")));
}

static void test_record_with_every_member(void **state)
{
    struct mr_record rec = read_line(
        "{\"topic\":\"shop.orders\",\"partition\":3,\"offset\":9007199254740993,\"timestamp\":1700000000123,"
        "\"key\":\"{\\\"id\\\":1}\",\"value\":\"{\\\"a\\\":1.10}\",\"headers\":[[\"h\",\"x\"],[\"n\",null]]}");
    (void)state;

    assert_null(rec.broken_code);
    assert_false(rec.is_bare);
    assert_str(rec.topic, "shop.orders");
    assert_int_equal(rec.partition, 3);
    assert_int_equal(rec.offset, INT64_C(9007199254740993));
    assert_int_equal(rec.timestamp_ms, INT64_C(1700000000123));
    assert_true(rec.has_key);
    assert_str(rec.key, "{\"id\":1}");
    assert_str(rec.value, "{\"a\":1.10}");
    assert_int_equal(rec.header_count, 2);
    assert_str(rec.headers[0].name, "h");
    assert_str(rec.headers[0].value, "x");
    assert_true(rec.headers[1].is_null);
}

static void test_kcat_line_is_a_record(void **state)
{
    struct mr_record rec = read_line(
        "{\"topic\":\"one\",\"partition\":0,\"offset\":0,\"tstype\":\"create\",\"ts\":1796073917350,"
        "\"broker\":1,\"headers\":[\"a\",\"1\",\"b\",\"2\"],\"key\":null,\"payload\":\"{\\\"a\\\":1}\"}");
    (void)state;

    assert_null(rec.broken_code);
    assert_false(rec.is_bare);
    assert_false(rec.has_key);
    assert_str(rec.value, "{\"a\":1}");
    assert_int_equal(rec.timestamp_ms, INT64_C(1796073917350));
    assert_int_equal(rec.header_count, 2);
    assert_str(rec.headers[1].name, "b");
    assert_str(rec.headers[1].value, "2");
}

static void test_document_arrives_compact_with_its_digits(void **state)
{
    struct mr_record rec = read_line(
        " { \"topic\" : \"t\", \"key\": { \"id\" : 18446744073709551616 }, "
        "\"value\": { \"a\" : 1.10 , \"t\" : \"x \\\" y\", \"l\" : [ 1 , 2 ] } } ");
    (void)state;

    assert_str(rec.key, "{\"id\":18446744073709551616}");
    assert_str(rec.value, "{\"a\":1.10,\"t\":\"x \\\" y\",\"l\":[1,2]}");
    assert_str(read_line("{\"topic\":\"t\",\"value\":1.50e2}").value, "1.50e2");
    assert_str(read_line("{\"topic\":\"t\",\"value\":[1, true]}").value, "[1,true]");
}

static void test_null_and_missing_are_no_bytes_and_empty_is_empty(void **state)
{
    struct mr_record tombstone = read_line("{\"topic\":\"t\",\"key\":\"{}\",\"value\":null}");
    struct mr_record no_key = read_line("{\"topic\":\"t\",\"value\":\"\"}");
    (void)state;

    assert_true(tombstone.has_key);
    assert_false(tombstone.has_value);
    assert_false(tombstone.is_bare);
    assert_false(no_key.has_key);
    assert_true(no_key.has_value);
    assert_int_equal(no_key.value.len, 0);
    assert_false(no_key.is_bare);
}

static void test_text_is_unescaped(void **state)
{
    (void)state;

    assert_str(read_line("{\"topic\":\"t\",\"value\":\"\\b\\f\\n\\r\\t\\/\\\\\\\"\\u00e9\\uD83D\\uDE00x\"}").value,
               "\b\f\n\r\t/\\\"\xC3\xA9\xF0\x9F\x98\x80x");
    assert_str(read_line("{\"topic\":\"t\",\"value\":\"\\ud800\\u0041\\udc00\"}").value,
               "\xED\xA0\x80"
               "A\xED\xB0\x80");
    assert_int_equal(read_line("{\"topic\":\"t\",\"value\":\"\\u0000\"}").value.len, 1);
    assert_str(read_line("{\"topic\":\"caf\\u00e9\",\"value\":\"{}\"}").topic, "caf\xC3\xA9");
    assert_broken("{\"topic\":\"t\",\"value\":\"\\x\"}", "\"value\"");
    assert_broken("{\"topic\":\"t\",\"key\":\"\\u12g4\",\"value\":\"\"}", "\"key\"");
    assert_broken("{\"topic\":\"t\",\"value\":\"\\u12\"}", "\"value\"");
}

static void test_base64_gives_exact_bytes(void **state)
{
    struct mr_record rec = read_line(
        "{\"topic\":\"t\",\"key\":null,\"key_base64\":\"AP8=\",\"value_base64\":\"/wAB\"}");
    (void)state;

    assert_int_equal(rec.key.len, 2);
    assert_memory_equal(rec.key.ptr, "\x00\xff", 2);
    assert_int_equal(rec.value.len, 3);
    assert_memory_equal(rec.value.ptr, "\xff\x00\x01", 3);
    assert_broken("{\"topic\":\"t\",\"value_base64\":\"*\"}", "\"value_base64\"");
    assert_broken("{\"topic\":\"t\",\"value_base64\":5}", "\"value_base64\"");
    /* base64 that is null says nothing */
    assert_str(read_line("{\"topic\":\"t\",\"value\":\"x\",\"value_base64\":null}").value, "x");
}

static void test_headers_in_three_spellings(void **state)
{
    static const char *const lines[] = {
        "{\"topic\":\"t\",\"value\":\"\",\"headers\":[ [\"a\", \"1\"], [\"b\",null] ,[\"a\",{\"x\": 1}]]}",
        "{\"topic\":\"t\",\"value\":\"\",\"headers\":[\"a\",\"1\",\"b\",null,\"a\",{\"x\":1}]}",
        "{\"topic\":\"t\",\"value\":\"\",\"headers\":{\"a\":\"1\", \"b\":null,\"\\u0061\":{\"x\":1}}}",
    };
    (void)state;

    for (size_t i = 0; i < 3; i++) {
        struct mr_record rec = read_line(lines[i]);

        assert_null(rec.broken_code);
        assert_int_equal(rec.header_count, 3);
        assert_str(rec.headers[0].name, "a");
        assert_str(rec.headers[0].value, "1");
        assert_false(rec.headers[0].is_null);
        assert_str(rec.headers[1].name, "b");
        assert_true(rec.headers[1].is_null);
        assert_str(rec.headers[2].name, "a");
        assert_str(rec.headers[2].value, "{\"x\":1}");
    }
    assert_int_equal(read_line("{\"topic\":\"t\",\"value\":\"\",\"headers\":[]}").header_count, 0);
    assert_int_equal(read_line("{\"topic\":\"t\",\"value\":\"\",\"headers\":{}}").header_count, 0);
    assert_int_equal(read_line("{\"topic\":\"t\",\"value\":\"\",\"headers\":null}").header_count, 0);
    assert_broken("{\"topic\":\"t\",\"value\":\"\",\"headers\":[\"a\"]}", "\"headers\"");
    assert_broken("{\"topic\":\"t\",\"value\":\"\",\"headers\":[[\"a\"]]}", "\"headers\"");
    assert_broken("{\"topic\":\"t\",\"value\":\"\",\"headers\":[1,2]}", "\"headers\"");
    assert_broken("{\"topic\":\"t\",\"value\":\"\",\"headers\":\"x\"}", "\"headers\"");
    assert_broken("{\"topic\":\"t\",\"value\":\"\",\"headers\":[[\"a\",1] [\"b\",2]]}", "\"headers\"");
}

static void test_too_many_headers_are_refused(void **state)
{
    struct mr_buf line = MR_BUF_INIT(1 << 20);
    (void)state;

    mr_buf_append_z(&line, "{\"topic\":\"t\",\"value\":\"\",\"headers\":[");
    for (int i = 0; i < 20000; i++)
        mr_buf_append_z(&line, i ? ",\"\",1" : "\"\",1");
    mr_buf_append_z(&line, "]}");
    assert_string_equal(read_bytes(line.data, line.len).broken_code, MR_CODE_BAD_LINE);
    mr_buf_free(&line);
}

static void test_time_is_a_number_or_iso(void **state)
{
    (void)state;

    assert_int_equal(
        read_line("{\"topic\":\"t\",\"timestamp\":\"2024-01-02T03:04:05.678Z\",\"value\":\"\"}").timestamp_ms,
        INT64_C(1704164645678));
    assert_int_equal(read_line("{\"topic\":\"t\",\"timestamp\":null,\"ts\":5,\"value\":\"\"}").timestamp_ms, 5);
    assert_broken("{\"topic\":\"t\",\"timestamp\":\"soon\",\"value\":\"\"}", "\"timestamp\"");
}

static void test_bare_events_are_not_mistaken(void **state)
{
    (void)state;

    assert_bare("{\"before\":null,\"after\":{\"id\":1},\"op\":\"c\"}");
    assert_bare("{\"schema\":{\"type\":\"struct\"},\"payload\":{\"op\":\"c\"}}"); /* Debezium's wrapper */
    assert_bare("{\"payload\":{\"op\":\"c\"},\"schema\":null}");
    assert_bare("{\"payload\":{\"op\":\"c\"}}");
    assert_bare("{\"id\":1,\"key\":\"color\",\"value\":\"red\"}");
    assert_bare("{\"key\":\"color\",\"value\":\"red\"}"); /* a table of settings */
    assert_bare("{\"key\":\"color\",\"value\":null}");
    assert_bare("{\"key\":5,\"value\":7}");
    assert_bare("{\"value\":{\"a\":1}}");
    assert_bare("{\"topic\":5,\"value\":7}");
    assert_bare("{\"topic\":\"a row about topics\"}");
    assert_bare("{\"_id\":{\"$oid\":\"5f\"},\"topic\":\"t\",\"value\":\"x\",\"offset\":1}");
    assert_bare("{\"offset\":3,\"value\":1.5}");
    assert_bare("{\"partition\":3,\"key\":\"k\"}");
    assert_bare("{\"key\":{\"id\":1}}");
    assert_bare("{}");
    /* The rest of a bare event is the decoder's to judge. */
    assert_bare("{\"id\":1,\"name\":");
    assert_bare("{\"id\":}");
}

static void test_evidence_makes_a_record(void **state)
{
    (void)state;

    assert_record("{\"topic\":\"t\",\"value\":{\"a\":1}}");
    assert_record("{\"topic\":\"t\",\"key\":\"k\",\"value\":\"no json\"}");
    assert_record("{\"partition\":0,\"offset\":1,\"value\":\"{}\"}");
    assert_record("{\"offset\":1,\"key\":null,\"value\":\"{}\"}");
    assert_record("{\"key\":{\"id\":1},\"value\":{\"a\":1}}");
    assert_record("{\"key\":\"{\\\"id\\\":1}\",\"value\":null}");
    assert_record("{\"key\":null,\"value\":\" {\\\"a\\\":1}\"}");
    assert_record("{\"value_base64\":\"\"}");
}

static void test_record_names_the_topic_or_the_configuration_does(void **state)
{
    (void)state;

    assert_str(read_line("{\"topic\":\"t\",\"value\":\"\"}").topic, "t");
    assert_str(read_line("{\"key\":{},\"value\":{}}").topic, "named");
    assert_int_equal(read_line("{\"key\":{},\"value\":{}}").offset, 7);
}

static void test_broken_lines_say_file_line_and_place(void **state)
{
    (void)state;

    assert_broken("not json", "a JSON object (one a line) expected at byte 1");
    assert_broken("[{\"a\":1}]", "a JSON object (one a line) expected at byte 1");
    assert_broken("{", "a member name expected at byte 2");
    assert_broken("{\"topic\"", "a colon expected");
    assert_broken("{\"topic\":", "a value expected");
    assert_broken("{\"topic\":\"t", "the end of a string");
    assert_broken("{\"topic\":\"t\\", "the end of a string");
    assert_broken("{\"topic\":\"t\",\"value\":{\"a\":[1,2}", "the end of an object or array");
    assert_broken("{\"topic\":\"t\" \"value\":1}", "a comma or the end of the object");
    assert_broken("{\"topic\":\"t\",\"value\":\"\"} x", "the end of the line");
    assert_broken("{\"topic\":\"t\",\"partition\":\"one\",\"value\":\"\"}", "\"partition\"");
    assert_broken("{\"topic\":\"t\",\"partition\":2147483648,\"value\":\"\"}", "\"partition\"");
    assert_broken("{\"topic\":\"t\",\"offset\":1.5,\"value\":\"\"}", "\"offset\"");
}

static void test_every_cut_of_a_record_is_survived(void **state)
{
    static const char line[] = "{\"topic\":\"t\\u00e9\",\"offset\":1,\"key\":{\"a\":[1,{}]},\"value\":\"\\uD83D\\uDE00\","
                               "\"headers\":[[\"a\",\"b\"],[\"c\",null]]}";
    (void)state;

    for (size_t len = 1; len < sizeof(line) - 1; len++)
        assert_non_null(read_bytes(line, len).broken_code);
    assert_null(read_bytes(line, sizeof(line) - 1).broken_code);
}

static void test_random_bytes_are_survived(void **state)
{
    static const char alphabet[] = "{}[]\",:\\u0a truefalsnl-1.e\x00\xff\xc3topicvaluekey";
    uint64_t seed = 42;
    (void)state;

    for (int round = 0; round < 20000; round++) {
        char line[96] = "{\"topic\":\"t\",\"value\":";
        size_t start = round % 2 ? strlen(line) : 0, len;

        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        len = start + (size_t)(seed >> 33) % (sizeof(line) - start);
        for (size_t i = start; i < len; i++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            line[i] = alphabet[(size_t)(seed >> 33) % (sizeof(alphabet) - 1)];
        }
        read_bytes(line, len);
        mr_arena_reset(ar);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_record_with_every_member),
        cmocka_unit_test(test_kcat_line_is_a_record),
        cmocka_unit_test(test_document_arrives_compact_with_its_digits),
        cmocka_unit_test(test_null_and_missing_are_no_bytes_and_empty_is_empty),
        cmocka_unit_test(test_text_is_unescaped),
        cmocka_unit_test(test_base64_gives_exact_bytes),
        cmocka_unit_test(test_headers_in_three_spellings),
        cmocka_unit_test(test_too_many_headers_are_refused),
        cmocka_unit_test(test_time_is_a_number_or_iso),
        cmocka_unit_test(test_bare_events_are_not_mistaken),
        cmocka_unit_test(test_evidence_makes_a_record),
        cmocka_unit_test(test_record_names_the_topic_or_the_configuration_does),
        cmocka_unit_test(test_broken_lines_say_file_line_and_place),
        cmocka_unit_test(test_every_cut_of_a_record_is_survived),
        cmocka_unit_test(test_random_bytes_are_survived),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
