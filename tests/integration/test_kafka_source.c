/* The Kafka source against a real broker: what records hold, where reading begins and ends, what is refused. */
#include "kafka_run.h"

/* ---- Tests: records ---- */

static void test_record_arrives_with_all_its_parts(void **state)
{
    const char *topic_z = new_topic(1);
    struct target *tg = target_create();
    struct run *r = run_create(tg, topic_z);
    struct mr_record recs[4];
    size_t count = 0, got = 0;
    (void)state;

    test_producer_send_headers(producer, topic_z, 0, "k1", "v1", "h", "x", "n");
    test_producer_send(producer, topic_z, 0, NULL, NULL);
    test_producer_send(producer, topic_z, 0, "", "");
    test_producer_flush(producer);
    run_start(r, false);
    for (int i = 0; i < 100 && got < 3; i++) {
        assert_int_equal(ops->poll(r->src, r->ar, recs + got, 4 - got, 1 << 20, 200, &count, &r->state,
                                   &r->err),
                         MR_OK);
        got += count;
    }
    assert_int_equal(got, 3);
    assert_str(recs[0].topic, topic_z);
    assert_string_equal(recs[0].part->topic_z, topic_z);
    assert_int_equal(recs[0].partition, 0);
    assert_int_equal(recs[0].offset, 0);
    assert_int_equal(recs[0].position, 1);
    assert_in_range(recs[0].timestamp_ms, mr_now_us() / 1000 - 60000, mr_now_us() / 1000 + 60000);
    assert_str(recs[0].key, "k1");
    assert_str(recs[0].value, "v1");
    assert_false(recs[0].is_bare);
    assert_null(recs[0].broken_code);
    assert_int_equal(recs[0].header_count, 2);
    assert_str(recs[0].headers[0].name, "h");
    assert_str(recs[0].headers[0].value, "x");
    assert_false(recs[0].headers[0].is_null);
    assert_str(recs[0].headers[1].name, "n");
    assert_true(recs[0].headers[1].is_null);
    assert_false(recs[1].has_key);
    assert_false(recs[1].has_value);
    assert_int_equal(recs[1].header_count, 0);
    assert_true(recs[2].has_key);
    assert_true(recs[2].has_value);
    assert_int_equal(recs[2].key.len, 0);
    assert_int_equal(recs[2].value.len, 0);
    ops->release(r->src, recs, got);
    run_end(r);
    target_destroy(tg);
}

static void test_poll_keeps_to_count_bytes_and_time(void **state)
{
    const char *topic_z = new_topic(1);
    struct target *tg = target_create();
    struct run *r = run_create(tg, topic_z);
    struct mr_record recs[100];
    size_t count;
    int64_t start;
    (void)state;

    send_numbered(topic_z, 0, 100, 100);
    run_start(r, false);
    do
        assert_int_equal(ops->poll(r->src, r->ar, recs, 7, 1 << 20, 200, &count, &r->state, &r->err), MR_OK);
    while (count == 0);
    assert_in_range(count, 1, 7);
    ops->release(r->src, recs, count);
    mr_sleep_ms(500);
    assert_int_equal(ops->poll(r->src, r->ar, recs, 100, 10, 200, &count, &r->state, &r->err), MR_OK);
    assert_in_range(count, 1, 4); /* of three bytes each */
    ops->release(r->src, recs, count);
    do {
        assert_int_equal(ops->poll(r->src, r->ar, recs, 100, 1 << 20, 300, &count, &r->state, &r->err), MR_OK);
        ops->release(r->src, recs, count);
    } while (count > 0);
    start = mr_monotonic_ms();
    assert_int_equal(ops->poll(r->src, r->ar, recs, 100, 1 << 20, 300, &count, &r->state, &r->err), MR_OK);
    assert_int_equal(r->state, MR_POLL_IDLE);
    assert_in_range(mr_monotonic_ms() - start, 250, 2000);
    run_end(r);
    target_destroy(tg);
}

/* ---- Tests: where reading begins ---- */

