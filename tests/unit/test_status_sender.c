/* The outbox of status events and the thread that empties it, over SQLite and a topic in memory that can fail: every event once, in order,
 * whatever arrives and whatever is confirmed. */
#include "support/sink_helper.h"

#include <pthread.h>
#include <stdlib.h>

#include <millrace/base/log.h>
#include <millrace/base/time.h>

#include "engine/control_status.h"
#include "engine/status_outbox.h"
#include "engine/status_sender.h"
#include "sink/sqlite/internal.h"

#define TOPIC MR_STR("status")
#define MOST 4000

static char dir[64], url[128], empty[1], topic[] = "status", datamart[32];
static struct mr_config cfg;
static struct mr_sink *control;

/* ---- the topic ---- */

static struct {
    pthread_mutex_t lock;
    struct mr_str keys[MOST];
    size_t count;
    int opened, closed, looks, sends;
    int fail_before, fail_after,
        fail_end; /* so many sends arrive not at all; arrive and are not confirmed; questions fail */
    int busy;     /* so many times brokers are waited for */
} kafka = {.lock = PTHREAD_MUTEX_INITIALIZER};

static enum mr_status fake_settings(const struct mr_config *c, struct mr_error *err)
{
    (void)c, (void)err;
    return MR_OK;
}

static enum mr_status fake_open(const struct mr_config *c, bool (*is_over)(const void *ctx), const void *ctx,
                                struct mr_producer **out, struct mr_error *err)
{
    (void)c, (void)is_over, (void)ctx, (void)err;
    *out = mr_xcalloc(1, 1);
    kafka.opened++;
    return MR_OK;
}

static void fake_close(struct mr_producer *producer)
{
    kafka.closed += producer != NULL;
    mr_xfree(producer);
}

static enum mr_status fake_end(struct mr_producer *producer, int timeout_ms, int64_t *offset,
                               struct mr_error *err)
{
    (void)producer, (void)timeout_ms;
    if (kafka.fail_end-- > 0)
        return mr_fail(err, MR_E_CONFIG, "no such topic");
    *offset = (int64_t)kafka.count;
    return MR_OK;
}

static enum mr_status fake_look(struct mr_producer *producer, int64_t from, int timeout_ms, mr_producer_fn fn,
                                void *ctx, struct mr_error *err)
{
    (void)producer, (void)timeout_ms;
    kafka.looks++;
    for (size_t i = (size_t)from; i < kafka.count; i++)
        MR_TRY(fn(ctx, kafka.keys[i], (int64_t)i, err));
    return MR_OK;
}

static void arrive(struct mr_str key)
{
    assert_true(kafka.count < MOST);
    kafka.keys[kafka.count++] = mr_str_of(mr_xstrndup(key.ptr, key.len), key.len);
}

static enum mr_status fake_send(struct mr_producer *producer, const struct mr_producer_message *messages,
                                size_t count, struct mr_error *err)
{
    (void)producer, (void)err;
    kafka.sends++;
    bool is_lost = kafka.fail_before > 0, is_half = !is_lost && kafka.fail_after > 0;
    for (size_t i = 0; !is_lost && i < (is_half ? (count + 1) / 2 : count); i++)
        arrive(messages[i].key);
    return MR_OK;
}

/* Of what is not confirmed the half has arrived: the first ones, since order is kept. */
static enum mr_status fake_await(struct mr_producer *producer, int timeout_ms, int64_t *next,
                                 struct mr_error *err)
{
    (void)producer;
    if (kafka.busy-- > 0) {
        mr_sleep_ms(timeout_ms);
        return mr_fail(err, MR_E_BUSY, "not yet");
    }
    if (kafka.fail_before > 0) {
        kafka.fail_before--;
        return mr_fail(err, MR_E_ENV, "nothing arrived");
    }
    if (kafka.fail_after > 0) {
        kafka.fail_after--;
        return mr_fail(err, MR_E_ENV, "no confirmation");
    }
    *next = (int64_t)kafka.count;
    return MR_OK;
}

