/* A serialized FileDescriptorProto to messages and enums, with the wire reader that reads data. See proto.h.
 *
 * Only a descriptor that is whole is taken: with its file's name, and with a type at every field. Registries that make one of a text themselves
 * leave both out, and with them defaults and maps, so that data would be read wrongly; the text must serve there.
 *
 * Fields may stand in any order on the wire, so what decides about the others (names, syntax, options) is read first, in a pass of its own. */
#include "proto_parts.h"
#include "proto_wire.h"

#define META_FIELD 1088 /* confluent.field_meta, an extension of field options */
#define MAX_FIELD_NUMBER ((1 << 29) - 1)

/* Wire types of what is looked at. */
#define VARINT 0
#define BLOCK 2

struct describe {
    struct mr_proto *p;
    struct mr_proto_reader r;
    struct mr_str package;
    bool is_proto3, is_delimited, counts_entries;
    unsigned depth;
    struct mr_error *err;
};

static enum mr_status wrong(struct describe *ds, const char *what_z)
{
    return mr_fail_data(ds->err, MR_CODE_BAD_SCHEMA, "the Protobuf descriptor %s", what_z);
}

/* The next field of a message of the descriptor. */
static enum mr_status next(struct describe *ds, struct mr_proto_bytes *b, uint32_t *number,
                           struct mr_proto_occurrence *o)
{
    ds->r.depth = 0;
    if (mr_proto_read_field(&ds->r, b, number, o) != MR_OK)
        return wrong(ds, "is damaged");
    return MR_OK;
}

/* A name as a compiler lets through; it may become a column's. */
static bool is_identifier(struct mr_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'))
            return false;
    }
    return s.len != 0;
}

/* ---- Options ---- */

/* FeatureSet, of editions. */
static enum mr_status read_features(struct describe *ds, struct mr_str bytes, bool *is_implicit,
                                    bool *is_delimited)
{
    struct mr_proto_bytes b = mr_proto_bytes_of(bytes);
    while (b.p < b.end) {
        uint32_t number;
        struct mr_proto_occurrence o;
        MR_TRY(next(ds, &b, &number, &o));
        if (number == 1 && o.wire == VARINT)
            *is_implicit = o.number == 2;
        if (number == 5 && o.wire == VARINT)
            *is_delimited = o.number == 2;
    }
    return MR_OK;
}

/* {key = 1, value = 2} of confluent.Meta's params */
static enum mr_status read_param(struct describe *ds, struct mr_str bytes, struct mr_proto_field *f)
{
    struct mr_str key = MR_STR(""), value = MR_STR("");
    struct mr_proto_bytes b = mr_proto_bytes_of(bytes);
    while (b.p < b.end) {
        uint32_t number;
        struct mr_proto_occurrence o;
        MR_TRY(next(ds, &b, &number, &o));
        if (number == 1 && o.wire == BLOCK)
            key = o.bytes;
        if (number == 2 && o.wire == BLOCK)
            value = mr_arena_copy(ds->p->ar, o.bytes);
    }
    if (mr_str_eq_z(key, "precision"))
        f->meta_precision = value;
    else if (mr_str_eq_z(key, "scale"))
        f->meta_scale = value;
    else if (mr_str_eq_z(key, "connect.type"))
        f->meta_type = value;
    return MR_OK;
}

static enum mr_status read_field_options(struct describe *ds, struct mr_str bytes, struct mr_proto_field *f,
                                         bool *is_implicit)
{
    struct mr_proto_bytes b = mr_proto_bytes_of(bytes);
    while (b.p < b.end) {
        uint32_t number;
        struct mr_proto_occurrence o;
        MR_TRY(next(ds, &b, &number, &o));
        if (number == 21 && o.wire == BLOCK)
            MR_TRY(read_features(ds, o.bytes, is_implicit, &f->is_delimited));
        if (number != META_FIELD || o.wire != BLOCK)
            continue;
        struct mr_proto_bytes meta = mr_proto_bytes_of(o.bytes);
        while (meta.p < meta.end) {
            MR_TRY(next(ds, &meta, &number, &o));
            if (number == 2 && o.wire == BLOCK)
                MR_TRY(read_param(ds, o.bytes, f));
        }
    }
    return MR_OK;
}

