/* The options whose keys hold names of the user: tables, types.columns, types.policies and the Kafka properties. */
#include "node.h"
#include "option.h"

#include <millrace/base/buf.h>
#include <millrace/base/mem.h>

#define SHOWN(s) (int)((s).len < 200 ? (s).len : 200), (s).ptr

/* A map's entries are bounded, so that finding one among them may be a plain search. */
static enum mr_status check_room(size_t count, const struct mr_option *opt, const struct mr_node *at,
                                 const struct mr_origin *origin, struct mr_error *err)
{
    if (count < MR_CONFIG_MAX_ENTRIES)
        return MR_OK;
    return mr_node_fail(at, origin, err, "%s has more than %d entries", opt->key_z, MR_CONFIG_MAX_ENTRIES);
}

/* The leaf's text after quotes and environment; a null is the word null. */
static enum mr_status leaf_text(const struct mr_node *leaf, const char *what, struct mr_str name,
                                const struct mr_origin *origin, struct mr_arena *ar, struct mr_str *out,
                                struct mr_error *err)
{
    struct mr_node copy = *leaf;
    struct mr_node *found;
    MR_TRY(mr_node_resolve(&copy, origin, ar, false, &found, err));
    if (!found || found->kind != MR_NODE_SCALAR)
        return mr_node_fail(leaf, origin, err, "%s %.*s wants a text, this is %s", what, SHOWN(name),
                            found ? mr_node_kind_name(found) : "nothing");
    return mr_node_expand(found, origin, ar, out, err);
}

/* ---- properties of librdkafka ---- */

static enum mr_status set_pair(struct mr_pairs *pairs, const struct mr_option *opt, struct mr_str name,
                               const struct mr_node *leaf, const struct mr_origin *origin,
                               struct mr_arena *ar, struct mr_error *err)
{
    struct mr_str text;
    MR_TRY(leaf_text(leaf, "property", name, origin, ar, &text, err));
    for (size_t i = 0; i < pairs->count; i++) {
        if (mr_str_eq_z(name, pairs->items[i].key)) {
            mr_xfree(pairs->items[i].value);
            pairs->items[i].value = mr_xstrndup(text.ptr ? text.ptr : "", text.len);
            return MR_OK;
        }
    }
    MR_TRY(check_room(pairs->count, opt, leaf, origin, err));
    pairs->items = mr_xrealloc(pairs->items, (pairs->count + 1) * sizeof *pairs->items);
    pairs->items[pairs->count].key = mr_xstrndup(name.ptr, name.len);
    pairs->items[pairs->count].value = mr_xstrndup(text.ptr ? text.ptr : "", text.len);
    pairs->count++;
    return MR_OK;
}

/* ---- types.columns, types.policies ---- */

static struct mr_column_rule *column_rule(struct mr_config *cfg, struct mr_str name)
{
    for (size_t i = 0; i < cfg->column_count; i++) {
        if (mr_str_eq_z(name, cfg->columns[i].name))
            return &cfg->columns[i];
    }
    cfg->columns = mr_xrealloc(cfg->columns, (cfg->column_count + 1) * sizeof *cfg->columns);
    struct mr_column_rule *rule = &cfg->columns[cfg->column_count++];
    *rule = (struct mr_column_rule){.name = mr_xstrndup(name.ptr, name.len)};
    return rule;
}

static enum mr_status check_column_name(struct mr_str name, const struct mr_node *key,
                                        const struct mr_origin *origin, struct mr_error *err)
{
    if (mr_str_find(name, '.') < 0)
        return mr_node_fail(key, origin, err,
                            "\"%.*s\" names no column; write table.column or database.table.column",
                            SHOWN(name));
    return MR_OK;
}

