/* The progress line of a backfill on a terminal, and the summary at its end. */
#ifndef MR_CLI_PROGRESS_H
#define MR_CLI_PROGRESS_H

#include "cli.h"

#include <millrace/engine.h>

/* Turn the line on if stderr is a terminal and the log goes there in text; hooks the log so that lines do not collide. */
void mr_progress_start(bool reads_files);
/* Engine hook. */
void mr_progress_update(void *ctx, const struct mr_engine_stats *stats);
/* Remove the line. */
void mr_progress_end(void);
/* The summary table, to stdout on a terminal, one log line elsewhere. */
void mr_progress_summary(const struct mr_engine_stats *stats, const struct mr_cli_context *ctx);
/* A log line about transactions of the source, if they were kept together. */
void mr_progress_transactions(const struct mr_engine_stats *stats);

#endif
