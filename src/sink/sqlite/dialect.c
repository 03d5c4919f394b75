/* SQLite's dialect: names, DDL text, what a column can hold. Types stand in types.c, rebuilding in rebuild.c. */
#include "internal.h"

#include <millrace/base/time.h>
#include <millrace/base/utf8.h>

void mr_sqlite_quote(struct mr_str name, struct mr_buf *out)
{
    mr_buf_append_char(out, '"');
    for (size_t i = 0; i < name.len; i++) {
        if (name.ptr[i] == '"')
            mr_buf_append_char(out, '"');
        mr_buf_append_char(out, name.ptr[i]);
    }
    mr_buf_append_char(out, '"');
}

/* There are no schemas: the name resolver has put the database into the table's name. */
static void quote_table(struct mr_str schema, struct mr_str table, struct mr_buf *out)
{
    (void)schema;
    mr_sqlite_quote(table, out);
}

static enum mr_status out_of_range(struct mr_error *err, const char *what)
{
    return mr_fail_data(err, MR_CODE_OUT_OF_RANGE, "SQLite cannot hold %s", what);
}

static enum mr_status holds(struct mr_type type, bool is_key, struct mr_value v, struct mr_error *err)
{
    (void)is_key;
    switch ((enum mr_tag)v.tag) {
    case MR_V_FLOAT:
        if (v.f != v.f) /* it would silently become NULL */
            return out_of_range(err, "NaN in a floating-point column");
        return MR_OK;
    case MR_V_DATE:
    case MR_V_TIMESTAMP:
    case MR_V_TIMESTAMPTZ:
    case MR_V_TIME:
    case MR_V_DURATION:
        if (v.i == MR_TIME_INFINITY || v.i == MR_TIME_NEG_INFINITY)
            return out_of_range(err, "an infinite date or time");
        return MR_OK;
    case MR_V_TEXT:
        /* NUL is held; what is no UTF-8 would be stored but could not be read back by most clients. */
        if (v.flags & (MR_TEXT_HAS_SURROGATE | MR_TEXT_ILL_FORMED))
            return mr_fail_data(err, MR_CODE_TEXT_INVALID, "the text holds %s",
                                v.flags & MR_TEXT_HAS_SURROGATE ? "a lone surrogate" : "bytes that are no UTF-8");
        return MR_OK;
    case MR_V_JSON:
    case MR_V_ARRAY: /* the tracker makes JSON of it */
        if (v.flags & MR_TEXT_ILL_FORMED)
            return mr_fail_data(err, MR_CODE_TEXT_INVALID, "the JSON holds bytes that are no UTF-8");
        return MR_OK;
    case MR_V_NUMBER:
    case MR_V_ABSENT:
    case MR_V_UNAVAILABLE:
    case MR_V_NULL:
    case MR_V_BOOL:
    case MR_V_INT:
    case MR_V_BYTES:
    case MR_V_UUID:
    case MR_V_BITS:
    case MR_V_PATCH:
    case MR_V_INVALID:
        break;
    }
    (void)type;
    return MR_OK;
}

/* ---- DDL ---- */

static void append_column(const struct mr_column *col, struct mr_buf *out)
{
    mr_sqlite_quote(col->name, out);
    mr_buf_append_char(out, ' ');
    mr_sqlite_column_type(col, out);
    if (col->is_key)
        mr_buf_append_z(out, " NOT NULL");
}

static void render_create(const struct mr_table *tbl, struct mr_buf *out)
{
    mr_buf_append_z(out, "CREATE TABLE IF NOT EXISTS ");
    mr_sqlite_quote(tbl->name, out);
    mr_buf_append_z(out, " (");
    for (size_t i = 0; i < tbl->column_count; i++) {
        mr_buf_append_z(out, i ? ",\n  " : "\n  ");
        append_column(&tbl->columns[i], out);
    }
    for (size_t i = 0; i < tbl->key_count; i++) {
        mr_buf_append_z(out, i ? ", " : ",\n  PRIMARY KEY (");
        mr_sqlite_quote(tbl->columns[tbl->key_columns[i]].name, out);
    }
    mr_buf_append_z(out, tbl->key_count ? ")\n)" : "\n)");
}

