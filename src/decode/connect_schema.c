/* Compiling a Connect schema: from the JSON text of its description to a form that needs no names any more. See connect.h. */
#include "connect.h"

#include <stdlib.h>

/* Deeper structs than any producer writes are read as plain JSON, so that recursion stays small. */
#define MAX_DEPTH 64
/* Structs of more fields get an index by name. */
#define LINEAR_FIELDS 8

/* Which Connect types a semantic name may sit on. Others fall back to the Connect type. */
enum base {
    ON_INT = 1,
    ON_STRING = 2,
    ON_BYTES = 4,
    ON_STRUCT = 8,
    ON_ARRAY = 16,
    ON_FLOAT = 32,
};

struct semantic_name {
    const char *name;
    uint8_t base;     /* enum base bits */
    uint8_t semantic; /* enum mr_semantic */
    uint8_t type;     /* enum mr_type_kind */
};

static const struct semantic_name semantics[] = {
    {"org.apache.kafka.connect.data.Decimal", ON_BYTES, MR_S_DECIMAL, MR_T_DECIMAL},
    {"org.apache.kafka.connect.data.Date", ON_INT, MR_S_DATE, MR_T_DATE},
    {"org.apache.kafka.connect.data.Time", ON_INT, MR_S_TIME_MS, MR_T_TIME},
    {"org.apache.kafka.connect.data.Timestamp", ON_INT, MR_S_INSTANT_MS, MR_T_TIMESTAMPTZ},
    {"io.debezium.data.VariableScaleDecimal", ON_STRUCT, MR_S_VARIABLE_DECIMAL, MR_T_DECIMAL},
    {"io.debezium.data.Bits", ON_BYTES, MR_S_BITS, MR_T_BITS},
    {"io.debezium.data.Json", ON_STRING, MR_S_JSON, MR_T_JSON},
    {"io.debezium.data.Enum", ON_STRING, MR_S_ENUM, MR_T_TEXT},
    {"io.debezium.data.EnumSet", ON_STRING, MR_S_PLAIN, MR_T_TEXT},
    {"io.debezium.data.Uuid", ON_STRING, MR_S_UUID, MR_T_UUID},
    {"io.debezium.data.Xml", ON_STRING, MR_S_PLAIN, MR_T_TEXT},
    {"io.debezium.data.geometry.Point", ON_STRUCT, MR_S_GEOMETRY, MR_T_JSON},
    {"io.debezium.data.geometry.Geometry", ON_STRUCT, MR_S_GEOMETRY, MR_T_JSON},
    {"io.debezium.data.geometry.Geography", ON_STRUCT, MR_S_GEOMETRY, MR_T_JSON},
    {"io.debezium.data.FloatVector", ON_ARRAY, MR_S_DOCUMENT, MR_T_JSON},
    {"io.debezium.data.DoubleVector", ON_ARRAY, MR_S_DOCUMENT, MR_T_JSON},
    {"io.debezium.data.SparseDoubleVector", ON_STRUCT, MR_S_DOCUMENT, MR_T_JSON},
    {"io.debezium.time.Date", ON_INT, MR_S_DATE, MR_T_DATE},
    {"io.debezium.time.Time", ON_INT, MR_S_TIME_MS, MR_T_TIME},
    {"io.debezium.time.MicroTime", ON_INT, MR_S_TIME_US, MR_T_TIME},
    {"io.debezium.time.NanoTime", ON_INT, MR_S_TIME_NS, MR_T_TIME},
    {"io.debezium.time.Timestamp", ON_INT, MR_S_TIMESTAMP_MS, MR_T_TIMESTAMP},
    {"io.debezium.time.MicroTimestamp", ON_INT, MR_S_TIMESTAMP_US, MR_T_TIMESTAMP},
    {"io.debezium.time.NanoTimestamp", ON_INT, MR_S_TIMESTAMP_NS, MR_T_TIMESTAMP},
    {"io.debezium.time.ZonedTimestamp", ON_STRING, MR_S_ZONED_TIMESTAMP, MR_T_TIMESTAMPTZ},
    {"io.debezium.time.ZonedTime", ON_STRING, MR_S_ZONED_TIME, MR_T_TIME},
    {"io.debezium.time.IsoDate", ON_STRING, MR_S_ISO_DATE, MR_T_DATE},
    {"io.debezium.time.IsoTime", ON_STRING, MR_S_ISO_TIME, MR_T_TIME},
    {"io.debezium.time.IsoTimestamp", ON_STRING, MR_S_ISO_TIMESTAMP, MR_T_TIMESTAMP},
    {"io.debezium.time.StructuredDate", ON_STRUCT, MR_S_STRUCT_DATE, MR_T_DATE},
    {"io.debezium.time.StructuredTime", ON_STRUCT, MR_S_STRUCT_TIME, MR_T_TIME},
    {"io.debezium.time.StructuredDuration", ON_STRUCT, MR_S_STRUCT_DURATION, MR_T_TIME},
    {"io.debezium.time.StructuredTimestamp", ON_STRUCT, MR_S_STRUCT_TIMESTAMP, MR_T_TIMESTAMP},
    {"io.debezium.time.StructuredZonedTimestamp", ON_STRUCT, MR_S_STRUCT_ZONED_TIMESTAMP,
     MR_T_TIMESTAMPTZ},
    {"io.debezium.time.Year", ON_INT, MR_S_PLAIN, MR_T_INT32},
    {"io.debezium.time.Interval", ON_STRING, MR_S_PLAIN, MR_T_TEXT},
    {"io.debezium.time.MicroDuration", ON_INT | ON_FLOAT, MR_S_DURATION_US, MR_T_DURATION},
    {"io.debezium.time.NanoDuration", ON_INT | ON_FLOAT, MR_S_DURATION_NS, MR_T_DURATION},
};

