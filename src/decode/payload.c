/* Opening keys and values. See payload.h. */
#include "payload.h"

#include <stdio.h>

#include <millrace/base/hash.h>
#include <millrace/base/log.h>
#include <millrace/base/map.h>
#include <millrace/base/mem.h>

#include "charset.h"
#include "payload_columns.h"
#include "payload_rules.h"
#include "payload_schemas.h"
#include "dts.h"
#include "json_additional.h"

#define MAX_AVRO_DEPTH 128
#define MAX_AVRO_ITEMS 1000000
#define MAX_KEY_SCHEMAS 10000

struct mr_payloads {
    const struct mr_config *cfg;
    struct mr_payload_rules *rules;
    struct mr_payload_schemas *schemas;
    struct mr_json_build build[2];      /* by side */
    struct mr_json_build columns[2];    /* the declared columns */
    struct mr_connect *cn;              /* JSON as Connect writes it */
    struct mr_arena *ar;                /* holds the declarations */
    struct mr_map *declared; /* text of a declaration with its side and format → struct mr_columns */
    struct mr_json_reader *reader[2];
    uint64_t last_key_place;    /* hash of the topic and schema of the last key */
    struct mr_map *key_schemas; /* topics, and topics with each of their keys' schemas */
    struct mr_map *with_additional; /* topics whose values have members that are left out, and that has been told */
};

/* ---- Life ---- */

static enum mr_status check_registry(struct mr_payloads *p, struct mr_error *err)
{
    const struct mr_payload_rule *r;
    bool has_registry = mr_payload_schemas_has_registry(p->schemas);
    for (size_t i = 0; (r = mr_payload_rule_at(p->rules, i)) != NULL; i++) {
        for (size_t side = 0; side < 2; side++) {
            enum mr_encoding e = r->encoding[side];
            if (has_registry || r->schema_file[side].len != 0 ||
                (e != MR_ENC_AVRO && e != MR_ENC_PROTOBUF && e != MR_ENC_JSON_SR))
                continue;
            enum mr_status status =
                mr_fail(err, MR_E_CONFIG, "the format %s needs a schema registry", mr_encoding_name(e));
            mr_error_hint(
                err,
                "set registry.url; or name a file with the schema: %s.schema.file (format.value says the "
                "values' format alone)",
                side == MR_SIDE_KEY ? "key" : "value");
            return status;
        }
    }
    return MR_OK;
}

/* Schemas in files are read at once: what is wrong with them is wrong with the configuration. */
static enum mr_status check_files(struct mr_payloads *p, struct mr_error *err)
{
    const struct mr_payload_rule *r;
    const struct mr_payload_schema *ignored;
    for (size_t i = 0; (r = mr_payload_rule_at(p->rules, i)) != NULL; i++) {
        for (size_t side = 0; side < 2; side++) {
            if (r->schema_file[side].len == 0)
                continue;
            enum mr_status status =
                mr_payload_schemas_get(p->schemas, &r->framing[side].named, &ignored, err);
            if (status == MR_E_DATA && err != NULL)
                err->status = MR_E_CONFIG;
            if (status != MR_OK)
                return status == MR_E_DATA ? MR_E_CONFIG : status;
        }
    }
    return MR_OK;
}

/* The declared columns of a side; parsed once. */
static enum mr_status columns_of(struct mr_payloads *p, const struct mr_payload_rule *r, size_t side,
                                 const struct mr_columns **out, struct mr_error *err)
{
    struct mr_buf key = MR_BUF_INIT(1u << 20);
    mr_buf_printf(&key, "%zu %d ", side, (int)r->encoding[side]);
    mr_buf_append_str(&key, r->columns[side]);
    struct mr_columns *found = mr_map_get(p->declared, mr_buf_str(&key));
    enum mr_status status = MR_OK;
    if (found == NULL) {
        found = mr_arena_zalloc(p->ar, sizeof(*found));
        status =
            mr_columns_parse(r->columns[side], r->encoding[side], side == MR_SIDE_KEY, p->ar, found, err);
        if (status == MR_OK)
            mr_map_put(p->declared, mr_buf_str(&key), found);
    }
    mr_buf_free(&key);
    *out = found;
    return status;
}

