/* DDL of the source that arrives as an event (option `ddl`): told, or followed in the target. Main thread only.
 *
 * Following is never running the statement: the decoder has read from it what it does (mr_source_action), and each of these becomes a step of our own.
 * Columns and wider types go the way that rows take, through tracker and gate. Drops and renames are steps under the gate, one transaction each,
 * together with the tracked rows that change and a note that this part of the message is done (control table source_ddl): a kill repeats none. Where DDL
 * commits by itself, the catalog tells whether the step that was under way has been made.
 *
 * The message is a batch by itself: all that came before it is committed first, and what follows is planned anew. */
#ifndef MILLRACE_ENGINE_DDL_EVENT_H
#define MILLRACE_ENGINE_DDL_EVENT_H

#include "batch.h"

struct mr_engine;

/* Take record `index`'s schema change into the batch. True: it must begin a batch of its own. */
bool mr_ddl_event_take(const struct mr_config *cfg, struct mr_batch *batch, uint32_t index,
                       const struct mr_change *ev);
/* Do what batch->ddl says, with nothing else under way. OK with need_redo: once more from the records. */
enum mr_status mr_ddl_event_follow(struct mr_engine *e, struct mr_batch *batch,
                                   struct mr_error *err) MR_MUST_CHECK;

#endif
