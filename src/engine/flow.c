/* The flow of batches: fill one while the appliers work on those before; bring the tables up before the data; take back what was refused and
 * make it anew. Main thread only. */
#include "internal.h"

#include "ddl_event.h"

#include <millrace/base/fault.h>
#include <millrace/base/log.h>
#include <millrace/base/mem.h>
#include <millrace/base/time.h>

#define MAX_NEW_PAUSE 4096 /* batches */

/* ---- records and chunks ---- */

void mr_engine_unref_chunk(struct mr_engine *e, struct mr_chunk *chunk)
{
    if (chunk == NULL || --chunk->refs > 0)
        return;
    if (e->source != NULL)
        e->source_ops->release(e->source, chunk->records, chunk->count);
    mr_chunk_give(&e->chunks, chunk);
}

static struct mr_batch *new_batch(struct mr_engine *e)
{
    struct mr_batch *batch = e->spare_count > 0 ? e->spare[--e->spare_count] : mr_batch_create();
    mr_batch_clear(batch, ++e->next_seq);
    batch->opened_ms = mr_monotonic_ms();
    return batch;
}

void mr_engine_recycle(struct mr_engine *e, struct mr_batch *batch)
{
    for (size_t i = 0; i < batch->chunk_count; i++)
        mr_engine_unref_chunk(e, batch->chunks[i]);
    mr_batch_clear(batch, 0);
    if (e->spare_count < sizeof e->spare / sizeof e->spare[0])
        e->spare[e->spare_count++] = batch;
    else
        mr_batch_destroy(batch);
}

void mr_engine_release_all(struct mr_engine *e)
{
    if (e->open != NULL)
        mr_engine_recycle(e, e->open);
    e->open = NULL;
    for (size_t i = 0; i < e->in_flight_count; i++)
        mr_engine_recycle(e, e->in_flight[i]);
    e->in_flight_count = 0;
    for (size_t i = 0; i < e->todo_count; i++)
        mr_engine_recycle(e, e->todo[i]);
    e->todo_count = 0;
    mr_engine_unref_chunk(e, e->chunk);
    e->chunk = NULL;
}

/* ---- intake ---- */

static bool is_ours(const struct mr_part_state *ps)
{
    return ps->owned && !ps->dropped && !ps->stopped;
}

bool mr_engine_is_current(const struct mr_part_state *ps, const struct mr_record *rec)
{
    return is_ours(ps) && rec->epoch == ps->epoch;
}

/* Several lanes need the rows of all lanes in step: a partition read for the first time, or one whose rows are for another number of
 * lanes, goes through one transaction for all of them. */
static bool needs_one_transaction(const struct mr_engine *e, const struct mr_part_state *ps)
{
    return ps->lanes != e->lanes || (e->lanes > 1 && mr_part_resume(ps) == MR_POSITION_NONE);
}

/* Take record i of the batch in. *split: it must begin another batch. */
static enum mr_status take_in(struct mr_engine *e, struct mr_batch *batch, uint32_t i, bool *split, struct mr_error *err)
{
    const struct mr_record *rec = &batch->records[i];
    struct mr_part_state *ps = mr_parts_get(&e->part_states, rec->part);
    *split = false;
    if (!mr_engine_is_current(ps, rec))
        return MR_OK;
    if (batch->ddl != NULL) { /* nothing follows a schema change in its batch */
        *split = i > 0;
        return MR_OK;
    }
    bool barrier = false;
    uint64_t decided = e->intake.decided, dead = e->intake.dead;
    enum mr_status status;
    MR_WITH_TARGET(e, status, err, mr_intake_record(&e->intake, batch, i, ps, split, &barrier, err));
    MR_TRY(status);
    e->window_records += e->intake.decided - decided;
    e->window_dead += e->intake.dead - dead;
    batch->barrier = batch->barrier || barrier || needs_one_transaction(e, ps);
    return MR_OK;
}

static void todo_insert(struct mr_engine *e, size_t at, struct mr_batch *batch)
{
    e->todo = mr_xgrow(e->todo, &e->todo_cap, e->todo_count + 1, sizeof *e->todo);
    memmove(&e->todo[at + 1], &e->todo[at], (e->todo_count - at) * sizeof *e->todo);
    e->todo[at] = batch;
    e->todo_count++;
}

