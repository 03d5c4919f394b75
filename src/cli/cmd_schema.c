/* millrace schema: the tables and columns that Millrace has learned, as the control tables have them, with the types that the target's catalog
 * really has beside them; with --history also how they came to be. */
#include "cli.h"
#include "commands.h"
#include "json_out.h"
#include "target.h"
#include "text_out.h"
#include "tracked.h"

#include "../engine/control.h"

#include <millrace/base/mem.h>

#define MAX_OUTPUT (1u << 30)
#define FLUSH_BYTES (1u << 20)

struct table {
    struct mr_str schema, name, database, source, topic;
    struct mr_str *key;
    size_t key_count;
    bool created_by_us;
};

struct schema {
    struct mr_cli_context *cli;
    struct mr_cli_target target;
    const char *wanted_z; /* NULL = all */
    bool json, history;
    struct mr_arena *ar;
    struct mr_buf out;
    struct mr_jo js;
    struct table *tables;
    size_t table_count, table_cap;
    struct mr_catalog_table now; /* of the table being told */
    struct mr_grid *grid;
    struct mr_buf scratch;
};

/* ---- Which tables ---- */

static bool is_wanted(const struct schema *s, const struct mr_tracked_table *tbl)
{
    if (s->wanted_z == NULL || mr_str_eq_z(tbl->target_table, s->wanted_z) || mr_str_eq_z(tbl->table, s->wanted_z))
        return true;
    return mr_str_eq_z(mr_cli_table_name(tbl->target_schema, tbl->target_table, s->ar), s->wanted_z) ||
           mr_str_eq_z(mr_cli_table_name(tbl->database, tbl->table, s->ar), s->wanted_z);
}

static enum mr_status on_table(void *ctx, const struct mr_tracked_table *tbl, struct mr_error *err)
{
    struct schema *s = ctx;
    (void)err;
    if (!is_wanted(s, tbl))
        return MR_OK;
    s->tables = mr_xgrow(s->tables, &s->table_cap, s->table_count + 1, sizeof *s->tables);
    struct table *t = &s->tables[s->table_count++];
    *t = (struct table){
        .schema = mr_arena_copy(s->ar, tbl->target_schema),
        .name = mr_arena_copy(s->ar, tbl->target_table),
        .database = mr_arena_copy(s->ar, tbl->database),
        .source = mr_arena_copy(s->ar, tbl->table),
        .topic = mr_arena_copy(s->ar, tbl->topic),
        .key_count = tbl->key_count,
        .created_by_us = tbl->created_by_us,
    };
    t->key = mr_arena_alloc(s->ar, (tbl->key_count + 1) * sizeof *t->key);
    for (size_t i = 0; i < tbl->key_count; i++)
        t->key[i] = mr_arena_copy(s->ar, tbl->key_paths[i]);
    return MR_OK;
}

/* ---- Columns ---- */

static const struct mr_catalog_column *find_column(const struct schema *s, struct mr_str name)
{
    bool folds = s->target.ops->dialect->ident_case_folds;
    for (size_t i = 0; i < s->now.column_count; i++)
        if (mr_str_eq(s->now.columns[i].name, name) || (folds && mr_str_eq_nocase(s->now.columns[i].name, name)))
            return &s->now.columns[i];
    return NULL;
}

static enum mr_status on_column_text(void *ctx, const struct mr_tracked_column *col, struct mr_error *err)
{
    struct schema *s = ctx;
    (void)err;
    const struct mr_catalog_column *real = find_column(s, col->name);
    mr_tracked_grid_row(s->grid, col, &s->scratch, real != NULL ? real->native : MR_STR("-"));
    return MR_OK;
}

static enum mr_status on_column_json(void *ctx, const struct mr_tracked_column *col, struct mr_error *err)
{
    struct schema *s = ctx;
    (void)err;
    const struct mr_catalog_column *real = find_column(s, col->name);
    mr_jo_object(&s->js, NULL);
    mr_tracked_json_members(&s->js, col);
    if (real != NULL)
        mr_jo_str(&s->js, "native_type", real->native);
    else
        mr_jo_null(&s->js, "native_type");
    mr_jo_end_object(&s->js);
    return MR_OK;
}

/* Output so far, so that a large export does not pile up. */
static enum mr_status flush(struct schema *s, struct mr_error *err)
{
    if (s->out.len < FLUSH_BYTES)
        return MR_OK;
    MR_TRY(mr_buf_check(&s->out, "the output", err));
    if (mr_cli_print(&s->out) != MR_EXIT_OK)
        return mr_fail(err, MR_E_STOPPED, "the output is closed");
    mr_buf_clear(&s->out);
    return MR_OK;
}

