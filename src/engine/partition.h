/* Partitions as the engine sees them: who owns them, under which epoch, and how far each lane has come. Main thread only. */
#ifndef MILLRACE_ENGINE_PARTITION_H
#define MILLRACE_ENGINE_PARTITION_H

#include <millrace/model/record.h>

#include "control.h"

struct mr_part_state {
    const struct mr_partition *part;
    bool owned;                           /* assigned to us and claimed in the target */
    bool dropped;                         /* fenced: another instance claimed it; given up */
    int64_t dropped_until_ms;             /* the group must take it away by then, else we stop */
    bool stopped;                         /* its stored position does not exist in the source any more */
    bool set_back;                        /* the target has gone back behind what it had confirmed: to be read anew from there */
    int64_t epoch;
    uint32_t lanes;                       /* how many lane rows the target has for it */
    int64_t committed[MR_MAX_LANES];      /* what the target holds */
    int64_t dispatched[MR_MAX_LANES];     /* what it will hold when all that is under way has committed */
    int64_t given_up;                     /* halves of updates up to there are not waited for any more */
    int64_t taken;                        /* position after the last record that entered a batch */
    int64_t queued;                       /* transactions: source: after the last one that waits, or has waited, for its transaction */
    bool is_ahead;                        /* the source has been told to read no further in it for now */
};

struct mr_parts {
    struct mr_part_state **items; /* by mr_partition.index; NULL where never assigned */
    size_t count, cap;
};

/* The state of a partition, made on first use. */
struct mr_part_state *mr_parts_get(struct mr_parts *parts, const struct mr_partition *part);
void mr_parts_free(struct mr_parts *parts);
/* Are all lanes at one position? */
bool mr_part_lanes_equal(const struct mr_part_state *state);
/* The position to read on from: the lowest of the lanes, MR_POSITION_NONE if one has none. */
int64_t mr_part_resume(const struct mr_part_state *state);

#endif
