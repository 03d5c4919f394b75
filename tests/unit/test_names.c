/* Names of columns and tables: paths, sanitising, cutting, collisions, templates. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <millrace/base/utf8.h>
#include <millrace/schema/name.h>
#include <millrace/schema/tracker.h>

#include "config/node.h"
#include "schema/fold.h"
#include "support/fake_dialect.h"

static struct mr_arena *ar;

static int make_arena(void **state)
{
    (void)state;
    ar = mr_arena_create(0);
    return 0;
}

static int drop_arena(void **state)
{
    (void)state;
    mr_arena_destroy(ar);
    return 0;
}

static void str_is(struct mr_str have, const char *want_z)
{
    if (!mr_str_eq_z(have, want_z))
        fail_msg("have \"%.*s\", want \"%s\"", MR_STR_FMT(have), want_z);
}

static void test_a_path_becomes_its_segments_unescaped_and_joined(void **state)
{
    (void)state;
    str_is(mr_path_column_name(MR_STR("total"), MR_STR("_"), ar), "total");
    str_is(mr_path_column_name(MR_STR("address.city"), MR_STR("_"), ar), "address_city");
    str_is(mr_path_column_name(MR_STR("a\\.b.c\\\\d"), MR_STR("__"), ar), "a.b__c\\d");
    str_is(mr_path_column_name(MR_STR("a.b"), MR_STR(""), ar), "ab");
    str_is(mr_path_column_name(MR_OWN_PATH("_key"), MR_STR("_"), ar), "_key");
    str_is(mr_path_column_name(MR_STR(""), MR_STR("_"), ar), "");
    str_is(mr_path_column_name(MR_STR(MR_EMPTY_NAME), MR_STR("_"), ar), "");
    str_is(mr_path_column_name(MR_STR(MR_EMPTY_NAME ".a."), MR_STR("_"), ar), "_a_");
    str_is(mr_path_adjusted_name(MR_STR(MR_EMPTY_NAME ".a-b"), MR_STR("_"), MR_NAMES_AVRO, ar), "_a_b");
}

static void test_a_path_grows_by_escaped_names(void **state)
{
    struct mr_buf path = MR_BUF_INIT(100);

    (void)state;
    mr_path_append(&path, MR_STR("a.b"));
    mr_path_append(&path, MR_STR("c\\"));
    mr_path_append(&path, MR_STR(""));
    str_is(mr_buf_str(&path), "a\\.b.c\\\\.");
    str_is(mr_path_column_name(mr_buf_str(&path), MR_STR("/"), ar), "a.b/c\\/");
    mr_buf_clear(&path);
    mr_path_append(&path, MR_STR(""));
    mr_path_append(&path, MR_STR("a"));
    str_is(mr_buf_str(&path), MR_EMPTY_NAME ".a");
    mr_buf_free(&path);
}

static void test_below_means_the_path_itself_its_members_and_its_variants(void **state)
{
    (void)state;
    assert_true(mr_path_is_below(MR_STR("a"), MR_STR("a")));
    assert_true(mr_path_is_below(MR_STR("a.b"), MR_STR("a")));
    assert_true(mr_path_is_below(MR_STR("a" MR_VARIANT_MARK "text"), MR_STR("a")));
    assert_false(mr_path_is_below(MR_STR("ab"), MR_STR("a")));
    assert_false(mr_path_is_below(MR_STR("a\\.b"), MR_STR("a")));
    assert_false(mr_path_is_below(MR_STR("a"), MR_STR("a.b")));
}

static struct mr_str give(struct mr_names *names, const char *path_z, const char *wanted_z, bool want_substituted)
{
    bool substituted;
    struct mr_str name = mr_names_give(names, mr_str_z(path_z), mr_str_z(wanted_z), &substituted);

    assert_int_equal(substituted, want_substituted);
    return name;
}

static void test_a_path_keeps_its_name(void **state)
{
    struct mr_dialect dialect = fake_dialect();
    struct mr_names *names = mr_names_create(&dialect);

    (void)state;
    str_is(give(names, "a.b", "a_b", false), "a_b");
    str_is(give(names, "a.b", "something_else", false), "a_b");
    mr_names_destroy(names);
}

static void test_the_second_path_that_wants_a_name_gets_a_hash(void **state)
{
    struct mr_dialect dialect = fake_dialect();
    struct mr_names *names = mr_names_create(&dialect);

    (void)state;
    str_is(give(names, "a.b", "a_b", false), "a_b");
    struct mr_str second = give(names, "a_b", "a_b", true);
    assert_int_equal(second.len, strlen("a_b_01234567"));
    assert_true(mr_str_starts(second, MR_STR("a_b_")));
    mr_names_destroy(names);
}

static void test_names_differing_in_case_collide_only_where_the_dialect_folds(void **state)
{
    struct mr_dialect dialect = fake_dialect();
    struct mr_names *names = mr_names_create(&dialect);

    (void)state;
    str_is(give(names, "Id", "Id", false), "Id");
    str_is(give(names, "id", "id", false), "id");
    mr_names_destroy(names);

    dialect.ident_case_folds = true;
    names = mr_names_create(&dialect);
    str_is(give(names, "Id", "Id", false), "Id");
    give(names, "id", "id", true);
    str_is(give(names, "É", "É", false), "É");
    str_is(give(names, "é", "é", false), "é"); /* ASCII alone */
    mr_names_destroy(names);

    dialect.ident_folds_unicode = true;
    names = mr_names_create(&dialect);
    str_is(give(names, "É", "É", false), "É");
    give(names, "é", "é", true);
    str_is(give(names, "Имя", "Имя", false), "Имя");
    give(names, "имя", "имя", true);
    str_is(give(names, "Σ", "Σ", false), "Σ");
    give(names, "ς", "ς", true);
    str_is(give(names, "Ź", "Ź", false), "Ź");
    give(names, "ź", "ź", true);
    str_is(give(names, "k", "k", false), "k");
    give(names, "\xe2\x84\xaa", "\xe2\x84\xaa", true); /* the sign of kelvins */
    str_is(give(names, "i", "i", false), "i");
    give(names, "\xc4\xb0", "\xc4\xb0", true); /* with a dot */
    give(names, "\xc4\xb1", "\xc4\xb1", true); /* without */
    str_is(give(names, "\xce\xbc", "\xce\xbc", false), "\xce\xbc");
    give(names, "\xc2\xb5", "\xc2\xb5", true); /* the micro sign */
    str_is(give(names, "\xc3\x9f", "\xc3\x9f", false), "\xc3\x9f");
    give(names, "\xe1\xba\x9e", "\xe1\xba\x9e", true); /* capital sharp s: MariaDB makes two columns of them, and finds one in an INSERT */
    mr_names_destroy(names);
}

