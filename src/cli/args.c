/* The parser of the command line: flags in any order, --flag value and --flag=value, -c FILE and -cFILE, -- before operands that begin
 * with a dash. It knows no command; everything stands in the table (commands.c). */
#include "cli.h"

#include <millrace/base/arena.h>
#include <millrace/base/buf.h>
#include <millrace/base/mem.h>

#include <stdarg.h>

static enum mr_exit fail(enum mr_exit code, struct mr_error *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static enum mr_exit fail(enum mr_exit code, struct mr_error *err, const char *fmt, ...)
{
    char message[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    (void)mr_fail(err, MR_E_CONFIG, "%s", message);
    return code;
}

#define BAD_USAGE(err, ...) fail(MR_EXIT_USAGE, (err), __VA_ARGS__)
#define BAD_VALUE(err, ...) fail(MR_EXIT_CONFIG, (err), __VA_ARGS__)

/* Return a parse outcome up. */
#define PASS(call)                                                                                           \
    do {                                                                                                     \
        enum mr_exit pass_ = (call);                                                                         \
        if (pass_ != MR_EXIT_OK)                                                                             \
            return pass_;                                                                                    \
    } while (0)

static void add_setting(struct mr_cli_context *ctx, const char *key_z, const char *value_z,
                        const char *flag_z)
{
    ctx->settings = mr_xgrow(ctx->settings, &ctx->setting_cap, ctx->setting_count + 1, sizeof *ctx->settings);
    ctx->settings[ctx->setting_count++] = (struct mr_setting){key_z, value_z, flag_z};
}

/* ---- The values of some flags ---- */

/* key=value; the key may hold quoted parts, in which an equals sign is none. */
static enum mr_exit take_set(struct mr_cli_context *ctx, const char *text_z, struct mr_error *err)
{
    char quote = 0;
    const char *p = text_z;
    for (; *p && (quote || *p != '='); p++) {
        if (quote && *p == quote)
            quote = 0;
        else if (!quote && (*p == '"' || *p == '\''))
            quote = *p;
    }
    if (!*p || p == text_z)
        return BAD_VALUE(err, "--set %.200s: write --set key=value", text_z);
    add_setting(ctx, mr_arena_strndup(ctx->ar, text_z, (size_t)(p - text_z)), p + 1, "--set");
    return MR_EXIT_OK;
}

/* kafka://broker,broker/topic,topic */
static enum mr_exit take_from(struct mr_cli_context *ctx, const char *url_z, struct mr_error *err)
{
    struct mr_str url = mr_str_z(url_z), scheme = MR_STR("kafka://");
    if (!mr_str_starts(url, scheme))
        return BAD_VALUE(
            err, "--from %.200s: write kafka://broker:9092,…/topic,… (files are named without a flag)",
            url_z);
    struct mr_str rest = mr_str_of(url.ptr + scheme.len, url.len - scheme.len);
    ptrdiff_t slash = mr_str_find(rest, '/');
    if (slash <= 0 || (size_t)slash + 1 == rest.len)
        return BAD_VALUE(err, "--from %.200s: brokers and topics are both needed: kafka://broker:9092/topic",
                         url_z);
    add_setting(ctx, "source.kafka.brokers", mr_arena_strndup(ctx->ar, rest.ptr, (size_t)slash), "--from");
    add_setting(ctx, "source.kafka.topics", rest.ptr + slash + 1, "--from");
    add_setting(ctx, "source.file.paths", "[]",
                "--from"); /* what the command line reads replaces what the file reads */
    return MR_EXIT_OK;
}

static bool is_number(const char *text_z)
{
    int64_t number;
    return mr_parse_int64(mr_str_z(text_z), &number) && number >= 0;
}

/* ---- Flags ---- */

static bool is_word_in(const char *word_z, const char *list_z)
{
    struct mr_str rest = mr_str_z(list_z);
    while (rest.len > 0) {
        ptrdiff_t blank = mr_str_find(rest, ' ');
        size_t len = blank < 0 ? rest.len : (size_t)blank;
        if (mr_str_eq_z(mr_str_of(rest.ptr, len), word_z))
            return true;
        if (blank < 0)
            break;
        rest = mr_str_of(rest.ptr + len + 1, rest.len - len - 1);
    }
    return false;
}

static const struct mr_cli_flag *find_flag(const struct mr_command *command, struct mr_str name, char letter)
{
    for (size_t g = 0; command->flags[g]; g++) {
        for (const struct mr_cli_flag *flag = command->flags[g]; flag->name_z; flag++) {
            if (letter ? flag->letter == letter : mr_str_eq_z(name, flag->name_z))
                return flag;
        }
    }
    return NULL;
}

static enum mr_exit unknown_flag(const struct mr_command *command, struct mr_str name, struct mr_error *err)
{
    const char *near = NULL;
    size_t best = name.len / 3 + 1;
    for (size_t g = 0; command->flags[g]; g++) {
        for (const struct mr_cli_flag *flag = command->flags[g]; flag->name_z; flag++) {
            size_t distance = mr_str_distance(name, mr_str_z(flag->name_z));
            if (distance < best) {
                best = distance;
                near = flag->name_z;
            }
        }
    }
    int len = (int)(name.len < 100 ? name.len : 100);
    if (near)
        return BAD_USAGE(err, "%s has no flag %.*s; did you mean %s?", command->name_z, len, name.ptr, near);
    return BAD_USAGE(err, "%s has no flag %.*s", command->name_z, len, name.ptr);
}

static enum mr_exit take_flag(struct mr_cli_context *ctx, const struct mr_cli_flag *flag, const char *value_z,
                              struct mr_error *err)
{
    switch (flag->kind) {
    case MR_FLAG_HELP:
        ctx->wants_help = true;
        return MR_EXIT_OK;
    case MR_FLAG_FILE:
        if (ctx->config_path_z)
            return BAD_USAGE(err, "--config is given twice");
        ctx->config_path_z = value_z;
        return MR_EXIT_OK;
    case MR_FLAG_SET:
        return take_set(ctx, value_z, err);
    case MR_FLAG_FROM:
        return take_from(ctx, value_z, err);
    case MR_FLAG_OPTION:
        add_setting(ctx, flag->key_z, flag->value_z ? value_z : "true", flag->name_z);
        return MR_EXIT_OK;
    case MR_FLAG_OWN:
        if (flag->is_number && !is_number(value_z))
            return BAD_USAGE(err, "%s wants a whole number, not \"%.100s\"", flag->name_z, value_z);
        ctx->said = mr_xgrow(ctx->said, &ctx->said_cap, ctx->said_count + 1, sizeof *ctx->said);
        ctx->said[ctx->said_count++] = (struct mr_cli_said){flag, flag->value_z ? value_z : ""};
        return MR_EXIT_OK;
    }
    return MR_EXIT_BUG;
}

/* One argument that begins with a dash; *i moves on if the next one is its value. */
static enum mr_exit parse_flag(struct mr_cli_context *ctx, int argc, char **argv, int *i,
                               struct mr_error *err)
{
    const char *arg = argv[*i];
    bool is_long = arg[1] == '-';
    struct mr_str name = mr_str_z(arg);
    const char *value_z = NULL;

    if (is_long) {
        ptrdiff_t equals = mr_str_find(name, '=');
        if (equals >= 0) {
            value_z = arg + equals + 1;
            name.len = (size_t)equals;
        }
    } else if (arg[2]) {
        value_z = arg + 2; /* -cFILE */
        name.len = 2;
    }
    const struct mr_cli_flag *flag = find_flag(ctx->command, name, is_long ? 0 : arg[1]);
    if (!flag)
        return unknown_flag(ctx->command, name, err);
    if (!flag->value_z && value_z)
        return BAD_USAGE(err, "%s takes no value", flag->name_z);
    if (flag->value_z && !value_z) {
        if (*i + 1 >= argc)
            return BAD_USAGE(err, "%s wants a value: %s %s", flag->name_z, flag->name_z, flag->value_z);
        value_z = argv[++*i];
    }
    return take_flag(ctx, flag, value_z ? value_z : "", err);
}

/* ---- Operands ---- */

static enum mr_exit take_action(struct mr_cli_context *ctx, const char *word_z, struct mr_error *err)
{
    const struct mr_cli_action *near = NULL;
    size_t best = 3;
    for (const struct mr_cli_action *action = ctx->command->actions; action->name_z; action++) {
        size_t distance = mr_str_distance(mr_str_z(word_z), mr_str_z(action->name_z));
        if (distance == 0) {
            ctx->action = action;
            return MR_EXIT_OK;
        }
        if (distance < best) {
            best = distance;
            near = action;
        }
    }
    if (near)
        return BAD_USAGE(err, "%s does not know \"%.100s\"; did you mean %s?", ctx->command->name_z, word_z,
                         near->name_z);
    return BAD_USAGE(err, "%s does not know \"%.100s\"", ctx->command->name_z, word_z);
}

static enum mr_exit take_operand(struct mr_cli_context *ctx, const char *word_z, struct mr_error *err)
{
    const struct mr_command *command = ctx->command;
    if (command->actions && !ctx->action)
        return take_action(ctx, word_z, err);
    size_t max = ctx->action ? ctx->action->max_operands : command->max_operands;
    if (ctx->operand_count >= max)
        return BAD_USAGE(err, "%s%s%s does not take \"%.100s\"", command->name_z, ctx->action ? " " : "",
                         ctx->action ? ctx->action->name_z : "", word_z);
    ctx->operands[ctx->operand_count++] = word_z;
    return MR_EXIT_OK;
}

/* A file name is a value as it stands: a "${" in it is no variable. */
static const char *escape_variables(struct mr_cli_context *ctx, const char *text_z)
{
    if (!strstr(text_z, "${"))
        return text_z;
    struct mr_buf buf = MR_BUF_INIT(1u << 20);
    for (const char *p = text_z; *p; p++) {
        if (p[0] == '$' && p[1] == '{')
            mr_buf_append_char(&buf, '$');
        mr_buf_append_char(&buf, *p);
    }
    const char *escaped = mr_arena_strndup(ctx->ar, buf.data, buf.len);
    mr_buf_free(&buf);
    return escaped;
}

static void files_to_settings(struct mr_cli_context *ctx)
{
    add_setting(ctx, "source.file.paths", "[]", "FILE");
    for (size_t i = 0; i < ctx->operand_count; i++)
        add_setting(ctx, "source.file.paths+", escape_variables(ctx, ctx->operands[i]), "FILE");
    add_setting(ctx, "source.kafka.brokers", "", "FILE");
    add_setting(ctx, "source.kafka.topics", "[]", "FILE");
}

/* ---- The whole line ---- */

static bool said_from(const struct mr_cli_context *ctx)
{
    for (size_t i = 0; i < ctx->setting_count; i++) {
        if (strcmp(ctx->settings[i].flag_z, "--from") == 0)
            return true;
    }
    return false;
}

/* What can only be judged when everything has been read. */
static enum mr_exit finish(struct mr_cli_context *ctx, struct mr_error *err)
{
    const struct mr_command *command = ctx->command;
    if (command->actions && !ctx->action)
        return BAD_USAGE(err, "%s wants one of %s", command->name_z, command->operands_z);
    if (ctx->action && ctx->operand_count < ctx->action->min_operands)
        return BAD_USAGE(err, "%s %s wants %s", command->name_z, ctx->action->name_z,
                         ctx->action->operands_z);
    for (size_t i = 0; i < ctx->said_count && ctx->action; i++) {
        const struct mr_cli_flag *flag = ctx->said[i].flag;
        if (flag->only_z && !is_word_in(ctx->action->name_z, flag->only_z))
            return BAD_USAGE(err, "%s is no flag of %s %s", flag->name_z, command->name_z,
                             ctx->action->name_z);
    }
    if (command->operands_are_files && ctx->operand_count > 0) {
        if (said_from(ctx))
            return BAD_USAGE(err, "files and --from exclude each other");
        files_to_settings(ctx);
    }
    return MR_EXIT_OK;
}

static enum mr_exit unknown_command(const char *word_z, struct mr_error *err)
{
    const struct mr_command *near = NULL;
    size_t best = 4;
    for (const struct mr_command *command = mr_commands; command->name_z; command++) {
        size_t distance = mr_str_distance(mr_str_z(word_z), mr_str_z(command->name_z));
        if (distance < best && distance < strlen(word_z)) {
            best = distance;
            near = command;
        }
    }
    if (near)
        return BAD_USAGE(err, "no command \"%.100s\"; did you mean %s?", word_z, near->name_z);
    return BAD_USAGE(err, "no command \"%.100s\"", word_z);
}

const struct mr_command *mr_command_find(const char *name_z)
{
    for (const struct mr_command *command = mr_commands; command->name_z; command++) {
        if (strcmp(command->name_z, name_z) == 0)
            return command;
    }
    return NULL;
}

enum mr_exit mr_cli_parse(struct mr_cli_context *ctx, int argc, char **argv, struct mr_error *err)
{
    *ctx = (struct mr_cli_context){.ar = mr_arena_create(0)};
    if (argc < 1)
        return BAD_USAGE(err, "a command is wanted");
    ctx->command = mr_command_find(argv[0]);
    if (!ctx->command)
        return unknown_command(argv[0], err);

    ctx->operands = mr_xcalloc((size_t)argc, sizeof *ctx->operands);
    bool only_operands = false;
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        if (!only_operands && strcmp(arg, "--") == 0)
            only_operands = true;
        else if (!only_operands && arg[0] == '-' && arg[1])
            PASS(parse_flag(ctx, argc, argv, &i, err));
        else
            PASS(take_operand(ctx, arg, err));
    }
    return ctx->wants_help ? MR_EXIT_OK : finish(ctx, err);
}

void mr_cli_context_free(struct mr_cli_context *ctx)
{
    mr_config_destroy(ctx->cfg);
    mr_xfree(ctx->operands);
    mr_xfree(ctx->settings);
    mr_xfree(ctx->said);
    mr_arena_destroy(ctx->ar);
    *ctx = (struct mr_cli_context){0};
}

bool mr_cli_has(const struct mr_cli_context *ctx, const char *flag_z)
{
    return mr_cli_value(ctx, flag_z) != NULL;
}

const char *mr_cli_value(const struct mr_cli_context *ctx, const char *flag_z)
{
    for (size_t i = ctx->said_count; i > 0; i--) {
        if (strcmp(ctx->said[i - 1].flag->name_z, flag_z) == 0)
            return ctx->said[i - 1].value_z;
    }
    return NULL;
}

int64_t mr_cli_number(const struct mr_cli_context *ctx, const char *flag_z, int64_t fallback)
{
    const char *value_z = mr_cli_value(ctx, flag_z);
    int64_t number;
    return value_z && mr_parse_int64(mr_str_z(value_z), &number) ? number : fallback;
}

bool mr_cli_action_is(const struct mr_cli_context *ctx, const char *action_z)
{
    return ctx->action && strcmp(ctx->action->name_z, action_z) == 0;
}
