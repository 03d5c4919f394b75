/* Base: errors, borrowed strings, integers, UTF-8, encodings, hashes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <millrace/base/arena.h>
#include <millrace/base/encode.h>
#include <millrace/base/error.h>
#include <millrace/base/hash.h>
#include <millrace/base/mem.h>
#include <millrace/base/str.h>
#include <millrace/base/utf8.h>

static void assert_str(struct mr_str have, const char *want)
{
    if (!mr_str_eq_z(have, want))
        fail_msg("\"%.*s\" is not \"%s\"", MR_STR_FMT(have), want);
}

/* ---- Errors ---- */

static void test_an_error_has_class_code_and_text(void **state)
{
    (void)state;
    struct mr_error err = {0};
    assert_int_equal(mr_fail(&err, MR_E_ENV, "cannot reach %s", "db"), MR_E_ENV);
    assert_int_equal(err.status, MR_E_ENV);
    assert_string_equal(err.code, "env");
    assert_string_equal(err.message, "cannot reach db");
    assert_int_equal(err.row, -1);
    assert_int_equal(mr_fail_data(&err, MR_CODE_NULL_KEY, "no"), MR_E_DATA);
    assert_string_equal(err.code, "null_key");
    assert_int_equal(mr_fail(NULL, MR_E_BUG, "nobody listens"), MR_E_BUG);
    assert_int_equal(mr_fail_data(NULL, MR_CODE_NULL_KEY, "nobody"), MR_E_DATA);
}

static void test_a_new_error_forgets_the_old_one(void **state)
{
    (void)state;
    struct mr_error err = {0};
    (void)mr_fail(&err, MR_E_ENV, "first");
    mr_error_hint(&err, "hint %d", 1);
    mr_error_detail(&err, "detail");
    mr_error_field(&err, "a.b", 3);
    assert_string_equal(err.hint, "hint 1");
    assert_string_equal(err.detail, "detail");
    assert_string_equal(err.field, "a.b");
    (void)mr_fail(&err, MR_E_BUSY, "second after %s", err.message);
    assert_string_equal(err.message, "second after first");
    assert_string_equal(err.hint, "");
    assert_string_equal(err.detail, "");
    assert_string_equal(err.field, "");
    mr_error_prefix(&err, "%s: ", "shop.orders");
    assert_string_equal(err.message, "shop.orders: second after first");
    mr_error_hint(NULL, "nobody");
    mr_error_detail(NULL, "nobody");
    mr_error_prefix(NULL, "nobody");
    mr_error_field(NULL, "a", 1);
}

static void test_a_long_error_is_cut_between_characters_on_one_line(void **state)
{
    (void)state;
    struct mr_error err = {0};
    char text[4000];
    for (size_t i = 0; i + 2 < sizeof(text); i += 2)
        memcpy(text + i, "\xC3\xA4", 2);
    text[sizeof(text) - 2] = 0;
    (void)mr_fail(&err, MR_E_ENV, "%s", text);
    assert_int_equal(strlen(err.message), 766);
    assert_int_equal(mr_utf8_check(mr_str_z(err.message)), 0);
    mr_error_prefix(&err, "%s", text);
    assert_int_equal(strlen(err.message), 766);
    mr_error_hint(&err, "%s", text);
    assert_int_equal(strlen(err.hint), 1022);
    mr_error_field(&err, text, strlen(text));
    assert_int_equal(strlen(err.field), 254);
    (void)mr_fail(&err, MR_E_ENV, "two\nlines\tand a tail\r\n");
    assert_string_equal(err.message, "two lines and a tail");
}

static void test_every_status_has_its_name(void **state)
{
    (void)state;
    const char *names[] = {"ok", "config", "env", "busy", "schema", "data", "fenced", "stopped", "bug"};
    for (int i = 0; i <= MR_E_BUG; i++)
        assert_string_equal(mr_status_name((enum mr_status)i), names[i]);
}

/* ---- Strings ---- */

