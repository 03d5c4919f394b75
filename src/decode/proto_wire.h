/* The wire of Protobuf, for proto_read.c and proto_descriptor.c: a first pass over a message's bytes notes where each of its fields occurs. */
#ifndef MILLRACE_DECODE_PROTO_WIRE_H
#define MILLRACE_DECODE_PROTO_WIRE_H

#include "proto_parts.h"

#define MR_PROTO_DEPTH 100
#define MR_PROTO_NOWHERE UINT32_MAX

struct mr_proto_bytes {
    const unsigned char *p, *end;
};

/* A field as it occurs once. */
struct mr_proto_occurrence {
    uint64_t number;     /* varint, fixed */
    struct mr_str bytes; /* length-delimited, group */
    uint32_t next;       /* of the same field; MR_PROTO_NOWHERE */
    uint8_t wire;
};

struct mr_proto_reader {
    struct mr_json_build *out;
    struct mr_error *err;
    bool allow_ill_formed;
    uint32_t depth;
    uint64_t occurrences;
};

struct mr_proto_scan {
    struct mr_proto_occurrence *items;
    size_t count, cap;
    uint32_t *first, *last; /* by field */
    uint32_t *chosen;       /* by oneof: the field that came last, plus one */
};

enum mr_status mr_proto_truncated(struct mr_proto_reader *r);
enum mr_status mr_proto_corrupt(struct mr_proto_reader *r, const char *what_z);
enum mr_status mr_proto_out_of_range(struct mr_proto_reader *r, const char *what_z);

enum mr_status mr_proto_read_varint(struct mr_proto_reader *r, struct mr_proto_bytes *b,
                                    uint64_t *out) MR_MUST_CHECK;
enum mr_status mr_proto_read_fixed(struct mr_proto_reader *r, struct mr_proto_bytes *b, size_t size,
                                   uint64_t *out) MR_MUST_CHECK;
struct mr_proto_bytes mr_proto_bytes_of(struct mr_str s);
/* The next field, whatever it is: its number and what stands behind. */
enum mr_status mr_proto_read_field(struct mr_proto_reader *r, struct mr_proto_bytes *b, uint32_t *number,
                                   struct mr_proto_occurrence *o) MR_MUST_CHECK;
/* The wire type of a field that is not packed. */
unsigned mr_proto_wire_of(const struct mr_proto_field *f);
/* Where the fields occur. `s` must be zero, and is freed by the caller whatever comes back. */
enum mr_status mr_proto_scan_message(struct mr_proto_reader *r, const struct mr_proto_message *msg,
                                     struct mr_str bytes, struct mr_proto_scan *s) MR_MUST_CHECK;
void mr_proto_scan_free(struct mr_proto_scan *s);

#endif