/* The digits of timestamp(6): they tell the unit of a number that stands for one. 0 where there are none. */
static uint8_t fraction_digits(struct mr_type type, struct mr_str text)
{
    int64_t n = 0;
    ptrdiff_t open = mr_str_find(text, '('), close = mr_str_find(text, ')');
    bool is_moment = type.kind == MR_T_TIMESTAMP || type.kind == MR_T_TIME;
    if (!is_moment || open < 0 || close < open)
        return 0;
    struct mr_str inside = mr_str_trim(mr_str_of(text.ptr + open + 1, (size_t)(close - open - 1)));
    return mr_parse_int64(inside, &n) && n >= 0 && n <= 9 ? (uint8_t)n : 0;
}

/* n of binary(n), which says more than our type for bytes does: how many there always are. */
static uint32_t fixed_bytes(struct mr_str text)
{
    ptrdiff_t open = mr_str_find(text, '(');
    int64_t n;
    if (open < 0 || !mr_str_eq_nocase(mr_str_trim(mr_str_of(text.ptr, (size_t)open)), MR_STR("binary")) ||
        !mr_parse_int64(mr_str_trim(mr_str_of(text.ptr + open + 1, text.len - (size_t)open - 2)), &n) || n < 0 || n > 65535)
        return 0;
    return (uint32_t)n;
}

static enum mr_status set_column_type(struct mr_config *cfg, const struct mr_option *opt, struct mr_str name,
                                      const struct mr_node *leaf, const struct mr_node *key,
                                      const struct mr_origin *origin, struct mr_arena *ar,
                                      struct mr_error *err)
{
    struct mr_str text;
    struct mr_type type;
    MR_TRY(check_column_name(name, key, origin, err));
    MR_TRY(leaf_text(leaf, "column", name, origin, ar, &text, err));
    if (!mr_type_parse(mr_str_trim(text), &type) || type.kind == MR_T_NONE) {
        enum mr_status status =
            mr_node_fail(leaf, origin, err, "column %.*s: \"%.*s\" is no type", SHOWN(name), SHOWN(text));
        mr_error_hint(err, "types: boolean int16 int32 int64 decimal decimal(p,s) "
                           "float32 float64 text bytes date time duration timestamp "
                           "timestamptz uuid bits(n) json");
        return status;
    }
    MR_TRY(check_room(cfg->column_count, opt, leaf, origin, err));
    type.origin = MR_SCHEMA;
    struct mr_column_rule *rule = column_rule(cfg, name);
    rule->type = type;
    rule->digits = fraction_digits(type, text);
    rule->fixed_bytes = fixed_bytes(mr_str_trim(text));
    return MR_OK;
}

/* "… is not one of a | b", for a member of a table or a column. */
static enum mr_status wrong_word(const struct mr_word *words, struct mr_str name, struct mr_str text,
                                 const struct mr_node *leaf, const struct mr_origin *origin,
                                 struct mr_error *err)
{
    struct mr_buf list = MR_BUF_INIT(256);
    mr_words_append(words, " | ", &list);
    enum mr_status status = mr_node_fail(leaf, origin, err, "%.*s: \"%.*s\" is not one of %s", SHOWN(name),
                                         SHOWN(text), mr_buf_z(&list));
    mr_buf_free(&list);
    return status;
}

/* A word; YAML's null stands for the word "null" where there is one. */
static enum mr_status leaf_word(const struct mr_word *words, struct mr_str name, const struct mr_node *leaf,
                                const struct mr_origin *origin, struct mr_arena *ar, int *out,
                                struct mr_error *err)
{
    struct mr_str text;
    MR_TRY(leaf_text(leaf, "setting", name, origin, ar, &text, err));
    text = mr_str_trim(text);
    if (mr_node_is_null(leaf) && mr_str_eq_z(text, "~"))
        text = MR_STR("null");
    if (!mr_word_parse(words, text, out))
        return wrong_word(words, name, text, leaf, origin, err);
    return MR_OK;
}

