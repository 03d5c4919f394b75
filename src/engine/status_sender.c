/* The sending thread: see status_sender.h. */
#include "status_sender.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/random.h>
#include <time.h>

#include <millrace/base/backoff.h>
#include <millrace/base/fault.h>
#include <millrace/base/log.h>
#include <millrace/base/mem.h>
#include <millrace/base/time.h>

#include "control_status.h"
#include "status_outbox.h"

#define BUNCH 500   /* events sent at a time */
#define IDLE_MS 500 /* other instances' events wake nobody here */
#define COUNT_MS 2000
#define ASK_MS 5000
#define LOOK_MS 30000
#define SLICE_MS 1000
#define TELL_MS 3000 /* without a confirmation */
#define TELL_AGAIN_MS 60000
#define LOCK_WAIT_MS 5000

struct mr_status_sender {
    const struct mr_config *cfg;
    const struct mr_sink_ops *ops;
    const struct mr_producer_ops *producer_ops;
    struct mr_str topic;
    char owner[33];
    pthread_t thread;
    pthread_mutex_t lock; /* guards the next three */
    pthread_cond_t wake;
    bool woken, finishing, patient;
    _Atomic int64_t deadline_ms; /* while finishing; 0 before */
    _Atomic int64_t pending;     /* waiting events: counted now and then, reckoned in between */
    /* the thread's own */
    struct mr_sink *sink;
    struct mr_producer *producer;
    struct mr_backoff backoff;
    bool is_ours;      /* we have the lease, as far as we know */
    bool is_unsure;    /* what is in the topic is to be looked up first */
    int64_t leased_ms; /* monotonic: when it was last prolonged */
    int64_t sent_from;
    int64_t counted_ms;
};

enum outcome { NOTHING, SENT, ANOTHERS };

/* ---- the lease ---- */

static enum mr_status connect_target(struct mr_status_sender *s, struct mr_error *err)
{
    if (s->sink != NULL && s->ops->is_alive(s->sink))
        return MR_OK;
    s->ops->destroy(s->sink);
    s->sink = NULL;
    struct mr_sink_options opt = {
        .cfg = s->cfg, .application_z = "millrace status", .lock_wait_ms = LOCK_WAIT_MS};
    return s->ops->connect(&opt, &s->sink, err);
}

/* Have the lease, prolonged when a quarter of it has gone. */
static enum mr_status have_lease(struct mr_status_sender *s, struct mr_error *err)
{
    int64_t now = mr_monotonic_ms();
    bool was_ours = s->is_ours;
    if (was_ours && now - s->leased_ms < s->cfg->status_takeover_ms / 4)
        return MR_OK;
    bool lapsed =
        now - s->leased_ms >= s->cfg->status_takeover_ms; /* another one may have sent, and be gone again */
    s->is_ours = false;
    MR_TRY(mr_control_status_lease(s->sink, s->topic, mr_str_z(s->owner), s->cfg->status_takeover_ms,
                                   &s->is_ours, &s->sent_from, err));
    s->leased_ms = now;
    s->is_unsure = s->is_unsure || !was_ours || lapsed;
    return MR_OK;
}

/* ---- what is in the topic ---- */

struct look {
    struct mr_status_sender *s;
    struct mr_arena *ar;
    struct mr_str keys[BUNCH];
    size_t count;
    int64_t next; /* the offset behind the last key */
};

static enum mr_status note_in_transaction(struct look *look, struct mr_error *err)
{
    struct mr_status_sender *s = look->s;
    MR_TRY(mr_control_status_sent_from(s->sink, s->topic, mr_str_z(s->owner), look->next, err));
    return mr_control_status_found(s->sink, s->topic, look->keys, look->count, err);
}

/* In pieces, each of them for good: a long topic is not looked through from the start again and again. */
static enum mr_status note_found(struct look *look, struct mr_error *err)
{
    struct mr_status_sender *s = look->s;
    if (look->count == 0)
        return MR_OK;
    MR_TRY(s->ops->begin(s->sink, err));
    enum mr_status status = note_in_transaction(look, err);
    if (status == MR_OK)
        status = s->ops->commit(s->sink, err);
    if (status != MR_OK)
        s->ops->rollback(s->sink);
    look->count = 0;
    mr_arena_reset(look->ar);
    s->sent_from = look->next;
    return status == MR_OK ? have_lease(s, err) : status;
}

