/* The bodies of the commands, one file each: cmd_<name>.c. Each returns an exit code. */
#ifndef MR_CLI_COMMANDS_H
#define MR_CLI_COMMANDS_H

struct mr_cli_context;

int mr_cmd_run(struct mr_cli_context *ctx);
int mr_cmd_backfill(struct mr_cli_context *ctx);
int mr_cmd_plan(struct mr_cli_context *ctx);
int mr_cmd_check(struct mr_cli_context *ctx);
int mr_cmd_status(struct mr_cli_context *ctx);
int mr_cmd_schema(struct mr_cli_context *ctx);
int mr_cmd_dead_letters(struct mr_cli_context *ctx);
int mr_cmd_config(struct mr_cli_context *ctx);
int mr_cmd_version(struct mr_cli_context *ctx);
int mr_cmd_help(struct mr_cli_context *ctx);

#endif
