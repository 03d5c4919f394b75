/* The DDL gate: see ddl_gate.h. */
#include "ddl_gate.h"

#include <millrace/base/fault.h>
#include <millrace/base/log.h>
#include <millrace/base/mem.h>

#include "status_outbox.h"

struct bring {
    struct mr_gate *gate;
    struct mr_rel *rel;
    struct mr_table *want;
    struct mr_catalog_table now, after; /* before the steps; after them, if a column was altered */
    struct mr_ddl_step *steps;
    size_t step_count;
    int64_t epoch;       /* the target's schema epoch as last committed */
    const struct mr_ddl_step *failed; /* the step that the target did not run */
    bool too_wide;                    /* there is no room for all columns */
    struct mr_arena *ar;
    struct mr_error *err;
};

/* The event that made a step necessary: the column's own, or the one that changed the shape. */
static struct mr_place place_of(const struct bring *b, const struct mr_ddl_step *step)
{
    if (step->kind == MR_DDL_ADD_COLUMN)
        return mr_tracker_column(b->rel->tk, step->column)->first;
    if (step->kind == MR_DDL_ALTER_TYPE && mr_tracker_column(b->rel->tk, step->column)->widened.topic.len > 0)
        return mr_tracker_column(b->rel->tk, step->column)->widened;
    if (mr_tracker_count(b->rel->tk) > 0)
        return mr_tracker_column(b->rel->tk, 0)->first;
    return (struct mr_place){.partition = -1, .offset = -1};
}

/* Where DDL commits by itself, what is recorded of it is committed beside it. */
static enum mr_status commit_so_far(struct bring *b)
{
    struct mr_sink *sink = b->gate->control;
    MR_TRY(sink->ops->commit(sink, b->err));
    b->epoch = b->gate->schema_epoch;
    return sink->ops->begin(sink, b->err);
}

static enum mr_status run_step(struct bring *b, const struct mr_ddl_step *step)
{
    struct mr_sink *sink = b->gate->control;
    struct mr_str statement = {0};
    enum mr_status status = sink->ops->ddl(sink, step, &b->now, b->ar, &statement, b->err);
    if (status != MR_OK) {
        b->failed = step;
        if (strcmp(b->err->code, MR_CODE_UNKNOWN) == 0)
            mr_error_hint(b->err, "Millrace does not know this error; the statement was: %.*s", MR_STR_FMT(statement));
        return status;
    }
    MR_FAULT("after_ddl_statement");
    struct mr_place place = place_of(b, step);
    struct mr_ddl_history_row row = {
        .target_schema = b->rel->target_schema,
        .target_table = b->rel->target_table,
        .statement = statement,
        .reason = step->reason,
        .rewrite = sink->ops->dialect->cost(step, sink->ops->server(sink)) == MR_COST_REWRITE,
        .topic = place.topic,
        .partition = place.partition,
        .offset = place.offset,
    };
    mr_log(MR_LOG_INFO, "ddl", MR_KV_STR("table", b->rel->target_table), MR_KV_STR("statement", statement),
           MR_KV_STR("reason", step->reason));
    MR_TRY(mr_control_ddl_history_add(sink, &row, b->err));
    return sink->ops->ddl_commits ? commit_so_far(b) : MR_OK;
}

static enum mr_status save_table(struct bring *b)
{
    const struct mr_str *key = NULL;
    size_t key_count = mr_tracker_key(b->rel->tk, &key);
    struct mr_tracked_table row = {
        .target_schema = b->rel->target_schema,
        .target_table = b->rel->target_table,
        .database = b->rel->database,
        .table = b->rel->table,
        .topic = b->rel->topic,
        .key_paths = key,
        .key_count = key_count,
        .created_by_us = b->rel->created_by_us || !b->rel->exists,
        .expanded = b->rel->expanded,
    };
    return mr_control_table_save(b->gate->control, &row, b->err);
}

