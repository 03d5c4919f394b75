/* Reading shapes from the catalog, and keeping them: see shape.h. */
#include "shape.h"

#include <millrace/base/mem.h>

#include "rows.h"

#define TOO_MANY_STATEMENTS 1461
#define MAX_SHAPES 256 /* beyond, the one unused for longest goes, with its statements */

struct mr_my_shapes {
    struct mr_my_shape **items;
    size_t count, cap;
    uint64_t clock;
};

/* ---- Columns ---- */

static enum mr_my_store store_of(struct mr_type type, const struct mr_my_native *nat)
{
    bool is_number = mr_my_is_integer(nat) || nat->base == MR_MY_DECIMAL || nat->base == MR_MY_YEAR;

    if (mr_my_is_text(nat) || nat->base == MR_MY_ENUM)
        return MR_MY_STORE_TEXT;
    if (nat->base == MR_MY_JSON)
        return MR_MY_STORE_JSON;
    switch ((enum mr_type_kind)type.kind) {
    case MR_T_BOOL:
    case MR_T_INT16:
    case MR_T_INT32:
    case MR_T_INT64:
        return MR_MY_STORE_INT;
    case MR_T_DECIMAL:
        return nat->base == MR_MY_DOUBLE || nat->base == MR_MY_FLOAT ? MR_MY_STORE_DOUBLE : MR_MY_STORE_DECIMAL;
    case MR_T_FLOAT32:
    case MR_T_FLOAT64:
        return is_number ? MR_MY_STORE_DECIMAL : MR_MY_STORE_DOUBLE;
    case MR_T_BYTES:
        return MR_MY_STORE_BYTES;
    case MR_T_BITS:
        return nat->base == MR_MY_BIT ? MR_MY_STORE_BITS : MR_MY_STORE_TEXT;
    case MR_T_NONE:
    case MR_T_TEXT:
    case MR_T_DATE:
    case MR_T_TIME:
    case MR_T_DURATION:
    case MR_T_TIMESTAMP:
    case MR_T_TIMESTAMPTZ:
    case MR_T_UUID:
    case MR_T_JSON:
    case MR_T_ARRAY:
        break;
    }
    return MR_MY_STORE_TEXT;
}

static enum mr_status fill_column(struct mr_my_shape *shape, const struct mr_column *col, size_t i, const struct mr_catalog_table *now,
                                  struct mr_error *err)
{
    struct mr_my_column *out = &shape->columns[i];
    struct mr_buf ident = MR_BUF_INIT(1024);
    size_t found = 0;

    while (found < now->column_count && !mr_str_eq(now->columns[found].name, col->name))
        found++;
    if (found == now->column_count) {
        enum mr_status status = mr_fail(err, MR_E_SCHEMA, "%.*s has no column \"%.*s\"", MR_STR_FMT(shape->target), MR_STR_FMT(col->name));
        mr_error_field(err, col->path.ptr, col->path.len);
        return status;
    }
    mr_my_quote_ident(col->name, &ident);
    out->ident = mr_arena_copy(shape->ar, mr_buf_str(&ident));
    mr_buf_free(&ident);
    out->nat = mr_my_native_parse(now->columns[found].native);
    out->members = out->nat.base == MR_MY_ENUM ? mr_arena_copy(shape->ar, now->columns[found].native) : (struct mr_str){0};
    out->not_null = !now->columns[found].nullable;
    out->fills_itself = now->columns[found].counts_up || (out->not_null && out->nat.base == MR_MY_TIMESTAMP);
    out->follows = now->columns[found].follows;
    out->merges = now->columns[found].tell_apart.len > 0;
    out->store = store_of(col->type, &out->nat);
    return MR_OK;
}

static enum mr_status fill_columns(struct mr_my_shape *shape, const struct mr_table *tbl, const struct mr_catalog_table *now,
                                   struct mr_error *err)
{
    shape->columns = mr_arena_zalloc(shape->ar, (tbl->column_count + 1) * sizeof(*shape->columns));
    shape->column_count = tbl->column_count;
    for (size_t i = 0; i < tbl->column_count; i++)
        MR_TRY(fill_column(shape, &tbl->columns[i], i, now, err));

