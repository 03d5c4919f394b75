/* The target, for commands that look at it: see target.h. */
#include "target.h"

#include <string.h>

#include <millrace/base/buf.h>

static enum mr_status on_version(void *ctx, const struct mr_value *cells, size_t count, struct mr_error *err)
{
    (void)err;
    *(int64_t *)ctx = count == 1 ? cells[0].i : 0;
    return MR_OK;
}

static enum mr_status read_version(struct mr_cli_target *target, struct mr_error *err)
{
    int64_t version = 0;
    struct mr_error own = {0};
    enum mr_status status = target->ops->exec(target->sink, MR_Q_control_version, NULL, 0, on_version, &version, NULL, &own);
    if (status == MR_E_SCHEMA)
        return MR_OK;
    if (status != MR_OK) {
        *err = own;
        return status;
    }
    if (version > MR_CONTROL_LAYOUT_VERSION)
        return mr_fail(err, MR_E_CONFIG, "the control tables were made by a newer Millrace (layout version %lld, this one knows %d)",
                       (long long)version, MR_CONTROL_LAYOUT_VERSION);
    target->has_control = true;
    return MR_OK;
}

int mr_cli_target_open(const struct mr_config *cfg, bool read_only, struct mr_cli_target *out)
{
    struct mr_error err = {0};
    struct mr_sink_options opt = {.cfg = cfg, .application_z = "millrace", .read_only = read_only};
    *out = (struct mr_cli_target){0};
    enum mr_status status = mr_sink_for_url(cfg->target_url, &out->ops, &err);
    if (status == MR_OK)
        status = out->ops->check_url(cfg, &err);
    if (status == MR_OK)
        status = out->ops->connect(&opt, &out->sink, &err);
    if (status == MR_OK)
        status = read_version(out, &err);
    return status == MR_OK ? MR_EXIT_OK : mr_cli_target_fail(&err);
}

void mr_cli_target_close(struct mr_cli_target *target)
{
    if (target->ops != NULL)
        target->ops->destroy(target->sink);
    *target = (struct mr_cli_target){0};
}

void mr_cli_target_append_empty(const struct mr_config *cfg, struct mr_buf *out)
{
    mr_config_mask_url(cfg->target_url, out);
    mr_buf_append_z(out, ": Millrace has not loaded anything into it yet.\n");
    if (strcmp(cfg->target_url, "sqlite:millrace.db") == 0) /* the default: rather forgotten than meant */
        mr_buf_append_z(out, "Another target is named with --to URL or -c FILE.\n");
}

/* For a shell: as it is where nothing in it means anything there, else between single quotes. */
static void append_quoted(struct mr_str text, struct mr_buf *out)
{
    bool is_plain = text.len > 0;
    for (size_t i = 0; i < text.len && is_plain; i++) {
        char c = text.ptr[i];
        is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c != 0 && strchr("_-+./:=,@%", c));
    }
    if (is_plain) {
        mr_buf_append_str(out, text);
        return;
    }
    mr_buf_append_char(out, '\'');
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\'')
            mr_buf_append_z(out, "'\\''");
        else
            mr_buf_append_char(out, text.ptr[i]);
    }
    mr_buf_append_char(out, '\'');
}

void mr_cli_target_append_flags(const struct mr_cli_context *ctx, struct mr_buf *out)
{
    const char *url_z = NULL, *schema_z = NULL;
    for (size_t i = 0; i < ctx->setting_count; i++) {
        const struct mr_setting *said = &ctx->settings[i];
        if (strcmp(said->key_z, "target.url") == 0)
            url_z = said->value_z;
        else if (strcmp(said->key_z, "target.control_schema") == 0)
            schema_z = said->value_z;
    }
    if (ctx->config_path_z) {
        mr_buf_append_z(out, " -c ");
        append_quoted(mr_str_z(ctx->config_path_z), out);
    }
    if (url_z) {
        struct mr_buf url = MR_BUF_INIT(1u << 20);
        mr_config_mask_url(url_z, &url);
        mr_buf_append_z(out, " --to ");
        append_quoted(mr_buf_str(&url), out);
        mr_buf_free(&url);
    }
    if (schema_z) {
        mr_buf_append_z(out, " --set target.control_schema=");
        append_quoted(mr_str_z(schema_z), out);
    }
}

int mr_cli_target_fail(const struct mr_error *err)
{
    int code = mr_cli_fail(err);
    return err->status == MR_E_ENV ? MR_EXIT_TARGET : code;
}

struct mr_str mr_cli_pipeline(const struct mr_cli_context *ctx)
{
    bool is_said = strcmp(ctx->cfg->pipeline, "millrace") != 0; /* the default's name */
    for (size_t i = 0; i < ctx->setting_count && !is_said; i++)
        is_said = strcmp(ctx->settings[i].key_z, "source.kafka.group") == 0 || strcmp(ctx->settings[i].key_z, "pipeline") == 0;
    return is_said ? mr_str_z(ctx->cfg->pipeline) : (struct mr_str){0};
}

struct mr_str mr_cli_table_name(struct mr_str schema, struct mr_str table, struct mr_arena *ar)
{
    if (schema.len == 0)
        return table;
    return mr_arena_printf(ar, "%.*s.%.*s", MR_STR_FMT(schema), MR_STR_FMT(table));
}

struct mr_str mr_cli_shown_topic(struct mr_str topic)
{
    if (!mr_str_starts(topic, MR_STR("file:")))
        return topic;
    ptrdiff_t hash = mr_str_rfind(topic, '#');
    return hash > 5 ? mr_str_of(topic.ptr + 5, (size_t)hash - 5) : topic;
}
