/* Arrays that a Connect schema declares, where unwrap.array.encoding is `array`. See connect.h. */
#include "connect.h"

bool mr_connect_is_array(const struct mr_connect *cn, const struct mr_connect_schema *schema)
{
    if (cn->cfg->array_encoding != MR_ARRAY_ARRAY || schema == NULL || schema->kind != MR_C_ARRAY ||
        schema->name.len > 0 || schema->items == NULL)
        return false;
    uint8_t kind = schema->items->type.kind;
    return kind != MR_T_NONE && kind != MR_T_JSON && kind != MR_T_ARRAY;
}

/* Element by element, as if each were a column of the items' type. The JSON is what the column would be without this. */
struct mr_value mr_connect_array(struct mr_connect *cn, const struct mr_connect_schema *schema,
                                 const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar)
{
    struct mr_value json = mr_connect_value(cn, schema, doc, node, ar);
    uint32_t count = 0;

    if (json.tag != MR_V_JSON || !mr_json_is(doc, node, MR_J_ARRAY))
        return json.tag == MR_V_JSON ? MR_BAD_VALUE("expected an array") : json;
    struct mr_value *items = mr_arena_alloc(ar, (doc->nodes[node].count + 1) * sizeof *items);
    for (uint32_t n = mr_json_first(doc, node); n != MR_JSON_NONE; n = mr_json_next_in(doc, node, n)) {
        struct mr_value item = mr_connect_value(cn, schema->items, doc, n, ar);
        if (item.tag == MR_V_INVALID || item.tag == MR_V_UNAVAILABLE)
            return item;
        items[count++] = item;
    }
    return mr_array_of(items, count, mr_value_str(json), json.flags, MR_SCHEMA, ar);
}
