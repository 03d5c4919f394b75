/* Names in a Protobuf schema to the types they mean, and the well-known types. See proto.h. */
#include "proto_parts.h"

#include <stdlib.h>

/* The well-known types, as far as they are needed to read them: field numbers are Google's. */
const char mr_proto_well_known_z[] =
    "syntax = \"proto3\"; package google.protobuf;"
    "message Timestamp { int64 seconds = 1; int32 nanos = 2; }"
    "message Duration { int64 seconds = 1; int32 nanos = 2; }"
    "message DoubleValue { double value = 1; } message FloatValue { float value = 1; }"
    "message Int64Value { int64 value = 1; } message UInt64Value { uint64 value = 1; }"
    "message Int32Value { int32 value = 1; } message UInt32Value { uint32 value = 1; }"
    "message BoolValue { bool value = 1; } message StringValue { string value = 1; } message BytesValue { "
    "bytes value = 1; }"
    "message Any { string type_url = 1; bytes value = 2; } message Empty {} message FieldMask { repeated "
    "string paths = 1; }"
    "enum NullValue { NULL_VALUE = 0; } message Struct { map<string, Value> fields = 1; }"
    "message Value { oneof kind { NullValue null_value = 1; double number_value = 2; string string_value = "
    "3; bool bool_value = 4;"
    " Struct struct_value = 5; ListValue list_value = 6; } } message ListValue { repeated Value values = 1; "
    "}";
const char mr_proto_well_known_type_z[] =
    "syntax = \"proto3\"; package google.type;"
    "message Date { int32 year = 1; int32 month = 2; int32 day = 3; }"
    "message TimeOfDay { int32 hours = 1; int32 minutes = 2; int32 seconds = 3; int32 nanos = 4; }"
    "message Money { string currency_code = 1; int64 units = 2; int32 nanos = 3; }"
    "message LatLng { double latitude = 1; double longitude = 2; } message Decimal { string value = 1; }"
    "enum DayOfWeek { DAY_OF_WEEK_UNSPECIFIED = 0; MONDAY = 1; TUESDAY = 2; WEDNESDAY = 3; THURSDAY = 4; "
    "FRIDAY = 5; SATURDAY = 6;"
    " SUNDAY = 7; }";
const char mr_proto_confluent_z[] = "syntax = \"proto3\"; package confluent.type; message Decimal { bytes "
                                    "value = 1; uint32 precision = 2; int32 scale = 3; }";

static const struct {
    const char *name_z;
    enum mr_proto_known known;
} known[] = {
    {"google.protobuf.Timestamp", MR_PK_TIMESTAMP},
    {"google.protobuf.Duration", MR_PK_DURATION},
    {"google.protobuf.DoubleValue", MR_PK_WRAPPER},
    {"google.protobuf.FloatValue", MR_PK_WRAPPER},
    {"google.protobuf.Int64Value", MR_PK_WRAPPER},
    {"google.protobuf.UInt64Value", MR_PK_WRAPPER},
    {"google.protobuf.Int32Value", MR_PK_WRAPPER},
    {"google.protobuf.UInt32Value", MR_PK_WRAPPER},
    {"google.protobuf.BoolValue", MR_PK_WRAPPER},
    {"google.protobuf.StringValue", MR_PK_WRAPPER},
    {"google.protobuf.BytesValue", MR_PK_WRAPPER},
    {"google.protobuf.Struct", MR_PK_STRUCT},
    {"google.protobuf.Value", MR_PK_VALUE},
    {"google.protobuf.ListValue", MR_PK_LIST},
    {"google.type.Date", MR_PK_DATE},
    {"google.type.TimeOfDay", MR_PK_TIME_OF_DAY},
    {"confluent.type.Decimal", MR_PK_DECIMAL},
};

struct mr_proto *mr_proto_create(void)
{
    struct mr_proto *p = mr_xcalloc(1, sizeof(*p));
    p->ar = mr_arena_create(4096);
    p->types = mr_map_create();
    p->files = mr_map_create();
    return p;
}

void mr_proto_destroy(struct mr_proto *p)
{
    if (p == NULL)
        return;
    mr_map_destroy(p->files, NULL);
    mr_map_destroy(p->types, NULL);
    mr_arena_destroy(p->ar);
    mr_xfree(p);
}

/* Where a file's messages take their indexes; NULL: the file has been added before. */
static struct mr_proto_message *begin_file(struct mr_proto *p, struct mr_str path)
{
    if (path.len == 0)
        return &p->root;
    if (mr_map_get(p->files, path) != NULL)
        return NULL;
    mr_map_put(p->files, path, p);
    return mr_arena_zalloc(p->ar, sizeof(struct mr_proto_message));
}

enum mr_status mr_proto_add(struct mr_proto *p, struct mr_str path, struct mr_str text, struct mr_error *err)
{
    struct mr_proto_message *into = begin_file(p, path);
    return into == NULL ? MR_OK : mr_proto_parse(p, text, into, err);
}

