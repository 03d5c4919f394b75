/* The laws of names over random paths: no two paths share a name (case folded where the dialect folds), none is longer than the target
 * allows, all are well-formed, the same paths in the same order give the same names, and a path keeps its name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <millrace/base/arena.h>
#include <millrace/base/map.h>
#include <millrace/base/utf8.h>
#include <millrace/schema/name.h>

#include "schema/fold.h"
#include "support/fake_dialect.h"

#define ROUNDS 300
#define PATHS 400

static uint64_t seed, random_state;

static uint64_t next(void)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Few letters, so that names collide in every way: case, cut, escapes, bytes that have to go. */
static struct mr_str random_path(struct mr_arena *ar)
{
    static const char *const parts[] = {"a", "A", "b", "_", ".", "\\.", "\\\\", "é", "É", "\xff", "Я", "я", "ab", "_a", "\xed\xa0\x80", "long_name"};
    char *text = mr_arena_alloc(ar, 512);
    size_t len = 0, count = next() % (next() % 4 ? 4 : 40);

    for (size_t i = 0; i < count; i++) {
        const char *part = parts[next() % 16];
        memcpy(text + len, part, strlen(part));
        len += strlen(part);
    }
    if (next() % 8 == 0)
        text[len++] = '\0';
    return mr_str_of(text, len);
}

static void check_round(const struct mr_dialect *dialect)
{
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_names *one = mr_names_create(dialect), *two = mr_names_create(dialect);
    struct mr_map *owner = mr_map_create(); /* folded name → path */
    struct mr_str paths[PATHS], names[PATHS];
    bool substituted;

    for (size_t i = 0; i < PATHS; i++) {
        paths[i] = random_path(ar);
        struct mr_str wanted = mr_path_column_name(paths[i], MR_STR("_"), ar);
        names[i] = mr_names_give(one, paths[i], wanted, &substituted);
        struct mr_str again = mr_names_give(two, paths[i], wanted, &substituted);

        if (!mr_str_eq(names[i], again))
            fail_msg("MR_SEED=%llu: not deterministic: %.*s", (unsigned long long)seed, MR_STR_FMT(names[i]));
        if (names[i].len == 0 || names[i].len > dialect->max_ident || mr_utf8_check(names[i]) != 0)
            fail_msg("MR_SEED=%llu: no identifier: %.*s", (unsigned long long)seed, MR_STR_FMT(names[i]));
        if (substituted == mr_str_eq(names[i], wanted))
            fail_msg("MR_SEED=%llu: substituted is a lie: %.*s", (unsigned long long)seed, MR_STR_FMT(names[i]));
        struct mr_buf folded = MR_BUF_INIT(4096);
        mr_name_fold(dialect, names[i], &folded);
        struct mr_str *holder = mr_map_get(owner, mr_buf_str(&folded));
        if (holder && !mr_str_eq(*holder, paths[i]))
            fail_msg("MR_SEED=%llu: two paths are %.*s", (unsigned long long)seed, MR_STR_FMT(names[i]));
        mr_map_put(owner, mr_buf_str(&folded), &paths[i]);
        mr_buf_free(&folded);
    }
    /* What a restart knows: the names from the control table, in any order. */
    struct mr_names *restored = mr_names_create(dialect);
    for (size_t i = PATHS; i-- > 0;)
        if (paths[i].len > 0)
            assert_true(mr_names_take(restored, paths[i], names[i]));
    for (size_t i = 0; i < PATHS; i++)
        if (paths[i].len > 0)
            assert_true(mr_str_eq(names[i], mr_names_give(restored, paths[i], MR_STR("other"), &substituted)));
    mr_names_destroy(restored);
    mr_map_destroy(owner, NULL);
    mr_names_destroy(two);
    mr_names_destroy(one);
    mr_arena_destroy(ar);
}

static void check_dialect(struct mr_dialect dialect)
{
    static const size_t lengths[] = {63, 30, 12};
    const char *given = getenv("MR_SEED");

    seed = given ? strtoull(given, NULL, 0) : 42;
    random_state = seed;
    for (int i = 0; i < ROUNDS; i++) {
        dialect.max_ident = lengths[i % 3];
        check_round(&dialect);
    }
}

static void test_names_are_injective_and_stable(void **state)
{
    (void)state;
    check_dialect(fake_dialect());
}

static void test_names_are_injective_under_folding_of_ascii(void **state)
{
    struct mr_dialect dialect = fake_dialect();

    (void)state;
    dialect.ident_case_folds = true;
    check_dialect(dialect);
}

static void test_names_are_injective_under_folding_of_everything(void **state)
{
    struct mr_dialect dialect = fake_dialect();

    (void)state;
    dialect.ident_case_folds = true;
    dialect.ident_folds_unicode = true;
    check_dialect(dialect);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_are_injective_and_stable),
        cmocka_unit_test(test_names_are_injective_under_folding_of_ascii),
        cmocka_unit_test(test_names_are_injective_under_folding_of_everything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
