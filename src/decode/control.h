/* Debezium's messages that are no rows: heartbeats, transaction boundaries, schema changes, notifications. They stand in topics of their
 * own, or between the rows of a file. */
#ifndef MILLRACE_DECODE_CONTROL_H
#define MILLRACE_DECODE_CONTROL_H

#include <millrace/decoder.h>

#include "connect.h"
#include "shape.h"

/* Is it one? `shape` is the payload's. By the schema's name if there is one, else by members, types and companions. */
bool mr_control_recognise(const struct mr_record *rec, const struct mr_connect_message *value,
                          const struct mr_shape *shape, enum mr_control *out);
/* A null value under the key of such a message; it must not become a delete. `key` may be null. */
bool mr_control_key(const struct mr_record *rec, const struct mr_connect_message *key,
                    enum mr_control *out);
/* Emit the CONTROL change; `shape` may be NULL. */
enum mr_status mr_control_emit(enum mr_control kind, const struct mr_shape *shape, struct mr_arena *ar,
                               mr_emit_fn emit, void *ctx, struct mr_error *err) MR_MUST_CHECK;
/* The same for a message that has been recognised: with what a transaction's boundary tells. */
enum mr_status mr_control_emit_message(const struct mr_record *rec, enum mr_control kind, const struct mr_shape *shape, struct mr_arena *ar,
                                       mr_emit_fn emit, void *ctx, struct mr_error *err) MR_MUST_CHECK;

#endif
