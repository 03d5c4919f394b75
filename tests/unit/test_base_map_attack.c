/* The map against chosen keys: its fast hash is replaced here by one that is the same for every key, the worst that
 * anybody could choose. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <millrace/base/hash.h>

static uint64_t same_for_all(const void *ptr, size_t len, uint64_t seed)
{
    (void)ptr;
    (void)len;
    return seed;
}

#define mr_hash same_for_all
#include "base/map.c"

static void test_map_stays_fast_when_every_key_has_the_same_hash(void **state)
{
    (void)state;
    enum { KEYS = 100000 }; /* quadratic probing costs would be 5 * 10^9 steps */
    struct mr_map *map = mr_map_create();
    static char values[KEYS];
    for (uint32_t i = 0; i < KEYS; i++)
        mr_map_put(map, mr_str_of((const char *)&i, sizeof(i)), &values[i]);
    assert_true(map->is_attacked);
    assert_int_equal(mr_map_count(map), KEYS);
    for (uint32_t i = 0; i < KEYS; i++) {
        struct mr_str key = mr_str_of((const char *)&i, sizeof(i));
        assert_ptr_equal(mr_map_get(map, key), &values[i]);
        assert_ptr_equal(mr_map_at(map, i, NULL), &values[i]);
        size_t probes;
        find_slot(map, key, hash_of(map, key), &probes);
        assert_true(probes <= MAX_PROBES);
    }
    for (uint32_t i = 0; i < KEYS; i += 2)
        assert_ptr_equal(mr_map_remove(map, mr_str_of((const char *)&i, sizeof(i))), &values[i]);
    for (uint32_t i = 0; i < KEYS; i++) {
        void *have = mr_map_get(map, mr_str_of((const char *)&i, sizeof(i)));
        assert_ptr_equal(have, i % 2 ? &values[i] : NULL);
    }
    mr_map_destroy(map, NULL);
}

static void test_keyed_hash_differs_by_key_and_length(void **state)
{
    (void)state;
    static const char zeros[40];
    const uint64_t key[2] = {1, 2}, other[2] = {1, 3};
    for (size_t a = 0; a < sizeof(zeros); a++) {
        uint64_t hash = hash_keyed(key, mr_str_of(zeros, a));
        assert_true(hash != hash_keyed(other, mr_str_of(zeros, a)));
        for (size_t b = 0; b < a; b++)
            assert_true(hash != hash_keyed(key, mr_str_of(zeros, b)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_map_stays_fast_when_every_key_has_the_same_hash),
        cmocka_unit_test(test_keyed_hash_differs_by_key_and_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
