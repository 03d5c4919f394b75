/* What the files of the PostgreSQL sink share: the connection, the pure parts of the dialect, and how results become
 * errors. A connection belongs to one thread at a time; only cancel may be called from another. */
#ifndef MILLRACE_SINK_POSTGRES_PG_H
#define MILLRACE_SINK_POSTGRES_PG_H

#include "wire.h"

#include <millrace/base/map.h>
#include <millrace/base/log.h>
#include <millrace/sink.h>

#include <libpq-fe.h>

#define MR_PG_MAX_IDENT 63
#define MR_PG_MAX_VALUE ((size_t)0x3fff0000) /* bytes of one field: a datum must stay under 1 GiB with its headers */
#define MR_PG_MAX_TEXT ((size_t)1 << 24)     /* bytes of one statement that we write */

/* ---- Dialect: no connection ---- */

extern const struct mr_dialect mr_pg_dialect;
extern const struct mr_sink_ops mr_sink_postgres;
extern const char *const mr_sql_postgres[]; /* embedded at build, indexed by enum mr_query */

void mr_pg_quote_ident(struct mr_str name, struct mr_buf *out);
void mr_pg_quote_table(struct mr_str schema, struct mr_str table, struct mr_buf *out);
void mr_pg_column_type(const struct mr_column *col, struct mr_buf *out);
struct mr_type mr_pg_type_of_column(struct mr_str native);
bool mr_pg_native_holds(struct mr_str native, struct mr_type type);
enum mr_status mr_pg_holds(struct mr_type type, bool is_key, struct mr_value v, struct mr_error *err);
/* The canonical text of a column's values as an SQL expression. */
void mr_pg_append_text_of(enum mr_type_kind kind, struct mr_str column, struct mr_buf *out);
void mr_pg_render(const struct mr_ddl_step *step, const struct mr_catalog_table *now,
                  const struct mr_server *server, struct mr_buf *out);
enum mr_ddl_cost mr_pg_cost(const struct mr_ddl_step *step, const struct mr_server *server);
enum mr_status mr_pg_classify(const char *native_z, const char **code_z);

/* Ranges of the temporal types, in the model's units since 1970. */
bool mr_pg_date_fits(int64_t days);
bool mr_pg_timestamp_fits(int64_t us);

/* ---- Connection ---- */

struct mr_pg {
    struct mr_sink base;        /* first */
    const struct mr_config *cfg;
    PGconn *conn;
    PGcancel *cancel;           /* made at connect, so that another thread can use it */
    struct mr_server server;
    bool can_temp;              /* may make temporary tables: bulk path through staging */
    bool in_txn;
    bool joins_off;             /* hash and merge joins are off until the end of this transaction */
    uint64_t undo_mark;         /* grows with each rollback, whole or to a savepoint */
    struct mr_buf control;      /* quoted control schema */

    struct mr_buf copy;         /* rows on their way into a COPY; empty between */
    struct mr_buf sql;          /* statement under construction; whoever builds clears it first */
    struct mr_arena *scratch;   /* reset by apply and exec when they begin */

    struct mr_pg_queries *queries;  /* exec.c: named queries, prepared lazily */
    struct mr_pg_shapes *shapes;    /* shape.c: target tables as this connection has seen them */
    struct mr_pg_pipe *pipe;        /* pipe.c: prepared row statements, sent in a pipeline */
};

static inline struct mr_pg *mr_pg_of(struct mr_sink *sink)
{
    return (struct mr_pg *)(void *)sink;
}

