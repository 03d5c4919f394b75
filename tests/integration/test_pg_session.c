/* The PostgreSQL sink's connection against a real server: transactions, lost connections, catalog, control tables. */
#include "sink/postgres/pg.h" /* before the helper, whose global would be shadowed */

#include "pg_helper.h"

#include <pthread.h>

#include <millrace/base/time.h>

#include "engine/control.h"

static const struct mr_type t_int = {.kind = MR_T_INT64}, t_text = {.kind = MR_T_TEXT};

/* ---- Transactions ---- */

static void test_savepoints_and_rollbacks_leave_the_connection_usable(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", t_int, true}, {"a", t_text});
    create(tbl);
    for (int bulk = 0; bulk < 2; bulk++) {
        struct mr_error err = {0};
        cfg.bulk_rows = bulk ? 1 : 1000;
        struct rows *good = rows_of(tbl), *bad = rows_of(tbl), *more = rows_of(tbl);
        ROW(good, MR_ROW_UPSERT, INT(1), TEXT("good"));
        ROW(bad, MR_ROW_UPSERT, INT(2), TEXT("\xff"));
        ROW(more, MR_ROW_UPSERT, INT(3), TEXT("more"));
        OK(sink->ops->begin(sink, e));
        OK(sink->ops->savepoint(sink, e));
        assert_int_equal(sink->ops->apply(sink, &bad->batch, &err), MR_E_DATA);
        OK(sink->ops->rollback_savepoint(sink, e));
        OK(sink->ops->savepoint(sink, e));
        OK(sink->ops->apply(sink, &good->batch, e));
        OK(sink->ops->release_savepoint(sink, e));
        OK(sink->ops->savepoint(sink, e));
        OK(sink->ops->apply(sink, &more->batch, e));
        OK(sink->ops->rollback_savepoint(sink, e));
        OK(sink->ops->apply(sink, &good->batch, e));
        OK(sink->ops->commit(sink, e));
        OK(sink->ops->begin(sink, e));
        OK(sink->ops->apply(sink, &more->batch, e));
        sink->ops->rollback(sink);
        sink->ops->rollback(sink);
        apply(good);
        assert_string_equal(rows_text("SELECT * FROM s.t"), "1|good\n");
    }
    mr_table_unref(tbl);
}

static void test_a_failed_transaction_cannot_be_committed(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", t_int, true}, {"a", t_text});
    struct mr_error err = {0};
    create(tbl);
    struct rows *rows = rows_of(tbl);
    ROW(rows, MR_ROW_UPSERT, INT(2), TEXT("\xff"));
    OK(sink->ops->begin(sink, e));
    assert_int_equal(sink->ops->apply(sink, &rows->batch, &err), MR_E_DATA);
    assert_int_equal(sink->ops->commit(sink, &err), MR_E_BUG);
    OK(sink->ops->begin(sink, e));
    sink->ops->rollback(sink);
    mr_table_unref(tbl);
}

static void test_new_versions_of_a_table_and_many_tables_on_one_connection(void **state)
{
    (void)state;
    cfg.bulk_rows = 1;
    for (int i = 0; i < 300; i++) {
        struct mr_table *tbl = TABLE("t", {"id", t_int, true}, {"a", t_text});
        if (i == 0)
            create(tbl);
        struct rows *rows = rows_of(tbl);
        ROW(rows, MR_ROW_UPSERT, INT(i % 10), TEXT("x"));
        ROW(rows, MR_ROW_DELETE, INT(i % 10 + 20), ABSENT);
        if (i % 3 == 0)
            rows->batch.row_by_row = true;
        apply(rows);
        mr_table_unref(tbl);
    }
    assert_string_equal(sql_value("SELECT count(*) FROM s.t"), "10");
    assert_true(atoi(sql_value("SELECT count(*) FROM pg_class WHERE relname LIKE 'mr_stage%'")) <= 256);
}

