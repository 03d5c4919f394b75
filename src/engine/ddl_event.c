/* Telling and following the source's DDL: see ddl_event.h. */
#include "ddl_event.h"

#include <millrace/base/fault.h>
#include <millrace/base/log.h>
#include <millrace/base/mem.h>

#include "ddl_rename.h"
#include "internal.h"
#include "status_outbox.h"

/* ---- taking in ---- */

static void report(struct mr_batch *batch, uint32_t index, const struct mr_change *ev)
{
    const struct mr_record *rec = &batch->records[index];
    *mr_batch_add_report(batch) = (struct mr_ddl_history_row){
        .statement = ev->statement,
        .reason = mr_arena_printf(batch->ar, "%.*s%s%.*s: told by the source, not run (ddl: report)",
                                  MR_STR_FMT(ev->relation.database), ev->relation.database.len > 0 ? "." : "",
                                  MR_STR_FMT(ev->relation.table)),
        .topic = rec->topic,
        .partition = rec->partition,
        .offset = rec->offset,
    };
    mr_log(MR_LOG_INFO, "schema change at the source", MR_KV_STR("database", ev->relation.database),
           MR_KV_STR("table", ev->relation.table), MR_KV_STR("statement", ev->statement));
}

bool mr_ddl_event_take(const struct mr_config *cfg, struct mr_batch *batch, uint32_t index,
                       const struct mr_change *ev)
{
    if (cfg->ddl == MR_DDL_REPORT && !ev->is_snapshot && ev->statement_part == 0 && ev->statement.len > 0)
        report(batch, index, ev);
    if (cfg->ddl != MR_DDL_APPLY || ev->action_count == 0)
        return false;
    if (index > 0)
        return true;
    batch->ddl = ev;
    return false;
}

/* ---- following ---- */

struct follow {
    struct mr_engine *e;
    const struct mr_record *rec;
    const struct mr_change *ev;
    const struct mr_source_action *act;
    uint32_t part;
    struct mr_arena *ar;
    struct mr_rel *rel, *new_rel; /* new_rel: RENAME_TABLE */
    struct mr_catalog_table now, then;
    struct mr_rename_verdict verdict;
    struct mr_str path;         /* of the column, as its rows spell it */
    struct mr_str column, name; /* target names of the column, before and after */
    struct mr_str why;          /* it cannot be followed; "" = it can */
    bool has_step;              /* there is something to do in the target */
    bool was_made;              /* and it has been done, but not noted */
    struct mr_error *err;
};

static struct mr_sink *sink_of(const struct follow *f)
{
    return f->e->control;
}

static bool has_column(const struct follow *f, struct mr_str name)
{
    return mr_catalog_find(sink_of(f)->ops->dialect, &f->now, name) >= 0;
}

static bool is_key_path(const struct follow *f, struct mr_str path)
{
    const struct mr_str *key = NULL;
    size_t count = mr_tracker_key(f->rel->tk, &key);
    for (size_t i = 0; i < count; i++)
        if (mr_str_eq(key[i], path))
            return true;
    return false;
}

/* MySQL's names of columns are the same in any case: the column of exactly that name, else the only one that is alike, else the path itself. */
static struct mr_str known_path(const struct follow *f, struct mr_str path)
{
    struct mr_str alike = path;
    size_t count = 0;
    if (mr_tracker_find(f->rel->tk, path) >= 0)
        return path;
    for (size_t i = 0; i < mr_tracker_count(f->rel->tk); i++) {
        struct mr_str one = mr_tracker_column(f->rel->tk, i)->path;
        if (mr_str_eq_nocase(one, path)) {
            alike = one;
            count++;
        }
    }
    return count == 1 ? alike : path;
}

