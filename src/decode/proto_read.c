/* Protobuf data by its message. See proto.h. A first pass over the bytes notes where each field occurs; then the fields are written in the schema's
 * order, as repeated fields may be scattered, the last of a single one counts, and an absent one has its default or is null. */
#include <stdio.h>

#include <millrace/base/decimal.h>
#include <millrace/base/time.h>
#include <millrace/base/utf8.h>

#include "proto_parts.h"

#define MAX_DEPTH 100
#define MAX_OCCURRENCES 4000000 /* of known fields in one message with all in it */
#define NOWHERE UINT32_MAX

struct bytes {
    const unsigned char *p, *end;
};

/* A field as it occurs once. */
struct occurrence {
    uint64_t number;     /* varint, fixed */
    struct mr_str bytes; /* length-delimited, group */
    uint32_t next;       /* of the same field; NOWHERE */
    uint8_t wire;
};

struct reader {
    struct mr_json_build *out;
    struct mr_error *err;
    bool allow_ill_formed;
    uint32_t depth;
    uint64_t occurrences;
};

static enum mr_status truncated(struct reader *r)
{
    return mr_fail_data(r->err, MR_CODE_TRUNCATED, "the Protobuf data ends in the middle");
}

static enum mr_status corrupt(struct reader *r, const char *what_z)
{
    return mr_fail_data(r->err, MR_CODE_CORRUPT, "the Protobuf data holds %s", what_z);
}

static enum mr_status out_of_range(struct reader *r, const char *what_z)
{
    return mr_fail_data(r->err, MR_CODE_OUT_OF_RANGE, "the Protobuf data holds %s", what_z);
}

/* ---- The wire ---- */

static enum mr_status read_varint(struct reader *r, struct bytes *b, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0;; shift += 7) {
        if (b->p == b->end)
            return truncated(r);
        uint64_t c = *b->p++;
        if (shift == 63 && c > 1)
            return corrupt(r, "a number of more than 64 bits");
        *out |= (c & 0x7f) << shift;
        if (c < 0x80)
            return MR_OK;
    }
}

static enum mr_status read_fixed(struct reader *r, struct bytes *b, size_t size, uint64_t *out)
{
    if ((size_t)(b->end - b->p) < size)
        return truncated(r);
    *out = 0;
    for (size_t i = 0; i < size; i++)
        *out |= (uint64_t)b->p[i] << (8 * i);
    b->p += size;
    return MR_OK;
}

static enum mr_status read_block(struct reader *r, struct bytes *b, struct mr_str *out)
{
    uint64_t len;
    MR_TRY(read_varint(r, b, &len));
    if (len > (uint64_t)(b->end - b->p))
        return truncated(r);
    *out = mr_str_of((const char *)b->p, (size_t)len);
    b->p += len;
    return MR_OK;
}

static enum mr_status read_tag(struct reader *r, struct bytes *b, uint32_t *number, unsigned *wire)
{
    uint64_t tag;
    MR_TRY(read_varint(r, b, &tag));
    *wire = tag & 7;
    if (tag >> 3 == 0 || tag >> 3 > (1u << 29) - 1 || *wire > 5)
        return corrupt(r, "a field number or wire type that does not exist");
    *number = (uint32_t)(tag >> 3);
    return MR_OK;
}

static enum mr_status read_group(struct reader *r, struct bytes *b, uint32_t number, struct mr_str *out);

/* What stands behind a tag, whatever field it is. */
static enum mr_status read_payload(struct reader *r, struct bytes *b, uint32_t number, struct occurrence *o)
{
    switch (o->wire) {
    case 0:
        return read_varint(r, b, &o->number);
    case 1:
        return read_fixed(r, b, 8, &o->number);
    case 2:
        return read_block(r, b, &o->bytes);
    case 5:
        return read_fixed(r, b, 4, &o->number);
    case 3:
        return read_group(r, b, number, &o->bytes);
    default:
        return corrupt(r, "the end of a group that has not begun");
    }
}

