/* The schema epoch, tracked tables, topic facts, and the two histories. */
#include "control_rows.h"

#include <stdio.h>

/* ---- Schema epoch ---- */

static enum mr_status one_number(struct mr_sink *sink, enum mr_query query, int64_t *out, struct mr_error *err)
{
    struct mr_control_rows rows;
    enum mr_status status = mr_control_fetch(sink, query, NULL, 0, 1, &rows, err);
    if (status == MR_OK && rows.count != 1)
        status = mr_fail(err, MR_E_CONFIG, "the control table meta has lost its row");
    else if (status == MR_OK)
        *out = mr_control_int(rows.cells[0]);
    mr_control_free(&rows);
    return status;
}

enum mr_status mr_control_schema_epoch(struct mr_sink *sink, int64_t *epoch, struct mr_error *err)
{
    return one_number(sink, MR_Q_schema_epoch_get, epoch, err);
}

enum mr_status mr_control_raise_schema_epoch(struct mr_sink *sink, int64_t *epoch, struct mr_error *err)
{
    return one_number(sink, MR_Q_schema_epoch_raise, epoch, err);
}

/* ---- Tracked tables ---- */

static enum mr_status take_table(const struct mr_value *cells, struct mr_arena *ar, struct mr_tracked_table *out,
                                 struct mr_error *err)
{
    struct mr_str *paths;
    *out = (struct mr_tracked_table){
        .target_schema = mr_control_str(cells[0]),
        .target_table = mr_control_str(cells[1]),
        .database = mr_control_unescape(mr_control_str(cells[2]), false, ar),
        .table = mr_control_unescape(mr_control_str(cells[3]), false, ar),
        .topic = mr_control_unescape(mr_control_str(cells[4]), false, ar),
        .created_by_us = mr_control_bool(cells[6]),
        .expanded = mr_control_unescape(mr_control_str(cells[7]), true, ar),
    };
    if (!mr_control_json_list(mr_control_str(cells[5]), ar, &paths, &out->key_count))
        return mr_fail(err, MR_E_CONFIG, "control table tracked_table: the key paths of %.*s are no list of texts",
                       MR_STR_FMT(out->target_table));
    for (size_t i = 0; i < out->key_count; i++)
        paths[i] = mr_control_unescape(paths[i], true, ar);
    out->key_paths = paths;
    return MR_OK;
}

enum mr_status mr_control_tables(struct mr_sink *sink, mr_tracked_table_fn fn, void *ctx, struct mr_error *err)
{
    struct mr_control_rows rows;
    enum mr_status status = mr_control_fetch(sink, MR_Q_tracked_table_list, NULL, 0, 8, &rows, err);
    for (size_t i = 0; status == MR_OK && i < rows.count; i++) {
        struct mr_tracked_table tbl;
        status = take_table(mr_control_row(&rows, i), rows.ar, &tbl, err);
        if (status == MR_OK)
            status = fn(ctx, &tbl, err);
    }
    mr_control_free(&rows);
    return status;
}

enum mr_status mr_control_table_save(struct mr_sink *sink, const struct mr_tracked_table *tbl, struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_control_json keys;
    mr_control_json_begin(&keys, ar);
    for (size_t i = 0; i < tbl->key_count; i++)
        mr_control_json_element(&keys, mr_control_escape(tbl->key_paths[i], true, ar));
    struct mr_value params[8] = {
        mr_control_param(tbl->target_schema, ar),
        mr_control_param(tbl->target_table, ar),
        mr_control_param(mr_control_escape(tbl->database, false, ar), ar),
        mr_control_param(mr_control_escape(tbl->table, false, ar), ar),
        mr_control_param(mr_control_escape(tbl->topic, false, ar), ar),
        mr_value_null(),
        mr_value_bool(tbl->created_by_us),
        mr_control_param(mr_control_escape(tbl->expanded, true, ar), ar),
    };
    enum mr_status status = mr_control_json_end(&keys, &params[5], err);
    if (status == MR_OK)
        status = mr_control_run(sink, MR_Q_tracked_table_save, params, 8, NULL, err);
    mr_control_json_free(&keys);
    mr_arena_destroy(ar);
    return status;
}

/* ---- Topic facts ---- */