static void test_strings_compare_by_bytes_then_length(void **state)
{
    (void)state;
    assert_true(mr_str_cmp(MR_STR("a"), MR_STR("b")) < 0);
    assert_true(mr_str_cmp(MR_STR("b"), MR_STR("a")) > 0);
    assert_true(mr_str_cmp(MR_STR("a"), MR_STR("ab")) < 0);
    assert_true(mr_str_cmp(MR_STR("\xff"), MR_STR("a")) > 0);
    assert_true(mr_str_cmp(MR_STR("a\0b"), MR_STR("a\0a")) > 0);
    assert_int_equal(mr_str_cmp(mr_str_of(NULL, 0), MR_STR("")), 0);
    assert_true(mr_str_eq(mr_str_of(NULL, 0), MR_STR("")));
    assert_true(mr_str_eq_nocase(MR_STR("AbC9"), MR_STR("aBc9")));
    assert_false(mr_str_eq_nocase(MR_STR("\xC3\x84"), MR_STR("\xC3\xA4")));
    assert_false(mr_str_eq_nocase(MR_STR("["), MR_STR("{")));
}

static void test_strings_are_trimmed_and_searched(void **state)
{
    (void)state;
    assert_str(mr_str_trim(MR_STR(" \t\r\n a b \v\f")), "a b");
    assert_str(mr_str_trim(MR_STR(" \t ")), "");
    assert_int_equal(mr_str_find(MR_STR("a.b.c"), '.'), 1);
    assert_int_equal(mr_str_rfind(MR_STR("a.b.c"), '.'), 3);
    assert_int_equal(mr_str_find(MR_STR("abc"), '.'), -1);
    assert_int_equal(mr_str_rfind(mr_str_of(NULL, 0), '.'), -1);
    assert_int_equal(mr_str_find(mr_str_of(NULL, 0), '.'), -1);
}

static void test_integers_are_read_whole_and_in_range(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_read;
        int64_t value;
    } cases[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"+5", true, 5},
        {"007", true, 7},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"00000000000000000000000000009223372036854775807", true, INT64_MAX},
        {"9223372036854775808", false, 0},
        {"-9223372036854775809", false, 0},
        {"18446744073709551616", false, 0},
        {"99999999999999999999999", false, 0},
        {"", false, 0},
        {"-", false, 0},
        {"+", false, 0},
        {"-+5", false, 0},
        {"--5", false, 0},
        {" 5", false, 0},
        {"5 ", false, 0},
        {"5.0", false, 0},
        {"1e3", false, 0},
        {"0x10", false, 0},
        {"12a", false, 0},
        {"1234567890123456789a", false, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t n = -77;
        bool is_read = mr_parse_int64(mr_str_z(cases[i].text), &n);
        if (is_read != cases[i].is_read || (is_read && n != cases[i].value))
            fail_msg("\"%s\" was read wrongly", cases[i].text);
    }
    uint64_t u;
    assert_true(mr_parse_uint64(MR_STR("18446744073709551615"), &u));
    assert_true(u == UINT64_MAX);
    assert_false(mr_parse_uint64(MR_STR("18446744073709551616"), &u));
    assert_false(mr_parse_uint64(MR_STR("28446744073709551615"), &u));
    assert_false(mr_parse_uint64(MR_STR("-1"), &u));
    assert_false(mr_parse_uint64(mr_str_of(NULL, 0), &u));
}

static void test_distance_counts_edits(void **state)
{
    (void)state;
    assert_int_equal(mr_str_distance(MR_STR("kitten"), MR_STR("sitting")), 3);
    assert_int_equal(mr_str_distance(MR_STR(""), MR_STR("abc")), 3);
    assert_int_equal(mr_str_distance(MR_STR("abc"), MR_STR("")), 3);
    assert_int_equal(mr_str_distance(MR_STR("abc"), MR_STR("abc")), 0);
    assert_int_equal(mr_str_distance(MR_STR("abc"), MR_STR("acb")), 2);
    char longer[65];
    memset(longer, 'a', sizeof(longer));
    assert_true(mr_str_distance(mr_str_of(longer, 64), MR_STR("a")) == 63);
    assert_true(mr_str_distance(mr_str_of(longer, 65), MR_STR("a")) > 1000);
}

/* ---- UTF-8 ---- */

