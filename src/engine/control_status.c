/* The control rows of the status events: see control_status.h. */
#include "control_status.h"

#include "control_rows.h"

/* status_number: $1 datamart, $2 deltas, $3 writes → first delta, first write. */
enum mr_status mr_control_status_number(struct mr_sink *sink, struct mr_str datamart, int64_t deltas,
                                        int64_t cns, int64_t *first_delta, int64_t *first_cn,
                                        struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_control_rows rows;
    struct mr_value params[] = {mr_control_param(datamart, ar), mr_value_int(deltas), mr_value_int(cns)};
    enum mr_status status = mr_control_fetch(sink, MR_Q_status_number, params, 3, 2, &rows, err);
    if (status == MR_OK && rows.count != 1)
        status = mr_fail(err, MR_E_BUG, "the numbers of a datamart are in %zu rows", rows.count);
    if (status == MR_OK) {
        *first_delta = mr_control_int(mr_control_row(&rows, 0)[0]);
        *first_cn = mr_control_int(mr_control_row(&rows, 0)[1]);
    }
    mr_control_free(&rows);
    mr_arena_destroy(ar);
    return status;
}

/* ---- the outbox ---- */

/* A query over a topic and a JSON list. */
static enum mr_status run_list(struct mr_sink *sink, enum mr_query query, struct mr_str topic,
                               struct mr_control_json *json, struct mr_error *err)
{
    struct mr_value params[] = {mr_control_param(topic, json->ar), mr_value_null()};
    enum mr_status status = mr_control_json_end(json, &params[1], err);
    if (status == MR_OK)
        status = mr_control_run(sink, query, params, 2, NULL, err);
    mr_control_json_free(json);
    return status;
}

enum mr_status mr_control_status_add(struct mr_sink *sink, struct mr_str topic,
                                     const struct mr_status_waiting *events, size_t count,
                                     struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(0);
    enum mr_status status = MR_OK;
    for (size_t i = 0; i < count && status == MR_OK;) {
        struct mr_control_json json;
        mr_control_json_begin(&json, ar);
        for (size_t first = i; i < count && i - first < MR_CONTROL_PAGE; i++) {
            mr_control_json_object(&json);
            mr_control_json_int(&json, "i", (int64_t)i);
            mr_control_json_str(&json, "event_id", events[i].event_id);
            mr_control_json_str(&json, "key", events[i].key);
            mr_control_json_str(&json, "value", events[i].value);
            mr_control_json_end_object(&json);
        }
        status = run_list(sink, MR_Q_status_outbox_add, topic, &json, err);
    }
    mr_arena_destroy(ar);
    return status;
}

enum mr_status mr_control_status_waiting(struct mr_sink *sink, struct mr_str topic, size_t most,
                                         struct mr_arena *ar, struct mr_status_waiting **events,
                                         size_t *count, struct mr_error *err)
{
    struct mr_control_rows rows;
    struct mr_value params[] = {mr_control_param(topic, ar), mr_value_int((int64_t)most)};
    enum mr_status status = mr_control_fetch(sink, MR_Q_status_outbox_list, params, 2, 4, &rows, err);
    *count = 0;
    if (status == MR_OK) {
        *count = rows.count;
        *events = mr_arena_alloc(ar, (rows.count + 1) * sizeof **events);
    }
    for (size_t i = 0; status == MR_OK && i < rows.count; i++) {
        const struct mr_value *cells = mr_control_row(&rows, i);
        (*events)[i] = (struct mr_status_waiting){
            .id = mr_control_int(cells[0]),
            .event_id = mr_arena_copy(ar, mr_control_str(cells[1])),
            .key = mr_arena_copy(ar, mr_control_str(cells[2])),
            .value = mr_arena_copy(ar, mr_control_str(cells[3])),
        };
    }
    mr_control_free(&rows);
    return status;
}

enum mr_status mr_control_status_sent(struct mr_sink *sink, struct mr_str topic,
                                      const struct mr_status_waiting *events, size_t count,
                                      struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_control_json json;
    mr_control_json_begin(&json, ar);
    for (size_t i = 0; i < count; i++) {
        mr_control_json_object(&json);
        mr_control_json_int(&json, "id", events[i].id);
        mr_control_json_end_object(&json);
    }
    enum mr_status status = run_list(sink, MR_Q_status_outbox_sent, topic, &json, err);
    mr_arena_destroy(ar);
    return status;
}

