/* Rows through COPY … FROM STDIN BINARY, into the staging table or straight into the target. */
#ifndef MILLRACE_SINK_POSTGRES_COPY_H
#define MILLRACE_SINK_POSTGRES_COPY_H

#include "shape.h"

/* Which rows of a batch, and to which group of the staging table each belongs. */
struct mr_pg_picked {
    const uint32_t *rows;
    size_t count;
    const int32_t *groups; /* per picked row; NULL: the staging table's group column stays NULL */
};

/* Fill the (emptied) staging table. */
enum mr_status mr_pg_copy_stage(struct mr_pg *pg, struct mr_pg_shape *shape, const struct mr_table_batch *batch,
                                const struct mr_pg_picked *picked, struct mr_error *err) MR_MUST_CHECK;
/* Into the target itself. The shape must have been verified in this transaction and have no casts. A refused row comes back as
 * err->row where the server tells its line. */
enum mr_status mr_pg_copy_target(struct mr_pg *pg, struct mr_pg_shape *shape, const struct mr_table_batch *batch,
                                 const struct mr_pg_picked *picked, struct mr_error *err) MR_MUST_CHECK;

#endif
