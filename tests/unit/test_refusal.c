/* What the target has refused is remembered for as long as it helps, and no longer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <millrace/base/arena.h>

#include "engine/refusal.h"

#define S MR_STR("s")
#define T MR_STR("t")

static const char *why(struct mr_refusals *refusals, enum mr_refused kind, const char *what_z)
{
    return mr_refusal_why(mr_refusals_of(refusals, S, T), kind, mr_str_z(what_z));
}

static void test_a_refusal_is_noted_once_and_for_its_table_alone(void **state)
{
    struct mr_refusals *refusals = mr_refusals_create();

    (void)state;
    assert_null(mr_refusals_of(refusals, S, T));
    assert_true(mr_refusals_add(refusals, S, T, MR_REFUSED_ALTER, MR_STR("a"), "a view"));
    assert_false(mr_refusals_add(refusals, S, T, MR_REFUSED_ALTER, MR_STR("a"), "a view"));
    assert_string_equal(why(refusals, MR_REFUSED_ALTER, "a"), "a view");
    assert_null(why(refusals, MR_REFUSED_COLUMN, "a"));
    assert_null(why(refusals, MR_REFUSED_ALTER, "b"));
    assert_null(mr_refusals_of(refusals, S, MR_STR("other")));
    mr_refusals_destroy(refusals);
}

static void test_the_first_failure_of_an_unclear_kind_is_no_refusal(void **state)
{
    struct mr_refusals *refusals = mr_refusals_create();

    (void)state;
    assert_true(mr_refusals_try_again(refusals, S, T, MR_REFUSED_TABLE, MR_STR("")));
    assert_null(why(refusals, MR_REFUSED_TABLE, ""));
    assert_false(mr_refusals_try_again(refusals, S, T, MR_REFUSED_TABLE, MR_STR("")));
    assert_true(mr_refusals_add(refusals, S, T, MR_REFUSED_TABLE, MR_STR(""), "no"));
    assert_string_equal(why(refusals, MR_REFUSED_TABLE, ""), "no");
    mr_refusals_destroy(refusals);
}

static void test_after_many_refused_columns_all_new_ones_are(void **state)
{
    struct mr_refusals *refusals = mr_refusals_create();
    char name[16];

    (void)state;
    for (int i = 0; i < 33; i++) {
        assert_null(why(refusals, MR_REFUSED_COLUMN, ""));
        snprintf(name, sizeof(name), "c%d", i);
        assert_true(mr_refusals_add(refusals, S, T, MR_REFUSED_COLUMN, mr_str_z(name), "no"));
    }
    assert_string_equal(why(refusals, MR_REFUSED_COLUMN, ""), "no");
    mr_refusals_destroy(refusals);
}

static void test_a_key_has_one_name_whatever_the_order_of_its_columns(void **state)
{
    const struct mr_str one[] = {MR_STR("a"), MR_STR("b")}, two[] = {MR_STR("b"), MR_STR("a")}, other[] = {MR_STR("ab")};
    struct mr_buf x = MR_BUF_INIT(1024), y = MR_BUF_INIT(1024), z = MR_BUF_INIT(1024);

    (void)state;
    mr_refusal_key_name(one, 2, &x);
    mr_refusal_key_name(two, 2, &y);
    mr_refusal_key_name(other, 1, &z);
    assert_true(mr_str_eq(mr_buf_str(&x), mr_buf_str(&y)));
    assert_false(mr_str_eq(mr_buf_str(&x), mr_buf_str(&z)));
    mr_buf_free(&x);
    mr_buf_free(&y);
    mr_buf_free(&z);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_refusal_is_noted_once_and_for_its_table_alone),
        cmocka_unit_test(test_the_first_failure_of_an_unclear_kind_is_no_refusal),
        cmocka_unit_test(test_after_many_refused_columns_all_new_ones_are),
        cmocka_unit_test(test_a_key_has_one_name_whatever_the_order_of_its_columns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
