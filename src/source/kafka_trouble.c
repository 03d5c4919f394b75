/* What librdkafka reports, and what it means: wait (ENV), never (CONFIG), or only a line in the log. Statistics arrive here too: they tell
 * how far the partitions reach, and that a broker answers again. */
#include "kafka_parts.h"

#include <millrace/base/log.h>
#include <millrace/base/time.h>

#include <jansson.h>

#include <stdio.h>
#include <string.h>

#define FIRST_CONTACT_MS 3000 /* so long a connection may take before we speak of trouble */

void mr_kafka_contact(struct mr_source *src)
{
    if (src->down)
        mr_log_plain(MR_LOG_INFO, "Kafka answers again");
    src->contact = true;
    src->down = false;
    src->trouble[0] = '\0';
}

static bool is_denied(rd_kafka_resp_err_t code)
{
    return code == RD_KAFKA_RESP_ERR__AUTHENTICATION ||
           code == RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED ||
           code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
           code == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED ||
           code == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED;
}

enum mr_status mr_kafka_fail(struct mr_error *err, rd_kafka_resp_err_t code, const char *doing_z,
                             const char *text_z)
{
    enum mr_status status = is_denied(code) ? MR_E_CONFIG : MR_E_ENV;

    mr_fail(err, status, "Kafka: %s%s%s: %s", doing_z, text_z ? " " : "", text_z ? text_z : "",
            rd_kafka_err2str(code));
    if (err)
        snprintf(err->native, sizeof(err->native), "%d", (int)code);
    return status;
}

enum mr_status mr_kafka_check_contact(struct mr_source *src, struct mr_error *err)
{
    if (src->contact && !src->down)
        return MR_OK;
    if (!src->down && mr_monotonic_ms() - src->created_ms < FIRST_CONTACT_MS)
        return MR_OK;
    return mr_fail(err, MR_E_ENV, "no Kafka broker answers at %s%s%s", src->cfg->kafka_brokers,
                   src->trouble[0] ? ": " : "", src->trouble);
}

/* ---- Errors of the client as a whole ---- */

void mr_kafka_on_error(rd_kafka_t *rk, int code, const char *reason_z, void *opaque)
{
    struct mr_source *src = opaque;
    char text[512];

    if (code == RD_KAFKA_RESP_ERR__FATAL) {
        rd_kafka_resp_err_t fatal = rd_kafka_fatal_error(rk, text, sizeof(text));

        mr_fail(&src->failed, MR_E_CONFIG, "Kafka refuses this client for good: %s (%s)", text,
                rd_kafka_err2name(fatal));
        return;
    }
    /* A wrong password is told at once. Later it may be a broker that is just being changed: wait. */
    if (is_denied((rd_kafka_resp_err_t)code) && !src->contact) {
        mr_fail(&src->failed, MR_E_CONFIG, "Kafka refuses the login: %s", reason_z);
        return;
    }
    if (code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) {
        src->down = true;
        if (!src->trouble[0])
            snprintf(src->trouble, sizeof(src->trouble), "%s", reason_z);
    } else {
        snprintf(src->trouble, sizeof(src->trouble), "%s", reason_z);
    }
    mr_log(MR_LOG_DEBUG, "Kafka client reports", MR_KV_Z("reason", reason_z), MR_KV_INT("code", code));
}

/* ---- Errors of a topic or partition ---- */

/* Waits for a topic that is not there (yet); said once per topic. */
static void topic_missing(struct mr_source *src, const rd_kafka_message_t *msg)
{
    const char *topic_z = msg->rkt ? rd_kafka_topic_name(msg->rkt) : "?";

    if (mr_map_get(src->warned, mr_str_z(topic_z)))
        return;
    mr_map_put(src->warned, mr_str_z(topic_z), src);
    mr_log(MR_LOG_WARN, "there is no such topic yet, waiting", MR_KV_Z("topic", topic_z),
           MR_KV_Z("reason", rd_kafka_message_errstr(msg)));
}

