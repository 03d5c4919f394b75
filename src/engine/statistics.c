/* What has been counted of columns is saved beside the data, every few seconds. Main thread only. */
#include "internal.h"

#include <millrace/base/time.h>

#define STATISTICS_MS 5000

enum mr_status mr_engine_save_statistics(struct mr_engine *e, bool now, struct mr_error *err)
{
    int64_t ms = mr_monotonic_ms();
    if (!now && (ms - e->last_statistics_ms < STATISTICS_MS || e->control == NULL))
        return MR_OK;
    if (!now && e->sink_ops->single_writer && e->in_flight_count > 0)
        return MR_OK; /* it would wait for the applier's transaction */
    e->last_statistics_ms = ms;
    for (size_t i = 0; i < mr_relations_count(e->rels); i++) {
        struct mr_rel *rel = mr_relations_at(e->rels, i);
        if (!rel->saved || rel->shape_dirty || mr_tracker_changed(rel->tk))
            continue;
        enum mr_status status = mr_gate_save_statistics(&e->gate, rel, err);
        if (status == MR_E_ENV || status == MR_E_BUSY)
            return MR_OK; /* approximate by promise: next time */
        MR_TRY(status);
    }
    return MR_OK;
}
