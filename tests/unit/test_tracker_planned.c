/* DDL that was cut off between its own commit and its recording: what the catalog has as it was planned is Millrace's own. */
#include "support/tracker_test.h"

static struct mr_buf notes;

static void stored_column(const char *path_z, const char *type_z,
                          void (*give)(struct mr_tracker *, const struct mr_tracked_column *))
{
    struct mr_tracked_column of_before = {
        .name = mr_str_z(path_z), .path = mr_str_z(path_z), .conflicts = 3, .facts = {.int_digits = 9}};

    assert_true(mr_type_parse(mr_str_z(type_z), &of_before.type));
    of_before.counts[MR_T_INT64] = 7;
    give(tk, &of_before);
}

static void recorded(const char *path_z, const char *type_z)
{
    stored_column(path_z, type_z, mr_tracker_restore);
}

static void planned(const char *path_z, const char *type_z)
{
    stored_column(path_z, type_z, mr_tracker_planned);
}

static void meet(const char *name_z, const char *native_z)
{
    struct mr_catalog_column have = {.name = mr_str_z(name_z), .native = mr_str_z(native_z)};
    struct mr_catalog_table now = {.exists = true, .columns = &have, .column_count = 1};

    assert_true(mr_type_parse(mr_str_z(native_z), &have.type));
    mr_tracker_meet_catalog(tk, &now, &notes);
}

static int begin_notes(void **state)
{
    notes = (struct mr_buf)MR_BUF_INIT(10000);
    return set_up(state);
}

static int end_notes(void **state)
{
    mr_buf_free(&notes);
    return tear_down(state);
}

static void test_a_new_column_that_was_not_recorded_any_more_is_ours(void **state)
{
    (void)state;
    start("");
    planned("a", "int64");
    meet("a", "int64");
    type_is("a", "int64");
    assert_true(col("a")->dirty && !col("a")->by_hand);
    assert_int_equal(col("a")->counts[MR_T_INT64], 0); /* those rows have not been committed */
    assert_int_equal(col("a")->facts.int_digits, 0);
    assert_int_equal(notes.len, 0);
}

static void test_a_wider_type_that_was_not_recorded_any_more_is_ours(void **state)
{
    (void)state;
    start("");
    recorded("a", "int64");
    planned("a", "decimal(20,4)");
    meet("a", "decimal(20,4)");
    type_is("a", "decimal(20,4)");
    assert_true(col("a")->dirty && !col("a")->by_hand);
    assert_int_equal(notes.len, 0);
    assert_non_null(mr_tracker_taken(tk, 0));
    mr_tracker_saved(tk);
    assert_null(mr_tracker_taken(tk, 0));
}

static void test_a_plan_that_came_to_nothing_is_forgotten(void **state)
{
    (void)state;
    start("");
    recorded("a", "int64");
    planned("a", "text");
    planned("b", "text");
    meet("a", "int64");
    type_is("a", "int64");
    assert_false(col("a")->dirty);
    assert_int_equal(mr_tracker_count(tk), 1);
    assert_int_equal(notes.len, 0);
}

static void test_a_type_that_was_neither_recorded_nor_planned_was_made_by_hand(void **state)
{
    (void)state;
    start("");
    recorded("a", "int64");
    planned("a", "text");
    meet("a", "int16");
    type_is("a", "int16");
    assert_true(col("a")->by_hand);
    assert_null(mr_tracker_taken(tk, 0));
}

static void test_what_was_taken_is_told_as_it_is_in_the_target_whatever_is_learned_next(void **state)
{
    (void)state;
    start("types: {policies: {shop.orders.a: text}}");
    recorded("a", "int64");
    planned("a", "decimal(20,4)");
    meet("a", "decimal(20,4)");
    assert_int_equal(row(field("a", text("x"))), MR_VERDICT_OK);
    type_is("a", "text"); /* this is to be planned now, and killed once more */
    char have[32];
    assert_string_equal(mr_type_text(mr_tracker_taken(tk, 0)->type, have), "decimal(20,4)");
    assert_int_equal(mr_tracker_taken(tk, 0)->facts.int_digits, 9);
}

#define PLANNED_CASE(f) cmocka_unit_test_setup_teardown(f, begin_notes, end_notes)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLANNED_CASE(test_a_new_column_that_was_not_recorded_any_more_is_ours),
        PLANNED_CASE(test_a_wider_type_that_was_not_recorded_any_more_is_ours),
        PLANNED_CASE(test_a_plan_that_came_to_nothing_is_forgotten),
        PLANNED_CASE(test_a_type_that_was_neither_recorded_nor_planned_was_made_by_hand),
        PLANNED_CASE(test_what_was_taken_is_told_as_it_is_in_the_target_whatever_is_learned_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
