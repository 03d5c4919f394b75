/* The connection: opening, transactions, waiting for other writers, errors.
 *
 * Exactly once over kill -9 and power loss: WAL with synchronous=FULL. SQLite allows one writer at a time, so every transaction begins
 * IMMEDIATE: it waits for the others (busy handler) and then never meets a lock again. */
#include "internal.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <millrace/base/mem.h>
#include <millrace/base/time.h>

#define BUSY_WAIT_MS 10000 /* then BUSY goes up and the applier decides */
#define SCHEME "sqlite:"

/* ---- URL ---- */

/* sqlite:PATH; sqlite://PATH is read the same way. */
const char *mr_sqlite_path(const char *url_z)
{
    if (strncmp(url_z, SCHEME, strlen(SCHEME)) != 0)
        return NULL;
    const char *path = url_z + strlen(SCHEME);
    return strncmp(path, "//", 2) == 0 ? path + 2 : path;
}

enum mr_status mr_sqlite_check_url(const struct mr_config *cfg, struct mr_error *err)
{
    const char *path = mr_sqlite_path(cfg->target_url);
    if (!path || !*path) {
        enum mr_status status = mr_fail(err, MR_E_CONFIG, "target.url: \"%s\" names no file", cfg->target_url);
        mr_error_hint(err, "write sqlite:PATH, as in sqlite:millrace.db");
        return status;
    }
    if (strcmp(path, ":memory:") == 0) {
        enum mr_status status = mr_fail(err, MR_E_CONFIG, "target.url: a database in memory would be gone with the process");
        mr_error_hint(err, "name a file, as in sqlite:millrace.db");
        return status;
    }
    if (cfg->target_schema_set) {
        enum mr_status status = mr_fail(err, MR_E_CONFIG, "target.schema: SQLite has no schemas");
        mr_error_hint(err, "use target.table, which is \"{db}_{table}\" for SQLite unless set");
        return status;
    }
    if (cfg->appliers > 1)
        return mr_fail(err, MR_E_CONFIG, "target.appliers: SQLite has one writer at a time; set it to 1");
    return MR_OK;
}

void mr_sqlite_default_schema(const struct mr_config *cfg, struct mr_buf *out)
{
    (void)cfg;
    (void)out; /* the table's name alone; see mr_name_target */
}

/* ---- Errors ---- */

static enum mr_status fill_error(struct mr_error *err, int code, const char *said, const char *what)
{
    char native[16];
    snprintf(native, sizeof(native), "%d", code);
    const char *word = NULL;
    enum mr_status status = mr_sqlite_classify(native, &word);
    if (status == MR_E_DATA)
        mr_fail_data(err, word, "cannot %s: %s", what, said);
    else
        mr_fail(err, status, "cannot %s: %s", what, said);
    if (err)
        memcpy(err->native, native, sizeof(native));
    return status;
}

enum mr_status mr_sqlite_fail(struct mr_sqlite *s, struct mr_error *err, const char *what, ...)
{
    char text[512];
    va_list args;
    va_start(args, what);
    vsnprintf(text, sizeof(text), what, args);
    va_end(args);
    return fill_error(err, sqlite3_extended_errcode(s->db), sqlite3_errmsg(s->db), text);
}

/* ---- Waiting for another writer ---- */

/* SQLite calls this while somebody else holds a lock; false gives up with BUSY. */
static int wait_for_lock(void *ctx, int tries)
{
    struct mr_sqlite *s = ctx;
    int64_t now = mr_monotonic_ms();
    if (tries == 0)
        s->busy_since_ms = now;
    if (atomic_load(&s->cancelled) || now - s->busy_since_ms >= BUSY_WAIT_MS)
        return 0;
    mr_sleep_ms(tries < 10 ? 1 : tries < 50 ? 5 : 20);
    return 1;
}

void mr_sqlite_cancel(struct mr_sink *sink)
{
    struct mr_sqlite *s = mr_sqlite_of(sink);
    atomic_store(&s->cancelled, true);
    sqlite3_interrupt(s->db);
}

void mr_sqlite_enter(struct mr_sqlite *s)
{
    atomic_store(&s->cancelled, false);
}

