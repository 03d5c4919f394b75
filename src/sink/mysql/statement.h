/* The texts of the data statements. Pure text. */
#ifndef MILLRACE_SINK_MYSQL_STATEMENT_H
#define MILLRACE_SINK_MYSQL_STATEMENT_H

#include "shape.h"

enum mr_my_stmt_kind {
    MR_MY_UPSERT,       /* INSERT … ON DUPLICATE KEY UPDATE: never where there is another unique index */
    MR_MY_INSERT,       /* plain */
    MR_MY_UPDATE,       /* by key; tells whether there was such a row */
    MR_MY_DELETE,       /* by key */
    MR_MY_LOOK,         /* by key, and lock it */
    MR_MY_READ,         /* by key, and lock it: the columns that are set beside the key */
    MR_MY_UPDATE_MATCH, /* one row equal to `match`, which gets `cells` */
    MR_MY_DELETE_MATCH,
    MR_MY_FILL,         /* rows for the numbers of the last key column that are missing before this one */
    MR_MY_MOVE_ALL,     /* all rows whose key has the cells of the match get the row's in their place */
    MR_MY_DELETE_RANGE, /* by the key columns that are set; the last of them lies between the row's and the match's */
    MR_MY_VACATE,       /* give up the row's values of other unique indexes, see enum mr_my_vacate */
};

struct mr_my_param {
    bool from_match; /* row->match, else row->cells */
    uint32_t column;
};

/* What a statement is made for. Only which cells are set counts, not their values (for `match`: set or not compared). */
struct mr_my_spec {
    const struct mr_my_shape *shape;
    const struct mr_server *server;
    enum mr_my_stmt_kind kind;
    const struct mr_value *cells;
    const struct mr_value *match;
    size_t rows; /* UPSERT, INSERT, DELETE: rows of one statement */
};

/* Append the statement to `out`; the parameters of one row in order go to `params`, which has room for three a column. False if there is
 * nothing to do (a vacate of a row that sets no such column). */
bool mr_my_statement(const struct mr_my_spec *spec, struct mr_buf *out, struct mr_my_param *params, size_t *count);

static inline bool mr_my_is_set(struct mr_value v)
{
    return v.tag != MR_V_ABSENT && v.tag != MR_V_UNAVAILABLE;
}

#endif
