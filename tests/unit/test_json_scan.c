/* The scanner of record lines steps over nested values in blocks; it must end where a walk byte by byte ends, whatever is inside. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <millrace/base/hash.h>
#include <millrace/base/mem.h>

#include "source/json_mask.h"
#include "source/json_scan.h"

#define ROUNDS 60000
#define MAX_TEXT 400

static uint64_t draw(uint64_t *seed)
{
    *seed = mr_hash(seed, sizeof(*seed), 7);
    return *seed;
}

/* Mostly what a scanner has to look at; long plain stretches now and then, so that blocks begin inside strings. */
static size_t random_text(uint64_t *seed, char out[MAX_TEXT])
{
    static const char letters[] = "{}[]\"\"\\ a,:\n{}[]\"\"\\a\x80\x01";
    size_t len = draw(seed) % MAX_TEXT, i = 0;

    while (i < len) {
        uint64_t h = draw(seed);

        if (h % 16 == 0)
            for (size_t n = h >> 8 & 63; n > 0 && i < len; n--)
                out[i++] = 'x';
        else
            out[i++] = letters[(h >> 8) % (sizeof(letters) - 1)];
    }
    return len;
}

/* Length of the nested value at the text's beginning, 0 if it does not end. */
static size_t end_by_bytes(const char *p, size_t len, bool *has_blanks)
{
    bool is_inside = false;
    size_t depth = 0;

    *has_blanks = false;
    for (size_t i = 0; i < len; i++) {
        char c = p[i];

        if (is_inside && c == '\\')
            i++;
        else if (c == '"')
            is_inside = !is_inside;
        else if (is_inside)
            continue;
        else if (c == '{' || c == '[')
            depth++;
        else if ((c == '}' || c == ']') && --depth == 0)
            return i + 1;
        else if (c == ' ' || c == '\n')
            *has_blanks = true;
    }
    return 0;
}

static void test_nested_values_end_where_a_walk_byte_by_byte_ends(void **state)
{
    uint64_t seed = 20261130;

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        char text[MAX_TEXT];
        size_t len = random_text(&seed, text);

        if (len == 0)
            continue;
        text[0] = round % 2 ? '{' : '[';
        char *copy = mr_xmalloc(len); /* to the byte, so that reading beyond it is seen */
        memcpy(copy, text, len);
        struct mr_scan sc = mr_scan_begin(mr_str_of(copy, len));
        struct mr_scan_value value;
        bool has_blanks;
        bool ok = mr_scan_next(&sc, &value);
        size_t expected = end_by_bytes(text, len, &has_blanks);

        if (ok != (expected > 0) || (ok && value.text.len != expected))
            fail_msg("round %d: %.*s: %zu instead of %zu", round, (int)len, text, ok ? value.text.len : 0, expected);
        if (ok && has_blanks)
            assert_true(value.has_blanks);
        if (!ok)
            assert_ptr_equal(sc.pos, copy + len);
        mr_xfree(copy);
    }
}

static void test_both_ways_to_the_masks_agree(void **state)
{
    uint64_t seed = 42;

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        char block[MR_JSON_BLOCK];

        for (size_t i = 0; i < sizeof(block); i++)
            block[i] = (char)(draw(&seed) >> 16);
        struct mr_json_mask a = mr_json_mask_of(block), b = mr_json_mask_plain(block);
        assert_int_equal(a.quotes, b.quotes);
        assert_int_equal(a.backslashes, b.backslashes);
        assert_int_equal(a.opens, b.opens);
        assert_int_equal(a.closes, b.closes);
        assert_int_equal(a.blanks & b.blanks, b.blanks);
    }
}

static void test_a_compact_value_is_not_copied(void **state)
{
    static const char text[] = "{\"a\":{\"b\":[1,2,{\"c\":\"with blanks and \\\" quotes \\\\\"}]},\"d\":null,\"e\":\"a longer text, to fill a block\"}";
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_scan sc = mr_scan_begin(MR_STR(text));
    struct mr_scan_value value;
    struct mr_str message;

    (void)state;
    assert_true(mr_scan_next(&sc, &value));
    assert_false(value.has_blanks);
    assert_true(mr_scan_message(&value, ar, &message));
    assert_ptr_equal(message.ptr, text);
    assert_int_equal(message.len, sizeof(text) - 1);
    mr_arena_destroy(ar);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nested_values_end_where_a_walk_byte_by_byte_ends),
        cmocka_unit_test(test_both_ways_to_the_masks_agree),
        cmocka_unit_test(test_a_compact_value_is_not_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
