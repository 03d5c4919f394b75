/* The engine's own state, shared by its files: engine.c (life), flow.c (batches through the appliers, with batch_fill.c, dispatch.c and settle.c), rebalance.c (partitions come and go),
 * target.c (the control connection and waiting for the target). Everything here belongs to the main thread. */
#ifndef MILLRACE_ENGINE_INTERNAL_H
#define MILLRACE_ENGINE_INTERNAL_H

#include <millrace/base/backoff.h>
#include <millrace/engine.h>

#include "applier.h"
#include "ddl_gate.h"
#include "intake.h"
#include "source_tx.h"
#include "status_sender.h"
#include "type_feed.h"
#include "watch.h"

#define MR_MAX_IN_FLIGHT 2

struct mr_engine {
    const struct mr_engine_parts *parts;
    const struct mr_config *cfg;
    const struct mr_source_ops *source_ops;
    const struct mr_sink_ops *sink_ops;
    struct mr_str pipeline;
    uint32_t lanes;

    struct mr_source *source;
    struct mr_sink *control;            /* NULL while the target does not answer */
    struct mr_backoff backoff;
    bool was_connected;                 /* the target has answered once */

    struct mr_parts part_states;
    struct mr_relations *rels;
    struct mr_intake intake;
    struct mr_gate gate;
    struct mr_type_feeds *feeds;        /* schema topics */

    struct mr_applier_shared shared;
    struct mr_applier *appliers[MR_MAX_LANES];
    struct mr_status_sender *sender;    /* NULL: nothing is told */
    bool told_full;                     /* that the load waits for the status topic */
    struct mr_watch *watch;             /* over the control connection, while a stop is due */

    struct mr_tx_queue *txq;            /* transactions: source; else NULL */
    struct mr_arena *peek_ar;           /* for reading a record's transaction */
    bool requeue;                       /* partitions have gone: what waits for a transaction, or is to be made anew, is put together once more */
    struct mr_chunk *chunk;             /* being read from; NULL none */
    struct mr_chunk_pool chunks;
    struct mr_batch *open;              /* being filled; NULL none */
    struct mr_batch *in_flight[MR_MAX_IN_FLIGHT]; /* oldest first */
    size_t in_flight_count;
    struct mr_batch **todo;             /* to be made anew, oldest first, before anything new is read */
    size_t todo_count, todo_cap;
    struct mr_batch *spare[4];
    size_t spare_count;
    uint64_t next_seq;
    bool need_redo;                     /* something under way was refused: make it anew */
    bool fenced;                        /* one of the refusals was FENCED */
    unsigned fenced_in_vain;            /* fenced, and yet every epoch is ours: cannot go on for ever */
    bool source_ended;
    bool source_seen;                   /* it has answered once */
    int64_t source_since_ms;            /* trying since */
    int64_t refused_until_ms;           /* evolve forbids a step: not tried again before */
    bool source_more;                   /* the last poll said that there may be more at once */
    bool source_paused;
    bool in_callback;                   /* inside the source's poll: no polling from here */
    bool dispatching;                   /* the open batch is on its way to the appliers: not to be dispatched by a callback too */
    bool target_waiting;                /* inside a wait for the target */
    int64_t must_return_ms;             /* the group waits for us: no wait goes on beyond this; 0 no limit */
    int64_t last_wait_ms;               /* when we last waited for the target */
    struct mr_error fatal;              /* set with fatal.status: the run ends */

    uint64_t window_records, window_dead; /* the breaker's */
    int64_t last_progress_ms, last_statistics_ms;
    int64_t stop_by_ms;                 /* what is under way when a stop is asked for may take until then; 0 = not asked yet */
    struct mr_engine_stats *stats;
    enum mr_unreachable *unreachable;
};

/* target.c: the control connection. */
enum mr_status mr_engine_connect(struct mr_engine *e, struct mr_error *err) MR_MUST_CHECK;
/* After ENV or BUSY from the control connection: wait (polling with paused partitions unless inside a callback), connect anew.
 * OK: try again. Ends with STOPPED when asked to stop, with ENV when the first connection took too long. */
