/* The MySQL sink's connections against a real server, MariaDB or MySQL: the session it sets up, ways to connect, locks, cancelled calls. */
#include <pthread.h>

#include <millrace/base/time.h>

#include "sink/mysql/my.h"

#include "my_helper.h"

/* ---- Sessions ---- */

static void test_the_session_does_not_depend_on_the_servers_settings(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"tz", MR_TYPE(MR_T_TIMESTAMPTZ)});
    sql("CREATE TABLE s.t (id bigint PRIMARY KEY, tz timestamp(6))");
    sql("SET GLOBAL time_zone = '+05:00'");
    sql("SET GLOBAL sql_mode = ''");
    struct mr_sink *other = connect_with(&cfg);
    sql("SET GLOBAL time_zone = DEFAULT");
    sql("SET GLOBAL sql_mode = DEFAULT");
    struct rows *rows = rows_of(tbl);
    ROW(rows, MR_ROW_UPSERT, INT(1), TIME(MR_V_TIMESTAMPTZ, 3600 * MR_US_PER_SEC));
    OK(other->ops->begin(other, e));
    OK(other->ops->apply(other, &rows->batch, e));
    OK(other->ops->commit(other, e));
    assert_string_equal(rows_text("SELECT UNIX_TIMESTAMP(tz) FROM s.t"), "3600.000000\n");
    rows = rows_of(tbl);
    ROW(rows, MR_ROW_UPSERT, INT(2), TIME(MR_V_TIMESTAMPTZ, mr_days_from_civil(2500, 1, 1) * MR_US_PER_DAY)); /* beyond a TIMESTAMP */
    struct mr_error err = {0};
    OK(other->ops->begin(other, e));
    assert_int_equal(other->ops->apply(other, &rows->batch, &err), MR_E_DATA);
    other->ops->destroy(other);
}

static void test_a_read_only_connection_writes_nothing(void **state)
{
    (void)state;
    struct mr_sink_options opt = {.cfg = &cfg, .application_z = "test", .read_only = true};
    struct mr_sink *reader = NULL;
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true});
    create(tbl);
    OK(sink->ops->connect(&opt, &reader, e));
    struct rows *rows = rows_of(tbl);
    ROW(rows, MR_ROW_UPSERT, INT(1));
    struct mr_error err = {0};
    OK(reader->ops->begin(reader, e));
    assert_int_not_equal(reader->ops->apply(reader, &rows->batch, &err), MR_OK);
    reader->ops->destroy(reader);
}

static void *cancel_soon(void *ctx)
{
    mr_sleep_ms(200);
    sink->ops->cancel(ctx);
    return NULL;
}

static void test_a_running_call_is_cancelled(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"v", MR_TYPE(MR_T_INT64)});
    create(tbl);
    sql("INSERT INTO s.t VALUES (1, 1)");
    sql("BEGIN");
    sql("UPDATE s.t SET v = 2");
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, sink), 0);
    struct rows *rows = rows_of(tbl);
    ROW(rows, MR_ROW_UPSERT, INT(1), INT(3));
    struct mr_error err = {0};
    OK(sink->ops->begin(sink, e));
    int64_t before = mr_monotonic_ms();
    assert_int_equal(sink->ops->apply(sink, &rows->batch, &err), MR_E_ENV);
    assert_true(mr_monotonic_ms() - before < 10000);
    pthread_join(thread, NULL);
    sink->ops->rollback(sink);
    sql("ROLLBACK");
    apply(rows);
}

static void test_a_connection_that_the_server_ended_is_not_alive(void **state)
{
    (void)state;
    assert_true(sink->ops->is_alive(sink));
    sql(text_of("KILL %lu", mr_my_of(sink)->thread_id));
    for (int i = 0; i < 500 && sink->ops->is_alive(sink); i++)
        mr_sleep_ms(20);
    assert_false(sink->ops->is_alive(sink));
    struct mr_error err = {0};
    assert_int_equal(sink->ops->begin(sink, &err), MR_E_ENV);
    sink->ops->rollback(sink);
}

/* Two transactions that wait for one another: the loser is to be tried again at once. */
struct rival {
    struct mr_sink *sink;
    struct rows *rows;
    enum mr_status status;
};

static void *apply_in_thread(void *ctx)
{
    struct rival *r = ctx;
    struct mr_error err = {0};
    r->status = r->sink->ops->apply(r->sink, &r->rows->batch, &err);
    return NULL;
}

static void test_a_deadlock_is_busy(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"v", MR_TYPE(MR_T_INT64)});
    create(tbl);
    sql("INSERT INTO s.t VALUES (1, 0), (2, 0)");
    struct rows *one = rows_of(tbl), *two = rows_of(tbl);
    ROW(one, MR_ROW_UPSERT, INT(1), INT(1));
    ROW(two, MR_ROW_UPSERT, INT(2), INT(2));
    struct rival rival = {.sink = connect_with(&cfg), .rows = one};
    OK(sink->ops->begin(sink, e));
    OK(sink->ops->apply(sink, &one->batch, e));
    OK(rival.sink->ops->begin(rival.sink, e));
    OK(rival.sink->ops->apply(rival.sink, &two->batch, e));
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, apply_in_thread, &rival), 0);
    mr_sleep_ms(300);
    struct mr_error err = {0};
    enum mr_status mine = sink->ops->apply(sink, &two->batch, &err);
    if (mine == MR_OK)
        OK(sink->ops->commit(sink, e));
    else
        sink->ops->rollback(sink);
    pthread_join(thread, NULL);
    assert_true((mine == MR_E_BUSY) != (rival.status == MR_E_BUSY));
    rival.sink->ops->destroy(rival.sink);
}