/* To the end of the group, over groups in it. */
static enum mr_status read_group(struct reader *r, struct bytes *b, uint32_t number, struct mr_str *out)
{
    const unsigned char *start = b->p;
    if (++r->depth > MAX_DEPTH)
        return mr_fail_data(r->err, MR_CODE_LIMIT_EXCEEDED, "the Protobuf data is nested more than %d deep", MAX_DEPTH);
    for (;;) {
        const unsigned char *before = b->p;
        struct occurrence ignored = {0};
        uint32_t inner;
        unsigned wire;
        MR_TRY(read_tag(r, b, &inner, &wire));
        if (wire == 4) {
            if (inner != number)
                return corrupt(r, "the end of another group");
            *out = mr_str_of((const char *)start, (size_t)(before - start));
            r->depth--;
            return MR_OK;
        }
        ignored.wire = (uint8_t)wire;
        MR_TRY(read_payload(r, b, inner, &ignored));
    }
}

/* ---- Occurrences ---- */

/* The wire type of a field that is not packed. */
static unsigned wire_of(const struct mr_proto_field *f)
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

static size_t field_of(const struct mr_proto_message *msg, uint32_t number, size_t hint)
{
    for (size_t i = 0; i < msg->field_count; i++) {
        size_t at = (hint + i) % msg->field_count;
        if (msg->fields[at].number == number)
            return at;
    }
    return SIZE_MAX;
}

struct scan {
    struct occurrence *items;
    size_t count, cap;
    uint32_t *first, *last; /* by field */
    uint32_t *chosen;       /* by oneof: the field that came last, plus one */
};

static void scan_free(struct scan *s)
{
    mr_xfree(s->items);
    mr_xfree(s->first);
    mr_xfree(s->last);
    mr_xfree(s->chosen);
}

static enum mr_status scan_message(struct reader *r, const struct mr_proto_message *msg, struct mr_str bytes, struct scan *s)
{
    struct bytes b = {(const unsigned char *)bytes.ptr, NULL};
    if (bytes.len == 0)
        b.p = (const unsigned char *)"";
    b.end = b.p + bytes.len;
    s->first = mr_xmalloc((msg->field_count + 1) * sizeof(*s->first));
    s->last = mr_xmalloc((msg->field_count + 1) * sizeof(*s->last));
    s->chosen = mr_xcalloc(msg->oneofs + 1, sizeof(*s->chosen));
    memset(s->first, 0xff, (msg->field_count + 1) * sizeof(*s->first));
    size_t hint = 0;
    while (b.p < b.end) {
        uint32_t number;
        unsigned wire;
        struct occurrence o = {.next = NOWHERE};
        MR_TRY(read_tag(r, &b, &number, &wire));
        o.wire = (uint8_t)wire;
        MR_TRY(read_payload(r, &b, number, &o));
        size_t at = field_of(msg, number, hint);
        if (at == SIZE_MAX)
            continue;
        hint = at;
        const struct mr_proto_field *f = &msg->fields[at];
        bool is_packed = wire == 2 && f->is_repeated && wire_of(f) != 2 && wire_of(f) != 3;
        if (wire != wire_of(f) && !is_packed)
            continue; /* as a field that is not known */
        if (++r->occurrences > MAX_OCCURRENCES)
            return mr_fail_data(r->err, MR_CODE_LIMIT_EXCEEDED, "the Protobuf data has more than %d fields", MAX_OCCURRENCES);
        s->items = mr_xgrow(s->items, &s->cap, s->count + 1, sizeof(*s->items));
        s->items[s->count] = o;
        if (s->first[at] == NOWHERE)
            s->first[at] = (uint32_t)s->count;
        else
            s->items[s->last[at]].next = (uint32_t)s->count;
        s->last[at] = (uint32_t)s->count++;
        s->chosen[f->oneof] = (uint32_t)at + 1;
    }
    return MR_OK;
}

/* ---- Scalars ---- */

static void put_enum(struct reader *r, const struct mr_proto_field *f, int32_t v)
{
    for (size_t i = 0; i < f->values->count; i++) {
        if (f->values->numbers[i] == v) {
            mr_json_build_string(r->out, f->values->names[i], 0);
            return;
        }
    }
    char digits[16];
    int len = snprintf(digits, sizeof(digits), "%d", (int)v);
    mr_json_build_string(r->out, mr_str_of(digits, (size_t)len), 0);
}

