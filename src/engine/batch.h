/* A batch: the records read together, what was made of them, and the jobs that apply it. The main thread owns it while it fills; its jobs
 * belong to the appliers until they are done; then it is the main thread's again. Records stay until the batch has committed, so that
 * it can be made anew from them whenever the plan has changed (another schema, a lost partition, a row that must be seen alone). */
#ifndef MILLRACE_ENGINE_BATCH_H
#define MILLRACE_ENGINE_BATCH_H

#include "partition.h"
#include "relation.h"

struct mr_batch;

/* Records polled together. Batches take them from here; the chunk is released when the last batch that took some is done. Main thread only. */
struct mr_chunk {
    struct mr_arena *ar;
    struct mr_record *records;
    size_t count, next;  /* next: first not yet taken */
    int refs;            /* batches that took some, and the engine while it reads from it */
    size_t kept_bytes;   /* the most its arena has held */
    struct mr_chunk *next_spare;
};

#define MR_CHUNK_RECORDS 1000 /* room in a chunk */

/* Chunks that wait to be used again. chunk.c */
struct mr_chunk_pool {
    struct mr_chunk *spare;
    size_t spare_bytes;
};
/* An empty chunk with one reference. */
struct mr_chunk *mr_chunk_take(struct mr_chunk_pool *pool);
/* Nobody uses it any more, and its records have been released. */
void mr_chunk_give(struct mr_chunk_pool *pool, struct mr_chunk *chunk);
void mr_chunk_pool_free(struct mr_chunk_pool *pool);

/* One table's rows for one lane. */
struct mr_job_table {
    struct mr_rel *rel;          /* main thread only */
    struct mr_table_batch rows;
    uint32_t *merged;            /* per row: how many changes it stands for */
    bool in_family;              /* the table of an array, or one with such tables: a change's rows in all of them are taken together or not at all */
    bool tried_new;              /* the rows were handed over as new ones */
    uint32_t truncate_origin;    /* record of rows.truncate_first */
    size_t refused;              /* rows that became dead letters in the target; set by the applier */
    bool truncate_refused;       /* and so did the truncate */
    int64_t done_us;             /* when the table was written, since 1970; set by the applier */
};

/* One lane's share of a batch: one transaction. */
struct mr_job {
    struct mr_batch *batch;
    uint32_t lane;
    bool all_lanes;              /* barrier: moves every lane */
    struct mr_arena *ar;         /* kept for the batch's next job of this place */
    struct mr_job_table *tables;
    size_t table_count, table_cap;
    struct mr_dead_letter *letters; /* decided by the main thread */
    size_t letter_count, letter_cap;
    struct mr_type_history_row *notes; /* policy null, variants */
    size_t note_count;
    const struct mr_ddl_history_row *reports; /* DDL of the source that is told and not run */
    size_t report_count;
    struct mr_position_move *moves;
    size_t move_count;
    int64_t schema_epoch;        /* under which the rows were made */
    bool epoch_moved;            /* the SCHEMA outcome means a newer epoch, not an answer to our statements */
    /* outcome, set by the applier */
    bool done;
    enum mr_status status;
    struct mr_error err;
    unsigned unknown_tries;      /* attempts in a row that ended in the same error that nobody knows */
    bool want_unfolded;          /* a merged row was refused: its changes must be seen one by one */
    uint64_t dead_rows;          /* dead letters added by the applier */
    int64_t began_us;            /* its first transaction, since 1970 */
    size_t reached;              /* tables that the last transaction came to */
    uint64_t upserts, deletes, appends;
};

/* From record `index` on something of the partition waits for a record that has not come (mr_decoder_ops.waits). */
struct mr_hold {
    const struct mr_part_state *part;
    uint32_t index;
};

struct mr_batch {
    uint64_t seq;
    struct mr_chunk **chunks;    /* whose records these are */
    size_t chunk_count, chunk_cap;
    struct mr_arena *ar;         /* everything made of them; reset when the batch is made anew */
    struct mr_record *records;   /* shallow copies */
    size_t record_count, record_cap;
    size_t bytes;
    size_t expanded;             /* what numbers with an exponent (1e20000) will take when they are written out */
    int64_t opened_ms;

    struct mr_rel **rels;        /* touched, in order of first touch */
    size_t rel_count, rel_cap;
    struct mr_dead_letter *letters;
    size_t letter_count, letter_cap;
    struct mr_type_history_row *notes;
    size_t note_count, note_cap;
    struct mr_ddl_history_row *reports;
    size_t report_count, report_cap;
    const struct mr_change *ddl; /* a schema change of the source that is to be followed: the batch's only change */
    bool ddl_done;
    struct mr_part_state **parts; /* touched */
    int64_t *part_to;            /* position after their last record in this batch */
    size_t part_count, part_cap;
    uint64_t changes, control, schema_changes, skipped, nulled, truncates; /* counted when committed */

    struct mr_hold *holds;       /* partitions that wait for a later record; the batch ends before the first of these records */
    size_t hold_count, hold_cap;
    bool barrier;                /* applied by one lane for all */
    bool unfolded;               /* nothing merged, row by row */
    bool replanned;              /* the target's SCHEMA answer has led to a new plan once: the next one is DATA */
    struct mr_job *jobs;         /* one per lane (one in all for a barrier) */
    size_t job_count;
};

/* Record `index` is in: does its partition wait for another? */
void mr_batch_note_wait(struct mr_batch *batch, const struct mr_part_state *part, uint32_t index, bool waits);
/* The first record that waits; MR_NOT_HELD. */
#define MR_NOT_HELD UINT32_MAX
uint32_t mr_batch_held(const struct mr_batch *batch);
/* Bytes that the batch holds and will hold beside its records. A few bytes of input can become very many. */
size_t mr_batch_weight(const struct mr_batch *batch);

struct mr_batch *mr_batch_create(void);
void mr_batch_destroy(struct mr_batch *batch);
/* Take a record (shallow) from a chunk; returns its index. */
uint32_t mr_batch_take(struct mr_batch *batch, struct mr_chunk *chunk, const struct mr_record *rec);
/* Empty it for reuse: its chunks must have been given back. */
void mr_batch_clear(struct mr_batch *batch, uint64_t seq);
/* Forget what was made of the records, keep the records. */
void mr_batch_remake(struct mr_batch *batch, uint64_t seq);
/* Move the partition's end in this batch. */
void mr_batch_touch_part(struct mr_batch *batch, struct mr_part_state *part, int64_t to);
/* The relation's fold in this batch (made on first touch). */
struct mr_fold *mr_batch_fold(struct mr_batch *batch, struct mr_rel *rel);
struct mr_dead_letter *mr_batch_add_letter(struct mr_batch *batch);
struct mr_type_history_row *mr_batch_add_note(struct mr_batch *batch);
struct mr_ddl_history_row *mr_batch_add_report(struct mr_batch *batch);

/* Divide the batch into jobs: rows to lanes, coerced to their columns' types and sorted by key. Tables must have been published. A value that
 * does not coerce is a bug of the tracker and becomes a dead letter of its record. */
void mr_batch_divide(struct mr_batch *batch, const struct mr_config *cfg, uint32_t lanes, int64_t schema_epoch);
/* Give the jobs up (done, or to be made anew). */
void mr_batch_drop_jobs(struct mr_batch *batch);

#endif
