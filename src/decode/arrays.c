/* Arrays to elements: see arrays.h. */
#include "arrays.h"

#define MAX_STEP_BYTES ((size_t)1024) /* as for a document that is to be flattened */

struct mr_array_note {
    const struct mr_json_doc *doc;
    uint32_t node;
    const void *schema;
    struct mr_str array;
    uint32_t depth;      /* of the array: positions that an element of it has */
    const uint32_t *pos; /* of the elements around, depth - 1 */
    bool is_inner;
};

void mr_arrays_begin(struct mr_arrays *arrays, const struct mr_config *cfg, struct mr_arena *ar, struct mr_field_list *list)
{
    if (cfg->array_encoding != MR_ARRAY_TABLE)
        return;
    *arrays = (struct mr_arrays){.ar = ar};
    arrays->fields.arrays = arrays;
    list->arrays = arrays;
}

/* The path of an array that lies in the element being walked. */
static struct mr_str array_path(const struct mr_arrays *arrays, struct mr_str step)
{
    static const char mark[] = MR_ARRAY_MARK;
    if (arrays->around == NULL)
        return mr_arena_copy(arrays->ar, step); /* one pointer an array */
    struct mr_str up = arrays->around->array;
    size_t len = up.len + sizeof mark - 1 + step.len;
    char *out = mr_arena_alloc(arrays->ar, len + 1);
    memcpy(out, up.ptr, up.len);
    memcpy(out + up.len, mark, sizeof mark - 1);
    if (step.len > 0)
        memcpy(out + len - step.len, step.ptr, step.len);
    return mr_str_of(out, len);
}

static bool may_note(const struct mr_arrays *arrays, struct mr_str path)
{
    uint32_t depth = arrays->around == NULL ? 0 : arrays->around->depth;
    return depth < MR_ARRAY_MAX_DEPTH && path.len <= MAX_STEP_BYTES;
}

static struct mr_element *add_element(struct mr_arrays *arrays, enum mr_element_kind kind)
{
    if (arrays->count == arrays->cap) {
        size_t cap = arrays->cap == 0 ? 16 : arrays->cap * 2;
        struct mr_element *items = mr_arena_alloc(arrays->ar, cap * sizeof *items);
        size_t *first = mr_arena_alloc(arrays->ar, cap * sizeof *first);
        if (arrays->count > 0) {
            memcpy(items, arrays->items, arrays->count * sizeof *items);
            memcpy(first, arrays->first_field, arrays->count * sizeof *first);
        }
        arrays->items = items;
        arrays->first_field = first;
        arrays->cap = cap;
    }
    arrays->first_field[arrays->count] = arrays->fields.count;
    struct mr_element *el = &arrays->items[arrays->count++];
    *el = (struct mr_element){.kind = (uint8_t)kind, .is_guess = arrays->is_guess, .set = arrays->set};
    return el;
}

bool mr_arrays_note(struct mr_field_list *list, const struct mr_json_doc *doc, uint32_t node, struct mr_str path, const void *schema)
{
    struct mr_arrays *arrays = list->arrays;
    if (arrays == NULL || (!arrays->is_dropped && !may_note(arrays, path)))
        return false;
    if (arrays->is_dropped)
        return true;
    if (arrays->note_count == arrays->note_cap) {
        size_t cap = arrays->note_cap == 0 ? 16 : arrays->note_cap * 2;
        struct mr_array_note *notes = mr_arena_alloc(arrays->ar, cap * sizeof *notes);
        if (arrays->note_count > 0)
            memcpy(notes, arrays->notes, arrays->note_count * sizeof *notes);
        arrays->notes = notes;
        arrays->note_cap = cap;
    }
    struct mr_array_note *around = arrays->around;
    arrays->notes[arrays->note_count++] = (struct mr_array_note){
        .doc = doc,
        .node = node,
        .schema = schema,
        .array = array_path(arrays, path),
        .depth = around == NULL ? 1 : around->depth + 1,
        .pos = arrays->around_pos,
        .is_inner = around != NULL && around->is_inner,
    };
    return true;
}

void mr_arrays_keep_unknown(struct mr_field_list *list, size_t waiting, mr_arrays_unknown_fn is_unknown, const void *ctx)
{
    struct mr_arrays *arrays = list->arrays;
    if (arrays == NULL || arrays->is_dropped)
        return;
    size_t kept = waiting;
    for (size_t i = waiting; i < arrays->note_count; i++) {
        const struct mr_array_note *note = &arrays->notes[i];
        if (note->depth != 1 || !is_unknown(ctx, note->doc, note->node)) {
            arrays->notes[kept++] = *note;
            continue;
        }
        struct mr_element *el = add_element(arrays, MR_ELEMENT_KEEP);
        el->array = note->array;
        el->depth = 1;
    }
    arrays->note_count = kept;
}

