/* Transactions of the source through the engine: where commits of the target lie, what is waited for, and what is told when one cannot be kept. */
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

/* ---- what each commit leaves ---- */

static char seen[4096];

static void look(void)
{
    char *rows = stage_rows("SELECT (SELECT group_concat(id) FROM (SELECT id FROM a ORDER BY id)), (SELECT group_concat(id) FROM (SELECT id FROM b ORDER BY id))");
    size_t len = strlen(seen);
    snprintf(seen + len, sizeof seen - len, "%s%s", len > 0 ? "|" : "", rows);
    mr_xfree(rows);
}

/* Both tables are there, so that every commit can be looked at. */
static void watch(void)
{
    seen[0] = '\0';
    stage_sql("CREATE TABLE a (id INTEGER PRIMARY KEY, v INTEGER); CREATE TABLE b (id INTEGER PRIMARY KEY, v INTEGER)");
    struct stage_fault *f = stage_fail("applier", ON_COMMIT, 1, MR_OK, AFTER);
    f->times = 1000;
    f->fn = look;
}

static void expect_commits(const char *text_z)
{
    if (strcmp(seen, text_z) != 0)
        fail_msg("the commits show %s\n              not %s", seen, text_z);
}

/* ---- producers that keep the records of a transaction together ---- */

static void put_maxwell(size_t part, const char *table_z, int id, int xid, bool is_last)
{
    char key[128], value[256];
    snprintf(key, sizeof key, "{\"database\":\"d\",\"table\":\"%s\",\"pk.id\":%d}", table_z, id);
    snprintf(value, sizeof value, "{\"database\":\"d\",\"table\":\"%s\",\"type\":\"insert\",\"ts\":1,\"xid\":%d,%s\"data\":{\"id\":%d,\"v\":1}}", table_z,
             xid, is_last ? "\"commit\":true," : "", id);
    stage_put(part, key, value);
}

static void test_a_batch_ends_where_a_transaction_of_maxwells_ends(void **state)
{
    (void)state;
    cfg = stage_config("transactions=source", "batch.rows=2");
    stage_part("maxwell", 0);
    put_maxwell(0, "a", 1, 7, false);
    put_maxwell(0, "b", 2, 7, false);
    put_maxwell(0, "a", 3, 7, true);
    put_maxwell(0, "b", 4, 8, true);
    put_maxwell(0, "a", 5, 9, false);
    put_maxwell(0, "b", 6, 9, true);
    watch();
    stage_run_ok(cfg, 1);
    expect_commits("1,3 2|1,3,5 2,4,6");
    assert_int_equal(stage.stats.transactions, 3);
    assert_int_equal(stage.stats.transactions_split, 0);
}

static void put_shareplex(size_t part, const char *table_z, int id, const char *trans_z, int seq, int size)
{
    char value[512];
    snprintf(value, sizeof value,
             "{\"meta\":{\"op\":\"ins\",\"table\":\"D.%s\",\"trans\":\"%s\",\"seq\":%d,\"size\":%d,\"time\":\"2017-06-16T14:24:34\",\"scn\":\"1\"},"
             "\"data\":{\"id\":%d,\"v\":1}}", table_z, trans_z, seq, size, id);
    stage_put(part, NULL, value);
}

static void test_a_batch_ends_where_seq_is_size(void **state)
{
    (void)state;
    cfg = stage_config("transactions=source", "batch.rows=1", "format=shareplex", "tables.*.primary_key=[id]");
    stage_part("spx", 0);
    for (int i = 1; i <= 4; i++)
        put_shareplex(0, i % 2 ? "a" : "b", i, "7.0.1", i, 4);
    put_shareplex(0, "a", 5, "7.0.2", 1, 1);
    watch();
    stage_run_ok(cfg, 1);
    expect_commits("1,3 2,4|1,3,5 2,4");
}

static void put_canal(size_t part, const char *table_z, int id, const char *gtid_z)
{
    char value[512];
    snprintf(value, sizeof value,
             "{\"data\":[{\"id\":\"%d\",\"v\":\"1\"}],\"database\":\"d\",\"es\":1718000000000,\"gtid\":\"%s\",\"id\":1,\"isDdl\":false,"
             "\"mysqlType\":{\"id\":\"int(11)\",\"v\":\"int(11)\"},\"old\":null,\"pkNames\":[\"id\"],\"sql\":\"\",\"sqlType\":{\"id\":4,\"v\":4},"
             "\"table\":\"%s\",\"ts\":1718000000001,\"type\":\"INSERT\"}", id, gtid_z, table_z);
    stage_put(part, NULL, value);
}

