/* Base: memory, arena, buffers, maps, backoff. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <millrace/base/arena.h>
#include <millrace/base/backoff.h>
#include <millrace/base/buf.h>
#include <millrace/base/map.h>
#include <millrace/base/mem.h>
#include <millrace/base/time.h>

static void assert_str(struct mr_str have, const char *want)
{
    if (!mr_str_eq_z(have, want))
        fail_msg("\"%.*s\" is not \"%s\"", MR_STR_FMT(have), want);
}

/* ---- Memory ---- */

static void test_grow_doubles_and_keeps_what_was_there(void **state)
{
    (void)state;
    size_t cap = 0;
    int *items = NULL;
    for (int i = 0; i < 1000; i++) {
        items = mr_xgrow(items, &cap, (size_t)i + 1, sizeof(*items));
        items[i] = i;
    }
    assert_int_equal(cap, 1024);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(items[i], i);
    mr_xfree(items);
    char *copy = mr_xstrndup("abcdef", 3);
    assert_string_equal(copy, "abc");
    mr_xfree(copy);
    copy = mr_xstrdup("");
    assert_string_equal(copy, "");
    mr_xfree(copy);
    mr_xfree(mr_xmalloc(0));
    mr_xfree(NULL);
}

static void test_running_out_of_memory_ends_with_70(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(1);
        size_t cap = 0;
        void *ptr = mr_xgrow(NULL, &cap, SIZE_MAX / 4, 16);
        _exit(ptr != NULL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 70);
}

/* ---- Arena ---- */

static void test_arena_pieces_are_aligned_and_apart(void **state)
{
    (void)state;
    struct mr_arena *ar = mr_arena_create(256);
    char *pieces[300];
    size_t used = 0;
    for (int round = 0; round < 3; round++) {
        used = 0;
        for (size_t i = 0; i < 300; i++) {
            pieces[i] = mr_arena_alloc(ar, i);
            assert_int_equal((uintptr_t)pieces[i] % 16, 0);
            memset(pieces[i], (int)i & 0xff, i);
            used += i;
        }
        for (size_t i = 0; i < 300; i++) {
            for (size_t k = 0; k < i; k++)
                assert_int_equal((unsigned char)pieces[i][k], i & 0xff);
        }
        assert_int_equal(mr_arena_used(ar), used);
        mr_arena_reset(ar);
        assert_int_equal(mr_arena_used(ar), 0);
    }
    mr_arena_destroy(ar);
    mr_arena_destroy(NULL);
}

static void test_arena_reset_gives_the_same_memory_again(void **state)
{
    (void)state;
    struct mr_arena *ar = mr_arena_create(1024);
    void *small = mr_arena_alloc(ar, 100);
    void *large = mr_arena_alloc(ar, 5000);
    mr_arena_reset(ar);
    assert_ptr_equal(mr_arena_alloc(ar, 90), small);
    assert_ptr_equal(mr_arena_alloc(ar, 4000), large);
    mr_arena_destroy(ar);
}

static void test_arena_copies_and_prints(void **state)
{
    (void)state;
    struct mr_arena *ar = mr_arena_create(64);
    assert_str(mr_arena_copy(ar, MR_STR("abc")), "abc");
    assert_str(mr_arena_copy(ar, mr_str_of(NULL, 0)), "");
    assert_string_equal(mr_arena_strndup(ar, "abcdef", 2), "ab");
    assert_string_equal(mr_arena_strndup(ar, NULL, 0), "");
    assert_str(mr_arena_printf(ar, "%d-%s", 7, "x"), "7-x");
    assert_str(mr_arena_printf(ar, "%s", ""), "");
    struct mr_str text = mr_arena_printf(ar, "%0*d", 1000, 5);
    assert_int_equal(text.len, 1000);
    assert_int_equal(text.ptr[999], '5');
    const char *zeros = mr_arena_zalloc(ar, 100);
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(zeros[i], 0);
    mr_arena_destroy(ar);
}

/* ---- Buffers ---- */

static void test_buffer_appends(void **state)
{
    (void)state;
    struct mr_buf buf = MR_BUF_INIT(10000);
    mr_buf_append(&buf, "ab", 2);
    mr_buf_append(&buf, NULL, 0);
    mr_buf_append_z(&buf, "cd");
    mr_buf_append_str(&buf, MR_STR("ef"));
    mr_buf_append_char(&buf, 'g');
    mr_buf_printf(&buf, "%d", 42);
    mr_buf_printf(&buf, "%s", "");
    assert_str(mr_buf_str(&buf), "abcdefg42");
    assert_string_equal(mr_buf_z(&buf), "abcdefg42");
    mr_buf_printf(&buf, "%0*d", 1000, 5);
    assert_int_equal(buf.len, 1009);
    mr_buf_clear(&buf);
    mr_buf_append_u16be(&buf, 0x0102);
    mr_buf_append_u32be(&buf, 0x03040506);
    mr_buf_append_u64be(&buf, UINT64_C(0x0708090A0B0C0D0E));
    assert_int_equal(buf.len, 14);
    assert_memory_equal(buf.data, "\1\2\3\4\5\6\7\10\11\12\13\14\15\16", 14);
    struct mr_error err;
    assert_int_equal(mr_buf_check(&buf, "row", &err), MR_OK);
    mr_buf_free(&buf);
    assert_string_equal(mr_buf_z(&buf), "");
    mr_buf_free(&buf);
}

