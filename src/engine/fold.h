/* Fold: the changes of one table in one batch become one final operation per key. Keyless tables keep every change, in order. Cells are
 * by tracker column and not yet coerced; they live in the batch's arena. Main thread only. */
#ifndef MILLRACE_ENGINE_FOLD_H
#define MILLRACE_ENGINE_FOLD_H

#include <millrace/base/arena.h>
#include <millrace/model/table.h>

struct mr_entry {
    uint64_t hash;
    struct mr_str key;         /* canonical key bytes; empty for keyless rows */
    enum mr_row_kind kind;
    bool full;                 /* columns beyond `cells` are NULL, not kept */
    bool is_new;               /* the producer says that there was no such row before this batch */
    uint32_t origin;           /* record in the batch, the last one that touched the row */
    uint64_t unit;             /* the change, the last one that touched the row: grows from change to change */
    uint32_t merged;           /* how many changes it stands for */
    uint64_t lane_key;         /* see lane.h; 0 for keyless rows */
    uint32_t lane;
    struct mr_value *cells;    /* ABSENT and UNAVAILABLE = keep */
    uint32_t cell_count;
    struct mr_value *match;    /* keyless update and delete */
    uint32_t match_count;
    /* tables of arrays: the key is the root's key and four bytes, most significant first, for each position */
    uint32_t root_len;         /* bytes of the root's key; 0: the table is none of an array */
    uint32_t next;             /* the group's entry before this one, + 1; 0 none. A group are the rows of one root */
    uint32_t from, end;        /* DELETE_RANGE: of the position after those in the key; the key ends with `end`.
                                * FILL: `end` is the position before which rows are filled in, which column `from` holds; 0 nothing is left to do */
};

struct mr_fold {
    struct mr_entry *entries;  /* in order of first touch */
    size_t count, cap;
    uint32_t *index;           /* hash index over entries, count + 1; 0 = free */
    size_t index_cap;          /* power of two */
    uint32_t *groups;          /* hash index over the roots of the entries: last entry of each, + 1; 0 = free */
    size_t group_count, group_cap;
    bool truncate_first;
    uint32_t truncate_origin;  /* the record that wants it */
    bool ordered;              /* nothing is merged: one entry a change */
    uint64_t changes;
};

/* Add one change. Ranges are applied before the table's rows (mr_fold_void), what fills in after them. `e` is copied; its key, cells and match must live in `ar`. */
void mr_fold_add(struct mr_fold *fold, struct mr_arena *ar, const struct mr_entry *e);
/* Ranges of one change and one root, which come before its rows: what the fold has of them is deleted. Not where nothing is merged. */
void mr_fold_void(struct mr_fold *fold, const struct mr_entry *ranges, size_t count);
/* Fill in the hash of an entry whose key is complete. */
void mr_entry_hash(struct mr_entry *e);
/* Order counts from here on: nothing more is merged, and what there is stands as it is applied, ranges first. */
void mr_fold_order(struct mr_fold *fold, struct mr_arena *ar);
/* Everything before is void: the table is emptied first. */
void mr_fold_truncate(struct mr_fold *fold, uint32_t origin);

/* The cell of an entry as it stands: beyond the array NULL (full) or ABSENT. */
static inline struct mr_value mr_entry_cell(const struct mr_entry *e, uint32_t column)
{
    if (column < e->cell_count)
        return e->cells[column];
    return e->full ? mr_value_null() : (struct mr_value){.tag = MR_V_ABSENT};
}

#endif
