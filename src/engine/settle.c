/* What comes back from the appliers: batches that are done, and what was refused. Main thread only. */
#include "flow_parts.h"

#include <millrace/base/log.h>
#include <millrace/base/mem.h>
#include <millrace/base/time.h>

#define MAX_NEW_PAUSE 4096 /* batches */

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
        if (ps->epoch != job->moves[i].epoch || !mr_engine_part_is_ours(ps))
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
        if (!mr_engine_part_is_ours(batch->parts[i]))
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
void mr_engine_harvest(struct mr_engine *e, int64_t wait_ms)
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
        mr_engine_harvest(e, 50);
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
