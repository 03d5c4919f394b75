/* An applier: one thread, one target connection, one lane. It takes jobs in order and makes each a transaction. All retrying of the engine
 * happens here: ENV is waited out with backoff, BUSY is tried again at once, DATA is isolated to the row. Everything else ends the job with
 * its status, and the jobs behind it come back undone (STOPPED), so that the main thread can make them anew. */
#ifndef MILLRACE_ENGINE_APPLIER_H
#define MILLRACE_ENGINE_APPLIER_H

#include "batch.h"

struct mr_applier;

/* Completion is told through these: the main thread waits on `done_cond` under `lock`. Shared by all appliers. */
struct mr_applier_shared {
    const struct mr_config *cfg;
    const struct mr_sink_ops *ops;
    struct mr_str pipeline;
    bool has_user;              /* a backfill: somebody looks on, and gives a missing right or corrects the URL */
    void *lock;                 /* pthread_mutex_t, guards everything in jobs that is an outcome */
    void *done_cond;            /* pthread_cond_t */
    _Atomic bool abandon;       /* do not wait for the target any longer: jobs end with STOPPED */
    _Atomic int waiting;        /* appliers that wait for the target now */
};

void mr_applier_shared_init(struct mr_applier_shared *shared, const struct mr_config *cfg,
                            const struct mr_sink_ops *ops);
void mr_applier_shared_free(struct mr_applier_shared *shared);

struct mr_applier *mr_applier_start(struct mr_applier_shared *shared, uint32_t lane);
/* Queue a job; it must stay until it is done. */
void mr_applier_submit(struct mr_applier *applier, struct mr_job *job);
/* Refused jobs leave the applier closed: everything submitted comes back STOPPED until this. */
void mr_applier_reopen(struct mr_applier *applier);
/* Make the call to the target that is under way return. It may itself have to reach the target: false if it has not done so after wait_ms; it then
 * goes on in a thread of its own, and the applier must not be destroyed. */
bool mr_applier_cancel(struct mr_applier *applier, int64_t wait_ms);
/* Ends the thread after the job under way. */
void mr_applier_stop(struct mr_applier *applier);

/* Wait until job->done, or timeout_ms have passed; true if done. */
bool mr_applier_wait(struct mr_applier_shared *shared, struct mr_job *job, int64_t timeout_ms);

#endif
