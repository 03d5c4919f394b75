/* Writing the rows of one table: one prepared statement a row, inside the open transaction. SQLite has no round trips, so there is no other
 * bulk path, and a failing row is always known. */
#include "internal.h"

#include <stdio.h>

#include <millrace/base/mem.h>

/* One call's state. */
struct work {
    struct mr_sqlite *s;
    const struct mr_table *tbl;
    unsigned char mask[(MR_TABLE_MAX_COLUMNS + 7) / 8], match[(MR_TABLE_MAX_COLUMNS + 7) / 8]; /* of the present row */
};

static void mask_of(const struct mr_value *cells, size_t count, unsigned char *mask)
{
    memset(mask, 0, (count + 7) / 8);
    for (size_t i = 0; i < count; i++) {
        if (cells[i].tag != MR_V_ABSENT)
            mask[i / 8] |= (unsigned char)(1u << (i % 8));
    }
}

/* All cells as ?1 …, or with an offset. */
static enum mr_status bind_row(struct work *w, sqlite3_stmt *stmt, const struct mr_value *cells, size_t offset,
                               struct mr_error *err)
{
    int named = sqlite3_bind_parameter_count(stmt); /* the highest ?NNN */
    for (size_t i = 0; i < w->tbl->column_count; i++) {
        int index = (int)(offset + i + 1);
        if (index > named)
            break;
        MR_TRY(mr_sqlite_bind(w->s, stmt, index, &w->tbl->columns[i], w->s->stores[i], cells[i], err));
    }
    return MR_OK;
}

static enum mr_status step(struct work *w, sqlite3_stmt *stmt, struct mr_error *err)
{
    int rc = sqlite3_step(stmt);
    enum mr_status status = MR_OK;
    if (rc != SQLITE_DONE)
        status = mr_sqlite_fail(w->s, err, "write a row of %.*s", MR_STR_FMT(w->tbl->name));
    if (status == MR_E_DATA && sqlite3_get_autocommit(w->s->db)) {
        /* RAISE(ROLLBACK), ON CONFLICT ROLLBACK: the good rows are gone with the bad one, every time. */
        mr_error_hint(err, "a trigger or a constraint of the table rolls the whole transaction back: let it ABORT instead");
        status = err->status = MR_E_CONFIG;
    }
    sqlite3_reset(stmt);
    return status;
}

static enum mr_status check_key(const struct mr_table *tbl, const struct mr_value *cells, struct mr_error *err)
{
    for (size_t i = 0; i < tbl->key_count; i++) {
        const struct mr_column *col = &tbl->columns[tbl->key_columns[i]];
        uint8_t tag = cells[tbl->key_columns[i]].tag;
        if (tag != MR_V_NULL && tag != MR_V_ABSENT)
            continue;
        enum mr_status status = mr_fail_data(err, MR_CODE_NULL_KEY, "key column %.*s is null", MR_STR_FMT(col->name));
        mr_error_field(err, col->path.ptr, col->path.len);
        return status;
    }
    return MR_OK;
}

static enum mr_status insert_row(struct work *w, enum mr_sqlite_statement kind, const struct mr_row *row, struct mr_error *err)
{
    const unsigned char *mask = NULL;
    if (kind == MR_SQLITE_UPSERT && row->has_keep) {
        mask_of(row->cells, w->tbl->column_count, w->mask);
        mask = w->mask;
    }
    sqlite3_stmt *stmt = NULL;
    if (kind != MR_SQLITE_INSERT)
        MR_TRY(check_key(w->tbl, row->cells, err));
    MR_TRY(mr_sqlite_statement(w->s, w->tbl, kind, mask, NULL, &stmt, err));
    MR_TRY(bind_row(w, stmt, row->cells, 0, err));
    return step(w, stmt, err);
}

