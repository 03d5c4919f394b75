/* Tracked columns: every member of mr_tracked_column to a row and back. Types and kinds are written as people read them. */
#include "control_rows.h"

#include <jansson.h>

/* ---- Words ---- */

static const char *const origin_names[] = {[MR_OBSERVED] = "observed", [MR_TYPED] = "typed", [MR_SCHEMA] = "schema"};

static uint8_t origin_of(struct mr_str name)
{
    for (uint8_t i = 0; i < 3; i++) {
        if (mr_str_eq_z(name, origin_names[i]))
            return i;
    }
    return MR_OBSERVED;
}

static enum mr_policy policy_of(struct mr_str name)
{
    for (int i = MR_POLICY_UNSET; i <= MR_POLICY_FAIL; i++) {
        if (mr_str_eq_z(name, mr_policy_name((enum mr_policy)i)))
            return (enum mr_policy)i;
    }
    return MR_POLICY_UNSET;
}

static const char *kind_name(uint8_t kind, char out[32])
{
    if (kind == MR_T_NONE)
        return "null"; /* what showed no type */
    if (kind == MR_T_ARRAY)
        return "array";
    struct mr_type type = MR_TYPE(kind);
    type.open = kind == MR_T_DECIMAL;
    return mr_type_text(type, out);
}

/* ---- Saving ---- */

static void add_counts(struct mr_control_json *json, const uint64_t *counts)
{
    struct mr_buf text = MR_BUF_INIT(1u << 16);
    mr_buf_append_char(&text, '{');
    for (uint8_t kind = 0; kind < MR_TYPE_KINDS; kind++) {
        char name[32];
        if (counts[kind] == 0)
            continue;
        uint64_t count = counts[kind] < INT64_MAX ? counts[kind] : INT64_MAX;
        mr_buf_printf(&text, "%s\"%s\": %llu", text.len > 1 ? ", " : "", kind_name(kind, name), (unsigned long long)count);
    }
    mr_buf_append_char(&text, '}');
    mr_control_json_raw(json, "value_counts", mr_buf_str(&text));
    mr_buf_free(&text);
}

static void add_type(struct mr_control_json *json, const char *name_z, struct mr_type type)
{
    char text[32];
    if (type.kind == MR_T_NONE)
        mr_control_json_null(json, name_z);
    else
        mr_control_json_str(json, name_z, mr_str_z(mr_type_text(type, text)));
}

static void add_time(struct mr_control_json *json, const char *name_z, int64_t us)
{
    if (us == INT64_MIN)
        mr_control_json_null(json, name_z);
    else
        mr_control_json_int(json, name_z, us);
}

static void add_facts(struct mr_control_json *json, const struct mr_facts *facts)
{
    mr_control_json_int(json, "int_digits", facts->int_digits);
    mr_control_json_int(json, "frac_digits", facts->frac_digits);
    mr_control_json_uint(json, "max_abs", facts->max_abs);
    mr_control_json_int(json, "max_length", facts->max_len);
    mr_control_json_bool(json, "has_special", facts->has_special);
    mr_control_json_bool(json, "has_fraction", facts->has_fraction);
    mr_control_json_bool(json, "has_negative_time", facts->has_negative_time);
}