enum mr_status mr_proto_add_descriptor(struct mr_proto *p, struct mr_str path, struct mr_str bytes,
                                       bool counts_entries, struct mr_error *err)
{
    struct mr_proto_message *into = begin_file(p, path);
    return into == NULL ? MR_OK : mr_proto_describe(p, bytes, counts_entries, into, err);
}

/* ---- Linking ---- */

/* A name in a scope: as it stands below each enclosing scope, the innermost first; with a leading dot it is whole. */
static const struct mr_proto_named *find(struct mr_proto *p, struct mr_str scope, struct mr_str name)
{
    if (name.len > 1 && name.ptr[0] == '.')
        return mr_map_get(p->types, mr_str_of(name.ptr + 1, name.len - 1));
    for (;;) {
        struct mr_buf full = MR_BUF_INIT(1u << 20);
        mr_buf_append_str(&full, scope);
        if (scope.len != 0)
            mr_buf_append_char(&full, '.');
        mr_buf_append_str(&full, name);
        const struct mr_proto_named *found = mr_map_get(p->types, mr_buf_str(&full));
        mr_buf_free(&full);
        if (found != NULL || scope.len == 0)
            return found;
        ptrdiff_t dot = mr_str_rfind(scope, '.');
        scope.len = dot < 0 ? 0 : (size_t)dot;
    }
}

static bool is_named_float(struct mr_str s)
{
    return mr_str_eq_z(s, "inf") || mr_str_eq_z(s, "-inf") || mr_str_eq_z(s, "nan") || mr_str_eq_z(s, "-nan");
}

/* Digits in the base that C would read them in. */
static bool read_whole(struct mr_str s, uint64_t *out)
{
    bool is_hex = s.len > 2 && s.ptr[0] == '0' && (s.ptr[1] | 32) == 'x';
    unsigned base = is_hex ? 16 : s.len > 1 && s.ptr[0] == '0' ? 8 : 10;
    *out = 0;
    for (size_t i = is_hex ? 2 : 0; i < s.len; i++) {
        char c = s.ptr[i];
        unsigned v = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                     : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                     : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                            : 99;
        if (v >= base || *out > (UINT64_MAX - v) / base)
            return false;
        *out = *out * base + v;
    }
    return s.len != 0;
}

/* A whole number from -`least` to `most`; in the decimal form afterwards. */
static bool is_whole(struct mr_proto *p, struct mr_proto_field *f, uint64_t least, uint64_t most)
{
    struct mr_str s = f->fallback;
    bool is_negative = s.len > 1 && s.ptr[0] == '-';
    uint64_t v;
    if (!read_whole(is_negative ? mr_str_of(s.ptr + 1, s.len - 1) : s, &v) ||
        v > (is_negative ? least : most))
        return false;
    f->fallback = mr_arena_printf(p->ar, "%s%llu", is_negative && v != 0 ? "-" : "", (unsigned long long)v);
    return true;
}

/* Can the field have the default that its schema spells? */
static bool is_fallback(struct mr_proto *p, struct mr_proto_field *f)
{
    double d;
    switch ((enum mr_proto_type)f->type) {
    case MR_P_BOOL:
        return mr_str_eq_z(f->fallback, "true") || mr_str_eq_z(f->fallback, "false");
    case MR_P_DOUBLE:
    case MR_P_FLOAT:
        return is_named_float(f->fallback) || mr_parse_double(f->fallback, &d);
    case MR_P_INT32:
    case MR_P_SINT32:
    case MR_P_SFIXED32:
        return is_whole(p, f, UINT64_C(1) << 31, INT32_MAX);
    case MR_P_INT64:
    case MR_P_SINT64:
    case MR_P_SFIXED64:
        return is_whole(p, f, UINT64_C(1) << 63, INT64_MAX);
    case MR_P_UINT32:
    case MR_P_FIXED32:
        return is_whole(p, f, 0, UINT32_MAX);
    case MR_P_UINT64:
    case MR_P_FIXED64:
        return is_whole(p, f, 0, UINT64_MAX);
    case MR_P_STRING:
    case MR_P_BYTES:
    case MR_P_NAMED: /* an enum's symbol */
    case MR_P_ENUM:
        return true;
    case MR_P_MESSAGE:
    case MR_P_GROUP:
        break;
    }
    return false;
}