/* What the action comes to in the target as it is now. */
static void plan_column(struct follow *f)
{
    int found = mr_tracker_find(f->rel->tk, f->path);
    bool is_rename = f->act->kind == MR_SRC_RENAME_COLUMN;
    if (found < 0 || !f->now.exists)
        return; /* the column has never brought a value: nothing is there to follow with */
    f->column = mr_tracker_column(f->rel->tk, (size_t)found)->name;
    if (is_rename) /* the same in another case is no other name for the target */
        f->name = mr_str_eq_nocase(f->path, f->act->new_path) ? f->column : mr_tracker_name_for(f->rel->tk, f->act->new_path, f->ar);
    bool has_old = has_column(f, f->column);
    bool has_new = is_rename && has_column(f, f->name) && !mr_str_eq(f->name, f->column);
    if (!is_rename && is_key_path(f, f->path))
        f->why = MR_STR("the column is part of the table's key");
    else if (has_old && has_new)
        f->why = MR_STR("the target has columns of both names");
    f->has_step = f->why.len == 0;
    f->was_made = !has_old;
}

static bool is_target_taken(const struct follow *f)
{
    return f->then.exists && !(mr_str_eq(f->rel->target_table, f->new_rel->target_table) &&
                               mr_str_eq(f->rel->target_schema, f->new_rel->target_schema));
}

static void plan_table(struct follow *f)
{
    bool is_rename = f->act->kind == MR_SRC_RENAME_TABLE;
    if (!f->rel->saved)
        return; /* not one of ours */
    if (is_rename && !f->now.exists && !(f->then.exists && !f->new_rel->saved))
        return; /* it has been dropped by hand */
    if (!f->rel->created_by_us)
        f->why = MR_STR("the table was there before Millrace");
    else if (f->now.exists && is_rename && is_target_taken(f))
        f->why = MR_STR("the target has tables of both names");
    f->has_step = f->why.len == 0;
    f->was_made = !f->now.exists;
}

/* Would the tables of arrays lose what they hang on? Their names and keys are made of the root's. */
static bool has_tied_children(const struct follow *f)
{
    bool is_column = f->act->kind == MR_SRC_DROP_COLUMN || f->act->kind == MR_SRC_RENAME_COLUMN;
    return f->rel->child_count > 0 && (!is_column || is_key_path(f, f->path));
}

static enum mr_status plan(struct follow *f)
{
    struct mr_sink *sink = sink_of(f);
    f->has_step = f->was_made = false;
    f->why = f->act->why; /* of what was not understood */
    if (f->act->kind == MR_SRC_NOT_UNDERSTOOD || f->rel == NULL)
        return MR_OK; /* a whole database has no table */
    f->path = known_path(f, f->act->path);
    if (has_tied_children(f)) {
        f->why = MR_STR("arrays of the table are tables of their own, which hang on it");
        return MR_OK;
    }
    MR_TRY(
        sink->ops->describe_table(sink, f->rel->target_schema, f->rel->target_table, f->ar, &f->now, f->err));
    if (f->new_rel != NULL)
        MR_TRY(sink->ops->describe_table(sink, f->new_rel->target_schema, f->new_rel->target_table, f->ar,
                                         &f->then, f->err));
    switch (f->act->kind) {
    case MR_SRC_DROP_COLUMN:
    case MR_SRC_RENAME_COLUMN:
        plan_column(f);
        break;
    case MR_SRC_DROP_TABLE:
    case MR_SRC_RENAME_TABLE:
        plan_table(f);
        break;
    case MR_SRC_NOT_UNDERSTOOD:
    case MR_SRC_DESCRIBE:
        break;
    }
    if (f->has_step && f->e->cfg->evolve != MR_EVOLVE_FULL) {
        f->has_step = false;
        f->why = MR_STR("target.evolve forbids it");
    }
    return MR_OK;
}

static enum mr_ddl_kind step_kind(enum mr_source_ddl kind)
{
    switch (kind) {
    case MR_SRC_DROP_COLUMN:
        return MR_DDL_DROP_COLUMN;
    case MR_SRC_RENAME_COLUMN:
        return MR_DDL_RENAME_COLUMN;
    case MR_SRC_DROP_TABLE:
        return MR_DDL_DROP_TABLE;
    case MR_SRC_RENAME_TABLE:
    case MR_SRC_DESCRIBE:
    case MR_SRC_NOT_UNDERSTOOD:
        break;
    }
    return MR_DDL_RENAME_TABLE;
}

