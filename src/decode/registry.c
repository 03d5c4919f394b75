/* The formats there are, and the set of them that the engine drives: which decoder a topic gets, and how that is found out. */
#include <millrace/base/log.h>
#include <millrace/base/mem.h>

#include "control.h"
#include "debezium.h"
#include "detect.h"
#include "mysql_ddl.h"
#include "source_types.h"
#include "payload.h"

const struct mr_decoder_ops *const mr_decoders[] = {
    &mr_decoder_debezium,
    &mr_decoder_flat,
    &mr_decoder_json,
    &mr_decoder_canal,
    &mr_decoder_maxwell,
    &mr_decoder_dts,
    &mr_decoder_shareplex,
    &mr_decoder_prostore,
    NULL,
};

#define DECODERS (sizeof(mr_decoders) / sizeof(mr_decoders[0]) - 1)

struct mr_decoder_set {
    const struct mr_config *cfg;
    struct mr_connect *cn;                /* for detection */
    struct mr_decoder *decoders[DECODERS]; /* same order as mr_decoders */
    struct mr_source_types *types;
    struct mr_payloads *payloads;         /* keys and values that are not JSON */
};

/* Index of the decoder that a fact or setting names; facts may carry a note of the decoder's own behind a slash. */
static size_t index_of(const char *format_z)
{
    size_t len = strcspn(format_z, "/");
    for (size_t i = 0; i < DECODERS; i++) {
        if (mr_str_eq_z(mr_str_of(format_z, len), mr_decoders[i]->name))
            return i;
    }
    return DECODERS;
}

static enum mr_status unknown_format(const char *format_z, struct mr_error *err)
{
    char known[256] = "auto";
    size_t used = strlen(known);
    for (size_t i = 0; i < DECODERS; i++) {
        size_t len = strlen(mr_decoders[i]->name);
        if (used + len + 3 > sizeof(known))
            break;
        memcpy(known + used, ", ", 2);
        memcpy(known + used + 2, mr_decoders[i]->name, len + 1);
        used += len + 2;
    }
    enum mr_status status = mr_fail(err, MR_E_CONFIG, "there is no format \"%s\"", format_z);
    mr_error_hint(err, "formats: %s", known);
    return status;
}

/* The formats that the configuration names, as far as they are decoders'. */
static enum mr_status check_names(struct mr_decoder_set *set, struct mr_error *err)
{
    const char *name_z;
    for (size_t i = 0; (name_z = mr_payloads_decoder_at(set->payloads, i)) != NULL; i++)
        if (strcmp(name_z, "auto") != 0 && index_of(name_z) == DECODERS)
            return unknown_format(name_z, err);
    return MR_OK;
}

enum mr_status mr_decoder_set_create(const struct mr_config *cfg, struct mr_decoder_set **out,
                                     struct mr_error *err)
{
    struct mr_decoder_set *set = mr_xcalloc(1, sizeof(*set));
    set->cfg = cfg;
    set->cn = mr_connect_create(cfg);
    set->types = mr_source_types_create(cfg);
    enum mr_status opened = mr_payloads_create(cfg, &set->payloads, err);
    if (opened == MR_OK)
        opened = check_names(set, err);
    if (opened != MR_OK) {
        mr_decoder_set_destroy(set);
        return opened;
    }
    for (size_t i = 0; i < DECODERS; i++) {
        enum mr_status status = mr_decoders[i]->create(cfg, &set->decoders[i], err);
        if (status != MR_OK) {
            mr_decoder_set_destroy(set);
            return status;
        }
        if (mr_decoders[i]->use_types != NULL)
            mr_decoders[i]->use_types(set->decoders[i], set->types);
    }
    *out = set;
    return MR_OK;
}