    uint32_t *key = mr_arena_alloc(shape->ar, (tbl->key_count + 1) * sizeof(*key));
    for (size_t i = 0; i < tbl->key_count; i++) {
        key[i] = tbl->key_columns[i];
        shape->columns[key[i]].is_key = true;
    }
    shape->key = key;
    shape->key_count = tbl->key_count;
    return MR_OK;
}

/* ---- Unique indexes ---- */

/* One member of a unique index. */
struct member {
    struct mr_str index;
    int column;       /* of ours, -1 none */
    bool is_computed; /* an expression, a generated column, a prefix: equal values need not be equal for it, and the other way round */
};

/* Members [from, end) of one index: does it stand in the way of exchanging values, and how can it be vacated? An index over columns of somebody else
 * alone has nothing to exchange, and yet ON DUPLICATE KEY UPDATE would answer to it. */
static enum mr_my_vacate judge_index(struct mr_my_shape *shape, const struct member *members, size_t from, size_t end)
{
    size_t key_members = 0;
    bool is_computed = false, can_null = false, is_ours = false;

    for (size_t m = from; m < end; m++) {
        int i = members[m].column;
        is_computed = is_computed || members[m].is_computed;
        is_ours = is_ours || i >= 0;
        if (i < 0 || members[m].is_computed)
            continue;
        if (shape->columns[i].is_key)
            key_members++;
        else
            can_null = can_null || (!shape->columns[i].not_null && !shape->columns[i].is_referenced);
    }
    if (shape->key_count > 0 && key_members == shape->key_count)
        return MR_MY_VACATE_NONE; /* the key itself, or more than it: nothing that the key does not say already */
    for (size_t m = from; m < end; m++)
        if (members[m].column >= 0 && !shape->columns[members[m].column].is_key)
            shape->columns[members[m].column].is_unique = true;
    if (is_computed)
        shape->vacate_compares_all = true;
    else if (!is_ours)
        return MR_MY_VACATE_NULL;
    return can_null && !is_computed ? MR_MY_VACATE_NULL : MR_MY_VACATE_ROW;
}

static void append_same_table(struct mr_my *my, const char *schema_z, const char *table_z, const struct mr_table *tbl)
{
    mr_buf_append_z(&my->sql, schema_z);
    mr_buf_append_z(&my->sql, " = ");
    if (tbl->schema.len > 0)
        mr_my_quote_text(tbl->schema, &my->sql);
    else
        mr_buf_append_z(&my->sql, "DATABASE()");
    mr_buf_append_z(&my->sql, " AND ");
    mr_buf_append_z(&my->sql, table_z);
    mr_buf_append_z(&my->sql, " = ");
    mr_my_quote_text(tbl->name, &my->sql);
}

static bool is_generated(const struct mr_catalog_table *now, struct mr_str name)
{
    for (size_t i = 0; i < now->column_count; i++)
        if (mr_str_eq(now->columns[i].name, name))
            return now->columns[i].generated;
    return false;
}

/* Columns that hold what only this table knows: a row that is deleted and comes back has lost it. */
static bool has_columns_of_others(const struct mr_table *tbl, const struct mr_catalog_table *now)
{
    for (size_t i = 0; i < now->column_count; i++)
        if (!now->columns[i].generated && mr_table_find(tbl, now->columns[i].name) < 0)
            return true;
    return false;
}

