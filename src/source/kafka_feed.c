/* A topic read beside the source's partitions (source.h, mr_feed_ops), with a client of its own: its partitions are assigned, no group is
 * joined. Records of aborted transactions and control records take offsets but never arrive, so the brokers' word that there is nothing more
 * (PARTITION_EOF) counts as the end, too. */
#include "kafka_parts.h"
#include "source_ops.h"

#include <millrace/base/mem.h>
#include <millrace/base/time.h>

#include <string.h>

#define ASK_MS 5000

struct feed_part {
    struct mr_partition part;
    int64_t next, end; /* next offset that we have not seen; where this round ends */
};

struct mr_feed {
    struct mr_source *src; /* the client */
    char *topic_z;
    struct feed_part *parts;
    size_t count;
    bool in_round; /* the last one did not come to its end */
};

static void feed_close(struct mr_feed *feed)
{
    if (!feed)
        return;
    mr_source_kafka.destroy(feed->src);
    mr_xfree(feed->parts);
    mr_xfree(feed->topic_z);
    mr_xfree(feed);
}

/* ---- Opening ---- */

static enum mr_status no_answer(struct mr_feed *feed, rd_kafka_resp_err_t code, struct mr_error *err)
{
    if (feed->src->failed.status != MR_OK) {
        *err = feed->src->failed;
        feed->src->failed = (struct mr_error){0};
        return err->status;
    }
    if (code == RD_KAFKA_RESP_ERR__TIMED_OUT || code == RD_KAFKA_RESP_ERR__TRANSPORT)
        return mr_fail(err, MR_E_ENV, "no Kafka broker answers at %s", feed->src->cfg->kafka_brokers);
    return mr_kafka_fail(err, code, "cannot read the topic", feed->topic_z);
}

/* *count = 0: there is no such topic. */
static enum mr_status ask_partitions(struct mr_feed *feed, size_t *count, struct mr_error *err)
{
    const rd_kafka_metadata_t *md = NULL;
    rd_kafka_topic_t *rkt = rd_kafka_topic_new(feed->src->rk, feed->topic_z, NULL);
    rd_kafka_resp_err_t code =
        rkt ? rd_kafka_metadata(feed->src->rk, 0, rkt, &md, ASK_MS) : rd_kafka_last_error();

    *count = 0;
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR && md->topic_cnt == 1) {
        code = md->topics[0].err;
        *count = code == RD_KAFKA_RESP_ERR_NO_ERROR ? (size_t)md->topics[0].partition_cnt : 0;
    }
    if (md)
        rd_kafka_metadata_destroy(md);
    if (rkt)
        rd_kafka_topic_destroy(rkt);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR || code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ||
        code == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC || code == RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION)
        return MR_OK;
    return no_answer(feed, code, err);
}

static enum mr_status assign(struct mr_feed *feed, struct mr_error *err)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)feed->count);
    rd_kafka_resp_err_t code;

    for (size_t i = 0; i < feed->count; i++) {
        feed->parts[i].part =
            (struct mr_partition){.topic_z = feed->topic_z, .partition = (int32_t)i, .index = (uint32_t)i};
        rd_kafka_topic_partition_list_add(list, feed->topic_z, (int32_t)i)->offset =
            RD_KAFKA_OFFSET_BEGINNING;
    }
    code = rd_kafka_assign(feed->src->rk, list);
    rd_kafka_topic_partition_list_destroy(list);
    return code == RD_KAFKA_RESP_ERR_NO_ERROR
               ? MR_OK
               : mr_kafka_fail(err, code, "cannot read the topic", feed->topic_z);
}

static enum mr_status feed_open(const struct mr_config *cfg, const char *topic_z, struct mr_feed **out,
                                struct mr_error *err)
{
    struct mr_feed *feed = mr_xcalloc(1, sizeof(*feed));
    size_t count = 0;

    *out = NULL;
    feed->topic_z = mr_xstrdup(topic_z);
    enum mr_status status = mr_source_kafka.create(cfg, true, &mr_kafka_no_listener, &feed->src, err);
    if (status == MR_OK)
        status = ask_partitions(feed, &count, err);
    if (status == MR_OK && count > 0) {
        feed->parts = mr_xcalloc(count, sizeof(*feed->parts));
        feed->count = count;
        status = assign(feed, err);
    }
    if (status != MR_OK || count == 0) {
        feed_close(feed);
        return status;
    }
    *out = feed;
    return MR_OK;
}