static enum mr_status check_columns(struct mr_payloads *p, struct mr_error *err)
{
    const struct mr_payload_rule *r;
    const struct mr_columns *ignored;
    for (size_t i = 0; (r = mr_payload_rule_at(p->rules, i)) != NULL; i++) {
        for (size_t side = 0; side < 2; side++) {
            MR_TRY(mr_delimiter_check(r->delimiter[side], err));
            MR_TRY(columns_of(p, r, side, &ignored, err));
        }
    }
    return MR_OK;
}

enum mr_status mr_payloads_create(const struct mr_config *cfg, struct mr_payloads **out, struct mr_error *err)
{
    struct mr_json_limits limits = {
        .max_depth = cfg->max_depth,
        .max_bytes = cfg->max_message_bytes,
        .allow_ill_formed = cfg->text_invalid != MR_TEXT_DEAD_LETTER,
    };
    struct mr_payloads *p = mr_xcalloc(1, sizeof(*p));
    p->cfg = cfg;
    for (size_t side = 0; side < 2; side++) {
        mr_json_build_init(&p->build[side], cfg->max_message_bytes);
        mr_json_build_init(&p->columns[side], cfg->max_message_bytes);
        p->reader[side] = mr_json_reader_create(&limits);
    }
    p->cn = mr_connect_create(cfg);
    p->ar = mr_arena_create(4096);
    p->declared = mr_map_create();
    p->key_schemas = mr_map_create();
    p->with_additional = mr_map_create();
    enum mr_status status = mr_payload_rules_create(cfg, &p->rules, err);
    if (status == MR_OK)
        status = check_columns(p, err);
    if (status == MR_OK)
        status = mr_payload_schemas_create(cfg, &p->schemas, err);
    if (status == MR_OK)
        status = check_registry(p, err);
    if (status == MR_OK)
        status = check_files(p, err);
    if (status != MR_OK) {
        mr_payloads_destroy(p);
        return status;
    }
    *out = p;
    return MR_OK;
}

void mr_payloads_destroy(struct mr_payloads *p)
{
    if (p == NULL)
        return;
    for (size_t side = 0; side < 2; side++) {
        mr_json_build_free(&p->build[side]);
        mr_json_build_free(&p->columns[side]);
        mr_json_reader_destroy(p->reader[side]);
    }
    mr_map_destroy(p->declared, NULL);
    mr_map_destroy(p->key_schemas, NULL);
    mr_map_destroy(p->with_additional, NULL);
    mr_arena_destroy(p->ar);
    mr_connect_destroy(p->cn);
    mr_payload_schemas_destroy(p->schemas);
    mr_payload_rules_destroy(p->rules);
    mr_xfree(p);
}

const char *mr_payloads_decoder(struct mr_payloads *p, struct mr_str topic)
{
    return mr_payload_rule_of(p->rules, topic)->decoder_z;
}

const char *mr_payloads_decoder_at(struct mr_payloads *p, size_t i)
{
    const struct mr_payload_rule *rule = mr_payload_rule_at(p->rules, i);
    return rule == NULL ? NULL : rule->decoder_z;
}

/* ---- With a registry ---- */

static enum mr_status open_avro(struct mr_payloads *p, enum mr_connect_side side,
                                const struct mr_payload_schema *schema, struct mr_str bytes,
                                struct mr_arena *ar, struct mr_connect_message *out, struct mr_error *err)
{
    struct mr_avro_limits limits = {
        .max_depth = p->cfg->max_depth < MAX_AVRO_DEPTH ? p->cfg->max_depth : MAX_AVRO_DEPTH,
        .max_items = MAX_AVRO_ITEMS,
        .allow_ill_formed = p->cfg->text_invalid != MR_TEXT_DEAD_LETTER,
        .allow_trailing = !p->cfg->avro_fail_on_trailing,
    };
    struct mr_json_build *b = &p->build[side];
    bool is_bare = side == MR_SIDE_VALUE && schema->bare_row != NULL;
    mr_json_build_reset(b);
    if (is_bare) {
        mr_json_build_open(b, MR_J_OBJECT);
        mr_json_build_name(b, MR_BARE_VALUE);
    }
    MR_TRY(mr_avro_read(schema->avro, bytes, &limits, b, err));
    if (is_bare)
        mr_json_build_close(b);
    MR_TRY(mr_json_build_finish(b, ar, &out->doc, err));
    out->schema = is_bare ? schema->bare_row : schema->connect;
    /* A null that stands alone is a null value, not a row whose one column is null. */
    if (is_bare && out->doc.node_count == 3 && mr_json_is(&out->doc, 2, MR_J_NULL))
        out->is_null = true;
    return MR_OK;
}

