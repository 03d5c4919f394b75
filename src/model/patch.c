/* Patches: their order, and the columns that they end in. Steps on JSON are in json_patch.c. */
#include "patch_parts.h"

#include "json_text.h"

#define SHOWN_PATH ((size_t)200) /* bytes of a path in a message */

bool mr_is_position(struct mr_str name)
{
    if (name.len == 0 || name.len > 18 || (name.len > 1 && name.ptr[0] == '0'))
        return false;
    for (size_t i = 0; i < name.len; i++)
        if (name.ptr[i] < '0' || name.ptr[i] > '9')
            return false;
    return true;
}

static enum mr_status step_fail(const struct mr_step *step, const char *code_z, const char *why_z,
                                struct mr_error *err)
{
    struct mr_buf path = MR_BUF_INIT(SHOWN_PATH);

    for (uint32_t i = 0; i < step->count && !path.overflow; i++) {
        mr_buf_append_z(&path, i > 0 ? "." : "");
        mr_buf_append(&path, step->names[i].ptr,
                      step->names[i].len < SHOWN_PATH / 2 ? step->names[i].len : SHOWN_PATH / 2);
    }
    mr_fail_data(err, code_z,
                 "the update of \"%.*s\" within the column cannot be applied to what the target has: %s",
                 MR_STR_FMT(mr_buf_str(&path)), why_z);
    mr_error_hint(err, "load the document anew, or let the connector send full documents: capture.mode "
                       "change_streams_update_full or change_streams_update_full_with_pre_image");
    mr_buf_free(&path);
    return MR_E_DATA;
}

enum mr_status mr_step_fail(const struct mr_step *step, const char *why_z, struct mr_error *err)
{
    return step_fail(step, MR_CODE_UNSUPPORTED, why_z, err);
}

enum mr_status mr_step_too_far(const struct mr_step *step, struct mr_error *err)
{
    return step_fail(step, MR_CODE_TOO_LARGE, "its position is too far beyond the array's end", err);
}

/* ---- Order ---- */

struct mr_value mr_patch_after(struct mr_value patch, struct mr_value have, struct mr_arena *ar)
{
    struct mr_patch *behind;

    if (have.tag == MR_V_ABSENT || have.tag == MR_V_UNAVAILABLE)
        return patch;
    behind = mr_arena_alloc(ar, sizeof *behind);
    *behind = *mr_value_patch(patch);
    if (have.tag == MR_V_PATCH)
        behind->before = mr_value_patch(have);
    else
        behind->base = have;
    return mr_value_of_patch(behind);
}

struct mr_value mr_patch_base(const struct mr_patch *patch)
{
    while (patch->before != NULL)
        patch = patch->before;
    return patch->base;
}

/* All patches, the first first. */
static const struct mr_patch **in_order(const struct mr_patch *last, struct mr_arena *ar, size_t *count)
{
    size_t n = 0;

    for (const struct mr_patch *p = last; p != NULL; p = p->before)
        n++;
    const struct mr_patch **list = mr_arena_alloc(ar, (n + 1) * sizeof(*list));
    *count = n;
    for (const struct mr_patch *p = last; p != NULL; p = p->before)
        list[--n] = p;
    return list;
}

/* ---- JSON, and texts that hold it ---- */

static enum mr_status patch_json(const struct mr_patch *last, struct mr_value have, bool as_text,
                                 struct mr_arena *ar, struct mr_value *out, struct mr_error *err)
{
    struct mr_str json = have.tag == MR_V_NULL ? (struct mr_str){0} : mr_value_str(have), made;
    enum mr_status status = MR_OK;
    size_t count;
    const struct mr_patch **list = in_order(last, ar, &count);

    if (have.tag != MR_V_NULL && have.tag != MR_V_JSON && have.tag != MR_V_TEXT)
        return mr_fail(err, MR_E_BUG, "a patch on a value with tag %u", (unsigned)have.tag);
    if (have.tag != MR_V_NULL && !mr_json_text_is_valid(json))
        return mr_step_fail(&last->steps[0], "it is no JSON", err);
    struct mr_json_tree *tree = mr_json_tree_open(json, &last->style, ar);
    for (size_t p = 0; p < count && status == MR_OK; p++)
        for (size_t i = 0; i < list[p]->count && status == MR_OK; i++)
            status = mr_json_tree_step(tree, &list[p]->steps[i], err);
    struct mr_error ignored = {0};
    enum mr_status closed = mr_json_tree_close(tree, &made, status == MR_OK ? err : &ignored);
    if (status != MR_OK || closed != MR_OK)
        return status != MR_OK ? status : closed;
    *out = made.ptr == NULL ? mr_value_null() : mr_value_bytes(as_text ? MR_V_TEXT : MR_V_JSON, made);
    return MR_OK;
}

/* ---- Arrays of scalars ---- */

struct list {
    struct mr_value *items;
    size_t count, cap;
    struct mr_arena *ar;
};

static void grow(struct list *list, size_t count)
{
    if (count <= list->cap)
        return;
    size_t cap = list->cap * 2 < count ? count : list->cap * 2;
    struct mr_value *items = mr_arena_alloc(list->ar, cap * sizeof *items);
    if (list->count > 0)
        memcpy(items, list->items, list->count * sizeof *items);
    list->items = items;
    list->cap = cap;
}

static enum mr_status no_array(const char *what_z, struct mr_error *err)
{
    return mr_fail_data(err, MR_CODE_TYPE_CONFLICT, "%s", what_z);
}

/* The elements that are there, each as its column has it. */
static enum mr_status read_items(struct mr_value have, struct mr_type element, struct list *list,
                                 struct mr_error *err)
{
    const struct mr_array *array;
    struct mr_value read = have;

