/* The engine against a target that fails, a group that takes partitions away, and messages that do not fit. */
#include "support/engine_flow.h"

static struct mr_config *cfg;

static int begin(void **state)
{
    (void)state;
    mr_log_setup(getenv("FLOW_LOG") ? MR_LOG_INFO : (enum mr_log_level)(MR_LOG_ERROR + 1), MR_LOG_LOGFMT, false);
    stage_begin();
    cfg = NULL;
    return 0;
}

static int end(void **state)
{
    (void)state;
    mr_config_destroy(cfg);
    stage_end();
    return 0;
}

static void put_rows(size_t part, int from, int to)
{
    for (int i = from; i < to; i++) {
        char key[64], value[128];
        snprintf(key, sizeof key, "{\"id\":%d}", i);
        snprintf(value, sizeof value, "{\"id\":%d,\"v\":\"r%d\"}", i, i);
        stage_put(part, key, value);
    }
}

static void test_rows_arrive(void **state)
{
    (void)state;
    cfg = stage_config("format=flat", "batch.rows=10");
    stage_part("shop.t", 0);
    put_rows(0, 0, 100);
    stage_run_ok(cfg, 3);
    stage_expect("SELECT count(*), sum(id) FROM t", "100 4950");
    stage_expect("SELECT lane, lanes, position FROM millrace_position", "0 3 100;1 3 100;2 3 100");
}

/* ---- The group ---- */

static void wait_long(void)
{
    usleep(2000 * 1000);
}

static void test_a_rebalance_while_the_appliers_are_behind(void **state)
{
    (void)state;
    cfg = stage_config("format=flat", "batch.rows=10", "batch.interval=1s");
    stage_part("shop.t", 0);
    stage_part("shop.t", 1);
    put_rows(0, 0, 60);
    put_rows(1, 100, 160);
    stage_fail("applier 0", ON_APPLY, 3, MR_OK, BEFORE)->fn = wait_long;
    stage_in_pause(50, STAGE_REVOKE, 1);
    stage_at(70, STAGE_ASSIGN, 1);
    stage_run_ok(cfg, 2);
    stage_expect("SELECT count(*), sum(id) FROM t", "120 9540");
    stage_expect("SELECT count(*), min(position), max(position) FROM millrace_position", "4 60 60");
}

static void test_losing_and_regaining_a_partition_many_times(void **state)
{
    (void)state;
    cfg = stage_config("format=flat", "batch.rows=3");
    stage_part("shop.t", 0);
    put_rows(0, 0, 200);
    stage.slow = true;
    for (size_t i = 1; i <= 12; i++) {
        stage_at(i * 10, STAGE_LOSE, 1);
        stage_at(i * 10, STAGE_ASSIGN, 1);
    }
    stage_run_ok(cfg, 2);
    stage_expect("SELECT count(*), sum(id) FROM t", "200 19900");
}

static void take_over_elsewhere(void)
{
    stage_sql("UPDATE millrace_position SET epoch = epoch + 1 WHERE \"partition\" = 0");
}

static void test_a_fenced_partition_is_dropped_and_the_other_goes_on(void **state)
{
    (void)state;
    cfg = stage_config("format=flat", "batch.rows=10");
    stage_part("shop.t", 0);
    stage_part("shop.t", 1);
    put_rows(0, 0, 60);
    put_rows(1, 100, 160);
    stage.follows = true;
    stage_call_at(40, take_over_elsewhere);
    stage_at(60, STAGE_REVOKE, 1);
    stage_run_ok(cfg, 2);
    stage_expect("SELECT min(position), max(position) FROM millrace_position WHERE \"partition\" = 1", "60 60");
    stage_expect("SELECT count(*) FROM t WHERE id >= 100", "60");
    stage_expect("SELECT (SELECT count(*) FROM t WHERE id < 100) BETWEEN min(position) AND max(position), max(position) < 60"
                 " FROM millrace_position WHERE \"partition\" = 0", "1 1");
}

