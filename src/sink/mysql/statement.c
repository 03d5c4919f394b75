/* The texts of the data statements: see statement.h. */
#include "statement.h"

/* Alias of the proposed row, where the server has one. A table may be called so itself (test_a_table_named_like_our_alias_is_upserted). */
#define NEW_ROW "mr_new"
#define OTHER_NEW_ROW "mr_newer"

struct builder {
    const struct mr_my_spec *spec;
    const struct mr_my_shape *shape;
    struct mr_buf *out;
    struct mr_my_param *params;
    size_t param_count;
};

static void put(struct builder *b, const char *text_z)
{
    mr_buf_append_z(b->out, text_z);
}

static const struct mr_my_column *column(const struct builder *b, size_t i)
{
    return &b->shape->columns[i];
}

static bool is_set(const struct builder *b, size_t i)
{
    return mr_my_is_set(b->spec->cells[i]);
}

static void put_ident(struct builder *b, size_t i)
{
    mr_buf_append_str(b->out, column(b, i)->ident);
}

static void add_param(struct builder *b, size_t i, bool from_match)
{
    b->params[b->param_count++] = (struct mr_my_param){.from_match = from_match, .column = (uint32_t)i};
}

static void put_param(struct builder *b, size_t i, bool from_match)
{
    add_param(b, i, from_match);
    put(b, "?");
}

static void put_target(struct builder *b)
{
    mr_buf_append_str(b->out, b->shape->target);
}

static void put_key_equal(struct builder *b)
{
    for (size_t k = 0; k < b->shape->key_count; k++) {
        put(b, k ? " AND " : "");
        put_ident(b, b->shape->key[k]);
        put(b, " = ");
        put_param(b, b->shape->key[k], false);
    }
}

/* (?, …), (?, …): all columns, since what the row leaves out is NULL in a new row, whatever default somebody has set. */
static void put_insert(struct builder *b)
{
    put(b, "INSERT INTO ");
    put_target(b);
    put(b, " (");
    for (size_t i = 0; i < b->shape->column_count; i++) {
        put(b, i ? ", " : "");
        put_ident(b, i);
        add_param(b, i, false);
    }
    put(b, ") VALUES ");
    for (size_t row = 0; row < b->spec->rows; row++) {
        put(b, row ? ", (" : "(");
        for (size_t i = 0; i < b->shape->column_count; i++)
            put(b, i ? ", ?" : "?");
        put(b, ")");
    }
}

static bool is_called(const struct mr_my_shape *shape, const char *quoted_z)
{
    struct mr_str name = mr_str_z(quoted_z), target = shape->target;
    return target.len >= name.len && mr_str_eq_nocase(mr_str_of(target.ptr + target.len - name.len, name.len), name);
}

static void put_itself(struct builder *b, size_t i)
{
    put(b, " = ");
    put_target(b);
    put(b, ".");
    put_ident(b, i);
}

/* Without anything to set the key is set to itself: the row stays as it is. So is a column that would follow the others without being asked. */
static void put_on_duplicate(struct builder *b)
{
    bool has_alias = mr_my_has_row_alias(b->spec->server), is_first = true;
    const char *alias_z = is_called(b->shape, "`" NEW_ROW "`") ? OTHER_NEW_ROW : NEW_ROW;

    put(b, has_alias ? " AS " : "");
    put(b, has_alias ? alias_z : "");
    put(b, " ON DUPLICATE KEY UPDATE ");
    for (size_t i = 0; i < b->shape->column_count; i++) {
        if (column(b, i)->is_key || (!is_set(b, i) && !column(b, i)->follows))
            continue;
        put(b, is_first ? "" : ", ");
        put_ident(b, i);
        if (is_set(b, i)) {
            put(b, has_alias ? " = " : " = VALUES(");
            put(b, has_alias ? alias_z : "");
            put(b, has_alias ? "." : "");
            put_ident(b, i);
            put(b, has_alias ? "" : ")");
        } else {
            put_itself(b, i);
        }
        is_first = false;
    }
    if (!is_first)
        return;
    put_ident(b, b->shape->key[0]);
    put_itself(b, b->shape->key[0]);
}

/* UPDATE … SET what the row sets; keys only where rows are matched by their content. Without anything to set a column is set to itself: the row
 * must be found all the same. */
static void put_update(struct builder *b, bool keys_too)
{
    bool is_first = true;

    put(b, "UPDATE ");
    put_target(b);
    put(b, " SET ");
    for (size_t i = 0; i < b->shape->column_count; i++) {
        bool is_changed = is_set(b, i) && (!column(b, i)->is_key || keys_too);
        if (!is_changed && !column(b, i)->follows)
            continue;
        put(b, is_first ? "" : ", ");
        put_ident(b, i);
        put(b, " = ");
        if (is_changed)
            put_param(b, i, false);
        else
            put_ident(b, i);
        is_first = false;
    }
    if (is_first) {
        put_ident(b, 0);
        put(b, " = ");
        put_ident(b, 0);
    }
    put(b, " WHERE ");
}

