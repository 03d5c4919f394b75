/* From a change to fold entries. Here the table's settings are applied: which fields are the key, what a delete means, what a missing
 * column means. Every field goes through the tracker; if one is refused the row leaves no trace. */
#include "rowbuild.h"

#include <millrace/base/decimal.h>
#include <millrace/base/hash.h>
#include <millrace/base/mem.h>
#include <millrace/base/utf8.h>

#include "lane.h"
#include "patches.h"
#include "positions.h"

#define DELETED_PATH MR_OWN_PATH("__deleted")

/* The row being built. */
struct build {
    struct mr_intake *in;
    struct mr_batch *batch;
    struct mr_rel *rel;
    const struct mr_change *ev;
    const struct mr_record *rec;
    uint32_t origin;
    const struct mr_part_state *part;
    struct mr_error *err;
    struct mr_fields key;       /* the key's fields as the settings want them */
    bool keyless, append_only;
    bool key_changed;           /* the table has got another key; `key_before` comes back if the row is refused */
    struct mr_str *key_before;
    size_t key_before_count;
    enum mr_row_outcome outcome;
};

bool mr_rowbuild_is_barrier(const struct mr_change *ev)
{
    return ev->op == MR_OP_TRUNCATE || ev->old_key.count > 0;
}

/* ---- judging ---- */

static void note_nulled(struct build *b, const struct mr_field *field, uint32_t column)
{
    if (b->rec->position <= b->part->dispatched[0])
        return; /* lane 0, which writes it, has done so */
    struct mr_type_history_row *note = mr_batch_add_note(b->batch);
    const struct mr_tracked_column *col = mr_tracker_column(b->rel->tk, column);
    *note = (struct mr_type_history_row){
        .target_schema = b->rel->target_schema,
        .target_table = b->rel->target_table,
        .column = mr_arena_copy(b->batch->ar, col->name),
        .path = mr_arena_copy(b->batch->ar, field->path),
        .event = MR_TYPE_EVENT_NULLED,
        .message = mr_arena_copy(b->batch->ar, mr_str_z(b->err->message)),
        .topic = b->rec->topic,
        .partition = b->rec->partition,
        .offset = b->rec->offset,
    };
    b->batch->nulled++;
}

/* How long a number is when it is written without its exponent. */
static size_t expanded_len(struct mr_value v)
{
    struct mr_decimal_info info;
    struct mr_str text = mr_value_str(v);
    if (memchr(text.ptr, 'e', text.len) == NULL && memchr(text.ptr, 'E', text.len) == NULL)
        return 0;
    return mr_decimal_parse(text, &info) ? (size_t)info.int_digits + info.frac_digits : 0;
}

static void put(struct build *b, uint32_t column, bool is_key, struct mr_value value)
{
    struct mr_intake *in = b->in;
    if (value.tag == MR_V_NUMBER)
        b->batch->expanded += expanded_len(value);
    in->judged = mr_xgrow(in->judged, &in->judged_cap, in->judged_count + 1, sizeof *in->judged);
    in->judged[in->judged_count++] = (struct mr_judged){column, is_key, value};
}

/* An update within a column needs a row that can be found, and a column that does not find it. */
static bool may_patch(struct build *b, const struct mr_field *field, bool is_key)
{
    if (!b->keyless && !is_key)
        return true;
    mr_fail_data(b->err, MR_CODE_UNSUPPORTED, "%.*s: an update within \"%.*s\" cannot be applied: %s", MR_STR_FMT(b->rel->source_name),
                 MR_STR_FMT(field->path), is_key ? "it changes a part of the key" : "the table has no key");
    mr_error_field(b->err, field->path.ptr, field->path.len);
    b->outcome = MR_ROW_DEAD;
    return false;
}

/* Judge one field; false: b->outcome tells how the row ends. */
static bool judge(struct build *b, const struct mr_field *field, size_t hint, bool is_key)
{
    uint32_t column = 0;
    int nulled = -1;
    struct mr_value value = {0};
    bool is_patch = field->value.tag == MR_V_PATCH;
    if (is_patch && !may_patch(b, field, is_key))
        return false;
    enum mr_verdict verdict = is_patch ? mr_patches_judge(b->rel->tk, field, hint, b->batch->ar, &column, &value, b->err) :
                                         mr_tracker_field(b->rel->tk, field, hint, is_key, b->batch->ar, &column, &nulled, &value, b->err);
    switch (verdict) {
    case MR_VERDICT_OK:
        put(b, column, is_key, value);
        if (nulled >= 0)
            put(b, (uint32_t)nulled, false, mr_value_null());
        return true;
    case MR_VERDICT_NULLED:
        note_nulled(b, field, column);
        put(b, column, is_key, mr_value_null());
        return true;
    case MR_VERDICT_SKIP:
        return true;
    case MR_VERDICT_DEAD:
        b->outcome = MR_ROW_DEAD;
        return false;
    case MR_VERDICT_FAIL:
        b->outcome = MR_ROW_STOPPED;
        return false;
    }
    return false;
}