static void test_a_transaction_of_canals_ends_where_another_gtid_begins(void **state)
{
    (void)state;
    cfg = stage_config("transactions=source", "batch.rows=1");
    stage_part("canal", 0);
    put_canal(0, "a", 1, "0-1-5");
    put_canal(0, "b", 2, "0-1-5");
    put_canal(0, "a", 3, "0-1-6");
    put_canal(0, "b", 4, "0-1-6");
    watch();
    stage_run_ok(cfg, 1);
    expect_commits("1 2|1,3 2,4");
}

static void test_a_transaction_without_a_mark_at_its_end_ends_with_silence(void **state)
{
    (void)state;
    cfg = stage_config("transactions=source", "batch.rows=1");
    stage_part("canal", 0);
    put_canal(0, "a", 1, "0-1-5");
    put_canal(0, "b", 2, "0-1-5");
    watch();
    stage.follows = true;
    stage_run_ok(cfg, 1);
    expect_commits("1 2");
    assert_int_equal(stage.stats.transactions_split, 0);
}

static void test_a_last_record_that_does_not_come_is_told(void **state)
{
    (void)state;
    cfg = stage_config("transactions=source", "batch.rows=1");
    stage_part("maxwell", 0);
    put_maxwell(0, "a", 1, 7, false); /* its last row is in another partition */
    put_maxwell(0, "a", 3, 8, true);
    watch();
    stage_run_ok(cfg, 1);
    expect_commits("1 -|1,3 -");
    assert_int_equal(stage.stats.transactions_split, 1);
}

static void test_rows_that_belong_to_no_transaction_stand_alone(void **state)
{
    (void)state;
    cfg = stage_config("transactions=source", "batch.rows=2", "format=flat");
    stage_part("a", 0);
    for (int i = 1; i <= 4; i++) {
        char text[64];
        snprintf(text, sizeof text, "{\"id\":%d}", i);
        stage_put(0, text, text);
    }
    watch();
    stage_run_ok(cfg, 1);
    expect_commits("1,2 -|1,2,3,4 -");
}

/* ---- producers that spread them ---- */

static void put_debezium(size_t part, const char *table_z, int id, const char *tx_z, int order)
{
    char key[64], value[512];
    snprintf(key, sizeof key, "{\"id\":%d}", id);
    snprintf(value, sizeof value,
             "{\"before\":null,\"after\":{\"id\":%d,\"v\":1},\"source\":{\"name\":\"p\",\"db\":\"db\",\"table\":\"%s\"},\"op\":\"c\",\"ts_ms\":1,"
             "\"transaction\":{\"id\":\"%s\",\"total_order\":\"%d\",\"data_collection_order\":1}}", id, table_z, tx_z, order);
    stage_put(part, key, value);
}

static void put_end(size_t part, const char *tx_z, int a, int b)
{
    char value[512];
    snprintf(value, sizeof value,
             "{\"status\":\"END\",\"id\":\"%s\",\"event_count\":%d,\"data_collections\":[{\"data_collection\":\"db.a\",\"event_count\":%d},"
             "{\"data_collection\":\"db.b\",\"event_count\":%d}],\"ts_ms\":1}", tx_z, a + b, a, b);
    stage_put(part, "{\"id\":\"x\"}", value);
}

static void stage_debezium(void)
{
    stage_part("p.db.a", 0);
    stage_part("p.db.b", 0);
    stage_part("p.transaction", 0);
}

static void test_rows_of_several_topics_wait_for_one_another(void **state)
{
    (void)state;
    cfg = stage_config("transactions=source", "batch.rows=1");
    stage_debezium();
    for (int i = 1; i <= 30; i++) /* one topic is far ahead */
        put_debezium(0, "a", i, i <= 29 ? "t1" : "t2", i);
    put_debezium(1, "b", 100, "t1", 30);
    put_debezium(1, "b", 101, "t2", 1);
    put_end(2, "t1", 29, 1);
    put_end(2, "t2", 1, 1);
    watch();
    stage_run_ok(cfg, 1);
    expect_commits("1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29 100|"
                   "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30 100,101");
    assert_int_equal(stage.stats.transactions, 2);
}

static void test_without_the_topic_of_ends_several_topics_are_refused(void **state)
{
    (void)state;
    cfg = stage_config("transactions=source");
    stage_part("p.db.a", 0);
    stage_part("p.db.b", 0);
    put_debezium(0, "a", 1, "t1", 1);
    put_debezium(1, "b", 2, "t1", 2);
    watch();
    assert_int_equal(stage_run(cfg, 1), MR_E_CONFIG);
    assert_non_null(strstr(stage.err.message, "p.transaction"));
    expect_commits("");
}

