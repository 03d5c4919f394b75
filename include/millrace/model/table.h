/* A table of the target as Millrace writes it. Immutable once published and reference-counted: appliers
 * still work on version N while the main thread plans with version N+1, so no single owner would do. */
#ifndef MILLRACE_MODEL_TABLE_H
#define MILLRACE_MODEL_TABLE_H

#include <millrace/base/error.h>
#include <millrace/model/type.h>
#include <millrace/model/value.h>

#define MR_TABLE_MAX_COLUMNS 4096

struct mr_column {
    struct mr_str name;    /* in the target */
    struct mr_str path;    /* source path (see change.h); "" for columns that Millrace itself adds */
    struct mr_type type;
    bool is_key;           /* member of the primary key Millrace upserts by */
    bool by_hand;          /* type was changed by hand in the target: respected, never altered */
    struct mr_type recorded; /* type that the control tables have for it; kind NONE: not there yet */
    struct mr_str native;  /* the type's text in the target's catalog; "" before it exists */
    uint32_t max_len;      /* longest text or bytes seen; sizes key columns */
    uint32_t int_digits;   /* widest integer part and fraction of a number seen */
    uint32_t frac_digits;
    bool has_inexact;      /* some number seen is none that a double holds digit for digit */
};

struct mr_table {
    struct mr_str schema;      /* target schema or database; "" in SQLite */
    struct mr_str name;        /* target table */
    uint64_t version;          /* grows with each published version of this table */
    uint64_t id;               /* the same for all versions of this table, unique in the process */
    size_t column_count;       /* columns that Millrace writes; hand-added others are not listed */
    const struct mr_column *columns;
    size_t key_count;
    const uint32_t *key_columns; /* indexes into columns, in key order */
    bool exists;               /* in the target's catalog */
    bool has_other_unique;     /* further unique indexes: rows are applied in source order */
    bool has_foreign_keys;     /* references or is referenced */
    bool skips_same;           /* a row that is there already as it is to be is not written again */
    int refs;                  /* atomic; use ref/unref */
    struct mr_arena *ar;       /* owns everything above */
};

/* Building: create, fill (allocate from tbl->ar), then treat as const. refs starts at 1. */
struct mr_table *mr_table_create(struct mr_str schema, struct mr_str name);
/* A deep copy with version + 1 and room for extra_columns more (tbl->columns is then writable by cast). */
struct mr_table *mr_table_clone(const struct mr_table *tbl, size_t extra_columns);
struct mr_table *mr_table_ref(const struct mr_table *tbl);
void mr_table_unref(const struct mr_table *tbl); /* NULL is fine */
/* Index of the column with that target name, or -1. */
int mr_table_find(const struct mr_table *tbl, struct mr_str column_name);

/* ---- What is applied to a table ---- */

enum mr_row_kind {
    MR_ROW_UPSERT,       /* keyed: insert, or update the listed cells */
    MR_ROW_DELETE,       /* keyed: only the key cells are set */
    MR_ROW_APPEND,       /* no key: insert */
    MR_ROW_UPDATE_MATCH, /* no key: one row equal to `match` (NULL-safe) gets `cells`; none: insert */
    MR_ROW_DELETE_MATCH, /* no key: one row equal to `match` (NULL-safe) goes; none: nothing */
    MR_ROW_MOVE,         /* keyed: the row whose key is that of `match` gets the key of `cells`, and takes the place of a row that has it
                            already; none: nothing. Only key cells are set in both */
    MR_ROW_INSERT_ONLY,  /* keyed: insert; an existing row stays and is reported in `was_there` (replay) */
    MR_ROW_DELETE_RANGE, /* keyed: rows whose key begins with the key cells that are set, but for the last of those: that column lies between its
                            cell (inclusive) and its cell of `match` (exclusive). A batch with such rows holds no others */
    MR_ROW_FILL,         /* keyed: rows that are null beside the key, for the numbers of the last key column between the last row before this one's
                            and this one's, the others being equal; from 0 on if there is none */
    MR_ROW_MOVE_ALL,     /* keyed: all rows whose key has the cells of `match` get those of `cells` in their place, which are of the same columns;
                            nothing is in their way. Only key cells are set in both */
};

struct mr_row {
    enum mr_row_kind kind;
    bool has_keep;               /* some cell is MR_V_ABSENT: on update keep the column, on insert NULL */
    bool has_patch;              /* some cell is a PATCH; the engine makes values of them before a sink sees the row */
    bool was_there;              /* out, INSERT_ONLY: the key existed */
    const struct mr_value *cells; /* tbl->column_count, in column order, each coerced to the column's tag, NULL, or
                                     ABSENT (= keep) */
    const struct mr_value *match; /* *_MATCH: the same shape; ABSENT = not compared. DELETE_RANGE: the range's end */
    uint32_t origin;             /* index of the record in the batch, for the dead letter */
    uint64_t unit;               /* the change that the row comes from; an array's rows and their parent's have one */
};

/* Rows for one table in one transaction. Unless `ordered`, keys are unique within the batch and rows may be applied
 * in any order (they come sorted by key). */
struct mr_table_batch {
    const struct mr_table *tbl;
    struct mr_row *rows;
    size_t row_count;
    bool truncate_first;   /* empty the table before the rows */
    bool ordered;          /* apply one after another as listed (keyless tables, further unique keys) */
    bool all_new;          /* the rows are complete and said to be new: straight into the table, if the sink has a way that is faster. It
                            * sets this to false where one of them was there after all, which it has then dealt with */
    bool row_by_row;       /* the sink must use its small path (isolation of a bad row; property tests) */
};

#endif
