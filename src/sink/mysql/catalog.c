/* Reading a table's definition and, for people and tests, its rows. */
#include "my.h"
#include "native.h"

/* AND the server's own comparison of names folds them where its file system does; where it does not, information_schema may all the same:
 * the name is compared once more by its bytes. */
static void append_place(struct mr_my *my, const char *schema_column_z, const char *table_column_z, struct mr_str schema, struct mr_str table)
{
    mr_buf_append_z(&my->sql, schema_column_z);
    mr_buf_append_z(&my->sql, " = ");
    if (schema.len > 0)
        mr_my_quote_text(schema, &my->sql);
    else
        mr_buf_append_z(&my->sql, "DATABASE()");
    mr_buf_append_z(&my->sql, " AND ");
    mr_buf_append_z(&my->sql, table_column_z);
    mr_buf_append_z(&my->sql, " = ");
    mr_my_quote_text(table, &my->sql);
    if (my->folds_tables)
        return;
    mr_buf_append_z(&my->sql, " AND CAST(");
    mr_buf_append_z(&my->sql, table_column_z);
    mr_buf_append_z(&my->sql, " AS BINARY) = CAST(");
    mr_my_quote_text(table, &my->sql);
    mr_buf_append_z(&my->sql, " AS BINARY)");
}

static enum mr_status query_catalog(struct mr_my *my, const char *select_z, const char *schema_column_z, const char *table_column_z,
                                    struct mr_str schema, struct mr_str table, const char *order_z, MYSQL_RES **res,
                                    struct mr_error *err)
{
    mr_buf_clear(&my->sql);
    mr_buf_append_z(&my->sql, select_z);
    append_place(my, schema_column_z, table_column_z, schema, table);
    mr_buf_append_z(&my->sql, order_z);
    MR_TRY(mr_my_query_built(my, "cannot read the catalog", res, err));
    return *res ? MR_OK : mr_fail(err, MR_E_ENV, "cannot read the catalog: no answer");
}

enum mr_status mr_my_schema_exists(struct mr_my *my, struct mr_str schema, bool *exists, struct mr_error *err)
{
    MR_MY_RESULT res = NULL;
    mr_buf_clear(&my->sql);
    mr_buf_append_z(&my->sql, "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = ");
    mr_my_quote_text(schema, &my->sql);
    MR_TRY(mr_my_query_built(my, "cannot read the catalog", &res, err));
    *exists = false;
    for (MYSQL_ROW row; res && (row = mysql_fetch_row(res));)
        *exists = *exists || my->folds_tables || mr_str_eq(mr_my_cell(res, row, 0), schema);
    return MR_OK;
}

/* ---- Columns ---- */

static const char columns_mariadb[] =
    "SELECT COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COALESCE(COLUMN_DEFAULT, 'NULL') <> 'NULL' OR EXTRA LIKE '%auto_increment%', "
    "IS_GENERATED = 'ALWAYS', COLUMN_COMMENT, DATA_TYPE, COLLATION_NAME, COLUMN_DEFAULT, EXTRA FROM information_schema.COLUMNS WHERE ";

static const char columns_mysql[] =
    "SELECT COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLUMN_DEFAULT IS NOT NULL OR EXTRA LIKE '%auto_increment%', "
    "GENERATION_EXPRESSION <> '', COLUMN_COMMENT, DATA_TYPE, COLLATION_NAME, COLUMN_DEFAULT, EXTRA FROM information_schema.COLUMNS WHERE ";

static bool is_true(struct mr_str cell)
{
    return mr_str_eq_z(cell, "1");
}

/* The type, and what only its comment or its check tells. */
static struct mr_str native_of(struct mr_str column_type, struct mr_str comment, bool is_json, struct mr_arena *ar)
{
    if (is_json)
        return MR_STR("json");
    if (mr_str_starts(column_type, MR_STR("datetime")) && mr_str_eq_z(comment, MR_MY_UTC_COMMENT))
        return mr_arena_printf(ar, "%.*s comment '" MR_MY_UTC_COMMENT "'", MR_STR_FMT(column_type));
    return mr_arena_copy(ar, column_type);
}

/* MariaDB's JSON is a LONGTEXT whose check is json_valid of it. */
static bool is_checked_json(struct mr_str clause, struct mr_str column)
{
    struct mr_buf wanted = MR_BUF_INIT(1024);
    mr_buf_append_z(&wanted, "json_valid(");
    mr_my_quote_ident(column, &wanted);
    mr_buf_append_char(&wanted, ')');
    bool is_it = mr_str_eq(clause, mr_buf_str(&wanted));
    mr_buf_free(&wanted);
    return is_it;
}

