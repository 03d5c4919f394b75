/* The producer of the status topic (producer.h): idempotent, acknowledged by all brokers in sync, into one partition that is named. What is in the
 * partition is read with a consumer of its own, without a group. librdkafka stays in this folder; that is why the producer is here. */
#include <millrace/producer.h>

#include "kafka_parts.h"

#include <millrace/base/log.h>
#include <millrace/base/mem.h>
#include <millrace/base/time.h>

#include <stdio.h>
#include <string.h>

#define ASK_MS 5000
#define SLICE_MS 500 /* of waiting, between two looks whether it is over */

struct mr_producer {
    const struct mr_config *cfg;
    bool (*is_over)(const void *ctx);
    const void *ctx;
    rd_kafka_t *rk;
    rd_kafka_topic_t *topic;
    size_t sent, confirmed;      /* of the messages under way */
    int64_t last;                /* the highest offset that one of them got; -1 if the brokers did not tell */
    rd_kafka_resp_err_t refused; /* of the first that could not be delivered */
    char trouble[256];           /* why no broker answers */
};

/* ---- settings ---- */

static const struct {
    const char *name_z, *why_z;
} refused[] = {
    {"bootstrap.servers", "set status.kafka.brokers instead"},
    {"metadata.broker.list", "set status.kafka.brokers instead"},
    {"enable.idempotence", "without it events could come twice or out of order"},
    {"acks", "an event is taken out of the target when all brokers in sync have it"},
    {"request.required.acks", "an event is taken out of the target when all brokers in sync have it"},
    {"transactional.id", "events are not sent in transactions"},
    {"message.timeout.ms", "an event is sent until it arrives"},
    {"delivery.timeout.ms", "an event is sent until it arrives"},
};