static void test_stored_position_beats_start_and_group(void **state)
{
    const char *topic_z = new_topic(2);
    struct target *tg = target_create();
    (void)state;

    send_numbered(topic_z, 0, 0, 10);
    send_numbered(topic_z, 1, 100, 10);
    slot_of(tg, topic_z, 0)->position = 7;
    for (int i = 0; i < 2; i++) { /* the second time the group has committed offsets, and they do not matter */
        struct run *r = run_create(tg, topic_z);

        run_start(r, false);
        assert_int_equal(run_until(r, 13), MR_OK);
        assert_int_equal(slot_of(tg, topic_z, 0)->seen, 3);
        assert_int_equal(slot_of(tg, topic_z, 1)->seen, 10);
        run_end(r);
        slot_of(tg, topic_z, 0)->position = 7;
        slot_of(tg, topic_z, 0)->seen = 0;
        slot_of(tg, topic_z, 1)->position = MR_POSITION_NONE;
        slot_of(tg, topic_z, 1)->seen = 0;
    }
    target_destroy(tg);
}

static void test_start_latest_and_start_time(void **state)
{
    const char *topic_z = new_topic(1);
    int64_t middle_ms;
    (void)state;

    send_numbered(topic_z, 0, 0, 5);
    mr_sleep_ms(50);
    middle_ms = mr_now_us() / 1000;
    mr_sleep_ms(50);
    send_numbered(topic_z, 0, 5, 5);

    for (int mode = 0; mode < 3; mode++) {
        struct target *tg = target_create();
        struct run *r = run_create(tg, topic_z);

        r->cfg.kafka_start = mode == 0 ? MR_START_LATEST : MR_START_TIME;
        r->cfg.kafka_start_ms = mode == 1 ? middle_ms : middle_ms + 3600000;
        run_start(r, false);
        while (r->owned == 0)
            assert_int_equal(run_poll(r, 100), MR_OK);
        /* To be stored: at another moment it would be another place. */
        assert_int_equal(slot_of(tg, topic_z, 0)->offered, mode == 1 ? 5 : 10);
        if (mode == 1) {
            assert_int_equal(run_until(r, 5), MR_OK);
            assert_string_equal(mr_buf_z(&r->seen), "5\n6\n7\n8\n9\n");
        } else {
            for (int i = 0; i < 10; i++)
                assert_int_equal(run_poll(r, 100), MR_OK);
            assert_int_equal(r->records, 0);
        }
        run_end(r);
        target_destroy(tg);
    }
}

/* ---- Tests: bounded ---- */

static void test_backfill_reads_to_the_present_end_and_no_further(void **state)
{
    const char *topic_z = new_topic(4);
    struct target *tg = target_create();
    struct run *r = run_create(tg, topic_z);
    struct mr_lag lag[8];
    (void)state;

    send_numbered(topic_z, 0, 0, 1000);
    send_numbered(topic_z, 2, 5000, 10); /* 1 and 3 are empty */
    run_start(r, true);
    while (r->records == 0)
        assert_int_equal(run_poll(r, 100), MR_OK);
    send_numbered(topic_z, 0, 1000, 500);
    send_numbered(topic_z, 1, 1, 5);
    assert_int_equal(run_until(r, UINT64_MAX), MR_OK);
    assert_int_equal(r->state, MR_POLL_END);
    assert_int_equal(slot_of(tg, topic_z, 0)->seen, 1000);
    assert_int_equal(slot_of(tg, topic_z, 1)->seen, 0);
    assert_int_equal(slot_of(tg, topic_z, 2)->seen, 10);
    assert_int_equal(r->assigned_calls, 1);
    assert_int_equal(r->owned, 4);
    assert_int_equal(ops->lag(r->src, lag, 8), 4);
    assert_int_equal(lag[0].position, 1000);
    assert_int_equal(lag[0].end, 1000);
    run_end(r);

    /* Once more: only what has come since. And once more: nothing. */
    for (int i = 0; i < 2; i++) {
        r = run_create(tg, topic_z);
        run_start(r, true);
        assert_int_equal(run_until(r, UINT64_MAX), MR_OK);
        assert_int_equal(r->records, i == 0 ? 505 : 0);
        run_end(r);
    }
    target_destroy(tg);
}

