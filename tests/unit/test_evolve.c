/* The diff from a catalog's table to the wanted one: which steps, in which order, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <millrace/schema/evolve.h>

#include "support/fake_dialect.h"

static struct mr_arena *ar;
static struct mr_dialect dialect;
static struct mr_table want;
static struct mr_column want_columns[8];
static uint32_t want_key[4];
static struct mr_catalog_table now;
static struct mr_catalog_column now_columns[8];
static struct mr_str now_key[4];
static struct mr_ddl_step *steps;
static size_t step_count;
static struct mr_error err;

/* Wanted: shop.orders (id int64, total decimal(10,2)), key id. */
static int set_up(void **state)
{
    (void)state;
    ar = mr_arena_create(0);
    dialect = fake_dialect();
    want_columns[0] = (struct mr_column){.name = MR_STR("id"), .path = MR_STR("id"), .type = MR_TYPE(MR_T_INT64), .is_key = true};
    want_columns[1] = (struct mr_column){.name = MR_STR("total"), .path = MR_STR("total"), .type = MR_TYPE_DECIMAL(10, 2)};
    want_key[0] = 0;
    want = (struct mr_table){.schema = MR_STR("shop"), .name = MR_STR("orders"), .column_count = 2,
                             .columns = want_columns, .key_count = 1, .key_columns = want_key};
    now_columns[0] = (struct mr_catalog_column){.name = MR_STR("id"), .native = MR_STR("int64"), .type = MR_TYPE(MR_T_INT64)};
    now_columns[1] = (struct mr_catalog_column){.name = MR_STR("total"), .native = MR_STR("decimal(10,2)"), .type = MR_TYPE_DECIMAL(10, 2)};
    now_key[0] = MR_STR("id");
    now = (struct mr_catalog_table){.exists = true, .columns = now_columns, .column_count = 2, .key = now_key, .key_count = 1};
    err = (struct mr_error){0};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    mr_arena_destroy(ar);
    return 0;
}

static enum mr_status diff(bool ours)
{
    return mr_evolve_diff(&want, &now, ours, &dialect, ar, &steps, &step_count, &err);
}

static void reason_is(size_t i, const char *want_z)
{
    if (!mr_str_eq_z(steps[i].reason, want_z))
        fail_msg("have \"%.*s\", want \"%s\"", MR_STR_FMT(steps[i].reason), want_z);
}

static void test_a_table_that_is_as_wanted_needs_no_step(void **state)
{
    (void)state;
    assert_int_equal(diff(true), MR_OK);
    assert_int_equal(step_count, 0);
}

/* A text column holds JSON texts, but then old texts and new ones would not be told apart. */
static void test_a_text_column_that_turns_to_json_is_altered(void **state)
{
    (void)state;
    want_columns[1].type = MR_TYPE(MR_T_JSON);
    want_columns[1].recorded = MR_TYPE(MR_T_TEXT);
    now_columns[1].native = MR_STR("text");
    now_columns[1].type = MR_TYPE(MR_T_TEXT);
    assert_int_equal(diff(true), MR_OK);
    assert_int_equal(step_count, 1);
    assert_int_equal(steps[0].kind, MR_DDL_ALTER_TYPE);
    want_columns[1].recorded = MR_TYPE(MR_T_JSON); /* somebody made the JSON column a text column: respected */
    assert_int_equal(diff(true), MR_OK);
    assert_int_equal(step_count, 0);
}

static void test_a_missing_table_is_created_in_its_schema(void **state)
{
    (void)state;
    now = (struct mr_catalog_table){0};
    assert_int_equal(diff(true), MR_OK);
    assert_int_equal(step_count, 2);
    assert_int_equal(steps[0].kind, MR_DDL_CREATE_SCHEMA);
    assert_int_equal(steps[1].kind, MR_DDL_CREATE_TABLE);
    assert_ptr_equal(steps[1].tbl, &want);

    dialect.has_schemas = false;
    assert_int_equal(diff(true), MR_OK);
    assert_int_equal(step_count, 1);
}

static void test_a_missing_column_is_added(void **state)
{
    (void)state;
    now.column_count = 1;
    assert_int_equal(diff(true), MR_OK);
    assert_int_equal(step_count, 1);
    assert_int_equal(steps[0].kind, MR_DDL_ADD_COLUMN);
    assert_int_equal(steps[0].column, 1);
    reason_is(0, "orders.total: new, decimal(10,2)");
}

static void test_a_narrower_column_is_altered_and_says_why(void **state)
{
    (void)state;
    now_columns[1].native = MR_STR("int16");
    now_columns[1].type = MR_TYPE(MR_T_INT16);
    assert_int_equal(diff(true), MR_OK);
    assert_int_equal(step_count, 1);
    assert_int_equal(steps[0].kind, MR_DDL_ALTER_TYPE);
    assert_int_equal(steps[0].from.kind, MR_T_INT16);
    reason_is(0, "orders.total: decimal(10,2) after int16");
}

