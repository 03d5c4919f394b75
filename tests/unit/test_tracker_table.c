/* The tracker's table: keys, rows that are refused, limits, the target's catalog, restarts. What happens to single fields:
 * test_tracker.c. */
#include "support/tracker_test.h"

/* ---- What the target refuses ---- */

static void test_a_column_that_the_target_does_not_add_is_dead_and_others_are_not(void **state)
{
    (void)state;
    start("");
    row(field("id", mr_value_int(1)));
    mr_tracker_refuse_new(tk, MR_STR("a"), "no more columns");
    assert_int_equal(row(field("a", mr_value_int(1))), MR_VERDICT_DEAD);
    says("refused", "\"a\" has no column");
    assert_non_null(strstr(err.detail, "no more columns"));
    assert_int_equal(mr_tracker_find(tk, MR_STR("a")), -1);
    assert_int_equal(row(field("b", mr_value_int(1))), MR_VERDICT_OK);
    mr_tracker_refuse_new(tk, MR_STR(""), "none at all");
    assert_int_equal(row(field("c", mr_value_int(1))), MR_VERDICT_DEAD);
    assert_int_equal(row(field("b", mr_value_int(1))), MR_VERDICT_OK);
}

static void test_a_column_that_the_target_does_not_alter_keeps_its_type(void **state)
{
    (void)state;
    start("");
    mr_tracker_refuse_alter(tk, MR_STR("late"), "a view depends on it"); /* known by its path before it is a column */
    row(field("a", mr_value_int(1)));
    row(field("late", mr_value_int(1)));
    mr_table_unref(mr_tracker_publish(tk));
    mr_tracker_refuse_alter(tk, MR_STR("a"), "a view depends on it");
    assert_int_equal(row(field("a", number("1.5"))), MR_VERDICT_DEAD);
    says("type_conflict", "\"a\"");
    assert_non_null(strstr(err.detail, "a view depends on it"));
    assert_int_equal(row(field("late", number("1.5"))), MR_VERDICT_DEAD);
    assert_int_equal(row(field("a", mr_value_int(2))), MR_VERDICT_OK);
    assert_false(mr_tracker_changed(tk));
}

static void test_columns_of_others_and_dropped_ones_count_against_the_limit(void **state)
{
    struct mr_catalog_column have[] = {{.name = MR_STR("mine"), .native = MR_STR("int64"), .type = MR_TYPE(MR_T_INT64)},
                                       {.name = MR_STR("theirs"), .native = MR_STR("int64"), .type = MR_TYPE(MR_T_INT64)}};
    struct mr_catalog_table now = {.exists = true, .columns = have, .column_count = 2, .gone_columns = 1};
    struct mr_buf notes = MR_BUF_INIT(4096);

    (void)state;
    dialect.max_columns = 4;
    start("");
    mr_tracker_meet_catalog(tk, &now, &notes);
    assert_int_equal(row(field("mine", mr_value_int(1))), MR_VERDICT_OK);
    assert_int_equal(row(field("new", mr_value_int(1))), MR_VERDICT_OK);
    assert_int_equal(row(field("too_many", mr_value_int(1))), MR_VERDICT_DEAD);
    says("too_large", "\"too_many\"");
    assert_int_equal(row(field("theirs", mr_value_int(1))), MR_VERDICT_OK); /* is there already */
    assert_int_equal(mr_tracker_count(tk), 3);
    mr_buf_free(&notes);
}

/* ---- Keys ---- */

static void test_a_null_key_is_dead(void **state)
{
    (void)state;
    start("");
    begin();
    assert_int_equal(judge(declared("id", "int32", mr_value_null()), true), MR_VERDICT_DEAD);
    says("null_key", "\"id\"");
    assert_int_equal(mr_tracker_count(tk), 0);
    judge(field("id", mr_value_int(1)), true);
    mr_tracker_row_commit(tk);
    assert_true(col("id")->is_key);
    assert_int_equal(row(field("id", mr_value_null())), MR_VERDICT_DEAD); /* in the row, too */
}

