/* Formats by topic. See payload_rules.h. */
#include "payload_rules.h"

#include <fnmatch.h>

#include <millrace/base/encode.h>
#include <millrace/base/map.h>
#include <millrace/base/mem.h>

static const struct {
    const char *name_z;
    enum mr_encoding encoding;
} names[] = {
    {"json", MR_ENC_JSON},           {"json_sr", MR_ENC_JSON_SR}, {"avro", MR_ENC_AVRO},
    {"protobuf", MR_ENC_PROTOBUF},   {"kafka", MR_ENC_KAFKA},     {"none", MR_ENC_NONE},
    {"delimited", MR_ENC_DELIMITED},
};

/* Settings of `topics`, in the order of enum member. */
static const char *const member_names[] = {
    "key",
    "value",
    "key_columns",
    "value_columns",
    "key_column_name",
    "key_delimiter",
    "value_delimiter",
    "key_wrap_single",
    "wrap_single_value",
    "key_window",
    "null_key",
    "key_value_conflict",
    "key_use_schema_id",
    "value_use_schema_id",
    "key_use_schema_guid",
    "value_use_schema_guid",
    "key_use_message_indexes",
    "value_use_message_indexes",
    "key_schema_file",
    "value_schema_file",
    "key_deserializer_encoding",
    "value_deserializer_encoding",
    "key_json_envelope",
};
enum member {
    M_KEY,
    M_VALUE,
    M_KEY_COLUMNS,
    M_VALUE_COLUMNS,
    M_COLUMN_NAME,
    M_KEY_DELIMITER,
    M_VALUE_DELIMITER,
    M_WRAP,
    M_WRAP_VALUE,
    M_WINDOW,
    M_NULL_KEY,
    M_CONFLICT,
    M_KEY_SCHEMA_ID, /* the value's of each pair is the next one */
    M_VALUE_SCHEMA_ID,
    M_KEY_SCHEMA_GUID,
    M_VALUE_SCHEMA_GUID,
    M_KEY_INDEXES,
    M_VALUE_INDEXES,
    M_KEY_SCHEMA_FILE,
    M_VALUE_SCHEMA_FILE,
    M_KEY_TEXT,
    M_VALUE_TEXT,
    M_ENVELOPE,
    MEMBERS,
};

struct mr_payload_rules {
    const struct mr_config *cfg;
    struct mr_map *by_topic;         /* topic → struct mr_payload_rule, owned */
    struct mr_payload_rule *general; /* the general rule, then one for each entry of `topics` */
    size_t count;
};

const char *mr_encoding_name(enum mr_encoding encoding)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].encoding == encoding)
            return names[i].name_z;
    return "auto";
}

static bool encoding_of(struct mr_str name, enum mr_encoding *out)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (mr_str_eq_nocase(name, mr_str_z(names[i].name_z))) {
            *out = names[i].encoding;
            return true;
        }
    }
    return false;
}

/* `pattern.member` */
static bool split(const char *key_z, struct mr_str *pattern, enum member *out)
{
    struct mr_str key = mr_str_z(key_z);
    ptrdiff_t dot = mr_str_rfind(key, '.');
    if (dot <= 0)
        return false;
    *pattern = mr_str_of(key.ptr, (size_t)dot);
    for (size_t m = 0; m < MEMBERS; m++) {
        if (mr_str_eq_z(mr_str_of(key.ptr + dot + 1, key.len - (size_t)dot - 1), member_names[m])) {
            *out = (enum member)m;
            return true;
        }
    }
    return false;
}

/* Does the pattern fit the topic, and how well: an exact name best, else the longest. 0 = no. */
static size_t fit(struct mr_str pattern, struct mr_str topic)
{
    if (mr_str_eq(pattern, topic))
        return SIZE_MAX;
    char *pattern_z = mr_xstrndup(pattern.ptr, pattern.len),
         *topic_z = mr_xstrndup(topic.len != 0 ? topic.ptr : "", topic.len);
    bool fits = fnmatch(pattern_z, topic_z, 0) == 0;
    mr_xfree(pattern_z);
    mr_xfree(topic_z);
    return fits ? pattern.len + 1 : 0;
}

