/* Events into the outbox: see status_outbox.h. */
#include "status_outbox.h"

#include <sys/random.h>

#include <millrace/base/encode.h>
#include <millrace/base/hash.h>
#include <millrace/base/log.h>
#include <millrace/base/time.h>

#include "control_rows.h"

#define MAX_TRIES 5

bool mr_status_is_on(const struct mr_config *cfg)
{
    return cfg->status_topic != NULL && *cfg->status_topic != 0;
}

/* ---- names ---- */

/* sqlite:/data/shop.db → shop */
static struct mr_str file_stem(struct mr_str url)
{
    size_t from = 0, end = url.len;
    for (size_t i = 0; i < url.len; i++)
        if (url.ptr[i] == '/' || url.ptr[i] == ':')
            from = i + 1;
    for (size_t i = from + 1; i < url.len; i++)
        if (url.ptr[i] == '.')
            end = i;
    return mr_str_of(url.ptr + from, end - from);
}

/* The datamart of a table in that schema. */
static struct mr_str datamart_of(struct mr_sink *sink, const struct mr_config *cfg, struct mr_str schema,
                                 struct mr_arena *ar)
{
    if (*cfg->status_datamart)
        return mr_str_z(cfg->status_datamart);
    if (schema.len > 0)
        return schema;
    struct mr_buf name = MR_BUF_INIT(4096);
    sink->ops->default_schema(cfg, &name);
    struct mr_str out = mr_arena_copy(ar, mr_buf_str(&name));
    mr_buf_free(&name);
    if (out.len == 0)
        out = file_stem(mr_str_z(cfg->target_url));
    return out.len > 0 ? out : MR_STR("millrace");
}

/* ---- a list of events ---- */

struct events {
    struct mr_arena *ar;
    const struct mr_config *cfg;
    struct mr_status_waiting *items;
    size_t count, cap;
    bool no_ids; /* the system gives no random bytes */
};

static struct mr_str copy_and_free(struct mr_buf *buf, struct mr_arena *ar)
{
    struct mr_str out = mr_arena_copy(ar, mr_buf_str(buf));
    mr_buf_free(buf);
    return out;
}

static void add(struct events *list, struct mr_status_event ev)
{
    char id[37];
    struct mr_buf key = MR_BUF_INIT(1u << 20), value = MR_BUF_INIT(1u << 20);
    if (mr_status_event_is_write(ev.action) && !list->cfg->status_write_operations)
        return;
    if (getrandom(ev.id, sizeof ev.id, 0) != (ssize_t)sizeof ev.id)
        list->no_ids = true;
    ev.id[6] = (unsigned char)((ev.id[6] & 0x0f) | 0x40); /* version 4 */
    ev.id[8] = (unsigned char)((ev.id[8] & 0x3f) | 0x80);
    mr_uuid_format(ev.id, id);
    mr_status_event_key(&ev, &key);
    mr_status_event_value(&ev, &value);
    if (list->count == list->cap) {
        size_t cap = list->cap * 2 + 8;
        struct mr_status_waiting *bigger = mr_arena_alloc(list->ar, cap * sizeof *bigger);
        if (list->count > 0)
            memcpy(bigger, list->items, list->count * sizeof *bigger);
        list->items = bigger;
        list->cap = cap;
    }
    list->items[list->count++] = (struct mr_status_waiting){
        .event_id = mr_arena_copy(list->ar, mr_str_z(id)),
        .key = copy_and_free(&key, list->ar),
        .value = copy_and_free(&value, list->ar),
    };
}

static enum mr_status save(struct events *list, struct mr_sink *sink, struct mr_error *err)
{
    if (list->no_ids)
        return mr_fail(err, MR_E_ENV, "the system gives no random bytes for the ids of status events");
    return mr_control_status_add(sink, mr_str_z(list->cfg->status_topic), list->items, list->count, err);
}

/* ---- deltas ---- */

/* What the job has done to one table, in however many parts. */
struct write {
    const struct mr_table *tbl;
    size_t rows, refused;
    bool has_truncate;
    int64_t done_us;
};

/* The tables of one datamart that the job has written. */
struct delta {
    struct mr_str datamart;
    struct write *writes;
    size_t count;
};

/* By name: all lanes lock the rows of datamarts in one order. */
static struct delta *delta_of(struct delta *deltas, size_t *count, struct mr_str datamart, size_t room,
                              struct mr_arena *ar)
{
    size_t at = 0;
    while (at < *count && mr_str_cmp(deltas[at].datamart, datamart) < 0)
        at++;
    if (at < *count && mr_str_eq(deltas[at].datamart, datamart))
        return &deltas[at];
    memmove(&deltas[at + 1], &deltas[at], (*count - at) * sizeof *deltas);
    deltas[at] =
        (struct delta){.datamart = datamart, .writes = mr_arena_alloc(ar, room * sizeof *deltas->writes)};
    (*count)++;
    return &deltas[at];
}