static void test_another_key_set_changes_the_table(void **state)
{
    struct mr_str one[] = {MR_STR("id")}, two[] = {MR_STR("line"), MR_STR("id")}, swapped[] = {MR_STR("id"), MR_STR("line")};
    const struct mr_str *paths;

    (void)state;
    start("");
    assert_false(mr_tracker_set_key(tk, NULL, 0));
    assert_true(mr_tracker_set_key(tk, one, 1));
    row(field("id", mr_value_int(1)));
    assert_true(col("id")->is_key);
    row(field("line", mr_value_int(1)));
    struct mr_table *tbl = mr_tracker_publish(tk);
    assert_int_equal(tbl->key_count, 1);
    assert_false(mr_tracker_set_key(tk, one, 1));
    assert_false(mr_tracker_changed(tk));
    assert_true(mr_tracker_set_key(tk, two, 2));
    assert_false(mr_tracker_set_key(tk, swapped, 2)); /* the same set, in the new order */
    assert_true(mr_tracker_changed(tk));
    struct mr_table *next = mr_tracker_publish(tk);
    assert_int_equal(next->key_count, 2);
    assert_int_equal(next->key_columns[0], 0);
    assert_int_equal(next->key_columns[1], 1);
    assert_true(next->columns[1].is_key);
    assert_int_equal(next->id, tbl->id);
    assert_int_equal(next->version, tbl->version + 1);
    assert_int_equal(mr_tracker_key(tk, &paths), 2);
    mr_table_unref(tbl);
    mr_table_unref(next);
    assert_true(mr_tracker_set_key(tk, NULL, 0));
    assert_false(col("id")->is_key);
}

static void test_the_table_has_no_key_while_one_of_its_columns_is_unknown(void **state)
{
    struct mr_str two[] = {MR_STR("id"), MR_STR("line")};

    (void)state;
    start("");
    mr_tracker_set_key(tk, two, 2);
    row(field("id", mr_value_int(1)));
    struct mr_table *tbl = mr_tracker_publish(tk);
    assert_int_equal(tbl->key_count, 0);
    mr_table_unref(tbl);
}

static void test_a_key_change_outlives_the_refused_row_that_brought_it(void **state)
{
    struct mr_str one[] = {MR_STR("id")};

    (void)state;
    start("");
    row(field("id", mr_value_int(1)));
    mr_table_unref(mr_tracker_publish(tk));
    begin();
    mr_tracker_set_key(tk, one, 1);
    mr_tracker_row_rollback(tk);
    assert_true(mr_tracker_changed(tk));
}

/* ---- Refused rows ---- */

static void test_a_refused_row_leaves_nothing_but_the_conflict_count(void **state)
{
    (void)state;
    start("");
    row(field("a", mr_value_int(7)));
    row(field("t", text("abc")));
    mr_table_unref(mr_tracker_publish(tk));
    struct mr_tracked_column before = *col("a"), before_text = *col("t");

    begin();
    assert_int_equal(judge(field("a", mr_value_int(1000)), false), MR_VERDICT_OK);
    assert_int_equal(judge(field("a", number("1.5")), false), MR_VERDICT_OK);
    assert_int_equal(judge(field("a", mr_value_float(0.25)), false), MR_VERDICT_OK);
    assert_int_equal(judge(field("t", text("longer than abc")), false), MR_VERDICT_OK);
    assert_int_equal(judge(field("new.name", text("x")), false), MR_VERDICT_OK);
    assert_int_equal(judge(field("t", mr_value_int(1)), false), MR_VERDICT_DEAD);
    mr_tracker_row_rollback(tk);

    assert_int_equal(mr_tracker_count(tk), 2);
    assert_int_equal(mr_tracker_find(tk, MR_STR("new.name")), -1);
    assert_false(mr_tracker_changed(tk));
    assert_true(mr_type_eq(before.type, col("a")->type));
    assert_memory_equal(&before.facts, &col("a")->facts, sizeof(before.facts));
    assert_memory_equal(before.counts, col("a")->counts, sizeof(before.counts));
    assert_int_equal(col("a")->widened.topic.len, 0);
    assert_int_equal(before_text.facts.max_len, col("t")->facts.max_len);
    assert_int_equal(col("t")->conflicts, 1);
    row(field("new_name", text("x"))); /* the name is free again */
    name_is(2, "new_name");
    assert_false(col("new_name")->name_substituted);
}