/* Cut the batch before record i: the rest becomes a batch of its own, next in `todo`. */
static void cut(struct mr_engine *e, struct mr_batch *batch, uint32_t i)
{
    struct mr_batch *rest = new_batch(e);
    rest->unfolded = batch->unfolded;
    rest->replanned = batch->replanned;
    for (size_t c = 0; c < batch->chunk_count; c++) { /* both may hold records of each chunk */
        rest->chunks = mr_xgrow(rest->chunks, &rest->chunk_cap, rest->chunk_count + 1, sizeof *rest->chunks);
        rest->chunks[rest->chunk_count++] = batch->chunks[c];
        batch->chunks[c]->refs++;
    }
    size_t count = batch->record_count - i;
    rest->records = mr_xgrow(rest->records, &rest->record_cap, count, sizeof *rest->records);
    memcpy(rest->records, &batch->records[i], count * sizeof *rest->records);
    rest->record_count = count;
    for (size_t k = 0; k < count; k++)
        rest->bytes += rest->records[k].key.len + rest->records[k].value.len;
    batch->record_count = i;
    todo_insert(e, 0, rest);
}

static enum mr_status make(struct mr_engine *e, struct mr_batch *batch, struct mr_error *err);

/* The first record of those that go into one transaction with record i. */
static uint32_t unit_of(const struct mr_batch *batch, uint32_t i)
{
    while (i > 0 && batch->records[i].goes_along)
        i--;
    return i;
}

/* Record i must begin a batch, together with what goes along with it. The first ones do, so it is their own rows that do not go together: they are
 * applied one by one, in a batch of their own. */
static enum mr_status split_batch(struct mr_engine *e, struct mr_batch *batch, uint32_t i, struct mr_error *err)
{
    uint32_t first = unit_of(batch, i), next = 1;
    bool is_clean = e->intake.change_count <= 1; /* nothing of the record was folded */
    if (batch->unfolded && first == 0 && i > 0) {
        mr_tx_queue_note_split(e->txq, "the key of a table changes within it, or a table within it is altered");
        batch->records[i].goes_along = false;
        first = i;
    }
    if (first > 0) {
        cut(e, batch, first);
        return is_clean && first == i ? MR_OK : make(e, batch, err);
    }
    if (batch->unfolded)
        return mr_fail(err, MR_E_BUG, "a record cannot begin a batch");
    while (next < batch->record_count && batch->records[next].goes_along)
        next++;
    if (next < batch->record_count)
        cut(e, batch, next);
    batch->unfolded = true;
    return make(e, batch, err);
}

/* Make the whole batch from its records. */
static enum mr_status make(struct mr_engine *e, struct mr_batch *batch, struct mr_error *err)
{
    mr_batch_remake(batch, ++e->next_seq);
    batch->barrier = false;
    for (uint32_t i = 0; i < batch->record_count; i++) {
        bool split = false;
        MR_TRY(take_in(e, batch, i, &split, err));
        if (!split)
            continue;
        return split_batch(e, batch, i, err);
    }
    return MR_OK;
}

/* ---- what comes back ---- */

/* Rows said to be new were there already: for some batches nobody is believed, for more of them each time. */
static void note_not_new(const struct mr_job *job)
{
    for (size_t i = 0; i < job->table_count; i++) {
        const struct mr_job_table *jt = &job->tables[i];
        if (!jt->tried_new || jt->rows.all_new)
            continue;
        jt->rel->new_pause_next = jt->rel->new_pause_next == 0 ? 16 : jt->rel->new_pause_next;
        jt->rel->new_pause = jt->rel->new_pause_next;
        if (jt->rel->new_pause_next < MAX_NEW_PAUSE)
            jt->rel->new_pause_next *= 2;
    }
}

static void count_job(struct mr_engine *e, const struct mr_job *job)
{
    note_not_new(job);
    e->stats->upserts += job->upserts;
    e->stats->deletes += job->deletes;
    e->stats->appends += job->appends;
    e->stats->dead_letters += job->letter_count + job->dead_rows;
    e->window_dead += job->dead_rows;
    e->stats->commits++;
    for (size_t i = 0; i < job->move_count; i++) {
        const struct mr_position_move *m = &job->moves[i];
        struct mr_part_state *ps = mr_parts_get(&e->part_states, m->part);
        if (ps->epoch == m->epoch) /* else it has been claimed anew since, and the claim brought a newer position */
            ps->committed[m->lane] = m->to;
    }
}

/* Was it our own new claim of a partition that fenced the job? Then nobody else has it, and there is nothing to find out. */
static bool is_claimed_anew(const struct mr_engine *e, const struct mr_job *job)
{
    for (size_t i = 0; i < job->move_count; i++) {
        const struct mr_part_state *ps = e->part_states.items[job->moves[i].part->index];
        if (ps->epoch != job->moves[i].epoch || !is_ours(ps))
            return true;
    }
    return false;
}

