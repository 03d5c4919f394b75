/* The Kafka source in its consumer group: instances come and go, pause, seek, are fenced; nothing is lost, nothing comes twice. */
#include "kafka_run.h"

#include <librdkafka/rdkafka.h>

/* ---- Tests: the group ---- */

#define PARTITIONS 8
#define INSTANCES 3

struct crowd {
    struct target *tg;
    const char *topic_z, *strategy_z;
    struct run *runs[INSTANCES];
    uint64_t sent;
};

static void crowd_join(struct crowd *cr, int i)
{
    cr->runs[i] = run_create(cr->tg, cr->topic_z);
    run_set(cr->runs[i], "partition.assignment.strategy", cr->strategy_z);
    run_set(cr->runs[i], "heartbeat.interval.ms", "200");
    run_start(cr->runs[i], false);
}

static void crowd_leave(struct crowd *cr, int i)
{
    run_end(cr->runs[i]);
    cr->runs[i] = NULL;
}

/* Records go on arriving while all poll, until the partitions are shared out among all, and a little longer. */
static void crowd_work(struct crowd *cr)
{
    int64_t deadline = mr_monotonic_ms() + 30000;
    int after = 0;

    while (after < 10) {
        size_t owned = 0;
        bool all_have = true;

        assert_true(mr_monotonic_ms() < deadline);
        for (int n = 0; n < 5 * PARTITIONS; n++, cr->sent++)
            test_producer_send(producer, cr->topic_z, (int)(cr->sent % PARTITIONS), NULL, "x");
        for (int i = 0; i < INSTANCES; i++) {
            if (!cr->runs[i])
                continue;
            assert_int_equal(run_poll(cr->runs[i], 20), MR_OK);
            owned += cr->runs[i]->owned;
            all_have = all_have && cr->runs[i]->owned > 0;
        }
        after += owned == PARTITIONS && all_have;
    }
}

/* Several instances take turns on one thread; they come and go. Every record is taken once, by whoever had its partition. How many partitions
 * were taken away as "lost" is not looked at: a client that stood still for a second while the group moved on loses what it has (the broker
 * answers its heartbeat with ILLEGAL_GENERATION), and then, too, nothing may be missing and nothing may come twice. */
static void instances_share(const char *strategy_z)
{
    struct crowd cr = {target_create(), new_topic(PARTITIONS), strategy_z, {NULL}, 0};
    struct run *last;

    crowd_join(&cr, 0);
    crowd_work(&cr);
    crowd_join(&cr, 1);
    crowd_work(&cr);
    crowd_join(&cr, 2);
    crowd_work(&cr);
    crowd_leave(&cr, 0);
    crowd_work(&cr);
    crowd_join(&cr, 0);
    crowd_work(&cr);
    crowd_leave(&cr, 2);
    crowd_leave(&cr, 0);
    crowd_work(&cr);

    last = cr.runs[1];
    test_producer_flush(producer);
    assert_int_equal(run_until(last, last->records + cr.sent - cr.tg->records), MR_OK);
    assert_int_equal(cr.tg->records, cr.sent);
    assert_int_equal(last->owned, PARTITIONS);
    for (int p = 0; p < PARTITIONS; p++) {
        assert_int_equal(slot_of(cr.tg, cr.topic_z, p)->seen, cr.sent / PARTITIONS);
        assert_int_equal(slot_of(cr.tg, cr.topic_z, p)->position, cr.sent / PARTITIONS);
    }
    crowd_leave(&cr, 1);
    target_destroy(cr.tg);
}

static void test_instances_share_a_topic_eagerly(void **state)
{
    (void)state;
    instances_share("range,roundrobin");
}

static void test_instances_share_a_topic_cooperatively(void **state)
{
    (void)state;
    instances_share("cooperative-sticky");
}

static void test_leaving_hands_over_at_once(void **state)
{
    const char *topic_z = new_topic(2);
    struct target *tg = target_create();
    struct run *one = run_create(tg, topic_z), *two;
    int64_t start;
    (void)state;

    run_start(one, false);
    while (one->owned < 2)
        assert_int_equal(run_poll(one, 100), MR_OK);
    start = mr_monotonic_ms();
    run_end(one);
    assert_null(slot_of(tg, topic_z, 0)->owner); /* the listener was told */
    assert_null(slot_of(tg, topic_z, 1)->owner);
    two = run_create(tg, topic_z);
    run_start(two, false);
    while (two->owned < 2 && mr_monotonic_ms() - start < 20000)
        assert_int_equal(run_poll(two, 100), MR_OK);
    assert_int_equal(two->owned, 2);
    assert_in_range(mr_monotonic_ms() - start, 0, 10000); /* the session would last 45 s */
    run_end(two);
    target_destroy(tg);
}

