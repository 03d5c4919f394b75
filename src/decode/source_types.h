/* The columns of source tables, as a schema topic tells them over time: what rows without a schema are decoded by.
 *
 * Debezium's connectors for MySQL and MariaDB write a message for every change of a table, with the whole table as it is then. Each becomes a
 * version, ordered by the place in the source's log at which it begins to hold; a row takes the last version that is not later than the
 * row. Where places cannot be compared (another server after a failover) the time decides.
 *
 * Versions are kept for ever, in memory once and in the target (decoder.h): a topic may lose its beginning. Main thread only. */
#ifndef MILLRACE_DECODE_SOURCE_TYPES_H
#define MILLRACE_DECODE_SOURCE_TYPES_H

#include <millrace/decoder.h>

#include "connect.h"
#include "shape.h"

/* A place in the source's log. */
struct mr_source_place {
    struct mr_str name; /* the connector's (topic.prefix) */
    struct mr_str file; /* "" = unknown */
    int64_t pos;
    int64_t server_id; /* 0 = unknown (a snapshot's) */
    int64_t us;        /* time of the change, INT64_MIN unknown */
    bool is_mysql;     /* MySQL's or MariaDB's connector */
};
/* From the member `source` of a message; texts borrow from the document or `ar`. */
struct mr_source_place mr_source_place_of(const struct mr_json_doc *doc, uint32_t source,
                                          struct mr_arena *ar);

struct mr_source_types;
struct mr_source_types *mr_source_types_create(const struct mr_config *cfg);
void mr_source_types_destroy(struct mr_source_types *st); /* NULL is fine */

/* A schema-change message: its payload's shape. Anything that makes no sense is passed over. */
void mr_source_types_learn(struct mr_source_types *st, const struct mr_record *rec,
                           const struct mr_shape *sh);

/* A row (an object node) of a message without schema: the schema of its table, or NULL if nothing is known and the row is to be taken as it
 * looks. May ask the host to read the schema topic, and wait for it. DATA where the topic tells of the table, but not of one of the row's
 * columns; also the host's errors. The schema lives as long as `st`. */
enum mr_status mr_source_types_for_row(struct mr_source_types *st, const struct mr_record *rec,
                                       const struct mr_relation *rel, const struct mr_source_place *place,
                                       const struct mr_json_doc *doc, uint32_t row,
                                       const struct mr_connect_schema **out,
                                       struct mr_error *err) MR_MUST_CHECK;
/* For a tombstone, which tells its topic alone: the schema of the table whose rows the topic brings, or NULL. */
const struct mr_connect_schema *mr_source_types_for_topic(struct mr_source_types *st, struct mr_str topic);

/* What Maxwell's schema changes have told: maxwell_types.h. */
struct mr_maxwell_defs;
struct mr_maxwell_defs *mr_source_types_maxwell(struct mr_source_types *st);

/* ---- For the set of decoders: decoder.h tells ---- */

void mr_source_types_host(struct mr_source_types *st, const struct mr_types_host *host);
enum mr_status mr_source_types_load(struct mr_source_types *st, const struct mr_source_type *row,
                                    struct mr_error *err) MR_MUST_CHECK;
const struct mr_source_type *mr_source_types_unsaved(const struct mr_source_types *st, size_t i);
void mr_source_types_saved(struct mr_source_types *st);

#endif