/* The main thread has a group to keep: it waits for nobody's lock for long. */
static void test_a_connection_waits_for_locks_no_longer_than_it_may(void **state)
{
    (void)state;
    struct mr_sink_options opt = {.cfg = &cfg, .application_z = "test", .lock_wait_ms = 1000};
    struct mr_sink *hasty = NULL;
    struct mr_table *tbl = TABLE("t", {"id", MR_TYPE(MR_T_INT64), true}, {"v", MR_TYPE(MR_T_INT64)});
    create(tbl);
    sql("INSERT INTO s.t VALUES (1, 1)");
    sql("BEGIN");
    sql("UPDATE s.t SET v = 2");
    OK(sink->ops->connect(&opt, &hasty, e));
    struct rows *rows = rows_of(tbl);
    ROW(rows, MR_ROW_UPSERT, INT(1), INT(3));
    struct mr_error err = {0};
    int64_t before = mr_monotonic_ms();
    OK(hasty->ops->begin(hasty, e));
    assert_int_equal(hasty->ops->apply(hasty, &rows->batch, &err), MR_E_ENV);
    assert_true(mr_monotonic_ms() - before < 5000);
    sql("ROLLBACK");
    hasty->ops->destroy(hasty);
}

/* ---- Ways in ---- */

static enum mr_status try_connect(const char *url, struct mr_error *err)
{
    struct mr_config config = cfg;
    struct mr_sink_options opt = {.cfg = &config, .application_z = "test"};
    struct mr_sink *out = NULL;
    config.target_url = (char *)(uintptr_t)url;
    enum mr_status status = sink->ops->connect(&opt, &out, err);
    if (status == MR_OK) {
        OK(out->ops->begin(out, e));
        out->ops->destroy(out);
    }
    return status;
}

static const char *url_with(const char *user, const char *options)
{
    const char *at = strchr(server_url, '@');
    return text_of("mysql://%s%s?%s", user, at, options);
}

static void make_user(const char *user, const char *how)
{
    sql(text_of("DROP USER IF EXISTS %s", user));
    sql(text_of("CREATE USER %s IDENTIFIED %s", user, how));
    sql(text_of("GRANT ALL ON *.* TO %s", user));
}

static void test_tls_is_used_and_checked_as_asked(void **state)
{
    (void)state;
    const char *ca = mr_arena_strndup(ar, fixture_file("ca.pem"), strlen(fixture_file("ca.pem")));
    OK(try_connect(url_with("millrace:millrace", "ssl-mode=REQUIRED"), e));
    OK(try_connect(url_with("millrace:millrace", text_of("ssl-mode=VERIFY_IDENTITY&ssl-ca=%s", ca)), e));
    if (is_mariadb())
        OK(try_connect(url_with("millrace:millrace", "ssl-mode=DISABLED"), e));
    struct mr_error err = {0};
    /* Another authority has not signed it. */
    assert_int_equal(try_connect(url_with("millrace:millrace", "ssl-mode=VERIFY_CA&ssl-ca=/etc/ssl/certs/ca-certificates.crt"), &err), MR_E_ENV);
}

static void test_the_socket_is_a_way_in(void **state)
{
    (void)state;
    char path[512];
    assert_true(read_line(fixture_file("socket"), path, sizeof(path)));
    OK(try_connect(text_of("mysql://millrace:millrace@localhost/test?socket=%s", path), e));
    OK(try_connect(text_of("mariadb://millrace:millrace@/test?socket=%s", path), e));
}

/* MySQL's own way of passwords: nobody has sent this one before, so that the server asks for it in full. */
static void test_caching_sha2_password_works_over_tls_and_over_the_socket(void **state)
{
    (void)state;
    char path[512];
    if (is_mariadb())
        return;
    assert_true(read_line(fixture_file("socket"), path, sizeof(path)));
    make_user("'sha_tls'@'%'", "WITH caching_sha2_password BY 'p@ss word'");
    OK(try_connect(url_with("sha_tls:p%40ss%20word", ""), e));
    OK(try_connect(url_with("sha_tls:p%40ss%20word", "ssl-mode=REQUIRED"), e));
    make_user("'sha_socket'@'localhost'", "WITH caching_sha2_password BY 'geheim'");
    OK(try_connect(text_of("mysql://sha_socket:geheim@/test?socket=%s", path), e));
    struct mr_error err = {0};
    assert_int_equal(try_connect(url_with("sha_tls:wrong", ""), &err), MR_E_ENV);
    assert_string_equal(err.code, "authentication");
    assert_null(strstr(err.message, "wrong"));
}

static void test_what_cannot_be_reached_is_told(void **state)
{
    (void)state;
    struct mr_error err = {0};
    assert_int_equal(try_connect("mysql://u:p@127.0.0.1:1/test", &err), MR_E_ENV);
    assert_int_equal(try_connect(url_with("millrace:wrong", ""), &err), MR_E_ENV);
    const char *end = strrchr(server_url, '/');
    assert_int_equal(try_connect(text_of("%.*s/nowhere", (int)(end - server_url), server_url), &err), MR_E_CONFIG);
    assert_non_null(strstr(err.hint, "CREATE DATABASE"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_session_does_not_depend_on_the_servers_settings),
        TEST(test_a_read_only_connection_writes_nothing),
        TEST(test_a_running_call_is_cancelled),
        TEST(test_a_connection_that_the_server_ended_is_not_alive),
        TEST(test_a_deadlock_is_busy),
        TEST(test_a_connection_waits_for_locks_no_longer_than_it_may),
        TEST(test_tls_is_used_and_checked_as_asked),
        TEST(test_the_socket_is_a_way_in),
        TEST(test_caching_sha2_password_works_over_tls_and_over_the_socket),
        TEST(test_what_cannot_be_reached_is_told),
    };
    return cmocka_run_group_tests(tests, open_server, close_server);
}
