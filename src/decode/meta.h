/* Metadata columns and headers: unwrap.add.fields and unwrap.add.headers, for every format. An item is `field`, `struct.field`, or either with `:newname`; the column is
 * prefix + field, prefix + struct + `_` + field, or prefix + newname. Debezium's names read from its envelope: op, ts_ms, ts_us, ts_ns from
 * the envelope itself; id, total_order, data_collection_order from `transaction`; every other bare name from `source`. Ours: topic,
 * partition, offset, from the record. What a format cannot tell is left out. */
#ifndef MILLRACE_DECODE_META_H
#define MILLRACE_DECODE_META_H

#include <millrace/decoder.h>

#include "connect.h"
#include "shape.h"

struct mr_meta;

/* CONFIG: an item with two colons, or without a name; two columns of one name. */
enum mr_status mr_meta_create(const struct mr_config *cfg, struct mr_meta **out, struct mr_error *err)
    MR_MUST_CHECK;
void mr_meta_destroy(struct mr_meta *meta); /* NULL is fine */

/* The columns for one change. `shape` is the envelope's, and `schema` its schema; both NULL without an envelope, and then `op` is given
 * where it is known ("" = it is not). */
struct mr_fields mr_meta_fields(const struct mr_meta *meta, struct mr_connect *cn,
                                const struct mr_record *rec, const struct mr_shape *shape,
                                const struct mr_connect_schema *schema, struct mr_str op,
                                struct mr_arena *ar);

/* The headers for one change, under the same rules, but that a name which the envelope does not have gives none. `path` is the header's name as
 * it is. */
struct mr_fields mr_meta_headers(const struct mr_meta *meta, struct mr_connect *cn, const struct mr_record *rec,
                                 const struct mr_shape *shape, const struct mr_connect_schema *schema, struct mr_str op,
                                 struct mr_arena *ar);

/* What a producer without Debezium's envelope tells of a change, under the names that Debezium has for it. "" and INT64_MIN: not told. */
struct mr_meta_facts {
    struct mr_str op;        /* c, u, d, r, t */
    struct mr_str database, table, gtid, tx_id;
    int64_t source_us;       /* source.ts_ms: when it happened */
    int64_t produced_ms;     /* ts_ms: when the producer wrote it */
};
/* Sets the change's meta and headers. */
void mr_meta_of_facts(const struct mr_meta *meta, struct mr_connect *cn, const struct mr_record *rec,
                      const struct mr_meta_facts *facts, struct mr_arena *ar, struct mr_change *ev);

/* Metadata wins over a field of the same name: take those out of `fields` (whose items are in the arena and nobody else's yet). */
void mr_meta_override(const struct mr_fields *meta, struct mr_fields *fields);

#endif
