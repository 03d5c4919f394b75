/* Steps on a JSON text. Only the containers on a step's way are taken apart, each once; all else stays the text that it was, so that digits, order and
 * escapes are kept, and the work grows with the sizes of document and steps, not with their product. */
#include "patch_parts.h"

#include <millrace/base/hash.h>

#include "json_text.h"

/* A value: a text, or a container taken apart; neither: nothing (a member that is gone, or is being made). */
struct cell {
    struct mr_str raw;
    struct box *box;
};

struct box {
    bool is_object;
    bool has_dotted; /* some name has a dot */
    uint32_t count, cap;
    struct cell *cells;
    struct mr_str *names;      /* of an OBJECT's members */
    uint32_t *index;           /* hash of names; cell + 1, 0 = free */
    size_t index_cap;          /* power of two */
    uint32_t elements, others; /* members that are there: `_0`, `_1` …, and all else */
    uint64_t next_element;     /* behind the last element */
};

struct mr_json_tree {
    struct cell root;
    const struct mr_patch_style *style;
    struct mr_arena *ar;
    struct mr_buf name; /* a name being adjusted; bytes of `ar` hold it afterwards */
    uint64_t padded;    /* nulls that arrays have been filled with */
};

enum kind { KIND_NOTHING, KIND_NULL, KIND_SCALAR, KIND_OBJECT, KIND_ARRAY };

static enum kind kind_of(const struct cell *cell)
{
    if (cell->box != NULL)
        return cell->box->is_object ? KIND_OBJECT : KIND_ARRAY;
    if (cell->raw.ptr == NULL)
        return KIND_NOTHING;
    switch (cell->raw.ptr[0]) {
    case '{':
        return KIND_OBJECT;
    case '[':
        return KIND_ARRAY;
    case 'n':
        return KIND_NULL;
    }
    return KIND_SCALAR;
}

static bool is_there(const struct cell *cell)
{
    return cell->box != NULL || cell->raw.ptr != NULL;
}

static bool adjusts(const struct mr_json_tree *tree)
{
    return tree->style->names != MR_NAMES_NONE;
}

/* ---- Names ---- */

static struct mr_str adjusted(struct mr_json_tree *tree, struct mr_str name)
{
    if (!adjusts(tree))
        return name;
    mr_buf_clear(&tree->name);
    mr_field_name_append(tree->style->names, name, &tree->name);
    return mr_arena_copy(tree->ar, mr_buf_str(&tree->name));
}

/* The position that an element's name tells ("_2", under avro_unicode "_u005f2"), or -1. */
static int64_t element_of(const struct mr_json_tree *tree, struct mr_str name)
{
    struct mr_str front = tree->style->names == MR_NAMES_AVRO_UNICODE ? MR_STR("_u005f") : MR_STR("_");
    int64_t n;

    if (!tree->style->arrays_are_documents || !mr_str_starts(name, front))
        return -1;
    struct mr_str digits = mr_str_of(name.ptr + front.len, name.len - front.len);
    return mr_is_position(digits) && mr_parse_int64(digits, &n) && n < UINT32_MAX ? n : -1;
}

static struct mr_str element_name(struct mr_json_tree *tree, uint64_t position)
{
    return adjusted(tree, mr_arena_printf(tree->ar, "_%llu", (unsigned long long)position));
}

/* ---- Boxes ---- */

static void index_put(struct box *box, uint32_t cell)
{
    size_t mask = box->index_cap - 1, slot = mr_hash(box->names[cell].ptr, box->names[cell].len, 0) & mask;

    while (box->index[slot] != 0 && !mr_str_eq(box->names[box->index[slot] - 1], box->names[cell]))
        slot = (slot + 1) & mask;
    box->index[slot] = cell + 1; /* of members with one name the last counts */
}

