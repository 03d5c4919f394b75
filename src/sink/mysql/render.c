/* DDL of MySQL and MariaDB as text, and what it costs there. Every ALTER names its algorithm, so that what is shown is what runs: INSTANT
 * changes the catalog only, INPLACE and COPY read or rebuild the table. Where a server cannot do with the one named, ddl.c takes the next. A
 * change of type stands in convert.c. */
#include "native.h"

#include "convert.h"
#include "my.h"

bool mr_my_is_mariadb(const struct mr_server *server)
{
    return !server || strncmp(server->text, "MariaDB", 7) == 0;
}

bool mr_my_has_row_alias(const struct mr_server *server)
{
    return !mr_my_is_mariadb(server) && server->version >= 80020;
}

const char *mr_my_collation(const struct mr_server *server)
{
    return mr_my_is_mariadb(server) ? "utf8mb4_nopad_bin" : "utf8mb4_0900_bin";
}

void mr_my_alter_table(const struct mr_table *tbl, struct mr_buf *out)
{
    mr_buf_append_z(out, "ALTER TABLE ");
    mr_my_quote_table(tbl->schema, tbl->name, out);
}

void mr_my_algorithm(const char *algorithm_z, struct mr_buf *out)
{
    mr_buf_append_z(out, ", ALGORITHM=");
    mr_buf_append_z(out, algorithm_z);
}

static bool is_key_of(const struct mr_table *tbl, struct mr_str name)
{
    for (size_t i = 0; i < tbl->key_count; i++)
        if (mr_str_eq(tbl->columns[tbl->key_columns[i]].name, name))
            return true;
    return false;
}

/* The type as this table has it: a key column by the room that its index has. The collation stands beside a text where the table may have
 * another (`table_may_differ`). */
void mr_my_type_in_table(const struct mr_table *tbl, uint32_t column, const struct mr_catalog_table *now, const char *collation_z,
                         struct mr_buf *out)
{
    struct mr_column col = tbl->columns[column];
    col.is_key = is_key_of(tbl, col.name);
    bool is_bounded = col.is_key && mr_my_is_bounded_key(col.type);
    struct mr_buf type = MR_BUF_INIT(256);

    if (is_bounded)
        mr_buf_printf(&type, col.type.kind == MR_T_BYTES ? "VARBINARY(%u)" : "VARCHAR(%u)", mr_my_key_length(tbl, column, now));
    else
        mr_my_column_type(&col, &type);
    struct mr_my_native nat = mr_my_native_parse(mr_buf_str(&type));
    mr_buf_append_str(out, mr_buf_str(&type));
    mr_buf_free(&type);
    if (collation_z && mr_my_is_text(&nat)) {
        mr_buf_append_z(out, " CHARACTER SET utf8mb4 COLLATE ");
        mr_buf_append_z(out, collation_z);
    }
    if (col.is_key)
        mr_buf_append_z(out, " NOT NULL");
}

static void key_list(const struct mr_table *tbl, struct mr_buf *out)
{
    mr_buf_append_z(out, "PRIMARY KEY (");
    for (size_t i = 0; i < tbl->key_count; i++) {
        mr_buf_append_z(out, i ? ", " : "");
        mr_my_quote_ident(tbl->columns[tbl->key_columns[i]].name, out);
    }
    mr_buf_append_char(out, ')');
}

static void default_charset(const struct mr_server *server, struct mr_buf *out)
{
    mr_buf_append_z(out, "CHARACTER SET utf8mb4 COLLATE ");
    mr_buf_append_z(out, mr_my_collation(server));
}

static void create_table(const struct mr_table *tbl, const struct mr_server *server, struct mr_buf *out)
{
    mr_buf_append_z(out, "CREATE TABLE IF NOT EXISTS ");
    mr_my_quote_table(tbl->schema, tbl->name, out);
    mr_buf_append_z(out, " (");
    for (size_t i = 0; i < tbl->column_count; i++) {
        mr_buf_append_z(out, i ? ",\n    " : "\n    ");
        mr_my_quote_ident(tbl->columns[i].name, out);
        mr_buf_append_char(out, ' ');
        mr_my_type_in_table(tbl, (uint32_t)i, NULL, NULL, out);
    }
    if (tbl->key_count > 0) {
        mr_buf_append_z(out, ",\n    ");
        key_list(tbl, out);
    }
    mr_buf_append_z(out, "\n) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT ");
    default_charset(server, out);
}

static void add_column(const struct mr_ddl_step *step, const struct mr_server *server, struct mr_buf *out)
{
    mr_my_alter_table(step->tbl, out);
    mr_buf_append_z(out, " ADD COLUMN ");
    mr_my_quote_ident(step->tbl->columns[step->column].name, out);
    mr_buf_append_char(out, ' ');
    struct mr_column col = step->tbl->columns[step->column];
    struct mr_buf type = MR_BUF_INIT(256);
    col.is_key = false; /* it becomes one by the step that replaces the key */
    mr_my_column_type(&col, &type);
    struct mr_my_native nat = mr_my_native_parse(mr_buf_str(&type));
    mr_buf_append_str(out, mr_buf_str(&type));
    mr_buf_free(&type);
    if (mr_my_is_text(&nat)) {
        mr_buf_append_char(out, ' ');
        default_charset(server, out);
    }
    mr_my_algorithm("INSTANT", out);
}