static void test_backfill_ends_after_aborted_and_before_open_transactions(void **state)
{
    const char *topic_z = new_topic(1);
    struct target *tg = target_create();
    struct run *r = run_create(tg, topic_z);
    struct test_producer *tx = test_producer_create(bootstrap_z, topic_z);
    (void)state;

    test_producer_begin(tx);
    test_producer_send(tx, topic_z, 0, NULL, "committed");
    test_producer_end(tx, true);
    test_producer_begin(tx);
    test_producer_send(tx, topic_z, 0, NULL, "aborted");
    test_producer_end(tx, false);
    run_start(r, true);
    assert_int_equal(run_until(r, UINT64_MAX), MR_OK);
    assert_string_equal(mr_buf_z(&r->seen), "committed\n");
    run_end(r);

    test_producer_begin(tx);
    test_producer_send(tx, topic_z, 0, NULL, "open");
    test_producer_flush(tx);
    r = run_create(tg, topic_z);
    run_start(r, true);
    assert_int_equal(run_until(r, UINT64_MAX), MR_OK);
    assert_int_equal(r->records, 0);
    run_end(r);

    test_producer_end(tx, true);
    r = run_create(tg, topic_z);
    run_start(r, true);
    assert_int_equal(run_until(r, UINT64_MAX), MR_OK);
    assert_string_equal(mr_buf_z(&r->seen), "open\n");
    run_end(r);
    test_producer_destroy(tx);
    target_destroy(tg);
}

static void test_backfill_of_a_pattern_takes_all_its_topics(void **state)
{
    const char *one_z = new_topic(1), *two_z = new_topic(2);
    struct target *tg = target_create();
    struct run *r = run_create(tg, one_z);
    char pattern[160];
    (void)state;

    send_numbered(one_z, 0, 1, 3);
    send_numbered(two_z, 1, 1, 4);
    snprintf(pattern, sizeof(pattern), "^(%s|%s)$", one_z, two_z);
    r->topics[0] = pattern;
    run_start(r, true);
    assert_int_equal(run_until(r, UINT64_MAX), MR_OK);
    assert_int_equal(r->records, 7);
    assert_int_equal(r->owned, 3);
    run_end(r);
    target_destroy(tg);
}

static void test_backfill_of_an_unknown_topic_names_the_nearest(void **state)
{
    const char *topic_z = new_topic(1);
    struct target *tg = target_create();
    char misspelt[80];
    struct run *r;
    (void)state;

    snprintf(misspelt, sizeof(misspelt), "%s", topic_z);
    misspelt[0] = 'x';
    r = run_create(tg, misspelt);
    run_start(r, true);
    assert_int_equal(run_until(r, UINT64_MAX), MR_E_CONFIG);
    assert_contains(r->err.message, misspelt);
    assert_contains(r->err.hint, topic_z);
    run_end(r);

    r = run_create(tg, "^no-topic-begins-like-this");
    run_start(r, true);
    assert_int_equal(run_until(r, UINT64_MAX), MR_E_CONFIG);
    assert_contains(r->err.message, "no topic matches");
    run_end(r);
    target_destroy(tg);
}

static void test_removed_records_are_an_error_not_a_gap(void **state)
{
    const char *topic_z = new_topic(1);
    struct target *tg = target_create();
    struct run *r = run_create(tg, topic_z);
    int64_t first, end;
    (void)state;

    send_numbered(topic_z, 0, 0, 20);
    test_kafka_delete_records(bootstrap_z, topic_z, 0, 15);
    slot_of(tg, topic_z, 0)->position = 5;
    run_start(r, true);
    assert_int_equal(run_until(r, UINT64_MAX), MR_E_CONFIG);
    assert_contains(r->err.message, "there are no records at offset 5");
    assert_int_equal(r->records, 0);
    assert_int_equal(ops->bounds(r->src, r->parts[0], &first, &end, &r->err), MR_OK);
    assert_int_equal(first, 15);
    assert_int_equal(end, 20);
    run_end(r);

    slot_of(tg, topic_z, 0)->position = MR_POSITION_NONE;
    r = run_create(tg, topic_z);
    run_start(r, true);
    assert_int_equal(run_until(r, UINT64_MAX), MR_OK);
    assert_int_equal(r->records, 5);
    run_end(r);
    target_destroy(tg);
}

