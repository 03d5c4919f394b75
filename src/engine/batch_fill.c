/* Filling batches: records and chunks in hand, taking records in, cutting a batch in two. Main thread only. */
#include "flow_parts.h"

#include <millrace/base/mem.h>
#include <millrace/base/time.h>

/* ---- records and chunks ---- */

void mr_engine_unref_chunk(struct mr_engine *e, struct mr_chunk *chunk)
{
    if (chunk == NULL || --chunk->refs > 0)
        return;
    if (e->source != NULL)
        e->source_ops->release(e->source, chunk->records, chunk->count);
    mr_chunk_give(&e->chunks, chunk);
}

struct mr_batch *mr_engine_new_batch(struct mr_engine *e)
{
    struct mr_batch *batch = e->spare_count > 0 ? e->spare[--e->spare_count] : mr_batch_create();
    mr_batch_clear(batch, ++e->next_seq);
    batch->opened_ms = mr_monotonic_ms();
    return batch;
}

void mr_engine_recycle(struct mr_engine *e, struct mr_batch *batch)
{
    for (size_t i = 0; i < batch->chunk_count; i++)
        mr_engine_unref_chunk(e, batch->chunks[i]);
    mr_batch_clear(batch, 0);
    if (e->spare_count < sizeof e->spare / sizeof e->spare[0])
        e->spare[e->spare_count++] = batch;
    else
        mr_batch_destroy(batch);
}

void mr_engine_release_all(struct mr_engine *e)
{
    if (e->open != NULL)
        mr_engine_recycle(e, e->open);
    e->open = NULL;
    for (size_t i = 0; i < e->in_flight_count; i++)
        mr_engine_recycle(e, e->in_flight[i]);
    e->in_flight_count = 0;
    for (size_t i = 0; i < e->todo_count; i++)
        mr_engine_recycle(e, e->todo[i]);
    e->todo_count = 0;
    mr_engine_unref_chunk(e, e->chunk);
    e->chunk = NULL;
}

/* ---- intake ---- */

bool mr_engine_is_current(const struct mr_part_state *ps, const struct mr_record *rec)
{
    return mr_engine_part_is_ours(ps) && rec->epoch == ps->epoch;
}

/* Several lanes need the rows of all lanes in step: a partition read for the first time, or one whose rows are for another number of
 * lanes, goes through one transaction for all of them. */
static bool needs_one_transaction(const struct mr_engine *e, const struct mr_part_state *ps)
{
    return ps->lanes != e->lanes || (e->lanes > 1 && mr_part_resume(ps) == MR_POSITION_NONE);
}

/* Take record i of the batch in. *split: it must begin another batch. */
enum mr_status mr_engine_take_in(struct mr_engine *e, struct mr_batch *batch, uint32_t i, bool *split, struct mr_error *err)
{
    const struct mr_record *rec = &batch->records[i];
    struct mr_part_state *ps = mr_parts_get(&e->part_states, rec->part);
    *split = false;
    if (!mr_engine_is_current(ps, rec))
        return MR_OK;
    if (batch->ddl != NULL) { /* nothing follows a schema change in its batch */
        *split = i > 0;
        return MR_OK;
    }
    bool barrier = false;
    uint64_t decided = e->intake.decided, dead = e->intake.dead;
    enum mr_status status;
    MR_WITH_TARGET(e, status, err, mr_intake_record(&e->intake, batch, i, ps, split, &barrier, err));
    MR_TRY(status);
    e->window_records += e->intake.decided - decided;
    e->window_dead += e->intake.dead - dead;
    batch->barrier = batch->barrier || barrier || needs_one_transaction(e, ps);
    return MR_OK;
}

void mr_engine_todo_insert(struct mr_engine *e, size_t at, struct mr_batch *batch)
{
    e->todo = mr_xgrow(e->todo, &e->todo_cap, e->todo_count + 1, sizeof *e->todo);
    memmove(&e->todo[at + 1], &e->todo[at], (e->todo_count - at) * sizeof *e->todo);
    e->todo[at] = batch;
    e->todo_count++;
}

/* Cut the batch before record i: the rest becomes a batch of its own, next in `todo`. */
void mr_engine_cut_batch(struct mr_engine *e, struct mr_batch *batch, uint32_t i)
{
    struct mr_batch *rest = mr_engine_new_batch(e);
    rest->unfolded = batch->unfolded;
    rest->replanned = batch->replanned;
    for (size_t c = 0; c < batch->chunk_count; c++) { /* both may hold records of each chunk */
        rest->chunks = mr_xgrow(rest->chunks, &rest->chunk_cap, rest->chunk_count + 1, sizeof *rest->chunks);
        rest->chunks[rest->chunk_count++] = batch->chunks[c];
        batch->chunks[c]->refs++;
    }
    size_t count = batch->record_count - i;
    rest->records = mr_xgrow(rest->records, &rest->record_cap, count, sizeof *rest->records);
    memcpy(rest->records, &batch->records[i], count * sizeof *rest->records);
    rest->record_count = count;
    for (size_t k = 0; k < count; k++)
        rest->bytes += rest->records[k].key.len + rest->records[k].value.len;
    batch->record_count = i;
    mr_engine_todo_insert(e, 0, rest);
}

/* The first record of those that go into one transaction with record i. */
uint32_t mr_engine_unit_of(const struct mr_batch *batch, uint32_t i)
{
    while (i > 0 && batch->records[i].goes_along)
        i--;
    return i;
}

/* Record i must begin a batch, together with what goes along with it. The first ones do, so it is their own rows that do not go together: they are
 * applied one by one, in a batch of their own. */
enum mr_status mr_engine_split_batch(struct mr_engine *e, struct mr_batch *batch, uint32_t i, struct mr_error *err)
{
    uint32_t first = mr_engine_unit_of(batch, i), next = 1;
    bool is_clean = e->intake.change_count <= 1; /* nothing of the record was folded */
    if (batch->unfolded && first == 0 && i > 0) {
        mr_tx_queue_note_split(e->txq, "the key of a table changes within it, or a table within it is altered");
        batch->records[i].goes_along = false;
        first = i;
    }
    if (first > 0) {
        mr_engine_cut_batch(e, batch, first);
        return is_clean && first == i ? MR_OK : mr_engine_make_batch(e, batch, err);
    }
    if (batch->unfolded)
        return mr_fail(err, MR_E_BUG, "a record cannot begin a batch");
    while (next < batch->record_count && batch->records[next].goes_along)
        next++;
    if (next < batch->record_count)
        mr_engine_cut_batch(e, batch, next);
    batch->unfolded = true;
    return mr_engine_make_batch(e, batch, err);
}

/* Make the whole batch from its records. */
enum mr_status mr_engine_make_batch(struct mr_engine *e, struct mr_batch *batch, struct mr_error *err)
{
    mr_batch_remake(batch, ++e->next_seq);
    batch->barrier = false;
    for (uint32_t i = 0; i < batch->record_count; i++) {
        bool split = false;
        MR_TRY(mr_engine_take_in(e, batch, i, &split, err));
        if (!split)
            continue;
        return mr_engine_split_batch(e, batch, i, err);
    }
    return MR_OK;
}
