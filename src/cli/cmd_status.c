/* millrace status: how far each partition is, which tables are loaded, what waits in the dead letters. Reads the control tables alone; where
 * the configuration names brokers it also asks them, for a moment, how much is left to read. */
#include "cli.h"
#include "commands.h"
#include "json_out.h"
#include "target.h"
#include "text_out.h"

#include "../engine/control_status.h"

#include <millrace/base/mem.h>
#include <millrace/source.h>

#define LAG_WAIT_MS 3000
#define MAX_OUTPUT (256u << 20)

struct position {
    struct mr_str pipeline, topic;
    int32_t partition;
    uint32_t lane, lanes;
    int64_t position, updated_us, end; /* end -1: not known */
};

struct table {
    struct mr_str schema, name, source, topic;
    struct mr_str key; /* paths with commas */
    size_t key_count, columns;
    bool created_by_us;
};

struct code {
    struct mr_str pipeline, code;
    int64_t count, first_us, last_us;
};

struct waiting {
    struct mr_str topic;
    int64_t count, oldest_us;
};

struct status {
    struct mr_cli_context *cli;
    struct mr_cli_target target;
    struct mr_str pipeline; /* "" = all */
    struct mr_arena *ar;
    struct position *positions;
    size_t position_count, position_cap;
    struct table *tables;
    size_t table_count, table_cap;
    struct code *codes;
    size_t code_count, code_cap;
    struct waiting *waiting; /* status events that are not sent yet */
    size_t waiting_count, waiting_cap;
    struct mr_ddl_history_row ddl; /* the last one; id 0 = none */
    struct mr_error lag_error;     /* status OK: asked, or nothing to ask */
};

/* ---- Gathering ---- */

static enum mr_status on_position(void *ctx, const struct mr_position_row *row, struct mr_error *err)
{
    struct status *st = ctx;
    (void)err;
    if (st->pipeline.len > 0 && !mr_str_eq(st->pipeline, row->pipeline))
        return MR_OK;
    st->positions = mr_xgrow(st->positions, &st->position_cap, st->position_count + 1, sizeof *st->positions);
    st->positions[st->position_count++] = (struct position){
        .pipeline = mr_arena_copy(st->ar, row->pipeline),
        .topic = mr_str_z(mr_arena_strndup(st->ar, row->topic.ptr, row->topic.len)),
        .partition = row->partition,
        .lane = row->lane,
        .lanes = row->lanes,
        .position = row->position,
        .updated_us = row->updated_us,
        .end = -1,
    };
    return MR_OK;
}

static enum mr_status on_table(void *ctx, const struct mr_tracked_table *tbl, struct mr_error *err)
{
    struct status *st = ctx;
    (void)err;
    struct mr_buf key = MR_BUF_INIT(1u << 20);
    for (size_t i = 0; i < tbl->key_count; i++) {
        mr_buf_append_z(&key, i > 0 ? ", " : "");
        mr_buf_append_str(&key, tbl->key_paths[i]);
    }
    st->tables = mr_xgrow(st->tables, &st->table_cap, st->table_count + 1, sizeof *st->tables);
    st->tables[st->table_count++] = (struct table){
        .schema = mr_arena_copy(st->ar, tbl->target_schema),
        .name = mr_arena_copy(st->ar, tbl->target_table),
        .source = mr_arena_copy(st->ar, mr_cli_table_name(tbl->database, tbl->table, st->ar)),
        .topic = mr_arena_copy(st->ar, tbl->topic),
        .key = mr_arena_copy(st->ar, mr_buf_str(&key)),
        .key_count = tbl->key_count,
        .created_by_us = tbl->created_by_us,
    };
    mr_buf_free(&key);
    return MR_OK;
}

static enum mr_status on_column(void *ctx, const struct mr_tracked_column *col, struct mr_error *err)
{
    struct table *tbl = ctx;
    (void)err;
    tbl->columns += col->type.kind != MR_T_NONE;
    return MR_OK;
}