static enum mr_status open_protobuf(struct mr_payloads *p, enum mr_connect_side side,
                                    const struct mr_payload_schema *schema, const struct mr_frame *frame,
                                    struct mr_arena *ar, struct mr_connect_message *out, struct mr_error *err)
{
    struct mr_json_build *b = &p->build[side];
    struct mr_proto_message *msg;
    struct mr_str bytes = frame->payload, indexes = frame->indexes;
    bool is_plain = p->cfg->protobuf_plain_indexes && !frame->is_named;
    MR_TRY(mr_proto_message_of(schema->proto, frame->has_indexes ? &indexes : &bytes, is_plain, &msg, err));
    mr_json_build_reset(b);
    MR_TRY(mr_proto_read(msg, bytes, p->cfg->text_invalid != MR_TEXT_DEAD_LETTER, b, err));
    out->schema = mr_proto_connect(schema->proto, msg);
    return mr_json_build_finish(b, ar, &out->doc, err);
}

/* Members of a value that its schema does not name. */
static enum mr_status settle_additional(struct mr_payloads *p, const struct mr_payload_schema *schema, struct mr_str topic, struct mr_arena *ar,
                                        struct mr_connect_message *out, struct mr_error *err)
{
    bool is_row = schema->bare_row == NULL && schema->connect->kind == MR_C_STRUCT && mr_json_is(&out->doc, 0, MR_J_OBJECT);
    uint32_t first = is_row ? mr_additional_first(schema->connect, &out->doc, 0, ar) : MR_JSON_NONE;
    if (first == MR_JSON_NONE)
        return MR_OK;
    if (schema->additional != NULL) {
        struct mr_json_doc all = out->doc;
        out->schema = schema->additional;
        return mr_additional_gather(schema->connect, &all, 0, &p->build[MR_SIDE_VALUE], ar, &out->doc, err);
    }
    if (mr_map_get(p->with_additional, topic) == NULL && mr_map_count(p->with_additional) < MAX_KEY_SCHEMAS) {
        mr_map_put(p->with_additional, topic, p);
        mr_log(MR_LOG_WARN, "values have members that their schema does not name; they are left out", MR_KV_STR("topic", topic),
               MR_KV_STR("member", mr_json_string(&out->doc, first, ar, NULL)), MR_KV_Z("hint", "json.additional: column keeps them"));
    }
    return MR_OK;
}

static enum mr_status open_json(struct mr_payloads *p, enum mr_connect_side side,
                                const struct mr_payload_schema *schema, struct mr_str topic, struct mr_str bytes,
                                struct mr_arena *ar, struct mr_connect_message *out, struct mr_error *err)
{
    struct mr_json_build *b = &p->build[side];
    MR_TRY(mr_json_parse(p->reader[side], bytes, &out->doc, err));
    out->schema = schema->connect;
    if (side == MR_SIDE_VALUE)
        MR_TRY(settle_additional(p, schema, topic, ar, out, err));
    if (side == MR_SIDE_KEY || mr_json_is(&out->doc, 0, MR_J_OBJECT) || mr_json_is(&out->doc, 0, MR_J_NULL))
        return MR_OK;
    /* A value that is no object is a row of one column. */
    struct mr_json_doc bare = out->doc;
    mr_json_build_reset(b);
    mr_json_build_open(b, MR_J_OBJECT);
    mr_json_build_name(b, MR_BARE_VALUE);
    mr_json_build_copy(b, &bare, 0);
    mr_json_build_close(b);
    out->schema = schema->bare_row;
    return mr_json_build_finish(b, ar, &out->doc, err);
}

static bool fits(enum mr_encoding encoding, enum mr_schema_type type)
{
    return encoding == MR_ENC_AUTO || (encoding == MR_ENC_AVRO && type == MR_SCHEMA_AVRO) ||
           (encoding == MR_ENC_PROTOBUF && type == MR_SCHEMA_PROTOBUF) ||
           (encoding == MR_ENC_JSON_SR && type == MR_SCHEMA_JSON);
}

/* The framing's id is part of a key's bytes, so with a new schema the same key may come by another partition, and the order between old and
 * new records is gone. Told once for each schema of a topic but its first. */