enum mr_status mr_engine_wait_target(struct mr_engine *e, struct mr_error *err) MR_MUST_CHECK;
/* STOPPED if we are asked to stop, or if the group has waited long enough. */
enum mr_status mr_engine_may_wait(const struct mr_engine *e, struct mr_error *err) MR_MUST_CHECK;
/* Keep the group's membership alive without taking records. */
void mr_engine_idle_poll(struct mr_engine *e, int timeout_ms);
/* For schema topics: wait so long, serving the group. ctx is the engine. */
enum mr_status mr_engine_pause(void *ctx, int ms, struct mr_error *err) MR_MUST_CHECK;
void mr_engine_progress(struct mr_engine *e);

/* Run `call` (which uses e->control) until it does not fail for the target's sake. */
#define MR_WITH_TARGET(e, status, err, call)                                                       \
    do {                                                                                           \
        (status) = (e)->control != NULL ? (call) : MR_E_ENV;                                       \
        if ((status) != MR_E_ENV && (status) != MR_E_BUSY)                                         \
            break;                                                                                 \
        (status) = mr_engine_wait_target((e), (err));                                              \
    } while ((status) == MR_OK)

/* rebalance.c: the listener of the source. */
struct mr_source_listener mr_engine_listener(struct mr_engine *e);
/* After FENCED: find out which partitions are not ours any more and drop them. */
enum mr_status mr_engine_drop_fenced(struct mr_engine *e, struct mr_error *err) MR_MUST_CHECK;
/* Dropped partitions the group still gives us after the grace: FENCED. */
enum mr_status mr_engine_check_dropped(struct mr_engine *e, struct mr_error *err) MR_MUST_CHECK;

/* Until when (monotonic) a stop leaves the work under way alone; 0 = no stop has been asked for. One time for everything that waits. */
int64_t mr_engine_stop_by(struct mr_engine *e);

/* flow.c, batch_fill.c, settle.c; what they have between themselves is in flow_parts.h */
/* Read and take in until the batch is due; dispatch it. OK with nothing read is fine. */
enum mr_status mr_engine_step(struct mr_engine *e, struct mr_error *err) MR_MUST_CHECK;
/* Dispatch the open batch, if it has anything. It stays open if need_redo was set on the way. */
enum mr_status mr_engine_flush(struct mr_engine *e, struct mr_error *err) MR_MUST_CHECK;
/* Wait until every job under way is done, until the monotonic time `deadline_ms` (0 = no limit). Refused batches set need_redo or are fatal. */
enum mr_status mr_engine_drain(struct mr_engine *e, int64_t deadline_ms, struct mr_error *err) MR_MUST_CHECK;
/* Everything under way, and the open batch, goes back to `todo`; trackers are read again. */
enum mr_status mr_engine_redo(struct mr_engine *e, struct mr_error *err) MR_MUST_CHECK;
/* Save tracked columns' counts, if it is time (or `now`). */
enum mr_status mr_engine_save_statistics(struct mr_engine *e, bool now, struct mr_error *err) MR_MUST_CHECK;
void mr_engine_release_all(struct mr_engine *e);
void mr_engine_unref_chunk(struct mr_engine *e, struct mr_chunk *chunk);
/* Give the batch's memory and records back. */
void mr_engine_recycle(struct mr_engine *e, struct mr_batch *batch);
/* Is the record of a claim that still holds? A partition that went and came back is read anew from its stored position: what is still in hand from
 * before would leave a gap, or come twice. */
bool mr_engine_is_current(const struct mr_part_state *ps, const struct mr_record *rec);

/* tx_flow.c: records on their way through the queue of `transactions: source`. */
void mr_engine_tx_start(struct mr_engine *e);
void mr_engine_tx_end(struct mr_engine *e, bool ok);
/* From the chunk into the queue. */
enum mr_status mr_engine_tx_feed(struct mr_engine *e, struct mr_error *err) MR_MUST_CHECK;
/* Time passes, the input ends. */
void mr_engine_tx_tick(struct mr_engine *e);
/* After `requeue`: batches that are to be made anew, and everything that waits, go through the queue again, but for what is not ours any more. */
enum mr_status mr_engine_tx_requeue(struct mr_engine *e, struct mr_error *err) MR_MUST_CHECK;

/* Nothing of what has been read can be taken into a batch. */
static inline bool mr_engine_chunk_is_read(const struct mr_engine *e)
{
    return (e->chunk == NULL || e->chunk->next == e->chunk->count) && (e->txq == NULL || !mr_tx_queue_ready(e->txq));
}

#endif