static void build_delete(struct builder *b)
{
    size_t keys = b->shape->key_count;

    put(b, "DELETE FROM ");
    put_target(b);
    put(b, " WHERE ");
    if (b->spec->rows == 1) {
        put_key_equal(b);
        return;
    }
    put(b, keys > 1 ? "(" : "");
    for (size_t k = 0; k < keys; k++) {
        put(b, k ? ", " : "");
        put_ident(b, b->shape->key[k]);
        add_param(b, b->shape->key[k], false);
    }
    put(b, keys > 1 ? ") IN (" : " IN (");
    for (size_t row = 0; row < b->spec->rows; row++) {
        put(b, row ? ", " : "");
        put(b, keys > 1 ? "(" : "");
        for (size_t k = 0; k < keys; k++)
            put(b, k ? ", ?" : "?");
        put(b, keys > 1 ? ")" : "");
    }
    put(b, ")");
}

static void build_delete_range(struct builder *b)
{
    size_t last = 0;

    for (size_t k = 0; k < b->shape->key_count; k++)
        if (is_set(b, b->shape->key[k]))
            last = k;
    put(b, "DELETE FROM ");
    put_target(b);
    put(b, " WHERE ");
    for (size_t k = 0; k <= last; k++) {
        put_ident(b, b->shape->key[k]);
        put(b, k < last ? " = " : " >= ");
        put_param(b, b->shape->key[k], false);
        put(b, " AND ");
    }
    put_ident(b, b->shape->key[last]);
    put(b, " < ");
    put_param(b, b->shape->key[last], true);
}

/* The connection lets recursion go as far as it has to (conn.c). */
static void build_fill(struct builder *b)
{
    size_t last = b->shape->key[b->shape->key_count - 1];

    put(b, "INSERT INTO ");
    put_target(b);
    for (size_t i = 0; i < b->shape->column_count; i++) {
        put(b, i ? ", " : " (");
        put_ident(b, i);
    }
    put(b, ") WITH RECURSIVE places (place) AS (SELECT CAST(COALESCE(MAX(");
    put_ident(b, last);
    put(b, ") + 1, 0) AS SIGNED) FROM ");
    put_target(b);
    put(b, " WHERE ");
    for (size_t k = 0; k < b->shape->key_count; k++) {
        put(b, k ? " AND " : "");
        put_ident(b, b->shape->key[k]);
        put(b, b->shape->key[k] == last ? " < " : " = ");
        put_param(b, b->shape->key[k], false);
    }
    put(b, " UNION ALL SELECT place + 1 FROM places WHERE place + 1 < ");
    put_param(b, last, false);
    put(b, ") SELECT ");
    for (size_t i = 0; i < b->shape->column_count; i++) {
        put(b, i ? ", " : "");
        if (i == last)
            put(b, "place");
        else if (column(b, i)->is_key)
            put_param(b, i, false);
        else
            put(b, "NULL");
    }
    put(b, " FROM places WHERE place < ");
    put_param(b, last, false);
}

static void build_move_all(struct builder *b)
{
    bool is_first = true;

    put_update(b, true);
    for (size_t k = 0; k < b->shape->key_count; k++) {
        size_t i = b->shape->key[k];
        if (!mr_my_is_set(b->spec->match[i]))
            continue;
        put(b, is_first ? "" : " AND ");
        put_ident(b, i);
        put(b, " = ");
        put_param(b, i, true);
        is_first = false;
    }
    put(b, is_first ? "FALSE" : "");
}

static void build_look(struct builder *b)
{
    bool is_first = true;

    for (size_t i = 0; b->spec->kind == MR_MY_READ && i < b->shape->column_count; i++) {
        if (column(b, i)->is_key || !is_set(b, i))
            continue;
        put(b, is_first ? "SELECT " : ", ");
        put_ident(b, i);
        is_first = false;
    }
    put(b, is_first ? "SELECT 1 FROM " : " FROM ");
    put_target(b);
    put(b, " WHERE ");
    put_key_equal(b);
    put(b, " FOR UPDATE");
}

/* ---- Rows without a key ---- */

/* JSON is compared as a document: MySQL's own type does it; MariaDB has the function from 10.7 on, before that the text must be the same. Texts
 * are compared by every character, whatever the column's collation makes of them. */
