/* See json_additional.h. */
#include "json_additional.h"

const struct mr_connect_schema *mr_additional_schema(const struct mr_connect_schema *of, struct mr_arena *ar)
{
    if (of == NULL || of->kind != MR_C_STRUCT || mr_connect_field(of, MR_ADDITIONAL, 0) != NULL)
        return NULL;
    struct mr_connect_schema *row = mr_connect_make(MR_C_STRUCT, MR_STR(""), NULL, MR_JSON_NONE, ar);
    struct mr_connect_schema *rest = mr_connect_make(MR_C_MAP, MR_STR(""), NULL, MR_JSON_NONE, ar);
    struct mr_connect_field *fields = mr_arena_zalloc(ar, ((size_t)of->field_count + 1) * sizeof(*fields));
    rest->semantic = MR_S_DOCUMENT;
    rest->type = MR_TYPE(MR_T_JSON);
    rest->type.origin = MR_SCHEMA;
    if (of->field_count > 0)
        memcpy(fields, of->fields, of->field_count * sizeof(*fields));
    fields[of->field_count].name = MR_ADDITIONAL;
    fields[of->field_count].schema = rest;
    mr_connect_set_fields(row, fields, of->field_count + 1, ar);
    return row;
}

static bool is_named(const struct mr_connect_schema *schema, const struct mr_json_doc *doc, uint32_t member, uint32_t *hint, struct mr_arena *ar)
{
    const struct mr_connect_field *f = mr_connect_field(schema, mr_json_string(doc, member, ar, NULL), *hint);
    if (f != NULL)
        *hint = (uint32_t)(f - schema->fields) + 1;
    return f != NULL;
}

uint32_t mr_additional_first(const struct mr_connect_schema *schema, const struct mr_json_doc *doc, uint32_t object, struct mr_arena *ar)
{
    uint32_t hint = 0;
    for (uint32_t n = mr_json_first(doc, object); n != MR_JSON_NONE; n = mr_json_next_in(doc, object, n))
        if (!is_named(schema, doc, n, &hint, ar))
            return n;
    return MR_JSON_NONE;
}

static void copy_members(const struct mr_connect_schema *schema, const struct mr_json_doc *doc, uint32_t object, bool named, struct mr_json_build *build,
                         struct mr_arena *ar)
{
    uint32_t hint = 0;
    for (uint32_t n = mr_json_first(doc, object); n != MR_JSON_NONE; n = mr_json_next_in(doc, object, n)) {
        if (is_named(schema, doc, n, &hint, ar) != named)
            continue;
        mr_json_build_name(build, mr_json_string(doc, n, ar, NULL)); /* of two of a name the last one counts, here as there */
        mr_json_build_copy(build, doc, n + 1);
    }
}

enum mr_status mr_additional_gather(const struct mr_connect_schema *schema, const struct mr_json_doc *doc, uint32_t object, struct mr_json_build *build,
                                    struct mr_arena *ar, struct mr_json_doc *out, struct mr_error *err)
{
    mr_json_build_reset(build);
    mr_json_build_open(build, MR_J_OBJECT);
    copy_members(schema, doc, object, true, build, ar);
    mr_json_build_name(build, MR_ADDITIONAL);
    mr_json_build_open(build, MR_J_OBJECT);
    copy_members(schema, doc, object, false, build, ar);
    mr_json_build_close(build);
    mr_json_build_close(build);
    return mr_json_build_finish(build, ar, out, err);
}
