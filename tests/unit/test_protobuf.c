/* Protobuf's texts and messages by themselves. What whole records look like show tests/cases/run_payload_cases.py and the recorded streams. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <millrace/base/mem.h>

#include "decode/proto.h"

struct proto {
    struct mr_proto *p;
    struct mr_json_build build;
    struct mr_arena *ar;
    struct mr_json_doc doc;
    struct mr_error err;
};

static struct proto *with_text(const char *text_z)
{
    struct proto *t = mr_xcalloc(1, sizeof(*t));
    t->p = mr_proto_create();
    t->ar = mr_arena_create(0);
    mr_json_build_init(&t->build, 1 << 20);
    assert_int_equal(mr_proto_add(t->p, MR_STR(""), mr_str_z(text_z), &t->err), MR_OK);
    return t;
}

static void proto_free(struct proto *t)
{
    mr_json_build_free(&t->build);
    mr_arena_destroy(t->ar);
    mr_proto_destroy(t->p);
    mr_xfree(t);
}

static enum mr_status read_bytes(struct proto *t, const void *bytes, size_t len)
{
    struct mr_str rest = mr_str_of(bytes, len);
    struct mr_proto_message *msg;
    mr_json_build_reset(&t->build);
    enum mr_status status = mr_proto_message_of(t->p, &rest, false, &msg, &t->err);
    if (status == MR_OK)
        status = mr_proto_read(msg, rest, false, &t->build, &t->err);
    return status != MR_OK ? status : mr_json_build_finish(&t->build, t->ar, &t->doc, &t->err);
}

static void assert_reads(struct proto *t, const void *bytes, size_t len, const char *json_z)
{
    assert_int_equal(read_bytes(t, bytes, len), MR_OK);
    assert_string_equal(mr_arena_strndup(t->ar, t->doc.text.ptr, t->doc.text.len), json_z);
}
#define ASSERT_READS(t, literal, json) assert_reads((t), (literal), sizeof(literal) - 1, (json))

static void assert_code(struct proto *t, const void *bytes, size_t len, const char *code_z)
{
    assert_int_equal(read_bytes(t, bytes, len), MR_E_DATA);
    assert_string_equal(t->err.code, code_z);
}
#define ASSERT_CODE(t, literal, code) assert_code((t), (literal), sizeof(literal) - 1, (code))

static void link_now(struct proto *t)
{
    assert_int_equal(mr_proto_link(t->p, &t->err), MR_OK);
}

static void test_texts_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"message",
                                        "message A {",
                                        "message A { int32 }",
                                        "message A { int32 a = 0; }",
                                        "message A { int32 a = 1 }",
                                        "hello",
                                        "message A { int32 a = x; }",
                                        "enum E { A = ; }",
                                        "import \"x",
                                        "message A { map<int32> m = 1; }",
                                        "/* never closed"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]) - 1; i++) {
        struct mr_proto *p = mr_proto_create();
        struct mr_error err = {0};
        assert_int_equal(mr_proto_add(p, MR_STR(""), mr_str_z(texts[i]), &err), MR_E_DATA);
        assert_string_equal(err.code, MR_CODE_BAD_SCHEMA);
        mr_proto_destroy(p);
    }
}

static void test_unknown_type_is_refused_by_name(void **state)
{
    (void)state;
    struct proto *t = with_text("syntax = \"proto3\"; message A { Missing m = 1; }");
    assert_int_equal(mr_proto_link(t->p, &t->err), MR_E_DATA);
    assert_non_null(strstr(t->err.message, "Missing"));
    proto_free(t);
}

static void test_names_are_found_from_the_inside_out(void **state)
{
    (void)state;
    struct proto *t = with_text("syntax = \"proto3\"; package p.q; message B { string out = 1; } message A { "
                                "message B { int32 in = 1; } B near = 1; "
                                ".p.q.B far = 2; q.B half = 3; }");
    link_now(t);
    ASSERT_READS(t, "\x02\x02\x0a\x02\x08\x05\x12\x03\x0a\x01x\x1a\x00",
                 "{\"near\":{\"in\":5},\"far\":{\"out\":\"x\"},\"half\":{\"out\":\"\"}}");
    proto_free(t);
}

static void test_fields_may_be_scattered_and_repeated(void **state)
{
    (void)state;
    struct proto *t = with_text("syntax = \"proto3\"; message A { int32 a = 1; repeated int32 r = 2; M m = "
                                "3; message M { int32 x = 1; int32 y = 2; } }");
    link_now(t);
    ASSERT_READS(t,
                 "\x00"
                 "\x08\x01"         /* a = 1 */
                 "\x10\x07"         /* r: 7, not packed */
                 "\x1a\x02\x08\x05" /* m: x = 5 */
                 "\x12\x02\x08\x09" /* r: 8, 9, packed */
                 "\x08\x02"         /* a = 2: the last counts */
                 "\x1a\x02\x10\x06" /* m: y = 6, merged */,
                 "{\"a\":2,\"r\":[7,8,9],\"m\":{\"x\":5,\"y\":6}}");
    proto_free(t);
}