static void grow(struct mr_json_tree *tree, struct box *box, uint32_t count)
{
    if (count <= box->cap)
        return;
    uint32_t cap = box->cap * 2 < count ? count : box->cap * 2;
    cap = cap < 8 ? 8 : cap;
    struct cell *cells = mr_arena_alloc(tree->ar, cap * sizeof *cells);
    if (box->count > 0)
        memcpy(cells, box->cells, box->count * sizeof *cells);
    box->cells = cells;
    box->cap = cap;
    if (!box->is_object)
        return;
    struct mr_str *names = mr_arena_alloc(tree->ar, cap * sizeof *names);
    if (box->count > 0)
        memcpy(names, box->names, box->count * sizeof *names);
    box->names = names;
    box->index_cap = 16;
    while (box->index_cap < (size_t)cap * 2)
        box->index_cap *= 2;
    box->index = mr_arena_zalloc(tree->ar, box->index_cap * sizeof *box->index);
    for (uint32_t i = 0; i < box->count; i++)
        index_put(box, i);
}

static struct cell *find_member(struct box *box, struct mr_str name)
{
    if (box->index_cap == 0)
        return NULL;
    size_t mask = box->index_cap - 1;
    for (size_t slot = mr_hash(name.ptr, name.len, 0) & mask; box->index[slot] != 0;
         slot = (slot + 1) & mask) {
        uint32_t at = box->index[slot] - 1;
        if (mr_str_eq(box->names[at], name))
            return &box->cells[at];
    }
    return NULL;
}

static void count_member(struct mr_json_tree *tree, struct box *box, struct mr_str name, int by)
{
    int64_t position = element_of(tree, name);

    if (position < 0)
        box->others += (uint32_t)by;
    else
        box->elements += (uint32_t)by;
    if (position >= 0 && by > 0 && (uint64_t)position >= box->next_element)
        box->next_element = (uint64_t)position + 1;
}

static struct cell *add_cell(struct mr_json_tree *tree, struct box *box, struct mr_str name,
                             struct cell value)
{
    grow(tree, box, box->count + 1);
    box->cells[box->count] = value;
    if (box->is_object) {
        box->names[box->count] = name;
        box->has_dotted |= name.len > 0 && memchr(name.ptr, '.', name.len) != NULL;
        index_put(box, box->count);
        count_member(tree, box, name, 1);
    }
    return &box->cells[box->count++];
}

static struct box *new_box(struct mr_json_tree *tree, bool is_object)
{
    struct box *box = mr_arena_zalloc(tree->ar, sizeof *box);

    box->is_object = is_object;
    return box;
}

static void remove_member(struct mr_json_tree *tree, struct box *box, struct cell *cell)
{
    if (!is_there(cell))
        return;
    count_member(tree, box, box->names[cell - box->cells], -1);
    *cell = (struct cell){0};
}

/* Take a container's text apart. */
static void open_box(struct mr_json_tree *tree, struct cell *cell)
{
    const char *at = cell->raw.ptr, *end = at + cell->raw.len;
    struct box *box = new_box(tree, *at == '{');

    for (at = mr_json_text_blanks(at + 1, end); at < end && *at != ']' && *at != '}';
         at = mr_json_text_blanks(at, end)) {
        struct mr_str name = {0};
        if (box->is_object) {
            const char *from = at + 1;
            at = mr_json_text_skip(at, end);
            name = mr_json_text_plain(mr_str_of(from, (size_t)(at - from) - 1), tree->ar);
            at = mr_json_text_blanks(mr_json_text_blanks(at, end) + 1, end);
        }
        const char *from = at;
        struct cell *hidden = box->is_object ? find_member(box, name) : NULL;
        if (hidden != NULL) /* the last of one name counts */
            remove_member(tree, box, hidden);
        at = mr_json_text_skip(at, end);
        add_cell(tree, box, name, (struct cell){.raw = mr_str_of(from, (size_t)(at - from))});
        at = mr_json_text_blanks(at, end);
        at += at < end && *at == ',';
    }
    *cell = (struct cell){.box = box};
}

/* ---- On the way ---- */

/* A step on its way. */
struct walk {
    struct mr_json_tree *tree;
    const struct mr_step *step;
    uint32_t at;        /* next name */
    struct cell *cell;  /* where we are */
    struct box *around; /* in which container; NULL: none */
    bool is_over;       /* there is nothing that the step could remove */
};