static enum mr_status on_code(void *ctx, const struct mr_dead_code *code, struct mr_error *err)
{
    struct status *st = ctx;
    (void)err;
    st->codes = mr_xgrow(st->codes, &st->code_cap, st->code_count + 1, sizeof *st->codes);
    st->codes[st->code_count++] = (struct code){
        .pipeline = mr_arena_copy(st->ar, code->pipeline),
        .code = mr_arena_copy(st->ar, code->code),
        .count = code->count,
        .first_us = code->first_us,
        .last_us = code->last_us,
    };
    return MR_OK;
}

static enum mr_status on_waiting(void *ctx, struct mr_str topic, int64_t count, int64_t oldest_us, struct mr_error *err)
{
    struct status *st = ctx;
    (void)err;
    st->waiting = mr_xgrow(st->waiting, &st->waiting_cap, st->waiting_count + 1, sizeof *st->waiting);
    st->waiting[st->waiting_count++] = (struct waiting){mr_arena_copy(st->ar, topic), count, oldest_us};
    return MR_OK;
}

/* Control tables of an older layout have no such table. */
static enum mr_status gather_waiting(struct status *st, struct mr_error *err)
{
    enum mr_status status = mr_control_status_count(st->target.sink, on_waiting, st, err);
    if (status != MR_E_SCHEMA)
        return status;
    mr_error_clear(err);
    return MR_OK;
}

static enum mr_status on_ddl(void *ctx, const struct mr_ddl_history_row *row, struct mr_error *err)
{
    struct status *st = ctx;
    (void)err;
    st->ddl = *row;
    st->ddl.statement = mr_arena_copy(st->ar, row->statement);
    st->ddl.target_schema = mr_arena_copy(st->ar, row->target_schema);
    st->ddl.target_table = mr_arena_copy(st->ar, row->target_table);
    st->ddl.reason = mr_arena_copy(st->ar, row->reason);
    return MR_OK;
}

static bool is_file(const struct position *p)
{
    return mr_str_starts(p->topic, MR_STR("file:")) || mr_str_starts(p->topic, MR_STR("stdin:"));
}

/* Ends from the brokers, if the configuration names them. Not to get them is no failure. */
static void ask_ends(struct status *st)
{
    const struct mr_source_ops *kafka = NULL;
    for (size_t i = 0; mr_sources[i] != NULL; i++)
        if (mr_sources[i]->ends != NULL && strcmp(mr_sources[i]->name, "kafka") == 0)
            kafka = mr_sources[i];
    if (kafka == NULL || !mr_cli_reads_kafka(st->cli->cfg) || st->cli->cfg->kafka_topics.count == 0)
        return;
    struct mr_partition *parts = mr_xcalloc(st->position_count + 1, sizeof *parts);
    int64_t *ends = mr_xcalloc(st->position_count + 1, sizeof *ends);
    size_t *of = mr_xcalloc(st->position_count + 1, sizeof *of), count = 0;
    for (size_t i = 0; i < st->position_count; i++) {
        if (is_file(&st->positions[i]) || st->positions[i].lane > 0)
            continue;
        parts[count] = (struct mr_partition){.topic_z = st->positions[i].topic.ptr, .partition = st->positions[i].partition};
        of[count++] = i;
    }
    if (count > 0 && kafka->ends(st->cli->cfg, parts, count, LAG_WAIT_MS, ends, &st->lag_error) == MR_OK) {
        for (size_t i = 0; i < count; i++)
            for (size_t k = of[i]; k < st->position_count && k < of[i] + st->positions[of[i]].lanes; k++)
                st->positions[k].end = ends[i];
    }
    mr_xfree(parts);
    mr_xfree(ends);
    mr_xfree(of);
}

