/* What the files of rowbuild share: rowbuild.c (the operations), rowjudge.c (fields and cells), rowkey.c (the key), rowchild.c, rowgap.c and rowmove.c (elements
 * of arrays). */
#ifndef MILLRACE_ENGINE_ROWBUILD_PARTS_H
#define MILLRACE_ENGINE_ROWBUILD_PARTS_H

#include "rowbuild.h"

#define MR_DELETED_PATH MR_OWN_PATH("__deleted")

struct mr_child_build;

/* The row being built. */
struct mr_row_build {
    struct mr_intake *in;
    struct mr_batch *batch;
    struct mr_rel *rel;
    const struct mr_change *ev;
    const struct mr_record *rec;
    uint32_t origin;
    const struct mr_part_state *part;
    struct mr_error *err;
    struct mr_fields key;       /* the key's fields as the settings want them */
    bool keyless, append_only;
    bool key_changed;           /* the table has got another key; `key_before` comes back if the row is refused */
    struct mr_str *key_before;
    size_t key_before_count;
    enum mr_row_outcome outcome;
    struct mr_place place;
    /* rowchild.c */
    struct mr_rel *const *element_rels; /* the table of each element of the change; NULL none */
    struct mr_child_build *children;    /* the tables of arrays that take part */
    uint64_t lane_key;                  /* of the row */
    size_t cell_total;                  /* of all elements */
};

/* ---- rowjudge.c ---- */

/* Judge one field; false: b->outcome tells how the row ends. */
bool mr_row_judge(struct mr_row_build *b, const struct mr_field *field, size_t hint, bool is_key);
bool mr_row_judge_all(struct mr_row_build *b, struct mr_fields fields, size_t hint, bool is_key);
/* Fields of the row itself. */
bool mr_row_judge_row(struct mr_row_build *b, struct mr_fields fields, size_t hint);
/* What an event tells of the row that it marks as deleted. A null is no knowledge unless the image is the whole row: some producers send the key
 * alone and nulls beside it. A value that has no place cannot have been in the row; it must not keep the row from being marked.
 * *is_whole: may what is not told be emptied? */
bool mr_row_judge_deleted(struct mr_row_build *b, size_t hint, bool *is_whole);
/* A judged value that needs no judging. */
void mr_row_put(struct mr_row_build *b, uint32_t column, bool is_key, struct mr_value value);
/* Cells of the judged fields [from, end). */
struct mr_value *mr_row_cells(struct mr_row_build *b, size_t from, size_t end, bool full, uint32_t *count);
/* $unset, and a sub-document replaced as a whole: everything at or below the paths becomes NULL unless it was set. */
void mr_row_null_removed(struct mr_row_build *b, struct mr_fields removed, struct mr_value *cells, uint32_t count);

/* ---- rowkey.c ---- */

/* The fields of `primary_key: [fields]`, from the first list that knows them. */
bool mr_row_pick_fields(struct mr_row_build *b, struct mr_fields first, struct mr_fields second, struct mr_fields third,
                        struct mr_fields *out);
/* b->key, b->keyless, b->append_only. */
bool mr_row_resolve_key(struct mr_row_build *b);
/* Are the change's key members the table's key columns, in whatever order? */
bool mr_row_is_same_key(const struct mr_row_build *b, size_t want);
/* The key's columns are the table's key. A change of the set ends the batch (rows in it were folded by the old key). */
bool mr_row_settle_key(struct mr_row_build *b);
/* Put the key back that the row has changed. */
void mr_row_restore_key(const struct mr_row_build *b);
/* Canonical key bytes of the judged fields [0, end), and the row's lane. */
bool mr_row_key(struct mr_row_build *b, size_t end, struct mr_entry *e);
/* Remember under which types this batch's keys are made. */
void mr_row_remember_key_types(struct mr_row_build *b);

/* ---- rowbuild.c ---- */

/* Into the fold of b->rel, unless the lane has it. */
void mr_row_fold(struct mr_row_build *b, struct mr_entry *e);
/* The target has refused to create the table: false, and the outcome is DEAD. */
bool mr_row_has_table(struct mr_row_build *b);

/* ---- rowchild.c ---- */

/* What the change says of arrays, for the row `e` (and `old`, whose key it had before; NULL none): judged, not yet folded. `full`: arrays that the
 * change does not mention are empty. */
bool mr_row_children(struct mr_row_build *b, const struct mr_entry *e, const struct mr_entry *old, struct mr_fields old_key, bool full);
/* All elements of the row go. */
bool mr_row_children_gone(struct mr_row_build *b, const struct mr_entry *e);
/* Fold what has been judged; keep or forget what it taught. */
void mr_row_children_fold(struct mr_row_build *b);
void mr_row_children_forget(struct mr_row_build *b);

#endif
