/* backfill: the partitions as they are now, each up to the end it has now. No group is joined: a group moves partitions about, and what "the
 * present end" of a partition is would then depend on who had it. So one instance reads the whole topic; stored positions and the fence
 * work all the same.
 *
 * A partition is done when its end is reached, or when the brokers say that there is nothing more to read (PARTITION_EOF): records of
 * aborted transactions and control records take offsets but never arrive, and a transaction that stays open hides what follows. */
#include "kafka_parts.h"

#include <millrace/base/buf.h>
#include <millrace/base/log.h>
#include <millrace/base/mem.h>
#include <millrace/base/time.h>

#include <regex.h>
#include <string.h>

#define METADATA_MS 1000 /* shorter, and a slow cluster would never answer */
#define NEAR_NAMES 3

static bool is_internal(const char *topic_z)
{
    return strcmp(topic_z, "__consumer_offsets") == 0 || strcmp(topic_z, "__transaction_state") == 0 ||
           strcmp(topic_z, "__share_group_state") == 0;
}

static void add_topic(struct mr_source *src, const rd_kafka_metadata_topic_t *topic)
{
    for (int i = 0; i < topic->partition_cnt; i++)
        (void)mr_kafka_part_get(src, topic->topic, topic->partitions[i].id);
}

/* "did you mean": the names with the smallest distance. */
static void hint_nearest(const rd_kafka_metadata_t *md, const char *wanted_z, struct mr_error *err)
{
    struct mr_buf text = MR_BUF_INIT(512);
    size_t worst = 0, found = 0;

    /* Names are few enough to walk them once for every distance. */
    for (size_t distance = 0; distance <= 1 + strlen(wanted_z) / 3 && found < NEAR_NAMES; distance++) {
        for (int i = 0; i < md->topic_cnt && found < NEAR_NAMES; i++) {
            if (mr_str_distance(mr_str_z(wanted_z), mr_str_z(md->topics[i].topic)) != distance)
                continue;
            mr_buf_printf(&text, "%s%s", found ? ", " : "", md->topics[i].topic);
            found++;
            worst = distance;
        }
    }
    if (found > 0)
        mr_error_hint(err, "%s: %s", worst == 0 || found > 1 ? "topics with such a name" : "did you mean",
                      mr_buf_z(&text));
    else
        mr_error_hint(err, "the cluster has %d topics, none with a similar name", md->topic_cnt);
    mr_buf_free(&text);
}

static enum mr_status add_named(struct mr_source *src, const rd_kafka_metadata_t *md,
                                const char *wanted_z, struct mr_error *err)
{
    for (int i = 0; i < md->topic_cnt; i++) {
        if (strcmp(md->topics[i].topic, wanted_z) != 0)
            continue;
        if (md->topics[i].partition_cnt == 0)
            return mr_kafka_fail(err, md->topics[i].err, "topic has no partitions now", wanted_z);
        add_topic(src, &md->topics[i]);
        return MR_OK;
    }
    mr_fail(err, MR_E_CONFIG, "there is no topic \"%s\"", wanted_z);
    hint_nearest(md, wanted_z, err);
    return MR_E_CONFIG;
}

static enum mr_status add_matching(struct mr_source *src, const rd_kafka_metadata_t *md,
                                   const char *pattern_z, struct mr_error *err)
{
    regex_t compiled;
    bool any = false;

    if (regcomp(&compiled, pattern_z, REG_EXTENDED | REG_NOSUB) != 0)
        return mr_fail(err, MR_E_CONFIG, "\"%s\" is no regular expression", pattern_z);
    for (int i = 0; i < md->topic_cnt; i++) {
        const char *topic_z = md->topics[i].topic;

        if (is_internal(topic_z) || regexec(&compiled, topic_z, 0, NULL, 0) != 0)
            continue;
        add_topic(src, &md->topics[i]);
        any = true;
    }
    regfree(&compiled);
    if (!any)
        return mr_fail(err, MR_E_CONFIG, "no topic matches \"%s\"", pattern_z);
    return MR_OK;
}

enum mr_status mr_kafka_add_topic(struct mr_source *src, const rd_kafka_metadata_t *md, const char *wanted_z,
                                  struct mr_error *err)
{
    return wanted_z[0] == '^' ? add_matching(src, md, wanted_z, err) : add_named(src, md, wanted_z, err);
}

/* The cluster does not answer. Nothing has been polled yet, so the reason still waits in the queue. */
static enum mr_status no_answer(struct mr_source *src, rd_kafka_resp_err_t code, struct mr_error *err)
{
    rd_kafka_message_t *msg = rd_kafka_consumer_poll(src->rk, 0);

    if (msg)
        rd_kafka_message_destroy(msg);
    if (src->failed.status != MR_OK)
        return MR_OK; /* the poll that called us returns it */
    if (!src->contact)
        return mr_kafka_check_contact(src, err);
    return mr_kafka_fail(err, code, "cannot list the topics", NULL);
}

