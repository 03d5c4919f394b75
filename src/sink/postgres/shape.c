/* Reading shapes from the catalog, and keeping them: see shape.h. */
#include "shape.h"

#include "pipe.h"

#include <millrace/base/mem.h>

#define MAX_SHAPES 256 /* beyond, the one unused for longest goes, with its statements and its staging table */

struct mr_pg_shapes {
    struct mr_pg_shape **items;
    size_t count, cap;
    uint64_t clock;
};

/* ---- Catalog ---- */

static const char table_sql[] =
    "SELECT c.oid, c.relkind = 'p', "
    "has_table_privilege(c.oid, 'TRUNCATE') AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint f "
    "  WHERE f.contype = 'f' AND f.confrelid = c.oid AND f.conrelid <> c.oid), "
    "EXISTS (SELECT FROM pg_catalog.pg_constraint f WHERE f.contype = 'f' AND f.confrelid = c.oid), "
    "EXISTS (SELECT FROM pg_catalog.pg_constraint f WHERE f.contype = 'f' AND f.confrelid = c.oid AND f.conrelid = c.oid), "
    "EXISTS (SELECT FROM pg_catalog.pg_constraint f WHERE f.conrelid = c.oid AND f.condeferrable), "
    "row_security_active(c.oid) "
    "FROM pg_catalog.pg_class c WHERE c.oid = to_regclass($1) AND c.relkind IN ('r', 'p')";

static const char columns_sql[] =
    "SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attgenerated <> '', "
    "EXISTS (SELECT FROM pg_catalog.pg_constraint f WHERE f.contype = 'f' AND f.confrelid = a.attrelid AND a.attnum = ANY (f.confkey)) "
    "FROM pg_catalog.pg_attribute a "
    "WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum";

static const char fingerprint_sql[] =
    "SELECT string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', ' ORDER BY a.attnum) "
    "FROM pg_catalog.pg_attribute a WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped";

/* One row a column of a unique index; the name is null for an expression, and for a generated column, which is one. "NULLS NOT DISTINCT" came with
 * version 15. */
static const char indexes_sql[] =
    "SELECT x.indexrelid, x.indpred IS NOT NULL, coalesce((to_jsonb(x)->>'indnullsnotdistinct')::boolean, false), a.attname "
    "FROM pg_catalog.pg_index x "
    "CROSS JOIN LATERAL unnest(x.indkey::int2[]) WITH ORDINALITY AS k(attnum, place) "
    "LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = k.attnum AND k.attnum > 0 AND a.attgenerated = '' "
    "WHERE x.indrelid = $1::oid AND x.indisunique AND x.indimmediate AND k.place <= x.indnkeyatts "
    "ORDER BY x.indexrelid, k.place";

static bool is_true(const PGresult *res, int row, int col)
{
    return strcmp(PQgetvalue(res, row, col), "t") == 0;
}

static struct mr_str cell(const PGresult *res, int row, int col)
{
    return mr_str_of(PQgetvalue(res, row, col), (size_t)PQgetlength(res, row, col));
}

/* How values of a column of ours get into a column of that native type. */
static void choose_wire(const struct mr_column *col, struct mr_pg_column *out)
{
    struct mr_pg_native nat = mr_pg_native_parse(out->native);
    enum mr_tag tag = mr_type_tag(col->type.kind);

    out->wire = mr_pg_wire_of_type(col->type);
    if (!nat.known) {
        out->casts = true;
    } else if (mr_pg_is_array(nat.wire)) { /* an array says what its elements are, and the server insists */
        out->casts = nat.wire != out->wire || nat.is_alias;
    } else if (mr_type_tag(mr_pg_wire_info(nat.wire)->kind) == tag || nat.wire == MR_PG_TEXT ||
               nat.wire == MR_PG_JSON || nat.wire == MR_PG_JSONB) {
        out->wire = nat.wire; /* text and json take the canonical form of any value */
    } else {
        out->casts = true;
    }
    out->compares_cast = out->casts || nat.is_padded;
    out->is_json_text = nat.known && nat.wire == MR_PG_JSON;
}

static enum mr_status fill_column(struct mr_pg_shape *shape, const struct mr_column *col, size_t i, const PGresult *res,
                                  struct mr_error *err)
{
    struct mr_pg_column *out = &shape->columns[i];
    struct mr_buf ident = MR_BUF_INIT(1024);
    int row = 0;