static enum mr_status add_history(struct follow *f, struct mr_str statement, struct mr_str reason)
{
    struct mr_ddl_history_row row = {
        .target_schema = f->rel == NULL ? MR_STR("") : f->rel->target_schema,
        .target_table = f->rel == NULL ? MR_STR("") : f->rel->target_table,
        .statement = statement,
        .reason = reason,
        .topic = f->rec->topic,
        .partition = f->rec->partition,
        .offset = f->rec->offset,
    };
    return mr_control_ddl_history_add(sink_of(f), &row, f->err);
}

/* The statement that is in nobody's way: as the source wrote it, and why it is not followed. */
static enum mr_status tell(struct follow *f)
{
    mr_log(MR_LOG_WARN, "a schema change at the source is not followed",
           MR_KV_STR("database", f->act->relation.database), MR_KV_STR("table", f->act->relation.table),
           MR_KV_STR("statement", f->ev->statement), MR_KV_STR("reason", f->why));
    return add_history(f, f->ev->statement,
                       mr_arena_printf(f->ar, "told by the source, not followed: %.*s", MR_STR_FMT(f->why)));
}

/* ---- the tracked rows ---- */

/* The key's paths with the new name in place of the old. */
static enum mr_status save_key(struct follow *f)
{
    const struct mr_str *key = NULL;
    size_t count = mr_tracker_key(f->rel->tk, &key);
    struct mr_str *paths = mr_arena_alloc(f->ar, (count + 1) * sizeof *paths);
    for (size_t i = 0; i < count; i++)
        paths[i] = mr_str_eq(key[i], f->path) ? f->act->new_path : key[i];
    struct mr_tracked_table row = {
        .target_schema = f->rel->target_schema,
        .target_table = f->rel->target_table,
        .database = f->rel->database,
        .table = f->rel->table,
        .topic = f->rel->topic,
        .key_paths = paths,
        .key_count = count,
        .created_by_us = f->rel->created_by_us,
        .expanded = f->rel->expanded,
    };
    return mr_control_table_save(sink_of(f), &row, f->err);
}

static enum mr_status rename_table_rows(struct follow *f)
{
    const struct mr_rel *to = f->new_rel;
    const struct mr_str *key = NULL;
    size_t count = mr_tracker_key(f->rel->tk, &key);
    struct mr_tracked_table row = {
        .target_schema = to->target_schema,
        .target_table = to->target_table,
        .database = to->database,
        .table = to->table,
        .topic = to->topic,
        .key_paths = key,
        .key_count = count,
        .created_by_us = f->rel->created_by_us,
        .expanded = to->expanded,
    };
    MR_TRY(mr_control_table_rename(sink_of(f), f->rel->target_schema, f->rel->target_table, to->target_schema,
                                   to->target_table, f->err));
    return mr_control_table_save(sink_of(f), &row, f->err);
}

static enum mr_status change_tracked(struct follow *f)
{
    const struct mr_rel *rel = f->rel;
    switch (f->act->kind) {
    case MR_SRC_DROP_COLUMN:
        return mr_control_column_drop(sink_of(f), rel->target_schema, rel->target_table, f->column, f->err);
    case MR_SRC_RENAME_COLUMN:
        MR_TRY(mr_control_column_rename(sink_of(f), rel->target_schema, rel->target_table, f->column, f->name,
                                        f->act->new_path, f->err));
        return save_key(f);
    case MR_SRC_DROP_TABLE:
        return mr_control_table_drop(sink_of(f), rel->target_schema, rel->target_table, f->err);
    case MR_SRC_RENAME_TABLE:
        return rename_table_rows(f);
    case MR_SRC_DESCRIBE:
    case MR_SRC_NOT_UNDERSTOOD:
        break;
    }
    return MR_OK;
}

/* ---- one step ---- */

/* A table that goes to another schema concerns two datamarts. */
static bool is_in_another_datamart(const struct follow *f)
{
    return f->new_rel != NULL && !mr_str_eq(f->new_rel->target_schema, f->rel->target_schema) &&
           !*f->e->cfg->status_datamart;
}

