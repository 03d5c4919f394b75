/* Protobuf data on the wire: numbers, tags, groups, and where in a message each field occurs. See proto_wire.h. */
#include "proto_wire.h"

#define MAX_DEPTH MR_PROTO_DEPTH
#define MAX_OCCURRENCES 4000000 /* of known fields in one message with all in it */

enum mr_status mr_proto_truncated(struct mr_proto_reader *r)
{
    return mr_fail_data(r->err, MR_CODE_TRUNCATED, "the Protobuf data ends in the middle");
}

enum mr_status mr_proto_corrupt(struct mr_proto_reader *r, const char *what_z)
{
    return mr_fail_data(r->err, MR_CODE_CORRUPT, "the Protobuf data holds %s", what_z);
}

enum mr_status mr_proto_out_of_range(struct mr_proto_reader *r, const char *what_z)
{
    return mr_fail_data(r->err, MR_CODE_OUT_OF_RANGE, "the Protobuf data holds %s", what_z);
}

/* ---- The wire ---- */

enum mr_status mr_proto_read_varint(struct mr_proto_reader *r, struct mr_proto_bytes *b, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0;; shift += 7) {
        if (b->p == b->end)
            return mr_proto_truncated(r);
        uint64_t c = *b->p++;
        if (shift == 63 && c > 1)
            return mr_proto_corrupt(r, "a number of more than 64 bits");
        *out |= (c & 0x7f) << shift;
        if (c < 0x80)
            return MR_OK;
    }
}

enum mr_status mr_proto_read_fixed(struct mr_proto_reader *r, struct mr_proto_bytes *b, size_t size,
                                   uint64_t *out)
{
    if ((size_t)(b->end - b->p) < size)
        return mr_proto_truncated(r);
    *out = 0;
    for (size_t i = 0; i < size; i++)
        *out |= (uint64_t)b->p[i] << (8 * i);
    b->p += size;
    return MR_OK;
}

static enum mr_status read_block(struct mr_proto_reader *r, struct mr_proto_bytes *b, struct mr_str *out)
{
    uint64_t len;
    MR_TRY(mr_proto_read_varint(r, b, &len));
    if (len > (uint64_t)(b->end - b->p))
        return mr_proto_truncated(r);
    *out = mr_str_of((const char *)b->p, (size_t)len);
    b->p += len;
    return MR_OK;
}

static enum mr_status read_tag(struct mr_proto_reader *r, struct mr_proto_bytes *b, uint32_t *number,
                               unsigned *wire)
{
    uint64_t tag;
    MR_TRY(mr_proto_read_varint(r, b, &tag));
    *wire = tag & 7;
    if (tag >> 3 == 0 || tag >> 3 > (1u << 29) - 1 || *wire > 5)
        return mr_proto_corrupt(r, "a field number or wire type that does not exist");
    *number = (uint32_t)(tag >> 3);
    return MR_OK;
}

static enum mr_status read_group(struct mr_proto_reader *r, struct mr_proto_bytes *b, uint32_t number,
                                 struct mr_str *out);

/* What stands behind a tag, whatever field it is. */
static enum mr_status read_payload(struct mr_proto_reader *r, struct mr_proto_bytes *b, uint32_t number,
                                   struct mr_proto_occurrence *o)
{
    switch (o->wire) {
    case 0:
        return mr_proto_read_varint(r, b, &o->number);
    case 1:
        return mr_proto_read_fixed(r, b, 8, &o->number);
    case 2:
        return read_block(r, b, &o->bytes);
    case 5:
        return mr_proto_read_fixed(r, b, 4, &o->number);
    case 3:
        return read_group(r, b, number, &o->bytes);
    default:
        return mr_proto_corrupt(r, "the end of a group that has not begun");
    }
}

/* To the end of the group, over groups in it. */
static enum mr_status read_group(struct mr_proto_reader *r, struct mr_proto_bytes *b, uint32_t number,
                                 struct mr_str *out)
{
    const unsigned char *start = b->p;
    if (++r->depth > MAX_DEPTH)
        return mr_fail_data(r->err, MR_CODE_LIMIT_EXCEEDED, "the Protobuf data is nested more than %d deep",
                            MAX_DEPTH);
    for (;;) {
        const unsigned char *before = b->p;
        struct mr_proto_occurrence ignored = {0};
        uint32_t inner;
        unsigned wire;
        MR_TRY(read_tag(r, b, &inner, &wire));
        if (wire == 4) {
            if (inner != number)
                return mr_proto_corrupt(r, "the end of another group");
            *out = mr_str_of((const char *)start, (size_t)(before - start));
            r->depth--;
            return MR_OK;
        }
        ignored.wire = (uint8_t)wire;
        MR_TRY(read_payload(r, b, inner, &ignored));
    }
}