static void test_utf8_check_names_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        struct mr_str text;
        unsigned flags;
    } cases[] = {
        {{"", 0}, 0},
        {{"plain ascii, longer than sixteen bytes", 38}, 0},
        {{"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80", 9}, 0},
        {{"\xF4\x8F\xBF\xBF", 4}, 0},
        {{"a\0b", 3}, MR_TEXT_HAS_NUL},
        {{"0123456789abcde\0", 16}, MR_TEXT_HAS_NUL},
        {{"0123456789abcdef01234567\0ghijklmnop", 35}, MR_TEXT_HAS_NUL},
        {{"\xED\xA0\x80", 3}, MR_TEXT_HAS_SURROGATE},
        {{"\xED\xBF\xBF", 3}, MR_TEXT_HAS_SURROGATE},
        {{"\xED\x9F\xBF\xEE\x80\x80", 6}, 0},
        {{"\x80", 1}, MR_TEXT_ILL_FORMED},
        {{"\xC0\x80", 2}, MR_TEXT_ILL_FORMED},
        {{"\xC1\xBF", 2}, MR_TEXT_ILL_FORMED},
        {{"\xE0\x9F\xBF", 3}, MR_TEXT_ILL_FORMED},
        {{"\xF0\x8F\xBF\xBF", 4}, MR_TEXT_ILL_FORMED},
        {{"\xF4\x90\x80\x80", 4}, MR_TEXT_ILL_FORMED},
        {{"\xF5\x80\x80\x80", 4}, MR_TEXT_ILL_FORMED},
        {{"\xFF", 1}, MR_TEXT_ILL_FORMED},
        {{"\xE2\x82", 2}, MR_TEXT_ILL_FORMED},
        {{"\xE2\x82\x41", 3}, MR_TEXT_ILL_FORMED},
        {{"\0\xED\xA0\x80\xFF", 5}, MR_TEXT_HAS_NUL | MR_TEXT_HAS_SURROGATE | MR_TEXT_ILL_FORMED},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (mr_utf8_check(cases[i].text) != cases[i].flags)
            fail_msg("case %zu: flags %u", i, mr_utf8_check(cases[i].text));
    }
}

static void test_utf8_check_finds_a_bad_byte_at_every_place(void **state)
{
    (void)state;
    char text[70];
    for (size_t len = 0; len <= sizeof(text); len++) {
        memset(text, 0x7F, sizeof(text));
        assert_int_equal(mr_utf8_check(mr_str_of(text, len)), 0);
        for (size_t at = 0; at < len; at++) {
            text[at] = (char)0xFF;
            assert_int_equal(mr_utf8_check(mr_str_of(text, len)), MR_TEXT_ILL_FORMED);
            text[at] = 0;
            assert_int_equal(mr_utf8_check(mr_str_of(text, len)), MR_TEXT_HAS_NUL);
            text[at] = 1;
            assert_int_equal(mr_utf8_check(mr_str_of(text, len)), 0);
        }
    }
}

static void test_utf8_cut_never_cuts_a_character(void **state)
{
    (void)state;
    struct mr_str text = MR_STR("a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80"); /* lengths 1 2 3 4 */
    static const size_t want[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};
    for (size_t max = 0; max < sizeof(want) / sizeof(want[0]); max++)
        assert_int_equal(mr_utf8_cut(text, max), want[max]);
    /* Broken bytes are no characters and may be parted anywhere. */
    assert_int_equal(mr_utf8_cut(MR_STR("\x80\x80\x80\x80\x80"), 4), 4);
    assert_int_equal(mr_utf8_cut(MR_STR("\xE2\x82"), 1), 1);
}

static void test_utf8_counts_characters(void **state)
{
    (void)state;
    assert_int_equal(mr_utf8_count(MR_STR("")), 0);
    assert_int_equal(mr_utf8_count(MR_STR("0123456789")), 10);
    assert_int_equal(mr_utf8_count(MR_STR("01234567")), 8);
    assert_int_equal(mr_utf8_count(MR_STR("a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80")), 4);
    assert_int_equal(mr_utf8_count(MR_STR("\xFF\xFE\xED\xA0\x80")), 3);
}

static void test_utf8_repair_replaces_or_strips(void **state)
{
    (void)state;
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_str bad = MR_STR("a\0b\xED\xA0\x80"
                               "c\xFF\xC3\xA4");
    assert_str(mr_utf8_repair(bad, false, ar), "abc\xC3\xA4");
    assert_str(mr_utf8_repair(bad, true, ar), "a\xEF\xBF\xBD"
                                              "b\xEF\xBF\xBD"
                                              "c\xEF\xBF\xBD\xC3\xA4");
    struct mr_str good = MR_STR("good");
    assert_ptr_equal(mr_utf8_repair(good, true, ar).ptr, good.ptr);
    mr_arena_destroy(ar);
}

