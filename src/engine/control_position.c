/* Positions and the fence. A partition's lane rows carry one epoch, raised by every owner; a position moves only from where its owner left
 * it, under the owner's epoch, in the transaction of the rows. */
#include "control_rows.h"

#include <millrace/base/mem.h>

/* position_claim: $1 pipeline, $2 JSON (i, topic, partition), $3 lanes → i, lane, lanes, position, epoch. */
static enum mr_status take_claim(const struct mr_control_rows *rows, const struct mr_partition *const *parts, size_t count,
                                 struct mr_stored_position *out, struct mr_error *err)
{
    for (size_t i = 0; i < rows->count; i++) {
        const struct mr_value *row = mr_control_row(rows, i);
        int64_t index = mr_control_int(row[0]), lane = mr_control_int(row[1]), lanes = mr_control_int(row[2]);
        if (index < 0 || (uint64_t)index >= count)
            return mr_fail(err, MR_E_BUG, "a claim answered for partition %lld of %zu", (long long)index, count);
        if (lane < 0 || lane >= MR_MAX_LANES || lanes < 1 || lanes > MR_MAX_LANES)
            return mr_fail(err, MR_E_CONFIG, "the stored position of %s [%d] has lane %lld of %lld; at most %d are possible",
                           parts[index]->topic_z, (int)parts[index]->partition, (long long)lane, (long long)lanes, MR_MAX_LANES);
        struct mr_stored_position *stored = &out[index];
        stored->lanes = (uint32_t)lanes;
        stored->lane_position[lane] = mr_control_int(row[3]);
        stored->epoch = mr_control_int(row[4]);
    }
    for (size_t i = 0; i < count; i++) {
        if (out[i].lanes == 0)
            return mr_fail(err, MR_E_BUG, "the claim of %s [%d] gave no rows", parts[i]->topic_z, (int)parts[i]->partition);
    }
    return MR_OK;
}

enum mr_status mr_control_claim(struct mr_sink *sink, struct mr_str pipeline, const struct mr_partition *const *parts, size_t count,
                                uint32_t lanes, struct mr_stored_position *out, struct mr_error *err)
{
    if (count == 0)
        return MR_OK;
    for (size_t i = 0; i < count; i++) {
        out[i] = (struct mr_stored_position){0};
        for (size_t lane = 0; lane < MR_MAX_LANES; lane++)
            out[i].lane_position[lane] = -1;
    }
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_control_json json;
    mr_control_json_begin(&json, ar);
    for (size_t i = 0; i < count; i++) {
        mr_control_json_object(&json);
        mr_control_json_int(&json, "i", (int64_t)i);
        mr_control_json_str(&json, "topic", mr_str_z(parts[i]->topic_z));
        mr_control_json_int(&json, "partition", parts[i]->partition);
        mr_control_json_end_object(&json);
    }
    struct mr_control_rows rows = {0};
    struct mr_value params[3] = {mr_control_param(pipeline, ar), mr_value_null(), mr_value_int(lanes)};
    enum mr_status status;
    MR_TRY_DONE(mr_control_json_end(&json, &params[1], err));
    MR_TRY_DONE(mr_control_fetch(sink, MR_Q_position_claim, params, 3, 5, &rows, err));
    status = take_claim(&rows, parts, count, out, err);
done:
    mr_control_free(&rows);
    mr_control_json_free(&json);
    mr_arena_destroy(ar);
    return status;
}

enum mr_status mr_control_positions(struct mr_sink *sink, mr_position_fn fn, void *ctx, struct mr_error *err)
{
    struct mr_control_rows rows;
    enum mr_status status = mr_control_fetch(sink, MR_Q_position_list, NULL, 0, 8, &rows, err);
    for (size_t i = 0; status == MR_OK && i < rows.count; i++) {
        const struct mr_value *cells = mr_control_row(&rows, i);
        struct mr_position_row row = {
            .pipeline = mr_control_str(cells[0]),
            .topic = mr_control_str(cells[1]),
            .partition = (int32_t)mr_control_int(cells[2]),
            .lane = (uint32_t)mr_control_int(cells[3]),
            .lanes = (uint32_t)mr_control_int(cells[4]),
            .position = mr_control_int(cells[5]),
            .epoch = mr_control_int(cells[6]),
            .updated_us = mr_control_time_us(cells[7]),
        };
        status = fn(ctx, &row, err);
    }
    mr_control_free(&rows);
    return status;
}

/* ---- Store ---- */

static enum mr_status moves_json(const struct mr_position_move *moves, size_t count, struct mr_control_json *json,
                                 struct mr_arena *ar, struct mr_value *out, struct mr_error *err)
{
    mr_control_json_begin(json, ar);
    for (size_t i = 0; i < count; i++) {
        mr_control_json_object(json);
        mr_control_json_int(json, "i", (int64_t)i);
        mr_control_json_str(json, "topic", mr_str_z(moves[i].part->topic_z));
        mr_control_json_int(json, "partition", moves[i].part->partition);
        mr_control_json_int(json, "lane", moves[i].lane);
        mr_control_json_int(json, "old", moves[i].from);
        mr_control_json_int(json, "new", moves[i].to);
        mr_control_json_int(json, "epoch", moves[i].epoch);
        mr_control_json_end_object(json);
    }
    return mr_control_json_end(json, out, err);
}