static void test_buffer_stops_at_its_maximum_and_says_so(void **state)
{
    (void)state;
    struct mr_buf buf = MR_BUF_INIT(10);
    struct mr_error err;
    mr_buf_append_z(&buf, "0123456789");
    assert_int_equal(mr_buf_check(&buf, "row", &err), MR_OK);
    assert_string_equal(mr_buf_z(&buf), "0123456789");
    buf.len = 8;
    mr_buf_append_z(&buf, "abc");
    mr_buf_append_z(&buf, "d"); /* would fit, but what comes after a gap is dropped too */
    assert_str(mr_buf_str(&buf), "01234567");
    assert_int_equal(mr_buf_check(&buf, "row", &err), MR_E_DATA);
    assert_string_equal(err.code, "too_large");
    assert_string_equal(err.message, "row is larger than 10 bytes");
    assert_null(mr_buf_reserve(&buf, 1));
    mr_buf_clear(&buf);
    mr_buf_printf(&buf, "%0*d", 1000, 5);
    assert_true(buf.overflow);
    mr_buf_clear(&buf);
    assert_null(mr_buf_reserve(&buf, SIZE_MAX));
    assert_true(buf.overflow);
    mr_buf_free(&buf);
}

static void test_buffer_writes_json_strings(void **state)
{
    (void)state;
    static const struct {
        struct mr_str text;
        const char *json;
    } cases[] = {
        {{"", 0}, "\"\""},
        {{"plain", 5}, "\"plain\""},
        {{"a\"b\\c/", 6}, "\"a\\\"b\\\\c/\""},
        {{"\b\f\n\r\t\x01\x1f\x7f", 8}, "\"\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\""},
        {{"a\0b", 3}, "\"a\\u0000b\""},
        {{"\xC3\xA4\xF0\x9F\x98\x80", 6}, "\"\xC3\xA4\xF0\x9F\x98\x80\""},
        {{"\xED\xA0\xBDx", 4}, "\"\\ud83dx\""},
        {{"\xFFx\xC3", 3}, "\"\xEF\xBF\xBDx\xEF\xBF\xBD\""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct mr_buf buf = MR_BUF_INIT(1000);
        mr_buf_append_json(&buf, cases[i].text);
        assert_str(mr_buf_str(&buf), cases[i].json);
        mr_buf_free(&buf);
    }
}

/* ---- Map ---- */

static size_t destroyed;

static void count_destroyed(void *value)
{
    destroyed += value != NULL;
}

static struct mr_str number_key(char text[24], size_t n)
{
    return mr_str_of(text, (size_t)snprintf(text, 24, "key-%zu", n));
}

static void test_map_keeps_insertion_order(void **state)
{
    (void)state;
    struct mr_map *map = mr_map_create();
    char text[24];
    static int values[1000];
    for (size_t i = 0; i < 1000; i++)
        mr_map_put(map, number_key(text, 999 - i), &values[i]);
    assert_int_equal(mr_map_count(map), 1000);
    for (size_t i = 0; i < 1000; i++) {
        struct mr_str key;
        assert_ptr_equal(mr_map_at(map, i, &key), &values[i]);
        assert_true(mr_str_eq(key, number_key(text, 999 - i)));
        assert_ptr_equal(mr_map_get(map, key), &values[i]);
    }
    assert_null(mr_map_at(map, 1000, NULL));
    assert_null(mr_map_get(map, MR_STR("key-1000")));
    assert_null(mr_map_get(map, MR_STR("key-1\0")));
    mr_map_destroy(map, NULL);
    mr_map_destroy(NULL, NULL);
}

static void test_map_replaces_and_removes(void **state)
{
    (void)state;
    struct mr_map *map = mr_map_create();
    int a, b, c;
    assert_null(mr_map_get(map, MR_STR("a")));
    assert_null(mr_map_remove(map, MR_STR("a")));
    mr_map_put(map, MR_STR("a"), &a);
    mr_map_put(map, MR_STR(""), &b);
    mr_map_put(map, MR_STR("a\0b"), &c);
    mr_map_put(map, MR_STR("a"), &b);
    assert_int_equal(mr_map_count(map), 3);
    assert_ptr_equal(mr_map_get(map, MR_STR("a")), &b);
    assert_ptr_equal(mr_map_get(map, mr_str_of(NULL, 0)), &b);
    assert_ptr_equal(mr_map_get(map, MR_STR("a\0b")), &c);
    assert_ptr_equal(mr_map_remove(map, MR_STR("a")), &b);
    assert_null(mr_map_remove(map, MR_STR("a")));
    assert_null(mr_map_get(map, MR_STR("a")));
    struct mr_str key;
    assert_ptr_equal(mr_map_at(map, 0, &key), &b);
    assert_int_equal(key.len, 0);
    assert_ptr_equal(mr_map_at(map, 1, NULL), &c);
    mr_map_put(map, MR_STR("a"), &a);
    assert_ptr_equal(mr_map_at(map, 2, &key), &a);
    destroyed = 0;
    mr_map_clear(map, count_destroyed);
    assert_int_equal(destroyed, 3);
    assert_int_equal(mr_map_count(map), 0);
    assert_null(mr_map_get(map, MR_STR("a")));
    mr_map_put(map, MR_STR("a"), &a);
    destroyed = 0;
    mr_map_destroy(map, count_destroyed);
    assert_int_equal(destroyed, 1);
}

/* The same random steps on the map and on a plain array. */
static void test_map_equals_a_list_under_random_steps(void **state)
{
    (void)state;
    enum { KEYS = 200 };
    static char values[KEYS];
    struct mr_map *map = mr_map_create();
    size_t order[KEYS], count = 0;
    uint64_t random = 42;
    for (int step = 0; step < 20000; step++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        size_t n = (size_t)(random >> 33) % KEYS, at = 0;
        char text[24];
        struct mr_str key = number_key(text, n);
        while (at < count && order[at] != n)
            at++;
        if ((random >> 60) < 8) {
            mr_map_put(map, key, &values[n]);
            if (at == count)
                order[count++] = n;
        } else {
            assert_ptr_equal(mr_map_remove(map, key), at < count ? &values[n] : NULL);
            if (at < count)
                memmove(&order[at], &order[at + 1], (--count - at) * sizeof(*order));
        }
        assert_int_equal(mr_map_count(map), count);
        if (step % 50 != 0)
            continue;
        for (size_t i = 0; i < count; i++)
            assert_ptr_equal(mr_map_at(map, i, NULL), &values[order[i]]);
        for (size_t i = 0; i < KEYS; i++) {
            bool is_there = false;
            for (size_t k = 0; k < count; k++)
                is_there = is_there || order[k] == i;
            assert_ptr_equal(mr_map_get(map, number_key(text, i)), is_there ? &values[i] : NULL);
        }
    }
    mr_map_destroy(map, NULL);
}

static void test_map_survives_endless_putting_and_removing(void **state)
{
    (void)state;
    struct mr_map *map = mr_map_create();
    char text[24];
    int value;
    int64_t start_ms = mr_monotonic_ms();
    for (size_t i = 0; i < 300000; i++) {
        mr_map_put(map, number_key(text, i), &value);
        if (i >= 10)
            assert_ptr_equal(mr_map_remove(map, number_key(text, i - 10)), &value);
    }
    assert_int_equal(mr_map_count(map), 10);
    mr_map_destroy(map, NULL);
    assert_true(mr_monotonic_ms() - start_ms < 20000);
}

/* ---- Backoff ---- */

static void test_backoff_doubles_up_to_its_maximum_with_jitter(void **state)
{
    (void)state;
    struct mr_backoff b;
    mr_backoff_init(&b, 100, 5000);
    static const int64_t want[] = {100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000};
    bool differs = false;
    for (int round = 0; round < 50; round++) {
        for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
            int64_t wait_ms = mr_backoff_next_ms(&b);
            assert_in_range(wait_ms, want[i] * 3 / 4, want[i] * 5 / 4);
            assert_int_equal(b.attempt, i + 1);
            differs = differs || wait_ms != want[i];
        }
        mr_backoff_reset(&b);
        assert_int_equal(b.attempt, 0);
    }
    assert_true(differs);
}

