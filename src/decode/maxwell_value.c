/* See maxwell.h. The tracker reads texts as the type that is configured for their column; here is done what it cannot know: Maxwell's sets are
 * arrays, a JSON column's scalars look like any others, instants have no zone, BINARY(n) lacks its trailing zero bytes. */
#include "maxwell.h"

#include <millrace/base/encode.h>
#include <millrace/base/map.h>
#include <millrace/base/mem.h>

#include "flatten.h"
#include "maxwell_types.h"
#include "mysql_value.h"

#define MAX_KNOWN 20000 /* columns */

struct known {
    struct mr_type type;
    uint32_t fixed_bytes;
};

struct mr_maxwell_types {
    const struct mr_config *cfg;
    struct mr_mysql_reader rd;
    struct mr_map *known;  /* database, table, path → struct known */
    struct mr_arena *ar;
    struct mr_buf scratch;
    struct mr_maxwell_defs *defs; /* NULL = none */
};

enum mr_status mr_maxwell_types_create(const struct mr_config *cfg, struct mr_maxwell_types **out, struct mr_error *err)
{
    struct mr_maxwell_types *types = mr_xcalloc(1, sizeof(*types));
    types->cfg = cfg;
    types->known = mr_map_create();
    types->ar = mr_arena_create(0);
    types->scratch = MR_BUF_INIT(1u << 20);
    enum mr_status status = mr_mysql_reader_init(&types->rd, cfg, err);
    if (status != MR_OK) {
        mr_maxwell_types_destroy(types);
        return status;
    }
    *out = types;
    return MR_OK;
}

void mr_maxwell_types_destroy(struct mr_maxwell_types *types)
{
    if (types == NULL)
        return;
    mr_buf_free(&types->scratch);
    mr_arena_destroy(types->ar);
    mr_map_destroy(types->known, NULL);
    mr_mysql_reader_free(&types->rd);
    mr_xfree(types);
}

void mr_maxwell_types_use(struct mr_maxwell_types *types, struct mr_maxwell_defs *defs)
{
    types->defs = defs;
}

/* What types.columns says of the column, remembered. */
static struct known lookup(struct mr_maxwell_types *types, const struct mr_relation *rel, struct mr_str path)
{
    struct known none = {.type = MR_TYPE(MR_T_NONE)};
    if (types->cfg->column_count == 0)
        return none;
    mr_buf_clear(&types->scratch);
    mr_buf_append_str(&types->scratch, rel->database);
    mr_buf_append_char(&types->scratch, '\0');
    mr_buf_append_str(&types->scratch, rel->table);
    mr_buf_append_char(&types->scratch, '\0');
    mr_buf_append_str(&types->scratch, path);
    struct mr_str name = mr_buf_str(&types->scratch);
    const struct known *have = mr_map_get(types->known, name);
    if (have != NULL)
        return *have;

    struct known found = none;
    enum mr_policy policy;
    mr_config_column(types->cfg, rel->database, rel->table, path, &found.type, &policy);
    if (found.type.kind == MR_T_BYTES)
        found.fixed_bytes = mr_config_fixed_bytes(types->cfg, rel->database, rel->table, path);
    if (mr_map_count(types->known) < MAX_KNOWN && !types->scratch.overflow) {
        struct known *kept = mr_arena_alloc(types->ar, sizeof(*kept));
        *kept = found;
        mr_map_put(types->known, name, kept);
    }
    return found;
}

/* A SET as text: its labels joined by commas. False if there is anything but texts in the array. */
static bool join_set(const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar, struct mr_value *out)
{
    struct mr_buf text = MR_BUF_INIT((size_t)doc->nodes[node].len + 1);
    unsigned flags = 0, one = 0;
    for (uint32_t n = mr_json_first(doc, node); n != MR_JSON_NONE; n = mr_json_next_in(doc, node, n)) {
        if (!mr_json_is(doc, n, MR_J_STRING)) {
            mr_buf_free(&text);
            return false;
        }
        if (text.len != 0)
            mr_buf_append_char(&text, ',');
        mr_buf_append_str(&text, mr_json_string(doc, n, ar, &one));
        flags |= one;
    }
    *out = mr_value_text(mr_arena_copy(ar, mr_buf_str(&text)));
    out->flags = (uint8_t)flags;
    mr_buf_free(&text);
    return true;
}

static struct mr_value json_of(const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar)
{
    unsigned flags = 0;
    struct mr_value v = mr_value_bytes(MR_V_JSON, mr_json_text(doc, node, ar, &flags));
    v.flags = (uint8_t)flags;
    return v;
}

/* Bytes of a BINARY(n) with what is missing at their end. False: no base64; the tracker says so. */
static bool padded(struct mr_str text, uint32_t length, struct mr_arena *ar, struct mr_value *out)
{
    struct mr_str raw;
    if (!mr_base64_decode(text, ar, &raw))
        return false;
    *out = mr_value_bytes(MR_V_BYTES, raw);
    if (raw.len >= length)
        return true;
    char *bytes = mr_arena_zalloc(ar, length);
    if (raw.len != 0)
        memcpy(bytes, raw.ptr, raw.len);
    *out = mr_value_bytes(MR_V_BYTES, mr_str_of(bytes, length));
    return true;
}

