/* Brings the events of the outbox to the status topic: a thread with a target connection and a producer of its own, so that neither a slow topic nor a
 * slow target holds up the load.
 *
 * One instance sends at a time, by a lease in the target. Before something is sent, the offset from which on it can be is on record (`sent_from`); when
 * the brokers have confirmed it, it is taken out of the outbox, and `sent_from` moved, in one transaction. Whoever takes over, or does not know what
 * has arrived, first looks in the topic from there on. So a kill between sending and marking makes no event come twice; only a process that is killed
 * or stands still for longer than its lease while its messages lie unread at a broker can: such an event has the same eventLogId.
 *
 * Started, woken, asked and finished by the main thread. */
#ifndef MILLRACE_ENGINE_STATUS_SENDER_H
#define MILLRACE_ENGINE_STATUS_SENDER_H

#include <millrace/producer.h>
#include <millrace/sink.h>

struct mr_status_sender;

/* NULL without a status topic, or if no thread can be started. */
struct mr_status_sender *mr_status_sender_start(const struct mr_config *cfg, const struct mr_sink_ops *ops,
                                                const struct mr_producer_ops *producer);
void mr_status_sender_wake(struct mr_status_sender *sender,
                           size_t events); /* about so many have come; NULL is fine */
/* As many wait as may (status.max_pending): nothing more is to be loaded. */
bool mr_status_sender_is_full(struct mr_status_sender *sender);
/* Send what there is until `deadline_ms` (monotonic), and end. `patient`: wait also for another instance's lease to run out. False: the
 * thread hangs in a call of a client library, and the process's end will have to do. */
bool mr_status_sender_finish(struct mr_status_sender *sender, int64_t deadline_ms, bool patient);

#endif
