/* The whole engine on a stage: a scripted source, and SQLite (or another target) behind a sink that can be told to fail at chosen calls. Everything between is
 * the real thing: decoders, trackers, appliers as threads, control tables, positions and fence. The sink claims that several connections may
 * write (they wait for one another), so that any number of lanes can be driven.
 *
 *   stage_begin();                       a new database and an empty script
 *   stage_part("shop.t", 0);             partitions, in order of their numbers here
 *   stage_put(0, "{\"id\":1}", "{…}");   records (NULL = null)
 *   stage_at(20, STAGE_REVOKE, 1u << 0); what happens when so many records have been given out
 *   stage_fail("applier 1", ON_COMMIT, 2, MR_E_ENV, AFTER);
 *   stage_run(cfg);                      until everything is read and stored
 */
#ifndef MILLRACE_TEST_ENGINE_FLOW_H
#define MILLRACE_TEST_ENGINE_FLOW_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <pthread.h>
#include <sqlite3.h>

#include <millrace/base/log.h>
#include <millrace/base/mem.h>
#include <millrace/base/time.h>
#include <millrace/engine.h>

#include "sink/sqlite/internal.h"

#define MAX_PARTS 8
#define UNUSED __attribute__((unused))

/* ---- The script ---- */

struct stage_record {
    char *key, *value; /* NULL = null */
};

struct stage_part {
    struct mr_partition part;
    char *topic_z;
    struct stage_record *records;
    size_t count, cap;
    bool assigned, dropped;
    int64_t next;      /* index of the record to be given out next */
    int64_t committed; /* as the engine told */
};

enum stage_what {
    STAGE_REVOKE, /* the partitions are taken in order */
    STAGE_LOSE,   /* they are gone already */
    STAGE_ASSIGN,
    STAGE_CALL,   /* run a function of the test */
};

struct stage_action {
    size_t after;   /* records given out */
    bool in_pause;  /* only inside a poll that wants nothing */
    enum stage_what what;
    unsigned parts; /* bit set */
    void (*fn)(void);
};

enum stage_call { ON_CONNECT, ON_BEGIN, ON_COMMIT, ON_APPLY, ON_EXEC, ON_DDL, ON_DESCRIBE, ON_SAVEPOINT };
enum stage_when { BEFORE, AFTER };

struct stage_fault {
    const char *who;  /* "applier 0", "applier", "control", "" = any */
    enum stage_call on;
    int query;        /* ON_EXEC: enum mr_query */
    unsigned nth;     /* the first call that fails … */
    unsigned times;   /* … and how many from there on */
    enum mr_status status;
    enum stage_when when;
    void (*fn)(void); /* called before the fault; status OK: only this */
    unsigned seen;
};

struct stage_connection {
    struct mr_sink *sink;
    char who[32];
    bool broken;
};

static struct {
    const struct mr_sink_ops *base; /* the sink behind */
    const char *more_settings[2];   /* what it needs; NULL nothing */
    char dir[64], url[512];
    pthread_mutex_t lock;
    struct stage_part parts[MAX_PARTS];
    size_t part_count;
    struct stage_action actions[32];
    size_t action_count, action_done;
    struct stage_fault faults[32];
    size_t fault_count;
    struct stage_connection connections[64];
    size_t applied[16];  /* successful calls of apply, by lane */
    size_t begun;        /* transactions of appliers */
    bool slow;           /* appliers take their time */
    bool follows;        /* mode run: the end comes as an error once everything is stored */
    bool from_end;       /* without a stored position reading begins at the present end */
    bool names_rows;     /* the sink tells which row it refuses */
    struct mr_engine_stats stats;
    struct mr_error err;
} stage;

static UNUSED size_t stage_part(const char *topic_z, int32_t partition)
{
    struct stage_part *p = &stage.parts[stage.part_count];
    p->topic_z = mr_xstrdup(topic_z);
    p->part = (struct mr_partition){.topic_z = p->topic_z, .partition = partition, .index = (uint32_t)stage.part_count};
    p->committed = -1;
    return stage.part_count++;
}