/* Does the collation tell any two texts apart? Else case, accents, characters without weight or blanks at the end do not count for it. */
static bool tells_apart(struct mr_str collation)
{
    return collation.len == 0 || mr_str_eq_z(collation, "binary") || mr_str_ends(collation, MR_STR("_nopad_bin")) ||
           mr_str_ends(collation, MR_STR("_0900_bin"));
}

/* The clause that gives the column one of ours. */
static struct mr_str told_apart(struct mr_my *my, const struct mr_catalog_column *col, struct mr_str column_type, struct mr_arena *ar)
{
    struct mr_buf name = MR_BUF_INIT(1024);
    mr_my_quote_ident(col->name, &name);
    struct mr_str clause = mr_arena_printf(ar, "MODIFY COLUMN %.*s %.*s CHARACTER SET utf8mb4 COLLATE %s%s%.*s", MR_STR_FMT(mr_buf_str(&name)),
                                           MR_STR_FMT(column_type), mr_my_collation(&my->server), col->nullable ? "" : " NOT NULL",
                                           MR_STR_FMT(col->kept));
    mr_buf_free(&name);
    return clause;
}

struct checks {
    struct mr_str *clauses;
    struct mr_str *columns; /* whose it is; empty: the table's */
    size_t count;
};

static enum mr_status read_checks(struct mr_my *my, struct mr_str schema, struct mr_str table, struct mr_arena *ar,
                                  struct checks *out, struct mr_error *err)
{
    MR_MY_RESULT res = NULL;
    *out = (struct checks){0};
    if (!my->is_mariadb)
        return MR_OK;
    MR_TRY(query_catalog(my, "SELECT CHECK_CLAUSE, IF(LEVEL = 'Column', CONSTRAINT_NAME, '') FROM information_schema.CHECK_CONSTRAINTS WHERE ", "CONSTRAINT_SCHEMA", "TABLE_NAME",
                         schema, table, "", &res, err));
    out->clauses = mr_arena_alloc(ar, (mysql_num_rows(res) + 1) * sizeof(*out->clauses));
    out->columns = mr_arena_alloc(ar, (mysql_num_rows(res) + 1) * sizeof(*out->columns));
    for (MYSQL_ROW row; (row = mysql_fetch_row(res));) {
        out->clauses[out->count] = mr_arena_copy(ar, mr_my_cell(res, row, 0));
        out->columns[out->count++] = mr_arena_copy(ar, mr_my_cell(res, row, 1));
    }
    return MR_OK;
}

static bool has_json_check(const struct checks *checks, struct mr_str column)
{
    for (size_t i = 0; i < checks->count; i++)
        if (is_checked_json(checks->clauses[i], column))
            return true;
    return false;
}

/* MySQL tells an expression with the escapes that it had as a literal. */
static void append_unescaped(struct mr_str text, struct mr_buf *out)
{
    for (size_t i = 0; i < text.len; i++) {
        bool is_escaped = text.ptr[i] == '\\' && i + 1 < text.len;
        char c = text.ptr[is_escaped ? ++i : i];
        mr_buf_append_char(out, is_escaped && c == 'n' ? '\n' : is_escaped && c == 'r' ? '\r' : c);
    }
}

/* MySQL tells the text of a literal, MariaDB the expression. A text without limit takes expressions alone in MySQL. */
static void append_default(const struct mr_my *my, struct mr_str value, bool is_expression, bool for_lob, struct mr_buf *out)
{
    bool is_bits = mr_str_starts(value, MR_STR("b'"));

    mr_buf_append_z(out, " DEFAULT ");
    if (my->is_mariadb) {
        mr_buf_append_str(out, value);
        return;
    }
    mr_buf_append_z(out, is_expression || for_lob ? "(" : "");
    if (is_expression)
        append_unescaped(value, out);
    else if (is_bits)
        mr_buf_append_str(out, value);
    else
        mr_my_quote_text(value, out);
    mr_buf_append_z(out, is_expression || for_lob ? ")" : "");
}

static bool has_extra(struct mr_str extra, const char *word_z)
{
    struct mr_str word = mr_str_z(word_z);
    for (size_t i = 0; i + word.len <= extra.len; i++)
        if (mr_str_eq_nocase(mr_str_of(extra.ptr + i, word.len), word))
            return true;
    return false;
}