static void test_every_code_point_survives_encode_and_decode(void **state)
{
    (void)state;
    for (uint32_t code = 0; code <= 0x10FFFF; code++) {
        char bytes[4];
        size_t len = mr_utf8_encode(code, bytes);
        uint32_t back = UINT32_MAX;
        if (mr_utf8_decode(mr_str_of(bytes, len), &back) != len || back != code)
            fail_msg("U+%04X came back as U+%04X", code, back);
        if (len > 1 && mr_utf8_decode(mr_str_of(bytes, len - 1), &back) != 0)
            fail_msg("U+%04X was read from too few bytes", code);
    }
    char bytes[4];
    assert_int_equal(mr_utf8_encode(0x110000, bytes), 3);
    assert_memory_equal(bytes, "\xEF\xBF\xBD", 3);
}

/* ---- Encodings ---- */

static void test_base64_both_ways(void **state)
{
    (void)state;
    struct mr_arena *ar = mr_arena_create(0);
    static const struct {
        const char *bytes, *padded, *bare;
    } cases[] = {
        {"", "", ""},
        {"f", "Zg==", "Zg"},
        {"fo", "Zm8=", "Zm8"},
        {"foo", "Zm9v", "Zm9v"},
        {"foob", "Zm9vYg==", "Zm9vYg"},
        {"\xff\xfe\xfd", "//79", "//79"},
        {"\xfb\xf0", "+/A=", "+/A"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct mr_buf buf = MR_BUF_INIT(100);
        struct mr_str back;
        mr_base64_append(&buf, mr_str_z(cases[i].bytes));
        assert_str(mr_buf_str(&buf), cases[i].padded);
        assert_true(mr_base64_decode(mr_str_z(cases[i].padded), ar, &back));
        assert_str(back, cases[i].bytes);
        assert_true(mr_base64_decode(mr_str_z(cases[i].bare), ar, &back));
        assert_str(back, cases[i].bytes);
        mr_buf_free(&buf);
    }
    mr_arena_destroy(ar);
}

static void test_base64_refuses_what_is_not_base64(void **state)
{
    (void)state;
    struct mr_arena *ar = mr_arena_create(0);
    static const char *const bad[] = {"Z",    "Zg=",   "Zg===", "=",     "====", "Z===", "Zh==", "Zm9=",
                                      "Zm9w ", "Zm-_", "Zg==Zg==", "Zm9vZ", "Zm\n8", "Zh",  "Zm=v"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct mr_str out;
        if (mr_base64_decode(mr_str_z(bad[i]), ar, &out))
            fail_msg("\"%s\" was read", bad[i]);
    }
    mr_arena_destroy(ar);
}

static void test_hex_both_ways(void **state)
{
    (void)state;
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_buf buf = MR_BUF_INIT(100);
    struct mr_str back;
    mr_hex_append(&buf, MR_STR("\x00\x1f\xAB"));
    assert_str(mr_buf_str(&buf), "001fab");
    assert_true(mr_hex_decode(MR_STR("001fAb"), ar, &back));
    assert_true(mr_str_eq(back, MR_STR("\x00\x1f\xAB")));
    assert_true(mr_hex_decode(MR_STR(""), ar, &back));
    assert_int_equal(back.len, 0);
    assert_false(mr_hex_decode(MR_STR("0"), ar, &back));
    assert_false(mr_hex_decode(MR_STR("0g"), ar, &back));
    assert_false(mr_hex_decode(MR_STR("0x"), ar, &back));
    mr_buf_free(&buf);
    mr_arena_destroy(ar);
}

static void test_uuid_both_ways(void **state)
{
    (void)state;
    unsigned char bytes[16];
    char text[37];
    assert_true(mr_uuid_parse(MR_STR("00112233-4455-6677-8899-AABBCCDDEEFF"), bytes));
    mr_uuid_format(bytes, text);
    assert_string_equal(text, "00112233-4455-6677-8899-aabbccddeeff");
    assert_true(mr_uuid_parse(MR_STR("00112233445566778899aabbccddeeff"), bytes));
    mr_uuid_format(bytes, text);
    assert_string_equal(text, "00112233-4455-6677-8899-aabbccddeeff");
    assert_false(mr_uuid_parse(MR_STR("00112233-4455-6677-8899-aabbccddeef"), bytes));
    assert_false(mr_uuid_parse(MR_STR("00112233-4455-6677-8899-aabbccddeefg"), bytes));
    assert_false(mr_uuid_parse(MR_STR("0011223-34455-6677-8899-aabbccddeeff"), bytes));
    assert_false(mr_uuid_parse(MR_STR("0011223344556677-8899-aabbccddeeff-0"), bytes));
    assert_false(mr_uuid_parse(MR_STR("{0011223344556677889-aabbccddeeff00}"), bytes));
    assert_false(mr_uuid_parse(MR_STR(""), bytes));
}

/* ---- Hash ---- */

/* Lanes and shortened names in targets depend on these numbers. */
static void test_hash_values_never_change(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t seed, hash;
    } cases[] = {
        {"", 0, UINT64_C(0x3fd853a322ba11cb)},
        {"a", 0, UINT64_C(0x38f6966c50ca7ff6)},
        {"orders", 0, UINT64_C(0xe7464fad4b3babd9)},
        {"0123456789abcdef", 0, UINT64_C(0xd2dbdd2b1bc418a7)},
        {"a text that is longer than two steps of sixteen bytes", 0, UINT64_C(0x9f042425ca66fd5f)},
        {"a", 1, UINT64_C(0x8ff79b0a8459c256)},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t have = mr_hash(cases[i].text, strlen(cases[i].text), cases[i].seed);
        if (have != cases[i].hash)
            fail_msg("case %zu: %016llx", i, (unsigned long long)have);
    }
    char hex[9];
    mr_hash_hex8(MR_STR("orders"), hex);
    assert_string_equal(hex, "e7464fad");
}