static void note_key_schema(struct mr_payloads *p, const struct mr_record *rec, const struct mr_frame *frame)
{
    struct mr_buf name = MR_BUF_INIT(1u << 16), called = MR_BUF_INIT(1u << 16);
    mr_buf_append_str(&name, rec->topic);
    size_t topic_len = name.len;
    mr_buf_append_char(&name, 0);
    mr_frame_append_key(frame, &name);
    uint64_t place = mr_hash(name.data, name.len, 0);
    bool is_as_before = place == p->last_key_place; /* as nearly always */
    p->last_key_place = place;
    if (is_as_before || mr_map_get(p->key_schemas, mr_buf_str(&name)) != NULL ||
        mr_map_count(p->key_schemas) >= MAX_KEY_SCHEMAS)
        goto done;
    struct mr_str topic = mr_str_of(name.data, topic_len);
    bool is_known_topic = mr_map_get(p->key_schemas, topic) != NULL;
    mr_map_put(p->key_schemas, topic, p);
    mr_map_put(p->key_schemas, mr_buf_str(&name), p);
    mr_frame_append_name(frame, &called);
    if (is_known_topic)
        mr_log(MR_LOG_WARN, "the topic's keys have another schema", MR_KV_STR("topic", rec->topic),
               MR_KV_STR("schema", mr_buf_str(&called)),
               MR_KV_Z("note", "the same key may come by another partition now, so old and new events of "
                               "a row may overtake each other"));
done:
    mr_buf_free(&name);
    mr_buf_free(&called);
}

static enum mr_status wrong_kind(const struct mr_frame *frame, enum mr_schema_type type,
                                 enum mr_encoding encoding, struct mr_error *err)
{
    struct mr_buf name = MR_BUF_INIT(1u << 16);
    mr_frame_append_name(frame, &name);
    enum mr_status status =
        mr_fail_data(err, MR_CODE_SCHEMA_TYPE, "schema %s is of the kind %s, but the format is %s",
                     mr_buf_z(&name), mr_schema_type_name(type), mr_encoding_name(encoding));
    mr_buf_free(&name);
    return status;
}

static enum mr_status open_framed(struct mr_payloads *p, const struct mr_payload_rule *rule,
                                  enum mr_connect_side side, const struct mr_record *rec, struct mr_str bytes,
                                  struct mr_arena *ar, struct mr_connect_message *out, struct mr_error *err)
{
    enum mr_encoding encoding = rule->encoding[side];
    struct mr_frame frame;
    const struct mr_payload_schema *schema;
    MR_TRY(mr_frame_read(&rule->framing[side], rec, side, bytes, &frame, err));
    MR_TRY(mr_payload_schemas_get(p->schemas, &frame, &schema, err));
    if (side == MR_SIDE_KEY)
        note_key_schema(p, rec, &frame);
    if (!fits(encoding, schema->type))
        return wrong_kind(&frame, schema->type, encoding, err);
    switch (schema->type) {
    case MR_SCHEMA_AVRO:
        MR_TRY(open_avro(p, side, schema, frame.payload, ar, out, err));
        break;
    case MR_SCHEMA_JSON:
        MR_TRY(open_json(p, side, schema, rec->topic, frame.payload, ar, out, err));
        break;
    case MR_SCHEMA_PROTOBUF:
        MR_TRY(open_protobuf(p, side, schema, &frame, ar, out, err));
        break;
    }
    out->is_wrapped = true;
    out->root = 0;
    if (out->is_null || mr_json_is(&out->doc, 0, MR_J_NULL)) {
        out->is_null = true;
        out->root = MR_JSON_NONE;
    }
    return MR_OK;
}

/* ---- One side ---- */

/* JSON text, and nothing else. */
static enum mr_status open_text(struct mr_payloads *p, const struct mr_payload_rule *rule, enum mr_connect_side side, const struct mr_record *rec,
                                struct mr_arena *ar, struct mr_connect_message *out, struct mr_error *err)
{
    struct mr_str bytes = side == MR_SIDE_KEY ? rec->key : rec->value;
    struct mr_str envelope = side == MR_SIDE_KEY ? rule->envelope : MR_STR("");
    p->cn->no_wrapper = mr_str_eq_z(envelope, "false");
    enum mr_status status = mr_connect_open(p->cn, side, rec, ar, out, err);
    if (status == MR_OK && mr_str_eq_z(envelope, "true") && !out->is_null && !out->is_text && !out->is_wrapped)
        return mr_fail_data(err, MR_CODE_BAD_VALUE,
                            "this is no object with the members schema and payload (key.json.envelope is true)");
    bool is_framed = bytes.len != 0 && bytes.ptr[0] == 0;
    bool is_bad = bytes.len == 0 || is_framed || (status == MR_OK && out->is_text) ||
                  (status == MR_E_DATA && err != NULL && strcmp(err->code, MR_CODE_UNSUPPORTED) == 0);
    if (!is_bad)
        return status;
    return mr_fail_data(err, MR_CODE_BAD_JSON,
                        is_framed
                            ? "this is no JSON: it begins with a zero byte, as what a schema registry frames "
                              "(format json_sr)"
                            : "this is no JSON");
}

