/* Batches: see batch.h. */
#include "batch.h"

#include <millrace/base/mem.h>
#include <millrace/base/time.h>

#include "dead_letter.h"

struct mr_batch *mr_batch_create(void)
{
    struct mr_batch *batch = mr_xcalloc(1, sizeof *batch);
    batch->ar = mr_arena_create(1u << 20);
    return batch;
}

void mr_batch_drop_jobs(struct mr_batch *batch)
{
    for (size_t i = 0; i < batch->job_count; i++) {
        struct mr_job *job = &batch->jobs[i];
        for (size_t t = 0; t < job->table_count; t++)
            mr_table_unref(job->tables[t].rows.tbl);
        mr_arena_reset(job->ar);
    }
    batch->job_count = 0;
}

void mr_batch_destroy(struct mr_batch *batch)
{
    if (batch == NULL)
        return;
    mr_batch_drop_jobs(batch);
    for (size_t i = 0; batch->jobs != NULL && i < MR_MAX_LANES; i++)
        mr_arena_destroy(batch->jobs[i].ar);
    mr_xfree(batch->jobs);
    mr_xfree(batch->records);
    mr_xfree(batch->rels);
    mr_xfree(batch->letters);
    mr_xfree(batch->notes);
    mr_xfree(batch->reports);
    mr_xfree(batch->parts);
    mr_xfree(batch->part_to);
    mr_xfree(batch->holds);
    mr_xfree(batch->chunks);
    mr_arena_destroy(batch->ar);
    mr_xfree(batch);
}

void mr_batch_remake(struct mr_batch *batch, uint64_t seq)
{
    mr_batch_drop_jobs(batch);
    mr_arena_reset(batch->ar);
    batch->seq = seq;
    batch->expanded = 0;
    batch->rel_count = 0;
    batch->letter_count = 0;
    batch->note_count = batch->report_count = 0;
    batch->ddl = NULL;
    batch->ddl_done = false;
    batch->part_count = 0;
    batch->hold_count = 0;
    batch->changes = batch->control = batch->schema_changes = 0;
    batch->skipped = batch->nulled = batch->truncates = 0;
}

void mr_batch_note_wait(struct mr_batch *batch, const struct mr_part_state *part, uint32_t index, bool waits)
{
    size_t i = 0;
    while (i < batch->hold_count && batch->holds[i].part != part)
        i++;
    if (!waits && i < batch->hold_count) {
        batch->holds[i] = batch->holds[--batch->hold_count];
    } else if (waits && i == batch->hold_count) {
        batch->holds = mr_xgrow(batch->holds, &batch->hold_cap, batch->hold_count + 1, sizeof *batch->holds);
        batch->holds[batch->hold_count++] = (struct mr_hold){part, index};
    }
}

uint32_t mr_batch_held(const struct mr_batch *batch)
{
    uint32_t first = MR_NOT_HELD;
    for (size_t i = 0; i < batch->hold_count; i++)
        first = batch->holds[i].index < first ? batch->holds[i].index : first;
    return first;
}

size_t mr_batch_weight(const struct mr_batch *batch)
{
    return mr_arena_used(batch->ar) + batch->expanded;
}

void mr_batch_clear(struct mr_batch *batch, uint64_t seq)
{
    mr_batch_remake(batch, seq);
    batch->record_count = 0;
    batch->chunk_count = 0;
    batch->bytes = 0;
    batch->barrier = false;
    batch->unfolded = false;
    batch->replanned = false;
    batch->opened_ms = 0;
}

uint32_t mr_batch_take(struct mr_batch *batch, struct mr_chunk *chunk, const struct mr_record *rec)
{
    bool held = false;
    for (size_t i = batch->chunk_count; i-- > 0 && !held;)
        held = batch->chunks[i] == chunk;
    if (!held) {
        batch->chunks = mr_xgrow(batch->chunks, &batch->chunk_cap, batch->chunk_count + 1, sizeof *batch->chunks);
        batch->chunks[batch->chunk_count++] = chunk;
        chunk->refs++;
    }
    batch->records = mr_xgrow(batch->records, &batch->record_cap, batch->record_count + 1, sizeof *batch->records);
    batch->records[batch->record_count] = *rec;
    batch->bytes += rec->key.len + rec->value.len;
    return (uint32_t)batch->record_count++;
}

void mr_batch_touch_part(struct mr_batch *batch, struct mr_part_state *part, int64_t to)
{
    for (size_t i = batch->part_count; i-- > 0;) { /* the last one first: records come in runs */
        if (batch->parts[i] == part) {
            batch->part_to[i] = to;
            return;
        }
    }
    if (batch->part_count == batch->part_cap) {
        size_t cap = batch->part_cap;
        batch->parts = mr_xgrow(batch->parts, &batch->part_cap, batch->part_count + 1, sizeof *batch->parts);
        batch->part_to = mr_xgrow(batch->part_to, &cap, batch->part_cap, sizeof *batch->part_to);
    }
    batch->parts[batch->part_count] = part;
    batch->part_to[batch->part_count++] = to;
}

struct mr_fold *mr_batch_fold(struct mr_batch *batch, struct mr_rel *rel)
{
    if (rel->fold != NULL && rel->batch_seq == batch->seq)
        return rel->fold;
    rel->fold = mr_arena_zalloc(batch->ar, sizeof *rel->fold);
    rel->fold->ordered = batch->unfolded;
    rel->batch_seq = batch->seq;
    rel->key_types = NULL;
    rel->key_type_count = 0;
    batch->rels = mr_xgrow(batch->rels, &batch->rel_cap, batch->rel_count + 1, sizeof *batch->rels);
    batch->rels[batch->rel_count++] = rel;
    return rel->fold;
}

struct mr_dead_letter *mr_batch_add_letter(struct mr_batch *batch)
{
    batch->letters =
        mr_xgrow(batch->letters, &batch->letter_cap, batch->letter_count + 1, sizeof *batch->letters);
    return &batch->letters[batch->letter_count++];
}

struct mr_type_history_row *mr_batch_add_note(struct mr_batch *batch)
{
    batch->notes = mr_xgrow(batch->notes, &batch->note_cap, batch->note_count + 1, sizeof *batch->notes);
    return &batch->notes[batch->note_count++];
}

struct mr_ddl_history_row *mr_batch_add_report(struct mr_batch *batch)
{
    batch->reports = mr_xgrow(batch->reports, &batch->report_cap, batch->report_count + 1, sizeof *batch->reports);
    return &batch->reports[batch->report_count++];
}
