/* A batch on its way to the appliers: the tables are brought up before the data, and there must be room. Main thread only. */
#include "flow_parts.h"

#include "ddl_event.h"

#include <millrace/base/log.h>
#include <millrace/base/time.h>

#define UNKNOWN_TRIES 3

/* Where a change of a table ends in an error that nobody knows, again and again, waiting has no end in sight: a person must look. */
static enum mr_status bring_once(struct mr_engine *e, struct mr_rel *rel, unsigned *unknown, bool *stale, bool *refused, struct mr_error *err)
{
    enum mr_status status = mr_gate_bring(&e->gate, rel, stale, refused, err);
    *unknown = status == MR_E_ENV && strcmp(err->code, MR_CODE_UNKNOWN) == 0 ? *unknown + 1 : 0;
    return *unknown < UNKNOWN_TRIES ? status : (err->status = MR_E_CONFIG);
}

static enum mr_status bring_rel(struct mr_engine *e, struct mr_rel *rel, bool *stale, struct mr_error *err)
{
    unsigned unknown = 0;
    for (;;) {
        bool refused = false;
        enum mr_status status;
        MR_WITH_TARGET(e, status, err, bring_once(e, rel, &unknown, stale, &refused, err));
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
        mr_engine_harvest(e, 50);
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
        if (ps == NULL || !mr_engine_part_is_ours(ps) || ps->lanes == e->lanes || !mr_part_lanes_equal(ps))
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
        if (ps != NULL && mr_engine_part_is_ours(ps) && ps->lanes != e->lanes)
            return true;
    }
    return false;
}

enum mr_status mr_engine_dispatch(struct mr_engine *e, struct mr_batch *batch, struct mr_error *err)
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
