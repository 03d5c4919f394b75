/* Protobuf data by its message. See proto.h. A first pass over the bytes notes where each field occurs; then the fields are written in the schema's
 * order, as repeated fields may be scattered, the last of a single one counts, and an absent one has its default or is null. */
#include <stdio.h>

#include <millrace/base/decimal.h>
#include <millrace/base/time.h>
#include <millrace/base/utf8.h>

#include "proto_wire.h"

#define MAX_DEPTH MR_PROTO_DEPTH

/* ---- Scalars ---- */

static void put_enum(struct mr_proto_reader *r, const struct mr_proto_field *f, int32_t v)
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

static enum mr_status put_text(struct mr_proto_reader *r, struct mr_str s)
{
    unsigned flags = mr_utf8_check(s);
    if ((flags & (MR_TEXT_ILL_FORMED | MR_TEXT_HAS_SURROGATE)) != 0 && !r->allow_ill_formed)
        return mr_fail_data(r->err, MR_CODE_BAD_UTF8, "a text in the Protobuf data is no UTF-8");
    mr_json_build_string(r->out, s, flags);
    return MR_OK;
}

static void put_number(struct mr_proto_reader *r, const struct mr_proto_field *f, uint64_t v)
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
static void put_fallback(struct mr_proto_reader *r, const struct mr_proto_field *f)
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
            mr_json_build_string(r->out,
                                 mr_str_eq_z(f->fallback, "inf")    ? MR_STR("Infinity")
                                 : mr_str_eq_z(f->fallback, "-inf") ? MR_STR("-Infinity")
                                                                    : MR_STR("NaN"),
                                 0);
        break;
    default:
        mr_json_build_number(r->out, f->fallback);
        break;
    }
}

static void put_default(struct mr_proto_reader *r, const struct mr_proto_field *f)
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

static enum mr_status put_message(struct mr_proto_reader *r, const struct mr_proto_message *msg,
                                  struct mr_str bytes);

static enum mr_status put_one(struct mr_proto_reader *r, const struct mr_proto_field *f,
                              const struct mr_proto_occurrence *o)
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

static enum mr_status put_packed(struct mr_proto_reader *r, const struct mr_proto_field *f,
                                 struct mr_str bytes)
{
    struct mr_proto_bytes b = {(const unsigned char *)bytes.ptr,
                               (const unsigned char *)bytes.ptr + bytes.len};
    unsigned wire = mr_proto_wire_of(f);
    while (b.p < b.end) {
        uint64_t v;
        MR_TRY(wire == 0 ? mr_proto_read_varint(r, &b, &v)
                         : mr_proto_read_fixed(r, &b, wire == 1 ? 8 : 4, &v));
        put_number(r, f, v);
    }
    return MR_OK;
}

/* A message that occurs several times is merged, and merging is the same as reading the bytes of all of them in a row. */
static enum mr_status put_merged(struct mr_proto_reader *r, const struct mr_proto_field *f,
                                 const struct mr_proto_scan *s, uint32_t at)
{
    if (s->items[at].next == MR_PROTO_NOWHERE)
        return put_one(r, f, &s->items[at]);
    struct mr_buf all = MR_BUF_INIT(SIZE_MAX / 2);
    for (; at != MR_PROTO_NOWHERE; at = s->items[at].next)
        mr_buf_append_str(&all, s->items[at].bytes);
    enum mr_status status = put_message(r, f->message, mr_buf_str(&all));
    mr_buf_free(&all);
    return status;
}

static enum mr_status put_repeated(struct mr_proto_reader *r, const struct mr_proto_field *f,
                                   const struct mr_proto_scan *s, uint32_t at)
{
    mr_json_build_open(r->out, MR_J_ARRAY);
    for (; at != MR_PROTO_NOWHERE; at = s->items[at].next) {
        const struct mr_proto_occurrence *o = &s->items[at];
        bool is_packed = o->wire == 2 && mr_proto_wire_of(f) != 2;
        MR_TRY(is_packed ? put_packed(r, f, o->bytes) : put_one(r, f, o));
        if (r->out->text.overflow)
            return mr_buf_check(&r->out->text, "the decoded message", r->err);
    }
    mr_json_build_close(r->out);
    return MR_OK;
}

