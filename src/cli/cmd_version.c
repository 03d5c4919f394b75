/* millrace version: our own, and what it was built with. */
#include "cli.h"
#include "commands.h"

#include <millrace/base/buf.h>

int mr_cmd_version(struct mr_cli_context *ctx)
{
    struct mr_buf text = MR_BUF_INIT(4096);
    if (mr_cli_has(ctx, "--json"))
        mr_buf_append_z(&text, "{\"millrace\": \"" MILLRACE_VERSION "\"}\n");
    else
        mr_buf_append_z(&text, "millrace " MILLRACE_VERSION "\n");
    int code = mr_cli_print(&text);
    mr_buf_free(&text);
    return code;
}
