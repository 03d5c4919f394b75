/* How a tracked column is shown: see tracked.h. */
#include "tracked.h"

void mr_tracked_append_place(struct mr_buf *out, const struct mr_place *place)
{
    if (place->topic.len == 0) {
        mr_buf_append_char(out, '-');
        return;
    }
    mr_text_append_safe(out, place->topic, false);
    if (place->partition >= 0)
        mr_buf_printf(out, "[%d]", (int)place->partition);
    if (place->offset >= 0)
        mr_buf_printf(out, "@%lld", (long long)place->offset);
}

void mr_tracked_append_path(struct mr_buf *out, struct mr_str path)
{
    struct mr_str mark = MR_STR(MR_VARIANT_MARK);
    for (size_t i = 0; i + mark.len <= path.len; i++) {
        if (memcmp(path.ptr + i, mark.ptr, mark.len) != 0)
            continue;
        mr_tracked_append_path(out, mr_str_of(path.ptr, i));
        mr_buf_append_z(out, " as ");
        mr_text_append_safe(out, mr_str_of(path.ptr + i + mark.len, path.len - i - mark.len), false);
        return;
    }
    if (mr_str_starts(path, MR_STR(MR_ROOT_KEY_MARK))) { /* the key of the row whose array it is */
        mr_text_append_safe(out, mr_str_of(path.ptr + 2, path.len - 2), false);
        return;
    }
    if (mr_str_starts(path, MR_OWN_PATH("_pos")) || mr_str_eq(path, MR_STR(MR_ELEMENT_VALUE))) {
        mr_text_append_safe(out, mr_str_of(path.ptr + 1, path.len - 1), false);
        return;
    }
    if (mr_path_is_own(path))
        mr_buf_append_z(out, "Millrace's own");
    else
        mr_text_append_safe(out, path, false);
}

static const char *kind_name(uint8_t kind, char out[32])
{
    struct mr_type type = MR_TYPE(kind);
    type.open = kind == MR_T_DECIMAL;
    if (kind == MR_T_ARRAY)
        return "array"; /* of whatever: only the kind is counted */
    return kind == MR_T_NONE ? "null" : mr_type_text(type, out);
}

static void append_counts(struct mr_buf *out, const struct mr_tracked_column *col)
{
    char name[32];
    size_t before = out->len;
    for (uint8_t kind = 0; kind < MR_TYPE_KINDS; kind++) {
        if (col->counts[kind] == 0)
            continue;
        mr_buf_append_z(out, out->len > before ? ", " : "");
        mr_text_append_count(out, col->counts[kind]);
        mr_buf_printf(out, " %s", kind_name(kind, name));
    }
    if (out->len == before)
        mr_buf_append_char(out, '-');
}

const char *mr_tracked_origin(const struct mr_tracked_column *col)
{
    if (col->by_hand)
        return "by hand";
    if (col->configured)
        return "configured";
    switch ((enum mr_type_origin)col->type.origin) {
    case MR_OBSERVED:
        return "observed";
    case MR_TYPED:
        return "typed";
    case MR_SCHEMA:
        return "declared";
    }
    return "observed";
}

static void note(struct mr_buf *out, const char *text_z)
{
    mr_buf_append_z(out, out->len > 0 ? "; " : "");
    mr_buf_append_z(out, text_z);
}

static void append_notes(struct mr_buf *out, const struct mr_tracked_column *col)
{
    char from[32], to[32];
    if (col->is_key)
        note(out, "key");
    if (col->by_hand || col->configured || col->type.origin != MR_OBSERVED)
        note(out, mr_tracked_origin(col));
    if (col->widened.topic.len > 0) {
        note(out, "widened ");
        mr_buf_printf(out, "%s → %s by ", col->widened_from.kind == MR_T_NONE ? "null" : mr_type_text(col->widened_from, from),
                      mr_type_text(col->type, to));
        mr_tracked_append_place(out, &col->widened);
    }
    if (col->conflicts > 0) {
        note(out, "conflicts: ");
        mr_text_append_count(out, col->conflicts);
        mr_buf_printf(out, " (policy %s)", mr_policy_name(col->policy));
    }
    if (col->name_substituted)
        note(out, "substitute name");
}

