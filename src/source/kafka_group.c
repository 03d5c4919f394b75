/* The consumer group: partitions come and go. Eager protocols take all and give all anew, the cooperative one moves single partitions; the
 * listener sees the same either way. The callback runs inside rd_kafka_consumer_poll, so no record of a partition that leaves is under
 * way but those that the present poll holds in hand, and these are forgotten first: the next owner reads them. */
#include "kafka_parts.h"

#include <millrace/base/log.h>
#include <millrace/base/mem.h>
#include <millrace/base/time.h>

#include <string.h>

#define REJOIN_MS 2000

enum mr_status mr_kafka_subscribe(struct mr_source *src, struct mr_error *err)
{
    const struct mr_strings *topics = &src->cfg->kafka_topics;
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)topics->count);
    rd_kafka_resp_err_t code;

    for (size_t i = 0; i < topics->count; i++)
        rd_kafka_topic_partition_list_add(list, topics->items[i], RD_KAFKA_PARTITION_UA);
    code = rd_kafka_subscribe(src->rk, list);
    rd_kafka_topic_partition_list_destroy(list);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return mr_fail(err, MR_E_CONFIG, "cannot subscribe: %s", rd_kafka_err2str(code));
    return MR_OK;
}

static bool is_cooperative(rd_kafka_t *rk)
{
    const char *protocol_z = rd_kafka_rebalance_protocol(rk);

    return protocol_z && strcmp(protocol_z, "COOPERATIVE") == 0;
}

/* librdkafka waits for one of these calls after every rebalance, whatever has become of it. */
static void tell_assigned(struct mr_source *src, const rd_kafka_topic_partition_list_t *list)
{
    rd_kafka_error_t *error = NULL;
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;

    if (is_cooperative(src->rk))
        error = rd_kafka_incremental_assign(src->rk, list);
    else
        code = rd_kafka_assign(src->rk, list);
    if (error || code != RD_KAFKA_RESP_ERR_NO_ERROR)
        mr_log(MR_LOG_WARN, "assignment refused by the client library",
               MR_KV_Z("reason", error ? rd_kafka_error_string(error) : rd_kafka_err2str(code)));
    if (error)
        rd_kafka_error_destroy(error);
}

static void tell_revoked(struct mr_source *src, const rd_kafka_topic_partition_list_t *list)
{
    rd_kafka_error_t *error = NULL;

    if (is_cooperative(src->rk))
        error = rd_kafka_incremental_unassign(src->rk, list);
    else
        (void)rd_kafka_assign(src->rk, NULL);
    if (error) {
        mr_log(MR_LOG_WARN, "revocation refused by the client library",
               MR_KV_Z("reason", rd_kafka_error_string(error)));
        rd_kafka_error_destroy(error);
    }
}

static const struct mr_partition **partitions_of(struct mr_source *src,
                                                 const rd_kafka_topic_partition_list_t *list)
{
    const struct mr_partition **parts = mr_xcalloc((size_t)list->cnt + 1, sizeof(*parts));

    for (int i = 0; i < list->cnt; i++)
        parts[i] = &mr_kafka_part_get(src, list->elems[i].topic, list->elems[i].partition)->part;
    return parts;
}

/* Nothing of this assignment is read. Ask the group again in a while, unless we are on our way out. */
static void refuse_assignment(struct mr_source *src)
{
    rd_kafka_topic_partition_list_t *none = rd_kafka_topic_partition_list_new(0);

    tell_assigned(src, none);
    rd_kafka_topic_partition_list_destroy(none);
    src->rejoin = true;
    src->rejoin_ms = mr_monotonic_ms() + REJOIN_MS;
}

static void begin_at(struct mr_source *src, rd_kafka_topic_partition_list_t *list,
                     const int64_t *positions)
{
    for (int i = 0; i < list->cnt; i++) {
        struct mr_kafka_part *kp =
            mr_kafka_part_get(src, list->elems[i].topic, list->elems[i].partition);

        if (positions[i] != MR_POSITION_NONE)
            list->elems[i].offset = positions[i];
        kp->assigned = true;
        kp->dropped = kp->stopped = kp->held = false;
        kp->next = list->elems[i].offset >= 0 ? list->elems[i].offset : -1;
        kp->commit = -1;
    }
}

static void assigned(struct mr_source *src, rd_kafka_topic_partition_list_t *list)
{
    const struct mr_partition **parts = partitions_of(src, list);
    int64_t *positions = mr_xcalloc((size_t)list->cnt + 1, sizeof(*positions));
    /* Where to begin without a stored position first: it may fail, and then the listener need not know. */
    enum mr_status status = mr_kafka_start_offsets(src, list, &src->failed);

    for (int i = 0; i < list->cnt; i++)
        positions[i] = status == MR_OK && list->elems[i].offset >= 0 ? list->elems[i].offset : MR_POSITION_NONE;
    if (status == MR_OK && list->cnt > 0)
        status = src->listener->assigned(src->listener->ctx, parts, (size_t)list->cnt, positions,
                                         &src->failed);
    if (status == MR_OK) {
        begin_at(src, list, positions);
        tell_assigned(src, list);
        /* librdkafka keeps a partition paused over being revoked and assigned anew (test_partitions_are_taken_while_the_batches_wait). */
        if (list->cnt > 0)
            (void)(src->paused ? rd_kafka_pause_partitions(src->rk, list) : rd_kafka_resume_partitions(src->rk, list));
    } else {
        src->failed.status = status;
        refuse_assignment(src);
    }
    mr_xfree(positions);
    mr_xfree(parts);
}

static void revoked(struct mr_source *src, rd_kafka_topic_partition_list_t *list)
{
    const struct mr_partition **parts = partitions_of(src, list);
    bool is_lost = rd_kafka_assignment_lost(src->rk);
    size_t count = 0;

    for (int i = 0; i < list->cnt; i++) {
        struct mr_kafka_part *kp = src->parts[parts[i]->index];

        if (kp->assigned)
            parts[count++] = &kp->part;
        kp->assigned = false;
    }
    mr_kafka_forget_in_hand(src);
    if (count > 0)
        src->listener->revoked(src->listener->ctx, parts, count, is_lost);
    if (!is_lost)
        mr_kafka_commit_due(src, true);
    for (size_t i = 0; i < count; i++)
        src->parts[parts[i]->index]->commit = -1;
    tell_revoked(src, list);
    mr_xfree(parts);
}

void mr_kafka_on_rebalance(rd_kafka_t *rk, rd_kafka_resp_err_t code,
                           rd_kafka_topic_partition_list_t *list, void *opaque)
{
    struct mr_source *src = opaque;

    mr_kafka_contact(src);
    switch (code) {
    case RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS:
        if (list->cnt == 0 && !src->closing && !(src->was_assigned && is_cooperative(rk)))
            mr_log(MR_LOG_INFO, "the consumer group has no partition for this instance; it stands by", MR_KV_Z("group", src->cfg->kafka_group));
        src->was_assigned = true;
        if (src->closing)
            tell_assigned(src, list); /* given and taken in one breath: nobody reads it */
        else
            assigned(src, list);
        break;
    case RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS:
        revoked(src, list);
        break;
    default:
        mr_log(MR_LOG_WARN, "rebalance failed", MR_KV_Z("reason", rd_kafka_err2str(code)));
        (void)rd_kafka_assign(rk, NULL);
        break;
    }
}