/* Is it the mark's column, as a field of the row? Under `delete: soft` the mark wins, as in the transform. */
static bool is_mark(const struct build *b, const struct mr_field *field)
{
    return b->rel->set->delete_mode == MR_DELETE_SOFT && mr_str_eq(field->path, MR_STR("__deleted"));
}

static bool judge_row(struct build *b, struct mr_fields fields, size_t hint)
{
    for (size_t i = 0; i < fields.count; i++)
        if (!is_mark(b, &fields.items[i]) && !judge(b, &fields.items[i], hint + i, false))
            return false;
    return true;
}

/* What an event tells of the row that it marks as deleted. A null is no knowledge unless the image is the whole row: some producers send the key
 * alone and nulls beside it. A value that has no place cannot have been in the row; it must not keep the row from being marked.
 * *is_whole: may what is not told be emptied? */
static bool judge_deleted(struct build *b, size_t hint, bool *is_whole)
{
    const struct mr_change *ev = b->ev;
    struct mr_fields image = ev->is_deleted_row ? ev->after : ev->before;

    *is_whole = ev->is_whole_before && !ev->is_deleted_row && image.count > 0;
    for (size_t i = 0; i < image.count; i++) {
        const struct mr_field *field = &image.items[i];
        if (is_mark(b, field) || (!ev->is_whole_before && field->value.tag <= MR_V_NULL))
            continue;
        if (judge(b, field, hint + i, false))
            continue;
        if (b->outcome != MR_ROW_DEAD)
            return false;
        mr_error_clear(b->err);
        b->outcome = MR_ROW_TAKEN;
        *is_whole = false;
    }
    return true;
}

static bool judge_all(struct build *b, struct mr_fields fields, size_t hint, bool is_key)
{
    for (size_t i = 0; i < fields.count; i++)
        if (!judge(b, &fields.items[i], hint + i, is_key))
            return false;
    return true;
}

/* ---- the key ---- */

static const struct mr_field *find_field(struct mr_fields fields, struct mr_str path)
{
    for (size_t i = 0; i < fields.count; i++)
        if (mr_str_eq(fields.items[i].path, path))
            return &fields.items[i];
    return NULL;
}

/* The field as the first of the lists knows it: a null in one that tells only some columns (a before image of the key alone) is no knowledge as
 * long as another has a value. */
static const struct mr_field *find_known(const struct mr_fields *lists, size_t count, struct mr_str path)
{
    const struct mr_field *found = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct mr_field *f = find_field(lists[i], path);
        if (f != NULL && f->value.tag > MR_V_NULL)
            return f;
        found = found != NULL ? found : f;
    }
    return found;
}

/* primary_key: [fields]. From the row, else the before image, else the record key. */
static bool pick_fields(struct build *b, struct mr_fields first, struct mr_fields second, struct mr_fields third,
                        struct mr_fields *out)
{
    const struct mr_strings *names = &b->rel->set->key_fields;
    const struct mr_fields lists[] = {first, second, third};
    struct mr_field *items = mr_arena_alloc(b->batch->ar, (names->count + 1) * sizeof *items);
    for (size_t i = 0; i < names->count; i++) {
        struct mr_str path = mr_str_z(names->items[i]);
        const struct mr_field *f = find_known(lists, 3, path);
        if (f == NULL) {
            mr_fail_data(b->err, MR_CODE_NO_KEY, "%.*s: the event does not bring the key field \"%s\"",
                         MR_STR_FMT(b->rel->source_name), names->items[i]);
            mr_error_hint(b->err, "tables.\"%.*s\".primary_key names it; deletes need a before image or a record key "
                          "that holds it", MR_STR_FMT(b->rel->source_name));
            mr_error_field(b->err, path.ptr, path.len);
            return false;
        }
        items[i] = *f;
    }
    *out = (struct mr_fields){items, names->count};
    return true;
}