static enum mr_status add_history(struct bring *b, const struct mr_tracked_column *col, enum mr_type_event event,
                                  struct mr_str from, struct mr_type to, const struct mr_place *place)
{
    char text[32];
    struct mr_type_history_row row = {
        .target_schema = b->rel->target_schema,
        .target_table = b->rel->target_table,
        .column = col->name,
        .path = col->path,
        .event = event,
        .from_type = from,
        .to_type = mr_str_z(mr_type_text(to, text)),
        .topic = place->topic,
        .partition = place->partition,
        .offset = place->offset,
    };
    return mr_control_type_history_add(b->gate->control, &row, 1, b->err);
}

/* History lines for a column that is new or widened. One that has widened within its first batch gets both. */
static enum mr_status save_history(struct bring *b, const struct mr_tracked_column *col, uint32_t index, bool *any)
{
    bool is_known = index < b->rel->known_count;
    struct mr_str none = {0};
    char from[32];
    if (is_known && mr_type_eq(b->rel->known[index], col->type))
        return MR_OK;
    *any = true;
    if (is_known)
        return add_history(b, col, MR_TYPE_EVENT_WIDENED, mr_str_z(mr_type_text(b->rel->known[index], from)), col->type,
                           &col->widened);
    bool has_widened = col->widened.topic.len > 0;
    MR_TRY(add_history(b, col, MR_TYPE_EVENT_CREATED, none, has_widened ? col->widened_from : col->type, &col->first));
    if (!has_widened)
        return MR_OK;
    return add_history(b, col, MR_TYPE_EVENT_WIDENED, mr_str_z(mr_type_text(col->widened_from, from)), col->type,
                       &col->widened);
}

static enum mr_status save_columns(struct mr_gate *gate, struct mr_rel *rel, struct mr_arena *ar,
                                   struct mr_error *err)
{
    size_t n = mr_tracker_count(rel->tk), count = 0;
    const struct mr_tracked_column **cols = mr_arena_alloc(ar, (n + 1) * sizeof *cols);
    uint32_t *index = mr_arena_alloc(ar, (n + 1) * sizeof *index);
    for (size_t i = 0; i < n; i++) {
        const struct mr_tracked_column *col = mr_tracker_column(rel->tk, i);
        if (!col->dirty)
            continue;
        cols[count] = col;
        index[count++] = (uint32_t)i;
    }
    if (count == 0)
        return MR_OK;
    return mr_control_columns_save(gate->control, rel->target_schema, rel->target_table, cols, index, count, err);
}

/* A schema alone is none of the entities that are told of. */
static bool changes_table(const struct bring *b)
{
    for (size_t i = 0; i < b->step_count; i++)
        if (b->steps[i].kind != MR_DDL_CREATE_SCHEMA)
            return true;
    return false;
}

static enum mr_status tell_change(struct bring *b)
{
    enum mr_status_action action = b->now.exists ? MR_STATUS_TABLE_ALTERED : MR_STATUS_TABLE_CREATED;
    if (!changes_table(b))
        return MR_OK;
    return mr_status_schema_changed(b->gate->control, b->gate->cfg, action, b->rel->target_schema, b->rel->target_table, b->err);
}

static enum mr_status check_allowed(struct bring *b, bool *refused)
{
    const struct mr_dialect *dialect = b->gate->control->ops->dialect;
    struct mr_buf text = MR_BUF_INIT(1u << 20);
    for (size_t i = 0; i < b->step_count; i++) {
        if (mr_ddl_allowed(&b->steps[i], b->gate->cfg->evolve))
            continue;
        *refused = true;
        if (text.len > 0)
            mr_buf_append_char(&text, '\n');
        dialect->render(&b->steps[i], &b->now, b->gate->control->ops->server(b->gate->control), &text);
        mr_buf_append_char(&text, ';');
    }
    enum mr_status status = MR_OK;
    if (*refused) {
        status = mr_fail_data(b->err, MR_CODE_REFUSED, "%.*s: the table must change, and target.evolve forbids it",
                              MR_STR_FMT(b->rel->source_name));
        mr_error_hint(b->err, "run this in the target, or set target.evolve=full: %.*s", MR_STR_FMT(mr_buf_str(&text)));
    }
    mr_buf_free(&text);
    return status;
}