/* A refused job: what the run does about it. */
static void note_refusal(struct mr_engine *e, struct mr_batch *batch, const struct mr_job *job)
{
    switch (job->status) {
    case MR_E_SCHEMA:
        mr_log_error(MR_LOG_INFO, "the target's schema is not what was planned for; planning once more", &job->err);
        e->need_redo = true;
        batch->replanned = batch->replanned || !job->epoch_moved;
        return;
    case MR_E_FENCED:
        e->fenced = e->fenced || !is_claimed_anew(e, job);
        e->need_redo = true;
        return;
    case MR_E_STOPPED:
        e->need_redo = true;
        return;
    case MR_E_DATA:
        if (job->want_unfolded && !batch->unfolded) {
            batch->unfolded = e->need_redo = true;
            return;
        }
        break;
    case MR_OK:
    case MR_E_CONFIG:
    case MR_E_ENV:
    case MR_E_BUSY:
    case MR_E_BUG:
        break;
    }
    if (e->fatal.status == MR_OK) {
        e->fatal = job->err;
        e->fatal.status = job->status;
    }
}

static bool jobs_done(struct mr_engine *e, struct mr_batch *batch, int64_t timeout_ms)
{
    for (size_t i = 0; i < batch->job_count; i++)
        if (!mr_applier_wait(&e->shared, &batch->jobs[i], timeout_ms))
            return false;
    return true;
}

static void count_batch(struct mr_engine *e, const struct mr_batch *batch)
{
    e->stats->records += batch->record_count;
    e->stats->bytes += batch->bytes;
    e->stats->changes += batch->changes;
    e->stats->control += batch->control;
    e->stats->schema_changes += batch->schema_changes;
    e->stats->skipped += batch->skipped;
    e->stats->nulled += batch->nulled;
    e->stats->truncates += batch->truncates;
    e->stats->ddl = e->gate.steps_run;
}

/* Tell the source how far it is safe now (advisory). */
static void commit_source(struct mr_engine *e, const struct mr_batch *batch)
{
    const struct mr_partition **parts = mr_xcalloc(batch->part_count + 1, sizeof *parts);
    int64_t *positions = mr_xcalloc(batch->part_count + 1, sizeof *positions);
    size_t count = 0;
    for (size_t i = 0; i < batch->part_count; i++) {
        if (!is_ours(batch->parts[i]))
            continue;
        parts[count] = batch->parts[i]->part;
        positions[count++] = mr_part_resume(batch->parts[i]);
    }
    if (count > 0)
        e->source_ops->commit(e->source, parts, positions, count);
    mr_xfree(parts);
    mr_xfree(positions);
}

/* The oldest batch under way is done: account for it. It stays in the list if something of it was refused. */
static void settle(struct mr_engine *e, size_t at)
{
    struct mr_batch *batch = e->in_flight[at];
    bool refused = false;
    for (size_t i = 0; i < batch->job_count; i++) {
        struct mr_job *job = &batch->jobs[i];
        if (job->status == MR_OK) {
            count_job(e, job);
            mr_status_sender_wake(e->sender, job->table_count > 0 ? job->table_count + 2 : 0);
            continue;
        }
        refused = true;
        note_refusal(e, batch, job);
    }
    mr_batch_drop_jobs(batch);
    if (refused)
        return;
    e->fenced_in_vain = 0;
    count_batch(e, batch);
    commit_source(e, batch);
    memmove(&e->in_flight[at], &e->in_flight[at + 1], (e->in_flight_count - at - 1) * sizeof *e->in_flight);
    e->in_flight_count--;
    mr_engine_recycle(e, batch);
}

/* Account for whatever is done, oldest first. A batch behind a refused one is settled too, so that what it committed is known. */
static void harvest(struct mr_engine *e, int64_t wait_ms)
{
    size_t at = 0;
    while (at < e->in_flight_count) {
        struct mr_batch *batch = e->in_flight[at];
        if (batch->job_count > 0) {
            if (!jobs_done(e, batch, wait_ms))
                return;
            size_t before = e->in_flight_count;
            settle(e, at);
            if (e->in_flight_count < before) {
                wait_ms = 0;
                continue;
            }
        }
        at++;
    }
}

static bool all_settled(const struct mr_engine *e)
{
    for (size_t i = 0; i < e->in_flight_count; i++)
        if (e->in_flight[i]->job_count > 0)
            return false;
    return true;
}

