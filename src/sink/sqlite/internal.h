/* What the files of the SQLite sink share. The connection belongs to one thread at a time; only cancel() may come from another. */
#ifndef MILLRACE_SINK_SQLITE_INTERNAL_H
#define MILLRACE_SINK_SQLITE_INTERNAL_H

#include <sqlite3.h>
#include <stdatomic.h>

#include <millrace/base/arena.h>
#include <millrace/base/buf.h>
#include <millrace/base/map.h>
#include <millrace/sink.h>

extern const struct mr_dialect mr_sqlite_dialect;
extern const struct mr_sink_ops mr_sink_sqlite;

/* ---- types.c: declared type names and what SQLite makes of them ---- */

enum mr_affinity {
    MR_AFFINITY_INTEGER,
    MR_AFFINITY_TEXT,
    MR_AFFINITY_NONE, /* SQLite calls it BLOB: a value stays as it was bound */
    MR_AFFINITY_REAL,
    MR_AFFINITY_NUMERIC,
};
/* SQLite's own five rules (datatype3.html, 3.1). */
enum mr_affinity mr_sqlite_affinity(struct mr_str native);
void mr_sqlite_column_type(const struct mr_column *col, struct mr_buf *out);
struct mr_type mr_sqlite_type_of_column(struct mr_str native);
bool mr_sqlite_native_holds(struct mr_str native, struct mr_type type);
/* Decimals of more digits are kept as text: a double is exact up to here. */
#define MR_SQLITE_EXACT_DIGITS 15

/* ---- classify.c ---- */
enum mr_status mr_sqlite_classify(const char *native_z, const char **code_z);

/* ---- definition.c, rebuild.c: a table's CREATE TABLE text, edited ---- */

struct mr_sqlite_change {
    struct mr_str column;        /* column that gets another type; "" = none */
    struct mr_str native;        /* its new type */
    bool replace_key;            /* the primary key becomes `key` */
    const struct mr_str *key;
    size_t key_count;
};
/* Rewrite a CREATE TABLE statement for a table of another name. Everything that is not changed stays word for word: defaults, checks,
 * collations, comments. False if the text cannot be read that way. */
bool mr_sqlite_edit_definition(struct mr_str sql, struct mr_str new_name, const struct mr_sqlite_change *change,
                               struct mr_buf *out);
/* The steps of a rebuild as statements separated by ";\n": new table, copy, drop, rename, then `extra` (indexes and triggers to make again).
 * False if `create_sql` cannot be edited. */
bool mr_sqlite_rebuild(const struct mr_ddl_step *step, const struct mr_catalog_table *now, struct mr_str create_sql,
                       const struct mr_str *extra, size_t extra_count, struct mr_buf *out);
/* CREATE TABLE of the catalog's table as far as `now` tells. */
void mr_sqlite_create_of(const struct mr_table *tbl, const struct mr_catalog_table *now, struct mr_buf *out);

/* An expression: the column's value as canonical text. */
void mr_sqlite_append_text_of(struct mr_str column, struct mr_type type, struct mr_buf *out);

void mr_sqlite_quote(struct mr_str name, struct mr_buf *out);

/* ---- The connection ---- */

/* How a column stores its values: from its type, and from the type it has in the catalog. */
enum mr_sqlite_store {
    MR_SQLITE_STORE_PLAIN,   /* by the value's tag */
    MR_SQLITE_STORE_TEXT,    /* a plain text column under another type: canonical text */
    MR_SQLITE_STORE_OPEN,    /* a number in a column without affinity: integer, double or digits */
    MR_SQLITE_STORE_NUMERIC, /* a number, or JSON, where SQLite converts what looks like a number: only if nothing is lost */
    MR_SQLITE_STORE_DIGITS,  /* a number as text with a fixed count of fraction digits */
};

struct mr_sqlite_query { /* a named query, prepared */
    sqlite3_stmt **stmts;
    size_t count;
};