void mr_decoder_set_destroy(struct mr_decoder_set *set)
{
    if (set == NULL)
        return;
    for (size_t i = DECODERS; i-- > 0;) {
        if (set->decoders[i] != NULL)
            mr_decoders[i]->destroy(set->decoders[i]);
    }
    mr_source_types_destroy(set->types);
    mr_payloads_destroy(set->payloads);
    mr_connect_destroy(set->cn);
    mr_xfree(set);
}

int64_t mr_decoder_set_waits(const struct mr_decoder_set *set, const struct mr_partition *part, int64_t position,
                             int64_t after)
{
    int64_t first = 0;
    for (size_t i = 0; i < DECODERS; i++) {
        int64_t at = mr_decoders[i]->waits == NULL ? 0 : mr_decoders[i]->waits(set->decoders[i], part, position, after);
        if (at != 0 && (first == 0 || at < first))
            first = at;
    }
    return first;
}

/* ---- Types of the source's columns ---- */

void mr_decoder_set_types_host(struct mr_decoder_set *set, const struct mr_types_host *host)
{
    mr_source_types_host(set->types, host);
}

enum mr_status mr_decoder_set_learn(struct mr_decoder_set *set, const struct mr_record *rec, struct mr_arena *ar, bool *is_change,
                                    struct mr_error *err)
{
    struct mr_connect_message value;
    struct mr_shape sh;
    enum mr_control control;
    *is_change = false;
    /* Not with a decoder's own reader: one of its messages may be the reason for learning, and be read on afterwards. */
    enum mr_status status = mr_connect_open(set->cn, MR_SIDE_VALUE, rec, ar, &value, err);
    if (status == MR_E_DATA) {
        mr_log_error(MR_LOG_WARN, "a message of a schema topic cannot be read", err);
        mr_error_clear(err);
        return MR_OK;
    }
    MR_TRY(status);
    if (value.is_null || !mr_json_is(&value.doc, value.root, MR_J_OBJECT))
        return MR_OK;
    mr_shape_of(&value.doc, value.root, ar, &sh);
    *is_change = mr_control_recognise(rec, &value, &sh, &control) && control == MR_CONTROL_SCHEMA_CHANGE;
    if (*is_change)
        mr_source_types_learn(set->types, rec, &sh);
    return MR_OK;
}

enum mr_status mr_decoder_set_types_load(struct mr_decoder_set *set, const struct mr_source_type *row, struct mr_error *err)
{
    return mr_source_types_load(set->types, row, err);
}

const struct mr_source_type *mr_decoder_set_types_unsaved(const struct mr_decoder_set *set, size_t i)
{
    return mr_source_types_unsaved(set->types, i);
}

void mr_decoder_set_types_saved(struct mr_decoder_set *set)
{
    mr_source_types_saved(set->types);
}

static void choose(struct mr_topic_facts *facts, size_t index)
{
    const char *name = mr_decoders[index]->name;
    if (index_of(facts->format) == index)
        return;
    memset(facts->format, 0, sizeof(facts->format));
    memcpy(facts->format, name, strlen(name));
    facts->dirty = true;
}

/* The decoder that is surest that the record is its own. */
static size_t ask_decoders(struct mr_decoder_set *set, const struct mr_record *rec, struct mr_arena *ar,
                           int *best)
{
    size_t found = DECODERS;
    *best = 0;
    for (size_t i = 0; i < DECODERS; i++) {
        int score = mr_decoders[i]->sniff == NULL ? 0 : mr_decoders[i]->sniff(set->decoders[i], rec, ar);
        if (score > *best) {
            *best = score;
            found = i;
        }
    }
    return found;
}

/* A row in Avro, Protobuf or JSON_SR that is no envelope of Debezium's: flattened by its transform, if the record's own signs or the name that
 * Connect gave its schema say so; else plain. */
