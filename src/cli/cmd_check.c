/* millrace check: would loading work? The configuration, the source and the target are looked at one after another; each finding is a line. A
 * finding that stands in the way decides the exit code (the first one does); nothing is written anywhere. */
#include "cli.h"
#include "commands.h"
#include "json_out.h"
#include "sample.h"
#include "target.h"
#include "text_out.h"

#include "../decode/schema_registry.h"
#include "../engine/control.h"

#include <millrace/base/mem.h>
#include <millrace/producer.h>
#include <millrace/source.h>

#include <unistd.h>

#define ASK_MS 5000
#define MAX_OUTPUT (16u << 20)

struct check {
    struct mr_cli_context *cli;
    struct mr_arena *ar;
    struct mr_buf out;
    struct mr_jo js;
    bool json, color;
    int code;         /* of the first finding in the way */
    int env_code;     /* what ENV means for whatever is being looked at: the source's code or the target's */
    size_t failed;
    const struct mr_sample_topic **samples; /* for JSON, behind the findings */
    size_t sample_count, sample_cap;
    struct mr_sink_place *places;
    size_t place_count, place_cap;
};

/* ---- Findings ---- */

static void print_finding(struct check *c, const struct mr_finding *f)
{
    static const char *const words[2][2] = {{"ok     ", "failed "}, {"\033[32mok\033[0m     ", "\033[31mfailed\033[0m "}};
    mr_buf_append_z(&c->out, words[c->color][f->err != NULL]);
    mr_buf_printf(&c->out, " %-15s ", f->subject_z);
    mr_text_append_safe(&c->out, f->err != NULL ? mr_str_z(f->err->message) : f->text, false);
    mr_buf_append_char(&c->out, '\n');
    if (f->err == NULL || !f->err->hint[0])
        return;
    mr_buf_append_z(&c->out, "         hint: ");
    mr_text_append_safe(&c->out, mr_str_z(f->err->hint), false);
    mr_buf_append_char(&c->out, '\n');
}

static void json_finding(struct check *c, const struct mr_finding *f)
{
    mr_jo_object(&c->js, NULL);
    mr_jo_z(&c->js, "subject", f->subject_z);
    mr_jo_bool(&c->js, "ok", f->err == NULL);
    mr_jo_str(&c->js, "text", f->text);
    if (f->err != NULL) {
        mr_jo_z(&c->js, "problem", f->err->message);
        mr_jo_z(&c->js, "detail", f->err->detail);
        mr_jo_z(&c->js, "hint", f->err->hint);
        mr_jo_z(&c->js, "native_code", f->err->native);
    }
    mr_jo_end_object(&c->js);
}

static void on_finding(void *ctx, const struct mr_finding *f)
{
    struct check *c = ctx;
    if (f->err != NULL) {
        int code = f->err->status == MR_E_CONFIG ? MR_EXIT_CONFIG
                   : f->err->status == MR_E_BUG  ? MR_EXIT_BUG
                                                 : c->env_code;
        c->code = c->code == MR_EXIT_OK ? code : c->code;
        c->failed++;
    }
    if (c->json)
        json_finding(c, f);
    else
        print_finding(c, f);
}

static void tell(struct check *c, const char *subject_z, struct mr_str text, const struct mr_error *err)
{
    on_finding(c, &(struct mr_finding){.subject_z = subject_z, .text = text, .err = err});
}

/* ---- Source ---- */

static void check_source(struct check *c)
{
    const struct mr_config *cfg = c->cli->cfg;
    struct mr_error err = {0};
    c->env_code = MR_EXIT_SOURCE;
    if (mr_cli_check_source(cfg, &err) != MR_OK) {
        tell(c, "source", MR_STR("none"), &err);
        return;
    }
    const char *want_z = mr_cli_reads_kafka(cfg) ? "kafka" : "file";
    for (size_t i = 0; mr_sources[i] != NULL; i++)
        if (strcmp(mr_sources[i]->name, want_z) == 0 && mr_sources[i]->check != NULL)
            mr_sources[i]->check(cfg, ASK_MS, on_finding, c);
}

/* ---- Status topic ---- */

static void check_status_topic(struct check *c)
{
    c->env_code = MR_EXIT_SOURCE;
    if (*c->cli->cfg->status_topic)
        mr_kafka_producer.check(c->cli->cfg, ASK_MS, on_finding, c);
}

/* ---- Target ---- */

