/* The statements that write rows: text made of a table's names, prepared once per table version, kind and set of columns, and kept. */
#include "internal.h"

#define MAX_KEPT 512 /* prepared statements; partial updates could otherwise make one per set of columns for ever */

static bool in_mask(const unsigned char *mask, size_t i)
{
    return !mask || (mask[i / 8] >> (i % 8) & 1);
}

static void finalize(void *stmt)
{
    sqlite3_finalize(stmt);
}

void mr_sqlite_forget_statements(struct mr_sqlite *s)
{
    mr_map_clear(s->statements, finalize);
}

/* The rowid under a name that no column has taken. */
static const char *rowid_name(const struct mr_table *tbl)
{
    static const char *const aliases[] = {"rowid", "_rowid_", "oid"};
    for (size_t a = 0; a < 3; a++) {
        bool is_taken = false;
        for (size_t i = 0; i < tbl->column_count && !is_taken; i++)
            is_taken = mr_str_eq_nocase(tbl->columns[i].name, mr_str_z(aliases[a]));
        if (!is_taken)
            return aliases[a];
    }
    return NULL;
}

static void append_insert(const struct mr_table *tbl, struct mr_buf *out)
{
    mr_buf_append_z(out, "INSERT INTO ");
    mr_sqlite_quote(tbl->name, out);
    mr_buf_append_z(out, " (");
    for (size_t i = 0; i < tbl->column_count; i++) {
        if (i > 0)
            mr_buf_append_char(out, ',');
        mr_sqlite_quote(tbl->columns[i].name, out);
    }
    mr_buf_append_z(out, ") VALUES (");
    for (size_t i = 0; i < tbl->column_count; i++)
        mr_buf_printf(out, i ? ",?%zu" : "?%zu", i + 1);
    mr_buf_append_char(out, ')');
}

/* WHERE something of it changes: byte for byte, so neither a collation nor 1 = 1.0 makes two values one. */
static void append_unless_same(const struct mr_table *tbl, const unsigned char *mask, struct mr_buf *out)
{
    const char *lead = " WHERE ";
    for (size_t i = 0; i < tbl->column_count; i++) {
        if (tbl->columns[i].is_key || !in_mask(mask, i))
            continue;
        for (int pass = 0; pass < 2; pass++) {
            mr_buf_append_z(out, lead);
            mr_buf_append_z(out, pass ? "typeof(" : "");
            mr_sqlite_quote(tbl->name, out);
            mr_buf_append_char(out, '.');
            mr_sqlite_quote(tbl->columns[i].name, out);
            mr_buf_append_z(out, pass ? ") IS NOT typeof(excluded." : " COLLATE BINARY IS NOT excluded.");
            mr_sqlite_quote(tbl->columns[i].name, out);
            mr_buf_append_z(out, pass ? ")" : "");
            lead = " OR ";
        }
    }
}

static void append_on_conflict(const struct mr_table *tbl, bool update, const unsigned char *mask, struct mr_buf *out)
{
    mr_buf_append_z(out, " ON CONFLICT (");
    for (size_t i = 0; i < tbl->key_count; i++) {
        if (i > 0)
            mr_buf_append_char(out, ',');
        mr_sqlite_quote(tbl->columns[tbl->key_columns[i]].name, out);
    }
    mr_buf_append_char(out, ')');
    const char *lead = " DO UPDATE SET ";
    for (size_t i = 0; update && i < tbl->column_count; i++) {
        if (tbl->columns[i].is_key || !in_mask(mask, i))
            continue;
        mr_buf_append_z(out, lead);
        mr_sqlite_quote(tbl->columns[i].name, out);
        mr_buf_append_z(out, "=excluded.");
        mr_sqlite_quote(tbl->columns[i].name, out);
        lead = ",";
    }
    if (lead[0] == ' ')
        mr_buf_append_z(out, " DO NOTHING");
    else if (tbl->skips_same)
        append_unless_same(tbl, mask, out);
}

static void append_key_equal(const struct mr_table *tbl, struct mr_buf *out)
{
    for (size_t i = 0; i < tbl->key_count; i++) {
        mr_buf_append_z(out, i ? " AND " : " WHERE ");
        mr_sqlite_quote(tbl->columns[tbl->key_columns[i]].name, out);
        mr_buf_printf(out, "=?%zu", i + 1);
    }
}

/* The last of the key columns that are set is the one with the bounds, and has two parameters. */
static void append_delete_range(const struct mr_table *tbl, const unsigned char *mask, struct mr_buf *out)
{
    size_t last = 0;
    for (size_t k = 0; k < tbl->key_count; k++)
        if (in_mask(mask, tbl->key_columns[k]))
            last = k;
    mr_buf_append_z(out, "DELETE FROM ");
    mr_sqlite_quote(tbl->name, out);
    for (size_t k = 0; k <= last; k++) {
        mr_buf_append_z(out, k ? " AND " : " WHERE ");
        mr_sqlite_quote(tbl->columns[tbl->key_columns[k]].name, out);
        mr_buf_printf(out, k == last ? ">=?%zu AND " : "=?%zu", k + 1);
    }
    mr_sqlite_quote(tbl->columns[tbl->key_columns[last]].name, out);
    mr_buf_printf(out, "<?%zu", last + 2);
}