/* Where DDL commits by itself the epoch is raised before: rows that were planned for the old shape are planned anew. */
static enum mr_status announce(struct follow *f)
{
    struct mr_sink *sink = sink_of(f);
    if (!sink->ops->ddl_commits)
        return MR_OK;
    MR_TRY(mr_status_plan(sink, f->e->cfg, f->rel->target_schema, f->rel->target_table, &f->now, f->err));
    if (is_in_another_datamart(f))
        MR_TRY(mr_status_plan(sink, f->e->cfg, f->new_rel->target_schema, f->new_rel->target_table, &f->then, f->err));
    MR_TRY(mr_control_raise_schema_epoch(sink, &f->e->gate.schema_epoch, f->err));
    MR_TRY(sink->ops->commit(sink, f->err));
    return sink->ops->begin(sink, f->err);
}

static enum mr_status run_one(struct follow *f, const struct mr_ddl_step *step)
{
    struct mr_sink *sink = sink_of(f);
    struct mr_str statement = {0};
    MR_TRY(sink->ops->ddl(sink, step, &f->now, f->ar, &statement, f->err));
    MR_FAULT("after_source_ddl_statement");
    if (statement.len == 0) /* had been done */
        return MR_OK;
    mr_log(MR_LOG_INFO, "ddl", MR_KV_STR("table", step->tbl->name), MR_KV_STR("statement", statement),
           MR_KV_STR("reason", step->reason));
    f->e->gate.steps_run++;
    return add_history(f, statement, step->reason);
}

static enum mr_status tell_status(struct follow *f)
{
    const struct mr_rel *rel = f->rel, *to = f->new_rel;
    bool is_drop = f->act->kind == MR_SRC_DROP_TABLE;
    MR_TRY(mr_status_schema_changed(sink_of(f), f->e->cfg, is_drop ? MR_STATUS_TABLE_DROPPED : MR_STATUS_TABLE_ALTERED,
                                    rel->target_schema, rel->target_table, f->err));
    if (!is_in_another_datamart(f))
        return MR_OK;
    return mr_status_schema_changed(sink_of(f), f->e->cfg, MR_STATUS_TABLE_ALTERED, to->target_schema, to->target_table, f->err);
}

static enum mr_status run_steps(struct follow *f)
{
    uint64_t before = f->e->gate.steps_run;
    struct mr_table old = {.schema = f->rel->target_schema, .name = f->rel->target_table};
    struct mr_ddl_step step = {
        .kind = step_kind(f->act->kind),
        .tbl = &old,
        .old = f->column,
        .name = f->new_rel != NULL ? f->new_rel->target_table : f->name,
        .schema = f->new_rel != NULL ? f->new_rel->target_schema : (struct mr_str){0},
        .reason = mr_arena_printf(f->ar, "as at the source: %.*s", MR_STR_FMT(f->ev->statement)),
    };
    struct mr_table other = {.schema = step.schema, .name = step.name};
    struct mr_ddl_step schema = {.kind = MR_DDL_CREATE_SCHEMA, .tbl = &other, .reason = step.reason};
    if (f->new_rel != NULL && step.schema.len > 0 && !mr_str_eq(step.schema, old.schema))
        MR_TRY(run_one(f, &schema));
    bool is_same = f->act->kind == MR_SRC_RENAME_COLUMN && mr_str_eq(step.old, step.name);
    if (!is_same)
        MR_TRY(run_one(f, &step));
    return f->e->gate.steps_run > before ? tell_status(f) : MR_OK;
}

static bool is_refusal(enum mr_status status)
{
    return status == MR_E_DATA || status == MR_E_SCHEMA || status == MR_E_CONFIG;
}