static struct mr_fields text_key(struct build *b)
{
    struct mr_field *field = mr_arena_zalloc(b->batch->ar, sizeof *field);
    field->path = MR_OWN_PATH("_key");
    field->type = MR_TYPE(MR_T_TEXT);
    field->type.origin = MR_SCHEMA;
    field->value = mr_value_text(b->ev->key_text);
    field->value.flags = (uint8_t)mr_utf8_check(b->ev->key_text);
    return (struct mr_fields){field, 1};
}

static bool resolve_key(struct build *b)
{
    const struct mr_change *ev = b->ev;
    switch (b->rel->set->key_mode) {
    case MR_KEY_NONE:
        b->keyless = b->append_only = true;
        return true;
    case MR_KEY_FIELDS:
        if (ev->op == MR_OP_DELETE)
            return pick_fields(b, ev->before, ev->after, ev->key, &b->key);
        return pick_fields(b, ev->after, ev->key, ev->before, &b->key);
    case MR_KEY_RECORD_TEXT:
        if (ev->has_key) {
            b->key = text_key(b);
            return true;
        }
        break;
    case MR_KEY_UNSET:
    case MR_KEY_RECORD:
        if (ev->has_key) {
            b->key = ev->key;
            return true;
        }
        break;
    }
    if (b->rel->set->needs_key) {
        mr_fail_data(b->err, MR_CODE_NO_KEY, "%.*s: the event brings no key, and mode is upsert",
                     MR_STR_FMT(b->rel->source_name));
        mr_error_hint(b->err,
                      "name the key with tables.\"%.*s\".primary_key; none appends the rows of that table",
                      MR_STR_FMT(b->rel->source_name));
        b->outcome = MR_ROW_DEAD;
        return false;
    }
    b->keyless = true;
    return true;
}

/* Are the change's key members the table's key columns, in whatever order? */
static bool is_same_key(const struct build *b, size_t want)
{
    const struct mr_str *have = NULL;
    size_t count = mr_tracker_key(b->rel->tk, &have);
    bool same = count == want;
    for (size_t i = 0; same && i < want; i++) /* mostly in the same order: the first look hits */
        same = mr_str_eq(have[i], b->key.items[i].path) || find_field(b->key, have[i]) != NULL;
    return same;
}

/* Has the target refused this key? Its rows forbid it, say, or something depends on the one it has. */
static bool is_refused_key(const struct build *b, size_t want)
{
    const struct mr_rel *rel = b->rel;
    if (rel->refused == NULL)
        return false;
    struct mr_str *paths = mr_arena_alloc(b->batch->ar, (want + 1) * sizeof *paths);
    for (size_t i = 0; i < want; i++)
        paths[i] = b->key.items[i].path;
    struct mr_buf name = MR_BUF_INIT(1u << 20);
    mr_refusal_key_name(paths, want, &name);
    const char *why_z = mr_refusal_why(rel->refused, MR_REFUSED_KEY, mr_buf_str(&name));
    mr_buf_free(&name);
    if (why_z == NULL)
        return false;
    mr_fail_data(b->err, MR_CODE_REFUSED, "%.*s: the table cannot have the event's key", MR_STR_FMT(rel->source_name));
    mr_error_detail(b->err, "the target refused to change its key: %s", why_z);
    mr_error_hint(b->err, "name the key with tables.\"%.*s\".primary_key, or change the table by hand; Millrace tries again after a minute",
                  MR_STR_FMT(rel->source_name));
    return true;
}

static void keep_key(struct build *b)
{
    const struct mr_str *have = NULL;
    size_t count = mr_tracker_key(b->rel->tk, &have);
    b->key_changed = true;
    b->key_before = mr_arena_alloc(b->batch->ar, (count + 1) * sizeof *b->key_before);
    for (size_t i = 0; i < count; i++)
        b->key_before[i] = mr_arena_copy(b->batch->ar, have[i]);
    b->key_before_count = count;
}