static enum mr_status set_column_policy(struct mr_config *cfg, const struct mr_option *opt,
                                        struct mr_str name, const struct mr_node *leaf,
                                        const struct mr_node *key, const struct mr_origin *origin,
                                        struct mr_arena *ar, struct mr_error *err)
{
    int value;
    MR_TRY(check_column_name(name, key, origin, err));
    MR_TRY(leaf_word(mr_policy_words, name, leaf, origin, ar, &value, err));
    MR_TRY(check_room(cfg->column_count, opt, leaf, origin, err));
    column_rule(cfg, name)->policy = (enum mr_policy)value;
    return MR_OK;
}

/* ---- tables ---- */

static struct mr_table_rule *table_rule(struct mr_config *cfg, struct mr_str name)
{
    for (size_t i = 0; i < cfg->table_count; i++) {
        if (mr_str_eq_z(name, cfg->tables[i].pattern))
            return &cfg->tables[i];
    }
    cfg->tables = mr_xrealloc(cfg->tables, (cfg->table_count + 1) * sizeof *cfg->tables);
    struct mr_table_rule *rule = &cfg->tables[cfg->table_count++];
    *rule = (struct mr_table_rule){.pattern = mr_xstrndup(name.ptr, name.len)};
    return rule;
}

static enum mr_status unknown_member(struct mr_str member, struct mr_str table, const struct mr_node *key,
                                     const struct mr_origin *origin, struct mr_error *err)
{
    const char *near = NULL;
    size_t best = 4;
    for (size_t i = 0; i < mr_table_member_count; i++) {
        size_t distance = mr_str_distance(member, mr_str_z(mr_table_members[i].name_z));
        if (distance < best) {
            best = distance;
            near = mr_table_members[i].name_z;
        }
    }
    if (near)
        return mr_node_fail(key, origin, err,
                            "unknown setting \"%.*s\" of table \"%.*s\"; did you mean \"%s\"?", SHOWN(member),
                            SHOWN(table), near);
    return mr_node_fail(
        key, origin, err,
        "unknown setting \"%.*s\" of table \"%.*s\"; a table has primary_key, delete, policy and missing",
        SHOWN(member), SHOWN(table));
}

static enum mr_status set_primary_key(struct mr_table_rule *rule, struct mr_str name,
                                      const struct mr_node *leaf, const struct mr_origin *origin,
                                      struct mr_arena *ar, struct mr_error *err)
{
    static const struct mr_word words[] = {{"record_key", MR_KEY_RECORD},
                                           {"record_key_text", MR_KEY_RECORD_TEXT},
                                           {"none", MR_KEY_NONE},
                                           {NULL, 0}};
    struct mr_node copy = *leaf;
    struct mr_node *found;
    MR_TRY(mr_node_resolve(&copy, origin, ar, true, &found, err));

    if (found && found->kind == MR_NODE_LIST) {
        struct mr_strings fields = {0};
        MR_TRY(mr_node_list(found, origin, false, ar, &fields, err));
        if (fields.count == 0)
            return mr_node_fail(leaf, origin, err, "%.*s: an empty list; \"none\" means no key", SHOWN(name));
        mr_strings_free(&rule->key_fields);
        rule->key_fields = fields;
        rule->key_mode = MR_KEY_FIELDS;
        return MR_OK;
    }
    int value;
    enum mr_status status = leaf_word(words, name, leaf, origin, ar, &value, err);
    if (status != MR_OK) {
        mr_error_hint(err, "fields of the row are written as a list: [id]");
        return status;
    }
    mr_strings_free(&rule->key_fields);
    rule->key_mode = (enum mr_key_mode)value;
    return MR_OK;
}

