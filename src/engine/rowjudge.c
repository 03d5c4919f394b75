/* Fields through the tracker, and the cells made of what it says. */
#include "rowbuild_parts.h"

#include <millrace/base/decimal.h>
#include <millrace/base/mem.h>

#include "patches.h"

/* ---- judging ---- */

static void note_nulled(struct mr_row_build *b, const struct mr_field *field, uint32_t column)
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

void mr_row_put(struct mr_row_build *b, uint32_t column, bool is_key, struct mr_value value)
{
    struct mr_intake *in = b->in;
    if (value.tag == MR_V_NUMBER)
        b->batch->expanded += expanded_len(value);
    in->judged = mr_xgrow(in->judged, &in->judged_cap, in->judged_count + 1, sizeof *in->judged);
    in->judged[in->judged_count++] = (struct mr_judged){column, is_key, value};
}

/* An update within a column needs a row that can be found, and a column that does not find it. */
static bool may_patch(struct mr_row_build *b, const struct mr_field *field, bool is_key)
{
    if (!b->keyless && !is_key)
        return true;
    mr_fail_data(b->err, MR_CODE_UNSUPPORTED, "%.*s: an update within \"%.*s\" cannot be applied: %s", MR_STR_FMT(b->rel->source_name),
                 MR_STR_FMT(field->path), is_key ? "it changes a part of the key" : "the table has no key");
    mr_error_field(b->err, field->path.ptr, field->path.len);
    b->outcome = MR_ROW_DEAD;
    return false;
}

bool mr_row_judge(struct mr_row_build *b, const struct mr_field *field, size_t hint, bool is_key)
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
        mr_row_put(b, column, is_key, value);
        if (nulled >= 0)
            mr_row_put(b, (uint32_t)nulled, false, mr_value_null());
        return true;
    case MR_VERDICT_NULLED:
        note_nulled(b, field, column);
        mr_row_put(b, column, is_key, mr_value_null());
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
static bool is_mark(const struct mr_row_build *b, const struct mr_field *field)
{
    return b->rel->set->delete_mode == MR_DELETE_SOFT && mr_str_eq(field->path, MR_STR("__deleted"));
}

bool mr_row_judge_row(struct mr_row_build *b, struct mr_fields fields, size_t hint)
{
    for (size_t i = 0; i < fields.count; i++)
        if (!is_mark(b, &fields.items[i]) && !mr_row_judge(b, &fields.items[i], hint + i, false))
            return false;
    return true;
}

bool mr_row_judge_deleted(struct mr_row_build *b, size_t hint, bool *is_whole)
{
    const struct mr_change *ev = b->ev;
    struct mr_fields image = ev->is_deleted_row ? ev->after : ev->before;

    *is_whole = ev->is_whole_before && !ev->is_deleted_row && image.count > 0;
    for (size_t i = 0; i < image.count; i++) {
        const struct mr_field *field = &image.items[i];
        if (is_mark(b, field) || (!ev->is_whole_before && field->value.tag <= MR_V_NULL))
            continue;
        if (mr_row_judge(b, field, hint + i, false))
            continue;
        if (b->outcome != MR_ROW_DEAD)
            return false;
        mr_error_clear(b->err);
        b->outcome = MR_ROW_TAKEN;
        *is_whole = false;
    }
    return true;
}

bool mr_row_judge_all(struct mr_row_build *b, struct mr_fields fields, size_t hint, bool is_key)
{
    for (size_t i = 0; i < fields.count; i++)
        if (!mr_row_judge(b, &fields.items[i], hint + i, is_key))
            return false;
    return true;
}

/* ---- cells ---- */

/* A field that the row sets is in one of its columns; what the others had is gone. */
static void null_variants(const struct mr_tracker *tk, struct mr_value *cells, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int base = cells[i].tag == MR_V_ABSENT ? mr_tracker_variant_of(tk, i) : -1;
        if (base >= 0 && cells[base].tag > MR_V_UNAVAILABLE && cells[base].tag != MR_V_PATCH)
            cells[i] = mr_value_null();
    }
}

struct mr_value *mr_row_cells(struct mr_row_build *b, size_t from, size_t end, bool full, uint32_t *count)
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
    if (!full)
        null_variants(b->rel->tk, cells, n);
    *count = (uint32_t)n;
    return cells;
}

struct null_below {
    struct mr_row_build *b;
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

void mr_row_null_removed(struct mr_row_build *b, struct mr_fields removed, struct mr_value *cells, uint32_t count)
{
    struct null_below nb = {b, cells, count};
    for (size_t i = 0; i < removed.count; i++)
        mr_tracker_below(b->rel->tk, removed.items[i].path, null_column, &nb);
}
