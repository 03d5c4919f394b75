/* The whole program: find the command, parse, load the configuration, run, turn errors into words and exit codes. */
#include "cli.h"

#include "commands.h"

#include <millrace/base/buf.h>
#include <millrace/base/log.h>

#define HELP_MAX (4u << 20)

int mr_cli_exit_code(enum mr_status status)
{
    switch (status) {
    case MR_OK:
    case MR_E_STOPPED:
        return MR_EXIT_OK;
    case MR_E_CONFIG:
        return MR_EXIT_CONFIG;
    case MR_E_DATA:
        return MR_EXIT_DATA;
    case MR_E_FENCED:
        return MR_EXIT_FENCED;
    case MR_E_ENV:
    case MR_E_BUSY:
    case MR_E_SCHEMA:
        return MR_EXIT_FAILURE;
    case MR_E_BUG:
        return MR_EXIT_BUG;
    }
    return MR_EXIT_BUG;
}

static void print_error(const struct mr_error *err)
{
    fprintf(stderr, "millrace: %s\n", err->message);
    if (err->detail[0])
        fprintf(stderr, "  %s\n", err->detail);
    if (err->hint[0])
        fprintf(stderr, "  hint: %s\n", err->hint);
}

int mr_cli_fail(const struct mr_error *err)
{
    print_error(err);
    return mr_cli_exit_code(err->status);
}

int mr_cli_usage_error(const struct mr_command *command, const struct mr_error *err)
{
    print_error(err);
    if (command)
        fprintf(stderr, "  see: millrace %s --help\n", command->name_z);
    else
        fprintf(stderr, "  see: millrace --help\n");
    return MR_EXIT_USAGE;
}

int mr_cli_print(const struct mr_buf *text)
{
    bool failed = text->len > 0 && fwrite(text->data, 1, text->len, stdout) != text->len;
    failed |= fflush(stdout) != 0;
    return failed ? MR_EXIT_FAILURE : MR_EXIT_OK;
}

enum mr_status mr_cli_check_source(const struct mr_config *cfg, struct mr_error *err)
{
    bool brokers = *cfg->kafka_brokers != 0, topics = cfg->kafka_topics.count > 0,
         files = cfg->file_paths.count > 0;
    enum mr_status status = MR_OK;

    if (!brokers && !topics && !files)
        status = mr_fail(err, MR_E_CONFIG,
                         "nothing to read: no file, no --from and no source in the configuration");
    else if (files && (brokers || topics))
        status = mr_fail(err, MR_E_CONFIG,
                         "source.kafka and source.file are both set; one pipeline reads one of them");
    else if (!files && !topics)
        status = mr_fail(err, MR_E_CONFIG, "source.kafka.brokers is set, source.kafka.topics is not");
    else if (!files && !brokers)
        status = mr_fail(err, MR_E_CONFIG, "source.kafka.topics is set, source.kafka.brokers is not");
    if (status != MR_OK)
        mr_error_hint(
            err,
            "name FILEs, or --from kafka://broker:9092/topic, or a source in the file given with --config");
    return status;
}

bool mr_cli_reads_kafka(const struct mr_config *cfg)
{
    return *cfg->kafka_brokers != 0;
}

static int print_help(const struct mr_command *command)
{
    struct mr_buf text = MR_BUF_INIT(HELP_MAX);
    mr_help_append(command, &text);
    int code = mr_cli_print(&text);
    mr_buf_free(&text);
    return code;
}

/* Without a command: the overview on stderr, and a failure, since a script that forgot the command must notice. */
static int print_overview_as_error(void)
{
    struct mr_buf text = MR_BUF_INIT(HELP_MAX);
    mr_help_append(NULL, &text);
    fwrite(text.data, 1, text.len, stderr);
    mr_buf_free(&text);
    return MR_EXIT_USAGE;
}

static int run_command(struct mr_cli_context *ctx)
{
    struct mr_error err = {0};
    if (ctx->command->loads_config) {
        if (mr_config_load(ctx->config_path_z, ctx->settings, ctx->setting_count, &ctx->cfg, &err) != MR_OK)
            return mr_cli_fail(&err);
        mr_log_setup(ctx->cfg->log_level, ctx->cfg->log_format, ctx->cfg->log_values);
        mr_config_warn(ctx->cfg);
    }
    return ctx->command->run(ctx);
}

int mr_cli_main(int argc, char **argv)
{
    if (argc < 2)
        return print_overview_as_error();
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return print_help(NULL);
    static char version_name[] = "version";
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
        argv[1] = version_name;

    struct mr_cli_context ctx;
    struct mr_error err = {0};
    enum mr_exit parsed = mr_cli_parse(&ctx, argc - 1, argv + 1, &err);
    int code;
    if (parsed == MR_EXIT_USAGE)
        code = mr_cli_usage_error(ctx.command, &err);
    else if (parsed != MR_EXIT_OK)
        code = mr_cli_fail(&err);
    else if (ctx.wants_help)
        code = print_help(ctx.command);
    else
        code = run_command(&ctx);
    mr_cli_context_free(&ctx);
    return code;
}