static const struct {
    const char *name;
    uint8_t kind; /* enum mr_connect_kind */
    uint8_t base; /* enum base */
    uint8_t type; /* enum mr_type_kind */
} kinds[] = {
    {"int8", MR_C_INT8, ON_INT, MR_T_INT16}, /* no target has a type of one byte in common */
    {"int16", MR_C_INT16, ON_INT, MR_T_INT16},
    {"int32", MR_C_INT32, ON_INT, MR_T_INT32},
    {"int64", MR_C_INT64, ON_INT, MR_T_INT64},
    {"float", MR_C_FLOAT32, ON_FLOAT, MR_T_FLOAT32},
    {"float32", MR_C_FLOAT32, ON_FLOAT, MR_T_FLOAT32}, /* dtle's names */
    {"double", MR_C_FLOAT64, ON_FLOAT, MR_T_FLOAT64},
    {"float64", MR_C_FLOAT64, ON_FLOAT, MR_T_FLOAT64},
    {"boolean", MR_C_BOOLEAN, 0, MR_T_BOOL},
    {"string", MR_C_STRING, ON_STRING, MR_T_TEXT},
    {"bytes", MR_C_BYTES, ON_BYTES, MR_T_BYTES},
    {"array", MR_C_ARRAY, ON_ARRAY, MR_T_JSON},
    {"map", MR_C_MAP, 0, MR_T_JSON},
    {"struct", MR_C_STRUCT, ON_STRUCT, MR_T_NONE},
};

/* What the members of a schema say, before they are put together. */
struct description {
    struct mr_str type, name, field;
    uint32_t fields, items, parameters; /* nodes */
    bool required;                      /* "optional": false */
    /* from the parameters */
    struct mr_str scale, precision, length, allowed;
    struct mr_str source_type, source_length, source_scale;
};

static struct mr_str text_of(const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar)
{
    return mr_json_is(doc, node, MR_J_STRING) ? mr_json_string(doc, node, ar, NULL) : MR_STR("");
}

/* Parameters are texts, but some producers write numbers. */
static struct mr_str parameter_of(const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar)
{
    return mr_json_is(doc, node, MR_J_NUMBER) ? mr_json_raw(doc, node) : text_of(doc, node, ar);
}

static void read_parameters(const struct mr_json_doc *doc, struct mr_arena *ar,
                            struct description *d)
{
    if (!mr_json_is(doc, d->parameters, MR_J_OBJECT))
        return;