/* The key's columns are the table's key. A change of the set ends the batch (rows in it were folded by the old key). */
static bool settle_key(struct build *b)
{
    size_t want = b->keyless ? 0 : b->key.count;
    if (is_refused_key(b, want)) {
        b->outcome = MR_ROW_DEAD;
        return false;
    }
    if (is_same_key(b, want))
        return true;
    if (b->rel->fold != NULL && b->rel->batch_seq == b->batch->seq && b->rel->fold->changes > 0) {
        b->outcome = MR_ROW_SPLIT;
        if (b->batch->unfolded && b->origin == 0) { /* one message, and already alone */
            mr_fail_data(b->err, MR_CODE_BAD_IMAGE, "%.*s: rows of one message have different keys", MR_STR_FMT(b->rel->source_name));
            b->outcome = MR_ROW_DEAD;
        }
        return false;
    }
    struct mr_str *paths = mr_arena_alloc(b->batch->ar, (want + 1) * sizeof *paths);
    for (size_t i = 0; i < want; i++)
        paths[i] = b->key.items[i].path;
    keep_key(b);
    mr_tracker_set_key(b->rel->tk, paths, want);
    b->rel->shape_dirty = true;
    return true;
}

/* The key's own value of a key column. A field of the row with the same name may say something else; the cell gets the key's, too. */
static const struct mr_judged *find_key_judged(const struct mr_intake *in, size_t end, uint32_t column)
{
    for (size_t i = 0; i < end; i++)
        if (in->judged[i].column == column && in->judged[i].is_key)
            return &in->judged[i];
    return NULL;
}

static bool keys_remembered(const struct build *b, size_t count)
{
    return b->rel->batch_seq == b->batch->seq && b->rel->fold != NULL && b->rel->key_type_count == count;
}

/* Canonical key bytes of the judged fields [0, end), and the row's lane. */
static bool build_key(struct build *b, size_t end, struct mr_entry *e)
{
    struct mr_intake *in = b->in;
    const struct mr_str *paths = NULL;
    size_t count = mr_tracker_key(b->rel->tk, &paths);
    uint64_t lane_key = 0;
    mr_buf_clear(&in->key);
    for (size_t i = 0; i < count; i++) {
        int column = mr_tracker_find(b->rel->tk, paths[i]);
        const struct mr_judged *j = column < 0 ? NULL : find_key_judged(in, end, (uint32_t)column);
        if (j == NULL || j->value.tag <= MR_V_NULL) {
            mr_fail_data(b->err, MR_CODE_NULL_KEY, "%.*s: key column \"%.*s\" is null or missing",
                         MR_STR_FMT(b->rel->source_name), MR_STR_FMT(paths[i]));
            mr_error_field(b->err, paths[i].ptr, paths[i].len);
            b->outcome = MR_ROW_DEAD;
            return false;
        }
        struct mr_type type = mr_tracker_column(b->rel->tk, (size_t)column)->type;
        if (!b->batch->unfolded && keys_remembered(b, count) && !mr_type_eq(b->rel->key_types[i], type)) {
            b->outcome = MR_ROW_SPLIT; /* the key's type has widened: canonical forms differ from here on */
            return false;
        }
        mr_value_append_key(j->value, type, &in->key);
        if (b->part->lanes > 1)
            mr_lane_add(&lane_key, paths[i], j->value, &in->scratch, b->batch->ar);
    }
    if (in->key.overflow) {
        mr_fail_data(b->err, MR_CODE_TOO_LARGE, "%.*s: the key is too long", MR_STR_FMT(b->rel->source_name));
        b->outcome = MR_ROW_DEAD;
        return false;
    }
    e->hash = mr_hash(in->key.data, in->key.len, 0);
    e->key = mr_arena_copy(b->batch->ar, mr_buf_str(&in->key));
    e->lane_key = lane_key;
    return true;
}

/* Remember under which types this batch's keys are made. */
static void remember_key_types(struct build *b)
{
    const struct mr_str *paths = NULL;
    size_t count = mr_tracker_key(b->rel->tk, &paths);
    mr_batch_fold(b->batch, b->rel);
    if (b->rel->key_type_count == count)
        return;
    b->rel->key_types = mr_arena_alloc(b->batch->ar, (count + 1) * sizeof *b->rel->key_types);
    for (size_t i = 0; i < count; i++) {
        int column = mr_tracker_find(b->rel->tk, paths[i]);
        b->rel->key_types[i] = column < 0 ? MR_TYPE(MR_T_NONE) : mr_tracker_column(b->rel->tk, (size_t)column)->type;
    }
    b->rel->key_type_count = count;
}

/* ---- cells ---- */

