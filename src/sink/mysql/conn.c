/* One connection to MySQL or MariaDB: its session settings, transactions, errors, and the table of operations. */
#include "my.h"

#include <errmsg.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>

#include <millrace/base/hash.h>
#include <millrace/base/log.h>
#include <millrace/base/mem.h>

#include "shape.h"

#define MIN_MARIADB 100600 /* JSON_TABLE */
#define MIN_MYSQL 80017    /* utf8mb4_0900_bin */
#define LOCK_TIMEOUT 1205

/* ---- Errors ---- */

void mr_my_set_code(struct mr_error *err, const char *code_z)
{
    if (!err)
        return;
    size_t len = strnlen(code_z, sizeof(err->code) - 1);
    memcpy(err->code, code_z, len);
    err->code[len] = '\0';
}

/* What a person can do about the errors where that is not plain from the message. */
static const char *own_hint(unsigned number)
{
    switch (number) {
    case 1044:
    case 1142:
    case 1143:
    case 1227:
        return "grant the missing right to the user in target.url; `millrace run` goes on by itself then";
    case 1021:
    case 1114:
        return "make room on the server's disk; the work goes on by itself then";
    case 1290:
    case 1836:
        return "the server is read-only (a replica?): point target.url to the primary";
    case 1205:
        return "another session holds a lock; for changes of tables target.lock_timeout says how long to wait for it";
    case 1118:
        return "an InnoDB row must fit half a page: set unwrap.flatten.struct: false to keep nested documents in one column";
    case 1665:
        return "set binlog_format to ROW or MIXED on the server";
    case 3750:
        return "the server wants a primary key for every table: set tables.NAME.primary_key, or sql_require_primary_key=OFF there";
    }
    return NULL;
}

static enum mr_status fill_error(const struct mr_my *my, unsigned number, const char *state, const char *said, const char *what,
                                 struct mr_error *err)
{
    char native[16];
    const char *code;

    snprintf(native, sizeof(native), "%u", number);
    enum mr_status status = mr_my_classify(native, &code);
    if (number == LOCK_TIMEOUT && my->lock_wait_ms > 0)
        status = MR_E_ENV; /* it has waited as long as it may: the caller has other things to do */
    if (strcmp(code, MR_MY_UNKNOWN) == 0)
        status = mr_my_classify_state(state, &code);
    mr_fail(err, status, "%s: %s", what, said);
    if (!err)
        return status;
    memcpy(err->native, native, sizeof(err->native));
    mr_my_set_code(err, code);
    if (own_hint(number))
        mr_error_hint(err, "%s", own_hint(number));
    return status;
}

enum mr_status mr_my_fail(struct mr_my *my, const char *what, struct mr_error *err)
{
    unsigned number = mysql_errno(my->conn);
    return fill_error(my, number ? number : CR_UNKNOWN_ERROR, mysql_sqlstate(my->conn), mysql_error(my->conn), what, err);
}

enum mr_status mr_my_fail_stmt(struct mr_my *my, MYSQL_STMT *stmt, const char *what, struct mr_error *err)
{
    unsigned number = mysql_stmt_errno(stmt);
    if (number == 0)
        return mr_my_fail(my, what, err);
    return fill_error(my, number, mysql_stmt_sqlstate(stmt), mysql_stmt_error(stmt), what, err);
}

void mr_my_break(struct mr_my *my)
{
    int fd = (int)mysql_get_socket(my->conn);
    if (fd >= 0)
        (void)shutdown(fd, SHUT_RDWR);
}

/* ---- Running text ---- */

void mr_my_free_result(MYSQL_RES **res)
{
    mysql_free_result(*res);
    *res = NULL;
}

struct mr_str mr_my_cell(MYSQL_RES *res, MYSQL_ROW row, unsigned column)
{
    return row[column] ? mr_str_of(row[column], mysql_fetch_lengths(res)[column]) : MR_STR("");
}

