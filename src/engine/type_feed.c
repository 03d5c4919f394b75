/* Schema topics: see type_feed.h. */
#include "type_feed.h"

#include <millrace/base/log.h>
#include <millrace/base/map.h>
#include <millrace/base/mem.h>
#include <millrace/base/time.h>

#define READ_MS 2000         /* of one attempt; in between there is an ear for a stop */
#define LOOK_AGAIN_MS 60000  /* for a topic that was not there */
#define STRANGE_RECORDS 1000 /* so many without a schema change, and it is no schema topic */

/* The topic of one connector. */
struct topic {
    char *name_z;
    struct mr_feed *feed; /* NULL: not there */
    int64_t look_again_ms;
    uint64_t records, changes; /* read; of those, schema changes */
    bool is_fresh;             /* read to the end since records were polled */
    bool is_told;              /* the log has a line about its trouble */
};

struct mr_type_feeds {
    const struct mr_config *cfg;
    const struct mr_feed_ops *ops;
    struct mr_decoder_set *decoders;
    struct mr_map *topics; /* by prefix */
    struct topic *last;    /* of the last call */
    struct mr_str last_prefix;
    struct mr_arena *ar; /* of one record */
    mr_feed_pause_fn pause;
    void *ctx;
};

static void destroy_topic(void *value)
{
    struct topic *t = value;
    mr_xfree(t->name_z);
    mr_xfree(t);
}

/* The configured name, or the prefix. */
static char *topic_name(const struct mr_config *cfg, struct mr_str prefix)
{
    struct mr_str text = mr_str_z(cfg->debezium_schema_topic);
    struct mr_buf out = MR_BUF_INIT(prefix.len * 8 + text.len + 16);
    if (text.len == 0 || mr_str_eq_z(text, "auto"))
        return mr_xstrndup(prefix.ptr, prefix.len);
    while (text.len > 0) {
        static const struct mr_str mark = {"{prefix}", 8};
        bool is_mark = mr_str_starts(text, mark);
        size_t len = is_mark ? mark.len : 1;
        mr_buf_append_str(&out, is_mark ? prefix : mr_str_of(text.ptr, 1));
        text = mr_str_of(text.ptr + len, text.len - len);
    }
    char *name_z = mr_xstrdup(mr_buf_z(&out));
    mr_buf_free(&out);
    return name_z;
}

static bool is_named(const struct mr_type_feeds *tf)
{
    return tf->cfg->debezium_schema_topic != NULL && strcmp(tf->cfg->debezium_schema_topic, "auto") != 0;
}

static struct topic *topic_of(struct mr_type_feeds *tf, struct mr_str prefix)
{
    if (tf->last != NULL && mr_str_eq(tf->last_prefix, prefix))
        return tf->last;
    struct topic *t = mr_map_get(tf->topics, prefix);
    if (t == NULL) {
        t = mr_xcalloc(1, sizeof *t);
        t->name_z = topic_name(tf->cfg, prefix);
        mr_map_put(tf->topics, prefix, t);
    }
    tf->last = t;
    for (size_t i = 0; i < mr_map_count(tf->topics); i++) { /* the map's own copy of the key */
        struct mr_str key;
        if (mr_map_at(tf->topics, i, &key) == t)
            tf->last_prefix = key;
    }
    return t;
}

/* ---- reading ---- */

struct reading {
    struct mr_type_feeds *tf;
    struct topic *topic;
};

static enum mr_status on_record(void *ctx, const struct mr_record *rec, struct mr_error *err)
{
    struct reading *r = ctx;
    bool is_change = false;
    r->topic->records++;
    enum mr_status status = mr_decoder_set_learn(r->tf->decoders, rec, r->tf->ar, &is_change, err);
    r->topic->changes += is_change;
    mr_arena_reset(r->tf->ar);
    return status;
}

static void give_up(struct mr_type_feeds *tf, struct topic *t, const char *why_z)
{
    tf->ops->close(t->feed);
    t->feed = NULL;
    t->look_again_ms = mr_monotonic_ms() + LOOK_AGAIN_MS;
    if (!t->is_told)
        mr_log(MR_LOG_WARN, "rows without a schema are taken as they look", MR_KV_Z("topic", t->name_z),
               MR_KV_Z("reason", why_z),
               MR_KV_Z("hint", "set debezium.schema_topic, or the columns' types with types.columns"));
    t->is_told = true;
}

