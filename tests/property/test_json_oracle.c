/* The JSON event reader against jansson: generated documents must read the same, damaged ones must be refused by both. The seed is fixed,
 * so a failure repeats; MILLRACE_SEED in the environment tries others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <jansson.h>

#include <millrace/base/buf.h>
#include <millrace/base/mem.h>

#include "decode/json.h"

enum { DOCUMENTS = 10000, DAMAGES = 6 };

static uint64_t random_state;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static unsigned below(unsigned n)
{
    return (unsigned)((next_random() >> 11) % n);
}

/* ---- making documents ---- */

static void make_blanks(struct mr_buf *out)
{
    for (unsigned n = below(8) == 0 ? below(4) : 0; n > 0; n--)
        mr_buf_append_char(out, " \n\r\t"[below(4)]);
}

static void make_string(struct mr_buf *out)
{
    static const char *const pieces[] = {"a", "Z", "name", "_", " ", "0", "\\n", "\\\"", "\\\\", "\\/", "\\u0041",
                                         "\\u00e9", "\\ud83d\\ude00", "\xC3\xA9", "\xE4\xBA\xA7",
                                         "\xF0\x9F\x98\x80", "0123456789abcdef", "$oid", "\x7f", "\\t"};
    mr_buf_append_char(out, '"');
    for (unsigned n = below(4) == 0 ? below(20) : below(4); n > 0; n--)
        mr_buf_append_z(out, pieces[below(sizeof pieces / sizeof *pieces)]);
    mr_buf_append_char(out, '"');
}

static void make_number(struct mr_buf *out)
{
    switch (below(4)) {
    case 0: mr_buf_printf(out, "%d", (int)below(2000) - 1000); break;
    case 1: mr_buf_printf(out, "%lld", (long long)(next_random() >> below(64))); break;
    case 2: mr_buf_printf(out, "%s%u.%0*u", below(2) ? "-" : "", below(1000), (int)below(6) + 1, below(10)); break;
    default: mr_buf_printf(out, "%u.%ue%s%u", below(10), below(1000), below(2) ? "-" : "+", below(200)); break;
    }
}

static void make_value(struct mr_buf *out, unsigned depth)
{
    unsigned kind = depth == 0 && below(10) != 0 ? 7 : below(depth < 6 ? 9 : 6);

    make_blanks(out);
    switch (kind) {
    case 0: mr_buf_append_z(out, "null"); break;
    case 1: mr_buf_append_z(out, "true"); break;
    case 2: mr_buf_append_z(out, "false"); break;
    case 3: make_number(out); break;
    case 4: case 5: make_string(out); break;
    default: {
        bool is_object = kind != 6;
        mr_buf_append_char(out, is_object ? '{' : '[');
        /* Now and then an object beyond the size from which names are looked through at once. */
        unsigned n = depth == 0 && below(20) == 0 ? 40 + below(30) : below(6);
        for (unsigned i = 0; i < n; i++) {
            if (i > 0)
                mr_buf_append_char(out, ',');
            make_blanks(out);
            if (is_object) {
                make_string(out);
                make_blanks(out);
                mr_buf_append_char(out, ':');
            }
            make_value(out, depth + 1);
        }
        make_blanks(out);
        mr_buf_append_char(out, is_object ? '}' : ']');
        break;
    }
    }
    make_blanks(out);
}

/* ---- comparing ---- */

static void assert_same(const struct mr_json_doc *doc, uint32_t node, json_t *want, struct mr_arena *ar);

static void assert_same_string(const struct mr_json_doc *doc, uint32_t node, const char *want, size_t len,
                               struct mr_arena *ar)
{
    struct mr_str got = mr_json_string(doc, node, ar, NULL);

    assert_true(mr_str_eq(got, mr_str_of(want, len)));
}

static void assert_same_object(const struct mr_json_doc *doc, uint32_t node, json_t *want,
                               struct mr_arena *ar)
{
    size_t members = 0;

    for (uint32_t n = mr_json_first(doc, node); n != MR_JSON_NONE; n = mr_json_next_in(doc, node, n)) {
        struct mr_str name = mr_json_string(doc, n, ar, NULL);
        uint32_t value = mr_json_member(doc, node, name);

        assert_int_equal(mr_json_is_shadowed(doc, node, n), value != n + 1);
        if (value != n + 1)
            continue;
        assert_same(doc, value, json_object_getn(want, name.ptr, name.len), ar);
        members++;
    }
    assert_int_equal(members, json_object_size(want));
}

