/* Values by their schema as JSON, for documents that become one column: what would be a number of days or base64 of digits in the payload is a
 * date or a decimal there. See connect.h. The recursion is as deep as the schema is, which its compiler bounds. */
#include "connect.h"

static bool render_object(struct mr_connect *cn, const struct mr_connect_schema *schema,
                          const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar,
                          struct mr_buf *out, struct mr_value *invalid)
{
    bool is_first = true;
    uint32_t hint = 0;
    mr_buf_append_char(out, '{');
    for (uint32_t n = mr_json_first(doc, node); n != MR_JSON_NONE; n = mr_json_next_in(doc, node, n)) {
        if (schema->kind == MR_C_MAP && mr_json_is_shadowed(doc, node, n))
            continue;
        struct mr_str name = mr_json_string(doc, n, ar, NULL);
        const struct mr_connect_schema *of = schema->items;
        if (schema->kind == MR_C_STRUCT) {
            const struct mr_connect_field *f = mr_connect_field(schema, name, hint);
            of = f == NULL ? NULL : f->schema;
            hint++;
        }
        if (!is_first)
            mr_buf_append_char(out, ',');
        is_first = false;
        mr_buf_append_json(out, name);
        mr_buf_append_char(out, ':');
        if (!mr_connect_render(cn, of, doc, n + 1, ar, out, invalid))
            return false;
    }
    mr_buf_append_char(out, '}');
    return true;
}

static bool render_array(struct mr_connect *cn, const struct mr_connect_schema *schema,
                         const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar,
                         struct mr_buf *out, struct mr_value *invalid)
{
    bool is_first = true;
    mr_buf_append_char(out, '[');
    for (uint32_t n = mr_json_first(doc, node); n != MR_JSON_NONE; n = mr_json_next_in(doc, node, n)) {
        if (!is_first)
            mr_buf_append_char(out, ',');
        is_first = false;
        if (!mr_connect_render(cn, schema->items, doc, n, ar, out, invalid))
            return false;
    }
    mr_buf_append_char(out, ']');
    return true;
}

static bool render_scalar(struct mr_connect *cn, const struct mr_connect_schema *schema,
                          const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar,
                          struct mr_buf *out, struct mr_value *invalid)
{
    struct mr_value v = mr_connect_value(cn, schema, doc, node, ar);
    if (v.tag == MR_V_INVALID) {
        *invalid = v;
        return false;
    }
    if (v.tag == MR_V_NUMBER && schema->type.kind == MR_T_DECIMAL)
        mr_buf_append_json(out, mr_value_str(v)); /* readers of JSON would make a float of it */
    else if (v.tag == MR_V_UNAVAILABLE || v.tag == MR_V_NULL)
        mr_json_append(doc, node, out);
    else
        mr_value_append_json(v, out);
    return true;
}

bool mr_connect_render(struct mr_connect *cn, const struct mr_connect_schema *schema,
                       const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar, struct mr_buf *out,
                       struct mr_value *invalid)
{
    if (schema == NULL || schema->kind == MR_C_ANY || mr_json_is(doc, node, MR_J_NULL)) {
        mr_json_append(doc, node, out);
        return true;
    }
    bool is_plain = schema->semantic == MR_S_PLAIN || schema->semantic == MR_S_DOCUMENT;
    if (is_plain && mr_json_is(doc, node, MR_J_OBJECT))
        return render_object(cn, schema, doc, node, ar, out, invalid);
    if (is_plain && mr_json_is(doc, node, MR_J_ARRAY))
        return render_array(cn, schema, doc, node, ar, out, invalid);
    return render_scalar(cn, schema, doc, node, ar, out, invalid);
}