    const struct {
        const char *name;
        struct mr_str *to;
    } known[] = {
        {"scale", &d->scale},
        {"connect.decimal.precision", &d->precision},
        {"length", &d->length},
        {"allowed", &d->allowed},
        {"__debezium.source.column.type", &d->source_type},
        {"__debezium.source.column.length", &d->source_length},
        {"__debezium.source.column.scale", &d->source_scale},
    };
    for (uint32_t n = mr_json_first(doc, d->parameters); n != MR_JSON_NONE;
         n = mr_json_next_in(doc, d->parameters, n)) {
        struct mr_str name = mr_json_string(doc, n, ar, NULL);
        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
            if (mr_str_eq_z(name, known[i].name))
                *known[i].to = parameter_of(doc, n + 1, ar);
        }
    }
}

static void describe(const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar,
                     struct description *d)
{
    *d = (struct description){.fields = MR_JSON_NONE, .items = MR_JSON_NONE, .parameters = MR_JSON_NONE};
    for (uint32_t n = mr_json_first(doc, node); n != MR_JSON_NONE; n = mr_json_next_in(doc, node, n)) {
        struct mr_str name = mr_json_string(doc, n, ar, NULL);
        uint32_t value = n + 1;
        if (mr_str_eq_z(name, "type"))
            d->type = text_of(doc, value, ar);
        else if (mr_str_eq_z(name, "name"))
            d->name = text_of(doc, value, ar);
        else if (mr_str_eq_z(name, "field"))
            d->field = text_of(doc, value, ar);
        else if (mr_str_eq_z(name, "optional"))
            d->required = mr_json_is(doc, value, MR_J_FALSE);
        else if (mr_str_eq_z(name, "fields"))
            d->fields = value;
        else if (mr_str_eq_z(name, "items"))
            d->items = value;
        else if (mr_str_eq_z(name, "parameters"))
            d->parameters = value;
    }
    read_parameters(doc, ar, d);
}

/* decimal(p,s) where both are known and make sense, else digits open. */
static struct mr_type decimal_type(struct mr_str precision, int32_t scale)
{
    int64_t p;
    if (!mr_parse_int64(precision, &p) || p < 1 || p > 1000 || scale < 0 || scale > p)
        return MR_TYPE_DECIMAL_OPEN;
    return MR_TYPE_DECIMAL((uint16_t)p, (int16_t)scale);
}

static int32_t scale_of(struct mr_str text, int32_t otherwise)
{
    int64_t v;
    if (text.len == 0)
        return otherwise;
    return mr_parse_int64(text, &v) && v > -20000 && v < 20000 ? (int32_t)v : INT32_MIN;
}

/* The labels of an ENUM: separated by commas, with a backslash before a comma or backslash that belongs to a label. */
static void read_labels(struct mr_str allowed, struct mr_arena *ar, struct mr_connect_schema *out)
{
    size_t count = 1;
    for (size_t i = 0; i < allowed.len; i++)
        count += allowed.ptr[i] == ',';
    struct mr_str *labels = mr_arena_alloc(ar, count * sizeof(*labels));
    char *text = mr_arena_alloc(ar, allowed.len + 1);

    size_t n = 0, used = 0, start = 0;
    for (size_t i = 0; i < allowed.len; i++) {
        char c = allowed.ptr[i];
        if (c == ',') {
            labels[n++] = mr_str_of(text + start, used - start);
            start = used;
            continue;
        }
        if (c == '\\' && i + 1 < allowed.len &&
            (allowed.ptr[i + 1] == ',' || allowed.ptr[i + 1] == '\\'))
            c = allowed.ptr[++i];
        text[used++] = c;
    }
    labels[n++] = mr_str_of(text + start, used - start);
    out->labels = labels;
    out->label_count = (uint32_t)n;
}

static bool starts_nocase(struct mr_str text, const char *prefix_z)
{
    size_t len = strlen(prefix_z);
    return text.len >= len && mr_str_eq_nocase(mr_str_of(text.ptr, len), mr_str_z(prefix_z));
}

/* What the producer says of the column at the source, where that changes how the value has to be read. Binaries that were encoded as
 * text stay text: no length or alphabet tells base64 from hexadecimal for every value of a column. */