static enum mr_status find_topics(struct mr_source *src, bool *done, struct mr_error *err)
{
    const struct mr_strings *topics = &src->cfg->kafka_topics;
    const rd_kafka_metadata_t *md;
    enum mr_status status = MR_OK;
    rd_kafka_resp_err_t code = rd_kafka_metadata(src->rk, 1, NULL, &md, METADATA_MS);

    *done = false;
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return no_answer(src, code, err);
    *done = true;
    mr_kafka_contact(src);
    for (size_t i = 0; i < topics->count && status == MR_OK; i++)
        status = mr_kafka_add_topic(src, md, topics->items[i], err);
    rd_kafka_metadata_destroy(md);
    return status;
}

/* First and end offset of one partition, and where it would begin. */
static enum mr_status find_end(struct mr_source *src, struct mr_kafka_part *kp, struct mr_error *err)
{
    rd_kafka_topic_partition_list_t *list;
    enum mr_status status;
    rd_kafka_resp_err_t code =
        rd_kafka_query_watermark_offsets(src->rk, kp->part.topic_z, kp->part.partition, &kp->first,
                                         &kp->end, MR_KAFKA_REQUEST_MS);

    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return mr_kafka_fail(err, code, "cannot find the end of", kp->part.topic_z);
    list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, kp->part.topic_z, kp->part.partition);
    status = mr_kafka_start_offsets(src, list, err);
    kp->start = list->elems[0].offset;
    rd_kafka_topic_partition_list_destroy(list);
    if (kp->start == RD_KAFKA_OFFSET_BEGINNING)
        kp->start = kp->first;
    else if (kp->start == RD_KAFKA_OFFSET_END)
        kp->start = kp->end;
    return status;
}

static enum mr_status find_ends(struct mr_source *src, int64_t deadline_ms, bool *done,
                                struct mr_error *err)
{
    *done = false;
    while (src->stage_at < src->part_count) {
        MR_TRY(find_end(src, src->parts[src->stage_at], err));
        src->stage_at++;
        if (mr_monotonic_ms() > deadline_ms && src->stage_at < src->part_count)
            return MR_OK;
    }
    *done = true;
    return MR_OK;
}

static enum mr_status assign_all(struct mr_source *src, struct mr_error *err)
{
    const struct mr_partition **parts = mr_xcalloc(src->part_count + 1, sizeof(*parts));
    int64_t *positions = mr_xcalloc(src->part_count + 1, sizeof(*positions));
    enum mr_status status;

    for (size_t i = 0; i < src->part_count; i++) {
        parts[i] = &src->parts[i]->part;
        positions[i] = MR_POSITION_NONE;
    }
    status = src->listener->assigned(src->listener->ctx, parts, src->part_count, positions, err);
    if (status == MR_OK) {
        rd_kafka_topic_partition_list_t *list;

        for (size_t i = 0; i < src->part_count; i++) {
            struct mr_kafka_part *kp = src->parts[i];

            kp->assigned = true;
            kp->next = positions[i] == MR_POSITION_NONE ? kp->start : positions[i];
            kp->done = kp->next >= kp->end;
        }
        list = mr_kafka_reading(src);
        if (rd_kafka_assign(src->rk, list) != RD_KAFKA_RESP_ERR_NO_ERROR)
            status = mr_fail(err, MR_E_BUG, "the client library refuses the partitions");
        rd_kafka_topic_partition_list_destroy(list);
    }
    mr_xfree(positions);
    mr_xfree(parts);
    return status;
}

enum mr_status mr_kafka_open_bounded(struct mr_source *src, int timeout_ms, bool *open,
                                     struct mr_error *err)
{
    int64_t deadline_ms = mr_monotonic_ms() + timeout_ms;
    bool done;

    *open = false;
    switch (src->stage) {
    case MR_KAFKA_TOPICS:
        MR_TRY(find_topics(src, &done, err));
        if (done)
            src->stage = MR_KAFKA_ENDS;
        break;
    case MR_KAFKA_ENDS:
        MR_TRY(find_ends(src, deadline_ms, &done, err));
        if (done)
            src->stage = MR_KAFKA_ASSIGN;
        break;
    case MR_KAFKA_ASSIGN:
        MR_TRY(assign_all(src, err));
        src->stage = MR_KAFKA_READING;
        *open = true;
        break;
    case MR_KAFKA_READING:
        *open = true;
        break;
    }
    return MR_OK;
}

bool mr_kafka_all_done(const struct mr_source *src)
{
    if (src->stage != MR_KAFKA_READING)
        return false;
    for (size_t i = 0; i < src->part_count; i++)
        if (mr_kafka_part_reads(src->parts[i]))
            return false;
    return true;
}

void mr_kafka_part_done(struct mr_source *src, struct mr_kafka_part *kp)
{
    if (kp->done)
        return;
    kp->done = true;
    mr_kafka_stop_fetching(src, kp);
    mr_log(MR_LOG_DEBUG, "partition read to its end", MR_KV_Z("topic", kp->part.topic_z),
           MR_KV_INT("partition", kp->part.partition), MR_KV_INT("end", kp->end));
}
