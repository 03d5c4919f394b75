/* The flow of batches, a step at a time: fill one while the appliers work on those before, give it away when it is due, make anew what came back.
 * Main thread only. */
#include "flow_parts.h"

#include <millrace/base/log.h>
#include <millrace/base/time.h>

/* ---- records that wait for later ones ---- */

#define HOLD_MS 30000
#define HOLD_RECORDS 16384

static bool is_full(const struct mr_engine *e);

static bool is_all_read(const struct mr_engine *e)
{
    return e->source_ended && e->todo_count == 0 && mr_engine_chunk_is_read(e);
}

/* The open batch begins with a record that waits for another: is there time, and room, to wait on? */
static bool may_wait(const struct mr_engine *e)
{
    return !is_full(e) && mr_monotonic_ms() - e->open->opened_ms < HOLD_MS;
}

/* What the batch waits for is not waited for any longer. It may still come, and find its half in memory. */
static enum mr_status give_up(struct mr_engine *e, struct mr_batch *batch, struct mr_error *err)
{
    for (size_t i = 0; i < batch->hold_count; i++) {
        struct mr_part_state *ps = mr_parts_get(&e->part_states, batch->holds[i].part->part);
        ps->given_up = ps->taken;
    }
    return mr_engine_make_batch(e, batch, err);
}

static bool is_held(const struct mr_batch *batch, const struct mr_record *rec)
{
    for (size_t i = 0; i < batch->hold_count; i++)
        if (batch->holds[i].part->part == rec->part)
            return true;
    return false;
}

/* The index of the first record that still waits, now that nothing more will come; what waited before it and has found its other half, or never will,
 * is waited for no longer. */
static size_t first_waiting(struct mr_engine *e, struct mr_batch *batch)
{
    size_t first = batch->record_count;
    for (size_t i = 0; i < batch->hold_count; i++) {
        struct mr_part_state *ps = mr_parts_get(&e->part_states, batch->holds[i].part->part);
        int64_t since = mr_decoder_set_waits(e->intake.decoders, ps->part, ps->taken, ps->given_up);
        for (size_t k = 0; since != 0 && k < first; k++)
            if (batch->records[k].part == ps->part && batch->records[k].position == since)
                first = k;
        if (since != 0)
            ps->given_up = since - 1;
    }
    return first;
}

/* The input ends between the halves of an update. What is before the first half is applied; it and what is behind it in its partition are left for the
 * next time. */
static enum mr_status end_of_input(struct mr_engine *e, struct mr_batch *batch, struct mr_error *err)
{
    size_t first = first_waiting(e, batch), kept = 0;
    if (first > 0 && first < batch->record_count)
        mr_engine_cut_batch(e, batch, (uint32_t)first);
    if (first > 0)
        return mr_engine_make_batch(e, batch, err);
    mr_log_plain(MR_LOG_WARN, "the input ends between the two halves of an update; it will be read on from the first half");
    for (size_t i = 0; i < batch->record_count; i++)
        if (!is_held(batch, &batch->records[i]))
            batch->records[kept++] = batch->records[i];
    batch->record_count = kept;
    return mr_engine_make_batch(e, batch, err);
}

/* A position may not lie between a record and the later one that it waits for: the batch ends before the first such record, and what is behind becomes
 * the next batch, which stays open. *wait: nothing is to be dispatched now. */
static enum mr_status end_before_waiting(struct mr_engine *e, struct mr_batch *batch, bool *wait, struct mr_error *err)
{
    uint32_t at = mr_batch_held(batch);
    *wait = false;
    if (at == MR_NOT_HELD)
        return MR_OK;
    if (at > 0) {
        uint32_t first = mr_engine_unit_of(batch, at);
        batch->records[at].goes_along = batch->records[at].goes_along && first > 0;
        mr_engine_cut_batch(e, batch, first > 0 ? first : at);
        return mr_engine_make_batch(e, batch, err);
    }
    if (is_all_read(e))
        return end_of_input(e, batch, err);
    *wait = mr_engine_stopping() || e->in_callback || may_wait(e);
    return *wait ? MR_OK : give_up(e, batch, err);
}

enum mr_status mr_engine_flush(struct mr_engine *e, struct mr_error *err)
{
    struct mr_batch *batch = e->open;
    bool wait;
    if (batch == NULL)
        return MR_OK;
    MR_TRY(end_before_waiting(e, batch, &wait, err));
    if (wait || e->need_redo)
        return MR_OK;
    if (batch->part_count == 0) { /* nothing of it is ours any more */
        e->open = NULL;
        mr_engine_recycle(e, batch);
        return MR_OK;
    }
    e->dispatching = true;
    enum mr_status status = mr_engine_dispatch(e, batch, err);
    e->dispatching = false;
    return status;
}

/* ---- making anew ---- */