static void test_a_lost_connection_is_environment_and_noticed(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", t_int, true});
    struct mr_error err = {0};
    create(tbl);
    struct rows *rows = rows_of(tbl);
    for (int i = 0; i < 100; i++)
        ROW(rows, MR_ROW_UPSERT, INT(i));
    for (int way = 0; way < 3; way++) {
        cfg.bulk_rows = way == 0 ? 1 : 1000;
        assert_true(sink->ops->is_alive(sink));
        if (way < 2)
            OK(sink->ops->begin(sink, e));
        sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'millrace test' "
            "AND datname = current_database()");
        for (int i = 0; i < 500 && sink->ops->is_alive(sink); i++)
            mr_sleep_ms(20);
        if (way < 2)
            assert_int_equal(sink->ops->apply(sink, &rows->batch, &err), MR_E_ENV);
        assert_false(sink->ops->is_alive(sink));
        sink->ops->rollback(sink);
        sink->ops->gate_unlock(sink);
        sink->ops->destroy(sink);
        connect_sink();
    }
    apply(rows);
    mr_table_unref(tbl);
}

static void test_a_server_that_is_not_there_is_environment(void **state)
{
    (void)state;
    struct mr_sink_options opt = {.cfg = &cfg};
    struct mr_sink *other = NULL;
    struct mr_error err = {0};
    cfg.target_url = (char *)"postgresql://me:secret@/nobody?host=/nonexistent";
    assert_int_equal(sink->ops->connect(&opt, &other, &err), MR_E_ENV);
    assert_null(other);
    assert_null(strstr(err.message, "secret"));
    cfg.target_url = server_url;
}

static void *cancel_soon(void *arg)
{
    (void)arg;
    mr_sleep_ms(300);
    sink->ops->cancel(sink);
    return NULL;
}

static void test_cancel_ends_a_running_call(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", t_int, true});
    struct mr_error err = {0};
    pthread_t thread;
    create(tbl);
    struct rows *rows = rows_of(tbl);
    ROW(rows, MR_ROW_UPSERT, INT(1));
    sql("BEGIN; LOCK TABLE s.t");
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, NULL), 0);
    assert_int_equal(try_apply(rows, &err), MR_E_ENV);
    assert_string_equal(err.native, "57014");
    pthread_join(thread, NULL);
    sql("ROLLBACK");
    apply(rows);
    mr_table_unref(tbl);
}

/* ---- Catalog ---- */

static void test_a_table_is_described(void **state)
{
    (void)state;
    sql("CREATE DOMAIN s.dom AS text; CREATE TABLE s.parent (id bigint PRIMARY KEY);"
        "CREATE TABLE s.\"T t\" (b integer, a varchar(7) NOT NULL, \"C\" numeric(9,3) DEFAULT 1, d bigint GENERATED ALWAYS AS IDENTITY, "
        "e bigint GENERATED BY DEFAULT AS IDENTITY, f text GENERATED ALWAYS AS (a || 'x') STORED, g s.dom, gone text, "
        "p bigint REFERENCES s.parent, CONSTRAINT \"the key\" PRIMARY KEY (a, b));"
        "ALTER TABLE s.\"T t\" DROP COLUMN gone; CREATE UNIQUE INDEX ON s.\"T t\" (\"C\", b) INCLUDE (g);"
        "CREATE UNIQUE INDEX ON s.\"T t\" (g) WHERE b > 1; CREATE UNIQUE INDEX ON s.\"T t\" (lower(g));"
        "CREATE INDEX ON s.\"T t\" (g)");
    struct mr_catalog_table t;
    OK(sink->ops->describe_table(sink, MR_STR("s"), MR_STR("T t"), ar, &t, e));
    assert_true(t.exists && t.has_foreign_keys);
    assert_int_equal(t.column_count, 8);
    assert_true(mr_str_eq_z(t.columns[1].native, "character varying(7)") && !t.columns[1].nullable);
    assert_true(t.columns[2].has_default && t.columns[2].nullable && mr_type_eq(t.columns[2].type, MR_TYPE_DECIMAL(9, 3)));
    assert_true(t.columns[3].generated && t.columns[5].generated && !t.columns[5].has_default);
    assert_true(!t.columns[4].generated && t.columns[4].has_default);
    assert_int_equal(t.columns[6].type.kind, MR_T_NONE);
    assert_int_equal(t.key_count, 2);
    assert_true(mr_str_eq_z(t.key[0], "a") && mr_str_eq_z(t.key[1], "b") && mr_str_eq_z(t.key_name, "the key"));
    assert_int_equal(t.unique_count, 1);
    assert_int_equal(t.unique_set_sizes[0], 2);
    assert_true(mr_str_eq_z(t.unique_sets[0][0], "C") && mr_str_eq_z(t.unique_sets[0][1], "b"));

    OK(sink->ops->describe_table(sink, MR_STR("s"), MR_STR("parent"), ar, &t, e));
    assert_true(t.exists && t.has_foreign_keys);
    OK(sink->ops->describe_table(sink, MR_STR("s"), MR_STR("t t"), ar, &t, e));
    assert_false(t.exists);
    OK(sink->ops->describe_table(sink, MR_STR("no such schema"), MR_STR("x"), ar, &t, e));
    assert_false(t.exists);
    struct mr_error err = {0};
    sql("CREATE VIEW s.v AS SELECT 1");
    assert_int_equal(sink->ops->describe_table(sink, MR_STR("s"), MR_STR("v"), ar, &t, &err), MR_E_CONFIG);
}

