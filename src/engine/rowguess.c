/* Positions that are none. A partial update names "map.7.x", and its decoder takes 7 for a position in an array. If the table has columns or arrays
 * below members of `map` that are numbers, and no array `map`, then `map` is a document and 7 a member of it; the elements are rewritten to say so.
 * Where nothing is known of `map` it stays an array: documents with numbers for names are the exception. Where only other members are known, it may be
 * either: an array that has been empty until now has left no trace. */
#include "rowbuild_parts.h"

struct guess {
    const struct mr_rel *rel;
    struct mr_arena *ar;
    struct mr_field *after, *removed; /* of the row, grown */
    size_t after_count, after_cap, removed_count, removed_cap;
};

static void add_field(struct mr_field **items, size_t *count, size_t *cap, struct mr_arena *ar, struct mr_field field)
{
    if (*count == *cap) {
        size_t bigger = *cap * 2 + 8;
        struct mr_field *grown = mr_arena_alloc(ar, bigger * sizeof *grown);
        if (*count > 0)
            memcpy(grown, *items, *count * sizeof *grown);
        *items = grown;
        *cap = bigger;
    }
    (*items)[(*count)++] = field;
}

/* Bytes of the path's first `steps` steps. */
static struct mr_str first_steps(struct mr_str array, uint32_t steps)
{
    size_t mark = sizeof MR_ARRAY_MARK - 1, len = 0;
    for (uint32_t i = 0; i < steps && len < array.len; i++) {
        if (i > 0)
            len += mark;
        len += mr_array_first_step(mr_str_of(array.ptr + len, array.len - len)).len;
    }
    return mr_str_of(array.ptr, len);
}

enum below {
    BELOW_NOTHING,
    BELOW_NAMES,   /* documents, of whose members none is a number */
    BELOW_NUMBERS, /* documents with numbers for names */
};

/* What `path` says of the document at `at`, which ends in a dot. */
static enum below look_at(struct mr_str path, struct mr_str at)
{
    size_t end = at.len;
    if (!mr_str_starts(path, at))
        return BELOW_NOTHING;
    while (end < path.len && path.ptr[end] != '.' && path.ptr[end] != '\\')
        end++;
    return mr_is_position(mr_str_of(path.ptr + at.len, end - at.len)) ? BELOW_NUMBERS : BELOW_NAMES;
}

/* What is known strictly below the path, in the row (`outer` NULL) or in the elements of `outer`? */
static enum below look_below(const struct guess *g, struct mr_str outer, struct mr_str step)
{
    const struct mr_rel *rel = outer.ptr == NULL ? g->rel : mr_rel_find_child(g->rel, outer);
    enum below found = BELOW_NOTHING;
    if (rel == NULL)
        return found;
    struct mr_str at = mr_arena_printf(g->ar, "%.*s.", MR_STR_FMT(step));
    for (size_t i = 0; i < mr_tracker_count(rel->tk) && found != BELOW_NUMBERS; i++) {
        enum below one = look_at(mr_tracker_column(rel->tk, i)->path, at);
        found = one > found ? one : found;
    }
    for (size_t i = 0; i < g->rel->child_count && found != BELOW_NUMBERS; i++) {
        struct mr_str array = g->rel->children[i]->array;
        size_t skip = outer.ptr != NULL ? outer.len + sizeof MR_ARRAY_MARK - 1 : 0;
        if (outer.ptr != NULL && !mr_array_is_within(array, outer))
            continue;
        enum below one = look_at(mr_str_of(array.ptr + skip, array.len - skip), at);
        found = one > found ? one : found;
    }
    return found;
}

/* The first level of the element's path whose array nobody knows, while documents are known at its place; 0 none. */
static uint32_t document_level(const struct guess *g, const struct mr_element *el, enum below *below)
{
    bool has_own = el->kind == MR_ELEMENT_ROW || el->kind == MR_ELEMENT_PART;
    uint32_t positions = has_own ? el->depth : el->depth - 1;
    for (uint32_t level = 1; level <= positions; level++) {
        struct mr_str array = first_steps(el->array, level), outer;
        if (mr_rel_find_child(g->rel, array) != NULL)
            continue;
        struct mr_str step = mr_array_last_step(array, &outer);
        *below = look_below(g, outer, step);
        if (*below != BELOW_NOTHING)
            return level;
    }
    return 0;
}

/* The first level that is a member and no position; 0 none. */
static uint32_t wrong_level(const struct guess *g, const struct mr_element *el)
{
    enum below below = BELOW_NOTHING;
    uint32_t level = document_level(g, el, &below);
    return below == BELOW_NUMBERS ? level : 0;
}

bool mr_rowbuild_is_undecided(const struct mr_rel *rel, const struct mr_element *el, struct mr_arena *ar)
{
    struct guess g = {.rel = rel, .ar = ar};
    enum below below;
    return el->is_guess && document_level(&g, el, &below) > 0;
}

/* A path within the element becomes one within what is around it. */
static struct mr_str outward(const struct guess *g, struct mr_str member, struct mr_str path)
{
    struct mr_str value = MR_STR(MR_ELEMENT_VALUE);
    if (mr_str_starts(path, value))
        return mr_arena_printf(g->ar, "%.*s%.*s", MR_STR_FMT(member), (int)(path.len - value.len), path.ptr + value.len);
    return mr_arena_printf(g->ar, "%.*s.%.*s", MR_STR_FMT(member), MR_STR_FMT(path));
}

static struct mr_fields outward_all(const struct guess *g, struct mr_str member, struct mr_fields fields)
{
    struct mr_field *items = mr_arena_alloc(g->ar, (fields.count + 1) * sizeof *items);
    for (size_t i = 0; i < fields.count; i++) {
        items[i] = fields.items[i];
        items[i].path = outward(g, member, fields.items[i].path);
    }
    return (struct mr_fields){items, fields.count};
}

