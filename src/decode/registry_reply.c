/* Registry answers. See registry_reply.h. Unknown members are ignored; error replies differ between servers, so nothing in them is relied on. */
#include "registry_reply.h"

#include <stdarg.h>
#include <stdio.h>

#include "json.h"

#define MAX_DEPTH 200
#define MAX_REFERENCES 1000

enum mr_status mr_registry_fail(struct mr_error *err, enum mr_status status, const char *code_z,
                                const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (status == MR_E_DATA)
        return mr_fail_data(err, code_z, "%s", text);
    mr_fail(err, status, "%s", text);
    if (err != NULL)
        snprintf(err->code, sizeof(err->code), "%s", code_z);
    return status;
}

static bool parse(struct mr_str body, struct mr_arena *ar, struct mr_json_doc *doc)
{
    struct mr_json_limits limits = {.max_depth = MAX_DEPTH, .max_bytes = UINT64_C(32) << 20};
    struct mr_json_reader *reader = mr_json_reader_create(&limits);
    bool is_json = mr_json_parse_arena(reader, mr_arena_copy(ar, body), ar, doc, NULL) == MR_OK;
    mr_json_reader_destroy(reader);
    return is_json;
}

static struct mr_str text_at(const struct mr_json_doc *doc, uint32_t object, const char *name_z,
                             struct mr_arena *ar)
{
    uint32_t node = mr_json_member(doc, object, mr_str_z(name_z));
    return mr_json_is(doc, node, MR_J_STRING) ? mr_json_string(doc, node, ar, NULL) : MR_STR("");
}

void mr_registry_read_error(struct mr_str body, struct mr_arena *ar, int64_t *code, struct mr_str *message)
{
    struct mr_json_doc doc;
    *code = 0;
    *message = MR_STR("");
    if (!parse(body, ar, &doc) || !mr_json_is(&doc, 0, MR_J_OBJECT))
        return;
    if (!mr_json_int64(&doc, MR_JSON_MEMBER(&doc, 0, "error_code"), code))
        *code = 0;
    *message = text_at(&doc, 0, "message", ar);
}

/* An enabled rule that encrypts fields or the whole payload. */
static bool has_encryption(const struct mr_json_doc *doc, struct mr_arena *ar)
{
    static const char *const lists[] = {"domainRules", "encodingRules"};
    uint32_t rules = MR_JSON_MEMBER(doc, 0, "ruleSet");
    for (size_t i = 0; i < 2; i++) {
        uint32_t list = mr_json_member(doc, rules, mr_str_z(lists[i]));
        if (!mr_json_is(doc, list, MR_J_ARRAY))
            continue;
        for (uint32_t e = mr_json_first(doc, list); e != MR_JSON_NONE; e = mr_json_next_in(doc, list, e)) {
            struct mr_str type = text_at(doc, e, "type", ar);
            bool is_disabled = mr_json_is(doc, MR_JSON_MEMBER(doc, e, "disabled"), MR_J_TRUE);
            bool encrypts = mr_str_eq(type, MR_STR("ENCRYPT")) || mr_str_eq(type, MR_STR("ENCRYPT_PAYLOAD"));
            if (encrypts && !is_disabled)
                return true;
        }
    }
    return false;
}

static enum mr_status read_references(const struct mr_json_doc *doc, struct mr_arena *ar,
                                      struct mr_schema_reply *out, struct mr_error *err)
{
    uint32_t list = MR_JSON_MEMBER(doc, 0, "references");
    if (!mr_json_is(doc, list, MR_J_ARRAY))
        return MR_OK;
    size_t count = doc->nodes[list].count;
    if (count > MAX_REFERENCES)
        return mr_fail_data(err, MR_CODE_BAD_SCHEMA, "the schema has more than %d references",
                            MAX_REFERENCES);
    struct mr_schema_reference *refs = mr_arena_alloc(ar, (count + 1) * sizeof(*refs));
    for (uint32_t e = mr_json_first(doc, list); e != MR_JSON_NONE; e = mr_json_next_in(doc, list, e)) {
        struct mr_schema_reference *ref = &refs[out->reference_count++];
        ref->name = text_at(doc, e, "name", ar);
        ref->subject = text_at(doc, e, "subject", ar);
        if (!mr_json_int64(doc, MR_JSON_MEMBER(doc, e, "version"), &ref->version) || ref->subject.len == 0)
            return mr_fail_data(err, MR_CODE_BAD_SCHEMA,
                                "a reference of the schema names no subject and version");
    }
    out->references = refs;
    return MR_OK;
}

enum mr_status mr_registry_read_reply(struct mr_str body, bool ignore_rules, struct mr_arena *ar,
                                      struct mr_schema_reply *out, struct mr_error *err)
{
    struct mr_json_doc doc;
    *out = (struct mr_schema_reply){0};
    if (!parse(body, ar, &doc) || !mr_json_is(&doc, MR_JSON_MEMBER(&doc, 0, "schema"), MR_J_STRING))
        return mr_registry_fail(err, MR_E_ENV, MR_CODE_REGISTRY_REPLY, "the answer holds no schema");
    out->text = text_at(&doc, 0, "schema", ar);
    struct mr_str type = text_at(&doc, 0, "schemaType", ar);
    if (mr_str_eq(type, MR_STR("PROTOBUF")))
        out->type = MR_SCHEMA_PROTOBUF;
    else if (mr_str_eq(type, MR_STR("JSON")))
        out->type = MR_SCHEMA_JSON;
    else if (type.len != 0 && !mr_str_eq(type, MR_STR("AVRO")))
        return mr_fail_data(err, MR_CODE_UNSUPPORTED_SCHEMA,
                            "the schema is of the type %.*s, which is not supported", MR_STR_FMT(type));
    if (!ignore_rules && has_encryption(&doc, ar)) {
        enum mr_status status = mr_fail_data(err, MR_CODE_UNSUPPORTED_SCHEMA,
                                             "the schema's rules say that its data is encrypted");
        mr_error_hint(err, "to load the encrypted fields as they are set registry.ignore.rules: true");
        return status;
    }
    return read_references(&doc, ar, out, err);
}
