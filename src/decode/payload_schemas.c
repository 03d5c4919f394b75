/* Schemas by id. See payload_schemas.h. */
#include "payload_schemas.h"

#include "json_additional.h"
#include "json_schema.h"
#include "schema_file.h"

#include <stdio.h>

#include <millrace/base/encode.h>
#include <millrace/base/map.h>
#include <millrace/base/mem.h>
#include <millrace/base/time.h>

#define MAX_REFERENCE_DEPTH 32
#define MAX_REFERENCES 1000
#define MAX_TEXTS (UINT64_C(64) << 20) /* bytes of a schema with all that it refers to */
#define MISSING_KEPT_MS 5000 /* a flood of bad records is no flood of requests */

struct entry {
    struct mr_str key; /* mr_frame_append_key; owned */
    struct mr_payload_schema schema;
    struct mr_error *failed; /* what is wrong with it; NULL = nothing */
    int64_t failed_until_ms; /* an unknown id may be registered later */
    uint64_t used;
};

struct mr_payload_schemas {
    const struct mr_config *cfg;
    struct mr_registry *reg;
    struct mr_map *entries;
    struct mr_buf key; /* of the schema that is looked for */
    uint64_t clock;
};

const char *mr_schema_type_name(enum mr_schema_type type)
{
    return type == MR_SCHEMA_AVRO ? "Avro" : type == MR_SCHEMA_PROTOBUF ? "Protobuf" : "JSON Schema";
}

enum mr_status mr_payload_schemas_create(const struct mr_config *cfg, struct mr_payload_schemas **out,
                                         struct mr_error *err)
{
    struct mr_registry *reg = NULL;
    if (cfg->registry.url != NULL && *cfg->registry.url != 0)
        MR_TRY(mr_registry_create(cfg, &reg, err));
    struct mr_payload_schemas *s = mr_xcalloc(1, sizeof(*s));
    s->cfg = cfg;
    s->reg = reg;
    s->entries = mr_map_create();
    s->key = MR_BUF_INIT(1u << 20);
    *out = s;
    return MR_OK;
}

bool mr_payload_schemas_has_registry(const struct mr_payload_schemas *s)
{
    return s->reg != NULL;
}

static void entry_destroy(void *ptr)
{
    struct entry *e = ptr;
    if (e == NULL)
        return;
    mr_avro_schema_destroy(e->schema.avro);
    mr_proto_destroy(e->schema.proto);
    mr_arena_destroy(e->schema.ar);
    mr_xfree(e->failed);
    mr_xfree((char *)e->key.ptr);
    mr_xfree(e);
}

void mr_payload_schemas_destroy(struct mr_payload_schemas *s)
{
    if (s == NULL)
        return;
    mr_map_destroy(s->entries, entry_destroy);
    mr_registry_destroy(s->reg);
    mr_buf_free(&s->key);
    mr_xfree(s);
}

/* ---- Compiling, with references ---- */

/* One schema being put together. */
struct build {
    struct mr_payload_schemas *s;
    struct mr_payload_schema *schema;
    struct mr_map *seen; /* names of references */
    struct mr_arena *ar; /* replies */
    struct mr_json_schema *json;
    uint64_t bytes; /* of the texts so far */
};

/* A descriptor in base64 stands where a text is expected: registries give back what they were given. No text is without blanks and signs. */
static bool is_base64(struct mr_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool is_one = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '+' || c == '/' || c == '=' || c == '\r' || c == '\n';
        if (!is_one)
            return false;
    }
    return text.len != 0;
}

/* Can it be read by itself? What cannot must leave nothing behind in the schema that is being made. */
static bool is_readable(struct mr_str bytes, bool is_text, struct mr_error *err)
{
    struct mr_proto *alone = mr_proto_create();
    enum mr_status status = is_text ? mr_proto_add(alone, MR_STR(""), bytes, err)
                                    : mr_proto_add_descriptor(alone, MR_STR(""), bytes, true, err);
    mr_proto_destroy(alone);
    return status == MR_OK;
}

