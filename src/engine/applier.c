/* The applier thread: see applier.h. */
#include "applier.h"

#include <pthread.h>
#include <stdio.h>
#include <stdatomic.h>
#include <time.h>

#include <millrace/base/backoff.h>
#include <millrace/base/log.h>
#include <millrace/base/mem.h>
#include <millrace/base/time.h>

#include "apply_job.h"
#include "status_outbox.h"

#define QUEUE_LEN 8

struct mr_applier {
    struct mr_applier_shared *shared;
    uint32_t lane;
    pthread_t thread;
    pthread_cond_t wake;
    /* guarded by shared->lock */
    struct mr_job *queue[QUEUE_LEN];
    size_t head, count;
    bool closed; /* a job was refused: what is queued comes back STOPPED */
    bool quit;
    /* the thread's own; changed under `sink_lock`, for whoever wants to cancel */
    struct mr_sink *sink;
    pthread_mutex_t sink_lock;
    struct mr_backoff backoff;
};

void mr_applier_shared_init(struct mr_applier_shared *shared, const struct mr_config *cfg,
                            const struct mr_sink_ops *ops)
{
    *shared = (struct mr_applier_shared){.cfg = cfg, .ops = ops, .pipeline = mr_str_z(cfg->pipeline)};
    shared->lock = mr_xcalloc(1, sizeof(pthread_mutex_t));
    shared->done_cond = mr_xcalloc(1, sizeof(pthread_cond_t));
    pthread_mutex_init(shared->lock, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(shared->done_cond, &attr);
    pthread_condattr_destroy(&attr);
}

void mr_applier_shared_free(struct mr_applier_shared *shared)
{
    pthread_mutex_destroy(shared->lock);
    pthread_cond_destroy(shared->done_cond);
    mr_xfree(shared->lock);
    mr_xfree(shared->done_cond);
}

/* ---- the thread ---- */

static bool abandoned(const struct mr_applier *applier)
{
    return atomic_load(&applier->shared->abandon);
}

/* Sleep for the backoff in small steps, so that a stop is heard. */
static void wait_a_while(struct mr_applier *applier, const struct mr_job *job, struct mr_error *err)
{
    int64_t ms = mr_backoff_next_ms(&applier->backoff);
    bool is_told = applier->backoff.attempt == 1 || applier->backoff.attempt % 10 == 0;
    if (mr_apply_job_isolates_unknown(job) && (is_told || applier->backoff.attempt == 6)) {
        mr_error_hint(err, "Millrace does not know this error. None of the table's rows is taken, so it is no single row's fault: see to the table "
                           "and its server, the work goes on by itself then");
        mr_log_error(MR_LOG_ERROR, "the target refuses the rows for an unknown reason; waiting and trying again", err);
    } else if (is_told)
        mr_log_error(MR_LOG_WARN, "the target does not take the batch; waiting and trying again", err);
    atomic_fetch_add(&applier->shared->waiting, 1);
    for (int64_t left = ms; left > 0 && !abandoned(applier); left -= 50)
        mr_sleep_ms(left < 50 ? left : 50);
    atomic_fetch_sub(&applier->shared->waiting, 1);
}

/* Another connection; returns the one before. */
static struct mr_sink *take_sink(struct mr_applier *applier, struct mr_sink *sink)
{
    pthread_mutex_lock(&applier->sink_lock);
    struct mr_sink *before = applier->sink;
    applier->sink = sink;
    pthread_mutex_unlock(&applier->sink_lock);
    return before;
}

static enum mr_status connect_target(struct mr_applier *applier, struct mr_error *err)
{
    const struct mr_sink_ops *ops = applier->shared->ops;
    if (applier->sink != NULL && ops->is_alive(applier->sink))
        return MR_OK;
    ops->destroy(take_sink(applier, NULL));
    char name[48];
    snprintf(name, sizeof name, "millrace applier %u", applier->lane);
    struct mr_sink_options opt = {.cfg = applier->shared->cfg, .application_z = name};
    struct mr_sink *sink = NULL;
    MR_TRY(ops->connect(&opt, &sink, err));
    (void)take_sink(applier, sink);
    return MR_OK;
}

/* One attempt. *retry: try again (after waiting, if ENV). */
static enum mr_status attempt(struct mr_applier *applier, struct mr_job *job, bool *isolate, bool *in_doubt,
                              struct mr_error *err)
{
    *err = (struct mr_error){.row = -1};
    MR_TRY(connect_target(applier, err));
    if (*in_doubt) {
        bool committed = false;
        MR_TRY(mr_apply_was_committed(applier->sink, applier->shared->cfg, job, &committed, err));
        *in_doubt = false;
        if (committed)
            return MR_OK;
    }
    return mr_apply_job(applier->sink, applier->shared->cfg, job, *isolate, in_doubt, err);
}

/* A row that another row stands in the way of, of another lane perhaps. Tables with such constraints are loaded in one transaction for all lanes;
 * but this constraint may have come after we had looked at the table. */
static bool may_be_another_lanes(const struct mr_job *job, const struct mr_error *err)
{
    static const char *const natives[] = {"23503", "23505", "23P01", "787", "1555", "2067", "1062", "1451", "1452", "1586"}; /* SQLSTATEs, SQLite's and MySQL's codes */
    if (job->all_lanes || job->batch->job_count == 1 || job->batch->replanned)
        return false;
    for (size_t i = 0; i < sizeof natives / sizeof natives[0]; i++)
        if (strcmp(err->native, natives[i]) == 0)
            return true;
    return false;
}

/* The same unknown error once more? */
static void count_unknown(struct mr_job *job, char *last, size_t size, const struct mr_error *err)
{
    bool is_unknown = strcmp(err->code, MR_CODE_UNKNOWN) == 0;
    bool is_same = is_unknown && strcmp(last, err->native) == 0;
    job->unknown_tries = is_same ? job->unknown_tries + 1 : is_unknown;
    snprintf(last, size, "%s", is_unknown ? err->native : "");
}

static enum mr_status run_job(struct mr_applier *applier, struct mr_job *job, struct mr_error *err)
{
    bool isolate = false, in_doubt = false;
    unsigned busy = 0;
    char last_unknown[sizeof err->native] = "";
    job->unknown_tries = 0;
    for (;;) {
        enum mr_status status = attempt(applier, job, &isolate, &in_doubt, err);
        switch (status) {
        case MR_OK:
            mr_backoff_reset(&applier->backoff);
            return MR_OK;
        case MR_E_DATA:
            if (may_be_another_lanes(job, err))
                return err->status = MR_E_SCHEMA;
            if (isolate || job->want_unfolded)
                return status;
            isolate = true;
            continue;
        case MR_E_BUSY:
            if (++busy % 20 == 0)
                mr_log_error(MR_LOG_WARN, "the target is busy; the transaction is tried again", err);
            if (busy > 3)
                mr_sleep_ms(busy < 50 ? busy * 2 : 100);
            break;
        case MR_E_ENV:
            if (applier->shared->has_user && strcmp(err->code, MR_CODE_NO_RIGHTS) == 0)
                return err->status = MR_E_CONFIG;
            count_unknown(job, last_unknown, sizeof last_unknown, err);
            isolate = isolate || mr_apply_job_isolates_unknown(job);
            if (!abandoned(applier))
                wait_a_while(applier, job, err);
            break;
        case MR_E_CONFIG:
        case MR_E_SCHEMA:
        case MR_E_FENCED:
        case MR_E_STOPPED:
        case MR_E_BUG:
            return status;
        }
        if (abandoned(applier) && !in_doubt)
            return mr_fail(err, MR_E_STOPPED, "stopped while waiting for the target");
        if (abandoned(applier)) {
            job->reached = 0; /* maybe it has not been rolled back */
            return mr_fail(err, MR_E_STOPPED, "stopped with a commit in doubt; the stored position decides at the next start");
        }
    }
}

static void finish_job(struct mr_applier *applier, struct mr_job *job, enum mr_status status,
                       const struct mr_error *err)
{
    job->status = status;
    if (status != MR_OK) {
        job->err = *err;
        applier->closed = true;
    }
    job->done = true;
    pthread_cond_broadcast(applier->shared->done_cond);
}

static void *applier_main(void *arg)
{
    struct mr_applier *applier = arg;
    pthread_mutex_t *lock = applier->shared->lock;
    struct mr_error undone = {0};
    mr_fail(&undone, MR_E_STOPPED, "not begun: a batch before it was refused");
    pthread_mutex_lock(lock);
    for (;;) {
        while (applier->count == 0 && !applier->quit)
            pthread_cond_wait(&applier->wake, lock);
        if (applier->count == 0)
            break;
        struct mr_job *job = applier->queue[applier->head];
        if (applier->closed) {
            finish_job(applier, job, MR_E_STOPPED, &undone);
        } else {
            pthread_mutex_unlock(lock);
            struct mr_error err = {.row = -1};
            enum mr_status status = run_job(applier, job, &err);
            if (status != MR_OK)
                mr_status_delta_cancelled(applier->sink, applier->shared->cfg, job);
            pthread_mutex_lock(lock);
            finish_job(applier, job, status, &err);
        }
        applier->head = (applier->head + 1) % QUEUE_LEN;
        applier->count--;
    }
    pthread_mutex_unlock(lock);
    applier->shared->ops->destroy(take_sink(applier, NULL));
    return NULL;
}

/* ---- the main thread's side ---- */

struct mr_applier *mr_applier_start(struct mr_applier_shared *shared, uint32_t lane)
{
    struct mr_applier *applier = mr_xcalloc(1, sizeof *applier);
    applier->shared = shared;
    applier->lane = lane;
    mr_backoff_init(&applier->backoff, 100, 10000);
    pthread_cond_init(&applier->wake, NULL);
    pthread_mutex_init(&applier->sink_lock, NULL);
    if (pthread_create(&applier->thread, NULL, applier_main, applier) != 0) {
        pthread_cond_destroy(&applier->wake);
        pthread_mutex_destroy(&applier->sink_lock);
        mr_xfree(applier);
        return NULL;
    }
    return applier;
}

void mr_applier_submit(struct mr_applier *applier, struct mr_job *job)
{
    pthread_mutex_lock(applier->shared->lock);
    applier->queue[(applier->head + applier->count) % QUEUE_LEN] = job; /* the engine keeps at most two under way */
    applier->count++;
    pthread_cond_signal(&applier->wake);
    pthread_mutex_unlock(applier->shared->lock);
}

void mr_applier_reopen(struct mr_applier *applier)
{
    pthread_mutex_lock(applier->shared->lock);
    applier->closed = false;
    pthread_mutex_unlock(applier->shared->lock);
}

/* ---- cancelling ---- */

static void *cancel_main(void *arg)
{
    struct mr_applier *applier = arg;
    pthread_mutex_lock(&applier->sink_lock); /* the connection stays as long as it is spoken of */
    if (applier->sink != NULL && applier->shared->ops->cancel != NULL)
        applier->shared->ops->cancel(applier->sink);
    pthread_mutex_unlock(&applier->sink_lock);
    return NULL;
}

bool mr_applier_cancel(struct mr_applier *applier, int64_t wait_ms)
{
    pthread_t thread;
    struct timespec until;
    if (pthread_create(&thread, NULL, cancel_main, applier) != 0)
        return false;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += wait_ms / 1000;
    if (pthread_timedjoin_np(thread, NULL, &until) == 0)
        return true;
    pthread_detach(thread);
    return false;
}

void mr_applier_stop(struct mr_applier *applier)
{
    if (applier == NULL)
        return;
    pthread_mutex_lock(applier->shared->lock);
    applier->quit = true;
    pthread_cond_signal(&applier->wake);
    pthread_mutex_unlock(applier->shared->lock);
    pthread_join(applier->thread, NULL);
    pthread_cond_destroy(&applier->wake);
    pthread_mutex_destroy(&applier->sink_lock);
    mr_xfree(applier);
}

bool mr_applier_wait(struct mr_applier_shared *shared, struct mr_job *job, int64_t timeout_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += timeout_ms / 1000;
    until.tv_nsec += (timeout_ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_mutex_lock(shared->lock);
    int rc = 0;
    while (!job->done && rc == 0)
        rc = pthread_cond_timedwait(shared->done_cond, shared->lock, &until);
    bool done = job->done;
    pthread_mutex_unlock(shared->lock);
    return done;
}
