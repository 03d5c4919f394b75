/* What SQLite's catalog says of a table, and its rows as text. The catalog is read through the pragma functions, which take names as
 * parameters. */
#include "internal.h"

#include <millrace/base/mem.h>

static enum mr_status open_query(struct mr_sqlite *s, const char *sql_z, struct mr_str table, sqlite3_stmt **stmt,
                                 struct mr_error *err)
{
    MR_TRY(mr_sqlite_prepare(s, mr_str_z(sql_z), false, stmt, NULL, err));
    sqlite3_bind_text64(*stmt, 1, table.len ? table.ptr : "", table.len, SQLITE_STATIC, SQLITE_UTF8);
    return MR_OK;
}

/* *more: a row is there. Closes the statement when there is none, or on failure. */
static enum mr_status next_row(struct mr_sqlite *s, sqlite3_stmt **stmt, bool *more, struct mr_error *err)
{
    int rc = sqlite3_step(*stmt);
    *more = rc == SQLITE_ROW;
    if (*more)
        return MR_OK;
    enum mr_status status = rc == SQLITE_DONE ? MR_OK : mr_sqlite_fail(s, err, "read the catalog");
    sqlite3_finalize(*stmt);
    *stmt = NULL;
    return status;
}

static struct mr_str text_at(sqlite3_stmt *stmt, int i, struct mr_arena *ar)
{
    const char *ptr = (const char *)sqlite3_column_text(stmt, i);
    return mr_arena_copy(ar, mr_str_of(ptr ? ptr : "", (size_t)sqlite3_column_bytes(stmt, i)));
}

/* Appends to an array in the arena; `*cap` doubles. */
static void *grow(struct mr_arena *ar, void *old, size_t count, size_t *cap, size_t elem)
{
    if (count < *cap)
        return old;
    size_t fresh_cap = *cap ? *cap * 2 : 16;
    void *fresh = mr_arena_zalloc(ar, fresh_cap * elem);
    if (count > 0)
        memcpy(fresh, old, count * elem);
    *cap = fresh_cap;
    return fresh;
}

/* NOCASE, RTRIM and those that a person has made take texts for equal that differ. */
static bool merges_texts(struct mr_sqlite *s, struct mr_str table, struct mr_str column, struct mr_arena *ar)
{
    const char *collation_z = NULL;
    int rc = sqlite3_table_column_metadata(s->db, NULL, mr_arena_strndup(ar, table.ptr, table.len),
                                           mr_arena_strndup(ar, column.ptr, column.len), NULL, &collation_z, NULL, NULL, NULL);
    return rc == SQLITE_OK && collation_z && sqlite3_stricmp(collation_z, "BINARY") != 0;
}

static enum mr_status read_columns(struct mr_sqlite *s, struct mr_str table, struct mr_arena *ar, struct mr_catalog_table *out,
                                   struct mr_error *err)
{
    sqlite3_stmt *stmt = NULL;
    size_t cap = 0, key_cap = 0;
    bool more = true;
    MR_TRY(open_query(s, "SELECT name, type, \"notnull\", dflt_value, pk, hidden FROM pragma_table_xinfo(?1)", table, &stmt, err));
    for (;;) {
        MR_TRY(next_row(s, &stmt, &more, err));
        if (!more)
            return MR_OK;
        out->columns = grow(ar, out->columns, out->column_count, &cap, sizeof(*out->columns));
        struct mr_catalog_column *col = &out->columns[out->column_count++];
        col->name = text_at(stmt, 0, ar);
        col->native = text_at(stmt, 1, ar);
        col->type = mr_sqlite_type_of_column(col->native);
        col->nullable = sqlite3_column_int(stmt, 2) == 0;
        col->has_default = sqlite3_column_type(stmt, 3) != SQLITE_NULL;
        col->generated = sqlite3_column_int(stmt, 5) != 0;
        col->merges_texts = merges_texts(s, table, col->name, ar);
        /* pk is the place in the key, from 1. */
        size_t place = (size_t)sqlite3_column_int(stmt, 4);
        while (place > out->key_count) {
            out->key = grow(ar, out->key, out->key_count, &key_cap, sizeof(*out->key));
            out->key_count++;
        }
        if (place > 0)
            out->key[place - 1] = col->name;
    }
}

