/* What the files of the MySQL sink share: the connection, the pure parts of the dialect, and how the server's answers become errors. MySQL
 * and MariaDB are told apart at connect. A connection belongs to one thread at a time; only cancel may be called from another. */
#ifndef MILLRACE_SINK_MYSQL_MY_H
#define MILLRACE_SINK_MYSQL_MY_H

#include <mysql.h>

#include <millrace/base/arena.h>
#include <millrace/base/buf.h>
#include <millrace/base/map.h>
#include <millrace/sink.h>

#define MR_MY_MAX_IDENT 64                  /* characters */
#define MR_MY_MAX_COLUMNS 1017              /* InnoDB */
#define MR_MY_MAX_KEY_BYTES 3072            /* of an InnoDB index, four bytes a character */
#define MR_MY_MAX_KEY_CHARS (MR_MY_MAX_KEY_BYTES / 4)
#define MR_MY_MAX_DIGITS 65                 /* DECIMAL: all digits */
#define MR_MY_MAX_SCALE 30                  /* DECIMAL: after the point */
#define MR_MY_MAX_DURATION INT64_C(3020399999999) /* µs: 838:59:59.999999 */
#define MR_MY_MAX_TEXT ((size_t)1 << 26)    /* bytes of one statement that we write, without its values */

/* ---- Dialect: no connection ---- */

extern const struct mr_dialect mr_my_dialect;
extern const struct mr_sink_ops mr_sink_mysql;
extern const char *const mr_sql_mysql[]; /* embedded at build, indexed by enum mr_query */

void mr_my_quote_ident(struct mr_str name, struct mr_buf *out);
void mr_my_quote_table(struct mr_str schema, struct mr_str table, struct mr_buf *out);
/* A text as an SQL literal; works with and without backslash escapes. */
void mr_my_quote_text(struct mr_str text, struct mr_buf *out);
void mr_my_column_type(const struct mr_column *col, struct mr_buf *out);
struct mr_type mr_my_type_of_column(struct mr_str native);
bool mr_my_native_holds(struct mr_str native, struct mr_type type);
bool mr_my_wants_wider(const struct mr_table *tbl, uint32_t column, const struct mr_catalog_table *now, struct mr_str native);
enum mr_status mr_my_holds(struct mr_type type, bool is_key, struct mr_value v, struct mr_error *err);
void mr_my_render(const struct mr_ddl_step *step, const struct mr_catalog_table *now, const struct mr_server *server,
                  struct mr_buf *out);
enum mr_ddl_cost mr_my_cost(const struct mr_ddl_step *step, const struct mr_server *server);
enum mr_status mr_my_classify(const char *native_z, const char **code_z);
/* What the SQLSTATE of an error says that no rule knows by its number: a class, or still unknown (MR_CODE_UNKNOWN) and so ENV. */
enum mr_status mr_my_classify_state(const char *state_z, const char **code_z);

/* The DECIMAL that a type becomes: never beyond 65 digits, 30 of them after the point. Digits open is the widest of all. */
struct mr_type mr_my_decimal(struct mr_type type);
/* Is it a decimal that JSON alone has told, and that a double may hold? Declared decimals, and those of a producer's own type (Decimal128), keep their
 * digits from the start. */
bool mr_my_may_be_double(struct mr_type type);
/* Is the number a double's, digit for digit? Below the normal range a double's text has fewer digits than its value. */
bool mr_my_is_double(struct mr_str digits);

/* ---- The server ---- */

bool mr_my_is_mariadb(const struct mr_server *server); /* NULL: yes */
/* Values proposed by an INSERT have an alias (MySQL from 8.0.20 on), elsewhere VALUES(). */
bool mr_my_has_row_alias(const struct mr_server *server);
/* Compares bytes, trailing blanks included. */
const char *mr_my_collation(const struct mr_server *server);

/* ---- Connection ---- */

struct mr_my {
    struct mr_sink base;        /* first */
    const struct mr_config *cfg;
    MYSQL *conn;
    unsigned long thread_id;    /* of the server's; read by cancel from another thread */
    struct mr_server server;
    bool is_mariadb;
    bool can_bulk;              /* array binding */
    bool folds_tables;          /* lower_case_table_names is not 0 */
    bool in_txn;
    uint64_t max_packet;        /* bytes of one statement with its values */
    int64_t lock_wait_ms;       /* 0: as long as it takes */
    bool read_only;             /* the session was opened so */
    struct mr_buf control;      /* quoted database of the control tables */
    struct mr_str control_name; /* the same, not quoted; in `ar` */
    char lock_name[2][64];      /* of GET_LOCK: making the control tables, the DDL gate */

    struct mr_buf sql;          /* statement under construction; whoever builds clears it first */
    struct mr_arena *ar;        /* lives as long as the connection */
    struct mr_arena *scratch;   /* reset by apply when it begins */
    struct mr_arena *values;    /* what is bound for one execution */
    struct mr_my_queries *queries; /* exec.c: named queries, prepared when first needed */
    struct mr_my_shapes *shapes;   /* shape.c: target tables as this connection has seen them */
};

static inline struct mr_my *mr_my_of(struct mr_sink *sink)
{
    return (struct mr_my *)(void *)sink;
}