enum mr_status mr_engine_redo(struct mr_engine *e, struct mr_error *err)
{
    MR_TRY(mr_engine_drain(e, 0, err));
    if (e->fatal.status != MR_OK)
        return MR_OK;
    if (e->fenced)
        MR_TRY(mr_engine_drop_fenced(e, err));
    e->fenced = e->need_redo = false;
    for (uint32_t i = 0; i < e->lanes; i++)
        mr_applier_reopen(e->appliers[i]);
    for (size_t i = 0; i < e->part_states.count; i++)
        if (e->part_states.items[i] != NULL)
            memcpy(e->part_states.items[i]->dispatched, e->part_states.items[i]->committed,
                   sizeof e->part_states.items[i]->committed);

    size_t at = 0;
    for (size_t i = 0; i < e->in_flight_count; i++)
        mr_engine_todo_insert(e, at++, e->in_flight[i]);
    e->in_flight_count = 0;
    if (e->open != NULL)
        mr_engine_todo_insert(e, at++, e->open);
    e->open = NULL;

    enum mr_status status;
    MR_WITH_TARGET(e, status, err, mr_relations_reload(e->rels, e->control, err));
    MR_TRY(status);
    MR_WITH_TARGET(e, status, err, mr_control_schema_epoch(e->control, &e->gate.schema_epoch, err));
    return status;
}

static enum mr_status do_todo(struct mr_engine *e, struct mr_error *err)
{
    if (e->open != NULL && e->open->hold_count > 0) /* it waits, and there are others behind it: it cannot grow */
        MR_TRY(give_up(e, e->open, err));
    if (e->open != NULL)
        return mr_engine_flush(e, err);
    struct mr_batch *batch = e->todo[0];
    e->todo_count--;
    memmove(e->todo, e->todo + 1, e->todo_count * sizeof *e->todo);
    e->open = batch;
    MR_TRY(mr_engine_make_batch(e, batch, err));
    if (e->need_redo)
        return MR_OK;
    return mr_engine_flush(e, err);
}

/* ---- one step ---- */

static enum mr_status poll_chunk(struct mr_engine *e, int timeout_ms, struct mr_error *err)
{
    mr_engine_unref_chunk(e, e->chunk);
    struct mr_chunk *chunk = e->chunk = mr_chunk_take(&e->chunks);
    if (e->source_paused && e->source_ops->resume != NULL)
        e->source_ops->resume(e->source);
    e->source_paused = false;
    enum mr_poll_state state = MR_POLL_IDLE;
    MR_TRY(e->source_ops->poll(e->source, chunk->ar, chunk->records, MR_CHUNK_RECORDS, e->cfg->batch_bytes, timeout_ms,
                               &chunk->count, &state, err));
    if (chunk->count > 0) {
        e->source_seen = true;
        mr_type_feeds_stale(e->feeds);
        if (e->control != NULL)
            mr_backoff_reset(&e->backoff); /* a later trouble of the source is told anew */
    }
    for (size_t i = 0; i < chunk->count; i++)
        chunk->records[i].epoch = mr_parts_get(&e->part_states, chunk->records[i].part)->epoch;
    e->source_more = state == MR_POLL_MORE;
    if (state == MR_POLL_END)
        e->source_ended = true;
    return MR_OK;
}

/* What is made of the records may weigh so many times as much as they may. */
#define WEIGHT_FACTOR 4

/* One that waits for the other half of an update may have more records: small batches would part the halves. */
static size_t most_records(const struct mr_engine *e)
{
    bool waits = mr_batch_held(e->open) == 0;
    return waits && e->cfg->batch_rows < HOLD_RECORDS ? HOLD_RECORDS : e->cfg->batch_rows;
}

static bool is_full(const struct mr_engine *e)
{
    return e->open != NULL &&
           (e->open->ddl != NULL || e->open->record_count >= most_records(e) || e->open->bytes >= e->cfg->batch_bytes ||
            mr_batch_weight(e->open) / WEIGHT_FACTOR >= e->cfg->batch_bytes);
}

static int64_t left_ms(const struct mr_engine *e)
{
    if (e->open == NULL)
        return 100;
    if (mr_batch_held(e->open) == 0)
        return may_wait(e) ? 100 : 0;
    int64_t left = e->cfg->batch_interval_ms - (mr_monotonic_ms() - e->open->opened_ms);
    return left < 0 ? 0 : left;
}

/* Whole transactions of the source from the queue into the open batch, until none is left or the batch must end. */
static enum mr_status take_units(struct mr_engine *e, bool *end, struct mr_error *err)
{
    const struct mr_record *unit;
    size_t count;
    MR_TRY(mr_engine_tx_feed(e, err));
    while (!is_full(e) && !e->need_redo && !e->requeue && mr_tx_queue_next(e->txq, &unit, &count)) {
        if (e->open == NULL)
            e->open = mr_engine_new_batch(e);
        struct mr_batch *batch = e->open;
        uint32_t first = (uint32_t)batch->record_count;
        for (size_t k = 0; k < count; k++) {
            uint32_t index = mr_batch_take(batch, unit[k].chunk, &unit[k]);
            batch->records[index].goes_along = k > 0;
            mr_engine_unref_chunk(e, unit[k].chunk);
        }
        for (uint32_t i = first; i < batch->record_count; i++) {
            const struct mr_record *rec = &batch->records[i];
            struct mr_part_state *ps = mr_parts_get(&e->part_states, rec->part);
            bool split = false;
            MR_TRY(mr_engine_take_in(e, batch, i, &split, err));
            if (mr_engine_is_current(ps, rec))
                ps->taken = rec->position;
            if (!split)
                continue;
            *end = true;
            return mr_engine_split_batch(e, batch, i, err);
        }
    }
    return MR_OK;
}

