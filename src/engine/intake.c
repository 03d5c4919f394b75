/* Records into batches: see intake.h. */
#include "intake.h"

#include <millrace/base/log.h>
#include <millrace/base/mem.h>

#include "ddl_event.h"
#include "dead_letter.h"
#include "dotted.h"
#include "rowbuild.h"

#define MAX_HEADER ((size_t)1 << 20) /* bytes of an added header's value */

/* Facts of one topic, with its name for saving. */
struct topic_entry {
    struct mr_topic_facts facts;
    struct mr_str topic;
    char *name_z;
    struct mr_relation relation; /* whose rows it brought last; owned */
    bool is_mixed;               /* rows of several relations came */
};

void mr_intake_init(struct mr_intake *in, const struct mr_config *cfg)
{
    *in = (struct mr_intake){.cfg = cfg, .pipeline = mr_str_z(cfg->pipeline), .lanes = 1};
    in->facts = mr_map_create();
    in->key = MR_BUF_INIT(1u << 24);
    in->scratch = MR_BUF_INIT(1u << 24);
}

static void destroy_topic(void *value)
{
    struct topic_entry *entry = value;
    mr_xfree(entry->name_z);
    mr_xfree((char *)entry->relation.database.ptr);
    mr_xfree((char *)entry->relation.table.ptr);
    mr_xfree(entry);
}

void mr_intake_free(struct mr_intake *in)
{
    mr_map_destroy(in->facts, destroy_topic);
    mr_buf_free(&in->key);
    mr_buf_free(&in->scratch);
    mr_xfree(in->judged);
    mr_xfree(in->changes);
    mr_xfree(in->rel_of);
    mr_xfree(in->element_rels);
    *in = (struct mr_intake){0};
}

/* The facts of the record's topic; a bare file is judged as one topic. Read from the target on first use. */
static enum mr_status topic_of(struct mr_intake *in, const struct mr_record *rec, struct topic_entry **out,
                               struct mr_error *err)
{
    struct mr_str topic = rec->topic.len > 0 ? rec->topic : mr_str_z(rec->part->topic_z);
    struct topic_entry *entry = mr_map_get(in->facts, topic);
    if (entry == NULL) {
        struct mr_topic_facts facts = {0};
        bool found = false;
        if (in->control != NULL && !in->no_control_tables)
            MR_TRY(mr_control_topic_fact(in->control, in->pipeline, topic, &facts, &found, err));
        facts.dirty = false;
        entry = mr_xcalloc(1, sizeof *entry);
        entry->facts = facts;
        entry->name_z = mr_xstrndup(topic.ptr, topic.len);
        entry->topic = mr_str_of(entry->name_z, topic.len);
        mr_map_put(in->facts, topic, entry);
    }
    *out = entry;
    return MR_OK;
}

static enum mr_status load_type(void *ctx, const struct mr_source_type *row, struct mr_error *err)
{
    struct mr_intake *in = ctx;
    return mr_decoder_set_types_load(in->decoders, row, err);
}

/* Before the first record is decoded. `plan` may meet control tables of an older layout, which have none of it. */
static enum mr_status load_types(struct mr_intake *in, struct mr_error *err)
{
    if (in->types_loaded || in->control == NULL || in->no_control_tables)
        return MR_OK;
    enum mr_status status = mr_control_source_types(in->control, in->pipeline, load_type, in, err);
    if (status != MR_OK && status != MR_E_SCHEMA)
        return status;
    in->types_loaded = true;
    mr_error_clear(err);
    return MR_OK;
}

static enum mr_status save_types(struct mr_intake *in, struct mr_sink *sink, struct mr_error *err)
{
    const struct mr_source_type *first = mr_decoder_set_types_unsaved(in->decoders, 0);
    size_t count = 0;
    while (mr_decoder_set_types_unsaved(in->decoders, count) != NULL)
        count++;
    if (count == 0)
        return MR_OK;
    MR_TRY(mr_control_source_types_save(sink, in->pipeline, first, count, err));
    mr_decoder_set_types_saved(in->decoders);
    return MR_OK;
}

bool mr_intake_facts_dirty(const struct mr_intake *in)
{
    if (mr_decoder_set_types_unsaved(in->decoders, 0) != NULL)
        return true;
    for (size_t i = 0; i < mr_map_count(in->facts); i++)
        if (((struct topic_entry *)mr_map_at(in->facts, i, NULL))->facts.dirty)
            return true;
    return false;
}

