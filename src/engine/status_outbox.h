/* What Millrace tells about its own work (status.kafka.topic), from what it did to rows in the outbox of the target. Events stand in the transaction of
 * what they tell: they are there exactly if it happened. status_sender.h brings them to the topic.
 *
 * A delta is one transaction that writes rows (one lane's share of a batch). It gets its number last of all, under the lock of the datamart's row, so
 * deltas are numbered in the order of their commits. One that is rolled back for good gets a number afterwards. Without a status topic all
 * of this does nothing. */
#ifndef MILLRACE_ENGINE_STATUS_OUTBOX_H
#define MILLRACE_ENGINE_STATUS_OUTBOX_H

#include "batch.h"
#include "control_status.h"
#include "status_event.h"

bool mr_status_is_on(const struct mr_config *cfg);

/* Last in the job's transaction. Any applier. */
enum mr_status mr_status_delta_closed(struct mr_sink *sink, const struct mr_config *cfg,
                                      const struct mr_job *job, struct mr_error *err) MR_MUST_CHECK;
/* After the job has been rolled back and given up: a transaction of its own. What cannot be told is logged; no reader has heard of that delta. */
void mr_status_delta_cancelled(struct mr_sink *sink, const struct mr_config *cfg, const struct mr_job *job);

/* In the transaction of the DDL (or right behind it, where DDL commits by itself). */
enum mr_status mr_status_schema_changed(struct mr_sink *sink, const struct mr_config *cfg,
                                        enum mr_status_action action, struct mr_str schema,
                                        struct mr_str table, struct mr_error *err) MR_MUST_CHECK;

/* Where DDL commits by itself a kill may come between a statement and its event. So the table's shape is on record before; under the gate, what is
 * on record from before is compared with the catalog, and told if it differs. `plan` in the open transaction, `settle` without one. */
enum mr_status mr_status_plan(struct mr_sink *sink, const struct mr_config *cfg, struct mr_str schema,
                              struct mr_str table, const struct mr_catalog_table *now,
                              struct mr_error *err) MR_MUST_CHECK;
enum mr_status mr_status_settle(struct mr_sink *sink, const struct mr_config *cfg,
                                struct mr_error *err) MR_MUST_CHECK;

#endif