static size_t of_encoded(struct mr_decoder_set *set, const struct mr_record *rec, struct mr_arena *ar, size_t index, int *score)
{
    struct mr_connect_message value;
    if (mr_decoders[index] == &mr_decoder_debezium || mr_connect_open(set->cn, MR_SIDE_VALUE, rec, ar, &value, NULL) != MR_OK)
        return index;
    *score = 80;
    bool is_named = value.schema != NULL && mr_str_ends(value.schema->name, MR_STR(".Value"));
    bool is_flat = is_named || mr_record_header(rec, "__debezium.context.connectorName") != NULL ||
                   MR_JSON_MEMBER(&value.doc, value.root, "__deleted") != MR_JSON_NONE;
    return index_of(is_flat ? "flat" : "json");
}

static void log_choice(const struct mr_record *rec, size_t index, int score)
{
    struct mr_str topic = rec->topic;
    if (topic.len == 0 && rec->part != NULL)
        topic = mr_str_z(rec->part->topic_z);
    struct mr_str note = score > 1 ? MR_STR("detected")
                                   : MR_STR("nothing in the message tells; if these are no rows of "
                                            "Debezium's transform, set format: json");
    mr_log(MR_LOG_INFO, "format of topic", MR_KV_STR("topic", topic),
           MR_KV_Z("format", mr_decoders[index]->name), MR_KV_STR("note", note));
}

/* The decoder of a record, by itself. *is_neutral: it tells nothing of rows; Debezium's decoder knows all that is so. */
static enum mr_status find(struct mr_decoder_set *set, const struct mr_record *rec, struct mr_arena *ar, size_t *index,
                           int *score, bool *is_neutral, struct mr_error *err)
{
    enum mr_detected what;
    const char *name;
    enum mr_status status;
    *is_neutral = false;
    *index = DECODERS;
    if (rec->opened == NULL && !mr_detect_is_text(rec) && (*index = ask_decoders(set, rec, ar, score)) != DECODERS)
        return MR_OK;
    MR_TRY(mr_detect(set->cn, rec, ar, &what, &name, err));

    switch (what) {
    case MR_DETECT_NEUTRAL:
        *is_neutral = true;
        *index = 0;
        return MR_OK;
    case MR_DETECT_FOREIGN:
        status = mr_fail_data(err, MR_CODE_UNSUPPORTED, "this is a message in the format of %s", name);
        mr_error_hint(err, "that format is not supported; if these are plain rows, set format: json or flat");
        return status;
    case MR_DETECT_NOTHING:
        return mr_fail_data(err, MR_CODE_UNKNOWN_FORMAT,
                            "the value is JSON, but no object: no format that is known here");
    case MR_DETECT_ROWS:
        break;
    }

    *index = ask_decoders(set, rec, ar, score);
    if (rec->opened != NULL && rec->opened->is_encoded)
        *index = of_encoded(set, rec, ar, *index, score);
    if (*index == DECODERS)
        return mr_fail_data(err, MR_CODE_UNKNOWN_FORMAT, "the message's format cannot be told");
    return MR_OK;
}

static enum mr_status detect(struct mr_decoder_set *set, const struct mr_record *rec, struct mr_topic_facts *facts,
                             struct mr_arena *ar, size_t *index, struct mr_error *err)
{
    int score = 0;
    bool is_neutral;
    MR_TRY(find(set, rec, ar, index, &score, &is_neutral, err));
    if (is_neutral)
        return MR_OK;
    choose(facts, *index);
    log_choice(rec, *index, score);
    return MR_OK;
}

enum mr_status mr_decoder_set_guess(struct mr_decoder_set *set, const struct mr_record *rec, struct mr_arena *ar,
                                    struct mr_guess *out, struct mr_error *err)
{
    struct mr_opened opened;
    struct mr_record with = *rec;
    size_t index, configured = index_of(mr_payloads_decoder(set->payloads, rec->topic));
    int score = 0;
    bool is_neutral;
    *out = (struct mr_guess){.configured_z = configured == DECODERS ? NULL : mr_decoders[configured]->name};
    MR_TRY(mr_payloads_open(set->payloads, rec, ar, &opened, err));
    if (opened.has[MR_SIDE_KEY] || opened.has[MR_SIDE_VALUE])
        with.opened = &opened;
    MR_TRY(find(set, &with, ar, &index, &score, &is_neutral, err));
    out->format_z = is_neutral ? NULL : mr_decoders[index]->name;
    out->is_sure = score > MR_SNIFF_ANY_OBJECT;
    out->why = mr_detect_explain(set->cn, &with, out->format_z, out->is_sure, ar);
    return MR_OK;
}

