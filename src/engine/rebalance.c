/* Partitions come and go. On assignment they are claimed in the target (the epoch rises, a former owner is fenced) and read on from the stored
 * position; before they are given up the batch under way is finished, or left to the fence. */
#include "internal.h"

#include <stdio.h>

#include <millrace/base/fault.h>
#include <millrace/base/log.h>
#include <millrace/base/mem.h>
#include <millrace/base/time.h>

/* How long a fenced partition may stay assigned to us before we say that two instances fight over it. */
#define DROP_GRACE_MS 15000
/* How long a revocation may wait for the batch under way. */
#define REVOKE_WAIT_MS 8000

static void take_over(struct mr_engine *e, struct mr_part_state *ps, const struct mr_stored_position *stored)
{
    ps->owned = true;
    ps->dropped = ps->stopped = false;
    ps->epoch = stored->epoch;
    ps->lanes = stored->lanes > 0 ? stored->lanes : e->lanes;
    for (uint32_t i = 0; i < MR_MAX_LANES; i++)
        ps->committed[i] = ps->dispatched[i] = i < ps->lanes ? stored->lane_position[i] : MR_POSITION_NONE;
    ps->taken = ps->queued = mr_part_resume(ps);
    ps->is_ahead = false;
}

/* Rows for another number of lanes are rewritten as soon as all lanes stand at one position. */
static enum mr_status fit_lanes(struct mr_engine *e, struct mr_part_state *ps, struct mr_error *err)
{
    if (ps->lanes == e->lanes || !mr_part_lanes_equal(ps))
        return MR_OK;
    int64_t position = ps->committed[0];
    MR_TRY(mr_control_set_lanes(e->control, e->pipeline, ps->part, e->lanes, position, ps->epoch, err));
    ps->lanes = e->lanes;
    for (uint32_t i = 0; i < e->lanes; i++)
        ps->committed[i] = ps->dispatched[i] = position;
    return MR_OK;
}

/* A stored position that the source no longer has: never guessed around. */
static enum mr_status check_bounds(struct mr_engine *e, struct mr_part_state *ps, struct mr_error *err)
{
    int64_t first = 0, end = 0, position = mr_part_resume(ps);
    if (position == MR_POSITION_NONE || e->source_ops->bounds == NULL || e->source == NULL)
        return MR_OK;
    struct mr_error ignored = {0};
    if (e->source_ops->bounds(e->source, ps->part, &first, &end, &ignored) != MR_OK)
        return MR_OK; /* reading will tell */
    if (position >= first && position <= end)
        return MR_OK;
    if (e->cfg->reset_position) {
        mr_log(MR_LOG_WARN, "the stored position is gone from the source; starting over as asked",
               MR_KV_Z("topic", ps->part->topic_z), MR_KV_INT("partition", ps->part->partition),
               MR_KV_INT("position", position), MR_KV_INT("first", first), MR_KV_INT("end", end));
        MR_TRY(mr_control_set_lanes(e->control, e->pipeline, ps->part, e->lanes, MR_POSITION_NONE, ps->epoch, err));
        ps->lanes = e->lanes;
        for (uint32_t i = 0; i < MR_MAX_LANES; i++)
            ps->committed[i] = ps->dispatched[i] = MR_POSITION_NONE;
        ps->taken = ps->queued = MR_POSITION_NONE;
        return MR_OK;
    }
    mr_fail(err, MR_E_CONFIG, "%s [%d]: the stored position %lld is %s the topic (it holds %lld to %lld)",
            ps->part->topic_z, (int)ps->part->partition, (long long)position,
            position > end ? "beyond the end of" : "before the start of", (long long)first, (long long)end);
    mr_error_hint(err, "%s; run once with --reset-position to read it from `start`",
                  position > end ? "the topic was probably deleted and made anew"
                                 : "its retention has removed records that were never read");
    ps->stopped = true;
    return MR_E_CONFIG;
}

static enum mr_status claim(struct mr_engine *e, const struct mr_partition *const *parts, size_t count,
                            struct mr_stored_position *stored, struct mr_error *err)
{
    enum mr_status status;
    MR_WITH_TARGET(e, status, err, mr_control_claim(e->control, e->pipeline, parts, count, e->lanes, stored, err));
    return status;
}

/* Where reading begins is known from now on, whoever goes on: what comes in between is not passed over. */
static enum mr_status keep_start(struct mr_engine *e, struct mr_part_state *ps, int64_t start, struct mr_error *err)
{
    if (start == MR_POSITION_NONE || mr_part_resume(ps) != MR_POSITION_NONE || !mr_part_lanes_equal(ps))
        return MR_OK;
    enum mr_status status = mr_control_set_lanes(e->control, e->pipeline, ps->part, e->lanes, start, ps->epoch, err);
    if (status != MR_OK)
        return status == MR_E_FENCED ? MR_OK : status; /* claimed by somebody else a moment later */
    ps->lanes = e->lanes;
    for (uint32_t i = 0; i < MR_MAX_LANES; i++)
        ps->committed[i] = ps->dispatched[i] = i < e->lanes ? start : MR_POSITION_NONE;
    ps->taken = ps->queued = start;
    return MR_OK;
}

