/* Reading a table's definition and, for people and tests, its rows. */
#include "pg.h"

#define NAMESPACE "n.nspname = CASE WHEN $1 = '' THEN current_schema() ELSE $1 END AND c.relname = $2"

static const char table_sql[] =
    "SELECT c.oid, c.relkind IN ('r', 'p'), "
    "EXISTS (SELECT FROM pg_catalog.pg_constraint f WHERE f.contype = 'f' AND (f.conrelid = c.oid OR f.confrelid = c.oid)), "
    "(SELECT count(*) FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND a.attisdropped) "
    "FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE " NAMESPACE;

static const char columns_sql[] =
    "SELECT a.attname, format_type(a.atttypid, a.atttypmod), NOT a.attnotnull, "
    "(a.atthasdef OR a.attidentity <> '') AND a.attgenerated = '', a.attgenerated <> '' OR a.attidentity = 'a', "
    "a.atttypid::regtype::text ~ '(^|[.])citext$' OR EXISTS (SELECT FROM pg_catalog.pg_collation o WHERE o.oid = a.attcollation AND "
    "NOT o.collisdeterministic) FROM pg_catalog.pg_attribute a WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum";

/* Unique indexes that ON CONFLICT can use: whole, of plain columns, checked at once. The primary key comes first. */
static const char keys_sql[] =
    "SELECT x.indexrelid, x.indisprimary, coalesce(con.conname, ''), a.attname FROM pg_catalog.pg_index x "
    "CROSS JOIN LATERAL unnest(x.indkey::int2[]) WITH ORDINALITY AS k(attnum, place) "
    "JOIN pg_catalog.pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = k.attnum "
    "LEFT JOIN pg_catalog.pg_constraint con ON con.conindid = x.indexrelid AND con.contype IN ('p', 'u') "
    "WHERE x.indrelid = $1::oid AND x.indisunique AND x.indisvalid AND x.indimmediate AND x.indpred IS NULL "
    "AND x.indexprs IS NULL AND k.place <= x.indnkeyatts ORDER BY NOT x.indisprimary, x.indexrelid, k.place";

static bool is_true(const PGresult *res, int row, int col)
{
    return strcmp(PQgetvalue(res, row, col), "t") == 0;
}

static struct mr_str cell(const PGresult *res, int row, int col)
{
    return mr_str_of(PQgetvalue(res, row, col), (size_t)PQgetlength(res, row, col));
}

/* The clause that gives the column a collation for which texts that differ are not equal. */
static struct mr_str told_apart(const struct mr_catalog_column *col, struct mr_arena *ar)
{
    struct mr_buf name = MR_BUF_INIT(1024);
    bool is_citext = mr_str_ends(col->native, MR_STR("citext"));
    mr_pg_quote_ident(col->name, &name);
    struct mr_str clause = mr_arena_printf(ar, "ALTER COLUMN %s TYPE %.*s COLLATE \"default\"", mr_buf_z(&name),
                                           MR_STR_FMT(is_citext ? MR_STR("text") : col->native));
    mr_buf_free(&name);
    return clause;
}

static void fill_columns(const PGresult *res, struct mr_arena *ar, struct mr_catalog_table *out)
{
    out->column_count = (size_t)PQntuples(res);
    out->columns = mr_arena_zalloc(ar, (out->column_count + 1) * sizeof(*out->columns));
    for (int row = 0; row < PQntuples(res); row++) {
        struct mr_catalog_column *col = &out->columns[row];
        col->name = mr_arena_copy(ar, cell(res, row, 0));
        col->native = mr_arena_copy(ar, cell(res, row, 1));
        col->type = mr_pg_type_of_column(col->native);
        col->nullable = is_true(res, row, 2);
        col->has_default = is_true(res, row, 3);
        col->generated = is_true(res, row, 4);
        col->merges_texts = is_true(res, row, 5);
        if (col->merges_texts)
            col->tell_apart = told_apart(col, ar);
    }
}