static const struct mr_producer_ops fake = {
    .check_settings = fake_settings,
    .open = fake_open,
    .end = fake_end,
    .look = fake_look,
    .send = fake_send,
    .await = fake_await,
    .close = fake_close,
};

/* ---- the target ---- */

static struct mr_sink *connect_sink(void)
{
    struct mr_sink *out = NULL;
    struct mr_sink_options opt = {.cfg = &cfg, .application_z = "test"};
    OK(mr_sink_sqlite.connect(&opt, &out, &err));
    return out;
}

static int setup(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/millrace-status-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    snprintf(url, sizeof(url), "sqlite:%s/shop.v2.db", dir);
    datamart[0] = 0;
    cfg = (struct mr_config){.target_url = url,
                             .control_schema = empty,
                             .appliers = 1,
                             .status_topic = topic,
                             .status_datamart = datamart,
                             .status_write_operations = true,
                             .status_takeover_ms = 1000};
    control = connect_sink();
    OK(control->ops->prepare_control(control, &err));
    kafka.count = 0;
    kafka.opened = kafka.closed = kafka.looks = kafka.sends = 0;
    kafka.fail_before = kafka.fail_after = kafka.fail_end = kafka.busy = 0;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    char command[128];
    mr_sink_sqlite.destroy(control);
    assert_int_equal(kafka.opened, kafka.closed);
    for (size_t i = 0; i < kafka.count; i++)
        mr_xfree((void *)kafka.keys[i].ptr);
    snprintf(command, sizeof(command), "rm -rf '%s'", dir);
    return system(command);
}

/* Events "from" … "to - 1", by their numbers. */
static void put(size_t from, size_t to)
{
    char texts[MOST][16];
    struct mr_status_waiting events[MOST];
    for (size_t i = from; i < to; i++) {
        snprintf(texts[i - from], sizeof(texts[0]), "%zu", i);
        struct mr_str text = mr_str_z(texts[i - from]);
        events[i - from] = (struct mr_status_waiting){.event_id = text, .key = text, .value = text};
    }
    OK(mr_control_status_add(control, TOPIC, events, to - from, &err));
}

static enum mr_status on_count(void *ctx, struct mr_str name, int64_t count, int64_t oldest_us,
                               struct mr_error *err)
{
    (void)err;
    assert_true(mr_str_eq(name, TOPIC));
    assert_true(oldest_us > 0);
    *(int64_t *)ctx = count;
    return MR_OK;
}

static int64_t waiting(void)
{
    int64_t count = 0;
    OK(mr_control_status_count(control, on_count, &count, &err));
    return count;
}

/* The topic holds just these numbers, in order. */
static void assert_topic(size_t count)
{
    assert_int_equal(kafka.count, count);
    for (size_t i = 0; i < count; i++) {
        int64_t number;
        assert_true(mr_parse_int64(kafka.keys[i], &number));
        assert_int_equal(number, i);
    }
}

static bool send_all(void)
{
    struct mr_status_sender *sender = mr_status_sender_start(&cfg, &mr_sink_sqlite, &fake);
    return mr_status_sender_finish(sender, mr_monotonic_ms() + 10000, true);
}

/* ---- sending ---- */

static void test_everything_is_sent_once_and_in_order(void **state)
{
    (void)state;
    put(0, 1203);
    assert_true(send_all());
    assert_topic(1203);
    assert_int_equal(waiting(), 0);
    put(1203, 1204);
    assert_true(send_all());
    assert_topic(1204);
}

static void test_what_arrived_without_a_confirmation_is_not_sent_again(void **state)
{
    (void)state;
    put(0, 1203);
    kafka.fail_after = 2;
    assert_true(send_all());
    assert_topic(1203);
    assert_int_equal(waiting(), 0);
    assert_true(kafka.opened >= 3); /* a producer that failed is not used again */
}