static enum mr_status gather(struct status *st, struct mr_error *err)
{
    struct mr_sink *sink = st->target.sink;
    MR_TRY(mr_control_positions(sink, on_position, st, err));
    MR_TRY(mr_control_tables(sink, on_table, st, err));
    for (size_t i = 0; i < st->table_count; i++)
        MR_TRY(mr_control_columns(sink, st->tables[i].schema, st->tables[i].name, on_column, &st->tables[i], err));
    MR_TRY(mr_control_dead_letter_codes(sink, st->pipeline, on_code, st, err));
    MR_TRY(mr_control_ddl_history(sink, on_ddl, st, err));
    MR_TRY(gather_waiting(st, err));
    ask_ends(st);
    return MR_OK;
}

/* What is left to read; -1 unknown. */
static int64_t lag_of(const struct position *p)
{
    if (p->end < 0)
        return -1;
    int64_t from = p->position < 0 ? 0 : p->position;
    return p->end > from ? p->end - from : 0;
}

/* ---- For people ---- */

static void print_positions(const struct status *st, struct mr_buf *out)
{
    bool has_lanes = false, has_ends = false;
    for (size_t i = 0; i < st->position_count; i++) {
        has_lanes = has_lanes || st->positions[i].lanes > 1;
        has_ends = has_ends || st->positions[i].end >= 0;
    }
    for (size_t i = 0; i < st->position_count;) {
        struct mr_str pipeline = st->positions[i].pipeline;
        struct mr_grid *grid = mr_grid_create("topic or file|>partition|>lane|>position|>behind|updated (UTC)");
        mr_buf_append_z(out, "\nPipeline ");
        mr_text_append_safe(out, pipeline, false);
        mr_buf_append_char(out, '\n');
        for (; i < st->position_count && mr_str_eq(st->positions[i].pipeline, pipeline); i++) {
            const struct position *p = &st->positions[i];
            mr_grid_add(grid, mr_cli_shown_topic(p->topic));
            mr_grid_printf(grid, is_file(p) ? "" : "%d", (int)p->partition);
            if (has_lanes)
                mr_grid_printf(grid, "%u/%u", (unsigned)p->lane + 1, (unsigned)p->lanes);
            else
                mr_grid_add_z(grid, "");
            if (p->position < 0)
                mr_grid_add_z(grid, "none yet");
            else if (is_file(p))
                mr_grid_printf(grid, "line %lld", (long long)p->position);
            else
                mr_grid_add_int(grid, p->position);
            if (lag_of(p) >= 0)
                mr_grid_add_count(grid, (uint64_t)lag_of(p));
            else
                mr_grid_add_z(grid, has_ends ? "?" : "");
            mr_grid_add_time(grid, p->updated_us);
        }
        mr_grid_print(grid, 2, out);
        mr_grid_destroy(grid);
    }
    if (st->lag_error.status != MR_OK)
        mr_buf_printf(out, "  (how far behind is not known: %s)\n", st->lag_error.message);
}

static void print_tables(const struct status *st, struct mr_buf *out)
{
    struct mr_grid *grid = mr_grid_create("table|>columns|key|from");
    for (size_t i = 0; i < st->table_count; i++) {
        const struct table *tbl = &st->tables[i];
        mr_grid_add(grid, mr_cli_table_name(tbl->schema, tbl->name, st->ar));
        mr_grid_add_count(grid, tbl->columns);
        mr_grid_add(grid, tbl->key_count > 0 ? tbl->key : MR_STR("none: rows are appended"));
        mr_grid_add(grid, tbl->source.len > 0 ? tbl->source : tbl->topic);
    }
    mr_buf_append_z(out, "\nTables\n");
    if (st->table_count > 0)
        mr_grid_print(grid, 2, out);
    else
        mr_buf_append_z(out, "  none yet\n");
    mr_grid_destroy(grid);
}

