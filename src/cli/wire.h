/* What commands that run an engine share. */
#ifndef MR_CLI_WIRE_H
#define MR_CLI_WIRE_H

#include <millrace/engine.h>

/* Source and sink of the configuration, checked without connecting. */
enum mr_status mr_cli_wire(const struct mr_config *cfg, struct mr_engine_parts *parts, struct mr_error *err) MR_MUST_CHECK;
/* SIGTERM and SIGINT ask the engine to stop. */
void mr_cli_catch_signals(void);
/* Print the error (if any) and give the exit code. */
int mr_cli_engine_exit(enum mr_status status, enum mr_unreachable unreachable, const struct mr_error *err);

#endif
