/* A run of the Kafka source against the tests' broker, and a target that remembers positions and checks that nobody reads what is not his. */
#ifndef MILLRACE_TEST_KAFKA_RUN_H
#define MILLRACE_TEST_KAFKA_RUN_H

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
    int64_t offered;    /* where the source would begin */
};

struct target {
    struct mr_map *slots; /* "topic/partition" → struct slot */
    uint64_t records;
};

static inline struct target *target_create(void)
{
    struct target *tg = mr_xcalloc(1, sizeof(*tg));

    tg->slots = mr_map_create();
    return tg;
}

static inline void target_destroy(struct target *tg)
{
    mr_map_destroy(tg->slots, mr_xfree);
    mr_xfree(tg);
}

static inline struct slot *slot_of(struct target *tg, const char *topic_z, int32_t partition)
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

static inline enum mr_status on_assigned(void *ctx, const struct mr_partition *const *parts, size_t count,
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

        sl->offered = position[i];
        sl->owner = r; /* whoever had it is fenced */
        position[i] = sl->position;
        r->parts[parts[i]->index] = parts[i];
        r->owned++;
    }
    return MR_OK;
}

static inline void on_revoked(void *ctx, const struct mr_partition *const *parts, size_t count, bool lost)
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

static inline struct run *run_create(struct target *tg, const char *topic_z)
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

static inline void run_set(struct run *r, const char *name_z, const char *value_z)
{
    r->properties[r->cfg.kafka_properties.count++] =
        (struct mr_pair){(char *)(uintptr_t)name_z, (char *)(uintptr_t)value_z};
}

static inline void run_start(struct run *r, bool bounded)
{
    if (ops->create(&r->cfg, bounded, &r->listener, &r->src, &r->err) != MR_OK)
        fail_msg("%s", r->err.message);
}

/* Take records into the target. A record of a partition that somebody else has is fenced there, as in a real target; what is ours must be
 * the very next one. */
static inline void take(struct run *r, const struct mr_record *recs, size_t count)
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

static inline enum mr_status run_poll(struct run *r, int timeout_ms)
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
static inline enum mr_status run_until(struct run *r, uint64_t wanted)
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

static inline void run_end(struct run *r)
{
    if (r->src)
        ops->destroy(r->src);
    mr_arena_destroy(r->ar);
    mr_buf_free(&r->seen);
    mr_xfree(r);
}

/* ---- Topics ---- */

/* A name used only once: tests share the broker, and may be repeated. */
static inline const char *new_topic(int partitions)
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

static inline void send_numbered(const char *topic_z, int partition, int first, int count)
{
    for (int i = 0; i < count; i++) {
        char value[32];

        snprintf(value, sizeof(value), "%d", first + i);
        test_producer_send(producer, topic_z, partition, NULL, value);
    }
    test_producer_flush(producer);
}

static inline void assert_str(struct mr_str s, const char *expected_z)
{
    if (!mr_str_eq_z(s, expected_z))
        fail_msg("\"%.*s\" instead of \"%s\"", MR_STR_FMT(s), expected_z);
}

static inline void assert_contains(const char *text_z, const char *part_z)
{
    if (!strstr(text_z, part_z))
        fail_msg("\"%s\" is not in \"%s\"", part_z, text_z);
}

static inline int kafka_setup(void **state)
{
    (void)state;
    bootstrap_z = test_kafka_bootstrap();
    producer = test_producer_create(bootstrap_z, NULL);
    mr_log_setup(getenv("MILLRACE_TEST_LOG") ? MR_LOG_DEBUG : MR_LOG_ERROR, MR_LOG_LOGFMT, false);
    return 0;
}

static inline int kafka_teardown(void **state)
{
    (void)state;
    test_producer_destroy(producer);
    return 0;
}

#endif
