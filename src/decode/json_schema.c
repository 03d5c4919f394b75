/* JSON Schema to Connect schema. See json_schema.h. Only what says something of a value's type is read; the drafts do not differ in that. */
#include "json_schema.h"

#include <millrace/base/map.h>
#include <millrace/base/mem.h>

#define MAX_DEPTH 64
#define MAX_JSON_DEPTH 1024
#define MAX_BYTES (UINT64_C(16) << 20)
#define MAX_HOPS 64        /* of references to references */
#define MAX_SCHEMAS 100000 /* made of one text: definitions may be used again and again */

struct mr_json_schema {
    struct mr_arena *ar;
    struct mr_map *docs; /* name → struct mr_json_doc */
    size_t made;
    bool with_formats;
};

/* A node of one of the documents. */
struct place {
    const struct mr_json_doc *doc;
    uint32_t node;
};

struct mr_json_schema *mr_json_schema_create(struct mr_arena *ar)
{
    struct mr_json_schema *s = mr_xcalloc(1, sizeof(*s));
    s->ar = ar;
    s->docs = mr_map_create();
    return s;
}

void mr_json_schema_destroy(struct mr_json_schema *s)
{
    if (s == NULL)
        return;
    mr_map_destroy(s->docs, NULL);
    mr_xfree(s);
}

enum mr_status mr_json_schema_add(struct mr_json_schema *s, struct mr_str name, struct mr_str text,
                                  struct mr_error *err)
{
    struct mr_json_limits limits = {.max_depth = MAX_JSON_DEPTH, .max_bytes = MAX_BYTES};
    struct mr_json_reader *reader = mr_json_reader_create(&limits);
    struct mr_json_doc *doc = mr_arena_alloc(s->ar, sizeof(*doc));
    enum mr_status status = mr_json_parse_arena(reader, mr_arena_copy(s->ar, text), s->ar, doc, NULL);
    mr_json_reader_destroy(reader);
    if (status != MR_OK || (!mr_json_is(doc, 0, MR_J_OBJECT) && !mr_json_is(doc, 0, MR_J_TRUE)))
        return mr_fail_data(err, MR_CODE_BAD_SCHEMA, "the text of the JSON schema is no JSON object");
    mr_map_put(s->docs, name, doc);
    return MR_OK;
}

/* ---- Looking at a node ---- */

static uint32_t member(struct place at, const char *name_z)
{
    return mr_json_is(at.doc, at.node, MR_J_OBJECT) ? mr_json_member(at.doc, at.node, mr_str_z(name_z))
                                                    : MR_JSON_NONE;
}

static struct mr_str text_member(struct mr_json_schema *s, struct place at, const char *name_z)
{
    uint32_t node = member(at, name_z);
    return mr_json_is(at.doc, node, MR_J_STRING) ? mr_json_string(at.doc, node, s->ar, NULL) : MR_STR("");
}

/* One step of a JSON pointer, unescaped: ~1 is a slash, ~0 a tilde, %XX is not decoded in any name that producers write. */
static struct mr_str pointer_step(struct mr_json_schema *s, struct mr_str raw)
{
    char *out = mr_arena_alloc(s->ar, raw.len + 1);
    size_t n = 0;
    for (size_t i = 0; i < raw.len; i++) {
        char c = raw.ptr[i];
        if (c == '~' && i + 1 < raw.len)
            c = raw.ptr[++i] == '1' ? '/' : '~';
        out[n++] = c;
    }
    return mr_str_of(out, n);
}

static uint32_t step_into(const struct mr_json_doc *doc, uint32_t node, struct mr_str name)
{
    if (mr_json_is(doc, node, MR_J_OBJECT))
        return mr_json_member(doc, node, name);
    int64_t index;
    if (!mr_json_is(doc, node, MR_J_ARRAY) || !mr_parse_int64(name, &index) || index < 0 ||
        index >= doc->nodes[node].count)
        return MR_JSON_NONE;
    uint32_t e = mr_json_first(doc, node);
    while (index-- > 0)
        e = mr_json_next_in(doc, node, e);
    return e;
}

/* What a $ref points to: `#/definitions/x` in its own document, or `name#/…` in one that the registry has given with it. */
static struct place referred(struct mr_json_schema *s, struct place at, struct mr_str ref)
{
    ptrdiff_t hash = mr_str_find(ref, '#');
    struct mr_str name = hash < 0 ? ref : mr_str_of(ref.ptr, (size_t)hash);
    struct mr_str path = hash < 0 ? MR_STR("") : mr_str_of(ref.ptr + hash + 1, ref.len - (size_t)hash - 1);
    struct place to = {name.len == 0 ? at.doc : mr_map_get(s->docs, name), 0};
    if (to.doc == NULL)
        return (struct place){at.doc, MR_JSON_NONE};
    while (path.len > 1 && path.ptr[0] == '/' && to.node != MR_JSON_NONE) {
        path = mr_str_of(path.ptr + 1, path.len - 1);
        ptrdiff_t slash = mr_str_find(path, '/');
        size_t len = slash < 0 ? path.len : (size_t)slash;
        to.node = step_into(to.doc, to.node, pointer_step(s, mr_str_of(path.ptr, len)));
        path = mr_str_of(path.ptr + len, path.len - len);
    }
    return to;
}