/* ---- Commits in doubt ---- */

static void keyless_rows(size_t part, int count)
{
    for (int i = 0; i < count; i++) {
        char value[128];
        snprintf(value, sizeof value, "{\"n\":%d}", i);
        stage_put(part, NULL, value);
    }
}

static void test_a_commit_in_doubt_that_happened_is_not_repeated(void **state)
{
    (void)state;
    cfg = stage_config("format=flat", "batch.rows=10");
    stage_part("shop.t", 0);
    keyless_rows(0, 60);
    for (unsigned i = 1; i < 4; i++) {
        stage_fail("applier 0", ON_COMMIT, i, MR_E_ENV, AFTER);
        stage_fail("applier 1", ON_COMMIT, i, MR_E_ENV, AFTER);
    }
    stage_run_ok(cfg, 2);
    stage_expect("SELECT count(*), count(DISTINCT n) FROM t", "60 60");
}

static void test_a_commit_in_doubt_that_did_not_happen_is_repeated(void **state)
{
    (void)state;
    cfg = stage_config("format=flat", "batch.rows=10");
    stage_part("shop.t", 0);
    keyless_rows(0, 60);
    stage_fail("applier", ON_COMMIT, 2, MR_E_ENV, BEFORE);
    stage_run_ok(cfg, 2);
    stage_expect("SELECT count(*), count(DISTINCT n) FROM t", "60 60");
}

static void commit_late(void)
{
    stage_sql("UPDATE millrace_position SET position = 20 WHERE position = 10;"
              "INSERT INTO t (n) SELECT value FROM json_each('[10,11,12,13,14,15,16,17,18,19]')");
}

static void test_a_commit_that_comes_through_after_it_was_asked_for(void **state)
{
    (void)state;
    cfg = stage_config("format=flat", "batch.rows=10", "batch.interval=10s");
    stage_part("shop.t", 0);
    keyless_rows(0, 60);
    stage_fail("applier 0", ON_COMMIT, 2, MR_E_ENV, BEFORE);
    stage_fail("applier 0", ON_BEGIN, 3, MR_OK, BEFORE)->fn = commit_late;
    stage_run_ok(cfg, 1);
    stage_expect("SELECT count(*), count(DISTINCT n) FROM t", "60 60");
}

/* ---- Lanes out of step ---- */

/* The first run ends with lane 1 behind lane 0. */
static void leave_lanes_out_of_step(const char *what_z)
{
    cfg = stage_config("format=flat", "batch.rows=20", what_z);
    stage_part("shop.t", 0);
    put_rows(0, 0, 100);
    stage_fail("applier 1", ON_APPLY, 1, MR_E_CONFIG, BEFORE);
    assert_int_equal(stage_run(cfg, 2), MR_E_CONFIG);
    stage_expect("SELECT count(DISTINCT position) FROM millrace_position", "2");
    mr_config_destroy(cfg);
    cfg = NULL;
    stage_forget_script();
}

static void test_lanes_out_of_step_catch_up(void **state)
{
    (void)state;
    leave_lanes_out_of_step("batch.bytes=16MiB");
    cfg = stage_config("format=flat", "batch.rows=7");
    stage_run_ok(cfg, 2);
    stage_expect("SELECT count(*), sum(id) FROM t", "100 4950");
}

static void test_lanes_out_of_step_and_another_number_of_appliers(void **state)
{
    (void)state;
    leave_lanes_out_of_step("batch.bytes=16MiB");
    cfg = stage_config("format=flat", "batch.rows=7");
    stage_run_ok(cfg, 5);
    stage_expect("SELECT count(*), sum(id) FROM t", "100 4950");
    stage_expect("SELECT count(*), min(lanes), min(position), max(position) FROM millrace_position", "5 5 100 100");
}

