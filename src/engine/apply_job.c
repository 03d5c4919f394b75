/* One job as one transaction: see apply_job.h. */
#include "apply_job.h"

#include <millrace/base/fault.h>
#include <millrace/base/log.h>

#include "dead_letter.h"

struct run {
    struct mr_sink *sink;
    const struct mr_config *cfg;
    struct mr_job *job;
    struct mr_error *err;
};

/* ---- isolation of refused rows ---- */

/* The key of a row as JSON, for the dead letter. */
static struct mr_str row_key(const struct mr_table *tbl, const struct mr_row *row, struct mr_arena *ar)
{
    struct mr_buf buf = MR_BUF_INIT(1u << 20);
    mr_buf_append_z(&buf, "[{");
    for (size_t i = 0; i < tbl->key_count; i++) {
        const struct mr_column *col = &tbl->columns[tbl->key_columns[i]];
        mr_buf_append_z(&buf, i > 0 ? "," : "");
        mr_buf_append_json(&buf, col->name);
        mr_buf_append_char(&buf, ':');
        mr_value_append_json(row->cells[tbl->key_columns[i]], &buf);
    }
    mr_buf_append_z(&buf, "}]");
    struct mr_str out = tbl->key_count == 0 || buf.overflow ? (struct mr_str){0} : mr_arena_copy(ar, mr_buf_str(&buf));
    mr_buf_free(&buf);
    return out;
}

static enum mr_status bury_row(struct run *run, const struct mr_job_table *jt, const struct mr_row *row)
{
    const struct mr_record *rec = &run->job->batch->records[row->origin];
    const struct mr_table *tbl = jt->rows.tbl;
    struct mr_dead_letter letter;
    mr_dead_letter_fill(&letter, rec, run->err, mr_str_z(run->cfg->pipeline), tbl->schema, tbl->name,
                        row_key(tbl, row, run->job->ar), run->job->ar);
    mr_log(MR_LOG_WARN, "dead letter: the target refused the row", MR_KV_STR("topic", rec->topic),
           MR_KV_INT("partition", rec->partition), MR_KV_INT("offset", rec->offset),
           MR_KV_STR("table", tbl->name), MR_KV_Z("code", run->err->code), MR_KV_Z("native", run->err->native),
           MR_KV_Z("reason", run->err->message));
    run->job->dead_rows++;
    return mr_control_dead_letters_add(run->sink, &letter, 1, run->err);
}

static struct mr_table_batch part_of(const struct mr_job_table *jt, size_t from, size_t end, bool single)
{
    struct mr_table_batch part = jt->rows;
    part.rows = jt->rows.rows + from;
    part.row_count = end - from;
    part.truncate_first = jt->rows.truncate_first && from == 0;
    part.row_by_row = jt->rows.row_by_row || single;
    return part;
}

/* The catalog was read again and planned for once, and still the rows do not fit: it is them. */
static bool is_answer_to_a_new_plan(const struct mr_job *job, enum mr_status status)
{
    return status == MR_E_SCHEMA && job->batch->replanned && !job->epoch_moved;
}

/* Apply rows [from, end) under a savepoint; *refused on DATA (the savepoint is rolled back, err kept). */
static enum mr_status try_part(struct run *run, const struct mr_job_table *jt, size_t from, size_t end,
                               bool *refused)
{
    const struct mr_sink_ops *ops = run->sink->ops;
    struct mr_table_batch part = part_of(jt, from, end, end - from == 1);
    *refused = false;
    MR_TRY(ops->savepoint(run->sink, run->err));
    run->err->row = -1;
    enum mr_status status = ops->apply(run->sink, &part, run->err);
    if (status == MR_OK)
        return ops->release_savepoint(run->sink, run->err);
    if (status != MR_E_DATA && !is_answer_to_a_new_plan(run->job, status))
        return status;
    struct mr_error ignored = {0};
    *refused = true;
    return ops->rollback_savepoint(run->sink, &ignored) == MR_OK ? MR_OK : MR_E_ENV;
}

