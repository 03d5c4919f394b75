/* `dead-letters replay`: each message goes through the pipeline's own intake once more, under the present configuration, as a batch of one
 * record on the control connection. Its rows and the letter's mark are one transaction; positions are not touched. A letter that cannot be
 * applied stays open and is told with the new reason. Main thread, no appliers. */
#include <millrace/engine.h>

#include <jansson.h>

#include <millrace/base/encode.h>
#include <millrace/base/log.h>
#include <millrace/base/mem.h>
#include <millrace/base/time.h>

#include "ddl_gate.h"
#include "intake.h"
#include "patches.h"
#include "probe.h"
#include "status_outbox.h"
#include "status_sender.h"

#define MAX_TRIES 20 /* of one letter: another instance changes the schema, or holds a lock */

struct replay {
    const struct mr_engine_parts *parts;
    const struct mr_replay_request *request;
    const struct mr_replay_handler *handler;
    struct mr_sink *sink;
    struct mr_intake intake;
    struct mr_relations *rels;
    struct mr_gate gate;
    struct mr_batch *batch;
    uint64_t seq;
    bool has_dead;           /* the intake refused the record under way */
    struct mr_error dead_why;
    bool found;              /* the letter asked for by its id is there */
};

/* ---- the record as it was ---- */

/* [["name", "base64"], ["name", null], …]; what is not of this form is passed over. */
static void take_headers(struct mr_str text, struct mr_arena *ar, struct mr_record *rec)
{
    json_t *list = json_loadb(text.ptr != NULL ? text.ptr : "", text.len, 0, NULL);
    size_t count = json_is_array(list) ? json_array_size(list) : 0;
    rec->headers = mr_arena_zalloc(ar, (count + 1) * sizeof *rec->headers);
    for (size_t i = 0; i < count; i++) {
        json_t *name = json_array_get(json_array_get(list, i), 0), *value = json_array_get(json_array_get(list, i), 1);
        struct mr_header *h = &rec->headers[rec->header_count];
        if (!json_is_string(name))
            continue;
        h->name = mr_arena_copy(ar, mr_str_of(json_string_value(name), json_string_length(name)));
        h->is_null = !json_is_string(value);
        if (!h->is_null && !mr_base64_decode(mr_str_of(json_string_value(value), json_string_length(value)), ar, &h->value))
            continue;
        rec->header_count++;
    }
    json_decref(list);
}

static struct mr_record rebuild(const struct mr_dead_letter *letter, const struct mr_partition *part, const struct mr_config *cfg,
                                struct mr_arena *ar)
{
    struct mr_record rec = {
        .part = part,
        .position = letter->position > 0 ? letter->position : 0,
        .topic = letter->topic,
        .partition = letter->partition,
        .offset = letter->offset,
        .timestamp_ms = letter->timestamp_ms,
        .key = letter->key,
        .value = letter->value,
        .has_key = letter->has_key,
        .has_value = letter->has_value,
        .is_bare = letter->is_bare,
    };
    if (rec.topic.len == 0 && rec.is_bare) /* --topic had not been said; now it may be */
        rec.topic = mr_str_z(cfg->file_topic);
    take_headers(letter->headers, ar, &rec);
    if (mr_str_eq_z(letter->code, MR_CODE_BAD_LINE)) { /* it never was a record */
        rec.broken_code = MR_CODE_BAD_LINE;
        rec.broken_message = letter->message;
    }
    return rec;
}

static void on_dead(void *ctx, const struct mr_record *rec, const struct mr_error *why)
{
    struct replay *r = ctx;
    (void)rec;
    r->has_dead = true;
    r->dead_why = *why;
}

/* ---- outcomes ---- */

static enum mr_replay_outcome refuse(enum mr_replay_outcome outcome, struct mr_error *err, const char *what_z, struct mr_str name,
                                     const char *then_z)
{
    (void)mr_fail_data(err, MR_CODE_REFUSED, "it %s %.*s%s", what_z, MR_STR_FMT(name), then_z);
    return outcome;
}

