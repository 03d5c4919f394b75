/* The settings about deletes, as Debezium's two generations of options have them: what they come to, and which combinations are refused. */
#include "config_builders.h"

#define MODE "unwrap.delete.tombstone.handling.mode"

static void assert_comes_to(struct mr_config *cfg, enum mr_delete_mode mode, bool drops_events, bool drops_tombstones, bool removes)
{
    struct mr_table_settings set;

    assert_int_equal(cfg->unwrap_delete, mode);
    assert_int_equal(cfg->drops_delete_events, drops_events);
    assert_int_equal(cfg->drops_tombstones, drops_tombstones);
    assert_int_equal(cfg->tombstones_remove, removes);
    mr_config_table(cfg, MR_STR("d"), MR_STR("t"), &set);
    assert_int_equal(set.delete_mode, mode == MR_DELETE_UNSET ? MR_DELETE_HARD : mode);
    assert_int_equal(set.tombstones_remove, removes);
    mr_config_destroy(cfg);
}

static void test_what_is_not_said_leaves_deletes_to_the_tables(void **state)
{
    (void)state;
    assert_comes_to(from_yaml(""), MR_DELETE_UNSET, false, false, false);
    struct mr_config *cfg = from_yaml("tables: {t: {delete: soft}}\n");
    struct mr_table_settings set;
    mr_config_table(cfg, MR_STR("d"), MR_STR("t"), &set);
    assert_int_equal(set.delete_mode, MR_DELETE_SOFT);
    mr_config_destroy(cfg);
}

static void test_the_mode_says_what_deletes_and_tombstones_do(void **state)
{
    (void)state;
    assert_comes_to(from_sets(MODE "=tombstone"), MR_DELETE_HARD, false, false, false);
    assert_comes_to(from_sets(MODE "=delete-to-tombstone"), MR_DELETE_HARD, false, false, false);
    assert_comes_to(from_sets(MODE "=drop"), MR_DELETE_IGNORE, false, true, false);
    assert_comes_to(from_sets(MODE "=rewrite"), MR_DELETE_SOFT, false, true, false);
    assert_comes_to(from_sets(MODE "=rewrite-with-tombstone"), MR_DELETE_SOFT, false, false, true);
}

static void test_the_older_pair_has_its_own_defaults(void **state)
{
    (void)state;
    assert_comes_to(from_sets("unwrap.delete.handling.mode=drop"), MR_DELETE_IGNORE, false, true, false);
    assert_comes_to(from_sets("unwrap.delete.handling.mode=none"), MR_DELETE_HARD, false, false, false);
    assert_comes_to(from_sets("unwrap.delete.handling.mode=rewrite"), MR_DELETE_SOFT, false, true, false);
    assert_comes_to(from_sets("unwrap.drop.tombstones=true"), MR_DELETE_IGNORE, false, true, false);
    assert_comes_to(from_sets("unwrap.drop.tombstones=false"), MR_DELETE_HARD, true, false, false);
    assert_comes_to(from_sets("unwrap.delete.handling.mode=none", "unwrap.drop.tombstones=false"), MR_DELETE_HARD, false, false, false);
    assert_comes_to(from_sets("unwrap.delete.handling.mode=rewrite", "unwrap.drop.tombstones=false"), MR_DELETE_SOFT, false, false, true);
}

static void test_the_newer_option_wins_over_the_older_pair(void **state)
{
    (void)state;
    assert_comes_to(from_sets("unwrap.delete.handling.mode=rewrite", "unwrap.drop.tombstones=false", MODE "=tombstone"), MR_DELETE_HARD, false,
                    false, false);
    assert_comes_to(from_sets(MODE "=rewrite", "unwrap.drop.tombstones=false"), MR_DELETE_SOFT, false, true, false);
}

static void test_a_null_says_nothing(void **state)
{
    (void)state;
    assert_comes_to(from_yaml("unwrap: {delete.tombstone.handling.mode: null, drop.tombstones: null}\n"), MR_DELETE_UNSET, false, false, false);
}

static void test_words_are_trimmed_and_may_be_of_any_case(void **state)
{
    (void)state;
    assert_comes_to(from_sets(MODE "= Rewrite-With-Tombstone "), MR_DELETE_SOFT, false, false, true);
    struct mr_config *cfg = from_sets("unwrap.field.name.adjustment.mode=AVRO_Unicode", MODE ".rewrite-with-id=TRUE");
    assert_int_equal(cfg->field_names, MR_NAMES_AVRO_UNICODE);
    assert_true(cfg->rewrite_with_id);
    mr_config_destroy(cfg);
}