enum mr_status mr_engine_drain(struct mr_engine *e, int64_t deadline_ms, struct mr_error *err)
{
    int64_t since = mr_monotonic_ms();
    for (;;) {
        harvest(e, 50);
        if (all_settled(e))
            return MR_OK;
        int64_t now = mr_monotonic_ms();
        if (deadline_ms != 0 && now > deadline_ms)
            return mr_fail(err, MR_E_STOPPED, "the batch under way did not finish in time");
        if (deadline_ms == 0)
            deadline_ms = mr_engine_stop_by(e);
        if (now - since > 1000 && !e->in_callback)
            mr_engine_idle_poll(e, 0);
        mr_engine_progress(e);
    }
}

/* ---- dispatch ---- */

static enum mr_status bring_rel(struct mr_engine *e, struct mr_rel *rel, bool *stale, struct mr_error *err)
{
    for (;;) {
        bool refused = false;
        enum mr_status status;
        MR_WITH_TARGET(e, status, err, mr_gate_bring(&e->gate, rel, stale, &refused, err));
        if (!refused || e->parts->mode == MR_MODE_BACKFILL)
            return status;
        mr_log_error(MR_LOG_ERROR, "waiting for the table to be changed by hand", err);
        for (int i = 0; i < 50; i++) { /* five seconds, with an ear for the stop and the group */
            MR_TRY(mr_engine_may_wait(e, err));
            mr_engine_idle_poll(e, 100);
            if (e->need_redo)
                return MR_OK;
        }
    }
}

/* Does the batch need the target changed first? */
static bool needs_ddl(const struct mr_batch *batch)
{
    for (size_t i = 0; i < batch->rel_count; i++)
        if (batch->rels[i]->shape_dirty || batch->rels[i]->tbl == NULL || mr_tracker_changed(batch->rels[i]->tk))
            return true;
    return false;
}

static enum mr_status bring_tables(struct mr_engine *e, struct mr_batch *batch, struct mr_error *err)
{
    for (size_t i = 0; i < batch->rel_count && !e->need_redo; i++) {
        struct mr_rel *rel = batch->rels[i];
        if (mr_tracker_count(rel->tk) == 0 ||
            !(rel->shape_dirty || rel->tbl == NULL || mr_tracker_changed(rel->tk)))
            continue;
        bool stale = false;
        MR_TRY(bring_rel(e, rel, &stale, err));
        if (stale)
            e->need_redo = true;
    }
    return MR_OK;
}

static enum mr_status check_breaker(struct mr_engine *e, struct mr_error *err)
{
    if (e->parts->mode == MR_MODE_BACKFILL || e->cfg->dead_letter_max_rate <= 0 || e->window_records < 1000)
        return MR_OK;
    double rate = (double)e->window_dead / (double)e->window_records;
    if (rate > e->cfg->dead_letter_max_rate) {
        mr_fail_data(err, MR_CODE_REFUSED, "%llu of the last %llu records would be dead letters (dead_letters.max_rate is %g)",
                     (unsigned long long)e->window_dead, (unsigned long long)e->window_records,
                     e->cfg->dead_letter_max_rate);
        mr_error_hint(err, "something general is wrong: `millrace plan` lists them (this batch is not applied, so they are not in the "
                           "target); or raise the rate");
        return MR_E_DATA;
    }
    e->window_records /= 2;
    e->window_dead /= 2;
    return MR_OK;
}

static enum mr_status save_facts(struct mr_engine *e, struct mr_error *err)
{
    enum mr_status status;
    MR_WITH_TARGET(e, status, err, mr_intake_save_facts(&e->intake, e->control, err));
    return status;
}

/* Room for one more batch under way. */
static enum mr_status wait_for_room(struct mr_engine *e, size_t room, struct mr_error *err)
{
    int64_t since = mr_monotonic_ms();
    while (e->in_flight_count > room && !e->need_redo && e->fatal.status == MR_OK) {
        harvest(e, 50);
        int64_t now = mr_monotonic_ms(), deadline = mr_engine_stop_by(e);
        if (deadline != 0 && now > deadline)
            return mr_fail(err, MR_E_STOPPED, "the batch under way did not finish in time");
        if (deadline == 0)
            MR_TRY(mr_engine_may_wait(e, err));
        if (now - since > 1000)
            mr_engine_idle_poll(e, 0);
        mr_engine_progress(e);
    }
    return MR_OK;
}

static void submit(struct mr_engine *e, struct mr_batch *batch)
{
    mr_batch_divide(batch, e->cfg, e->lanes, e->gate.schema_epoch);
    for (size_t i = 0; i < batch->rel_count; i++)
        batch->rels[i]->new_pause -= batch->rels[i]->new_pause > 0;
    e->in_flight[e->in_flight_count++] = batch;
    for (size_t i = 0; i < batch->job_count; i++)
        mr_applier_submit(e->appliers[batch->barrier ? 0 : i], &batch->jobs[i]);
}

