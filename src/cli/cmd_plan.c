/* millrace plan: what loading would do to the tables of the target, and why. Reads the source as loading would, writes nothing. */
#include "cli.h"
#include "commands.h"
#include "json_out.h"
#include "tracked.h"
#include "text_out.h"
#include "wire.h"

#include <millrace/base/arena.h>
#include <millrace/base/mem.h>

#define FIRST_DEAD 10
#define MAX_OUTPUT (1u << 30)

/* A record that would be a dead letter. */
struct dead {
    struct mr_str topic, code, field, message, hint;
    int32_t partition;
    int64_t offset;
};

struct telling {
    struct mr_jo js; /* its buffer is the output, JSON or not */
    bool json;
    struct mr_arena *ar;
    struct mr_grid *unchanged;
    uint64_t statements, forbidden, refused;
    enum mr_status refused_status;
    struct dead dead[FIRST_DEAD];
    size_t dead_count; /* kept */
};

static struct mr_buf *out(struct telling *t)
{
    return t->js.out;
}

/* ---- dead letters ---- */

static void on_dead(void *ctx, const struct mr_record *rec, const struct mr_error *why)
{
    struct telling *t = ctx;
    if (t->dead_count == FIRST_DEAD)
        return;
    t->dead[t->dead_count++] = (struct dead){
        .topic = mr_arena_copy(t->ar, rec->topic.len > 0 ? rec->topic : mr_str_z(rec->part->topic_z)),
        .partition = rec->partition,
        .offset = rec->offset,
        .code = mr_arena_copy(t->ar, mr_str_z(why->code)),
        .field = mr_arena_copy(t->ar, mr_str_z(why->field)),
        .message = mr_arena_copy(t->ar, mr_str_z(why->message)),
        .hint = mr_arena_copy(t->ar, mr_str_z(why->hint)),
    };
}

/* What to do about it, unless a record before has said so. */
static void print_hint(struct telling *t, size_t at)
{
    struct mr_str hint = t->dead[at].hint;
    bool is_new = hint.len > 0;
    for (size_t i = 0; i < at && is_new; i++)
        is_new = !mr_str_eq(t->dead[i].hint, hint);
    if (!is_new)
        return;
    mr_buf_append_z(out(t), "    hint: ");
    mr_text_append_safe(out(t), hint, false);
    mr_buf_append_char(out(t), '\n');
}

static void print_dead(struct telling *t, uint64_t all)
{
    if (all == 0)
        return;
    mr_buf_append_z(out(t), "Dead letters: ");
    mr_text_append_count(out(t), all);
    mr_buf_append_z(out(t), all == 1 ? " record would become one.\n" : " records would become dead letters.\n");
    for (size_t i = 0; i < t->dead_count; i++) {
        const struct dead *d = &t->dead[i];
        struct mr_place place = {.topic = d->topic, .partition = d->partition, .offset = d->offset};
        mr_buf_append_z(out(t), "  ");
        mr_tracked_append_place(out(t), &place);
        mr_buf_printf(out(t), "  %.*s: ", MR_STR_FMT(d->code));
        mr_text_append_safe(out(t), d->message, false);
        mr_buf_append_char(out(t), '\n');
        print_hint(t, i);
    }
    if (all > t->dead_count)
        mr_buf_printf(out(t), "  … and %llu more\n", (unsigned long long)(all - t->dead_count));
}

static void json_dead(struct telling *t, uint64_t all)
{
    mr_jo_object(&t->js, "dead_letters");
    mr_jo_uint(&t->js, "count", all);
    mr_jo_list(&t->js, "first");
    for (size_t i = 0; i < t->dead_count; i++) {
        const struct dead *d = &t->dead[i];
        mr_jo_object(&t->js, NULL);
        mr_jo_str(&t->js, "topic", d->topic);
        mr_jo_int(&t->js, "partition", d->partition);
        mr_jo_int(&t->js, "offset", d->offset);
        mr_jo_str(&t->js, "code", d->code);
        mr_jo_str(&t->js, "field", d->field);
        mr_jo_str(&t->js, "message", d->message);
        mr_jo_str(&t->js, "hint", d->hint);
        mr_jo_end_object(&t->js);
    }
    mr_jo_end_list(&t->js);
    mr_jo_end_object(&t->js);
}

