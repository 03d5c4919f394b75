/* Loading: defaults, the file, the settings of the command line in order, then the checks that concern more than one value. */
#include "node.h"
#include "option.h"

#include <millrace/base/buf.h>
#include <millrace/base/mem.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static struct mr_config *create(void)
{
    struct mr_config *cfg = mr_xcalloc(1, sizeof *cfg);
    cfg->origins = mr_xcalloc(mr_option_count, sizeof *cfg->origins);
    for (size_t i = 0; i < mr_option_count; i++) {
        if (!mr_option_is_map(&mr_options[i]))
            (void)mr_option_parse(&mr_options[i], cfg,
                                  mr_str_z(mr_options[i].default_z)); /* a test parses them all */
    }
    return cfg;
}

void mr_config_destroy(struct mr_config *cfg)
{
    if (!cfg)
        return;
    mr_config_matched_free(cfg);
    mr_rules_free(cfg);
    for (size_t i = 0; i < mr_option_count; i++) {
        mr_option_free(&mr_options[i], cfg);
        mr_xfree(cfg->origins[i].text_z);
    }
    mr_xfree(cfg->origins);
    mr_xfree(cfg);
}

static enum mr_status read_file(const char *path_z, struct mr_buf *out, struct mr_error *err)
{
    FILE *file = fopen(path_z, "rb");
    if (!file)
        return mr_fail(err, MR_E_CONFIG, "cannot open the configuration %s: %s", path_z, strerror(errno));

    char chunk[8192];
    size_t got;
    while (!out->overflow && (got = fread(chunk, 1, sizeof chunk, file)) > 0)
        mr_buf_append(out, chunk, got);
    bool failed = ferror(file) != 0;
    int reason = errno;
    fclose(file);
    if (failed)
        return mr_fail(err, MR_E_CONFIG, "cannot read the configuration %s: %s", path_z, strerror(reason));
    if (out->overflow)
        return mr_fail(err, MR_E_CONFIG, "%s is larger than 1 MiB, which no configuration is", path_z);
    return MR_OK;
}

/* ---- Checks ---- */

enum mr_status mr_config_fail(const struct mr_config *cfg, const void *value, struct mr_error *err, const char *fmt, ...)
{
    char message[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);

    size_t offset = (size_t)((const char *)value - (const char *)cfg);
    for (size_t i = 0; i < mr_option_count; i++) {
        const struct mr_config_origin *from = &cfg->origins[i];
        if (mr_option_is_map(&mr_options[i]) || mr_options[i].offset != offset)
            continue;
        if (from->from == MR_FROM_FILE)
            return mr_fail(err, MR_E_CONFIG, "%s:%u:%u: %s %s", from->text_z, from->line, from->column,
                           mr_options[i].key_z, message);
        if (from->from == MR_FROM_COMMAND && strcmp(from->text_z, "--set") != 0)
            return mr_fail(err, MR_E_CONFIG, "%s: %s", from->text_z, message);
        return mr_fail(err, MR_E_CONFIG, "%s %s", mr_options[i].key_z, message);
    }
    return mr_fail(err, MR_E_CONFIG, "%s", message);
}

/* Text and {db}, {table}, {topic}; no other braces. */
/* The shares of several appliers are transactions of their own. */
static enum mr_status check_transactions(const struct mr_config *cfg, struct mr_error *err)
{
    if (cfg->transactions != MR_TRANSACTIONS_SOURCE || cfg->appliers == 1)
        return MR_OK;
    (void)mr_config_fail(cfg, &cfg->transactions, err, "source does not go with target.appliers %u: each applier has a transaction of its own, so "
                         "that readers would see halves of the source's", (unsigned)cfg->appliers);
    mr_error_hint(err, "set target.appliers to 1, or transactions to batch");
    return MR_E_CONFIG;
}

static enum mr_status check_template(const struct mr_config *cfg, char *const *value, struct mr_error *err)
{
    const char *at = *value;
    if (!*at)
        return mr_config_fail(cfg, value, err, "is empty");
    while ((at = strpbrk(at, "{}"))) {
        const char *end = *at == '{' ? strchr(at, '}') : NULL;
        struct mr_str name = end ? mr_str_of(at + 1, (size_t)(end - at - 1)) : (struct mr_str){0};
        if (!mr_str_eq_z(name, "db") && !mr_str_eq_z(name, "table") && !mr_str_eq_z(name, "topic"))
            return mr_config_fail(cfg, value, err,
                               "\"%.200s\": a template holds {db}, {table} and {topic}, and no other braces",
                               *value);
        at = end + 1;
    }
    return MR_OK;
}

