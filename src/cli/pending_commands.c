/* Commands whose files have not been written: they say so and exit with 70. */
#include "cli.h"
#include "commands.h"

static int not_built(const struct mr_cli_context *ctx)
{
    fprintf(stderr, "millrace: %s is not built\n", ctx->command->name_z);
    return MR_EXIT_BUG;
}

int mr_cmd_dead_letters(struct mr_cli_context *ctx)
{
    return not_built(ctx);
}
