/* Partition states by the dense index that the source gives: see partition.h. */
#include "partition.h"

#include <millrace/base/mem.h>

struct mr_part_state *mr_parts_get(struct mr_parts *parts, const struct mr_partition *part)
{
    if (part->index >= parts->count) {
        parts->items = mr_xgrow(parts->items, &parts->cap, part->index + 1u, sizeof *parts->items);
        for (size_t i = parts->count; i <= part->index; i++)
            parts->items[i] = NULL;
        parts->count = part->index + 1u;
    }
    struct mr_part_state *state = parts->items[part->index];
    if (state == NULL) {
        state = mr_xcalloc(1, sizeof *state);
        state->part = part;
        for (uint32_t i = 0; i < MR_MAX_LANES; i++)
            state->committed[i] = state->dispatched[i] = MR_POSITION_NONE;
        state->taken = state->queued = MR_POSITION_NONE;
        parts->items[part->index] = state;
    }
    return state;
}

void mr_parts_free(struct mr_parts *parts)
{
    for (size_t i = 0; i < parts->count; i++)
        mr_xfree(parts->items[i]);
    mr_xfree(parts->items);
    *parts = (struct mr_parts){0};
}

bool mr_part_lanes_equal(const struct mr_part_state *state)
{
    for (uint32_t i = 1; i < state->lanes; i++)
        if (state->committed[i] != state->committed[0])
            return false;
    return true;
}

int64_t mr_part_resume(const struct mr_part_state *state)
{
    int64_t lowest = state->committed[0];
    for (uint32_t i = 1; i < state->lanes; i++)
        if (state->committed[i] < lowest)
            lowest = state->committed[i];
    return lowest;
}