static enum mr_status judge_indexes(struct mr_my *my, struct mr_my_shape *shape, const struct mr_table *tbl, const struct mr_catalog_table *now,
                                    bool is_referenced, struct mr_error *err)
{
    MR_MY_RESULT res = NULL;
    size_t count = 0;

    mr_buf_clear(&my->sql);
    mr_buf_append_z(&my->sql, "SELECT INDEX_NAME, COLUMN_NAME, SUB_PART IS NOT NULL OR COLUMN_NAME IS NULL FROM information_schema.STATISTICS "
                              "WHERE NON_UNIQUE = 0 AND ");
    append_same_table(my, "TABLE_SCHEMA", "TABLE_NAME", tbl);
    mr_buf_append_z(&my->sql, " ORDER BY INDEX_NAME, SEQ_IN_INDEX");
    MR_TRY(mr_my_query_built(my, "cannot read the catalog", &res, err));
    struct member *members = mr_arena_alloc(shape->ar, (mysql_num_rows(res) + 1) * sizeof(*members));
    for (MYSQL_ROW row; (row = mysql_fetch_row(res));)
        members[count++] = (struct member){
            .index = mr_arena_copy(shape->ar, mr_my_cell(res, row, 0)),
            .column = mr_table_find(tbl, mr_my_cell(res, row, 1)),
            .is_computed = mr_str_eq_z(mr_my_cell(res, row, 2), "1") || is_generated(now, mr_my_cell(res, row, 1)),
        };
    for (size_t from = 0, end; from < count; from = end) {
        end = from + 1;
        while (end < count && mr_str_eq(members[end].index, members[from].index))
            end++;
        enum mr_my_vacate vacate = judge_index(shape, members, from, end);
        if (vacate > shape->vacate)
            shape->vacate = vacate;
    }
    if (shape->vacate == MR_MY_VACATE_ROW && (is_referenced || has_columns_of_others(tbl, now)))
        shape->vacate = MR_MY_VACATE_NEVER;
    return MR_OK;
}

/* Foreign keys that refer to the table; whether one of them is its own. */
static enum mr_status read_references(struct mr_my *my, struct mr_my_shape *shape, const struct mr_table *tbl, bool *is_referenced,
                                      struct mr_error *err)
{
    MR_MY_RESULT res = NULL;

    mr_buf_clear(&my->sql);
    mr_buf_append_z(&my->sql, "SELECT CONSTRAINT_SCHEMA = UNIQUE_CONSTRAINT_SCHEMA AND TABLE_NAME = REFERENCED_TABLE_NAME "
                              "FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE ");
    append_same_table(my, "UNIQUE_CONSTRAINT_SCHEMA", "REFERENCED_TABLE_NAME", tbl);
    MR_TRY(mr_my_query_built(my, "cannot read the catalog", &res, err));
    *is_referenced = false;
    for (MYSQL_ROW row; (row = mysql_fetch_row(res));) {
        *is_referenced = true;
        shape->references_itself = shape->references_itself || mr_str_eq_z(mr_my_cell(res, row, 0), "1");
    }
    return MR_OK;
}

/* Which columns they refer to: not the key alone, perhaps. */
static enum mr_status read_referenced_columns(struct mr_my *my, struct mr_my_shape *shape, const struct mr_table *tbl, struct mr_error *err)
{
    MR_MY_RESULT res = NULL;

    mr_buf_clear(&my->sql);
    mr_buf_append_z(&my->sql, "SELECT REFERENCED_COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE WHERE ");
    append_same_table(my, "REFERENCED_TABLE_SCHEMA", "REFERENCED_TABLE_NAME", tbl);
    MR_TRY(mr_my_query_built(my, "cannot read the catalog", &res, err));
    for (MYSQL_ROW row; (row = mysql_fetch_row(res));) {
        int i = mr_table_find(tbl, mr_my_cell(res, row, 0));
        if (i >= 0)
            shape->columns[i].is_referenced = true;
    }
    return MR_OK;
}

static enum mr_status read_shape(struct mr_my *my, struct mr_my_shape *shape, const struct mr_table *tbl, struct mr_error *err)
{
    struct mr_catalog_table now;
    bool is_referenced = false;

