/* Running DDL steps, and the control tables.
 *
 * One owner of DDL: SQLite has one writer, a step runs in a transaction that began IMMEDIATE, and whether the step is still needed is looked
 * up inside it. So the gate locks nothing; it only turns the enforcement of foreign keys off, which SQLite allows outside transactions alone:
 * with it on, dropping the old table of a rebuild would delete the rows that refer to it. */
#include "internal.h"

#include <millrace/base/mem.h>

enum mr_status mr_sqlite_gate_lock(struct mr_sink *sink, struct mr_error *err)
{
    struct mr_sqlite *s = mr_sqlite_of(sink);
    mr_sqlite_enter(s);
    s->in_gate = true;
    if (!sqlite3_get_autocommit(s->db))
        return MR_OK; /* SQLite would ignore it; a rebuild of a referenced table is then refused */
    MR_TRY(mr_sqlite_run(s, "PRAGMA foreign_keys = OFF", "enter the DDL gate", err));
    s->keys_off = true;
    return MR_OK;
}

void mr_sqlite_restore_keys(struct mr_sqlite *s)
{
    if (s->keys_off && sqlite3_get_autocommit(s->db) &&
        sqlite3_exec(s->db, "PRAGMA foreign_keys = ON", NULL, NULL, NULL) == SQLITE_OK)
        s->keys_off = false;
}

void mr_sqlite_gate_unlock(struct mr_sink *sink)
{
    struct mr_sqlite *s = mr_sqlite_of(sink);
    s->in_gate = false;
    mr_sqlite_restore_keys(s);
}

/* ---- Steps ---- */

static const struct mr_catalog_column *find_column(const struct mr_catalog_table *now, struct mr_str name)
{
    for (size_t i = 0; i < now->column_count; i++) {
        if (mr_str_eq_nocase(now->columns[i].name, name))
            return &now->columns[i];
    }
    return NULL;
}

static bool same_key(const struct mr_table *tbl, const struct mr_catalog_table *now)
{
    if (tbl->key_count != now->key_count)
        return false;
    for (size_t i = 0; i < tbl->key_count; i++) {
        if (!mr_str_eq_nocase(tbl->columns[tbl->key_columns[i]].name, now->key[i]))
            return false;
    }
    return true;
}

/* Somebody else may have done it since the step was planned, or we before a crash. */
static bool is_done(const struct mr_ddl_step *step, const struct mr_catalog_table *now)
{
    const struct mr_table *tbl = step->tbl;
    const struct mr_catalog_column *col;
    switch (step->kind) {
    case MR_DDL_CREATE_SCHEMA:
        return true;
    case MR_DDL_CREATE_TABLE:
        return now->exists;
    case MR_DDL_ADD_COLUMN:
        return find_column(now, tbl->columns[step->column].name) != NULL;
    case MR_DDL_ALTER_TYPE:
        col = find_column(now, tbl->columns[step->column].name);
        return col && mr_sqlite_native_holds(col->native, tbl->columns[step->column].type);
    case MR_DDL_REPLACE_KEY:
        return same_key(tbl, now);
    case MR_DDL_DROP_COLUMN:
    case MR_DDL_RENAME_COLUMN:
        return find_column(now, step->old) == NULL;
    case MR_DDL_DROP_TABLE:
    case MR_DDL_RENAME_TABLE:
        return !now->exists;
    }
    return false;
}

static enum mr_status query_texts(struct mr_sqlite *s, const char *sql_z, struct mr_str table, struct mr_arena *ar,
                                  struct mr_str **texts, size_t *count, struct mr_error *err)
{
    sqlite3_stmt *stmt = NULL;
    struct mr_str *found = NULL;
    size_t cap = 0, n = 0;
    MR_TRY(mr_sqlite_prepare(s, mr_str_z(sql_z), false, &stmt, NULL, err));
    sqlite3_bind_text64(stmt, 1, table.ptr, table.len, SQLITE_STATIC, SQLITE_UTF8);
    int rc;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        found = mr_xgrow(found, &cap, n + 1, sizeof(*found));
        const char *ptr = (const char *)sqlite3_column_text(stmt, 0);
        found[n++] = mr_arena_copy(ar, mr_str_of(ptr ? ptr : "", (size_t)sqlite3_column_bytes(stmt, 0)));
    }
    enum mr_status status = rc == SQLITE_DONE ? MR_OK : mr_sqlite_fail(s, err, "read the catalog");
    sqlite3_finalize(stmt);
    *texts = mr_arena_alloc(ar, (n ? n : 1) * sizeof(**texts));
    if (n > 0)
        memcpy(*texts, found, n * sizeof(*found));
    *count = n;
    mr_xfree(found);
    return status;
}