static void test_what_did_not_arrive_is_sent_again(void **state)
{
    (void)state;
    put(0, 10);
    kafka.fail_before = 2;
    assert_true(send_all());
    assert_topic(10);
}

static void test_brokers_that_take_longer_than_the_lease_are_waited_for_by_the_one_who_sent(void **state)
{
    (void)state;
    bool is_ours = false;
    int64_t sent_from = 0;
    put(0, 10);
    kafka.busy = 12; /* eighths of the lease */
    struct mr_status_sender *sender = mr_status_sender_start(&cfg, &mr_sink_sqlite, &fake);
    mr_sleep_ms(1300);
    OK(mr_control_status_lease(control, TOPIC, MR_STR("other"), 1000, &is_ours, &sent_from, &err));
    assert_false(is_ours);
    assert_int_equal(waiting(), 10);
    assert_true(mr_status_sender_finish(sender, mr_monotonic_ms() + 10000, true));
    assert_topic(10);
    assert_int_equal(kafka.sends, 1);
    assert_int_equal(kafka.opened, 1);
}

static void test_a_topic_that_is_not_there_yet_is_waited_for(void **state)
{
    (void)state;
    put(0, 3);
    kafka.fail_end = 2;
    assert_true(send_all());
    assert_topic(3);
}

/* Another instance was killed between sending and marking. A long stretch of others' messages follows. */
static void test_whoever_takes_over_looks_for_what_has_been_sent(void **state)
{
    (void)state;
    bool is_ours = false;
    int64_t sent_from = 0;
    put(0, 5);
    OK(mr_control_status_lease(control, TOPIC, MR_STR("gone"), 1, &is_ours, &sent_from, &err));
    assert_true(is_ours && sent_from == -1);
    OK(mr_control_status_sent_from(control, TOPIC, MR_STR("gone"), 0, &err));
    for (int i = 0; i < 3; i++) {
        char text[16];
        snprintf(text, sizeof(text), "%d", i);
        arrive(mr_str_z(text));
    }
    for (int i = 0; i < 1500; i++)
        arrive(MR_STR("of somebody else"));
    assert_true(send_all());
    assert_int_equal(kafka.count, 3 + 1500 + 2);
    assert_true(mr_str_eq(kafka.keys[1503], MR_STR("3")) && mr_str_eq(kafka.keys[1504], MR_STR("4")));
    assert_int_equal(waiting(), 0);
}

static void test_while_another_instance_has_the_lease_nothing_is_sent(void **state)
{
    (void)state;
    bool is_ours = false;
    int64_t sent_from = 0;
    put(0, 5);
    OK(mr_control_status_lease(control, TOPIC, MR_STR("other"), 3600000, &is_ours, &sent_from, &err));
    struct mr_status_sender *sender = mr_status_sender_start(&cfg, &mr_sink_sqlite, &fake);
    assert_true(
        mr_status_sender_finish(sender, mr_monotonic_ms() + 10000, false)); /* the other one will send them */
    assert_topic(0);
    assert_int_equal(waiting(), 5);
    OK(mr_control_status_lease(control, TOPIC, MR_STR("third"), 1000, &is_ours, &sent_from, &err));
    assert_false(is_ours);
    struct mr_error refusal = {0};
    assert_int_equal(mr_control_status_sent_from(control, TOPIC, MR_STR("third"), 7, &refusal), MR_E_FENCED);
    OK(mr_control_status_release(control, TOPIC, MR_STR("other"), &err));
    assert_true(send_all());
    assert_topic(5);
}