static void test_one_topic_needs_no_ends(void **state)
{
    (void)state;
    cfg = stage_config("transactions=source", "batch.rows=1");
    stage_part("p.all", 0);
    put_debezium(0, "a", 1, "t1", 1);
    put_debezium(0, "b", 2, "t1", 2);
    put_debezium(0, "a", 3, "t2", 1);
    watch();
    stage_run_ok(cfg, 1);
    expect_commits("1 2|1,3 2");
}

static void test_a_record_that_compaction_removed_is_not_waited_for(void **state)
{
    (void)state;
    cfg = stage_config("transactions=source", "batch.rows=1", "batch.transaction_wait=1h");
    stage_debezium();
    put_debezium(0, "a", 1, "t1", 1);
    put_debezium(0, "a", 2, "t2", 1); /* of two */
    put_debezium(1, "b", 11, "t1", 2);
    put_debezium(1, "b", 12, "t2", 3);
    put_debezium(0, "a", 3, "t3", 1);
    put_end(2, "t1", 1, 1);
    put_end(2, "t2", 2, 1);
    put_end(2, "t3", 1, 0);
    watch();
    stage.follows = true;
    stage_run_ok(cfg, 1);
    expect_commits("1 11|1,2 11,12|1,2,3 11,12");
    assert_int_equal(stage.stats.transactions_short, 1);
    assert_int_equal(stage.stats.transactions_split, 0);
}

static void test_an_end_that_is_passed_is_not_waited_for(void **state)
{
    (void)state;
    cfg = stage_config("transactions=source", "batch.rows=1", "batch.transaction_wait=1h");
    stage_debezium();
    put_debezium(0, "a", 1, "t1", 1); /* its END was read before transactions were kept */
    put_debezium(0, "a", 2, "t2", 1);
    put_debezium(1, "b", 12, "t2", 2);
    put_end(2, "t2", 1, 1);
    watch();
    stage.follows = true;
    stage_run_ok(cfg, 1);
    expect_commits("1 -|1,2 12");
    assert_int_equal(stage.stats.transactions_short, 1);
}

static void test_a_record_that_never_comes_is_waited_for_only_so_long(void **state)
{
    (void)state;
    cfg = stage_config("transactions=source", "batch.rows=1", "batch.transaction_wait=300ms");
    stage_debezium();
    put_debezium(0, "a", 1, "t1", 1);
    put_end(2, "t1", 1, 1);
    put_debezium(0, "a", 2, "t2", 1);
    put_end(2, "t2", 1, 0);
    stage_put(1, "{\"id\":5}", "{\"before\":null,\"after\":{\"id\":5,\"v\":1},\"source\":{\"name\":\"p\",\"db\":\"db\",\"table\":\"b\"},\"op\":\"r\",\"ts_ms\":1}");
    watch();
    stage.follows = true;
    stage_run_ok(cfg, 1);
    expect_commits("- 5|1 5|1,2 5");
    assert_int_equal(stage.stats.transactions_split, 1);
    assert_int_equal(stage.stats.transactions, 1);
}

static void test_a_transaction_larger_than_memory_may_be_is_split_and_told(void **state)
{
    (void)state;
    cfg = stage_config("transactions=source", "batch.rows=100", "batch.transaction_bytes=1MiB", "batch.transaction_wait=1h");
    stage_debezium();
    for (int i = 1; i <= 4000; i++)
        put_debezium(0, "a", i, "t1", i);
    put_debezium(1, "b", 1, "t1", 4001);
    put_end(2, "t1", 4000, 1);
    stage_run_ok(cfg, 1);
    stage_expect("SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b)", "4000 1");
    assert_int_equal(stage.stats.transactions_split, 1);
}

static void test_a_transaction_that_has_not_ended_is_left_for_the_next_run(void **state)
{
    (void)state;
    cfg = stage_config("transactions=source", "batch.rows=1");
    stage_debezium();
    put_debezium(0, "a", 1, "t1", 1);
    put_debezium(0, "a", 2, "t2", 1);
    put_end(2, "t1", 1, 0);
    watch();
    stage_run_ok(cfg, 1);
    expect_commits("1 -");
    stage_forget_script();
    put_debezium(1, "b", 3, "t2", 2);
    put_end(2, "t2", 1, 1);
    stage_run_ok(cfg, 1);
    stage_expect("SELECT group_concat(id) FROM a", "1,2");
    stage_expect("SELECT group_concat(id) FROM b", "3");
}