/* Columns of one index; count 0 if it is over an expression. */
static enum mr_status read_index(struct mr_sqlite *s, struct mr_str index, struct mr_arena *ar, struct mr_str **names,
                                 size_t *count, struct mr_error *err)
{
    sqlite3_stmt *stmt = NULL;
    size_t cap = 0;
    bool more = true, has_expression = false;
    *names = NULL;
    *count = 0;
    MR_TRY(open_query(s, "SELECT name FROM pragma_index_info(?1) ORDER BY seqno", index, &stmt, err));
    for (;;) {
        MR_TRY(next_row(s, &stmt, &more, err));
        if (!more)
            break;
        has_expression = has_expression || sqlite3_column_type(stmt, 0) == SQLITE_NULL;
        *names = grow(ar, *names, *count, &cap, sizeof(**names));
        (*names)[(*count)++] = text_at(stmt, 0, ar);
    }
    if (has_expression)
        *count = 0;
    return MR_OK;
}

static enum mr_status read_unique(struct mr_sqlite *s, struct mr_str table, struct mr_arena *ar, struct mr_catalog_table *out,
                                  struct mr_error *err)
{
    sqlite3_stmt *stmt = NULL;
    size_t cap = 0, size_cap = 0;
    bool more = true;
    MR_TRY(open_query(s,
                      "SELECT name FROM pragma_index_list(?1) WHERE \"unique\" AND NOT partial AND origin <> 'pk' ORDER BY name",
                      table, &stmt, err));
    for (;;) {
        MR_TRY(next_row(s, &stmt, &more, err));
        if (!more)
            return MR_OK;
        struct mr_str *names;
        size_t count;
        enum mr_status status = read_index(s, text_at(stmt, 0, ar), ar, &names, &count, err);
        if (status != MR_OK) {
            sqlite3_finalize(stmt);
            return status;
        }
        if (count == 0)
            continue;
        out->unique_sets = grow(ar, out->unique_sets, out->unique_count, &cap, sizeof(*out->unique_sets));
        out->unique_set_sizes = grow(ar, out->unique_set_sizes, out->unique_count, &size_cap, sizeof(*out->unique_set_sizes));
        out->unique_sets[out->unique_count] = names;
        out->unique_set_sizes[out->unique_count++] = count;
    }
}

static enum mr_status ask(struct mr_sqlite *s, const char *sql_z, struct mr_str table, bool *yes, struct mr_error *err)
{
    sqlite3_stmt *stmt = NULL;
    MR_TRY(open_query(s, sql_z, table, &stmt, err));
    MR_TRY(next_row(s, &stmt, yes, err));
    sqlite3_finalize(stmt);
    return MR_OK;
}

enum mr_status mr_sqlite_is_referenced(struct mr_sqlite *s, struct mr_str table, bool *yes, struct mr_error *err)
{
    return ask(s,
               "SELECT 1 FROM sqlite_master AS m, pragma_foreign_key_list(m.name) AS f"
               " WHERE m.type = 'table' AND f.\"table\" = ?1 COLLATE NOCASE",
               table, yes, err);
}