static void append_delete(const struct mr_table *tbl, struct mr_buf *out)
{
    mr_buf_append_z(out, "DELETE FROM ");
    mr_sqlite_quote(tbl->name, out);
    append_key_equal(tbl, out);
}

static void append_read(const struct mr_table *tbl, const unsigned char *mask, struct mr_buf *out)
{
    const char *lead = "SELECT ";
    for (size_t i = 0; i < tbl->column_count; i++) {
        if (tbl->columns[i].is_key || !in_mask(mask, i))
            continue;
        mr_buf_append_z(out, lead);
        mr_sqlite_quote(tbl->columns[i].name, out);
        lead = ",";
    }
    mr_buf_append_z(out, " FROM ");
    mr_sqlite_quote(tbl->name, out);
    append_key_equal(tbl, out);
}

/* WHERE rowid = (the first row equal to `match`, NULL equal to NULL, JSON as documents). */
static void append_match(const struct mr_table *tbl, const char *rowid, const unsigned char *match, struct mr_buf *out)
{
    mr_buf_printf(out, " WHERE %s = (SELECT %s FROM ", rowid, rowid);
    mr_sqlite_quote(tbl->name, out);
    const char *lead = " WHERE ";
    for (size_t i = 0; i < tbl->column_count; i++) {
        if (!in_mask(match, i))
            continue;
        struct mr_str name = tbl->columns[i].name;
        size_t p = tbl->column_count + i + 1;
        mr_buf_append_z(out, lead);
        lead = " AND ";
        bool is_json = tbl->columns[i].type.kind == MR_T_JSON;
        if (is_json)
            mr_buf_append_char(out, '(');
        mr_sqlite_quote(name, out);
        mr_buf_printf(out, " IS ?%zu", p);
        if (!is_json)
            continue;
        mr_buf_append_z(out, " OR CASE WHEN json_valid(");
        mr_sqlite_quote(name, out);
        mr_buf_printf(out, ") AND json_valid(?%zu) THEN json(", p);
        mr_sqlite_quote(name, out);
        mr_buf_printf(out, ") = json(?%zu) END)", p);
    }
    mr_buf_append_z(out, " LIMIT 1)");
}

static void append_set(const struct mr_table *tbl, const unsigned char *mask, struct mr_buf *out)
{
    mr_buf_append_z(out, "UPDATE ");
    mr_sqlite_quote(tbl->name, out);
    const char *lead = " SET ";
    for (size_t i = 0; i < tbl->column_count; i++) {
        if (!in_mask(mask, i))
            continue;
        mr_buf_append_z(out, lead);
        mr_sqlite_quote(tbl->columns[i].name, out);
        mr_buf_printf(out, "=?%zu", i + 1);
        lead = ",";
    }
    if (lead[0] == ' ') { /* nothing to change, but whether there is such a row counts */
        mr_buf_append_z(out, lead);
        mr_sqlite_quote(tbl->columns[0].name, out);
        mr_buf_append_char(out, '=');
        mr_sqlite_quote(tbl->columns[0].name, out);
    }
}

/* Numbers from behind the last row on: the key's other columns are equal. */
static void append_fill(const struct mr_table *tbl, struct mr_buf *out)
{
    size_t last = tbl->key_count - 1;
    mr_buf_append_z(out, "INSERT INTO ");
    mr_sqlite_quote(tbl->name, out);
    mr_buf_append_z(out, " (");
    for (size_t k = 0; k <= last; k++) {
        mr_buf_append_z(out, k > 0 ? "," : "");
        mr_sqlite_quote(tbl->columns[tbl->key_columns[k]].name, out);
    }
    for (size_t i = 0; i < tbl->column_count; i++) {
        mr_buf_append_z(out, tbl->columns[i].is_key ? "" : ",");
        if (!tbl->columns[i].is_key)
            mr_sqlite_quote(tbl->columns[i].name, out);
    }
    mr_buf_append_z(out, ") WITH RECURSIVE places(place) AS (SELECT coalesce(max(");
    mr_sqlite_quote(tbl->columns[tbl->key_columns[last]].name, out);
    mr_buf_append_z(out, "),-1)+1 FROM ");
    mr_sqlite_quote(tbl->name, out);
    for (size_t k = 0; k <= last; k++) {
        mr_buf_append_z(out, k ? " AND " : " WHERE ");
        mr_sqlite_quote(tbl->columns[tbl->key_columns[k]].name, out);
        mr_buf_printf(out, k == last ? "<?%zu" : "=?%zu", k + 1);
    }
    mr_buf_printf(out, " UNION ALL SELECT place+1 FROM places WHERE place+1<?%zu) SELECT ", last + 1);
    for (size_t k = 0; k < last; k++)
        mr_buf_printf(out, "?%zu,", k + 1);
    mr_buf_append_z(out, "place");
    for (size_t i = 0; i < tbl->column_count; i++)
        mr_buf_append_z(out, tbl->columns[i].is_key ? "" : ",NULL");
    mr_buf_printf(out, " FROM places WHERE place<?%zu", last + 1);
}

