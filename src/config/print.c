/* What the configuration is, for people: every option with its value, its default and where it was said. Secrets are masked. */
#include "option.h"

#include <stdio.h>

#include <millrace/base/buf.h>

#include <strings.h>

#define MASK "***"

/* ---- Masking ---- */

/* Does a parameter's or property's name speak of something that must not be shown? */
static bool is_secret_name(struct mr_str name)
{
    static const char *const words[] = {"password", "passwd",  "secret",     "token",      "jaas",
                                        "private",  "key.pem", "credential", "passphrase", "sslkey",
                                        "authorization", "api-key",  "apikey"};
    for (size_t w = 0; w < sizeof words / sizeof words[0]; w++) {
        size_t len = strlen(words[w]);
        for (size_t i = 0; i + len <= name.len; i++) {
            if (strncasecmp(name.ptr + i, words[w], len) == 0)
                return true;
        }
    }
    return false;
}

/* name=value&… with the secret values masked. */
static void mask_parameters(struct mr_str text, struct mr_buf *out)
{
    while (text.len > 0) {
        size_t len = 0;
        while (len < text.len && text.ptr[len] != '&' && text.ptr[len] != ';')
            len++;
        struct mr_str one = mr_str_of(text.ptr, len);
        ptrdiff_t equals = mr_str_find(one, '=');
        if (equals >= 0 && is_secret_name(mr_str_of(one.ptr, (size_t)equals))) {
            mr_buf_append(out, one.ptr, (size_t)equals + 1);
            mr_buf_append_z(out, MASK);
        } else {
            mr_buf_append_str(out, one);
        }
        if (len < text.len)
            mr_buf_append_char(out, text.ptr[len++]);
        text = mr_str_of(text.ptr + len, text.len - len);
    }
}

