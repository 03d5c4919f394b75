/* millrace config: the effective configuration, or the reference page. */
#include "cli.h"
#include "commands.h"

#include <millrace/base/buf.h>

int mr_cmd_config(struct mr_cli_context *ctx)
{
    struct mr_buf text = MR_BUF_INIT(64u << 20);
    if (mr_cli_has(ctx, "--reference"))
        mr_config_reference_markdown(&text);
    else
        mr_config_print(ctx->cfg, mr_cli_has(ctx, "--json"), &text);
    int code = mr_cli_print(&text);
    mr_buf_free(&text);
    return code;
}
