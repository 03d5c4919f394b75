/* The JSON event reader: grammar, strings, limits, repeated members, compact text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <millrace/base/mem.h>
#include <millrace/base/utf8.h>

#include "decode/json.h"

static const struct mr_json_limits strict_limits = {.max_depth = 64, .max_bytes = 1 << 24};

struct fixture {
    struct mr_json_reader *strict, *words, *lenient;
    struct mr_arena *ar;
};

static int set_up(void **state)
{
    struct fixture *f = mr_xcalloc(1, sizeof *f);
    struct mr_json_limits limits = strict_limits;

    f->strict = mr_json_reader_create(&limits);
    limits.allow_words = true;
    f->words = mr_json_reader_create(&limits);
    limits.allow_ill_formed = true;
    f->lenient = mr_json_reader_create(&limits);
    f->ar = mr_arena_create(0);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    mr_json_reader_destroy(f->strict);
    mr_json_reader_destroy(f->words);
    mr_json_reader_destroy(f->lenient);
    mr_arena_destroy(f->ar);
    mr_xfree(f);
    return 0;
}

/* Parse an exact-size copy, so that the sanitizer sees a read beyond the end. */
static enum mr_status parse(struct fixture *f, struct mr_json_reader *reader, struct mr_str text,
                            struct mr_json_doc *doc, struct mr_error *err)
{
    char *copy = mr_arena_alloc(f->ar, text.len);

    memcpy(copy, text.ptr, text.len);
    return mr_json_parse(reader, mr_str_of(copy, text.len), doc, err);
}

static struct mr_json_doc accepted(struct fixture *f, struct mr_json_reader *reader, const char *text_z)
{
    struct mr_json_doc doc = {0};
    struct mr_error err = {0};

    if (parse(f, reader, mr_str_z(text_z), &doc, &err) != MR_OK)
        fail_msg("%s: %s", text_z, err.message);
    return doc;
}

static void refused(struct fixture *f, struct mr_json_reader *reader, struct mr_str text,
                    const char *part_of_message)
{
    struct mr_json_doc doc = {0};
    struct mr_error err = {0};

    if (parse(f, reader, text, &doc, &err) == MR_OK)
        fail_msg("accepted: %.*s", MR_STR_FMT(text));
    assert_int_equal(err.status, MR_E_DATA);
    assert_string_equal(err.code, MR_CODE_BAD_JSON);
    if (strstr(err.message, part_of_message) == NULL)
        fail_msg("\"%.*s\": \"%s\" lacks \"%s\"", MR_STR_FMT(text), err.message, part_of_message);
}

static void assert_text(struct mr_str got, const char *want_z)
{
    if (!mr_str_eq_z(got, want_z))
        fail_msg("got \"%.*s\", want \"%s\"", MR_STR_FMT(got), want_z);
}

/* ---- grammar ---- */

static void test_every_kind_of_value_has_its_node(void **state)
{
    struct fixture *f = *state;
    struct mr_json_doc doc = accepted(f, f->strict, " [null, true,false, -12.5e+3, \"s\", {\"a\":[]}, 7] ");
    static const enum mr_json_kind kinds[] = {MR_J_NULL, MR_J_TRUE, MR_J_FALSE, MR_J_NUMBER,
                                              MR_J_STRING, MR_J_OBJECT, MR_J_NUMBER};
    static const char *const raws[] = {"null", "true", "false", "-12.5e+3", "s", "{\"a\":[]}", "7"};
    size_t i = 0;

    assert_int_equal(mr_json_kind(&doc, 0), MR_J_ARRAY);
    assert_int_equal(doc.nodes[0].count, 7);
    for (uint32_t n = mr_json_first(&doc, 0); n != MR_JSON_NONE; n = mr_json_next_in(&doc, 0, n), i++) {
        assert_int_equal(mr_json_kind(&doc, n), kinds[i]);
        assert_text(mr_json_raw(&doc, n), raws[i]);
    }
    assert_int_equal(i, 7);
}

