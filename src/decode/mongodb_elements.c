/* Names of updates that lead into arrays, where arrays are tables: "items.2.price" is the field `price` of an element. Whether 2 is a position or
 * a member's name the update does not tell; it is taken for a position, and the engine, which knows the table, corrects it. */
#include "mongodb_parts.h"

/* A document of 16 MiB has no longer arrays: an element needs eight bytes. Greater numbers are names. */
#define MAX_POSITION ((int64_t)1 << 21)
static bool read_position(struct mr_str segment, uint32_t *out)
{
    int64_t number;

    if (!mr_is_position(segment) || segment.len > 9 || !mr_parse_int64(segment, &number) || number > MAX_POSITION)
        return false;
    *out = (uint32_t)number;
    return true;
}

/* One more segment of a path; dots of the name are the path's own, only backslashes have to be escaped. */
static void append_segment(struct mr_buf *path, struct mr_str segment)
{
    if (path->len > 0)
        mr_buf_append_char(path, '.');
    else if (segment.len == 0)
        mr_buf_append_z(path, MR_EMPTY_NAME);
    for (size_t i = 0; i < segment.len; i++) {
        if (segment.ptr[i] == '\\')
            mr_buf_append_char(path, '\\');
        mr_buf_append_char(path, segment.ptr[i]);
    }
}

static struct mr_str array_below(struct mr_str array, struct mr_str step, struct mr_arena *ar)
{
    if (step.len == 0)
        step = MR_STR(MR_ELEMENT_VALUE); /* the element is an array itself */
    if (array.len == 0)
        return mr_arena_copy(ar, step);
    return mr_arena_printf(ar, "%.*s%s%.*s", MR_STR_FMT(array), MR_ARRAY_MARK, MR_STR_FMT(step));
}

static enum mr_status too_deep(struct mr_str name, struct mr_error *err)
{
    mr_fail_data(err, MR_CODE_UNSUPPORTED, "the update of \"%.*s\" leads through more than %d arrays",
                 MR_STR_FMT(mr_str_of(name.ptr, name.len < 200 ? name.len : 200)), MR_ARRAY_MAX_DEPTH);
    mr_error_hint(err, "let the connector send full documents: capture.mode change_streams_update_full");
    mr_error_field(err, name.ptr, name.len);
    return MR_E_DATA;
}

enum mr_status mr_mongodb_split_name(struct mr_str name, struct mr_arena *ar, struct mr_mongodb_name *out, struct mr_error *err)
{
    uint32_t *pos = mr_arena_alloc(ar, MR_ARRAY_MAX_DEPTH * sizeof *pos), number = 0;
    struct mr_buf path = MR_BUF_INIT((size_t)1 << 20);
    struct mr_str rest = name;
    enum mr_status status = MR_OK;

    *out = (struct mr_mongodb_name){.place.pos = pos};
    for (bool is_first = true, more = true; more && status == MR_OK; is_first = false) {
        ptrdiff_t dot = mr_str_find(rest, '.');
        struct mr_str segment = dot < 0 ? rest : mr_str_of(rest.ptr, (size_t)dot);
        more = dot >= 0;
        rest = more ? mr_str_of(rest.ptr + dot + 1, rest.len - (size_t)dot - 1) : MR_STR("");
        if (is_first || !read_position(segment, &number)) {
            append_segment(&path, segment);
            continue;
        }
        if (out->place.depth == MR_ARRAY_MAX_DEPTH) {
            status = too_deep(name, err);
            continue;
        }
        out->place.array = array_below(out->place.array, mr_buf_str(&path), ar);
        pos[out->place.depth++] = number;
        mr_buf_clear(&path);
    }
    out->rest = mr_arena_copy(ar, mr_buf_str(&path));
    mr_buf_free(&path);
    return status;
}

static struct mr_fields one_path(struct mr_mongodb_event *mev, struct mr_str path)
{
    struct mr_field *field = mr_arena_zalloc(mev->ar, sizeof *field);

    field->path = path;
    return (struct mr_fields){field, 1};
}

bool mr_mongodb_set_element(struct mr_mongodb_event *mev, const struct mr_json_doc *doc, uint32_t node,
                            const struct mr_mongodb_name *name)
{
    struct mr_extjson *ej = &mev->mg->ej;
    struct mr_fields none = {0};

    if (name->place.depth == 0)
        return false;
    if (name->rest.len == 0) {
        struct mr_field_list *list = mr_arrays_open(&mev->arrays, MR_ELEMENT_ROW, &name->place, 0);
        mr_extjson_element(ej, doc, node, NULL, mev->ar, list);
        mr_arrays_close(&mev->arrays, none, mr_extjson_element, ej);
        return true;
    }
    struct mr_field_list *list = mr_arrays_open(&mev->arrays, MR_ELEMENT_PART, &name->place, 0);
    mr_extjson_field(ej, doc, node, name->rest, mev->ar, list);
    mr_arrays_close(&mev->arrays, one_path(mev, name->rest), mr_extjson_element, ej);
    return true;
}

bool mr_mongodb_unset_element(struct mr_mongodb_event *mev, const struct mr_mongodb_name *name)
{
    struct mr_fields removed = {0};
    bool is_whole = name->rest.len == 0;

    if (name->place.depth == 0)
        return false;
    if (!is_whole)
        removed = one_path(mev, name->rest);
    (void)mr_arrays_open(&mev->arrays, is_whole ? MR_ELEMENT_ROW : MR_ELEMENT_PART, &name->place, 0);
    mr_arrays_close(&mev->arrays, removed, mr_extjson_element, &mev->mg->ej);
    return true;
}

enum mr_status mr_mongodb_cut_array(struct mr_mongodb_event *mev, const struct mr_mongodb_name *name, uint32_t size, struct mr_error *err)
{
    struct mr_array_place place = name->place;
    struct mr_fields none = {0};

    if (place.depth == MR_ARRAY_MAX_DEPTH)
        return too_deep(name->rest, err);
    place.array = array_below(place.array, name->rest, mev->ar);
    place.depth++;
    (void)mr_arrays_open(&mev->arrays, MR_ELEMENT_CUT, &place, size);
    mr_arrays_close(&mev->arrays, none, mr_extjson_element, &mev->mg->ej);
    return MR_OK;
}
