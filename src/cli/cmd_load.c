/* `run` and `backfill`: wire source, decoders, target and engine together, and turn the outcome into an exit code. */
#include "cli.h"
#include "commands.h"
#include "progress.h"
#include "wire.h"

#include <signal.h>
#include <string.h>

#include <millrace/base/log.h>
#include <millrace/engine.h>

static void on_signal(int number)
{
    (void)number;
    mr_engine_stop();
}

void mr_cli_catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGPIPE, &ignore, NULL);
}

static const struct mr_source_ops *find_source(const struct mr_config *cfg)
{
    const char *want_z = mr_cli_reads_kafka(cfg) ? "kafka" : "file";
    for (size_t i = 0; mr_sources[i] != NULL; i++)
        if (strcmp(mr_sources[i]->name, want_z) == 0)
            return mr_sources[i];
    return NULL;
}

enum mr_status mr_cli_wire(const struct mr_config *cfg, struct mr_engine_parts *parts, struct mr_error *err)
{
    MR_TRY(mr_cli_check_source(cfg, err));
    *parts = (struct mr_engine_parts){.cfg = cfg, .source = find_source(cfg), .producer = &mr_kafka_producer};
    if (parts->source == NULL)
        return mr_fail(err, MR_E_BUG, "no such source");
    MR_TRY(mr_sink_for_url(cfg->target_url, &parts->sink, err));
    return parts->sink->check_url(cfg, err);
}

int mr_cli_engine_exit(enum mr_status status, enum mr_unreachable unreachable, const struct mr_error *err)
{
    if (status == MR_OK)
        return MR_EXIT_OK;
    int code = mr_cli_fail(err);
    if (unreachable == MR_SOURCE_UNREACHABLE)
        return MR_EXIT_SOURCE;
    if (unreachable == MR_TARGET_UNREACHABLE)
        return MR_EXIT_TARGET;
    return status != err->status ? mr_cli_exit_code(status) : code;
}

static int load(struct mr_cli_context *ctx, enum mr_engine_mode mode)
{
    struct mr_engine_parts parts;
    struct mr_engine_stats stats = {0};
    struct mr_error err = {0};
    enum mr_unreachable unreachable = MR_REACHED;
    if (mr_cli_wire(ctx->cfg, &parts, &err) != MR_OK)
        return mr_cli_fail(&err);
    parts.mode = mode;
    mr_cli_catch_signals();
    if (mode == MR_MODE_BACKFILL) {
        mr_progress_start(!mr_cli_reads_kafka(ctx->cfg));
        parts.progress = mr_progress_update;
    }
    enum mr_status status = mr_engine_run(&parts, &stats, &unreachable, &err);
    mr_progress_end();
    if (mode == MR_MODE_BACKFILL && status == MR_OK) {
        mr_progress_summary(&stats, ctx);
    } else {
        mr_progress_transactions(&stats);
        mr_log(MR_LOG_INFO, "stopped", MR_KV_INT("records", stats.records), MR_KV_INT("dead_letters", stats.dead_letters));
    }
    return mr_cli_engine_exit(status, unreachable, &err);
}

int mr_cmd_run(struct mr_cli_context *ctx)
{
    return load(ctx, MR_MODE_RUN);
}

int mr_cmd_backfill(struct mr_cli_context *ctx)
{
    int code = load(ctx, MR_MODE_BACKFILL);
    if (code == MR_EXIT_OK && mr_engine_stopping()) /* asked to stop before the end: it was not read whole */
        fputs("millrace: stopped before the end of the input; start it again to go on\n", stderr);
    return code;
}