static bool path_shows(const struct mr_tracked_column *col)
{
    struct mr_buf shown = MR_BUF_INIT(1u << 16);
    mr_tracked_append_path(&shown, col->path);
    bool differs = !mr_str_eq(col->name, mr_buf_str(&shown)) && col->path.len > 0;
    mr_buf_free(&shown);
    return differs;
}

void mr_tracked_grid_row(struct mr_grid *grid, const struct mr_tracked_column *col, struct mr_buf *scratch, struct mr_str native)
{
    char type[32];
    mr_buf_clear(scratch);
    mr_buf_append_str(scratch, col->name);
    if (path_shows(col)) {
        mr_buf_append_z(scratch, " (");
        mr_tracked_append_path(scratch, col->path);
        mr_buf_append_char(scratch, ')');
    }
    mr_grid_add(grid, mr_buf_str(scratch));
    mr_grid_add_z(grid, col->type.kind == MR_T_NONE ? "-" : mr_type_text(col->type, type));
    mr_grid_add(grid, native);
    mr_buf_clear(scratch);
    append_counts(scratch, col);
    mr_grid_add(grid, mr_buf_str(scratch));
    mr_buf_clear(scratch);
    mr_tracked_append_place(scratch, &col->first);
    mr_grid_add(grid, mr_buf_str(scratch));
    mr_buf_clear(scratch);
    append_notes(scratch, col);
    mr_grid_add(grid, mr_buf_str(scratch));
}

/* ---- JSON ---- */

void mr_tracked_json_place(struct mr_jo *js, const char *name_z, const struct mr_place *place)
{
    if (place->topic.len == 0) {
        mr_jo_null(js, name_z);
        return;
    }
    mr_jo_object(js, name_z);
    mr_jo_str(js, "topic", place->topic);
    mr_jo_int(js, "partition", place->partition);
    mr_jo_int(js, "offset", place->offset);
    mr_jo_time(js, "time", place->time_us);
    mr_jo_end_object(js);
}

static void json_facts(struct mr_jo *js, const struct mr_facts *facts)
{
    mr_jo_object(js, "facts");
    mr_jo_uint(js, "integer_digits", facts->int_digits);
    mr_jo_uint(js, "fraction_digits", facts->frac_digits);
    mr_jo_uint(js, "largest_whole_number", facts->max_abs);
    mr_jo_uint(js, "longest_bytes", facts->max_len);
    mr_jo_bool(js, "has_nan_or_infinity", facts->has_special);
    mr_jo_bool(js, "has_fraction", facts->has_fraction);
    mr_jo_bool(js, "has_time_beyond_a_day", facts->has_negative_time);
    mr_jo_end_object(js);
}

void mr_tracked_json_members(struct mr_jo *js, const struct mr_tracked_column *col)
{
    char name[32];
    mr_jo_str(js, "name", col->name);
    mr_jo_str(js, "path", col->path);
    mr_jo_type(js, "type", col->type);
    mr_jo_z(js, "origin", mr_tracked_origin(col));
    mr_jo_bool(js, "declared_not_null", col->type.not_null);
    mr_jo_z(js, "policy", mr_policy_name(col->policy));
    mr_jo_bool(js, "key", col->is_key);
    mr_jo_bool(js, "name_substituted", col->name_substituted);
    mr_jo_object(js, "seen");
    for (uint8_t kind = 0; kind < MR_TYPE_KINDS; kind++)
        if (col->counts[kind] > 0)
            mr_jo_uint(js, kind_name(kind, name), col->counts[kind]);
    mr_jo_end_object(js);
    mr_jo_uint(js, "conflicts", col->conflicts);
    json_facts(js, &col->facts);
    mr_tracked_json_place(js, "first", &col->first);
    mr_tracked_json_place(js, "widened", &col->widened);
    mr_jo_type(js, "widened_from", col->widened.topic.len > 0 ? col->widened_from : MR_TYPE(MR_T_NONE));
}
