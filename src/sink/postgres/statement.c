/* The texts of the data statements: see statement.h. The target is always called t, the staging table s, the row to be matched m. */
#include "statement.h"

struct builder {
    const struct mr_pg_spec *spec;
    const struct mr_pg_shape *shape;
    struct mr_buf *out;
    struct mr_pg_param *params;
    size_t param_count;
};

static void put(struct builder *b, const char *text_z)
{
    mr_buf_append_z(b->out, text_z);
}

static const struct mr_pg_column *column(const struct builder *b, size_t i)
{
    return &b->shape->columns[i];
}

static bool is_set(const struct builder *b, size_t i)
{
    return mr_pg_is_set(b->spec->cells[i]);
}

static void put_param(struct builder *b, size_t i, bool from_match)
{
    size_t n = 0;
    while (n < b->param_count && (b->params[n].column != i || b->params[n].from_match != from_match))
        n++;
    if (n == b->param_count)
        b->params[b->param_count++] = (struct mr_pg_param){.from_match = from_match, .column = (uint32_t)i};
    mr_buf_printf(b->out, "$%zu", n + 1);
}

/* Where the value of a column comes from. */
static void put_value(struct builder *b, size_t i)
{
    if (b->spec->from_stage) {
        put(b, "s.");
        mr_buf_append_str(b->out, column(b, i)->stage);
    } else if (is_set(b, i)) {
        put_param(b, i, false);
    } else {
        put(b, "NULL");
    }
}

static void put_cast(struct builder *b, size_t i)
{
    if (column(b, i)->is_json_text) {
        put(b, "::jsonb");
    } else if (column(b, i)->compares_cast) {
        put(b, "::");
        mr_buf_append_str(b->out, column(b, i)->native);
    }
}

/* t."column", as jsonb where the type itself cannot be compared. */
static void put_stored(struct builder *b, const char *alias, size_t i)
{
    put(b, alias);
    mr_buf_append_str(b->out, column(b, i)->ident);
    if (column(b, i)->is_json_text)
        put(b, "::jsonb");
}

static void put_key_equal(struct builder *b)
{
    for (size_t k = 0; k < b->shape->key_count; k++) {
        size_t i = b->shape->key[k];
        put(b, k ? " AND " : "");
        put_stored(b, "t.", i);
        put(b, " = ");
        put_value(b, i);
        put_cast(b, i);
    }
}

static void put_group(struct builder *b, const char *before)
{
    if (b->spec->from_stage && b->spec->group >= 0)
        mr_buf_printf(b->out, "%ss.g = %lld", before, (long long)b->spec->group);
}

static void put_target(struct builder *b)
{
    mr_buf_append_str(b->out, b->shape->target);
}

static void put_stage(struct builder *b)
{
    mr_buf_append_str(b->out, b->shape->stage);
    put(b, " AS s");
}

static void put_insert(struct builder *b)
{
    put(b, "INSERT INTO ");
    put_target(b);
    put(b, " AS t (");
    for (size_t i = 0; i < b->shape->column_count; i++) {
        put(b, i ? ", " : "");
        mr_buf_append_str(b->out, column(b, i)->ident);
    }
    put(b, ") ");
}

/* All columns: what the row leaves out is NULL in a new row, whatever default somebody has set. */
static void put_values(struct builder *b)
{
    for (size_t i = 0; i < b->shape->column_count; i++) {
        put(b, i ? ", " : "");
        put_value(b, i);
    }
}

/* The row as a whole, by its bytes: 1.0 is not 1.00, and types without an operator of their own compare too. The function, since between two row
 * constructors an operator would be taken apart. */
static void put_unless_same(struct builder *b)
{
    const char *sides[] = {" WHERE pg_catalog.record_image_ne(ROW(", "), ROW("}, *alias[] = {"t.", "EXCLUDED."};

    for (int side = 0; side < 2; side++) {
        bool is_first = true;
        put(b, sides[side]);
        for (size_t i = 0; i < b->shape->column_count; i++) {
            if (column(b, i)->is_key || !is_set(b, i))
                continue;
            put(b, is_first ? "" : ", ");
            put(b, alias[side]);
            mr_buf_append_str(b->out, column(b, i)->ident);
            is_first = false;
        }
    }
    put(b, "))");
}