static bool has_scheme(const char *url_z)
{
    size_t len = strspn(url_z, "abcdefghijklmnopqrstuvwxyz+-.0123456789");
    return len > 1 && url_z[len] == ':' && url_z[0] >= 'a' && url_z[len + 1] != 0;
}

static enum mr_status check(const struct mr_config *cfg, struct mr_error *err)
{
    /* The text itself is not shown: it may be a password in the wrong place. */
    if (!has_scheme(cfg->target_url))
        return mr_config_fail(cfg, &cfg->target_url, err,
                           "is no URL with a scheme; write postgresql://… or sqlite:PATH");
    MR_TRY(check_template(cfg, &cfg->target_schema, err));
    MR_TRY(check_template(cfg, &cfg->target_table, err));
    MR_TRY(mr_config_check_unwrap(cfg, err));
    MR_TRY(check_transactions(cfg, err));
    MR_TRY(mr_config_check_status(cfg, err));
    if (!*cfg->format)
        return mr_config_fail(cfg, &cfg->format, err, "is empty; \"auto\" finds the format out");
    return MR_OK;
}

/* Defaults that follow from other options. */
static void complete(struct mr_config *cfg)
{
    const char *fallback_z = *cfg->kafka_group ? cfg->kafka_group : "millrace";
    if (!*cfg->pipeline) {
        mr_xfree(cfg->pipeline);
        cfg->pipeline = mr_xstrdup(fallback_z);
    }
    if (!*cfg->kafka_group) {
        mr_xfree(cfg->kafka_group);
        cfg->kafka_group = mr_xstrdup("millrace");
    }
    mr_config_complete_status(cfg);
    mr_config_matched_init(cfg);
}

/* ---- Loading ---- */

static enum mr_status apply_text(struct mr_config *cfg, const char *name_z, struct mr_str text,
                                 struct mr_arena *ar, struct mr_error *err)
{
    const struct mr_origin origin = {name_z, NULL};
    struct mr_node *root;
    MR_TRY(mr_yaml_read(text, &origin, ar, &root, err));
    if (!root)
        return MR_OK;

    bool *seen = mr_xcalloc(mr_option_count, sizeof *seen);
    enum mr_status status = mr_config_apply(cfg, root, &origin, seen, ar, err);
    mr_xfree(seen);
    return status;
}

static enum mr_status apply_setting(struct mr_config *cfg, const struct mr_setting *setting,
                                    struct mr_arena *ar, struct mr_error *err)
{
    const struct mr_origin origin = {NULL, setting};
    struct mr_node *root;
    MR_TRY(mr_setting_read(setting, ar, &root, err));
    return mr_config_apply(cfg, root, &origin, NULL, ar, err);
}

/* `text` may be NULL: no file. */
static enum mr_status load(const char *name_z, const struct mr_str *text, const struct mr_setting *settings,
                           size_t setting_count, struct mr_config **out, struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_config *cfg = create();
    enum mr_status status = MR_OK;

    *out = NULL;
    if (text)
        status = apply_text(cfg, name_z, *text, ar, err);
    for (size_t i = 0; i < setting_count && status == MR_OK; i++)
        status = apply_setting(cfg, &settings[i], ar, err);
    if (status == MR_OK) {
        mr_config_resolve_deletes(cfg);
        status = check(cfg, err);
    }
    mr_arena_destroy(ar);
    if (status != MR_OK) {
        mr_config_destroy(cfg);
        return status;
    }
    complete(cfg);
    *out = cfg;
    return MR_OK;
}

enum mr_status mr_config_load_text(const char *name_z, struct mr_str text, const struct mr_setting *settings,
                                   size_t setting_count, struct mr_config **out, struct mr_error *err)
{
    return load(name_z, &text, settings, setting_count, out, err);
}

enum mr_status mr_config_load(const char *path_z, const struct mr_setting *settings, size_t setting_count,
                              struct mr_config **out, struct mr_error *err)
{
    *out = NULL;
    if (!path_z)
        return load(NULL, NULL, settings, setting_count, out, err);

    struct mr_buf file = MR_BUF_INIT(MR_CONFIG_MAX_BYTES);
    enum mr_status status = read_file(path_z, &file, err);
    if (status == MR_OK) {
        struct mr_str text = mr_buf_str(&file);
        status = load(path_z, &text, settings, setting_count, out, err);
    }
    mr_buf_free(&file);
    return status;
}