static void test_a_wider_column_and_one_respected_as_it_is_need_no_step(void **state)
{
    (void)state;
    now_columns[0].native = MR_STR("text");
    now_columns[1].native = MR_STR("geometry");
    now_columns[1].type = MR_TYPE(MR_T_NONE);
    want_columns[1].by_hand = true;
    assert_int_equal(diff(true), MR_OK);
    assert_int_equal(step_count, 0);
}

static void test_columns_are_found_in_whatever_case_where_the_dialect_folds(void **state)
{
    (void)state;
    now_columns[1].name = MR_STR("TOTAL");
    now_key[0] = MR_STR("Id");
    assert_int_equal(diff(false), MR_E_CONFIG);
    dialect.ident_case_folds = true;
    assert_int_equal(diff(false), MR_OK);
    assert_int_equal(step_count, 0);
}

static void test_our_own_key_is_replaced_after_the_columns(void **state)
{
    (void)state;
    want_columns[2] = (struct mr_column){.name = MR_STR("line"), .path = MR_STR("line"), .type = MR_TYPE(MR_T_INT32), .is_key = true};
    want.column_count = 3;
    want_key[1] = 2;
    want.key_count = 2;
    assert_int_equal(diff(true), MR_OK);
    assert_int_equal(step_count, 2);
    assert_int_equal(steps[0].kind, MR_DDL_ADD_COLUMN);
    assert_int_equal(steps[1].kind, MR_DDL_REPLACE_KEY);
    reason_is(1, "orders: the key is now \"id\", \"line\"");
}

static void test_a_lost_key_is_dropped_from_our_own_table_only(void **state)
{
    (void)state;
    want.key_count = 0;
    assert_int_equal(diff(true), MR_OK);
    assert_int_equal(step_count, 1);
    assert_int_equal(steps[0].kind, MR_DDL_REPLACE_KEY);
    reason_is(0, "orders: the key is now none");
    assert_int_equal(diff(false), MR_OK);
    assert_int_equal(step_count, 0);
}

static void test_a_foreign_table_without_the_key_is_refused_with_the_statement(void **state)
{
    (void)state;
    now.key_count = 0;
    assert_int_equal(diff(false), MR_E_CONFIG);
    assert_non_null(strstr(err.hint, "ALTER TABLE \"shop\".\"orders\" ADD PRIMARY KEY (\"id\")"));
    now.key_count = 1;
    now_key[0] = MR_STR("total");
    assert_int_equal(diff(false), MR_E_CONFIG);
    assert_non_null(strstr(err.hint, "ALTER TABLE \"shop\".\"orders\" ADD UNIQUE (\"id\")"));
    dialect.has_schemas = false;
    want.schema = MR_STR("");
    assert_int_equal(diff(false), MR_E_CONFIG);
    assert_non_null(strstr(err.hint, "CREATE UNIQUE INDEX \"orders_key\" ON \"orders\" (\"id\")"));
}

static void test_a_unique_index_over_exactly_the_key_will_do(void **state)
{
    struct mr_str two[] = {MR_STR("total"), MR_STR("id")}, one[] = {MR_STR("id")};
    struct mr_str *sets[] = {two, one};
    size_t sizes[] = {2, 1};

    (void)state;
    now.key_count = 0;
    now.unique_sets = sets;
    now.unique_set_sizes = sizes;
    now.unique_count = 1;
    assert_int_equal(diff(false), MR_E_CONFIG);
    now.unique_count = 2;
    assert_int_equal(diff(false), MR_OK);
    assert_int_equal(step_count, 0);
    want_key[1] = 1; /* id, total: order does not matter */
    want.key_count = 2;
    assert_int_equal(diff(false), MR_OK);
}

static void test_an_index_that_is_no_key_will_not_do(void **state)
{
    struct mr_str *sets[] = {NULL};
    size_t sizes[] = {0};

    (void)state;
    now.key_count = 0;
    now.unique_sets = sets;
    now.unique_set_sizes = sizes;
    now.unique_count = 1;
    assert_int_equal(diff(false), MR_E_CONFIG);
}

