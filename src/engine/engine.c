/* The engine's life: connect, claim, step until the end, finish, leave. */
#include "internal.h"
#include "status_outbox.h"

#include <millrace/base/log.h>
#include <millrace/base/mem.h>
#include <millrace/base/stop.h>
#include <millrace/base/time.h>

#define CANCEL_WAIT_MS 3000

void mr_engine_stop(void)
{
    mr_stop_request();
}

bool mr_engine_stopping(void)
{
    return mr_stop_requested();
}

static void init(struct mr_engine *e, const struct mr_engine_parts *parts, struct mr_engine_stats *stats,
                 enum mr_unreachable *unreachable)
{
    *e = (struct mr_engine){
        .parts = parts,
        .cfg = parts->cfg,
        .source_ops = parts->source,
        .sink_ops = parts->sink,
        .pipeline = mr_str_z(parts->cfg->pipeline),
        .stats = stats,
        .unreachable = unreachable,
    };
    *unreachable = MR_REACHED;
    *stats = (struct mr_engine_stats){.started_ms = mr_monotonic_ms(), .input_total = -1};
    e->lanes = parts->sink->single_writer ? 1 : parts->cfg->appliers;
    mr_backoff_init(&e->backoff, 100, 5000);
    mr_intake_init(&e->intake, e->cfg);
    e->rels = mr_relations_create(e->cfg, e->sink_ops);
    e->intake.rels = e->rels;
    e->intake.lanes = e->lanes;
    e->gate.cfg = e->cfg;
    mr_applier_shared_init(&e->shared, e->cfg, e->sink_ops);
    e->shared.has_user = parts->mode == MR_MODE_BACKFILL;
}

/* The first connection, the control tables, what an earlier run left. */
static enum mr_status open_target(struct mr_engine *e, struct mr_error *err)
{
    enum mr_status status = mr_engine_wait_target(e, err);
    MR_TRY(status);
    if (e->cfg->file_again)
        MR_WITH_TARGET(e, status, err, mr_control_forget(e->control, e->pipeline, NULL, err));
    return status;
}

static enum mr_status open_source(struct mr_engine *e, struct mr_error *err)
{
    static struct mr_source_listener listener;
    listener = mr_engine_listener(e);
    bool bounded = e->parts->mode == MR_MODE_BACKFILL;
    e->source_since_ms = mr_monotonic_ms();
    for (;;) {
        enum mr_status status = e->source_ops->create(e->cfg, bounded, &listener, &e->source, err);
        if (status != MR_E_ENV)
            return status;
        if (mr_monotonic_ms() - e->source_since_ms > e->cfg->connect_timeout_ms) {
            *e->unreachable = MR_SOURCE_UNREACHABLE;
            return status;
        }
        if (e->backoff.attempt == 0)
            mr_log_error(MR_LOG_WARN, "the source does not answer; waiting", err);
        mr_sleep_ms(mr_backoff_next_ms(&e->backoff));
        if (mr_engine_stopping())
            return mr_fail(err, MR_E_STOPPED, "stopped while waiting for the source");
    }
}

/* Under the gate: what is on record as planned is then of an instance that is gone. BUSY: another one has the gate, and looks itself. */
static enum mr_status settle_status(struct mr_engine *e, struct mr_error *err)
{
    if (!mr_status_is_on(e->cfg) || !e->sink_ops->ddl_commits)
        return MR_OK;
    enum mr_status status = e->sink_ops->gate_lock(e->control, err);
    if (status != MR_OK)
        return status == MR_E_BUSY ? MR_OK : status;
    status = mr_status_settle(e->control, e->cfg, err);
    e->sink_ops->gate_unlock(e->control);
    return status == MR_E_BUSY ? MR_OK : status;
}

static enum mr_status start_sender(struct mr_engine *e, struct mr_error *err)
{
    enum mr_status status;
    MR_WITH_TARGET(e, status, err, settle_status(e, err));
    MR_TRY(status);
    e->sender = mr_status_sender_start(e->cfg, e->sink_ops, e->parts->producer);
    return MR_OK;
}

