/* Fold the changes of one table: see fold.h. The rules of merging, for one key:
 *
 *   before      then full row          then partial row        then delete
 *   full row    the new row; what it   the old row with the    delete
 *   (or partial)does not know (un-     new cells on top
 *               available) stays old
 *   delete      the new row; what it   the new cells, all      delete
 *               does not know is NULL  others NULL
 *
 * which is what applying them one by one gives. A cell that is a patch comes behind what the cell was.
 *
 * Ranges (tables of arrays) are applied before all rows. So a range turns the rows that the batch has of it into deletes (mr_fold_void), and what comes
 * after it merges with those; ranges with the same beginning and end are one, with the smaller start.
 *
 * What fills in is applied after all rows: an array has rows for all positions before the last, so that where one is missing in the end, it is one that
 * lies before an element which the batch has set beyond the array's end. A range that takes that element away leaves what is before the range. */
#include "fold.h"

#include <stdlib.h>

#include <millrace/base/hash.h>
#include <millrace/base/mem.h>
#include <millrace/model/patch.h>

static bool is_keep(struct mr_value v)
{
    return v.tag == MR_V_ABSENT || v.tag == MR_V_UNAVAILABLE;
}

static void index_insert(struct mr_fold *fold, size_t entry)
{
    size_t mask = fold->index_cap - 1;
    size_t slot = fold->entries[entry].hash & mask;
    while (fold->index[slot] != 0)
        slot = (slot + 1) & mask;
    fold->index[slot] = (uint32_t)entry + 1;
}

static void index_grow(struct mr_fold *fold, struct mr_arena *ar)
{
    if (fold->index_cap != 0 && (fold->count + 1) * 2 <= fold->index_cap)
        return;
    fold->index_cap = fold->index_cap == 0 ? 64 : fold->index_cap * 2;
    fold->index = mr_arena_zalloc(ar, fold->index_cap * sizeof *fold->index);
    for (size_t i = 0; i < fold->count; i++)
        index_insert(fold, i);
}

/* Rows, ranges and what fills in have keys of their own. */
static unsigned class_of(enum mr_row_kind kind)
{
    return kind == MR_ROW_DELETE_RANGE ? 1 : kind == MR_ROW_FILL ? 3 : 0; /* 2 are groups */
}

static struct mr_entry *find(const struct mr_fold *fold, const struct mr_entry *e)
{
    if (fold->index_cap == 0)
        return NULL;
    size_t mask = fold->index_cap - 1;
    for (size_t slot = e->hash & mask; fold->index[slot] != 0; slot = (slot + 1) & mask) {
        struct mr_entry *have = &fold->entries[fold->index[slot] - 1];
        if (have->hash == e->hash && mr_str_eq(have->key, e->key) &&
            class_of(have->kind) == class_of(e->kind))
            return have;
    }
    return NULL;
}

static struct mr_entry *append(struct mr_fold *fold, struct mr_arena *ar, const struct mr_entry *e)
{
    if (fold->count == fold->cap) {
        size_t cap = fold->cap == 0 ? 64 : fold->cap * 2;
        struct mr_entry *bigger = mr_arena_alloc(ar, cap * sizeof *bigger);
        if (fold->count > 0)
            memcpy(bigger, fold->entries, fold->count * sizeof *bigger);
        fold->entries = bigger;
        fold->cap = cap;
    }
    fold->entries[fold->count] = *e;
    return &fold->entries[fold->count++];
}

/* The old row shows through where the new one keeps. */
static void merge_upsert(struct mr_entry *have, const struct mr_entry *e, struct mr_arena *ar)
{
    bool was_deleted = have->kind == MR_ROW_DELETE;
    uint32_t count = have->cell_count > e->cell_count ? have->cell_count : e->cell_count;
    struct mr_value *cells = e->cells;
    if (count > e->cell_count) {
        cells = mr_arena_alloc(ar, count * sizeof *cells);
        for (uint32_t i = 0; i < count; i++)
            cells[i] = mr_entry_cell(e, i);
    }
    for (uint32_t i = 0; i < count; i++) {
        struct mr_value before = was_deleted ? mr_value_null() : mr_entry_cell(have, i);
        if (is_keep(cells[i]))
            cells[i] = before;
        else if (cells[i].tag == MR_V_PATCH)
            cells[i] = mr_patch_after(cells[i], before, ar);
    }
    have->full = e->full || was_deleted || have->full;
    have->is_new = have->is_new && !was_deleted;
    have->kind = MR_ROW_UPSERT;
    have->cells = cells;
    have->cell_count = count;
}

void mr_entry_hash(struct mr_entry *e)
{
    e->hash = mr_hash(e->key.ptr, e->key.len, class_of(e->kind));
}

/* ---- rows of one root ---- */

