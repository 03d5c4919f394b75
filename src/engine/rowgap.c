/* What a whole document does not mention. Elements given as a whole say everything of the arrays within them: those that they mention follow with
 * their length, all others are empty. The arrays mentioned come in the order of their positions, so what lies between two of them is a few
 * ranges, however many elements there are without that array; the ranges are never more than the arrays mentioned, times their depth. */
#include "rowchild.h"

/* The rows between two arrays of the table: positions `a` (NULL: from the beginning on) and `b` (NULL: up to the end), of `depth` each, which have
 * the first `shared` in common and differ at that place. Where a is NULL, [from] stands for what would come after it; where b is, [end]. */
struct gap {
    struct mr_row_build *build;
    struct mr_rel *rel;
    uint32_t depth;  /* positions that name an array of the table */
    uint32_t shared; /* positions of the elements around everything */
    uint32_t from, end;
};

static bool emit(const struct gap *g, const uint32_t *pos, uint32_t count, uint32_t from, uint32_t end)
{
    return from >= end || mr_child_range(g->build, g->rel, pos, count, from, end);
}

static bool between(const struct gap *g, const uint32_t *base, const uint32_t *a, const uint32_t *b)
{
    uint32_t level = g->shared;
    while (a != NULL && b != NULL && level < g->depth && a[level] == b[level])
        level++;
    if (level == g->depth)
        return true; /* the same array twice */
    for (uint32_t t = g->depth; a != NULL && t-- > level + 1;) /* what comes after a, within its surroundings */
        if (!emit(g, a, t, a[t] + 1, MR_LAST_POSITION))
            return false;
    const uint32_t *around = a != NULL ? a : b != NULL ? b : base;
    if (!emit(g, around, level, a != NULL ? a[level] + 1 : g->from, b != NULL ? b[level] : g->end))
        return false;
    for (uint32_t t = level + 1; b != NULL && t < g->depth; t++) /* what comes before b */
        if (!emit(g, b, t, 0, b[t]))
            return false;
    return true;
}

bool mr_child_gaps(struct mr_row_build *b, struct mr_rel *rel, const uint32_t *pos, uint32_t count, uint32_t from, uint32_t end,
                   uint32_t set)
{
    struct gap g = {.build = b, .rel = rel, .depth = rel->depth - 1, .shared = count, .from = from, .end = end};
    struct mr_child_build *cb = rel->build_seq == b->in->build_seq ? rel->build : NULL;
    const uint32_t *last = NULL;
    while (cb != NULL && cb->next_inner < cb->inner_count) {
        const struct mr_element *el = &b->ev->elements.items[cb->inner[cb->next_inner]];
        if (el->set != set)
            break;
        cb->next_inner++;
        if (!between(&g, pos, last, el->pos))
            return false;
        last = el->pos;
    }
    return between(&g, pos, last, NULL);
}
