/* Protobuf: schemas from their .proto text (what every registry gives) or their serialized form (which lacks things in some), and messages by them. A message
 * becomes the document that its fields are, and its schema the Connect schema that goes with it.
 *
 * The parts: proto_lex.c (words of the text), proto_parse.c (text to messages), proto_descriptor.c (serialized form to messages), proto_make.c
 * (what both make), proto_link.c (names to types, well-known types), proto_read.c (data), proto_connect.c (Connect schemas). Bounded in depth,
 * size and work. Main thread only. */
#ifndef MILLRACE_DECODE_PROTO_H
#define MILLRACE_DECODE_PROTO_H

#include "connect.h"
#include "json_build.h"

enum mr_proto_type {
    MR_P_DOUBLE,
    MR_P_FLOAT,
    MR_P_INT64,
    MR_P_UINT64,
    MR_P_INT32,
    MR_P_FIXED64,
    MR_P_FIXED32,
    MR_P_BOOL,
    MR_P_STRING,
    MR_P_BYTES,
    MR_P_UINT32,
    MR_P_SFIXED32,
    MR_P_SFIXED64,
    MR_P_SINT32,
    MR_P_SINT64,
    MR_P_MESSAGE,
    MR_P_ENUM,
    MR_P_GROUP,
    MR_P_NAMED, /* a message or an enum: not linked yet */
};

/* Messages with a meaning of their own. */
enum mr_proto_known {
    MR_PK_NONE,
    MR_PK_TIMESTAMP,
    MR_PK_DURATION,
    MR_PK_WRAPPER,
    MR_PK_STRUCT,
    MR_PK_VALUE,
    MR_PK_LIST,
    MR_PK_DATE,
    MR_PK_TIME_OF_DAY,
    MR_PK_DECIMAL,
};

struct mr_proto_message;
struct mr_proto_enum;

struct mr_proto_field {
    struct mr_str name;
    uint32_t number;
    uint8_t type; /* enum mr_proto_type */
    bool is_repeated;
    bool is_map;       /* of the entries that `message` describes */
    bool has_presence; /* absent is null; else it is the type's default */
    bool is_delimited; /* a message, written as a group */
    uint32_t oneof;    /* 1, 2, …; 0 = in none */
    struct mr_str type_name;
    const struct mr_proto_message *message;
    const struct mr_proto_enum *values;
    struct mr_str fallback; /* proto2: default, as written; "" = none */
    bool has_fallback;
    struct mr_str meta_type, meta_precision, meta_scale; /* confluent.field_meta */
};

struct mr_proto_enum {
    struct mr_str name; /* full */
    struct mr_str *names;
    int32_t *numbers;
    size_t count, cap;
};

struct mr_proto_message {
    struct mr_str name; /* full */
    uint8_t known;      /* enum mr_proto_known */
    bool is_map_entry;
    bool is_compiling;
    struct mr_proto_field *fields;
    size_t field_count, field_cap;
    uint32_t *by_number; /* indexes of the fields, by their numbers; NULL = not linked, few */
    struct mr_proto_message **nested;
    size_t nested_count, nested_cap;
    uint32_t oneofs;
    const struct mr_connect_schema *connect;
};

/* Everything that one schema and its imports define. */
struct mr_proto {
    struct mr_arena *ar;
    struct mr_map *types;         /* full name → struct mr_proto_named */
    struct mr_map *files;         /* import path → anything */
    struct mr_proto_message root; /* its `nested` are the root file's messages */
    size_t made;                  /* messages, enums and fields so far */
};

struct mr_proto *mr_proto_create(void);
void mr_proto_destroy(struct mr_proto *p); /* NULL is fine */
/* A file's text. `path` is what others import it as; "" = the root. DATA bad_schema. */
enum mr_status mr_proto_add(struct mr_proto *p, struct mr_str path, struct mr_str text,
                            struct mr_error *err) MR_MUST_CHECK;
/* The same of a serialized FileDescriptorProto. counts_entries: the entries of maps, which stand among the nested messages there, take an index
 * like others. DATA bad_schema: also of a descriptor that is not whole (see proto_descriptor.c). */
enum mr_status mr_proto_add_descriptor(struct mr_proto *p, struct mr_str path, struct mr_str bytes,
                                       bool counts_entries, struct mr_error *err) MR_MUST_CHECK;
/* Names to types, after the last file. DATA bad_schema. */
enum mr_status mr_proto_link(struct mr_proto *p, struct mr_error *err) MR_MUST_CHECK;

/* The message indexes in front of the payload: which message it is, and the payload. is_plain: they are not zigzag. DATA corrupt, truncated. */
enum mr_status mr_proto_message_of(struct mr_proto *p, struct mr_str *bytes, bool is_plain,
                                   struct mr_proto_message **out, struct mr_error *err) MR_MUST_CHECK;
const struct mr_connect_schema *mr_proto_connect(struct mr_proto *p, struct mr_proto_message *msg);

/* One message into the builder. DATA truncated, corrupt, bad_utf8, out_of_range, limit_exceeded. */
enum mr_status mr_proto_read(const struct mr_proto_message *msg, struct mr_str bytes, bool allow_ill_formed,
                             struct mr_json_build *out, struct mr_error *err) MR_MUST_CHECK;

#endif