static enum mr_status on_key(void *ctx, struct mr_str key, int64_t offset, struct mr_error *err)
{
    struct look *look = ctx;
    look->keys[look->count++] = mr_arena_copy(look->ar, key);
    look->next = offset + 1;
    return look->count == BUNCH ? note_found(look, err) : MR_OK;
}

static enum mr_status look_in_topic(struct mr_status_sender *s, struct mr_error *err)
{
    struct look look = {.s = s, .ar = mr_arena_create(0)};
    enum mr_status status = s->producer_ops->look(s->producer, s->sent_from, LOOK_MS, on_key, &look, err);
    if (status == MR_OK)
        status = note_found(&look, err);
    mr_arena_destroy(look.ar);
    return status;
}

/* The time for finishing is up. */
static bool is_over(const void *ctx)
{
    const struct mr_status_sender *s = ctx;
    int64_t deadline_ms = atomic_load(&s->deadline_ms);
    return deadline_ms != 0 && mr_monotonic_ms() >= deadline_ms;
}

/* A producer of which we know that nothing of before is on its way, and an outbox without what the topic has. */
static enum mr_status make_sure(struct mr_status_sender *s, struct mr_error *err)
{
    s->producer_ops->close(s->producer);
    s->producer = NULL;
    MR_TRY(s->producer_ops->open(s->cfg, is_over, s, &s->producer, err));
    if (s->sent_from >= 0)
        MR_TRY(look_in_topic(s, err));
    s->is_unsure = false;
    return MR_OK;
}

/* ---- what waits ---- */

static enum mr_status on_count(void *ctx, struct mr_str topic, int64_t count, int64_t oldest_us,
                               struct mr_error *err)
{
    struct mr_status_sender *s = ctx;
    (void)oldest_us, (void)err;
    if (mr_str_eq(topic, s->topic))
        atomic_store(&s->pending, count);
    return MR_OK;
}

/* How many wait is asked only now and then. */
static void count_waiting(struct mr_status_sender *s)
{
    struct mr_error ignored = {0};
    int64_t now = mr_monotonic_ms();
    if (s->sink == NULL || (s->counted_ms != 0 && now - s->counted_ms < COUNT_MS))
        return;
    s->counted_ms = now;
    if (mr_control_status_count(s->sink, on_count, s, &ignored) != MR_OK)
        mr_log_error(MR_LOG_DEBUG, "waiting status events could not be counted", &ignored);
}

static void tell_trouble(const struct mr_error *err)
{
    mr_log_error(MR_LOG_WARN, "status events wait in the target: they cannot be sent", err);
}

/* ---- sending ---- */

static enum mr_status first_offset(struct mr_status_sender *s, struct mr_error *err)
{
    int64_t end = 0;
    if (s->sent_from >= 0)
        return MR_OK;
    MR_TRY(s->producer_ops->end(s->producer, ASK_MS, &end, err));
    MR_TRY(mr_control_status_sent_from(s->sink, s->topic, mr_str_z(s->owner), end, err));
    s->sent_from = end;
    return MR_OK;
}

static enum mr_status mark_in_transaction(struct mr_status_sender *s, const struct mr_status_waiting *events,
                                          size_t count, int64_t next, struct mr_error *err)
{
    MR_TRY(mr_control_status_sent_from(s->sink, s->topic, mr_str_z(s->owner), next, err));
    return mr_control_status_sent(s->sink, s->topic, events, count, err);
}

static enum mr_status mark(struct mr_status_sender *s, const struct mr_status_waiting *events, size_t count,
                           int64_t next, struct mr_error *err)
{
    MR_TRY(s->ops->begin(s->sink, err));
    enum mr_status status = mark_in_transaction(s, events, count, next, err);
    if (status == MR_OK)
        status = s->ops->commit(s->sink, err);
    if (status != MR_OK) {
        s->ops->rollback(s->sink);
        return status;
    }
    s->sent_from = next;
    atomic_fetch_sub(&s->pending, (int64_t)count);
    return MR_OK;
}

