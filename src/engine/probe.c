/* The probe: an insert of the key alone, which an existing row turns into nothing, and which is rolled back in any case. See probe.h. */
#include "probe.h"

/* The key columns as the target has them, as a table of their own; NULL if one is missing there. */
static struct mr_table *key_table(struct mr_sink *sink, const struct mr_rel *rel, const struct mr_catalog_table *now, uint32_t *of)
{
    static uint64_t next_id = UINT64_MAX; /* trackers count from the other end */
    const struct mr_str *paths = NULL;
    size_t count = mr_tracker_key(rel->tk, &paths);
    struct mr_table *tbl = mr_table_create(rel->target_schema, rel->target_table);
    struct mr_column *columns = mr_arena_zalloc(tbl->ar, (count + 1) * sizeof *columns);
    uint32_t *key = mr_arena_zalloc(tbl->ar, (count + 1) * sizeof *key);
    for (size_t i = 0; i < count; i++) {
        int index = mr_tracker_find(rel->tk, paths[i]);
        const struct mr_tracked_column *col = index < 0 ? NULL : mr_tracker_column(rel->tk, (size_t)index);
        size_t at = 0;
        while (col != NULL && at < now->column_count && !mr_str_eq(now->columns[at].name, col->name))
            at++;
        if (col == NULL || at == now->column_count) {
            mr_table_unref(tbl);
            return NULL;
        }
        columns[i] = (struct mr_column){
            .name = mr_arena_copy(tbl->ar, col->name),
            .path = mr_arena_copy(tbl->ar, col->path),
            .type = (size_t)index < rel->known_count ? rel->known[index] : sink->ops->dialect->type_of_column(now->columns[at].native),
            .is_key = true,
            .native = mr_arena_copy(tbl->ar, now->columns[at].native),
            .max_len = col->facts.max_len,
        };
        key[i] = (uint32_t)i;
        of[i] = (uint32_t)index;
    }
    tbl->id = next_id--;
    tbl->columns = columns;
    tbl->column_count = tbl->key_count = count;
    tbl->key_columns = key;
    tbl->exists = true;
    return tbl;
}

/* Errors of the row or of the table's shape are an answer: it cannot be there like this. */
static enum mr_status try_insert(struct mr_sink *sink, const struct mr_table *tbl, struct mr_row *row, struct mr_error *err)
{
    struct mr_table_batch batch = {.tbl = tbl, .rows = row, .row_count = 1, .row_by_row = true};
    MR_TRY(sink->ops->begin(sink, err));
    enum mr_status status = sink->ops->apply(sink, &batch, err);
    sink->ops->rollback(sink);
    return status == MR_E_DATA || status == MR_E_SCHEMA ? MR_OK : status;
}

enum mr_status mr_probe_row(struct mr_sink *sink, const struct mr_rel *rel, const struct mr_entry *e, bool *is_there, struct mr_error *err)
{
    const struct mr_str *paths = NULL;
    size_t count = mr_tracker_key(rel->tk, &paths);
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_catalog_table now = {0};
    struct mr_table *tbl = NULL;
    struct mr_error ignored = {0};
    uint32_t *of = mr_arena_alloc(ar, (count + 1) * sizeof *of);
    struct mr_value *cells = mr_arena_zalloc(ar, (count + 1) * sizeof *cells);
    struct mr_row row = {.kind = MR_ROW_INSERT_ONLY, .cells = cells};
    *is_there = false;
    enum mr_status status = sink->ops->describe_table(sink, rel->target_schema, rel->target_table, ar, &now, err);
    if (status == MR_OK && now.exists && count > 0)
        tbl = key_table(sink, rel, &now, of);
    bool fits = tbl != NULL;
    for (size_t i = 0; fits && i < count; i++)
        fits = tbl->columns[i].type.kind != MR_T_NONE &&
               mr_value_coerce(mr_entry_cell(e, of[i]), tbl->columns[i].type, ar, &cells[i], &ignored) == MR_OK;
    if (fits)
        status = try_insert(sink, tbl, &row, err);
    *is_there = status == MR_OK && fits && row.was_there;
    mr_table_unref(tbl);
    mr_arena_destroy(ar);
    return status;
}
