/* Altering by rebuilding: SQLite changes neither a column's type nor a primary key, so the table is made anew under another name, filled,
 * and put in the place of the old one, all inside one transaction. The conversions in the copy give what would stand there if the column
 * had had its new type from the beginning.
 *
 * Conversions that SQL cannot do exactly (the shortest text of a double, base64) call functions of our connection: millrace_text(x),
 * millrace_decimal(x, scale), millrace_number(x), millrace_json(x); see functions.c. */
#include "internal.h"

#include <millrace/base/mem.h>

/* What an old value becomes. */
enum conversion {
    KEEP,         /* stored the same way */
    INT_TEXT,     /* integer → its digits */
    BOOL_TEXT,    /* true, false: both a text and a JSON form */
    EXACT_TEXT,   /* a double, bytes → canonical text */
    DECIMAL_TEXT, /* a number → digits with the column's scale */
    NUMBER,       /* digits → integer, double or text */
    JSON_STRING,  /* → a quoted JSON string of the canonical text */
    JSON_NUMBER,  /* a number → JSON number; the words quoted */
};

static bool is_decimal_text(struct mr_type t)
{
    return t.kind == MR_T_DECIMAL && !t.open && t.precision > MR_SQLITE_EXACT_DIGITS;
}

static enum conversion to_text(struct mr_type from)
{
    switch ((enum mr_type_kind)from.kind) {
    case MR_T_BOOL:
        return BOOL_TEXT;
    case MR_T_INT16:
    case MR_T_INT32:
    case MR_T_INT64:
        return INT_TEXT;
    case MR_T_DECIMAL:
        if (is_decimal_text(from))
            return KEEP;
        return DECIMAL_TEXT;
    case MR_T_NONE:
    case MR_T_FLOAT32:
    case MR_T_FLOAT64:
    case MR_T_BYTES:
        return EXACT_TEXT;
    case MR_T_TEXT:
    case MR_T_DATE:
    case MR_T_TIME:
    case MR_T_DURATION:
    case MR_T_TIMESTAMP:
    case MR_T_TIMESTAMPTZ:
    case MR_T_UUID:
    case MR_T_BITS:
    case MR_T_JSON:
    case MR_T_ARRAY:
        break;
    }
    return KEEP;
}

static enum conversion to_json(struct mr_type from)
{
    if (from.kind == MR_T_JSON)
        return KEEP;
    if (from.kind == MR_T_BOOL)
        return BOOL_TEXT;
    if (mr_type_is_integer(from))
        return INT_TEXT;
    return mr_type_is_numeric(from) ? JSON_NUMBER : JSON_STRING;
}

static enum conversion conversion_of(struct mr_type from, struct mr_type to)
{
    if (to.kind == MR_T_TEXT)
        return to_text(from);
    if (to.kind == MR_T_JSON)
        return to_json(from);
    if (to.kind == MR_T_DECIMAL && to.open)
        return NUMBER;
    if (is_decimal_text(to))
        return DECIMAL_TEXT;
    return KEEP;
}

static void append_conversion(struct mr_str column, struct mr_type from, struct mr_type to, struct mr_buf *out)
{
    enum conversion conv = conversion_of(from, to);
    int scale = to.kind == MR_T_DECIMAL ? to.scale : from.scale;
    switch (conv) {
    case KEEP:
        mr_sqlite_quote(column, out);
        return;
    case INT_TEXT:
        mr_buf_append_z(out, "CAST(");
        mr_sqlite_quote(column, out);
        mr_buf_append_z(out, " AS TEXT)");
        return;
    case BOOL_TEXT:
        mr_buf_append_z(out, "CASE ");
        mr_sqlite_quote(column, out);
        mr_buf_append_z(out, " WHEN 0 THEN 'false' WHEN 1 THEN 'true' ELSE ");
        mr_sqlite_quote(column, out);
        mr_buf_append_z(out, " END");
        return;
    case EXACT_TEXT:
        mr_buf_append_z(out, "millrace_text(");
        break;
    case DECIMAL_TEXT:
        mr_buf_append_z(out, "millrace_decimal(");
        mr_sqlite_quote(column, out);
        mr_buf_printf(out, ", %d)", scale > 0 ? scale : 0);
        return;
    case NUMBER:
        mr_buf_append_z(out, "millrace_number(");
        break;
    case JSON_STRING:
        mr_buf_append_z(out, "millrace_json(");
        break;
    case JSON_NUMBER:
        if (from.kind == MR_T_DECIMAL && !from.open && !is_decimal_text(from)) {
            mr_buf_append_z(out, "millrace_json_number(millrace_decimal(");
            mr_sqlite_quote(column, out);
            mr_buf_printf(out, ", %d))", from.scale > 0 ? from.scale : 0);
            return;
        }
        mr_buf_append_z(out, "millrace_json_number(");
        break;
    }
    mr_sqlite_quote(column, out);
    mr_buf_append_char(out, ')');
}