/* However long the brokers take: one producer makes each message arrive once. The lease is kept meanwhile. */
static enum mr_status await_confirmation(struct mr_status_sender *s, int64_t *next, struct mr_error *err)
{
    int64_t slice_ms = s->cfg->status_takeover_ms / 8, since_ms = mr_monotonic_ms(), told_ms = since_ms;
    for (;;) {
        enum mr_status status =
            s->producer_ops->await(s->producer, (int)(slice_ms < SLICE_MS ? slice_ms : SLICE_MS), next, err);
        if (status != MR_E_BUSY)
            return status;
        if (is_over(s))
            return err->status = MR_E_ENV;
        int64_t now = mr_monotonic_ms();
        if (now - told_ms > (told_ms == since_ms ? TELL_MS : TELL_AGAIN_MS)) {
            tell_trouble(err);
            told_ms = now;
        }
        MR_TRY(have_lease(s, err));
        if (!s->is_ours || s->is_unsure)
            return mr_fail(err, MR_E_FENCED, "another instance may send the status events now");
        count_waiting(s);
    }
}

static enum mr_status send_events(struct mr_status_sender *s, const struct mr_status_waiting *events,
                                  size_t count, struct mr_error *err)
{
    struct mr_producer_message messages[BUNCH];
    int64_t next = 0;
    for (size_t i = 0; i < count; i++)
        messages[i] = (struct mr_producer_message){events[i].key, events[i].value};
    MR_TRY(first_offset(s, err));
    MR_TRY(have_lease(s, err));
    if (!s->is_ours || s->is_unsure)
        return MR_OK;
    MR_FAULT("before_status_send");
    MR_TRY(s->producer_ops->send(s->producer, messages, count, err));
    MR_TRY(await_confirmation(s, &next, err));
    MR_FAULT("after_status_send");
    enum mr_status status = MR_E_BUSY;
    for (int tries = 0; status == MR_E_BUSY && tries < 10; tries++)
        status = mark(s, events, count, next, err);
    MR_FAULT("after_status_mark");
    return status;
}

static enum mr_status one_round(struct mr_status_sender *s, struct mr_arena *ar, enum outcome *outcome,
                                struct mr_error *err)
{
    struct mr_status_waiting *events = NULL;
    size_t count = 0;
    *outcome = NOTHING;
    MR_TRY(connect_target(s, err));
    MR_TRY(mr_control_status_waiting(s->sink, s->topic, BUNCH, ar, &events, &count, err));
    if (count < BUNCH)
        atomic_store(&s->pending, (int64_t)count);
    if (count == 0)
        return MR_OK;
    *outcome = ANOTHERS;
    MR_TRY(have_lease(s, err));
    if (!s->is_ours)
        return MR_OK;
    *outcome = SENT;
    if (s->is_unsure)
        return make_sure(s, err); /* and then see what still waits */
    return send_events(s, events, count, err);
}

/* ---- the thread ---- */

/* Sleep until woken (`deaf`: only asked to finish wakes), at most `ms`. True: finishing. */
static bool sleep_a_while(struct mr_status_sender *s, int64_t ms, bool deaf)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += (ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_mutex_lock(&s->lock);
    int rc = 0;
    while (!(s->woken && (!deaf || s->finishing)) && rc == 0)
        rc = pthread_cond_timedwait(&s->wake, &s->lock, &until);
    s->woken = false;
    bool finishing = s->finishing;
    pthread_mutex_unlock(&s->lock);
    return finishing;
}

static void note_trouble(struct mr_status_sender *s, const struct mr_error *err)
{
    if (s->backoff.attempt == 2 || s->backoff.attempt % 20 == 0)
        tell_trouble(err);
    s->is_unsure = true;
    if (err->status == MR_E_FENCED)
        s->is_ours = false;
}

/* May the thread end? */
static bool may_end(struct mr_status_sender *s, enum mr_status status, enum outcome outcome)
{
    if (is_over(s))
        return true;
    return status == MR_OK && (outcome == NOTHING || (outcome == ANOTHERS && !s->patient));
}

static void tell_rest(const struct mr_status_sender *s, enum mr_status status, enum outcome outcome,
                      const struct mr_error *err)
{
    static const char text_z[] =
        "not all status events have been sent; they wait in the target for the next run";
    if (status != MR_OK)
        mr_log_error(MR_LOG_WARN, text_z, err);
    else if (outcome != NOTHING && s->patient)
        mr_log_plain(MR_LOG_WARN, text_z);
}