/* After a barrier: partitions whose lane rows are for another number of lanes get ours. */
static enum mr_status fit_lanes(struct mr_engine *e, struct mr_error *err)
{
    for (size_t i = 0; i < e->part_states.count; i++) {
        struct mr_part_state *ps = e->part_states.items[i];
        if (ps == NULL || !is_ours(ps) || ps->lanes == e->lanes || !mr_part_lanes_equal(ps))
            continue;
        int64_t position = ps->committed[0];
        enum mr_status status;
        MR_WITH_TARGET(e, status, err,
                       mr_control_set_lanes(e->control, e->pipeline, ps->part, e->lanes, position, ps->epoch, err));
        if (status == MR_E_FENCED) {
            e->fenced = e->need_redo = true;
            return MR_OK;
        }
        MR_TRY(status);
        ps->lanes = e->lanes;
        for (uint32_t k = 0; k < e->lanes; k++)
            ps->committed[k] = ps->dispatched[k] = position;
    }
    return MR_OK;
}

static bool any_barrier(const struct mr_engine *e)
{
    for (size_t i = 0; i < e->in_flight_count; i++)
        if (e->in_flight[i]->barrier)
            return true;
    return false;
}

static bool any_lanes_to_fit(const struct mr_engine *e)
{
    for (size_t i = 0; i < e->part_states.count; i++) {
        const struct mr_part_state *ps = e->part_states.items[i];
        if (ps != NULL && is_ours(ps) && ps->lanes != e->lanes)
            return true;
    }
    return false;
}

static enum mr_status dispatch(struct mr_engine *e, struct mr_batch *batch, struct mr_error *err)
{
    bool alone = batch->barrier || batch->ddl != NULL || any_barrier(e) || needs_ddl(batch) || mr_intake_facts_dirty(&e->intake);
    MR_TRY(check_breaker(e, err));
    MR_TRY(wait_for_room(e, alone ? 0 : MR_MAX_IN_FLIGHT - 1, err));
    if (e->need_redo || e->fatal.status != MR_OK)
        return MR_OK;
    if (batch->ddl != NULL) {
        MR_TRY(mr_ddl_event_follow(e, batch, err));
        if (e->need_redo)
            return MR_OK;
    }
    if (mr_intake_facts_dirty(&e->intake))
        MR_TRY(save_facts(e, err));
    if (needs_ddl(batch))
        MR_TRY(bring_tables(e, batch, err));
    if (e->need_redo)
        return MR_OK;
    bool barrier = batch->barrier;
    e->open = NULL;
    submit(e, batch);
    if (!barrier || !any_lanes_to_fit(e))
        return MR_OK; /* the next batch waits for it */
    MR_TRY(wait_for_room(e, 0, err));
    return e->need_redo ? MR_OK : fit_lanes(e, err);
}

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
    return make(e, batch, err);
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
        cut(e, batch, (uint32_t)first);
    if (first > 0)
        return make(e, batch, err);
    mr_log_plain(MR_LOG_WARN, "the input ends between the two halves of an update; it will be read on from the first half");
    for (size_t i = 0; i < batch->record_count; i++)
        if (!is_held(batch, &batch->records[i]))
            batch->records[kept++] = batch->records[i];
    batch->record_count = kept;
    return make(e, batch, err);
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
        uint32_t first = unit_of(batch, at);
        batch->records[at].goes_along = batch->records[at].goes_along && first > 0;
        cut(e, batch, first > 0 ? first : at);
        return make(e, batch, err);
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
    enum mr_status status = dispatch(e, batch, err);
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
        todo_insert(e, at++, e->in_flight[i]);
    e->in_flight_count = 0;
    if (e->open != NULL)
        todo_insert(e, at++, e->open);
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
    MR_TRY(make(e, batch, err));
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
            e->open = new_batch(e);
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
            MR_TRY(take_in(e, batch, i, &split, err));
            if (mr_engine_is_current(ps, rec))
                ps->taken = rec->position;
            if (!split)
                continue;
            *end = true;
            return split_batch(e, batch, i, err);
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
            e->open = new_batch(e);
        struct mr_batch *batch = e->open;
        uint32_t index = mr_batch_take(batch, chunk, rec);
        bool split = false;
        MR_TRY(take_in(e, batch, index, &split, err));
        chunk->next++;
        if (mr_engine_is_current(ps, rec)) /* still: taking it in may have waited for the target */
            ps->taken = rec->position;
        if (!split)
            continue;
        *end = true;
        return split_batch(e, batch, index, err);
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
    harvest(e, is_read ? 50 : 0);
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