/* A column as MODIFY wants it: name, type, nullability. */
static void modify(const struct mr_table *tbl, uint32_t column, const struct mr_catalog_table *now, const struct mr_server *server,
                   struct mr_buf *out)
{
    mr_buf_append_z(out, " MODIFY COLUMN ");
    mr_my_quote_ident(tbl->columns[column].name, out);
    mr_buf_append_char(out, ' ');
    mr_my_type_in_table(tbl, column, now, mr_my_collation(server), out);
}

static bool was_key(const struct mr_catalog_table *now, struct mr_str name)
{
    for (size_t i = 0; now && i < now->key_count; i++)
        if (mr_str_eq(now->key[i], name))
            return true;
    return false;
}

/* In one statement, so that there is no moment without a key: the old key goes, its columns become nullable like all others, the new key's
 * columns become what an index takes. */
static void replace_key(const struct mr_ddl_step *step, const struct mr_catalog_table *now, const struct mr_server *server,
                        struct mr_buf *out)
{
    const struct mr_table *tbl = step->tbl;
    const char *lead = "";

    mr_my_alter_table(tbl, out);
    if (now && now->key_count > 0) {
        mr_buf_append_z(out, " DROP PRIMARY KEY");
        lead = ",";
    }
    for (uint32_t i = 0; i < tbl->column_count; i++) {
        if (was_key(now, tbl->columns[i].name) == is_key_of(tbl, tbl->columns[i].name))
            continue;
        mr_buf_append_z(out, lead);
        modify(tbl, i, now, server, out);
        lead = ",";
    }
    if (tbl->key_count > 0) {
        mr_buf_append_z(out, lead);
        mr_buf_append_z(out, " ADD ");
        key_list(tbl, out);
    }
    mr_my_algorithm("COPY", out);
}

void mr_my_render(const struct mr_ddl_step *step, const struct mr_catalog_table *now, const struct mr_server *server,
                  struct mr_buf *out)
{
    switch (step->kind) {
    case MR_DDL_CREATE_SCHEMA:
        mr_buf_append_z(out, "CREATE DATABASE IF NOT EXISTS ");
        mr_my_quote_ident(step->tbl->schema, out);
        mr_buf_append_char(out, ' ');
        default_charset(server, out);
        return;
    case MR_DDL_CREATE_TABLE:
        create_table(step->tbl, server, out);
        return;
    case MR_DDL_ADD_COLUMN:
        add_column(step, server, out);
        return;
    case MR_DDL_ALTER_TYPE:
        mr_my_render_alter(step, now, server, out);
        return;
    case MR_DDL_REPLACE_KEY:
        replace_key(step, now, server, out);
        return;
    case MR_DDL_DROP_COLUMN:
        mr_my_alter_table(step->tbl, out);
        mr_buf_append_z(out, " DROP COLUMN ");
        mr_my_quote_ident(step->old, out);
        return;
    case MR_DDL_RENAME_COLUMN:
        mr_my_alter_table(step->tbl, out);
        mr_buf_append_z(out, " RENAME COLUMN ");
        mr_my_quote_ident(step->old, out);
        mr_buf_append_z(out, " TO ");
        mr_my_quote_ident(step->name, out);
        return;
    case MR_DDL_DROP_TABLE:
        mr_buf_append_z(out, "DROP TABLE IF EXISTS ");
        mr_my_quote_table(step->tbl->schema, step->tbl->name, out);
        return;
    case MR_DDL_RENAME_TABLE:
        mr_buf_append_z(out, "RENAME TABLE ");
        mr_my_quote_table(step->tbl->schema, step->tbl->name, out);
        mr_buf_append_z(out, " TO ");
        mr_my_quote_table(step->schema, step->name, out);
        return;
    }
}

/* What stays within VARCHAR only says in the catalog that there may be more; any other change of type rebuilds the table. */
enum mr_ddl_cost mr_my_cost(const struct mr_ddl_step *step, const struct mr_server *server)
{
    (void)server;
    switch (step->kind) {
    case MR_DDL_CREATE_SCHEMA:
    case MR_DDL_CREATE_TABLE:
    case MR_DDL_ADD_COLUMN:
    case MR_DDL_RENAME_COLUMN:
    case MR_DDL_DROP_TABLE:
    case MR_DDL_RENAME_TABLE:
        return MR_COST_CATALOG;
    case MR_DDL_ALTER_TYPE:
        return step->wider && step->tbl->columns[step->column].is_key ? MR_COST_CATALOG : MR_COST_REWRITE;
    case MR_DDL_REPLACE_KEY:
    case MR_DDL_DROP_COLUMN:
        break;
    }
    return MR_COST_REWRITE;
}
