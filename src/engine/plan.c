/* `plan`: the pipeline's own intake over the input, with everything thrown away but what the trackers learn; then the difference to the target's
 * catalog. Nothing is claimed, created or written. */
#include <millrace/engine.h>

#include <millrace/base/log.h>
#include <millrace/base/map.h>
#include <millrace/base/mem.h>
#include <millrace/base/time.h>

#include "intake.h"
#include "type_feed.h"

#define CHUNK_RECORDS 1000

struct plan {
    const struct mr_engine_parts *parts;
    const struct mr_plan_handler *handler;
    struct mr_sink *sink;
    struct mr_source *source;
    struct mr_intake intake;
    struct mr_type_feeds *feeds;
    struct mr_relations *rels;
    struct mr_parts part_states;
    struct mr_map *positions; /* "topic\0partition" → boxed position */
    struct mr_batch *batch;
    uint64_t seq;
    struct mr_engine_stats *stats;
    enum mr_unreachable *unreachable;
};

/* ---- where the pipeline stands ---- */

static struct mr_str position_key(struct mr_buf *buf, struct mr_str topic, int32_t partition)
{
    mr_buf_clear(buf);
    mr_buf_append_str(buf, topic);
    mr_buf_append_char(buf, '\0');
    mr_buf_append(buf, &partition, sizeof partition);
    return mr_buf_str(buf);
}

static enum mr_status on_position(void *ctx, const struct mr_position_row *row, struct mr_error *err)
{
    struct plan *p = ctx;
    (void)err;
    if (!mr_str_eq_z(row->pipeline, p->parts->cfg->pipeline))
        return MR_OK;
    struct mr_buf key = MR_BUF_INIT(65536);
    int64_t *box = mr_map_get(p->positions, position_key(&key, row->topic, row->partition));
    if (box == NULL) {
        box = mr_xmalloc(sizeof *box);
        *box = row->position;
        mr_map_put(p->positions, mr_buf_str(&key), box);
    } else if (row->position < *box) { /* the lane that is furthest behind decides */
        *box = row->position;
    }
    mr_buf_free(&key);
    return MR_OK;
}

static enum mr_status on_assigned(void *ctx, const struct mr_partition *const *parts, size_t count, int64_t *position,
                                  struct mr_error *err)
{
    struct plan *p = ctx;
    (void)err;
    struct mr_buf key = MR_BUF_INIT(65536);
    for (size_t i = 0; i < count; i++) {
        const int64_t *box =
            mr_map_get(p->positions, position_key(&key, mr_str_z(parts[i]->topic_z), parts[i]->partition));
        position[i] = box != NULL && !p->parts->cfg->file_again ? *box : MR_POSITION_NONE;
        struct mr_part_state *ps = mr_parts_get(&p->part_states, parts[i]);
        ps->owned = true;
        ps->lanes = 1;
    }
    mr_buf_free(&key);
    return MR_OK;
}

/* A file that has grown is known again by the name it had. */
static enum mr_status on_find(void *ctx, struct mr_str prefix, void (*found)(void *found_ctx, struct mr_str name),
                              void *found_ctx, struct mr_error *err)
{
    struct plan *p = ctx;
    (void)err;
    for (size_t i = 0; i < mr_map_count(p->positions); i++) {
        struct mr_str key;
        mr_map_at(p->positions, i, &key);
        key.len -= 1 + sizeof(int32_t); /* the topic alone: see position_key */
        if (mr_str_starts(key, prefix))
            found(found_ctx, key);
    }
    return MR_OK;
}

static void on_revoked(void *ctx, const struct mr_partition *const *parts, size_t count, bool lost)
{
    (void)ctx, (void)parts, (void)count, (void)lost;
}

/* A target that Millrace has never written has no control tables: that is an answer, not an error. */
static enum mr_status read_control(struct plan *p, struct mr_error *err)
{
    enum mr_status status = mr_control_positions(p->sink, on_position, p, err);
    if (status == MR_OK)
        return mr_relations_load(p->rels, p->sink, err);
    if (status != MR_E_SCHEMA)
        return status;
    p->intake.no_control_tables = true;
    status = mr_relations_load(p->rels, p->sink, err); /* finds the default names, and then no table */
    return status == MR_E_SCHEMA ? MR_OK : status;
}

/* ---- reading ---- */

static enum mr_status take(struct plan *p, const struct mr_record *rec, struct mr_error *err)
{
    struct mr_chunk chunk = {.refs = 1};
    bool split = false, barrier = false;
    struct mr_part_state *ps = mr_parts_get(&p->part_states, rec->part);
    uint32_t index = mr_batch_take(p->batch, &chunk, rec);
    enum mr_status status = mr_intake_record(&p->intake, p->batch, index, ps, &split, &barrier, err);
    if (status == MR_OK && split) { /* what was folded so far is of no interest: begin anew with this record */
        mr_batch_clear(p->batch, ++p->seq);
        index = mr_batch_take(p->batch, &chunk, rec);
        status = mr_intake_record(&p->intake, p->batch, index, ps, &split, &barrier, err);
    }
    return status;
}