/* Ranges still to be tried, last first. Each split leaves at most two ranges behind; where the server names the row they shrink by at least
 * one, so the bound is kept by halving when the stack gets long. */
#define MAX_RANGES 256
struct ranges {
    size_t from[MAX_RANGES], end[MAX_RANGES];
    size_t count;
};

static void push(struct ranges *r, size_t from, size_t end)
{
    if (from < end) {
        r->from[r->count] = from;
        r->end[r->count++] = end;
    }
}

static void split(struct ranges *r, size_t from, size_t end, int64_t row)
{
    if (row >= 0 && (size_t)row < end - from && r->count < MAX_RANGES / 2) {
        push(r, from + (size_t)row + 1, end);
        push(r, from + (size_t)row, from + (size_t)row + 1);
        push(r, from, from + (size_t)row);
        return;
    }
    size_t middle = from + (end - from) / 2;
    push(r, middle, end);
    push(r, from, middle);
}

static bool is_foreign_key_error(const struct mr_error *err)
{
    static const char *const codes[] = {"23503", "1451", "1452", "787"}; /* PostgreSQL, MySQL, SQLITE_CONSTRAINT_FOREIGNKEY */
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (strcmp(err->native, codes[i]) == 0)
            return true;
    return false;
}

/* Rows of a table that missed their foreign key: tried once more when the other tables are in. */
struct deferred {
    size_t *rows;
    size_t count;
};

/* A row that was refused standing alone. */
static enum mr_status settle_row(struct run *run, const struct mr_job_table *jt, size_t row, struct deferred *later)
{
    if (later != NULL && is_foreign_key_error(run->err)) {
        later->rows[later->count++] = row;
        return MR_OK;
    }
    if (jt->merged[row] > 1) { /* which of its changes was it? The batch is made anew without folding */
        run->job->want_unfolded = true;
        return MR_E_DATA;
    }
    return bury_row(run, jt, &jt->rows.rows[row]);
}

static enum mr_status truncate_only(struct run *run, const struct mr_job_table *jt)
{
    struct mr_table_batch empty = {.tbl = jt->rows.tbl, .truncate_first = jt->rows.truncate_first};
    return run->sink->ops->apply(run->sink, &empty, run->err);
}

/* Apply a table in pieces until every refused row stands alone. */
static enum mr_status isolate_table(struct run *run, const struct mr_job_table *jt, struct deferred *later)
{
    struct ranges r = {.count = 0};
    if (jt->rows.row_count == 0)
        return truncate_only(run, jt);
    later->rows = mr_arena_alloc(run->job->ar, jt->rows.row_count * sizeof *later->rows);
    push(&r, 0, jt->rows.row_count);
    while (r.count > 0) {
        size_t from = r.from[r.count - 1], end = r.end[r.count - 1];
        bool refused = false;
        r.count--;
        MR_TRY(try_part(run, jt, from, end, &refused));
        if (!refused)
            continue;
        if (end - from > 1)
            split(&r, from, end, run->err->row);
        else
            MR_TRY(settle_row(run, jt, from, later));
    }
    return MR_OK;
}

/* ---- the transaction ---- */

static enum mr_status apply_tables(struct run *run)
{
    for (size_t i = 0; i < run->job->table_count; i++) {
        run->err->row = -1;
        enum mr_status status = run->sink->ops->apply(run->sink, &run->job->tables[i].rows, run->err);
        if (status != MR_OK) {
            mr_error_prefix(run->err, "%.*s: ", MR_STR_FMT(run->job->tables[i].rows.tbl->name));
            return status;
        }
    }
    return MR_OK;
}