static void print_dead(const struct status *st, struct mr_buf *out)
{
    struct mr_grid *grid = mr_grid_create("reason|>open|oldest (UTC)|newest (UTC)|pipeline");
    for (size_t i = 0; i < st->code_count; i++) {
        mr_grid_add(grid, st->codes[i].code);
        mr_grid_add_count(grid, (uint64_t)st->codes[i].count);
        mr_grid_add_time(grid, st->codes[i].first_us);
        mr_grid_add_time(grid, st->codes[i].last_us);
        mr_grid_add(grid, st->codes[i].pipeline);
    }
    mr_buf_append_z(out, "\nDead letters\n");
    if (st->code_count > 0)
        mr_grid_print(grid, 2, out);
    else
        mr_buf_append_z(out, "  none open\n");
    mr_grid_destroy(grid);
}

static void print_waiting(const struct status *st, struct mr_buf *out)
{
    if (st->waiting_count == 0)
        return;
    struct mr_grid *grid = mr_grid_create("topic|>waiting|oldest (UTC)");
    for (size_t i = 0; i < st->waiting_count; i++) {
        mr_grid_add(grid, st->waiting[i].topic);
        mr_grid_add_count(grid, (uint64_t)st->waiting[i].count);
        mr_grid_add_time(grid, st->waiting[i].oldest_us);
    }
    mr_buf_append_z(out, "\nStatus events that are not sent yet\n");
    mr_grid_print(grid, 2, out);
    mr_grid_destroy(grid);
}

static void print_ddl(const struct status *st, struct mr_buf *out)
{
    if (st->ddl.id == 0)
        return;
    mr_buf_append_z(out, "\nLast change of a table, ");
    mr_text_append_time(out, st->ddl.at_us);
    mr_buf_append_char(out, '\n');
    mr_text_append_block(out, st->ddl.statement, 2);
}

static void print_status(const struct status *st, struct mr_buf *out)
{
    mr_config_mask_url(st->cli->cfg->target_url, out);
    mr_buf_printf(out, " (%s)\n", st->target.ops->server(st->target.sink)->text);
    if (st->position_count == 0 && st->pipeline.len > 0)
        mr_buf_printf(out, "\nThe pipeline \"%.*s\" has no position here.\n", MR_STR_FMT(st->pipeline));
    print_positions(st, out);
    print_tables(st, out);
    print_dead(st, out);
    print_waiting(st, out);
    print_ddl(st, out);
}

/* ---- For scripts ---- */

static void json_positions(const struct status *st, struct mr_jo *js)
{
    mr_jo_list(js, "positions");
    for (size_t i = 0; i < st->position_count; i++) {
        const struct position *p = &st->positions[i];
        mr_jo_object(js, NULL);
        mr_jo_str(js, "pipeline", p->pipeline);
        mr_jo_str(js, "topic", p->topic);
        mr_jo_int(js, "partition", p->partition);
        mr_jo_int(js, "lane", p->lane);
        mr_jo_int(js, "lanes", p->lanes);
        if (p->position < 0)
            mr_jo_null(js, "position");
        else
            mr_jo_int(js, "position", p->position);
        if (p->end < 0) {
            mr_jo_null(js, "end");
            mr_jo_null(js, "behind");
        } else {
            mr_jo_int(js, "end", p->end);
            mr_jo_int(js, "behind", lag_of(p));
        }
        mr_jo_time(js, "updated", p->updated_us);
        mr_jo_end_object(js);
    }
    mr_jo_end_list(js);
}

static void json_tables(const struct status *st, struct mr_jo *js)
{
    mr_jo_list(js, "tables");
    for (size_t i = 0; i < st->table_count; i++) {
        const struct table *tbl = &st->tables[i];
        mr_jo_object(js, NULL);
        mr_jo_str(js, "schema", tbl->schema);
        mr_jo_str(js, "table", tbl->name);
        mr_jo_str(js, "source", tbl->source);
        mr_jo_str(js, "topic", tbl->topic);
        mr_jo_uint(js, "columns", tbl->columns);
        mr_jo_str(js, "key", tbl->key);
        mr_jo_bool(js, "created_by_millrace", tbl->created_by_us);
        mr_jo_end_object(js);
    }
    mr_jo_end_list(js);
}

