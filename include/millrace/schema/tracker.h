/* The columns of one target table as they have been learned: types, names, evidence. Main thread only. The tracker decides what
 * happens to every field of every row (fits, widens, conflicts → policy) and makes the wanted mr_table. No I/O: the engine loads and
 * saves it through the control tables. */
#ifndef MILLRACE_SCHEMA_TRACKER_H
#define MILLRACE_SCHEMA_TRACKER_H

#include <millrace/dialect.h>
#include <millrace/model/change.h>
#include <millrace/model/table.h>
#include <millrace/schema/lattice.h>
#include <millrace/schema/name.h>

/* Where something happened, as kept in the control tables. */
struct mr_place {
    struct mr_str topic;   /* copied by the tracker */
    int32_t partition;
    int64_t offset;
    int64_t time_us;       /* of the event, INT64_MIN unknown */
};

/* Source paths escape '.' and '\\' with '\\', so a backslash before any other character is free to mark what no source can spell:
 * the path of a column of Millrace's own (`_key`), and "base path" + MR_VARIANT_MARK + type for the columns of policy `variant`. */
#define MR_OWN_PATH(literal) MR_STR("\\" literal)
#define MR_VARIANT_MARK "\\\x1f"
/* In front of the path of a root's key column, in the tables of its arrays. */
#define MR_ROOT_KEY_MARK "\\^"

/* One tracked column: the row of the control table `column_type`. Strings are owned by the tracker. */
struct mr_tracked_column {
    struct mr_str name;        /* in the target */
    struct mr_str path;        /* source path; MR_OWN_PATH for Millrace's own (`_key`) */
    struct mr_type type;       /* as wanted; origin tells declared, typed or observed */
    struct mr_facts facts;
    enum mr_policy policy;     /* effective */
    bool is_key;
    bool configured;           /* type set in types.columns */
    bool by_hand;              /* changed by hand in the target */
    bool name_substituted;
    uint64_t counts[MR_TYPE_KINDS]; /* values seen by the kind they showed; NONE = nulls */
    uint64_t conflicts;
    struct mr_place first, widened; /* widened.topic.len 0 = never */
    struct mr_type widened_from;
    bool dirty;                /* not yet saved as it is */
};

enum mr_verdict {
    MR_VERDICT_OK,     /* column index and value are set */
    MR_VERDICT_SKIP,   /* nothing to write (null of an unknown field) */
    MR_VERDICT_DEAD,   /* the row goes to the dead letters: err is filled (DATA) */
    MR_VERDICT_NULLED, /* policy null: column is set to NULL, err says why; goes to the type history */
    MR_VERDICT_FAIL,   /* policy fail: stop, err is filled (DATA, "type_conflict" …) */
};

struct mr_tracker;

/* db, table: source names, for settings and messages. */
struct mr_tracker *mr_tracker_create(const struct mr_config *cfg, const struct mr_dialect *dialect,
                                     struct mr_str database, struct mr_str table,
                                     struct mr_str target_schema, struct mr_str target_table);
void mr_tracker_destroy(struct mr_tracker *tk);
const struct mr_table_settings *mr_tracker_settings(const struct mr_tracker *tk);

/* The table hangs below another: it has that one's policy where no rule of its own gives one, and its key's columns are configured as they are there
 * (`database`, `table`: its names in the configuration). Before any column. */
void mr_tracker_set_root(struct mr_tracker *tk, struct mr_str database, struct mr_str table, enum mr_policy policy);

/* A column from the control table, at start (before any row). */
void mr_tracker_restore(struct mr_tracker *tk, const struct mr_tracked_column *col);
/* The key columns by path, in order (count 0: keyless). Called at restore, and for the first row; a different set later is a key change:
 * the tracker then becomes dirty and publishes a table with the new key. Unknown paths become columns when their first value comes.
 * Returns true if the set differs from the one before. */