static void test_a_topic_that_does_not_answer_fills_the_outbox_up_to_its_limit(void **state)
{
    (void)state;
    cfg.status_max_pending = 4;
    kafka.fail_end = 1000;
    put(0, 3);
    struct mr_status_sender *sender = mr_status_sender_start(&cfg, &mr_sink_sqlite, &fake);
    for (int i = 0; i < 1000 && !mr_status_sender_is_full(sender); i++) {
        mr_sleep_ms(5);
        if (i == 20)
            mr_status_sender_wake(sender, 3);
    }
    assert_true(mr_status_sender_is_full(sender));
    assert_true(mr_status_sender_finish(sender, mr_monotonic_ms() + 50, true));
    assert_topic(0);
    assert_int_equal(waiting(), 3);
}

/* ---- what is told ---- */

struct told {
    struct mr_arena *ar;
    struct mr_status_waiting *events;
    size_t count;
};

static struct told read_outbox(void)
{
    struct told told = {.ar = mr_arena_create(0)};
    OK(mr_control_status_waiting(control, TOPIC, 100, told.ar, &told.events, &told.count, &err));
    return told;
}

static void assert_told(const struct told *told, size_t i, const char *event_z, const char *datamart_z,
                        const char *value_z)
{
    char want[128];
    assert_true(i < told->count);
    snprintf(want, sizeof(want), "{\"datamart\":\"%s\"", datamart_z);
    assert_true(mr_str_starts(told->events[i].key, mr_str_z(want)));
    snprintf(want, sizeof(want), "\"event\":\"%s\"", event_z);
    assert_non_null(memmem(told->events[i].key.ptr, told->events[i].key.len, want, strlen(want)));
    assert_non_null(
        memmem(told->events[i].key.ptr, told->events[i].key.len, told->events[i].event_id.ptr, 36));
    assert_true(mr_str_starts(told->events[i].value, mr_str_z(value_z)));
}

static struct mr_table *table(const char *schema_z, const char *name_z)
{
    struct mr_table *tbl = mr_table_create(mr_str_z(schema_z), mr_str_z(name_z));
    return tbl;
}

static void tell(const struct mr_job *job)
{
    OK(control->ops->begin(control, &err));
    OK(mr_status_delta_closed(control, &cfg, job, &err));
    OK(control->ops->commit(control, &err));
}

static void test_each_datamart_has_its_delta_and_each_table_one_write(void **state)
{
    (void)state;
    struct mr_table *b = table("b", "x"), *a = table("a", "y"), *none = table("a", "z");
    struct mr_job_table tables[] = {
        {.rows = {.tbl = b, .row_count = 2}, .done_us = 1},
        {.rows = {.tbl = a, .row_count = 3}, .refused = 3},
        {.rows = {.tbl = none, .truncate_first = true}, .truncate_refused = true},
        {.rows = {.tbl = b, .row_count = 1},
         .refused = 1,
         .done_us = 1000000}, /* a second part of the table */
    };
    struct mr_job job = {.tables = tables, .table_count = 4, .began_us = 0};
    tell(&job);
    tell(&job);
    struct told told = read_outbox();
    assert_int_equal(told.count, 14);
    assert_told(&told, 0, "DELTA_OPEN", "a", "{\"deltaNum\":0}");
    assert_told(&told, 1, "WRITE_CANCEL", "a", "{\"entity\":\"y\",\"cn\":0}");
    assert_told(&told, 2, "WRITE_CANCEL", "a", "{\"entity\":\"z\",\"cn\":1}"); /* its truncate was refused */
    assert_told(&told, 3, "DELTA_CLOSE", "a", "{\"deltaNum\":0,\"deltaDate\":\"");
    assert_told(&told, 4, "DELTA_OPEN", "b", "{\"deltaNum\":0}");
    assert_told(&told, 5, "WRITE_OK", "b",
                "{\"entity\":\"x\",\"cn\":0,\"ts\":\"1970-01-01 00:00:01.000000\"");
    assert_told(&told, 6, "DELTA_CLOSE", "b", "{\"deltaNum\":0,");
    assert_told(&told, 12, "WRITE_OK", "b", "{\"entity\":\"x\",\"cn\":1,");
    assert_told(&told, 13, "DELTA_CLOSE", "b", "{\"deltaNum\":1,");
    mr_arena_destroy(told.ar);
    mr_table_unref(a);
    mr_table_unref(b);
    mr_table_unref(none);
}