/* Under a savepoint where there is one: what the target refuses is told, in the same transaction. */
static enum mr_status try_steps(struct follow *f)
{
    struct mr_sink *sink = sink_of(f);
    bool has_savepoint = !sink->ops->ddl_commits;
    struct mr_error ignored = {0};
    if (has_savepoint)
        MR_TRY(sink->ops->savepoint(sink, f->err));
    enum mr_status status = run_steps(f);
    if (status == MR_OK)
        return has_savepoint ? sink->ops->release_savepoint(sink, f->err) : MR_OK;
    if (!is_refusal(status))
        return status;
    f->has_step = false;
    f->why = mr_arena_printf(f->ar, "%s", f->err->message);
    mr_error_clear(f->err);
    if (has_savepoint && sink->ops->rollback_savepoint(sink, &ignored) != MR_OK)
        return mr_fail(f->err, MR_E_ENV, "cannot go back to the savepoint before a schema change");
    return MR_OK;
}

static enum mr_status in_transaction(struct follow *f)
{
    struct mr_sink *sink = sink_of(f);
    bool is_done = false;
    MR_TRY(mr_control_source_ddl_done(sink, f->e->pipeline, f->rec, f->part, &is_done, f->err));
    if (is_done)
        return MR_OK;
    MR_TRY(plan(f));
    if (f->has_step && !f->was_made) {
        MR_TRY(announce(f));
        MR_FAULT("before_source_ddl");
        MR_TRY(try_steps(f));
        MR_FAULT("after_source_ddl");
    }
    if (f->has_step)
        MR_TRY(change_tracked(f));
    if (f->why.len > 0)
        MR_TRY(tell(f));
    MR_TRY(mr_control_source_ddl_note(sink, f->e->pipeline, f->rec, f->part, f->err));
    return f->has_step ? mr_control_raise_schema_epoch(sink, &f->e->gate.schema_epoch, f->err) : MR_OK;
}

static enum mr_status under_gate(struct follow *f)
{
    struct mr_sink *sink = sink_of(f);
    MR_TRY(sink->ops->gate_lock(sink, f->err));
    enum mr_status status = mr_status_settle(sink, f->e->cfg, f->err);
    if (status == MR_OK)
        status = sink->ops->begin(sink, f->err);
    if (status == MR_OK)
        status = in_transaction(f);
    MR_FAULT("before_source_ddl_commit");
    if (status == MR_OK)
        status = sink->ops->commit(sink, f->err);
    if (status != MR_OK)
        sink->ops->rollback(sink);
    sink->ops->gate_unlock(sink);
    MR_FAULT("after_source_ddl_commit");
    return status;
}

/* ---- columns ---- */

static struct mr_type declared(const struct mr_source_action *act, struct mr_str path)
{
    for (size_t i = 0; i < act->columns.count; i++)
        if (mr_str_eq(act->columns.items[i].path, path))
            return act->columns.items[i].type;
    return MR_TYPE(MR_T_NONE);
}

/* A table that is new at the source is made with its key, as far as the source's key is what the settings want. */
static void declare_key(struct follow *f)
{
    const struct mr_table_settings *set = f->rel->set;
    const struct mr_str *key = f->act->key;
    size_t count = f->act->key_count;
    if (set->key_mode == MR_KEY_FIELDS) {
        struct mr_str *paths = mr_arena_alloc(f->ar, (set->key_fields.count + 1) * sizeof *paths);
        for (size_t i = 0; i < set->key_fields.count; i++)
            paths[i] = mr_str_z(set->key_fields.items[i]);
        key = paths;
        count = set->key_fields.count;
    }
    if (set->key_mode == MR_KEY_NONE)
        count = 0;
    for (size_t i = 0; i < count; i++)
        mr_tracker_declare(f->rel->tk, key[i], declared(f->act, key[i]), true, f->ar);
    (void)mr_tracker_set_key(f->rel->tk, key, count);
}

static bool knows_key(const struct follow *f)
{
    const struct mr_table_settings *set = f->rel->set;
    if (set->key_mode == MR_KEY_RECORD_TEXT)
        return false; /* what the record's key is, only records tell */
    for (size_t i = 0; set->key_mode == MR_KEY_FIELDS && i < set->key_fields.count; i++)
        if (declared(f->act, mr_str_z(set->key_fields.items[i])).kind == MR_T_NONE)
            return false;
    for (size_t i = 0; i < f->act->key_count; i++)
        if (declared(f->act, f->act->key[i]).kind == MR_T_NONE)
            return false;
    return true;
}