static void apply_source_type(const struct description *d, struct mr_connect_schema *out)
{
    if (out->kind == MR_C_INT64 && starts_nocase(d->source_type, "BIGINT UNSIGNED")) {
        out->semantic = MR_S_UNSIGNED64;
        out->type = MR_TYPE_DECIMAL(20, 0);
    }
    if (out->kind == MR_C_STRING && (starts_nocase(d->source_type, "DECIMAL") ||
                                     starts_nocase(d->source_type, "NUMERIC"))) {
        out->semantic = MR_S_DECIMAL_TEXT;
        out->type = decimal_type(d->source_length, scale_of(d->source_scale, 0));
    }
}

static void apply_semantic(const struct semantic_name *s, const struct description *d,
                           struct mr_arena *ar, struct mr_connect_schema *out)
{
    out->semantic = s->semantic;
    out->type = MR_TYPE(s->type);
    int64_t length;

    if (s->semantic == MR_S_DECIMAL) {
        out->scale = scale_of(d->scale, INT32_MIN);
        out->type = decimal_type(d->precision.len != 0 ? d->precision : d->source_length, out->scale);
    } else if (s->semantic == MR_S_VARIABLE_DECIMAL) {
        out->type = MR_TYPE_DECIMAL_OPEN;
    } else if (s->semantic == MR_S_BITS) {
        if (mr_parse_int64(d->length, &length) && length > 0 && length <= UINT16_MAX)
            out->length = (uint32_t)length;
        out->type = MR_TYPE_BITS((uint16_t)out->length);
    } else if (s->semantic == MR_S_ENUM) {
        read_labels(d->allowed, ar, out);
    }
}

static int by_name(const void *a, const void *b)
{
    const struct mr_connect_field *const *x = a, *const *y = b;
    return mr_str_cmp((*x)->name, (*y)->name);
}

static const struct mr_connect_field *const *sort_fields(const struct mr_connect_field *fields,
                                                         uint32_t count, struct mr_arena *ar)
{
    const struct mr_connect_field **sorted = mr_arena_alloc(ar, count * sizeof(*sorted));
    for (uint32_t i = 0; i < count; i++)
        sorted[i] = &fields[i];
    qsort(sorted, count, sizeof(*sorted), by_name);
    return sorted;
}

static const struct mr_connect_schema *compile(const struct mr_json_doc *doc, uint32_t node,
                                               struct mr_arena *ar, unsigned depth,
                                               struct mr_str *field);

static void compile_fields(const struct mr_json_doc *doc, uint32_t array, struct mr_arena *ar,
                           unsigned depth, struct mr_connect_schema *out)
{
    uint32_t count = doc->nodes[array].count, n = 0;
    struct mr_connect_field *fields = mr_arena_alloc(ar, (count + 1) * sizeof(*fields));
    for (uint32_t e = mr_json_first(doc, array); e != MR_JSON_NONE; e = mr_json_next_in(doc, array, e)) {
        struct mr_connect_field *f = &fields[n++];
        f->schema = compile(doc, e, ar, depth + 1, &f->name);
        f->is_plain = f->name.len > 0 && mr_str_find(f->name, '.') < 0 && mr_str_find(f->name, '\\') < 0;
    }
    out->fields = fields;
    out->field_count = n;
    if (n > LINEAR_FIELDS)
        out->sorted = sort_fields(fields, n, ar);
}

static const struct semantic_name *find_semantic(struct mr_str name, unsigned base)
{
    for (size_t i = 0; name.len != 0 && i < sizeof(semantics) / sizeof(semantics[0]); i++) {
        if (mr_str_eq_z(name, semantics[i].name))
            return semantics[i].base & base ? &semantics[i] : NULL;
    }
    return NULL;
}

static void apply_meaning(const struct description *d, unsigned base, struct mr_arena *ar, struct mr_connect_schema *out)
{
    const struct semantic_name *s = find_semantic(d->name, base);
    if (s != NULL)
        apply_semantic(s, d, ar, out);
    else if (out->kind == MR_C_ARRAY || out->kind == MR_C_MAP)
        out->semantic = MR_S_DOCUMENT;
    else
        apply_source_type(d, out);
}