static void test_fields_are_found_by_number_among_unknown_ones(void **state)
{
    (void)state;
    struct proto *t = with_text("syntax = \"proto3\"; message A { int32 e = 50; int32 a = 1; int32 d = 40; "
                                "int32 c = 30; int32 b = 20; }");
    link_now(t);
    /* 2 (unknown), 30, 99 (unknown), 1, 20, 51 (unknown), 50, 40 */
    ASSERT_READS(
        t, "\x00\x10\x01\xf0\x01\x03\x98\x06\x01\x08\x01\xa0\x01\x02\x98\x03\x01\x90\x03\x05\xc0\x02\x04",
        "{\"e\":5,\"a\":1,\"d\":4,\"c\":3,\"b\":2}");
    proto_free(t);
}

static void test_last_member_of_a_oneof_wins(void **state)
{
    (void)state;
    struct proto *t = with_text("syntax = \"proto3\"; message A { oneof o { string s = 1; int32 i = 2; } }");
    link_now(t);
    ASSERT_READS(t, "\x00\x0a\x01x\x10\x05", "{\"s\":null,\"i\":5}");
    ASSERT_READS(t, "\x00\x10\x05\x0a\x01x", "{\"s\":\"x\",\"i\":null}");
    proto_free(t);
}

static void test_proto2_has_defaults_groups_and_presence(void **state)
{
    (void)state;
    struct proto *t = with_text("syntax = \"proto2\"; message A { optional int32 a = 1 [default = -7]; "
                                "optional string b = 2 [default = \"q\\x41\\n\"]; "
                                "optional int32 c = 3; optional group G = 4 { optional int32 x = 5; } "
                                "required E e = 6; } enum E { ONE = 1; TWO = 2; }");
    link_now(t);
    ASSERT_READS(t, "\x00", "{\"a\":-7,\"b\":\"qA\\u000a\",\"c\":null,\"g\":null,\"e\":null}");
    ASSERT_READS(t, "\x00\x23\x28\x09\x24\x30\x02",
                 "{\"a\":-7,\"b\":\"qA\\u000a\",\"c\":null,\"g\":{\"x\":9},\"e\":\"TWO\"}");
    proto_free(t);
}

static void test_defaults_that_a_field_cannot_have_are_refused(void **state)
{
    (void)state;
    static const char *const fields[] = {
        "int32 a = 1 [default = 2147483648]", "uint32 a = 1 [default = -1]",
        "int32 a = 1 [default = many]",       "bool a = 1 [default = 1]",
        "double a = 1 [default = wide]",      "uint64 a = 1 [default = 0x1ffffffffffffffff]",
        "int32 a = 1 [default = 08]"};
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        char text[200];
        snprintf(text, sizeof(text), "message A { optional %s; }", fields[i]);
        struct proto *t = with_text(text);
        assert_int_equal(mr_proto_link(t->p, &t->err), MR_E_DATA);
        assert_string_equal(t->err.code, MR_CODE_BAD_SCHEMA);
        proto_free(t);
    }
}

static void test_defaults_are_read_as_the_compiler_reads_them(void **state)
{
    (void)state;
    struct proto *t = with_text(
        "message A { optional int32 a = 1 [default = -0x10]; optional uint64 b = 2 [default = 010]; optional "
        "bytes c = 3 [default = \"\\001\" '\\xff', deprecated = true]; optional double d = 4 [default = "
        "-inf]; "
        "optional sint64 e = 5 [default = -9223372036854775808]; }");
    link_now(t);
    ASSERT_READS(t, "\x00",
                 "{\"a\":-16,\"b\":8,\"c\":\"Af8=\",\"d\":\"-Infinity\",\"e\":-9223372036854775808}");
    proto_free(t);
}

