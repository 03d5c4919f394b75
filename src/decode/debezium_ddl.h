/* Debezium's schema changes as actions on tables (model/change.h). */
#ifndef MILLRACE_DECODE_DEBEZIUM_DDL_H
#define MILLRACE_DECODE_DEBEZIUM_DDL_H

#include <millrace/decoder.h>

#include "shape.h"

/* `ev` is the SCHEMA_CHANGE made of the message with that shape: tells whether a snapshot wrote it, and under `ddl: apply` what it does. The columns
 * come from the structure that the message holds; the statement's text tells only what is dropped and renamed, which the structure does not. */
void mr_debezium_ddl_fill(const struct mr_config *cfg, const struct mr_shape *sh, struct mr_arena *ar,
                          struct mr_change *ev);

#endif