static void test_both_keys_of_the_mode_stand_in_one_file(void **state)
{
    (void)state;
    struct mr_config *cfg = from_yaml("unwrap:\n  delete.tombstone.handling.mode: rewrite\n"
                                      "  delete.tombstone.handling.mode.rewrite-with-id: true\n");
    assert_true(cfg->rewrite_with_id);
    assert_comes_to(cfg, MR_DELETE_SOFT, false, true, false);
}

static void test_unknown_words_are_refused(void **state)
{
    (void)state;
    assert_set_refused(MODE "=hard", "--set " MODE ": " MODE ": \"hard\" is not one of drop | tombstone | rewrite | "
                                     "rewrite-with-tombstone | delete-to-tombstone");
    assert_set_refused("unwrap.delete.handling.mode=tombstone", "--set unwrap.delete.handling.mode: unwrap.delete.handling.mode: "
                                                                "\"tombstone\" is not one of drop | none | rewrite");
    assert_set_refused("unwrap.drop.tombstones=maybe", "--set unwrap.drop.tombstones: unwrap.drop.tombstones: \"maybe\" is not true or false");
    assert_set_refused("unwrap.field.name.adjustment.mode=ascii", "--set unwrap.field.name.adjustment.mode: "
                                                                  "unwrap.field.name.adjustment.mode: \"ascii\" is not one of none | avro | avro_unicode");
}

static void test_a_table_that_says_otherwise_is_refused(void **state)
{
    (void)state;
    assert_refused("unwrap: {delete.tombstone.handling.mode: rewrite}\ntables: {\"s.*\": {delete: hard}}\n",
                   "m.yaml:1:42: unwrap.delete.tombstone.handling.mode means delete: soft, but tables.\"s.*\".delete is hard");
    assert_refused("unwrap: {delete.tombstone.handling.mode: drop}\ntables: {t: {delete: soft}}\n",
                   "m.yaml:1:42: unwrap.delete.tombstone.handling.mode means delete: ignore, but tables.\"t\".delete is soft");
    assert_refused("unwrap: {drop.tombstones: false}\ntables: {t: {delete: ignore}}\n",
                   "m.yaml:1:27: unwrap.drop.tombstones means delete: hard, but tables.\"t\".delete is ignore");
    struct mr_config *cfg = from_yaml("unwrap: {delete.tombstone.handling.mode: rewrite}\ntables: {t: {delete: soft, policy: text}}\n");
    assert_comes_to(cfg, MR_DELETE_SOFT, false, true, false);
}

static void test_lists_of_fields_are_held_to_the_transforms_grammar(void **state)
{
    (void)state;
    assert_set_refused("unwrap.add.headers=op,a:b:c", "unwrap.add.headers has an unexpected field name: \"a:b:c\"; write field, struct.field or "
                                                      "field:name");
    struct mr_config *cfg = from_yaml("unwrap: {add.headers: [op, \"source.db:DB\", \"version:\"], add.headers.prefix: \"\"}\n");
    assert_string_equal(cfg->add_headers, "op,source.db:DB,version:");
    assert_string_equal(cfg->add_headers_prefix, "");
    mr_config_destroy(cfg);
}

static void test_options_that_are_not_ours_tell_what_to_say_instead(void **state)
{
    (void)state;
    assert_refused("unwrap: {sanitize.field.names: true}\n",
                   "m.yaml:1:10: unwrap.sanitize.field.names is an option of Debezium's transforms that does not exist here: its successor says "
                   "the same: unwrap.field.name.adjustment.mode: avro");
    assert_set_refused("unwrap.route.by.field=table", "--set unwrap.route.by.field: unwrap.route.by.field is an option of Debezium's transforms that "
                                                      "does not exist here: events are not sent to topics here; target.table names the tables");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_not_said_leaves_deletes_to_the_tables),
        cmocka_unit_test(test_the_mode_says_what_deletes_and_tombstones_do),
        cmocka_unit_test(test_the_older_pair_has_its_own_defaults),
        cmocka_unit_test(test_the_newer_option_wins_over_the_older_pair),
        cmocka_unit_test(test_a_null_says_nothing),
        cmocka_unit_test(test_words_are_trimmed_and_may_be_of_any_case),
        cmocka_unit_test(test_both_keys_of_the_mode_stand_in_one_file),
        cmocka_unit_test(test_unknown_words_are_refused),
        cmocka_unit_test(test_a_table_that_says_otherwise_is_refused),
        cmocka_unit_test(test_lists_of_fields_are_held_to_the_transforms_grammar),
        cmocka_unit_test(test_options_that_are_not_ours_tell_what_to_say_instead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