enum mr_status mr_my_query(struct mr_my *my, struct mr_str sql, const char *what, MYSQL_RES **res, struct mr_error *err)
{
    *res = NULL;
    if (mysql_real_query(my->conn, sql.ptr, sql.len) != 0)
        return mr_my_fail(my, what, err);
    *res = mysql_store_result(my->conn);
    if (!*res && mysql_errno(my->conn) != 0)
        return mr_my_fail(my, what, err);
    return MR_OK;
}

enum mr_status mr_my_run(struct mr_my *my, struct mr_str sql, const char *what, struct mr_error *err)
{
    MR_MY_RESULT res = NULL;
    return mr_my_query(my, sql, what, &res, err);
}

enum mr_status mr_my_run_z(struct mr_my *my, const char *sql_z, const char *what, struct mr_error *err)
{
    return mr_my_run(my, mr_str_z(sql_z), what, err);
}

enum mr_status mr_my_query_built(struct mr_my *my, const char *what, MYSQL_RES **res, struct mr_error *err)
{
    MR_TRY(mr_buf_check(&my->sql, "a statement", err));
    return mr_my_query(my, mr_buf_str(&my->sql), what, res, err);
}

enum mr_status mr_my_run_built(struct mr_my *my, const char *what, struct mr_error *err)
{
    MR_MY_RESULT res = NULL;
    return mr_my_query_built(my, what, &res, err);
}

/* ---- Connecting ---- */

/* "10.11.6-MariaDB-0+deb12u1", "8.4.0": the library's own number of a MariaDB behind a proxy may be that of the proxy. */
static int version_number(struct mr_str text)
{
    int part[3] = {0, 0, 0};
    size_t at = 0;

    for (int i = 0; i < 3; i++) {
        while (at < text.len && text.ptr[at] >= '0' && text.ptr[at] <= '9' && part[i] < 1000)
            part[i] = part[i] * 10 + (text.ptr[at++] - '0');
        if (at < text.len && text.ptr[at] == '.')
            at++;
    }
    return part[0] * 10000 + part[1] * 100 + part[2];
}

static bool has_word(struct mr_str text, struct mr_str word)
{
    for (size_t i = 0; i + word.len <= text.len; i++)
        if (mr_str_eq_nocase(mr_str_of(text.ptr + i, word.len), word))
            return true;
    return false;
}

static const char server_sql[] =
    "SELECT @@version, @@version_comment, @@max_allowed_packet, @@lower_case_table_names, CONNECTION_ID()";

static enum mr_status read_server(struct mr_my *my, struct mr_error *err)
{
    MR_MY_RESULT res = NULL;
    MYSQL_ROW row;

    MR_TRY(mr_my_query(my, MR_STR(server_sql), "cannot read the server's settings", &res, err));
    if (!res || !(row = mysql_fetch_row(res)))
        return mr_fail(err, MR_E_ENV, "the server does not tell its version");
    struct mr_str version = mr_my_cell(res, row, 0);
    int64_t folds = 0, id = 0;
    my->is_mariadb = has_word(version, MR_STR("mariadb")) || has_word(mr_my_cell(res, row, 1), MR_STR("mariadb"));
    (void)mr_parse_uint64(mr_my_cell(res, row, 2), &my->max_packet);
    (void)mr_parse_int64(mr_my_cell(res, row, 3), &folds);
    (void)mr_parse_int64(mr_my_cell(res, row, 4), &id);
    my->folds_tables = folds != 0;
    my->thread_id = (unsigned long)id;
    my->server.version = version_number(version);
    snprintf(my->server.text, sizeof(my->server.text), "%s %.*s", my->is_mariadb ? "MariaDB" : "MySQL",
             (int)(version.len < 80 ? version.len : 80), version.ptr);
    if (my->server.version < (my->is_mariadb ? MIN_MARIADB : MIN_MYSQL))
        return mr_fail(err, MR_E_CONFIG, "the target is %s; Millrace needs MariaDB 10.6 or newer, or MySQL 8.0.17 or newer",
                       my->server.text);
    return MR_OK;
}

