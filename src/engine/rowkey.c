/* The key of a row: which fields it is, whether the table has that key, and the bytes by which rows are folded. */
#include "rowbuild_parts.h"

#include <millrace/base/hash.h>
#include <millrace/base/utf8.h>

#include "lane.h"

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

bool mr_row_pick_fields(struct mr_row_build *b, struct mr_fields first, struct mr_fields second, struct mr_fields third,
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

bool mr_rowbuild_changes_key(const struct mr_rel *rel, const struct mr_change *ev)
{
    const struct mr_fields lists[] = {ev->after, ev->key};
    bool differs = false;
    if (ev->op != MR_OP_UPSERT || ev->before.count == 0 || rel->set->key_mode != MR_KEY_FIELDS)
        return false;
    struct mr_buf was = MR_BUF_INIT(1u << 20), is = MR_BUF_INIT(1u << 20);
    for (size_t i = 0; i < rel->set->key_fields.count && !differs; i++) {
        struct mr_str path = mr_str_z(rel->set->key_fields.items[i]);
        const struct mr_field *before = find_field(ev->before, path), *now = find_known(lists, 2, path);
        if (before == NULL || now == NULL || before->value.tag <= MR_V_NULL)
            continue;
        mr_buf_clear(&was);
        mr_buf_clear(&is);
        mr_value_append_key(before->value, mr_value_type(before->value), &was);
        mr_value_append_key(now->value, mr_value_type(now->value), &is);
        differs = !mr_str_eq(mr_buf_str(&was), mr_buf_str(&is));
    }
    mr_buf_free(&was);
    mr_buf_free(&is);
    return differs;
}

static struct mr_fields text_key(struct mr_row_build *b)
{
    struct mr_field *field = mr_arena_zalloc(b->batch->ar, sizeof *field);
    field->path = MR_OWN_PATH("_key");
    field->type = MR_TYPE(MR_T_TEXT);
    field->type.origin = MR_SCHEMA;
    field->value = mr_value_text(b->ev->key_text);
    field->value.flags = (uint8_t)mr_utf8_check(b->ev->key_text);
    return (struct mr_fields){field, 1};
}

bool mr_row_resolve_key(struct mr_row_build *b)
{
    const struct mr_change *ev = b->ev;
    switch (b->rel->set->key_mode) {
    case MR_KEY_NONE:
        b->keyless = b->append_only = true;
        return true;
    case MR_KEY_FIELDS:
        if (ev->op == MR_OP_DELETE)
            return mr_row_pick_fields(b, ev->before, ev->after, ev->key, &b->key);
        return mr_row_pick_fields(b, ev->after, ev->key, ev->before, &b->key);
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
        mr_fail_data(b->err, MR_CODE_NO_KEY, "%.*s: the event brings no key, and mode is upsert", MR_STR_FMT(b->rel->source_name));
        mr_error_hint(b->err, "name the key with tables.\"%.*s\".primary_key; none appends the rows of that table",
                      MR_STR_FMT(b->rel->source_name));
        b->outcome = MR_ROW_DEAD;
        return false;
    }
    b->keyless = true;
    return true;
}

/* Are the change's key members the table's key columns, in whatever order? */
bool mr_row_is_same_key(const struct mr_row_build *b, size_t want)
{
    const struct mr_str *have = NULL;
    size_t count = mr_tracker_key(b->rel->tk, &have);
    bool same = count == want;
    for (size_t i = 0; same && i < want; i++) /* mostly in the same order: the first look hits */
        same = mr_str_eq(have[i], b->key.items[i].path) || find_field(b->key, have[i]) != NULL;
    return same;
}

/* Has the target refused this key? Its rows forbid it, say, or something depends on the one it has. */
static bool is_refused_key(const struct mr_row_build *b, size_t want)
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

static void keep_key(struct mr_row_build *b)
{
    const struct mr_str *have = NULL;
    size_t count = mr_tracker_key(b->rel->tk, &have);
    b->key_changed = true;
    b->key_before = mr_arena_alloc(b->batch->ar, (count + 1) * sizeof *b->key_before);
    for (size_t i = 0; i < count; i++)
        b->key_before[i] = mr_arena_copy(b->batch->ar, have[i]);
    b->key_before_count = count;
}

void mr_row_restore_key(const struct mr_row_build *b)
{
    if (b->key_changed)
        mr_tracker_set_key(b->rel->tk, b->key_before, b->key_before_count);
}

/* A key that nobody declares has other members than those before it. A source's own key may change, and the table follows; here a member may just
 * have been left out, and a table's key does not change for that. */
static bool breaks_key(struct mr_row_build *b)
{
    const struct mr_str *have = NULL;
    if (!b->ev->is_key_observed || b->rel->set->key_mode != MR_KEY_RECORD || mr_tracker_key(b->rel->tk, &have) == 0)
        return false;
    mr_fail_data(b->err, MR_CODE_KEY_SCHEMA, "%.*s: the key has other members than the table's key", MR_STR_FMT(b->rel->source_name));
    mr_error_hint(b->err, "say which columns the keys have: key.columns; or name the table's key: tables.\"%.*s\".primary_key",
                  MR_STR_FMT(b->rel->source_name));
    b->outcome = MR_ROW_DEAD;
    return true;
}

/* The key's columns are the table's key. A change of the set ends the batch (rows in it were folded by the old key). */
bool mr_row_settle_key(struct mr_row_build *b)
{
    size_t want = b->keyless ? 0 : b->key.count;
    if (is_refused_key(b, want)) {
        b->outcome = MR_ROW_DEAD;
        return false;
    }
    if (mr_row_is_same_key(b, want))
        return true;
    if (breaks_key(b))
        return false;
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

static bool keys_remembered(const struct mr_row_build *b, size_t count)
{
    return b->rel->batch_seq == b->batch->seq && b->rel->fold != NULL && b->rel->key_type_count == count;
}

/* Canonical key bytes of the judged fields [0, end), and the row's lane. */
bool mr_row_key(struct mr_row_build *b, size_t end, struct mr_entry *e)
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
void mr_row_remember_key_types(struct mr_row_build *b)
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