static struct write *write_of(struct delta *delta, const struct mr_table *tbl)
{
    for (size_t i = 0; i < delta->count; i++)
        if (mr_str_eq(delta->writes[i].tbl->name, tbl->name) &&
            mr_str_eq(delta->writes[i].tbl->schema, tbl->schema))
            return &delta->writes[i];
    delta->writes[delta->count] = (struct write){.tbl = tbl};
    return &delta->writes[delta->count++];
}

static struct delta *sort_tables(struct mr_sink *sink, const struct mr_config *cfg, const struct mr_job *job,
                                 size_t reached, size_t *count, struct mr_arena *ar)
{
    struct delta *deltas = mr_arena_alloc(ar, (reached + 1) * sizeof *deltas);
    *count = 0;
    for (size_t i = 0; i < reached; i++) {
        const struct mr_job_table *jt = &job->tables[i];
        if (jt->rows.row_count == 0 && !jt->rows.truncate_first)
            continue;
        const struct mr_table *tbl = jt->rows.tbl;
        struct write *write =
            write_of(delta_of(deltas, count, datamart_of(sink, cfg, tbl->schema, ar), reached, ar), tbl);
        write->rows += jt->rows.row_count;
        write->refused += jt->refused;
        write->has_truncate = write->has_truncate || (jt->rows.truncate_first && !jt->truncate_refused);
        write->done_us = jt->done_us > write->done_us ? jt->done_us : write->done_us;
    }
    return deltas;
}

static enum mr_status tell_delta(struct events *list, struct mr_sink *sink, const struct mr_job *job,
                                 const struct delta *delta, bool cancelled, struct mr_error *err)
{
    int64_t number = 0, cn = 0;
    MR_TRY(mr_control_status_number(sink, delta->datamart, 1, (int64_t)delta->count, &number, &cn, err));
    struct mr_status_event ev = {.datamart = delta->datamart, .delta = number, .has_cn = true};
    ev.action = MR_STATUS_BATCH_OPENED;
    ev.at_us = job->began_us;
    add(list, ev);
    for (size_t i = 0; i < delta->count; i++) {
        const struct write *write = &delta->writes[i];
        bool abandoned = cancelled || (write->refused >= write->rows &&
                                       !write->has_truncate); /* none of its rows got in */
        ev.action = abandoned ? MR_STATUS_WRITE_CANCELLED : MR_STATUS_WRITE_COMPLETED;
        ev.at_us = ev.done_us = abandoned ? mr_now_us() : write->done_us;
        ev.entity = write->tbl->name;
        ev.cn = cn++;
        add(list, ev);
    }
    ev.action = cancelled ? MR_STATUS_BATCH_ROLLED_BACK : MR_STATUS_BATCH_COMMITTED;
    ev.at_us = ev.done_us = mr_now_us();
    add(list, ev);
    return MR_OK;
}

static enum mr_status tell_job(struct mr_sink *sink, const struct mr_config *cfg, const struct mr_job *job,
                               size_t reached, bool cancelled, struct mr_error *err)
{
    struct events list = {.ar = mr_arena_create(0), .cfg = cfg};
    size_t count = 0;
    struct delta *deltas = sort_tables(sink, cfg, job, reached, &count, list.ar);
    enum mr_status status = MR_OK;
    for (size_t i = 0; i < count && status == MR_OK; i++)
        status = tell_delta(&list, sink, job, &deltas[i], cancelled, err);
    if (status == MR_OK && list.count > 0)
        status = save(&list, sink, err);
    mr_arena_destroy(list.ar);
    return status;
}

enum mr_status mr_status_delta_closed(struct mr_sink *sink, const struct mr_config *cfg,
                                      const struct mr_job *job, struct mr_error *err)
{
    return mr_status_is_on(cfg) ? tell_job(sink, cfg, job, job->table_count, false, err) : MR_OK;
}

static enum mr_status cancel_once(struct mr_sink *sink, const struct mr_config *cfg, const struct mr_job *job,
                                  struct mr_error *err)
{
    MR_TRY(sink->ops->begin(sink, err));
    enum mr_status status = tell_job(sink, cfg, job, job->reached, true, err);
    if (status == MR_OK)
        status = sink->ops->commit(sink, err);
    if (status != MR_OK)
        sink->ops->rollback(sink);
    return status;
}

