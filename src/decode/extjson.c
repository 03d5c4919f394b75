/* Extended JSON to fields and values. Recognising is in extjson_read.c, rendering in extjson_render.c. */
#include "extjson.h"

#include <math.h>

void mr_extjson_init(struct mr_extjson *ej, const struct mr_config *cfg)
{
    /* A rendered text is at most its quotation marks around NaN longer than what it is made of, and messages end at 1 GiB. */
    *ej = (struct mr_extjson){.cfg = cfg, .scratch = MR_BUF_INIT((size_t)UINT32_MAX),
                               .name = MR_BUF_INIT((size_t)UINT32_MAX)};
}

void mr_extjson_free(struct mr_extjson *ej)
{
    mr_buf_free(&ej->scratch);
    mr_buf_free(&ej->name);
}

static struct mr_type typed(enum mr_type_kind kind)
{
    return (struct mr_type){.kind = (uint8_t)kind, .origin = MR_TYPED, .open = kind == MR_T_DECIMAL};
}

static struct mr_value invalid(struct mr_str reason, enum mr_invalid why)
{
    struct mr_value value = mr_value_bytes(MR_V_INVALID, reason);

    value.aux = (uint16_t)why;
    return value;
}

/* A double from digits that are known to be a number, or one of the words; beyond the range it is an infinity, as for the MongoDB driver. */
static struct mr_value double_value(struct mr_str text)
{
    double d;

    if (!mr_parse_double(text, &d))
        d = text.ptr[0] == '-' ? -(double)INFINITY : (double)INFINITY;
    return mr_value_float(d);
}

static struct mr_value text_value(const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar)
{
    unsigned flags;
    struct mr_value value = mr_value_text(mr_json_string(doc, node, ar, &flags));

    value.flags = (uint8_t)flags;
    return value;
}

static struct mr_value json_value(struct mr_extjson *ej, const struct mr_json_doc *doc,
                                  const struct mr_bson_value *read, struct mr_arena *ar)
{
    unsigned flags;
    struct mr_value value = mr_value_bytes(MR_V_JSON, mr_extjson_render(ej, doc, read, ar, &flags));

    value.flags = (uint8_t)flags;
    return value;
}

static struct mr_value instant_value(int64_t ms)
{
    int64_t us;

    if (__builtin_mul_overflow(ms, (int64_t)1000, &us))
        return invalid(MR_STR("a time beyond 64-bit microseconds"), MR_INVALID_RANGE);
    return mr_value_time(MR_V_TIMESTAMPTZ, us);
}

/* A value that has been read, as it goes into one field. */
static struct mr_value make_value(struct mr_extjson *ej, const struct mr_json_doc *doc,
                                  const struct mr_bson_value *read, struct mr_arena *ar, struct mr_type *type)
{
    *type = MR_TYPE(MR_T_NONE);
    switch (read->kind) {
    case MR_BSON_NULL:
    case MR_BSON_UNDEFINED:
        break;
    case MR_BSON_BOOL:
        *type = typed(MR_T_BOOL);
        return mr_value_bool(read->number != 0);
    case MR_BSON_INT:
        *type = typed(MR_T_INT64);
        return mr_value_int(read->number);
    case MR_BSON_BIG_INT: /* the digits decide */
        return mr_value_bytes(MR_V_NUMBER, mr_json_raw(doc, read->node));
    case MR_BSON_DOUBLE:
        *type = typed(MR_T_FLOAT64);
        return double_value(read->text);
    case MR_BSON_DECIMAL:
        *type = typed(MR_T_DECIMAL);
        return mr_value_bytes(MR_V_NUMBER, read->text);
    case MR_BSON_DATE:
    case MR_BSON_TIMESTAMP:
        *type = typed(MR_T_TIMESTAMPTZ);
        return instant_value(read->number);
    case MR_BSON_BINARY:
        *type = typed(MR_T_BYTES);
        return mr_value_bytes(MR_V_BYTES, read->text);
    case MR_BSON_OID:
        *type = typed(MR_T_TEXT);
        return mr_value_text(read->text);
    case MR_BSON_STRING:
        *type = typed(MR_T_TEXT);
        return text_value(doc, read->node, ar);
    case MR_BSON_REGEX:
    case MR_BSON_CODE_SCOPE:
    case MR_BSON_MIN_KEY:
    case MR_BSON_MAX_KEY:
    case MR_BSON_DOCUMENT:
    case MR_BSON_ARRAY:
        *type = typed(MR_T_JSON);
        return json_value(ej, doc, read, ar);
    case MR_BSON_BAD:
        *type = typed((enum mr_type_kind)read->type);
        return invalid(read->text, (enum mr_invalid)read->number);
    }
    return mr_value_null();
}

struct mr_value mr_extjson_scalar(struct mr_extjson *ej, const struct mr_json_doc *doc, const struct mr_bson_value *read,
                                  struct mr_arena *ar, struct mr_type *type)
{
    return make_value(ej, doc, read, ar, type);
}

static struct mr_value whole_value(struct mr_extjson *ej, const struct mr_json_doc *doc, const struct mr_bson_value *read,
                                   struct mr_arena *ar, struct mr_type *type)
{
    if (read->kind == MR_BSON_ARRAY && ej->cfg->array_encoding == MR_ARRAY_ARRAY)
        return mr_extjson_array(ej, doc, read, ar, type);
    return make_value(ej, doc, read, ar, type);
}