static int64_t zigzag(uint64_t v)
{
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

static enum mr_status put_text(struct reader *r, struct mr_str s)
{
    unsigned flags = mr_utf8_check(s);
    if ((flags & (MR_TEXT_ILL_FORMED | MR_TEXT_HAS_SURROGATE)) != 0 && !r->allow_ill_formed)
        return mr_fail_data(r->err, MR_CODE_BAD_UTF8, "a text in the Protobuf data is no UTF-8");
    mr_json_build_string(r->out, s, flags);
    return MR_OK;
}

static void put_number(struct reader *r, const struct mr_proto_field *f, uint64_t v)
{
    float single;
    double wide;
    uint32_t low = (uint32_t)v;
    switch ((enum mr_proto_type)f->type) {
    case MR_P_DOUBLE:
        memcpy(&wide, &v, sizeof(wide));
        mr_json_build_double(r->out, wide);
        break;
    case MR_P_FLOAT:
        memcpy(&single, &low, sizeof(single));
        mr_json_build_float(r->out, single);
        break;
    case MR_P_INT64:
    case MR_P_SFIXED64:
        mr_json_build_int(r->out, (int64_t)v);
        break;
    case MR_P_UINT64:
    case MR_P_FIXED64:
        mr_json_build_uint(r->out, v);
        break;
    case MR_P_INT32:
    case MR_P_SFIXED32:
        mr_json_build_int(r->out, (int32_t)low);
        break;
    case MR_P_UINT32:
    case MR_P_FIXED32:
        mr_json_build_uint(r->out, low);
        break;
    case MR_P_BOOL:
        mr_json_build_bool(r->out, v != 0);
        break;
    case MR_P_SINT32:
        mr_json_build_int(r->out, (int32_t)zigzag(low));
        break;
    case MR_P_SINT64:
        mr_json_build_int(r->out, zigzag(v));
        break;
    case MR_P_ENUM:
        put_enum(r, f, (int32_t)low);
        break;
    case MR_P_STRING:
    case MR_P_BYTES:
    case MR_P_MESSAGE:
    case MR_P_GROUP:
    case MR_P_NAMED:
        break;
    }
}

/* proto2: the default as the schema spells it. */
static void put_fallback(struct reader *r, const struct mr_proto_field *f)
{
    double d;
    switch ((enum mr_proto_type)f->type) {
    case MR_P_BOOL:
        mr_json_build_bool(r->out, mr_str_eq_z(f->fallback, "true"));
        break;
    case MR_P_STRING:
    case MR_P_ENUM:
        mr_json_build_string(r->out, f->fallback, mr_utf8_check(f->fallback));
        break;
    case MR_P_BYTES:
        mr_json_build_base64(r->out, f->fallback);
        break;
    case MR_P_DOUBLE:
    case MR_P_FLOAT:
        if (mr_parse_double(f->fallback, &d))
            mr_json_build_double(r->out, d);
        else
            mr_json_build_string(r->out, mr_str_eq_z(f->fallback, "inf")    ? MR_STR("Infinity")
                                         : mr_str_eq_z(f->fallback, "-inf") ? MR_STR("-Infinity")
                                                                            : MR_STR("NaN"),
                                 0);
        break;
    default:
        mr_json_build_number(r->out, f->fallback);
        break;
    }
}

static void put_default(struct reader *r, const struct mr_proto_field *f)
{
    if (f->is_repeated && f->is_map) {
        mr_json_build_open(r->out, MR_J_OBJECT);
        mr_json_build_close(r->out);
    } else if (f->is_repeated) {
        mr_json_build_open(r->out, MR_J_ARRAY);
        mr_json_build_close(r->out);
    } else if (f->has_fallback) {
        put_fallback(r, f);
    } else if (f->has_presence) {
        mr_json_build_null(r->out);
    } else if (f->type == MR_P_STRING || f->type == MR_P_BYTES) {
        mr_json_build_string(r->out, MR_STR(""), 0);
    } else if (f->type == MR_P_ENUM && f->values->count != 0) {
        mr_json_build_string(r->out, f->values->names[0], 0);
    } else {
        put_number(r, f, 0);
    }
}

/* ---- Values ---- */

static enum mr_status put_message(struct reader *r, const struct mr_proto_message *msg, struct mr_str bytes);

static enum mr_status put_one(struct reader *r, const struct mr_proto_field *f, const struct occurrence *o)
{
    switch ((enum mr_proto_type)f->type) {
    case MR_P_STRING:
        return put_text(r, o->bytes);
    case MR_P_BYTES:
        mr_json_build_base64(r->out, o->bytes);
        return MR_OK;
    case MR_P_MESSAGE:
    case MR_P_GROUP:
        return put_message(r, f->message, o->bytes);
    default:
        put_number(r, f, o->number);
        return MR_OK;
    }
}

static enum mr_status put_packed(struct reader *r, const struct mr_proto_field *f, struct mr_str bytes)
{
    struct bytes b = {(const unsigned char *)bytes.ptr, (const unsigned char *)bytes.ptr + bytes.len};
    unsigned wire = wire_of(f);
    while (b.p < b.end) {
        uint64_t v;
        MR_TRY(wire == 0 ? read_varint(r, &b, &v) : read_fixed(r, &b, wire == 1 ? 8 : 4, &v));
        put_number(r, f, v);
    }
    return MR_OK;
}

/* A message that occurs several times is merged, and merging is the same as reading the bytes of all of them in a row. */
static enum mr_status put_merged(struct reader *r, const struct mr_proto_field *f, const struct scan *s, uint32_t at)
{
    if (s->items[at].next == NOWHERE)
        return put_one(r, f, &s->items[at]);
    struct mr_buf all = MR_BUF_INIT(SIZE_MAX / 2);
    for (; at != NOWHERE; at = s->items[at].next)
        mr_buf_append_str(&all, s->items[at].bytes);
    enum mr_status status = put_message(r, f->message, mr_buf_str(&all));
    mr_buf_free(&all);
    return status;
}

static enum mr_status put_repeated(struct reader *r, const struct mr_proto_field *f, const struct scan *s, uint32_t at)
{
    mr_json_build_open(r->out, MR_J_ARRAY);
    for (; at != NOWHERE; at = s->items[at].next) {
        const struct occurrence *o = &s->items[at];
        bool is_packed = o->wire == 2 && wire_of(f) != 2;
        MR_TRY(is_packed ? put_packed(r, f, o->bytes) : put_one(r, f, o));
        if (r->out->text.overflow)
            return mr_buf_check(&r->out->text, "the decoded message", r->err);
    }
    mr_json_build_close(r->out);
    return MR_OK;
}

/* The key of a map entry as a member's name. */
static void put_key(struct reader *r, const struct mr_proto_field *f, const struct occurrence *o)
{
    struct mr_json_build key;
    struct mr_json_doc doc;
    struct mr_json_build *out = r->out;
    struct mr_arena *ar = mr_arena_create(256);
    mr_json_build_init(&key, out->text.max);
    r->out = &key;
    enum mr_status status = MR_OK;
    if (o == NULL)
        put_default(r, f);
    else
        status = put_one(r, f, o);
    r->out = out;
    if (status == MR_OK && mr_json_build_finish(&key, ar, &doc, NULL) == MR_OK)
        mr_json_build_name(out, mr_json_is(&doc, 0, MR_J_STRING) ? mr_json_string(&doc, 0, ar, NULL) : mr_json_raw(&doc, 0));
    else
        mr_json_build_name(out, MR_STR(""));
    mr_json_build_free(&key);
    mr_arena_destroy(ar);
}

static enum mr_status put_entry(struct reader *r, const struct mr_proto_message *entry, struct mr_str bytes)
{
    struct scan s = {0};
    const struct mr_proto_field *v = &entry->fields[1];
    enum mr_status status = scan_message(r, entry, bytes, &s);
    if (status == MR_OK) {
        put_key(r, &entry->fields[0], s.first[0] == NOWHERE ? NULL : &s.items[s.last[0]]);
        if (s.first[1] != NOWHERE)
            status = v->type == MR_P_MESSAGE ? put_merged(r, v, &s, s.first[1]) : put_one(r, v, &s.items[s.last[1]]);
        else if (v->type == MR_P_MESSAGE)
            status = put_message(r, v->message, MR_STR(""));
        else
            put_default(r, v);
    }
    scan_free(&s);
    return status;
}

static enum mr_status put_map(struct reader *r, const struct mr_proto_field *f, const struct scan *s, uint32_t at)
{
    mr_json_build_open(r->out, MR_J_OBJECT);
    for (; at != NOWHERE; at = s->items[at].next) {
        MR_TRY(put_entry(r, f->message, s->items[at].bytes));
        if (r->out->text.overflow)
            return mr_buf_check(&r->out->text, "the decoded message", r->err);
    }
    mr_json_build_close(r->out);
    return MR_OK;
}

static enum mr_status put_field(struct reader *r, const struct mr_proto_message *msg, size_t i, const struct scan *s)
{
    const struct mr_proto_field *f = &msg->fields[i];
    uint32_t at = s->first[i];
    bool is_beaten = f->oneof != 0 && s->chosen[f->oneof] != i + 1;
    if (at == NOWHERE || is_beaten) {
        put_default(r, f);
        return MR_OK;
    }
    if (f->is_map)
        return put_map(r, f, s, at);
    if (f->is_repeated)
        return put_repeated(r, f, s, at);
    if (f->type == MR_P_MESSAGE || f->type == MR_P_GROUP)
        return put_merged(r, f, s, at);
    return put_one(r, f, &s->items[s->last[i]]);
}

/* ---- Well-known types ---- */

static uint64_t number_at(const struct scan *s, size_t field)
{
    return s->first[field] == NOWHERE ? 0 : s->items[s->last[field]].number;
}

static struct mr_str bytes_at(const struct scan *s, size_t field)
{
    return s->first[field] == NOWHERE ? MR_STR("") : s->items[s->last[field]].bytes;
}

/* Seconds and nanoseconds to microseconds, floored. */
static enum mr_status put_us(struct reader *r, const struct scan *s)
{
    int64_t seconds = (int64_t)number_at(s, 0), nanos = (int32_t)(uint32_t)number_at(s, 1), us;
    if (__builtin_mul_overflow(seconds, MR_US_PER_SEC, &us) || __builtin_add_overflow(us, mr_floor_div(nanos, 1000), &us))
        return out_of_range(r, "a time beyond all bounds");
    mr_json_build_int(r->out, us);
    return MR_OK;
}

static enum mr_status put_date(struct reader *r, const struct scan *s)
{
    int64_t year = (int32_t)(uint32_t)number_at(s, 0), month = (int32_t)(uint32_t)number_at(s, 1), day = (int32_t)(uint32_t)number_at(s, 2);
    if (year < 1 || year > 9999 || month < 1 || month > 12 || day < 1 || day > 31 || !mr_civil_valid(year, (int)month, (int)day))
        return out_of_range(r, "a date that the calendar does not have");
    mr_json_build_int(r->out, mr_days_from_civil(year, (int)month, (int)day));
    return MR_OK;
}

static enum mr_status put_time_of_day(struct reader *r, const struct scan *s)
{
    int64_t part[4];
    static const int64_t most[4] = {24, 59, 60, 999999999};
    for (size_t i = 0; i < 4; i++) {
        part[i] = (int32_t)(uint32_t)number_at(s, i);
        if (part[i] < 0 || part[i] > most[i])
            return out_of_range(r, "a time that no day has");
    }
    mr_json_build_int(r->out, ((part[0] * 60 + part[1]) * 60 + part[2]) * MR_US_PER_SEC + part[3] / 1000);
    return MR_OK;
}

static enum mr_status put_decimal(struct reader *r, const struct scan *s)
{
    struct mr_str digits, raw = bytes_at(s, 0);
    int32_t scale = (int32_t)(uint32_t)number_at(s, 2);
    struct mr_arena *ar = mr_arena_create(256);
    enum mr_status status = MR_OK;
    if (scale < -1000 || scale > 1000 || !mr_decimal_from_bytes(raw, scale, ar, &digits))
        status = corrupt(r, "a decimal that is none");
    else
        mr_json_build_string(r->out, digits, 0);
    mr_arena_destroy(ar);
    return status;
}

/* google.protobuf.Struct and its parts stand for plain JSON. */
static enum mr_status put_json_value(struct reader *r, const struct mr_proto_message *msg, const struct scan *s)
{
    uint32_t chosen = s->chosen[1];
    if (chosen == 0 || msg->fields[chosen - 1].type == MR_P_ENUM) {
        mr_json_build_null(r->out);
        return MR_OK;
    }
    return put_field(r, msg, chosen - 1, s);
}

static enum mr_status put_known(struct reader *r, const struct mr_proto_message *msg, const struct scan *s)
{
    switch ((enum mr_proto_known)msg->known) {
    case MR_PK_TIMESTAMP:
    case MR_PK_DURATION:
        return put_us(r, s);
    case MR_PK_DATE:
        return put_date(r, s);
    case MR_PK_TIME_OF_DAY:
        return put_time_of_day(r, s);
    case MR_PK_DECIMAL:
        return put_decimal(r, s);
    case MR_PK_VALUE:
        return put_json_value(r, msg, s);
    case MR_PK_WRAPPER:
    case MR_PK_STRUCT:
    case MR_PK_LIST:
        return put_field(r, msg, 0, s);
    case MR_PK_NONE:
        break;
    }
    mr_json_build_open(r->out, MR_J_OBJECT);
    for (size_t i = 0; i < msg->field_count; i++) {
        mr_json_build_name(r->out, msg->fields[i].name);
        MR_TRY(put_field(r, msg, i, s));
    }
    mr_json_build_close(r->out);
    return r->out->text.overflow ? mr_buf_check(&r->out->text, "the decoded message", r->err) : MR_OK;
}

static enum mr_status put_message(struct reader *r, const struct mr_proto_message *msg, struct mr_str bytes)
{
    struct scan s = {0};
    if (++r->depth > MAX_DEPTH)
        return mr_fail_data(r->err, MR_CODE_LIMIT_EXCEEDED, "the Protobuf data is nested more than %d deep", MAX_DEPTH);
    enum mr_status status = scan_message(r, msg, bytes, &s);
    if (status == MR_OK)
        status = put_known(r, msg, &s);
    scan_free(&s);
    r->depth--;
    return status;
}

enum mr_status mr_proto_read(const struct mr_proto_message *msg, struct mr_str bytes, bool allow_ill_formed,
                             struct mr_json_build *out, struct mr_error *err)
{
    struct reader r = {.out = out, .err = err, .allow_ill_formed = allow_ill_formed};
    return put_message(&r, msg, bytes);
}

/* ---- Which message ---- */

enum mr_status mr_proto_message_of(struct mr_proto *p, struct mr_str *bytes, struct mr_proto_message **out, struct mr_error *err)
{
    struct reader r = {.err = err};
    struct bytes b = {(const unsigned char *)bytes->ptr, NULL};
    if (bytes->len == 0)
        return truncated(&r);
    b.end = b.p + bytes->len;
    uint64_t v;
    MR_TRY(read_varint(&r, &b, &v));
    int64_t count = zigzag(v);
    struct mr_proto_message *at = &p->root;
    bool is_first = count == 0; /* the usual path, [0], is one byte */
    if (count < 0 || count > MAX_DEPTH)
        return corrupt(&r, "a list of message indexes that cannot be");
    for (int64_t i = 0; i < count || is_first; i++) {
        int64_t index = 0;
        if (!is_first) {
            MR_TRY(read_varint(&r, &b, &v));
            index = zigzag(v);
        }
        if (index < 0 || (uint64_t)index >= at->nested_count)
            return corrupt(&r, "the index of a message that its schema does not have");
        at = at->nested[index];
        is_first = false;
    }
    *bytes = mr_str_of((const char *)b.p, (size_t)(b.end - b.p));
    *out = at;
    return MR_OK;
}