static enum mr_status collect(void *ctx, const struct mr_value *cells, size_t count, struct mr_error *err)
{
    (void)err;
    for (size_t i = 0; i < count; i++) {
        mr_buf_append_z(ctx, i ? "|" : "");
        if (cells[i].tag == MR_V_NULL)
            mr_buf_append_char(ctx, '-');
        mr_value_append_text(cells[i], ctx);
    }
    mr_buf_append_char(ctx, '\n');
    return MR_OK;
}

static enum mr_status stop_at_once(void *ctx, const struct mr_value *cells, size_t count, struct mr_error *err)
{
    (void)cells;
    (void)count;
    return ++*(int *)ctx < 3 ? MR_OK : mr_fail(err, MR_E_STOPPED, "enough");
}

static void test_a_table_is_dumped_in_key_order(void **state)
{
    (void)state;
    sql("CREATE TABLE s.t (v jsonb, id bigint PRIMARY KEY); INSERT INTO s.t VALUES ('[1]', 10), (NULL, 9), ('{}', 2)");
    struct mr_buf buf = MR_BUF_INIT(10000);
    OK(sink->ops->dump_table(sink, MR_STR("s"), MR_STR("t"), 2, collect, &buf, e));
    assert_string_equal(mr_buf_z(&buf), "v|id\n{}|2\n-|9\n");
    mr_buf_clear(&buf);
    sql("ALTER TABLE s.t DROP CONSTRAINT t_pkey");
    OK(sink->ops->dump_table(sink, MR_STR("s"), MR_STR("t"), SIZE_MAX, collect, &buf, e));
    assert_string_equal(mr_buf_z(&buf), "v|id\n[1]|10\n{}|2\n-|9\n");
    mr_buf_free(&buf);
    struct mr_error err = {0};
    int seen = 0;
    sql("INSERT INTO s.t SELECT NULL, n FROM generate_series(1, 100000) n");
    assert_int_equal(sink->ops->dump_table(sink, MR_STR("s"), MR_STR("t"), SIZE_MAX, stop_at_once, &seen, &err), MR_E_STOPPED);
    assert_int_equal(seen, 3);
    assert_int_equal(sink->ops->dump_table(sink, MR_STR("s"), MR_STR("none"), 1, stop_at_once, &seen, &err), MR_E_SCHEMA);
}

/* ---- Control tables ---- */

static enum mr_status read_int(void *ctx, const struct mr_value *cells, size_t count, struct mr_error *err)
{
    (void)err;
    assert_int_equal(count, 1);
    assert_int_equal(cells[0].tag, MR_V_INT);
    *(int64_t *)ctx = cells[0].i;
    return MR_OK;
}