static void test_what_is_no_json_is_refused_with_place_and_expectation(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"", "expected a value at byte 0, found the end"},
        {"  ", "expected a value at byte 2"},
        {"nul", "expected a value at byte 0, found 'n'"},
        {"NaN", "expected a value at byte 0, found 'N'"},
        {"Infinity", "expected a value"},
        {"-Infinity", "expected a digit at byte 1, found 'I'"},
        {"undefined", "expected a value"},
        {"1 2", "expected nothing more after the value at byte 2, found '2'"},
        {"{}x", "expected nothing more"},
        {"01", "expected nothing more after the value at byte 1"},
        {"-", "expected a digit at byte 1, found the end"},
        {"1.", "expected a digit at byte 2"},
        {".5", "expected a value"},
        {"+1", "expected a value"},
        {"1e", "expected a digit"},
        {"1e+", "expected a digit at byte 3"},
        {"0x1", "expected nothing more"},
        {"[1,]", "expected a value at byte 3, found ']'"},
        {"[,1]", "expected a value at byte 1"},
        {"[1 2]", "expected \",\" or \"]\" at byte 3"},
        {"[1}", "expected \",\" or \"]\""},
        {"[", "expected a value at byte 1, found the end"},
        {"{", "expected a member name in quotation marks or \"}\" at byte 1, found the end"},
        {"{a:1}", "expected a member name in quotation marks or \"}\" at byte 1, found 'a'"},
        {"{\"a\" 1}", "expected a colon at byte 5"},
        {"{\"a\":}", "expected a value at byte 5"},
        {"{\"a\":1,}", "expected a member name in quotation marks at byte 7"},
        {"{\"a\":1", "expected \",\" or \"}\" at byte 6, found the end"},
        {"{\"a\":1]", "expected \",\" or \"}\""},
        {"{'a':1}", "member name"},
        {"\"a", "expected a closing quotation mark at byte 2"},
        {"\"a\\", "expected an escape"},
        {"\"\\x\"", "expected one of"},
        {"\"\\u12g4\"", "four hexadecimal digits"},
        {"\"\\u12", "four hexadecimal digits"},
        {"\"a\tb\"", "expected an escaped control character in a string at byte 2, found byte 0x09"},
        {"\"\x1f\"", "found byte 0x1F"},
        {"[1]//", "expected nothing more"},
        {"\xEF\xBB", "expected a value at byte 0, found byte 0xEF"},
        {"]", "expected a value"},
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refused(f, f->strict, mr_str_z(bad[i].text), bad[i].message);
    refused(f, f->strict, MR_STR("1\0"), "found byte 0x00");
}

static void test_a_byte_order_mark_and_blanks_around_are_allowed(void **state)
{
    struct fixture *f = *state;
    struct mr_json_doc doc = accepted(f, f->strict, "\xEF\xBB\xBF \r\n\t{ \"a\" : 1 } \n");

    assert_text(mr_json_raw(&doc, MR_JSON_MEMBER(&doc, 0, "a")), "1");
}

static void test_words_pass_only_where_allowed(void **state)
{
    struct fixture *f = *state;
    struct mr_json_doc doc = accepted(f, f->words, "[NaN,Infinity,-Infinity,-1]");

    assert_int_equal(mr_json_kind(&doc, 1), MR_J_WORD);
    assert_text(mr_json_raw(&doc, 3), "-Infinity");
    assert_int_equal(mr_json_kind(&doc, 4), MR_J_NUMBER);
    refused(f, f->words, MR_STR("[Nan]"), "expected a value at byte 1");
    refused(f, f->words, MR_STR("[-Inf]"), "expected a value at byte 1");
    refused(f, f->words, MR_STR("[NaN"), "expected \",\" or \"]\"");
    refused(f, f->words, MR_STR("[NaNs]"), "expected \",\" or \"]\" at byte 4");
}

static void test_numbers_keep_their_digits_and_tell_fractions(void **state)
{
    struct fixture *f = *state;
    struct mr_json_doc doc =
        accepted(f, f->strict, "[9007199254740993,18446744073709551616,1.10,1e2,-0,9223372036854775807,"
                               "-9223372036854775808,9223372036854775808]");
    int64_t v = 0;

    assert_text(mr_json_raw(&doc, 2), "18446744073709551616");
    assert_int_equal(doc.nodes[2].flags, 0);
    assert_int_equal(doc.nodes[3].flags, MR_JSON_FRACTION);
    assert_int_equal(doc.nodes[4].flags, MR_JSON_FRACTION);
    assert_true(mr_json_int64(&doc, 1, &v));
    assert_true(v == INT64_C(9007199254740993));
    assert_false(mr_json_int64(&doc, 2, &v));
    assert_false(mr_json_int64(&doc, 3, &v));
    assert_false(mr_json_int64(&doc, 4, &v));
    assert_true(mr_json_int64(&doc, 5, &v) && v == 0);
    assert_true(mr_json_int64(&doc, 6, &v) && v == INT64_MAX);
    assert_true(mr_json_int64(&doc, 7, &v) && v == INT64_MIN);
    assert_false(mr_json_int64(&doc, 8, &v));
    assert_false(mr_json_int64(&doc, MR_JSON_NONE, &v));
}