static void test_a_long_name_is_cut_between_characters_with_a_hash(void **state)
{
    struct mr_dialect dialect = fake_dialect();
    struct mr_names *names = mr_names_create(&dialect);
    char wanted[81];

    (void)state;
    for (size_t i = 0; i < 80; i += 2)
        memcpy(wanted + i, "é", 2);
    wanted[80] = 0;
    wanted[0] = 'x'; /* odd: the cut would fall inside a character */
    wanted[1] = 'y';
    memmove(wanted + 1, wanted + 2, 79);
    struct mr_str name = give(names, wanted, wanted, true);
    assert_true(name.len <= 63);
    assert_true(name.len >= 61);
    assert_int_equal(mr_utf8_check(name), 0);
    mr_names_destroy(names);
}

static void test_what_no_identifier_may_hold_is_replaced(void **state)
{
    struct mr_dialect dialect = fake_dialect();
    struct mr_names *names = mr_names_create(&dialect);
    bool substituted;

    (void)state;
    struct mr_str name = mr_names_give(names, MR_STR("p"), mr_str_of("a\0b\xff\xed\xa0\x80", 7), &substituted);
    str_is(name, "a_b__");
    assert_true(substituted);
    str_is(give(names, "", "", true), "_");
    mr_names_destroy(names);
}

