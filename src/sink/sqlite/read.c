/* Reading cells of one row before they are changed. */
#include "internal.h"

static void take(sqlite3_stmt *stmt, const struct mr_table *tbl, const struct mr_value *cells,
                 struct mr_arena *ar, struct mr_value *out)
{
    int field = 0;

    for (size_t i = 0; i < tbl->column_count; i++) {
        if (tbl->columns[i].is_key || cells[i].tag == MR_V_ABSENT)
            continue;
        bool is_null = sqlite3_column_type(stmt, field) == SQLITE_NULL;
        const char *text = (const char *)sqlite3_column_text(stmt, field);
        struct mr_str copy =
            mr_arena_copy(ar, mr_str_of(text != NULL ? text : "", (size_t)sqlite3_column_bytes(stmt, field)));
        bool is_text = tbl->columns[i].type.kind == MR_T_TEXT;
        out[i] = is_null ? mr_value_null() : mr_value_bytes(is_text ? MR_V_TEXT : MR_V_JSON, copy);
        field++;
    }
}

enum mr_status mr_sqlite_read_row(struct mr_sink *sink, const struct mr_table *tbl,
                                  const struct mr_value *cells, struct mr_arena *ar, struct mr_value *out,
                                  bool *found, struct mr_error *err)
{
    struct mr_sqlite *s = mr_sqlite_of(sink);
    unsigned char *mask = mr_arena_zalloc(ar, (tbl->column_count + 7) / 8);
    sqlite3_stmt *stmt = NULL;

    *found = false;
    mr_sqlite_enter(s);
    mr_arena_reset(s->ar);
    for (size_t i = 0; i < tbl->column_count; i++)
        if (cells[i].tag != MR_V_ABSENT)
            mask[i / 8] |= (unsigned char)(1u << (i % 8));
    MR_TRY(mr_sqlite_statement(s, tbl, MR_SQLITE_READ, mask, NULL, &stmt, err));
    for (size_t i = 0; i < tbl->key_count; i++) {
        const struct mr_column *col = &tbl->columns[tbl->key_columns[i]];
        MR_TRY(mr_sqlite_bind(s, stmt, (int)i + 1, col, mr_sqlite_store_of(col), cells[tbl->key_columns[i]],
                              err));
    }
    int rc = sqlite3_step(stmt);
    enum mr_status status = MR_OK;
    *found = rc == SQLITE_ROW;
    if (*found)
        take(stmt, tbl, cells, ar, out);
    else if (rc != SQLITE_DONE)
        status = mr_sqlite_fail(s, err, "read a row of %.*s", MR_STR_FMT(tbl->name));
    sqlite3_reset(stmt);
    return status;
}
