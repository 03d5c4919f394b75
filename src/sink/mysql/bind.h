/* From a cell to what is bound for it, as its column in the catalog wants it. */
#ifndef MILLRACE_SINK_MYSQL_BIND_H
#define MILLRACE_SINK_MYSQL_BIND_H

#include "shape.h"

struct mr_my_bound {
    bool is_null;
    long long number;   /* STORE_INT, STORE_BITS */
    double real;        /* STORE_DOUBLE */
    struct mr_str text; /* the others; borrows from the value or lives in the arena */
};

/* DATA where the column would change the value instead of refusing it (a rounded fraction, a cut text); SCHEMA where the column is too short,
 * since it may grow. */
enum mr_status mr_my_bind(const struct mr_my *my, const struct mr_my_column *to, const struct mr_column *col, struct mr_value v,
                          struct mr_arena *ar, struct mr_my_bound *out, struct mr_error *err) MR_MUST_CHECK;

/* Does every number of a JSON text come back the same from a reader that knows 64-bit integers and doubles (MySQL's)? */
bool mr_my_json_is_exact(struct mr_str json);

#endif