static bool is_null_type(struct mr_json_schema *s, struct place at)
{
    return mr_str_eq(text_member(s, at, "type"), MR_STR("null"));
}

/* Of null and one schema that one; NONE if it is something else. */
static uint32_t only_choice(struct mr_json_schema *s, struct place at, const char *name_z, bool *is_nullable)
{
    uint32_t list = member(at, name_z), found = MR_JSON_NONE;
    if (!mr_json_is(at.doc, list, MR_J_ARRAY))
        return MR_JSON_NONE;
    for (uint32_t e = mr_json_first(at.doc, list); e != MR_JSON_NONE; e = mr_json_next_in(at.doc, list, e)) {
        if (is_null_type(s, (struct place){at.doc, e})) {
            *is_nullable = true;
            continue;
        }
        if (found != MR_JSON_NONE)
            return MR_JSON_NONE;
        found = e;
    }
    return found;
}

/* Through references and choices of null and one schema, to the schema that says something. */
static struct place settle(struct mr_json_schema *s, struct place at, bool *is_nullable)
{
    for (unsigned hops = 0; hops < MAX_HOPS; hops++) {
        struct mr_str ref = text_member(s, at, "$ref");
        if (ref.len != 0) {
            at = referred(s, at, ref);
            continue;
        }
        uint32_t only = only_choice(s, at, "oneOf", is_nullable);
        if (only == MR_JSON_NONE)
            only = only_choice(s, at, "anyOf", is_nullable);
        if (only == MR_JSON_NONE)
            return at;
        at.node = only;
    }
    return (struct place){at.doc, MR_JSON_NONE};
}

/* The type, of a list with null the other; "" where there are several or none. */
static struct mr_str type_of(struct mr_json_schema *s, struct place at, bool *is_nullable)
{
    uint32_t node = member(at, "type");
    if (!mr_json_is(at.doc, node, MR_J_ARRAY))
        return text_member(s, at, "type");
    struct mr_str found = MR_STR("");
    for (uint32_t e = mr_json_first(at.doc, node); e != MR_JSON_NONE; e = mr_json_next_in(at.doc, node, e)) {
        struct mr_str one =
            mr_json_is(at.doc, e, MR_J_STRING) ? mr_json_string(at.doc, e, s->ar, NULL) : MR_STR("");
        if (mr_str_eq(one, MR_STR("null")))
            *is_nullable = true;
        else if (found.len != 0)
            return MR_STR("");
        else
            found = one;
    }
    return found;
}

/* ---- Making ---- */

static struct mr_connect_schema *document(struct mr_json_schema *s)
{
    struct mr_connect_schema *out = mr_connect_make(MR_C_ANY, MR_STR(""), NULL, MR_JSON_NONE, s->ar);
    out->semantic = MR_S_DOCUMENT;
    out->type = MR_TYPE(MR_T_JSON);
    return out;
}

static struct mr_connect_schema *make(struct mr_json_schema *s, struct place at, unsigned depth);

