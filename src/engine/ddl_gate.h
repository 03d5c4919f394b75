/* The DDL gate: brings the target's tables to what the trackers want, one owner at a time over all instances, in its own transaction, before the
 * data. Records what it did and why. Main thread, over the control connection, while no applier has a transaction open. */
#ifndef MILLRACE_ENGINE_DDL_GATE_H
#define MILLRACE_ENGINE_DDL_GATE_H

#include "relation.h"

struct mr_gate {
    const struct mr_config *cfg;
    struct mr_sink *control;
    int64_t schema_epoch;      /* the one our plans are made under; moved when we raise it */
    uint64_t steps_run;
};

/* Bring one table up. Afterwards rel->tbl is the published version that the target holds, and shape_dirty is false.
 * *stale: another instance raised the schema epoch since: nothing was done, the trackers must be read again.
 * *refused: `evolve` forbids a step; err has the statements in its hint (DATA), nothing was done.
 * CONFIG: the table cannot be used as it is. ENV, BUSY as they come. */
enum mr_status mr_gate_bring(struct mr_gate *gate, struct mr_rel *rel, bool *stale, bool *refused,
                             struct mr_error *err) MR_MUST_CHECK;
/* Save counts and facts of tracked columns that changed, without any DDL (statistics). Nothing is saved if another instance has changed the schema:
 * what we know of the columns is then of before. */
enum mr_status mr_gate_save_statistics(struct mr_gate *gate, struct mr_rel *rel, struct mr_error *err) MR_MUST_CHECK;

#endif
