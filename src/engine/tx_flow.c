/* `transactions: source`: records between the source and the batches. What was polled is looked at for its transaction and waits in the queue
 * (source_tx.h) until that is whole; flow.c fills batches with whole ones. Main thread only.
 *
 * A record is decoded here, and once more when it enters a batch, as it is whenever a batch is made anew. */
#include "internal.h"

#include <regex.h>

#include <millrace/base/log.h>
#include <millrace/base/mem.h>
#include <millrace/base/time.h>

/* ---- what is read ---- */

static bool matches(const char *pattern_z, struct mr_str topic)
{
    regex_t compiled;
    if (pattern_z[0] != '^')
        return mr_str_eq_z(topic, pattern_z);
    if (regcomp(&compiled, pattern_z, REG_EXTENDED | REG_NOSUB) != 0)
        return false;
    char *topic_z = mr_xstrndup(topic.ptr, topic.len);
    bool found = regexec(&compiled, topic_z, 0, NULL, 0) == 0;
    mr_xfree(topic_z);
    regfree(&compiled);
    return found;
}

static bool reads_topic(void *ctx, struct mr_str topic)
{
    const struct mr_engine *e = ctx;
    for (size_t i = 0; i < e->cfg->kafka_topics.count; i++)
        if (matches(e->cfg->kafka_topics.items[i], topic))
            return true;
    for (size_t i = 0; i < e->part_states.count; i++)
        if (e->part_states.items[i] != NULL && mr_str_eq_z(topic, e->part_states.items[i]->part->topic_z))
            return true;
    return false;
}

static size_t partitions(void *ctx, struct mr_str topic)
{
    const struct mr_engine *e = ctx;
    size_t count = 0;
    for (size_t i = 0; i < e->part_states.count; i++) {
        const struct mr_part_state *ps = e->part_states.items[i];
        count += ps != NULL && mr_str_eq_z(topic, ps->part->topic_z);
    }
    return count;
}

/* ---- life ---- */

void mr_engine_tx_start(struct mr_engine *e)
{
    if (e->cfg->transactions != MR_TRANSACTIONS_SOURCE)
        return;
    struct mr_tx_settings set = {
        .max_bytes = (size_t)e->cfg->transaction_bytes,
        .wait_ms = e->cfg->transaction_wait_ms,
        .is_file = strcmp(e->source_ops->name, "file") == 0,
        .ctx = e,
        .reads_topic = reads_topic,
        .partitions = partitions,
    };
    e->txq = mr_tx_queue_create(&set);
    e->peek_ar = mr_arena_create(1u << 16);
}

/* What still waits is left where it is: the next run reads it again. */
void mr_engine_tx_end(struct mr_engine *e, bool ok)
{
    const struct mr_record *left;
    if (e->txq == NULL)
        return;
    size_t unfinished = mr_tx_queue_unfinished(e->txq), count = mr_tx_queue_take_all(e->txq, &left);
    for (size_t i = 0; i < count; i++)
        mr_engine_unref_chunk(e, left[i].chunk);
    if (ok && count > 0 && e->source_ended)
        mr_log(MR_LOG_WARN, "the input ends within transactions; they, and what is behind them, are left for the next run",
               MR_KV_INT("transactions", unfinished), MR_KV_INT("records", count));
    mr_tx_queue_destroy(e->txq);
    e->txq = NULL;
    mr_arena_destroy(e->peek_ar);
    e->peek_ar = NULL;
}

/* ---- in ---- */

static enum mr_status add(struct mr_engine *e, const struct mr_record *rec, struct mr_error *err)
{
    struct mr_tx_mark mark;
    enum mr_status status;
    mr_arena_reset(e->peek_ar);
    MR_WITH_TARGET(e, status, err, mr_intake_peek(&e->intake, rec, e->peek_ar, &mark, err));
    MR_TRY(status);
    return mr_tx_queue_add(e->txq, rec, &mark, err);
}

/* Partitions that are far ahead of the others are not read further: what they bring would only have to be held. */
static void hold_back(struct mr_engine *e)
{
    for (size_t i = 0; e->source_ops->hold != NULL && i < e->part_states.count; i++) {
        struct mr_part_state *ps = e->part_states.items[i];
        bool is_ahead = ps != NULL && ps->owned && mr_tx_queue_is_ahead(e->txq, ps->part);
        if (ps == NULL || ps->is_ahead == is_ahead)
            continue;
        ps->is_ahead = is_ahead;
        e->source_ops->hold(e->source, ps->part, is_ahead);
    }
}

enum mr_status mr_engine_tx_feed(struct mr_engine *e, struct mr_error *err)
{
    struct mr_chunk *chunk = e->chunk;
    while (chunk != NULL && chunk->next < chunk->count) {
        struct mr_record *rec = &chunk->records[chunk->next];
        struct mr_part_state *ps = mr_parts_get(&e->part_states, rec->part);
        if (!mr_engine_is_current(ps, rec) || rec->position <= ps->queued) { /* taken away, or told again after a rebalance */
            chunk->next++;
            continue;
        }
        rec->chunk = chunk;
        MR_TRY(add(e, rec, err));
        chunk->refs++;
        chunk->next++;
        if (mr_engine_is_current(ps, rec)) /* still: decoding it may have waited for the target */
            ps->queued = rec->position;
    }
    mr_engine_tx_tick(e);
    return MR_OK;
}

void mr_engine_tx_tick(struct mr_engine *e)
{
    if (e->source_ended && (e->chunk == NULL || e->chunk->next == e->chunk->count))
        mr_tx_queue_finish(e->txq);
    mr_tx_queue_tick(e->txq, mr_monotonic_ms());
    const struct mr_tx_counts *counts = mr_tx_queue_counts(e->txq);
    e->stats->transactions = counts->whole;
    e->stats->transactions_split = counts->split;
    e->stats->transactions_short = counts->short_of;
    hold_back(e);
}

/* ---- once more ---- */

enum mr_status mr_engine_tx_requeue(struct mr_engine *e, struct mr_error *err)
{
    const struct mr_record *waiting;
    size_t count = 0, waits = mr_tx_queue_take_all(e->txq, &waiting);
    for (size_t i = 0; i < e->todo_count; i++)
        count += e->todo[i]->record_count;
    struct mr_record *all = mr_xcalloc(count + waits + 1, sizeof *all);
    count = 0;
    for (size_t i = 0; i < e->todo_count; i++) {
        for (size_t k = 0; k < e->todo[i]->record_count; k++) {
            all[count] = e->todo[i]->records[k];
            all[count++].chunk->refs++;
        }
        mr_engine_recycle(e, e->todo[i]);
    }
    e->todo_count = 0;
    memcpy(all + count, waiting, waits * sizeof *all);
    count += waits;
    e->requeue = false;
    enum mr_status status = MR_OK;
    for (size_t i = 0; i < count; i++) {
        bool is_kept = status == MR_OK && mr_engine_is_current(mr_parts_get(&e->part_states, all[i].part), &all[i]);
        all[i].goes_along = false;
        if (is_kept)
            status = add(e, &all[i], err);
        if (!is_kept || status != MR_OK)
            mr_engine_unref_chunk(e, all[i].chunk);
    }
    mr_xfree(all);
    return status;
}
