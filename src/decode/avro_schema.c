/* Avro schemas: from their JSON text to types. See avro.h.
 *
 * Registries sort the members of objects, so each object is read whole before names are resolved; its members may stand in any order. Names are
 * not checked for their characters: producers write dashes, and no name changes how data is read. */
#include "avro.h"

#include <millrace/base/map.h>
#include <millrace/base/mem.h>

#define MAX_TYPE_DEPTH 128
#define MAX_JSON_DEPTH 1024
#define MAX_SCHEMA_BYTES (UINT64_C(16) << 20)
#define MAX_FIXED (1 << 30)

struct parse {
    struct mr_avro_schema *schema;
    struct mr_arena *ar;
    const struct mr_json_doc *doc;
    struct mr_error *err;
    unsigned depth;
};

static const struct {
    const char *name_z;
    uint8_t kind;
} kinds[] = {
    {"null", MR_A_NULL},     {"boolean", MR_A_BOOLEAN}, {"int", MR_A_INT},     {"long", MR_A_LONG},
    {"float", MR_A_FLOAT},   {"double", MR_A_DOUBLE},   {"bytes", MR_A_BYTES}, {"string", MR_A_STRING},
    {"record", MR_A_RECORD}, {"error", MR_A_RECORD},    {"enum", MR_A_ENUM},   {"array", MR_A_ARRAY},
    {"map", MR_A_MAP},       {"fixed", MR_A_FIXED},
};

/* Which types a logical type may sit on; elsewhere it is ignored. */
static const struct {
    const char *name_z;
    uint8_t logical;
    uint8_t kind, other_kind;
    uint32_t fixed_size; /* 0 = any */
} logicals[] = {
    {"decimal", MR_AL_DECIMAL, MR_A_BYTES, MR_A_FIXED, 0},
    {"big-decimal", MR_AL_BIG_DECIMAL, MR_A_BYTES, MR_A_BYTES, 0},
    {"date", MR_AL_DATE, MR_A_INT, MR_A_INT, 0},
    {"time-millis", MR_AL_TIME_MS, MR_A_INT, MR_A_INT, 0},
    {"time-micros", MR_AL_TIME_US, MR_A_LONG, MR_A_LONG, 0},
    {"timestamp-millis", MR_AL_INSTANT_MS, MR_A_LONG, MR_A_LONG, 0},
    {"timestamp-micros", MR_AL_INSTANT_US, MR_A_LONG, MR_A_LONG, 0},
    {"timestamp-nanos", MR_AL_INSTANT_NS, MR_A_LONG, MR_A_LONG, 0},
    {"local-timestamp-millis", MR_AL_LOCAL_MS, MR_A_LONG, MR_A_LONG, 0},
    {"local-timestamp-micros", MR_AL_LOCAL_US, MR_A_LONG, MR_A_LONG, 0},
    {"local-timestamp-nanos", MR_AL_LOCAL_NS, MR_A_LONG, MR_A_LONG, 0},
    {"uuid", MR_AL_UUID, MR_A_STRING, MR_A_FIXED, 16},
    {"duration", MR_AL_DURATION, MR_A_FIXED, MR_A_FIXED, 12},
};

static struct mr_str text_of(struct parse *p, uint32_t node)
{
    return mr_json_is(p->doc, node, MR_J_STRING) ? mr_json_string(p->doc, node, p->ar, NULL) : MR_STR("");
}

static struct mr_str member_text(struct parse *p, uint32_t object, const char *name_z)
{
    return text_of(p, mr_json_member(p->doc, object, mr_str_z(name_z)));
}

static struct mr_avro_type *new_type(struct parse *p, enum mr_avro_kind kind, uint32_t node)
{
    struct mr_avro_type *type = mr_arena_zalloc(p->ar, sizeof(*type));
    type->kind = (uint8_t)kind;
    type->doc = p->doc;
    type->node = node;
    p->schema->type_count++;
    return type;
}

static bool kind_of(struct mr_str name, enum mr_avro_kind *out)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (mr_str_eq_z(name, kinds[i].name_z)) {
            *out = (enum mr_avro_kind)kinds[i].kind;
            return true;
        }
    }
    return false;
}

