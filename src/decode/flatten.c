/* Documents to columns: walking, naming, collecting. */
#include "flatten.h"

#include <math.h>

#include "arrays.h"

/* An object whose members' paths would together need more than the budget is not taken apart; a row of
 * 4,096 columns with names of 200 bytes needs 800 KiB. */
#define MAX_JOINED_BYTES ((size_t)8 << 20)

void mr_field_add(struct mr_field_list *list, struct mr_arena *ar, struct mr_str path,
                  struct mr_type type, struct mr_value value)
{
    if (list->count == list->cap) {
        size_t cap = list->cap < 16 ? 16 : list->cap * 2;
        struct mr_field *items = mr_arena_alloc(ar, cap * sizeof *items);
        if (list->count > 0)
            memcpy(items, list->items, list->count * sizeof *items);
        list->items = items;
        list->cap = cap;
    }
    list->items[list->count++] = (struct mr_field){.path = path, .type = type, .value = value};
}

struct mr_fields mr_field_list_get(const struct mr_field_list *list)
{
    return (struct mr_fields){.items = list->items, .count = list->count};
}

/* Has a word of eight bytes one that needs an escape? */
static inline bool word_needs_escape(const char *p)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), highs = UINT64_C(0x8080808080808080);
    uint64_t word;

    memcpy(&word, p, sizeof word);
    uint64_t points = word ^ (ones * '.'), backslashes = word ^ (ones * '\\');
    return (((points - ones) & ~points) | ((backslashes - ones) & ~backslashes)) & highs;
}

/* Bytes of the name that need an escape. */
static size_t escapes_in(struct mr_str name)
{
    size_t n = 0;

    if (name.len >= 8) { /* whole words; the last one overlaps the one before */
        size_t i = 0;
        while (i + 8 <= name.len && !word_needs_escape(name.ptr + i))
            i += 8;
        if (i + 8 > name.len && !word_needs_escape(name.ptr + name.len - 8))
            return 0;
    }
    for (size_t i = 0; i < name.len; i++)
        n += name.ptr[i] == '.' || name.ptr[i] == '\\';
    return n;
}

struct mr_str mr_flatten_path(struct mr_str parent, struct mr_str name, struct mr_arena *ar)
{
    size_t escapes = escapes_in(name);

    if (parent.len == 0 && escapes == 0)
        return name.len > 0 ? name : MR_STR(MR_EMPTY_NAME);

    size_t len = parent.len > 0 ? parent.len + 1 : 0;
    char *out = mr_arena_alloc(ar, len + name.len + escapes);
    if (parent.len > 0) {
        memcpy(out, parent.ptr, parent.len);
        out[parent.len] = '.';
    }
    for (size_t i = 0; i < name.len; i++) {
        if (name.ptr[i] == '.' || name.ptr[i] == '\\')
            out[len++] = '\\';
        out[len++] = name.ptr[i];
    }
    return mr_str_of(out, len);
}

bool mr_flatten_may(const struct mr_field_list *list, struct mr_str path, uint32_t member_count)
{
    return path.len <= MR_FLATTEN_MAX_PATH && list->joined <= MAX_JOINED_BYTES &&
           (path.len + 1) * (size_t)member_count <= MAX_JOINED_BYTES - list->joined;
}

/* An object that is being walked. */
struct frame {
    struct frame *up;
    uint32_t object; /* or ARRAY */
    uint32_t name;   /* next member, NONE at the end */
    uint32_t index;  /* of the next element */
    struct mr_str path;
};

static struct frame *enter(struct frame *up, struct frame **unused, const struct mr_json_doc *doc,
                           uint32_t object, struct mr_str path, struct mr_arena *ar)
{
    struct frame *frame = *unused;

    if (frame != NULL)
        *unused = frame->up;
    else
        frame = mr_arena_alloc(ar, sizeof *frame);
    *frame = (struct frame){.up = up, .object = object, .name = mr_json_first(doc, object), .path = path};
    return frame;
}

void mr_flatten_walk(const struct mr_json_doc *doc, uint32_t object, struct mr_str parent,
                     mr_flatten_visit_fn visit, void *ctx, struct mr_arena *ar,
                     struct mr_field_list *out)
{
    struct frame bottom = {.object = object, .name = mr_json_first(doc, object), .path = parent};
    struct frame *top = &bottom, *unused = NULL;

