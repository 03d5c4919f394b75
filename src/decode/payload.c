/* Opening keys and values. See payload.h. */
#include "payload.h"

#include <stdio.h>

#include <millrace/base/mem.h>

#include "payload_rules.h"
#include "payload_schemas.h"

#define MAX_AVRO_DEPTH 128
#define MAX_AVRO_ITEMS 1000000

struct mr_payloads {
    const struct mr_config *cfg;
    struct mr_payload_rules *rules;
    struct mr_payload_schemas *schemas; /* NULL without a registry */
    struct mr_json_build build[2];      /* by side */
    struct mr_json_reader *reader[2];
};

/* ---- Life ---- */

static enum mr_status check_registry(struct mr_payloads *p, struct mr_error *err)
{
    const struct mr_payload_rule *r;
    for (size_t i = 0; (r = mr_payload_rule_at(p->rules, i)) != NULL; i++) {
        for (size_t side = 0; side < 2; side++) {
            enum mr_encoding e = r->encoding[side];
            if (p->schemas != NULL || (e != MR_ENC_AVRO && e != MR_ENC_PROTOBUF && e != MR_ENC_JSON_SR))
                continue;
            enum mr_status status = mr_fail(err, MR_E_CONFIG, "the format %s needs a schema registry", mr_encoding_name(e));
            mr_error_hint(err, "set registry.url");
            return status;
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
        p->reader[side] = mr_json_reader_create(&limits);
    }
    enum mr_status status = mr_payload_rules_create(cfg, &p->rules, err);
    if (status == MR_OK && cfg->registry.url != NULL && *cfg->registry.url != 0)
        status = mr_payload_schemas_create(cfg, &p->schemas, err);
    if (status == MR_OK)
        status = check_registry(p, err);
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
        mr_json_reader_destroy(p->reader[side]);
    }
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

static enum mr_status open_avro(struct mr_payloads *p, enum mr_connect_side side, const struct mr_payload_schema *schema,
                                struct mr_str bytes, struct mr_arena *ar, struct mr_connect_message *out, struct mr_error *err)
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

static enum mr_status open_protobuf(struct mr_payloads *p, enum mr_connect_side side, const struct mr_payload_schema *schema,
                                    struct mr_str bytes, struct mr_arena *ar, struct mr_connect_message *out, struct mr_error *err)
{
    struct mr_json_build *b = &p->build[side];
    struct mr_proto_message *msg;
    MR_TRY(mr_proto_message_of(schema->proto, &bytes, &msg, err));
    mr_json_build_reset(b);
    MR_TRY(mr_proto_read(msg, bytes, p->cfg->text_invalid != MR_TEXT_DEAD_LETTER, b, err));
    out->schema = mr_proto_connect(schema->proto, msg);
    return mr_json_build_finish(b, ar, &out->doc, err);
}

static enum mr_status open_json(struct mr_payloads *p, enum mr_connect_side side, const struct mr_payload_schema *schema,
                                struct mr_str bytes, struct mr_arena *ar, struct mr_connect_message *out, struct mr_error *err)
{
    struct mr_json_build *b = &p->build[side];
    MR_TRY(mr_json_parse(p->reader[side], bytes, &out->doc, err));
    out->schema = schema->connect;
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
           (encoding == MR_ENC_PROTOBUF && type == MR_SCHEMA_PROTOBUF) || (encoding == MR_ENC_JSON_SR && type == MR_SCHEMA_JSON);
}

static enum mr_status open_framed(struct mr_payloads *p, const struct mr_payload_rule *rule, enum mr_connect_side side,
                                  const struct mr_record *rec, struct mr_str bytes, struct mr_arena *ar,
                                  struct mr_connect_message *out, struct mr_error *err)
{
    enum mr_encoding encoding = rule->encoding[side];
    struct mr_frame frame;
    const struct mr_payload_schema *schema;
    MR_TRY(mr_frame_read(rec, side, bytes, &frame, err));
    MR_TRY(mr_payload_schemas_get(p->schemas, &frame, &schema, err));
    if (!fits(encoding, schema->type))
        return mr_fail_data(err, MR_CODE_SCHEMA_TYPE, "schema %u is of the kind %s, but the format is %s", frame.id,
                            mr_schema_type_name(schema->type), mr_encoding_name(encoding));
    switch (schema->type) {
    case MR_SCHEMA_AVRO:
        MR_TRY(open_avro(p, side, schema, frame.payload, ar, out, err));
        break;
    case MR_SCHEMA_JSON:
        MR_TRY(open_json(p, side, schema, frame.payload, ar, out, err));
        break;
    case MR_SCHEMA_PROTOBUF:
        MR_TRY(open_protobuf(p, side, schema, frame.payload, ar, out, err));
        break;
    }
    out->is_wrapped = true;
    out->root = 0;
    if (side == MR_SIDE_KEY)
        out->scalar_name = rule->column_name.len != 0 ? rule->column_name : MR_STR("ROWKEY");
    if (out->is_null || mr_json_is(&out->doc, 0, MR_J_NULL)) {
        out->is_null = true;
        out->root = MR_JSON_NONE;
    }
    return MR_OK;
}

/* ---- One side ---- */

static enum mr_status open_side(struct mr_payloads *p, const struct mr_payload_rule *rule, enum mr_connect_side side,
                                const struct mr_record *rec, struct mr_arena *ar, struct mr_opened *out, struct mr_error *err)
{
    bool is_key = side == MR_SIDE_KEY;
    struct mr_str bytes = is_key ? rec->key : rec->value;
    enum mr_encoding encoding = rule->encoding[side];
    struct mr_connect_message *msg = &out->message[side];
    *msg = (struct mr_connect_message){.root = MR_JSON_NONE};
    out->has[side] = false;
    if (encoding == MR_ENC_AUTO && (p->schemas == NULL || !mr_frame_sniff(rec, side, bytes)))
        return MR_OK;
    out->has[side] = true;
    if (!(is_key ? rec->has_key : rec->has_value)) {
        msg->is_null = true;
        return MR_OK;
    }
    enum mr_status status = open_framed(p, rule, side, rec, bytes, ar, msg, err);
    if (status == MR_E_DATA)
        mr_error_prefix(err, "%s: ", is_key ? "key" : "value");
    return status;
}

enum mr_status mr_payloads_open(struct mr_payloads *p, const struct mr_record *rec, struct mr_arena *ar, struct mr_opened *out,
                                struct mr_error *err)
{
    const struct mr_payload_rule *rule = mr_payload_rule_of(p->rules, rec->topic);
    MR_TRY(open_side(p, rule, MR_SIDE_VALUE, rec, ar, out, err));
    MR_TRY(open_side(p, rule, MR_SIDE_KEY, rec, ar, out, err));
    out->is_encoded = out->has[MR_SIDE_VALUE] && !out->message[MR_SIDE_VALUE].is_null;
    return MR_OK;
}