/* ---- tables, for people ---- */

static void append_table_name(struct mr_buf *buf, const struct mr_plan_table *tbl)
{
    if (tbl->target_schema.len > 0) {
        mr_text_append_safe(buf, tbl->target_schema, false);
        mr_buf_append_char(buf, '.');
    }
    mr_text_append_safe(buf, tbl->target_table, false);
}

static void print_statements(struct telling *t, const struct mr_plan_table *tbl)
{
    for (size_t i = 0; i < tbl->statement_count; i++) {
        mr_buf_append_char(out(t), '\n');
        mr_text_append_block(out(t), tbl->statements[i], 4);
        while (out(t)->len > 0 && out(t)->data[out(t)->len - 1] == '\n')
            out(t)->len--;
        mr_buf_append_z(out(t), ";\n      -- ");
        if (tbl->reasons[i].len > 0) {
            mr_text_append_safe(out(t), tbl->reasons[i], false);
            mr_buf_append_z(out(t), "; ");
        }
        mr_buf_append_z(out(t), tbl->rewrites[i] ? "cost: the table is rewritten" : "cost: catalog only");
        if (!tbl->allowed[i])
            mr_buf_append_z(out(t), "; forbidden by target.evolve: loading would wait for it to be run by hand");
        mr_buf_append_char(out(t), '\n');
    }
}

static void print_columns(struct telling *t, const struct mr_plan_table *tbl)
{
    struct mr_grid *grid = mr_grid_create("|column|type||seen|first seen|notes");
    struct mr_buf text = MR_BUF_INIT(1u << 20);
    for (size_t i = 0; i < tbl->column_count; i++) {
        const struct mr_plan_column *pc = &tbl->columns[i];
        mr_grid_add_z(grid, pc->is_altered ? "~" : pc->is_new ? "+" : " ");
        mr_tracked_grid_row(grid, pc->column, &text, MR_STR(""));
    }
    mr_buf_append_char(out(t), '\n');
    mr_grid_print(grid, 4, out(t));
    mr_buf_free(&text);
    mr_grid_destroy(grid);
}

static void print_refusal(struct telling *t, const struct mr_error *err)
{
    mr_buf_append_z(out(t), "    cannot be loaded as it is: ");
    mr_text_append_safe(out(t), mr_str_z(err->message), false);
    mr_buf_append_char(out(t), '\n');
    if (err->hint[0]) {
        mr_buf_append_z(out(t), "    hint: ");
        mr_text_append_safe(out(t), mr_str_z(err->hint), false);
        mr_buf_append_char(out(t), '\n');
    }
}

static void print_counts(struct telling *t, const struct mr_plan_table *tbl)
{
    mr_text_append_count(out(t), tbl->rows);
    mr_buf_append_z(out(t), tbl->rows == 1 ? " change" : " changes");
    if (tbl->dead > 0) {
        mr_buf_append_z(out(t), ", ");
        mr_text_append_count(out(t), tbl->dead);
        mr_buf_append_z(out(t), " that would be dead letters");
    }
}

static void print_table(struct telling *t, const struct mr_plan_table *tbl)
{
    append_table_name(out(t), tbl);
    mr_buf_append_z(out(t), tbl->refused ? "  (refused; " : tbl->exists ? "  (altered; " : "  (new; ");
    print_counts(t, tbl);
    mr_buf_append_z(out(t), ")\n");
    if (tbl->refused != NULL)
        print_refusal(t, tbl->refused);
    print_statements(t, tbl);
    print_columns(t, tbl);
    mr_buf_append_char(out(t), '\n');
}

