/* The contract of a producer: one partition of one topic, into which events are put in order, and in which one can look what is there. Used by one
 * thread. Errors: CONFIG (cannot ever work), ENV (not now). After a failure of `send` nobody knows what has arrived: close it, open another one, and
 * look. */
#ifndef MILLRACE_PRODUCER_H
#define MILLRACE_PRODUCER_H

#include <millrace/base/error.h>
#include <millrace/base/finding.h>
#include <millrace/config/config.h>

struct mr_producer; /* each producer's own */

struct mr_producer_message {
    struct mr_str key, value;
};

typedef enum mr_status (*mr_producer_fn)(void *ctx, struct mr_str key, int64_t offset, struct mr_error *err);

struct mr_producer_ops {
    /* Are the settings such that it can be opened at all? Asks nobody. */
    enum mr_status (*check_settings)(const struct mr_config *cfg, struct mr_error *err);
    /* Does not wait for the brokers. cfg outlives the producer. Calls that wait for them give up soon after is_over(ctx) says so; it is asked
     * in the thread that calls. */
    enum mr_status (*open)(const struct mr_config *cfg, bool (*is_over)(const void *ctx), const void *ctx,
                           struct mr_producer **out, struct mr_error *err);
    /* The offset that the next message will have. A topic that does not exist is CONFIG, unless the brokers make it. */
    enum mr_status (*end)(struct mr_producer *producer, int timeout_ms, int64_t *offset,
                          struct mr_error *err);
    /* The keys of all messages from an offset on, to the end as it is now. Also of those that are no work of ours. */
    enum mr_status (*look)(struct mr_producer *producer, int64_t from, int timeout_ms, mr_producer_fn fn,
                           void *ctx, struct mr_error *err);
    /* Put them on their way, in order. Does not wait. */
    enum mr_status (*send)(struct mr_producer *producer, const struct mr_producer_message *messages,
                           size_t count, struct mr_error *err);
    /* Have all brokers in sync what was sent? *next: the offset behind it. BUSY after timeout_ms, err tells why: ask again. The messages stay on their
     * way, and arrive once however often they are sent over; only a producer that is closed leaves open what becomes of them. */
    enum mr_status (*await)(struct mr_producer *producer, int timeout_ms, int64_t *next,
                            struct mr_error *err);
    void (*close)(struct mr_producer *producer); /* forgets what has not been sent. NULL is fine */
    /* For `check`: is the topic there, and the partition? */
    void (*check)(const struct mr_config *cfg, int timeout_ms, mr_finding_fn fn, void *ctx);
};

extern const struct mr_producer_ops mr_kafka_producer; /* src/source/kafka_producer.c */

#endif