enum mr_status mr_intake_save_facts(struct mr_intake *in, struct mr_sink *sink, struct mr_error *err)
{
    for (size_t i = 0; i < mr_map_count(in->facts); i++) {
        struct topic_entry *entry = mr_map_at(in->facts, i, NULL);
        if (!entry->facts.dirty)
            continue;
        MR_TRY(mr_control_topic_fact_save(sink, in->pipeline, entry->topic, &entry->facts, err));
        entry->facts.dirty = false;
    }
    return save_types(in, sink, err);
}

struct capture {
    struct mr_intake *in;
    struct mr_arena *ar;
};

static enum mr_status on_change(void *ctx, const struct mr_change *ev, struct mr_error *err)
{
    struct capture *cap = ctx;
    struct mr_intake *in = cap->in;
    (void)err;
    struct mr_change *copy = mr_arena_alloc(cap->ar, sizeof *copy);
    *copy = *ev;
    in->changes = mr_xgrow(in->changes, &in->change_cap, in->change_count + 1, sizeof *in->changes);
    in->changes[in->change_count++] = copy;
    return MR_OK;
}

static void copy_name(struct mr_str *to, struct mr_str from)
{
    mr_xfree((char *)to->ptr);
    *to = mr_str_of(mr_xstrndup(from.ptr, from.len), from.len);
}

/* Where the topic brings envelopes a delete event has done a tombstone's work.
 * A tombstone does not say whose it is. It belongs to the relation that its topic brings; where a topic brings several, nobody can tell, and
 * the delete event before it has done the work: it is passed over. */
static void name_tombstone(struct topic_entry *topic, struct mr_change *ev)
{
    bool is_named = ev->relation.table.len > 0;
    if (ev->op == MR_OP_CONTROL)
        return;
    ev->is_echo = ev->is_tombstone && topic->facts.envelopes_seen;
    if (ev->is_tombstone && !is_named) {
        if (topic->is_mixed) {
            ev->op = MR_OP_CONTROL;
            ev->control = MR_CONTROL_EMPTY;
        } else if (topic->relation.table.len > 0) {
            ev->relation = topic->relation;
        }
        return;
    }
    if (!is_named || (mr_str_eq(topic->relation.table, ev->relation.table) &&
                      mr_str_eq(topic->relation.database, ev->relation.database)))
        return;
    topic->is_mixed = topic->is_mixed || topic->relation.table.len > 0;
    copy_name(&topic->relation.database, ev->relation.database);
    copy_name(&topic->relation.table, ev->relation.table);
}

/* The failing row's key, for the dead letter: {"path": value, …}. */
static struct mr_str key_json(const struct mr_change *ev, struct mr_arena *ar)
{
    if (ev == NULL || ev->key.count == 0)
        return (struct mr_str){0};
    struct mr_buf buf = MR_BUF_INIT(65536);
    mr_buf_append_char(&buf, '{');
    for (size_t i = 0; i < ev->key.count; i++) {
        if (i > 0)
            mr_buf_append_char(&buf, ',');
        mr_buf_append_json(&buf, ev->key.items[i].path);
        mr_buf_append_char(&buf, ':');
        if (ev->key.items[i].value.tag <= MR_V_NULL || ev->key.items[i].value.tag == MR_V_INVALID)
            mr_buf_append_z(&buf, "null");
        else
            mr_value_append_json(ev->key.items[i].value, &buf);
    }
    mr_buf_append_char(&buf, '}');
    struct mr_str out = buf.overflow ? (struct mr_str){0} : mr_arena_copy(ar, mr_buf_str(&buf));
    mr_buf_free(&buf);
    return out;
}

/* Does the list of failed rows name the key? Both are our own writing, and quotes inside texts are escaped there. */
static bool is_listed(const struct mr_intake *in, const struct mr_change *ev, struct mr_arena *ar)
{
    struct mr_str key = key_json(ev, ar);
    return key.len > 0 && memmem(in->only_rows.ptr, in->only_rows.len, key.ptr, key.len) != NULL;
}

/* A message with several rows of which only some had failed: the others have been applied, and may have changed since. Where the list names none
 * of them (the target refused them, under other names) all are taken. */
static void keep_listed(struct mr_intake *in, struct mr_arena *ar)
{
    size_t kept = 0;
    if (in->only_rows.len == 0 || in->change_count < 2)
        return;
    for (size_t i = 0; i < in->change_count; i++)
        if (is_listed(in, in->changes[i], ar))
            in->changes[kept++] = in->changes[i];
    if (kept > 0)
        in->change_count = kept;
}