/* Bulk execution is a capability of MariaDB's protocol, which the library tells from the handshake. */
static bool has_bulk(struct mr_my *my)
{
    unsigned long capabilities = 0;
    if (!my->is_mariadb ||
        mariadb_get_infov(my->conn, MARIADB_CONNECTION_EXTENDED_SERVER_CAPABILITIES, &capabilities) != 0)
        return false;
    return (capabilities & (MARIADB_CLIENT_STMT_BULK_OPERATIONS >> 32)) != 0;
}

/* Everything that what we send and read depends on, whatever server and user have set. A 0 in a key column is a 0, also where it counts up by
 * itself. */
static const char *const session_settings[] = {
    "SET SESSION sql_mode = 'STRICT_TRANS_TABLES,STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO'",
    "SET SESSION time_zone = '+00:00'",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "SET SESSION autocommit = 1, foreign_key_checks = 1, unique_checks = 1, completion_type = 0",
    "SET SESSION sql_select_limit = 18446744073709551615, sql_big_selects = 1, sql_safe_updates = 0, sql_auto_is_null = 0",
};

/* Wishes: where the server refuses, the work goes on. Without innodb_strict_mode a table of many columns is made with a warning, and only the row
 * that is really too long is refused. The history of a system-versioned table goes through an ALTER like the table. A key that MySQL adds to tables
 * without one is none of ours to see. A batch takes what it takes: cancelled and tried again it would never end. When our machine dies, what it
 * held must not stay locked for hours. An array may have to be filled with very many nulls (MR_MY_FILL). */
static const char *const wishes_of_mariadb[] = {
    "SET SESSION innodb_strict_mode = OFF",
    "SET SESSION max_statement_time = 0",
    "SET SESSION idle_transaction_timeout = 300",
    "SET SESSION max_recursive_iterations = 4294967295",
    "SET SESSION system_versioning_alter_history = KEEP",
    "SET SESSION check_constraint_checks = ON",
    NULL,
};
static const char *const wishes_of_mysql[] = {
    "SET SESSION innodb_strict_mode = OFF",
    "SET SESSION max_execution_time = 0",
    "SET SESSION wait_timeout = 600",
    "SET SESSION cte_max_recursion_depth = 4294967295",
    "SET SESSION show_gipk_in_create_table_and_information_schema = OFF",
    NULL,
};

static enum mr_status wish(struct mr_my *my, struct mr_error *err)
{
    const char *const *wishes = my->is_mariadb ? wishes_of_mariadb : wishes_of_mysql;
    for (; *wishes; wishes++) {
        struct mr_error ignored = {0};
        if (mr_my_run_z(my, *wishes, "cannot set up the session", &ignored) == MR_E_ENV && mysql_errno(my->conn) >= CR_MIN_ERROR)
            return mr_my_fail(my, "cannot set up the session", err);
    }
    return MR_OK;
}

enum mr_status mr_my_set_lock_wait(struct mr_my *my, int64_t ms, struct mr_error *err)
{
    long long seconds = (long long)(ms / 1000 + (ms % 1000 != 0));

    mr_buf_clear(&my->sql);
    mr_buf_append_z(&my->sql, "SET SESSION lock_wait_timeout = ");
    mr_buf_printf(&my->sql, ms > 0 ? "%lld" : "DEFAULT", seconds);
    mr_buf_append_z(&my->sql, ", innodb_lock_wait_timeout = ");
    mr_buf_printf(&my->sql, ms > 0 ? "%lld" : "DEFAULT", seconds);
    return mr_my_run_built(my, "cannot set the lock timeout", err);
}

static enum mr_status set_names(struct mr_my *my, struct mr_error *err)
{
    mr_buf_clear(&my->sql);
    mr_buf_append_z(&my->sql, "SET NAMES utf8mb4 COLLATE ");
    mr_buf_append_z(&my->sql, mr_my_collation(&my->server));
    return mr_my_run_built(my, "cannot set up the session", err);
}