/* ---- strings ---- */

static void assert_string(struct fixture *f, struct mr_json_reader *reader, struct mr_str json,
                          struct mr_str want, unsigned want_flags)
{
    struct mr_json_doc doc = {0};
    struct mr_error err = {0};
    unsigned flags = 99;

    if (parse(f, reader, json, &doc, &err) != MR_OK)
        fail_msg("%.*s: %s", MR_STR_FMT(json), err.message);
    struct mr_str got = mr_json_string(&doc, 0, f->ar, &flags);
    if (!mr_str_eq(got, want))
        fail_msg("%.*s gives \"%.*s\"", MR_STR_FMT(json), MR_STR_FMT(got));
    assert_int_equal(flags, want_flags);
    assert_true(mr_json_string_is(&doc, 0, want));
    assert_false(mr_json_string_is(&doc, 0, MR_STR("something else")));
    assert_int_equal(mr_utf8_check(got), want_flags);
}

static void test_strings_are_unescaped_when_wanted(void **state)
{
    struct fixture *f = *state;

    assert_string(f, f->strict, MR_STR("\"\""), MR_STR(""), 0);
    assert_string(f, f->strict, MR_STR("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), MR_STR("\"\\/\b\f\n\r\t"), 0);
    assert_string(f, f->strict, MR_STR("\"\\u0041\\u00e9\\u20AC\""), MR_STR("A\xC3\xA9\xE2\x82\xAC"), 0);
    assert_string(f, f->strict, MR_STR("\"\\uD83D\\uDE00\""), MR_STR("\xF0\x9F\x98\x80"), 0);
    assert_string(f, f->strict, MR_STR("\"0123456789abcdef0123456789\\\"abcdef0123456789\\\\\""),
                  MR_STR("0123456789abcdef0123456789\"abcdef0123456789\\"), 0);
    assert_string(f, f->strict, MR_STR("\"\x7f\""), MR_STR("\x7f"), 0);
}

static void test_nul_and_lone_surrogates_are_reported(void **state)
{
    struct fixture *f = *state;

    assert_string(f, f->strict, MR_STR("\"a\\u0000b\""), MR_STR("a\0b"), MR_TEXT_HAS_NUL);
    assert_string(f, f->strict, MR_STR("\"\\uD800\""), MR_STR("\xED\xA0\x80"), MR_TEXT_HAS_SURROGATE);
    assert_string(f, f->strict, MR_STR("\"\\uDC00\""), MR_STR("\xED\xB0\x80"), MR_TEXT_HAS_SURROGATE);
    assert_string(f, f->strict, MR_STR("\"\\uDBFFx\""), MR_STR("\xED\xAF\xBFx"), MR_TEXT_HAS_SURROGATE);
    /* The second high surrogate finds its low one. */
    assert_string(f, f->strict, MR_STR("\"\\uD83D\\uD83D\\uDE00\""),
                  MR_STR("\xED\xA0\xBD\xF0\x9F\x98\x80"), MR_TEXT_HAS_SURROGATE);
    assert_string(f, f->strict, MR_STR("\"\\uD800\\u0000\""), MR_STR("\xED\xA0\x80\0"),
                  MR_TEXT_HAS_SURROGATE | MR_TEXT_HAS_NUL);
    assert_string(f, f->strict, MR_STR("\"\\uD800\\n\""), MR_STR("\xED\xA0\x80\n"), MR_TEXT_HAS_SURROGATE);
}