static void test_reserved_names_are_never_given(void **state)
{
    static const char *const reserved[] = {"xmin", NULL};
    struct mr_dialect dialect = fake_dialect();
    dialect.reserved_columns = reserved;
    struct mr_names *names = mr_names_create(&dialect);

    (void)state;
    assert_true(mr_str_starts(give(names, "xmin", "xmin", true), MR_STR("xmin_")));
    mr_names_destroy(names);
}

static void test_a_forbidden_beginning_gets_something_in_front(void **state)
{
    struct mr_dialect dialect = fake_dialect();
    struct mr_names *names = mr_names_create_tables(&dialect);

    (void)state;
    mr_names_forbid(names, "sqlite_");
    mr_names_forbid(names, "millrace_");
    str_is(give(names, "1", "sqlite_master", true), "_sqlite_master");
    str_is(give(names, "2", "MILLRACE_position", true), "_MILLRACE_position");
    str_is(give(names, "3", "sqlite", false), "sqlite");
    bool substituted;
    str_is(mr_names_give(names, MR_STR("4"), mr_str_of("sqlite\0x", 8), &substituted), "_sqlite_x");
    assert_true(mr_str_starts(give(names, "5", "_sqlite_master", true), MR_STR("_sqlite_master_")));
    mr_names_destroy(names);
}

static void test_names_of_tables_may_be_those_that_columns_may_not_have(void **state)
{
    static const char *const reserved[] = {"xmin", NULL};
    struct mr_dialect dialect = fake_dialect();
    dialect.reserved_columns = reserved;
    struct mr_names *names = mr_names_create_tables(&dialect);

    (void)state;
    str_is(give(names, "xmin", "xmin", false), "xmin");
    mr_names_destroy(names);
}

static void test_taken_names_are_given_again_to_their_path_and_to_nobody_else(void **state)
{
    struct mr_dialect dialect = fake_dialect();
    struct mr_names *names = mr_names_create(&dialect);

    (void)state;
    assert_true(mr_names_take(names, MR_STR("a.b"), MR_STR("a_b_old")));
    assert_true(mr_names_take(names, MR_STR("a.b"), MR_STR("a_b_old")));
    assert_true(mr_names_take(names, MR_STR(""), MR_STR("foreign")));
    assert_true(mr_names_take(names, MR_STR(""), MR_STR("foreign")));
    assert_false(mr_names_take(names, MR_STR("x"), MR_STR("a_b_old")));
    assert_false(mr_names_take(names, MR_STR("x"), MR_STR("foreign")));
    assert_false(mr_names_take(names, MR_STR("a.b"), MR_STR("second")));
    str_is(give(names, "a.b", "a_b", false), "a_b_old");
    give(names, "foreign", "foreign", true);
    mr_names_destroy(names);
}

static void test_a_released_name_is_free_again(void **state)
{
    struct mr_dialect dialect = fake_dialect();
    struct mr_names *names = mr_names_create(&dialect);

    (void)state;
    give(names, "a", "name", false);
    mr_names_release(names, MR_STR("name"));
    mr_names_release(names, MR_STR("never given"));
    str_is(give(names, "b", "name", false), "name");
    mr_names_destroy(names);
}

static struct mr_config *config(const char *yaml_z)
{
    struct mr_config *cfg;
    struct mr_error err = {0};

    if (mr_config_load_text("m.yaml", mr_str_z(yaml_z), NULL, 0, &cfg, &err) != MR_OK)
        fail_msg("%s", err.message);
    return cfg;
}