static enum mr_status record_everything(struct bring *b)
{
    bool changed = b->step_count > 0 || !b->rel->saved || mr_tracker_beyond_double(b->rel->tk);
    MR_TRY(save_table(b));
    size_t n = mr_tracker_count(b->rel->tk);
    for (size_t i = 0; i < n; i++)
        MR_TRY(save_history(b, mr_tracker_column(b->rel->tk, i), (uint32_t)i, &changed));
    MR_TRY(save_columns(b->gate, b->rel, b->ar, b->err));
    if (changed) /* other instances must learn of it */
        MR_TRY(mr_control_raise_schema_epoch(b->gate->control, &b->gate->schema_epoch, b->err));
    return MR_OK;
}

/* A column that `evolve: add` does not let grow, or that the target did not let grow, is a value that the target refuses: no reason to wait or to ask
 * again. */
static void drop_wider(struct bring *b)
{
    size_t kept = 0;
    for (size_t i = 0; i < b->step_count; i++) {
        const struct mr_ddl_step *step = &b->steps[i];
        bool is_ruled_out = step->wider && (b->gate->cfg->evolve == MR_EVOLVE_ADD ||
                                            mr_refusal_why(b->rel->refused, MR_REFUSED_ALTER, b->want->columns[step->column].path) != NULL);
        if (!is_ruled_out)
            b->steps[kept++] = b->steps[i];
    }
    b->step_count = kept;
}

/* The columns that the steps make or alter. What an earlier plan has made, and was cut off before it could be recorded, is recorded first. */
static enum mr_status save_plan(struct bring *b)
{
    size_t n = mr_tracker_count(b->rel->tk), count = 0;
    const struct mr_tracked_column **cols = mr_arena_alloc(b->ar, (n + 1) * sizeof *cols);
    uint32_t *index = mr_arena_alloc(b->ar, (n + 1) * sizeof *index);
    for (size_t i = 0; i < n; i++) {
        const struct mr_tracked_column *taken = mr_tracker_taken(b->rel->tk, i);
        if (taken == NULL)
            continue;
        cols[count] = taken;
        index[count++] = (uint32_t)i;
    }
    if (count > 0)
        MR_TRY(mr_control_columns_save(b->gate->control, b->rel->target_schema, b->rel->target_table, cols, index, count, b->err));
    count = 0;
    for (size_t i = 0; i < b->step_count; i++) {
        const struct mr_ddl_step *step = &b->steps[i];
        bool is_column = step->kind == MR_DDL_ADD_COLUMN || step->kind == MR_DDL_ALTER_TYPE;
        size_t first = is_column ? step->column : 0, end = is_column ? first + 1 : step->kind == MR_DDL_CREATE_TABLE ? n : 0;
        for (size_t c = first; c < end; c++) {
            cols[count] = mr_tracker_column(b->rel->tk, c);
            index[count++] = (uint32_t)c;
        }
    }
    return mr_control_plan_save(b->gate->control, b->rel->target_schema, b->rel->target_table, cols, index, count, b->err);
}

/* DDL that commits by itself is seen by everybody before it is on record. So first of all the table is on record as ours, and what its columns are
 * to be, and the epoch is raised: whoever wrote rows for the old shape finds at its commit that its plan is old, whatever the server made of those
 * rows meanwhile. Ended anywhere from here on, the next attempt goes on with what the catalog holds then. */
static enum mr_status announce(struct bring *b)
{
    if (!b->gate->control->ops->ddl_commits || b->step_count == 0)
        return MR_OK;
    MR_TRY(save_table(b));
    MR_TRY(save_plan(b));
    if (changes_table(b))
        MR_TRY(mr_status_plan(b->gate->control, b->gate->cfg, b->rel->target_schema, b->rel->target_table, &b->now, b->err));
    MR_TRY(mr_control_raise_schema_epoch(b->gate->control, &b->gate->schema_epoch, b->err));
    MR_TRY(commit_so_far(b));
    MR_FAULT("before_ddl");
    return MR_OK;
}

/* What altered columns are now. How values are stored may depend on it. */
static enum mr_status look_again(struct bring *b)
{
    struct mr_sink *sink = b->gate->control;
    for (size_t i = 0; i < b->step_count; i++)
        if (b->steps[i].kind == MR_DDL_ALTER_TYPE)
            return sink->ops->describe_table(sink, b->rel->target_schema, b->rel->target_table, b->ar, &b->after, b->err);
    return MR_OK;
}