/* What says how to reach the brokers; a consumer's other properties mean nothing to a producer, or something else. */
static bool is_about_brokers(const char *name_z)
{
    static const char *const prefixes[] = {"security.",  "sasl.",        "ssl.",        "socket.",
                                           "broker.",    "client.",      "enable.ssl",  "enable.sasl",
                                           "reconnect.", "connections.", "api.version", "retry.backoff"};
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (strncmp(name_z, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

static enum mr_status set(rd_kafka_conf_t *conf, const char *name_z, const char *value_z,
                          struct mr_error *err)
{
    char text[512];

    switch (rd_kafka_conf_set(conf, name_z, value_z, text, sizeof(text))) {
    case RD_KAFKA_CONF_OK:
        return MR_OK;
    case RD_KAFKA_CONF_UNKNOWN:
        mr_fail(err, MR_E_CONFIG, "status.kafka.properties: librdkafka has no property \"%s\"", name_z);
        mr_error_hint(err, "its properties are listed in its CONFIGURATION.md");
        return MR_E_CONFIG;
    case RD_KAFKA_CONF_INVALID:
        break;
    }
    if (strstr(name_z, "password") || strstr(name_z, "secret") || strstr(name_z, "key.pem"))
        return mr_fail(err, MR_E_CONFIG, "status.kafka.properties: bad value for \"%s\"", name_z);
    return mr_fail(err, MR_E_CONFIG, "status.kafka.properties: %s", text);
}

static enum mr_status set_user(rd_kafka_conf_t *conf, const struct mr_pairs *pairs, struct mr_error *err)
{
    for (size_t i = 0; i < pairs->count; i++) {
        for (size_t j = 0; j < sizeof(refused) / sizeof(refused[0]); j++)
            if (strcmp(pairs->items[i].key, refused[j].name_z) == 0)
                return mr_fail(err, MR_E_CONFIG, "status.kafka.properties: \"%s\" cannot be set: %s",
                               pairs->items[i].key, refused[j].why_z);
        MR_TRY(set(conf, pairs->items[i].key, pairs->items[i].value, err));
    }
    return MR_OK;
}

static enum mr_status set_ours(rd_kafka_conf_t *conf, const struct mr_config *cfg, struct mr_error *err)
{
    MR_TRY(set(conf, "bootstrap.servers", cfg->status_brokers, err));
    MR_TRY(set(conf, "enable.idempotence", "true", err));
    MR_TRY(set(conf, "acks", "all", err));
    return set(conf, "message.timeout.ms", "0", err);
}

/* Properties that both clients share. */
static enum mr_status set_all(rd_kafka_conf_t *conf, const struct mr_config *cfg, struct mr_error *err)
{
    MR_TRY(set(conf, "client.id", "millrace-status", err));
    MR_TRY(set(conf, "linger.ms", "0", err));
    for (size_t i = 0; cfg->status_on_source && i < cfg->kafka_properties.count; i++)
        if (is_about_brokers(cfg->kafka_properties.items[i].key))
            MR_TRY(set(conf, cfg->kafka_properties.items[i].key, cfg->kafka_properties.items[i].value, err));
    return set_user(conf, &cfg->status_properties, err);
}

/* ---- callbacks: inside our own polls ---- */

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *msg, void *opaque)
{
    struct mr_producer *producer = opaque;
    (void)rk;
    if (msg->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
        producer->confirmed++;
        producer->last = msg->offset > producer->last ? msg->offset : producer->last;
    } else if (producer->refused == RD_KAFKA_RESP_ERR_NO_ERROR) {
        producer->refused = msg->err;
    }
}

static void on_error(rd_kafka_t *rk, int code, const char *reason_z, void *opaque)
{
    struct mr_producer *producer = opaque;
    (void)rk, (void)code;
    snprintf(producer->trouble, sizeof(producer->trouble), "%s", reason_z);
}

static void on_log(const rd_kafka_t *rk, int level, const char *facility_z, const char *text_z)
{
    (void)rk, (void)level, (void)facility_z;
    mr_log(MR_LOG_DEBUG, "librdkafka, status topic", MR_KV_Z("text", text_z));
}

/* ---- opening ---- */

static enum mr_status create(struct mr_producer *producer, rd_kafka_conf_t *conf, struct mr_error *err)
{
    char text[512];

    rd_kafka_conf_set_opaque(conf, producer);
    rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
    rd_kafka_conf_set_error_cb(conf, on_error);
    rd_kafka_conf_set_log_cb(conf, on_log);
    producer->rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof(text));
    if (!producer->rk) {
        rd_kafka_conf_destroy(conf);
        return mr_fail(err, MR_E_CONFIG, "status.kafka: cannot set up the Kafka client: %s", text);
    }
    return MR_OK;
}

/* Only when it is needed: the library asks for it at once, and brokers may make a topic that is asked for. */
static enum mr_status have_topic(struct mr_producer *producer, struct mr_error *err)
{
    if (!producer->topic)
        producer->topic = rd_kafka_topic_new(producer->rk, producer->cfg->status_topic, NULL);
    return producer->topic
               ? MR_OK
               : mr_fail(err, MR_E_CONFIG, "status.kafka.topic: %s", rd_kafka_err2str(rd_kafka_last_error()));
}

static void producer_close(struct mr_producer *producer)
{
    if (!producer)
        return;
    if (producer->rk) {
        rd_kafka_purge(producer->rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
        rd_kafka_poll(producer->rk, 0);
    }
    if (producer->topic)
        rd_kafka_topic_destroy(producer->topic);
    if (producer->rk)
        rd_kafka_destroy(producer->rk);
    mr_xfree(producer);
}

static enum mr_status producer_open(const struct mr_config *cfg, bool (*is_over)(const void *ctx),
                                    const void *ctx, struct mr_producer **out, struct mr_error *err)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    struct mr_producer *producer = mr_xcalloc(1, sizeof(*producer));
    *producer = (struct mr_producer){.cfg = cfg, .is_over = is_over, .ctx = ctx};

    enum mr_status status = set_all(conf, cfg, err);
    if (status == MR_OK)
        status = set_ours(conf, cfg, err);
    if (status != MR_OK)
        rd_kafka_conf_destroy(conf);
    else
        status = create(producer, conf, err);
    if (status != MR_OK) {
        producer_close(producer);
        producer = NULL;
    }
    *out = producer;
    return status;
}

static bool never(const void *ctx)
{
    (void)ctx;
    return false;
}

static enum mr_status check_settings(const struct mr_config *cfg, struct mr_error *err)
{
    struct mr_producer *producer = NULL;
    enum mr_status status = producer_open(cfg, never, NULL, &producer, err);
    producer_close(producer);
    return status;
}

/* ---- what is wrong ---- */

static enum mr_status no_topic(const struct mr_producer *producer, struct mr_error *err)
{
    mr_fail(err, MR_E_CONFIG, "there is no topic \"%s\" for the status events at %s",
            producer->cfg->status_topic, producer->cfg->status_brokers);
    mr_error_hint(err, "make it, best with one partition; nothing is lost meanwhile");
    return MR_E_CONFIG;
}

static enum mr_status failed(struct mr_producer *producer, rd_kafka_resp_err_t code, const char *doing_z,
                             struct mr_error *err)
{
    rd_kafka_poll(producer->rk, 0); /* serves the error callback */
    switch (code) {
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
        return no_topic(producer, err);
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
        return mr_fail(err, MR_E_CONFIG, "the topic \"%s\" of the status events has no partition %u",
                       producer->cfg->status_topic, producer->cfg->status_partition);
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR__MSG_TIMED_OUT:
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
        return mr_fail(err, MR_E_ENV, "no Kafka broker answers at %s%s%s", producer->cfg->status_brokers,
                       producer->trouble[0] ? ": " : "", producer->trouble);
    default: /* the library's codes are many, and grow */
        return mr_fail(err, MR_E_ENV, "cannot %s the topic \"%s\": %s", doing_z, producer->cfg->status_topic,
                       rd_kafka_err2str(code));
    }
}

/* ---- where it ends ---- */

static enum mr_status ask_partitions(struct mr_producer *producer, int timeout_ms, int *count,
                                     struct mr_error *err)
{
    const rd_kafka_metadata_t *md = NULL;
    int64_t deadline_ms = mr_monotonic_ms() + timeout_ms;

    MR_TRY(have_topic(producer, err));
    for (;;) { /* a topic that the brokers make takes a moment */
        rd_kafka_resp_err_t code = rd_kafka_metadata(producer->rk, 0, producer->topic, &md, SLICE_MS);

        if (code == RD_KAFKA_RESP_ERR_NO_ERROR && md->topic_cnt == 1) {
            code = md->topics[0].err;
            *count = md->topics[0].partition_cnt;
        }
        if (md)
            rd_kafka_metadata_destroy(md);
        md = NULL;
        if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
            return MR_OK;
        if (mr_monotonic_ms() >= deadline_ms || producer->is_over(producer->ctx))
            return failed(producer, code, "write to", err);
        mr_sleep_ms(50);
    }
}

static enum mr_status ask_end(struct mr_producer *producer, int timeout_ms, int64_t *offset,
                              struct mr_error *err)
{
    int64_t first, deadline_ms = mr_monotonic_ms() + timeout_ms;

    for (;;) {
        rd_kafka_resp_err_t code = rd_kafka_query_watermark_offsets(producer->rk, producer->cfg->status_topic,
                                                                    (int32_t)producer->cfg->status_partition,
                                                                    &first, offset, SLICE_MS);
        if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
            return MR_OK;
        if (mr_monotonic_ms() >= deadline_ms || producer->is_over(producer->ctx))
            return failed(producer, code, "read", err);
        mr_sleep_ms(50);
    }
}

static enum mr_status producer_end(struct mr_producer *producer, int timeout_ms, int64_t *offset,
                                   struct mr_error *err)
{
    int count = 0;

    MR_TRY(ask_partitions(producer, timeout_ms, &count, err));
    if (producer->cfg->status_partition >= (uint32_t)count)
        return failed(producer, RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, "write to", err);
    return ask_end(producer, timeout_ms, offset, err);
}

/* ---- what is there ---- */

static enum mr_status open_reader(struct mr_producer *producer, int64_t from, rd_kafka_t **out,
                                  struct mr_error *err)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    char text[512];

    *out = NULL;
    enum mr_status status = set_all(conf, producer->cfg, err);
    if (status == MR_OK)
        status = set(conf, "bootstrap.servers", producer->cfg->status_brokers, err);
    if (status == MR_OK)
        status = set(conf, "group.id", "millrace-status",
                     err); /* wanted by the library; the group is never joined */
    if (status == MR_OK)
        status = set(conf, "enable.auto.commit", "false", err);
    if (status == MR_OK)
        status = set(conf, "auto.offset.reset", "earliest", err); /* what went before is gone */
    if (status == MR_OK)
        status = set(conf, "isolation.level", "read_uncommitted", err);
    if (status == MR_OK)
        status = set(conf, "enable.partition.eof", "true", err);
    if (status != MR_OK) {
        rd_kafka_conf_destroy(conf);
        return status;
    }
    rd_kafka_conf_set_log_cb(conf, on_log);
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, text, sizeof(text));
    if (!rk) {
        rd_kafka_conf_destroy(conf);
        return mr_fail(err, MR_E_CONFIG, "status.kafka: cannot set up the Kafka client: %s", text);
    }
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, producer->cfg->status_topic,
                                      (int32_t)producer->cfg->status_partition)
        ->offset = from;
    rd_kafka_resp_err_t code = rd_kafka_assign(rk, list);
    rd_kafka_topic_partition_list_destroy(list);
    *out = rk;
    return code == RD_KAFKA_RESP_ERR_NO_ERROR ? MR_OK : failed(producer, code, "read", err);
}

