/* What `check` and `status` ask the brokers: are they there, are the topics there, where do the partitions end. A client of its own for each
 * question, which reads no record and joins no group. */
#include "kafka_parts.h"
#include "source_ops.h"

#include <millrace/base/buf.h>
#include <millrace/base/mem.h>
#include <millrace/base/time.h>

#include <stdio.h>

#define METADATA_MS 1000

static enum mr_status no_partitions(void *ctx, const struct mr_partition *const *parts, size_t count, int64_t *position,
                                    struct mr_error *err)
{
    (void)ctx, (void)parts, (void)count, (void)position;
    return mr_fail(err, MR_E_BUG, "a client that only asks was given partitions");
}

static void nothing_revoked(void *ctx, const struct mr_partition *const *parts, size_t count, bool lost)
{
    (void)ctx, (void)parts, (void)count, (void)lost;
}

const struct mr_source_listener mr_kafka_no_listener = {.assigned = no_partitions, .revoked = nothing_revoked};

/* Why nobody answers, if the client has said so by now. */
static enum mr_status reason(struct mr_source *src, rd_kafka_resp_err_t code, struct mr_error *err)
{
    rd_kafka_message_t *msg = rd_kafka_consumer_poll(src->rk, 0); /* serves the error callback */

    if (msg)
        rd_kafka_message_destroy(msg);
    if (src->failed.status != MR_OK) {
        *err = src->failed;
        return err->status;
    }
    if (code == RD_KAFKA_RESP_ERR__TRANSPORT || code == RD_KAFKA_RESP_ERR__TIMED_OUT) {
        mr_fail(err, MR_E_ENV, "no Kafka broker answers at %s%s%s", src->cfg->kafka_brokers, src->trouble[0] ? ": " : "",
                src->trouble);
        return MR_E_ENV;
    }
    return mr_kafka_fail(err, code, "cannot list the topics", NULL);
}

static enum mr_status ask_metadata(struct mr_source *src, int64_t deadline_ms, const rd_kafka_metadata_t **md,
                                   struct mr_error *err)
{
    for (;;) {
        rd_kafka_resp_err_t code = rd_kafka_metadata(src->rk, 1, NULL, md, METADATA_MS);

        if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
            return MR_OK;
        enum mr_status status = reason(src, code, err);
        if (status != MR_E_ENV || mr_monotonic_ms() >= deadline_ms)
            return status;
        mr_sleep_ms(50); /* a refused connection fails at once */
    }
}

static void tell_topics(struct mr_source *src, const rd_kafka_metadata_t *md, mr_finding_fn fn, void *ctx)
{
    char text[512];

    snprintf(text, sizeof(text), "%s answers (%d broker%s, %d topic%s)", src->cfg->kafka_brokers, md->broker_cnt,
             md->broker_cnt == 1 ? "" : "s", md->topic_cnt, md->topic_cnt == 1 ? "" : "s");
    fn(ctx, &(struct mr_finding){.subject_z = "source", .text = mr_str_z(text)});
    for (size_t i = 0; i < src->cfg->kafka_topics.count; i++) {
        const char *wanted_z = src->cfg->kafka_topics.items[i];
        struct mr_error err = {0};
        size_t before = src->part_count;
        enum mr_status status = mr_kafka_add_topic(src, md, wanted_z, &err);

        snprintf(text, sizeof(text), "%s: %zu partition%s", wanted_z, src->part_count - before,
                 src->part_count - before == 1 ? "" : "s");
        fn(ctx, &(struct mr_finding){.subject_z = "topic",
                                     .text = mr_str_z(status == MR_OK ? text : wanted_z),
                                     .err = status == MR_OK ? NULL : &err});
    }
}

void mr_kafka_check(const struct mr_config *cfg, int timeout_ms, mr_finding_fn fn, void *ctx)
{
    struct mr_source *src = NULL;
    struct mr_error err = {0};
    const rd_kafka_metadata_t *md = NULL;
    enum mr_status status = mr_source_kafka.create(cfg, true, &mr_kafka_no_listener, &src, &err);

    if (status == MR_OK)
        status = ask_metadata(src, mr_monotonic_ms() + timeout_ms, &md, &err);
    if (status == MR_OK) {
        tell_topics(src, md, fn, ctx);
        rd_kafka_metadata_destroy(md);
    } else {
        fn(ctx, &(struct mr_finding){.subject_z = "source", .text = mr_str_z(cfg->kafka_brokers), .err = &err});
    }
    mr_source_kafka.destroy(src);
}

/* ---- Ends ---- */

enum mr_status mr_kafka_ends(const struct mr_config *cfg, const struct mr_partition *parts, size_t count, int timeout_ms,
                             int64_t *end, struct mr_error *err)
{
    struct mr_source *src = NULL;
    const rd_kafka_metadata_t *md = NULL;
    int64_t deadline_ms = mr_monotonic_ms() + timeout_ms;

    for (size_t i = 0; i < count; i++)
        end[i] = -1;
    MR_TRY(mr_source_kafka.create(cfg, true, &mr_kafka_no_listener, &src, err));
    enum mr_status status = ask_metadata(src, deadline_ms, &md, err);
    for (size_t i = 0; status == MR_OK && i < count; i++) {
        int64_t first, left_ms = deadline_ms - mr_monotonic_ms();

        if (left_ms <= 0)
            break; /* the rest stays unknown */
        if (rd_kafka_query_watermark_offsets(src->rk, parts[i].topic_z, parts[i].partition, &first, &end[i],
                                             (int)left_ms) != RD_KAFKA_RESP_ERR_NO_ERROR)
            end[i] = -1;
    }
    if (md)
        rd_kafka_metadata_destroy(md);
    mr_source_kafka.destroy(src);
    return status;
}