/* What `topics` says of a member for the topic; "" = nothing. */
static struct mr_str override(const struct mr_config *cfg, struct mr_str topic, enum member want)
{
    struct mr_str best = MR_STR("");
    size_t best_fit = 0;
    for (size_t i = 0; i < cfg->topics.count; i++) {
        struct mr_str pattern;
        enum member m;
        if (!split(cfg->topics.items[i].key, &pattern, &m) || m != want)
            continue;
        size_t how = fit(pattern, topic);
        if (how > best_fit) {
            best_fit = how;
            best = mr_str_z(cfg->topics.items[i].value);
        }
    }
    return best;
}

static struct mr_str choose(const struct mr_config *cfg, struct mr_str topic, enum member m,
                            const char *otherwise_z)
{
    struct mr_str said = override(cfg, topic, m);
    return said.len != 0 ? said : mr_str_z(otherwise_z != NULL ? otherwise_z : "");
}

/* ---- Framings ---- */

static bool is_registry_format(enum mr_encoding e)
{
    return e == MR_ENC_AVRO || e == MR_ENC_PROTOBUF || e == MR_ENC_JSON_SR;
}

/* "1,0" to what a serializer writes in front of a message: how many, then each, as zigzag numbers. */
static bool read_indexes(struct mr_str text, struct mr_framing *out)
{
    int64_t path[MR_MAX_INDEXES / 2];
    size_t count = 0, len = 0;
    while (text.len != 0) {
        ptrdiff_t comma = mr_str_find(text, ',');
        size_t used = comma < 0 ? text.len : (size_t)comma;
        /* Two bytes each hold 8,191; nobody has more messages in one. */
        if (count >= MR_MAX_INDEXES / 2 - 1 ||
            !mr_parse_int64(mr_str_trim(mr_str_of(text.ptr, used)), &path[count]) || path[count] < 0 ||
            path[count] > 8191)
            return false;
        count++;
        if (comma >= 0 && used + 1 == text.len)
            return false;
        text = comma < 0 ? MR_STR("") : mr_str_of(text.ptr + used + 1, text.len - used - 1);
    }
    if (count >= MR_MAX_INDEXES / 2 - 1)
        return false;
    out->index_bytes[len++] = (unsigned char)(count * 2);
    for (size_t i = 0; i < count; i++) {
        uint64_t v = (uint64_t)path[i] * 2;
        if (v > 127)
            out->index_bytes[len++] = (unsigned char)(v | 128);
        out->index_bytes[len++] = (unsigned char)(v > 127 ? v >> 7 : v);
    }
    out->named.indexes = mr_str_of((const char *)out->index_bytes, len);
    return true;
}

static enum mr_schema_type type_of(enum mr_encoding e)
{
    return e == MR_ENC_PROTOBUF ? MR_SCHEMA_PROTOBUF : e == MR_ENC_JSON_SR ? MR_SCHEMA_JSON : MR_SCHEMA_AVRO;
}

/* What is wrong is told by check_framing. */
static void make_framing(const struct mr_config *cfg, size_t side, struct mr_payload_rule *rule)
{
    struct mr_framing *f = &rule->framing[side];
    int64_t id = 0;
    f->has_long_ids = cfg->registry.id_size == MR_ID_8;
    f->has_apicurio_headers = cfg->registry.apicurio_headers;
    f->type = f->named.type = type_of(rule->encoding[side]);
    f->is_bare = rule->schema_id[side].len != 0 || rule->schema_guid[side].len != 0 ||
                 rule->schema_file[side].len != 0;
    f->named.is_named = f->named.has_indexes = true;
    f->named.by = rule->schema_file[side].len != 0   ? MR_BY_FILE
                  : rule->schema_guid[side].len != 0 ? MR_BY_GUID
                                                     : MR_BY_ID;
    (void)mr_parse_int64(rule->schema_id[side], &id);
    f->named.id = (uint64_t)id;
    (void)mr_uuid_parse(rule->schema_guid[side], f->named.guid);
    f->named.files = rule->schema_file[side];
    (void)read_indexes(rule->indexes[side], f);
}