static void test_utf8_is_checked_byte_by_byte(void **state)
{
    struct fixture *f = *state;
    static const char *const good[] = {"\"\xC2\x80\"", "\"\xDF\xBF\"", "\"\xE0\xA0\x80\"", "\"\xED\x9F\xBF\"",
                                       "\"\xEE\x80\x80\"", "\"\xEF\xBF\xBF\"", "\"\xF0\x90\x80\x80\"",
                                       "\"\xF4\x8F\xBF\xBF\""};
    static const char *const bad[] = {"\"\x80\"", "\"\xC0\x80\"", "\"\xC1\xBF\"", "\"\xC2\"", "\"\xC2",
                                      "\"\xE0\x9F\xBF\"", "\"\xED\xA0\x80\"", "\"\xED\xBF\xBF\"",
                                      "\"\xE2\x82\"", "\"\xF0\x8F\xBF\xBF\"", "\"\xF4\x90\x80\x80\"",
                                      "\"\xF5\x80\x80\x80\"", "\"\xFF\"", "\"\xF0\x9F\x98\"",
                                      "{\"\xFF\":1}"};

    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        accepted(f, f->strict, good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refused(f, f->strict, mr_str_z(bad[i]), "expected well-formed UTF-8");
    assert_string(f, f->lenient, MR_STR("\"a\xFF\xED\xA0\x80\""), MR_STR("a\xFF\xED\xA0\x80"),
                  mr_utf8_check(MR_STR("a\xFF\xED\xA0\x80")) | MR_TEXT_ILL_FORMED);
}

/* The vector path looks at 16 bytes at a time: everything special at every distance from the start and the end. */
static void test_special_bytes_are_seen_at_every_offset(void **state)
{
    struct fixture *f = *state;

    for (size_t before = 0; before < 40; before++) {
        for (size_t after = 0; after < 20; after++) {
            char json[80], want[80];
            size_t n = 0, w = 0;

            json[n++] = '"';
            for (size_t i = 0; i < before; i++)
                json[n++] = want[w++] = (char)('a' + i % 26);
            memcpy(json + n, "\\\"", 2);
            want[w++] = '"';
            n += 2;
            for (size_t i = 0; i < after; i++)
                json[n++] = want[w++] = (char)('A' + i % 26);
            json[n++] = '"';
            assert_string(f, f->strict, mr_str_of(json, n), mr_str_of(want, w), 0);
            refused(f, f->strict, mr_str_of(json, n - 1), "closing quotation mark");
            json[before + 1] = '\n';
            refused(f, f->strict, mr_str_of(json, n), "control character");
            json[before + 1] = (char)0xC3;
            refused(f, f->strict, mr_str_of(json, n), "well-formed UTF-8");
        }
    }
}

/* ---- limits ---- */

static void test_depth_is_limited_exactly(void **state)
{
    struct fixture *f = *state;
    char text[131];

    memset(text, '[', 65);
    memset(text + 65, ']', 65);
    refused(f, f->strict, mr_str_of(text, 130), "limits.depth at byte 64");
    memset(text, '[', 64);
    memset(text + 64, ']', 64);
    text[128] = '\0';
    accepted(f, f->strict, text);
}

static void test_size_is_limited(void **state)
{
    (void)state;
    struct mr_json_limits limits = {.max_depth = 4, .max_bytes = 8};
    struct mr_json_reader *reader = mr_json_reader_create(&limits);
    struct mr_json_doc doc;
    struct mr_error err = {0};

    assert_int_equal(mr_json_parse(reader, MR_STR("\"123456\""), &doc, &err), MR_OK);
    assert_int_equal(mr_json_parse(reader, MR_STR("\"1234567\""), &doc, &err), MR_E_DATA);
    assert_string_equal(err.code, MR_CODE_TOO_LARGE);
    mr_json_reader_destroy(reader);
}

static void test_a_reader_goes_on_after_a_refusal_and_documents_in_an_arena_stay(void **state)
{
    struct fixture *f = *state;
    struct mr_json_doc first, second;
    struct mr_error err = {0};

    assert_int_equal(mr_json_parse_arena(f->strict, MR_STR("{\"a\":[1,2]}"), f->ar, &first, &err), MR_OK);
    refused(f, f->strict, MR_STR("{\"a\":[1"), "expected");
    second = accepted(f, f->strict, "[true]");
    assert_int_equal(mr_json_kind(&second, 1), MR_J_TRUE);
    assert_text(mr_json_raw(&first, MR_JSON_MEMBER(&first, 0, "a")), "[1,2]");
}

/* ---- members ---- */

static void test_members_are_found_by_unescaped_name_and_the_last_one_wins(void **state)
{
    struct fixture *f = *state;
    struct mr_json_doc doc =
        accepted(f, f->strict, "{\"a\":1,\"\":2,\"b\":{\"a\":9},\"\\u0061\":3,\"c\\\"\":4}");

    assert_text(mr_json_raw(&doc, MR_JSON_MEMBER(&doc, 0, "a")), "3");
    assert_text(mr_json_raw(&doc, mr_json_member(&doc, 0, (struct mr_str){NULL, 0})), "2");
    assert_text(mr_json_raw(&doc, MR_JSON_MEMBER(&doc, 0, "c\"")), "4");
    assert_int_equal(MR_JSON_MEMBER(&doc, 0, "z"), MR_JSON_NONE);
    assert_int_equal(MR_JSON_MEMBER(&doc, MR_JSON_NONE, "a"), MR_JSON_NONE);
    assert_int_equal(MR_JSON_MEMBER(&doc, 2, "a"), MR_JSON_NONE); /* a number has no members */

    uint32_t a = mr_json_first(&doc, 0);
    assert_true(mr_json_is_shadowed(&doc, 0, a));
    uint32_t empty = mr_json_next_in(&doc, 0, a);
    assert_false(mr_json_is_shadowed(&doc, 0, empty));
}

static void test_empty_containers_have_no_first(void **state)
{
    struct fixture *f = *state;
    struct mr_json_doc doc = accepted(f, f->strict, "[{},[],1]");

    assert_int_equal(mr_json_first(&doc, 1), MR_JSON_NONE);
    assert_int_equal(mr_json_first(&doc, 2), MR_JSON_NONE);
    assert_int_equal(mr_json_first(&doc, 3), MR_JSON_NONE);
    assert_int_equal(mr_json_first(&doc, MR_JSON_NONE), MR_JSON_NONE);
    assert_int_equal(mr_json_next_in(&doc, 0, 3), MR_JSON_NONE);
}

/* Large objects are looked through when parsed; 200,000 names must not take 200,000 squared steps. */
static void test_repeated_names_in_a_large_object_are_found_quickly(void **state)
{
    struct fixture *f = *state;
    enum { NAMES = 200000 };
    struct mr_buf buf = MR_BUF_INIT((size_t)1 << 24);
    struct mr_json_doc doc;
    struct mr_error err = {0};
    size_t shadowed = 0, members = 0;

    mr_buf_append_char(&buf, '{');
    for (int i = 0; i < NAMES; i++)
        mr_buf_printf(&buf, "%s\"%s%d\":%d", i ? "," : "", i % 3 ? "n" : "\\u006e", i / 2, i);
    mr_buf_append_char(&buf, '}');
    assert_int_equal(mr_json_parse(f->strict, mr_buf_str(&buf), &doc, &err), MR_OK);
    for (uint32_t n = mr_json_first(&doc, 0); n != MR_JSON_NONE; n = mr_json_next_in(&doc, 0, n)) {
        int64_t value = -1;
        assert_true(mr_json_int64(&doc, n + 1, &value));
        assert_int_equal(mr_json_is_shadowed(&doc, 0, n), value % 2 == 0);
        shadowed += mr_json_is_shadowed(&doc, 0, n);
        members++;
    }
    assert_int_equal(members, NAMES);
    assert_int_equal(shadowed, NAMES / 2);
    mr_buf_free(&buf);
}

/* One name occurs twice, or none, at sizes around every border of the way it is looked for. */
static void test_one_repeated_name_is_found_in_an_object_of_any_size(void **state)
{
    static const int sizes[] = {2, 47, 48, 49, 50, 64, 100, 1000, 4095, 4096, 4097, 5000};
    struct fixture *f = *state;
    struct mr_buf buf = MR_BUF_INIT((size_t)1 << 20);

    for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
        for (int twin = -1; twin < sizes[s] - 1; twin += sizes[s] / 2) { /* this member's name is the last one's, too */
            struct mr_json_doc doc;
            struct mr_error err = {0};
            int i = 0;

            mr_buf_clear(&buf);
            for (i = 0; i < sizes[s]; i++)
                mr_buf_printf(&buf, "%c\"column %d\":0", i ? ',' : '{', i == sizes[s] - 1 && twin >= 0 ? twin : i);
            mr_buf_append_char(&buf, '}');
            assert_int_equal(mr_json_parse(f->strict, mr_buf_str(&buf), &doc, &err), MR_OK);
            i = 0;
            for (uint32_t n = mr_json_first(&doc, 0); n != MR_JSON_NONE; n = mr_json_next_in(&doc, 0, n), i++)
                assert_int_equal(mr_json_is_shadowed(&doc, 0, n), i == twin);
        }
    }
    mr_buf_free(&buf);
}