static enum mr_status render_rebuild(struct mr_sqlite *s, const struct mr_ddl_step *step, const struct mr_catalog_table *now,
                                     struct mr_arena *ar, struct mr_buf *sql, struct mr_error *err)
{
    struct mr_str table = step->tbl->name, *create = NULL, *extra = NULL;
    size_t creates = 0, extras = 0;
    bool is_referenced = false;
    MR_TRY(mr_sqlite_is_referenced(s, table, &is_referenced, err));
    if (is_referenced && !s->keys_off)
        return mr_fail(err, MR_E_BUG, "table %.*s is referenced and would be rebuilt outside the DDL gate", MR_STR_FMT(table));
    MR_TRY(query_texts(s, "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?1 COLLATE NOCASE", table, ar, &create,
                       &creates, err));
    MR_TRY(query_texts(s,
                       "SELECT sql FROM sqlite_master WHERE tbl_name = ?1 COLLATE NOCASE AND type IN ('index', 'trigger')"
                       " AND sql IS NOT NULL ORDER BY type, name",
                       table, ar, &extra, &extras, err));
    if (creates != 1 || !mr_sqlite_rebuild(step, now, create[0], extra, extras, sql)) {
        enum mr_status status = mr_fail(err, MR_E_CONFIG, "table %.*s cannot be altered: its definition is not an ordinary CREATE TABLE",
                                        MR_STR_FMT(table));
        mr_error_hint(err, "alter it by hand: %.*s", MR_STR_FMT(step->reason));
        return status;
    }
    return MR_OK;
}

/* A key of one INTEGER column is the rowid: SQLite would give rows that have no value for it one of its own making, in place of an error. */
static enum mr_status refuse_null_keys(struct mr_sqlite *s, const struct mr_table *tbl, struct mr_error *err)
{
    struct mr_buf sql = MR_BUF_INIT(MR_SQLITE_SQL_MAX);
    sqlite3_stmt *stmt = NULL;
    if (tbl->key_count == 0)
        return MR_OK;
    mr_buf_append_z(&sql, "SELECT 1 FROM ");
    mr_sqlite_quote(tbl->name, &sql);
    for (size_t i = 0; i < tbl->key_count; i++) {
        mr_buf_append_z(&sql, i ? " OR " : " WHERE ");
        mr_sqlite_quote(tbl->columns[tbl->key_columns[i]].name, &sql);
        mr_buf_append_z(&sql, " IS NULL");
    }
    mr_buf_append_z(&sql, " LIMIT 1");
    enum mr_status status = mr_buf_check(&sql, "a query", err);
    if (status == MR_OK)
        status = mr_sqlite_prepare(s, mr_buf_str(&sql), false, &stmt, NULL, err);
    mr_buf_free(&sql);
    MR_TRY(status);
    int rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
        status = mr_fail_data(err, MR_CODE_NULL_KEY, "there are rows in which a column of the new key is null");
    else if (rc != SQLITE_DONE)
        status = mr_sqlite_fail(s, err, "read the table");
    sqlite3_finalize(stmt);
    return status;
}

/* Renaming must not look into the views that name the table, which at that moment does not exist. */
static enum mr_status run_rebuild(struct mr_sqlite *s, struct mr_buf *sql, struct mr_error *err)
{
    mr_sqlite_forget_statements(s);
    MR_TRY(mr_sqlite_run(s, "PRAGMA legacy_alter_table = ON", "prepare a rebuild", err));
    enum mr_status status = mr_sqlite_run(s, mr_buf_z(sql), "rebuild the table", err);
    sqlite3_exec(s->db, "PRAGMA legacy_alter_table = OFF", NULL, NULL, NULL);
    return status;
}