/* The array's path and positions without the level. */
static void drop_level(const struct guess *g, struct mr_element *el, uint32_t level, struct mr_str member)
{
    struct mr_str before = first_steps(el->array, level - 1), upto = first_steps(el->array, level);
    struct mr_str rest = mr_str_of(el->array.ptr + upto.len, el->array.len - upto.len), value = MR_STR(MR_ELEMENT_VALUE);
    const char *mark = level > 1 ? MR_ARRAY_MARK : "";
    if (rest.len > 0) {
        rest = mr_str_of(rest.ptr + sizeof MR_ARRAY_MARK - 1, rest.len - (sizeof MR_ARRAY_MARK - 1));
        bool is_direct = mr_str_starts(rest, value);
        const char *dot = is_direct ? "" : ".";
        rest = is_direct ? mr_str_of(rest.ptr + value.len, rest.len - value.len) : rest;
        el->array = mr_arena_printf(g->ar, "%.*s%s%.*s%s%.*s", MR_STR_FMT(before), mark, MR_STR_FMT(member), dot, MR_STR_FMT(rest));
    } else {
        el->array = before;
    }
    uint32_t *pos = mr_arena_alloc(g->ar, (el->depth + 1) * sizeof *pos), n = 0;
    bool has_own = el->kind == MR_ELEMENT_ROW || el->kind == MR_ELEMENT_PART;
    for (uint32_t i = 0; i < (has_own ? el->depth : el->depth - 1); i++)
        if (i != level - 1)
            pos[n++] = el->pos[i];
    el->pos = pos;
    el->depth--;
}

/* An element whose own position is a member is a part of what is around it. False: of the row itself, and no element is left. */
static bool dissolve(struct guess *g, struct mr_element *el, struct mr_str member)
{
    struct mr_fields fields = outward_all(g, member, el->fields), removed = outward_all(g, member, el->removed);
    if (el->kind == MR_ELEMENT_ROW) {
        struct mr_field *whole = mr_arena_zalloc(g->ar, sizeof *whole);
        whole->path = member;
        removed = (struct mr_fields){whole, 1};
    }
    drop_level(g, el, el->depth, member);
    el->kind = MR_ELEMENT_PART;
    el->fields = fields;
    el->removed = removed;
    if (el->depth > 0)
        return true;
    for (size_t i = 0; i < fields.count; i++)
        add_field(&g->after, &g->after_count, &g->after_cap, g->ar, fields.items[i]);
    for (size_t i = 0; i < removed.count; i++)
        add_field(&g->removed, &g->removed_count, &g->removed_cap, g->ar, removed.items[i]);
    return false;
}

static struct mr_str member_at(const struct guess *g, const struct mr_element *el, uint32_t level)
{
    struct mr_str outer, step = mr_array_last_step(first_steps(el->array, level), &outer);
    return mr_arena_printf(g->ar, "%.*s.%u", MR_STR_FMT(step), el->pos[level - 1]);
}

/* Correct one element; false: it has gone into the row. `*freed`: what lies in it belongs to no whole element any more. */
static bool correct(struct guess *g, struct mr_element *el, bool *freed)
{
    for (uint32_t level = wrong_level(g, el); level > 0; level = wrong_level(g, el)) {
        bool is_own = level == el->depth && (el->kind == MR_ELEMENT_ROW || el->kind == MR_ELEMENT_PART);
        struct mr_str member = member_at(g, el, level);
        if (!is_own) {
            drop_level(g, el, level, member);
            continue;
        }
        *freed = *freed || (el->kind == MR_ELEMENT_ROW && !el->is_inner);
        if (!dissolve(g, el, member))
            return false;
    }
    return true;
}

static void start(struct guess *g, const struct mr_change *ev)
{
    g->after_count = g->after_cap = ev->after.count;
    g->after = (struct mr_field *)(uintptr_t)ev->after.items;
    g->removed_count = g->removed_cap = ev->removed.count;
    g->removed = (struct mr_field *)(uintptr_t)ev->removed.items;
}

void mr_rowbuild_settle_guesses(const struct mr_rel *rel, struct mr_change *ev, struct mr_arena *ar)
{
    struct guess g = {.rel = rel, .ar = ar};
    size_t count = ev->elements.count, kept = 0;
    bool any = false;
    for (size_t i = 0; i < count && !any; i++)
        any = ev->elements.items[i].is_guess && wrong_level(&g, &ev->elements.items[i]) > 0;
    if (!any)
        return;
    start(&g, ev);
    struct mr_element *items = mr_arena_alloc(ar, (count + 1) * sizeof *items);
    bool freed = false;
    uint32_t freed_set = 0, freed_depth = 0;
    for (size_t i = 0; i < count; i++) {
        struct mr_element el = ev->elements.items[i];
        if (freed && el.set == freed_set && el.is_inner && el.kind == MR_ELEMENT_LENGTH && el.depth == freed_depth + 1)
            el.is_inner = false; /* it lay in the element that has become a part of a document */
        uint32_t depth = el.depth, set = el.set;
        bool frees = false;
        bool stays = !el.is_guess || correct(&g, &el, &frees);
        if (frees) {
            freed = true;
            freed_set = set;
            freed_depth = depth;
        }
        if (stays)
            items[kept++] = el;
    }
    ev->elements = (struct mr_elements){items, kept};
    ev->after = (struct mr_fields){g.after, g.after_count};
    ev->removed = (struct mr_fields){g.removed, g.removed_count};
}