void mr_status_delta_cancelled(struct mr_sink *sink, const struct mr_config *cfg, const struct mr_job *job)
{
    struct mr_error err = {0};
    enum mr_status status = MR_E_BUSY;
    if (!mr_status_is_on(cfg) || sink == NULL || job->reached == 0)
        return;
    for (int tries = 0; status == MR_E_BUSY && tries < MAX_TRIES; tries++)
        status = cancel_once(sink, cfg, job, &err);
    if (status != MR_OK)
        mr_log_error(MR_LOG_INFO, "a delta that was rolled back is not told in the status topic", &err);
}

/* ---- tables ---- */

enum mr_status mr_status_schema_changed(struct mr_sink *sink, const struct mr_config *cfg,
                                        enum mr_status_action action, struct mr_str schema,
                                        struct mr_str table, struct mr_error *err)
{
    if (!mr_status_is_on(cfg))
        return MR_OK;
    struct events list = {.ar = mr_arena_create(0), .cfg = cfg};
    add(&list, (struct mr_status_event){.action = action,
                                        .datamart = datamart_of(sink, cfg, schema, list.ar),
                                        .at_us = mr_now_us()});
    enum mr_status status = save(&list, sink, err);
    if (status == MR_OK && sink->ops->ddl_commits)
        status = mr_control_status_unplan(sink, schema, table, err);
    mr_arena_destroy(list.ar);
    return status;
}

/* A hash of everything that DDL of ours changes. */
static void append_shape(const struct mr_catalog_table *now, struct mr_buf *out)
{
    struct mr_buf text = MR_BUF_INIT(16u << 20);
    mr_buf_append_char(&text, now->exists ? '1' : '0');
    for (size_t i = 0; i < now->column_count; i++) {
        mr_buf_append_json(&text, now->columns[i].name);
        mr_buf_append_json(&text, now->columns[i].native);
        mr_buf_append_char(&text, now->columns[i].nullable ? '0' : '1');
        mr_buf_append_char(&text, now->columns[i].merges_texts ? '1' : '0');
    }
    for (size_t i = 0; i < now->key_count; i++)
        mr_buf_append_json(&text, now->key[i]);
    struct mr_str all = mr_buf_str(&text);
    mr_buf_printf(out, "%016llx%016llx", (unsigned long long)mr_hash(all.ptr, all.len, 0),
                  (unsigned long long)mr_hash(all.ptr, all.len, 1));
    mr_buf_free(&text);
}

enum mr_status mr_status_plan(struct mr_sink *sink, const struct mr_config *cfg, struct mr_str schema,
                              struct mr_str table, const struct mr_catalog_table *now, struct mr_error *err)
{
    if (!mr_status_is_on(cfg) || !sink->ops->ddl_commits)
        return MR_OK;
    struct mr_buf shape = MR_BUF_INIT(64);
    append_shape(now, &shape);
    enum mr_status status = mr_control_status_plan(sink, schema, table, mr_buf_str(&shape), err);
    mr_buf_free(&shape);
    return status;
}

struct settle {
    struct mr_sink *sink;
    const struct mr_config *cfg;
};

static enum mr_status settle_in_transaction(const struct settle *s, struct mr_str schema, struct mr_str table,
                                            struct mr_str before, struct mr_arena *ar, struct mr_error *err)
{
    struct mr_catalog_table now = {0};
    struct mr_buf shape = MR_BUF_INIT(64);
    MR_TRY(s->sink->ops->describe_table(s->sink, schema, table, ar, &now, err));
    append_shape(&now, &shape);
    bool has_changed = !mr_str_eq(mr_buf_str(&shape), before);
    mr_buf_free(&shape);
    return has_changed
               ? mr_status_schema_changed(s->sink, s->cfg, MR_STATUS_TABLE_ALTERED, schema, table, err)
               : mr_control_status_unplan(s->sink, schema, table, err);
}

static enum mr_status settle_one(void *ctx, struct mr_str schema, struct mr_str table, struct mr_str before,
                                 struct mr_error *err)
{
    const struct settle *s = ctx;
    const struct mr_sink_ops *ops = s->sink->ops;
    MR_TRY(ops->begin(s->sink, err));
    struct mr_arena *ar = mr_arena_create(0);
    enum mr_status status = settle_in_transaction(s, schema, table, before, ar, err);
    mr_arena_destroy(ar);
    if (status == MR_OK)
        status = ops->commit(s->sink, err);
    if (status != MR_OK)
        ops->rollback(s->sink);
    return status;
}

enum mr_status mr_status_settle(struct mr_sink *sink, const struct mr_config *cfg, struct mr_error *err)
{
    struct settle s = {sink, cfg};
    if (!mr_status_is_on(cfg) || !sink->ops->ddl_commits)
        return MR_OK;
    return mr_control_status_planned(sink, settle_one, &s, err);
}