static enum mr_status read_keys(struct mr_producer *producer, rd_kafka_t *rk, int64_t end,
                                int64_t deadline_ms, mr_producer_fn fn, void *ctx, struct mr_error *err)
{
    for (;;) {
        int64_t left_ms = deadline_ms - mr_monotonic_ms();
        if (left_ms <= 0 || producer->is_over(producer->ctx))
            return failed(producer, RD_KAFKA_RESP_ERR__TIMED_OUT, "read", err);
        rd_kafka_message_t *msg = rd_kafka_consumer_poll(rk, left_ms > 100 ? 100 : (int)left_ms);
        if (!msg)
            continue;
        enum mr_status status = MR_OK;
        bool is_end = msg->err == RD_KAFKA_RESP_ERR__PARTITION_EOF && msg->offset >= end;
        if (msg->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
            is_end = msg->offset + 1 >= end;
            if (msg->key)
                status = fn(ctx, mr_str_of(msg->key, msg->key_len), msg->offset, err);
        }
        rd_kafka_message_destroy(msg);
        MR_TRY(status);
        if (is_end)
            return MR_OK;
    }
}

static enum mr_status producer_look(struct mr_producer *producer, int64_t from, int timeout_ms,
                                    mr_producer_fn fn, void *ctx, struct mr_error *err)
{
    int64_t end = 0, deadline_ms = mr_monotonic_ms() + timeout_ms;
    rd_kafka_t *rk = NULL;

    MR_TRY(producer_end(producer, timeout_ms, &end, err));
    if (from >= end) /* nothing came since; or the topic has been made anew */
        return MR_OK;
    enum mr_status status = open_reader(producer, from, &rk, err);
    if (status == MR_OK)
        status = read_keys(producer, rk, end, deadline_ms, fn, ctx, err);
    if (rk) {
        rd_kafka_consumer_close(rk);
        rd_kafka_destroy(rk);
    }
    return status;
}