static void test_a_cancelled_delta_tells_the_tables_that_it_came_to(void **state)
{
    (void)state;
    struct mr_table *one = table("", "one"), *two = table("", "two");
    struct mr_job_table tables[] = {{.rows = {.tbl = one, .row_count = 2}},
                                    {.rows = {.tbl = two, .row_count = 3}}};
    struct mr_job job = {.tables = tables, .table_count = 2, .reached = 1};
    mr_status_delta_cancelled(control, &cfg, &job);
    job.reached = 0; /* nothing had been begun */
    mr_status_delta_cancelled(control, &cfg, &job);
    cfg.status_write_operations = false;
    tell(&job);
    struct told told = read_outbox();
    assert_int_equal(told.count, 5);
    assert_told(&told, 0, "DELTA_OPEN", "shop.v2", "{\"deltaNum\":0}"); /* the file's name */
    assert_told(&told, 1, "WRITE_CANCEL", "shop.v2", "{\"entity\":\"one\",\"cn\":0}");
    assert_told(&told, 2, "DELTA_CANCEL", "shop.v2", "{\"deltaNum\":0}");
    assert_told(&told, 3, "DELTA_OPEN", "shop.v2", "{\"deltaNum\":1}");
    assert_told(&told, 4, "DELTA_CLOSE", "shop.v2", "{\"deltaNum\":1,");
    mr_arena_destroy(told.ar);
    mr_table_unref(one);
    mr_table_unref(two);
}

static void test_a_transaction_without_rows_is_no_delta(void **state)
{
    (void)state;
    struct mr_job job = {.table_count = 0};
    tell(&job);
    assert_int_equal(waiting(), 0);
}

static void test_events_of_a_transaction_that_is_rolled_back_are_gone_with_their_numbers(void **state)
{
    (void)state;
    struct mr_table *one = table("", "one");
    struct mr_job_table tables[] = {{.rows = {.tbl = one, .row_count = 2}}};
    struct mr_job job = {.tables = tables, .table_count = 1};
    snprintf(datamart, sizeof(datamart), "m\"1");
    OK(control->ops->begin(control, &err));
    OK(mr_status_delta_closed(control, &cfg, &job, &err));
    OK(mr_status_schema_changed(control, &cfg, MR_STATUS_TABLE_CREATED, MR_STR("s"), MR_STR("t"), &err));
    control->ops->rollback(control);
    assert_int_equal(waiting(), 0);
    tell(&job);
    struct told told = read_outbox();
    assert_int_equal(told.count, 3);
    assert_told(&told, 0, "DELTA_OPEN", "m\\\"1", "{\"deltaNum\":0}");
    mr_arena_destroy(told.ar);
    mr_table_unref(one);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_everything_is_sent_once_and_in_order),
        TEST(test_what_arrived_without_a_confirmation_is_not_sent_again),
        TEST(test_what_did_not_arrive_is_sent_again),
        TEST(test_brokers_that_take_longer_than_the_lease_are_waited_for_by_the_one_who_sent),
        TEST(test_a_topic_that_is_not_there_yet_is_waited_for),
        TEST(test_whoever_takes_over_looks_for_what_has_been_sent),
        TEST(test_while_another_instance_has_the_lease_nothing_is_sent),
        TEST(test_a_topic_that_does_not_answer_fills_the_outbox_up_to_its_limit),
        TEST(test_each_datamart_has_its_delta_and_each_table_one_write),
        TEST(test_a_cancelled_delta_tells_the_tables_that_it_came_to),
        TEST(test_a_transaction_without_rows_is_no_delta),
        TEST(test_events_of_a_transaction_that_is_rolled_back_are_gone_with_their_numbers),
    };
    mr_log_setup(MR_LOG_ERROR, MR_LOG_LOGFMT, false);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