static enum mr_status no_place(struct walk *w, const char *why_z, struct mr_error *err)
{
    if (w->step->kind == MR_STEP_UNSET) { /* gone already */
        w->is_over = true;
        return MR_OK;
    }
    return mr_step_fail(w->step, why_z, err);
}

static enum mr_status pad(struct mr_json_tree *tree, const struct mr_step *step, uint64_t count,
                          struct mr_error *err)
{
    if (count <= MR_PATCH_MAX_PADDING && tree->padded + count <= MR_PATCH_MAX_PADDING) {
        tree->padded += count;
        return MR_OK;
    }
    return mr_step_too_far(step, err);
}

static const struct cell null_cell = {.raw = {"null", 4}};

/* Element `position` of a list; made where it is missing. NULL: not there. */
static enum mr_status element(struct walk *w, struct box *box, uint64_t position, struct cell **out,
                              struct mr_error *err)
{
    *out = NULL;
    if (position < box->count) {
        *out = &box->cells[position];
        return MR_OK;
    }
    if (w->step->kind != MR_STEP_SET)
        return MR_OK;
    MR_TRY(pad(w->tree, w->step, position - box->count, err));
    while (box->count < position)
        add_cell(w->tree, box, (struct mr_str){0}, null_cell);
    *out = add_cell(w->tree, box, (struct mr_str){0}, (struct cell){0});
    return MR_OK;
}

/* The same of an array that is a document. */
static enum mr_status element_member(struct walk *w, struct box *box, uint64_t position, struct cell **out,
                                     struct mr_error *err)
{
    struct mr_str name = element_name(w->tree, position);

    *out = find_member(box, name);
    if (w->step->kind != MR_STEP_SET || (*out != NULL && is_there(*out)))
        return MR_OK;
    if (position > box->next_element)
        MR_TRY(pad(w->tree, w->step, position - box->next_element, err));
    while (box->next_element < position)
        add_cell(w->tree, box, element_name(w->tree, box->next_element), null_cell);
    *out = add_cell(w->tree, box, name, (struct cell){0});
    return MR_OK;
}

static bool position_of(struct mr_str name, uint64_t *out)
{
    return mr_is_position(name) && mr_parse_uint64(name, out);
}

/* The rest of the path may be one name with dots in it: the source writes both alike. The longest that is there. */
static struct cell *dotted_member(struct walk *w, struct box *box)
{
    const struct mr_step *step = w->step;
    struct mr_buf joined = MR_BUF_INIT((size_t)1 << 24);
    struct cell *found = NULL;
    uint32_t end = w->at + 1;

    mr_buf_append_str(&joined, step->names[w->at]);
    for (uint32_t i = w->at + 1; i < step->count; i++) {
        mr_buf_append_char(&joined, '.');
        mr_buf_append_str(&joined, step->names[i]);
        struct cell *cell = find_member(box, mr_buf_str(&joined));
        if (cell == NULL && adjusts(w->tree))
            cell = find_member(box, adjusted(w->tree, mr_buf_str(&joined)));
        if (cell != NULL && is_there(cell)) {
            found = cell;
            end = i + 1;
        }
    }
    mr_buf_free(&joined);
    w->at = found != NULL ? end - 1 : w->at;
    return found;
}

static enum mr_status known_member(struct walk *w, struct box *box, struct mr_str name, struct cell **out,
                                   struct mr_error *err)
{
    struct cell *cell =
        find_member(box, name); /* one that stays as it is, since another has its adjusted name */
    bool is_last = w->at + 1 == w->step->count;

    if (cell == NULL && adjusts(w->tree))
        cell = find_member(box, adjusted(w->tree, name));
    if (cell != NULL && !is_there(cell))
        cell = NULL;
    if (cell != NULL && !is_last && box->has_dotted && dotted_member(w, box) != NULL)
        return mr_step_fail(w->step, "it names a path, or a member whose name has dots, and there are both", err);
    if (cell == NULL && !is_last && (box->has_dotted || adjusts(w->tree)))
        cell = dotted_member(w, box);
    *out = cell;
    return MR_OK;
}