/* ---- Names ---- */

static struct mr_str qualified(struct parse *p, struct mr_str name, struct mr_str space)
{
    if (space.len == 0 || mr_str_find(name, '.') >= 0)
        return name;
    return mr_arena_printf(p->ar, "%.*s.%.*s", MR_STR_FMT(space), MR_STR_FMT(name));
}

static struct mr_str space_of(struct mr_str full)
{
    ptrdiff_t dot = mr_str_rfind(full, '.');
    return mr_str_of(full.ptr, dot < 0 ? 0 : (size_t)dot);
}

/* A named type's full name: a name with dots wins over `namespace`, and that over what it stands in. */
static struct mr_str full_name(struct parse *p, uint32_t node, struct mr_str space)
{
    struct mr_str name = member_text(p, node, "name");
    uint32_t own = MR_JSON_MEMBER(p->doc, node, "namespace");
    if (mr_json_is(p->doc, own, MR_J_STRING))
        space = text_of(p, own);
    return qualified(p, name, space);
}

static enum mr_status resolve(struct parse *p, struct mr_str name, struct mr_str space,
                              const struct mr_avro_type **out)
{
    *out = mr_map_get(p->schema->names, qualified(p, name, space));
    if (*out == NULL)
        *out = mr_map_get(p->schema->names, name);
    if (*out == NULL)
        return mr_fail_data(p->err, MR_CODE_BAD_SCHEMA,
                            "the Avro schema names a type \"%.*s\" that it does not define",
                            MR_STR_FMT(name));
    return MR_OK;
}

/* ---- Types ---- */

static enum mr_status parse_type(struct parse *p, uint32_t node, struct mr_str space,
                                 const struct mr_avro_type **out);

static enum mr_status parse_fields(struct parse *p, struct mr_avro_type *type, struct mr_str space)
{
    uint32_t list = MR_JSON_MEMBER(p->doc, type->node, "fields");
    if (!mr_json_is(p->doc, list, MR_J_ARRAY))
        return mr_fail_data(p->err, MR_CODE_BAD_SCHEMA, "the Avro record \"%.*s\" has no fields",
                            MR_STR_FMT(type->name));
    struct mr_avro_field *fields = mr_arena_zalloc(p->ar, (p->doc->nodes[list].count + 1) * sizeof(*fields));
    uint32_t n = 0;
    for (uint32_t e = mr_json_first(p->doc, list); e != MR_JSON_NONE; e = mr_json_next_in(p->doc, list, e)) {
        uint32_t of = MR_JSON_MEMBER(p->doc, e, "type");
        if (!mr_json_is(p->doc, e, MR_J_OBJECT) || of == MR_JSON_NONE)
            return mr_fail_data(p->err, MR_CODE_BAD_SCHEMA, "a field of the Avro record \"%.*s\" has no type",
                                MR_STR_FMT(type->name));
        fields[n].name = member_text(p, e, "name");
        fields[n].doc = p->doc;
        fields[n].parameters = MR_JSON_MEMBER(p->doc, e, "connect.parameters");
        MR_TRY(parse_type(p, of, space, &fields[n].type));
        n++;
    }
    type->fields = fields;
    type->count = n;
    return MR_OK;
}

static enum mr_status parse_symbols(struct parse *p, struct mr_avro_type *type)
{
    uint32_t list = MR_JSON_MEMBER(p->doc, type->node, "symbols");
    if (!mr_json_is(p->doc, list, MR_J_ARRAY))
        return mr_fail_data(p->err, MR_CODE_BAD_SCHEMA, "the Avro enum \"%.*s\" has no symbols",
                            MR_STR_FMT(type->name));
    struct mr_str *symbols = mr_arena_alloc(p->ar, (p->doc->nodes[list].count + 1) * sizeof(*symbols));
    for (uint32_t e = mr_json_first(p->doc, list); e != MR_JSON_NONE; e = mr_json_next_in(p->doc, list, e))
        symbols[type->count++] = text_of(p, e);
    type->symbols = symbols;
    return MR_OK;
}

