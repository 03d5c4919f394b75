/* What the files of the tracker share. tracker.c: life, columns, keys, publishing. tracker_row.c: the journal and the fast path.
 * tracker_judge.c: what happens to a field that the fast path does not settle. tracker_message.c: what is told about it.
 * tracker_catalog.c: meeting the target's catalog. tracker_planned.c: DDL that was cut off. */
#ifndef MILLRACE_SCHEMA_TRACKER_PARTS_H
#define MILLRACE_SCHEMA_TRACKER_PARTS_H

#include <millrace/base/map.h>
#include <millrace/schema/tracker.h>

/* A longer path is refused: it would be kept for ever, once a column. */
#define MR_MAX_PATH 4096
/* Texts and bytes up to here are taken by every target, in a column and in a key. */
#define MR_SAFE_LEN (UINT32_C(1) << 20)
#define MR_SAFE_KEY_LEN 255
/* Every whole number up to here is a double's. */
#define MR_EXACT_IN_DOUBLE (UINT64_C(1) << 53)

struct mr_tk_column {
    struct mr_tracked_column pub;
    struct mr_type seen;      /* the last declared type that pub.type has been held against; NONE: none yet */
    struct mr_type published; /* type in the last published table; NONE: not yet */
    struct mr_type saved;     /* type that the control table has now; NONE: not there yet */
    struct mr_type stored;    /* type in the control table at restore; NONE: made in this run */
    struct mr_type met;       /* type when the catalog's column was met last */
    struct mr_str native;     /* owned; the catalog's type text, "" unknown */
    bool has_met;
    bool unwritable;          /* the catalog's type is none of ours and cannot hold the values */
    bool is_variant;
    bool config_refused;      /* types.columns asks for a type that does not hold what the column holds */
    bool in_catalog;          /* counted among the catalog's columns */
    const char *alter_refused; /* why the target does not alter the column, NULL: it does */
};

/* What a refused row must put back. */
struct mr_tk_undo {
    uint32_t column;
    bool facts_only;
    struct mr_facts facts;
    struct mr_type type, widened_from;
    struct mr_place widened;
};

struct mr_tk_mark {
    size_t undo, touched, columns;
    bool changed;
};

struct mr_tk_hints {
    uint32_t *column;
    size_t count;
};

/* A column of the catalog, by its folded name. */
struct mr_tk_catalog_column {
    struct mr_str native; /* owned */
    struct mr_type type;
};

struct mr_tracker {
    const struct mr_config *cfg;
    const struct mr_dialect *dialect;
    struct mr_table_settings settings;
    struct mr_str database, table, target_schema, target_table; /* owned */
    struct mr_str root_database, root_table;                     /* owned: see mr_tracker_set_root; empty: none */
    struct mr_str label;                                        /* owned: "db.table", for settings and messages */

    struct mr_tk_column **columns; /* each by itself, so that pointers stay */
    size_t count, cap;
    struct mr_map *by_path; /* index + 1 */
    struct mr_names *names;
    struct mr_str *key; /* owned paths */
    size_t key_count;
    char **topics; /* owned: every topic that a place names */
    size_t topic_count, topic_cap;

    struct mr_map *catalog; /* struct mr_tk_catalog_column by folded name */
    size_t catalog_width;   /* the catalog's columns, those that are gone and still count among them */
    size_t catalog_ours;    /* columns of ours among them */
    struct mr_tk_planned *planned; /* what DDL was to make, until all is on record */
    struct mr_map *refused; /* what the target has refused → its words (owned); NULL none */
    bool exists, has_foreign_keys, has_other_unique;
    bool beyond_double; /* see mr_tracker_beyond_double */

    struct mr_tk_hints hints[2]; /* by field position; [1]: key members */
    struct mr_place place;       /* of the row at hand; topic borrowed */
    struct mr_tk_undo *undo;
    size_t undo_count, undo_cap;
    uint32_t *touched; /* column * 32 + kind: a count to take back */
    size_t touched_count, touched_cap;
    struct mr_tk_mark row; /* where the row began */

    bool changed;
    uint64_t version, id;
};

/* One field on the slow path. */
struct mr_tk_judge {
    struct mr_tracker *tk;
    const struct mr_field *field;
    struct mr_value v;
    struct mr_tk_column *col; /* the base column */
    uint32_t index;           /* of col */
    uint32_t target;          /* where the value goes: index, or a variant's */
    struct mr_tk_mark mark;   /* what stays if the value is left out */
    bool is_key;
    struct mr_arena *ar;
    struct mr_error *err;
};