static enum mr_status open_topic(struct mr_type_feeds *tf, struct topic *t, struct mr_error *err)
{
    if (t->feed != NULL || (t->look_again_ms != 0 && mr_monotonic_ms() < t->look_again_ms))
        return MR_OK;
    enum mr_status status = tf->ops->open(tf->cfg, t->name_z, &t->feed, err);
    if (status == MR_E_CONFIG && !is_named(tf)) {
        give_up(tf, t, err->message);
        return MR_OK;
    }
    MR_TRY(status);
    if (t->feed == NULL && is_named(tf)) {
        status = mr_fail(err, MR_E_CONFIG, "debezium.schema_topic: there is no topic \"%s\"", t->name_z);
        mr_error_hint(err, "set it to auto or none, or to the name that the connector gives its schema "
                           "changes (topic.prefix)");
        return status;
    }
    if (t->feed == NULL)
        give_up(tf, t, "there is no schema topic of that name");
    return MR_OK;
}

static enum mr_status read_topic(struct mr_type_feeds *tf, struct topic *t, struct mr_error *err)
{
    struct reading r = {tf, t};
    bool is_first = t->records == 0;
    MR_TRY(open_topic(tf, t, err));
    if (t->feed != NULL)
        MR_TRY(tf->ops->read(t->feed, READ_MS, on_record, &r, err));
    if (t->feed != NULL && is_first)
        mr_log(MR_LOG_INFO, "schema topic read", MR_KV_Z("topic", t->name_z),
               MR_KV_INT("records", t->records), MR_KV_INT("changes", t->changes));
    if (t->feed != NULL && t->changes == 0 && t->records >= STRANGE_RECORDS)
        give_up(tf, t, "that topic holds no schema changes");
    return MR_OK;
}

/* Trouble of the brokers is waited out: the source waits for them, too. */
static enum mr_status refresh(void *ctx, struct mr_str prefix, bool *there, struct mr_error *err)
{
    struct mr_type_feeds *tf = ctx;
    struct topic *t = topic_of(tf, prefix);
    *there = t->feed != NULL;
    if (t->is_fresh)
        return MR_OK;
    enum mr_status status;
    for (bool is_first = true; (status = read_topic(tf, t, err)) == MR_E_ENV; is_first = false) {
        if (is_first)
            mr_log_error(MR_LOG_WARN, "the schema topic cannot be read; waiting", err);
        MR_TRY(tf->pause(tf->ctx, 500, err));
    }
    MR_TRY(status);
    t->is_fresh = true;
    *there = t->feed != NULL;
    return MR_OK;
}

static enum mr_status wait_more(void *ctx, struct mr_str prefix, struct mr_error *err)
{
    struct mr_type_feeds *tf = ctx;
    bool there;
    MR_TRY(tf->pause(tf->ctx, 100, err));
    topic_of(tf, prefix)->is_fresh = false;
    return refresh(tf, prefix, &there, err);
}

/* ---- life ---- */

struct mr_type_feeds *mr_type_feeds_create(const struct mr_config *cfg, const struct mr_source_ops *source,
                                           struct mr_decoder_set *decoders, mr_feed_pause_fn pause, void *ctx)
{
    struct mr_type_feeds *tf = mr_xcalloc(1, sizeof *tf);
    struct mr_types_host host = {.ctx = tf, .refresh = refresh, .wait = wait_more};
    tf->cfg = cfg;
    tf->ops = source->feed;
    tf->decoders = decoders;
    tf->topics = mr_map_create();
    tf->ar = mr_arena_create(0);
    tf->pause = pause;
    tf->ctx = ctx;
    mr_decoder_set_types_host(decoders, source->feed == NULL ? NULL : &host);
    return tf;
}

void mr_type_feeds_stale(struct mr_type_feeds *tf)
{
    for (size_t i = 0; i < mr_map_count(tf->topics); i++)
        ((struct topic *)mr_map_at(tf->topics, i, NULL))->is_fresh = false;
}

void mr_type_feeds_destroy(struct mr_type_feeds *tf)
{
    if (tf == NULL)
        return;
    for (size_t i = 0; i < mr_map_count(tf->topics); i++)
        if (tf->ops != NULL)
            tf->ops->close(((struct topic *)mr_map_at(tf->topics, i, NULL))->feed);
    mr_map_destroy(tf->topics, destroy_topic);
    mr_arena_destroy(tf->ar);
    mr_xfree(tf);
}