static enum mr_status parse_size(struct parse *p, struct mr_avro_type *type)
{
    int64_t size;
    if (!mr_json_int64(p->doc, MR_JSON_MEMBER(p->doc, type->node, "size"), &size) || size < 1 ||
        size > MAX_FIXED)
        return mr_fail_data(p->err, MR_CODE_BAD_SCHEMA, "the Avro type \"%.*s\" has no sensible size",
                            MR_STR_FMT(type->name));
    type->size = (uint32_t)size;
    return MR_OK;
}

/* Connect's records with a meaning of their own. */
static void mark_special(struct parse *p, struct mr_avro_type *type)
{
    if (type->kind == MR_A_RECORD)
        type->is_anything = mr_str_eq(type->name, MR_STR("io.confluent.connect.avro.Anything"));
    if (type->kind != MR_A_ARRAY || type->items->kind != MR_A_RECORD)
        return;
    const struct mr_avro_type *of = type->items;
    bool is_entry = mr_str_eq(of->name, MR_STR("io.confluent.connect.avro.MapEntry")) ||
                    mr_str_eq(member_text(p, of->node, "connect.internal.type"), MR_STR("MapEntry"));
    type->is_entries = is_entry && of->count == 2 && mr_str_eq(of->fields[0].name, MR_STR("key")) &&
                       mr_str_eq(of->fields[1].name, MR_STR("value"));
}

static enum mr_status parse_named(struct parse *p, struct mr_avro_type *type, struct mr_str space)
{
    type->name = full_name(p, type->node, space);
    if (type->name.len == 0)
        return mr_fail_data(p->err, MR_CODE_BAD_SCHEMA, "an Avro record, enum or fixed has no name");
    mr_map_put(p->schema->names, type->name, type);
    if (type->kind == MR_A_ENUM)
        return parse_symbols(p, type);
    if (type->kind == MR_A_FIXED)
        return parse_size(p, type);
    MR_TRY(parse_fields(p, type, space_of(type->name)));
    mark_special(p, type);
    return MR_OK;
}

static int32_t int_member(struct parse *p, uint32_t node, const char *name_z)
{
    int64_t v;
    if (!mr_json_int64(p->doc, mr_json_member(p->doc, node, mr_str_z(name_z)), &v) || v < -20000 || v > 20000)
        return 0;
    return (int32_t)v;
}

static void read_logical(struct parse *p, struct mr_avro_type *type)
{
    struct mr_str name = member_text(p, type->node, "logicalType");
    for (size_t i = 0; name.len != 0 && i < sizeof(logicals) / sizeof(logicals[0]); i++) {
        if (!mr_str_eq_z(name, logicals[i].name_z) ||
            (type->kind != logicals[i].kind && type->kind != logicals[i].other_kind))
            continue;
        if (type->kind == MR_A_FIXED && logicals[i].fixed_size != 0 && type->size != logicals[i].fixed_size)
            return;
        type->logical = logicals[i].logical;
    }
    if (type->logical != MR_AL_DECIMAL)
        return;
    type->precision = int_member(p, type->node, "precision");
    type->scale = int_member(p, type->node, "scale");
    /* The specification says to ignore such a type; Connect writes exactly that for decimals without scale, and means it. */
    bool is_odd =
        type->scale < 0 || (type->precision > 0 && type->scale > type->precision) || type->precision < 0;
    if (is_odd && !mr_str_eq(member_text(p, type->node, "connect.name"),
                             MR_STR("org.apache.kafka.connect.data.Decimal")))
        type->logical = MR_AL_NONE;
}

static enum mr_status parse_complex(struct parse *p, enum mr_avro_kind kind, uint32_t node,
                                    struct mr_str space, const struct mr_avro_type **out)
{
    struct mr_avro_type *type = new_type(p, kind, node);
    *out = type;
    if (kind == MR_A_RECORD || kind == MR_A_ENUM || kind == MR_A_FIXED)
        MR_TRY(parse_named(p, type, space));
    if (kind == MR_A_ARRAY || kind == MR_A_MAP) {
        uint32_t of = kind == MR_A_ARRAY ? MR_JSON_MEMBER(p->doc, node, "items")
                                         : MR_JSON_MEMBER(p->doc, node, "values");
        if (of == MR_JSON_NONE)
            return mr_fail_data(p->err, MR_CODE_BAD_SCHEMA, "an Avro array or map does not say of what");
        MR_TRY(parse_type(p, of, space, &type->items));
        mark_special(p, type);
    }
    read_logical(p, type);
    return MR_OK;
}

