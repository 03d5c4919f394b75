/* Schemas by id, GUID or file, compiled and kept. A schema never changes under its id, so each is asked for once; the one not used for the longest
 * goes. What a schema refers to is fetched with it. */
#ifndef MILLRACE_DECODE_PAYLOAD_SCHEMAS_H
#define MILLRACE_DECODE_PAYLOAD_SCHEMAS_H

#include "avro.h"
#include "payload_frame.h"
#include "proto.h"
#include "schema_registry.h"

struct mr_payload_schema {
    enum mr_schema_type type;
    struct mr_arena *ar;                     /* owns what follows */
    struct mr_avro_schema *avro;             /* AVRO; owned */
    struct mr_proto *proto;                  /* PROTOBUF; owned */
    const struct mr_connect_schema *connect; /* AVRO, JSON: of the root */
    const struct mr_connect_schema
        *bare_row; /* AVRO, JSON: where the root is no record, a row of one column; else NULL */
    const struct mr_connect_schema *additional; /* JSON, under json.additional: column: with that column; NULL = it cannot have one */
};

/* The column of a value that is no record. */
#define MR_BARE_VALUE MR_STR("ROWVAL")
/* A row whose one column the value is. */
const struct mr_connect_schema *mr_payload_bare_row(const struct mr_connect_schema *of, struct mr_arena *ar);

struct mr_payload_schemas;
enum mr_status mr_payload_schemas_create(const struct mr_config *cfg, struct mr_payload_schemas **out,
                                         struct mr_error *err) MR_MUST_CHECK;
/* Can schemas be asked for? Without a registry there are those in files. */
bool mr_payload_schemas_has_registry(const struct mr_payload_schemas *s);
void mr_payload_schemas_destroy(struct mr_payload_schemas *s); /* NULL is fine */

/* Valid until the next call but one at least, so that a record has its key's and its value's. */
enum mr_status mr_payload_schemas_get(struct mr_payload_schemas *s, const struct mr_frame *frame,
                                      const struct mr_payload_schema **out,
                                      struct mr_error *err) MR_MUST_CHECK;
const char *mr_schema_type_name(enum mr_schema_type type);

#endif