/* ---- Histories ---- */

static const char *event_name(enum mr_type_event event)
{
    switch (event) {
    case MR_TYPE_EVENT_CREATED:
        return "created";
    case MR_TYPE_EVENT_WIDENED:
        return "widened";
    case MR_TYPE_EVENT_NULLED:
        return "nulled";
    case MR_TYPE_EVENT_BY_HAND:
        return "by hand";
    case MR_TYPE_EVENT_VARIANT:
        return "variant";
    }
    return "?";
}

static bool is_told(const struct schema *s, struct mr_str schema, struct mr_str name)
{
    for (size_t i = 0; i < s->table_count; i++)
        if (mr_str_eq(s->tables[i].schema, schema) && mr_str_eq(s->tables[i].name, name))
            return true;
    return s->wanted_z == NULL;
}

static enum mr_status on_type_text(void *ctx, const struct mr_type_history_row *row, struct mr_error *err)
{
    struct schema *s = ctx;
    (void)err;
    struct mr_place place = {row->topic, row->partition, row->offset, INT64_MIN};
    if (!is_told(s, row->target_schema, row->target_table))
        return MR_OK;
    mr_grid_add_time(s->grid, row->at_us);
    mr_buf_clear(&s->scratch);
    mr_buf_append_str(&s->scratch, mr_cli_table_name(row->target_schema, row->target_table, s->ar));
    mr_buf_append_char(&s->scratch, '.');
    mr_buf_append_str(&s->scratch, row->column);
    mr_grid_add(s->grid, mr_buf_str(&s->scratch));
    mr_grid_add_z(s->grid, event_name(row->event));
    mr_buf_clear(&s->scratch);
    if (row->from_type.len > 0)
        mr_buf_printf(&s->scratch, "%.*s → ", MR_STR_FMT(row->from_type));
    mr_buf_append_str(&s->scratch, row->to_type);
    mr_grid_add(s->grid, mr_buf_str(&s->scratch));
    mr_buf_clear(&s->scratch);
    mr_tracked_append_place(&s->scratch, &place);
    mr_grid_add(s->grid, mr_buf_str(&s->scratch));
    mr_grid_add(s->grid, row->message);
    return MR_OK;
}

static enum mr_status on_type_json(void *ctx, const struct mr_type_history_row *row, struct mr_error *err)
{
    struct schema *s = ctx;
    struct mr_place place = {row->topic, row->partition, row->offset, INT64_MIN};
    if (!is_told(s, row->target_schema, row->target_table))
        return MR_OK;
    mr_jo_object(&s->js, NULL);
    mr_jo_time(&s->js, "at", row->at_us);
    mr_jo_str(&s->js, "target_schema", row->target_schema);
    mr_jo_str(&s->js, "target_table", row->target_table);
    mr_jo_str(&s->js, "column", row->column);
    mr_jo_str(&s->js, "path", row->path);
    mr_jo_z(&s->js, "event", event_name(row->event));
    mr_jo_str(&s->js, "from", row->from_type);
    mr_jo_str(&s->js, "to", row->to_type);
    mr_jo_str(&s->js, "message", row->message);
    mr_tracked_json_place(&s->js, "cause", &place);
    mr_jo_end_object(&s->js);
    return flush(s, err);
}

static enum mr_status on_ddl_text(void *ctx, const struct mr_ddl_history_row *row, struct mr_error *err)
{
    struct schema *s = ctx;
    struct mr_place place = {row->topic, row->partition, row->offset, INT64_MIN};
    if (!is_told(s, row->target_schema, row->target_table))
        return MR_OK;
    mr_buf_append_z(&s->out, "\n  ");
    mr_text_append_time(&s->out, row->at_us);
    mr_buf_append_z(&s->out, row->rewrite ? "  table rewritten  " : "  ");
    if (row->reason.len > 0) {
        mr_text_append_safe(&s->out, row->reason, false);
        mr_buf_append_z(&s->out, "  ");
    }
    mr_tracked_append_place(&s->out, &place);
    mr_buf_append_char(&s->out, '\n');
    mr_text_append_block(&s->out, row->statement, 4);
    return flush(s, err);
}