/* A value that stands for itself (wrap.single.value: false): a row of one column. */
static enum mr_status wrap_value(struct mr_payloads *p, struct mr_arena *ar, struct mr_connect_message *msg,
                                 struct mr_error *err)
{
    struct mr_json_build *b = &p->build[MR_SIDE_VALUE];
    mr_json_build_reset(b);
    mr_json_build_open(b, MR_J_OBJECT);
    mr_json_build_name(b, MR_BARE_VALUE);
    mr_json_build_copy(b, &msg->doc, msg->root);
    mr_json_build_close(b);
    MR_TRY(mr_json_build_finish(b, ar, &msg->doc, err));
    if (msg->schema != NULL)
        msg->schema = mr_payload_bare_row(msg->schema, ar);
    msg->root = 0;
    msg->is_wrapped = true;
    return MR_OK;
}

/* Declared columns of bytes that know no names. */
static enum mr_status open_bytes(struct mr_payloads *p, const struct mr_payload_rule *rule,
                                 enum mr_connect_side side, struct mr_str bytes,
                                 const struct mr_columns_from *from, struct mr_arena *ar,
                                 struct mr_connect_message *out, struct mr_error *err)
{
    struct mr_json_build *b = &p->build[side];
    mr_json_build_reset(b);
    mr_json_build_open(b, MR_J_OBJECT);
    if (rule->encoding[side] == MR_ENC_KAFKA && from->columns->items[0].kind == MR_SQL_STRING &&
        mr_charset_decode(rule->text_encoding[side], bytes, ar, &bytes) != MR_CHARSET_OK)
        return mr_fail_data(err, MR_CODE_BAD_UTF8, "column \"%.*s\": the bytes are no text in %.*s", MR_STR_FMT(from->columns->items[0].name),
                            MR_STR_FMT(rule->text_encoding[side]));
    MR_TRY(rule->encoding[side] == MR_ENC_KAFKA
               ? mr_columns_kafka(from->columns, bytes, b, err)
               : mr_columns_delimited(from->columns, rule->delimiter[side], bytes, ar, b, err));
    mr_json_build_close(b);
    MR_TRY(mr_json_build_finish(b, ar, &out->doc, err));
    out->root = 0;
    out->is_wrapped = true;
    out->schema = from->columns->schema;
    return MR_OK;
}

/* A side in its format, with what is declared of it. */
static enum mr_status open_encoded(struct mr_payloads *p, const struct mr_payload_rule *rule,
                                   enum mr_connect_side side, const struct mr_record *rec,
                                   struct mr_str bytes, struct mr_arena *ar, struct mr_connect_message *out,
                                   struct mr_error *err)
{
    struct mr_columns_from from = {.rule = rule, .side = side, .encoding = rule->encoding[side]};
    struct mr_columns none = {0};
    bool is_key = side == MR_SIDE_KEY,
         is_bytes = from.encoding == MR_ENC_KAFKA || from.encoding == MR_ENC_DELIMITED;
    MR_TRY(columns_of(p, rule, side, &from.columns, err));
    if (from.encoding == MR_ENC_NONE || (is_bytes && from.columns->count == 0)) {
        out->is_null = true; /* nobody looks at it */
        return MR_OK;
    }
    if (is_key)
        MR_TRY(mr_window_cut(rule->window, &bytes, &from.window, err));
    struct mr_record with = *rec;
    if (is_key)
        with.key = bytes;
    if (is_bytes) {
        MR_TRY(open_bytes(p, rule, side, bytes, &from, ar, out, err));
        from.columns = &none;
    } else if (from.encoding == MR_ENC_JSON) {
        MR_TRY(open_text(p, rule, side, &with, ar, out, err));
        if (!is_key && from.columns->count == 0 && !out->is_null)
            MR_TRY(wrap_value(p, ar, out, err));
    } else {
        MR_TRY(open_framed(p, rule, side, &with, bytes, ar, out, err));
    }
    if (is_key) {
        out->scalar_name = rule->column_name.len != 0 ? rule->column_name : MR_STR("ROWKEY");
        if (from.columns->count == 0 && !out->is_null)
            MR_TRY(mr_key_check_maps(out->schema, err));
    }
    return mr_columns_pick(p->cn, &from, ar, &p->columns[side], out, err);
}