void mr_sqlite_append_text_of(struct mr_str column, struct mr_type type, struct mr_buf *out)
{
    append_conversion(column, type, MR_TYPE(MR_T_TEXT), out);
}

/* The name of the table while it is filled. A leftover cannot exist: it would have been rolled back. */
static void new_name(struct mr_str table, struct mr_buf *out)
{
    mr_buf_append_z(out, "millrace_rebuild_");
    mr_buf_append_str(out, table);
}

static void append_copy(const struct mr_ddl_step *step, const struct mr_catalog_table *now, struct mr_str fresh,
                        struct mr_buf *out)
{
    mr_buf_append_z(out, "INSERT INTO ");
    mr_sqlite_quote(fresh, out);
    mr_buf_append_z(out, " (");
    const char *comma = "";
    for (size_t i = 0; i < now->column_count; i++) {
        if (now->columns[i].generated)
            continue;
        mr_buf_append_z(out, comma);
        mr_sqlite_quote(now->columns[i].name, out);
        comma = ", ";
    }
    mr_buf_append_z(out, ") SELECT ");
    comma = "";
    for (size_t i = 0; i < now->column_count; i++) {
        const struct mr_catalog_column *col = &now->columns[i];
        if (col->generated)
            continue;
        mr_buf_append_z(out, comma);
        comma = ", ";
        const struct mr_column *to = &step->tbl->columns[step->column];
        if (step->kind == MR_DDL_ALTER_TYPE && mr_str_eq_nocase(to->name, col->name))
            /* What the catalog says is what is stored, whatever was planned from. */
            append_conversion(col->name, col->type.kind != MR_T_NONE ? col->type : step->from, to->type, out);
        else
            mr_sqlite_quote(col->name, out);
    }
    mr_buf_append_z(out, " FROM ");
    mr_sqlite_quote(step->tbl->name, out);
}

void mr_sqlite_create_of(const struct mr_table *tbl, const struct mr_catalog_table *now, struct mr_buf *out)
{
    mr_buf_append_z(out, "CREATE TABLE ");
    mr_sqlite_quote(tbl->name, out);
    mr_buf_append_z(out, " (");
    for (size_t i = 0; i < now->column_count; i++) {
        mr_buf_append_z(out, i ? ",\n  " : "\n  ");
        mr_sqlite_quote(now->columns[i].name, out);
        if (now->columns[i].native.len > 0) {
            mr_buf_append_char(out, ' ');
            mr_buf_append_str(out, now->columns[i].native);
        }
        if (!now->columns[i].nullable)
            mr_buf_append_z(out, " NOT NULL");
    }
    for (size_t i = 0; i < now->key_count; i++) {
        mr_buf_append_z(out, i ? ", " : ",\n  PRIMARY KEY (");
        mr_sqlite_quote(now->key[i], out);
    }
    mr_buf_append_z(out, now->key_count ? ")\n)" : "\n)");
}

bool mr_sqlite_rebuild(const struct mr_ddl_step *step, const struct mr_catalog_table *now, struct mr_str create_sql,
                       const struct mr_str *extra, size_t extra_count, struct mr_buf *out)
{
    const struct mr_table *tbl = step->tbl;
    struct mr_buf fresh = MR_BUF_INIT(MR_SQLITE_SQL_MAX), native = MR_BUF_INIT(MR_SQLITE_SQL_MAX);
    struct mr_str *key = NULL;
    struct mr_sqlite_change change = {0};
    new_name(tbl->name, &fresh);
    if (step->kind == MR_DDL_ALTER_TYPE) {
        mr_sqlite_column_type(&tbl->columns[step->column], &native);
        change.column = tbl->columns[step->column].name;
        change.native = mr_buf_str(&native);
    } else {
        size_t cap = 0;
        key = mr_xgrow(NULL, &cap, tbl->key_count ? tbl->key_count : 1, sizeof(*key));
        for (size_t i = 0; i < tbl->key_count; i++)
            key[i] = tbl->columns[tbl->key_columns[i]].name;
        change.replace_key = true;
        change.key = key;
        change.key_count = tbl->key_count;
    }

    bool fine = mr_sqlite_edit_definition(create_sql, mr_buf_str(&fresh), &change, out);
    mr_buf_append_z(out, ";\n");
    append_copy(step, now, mr_buf_str(&fresh), out);
    mr_buf_append_z(out, ";\nDROP TABLE ");
    mr_sqlite_quote(tbl->name, out);
    mr_buf_append_z(out, ";\nALTER TABLE ");
    mr_sqlite_quote(mr_buf_str(&fresh), out);
    mr_buf_append_z(out, " RENAME TO ");
    mr_sqlite_quote(tbl->name, out);
    for (size_t i = 0; i < extra_count; i++) {
        mr_buf_append_z(out, ";\n");
        mr_buf_append_str(out, extra[i]);
    }
    mr_buf_free(&fresh);
    mr_buf_free(&native);
    mr_xfree(key);
    return fine && !out->overflow;
}