/* The serialized form, if the registry has one that is whole. "" = no. */
static enum mr_status find_descriptor(struct build *b, const struct mr_schema_place *place,
                                      struct mr_str *bytes, struct mr_error *err)
{
    struct mr_str encoded;
    *bytes = MR_STR("");
    MR_TRY(mr_registry_descriptor(b->s->reg, place, b->ar, &encoded, err));
    if (!mr_base64_decode(encoded, b->ar, bytes) || !is_readable(*bytes, false, NULL))
        *bytes = MR_STR("");
    return MR_OK;
}

/* Protobuf comes as a text, or serialized, or as both; which one is asked for first says the configuration. In a text with map<…> the entries of
 * maps take no index among the messages, whatever the registry makes of them in the serialized form. */
static enum mr_status add_proto(struct build *b, const struct mr_schema_place *place, struct mr_str text,
                                struct mr_str name, struct mr_error *err)
{
    struct mr_str bytes = MR_STR("");
    bool is_descriptor = is_base64(text) && mr_base64_decode(text, b->ar, &bytes);
    if (is_descriptor)
        return mr_proto_add_descriptor(b->schema->proto, name, bytes, true, err);
    struct mr_error why = {0};
    bool is_text = is_readable(text, true, &why);
    bool can_ask = place != NULL && place->native_z == NULL;
    if (can_ask && (!is_text || b->s->cfg->registry.protobuf_schema == MR_PROTOBUF_DESCRIPTOR))
        MR_TRY(find_descriptor(b, place, &bytes, err));
    if (bytes.len != 0) {
        bool has_maps = text.len > 0 && memmem(text.ptr, text.len, "map<", 4) != NULL;
        return mr_proto_add_descriptor(b->schema->proto, name, bytes, !has_maps, err);
    }
    if (is_text)
        return mr_proto_add(b->schema->proto, name, text, err);
    if (err != NULL)
        *err = why;
    return MR_E_DATA;
}

/* A schema, after those that it refers to. place: NULL = a file. `name` is what a reference calls it; "" = the root. */
static enum mr_status add_one(struct build *b, const struct mr_schema_place *place,
                              const struct mr_schema_reply *reply, struct mr_str name, struct mr_error *err)
{
    if (reply->type != b->schema->type)
        return mr_fail_data(err, MR_CODE_BAD_SCHEMA, "a %s schema refers to one of another kind",
                            mr_schema_type_name(b->schema->type));
    switch (reply->type) {
    case MR_SCHEMA_AVRO:
        return mr_avro_schema_parse(b->schema->avro, reply->text, err);
    case MR_SCHEMA_JSON:
        return mr_json_schema_add(b->json, name, reply->text, err);
    case MR_SCHEMA_PROTOBUF:
        return add_proto(b, place, reply->text, name, err);
    }
    return mr_fail(err, MR_E_BUG, "a schema of no kind");
}

static enum mr_status add(struct build *b, const struct mr_schema_place *place,
                          const struct mr_schema_reply *reply, struct mr_str name, unsigned depth,
                          struct mr_error *err)
{
    if (depth > MAX_REFERENCE_DEPTH)
        return mr_fail_data(err, MR_CODE_BAD_SCHEMA,
                            "references between schemas are nested more than %d deep", MAX_REFERENCE_DEPTH);
    b->bytes += reply->text.len;
    if (b->bytes > MAX_TEXTS)
        return mr_fail_data(err, MR_CODE_BAD_SCHEMA, "the schema and what it refers to have more than %d MiB",
                            (int)(MAX_TEXTS >> 20));
    for (size_t i = 0; i < reply->reference_count; i++) {
        const struct mr_schema_reference *ref = &reply->references[i];
        struct mr_schema_place inner_place = {.subject = ref->subject, .version = ref->version};
        struct mr_schema_reply inner;
        if (mr_map_get(b->seen, ref->name) != NULL)
            continue;
        if (mr_map_count(b->seen) >= MAX_REFERENCES)
            return mr_fail_data(err, MR_CODE_BAD_SCHEMA, "the schema refers to more than %d others",
                                MAX_REFERENCES);
        mr_map_put(b->seen, ref->name, b);
        MR_TRY(mr_registry_schema(b->s->reg, &inner_place, b->ar, &inner, err));
        MR_TRY(add(b, &inner_place, &inner, ref->name, depth + 1, err));
    }
    return add_one(b, place, reply, name, err);
}