static UNUSED void stage_put(size_t part, const char *key_z, const char *value_z)
{
    struct stage_part *p = &stage.parts[part];
    p->records = mr_xgrow(p->records, &p->cap, p->count + 1, sizeof *p->records);
    p->records[p->count++] = (struct stage_record){key_z ? mr_xstrdup(key_z) : NULL, value_z ? mr_xstrdup(value_z) : NULL};
}

static UNUSED void stage_at(size_t after, enum stage_what what, unsigned parts)
{
    stage.actions[stage.action_count++] = (struct stage_action){.after = after, .what = what, .parts = parts};
}

static UNUSED void stage_call_at(size_t after, void (*fn)(void))
{
    stage.actions[stage.action_count++] = (struct stage_action){.after = after, .what = STAGE_CALL, .fn = fn};
}

static UNUSED void stage_in_pause(size_t after, enum stage_what what, unsigned parts)
{
    stage.actions[stage.action_count++] = (struct stage_action){.after = after, .in_pause = true, .what = what, .parts = parts};
}

static UNUSED struct stage_fault *stage_fail(const char *who, enum stage_call on, unsigned nth, enum mr_status status, enum stage_when when)
{
    struct stage_fault *f = &stage.faults[stage.fault_count++];
    *f = (struct stage_fault){.who = who, .on = on, .query = -1, .nth = nth, .times = 1, .status = status, .when = when};
    return f;
}

/* ---- The source ---- */

struct mr_source {
    const struct mr_source_listener *listener;
    bool paused, began;
    size_t given;
    size_t out; /* records not yet released */
};

static void stage_assign(struct mr_source *src, unsigned set)
{
    const struct mr_partition *parts[MAX_PARTS] = {0};
    int64_t positions[MAX_PARTS];
    size_t count = 0;
    for (size_t i = 0; i < stage.part_count; i++) {
        if (!(set >> i & 1))
            continue;
        positions[count] = stage.from_end ? (int64_t)stage.parts[i].count : MR_POSITION_NONE;
        parts[count++] = &stage.parts[i].part;
    }
    if (src->listener->assigned(src->listener->ctx, parts, count, positions, &stage.err) != MR_OK)
        return;
    for (size_t i = 0; i < count; i++) {
        struct stage_part *p = &stage.parts[parts[i]->index];
        p->assigned = true;
        p->dropped = false;
        p->next = positions[i] < 0 ? 0 : positions[i];
    }
}

static void stage_take(struct mr_source *src, unsigned set, bool lost)
{
    const struct mr_partition *parts[MAX_PARTS] = {0};
    size_t count = 0;
    for (size_t i = 0; i < stage.part_count; i++) {
        if (!(set >> i & 1) || !stage.parts[i].assigned)
            continue;
        parts[count++] = &stage.parts[i].part;
        stage.parts[i].assigned = false;
    }
    if (count > 0)
        src->listener->revoked(src->listener->ctx, parts, count, lost);
}

/* Everything that is due. */
static void stage_act(struct mr_source *src, bool in_pause)
{
    while (stage.action_done < stage.action_count) {
        struct stage_action *a = &stage.actions[stage.action_done];
        if (src->given < a->after || (a->in_pause && !in_pause))
            return;
        stage.action_done++;
        if (a->what == STAGE_CALL)
            a->fn();
        else if (a->what == STAGE_ASSIGN)
            stage_assign(src, a->parts);
        else
            stage_take(src, a->parts, a->what == STAGE_LOSE);
    }
}

static enum mr_status stage_create(const struct mr_config *cfg, bool bounded, const struct mr_source_listener *listener,
                                   struct mr_source **out, struct mr_error *err)
{
    (void)cfg, (void)bounded, (void)err;
    *out = mr_xcalloc(1, sizeof **out);
    (*out)->listener = listener;
    return MR_OK;
}