static enum mr_status check_framing(const struct mr_payload_rule *r, size_t side, struct mr_error *err)
{
    const char *side_z = side == MR_SIDE_KEY ? "key" : "value";
    struct mr_framing spare = {0};
    unsigned char guid[16];
    int64_t id;
    int said =
        (r->schema_id[side].len != 0) + (r->schema_guid[side].len != 0) + (r->schema_file[side].len != 0);
    if (said > 1)
        return mr_fail(
            err, MR_E_CONFIG,
            "%s.use.schema.id, %s.use.schema.guid and %s.schema.file each name the schema: leave all but one "
            "out",
            side_z, side_z, side_z);
    if (said != 0 && !is_registry_format(r->encoding[side]))
        return mr_fail(
            err, MR_E_CONFIG,
            "a schema is named for the %s, but its format is %s: it must be avro, protobuf or json_sr",
            side_z, mr_encoding_name(r->encoding[side]));
    if (r->indexes[side].len != 0 && (said == 0 || r->encoding[side] != MR_ENC_PROTOBUF))
        return mr_fail(err, MR_E_CONFIG,
                       "%s.use.message.indexes is for messages of the format protobuf whose schema is named "
                       "(%s.use.schema.id)",
                       side_z, side_z);
    if (!read_indexes(r->indexes[side], &spare))
        return mr_fail(err, MR_E_CONFIG, "%s.use.message.indexes: \"%.*s\" is no list of indexes like 1,0",
                       side_z, MR_STR_FMT(r->indexes[side]));
    if (r->schema_id[side].len != 0 && (!mr_parse_int64(r->schema_id[side], &id) || id < 0))
        return mr_fail(err, MR_E_CONFIG, "%s.use.schema.id: \"%.*s\" is no schema's id", side_z,
                       MR_STR_FMT(r->schema_id[side]));
    if (r->schema_guid[side].len != 0 && !mr_uuid_parse(r->schema_guid[side], guid))
        return mr_fail(err, MR_E_CONFIG, "%s.use.schema.guid: \"%.*s\" is no GUID", side_z,
                       MR_STR_FMT(r->schema_guid[side]));
    return MR_OK;
}

/* NUL-terminated: all texts are whole options. */
static void make(const struct mr_config *cfg, struct mr_str topic, struct mr_payload_rule *out)
{
    *out = (struct mr_payload_rule){.decoder_z = "auto"};
    const char *format_z = cfg->format;
    struct mr_str value = choose(cfg, topic, M_VALUE, cfg->value_format);
    struct mr_str key = choose(cfg, topic, M_KEY, cfg->key_format);
    enum mr_encoding both = MR_ENC_AUTO;
    bool is_both = value.len == 0 && encoding_of(mr_str_z(format_z), &both);

    if (value.len == 0)
        value = mr_str_z(format_z);
    if (!encoding_of(value, &out->encoding[MR_SIDE_VALUE]))
        out->decoder_z = value.ptr;
    out->columns[MR_SIDE_KEY] = choose(cfg, topic, M_KEY_COLUMNS, cfg->key_columns);
    out->columns[MR_SIDE_VALUE] = choose(cfg, topic, M_VALUE_COLUMNS, cfg->value_columns);
    out->wrap_single[MR_SIDE_KEY] = choose(cfg, topic, M_WRAP, cfg->key_wrap_single);
    out->wrap_single[MR_SIDE_VALUE] = choose(cfg, topic, M_WRAP_VALUE, cfg->wrap_single_value);
    if (out->encoding[MR_SIDE_VALUE] == MR_ENC_JSON) { /* plain rows: the decoder of that name reads them */
        bool is_plain =
            out->columns[MR_SIDE_VALUE].len == 0 && !mr_str_eq_z(out->wrap_single[MR_SIDE_VALUE], "false");
        out->decoder_z = "json";
        out->encoding[MR_SIDE_VALUE] = is_plain ? MR_ENC_AUTO : MR_ENC_JSON;
    }
    bool has_columns = out->columns[MR_SIDE_KEY].len != 0;
    out->is_key_explicit = key.len != 0 || has_columns;
    if (key.len != 0)
        (void)encoding_of(key, &out->encoding[MR_SIDE_KEY]); /* checked by check() */
    else if (is_both && (both != MR_ENC_JSON || has_columns))
        out->encoding[MR_SIDE_KEY] = both;
    else if (has_columns)
        (void)encoding_of(mr_str_z(cfg->default_key_format), &out->encoding[MR_SIDE_KEY]);
    if (out->encoding[MR_SIDE_KEY] == MR_ENC_AUTO)
        out->is_key_explicit = false;

    out->column_name = choose(cfg, topic, M_COLUMN_NAME, cfg->key_column_name);
    out->delimiter[MR_SIDE_KEY] = choose(cfg, topic, M_KEY_DELIMITER, cfg->key_delimiter);
    out->delimiter[MR_SIDE_VALUE] = choose(cfg, topic, M_VALUE_DELIMITER, cfg->value_delimiter);
    out->text_encoding[MR_SIDE_KEY] = choose(cfg, topic, M_KEY_TEXT, cfg->key_text_encoding);
    out->text_encoding[MR_SIDE_VALUE] = choose(cfg, topic, M_VALUE_TEXT, cfg->value_text_encoding);
    out->envelope = choose(cfg, topic, M_ENVELOPE, cfg->key_json_envelope);
    out->window = choose(cfg, topic, M_WINDOW, cfg->key_window);
    out->null_key = choose(cfg, topic, M_NULL_KEY, cfg->null_key);
    out->conflict = choose(cfg, topic, M_CONFLICT, cfg->key_value_conflict);
    for (unsigned side = 0; side < 2; side++) {
        const struct mr_bare_config *bare = side == MR_SIDE_KEY ? &cfg->key_bare : &cfg->value_bare;
        unsigned second = side == MR_SIDE_KEY ? 0 : 1;
        out->schema_id[side] = choose(cfg, topic, M_KEY_SCHEMA_ID + second, bare->schema_id);
        out->schema_guid[side] = choose(cfg, topic, M_KEY_SCHEMA_GUID + second, bare->schema_guid);
        out->indexes[side] = choose(cfg, topic, M_KEY_INDEXES + second, bare->message_indexes);
        out->schema_file[side] = choose(cfg, topic, M_KEY_SCHEMA_FILE + second, bare->schema_file);
        make_framing(cfg, side, out);
    }
}

