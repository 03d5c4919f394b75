/* Deletes, tombstones and added headers, from the message to the table: what unwrap's options do to rows. */
#include "support/engine_flow.h"

#define MODE "unwrap.delete.tombstone.handling.mode"
#define MYSQL "\"source\":{\"connector\":\"mysql\",\"db\":\"shop\",\"table\":\"t\"}"
#define MONGO "\"source\":{\"connector\":\"mongodb\",\"db\":\"shop\",\"collection\":\"t\"}"

static struct mr_config *cfg;

static int begin(void **state)
{
    (void)state;
    mr_log_setup(getenv("FLOW_LOG") ? MR_LOG_INFO : (enum mr_log_level)(MR_LOG_ERROR + 1), MR_LOG_LOGFMT, false);
    stage_begin();
    cfg = NULL;
    stage_part("p.shop.t", 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    mr_config_destroy(cfg);
    stage_end();
    return 0;
}

static void put_mysql(const char *op_z, const char *before_z, const char *after_z)
{
    char value[1024];
    snprintf(value, sizeof value, "{\"before\":%s,\"after\":%s," MYSQL ",\"op\":\"%s\"}", before_z, after_z, op_z);
    stage_put(0, "{\"id\":1}", value);
}

/* The documents as texts in a text: with ' for \". */
static void put_mongodb(const char *key_z, const char *op_z, const char *before_z, const char *after_z)
{
    char value[1024], texts[2][400];
    const char *documents[2] = {before_z, after_z};
    for (int i = 0; i < 2; i++) {
        struct mr_buf text = MR_BUF_INIT(sizeof texts[i]);
        for (const char *p = documents[i]; *p != 0; p++)
            mr_buf_append_z(&text, *p == '\'' ? "\\\"" : (const char[]){*p, 0});
        snprintf(texts[i], sizeof texts[i], "%s%s%s", *documents[i] ? "\"" : "", *documents[i] ? mr_buf_z(&text) : "null",
                 *documents[i] ? "\"" : "");
        mr_buf_free(&text);
    }
    snprintf(value, sizeof value, "{\"before\":%s,\"after\":%s," MONGO ",\"op\":\"%s\"}", texts[0], texts[1], op_z);
    stage_put(0, key_z, value);
}

static void test_a_soft_delete_writes_what_the_event_tells_of_the_row(void **state)
{
    (void)state;
    cfg = stage_config(MODE "=rewrite");
    put_mysql("d", "{\"id\":1,\"a\":5,\"b\":null}", "null");
    stage_run_ok(cfg, 1);
    stage_expect("SELECT * FROM t", "1 5 1");
}

static void test_nulls_beside_a_key_do_not_empty_a_row_that_is_marked(void **state)
{
    (void)state;
    cfg = stage_config(MODE "=rewrite");
    put_mysql("c", "null", "{\"id\":1,\"a\":5}");
    put_mysql("d", "{\"id\":1,\"a\":null}", "null");
    stage_run_ok(cfg, 1);
    stage_expect("SELECT * FROM t", "1 5 1");
}

static void test_a_documents_before_image_is_the_whole_row(void **state)
{
    (void)state;
    cfg = stage_config(MODE "=rewrite");
    put_mongodb("{\"id\":\"1\"}", "c", "", "{'_id': 1,'a': 5,'b': 6}");
    put_mongodb("{\"id\":\"1\"}", "d", "{'_id': 1,'a': 7}", "");
    stage_run_ok(cfg, 1);
    stage_expect("SELECT _id, a, b IS NULL, __deleted FROM t", "1 7 1 1");
}

static void test_a_value_that_has_no_place_does_not_keep_a_row_from_being_marked(void **state)
{
    (void)state;
    cfg = stage_config(MODE "=rewrite");
    put_mysql("c", "null", "{\"id\":1,\"a\":5,\"b\":6}");
    put_mysql("d", "{\"id\":1,\"a\":\"text\",\"b\":7}", "null");
    stage_run_ok(cfg, 1);
    stage_expect("SELECT id, a, b, __deleted FROM t", "1 5 7 1");
    stage_expect("SELECT count(*) FROM millrace_dead_letter", "0");
}

static void test_an_unwrapped_row_that_is_marked_brings_its_columns(void **state)
{
    (void)state;
    cfg = stage_config(MODE "=rewrite", "format=flat");
    stage_put(0, "{\"id\":1}", "{\"id\":1,\"a\":5,\"__op\":\"c\",\"__deleted\":\"false\"}");
    stage_put(0, "{\"id\":1}", "{\"id\":1,\"a\":null,\"__op\":\"d\",\"__deleted\":\"true\"}");
    stage_run_ok(cfg, 1);
    stage_expect("SELECT id, a, __op, __deleted FROM t", "1 5 d 1");
}

static void test_a_field_of_the_marks_name_gives_way_to_the_mark(void **state)
{
    (void)state;
    cfg = stage_config(MODE "=rewrite");
    put_mongodb("{\"id\":\"1\"}", "c", "", "{'_id': 1,'__deleted': 'mine'}");
    stage_run_ok(cfg, 1);
    stage_expect("SELECT * FROM t", "1 0");
}

static void test_tombstones_do_nothing_where_rows_are_only_marked(void **state)
{
    (void)state;
    cfg = stage_config(MODE "=rewrite", "unwrap.add.fields=offset");
    put_mysql("c", "null", "{\"id\":1,\"a\":5}");
    put_mysql("d", "{\"id\":1,\"a\":5}", "null");
    stage_put(0, "{\"id\":1}", NULL);
    stage_put(0, "{\"id\":2}", NULL);
    stage_run_ok(cfg, 1);
    stage_expect("SELECT id, a, __offset, __deleted FROM t", "1 5 1 1");
}

static void test_a_tombstone_removes_what_its_delete_has_marked(void **state)
{
    (void)state;
    cfg = stage_config(MODE "=rewrite-with-tombstone", "batch.rows=1");
    put_mysql("c", "null", "{\"id\":1,\"a\":5}");
    put_mysql("d", "{\"id\":1,\"a\":5}", "null");
    stage_run_ok(cfg, 1);
    stage_expect("SELECT id, a, __deleted FROM t", "1 5 1");
    stage_put(0, "{\"id\":1}", NULL);
    stage_run_ok(cfg, 1);
    stage_expect("SELECT count(*) FROM t", "0");
}

static void test_deletes_may_be_left_to_their_tombstones(void **state)
{
    (void)state;
    cfg = stage_config("unwrap.drop.tombstones=false");
    put_mysql("c", "null", "{\"id\":1}");
    put_mysql("d", "{\"id\":1}", "null");
    stage_run_ok(cfg, 1);
    stage_expect("SELECT count(*) FROM t", "1");
    stage_put(0, "{\"id\":1}", NULL);
    stage_run_ok(cfg, 1);
    stage_expect("SELECT count(*) FROM t", "0");
}

static void test_under_drop_nothing_is_ever_deleted(void **state)
{
    (void)state;
    cfg = stage_config(MODE "=drop");
    put_mysql("c", "null", "{\"id\":1}");
    put_mysql("d", "{\"id\":1}", "null");
    stage_put(0, "{\"id\":1}", NULL);
    stage_run_ok(cfg, 1);
    stage_expect("SELECT * FROM t", "1");
}

static void test_rewrite_with_id_fills_the_id_where_it_is_not_the_key(void **state)
{
    (void)state;
    cfg = stage_config(MODE "=rewrite", MODE ".rewrite-with-id=true", "tables.t.primary_key=record_key_text");
    put_mongodb("{\"id\":\"1\"}", "d", "", "");
    put_mongodb("{\"id\":\"2\"}", "c", "", "{'a': 5}");
    put_mongodb("{\"id\":\"3\"}", "d", "{'_id': 3,'a': 6}", "");
    stage_run_ok(cfg, 1);
    stage_expect("SELECT _key, _id, a, __deleted FROM t ORDER BY 1", "{\"id\":\"1\"} 1 - 1;{\"id\":\"2\"} 2 5 0;{\"id\":\"3\"} 3 6 1");
}

static void test_added_headers_are_kept_with_a_dead_letter(void **state)
{
    (void)state;
    cfg = stage_config("unwrap.add.headers=op,source.table:T,transaction.id,nosuch,offset", "tables.t.primary_key=[nosuch]",
                       "unwrap.drop.tombstones=false");
    stage_put(0, "{\"id\":1}", "{\"before\":null,\"after\":{\"id\":1}," MYSQL ",\"op\":\"c\",\"transaction\":null}");
    stage_put(0, "{\"id\":1}", NULL);
    stage_run_ok(cfg, 1);
    stage_expect("SELECT headers FROM millrace_dead_letter ORDER BY id",
                 "[[\"__op\",\"Yw==\"],[\"__T\",\"dA==\"],[\"__transaction_id\",null],[\"__offset\",\"MA==\"]];"
                 "[[\"__op\",\"ZA==\"],[\"__offset\",\"MQ==\"]]");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_soft_delete_writes_what_the_event_tells_of_the_row),
        TEST(test_nulls_beside_a_key_do_not_empty_a_row_that_is_marked),
        TEST(test_a_documents_before_image_is_the_whole_row),
        TEST(test_a_value_that_has_no_place_does_not_keep_a_row_from_being_marked),
        TEST(test_an_unwrapped_row_that_is_marked_brings_its_columns),
        TEST(test_a_field_of_the_marks_name_gives_way_to_the_mark),
        TEST(test_tombstones_do_nothing_where_rows_are_only_marked),
        TEST(test_a_tombstone_removes_what_its_delete_has_marked),
        TEST(test_deletes_may_be_left_to_their_tombstones),
        TEST(test_under_drop_nothing_is_ever_deleted),
        TEST(test_rewrite_with_id_fills_the_id_where_it_is_not_the_key),
        TEST(test_added_headers_are_kept_with_a_dead_letter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