static struct mr_str *names_of(const PGresult *res, int from, int end, struct mr_arena *ar)
{
    struct mr_str *names = mr_arena_alloc(ar, (size_t)(end - from) * sizeof(*names));
    for (int row = from; row < end; row++)
        names[row - from] = mr_arena_copy(ar, cell(res, row, 3));
    return names;
}

static void fill_keys(const PGresult *res, struct mr_arena *ar, struct mr_catalog_table *out)
{
    int rows = PQntuples(res);

    out->unique_sets = mr_arena_alloc(ar, ((size_t)rows + 1) * sizeof(*out->unique_sets));
    out->unique_set_sizes = mr_arena_alloc(ar, ((size_t)rows + 1) * sizeof(*out->unique_set_sizes));
    for (int from = 0, end; from < rows; from = end) {
        end = from + 1;
        while (end < rows && mr_str_eq(cell(res, end, 0), cell(res, from, 0)))
            end++;
        struct mr_str *names = names_of(res, from, end, ar);
        if (is_true(res, from, 1)) {
            out->key = names;
            out->key_count = (size_t)(end - from);
            out->key_name = mr_arena_copy(ar, cell(res, from, 2));
        } else {
            out->unique_sets[out->unique_count] = names;
            out->unique_set_sizes[out->unique_count++] = (size_t)(end - from);
        }
    }
}

/* The row of pg_class, if there is one; CONFIG if what has the name is no table. */
static enum mr_status find_table(struct mr_pg *pg, struct mr_str schema, struct mr_str table, struct mr_arena *ar,
                                 PGresult **res, struct mr_error *err)
{
    const char *const params[] = {mr_arena_strndup(ar, schema.ptr, schema.len), mr_arena_strndup(ar, table.ptr, table.len)};

    MR_TRY(mr_pg_query(pg, table_sql, 2, params, "cannot read the catalog", res, err));
    if (PQntuples(*res) > 0 && !is_true(*res, 0, 1))
        return mr_fail(err, MR_E_CONFIG, "%s.%s exists in the target and is not a table", params[0], params[1]);
    return MR_OK;
}

static size_t gone_columns(const PGresult *res)
{
    int64_t count = 0;
    return mr_parse_int64(cell(res, 0, 3), &count) && count > 0 ? (size_t)count : 0;
}

enum mr_status mr_pg_describe_table(struct mr_sink *sink, struct mr_str schema, struct mr_str table,
                                    struct mr_arena *ar, struct mr_catalog_table *out, struct mr_error *err)
{
    struct mr_pg *pg = mr_pg_of(sink);
    MR_PG_RESULT found = NULL;
    MR_PG_RESULT columns = NULL;
    MR_PG_RESULT keys = NULL;

    *out = (struct mr_catalog_table){0};
    MR_TRY(find_table(pg, schema, table, ar, &found, err));
    if (PQntuples(found) == 0)
        return MR_OK;
    const char *oid = PQgetvalue(found, 0, 0);
    MR_TRY(mr_pg_query(pg, columns_sql, 1, &oid, "cannot read the catalog", &columns, err));
    MR_TRY(mr_pg_query(pg, keys_sql, 1, &oid, "cannot read the catalog", &keys, err));
    out->exists = true;
    out->has_foreign_keys = is_true(found, 0, 2);
    out->gone_columns = gone_columns(found);
    fill_columns(columns, ar, out);
    fill_keys(keys, ar, out);
    return MR_OK;
}

/* ---- Dump ---- */

