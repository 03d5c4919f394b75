/* Running data statements: for one row, or for many at once: as arrays where the server takes them (MariaDB), else as statements of many
 * rows. Statements are prepared once and kept with their shape. */
#ifndef MILLRACE_SINK_MYSQL_ROWS_H
#define MILLRACE_SINK_MYSQL_ROWS_H

#include "shape.h"
#include "statement.h"

/* A batch and its table as this connection has it. */
struct mr_my_run {
    struct mr_my *my;
    struct mr_my_shape *shape;
    struct mr_table_batch *batch;
};

/* One row. *affected (may be NULL): rows found. A statement that has nothing to do for the row affects none. err->row is set on failure. */
enum mr_status mr_my_run_row(struct mr_my_run *run, enum mr_my_stmt_kind kind, uint32_t row, uint64_t *affected, struct mr_error *err)
    MR_MUST_CHECK;
/* Many rows that all set the same columns. err->row is set where the failure is known to be of one row. */
enum mr_status mr_my_run_many(struct mr_my_run *run, enum mr_my_stmt_kind kind, const uint32_t *rows, size_t count, struct mr_error *err)
    MR_MUST_CHECK;

/* The only row of the batch: its cells beside the key that are set, `count` of them, as texts; ptr NULL is NULL. */
enum mr_status mr_my_run_read(struct mr_my_run *run, unsigned count, struct mr_arena *ar, struct mr_str *values, bool *found,
                              struct mr_error *err) MR_MUST_CHECK;

void mr_my_row_stmt_free(void *stmt);

#endif