/* Which one is not ours. The rows that are have been moved in this transaction already, so only the epoch can tell; a position that is not
 * where we left it under our own epoch shows as none found. */
static enum mr_status name_fenced(struct mr_sink *sink, const struct mr_value *params, const struct mr_position_move *moves,
                                  size_t count, int64_t matched, struct mr_error *err)
{
    struct mr_control_rows rows;
    enum mr_status status = mr_control_fetch(sink, MR_Q_position_check, params, 2, 3, &rows, err);
    if (status == MR_OK && rows.count > 0) {
        const struct mr_value *row = mr_control_row(&rows, 0);
        int64_t i = mr_control_int(row[0]);
        const struct mr_position_move *move = &moves[i >= 0 && (size_t)i < count ? i : 0];
        if (row[1].tag == MR_V_NULL)
            status = mr_fail(err, MR_E_FENCED, "the position of %s [%d], lane %u, is gone from the target", move->part->topic_z,
                             (int)move->part->partition, (unsigned)move->lane);
        else
            status = mr_fail(err, MR_E_FENCED, "%s [%d] belongs to another instance now (epoch %lld, ours %lld)",
                             move->part->topic_z, (int)move->part->partition, (long long)mr_control_int(row[1]),
                             (long long)move->epoch);
    } else if (status == MR_OK) {
        status = mr_fail(err, MR_E_FENCED,
                         "%lld of %zu positions were where this instance had left them; the first is %s [%d], from %lld",
                         (long long)matched, count, moves[0].part->topic_z, (int)moves[0].part->partition,
                         (long long)moves[0].from);
    }
    mr_control_free(&rows);
    return status;
}

enum mr_status mr_control_store(struct mr_sink *sink, struct mr_str pipeline, const struct mr_position_move *moves, size_t count,
                                int64_t *schema_epoch, struct mr_error *err)
{
    if (count == 0)
        return mr_control_schema_epoch(sink, schema_epoch, err);
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_control_json json;
    struct mr_control_rows rows = {0};
    struct mr_value params[2] = {mr_control_param(pipeline, ar)};
    enum mr_status status;
    MR_TRY_DONE(moves_json(moves, count, &json, ar, &params[1], err));
    MR_TRY_DONE(mr_control_fetch(sink, MR_Q_position_store, params, 2, 2, &rows, err));
    if (rows.count != 1) {
        status = mr_fail(err, MR_E_CONFIG, "the control table meta has lost its row");
        goto done;
    }
    int64_t matched = mr_control_int(rows.cells[0]);
    if (matched != (int64_t)count)
        status = name_fenced(sink, params, moves, count, matched, err);
    else if (rows.cells[1].tag == MR_V_NULL)
        status = mr_fail(err, MR_E_CONFIG, "the control table meta has lost its row");
    else
        *schema_epoch = mr_control_int(rows.cells[1]);
done:
    mr_control_free(&rows);
    mr_control_json_free(&json);
    mr_arena_destroy(ar);
    return status;
}

enum mr_status mr_control_set_lanes(struct mr_sink *sink, struct mr_str pipeline, const struct mr_partition *part, uint32_t lanes,
                                    int64_t position, int64_t epoch, struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_value params[6] = {
        mr_control_param(pipeline, ar), mr_control_param(mr_str_z(part->topic_z), ar), mr_value_int(part->partition),
        mr_value_int(lanes),            mr_value_int(position),                        mr_value_int(epoch),
    };
    struct mr_control_rows rows;
    enum mr_status status = mr_control_fetch(sink, MR_Q_position_set_lanes, params, 6, 1, &rows, err);
    if (status == MR_OK && (rows.count != 1 || mr_control_int(rows.cells[0]) != (int64_t)lanes))
        status = mr_fail(err, MR_E_FENCED, "%s [%d] belongs to another instance now", part->topic_z, (int)part->partition);
    mr_control_free(&rows);
    mr_arena_destroy(ar);
    return status;
}

enum mr_status mr_control_forget(struct mr_sink *sink, struct mr_str pipeline, const struct mr_partition *part, struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_value params[3] = {
        mr_control_param(pipeline, ar),
        part ? mr_control_param(mr_str_z(part->topic_z), ar) : mr_value_null(),
        mr_value_int(part ? part->partition : 0),
    };
    enum mr_status status = mr_control_run(sink, MR_Q_position_forget, params, 3, NULL, err);
    if (status == MR_OK) /* what is read anew is done anew */
        status = mr_control_run(sink, MR_Q_source_ddl_forget, params, 3, NULL, err);
    mr_arena_destroy(ar);
    return status;
}