static struct mr_value *make_cells(struct build *b, size_t from, size_t end, bool full, uint32_t *count)
{
    const struct mr_intake *in = b->in;
    size_t n = mr_tracker_count(b->rel->tk);
    struct mr_value *cells = mr_arena_alloc(b->batch->ar, (n + 1) * sizeof *cells);
    struct mr_value blank = full ? mr_value_null() : (struct mr_value){.tag = MR_V_ABSENT};
    for (size_t i = 0; i < n; i++)
        cells[i] = blank;
    for (size_t i = from; i < end; i++)
        cells[in->judged[i].column] = in->judged[i].value;
    for (size_t i = from; i < end; i++) /* the key wins over a field of the same name */
        if (in->judged[i].is_key)
            cells[in->judged[i].column] = in->judged[i].value;
    *count = (uint32_t)n;
    return cells;
}

struct null_below {
    struct build *b;
    struct mr_value *cells;
    uint32_t count;
};

static void null_column(void *ctx, uint32_t column)
{
    struct null_below *nb = ctx;
    if (column < nb->count && !mr_tracker_column(nb->b->rel->tk, column)->is_key &&
        nb->cells[column].tag == MR_V_ABSENT)
        nb->cells[column] = mr_value_null();
}

/* $unset, and a sub-document replaced as a whole: everything at or below the path becomes NULL unless it was set. */
static void null_removed(struct build *b, struct mr_value *cells, uint32_t count)
{
    struct null_below nb = {b, cells, count};
    for (size_t i = 0; i < b->ev->removed.count; i++)
        mr_tracker_below(b->rel->tk, b->ev->removed.items[i].path, null_column, &nb);
}

static bool is_skipped_lane(const struct build *b, uint32_t lane)
{
    return b->rec->position <= b->part->dispatched[lane];
}

static void fold_entry(struct build *b, struct mr_entry *e)
{
    e->origin = b->origin;
    e->merged = 1;
    e->lane = mr_lane_of(b->rel->target_table, e->lane_key, b->part->lanes);
    struct mr_fold *fold = mr_batch_fold(b->batch, b->rel);
    if (!is_skipped_lane(b, e->lane))
        mr_fold_add(fold, b->batch->ar, e);
}

static struct mr_field deleted_field(bool deleted)
{
    struct mr_field f = {.path = DELETED_PATH, .type = MR_TYPE(MR_T_BOOL), .value = mr_value_bool(deleted)};
    f.type.origin = MR_SCHEMA;
    return f;
}

/* What happens to the row of the old key: the judged fields from `start` on. */
static bool build_old_key(struct build *b, size_t start, struct mr_entry *e)
{
    struct mr_judged *all = b->in->judged;
    size_t end = b->in->judged_count;
    bool soft = b->rel->set->delete_mode == MR_DELETE_SOFT;
    *e = (struct mr_entry){.kind = soft ? MR_ROW_UPSERT : MR_ROW_DELETE};
    b->in->judged = all + start; /* the key of these fields alone */
    bool ok = build_key(b, end - start, e);
    b->in->judged = all;
    if (!ok)
        return false;
    e->cells = make_cells(b, start, end, false, &e->cell_count);
    int mark = soft ? mr_tracker_find(b->rel->tk, DELETED_PATH) : -1;
    if (mark >= 0)
        e->cells[mark] = mr_value_bool(true);
    return true;
}

/* Does the row leave a column as it is? Then the row of the old key has to bring it along. */
static bool leaves_something(const struct build *b, const struct mr_entry *e)
{
    for (uint32_t i = 0; i < e->cell_count; i++)
        if ((e->cells[i].tag <= MR_V_UNAVAILABLE || e->cells[i].tag == MR_V_PATCH) && !mr_tracker_column(b->rel->tk, i)->is_key)
            return true;
    return false;
}

/* The old key's row under the new key: what the update does not tell travels along. One transaction must hold both keys' lanes: key changes that
 * the producer tells are barriers, others are seen only here. Order counts from here on: nothing more is merged in this batch. */