/* ---- Reading ---- */

static enum mr_status ask_ends(struct mr_feed *feed, int64_t deadline_ms, struct mr_error *err)
{
    for (size_t i = 0; i < feed->count; i++) {
        int64_t first, left_ms = deadline_ms - mr_monotonic_ms();
        rd_kafka_resp_err_t code =
            left_ms <= 0 ? RD_KAFKA_RESP_ERR__TIMED_OUT
                         : rd_kafka_query_watermark_offsets(feed->src->rk, feed->topic_z, (int32_t)i, &first,
                                                            &feed->parts[i].end, (int)left_ms);

        if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
            return no_answer(feed, code, err);
        if (feed->parts[i].next < first)
            feed->parts[i].next = first; /* what went before is gone */
    }
    return MR_OK;
}

static bool is_at_end(const struct mr_feed *feed)
{
    for (size_t i = 0; i < feed->count; i++)
        if (feed->parts[i].next < feed->parts[i].end)
            return false;
    return true;
}

static enum mr_status give(struct mr_feed *feed, const rd_kafka_message_t *msg, mr_feed_fn fn, void *ctx,
                           struct mr_error *err)
{
    struct feed_part *fp = &feed->parts[msg->partition];
    rd_kafka_timestamp_type_t type;
    int64_t time_ms = rd_kafka_message_timestamp(msg, &type);
    struct mr_record rec = {
        .part = &fp->part,
        .position = msg->offset + 1,
        .topic = mr_str_z(feed->topic_z),
        .partition = msg->partition,
        .offset = msg->offset,
        .timestamp_ms = type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE ? -1 : time_ms,
        .key = mr_str_of(msg->key, msg->key ? msg->key_len : 0),
        .value = mr_str_of(msg->payload, msg->payload ? msg->len : 0),
        .has_key = msg->key != NULL,
        .has_value = msg->payload != NULL,
    };

    fp->next = msg->offset + 1;
    return fn(ctx, &rec, err);
}

static enum mr_status take(struct mr_feed *feed, const rd_kafka_message_t *msg, mr_feed_fn fn, void *ctx,
                           struct mr_error *err)
{
    bool is_ours = msg->partition >= 0 && (size_t)msg->partition < feed->count;

    if (msg->err == RD_KAFKA_RESP_ERR_NO_ERROR && is_ours)
        return give(feed, msg, fn, ctx, err);
    if (msg->err == RD_KAFKA_RESP_ERR__PARTITION_EOF && is_ours) {
        struct feed_part *fp = &feed->parts[msg->partition];

        if (msg->offset > fp->next)
            fp->next = msg->offset;
        if (fp->end > fp->next)
            fp->end = fp->next; /* a transaction that is open hides the rest */
        return MR_OK;
    }
    mr_kafka_message_error(feed->src, msg);
    return feed->src->failed.status == MR_OK ? MR_OK : no_answer(feed, msg->err, err);
}

static enum mr_status feed_read(struct mr_feed *feed, int timeout_ms, mr_feed_fn fn, void *ctx,
                                struct mr_error *err)
{
    int64_t deadline_ms = mr_monotonic_ms() + timeout_ms;

    if (!feed->in_round)
        MR_TRY(ask_ends(feed, deadline_ms, err));
    feed->in_round = true;
    while (!is_at_end(feed)) {
        int64_t left_ms = deadline_ms - mr_monotonic_ms();
        rd_kafka_message_t *msg =
            left_ms <= 0 ? NULL : rd_kafka_consumer_poll(feed->src->rk, left_ms > 100 ? 100 : (int)left_ms);
        enum mr_status status = msg ? take(feed, msg, fn, ctx, err) : MR_OK;

        if (msg)
            rd_kafka_message_destroy(msg);
        MR_TRY(status);
        if (left_ms <= 0)
            return no_answer(feed, RD_KAFKA_RESP_ERR__TIMED_OUT, err);
    }
    feed->in_round = false;
    return MR_OK;
}

const struct mr_feed_ops mr_kafka_feed = {.open = feed_open, .read = feed_read, .close = feed_close};