static void append_dump(const struct mr_catalog_table *tbl, struct mr_str schema, struct mr_str table, size_t limit,
                        struct mr_buf *sql)
{
    mr_buf_append_z(sql, "SELECT ");
    for (size_t i = 0; i < tbl->column_count; i++) {
        mr_buf_append_z(sql, i ? ", t." : "t.");
        mr_pg_quote_ident(tbl->columns[i].name, sql);
        mr_buf_append_z(sql, "::text");
    }
    mr_buf_append_z(sql, " FROM ");
    mr_pg_quote_table(schema, table, sql);
    mr_buf_append_z(sql, " AS t");
    for (size_t i = 0; i < tbl->key_count; i++) {
        mr_buf_append_z(sql, i ? ", t." : " ORDER BY t.");
        mr_pg_quote_ident(tbl->key[i], sql);
    }
    for (size_t i = 0; tbl->key_count == 0 && i < tbl->column_count; i++) { /* any order, but always the same */
        mr_buf_append_z(sql, i ? ", t." : " ORDER BY t.");
        mr_pg_quote_ident(tbl->columns[i].name, sql);
        mr_buf_append_z(sql, "::text COLLATE \"C\"");
    }
    if (limit <= INT64_MAX)
        mr_buf_printf(sql, " LIMIT %zu", limit);
}

static enum mr_status dump_names(const struct mr_catalog_table *tbl, struct mr_arena *ar, mr_row_fn on_row, void *ctx,
                                 struct mr_error *err)
{
    struct mr_value *cells = mr_arena_alloc(ar, (tbl->column_count + 1) * sizeof(*cells));
    for (size_t i = 0; i < tbl->column_count; i++)
        cells[i] = mr_value_text(tbl->columns[i].name);
    return on_row(ctx, cells, tbl->column_count, err);
}

static enum mr_status dump_row(const PGresult *res, struct mr_value *cells, mr_row_fn on_row, void *ctx, struct mr_error *err)
{
    int count = PQnfields(res);
    for (int i = 0; i < count; i++)
        cells[i] = PQgetisnull(res, 0, i) ? mr_value_null() : mr_value_text(cell(res, 0, i));
    return on_row(ctx, cells, (size_t)count, err);
}

/* Row by row, so that a large table does not have to fit into memory. After a failure the rest is called off and read away. */
static enum mr_status dump_rows(struct mr_pg *pg, struct mr_value *cells, mr_row_fn on_row, void *ctx, struct mr_error *err)
{
    enum mr_status status = MR_OK;

    for (;;) {
        MR_PG_RESULT res = PQgetResult(pg->conn);
        if (!res)
            break;
        if (status != MR_OK)
            continue;
        if (PQresultStatus(res) == PGRES_SINGLE_TUPLE)
            status = dump_row(res, cells, on_row, ctx, err);
        else if (PQresultStatus(res) != PGRES_TUPLES_OK)
            status = mr_pg_fail(pg, res, "cannot read the table", err);
        if (status != MR_OK)
            pg->base.ops->cancel(&pg->base);
    }
    return status;
}

enum mr_status mr_pg_dump_table(struct mr_sink *sink, struct mr_str schema, struct mr_str table, size_t limit,
                                mr_row_fn on_row, void *ctx, struct mr_error *err)
{
    struct mr_pg *pg = mr_pg_of(sink);
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_catalog_table tbl;
    enum mr_status status;
    const char *sql_z;

    MR_TRY_DONE(mr_pg_describe_table(sink, schema, table, ar, &tbl, err));
    if (!tbl.exists) {
        status = mr_fail(err, MR_E_SCHEMA, "there is no table %.*s.%.*s", MR_STR_FMT(schema), MR_STR_FMT(table));
        goto done;
    }
    MR_TRY_DONE(dump_names(&tbl, ar, on_row, ctx, err));
    mr_buf_clear(&pg->sql);
    append_dump(&tbl, schema, table, limit, &pg->sql);
    MR_TRY_DONE(mr_pg_sql(pg, &sql_z, err));
    if (!PQsendQueryParams(pg->conn, sql_z, 0, NULL, NULL, NULL, NULL, 0) || !PQsetSingleRowMode(pg->conn)) {
        status = mr_pg_fail(pg, NULL, "cannot read the table", err);
        goto done;
    }
    struct mr_value *cells = mr_arena_alloc(ar, (tbl.column_count + 1) * sizeof(*cells));
    status = dump_rows(pg, cells, on_row, ctx, err);

done:
    mr_arena_destroy(ar);
    return status;
}
