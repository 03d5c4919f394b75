/* The Kafka source against a real broker, with a listener that remembers positions as the target does and checks that nobody reads what is
 * not his. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <millrace/base/buf.h>
#include <millrace/base/log.h>
#include <millrace/base/map.h>
#include <millrace/base/mem.h>
#include <millrace/base/time.h>
#include <millrace/source.h>

#include "kafka_admin.h"
#include "source/source_ops.h"

#include <librdkafka/rdkafka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BATCH 500

static const struct mr_source_ops *const ops = &mr_source_kafka;
static const char *bootstrap_z;
static struct test_producer *producer;

/* ---- The target: positions and owners of partitions ---- */

struct slot {
    int64_t position;   /* next to read, -1 none */
    const void *owner;  /* the run that has it */
    uint64_t seen;      /* records taken */
};

struct target {
    struct mr_map *slots; /* "topic/partition" → struct slot */
    uint64_t records;
};

static struct target *target_create(void)
{
    struct target *tg = mr_xcalloc(1, sizeof(*tg));

    tg->slots = mr_map_create();
    return tg;
}

static void target_destroy(struct target *tg)
{
    mr_map_destroy(tg->slots, mr_xfree);
    mr_xfree(tg);
}

static struct slot *slot_of(struct target *tg, const char *topic_z, int32_t partition)
{
    char name[300];
    struct slot *sl;

    snprintf(name, sizeof(name), "%s/%d", topic_z, (int)partition);
    sl = mr_map_get(tg->slots, mr_str_z(name));
    if (!sl) {
        sl = mr_xcalloc(1, sizeof(*sl));
        sl->position = MR_POSITION_NONE;
        mr_map_put(tg->slots, mr_str_z(name), sl);
    }
    return sl;
}

/* ---- A run of the source ---- */

struct run {
    struct target *tg;
    struct mr_config cfg;
    char *topics[4];
    struct mr_pair properties[8];
    struct mr_source_listener listener;
    struct mr_source *src;
    struct mr_arena *ar;
    struct mr_buf seen;       /* values of all records, one a line */
    const struct mr_partition *parts[32];
    size_t owned, assigned_calls, revoked, lost;
    int failures;             /* so many assignments the target refuses */
    uint64_t records;
    enum mr_poll_state state;
    struct mr_error err;
};

static enum mr_status on_assigned(void *ctx, const struct mr_partition *const *parts, size_t count,
                                  int64_t *position, struct mr_error *err)
{
    struct run *r = ctx;

    r->assigned_calls++;
    if (r->failures > 0) {
        r->failures--;
        return mr_fail(err, MR_E_ENV, "the target is away");
    }
    for (size_t i = 0; i < count; i++) {
        struct slot *sl = slot_of(r->tg, parts[i]->topic_z, parts[i]->partition);

        sl->owner = r; /* whoever had it is fenced */
        position[i] = sl->position;
        r->parts[parts[i]->index] = parts[i];
        r->owned++;
    }
    return MR_OK;
}

static void on_revoked(void *ctx, const struct mr_partition *const *parts, size_t count, bool lost)
{
    struct run *r = ctx;

    for (size_t i = 0; i < count; i++) {
        struct slot *sl = slot_of(r->tg, parts[i]->topic_z, parts[i]->partition);

        if (sl->owner == r)
            sl->owner = NULL;
        r->owned--;
        r->revoked++;
        r->lost += lost;
    }
}

static struct run *run_create(struct target *tg, const char *topic_z)
{
    struct run *r = mr_xcalloc(1, sizeof(*r));

    r->tg = tg;
    r->topics[0] = (char *)(uintptr_t)topic_z;
    r->cfg.kafka_brokers = (char *)(uintptr_t)bootstrap_z;
    r->cfg.kafka_topics = (struct mr_strings){r->topics, 1};
    r->cfg.kafka_group = (char *)(uintptr_t)topic_z; /* a group of its own for every test */
    r->cfg.kafka_properties.items = r->properties;
    r->listener = (struct mr_source_listener){r, on_assigned, on_revoked, NULL};
    r->ar = mr_arena_create(0);
    r->seen = MR_BUF_INIT((size_t)64 << 20);
    return r;
}

static void run_set(struct run *r, const char *name_z, const char *value_z)
{
    r->properties[r->cfg.kafka_properties.count++] =
        (struct mr_pair){(char *)(uintptr_t)name_z, (char *)(uintptr_t)value_z};
}

static void run_start(struct run *r, bool bounded)
{
    if (ops->create(&r->cfg, bounded, &r->listener, &r->src, &r->err) != MR_OK)
        fail_msg("%s", r->err.message);
}