static enum mr_status apply_isolated(struct run *run)
{
    struct deferred *later = mr_arena_zalloc(run->job->ar, (run->job->table_count + 1) * sizeof *later);
    for (size_t i = 0; i < run->job->table_count; i++)
        MR_TRY(isolate_table(run, &run->job->tables[i], &later[i]));
    for (size_t i = 0; i < run->job->table_count; i++) {
        for (size_t k = 0; k < later[i].count; k++) { /* their parents are in by now, or never */
            size_t row = later[i].rows[k];
            bool refused = false;
            MR_TRY(try_part(run, &run->job->tables[i], row, row + 1, &refused));
            if (refused)
                MR_TRY(settle_row(run, &run->job->tables[i], row, NULL));
        }
    }
    return MR_OK;
}

static enum mr_status finish(struct run *run)
{
    struct mr_job *job = run->job;
    MR_FAULT("before_dead_letters");
    if (job->letter_count > 0)
        MR_TRY(mr_control_dead_letters_add(run->sink, job->letters, job->letter_count, run->err));
    if (job->note_count > 0)
        MR_TRY(mr_control_type_history_add(run->sink, job->notes, job->note_count, run->err));
    MR_FAULT("before_positions");
    if (job->move_count > 0) {
        int64_t schema_epoch = job->schema_epoch;
        MR_TRY(mr_control_store(run->sink, mr_str_z(run->cfg->pipeline), job->moves, job->move_count,
                                &schema_epoch, run->err));
        job->epoch_moved = schema_epoch != job->schema_epoch;
        if (job->epoch_moved)
            return mr_fail(run->err, MR_E_SCHEMA, "another instance changed the schema (epoch %lld, ours %lld)",
                           (long long)schema_epoch, (long long)job->schema_epoch);
    }
    MR_FAULT("before_commit");
    return MR_OK;
}

enum mr_status mr_apply_job(struct mr_sink *sink, const struct mr_config *cfg, struct mr_job *job, bool isolate,
                            bool *in_doubt, struct mr_error *err)
{
    struct run run = {sink, cfg, job, err};
    *in_doubt = false;
    job->dead_rows = 0;
    job->epoch_moved = false;
    MR_TRY(sink->ops->begin(sink, err));
    MR_FAULT("after_begin");
    enum mr_status status = isolate ? apply_isolated(&run) : apply_tables(&run);
    MR_FAULT("after_apply");
    if (status == MR_OK)
        status = finish(&run);
    if (status != MR_OK) {
        sink->ops->rollback(sink);
        if (is_answer_to_a_new_plan(job, status))
            return MR_E_DATA;
        return status;
    }
    status = sink->ops->commit(sink, err);
    if (status != MR_OK) {
        *in_doubt = status == MR_E_ENV;
        sink->ops->rollback(sink);
        return status;
    }
    MR_FAULT("after_commit");
    return MR_OK;
}

/* ---- commits in doubt ---- */

struct doubt {
    const struct mr_config *cfg;
    const struct mr_job *job;
    size_t matched;
};

static enum mr_status on_position(void *ctx, const struct mr_position_row *row, struct mr_error *err)
{
    struct doubt *d = ctx;
    (void)err;
    if (!mr_str_eq_z(row->pipeline, d->cfg->pipeline))
        return MR_OK;
    for (size_t i = 0; i < d->job->move_count; i++) {
        const struct mr_position_move *m = &d->job->moves[i];
        if (m->lane == row->lane && m->part->partition == row->partition &&
            mr_str_eq_z(row->topic, m->part->topic_z) && row->position == m->to && row->epoch == m->epoch)
            d->matched++;
    }
    return MR_OK;
}

enum mr_status mr_apply_was_committed(struct mr_sink *sink, const struct mr_config *cfg, const struct mr_job *job,
                                      bool *committed, struct mr_error *err)
{
    struct doubt d = {cfg, job, 0};
    MR_TRY(mr_control_positions(sink, on_position, &d, err));
    *committed = job->move_count > 0 && d.matched == job->move_count;
    return MR_OK;
}
