/* Values in PostgreSQL's binary formats. */
#ifndef MILLRACE_SINK_POSTGRES_ENCODE_H
#define MILLRACE_SINK_POSTGRES_ENCODE_H

#include "wire.h"

#include <millrace/base/buf.h>

/* Append the binary form of a value (not NULL or ABSENT), without its length. `server` is the version number: what older ones cannot
 * hold is DATA out_of_range. BUG if the value's tag is not the column's. */
enum mr_status mr_pg_encode(enum mr_pg_wire wire, int server, struct mr_value v, struct mr_buf *out,
                            struct mr_error *err) MR_MUST_CHECK;

/* The same with its length in front; NULL and ABSENT as −1. */
enum mr_status mr_pg_encode_field(enum mr_pg_wire wire, int server, struct mr_value v, struct mr_buf *out,
                                  struct mr_error *err) MR_MUST_CHECK;

#endif