static bool move_row(struct build *b, const struct mr_entry *old, const struct mr_entry *e)
{
    bool is_one_job = b->part->lanes == 1 || b->ev->old_key.count > 0;
    if (old->kind != MR_ROW_DELETE || !is_one_job || !leaves_something(b, e))
        return false;
    struct mr_entry move = *e;
    move.kind = MR_ROW_MOVE;
    move.full = move.is_new = false;
    move.cells = mr_arena_alloc(b->batch->ar, (e->cell_count + 1) * sizeof *move.cells);
    move.match = mr_arena_alloc(b->batch->ar, (e->cell_count + 1) * sizeof *move.match);
    move.match_count = e->cell_count;
    for (uint32_t i = 0; i < e->cell_count; i++) {
        bool is_key = mr_tracker_column(b->rel->tk, i)->is_key;
        move.cells[i] = is_key ? e->cells[i] : (struct mr_value){.tag = MR_V_ABSENT};
        move.match[i] = is_key ? mr_entry_cell(old, i) : (struct mr_value){.tag = MR_V_ABSENT};
    }
    mr_batch_fold(b->batch, b->rel)->ordered = true;
    fold_entry(b, &move);
    return true;
}

/* Under primary_key: [fields] the producer does not tell of key changes; the before image does. */
static struct mr_fields old_key_of(struct build *b)
{
    struct mr_fields none = {0};
    if (b->rel->set->delete_mode == MR_DELETE_IGNORE)
        return none;
    if (b->ev->old_key.count > 0)
        return b->ev->old_key;
    if (b->rel->set->key_mode != MR_KEY_FIELDS || b->ev->before.count == 0)
        return none;
    struct mr_fields old = {0};
    struct mr_error ignored = {0};
    struct mr_error *keep = b->err;
    b->err = &ignored;
    bool ok = pick_fields(b, b->ev->before, none, none, &old);
    b->err = keep;
    for (size_t i = 0; ok && i < old.count; i++)
        ok = old.items[i].value.tag > MR_V_NULL; /* the image does not tell, and no row of the target has such a key */
    if (!ok)
        return none;
    struct mr_buf a = MR_BUF_INIT(1u << 20), c = MR_BUF_INIT(1u << 20);
    for (size_t i = 0; i < old.count; i++) {
        mr_value_append_key(old.items[i].value, mr_value_type(old.items[i].value), &a);
        mr_value_append_key(b->key.items[i].value, mr_value_type(b->key.items[i].value), &c);
    }
    bool same = mr_str_eq(mr_buf_str(&a), mr_buf_str(&c));
    mr_buf_free(&a);
    mr_buf_free(&c);
    return same ? none : old;
}

/* ---- the operations ---- */

static bool build_upsert(struct build *b, bool deleted_mark)
{
    const struct mr_change *ev = b->ev;
    bool soft = b->rel->set->delete_mode == MR_DELETE_SOFT;
    bool full = !ev->partial && !deleted_mark && b->rel->set->missing != MR_MISSING_KEEP;
    if (!judge_all(b, b->key, 0, true))
        return false;
    if (!(deleted_mark ? judge_deleted(b, b->key.count, &full) : judge_row(b, ev->after, b->key.count)))
        return false;
    if (!judge_all(b, ev->meta, b->key.count + ev->after.count, false))
        return false;
    if (soft) {
        struct mr_field mark = deleted_field(deleted_mark);
        if (!judge(b, &mark, b->key.count + ev->after.count + ev->meta.count, false))
            return false;
    }

    size_t end = b->in->judged_count;
    struct mr_fields old_key = deleted_mark ? (struct mr_fields){0} : old_key_of(b);
    if (!judge_all(b, old_key, 0, true)) /* before any key is made: the old one may be of a wider type */
        return false;
    struct mr_entry e = {.kind = MR_ROW_UPSERT, .full = full}, old;
    if (!build_key(b, end, &e) || (old_key.count > 0 && !build_old_key(b, end, &old)))
        return false;
    e.cells = make_cells(b, 0, end, full, &e.cell_count);
    null_removed(b, e.cells, e.cell_count);
    e.is_new = ev->is_new && full && old_key.count == 0 && b->rel->set->delete_mode == MR_DELETE_HARD;
    remember_key_types(b);
    if (old_key.count > 0 && !move_row(b, &old, &e))
        fold_entry(b, &old);
    fold_entry(b, &e);
    return true;
}

static bool build_delete(struct build *b)
{
    if (!b->rel->exists && mr_tracker_count(b->rel->tk) == 0) {
        b->batch->skipped++; /* no table, no row */
        return true;
    }
    if (!judge_all(b, b->key, 0, true))
        return false;
    struct mr_entry e = {.kind = MR_ROW_DELETE};
    size_t end = b->in->judged_count;
    if (!build_key(b, end, &e))
        return false;
    e.cells = make_cells(b, 0, end, false, &e.cell_count);
    remember_key_types(b);
    fold_entry(b, &e);
    return true;
}