enum mr_status mr_proto_read_field(struct mr_proto_reader *r, struct mr_proto_bytes *b, uint32_t *number,
                                   struct mr_proto_occurrence *o)
{
    unsigned wire;
    *o = (struct mr_proto_occurrence){.next = MR_PROTO_NOWHERE};
    MR_TRY(read_tag(r, b, number, &wire));
    o->wire = (uint8_t)wire;
    return read_payload(r, b, *number, o);
}

struct mr_proto_bytes mr_proto_bytes_of(struct mr_str s)
{
    struct mr_proto_bytes b = {(const unsigned char *)(s.len == 0 ? "" : s.ptr), NULL};
    b.end = b.p + s.len;
    return b;
}

/* ---- Occurrences ---- */

/* The wire type of a field that is not packed. */
unsigned mr_proto_wire_of(const struct mr_proto_field *f)
{
    switch ((enum mr_proto_type)f->type) {
    case MR_P_DOUBLE:
    case MR_P_FIXED64:
    case MR_P_SFIXED64:
        return 1;
    case MR_P_FLOAT:
    case MR_P_FIXED32:
    case MR_P_SFIXED32:
        return 5;
    case MR_P_STRING:
    case MR_P_BYTES:
    case MR_P_MESSAGE:
        return 2;
    case MR_P_GROUP:
        return 3;
    case MR_P_INT64:
    case MR_P_UINT64:
    case MR_P_INT32:
    case MR_P_BOOL:
    case MR_P_UINT32:
    case MR_P_SINT32:
    case MR_P_SINT64:
    case MR_P_ENUM:
    case MR_P_NAMED:
        break;
    }
    return 0;
}

/* Which field has the number; mostly the one of `hint` or the next. A message may be full of numbers that the schema does not have, so they are
 * not looked for one by one. */
static size_t field_of(const struct mr_proto_message *msg, uint32_t number, size_t hint)
{
    bool is_indexed = msg->by_number != NULL;
    for (size_t i = 0; i < (is_indexed && msg->field_count > 2 ? 2 : msg->field_count); i++) {
        size_t at = (hint + i) % msg->field_count;
        if (msg->fields[at].number == number)
            return at;
    }
    size_t low = 0, high = is_indexed ? msg->field_count : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (msg->fields[msg->by_number[middle]].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    bool is_there = is_indexed && low < msg->field_count && msg->fields[msg->by_number[low]].number == number;
    return is_there ? msg->by_number[low] : SIZE_MAX;
}

void mr_proto_scan_free(struct mr_proto_scan *s)
{
    mr_xfree(s->items);
    mr_xfree(s->first);
    mr_xfree(s->last);
    mr_xfree(s->chosen);
}

enum mr_status mr_proto_scan_message(struct mr_proto_reader *r, const struct mr_proto_message *msg,
                                     struct mr_str bytes, struct mr_proto_scan *s)
{
    struct mr_proto_bytes b = mr_proto_bytes_of(bytes);
    s->first = mr_xmalloc((msg->field_count + 1) * sizeof(*s->first));
    s->last = mr_xmalloc((msg->field_count + 1) * sizeof(*s->last));
    s->chosen = mr_xcalloc(msg->oneofs + 1, sizeof(*s->chosen));
    memset(s->first, 0xff, (msg->field_count + 1) * sizeof(*s->first));
    size_t hint = 0;
    while (b.p < b.end) {
        uint32_t number;
        struct mr_proto_occurrence o;
        MR_TRY(mr_proto_read_field(r, &b, &number, &o));
        unsigned wire = o.wire;
        size_t at = field_of(msg, number, hint);
        if (at == SIZE_MAX)
            continue;
        hint = at;
        const struct mr_proto_field *f = &msg->fields[at];
        bool is_packed = wire == 2 && f->is_repeated && mr_proto_wire_of(f) != 2 && mr_proto_wire_of(f) != 3;
        if (wire != mr_proto_wire_of(f) && !is_packed)
            continue; /* as a field that is not known */
        if (++r->occurrences > MAX_OCCURRENCES)
            return mr_fail_data(r->err, MR_CODE_LIMIT_EXCEEDED, "the Protobuf data has more than %d fields",
                                MAX_OCCURRENCES);
        s->items = mr_xgrow(s->items, &s->cap, s->count + 1, sizeof(*s->items));
        s->items[s->count] = o;
        if (s->first[at] == MR_PROTO_NOWHERE)
            s->first[at] = (uint32_t)s->count;
        else
            s->items[s->last[at]].next = (uint32_t)s->count;
        s->last[at] = (uint32_t)s->count++;
        s->chosen[f->oneof] = (uint32_t)at + 1;
    }
    return MR_OK;
}
