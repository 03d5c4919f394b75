/* The Kafka source. Messages are not copied: a record points into librdkafka's message, which it owns until release.
 *
 * Polling takes message by message with rd_kafka_consumer_poll, not in batches: a batch call may serve a rebalance in its middle and
 * still return messages of partitions that have just been given up. Here the callback sees exactly what is in hand. */
#include "kafka_parts.h"
#include "source_ops.h"

#include <millrace/base/log.h>
#include <millrace/base/mem.h>
#include <millrace/base/time.h>

#include <stdlib.h>
#include <string.h>

#define CLOSE_MS 5000 /* leaving the group must not hold up the end */
#define GROUP_MS 5000 /* longer than a group that waits for nobody needs */

/* ---- Records ---- */

static void take_headers(const rd_kafka_message_t *msg, struct mr_arena *ar, struct mr_record *rec)
{
    rd_kafka_headers_t *headers;
    size_t count;

    if (rd_kafka_message_headers(msg, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR)
        return;
    count = rd_kafka_header_cnt(headers);
    if (count == 0)
        return;
    rec->headers = mr_arena_alloc(ar, count * sizeof(*rec->headers));
    for (size_t i = 0; i < count; i++) {
        const char *name_z;
        const void *value;
        size_t len;

        if (rd_kafka_header_get_all(headers, i, &name_z, &value, &len) != RD_KAFKA_RESP_ERR_NO_ERROR)
            break;
        rec->headers[rec->header_count++] = (struct mr_header){
            .name = mr_str_z(name_z),
            .value = mr_str_of(value, value ? len : 0),
            .is_null = !value,
        };
    }
}

static void take_message(struct mr_source *src, struct mr_kafka_part *kp, rd_kafka_message_t *msg)
{
    struct mr_kafka_poll *call = src->call;
    struct mr_record *rec = &call->out[call->count++];
    rd_kafka_timestamp_type_t type;
    int64_t time_ms = rd_kafka_message_timestamp(msg, &type);

    *rec = (struct mr_record){
        .part = &kp->part,
        .position = msg->offset + 1,
        .topic = mr_str_z(kp->part.topic_z),
        .partition = msg->partition,
        .offset = msg->offset,
        .timestamp_ms = type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE ? -1 : time_ms,
        .key = mr_str_of(msg->key, msg->key ? msg->key_len : 0),
        .value = mr_str_of(msg->payload, msg->payload ? msg->len : 0),
        .has_key = msg->key != NULL,
        .has_value = msg->payload != NULL,
        .owner = msg,
    };
    take_headers(msg, call->ar, rec);
    call->bytes += msg->len + msg->key_len;
    kp->next = msg->offset + 1;
}

/* A data message: into the records, or away if nobody wants it. */
static void take_data(struct mr_source *src, rd_kafka_message_t *msg)
{
    struct mr_kafka_part *kp = mr_kafka_part_of(src, msg);

    if (!mr_kafka_part_reads(kp) || msg->offset < kp->next) {
        rd_kafka_message_destroy(msg);
        return;
    }
    if (src->bounded && msg->offset >= kp->end) {
        rd_kafka_message_destroy(msg);
        mr_kafka_part_done(src, kp);
        return;
    }
    if (src->call->cap == 0) {
        src->held = msg;
        return;
    }
    take_message(src, kp, msg);
    if (src->bounded && kp->next >= kp->end)
        mr_kafka_part_done(src, kp);
}

static void take_any(struct mr_source *src, rd_kafka_message_t *msg)
{
    if (msg->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
        mr_kafka_contact(src);
        take_data(src, msg);
        return;
    }
    if (msg->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        struct mr_kafka_part *kp = mr_kafka_part_of(src, msg);

        mr_kafka_contact(src);
        if (src->bounded && mr_kafka_part_reads(kp))
            mr_kafka_part_done(src, kp);
    } else {
        mr_kafka_message_error(src, msg);
    }
    rd_kafka_message_destroy(msg);
}

/* ---- The poll ---- */

static enum mr_status take_failure(struct mr_source *src, struct mr_error *err)
{
    enum mr_status status = src->failed.status;

    if (err)
        *err = src->failed;
    src->failed = (struct mr_error){0};
    return status;
}

/* An assignment has failed before: leave and come back, so that the group gives it again. */
static enum mr_status rejoin(struct mr_source *src, struct mr_error *err)
{
    if (!src->rejoin || mr_monotonic_ms() < src->rejoin_ms)
        return MR_OK;
    src->rejoin = false;
    (void)rd_kafka_unsubscribe(src->rk);
    return mr_kafka_subscribe(src, err);
}

/* After a kill the group waits for the dead member first, and a start that says nothing for so long looks like one that hangs. */
static void tell_group(struct mr_source *src)
{
    if (src->bounded || src->was_assigned || src->told_group || mr_monotonic_ms() - src->created_ms < GROUP_MS)
        return;
    src->told_group = true;
    mr_log(MR_LOG_INFO, "waiting for the consumer group to give out partitions", MR_KV_Z("group", src->cfg->kafka_group),
           MR_KV_Z("note", "an instance that was killed keeps its partitions for session.timeout.ms (45 s unless set)"));
}

static enum mr_status gather(struct mr_source *src, size_t max_bytes, int64_t deadline_ms,
                             enum mr_poll_state *state, struct mr_error *err)
{
    struct mr_kafka_poll *call = src->call;
    bool came = false;

    if (src->held && call->cap > 0) {
        rd_kafka_message_t *msg = src->held;

        src->held = NULL;
        take_any(src, msg);
    }
    for (;;) {
        int64_t left = deadline_ms - mr_monotonic_ms();
        rd_kafka_message_t *msg;

        if (call->cap > 0 && (call->count == call->cap || call->bytes >= max_bytes))
            break;
        if (src->held || (src->bounded && mr_kafka_all_done(src)))
            break;
        /* Do not keep back what is there for what may come. */
        msg = rd_kafka_consumer_poll(src->rk, call->count > 0 || left < 0 ? 0 : (int)left);
        if (!msg)
            break;
        came = true;
        take_any(src, msg);
        if (src->failed.status != MR_OK || (call->count == 0 && mr_monotonic_ms() >= deadline_ms))
            break;
    }
    if (call->count > 0) {
        *state = MR_POLL_MORE;
        return MR_OK; /* what failed comes with the next call */
    }
    if (src->failed.status != MR_OK)
        return take_failure(src, err);
    if (!came && !src->held) {
        MR_TRY(mr_kafka_check_contact(src, err));
        tell_group(src);
    }
    if (src->bounded && mr_kafka_all_done(src))
        *state = MR_POLL_END;
    return MR_OK;
}

static enum mr_status kafka_poll(struct mr_source *src, struct mr_arena *ar, struct mr_record *out,
                                 size_t cap, size_t max_bytes, int timeout_ms, size_t *count,
                                 enum mr_poll_state *state, struct mr_error *err)
{
    struct mr_kafka_poll call = {.ar = ar, .out = out, .cap = src->paused ? 0 : cap};
    int64_t deadline_ms = mr_monotonic_ms() + timeout_ms;
    enum mr_status status;

    *count = 0;
    *state = MR_POLL_IDLE;
    if (src->failed.status != MR_OK)
        return take_failure(src, err);
    MR_TRY(rejoin(src, err));
    mr_kafka_commit_due(src, false);
    if (src->bounded && src->stage != MR_KAFKA_READING && !src->paused) {
        bool open;

        MR_TRY(mr_kafka_open_bounded(src, timeout_ms, &open, err));
        if (src->failed.status != MR_OK)
            return take_failure(src, err);
        if (!open) {
            *state = MR_POLL_MORE;
            return MR_OK;
        }
    }
    src->call = &call;
    status = gather(src, max_bytes, deadline_ms, state, err);
    src->call = NULL;
    *count = call.count;
    return status;
}

/* ---- Coming and going ---- */

static void kafka_destroy(struct mr_source *src);

static enum mr_status kafka_create(const struct mr_config *cfg, bool bounded,
                                   const struct mr_source_listener *listener, struct mr_source **out,
                                   struct mr_error *err)
{
    struct mr_source *src = mr_xcalloc(1, sizeof(*src));
    enum mr_status status;

    src->cfg = cfg;
    src->listener = listener;
    src->bounded = bounded;
    src->by_name = mr_map_create();
    src->warned = mr_map_create();
    src->created_ms = mr_monotonic_ms();
    status = mr_kafka_connect(src, err);
    if (status == MR_OK && !bounded)
        status = mr_kafka_subscribe(src, err);
    if (status != MR_OK) {
        kafka_destroy(src);
        return status;
    }
    *out = src;
    return MR_OK;
}

static void revoke_bounded(struct mr_source *src)
{
    const struct mr_partition **parts = mr_xcalloc(src->part_count + 1, sizeof(*parts));
    size_t count = 0;

    for (size_t i = 0; i < src->part_count; i++) {
        if (src->parts[i]->assigned)
            parts[count++] = &src->parts[i]->part;
        src->parts[i]->assigned = false;
    }
    if (count > 0)
        src->listener->revoked(src->listener->ctx, parts, count, false);
    mr_kafka_commit_due(src, true);
    (void)rd_kafka_assign(src->rk, NULL);
    mr_xfree(parts);
}

/* Leave the group: the rebalance callback revokes what we have. Bounded in time, since brokers may not answer. */
static void leave(struct mr_source *src)
{
    int64_t deadline_ms = mr_monotonic_ms() + CLOSE_MS;
    rd_kafka_queue_t *queue = rd_kafka_queue_new(src->rk);
    rd_kafka_error_t *error = rd_kafka_consumer_close_queue(src->rk, queue);

    if (error)
        rd_kafka_error_destroy(error);
    else
        while (!rd_kafka_consumer_closed(src->rk) && mr_monotonic_ms() < deadline_ms) {
            rd_kafka_event_t *event = rd_kafka_queue_poll(queue, 50);

            /* The library may hand the rebalance over as an event instead of calling back. */
            if (event && rd_kafka_event_type(event) == RD_KAFKA_EVENT_REBALANCE)
                mr_kafka_on_rebalance(src->rk, rd_kafka_event_error(event),
                                      rd_kafka_event_topic_partition_list(event), src);
            if (event)
                rd_kafka_event_destroy(event);
        }
    rd_kafka_queue_destroy(queue);
}

/* librdkafka before 2.3.0 aborts the process when a client with the cooperative assignor is destroyed before its first assignment (its issue
 * 4312). Such a client has left the group by then; what it holds is left to the end of the process. */
static bool destroying_aborts(const struct mr_source *src)
{
    const struct mr_pairs *props = &src->cfg->kafka_properties;

    if (rd_kafka_version() >= 0x02030000 || src->bounded || src->was_assigned)
        return false;
    for (size_t i = 0; i < props->count; i++)
        if (strcmp(props->items[i].key, "partition.assignment.strategy") == 0 &&
            strstr(props->items[i].value, "cooperative"))
            return true;
    return false;
}

static void kafka_destroy(struct mr_source *src)
{
    if (!src)
        return;
    src->closing = true;
    if (src->held)
        rd_kafka_message_destroy(src->held);
    src->held = NULL;
    if (src->rk) {
        if (src->bounded)
            revoke_bounded(src);
        mr_kafka_commit_due(src, true);
        leave(src);
        if (destroying_aborts(src))
            return;
        rd_kafka_destroy_flags(src->rk, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    }
    mr_kafka_parts_free(src);
    mr_xfree(src);
}

/* ---- The rest of the contract ---- */

static void kafka_release(struct mr_source *src, struct mr_record *records, size_t count)
{
    (void)src;
    for (size_t i = 0; i < count; i++) {
        if (records[i].owner)
            rd_kafka_message_destroy(records[i].owner);
        records[i].owner = NULL;
    }
}

static struct mr_kafka_part *part_of(const struct mr_source *src, const struct mr_partition *part)
{
    return src->parts[part->index];
}

static void kafka_commit(struct mr_source *src, const struct mr_partition *const *parts,
                         const int64_t *positions, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (positions[i] >= 0)
            part_of(src, parts[i])->commit = positions[i];
    mr_kafka_commit_due(src, false);
}

static void kafka_pause(struct mr_source *src)
{
    rd_kafka_topic_partition_list_t *list = mr_kafka_reading(src);

    src->paused = true;
    if (list->cnt > 0)
        rd_kafka_pause_partitions(src->rk, list);
    rd_kafka_topic_partition_list_destroy(list);
}

static void kafka_resume(struct mr_source *src)
{
    rd_kafka_topic_partition_list_t *list = mr_kafka_reading(src);

    src->paused = false;
    for (size_t i = 0; i < src->part_count; i++)
        if (src->parts[i]->held)
            (void)rd_kafka_topic_partition_list_del(list, src->parts[i]->part.topic_z, src->parts[i]->part.partition);
    if (list->cnt > 0)
        rd_kafka_resume_partitions(src->rk, list);
    rd_kafka_topic_partition_list_destroy(list);
}

static void kafka_hold(struct mr_source *src, const struct mr_partition *part, bool on)
{
    struct mr_kafka_part *kp = part_of(src, part);
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);

    kp->held = on;
    rd_kafka_topic_partition_list_add(list, part->topic_z, part->partition);
    if (mr_kafka_part_reads(kp) && !src->paused)
        (void)(on ? rd_kafka_pause_partitions(src->rk, list) : rd_kafka_resume_partitions(src->rk, list));
    rd_kafka_topic_partition_list_destroy(list);
}

static enum mr_status kafka_seek(struct mr_source *src, const struct mr_partition *part,
                                 int64_t position, struct mr_error *err)
{
    struct mr_kafka_part *kp = part_of(src, part);
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_error_t *error;
    enum mr_status status = MR_OK;

    if (src->held && mr_kafka_part_of(src, src->held) == kp) {
        rd_kafka_message_destroy(src->held);
        src->held = NULL;
    }
    rd_kafka_topic_partition_list_add(list, part->topic_z, part->partition)->offset = position;
    error = rd_kafka_seek_partitions(src->rk, list, MR_KAFKA_REQUEST_MS);
    if (error || list->elems[0].err != RD_KAFKA_RESP_ERR_NO_ERROR)
        status = mr_kafka_fail(err, error ? rd_kafka_error_code(error) : list->elems[0].err,
                               "cannot seek in", part->topic_z);
    if (error)
        rd_kafka_error_destroy(error);
    if (status == MR_OK) {
        kp->next = position;
        kp->done = src->bounded && position >= kp->end;
        if (mr_kafka_part_reads(kp) && !src->paused && !kp->held)
            rd_kafka_resume_partitions(src->rk, list);
    }
    rd_kafka_topic_partition_list_destroy(list);
    return status;
}

static enum mr_status kafka_bounds(struct mr_source *src, const struct mr_partition *part,
                                   int64_t *first, int64_t *end, struct mr_error *err)
{
    rd_kafka_resp_err_t code = rd_kafka_query_watermark_offsets(
        src->rk, part->topic_z, part->partition, first, end, MR_KAFKA_REQUEST_MS);

    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return mr_kafka_fail(err, code, "cannot find first and end offset of", part->topic_z);
    return MR_OK;
}

static size_t kafka_lag(struct mr_source *src, struct mr_lag *out, size_t cap)
{
    size_t count = 0;

    for (size_t i = 0; i < src->part_count && count < cap; i++) {
        const struct mr_kafka_part *kp = src->parts[i];

        if (!kp->assigned || kp->dropped)
            continue;
        out[count++] = (struct mr_lag){
            .part = &kp->part,
            .position = kp->done ? kp->end : kp->next,
            .end = kp->end >= 0 && kp->end < kp->next ? kp->next : kp->end,
        };
    }
    return count;
}

static void kafka_drop(struct mr_source *src, const struct mr_partition *part)
{
    struct mr_kafka_part *kp = part_of(src, part);

    if (!kp->assigned || kp->dropped)
        return;
    kp->dropped = true;
    kp->commit = -1;
    mr_kafka_stop_fetching(src, kp);
}

const struct mr_source_ops mr_source_kafka = {
    .name = "kafka",
    .create = kafka_create,
    .poll = kafka_poll,
    .release = kafka_release,
    .commit = kafka_commit,
    .destroy = kafka_destroy,
    .pause = kafka_pause,
    .resume = kafka_resume,
    .hold = kafka_hold,
    .seek = kafka_seek,
    .bounds = kafka_bounds,
    .lag = kafka_lag,
    .drop = kafka_drop,
    .check = mr_kafka_check,
    .ends = mr_kafka_ends,
    .feed = &mr_kafka_feed,
};