static void add_column(struct mr_control_json *json, const struct mr_tracked_column *col, uint32_t index)
{
    mr_control_json_object(json);
    mr_control_json_str(json, "column_name", col->name);
    mr_control_json_int(json, "column_index", index);
    mr_control_json_str(json, "path", mr_control_escape(col->path, true, json->ar));
    add_type(json, "type", col->type);
    mr_control_json_str(json, "type_origin", mr_str_z(origin_names[col->type.origin]));
    mr_control_json_bool(json, "declared_not_null", col->type.not_null);
    mr_control_json_str(json, "policy", mr_str_z(mr_policy_name(col->policy)));
    mr_control_json_bool(json, "is_key", col->is_key);
    mr_control_json_bool(json, "is_configured", col->configured);
    mr_control_json_bool(json, "is_by_hand", col->by_hand);
    mr_control_json_bool(json, "is_name_substituted", col->name_substituted);
    add_counts(json, col->counts);
    mr_control_json_uint(json, "conflict_count", col->conflicts);
    add_facts(json, &col->facts);
    mr_control_json_str(json, "first_topic", mr_control_escape(col->first.topic, false, json->ar));
    mr_control_json_int(json, "first_partition", col->first.partition);
    mr_control_json_int(json, "first_offset", col->first.offset);
    add_time(json, "first_time_us", col->first.time_us);
    mr_control_json_str(json, "widened_topic", mr_control_escape(col->widened.topic, false, json->ar));
    mr_control_json_int(json, "widened_partition", col->widened.partition);
    mr_control_json_int(json, "widened_offset", col->widened.offset);
    add_time(json, "widened_time_us", col->widened.time_us);
    add_type(json, "widened_from", col->widened_from);
    mr_control_json_str(json, "widened_from_origin", mr_str_z(origin_names[col->widened_from.origin]));
    mr_control_json_bool(json, "widened_from_not_null", col->widened_from.not_null);
    mr_control_json_end_object(json);
}

/* As many columns as fit one round trip; *done counts them. */
static enum mr_status save_some(struct mr_sink *sink, struct mr_str target_schema, struct mr_str target_table,
                                const struct mr_tracked_column *const *cols, const uint32_t *index, size_t count, size_t *done,
                                struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(0);
    size_t room = mr_control_room(sink);
    struct mr_control_json json;
    mr_control_json_begin(&json, ar);
    for (*done = 0; *done < count && (*done == 0 || json.buf.len < room); (*done)++)
        add_column(&json, cols[*done], index[*done]);
    struct mr_value params[3] = {mr_control_param(target_schema, ar), mr_control_param(target_table, ar)};
    enum mr_status status = mr_control_json_end(&json, &params[2], err);
    if (status == MR_OK)
        status = mr_control_run(sink, MR_Q_tracked_column_save, params, 3, NULL, err);
    mr_control_json_free(&json);
    mr_arena_destroy(ar);
    return status;
}

enum mr_status mr_control_columns_save(struct mr_sink *sink, struct mr_str target_schema, struct mr_str target_table,
                                       const struct mr_tracked_column *const *cols, const uint32_t *index, size_t count,
                                       struct mr_error *err)
{
    while (count > 0) {
        size_t done = 0;
        MR_TRY(save_some(sink, target_schema, target_table, cols, index, count, &done, err));
        cols += done;
        index += done;
        count -= done;
    }
    return MR_OK;
}

/* ---- Loading ---- */

static enum mr_status take_counts(struct mr_str text, uint64_t *counts, struct mr_error *err)
{
    json_t *object = json_loadb(text.ptr ? text.ptr : "", text.len, 0, NULL);
    if (!json_is_object(object)) {
        json_decref(object);
        return mr_fail(err, MR_E_CONFIG, "control table tracked_column: value_counts is no JSON object");
    }
    for (uint8_t kind = 0; kind < MR_TYPE_KINDS; kind++) {
        char name[32];
        json_t *count = json_object_get(object, kind_name(kind, name));
        counts[kind] = json_is_integer(count) && json_integer_value(count) > 0 ? (uint64_t)json_integer_value(count) : 0;
    }
    json_decref(object);
    return MR_OK;
}

static enum mr_status take_type(struct mr_value type, struct mr_value origin, struct mr_value not_null, struct mr_type *out,
                                struct mr_error *err)
{
    *out = MR_TYPE(MR_T_NONE);
    if (type.tag != MR_V_NULL && !mr_type_parse(mr_control_str(type), out))
        return mr_fail(err, MR_E_CONFIG, "control table tracked_column: \"%.*s\" is no type", MR_STR_FMT(mr_control_str(type)));
    out->origin = origin_of(mr_control_str(origin));
    out->not_null = mr_control_bool(not_null);
    return MR_OK;
}

