/* Elements of arrays on their way to fold entries: what rowchild.c, rowgap.c and rowmove.c share. */
#ifndef MILLRACE_ENGINE_ROWCHILD_H
#define MILLRACE_ENGINE_ROWCHILD_H

#include "rowbuild_parts.h"

#define MR_LAST_POSITION ((uint32_t)INT32_MAX) /* beyond every position */

/* A root's key as the child's tracker has judged it. */
struct mr_child_key {
    struct mr_judged *cells;
    size_t count;
    struct mr_str bytes;     /* canonical */
    uint64_t lane_key;       /* the root's */
};

struct mr_child_list {
    struct mr_entry *items;
    size_t count, cap;
};

/* One table's part in the change. */
struct mr_child_build {
    struct mr_child_build *next;
    struct mr_row_build *root;
    struct mr_row_build b;   /* the root's row, with the child as its table */
    struct mr_child_key key;
    uint32_t pos_column[MR_ARRAY_MAX_DEPTH];
    struct mr_child_list rows, ranges;
    size_t old_ranges;       /* so many of the first ranges are of the key that the row had before */
    struct mr_child_list moves; /* go before ranges and rows: rows of the key that the row had before become this one's */
    /* Arrays of this table that lie in elements which the change gives as a whole (rowgap.c): indexes into the change's elements. */
    uint32_t *inner;
    size_t inner_count, next_inner;
};

/* The child's part in the change, begun if need be; NULL: b->outcome tells how the row ends. */
struct mr_child_build *mr_child_begin(struct mr_row_build *b, struct mr_rel *rel);
/* Delete the rows whose positions begin with `pos` (`count` of them) and go on with one from `from` up to, but not, `end`. */
bool mr_child_range(struct mr_row_build *b, struct mr_rel *rel, const uint32_t *pos, uint32_t count, uint32_t from, uint32_t end);
/* The same for a root's key that the row had before. */
bool mr_child_range_of(struct mr_child_build *cb, const struct mr_child_key *key, const uint32_t *pos, uint32_t count, uint32_t from,
                       uint32_t end);
struct mr_entry mr_child_range_entry(struct mr_child_build *cb, const struct mr_child_key *key, const uint32_t *pos, uint32_t count,
                                     uint32_t from, uint32_t end);
/* A root's key by the child's tracker; false: the root's outcome tells how the row ends. */
bool mr_child_key_of(struct mr_child_build *cb, struct mr_fields root_key, uint64_t lane_key, struct mr_child_key *out);
/* The entry's key: the root's and `count` positions, behind them `end` (NULL: none). */
void mr_child_set_key(const struct mr_child_build *cb, const struct mr_child_key *key, const uint32_t *pos, uint32_t count,
                      const uint32_t *end, struct mr_entry *e);
/* Into a list of the child's; `cells` is what it takes. False where the record comes to too much. */
bool mr_child_add(struct mr_row_build *root, struct mr_child_list *list, const struct mr_entry *e, size_t cells);
/* No range is left for a table that has never had a row. */
bool mr_child_has_rows(const struct mr_rel *rel);

/* rowgap.c: elements from `from` to `end` of the array around have been given as a whole; of the table `rel`, whose arrays lie within them, the rows
 * go that belong to no array mentioned under that number. */
bool mr_child_gaps(struct mr_row_build *b, struct mr_rel *rel, const uint32_t *pos, uint32_t count, uint32_t from, uint32_t end,
                   uint32_t set);

/* rowmove.c: the row has had the key of `old` until now. `full`: arrays that the change does not mention are empty. */
bool mr_child_leave_key(struct mr_row_build *b, const struct mr_entry *old, struct mr_fields old_key, bool full);

#endif