/* One reading and what comes of it. */
static enum mr_status read_some(struct plan *p, struct mr_arena *ar, struct mr_record *records, enum mr_poll_state *state,
                                struct mr_error *err)
{
    const struct mr_source_ops *ops = p->parts->source;
    size_t count = 0;
    enum mr_status status = ops->poll(p->source, ar, records, CHUNK_RECORDS, 16u << 20, 200, &count, state, err);
    *p->unreachable = status == MR_OK ? MR_TARGET_UNREACHABLE : MR_SOURCE_UNREACHABLE; /* whoever fails from here on */
    mr_batch_clear(p->batch, ++p->seq);
    for (size_t i = 0; i < count && status == MR_OK; i++) {
        status = take(p, &records[i], err);
        p->stats->records++;
    }
    p->stats->changes += p->batch->changes;
    p->stats->control += p->batch->control;
    mr_batch_clear(p->batch, ++p->seq);
    ops->release(p->source, records, count);
    return status;
}

static enum mr_status read_all(struct plan *p, uint64_t max_records, struct mr_error *err)
{
    struct mr_record *records = mr_xcalloc(CHUNK_RECORDS, sizeof *records);
    struct mr_arena *ar = mr_arena_create(1u << 18);
    enum mr_poll_state state = MR_POLL_MORE;
    enum mr_status status = MR_OK;
    while (status == MR_OK && state != MR_POLL_END && p->stats->records < max_records && !mr_engine_stopping()) {
        status = read_some(p, ar, records, &state, err);
        mr_arena_reset(ar);
    }
    mr_arena_destroy(ar);
    mr_xfree(records);
    return status;
}

/* ---- telling ---- */

static bool is_changed(const struct mr_ddl_step *steps, size_t count, enum mr_ddl_kind kind, uint32_t column,
                       struct mr_type *from)
{
    for (size_t i = 0; i < count; i++) {
        if (steps[i].kind == MR_DDL_CREATE_TABLE && kind == MR_DDL_ADD_COLUMN)
            return true;
        if (steps[i].kind == kind && steps[i].column == column) {
            *from = steps[i].from;
            return true;
        }
    }
    return false;
}

struct telling {
    struct plan *p;
    struct mr_rel *rel;
    struct mr_arena *ar;
    struct mr_catalog_table now;
    struct mr_ddl_step *steps;
    size_t step_count;
};

static void tell_columns(struct telling *t, struct mr_plan_table *out)
{
    size_t n = mr_tracker_count(t->rel->tk);
    struct mr_plan_column *columns = mr_arena_zalloc(t->ar, (n + 1) * sizeof *columns);
    for (size_t i = 0; i < n; i++) {
        columns[i].column = mr_tracker_column(t->rel->tk, i);
        struct mr_type ignored;
        columns[i].is_new = is_changed(t->steps, t->step_count, MR_DDL_ADD_COLUMN, (uint32_t)i, &ignored);
        columns[i].is_altered = is_changed(t->steps, t->step_count, MR_DDL_ALTER_TYPE, (uint32_t)i, &columns[i].from);
    }
    out->columns = columns;
    out->column_count = n;
}

static void tell_steps(struct telling *t, struct mr_plan_table *out)
{
    const struct mr_dialect *dialect = t->p->parts->sink->dialect;
    const struct mr_server *server = t->p->parts->sink->server(t->p->sink);
    size_t n = t->step_count;
    struct mr_str *statements = mr_arena_alloc(t->ar, (n + 1) * sizeof *statements);
    struct mr_str *reasons = mr_arena_alloc(t->ar, (n + 1) * sizeof *reasons);
    bool *rewrites = mr_arena_alloc(t->ar, n + 1), *allowed = mr_arena_alloc(t->ar, n + 1);
    struct mr_buf text = MR_BUF_INIT(1u << 24);
    for (size_t i = 0; i < n; i++) {
        mr_buf_clear(&text);
        dialect->render(&t->steps[i], &t->now, server, &text);
        statements[i] = mr_arena_copy(t->ar, mr_buf_str(&text));
        reasons[i] = t->steps[i].reason;
        rewrites[i] = dialect->cost(&t->steps[i], server) == MR_COST_REWRITE;
        allowed[i] = mr_ddl_allowed(&t->steps[i], t->p->parts->cfg->evolve);
    }
    mr_buf_free(&text);
    out->statements = statements;
    out->reasons = reasons;
    out->rewrites = rewrites;
    out->allowed = allowed;
    out->statement_count = n;
}