static void test_hash_spreads_small_differences(void **state)
{
    (void)state;
    /* Numbered keys over 16 shards: every shard within a tenth of its share. */
    size_t shards[16] = {0};
    for (uint32_t i = 0; i < 160000; i++)
        shards[mr_hash(&i, sizeof(i), 0) % 16]++;
    for (size_t i = 0; i < 16; i++)
        assert_in_range(shards[i], 9000, 11000);
    /* One bit more or less changes about half of the bits. */
    char key[40] = {0};
    unsigned changed = 0;
    uint64_t base = mr_hash(key, sizeof(key), 0);
    for (size_t bit = 0; bit < sizeof(key) * 8; bit++) {
        key[bit / 8] = (char)(1 << bit % 8);
        changed += (unsigned)__builtin_popcountll(base ^ mr_hash(key, sizeof(key), 0));
        key[bit / 8] = 0;
    }
    assert_in_range(changed / (sizeof(key) * 8), 29, 35);
}

static void test_hash_tells_lengths_apart(void **state)
{
    (void)state;
    static const char zeros[64];
    for (size_t a = 0; a < sizeof(zeros); a++) {
        for (size_t b = 0; b < a; b++)
            assert_true(mr_hash(zeros, a, 0) != mr_hash(zeros, b, 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_error_has_class_code_and_text),
        cmocka_unit_test(test_a_new_error_forgets_the_old_one),
        cmocka_unit_test(test_a_long_error_is_cut_between_characters_on_one_line),
        cmocka_unit_test(test_every_status_has_its_name),
        cmocka_unit_test(test_strings_compare_by_bytes_then_length),
        cmocka_unit_test(test_strings_are_trimmed_and_searched),
        cmocka_unit_test(test_integers_are_read_whole_and_in_range),
        cmocka_unit_test(test_distance_counts_edits),
        cmocka_unit_test(test_utf8_check_names_what_is_wrong),
        cmocka_unit_test(test_utf8_check_finds_a_bad_byte_at_every_place),
        cmocka_unit_test(test_utf8_cut_never_cuts_a_character),
        cmocka_unit_test(test_utf8_counts_characters),
        cmocka_unit_test(test_utf8_repair_replaces_or_strips),
        cmocka_unit_test(test_every_code_point_survives_encode_and_decode),
        cmocka_unit_test(test_base64_both_ways),
        cmocka_unit_test(test_base64_refuses_what_is_not_base64),
        cmocka_unit_test(test_hex_both_ways),
        cmocka_unit_test(test_uuid_both_ways),
        cmocka_unit_test(test_hash_values_never_change),
        cmocka_unit_test(test_hash_spreads_small_differences),
        cmocka_unit_test(test_hash_tells_lengths_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