static void add_place(struct check *c, struct mr_str schema, struct mr_str table)
{
    for (size_t i = 0; i < c->place_count; i++)
        if (mr_str_eq(c->places[i].schema, schema) && mr_str_eq(c->places[i].table, table))
            return;
    c->places = mr_xgrow(c->places, &c->place_cap, c->place_count + 1, sizeof *c->places);
    c->places[c->place_count++] =
        (struct mr_sink_place){mr_arena_copy(c->ar, schema), mr_arena_copy(c->ar, table)};
}

static enum mr_status on_table(void *ctx, const struct mr_tracked_table *tbl, struct mr_error *err)
{
    (void)err;
    add_place(ctx, tbl->target_schema, tbl->target_table);
    return MR_OK;
}

/* The schema that rows of a topic would go to, as far as the topic's name tells. */
static void add_topic_schema(struct check *c, const struct mr_sink_ops *ops, struct mr_str default_schema, const char *topic_z)
{
    struct mr_error ignored = {0};
    struct mr_str none = {0};
    struct mr_target_name name;
    if (topic_z[0] == '^' || *topic_z == '\0')
        return;
    if (mr_name_target(c->cli->cfg, ops->dialect, default_schema, none, none, mr_str_z(topic_z), none, c->ar, &name, &ignored) ==
        MR_OK)
        add_place(c, name.schema, none);
}

static void find_schemas(struct check *c, const struct mr_sink_ops *ops)
{
    const struct mr_config *cfg = c->cli->cfg;
    struct mr_buf name = MR_BUF_INIT(4096);
    struct mr_str none = {0};
    if (!ops->dialect->has_schemas)
        return;
    ops->default_schema(cfg, &name);
    if (strchr(cfg->target_schema, '{') == NULL) {
        add_place(c, mr_str_z(cfg->target_schema), none);
    } else {
        for (size_t i = 0; mr_cli_reads_kafka(cfg) && i < cfg->kafka_topics.count; i++)
            add_topic_schema(c, ops, mr_buf_str(&name), cfg->kafka_topics.items[i]);
        if (!mr_cli_reads_kafka(cfg) && cfg->file_topic != NULL)
            add_topic_schema(c, ops, mr_buf_str(&name), cfg->file_topic);
    }
    mr_buf_free(&name);
}

static void check_registry(struct check *c)
{
    struct mr_registry *reg = NULL;
    struct mr_error err = {0};
    struct mr_buf url = MR_BUF_INIT(65536);
    if (*c->cli->cfg->registry.url == 0)
        return;
    c->env_code = MR_EXIT_SOURCE;
    mr_config_mask_url(c->cli->cfg->registry.url, &url);
    enum mr_status status = mr_registry_create(c->cli->cfg, &reg, &err);
    if (status == MR_OK)
        status = mr_registry_ping(reg, c->ar, &err);
    tell(c, "registry", mr_buf_str(&url), status == MR_OK ? NULL : &err);
    mr_registry_destroy(reg);
    mr_buf_free(&url);
}

static enum mr_status connect_target(struct check *c, struct mr_cli_target *target, struct mr_error *err)
{
    struct mr_sink_options opt = {.cfg = c->cli->cfg, .application_z = "millrace check", .read_only = true};
    MR_TRY(mr_sink_for_url(c->cli->cfg->target_url, &target->ops, err));
    MR_TRY(target->ops->check_url(c->cli->cfg, err));
    return target->ops->connect(&opt, &target->sink, err);
}

static void check_target(struct check *c)
{
    struct mr_cli_target target = {0};
    struct mr_error err = {0};
    struct mr_buf url = MR_BUF_INIT(65536);
    c->env_code = MR_EXIT_TARGET;
    mr_config_mask_url(c->cli->cfg->target_url, &url);
    enum mr_status status = connect_target(c, &target, &err);
    struct mr_str text = mr_buf_str(&url);
    if (status == MR_OK)
        text = mr_arena_printf(c->ar, "%.*s (%s)", MR_STR_FMT(text), target.ops->server(target.sink)->text);
    tell(c, "target", text, status == MR_OK ? NULL : &err);
    if (status == MR_OK && target.ops->check != NULL) {
        find_schemas(c, target.ops);
        status = mr_control_tables(target.sink, on_table, c, &err);
        if (status != MR_OK && status != MR_E_SCHEMA) /* SCHEMA: no control tables yet, so no tables either */
            tell(c, "tables", MR_STR(""), &err);
        target.ops->check(target.sink, c->places, c->place_count, on_finding, c);
    }
    mr_cli_target_close(&target);
    mr_buf_free(&url);
}