static void keep_unchanged(struct telling *t, const struct mr_plan_table *tbl)
{
    struct mr_buf name = MR_BUF_INIT(1u << 16);
    append_table_name(&name, tbl);
    mr_grid_add(t->unchanged, mr_buf_str(&name));
    mr_grid_printf(t->unchanged, "%zu columns", tbl->column_count);
    if (tbl->dead == 0)
        mr_grid_printf(t->unchanged, "%llu change%s", (unsigned long long)tbl->rows, tbl->rows == 1 ? "" : "s");
    else
        mr_grid_printf(t->unchanged, "%llu change%s, %llu that would be dead letters", (unsigned long long)tbl->rows,
                       tbl->rows == 1 ? "" : "s", (unsigned long long)tbl->dead);
    mr_buf_free(&name);
}

/* ---- tables, for scripts ---- */

static void json_table(struct telling *t, const struct mr_plan_table *tbl)
{
    struct mr_jo *js = &t->js;
    mr_jo_object(js, NULL);
    mr_jo_str(js, "target_schema", tbl->target_schema);
    mr_jo_str(js, "target_table", tbl->target_table);
    mr_jo_str(js, "source", tbl->table);
    mr_jo_bool(js, "exists", tbl->exists);
    mr_jo_uint(js, "changes", tbl->rows);
    mr_jo_uint(js, "dead", tbl->dead);
    if (tbl->refused != NULL) {
        mr_jo_z(js, "refused", tbl->refused->message);
        mr_jo_z(js, "refused_hint", tbl->refused->hint);
    }
    mr_jo_list(js, "statements");
    for (size_t i = 0; i < tbl->statement_count; i++) {
        mr_jo_object(js, NULL);
        mr_jo_str(js, "statement", tbl->statements[i]);
        mr_jo_str(js, "reason", tbl->reasons[i]);
        mr_jo_z(js, "cost", tbl->rewrites[i] ? "rewrite" : "catalog");
        mr_jo_bool(js, "allowed", tbl->allowed[i]);
        mr_jo_end_object(js);
    }
    mr_jo_end_list(js);
    mr_jo_list(js, "columns");
    for (size_t i = 0; i < tbl->column_count; i++) {
        const struct mr_plan_column *pc = &tbl->columns[i];
        mr_jo_object(js, NULL);
        mr_jo_z(js, "change", pc->is_altered ? "altered" : pc->is_new ? "new" : "none");
        if (pc->is_altered)
            mr_jo_type(js, "from", pc->from);
        mr_tracked_json_members(js, pc->column);
        mr_jo_end_object(js);
    }
    mr_jo_end_list(js);
    mr_jo_end_object(js);
}

static enum mr_status on_table(void *ctx, const struct mr_plan_table *tbl, struct mr_error *err)
{
    struct telling *t = ctx;
    t->statements += tbl->statement_count;
    for (size_t i = 0; i < tbl->statement_count; i++)
        t->forbidden += !tbl->allowed[i];
    if (tbl->refused != NULL) {
        t->refused++;
        t->refused_status = tbl->refused->status;
    }
    if (t->json)
        json_table(t, tbl);
    else if (tbl->statement_count == 0 && tbl->refused == NULL)
        keep_unchanged(t, tbl);
    else
        print_table(t, tbl);
    return mr_buf_check(out(t), "the plan", err);
}

/* ---- the whole ---- */

static void print_unmatched(void *ctx, const char *key_z)
{
    mr_buf_printf(out(ctx), "The setting %s matches nothing that was read; is the name right?\n", key_z);
}

static void json_unmatched(void *ctx, const char *key_z)
{
    struct telling *t = ctx;
    mr_jo_z(&t->js, NULL, key_z);
}

