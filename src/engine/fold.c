/* Fold the changes of one table: see fold.h. The rules of merging, for one key:
 *
 *   before      then full row          then partial row        then delete
 *   full row    the new row; what it   the old row with the    delete
 *   (or partial)does not know (un-     new cells on top
 *               available) stays old
 *   delete      the new row; what it   the new cells, all      delete
 *               does not know is NULL  others NULL
 *
 * which is what applying them one by one gives. A cell that is a patch comes behind what the cell was. */
#include "fold.h"

#include <millrace/base/hash.h>
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

static struct mr_entry *find(struct mr_fold *fold, const struct mr_entry *e)
{
    if (fold->index_cap == 0)
        return NULL;
    size_t mask = fold->index_cap - 1;
    for (size_t slot = e->hash & mask; fold->index[slot] != 0; slot = (slot + 1) & mask) {
        struct mr_entry *have = &fold->entries[fold->index[slot] - 1];
        if (have->hash == e->hash && mr_str_eq(have->key, e->key))
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

void mr_fold_add(struct mr_fold *fold, struct mr_arena *ar, const struct mr_entry *e)
{
    fold->changes++;
    bool keyed = e->kind == MR_ROW_UPSERT || e->kind == MR_ROW_DELETE;
    if (fold->ordered || !keyed) {
        append(fold, ar, e);
        return;
    }

    struct mr_entry *have = find(fold, e);
    if (have == NULL) {
        index_grow(fold, ar);
        append(fold, ar, e);
        index_insert(fold, fold->count - 1);
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

void mr_fold_truncate(struct mr_fold *fold, uint32_t origin)
{
    fold->count = 0;
    if (fold->index_cap != 0)
        memset(fold->index, 0, fold->index_cap * sizeof *fold->index);
    fold->truncate_first = true;
    fold->truncate_origin = origin;
}
