/* The texts of the data statements. Each is written once for two sources of values: the parameters of a prepared statement for one row, or
 * the staging table for many. Pure text. */
#ifndef MILLRACE_SINK_POSTGRES_STATEMENT_H
#define MILLRACE_SINK_POSTGRES_STATEMENT_H

#include "shape.h"

enum mr_pg_stmt_kind {
    MR_PG_UPSERT,
    MR_PG_UPSERT_UPDATE, /* the first half of a guarded upsert from the staging table */
    MR_PG_DELETE,
    MR_PG_APPEND,
    MR_PG_INSERT_ONLY,
    MR_PG_UPDATE_MATCH,
    MR_PG_MOVE,       /* the row equal to `match` gets the key of `cells` */
    MR_PG_MOVE_CLEAR, /* before it: a row that has that key already goes, if there is one to take its place */
    MR_PG_DELETE_MATCH,
    MR_PG_DELETE_RANGE,
    MR_PG_FILL,       /* rows for the numbers of the last key column that are missing before this one */
    MR_PG_MOVE_ALL,   /* all rows equal to `match` get the key cells of `cells` */
    MR_PG_READ,       /* the columns that are set beside the key; locks the row */
    MR_PG_VACATE,        /* give up the row's values of other unique indexes, see enum mr_pg_vacate */
};

struct mr_pg_param {
    bool from_match; /* row->match, else row->cells */
    uint32_t column;
};

/* What a statement is made for. Only which cells are set counts, not their values (for `match`: set, null or not compared). */
struct mr_pg_spec {
    const struct mr_pg_shape *shape;
    enum mr_pg_stmt_kind kind;
    const struct mr_value *cells;
    const struct mr_value *match;
    bool from_stage;
    int64_t group;                 /* rows of this group of the staging table, −1 = all */
};

/* Append the statement to `out`; its parameters in order go to `params`, which has room for two a column. False if there is nothing to do
 * (a vacate of a row that sets no such column). */
bool mr_pg_statement(const struct mr_pg_spec *spec, struct mr_buf *out, struct mr_pg_param *params, size_t *count);

/* Is a column NOT NULL that the row leaves out? Then ON CONFLICT alone would refuse the row even if it exists already, and the upsert must be
 * an UPDATE followed by an INSERT of what was not there. */
bool mr_pg_is_guarded(const struct mr_pg_shape *shape, const struct mr_value *cells);

static inline bool mr_pg_is_set(struct mr_value v)
{
    return v.tag != MR_V_ABSENT && v.tag != MR_V_UNAVAILABLE;
}

#endif