static enum mr_status tell_rel(struct plan *p, struct mr_rel *rel, struct mr_arena *ar, struct mr_error *err)
{
    struct telling t = {.p = p, .rel = rel, .ar = ar};
    struct mr_table *want = mr_tracker_publish(rel->tk);
    enum mr_status status = MR_OK;
    struct mr_plan_table out = {
        .database = rel->database, .table = rel->source_name, .target_schema = rel->target_schema,
        .target_table = rel->target_table, .rows = rel->rows_seen, .dead = rel->rows_dead,
    };
    MR_TRY_DONE(p->parts->sink->describe_table(p->sink, rel->target_schema, rel->target_table, ar, &t.now, err));
    out.exists = t.now.exists;
    if (mr_tracker_count(rel->tk) > 0)
        status = mr_evolve_diff(want, &t.now, rel->created_by_us, p->parts->sink->dialect, ar, &t.steps, &t.step_count, err);
    if (status == MR_E_CONFIG || status == MR_E_DATA) /* this table cannot be loaded as it is; the others are told all the same */
        out.refused = err;
    else
        MR_TRY_DONE(status);
    tell_columns(&t, &out);
    tell_steps(&t, &out);
    status = p->handler->table(p->handler->ctx, &out, err);

done:
    mr_table_unref(want);
    return status;
}

static enum mr_status tell(struct plan *p, struct mr_error *err)
{
    for (size_t i = 0; i < mr_relations_count(p->rels); i++) {
        const struct mr_rel *rel = mr_relations_at(p->rels, i);
        if (rel->root != NULL && mr_tracker_count(rel->tk) == 0)
            continue; /* all its rows would be dead letters */
        struct mr_arena *ar = mr_arena_create(0);
        enum mr_status status = tell_rel(p, mr_relations_at(p->rels, i), ar, err);
        mr_arena_destroy(ar);
        MR_TRY(status);
    }
    return MR_OK;
}

/* ---- the whole ---- */

static enum mr_status wait_a_moment(void *ctx, int ms, struct mr_error *err)
{
    const struct plan *p = ctx;
    if (mr_engine_stopping())
        return mr_fail(err, MR_E_STOPPED, "stopped while waiting for a schema topic");
    if (mr_monotonic_ms() - p->stats->started_ms > p->parts->cfg->connect_timeout_ms)
        return MR_E_ENV; /* with its reason; a plan does not wait for ever */
    mr_sleep_ms(ms);
    return MR_OK;
}

static enum mr_status connect_both(struct plan *p, const struct mr_source_listener *listener,
                                   enum mr_unreachable *unreachable, struct mr_error *err)
{
    const struct mr_config *cfg = p->parts->cfg;
    struct mr_sink_options opt = {.cfg = cfg, .application_z = "millrace plan", .read_only = true};
    *unreachable = MR_TARGET_UNREACHABLE;
    MR_TRY(p->parts->sink->connect(&opt, &p->sink, err));
    p->intake.control = p->sink;
    MR_TRY(read_control(p, err));
    *unreachable = MR_SOURCE_UNREACHABLE;
    return p->parts->source->create(cfg, true, listener, &p->source, err);
}

enum mr_status mr_engine_plan(const struct mr_engine_parts *parts, uint64_t max_records,
                              const struct mr_plan_handler *handler, struct mr_engine_stats *stats,
                              enum mr_unreachable *unreachable, struct mr_error *err)
{
    struct plan p = {.parts = parts, .handler = handler, .stats = stats, .unreachable = unreachable};
    struct mr_source_listener listener = {.ctx = &p, .assigned = on_assigned, .revoked = on_revoked, .find = on_find};
    *stats = (struct mr_engine_stats){.started_ms = mr_monotonic_ms(), .input_total = -1};
    p.positions = mr_map_create();
    p.batch = mr_batch_create();
    mr_intake_init(&p.intake, parts->cfg);
    p.rels = mr_relations_create(parts->cfg, parts->sink);
    p.intake.rels = p.rels;
    p.intake.plan_dead = handler->dead;
    p.intake.plan_ctx = handler->ctx;

    enum mr_status status = MR_OK;
    MR_TRY_DONE(mr_decoder_set_create(parts->cfg, &p.intake.decoders, err));
    p.feeds = mr_type_feeds_create(parts->cfg, parts->source, p.intake.decoders, wait_a_moment, &p);
    MR_TRY_DONE(connect_both(&p, &listener, unreachable, err));
    MR_TRY_DONE(read_all(&p, max_records, err));
    stats->dead_letters = p.intake.dead;
    *unreachable = MR_TARGET_UNREACHABLE;
    MR_TRY_DONE(tell(&p, err));

done:
    if (status != MR_E_ENV)
        *unreachable = MR_REACHED;
    mr_batch_destroy(p.batch);
    if (p.source != NULL)
        parts->source->destroy(p.source);
    parts->sink->destroy(p.sink);
    mr_relations_destroy(p.rels);
    mr_type_feeds_destroy(p.feeds);
    mr_decoder_set_destroy(p.intake.decoders);
    mr_intake_free(&p.intake);
    mr_parts_free(&p.part_states);
    mr_map_destroy(p.positions, mr_xfree);
    stats->now_ms = mr_monotonic_ms();
    return status;
}