static enum mr_status link_fields(struct mr_proto *p, struct mr_proto_message *msg, struct mr_error *err)
{
    for (size_t i = 0; i < msg->field_count; i++) {
        struct mr_proto_field *f = &msg->fields[i];
        if (f->is_map && f->message->is_map_entry)
            MR_TRY(link_fields(p, (struct mr_proto_message *)f->message, err));
        if (f->has_fallback && !is_fallback(p, f))
            return mr_fail_data(err, MR_CODE_BAD_SCHEMA,
                                "the Protobuf schema gives the field \"%.*s\" a default that it cannot have",
                                MR_STR_FMT(f->name));
        bool is_open_group = f->type == MR_P_GROUP && f->message == NULL; /* of a descriptor: by name */
        if (f->type != MR_P_NAMED && !is_open_group)
            continue;
        const struct mr_proto_named *to = find(p, msg->name, f->type_name);
        if (to == NULL)
            return mr_fail_data(err, MR_CODE_BAD_SCHEMA,
                                "the Protobuf schema names a type \"%.*s\" that it does not define",
                                MR_STR_FMT(f->type_name));
        f->message = to->message;
        f->values = to->values;
        f->type = to->message == NULL                ? MR_P_ENUM
                  : is_open_group || f->is_delimited ? MR_P_GROUP
                                                     : MR_P_MESSAGE;
        f->has_presence = f->has_presence || to->message != NULL;
        f->has_fallback = f->has_fallback && to->message == NULL;
    }
    return MR_OK;
}

static int compare_numbers(const void *a, const void *b, void *ctx)
{
    const struct mr_proto_field *fields = ctx;
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    if (fields[i].number != fields[j].number)
        return fields[i].number < fields[j].number ? -1 : 1;
    return i < j ? -1 : i > j;
}

static void index_fields(struct mr_proto *p, struct mr_proto_message *msg)
{
    msg->by_number = mr_arena_alloc(p->ar, (msg->field_count + 1) * sizeof(*msg->by_number));
    for (size_t i = 0; i < msg->field_count; i++)
        msg->by_number[i] = (uint32_t)i;
    if (msg->field_count > 1)
        qsort_r(msg->by_number, msg->field_count, sizeof(*msg->by_number), compare_numbers, msg->fields);
}

/* `counts` → `CountsEntry`: what the compiler would call the entries of that map. */
static bool is_entry_name(struct mr_str field, struct mr_str entry)
{
    size_t n = 0;
    bool up = true;
    for (size_t i = 0; i < field.len; i++) {
        char c = field.ptr[i];
        if (c == '_') {
            up = true;
            continue;
        }
        if (up && c >= 'a' && c <= 'z')
            c = (char)(c - 'a' + 'A');
        up = false;
        if (n >= entry.len || entry.ptr[n++] != c)
            return false;
    }
    return mr_str_eq(mr_str_of(entry.ptr + n, entry.len - n), MR_STR("Entry"));
}

/* A registry that was given a descriptor prints a map as what it is on the wire: repeated messages with a key and a value. */
static void find_maps(struct mr_proto_message *msg)
{
    for (size_t i = 0; i < msg->field_count; i++) {
        struct mr_proto_field *f = &msg->fields[i];
        const struct mr_proto_message *e = f->message;
        if (f->is_map || !f->is_repeated || f->type != MR_P_MESSAGE || e->field_count != 2)
            continue;
        bool is_nested = e->name.len > msg->name.len + 1 && mr_str_starts(e->name, msg->name) &&
                         e->name.ptr[msg->name.len] == '.';
        if (!is_nested)
            continue;
        struct mr_str own = mr_str_of(e->name.ptr + msg->name.len + 1, e->name.len - msg->name.len - 1);
        bool is_pair = e->fields[0].number == 1 && mr_str_eq(e->fields[0].name, MR_STR("key")) &&
                       !e->fields[0].is_repeated && e->fields[1].number == 2 &&
                       mr_str_eq(e->fields[1].name, MR_STR("value")) && !e->fields[1].is_repeated;
        f->is_map = is_pair && (e->is_map_entry || is_entry_name(f->name, own));
    }
}

enum mr_status mr_proto_link(struct mr_proto *p, struct mr_error *err)
{
    static const char *const well_known[] = {mr_proto_well_known_z, mr_proto_well_known_type_z,
                                             mr_proto_confluent_z};
    for (size_t i = 0; i < 3; i++) {
        struct mr_proto_message *into = mr_arena_zalloc(p->ar, sizeof(*into));
        MR_TRY(mr_proto_parse(p, mr_str_z(well_known[i]), into, err));
    }
    for (size_t i = 0; i < mr_map_count(p->types); i++) {
        struct mr_proto_named *named = mr_map_at(p->types, i, NULL);
        if (named->message != NULL)
            MR_TRY(link_fields(p, named->message, err));
    }
    for (size_t i = 0; i < mr_map_count(p->types); i++) {
        struct mr_proto_named *named = mr_map_at(p->types, i, NULL);
        if (named->message == NULL)
            continue;
        find_maps(named->message);
        index_fields(p, named->message);
        for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++)
            if (mr_str_eq_z(named->message->name, known[k].name_z))
                named->message->known = (uint8_t)known[k].known;
    }
    return MR_OK;
}