/* --- tracker.c --- */
struct mr_str mr_tk_keep(struct mr_str s); /* an owned copy, NUL-terminated */
void mr_tk_drop(struct mr_str s);
struct mr_place mr_tk_place(struct mr_tracker *tk); /* the row's place, kept */
struct mr_str mr_tk_keep_topic(struct mr_tracker *tk, struct mr_str topic);
/* Append a column; its path must be new. */
uint32_t mr_tk_add_column(struct mr_tracker *tk, struct mr_str path, struct mr_str wanted, struct mr_type type,
                          bool is_key);
void mr_tk_remove_last(struct mr_tracker *tk);
int mr_tk_find(const struct mr_tracker *tk, struct mr_str path);
/* The type that the target's column gets: where it has no arrays, JSON for an array. */
struct mr_type mr_tk_target(const struct mr_tracker *tk, struct mr_type type);
struct mr_type mr_tk_normal(struct mr_type type); /* no negative scales */
bool mr_tk_is_key_path(const struct mr_tracker *tk, struct mr_str path);

/* --- tracker_row.c --- */
struct mr_tk_mark mr_tk_mark(const struct mr_tracker *tk);
void mr_tk_undo_to(struct mr_tracker *tk, struct mr_tk_mark mark);
void mr_tk_count(struct mr_tracker *tk, uint32_t column, enum mr_type_kind kind);
void mr_tk_learn(struct mr_tracker *tk, uint32_t column, const struct mr_facts *facts);
void mr_tk_set_type(struct mr_tracker *tk, uint32_t column, struct mr_type type); /* records where it was widened */

/* The kind that a field's value shows, for the counts. */
enum mr_type_kind mr_tk_shown(const struct mr_field *field);

/* --- tracker_refusal.c --- */
/* Why there can be no column for this path, NULL if there can. */
const char *mr_tk_refused_new(const struct mr_tracker *tk, struct mr_str path);
/* Why the column of this path keeps its type, NULL if it need not. */
const char *mr_tk_refused_alter(const struct mr_tracker *tk, struct mr_str path);
void mr_tk_refusals_clear(struct mr_tracker *tk);

/* --- tracker_judge.c --- */
enum mr_verdict mr_tk_judge(struct mr_tk_judge *j, uint32_t *column, int *nulled, struct mr_value *value);

/* --- tracker_catalog.c --- */
/* A new column meets the catalog's column of its name, if there is one. */
void mr_tk_adopt(struct mr_tracker *tk, struct mr_tk_column *col);
bool mr_tk_needs_alter(const struct mr_tracker *tk, const struct mr_tk_column *col, struct mr_type to);
void mr_tk_catalog_clear(struct mr_tracker *tk);

/* --- tracker_planned.c --- */
/* Columns that the catalog has as they were planned are ours, and of that type. */
void mr_tk_take_planned(struct mr_tracker *tk, const struct mr_catalog_table *now);
void mr_tk_planned_clear(struct mr_tracker *tk);

/* --- tracker_message.c --- */
void mr_tk_tell_mixed(struct mr_tk_judge *j);
enum mr_tk_reason {
    MR_TK_CONFLICT,   /* the types do not join */
    MR_TK_STRICT,     /* it would be a widening, and the policy is strict */
    MR_TK_EVOLVE,     /* it would need ALTER TYPE under evolve: add, or the target refuses it */
    MR_TK_BY_HAND,    /* the column's type was set by hand in the target */
    MR_TK_CONFIGURED, /* the type is set in types.columns */
    MR_TK_UNWRITABLE, /* the catalog's type is none of ours */
};
void mr_tk_tell_misfit(struct mr_tk_judge *j, struct mr_type value_type, enum mr_tk_reason reason,
                       const char *code);
void mr_tk_tell_null_key(struct mr_tk_judge *j);
void mr_tk_tell_invalid(struct mr_tk_judge *j);
void mr_tk_tell_refused(struct mr_tk_judge *j); /* the target cannot hold it: err is filled already */
void mr_tk_tell_too_many(struct mr_tk_judge *j, size_t max);
void mr_tk_tell_long_path(struct mr_tk_judge *j);
void mr_tk_tell_no_column(struct mr_tk_judge *j, const char *why_z);
/* The policy said `fail`: where it happened joins the message. */
void mr_tk_tell_place(struct mr_tk_judge *j);

/* --- convert.c --- */
/* Bring a value into a configured column: mr_value_coerce, and besides what a person who names the type means (numbers, dates, uuids,
 * base64 in texts). Never loses anything; DATA otherwise. */
enum mr_status mr_configured_convert(struct mr_value v, struct mr_type type, struct mr_arena *ar,
                                     struct mr_value *out, struct mr_error *err) MR_MUST_CHECK;

/* --- repair.c --- */
/* text.invalid: strip or replace in a TEXT or JSON value (in JSON also where it is escaped). */
struct mr_value mr_text_repair(struct mr_value v, bool replace, struct mr_arena *ar);

#endif