/* Take records into the target. A record of a partition that somebody else has is fenced there, as in a real target; what is ours must be
 * the very next one. */
static void take(struct run *r, const struct mr_record *recs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct slot *sl = slot_of(r->tg, recs[i].part->topic_z, recs[i].part->partition);

        assert_int_equal(recs[i].position, recs[i].offset + 1);
        if (sl->owner != r)
            continue;
        if (sl->position >= 0 && recs[i].offset < sl->position)
            fail_msg("offset %lld of partition %d comes again", (long long)recs[i].offset,
                     (int)recs[i].partition);
        sl->position = recs[i].position;
        sl->seen++;
        r->tg->records++;
        r->records++;
        mr_buf_printf(&r->seen, "%.*s\n", MR_STR_FMT(recs[i].value));
        ops->commit(r->src, &recs[i].part, &recs[i].position, 1);
    }
}

static enum mr_status run_poll(struct run *r, int timeout_ms)
{
    struct mr_record *recs = mr_xcalloc(BATCH, sizeof(*recs));
    size_t count = 0;
    enum mr_status status =
        ops->poll(r->src, r->ar, recs, BATCH, 1 << 20, timeout_ms, &count, &r->state, &r->err);

    take(r, recs, count);
    ops->release(r->src, recs, count);
    mr_arena_reset(r->ar);
    mr_xfree(recs);
    return status;
}

/* Poll until so many records have come to this run, or the end. */
static enum mr_status run_until(struct run *r, uint64_t wanted)
{
    int64_t deadline = mr_monotonic_ms() + 30000;
    enum mr_status status = MR_OK;

    r->state = MR_POLL_MORE;
    while (status == MR_OK && r->state != MR_POLL_END && r->records < wanted) {
        if (mr_monotonic_ms() > deadline)
            fail_msg("%llu of %llu records after 30 s", (unsigned long long)r->records,
                     (unsigned long long)wanted);
        status = run_poll(r, 100);
    }
    return status;
}

static void run_end(struct run *r)
{
    if (r->src)
        ops->destroy(r->src);
    mr_arena_destroy(r->ar);
    mr_buf_free(&r->seen);
    mr_xfree(r);
}

/* ---- Topics ---- */

/* A name used only once: tests share the broker, and may be repeated. */
static const char *new_topic(int partitions)
{
    static char names[8][64];
    static int next;
    char *name = names[next++ % 8];

    snprintf(name, sizeof(names[0]), "src-%ld-%lld-%d", (long)getpid(),
             (long long)mr_monotonic_ms(), next);
    if (partitions > 0)
        test_kafka_create_topic(bootstrap_z, name, partitions);
    return name;
}

static void send_numbered(const char *topic_z, int partition, int first, int count)
{
    for (int i = 0; i < count; i++) {
        char value[32];

        snprintf(value, sizeof(value), "%d", first + i);
        test_producer_send(producer, topic_z, partition, NULL, value);
    }
    test_producer_flush(producer);
}

static void assert_str(struct mr_str s, const char *expected_z)
{
    if (!mr_str_eq_z(s, expected_z))
        fail_msg("\"%.*s\" instead of \"%s\"", MR_STR_FMT(s), expected_z);
}

static void assert_contains(const char *text_z, const char *part_z)
{
    if (!strstr(text_z, part_z))
        fail_msg("\"%s\" is not in \"%s\"", part_z, text_z);
}

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

/* ---- Tests: the group ---- */

#define PARTITIONS 8
#define INSTANCES 3

struct crowd {
    struct target *tg;
    const char *topic_z, *strategy_z;
    struct run *runs[INSTANCES];
    uint64_t sent;
    size_t lost;
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
    cr->lost += cr->runs[i]->lost;
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

/* Several instances take turns on one thread; they come and go. Every record is taken once, by whoever had its partition. */
static void instances_share(const char *strategy_z)
{
    struct crowd cr = {target_create(), new_topic(PARTITIONS), strategy_z, {NULL}, 0, 0};
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
    assert_int_equal(cr.lost, 0);
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

static int setup(void **state)
{
    (void)state;
    bootstrap_z = test_kafka_bootstrap();
    producer = test_producer_create(bootstrap_z, NULL);
    mr_log_setup(getenv("MILLRACE_TEST_LOG") ? MR_LOG_DEBUG : MR_LOG_ERROR, MR_LOG_LOGFMT, false);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    test_producer_destroy(producer);
    return 0;
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
        cmocka_unit_test(test_properties_pass_or_are_refused_with_a_reason),
        cmocka_unit_test(test_bad_pattern_is_refused),
        cmocka_unit_test(test_broker_that_is_not_there_is_waited_for),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