    while (row < PQntuples(res) && !mr_str_eq(cell(res, row, 0), col->name))
        row++;
    if (row == PQntuples(res)) {
        enum mr_status status = mr_fail(err, MR_E_SCHEMA, "%.*s has no column \"%.*s\"", MR_STR_FMT(shape->target),
                                        MR_STR_FMT(col->name));
        mr_error_field(err, col->path.ptr, col->path.len);
        return status;
    }
    mr_pg_quote_ident(col->name, &ident);
    out->ident = mr_arena_copy(shape->ar, mr_buf_str(&ident));
    mr_buf_free(&ident);
    out->stage = mr_arena_printf(shape->ar, "c%zu", i);
    out->native = mr_arena_copy(shape->ar, cell(res, row, 1));
    out->not_null = is_true(res, row, 2);
    out->is_referenced = is_true(res, row, 4);
    choose_wire(col, out);
    shape->any_casts = shape->any_casts || out->casts;
    return MR_OK;
}

static int find_column(const struct mr_table *tbl, const PGresult *res, int row)
{
    return PQgetisnull(res, row, 3) ? -1 : mr_table_find(tbl, cell(res, row, 3));
}

/* One index, rows [from, end): does it stand in the way of exchanging values, and how can it be vacated? One over columns of somebody else has no
 * values that rows of ours exchange. */
static enum mr_pg_vacate judge_index(struct mr_pg_shape *shape, const struct mr_table *tbl, const PGresult *res, int from,
                                     int end)
{
    size_t key_members = 0;
    bool is_computed = false, can_null = false, is_ours = false;

    for (int row = from; row < end; row++) {
        int i = find_column(tbl, res, row);
        is_ours = is_ours || i >= 0;
        if (i >= 0 && shape->columns[i].is_key)
            key_members++;
        else if (i >= 0)
            can_null = can_null || (!shape->columns[i].not_null && !shape->columns[i].is_referenced);
        is_computed = is_computed || PQgetisnull(res, row, 3);
    }
    if ((shape->key_count > 0 && key_members == shape->key_count) || (!is_ours && !is_computed))
        return MR_PG_VACATE_NONE; /* the key itself, or more than it: nothing that the key does not say already */
    for (int row = from; row < end; row++) {
        int i = find_column(tbl, res, row);
        if (i >= 0 && !shape->columns[i].is_key)
            shape->columns[i].is_unique = true;
    }
    if (is_computed || is_true(res, from, 1))
        shape->vacate_compares_all = true;
    return can_null && !is_computed && !is_true(res, from, 2) ? MR_PG_VACATE_NULL : MR_PG_VACATE_ROW;
}

static void judge_indexes(struct mr_pg_shape *shape, const struct mr_table *tbl, bool is_referenced, const PGresult *res)
{
    int rows = PQntuples(res);

    for (int from = 0, end; from < rows; from = end) {
        end = from + 1;
        while (end < rows && mr_str_eq(cell(res, end, 0), cell(res, from, 0)))
            end++;
        enum mr_pg_vacate vacate = judge_index(shape, tbl, res, from, end);
        if (vacate > shape->vacate)
            shape->vacate = vacate;
    }
    if (shape->vacate == MR_PG_VACATE_ROW && (is_referenced || shape->has_columns_of_others))
        shape->vacate = MR_PG_VACATE_NEVER;
}

static enum mr_status read_columns(struct mr_pg *pg, struct mr_pg_shape *shape, const struct mr_table *tbl,
                                   const char *oid, struct mr_error *err)
{
    MR_PG_RESULT res = NULL;

    MR_TRY(mr_pg_query(pg, columns_sql, 1, &oid, "cannot read the catalog", &res, err));
    shape->columns = mr_arena_zalloc(shape->ar, (tbl->column_count + 1) * sizeof(*shape->columns));
    shape->column_count = tbl->column_count;
    for (size_t i = 0; i < tbl->column_count; i++)
        MR_TRY(fill_column(shape, &tbl->columns[i], i, res, err));

    for (int row = 0; row < PQntuples(res); row++)
        if (!is_true(res, row, 3) && mr_table_find(tbl, cell(res, row, 0)) < 0)
            shape->has_columns_of_others = true;

    uint32_t *key = mr_arena_alloc(shape->ar, (tbl->key_count + 1) * sizeof(*key));
    for (size_t i = 0; i < tbl->key_count; i++) {
        key[i] = tbl->key_columns[i];
        shape->columns[key[i]].is_key = true;
    }
    shape->key = key;
    shape->key_count = tbl->key_count;
    return MR_OK;
}

static enum mr_status read_fingerprint(struct mr_pg *pg, struct mr_pg_shape *shape, struct mr_arena *ar, struct mr_str *out,
                                       struct mr_error *err)
{
    const char *target = mr_arena_strndup(ar, shape->target.ptr, shape->target.len);
    MR_PG_RESULT res = NULL;
    MR_TRY(mr_pg_query(pg, fingerprint_sql, 1, &target, "cannot read the catalog", &res, err));
    *out = mr_arena_copy(ar, cell(res, 0, 0));
    return MR_OK;
}