enum mr_status mr_control_status_found(struct mr_sink *sink, struct mr_str topic, const struct mr_str *keys,
                                       size_t count, struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_control_json json;
    mr_control_json_begin(&json, ar);
    for (size_t i = 0; i < count; i++) {
        mr_control_json_object(&json);
        mr_control_json_str(&json, "key", keys[i]);
        mr_control_json_end_object(&json);
    }
    enum mr_status status = run_list(sink, MR_Q_status_outbox_found, topic, &json, err);
    mr_arena_destroy(ar);
    return status;
}

enum mr_status mr_control_status_count(struct mr_sink *sink, mr_status_count_fn fn, void *ctx,
                                       struct mr_error *err)
{
    struct mr_control_rows rows;
    enum mr_status status = mr_control_fetch(sink, MR_Q_status_outbox_count, NULL, 0, 3, &rows, err);
    for (size_t i = 0; status == MR_OK && i < rows.count; i++) {
        const struct mr_value *cells = mr_control_row(&rows, i);
        status =
            fn(ctx, mr_control_str(cells[0]), mr_control_int(cells[1]), mr_control_time_us(cells[2]), err);
    }
    mr_control_free(&rows);
    return status;
}

/* ---- who sends ---- */

enum mr_status mr_control_status_lease(struct mr_sink *sink, struct mr_str topic, struct mr_str owner,
                                       int64_t ms, bool *is_ours, int64_t *sent_from, struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_control_rows rows;
    struct mr_value params[] = {mr_control_param(topic, ar), mr_control_param(owner, ar), mr_value_int(ms)};
    enum mr_status status = mr_control_fetch(sink, MR_Q_status_lease, params, 3, 1, &rows, err);
    *is_ours = status == MR_OK && rows.count > 0;
    if (*is_ours)
        *sent_from = mr_control_int(mr_control_row(&rows, 0)[0]);
    mr_control_free(&rows);
    mr_arena_destroy(ar);
    return status;
}

enum mr_status mr_control_status_release(struct mr_sink *sink, struct mr_str topic, struct mr_str owner,
                                         struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_value params[] = {mr_control_param(topic, ar), mr_control_param(owner, ar)};
    enum mr_status status = mr_control_run(sink, MR_Q_status_release, params, 2, NULL, err);
    mr_arena_destroy(ar);
    return status;
}

enum mr_status mr_control_status_sent_from(struct mr_sink *sink, struct mr_str topic, struct mr_str owner,
                                           int64_t offset, struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_control_rows rows;
    struct mr_value params[] = {mr_control_param(topic, ar), mr_control_param(owner, ar),
                                mr_value_int(offset)};
    enum mr_status status = mr_control_fetch(sink, MR_Q_status_sent_from, params, 3, 1, &rows, err);
    if (status == MR_OK && rows.count == 0)
        status = mr_fail(err, MR_E_FENCED, "another instance sends the status events of \"%.*s\" now",
                         MR_STR_FMT(topic));
    mr_control_free(&rows);
    mr_arena_destroy(ar);
    return status;
}

/* ---- planned changes ---- */

enum mr_status mr_control_status_plan(struct mr_sink *sink, struct mr_str schema, struct mr_str table,
                                      struct mr_str shape, struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_value params[] = {mr_control_param(schema, ar), mr_control_param(table, ar),
                                mr_control_param(shape, ar)};
    enum mr_status status = mr_control_run(sink, MR_Q_status_planned_add, params, 3, NULL, err);
    mr_arena_destroy(ar);
    return status;
}

enum mr_status mr_control_status_planned(struct mr_sink *sink, mr_status_planned_fn fn, void *ctx,
                                         struct mr_error *err)
{
    struct mr_control_rows rows;
    enum mr_status status = mr_control_fetch(sink, MR_Q_status_planned_list, NULL, 0, 3, &rows, err);
    for (size_t i = 0; status == MR_OK && i < rows.count; i++) {
        const struct mr_value *cells = mr_control_row(&rows, i);
        status = fn(ctx, mr_control_str(cells[0]), mr_control_str(cells[1]), mr_control_str(cells[2]), err);
    }
    mr_control_free(&rows);
    return status;
}

enum mr_status mr_control_status_unplan(struct mr_sink *sink, struct mr_str schema, struct mr_str table,
                                        struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_value params[] = {mr_control_param(schema, ar), mr_control_param(table, ar)};
    enum mr_status status = mr_control_run(sink, MR_Q_status_planned_forget, params, 2, NULL, err);
    mr_arena_destroy(ar);
    return status;
}