static void test_slow_instance_loses_its_partitions_and_is_told_so(void **state)
{
    const char *topic_z = new_topic(1);
    struct target *tg = target_create();
    struct run *r = run_create(tg, topic_z);
    int64_t deadline;
    (void)state;

    run_set(r, "session.timeout.ms", "2000");
    run_set(r, "heartbeat.interval.ms", "200");
    run_set(r, "max.poll.interval.ms", "2000");
    send_numbered(topic_z, 0, 0, 3);
    run_start(r, false);
    assert_int_equal(run_until(r, 3), MR_OK);
    mr_sleep_ms(3500);
    deadline = mr_monotonic_ms() + 20000;
    while (r->lost == 0 && mr_monotonic_ms() < deadline)
        assert_int_equal(run_poll(r, 100), MR_OK);
    assert_int_equal(r->lost, 1);
    /* and it comes back */
    send_numbered(topic_z, 0, 3, 3);
    assert_int_equal(run_until(r, 6), MR_OK);
    assert_string_equal(mr_buf_z(&r->seen), "0\n1\n2\n3\n4\n5\n");
    run_end(r);
    target_destroy(tg);
}

static void test_topic_that_appears_later_is_read(void **state)
{
    const char *topic_z = new_topic(0);
    struct target *tg = target_create();
    struct run *r = run_create(tg, topic_z);
    (void)state;

    run_set(r, "topic.metadata.refresh.interval.ms", "300");
    run_start(r, false);
    for (int i = 0; i < 10; i++)
        assert_int_equal(run_poll(r, 100), MR_OK);
    test_kafka_create_topic(bootstrap_z, topic_z, 1);
    send_numbered(topic_z, 0, 0, 3);
    assert_int_equal(run_until(r, 3), MR_OK);
    test_kafka_add_partitions(bootstrap_z, topic_z, 2);
    send_numbered(topic_z, 1, 10, 3);
    assert_int_equal(run_until(r, 6), MR_OK);
    run_end(r);
    target_destroy(tg);
}

static void test_group_sees_our_offsets(void **state)
{
    const char *topic_z = new_topic(1);
    struct target *tg = target_create();
    struct run *r = run_create(tg, topic_z);
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_t *rk;
    char text[256];
    (void)state;

    send_numbered(topic_z, 0, 0, 10);
    run_start(r, false);
    assert_int_equal(run_until(r, 10), MR_OK);
    run_end(r);

    rd_kafka_conf_set(conf, "bootstrap.servers", bootstrap_z, text, sizeof(text));
    rd_kafka_conf_set(conf, "group.id", topic_z, text, sizeof(text));
    rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, text, sizeof(text));
    assert_non_null(rk);
    rd_kafka_topic_partition_list_add(list, topic_z, 0);
    assert_int_equal(rd_kafka_committed(rk, list, 10000), RD_KAFKA_RESP_ERR_NO_ERROR);
    assert_int_equal(list->elems[0].offset, 10);
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_destroy(rk);
    target_destroy(tg);
}

static void test_failed_assignment_is_given_up_and_asked_for_again(void **state)
{
    const char *topic_z = new_topic(1);
    struct target *tg = target_create();
    struct run *r = run_create(tg, topic_z);
    enum mr_status status = MR_OK;
    (void)state;

    send_numbered(topic_z, 0, 0, 10);
    r->failures = 1;
    run_start(r, false);
    while (status == MR_OK && r->assigned_calls == 0)
        status = run_poll(r, 100);
    assert_int_equal(status, MR_E_ENV);
    assert_contains(r->err.message, "the target is away");
    assert_int_equal(r->records, 0);
    assert_int_equal(run_until(r, 10), MR_OK);
    assert_int_equal(r->assigned_calls, 2);
    run_end(r);
    target_destroy(tg);
}

/* ---- Tests: steering ---- */

static void test_pause_gives_nothing_and_loses_nothing(void **state)
{
    const char *topic_z = new_topic(2);
    struct target *tg = target_create();
    struct run *r = run_create(tg, topic_z);
    (void)state;

    send_numbered(topic_z, 0, 0, 2000);
    send_numbered(topic_z, 1, 0, 2000);
    run_start(r, false);
    for (int round = 0; round < 8; round++) {
        uint64_t before;
        struct mr_record none[1];
        size_t count;

        while (run_poll(r, 100) == MR_OK && r->records < (uint64_t)(round + 1) * 400)
            continue;
        before = r->records;
        ops->pause(r->src);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(run_poll(r, 20), MR_OK);
            assert_int_equal(ops->poll(r->src, r->ar, none, 0, 0, 20, &count, &r->state, &r->err), MR_OK);
            assert_int_equal(count, 0);
        }
        assert_int_equal(r->records, before);
        ops->resume(r->src);
    }
    assert_int_equal(run_until(r, 4000), MR_OK);
    assert_int_equal(slot_of(tg, topic_z, 0)->seen, 2000);
    assert_int_equal(slot_of(tg, topic_z, 1)->seen, 2000);
    run_end(r);
    target_destroy(tg);
}