static void take_place(const struct mr_value *cells, struct mr_arena *ar, struct mr_place *out)
{
    *out = (struct mr_place){
        .topic = mr_control_unescape(mr_control_str(cells[0]), false, ar),
        .partition = (int32_t)mr_control_int(cells[1]),
        .offset = mr_control_int(cells[2]),
        .time_us = cells[3].tag == MR_V_NULL ? INT64_MIN : mr_control_int(cells[3]),
    };
}

static void take_facts(const struct mr_value *cells, struct mr_facts *out)
{
    *out = (struct mr_facts){
        .int_digits = (uint32_t)mr_control_int(cells[0]),
        .frac_digits = (uint32_t)mr_control_int(cells[1]),
        .max_abs = mr_control_uint(cells[2]),
        .max_len = (uint32_t)mr_control_int(cells[3]),
        .has_special = mr_control_bool(cells[4]),
        .has_fraction = mr_control_bool(cells[5]),
        .has_negative_time = mr_control_bool(cells[6]),
    };
}

/* Column order as in tracked_column_list.sql. */
static enum mr_status take_column(const struct mr_value *cells, struct mr_arena *ar, struct mr_tracked_column *out,
                                  struct mr_error *err)
{
    *out = (struct mr_tracked_column){
        .name = mr_control_str(cells[0]),
        .path = mr_control_unescape(mr_control_str(cells[2]), true, ar),
        .policy = policy_of(mr_control_str(cells[6])),
        .is_key = mr_control_bool(cells[7]),
        .configured = mr_control_bool(cells[8]),
        .by_hand = mr_control_bool(cells[9]),
        .name_substituted = mr_control_bool(cells[10]),
        .conflicts = mr_control_uint(cells[12]),
    };
    MR_TRY(take_type(cells[3], cells[4], cells[5], &out->type, err));
    MR_TRY(take_counts(mr_control_str(cells[11]), out->counts, err));
    take_facts(&cells[13], &out->facts);
    take_place(&cells[20], ar, &out->first);
    take_place(&cells[24], ar, &out->widened);
    return take_type(cells[28], cells[29], cells[30], &out->widened_from, err);
}

enum mr_status mr_control_columns(struct mr_sink *sink, struct mr_str target_schema, struct mr_str target_table,
                                  mr_tracked_column_fn fn, void *ctx, struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_value params[2] = {mr_control_param(target_schema, ar), mr_control_param(target_table, ar)};
    struct mr_control_rows rows;
    enum mr_status status = mr_control_fetch(sink, MR_Q_tracked_column_list, params, 2, 31, &rows, err);
    for (size_t i = 0; status == MR_OK && i < rows.count; i++) {
        struct mr_tracked_column col;
        status = take_column(mr_control_row(&rows, i), rows.ar, &col, err);
        if (status == MR_OK)
            status = fn(ctx, &col, err);
    }
    mr_control_free(&rows);
    mr_arena_destroy(ar);
    return status;
}

/* ---- Plans ---- */

static struct mr_str plan_name(struct mr_str table, struct mr_arena *ar)
{
    return mr_arena_printf(ar, "millrace_planned:%.*s", MR_STR_FMT(table));
}

enum mr_status mr_control_plan(struct mr_sink *sink, struct mr_str target_schema, struct mr_str target_table, mr_tracked_column_fn fn,
                               void *ctx, struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(0);
    enum mr_status status = mr_control_columns(sink, target_schema, plan_name(target_table, ar), fn, ctx, err);
    mr_arena_destroy(ar);
    return status;
}

enum mr_status mr_control_plan_save(struct mr_sink *sink, struct mr_str target_schema, struct mr_str target_table,
                                    const struct mr_tracked_column *const *cols, const uint32_t *index, size_t count,
                                    struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(0);
    enum mr_status status = mr_control_columns_save(sink, target_schema, plan_name(target_table, ar), cols, index, count, err);
    mr_arena_destroy(ar);
    return status;
}