/* ---- A sample ---- */

static void append_tables(struct mr_buf *out, const struct mr_sample_topic *t)
{
    for (size_t i = 0; i < t->table_count; i++) {
        const struct mr_sample_table *table = &t->tables[i];
        const struct {
            uint64_t count;
            const char *word_z;
        } parts[] = {{table->upserts, "upsert"}, {table->deletes, "delete"}, {table->truncates, "truncate"}, {table->schema_changes, "schema change"}};
        mr_buf_append_z(out, "         table ");
        if (table->database.len != 0) {
            mr_text_append_safe(out, table->database, false);
            mr_buf_append_char(out, '.');
        }
        mr_text_append_safe(out, table->table.len != 0 ? table->table : MR_STR("named by the topic"), false);
        const char *sep_z = ": ";
        for (size_t k = 0; k < 4; k++) {
            if (parts[k].count == 0)
                continue;
            mr_buf_append_z(out, sep_z);
            mr_text_append_count(out, parts[k].count);
            mr_buf_printf(out, " %s%s", parts[k].word_z, parts[k].count == 1 ? "" : "s");
            sep_z = ", ";
        }
        mr_buf_append_char(out, '\n');
    }
    if (t->more_changes != 0)
        mr_buf_printf(out, "         and %llu changes of other tables\n", (unsigned long long)t->more_changes);
}

static const char *shown_format(const struct mr_sample_format *f)
{
    return f->name_z != NULL ? f->name_z : "no rows";
}

static void sample_text(struct check *c, const struct mr_sample_topic *t)
{
    for (size_t i = 0; i < t->format_count; i++) {
        const struct mr_sample_format *f = &t->formats[i];
        mr_buf_append_z(&c->out, "         ");
        mr_text_append_count(&c->out, f->messages);
        mr_buf_printf(&c->out, " %s %s: ", f->messages == 1 ? "looks like" : "look like", shown_format(f));
        mr_text_append_safe(&c->out, f->why, false);
        mr_buf_append_char(&c->out, '\n');
    }
    append_tables(&c->out, t);
}

static void sample_json(struct check *c, const struct mr_sample_topic *t)
{
    mr_jo_object(&c->js, NULL);
    mr_jo_str(&c->js, "topic", t->topic);
    mr_jo_uint(&c->js, "messages", t->messages);
    mr_jo_z(&c->js, "configured", t->configured_z);
    mr_jo_uint(&c->js, "failed", t->failed);
    mr_jo_list(&c->js, "formats");
    for (size_t i = 0; i < t->format_count; i++) {
        mr_jo_object(&c->js, NULL);
        mr_jo_z(&c->js, "format", t->formats[i].name_z);
        mr_jo_bool(&c->js, "is_sure", t->formats[i].is_sure);
        mr_jo_uint(&c->js, "messages", t->formats[i].messages);
        mr_jo_str(&c->js, "why", t->formats[i].why);
        mr_jo_end_object(&c->js);
    }
    mr_jo_end_list(&c->js);
    mr_jo_list(&c->js, "tables");
    for (size_t i = 0; i < t->table_count; i++) {
        mr_jo_object(&c->js, NULL);
        mr_jo_str(&c->js, "database", t->tables[i].database);
        mr_jo_str(&c->js, "table", t->tables[i].table);
        mr_jo_uint(&c->js, "upserts", t->tables[i].upserts);
        mr_jo_uint(&c->js, "deletes", t->tables[i].deletes);
        mr_jo_uint(&c->js, "truncates", t->tables[i].truncates);
        mr_jo_uint(&c->js, "schema_changes", t->tables[i].schema_changes);
        mr_jo_end_object(&c->js);
    }
    mr_jo_end_list(&c->js);
    mr_jo_end_object(&c->js);
}

/* Messages of two formats in one topic are a fault: all but the first one's would be dead letters. */
static size_t named_formats(const struct mr_sample_topic *t)
{
    size_t named = 0;
    for (size_t i = 0; i < t->format_count; i++)
        named += t->formats[i].name_z != NULL;
    return named;
}