struct mr_sqlite {
    struct mr_sink base; /* first member */
    const struct mr_config *cfg;
    sqlite3 *db;
    struct mr_server server;
    atomic_bool cancelled;          /* set by cancel(), from any thread; cleared when the next call begins */
    int64_t busy_since_ms;          /* monotonic: when the present wait for a lock began */
    struct mr_sqlite_query queries[MR_QUERY_COUNT];
    struct mr_map *statements;      /* row statements by table version, kind and mask; values sqlite3_stmt */
    struct mr_arena *ar;            /* texts bound for the present row */
    enum mr_sqlite_store *stores;   /* scratch: how each column of the table being written stores its values */
    size_t store_cap;
    struct mr_buf key;              /* scratch: key into `statements` */
    struct mr_buf text;             /* scratch: SQL text being built */
    bool in_gate;                   /* between gate_lock and gate_unlock */
    bool keys_off;                  /* foreign keys are not enforced now: in the gate, where tables may be rebuilt */
};

#define MR_SQLITE_SQL_MAX (64u << 20) /* longest statement we would ever build: 2,000 columns of long names */

static inline struct mr_sqlite *mr_sqlite_of(struct mr_sink *sink)
{
    return (struct mr_sqlite *)(void *)sink;
}

/* ---- conn.c ---- */
enum mr_status mr_sqlite_connect(const struct mr_sink_options *opt, struct mr_sink **out, struct mr_error *err);
const char *mr_sqlite_path(const char *url_z); /* of the file; NULL if it is no URL of ours */
void mr_sqlite_destroy(struct mr_sink *sink);
enum mr_status mr_sqlite_check_url(const struct mr_config *cfg, struct mr_error *err);
void mr_sqlite_default_schema(const struct mr_config *cfg, struct mr_buf *out);
enum mr_status mr_sqlite_begin(struct mr_sink *sink, struct mr_error *err);
enum mr_status mr_sqlite_commit(struct mr_sink *sink, struct mr_error *err);
void mr_sqlite_rollback(struct mr_sink *sink);
enum mr_status mr_sqlite_savepoint(struct mr_sink *sink, struct mr_error *err);
enum mr_status mr_sqlite_rollback_savepoint(struct mr_sink *sink, struct mr_error *err);
enum mr_status mr_sqlite_release_savepoint(struct mr_sink *sink, struct mr_error *err);
void mr_sqlite_cancel(struct mr_sink *sink);
/* Every public call begins with this: forget an old cancel(). */
void mr_sqlite_enter(struct mr_sqlite *s);
/* Fill err from the connection's last error, classified. `what` is what could not be done. */
enum mr_status mr_sqlite_fail(struct mr_sqlite *s, struct mr_error *err, const char *what, ...)
    __attribute__((format(printf, 3, 4)));
/* Run statements without parameters and results. */
enum mr_status mr_sqlite_run(struct mr_sqlite *s, const char *sql_z, const char *what, struct mr_error *err) MR_MUST_CHECK;
/* Prepare one statement; *tail (may be NULL) gets what follows it. *stmt is NULL for an empty statement. */
enum mr_status mr_sqlite_prepare(struct mr_sqlite *s, struct mr_str sql, bool keep, sqlite3_stmt **stmt, struct mr_str *tail,
                                 struct mr_error *err) MR_MUST_CHECK;

/* ---- query.c ---- */
enum mr_status mr_sqlite_exec(struct mr_sink *sink, enum mr_query query, const struct mr_value *params, size_t param_count,
                              mr_row_fn on_row, void *ctx, uint64_t *affected, struct mr_error *err);
void mr_sqlite_forget_queries(struct mr_sqlite *s);

/* ---- statement.c: row statements, prepared once per table version, kind and set of columns ---- */