    while (top != NULL) {
        uint32_t name = top->name;

        if (name == MR_JSON_NONE) {
            struct frame *done = top;
            top = done->up;
            if (done != &bottom) {
                done->up = unused;
                unused = done;
            }
            continue;
        }
        bool is_array = mr_json_is(doc, top->object, MR_J_ARRAY);
        top->name = mr_json_next_in(doc, top->object, name);
        if (!is_array && mr_json_is_shadowed(doc, top->object, name))
            continue;

        struct mr_str own = is_array ? mr_flatten_element(top->index++, ar) : mr_json_string(doc, name, ar, NULL);
        struct mr_str path = mr_flatten_path(top->path, own, ar);
        if (top->path.len > 0)
            out->joined += path.len;
        uint32_t below = visit(ctx, doc, is_array ? name : name + 1, path, ar, out);
        if (below != MR_JSON_NONE)
            top = enter(top, &unused, doc, below, path, ar);
    }
}

struct mr_value mr_flatten_scalar(const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar)
{
    struct mr_value value = mr_value_null();
    struct mr_str raw;
    unsigned flags = 0;
    int64_t whole;

    switch (mr_json_kind(doc, node)) {
    case MR_J_NULL:
        break;
    case MR_J_FALSE:
        return mr_value_bool(false);
    case MR_J_TRUE:
        return mr_value_bool(true);
    case MR_J_NUMBER:
        if (mr_json_int64(doc, node, &whole))
            return mr_value_int(whole);
        return mr_value_bytes(MR_V_NUMBER, mr_json_raw(doc, node));
    case MR_J_WORD:
        raw = mr_json_raw(doc, node);
        return mr_value_float(raw.ptr[0] == 'N' ? (double)NAN : raw.ptr[0] == '-' ? -(double)INFINITY : (double)INFINITY);
    case MR_J_STRING:
        value = mr_value_text(mr_json_string(doc, node, ar, &flags));
        value.flags = (uint8_t)flags;
        break;
    case MR_J_ARRAY:
    case MR_J_OBJECT:
        value = mr_value_bytes(MR_V_JSON, mr_json_text(doc, node, ar, &flags));
        value.flags = (uint8_t)flags;
        break;
    }
    return value;
}

struct mr_str mr_flatten_element(uint32_t index, struct mr_arena *ar)
{
    return mr_arena_printf(ar, "_%u", index);
}

struct mr_value mr_flatten_value(const struct mr_config *cfg, const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar)
{
    struct mr_value json = mr_flatten_scalar(doc, node, ar);
    uint32_t count = 0, containers = 0, scalars = 0;

    if (cfg->array_encoding != MR_ARRAY_ARRAY || !mr_json_is(doc, node, MR_J_ARRAY))
        return json;
    struct mr_value *items = mr_arena_alloc(ar, (doc->nodes[node].count + 1) * sizeof *items);
    for (uint32_t n = mr_json_first(doc, node); n != MR_JSON_NONE; n = mr_json_next_in(doc, node, n)) {
        bool is_container = mr_json_is(doc, n, MR_J_ARRAY) || mr_json_is(doc, n, MR_J_OBJECT);
        containers += is_container;
        scalars += !is_container && !mr_json_is(doc, n, MR_J_NULL);
        if (containers == 0)
            items[count++] = mr_flatten_scalar(doc, n, ar);
    }
    if (containers > 0)
        return scalars == 0 ? json : mr_array_mixed(mr_value_str(json), json.flags, ar);
    return mr_array_of(items, count, mr_value_str(json), json.flags, MR_OBSERVED, ar);
}

static uint32_t visit_json(void *ctx, const struct mr_json_doc *doc, uint32_t value, struct mr_str path,
                           struct mr_arena *ar, struct mr_field_list *out)
{
    const struct mr_config *cfg = ctx;

    if (mr_json_kind(doc, value) == MR_J_OBJECT && cfg->flatten_struct &&
        mr_flatten_may(out, path, doc->nodes[value].count))
        return value;
    if (mr_json_kind(doc, value) == MR_J_ARRAY && mr_arrays_note(out, doc, value, path, NULL))
        return MR_JSON_NONE;
    if (mr_json_kind(doc, value) == MR_J_ARRAY && cfg->flatten_struct && cfg->array_encoding == MR_ARRAY_DOCUMENT &&
        mr_flatten_may(out, path, doc->nodes[value].count))
        return value;
    mr_field_add(out, ar, path, MR_TYPE(MR_T_NONE), mr_flatten_value(cfg, doc, value, ar));
    return MR_JSON_NONE;
}

void mr_flatten_json(const struct mr_config *cfg, const struct mr_json_doc *doc, uint32_t object,
                     struct mr_str parent, struct mr_arena *ar, struct mr_field_list *out)
{
    if (!mr_json_is(doc, object, MR_J_OBJECT) && !mr_json_is(doc, object, MR_J_ARRAY))
        return;
    mr_flatten_walk(doc, object, parent, visit_json, (void *)(uintptr_t)cfg, ar, out);
}