/* An error from a result (NULL: from the connection). `what` says what was being done: "cannot read the catalog". */
enum mr_status mr_pg_fail(struct mr_pg *pg, const PGresult *res, const char *what, struct mr_error *err);
/* Run statements without parameters, given as one text; their rows are dropped. */
enum mr_status mr_pg_run(struct mr_pg *pg, const char *sql_z, const char *what, struct mr_error *err) MR_MUST_CHECK;
/* Text in pg->sql, checked and NUL-terminated. */
enum mr_status mr_pg_sql(struct mr_pg *pg, const char **sql_z, struct mr_error *err) MR_MUST_CHECK;
/* Run one statement with text parameters (NULL = null) and hand its rows out; the caller clears *res. */
enum mr_status mr_pg_query(struct mr_pg *pg, const char *sql_z, int count, const char *const *params,
                           const char *what, PGresult **res, struct mr_error *err) MR_MUST_CHECK;
void mr_pg_clear(PGresult **res); /* for the cleanup attribute */
#define MR_PG_RESULT __attribute__((cleanup(mr_pg_clear))) PGresult *

/* Errors that come from a result the server has sent say where in a COPY they happened: rows since the start of the
 * COPY, 0-based, or -1. `relation` is the table's bare name as it stands in the message. */
int64_t mr_pg_copy_line(const PGresult *res, struct mr_str relation);

/* conn.c: transactions */
enum mr_status mr_pg_begin(struct mr_sink *sink, struct mr_error *err);
enum mr_status mr_pg_commit(struct mr_sink *sink, struct mr_error *err);
void mr_pg_rollback(struct mr_sink *sink);
enum mr_status mr_pg_savepoint(struct mr_sink *sink, struct mr_error *err);
enum mr_status mr_pg_rollback_savepoint(struct mr_sink *sink, struct mr_error *err);
enum mr_status mr_pg_release_savepoint(struct mr_sink *sink, struct mr_error *err);

/* url.c */
enum mr_status mr_pg_check_url(const struct mr_config *cfg, struct mr_error *err);
void mr_pg_default_schema(const struct mr_config *cfg, struct mr_buf *out);
/* Open the connection the configuration describes; ENV if the server cannot be reached. */
enum mr_status mr_pg_open(const struct mr_config *cfg, const char *application_z, PGconn **out,
                          struct mr_error *err) MR_MUST_CHECK;

/* exec.c */
struct mr_pg_queries *mr_pg_queries_create(void);
void mr_pg_queries_destroy(struct mr_pg_queries *queries);
void mr_pg_queries_forget(struct mr_pg_queries *queries); /* nothing is prepared any more */
enum mr_status mr_pg_exec(struct mr_sink *sink, enum mr_query query, const struct mr_value *params,
                          size_t param_count, mr_row_fn on_row, void *ctx, uint64_t *affected,
                          struct mr_error *err);

/* control.c */
enum mr_status mr_pg_prepare_control(struct mr_sink *sink, struct mr_error *err);
enum mr_status mr_pg_gate_lock(struct mr_sink *sink, struct mr_error *err);
void mr_pg_gate_unlock(struct mr_sink *sink);

/* rights.c */
void mr_pg_check(struct mr_sink *sink, const struct mr_sink_place *places, size_t count, mr_finding_fn fn, void *ctx);

/* catalog.c, ddl.c */
enum mr_status mr_pg_describe_table(struct mr_sink *sink, struct mr_str schema, struct mr_str table,
                                    struct mr_arena *ar, struct mr_catalog_table *out,
                                    struct mr_error *err);
enum mr_status mr_pg_dump_table(struct mr_sink *sink, struct mr_str schema, struct mr_str table,
                                size_t limit, mr_row_fn on_row, void *ctx, struct mr_error *err);
enum mr_status mr_pg_ddl(struct mr_sink *sink, const struct mr_ddl_step *step,
                         const struct mr_catalog_table *now, struct mr_arena *ar,
                         struct mr_str *statement, struct mr_error *err);

/* apply.c */
enum mr_status mr_pg_apply(struct mr_sink *sink, struct mr_table_batch *batch, struct mr_error *err);

/* read.c */
enum mr_status mr_pg_read_row(struct mr_sink *sink, const struct mr_table *tbl, const struct mr_value *cells, struct mr_arena *ar,
                              struct mr_value *out, bool *found, struct mr_error *err);

#endif