size_t mr_arrays_waiting(const struct mr_field_list *list)
{
    return list->arrays == NULL ? 0 : list->arrays->note_count;
}

size_t mr_arrays_count(const struct mr_field_list *list)
{
    return list->arrays == NULL ? 0 : list->arrays->count;
}

void mr_arrays_forget(struct mr_field_list *list, size_t waiting, size_t count)
{
    if (list->arrays == NULL)
        return;
    list->arrays->note_count = waiting;
    list->arrays->count = count;
}

/* All elements of an array. */
static void expand(struct mr_arrays *arrays, struct mr_array_note *note, mr_arrays_element_fn element, void *ctx)
{
    struct mr_element *head = add_element(arrays, MR_ELEMENT_LENGTH);
    head->is_inner = note->is_inner;
    head->array = note->array;
    head->depth = note->depth;
    head->pos = note->pos;
    head->length = note->doc->nodes[note->node].count;

    struct mr_array_note around = *note; /* notes may move while elements are walked */
    around.is_inner = true;
    arrays->around = &around;
    uint32_t at = 0;
    for (uint32_t n = mr_json_first(note->doc, note->node); n != MR_JSON_NONE; n = mr_json_next_in(around.doc, around.node, n)) {
        uint32_t *pos = mr_arena_alloc(arrays->ar, around.depth * sizeof *pos);
        for (uint32_t i = 0; i + 1 < around.depth; i++)
            pos[i] = around.pos[i];
        pos[around.depth - 1] = at++;
        struct mr_element *el = add_element(arrays, MR_ELEMENT_ROW);
        size_t index = (size_t)(el - arrays->items), first = arrays->fields.count;
        el->is_inner = true;
        el->array = around.array;
        el->depth = around.depth;
        el->pos = arrays->around_pos = pos;
        element(ctx, around.doc, n, around.schema, arrays->ar, &arrays->fields);
        arrays->items[index].fields.count = arrays->fields.count - first;
    }
    arrays->around = NULL;
    arrays->around_pos = NULL;
}

void mr_arrays_drain(struct mr_arrays *arrays, mr_arrays_element_fn element, void *ctx)
{
    arrays->around = NULL;
    arrays->around_pos = NULL;
    while (arrays->next_note < arrays->note_count) {
        struct mr_array_note note = arrays->notes[arrays->next_note++];
        expand(arrays, &note, element, ctx);
    }
    arrays->note_count = arrays->next_note = 0;
    arrays->set++;
}

struct mr_field_list *mr_arrays_open(struct mr_arrays *arrays, enum mr_element_kind kind, const struct mr_array_place *place,
                                     uint32_t length)
{
    arrays->is_guess = true;
    struct mr_element *el = add_element(arrays, kind);
    el->array = place->array;
    el->depth = place->depth;
    el->pos = place->pos;
    el->length = length;
    struct mr_array_note *around = mr_arena_zalloc(arrays->ar, sizeof *around);
    *around = (struct mr_array_note){
        .array = place->array, .depth = place->depth, .pos = place->pos, .is_inner = kind == MR_ELEMENT_ROW};
    arrays->around = around;
    arrays->around_pos = place->pos;
    return &arrays->fields;
}

void mr_arrays_close(struct mr_arrays *arrays, struct mr_fields removed, mr_arrays_element_fn element, void *ctx)
{
    struct mr_element *el = &arrays->items[arrays->count - 1];
    el->removed = removed;
    el->fields.count = arrays->fields.count - arrays->first_field[arrays->count - 1];
    mr_arrays_drain(arrays, element, ctx);
    arrays->is_guess = false;
}

void mr_arrays_give(struct mr_arrays *arrays, const struct mr_field_list *list, struct mr_change *ev)
{
    if (list->arrays != arrays || arrays->is_dropped)
        return;
    for (size_t i = 0; i < arrays->count && arrays->fields.items != NULL; i++)
        arrays->items[i].fields.items = arrays->fields.items + arrays->first_field[i];
    ev->has_elements = true;
    ev->elements = (struct mr_elements){arrays->items, arrays->count};
}