static enum mr_status judge_sample(const struct mr_sample_topic *t, struct mr_error *err)
{
    *err = t->first;
    if (t->failed != 0) {
        mr_error_prefix(err, "%.*s: %llu of %llu messages cannot be read; the first: ", MR_STR_FMT(t->topic),
                        (unsigned long long)t->failed, (unsigned long long)t->messages);
        return MR_E_DATA;
    }
    if (named_formats(t) < 2 || t->configured_z != NULL)
        return MR_OK;
    (void)mr_fail_data(err, MR_CODE_AMBIGUOUS, "%.*s: messages of %zu formats in one topic", MR_STR_FMT(t->topic), named_formats(t));
    mr_error_hint(err, "a topic has one format; set it with format, or for single topics under topics");
    return MR_E_DATA;
}

/* The finding's line, then what was seen and why. */
static void on_sample(void *ctx, const struct mr_sample_topic *t)
{
    struct check *c = ctx;
    struct mr_error err;
    struct mr_str text = mr_arena_printf(c->ar, "%.*s: %llu message%s", MR_STR_FMT(t->topic), (unsigned long long)t->messages,
                                         t->messages == 1 ? "" : "s");
    if (t->configured_z != NULL)
        text = mr_arena_printf(c->ar, "%.*s, format: %s is set", MR_STR_FMT(text), t->configured_z);
    bool is_fine = judge_sample(t, &err) == MR_OK;
    c->env_code = MR_EXIT_DATA;
    tell(c, "sample", text, is_fine ? NULL : &err);
    if (!c->json) {
        sample_text(c, t);
        return;
    }
    c->samples = mr_xgrow(c->samples, &c->sample_cap, c->sample_count + 1, sizeof *c->samples);
    c->samples[c->sample_count++] = t;
}

static void check_sample(struct check *c, const char *name_z)
{
    struct mr_error err = {0};
    uint64_t read = 0;
    enum mr_status status = mr_sample_run(c->cli->cfg, name_z, c->ar, on_sample, c, &read, &err);
    c->env_code = MR_EXIT_SOURCE;
    if (status != MR_OK)
        tell(c, "sample", mr_str_z(name_z), &err);
    else if (read == 0)
        tell(c, "sample", mr_arena_printf(c->ar, "%s: no message", name_z), NULL);
}

/* ---- The whole ---- */

static void check_all(struct check *c)
{
    const char *path_z = c->cli->config_path_z;
    tell(c, "configuration", path_z != NULL ? mr_str_z(path_z) : MR_STR("from the command line"), NULL);
    const char *sample_z = mr_cli_value(c->cli, "--sample");
    if (sample_z != NULL) {
        check_sample(c, sample_z);
        return;
    }
    check_source(c);
    check_registry(c);
    check_status_topic(c);
    check_target(c);
}

static void check_json(struct check *c)
{
    mr_jo_object(&c->js, NULL);
    mr_jo_list(&c->js, "findings");
    check_all(c);
    mr_jo_end_list(&c->js);
    if (c->sample_count != 0) {
        mr_jo_list(&c->js, "samples");
        for (size_t i = 0; i < c->sample_count; i++)
            sample_json(c, c->samples[i]);
        mr_jo_end_list(&c->js);
    }
    mr_jo_bool(&c->js, "ok", c->failed == 0);
    mr_jo_int(&c->js, "exit_code", c->code);
    mr_jo_end_object(&c->js);
}

int mr_cmd_check(struct mr_cli_context *ctx)
{
    struct check c = {.cli = ctx, .out = MR_BUF_INIT(MAX_OUTPUT), .json = mr_cli_has(ctx, "--json"), .code = MR_EXIT_OK};
    c.ar = mr_arena_create(0);
    c.js.out = &c.out;
    c.color = !c.json && isatty(STDOUT_FILENO);
    if (c.json) {
        check_json(&c);
    } else {
        check_all(&c);
        if (c.failed == 0 && mr_cli_has(ctx, "--sample"))
            mr_buf_append_z(&c.out, "Nothing has been written.\n");
        else if (c.failed == 0)
            mr_buf_append_z(&c.out, "Everything is in place. Nothing has been written.\n");
        else
            mr_buf_printf(&c.out, "%zu problem%s. Nothing has been written.\n", c.failed, c.failed == 1 ? "" : "s");
    }
    int printed = mr_cli_print(&c.out);
    mr_xfree(c.samples);
    mr_xfree(c.places);
    mr_buf_free(&c.out);
    mr_arena_destroy(c.ar);
    return printed != MR_EXIT_OK ? printed : c.code;
}