    if (have.tag == MR_V_NULL)
        return MR_OK;
    if (have.tag == MR_V_JSON && !mr_json_text_is_valid(mr_value_str(have)))
        return no_array("the target's array cannot be read", err);
    if (have.tag == MR_V_JSON &&
        !mr_array_of_json(have, mr_type_array_of(MR_TYPE(MR_T_TEXT)), list->ar, &read))
        return no_array("the target's array cannot be read", err);
    if (read.tag != MR_V_ARRAY)
        return mr_fail(err, MR_E_BUG, "a patch on an array with tag %u", (unsigned)have.tag);
    array = mr_value_array(read);
    grow(list, array->count);
    for (uint32_t i = 0; i < array->count; i++) {
        struct mr_value v = array->items[i];
        if (have.tag == MR_V_JSON && v.tag != MR_V_NULL && !mr_value_read_text(v, element, list->ar, &v))
            return no_array("an element of the target's array cannot be read", err);
        MR_TRY(mr_value_coerce(v, element, list->ar, &list->items[i], err));
    }
    list->count = array->count;
    return MR_OK;
}

static enum mr_status set_item(struct list *list, const struct mr_step *step, uint64_t position,
                               struct mr_type element, uint64_t *padded, struct mr_error *err)
{
    struct mr_value item = step->item;

    if (step->kind == MR_STEP_UNSET)
        item = mr_value_null();
    if (step->kind == MR_STEP_UNSET && position >= list->count)
        return MR_OK;
    if (item.tag == MR_V_ABSENT)
        return no_array("an element that is a document or an array, in a column that is an array of scalars",
                        err);
    MR_TRY(mr_value_coerce(item, element, list->ar, &item, err));
    if (position >= list->count) {
        *padded += position - list->count;
        if (position > MR_PATCH_MAX_PADDING + list->count || *padded > MR_PATCH_MAX_PADDING)
            return mr_step_too_far(step, err);
        grow(list, position + 1);
        while (list->count <= position)
            list->items[list->count++] = mr_value_null();
    }
    list->items[position] = item;
    return MR_OK;
}

static enum mr_status step_on_list(struct list *list, const struct mr_step *step, struct mr_type element,
                                   uint64_t *padded, struct mr_error *err)
{
    uint64_t position;

    if (step->kind == MR_STEP_CUT && step->count == 0) {
        list->count = list->count < (uint64_t)step->size ? list->count : (size_t)step->size;
        return MR_OK;
    }
    if (step->count == 1 && mr_is_position(step->names[0]) && mr_parse_uint64(step->names[0], &position))
        return set_item(list, step, position, element, padded, err);
    return step->kind == MR_STEP_UNSET
               ? MR_OK
               : no_array("an update within an element, in a column that is an array of scalars", err);
}

static enum mr_status patch_array(const struct mr_patch *last, struct mr_value have, struct mr_type type,
                                  struct mr_arena *ar, struct mr_value *out, struct mr_error *err)
{
    struct mr_type element = mr_type_element(type);
    struct list list = {.ar = ar};
    uint64_t padded = 0;
    size_t count;
    const struct mr_patch **patches = in_order(last, ar, &count);
    bool is_nothing = have.tag == MR_V_NULL &&
                      last->style.names == MR_NAMES_NONE; /* else an array without elements is null */

    MR_TRY(read_items(have, element, &list, err));
    for (size_t p = 0; p < count; p++) {
        for (size_t i = 0; i < patches[p]->count; i++) {
            const struct mr_step *step = &patches[p]->steps[i];
            if (is_nothing && step->kind != MR_STEP_UNSET)
                return mr_step_fail(step, "the target does not have the array", err);
            MR_TRY(step_on_list(&list, step, element, &padded, err));
        }
    }
    if (is_nothing || (list.count == 0 && last->style.names != MR_NAMES_NONE)) {
        *out = mr_value_null();
        return MR_OK;
    }
    struct mr_buf json = MR_BUF_INIT(MR_PATCH_MAX_BYTES);
    for (size_t i = 0; i < list.count; i++) {
        mr_buf_append_char(&json, i > 0 ? ',' : '[');
        mr_value_append_json(list.items[i], &json);
    }
    mr_buf_append_z(&json, list.count > 0 ? "]" : "[]");
    enum mr_status status = mr_buf_check(&json, "the updated array", err);
    if (status == MR_OK)
        *out = mr_array_of(list.items, (uint32_t)list.count, mr_arena_copy(ar, mr_buf_str(&json)), 0,
                           MR_OBSERVED, ar);
    mr_buf_free(&json);
    MR_TRY(status);
    return mr_value_coerce(*out, type, ar, out, err);
}

enum mr_status mr_patch_apply(const struct mr_patch *patch, struct mr_value have, struct mr_type type,
                              struct mr_arena *ar, struct mr_value *out, struct mr_error *err)
{
    switch ((enum mr_type_kind)type.kind) {
    case MR_T_JSON:
        return patch_json(patch, have, false, ar, out, err);
    case MR_T_TEXT:
        return patch_json(patch, have, true, ar, out, err);
    case MR_T_ARRAY:
        return patch_array(patch, have, type, ar, out, err);
    case MR_T_NONE:
    case MR_T_BOOL:
    case MR_T_INT16:
    case MR_T_INT32:
    case MR_T_INT64:
    case MR_T_DECIMAL:
    case MR_T_FLOAT32:
    case MR_T_FLOAT64:
    case MR_T_BYTES:
    case MR_T_DATE:
    case MR_T_TIME:
    case MR_T_DURATION:
    case MR_T_TIMESTAMP:
    case MR_T_TIMESTAMPTZ:
    case MR_T_UUID:
    case MR_T_BITS:
        break;
    }
    return no_array("an update within a document or an array, in a column that is neither", err);
}
