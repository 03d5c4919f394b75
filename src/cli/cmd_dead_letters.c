/* millrace dead-letters: messages that could not be loaded. Here flags become a filter; dead_letters_show.c and dead_letters_act.c do the work. */
#include "commands.h"
#include "dead_letters.h"

#define MAX_OUTPUT (1u << 30)
#define FLUSH_BYTES (1u << 20)

bool mr_dead_flush(struct mr_dead_cmd *cmd)
{
    if (cmd->out.len < FLUSH_BYTES)
        return true;
    bool fine = mr_cli_print(&cmd->out) == MR_EXIT_OK;
    mr_buf_clear(&cmd->out);
    return fine;
}

static struct mr_str flag_text(const struct mr_cli_context *ctx, const char *flag_z)
{
    return mr_str_z(mr_cli_value(ctx, flag_z)); /* NULL gives "" */
}

static bool take_ids(struct mr_dead_cmd *cmd, struct mr_error *err)
{
    const struct mr_cli_context *ctx = cmd->cli;
    cmd->ids = mr_arena_alloc(cmd->ar, (ctx->operand_count + 1) * sizeof *cmd->ids);
    for (size_t i = 0; i < ctx->operand_count; i++) {
        if (mr_parse_int64(mr_str_z(ctx->operands[i]), &cmd->ids[i]) && cmd->ids[i] > 0)
            continue;
        (void)mr_fail(err, MR_E_CONFIG, "\"%.100s\" is no number of a dead letter; `dead-letters list` shows them", ctx->operands[i]);
        return false;
    }
    return true;
}

/* IDs and filters exclude each other; actions that change something need one of them, or --all. */
static bool take_filter(struct mr_dead_cmd *cmd, struct mr_error *err)
{
    const struct mr_cli_context *ctx = cmd->cli;
    cmd->filter = (struct mr_dead_filter){
        .pipeline = mr_cli_pipeline(ctx),
        .topic = flag_text(ctx, "--topic"),
        .code = flag_text(ctx, "--code"),
        .table = flag_text(ctx, "--table"),
        .with_replayed = mr_cli_has(ctx, "--all"),
        .limit = mr_cli_number(ctx, "--limit", 0),
    };
    cmd->has_filter = cmd->filter.topic.len + cmd->filter.code.len + cmd->filter.table.len > 0;
    bool changes = mr_cli_action_is(ctx, "replay") || mr_cli_action_is(ctx, "purge");
    if (!changes)
        return true;
    if (ctx->operand_count > 0 && (cmd->has_filter || mr_cli_has(ctx, "--all"))) {
        (void)mr_fail(err, MR_E_CONFIG, "dead-letters %s: name IDs or a filter, not both", ctx->action->name_z);
        return false;
    }
    if (ctx->operand_count == 0 && !cmd->has_filter && !mr_cli_has(ctx, "--all")) {
        (void)mr_fail(err, MR_E_CONFIG, "dead-letters %s: name IDs, a filter (--topic, --code, --table), or --all", ctx->action->name_z);
        return false;
    }
    return true;
}

static int run_action(struct mr_dead_cmd *cmd)
{
    const struct mr_cli_context *ctx = cmd->cli;
    if (mr_cli_action_is(ctx, "list"))
        return mr_dead_list(cmd);
    if (mr_cli_action_is(ctx, "show"))
        return mr_dead_show(cmd);
    if (mr_cli_action_is(ctx, "replay"))
        return mr_dead_replay(cmd);
    return mr_dead_purge(cmd);
}

int mr_cmd_dead_letters(struct mr_cli_context *ctx)
{
    struct mr_dead_cmd cmd = {.cli = ctx, .out = MR_BUF_INIT(MAX_OUTPUT), .json = mr_cli_has(ctx, "--json")};
    struct mr_error err = {0};
    int code = MR_EXIT_OK;
    cmd.ar = mr_arena_create(0);
    cmd.js.out = &cmd.out;
    if (!take_ids(&cmd, &err) || !take_filter(&cmd, &err))
        code = mr_cli_usage_error(ctx->command, &err);
    /* Purge writes; replay looks first, and the engine then has a connection of its own. */
    if (code == MR_EXIT_OK)
        code = mr_cli_target_open(ctx->cfg, true, &cmd.target);
    if (code == MR_EXIT_OK)
        code = run_action(&cmd);
    mr_cli_target_close(&cmd.target);
    mr_buf_free(&cmd.out);
    mr_arena_destroy(cmd.ar);
    return code;
}
