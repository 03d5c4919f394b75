/* The table of partitions, and what is done to several of them. */
#include "kafka_parts.h"

#include <millrace/base/buf.h>
#include <millrace/base/mem.h>
#include <millrace/base/time.h>

#include <string.h>

#define COMMIT_INTERVAL_MS 1000

struct mr_kafka_part *mr_kafka_part_get(struct mr_source *src, const char *topic_z, int32_t partition)
{
    struct mr_buf key = MR_BUF_INIT(4096);
    struct mr_kafka_part *kp;

    mr_buf_append(&key, topic_z, strlen(topic_z) + 1);
    mr_buf_append(&key, &partition, sizeof(partition));
    kp = mr_map_get(src->by_name, mr_buf_str(&key));
    if (!kp) {
        kp = mr_xcalloc(1, sizeof(*kp));
        kp->part.topic_z = mr_xstrdup(topic_z);
        kp->part.partition = partition;
        kp->part.index = (uint32_t)src->part_count;
        kp->next = kp->end = kp->commit = -1;
        src->parts = mr_xgrow(src->parts, &src->part_cap, src->part_count + 1, sizeof(*src->parts));
        src->parts[src->part_count++] = kp;
        mr_map_put(src->by_name, mr_buf_str(&key), kp);
    }
    mr_buf_free(&key);
    return kp;
}

struct mr_kafka_part *mr_kafka_part_of(struct mr_source *src, const rd_kafka_message_t *msg)
{
    const char *topic_z = rd_kafka_topic_name(msg->rkt);

    if (!src->last || src->last->part.partition != msg->partition ||
        strcmp(src->last->part.topic_z, topic_z) != 0)
        src->last = mr_kafka_part_get(src, topic_z, msg->partition);
    return src->last;
}

bool mr_kafka_part_reads(const struct mr_kafka_part *kp)
{
    return kp->assigned && !kp->done && !kp->dropped && !kp->stopped;
}

rd_kafka_topic_partition_list_t *mr_kafka_reading(const struct mr_source *src)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)src->part_count);

    for (size_t i = 0; i < src->part_count; i++) {
        const struct mr_kafka_part *kp = src->parts[i];

        if (mr_kafka_part_reads(kp))
            rd_kafka_topic_partition_list_add(list, kp->part.topic_z, kp->part.partition)->offset =
                kp->next;
    }
    return list;
}

void mr_kafka_stop_fetching(struct mr_source *src, const struct mr_kafka_part *kp)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);

    rd_kafka_topic_partition_list_add(list, kp->part.topic_z, kp->part.partition);
    rd_kafka_pause_partitions(src->rk, list);
    rd_kafka_topic_partition_list_destroy(list);
}

void mr_kafka_commit_due(struct mr_source *src, bool now)
{
    int64_t time_ms = mr_monotonic_ms();
    rd_kafka_topic_partition_list_t *list;

    if (!now && time_ms - src->committed_ms < COMMIT_INTERVAL_MS)
        return;
    src->committed_ms = time_ms;
    list = rd_kafka_topic_partition_list_new(8);
    for (size_t i = 0; i < src->part_count; i++) {
        struct mr_kafka_part *kp = src->parts[i];

        if (kp->commit < 0)
            continue;
        rd_kafka_topic_partition_list_add(list, kp->part.topic_z, kp->part.partition)->offset =
            kp->commit;
        kp->commit = -1;
    }
    if (list->cnt > 0)
        (void)rd_kafka_commit(src->rk, list, 1); /* advisory: a failure costs nobody anything */
    rd_kafka_topic_partition_list_destroy(list);
}

void mr_kafka_forget_in_hand(struct mr_source *src)
{
    struct mr_kafka_poll *call = src->call;
    size_t kept = 0;

    if (src->held && src->held->rkt && !mr_kafka_part_of(src, src->held)->assigned) {
        rd_kafka_message_destroy(src->held);
        src->held = NULL;
    }
    if (!call)
        return;
    for (size_t i = 0; i < call->count; i++) {
        struct mr_record *rec = &call->out[i];

        if (src->parts[rec->part->index]->assigned)
            call->out[kept++] = *rec;
        else
            rd_kafka_message_destroy(rec->owner);
    }
    call->count = kept;
}

/* Times to offsets (OFFSET_END counts as a time: the end as it is now). One question to the brokers. */
static enum mr_status resolve(struct mr_source *src, rd_kafka_topic_partition_list_t *list, struct mr_error *err)
{
    rd_kafka_resp_err_t code = rd_kafka_offsets_for_times(src->rk, list, MR_KAFKA_REQUEST_MS);

    for (int i = 0; code == RD_KAFKA_RESP_ERR_NO_ERROR && i < list->cnt; i++)
        code = list->elems[i].err;
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return mr_kafka_fail(err, code, "cannot find the offsets of source.kafka.start", NULL);
    return MR_OK;
}

enum mr_status mr_kafka_start_offsets(struct mr_source *src, rd_kafka_topic_partition_list_t *list,
                                      struct mr_error *err)
{
    bool is_earliest = src->cfg->kafka_start == MR_START_EARLIEST, is_time = src->cfg->kafka_start == MR_START_TIME;

    for (int i = 0; i < list->cnt; i++)
        list->elems[i].offset = is_earliest ? RD_KAFKA_OFFSET_BEGINNING : is_time ? src->cfg->kafka_start_ms : RD_KAFKA_OFFSET_END;
    if (is_earliest || list->cnt == 0)
        return MR_OK;
    if (is_time)
        MR_TRY(resolve(src, list, err));
    /* The end, or nothing as young as that time. The end of this moment: at the next start it would be another. */
    rd_kafka_topic_partition_list_t *at_end = rd_kafka_topic_partition_list_new(list->cnt);
    enum mr_status status = MR_OK;
    for (int i = 0; i < list->cnt; i++)
        if (list->elems[i].offset < 0)
            rd_kafka_topic_partition_list_add(at_end, list->elems[i].topic, list->elems[i].partition)->offset = RD_KAFKA_OFFSET_END;
    if (at_end->cnt > 0)
        status = resolve(src, at_end, err);
    for (int i = 0; status == MR_OK && i < at_end->cnt; i++)
        rd_kafka_topic_partition_list_find(list, at_end->elems[i].topic, at_end->elems[i].partition)->offset = at_end->elems[i].offset;
    rd_kafka_topic_partition_list_destroy(at_end);
    return status;
}

void mr_kafka_parts_free(struct mr_source *src)
{
    for (size_t i = 0; i < src->part_count; i++) {
        mr_xfree((void *)(uintptr_t)src->parts[i]->part.topic_z);
        mr_xfree(src->parts[i]);
    }
    mr_xfree(src->parts);
    mr_map_destroy(src->by_name, NULL);
    mr_map_destroy(src->warned, NULL);
}