/* What MODIFY must repeat. The comment of an instant is part of its type, and JSON's check in MariaDB is the type. */
static struct mr_str kept_clauses(const struct mr_my *my, MYSQL_RES *res, MYSQL_ROW row, const struct checks *checks, bool for_lob,
                                  struct mr_arena *ar)
{
    struct mr_str name = mr_my_cell(res, row, 0), comment = mr_my_cell(res, row, 5), value = mr_my_cell(res, row, 8), extra = mr_my_cell(res, row, 9);
    bool has_default = row[8] && !(my->is_mariadb && mr_str_eq_z(value, "NULL"));
    struct mr_buf out = MR_BUF_INIT((size_t)1 << 20);

    if (has_extra(extra, "invisible"))
        mr_buf_append_z(&out, " INVISIBLE");
    if (has_default)
        append_default(my, value, has_extra(extra, "default_generated"), for_lob, &out);
    if (comment.len > 0 && !mr_str_eq_z(comment, MR_MY_UTC_COMMENT)) {
        mr_buf_append_z(&out, " COMMENT ");
        mr_my_quote_text(comment, &out);
    }
    for (size_t i = 0; i < checks->count; i++) {
        if (!mr_str_eq(checks->columns[i], name) || is_checked_json(checks->clauses[i], name))
            continue;
        mr_buf_append_z(&out, " CHECK (");
        mr_buf_append_str(&out, checks->clauses[i]);
        mr_buf_append_char(&out, ')');
    }
    struct mr_str kept = mr_arena_copy(ar, mr_buf_str(&out));
    mr_buf_free(&out);
    return kept;
}

static enum mr_status read_columns(struct mr_my *my, struct mr_str schema, struct mr_str table, struct mr_arena *ar,
                                   struct mr_catalog_table *out, struct mr_error *err)
{
    MR_MY_RESULT res = NULL;
    struct checks checks = {0};

    MR_TRY(query_catalog(my, my->is_mariadb ? columns_mariadb : columns_mysql, "TABLE_SCHEMA", "TABLE_NAME", schema, table,
                         " ORDER BY ORDINAL_POSITION", &res, err));
    out->columns = mr_arena_zalloc(ar, (mysql_num_rows(res) + 1) * sizeof(*out->columns));
    MR_TRY(read_checks(my, schema, table, ar, &checks, err));
    for (MYSQL_ROW row; (row = mysql_fetch_row(res));) {
        struct mr_catalog_column *col = &out->columns[out->column_count++];
        bool is_longtext = mr_str_eq_z(mr_my_cell(res, row, 6), "longtext");
        col->name = mr_arena_copy(ar, mr_my_cell(res, row, 0));
        col->native = native_of(mr_my_cell(res, row, 1), mr_my_cell(res, row, 5),
                                is_longtext && has_json_check(&checks, col->name), ar);
        col->type = mr_my_type_of_column(col->native);
        col->nullable = mr_str_eq_z(mr_my_cell(res, row, 2), "YES");
        col->has_default = is_true(mr_my_cell(res, row, 3));
        col->generated = is_true(mr_my_cell(res, row, 4));
        col->merges_texts = !tells_apart(mr_my_cell(res, row, 7));
        col->collation = mr_arena_copy(ar, mr_my_cell(res, row, 7));
        col->counts_up = has_extra(mr_my_cell(res, row, 9), "auto_increment");
        col->follows = has_extra(mr_my_cell(res, row, 9), "on update");
        col->kept = kept_clauses(my, res, row, &checks, false, ar);
        col->kept_lob = kept_clauses(my, res, row, &checks, true, ar);
        if (col->merges_texts)
            col->tell_apart = told_apart(my, col, mr_my_cell(res, row, 1), ar);
    }
    return MR_OK;
}

/* ---- Keys ---- */

static const char keys_sql[] =
    "SELECT INDEX_NAME, COLUMN_NAME, SUB_PART IS NOT NULL OR COLUMN_NAME IS NULL FROM information_schema.STATISTICS WHERE NON_UNIQUE = 0 AND ";

static void add_key(struct mr_catalog_table *out, struct mr_str index, struct mr_str *names, size_t count)
{
    if (mr_str_eq_z(index, "PRIMARY")) {
        out->key = names;
        out->key_count = count;
        out->key_name = MR_STR("PRIMARY");
    } else {
        out->unique_sets[out->unique_count] = names;
        out->unique_set_sizes[out->unique_count++] = count;
    }
}

/* An index over a prefix or an expression is no key that rows could be found by, but it is one that rows can get in each other's way for. */
static enum mr_status read_keys(struct mr_my *my, struct mr_str schema, struct mr_str table, struct mr_arena *ar,
                                struct mr_catalog_table *out, struct mr_error *err)
{
    MR_MY_RESULT res = NULL;
    struct mr_str index = {0}, *names = NULL;
    size_t count = 0;
    bool is_plain = true;