/* One record; its bytes are its own, so that whoever keeps them too long is caught. */
static void stage_give(struct mr_source *src, struct stage_part *p, struct mr_record *rec)
{
    const struct stage_record *r = &p->records[p->next];
    char *key = r->key ? mr_xstrdup(r->key) : NULL, *value = r->value ? mr_xstrdup(r->value) : NULL;
    char **own = mr_xcalloc(2, sizeof *own);
    own[0] = key;
    own[1] = value;
    *rec = (struct mr_record){
        .part = &p->part, .position = p->next + 1, .topic = mr_str_z(p->topic_z), .partition = p->part.partition, .offset = p->next,
        .timestamp_ms = 1000, .key = mr_str_z(key ? key : ""), .value = mr_str_z(value ? value : ""), .has_key = key != NULL,
        .has_value = value != NULL, .owner = own};
    p->next++;
    src->given++;
    src->out++;
}

static bool all_stored(void)
{
    for (size_t i = 0; i < stage.part_count; i++)
        if (stage.parts[i].assigned && stage.parts[i].committed < (int64_t)stage.parts[i].count)
            return false;
    return true;
}

static enum mr_status stage_poll(struct mr_source *src, struct mr_arena *ar, struct mr_record *out, size_t cap, size_t max_bytes,
                                 int timeout_ms, size_t *count, enum mr_poll_state *state, struct mr_error *err)
{
    (void)ar, (void)max_bytes;
    bool in_pause = cap == 0 || src->paused;
    *count = 0;
    *state = MR_POLL_IDLE;
    if (!src->began) {
        src->began = true;
        stage_assign(src, (1u << stage.part_count) - 1);
    }
    stage_act(src, in_pause);
    if (in_pause) {
        usleep((useconds_t)(timeout_ms < 5 ? timeout_ms : 5) * 1000);
        return MR_OK;
    }
    size_t most = cap < 7 ? cap : 7; /* small helpings, the partitions by turns */
    bool more = true;
    while (more && *count < most) {
        more = false;
        for (size_t i = 0; i < stage.part_count && *count < most; i++) {
            struct stage_part *p = &stage.parts[i];
            const struct stage_action *due = stage.action_done < stage.action_count ? &stage.actions[stage.action_done] : NULL;
            bool held = due && !due->in_pause && src->given >= due->after;
            if (held || !p->assigned || p->dropped || p->next >= (int64_t)p->count)
                continue;
            stage_give(src, p, &out[(*count)++]);
            more = true;
        }
    }
    if (*count > 0) {
        *state = MR_POLL_MORE;
        return MR_OK;
    }
    if (stage.action_done < stage.action_count) { /* so many records will never be given out: now, then */
        struct stage_action *due = &stage.actions[stage.action_done];
        src->given = src->given > due->after ? src->given : due->after;
        stage.action_done += due->in_pause;
        return MR_OK;
    }
    if (!stage.follows)
        *state = MR_POLL_END;
    else if (all_stored())
        return mr_fail(err, MR_E_CONFIG, "the end of the play");
    else
        usleep(1000);
    return MR_OK;
}

static void stage_release(struct mr_source *src, struct mr_record *records, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char **own = records[i].owner;
        mr_xfree(own[0]);
        mr_xfree(own[1]);
        mr_xfree(own);
        src->out--;
    }
}

static void stage_commit(struct mr_source *src, const struct mr_partition *const *parts, const int64_t *positions, size_t count)
{
    (void)src;
    for (size_t i = 0; i < count; i++)
        stage.parts[parts[i]->index].committed = positions[i];
}

static void stage_destroy(struct mr_source *src)
{
    assert_int_equal(src->out, 0);
    stage_take(src, (1u << stage.part_count) - 1, false);
    mr_xfree(src);
}

static void stage_pause(struct mr_source *src)
{
    src->paused = true;
}

static void stage_resume(struct mr_source *src)
{
    src->paused = false;
}

static void stage_drop(struct mr_source *src, const struct mr_partition *part)
{
    (void)src;
    stage.parts[part->index].dropped = true;
}

static const struct mr_source_ops stage_source = {
    .name = "stage", .create = stage_create, .poll = stage_poll, .release = stage_release, .commit = stage_commit,
    .destroy = stage_destroy, .pause = stage_pause, .resume = stage_resume, .drop = stage_drop,
};

/* ---- The sink ---- */

static struct mr_sink_ops stage_sink;

