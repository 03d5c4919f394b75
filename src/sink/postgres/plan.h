/* How the rows of a batch are going to be applied: which go together through the staging table, which deletes as arrays of keys, which
 * one by one. Decides, sends nothing. */
#ifndef MILLRACE_SINK_POSTGRES_PLAN_H
#define MILLRACE_SINK_POSTGRES_PLAN_H

#include "shape.h"

/* The batch sorted out. */
struct mr_pg_plan {
    struct mr_pg *pg;
    struct mr_pg_shape *shape;
    struct mr_table_batch *batch;
    struct mr_arena *ar;
    bool in_order;         /* one row after another as listed */
    uint32_t *upserts;     /* through the staging table */
    int32_t *groups;       /* of each: rows of a group set the same columns */
    size_t upsert_count;
    uint32_t *group_first; /* a row of each group */
    size_t group_count;
    uint32_t *deletes;     /* by arrays of keys */
    size_t delete_count;
    uint32_t *singles;     /* through the pipeline */
    size_t single_count;
};

/* From this many rows on the bulk ways are worth their setting up. */
size_t mr_pg_bulk_rows(const struct mr_pg *pg);
/* Must the rows be applied as listed? Else they may change places. Needs shape and batch. */
bool mr_pg_must_keep_order(const struct mr_pg_plan *pl);
/* Fill in upserts, deletes and singles; in_order has been decided. */
void mr_pg_sort_out(struct mr_pg_plan *pl);

#endif