/* "schema/table", or the error's code. */
static void target_is(const char *yaml_z, bool has_schemas, const char *db_z, const char *table_z, const char *topic_z,
                      const char *file_z, const char *want_z)
{
    struct mr_config *cfg = config(yaml_z);
    struct mr_dialect dialect = fake_dialect();
    struct mr_target_name name;
    struct mr_error err = {0};

    dialect.has_schemas = has_schemas;
    enum mr_status status = mr_name_target(cfg, &dialect, MR_STR("public"), mr_str_z(db_z), mr_str_z(table_z),
                                           mr_str_z(topic_z), mr_str_z(file_z), ar, &name, &err);
    if (status != MR_OK)
        str_is(mr_str_z(err.code), want_z);
    else
        str_is(mr_arena_printf(ar, "%.*s/%.*s", MR_STR_FMT(name.schema), MR_STR_FMT(name.table)), want_z);
    mr_config_destroy(cfg);
}

static void test_target_names_come_from_event_then_topic_then_file(void **state)
{
    (void)state;
    target_is("", true, "shop", "orders", "srv.x.y", "", "shop/orders");
    target_is("", true, "", "", "srv.shop.orders", "", "shop/orders");
    target_is("", true, "", "", "shop.orders", "", "shop/orders");
    target_is("", true, "", "", "orders", "", "public/orders");
    target_is("", true, "", "", "", "export/orders.jsonl.gz", "public/orders");
    target_is("", true, "", "", "", "orders.2024.jsonl", "public/orders.2024");
    target_is("", true, "", "", "", "dir.d/orders.dump", "public/orders");
    target_is("", true, "", "", "", "-", "no_table");
    target_is("", true, "", "", "", "", "no_table");
    target_is("", true, "", "", "srv..", "", "no_table");
}

static void test_without_schemas_the_database_goes_into_the_table(void **state)
{
    (void)state;
    target_is("", false, "shop", "orders", "", "", "/shop_orders");
    target_is("", false, "", "", "orders", "", "/orders");
    target_is("target: {table: '{table}'}", false, "shop", "orders", "", "", "/orders");
}

static void test_templates_are_filled(void **state)
{
    (void)state;
    target_is("target: {schema: 'raw_{db}', table: '{db}.{table}@{topic}'}", true, "shop", "orders", "t", "",
              "raw_shop/shop.orders@t");
    target_is("target: {table: everything}", true, "shop", "", "", "", "shop/everything");
    target_is("target: {table: '{topic}'}", true, "shop", "orders", "", "", "no_table");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_path_becomes_its_segments_unescaped_and_joined),
        cmocka_unit_test(test_a_path_grows_by_escaped_names),
        cmocka_unit_test(test_below_means_the_path_itself_its_members_and_its_variants),
        cmocka_unit_test(test_a_path_keeps_its_name),
        cmocka_unit_test(test_the_second_path_that_wants_a_name_gets_a_hash),
        cmocka_unit_test(test_names_differing_in_case_collide_only_where_the_dialect_folds),
        cmocka_unit_test(test_a_long_name_is_cut_between_characters_with_a_hash),
        cmocka_unit_test(test_what_no_identifier_may_hold_is_replaced),
        cmocka_unit_test(test_reserved_names_are_never_given),
        cmocka_unit_test(test_a_forbidden_beginning_gets_something_in_front),
        cmocka_unit_test(test_names_of_tables_may_be_those_that_columns_may_not_have),
        cmocka_unit_test(test_taken_names_are_given_again_to_their_path_and_to_nobody_else),
        cmocka_unit_test(test_a_released_name_is_free_again),
        cmocka_unit_test(test_target_names_come_from_event_then_topic_then_file),
        cmocka_unit_test(test_without_schemas_the_database_goes_into_the_table),
        cmocka_unit_test(test_templates_are_filled),
    };

    return cmocka_run_group_tests(tests, make_arena, drop_arena);
}