/* The before image as match cells; false if no row of the table can equal it (a value in a column that does not exist). */
static bool build_match(struct build *b, struct mr_fields before, struct mr_entry *e)
{
    size_t n = mr_tracker_count(b->rel->tk);
    e->match = mr_arena_alloc(b->batch->ar, (n + 1) * sizeof *e->match);
    e->match_count = (uint32_t)n;
    for (size_t i = 0; i < n; i++) /* columns Millrace adds itself are not the source's */
        e->match[i] = mr_value_null();
    for (size_t i = 0; i < b->ev->meta.count; i++) {
        int column = mr_tracker_find(b->rel->tk, b->ev->meta.items[i].path);
        if (column >= 0)
            e->match[column] = (struct mr_value){.tag = MR_V_ABSENT};
    }
    for (size_t i = 0; i < before.count; i++) {
        const struct mr_field *f = &before.items[i];
        int column = mr_tracker_find(b->rel->tk, f->path);
        if (column < 0) {
            if (f->value.tag > MR_V_NULL)
                return false;
            continue;
        }
        struct mr_value out;
        struct mr_type type = mr_tracker_column(b->rel->tk, (size_t)column)->type;
        struct mr_value in = f->value.tag == MR_V_UNAVAILABLE ? (struct mr_value){.tag = MR_V_ABSENT} : f->value;
        struct mr_error ignored = {0};
        if (mr_value_coerce(in, type, b->batch->ar, &out, &ignored) != MR_OK)
            return false;
        e->match[column] = out;
    }
    return true;
}

/* Rows without a key: inserts append; updates and deletes match one row by its whole before image. */
static bool build_keyless(struct build *b)
{
    const struct mr_change *ev = b->ev;
    bool soft = b->rel->set->delete_mode == MR_DELETE_SOFT;
    if (ev->op == MR_OP_DELETE) {
        if (b->append_only && !soft) {
            b->batch->skipped++; /* a log of what was; nothing leaves it */
            return true;
        }
        if (!b->append_only && ev->before.count == 0) {
            mr_fail_data(b->err, MR_CODE_NO_KEY, "%.*s: a delete without key and without before image",
                         MR_STR_FMT(b->rel->source_name));
            mr_error_hint(b->err, "give the topic a key at the producer, or set tables.\"%.*s\".primary_key",
                          MR_STR_FMT(b->rel->source_name));
            b->outcome = MR_ROW_DEAD;
            return false;
        }
    }
    struct mr_entry e = {.kind = MR_ROW_APPEND, .full = !ev->partial};
    bool is_delete = ev->op == MR_OP_DELETE;
    struct mr_fields row = !is_delete ? ev->after : (struct mr_fields){0};
    if (is_delete && soft)
        row = ev->before.count > 0 ? ev->before : ev->after.count > 0 ? ev->after : ev->key;
    if (!is_delete || soft) {
        if (!judge_row(b, row, 0) || !judge_all(b, ev->meta, row.count, false))
            return false;
        struct mr_field mark = deleted_field(is_delete);
        if (soft && !judge(b, &mark, row.count + ev->meta.count, false))
            return false;
        if (mr_tracker_count(b->rel->tk) == 0) { /* later rows may bring columns; this one would be gone without a trace */
            mr_fail_data(b->err, MR_CODE_NO_TABLE, "%.*s: the row has neither key nor value, and its table no column yet",
                         MR_STR_FMT(b->rel->source_name));
            b->outcome = MR_ROW_DEAD;
            return false;
        }
        e.cells = make_cells(b, 0, b->in->judged_count, e.full, &e.cell_count);
    }
    if (!b->append_only && ev->before.count > 0) {
        bool can_match = build_match(b, ev->before, &e);
        if (!can_match && is_delete) {
            b->batch->skipped++;
            return true;
        }
        e.kind = !can_match ? MR_ROW_APPEND : is_delete && !soft ? MR_ROW_DELETE_MATCH : MR_ROW_UPDATE_MATCH;
        if (!can_match)
            e.match = NULL;
    }
    fold_entry(b, &e);
    return true;
}

/* Is the change's key another set of columns than the table's? */
static bool is_foreign_key(const struct build *b)
{
    const struct mr_str *have = NULL;
    return !b->keyless && mr_tracker_key(b->rel->tk, &have) > 0 && !is_same_key(b, b->key.count);
}