static void test_a_key_column_that_merges_texts_is_refused_with_the_statement(void **state)
{
    (void)state;
    want_columns[0].type = now_columns[0].type = MR_TYPE(MR_T_TEXT);
    now_columns[0].native = MR_STR("text");
    assert_int_equal(diff(true), MR_OK);
    now_columns[0].merges_texts = true;
    assert_int_equal(diff(true), MR_E_CONFIG);
    assert_string_equal(err.hint, "make the table anew with a key column whose collation is BINARY");
    now_columns[0].tell_apart = MR_STR("MODIFY id");
    assert_int_equal(diff(true), MR_E_CONFIG);
    assert_string_equal(err.hint, "run: ALTER TABLE \"shop\".\"orders\" MODIFY id");
    want_columns[0].type = MR_TYPE(MR_T_INT64); /* whose texts differ for every collation */
    assert_int_equal(diff(true), MR_OK);
    want_columns[0].type = MR_TYPE(MR_T_TEXT);
    want.key_count = now.key_count = 0; /* no key, nothing to merge */
    assert_int_equal(diff(true), MR_OK);
}

static void test_a_table_that_is_unfit_is_refused_with_the_remedy(void **state)
{
    (void)state;
    now.unfit = MR_STR("is kept by somebody else");
    now.remedy = MR_STR("ENGINE=Ours");
    assert_int_equal(diff(true), MR_E_CONFIG);
    assert_string_equal(err.message, "table \"orders\" is kept by somebody else");
    assert_string_equal(err.hint, "run: ALTER TABLE \"shop\".\"orders\" ENGINE=Ours");
}

static void test_a_generated_column_of_our_name_is_refused(void **state)
{
    (void)state;
    now_columns[1].generated = true;
    assert_int_equal(diff(true), MR_E_CONFIG);
    assert_non_null(strstr(err.message, "\"total\""));
    assert_true(err.hint[0] != 0);
}

static void test_more_columns_than_the_target_allows_are_data(void **state)
{
    (void)state;
    dialect.max_columns = 1;
    assert_int_equal(diff(true), MR_E_DATA);
    assert_string_equal(err.code, MR_CODE_TOO_LARGE);
    assert_non_null(strstr(err.message, "\"orders\""));
    now.exists = false;
    assert_int_equal(diff(true), MR_E_DATA);

    dialect.max_columns = 2; /* somebody's third column counts too */
    now.exists = true;
    now_columns[1].name = MR_STR("theirs");
    assert_int_equal(diff(true), MR_E_DATA);
}

static void test_evolve_says_which_steps_are_allowed(void **state)
{
    static const struct {
        enum mr_ddl_kind kind;
        bool full, add, none;
    } cases[] = {
        {MR_DDL_CREATE_SCHEMA, true, true, false}, {MR_DDL_CREATE_TABLE, true, true, false},
        {MR_DDL_ADD_COLUMN, true, true, false},    {MR_DDL_ALTER_TYPE, true, false, false},
        {MR_DDL_REPLACE_KEY, true, false, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct mr_ddl_step step = {.kind = cases[i].kind};
        assert_int_equal(mr_ddl_allowed(&step, MR_EVOLVE_FULL), cases[i].full);
        assert_int_equal(mr_ddl_allowed(&step, MR_EVOLVE_ADD), cases[i].add);
        assert_int_equal(mr_ddl_allowed(&step, MR_EVOLVE_NONE), cases[i].none);
    }
}

static void test_a_column_is_changed_by_hand_when_it_no_longer_holds_its_type(void **state)
{
    (void)state;
    assert_false(mr_evolve_changed_by_hand(&want_columns[1], &now_columns[1], &dialect));
    now_columns[1].native = MR_STR("decimal(20,4)");
    assert_false(mr_evolve_changed_by_hand(&want_columns[1], &now_columns[1], &dialect));
    now_columns[1].native = MR_STR("int64");
    assert_true(mr_evolve_changed_by_hand(&want_columns[1], &now_columns[1], &dialect));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_a_table_that_is_as_wanted_needs_no_step),
        CASE(test_a_text_column_that_turns_to_json_is_altered),
        CASE(test_a_missing_table_is_created_in_its_schema),
        CASE(test_a_missing_column_is_added),
        CASE(test_a_narrower_column_is_altered_and_says_why),
        CASE(test_a_wider_column_and_one_respected_as_it_is_need_no_step),
        CASE(test_columns_are_found_in_whatever_case_where_the_dialect_folds),
        CASE(test_our_own_key_is_replaced_after_the_columns),
        CASE(test_a_lost_key_is_dropped_from_our_own_table_only),
        CASE(test_a_foreign_table_without_the_key_is_refused_with_the_statement),
        CASE(test_a_unique_index_over_exactly_the_key_will_do),
        CASE(test_an_index_that_is_no_key_will_not_do),
        CASE(test_a_key_column_that_merges_texts_is_refused_with_the_statement),
        CASE(test_a_table_that_is_unfit_is_refused_with_the_remedy),
        CASE(test_a_generated_column_of_our_name_is_refused),
        CASE(test_more_columns_than_the_target_allows_are_data),
        CASE(test_evolve_says_which_steps_are_allowed),
        CASE(test_a_column_is_changed_by_hand_when_it_no_longer_holds_its_type),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