static void test_lanes_out_of_step_when_the_keys_type_has_widened_elsewhere(void **state)
{
    (void)state;
    leave_lanes_out_of_step("batch.bytes=16MiB");
    stage_part("shop.t", 1);
    stage_put(1, "{\"id\":1000.5}", "{\"id\":1000.5,\"v\":\"x\"}");
    struct stage_part first = stage.parts[0];
    stage.parts[0].count = 0;
    cfg = stage_config("format=flat", "pipeline=other");
    stage_run_ok(cfg, 1);
    mr_config_destroy(cfg);
    stage_forget_script();
    stage.parts[0].count = first.count;
    cfg = stage_config("format=flat", "batch.rows=7");
    stage_run_ok(cfg, 2);
    stage_expect("SELECT count(*), sum(id) FROM t", "101 5950.5");
}

static void test_lanes_out_of_step_when_a_unique_index_has_come(void **state)
{
    (void)state;
    leave_lanes_out_of_step("batch.bytes=16MiB");
    stage_sql("CREATE UNIQUE INDEX t_v ON t (v)");
    cfg = stage_config("format=flat", "batch.rows=7");
    stage_run_ok(cfg, 2);
    stage_expect("SELECT count(*), sum(id) FROM t", "100 4950");
}

static void test_a_redo_repeats_neither_dead_letters_nor_notes(void **state)
{
    (void)state;
    cfg = stage_config("format=flat", "batch.rows=10", "types.policies.\"shop.t.n\"=null");
    stage_part("shop.t", 0);
    put_rows(0, 0, 20);
    for (int i = 20; i < 60; i++) {
        static const char *const values[] = {"{\"id\":null,", "{\"v\":\"poison\"}", "{\"n\":\"none\"}", "{\"n\":1}"};
        char key[64];
        snprintf(key, sizeof key, "{\"id\":%d}", i);
        stage_put(0, key, i == 20 ? values[3] : values[i % 4]);
    }
    stage_fail("applier 0", ON_APPLY, 3, MR_E_SCHEMA, BEFORE);
    stage_fail("applier 1", ON_APPLY, 4, MR_E_SCHEMA, BEFORE);
    stage_fail("applier 2", ON_APPLY, 2, MR_E_SCHEMA, BEFORE);
    stage_fail("applier 1", ON_COMMIT, 5, MR_E_ENV, AFTER);
    stage_run_ok(cfg, 3);
    stage_expect("SELECT count(*), count(DISTINCT record_offset), count(DISTINCT code) FROM millrace_dead_letter", "19 19 2");
    stage_expect("SELECT count(*), count(DISTINCT record_offset) FROM millrace_type_history WHERE event = 'nulled'", "10 10");
    stage_expect("SELECT count(*) FROM t", "41");
}

/* ---- Rows that the target refuses ---- */

#define KEY1 "{\"id\":1}"
#define KEY2 "{\"id\":2}"
#define ENV(op, before, after) "{\"op\":\"" op "\",\"before\":" before ",\"after\":" after ",\"source\":{\"db\":\"d\",\"table\":\"t\",\"ts_ms\":1},\"ts_ms\":1}"

static void test_a_refused_row_behind_a_truncate_does_not_undo_it(void **state)
{
    (void)state;
    for (int named = 0; named < 2; named++) {
        if (named)
            stage_end(), stage_begin();
        stage.names_rows = named;
        cfg = stage_config("format=debezium");
        stage_part("shop.d.t", 0);
        stage_put(0, KEY1, ENV("c", "null", "{\"id\":1,\"v\":\"a\"}"));
        stage_put(0, KEY2, ENV("c", "null", "{\"id\":2,\"v\":\"b\"}"));
        stage_run_ok(cfg, 1);
        stage_forget_script();
        stage_put(0, NULL, ENV("t", "null", "null"));
        stage_put(0, KEY1, ENV("c", "null", "{\"id\":1,\"v\":\"poison\"}"));
        stage_run_ok(cfg, 1);
        stage_expect("SELECT count(*) FROM t", "0");
        stage_expect("SELECT count(*) FROM millrace_dead_letter", "1");
        if (!named)
            mr_config_destroy(cfg);
    }
}