static enum mr_status start_appliers(struct mr_engine *e, struct mr_error *err)
{
    for (uint32_t i = 0; i < e->lanes; i++) {
        e->appliers[i] = mr_applier_start(&e->shared, i);
        if (e->appliers[i] == NULL)
            return mr_fail(err, MR_E_ENV, "cannot start a thread");
    }
    return MR_OK;
}

static bool is_finished(const struct mr_engine *e)
{
    return e->source_ended && e->open == NULL && e->todo_count == 0 && e->in_flight_count == 0 &&
           mr_engine_chunk_is_read(e);
}

static enum mr_status loop(struct mr_engine *e, struct mr_error *err)
{
    while (!mr_engine_stopping() && !is_finished(e)) {
        MR_TRY(mr_engine_step(e, err));
        if (e->fatal.status != MR_OK) {
            *err = e->fatal;
            return err->status;
        }
        mr_engine_progress(e);
    }
    return MR_OK;
}

/* The names of a standard input without a name are used once: their positions tell nobody anything any more. */
static enum mr_status forget_stdin(struct mr_engine *e, struct mr_error *err)
{
    if (e->cfg->file_id != NULL && e->cfg->file_id[0] != '\0')
        return MR_OK;
    for (size_t i = 0; i < e->part_states.count; i++) {
        const struct mr_part_state *ps = e->part_states.items[i];
        if (ps != NULL && mr_str_starts(mr_str_z(ps->part->topic_z), MR_STR("stdin:")))
            MR_TRY(mr_control_forget(e->control, e->pipeline, ps->part, err));
    }
    return MR_OK;
}

int64_t mr_engine_stop_by(struct mr_engine *e)
{
    if (e->stop_by_ms == 0 && mr_engine_stopping())
        e->stop_by_ms = mr_monotonic_ms() + e->cfg->shutdown_timeout_ms / 2; /* the rest is for rolling back and for leaving the group */
    return e->stop_by_ms;
}

/* Asked to stop: the open batch is finished if the target takes it in time, and rolled back else. Either way nothing is lost. After an error
 * (`ok` false) it is finished too, unless the record that failed has left rows in it. */
static void finish(struct mr_engine *e, bool ok)
{
    struct mr_error err = {0};
    int64_t stop_by = mr_engine_stop_by(e);
    int64_t deadline = stop_by != 0 ? stop_by : mr_monotonic_ms() + e->cfg->shutdown_timeout_ms / 2;
    enum mr_status status = MR_OK;
    if (e->fatal.status == MR_OK && !e->need_redo && e->todo_count == 0 && (ok || (e->txq == NULL && e->intake.change_count <= 1)))
        status = mr_engine_flush(e, &err);
    if (status == MR_OK)
        status = mr_engine_drain(e, deadline, &err);
    if (status == MR_OK && e->control != NULL)
        status = mr_engine_save_statistics(e, true, &err);
    if (status == MR_OK && ok && e->control != NULL)
        status = forget_stdin(e, &err);
    if (status != MR_OK)
        mr_log_error(MR_LOG_WARN, "what was under way is rolled back", &err);
    e->shared.abandon = true;
}

/* The appliers that are inside a call (they wait for somebody's lock, say) are called back. False: that takes too long itself. */
static bool call_back(struct mr_engine *e)
{
    bool all = true;
    for (uint32_t i = 0; i < e->lanes; i++)
        all = mr_applier_cancel(e->appliers[i], CANCEL_WAIT_MS) && all;
    return all;
}

/* False: an applier hangs in a call of its client library; the process's end will have to do. */
static bool stop_appliers(struct mr_engine *e)
{
    struct mr_error ignored = {0};
    e->shared.abandon = true;
    if (mr_engine_drain(e, mr_monotonic_ms() + 1000, &ignored) != MR_OK &&
        (!call_back(e) || mr_engine_drain(e, mr_monotonic_ms() + 3000, &ignored) != MR_OK)) {
        mr_log_plain(MR_LOG_WARN, "an applier does not return from the target; leaving without it");
        return false;
    }
    for (uint32_t i = 0; i < MR_MAX_LANES; i++) {
        mr_applier_stop(e->appliers[i]);
        e->appliers[i] = NULL;
    }
    return true;
}