/* ---- What can be seen without a record ---- */

static enum mr_status check_word(const char *option_z, struct mr_str said, const char *a_z, const char *b_z,
                                 const char *c_z, struct mr_error *err)
{
    if (said.len == 0 || mr_str_eq_z(said, a_z) || mr_str_eq_z(said, b_z) ||
        (c_z != NULL && mr_str_eq_z(said, c_z)))
        return MR_OK;
    return mr_fail(err, MR_E_CONFIG, "%s: \"%.*s\" is none of %s, %s%s%s", option_z, MR_STR_FMT(said), a_z,
                   b_z, c_z != NULL ? ", " : "", c_z != NULL ? c_z : "");
}

/* Of the texts that Kafka's serializers write; UTF-8 needs no saying. */
static enum mr_status check_text_encoding(const struct mr_payload_rule *r, size_t side, struct mr_error *err)
{
    struct mr_str said = r->text_encoding[side];
    const char *option_z = side == MR_SIDE_KEY ? "key.deserializer.encoding" : "value.deserializer.encoding";
    if (said.len == 0 || mr_str_eq_nocase(said, MR_STR("UTF-8")))
        return MR_OK;
    if (!mr_str_eq_nocase(said, MR_STR("US-ASCII")) && !mr_str_eq_nocase(said, MR_STR("ISO-8859-1")))
        return mr_fail(err, MR_E_CONFIG, "%s: \"%.*s\" is none of UTF-8, US-ASCII, ISO-8859-1", option_z, MR_STR_FMT(said));
    if (r->encoding[side] != MR_ENC_KAFKA)
        return mr_fail(err, MR_E_CONFIG, "%s is for texts of the format kafka: JSON, Avro and the others have UTF-8", option_z);
    return MR_OK;
}

static enum mr_status check_envelope(const struct mr_payload_rule *r, struct mr_error *err)
{
    MR_TRY(check_word("key.json.envelope", r->envelope, "auto", "true", "false", err));
    if (r->envelope.len == 0 || mr_str_eq_z(r->envelope, "auto") || r->encoding[MR_SIDE_KEY] == MR_ENC_JSON)
        return MR_OK;
    return mr_fail(err, MR_E_CONFIG, "key.json.envelope is for keys whose format is json: format.key");
}