static void test_editions_say_which_fields_can_be_absent(void **state)
{
    (void)state;
    struct proto *t = with_text(
        "edition = \"2023\"; option features.field_presence = IMPLICIT; message A { int32 a = 1; int32 b = 2 "
        "[features.field_presence = EXPLICIT]; B c = 3 [features.message_encoding = DELIMITED]; } "
        "message B { int32 x = 1 [features.field_presence = LEGACY_REQUIRED]; }");
    link_now(t);
    ASSERT_READS(t, "\x00\x1b\x08\x05\x1c", "{\"a\":0,\"b\":null,\"c\":{\"x\":5}}");
    proto_free(t);
    t = with_text(
        "edition = \"2023\"; message A { int32 a = 1; int32 b = 2 [features.field_presence = IMPLICIT]; }");
    link_now(t);
    ASSERT_READS(t, "\x00", "{\"a\":null,\"b\":0}");
    proto_free(t);
}

static void test_map_printed_as_entries_is_a_map(void **state)
{
    (void)state;
    struct proto *t = with_text("syntax = \"proto3\"; package p; message M { repeated .p.M.SomeCountsEntry "
                                "some_counts = 1; message SomeCountsEntry { string key = 1; "
                                "int64 value = 2; } }");
    link_now(t);
    ASSERT_READS(t, "\x00\x0a\x05\x0a\x01k\x10\x03\x0a\x00", "{\"some_counts\":{\"k\":3,\"\":0}}");
    proto_free(t);
}

static void test_words_of_the_language_may_be_names(void **state)
{
    (void)state;
    struct proto *t = with_text("syntax = \"proto3\"; message message { string option_ = 1; enum enum { X = "
                                "0; } enum e = 2; int32 syntax = 3; "
                                "reserved 9, 10 to max; reserved \"old\"; }");
    link_now(t);
    ASSERT_READS(t, "\x00\x18\x01", "{\"option_\":\"\",\"e\":\"X\",\"syntax\":1}");
    proto_free(t);
}

static void test_damaged_data_is_refused_by_name(void **state)
{
    (void)state;
    struct proto *t = with_text("syntax = \"proto3\"; message A { int32 a = 1; string s = 2; }");
    link_now(t);
    ASSERT_CODE(t, "", MR_CODE_TRUNCATED);
    ASSERT_CODE(t, "\x02\x08", MR_CODE_CORRUPT);     /* no such message */
    ASSERT_CODE(t, "\x01", MR_CODE_CORRUPT);         /* a negative count */
    ASSERT_CODE(t, "\x00\x00\x01", MR_CODE_CORRUPT); /* field number 0 */
    ASSERT_CODE(t, "\x00\x0f\x01", MR_CODE_CORRUPT); /* wire type 7 */
    ASSERT_CODE(t, "\x00\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", MR_CODE_CORRUPT);
    ASSERT_CODE(t,
                "\x00\x12\x05"
                "ab",
                MR_CODE_TRUNCATED);
    ASSERT_CODE(t, "\x00\x12\x01\xff", MR_CODE_BAD_UTF8);
    ASSERT_CODE(t, "\x00\x0c", MR_CODE_CORRUPT); /* a group ends that has not begun */
    proto_free(t);
}

static void test_nesting_without_end_is_refused(void **state)
{
    (void)state;
    struct proto *t = with_text("syntax = \"proto3\"; message A { A a = 1; int32 x = 2; }");
    link_now(t);
    char bytes[3000];
    bytes[0] = 0;
    size_t n = 1;
    memset(bytes + n, 0x0b, 2000); /* groups in groups, of a field that is none */
    assert_code(t, bytes, n + 2000, MR_CODE_LIMIT_EXCEEDED);
    proto_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts_that_make_no_sense_are_refused),
        cmocka_unit_test(test_unknown_type_is_refused_by_name),
        cmocka_unit_test(test_names_are_found_from_the_inside_out),
        cmocka_unit_test(test_fields_may_be_scattered_and_repeated),
        cmocka_unit_test(test_fields_are_found_by_number_among_unknown_ones),
        cmocka_unit_test(test_last_member_of_a_oneof_wins),
        cmocka_unit_test(test_proto2_has_defaults_groups_and_presence),
        cmocka_unit_test(test_defaults_that_a_field_cannot_have_are_refused),
        cmocka_unit_test(test_defaults_are_read_as_the_compiler_reads_them),
        cmocka_unit_test(test_editions_say_which_fields_can_be_absent),
        cmocka_unit_test(test_map_printed_as_entries_is_a_map),
        cmocka_unit_test(test_words_of_the_language_may_be_names),
        cmocka_unit_test(test_damaged_data_is_refused_by_name),
        cmocka_unit_test(test_nesting_without_end_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