static enum mr_status set_up_session(struct mr_my *my, struct mr_error *err)
{
    MR_TRY(read_server(my, err));
    my->can_bulk = has_bulk(my);
    MR_TRY(set_names(my, err));
    for (size_t i = 0; i < sizeof(session_settings) / sizeof(session_settings[0]); i++)
        MR_TRY(mr_my_run_z(my, session_settings[i], "cannot set up the session", err));
    MR_TRY(wish(my, err));
    if (my->lock_wait_ms > 0)
        MR_TRY(mr_my_set_lock_wait(my, my->lock_wait_ms, err));
    return my->read_only ? mr_my_run_z(my, "SET SESSION TRANSACTION READ ONLY", "cannot set up the session", err) : MR_OK;
}

/* Locks are named for the whole server: the names carry the database of the control tables. */
static void name_control(struct mr_my *my)
{
    static const char *const purposes[] = {"control", "gate"};
    struct mr_buf name = MR_BUF_INIT(1024);
    const char *control = my->cfg->control_schema;

    if (control && *control)
        mr_buf_append_z(&name, control);
    else
        mr_my_default_schema(my->cfg, &name);
    my->control_name = mr_arena_copy(my->ar, mr_buf_str(&name));
    mr_buf_free(&name);
    mr_my_quote_ident(my->control_name, &my->control);
    for (size_t i = 0; i < 2; i++)
        snprintf(my->lock_name[i], sizeof(my->lock_name[i]), "millrace.%s.%016llx", purposes[i],
                 (unsigned long long)mr_hash(my->control_name.ptr, my->control_name.len, 0));
}

static void my_destroy(struct mr_sink *sink)
{
    if (!sink)
        return;
    struct mr_my *my = mr_my_of(sink);
    mr_my_shapes_destroy(my->shapes);
    mr_my_queries_destroy(my->queries);
    mysql_close(my->conn); /* the server rolls back what is open */
    mr_arena_destroy(my->values);
    mr_arena_destroy(my->scratch);
    mr_arena_destroy(my->ar);
    mr_buf_free(&my->sql);
    mr_buf_free(&my->control);
    mr_xfree(my);
}

static enum mr_status my_connect(const struct mr_sink_options *opt, struct mr_sink **out, struct mr_error *err)
{
    MYSQL *conn = NULL;

    MR_TRY(mr_my_open(opt->cfg, opt->application_z, &conn, err));
    struct mr_my *my = mr_xcalloc(1, sizeof(*my));
    my->base.ops = &mr_sink_mysql;
    my->cfg = opt->cfg;
    my->lock_wait_ms = opt->lock_wait_ms;
    my->read_only = opt->read_only;
    my->conn = conn;
    my->sql = MR_BUF_INIT(MR_MY_MAX_TEXT);
    my->control = MR_BUF_INIT(1024);
    my->ar = mr_arena_create(0);
    my->scratch = mr_arena_create(0);
    my->values = mr_arena_create(0);
    my->queries = mr_my_queries_create();
    my->shapes = mr_my_shapes_create();
    name_control(my);

    enum mr_status status = set_up_session(my, err);
    if (status != MR_OK) {
        my_destroy(&my->base);
        return status;
    }
    *out = &my->base;
    return MR_OK;
}

static const struct mr_server *my_server(const struct mr_sink *sink)
{
    return &((const struct mr_my *)(const void *)sink)->server;
}

/* No round trip: between our calls the server has nothing to say but that it closes. */
static bool my_is_alive(struct mr_sink *sink)
{
    struct pollfd fd = {.fd = (int)mysql_get_socket(mr_my_of(sink)->conn), .events = POLLIN};

    return fd.fd >= 0 && poll(&fd, 1, 0) == 0;
}