/* ---- Running ---- */

enum mr_status mr_sqlite_run(struct mr_sqlite *s, const char *sql_z, const char *what, struct mr_error *err)
{
    if (sqlite3_exec(s->db, sql_z, NULL, NULL, NULL) != SQLITE_OK)
        return mr_sqlite_fail(s, err, "%s", what);
    return MR_OK;
}

enum mr_status mr_sqlite_prepare(struct mr_sqlite *s, struct mr_str sql, bool keep, sqlite3_stmt **stmt, struct mr_str *tail,
                                 struct mr_error *err)
{
    *stmt = NULL;
    if (sql.len > INT32_MAX)
        return mr_fail(err, MR_E_BUG, "a statement of %zu bytes", sql.len);
    const char *rest = NULL;
    unsigned flags = keep ? SQLITE_PREPARE_PERSISTENT : 0;
    int rc = sqlite3_prepare_v3(s->db, sql.ptr, (int)sql.len, flags, stmt, &rest);
    if (rc == SQLITE_ERROR) {
        /* Another connection may have changed the schema: SQLite notices while a statement runs, not while one is prepared (an ON CONFLICT
         * without its new key is such a case), so let one run and look again. */
        sqlite3_exec(s->db, "SELECT 1 FROM sqlite_master LIMIT 1", NULL, NULL, NULL);
        rc = sqlite3_prepare_v3(s->db, sql.ptr, (int)sql.len, flags, stmt, &rest);
    }
    if (rc != SQLITE_OK)
        return mr_sqlite_fail(s, err, "prepare a statement");
    if (tail)
        *tail = mr_str_of(rest, sql.len - (size_t)(rest - sql.ptr));
    return MR_OK;
}

/* ---- Opening ---- */

/* No waiting makes a folder. */
static bool lacks_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX];
    if (!slash || slash == path || (size_t)(slash - path) >= sizeof(folder))
        return false;
    memcpy(folder, path, (size_t)(slash - path));
    folder[slash - path] = 0;
    return access(folder, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

/* To look only: a file that is not there stays away, and what is shown is an empty database in memory. */
static enum mr_status open_file(struct mr_sqlite *s, const char *path, bool read_only, struct mr_error *err)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    bool is_missing = access(path, F_OK) != 0 && errno == ENOENT;
    if (!read_only)
        flags |= SQLITE_OPEN_CREATE;
    int rc = sqlite3_open_v2(read_only && is_missing ? ":memory:" : path, &s->db, flags, NULL);
    if (rc == SQLITE_OK)
        return MR_OK;
    if (lacks_folder(path)) {
        enum mr_status status = mr_fail(err, MR_E_CONFIG, "cannot make the database \"%.500s\": its folder does not exist", path);
        mr_error_hint(err, "make the folder, or correct target.url");
        return status;
    }
    char what[600];
    snprintf(what, sizeof(what), "open \"%.500s\"", path);
    return fill_error(err, rc, s->db ? sqlite3_errmsg(s->db) : sqlite3_errstr(rc), what);
}

static enum mr_status set_up(struct mr_sqlite *s, bool read_only, struct mr_error *err)
{
    sqlite3_busy_handler(s->db, wait_for_lock, s);
    /* A misspelt or missing column must be an error, not a text in double quotes. */
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
    if (read_only) { /* the first reading statement tells whether it is a database at all */
        MR_TRY(mr_sqlite_run(s, "PRAGMA query_only = ON; SELECT count(*) FROM sqlite_schema", "read the database", err));
        return mr_sqlite_add_functions(s, err);
    }
    /* Where WAL is not possible (some network file systems) the answer is another mode, and everything still holds. */
    MR_TRY(mr_sqlite_run(s, "PRAGMA journal_mode = WAL", "switch to write-ahead logging", err));
    MR_TRY(mr_sqlite_run(s,
                         "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA journal_size_limit = 67108864;"
                         "PRAGMA cache_size = -32000; PRAGMA temp_store = MEMORY",
                         "set up the connection", err));
    return mr_sqlite_add_functions(s, err);
}