static void print_end(struct telling *t, const struct mr_config *cfg, const struct mr_engine_stats *stats)
{
    if (!mr_grid_is_empty(t->unchanged)) {
        mr_buf_append_z(out(t), "Without change:\n");
        mr_grid_print(t->unchanged, 2, out(t));
        mr_buf_append_char(out(t), '\n');
    }
    print_dead(t, stats->dead_letters);
    if (stats->records == 0)
        mr_buf_append_z(out(t), "There is nothing new to read: the stored positions are at the end of the input (--again plans from its start).\n");
    else if (t->statements == 0 && t->refused == 0)
        mr_buf_printf(out(t), "No table changes. %llu record%s read.\n", (unsigned long long)stats->records,
                      stats->records == 1 ? "" : "s");
    else
        mr_buf_printf(out(t), "%llu statement%s, %llu record%s read. Nothing has been written.\n", (unsigned long long)t->statements,
                      t->statements == 1 ? "" : "s", (unsigned long long)stats->records, stats->records == 1 ? "" : "s");
    if (stats->changes > 0)
        mr_config_unmatched(cfg, print_unmatched, t);
    if (mr_engine_stopping())
        mr_buf_append_z(out(t), "Stopped before the end of the input: this is the plan for what has been read.\n");
}

static void json_end(struct telling *t, const struct mr_config *cfg, const struct mr_engine_stats *stats)
{
    struct mr_jo *js = &t->js;
    mr_jo_end_list(js);
    json_dead(t, stats->dead_letters);
    mr_jo_uint(js, "records", stats->records);
    mr_jo_uint(js, "changes", stats->changes);
    mr_jo_uint(js, "control_messages", stats->control);
    mr_jo_uint(js, "statements", t->statements);
    mr_jo_uint(js, "forbidden", t->forbidden);
    mr_jo_list(js, "unmatched_settings");
    if (stats->changes > 0)
        mr_config_unmatched(cfg, json_unmatched, t);
    mr_jo_end_list(js);
    mr_jo_bool(js, "complete", !mr_engine_stopping());
    mr_jo_end_object(js);
}

/* A record that would be a dead letter is a difference too: what is loaded would not be what was sent. */
static int exit_code(const struct mr_cli_context *ctx, const struct telling *t, const struct mr_engine_stats *stats)
{
    bool differs = t->statements > 0 || stats->dead_letters > 0;

    if (t->refused > 0)
        return mr_cli_exit_code(t->refused_status);
    return differs && mr_cli_has(ctx, "--check") ? MR_EXIT_DIFFERENCE : MR_EXIT_OK;
}

static int run_plan(struct mr_cli_context *ctx, const struct mr_engine_parts *parts, struct telling *t)
{
    struct mr_plan_handler handler = {.ctx = t, .table = on_table, .dead = on_dead};
    struct mr_engine_stats stats = {0};
    struct mr_error err = {0};
    enum mr_unreachable unreachable = MR_REACHED;
    if (t->json) {
        mr_jo_object(&t->js, NULL);
        mr_jo_list(&t->js, "tables");
    }
    enum mr_status status = mr_engine_plan(parts, UINT64_MAX, &handler, &stats, &unreachable, &err);
    if (status != MR_OK)
        return mr_cli_engine_exit(status, unreachable, &err);
    if (t->json)
        json_end(t, ctx->cfg, &stats);
    else
        print_end(t, ctx->cfg, &stats);
    int printed = mr_cli_print(out(t));
    return printed != MR_EXIT_OK ? printed : exit_code(ctx, t, &stats);
}

int mr_cmd_plan(struct mr_cli_context *ctx)
{
    struct mr_engine_parts parts;
    struct mr_error err = {0};
    if (mr_cli_wire(ctx->cfg, &parts, &err) != MR_OK)
        return mr_cli_fail(&err);
    mr_cli_catch_signals();
    struct mr_buf text = MR_BUF_INIT(MAX_OUTPUT);
    struct telling t = {.js = {.out = &text}, .json = mr_cli_has(ctx, "--json")};
    t.ar = mr_arena_create(0);
    t.unchanged = mr_grid_create("||");
    int code = run_plan(ctx, &parts, &t);
    mr_grid_destroy(t.unchanged);
    mr_arena_destroy(t.ar);
    mr_buf_free(&text);
    return code;
}