/* ---- compact text ---- */

static void assert_compact(struct fixture *f, const char *json_z, const char *want_z)
{
    struct mr_json_doc doc = accepted(f, f->words, json_z);
    struct mr_buf buf = MR_BUF_INIT(1 << 20);

    assert_text(mr_json_text(&doc, 0, f->ar, NULL), want_z);
    mr_json_append(&doc, 0, &buf);
    assert_text(mr_buf_str(&buf), want_z);
    mr_buf_free(&buf);
}

static void test_compact_text_keeps_order_digits_and_escapes(void **state)
{
    struct fixture *f = *state;

    assert_compact(f, " { \"b\" : [ 1.10 , { } , [ ] , \"x y\\u0041\" ] , \"a\" : null } ",
                   "{\"b\":[1.10,{},[],\"x y\\u0041\"],\"a\":null}");
    assert_compact(f, "[ NaN,-Infinity ]", "[\"NaN\",\"-Infinity\"]");
    assert_compact(f, "[NaN  ]", "[\"NaN\"]"); /* as long as it would be without the word */
    assert_compact(f, "NaN", "\"NaN\"");
    assert_compact(f, " 12 ", "12");
    assert_compact(f, "\"s\"", "\"s\"");
    assert_compact(f, "[[[1 ]]]", "[[[1]]]");
}

