/* One job as one transaction: see apply_job.h. */
#include "apply_job.h"

#include <stdlib.h>

#include <millrace/base/fault.h>
#include <millrace/base/log.h>
#include <millrace/base/time.h>

#include "dead_letter.h"
#include "status_outbox.h"
#include "patches.h"

struct run {
    struct mr_sink *sink;
    const struct mr_config *cfg;
    struct mr_job *job;
    struct mr_error *err;
    /* while rows are isolated */
    struct mr_arena *ar;            /* of this attempt */
    struct mr_dead_letter *letters; /* the job's and those of refused rows, one a record */
    size_t letter_count, letter_cap;
};

/* ---- isolation of refused rows ---- */

/* The key of a row as JSON, for the dead letter. */
static struct mr_str row_key(const struct mr_table *tbl, const struct mr_row *row, struct mr_arena *ar)
{
    struct mr_buf buf = MR_BUF_INIT(1u << 20);
    mr_buf_append_z(&buf, "[{");
    for (size_t i = 0; i < tbl->key_count; i++) {
        const struct mr_column *col = &tbl->columns[tbl->key_columns[i]];
        if (row->cells[tbl->key_columns[i]].tag == MR_V_ABSENT) /* of a range */
            continue;
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

/* The letter that the record has already, be it of another row, or NULL. */
static struct mr_dead_letter *letter_of(const struct run *run, const struct mr_record *rec)
{
    for (size_t i = run->letter_count; i-- > 0;)
        if (run->letters[i].position == rec->position && run->letters[i].part_topic.ptr == rec->part->topic_z)
            return &run->letters[i];
    return NULL;
}

/* Two lists of keys as one. */
static struct mr_str join_keys(struct mr_str a, struct mr_str b, struct mr_arena *ar)
{
    if (a.len < 2 || b.len < 2)
        return a.len < 2 ? b : a;
    return mr_arena_printf(ar, "%.*s,%.*s", (int)(a.len - 1), a.ptr, (int)(b.len - 1), b.ptr + 1);
}

static struct mr_dead_letter *add_letter(struct run *run)
{
    if (run->letter_count == run->letter_cap) {
        size_t cap = run->letter_cap * 2 + 8;
        struct mr_dead_letter *bigger = mr_arena_alloc(run->ar, cap * sizeof *bigger);
        if (run->letter_count > 0)
            memcpy(bigger, run->letters, run->letter_count * sizeof *bigger);
        run->letters = bigger;
        run->letter_cap = cap;
    }
    return &run->letters[run->letter_count++];
}

/* An error that the dialect does not know says neither "wait" nor "this row". It is waited for, and when it stays, found out by isolating the rows:
 * one that is refused while others of its table are taken is at fault itself. Where none is taken the trouble is the table's or the server's, and
 * waiting goes on; but one that is alone in its batch is not waited for without end. */
#define UNKNOWN_TRIES 5
#define UNKNOWN_TRIES_ALONE 20

static bool is_unknown(const struct run *run)
{
    return run->err->status == MR_E_ENV && strcmp(run->err->code, MR_CODE_UNKNOWN) == 0;
}

bool mr_apply_job_isolates_unknown(const struct mr_job *job)
{
    return job->unknown_tries >= UNKNOWN_TRIES;
}

/* The row goes to the dead letters: one a record, naming all its rows that failed. */
static void bury(struct run *run, const struct mr_table *tbl, uint32_t origin, struct mr_str key)
{
    const struct mr_record *rec = &run->job->batch->records[origin];
    if (is_unknown(run))
        memcpy(run->err->code, MR_CODE_REFUSED, sizeof MR_CODE_REFUSED);
    struct mr_dead_letter *letter = letter_of(run, rec);
    mr_log(MR_LOG_WARN, "dead letter: the target refused the row", MR_KV_STR("topic", rec->topic),
           MR_KV_INT("partition", rec->partition), MR_KV_INT("offset", rec->offset),
           MR_KV_STR("table", tbl->name), MR_KV_Z("code", run->err->code), MR_KV_Z("native", run->err->native),
           MR_KV_Z("reason", run->err->message));
    if (letter != NULL) {
        letter->rows = join_keys(letter->rows, key, run->ar);
        return;
    }
    mr_dead_letter_fill(add_letter(run), rec, run->err, mr_str_z(run->cfg->pipeline), tbl->schema, tbl->name, key, run->ar);
    run->job->dead_rows++;
}

static struct mr_table_batch part_of(const struct mr_job_table *jt, size_t from, size_t end, bool single)
{
    struct mr_table_batch part = jt->rows;
    part.rows = jt->rows.rows + from;
    part.row_count = end - from;
    part.truncate_first = false;
    part.row_by_row = jt->rows.row_by_row || single;
    return part;
}

/* The catalog was read again and planned for once, and still the rows do not fit: it is them. */
static bool is_answer_to_a_new_plan(const struct mr_job *job, enum mr_status status)
{
    return status == MR_E_SCHEMA && job->batch->replanned && !job->epoch_moved;
}

static bool refuses(const struct run *run, enum mr_status status)
{
    return status == MR_E_DATA || is_answer_to_a_new_plan(run->job, status) ||
           (status == MR_E_ENV && is_unknown(run) && mr_apply_job_isolates_unknown(run->job));
}

static bool is_to_blame(const struct run *run, bool others_are_taken, size_t rows)
{
    return !is_unknown(run) || others_are_taken || (rows == 1 && run->job->unknown_tries >= UNKNOWN_TRIES_ALONE);
}

/* Apply under a savepoint; *refused on DATA (the savepoint is rolled back, err kept). */
static enum mr_status try_rows(struct run *run, struct mr_table_batch *rows, bool *refused)
{
    const struct mr_sink_ops *ops = run->sink->ops;
    *refused = false;
    MR_TRY(ops->savepoint(run->sink, run->err));
    run->err->row = -1;
    enum mr_status status = mr_patches_apply(run->sink, rows, run->err);
    if (status == MR_OK)
        return ops->release_savepoint(run->sink, run->err);
    if (!refuses(run, status))
        return status;
    struct mr_error ignored = {0};
    *refused = true;
    return ops->rollback_savepoint(run->sink, &ignored) == MR_OK ? MR_OK : MR_E_ENV;
}

/* Rows [from, end). */
static enum mr_status try_part(struct run *run, const struct mr_job_table *jt, size_t from, size_t end, bool *refused)
{
    struct mr_table_batch part = part_of(jt, from, end, end - from == 1);
    return try_rows(run, &part, refused);
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

/* Rows of a table that missed their foreign key, or were refused for a reason that nobody knows: tried once more when the other tables are in. */
struct deferred {
    size_t *rows;
    size_t count;
    bool others_are_taken;
};

/* A row that was refused standing alone. */
static enum mr_status settle_row(struct run *run, struct mr_job_table *jt, size_t row, struct deferred *later)
{
    if (later != NULL && (is_foreign_key_error(run->err) || is_unknown(run))) {
        later->rows[later->count++] = row;
        return MR_OK;
    }
    bool is_one_of_many = jt->merged[row] > 1 || (jt->in_family && !run->job->batch->unfolded);
    if (is_one_of_many) { /* which change was it, and what else is of it? The batch is made anew without folding */
        run->job->want_unfolded = true;
        return MR_E_DATA;
    }
    const struct mr_row *r = &jt->rows.rows[row];
    bury(run, jt->rows.tbl, r->origin, row_key(jt->rows.tbl, r, run->ar));
    jt->refused++;
    return MR_OK;
}

/* The truncate alone: a refused row must not undo it. If it is refused itself, what came before it in the batch counts after all. */
static enum mr_status truncate_alone(struct run *run, struct mr_job_table *jt)
{
    struct mr_table_batch empty = {.tbl = jt->rows.tbl, .truncate_first = true, .row_by_row = true};
    bool refused = false;
    MR_TRY(try_rows(run, &empty, &refused));
    if (!refused)
        return MR_OK;
    if (!run->job->batch->unfolded) {
        run->job->want_unfolded = true;
        return MR_E_DATA;
    }
    bury(run, jt->rows.tbl, jt->truncate_origin, (struct mr_str){0});
    jt->truncate_refused = true;
    return MR_OK;
}

/* Apply a table in pieces until every refused row stands alone. */
static enum mr_status isolate_table(struct run *run, struct mr_job_table *jt, struct deferred *later)
{
    struct ranges r = {.count = 0};
    if (jt->rows.truncate_first)
        MR_TRY(truncate_alone(run, jt));
    later->rows = mr_arena_alloc(run->ar, (jt->rows.row_count + 1) * sizeof *later->rows);
    push(&r, 0, jt->rows.row_count);
    while (r.count > 0) {
        size_t from = r.from[r.count - 1], end = r.end[r.count - 1];
        bool refused = false;
        r.count--;
        MR_TRY(try_part(run, jt, from, end, &refused));
        later->others_are_taken = later->others_are_taken || !refused;
        if (!refused)
            continue;
        if (end - from > 1)
            split(&r, from, end, run->err->row);
        else
            MR_TRY(settle_row(run, jt, from, later));
    }
    return MR_OK;
}

/* ---- documents and their elements ---- */

/* Of tables whose rows belong together each change is taken as a whole or not at all: in the order of the changes, each under a savepoint. Only where
 * the batch is not folded, so that a row is of one change. */
static bool goes_by_units(const struct run *run, const struct mr_job_table *jt)
{
    return jt->in_family && run->job->batch->unfolded;
}

/* Rows of the table that are of the change: [*from, *end). They come in the order of the changes. */
static void find_unit(const struct mr_job_table *jt, uint64_t unit, size_t *from, size_t *end)
{
    size_t low = 0, high = jt->rows.row_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (jt->rows.rows[middle].unit < unit)
            low = middle + 1;
        else
            high = middle;
    }
    for (*from = *end = low; *end < jt->rows.row_count && jt->rows.rows[*end].unit == unit;)
        ++*end;
}

static int compare_units(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* All changes that have rows in such tables, in their order. */
static uint64_t *collect_units(struct run *run, size_t *count)
{
    size_t total = 0, n = 0;
    for (size_t i = 0; i < run->job->table_count; i++)
        total += goes_by_units(run, &run->job->tables[i]) ? run->job->tables[i].rows.row_count : 0;
    uint64_t *units = mr_arena_alloc(run->ar, (total + 1) * sizeof *units);
    for (size_t i = 0; i < run->job->table_count; i++)
        for (size_t r = 0; goes_by_units(run, &run->job->tables[i]) && r < run->job->tables[i].rows.row_count; r++)
            units[n++] = run->job->tables[i].rows.rows[r].unit;
    if (n > 1)
        qsort(units, n, sizeof *units, compare_units);
    *count = 0;
    for (size_t i = 0; i < n; i++)
        if (*count == 0 || units[*count - 1] != units[i])
            units[(*count)++] = units[i];
    return units;
}

struct unit_failure {
    const struct mr_job_table *jt;
    size_t row;
};

/* Rows of one change in one table. */
static enum mr_status write_unit_part(struct run *run, const struct mr_job_table *jt, size_t from, size_t end, struct unit_failure *failure)
{
    struct mr_table_batch part = part_of(jt, from, end, true);
    run->err->row = -1;
    enum mr_status status = mr_patches_apply(run->sink, &part, run->err);
    if (status == MR_OK)
        return MR_OK;
    *failure = (struct unit_failure){jt, from + (run->err->row > 0 ? (size_t)run->err->row : 0)};
    return status;
}

/* Ranges go first, the innermost arrays' before all, and so before what they hang below; but where elements get another key, order counts. */
static enum mr_status write_unit(struct run *run, uint64_t unit, struct unit_failure *failure)
{
    bool moves = false;
    size_t from, end;
    for (size_t i = 0; i < run->job->table_count && !moves; i++) {
        find_unit(&run->job->tables[i], unit, &from, &end);
        moves = from < end && run->job->tables[i].rows.rows[from].kind == MR_ROW_MOVE_ALL;
    }
    for (size_t i = run->job->table_count; !moves && i-- > 0;) {
        const struct mr_job_table *jt = &run->job->tables[i];
        find_unit(jt, unit, &from, &end);
        if (from < end && jt->rows.rows[from].kind == MR_ROW_DELETE_RANGE)
            MR_TRY(write_unit_part(run, jt, from, end, failure));
    }
    for (size_t i = 0; i < run->job->table_count; i++) {
        const struct mr_job_table *jt = &run->job->tables[i];
        find_unit(jt, unit, &from, &end);
        if (from < end && (moves || jt->rows.rows[from].kind != MR_ROW_DELETE_RANGE))
            MR_TRY(write_unit_part(run, jt, from, end, failure));
    }
    return MR_OK;
}

static enum mr_status try_unit(struct run *run, uint64_t unit, struct unit_failure *failure, bool *refused)
{
    const struct mr_sink_ops *ops = run->sink->ops;
    struct mr_error ignored = {0};
    *refused = false;
    MR_TRY(ops->savepoint(run->sink, run->err));
    enum mr_status status = write_unit(run, unit, failure);
    if (status == MR_OK)
        return ops->release_savepoint(run->sink, run->err);
    if (!refuses(run, status))
        return status;
    *refused = true;
    return ops->rollback_savepoint(run->sink, &ignored) == MR_OK ? MR_OK : MR_E_ENV;
}

/* Of all tables of the family. */
static void count_refused(struct run *run, uint64_t unit)
{
    for (size_t i = 0; i < run->job->table_count; i++) {
        size_t from = 0, end = 0;
        if (goes_by_units(run, &run->job->tables[i]))
            find_unit(&run->job->tables[i], unit, &from, &end);
        run->job->tables[i].refused += end - from;
    }
}

static enum mr_status isolate_units(struct run *run)
{
    size_t count, later_count = 0, taken = 0;
    for (size_t i = 0; i < run->job->table_count; i++)
        if (goes_by_units(run, &run->job->tables[i]) && run->job->tables[i].rows.truncate_first)
            MR_TRY(truncate_alone(run, &run->job->tables[i]));
    uint64_t *units = collect_units(run, &count);
    for (int pass = 0; pass < 2; pass++) { /* one that missed its foreign key is tried again when the others are in */
        for (size_t i = 0; i < count; i++) {
            struct unit_failure failure;
            bool refused = false;
            MR_TRY(try_unit(run, units[i], &failure, &refused));
            taken += !refused;
            if (refused && pass == 0 && (is_foreign_key_error(run->err) || is_unknown(run))) {
                units[later_count++] = units[i];
            } else if (refused && !is_to_blame(run, taken > 0, count)) {
                return MR_E_ENV;
            } else if (refused) {
                const struct mr_row *r = &failure.jt->rows.rows[failure.row];
                bury(run, failure.jt->rows.tbl, r->origin, row_key(failure.jt->rows.tbl, r, run->ar));
                count_refused(run, units[i]);
            }
        }
        count = later_count;
    }
    return MR_OK;
}

/* ---- the transaction ---- */

static enum mr_status apply_tables(struct run *run)
{
    for (size_t i = 0; i < run->job->table_count; i++) {
        run->err->row = -1;
        run->job->reached = i + 1;
        enum mr_status status = mr_patches_apply(run->sink, &run->job->tables[i].rows, run->err);
        run->job->tables[i].done_us = mr_now_us();
        if (status != MR_OK) {
            mr_error_prefix(run->err, "%.*s: ", MR_STR_FMT(run->job->tables[i].rows.tbl->name));
            return status;
        }
    }
    return MR_OK;
}

static enum mr_status apply_isolated(struct run *run)
{
    for (size_t i = 0; i < run->job->letter_count; i++)
        *add_letter(run) = run->job->letters[i];
    struct deferred *later = mr_arena_zalloc(run->ar, (run->job->table_count + 1) * sizeof *later);
    for (size_t i = 0; i < run->job->table_count; i++) {
        struct mr_job_table *jt = &run->job->tables[i];
        run->job->reached = i + 1;
        jt->refused = 0;
        jt->truncate_refused = false;
        if (!goes_by_units(run, jt))
            MR_TRY(isolate_table(run, jt, &later[i]));
        jt->done_us = mr_now_us();
    }
    MR_TRY(isolate_units(run));
    for (size_t i = 0; i < run->job->table_count; i++) {
        for (size_t k = 0; k < later[i].count; k++) { /* their parents are in by now, or never */
            size_t row = later[i].rows[k];
            bool refused = false;
            MR_TRY(try_part(run, &run->job->tables[i], row, row + 1, &refused));
            if (refused && !is_to_blame(run, later[i].others_are_taken, run->job->tables[i].rows.row_count))
                return MR_E_ENV;
            if (refused)
                MR_TRY(settle_row(run, &run->job->tables[i], row, NULL));
            later[i].others_are_taken = later[i].others_are_taken || !refused;
        }
    }
    return MR_OK;
}

/* A control table lacks something, also after its statements were prepared anew: no rows can be blamed, and no waiting helps. */
static enum mr_status control(struct run *run, enum mr_status status)
{
    if (status != MR_E_SCHEMA || !run->job->batch->replanned)
        return status;
    mr_error_hint(run->err, "the control tables are not whole: restore them, or drop all of them to start anew");
    run->err->status = MR_E_CONFIG;
    return MR_E_CONFIG;
}

static enum mr_status finish(struct run *run)
{
    struct mr_job *job = run->job;
    MR_FAULT("before_dead_letters");
    const struct mr_dead_letter *letters = run->ar != NULL ? run->letters : job->letters;
    size_t letter_count = run->ar != NULL ? run->letter_count : job->letter_count;
    if (letter_count > 0)
        MR_TRY(control(run, mr_control_dead_letters_add(run->sink, letters, letter_count, run->err)));
    if (job->note_count > 0)
        MR_TRY(control(run, mr_control_type_history_add(run->sink, job->notes, job->note_count, run->err)));
    for (size_t i = 0; i < job->report_count; i++)
        MR_TRY(control(run, mr_control_ddl_history_add(run->sink, &job->reports[i], run->err)));
    MR_FAULT("before_positions");
    if (job->move_count > 0) {
        int64_t schema_epoch = job->schema_epoch;
        MR_TRY(control(run, mr_control_store(run->sink, mr_str_z(run->cfg->pipeline), job->moves, job->move_count,
                                             &schema_epoch, run->err)));
        job->epoch_moved = schema_epoch != job->schema_epoch;
        if (job->epoch_moved)
            return mr_fail(run->err, MR_E_SCHEMA, "another instance changed the schema (epoch %lld, ours %lld)",
                           (long long)schema_epoch, (long long)job->schema_epoch);
    }
    MR_TRY(control(run, mr_status_delta_closed(run->sink, run->cfg, job, run->err)));
    MR_FAULT("before_commit");
    return MR_OK;
}

static enum mr_status work(struct run *run)
{
    MR_FAULT("after_begin");
    enum mr_status status = run->ar != NULL ? apply_isolated(run) : apply_tables(run);
    MR_FAULT("after_apply");
    return status == MR_OK ? finish(run) : status;
}

enum mr_status mr_apply_job(struct mr_sink *sink, const struct mr_config *cfg, struct mr_job *job, bool isolate,
                            bool *in_doubt, struct mr_error *err)
{
    struct run run = {.sink = sink, .cfg = cfg, .job = job, .err = err};
    *in_doubt = false;
    job->dead_rows = 0;
    job->epoch_moved = false;
    job->reached = 0;
    job->began_us = job->began_us != 0 ? job->began_us : mr_now_us();
    MR_TRY(sink->ops->begin(sink, err));
    run.ar = isolate ? mr_arena_create(0) : NULL;
    enum mr_status status = work(&run);
    mr_arena_destroy(run.ar);
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
        if (status == MR_E_DATA && !job->batch->unfolded) /* a deferred constraint: row by row each row must answer for itself */
            job->want_unfolded = true;
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