enum mr_status mr_sqlite_connect(const struct mr_sink_options *opt, struct mr_sink **out, struct mr_error *err)
{
    const char *path = mr_sqlite_path(opt->cfg->target_url);
    if (!path || !*path)
        return mr_sqlite_check_url(opt->cfg, err);
    struct mr_sqlite *s = mr_xcalloc(1, sizeof(*s));
    s->base.ops = &mr_sink_sqlite;
    s->cfg = opt->cfg;
    s->server.version = sqlite3_libversion_number();
    snprintf(s->server.text, sizeof(s->server.text), "SQLite %s", sqlite3_libversion());
    s->statements = mr_map_create();
    s->ar = mr_arena_create(0);
    s->key = MR_BUF_INIT(1u << 20);
    s->text = MR_BUF_INIT(MR_SQLITE_SQL_MAX);

    enum mr_status status = open_file(s, path, opt->read_only, err);
    if (status == MR_OK)
        status = set_up(s, opt->read_only, err);
    if (status != MR_OK) {
        mr_sqlite_destroy(&s->base);
        return status == MR_E_BUSY ? MR_E_ENV : status; /* there is no transaction yet that could be retried */
    }
    *out = &s->base;
    return MR_OK;
}

void mr_sqlite_destroy(struct mr_sink *sink)
{
    if (!sink)
        return;
    struct mr_sqlite *s = mr_sqlite_of(sink);
    mr_sqlite_forget_queries(s);
    mr_sqlite_forget_statements(s);
    mr_map_destroy(s->statements, NULL);
    sqlite3_close(s->db); /* rolls back what is open */
    mr_arena_destroy(s->ar);
    mr_buf_free(&s->key);
    mr_buf_free(&s->text);
    mr_xfree(s->stores);
    mr_xfree(s);
}

/* ---- Transactions ---- */

enum mr_status mr_sqlite_begin(struct mr_sink *sink, struct mr_error *err)
{
    struct mr_sqlite *s = mr_sqlite_of(sink);
    mr_sqlite_enter(s);
    if (!s->in_gate)
        mr_sqlite_restore_keys(s);
    return mr_sqlite_run(s, "BEGIN IMMEDIATE", "begin a transaction", err);
}

/* After some errors (disk full, out of memory) SQLite has rolled back by itself. */
static enum mr_status still_open(struct mr_sqlite *s, struct mr_error *err)
{
    if (!sqlite3_get_autocommit(s->db))
        return MR_OK;
    return mr_fail(err, MR_E_BUSY, "the transaction is gone: SQLite has rolled it back after an error");
}

enum mr_status mr_sqlite_commit(struct mr_sink *sink, struct mr_error *err)
{
    struct mr_sqlite *s = mr_sqlite_of(sink);
    mr_sqlite_enter(s);
    MR_TRY(still_open(s, err));
    return mr_sqlite_run(s, "COMMIT", "commit", err);
}

void mr_sqlite_rollback(struct mr_sink *sink)
{
    struct mr_sqlite *s = mr_sqlite_of(sink);
    mr_sqlite_enter(s);
    if (!sqlite3_get_autocommit(s->db))
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
}

enum mr_status mr_sqlite_savepoint(struct mr_sink *sink, struct mr_error *err)
{
    struct mr_sqlite *s = mr_sqlite_of(sink);
    mr_sqlite_enter(s);
    MR_TRY(still_open(s, err));
    return mr_sqlite_run(s, "SAVEPOINT millrace", "set a savepoint", err);
}

enum mr_status mr_sqlite_rollback_savepoint(struct mr_sink *sink, struct mr_error *err)
{
    struct mr_sqlite *s = mr_sqlite_of(sink);
    mr_sqlite_enter(s);
    MR_TRY(still_open(s, err));
    return mr_sqlite_run(s, "ROLLBACK TO millrace; RELEASE millrace", "go back to the savepoint", err);
}

enum mr_status mr_sqlite_release_savepoint(struct mr_sink *sink, struct mr_error *err)
{
    struct mr_sqlite *s = mr_sqlite_of(sink);
    mr_sqlite_enter(s);
    MR_TRY(still_open(s, err));
    return mr_sqlite_run(s, "RELEASE millrace", "release the savepoint", err);
}