static void test_a_declared_change_of_a_refused_row_is_judged_again(void **state)
{
    (void)state;
    start("");
    row(declared("a", "int32", mr_value_int(1)));
    begin();
    judge(declared("a", "int64", mr_value_int(INT64_MAX)), false);
    mr_tracker_row_rollback(tk);
    type_is("a", "int32");
    row(declared("a", "int64", mr_value_int(1)));
    type_is("a", "int64");
}

static void test_fields_are_found_wherever_they_stand(void **state)
{
    (void)state;
    start("");
    for (int i = 0; i < 4; i++) {
        struct mr_field a = field("a", mr_value_int(i)), b = field("b", text("x"));
        begin();
        mr_tracker_field(tk, i % 2 ? &a : &b, 0, false, ar, &column, &nulled, &stored, &err);
        mr_tracker_field(tk, i % 2 ? &b : &a, 100000, false, ar, &column, &nulled, &stored, &err);
        mr_tracker_row_commit(tk);
    }
    assert_int_equal(mr_tracker_count(tk), 2);
    assert_int_equal(col("a")->counts[MR_T_INT64], 4);
    assert_int_equal(col("b")->counts[MR_T_TEXT], 4);
}

static void test_more_columns_than_the_target_allows_are_refused(void **state)
{
    (void)state;
    dialect.max_columns = 2;
    start(POLICY("variant"));
    row(field("a", mr_value_int(1)));
    row(field("b", mr_value_int(1)));
    assert_int_equal(row(field("c", mr_value_int(1))), MR_VERDICT_DEAD);
    says("too_large", "at most 2");
    assert_int_equal(row(field("a", text("x"))), MR_VERDICT_DEAD);
    assert_int_equal(mr_tracker_count(tk), 2);
}

static void test_an_endless_path_is_refused(void **state)
{
    static char path[5001];

    (void)state;
    start("");
    memset(path, 'x', sizeof(path) - 1);
    assert_int_equal(row(field(path, mr_value_int(1))), MR_VERDICT_DEAD);
    says("too_large", "5000 bytes");
}

static void test_millraces_own_paths_collide_with_no_field(void **state)
{
    (void)state;
    start("");
    begin();
    struct mr_field own = {.path = MR_OWN_PATH("_key"), .type = MR_TYPE(MR_T_TEXT), .value = text("k")};
    judge(own, true);
    judge(field("_key", mr_value_int(1)), false);
    mr_tracker_row_commit(tk);
    assert_int_equal(mr_tracker_count(tk), 2);
    name_is(0, "_key");
    assert_true(col("_key")->name_substituted);
}

/* ---- The catalog, restarts ---- */

static struct mr_catalog_table catalog(struct mr_catalog_column *columns, size_t count)
{
    return (struct mr_catalog_table){.exists = true, .columns = columns, .column_count = count};
}

static struct mr_catalog_column catalog_column(const char *name_z, const char *native_z)
{
    return (struct mr_catalog_column){.name = mr_str_z(name_z), .native = mr_str_z(native_z),
                                      .type = fake_type_of_column(mr_str_z(native_z))};
}

static void restore(const char *path_z, const char *type_z)
{
    struct mr_tracked_column stored_column = {.name = mr_str_z(path_z), .path = mr_str_z(path_z)};

    assert_true(mr_type_parse(mr_str_z(type_z), &stored_column.type));
    mr_tracker_restore(tk, &stored_column);
}

