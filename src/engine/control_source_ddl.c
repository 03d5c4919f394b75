/* What of the source's schema changes has been followed, and the tracked rows that change with it: see control.h. */
#include "control_rows.h"

static enum mr_status found(void *ctx, const struct mr_value *cells, size_t count, struct mr_error *err)
{
    (void)cells, (void)count, (void)err;
    *(bool *)ctx = true;
    return MR_OK;
}

static void place_of(struct mr_str pipeline, const struct mr_record *rec, uint32_t part, struct mr_arena *ar,
                     struct mr_value *params)
{
    params[0] = mr_control_param(pipeline, ar);
    params[1] = mr_control_param(mr_str_z(rec->part->topic_z), ar);
    params[2] = mr_value_int(rec->part->partition);
    params[3] = mr_value_int(rec->position);
    params[4] = mr_value_int(part);
}

enum mr_status mr_control_source_ddl_done(struct mr_sink *sink, struct mr_str pipeline,
                                          const struct mr_record *rec, uint32_t part, bool *done,
                                          struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_value params[5];
    *done = false;
    place_of(pipeline, rec, part, ar, params);
    enum mr_status status = sink->ops->exec(sink, MR_Q_source_ddl_get, params, 5, found, done, NULL, err);
    mr_arena_destroy(ar);
    return status;
}

enum mr_status mr_control_source_ddl_note(struct mr_sink *sink, struct mr_str pipeline,
                                          const struct mr_record *rec, uint32_t part, struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_value params[5];
    place_of(pipeline, rec, part, ar, params);
    enum mr_status status = mr_control_run(sink, MR_Q_source_ddl_add, params, 5, NULL, err);
    mr_arena_destroy(ar);
    return status;
}

/* A query all of whose parameters are texts. */
static enum mr_status run_texts(struct mr_sink *sink, enum mr_query query, const struct mr_str *texts,
                                size_t count, struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_value params[5];
    for (size_t i = 0; i < count; i++)
        params[i] = mr_control_param(texts[i], ar);
    enum mr_status status = mr_control_run(sink, query, params, count, NULL, err);
    mr_arena_destroy(ar);
    return status;
}

enum mr_status mr_control_column_rename(struct mr_sink *sink, struct mr_str target_schema,
                                        struct mr_str target_table, struct mr_str column, struct mr_str name,
                                        struct mr_str path, struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_str texts[] = {target_schema, target_table, column, name, mr_control_escape(path, true, ar)};
    enum mr_status status = run_texts(sink, MR_Q_tracked_column_rename, texts, 5, err);
    mr_arena_destroy(ar);
    return status;
}

enum mr_status mr_control_column_drop(struct mr_sink *sink, struct mr_str target_schema,
                                      struct mr_str target_table, struct mr_str column, struct mr_error *err)
{
    return run_texts(sink, MR_Q_tracked_column_drop, (struct mr_str[]){target_schema, target_table, column},
                     3, err);
}

enum mr_status mr_control_table_rename(struct mr_sink *sink, struct mr_str target_schema,
                                       struct mr_str target_table, struct mr_str new_schema,
                                       struct mr_str new_table, struct mr_error *err)
{
    MR_TRY(mr_control_table_drop(sink, new_schema, new_table, err));
    return run_texts(sink, MR_Q_tracked_table_rename,
                     (struct mr_str[]){target_schema, target_table, new_schema, new_table}, 4, err);
}

enum mr_status mr_control_table_drop(struct mr_sink *sink, struct mr_str target_schema,
                                     struct mr_str target_table, struct mr_error *err)
{
    return run_texts(sink, MR_Q_tracked_table_drop, (struct mr_str[]){target_schema, target_table}, 2, err);
}