    MR_TRY(query_catalog(my, keys_sql, "TABLE_SCHEMA", "TABLE_NAME", schema, table, " ORDER BY INDEX_NAME, SEQ_IN_INDEX", &res, err));
    size_t rows = mysql_num_rows(res);
    out->unique_sets = mr_arena_alloc(ar, (rows + 1) * sizeof(*out->unique_sets));
    out->unique_set_sizes = mr_arena_alloc(ar, (rows + 1) * sizeof(*out->unique_set_sizes));
    for (MYSQL_ROW row; (row = mysql_fetch_row(res));) {
        struct mr_str name = mr_my_cell(res, row, 0);
        if (!names || !mr_str_eq(name, index)) {
            if (names)
                add_key(out, is_plain ? index : MR_STR(""), names, is_plain ? count : 0);
            index = mr_arena_copy(ar, name);
            names = mr_arena_alloc(ar, (rows + 1) * sizeof(*names));
            count = 0;
            is_plain = true;
        }
        is_plain = is_plain && !is_true(mr_my_cell(res, row, 2));
        names[count++] = mr_arena_copy(ar, mr_my_cell(res, row, 1));
    }
    if (names)
        add_key(out, is_plain ? index : MR_STR(""), names, is_plain ? count : 0);
    return MR_OK;
}

static enum mr_status read_foreign_keys(struct mr_my *my, struct mr_str schema, struct mr_str table, struct mr_catalog_table *out,
                                        struct mr_error *err)
{
    static const char sql[] = "SELECT 1 FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE ";
    MR_MY_RESULT own = NULL;
    MR_MY_RESULT others = NULL;

    MR_TRY(query_catalog(my, sql, "CONSTRAINT_SCHEMA", "TABLE_NAME", schema, table, " LIMIT 1", &own, err));
    MR_TRY(query_catalog(my, sql, "UNIQUE_CONSTRAINT_SCHEMA", "REFERENCED_TABLE_NAME", schema, table, " LIMIT 1", &others, err));
    out->has_foreign_keys = mysql_num_rows(own) > 0 || mysql_num_rows(others) > 0;
    return MR_OK;
}

static const char table_sql[] =
    "SELECT TABLE_TYPE, COALESCE(ENGINE, ''), (SELECT MAX(TRANSACTIONS) FROM information_schema.ENGINES AS known WHERE known.ENGINE = TABLES.ENGINE) "
    "FROM information_schema.TABLES WHERE ";

/* CONFIG if what has the name is no table. Without transactions in its engine nothing would be exactly once. */
static enum mr_status find_table(struct mr_my *my, struct mr_str schema, struct mr_str table, struct mr_arena *ar, struct mr_catalog_table *out,
                                 struct mr_error *err)
{
    MR_MY_RESULT res = NULL;

    MR_TRY(query_catalog(my, table_sql, "TABLE_SCHEMA", "TABLE_NAME", schema, table, "", &res, err));
    MYSQL_ROW row = mysql_fetch_row(res);
    out->exists = row != NULL;
    if (!row)
        return MR_OK;
    if (!mr_str_eq_z(mr_my_cell(res, row, 0), "BASE TABLE") && !mr_str_eq_z(mr_my_cell(res, row, 0), "SYSTEM VERSIONED"))
        return mr_fail(err, MR_E_CONFIG, "%.*s.%.*s exists in the target and is not a table", MR_STR_FMT(schema), MR_STR_FMT(table));
    if (mr_str_eq_z(mr_my_cell(res, row, 2), "YES"))
        return MR_OK;
    out->unfit = mr_arena_printf(ar, "is kept by the engine %.*s, which knows no transactions: nothing would be applied exactly once",
                                 MR_STR_FMT(mr_my_cell(res, row, 1)));
    out->remedy = MR_STR("ENGINE=InnoDB");
    return MR_OK;
}

enum mr_status mr_my_describe_table(struct mr_sink *sink, struct mr_str schema, struct mr_str table, struct mr_arena *ar,
                                    struct mr_catalog_table *out, struct mr_error *err)
{
    struct mr_my *my = mr_my_of(sink);

    *out = (struct mr_catalog_table){0};
    MR_TRY(find_table(my, schema, table, ar, out, err));
    if (!out->exists)
        return MR_OK;
    MR_TRY(read_columns(my, schema, table, ar, out, err));
    MR_TRY(read_keys(my, schema, table, ar, out, err));
    return read_foreign_keys(my, schema, table, out, err);
}