static enum mr_status into_object(struct walk *w, struct box *box, struct mr_error *err)
{
    struct mr_str name = w->step->names[w->at];
    struct cell *cell = NULL;
    uint64_t position;

    MR_TRY(known_member(w, box, name, &cell, err));
    if (cell == NULL && w->tree->style->arrays_are_documents && position_of(name, &position)) {
        if ((box->elements > 0) == (box->others > 0))
            return no_place(
                w, "a position in an array, or a member, and what the column holds does not tell which", err);
        if (box->elements > 0)
            MR_TRY(element_member(w, box, position, &cell, err));
    }
    if (cell == NULL && w->step->kind == MR_STEP_SET)
        cell = add_cell(w->tree, box, adjusted(w->tree, name), (struct cell){0});
    if (cell == NULL)
        return no_place(w, "there is no such array", err);
    w->cell = cell;
    w->around = box;
    return MR_OK;
}

static enum mr_status into_array(struct walk *w, struct box *box, struct mr_error *err)
{
    struct cell *cell = NULL;
    uint64_t position;

    if (!position_of(w->step->names[w->at], &position))
        return no_place(w, "it leads through an array, and names no position", err);
    MR_TRY(element(w, box, position, &cell, err));
    if (cell == NULL)
        return no_place(w, "there is no such element", err);
    w->cell = cell;
    w->around = box;
    return MR_OK;
}

/* Under adjusted names an array without elements is null. */
static bool is_empty_array(const struct walk *w)
{
    bool is_element = w->around != NULL && !w->around->is_object;
    enum kind kind = kind_of(w->cell);

    return adjusts(w->tree) && !is_element && (kind == KIND_NULL || kind == KIND_NOTHING) &&
           !w->tree->style->arrays_are_documents &&
           (w->at == w->step->count || mr_is_position(w->step->names[w->at]));
}

/* One name further. */
static enum mr_status walk_on(struct walk *w, struct mr_error *err)
{
    if (w->step->kind != MR_STEP_UNSET && is_empty_array(w))
        *w->cell = (struct cell){.box = new_box(w->tree, false)};
    switch (kind_of(w->cell)) {
    case KIND_NOTHING:
        if (w->step->kind != MR_STEP_SET)
            return no_place(w, "the target does not have the array", err);
        if (mr_is_position(w->step->names[w->at]))
            return no_place(
                w,
                "it names a position in an array, or a member, and the target has nothing that tells which",
                err);
        w->cell->box = new_box(w->tree, true);
        break;
    case KIND_NULL:
        return no_place(w, "it leads through a null", err);
    case KIND_SCALAR:
        return no_place(w, "it leads through a value that is neither a document nor an array", err);
    case KIND_OBJECT:
    case KIND_ARRAY:
        if (w->cell->box == NULL)
            open_box(w->tree, w->cell);
        break;
    }
    return w->cell->box->is_object ? into_object(w, w->cell->box, err) : into_array(w, w->cell->box, err);
}

/* ---- At the end of the path ---- */

static void cut_elements(struct mr_json_tree *tree, struct box *box, uint64_t size)
{
    if (box->next_element - size <= (uint64_t)box->count + 16) {
        for (uint64_t i = size; i < box->next_element; i++) {
            struct cell *cell = find_member(box, element_name(tree, i));
            if (cell != NULL)
                remove_member(tree, box, cell);
        }
    } else {
        for (uint32_t i = 0; i < box->count; i++)
            if (element_of(tree, box->names[i]) >= (int64_t)size)
                remove_member(tree, box, &box->cells[i]);
    }
    box->next_element = size;
}

static enum mr_status cut(struct walk *w, struct mr_error *err)
{
    uint64_t size = (uint64_t)w->step->size;