/* Every column through the tracker, as a row that is null in all of them would go. */
static bool learn(struct follow *f)
{
    struct mr_tracker *tk = f->rel->tk;
    struct mr_place place = {.topic = f->rec->topic,
                             .partition = f->rec->partition,
                             .offset = f->rec->offset,
                             .time_us = f->ev->source_us};
    mr_tracker_row_begin(tk, &place);
    for (size_t i = 0; i < f->act->columns.count; i++) {
        struct mr_field known = f->act->columns.items[i];
        const struct mr_field *field = &known;
        known.path = known_path(f, known.path);
        int found = mr_tracker_find(tk, field->path), nulled = -1;
        uint32_t column = 0;
        struct mr_value value;
        if (is_key_path(f, field->path) || (found >= 0 && f->e->cfg->evolve != MR_EVOLVE_FULL))
            continue;
        enum mr_verdict verdict =
            mr_tracker_field(tk, field, i, false, f->ar, &column, &nulled, &value, f->err);
        if (verdict != MR_VERDICT_DEAD && verdict != MR_VERDICT_FAIL)
            continue;
        mr_tracker_row_rollback(tk);
        f->why = mr_arena_printf(f->ar, "%s", f->err->message);
        mr_error_clear(f->err);
        return false;
    }
    mr_tracker_row_commit(tk);
    return true;
}

/* The target gets the columns that the source's table has. Idempotent, so nothing is noted. */
static enum mr_status describe(struct follow *f, struct mr_error *err)
{
    struct mr_rel *rel = f->rel;
    bool stale = false, refused = false;
    enum mr_status status;
    if (f->e->cfg->evolve == MR_EVOLVE_NONE) {
        f->why = MR_STR("target.evolve forbids it");
        return MR_OK;
    }
    bool is_new = !rel->exists && !rel->saved;
    if (is_new && (!f->act->is_whole || rel->topic.len > 0 || !knows_key(f)))
        return MR_OK; /* it comes with its rows */
    if (is_new)
        declare_key(f);
    if (!learn(f) || !(mr_tracker_changed(rel->tk) || is_new))
        return MR_OK;
    MR_WITH_TARGET(f->e, status, err, mr_gate_bring(&f->e->gate, rel, &stale, &refused, err));
    if (stale)
        f->e->need_redo = true;
    if (!is_refusal(status))
        return status;
    f->why = mr_arena_printf(f->ar, "%s", err->message);
    mr_error_clear(err);
    return MR_OK;
}

/* ---- the message ---- */

/* Canal hides the database of what is renamed into another one. Where the topic does not give it either, it is the only known table of that name. */
static enum mr_status find_hidden(struct follow *f)
{
    struct mr_relation named = f->act->relation;
    named.database = mr_relations_only_database(f->e->rels, named.table);
    if (named.database.len == 0) {
        f->why = MR_STR("nothing tells in which database the table is");
        return MR_OK;
    }
    named.database = mr_arena_copy(f->ar, named.database);
    return mr_relations_get(f->e->rels, f->e->control, &named, f->rec, &f->rel, f->err);
}

static enum mr_status find_relations(struct follow *f)
{
    struct mr_engine *e = f->e;
    f->rel = f->new_rel = NULL;
    if (f->act->relation.table.len == 0)
        return MR_OK;
    enum mr_status status = mr_relations_get(e->rels, e->control, &f->act->relation, f->rec, &f->rel, f->err);
    if (status == MR_OK && f->act->kind == MR_SRC_RENAME_TABLE)
        status = mr_relations_get(e->rels, e->control, &f->act->new_relation, f->rec, &f->new_rel, f->err);
    if (status == MR_OK && f->part < f->ev->action_count) /* not one that is made up */
        status = mr_ddl_rename_judge(e, f->rec, f->ev, f->part, f->rel, f->ar, &f->verdict, f->err);
    f->why = f->verdict.why;
    if (status == MR_OK && f->act->relation.database.len == 0 && !f->rel->saved && f->act->kind == MR_SRC_RENAME_TABLE)
        status = find_hidden(f);
    if (status == MR_E_DATA) { /* the names give no table */
        f->why = mr_arena_printf(f->ar, "%s", f->err->message);
        f->rel = NULL;
        mr_error_clear(f->err);
        return MR_OK;
    }
    return status;
}

