/* Payloads to fields: structs by their compiled schema, everything else as plain JSON. See connect.h.
 *
 * A payload's members stand in the schema's order, so each is first compared with the field expected at its place: a wide row costs no
 * searches. Paths borrow from the message, never from the schema, since a compiled schema may be gone before the batch is. */
#include "connect.h"

#include "arrays.h"

static bool is_array_text(const struct mr_placeholder *p, struct mr_str json)
{
    return mr_str_eq(json, p->json_array) || mr_str_eq(json, p->json_base64_array) || mr_str_eq(json, p->json_numbers) ||
           (p->json_uuid_array.len > 0 && mr_str_eq(json, p->json_uuid_array));
}

/* Without a schema a placeholder can only be told by its exact text, or by the base64 text that a bytes column would have. */
static void mark_unavailable(const struct mr_connect *cn, struct mr_field *f)
{
    const struct mr_placeholder *p = &cn->placeholder;
    struct mr_str s = f->value.tag == MR_V_ARRAY ? MR_STR("") : mr_value_str(f->value);
    bool is_it = f->value.tag == MR_V_TEXT    ? mr_str_eq(s, p->text) || mr_str_eq(s, p->base64)
                 : f->value.tag == MR_V_JSON  ? is_array_text(p, s)
                 : f->value.tag == MR_V_ARRAY ? is_array_text(p, mr_value_array(f->value)->json)
                                              : false;
    if (is_it)
        f->value = (struct mr_value){.tag = MR_V_UNAVAILABLE};
}

static void mark_all(const struct mr_connect *cn, struct mr_field_list *list, size_t from)
{
    if (cn->placeholder.text.len == 0)
        return;
    for (size_t i = from; i < list->count; i++)
        mark_unavailable(cn, &list->items[i]);
}

static bool is_flattened(const struct mr_connect *cn, const struct mr_connect_schema *schema)
{
    return schema != NULL && schema->kind == MR_C_STRUCT && schema->semantic == MR_S_PLAIN &&
           cn->cfg->flatten_struct;
}

/* A struct that is null makes all its columns null, and the schema knows which those are. */
static void add_nulls(struct mr_connect *cn, const struct mr_connect_schema *schema, struct mr_str path,
                      struct mr_arena *ar, struct mr_field_list *out)
{
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const struct mr_connect_field *f = &schema->fields[i];
        struct mr_str at = mr_flatten_path(path, mr_arena_copy(ar, f->name), ar);
        out->joined += at.len;
        mr_connect_member(cn, f->schema, NULL, MR_JSON_NONE, at, ar, out);
    }
}

static struct mr_type field_type(const struct mr_connect_schema *schema)
{
    if (schema == NULL)
        return MR_TYPE(MR_T_NONE);
    if (schema->kind == MR_C_STRUCT && schema->type.kind == MR_T_NONE) {
        struct mr_type json = MR_TYPE(MR_T_JSON);
        json.origin = MR_SCHEMA;
        return json;
    }
    return schema->type;
}

static bool is_unknown(const void *ctx, const struct mr_json_doc *doc, uint32_t node)
{
    return mr_placeholder_is_array(ctx, doc, node);
}

static void plain_members(struct mr_connect *cn, const struct mr_json_doc *doc, uint32_t node,
                          struct mr_str parent, struct mr_arena *ar, struct mr_field_list *out)
{
    size_t from = out->count, waiting = mr_arrays_waiting(out);
    mr_flatten_json(cn->cfg, doc, node, parent, ar, out);
    mark_all(cn, out, from);
    mr_arrays_keep_unknown(out, waiting, is_unknown, &cn->placeholder);
}

static void nested(struct mr_connect *cn, const struct mr_connect_schema *schema,
                   const struct mr_json_doc *doc, uint32_t node, struct mr_str path, struct mr_arena *ar,
                   struct mr_field_list *out);

/* An array that is to be rows of its own: not one that a schema gives a meaning as a whole (a vector). */
static bool note_array(struct mr_connect *cn, const struct mr_connect_schema *schema, const struct mr_json_doc *doc, uint32_t node,
                       struct mr_str path, struct mr_field_list *out)
{
    bool is_plain = schema == NULL || schema->kind == MR_C_ANY || (schema->kind == MR_C_ARRAY && schema->name.len == 0);
    if (out->arrays == NULL || !is_plain || !mr_json_is(doc, node, MR_J_ARRAY))
        return false;
    size_t waiting = mr_arrays_waiting(out);
    if (!mr_arrays_note(out, doc, node, path, schema == NULL ? NULL : schema->items))
        return false;
    mr_arrays_keep_unknown(out, waiting, is_unknown, &cn->placeholder);
    return true;
}

static void element(void *ctx, const struct mr_json_doc *doc, uint32_t node, const void *items, struct mr_arena *ar,
                    struct mr_field_list *list)
{
    const struct mr_connect_schema *schema = items;
    bool is_open = schema == NULL || schema->kind == MR_C_ANY || is_flattened(ctx, schema);
    if (mr_json_is(doc, node, MR_J_NULL))
        return;
    if (is_open && mr_json_is(doc, node, MR_J_OBJECT) && mr_flatten_may(list, MR_STR(""), doc->nodes[node].count))
        nested(ctx, schema, doc, node, MR_STR(""), ar, list);
    else
        mr_connect_member(ctx, schema, doc, node, MR_STR(MR_ELEMENT_VALUE), ar, list);
}

