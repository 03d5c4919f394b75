/* millrace help: the overview, a command's help, or a man page. */
#include "cli.h"
#include "commands.h"

#include <millrace/base/buf.h>

int mr_cmd_help(struct mr_cli_context *ctx)
{
    const char *name_z = ctx->operand_count > 0 ? ctx->operands[0] : NULL;
    const struct mr_command *command = name_z ? mr_command_find(name_z) : NULL;
    if (name_z && !command && strcmp(name_z, "millrace") != 0) {
        struct mr_error err = {0};
        (void)mr_fail(&err, MR_E_CONFIG, "no command \"%.100s\"", name_z);
        return mr_cli_usage_error(NULL, &err);
    }

    struct mr_buf text = MR_BUF_INIT(4u << 20);
    if (mr_cli_has(ctx, "--man"))
        mr_man_page_append(command, &text);
    else
        mr_help_append(command, &text);
    int code = mr_cli_print(&text);
    mr_buf_free(&text);
    return code;
}