/* A regular expression, flattened, is a document of two texts. */
static void add_regex(const struct mr_json_doc *doc, const struct mr_bson_value *regex, struct mr_str path,
                      struct mr_arena *ar, struct mr_field_list *out)
{
    mr_field_add(out, ar, mr_flatten_path(path, MR_STR("regex"), ar), typed(MR_T_TEXT),
                 text_value(doc, regex->node, ar));
    mr_field_add(out, ar, mr_flatten_path(path, MR_STR("options"), ar), typed(MR_T_TEXT),
                 text_value(doc, regex->second, ar));
}

/* Arrays within the _id are part of the key, which is no place for rows. */
static bool is_of_id(struct mr_str path)
{
    return mr_str_eq(path, MR_STR("_id")) || mr_str_starts(path, MR_STR("_id."));
}

static bool note_array(const struct mr_json_doc *doc, uint32_t node, struct mr_str path, struct mr_field_list *out)
{
    if (out->arrays == NULL || (out->arrays->around == NULL && is_of_id(path)))
        return false;
    return mr_arrays_note(out, doc, node, path, NULL);
}

bool mr_extjson_is_nothing(const struct mr_extjson *ej, const struct mr_json_doc *doc, const struct mr_bson_value *value)
{
    return ej->cfg->field_names != MR_NAMES_NONE && value->kind == MR_BSON_ARRAY && doc->nodes[value->node].count == 0;
}

static uint32_t visit(void *ctx, const struct mr_json_doc *doc, uint32_t node, struct mr_str path,
                      struct mr_arena *ar, struct mr_field_list *out)
{
    struct mr_extjson *ej = ctx;
    struct mr_bson_value read = mr_extjson_read(doc, node, ar);

    if (read.kind == MR_BSON_UNDEFINED)
        return MR_JSON_NONE;
    if (mr_extjson_is_nothing(ej, doc, &read))
        read.kind = MR_BSON_NULL;
    if (ej->cfg->flatten_struct && read.kind == MR_BSON_DOCUMENT &&
        mr_flatten_may(out, path, doc->nodes[read.node].count))
        return read.node;
    if (ej->cfg->flatten_struct && ej->cfg->array_encoding == MR_ARRAY_DOCUMENT && read.kind == MR_BSON_ARRAY &&
        mr_flatten_may(out, path, doc->nodes[read.node].count))
        return read.node;
    if (ej->cfg->flatten_struct && read.kind == MR_BSON_REGEX) {
        add_regex(doc, &read, path, ar, out);
        return MR_JSON_NONE;
    }
    if (read.kind == MR_BSON_ARRAY && note_array(doc, read.node, path, out))
        return MR_JSON_NONE;

    struct mr_type type;
    struct mr_value value = whole_value(ej, doc, &read, ar, &type);
    mr_field_add(out, ar, path, type, value);
    return MR_JSON_NONE;
}

void mr_extjson_fields(struct mr_extjson *ej, const struct mr_json_doc *doc, uint32_t object,
                       struct mr_str parent, struct mr_arena *ar, struct mr_field_list *out)
{
    mr_flatten_walk(doc, object, parent, visit, ej, ar, out);
}

void mr_extjson_field(struct mr_extjson *ej, const struct mr_json_doc *doc, uint32_t node,
                      struct mr_str path, struct mr_arena *ar, struct mr_field_list *out)
{
    uint32_t below = visit(ej, doc, node, path, ar, out);

    if (below != MR_JSON_NONE)
        mr_flatten_walk(doc, below, path, visit, ej, ar, out);
}

/* Null, undefined and the empty document are rows without anything. */
void mr_extjson_element(void *ctx, const struct mr_json_doc *doc, uint32_t node, const void *schema, struct mr_arena *ar,
                        struct mr_field_list *list)
{
    struct mr_extjson *ej = ctx;
    struct mr_bson_value read = mr_extjson_read(doc, node, ar);
    (void)schema;

    if (read.kind == MR_BSON_NULL || read.kind == MR_BSON_UNDEFINED)
        return;
    if (read.kind == MR_BSON_DOCUMENT && mr_flatten_may(list, MR_STR(""), doc->nodes[read.node].count))
        mr_extjson_fields(ej, doc, read.node, MR_STR(""), ar, list);
    else
        mr_extjson_field(ej, doc, node, MR_STR(MR_ELEMENT_VALUE), ar, list);
}

void mr_extjson_drain(struct mr_extjson *ej, struct mr_field_list *list)
{
    if (list->arrays != NULL)
        mr_arrays_drain(list->arrays, mr_extjson_element, ej);
}

bool mr_extjson_value(struct mr_extjson *ej, const struct mr_json_doc *doc, uint32_t node,
                      struct mr_arena *ar, struct mr_value *out, struct mr_type *type)
{
    struct mr_bson_value read = mr_extjson_read(doc, node, ar);

    *out = whole_value(ej, doc, &read, ar, type);
    return read.kind != MR_BSON_UNDEFINED;
}
