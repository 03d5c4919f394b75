/* Sorting out a batch: see plan.h. */
#include "plan.h"

#include "statement.h"

size_t mr_pg_bulk_rows(const struct mr_pg *pg)
{
    return pg->cfg->bulk_rows ? pg->cfg->bulk_rows : 1;
}

static bool has_repeated_keys(const struct mr_pg_plan *pl)
{
    const struct mr_table *tbl = pl->batch->tbl;
    struct mr_map *seen = mr_map_create();
    struct mr_buf key = MR_BUF_INIT(MR_PG_MAX_VALUE);
    bool is_repeated = false;

    for (size_t r = 0; r < pl->batch->row_count && !is_repeated; r++) {
        mr_buf_clear(&key);
        for (size_t k = 0; k < tbl->key_count; k++) {
            uint32_t i = tbl->key_columns[k];
            mr_value_append_key(pl->batch->rows[r].cells[i], tbl->columns[i].type, &key);
        }
        is_repeated = mr_map_get(seen, mr_buf_str(&key)) != NULL;
        mr_map_put(seen, mr_buf_str(&key), &is_repeated);
    }
    mr_buf_free(&key);
    mr_map_destroy(seen, NULL);
    return is_repeated;
}

static bool is_complete(const struct mr_pg_plan *pl, size_t row)
{
    for (size_t i = 0; i < pl->shape->column_count; i++)
        if (!mr_pg_is_set(pl->batch->rows[row].cells[i]))
            return false;
    return true;
}

/* Rows may change places unless they came in an order and that order is all we can rely on. */
bool mr_pg_must_keep_order(const struct mr_pg_plan *pl)
{
    const struct mr_table_batch *batch = pl->batch;
    bool by_row = pl->shape->vacate == MR_PG_VACATE_ROW;

    if (pl->shape->key_count == 0 || pl->shape->vacate == MR_PG_VACATE_NEVER)
        return true;
    for (size_t r = 0; r < batch->row_count; r++) {
        if (batch->rows[r].kind != MR_ROW_UPSERT && batch->rows[r].kind != MR_ROW_DELETE)
            return true;
        if (by_row && batch->rows[r].kind == MR_ROW_UPSERT && !is_complete(pl, r))
            return true;
    }
    return batch->ordered && has_repeated_keys(pl);
}

/* Rows that set the same columns form a group. */
static int32_t group_of(struct mr_pg_plan *pl, struct mr_map *groups, struct mr_buf *key, size_t row)
{
    const struct mr_row *r = &pl->batch->rows[row];

    mr_buf_clear(key);
    for (size_t i = 0; r->has_keep && i < pl->shape->column_count; i++)
        mr_buf_append_char(key, mr_pg_is_set(r->cells[i]) ? '1' : '0');
    if (key->len > 0 && !memchr(key->data, '0', key->len))
        mr_buf_clear(key);
    uintptr_t group = (uintptr_t)mr_map_get(groups, mr_buf_str(key));
    if (!group) {
        group = ++pl->group_count;
        pl->group_first[group - 1] = (uint32_t)row;
        mr_map_put(groups, mr_buf_str(key), (void *)group);
    }
    return (int32_t)group - 1;
}

/* Small groups are not worth a statement over the whole staging table: their rows go one by one. */
static void split_upserts(struct mr_pg_plan *pl, size_t count)
{
    struct mr_arena *ar = pl->ar;
    struct mr_map *groups = mr_map_create();
    struct mr_buf key = MR_BUF_INIT(MR_TABLE_MAX_COLUMNS);
    uint32_t *rows = mr_arena_alloc(ar, (count + 1) * sizeof(*rows));
    int32_t *of = mr_arena_alloc(ar, (count + 1) * sizeof(*of));
    size_t n = 0;

    pl->group_first = mr_arena_alloc(ar, (count + 1) * sizeof(*pl->group_first));
    for (size_t r = 0; r < pl->batch->row_count; r++) {
        if (pl->batch->rows[r].kind != MR_ROW_UPSERT)
            continue;
        rows[n] = (uint32_t)r;
        of[n++] = group_of(pl, groups, &key, r);
    }
    mr_buf_free(&key);
    mr_map_destroy(groups, NULL);

    uint32_t *sizes = mr_arena_zalloc(ar, (pl->group_count + 1) * sizeof(*sizes));
    for (size_t i = 0; i < n; i++)
        sizes[of[i]]++;
    size_t least = pl->group_count > 1 && !pl->shape->references_itself ? mr_pg_bulk_rows(pl->pg) / 4 + 1 : 1;
    pl->upserts = mr_arena_alloc(ar, (n + 1) * sizeof(*pl->upserts));
    pl->groups = mr_arena_alloc(ar, (n + 1) * sizeof(*pl->groups));
    for (size_t i = 0; i < n; i++) {
        if (sizes[of[i]] < least) {
            pl->singles[pl->single_count++] = rows[i];
            continue;
        }
        pl->upserts[pl->upsert_count] = rows[i];
        pl->groups[pl->upsert_count++] = of[i];
    }
    for (size_t g = 0; g < pl->group_count; g++)
        if (sizes[g] < least)
            pl->group_first[g] = UINT32_MAX; /* no statement for it */
}

/* Arrays of keys that are arrays would be one array of two dimensions. */
static bool has_array_key(const struct mr_pg_shape *shape)
{
    for (size_t k = 0; k < shape->key_count; k++)
        if (mr_pg_is_array(shape->columns[shape->key[k]].wire))
            return true;
    return false;
}

void mr_pg_sort_out(struct mr_pg_plan *pl)
{
    const struct mr_table_batch *batch = pl->batch;
    size_t upserts = 0, deletes = 0;

    pl->singles = mr_arena_alloc(pl->ar, (batch->row_count + 1) * sizeof(*pl->singles));
    for (size_t r = 0; r < batch->row_count; r++) {
        upserts += batch->rows[r].kind == MR_ROW_UPSERT;
        deletes += batch->rows[r].kind == MR_ROW_DELETE;
    }
    bool may_bulk = !pl->in_order && !batch->row_by_row;
    /* Rows that refer to one another must come in one statement. */
    size_t least = pl->shape->references_itself ? 2 : mr_pg_bulk_rows(pl->pg);
    bool bulk_upserts = may_bulk && upserts >= least && pl->pg->can_temp && pl->shape->column_count < 1600;
    bool bulk_deletes = may_bulk && deletes >= least && !has_array_key(pl->shape);

    if (bulk_upserts)
        split_upserts(pl, upserts);
    pl->deletes = mr_arena_alloc(pl->ar, (deletes + 1) * sizeof(*pl->deletes));
    for (size_t r = 0; r < batch->row_count; r++) {
        bool is_delete = batch->rows[r].kind == MR_ROW_DELETE;
        if (is_delete && bulk_deletes)
            pl->deletes[pl->delete_count++] = (uint32_t)r;
        else if (is_delete || !bulk_upserts)
            pl->singles[pl->single_count++] = (uint32_t)r;
    }
}