static enum mr_status read_shape(struct mr_pg *pg, struct mr_pg_shape *shape, const struct mr_table *tbl, struct mr_error *err)
{
    const char *target = mr_arena_strndup(shape->ar, shape->target.ptr, shape->target.len);
    MR_PG_RESULT res = NULL;
    MR_PG_RESULT indexes = NULL;

    MR_TRY(mr_pg_query(pg, table_sql, 1, &target, "cannot read the catalog", &res, err));
    if (PQntuples(res) == 0)
        return mr_fail(err, MR_E_SCHEMA, "there is no table %s", target);
    const char *oid = PQgetvalue(res, 0, 0);
    shape->is_partitioned = is_true(res, 0, 1);
    shape->may_truncate = is_true(res, 0, 2);
    shape->references_itself = is_true(res, 0, 4);
    shape->has_deferrable = is_true(res, 0, 5);
    shape->has_row_security = is_true(res, 0, 6);
    MR_TRY(read_columns(pg, shape, tbl, oid, err));
    if (tbl->key_count > 0) {
        MR_TRY(mr_pg_query(pg, indexes_sql, 1, &oid, "cannot read the catalog", &indexes, err));
        judge_indexes(shape, tbl, is_true(res, 0, 3), indexes);
    }
    return read_fingerprint(pg, shape, shape->ar, &shape->fingerprint, err);
}

/* ---- Keeping ---- */

static void shape_free(struct mr_pg_shape *shape)
{
    if (!shape)
        return;
    mr_map_destroy(shape->statements, mr_pg_row_stmt_free);
    mr_arena_destroy(shape->ar);
    mr_xfree(shape);
}

/* Free a shape and what the server keeps for it. Only where statements may be sent; if that fails, so will the next one. */
static void shape_retire(struct mr_pg *pg, struct mr_pg_shape *shape)
{
    struct mr_error ignored = {0};

    mr_pg_row_stmts_forget(pg, shape);
    if (shape->stage_made) {
        mr_buf_clear(&pg->sql);
        mr_buf_append_z(&pg->sql, "DROP TABLE IF EXISTS ");
        mr_buf_append_str(&pg->sql, shape->stage);
        (void)!mr_pg_run(pg, mr_buf_z(&pg->sql), "cannot drop a staging table", &ignored);
    }
    shape_free(shape);
}

static struct mr_pg_shape *shape_new(const struct mr_table *tbl)
{
    struct mr_pg_shape *shape = mr_xcalloc(1, sizeof(*shape));
    struct mr_buf target = MR_BUF_INIT(4096);

    mr_pg_quote_table(tbl->schema, tbl->name, &target);
    shape->ar = mr_arena_create(4096);
    shape->table_id = tbl->id;
    shape->version = tbl->version;
    shape->target = mr_arena_copy(shape->ar, mr_buf_str(&target));
    shape->skips_same = tbl->skips_same;
    shape->relname = mr_arena_copy(shape->ar, tbl->name);
    shape->stage_name = mr_arena_printf(shape->ar, "mr_stage_%llu", (unsigned long long)tbl->id);
    shape->stage = mr_arena_printf(shape->ar, "pg_temp.%.*s", MR_STR_FMT(shape->stage_name));
    shape->statements = mr_map_create();
    mr_buf_free(&target);
    return shape;
}

struct mr_pg_shapes *mr_pg_shapes_create(void)
{
    return mr_xcalloc(1, sizeof(struct mr_pg_shapes));
}

void mr_pg_shapes_destroy(struct mr_pg_shapes *shapes)
{
    if (!shapes)
        return;
    for (size_t i = 0; i < shapes->count; i++)
        shape_free(shapes->items[i]);
    mr_xfree(shapes->items);
    mr_xfree(shapes);
}

static void retire_at(struct mr_pg *pg, size_t i)
{
    struct mr_pg_shapes *shapes = pg->shapes;
    shape_retire(pg, shapes->items[i]);
    shapes->items[i] = shapes->items[--shapes->count];
}

static void retire_oldest(struct mr_pg *pg)
{
    size_t oldest = 0;
    for (size_t i = 1; i < pg->shapes->count; i++)
        if (pg->shapes->items[i]->last_used < pg->shapes->items[oldest]->last_used)
            oldest = i;
    retire_at(pg, oldest);
}

