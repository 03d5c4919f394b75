/* What the files of the flow of batches share: batch_fill.c makes them, dispatch.c gives them to the appliers, settle.c takes them back; flow.c is
 * the step that does it all. Main thread only. */
#ifndef MILLRACE_ENGINE_FLOW_PARTS_H
#define MILLRACE_ENGINE_FLOW_PARTS_H

#include "internal.h"

/* ---- batch_fill.c ---- */

static inline bool mr_engine_part_is_ours(const struct mr_part_state *ps)
{
    return ps->owned && !ps->dropped && !ps->stopped;
}

/* An empty batch with the next number; the caller's until it is recycled. */
struct mr_batch *mr_engine_new_batch(struct mr_engine *e);
void mr_engine_todo_insert(struct mr_engine *e, size_t at, struct mr_batch *batch);
/* Take record i of the batch in. *split: it must begin another batch. */
enum mr_status mr_engine_take_in(struct mr_engine *e, struct mr_batch *batch, uint32_t i, bool *split, struct mr_error *err) MR_MUST_CHECK;
/* Cut the batch before record i: the rest becomes a batch of its own, next in `todo`. */
void mr_engine_cut_batch(struct mr_engine *e, struct mr_batch *batch, uint32_t i);
/* The first record of those that go into one transaction with record i. */
uint32_t mr_engine_unit_of(const struct mr_batch *batch, uint32_t i);
/* Record i must begin a batch, together with what goes along with it. */
enum mr_status mr_engine_split_batch(struct mr_engine *e, struct mr_batch *batch, uint32_t i, struct mr_error *err) MR_MUST_CHECK;
/* Take all records of the batch in anew. */
enum mr_status mr_engine_make_batch(struct mr_engine *e, struct mr_batch *batch, struct mr_error *err) MR_MUST_CHECK;

/* ---- settle.c ---- */

/* Settle what is done, in order; wait for the oldest batch up to `wait_ms`. */
void mr_engine_harvest(struct mr_engine *e, int64_t wait_ms);

/* ---- dispatch.c ---- */

/* Tables first, then to the appliers. Leaves the batch with the caller if need_redo is set on the way. */
enum mr_status mr_engine_dispatch(struct mr_engine *e, struct mr_batch *batch, struct mr_error *err) MR_MUST_CHECK;

#endif