/* A statement whose parameters are the key. */
static enum mr_status run_by_key(struct work *w, enum mr_sqlite_statement kind, const struct mr_row *row, struct mr_error *err)
{
    const struct mr_table *tbl = w->tbl;
    if (tbl->key_count == 0)
        return mr_fail(err, MR_E_BUG, "a change by key in %.*s, which has none", MR_STR_FMT(tbl->name));
    MR_TRY(check_key(tbl, row->cells, err));
    sqlite3_stmt *stmt = NULL;
    MR_TRY(mr_sqlite_statement(w->s, tbl, kind, NULL, NULL, &stmt, err));
    for (size_t i = 0; i < tbl->key_count; i++) {
        uint32_t c = tbl->key_columns[i];
        MR_TRY(mr_sqlite_bind(w->s, stmt, (int)i + 1, &tbl->columns[c], w->s->stores[c], row->cells[c], err));
    }
    return step(w, stmt, err);
}

static enum mr_status delete_row(struct work *w, const struct mr_row *row, struct mr_error *err)
{
    return run_by_key(w, MR_SQLITE_DELETE, row, err);
}

static enum mr_status delete_range(struct work *w, const struct mr_row *row, struct mr_error *err)
{
    const struct mr_table *tbl = w->tbl;
    sqlite3_stmt *stmt = NULL;
    int index = 0;
    mask_of(row->cells, tbl->column_count, w->mask);
    MR_TRY(mr_sqlite_statement(w->s, tbl, MR_SQLITE_DELETE_RANGE, w->mask, NULL, &stmt, err));
    for (size_t pass = 0; pass < 2; pass++) {
        const struct mr_value *cells = pass ? row->match : row->cells;
        for (size_t k = 0; k < tbl->key_count; k++) {
            uint32_t c = tbl->key_columns[k];
            if (cells[c].tag != MR_V_ABSENT)
                MR_TRY(mr_sqlite_bind(w->s, stmt, ++index, &tbl->columns[c], w->s->stores[c], cells[c], err));
        }
    }
    return step(w, stmt, err);
}

static enum mr_status change_matching(struct work *w, enum mr_sqlite_statement kind, const struct mr_row *row,
                                      struct mr_error *err)
{
    bool is_update = kind == MR_SQLITE_UPDATE_ONE;
    size_t n = w->tbl->column_count;
    mask_of(row->match, n, w->match);
    if (is_update)
        mask_of(row->cells, n, w->mask);
    sqlite3_stmt *stmt = NULL;
    MR_TRY(mr_sqlite_statement(w->s, w->tbl, kind, is_update ? w->mask : NULL, w->match, &stmt, err));
    if (is_update)
        MR_TRY(bind_row(w, stmt, row->cells, 0, err));
    MR_TRY(bind_row(w, stmt, row->match, n, err));
    MR_TRY(step(w, stmt, err));
    if (!is_update || row->kind == MR_ROW_MOVE || sqlite3_changes64(w->s->db) > 0)
        return MR_OK;
    return insert_row(w, MR_SQLITE_INSERT, row, err);
}

static enum mr_status move_all(struct work *w, const struct mr_row *row, struct mr_error *err)
{
    sqlite3_stmt *stmt = NULL;
    mask_of(row->cells, w->tbl->column_count, w->mask);
    mask_of(row->match, w->tbl->column_count, w->match);
    MR_TRY(mr_sqlite_statement(w->s, w->tbl, MR_SQLITE_MOVE_ALL, w->mask, w->match, &stmt, err));
    MR_TRY(bind_row(w, stmt, row->cells, 0, err));
    MR_TRY(bind_row(w, stmt, row->match, w->tbl->column_count, err));
    return step(w, stmt, err);
}