enum mr_status mr_pg_shape_get(struct mr_pg *pg, const struct mr_table *tbl, struct mr_pg_shape **out,
                               struct mr_error *err)
{
    struct mr_pg_shapes *shapes = pg->shapes;

    for (size_t i = 0; i < shapes->count; i++) {
        struct mr_pg_shape *shape = shapes->items[i];
        if (shape->table_id != tbl->id)
            continue;
        if (shape->version == tbl->version && !shape->is_stale) {
            shape->last_used = ++shapes->clock;
            *out = shape;
            return MR_OK;
        }
        retire_at(pg, i);
        break;
    }
    if (shapes->count >= MAX_SHAPES)
        retire_oldest(pg);

    struct mr_pg_shape *shape = shape_new(tbl);
    enum mr_status status = read_shape(pg, shape, tbl, err);
    if (status != MR_OK) {
        shape_free(shape);
        return status;
    }
    shape->last_used = ++shapes->clock;
    shapes->items = mr_xgrow(shapes->items, &shapes->cap, shapes->count + 1, sizeof(*shapes->items));
    shapes->items[shapes->count++] = shape;
    *out = shape;
    return MR_OK;
}

/* Eight bytes of a bigint would be taken for a timestamp by a column that has become one meanwhile, so what is copied straight into the
 * target is checked under a lock that keeps DDL out. */
enum mr_status mr_pg_shape_verify(struct mr_pg *pg, const struct mr_table *tbl, struct mr_pg_shape **shape,
                                  struct mr_error *err)
{
    struct mr_str now;
    const char *sql_z;

    mr_buf_clear(&pg->sql);
    mr_buf_append_z(&pg->sql, "LOCK TABLE ONLY ");
    mr_buf_append_str(&pg->sql, (*shape)->target);
    mr_buf_append_z(&pg->sql, " IN ROW EXCLUSIVE MODE");
    MR_TRY(mr_pg_sql(pg, &sql_z, err));
    MR_TRY(mr_pg_run(pg, sql_z, "cannot lock the table", err));
    MR_TRY(read_fingerprint(pg, *shape, pg->scratch, &now, err));
    if (mr_str_eq(now, (*shape)->fingerprint))
        return MR_OK;
    (*shape)->is_stale = true;
    *shape = NULL; /* it goes with the next line, whatever comes back */
    return mr_pg_shape_get(pg, tbl, shape, err);
}

void mr_pg_shapes_committed(struct mr_pg_shapes *shapes, uint64_t undo_mark)
{
    for (size_t i = 0; i < shapes->count; i++) {
        struct mr_pg_shape *shape = shapes->items[i];
        if (shape->stage_made && shape->stage_undo == undo_mark)
            shape->stage_committed = true;
    }
}

/* ---- Staging ---- */

/* Columns have the target's own types where values go over the wire in them, else ours. The group stands last and is never null: a null
 * before the other columns would make reading each of them dearer. */
static void append_stage_table(struct mr_pg *pg, const struct mr_pg_shape *shape, const struct mr_table *tbl)
{
    mr_buf_append_z(&pg->sql, "DROP TABLE IF EXISTS ");
    mr_buf_append_str(&pg->sql, shape->stage);
    mr_buf_append_z(&pg->sql, "; CREATE TEMPORARY TABLE ");
    mr_buf_append_str(&pg->sql, shape->stage_name);
    mr_buf_append_z(&pg->sql, " (");
    for (size_t i = 0; i < shape->column_count; i++) {
        mr_buf_append_str(&pg->sql, shape->columns[i].stage);
        mr_buf_append_char(&pg->sql, ' ');
        if (shape->columns[i].casts)
            mr_pg_column_type(&tbl->columns[i], &pg->sql);
        else
            mr_buf_append_str(&pg->sql, shape->columns[i].native);
        mr_buf_append_z(&pg->sql, ", ");
    }
    mr_buf_append_z(&pg->sql, "g integer DEFAULT 0)");
}

void mr_pg_stage_append(struct mr_pg *pg, const struct mr_pg_shape *shape, const struct mr_table *tbl)
{
    if (shape->stage_made && (shape->stage_committed || shape->stage_undo == pg->undo_mark)) {
        mr_buf_append_z(&pg->sql, "TRUNCATE ");
        mr_buf_append_str(&pg->sql, shape->stage);
    } else {
        append_stage_table(pg, shape, tbl);
    }
}

void mr_pg_stage_made(struct mr_pg *pg, struct mr_pg_shape *shape)
{
    if (shape->stage_made && (shape->stage_committed || shape->stage_undo == pg->undo_mark))
        return;
    shape->stage_made = true;
    shape->stage_committed = false;
    shape->stage_undo = pg->undo_mark;
}