/* ---- Fields ---- */

/* FieldDescriptorProto.Type */
static const uint8_t types[19] = {
    [1] = MR_P_DOUBLE,    [2] = MR_P_FLOAT,   [3] = MR_P_INT64,   [4] = MR_P_UINT64, [5] = MR_P_INT32,
    [6] = MR_P_FIXED64,   [7] = MR_P_FIXED32, [8] = MR_P_BOOL,    [9] = MR_P_STRING, [10] = MR_P_GROUP,
    [11] = MR_P_NAMED,    [12] = MR_P_BYTES,  [13] = MR_P_UINT32, [14] = MR_P_NAMED, [15] = MR_P_SFIXED32,
    [16] = MR_P_SFIXED64, [17] = MR_P_SINT32, [18] = MR_P_SINT64,
};

/* What a field's own message says, as it stands. */
struct raw_field {
    struct mr_str name, type_name, fallback, options;
    uint64_t number, label, type, oneof; /* oneof: index plus one; 0 = in none */
    bool has_fallback, is_optional;      /* of proto3, said so */
};

static enum mr_status read_raw(struct describe *ds, struct mr_str bytes, struct raw_field *raw)
{
    struct mr_proto_bytes b = mr_proto_bytes_of(bytes);
    *raw = (struct raw_field){0};
    while (b.p < b.end) {
        uint32_t number;
        struct mr_proto_occurrence o;
        MR_TRY(next(ds, &b, &number, &o));
        uint64_t *whole = number == 3   ? &raw->number
                          : number == 4 ? &raw->label
                          : number == 5 ? &raw->type
                                        : NULL;
        struct mr_str *text = number == 1   ? &raw->name
                              : number == 6 ? &raw->type_name
                              : number == 7 ? &raw->fallback
                              : number == 8 ? &raw->options
                                            : NULL;
        if (whole != NULL && o.wire == VARINT)
            *whole = o.number;
        if (text != NULL && o.wire == BLOCK)
            *text = o.bytes;
        raw->has_fallback = raw->has_fallback || (number == 7 && o.wire == BLOCK);
        if (number == 9 && o.wire == VARINT)
            raw->oneof = o.number < UINT32_MAX ? o.number + 1 : UINT32_MAX;
        if (number == 17 && o.wire == VARINT)
            raw->is_optional = o.number != 0;
    }
    return MR_OK;
}

/* Defaults of bytes are escaped as in C; the words of a text are read the same way. */
static enum mr_status read_fallback(struct describe *ds, struct mr_str text, struct mr_proto_field *f)
{
    struct mr_proto_lex lex;
    f->has_fallback = true;
    f->fallback = mr_arena_copy(ds->p->ar, text);
    if (f->type != MR_P_BYTES)
        return MR_OK;
    struct mr_str quoted = mr_arena_printf(ds->p->ar, "\"%.*s\"", MR_STR_FMT(text));
    mr_proto_lex_begin(&lex, quoted, ds->p->ar);
    if (lex.kind != MR_W_TEXT)
        return wrong(ds, "has a default that is not well escaped");
    f->fallback = lex.word;
    return MR_OK;
}