/* A partition whose position is gone ends a backfill; in a run it stops alone, and aloud. */
static enum mr_status settle_bounds(struct mr_engine *e, struct mr_part_state *ps, struct mr_error *err)
{
    enum mr_status status = check_bounds(e, ps, err);
    if (status != MR_E_CONFIG || e->parts->mode == MR_MODE_BACKFILL)
        return status;
    mr_log_error(MR_LOG_ERROR, "this partition is not read", err);
    return MR_OK;
}

static enum mr_status on_assigned(void *ctx, const struct mr_partition *const *parts, size_t count,
                                  int64_t *position, struct mr_error *err)
{
    struct mr_engine *e = ctx;
    bool nested = e->in_callback;
    struct mr_stored_position *stored = mr_xcalloc(count + 1, sizeof *stored);
    e->in_callback = true;
    e->source_seen = true;
    enum mr_status status = claim(e, parts, count, stored, err);
    for (size_t i = 0; i < count && status == MR_OK; i++) {
        struct mr_part_state *ps = mr_parts_get(&e->part_states, parts[i]);
        take_over(e, ps, &stored[i]);
        MR_WITH_TARGET(e, status, err, fit_lanes(e, ps, err));
        if (status == MR_E_FENCED)
            status = MR_OK; /* claimed by somebody else a moment later: the first transaction will find that out */
        if (status == MR_OK)
            MR_WITH_TARGET(e, status, err, settle_bounds(e, ps, err));
        if (status == MR_OK && !ps->stopped)
            MR_WITH_TARGET(e, status, err, keep_start(e, ps, position[i], err));
        position[i] = mr_part_resume(ps);
        mr_log(MR_LOG_INFO, "partition assigned", MR_KV_Z("topic", parts[i]->topic_z),
               MR_KV_INT("partition", parts[i]->partition), MR_KV_INT("position", position[i]),
               MR_KV_INT("epoch", ps->epoch));
    }
    e->in_callback = nested;
    mr_xfree(stored);
    MR_FAULT("after_claim");
    if (status != MR_OK && e->fatal.status == MR_OK && status != MR_E_STOPPED) {
        e->fatal = *err;
        e->fatal.status = status;
    }
    if (status == MR_OK)
        *err = (struct mr_error){0}; /* what has been waited out, or told of one partition: the caller reads it as a failure of its own */
    return status;
}

static void on_revoked(void *ctx, const struct mr_partition *const *parts, size_t count, bool lost)
{
    struct mr_engine *e = ctx;
    bool nested = e->in_callback;
    struct mr_error err = {0};
    e->in_callback = true;
    if (!lost && !e->target_waiting && !e->need_redo && e->fatal.status == MR_OK) {
        int64_t deadline = e->must_return_ms = mr_monotonic_ms() + REVOKE_WAIT_MS;
        /* Called from within a dispatch (waiting for room it polls) the open batch cannot be dispatched again: it is made anew. */
        enum mr_status status = e->dispatching ? MR_OK : mr_engine_flush(e, &err);
        if (status == MR_OK && !e->need_redo)
            status = mr_engine_drain(e, deadline, &err);
        e->must_return_ms = 0;
        if (status != MR_OK && status != MR_E_STOPPED)
            mr_log_error(MR_LOG_WARN, "a batch could not be finished before its partitions were taken", &err);
    }
    for (size_t i = 0; i < count; i++) {
        struct mr_part_state *ps = mr_parts_get(&e->part_states, parts[i]);
        ps->owned = false;
        ps->dropped = false;
        e->requeue = true;
        mr_log(MR_LOG_INFO, lost ? "partition lost" : "partition revoked", MR_KV_Z("topic", parts[i]->topic_z),
               MR_KV_INT("partition", parts[i]->partition));
    }
    if (e->open != NULL || e->in_flight_count > 0)
        e->need_redo = true; /* what is left of them must not be applied by us */
    e->in_callback = nested;
}

/* ---- names that the target remembers ---- */

struct name_search {
    struct mr_str pipeline, prefix;
    void (*found)(void *found_ctx, struct mr_str name);
    void *found_ctx;
};

static enum mr_status on_stored_name(void *ctx, const struct mr_position_row *row, struct mr_error *err)
{
    struct name_search *se = ctx;
    (void)err;
    if (row->lane == 0 && mr_str_eq(row->pipeline, se->pipeline) && mr_str_starts(row->topic, se->prefix))
        se->found(se->found_ctx, row->topic);
    return MR_OK;
}

/* A file that has grown since is known again by the name it had. */
static enum mr_status on_find(void *ctx, struct mr_str prefix, void (*found)(void *found_ctx, struct mr_str name),
                              void *found_ctx, struct mr_error *err)
{
    struct mr_engine *e = ctx;
    bool nested = e->in_callback;
    struct name_search se = {e->pipeline, prefix, found, found_ctx};
    enum mr_status status;
    e->in_callback = true;
    MR_WITH_TARGET(e, status, err, mr_control_positions(e->control, on_stored_name, &se, err));
    e->in_callback = nested;
    return status;
}