/* ---- Unions ---- */

static bool is_number(const struct mr_avro_type *type)
{
    return (type->kind == MR_A_INT || type->kind == MR_A_LONG || type->kind == MR_A_FLOAT ||
            type->kind == MR_A_DOUBLE) &&
           type->logical == MR_AL_NONE;
}

static bool is_document(const struct mr_avro_type *type)
{
    return type->kind == MR_A_RECORD || type->kind == MR_A_ARRAY || type->kind == MR_A_MAP;
}

/* What the branches have in common as one column. */
static void judge_union(struct mr_avro_type *type)
{
    uint32_t others = 0, whole = 0, numbers = 0, documents = 0;
    for (uint32_t i = 0; i < type->count; i++) {
        const struct mr_avro_type *b = type->branches[i];
        if (b->kind == MR_A_NULL) {
            type->is_nullable = true;
            continue;
        }
        type->items = b;
        others++;
        numbers += is_number(b);
        whole += is_number(b) && (b->kind == MR_A_INT || b->kind == MR_A_LONG);
        documents += is_document(b);
    }
    type->union_kind = others <= 1         ? MR_AU_SIMPLE
                       : documents != 0    ? MR_AU_JSON
                       : whole == others   ? MR_AU_INTEGER
                       : numbers == others ? MR_AU_NUMBER
                                           : MR_AU_TEXT;
}

static enum mr_status parse_union(struct parse *p, uint32_t node, struct mr_str space,
                                  const struct mr_avro_type **out)
{
    struct mr_avro_type *type = new_type(p, MR_A_UNION, MR_JSON_NONE);
    uint32_t count = p->doc->nodes[node].count, seen = 0;
    if (count == 0)
        return mr_fail_data(p->err, MR_CODE_BAD_SCHEMA, "an Avro union has no types");
    type->branches = mr_arena_alloc(p->ar, count * sizeof(*type->branches));
    for (uint32_t e = mr_json_first(p->doc, node); e != MR_JSON_NONE; e = mr_json_next_in(p->doc, node, e)) {
        const struct mr_avro_type *b;
        MR_TRY(parse_type(p, e, space, &b));
        if (b->kind == MR_A_UNION)
            return mr_fail_data(p->err, MR_CODE_BAD_SCHEMA, "an Avro union stands directly in a union");
        bool is_named = b->kind == MR_A_RECORD || b->kind == MR_A_ENUM || b->kind == MR_A_FIXED;
        if (!is_named && (seen & (1u << b->kind)) != 0)
            return mr_fail_data(p->err, MR_CODE_BAD_SCHEMA, "an Avro union has the same type twice");
        seen |= is_named ? 0 : 1u << b->kind;
        type->branches[type->count++] = b;
    }
    judge_union(type);
    *out = type;
    return MR_OK;
}

static enum mr_status parse_text(struct parse *p, uint32_t node, uint32_t at, struct mr_str space,
                                 const struct mr_avro_type **out)
{
    struct mr_str name = text_of(p, at);
    enum mr_avro_kind kind;
    if (!kind_of(name, &kind))
        return resolve(p, name, space, out);
    if (node == MR_JSON_NONE && kind >= MR_A_RECORD)
        return mr_fail_data(p->err, MR_CODE_BAD_SCHEMA,
                            "the Avro schema names the type \"%.*s\" without describing it",
                            MR_STR_FMT(name));
    return parse_complex(p, kind, node, space, out);
}