static void json_dead(const struct status *st, struct mr_jo *js)
{
    mr_jo_list(js, "dead_letters");
    for (size_t i = 0; i < st->code_count; i++) {
        mr_jo_object(js, NULL);
        mr_jo_str(js, "pipeline", st->codes[i].pipeline);
        mr_jo_str(js, "code", st->codes[i].code);
        mr_jo_int(js, "open", st->codes[i].count);
        mr_jo_time(js, "oldest", st->codes[i].first_us);
        mr_jo_time(js, "newest", st->codes[i].last_us);
        mr_jo_end_object(js);
    }
    mr_jo_end_list(js);
}

static void json_waiting(const struct status *st, struct mr_jo *js)
{
    mr_jo_list(js, "status_events");
    for (size_t i = 0; i < st->waiting_count; i++) {
        mr_jo_object(js, NULL);
        mr_jo_str(js, "topic", st->waiting[i].topic);
        mr_jo_int(js, "waiting", st->waiting[i].count);
        mr_jo_time(js, "oldest", st->waiting[i].oldest_us);
        mr_jo_end_object(js);
    }
    mr_jo_end_list(js);
}

static void json_status(const struct status *st, struct mr_buf *out)
{
    struct mr_jo js = {.out = out};
    struct mr_buf url = MR_BUF_INIT(65536);
    mr_config_mask_url(st->cli->cfg->target_url, &url);
    mr_jo_object(&js, NULL);
    mr_jo_str(&js, "target", mr_buf_str(&url));
    mr_jo_z(&js, "server", st->target.ops->server(st->target.sink)->text);
    mr_jo_bool(&js, "has_control_tables", st->target.has_control);
    json_positions(st, &js);
    json_tables(st, &js);
    json_dead(st, &js);
    json_waiting(st, &js);
    if (st->ddl.id == 0) {
        mr_jo_null(&js, "last_ddl");
    } else {
        mr_jo_object(&js, "last_ddl");
        mr_jo_time(&js, "at", st->ddl.at_us);
        mr_jo_str(&js, "schema", st->ddl.target_schema);
        mr_jo_str(&js, "table", st->ddl.target_table);
        mr_jo_str(&js, "statement", st->ddl.statement);
        mr_jo_str(&js, "reason", st->ddl.reason);
        mr_jo_end_object(&js);
    }
    mr_jo_end_object(&js);
    mr_buf_free(&url);
}

static int tell(struct status *st)
{
    struct mr_error err = {0};
    struct mr_buf out = MR_BUF_INIT(MAX_OUTPUT);
    int code;
    if (st->target.has_control && gather(st, &err) != MR_OK) {
        code = mr_cli_target_fail(&err);
    } else {
        if (mr_cli_has(st->cli, "--json"))
            json_status(st, &out);
        else if (!st->target.has_control)
            mr_cli_target_append_empty(st->cli->cfg, &out);
        else
            print_status(st, &out);
        code = mr_cli_print(&out);
    }
    mr_buf_free(&out);
    return code;
}

int mr_cmd_status(struct mr_cli_context *ctx)
{
    struct status st = {.cli = ctx, .pipeline = mr_cli_pipeline(ctx)};
    st.ar = mr_arena_create(0);
    int code = mr_cli_target_open(ctx->cfg, true, &st.target);
    if (code == MR_EXIT_OK)
        code = tell(&st);
    mr_cli_target_close(&st.target);
    mr_xfree(st.positions);
    mr_xfree(st.tables);
    mr_xfree(st.codes);
    mr_xfree(st.waiting);
    mr_arena_destroy(st.ar);
    return code;
}