static void test_of_a_refused_merged_row_only_the_bad_change_is_a_dead_letter(void **state)
{
    (void)state;
    cfg = stage_config("format=flat", "tables.*.missing=keep");
    stage_part("shop.t", 0);
    stage_put(0, KEY1, "{\"id\":1,\"v\":\"a\",\"w\":\"x\"}");
    stage_put(0, KEY1, "{\"id\":1,\"v\":\"poison\"}");
    stage_put(0, KEY1, "{\"id\":1,\"w\":\"y\"}");
    stage_put(0, KEY2, "{\"id\":2,\"v\":\"b\"}");
    stage_put(0, KEY2, NULL);
    stage_run_ok(cfg, 2);
    stage_expect("SELECT id, v, w FROM t", "1 a y");
    stage_expect("SELECT record_offset FROM millrace_dead_letter", "1");
}

static void test_a_schema_answer_that_never_ends_becomes_a_dead_letter(void **state)
{
    (void)state;
    cfg = stage_config("format=flat", "batch.rows=10");
    stage_part("shop.t", 0);
    put_rows(0, 0, 20);
    stage_fail("applier", ON_APPLY, 2, MR_E_SCHEMA, AFTER)->times = 4;
    stage_run_ok(cfg, 1);
    stage_expect("SELECT count(*) + (SELECT count(*) FROM millrace_dead_letter) FROM t", "20");
}

static void test_a_constraint_that_speaks_at_commit(void **state)
{
    (void)state;
    cfg = stage_config("format=flat", "batch.rows=10");
    stage_sql("CREATE TABLE p (id INTEGER PRIMARY KEY);"
              "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT, p INTEGER REFERENCES p (id) DEFERRABLE INITIALLY DEFERRED);"
              "INSERT INTO p VALUES (7)");
    stage_part("shop.t", 0);
    stage_put(0, "{\"id\":1}", "{\"id\":1,\"p\":7}");
    stage_put(0, "{\"id\":2}", "{\"id\":2,\"p\":8}");
    stage_put(0, "{\"id\":3}", "{\"id\":3,\"p\":7}");
    stage_run_ok(cfg, 1);
    stage_expect("SELECT id FROM t", "1;3");
    stage_expect("SELECT record_offset, code FROM millrace_dead_letter", "1 constraint");
}

static void add_unique_index(void)
{
    stage_sql("CREATE UNIQUE INDEX t_v ON t (v)");
}

static void test_values_change_places_over_lanes_although_their_index_came_later(void **state)
{
    (void)state;
    cfg = stage_config("format=flat", "batch.rows=10", "batch.interval=10s");
    stage_part("shop.t", 0);
    put_rows(0, 0, 20);
    for (int i = 0; i < 10; i++) {
        char key[64], value[128];
        snprintf(key, sizeof key, "{\"id\":%d}", i);
        snprintf(value, sizeof value, "{\"id\":%d,\"v\":\"r%d\"}", i, 9 - i);
        stage_put(0, key, value);
    }
    stage_fail("applier 0", ON_COMMIT, 1, MR_OK, AFTER)->fn = add_unique_index;
    stage_run_ok(cfg, 4);
    stage_expect("SELECT count(*) FROM millrace_dead_letter", "0");
    stage_expect("SELECT count(*) FROM t WHERE id < 10 AND v = 'r' || (9 - id)", "10");
}

/* ---- Keys ---- */

static void test_an_unknown_before_image_is_no_key_change(void **state)
{
    (void)state;
    cfg = stage_config("format=debezium", "tables.*.primary_key=[code]");
    stage_part("shop.d.t", 0);
    stage_put(0, KEY1, ENV("c", "null", "{\"id\":1,\"code\":\"a\"}"));
    stage_put(0, KEY1, ENV("u", "{\"id\":1,\"code\":null}", "{\"id\":1,\"code\":\"a\",\"v\":2}"));
    stage_run_ok(cfg, 1);
    stage_expect("SELECT code, v FROM t", "a 2");
    stage_expect("SELECT count(*) FROM millrace_dead_letter", "0");
}

