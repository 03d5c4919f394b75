/* The watch over a stop. The main thread may be inside a call on its control connection that waits for somebody else: for the lock of a former
 * owner that sleeps in the midst of its transaction, say. When a stop has lasted its time, a thread of its own makes such a call return. */
#ifndef MILLRACE_ENGINE_WATCH_H
#define MILLRACE_ENGINE_WATCH_H

#include <millrace/sink.h>

struct mr_watch;

/* `grace_ms`: so long after a stop was asked for, calls are left alone. NULL if there is no thread to be had: then nothing is watched. */
struct mr_watch *mr_watch_start(const struct mr_sink_ops *ops, int64_t grace_ms);
/* The connection to watch, or NULL. False: it is just being called back, and that takes long; the one before must not be destroyed. */
bool mr_watch_set(struct mr_watch *watch, struct mr_sink *sink);
/* False: the thread still hangs, and may look at what would be freed. */
bool mr_watch_end(struct mr_watch *watch);

#endif