static void test_backoff_stays_sane_at_its_borders(void **state)
{
    (void)state;
    struct mr_backoff b;
    mr_backoff_init(&b, 0, 0);
    for (int i = 0; i < 100; i++)
        assert_in_range(mr_backoff_next_ms(&b), 1, 1);
    mr_backoff_init(&b, INT64_MAX / 2, INT64_MAX / 2);
    b.attempt = UINT32_MAX;
    assert_true(mr_backoff_next_ms(&b) > INT64_MAX / 4);
    assert_int_equal(b.attempt, UINT32_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grow_doubles_and_keeps_what_was_there),
        cmocka_unit_test(test_running_out_of_memory_ends_with_70),
        cmocka_unit_test(test_arena_pieces_are_aligned_and_apart),
        cmocka_unit_test(test_arena_reset_gives_the_same_memory_again),
        cmocka_unit_test(test_arena_copies_and_prints),
        cmocka_unit_test(test_buffer_appends),
        cmocka_unit_test(test_buffer_stops_at_its_maximum_and_says_so),
        cmocka_unit_test(test_buffer_writes_json_strings),
        cmocka_unit_test(test_map_keeps_insertion_order),
        cmocka_unit_test(test_map_replaces_and_removes),
        cmocka_unit_test(test_map_equals_a_list_under_random_steps),
        cmocka_unit_test(test_map_survives_endless_putting_and_removing),
        cmocka_unit_test(test_backoff_doubles_up_to_its_maximum_with_jitter),
        cmocka_unit_test(test_backoff_stays_sane_at_its_borders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