static bool is_refused_table(const struct build *b)
{
    const char *why_z = mr_refusal_why(b->rel->refused, MR_REFUSED_TABLE, (struct mr_str){0});
    if (why_z == NULL)
        return false;
    mr_fail_data(b->err, MR_CODE_REFUSED, "%.*s: there is no table for it in the target", MR_STR_FMT(b->rel->source_name));
    mr_error_detail(b->err, "the target refused to create it: %s", why_z);
    return true;
}

static bool build(struct build *b)
{
    const struct mr_change *ev = b->ev;
    if (is_refused_table(b)) {
        b->outcome = MR_ROW_DEAD;
        return false;
    }
    enum mr_delete_mode mode = b->rel->set->delete_mode;
    if (ev->op == MR_OP_DELETE && mode == MR_DELETE_IGNORE) {
        b->batch->skipped++;
        return true;
    }
    if (!resolve_key(b)) {
        b->outcome = MR_ROW_DEAD;
        return false;
    }
    if (ev->is_tombstone && is_foreign_key(b)) {
        b->batch->skipped++; /* the echo of a delete by a key that the table no longer has */
        return true;
    }
    if (!settle_key(b))
        return false;
    if (b->keyless)
        return build_keyless(b);
    bool is_removed = mode == MR_DELETE_HARD || (ev->is_tombstone && b->rel->set->tombstones_remove);
    if (ev->op == MR_OP_DELETE)
        return !is_removed ? build_upsert(b, true) : build_delete(b);
    return build_upsert(b, false);
}

/* An update by positions in arrays becomes one of columns, one of what lies within columns a patch of them. */
static bool place_positions(struct build *b, const struct mr_change *ev)
{
    if (!ev->has_positions && ev->parts.count == 0)
        return true;
    struct mr_change *placed = mr_arena_alloc(b->batch->ar, sizeof *placed);
    enum mr_status status = ev->has_positions ? mr_positions_resolve(b->rel->tk, ev, b->batch->ar, placed, b->err) :
                                                mr_patches_place(b->rel->tk, b->in->cfg, ev, b->batch->ar, placed, b->err);
    if (status != MR_OK) {
        b->outcome = MR_ROW_DEAD;
        return false;
    }
    b->ev = placed;
    return true;
}

static void truncate_rel(struct build *b)
{
    if (b->rel->set->delete_mode == MR_DELETE_IGNORE || (!b->rel->exists && mr_tracker_count(b->rel->tk) == 0)) {
        b->batch->skipped++;
        return;
    }
    struct mr_fold *fold = mr_batch_fold(b->batch, b->rel);
    if (fold->ordered && fold->count > 0 && b->origin > 0) {
        b->outcome = MR_ROW_SPLIT;
        return;
    }
    if (!is_skipped_lane(b, 0)) {
        mr_fold_truncate(fold, b->origin);
        b->batch->truncates++;
    }
}

enum mr_row_outcome mr_rowbuild(struct mr_intake *in, struct mr_batch *batch, struct mr_rel *rel,
                                const struct mr_change *ev, uint32_t origin, const struct mr_part_state *part,
                                struct mr_error *err)
{
    struct build b = {
        .in = in, .batch = batch, .rel = rel, .ev = ev, .rec = &batch->records[origin],
        .origin = origin, .part = part, .err = err, .outcome = MR_ROW_TAKEN,
    };
    in->judged_count = 0;
    if (ev->op == MR_OP_TRUNCATE) {
        truncate_rel(&b);
        return b.outcome;
    }
    struct mr_place place = {b.rec->topic.len > 0 ? b.rec->topic : mr_str_z(b.rec->part->topic_z),
                             b.rec->partition, b.rec->offset, ev->source_us};
    size_t notes = batch->note_count;
    mr_tracker_row_begin(rel->tk, &place);
    bool ok = place_positions(&b, ev) && build(&b);
    if (!ok) {
        mr_tracker_row_rollback(rel->tk);
        if (b.key_changed)
            mr_tracker_set_key(rel->tk, b.key_before, b.key_before_count);
        batch->note_count = notes;
        return b.outcome;
    }
    mr_tracker_row_commit(rel->tk);
    if (mr_tracker_changed(rel->tk) && !rel->shape_dirty) {
        rel->shape_dirty = true;
        rel->shape_place = place;
    }
    return MR_ROW_TAKEN;
}