/* Under a new key. Where there is a row with that key already, it makes room: a statement that fails changes nothing. */
static enum mr_status move_row(struct work *w, const struct mr_row *row, struct mr_error *err)
{
    char key[16], unique[16], rowid[16];
    struct mr_error own = {0};
    snprintf(key, sizeof(key), "%d", SQLITE_CONSTRAINT_PRIMARYKEY);
    snprintf(unique, sizeof(unique), "%d", SQLITE_CONSTRAINT_UNIQUE);
    snprintf(rowid, sizeof(rowid), "%d", SQLITE_CONSTRAINT_ROWID);
    enum mr_status status = change_matching(w, MR_SQLITE_UPDATE_ONE, row, &own);
    bool is_taken = strcmp(own.native, key) == 0 || strcmp(own.native, unique) == 0 || strcmp(own.native, rowid) == 0;
    if (status != MR_E_DATA || !is_taken) {
        if (status != MR_OK && err != NULL)
            *err = own;
        return status;
    }
    MR_TRY(delete_row(w, row, err));
    return change_matching(w, MR_SQLITE_UPDATE_ONE, row, err);
}

static enum mr_status apply_row(struct work *w, struct mr_row *row, struct mr_error *err)
{
    switch (row->kind) {
    case MR_ROW_UPSERT:
        return insert_row(w, MR_SQLITE_UPSERT, row, err);
    case MR_ROW_DELETE:
        return delete_row(w, row, err);
    case MR_ROW_APPEND:
        return insert_row(w, MR_SQLITE_INSERT, row, err);
    case MR_ROW_DELETE_RANGE:
        return delete_range(w, row, err);
    case MR_ROW_UPDATE_MATCH:
        return change_matching(w, MR_SQLITE_UPDATE_ONE, row, err);
    case MR_ROW_MOVE:
        return move_row(w, row, err);
    case MR_ROW_FILL:
        return run_by_key(w, MR_SQLITE_FILL, row, err);
    case MR_ROW_MOVE_ALL:
        return move_all(w, row, err);
    case MR_ROW_DELETE_MATCH:
        return change_matching(w, MR_SQLITE_DELETE_ONE, row, err);
    case MR_ROW_INSERT_ONLY:
        MR_TRY(insert_row(w, MR_SQLITE_INSERT_ONLY, row, err));
        row->was_there = sqlite3_changes64(w->s->db) == 0;
        return MR_OK;
    }
    return mr_fail(err, MR_E_BUG, "a row of kind %d", (int)row->kind);
}

/* While a bad row is looked for, what a deferred foreign key has to say must be said of the row, not at commit. */
static enum mr_status check_deferred(struct work *w, struct mr_error *err)
{
    int hanging = 0, ignored = 0;
    sqlite3_db_status(w->s->db, SQLITE_DBSTATUS_DEFERRED_FKS, &hanging, &ignored, 0);
    if (hanging == 0)
        return MR_OK;
    enum mr_status status = mr_fail_data(err, MR_CODE_CONSTRAINT, "cannot write a row of %.*s: FOREIGN KEY constraint failed (deferred)",
                                         MR_STR_FMT(w->tbl->name));
    if (err)
        snprintf(err->native, sizeof err->native, "%d", SQLITE_CONSTRAINT_FOREIGNKEY);
    return status;
}

static enum mr_status apply_rows(struct work *w, struct mr_table_batch *batch, bool deletes_only, struct mr_error *err)
{
    for (size_t i = 0; i < batch->row_count; i++) {
        if (atomic_load(&w->s->cancelled))
            return mr_fail(err, MR_E_STOPPED, "asked to stop");
        mr_arena_reset(w->s->ar);
        enum mr_status status =
            deletes_only ? delete_row(w, &batch->rows[i], err) : apply_row(w, &batch->rows[i], err);
        if (status == MR_OK && batch->row_by_row && !deletes_only)
            status = check_deferred(w, err);
        if (status != MR_OK) {
            if (err)
                err->row = (int64_t)i;
            return status;
        }
    }
    return MR_OK;
}

static enum mr_status truncate_table(struct work *w, struct mr_error *err)
{
    sqlite3_stmt *stmt = NULL;
    MR_TRY(mr_sqlite_statement(w->s, w->tbl, MR_SQLITE_TRUNCATE, NULL, NULL, &stmt, err));
    return step(w, stmt, err);
}

