/* Patches become values in the transaction that writes them: see patches.h. */
#include "patches.h"

#include <millrace/base/map.h>

#define PIECE_BYTES                                                                                          \
    ((size_t)16                                                                                              \
     << 20) /* of values made before they are written: a few bytes of a message can become megabytes */

struct work {
    struct mr_sink *sink;
    struct mr_table_batch *batch;
    struct mr_arena *ar; /* of the piece */
    struct mr_row *rows; /* of the piece */
    struct mr_map *keys; /* of the piece's rows, where order counts */
    bool truncate;       /* still to be done */
    struct mr_error *err;
};

static bool is_read(struct mr_value v)
{
    return v.tag == MR_V_PATCH && mr_patch_base(mr_value_patch(v)).tag == MR_V_ABSENT;
}

static bool needs_read(const struct mr_table *tbl, const struct mr_row *row)
{
    for (size_t i = 0; row->has_patch && i < tbl->column_count; i++)
        if (is_read(row->cells[i]))
            return true;
    return false;
}

/* What the row holds in the columns that have to be known; NULLs if there is no such row. */
static enum mr_status read_row(struct work *w, const struct mr_row *row, struct mr_value *have)
{
    const struct mr_table *tbl = w->batch->tbl;
    struct mr_value *asked = mr_arena_alloc(w->ar, (tbl->column_count + 1) * sizeof *asked);
    bool found = false;

    for (size_t i = 0; i < tbl->column_count; i++) {
        have[i] = mr_value_null();
        asked[i] = tbl->columns[i].is_key   ? row->cells[i]
                   : is_read(row->cells[i]) ? mr_value_null()
                                            : (struct mr_value){.tag = MR_V_ABSENT};
    }
    if (!needs_read(tbl, row))
        return MR_OK;
    return w->sink->ops->read_row(w->sink, tbl, asked, w->ar, have, &found, w->err);
}

static enum mr_status make_value(struct work *w, const struct mr_column *col, const struct mr_patch *patch,
                                 struct mr_value have, struct mr_value *out)
{
    struct mr_value base = mr_patch_base(patch);

    if (base.tag != MR_V_ABSENT)
        MR_TRY(mr_value_coerce(base, col->type, w->ar, &have, w->err));
    MR_TRY(mr_patch_apply(patch, have, col->type, w->ar, out, w->err));
    return w->sink->ops->dialect->holds(col->type, false, *out, w->err);
}

static enum mr_status resolve_row(struct work *w, struct mr_row *row)
{
    const struct mr_table *tbl = w->batch->tbl;
    struct mr_value *cells = mr_arena_alloc(w->ar, (tbl->column_count + 1) * sizeof *cells);
    struct mr_value *have = mr_arena_alloc(w->ar, (tbl->column_count + 1) * sizeof *have);

    MR_TRY(read_row(w, row, have));
    for (size_t i = 0; i < tbl->column_count; i++) {
        const struct mr_column *col = &tbl->columns[i];
        cells[i] = row->cells[i];
        if (cells[i].tag != MR_V_PATCH)
            continue;
        enum mr_status status = make_value(w, col, mr_value_patch(cells[i]), have[i], &cells[i]);
        if (status == MR_E_DATA) {
            mr_error_prefix(w->err, "column \"%.*s\": ", MR_STR_FMT(col->name));
            mr_error_field(w->err, col->path.ptr, col->path.len);
        }
        MR_TRY(status);
    }
    row->cells = cells;
    row->has_patch = false;
    return MR_OK;
}

/* Has a row of the piece this key? Then that one has to be written before this one is read. */
static bool is_repeated(struct work *w, const struct mr_row *row)
{
    const struct mr_table *tbl = w->batch->tbl;
    struct mr_buf key = MR_BUF_INIT((size_t)1 << 30);

    if (!w->batch->ordered)
        return false;
    for (size_t k = 0; k < tbl->key_count; k++)
        mr_value_append_key(row->cells[tbl->key_columns[k]], tbl->columns[tbl->key_columns[k]].type, &key);
    bool is_known = mr_map_get(w->keys, mr_buf_str(&key)) != NULL;
    mr_map_put(w->keys, mr_buf_str(&key), w);
    mr_buf_free(&key);
    return is_known;
}

/* Rows from `from` on that can be written together, ready to be written. */
static enum mr_status fill_piece(struct work *w, size_t from, size_t *end)
{
    const struct mr_table_batch *batch = w->batch;

    bool has_moved = false; /* many rows, whose keys nobody has here */
    mr_arena_reset(w->ar);
    mr_map_clear(w->keys, NULL);
    for (*end = from; *end < batch->row_count && mr_arena_used(w->ar) < PIECE_BYTES; ++*end) {
        struct mr_row *row = &w->rows[*end - from];
        *row = batch->rows[*end];
        bool repeats = has_moved || is_repeated(w, row);
        has_moved |= row->kind == MR_ROW_MOVE_ALL || row->kind == MR_ROW_DELETE_RANGE;
        if (!row->has_patch)
            continue;
        if ((w->truncate || repeats) && needs_read(batch->tbl, row))
            return MR_OK;
        enum mr_status status = resolve_row(w, row);
        if (status == MR_E_DATA)
            w->err->row = (int64_t)*end;
        MR_TRY(status);
    }
    return MR_OK;
}

static enum mr_status write_piece(struct work *w, size_t from, size_t end)
{
    struct mr_table_batch piece = *w->batch;

    piece.rows = w->rows;
    piece.row_count = end - from;
    piece.truncate_first = w->truncate;
    w->truncate = false;
    enum mr_status status = w->sink->ops->apply(w->sink, &piece, w->err);
    if (status != MR_OK && w->err->row >= 0)
        w->err->row += (int64_t)from;
    w->batch->all_new = w->batch->all_new && piece.all_new;
    for (size_t i = from; i < end; i++)
        w->batch->rows[i].was_there = w->rows[i - from].was_there;
    return status;
}

static enum mr_status apply_pieces(struct work *w)
{
    for (size_t from = 0, end = 0; from < w->batch->row_count; from = end) {
        MR_TRY(fill_piece(w, from, &end));
        MR_TRY(write_piece(w, from, end));
    }
    return MR_OK;
}

static bool has_patches(const struct mr_table_batch *batch)
{
    for (size_t i = 0; i < batch->row_count; i++)
        if (batch->rows[i].has_patch)
            return true;
    return false;
}

enum mr_status mr_patches_apply(struct mr_sink *sink, struct mr_table_batch *batch, struct mr_error *err)
{
    if (!has_patches(batch))
        return sink->ops->apply(sink, batch, err);
    struct work w = {.sink = sink, .batch = batch, .truncate = batch->truncate_first, .err = err};
    w.ar = mr_arena_create(0);
    w.keys = mr_map_create();
    struct mr_arena *rows = mr_arena_create(0);
    w.rows = mr_arena_alloc(rows, batch->row_count * sizeof *w.rows);
    enum mr_status status = apply_pieces(&w);
    mr_arena_destroy(rows);
    mr_map_destroy(w.keys, NULL);
    mr_arena_destroy(w.ar);
    return status;
}