static struct stage_connection *connection_of(const struct mr_sink *sink)
{
    struct stage_connection *found = NULL;
    pthread_mutex_lock(&stage.lock);
    for (size_t i = 0; i < 64 && !found; i++)
        if (stage.connections[i].sink == sink)
            found = &stage.connections[i];
    pthread_mutex_unlock(&stage.lock);
    return found;
}

/* Does this call fail? */
static struct stage_fault *stage_strike(const char *who, enum stage_call on, int query, enum stage_when when)
{
    struct stage_fault *hit = NULL;
    pthread_mutex_lock(&stage.lock);
    for (size_t i = 0; i < stage.fault_count && !hit; i++) {
        struct stage_fault *f = &stage.faults[i];
        if (f->on != on || f->when != when || (f->query >= 0 && f->query != query) || strncmp(who, f->who, strlen(f->who)) != 0)
            continue;
        f->seen++;
        if (f->seen >= f->nth && f->seen < f->nth + f->times)
            hit = f;
    }
    pthread_mutex_unlock(&stage.lock);
    if (hit && hit->fn)
        hit->fn();
    return hit && hit->status != MR_OK ? hit : NULL;
}

static enum mr_status stage_refusal(struct stage_fault *f, struct stage_connection *c, struct mr_error *err)
{
    if (f->status == MR_E_ENV && c)
        c->broken = true;
    if (f->status == MR_E_DATA)
        return mr_fail_data(err, MR_CODE_REFUSED, "as the script wants");
    return mr_fail(err, f->status, "as the script wants");
}

static enum mr_status stage_around(struct mr_sink *sink, enum stage_call on, int query, enum stage_when when, struct mr_error *err)
{
    struct stage_connection *c = connection_of(sink);
    if (c->broken)
        return mr_fail(err, MR_E_ENV, "the connection is broken");
    struct stage_fault *f = stage_strike(c->who, on, query, when);
    return f ? stage_refusal(f, c, err) : MR_OK;
}

static enum mr_status stage_connect(const struct mr_sink_options *opt, struct mr_sink **out, struct mr_error *err)
{
    const char *who = opt->application_z + strlen("millrace ");
    struct stage_fault *f = stage_strike(who, ON_CONNECT, -1, BEFORE);
    if (f)
        return stage_refusal(f, NULL, err);
    MR_TRY(stage.base->connect(opt, out, err));
    (*out)->ops = &stage_sink;
    pthread_mutex_lock(&stage.lock);
    struct stage_connection *c = stage.connections;
    while (c->sink)
        c++;
    *c = (struct stage_connection){.sink = *out};
    snprintf(c->who, sizeof c->who, "%s", who);
    pthread_mutex_unlock(&stage.lock);
    return MR_OK;
}

static void stage_disconnect(struct mr_sink *sink)
{
    if (!sink)
        return;
    struct stage_connection *c = connection_of(sink);
    stage.base->destroy(sink);
    pthread_mutex_lock(&stage.lock);
    c->sink = NULL;
    pthread_mutex_unlock(&stage.lock);
}

static bool stage_is_alive(struct mr_sink *sink)
{
    return !connection_of(sink)->broken && stage.base->is_alive(sink);
}

static enum mr_status stage_begin_txn(struct mr_sink *sink, struct mr_error *err)
{
    MR_TRY(stage_around(sink, ON_BEGIN, -1, BEFORE, err));
    return stage.base->begin(sink, err);
}

static enum mr_status stage_commit_txn(struct mr_sink *sink, struct mr_error *err)
{
    MR_TRY(stage_around(sink, ON_COMMIT, -1, BEFORE, err));
    MR_TRY(stage.base->commit(sink, err));
    return stage_around(sink, ON_COMMIT, -1, AFTER, err);
}

static enum mr_status stage_savepoint(struct mr_sink *sink, struct mr_error *err)
{
    MR_TRY(stage_around(sink, ON_SAVEPOINT, -1, BEFORE, err));
    return stage.base->savepoint(sink, err);
}