/* ---- sending ---- */

static enum mr_status producer_send(struct mr_producer *producer, const struct mr_producer_message *messages,
                                    size_t count, struct mr_error *err)
{
    producer->sent = producer->confirmed = 0;
    producer->last = -1;
    producer->refused = RD_KAFKA_RESP_ERR_NO_ERROR;
    MR_TRY(have_topic(producer, err));
    for (size_t i = 0; i < count; i++) {
        if (rd_kafka_produce(producer->topic, (int32_t)producer->cfg->status_partition, RD_KAFKA_MSG_F_COPY,
                             (void *)messages[i].value.ptr, messages[i].value.len, messages[i].key.ptr,
                             messages[i].key.len, NULL) != 0)
            return failed(producer, rd_kafka_last_error(), "write to", err);
        producer->sent++;
    }
    return MR_OK;
}

static enum mr_status producer_await(struct mr_producer *producer, int timeout_ms, int64_t *next,
                                     struct mr_error *err)
{
    int64_t left_ms, deadline_ms = mr_monotonic_ms() + timeout_ms;

    while (producer->confirmed < producer->sent && producer->refused == RD_KAFKA_RESP_ERR_NO_ERROR &&
           (left_ms = deadline_ms - mr_monotonic_ms()) > 0)
        rd_kafka_poll(producer->rk, left_ms > 100 ? 100 : (int)left_ms);
    if (producer->refused != RD_KAFKA_RESP_ERR_NO_ERROR)
        return failed(producer, producer->refused, "write to", err);
    if (producer->confirmed < producer->sent) {
        (void)failed(producer, RD_KAFKA_RESP_ERR__TIMED_OUT, "write to", err);
        return err->status = MR_E_BUSY;
    }
    *next = producer->last + 1;
    return producer->last >= 0 ? MR_OK : producer_end(producer, ASK_MS, next, err);
}

