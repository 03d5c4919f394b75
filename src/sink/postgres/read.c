/* Reading cells of one row before they are changed. */
#include "encode.h"
#include "statement.h"

struct params {
    struct mr_buf data; /* the values one after another */
    Oid *types;
    const char **values;
    int *lengths, *formats;
};

/* Values move while the buffer grows: until all are in, `values` are counted from its beginning. */
static enum mr_status bind(struct mr_pg *pg, const struct mr_pg_shape *shape, const struct mr_pg_param *list,
                           size_t count, const struct mr_value *cells, struct mr_arena *ar, struct params *to,
                           struct mr_error *err)
{
    size_t *starts = mr_arena_alloc(ar, (count + 1) * sizeof(*starts));

    to->types = mr_arena_alloc(ar, (count + 1) * sizeof(*to->types));
    to->values = mr_arena_alloc(ar, (count + 1) * sizeof(*to->values));
    to->lengths = mr_arena_alloc(ar, (count + 1) * sizeof(*to->lengths));
    to->formats = mr_arena_alloc(ar, (count + 1) * sizeof(*to->formats));
    for (size_t i = 0; i < count; i++) {
        enum mr_pg_wire wire = shape->columns[list[i].column].wire;
        starts[i] = to->data.len;
        MR_TRY(mr_pg_encode(wire, pg->server.version, cells[list[i].column], &to->data, err));
        to->types[i] = mr_pg_wire_info(wire)->oid;
        to->lengths[i] = (int)(to->data.len - starts[i]);
        to->formats[i] = 1;
    }
    MR_TRY(mr_buf_check(&to->data, "a row's key", err));
    for (size_t i = 0; i < count; i++)
        to->values[i] = to->data.data != NULL ? to->data.data + starts[i] : "";
    return MR_OK;
}

static void take(const PGresult *res, const struct mr_table *tbl, const struct mr_value *cells,
                 struct mr_arena *ar, struct mr_value *out)
{
    int field = 0;

    for (size_t i = 0; i < tbl->column_count; i++) {
        if (tbl->columns[i].is_key || !mr_pg_is_set(cells[i]))
            continue;
        struct mr_str text = mr_str_of(PQgetvalue(res, 0, field), (size_t)PQgetlength(res, 0, field));
        bool is_text = tbl->columns[i].type.kind == MR_T_TEXT;
        out[i] = PQgetisnull(res, 0, field)
                     ? mr_value_null()
                     : mr_value_bytes(is_text ? MR_V_TEXT : MR_V_JSON, mr_arena_copy(ar, text));
        field++;
    }
}

static enum mr_status read_row(struct mr_pg *pg, const struct mr_table *tbl, const struct mr_pg_shape *shape,
                               const struct mr_value *cells, struct params *bound, struct mr_arena *ar,
                               struct mr_value *out, bool *found, struct mr_error *err)
{
    struct mr_pg_param *list = mr_arena_alloc(ar, (2 * tbl->column_count + 1) * sizeof(*list));
    struct mr_pg_spec spec = {.shape = shape, .kind = MR_PG_READ, .cells = cells, .group = -1};
    const char *sql_z;
    size_t count;

    mr_buf_clear(&pg->sql);
    (void)mr_pg_statement(&spec, &pg->sql, list, &count);
    MR_TRY(mr_pg_sql(pg, &sql_z, err));
    MR_TRY(bind(pg, shape, list, count, cells, ar, bound, err));
    MR_PG_RESULT res = PQexecParams(pg->conn, sql_z, (int)count, bound->types, bound->values, bound->lengths,
                                    bound->formats, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK)
        return mr_pg_fail(pg, res, "cannot read a row", err);
    *found = PQntuples(res) > 0;
    if (*found)
        take(res, tbl, cells, ar, out);
    return MR_OK;
}

enum mr_status mr_pg_read_row(struct mr_sink *sink, const struct mr_table *tbl, const struct mr_value *cells,
                              struct mr_arena *ar, struct mr_value *out, bool *found, struct mr_error *err)
{
    struct mr_pg *pg = mr_pg_of(sink);
    struct params bound = {.data = MR_BUF_INIT(MR_PG_MAX_VALUE)};
    struct mr_pg_shape *shape = NULL;

    *found = false;
    MR_TRY(mr_pg_shape_get(pg, tbl, &shape, err));
    enum mr_status status = read_row(pg, tbl, shape, cells, &bound, ar, out, found, err);
    mr_buf_free(&bound.data);
    if (status == MR_E_SCHEMA)
        shape->is_stale = true;
    return status;
}