enum mr_sqlite_statement {
    MR_SQLITE_UPSERT,      /* ?1 … ?n: all cells; only the columns of the mask are updated */
    MR_SQLITE_INSERT,      /* ?1 … ?n */
    MR_SQLITE_INSERT_ONLY, /* ?1 … ?n; an existing key changes nothing */
    MR_SQLITE_DELETE,      /* ?1 … ?k: the key */
    MR_SQLITE_UPDATE_ONE,  /* cells of the mask, then the matched columns: both numbered by column (?i, ?n+i) */
    MR_SQLITE_DELETE_ONE,  /* matched columns, numbered ?n+i */
    MR_SQLITE_TRUNCATE,
    MR_SQLITE_DELETE_RANGE, /* mask: the key columns that are set */
    MR_SQLITE_FILL,        /* ?1 … ?k: the key */
    MR_SQLITE_MOVE_ALL,    /* as UPDATE_ONE, all rows that match */
    MR_SQLITE_READ,        /* ?1 … ?k: the key; columns of the mask that are none of the key */
};
/* Which cells are there: bit i = column i. Bytes in `mask`, (column_count + 7) / 8 of them; NULL = all. */
enum mr_status mr_sqlite_statement(struct mr_sqlite *s, const struct mr_table *tbl, enum mr_sqlite_statement kind,
                                   const unsigned char *mask, const unsigned char *match, sqlite3_stmt **out,
                                   struct mr_error *err) MR_MUST_CHECK;
void mr_sqlite_forget_statements(struct mr_sqlite *s);

/* ---- bind.c ---- */

enum mr_sqlite_store mr_sqlite_store_of(const struct mr_column *col);
/* Bind a cell as its column stores it. Texts made on the way live in s->ar. DATA where the column cannot hold it. */
enum mr_status mr_sqlite_bind(struct mr_sqlite *s, sqlite3_stmt *stmt, int index, const struct mr_column *col,
                              enum mr_sqlite_store store, struct mr_value v, struct mr_error *err) MR_MUST_CHECK;
/* How a number is stored where digits are open: an integer, a double that prints back the same, or text. */
enum mr_sqlite_number { MR_SQLITE_AS_INT, MR_SQLITE_AS_REAL, MR_SQLITE_AS_TEXT };
enum mr_sqlite_number mr_sqlite_number_form(struct mr_str digits, int64_t *i, double *f);
/* Plain digits with at least `scale` fraction digits, by adding zeros. The words of NaN and the infinities pass. */
struct mr_str mr_sqlite_pad(struct mr_str digits, int scale, struct mr_arena *ar);

/* ---- apply.c, catalog.c, ddl.c, functions.c ---- */
enum mr_status mr_sqlite_apply(struct mr_sink *sink, struct mr_table_batch *batch, struct mr_error *err);
enum mr_status mr_sqlite_read_row(struct mr_sink *sink, const struct mr_table *tbl, const struct mr_value *cells, struct mr_arena *ar,
                                  struct mr_value *out, bool *found, struct mr_error *err);
enum mr_status mr_sqlite_describe(struct mr_sink *sink, struct mr_str schema, struct mr_str table, struct mr_arena *ar,
                                  struct mr_catalog_table *out, struct mr_error *err);
enum mr_status mr_sqlite_is_referenced(struct mr_sqlite *s, struct mr_str table, bool *yes, struct mr_error *err) MR_MUST_CHECK;
enum mr_status mr_sqlite_dump(struct mr_sink *sink, struct mr_str schema, struct mr_str table, size_t limit, mr_row_fn on_row,
                              void *ctx, struct mr_error *err);
enum mr_status mr_sqlite_ddl(struct mr_sink *sink, const struct mr_ddl_step *step, const struct mr_catalog_table *now,
                             struct mr_arena *ar, struct mr_str *statement, struct mr_error *err);
/* Enforce foreign keys again after the gate; does nothing inside a transaction, where SQLite would ignore it. */
void mr_sqlite_restore_keys(struct mr_sqlite *s);
enum mr_status mr_sqlite_gate_lock(struct mr_sink *sink, struct mr_error *err);
void mr_sqlite_gate_unlock(struct mr_sink *sink);
void mr_sqlite_check(struct mr_sink *sink, const struct mr_sink_place *places, size_t count, mr_finding_fn fn, void *ctx);
enum mr_status mr_sqlite_prepare_control(struct mr_sink *sink, struct mr_error *err);
/* The SQL functions that conversions and dump use: millrace_text, millrace_decimal, millrace_number,
 * millrace_json, millrace_json_number. */
enum mr_status mr_sqlite_add_functions(struct mr_sqlite *s, struct mr_error *err) MR_MUST_CHECK;

#endif
