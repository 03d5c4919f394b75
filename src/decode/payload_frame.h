/* The registry's framings: which schema, and where the payload begins. */
#ifndef MILLRACE_DECODE_PAYLOAD_FRAME_H
#define MILLRACE_DECODE_PAYLOAD_FRAME_H

#include <millrace/model/record.h>

#include "connect.h"
#include "schema_registry.h"

/* What names a schema. */
enum mr_frame_by {
    MR_BY_ID,
    MR_BY_GUID,
    MR_BY_FILE,    /* files of this machine; no registry */
    MR_BY_CONTENT, /* Apicurio's own content id, */
    MR_BY_GLOBAL,  /* or global id */
};

#define MR_MAX_INDEXES 100 /* bytes of message indexes that an option gives */

struct mr_frame {
    enum mr_frame_by by;
    uint64_t id;
    unsigned char guid[16];
    struct mr_str files; /* comma-separated; the last one is the schema, the others are what it refers to */
    enum mr_schema_type type; /* FILE, CONTENT, GLOBAL: nobody but the configuration tells */
    bool is_named;            /* by the configuration */
    bool
        has_indexes; /* Protobuf: the message indexes are `indexes`; else they stand in front of the payload */
    struct mr_str indexes;
    struct mr_str payload;
};

/* How the messages of a side are framed, apart from what Confluent's serializers do by themselves. */
struct mr_framing {
    bool is_bare; /* the messages carry no framing: `named` is their schema */
    struct mr_frame named;
    unsigned char index_bytes[MR_MAX_INDEXES]; /* what named.indexes points to */
    bool has_long_ids;                         /* eight bytes */
    bool has_apicurio_headers;                 /* Apicurio's own headers may name the schema */
    enum mr_schema_type type;                  /* of what Apicurio's headers name */
};

/* By the record's header (`__key_schema_id`, `__value_schema_id`, or Apicurio's), else by what stands in front of the payload. DATA bad_magic,
 * truncated. */
enum mr_status mr_frame_read(const struct mr_framing *how, const struct mr_record *rec,
                             enum mr_connect_side side, struct mr_str bytes, struct mr_frame *out,
                             struct mr_error *err) MR_MUST_CHECK;
/* Does it look framed? For `auto`. */
bool mr_frame_sniff(const struct mr_framing *how, const struct mr_record *rec, enum mr_connect_side side,
                    struct mr_str bytes);
/* Bytes that tell the schema from others. */
void mr_frame_append_key(const struct mr_frame *frame, struct mr_buf *out);
/* What a person calls it: "12", a GUID, a file's name. */
void mr_frame_append_name(const struct mr_frame *frame, struct mr_buf *out);

#endif