static enum mr_status refuse_other_object(struct mr_sqlite *s, struct mr_str name, struct mr_arena *ar, struct mr_error *err)
{
    struct mr_str *types;
    size_t count;
    MR_TRY(query_texts(s, "SELECT type FROM sqlite_master WHERE type IN ('view', 'index') AND name = ?1 COLLATE NOCASE", name, ar, &types,
                       &count, err));
    if (count > 0)
        return mr_fail(err, MR_E_CONFIG, "%.*s exists in the target and is not a table: it is of type %.*s",
                       MR_STR_FMT(name), MR_STR_FMT(types[0]));
    return MR_OK;
}

enum mr_status mr_sqlite_ddl(struct mr_sink *sink, const struct mr_ddl_step *step, const struct mr_catalog_table *now,
                             struct mr_arena *ar, struct mr_str *statement, struct mr_error *err)
{
    struct mr_sqlite *s = mr_sqlite_of(sink);
    mr_sqlite_enter(s);
    (void)now; /* as it was when the step was planned */
    *statement = (struct mr_str){0};
    struct mr_catalog_table present;
    MR_TRY(mr_sqlite_describe(sink, step->tbl->schema, step->tbl->name, ar, &present, err));
    if (is_done(step, &present))
        return MR_OK;

    struct mr_buf sql = MR_BUF_INIT(MR_SQLITE_SQL_MAX);
    enum mr_status status = MR_OK;
    bool is_rebuild = step->kind == MR_DDL_ALTER_TYPE || step->kind == MR_DDL_REPLACE_KEY;
    if (step->kind == MR_DDL_REPLACE_KEY)
        status = refuse_null_keys(s, step->tbl, err);
    if (status == MR_OK && is_rebuild) {
        status = render_rebuild(s, step, &present, ar, &sql, err);
    } else if (status == MR_OK) {
        if (step->kind == MR_DDL_CREATE_TABLE)
            status = refuse_other_object(s, step->tbl->name, ar, err);
        mr_sqlite_dialect.render(step, &present, &s->server, &sql);
    }
    if (status == MR_OK)
        status = mr_buf_check(&sql, "a DDL statement", err);
    if (status == MR_OK)
        status = is_rebuild ? run_rebuild(s, &sql, err) : mr_sqlite_run(s, mr_buf_z(&sql), "run DDL", err);
    if (status == MR_OK)
        *statement = mr_arena_copy(ar, mr_buf_str(&sql));
    else
        mr_error_prefix(err, "table %.*s: ", MR_STR_FMT(step->tbl->name));
    mr_buf_free(&sql);
    return status;
}

/* ---- Control tables ---- */

static enum mr_status take_version(void *ctx, const struct mr_value *cells, size_t count, struct mr_error *err)
{
    (void)err;
    int64_t *version = ctx;
    if (count > 0 && cells[0].tag == MR_V_INT)
        *version = cells[0].i;
    return MR_OK;
}

enum mr_status mr_sqlite_prepare_control(struct mr_sink *sink, struct mr_error *err)
{
    int64_t version = 0;
    enum mr_status status = mr_sqlite_exec(sink, MR_Q_control_version, NULL, 0, take_version, &version, NULL, err);
    if (status != MR_OK && status != MR_E_SCHEMA)
        return status;
    if (status == MR_E_SCHEMA || version < MR_CONTROL_LAYOUT_VERSION)
        MR_TRY(mr_sqlite_exec(sink, MR_Q_control_create, NULL, 0, take_version, &version, NULL, err));
    if (version > MR_CONTROL_LAYOUT_VERSION)
        return mr_fail(err, MR_E_CONFIG, "the control tables have layout %lld: they were made by a newer Millrace", (long long)version);
    return MR_OK;
}
