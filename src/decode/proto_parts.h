/* What the Protobuf files share among themselves. */
#ifndef MILLRACE_DECODE_PROTO_PARTS_H
#define MILLRACE_DECODE_PROTO_PARTS_H

#include <millrace/base/map.h>
#include <millrace/base/mem.h>

#include "proto.h"

struct mr_proto_named {
    struct mr_proto_message *message; /* or */
    struct mr_proto_enum *values;
};

enum mr_proto_word { MR_W_END, MR_W_NAME, MR_W_NUMBER, MR_W_TEXT, MR_W_SIGN, MR_W_BAD };

/* Words of a .proto text, one ahead. */
struct mr_proto_lex {
    const char *p, *end;
    struct mr_arena *ar;
    enum mr_proto_word kind;
    struct mr_str word; /* TEXT: unescaped, without quotes; SIGN: one character; NAME: with its dots */
    uint32_t line;
};

void mr_proto_lex_begin(struct mr_proto_lex *lex, struct mr_str text, struct mr_arena *ar);
void mr_proto_lex_next(struct mr_proto_lex *lex);

#define MR_PROTO_NESTING 64 /* of messages in a schema */

/* One more thing is to be made. DATA bad_schema: too many. */
enum mr_status mr_proto_count(struct mr_proto *p, struct mr_error *err) MR_MUST_CHECK;
struct mr_str mr_proto_full_name(struct mr_proto *p, struct mr_str scope, struct mr_str name);
/* A message by that full name. into: where it takes an index; NULL = nowhere. */
struct mr_proto_message *mr_proto_add_message(struct mr_proto *p, struct mr_proto_message *into,
                                              struct mr_str full);
/* A field, all zero; valid until the next one of that message. */
struct mr_proto_field *mr_proto_add_field(struct mr_proto *p, struct mr_proto_message *msg);
struct mr_proto_enum *mr_proto_add_enum(struct mr_proto *p, struct mr_str full);
void mr_proto_add_symbol(struct mr_proto *p, struct mr_proto_enum *e, struct mr_str name, int32_t number);

/* The texts of the well-known types. */
extern const char mr_proto_well_known_z[];
extern const char mr_proto_well_known_type_z[];
extern const char mr_proto_confluent_z[];

/* Parse a file into p; its top-level messages go to `into`. */
enum mr_status mr_proto_parse(struct mr_proto *p, struct mr_str text, struct mr_proto_message *into,
                              struct mr_error *err) MR_MUST_CHECK;

/* The same of a serialized descriptor. */
enum mr_status mr_proto_describe(struct mr_proto *p, struct mr_str bytes, bool counts_entries,
                                 struct mr_proto_message *into, struct mr_error *err) MR_MUST_CHECK;

#endif