enum mr_status mr_control_topic_fact(struct mr_sink *sink, struct mr_str pipeline, struct mr_str topic,
                                     struct mr_topic_facts *facts, bool *found, struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_value params[2] = {mr_control_param(pipeline, ar), mr_control_param(topic, ar)};
    struct mr_control_rows rows;
    enum mr_status status = mr_control_fetch(sink, MR_Q_topic_fact_get, params, 2, 2, &rows, err);
    *found = status == MR_OK && rows.count > 0;
    if (*found) {
        struct mr_str format = mr_control_str(rows.cells[0]);
        snprintf(facts->format, sizeof(facts->format), "%.*s", MR_STR_FMT(format));
        facts->envelopes_seen = mr_control_bool(rows.cells[1]);
        facts->dirty = false;
    }
    mr_control_free(&rows);
    mr_arena_destroy(ar);
    return status;
}

enum mr_status mr_control_topic_fact_save(struct mr_sink *sink, struct mr_str pipeline, struct mr_str topic,
                                          const struct mr_topic_facts *facts, struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_value params[4] = {
        mr_control_param(pipeline, ar),
        mr_control_param(topic, ar),
        mr_control_param(mr_str_z(facts->format), ar),
        mr_value_bool(facts->envelopes_seen),
    };
    enum mr_status status = mr_control_run(sink, MR_Q_topic_fact_save, params, 4, NULL, err);
    mr_arena_destroy(ar);
    return status;
}

/* ---- Type history ---- */

static const char *const event_names[] = {
    [MR_TYPE_EVENT_CREATED] = "created", [MR_TYPE_EVENT_WIDENED] = "widened", [MR_TYPE_EVENT_NULLED] = "nulled",
    [MR_TYPE_EVENT_BY_HAND] = "by_hand", [MR_TYPE_EVENT_VARIANT] = "variant",
};
#define EVENT_COUNT (sizeof(event_names) / sizeof(event_names[0]))

static enum mr_type_event event_of(struct mr_str name)
{
    for (size_t i = 0; i < EVENT_COUNT; i++) {
        if (mr_str_eq_z(name, event_names[i]))
            return (enum mr_type_event)i;
    }
    return MR_TYPE_EVENT_CREATED;
}

static void add_history(struct mr_control_json *json, const struct mr_type_history_row *row, size_t i)
{
    mr_control_json_object(json);
    mr_control_json_int(json, "i", (int64_t)i);
    mr_control_json_str(json, "target_schema", row->target_schema);
    mr_control_json_str(json, "target_table", row->target_table);
    mr_control_json_str(json, "column_name", row->column);
    mr_control_json_str(json, "path", mr_control_escape(row->path, true, json->ar));
    mr_control_json_str(json, "event", mr_str_z(event_names[row->event]));
    mr_control_json_str(json, "from_type", row->from_type);
    mr_control_json_str(json, "to_type", row->to_type);
    mr_control_json_str(json, "message", row->message);
    mr_control_json_str(json, "topic", row->topic);
    mr_control_json_int(json, "partition", row->partition);
    mr_control_json_int(json, "record_offset", row->offset);
    mr_control_json_end_object(json);
}

/* As many lines as fit one round trip; *done counts them. */
static enum mr_status add_some_history(struct mr_sink *sink, const struct mr_type_history_row *rows, size_t count, size_t *done,
                                       struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(0);
    size_t room = mr_control_room(sink);
    struct mr_control_json json;
    mr_control_json_begin(&json, ar);
    for (*done = 0; *done < count && (*done == 0 || json.buf.len < room); (*done)++)
        add_history(&json, &rows[*done], *done);
    struct mr_value param;
    enum mr_status status = mr_control_json_end(&json, &param, err);
    if (status == MR_OK)
        status = mr_control_run(sink, MR_Q_type_history_add, &param, 1, NULL, err);
    mr_control_json_free(&json);
    mr_arena_destroy(ar);
    return status;
}

enum mr_status mr_control_type_history_add(struct mr_sink *sink, const struct mr_type_history_row *rows, size_t count,
                                           struct mr_error *err)
{
    while (count > 0) {
        size_t done = 0;
        MR_TRY(add_some_history(sink, rows, count, &done, err));
        rows += done;
        count -= done;
    }
    return MR_OK;
}