static uint64_t group_hash(const struct mr_entry *e)
{
    return mr_hash(e->key.ptr, e->root_len, 2);
}

/* The slot of the entry's group: free, or of entries with the same root. */
static uint32_t *group_slot(struct mr_fold *fold, const struct mr_entry *e)
{
    size_t mask = fold->group_cap - 1;
    for (size_t slot = group_hash(e) & mask;; slot = (slot + 1) & mask) {
        const struct mr_entry *have = fold->groups[slot] == 0 ? NULL : &fold->entries[fold->groups[slot] - 1];
        if (have == NULL || (have->root_len == e->root_len && memcmp(have->key.ptr, e->key.ptr, e->root_len) == 0))
            return &fold->groups[slot];
    }
}

static void groups_grow(struct mr_fold *fold, struct mr_arena *ar)
{
    if (fold->group_cap != 0 && (fold->group_count + 1) * 2 <= fold->group_cap)
        return;
    const uint32_t *old = fold->groups;
    size_t old_cap = fold->group_cap;
    fold->group_cap = old_cap == 0 ? 64 : old_cap * 2;
    fold->groups = mr_arena_zalloc(ar, fold->group_cap * sizeof *fold->groups);
    for (size_t i = 0; i < old_cap; i++)
        if (old[i] != 0)
            *group_slot(fold, &fold->entries[old[i] - 1]) = old[i];
}

static void join_group(struct mr_fold *fold, struct mr_arena *ar, size_t entry)
{
    struct mr_entry *e = &fold->entries[entry];
    if (e->root_len == 0 || e->kind == MR_ROW_DELETE_RANGE)
        return;
    groups_grow(fold, ar);
    uint32_t *slot = group_slot(fold, e);
    fold->group_count += *slot == 0;
    e->next = *slot;
    *slot = (uint32_t)entry + 1;
}

/* ---- ranges ---- */

/* A range as an interval of positions, written one behind another, so that bytes compare as positions do. */
#define MAX_POSITIONS 32 /* bytes: four for each of eight */
struct interval {
    unsigned char from[MAX_POSITIONS], end[MAX_POSITIONS];
};

static void put_position(unsigned char *at, uint32_t n)
{
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(n >> (24 - 8 * i));
}

static struct interval interval_of(const struct mr_entry *range)
{
    struct interval v = {{0}, {0}};
    size_t len = range->key.len - range->root_len - 4; /* without the end */
    memcpy(v.from, range->key.ptr + range->root_len, len);
    memcpy(v.end, v.from, len);
    put_position(v.from + len, range->from);
    put_position(v.end + len, range->end);
    return v;
}

static int compare_intervals(const void *a, const void *b)
{
    return memcmp(((const struct interval *)a)->from, ((const struct interval *)b)->from, MAX_POSITIONS);
}

/* Sorted, and one where two meet. */
static size_t join_intervals(struct interval *v, size_t count)
{
    size_t kept = 0;
    qsort(v, count, sizeof *v, compare_intervals);
    for (size_t i = 1; i < count; i++) {
        if (memcmp(v[i].from, v[kept].end, MAX_POSITIONS) > 0)
            v[++kept] = v[i];
        else if (memcmp(v[i].end, v[kept].end, MAX_POSITIONS) > 0)
            memcpy(v[kept].end, v[i].end, MAX_POSITIONS);
    }
    return kept + 1;
}

/* The interval that the entry lies in, or NULL. What fills in lies where the last row lies that it may bring. */
static const struct interval *around(const struct interval *v, size_t count, const struct mr_entry *e)
{
    unsigned char pos[MAX_POSITIONS] = {0};
    size_t len = e->key.len - e->root_len;
    memcpy(pos, e->key.ptr + e->root_len, len);
    if (e->kind == MR_ROW_FILL)
        put_position(pos + len - 4, e->end - 1);
    size_t low = 0, high = count; /* the last that begins at or before */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (memcmp(v[middle].from, pos, MAX_POSITIONS) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && memcmp(pos, v[low - 1].end, MAX_POSITIONS) < 0 ? &v[low - 1] : NULL;
}

/* Nothing is filled in from the interval's beginning on. */
static void cut_fill(struct mr_entry *e, const struct interval *v)
{
    size_t around_len = e->key.len - e->root_len - 4;
    const unsigned char *p = v->from + around_len;
    bool is_same_array = memcmp(v->from, e->key.ptr + e->root_len, around_len) == 0;
    e->end = is_same_array ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3] : 0;
    e->cells[e->from] = mr_value_int(e->end);
}