/* KILL QUERY over a connection of its own; where that fails the running call ends with its socket. */
static void my_cancel(struct mr_sink *sink)
{
    struct mr_my *my = mr_my_of(sink);
    MYSQL *other = NULL;
    struct mr_error ignored = {0};
    struct mr_buf sql = MR_BUF_INIT(64);

    mr_buf_printf(&sql, "KILL QUERY %lu", my->thread_id);
    bool killed = mr_my_open(my->cfg, "millrace cancel", &other, &ignored) == MR_OK && mysql_query(other, mr_buf_z(&sql)) == 0;
    mr_buf_free(&sql);
    if (other)
        mysql_close(other);
    if (!killed)
        (void)shutdown((int)mysql_get_socket(my->conn), SHUT_RDWR);
}

/* ---- Transactions ---- */

enum mr_status mr_my_begin(struct mr_sink *sink, struct mr_error *err)
{
    struct mr_my *my = mr_my_of(sink);

    if (my->in_txn)
        return mr_fail(err, MR_E_BUG, "a transaction is open already");
    MR_TRY(mr_my_run_z(my, "START TRANSACTION", "cannot begin a transaction", err));
    my->in_txn = true;
    return MR_OK;
}

enum mr_status mr_my_commit(struct mr_sink *sink, struct mr_error *err)
{
    struct mr_my *my = mr_my_of(sink);

    my->in_txn = false;
    return mr_my_run_z(my, "COMMIT", "cannot commit", err);
}

void mr_my_rollback(struct mr_sink *sink)
{
    struct mr_my *my = mr_my_of(sink);

    if (mysql_get_socket(my->conn) != MARIADB_INVALID_SOCKET)
        (void)mysql_query(my->conn, "ROLLBACK");
    my->in_txn = false;
}

enum mr_status mr_my_go_on(struct mr_my *my, struct mr_error *err)
{
    if (!my->in_txn)
        return MR_OK;
    my->in_txn = false;
    return mr_my_begin(&my->base, err);
}

static enum mr_status my_savepoint(struct mr_sink *sink, struct mr_error *err)
{
    return mr_my_run_z(mr_my_of(sink), "SAVEPOINT millrace", "cannot set a savepoint", err);
}

static enum mr_status my_rollback_savepoint(struct mr_sink *sink, struct mr_error *err)
{
    struct mr_my *my = mr_my_of(sink);
    MR_TRY(mr_my_run_z(my, "ROLLBACK TO SAVEPOINT millrace", "cannot go back to the savepoint", err));
    return mr_my_run_z(my, "RELEASE SAVEPOINT millrace", "cannot release the savepoint", err);
}

static enum mr_status my_release_savepoint(struct mr_sink *sink, struct mr_error *err)
{
    return mr_my_run_z(mr_my_of(sink), "RELEASE SAVEPOINT millrace", "cannot release the savepoint", err);
}

static const char *const schemes[] = {"mysql://", "mariadb://", NULL};

const struct mr_sink_ops mr_sink_mysql = {
    .name = "mysql",
    .url_schemes = schemes,
    .dialect = &mr_my_dialect,
    .single_writer = false,
    .ddl_commits = true,
    .check_url = mr_my_check_url,
    .default_schema = mr_my_default_schema,
    .connect = my_connect,
    .destroy = my_destroy,
    .server = my_server,
    .is_alive = my_is_alive,
    .begin = mr_my_begin,
    .commit = mr_my_commit,
    .rollback = mr_my_rollback,
    .savepoint = my_savepoint,
    .rollback_savepoint = my_rollback_savepoint,
    .release_savepoint = my_release_savepoint,
    .exec = mr_my_exec,
    .apply = mr_my_apply,
    .read_row = mr_my_read_row,
    .describe_table = mr_my_describe_table,
    .ddl = mr_my_ddl,
    .gate_lock = mr_my_gate_lock,
    .gate_unlock = mr_my_gate_unlock,
    .prepare_control = mr_my_prepare_control,
    .dump_table = mr_my_dump_table,
    .room = mr_my_room,
    .cancel = my_cancel,
    .check = mr_my_check,
};