static void render_add(const struct mr_ddl_step *step, struct mr_buf *out)
{
    mr_buf_append_z(out, "ALTER TABLE ");
    mr_sqlite_quote(step->tbl->name, out);
    mr_buf_append_z(out, " ADD COLUMN ");
    const struct mr_column *col = &step->tbl->columns[step->column];
    mr_sqlite_quote(col->name, out);
    mr_buf_append_char(out, ' ');
    mr_sqlite_column_type(col, out);
}

/* What plan shows of a rebuild. The connection runs the same text made from the table's own definition, with its defaults, checks, indexes
 * and triggers (ddl.c); the catalog's view does not have them. */
static void render_rebuild(const struct mr_ddl_step *step, const struct mr_catalog_table *now, struct mr_buf *out)
{
    struct mr_buf create = MR_BUF_INIT(MR_SQLITE_SQL_MAX);
    mr_sqlite_create_of(step->tbl, now, &create);
    (void)!mr_sqlite_rebuild(step, now, mr_buf_str(&create), NULL, 0, out);
    mr_buf_free(&create);
}

/* What the source did. */
static void render_source_step(const struct mr_ddl_step *step, struct mr_buf *out)
{
    mr_buf_append_z(out, step->kind == MR_DDL_DROP_TABLE ? "DROP TABLE IF EXISTS " : "ALTER TABLE ");
    mr_sqlite_quote(step->tbl->name, out);
    if (step->kind == MR_DDL_DROP_TABLE)
        return;
    bool is_drop = step->kind == MR_DDL_DROP_COLUMN, is_table = step->kind == MR_DDL_RENAME_TABLE;
    mr_buf_append_z(out, is_drop ? " DROP COLUMN " : is_table ? " RENAME TO " : " RENAME COLUMN ");
    if (!is_table)
        mr_sqlite_quote(step->old, out);
    if (!is_table && !is_drop)
        mr_buf_append_z(out, " TO ");
    if (!is_drop)
        mr_sqlite_quote(step->name, out);
}

static void render(const struct mr_ddl_step *step, const struct mr_catalog_table *now, const struct mr_server *server,
                   struct mr_buf *out)
{
    (void)server;
    switch (step->kind) {
    case MR_DDL_CREATE_SCHEMA: /* there are none */
        return;
    case MR_DDL_CREATE_TABLE:
        render_create(step->tbl, out);
        return;
    case MR_DDL_ADD_COLUMN:
        render_add(step, out);
        return;
    case MR_DDL_ALTER_TYPE:
    case MR_DDL_REPLACE_KEY:
        render_rebuild(step, now, out);
        return;
    case MR_DDL_DROP_COLUMN:
    case MR_DDL_RENAME_COLUMN:
    case MR_DDL_DROP_TABLE:
    case MR_DDL_RENAME_TABLE:
        render_source_step(step, out);
        return;
    }
}

static enum mr_ddl_cost cost(const struct mr_ddl_step *step, const struct mr_server *server)
{
    (void)server;
    bool is_rebuild = step->kind == MR_DDL_ALTER_TYPE || step->kind == MR_DDL_REPLACE_KEY;
    return is_rebuild ? MR_COST_REWRITE : MR_COST_CATALOG;
}

static const char *const reserved_tables[] = {"sqlite_", NULL};

const struct mr_dialect mr_sqlite_dialect = {
    .name = "sqlite",
    .max_ident = 255, /* SQLite has no limit; this one keeps names readable */
    .ident_case_folds = true,
    .has_schemas = false,
    .max_columns = 2000, /* SQLITE_MAX_COLUMN */
    .quote_ident = mr_sqlite_quote,
    .quote_table = quote_table,
    .column_type = mr_sqlite_column_type,
    .type_of_column = mr_sqlite_type_of_column,
    .native_holds = mr_sqlite_native_holds,
    .holds = holds,
    .render = render,
    .cost = cost,
    .classify = mr_sqlite_classify,
    .reserved_tables = reserved_tables,
};