static void put_conflict(struct builder *b, bool may_update)
{
    bool is_first = true;

    put(b, " ON CONFLICT (");
    for (size_t k = 0; k < b->shape->key_count; k++) {
        put(b, k ? ", " : "");
        mr_buf_append_str(b->out, column(b, b->shape->key[k])->ident);
    }
    put(b, ") DO ");
    for (size_t i = 0; may_update && i < b->shape->column_count; i++) {
        if (column(b, i)->is_key || !is_set(b, i))
            continue;
        put(b, is_first ? "UPDATE SET " : ", ");
        mr_buf_append_str(b->out, column(b, i)->ident);
        put(b, " = EXCLUDED.");
        mr_buf_append_str(b->out, column(b, i)->ident);
        is_first = false;
    }
    if (is_first)
        put(b, "NOTHING");
    else if (b->shape->skips_same)
        put_unless_same(b);
}

static bool sets_anything(const struct builder *b, bool keys_too)
{
    for (size_t i = 0; i < b->shape->column_count; i++)
        if (is_set(b, i) && (keys_too || !column(b, i)->is_key))
            return true;
    return false;
}

/* UPDATE … SET what the row sets; keys only where rows are matched by their content. Without anything to set the first column is set to
 * itself: the row must be found all the same. */
static void put_update(struct builder *b, bool keys_too)
{
    bool is_first = true;

    put(b, "UPDATE ");
    put_target(b);
    put(b, " AS t SET ");
    for (size_t i = 0; i < b->shape->column_count; i++) {
        if (!is_set(b, i) || (column(b, i)->is_key && !keys_too))
            continue;
        put(b, is_first ? "" : ", ");
        mr_buf_append_str(b->out, column(b, i)->ident);
        put(b, " = ");
        put_value(b, i);
        is_first = false;
    }
    if (is_first) {
        mr_buf_append_str(b->out, column(b, 0)->ident);
        put(b, " = ");
        put_stored(b, "t.", 0);
    }
}

/* ---- Keyed rows ---- */

static void build_upsert(struct builder *b)
{
    bool is_guarded = mr_pg_is_guarded(b->shape, b->spec->cells);
    bool with_update = is_guarded && !b->spec->from_stage && sets_anything(b, false);

    if (with_update) {
        put(b, "WITH u AS (");
        put_update(b, false);
        put(b, " WHERE ");
        put_key_equal(b);
        put(b, " RETURNING 1) ");
    }
    put_insert(b);
    if (!b->spec->from_stage && !is_guarded) {
        put(b, "VALUES (");
        put_values(b);
        put(b, ")");
    } else {
        put(b, "SELECT ");
        put_values(b);
        if (b->spec->from_stage) {
            put(b, " FROM ");
            put_stage(b);
        }
        put(b, is_guarded || b->spec->group >= 0 ? " WHERE " : "");
        put_group(b, "");
        put(b, is_guarded && b->spec->from_stage && b->spec->group >= 0 ? " AND " : "");
        if (with_update) {
            put(b, "NOT EXISTS (SELECT FROM u)");
        } else if (is_guarded) {
            put(b, "NOT EXISTS (SELECT FROM ");
            put_target(b);
            put(b, " AS t WHERE ");
            put_key_equal(b);
            put(b, ")");
        }
    }
    put_conflict(b, true);
}

static void build_upsert_update(struct builder *b)
{
    put_update(b, false);
    put(b, " FROM ");
    put_stage(b);
    put(b, " WHERE ");
    put_key_equal(b);
    put_group(b, " AND ");
}

static void build_delete(struct builder *b)
{
    put(b, "DELETE FROM ");
    put_target(b);
    put(b, " AS t WHERE ");
    put_key_equal(b);
}

/* The key columns that are set; the last of them lies between the row's and the match's. */
static void build_delete_range(struct builder *b)
{
    size_t last = 0;

    for (size_t k = 0; k < b->shape->key_count; k++)
        if (is_set(b, b->shape->key[k]))
            last = k;
    put(b, "DELETE FROM ");
    put_target(b);
    put(b, " AS t WHERE ");
    for (size_t k = 0; k <= last; k++) {
        size_t i = b->shape->key[k];
        put(b, k ? " AND " : "");
        put_stored(b, "t.", i);
        put(b, k < last ? " = " : " >= ");
        put_param(b, i, false);
        put_cast(b, i);
    }
    put(b, " AND ");
    put_stored(b, "t.", b->shape->key[last]);
    put(b, " < ");
    put_param(b, b->shape->key[last], true);
    put_cast(b, b->shape->key[last]);
}

static void build_insert(struct builder *b, bool only_new)
{
    if (b->shape->column_count == 0) {
        put(b, "INSERT INTO ");
        put_target(b);
        put(b, " DEFAULT VALUES");
        return;
    }
    put_insert(b);
    put(b, "VALUES (");
    put_values(b);
    put(b, ")");
    if (only_new)
        put_conflict(b, false);
}