    MR_TRY(mr_my_describe_table(&my->base, tbl->schema, tbl->name, shape->ar, &now, err));
    if (!now.exists)
        return mr_fail(err, MR_E_SCHEMA, "there is no table %.*s", MR_STR_FMT(shape->target));
    MR_TRY(fill_columns(shape, tbl, &now, err));
    if (now.has_foreign_keys)
        MR_TRY(read_references(my, shape, tbl, &is_referenced, err));
    if (is_referenced)
        MR_TRY(read_referenced_columns(my, shape, tbl, err));
    return tbl->key_count > 0 ? judge_indexes(my, shape, tbl, &now, is_referenced, err) : MR_OK;
}

/* ---- Keeping ---- */

static void shape_free(struct mr_my_shape *shape)
{
    mr_map_destroy(shape->statements, mr_my_row_stmt_free);
    mr_arena_destroy(shape->ar);
    mr_xfree(shape);
}

static struct mr_my_shape *shape_new(const struct mr_table *tbl)
{
    struct mr_my_shape *shape = mr_xcalloc(1, sizeof(*shape));
    struct mr_buf target = MR_BUF_INIT(4096);

    mr_my_quote_table(tbl->schema, tbl->name, &target);
    shape->ar = mr_arena_create(4096);
    shape->table_id = tbl->id;
    shape->version = tbl->version;
    shape->target = mr_arena_copy(shape->ar, mr_buf_str(&target));
    shape->statements = mr_map_create();
    mr_buf_free(&target);
    return shape;
}

struct mr_my_shapes *mr_my_shapes_create(void)
{
    return mr_xcalloc(1, sizeof(struct mr_my_shapes));
}

void mr_my_shapes_destroy(struct mr_my_shapes *shapes)
{
    if (!shapes)
        return;
    for (size_t i = 0; i < shapes->count; i++)
        shape_free(shapes->items[i]);
    mr_xfree(shapes->items);
    mr_xfree(shapes);
}

bool mr_my_prepare(struct mr_my *my, MYSQL_STMT *stmt, struct mr_str sql)
{
    if (mysql_stmt_prepare(stmt, sql.ptr, sql.len) == 0)
        return true;
    if (mysql_stmt_errno(stmt) != TOO_MANY_STATEMENTS)
        return false;
    for (size_t i = 0; i < my->shapes->count; i++)
        mr_map_clear(my->shapes->items[i]->statements, mr_my_row_stmt_free);
    return mysql_stmt_prepare(stmt, sql.ptr, sql.len) == 0;
}

static void drop_at(struct mr_my_shapes *shapes, size_t i)
{
    shape_free(shapes->items[i]);
    shapes->items[i] = shapes->items[--shapes->count];
}

static void drop_oldest(struct mr_my_shapes *shapes)
{
    size_t oldest = 0;
    for (size_t i = 1; i < shapes->count; i++)
        if (shapes->items[i]->last_used < shapes->items[oldest]->last_used)
            oldest = i;
    drop_at(shapes, oldest);
}

enum mr_status mr_my_shape_get(struct mr_my *my, const struct mr_table *tbl, struct mr_my_shape **out, struct mr_error *err)
{
    struct mr_my_shapes *shapes = my->shapes;

    for (size_t i = 0; i < shapes->count; i++) {
        struct mr_my_shape *shape = shapes->items[i];
        if (shape->table_id != tbl->id)
            continue;
        if (shape->version == tbl->version && !shape->is_stale) {
            shape->last_used = ++shapes->clock;
            *out = shape;
            return MR_OK;
        }
        drop_at(shapes, i);
        break;
    }
    if (shapes->count >= MAX_SHAPES)
        drop_oldest(shapes);

    struct mr_my_shape *shape = shape_new(tbl);
    enum mr_status status = read_shape(my, shape, tbl, err);
    if (status != MR_OK) {
        shape_free(shape);
        return status;
    }
    shape->last_used = ++shapes->clock;
    shapes->items = mr_xgrow(shapes->items, &shapes->cap, shapes->count + 1, sizeof(struct mr_my_shape *));
    shapes->items[shapes->count++] = shape;
    *out = shape;
    return MR_OK;
}