void mr_fold_void(struct mr_fold *fold, const struct mr_entry *ranges, size_t count)
{
    uint32_t last = fold->group_cap == 0 || count == 0 ? 0 : *group_slot(fold, &ranges[0]);
    if (last == 0)
        return;
    struct interval *v = mr_xcalloc(count, sizeof *v);
    for (size_t i = 0; i < count; i++)
        v[i] = interval_of(&ranges[i]);
    size_t joined = join_intervals(v, count);
    for (uint32_t i = last; i != 0; i = fold->entries[i - 1].next) {
        struct mr_entry *have = &fold->entries[i - 1];
        bool is_fill = have->kind == MR_ROW_FILL;
        const struct interval *in = is_fill && have->end == 0 ? NULL : around(v, joined, have);
        if (in != NULL && is_fill)
            cut_fill(have, in);
        if (in == NULL || is_fill)
            continue;
        have->kind = MR_ROW_DELETE;
        have->full = have->is_new = false;
        have->origin = ranges[0].origin;
        have->merged += ranges[0].merged;
    }
    mr_xfree(v);
}

static void add_range(struct mr_fold *fold, struct mr_arena *ar, const struct mr_entry *e)
{
    struct mr_entry *have = find(fold, e);
    if (have == NULL) {
        index_grow(fold, ar);
        append(fold, ar, e);
        index_insert(fold, fold->count - 1);
        return;
    }
    if (e->from < have->from) {
        have->from = e->from;
        have->cells = e->cells;
        have->cell_count = e->cell_count;
    }
    have->origin = e->origin;
    have->merged += e->merged;
}

/* Is there a row right before? Then nothing is missing before it either. */
static bool has_row_before(const struct mr_fold *fold, struct mr_arena *ar, const struct mr_entry *e)
{
    struct mr_entry before = {.kind = MR_ROW_UPSERT};
    char *key = mr_arena_alloc(ar, e->key.len);
    memcpy(key, e->key.ptr, e->key.len);
    put_position((unsigned char *)key + e->key.len - 4, e->end - 1);
    before.key = mr_str_of(key, e->key.len);
    mr_entry_hash(&before);
    const struct mr_entry *have = find(fold, &before);
    return have != NULL && have->kind == MR_ROW_UPSERT;
}

static void add_fill(struct mr_fold *fold, struct mr_arena *ar, const struct mr_entry *e)
{
    struct mr_entry *have = find(fold, e);
    if (have == NULL && has_row_before(fold, ar, e))
        return;
    if (have == NULL) {
        index_grow(fold, ar);
        append(fold, ar, e);
        index_insert(fold, fold->count - 1);
        join_group(fold, ar, fold->count - 1);
        return;
    }
    have->end = e->end;
    have->cells = e->cells;
    have->cell_count = e->cell_count;
    have->origin = e->origin;
    have->merged += e->merged;
}

void mr_fold_add(struct mr_fold *fold, struct mr_arena *ar, const struct mr_entry *e)
{
    fold->changes++;
    bool is_range = e->kind == MR_ROW_DELETE_RANGE;
    bool keyed = e->kind == MR_ROW_UPSERT || e->kind == MR_ROW_DELETE || e->kind == MR_ROW_FILL || is_range;
    if (fold->ordered || !keyed) {
        append(fold, ar, e);
        return;
    }
    if (is_range || e->kind == MR_ROW_FILL) {
        (is_range ? add_range : add_fill)(fold, ar, e);
        return;
    }

    struct mr_entry *have = find(fold, e);
    if (have == NULL) {
        index_grow(fold, ar);
        append(fold, ar, e);
        index_insert(fold, fold->count - 1);
        join_group(fold, ar, fold->count - 1);
        return;
    }

    if (e->kind == MR_ROW_DELETE) {
        have->kind = MR_ROW_DELETE;
        have->cells = e->cells;
        have->cell_count = e->cell_count;
        have->full = false;
    } else {
        merge_upsert(have, e, ar);
    }
    have->origin = e->origin;
    have->merged += e->merged;
}

void mr_fold_order(struct mr_fold *fold, struct mr_arena *ar)
{
    if (fold->ordered)
        return;
    struct mr_entry *entries = mr_arena_alloc(ar, (fold->cap + 1) * sizeof *entries);
    size_t n = 0;
    static const unsigned order[] = {1, 0, 3};
    for (int pass = 0; pass < 3; pass++)
        for (size_t i = 0; i < fold->count; i++)
            if (class_of(fold->entries[i].kind) == order[pass])
                entries[n++] = fold->entries[i];
    fold->entries = entries;
    fold->ordered = true;
}

void mr_fold_truncate(struct mr_fold *fold, uint32_t origin)
{
    fold->count = 0;
    if (fold->index_cap != 0)
        memset(fold->index, 0, fold->index_cap * sizeof *fold->index);
    if (fold->group_cap != 0)
        memset(fold->groups, 0, fold->group_cap * sizeof *fold->groups);
    fold->group_count = 0;
    fold->truncate_first = true;
    fold->truncate_origin = origin;
}