static enum mr_status check_key_name(struct mr_str name, struct mr_error *err)
{
    enum mr_encoding encoding;
    if (name.len == 0 || encoding_of(name, &encoding))
        return MR_OK;
    enum mr_status status =
        mr_fail(err, MR_E_CONFIG, "there is no format \"%.*s\" for keys", MR_STR_FMT(name));
    mr_error_hint(err, "formats of keys: kafka, delimited, json, json_sr, avro, protobuf, none");
    return status;
}

bool mr_payload_rule_reads_key(const struct mr_payload_rule *rule)
{
    enum mr_encoding e = rule->encoding[MR_SIDE_KEY];
    bool is_bytes = e == MR_ENC_KAFKA || e == MR_ENC_DELIMITED;
    return e != MR_ENC_NONE && !(is_bytes && rule->columns[MR_SIDE_KEY].len == 0);
}

/* Upserts want a key: of the record, or named among the row's fields. */
static enum mr_status check_mode(const struct mr_config *cfg, const struct mr_payload_rule *r,
                                 struct mr_error *err)
{
    if (cfg->mode != MR_MODE_UPSERT || mr_payload_rule_reads_key(r))
        return MR_OK;
    for (size_t i = 0; i < cfg->table_count; i++)
        if (cfg->tables[i].key_mode == MR_KEY_FIELDS || cfg->tables[i].key_mode == MR_KEY_NONE)
            return MR_OK;
    enum mr_status status =
        mr_fail(err, MR_E_CONFIG,
                "mode is upsert, but keys of the format %s are not read, and no table has "
                "a key of its own",
                mr_encoding_name(r->encoding[MR_SIDE_KEY]));
    mr_error_hint(err,
                  "name the key: tables.NAME.primary_key; or leave out mode: rows without key are appended");
    return status;
}

static enum mr_status check_value_columns(const struct mr_payload_rule *r, struct mr_error *err)
{
    enum mr_encoding e = r->encoding[MR_SIDE_VALUE];
    bool is_bytes = e == MR_ENC_KAFKA || e == MR_ENC_DELIMITED;
    if (e == MR_ENC_AUTO && r->columns[MR_SIDE_VALUE].len != 0)
        return mr_fail(
            err, MR_E_CONFIG,
            "value.columns are declared, but the values' format is %s: it must be json, json_sr, avro, "
            "protobuf, kafka or delimited",
            r->decoder_z);
    if (r->wrap_single[MR_SIDE_VALUE].len != 0 && (e == MR_ENC_PROTOBUF || e == MR_ENC_AVRO))
        return mr_fail(err, MR_E_CONFIG,
                       "wrap.single.value is for the formats json and json_sr: with %s the schema tells",
                       mr_encoding_name(e));
    if (is_bytes && mr_str_eq_z(r->wrap_single[MR_SIDE_VALUE], "true"))
        return mr_fail(err, MR_E_CONFIG, "wrap.single.value: values of the format %s are never objects",
                       mr_encoding_name(e));
    return MR_OK;
}

static enum mr_status check_rule(const struct mr_payload_rule *r, struct mr_error *err)
{
    if (r->encoding[MR_SIDE_VALUE] == MR_ENC_NONE)
        return mr_fail(err, MR_E_CONFIG, "the format none is for keys only: values must be read");
    if (r->encoding[MR_SIDE_KEY] == MR_ENC_AUTO && r->columns[MR_SIDE_KEY].len != 0)
        return mr_fail(err, MR_E_CONFIG, "key.columns are declared, but no format of the key: format.key");
    if (r->encoding[MR_SIDE_KEY] == MR_ENC_NONE && r->columns[MR_SIDE_KEY].len != 0)
        return mr_fail(
            err, MR_E_CONFIG,
            "the key's format is none, so it has no columns: leave out key.columns or name another format");
    for (size_t side = 0; side < 2; side++)
        MR_TRY(check_framing(r, side, err));
    static const char *const delimited_z[2] = {"key.delimiter", "value.delimiter"};
    for (size_t side = 0; side < 2; side++)
        if (r->delimiter[side].len != 0 && r->encoding[side] != MR_ENC_DELIMITED)
            return mr_fail(err, MR_E_CONFIG, "%s is for the format delimited only", delimited_z[side]);
    if (r->columns[MR_SIDE_VALUE].len == 0 &&
        (r->encoding[MR_SIDE_VALUE] == MR_ENC_KAFKA || r->encoding[MR_SIDE_VALUE] == MR_ENC_DELIMITED))
        return mr_fail(err, MR_E_CONFIG, "values of the format %s need their columns: value.columns",
                       mr_encoding_name(r->encoding[MR_SIDE_VALUE]));
    MR_TRY(check_word("key.wrap.single", r->wrap_single[MR_SIDE_KEY], "auto", "true", "false", err));
    MR_TRY(check_word("wrap.single.value", r->wrap_single[MR_SIDE_VALUE], "true", "false", NULL, err));
    for (size_t side = 0; side < 2; side++)
        MR_TRY(check_text_encoding(r, side, err));
    MR_TRY(check_envelope(r, err));
    MR_TRY(check_value_columns(r, err));
    MR_TRY(check_word("key.window", r->window, "none", "time", "session", err));
    MR_TRY(check_word("null.key", r->null_key, "error", "skip", NULL, err));
    return check_word("key.value.conflict", r->conflict, "error", "key", "value", err);
}