const struct mr_connect_schema *mr_payload_bare_row(const struct mr_connect_schema *of, struct mr_arena *ar)
{
    struct mr_connect_schema *row = mr_connect_make(MR_C_STRUCT, MR_STR(""), NULL, MR_JSON_NONE, ar);
    struct mr_connect_field *field = mr_arena_zalloc(ar, sizeof(*field));
    field->name = MR_BARE_VALUE;
    field->schema = of;
    mr_connect_set_fields(row, field, 1, ar);
    return row;
}

/* What is to be filled for a kind of schemas. */
static void begin(struct build *b, enum mr_schema_type type)
{
    struct mr_payload_schema *schema = b->schema;
    schema->ar = mr_arena_create(4096);
    schema->type = type;
    if (type == MR_SCHEMA_AVRO)
        schema->avro = mr_avro_schema_create();
    if (type == MR_SCHEMA_PROTOBUF)
        schema->proto = mr_proto_create();
    if (type == MR_SCHEMA_JSON)
        b->json = mr_json_schema_create(schema->ar);
}

static enum mr_status finish(struct build *b, struct mr_error *err)
{
    struct mr_payload_schema *schema = b->schema;
    if (schema->type == MR_SCHEMA_PROTOBUF)
        return mr_proto_link(schema->proto, err);
    schema->connect = schema->type == MR_SCHEMA_AVRO
                          ? mr_avro_connect(schema->avro)
                          : mr_json_schema_connect(b->json, b->s->cfg->json_schema_formats);
    if (schema->connect->kind != MR_C_STRUCT || schema->connect->type.kind != MR_T_NONE)
        schema->bare_row = mr_payload_bare_row(schema->connect, schema->ar);
    if (schema->type == MR_SCHEMA_JSON && b->s->cfg->json_additional == MR_ADDITIONAL_COLUMN)
        schema->additional = mr_additional_schema(schema->connect, schema->ar);
    return MR_OK;
}

/* Files of this machine: the last one is the schema, the others are what it refers to, by their names without folders. */
static enum mr_status add_files(struct build *b, struct mr_str list, struct mr_error *err)
{
    while (list.len != 0) {
        ptrdiff_t comma = mr_str_find(list, ',');
        size_t used = comma < 0 ? list.len : (size_t)comma;
        struct mr_str path = mr_str_trim(mr_str_of(list.ptr, used));
        list = comma < 0 ? MR_STR("") : mr_str_of(list.ptr + used + 1, list.len - used - 1);
        struct mr_schema_reply reply = {.type = b->schema->type};
        ptrdiff_t slash = mr_str_rfind(path, '/');
        struct mr_str name = mr_str_of(path.ptr + slash + 1, path.len - (size_t)(slash + 1));
        MR_TRY(mr_schema_file_read(path, b->ar, &reply.text, err));
        enum mr_status status = add_one(b, NULL, &reply, list.len == 0 ? MR_STR("") : name, err);
        if (status != MR_OK)
            mr_error_prefix(err, "%.*s: ", MR_STR_FMT(path));
        MR_TRY(status);
    }
    return MR_OK;
}

