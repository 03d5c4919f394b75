/* Updates of SharePlex in two halves: what finds what, and that reading records again gives the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "decode/shareplex_pair.h"

#define AT(position) ((struct mr_pair_place){0, (position), 0})

static const struct mr_pair_name ab = {{"T", 1}, {"1.1", 3}, {"A", 1}}, bb = {{"T", 1}, {"1.1", 3}, {"B", 1}},
                                 other = {{"T", 1}, {"2.2", 3}, {"A", 1}},
                                 bare = {{"T", 1}, {"", 0}, {"", 0}};

struct fixture {
    struct mr_pairs *pairs;
    struct mr_arena *ar;
    struct mr_str text;
};

static int set_up(void **state)
{
    static struct fixture f;
    f = (struct fixture){mr_pairs_create(), mr_arena_create(0), {NULL, 0}};
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    mr_pairs_destroy(f->pairs);
    mr_arena_destroy(f->ar);
    return 0;
}

static bool take(struct fixture *f, int64_t position, const struct mr_pair_name *name)
{
    mr_pairs_begin(f->pairs, AT(position));
    return mr_pairs_take(f->pairs, AT(position), name, f->ar, &f->text);
}

static bool lost(struct fixture *f, int64_t position, const struct mr_pair_name *name, bool is_last)
{
    mr_pairs_begin(f->pairs, AT(position));
    return mr_pairs_lost(f->pairs, AT(position), name, is_last, f->ar, &f->text);
}

static void test_halves_find_each_other_by_table_transaction_and_row(void **state)
{
    struct fixture *f = *state;
    assert_true(mr_pairs_keep(f->pairs, AT(1), &ab, MR_STR("a")));
    assert_true(mr_pairs_keep(f->pairs, AT(2), &bb, MR_STR("b")));
    assert_true(take(f, 3, &ab));
    assert_true(mr_str_eq_z(f->text, "a"));
    assert_false(take(f, 4, &other));
    assert_true(take(f, 5, &bb));
    assert_true(mr_str_eq_z(f->text, "b"));
    assert_false(take(f, 6, &bb));
}

static void test_a_record_that_is_read_again_finds_the_same_half_again(void **state)
{
    struct fixture *f = *state;
    assert_true(mr_pairs_keep(f->pairs, AT(1), &ab, MR_STR("a")));
    for (int i = 0; i < 3; i++)
        assert_true(take(f, 2, &ab));
    assert_false(take(f, 3, &ab));
    assert_true(mr_pairs_keep(f->pairs, AT(1), &ab, MR_STR("a"))); /* and the first half, too */
    assert_true(take(f, 2, &ab));
}

static void test_a_partition_waits_between_its_halves_and_only_there(void **state)
{
    struct fixture *f = *state;
    assert_true(mr_pairs_keep(f->pairs, AT(5), &ab, MR_STR("a")));
    assert_int_equal(mr_pairs_waiting(f->pairs, 0, 4, 0), 0);
    assert_int_equal(mr_pairs_waiting(f->pairs, 0, 5, 0), 5);
    assert_int_equal(mr_pairs_waiting(f->pairs, 0, 6, 0), 5);
    assert_int_equal(mr_pairs_waiting(f->pairs, 1, 6, 0), 0);
    assert_int_equal(mr_pairs_waiting(f->pairs, 0, 6, 5), 0); /* given up */
    assert_true(take(f, 7, &ab));
    assert_int_equal(mr_pairs_waiting(f->pairs, 0, 6, 0), 5);
    assert_int_equal(mr_pairs_waiting(f->pairs, 0, 7, 0), 0);
}

static void test_a_half_is_lost_at_the_end_of_its_transaction(void **state)
{
    struct fixture *f = *state;
    assert_true(mr_pairs_keep(f->pairs, AT(1), &ab, MR_STR("a")));
    assert_false(lost(f, 2, &other, true));
    assert_false(lost(f, 3, &bb, false));
    for (int i = 0; i < 2; i++) { /* the record that tells may be read again */
        assert_true(lost(f, 4, &bb, true));
        assert_true(mr_str_eq_z(f->text, "a"));
    }
    assert_false(lost(f, 5, &bb, true));
    assert_int_equal(mr_pairs_waiting(f->pairs, 0, 9, 0), 0);
}

static void test_without_addresses_the_next_record_is_the_other_half_or_none_is(void **state)
{
    struct fixture *f = *state;
    assert_true(mr_pairs_keep(f->pairs, AT(1), &bare, MR_STR("a")));
    assert_true(take(f, 2, &bare));
    assert_true(mr_pairs_keep(f->pairs, AT(3), &bare, MR_STR("b")));
    assert_true(lost(f, 4, &other, false));
}

static void test_a_half_is_lost_when_its_other_half_is_too_far_away(void **state)
{
    struct fixture *f = *state;
    assert_true(mr_pairs_keep(f->pairs, AT(1), &ab, MR_STR("a")));
    assert_false(lost(f, 10001, &other, false));
    assert_true(lost(f, 10002, &other, false));
}

static void test_no_more_halves_are_kept_than_fit(void **state)
{
    struct fixture *f = *state;
    int64_t n = 0;
    while (mr_pairs_keep(f->pairs, AT(n + 1), &ab, MR_STR("a")))
        n++;
    assert_int_equal(n, 4096);
    assert_true(take(f, n + 5, &ab)); /* those that have found theirs make room */
    assert_true(mr_pairs_keep(f->pairs, AT(n + 6), &ab, MR_STR("a")));
}

static void test_documents_of_one_record_are_in_order(void **state)
{
    struct fixture *f = *state;
    struct mr_pair_place first = {0, 1, 1}, second = {0, 1, 2};
    assert_true(mr_pairs_keep(f->pairs, first, &ab, MR_STR("a")));
    mr_pairs_begin(f->pairs, second);
    assert_true(mr_pairs_take(f->pairs, second, &ab, f->ar, &f->text));
    assert_int_equal(mr_pairs_waiting(f->pairs, 0, 1, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_halves_find_each_other_by_table_transaction_and_row, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_record_that_is_read_again_finds_the_same_half_again, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_partition_waits_between_its_halves_and_only_there, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_half_is_lost_at_the_end_of_its_transaction, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_without_addresses_the_next_record_is_the_other_half_or_none_is,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_half_is_lost_when_its_other_half_is_too_far_away, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_no_more_halves_are_kept_than_fit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_documents_of_one_record_are_in_order, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
