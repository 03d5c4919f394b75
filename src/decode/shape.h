/* What the outermost object of a message looks like: one pass over its member names finds every name that some rule of detection,
 * envelopes or control messages asks for. Rules then test bits and node numbers instead of searching by name again and again. */
#ifndef MILLRACE_DECODE_SHAPE_H
#define MILLRACE_DECODE_SHAPE_H

#include <millrace/base/arena.h>

#include "json.h"

/* X(identifier, member name). Ordered by length: shape.c indexes by it, and a unit test holds the order. */
#define MR_MEMBER_NAMES(X)                                                                         \
    X(OP, "op")                                                                                    \
    X(ID, "id")                                                                                    \
    X(DDL, "ddl")                                                                                  \
    X(UNDERSCORE_ID, "_id")                                                                        \
    X(KEY, "key")                                                                                  \
    X(OLD, "old")                                                                                  \
    X(SQL, "sql")                                                                                  \
    X(DATA, "data")                                                                                \
    X(META, "meta")                                                                                \
    X(TYPE, "type")                                                                                \
    X(META_DB, "__db")                                                                             \
    X(AFTER, "after")                                                                              \
    X(ISDDL, "isDdl")                                                                              \
    X(OP_TS, "op_ts")                                                                              \
    X(PATCH, "patch")                                                                              \
    X(TABLE, "table")                                                                              \
    X(TIDB, "_tidb")                                                                               \
    X(TS_MS, "ts_ms")                                                                              \
    X(TS_NS, "ts_ns")                                                                              \
    X(TS_US, "ts_us")                                                                              \
    X(VALUE, "value")                                                                              \
    X(BEFORE, "before")                                                                            \
    X(SCHEMA, "schema")                                                                            \
    X(SOURCE, "source")                                                                            \
    X(STATUS, "status")                                                                            \
    X(OP_TYPE, "op_type")                                                                          \
    X(META_TABLE, "__table")                                                                       \
    X(PAYLOAD, "payload")                                                                          \
    X(PKNAMES, "pkNames")                                                                          \
    X(SQLTYPE, "sqlType")                                                                          \
    X(DATABASE, "database")                                                                        \
    X(POSITION, "position")                                                                        \
    X(DELETED, "__deleted")                                                                        \
    X(ENCRYPTED, "encrypted")                                                                      \
    X(MYSQLTYPE, "mysqlType")                                                                      \
    X(TIMESTAMP, "timestamp")                                                                      \
    X(EVENT_COUNT, "event_count")                                                                  \
    X(META_SOURCE_DB, "__source_db")                                                               \
    X(SPECVERSION, "specversion")                                                                  \
    X(TRANSACTION, "transaction")                                                                  \
    X(DATABASENAME, "databaseName")                                                                \
    X(META_COLLECTION, "__collection")                                                             \
    X(AGGREGATE_TYPE, "aggregate_type")                                                            \
    X(META_SOURCE_TABLE, "__source_table")                                                         \
    X(META_SOURCE_TS_MS, "__source_ts_ms")                                                         \
    X(ADDITIONAL_DATA, "additional_data")                                                          \
    X(DATA_COLLECTIONS, "data_collections")                                                        \
    X(UPDATE_DESCRIPTION, "updateDescription")                                                     \
    X(META_SOURCE_COLLECTION, "__source_collection")

#define MR_MEMBER_ENUM(id, name) MR_M_##id,
enum mr_member { MR_MEMBER_NAMES(MR_MEMBER_ENUM) MR_MEMBER_COUNT };

struct mr_shape {
    const struct mr_json_doc *doc;
    uint32_t object;                 /* the node looked at */
    uint32_t known;                  /* members with a name from the list, each counted once */
    uint32_t others;                 /* members with any other name */
    uint32_t node[MR_MEMBER_COUNT];  /* value nodes; the last of repeated names; MR_JSON_NONE = absent */
};

/* `object` must be an OBJECT node. Names written with escapes are unescaped into `ar`. */
void mr_shape_of(const struct mr_json_doc *doc, uint32_t object, struct mr_arena *ar,
                 struct mr_shape *out);
/* Which name is it? MR_MEMBER_COUNT if none of the list. */
enum mr_member mr_member_of(struct mr_str name);

static inline bool mr_shape_has(const struct mr_shape *sh, enum mr_member m)
{
    return sh->node[m] != MR_JSON_NONE;
}
/* Has the member, and its value is of that kind? */
static inline bool mr_shape_is(const struct mr_shape *sh, enum mr_member m, enum mr_json_kind kind)
{
    return sh->node[m] != MR_JSON_NONE && sh->doc->nodes[sh->node[m]].kind == kind;
}

/* Rule 5 of the formats' page: a Debezium envelope without a schema to say so. */
bool mr_shape_is_envelope(const struct mr_shape *sh);
/* The members are exactly `schema` and `payload`, and the schema is null or an object with `type`. */
bool mr_shape_is_wrapper(const struct mr_shape *sh);

#endif
