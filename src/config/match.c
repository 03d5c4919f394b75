/* Which settings hold for a table and for a column. */
#include "option.h"

#include <millrace/base/buf.h>
#include <millrace/base/mem.h>

struct mr_config_matched {
    bool *tables, *columns; /* by rule */
};

void mr_config_matched_init(struct mr_config *cfg)
{
    cfg->matched = mr_xcalloc(1, sizeof *cfg->matched);
    cfg->matched->tables = mr_xcalloc(cfg->table_count + 1, sizeof(bool));
    cfg->matched->columns = mr_xcalloc(cfg->column_count + 1, sizeof(bool));
}

void mr_config_matched_free(struct mr_config *cfg)
{
    if (cfg->matched == NULL)
        return;
    mr_xfree(cfg->matched->tables);
    mr_xfree(cfg->matched->columns);
    mr_xfree(cfg->matched);
}

/* `*` is any bytes, `?` any one byte; linear in the text for each star. */
static bool matches(const char *pattern_z, struct mr_str text)
{
    const char *p = pattern_z, *star = NULL;
    size_t i = 0, star_at = 0;

    while (i < text.len) {
        if (*p == '*') {
            star = p++;
            star_at = i;
        } else if (*p && (*p == '?' || *p == text.ptr[i])) {
            p++;
            i++;
        } else if (star) {
            p = star + 1;
            i = ++star_at;
        } else {
            return false;
        }
    }
    while (*p == '*')
        p++;
    return *p == 0;
}

/* How well a pattern fits a name: 0 not at all. An exact name wins over every pattern, a longer one over a shorter. */
static size_t score(const char *pattern_z, struct mr_str full, struct mr_str bare)
{
    size_t len = strlen(pattern_z);
    if (mr_str_eq_z(full, pattern_z) || mr_str_eq_z(bare, pattern_z))
        return SIZE_MAX / 2 + len;
    if (matches(pattern_z, full) || matches(pattern_z, bare))
        return len + 1;
    return 0;
}

/* database.table.path, without the parts that are empty; `buf` holds it. */
static struct mr_str full_name(struct mr_str database, struct mr_str table, struct mr_str path,
                               struct mr_buf *buf)
{
    const struct mr_str parts[] = {database, table, path};
    mr_buf_clear(buf);
    for (size_t i = 0; i < 3; i++) {
        if (parts[i].len == 0)
            continue;
        if (buf->len > 0)
            mr_buf_append_char(buf, '.');
        mr_buf_append_str(buf, parts[i]);
    }
    return mr_buf_str(buf);
}

void mr_config_table(const struct mr_config *cfg, struct mr_str database, struct mr_str table,
                     struct mr_table_settings *out)
{
    struct mr_buf buf = MR_BUF_INIT(MR_CONFIG_MAX_TEXT);
    struct mr_str full = full_name(database, table, (struct mr_str){0}, &buf);
    size_t key_score = 0, delete_score = 0, policy_score = 0, missing_score = 0;

    *out = (struct mr_table_settings){
        .key_mode = cfg->mode == MR_MODE_APPEND ? MR_KEY_NONE : MR_KEY_RECORD,
        .delete_mode = cfg->unwrap_delete != MR_DELETE_UNSET ? cfg->unwrap_delete : MR_DELETE_HARD,
        .tombstones_remove = cfg->tombstones_remove,
        .policy = cfg->policy,
        .missing = MR_MISSING_NULL};
    for (size_t i = 0; i < cfg->table_count; i++) {
        const struct mr_table_rule *rule = &cfg->tables[i];
        size_t fit = score(rule->pattern, full, table);
        if (fit == 0)
            continue;
        if (cfg->matched != NULL)
            cfg->matched->tables[i] = true;
        /* Of two that fit equally well the later one wins. */
        if (rule->key_mode != MR_KEY_UNSET && fit >= key_score) {
            key_score = fit;
            out->key_mode = rule->key_mode;
            out->key_fields = rule->key_fields;
        }
        if (rule->delete_mode != MR_DELETE_UNSET && fit >= delete_score) {
            delete_score = fit;
            out->delete_mode = rule->delete_mode;
        }
        if (rule->policy != MR_POLICY_UNSET && fit >= policy_score) {
            policy_score = fit;
            out->policy = rule->policy;
            out->policy_is_set = true;
        }
        if (rule->missing != MR_MISSING_UNSET && fit >= missing_score) {
            missing_score = fit;
            out->missing = rule->missing;
        }
    }
    out->needs_key = cfg->mode == MR_MODE_UPSERT && out->key_mode != MR_KEY_NONE;
    mr_buf_free(&buf);
}