/* Inside the gate and its transaction: plan against the catalog, run, record. */
static enum mr_status change_target(struct bring *b, bool *stale, bool *refused)
{
    struct mr_sink *sink = b->gate->control;
    int64_t epoch = 0;
    MR_TRY(mr_control_schema_epoch(sink, &epoch, b->err));
    if (epoch != b->gate->schema_epoch) {
        b->gate->schema_epoch = epoch;
        *stale = true;
        return MR_OK;
    }
    MR_TRY(sink->ops->describe_table(sink, b->rel->target_schema, b->rel->target_table, b->ar, &b->now, b->err));
    b->rel->exists = b->now.exists;
    enum mr_status status = mr_evolve_diff(b->want, &b->now, b->rel->created_by_us, sink->ops->dialect, b->ar, &b->steps,
                                           &b->step_count, b->err);
    b->too_wide = status == MR_E_DATA;
    MR_TRY(status);
    drop_wider(b);
    MR_TRY(check_allowed(b, refused));
    MR_TRY(announce(b));
    for (size_t i = 0; i < b->step_count; i++) {
        MR_TRY(run_step(b, &b->steps[i]));
        MR_FAULT("after_ddl_step");
    }
    MR_TRY(look_again(b));
    MR_TRY(tell_change(b));
    return record_everything(b);
}

static enum mr_status in_transaction(struct bring *b, bool *stale, bool *refused)
{
    struct mr_sink *sink = b->gate->control;
    b->epoch = b->gate->schema_epoch;
    MR_TRY(sink->ops->begin(sink, b->err));
    enum mr_status status = change_target(b, stale, refused);
    if (status == MR_OK && !*stale)
        status = sink->ops->commit(sink, b->err);
    if (status != MR_OK || *stale)
        sink->ops->rollback(sink);
    if (status != MR_OK && !*stale)
        b->gate->schema_epoch = b->epoch;
    MR_FAULT("after_ddl");
    return status;
}

static enum mr_refused refused_kind(const struct bring *b)
{
    if (b->too_wide)
        return MR_REFUSED_COLUMN;
    switch (b->failed->kind) {
    case MR_DDL_CREATE_SCHEMA:
    case MR_DDL_CREATE_TABLE:
        break;
    case MR_DDL_ADD_COLUMN:
        return MR_REFUSED_COLUMN;
    case MR_DDL_ALTER_TYPE:
        return MR_REFUSED_ALTER;
    case MR_DDL_REPLACE_KEY:
        return MR_REFUSED_KEY;
    case MR_DDL_DROP_COLUMN: /* these are no steps of this gate: ddl_event.c */
    case MR_DDL_RENAME_COLUMN:
    case MR_DDL_DROP_TABLE:
    case MR_DDL_RENAME_TABLE:
        break;
    }
    return MR_REFUSED_TABLE;
}

/* Is it the step that the target does not want, rather than the target that is in trouble? A table that cannot even be created since something
 * else has its name is for a person to decide. */
static bool is_refusal(const struct bring *b, enum mr_status status)
{
    if (b->too_wide)
        return true;
    if (b->failed == NULL)
        return false;
    bool is_create = refused_kind(b) == MR_REFUSED_TABLE;
    return status == MR_E_DATA || status == MR_E_SCHEMA || (status == MR_E_CONFIG && !is_create);
}

/* The target refuses a step. What needs it goes to the dead letters; the batch is planned once more without it. False: nothing to be done. */
static bool note_refusal(const struct bring *b, enum mr_status status)
{
    if (!is_refusal(b, status))
        return false;
    const struct mr_rel *rel = b->rel;
    enum mr_refused kind = refused_kind(b);
    struct mr_buf what = MR_BUF_INIT(1u << 20);
    const struct mr_str *key = NULL;
    size_t key_count = mr_tracker_key(rel->tk, &key);
    if (kind == MR_REFUSED_KEY)
        mr_refusal_key_name(key, key_count, &what);
    else if (kind != MR_REFUSED_TABLE && !b->too_wide)
        mr_buf_append_str(&what, b->want->columns[b->failed->column].path);
    bool noted;
    if (status == MR_E_SCHEMA && mr_refusals_try_again(rel->refusals, rel->target_schema, rel->target_table, kind, mr_buf_str(&what))) {
        mr_log_error(MR_LOG_INFO, "the target's schema is not what was planned for; planning once more", b->err);
        noted = true;
    } else {
        noted = mr_refusals_add(rel->refusals, rel->target_schema, rel->target_table, kind, mr_buf_str(&what), b->err->message);
        if (noted)
            mr_log_error(MR_LOG_WARN, "the target refuses to change the table; events that need the change become dead letters", b->err);
    }
    mr_buf_free(&what);
    return noted;
}