static const struct mr_connect_schema *compile(const struct mr_json_doc *doc, uint32_t node,
                                               struct mr_arena *ar, unsigned depth,
                                               struct mr_str *field)
{
    struct mr_connect_schema *out = mr_arena_zalloc(ar, sizeof(*out));
    out->scale = INT32_MIN;
    *field = MR_STR("");
    if (depth > MAX_DEPTH || !mr_json_is(doc, node, MR_J_OBJECT))
        return out;

    struct description d;
    describe(doc, node, ar, &d);
    *field = d.field;
    out->name = d.name;

    unsigned base = 0;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (mr_str_eq_z(d.type, kinds[i].name)) {
            out->kind = kinds[i].kind;
            out->type = MR_TYPE(kinds[i].type);
            base = kinds[i].base;
        }
    }
    if (out->kind == MR_C_ANY)
        return out;

    apply_meaning(&d, base, ar, out);
    if (out->kind == MR_C_STRUCT && mr_json_is(doc, d.fields, MR_J_ARRAY))
        compile_fields(doc, d.fields, ar, depth, out);
    struct mr_str none;
    if (out->kind == MR_C_ARRAY)
        out->items = compile(doc, d.items, ar, depth + 1, &none);
    if (out->type.kind != MR_T_NONE) {
        out->type.origin = MR_SCHEMA;
        out->type.not_null = d.required;
    }
    return out;
}

const struct mr_connect_schema *mr_connect_compile(const struct mr_json_doc *doc, uint32_t node,
                                                   struct mr_arena *ar)
{
    struct mr_str field;
    return compile(doc, node, ar, 0, &field);
}

struct mr_connect_schema *mr_connect_make(enum mr_connect_kind kind, struct mr_str name, const struct mr_json_doc *doc,
                                          uint32_t parameters, struct mr_arena *ar)
{
    struct mr_connect_schema *out = mr_arena_zalloc(ar, sizeof(*out));
    struct description d = {.name = name, .parameters = parameters, .fields = MR_JSON_NONE, .items = MR_JSON_NONE};
    unsigned base = 0;
    out->scale = INT32_MIN;
    out->kind = (uint8_t)kind;
    out->name = name;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (kinds[i].kind != kind)
            continue;
        out->type = MR_TYPE(kinds[i].type);
        base = kinds[i].base;
    }
    if (kind == MR_C_ANY)
        return out;
    if (parameters != MR_JSON_NONE)
        read_parameters(doc, ar, &d);
    apply_meaning(&d, base, ar, out);
    out->type.origin = out->type.kind != MR_T_NONE ? MR_SCHEMA : MR_OBSERVED;
    return out;
}

void mr_connect_set_fields(struct mr_connect_schema *schema, struct mr_connect_field *fields, uint32_t count,
                           struct mr_arena *ar)
{
    for (uint32_t i = 0; i < count; i++)
        fields[i].is_plain = fields[i].name.len > 0 && mr_str_find(fields[i].name, '.') < 0 && mr_str_find(fields[i].name, '\\') < 0;
    schema->fields = fields;
    schema->field_count = count;
    schema->sorted = count > LINEAR_FIELDS ? sort_fields(fields, count, ar) : NULL;
}

struct mr_type mr_connect_decimal_type(int64_t precision, int32_t scale)
{
    if (precision < 1 || precision > 1000 || scale < 0 || scale > precision)
        return MR_TYPE_DECIMAL_OPEN;
    return MR_TYPE_DECIMAL((uint16_t)precision, (int16_t)scale);
}

const struct mr_connect_field *mr_connect_field(const struct mr_connect_schema *schema,
                                                struct mr_str name, uint32_t hint)
{
    if (schema == NULL)
        return NULL;
    if (hint < schema->field_count && mr_str_eq(schema->fields[hint].name, name))
        return &schema->fields[hint];

    if (schema->sorted == NULL) {
        for (uint32_t i = 0; i < schema->field_count; i++) {
            if (mr_str_eq(schema->fields[i].name, name))
                return &schema->fields[i];
        }
        return NULL;
    }
    uint32_t low = 0, high = schema->field_count;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        int c = mr_str_cmp(schema->sorted[mid]->name, name);
        if (c == 0)
            return schema->sorted[mid];
        if (c < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}
