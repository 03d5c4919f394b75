/* The contract of a sink: one connection to the target and what can be asked of it. There is no "run this text": the
 * engine names operations. A connection belongs to one thread at a time. Errors come classified: ENV, BUSY, SCHEMA, DATA, CONFIG. */
#ifndef MILLRACE_SINK_H
#define MILLRACE_SINK_H

#include <millrace/base/finding.h>
#include <millrace/config/config.h>
#include <millrace/dialect.h>

struct mr_sink;

/* Named queries on the control tables: sql/<dialect>/<name>.sql, embedded at build. In the text `{name}` stands for the
 * quoted control table of that name ("millrace"."position", or "millrace_position"), `{control}` for the quoted control
 * schema (PostgreSQL, MySQL), `{collation}` for MySQL's collation. Parameters are $1 … $n (PostgreSQL), ?1 … ?n (SQLite, MySQL). A file may hold several statements: they run in
 * order, all get the same parameters they name, the last one's rows count; outside a transaction they run in one of their own. Only
 * control_create has several statements in PostgreSQL. The list stands in sink_queries.def. */
#define MR_CONTROL_LAYOUT_VERSION 3 /* of the control tables, as control_create makes them */
enum mr_query {
#define MR_QUERY(name) MR_Q_##name,
#include <millrace/sink_queries.def>
#undef MR_QUERY
    MR_QUERY_COUNT
};

/* One result row; cells are NULL, INT, FLOAT, TEXT, BYTES or BOOL and live until the callback returns. */
typedef enum mr_status (*mr_row_fn)(void *ctx, const struct mr_value *cells, size_t count,
                                    struct mr_error *err);

struct mr_sink_options {
    const struct mr_config *cfg;
    const char *application_z; /* name shown in the server's list of connections */
    int64_t lock_wait_ms;      /* a statement waits so long for others' locks and then comes back with ENV; 0 as long as it takes */
    bool read_only;            /* nothing can be written; a database file that does not exist is not made, an empty one is shown */
};

/* A schema (table "") or a table whose rights are asked for. */
struct mr_sink_place {
    struct mr_str schema, table;
};

struct mr_sink_ops {
    const char *name;                 /* "postgresql", "sqlite", "mysql" */
    const char *const *url_schemes;   /* "postgresql://", "postgres://"; NULL at the end */
    const struct mr_dialect *dialect;
    bool single_writer;               /* only one connection may write (SQLite): one applier */
    bool ddl_commits;                 /* every DDL statement commits by itself (MySQL): the gate records around it. ddl leaves a transaction open */

    /* Check a URL's form and the options without connecting (CONFIG). */
    enum mr_status (*check_url)(const struct mr_config *cfg, struct mr_error *err);
    /* The default database or schema of the URL, for `{db}`; "" if none. */
    void (*default_schema)(const struct mr_config *cfg, struct mr_buf *out);

    enum mr_status (*connect)(const struct mr_sink_options *opt, struct mr_sink **out,
                              struct mr_error *err);
    void (*destroy)(struct mr_sink *sink); /* rolls back what is open */
    const struct mr_server *(*server)(const struct mr_sink *sink);
    bool (*is_alive)(struct mr_sink *sink); /* false: connect anew */

    enum mr_status (*begin)(struct mr_sink *sink, struct mr_error *err);
    enum mr_status (*commit)(struct mr_sink *sink, struct mr_error *err);
    void (*rollback)(struct mr_sink *sink); /* fine without a transaction, fine on a broken connection */
    /* One level of savepoint inside the transaction. */
    enum mr_status (*savepoint)(struct mr_sink *sink, struct mr_error *err);
    enum mr_status (*rollback_savepoint)(struct mr_sink *sink, struct mr_error *err); /* and release it */
    enum mr_status (*release_savepoint)(struct mr_sink *sink, struct mr_error *err);

    /* Run a named query, in the open transaction if there is one. on_row may be NULL. *affected (may be NULL) = rows changed by the
     * last statement. */
    enum mr_status (*exec)(struct mr_sink *sink, enum mr_query query, const struct mr_value *params,
                           size_t param_count, mr_row_fn on_row, void *ctx, uint64_t *affected,
                           struct mr_error *err);

    /* Apply the rows of one table inside the open transaction. Bulk from cfg->bulk_rows rows on, small path below; both give the same
     * table. On DATA err->row is the offending row where the server tells (-1 else). The transaction is then in an
     * error state: the caller rolls back (to its savepoint). */
    enum mr_status (*apply)(struct mr_sink *sink, struct mr_table_batch *batch, struct mr_error *err);

    /* Read cells of one keyed row inside the open transaction, and lock it where the server has row locks. `cells`: those of the key are set, NULL
     * stands in each column that is asked for (JSON, TEXT or an array), ABSENT in all others; in the places of the former out[] gets what is
     * stored, in `ar`: NULL, a JSON or TEXT, of an array column a JSON array of the elements' canonical texts. *found: there is such a row. */
    enum mr_status (*read_row)(struct mr_sink *sink, const struct mr_table *tbl, const struct mr_value *cells, struct mr_arena *ar,
                               struct mr_value *out, bool *found, struct mr_error *err);

    /* The catalog's view of a table (exists = false if there is none). */
    enum mr_status (*describe_table)(struct mr_sink *sink, struct mr_str schema, struct mr_str table,
                                     struct mr_arena *ar, struct mr_catalog_table *out,
                                     struct mr_error *err);
    /* Run one DDL step (rendered by the dialect) inside the open transaction, under lock_timeout. *statement gets the text that ran,
     * in `ar`. Idempotent where the database allows ("IF NOT EXISTS"). */
    enum mr_status (*ddl)(struct mr_sink *sink, const struct mr_ddl_step *step,
                          const struct mr_catalog_table *now, struct mr_arena *ar,
                          struct mr_str *statement, struct mr_error *err);
    /* One owner of DDL at a time, over all instances: held until unlock or the connection's end. BUSY if another has it: it is not waited for. */
    enum mr_status (*gate_lock)(struct mr_sink *sink, struct mr_error *err);
    void (*gate_unlock)(struct mr_sink *sink);

    /* Create or upgrade the control tables. */
    enum mr_status (*prepare_control)(struct mr_sink *sink, struct mr_error *err);

    /* Read rows of a table for people and for tests (demo, verify): SELECT of all columns as text, ordered by the primary key,
     * at most `limit`. First row = column names. */
    enum mr_status (*dump_table)(struct mr_sink *sink, struct mr_str schema, struct mr_str table,
                                 size_t limit, mr_row_fn on_row, void *ctx, struct mr_error *err);

    /* Optional. */
    uint64_t (*room)(const struct mr_sink *sink); /* bytes that the parameters of one named query may have; NULL: as many as one likes */
    void (*cancel)(struct mr_sink *sink); /* from another thread: make the running call return */
    /* May this role do what loading does: make or use the control tables, and the places given? Tells a finding each; writes nothing. */
    void (*check)(struct mr_sink *sink, const struct mr_sink_place *places, size_t count, mr_finding_fn fn, void *ctx);
};

struct mr_sink; /* every sink's struct begins with: const struct mr_sink_ops *ops; */
struct mr_sink {
    const struct mr_sink_ops *ops;
};

/* Every sink, NULL at the end (src/sink/registry.c). */
extern const struct mr_sink_ops *const mr_sinks[];
/* The sink whose scheme the URL has; CONFIG with the known schemes otherwise. */
enum mr_status mr_sink_for_url(const char *url_z, const struct mr_sink_ops **out,
                               struct mr_error *err) MR_MUST_CHECK;

#endif
