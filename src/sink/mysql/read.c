/* Reading cells of one row before they are changed. */
#include "rows.h"

static bool is_asked(const struct mr_table *tbl, const struct mr_value *cells, size_t i)
{
    return !tbl->columns[i].is_key && mr_my_is_set(cells[i]);
}

enum mr_status mr_my_read_row(struct mr_sink *sink, const struct mr_table *tbl, const struct mr_value *cells,
                              struct mr_arena *ar, struct mr_value *out, bool *found, struct mr_error *err)
{
    struct mr_row row = {.kind = MR_ROW_UPSERT, .cells = cells};
    struct mr_table_batch batch = {.tbl = tbl, .rows = &row, .row_count = 1};
    struct mr_my_run run = {.my = mr_my_of(sink), .batch = &batch};
    struct mr_str *values = mr_arena_zalloc(ar, (tbl->column_count + 1) * sizeof(*values));
    unsigned count = 0;

    *found = false;
    MR_TRY(mr_my_shape_get(run.my, tbl, &run.shape, err));
    for (size_t i = 0; i < tbl->column_count; i++)
        count += is_asked(tbl, cells, i);
    enum mr_status status = mr_my_run_read(&run, count, ar, values, found, err);
    if (status == MR_E_SCHEMA)
        run.shape->is_stale = true;
    MR_TRY(status);
    count = 0;
    for (size_t i = 0; *found && i < tbl->column_count; i++) {
        if (!is_asked(tbl, cells, i))
            continue;
        struct mr_str text = values[count++];
        bool is_text = tbl->columns[i].type.kind == MR_T_TEXT;
        out[i] = text.ptr == NULL ? mr_value_null() : mr_value_bytes(is_text ? MR_V_TEXT : MR_V_JSON, text);
    }
    return MR_OK;
}