/* The partition cannot be read on without leaving something out. A backfill ends with that; a run goes on with the others. */
static void part_stops(struct mr_source *src, const rd_kafka_message_t *msg, const char *why_z)
{
    struct mr_kafka_part *kp = mr_kafka_part_of(src, msg);
    struct mr_error err = {0};

    if (kp->stopped || !kp->assigned)
        return;
    kp->stopped = true;
    mr_kafka_stop_fetching(src, kp);
    mr_fail(&err, MR_E_CONFIG, "%s [%d]: %s at offset %lld: %s", kp->part.topic_z,
            (int)kp->part.partition, why_z, (long long)kp->next, rd_kafka_message_errstr(msg));
    mr_error_hint(&err, "to go on without what is missing, run once with --reset-position");
    if (src->bounded)
        src->failed = err;
    else
        mr_log_error(MR_LOG_ERROR, "this partition is not read any more", &err);
}

void mr_kafka_message_error(struct mr_source *src, const rd_kafka_message_t *msg)
{
    switch (msg->err) {
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
        topic_missing(src, msg);
        return;
    case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
    case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
        if (msg->rkt)
            part_stops(src, msg, "there are no records");
        return;
    case RD_KAFKA_RESP_ERR__BAD_MSG:
    case RD_KAFKA_RESP_ERR__BAD_COMPRESSION:
    case RD_KAFKA_RESP_ERR_INVALID_MSG:
        if (msg->rkt)
            part_stops(src, msg, "the broker's data cannot be read");
        return;
    case RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED:
        mr_log(MR_LOG_WARN, "too long between two polls: the group has taken the partitions away",
               MR_KV_Z("reason", rd_kafka_message_errstr(msg)));
        return;
    default:
        break;
    }
    if (is_denied(msg->err)) {
        mr_fail(&src->failed, MR_E_CONFIG, "Kafka: %s", rd_kafka_message_errstr(msg));
        return;
    }
    mr_log(MR_LOG_WARN, "Kafka reports", MR_KV_Z("reason", rd_kafka_message_errstr(msg)),
           MR_KV_Z("code", rd_kafka_err2name(msg->err)));
}

/* ---- Statistics ---- */

static bool any_broker_up(json_t *stats)
{
    const char *name_z;
    json_t *broker;

    json_object_foreach(json_object_get(stats, "brokers"), name_z, broker) {
        const char *state_z = json_string_value(json_object_get(broker, "state"));

        if (state_z && strcmp(state_z, "UP") == 0)
            return true;
    }
    return false;
}

/* The end as consumers see it: what transactions still hide does not count. */
static void take_end(const struct mr_source *src, struct mr_kafka_part *kp, json_t *topics)
{
    json_t *topic = json_object_get(topics, kp->part.topic_z), *part;
    json_int_t high, stable;
    char number[16];

    snprintf(number, sizeof(number), "%d", (int)kp->part.partition);
    part = json_object_get(json_object_get(topic, "partitions"), number);
    if (!part)
        return;
    high = json_integer_value(json_object_get(part, "hi_offset"));
    stable = json_integer_value(json_object_get(part, "ls_offset"));
    if (src->read_committed && stable >= 0 && stable < high)
        high = stable;
    if (high >= 0)
        kp->end = high;
}

int mr_kafka_on_stats(rd_kafka_t *rk, char *json, size_t len, void *opaque)
{
    struct mr_source *src = opaque;
    json_t *stats = json_loadb(json, len, 0, NULL);
    (void)rk;

    if (stats && any_broker_up(stats))
        mr_kafka_contact(src);
    for (size_t i = 0; stats && !src->bounded && i < src->part_count; i++)
        if (src->parts[i]->assigned)
            take_end(src, src->parts[i], json_object_get(stats, "topics"));
    json_decref(stats);
    return 0; /* the library frees the text */
}

/* ---- Logs; from any of the library's threads ---- */

void mr_kafka_on_log(const rd_kafka_t *rk, int level, const char *facility_z, const char *text_z)
{
    enum mr_log_level ours = level <= 2 ? MR_LOG_ERROR : level <= 4 ? MR_LOG_WARN : MR_LOG_DEBUG;
    (void)rk;

    mr_log(ours, "librdkafka", MR_KV_Z("facility", facility_z), MR_KV_Z("text", text_z));
}