/* An error from the connection's, or the statement's, last answer. `what` says what was being done: "cannot read the catalog". */
enum mr_status mr_my_fail(struct mr_my *my, const char *what, struct mr_error *err);
enum mr_status mr_my_fail_stmt(struct mr_my *my, MYSQL_STMT *stmt, const char *what, struct mr_error *err);
/* The code word beside a status that was made by hand. */
void mr_my_set_code(struct mr_error *err, const char *code_z);
/* A prepared statement's result broke off. The library would look for the rest of it before it runs the statement again or closes it, and would wait
 * for ever if the server has none (KILL QUERY, a deadlock). So the connection ends here: what comes next fails at once, and is_alive tells. */
void mr_my_break(struct mr_my *my);
/* Run one statement without parameters; its rows are dropped. */
enum mr_status mr_my_run(struct mr_my *my, struct mr_str sql, const char *what, struct mr_error *err) MR_MUST_CHECK;
enum mr_status mr_my_run_z(struct mr_my *my, const char *sql_z, const char *what, struct mr_error *err) MR_MUST_CHECK;
/* my->sql as one statement. */
enum mr_status mr_my_run_built(struct mr_my *my, const char *what, struct mr_error *err) MR_MUST_CHECK;
/* Run one statement and keep its rows; the caller frees them. */
enum mr_status mr_my_query(struct mr_my *my, struct mr_str sql, const char *what, MYSQL_RES **res, struct mr_error *err) MR_MUST_CHECK;
enum mr_status mr_my_query_built(struct mr_my *my, const char *what, MYSQL_RES **res, struct mr_error *err) MR_MUST_CHECK;
void mr_my_free_result(MYSQL_RES **res); /* for the cleanup attribute */
#define MR_MY_RESULT __attribute__((cleanup(mr_my_free_result))) MYSQL_RES *
/* Cells of the row fetched last; NULL is the empty text. */
struct mr_str mr_my_cell(MYSQL_RES *res, MYSQL_ROW row, unsigned column);

/* conn.c: transactions */
enum mr_status mr_my_begin(struct mr_sink *sink, struct mr_error *err);
enum mr_status mr_my_commit(struct mr_sink *sink, struct mr_error *err);
void mr_my_rollback(struct mr_sink *sink);
/* How long statements wait for others' locks, of rows and of tables; 0: the server's default. */
enum mr_status mr_my_set_lock_wait(struct mr_my *my, int64_t ms, struct mr_error *err) MR_MUST_CHECK;
/* DDL has committed implicitly: the caller's transaction goes on as a new one. */
enum mr_status mr_my_go_on(struct mr_my *my, struct mr_error *err) MR_MUST_CHECK;

/* url.c */
enum mr_status mr_my_check_url(const struct mr_config *cfg, struct mr_error *err);
void mr_my_default_schema(const struct mr_config *cfg, struct mr_buf *out);
/* Open the connection the configuration describes; ENV if the server cannot be reached. */
enum mr_status mr_my_open(const struct mr_config *cfg, const char *application_z, MYSQL **out, struct mr_error *err) MR_MUST_CHECK;

/* exec.c */
struct mr_my_queries *mr_my_queries_create(void);
void mr_my_queries_destroy(struct mr_my_queries *queries);
enum mr_status mr_my_exec(struct mr_sink *sink, enum mr_query query, const struct mr_value *params, size_t param_count,
                          mr_row_fn on_row, void *ctx, uint64_t *affected, struct mr_error *err);

/* control.c */
enum mr_status mr_my_prepare_control(struct mr_sink *sink, struct mr_error *err);
enum mr_status mr_my_gate_lock(struct mr_sink *sink, struct mr_error *err);
void mr_my_gate_unlock(struct mr_sink *sink);

/* rights.c */
void mr_my_check(struct mr_sink *sink, const struct mr_sink_place *places, size_t count, mr_finding_fn fn, void *ctx);

/* catalog.c, ddl.c */
uint64_t mr_my_room(const struct mr_sink *sink);
enum mr_status mr_my_describe_table(struct mr_sink *sink, struct mr_str schema, struct mr_str table, struct mr_arena *ar,
                                    struct mr_catalog_table *out, struct mr_error *err);
enum mr_status mr_my_dump_table(struct mr_sink *sink, struct mr_str schema, struct mr_str table, size_t limit, mr_row_fn on_row,
                                void *ctx, struct mr_error *err);
enum mr_status mr_my_schema_exists(struct mr_my *my, struct mr_str schema, bool *exists, struct mr_error *err) MR_MUST_CHECK;
enum mr_status mr_my_ddl(struct mr_sink *sink, const struct mr_ddl_step *step, const struct mr_catalog_table *now,
                         struct mr_arena *ar, struct mr_str *statement, struct mr_error *err);

/* apply.c */
enum mr_status mr_my_apply(struct mr_sink *sink, struct mr_table_batch *batch, struct mr_error *err);

/* read.c */
enum mr_status mr_my_read_row(struct mr_sink *sink, const struct mr_table *tbl, const struct mr_value *cells, struct mr_arena *ar,
                              struct mr_value *out, bool *found, struct mr_error *err);

#endif
