/* dead-letters replay and purge: the two that change something. */
#include "dead_letters.h"
#include "wire.h"

#include <stdio.h>
#include <unistd.h>

#include <millrace/engine.h>

/* ---- replay ---- */

struct replaying {
    struct mr_dead_cmd *cmd;
    uint64_t done, open, not_there;
};

static const char *word(enum mr_replay_outcome outcome)
{
    switch (outcome) {
    case MR_REPLAY_DONE:
        return "replayed";
    case MR_REPLAY_EXISTS:
        return "exists";
    case MR_REPLAY_FORCE:
        return "needs_overwrite";
    case MR_REPLAY_FAILED:
        return "failed";
    case MR_REPLAY_NOT:
        return "not_replayed";
    }
    return "?";
}

static void print_report(struct mr_buf *out, const struct mr_replay_report *report)
{
    mr_buf_printf(out, "%6lld  ", (long long)report->id);
    if (report->outcome == MR_REPLAY_DONE)
        mr_buf_printf(out, "replayed    %llu row%s", (unsigned long long)report->rows, report->rows == 1 ? "" : "s");
    else
        mr_buf_append_z(out, report->outcome == MR_REPLAY_NOT ? "passed over" : "stays open ");
    if (report->topic.len > 0) {
        mr_buf_append_z(out, "  ");
        mr_text_append_safe(out, mr_cli_shown_topic(report->topic), false);
        if (report->partition >= 0)
            mr_buf_printf(out, "[%d]", (int)report->partition);
        if (report->offset >= 0)
            mr_buf_printf(out, "@%lld", (long long)report->offset);
    }
    mr_buf_append_char(out, '\n');
    if (report->why == NULL)
        return;
    mr_buf_printf(out, "%19s ", "");
    if (report->outcome == MR_REPLAY_FAILED)
        mr_buf_printf(out, "%s: ", report->why->code[0] ? report->why->code : mr_status_name(report->why->status));
    mr_text_append_safe(out, mr_str_z(report->why->message), false);
    mr_buf_append_char(out, '\n');
    if (report->why->hint[0]) {
        mr_buf_printf(out, "%19s hint: ", "");
        mr_text_append_safe(out, mr_str_z(report->why->hint), false);
        mr_buf_append_char(out, '\n');
    }
}

static void json_report(struct mr_jo *js, const struct mr_replay_report *report)
{
    mr_jo_object(js, NULL);
    mr_jo_int(js, "id", report->id);
    mr_jo_z(js, "outcome", word(report->outcome));
    mr_jo_str(js, "topic", report->topic);
    mr_jo_int(js, "partition", report->partition);
    mr_jo_int(js, "offset", report->offset);
    mr_jo_uint(js, "rows", report->outcome == MR_REPLAY_DONE ? report->rows : 0);
    if (report->why != NULL) {
        mr_jo_z(js, "code", report->why->code);
        mr_jo_z(js, "message", report->why->message);
        mr_jo_z(js, "hint", report->why->hint);
        mr_jo_z(js, "field", report->why->field);
    }
    mr_jo_end_object(js);
}

/* Told at once: a long replay shows how far it is. */
static void on_told(void *ctx, const struct mr_replay_report *report)
{
    struct replaying *rp = ctx;
    rp->done += report->outcome == MR_REPLAY_DONE;
    rp->not_there += report->outcome == MR_REPLAY_NOT;
    rp->open += report->outcome != MR_REPLAY_DONE && report->outcome != MR_REPLAY_NOT;
    if (rp->cmd->json) {
        json_report(&rp->cmd->js, report);
        return;
    }
    print_report(&rp->cmd->out, report);
    (void)mr_cli_print(&rp->cmd->out);
    mr_buf_clear(&rp->cmd->out);
}

static void print_end(const struct replaying *rp)
{
    struct mr_buf *out = &rp->cmd->out;
    if (rp->done + rp->open + rp->not_there == 0)
        mr_buf_append_z(out, rp->cmd->has_filter ? "No open dead letter matches.\n" : "There are no open dead letters.\n");
    else
        mr_buf_printf(out, "%llu replayed, %llu stay%s open.\n", (unsigned long long)rp->done, (unsigned long long)rp->open,
                      rp->open == 1 ? "s" : "");
    if (mr_engine_stopping())
        mr_buf_append_z(out, "Stopped before the last one.\n");
}

static int end_replay(struct replaying *rp)
{
    if (rp->cmd->json) {
        mr_jo_end_list(&rp->cmd->js);
        mr_jo_uint(&rp->cmd->js, "replayed", rp->done);
        mr_jo_uint(&rp->cmd->js, "open", rp->open);
        mr_jo_bool(&rp->cmd->js, "complete", !mr_engine_stopping());
        mr_jo_end_object(&rp->cmd->js);
    } else {
        print_end(rp);
    }
    int printed = mr_cli_print(&rp->cmd->out);
    if (rp->open > 0)
        return MR_EXIT_DATA;
    return rp->not_there > 0 ? MR_EXIT_FAILURE : printed;
}