static void test_assignment_while_paused_stays_paused(void **state)
{
    const char *topic_z = new_topic(1);
    struct target *tg = target_create();
    struct run *r = run_create(tg, topic_z);
    (void)state;

    send_numbered(topic_z, 0, 0, 10);
    run_start(r, false);
    ops->pause(r->src);
    while (r->owned == 0)
        assert_int_equal(run_poll(r, 100), MR_OK);
    for (int i = 0; i < 10; i++)
        assert_int_equal(run_poll(r, 100), MR_OK);
    assert_int_equal(r->records, 0);
    ops->resume(r->src);
    assert_int_equal(run_until(r, 10), MR_OK);
    run_end(r);
    target_destroy(tg);
}

static void test_seek_reads_again(void **state)
{
    const char *topic_z = new_topic(1);
    struct target *tg = target_create();
    struct run *r = run_create(tg, topic_z);
    (void)state;

    send_numbered(topic_z, 0, 0, 5);
    run_start(r, true);
    assert_int_equal(run_until(r, UINT64_MAX), MR_OK);
    assert_int_equal(r->records, 5);
    slot_of(tg, topic_z, 0)->position = 3;
    assert_int_equal(ops->seek(r->src, r->parts[0], 3, &r->err), MR_OK);
    assert_int_equal(run_until(r, UINT64_MAX), MR_OK);
    assert_string_equal(mr_buf_z(&r->seen), "0\n1\n2\n3\n4\n3\n4\n");
    run_end(r);
    target_destroy(tg);
}

static void test_dropped_partition_is_not_read(void **state)
{
    const char *topic_z = new_topic(2);
    struct target *tg = target_create();
    struct run *r = run_create(tg, topic_z);
    (void)state;

    run_start(r, false);
    while (r->owned < 2)
        assert_int_equal(run_poll(r, 100), MR_OK);
    for (size_t i = 0; i < 2; i++)
        if (r->parts[i]->partition == 0)
            ops->drop(r->src, r->parts[i]);
    send_numbered(topic_z, 0, 0, 5);
    send_numbered(topic_z, 1, 0, 5);
    assert_int_equal(run_until(r, 5), MR_OK);
    for (int i = 0; i < 10; i++)
        assert_int_equal(run_poll(r, 50), MR_OK);
    assert_int_equal(slot_of(tg, topic_z, 0)->seen, 0);
    assert_int_equal(slot_of(tg, topic_z, 1)->seen, 5);
    run_end(r);
    target_destroy(tg);
}

static void test_lag_comes_from_the_statistics(void **state)
{
    const char *topic_z = new_topic(1);
    struct target *tg = target_create();
    struct run *r = run_create(tg, topic_z);
    struct mr_lag lag[2];
    int64_t deadline = mr_monotonic_ms() + 20000;
    (void)state;

    send_numbered(topic_z, 0, 0, 10);
    run_start(r, false);
    assert_int_equal(run_until(r, 10), MR_OK);
    do {
        assert_int_equal(run_poll(r, 100), MR_OK);
        assert_int_equal(ops->lag(r->src, lag, 2), 1);
    } while (lag[0].end != 10 && mr_monotonic_ms() < deadline);
    assert_int_equal(lag[0].position, 10);
    assert_int_equal(lag[0].end, 10);
    run_end(r);
    target_destroy(tg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_instances_share_a_topic_eagerly),
        cmocka_unit_test(test_instances_share_a_topic_cooperatively),
        cmocka_unit_test(test_leaving_hands_over_at_once),
        cmocka_unit_test(test_slow_instance_loses_its_partitions_and_is_told_so),
        cmocka_unit_test(test_topic_that_appears_later_is_read),
        cmocka_unit_test(test_group_sees_our_offsets),
        cmocka_unit_test(test_failed_assignment_is_given_up_and_asked_for_again),
        cmocka_unit_test(test_pause_gives_nothing_and_loses_nothing),
        cmocka_unit_test(test_assignment_while_paused_stays_paused),
        cmocka_unit_test(test_seek_reads_again),
        cmocka_unit_test(test_dropped_partition_is_not_read),
        cmocka_unit_test(test_lag_comes_from_the_statistics),
    };

    return cmocka_run_group_tests(tests, kafka_setup, kafka_teardown);
}