static void test_an_old_key_of_a_wider_type_than_the_new_one(void **state)
{
    (void)state;
    cfg = stage_config("format=debezium", "tables.*.primary_key=[id]");
    stage_part("shop.d.t", 0);
    stage_put(0, NULL, ENV("u", "{\"id\":1.5,\"v\":1}", "{\"id\":2,\"v\":1}"));
    stage_put(0, NULL, ENV("u", "{\"id\":2,\"v\":1}", "{\"id\":3.25,\"v\":2}"));
    stage_run_ok(cfg, 1);
    stage_expect("SELECT id, v FROM t", "3.25 2");
    stage_expect("SELECT count(*) FROM millrace_dead_letter", "0");
}

static void test_a_refused_row_does_not_change_the_key(void **state)
{
    (void)state;
    cfg = stage_config("format=flat", "batch.rows=10");
    stage_part("shop.t", 0);
    put_rows(0, 0, 5);
    stage_put(0, "{\"other\":null}", "{\"id\":9,\"other\":null}");
    put_rows(0, 5, 10);
    stage_run_ok(cfg, 1);
    stage_expect("SELECT count(*) FROM t", "10");
    stage_expect("SELECT count(*), min(code) FROM millrace_dead_letter", "1 null_key");
    stage_expect("SELECT count(*) FROM millrace_ddl_history WHERE statement NOT LIKE 'CREATE%'", "0");
}

static void test_a_key_that_the_rows_forbid_is_not_taken(void **state)
{
    (void)state;
    cfg = stage_config("format=flat", "batch.rows=10");
    stage_part("shop.t", 0);
    stage_put(0, "{\"id\":1}", "{\"id\":1,\"g\":1}");
    stage_put(0, "{\"id\":2}", "{\"id\":2,\"g\":1}");
    stage_put(0, "{\"g\":3}", "{\"id\":3,\"g\":3}");
    stage_put(0, "{\"id\":4}", "{\"id\":4,\"g\":4}");
    stage_run_ok(cfg, 1);
    stage_expect("SELECT id, g FROM t", "1 1;2 1;4 4");
    stage_expect("SELECT record_offset FROM millrace_dead_letter", "2");
}

/* ---- Statistics and the end ---- */

static void widen_elsewhere(void)
{
    stage_sql("UPDATE millrace_tracked_column SET type = 'decimal' WHERE column_name = 'id';"
              "UPDATE millrace_meta SET schema_epoch = schema_epoch + 1");
}

static void test_statistics_do_not_undo_what_another_instance_has_learned(void **state)
{
    (void)state;
    cfg = stage_config("format=flat", "batch.rows=10");
    stage_part("shop.t", 0);
    put_rows(0, 0, 50);
    stage.follows = true;
    stage_fail("applier 0", ON_COMMIT, 5, MR_OK, AFTER)->fn = widen_elsewhere;
    stage_run_ok(cfg, 1);
    stage_expect("SELECT type FROM millrace_tracked_column WHERE column_name = 'id'", "decimal");
}

static void look_for_exactness(void)
{
    stage_expect("SELECT max_abs FROM millrace_tracked_column WHERE column_name = 'n'", "9007199254740993");
}

/* A float after a kill would else make the column float64. */
static void test_that_an_integer_column_is_beyond_doubles_is_known_before_its_row(void **state)
{
    (void)state;
    cfg = stage_config("format=flat", "batch.rows=10");
    stage_part("shop.t", 0);
    for (int i = 0; i < 20; i++) {
        char key[64], value[64];
        snprintf(key, sizeof key, "{\"id\":%d}", i);
        snprintf(value, sizeof value, "{\"n\":%s}", i == 15 ? "9007199254740993" : "1");
        stage_put(0, key, value);
    }
    stage_fail("applier 0", ON_COMMIT, 2, MR_OK, BEFORE)->fn = look_for_exactness;
    stage_run_ok(cfg, 1);
}