static enum mr_connect_kind kind_of(struct mr_str type, struct mr_str connect)
{
    static const struct {
        const char *type_z, *connect_z;
        enum mr_connect_kind kind;
    } table[] = {
        {"boolean", "", MR_C_BOOLEAN},    {"integer", "int8", MR_C_INT8}, {"integer", "int16", MR_C_INT16},
        {"integer", "int32", MR_C_INT32}, {"integer", "", MR_C_INT64},    {"number", "float32", MR_C_FLOAT32},
        {"number", "bytes", MR_C_BYTES},  {"number", "", MR_C_FLOAT64},   {"string", "bytes", MR_C_BYTES},
        {"string", "", MR_C_STRING},      {"array", "map", MR_C_MAP},     {"array", "", MR_C_ARRAY},
        {"object", "map", MR_C_MAP},      {"object", "", MR_C_STRUCT},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (mr_str_eq_z(type, table[i].type_z) &&
            (*table[i].connect_z == 0 || mr_str_eq_z(connect, table[i].connect_z)))
            return table[i].kind;
    return MR_C_ANY;
}

static void add_properties(struct mr_json_schema *s, struct place at, unsigned depth,
                           struct mr_connect_field **fields, size_t *count, size_t *cap)
{
    uint32_t list = member(at, "properties");
    for (uint32_t n = mr_json_is(at.doc, list, MR_J_OBJECT) ? mr_json_first(at.doc, list) : MR_JSON_NONE;
         n != MR_JSON_NONE; n = mr_json_next_in(at.doc, list, n)) {
        if (mr_json_is_shadowed(at.doc, list, n))
            continue;
        *fields = mr_xgrow(*fields, cap, *count + 1, sizeof(**fields));
        (*fields)[*count] =
            (struct mr_connect_field){.name = mr_json_string(at.doc, n, s->ar, NULL),
                                      .schema = make(s, (struct place){at.doc, n + 1}, depth + 1)};
        (*count)++;
    }
    uint32_t all = member(at, "allOf");
    if (!mr_json_is(at.doc, all, MR_J_ARRAY) || depth > MAX_DEPTH)
        return;
    for (uint32_t e = mr_json_first(at.doc, all); e != MR_JSON_NONE && s->made < MAX_SCHEMAS;
         e = mr_json_next_in(at.doc, all, e)) {
        bool ignored;
        s->made++;
        add_properties(s, settle(s, (struct place){at.doc, e}, &ignored), depth + 1, fields, count, cap);
    }
}

static void make_fields(struct mr_json_schema *s, struct place at, unsigned depth,
                        struct mr_connect_schema *out)
{
    struct mr_connect_field *grown = NULL;
    size_t count = 0, cap = 0;
    add_properties(s, at, depth, &grown, &count, &cap);
    struct mr_connect_field *fields = mr_arena_zalloc(s->ar, (count + 1) * sizeof(*fields));
    if (count != 0)
        memcpy(fields, grown, count * sizeof(*fields));
    mr_xfree(grown);
    mr_connect_set_fields(out, fields, (uint32_t)count, s->ar);
}

static void apply_format(struct mr_json_schema *s, struct place at, struct mr_connect_schema *out)
{
    static const struct {
        const char *name_z;
        uint8_t semantic, type;
    } formats[] = {{"date-time", MR_S_ZONED_TIMESTAMP, MR_T_TIMESTAMPTZ},
                   {"date", MR_S_ISO_DATE, MR_T_DATE},
                   {"time", MR_S_ZONED_TIME, MR_T_TIME},
                   {"uuid", MR_S_UUID, MR_T_UUID}};
    struct mr_str format = text_member(s, at, "format");
    for (size_t i = 0; s->with_formats && out->semantic == MR_S_PLAIN && i < 4; i++) {
        if (!mr_str_eq_z(format, formats[i].name_z))
            continue;
        out->semantic = formats[i].semantic;
        out->type = MR_TYPE(formats[i].type);
    }
}

/* Texts by their allowed values alone. */
static bool is_text_by_values(struct place at)
{
    uint32_t list = member(at, "enum");
    if (mr_json_is(at.doc, member(at, "const"), MR_J_STRING))
        return true;
    if (!mr_json_is(at.doc, list, MR_J_ARRAY) || at.doc->nodes[list].count == 0)
        return false;
    for (uint32_t e = mr_json_first(at.doc, list); e != MR_JSON_NONE; e = mr_json_next_in(at.doc, list, e))
        if (!mr_json_is(at.doc, e, MR_J_STRING) && !mr_json_is(at.doc, e, MR_J_NULL))
            return false;
    return true;
}

static struct mr_connect_schema *make(struct mr_json_schema *s, struct place at, unsigned depth)
{
    bool is_nullable = false;
    if (depth > MAX_DEPTH || s->made++ > MAX_SCHEMAS)
        return document(s);
    at = settle(s, at, &is_nullable);
    struct mr_str type = type_of(s, at, &is_nullable);
    if (type.len == 0 && (member(at, "properties") != MR_JSON_NONE || member(at, "allOf") != MR_JSON_NONE))
        type = MR_STR("object");
    if (type.len == 0 && is_text_by_values(at))
        type = MR_STR("string");
    enum mr_connect_kind kind = kind_of(type, text_member(s, at, "connect.type"));
    bool is_free = kind == MR_C_STRUCT && member(at, "properties") == MR_JSON_NONE &&
                   member(at, "allOf") == MR_JSON_NONE;
    if (kind == MR_C_ANY || (is_free && depth != 0))
        return document(s);
    struct mr_connect_schema *out =
        mr_connect_make(kind, text_member(s, at, "title"), at.doc, member(at, "connect.parameters"), s->ar);
    if (kind == MR_C_STRUCT) {
        make_fields(s, at, depth, out);
        out->is_closed = depth == 0 && out->field_count != 0;
    } else if (kind == MR_C_STRING) {
        apply_format(s, at, out);
    } else if (kind == MR_C_BYTES && mr_str_eq(type, MR_STR("number")) && out->semantic != MR_S_DECIMAL) {
        return document(s);
    }
    out->type.origin = out->type.kind != MR_T_NONE ? MR_SCHEMA : MR_OBSERVED;
    out->type.not_null = out->type.kind != MR_T_NONE && !is_nullable;
    return out;
}

const struct mr_connect_schema *mr_json_schema_connect(struct mr_json_schema *s, bool with_formats)
{
    const struct mr_json_doc *root = mr_map_get(s->docs, MR_STR(""));
    s->made = 0;
    s->with_formats = with_formats;
    struct mr_connect_schema *out = make(s, (struct place){root, 0}, 0);
    out->type.origin = out->type.kind != MR_T_NONE ? MR_SCHEMA : MR_OBSERVED;
    return out;
}