/* Without `overwrite`, nothing that is there may go or change. Known before any table is touched. */
static enum mr_replay_outcome check_kinds(const struct replay *r, struct mr_error *err)
{
    for (size_t i = 0; i < r->batch->rel_count; i++) {
        const struct mr_rel *rel = r->batch->rels[i];
        if (rel->fold->truncate_first)
            return refuse(MR_REPLAY_FAILED, err, "empties", rel->source_name,
                          ", which is never replayed; do that in the target, if it is still right");
        for (size_t k = 0; k < rel->fold->count && !r->request->overwrite; k++) {
            switch (rel->fold->entries[k].kind) {
            case MR_ROW_DELETE:
            case MR_ROW_DELETE_MATCH:
                return refuse(MR_REPLAY_FORCE, err, "deletes a row of", rel->source_name, "; --overwrite applies it");
            case MR_ROW_MOVE:
            case MR_ROW_MOVE_ALL:
                return refuse(MR_REPLAY_FORCE, err, "changes the key of a row of", rel->source_name, "; --overwrite applies it");
            case MR_ROW_UPDATE_MATCH:
                return refuse(MR_REPLAY_FORCE, err, "changes a row of", rel->source_name,
                              ", which has no key; --overwrite applies it");
            case MR_ROW_UPSERT:
            case MR_ROW_APPEND:
            case MR_ROW_INSERT_ONLY:
            case MR_ROW_FILL:
            case MR_ROW_DELETE_RANGE: /* left out: where the row's key is absent there are no elements either */
                break;
            }
        }
    }
    return MR_REPLAY_DONE;
}

/* The row that is there already, for the report: "id = 5". */
static void append_key_cell(struct mr_buf *key, struct mr_str name, struct mr_value value)
{
    mr_buf_append_z(key, key->len > 0 ? ", " : "");
    mr_buf_append_str(key, name);
    mr_buf_append_z(key, " = ");
    mr_value_append_text(value, key);
}

static void fail_exists(struct mr_str table, const struct mr_buf *key, struct mr_error *err)
{
    (void)mr_fail_data(err, MR_CODE_REFUSED, "row exists in %.*s (%.*s), left alone; --overwrite forces", MR_STR_FMT(table),
                       MR_STR_FMT(mr_buf_str(key)));
}

#define KEY_SHOWN 400 /* a longer key is cut, which is enough to know the row by */

static void describe_row(const struct mr_table *tbl, const struct mr_row *row, struct mr_error *err)
{
    struct mr_buf key = MR_BUF_INIT(KEY_SHOWN);
    for (size_t i = 0; i < tbl->key_count; i++)
        append_key_cell(&key, tbl->columns[tbl->key_columns[i]].name, row->cells[tbl->key_columns[i]]);
    fail_exists(tbl->name, &key, err);
    mr_buf_free(&key);
}

static void describe_entry(const struct mr_rel *rel, const struct mr_entry *e, struct mr_error *err)
{
    struct mr_buf key = MR_BUF_INIT(KEY_SHOWN);
    const struct mr_str *paths = NULL;
    size_t count = mr_tracker_key(rel->tk, &paths);
    for (size_t i = 0; i < count; i++) {
        int column = mr_tracker_find(rel->tk, paths[i]);
        if (column >= 0)
            append_key_cell(&key, mr_tracker_column(rel->tk, (size_t)column)->name, mr_entry_cell(e, (uint32_t)column));
    }
    fail_exists(rel->target_table, &key, err);
    mr_buf_free(&key);
}

/* ---- one letter ---- */