enum mr_status mr_sqlite_describe(struct mr_sink *sink, struct mr_str schema, struct mr_str table, struct mr_arena *ar,
                                  struct mr_catalog_table *out, struct mr_error *err)
{
    struct mr_sqlite *s = mr_sqlite_of(sink);
    mr_sqlite_enter(s);
    (void)schema;
    *out = (struct mr_catalog_table){0};
    MR_TRY(ask(s, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1 COLLATE NOCASE", table, &out->exists, err));
    if (!out->exists)
        return MR_OK;
    MR_TRY(read_columns(s, table, ar, out, err));
    MR_TRY(read_unique(s, table, ar, out, err));
    bool refers = false, is_referenced = false;
    MR_TRY(ask(s, "SELECT 1 FROM pragma_foreign_key_list(?1)", table, &refers, err));
    MR_TRY(mr_sqlite_is_referenced(s, table, &is_referenced, err));
    out->has_foreign_keys = refers || is_referenced;
    return MR_OK;
}

/* ---- Rows for people ---- */

static void select_text(const struct mr_catalog_table *now, struct mr_str table, struct mr_buf *sql)
{
    for (size_t i = 0; i < now->column_count; i++) {
        mr_buf_append_z(sql, i ? ", " : "SELECT ");
        mr_sqlite_append_text_of(now->columns[i].name, now->columns[i].type, sql);
    }
    mr_buf_append_z(sql, " FROM ");
    mr_sqlite_quote(table, sql);
    for (size_t i = 0; i < now->key_count; i++) {
        mr_buf_append_z(sql, i ? ", " : " ORDER BY ");
        mr_sqlite_quote(now->key[i], sql);
    }
    mr_buf_append_z(sql, " LIMIT ?1");
}

static enum mr_status give_rows(struct mr_sqlite *s, sqlite3_stmt *stmt, struct mr_value *cells, size_t count, mr_row_fn on_row,
                                void *ctx, struct mr_error *err)
{
    for (;;) {
        int rc = sqlite3_step(stmt);
        if (rc == SQLITE_DONE)
            return MR_OK;
        if (rc != SQLITE_ROW)
            return mr_sqlite_fail(s, err, "read a table");
        for (size_t i = 0; i < count; i++) {
            if (sqlite3_column_type(stmt, (int)i) == SQLITE_NULL) {
                cells[i] = mr_value_null();
                continue;
            }
            const char *ptr = (const char *)sqlite3_column_text(stmt, (int)i);
            cells[i] = mr_value_text(mr_str_of(ptr ? ptr : "", (size_t)sqlite3_column_bytes(stmt, (int)i)));
        }
        MR_TRY(on_row(ctx, cells, count, err));
    }
}

enum mr_status mr_sqlite_dump(struct mr_sink *sink, struct mr_str schema, struct mr_str table, size_t limit, mr_row_fn on_row,
                              void *ctx, struct mr_error *err)
{
    struct mr_sqlite *s = mr_sqlite_of(sink);
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_buf sql = MR_BUF_INIT(MR_SQLITE_SQL_MAX);
    struct mr_catalog_table now;
    sqlite3_stmt *stmt = NULL;
    enum mr_status status;
    MR_TRY_DONE(mr_sqlite_describe(sink, schema, table, ar, &now, err));
    if (!now.exists) {
        status = mr_fail(err, MR_E_SCHEMA, "there is no table %.*s", MR_STR_FMT(table));
        goto done;
    }
    struct mr_value *cells = mr_arena_alloc(ar, (now.column_count ? now.column_count : 1) * sizeof(*cells));
    for (size_t i = 0; i < now.column_count; i++)
        cells[i] = mr_value_text(now.columns[i].name);
    MR_TRY_DONE(on_row(ctx, cells, now.column_count, err));

    select_text(&now, table, &sql);
    MR_TRY_DONE(mr_sqlite_prepare(s, mr_buf_str(&sql), false, &stmt, NULL, err));
    sqlite3_bind_int64(stmt, 1, limit > INT64_MAX ? INT64_MAX : (int64_t)limit);
    status = give_rows(s, stmt, cells, now.column_count, on_row, ctx, err);
done:
    sqlite3_finalize(stmt);
    mr_buf_free(&sql);
    mr_arena_destroy(ar);
    return status;
}