static void test_a_topic_that_is_not_read_is_not_waited_for(void **state)
{
    (void)state;
    cfg = stage_config("transactions=source", "batch.rows=1", "batch.transaction_wait=1h");
    stage_part("p.db.a", 0);
    stage_part("p.transaction", 0);
    put_debezium(0, "a", 1, "t1", 1);
    put_end(1, "t1", 1, 5);
    put_debezium(0, "a", 2, "t2", 1);
    put_end(1, "t2", 1, 5);
    watch();
    stage.follows = true;
    stage_run_ok(cfg, 1);
    expect_commits("1 -|1,2 -");
    assert_int_equal(stage.stats.transactions_short, 0);
}

/* ---- rows that are refused ---- */

static void test_a_refused_row_is_a_dead_letter_and_the_rest_stays_together(void **state)
{
    (void)state;
    cfg = stage_config("transactions=source", "batch.rows=1", "dead_letters.max_rate=0");
    stage_part("maxwell", 0);
    put_maxwell(0, "a", 1, 7, false);
    put_maxwell(0, "b", 2, 7, false);
    put_maxwell(0, "b", 99, 7, false);
    put_maxwell(0, "a", 3, 7, true);
    watch();
    stage_sql("DROP TABLE b; CREATE TABLE b (id INTEGER PRIMARY KEY CHECK (id < 50), v INTEGER)");
    stage_run_ok(cfg, 1);
    expect_commits("1,3 2");
    stage_expect("SELECT count(*) FROM millrace_dead_letter", "1");
}

static void test_a_key_that_changes_within_a_transaction_is_told(void **state)
{
    (void)state;
    cfg = stage_config("transactions=source", "batch.rows=10");
    stage_part("maxwell", 0);
    stage_put(0, "{\"database\":\"d\",\"table\":\"k\",\"pk.id\":1}",
              "{\"database\":\"d\",\"table\":\"k\",\"type\":\"insert\",\"ts\":1,\"xid\":7,\"data\":{\"id\":1,\"w\":1}}");
    stage_put(0, "{\"database\":\"d\",\"table\":\"k\",\"pk.id\":2,\"pk.w\":2}",
              "{\"database\":\"d\",\"table\":\"k\",\"type\":\"insert\",\"ts\":1,\"xid\":7,\"commit\":true,\"data\":{\"id\":2,\"w\":2}}");
    stage_run_ok(cfg, 1);
    stage_expect("SELECT group_concat(id) FROM (SELECT id FROM k ORDER BY id)", "1,2");
    assert_int_equal(stage.stats.transactions_split, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_batch_ends_where_a_transaction_of_maxwells_ends, begin, end),
        cmocka_unit_test_setup_teardown(test_a_batch_ends_where_seq_is_size, begin, end),
        cmocka_unit_test_setup_teardown(test_a_transaction_of_canals_ends_where_another_gtid_begins, begin, end),
        cmocka_unit_test_setup_teardown(test_a_transaction_without_a_mark_at_its_end_ends_with_silence, begin, end),
        cmocka_unit_test_setup_teardown(test_a_last_record_that_does_not_come_is_told, begin, end),
        cmocka_unit_test_setup_teardown(test_rows_that_belong_to_no_transaction_stand_alone, begin, end),
        cmocka_unit_test_setup_teardown(test_rows_of_several_topics_wait_for_one_another, begin, end),
        cmocka_unit_test_setup_teardown(test_without_the_topic_of_ends_several_topics_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(test_one_topic_needs_no_ends, begin, end),
        cmocka_unit_test_setup_teardown(test_a_record_that_compaction_removed_is_not_waited_for, begin, end),
        cmocka_unit_test_setup_teardown(test_an_end_that_is_passed_is_not_waited_for, begin, end),
        cmocka_unit_test_setup_teardown(test_a_record_that_never_comes_is_waited_for_only_so_long, begin, end),
        cmocka_unit_test_setup_teardown(test_a_transaction_larger_than_memory_may_be_is_split_and_told, begin, end),
        cmocka_unit_test_setup_teardown(test_a_transaction_that_has_not_ended_is_left_for_the_next_run, begin, end),
        cmocka_unit_test_setup_teardown(test_a_topic_that_is_not_read_is_not_waited_for, begin, end),
        cmocka_unit_test_setup_teardown(test_a_refused_row_is_a_dead_letter_and_the_rest_stays_together, begin, end),
        cmocka_unit_test_setup_teardown(test_a_key_that_changes_within_a_transaction_is_told, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