static void test_control_tables_are_made_once_and_need_no_rights_afterwards(void **state)
{
    (void)state;
    int64_t version = 0;
    OK(sink->ops->prepare_control(sink, e));
    OK(sink->ops->prepare_control(sink, e));
    OK(sink->ops->exec(sink, MR_Q_control_version, NULL, 0, read_int, &version, NULL, e));
    assert_int_equal(version, MR_CONTROL_LAYOUT_VERSION);

    sql("DROP ROLE IF EXISTS mr_guest; CREATE ROLE mr_guest LOGIN; GRANT USAGE ON SCHEMA \"mr control\" TO mr_guest;"
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA \"mr control\" TO mr_guest");
    sink->ops->destroy(sink);
    char url[600];
    snprintf(url, sizeof(url), "%s&user=mr_guest", server_url);
    cfg.target_url = url;
    connect_sink();
    OK(sink->ops->prepare_control(sink, e));

    struct mr_error err = {0};
    sql("UPDATE \"mr control\".meta SET layout_version = 1000");
    assert_int_equal(sink->ops->prepare_control(sink, &err), MR_E_CONFIG);
    sql("DROP SCHEMA \"mr control\" CASCADE");
    assert_int_equal(sink->ops->prepare_control(sink, &err), MR_E_ENV);
    assert_string_equal(err.native, "42501");
    sql("CREATE SCHEMA \"mr control\" AUTHORIZATION mr_guest"); /* a schema given to the role is enough */
    OK(sink->ops->prepare_control(sink, e));
    sql("DROP OWNED BY mr_guest");
    cfg.target_url = server_url;
}

static void test_a_stale_control_query_is_prepared_anew(void **state)
{
    (void)state;
    int64_t version = 0;
    struct mr_error err = {0};
    OK(sink->ops->prepare_control(sink, e));
    OK(sink->ops->exec(sink, MR_Q_control_version, NULL, 0, read_int, &version, NULL, e));
    sql("ALTER TABLE \"mr control\".meta ALTER layout_version TYPE bigint");
    assert_int_equal(sink->ops->exec(sink, MR_Q_control_version, NULL, 0, read_int, &version, NULL, &err), MR_E_SCHEMA);
    OK(sink->ops->exec(sink, MR_Q_control_version, NULL, 0, read_int, &version, NULL, e));
    assert_int_equal(version, MR_CONTROL_LAYOUT_VERSION);
}

static void *prepare_in_thread(void *arg)
{
    struct mr_sink_options opt = {.cfg = &cfg};
    struct mr_sink *other;
    struct mr_error *err = arg;
    if (mr_sinks[0]->connect(&opt, &other, err) != MR_OK)
        return NULL;
    (void)!mr_sinks[0]->prepare_control(other, err);
    mr_sinks[0]->destroy(other);
    return NULL;
}

static void test_several_instances_make_the_control_tables_at_once(void **state)
{
    (void)state;
    pthread_t threads[8];
    struct mr_error errs[8] = {0};
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, prepare_in_thread, &errs[i]), 0);
    for (size_t i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        ok(errs[i].status, &errs[i]);
    }
}

/* The server ends a session's locks a moment after the connection. */
static void wait_for_value(const char *query_z, const char *value_z)
{
    for (int i = 0; i < 500 && strcmp(sql_value(query_z), value_z) != 0; i++)
        mr_sleep_ms(20);
    assert_string_equal(sql_value(query_z), value_z);
}

static void test_the_gate_lets_one_in_at_a_time(void **state)
{
    (void)state;
    static const char held[] = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND "
                               "database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    OK(sink->ops->gate_lock(sink, e));
    assert_string_equal(sql_value(held), "1");
    struct mr_sink_options opt = {.cfg = &cfg};
    struct mr_sink *other = NULL;
    struct mr_error refusal = {0};
    OK(sink->ops->connect(&opt, &other, e));
    assert_int_equal(other->ops->gate_lock(other, &refusal), MR_E_BUSY);
    OK(sink->ops->begin(sink, e));
    OK(sink->ops->commit(sink, e));
    assert_string_equal(sql_value(held), "1");
    sink->ops->gate_unlock(sink);
    assert_string_equal(sql_value(held), "0");
    OK(other->ops->gate_lock(other, e));
    other->ops->destroy(other);
    wait_for_value(held, "0");
    OK(sink->ops->gate_lock(sink, e));
    sink->ops->destroy(sink);
    wait_for_value(held, "0");
    connect_sink();
}

