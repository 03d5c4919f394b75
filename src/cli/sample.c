/* See sample.h. Nothing is claimed or stored: a bounded source without positions, read from its beginning. */
#include "sample.h"

#include <millrace/base/map.h>
#include <millrace/base/mem.h>
#include <millrace/base/time.h>
#include <millrace/decoder.h>
#include <millrace/source.h>

#include <sys/stat.h>

#define MAX_MESSAGES 1000
#define MAX_TOPICS 200
#define MAX_BYTES (16u << 20)
#define CHUNK 200
#define POLL_MS 200
#define WAIT_MS 15000 /* for the first message */

struct sample {
    struct mr_arena *ar;
    struct mr_decoder_set *decoders;
    struct mr_map *topics; /* name → struct topic */
    const char *name_z;    /* as the user gave it: what a file's bare events are shown under */
    uint64_t read;
};

struct topic {
    struct mr_sample_topic pub;
    struct mr_topic_facts facts;
};

/* ---- One message ---- */

static struct topic *topic_of(struct sample *s, const struct mr_record *rec)
{
    struct mr_str name = rec->topic.len > 0 ? rec->topic : mr_str_z(rec->part->topic_z);
    struct topic *t = mr_map_get(s->topics, name);
    if (t == NULL && mr_map_count(s->topics) < MAX_TOPICS) {
        t = mr_arena_zalloc(s->ar, sizeof(*t));
        t->pub.topic = mr_arena_copy(s->ar, rec->topic.len == 0 ? mr_str_z(s->name_z) : name);
        mr_map_put(s->topics, name, t);
    }
    return t;
}

static void note_failure(struct topic *t, const struct mr_error *err)
{
    if (t->pub.failed++ == 0)
        t->pub.first = *err;
}

static void count_format(struct sample *s, struct topic *t, const struct mr_guess *guess)
{
    struct mr_sample_topic *pub = &t->pub;
    for (size_t i = 0; i < pub->format_count; i++) {
        struct mr_sample_format *f = &pub->formats[i];
        bool is_same = f->name_z == NULL || guess->format_z == NULL ? f->name_z == guess->format_z
                                                                    : strcmp(f->name_z, guess->format_z) == 0;
        if (is_same && f->is_sure == guess->is_sure) {
            f->messages++;
            if (mr_str_ends(f->why, MR_STR(MR_GUESS_VAGUE))) /* another message may tell more */
                f->why = mr_arena_copy(s->ar, guess->why);
            return;
        }
    }
    if (pub->format_count < MR_SAMPLE_FORMATS)
        pub->formats[pub->format_count++] = (struct mr_sample_format){
            guess->format_z, guess->is_sure, 1, mr_arena_copy(s->ar, guess->why)};
}

static struct mr_sample_table *table_of(struct sample *s, struct mr_sample_topic *pub, const struct mr_relation *rel)
{
    for (size_t i = 0; i < pub->table_count; i++) {
        if (mr_str_eq(pub->tables[i].table, rel->table) && mr_str_eq(pub->tables[i].database, rel->database))
            return &pub->tables[i];
    }
    if (pub->table_count == MR_SAMPLE_TABLES)
        return NULL;
    struct mr_sample_table *table = &pub->tables[pub->table_count++];
    *table = (struct mr_sample_table){.database = mr_arena_copy(s->ar, rel->database), .table = mr_arena_copy(s->ar, rel->table)};
    return table;
}

struct capture {
    struct sample *s;
    struct topic *t;
};

static enum mr_status on_change(void *ctx, const struct mr_change *ev, struct mr_error *err)
{
    struct capture *c = ctx;
    (void)err;
    bool is_schema_change = ev->op == MR_OP_CONTROL && ev->control == MR_CONTROL_SCHEMA_CHANGE && ev->relation.table.len != 0;
    if ((ev->op == MR_OP_CONTROL && !is_schema_change) || ev->is_tombstone)
        return MR_OK;
    struct mr_sample_table *table = table_of(c->s, &c->t->pub, &ev->relation);
    if (table == NULL) {
        c->t->pub.more_changes++;
        return MR_OK;
    }
    switch (ev->op) {
    case MR_OP_UPSERT:
        table->upserts++;
        break;
    case MR_OP_DELETE:
        table->deletes++;
        break;
    case MR_OP_TRUNCATE:
        table->truncates++;
        break;
    case MR_OP_CONTROL:
        table->schema_changes++;
        break;
    }
    return MR_OK;
}

static enum mr_status take(struct sample *s, const struct mr_record *rec, struct mr_arena *ar, struct mr_error *err)
{
    struct topic *t = topic_of(s, rec);
    struct mr_guess guess;
    if (t == NULL)
        return MR_OK;
    t->pub.messages++;
    mr_error_clear(err);
    if (rec->broken_code != NULL) {
        (void)mr_fail_data(err, rec->broken_code, "%.*s", MR_STR_FMT(rec->broken_message));
        note_failure(t, err);
        return MR_OK;
    }
    enum mr_status status = mr_decoder_set_guess(s->decoders, rec, ar, &guess, err);
    t->pub.configured_z = guess.configured_z;
    if (status == MR_OK)
        count_format(s, t, &guess);
    if (status == MR_E_DATA && guess.configured_z == NULL) {
        note_failure(t, err);
        return MR_OK;
    }
    if (status != MR_OK && status != MR_E_DATA)
        return status;
    struct capture c = {s, t};
    mr_error_clear(err);
    status = mr_decoder_set_decode(s->decoders, rec, &t->facts, ar, on_change, &c, err);
    if (status == MR_E_DATA)
        note_failure(t, err);
    return status == MR_E_DATA ? MR_OK : status;
}