/* ---- for `check` ---- */

/* All topics are listed: asked for by its name, a topic might be made. */
static enum mr_status find_topic(struct mr_producer *producer, int timeout_ms, int *partitions,
                                 struct mr_error *err)
{
    const rd_kafka_metadata_t *md = NULL;
    int64_t deadline_ms = mr_monotonic_ms() + timeout_ms;
    rd_kafka_resp_err_t code;

    while ((code = rd_kafka_metadata(producer->rk, 1, NULL, &md, 1000)) != RD_KAFKA_RESP_ERR_NO_ERROR) {
        if (mr_monotonic_ms() >= deadline_ms)
            return failed(producer, code, "read", err);
        mr_sleep_ms(50);
    }
    *partitions = -1;
    for (int i = 0; i < md->topic_cnt; i++)
        if (strcmp(md->topics[i].topic, producer->cfg->status_topic) == 0)
            *partitions = md->topics[i].partition_cnt;
    rd_kafka_metadata_destroy(md);
    if (*partitions < 0)
        return no_topic(producer, err);
    return producer->cfg->status_partition < (uint32_t)*partitions
               ? MR_OK
               : failed(producer, RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, "write to", err);
}

static void producer_check(const struct mr_config *cfg, int timeout_ms, mr_finding_fn fn, void *ctx)
{
    struct mr_producer *producer = NULL;
    struct mr_error err = {0};
    char text[512];
    int partitions = 0;
    enum mr_status status = producer_open(cfg, never, NULL, &producer, &err);

    if (status == MR_OK)
        status = find_topic(producer, timeout_ms, &partitions, &err);
    producer_close(producer);
    snprintf(text, sizeof(text), "%s: %d partition%s, events go to %u", cfg->status_topic, partitions,
             partitions == 1 ? "" : "s", cfg->status_partition);
    fn(ctx, &(struct mr_finding){.subject_z = "status topic",
                                 .text = mr_str_z(status == MR_OK ? text : cfg->status_topic),
                                 .err = status == MR_OK ? NULL : &err});
}

const struct mr_producer_ops mr_kafka_producer = {
    .check_settings = check_settings,
    .open = producer_open,
    .end = producer_end,
    .look = producer_look,
    .send = producer_send,
    .await = producer_await,
    .close = producer_close,
    .check = producer_check,
};