/* ---- Tests: what is refused ---- */

static void assert_refused(const char *name_z, const char *value_z, const char *message_z)
{
    struct target *tg = target_create();
    struct run *r = run_create(tg, "never-read");

    run_set(r, name_z, value_z);
    assert_int_equal(ops->create(&r->cfg, false, &r->listener, &r->src, &r->err), MR_E_CONFIG);
    assert_contains(r->err.message, message_z);
    assert_contains(r->err.message, name_z);
    run_end(r);
    target_destroy(tg);
}

static void test_properties_pass_or_are_refused_with_a_reason(void **state)
{
    (void)state;

    assert_refused("fetch.mni.bytes", "1", "has no property");
    assert_refused("fetch.min.bytes", "many", "source.kafka.properties");
    assert_refused("enable.auto.commit", "true", "the position is kept in the target");
    assert_refused("group.id", "x", "set source.kafka.group instead");
    assert_refused("bootstrap.servers", "x", "set source.kafka.brokers instead");
    assert_refused("auto.offset.reset", "latest", "set source.kafka.start instead");
}

static void test_bad_pattern_is_refused(void **state)
{
    struct target *tg = target_create();
    struct run *r = run_create(tg, "^shop(");
    (void)state;

    assert_int_equal(ops->create(&r->cfg, false, &r->listener, &r->src, &r->err), MR_E_CONFIG);
    assert_contains(r->err.message, "\"^shop(\" is no regular expression");
    run_end(r);
    target_destroy(tg);
}

static void test_broker_that_is_not_there_is_waited_for(void **state)
{
    (void)state;

    for (int bounded = 0; bounded < 2; bounded++) {
        struct target *tg = target_create();
        struct run *r = run_create(tg, "t");
        enum mr_status status = MR_OK;
        int64_t start = mr_monotonic_ms();

        r->cfg.kafka_brokers = (char *)(uintptr_t) "127.0.0.1:1";
        run_start(r, bounded);
        while (status == MR_OK && mr_monotonic_ms() - start < 10000)
            status = run_poll(r, 100);
        assert_int_equal(status, MR_E_ENV);
        assert_contains(r->err.message, "Connection refused");
        /* and again, as long as it lasts */
        assert_int_equal(run_poll(r, 100), MR_E_ENV);
        start = mr_monotonic_ms();
        run_end(r);
        assert_in_range(mr_monotonic_ms() - start, 0, 5000);
        target_destroy(tg);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_record_arrives_with_all_its_parts),
        cmocka_unit_test(test_poll_keeps_to_count_bytes_and_time),
        cmocka_unit_test(test_stored_position_beats_start_and_group),
        cmocka_unit_test(test_start_latest_and_start_time),
        cmocka_unit_test(test_backfill_reads_to_the_present_end_and_no_further),
        cmocka_unit_test(test_backfill_ends_after_aborted_and_before_open_transactions),
        cmocka_unit_test(test_backfill_of_a_pattern_takes_all_its_topics),
        cmocka_unit_test(test_backfill_of_an_unknown_topic_names_the_nearest),
        cmocka_unit_test(test_removed_records_are_an_error_not_a_gap),
        cmocka_unit_test(test_properties_pass_or_are_refused_with_a_reason),
        cmocka_unit_test(test_bad_pattern_is_refused),
        cmocka_unit_test(test_broker_that_is_not_there_is_waited_for),
    };

    return cmocka_run_group_tests(tests, kafka_setup, kafka_teardown);
}