static void test_a_connection_may_limit_how_long_it_waits_for_locks(void **state)
{
    (void)state;
    static const struct mr_partition part = {.topic_z = "held"};
    const struct mr_partition *parts[] = {&part};
    struct mr_stored_position out;
    struct mr_sink_options opt = {.cfg = &cfg, .lock_wait_ms = 200};
    struct mr_sink *other = NULL;
    struct mr_error refusal = {0};
    OK(sink->ops->prepare_control(sink, e));
    OK(mr_control_claim(sink, MR_STR("p"), parts, 1, 1, &out, e));
    OK(sink->ops->begin(sink, e));
    OK(mr_control_claim(sink, MR_STR("p"), parts, 1, 1, &out, e));
    OK(sink->ops->connect(&opt, &other, e));
    assert_int_equal(mr_control_claim(other, MR_STR("p"), parts, 1, 1, &out, &refusal), MR_E_ENV);
    assert_string_equal(refusal.native, "55P03");
    OK(sink->ops->commit(sink, e));
    OK(mr_control_claim(other, MR_STR("p"), parts, 1, 1, &out, e));
    other->ops->destroy(other);
}

/* A paused instance must not hold up the one that has taken over its partitions. */
static void test_a_sleeping_transaction_is_ended_by_the_server(void **state)
{
    (void)state;
    PGresult *res = PQexec(((struct mr_pg *)sink)->conn, "SHOW idle_in_transaction_session_timeout");
    assert_string_equal(PQgetvalue(res, 0, 0), "1min");
    PQclear(res);
}

static void test_the_session_depends_on_nobodys_settings(void **state)
{
    (void)state;
    sql("ALTER ROLE millrace IN DATABASE test_pg_session SET timezone TO 'Asia/Tokyo'; ALTER ROLE millrace IN DATABASE test_pg_session SET datestyle TO 'German';"
        "ALTER ROLE millrace IN DATABASE test_pg_session SET bytea_output TO 'escape'; ALTER ROLE millrace IN DATABASE test_pg_session SET default_transaction_isolation TO 'serializable'");
    sink->ops->destroy(sink);
    connect_sink();
    sql("CREATE TABLE s.t (at timestamptz, b bytea); INSERT INTO s.t VALUES ('2020-01-01T00:00:00Z', '\\x00')");
    struct mr_buf buf = MR_BUF_INIT(10000);
    OK(sink->ops->dump_table(sink, MR_STR("s"), MR_STR("t"), 2, collect, &buf, e));
    assert_string_equal(mr_buf_z(&buf), "at|b\n2020-01-01 00:00:00+00|\\x00\n");
    mr_buf_free(&buf);
    sql("ALTER ROLE millrace IN DATABASE test_pg_session RESET ALL");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_savepoints_and_rollbacks_leave_the_connection_usable),
        TEST(test_a_failed_transaction_cannot_be_committed),
        TEST(test_new_versions_of_a_table_and_many_tables_on_one_connection),
        TEST(test_a_lost_connection_is_environment_and_noticed),
        TEST(test_a_server_that_is_not_there_is_environment),
        TEST(test_cancel_ends_a_running_call),
        TEST(test_a_table_is_described),
        TEST(test_a_table_is_dumped_in_key_order),
        TEST(test_control_tables_are_made_once_and_need_no_rights_afterwards),
        TEST(test_a_stale_control_query_is_prepared_anew),
        TEST(test_several_instances_make_the_control_tables_at_once),
        TEST(test_the_gate_lets_one_in_at_a_time),
        TEST(test_a_connection_may_limit_how_long_it_waits_for_locks),
        TEST(test_a_sleeping_transaction_is_ended_by_the_server),
        TEST(test_the_session_depends_on_nobodys_settings),
    };
    return cmocka_run_group_tests(tests, open_server, close_server);
}
