/* The watch over a stop: see watch.h. */
#include "watch.h"

#include <pthread.h>
#include <time.h>

#include <millrace/base/mem.h>
#include <millrace/base/time.h>
#include <millrace/engine.h>

#define LOOK_MS 200
#define AGAIN_MS 500     /* what runs next may wait as well */
#define CANCEL_WAIT_MS 2000

struct mr_watch {
    const struct mr_sink_ops *ops;
    int64_t grace_ms;
    pthread_t thread;
    pthread_mutex_t sink_lock; /* guards `sink`, and is held while it is called back */
    struct mr_sink *sink;
    pthread_mutex_t quit_lock; /* guards `quit` */
    pthread_cond_t quit_cond;
    bool quit;
};

static struct timespec from_now(int64_t ms)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += ms % 1000 * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    return until;
}

/* Wait until it is time to look again; true: it is over. */
static bool wait_for_quit(struct mr_watch *watch)
{
    struct timespec until = from_now(LOOK_MS);
    int rc = 0;
    pthread_mutex_lock(&watch->quit_lock);
    while (!watch->quit && rc == 0)
        rc = pthread_cond_timedwait(&watch->quit_cond, &watch->quit_lock, &until);
    bool quit = watch->quit;
    pthread_mutex_unlock(&watch->quit_lock);
    return quit;
}

static void *watch_main(void *arg)
{
    struct mr_watch *watch = arg;
    int64_t stop_ms = 0, next_ms = 0;
    while (!wait_for_quit(watch)) {
        int64_t now = mr_monotonic_ms();
        if (stop_ms == 0 && mr_engine_stopping()) {
            stop_ms = now;
            next_ms = now + watch->grace_ms;
        }
        if (stop_ms == 0 || now < next_ms)
            continue;
        next_ms = now + AGAIN_MS;
        pthread_mutex_lock(&watch->sink_lock);
        if (watch->sink != NULL)
            watch->ops->cancel(watch->sink);
        pthread_mutex_unlock(&watch->sink_lock);
    }
    return NULL;
}

static void free_watch(struct mr_watch *watch)
{
    pthread_mutex_destroy(&watch->sink_lock);
    pthread_mutex_destroy(&watch->quit_lock);
    pthread_cond_destroy(&watch->quit_cond);
    mr_xfree(watch);
}

struct mr_watch *mr_watch_start(const struct mr_sink_ops *ops, int64_t grace_ms)
{
    if (ops->cancel == NULL)
        return NULL;
    struct mr_watch *watch = mr_xcalloc(1, sizeof *watch);
    watch->ops = ops;
    watch->grace_ms = grace_ms;
    pthread_mutex_init(&watch->sink_lock, NULL);
    pthread_mutex_init(&watch->quit_lock, NULL);
    pthread_cond_init(&watch->quit_cond, NULL);
    if (pthread_create(&watch->thread, NULL, watch_main, watch) == 0)
        return watch;
    free_watch(watch);
    return NULL;
}

bool mr_watch_set(struct mr_watch *watch, struct mr_sink *sink)
{
    if (watch == NULL)
        return true;
    struct timespec until = from_now(CANCEL_WAIT_MS);
    if (pthread_mutex_timedlock(&watch->sink_lock, &until) != 0)
        return false;
    watch->sink = sink;
    pthread_mutex_unlock(&watch->sink_lock);
    return true;
}

bool mr_watch_end(struct mr_watch *watch)
{
    if (watch == NULL)
        return true;
    pthread_mutex_lock(&watch->quit_lock);
    watch->quit = true;
    pthread_cond_signal(&watch->quit_cond);
    pthread_mutex_unlock(&watch->quit_lock);
    struct timespec until = from_now(CANCEL_WAIT_MS);
    if (pthread_timedjoin_np(watch->thread, NULL, &until) != 0) {
        pthread_detach(watch->thread);
        return false;
    }
    free_watch(watch);
    return true;
}