/* Decode, judge and fold; *outcome is not DONE if the letter ends here. */
static enum mr_status take_in(struct replay *r, const struct mr_dead_letter *letter, const struct mr_record *rec,
                              struct mr_part_state *part, enum mr_replay_outcome *outcome, struct mr_error *err)
{
    struct mr_chunk chunk = {.refs = 1};
    bool split = false, barrier = false;
    mr_batch_clear(r->batch, ++r->seq);
    uint32_t index = mr_batch_take(r->batch, &chunk, rec);
    r->has_dead = false;
    r->intake.only_rows = letter->rows;
    enum mr_status status = mr_intake_record(&r->intake, r->batch, index, part, &split, &barrier, err);
    *outcome = MR_REPLAY_FAILED;
    if (status == MR_E_DATA || status == MR_E_CONFIG) /* policy `fail`, or a table that cannot be used: the next may be fine */
        return MR_OK;
    MR_TRY(status);
    if (split) {
        (void)mr_fail_data(err, MR_CODE_REFUSED, "the message changes the table's key in its middle");
        return MR_OK;
    }
    if (r->has_dead) {
        *err = r->dead_why;
        return MR_OK;
    }
    *outcome = check_kinds(r, err);
    return MR_OK;
}

static bool needs_ddl(const struct mr_rel *rel)
{
    return mr_tracker_count(rel->tk) > 0 && (rel->shape_dirty || rel->tbl == NULL || mr_tracker_changed(rel->tk));
}

/* No table is changed for a row that will be left alone. */
static enum mr_status look_first(struct replay *r, enum mr_replay_outcome *outcome, struct mr_error *err)
{
    bool any = false;
    for (size_t i = 0; i < r->batch->rel_count; i++)
        any = any || needs_ddl(r->batch->rels[i]);
    for (size_t i = 0; any && !r->request->overwrite && i < r->batch->rel_count; i++) {
        const struct mr_rel *rel = r->batch->rels[i];
        if (rel->root != NULL)
            continue; /* elements go with their row */
        for (size_t k = 0; rel->exists && k < rel->fold->count; k++) {
            bool is_there = false;
            if (rel->fold->entries[k].kind != MR_ROW_UPSERT)
                continue;
            MR_TRY(mr_probe_row(r->sink, rel, &rel->fold->entries[k], &is_there, err));
            if (!is_there)
                continue;
            describe_entry(rel, &rel->fold->entries[k], err);
            *outcome = MR_REPLAY_EXISTS;
            return MR_OK;
        }
    }
    return MR_OK;
}

/* DDL, in transactions of their own, before the data. *stale: the trackers must be read again. */
static enum mr_status bring_tables(struct replay *r, bool *stale, enum mr_replay_outcome *outcome, struct mr_error *err)
{
    for (size_t i = 0; i < r->batch->rel_count && !*stale; i++) {
        struct mr_rel *rel = r->batch->rels[i];
        bool refused = false;
        if (!needs_ddl(rel))
            continue;
        enum mr_status status = mr_gate_bring(&r->gate, rel, stale, &refused, err);
        if (refused || status == MR_E_CONFIG || status == MR_E_DATA) {
            *outcome = MR_REPLAY_FAILED;
            return MR_OK;
        }
        MR_TRY(status);
    }
    return MR_OK;
}

static enum mr_status apply_tables(struct replay *r, struct mr_job *job, enum mr_replay_outcome *outcome, uint64_t *rows,
                                   struct mr_error *err)
{
    for (size_t i = 0; i < job->table_count; i++) {
        struct mr_table_batch *tb = &job->tables[i].rows;
        if (!r->request->overwrite && tb->row_count > 0 && (tb->rows[0].kind == MR_ROW_DELETE_RANGE || tb->rows[0].kind == MR_ROW_FILL))
            continue;
        for (size_t k = 0; k < tb->row_count && !r->request->overwrite; k++)
            if (tb->rows[k].kind == MR_ROW_UPSERT)
                tb->rows[k].kind = MR_ROW_INSERT_ONLY;
        MR_TRY(mr_patches_apply(r->sink, tb, err));
        job->tables[i].done_us = mr_now_us();
        *rows += tb->row_count;
        for (size_t k = 0; k < tb->row_count; k++) {
            if (!tb->rows[k].was_there)
                continue;
            describe_row(tb->tbl, &tb->rows[k], err);
            *outcome = MR_REPLAY_EXISTS;
            return MR_OK;
        }
    }
    return MR_OK;
}