/* The rules that fit a path best: one for its type, one for its policy; NULL = none. */
static void find_column_rules(const struct mr_config *cfg, struct mr_str database, struct mr_str table, struct mr_str path,
                              const struct mr_column_rule **type, const struct mr_column_rule **policy)
{
    *type = *policy = NULL;
    if (cfg->column_count == 0)
        return;

    struct mr_buf full_buf = MR_BUF_INIT(MR_CONFIG_MAX_TEXT), bare_buf = MR_BUF_INIT(MR_CONFIG_MAX_TEXT);
    struct mr_str full = full_name(database, table, path, &full_buf);
    struct mr_str bare = full_name((struct mr_str){0}, table, path, &bare_buf);
    size_t type_score = 0, policy_score = 0;
    for (size_t i = 0; i < cfg->column_count; i++) {
        const struct mr_column_rule *rule = &cfg->columns[i];
        size_t fit = score(rule->name, full, bare);
        if (fit == 0)
            continue;
        if (cfg->matched != NULL)
            cfg->matched->columns[i] = true;
        if (rule->type.kind != MR_T_NONE && fit >= type_score) {
            type_score = fit;
            *type = rule;
        }
        if (rule->policy != MR_POLICY_UNSET && fit >= policy_score) {
            policy_score = fit;
            *policy = rule;
        }
    }
    mr_buf_free(&full_buf);
    mr_buf_free(&bare_buf);
}

void mr_config_column_type(const struct mr_config *cfg, struct mr_str database, struct mr_str table, struct mr_str path,
                           struct mr_type *type, unsigned *digits)
{
    const struct mr_column_rule *typed, *ruled;
    find_column_rules(cfg, database, table, path, &typed, &ruled);
    *type = typed != NULL ? typed->type : MR_TYPE(MR_T_NONE);
    *digits = typed != NULL ? typed->digits : 0;
}

void mr_config_column(const struct mr_config *cfg, struct mr_str database, struct mr_str table,
                      struct mr_str path, struct mr_type *type, enum mr_policy *policy)
{
    const struct mr_column_rule *typed, *ruled;
    find_column_rules(cfg, database, table, path, &typed, &ruled);
    *type = typed != NULL ? typed->type : MR_TYPE(MR_T_NONE);
    *policy = ruled != NULL ? ruled->policy : MR_POLICY_UNSET;
}

uint32_t mr_config_fixed_bytes(const struct mr_config *cfg, struct mr_str database, struct mr_str table, struct mr_str path)
{
    const struct mr_column_rule *typed, *ruled;
    find_column_rules(cfg, database, table, path, &typed, &ruled);
    return typed != NULL ? typed->fixed_bytes : 0;
}

void mr_config_unmatched(const struct mr_config *cfg, void (*fn)(void *ctx, const char *key_z), void *ctx)
{
    struct mr_buf key = MR_BUF_INIT(MR_CONFIG_MAX_TEXT);
    for (size_t i = 0; cfg->matched != NULL && i < cfg->table_count; i++) {
        if (cfg->matched->tables[i])
            continue;
        mr_buf_clear(&key);
        mr_buf_printf(&key, "tables.%s", cfg->tables[i].pattern);
        fn(ctx, mr_buf_z(&key));
    }
    for (size_t i = 0; cfg->matched != NULL && i < cfg->column_count; i++) {
        if (cfg->matched->columns[i])
            continue;
        mr_buf_clear(&key);
        mr_buf_printf(&key, "types.%s.%s", cfg->columns[i].type.kind != MR_T_NONE ? "columns" : "policies", cfg->columns[i].name);
        fn(ctx, mr_buf_z(&key));
    }
    mr_buf_free(&key);
}

bool mr_config_wants_key_text(const struct mr_config *cfg)
{
    for (size_t i = 0; i < cfg->table_count; i++) {
        if (cfg->tables[i].key_mode == MR_KEY_RECORD_TEXT)
            return true;
    }
    return false;
}

const char *mr_policy_name(enum mr_policy policy)
{
    return policy == MR_POLICY_UNSET ? "unset" : mr_word_name(mr_policy_words, policy);
}