/* `name` is the table's name, a dot and the setting; the setting is what follows the last dot, since tables' names may hold dots. */
static enum mr_status set_table(struct mr_config *cfg, const struct mr_option *opt, struct mr_str name,
                                const struct mr_node *leaf, const struct mr_node *key,
                                const struct mr_origin *origin, struct mr_arena *ar, struct mr_error *err)
{
    ptrdiff_t dot = mr_str_rfind(name, '.');
    if (dot <= 0 || (size_t)dot + 1 == name.len)
        return mr_node_fail(key, origin, err, "\"%.*s\" is no setting of a table; write NAME: {delete: soft}",
                            SHOWN(name));
    struct mr_str table = mr_str_of(name.ptr, (size_t)dot);
    struct mr_str member = mr_str_of(name.ptr + dot + 1, name.len - (size_t)dot - 1);
    bool known = false;
    for (size_t i = 0; i < mr_table_member_count; i++)
        known |= mr_str_eq_z(member, mr_table_members[i].name_z);
    if (!known)
        return unknown_member(member, table, key, origin, err);
    MR_TRY(check_room(cfg->table_count, opt, leaf, origin, err));

    struct mr_table_rule *rule = table_rule(cfg, table);
    int value;
    if (mr_str_eq_z(member, "primary_key"))
        return set_primary_key(rule, name, leaf, origin, ar, err);
    if (mr_str_eq_z(member, "delete")) {
        MR_TRY(leaf_word(mr_delete_words, name, leaf, origin, ar, &value, err));
        rule->delete_mode = (enum mr_delete_mode)value;
    } else if (mr_str_eq_z(member, "policy")) {
        MR_TRY(leaf_word(mr_policy_words, name, leaf, origin, ar, &value, err));
        rule->policy = (enum mr_policy)value;
    } else {
        MR_TRY(leaf_word(mr_missing_words, name, leaf, origin, ar, &value, err));
        rule->missing = (enum mr_missing)value;
    }
    return MR_OK;
}

enum mr_status mr_rule_set(struct mr_config *cfg, const struct mr_option *opt, struct mr_str name,
                           const struct mr_node *leaf, const struct mr_node *key,
                           const struct mr_origin *origin, struct mr_arena *ar, struct mr_error *err)
{
    /* Names become NUL-terminated texts. */
    if (memchr(name.ptr, 0, name.len))
        return mr_node_fail(key, origin, err, "a name that holds the character U+0000");

    switch (opt->type) {
    case MR_OPT_PAIRS:
        return set_pair((struct mr_pairs *)((char *)cfg + opt->offset), opt, name, leaf, origin, ar, err);
    case MR_OPT_COLUMN_TYPES:
        return set_column_type(cfg, opt, name, leaf, key, origin, ar, err);
    case MR_OPT_COLUMN_POLICIES:
        return set_column_policy(cfg, opt, name, leaf, key, origin, ar, err);
    case MR_OPT_TABLES:
        return set_table(cfg, opt, name, leaf, key, origin, ar, err);
    case MR_OPT_TEXT:
    case MR_OPT_BOOL:
    case MR_OPT_UINT:
    case MR_OPT_SIZE:
    case MR_OPT_DURATION:
    case MR_OPT_RATE:
    case MR_OPT_WORD:
    case MR_OPT_LIST:
    case MR_OPT_PATHS:
    case MR_OPT_COMMAS:
    case MR_OPT_START:
        break;
    }
    return mr_fail(err, MR_E_BUG, "%s is no map option", opt->key_z);
}

static void free_pairs(struct mr_pairs *pairs)
{
    for (size_t i = 0; i < pairs->count; i++) {
        mr_xfree(pairs->items[i].key);
        mr_xfree(pairs->items[i].value);
    }
    mr_xfree(pairs->items);
}

void mr_rules_free(struct mr_config *cfg)
{
    free_pairs(&cfg->kafka_properties);
    free_pairs(&cfg->topics);
    free_pairs(&cfg->status_properties);
    free_pairs(&cfg->registry.headers);
    for (size_t i = 0; i < cfg->column_count; i++)
        mr_xfree(cfg->columns[i].name);
    mr_xfree(cfg->columns);
    for (size_t i = 0; i < cfg->table_count; i++) {
        mr_xfree(cfg->tables[i].pattern);
        mr_strings_free(&cfg->tables[i].key_fields);
    }
    mr_xfree(cfg->tables);
}