static enum mr_status compile(struct mr_payload_schemas *s, const struct mr_frame *frame, struct entry *e,
                              struct mr_error *err)
{
    struct mr_schema_reply reply;
    struct build b = {.s = s, .schema = &e->schema, .seen = mr_map_create(), .ar = mr_arena_create(0)};
    enum mr_status status;
    struct mr_schema_place place = {.guid = frame->by == MR_BY_GUID ? frame->guid : NULL,
                                    .native_z = frame->by == MR_BY_CONTENT  ? "contentIds"
                                                : frame->by == MR_BY_GLOBAL ? "globalIds"
                                                                            : NULL,
                                    .native_type = frame->type,
                                    .id = frame->id};
    if (frame->by == MR_BY_FILE) {
        begin(&b, frame->type);
        MR_TRY_DONE(add_files(&b, frame->files, err));
    } else if (s->reg ==
               NULL) { /* patterns of topics may combine in ways that the check at the start does not see */
        MR_TRY_DONE(
            mr_fail(err, MR_E_CONFIG, "the schemas of this topic are a registry's; set registry.url"));
    } else {
        MR_TRY_DONE(mr_registry_schema(s->reg, &place, b.ar, &reply, err));
        begin(&b, reply.type);
        MR_TRY_DONE(add(&b, &place, &reply, MR_STR(""), 0, err));
    }
    MR_TRY_DONE(finish(&b, err));
done:
    mr_json_schema_destroy(b.json);
    mr_arena_destroy(b.ar);
    mr_map_destroy(b.seen, NULL);
    if (status == MR_E_DATA && frame->by == MR_BY_ID &&
        strcmp(err != NULL ? err->code : "", MR_CODE_UNKNOWN_SCHEMA) != 0)
        mr_error_prefix(err, "schema %llu: ", (unsigned long long)frame->id);
    return status;
}

/* ---- Keeping ---- */

static void evict_one(struct mr_payload_schemas *s)
{
    struct entry *oldest = NULL;
    for (size_t i = 0; i < mr_map_count(s->entries); i++) {
        struct entry *e = mr_map_at(s->entries, i, NULL);
        if (e != NULL && (oldest == NULL || e->used < oldest->used))
            oldest = e;
    }
    if (oldest == NULL)
        return;
    mr_map_remove(s->entries, oldest->key);
    entry_destroy(oldest);
}

static struct entry *new_entry(struct mr_str key)
{
    struct entry *e = mr_xcalloc(1, sizeof(*e));
    e->key = mr_str_of(mr_xstrndup(key.ptr, key.len), key.len);
    return e;
}

static enum mr_status result(const struct entry *e, const struct mr_payload_schema **out,
                             struct mr_error *err)
{
    *out = &e->schema;
    if (e->failed == NULL)
        return MR_OK;
    if (err != NULL)
        *err = *e->failed;
    return MR_E_DATA;
}

enum mr_status mr_payload_schemas_get(struct mr_payload_schemas *s, const struct mr_frame *frame,
                                      const struct mr_payload_schema **out, struct mr_error *err)
{
    mr_buf_clear(&s->key);
    mr_frame_append_key(frame, &s->key);
    struct mr_str key = mr_buf_str(&s->key);
    struct entry *e = mr_map_get(s->entries, key);
    if (e != NULL && e->failed != NULL && mr_monotonic_ms() >= e->failed_until_ms) {
        mr_map_remove(s->entries, key);
        entry_destroy(e);
        e = NULL;
    }
    if (e != NULL) {
        e->used = ++s->clock;
        return result(e, out, err);
    }

    struct entry *fresh = new_entry(key);
    struct mr_error why = {0};
    enum mr_status status = compile(s, frame, fresh, &why);
    if (status != MR_OK && status != MR_E_DATA) {
        if (err != NULL)
            *err = why;
        entry_destroy(fresh);
        return status;
    }
    if (status ==
        MR_E_DATA) { /* what makes no sense today makes none tomorrow; only an unknown id may come to be */
        fresh->failed = mr_xmalloc(sizeof(why));
        *fresh->failed = why;
        fresh->failed_until_ms =
            strcmp(why.code, MR_CODE_UNKNOWN_SCHEMA) == 0 ? mr_monotonic_ms() + MISSING_KEPT_MS : INT64_MAX;
    }
    while (mr_map_count(s->entries) >= s->cfg->registry.cache_capacity)
        evict_one(s);
    fresh->used = ++s->clock;
    mr_map_put(s->entries, fresh->key, fresh);
    return result(fresh, out, err);
}