int mr_dead_replay(struct mr_dead_cmd *cmd)
{
    const struct mr_cli_context *ctx = cmd->cli;
    struct replaying rp = {.cmd = cmd};
    struct mr_replay_handler handler = {.ctx = &rp, .told = on_told};
    struct mr_engine_parts parts = {.cfg = ctx->cfg, .sink = cmd->target.ops, .producer = &mr_kafka_producer};
    struct mr_replay_request request = {
        .ids = cmd->ids,
        .id_count = ctx->operand_count,
        .pipeline = cmd->filter.pipeline,
        .topic = cmd->filter.topic,
        .code = cmd->filter.code,
        .table = cmd->filter.table,
        .limit = cmd->filter.limit,
        .overwrite = mr_cli_has(ctx, "--overwrite"),
    };
    struct mr_error err = {0};
    enum mr_unreachable unreachable = MR_REACHED;
    enum mr_status status = MR_OK;
    bool has_control = cmd->target.has_control;
    mr_cli_target_close(&cmd->target);
    if (!has_control && !cmd->json && request.id_count == 0) {
        mr_cli_target_append_empty(ctx->cfg, &cmd->out);
        return mr_cli_print(&cmd->out);
    }
    if (cmd->json) {
        mr_jo_object(&cmd->js, NULL);
        mr_jo_list(&cmd->js, "letters");
    }
    mr_cli_catch_signals();
    if (has_control) /* a target that is not there is not made for this */
        status = mr_engine_replay(&parts, &request, &handler, &unreachable, &err);
    rp.not_there += has_control ? 0 : request.id_count;
    int code = end_replay(&rp);
    return status == MR_OK ? code : mr_cli_engine_exit(status, unreachable, &err);
}

/* ---- purge ---- */

static enum mr_status count_one(void *ctx, const struct mr_dead_letter *letter, struct mr_error *err)
{
    (void)letter, (void)err;
    (*(uint64_t *)ctx)++;
    return MR_OK;
}

static enum mr_status count_letters(struct mr_dead_cmd *cmd, uint64_t *count, struct mr_error *err)
{
    *count = cmd->cli->operand_count;
    return *count > 0 ? MR_OK : mr_control_dead_letters(cmd->target.sink, &cmd->filter, false, count_one, count, err);
}

/* True if it may go on; *code is set where it may not. */
static bool is_agreed(struct mr_dead_cmd *cmd, int *code)
{
    struct mr_error err = {0};
    uint64_t count = 0;
    char answer[16] = "";
    *code = MR_EXIT_OK;
    if (mr_cli_has(cmd->cli, "--yes"))
        return true;
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
        if (cmd->cli->operand_count > 0 || cmd->has_filter)
            return true;
        (void)mr_fail(&err, MR_E_CONFIG, "dead-letters purge --all: there is no terminal to ask on; say --yes");
        *code = mr_cli_usage_error(cmd->cli->command, &err);
        return false;
    }
    if (count_letters(cmd, &count, &err) != MR_OK) {
        *code = mr_cli_target_fail(&err);
        return false;
    }
    if (count == 0)
        return true;
    fprintf(stderr, "Remove %llu dead letter%s for good? [y/N] ", (unsigned long long)count, count == 1 ? "" : "s");
    fflush(stderr);
    bool said = fgets(answer, sizeof answer, stdin) != NULL && (answer[0] == 'y' || answer[0] == 'Y');
    if (!said)
        fputs("Nothing was removed.\n", stderr);
    return said;
}

static enum mr_status purge(struct mr_dead_cmd *cmd, uint64_t *removed, struct mr_error *err)
{
    *removed = 0;
    if (cmd->cli->operand_count == 0)
        return mr_control_dead_letters_purge(cmd->target.sink, &cmd->filter, removed, err);
    for (size_t i = 0; i < cmd->cli->operand_count; i++) {
        struct mr_dead_filter one = {.id = cmd->ids[i], .with_replayed = true};
        uint64_t n = 0;
        MR_TRY(mr_control_dead_letters_purge(cmd->target.sink, &one, &n, err));
        *removed += n;
    }
    return MR_OK;
}

/* IDs are removed all or none; a failure half-way leaves them. */
static enum mr_status purge_in_transaction(struct mr_dead_cmd *cmd, uint64_t *removed, struct mr_error *err)
{
    struct mr_sink *sink = cmd->target.sink;
    MR_TRY(sink->ops->begin(sink, err));
    enum mr_status status = purge(cmd, removed, err);
    if (status == MR_OK)
        return sink->ops->commit(sink, err);
    sink->ops->rollback(sink);
    return status;
}

int mr_dead_purge(struct mr_dead_cmd *cmd)
{
    uint64_t removed = 0;
    struct mr_error err = {0};
    int code = MR_EXIT_OK;
    if (cmd->target.has_control) {
        if (!is_agreed(cmd, &code))
            return code;
        mr_cli_target_close(&cmd->target);
        code = mr_cli_target_open(cmd->cli->cfg, false, &cmd->target);
        if (code != MR_EXIT_OK)
            return code;
        if (purge_in_transaction(cmd, &removed, &err) != MR_OK)
            return mr_cli_target_fail(&err);
    }
    if (cmd->json) {
        mr_jo_object(&cmd->js, NULL);
        mr_jo_uint(&cmd->js, "removed", removed);
        mr_jo_end_object(&cmd->js);
    } else {
        mr_buf_printf(&cmd->out, "%llu dead letter%s removed.\n", (unsigned long long)removed, removed == 1 ? "" : "s");
    }
    code = mr_cli_print(&cmd->out);
    return removed < cmd->cli->operand_count ? MR_EXIT_FAILURE : code;
}
