/* The control tables of the status events: numbers, the outbox, who sends. As control.h: in the open transaction of the connection, or on its own. */
#ifndef MILLRACE_ENGINE_CONTROL_STATUS_H
#define MILLRACE_ENGINE_CONTROL_STATUS_H

#include "control.h"

/* Numbers of a datamart. Its row stays locked until the transaction ends. */
enum mr_status mr_control_status_number(struct mr_sink *sink, struct mr_str datamart, int64_t deltas,
                                        int64_t cns, int64_t *first_delta, int64_t *first_cn,
                                        struct mr_error *err) MR_MUST_CHECK;

/* An event as it stands in the outbox. */
struct mr_status_waiting {
    int64_t id; /* when listed */
    struct mr_str event_id, key, value;
};
enum mr_status mr_control_status_add(struct mr_sink *sink, struct mr_str topic,
                                     const struct mr_status_waiting *events, size_t count,
                                     struct mr_error *err) MR_MUST_CHECK;
/* The oldest ones, copied into `ar`. */
enum mr_status mr_control_status_waiting(struct mr_sink *sink, struct mr_str topic, size_t most,
                                         struct mr_arena *ar, struct mr_status_waiting **events,
                                         size_t *count, struct mr_error *err) MR_MUST_CHECK;
/* They are in the topic: out of the outbox. */
enum mr_status mr_control_status_sent(struct mr_sink *sink, struct mr_str topic,
                                      const struct mr_status_waiting *events, size_t count,
                                      struct mr_error *err) MR_MUST_CHECK;
/* Keys of messages that were found in the topic, ours or not: what waits of them is out of the outbox. */
enum mr_status mr_control_status_found(struct mr_sink *sink, struct mr_str topic, const struct mr_str *keys,
                                       size_t count, struct mr_error *err) MR_MUST_CHECK;
/* How many wait, by topic. */
typedef enum mr_status (*mr_status_count_fn)(void *ctx, struct mr_str topic, int64_t count, int64_t oldest_us,
                                             struct mr_error *err);
enum mr_status mr_control_status_count(struct mr_sink *sink, mr_status_count_fn fn, void *ctx,
                                       struct mr_error *err) MR_MUST_CHECK;

/* Be the one who sends, for so long. *is_ours false: somebody else is. *sent_from: see status_lease.sql. */
enum mr_status mr_control_status_lease(struct mr_sink *sink, struct mr_str topic, struct mr_str owner,
                                       int64_t ms, bool *is_ours, int64_t *sent_from,
                                       struct mr_error *err) MR_MUST_CHECK;
enum mr_status mr_control_status_release(struct mr_sink *sink, struct mr_str topic, struct mr_str owner,
                                         struct mr_error *err) MR_MUST_CHECK;
/* Whatever waits is not in the topic before `offset`. FENCED if somebody else sends now. */
enum mr_status mr_control_status_sent_from(struct mr_sink *sink, struct mr_str topic, struct mr_str owner,
                                           int64_t offset, struct mr_error *err) MR_MUST_CHECK;

/* Where DDL commits by itself: tables that are about to change, and what they looked like before. */
enum mr_status mr_control_status_plan(struct mr_sink *sink, struct mr_str schema, struct mr_str table,
                                      struct mr_str shape, struct mr_error *err) MR_MUST_CHECK;
typedef enum mr_status (*mr_status_planned_fn)(void *ctx, struct mr_str schema, struct mr_str table,
                                               struct mr_str shape, struct mr_error *err);
enum mr_status mr_control_status_planned(struct mr_sink *sink, mr_status_planned_fn fn, void *ctx,
                                         struct mr_error *err) MR_MUST_CHECK;
enum mr_status mr_control_status_unplan(struct mr_sink *sink, struct mr_str schema, struct mr_str table,
                                        struct mr_error *err) MR_MUST_CHECK;

#endif