static enum mr_status on_ddl_json(void *ctx, const struct mr_ddl_history_row *row, struct mr_error *err)
{
    struct schema *s = ctx;
    struct mr_place place = {row->topic, row->partition, row->offset, INT64_MIN};
    if (!is_told(s, row->target_schema, row->target_table))
        return MR_OK;
    mr_jo_object(&s->js, NULL);
    mr_jo_time(&s->js, "at", row->at_us);
    mr_jo_str(&s->js, "target_schema", row->target_schema);
    mr_jo_str(&s->js, "target_table", row->target_table);
    mr_jo_str(&s->js, "statement", row->statement);
    mr_jo_str(&s->js, "reason", row->reason);
    mr_jo_bool(&s->js, "rewrite", row->rewrite);
    mr_tracked_json_place(&s->js, "cause", &place);
    mr_jo_end_object(&s->js);
    return flush(s, err);
}

/* ---- Telling ---- */

static enum mr_status describe(struct schema *s, const struct table *t, struct mr_arena *ar, struct mr_error *err)
{
    s->now = (struct mr_catalog_table){0};
    return s->target.ops->describe_table(s->target.sink, t->schema, t->name, ar, &s->now, err);
}

static void append_head(struct schema *s, const struct table *t)
{
    mr_text_append_safe(&s->out, mr_cli_table_name(t->schema, t->name, s->ar), false);
    mr_buf_append_z(&s->out, "  (from ");
    mr_text_append_safe(&s->out, t->source.len > 0 ? mr_cli_table_name(t->database, t->source, s->ar) : t->topic, false);
    if (t->key_count == 0)
        mr_buf_append_z(&s->out, "; no key, rows are appended");
    for (size_t i = 0; i < t->key_count; i++) {
        mr_buf_append_z(&s->out, i == 0 ? "; key " : ", ");
        mr_tracked_append_path(&s->out, t->key[i]);
    }
    if (!t->created_by_us)
        mr_buf_append_z(&s->out, "; the table was there before Millrace");
    if (!s->now.exists)
        mr_buf_append_z(&s->out, "; the table is gone from the target");
    mr_buf_append_z(&s->out, ")\n");
}

static enum mr_status text_table(struct schema *s, const struct table *t, struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(0);
    enum mr_status status = describe(s, t, ar, err);
    s->grid = mr_grid_create("column|type|in the target|seen|first seen|notes");
    if (status == MR_OK)
        status = mr_control_columns(s->target.sink, t->schema, t->name, on_column_text, s, err);
    if (status == MR_OK) {
        mr_buf_append_z(&s->out, t == s->tables ? "" : "\n");
        append_head(s, t);
        mr_grid_print(s->grid, 2, &s->out);
    }
    mr_grid_destroy(s->grid);
    mr_arena_destroy(ar);
    return status;
}

static enum mr_status json_table(struct schema *s, const struct table *t, struct mr_error *err)
{
    struct mr_jo *js = &s->js;
    struct mr_arena *ar = mr_arena_create(0);
    enum mr_status status = describe(s, t, ar, err);
    mr_jo_object(js, NULL);
    mr_jo_str(js, "target_schema", t->schema);
    mr_jo_str(js, "target_table", t->name);
    mr_jo_str(js, "source_database", t->database);
    mr_jo_str(js, "source_table", t->source);
    mr_jo_str(js, "topic", t->topic);
    mr_jo_bool(js, "created_by_millrace", t->created_by_us);
    mr_jo_bool(js, "exists", s->now.exists);
    mr_jo_list(js, "key");
    for (size_t i = 0; i < t->key_count; i++)
        mr_jo_str(js, NULL, t->key[i]);
    mr_jo_end_list(js);
    mr_jo_list(js, "columns");
    if (status == MR_OK)
        status = mr_control_columns(s->target.sink, t->schema, t->name, on_column_json, s, err);
    mr_jo_end_list(js);
    mr_jo_end_object(js);
    mr_arena_destroy(ar);
    return status == MR_OK ? flush(s, err) : status;
}

static enum mr_status tell_text(struct schema *s, struct mr_error *err)
{
    for (size_t i = 0; i < s->table_count; i++)
        MR_TRY(text_table(s, &s->tables[i], err));
    if (!s->history)
        return MR_OK;
    s->grid = mr_grid_create("when (UTC)|column|event|type|caused by|reason");
    enum mr_status status =
        mr_control_type_history(s->target.sink, MR_STR(""), MR_STR(""), on_type_text, s, err);
    if (status == MR_OK) {
        mr_buf_append_z(&s->out, "\nHow the types came to be\n");
        mr_grid_print(s->grid, 2, &s->out);
    }
    mr_grid_destroy(s->grid);
    MR_TRY(status);
    mr_buf_append_z(&s->out, "\nStatements that were run\n");
    return mr_control_ddl_history(s->target.sink, on_ddl_text, s, err);
}

