/* The small path: one prepared statement a row, many of them on their way at once (libpq's pipeline mode), so that a few rows cost one
 * round trip. The server tells exactly which row it refused. */
#ifndef MILLRACE_SINK_POSTGRES_PIPE_H
#define MILLRACE_SINK_POSTGRES_PIPE_H

#include "shape.h"
#include "statement.h"

struct mr_pg_pipe;

struct mr_pg_pipe *mr_pg_pipe_create(void);
void mr_pg_pipe_destroy(struct mr_pg_pipe *pipe);

/* Begin a run of rows of one batch. Until the end only rows may be sent over the connection. */
enum mr_status mr_pg_pipe_begin(struct mr_pg *pg, struct mr_pg_shape *shape, struct mr_table_batch *batch,
                                struct mr_error *err) MR_MUST_CHECK;
/* Send a statement of that kind for row `row` of the batch. */
enum mr_status mr_pg_pipe_row(struct mr_pg *pg, enum mr_pg_stmt_kind kind, size_t row, struct mr_error *err) MR_MUST_CHECK;
/* Wait for everything sent. Always to be called after begin; `status` is what happened so far, and comes back if it was a
 * failure. DATA has err->row. */
enum mr_status mr_pg_pipe_end(struct mr_pg *pg, enum mr_status status, struct mr_error *err) MR_MUST_CHECK;

/* Prepared statements belong to their shape. */
void mr_pg_row_stmt_free(void *stmt);
/* Drop all of a shape's statements on the server too. */
void mr_pg_row_stmts_forget(struct mr_pg *pg, struct mr_pg_shape *shape);

#endif