/* The key of a map entry as a member's name. */
static void put_key(struct mr_proto_reader *r, const struct mr_proto_field *f,
                    const struct mr_proto_occurrence *o)
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
        mr_json_build_name(out, mr_json_is(&doc, 0, MR_J_STRING) ? mr_json_string(&doc, 0, ar, NULL)
                                                                 : mr_json_raw(&doc, 0));
    else
        mr_json_build_name(out, MR_STR(""));
    mr_json_build_free(&key);
    mr_arena_destroy(ar);
}

static enum mr_status put_entry(struct mr_proto_reader *r, const struct mr_proto_message *entry,
                                struct mr_str bytes)
{
    struct mr_proto_scan s = {0};
    const struct mr_proto_field *v = &entry->fields[1];
    enum mr_status status = mr_proto_scan_message(r, entry, bytes, &s);
    if (status == MR_OK) {
        put_key(r, &entry->fields[0], s.first[0] == MR_PROTO_NOWHERE ? NULL : &s.items[s.last[0]]);
        if (s.first[1] != MR_PROTO_NOWHERE)
            status = v->type == MR_P_MESSAGE ? put_merged(r, v, &s, s.first[1])
                                             : put_one(r, v, &s.items[s.last[1]]);
        else if (v->type == MR_P_MESSAGE)
            status = put_message(r, v->message, MR_STR(""));
        else
            put_default(r, v);
    }
    mr_proto_scan_free(&s);
    return status;
}

static enum mr_status put_map(struct mr_proto_reader *r, const struct mr_proto_field *f,
                              const struct mr_proto_scan *s, uint32_t at)
{
    mr_json_build_open(r->out, MR_J_OBJECT);
    for (; at != MR_PROTO_NOWHERE; at = s->items[at].next) {
        MR_TRY(put_entry(r, f->message, s->items[at].bytes));
        if (r->out->text.overflow)
            return mr_buf_check(&r->out->text, "the decoded message", r->err);
    }
    mr_json_build_close(r->out);
    return MR_OK;
}