/* What is not sent stays in the target, and the next run sends it: a stop does not wait long for a topic that does not answer. At the end of a backfill
 * nobody may be there to send it later. */
static bool finish_sender(struct mr_engine *e, bool ok)
{
    bool patient = ok && e->parts->mode == MR_MODE_BACKFILL && !mr_engine_stopping();
    int64_t ms = e->cfg->shutdown_timeout_ms;
    bool clean = mr_status_sender_finish(e->sender, mr_monotonic_ms() + (patient ? ms : ms / 6), patient);
    if (clean)
        e->sender = NULL;
    return clean;
}

/* False: something of *e is still in use. */
static bool shut_down(struct mr_engine *e, bool ok)
{
    finish(e, ok);
    bool clean = stop_appliers(e);
    if (clean)
        mr_engine_tx_end(e, ok);
    if (e->source != NULL && clean) { /* else an applier may still look at its records */
        struct mr_source *source = e->source;
        mr_engine_release_all(e);
        e->in_callback = true; /* destroy calls revoked; nothing is left to finish */
        e->source_ops->destroy(source);
        e->source = NULL;
    }
    clean = finish_sender(e, ok) && clean;
    e->stats->now_ms = mr_monotonic_ms();
    e->stats->tables = mr_relations_count(e->rels);
    e->stats->ddl = e->gate.steps_run;
    clean = mr_watch_end(e->watch) && clean;
    if (!clean)
        return false; /* a thread may still look at what would be freed */
    e->sink_ops->destroy(e->control);
    for (size_t i = 0; i < e->spare_count; i++)
        mr_batch_destroy(e->spare[i]);
    mr_chunk_pool_free(&e->chunks);
    mr_xfree(e->todo);
    mr_relations_destroy(e->rels);
    mr_type_feeds_destroy(e->feeds);
    mr_decoder_set_destroy(e->intake.decoders);
    mr_intake_free(&e->intake);
    mr_parts_free(&e->part_states);
    mr_applier_shared_free(&e->shared);
    return true;
}

/* A backfill that found nothing new to read: an earlier run had come to the end. */
static bool was_finished_before(const struct mr_engine *e)
{
    bool any = false;
    for (size_t i = 0; i < e->part_states.count; i++) {
        const struct mr_part_state *ps = e->part_states.items[i];
        any = any || (ps != NULL && mr_part_resume(ps) > 0);
    }
    return any && e->stats->records == 0;
}

enum mr_status mr_engine_run(const struct mr_engine_parts *parts, struct mr_engine_stats *stats,
                             enum mr_unreachable *unreachable, struct mr_error *err)
{
    struct mr_engine *e = mr_xcalloc(1, sizeof *e);
    init(e, parts, stats, unreachable);
    e->watch = mr_watch_start(e->sink_ops, e->cfg->shutdown_timeout_ms / 2);
    enum mr_status status = mr_decoder_set_create(e->cfg, &e->intake.decoders, err);
    if (status == MR_OK)
        e->feeds = mr_type_feeds_create(e->cfg, e->source_ops, e->intake.decoders, mr_engine_pause, e);
    if (status == MR_OK && mr_status_is_on(e->cfg))
        status = e->parts->producer->check_settings(e->cfg, err);
    if (status == MR_OK)
        status = open_target(e, err);
    if (status == MR_OK)
        status = start_sender(e, err);
    if (status == MR_OK)
        status = start_appliers(e, err);
    if (status == MR_OK)
        mr_engine_tx_start(e);
    if (status == MR_OK)
        status = open_source(e, err);
    if (status == MR_OK)
        status = loop(e, err);
    if (status == MR_OK && e->source_ended)
        stats->finished_before = was_finished_before(e);
    if (shut_down(e, status == MR_OK))
        mr_xfree(e);
    return status == MR_E_STOPPED ? MR_OK : status;
}