    if (is_empty_array(w))
        return MR_OK;
    enum kind kind = kind_of(w->cell);
    if ((kind == KIND_OBJECT || kind == KIND_ARRAY) && w->cell->box == NULL)
        open_box(w->tree, w->cell);
    struct box *box = w->cell->box;
    if (kind == KIND_ARRAY) {
        box->count = box->count < size ? box->count : (uint32_t)size;
        return MR_OK;
    }
    if (kind != KIND_OBJECT || !w->tree->style->arrays_are_documents || box->others > 0)
        return no_place(w, "what is to be cut short is no array in the target", err);
    if (size < box->next_element)
        cut_elements(w->tree, box, size);
    return MR_OK;
}

static void unset(struct walk *w)
{
    bool is_member = w->around != NULL && w->around->is_object;

    if (w->around == NULL)
        *w->cell = (struct cell){0};
    else if (is_member && element_of(w->tree, w->around->names[w->cell - w->around->cells]) < 0)
        remove_member(w->tree, w->around, w->cell);
    else
        *w->cell = null_cell;
}

enum mr_status mr_json_tree_step(struct mr_json_tree *tree, const struct mr_step *step, struct mr_error *err)
{
    struct walk w = {.tree = tree, .step = step, .cell = &tree->root};

    for (; w.at < step->count && !w.is_over; w.at++)
        MR_TRY(walk_on(&w, err));
    if (w.is_over)
        return MR_OK;
    switch (step->kind) {
    case MR_STEP_SET: {
        bool is_element = w.around != NULL && !w.around->is_object;
        *w.cell =
            step->is_empty && adjusts(tree) && !is_element ? null_cell : (struct cell){.raw = step->json};
        return MR_OK;
    }
    case MR_STEP_UNSET:
        unset(&w);
        return MR_OK;
    case MR_STEP_CUT:
        return cut(&w, err);
    }
    return MR_OK;
}

/* ---- Beginning and end ---- */

struct mr_json_tree *mr_json_tree_open(struct mr_str json, const struct mr_patch_style *style,
                                       struct mr_arena *ar)
{
    struct mr_json_tree *tree = mr_arena_zalloc(ar, sizeof *tree);

    tree->style = style;
    tree->ar = ar;
    tree->name = MR_BUF_INIT((size_t)1 << 24);
    tree->root.raw = json.ptr != NULL ? mr_str_trim(json) : json;
    if (kind_of(&tree->root) == KIND_NULL)
        tree->root.raw.ptr = NULL;
    return tree;
}

static void write_cell(const struct mr_json_tree *tree, const struct cell *cell, bool is_element,
                       struct mr_buf *out)
{
    const struct box *box = cell->box;
    bool has_any = false;

    if (box == NULL) {
        mr_buf_append_str(out, cell->raw);
        return;
    }
    if (!box->is_object && box->count == 0 && adjusts(tree) && !is_element) {
        mr_buf_append_z(out, "null");
        return;
    }
    mr_buf_append_char(out, box->is_object ? '{' : '[');
    for (uint32_t i = 0; i < box->count && !out->overflow; i++) {
        if (!is_there(&box->cells[i]))
            continue;
        if (has_any)
            mr_buf_append_char(out, ',');
        has_any = true;
        if (box->is_object) {
            mr_buf_append_json(out, box->names[i]);
            mr_buf_append_char(out, ':');
        }
        write_cell(tree, &box->cells[i], !box->is_object, out); /* as deep as the longest path, at most */
    }
    mr_buf_append_char(out, box->is_object ? '}' : ']');
}

enum mr_status mr_json_tree_close(struct mr_json_tree *tree, struct mr_str *out, struct mr_error *err)
{
    struct mr_buf text = MR_BUF_INIT(MR_PATCH_MAX_BYTES);
    enum mr_status status;

    *out = (struct mr_str){0};
    mr_buf_free(&tree->name);
    if (!is_there(&tree->root))
        return MR_OK;
    write_cell(tree, &tree->root, false, &text);
    status = mr_buf_check(&text, "the updated value of the column", err);
    if (status == MR_OK && !mr_str_eq_z(mr_buf_str(&text), "null"))
        *out = mr_arena_copy(tree->ar, mr_buf_str(&text));
    mr_buf_free(&text);
    return status;
}