static void test_the_end_where_reading_began_is_kept(void **state)
{
    (void)state;
    cfg = stage_config("format=flat");
    stage_part("shop.t", 0);
    put_rows(0, 0, 5);
    stage.from_end = true;
    stage_run_ok(cfg, 2); /* nothing comes */
    stage_expect("SELECT lane, lanes, position FROM millrace_position", "0 2 5;1 2 5");
    put_rows(0, 5, 8);
    stage_forget_script();
    stage_run_ok(cfg, 2);
    stage_expect("SELECT id FROM t", "5;6;7");
}

/* ---- The group does not wait for ever ---- */

static void test_a_revocation_ends_although_the_target_is_away(void **state)
{
    (void)state;
    cfg = stage_config("format=flat", "batch.rows=10", "batch.interval=10s");
    stage_part("shop.t", 0);
    stage_part("shop.t", 1);
    put_rows(0, 0, 25);
    put_rows(1, 100, 125);
    stage_at(34, STAGE_REVOKE, 1);
    stage_at(34, STAGE_CALL, 0);
    stage.actions[1].fn = take_over_elsewhere;
    stage_fail("applier", ON_APPLY, 3, MR_E_ENV, BEFORE)->times = 7;
    int64_t before = mr_monotonic_ms();
    stage_run_ok(cfg, 1);
    assert_in_range(mr_monotonic_ms() - before, 0, 60000);
    stage_expect("SELECT position FROM millrace_position WHERE \"partition\" = 1", "25");
    stage_expect("SELECT (SELECT count(*) FROM t WHERE id < 100) = position FROM millrace_position WHERE \"partition\" = 0", "1");
}

int main(void)
{
#define FLOW(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        FLOW(test_rows_arrive),
        FLOW(test_a_rebalance_while_the_appliers_are_behind),
        FLOW(test_losing_and_regaining_a_partition_many_times),
        FLOW(test_a_fenced_partition_is_dropped_and_the_other_goes_on),
        FLOW(test_a_commit_in_doubt_that_happened_is_not_repeated),
        FLOW(test_a_commit_in_doubt_that_did_not_happen_is_repeated),
        FLOW(test_a_commit_that_comes_through_after_it_was_asked_for),
        FLOW(test_lanes_out_of_step_catch_up),
        FLOW(test_lanes_out_of_step_and_another_number_of_appliers),
        FLOW(test_lanes_out_of_step_when_the_keys_type_has_widened_elsewhere),
        FLOW(test_lanes_out_of_step_when_a_unique_index_has_come),
        FLOW(test_a_redo_repeats_neither_dead_letters_nor_notes),
        FLOW(test_a_refused_row_behind_a_truncate_does_not_undo_it),
        FLOW(test_of_a_refused_merged_row_only_the_bad_change_is_a_dead_letter),
        FLOW(test_a_schema_answer_that_never_ends_becomes_a_dead_letter),
        FLOW(test_a_constraint_that_speaks_at_commit),
        FLOW(test_values_change_places_over_lanes_although_their_index_came_later),
        FLOW(test_an_unknown_before_image_is_no_key_change),
        FLOW(test_an_old_key_of_a_wider_type_than_the_new_one),
        FLOW(test_a_refused_row_does_not_change_the_key),
        FLOW(test_a_key_that_the_rows_forbid_is_not_taken),
        FLOW(test_statistics_do_not_undo_what_another_instance_has_learned),
        FLOW(test_that_an_integer_column_is_beyond_doubles_is_known_before_its_row),
        FLOW(test_the_end_where_reading_began_is_kept),
        FLOW(test_a_revocation_ends_although_the_target_is_away),
    };
    cmocka_set_test_filter(getenv("FLOW_TEST")); /* one of them, to look at it */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