static void put_same(struct builder *b, size_t i, bool from_match)
{
    const struct mr_my_column *col = column(b, i);
    bool is_json = col->store == MR_MY_STORE_JSON, is_mariadb = mr_my_is_mariadb(b->spec->server);
    const char *before_z = "", *between_z = " <=> ", *after_z = "";

    if (is_json && is_mariadb && b->spec->server && b->spec->server->version >= 100700) {
        before_z = "JSON_NORMALIZE(";
        between_z = ") <=> JSON_NORMALIZE(";
        after_z = ")";
    } else if (is_json && !is_mariadb) {
        between_z = " <=> CAST(";
        after_z = " AS JSON)";
    } else if (col->merges && col->store == MR_MY_STORE_TEXT) {
        before_z = "CONVERT(";
        between_z = is_mariadb ? " USING utf8mb4) COLLATE utf8mb4_nopad_bin <=> " : " USING utf8mb4) COLLATE utf8mb4_0900_bin <=> ";
    }
    put(b, before_z);
    put_ident(b, i);
    put(b, between_z);
    put_param(b, i, from_match);
    put(b, after_z);
}

/* The columns that the event tells, NULL equal to NULL. */
static void put_where_matched(struct builder *b)
{
    bool is_first = true;

    for (size_t i = 0; i < b->shape->column_count; i++) {
        if (!mr_my_is_set(b->spec->match[i]))
            continue;
        put(b, is_first ? "" : " AND ");
        put_same(b, i, true);
        is_first = false;
    }
    put(b, is_first ? "FALSE LIMIT 1" : " LIMIT 1"); /* a match that compares nothing matches nothing, not everything */
}

/* ---- Other unique indexes ---- */

/* AND (NOT a <=> ? OR …), over the columns that an index may look at. False if the row sets none. */
static bool put_changed(struct builder *b)
{
    bool is_first = true;

    for (size_t i = 0; i < b->shape->column_count; i++) {
        const struct mr_my_column *col = column(b, i);
        if (col->is_key || !is_set(b, i) || !(col->is_unique || b->shape->vacate_compares_all))
            continue;
        put(b, is_first ? " AND (NOT (" : " OR NOT (");
        put_same(b, i, false);
        put(b, ")");
        is_first = false;
    }
    put(b, is_first ? "" : ")");
    return !is_first;
}

static bool build_vacate(struct builder *b)
{
    bool by_null = b->shape->vacate == MR_MY_VACATE_NULL, is_first = true;

    put(b, by_null ? "UPDATE " : "DELETE FROM ");
    put_target(b);
    for (size_t i = 0; by_null && i < b->shape->column_count; i++) {
        const struct mr_my_column *col = column(b, i);
        if (!col->is_unique || col->is_key || col->not_null || col->is_referenced || !is_set(b, i))
            continue;
        put(b, is_first ? " SET " : ", ");
        put_ident(b, i);
        put(b, " = NULL");
        is_first = false;
    }
    if (by_null && is_first)
        return false;
    for (size_t i = 0; by_null && i < b->shape->column_count; i++) {
        if (!column(b, i)->follows || column(b, i)->is_unique)
            continue;
        put(b, ", ");
        put_ident(b, i);
        put(b, " = ");
        put_ident(b, i);
    }
    put(b, " WHERE ");
    put_key_equal(b);
    return put_changed(b);
}

bool mr_my_statement(const struct mr_my_spec *spec, struct mr_buf *out, struct mr_my_param *params, size_t *count)
{
    struct builder b = {.spec = spec, .shape = spec->shape, .out = out, .params = params};
    bool has_work = true;

    switch (spec->kind) {
    case MR_MY_UPSERT:
        put_insert(&b);
        put_on_duplicate(&b);
        break;
    case MR_MY_INSERT:
        put_insert(&b);
        break;
    case MR_MY_UPDATE:
        put_update(&b, false);
        put_key_equal(&b);
        break;
    case MR_MY_DELETE:
        build_delete(&b);
        break;
    case MR_MY_LOOK:
    case MR_MY_READ:
        build_look(&b);
        break;
    case MR_MY_UPDATE_MATCH:
        put_update(&b, true);
        put_where_matched(&b);
        break;
    case MR_MY_DELETE_MATCH:
        put(&b, "DELETE FROM ");
        put_target(&b);
        put(&b, " WHERE ");
        put_where_matched(&b);
        break;
    case MR_MY_FILL:
        build_fill(&b);
        break;
    case MR_MY_MOVE_ALL:
        build_move_all(&b);
        break;
    case MR_MY_DELETE_RANGE:
        build_delete_range(&b);
        break;
    case MR_MY_VACATE:
        has_work = build_vacate(&b);
        break;
    }
    *count = b.param_count;
    return has_work;
}
