/* From the catalog's table and the wanted table to DDL steps. No I/O. */
#ifndef MILLRACE_SCHEMA_EVOLVE_H
#define MILLRACE_SCHEMA_EVOLVE_H

#include <millrace/base/arena.h>
#include <millrace/base/error.h>
#include <millrace/config/config.h>
#include <millrace/model/table.h>

/* A column as the target's catalog has it. */
struct mr_catalog_column {
    struct mr_str name;
    struct mr_str native;  /* full type text: "numeric(18,2)", "character varying(20)" */
    struct mr_type type;   /* the dialect's reading of it; kind NONE if none of ours */
    bool nullable;
    bool has_default;
    bool generated;        /* generated or identity always: cannot be written */
    bool merges_texts;     /* its collation takes texts for equal that differ */
    struct mr_str tell_apart; /* then: the clause of ALTER TABLE under which it tells them apart; empty where the table must be made anew */
    /* MySQL and MariaDB, where a change of type says all about a column anew and what it leaves out is gone: DEFAULT, COMMENT and the like as they
     * are now; `kept_lob` where the new type is a text or bytes without limit. Else empty. */
    struct mr_str kept, kept_lob;
    struct mr_str collation; /* of a text, there */
    bool counts_up;          /* AUTO_INCREMENT: a NULL becomes the next number */
    bool follows;            /* ON UPDATE: it changes with every other column */
};

struct mr_catalog_table {
    bool exists;
    struct mr_catalog_column *columns;
    size_t column_count;
    size_t gone_columns;         /* dropped, and counting against the limit for ever (PostgreSQL) */
    struct mr_str *key;          /* names of the primary key's columns, in order */
    size_t key_count;
    struct mr_str key_name;      /* constraint name of the primary key */
    struct mr_str **unique_sets; /* other unique indexes (not partial), each a list of names; empty: one that is no key, over an expression or a prefix */
    size_t *unique_set_sizes;
    size_t unique_count;
    bool has_foreign_keys;       /* references or is referenced */
    struct mr_str unfit, remedy; /* why it cannot be loaded as it is, in words that follow its name, and the clause of ALTER TABLE that helps */
};

enum mr_ddl_kind {
    MR_DDL_CREATE_SCHEMA, /* tbl->schema */
    MR_DDL_CREATE_TABLE,  /* tbl */
    MR_DDL_ADD_COLUMN,    /* tbl, column */
    MR_DDL_ALTER_TYPE,    /* tbl, column, from */
    MR_DDL_REPLACE_KEY,   /* tbl: primary key becomes tbl->key_columns (none: dropped) */
    /* Only because the source did it (ddl: apply); of tbl only the names count. */
    MR_DDL_DROP_COLUMN,   /* old */
    MR_DDL_RENAME_COLUMN, /* old becomes name */
    MR_DDL_DROP_TABLE,
    MR_DDL_RENAME_TABLE,  /* tbl becomes schema.name */
};

enum mr_ddl_cost { MR_COST_CATALOG, MR_COST_REWRITE };

struct mr_ddl_step {
    enum mr_ddl_kind kind;
    const struct mr_table *tbl; /* as wanted */
    uint32_t column;            /* index into tbl->columns */
    struct mr_type from;        /* ALTER_TYPE */
    bool wider;                 /* ALTER_TYPE: the type stays, there is to be room for longer values or more digits */
    struct mr_str old;          /* DROP_COLUMN, RENAME_COLUMN: the column's name in the target */
    struct mr_str schema, name; /* RENAME_*: what it is called afterwards */
    struct mr_str reason;       /* "orders.amount: decimal after int64" for ddl_history and plan */
};

struct mr_dialect;

/* Index of the catalog's column of that name: byte for byte first, else as the target's identifiers fold; -1 if there is none. */
int mr_catalog_find(const struct mr_dialect *dialect, const struct mr_catalog_table *now, struct mr_str name);

/* The steps that make `now` hold what `want` says, in the order in which to run them. Steps are allocated in `ar`.
 * - A table that exists but has no primary key or unique index over exactly the wanted key columns: if Millrace made the table (`ours`),
 *   MR_DDL_REPLACE_KEY; else DATA-free refusal: MR_E_CONFIG with the ALTER to run as the hint.
 * - A column of the catalog whose native type already holds the wanted type needs no step (it may have been widened by hand).
 * - evolve=add: only CREATE_SCHEMA, CREATE_TABLE, ADD_COLUMN. evolve=none: no step at all; what would be needed comes back as steps
 *   all the same, and the caller (engine) reports them.
 * Whether a step is allowed is told by mr_ddl_allowed. */
enum mr_status mr_evolve_diff(const struct mr_table *want, const struct mr_catalog_table *now, bool ours,
                              const struct mr_dialect *dialect, struct mr_arena *ar,
                              struct mr_ddl_step **steps, size_t *count, struct mr_error *err)
    MR_MUST_CHECK;
/* A column that held texts turns to JSON (policy `json`): its old values must be converted, even where a text column could hold the new ones. */
bool mr_evolve_turns_to_json(struct mr_type recorded, struct mr_type to);
bool mr_ddl_allowed(const struct mr_ddl_step *step, enum mr_evolve evolve);

/* Lower for columns that catalog and wanted table have both: was the type changed by hand, so that it no longer is what Millrace
 * recorded? Used at start. */
bool mr_evolve_changed_by_hand(const struct mr_column *recorded, const struct mr_catalog_column *now,
                               const struct mr_dialect *dialect);

#endif