static enum mr_status parse_type(struct parse *p, uint32_t node, struct mr_str space,
                                 const struct mr_avro_type **out)
{
    *out = NULL;
    if (++p->depth > MAX_TYPE_DEPTH)
        return mr_fail_data(p->err, MR_CODE_BAD_SCHEMA, "the Avro schema is nested more than %d deep",
                            MAX_TYPE_DEPTH);
    enum mr_status status;
    uint32_t inner =
        mr_json_is(p->doc, node, MR_J_OBJECT) ? MR_JSON_MEMBER(p->doc, node, "type") : MR_JSON_NONE;
    if (mr_json_is(p->doc, node, MR_J_STRING))
        status = parse_text(p, MR_JSON_NONE, node, space, out);
    else if (mr_json_is(p->doc, node, MR_J_ARRAY))
        status = parse_union(p, node, space, out);
    else if (mr_json_is(p->doc, inner, MR_J_STRING))
        status = parse_text(p, node, inner, space, out);
    else if (mr_json_is(p->doc, inner, MR_J_OBJECT) || mr_json_is(p->doc, inner, MR_J_ARRAY))
        status = parse_type(p, inner, space, out);
    else
        status = mr_fail_data(p->err, MR_CODE_BAD_SCHEMA, "the Avro schema has something that is no type");
    p->depth--;
    return status;
}

/* ---- Sizes ---- */

/* Bytes of the shortest datum; what stands below itself counts nothing, which is never too much. */
static uint32_t measure(const struct mr_avro_type *shared, unsigned depth)
{
    struct mr_avro_type *type = (struct mr_avro_type *)shared; /* ours; nobody else has it yet */
    uint64_t size = 0, least = UINT32_MAX;
    if (type->is_sized || depth > MAX_TYPE_DEPTH * 2)
        return type->min_size;
    type->is_sized = true;
    switch ((enum mr_avro_kind)type->kind) {
    case MR_A_NULL:
        break;
    case MR_A_BOOLEAN:
    case MR_A_INT:
    case MR_A_LONG:
    case MR_A_BYTES:
    case MR_A_STRING:
    case MR_A_ENUM:
        size = 1;
        break;
    case MR_A_ARRAY:
    case MR_A_MAP:
        measure(type->items, depth + 1);
        size = 1;
        break;
    case MR_A_FLOAT:
        size = 4;
        break;
    case MR_A_DOUBLE:
        size = 8;
        break;
    case MR_A_FIXED:
        size = type->size;
        break;
    case MR_A_RECORD:
        for (uint32_t i = 0; i < type->count; i++)
            size += measure(type->fields[i].type, depth + 1);
        break;
    case MR_A_UNION:
        for (uint32_t i = 0; i < type->count; i++) {
            uint32_t of = measure(type->branches[i], depth + 1);
            least = of < least ? of : least;
        }
        size = 1 + least;
        break;
    }
    type->min_size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
    return type->min_size;
}

struct mr_avro_schema *mr_avro_schema_create(void)
{
    struct mr_avro_schema *schema = mr_xcalloc(1, sizeof(*schema));
    schema->ar = mr_arena_create(4096);
    schema->names = mr_map_create();
    return schema;
}

void mr_avro_schema_destroy(struct mr_avro_schema *schema)
{
    if (schema == NULL)
        return;
    mr_map_destroy(schema->names, NULL);
    mr_arena_destroy(schema->ar);
    mr_xfree(schema);
}

enum mr_status mr_avro_schema_parse(struct mr_avro_schema *schema, struct mr_str text, struct mr_error *err)
{
    struct mr_json_limits limits = {.max_depth = MAX_JSON_DEPTH, .max_bytes = MAX_SCHEMA_BYTES};
    struct mr_json_reader *reader = mr_json_reader_create(&limits);
    struct mr_json_doc *doc = mr_arena_alloc(schema->ar, sizeof(*doc));
    enum mr_status status =
        mr_json_parse_arena(reader, mr_arena_copy(schema->ar, text), schema->ar, doc, NULL);
    mr_json_reader_destroy(reader);
    if (status != MR_OK)
        return mr_fail_data(err, MR_CODE_BAD_SCHEMA, "the text of the Avro schema is no JSON");
    struct parse p = {.schema = schema, .ar = schema->ar, .doc = doc, .err = err};
    const struct mr_avro_type *root;
    MR_TRY(parse_type(&p, 0, MR_STR(""), &root));
    measure(root, 0);
    schema->root = root;
    return MR_OK;
}