/* Everything of the letter in the open transaction. The mark goes first: it locks the letter against another replay. */
static enum mr_status apply_all(struct replay *r, const struct mr_dead_letter *letter, struct mr_job *job,
                                enum mr_replay_outcome *outcome, uint64_t *rows, struct mr_error *err)
{
    MR_TRY(mr_control_dead_letter_mark(r->sink, letter->id, MR_DEAD_REPLAYED, err));
    MR_TRY(apply_tables(r, job, outcome, rows, err));
    if (*outcome != MR_REPLAY_DONE)
        return MR_OK;
    if (job->note_count > 0)
        MR_TRY(mr_control_type_history_add(r->sink, job->notes, job->note_count, err));
    MR_TRY(mr_status_delta_closed(r->sink, r->parts->cfg, job, err));
    return mr_intake_save_facts(&r->intake, r->sink, err);
}

static enum mr_status in_transaction(struct replay *r, const struct mr_dead_letter *letter, struct mr_job *job,
                                     enum mr_replay_outcome *outcome, uint64_t *rows, struct mr_error *err)
{
    *rows = 0;
    job->began_us = mr_now_us();
    MR_TRY(r->sink->ops->begin(r->sink, err));
    err->row = -1;
    enum mr_status status = apply_all(r, letter, job, outcome, rows, err);
    if (status == MR_OK && *outcome == MR_REPLAY_DONE)
        status = r->sink->ops->commit(r->sink, err);
    if (status != MR_OK || *outcome != MR_REPLAY_DONE)
        r->sink->ops->rollback(r->sink);
    if (status != MR_E_DATA)
        return status;
    *outcome = MR_REPLAY_FAILED;
    return MR_OK;
}

/* One attempt; BUSY and SCHEMA (and *stale) are tried again. */
static enum mr_status attempt(struct replay *r, const struct mr_dead_letter *letter, const struct mr_record *rec,
                              bool *stale, enum mr_replay_outcome *outcome, uint64_t *rows, struct mr_error *err)
{
    struct mr_part_state part = {.part = rec->part, .owned = true, .lanes = 1, .taken = MR_POSITION_NONE};
    for (size_t i = 0; i < MR_MAX_LANES; i++)
        part.committed[i] = part.dispatched[i] = MR_POSITION_NONE;
    *stale = false;
    *err = (struct mr_error){.row = -1};
    MR_TRY(take_in(r, letter, rec, &part, outcome, err));
    if (*outcome == MR_REPLAY_DONE)
        MR_TRY(look_first(r, outcome, err));
    if (*outcome == MR_REPLAY_DONE)
        MR_TRY(bring_tables(r, stale, outcome, err));
    if (*outcome != MR_REPLAY_DONE || *stale)
        return MR_OK;
    mr_batch_divide(r->batch, r->parts->cfg, 1, r->gate.schema_epoch);
    struct mr_job *job = &r->batch->jobs[0];
    if (job->letter_count > 0) { /* a value that does not coerce */
        (void)mr_fail_data(err, MR_CODE_BAD_VALUE, "%.*s", MR_STR_FMT(job->letters[0].message));
        *outcome = MR_REPLAY_FAILED;
        return MR_OK;
    }
    return in_transaction(r, letter, job, outcome, rows, err);
}

static enum mr_status read_schema_again(struct replay *r, struct mr_error *err)
{
    mr_batch_clear(r->batch, ++r->seq); /* it points into the relations */
    MR_TRY(mr_relations_reload(r->rels, r->sink, err));
    return mr_control_schema_epoch(r->sink, &r->gate.schema_epoch, err);
}

/* A letter that stays open leaves no column behind: what the trackers learned of it and the target has not is read back. */
static enum mr_status forget_lessons(struct replay *r, struct mr_error *err)
{
    bool any = false;
    for (size_t i = 0; i < r->batch->rel_count; i++)
        any = any || mr_tracker_changed(r->batch->rels[i]->tk);
    if (!any)
        return MR_OK;
    struct mr_error why = *err;
    MR_TRY(read_schema_again(r, err));
    *err = why;
    return MR_OK;
}