static enum mr_status tell_json(struct schema *s, struct mr_error *err)
{
    bool has_control = s->target.has_control;
    mr_jo_object(&s->js, NULL);
    mr_jo_z(&s->js, "dialect", s->target.ops->dialect->name);
    mr_jo_list(&s->js, "tables");
    for (size_t i = 0; i < s->table_count; i++)
        MR_TRY(json_table(s, &s->tables[i], err));
    mr_jo_end_list(&s->js);
    if (s->history) {
        mr_jo_list(&s->js, "type_history");
        if (has_control)
            MR_TRY(mr_control_type_history(s->target.sink, MR_STR(""), MR_STR(""), on_type_json, s, err));
        mr_jo_end_list(&s->js);
        mr_jo_list(&s->js, "ddl_history");
        if (has_control)
            MR_TRY(mr_control_ddl_history(s->target.sink, on_ddl_json, s, err));
        mr_jo_end_list(&s->js);
    }
    mr_jo_end_object(&s->js);
    return MR_OK;
}

/* "no table "x"; the nearest is y" */
struct nearest {
    struct mr_str wanted, best;
    size_t distance;
    struct mr_arena *ar;
};

static enum mr_status on_near(void *ctx, const struct mr_tracked_table *tbl, struct mr_error *err)
{
    struct nearest *n = ctx;
    (void)err;
    struct mr_str names[] = {tbl->target_table, mr_cli_table_name(tbl->target_schema, tbl->target_table, n->ar)};
    for (size_t i = 0; i < 2; i++) {
        size_t distance = mr_str_distance(n->wanted, names[i]);
        if (distance >= n->distance)
            continue;
        n->distance = distance;
        n->best = mr_arena_copy(n->ar, names[i]);
    }
    return MR_OK;
}

static int no_such_table(struct schema *s)
{
    struct mr_error err = {0};
    struct nearest n = {.wanted = mr_str_z(s->wanted_z), .distance = strlen(s->wanted_z) / 2 + 2, .ar = s->ar};
    if (s->target.has_control && mr_control_tables(s->target.sink, on_near, &n, &err) != MR_OK)
        return mr_cli_target_fail(&err);
    (void)mr_fail(&err, MR_E_CONFIG, "Millrace loads no table \"%s\"", s->wanted_z);
    if (n.best.len > 0)
        mr_error_hint(&err, "did you mean %.*s?", MR_STR_FMT(n.best));
    mr_cli_fail(&err);
    return MR_EXIT_FAILURE;
}

static int tell(struct schema *s)
{
    struct mr_error err = {0};
    enum mr_status status = MR_OK;
    if (s->target.has_control)
        status = mr_control_tables(s->target.sink, on_table, s, &err);
    if (status == MR_OK && s->wanted_z != NULL && s->table_count == 0)
        return no_such_table(s);
    if (status == MR_OK && s->json)
        status = tell_json(s, &err);
    else if (status == MR_OK && !s->target.has_control)
        mr_cli_target_append_empty(s->cli->cfg, &s->out);
    else if (status == MR_OK)
        status = tell_text(s, &err);
    if (status == MR_OK)
        status = mr_buf_check(&s->out, "the output", &err);
    return status == MR_OK ? mr_cli_print(&s->out) : mr_cli_target_fail(&err);
}

int mr_cmd_schema(struct mr_cli_context *ctx)
{
    struct schema s = {
        .cli = ctx,
        .wanted_z = ctx->operand_count > 0 ? ctx->operands[0] : NULL,
        .json = mr_cli_has(ctx, "--json"),
        .history = mr_cli_has(ctx, "--history"),
        .out = MR_BUF_INIT(MAX_OUTPUT),
        .scratch = MR_BUF_INIT(1u << 24),
    };
    s.ar = mr_arena_create(0);
    s.js.out = &s.out;
    int code = mr_cli_target_open(ctx->cfg, true, &s.target);
    if (code == MR_EXIT_OK)
        code = tell(&s);
    mr_cli_target_close(&s.target);
    mr_xfree(s.tables);
    mr_buf_free(&s.out);
    mr_buf_free(&s.scratch);
    mr_arena_destroy(s.ar);
    return code;
}