/* The target holds the wanted table now. */
static void publish(struct bring *b)
{
    struct mr_rel *rel = b->rel;
    b->gate->steps_run += b->step_count;
    rel->created_by_us = rel->created_by_us || !rel->exists;
    rel->exists = true;
    rel->saved = true;
    rel->shape_dirty = false;
    b->want->exists = true;
    b->want->skips_same = rel->root != NULL;
    b->want->has_other_unique = rel->has_other_unique;
    b->want->has_foreign_keys = rel->has_foreign_keys;
    for (size_t i = 0; i < b->step_count; i++) {
        if (b->steps[i].kind != MR_DDL_ALTER_TYPE)
            continue;
        uint32_t column = b->steps[i].column;
        ((struct mr_column *)b->want->columns)[column].native =
            mr_arena_copy(b->want->ar, mr_tracker_altered(rel->tk, column, &b->after));
    }
    mr_table_unref(rel->tbl);
    rel->tbl = b->want;
    mr_tracker_saved(rel->tk);
    mr_rel_remember_types(rel);
}

enum mr_status mr_gate_bring(struct mr_gate *gate, struct mr_rel *rel, bool *stale, bool *refused,
                             struct mr_error *err)
{
    *stale = *refused = false;
    struct bring b = {.gate = gate, .rel = rel, .err = err};
    b.ar = mr_arena_create(0);
    b.want = mr_tracker_publish(rel->tk);
    enum mr_status status = gate->control->ops->gate_lock(gate->control, err);
    if (status == MR_OK) {
        status = mr_status_settle(gate->control, gate->cfg, err);
        if (status == MR_OK)
            status = in_transaction(&b, stale, refused);
        gate->control->ops->gate_unlock(gate->control);
    }
    if (status != MR_OK && note_refusal(&b, status)) {
        *stale = true;
        status = MR_OK;
    }
    if (status == MR_OK && !*stale)
        publish(&b);
    else
        mr_table_unref(b.want);
    if (status != MR_OK)
        rel->shape_dirty = true;
    mr_arena_destroy(b.ar);
    return status;
}

static bool any_dirty(const struct mr_rel *rel)
{
    for (size_t i = 0; i < mr_tracker_count(rel->tk); i++)
        if (mr_tracker_column(rel->tk, i)->dirty)
            return true;
    return false;
}

/* The columns first: then they are locked, and a newer epoch means that another instance has changed them since we read them. */
static enum mr_status save_in_epoch(struct mr_gate *gate, struct mr_rel *rel, bool *is_newer, struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(0);
    int64_t epoch = gate->schema_epoch;
    enum mr_status status = save_columns(gate, rel, ar, err);
    if (status == MR_OK)
        status = mr_control_schema_epoch(gate->control, &epoch, err);
    *is_newer = epoch != gate->schema_epoch;
    mr_arena_destroy(ar);
    return status;
}

enum mr_status mr_gate_save_statistics(struct mr_gate *gate, struct mr_rel *rel, struct mr_error *err)
{
    const struct mr_sink_ops *ops = gate->control->ops;
    bool is_newer = false;
    if (!any_dirty(rel))
        return MR_OK;
    MR_TRY(ops->begin(gate->control, err));
    enum mr_status status = save_in_epoch(gate, rel, &is_newer, err);
    if (status == MR_OK && !is_newer)
        status = ops->commit(gate->control, err);
    if (status != MR_OK || is_newer)
        ops->rollback(gate->control);
    else
        mr_tracker_saved(rel->tk);
    return status;
}