static enum mr_status give_type_history(const struct mr_control_rows *rows, mr_type_history_fn fn, void *ctx, int64_t *last,
                                        struct mr_error *err)
{
    for (size_t i = 0; i < rows->count; i++) {
        const struct mr_value *cells = mr_control_row(rows, i);
        struct mr_type_history_row row = {
            .id = mr_control_int(cells[0]),
            .at_us = mr_control_time_us(cells[1]),
            .target_schema = mr_control_str(cells[2]),
            .target_table = mr_control_str(cells[3]),
            .column = mr_control_str(cells[4]),
            .path = mr_control_unescape(mr_control_str(cells[5]), true, rows->ar),
            .event = event_of(mr_control_str(cells[6])),
            .from_type = mr_control_str(cells[7]),
            .to_type = mr_control_str(cells[8]),
            .message = mr_control_str(cells[9]),
            .topic = mr_control_str(cells[10]),
            .partition = (int32_t)mr_control_int(cells[11]),
            .offset = mr_control_int(cells[12]),
        };
        *last = row.id;
        MR_TRY(fn(ctx, &row, err));
    }
    return MR_OK;
}

enum mr_status mr_control_type_history(struct mr_sink *sink, struct mr_str target_schema, struct mr_str target_table,
                                       mr_type_history_fn fn, void *ctx, struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(0);
    int64_t last = 0;
    size_t got = MR_CONTROL_PAGE;
    enum mr_status status = MR_OK;
    while (status == MR_OK && got == MR_CONTROL_PAGE) {
        struct mr_value params[4] = {mr_control_param(target_schema, ar), mr_control_param(target_table, ar), mr_value_int(last),
                                     mr_value_int(MR_CONTROL_PAGE)};
        struct mr_control_rows rows;
        status = mr_control_fetch(sink, MR_Q_type_history_list, params, 4, 13, &rows, err);
        got = rows.count;
        if (status == MR_OK)
            status = give_type_history(&rows, fn, ctx, &last, err);
        mr_control_free(&rows);
    }
    mr_arena_destroy(ar);
    return status;
}

/* ---- DDL history ---- */

enum mr_status mr_control_ddl_history_add(struct mr_sink *sink, const struct mr_ddl_history_row *row, struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_value params[8] = {
        mr_control_param(row->target_schema, ar),
        mr_control_param(row->target_table, ar),
        mr_control_param(row->statement, ar),
        mr_control_param(row->reason, ar),
        mr_value_bool(row->rewrite),
        mr_control_param(row->topic, ar),
        mr_value_int(row->partition),
        mr_value_int(row->offset),
    };
    enum mr_status status = mr_control_run(sink, MR_Q_ddl_history_add, params, 8, NULL, err);
    mr_arena_destroy(ar);
    return status;
}

static enum mr_status give_ddl_history(const struct mr_control_rows *rows, mr_ddl_history_fn fn, void *ctx, int64_t *last,
                                       struct mr_error *err)
{
    for (size_t i = 0; i < rows->count; i++) {
        const struct mr_value *cells = mr_control_row(rows, i);
        struct mr_ddl_history_row row = {
            .id = mr_control_int(cells[0]),
            .at_us = mr_control_time_us(cells[1]),
            .target_schema = mr_control_str(cells[2]),
            .target_table = mr_control_str(cells[3]),
            .statement = mr_control_str(cells[4]),
            .reason = mr_control_str(cells[5]),
            .rewrite = mr_control_bool(cells[6]),
            .topic = mr_control_str(cells[7]),
            .partition = (int32_t)mr_control_int(cells[8]),
            .offset = mr_control_int(cells[9]),
        };
        *last = row.id;
        MR_TRY(fn(ctx, &row, err));
    }
    return MR_OK;
}

enum mr_status mr_control_ddl_history(struct mr_sink *sink, mr_ddl_history_fn fn, void *ctx, struct mr_error *err)
{
    int64_t last = 0;
    size_t got = MR_CONTROL_PAGE;
    enum mr_status status = MR_OK;
    while (status == MR_OK && got == MR_CONTROL_PAGE) {
        struct mr_value params[2] = {mr_value_int(last), mr_value_int(MR_CONTROL_PAGE)};
        struct mr_control_rows rows;
        status = mr_control_fetch(sink, MR_Q_ddl_history_list, params, 2, 10, &rows, err);
        got = rows.count;
        if (status == MR_OK)
            status = give_ddl_history(&rows, fn, ctx, &last, err);
        mr_control_free(&rows);
    }
    return status;
}
