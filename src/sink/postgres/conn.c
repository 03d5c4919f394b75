/* One connection to PostgreSQL: its session settings, transactions, and the table of operations. */
#include "pg.h"

#include "pipe.h"
#include "shape.h"

#include <millrace/base/mem.h>

#include <poll.h>

#define MIN_VERSION 130000

/* Everything that the texts we send and read depend on, whatever role and database have set. The search path stays
 * as it is: triggers of the user's may depend on it, and we qualify every name. */
static const char session_settings[] =
    "SET timezone TO 'UTC'; SET datestyle TO 'ISO, YMD'; SET intervalstyle TO 'postgres'; "
    "SET bytea_output TO 'hex'; SET extra_float_digits TO 1; SET standard_conforming_strings TO on; "
    "SET client_min_messages TO warning; SET jit TO off; "
    /* A batch takes what it takes: cancelled and tried again it would never end. */
    "SET statement_timeout TO 0; "
    /* We never think inside a transaction. One whose client sleeps (a paused machine) must not hold up whoever took over its partitions. */
    "SET idle_in_transaction_session_timeout TO '60s'; "
    /* When our machine dies, what it held must not stay locked for hours. */
    "SET tcp_keepalives_idle TO 60; SET tcp_keepalives_interval TO 10; SET tcp_keepalives_count TO 6";

static enum mr_status set_limits(struct mr_pg *pg, int64_t lock_wait_ms, struct mr_error *err)
{
    char text[96];
    snprintf(text, sizeof(text), "SET lock_timeout TO %lld", (long long)lock_wait_ms);
    MR_TRY(mr_pg_run(pg, text, "cannot set up the session", err));
    if (pg->server.version < 140000)
        return MR_OK;
    /* The same when our process dies while a statement of it waits for a lock. Not every server's system can do it. */
    struct mr_error ignored = {0};
    if (mr_pg_run(pg, "SET client_connection_check_interval TO '10s'", "cannot set up the session", &ignored) == MR_OK)
        return MR_OK;
    return PQstatus(pg->conn) == CONNECTION_OK ? MR_OK : mr_pg_fail(pg, NULL, "cannot set up the session", err);
}

static void drop_notice(void *arg, const PGresult *res)
{
    (void)arg;
    (void)res;
}

static enum mr_status read_server(struct mr_pg *pg, struct mr_error *err)
{
    const char *version = PQparameterStatus(pg->conn, "server_version");
    struct mr_str text = mr_str_z(version ? version : "");

    pg->server.version = PQserverVersion(pg->conn);
    if (text.len > sizeof(pg->server.text) - 16)
        text.len = sizeof(pg->server.text) - 16;
    memcpy(pg->server.text, "PostgreSQL ", 11);
    memcpy(pg->server.text + 11, text.ptr, text.len);
    pg->server.text[11 + text.len] = '\0';
    if (pg->server.version < MIN_VERSION)
        return mr_fail(err, MR_E_CONFIG, "the target is %s; Millrace needs version 13 or newer", pg->server.text);
    return MR_OK;
}

static enum mr_status set_up_session(struct mr_pg *pg, const struct mr_sink_options *opt, struct mr_error *err)
{
    PQsetNoticeReceiver(pg->conn, drop_notice, NULL);
    MR_TRY(read_server(pg, err));
    MR_TRY(mr_pg_run(pg, session_settings, "cannot set up the session", err));
    MR_TRY(set_limits(pg, opt->lock_wait_ms, err));
    if (opt->read_only)
        MR_TRY(mr_pg_run(pg, "SET default_transaction_read_only TO on", "cannot set up the session", err));

    const char *is_superuser = PQparameterStatus(pg->conn, "is_superuser");
    if (is_superuser && strcmp(is_superuser, "on") == 0)
        MR_TRY(mr_pg_run(pg, "SET lc_messages TO 'C'", "cannot set up the session", err));

    MR_PG_RESULT res = NULL;
    MR_TRY(mr_pg_query(pg, "SELECT has_database_privilege(current_database(), 'TEMP')", 0, NULL,
                       "cannot read the role's rights", &res, err));
    pg->can_temp = strcmp(PQgetvalue(res, 0, 0), "t") == 0;
    pg->cancel = PQgetCancel(pg->conn);
    return MR_OK;
}

static void pg_destroy(struct mr_sink *sink)
{
    if (!sink)
        return;
    struct mr_pg *pg = mr_pg_of(sink);
    mr_pg_pipe_destroy(pg->pipe);
    mr_pg_shapes_destroy(pg->shapes);
    mr_pg_queries_destroy(pg->queries);
    mr_arena_destroy(pg->scratch);
    mr_buf_free(&pg->copy);
    mr_buf_free(&pg->sql);
    mr_buf_free(&pg->control);
    PQfreeCancel(pg->cancel);
    PQfinish(pg->conn); /* the server rolls back what is open */
    mr_xfree(pg);
}

static enum mr_status pg_connect(const struct mr_sink_options *opt, struct mr_sink **out, struct mr_error *err)
{
    const char *control = opt->cfg->control_schema;
    PGconn *conn;