/* ---- Reading ---- */

static enum mr_status on_assigned(void *ctx, const struct mr_partition *const *parts, size_t count, int64_t *position,
                                  struct mr_error *err)
{
    (void)ctx, (void)parts, (void)err;
    for (size_t i = 0; i < count; i++)
        position[i] = MR_POSITION_NONE;
    return MR_OK;
}

static void on_revoked(void *ctx, const struct mr_partition *const *parts, size_t count, bool lost)
{
    (void)ctx, (void)parts, (void)count, (void)lost;
}

static enum mr_status take_chunk(struct sample *s, const struct mr_record *records, size_t count, struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(0);
    enum mr_status status = MR_OK;
    for (size_t i = 0; i < count && status == MR_OK && s->read < MAX_MESSAGES; i++) {
        status = take(s, &records[i], ar, err);
        s->read++;
        mr_arena_reset(ar);
    }
    mr_arena_destroy(ar);
    return status;
}

static enum mr_status read_source(struct sample *s, const struct mr_source_ops *ops, struct mr_source *src, struct mr_error *err)
{
    struct mr_record *records = mr_xcalloc(CHUNK, sizeof(*records));
    struct mr_arena *ar = mr_arena_create(0);
    enum mr_poll_state state = MR_POLL_MORE;
    enum mr_status status = MR_OK;
    int64_t end_ms = mr_monotonic_ms() + WAIT_MS;
    while (status == MR_OK && state != MR_POLL_END && s->read < MAX_MESSAGES && (s->read == 0 || state != MR_POLL_IDLE)) {
        size_t count = 0;
        status = ops->poll(src, ar, records, CHUNK, MAX_BYTES, POLL_MS, &count, &state, err);
        if (count == 0 && mr_monotonic_ms() > end_ms)
            break;
        if (status == MR_OK)
            status = take_chunk(s, records, count, err);
        ops->release(src, records, count);
        mr_arena_reset(ar);
    }
    mr_arena_destroy(ar);
    mr_xfree(records);
    return status;
}

static const struct mr_source_ops *source_of(const char *name_z)
{
    for (size_t i = 0; mr_sources[i] != NULL; i++) {
        if (strcmp(mr_sources[i]->name, name_z) == 0)
            return mr_sources[i];
    }
    return NULL;
}

/* The configuration, with nothing to read but what is asked for. */
static enum mr_status source_config(const struct mr_config *cfg, char **name, struct mr_config *out, const char **source_z,
                                    struct mr_error *err)
{
    struct stat st;
    *out = *cfg;
    out->file_again = true;
    out->kafka_start = MR_START_EARLIEST;
    if (strcmp(*name, "-") == 0 || stat(*name, &st) == 0) {
        out->file_paths = (struct mr_strings){name, 1};
        *source_z = "file";
        return MR_OK;
    }
    out->kafka_topics = (struct mr_strings){name, 1};
    *source_z = "kafka";
    if (cfg->kafka_brokers != NULL && cfg->kafka_brokers[0] != '\0')
        return MR_OK;
    enum mr_status status = mr_fail(err, MR_E_CONFIG, "--sample %s: there is no such file, and no broker to ask for a topic", *name);
    mr_error_hint(err, "name the brokers with --from kafka://HOST:PORT/TOPIC or source.kafka.brokers");
    return status;
}

enum mr_status mr_sample_run(const struct mr_config *cfg, const char *name_z, struct mr_arena *ar, mr_sample_fn fn, void *ctx,
                             uint64_t *read, struct mr_error *err)
{
    struct mr_source_listener listener = {.assigned = on_assigned, .revoked = on_revoked};
    struct sample s = {.ar = ar, .topics = mr_map_create(), .name_z = name_z};
    struct mr_config own;
    struct mr_source *src = NULL;
    const struct mr_source_ops *ops = NULL;
    const char *source_z = NULL;
    char *name = mr_xstrndup(name_z, strlen(name_z));
    enum mr_status status;
    MR_TRY_DONE(source_config(cfg, &name, &own, &source_z, err));
    MR_TRY_DONE(mr_decoder_set_create(cfg, &s.decoders, err));
    ops = source_of(source_z);
    MR_TRY_DONE(ops->create(&own, true, &listener, &src, err));
    MR_TRY_DONE(read_source(&s, ops, src, err));
    for (size_t i = 0; i < mr_map_count(s.topics); i++)
        fn(ctx, &((struct topic *)mr_map_at(s.topics, i, NULL))->pub);

done:
    *read = s.read;
    if (src != NULL)
        ops->destroy(src);
    mr_decoder_set_destroy(s.decoders);
    mr_map_destroy(s.topics, NULL);
    mr_xfree(name);
    return status;
}