static enum mr_status put_field(struct mr_proto_reader *r, const struct mr_proto_message *msg, size_t i,
                                const struct mr_proto_scan *s)
{
    const struct mr_proto_field *f = &msg->fields[i];
    uint32_t at = s->first[i];
    bool is_beaten = f->oneof != 0 && s->chosen[f->oneof] != i + 1;
    if (at == MR_PROTO_NOWHERE || is_beaten) {
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

static uint64_t number_at(const struct mr_proto_scan *s, size_t field)
{
    return s->first[field] == MR_PROTO_NOWHERE ? 0 : s->items[s->last[field]].number;
}

static struct mr_str bytes_at(const struct mr_proto_scan *s, size_t field)
{
    return s->first[field] == MR_PROTO_NOWHERE ? MR_STR("") : s->items[s->last[field]].bytes;
}

/* Seconds and nanoseconds to microseconds, floored. */
static enum mr_status put_us(struct mr_proto_reader *r, const struct mr_proto_scan *s)
{
    int64_t seconds = (int64_t)number_at(s, 0), nanos = (int32_t)(uint32_t)number_at(s, 1), us;
    if (__builtin_mul_overflow(seconds, MR_US_PER_SEC, &us) ||
        __builtin_add_overflow(us, mr_floor_div(nanos, 1000), &us))
        return mr_proto_out_of_range(r, "a time beyond all bounds");
    mr_json_build_int(r->out, us);
    return MR_OK;
}

static enum mr_status put_date(struct mr_proto_reader *r, const struct mr_proto_scan *s)
{
    int64_t year = (int32_t)(uint32_t)number_at(s, 0), month = (int32_t)(uint32_t)number_at(s, 1),
            day = (int32_t)(uint32_t)number_at(s, 2);
    if (year < 1 || year > 9999 || month < 1 || month > 12 || day < 1 || day > 31 ||
        !mr_civil_valid(year, (int)month, (int)day))
        return mr_proto_out_of_range(r, "a date that the calendar does not have");
    mr_json_build_int(r->out, mr_days_from_civil(year, (int)month, (int)day));
    return MR_OK;
}

static enum mr_status put_time_of_day(struct mr_proto_reader *r, const struct mr_proto_scan *s)
{
    int64_t part[4];
    static const int64_t most[4] = {24, 59, 60, 999999999};
    for (size_t i = 0; i < 4; i++) {
        part[i] = (int32_t)(uint32_t)number_at(s, i);
        if (part[i] < 0 || part[i] > most[i])
            return mr_proto_out_of_range(r, "a time that no day has");
    }
    mr_json_build_int(r->out, ((part[0] * 60 + part[1]) * 60 + part[2]) * MR_US_PER_SEC + part[3] / 1000);
    return MR_OK;
}

static enum mr_status put_decimal(struct mr_proto_reader *r, const struct mr_proto_scan *s)
{
    struct mr_str digits, raw = bytes_at(s, 0);
    int32_t scale = (int32_t)(uint32_t)number_at(s, 2);
    struct mr_arena *ar = mr_arena_create(256);
    enum mr_status status = MR_OK;
    if (scale < -1000 || scale > 1000 || !mr_decimal_from_bytes(raw, scale, ar, &digits))
        status = mr_proto_corrupt(r, "a decimal that is none");
    else
        mr_json_build_string(r->out, digits, 0);
    mr_arena_destroy(ar);
    return status;
}

/* google.protobuf.Struct and its parts stand for plain JSON. */
static enum mr_status put_json_value(struct mr_proto_reader *r, const struct mr_proto_message *msg,
                                     const struct mr_proto_scan *s)
{
    uint32_t chosen = s->chosen[1];
    if (chosen == 0 || msg->fields[chosen - 1].type == MR_P_ENUM) {
        mr_json_build_null(r->out);
        return MR_OK;
    }
    return put_field(r, msg, chosen - 1, s);
}

static enum mr_status put_known(struct mr_proto_reader *r, const struct mr_proto_message *msg,
                                const struct mr_proto_scan *s)
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

static enum mr_status put_message(struct mr_proto_reader *r, const struct mr_proto_message *msg,
                                  struct mr_str bytes)
{
    struct mr_proto_scan s = {0};
    if (++r->depth > MAX_DEPTH)
        return mr_fail_data(r->err, MR_CODE_LIMIT_EXCEEDED, "the Protobuf data is nested more than %d deep",
                            MAX_DEPTH);
    enum mr_status status = mr_proto_scan_message(r, msg, bytes, &s);
    if (status == MR_OK)
        status = put_known(r, msg, &s);
    mr_proto_scan_free(&s);
    r->depth--;
    return status;
}

enum mr_status mr_proto_read(const struct mr_proto_message *msg, struct mr_str bytes, bool allow_ill_formed,
                             struct mr_json_build *out, struct mr_error *err)
{
    struct mr_proto_reader r = {.out = out, .err = err, .allow_ill_formed = allow_ill_formed};
    return put_message(&r, msg, bytes);
}

/* ---- Which message ---- */

enum mr_status mr_proto_message_of(struct mr_proto *p, struct mr_str *bytes, bool is_plain,
                                   struct mr_proto_message **out, struct mr_error *err)
{
    struct mr_proto_reader r = {.err = err};
    struct mr_proto_bytes b = {(const unsigned char *)bytes->ptr, NULL};
    if (bytes->len == 0)
        return mr_proto_truncated(&r);
    b.end = b.p + bytes->len;
    uint64_t v;
    MR_TRY(mr_proto_read_varint(&r, &b, &v));
    int64_t count = is_plain ? (int64_t)v : zigzag(v);
    struct mr_proto_message *at = &p->root;
    bool is_first = count == 0; /* the usual path, [0], is one byte */
    if (count < 0 || count > MAX_DEPTH)
        return mr_proto_corrupt(&r, "a list of message indexes that cannot be");
    for (int64_t i = 0; i < count || is_first; i++) {
        int64_t index = 0;
        if (!is_first) {
            MR_TRY(mr_proto_read_varint(&r, &b, &v));
            index = is_plain ? (int64_t)v : zigzag(v);
        }
        if (index < 0 || (uint64_t)index >= at->nested_count)
            return mr_proto_corrupt(&r, "the index of a message that its schema does not have");
        at = at->nested[index];
        is_first = false;
    }
    *bytes = mr_str_of((const char *)b.p, (size_t)(b.end - b.p));
    *out = at;
    return MR_OK;
}