static void test_a_column_narrowed_by_hand_is_respected_and_noted(void **state)
{
    struct mr_catalog_column columns[] = {catalog_column("a", "int16"), catalog_column("b", "decimal(20,4)")};
    struct mr_catalog_table now = catalog(columns, 2);
    struct mr_buf notes = MR_BUF_INIT(10000);

    (void)state;
    start("");
    restore("a", "int64");
    restore("b", "int32");
    assert_false(col("a")->dirty);
    mr_tracker_meet_catalog(tk, &now, &notes);
    type_is("a", "int16");
    assert_true(col("a")->by_hand && col("a")->dirty);
    type_is("b", "int32"); /* wider: nothing to do */
    assert_false(col("b")->by_hand);
    assert_string_equal(mr_buf_z(&notes), "shop.orders: column \"a\" is int16 in the target, recorded was int64: the target's type is kept\n");
    assert_int_equal(row(field("a", mr_value_int(7))), MR_VERDICT_OK);
    assert_int_equal(row(field("a", mr_value_int(70000))), MR_VERDICT_DEAD);
    says("type_conflict", "set by hand");
    struct mr_table *tbl = mr_tracker_publish(tk);
    assert_true(tbl->columns[0].by_hand);
    assert_true(mr_str_eq_z(tbl->columns[1].native, "decimal(20,4)"));
    mr_table_unref(tbl);
    mr_buf_free(&notes);
}

static void test_a_column_of_an_unknown_type_takes_only_nulls(void **state)
{
    struct mr_catalog_column columns[] = {catalog_column("a", "geometry")};
    struct mr_catalog_table now = catalog(columns, 1);
    struct mr_buf notes = MR_BUF_INIT(10000);

    (void)state;
    start("");
    restore("a", "int64");
    mr_tracker_meet_catalog(tk, &now, &notes);
    assert_int_equal(row(field("a", mr_value_int(7))), MR_VERDICT_DEAD);
    assert_int_equal(row(field("a", mr_value_null())), MR_VERDICT_OK);
    mr_buf_free(&notes);
}

static void test_an_alter_of_ours_that_is_still_to_come_is_not_taken_for_a_hand(void **state)
{
    struct mr_catalog_column columns[] = {catalog_column("a", "int64")};
    struct mr_catalog_table now = catalog(columns, 1);
    struct mr_buf notes = MR_BUF_INIT(10000);

    (void)state;
    start("");
    row(field("a", mr_value_int(7)));
    mr_tracker_meet_catalog(tk, &now, &notes);
    row(field("a", number("1.5")));
    mr_tracker_meet_catalog(tk, &now, &notes); /* the gate looks before it alters */
    type_is("a", "decimal");
    assert_false(col("a")->by_hand);
    assert_int_equal(notes.len, 0);
    mr_buf_free(&notes);
}

static void test_a_field_adopts_the_column_of_its_name(void **state)
{
    struct mr_catalog_column columns[] = {catalog_column("a", "decimal"), catalog_column("b", "int16")};
    struct mr_catalog_table now = catalog(columns, 2);
    struct mr_buf notes = MR_BUF_INIT(10000);

    (void)state;
    start("");
    mr_tracker_meet_catalog(tk, &now, &notes);
    assert_int_equal(row(field("a", mr_value_int(7))), MR_VERDICT_OK);
    name_is(0, "a");
    type_is("a", "int64");
    assert_false(col("a")->by_hand);
    assert_int_equal(row(field("b", mr_value_int(7))), MR_VERDICT_OK);
    type_is("b", "int16");
    assert_true(col("b")->by_hand);
    assert_int_equal(row(field("b", mr_value_int(70000))), MR_VERDICT_DEAD);
    mr_buf_free(&notes);
}