/* Two rows that swap the values of a further unique column are fine in the end and not on the way. Where every row is complete and holds all
 * columns of the table, removing the old rows first gets there. */
static bool may_replace(const struct mr_table_batch *batch)
{
    const struct mr_table *tbl = batch->tbl;
    if (!tbl->has_other_unique || tbl->has_foreign_keys || tbl->key_count == 0)
        return false;
    for (size_t i = 0; i < batch->row_count; i++) {
        const struct mr_row *row = &batch->rows[i];
        if (row->kind != MR_ROW_DELETE && (row->kind != MR_ROW_UPSERT || row->has_keep))
            return false;
    }
    return true;
}

static enum mr_status has_only_our_columns(struct work *w, bool *yes, struct mr_error *err)
{
    static const char sql[] = "SELECT count(*) FROM pragma_table_xinfo(?1)";
    sqlite3_stmt *stmt = NULL;
    MR_TRY(mr_sqlite_prepare(w->s, MR_STR(sql), false, &stmt, NULL, err));
    sqlite3_bind_text64(stmt, 1, w->tbl->name.ptr, w->tbl->name.len, SQLITE_STATIC, SQLITE_UTF8);
    *yes = sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_int64(stmt, 0) == (int64_t)w->tbl->column_count;
    sqlite3_finalize(stmt);
    return MR_OK;
}

static enum mr_status replace_rows(struct work *w, struct mr_table_batch *batch, struct mr_error *err)
{
    MR_TRY(apply_rows(w, batch, true, err));
    return apply_rows(w, batch, false, err);
}

/* In the order listed; if a unique column is in the way, once more with the old rows gone. */
static enum mr_status apply_with_unique(struct work *w, struct mr_table_batch *batch, struct mr_error *err)
{
    struct mr_sqlite *s = w->s;
    struct mr_error first = {0}, second = {0};
    char unique[16];
    snprintf(unique, sizeof(unique), "%d", SQLITE_CONSTRAINT_UNIQUE);
    MR_TRY(mr_sqlite_run(s, "SAVEPOINT millrace_rows", "set a savepoint", err));
    enum mr_status status = apply_rows(w, batch, false, &first);
    if (status != MR_OK && err)
        *err = first;
    if (status == MR_E_DATA && strcmp(first.native, unique) == 0) {
        bool ours = false;
        MR_TRY(has_only_our_columns(w, &ours, err));
        if (ours) {
            MR_TRY(mr_sqlite_run(s, "ROLLBACK TO millrace_rows", "go back to a savepoint", err));
            status = replace_rows(w, batch, &second);
            if (err)
                *err = second;
        }
    }
    if (status != MR_OK)
        return status; /* the caller rolls back to its own savepoint, or everything */
    return mr_sqlite_run(s, "RELEASE millrace_rows", "release a savepoint", err);
}

enum mr_status mr_sqlite_apply(struct mr_sink *sink, struct mr_table_batch *batch, struct mr_error *err)
{
    struct mr_sqlite *s = mr_sqlite_of(sink);
    mr_sqlite_enter(s);
    if (err)
        err->row = -1;
    if (batch->tbl->column_count == 0 || batch->tbl->column_count > MR_TABLE_MAX_COLUMNS)
        return mr_fail(err, MR_E_BUG, "table %.*s has %zu columns", MR_STR_FMT(batch->tbl->name), batch->tbl->column_count);
    struct work w = {.s = s, .tbl = batch->tbl};
    s->stores = mr_xgrow(s->stores, &s->store_cap, w.tbl->column_count, sizeof(*s->stores));
    for (size_t i = 0; i < w.tbl->column_count; i++)
        s->stores[i] = mr_sqlite_store_of(&w.tbl->columns[i]);

    if (batch->truncate_first)
        MR_TRY(truncate_table(&w, err));
    return may_replace(batch) ? apply_with_unique(&w, batch, err) : apply_rows(&w, batch, false, err);
}