/* Headers that were asked for go along with the record, should it become a dead letter. */
static void add_headers(struct mr_record *rec, const struct mr_change *ev, struct mr_arena *ar)
{
    struct mr_header *headers = mr_arena_zalloc(ar, (ev->headers.count + 1) * sizeof *headers);
    struct mr_buf text = MR_BUF_INIT(MAX_HEADER);
    for (size_t i = 0; i < ev->headers.count; i++) {
        const struct mr_field *field = &ev->headers.items[i];
        headers[i] = (struct mr_header){.name = field->path, .is_null = field->value.tag <= MR_V_NULL};
        mr_buf_clear(&text);
        if (!headers[i].is_null)
            mr_value_append_text(field->value, &text);
        headers[i].value = text.overflow ? MR_STR("(too long)") : mr_arena_copy(ar, mr_buf_str(&text)); /* the message has it whole */
    }
    mr_buf_free(&text);
    rec->added = headers;
    rec->added_count = ev->headers.count;
}

static enum mr_status decode(struct mr_intake *in, struct mr_batch *batch, struct mr_record *rec, struct mr_error *err)
{
    in->change_count = 0;
    rec->added_count = 0; /* of an earlier try: the arena has been reset since */
    if (rec->broken_code != NULL)
        return mr_fail_data(err, rec->broken_code, "%.*s", MR_STR_FMT(rec->broken_message));
    struct topic_entry *topic = NULL;
    MR_TRY(load_types(in, err));
    MR_TRY(topic_of(in, rec, &topic, err));
    struct capture cap = {in, batch->ar};
    MR_TRY(mr_decoder_set_decode(in->decoders, rec, &topic->facts, batch->ar, on_change, &cap, err));
    for (size_t i = 0; i < in->change_count; i++)
        name_tombstone(topic, in->changes[i]);
    keep_listed(in, batch->ar);
    if (in->change_count > 0 && in->changes[0]->headers.count > 0)
        add_headers(rec, in->changes[0], batch->ar);
    return MR_OK;
}

static enum mr_status on_peek(void *ctx, const struct mr_change *ev, struct mr_error *err)
{
    struct mr_tx_mark *mark = ctx;
    (void)err;
    mark->has_rows = mark->has_rows || (ev->op != MR_OP_CONTROL && !ev->is_tombstone);
    if (ev->tx_id.len > 0) {
        mark->id = ev->tx_id;
        mark->scope = ev->tx_scope;
        mark->order = ev->tx_order;
        mark->marks_last = ev->tx_marks_last;
        mark->is_last = mark->is_last || ev->tx_last;
        mark->end = ev->tx_end;
    }
    return MR_OK;
}

enum mr_status mr_intake_peek(struct mr_intake *in, const struct mr_record *rec, struct mr_arena *ar, struct mr_tx_mark *out,
                              struct mr_error *err)
{
    struct topic_entry *topic = NULL;
    *out = (struct mr_tx_mark){0};
    if (rec->broken_code != NULL)
        return MR_OK;
    MR_TRY(load_types(in, err));
    MR_TRY(topic_of(in, rec, &topic, err));
    enum mr_status status = mr_decoder_set_decode(in->decoders, rec, &topic->facts, ar, on_peek, out, err);
    if (status != MR_E_DATA)
        return status;
    *out = (struct mr_tx_mark){0};
    mr_error_clear(err);
    return MR_OK;
}

/* Put the record into the dead letters: one per record, its rows named. */
static void bury(struct mr_intake *in, struct mr_batch *batch, const struct mr_record *rec,
                 const struct mr_rel *rel, struct mr_str rows, const struct mr_error *err)
{
    in->dead++;
    if (in->plan_dead != NULL) {
        in->plan_dead(in->plan_ctx, rec, err);
        return;
    }
    struct mr_str none = {0};
    mr_dead_letter_fill(mr_batch_add_letter(batch), rec, err, in->pipeline, rel ? rel->target_schema : none,
                        rel ? rel->target_table : none, rows, batch->ar);
    struct mr_str topic = rec->topic.len > 0 ? rec->topic : mr_str_z(rec->part->topic_z);
    mr_log(MR_LOG_WARN, "dead letter", MR_KV_STR("topic", topic), MR_KV_INT("partition", rec->partition),
           MR_KV_INT("offset", rec->offset), MR_KV_Z("code", err->code), MR_KV_Z("field", err->field),
           MR_KV_Z("reason", err->message));
}

