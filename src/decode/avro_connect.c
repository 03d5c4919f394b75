/* Avro types as Connect schemas: what Connect's converter has noted in them (`connect.name`, `connect.parameters`, `connect.type`) wins over Avro's
 * logical types, and these over the bare type. See avro.h.
 *
 * A type is made once and shared by pointer, however often it is named, so a schema never grows; one that stands below itself is a document
 * there. */
#include "avro.h"

static const struct {
    uint8_t semantic, type;
} logicals[] = {
    [MR_AL_DATE] = {MR_S_DATE, MR_T_DATE},
    [MR_AL_TIME_MS] = {MR_S_DAY_TIME_MS, MR_T_TIME},
    [MR_AL_TIME_US] = {MR_S_DAY_TIME_US, MR_T_TIME},
    [MR_AL_INSTANT_MS] = {MR_S_INSTANT_MS, MR_T_TIMESTAMPTZ},
    [MR_AL_INSTANT_US] = {MR_S_INSTANT_US, MR_T_TIMESTAMPTZ},
    [MR_AL_INSTANT_NS] = {MR_S_INSTANT_NS, MR_T_TIMESTAMPTZ},
    [MR_AL_LOCAL_MS] = {MR_S_TIMESTAMP_MS, MR_T_TIMESTAMP},
    [MR_AL_LOCAL_US] = {MR_S_TIMESTAMP_US, MR_T_TIMESTAMP},
    [MR_AL_LOCAL_NS] = {MR_S_TIMESTAMP_NS, MR_T_TIMESTAMP},
    [MR_AL_UUID] = {MR_S_UUID, MR_T_UUID},
    [MR_AL_DURATION] = {MR_S_PLAIN, MR_T_TEXT},
};

static struct mr_str property(const struct mr_avro_type *type, const char *name_z, struct mr_arena *ar)
{
    if (type->node == MR_JSON_NONE)
        return MR_STR("");
    uint32_t node = mr_json_member(type->doc, type->node, mr_str_z(name_z));
    return mr_json_is(type->doc, node, MR_J_STRING) ? mr_json_string(type->doc, node, ar, NULL) : MR_STR("");
}

static enum mr_connect_kind kind_of(const struct mr_avro_type *type, struct mr_arena *ar)
{
    struct mr_str narrow;
    switch ((enum mr_avro_kind)type->kind) {
    case MR_A_BOOLEAN:
        return MR_C_BOOLEAN;
    case MR_A_INT:
        narrow = property(type, "connect.type", ar);
        return mr_str_eq(narrow, MR_STR("int8"))    ? MR_C_INT8
               : mr_str_eq(narrow, MR_STR("int16")) ? MR_C_INT16
                                                    : MR_C_INT32;
    case MR_A_LONG:
        return MR_C_INT64;
    case MR_A_FLOAT:
        return MR_C_FLOAT32;
    case MR_A_DOUBLE:
        return MR_C_FLOAT64;
    case MR_A_BYTES:
    case MR_A_FIXED:
        return MR_C_BYTES;
    case MR_A_STRING:
    case MR_A_ENUM:
        return MR_C_STRING;
    case MR_A_RECORD:
        return type->is_anything ? MR_C_ANY : MR_C_STRUCT;
    case MR_A_ARRAY:
        return type->is_entries ? MR_C_MAP : MR_C_ARRAY;
    case MR_A_MAP:
        return MR_C_MAP;
    case MR_A_NULL:
    case MR_A_UNION:
        break;
    }
    return MR_C_ANY;
}

/* Connect writes precision 64 where it knows none. */
static int32_t known_precision(const struct mr_avro_type *type)
{
    return type->precision == 64 ? 0 : type->precision;
}

static void apply_logical(const struct mr_avro_type *type, struct mr_connect_schema *out)
{
    enum mr_avro_logical logical = (enum mr_avro_logical)type->logical;
    if (out->semantic == MR_S_DECIMAL && logical == MR_AL_DECIMAL) {
        out->scale = out->scale == INT32_MIN ? type->scale : out->scale;
        if (out->type.open)
            out->type = mr_connect_decimal_type(known_precision(type), out->scale);
    }
    if (logical == MR_AL_NONE || out->semantic != MR_S_PLAIN || out->name.len != 0)
        return;
    if (logical == MR_AL_DECIMAL) {
        out->semantic = MR_S_DECIMAL;
        out->scale = type->scale;
        out->type = mr_connect_decimal_type(known_precision(type), type->scale);
    } else if (logical == MR_AL_BIG_DECIMAL) {
        out->kind = MR_C_STRING;
        out->semantic = MR_S_DECIMAL_TEXT;
        out->type = MR_TYPE_DECIMAL_OPEN;
    } else {
        out->semantic = logicals[logical].semantic;
        out->type = MR_TYPE(logicals[logical].type);
        if (logical == MR_AL_UUID || logical == MR_AL_DURATION)
            out->kind = MR_C_STRING;
    }
    out->renders = logical != MR_AL_UUID && logical != MR_AL_DURATION;
}