static bool special(struct mr_maxwell_types *types, struct known known, const struct mr_json_doc *doc, uint32_t node,
                    struct mr_arena *ar, struct mr_value *out)
{
    enum mr_type_kind kind = (enum mr_type_kind)known.type.kind;
    if (kind == MR_T_JSON) {
        *out = json_of(doc, node, ar);
        return true;
    }
    if (kind == MR_T_TEXT && mr_json_is(doc, node, MR_J_ARRAY))
        return join_set(doc, node, ar, out);
    if (!mr_json_is(doc, node, MR_J_STRING))
        return false;
    struct mr_str text = mr_json_string(doc, node, ar, NULL);
    if (kind == MR_T_BYTES && known.fixed_bytes != 0)
        return padded(text, known.fixed_bytes, ar, out);
    if (mr_type_is_numeric(known.type) && mr_str_starts(text, MR_STR("."))) { /* Oracle prints no zero before the point */
        *out = mr_value_text(mr_arena_printf(ar, "0%.*s", MR_STR_FMT(text)));
        return true;
    }
    if (mr_type_is_numeric(known.type) && mr_str_starts(text, MR_STR("-."))) {
        *out = mr_value_text(mr_arena_printf(ar, "-0%.*s", MR_STR_FMT(mr_str_of(text.ptr + 1, text.len - 1))));
        return true;
    }
    return mr_mysql_read_temporal(&types->rd, text, kind, out);
}

/* A number or a text as the column reads it. */
static bool read_scalar(struct mr_maxwell_types *types, const struct mr_maxwell_column *c, const struct mr_json_doc *doc, uint32_t node,
                        struct mr_arena *ar, struct mr_value *out)
{
    struct mr_mysql_text in = {.is_lengthless = c->is_lengthless};
    if (mr_json_is(doc, node, MR_J_STRING))
        in.text = mr_json_string(doc, node, ar, &in.flags);
    else if (mr_json_is(doc, node, MR_J_NUMBER))
        in.text = mr_json_raw(doc, node);
    else
        return false;
    *out = mr_mysql_value(&types->rd, &c->type, &in, ar);
    return true;
}

/* As the schema changes have told the column. False: Maxwell has written something else; it is taken as it looks. */
static bool told_value(struct mr_maxwell_types *types, const struct mr_maxwell_column *c, const struct mr_json_doc *doc, uint32_t node,
                       struct mr_arena *ar, struct mr_value *out)
{
    bool is_text = mr_json_is(doc, node, MR_J_STRING);
    switch ((enum mr_mysql_kind)c->type.kind) {
    case MR_MY_JSON:
    case MR_MY_GEOMETRY: /* well-known text; as a JSON text in the column of documents that geometries have elsewhere */
        *out = json_of(doc, node, ar);
        return true;
    case MR_MY_SET:
        if (mr_json_is(doc, node, MR_J_ARRAY))
            return join_set(doc, node, ar, out);
        /* fall through */
    case MR_MY_TEXT:
    case MR_MY_ENUM:
        if (is_text)
            *out = mr_flatten_scalar(doc, node, ar);
        return is_text;
    case MR_MY_BINARY:
        return is_text && padded(mr_json_string(doc, node, ar, NULL), c->type.number_count > 0 ? c->type.numbers[0] : 0, ar, out);
    case MR_MY_BYTES:
        return is_text && padded(mr_json_string(doc, node, ar, NULL), 0, ar, out);
    case MR_MY_INTEGER:
    case MR_MY_BIT:
    case MR_MY_DECIMAL:
    case MR_MY_FLOAT:
    case MR_MY_DOUBLE:
    case MR_MY_DATE:
    case MR_MY_TIME:
    case MR_MY_DATETIME:
    case MR_MY_TIMESTAMP:
    case MR_MY_YEAR:
        return read_scalar(types, c, doc, node, ar, out);
    }
    return false;
}

void mr_maxwell_value(struct mr_maxwell_types *types, const struct mr_relation *relation, const struct mr_json_doc *doc,
                      uint32_t node, struct mr_arena *ar, struct mr_field *out)
{
    out->type = MR_TYPE(MR_T_NONE);
    out->value = mr_value_null();
    if (mr_json_is(doc, node, MR_J_NULL))
        return;
    struct known known = lookup(types, relation, out->path);
    const struct mr_maxwell_column *told = known.type.kind != MR_T_NONE || types->defs == NULL ? NULL : mr_maxwell_defs_find(types->defs, relation, out->path);
    if (told != NULL && told_value(types, told, doc, node, ar, &out->value)) {
        out->type = told->column;
        return;
    }
    if (known.type.kind == MR_T_NONE || !special(types, known, doc, node, ar, &out->value))
        out->value = mr_flatten_scalar(doc, node, ar);
    if (out->value.tag == MR_V_JSON) { /* a document in Maxwell's rows is a JSON column */
        out->type = MR_TYPE(MR_T_JSON);
        out->type.origin = MR_TYPED;
    }
}