static void assert_same(const struct mr_json_doc *doc, uint32_t node, json_t *want, struct mr_arena *ar)
{
    assert_non_null(want);
    switch (mr_json_kind(doc, node)) {
    case MR_J_NULL: assert_true(json_is_null(want)); break;
    case MR_J_FALSE: assert_true(json_is_false(want)); break;
    case MR_J_TRUE: assert_true(json_is_true(want)); break;
    case MR_J_NUMBER: {
        int64_t whole = 0;
        double real = 0;
        if (mr_json_int64(doc, node, &whole))
            assert_true(json_is_integer(want) && json_integer_value(want) == whole);
        else
            assert_true(json_is_real(want) && mr_parse_double(mr_json_raw(doc, node), &real) &&
                        real == json_real_value(want));
        break;
    }
    case MR_J_STRING:
        assert_true(json_is_string(want));
        assert_same_string(doc, node, json_string_value(want), json_string_length(want), ar);
        break;
    case MR_J_ARRAY: {
        size_t i = 0;
        assert_true(json_is_array(want));
        assert_int_equal(doc->nodes[node].count, json_array_size(want));
        for (uint32_t n = mr_json_first(doc, node); n != MR_JSON_NONE; n = mr_json_next_in(doc, node, n))
            assert_same(doc, n, json_array_get(want, i++), ar);
        assert_int_equal(i, json_array_size(want));
        break;
    }
    case MR_J_OBJECT:
        assert_true(json_is_object(want));
        assert_same_object(doc, node, want, ar);
        break;
    case MR_J_WORD: fail_msg("a word without leave"); break;
    }
}

/* Every subtree as compact text reads as the same value again. */
static void assert_text_is_same(struct mr_json_reader *reader, const struct mr_json_doc *doc, json_t *want,
                                struct mr_arena *ar)
{
    struct mr_str text = mr_json_text(doc, 0, ar, NULL);
    struct mr_json_doc again;
    struct mr_error err = {0};

    assert_int_equal(mr_json_parse(reader, text, &again, &err), MR_OK);
    assert_same(&again, 0, want, ar);
    assert_true(mr_str_eq(mr_json_text(&again, 0, ar, NULL), text));
    assert_ptr_equal(mr_json_text(&again, 0, ar, NULL).ptr, text.ptr); /* compact already */
}

/* Differences that are meant: jansson has no big numbers and no NUL in names, and refuses lone surrogates, which we report. */
static bool may_differ(const struct mr_json_doc *doc, const json_error_t *why)
{
    if (json_error_code(why) == json_error_numeric_overflow)
        return true;
    for (uint32_t n = 0; n < doc->node_count; n++) {
        if (doc->nodes[n].flags & (MR_JSON_NUL | MR_JSON_SURROGATE))
            return true;
    }
    return false;
}

static void check(struct mr_json_reader *reader, struct mr_str made, struct mr_arena *ar, bool must_read)
{
    struct mr_json_doc doc = {0};
    struct mr_error err = {0};
    json_error_t why;
    struct mr_str text = mr_arena_copy(ar, made);
    json_t *want = json_loadb(text.ptr, text.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &why);
    enum mr_status status = mr_json_parse_arena(reader, text, ar, &doc, &err);

    if (must_read && (want == NULL || status != MR_OK))
        fail_msg("not read: %.*s (%s; %s)", MR_STR_FMT(text), why.text, err.message);
    if (status == MR_OK && want == NULL && !may_differ(&doc, &why))
        fail_msg("jansson refuses (%s): %.*s", why.text, MR_STR_FMT(text));
    if (status != MR_OK && want != NULL)
        fail_msg("jansson reads (%s): %.*s", err.message, MR_STR_FMT(text));
    if (status == MR_OK && want != NULL) {
        assert_same(&doc, 0, want, ar);
        assert_text_is_same(reader, &doc, want, ar);
    }
    json_decref(want);
}

static void damage(struct mr_buf *buf)
{
    static const char bytes[] = "{}[]:,\"\\ 0123456789eE.+-tfnu\x01\x80\xC3\xED\xA0\xFF/a";
    size_t at = below((unsigned)buf->len);

    switch (below(3)) {
    case 0: buf->data[at] = bytes[below(sizeof bytes - 1)]; break;
    case 1: buf->len = at; break;
    default:
        memmove(buf->data + at, buf->data + at + 1, buf->len - at - 1);
        buf->len--;
        break;
    }
}

static void test_generated_documents_read_as_jansson_reads_them(void **state)
{
    (void)state;
    const char *seed = getenv("MILLRACE_SEED");
    struct mr_json_limits limits = {.max_depth = 64, .max_bytes = 1 << 24};
    struct mr_json_reader *reader = mr_json_reader_create(&limits);
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_buf buf = MR_BUF_INIT(1 << 20);

    random_state = seed ? strtoull(seed, NULL, 10) * 2 + 1 : UINT64_C(0x9E3779B97F4A7C15);
    for (int i = 0; i < DOCUMENTS; i++) {
        mr_buf_clear(&buf);
        make_value(&buf, 0);
        check(reader, mr_buf_str(&buf), ar, true);
        for (int d = 0; d < DAMAGES && buf.len > 1; d++) {
            damage(&buf);
            check(reader, mr_buf_str(&buf), ar, false);
        }
        mr_arena_reset(ar);
    }
    mr_buf_free(&buf);
    mr_arena_destroy(ar);
    mr_json_reader_destroy(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_generated_documents_read_as_jansson_reads_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