/* ---- Rows matched by their content ---- */

/* NULL-safe, and by `=` where there is a value, so that an index somebody has made can be used. */
static void put_match(struct builder *b)
{
    bool is_first = true;

    for (size_t i = 0; i < b->shape->column_count; i++) {
        struct mr_value v = b->spec->match[i];
        if (!mr_pg_is_set(v))
            continue;
        put(b, is_first ? "" : " AND ");
        put_stored(b, "m.", i);
        is_first = false;
        if (v.tag == MR_V_NULL) {
            put(b, " IS NULL");
            continue;
        }
        put(b, " = ");
        put_param(b, i, true);
        put_cast(b, i);
    }
    if (is_first)
        put(b, "false"); /* nothing to compare matches nothing, not everything */
}

/* One row of those that are equal. */
static void put_where_matched(struct builder *b)
{
    const char *place = b->shape->is_partitioned ? "(t.tableoid, t.ctid) = (SELECT m.tableoid, m.ctid FROM " :
                                                   "t.ctid = (SELECT m.ctid FROM ";
    put(b, " WHERE ");
    put(b, place);
    put_target(b);
    put(b, " AS m WHERE ");
    put_match(b);
    put(b, " LIMIT 1)");
}

static void build_update_match(struct builder *b)
{
    put(b, "WITH u AS (");
    put_update(b, true);
    put_where_matched(b);
    put(b, " RETURNING 1) ");
    put_insert(b);
    put(b, "SELECT ");
    put_values(b);
    put(b, " WHERE NOT EXISTS (SELECT FROM u)");
}

static void build_delete_match(struct builder *b)
{
    put(b, "DELETE FROM ");
    put_target(b);
    put(b, " AS t");
    put_where_matched(b);
}

/* The row's own columns keep what they hold: only its key changes. */
static void build_move(struct builder *b)
{
    put_update(b, true);
    put_where_matched(b);
}

/* All columns: what the row leaves out is NULL in a new row, whatever default somebody has set. */
static void build_fill(struct builder *b)
{
    size_t last = b->shape->key[b->shape->key_count - 1];

    put_insert(b);
    put(b, "SELECT ");
    for (size_t i = 0; i < b->shape->column_count; i++) {
        put(b, i ? ", " : "");
        if (i == last)
            put(b, "p.place");
        else if (column(b, i)->is_key)
            put_value(b, i);
        else
            put(b, "NULL");
    }
    put(b, " FROM generate_series(coalesce((SELECT max(m.");
    mr_buf_append_str(b->out, column(b, last)->ident);
    put(b, ") FROM ");
    put_target(b);
    put(b, " AS m WHERE ");
    for (size_t k = 0; k < b->shape->key_count; k++) {
        size_t i = b->shape->key[k];
        put(b, k ? " AND " : "");
        put_stored(b, "m.", i);
        put(b, i == last ? " < " : " = ");
        put_param(b, i, false);
        put_cast(b, i);
    }
    put(b, ") + 1, 0)::bigint, ");
    put_param(b, last, false);
    put(b, "::bigint - 1) AS p (place)");
}

/* The columns of `match` are not null. */
static void build_move_all(struct builder *b)
{
    bool is_first = true;

    put_update(b, true);
    put(b, " WHERE ");
    for (size_t k = 0; k < b->shape->key_count; k++) {
        size_t i = b->shape->key[k];
        if (!mr_pg_is_set(b->spec->match[i]))
            continue;
        put(b, is_first ? "" : " AND ");
        put_stored(b, "t.", i);
        put(b, " = ");
        put_param(b, i, true);
        put_cast(b, i);
        is_first = false;
    }
    put(b, is_first ? "false" : "");
}

static void build_move_clear(struct builder *b)
{
    build_delete(b);
    put(b, " AND EXISTS (SELECT FROM ");
    put_target(b);
    put(b, " AS m WHERE ");
    put_match(b);
    put(b, ")");
}

/* ---- Reading ---- */

/* An array as JSON of its elements' canonical texts, which a reader of those texts brings back exactly. */
static void put_array_as_texts(struct builder *b, const struct mr_pg_column *col)
{
    put(b, "CASE WHEN t.");
    mr_buf_append_str(b->out, col->ident);
    put(b, " IS NOT NULL THEN coalesce((SELECT json_agg(CASE WHEN e IS NOT NULL THEN ");
    mr_pg_append_text_of(mr_pg_wire_info(mr_pg_element_of(col->wire))->kind, MR_STR("e"), b->out);
    put(b, " END ORDER BY place) FROM unnest(t.");
    mr_buf_append_str(b->out, col->ident);
    put(b, ") WITH ORDINALITY AS u (e, place))::text, '[]') END");
}