/* Holds each change against its key, on its way to the engine. */
struct holding {
    struct mr_payloads *payloads;
    const struct mr_opened *opened;
    const struct mr_record *rec;
    struct mr_arena *ar;
    mr_emit_fn emit;
    void *ctx;
};

static enum mr_status emit_held(void *ctx, const struct mr_change *ev, struct mr_error *err)
{
    struct holding *h = ctx;
    bool is_skipped;
    struct mr_change *copy = mr_arena_alloc(h->ar, sizeof(*copy));
    *copy = *ev;
    MR_TRY(mr_payloads_hold(h->payloads, h->opened, h->rec, h->ar, copy, &is_skipped, err));
    if (is_skipped) {
        *copy = (struct mr_change){.op = MR_OP_CONTROL, .control = MR_CONTROL_EMPTY, .source_us = INT64_MIN};
    }
    return h->emit(h->ctx, copy, err);
}

/* Reads the statement of a schema change, on its way to the engine: Canal, Maxwell, DTS tell its text alone. */
struct reading_ddl {
    const struct mr_config *cfg;
    struct mr_arena *ar;
    mr_emit_fn emit;
    void *ctx;
};

static enum mr_status emit_with_actions(void *ctx, const struct mr_change *ev, struct mr_error *err)
{
    struct reading_ddl *r = ctx;
    struct mr_action_list list = {0};
    if (ev->op != MR_OP_CONTROL || ev->control != MR_CONTROL_SCHEMA_CHANGE || ev->statement_part > 0)
        return r->emit(r->ctx, ev, err);
    mr_mysql_ddl_read(r->cfg, ev->statement, ev->statement_db, r->ar, &list);
    struct mr_change copy = *ev;
    copy.actions = list.items;
    copy.action_count = list.count;
    return r->emit(r->ctx, &copy, err);
}

enum mr_status mr_decoder_set_decode(struct mr_decoder_set *set, const struct mr_record *rec,
                                     struct mr_topic_facts *facts, struct mr_arena *ar, mr_emit_fn emit,
                                     void *ctx, struct mr_error *err)
{
    struct mr_opened opened;
    struct mr_record with = *rec;
    MR_TRY(mr_payloads_open(set->payloads, rec, ar, &opened, err));
    if (opened.has[MR_SIDE_KEY] || opened.has[MR_SIDE_VALUE])
        with.opened = &opened;
    size_t index = index_of(mr_payloads_decoder(set->payloads, rec->topic));
    if (index != DECODERS)
        choose(facts, index);
    else
        index = index_of(facts->format);
    if (index == DECODERS)
        MR_TRY(detect(set, &with, facts, ar, &index, err));
    struct holding h = {set->payloads, &opened, rec, ar, emit, ctx};
    /* Debezium's events and rows have rules of their own for keys that are null or differ. */
    if (mr_decoders[index] == &mr_decoder_json && mr_payloads_key_is_explicit(set->payloads, rec->topic)) {
        emit = emit_held;
        ctx = &h;
    }
    struct reading_ddl r = {set->cfg, ar, emit, ctx};
    if (set->cfg->ddl == MR_DDL_APPLY && mr_decoders[index] != &mr_decoder_debezium) {
        emit = emit_with_actions;
        ctx = &r;
    }
    return mr_decoders[index]->decode(set->decoders[index], &with, facts, ar, emit, ctx, err);
}