/* Where the parameters begin: a question mark that a name and an equals sign follow. NULL if there are none. */
static const char *find_parameters(const char *text_z)
{
    for (const char *p = strchr(text_z, '?'); p; p = strchr(p + 1, '?')) {
        size_t name = strspn(p + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-.");
        if (name > 0 && p[1 + name] == '=')
            return p;
    }
    return NULL;
}

void mr_config_mask_url(const char *url_z, struct mr_buf *out)
{
    const char *authority = strstr(url_z, "://");
    const char *rest = url_z;

    if (strncmp(url_z, "sqlite:", 7) == 0) { /* a path */
        mr_buf_append_z(out, url_z);
        return;
    }
    authority = authority ? authority + 3 : url_z;
    const char *first_at = strchr(authority, '@');
    if (first_at) {
        /* A password written raw may hold /, ? and @, so it ends at the last @ before the parameters. Rather too much is masked
         * than too little. */
        const char *parameters = find_parameters(first_at);
        const char *at = first_at;
        for (const char *p = first_at; *p && p != parameters; p++) {
            if (*p == '@')
                at = p;
        }
        const char *colon = memchr(authority, ':', (size_t)(at - authority));
        if (colon) {
            mr_buf_append(out, url_z, (size_t)(colon + 1 - url_z));
            mr_buf_append_z(out, MASK);
            rest = at;
        }
    }
    const char *parameters = find_parameters(rest);
    size_t head = parameters ? (size_t)(parameters + 1 - rest) : strlen(rest);
    mr_buf_append(out, rest, head);
    mask_parameters(mr_str_z(rest + head), out);
}

/* ---- Printing ---- */

/* One line of the report, already rendered. */
struct line {
    const char *key_z;
    struct mr_str name; /* below a map option, else empty */
    const char *value_z;
    const char *default_z; /* NULL for entries of maps */
    const struct mr_config_origin *from;
};

static void append_key(const struct line *line, struct mr_buf *out)
{
    mr_buf_append_z(out, line->key_z);
    if (line->name.len > 0) {
        mr_buf_append_char(out, '.');
        mr_buf_append_str(out, line->name);
    }
}

static void append_origin(const struct mr_config_origin *from, struct mr_buf *out)
{
    switch (from->from) {
    case MR_FROM_DEFAULT:
        mr_buf_append_z(out, "default");
        break;
    case MR_FROM_FILE:
        mr_buf_printf(out, "%s:%u:%u", from->text_z, from->line, from->column);
        break;
    case MR_FROM_COMMAND:
        mr_buf_append_z(out, from->text_z);
        break;
    }
}

static void print_text(const struct line *line, struct mr_buf *out)
{
    size_t start = out->len;
    append_key(line, out);
    while (out->len - start < 38)
        mr_buf_append_char(out, ' ');
    mr_buf_printf(out, " = %s", line->value_z);
    while (out->len - start < 66)
        mr_buf_append_char(out, ' ');
    mr_buf_append_z(out, "  # ");
    append_origin(line->from, out);
    if (line->from->from != MR_FROM_DEFAULT && line->default_z)
        mr_buf_printf(out, " (default %s)", line->default_z);
    mr_buf_append_char(out, '\n');
}

static void print_json(const struct line *line, struct mr_buf *out)
{
    struct mr_buf text = MR_BUF_INIT(MR_CONFIG_MAX_TEXT);
    mr_buf_append_z(out, out->len > 0 ? ",\n " : "[");
    mr_buf_append_z(out, "{\"key\": ");
    append_key(line, &text);
    mr_buf_append_json(out, mr_buf_str(&text));
    mr_buf_printf(out, ", \"value\": %s, \"default\": %s, \"source\": ", line->value_z,
                  line->default_z ? line->default_z : "null");
    mr_buf_clear(&text);
    append_origin(line->from, &text);
    mr_buf_append_json(out, mr_buf_str(&text));
    mr_buf_append_char(out, '}');
    mr_buf_free(&text);
}

static void print_line(const struct line *line, bool json, struct mr_buf *out)
{
    if (json)
        print_json(line, out);
    else
        print_text(line, out);
}

/* An entry of a map option; value_z as JSON text already. */
static void print_entry(const struct mr_option *opt, const struct mr_config *cfg, struct mr_str name,
                        bool json, struct mr_buf *value, struct mr_buf *out)
{
    const struct line line = {opt->key_z, name, mr_buf_z(value), NULL, &cfg->origins[mr_option_index(opt)]};
    print_line(&line, json, out);
    mr_buf_clear(value);
}

static void print_pairs(const struct mr_option *opt, const struct mr_config *cfg, bool json,
                        struct mr_buf *out)
{
    struct mr_buf value = MR_BUF_INIT(MR_CONFIG_MAX_TEXT);
    const struct mr_pairs *pairs = (const struct mr_pairs *)((const char *)cfg + opt->offset);
    for (size_t i = 0; i < pairs->count; i++) {
        const struct mr_pair *pair = &pairs->items[i];
        bool secret = is_secret_name(mr_str_z(pair->key));
        mr_buf_append_json(&value, secret ? MR_STR(MASK) : mr_str_z(pair->value));
        print_entry(opt, cfg, mr_str_z(pair->key), json, &value, out);
    }
    mr_buf_free(&value);
}

static void append_type(const struct mr_column_rule *rule, struct mr_buf *out)
{
    char name[32], text[40];
    mr_type_text(rule->type, name);
    if (rule->digits > 0)
        snprintf(text, sizeof text, "%s(%u)", name, rule->digits);
    mr_buf_append_json(out, mr_str_z(rule->digits > 0 ? text : name));
}

static void print_columns(const struct mr_option *opt, const struct mr_config *cfg, bool json,
                          struct mr_buf *out)
{
    struct mr_buf value = MR_BUF_INIT(MR_CONFIG_MAX_TEXT);
    for (size_t i = 0; i < cfg->column_count; i++) {
        const struct mr_column_rule *rule = &cfg->columns[i];
        if (opt->type == MR_OPT_COLUMN_TYPES && rule->type.kind != MR_T_NONE)
            append_type(rule, &value);
        if (opt->type == MR_OPT_COLUMN_POLICIES && rule->policy != MR_POLICY_UNSET)
            mr_buf_append_json(&value, mr_str_z(mr_policy_name(rule->policy)));
        if (value.len > 0)
            print_entry(opt, cfg, mr_str_z(rule->name), json, &value, out);
    }
    mr_buf_free(&value);
}

static void append_member(struct mr_buf *out, const char *name_z, const char *word_z)
{
    mr_buf_append_z(out, out->len > 1 ? ", " : "");
    mr_buf_append_json(out, mr_str_z(name_z));
    mr_buf_append_z(out, ": ");
    mr_buf_append_json(out, mr_str_z(word_z));
}

static void append_primary_key(struct mr_buf *out, const struct mr_table_rule *rule)
{
    switch (rule->key_mode) {
    case MR_KEY_UNSET:
        break;
    case MR_KEY_RECORD:
        append_member(out, "primary_key", "record_key");
        break;
    case MR_KEY_RECORD_TEXT:
        append_member(out, "primary_key", "record_key_text");
        break;
    case MR_KEY_NONE:
        append_member(out, "primary_key", "none");
        break;
    case MR_KEY_FIELDS:
        mr_buf_append_z(out, "\"primary_key\": [");
        for (size_t i = 0; i < rule->key_fields.count; i++) {
            mr_buf_append_z(out, i > 0 ? ", " : "");
            mr_buf_append_json(out, mr_str_z(rule->key_fields.items[i]));
        }
        mr_buf_append_char(out, ']');
        break;
    }
}

static void print_tables(const struct mr_option *opt, const struct mr_config *cfg, bool json,
                         struct mr_buf *out)
{
    struct mr_buf value = MR_BUF_INIT(MR_CONFIG_MAX_TEXT);
    for (size_t i = 0; i < cfg->table_count; i++) {
        const struct mr_table_rule *rule = &cfg->tables[i];
        mr_buf_append_char(&value, '{');
        append_primary_key(&value, rule);
        if (rule->delete_mode != MR_DELETE_UNSET)
            append_member(&value, "delete", mr_word_name(mr_delete_words, rule->delete_mode));
        if (rule->policy != MR_POLICY_UNSET)
            append_member(&value, "policy", mr_policy_name(rule->policy));
        if (rule->missing != MR_MISSING_UNSET)
            append_member(&value, "missing", mr_word_name(mr_missing_words, rule->missing));
        mr_buf_append_char(&value, '}');
        print_entry(opt, cfg, mr_str_z(rule->pattern), json, &value, out);
    }
    mr_buf_free(&value);
}

/* The default as it would be printed: parsed and written again, since "60s" is shown as "1m". */
static void append_default(const struct mr_option *opt, bool json, struct mr_buf *out)
{
    struct mr_config defaults = {0};
    (void)mr_option_parse(opt, &defaults, mr_str_z(opt->default_z));
    mr_option_append_value(opt, &defaults, json, out);
    mr_option_free(opt, &defaults);
}

void mr_config_print(const struct mr_config *cfg, bool json, struct mr_buf *out)
{
    struct mr_buf value = MR_BUF_INIT(MR_CONFIG_MAX_TEXT), fallback = MR_BUF_INIT(MR_CONFIG_MAX_TEXT);

    for (size_t i = 0; i < mr_option_count; i++) {
        const struct mr_option *opt = &mr_options[i];
        if (opt->type == MR_OPT_PAIRS)
            print_pairs(opt, cfg, json, out);
        else if (opt->type == MR_OPT_COLUMN_TYPES || opt->type == MR_OPT_COLUMN_POLICIES)
            print_columns(opt, cfg, json, out);
        else if (opt->type == MR_OPT_TABLES)
            print_tables(opt, cfg, json, out);
        if (mr_option_is_map(opt)) {
            if (!json && cfg->origins[i].from == MR_FROM_DEFAULT) { /* no entries: the key is there to be found */
                const struct line line = {opt->key_z, {0}, "{}", NULL, &cfg->origins[i]};
                print_line(&line, json, out);
            }
            continue;
        }
        mr_buf_clear(&value);
        mr_buf_clear(&fallback);
        mr_option_append_value(opt, cfg, json, &value);
        append_default(opt, json, &fallback);
        const struct line line = {opt->key_z, {0}, mr_buf_z(&value), mr_buf_z(&fallback), &cfg->origins[i]};
        print_line(&line, json, out);
    }
    if (json)
        mr_buf_append_z(out, "]\n");
    mr_buf_free(&value);
    mr_buf_free(&fallback);
}