static void test_compact_text_leaves_hidden_members_out(void **state)
{
    struct fixture *f = *state;

    assert_compact(f, "{\"a\":1,\"a\":2}", "{\"a\":2}");
    assert_compact(f, "{\"a\":{\"x\":[1,2]},\"a\":[3],\"b\":0,\"a\":2}", "{\"b\":0,\"a\":2}");
    assert_compact(f, "[{\"b\":{\"c\":1,\"c\":2},\"a\":1,\"a\":{\"d\":3,\"d\":\"x\"}} , 5]",
                   "[{\"b\":{\"c\":2},\"a\":{\"d\":\"x\"}},5]");
    assert_compact(f, "{\"\\u0061\":[],\"b\":1,\"a\":2}", "{\"b\":1,\"a\":2}");
}

static void test_compact_text_is_borrowed_where_it_is_compact_already(void **state)
{
    struct fixture *f = *state;
    struct mr_json_doc doc = accepted(f, f->strict, "[1, {\"a\":[1,\"\\u0000\"],\"b\":\"\\uD800\"} ]");
    unsigned flags = 0;
    struct mr_str text = mr_json_text(&doc, 2, f->ar, &flags);

    assert_ptr_equal(text.ptr, doc.text.ptr + 4);
    assert_text(text, "{\"a\":[1,\"\\u0000\"],\"b\":\"\\uD800\"}");
    assert_int_equal(flags, MR_TEXT_HAS_NUL | MR_TEXT_HAS_SURROGATE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind_of_value_has_its_node),
        cmocka_unit_test(test_what_is_no_json_is_refused_with_place_and_expectation),
        cmocka_unit_test(test_a_byte_order_mark_and_blanks_around_are_allowed),
        cmocka_unit_test(test_words_pass_only_where_allowed),
        cmocka_unit_test(test_numbers_keep_their_digits_and_tell_fractions),
        cmocka_unit_test(test_strings_are_unescaped_when_wanted),
        cmocka_unit_test(test_nul_and_lone_surrogates_are_reported),
        cmocka_unit_test(test_utf8_is_checked_byte_by_byte),
        cmocka_unit_test(test_special_bytes_are_seen_at_every_offset),
        cmocka_unit_test(test_depth_is_limited_exactly),
        cmocka_unit_test(test_size_is_limited),
        cmocka_unit_test(test_a_reader_goes_on_after_a_refusal_and_documents_in_an_arena_stay),
        cmocka_unit_test(test_members_are_found_by_unescaped_name_and_the_last_one_wins),
        cmocka_unit_test(test_empty_containers_have_no_first),
        cmocka_unit_test(test_repeated_names_in_a_large_object_are_found_quickly),
        cmocka_unit_test(test_one_repeated_name_is_found_in_an_object_of_any_size),
        cmocka_unit_test(test_compact_text_keeps_order_digits_and_escapes),
        cmocka_unit_test(test_compact_text_leaves_hidden_members_out),
        cmocka_unit_test(test_compact_text_is_borrowed_where_it_is_compact_already),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