/* One round, and how long to sleep after it. */
static enum mr_status go_round(struct mr_status_sender *s, struct mr_arena *ar, enum outcome *outcome,
                               int64_t *ms, struct mr_error *err)
{
    mr_arena_reset(ar);
    enum mr_status status = one_round(s, ar, outcome, err);
    if (status == MR_OK) {
        mr_backoff_reset(&s->backoff);
        *ms = *outcome == SENT ? 0 : IDLE_MS;
    } else {
        *ms = mr_backoff_next_ms(&s->backoff);
        err->status = status;
        note_trouble(s, err);
    }
    if (status != MR_OK || *outcome != NOTHING)
        count_waiting(s);
    return status;
}

static void leave(struct mr_status_sender *s)
{
    struct mr_error ignored = {0};
    if (s->is_ours && s->sink != NULL &&
        mr_control_status_release(s->sink, s->topic, mr_str_z(s->owner), &ignored) != MR_OK)
        mr_log_error(MR_LOG_DEBUG, "the lease of the status topic was not given back", &ignored);
    s->producer_ops->close(s->producer);
    s->ops->destroy(s->sink);
}

static void *sender_main(void *arg)
{
    struct mr_status_sender *s = arg;
    struct mr_arena *ar = mr_arena_create(0);
    for (bool finishing = false;;) {
        struct mr_error err = {0};
        enum outcome outcome = NOTHING;
        int64_t ms = 0;
        enum mr_status status = go_round(s, ar, &outcome, &ms, &err);
        if (finishing && may_end(s, status, outcome)) {
            tell_rest(s, status, outcome, &err);
            break;
        }
        finishing =
            sleep_a_while(s, finishing && ms > 100 ? 100 : ms, status != MR_OK || outcome == ANOTHERS);
    }
    mr_arena_destroy(ar);
    leave(s);
    return NULL;
}

/* ---- the main thread's side ---- */

static void make_owner(char owner[33])
{
    unsigned char bytes[16];
    if (getrandom(bytes, sizeof bytes, 0) !=
        (ssize_t)sizeof bytes) { /* then the lease alone keeps two apart */
        int64_t now[2] = {mr_now_us(), mr_monotonic_ms()};
        memcpy(bytes, now, sizeof bytes);
    }
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(owner + 2 * i, 3, "%02x", bytes[i]);
}

struct mr_status_sender *mr_status_sender_start(const struct mr_config *cfg, const struct mr_sink_ops *ops,
                                                const struct mr_producer_ops *producer)
{
    if (!mr_status_is_on(cfg) || producer == NULL)
        return NULL;
    struct mr_status_sender *s = mr_xcalloc(1, sizeof *s);
    s->cfg = cfg;
    s->ops = ops;
    s->producer_ops = producer;
    s->topic = mr_str_z(cfg->status_topic);
    s->sent_from = -1;
    make_owner(s->owner);
    mr_backoff_init(&s->backoff, 100, 5000);
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&s->wake, &attr);
    pthread_condattr_destroy(&attr);
    if (pthread_create(&s->thread, NULL, sender_main, s) == 0)
        return s;
    mr_log_plain(MR_LOG_WARN, "cannot start a thread for the status topic; its events wait in the target");
    pthread_cond_destroy(&s->wake);
    pthread_mutex_destroy(&s->lock);
    mr_xfree(s);
    return NULL;
}

void mr_status_sender_wake(struct mr_status_sender *s, size_t events)
{
    if (s == NULL)
        return;
    atomic_fetch_add(&s->pending, (int64_t)events);
    pthread_mutex_lock(&s->lock);
    s->woken = true;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
}

bool mr_status_sender_is_full(struct mr_status_sender *s)
{
    return s != NULL && s->cfg->status_max_pending > 0 &&
           atomic_load(&s->pending) >= s->cfg->status_max_pending;
}

bool mr_status_sender_finish(struct mr_status_sender *s, int64_t deadline_ms, bool patient)
{
    struct timespec until;
    if (s == NULL)
        return true;
    atomic_store(&s->deadline_ms, deadline_ms);
    pthread_mutex_lock(&s->lock);
    s->finishing = s->woken = true;
    s->patient = patient;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
    int64_t left_ms = deadline_ms - mr_monotonic_ms();
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (left_ms > 0 ? left_ms / 1000 : 0) + 2;
    if (pthread_timedjoin_np(s->thread, NULL, &until) != 0) {
        mr_log_plain(MR_LOG_WARN,
                     "the status topic is left without an answer; its events wait in the target");
        return false;
    }
    pthread_cond_destroy(&s->wake);
    pthread_mutex_destroy(&s->lock);
    mr_xfree(s);
    return true;
}