    MR_TRY(mr_pg_open(opt->cfg, opt->application_z, &conn, err));
    struct mr_pg *pg = mr_xcalloc(1, sizeof(*pg));
    pg->base.ops = &mr_sink_postgres;
    pg->cfg = opt->cfg;
    pg->conn = conn;
    pg->copy = MR_BUF_INIT(MR_PG_MAX_VALUE + 65536);
    pg->sql = MR_BUF_INIT(MR_PG_MAX_TEXT);
    pg->control = MR_BUF_INIT(1024);
    mr_pg_quote_ident(mr_str_z(control && *control ? control : "millrace"), &pg->control);
    pg->scratch = mr_arena_create(0);
    pg->queries = mr_pg_queries_create();
    pg->shapes = mr_pg_shapes_create();
    pg->pipe = mr_pg_pipe_create();

    enum mr_status status = set_up_session(pg, opt, err);
    if (status != MR_OK) {
        pg_destroy(&pg->base);
        return status;
    }
    *out = &pg->base;
    return MR_OK;
}

static const struct mr_server *pg_server(const struct mr_sink *sink)
{
    return &((const struct mr_pg *)(const void *)sink)->server;
}

/* No round trip: a connection that the server has closed is readable, and reading finds its end, at the latest behind the
 * server's last words. */
static bool pg_is_alive(struct mr_sink *sink)
{
    struct mr_pg *pg = mr_pg_of(sink);
    struct pollfd fd = {.fd = PQsocket(pg->conn), .events = POLLIN};

    if (PQstatus(pg->conn) != CONNECTION_OK || fd.fd < 0)
        return false;
    for (int i = 0; i < 16 && poll(&fd, 1, 0) > 0; i++)
        if (!PQconsumeInput(pg->conn))
            return false;
    return PQstatus(pg->conn) == CONNECTION_OK;
}

static void pg_cancel(struct mr_sink *sink)
{
    char text[256];
    PQcancel(mr_pg_of(sink)->cancel, text, sizeof(text));
}

enum mr_status mr_pg_begin(struct mr_sink *sink, struct mr_error *err)
{
    struct mr_pg *pg = mr_pg_of(sink);

    if (pg->in_txn)
        return mr_fail(err, MR_E_BUG, "a transaction is open already");
    MR_TRY(mr_pg_run(pg, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", "cannot begin a transaction", err));
    pg->in_txn = true;
    pg->joins_off = false;
    return MR_OK;
}

enum mr_status mr_pg_commit(struct mr_sink *sink, struct mr_error *err)
{
    struct mr_pg *pg = mr_pg_of(sink);
    MR_PG_RESULT res = PQexec(pg->conn, "COMMIT");

    pg->in_txn = false;
    pg->joins_off = false;
    if (PQresultStatus(res) != PGRES_COMMAND_OK) {
        pg->undo_mark++; /* deferred constraints speak here, and have rolled back */
        return mr_pg_fail(pg, res, "cannot commit", err);
    }
    if (strcmp(PQcmdStatus(res), "COMMIT") != 0) {
        pg->undo_mark++;
        return mr_fail(err, MR_E_BUG, "a failed transaction was to be committed");
    }
    mr_pg_shapes_committed(pg->shapes, pg->undo_mark);
    return MR_OK;
}

void mr_pg_rollback(struct mr_sink *sink)
{
    struct mr_pg *pg = mr_pg_of(sink);

    if (PQtransactionStatus(pg->conn) != PQTRANS_IDLE && PQstatus(pg->conn) == CONNECTION_OK)
        PQclear(PQexec(pg->conn, "ROLLBACK"));
    pg->in_txn = false;
    pg->joins_off = false;
    pg->undo_mark++;
}

enum mr_status mr_pg_savepoint(struct mr_sink *sink, struct mr_error *err)
{
    return mr_pg_run(mr_pg_of(sink), "SAVEPOINT millrace", "cannot set a savepoint", err);
}

enum mr_status mr_pg_rollback_savepoint(struct mr_sink *sink, struct mr_error *err)
{
    struct mr_pg *pg = mr_pg_of(sink);

    pg->joins_off = false;
    pg->undo_mark++;
    return mr_pg_run(pg, "ROLLBACK TO SAVEPOINT millrace; RELEASE SAVEPOINT millrace",
                     "cannot go back to the savepoint", err);
}

enum mr_status mr_pg_release_savepoint(struct mr_sink *sink, struct mr_error *err)
{
    return mr_pg_run(mr_pg_of(sink), "RELEASE SAVEPOINT millrace", "cannot release the savepoint", err);
}

static const char *const schemes[] = {"postgresql://", "postgres://", NULL};

const struct mr_sink_ops mr_sink_postgres = {
    .name = "postgresql",
    .url_schemes = schemes,
    .dialect = &mr_pg_dialect,
    .single_writer = false,
    .check_url = mr_pg_check_url,
    .default_schema = mr_pg_default_schema,
    .connect = pg_connect,
    .destroy = pg_destroy,
    .server = pg_server,
    .is_alive = pg_is_alive,
    .begin = mr_pg_begin,
    .commit = mr_pg_commit,
    .rollback = mr_pg_rollback,
    .savepoint = mr_pg_savepoint,
    .rollback_savepoint = mr_pg_rollback_savepoint,
    .release_savepoint = mr_pg_release_savepoint,
    .exec = mr_pg_exec,
    .apply = mr_pg_apply,
    .read_row = mr_pg_read_row,
    .describe_table = mr_pg_describe_table,
    .ddl = mr_pg_ddl,
    .gate_lock = mr_pg_gate_lock,
    .gate_unlock = mr_pg_gate_unlock,
    .prepare_control = mr_pg_prepare_control,
    .dump_table = mr_pg_dump_table,
    .cancel = pg_cancel,
    .check = mr_pg_check,
};