static enum mr_status read_field(struct describe *ds, struct mr_proto_message *msg, struct mr_str bytes)
{
    struct raw_field raw;
    MR_TRY(mr_proto_count(ds->p, ds->err));
    MR_TRY(read_raw(ds, bytes, &raw));
    if (!is_identifier(raw.name) || raw.number < 1 || raw.number > MAX_FIELD_NUMBER)
        return wrong(ds, "has a field without name or number");
    bool is_named = raw.type == 10 || raw.type == 11 || raw.type == 14;
    if (raw.type < 1 || raw.type > 18 || (is_named && raw.type_name.len == 0))
        return wrong(ds, "has a field without type");
    if (raw.oneof > msg->oneofs)
        return wrong(ds, "has a field in a oneof that it does not have");
    bool is_implicit = ds->is_proto3;
    struct mr_proto_field *f = mr_proto_add_field(ds->p, msg);
    f->name = mr_arena_copy(ds->p->ar, raw.name);
    f->number = (uint32_t)raw.number;
    f->type = types[raw.type];
    f->type_name = mr_arena_copy(ds->p->ar, raw.type_name);
    f->is_repeated = raw.label == 3;
    f->is_delimited = ds->is_delimited;
    f->oneof = raw.is_optional ? 0 : (uint32_t)raw.oneof;
    MR_TRY(read_field_options(ds, raw.options, f, &is_implicit));
    f->has_presence = f->is_repeated || raw.is_optional || f->oneof != 0 || raw.label == 2 || !is_implicit;
    return raw.has_fallback ? read_fallback(ds, raw.fallback, f) : MR_OK;
}

/* ---- Enums ---- */

static enum mr_status read_symbol(struct describe *ds, struct mr_proto_enum *e, struct mr_str bytes)
{
    struct mr_str name = MR_STR("");
    int32_t value = 0;
    struct mr_proto_bytes b = mr_proto_bytes_of(bytes);
    MR_TRY(mr_proto_count(ds->p, ds->err));
    while (b.p < b.end) {
        uint32_t number;
        struct mr_proto_occurrence o;
        MR_TRY(next(ds, &b, &number, &o));
        if (number == 1 && o.wire == BLOCK)
            name = o.bytes;
        if (number == 2 && o.wire == VARINT)
            value = (int32_t)(uint32_t)o.number;
    }
    if (!is_identifier(name))
        return wrong(ds, "has a symbol without name");
    mr_proto_add_symbol(ds->p, e, mr_arena_copy(ds->p->ar, name), value);
    return MR_OK;
}

/* The message's text at `wanted`, the last one. */
static enum mr_status text_at(struct describe *ds, struct mr_str bytes, uint32_t wanted, struct mr_str *out)
{
    struct mr_proto_bytes b = mr_proto_bytes_of(bytes);
    *out = MR_STR("");
    while (b.p < b.end) {
        uint32_t number;
        struct mr_proto_occurrence o;
        MR_TRY(next(ds, &b, &number, &o));
        if (number == wanted && o.wire == BLOCK)
            *out = mr_arena_copy(ds->p->ar, o.bytes);
    }
    return MR_OK;
}

static enum mr_status read_enum(struct describe *ds, struct mr_str scope, struct mr_str bytes)
{
    struct mr_str name;
    MR_TRY(mr_proto_count(ds->p, ds->err));
    MR_TRY(text_at(ds, bytes, 1, &name));
    if (!is_identifier(name))
        return wrong(ds, "has an enum without name");
    struct mr_proto_enum *e = mr_proto_add_enum(ds->p, mr_proto_full_name(ds->p, scope, name));
    struct mr_proto_bytes b = mr_proto_bytes_of(bytes);
    while (b.p < b.end) {
        uint32_t number;
        struct mr_proto_occurrence o;
        MR_TRY(next(ds, &b, &number, &o));
        if (number == 2 && o.wire == BLOCK)
            MR_TRY(read_symbol(ds, e, o.bytes));
    }
    return MR_OK;
}

/* ---- Messages ---- */

static enum mr_status is_entry(struct describe *ds, struct mr_str bytes, bool *out)
{
    struct mr_str options;
    *out = false;
    MR_TRY(text_at(ds, bytes, 7, &options));
    struct mr_proto_bytes b = mr_proto_bytes_of(options);
    while (b.p < b.end) {
        uint32_t number;
        struct mr_proto_occurrence o;
        MR_TRY(next(ds, &b, &number, &o));
        if (number == 7 && o.wire == VARINT)
            *out = o.number != 0;
    }
    return MR_OK;
}

static enum mr_status read_message(struct describe *ds, struct mr_proto_message *into, struct mr_str scope,
                                   struct mr_str bytes);

