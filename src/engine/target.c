/* The control connection, and waiting for a target that does not answer. While waiting, polling goes on with the partitions paused, so that
 * the group does not take them away; nothing is dead-lettered for the target's sake. */
#include "internal.h"

#include <string.h>

#include <millrace/base/log.h>
#include <millrace/base/time.h>

#define LOCK_WAIT_MS 10000 /* of the main thread, which has an ear for a stop only in between */
#define CALM_MS 10000 /* without trouble: the next one is a new one */

static enum mr_status read_state(struct mr_engine *e, struct mr_error *err)
{
    MR_TRY(e->sink_ops->prepare_control(e->control, err));
    if (mr_relations_count(e->rels) == 0) {
        MR_TRY(mr_relations_reload(e->rels, e->control, err));
        MR_TRY(mr_control_schema_epoch(e->control, &e->gate.schema_epoch, err));
    }
    return MR_OK;
}

enum mr_status mr_engine_connect(struct mr_engine *e, struct mr_error *err)
{
    struct mr_sink_options opt = {.cfg = e->cfg, .application_z = "millrace control", .lock_wait_ms = LOCK_WAIT_MS};
    if (mr_watch_set(e->watch, NULL))
        e->sink_ops->destroy(e->control);
    e->control = e->intake.control = e->gate.control = NULL;
    struct mr_sink *sink = NULL;
    MR_TRY(e->sink_ops->connect(&opt, &sink, err));
    e->control = e->intake.control = e->gate.control = sink;
    (void)mr_watch_set(e->watch, sink);
    enum mr_status status = read_state(e, err);
    if (status != MR_OK) {
        if (mr_watch_set(e->watch, NULL))
            e->sink_ops->destroy(sink);
        e->control = e->intake.control = e->gate.control = NULL;
        return status;
    }
    if (!e->was_connected)
        mr_log(MR_LOG_INFO, "target connected", MR_KV_Z("server", e->sink_ops->server(sink)->text));
    e->was_connected = true;
    mr_backoff_reset(&e->backoff);
    return MR_OK;
}

void mr_engine_idle_poll(struct mr_engine *e, int timeout_ms)
{
    if (e->source == NULL || e->in_callback || e->source_ops->pause == NULL) {
        if (timeout_ms > 0)
            mr_sleep_ms(timeout_ms);
        return;
    }
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_record none[1];
    size_t count = 0;
    enum mr_poll_state state = MR_POLL_IDLE;
    struct mr_error err = {0};
    if (!e->source_paused)
        e->source_ops->pause(e->source);
    e->source_paused = true;
    enum mr_status status = e->source_ops->poll(e->source, ar, none, 0, 0, timeout_ms, &count, &state, &err);
    if ((status == MR_E_CONFIG || status == MR_E_BUG) && e->fatal.status == MR_OK)
        e->fatal = err; /* told once; everything else is told again by the next poll */
    if (status != MR_OK && timeout_ms > 0)
        mr_sleep_ms(timeout_ms);
    mr_arena_destroy(ar);
}

enum mr_status mr_engine_pause(void *ctx, int ms, struct mr_error *err)
{
    struct mr_engine *e = ctx;
    bool outer = !e->target_waiting;
    e->target_waiting = true; /* the open batch has a record that is not decided: it must not be dispatched meanwhile */
    enum mr_status status = MR_OK;
    for (int left = ms; left > 0 && status == MR_OK; left -= 100) {
        status = mr_engine_may_wait(e, err);
        if (status == MR_OK)
            mr_engine_idle_poll(e, left < 100 ? left : 100);
        mr_engine_progress(e);
    }
    if (outer)
        e->target_waiting = false;
    return status;
}

static bool connection_usable(struct mr_engine *e)
{
    return e->control != NULL && e->sink_ops->is_alive(e->control);
}

enum mr_status mr_engine_may_wait(const struct mr_engine *e, struct mr_error *err)
{
    if (mr_engine_stopping())
        return mr_fail(err, MR_E_STOPPED, "stopped while waiting for the target");
    if (e->must_return_ms != 0 && mr_monotonic_ms() > e->must_return_ms)
        return mr_fail(err, MR_E_STOPPED, "the group does not wait any longer for a batch to be finished");
    return MR_OK;
}

/* One round of waiting and connecting. */
static enum mr_status wait_round(struct mr_engine *e, struct mr_error *err)
{
    int64_t ms = mr_backoff_next_ms(&e->backoff);
    if (e->backoff.attempt == 1 || e->backoff.attempt % 10 == 0)
        mr_log_error(MR_LOG_WARN, strncmp(err->code, "registry_", 9) == 0 ? "waiting for the schema registry" : "waiting for the target", err);
    for (int64_t left = ms; left > 0; left -= 100) {
        MR_TRY(mr_engine_may_wait(e, err));
        mr_engine_idle_poll(e, (int)(left < 100 ? left : 100));
        mr_engine_progress(e);
    }
    if (connection_usable(e))
        return MR_OK;
    return mr_engine_connect(e, err);
}

enum mr_status mr_engine_wait_target(struct mr_engine *e, struct mr_error *err)
{
    int64_t since = mr_monotonic_ms();
    bool outer = !e->target_waiting;
    if (e->shared.has_user && e->control != NULL && strcmp(err->code, MR_CODE_NO_RIGHTS) == 0)
        return err->status = MR_E_CONFIG;
    e->target_waiting = true;
    enum mr_status status = MR_E_ENV;
    if (e->control != NULL && since - e->last_wait_ms > CALM_MS)
        mr_backoff_reset(&e->backoff);
    if (e->control == NULL && !e->was_connected && e->backoff.attempt == 0)
        status = mr_engine_connect(e, err); /* the very first: at once */
    while (status == MR_E_ENV || status == MR_E_BUSY) {
        if (!e->was_connected && mr_monotonic_ms() - since > e->cfg->connect_timeout_ms) {
            *e->unreachable = MR_TARGET_UNREACHABLE;
            break;
        }
        status = wait_round(e, err);
    }
    e->last_wait_ms = mr_monotonic_ms();
    if (outer)
        e->target_waiting = false;
    if (status == MR_E_BUSY)
        status = MR_OK;
    return status;
}

void mr_engine_progress(struct mr_engine *e)
{
    int64_t now = mr_monotonic_ms();
    if (e->parts->progress == NULL || now - e->last_progress_ms < 200)
        return;
    e->last_progress_ms = now;
    struct mr_engine_stats *st = e->stats;
    st->now_ms = now;
    st->waiting = e->target_waiting || e->shared.waiting > 0;
    st->tables = mr_relations_count(e->rels);
    struct mr_lag lags[256];
    if (e->source != NULL && e->source_ops->lag != NULL) {
        size_t count = e->source_ops->lag(e->source, lags, 256);
        st->input_done = 0;
        st->input_total = count > 0 ? 0 : -1;
        for (size_t i = 0; i < count; i++) {
            st->input_done += lags[i].position > 0 ? lags[i].position : 0;
            st->input_total = lags[i].end < 0 || st->input_total < 0 ? -1 : st->input_total + lags[i].end;
        }
    }
    e->parts->progress(e->parts->ctx, st);
}
