/* Array positions to columns: see positions.h. MongoDB writes `items.2` for an element and for a member named "2" alike. What the table has below
 * `items` decides: elements (`_0`, `_1` …) only, then it is an array; no element, then a document. */
#include "positions.h"

/* Columns looked at for one change; beyond, thousands of deep paths of one message would hold up all others. */
#define MAX_LOOKS ((uint64_t)1 << 26)

static bool is_digits(struct mr_str s)
{
    if (s.len == 0 || (s.len > 1 && s.ptr[0] == '0'))
        return false;
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] < '0' || s.ptr[i] > '9')
            return false;
    return true;
}

/* The first segment, still escaped. */
static struct mr_str first_segment(struct mr_str path)
{
    size_t i = 0;

    while (i < path.len && path.ptr[i] != '.')
        i += path.ptr[i] == '\\' && i + 1 < path.len ? 2 : 1;
    return mr_str_of(path.ptr, i < path.len ? i : path.len);
}

static bool is_element(struct mr_str segment)
{
    return segment.len > 1 && segment.ptr[0] == '_' && is_digits(mr_str_of(segment.ptr + 1, segment.len - 1));
}

/* The segment of a column's path right below `parent`; empty if it is not below. */
static struct mr_str segment_below(struct mr_str path, struct mr_str parent)
{
    if (path.len <= parent.len + 1 || path.ptr[parent.len] != '.' || memcmp(path.ptr, parent.ptr, parent.len) != 0)
        return MR_STR("");
    return first_segment(mr_str_of(path.ptr + parent.len + 1, path.len - parent.len - 1));
}

struct below {
    bool has_elements, has_members;
    bool has_numbers; /* among the members; without, an array may be there that has been empty until now */
    bool is_unknown; /* not looked at any more */
    bool is_json; /* too large to be taken apart in some row */
};

struct resolver {
    const struct mr_tracker *tk;
    struct mr_arena *ar;
    uint64_t looks;
};

static struct below look_below(struct resolver *r, struct mr_str parent)
{
    const struct mr_tracker *tk = r->tk;
    struct below found = {0};

    r->looks += mr_tracker_count(tk);
    found.is_unknown = r->looks > MAX_LOOKS;
    if (found.is_unknown)
        return found;
    for (size_t i = 0; i < mr_tracker_count(tk); i++) {
        const struct mr_tracked_column *col = mr_tracker_column(tk, i);
        struct mr_str segment = segment_below(col->path, parent);
        found.is_json |= col->type.kind == MR_T_JSON && mr_str_eq(col->path, parent);
        found.has_elements |= is_element(segment);
        found.has_members |= segment.len > 0 && !is_element(segment);
        found.has_numbers |= is_digits(segment);
    }
    return found;
}

static enum mr_status cannot_tell(struct mr_str path, struct mr_error *err)
{
    mr_fail_data(err, MR_CODE_UNSUPPORTED,
                 "the update of \"%.*s\" cannot be applied without the document: it names a position in an array, or a member, and the "
                 "columns that are known do not tell which",
                 MR_STR_FMT(mr_str_of(path.ptr, path.len < 200 ? path.len : 200)));
    mr_error_hint(err, "let the connector send full documents: capture.mode "
                       "change_streams_update_full or change_streams_update_full_with_pre_image");
    mr_error_field(err, path.ptr, path.len);
    return MR_E_DATA;
}

static bool has_position(struct mr_str path)
{
    for (struct mr_str rest = path; rest.len > 0;) {
        struct mr_str segment = first_segment(rest);
        if (segment.ptr != path.ptr && is_digits(segment))
            return true;
        if (segment.len == rest.len)
            break;
        rest = mr_str_of(rest.ptr + segment.len + 1, rest.len - segment.len - 1);
    }
    return false;
}

/* Every segment of digits behind the first, which is a member of the document itself. */
static enum mr_status resolve_path(struct resolver *r, struct mr_str path, struct mr_str *out, struct mr_error *err)
{
    *out = path;
    if (!has_position(path))
        return MR_OK;
    char *made = mr_arena_alloc(r->ar, 2 * path.len);
    size_t len = 0;
    for (struct mr_str rest = path;;) {
        struct mr_str segment = first_segment(rest);
        if (len > 0 && is_digits(segment)) {
            struct below found = look_below(r, mr_str_of(made, len));
            if (found.is_json || found.is_unknown || found.has_elements == found.has_members || found.has_numbers != found.has_members)
                return cannot_tell(path, err);
            made[len++] = '.';
            if (found.has_elements)
                made[len++] = '_';
        } else if (len > 0) {
            made[len++] = '.';
        }
        memcpy(made + len, segment.ptr, segment.len);
        len += segment.len;
        if (segment.len == rest.len)
            break;
        rest = mr_str_of(rest.ptr + segment.len + 1, rest.len - segment.len - 1);
    }
    *out = mr_str_of(made, len);
    return MR_OK;
}

struct removed {
    struct mr_field *items;
    size_t count, cap;
};

static void add_removed(struct removed *to, struct mr_str path, struct mr_arena *ar)
{
    if (to->count == to->cap) {
        size_t cap = to->cap ? to->cap * 2 : 16;
        struct mr_field *items = mr_arena_alloc(ar, cap * sizeof *items);
        if (to->count > 0)
            memcpy(items, to->items, to->count * sizeof *items);
        to->items = items;
        to->cap = cap;
    }
    to->items[to->count++] = (struct mr_field){.path = path, .value = mr_value_null()};
}

/* An array that is cut to `size` elements: the columns of all further ones. One that is no array in the table holds something else now, and only the
 * document could tell what. */
static enum mr_status add_cut(struct resolver *r, struct mr_str path, int64_t size, struct removed *to, struct mr_error *err)
{
    const struct mr_tracker *tk = r->tk;
    struct below found = look_below(r, path);

    if (!found.has_elements || found.has_members || found.is_json)
        return cannot_tell(path, err);
    for (size_t i = 0; i < mr_tracker_count(tk); i++) {
        struct mr_str column = mr_tracker_column(tk, i)->path, segment = segment_below(column, path);
        int64_t index;
        if (is_element(segment) && (!mr_parse_int64(mr_str_of(segment.ptr + 1, segment.len - 1), &index) || index >= size))
            add_removed(to, mr_str_of(column.ptr, path.len + 1 + segment.len), r->ar);
    }
    return MR_OK;
}

enum mr_status mr_positions_resolve(const struct mr_tracker *tk, const struct mr_change *ev, struct mr_arena *ar, struct mr_change *out,
                                    struct mr_error *err)
{
    struct mr_field *after = mr_arena_alloc(ar, (ev->after.count + 1) * sizeof *after);
    struct removed removed = {0};
    struct resolver r = {.tk = tk, .ar = ar};

    *out = *ev;
    for (size_t i = 0; i < ev->after.count; i++) {
        after[i] = ev->after.items[i];
        MR_TRY(resolve_path(&r, after[i].path, &after[i].path, err));
    }
    for (size_t i = 0; i < ev->removed.count; i++) {
        const struct mr_field *field = &ev->removed.items[i];
        struct mr_str path;
        MR_TRY(resolve_path(&r, field->path, &path, err));
        if (field->value.tag == MR_V_INT)
            MR_TRY(add_cut(&r, path, field->value.i, &removed, err));
        else
            add_removed(&removed, path, ar);
    }
    out->after.items = after;
    out->removed = (struct mr_fields){.items = removed.items, .count = removed.count};
    return MR_OK;
}