/* Formats whose bytes may begin like a registry's framing: where one of them is named, nobody asks the registry. */
static bool has_own_bytes(const struct mr_payload_rule *rule)
{
    static const char *const json_formats[] = {"auto", "debezium", "flat", "json"};
    for (size_t i = 0; i < sizeof(json_formats) / sizeof(json_formats[0]); i++)
        if (strcmp(rule->decoder_z, json_formats[i]) == 0)
            return false;
    return true;
}

static enum mr_status open_side(struct mr_payloads *p, const struct mr_payload_rule *rule,
                                enum mr_connect_side side, const struct mr_record *rec, struct mr_arena *ar,
                                struct mr_opened *out, struct mr_error *err)
{
    bool is_key = side == MR_SIDE_KEY;
    struct mr_str bytes = is_key ? rec->key : rec->value;
    enum mr_encoding encoding = rule->encoding[side];
    struct mr_connect_message *msg = &out->message[side];
    *msg = (struct mr_connect_message){.root = MR_JSON_NONE};
    out->has[side] = false;
    if (encoding == MR_ENC_AUTO &&
        (!mr_payload_schemas_has_registry(p->schemas) || (!is_key && has_own_bytes(rule)) ||
         !mr_frame_sniff(&rule->framing[side], rec, side, bytes)))
        return MR_OK;
    if (encoding == MR_ENC_AUTO && !is_key &&
        mr_dts_is(bytes, ar)) /* its first byte is a frame's, too; nothing framed passes as one */
        return MR_OK;
    out->has[side] = true;
    if (!(is_key ? rec->has_key : rec->has_value)) {
        msg->is_null = true;
        return MR_OK;
    }
    enum mr_status status = open_encoded(p, rule, side, rec, bytes, ar, msg, err);
    if (status == MR_E_DATA && encoding == MR_ENC_AUTO &&
        strcmp(err != NULL ? err->code : "", MR_CODE_UNKNOWN_SCHEMA) == 0)
        mr_error_hint(err,
                      "it looks framed by a registry; if it is not, name its format (%s), for this topic "
                      "under topics; if it is, "
                      "the record was written with another registry, or the schema has been deleted there",
                      is_key ? "format.key: kafka, none, …" : "format.value");
    if (status == MR_E_DATA)
        mr_error_prefix(err, "%s: ", is_key ? "key" : "value");
    return status;
}

enum mr_status mr_payloads_open(struct mr_payloads *p, const struct mr_record *rec, struct mr_arena *ar,
                                struct mr_opened *out, struct mr_error *err)
{
    const struct mr_payload_rule *rule = mr_payload_rule_of(p->rules, rec->topic);
    MR_TRY(open_side(p, rule, MR_SIDE_VALUE, rec, ar, out, err));
    MR_TRY(open_side(p, rule, MR_SIDE_KEY, rec, ar, out, err));
    const struct mr_connect_message *key = &out->message[MR_SIDE_KEY];
    out->key_is_observed = rule->encoding[MR_SIDE_KEY] == MR_ENC_JSON &&
                           rule->columns[MR_SIDE_KEY].len == 0 && !key->is_null && key->schema == NULL;
    out->is_encoded = out->has[MR_SIDE_VALUE] && !out->message[MR_SIDE_VALUE].is_null;
    return MR_OK;
}

bool mr_payloads_key_is_explicit(struct mr_payloads *p, struct mr_str topic)
{
    const struct mr_payload_rule *rule = mr_payload_rule_of(p->rules, topic);
    return rule->is_key_explicit && mr_payload_rule_reads_key(rule);
}

enum mr_status mr_payloads_hold(struct mr_payloads *p, const struct mr_opened *opened,
                                const struct mr_record *rec, struct mr_arena *ar, struct mr_change *ev,
                                bool *is_skipped, struct mr_error *err)
{
    ev->is_key_observed = opened->key_is_observed;
    return mr_key_hold(p->cfg, mr_payload_rule_of(p->rules, rec->topic), rec, ar, ev, is_skipped, err);
}