static enum mr_status stage_exec(struct mr_sink *sink, enum mr_query query, const struct mr_value *params, size_t count, mr_row_fn on_row,
                                 void *ctx, uint64_t *affected, struct mr_error *err)
{
    MR_TRY(stage_around(sink, ON_EXEC, (int)query, BEFORE, err));
    MR_TRY(stage.base->exec(sink, query, params, count, on_row, ctx, affected, err));
    return stage_around(sink, ON_EXEC, (int)query, AFTER, err);
}

/* The target refuses every row that holds the text "poison"; a named row or none, as real ones do. */
static bool is_poisoned(const struct mr_table_batch *batch, size_t row)
{
    for (size_t i = 0; i < batch->tbl->column_count; i++) {
        struct mr_value v = batch->rows[row].cells[i];
        if (v.tag == MR_V_TEXT && mr_str_eq_z(mr_value_str(v), "poison"))
            return true;
    }
    return false;
}

static enum mr_status stage_apply(struct mr_sink *sink, struct mr_table_batch *batch, struct mr_error *err)
{
    if (stage.slow)
        usleep(20000);
    MR_TRY(stage_around(sink, ON_APPLY, -1, BEFORE, err));
    MR_TRY(stage.base->apply(sink, batch, err));
    for (size_t i = 0; i < batch->row_count; i++) {
        if (!is_poisoned(batch, i))
            continue;
        mr_fail_data(err, MR_CODE_CONSTRAINT, "poison");
        err->row = stage.names_rows ? (int64_t)i : -1;
        return MR_E_DATA;
    }
    return stage_around(sink, ON_APPLY, -1, AFTER, err);
}

static enum mr_status stage_describe(struct mr_sink *sink, struct mr_str schema, struct mr_str table, struct mr_arena *ar,
                                     struct mr_catalog_table *out, struct mr_error *err)
{
    MR_TRY(stage_around(sink, ON_DESCRIBE, -1, BEFORE, err));
    return stage.base->describe_table(sink, schema, table, ar, out, err);
}

static enum mr_status stage_ddl(struct mr_sink *sink, const struct mr_ddl_step *step, const struct mr_catalog_table *now,
                                struct mr_arena *ar, struct mr_str *statement, struct mr_error *err)
{
    MR_TRY(stage_around(sink, ON_DDL, -1, BEFORE, err));
    MR_TRY(stage.base->ddl(sink, step, now, ar, statement, err));
    return stage_around(sink, ON_DDL, -1, AFTER, err);
}

/* ---- Running ---- */

static void stage_wrap(const struct mr_sink_ops *base)
{
    stage.base = base;
    stage_sink = *base;
    stage_sink.single_writer = false;
    stage_sink.connect = stage_connect;
    stage_sink.destroy = stage_disconnect;
    stage_sink.is_alive = stage_is_alive;
    stage_sink.begin = stage_begin_txn;
    stage_sink.commit = stage_commit_txn;
    stage_sink.savepoint = stage_savepoint;
    stage_sink.exec = stage_exec;
    stage_sink.apply = stage_apply;
    stage_sink.describe_table = stage_describe;
    stage_sink.ddl = stage_ddl;
}