struct mr_source_listener mr_engine_listener(struct mr_engine *e)
{
    return (struct mr_source_listener){
        .ctx = e, .assigned = on_assigned, .revoked = on_revoked, .find = on_find};
}

/* ---- fencing ---- */

static enum mr_status on_position(void *ctx, const struct mr_position_row *row, struct mr_error *err)
{
    struct mr_engine *e = ctx;
    (void)err;
    if (!mr_str_eq(row->pipeline, e->pipeline))
        return MR_OK;
    for (size_t i = 0; i < e->part_states.count; i++) {
        struct mr_part_state *ps = e->part_states.items[i];
        if (ps == NULL || !ps->owned || ps->dropped || ps->part->partition != row->partition ||
            !mr_str_eq_z(row->topic, ps->part->topic_z))
            continue;
        if (row->epoch == ps->epoch) {
            /* Ours, but not where we left it. Further on: a commit in doubt came through after we had looked. Behind: the target has lost what
             * it had confirmed (a crash without synchronous commits, a standby that took over). */
            if (row->lane >= ps->lanes)
                continue;
            ps->set_back = ps->set_back || row->position < ps->committed[row->lane];
            if (row->position > ps->committed[row->lane]) {
                ps->committed[row->lane] = row->position;
                e->fenced_in_vain = 0;
            }
            continue;
        }
        ps->dropped = true;
        e->requeue = true;
        e->fenced_in_vain = 0;
        ps->dropped_until_ms = mr_monotonic_ms() + DROP_GRACE_MS;
    }
    return MR_OK;
}

/* The target is behind what we have read and given away: claim the partition anew and read again from there. The new epoch makes everything
 * void that is still in hand. */
static enum mr_status read_again(struct mr_engine *e, struct mr_part_state *ps, struct mr_error *err)
{
    struct mr_stored_position stored;
    ps->set_back = false;
    e->requeue = true;
    MR_TRY(claim(e, &ps->part, 1, &stored, err));
    take_over(e, ps, &stored);
    int64_t position = mr_part_resume(ps);
    mr_log(MR_LOG_WARN, "the target has lost transactions that it had confirmed; they are read again",
           MR_KV_Z("topic", ps->part->topic_z), MR_KV_INT("partition", ps->part->partition), MR_KV_INT("position", position));
    if (position == MR_POSITION_NONE || e->source_ops->seek == NULL)
        return mr_fail(err, MR_E_ENV, "%s [%d]: the target has gone back to before its first position; start again to read from there",
                       ps->part->topic_z, (int)ps->part->partition);
    e->fenced_in_vain = 0;
    e->source_ended = false;
    return e->source_ops->seek(e->source, ps->part, position, err);
}

static enum mr_status read_again_all(struct mr_engine *e, struct mr_error *err)
{
    for (size_t i = 0; i < e->part_states.count; i++) {
        struct mr_part_state *ps = e->part_states.items[i];
        if (ps != NULL && ps->set_back && ps->owned && !ps->dropped)
            MR_TRY(read_again(e, ps, err));
    }
    return MR_OK;
}

enum mr_status mr_engine_drop_fenced(struct mr_engine *e, struct mr_error *err)
{
    enum mr_status status;
    e->fenced_in_vain++;
    MR_WITH_TARGET(e, status, err, mr_control_positions(e->control, on_position, e, err));
    MR_TRY(status);
    MR_TRY(read_again_all(e, err));
    if (e->fenced_in_vain > 5) {
        mr_fail(err, MR_E_FENCED, "a stored position is gone from the target, or is not the one this instance left, although no other "
                "instance has claimed its partition");
        mr_error_hint(err, "somebody changed Millrace's control tables; start again to go on from what they say");
        return MR_E_FENCED;
    }
    for (size_t i = 0; i < e->part_states.count; i++) {
        struct mr_part_state *ps = e->part_states.items[i];
        if (ps == NULL || !ps->dropped)
            continue;
        mr_log(MR_LOG_WARN, "fenced: another instance has taken the partition over; dropped",
               MR_KV_Z("topic", ps->part->topic_z), MR_KV_INT("partition", ps->part->partition));
        if (e->source_ops->drop != NULL && e->source != NULL)
            e->source_ops->drop(e->source, ps->part);
    }
    return MR_OK;
}

enum mr_status mr_engine_check_dropped(struct mr_engine *e, struct mr_error *err)
{
    for (size_t i = 0; i < e->part_states.count; i++) {
        const struct mr_part_state *ps = e->part_states.items[i];
        if (ps == NULL || !ps->dropped || !ps->owned)
            continue;
        if (e->source_ops->drop != NULL && e->parts->mode == MR_MODE_RUN && mr_monotonic_ms() < ps->dropped_until_ms)
            continue;
        mr_fail(err, MR_E_FENCED, "%s [%d]: another instance of pipeline \"%s\" has taken it over", ps->part->topic_z,
                (int)ps->part->partition, e->cfg->pipeline);
        mr_error_hint(err, "stop the other instance, or give this one a pipeline name of its own");
        return MR_E_FENCED;
    }
    return MR_OK;
}
