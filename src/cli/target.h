/* The target, for commands that look at it: connected once, read-only unless said. */
#ifndef MR_CLI_TARGET_H
#define MR_CLI_TARGET_H

#include "cli.h"

#include <millrace/base/arena.h>
#include <millrace/sink.h>

struct mr_cli_target {
    const struct mr_sink_ops *ops;
    struct mr_sink *sink;
    bool has_control; /* false: Millrace has never loaded anything into it */
};

/* Check the URL, connect once. MR_EXIT_OK, or the error is printed and this is the exit code. Close it in any case. */
int mr_cli_target_open(const struct mr_config *cfg, bool read_only, struct mr_cli_target *out);
void mr_cli_target_close(struct mr_cli_target *target);
/* "sqlite:shop.db: Millrace has not loaded anything into it yet." */
void mr_cli_target_append_empty(const struct mr_config *cfg, struct mr_buf *out);
/* How another command finds the same target: " -c millrace.yaml", " --to sqlite:shop.db"; nothing where it is the default. */
void mr_cli_target_append_flags(const struct mr_cli_context *ctx, struct mr_buf *out);
/* An error that came from an open target: printed, and its exit code (ENV: the target cannot be reached). */
int mr_cli_target_fail(const struct mr_error *err);

/* Which pipeline a command asks about: "" = any, where nobody has named one. */
struct mr_str mr_cli_pipeline(const struct mr_cli_context *ctx);
/* "file:/data/orders.jsonl#4096:…" is the file's path for a reader; a topic is itself. */
struct mr_str mr_cli_shown_topic(struct mr_str topic);
/* Schema and table as one name, quoted by nothing: "shop.orders"; the table alone where there are no schemas. In `ar`. */
struct mr_str mr_cli_table_name(struct mr_str schema, struct mr_str table, struct mr_arena *ar);

#endif