static enum mr_status replay_letter(struct replay *r, const struct mr_dead_letter *letter, enum mr_replay_outcome *outcome,
                                    uint64_t *rows, struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_partition part = {.topic_z = mr_arena_strndup(ar, letter->part_topic.ptr, letter->part_topic.len),
                                .partition = letter->partition};
    struct mr_record rec = rebuild(letter, &part, r->parts->cfg, ar);
    enum mr_status status = MR_E_BUSY;
    for (int tries = 0; tries < MAX_TRIES; tries++) {
        bool stale = false;
        status = attempt(r, letter, &rec, &stale, outcome, rows, err);
        if (status != MR_OK && status != MR_E_BUSY && status != MR_E_SCHEMA)
            break;
        if (status == MR_OK && !stale)
            break;
        if (tries > 2)
            mr_sleep_ms(50);
        struct mr_error why = *err;
        status = stale || status == MR_E_SCHEMA ? read_schema_again(r, err) : status;
        if (status != MR_OK && status != MR_E_BUSY)
            break;
        *err = why;
        status = MR_E_BUSY;
    }
    if (status == MR_E_BUSY) { /* and stays busy with this one */
        *outcome = MR_REPLAY_FAILED;
        status = MR_OK;
    }
    if (status == MR_OK && *outcome != MR_REPLAY_DONE)
        status = forget_lessons(r, err);
    mr_batch_clear(r->batch, ++r->seq); /* jobs hold references to tables, records point into the letter */
    mr_arena_destroy(ar);
    return status;
}

static enum mr_status on_letter(void *ctx, const struct mr_dead_letter *letter, struct mr_error *err)
{
    struct replay *r = ctx;
    struct mr_error why = {.row = -1};
    struct mr_replay_report report = {
        .id = letter->id,
        .outcome = MR_REPLAY_NOT,
        .topic = letter->topic.len > 0 ? letter->topic : letter->part_topic,
        .partition = letter->partition,
        .offset = letter->offset,
        .why = &why,
    };
    r->found = true;
    if (mr_engine_stopping())
        return mr_fail(err, MR_E_STOPPED, "asked to stop");
    if (letter->state == MR_DEAD_REPLAYED) {
        (void)mr_fail_data(&why, MR_CODE_REFUSED, "it has been replayed already");
    } else if (!mr_str_eq_z(letter->pipeline, r->parts->cfg->pipeline)) {
        (void)mr_fail_data(&why, MR_CODE_REFUSED, "it belongs to the pipeline \"%.*s\"; replay it with that one's configuration",
                           MR_STR_FMT(letter->pipeline));
    } else {
        enum mr_status status = replay_letter(r, letter, &report.outcome, &report.rows, &why);
        if (status != MR_OK) {
            *err = why;
            mr_error_prefix(err, "dead letter %lld: ", (long long)letter->id);
            return status;
        }
    }
    if (report.outcome == MR_REPLAY_DONE)
        report.why = NULL;
    r->handler->told(r->handler->ctx, &report);
    return MR_OK;
}

/* ---- the whole ---- */

static enum mr_status by_ids(struct replay *r, bool has_control, struct mr_error *err)
{
    for (size_t i = 0; i < r->request->id_count; i++) {
        struct mr_dead_filter filter = {.id = r->request->ids[i], .with_replayed = true};
        struct mr_error why = {.row = -1};
        r->found = false;
        if (has_control && filter.id > 0)
            MR_TRY(mr_control_dead_letters(r->sink, &filter, true, on_letter, r, err));
        if (r->found)
            continue;
        (void)mr_fail_data(&why, MR_CODE_REFUSED, "there is no such dead letter");
        r->handler->told(r->handler->ctx,
                         &(struct mr_replay_report){.id = filter.id, .outcome = MR_REPLAY_NOT, .partition = -1, .offset = -1, .why = &why});
    }
    return MR_OK;
}