static enum mr_status check(struct mr_payload_rules *rules, struct mr_error *err)
{
    const struct mr_config *cfg = rules->cfg;
    bool says_one = (cfg->key_format != NULL && *cfg->key_format != 0) ||
                    (cfg->value_format != NULL && *cfg->value_format != 0);
    if (says_one && strcmp(cfg->format, "auto") != 0)
        return mr_fail(
            err, MR_E_CONFIG,
            "format says it for key and value; leave out format.key and format.value, or format itself");
    MR_TRY(check_key_name(mr_str_z(cfg->key_format), err));
    MR_TRY(check_key_name(mr_str_z(cfg->default_key_format), err));
    for (size_t i = 0; i < cfg->topics.count; i++) {
        struct mr_str pattern;
        enum member m;
        if (!split(cfg->topics.items[i].key, &pattern, &m))
            return mr_fail(err, MR_E_CONFIG,
                           "topics: \"%.200s\" is no topic's name with a setting; write NAME: {value: avro}",
                           cfg->topics.items[i].key);
        if (m == M_KEY)
            MR_TRY(check_key_name(mr_str_z(cfg->topics.items[i].value), err));
    }
    for (size_t i = 0; i < rules->count; i++) {
        MR_TRY(check_rule(&rules->general[i], err));
        MR_TRY(check_mode(cfg, &rules->general[i], err));
    }
    return MR_OK;
}

enum mr_status mr_payload_rules_create(const struct mr_config *cfg, struct mr_payload_rules **out,
                                       struct mr_error *err)
{
    struct mr_payload_rules *rules = mr_xcalloc(1, sizeof(*rules));
    rules->cfg = cfg;
    rules->by_topic = mr_map_create();
    rules->general = mr_xcalloc(cfg->topics.count + 1, sizeof(*rules->general));
    make(cfg, MR_STR(""), &rules->general[rules->count++]);
    for (size_t i = 0; i < cfg->topics.count; i++) {
        struct mr_str pattern;
        enum member m;
        if (split(cfg->topics.items[i].key, &pattern, &m))
            make(cfg, pattern, &rules->general[rules->count++]);
    }
    enum mr_status status = check(rules, err);
    if (status != MR_OK) {
        mr_payload_rules_destroy(rules);
        return status;
    }
    *out = rules;
    return MR_OK;
}

void mr_payload_rules_destroy(struct mr_payload_rules *rules)
{
    if (rules == NULL)
        return;
    mr_map_destroy(rules->by_topic, mr_xfree);
    mr_xfree(rules->general);
    mr_xfree(rules);
}

const struct mr_payload_rule *mr_payload_rule_of(struct mr_payload_rules *rules, struct mr_str topic)
{
    if (rules->cfg->topics.count == 0)
        return &rules->general[0];
    struct mr_payload_rule *rule = mr_map_get(rules->by_topic, topic);
    if (rule == NULL) {
        rule = mr_xcalloc(1, sizeof(*rule));
        make(rules->cfg, topic, rule);
        mr_map_put(rules->by_topic, topic, rule);
    }
    return rule;
}

const struct mr_payload_rule *mr_payload_rule_at(struct mr_payload_rules *rules, size_t i)
{
    return i < rules->count ? &rules->general[i] : NULL;
}