/* ---- Dump ---- */

/* Everything comes as text by itself but bytes and bits. */
static void append_shown(const struct mr_catalog_column *col, struct mr_buf *sql)
{
    struct mr_my_native nat = mr_my_native_parse(col->native);

    if (nat.base == MR_MY_BIT) {
        mr_buf_append_z(sql, "LPAD(BIN(");
        mr_my_quote_ident(col->name, sql);
        mr_buf_printf(sql, " + 0), %u, '0')", nat.arg_count > 0 ? nat.args[0] : 1);
    } else if (mr_my_is_bytes(&nat)) {
        mr_buf_append_z(sql, "LOWER(HEX(");
        mr_my_quote_ident(col->name, sql);
        mr_buf_append_z(sql, "))");
    } else {
        mr_my_quote_ident(col->name, sql);
    }
}

static void append_dump(const struct mr_catalog_table *tbl, struct mr_str schema, struct mr_str table, size_t limit, struct mr_buf *sql)
{
    bool by_key = tbl->key_count > 0;
    size_t count = by_key ? tbl->key_count : tbl->column_count; /* without a key any order, but always the same */

    mr_buf_append_z(sql, "SELECT ");
    for (size_t i = 0; i < tbl->column_count; i++) {
        mr_buf_append_z(sql, i ? ", " : "");
        append_shown(&tbl->columns[i], sql);
    }
    mr_buf_append_z(sql, " FROM ");
    mr_my_quote_table(schema, table, sql);
    for (size_t i = 0; i < count; i++) {
        mr_buf_append_z(sql, i ? ", " : " ORDER BY ");
        mr_my_quote_ident(by_key ? tbl->key[i] : tbl->columns[i].name, sql);
    }
    if (limit <= INT64_MAX)
        mr_buf_printf(sql, " LIMIT %zu", limit);
}

static enum mr_status dump_names(const struct mr_catalog_table *tbl, struct mr_value *cells, mr_row_fn on_row, void *ctx,
                                 struct mr_error *err)
{
    for (size_t i = 0; i < tbl->column_count; i++)
        cells[i] = mr_value_text(tbl->columns[i].name);
    return on_row(ctx, cells, tbl->column_count, err);
}

/* Row by row, so that a large table does not have to fit into memory; after a failure the rest is read away. */
static enum mr_status dump_rows(struct mr_my *my, struct mr_value *cells, size_t width, mr_row_fn on_row, void *ctx, struct mr_error *err)
{
    MYSQL_RES *res = mysql_use_result(my->conn);
    enum mr_status status = MR_OK;

    if (!res)
        return mr_my_fail(my, "cannot read the table", err);
    for (MYSQL_ROW row; status == MR_OK && (row = mysql_fetch_row(res));) {
        for (unsigned i = 0; i < width; i++)
            cells[i] = row[i] ? mr_value_text(mr_my_cell(res, row, i)) : mr_value_null();
        status = on_row(ctx, cells, width, err);
    }
    if (status == MR_OK && mysql_errno(my->conn) != 0)
        status = mr_my_fail(my, "cannot read the table", err);
    mysql_free_result(res);
    return status;
}

enum mr_status mr_my_dump_table(struct mr_sink *sink, struct mr_str schema, struct mr_str table, size_t limit, mr_row_fn on_row,
                                void *ctx, struct mr_error *err)
{
    struct mr_my *my = mr_my_of(sink);
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_catalog_table tbl;
    enum mr_status status;

    MR_TRY_DONE(mr_my_describe_table(sink, schema, table, ar, &tbl, err));
    if (!tbl.exists) {
        status = mr_fail(err, MR_E_SCHEMA, "there is no table %.*s.%.*s", MR_STR_FMT(schema), MR_STR_FMT(table));
        goto done;
    }
    struct mr_value *cells = mr_arena_alloc(ar, (tbl.column_count + 1) * sizeof(*cells));
    MR_TRY_DONE(dump_names(&tbl, cells, on_row, ctx, err));
    mr_buf_clear(&my->sql);
    append_dump(&tbl, schema, table, limit, &my->sql);
    MR_TRY_DONE(mr_buf_check(&my->sql, "a statement", err));
    if (mysql_real_query(my->conn, my->sql.data, my->sql.len) != 0)
        status = mr_my_fail(my, "cannot read the table", err);
    else
        status = dump_rows(my, cells, tbl.column_count, on_row, ctx, err);

done:
    mr_arena_destroy(ar);
    return status;
}