/* Trackers of before the step are of no use any more. */
static enum mr_status reload(struct mr_engine *e, struct mr_error *err)
{
    enum mr_status status;
    MR_WITH_TARGET(e, status, err, mr_relations_reload(e->rels, e->control, err));
    MR_TRY(status);
    MR_WITH_TARGET(e, status, err, mr_control_schema_epoch(e->control, &e->gate.schema_epoch, err));
    return status;
}

static enum mr_status follow_one(struct follow *f, struct mr_error *err);

/* Another rename, which an event before has only announced, then the action itself. */
static enum mr_status follow_before(struct follow *f, struct mr_error *err)
{
    const struct mr_source_action *act = f->act;
    struct mr_source_action before = f->verdict.before;
    uint32_t part = f->part;
    f->act = &before;
    f->part = part + (uint32_t)f->ev->action_count;
    enum mr_status status = follow_one(f, err);
    f->act = act;
    f->part = part;
    f->now = f->then = (struct mr_catalog_table){0};
    return status != MR_OK || f->e->need_redo ? status : follow_one(f, err);
}

/* The columns of a table that has not got its new name. */
static bool is_of_no_table(const struct follow *f, const struct mr_relation *kept)
{
    return f->act->kind == MR_SRC_DESCRIBE && kept != NULL && mr_relation_is_same(&f->act->relation, kept);
}

static enum mr_status follow_one(struct follow *f, struct mr_error *err)
{
    struct mr_engine *e = f->e;
    const struct mr_source_action *act = f->act;
    struct mr_source_action told = {.kind = MR_SRC_NOT_UNDERSTOOD, .relation = act->relation};
    enum mr_status status;
    f->why = (struct mr_str){0};
    f->verdict = (struct mr_rename_verdict){.before = {.kind = MR_SRC_NOT_UNDERSTOOD}};
    MR_WITH_TARGET(e, status, err, find_relations(f));
    MR_TRY(status);
    if (f->verdict.waits) {
        mr_log(MR_LOG_INFO, "a table is not renamed before the event comes that gives its name to another one", MR_KV_STR("table", act->relation.table),
               MR_KV_STR("statement", f->ev->statement));
        return MR_OK;
    }
    if (f->verdict.before.kind == MR_SRC_RENAME_TABLE)
        return follow_before(f, err);
    if (act->kind == MR_SRC_DESCRIBE && f->rel != NULL)
        MR_TRY(describe(f, err));
    if (e->need_redo || (act->kind == MR_SRC_DESCRIBE && f->why.len == 0))
        return e->need_redo ? MR_OK : reload(e, err);
    if (f->why.len > 0 || f->rel == NULL) { /* to be told, once */
        told.why = f->why.len > 0 ? f->why : act->why;
        f->act = &told;
    }
    MR_WITH_TARGET(e, status, err, under_gate(f));
    f->act = act;
    MR_TRY(status);
    return reload(e, err);
}

enum mr_status mr_ddl_event_follow(struct mr_engine *e, struct mr_batch *batch, struct mr_error *err)
{
    struct follow f = {
        .e = e, .rec = &batch->records[0], .ev = batch->ddl, .ar = mr_arena_create(0), .err = err};
    const struct mr_relation *kept = NULL; /* the name that a table has not got */
    enum mr_status status = MR_OK;
    for (size_t i = 0; i < f.ev->action_count && status == MR_OK && !e->need_redo && !batch->ddl_done; i++) {
        f.act = &f.ev->actions[i];
        f.part = (uint32_t)i;
        f.now = f.then = (struct mr_catalog_table){0};
        if (is_of_no_table(&f, kept))
            continue;
        status = follow_one(&f, err);
        if (f.verdict.waits || f.verdict.why.len > 0)
            kept = &f.act->new_relation;
    }
    if (status == MR_OK && !e->need_redo)
        batch->ddl_done = true;
    mr_arena_destroy(f.ar);
    return status;
}