/* doc NULL: the member's struct is null, and so is the member. */
void mr_connect_member(struct mr_connect *cn, const struct mr_connect_schema *schema,
                       const struct mr_json_doc *doc, uint32_t node, struct mr_str path,
                       struct mr_arena *ar, struct mr_field_list *out)
{
    bool is_null = doc == NULL || mr_json_is(doc, node, MR_J_NULL);
    uint32_t members = is_null ? 0 : doc->nodes[node].count;
    bool is_object = !is_null && mr_json_is(doc, node, MR_J_OBJECT);

    if (is_flattened(cn, schema)) {
        if (is_null && mr_flatten_may(out, path, schema->field_count)) {
            add_nulls(cn, schema, path, ar, out);
            return;
        }
        if (is_object && mr_flatten_may(out, path, members)) {
            nested(cn, schema, doc, node, path, ar, out);
            return;
        }
    }
    if ((schema == NULL || schema->kind == MR_C_ANY) && is_object && cn->cfg->flatten_struct &&
        mr_flatten_may(out, path, members)) {
        nested(cn, NULL, doc, node, path, ar, out);
        return;
    }

    if (!is_null && note_array(cn, schema, doc, node, path, out))
        return;
    bool is_free = schema == NULL || schema->kind == MR_C_ANY;
    if (is_free && !is_null && mr_json_is(doc, node, MR_J_ARRAY) && cn->cfg->flatten_struct &&
        cn->cfg->array_encoding == MR_ARRAY_DOCUMENT && mr_flatten_may(out, path, members)) {
        plain_members(cn, doc, node, path, ar, out);
        return;
    }
    struct mr_value v = mr_value_null();
    struct mr_type type = field_type(schema);
    if (mr_connect_is_array(cn, schema)) {
        type = mr_type_array_of(schema->items->type);
        type.origin = MR_SCHEMA;
        type.not_null = schema->type.not_null;
        if (!is_null)
            v = mr_connect_array(cn, schema, doc, node, ar);
    } else if (!is_null) {
        v = is_free ? mr_flatten_value(cn->cfg, doc, node, ar) : mr_connect_value(cn, schema, doc, node, ar);
    }
    mr_field_add(out, ar, path, type, v);
    if ((schema == NULL || schema->kind == MR_C_ANY) && cn->placeholder.text.len != 0)
        mark_unavailable(cn, &out->items[out->count - 1]);
}

static void make_room(struct mr_field_list *list, struct mr_arena *ar, uint32_t members)
{
    if (list->items != NULL || members == 0)
        return;
    list->items = mr_arena_alloc(ar, members * sizeof(*list->items));
    list->cap = members;
}

/* The members of a struct, in the payload's order. As long as they stand in the schema's order none can occur twice, and nothing has to be
 * looked at for that; else returns false, and is called again with `is_disordered`. */
static bool struct_members(struct mr_connect *cn, const struct mr_connect_schema *schema,
                           const struct mr_json_doc *doc, uint32_t node, struct mr_str parent,
                           bool is_disordered, struct mr_arena *ar, struct mr_field_list *out)
{
    uint32_t hint = 0;
    uint32_t end = doc->nodes[node].next;
    for (uint32_t n = node + 1; n < end; n = doc->nodes[n + 1].next) {
        if (is_disordered && mr_json_is_shadowed(doc, node, n))
            continue;
        bool is_escaped = doc->nodes[n].flags & MR_JSON_ESCAPED;
        struct mr_str name = is_escaped ? mr_json_string(doc, n, ar, NULL) : mr_json_raw(doc, n);
        const struct mr_connect_field *f = mr_connect_field(schema, name, hint);
        uint32_t place = f == NULL ? 0 : (uint32_t)(f - schema->fields);
        if (!is_disordered && (f == NULL || place < hint))
            return false;
        hint = place + 1;
        if (f == NULL && schema->is_closed)
            continue;

        struct mr_str path = name;
        if (parent.len != 0 || f == NULL || !f->is_plain)
            path = mr_flatten_path(parent, name, ar);
        if (parent.len != 0)
            out->joined += path.len;
        mr_connect_member(cn, f == NULL ? NULL : f->schema, doc, n + 1, path, ar, out);
    }
    return true;
}

/* Without a second try, which would double the work at every level of nesting. */
static void nested(struct mr_connect *cn, const struct mr_connect_schema *schema,
                   const struct mr_json_doc *doc, uint32_t node, struct mr_str path, struct mr_arena *ar,
                   struct mr_field_list *out)
{
    if (schema == NULL || schema->field_count == 0)
        plain_members(cn, doc, node, path, ar, out);
    else
        struct_members(cn, schema, doc, node, path, true, ar, out);
}

static void row_members(struct mr_connect *cn, const struct mr_connect_schema *schema, const struct mr_json_doc *doc, uint32_t node,
                        struct mr_str parent, struct mr_arena *ar, struct mr_field_list *out)
{
    make_room(out, ar, doc->nodes[node].count);

    if (schema == NULL || schema->field_count == 0) {
        plain_members(cn, doc, node, parent, ar, out);
        return;
    }
    size_t from = out->count, joined = out->joined, waiting = mr_arrays_waiting(out), kept = mr_arrays_count(out);
    if (struct_members(cn, schema, doc, node, parent, false, ar, out))
        return;
    out->count = from;
    out->joined = joined;
    mr_arrays_forget(out, waiting, kept);
    struct_members(cn, schema, doc, node, parent, true, ar, out);
}

void mr_connect_row(struct mr_connect *cn, const struct mr_connect_schema *schema,
                    const struct mr_json_doc *doc, uint32_t node, struct mr_str parent,
                    struct mr_arena *ar, struct mr_field_list *out)
{
    if (!mr_json_is(doc, node, MR_J_OBJECT))
        return;
    row_members(cn, schema, doc, node, parent, ar, out);
    if (out->arrays != NULL)
        mr_arrays_drain(out->arrays, element, cn);
}
