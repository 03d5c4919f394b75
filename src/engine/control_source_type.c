/* What schema topics told of the columns of source tables: see control.h. Kept for ever, since a topic may lose its beginning. */
#include "control_rows.h"

#define CHUNK_BYTES (4u << 20) /* of texts in one round trip; servers take 16 MiB by default (MariaDB) */

static void add_row(struct mr_control_json *json, const struct mr_source_type *row, struct mr_arena *ar)
{
    mr_control_json_object(json);
    mr_control_json_str(json, "topic", row->topic);
    mr_control_json_int(json, "partition", row->partition);
    mr_control_json_int(json, "record_offset", row->position);
    mr_control_json_int(json, "part", row->part);
    mr_control_json_str(json, "source_database", mr_control_escape(row->database, false, ar));
    mr_control_json_str(json, "source_table", mr_control_escape(row->table, false, ar));
    mr_control_json_str(json, "told", row->text);
    mr_control_json_end_object(json);
}

static enum mr_status save_chunk(struct mr_sink *sink, struct mr_str pipeline,
                                 const struct mr_source_type *rows, size_t count, size_t *done,
                                 struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_control_json json;
    size_t n = 0, bytes = 0;
    mr_control_json_begin(&json, ar);
    while (n < count && (n == 0 || bytes + rows[n].text.len < CHUNK_BYTES)) {
        bytes += rows[n].text.len + 256;
        add_row(&json, &rows[n++], ar);
    }
    struct mr_value params[2] = {mr_control_param(pipeline, ar)};
    enum mr_status status = mr_control_json_end(&json, &params[1], err);
    if (status == MR_OK)
        status = mr_control_run(sink, MR_Q_source_type_save, params, 2, NULL, err);
    mr_control_json_free(&json);
    mr_arena_destroy(ar);
    *done += n;
    return status;
}

enum mr_status mr_control_source_types_save(struct mr_sink *sink, struct mr_str pipeline,
                                            const struct mr_source_type *rows, size_t count,
                                            struct mr_error *err)
{
    for (size_t done = 0; done < count;)
        MR_TRY(save_chunk(sink, pipeline, rows + done, count - done, &done, err));
    return MR_OK;
}

/* One page; *last becomes its last row, with its topic in `ar`. */
static enum mr_status give_page(const struct mr_control_rows *rows, mr_source_type_fn fn, void *ctx,
                                struct mr_source_type *last, struct mr_arena *ar, struct mr_error *err)
{
    for (size_t i = 0; i < rows->count; i++) {
        const struct mr_value *cells = mr_control_row(rows, i);
        struct mr_source_type row = {
            .topic = mr_control_str(cells[0]),
            .partition = (int32_t)mr_control_int(cells[1]),
            .position = mr_control_int(cells[2]),
            .part = (int32_t)mr_control_int(cells[3]),
            .database = mr_control_unescape(mr_control_str(cells[4]), false, rows->ar),
            .table = mr_control_unescape(mr_control_str(cells[5]), false, rows->ar),
            .text = mr_control_str(cells[6]),
        };
        MR_TRY(fn(ctx, &row, err));
        *last = row;
    }
    last->topic = mr_arena_copy(ar, last->topic);
    return MR_OK;
}

enum mr_status mr_control_source_types(struct mr_sink *sink, struct mr_str pipeline, mr_source_type_fn fn,
                                       void *ctx, struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_source_type last = {.topic = MR_STR(""), .partition = -2, .position = -2, .part = -1};
    size_t got = MR_CONTROL_PAGE;
    enum mr_status status = MR_OK;
    while (status == MR_OK && got == MR_CONTROL_PAGE) {
        struct mr_value params[6] = {mr_control_param(pipeline, ar), mr_control_param(last.topic, ar),
                                     mr_value_int(last.partition),   mr_value_int(last.position),
                                     mr_value_int(last.part),        mr_value_int(MR_CONTROL_PAGE)};
        struct mr_control_rows rows;
        status = mr_control_fetch(sink, MR_Q_source_type_list, params, 6, 7, &rows, err);
        got = rows.count;
        if (status == MR_OK && got > 0)
            status = give_page(&rows, fn, ctx, &last, ar, err);
        mr_control_free(&rows);
    }
    mr_arena_destroy(ar);
    return status;
}