/* Half of an update whose other half did not come: it has no record any more, so that the one that tells of it lends its place. */
static void bury_lost(struct mr_intake *in, struct mr_batch *batch, const struct mr_record *rec, const struct mr_change *ev,
                      const struct mr_part_state *part)
{
    struct mr_record half = *rec;
    struct mr_error err = {0};
    struct mr_str none = {0};
    if (rec->position <= part->dispatched[0])
        return;
    half.value = ev->lost;
    half.has_value = true;
    (void)mr_fail_data(&err, MR_CODE_INCOMPLETE, "the row of \"%.*s\" before an update, and the row after it did not come",
                       MR_STR_FMT(ev->relation.table));
    mr_error_hint(&err, "what the update did to the row is unknown: load the row anew from the source");
    bury(in, batch, &half, NULL, none, &err);
}

static void count_control(struct mr_batch *batch, const struct mr_change *ev)
{
    batch->control++;
    if (ev->control == MR_CONTROL_SCHEMA_CHANGE)
        batch->schema_changes++;
}

/* What happened to the rows of one record so far. */
struct verdicts {
    struct mr_error first_error;
    struct mr_rel *rel;
    struct mr_buf rows;
    size_t dead;
};

static void add_dead_row(struct verdicts *v, struct mr_rel *rel, const struct mr_change *ev, struct mr_arena *ar,
                         const struct mr_error *err)
{
    struct mr_str key = key_json(ev, ar);
    if (v->dead == 0) {
        v->first_error = *err;
        v->rel = rel;
    }
    if (key.len > 0) {
        if (v->rows.len > 0)
            mr_buf_append_char(&v->rows, ',');
        mr_buf_append_str(&v->rows, key);
    }
    v->dead++;
    rel->rows_dead++;
}

/* May a partial update begin the table of an array? With its first element, and what follows it: of others nobody could tell whether they are elements
 * of an array or members of a document. */
static bool may_begin(struct mr_rel *rel, const struct mr_element *el, uint64_t find_seq)
{
    if (!el->is_guess || el->is_inner || (rel != NULL && mr_tracker_count(rel->tk) > 0))
        return true;
    return el->pos[el->depth - 1] == 0 || (rel != NULL && rel->begun_seq == find_seq);
}

/* The tables of the change's elements. An array that has none yet and is empty needs none; NULL for elements which cannot be placed. */
static enum mr_status find_children(struct mr_intake *in, struct mr_rel *rel, struct mr_change *ev, struct mr_arena *ar,
                                    struct mr_rel ***out, struct mr_error *err)
{
    const struct mr_element *last = NULL;
    in->find_seq++;
    mr_rowbuild_settle_guesses(rel, ev, ar);
    struct mr_rel **rels = *out = mr_arena_zalloc(ar, (ev->elements.count + 1) * sizeof(struct mr_rel *));
    struct mr_error refused = {0};
    if (mr_dotted_check_elements(rel, ev, &refused) != MR_OK)
        return MR_OK; /* it is a dead letter before the row is built, and makes no table */
    for (size_t i = 0; i < ev->elements.count; i++) {
        const struct mr_element *el = &ev->elements.items[i];
        bool is_row = el->kind == MR_ELEMENT_ROW || el->kind == MR_ELEMENT_PART;
        bool is_same = last != NULL && last->array.ptr == el->array.ptr && last->array.len == el->array.len;
        last = el;
        rels[i] = is_same && rels[i - 1] != NULL ? rels[i - 1] : mr_rel_find_child(rel, el->array);
        if (is_row && (!may_begin(rels[i], el, in->find_seq) || (rels[i] == NULL && mr_rowbuild_is_undecided(rel, el, ar)))) {
            rels[i] = NULL;
            continue;
        }
        if (rels[i] == NULL && (is_row || (el->kind == MR_ELEMENT_LENGTH && el->length > 0)))
            MR_TRY(mr_relations_child(in->rels, in->control, rel, el->array, &rels[i], err));
        if (is_row)
            rels[i]->begun_seq = in->find_seq;
    }
    return MR_OK;
}

/* Rows of the table depend on one another. */
static bool is_tied(const struct mr_rel *rel)
{
    bool tied = rel->has_other_unique || rel->has_foreign_keys;
    for (size_t i = 0; i < rel->child_count && !tied; i++)
        tied = rel->children[i]->has_other_unique || rel->children[i]->has_foreign_keys;
    return tied;
}

/* The relation of every change, before anything is folded: this may have to wait for the target, and then the record is taken in from its
 * beginning. Rows of a table with further unique keys or foreign keys depend on one another: with several lanes they need one transaction. */