static UNUSED void stage_begin(void)
{
    memset(&stage, 0, sizeof stage);
    pthread_mutex_init(&stage.lock, NULL);
    snprintf(stage.dir, sizeof stage.dir, "%s/millrace-flow-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(stage.dir))
        fail_msg("no temporary folder");
    snprintf(stage.url, sizeof stage.url, "sqlite:%s/target.db", stage.dir);
    stage_wrap(&mr_sink_sqlite);
}

static UNUSED void stage_forget_script(void)
{
    stage.action_count = stage.action_done = stage.fault_count = 0;
    for (size_t i = 0; i < stage.part_count; i++) {
        stage.parts[i].assigned = stage.parts[i].dropped = false;
        stage.parts[i].next = 0;
        stage.parts[i].committed = -1;
    }
}

static UNUSED void stage_end(void)
{
    char command[128];
    for (size_t i = 0; i < stage.part_count; i++) {
        for (size_t k = 0; k < stage.parts[i].count; k++) {
            mr_xfree(stage.parts[i].records[k].key);
            mr_xfree(stage.parts[i].records[k].value);
        }
        mr_xfree(stage.parts[i].records);
        mr_xfree(stage.parts[i].topic_z);
    }
    snprintf(command, sizeof command, "rm -rf '%s'", stage.dir);
    assert_int_equal(system(command), 0);
}

/* "key=value" each. */
#define stage_config(...) stage_config_list((const char *const[]){__VA_ARGS__, NULL})
static UNUSED struct mr_config *stage_config_list(const char *const *sets)
{
    struct mr_setting settings[32] = {
        {"source.kafka.brokers", "nowhere:9092", "--set"}, {"source.kafka.topics", "[x]", "--set"}, {"pipeline", "play", "--set"},
        {"target.url", stage.url, "--set"}, {"target.table", "{table}", "--set"}, {"batch.interval", "1s", "--set"},
        {"shutdown.timeout", "5s", "--set"}};
    char keys[32][128];
    size_t count = 7;
    struct mr_config *cfg = NULL;
    for (size_t i = 0; *sets || (i < 2 && stage.more_settings[i]); count++) {
        const char *set = *sets ? *sets++ : stage.more_settings[i++], *equals = strchr(set, '=');
        snprintf(keys[count], sizeof keys[count], "%.*s", (int)(equals - set), set);
        settings[count] = (struct mr_setting){keys[count], equals + 1, "--set"};
    }
    if (mr_config_load(NULL, settings, count, &cfg, &stage.err) != MR_OK)
        fail_msg("%s", stage.err.message);
    return cfg;
}

static UNUSED enum mr_status stage_run(struct mr_config *cfg, uint32_t lanes)
{
    enum mr_unreachable unreachable;
    cfg->appliers = lanes; /* more than the option allows for SQLite */
    struct mr_engine_parts parts = {
        .cfg = cfg, .source = &stage_source, .sink = &stage_sink, .mode = stage.follows ? MR_MODE_RUN : MR_MODE_BACKFILL};
    stage.err = (struct mr_error){0};
    enum mr_status status = mr_engine_run(&parts, &stage.stats, &unreachable, &stage.err);
    if (stage.follows && status == MR_E_CONFIG && strcmp(stage.err.message, "the end of the play") == 0)
        status = MR_OK;
    return status;
}

static UNUSED void stage_run_ok(struct mr_config *cfg, uint32_t lanes)
{
    enum mr_status status = stage_run(cfg, lanes);
    if (status != MR_OK)
        fail_msg("%s: %s %s", mr_status_name(status), stage.err.message, stage.err.hint);
}

/* ---- What stands in the target ---- */

static sqlite3 *stage_open(void)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(stage.url + strlen("sqlite:"), &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 10000);
    return db;
}

static UNUSED void stage_sql(const char *sql_z)
{
    sqlite3 *db = stage_open();
    if (sqlite3_exec(db, sql_z, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql_z, sqlite3_errmsg(db));
    sqlite3_close(db);
}

/* All rows as text, cells by ' ', rows by ';'. The caller frees. */
static UNUSED char *stage_rows(const char *sql_z)
{
    sqlite3 *db = stage_open();
    sqlite3_stmt *stmt = NULL;
    struct mr_buf out = MR_BUF_INIT(1u << 26);
    if (sqlite3_prepare_v2(db, sql_z, -1, &stmt, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql_z, sqlite3_errmsg(db));
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        mr_buf_append_z(&out, out.len > 0 ? ";" : "");
        for (int i = 0; i < sqlite3_column_count(stmt); i++) {
            const char *text = (const char *)sqlite3_column_text(stmt, i);
            mr_buf_append_z(&out, i > 0 ? " " : "");
            mr_buf_append_z(&out, text ? text : "-");
        }
    }
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    char *text = mr_xstrndup(out.data ? out.data : "", out.len);
    mr_buf_free(&out);
    return text;
}

static UNUSED void stage_expect(const char *sql_z, const char *rows_z)
{
    char *rows = stage_rows(sql_z);
    if (strcmp(rows, rows_z) != 0)
        fail_msg("%s\n   gives %s\n   not   %s", sql_z, rows, rows_z);
    mr_xfree(rows);
}

#endif