static struct mr_connect_schema *document(struct mr_arena *ar)
{
    struct mr_connect_schema *out = mr_connect_make(MR_C_ANY, MR_STR(""), NULL, MR_JSON_NONE, ar);
    out->semantic = MR_S_DOCUMENT;
    out->type = MR_TYPE(MR_T_JSON);
    return out;
}

static const struct mr_connect_schema *make(const struct mr_avro_type *type, struct mr_arena *ar);

static void make_fields(const struct mr_avro_type *type, struct mr_arena *ar, struct mr_connect_schema *out);

/* A type's own schema; `parameters` are its own or, for a type named a second time, its field's. */
static struct mr_connect_schema *make_own(const struct mr_avro_type *type, const struct mr_json_doc *doc,
                                          uint32_t parameters, struct mr_arena *ar)
{
    struct mr_str name = property(type, "connect.name", ar);
    if (name.len == 0 && type->kind == MR_A_RECORD)
        name = type->name;
    struct mr_connect_schema *out = mr_connect_make(kind_of(type, ar), name, doc, parameters, ar);
    if (type->kind != MR_A_RECORD)
        apply_logical(type, out);
    if (type->kind == MR_A_RECORD && !type->is_anything)
        make_fields(type, ar, out);
    if (type->is_entries)
        out->items = make(type->items->fields[1].type, ar);
    else if (type->kind == MR_A_ARRAY || type->kind == MR_A_MAP)
        out->items = make(type->items, ar);
    if (out->items != NULL)
        out->renders = out->items->renders;
    return out;
}

static struct mr_connect_schema *make_union(const struct mr_avro_type *type, struct mr_arena *ar)
{
    struct mr_connect_schema *out;
    switch ((enum mr_avro_union)type->union_kind) {
    case MR_AU_SIMPLE:
        out = mr_arena_alloc(ar, sizeof(*out));
        *out = type->items == NULL ? *document(ar) : *make(type->items, ar);
        return out;
    case MR_AU_INTEGER:
        return mr_connect_make(MR_C_INT64, MR_STR(""), NULL, MR_JSON_NONE, ar);
    case MR_AU_NUMBER:
        return mr_connect_make(MR_C_FLOAT64, MR_STR(""), NULL, MR_JSON_NONE, ar);
    case MR_AU_TEXT:
        out = mr_connect_make(MR_C_STRING, MR_STR(""), NULL, MR_JSON_NONE, ar);
        out->semantic = MR_S_ANY_TEXT;
        return out;
    case MR_AU_JSON:
        break;
    }
    return document(ar);
}

static const struct mr_connect_schema *make(const struct mr_avro_type *shared, struct mr_arena *ar)
{
    struct mr_avro_type *type =
        (struct mr_avro_type *)shared; /* the schema's owner asks; what is made is kept in it */
    if (type->connect != NULL)
        return type->connect;
    if (type->is_compiling)
        return document(ar);
    type->is_compiling = true;
    uint32_t parameters = MR_JSON_NONE;
    if (type->node != MR_JSON_NONE)
        parameters = MR_JSON_MEMBER(type->doc, type->node, "connect.parameters");
    bool is_union = type->kind == MR_A_UNION;
    struct mr_connect_schema *out =
        is_union ? make_union(type, ar) : make_own(type, type->doc, parameters, ar);
    out->type.origin = out->type.kind != MR_T_NONE ? MR_SCHEMA : MR_OBSERVED;
    out->type.not_null =
        out->type.kind != MR_T_NONE && type->kind != MR_A_NULL && !(is_union && type->is_nullable);
    type->is_compiling = false;
    type->connect = out;
    return out;
}

/* Parameters on the field speak for its column, where the type has been defined for another one. */
static const struct mr_connect_schema *field_schema(const struct mr_avro_field *f, struct mr_arena *ar)
{
    const struct mr_avro_type *type = f->type;
    bool is_nullable = false;
    if (f->parameters == MR_JSON_NONE)
        return make(type, ar);
    if (type->kind == MR_A_UNION && type->union_kind == MR_AU_SIMPLE && type->items != NULL) {
        is_nullable = type->is_nullable;
        type = type->items;
    }
    if (type->kind == MR_A_UNION || type->kind == MR_A_RECORD || type->kind == MR_A_ARRAY ||
        type->kind == MR_A_MAP)
        return make(f->type, ar);
    struct mr_connect_schema *out = make_own(type, f->doc, f->parameters, ar);
    out->type.origin = MR_SCHEMA;
    out->type.not_null = !is_nullable;
    return out;
}

static void make_fields(const struct mr_avro_type *type, struct mr_arena *ar, struct mr_connect_schema *out)
{
    struct mr_connect_field *fields = mr_arena_zalloc(ar, (type->count + 1) * sizeof(*fields));
    for (uint32_t i = 0; i < type->count; i++) {
        fields[i].name = type->fields[i].name;
        fields[i].schema = field_schema(&type->fields[i], ar);
        out->renders = out->renders || fields[i].schema->renders;
    }
    mr_connect_set_fields(out, fields, type->count, ar);
}

const struct mr_connect_schema *mr_avro_connect(struct mr_avro_schema *schema)
{
    return make(schema->root, schema->ar);
}