static enum mr_status find_relations(struct mr_intake *in, const struct mr_record *rec, struct mr_arena *ar, bool *barrier,
                                     struct mr_error *err)
{
    in->element_rels = mr_xgrow(in->element_rels, &in->element_cap, in->change_count + 1, sizeof(struct mr_rel **));
    in->rel_of = mr_xgrow(in->rel_of, &in->rel_cap, in->change_count + 1, sizeof *in->rel_of);
    for (size_t i = 0; i < in->change_count; i++) {
        if (in->changes[i]->op == MR_OP_CONTROL)
            continue;
        MR_TRY(mr_relations_get(in->rels, in->control, &in->changes[i]->relation, rec, &in->rel_of[i], err));
        in->element_rels[i] = NULL;
        if (in->changes[i]->has_elements)
            MR_TRY(find_children(in, in->rel_of[i], in->changes[i], ar, &in->element_rels[i], err));
        *barrier = *barrier || (in->lanes > 1 && (is_tied(in->rel_of[i]) || mr_rowbuild_changes_key(in->rel_of[i], in->changes[i])));
    }
    return MR_OK;
}

/* All changes of the record. Stops at the first that ends the batch or the run. */
static enum mr_status take_changes(struct mr_intake *in, struct mr_batch *batch, uint32_t index,
                                   struct mr_part_state *part, struct verdicts *v, bool *split,
                                   struct mr_error *err)
{
    for (size_t i = 0; i < in->change_count; i++) {
        const struct mr_change *ev = in->changes[i];
        if (ev->op == MR_OP_CONTROL) {
            if (ev->lost.len > 0)
                bury_lost(in, batch, &batch->records[index], ev, part);
            else
                count_control(batch, ev);
            if (ev->control == MR_CONTROL_SCHEMA_CHANGE && batch->records[index].position > part->dispatched[0])
                *split = *split || mr_ddl_event_take(in->cfg, batch, index, ev);
            if (*split)
                return MR_OK;
            continue;
        }
        struct mr_rel *rel = in->rel_of[i];
        batch->changes++;
        rel->rows_seen++;
        switch (mr_rowbuild(in, batch, rel, in->element_rels[i], ev, index, part, err)) {
        case MR_ROW_TAKEN:
            break;
        case MR_ROW_SPLIT:
            *split = true;
            return MR_OK;
        case MR_ROW_DEAD:
            add_dead_row(v, rel, ev, batch->ar, err);
            break;
        case MR_ROW_STOPPED:
            return err->status == MR_OK ? mr_fail(err, MR_E_BUG, "a row was stopped without a reason") : err->status;
        }
    }
    return MR_OK;
}

static bool needs_barrier(const struct mr_intake *in)
{
    if (in->lanes == 1)
        return false;
    for (size_t i = 0; i < in->change_count; i++)
        if (mr_rowbuild_is_barrier(in->changes[i]))
            return true;
    return false;
}

enum mr_status mr_intake_record(struct mr_intake *in, struct mr_batch *batch, uint32_t index,
                                struct mr_part_state *part, bool *split, bool *barrier, struct mr_error *err)
{
    const struct mr_record *rec = &batch->records[index];
    bool lane_zero = rec->position > part->dispatched[0]; /* not yet decided for lane 0 */
    struct verdicts v;
    v.rows = MR_BUF_INIT(1u << 20);
    v.dead = 0; /* the other members are set with the first dead row */
    struct mr_str none = {0};
    *split = *barrier = false;

    mr_error_clear(err);
    enum mr_status status = decode(in, batch, &batch->records[index], err);
    if (status == MR_E_DATA) {
        if (lane_zero)
            bury(in, batch, rec, NULL, none, err);
        status = MR_OK;
    } else if (status == MR_OK) {
        *barrier = needs_barrier(in);
        status = find_relations(in, rec, batch->ar, barrier, err);
        in->is_one_job = *barrier || batch->barrier || part->lanes == 1;
        if (status == MR_OK)
            status = take_changes(in, batch, index, part, &v, split, err);
    }
    if (status == MR_E_DATA && strcmp(err->code, MR_CODE_NO_TABLE) == 0) {
        if (lane_zero) /* the names give no table: this record's fault, not a policy's */
            bury(in, batch, rec, NULL, none, err);
        status = MR_OK;
    }
    if (status == MR_OK && !*split) {
        if (v.dead > 0 && lane_zero) {
            struct mr_str rows = v.rows.len > 0 ? mr_arena_printf(batch->ar, "[%.*s]", MR_STR_FMT(mr_buf_str(&v.rows)))
                                                : none;
            bury(in, batch, rec, v.rel, rows, &v.first_error);
        }
        in->decided++;
        bool waits = mr_decoder_set_waits(in->decoders, rec->part, rec->position, part->given_up) != 0;
        mr_batch_note_wait(batch, part, index, waits);
        if (!waits)
            mr_batch_touch_part(batch, part, rec->position);
    }
    mr_buf_free(&v.rows);
    return status;
}