bool mr_tracker_set_key(struct mr_tracker *tk, const struct mr_str *paths, size_t count);
size_t mr_tracker_key(const struct mr_tracker *tk, const struct mr_str **paths);
/* A column of that path, where there is none: the source has declared it. For a table that is not there yet; other columns are declared by rows. */
void mr_tracker_declare(struct mr_tracker *tk, struct mr_str path, struct mr_type type, bool is_key, struct mr_arena *ar);
/* The name that a column of that path has or would get. */
struct mr_str mr_tracker_name_for(struct mr_tracker *tk, struct mr_str path, struct mr_arena *ar);
/* A column as DDL was to make it that may have been cut off. Called at restore, after the columns that are on record: where the catalog has it so,
 * it is ours. */
void mr_tracker_planned(struct mr_tracker *tk, const struct mr_tracked_column *col);
/* Of a planned column that the catalog turned out to have: what belongs on record of it before another plan takes the place of that one. Else NULL,
 * and after mr_tracker_saved. */
const struct mr_tracked_column *mr_tracker_taken(const struct mr_tracker *tk, size_t column);
/* The catalog's table: names there are taken; a tracked column whose type was changed by hand is respected (by_hand, type := catalog's, and
 * the change is appended to `notes`, one line each). */
void mr_tracker_meet_catalog(struct mr_tracker *tk, const struct mr_catalog_table *now, struct mr_buf *notes);

/* The target refuses to add a column for this path ("" any path), or to alter the column of it: fields that would need it are dead letters from
 * now on, with the target's words. */
void mr_tracker_refuse_new(struct mr_tracker *tk, struct mr_str path, const char *why_z);
void mr_tracker_refuse_alter(struct mr_tracker *tk, struct mr_str path, const char *why_z);

/* The target's column has been altered: its type now, in the target's words, as the catalog has it. The result lives in the tracker. */
struct mr_str mr_tracker_altered(struct mr_tracker *tk, size_t column, const struct mr_catalog_table *now);

/* --- one row --- */
void mr_tracker_row_begin(struct mr_tracker *tk, const struct mr_place *place);
/* Judge one field. `hint` is the position of the field in its row: the column found there last time is tried first. On OK
 * *column is the index and *value what to store (strip/replace of invalid text applied, redirected under `variant`). With VARIANT the base
 * column's index comes back in *nulled (else -1): it must be NULL in this row. The value is not yet coerced. */
enum mr_verdict mr_tracker_field(struct mr_tracker *tk, const struct mr_field *field, size_t hint,
                                 bool is_key, struct mr_arena *ar, uint32_t *column, int *nulled,
                                 struct mr_value *value, struct mr_error *err);
/* Keep what the row taught, or forget it (a dead letter): no column, type or fact remains of a refused row, only the conflict count. */
void mr_tracker_row_commit(struct mr_tracker *tk);
void mr_tracker_row_rollback(struct mr_tracker *tk);

/* Column index of a path, or -1 (the main column, not its variants). Columns at or below a path: calls back. */
int mr_tracker_find(const struct mr_tracker *tk, struct mr_str path);
void mr_tracker_below(const struct mr_tracker *tk, struct mr_str path,
                      void (*fn)(void *ctx, uint32_t column), void *ctx);

/* The column that a variant is one of (policy `variant`), -1 for every other column. */
int mr_tracker_variant_of(const struct mr_tracker *tk, size_t i);

size_t mr_tracker_count(const struct mr_tracker *tk);
const struct mr_tracked_column *mr_tracker_column(const struct mr_tracker *tk, size_t i);
void mr_tracker_saved(struct mr_tracker *tk); /* clears dirty */

/* Has an int64 column got its first value that a double cannot hold, and is that not saved yet? Statistics may come late, this may not: a float
 * that arrives elsewhere, or after a kill, would make the column float64. */
bool mr_tracker_beyond_double(const struct mr_tracker *tk);

/* Has the shape (columns, types, key) changed since the last publish, or has what mr_tracker_beyond_double tells? */
bool mr_tracker_changed(const struct mr_tracker *tk);
/* The wanted table, next version, refs 1. Column i of the table is column i of the tracker, always: columns are only appended. */
struct mr_table *mr_tracker_publish(struct mr_tracker *tk);

#endif