static void test_unique_indexes_besides_the_key_are_told(void **state)
{
    struct mr_catalog_column columns[] = {catalog_column("id", "int64"), catalog_column("mail", "text")};
    struct mr_catalog_table now = catalog(columns, 2);
    struct mr_str key[] = {MR_STR("id")}, mail[] = {MR_STR("mail")};
    struct mr_str *sets[] = {mail};
    size_t sizes[] = {1};
    struct mr_buf notes = MR_BUF_INIT(10000);

    (void)state;
    start("");
    restore("id", "int64");
    mr_tracker_set_key(tk, key, 1);
    now.key = key;
    now.key_count = 1;
    mr_tracker_meet_catalog(tk, &now, &notes);
    struct mr_table *tbl = mr_tracker_publish(tk);
    assert_true(tbl->exists);
    assert_false(tbl->has_other_unique);
    mr_table_unref(tbl);
    now.unique_sets = sets;
    now.unique_set_sizes = sizes;
    now.unique_count = 1;
    now.has_foreign_keys = true;
    mr_tracker_meet_catalog(tk, &now, &notes);
    tbl = mr_tracker_publish(tk);
    assert_true(tbl->has_other_unique && tbl->has_foreign_keys);
    mr_table_unref(tbl);
    mr_buf_free(&notes);
}

static void test_a_newly_configured_type_applies_unless_it_is_narrower(void **state)
{
    struct mr_catalog_column columns[] = {catalog_column("a", "int64"), catalog_column("b", "text")};
    struct mr_catalog_table now = catalog(columns, 2);
    struct mr_buf notes = MR_BUF_INIT(10000);

    (void)state;
    start("types: {columns: {shop.orders.a: \"decimal(30,2)\", shop.orders.b: date}}");
    restore("a", "int64");
    restore("b", "text");
    mr_tracker_meet_catalog(tk, &now, &notes);
    type_is("a", "decimal(30,2)");
    assert_true(mr_tracker_changed(tk));
    assert_false(col("a")->by_hand);
    type_is("b", "text");
    assert_non_null(strstr(mr_buf_z(&notes), "types.columns for \"b\" is not applied"));
    mr_buf_free(&notes);
}

static void test_saved_columns_are_clean_until_something_is_learned(void **state)
{
    (void)state;
    start("");
    row(field("a", mr_value_int(1)));
    assert_true(col("a")->dirty);
    mr_tracker_saved(tk);
    assert_false(col("a")->dirty);
    row(field("a", mr_value_int(1)));
    assert_true(col("a")->dirty);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_a_column_that_the_target_does_not_add_is_dead_and_others_are_not),
        CASE(test_a_column_that_the_target_does_not_alter_keeps_its_type),
        CASE(test_columns_of_others_and_dropped_ones_count_against_the_limit),
        CASE(test_a_null_key_is_dead),
        CASE(test_another_key_set_changes_the_table),
        CASE(test_the_table_has_no_key_while_one_of_its_columns_is_unknown),
        CASE(test_a_key_change_outlives_the_refused_row_that_brought_it),
        CASE(test_a_refused_row_leaves_nothing_but_the_conflict_count),
        CASE(test_a_declared_change_of_a_refused_row_is_judged_again),
        CASE(test_fields_are_found_wherever_they_stand),
        CASE(test_more_columns_than_the_target_allows_are_refused),
        CASE(test_an_endless_path_is_refused),
        CASE(test_millraces_own_paths_collide_with_no_field),
        CASE(test_a_column_narrowed_by_hand_is_respected_and_noted),
        CASE(test_a_column_of_an_unknown_type_takes_only_nulls),
        CASE(test_an_alter_of_ours_that_is_still_to_come_is_not_taken_for_a_hand),
        CASE(test_a_field_adopts_the_column_of_its_name),
        CASE(test_unique_indexes_besides_the_key_are_told),
        CASE(test_a_newly_configured_type_applies_unless_it_is_narrower),
        CASE(test_saved_columns_are_clean_until_something_is_learned),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
