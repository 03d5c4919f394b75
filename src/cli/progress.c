/* The progress line and the summary: see progress.h. One line on stderr, redrawn in place:
 *
 *   ▕███████████▌            ▏ 52%  1,204,000 records  81,300/s  2 dead letters
 */
#include "progress.h"

#include "target.h"

#include <stdio.h>
#include <unistd.h>

#include <millrace/base/log.h>

#define BAR_CELLS 24

static struct {
    bool on;
    bool drawn;
    bool reads_files;
} line;

static void erase(void)
{
    if (line.on && line.drawn)
        fputs("\r\033[K", stderr);
    line.drawn = false;
}

void mr_progress_start(bool reads_files)
{
    line.on = isatty(STDERR_FILENO) != 0;
    line.reads_files = reads_files;
    if (line.on)
        mr_log_set_hooks(erase, NULL);
}

/* 1234567 → "1,234,567" */
static const char *grouped(uint64_t n, char out[32])
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
    int at = 0;
    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
    return out;
}

static uint64_t rate(const struct mr_engine_stats *stats)
{
    int64_t ms = stats->now_ms - stats->started_ms;
    return ms > 0 ? stats->records * 1000 / (uint64_t)ms : 0;
}

static void draw_bar(double done)
{
    static const char *const eighths[] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int units = (int)(done * BAR_CELLS * 8);
    fputs("▕", stderr);
    for (int i = 0; i < BAR_CELLS; i++) {
        int left = units - i * 8;
        fputs(left >= 8 ? "█" : left <= 0 ? " " : eighths[left], stderr);
    }
    fprintf(stderr, "▏ %3d%%  ", (int)(done * 100));
}

void mr_progress_update(void *ctx, const struct mr_engine_stats *stats)
{
    (void)ctx;
    if (!line.on)
        return;
    char a[32], b[32], c[32];
    fputc('\r', stderr);
    if (stats->input_total > 0) {
        double done = (double)stats->input_done / (double)stats->input_total;
        draw_bar(done < 0 ? 0 : done > 1 ? 1 : done);
    }
    fprintf(stderr, "%s records  %s/s  %s dead letter%s%s\033[K", grouped(stats->records, a), grouped(rate(stats), b),
            grouped(stats->dead_letters, c), stats->dead_letters == 1 ? "" : "s",
            stats->waiting ? "  waiting for the target" : "");
    fflush(stderr);
    line.drawn = true;
}

void mr_progress_end(void)
{
    erase();
    fflush(stderr);
    mr_log_set_hooks(NULL, NULL);
    line.on = false;
}

static void print_row(const char *name, uint64_t n, const char *note)
{
    char text[32];
    if (n > 0 || note == NULL)
        printf("  %-16s %14s%s%s\n", name, grouped(n, text), note && *note ? "  " : "", note ? note : "");
}

static void summary(const struct mr_engine_stats *stats, const struct mr_config *cfg, const char *list_z)
{
    double seconds = (double)(stats->now_ms - stats->started_ms) / 1000.0;
    if (!isatty(STDOUT_FILENO)) {
        mr_log(MR_LOG_INFO, "done", MR_KV_INT("records", stats->records), MR_KV_INT("upserts", stats->upserts),
               MR_KV_INT("deletes", stats->deletes), MR_KV_INT("appends", stats->appends),
               MR_KV_INT("tables", stats->tables), MR_KV_INT("dead_letters", stats->dead_letters),
               MR_KV_INT("control_messages", stats->control), MR_KV_DOUBLE("seconds", seconds));
        if (stats->transactions + stats->transactions_split > 0)
            mr_log(MR_LOG_INFO, "transactions of the source", MR_KV_INT("whole", stats->transactions),
                   MR_KV_INT("split", stats->transactions_split), MR_KV_INT("incomplete", stats->transactions_short));
        if (stats->dead_letters > 0)
            printf("%llu dead letter%s: %s\n", (unsigned long long)stats->dead_letters,
                   stats->dead_letters == 1 ? "" : "s", list_z);
        if (stats->finished_before)
            mr_log_plain(MR_LOG_INFO, "nothing new: the input had been read to its end before (--again starts over)");
        return;
    }
    struct mr_buf url = MR_BUF_INIT(4096);
    mr_config_mask_url(cfg->target_url, &url);
    if (stats->finished_before)
        printf("Nothing new: the input had been read to its end before (--again starts over).\n");
    printf("%s\n", mr_buf_z(&url));
    mr_buf_free(&url);
    print_row("records", stats->records, NULL);
    print_row("rows upserted", stats->upserts, "");
    print_row("rows appended", stats->appends, "");
    print_row("rows deleted", stats->deletes, "");
    print_row("truncates", stats->truncates, "");
    print_row("control messages", stats->control, "");
    print_row("transactions", stats->transactions, "of the source, each applied as a whole");
    print_row("  split", stats->transactions_split, "could not be kept together");
    print_row("  incomplete", stats->transactions_short, "the topics lack records of them");
    print_row("nothing to do", stats->skipped, "deletes of what was not there");
    print_row("tables", stats->tables, NULL);
    print_row("ddl steps", stats->ddl, "");
    print_row("values nulled", stats->nulled, "policy null: millrace schema --history");
    print_row("dead letters", stats->dead_letters, stats->dead_letters > 0 ? list_z : NULL);
    printf("  %-16s %14.1f s\n", "time", seconds);
}

static void tell_unmatched(void *ctx, const char *key_z)
{
    (void)ctx;
    mr_log(MR_LOG_WARN, "this setting matches nothing that was read; is the name right?", MR_KV_Z("setting", key_z));
}

void mr_progress_summary(const struct mr_engine_stats *stats, const struct mr_cli_context *ctx)
{
    struct mr_buf list = MR_BUF_INIT(1u << 20);
    mr_buf_append_z(&list, "millrace dead-letters list");
    mr_cli_target_append_flags(ctx, &list);
    summary(stats, ctx->cfg, mr_buf_z(&list));
    if (stats->changes > 0)
        mr_config_unmatched(ctx->cfg, tell_unmatched, NULL);
    mr_buf_free(&list);
}