static void build_read(struct builder *b)
{
    bool is_first = true;

    for (size_t i = 0; i < b->shape->column_count; i++) {
        const struct mr_pg_column *col = column(b, i);
        if (col->is_key || !is_set(b, i))
            continue;
        put(b, is_first ? "SELECT " : ", ");
        is_first = false;
        if (mr_pg_is_array(col->wire)) {
            put_array_as_texts(b, col);
            continue;
        }
        put(b, "t.");
        mr_buf_append_str(b->out, col->ident);
        put(b, "::text");
    }
    put(b, " FROM ");
    put_target(b);
    put(b, " AS t WHERE ");
    put_key_equal(b);
    put(b, " FOR UPDATE");
}

/* ---- Other unique indexes ---- */

/* (a, b) IS DISTINCT FROM the row's, over the columns that an index may look at. False if the row sets none. */
static bool put_changed(struct builder *b)
{
    bool is_first = true;

    for (size_t i = 0; i < b->shape->column_count; i++) {
        const struct mr_pg_column *col = column(b, i);
        if (col->is_key || !is_set(b, i) || !(col->is_unique || b->shape->vacate_compares_all))
            continue;
        put(b, is_first ? " AND (" : " OR ");
        put_stored(b, "t.", i);
        put(b, " IS DISTINCT FROM ");
        put_value(b, i);
        put_cast(b, i);
        is_first = false;
    }
    put(b, is_first ? "" : ")");
    return !is_first;
}

static bool put_nulls(struct builder *b)
{
    bool is_first = true;

    for (size_t i = 0; i < b->shape->column_count; i++) {
        const struct mr_pg_column *col = column(b, i);
        if (!col->is_unique || col->is_key || col->not_null || col->is_referenced || !is_set(b, i))
            continue;
        put(b, is_first ? " SET " : ", ");
        mr_buf_append_str(b->out, col->ident);
        put(b, " = NULL");
        is_first = false;
    }
    return !is_first;
}

static bool build_vacate(struct builder *b)
{
    bool by_null = b->shape->vacate == MR_PG_VACATE_NULL;

    put(b, by_null ? "UPDATE " : "DELETE FROM ");
    put_target(b);
    put(b, " AS t");
    if (by_null && !put_nulls(b))
        return false;
    if (b->spec->from_stage) {
        put(b, by_null ? " FROM " : " USING ");
        put_stage(b);
    }
    put(b, " WHERE ");
    put_key_equal(b);
    put_group(b, " AND ");
    return put_changed(b);
}

bool mr_pg_is_guarded(const struct mr_pg_shape *shape, const struct mr_value *cells)
{
    for (size_t i = 0; i < shape->column_count; i++)
        if (shape->columns[i].not_null && !mr_pg_is_set(cells[i]))
            return true;
    return false;
}

bool mr_pg_statement(const struct mr_pg_spec *spec, struct mr_buf *out, struct mr_pg_param *params, size_t *count)
{
    struct builder b = {.spec = spec, .shape = spec->shape, .out = out, .params = params};
    bool has_work = true;

    switch (spec->kind) {
    case MR_PG_UPSERT:
        build_upsert(&b);
        break;
    case MR_PG_UPSERT_UPDATE:
        build_upsert_update(&b);
        break;
    case MR_PG_DELETE:
        build_delete(&b);
        break;
    case MR_PG_APPEND:
        build_insert(&b, false);
        break;
    case MR_PG_INSERT_ONLY:
        build_insert(&b, true);
        break;
    case MR_PG_UPDATE_MATCH:
        build_update_match(&b);
        break;
    case MR_PG_MOVE:
        build_move(&b);
        break;
    case MR_PG_MOVE_CLEAR:
        build_move_clear(&b);
        break;
    case MR_PG_DELETE_MATCH:
        build_delete_match(&b);
        break;
    case MR_PG_FILL:
        build_fill(&b);
        break;
    case MR_PG_MOVE_ALL:
        build_move_all(&b);
        break;
    case MR_PG_DELETE_RANGE:
        build_delete_range(&b);
        break;
    case MR_PG_READ:
        build_read(&b);
        break;
    case MR_PG_VACATE:
        has_work = build_vacate(&b);
        break;
    }
    if (count)
        *count = b.param_count;
    return has_work;
}