/* Records from the chunk into the open batch, until the chunk is empty or the batch must end. */
static enum mr_status take_records(struct mr_engine *e, bool *end, struct mr_error *err)
{
    struct mr_chunk *chunk = e->chunk;
    if (e->txq != NULL)
        return take_units(e, end, err);
    while (chunk->next < chunk->count && !is_full(e)) {
        const struct mr_record *rec = &chunk->records[chunk->next];
        struct mr_part_state *ps = mr_parts_get(&e->part_states, rec->part);
        if (!mr_engine_is_current(ps, rec) || rec->position <= ps->taken) { /* taken away, or told again after a rebalance */
            chunk->next++;
            continue;
        }
        if (e->open == NULL)
            e->open = mr_engine_new_batch(e);
        struct mr_batch *batch = e->open;
        uint32_t index = mr_batch_take(batch, chunk, rec);
        bool split = false;
        MR_TRY(mr_engine_take_in(e, batch, index, &split, err));
        chunk->next++;
        if (mr_engine_is_current(ps, rec)) /* still: taking it in may have waited for the target */
            ps->taken = rec->position;
        if (!split)
            continue;
        *end = true;
        return mr_engine_split_batch(e, batch, index, err);
    }
    return MR_OK;
}

/* An error of the source: wait it out, once it has answered; before that only so long. */
static enum mr_status source_trouble(struct mr_engine *e, struct mr_error *err)
{
    if (!e->source_seen && mr_monotonic_ms() - e->source_since_ms > e->cfg->connect_timeout_ms) {
        *e->unreachable = MR_SOURCE_UNREACHABLE;
        return MR_E_ENV;
    }
    if (e->backoff.attempt == 0)
        mr_log_error(MR_LOG_WARN, "the source does not answer; waiting", err);
    mr_sleep_ms(mr_backoff_next_ms(&e->backoff) / 4);
    return MR_OK;
}

/* Must the open batch end? Its time alone does not end it while nobody could take it and there is more to put into it: under load batches are
 * full ones, however long reading them takes. */
static bool is_due(const struct mr_engine *e)
{
    if (e->open == NULL || is_full(e))
        return e->open != NULL;
    return left_ms(e) == 0 && (e->in_flight_count < MR_MAX_IN_FLIGHT || !e->source_more);
}

/* The outbox is as full as it may get: nothing is read until some of it has been sent. */
static bool waits_for_status_topic(struct mr_engine *e)
{
    bool is_full = mr_status_sender_is_full(e->sender);
    if (is_full && !e->told_full)
        mr_log(MR_LOG_WARN, "the load waits: status.max_pending status events are not sent yet",
               MR_KV_INT("max_pending", e->cfg->status_max_pending));
    if (!is_full && e->told_full)
        mr_log_plain(MR_LOG_INFO, "the load goes on: status events have been sent");
    e->told_full = is_full;
    if (is_full)
        mr_engine_idle_poll(e, 100);
    return is_full;
}

enum mr_status mr_engine_step(struct mr_engine *e, struct mr_error *err)
{
    if (e->txq != NULL)
        mr_engine_tx_tick(e);
    bool is_read = e->source_ended && e->open == NULL && e->todo_count == 0 && mr_engine_chunk_is_read(e);
    mr_engine_harvest(e, is_read ? 50 : 0);
    if (e->fatal.status != MR_OK)
        return MR_OK;
    if (e->need_redo)
        return mr_engine_redo(e, err);
    if (e->requeue && e->txq != NULL && e->open == NULL)
        MR_TRY(mr_engine_tx_requeue(e, err));
    if (e->todo_count > 0)
        return do_todo(e, err);
    MR_TRY(mr_engine_save_statistics(e, false, err));
    MR_TRY(mr_engine_check_dropped(e, err));
    if (waits_for_status_topic(e))
        return MR_OK;

    if (mr_engine_chunk_is_read(e)) {
        if (e->source_ended)
            return mr_engine_flush(e, err);
        int64_t timeout = left_ms(e), most = e->in_flight_count > 0 ? 50 : 200; /* with an ear for what is done, and for a stop */
        enum mr_status status = poll_chunk(e, (int)(timeout > most ? most : timeout), err);
        if (status == MR_E_ENV && e->fatal.status == MR_OK)
            return source_trouble(e, err);
        MR_TRY(status);
        if (e->need_redo || e->fatal.status != MR_OK)
            return MR_OK; /* the records wait in the chunk */
    }
    bool end = false;
    MR_TRY(take_records(e, &end, err));
    if (end || is_due(e))
        return mr_engine_flush(e, err);
    return MR_OK;
}