/* The key columns of `match` decide. */
static void append_move_all(const struct mr_table *tbl, const unsigned char *mask, const unsigned char *match, struct mr_buf *out)
{
    const char *lead = " WHERE ";
    append_set(tbl, mask, out);
    for (size_t i = 0; i < tbl->column_count; i++) {
        if (!in_mask(match, i))
            continue;
        mr_buf_append_z(out, lead);
        mr_sqlite_quote(tbl->columns[i].name, out);
        mr_buf_printf(out, "=?%zu", tbl->column_count + i + 1);
        lead = " AND ";
    }
}

static enum mr_status make_text(const struct mr_table *tbl, enum mr_sqlite_statement kind, const unsigned char *mask,
                                const unsigned char *match, struct mr_buf *out, struct mr_error *err)
{
    const char *rowid = rowid_name(tbl);
    switch (kind) {
    case MR_SQLITE_INSERT:
        append_insert(tbl, out);
        break;
    case MR_SQLITE_UPSERT:
    case MR_SQLITE_INSERT_ONLY:
        append_insert(tbl, out);
        append_on_conflict(tbl, kind == MR_SQLITE_UPSERT, mask, out);
        break;
    case MR_SQLITE_DELETE:
        append_delete(tbl, out);
        break;
    case MR_SQLITE_DELETE_RANGE:
        append_delete_range(tbl, mask, out);
        break;
    case MR_SQLITE_UPDATE_ONE:
    case MR_SQLITE_DELETE_ONE:
        if (!rowid)
            return mr_fail(err, MR_E_CONFIG, "table %.*s: its columns have taken every name of the rowid, so that rows without a key "
                           "cannot be found", MR_STR_FMT(tbl->name));
        if (kind == MR_SQLITE_UPDATE_ONE) {
            append_set(tbl, mask, out);
        } else {
            mr_buf_append_z(out, "DELETE FROM ");
            mr_sqlite_quote(tbl->name, out);
        }
        append_match(tbl, rowid, match, out);
        break;
    case MR_SQLITE_FILL:
        append_fill(tbl, out);
        break;
    case MR_SQLITE_MOVE_ALL:
        append_move_all(tbl, mask, match, out);
        break;
    case MR_SQLITE_READ:
        append_read(tbl, mask, out);
        break;
    case MR_SQLITE_TRUNCATE:
        mr_buf_append_z(out, "DELETE FROM ");
        mr_sqlite_quote(tbl->name, out);
        break;
    }
    return mr_buf_check(out, "a statement", err);
}

static void append_mask(struct mr_buf *key, const unsigned char *mask, size_t columns)
{
    mr_buf_append_char(key, mask ? 'm' : 'a');
    if (mask)
        mr_buf_append(key, mask, (columns + 7) / 8);
}

enum mr_status mr_sqlite_statement(struct mr_sqlite *s, const struct mr_table *tbl, enum mr_sqlite_statement kind,
                                   const unsigned char *mask, const unsigned char *match, sqlite3_stmt **out,
                                   struct mr_error *err)
{
    mr_buf_clear(&s->key);
    mr_buf_append_char(&s->key, (char)('A' + (int)kind));
    mr_buf_append_u64be(&s->key, tbl->id);
    mr_buf_append_u64be(&s->key, tbl->version);
    append_mask(&s->key, mask, tbl->column_count);
    append_mask(&s->key, match, tbl->column_count);
    *out = mr_map_get(s->statements, mr_buf_str(&s->key));
    if (*out)
        return MR_OK;

    mr_buf_clear(&s->text);
    MR_TRY(make_text(tbl, kind, mask, match, &s->text, err));
    enum mr_status status = mr_sqlite_prepare(s, mr_buf_str(&s->text), true, out, NULL, err);
    if (status != MR_OK) {
        mr_error_prefix(err, "table %.*s: ", MR_STR_FMT(tbl->name));
        return status;
    }
    if (mr_map_count(s->statements) >= MAX_KEPT)
        mr_sqlite_forget_statements(s);
    mr_map_put(s->statements, mr_buf_str(&s->key), *out);
    return MR_OK;
}