static enum mr_status read_members(struct describe *ds, struct mr_proto_message *msg, struct mr_str bytes)
{
    struct mr_proto_bytes b = mr_proto_bytes_of(bytes);
    uint32_t number;
    struct mr_proto_occurrence o;
    while (b.p < b.end) { /* how many oneofs, before the fields that are in them */
        MR_TRY(next(ds, &b, &number, &o));
        if (number == 8 && o.wire == BLOCK)
            msg->oneofs++;
    }
    b = mr_proto_bytes_of(bytes);
    while (b.p < b.end) {
        MR_TRY(next(ds, &b, &number, &o));
        if (o.wire != BLOCK)
            continue;
        if (number == 2)
            MR_TRY(read_field(ds, msg, o.bytes));
        else if (number == 3)
            MR_TRY(read_message(ds, msg, msg->name, o.bytes));
        else if (number == 4)
            MR_TRY(read_enum(ds, msg->name, o.bytes));
    }
    return MR_OK;
}

static enum mr_status read_message(struct describe *ds, struct mr_proto_message *into, struct mr_str scope,
                                   struct mr_str bytes)
{
    struct mr_str name;
    bool is_map_entry;
    if (++ds->depth > MR_PROTO_NESTING)
        return mr_fail_data(ds->err, MR_CODE_BAD_SCHEMA, "the Protobuf schema is nested more than %d deep",
                            MR_PROTO_NESTING);
    MR_TRY(mr_proto_count(ds->p, ds->err));
    MR_TRY(text_at(ds, bytes, 1, &name));
    MR_TRY(is_entry(ds, bytes, &is_map_entry));
    if (!is_identifier(name))
        return wrong(ds, "has a message without name");
    bool has_index = !is_map_entry || ds->counts_entries;
    struct mr_proto_message *msg =
        mr_proto_add_message(ds->p, has_index ? into : NULL, mr_proto_full_name(ds->p, scope, name));
    msg->is_map_entry = is_map_entry;
    MR_TRY(read_members(ds, msg, bytes));
    ds->depth--;
    return MR_OK;
}

/* ---- Files ---- */

static enum mr_status read_head(struct describe *ds, struct mr_str bytes)
{
    struct mr_str name = MR_STR(""), options = MR_STR("");
    struct mr_proto_bytes b = mr_proto_bytes_of(bytes);
    while (b.p < b.end) {
        uint32_t number;
        struct mr_proto_occurrence o;
        MR_TRY(next(ds, &b, &number, &o));
        if (o.wire != BLOCK)
            continue;
        if (number == 1)
            name = o.bytes;
        else if (number == 2)
            ds->package = mr_arena_copy(ds->p->ar, o.bytes);
        else if (number == 8)
            options = o.bytes;
        else if (number == 12)
            ds->is_proto3 = mr_str_eq_z(o.bytes, "proto3");
    }
    if (name.len == 0)
        return wrong(ds, "is not whole: it does not tell its file's name");
    b = mr_proto_bytes_of(options);
    while (b.p < b.end) {
        uint32_t number;
        struct mr_proto_occurrence o;
        MR_TRY(next(ds, &b, &number, &o));
        if (number == 50 && o.wire == BLOCK)
            MR_TRY(read_features(ds, o.bytes, &ds->is_proto3, &ds->is_delimited));
    }
    return MR_OK;
}

enum mr_status mr_proto_describe(struct mr_proto *p, struct mr_str bytes, bool counts_entries,
                                 struct mr_proto_message *into, struct mr_error *err)
{
    struct describe ds = {.p = p, .err = err, .package = MR_STR(""), .counts_entries = counts_entries};
    MR_TRY(read_head(&ds, bytes));
    struct mr_proto_bytes b = mr_proto_bytes_of(bytes);
    while (b.p < b.end) {
        uint32_t number;
        struct mr_proto_occurrence o;
        MR_TRY(next(&ds, &b, &number, &o));
        if (number == 4 && o.wire == BLOCK)
            MR_TRY(read_message(&ds, into, ds.package, o.bytes));
        else if (number == 5 && o.wire == BLOCK)
            MR_TRY(read_enum(&ds, ds.package, o.bytes));
    }
    return MR_OK;
}