static enum mr_status by_filter(struct replay *r, struct mr_error *err)
{
    const struct mr_replay_request *q = r->request;
    struct mr_dead_filter filter = {
        .pipeline = q->pipeline, .topic = q->topic, .code = q->code, .table = q->table, .limit = q->limit};
    return mr_control_dead_letters(r->sink, &filter, true, on_letter, r, err);
}

static enum mr_status on_version(void *ctx, const struct mr_value *cells, size_t count, struct mr_error *err)
{
    (void)ctx, (void)cells, (void)count, (void)err;
    return MR_OK;
}

/* Counts and facts of the columns; approximate by promise. */
static void save_statistics(struct replay *r)
{
    struct mr_error ignored = {0};
    for (size_t i = 0; i < mr_relations_count(r->rels); i++) {
        struct mr_rel *rel = mr_relations_at(r->rels, i);
        if (rel->saved && !rel->shape_dirty && !mr_tracker_changed(rel->tk) &&
            mr_gate_save_statistics(&r->gate, rel, &ignored) != MR_OK)
            mr_log_error(MR_LOG_DEBUG, "statistics were not saved", &ignored);
    }
}

static enum mr_status replay_all(struct replay *r, struct mr_error *err)
{
    const struct mr_sink_ops *ops = r->parts->sink;
    struct mr_sink_options opt = {.cfg = r->parts->cfg, .application_z = "millrace replay"};
    MR_TRY(mr_decoder_set_create(r->parts->cfg, &r->intake.decoders, err));
    MR_TRY(ops->connect(&opt, &r->sink, err));
    r->intake.control = r->gate.control = r->sink;
    enum mr_status status = ops->exec(r->sink, MR_Q_control_version, NULL, 0, on_version, NULL, NULL, err);
    bool has_control = status == MR_OK;
    if (status != MR_OK && status != MR_E_SCHEMA)
        return status;
    if (has_control) { /* an older layout is brought up first */
        MR_TRY(ops->prepare_control(r->sink, err));
        MR_TRY(read_schema_again(r, err));
    }
    if (r->request->id_count > 0)
        status = by_ids(r, has_control, err);
    else
        status = has_control ? by_filter(r, err) : MR_OK;
    if (status == MR_E_STOPPED)
        status = MR_OK;
    if (has_control && status == MR_OK)
        save_statistics(r);
    return status;
}

enum mr_status mr_engine_replay(const struct mr_engine_parts *parts, const struct mr_replay_request *request,
                                const struct mr_replay_handler *handler, enum mr_unreachable *unreachable, struct mr_error *err)
{
    struct replay r = {.parts = parts, .request = request, .handler = handler};
    mr_intake_init(&r.intake, parts->cfg);
    r.rels = mr_relations_create(parts->cfg, parts->sink);
    r.batch = mr_batch_create();
    r.intake.rels = r.rels;
    r.intake.plan_dead = on_dead;
    r.intake.plan_ctx = &r;
    r.gate.cfg = parts->cfg;
    enum mr_status status = MR_OK;
    if (mr_status_is_on(parts->cfg))
        status = parts->producer->check_settings(parts->cfg, err);
    if (status == MR_OK)
        status = replay_all(&r, err);
    if (status == MR_OK) /* what was told of it has half the time of a stop to go out; the rest goes with the next run */
        (void)mr_status_sender_finish(mr_status_sender_start(parts->cfg, parts->sink, parts->producer),
                                      mr_monotonic_ms() + parts->cfg->shutdown_timeout_ms / 2, false);
    *unreachable = status == MR_E_ENV ? MR_TARGET_UNREACHABLE : MR_REACHED;
    mr_batch_destroy(r.batch);
    parts->sink->destroy(r.sink);
    mr_relations_destroy(r.rels);
    mr_decoder_set_destroy(r.intake.decoders);
    mr_intake_free(&r.intake);
    return status;
}
