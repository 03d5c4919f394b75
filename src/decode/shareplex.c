/* Format `shareplex`: the JSON of Quest SharePlex, which Alibaba DTS imitates. An object a change: `meta` says what was done to which table, `data` has
 * the row (of an update the changed columns alone), `key` the values before that find the row.
 *
 * Types are told nowhere: they come from types.columns. What is the key is told by the settings; an update without them names it itself. Updates may
 * come as two records, the row before and the row after: the first waits for the second (shareplex_pair.h), and the position waits with it. */
#include <millrace/base/mem.h>
#include <millrace/base/time.h>
#include <millrace/model/table.h>

#include "control.h"
#include "debezium.h"
#include "detect.h"
#include "documents.h"
#include "flatten.h"
#include "key.h"
#include "maxwell.h"
#include "meta.h"
#include "names.h"
#include "shareplex_pair.h"

struct mr_decoder {
    const struct mr_config *cfg;
    struct mr_connect *cn;
    struct mr_meta *meta;
    struct mr_maxwell_types *types; /* what types.columns says */
    struct mr_json_reader *json;    /* before images */
    struct mr_pairs *pairs;
    bool wants_key_text;
};

/* One document on its way. */
struct message {
    struct mr_decoder *dec;
    const struct mr_record *rec;
    const struct mr_json_doc *doc;
    uint32_t meta, data, key; /* nodes */
    struct mr_arena *ar;
    mr_emit_fn emit;
    void *ctx;
    uint32_t number; /* of the document in its record */
    struct mr_relation relation;
    bool is_keyed; /* the settings say what the key is */
};

static void destroy(struct mr_decoder *dec)
{
    if (dec == NULL)
        return;
    mr_pairs_destroy(dec->pairs);
    mr_json_reader_destroy(dec->json);
    mr_maxwell_types_destroy(dec->types);
    mr_meta_destroy(dec->meta);
    mr_connect_destroy(dec->cn);
    mr_xfree(dec);
}

static enum mr_status create(const struct mr_config *cfg, struct mr_decoder **out, struct mr_error *err)
{
    struct mr_json_limits limits = {.max_depth = cfg->max_depth, .max_bytes = cfg->max_message_bytes};
    struct mr_decoder *dec = mr_xcalloc(1, sizeof(*dec));
    dec->cfg = cfg;
    enum mr_status status = mr_meta_create(cfg, &dec->meta, err);
    if (status == MR_OK)
        status = mr_maxwell_types_create(cfg, &dec->types, err);
    if (status != MR_OK) {
        destroy(dec);
        return status;
    }
    dec->cn = mr_connect_create(cfg);
    dec->json = mr_json_reader_create(&limits);
    dec->pairs = mr_pairs_create();
    dec->wants_key_text = mr_config_wants_key_text(cfg);
    *out = dec;
    return MR_OK;
}

/* ---- What `meta` says ---- */

static struct mr_str meta_text(const struct message *m, const char *name_z)
{
    uint32_t node = mr_json_member(m->doc, m->meta, mr_str_z(name_z));
    if (mr_json_is(m->doc, node, MR_J_NUMBER))
        return mr_json_raw(m->doc, node);
    return mr_json_is(m->doc, node, MR_J_STRING) ? mr_json_string(m->doc, node, m->ar, NULL) : MR_STR("");
}

/* In lower case, without blanks, underscores and hyphens. */
static struct mr_str operation(const struct message *m)
{
    struct mr_str op = meta_text(m, "op");
    char *out = mr_arena_alloc(m->ar, op.len + 1);
    size_t n = 0;
    for (size_t i = 0; i < op.len; i++) {
        char c = op.ptr[i];
        if (c == ' ' || c == '\t' || c == '_' || c == '-')
            continue;
        out[n++] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
    }
    return mr_str_of(out, n);
}

/* OWNER.TABLE */
static enum mr_status find_relation(struct message *m, struct mr_error *err)
{
    struct mr_str name = meta_text(m, "table");
    ptrdiff_t dot = mr_str_rfind(name, '.');
    if (dot >= 0 && (size_t)dot + 1 < name.len) {
        m->relation.database = mr_name_spelled(m->dec->cfg, mr_str_of(name.ptr, (size_t)dot), m->ar);
        name = mr_str_of(name.ptr + dot + 1, name.len - (size_t)dot - 1);
    }
    m->relation.table = mr_name_spelled(m->dec->cfg, name, m->ar);
    if (name.len == 0)
        MR_TRY(mr_name_unnamed(m->dec->cfg, m->rec->is_bare, &m->relation, err));
    struct mr_table_settings settings;
    mr_config_table(m->dec->cfg, m->relation.database, m->relation.table, &settings);
    m->is_keyed = settings.key_mode == MR_KEY_FIELDS || settings.key_mode == MR_KEY_NONE;
    return MR_OK;
}

static bool is_last(const struct message *m)
{
    struct mr_str seq = meta_text(m, "seq"), size = meta_text(m, "size");
    return seq.len != 0 && mr_str_eq(seq, size);
}

static struct mr_pair_place place(const struct message *m)
{
    return (struct mr_pair_place){m->rec->part != NULL ? m->rec->part->index : 0, m->rec->position,
                                  m->number};
}

static struct mr_pair_name pair_name(const struct message *m)
{
    return (struct mr_pair_name){meta_text(m, "table"), meta_text(m, "trans"), meta_text(m, "rowid")};
}

/* ---- Rows ---- */

/* The members of an object; none of what is not there. */
static enum mr_status read_row(struct message *m, const struct mr_json_doc *doc, uint32_t node,
                               const char *what_z, struct mr_fields *out, struct mr_error *err)
{
    *out = (struct mr_fields){0};
    if (node == MR_JSON_NONE || mr_json_is(doc, node, MR_J_NULL))
        return MR_OK;
    if (!mr_json_is(doc, node, MR_J_OBJECT))
        return mr_fail_data(err, MR_CODE_BAD_IMAGE, "\"%s\" is no row", what_z);
    if (doc->nodes[node].count > MR_TABLE_MAX_COLUMNS)
        return mr_fail_data(err, MR_CODE_TOO_LARGE, "a row of more than %d columns", MR_TABLE_MAX_COLUMNS);
    struct mr_field *fields = mr_arena_alloc(m->ar, ((size_t)doc->nodes[node].count + 1) * sizeof(*fields));
    size_t n = 0;
    for (uint32_t name = mr_json_first(doc, node); name != MR_JSON_NONE;
         name = mr_json_next_in(doc, node, name)) {
        if (mr_json_is_shadowed(doc, node, name))
            continue;
        struct mr_str column = mr_name_spelled(m->dec->cfg, mr_json_string(doc, name, m->ar, NULL), m->ar);
        struct mr_field *f = &fields[n++];
        *f = (struct mr_field){.path = mr_flatten_path(MR_STR(""), column, m->ar)};
        mr_maxwell_value(m->dec->types, &m->relation, doc, name + 1, m->ar, f);
    }
    *out = (struct mr_fields){fields, n};
    return MR_OK;
}

/* The row before (as far as it is told) with what has changed laid over it; and the same row before, where a column that is only in `data` counts as
 * unchanged. */
static void lay_over(struct message *m, const struct mr_fields *old, const struct mr_fields *data,
                     struct mr_fields *after, struct mr_fields *before)
{
    size_t most = old->count + data->count + 1, n = old->count, at = 0;
    struct mr_field *now = mr_arena_alloc(m->ar, most * sizeof(*now)),
                    *was = mr_arena_alloc(m->ar, most * sizeof(*was));
    if (n != 0) {
        memcpy(now, old->items, n * sizeof(*now));
        memcpy(was, old->items, n * sizeof(*was));
    }
    for (size_t i = 0; i < data->count;
         i++) { /* both have the table's order, so that the next is mostly the one */
        size_t tried = 0;
        while (tried < old->count && !mr_str_eq(now[at].path, data->items[i].path)) {
            at = at + 1 == old->count ? 0 : at + 1;
            tried++;
        }
        if (tried < old->count)
            now[at] = data->items[i];
        else
            now[n] = was[n] = data->items[i], n++;
    }
    *after = (struct mr_fields){now, n};
    *before = (struct mr_fields){was, n};
}

static struct mr_change *new_change(struct message *m, enum mr_op op, const char *op_z)
{
    struct mr_change *ev = mr_arena_zalloc(m->ar, sizeof(*ev));
    int64_t us;
    ev->op = op;
    ev->relation = m->relation;
    ev->source_us = mr_parse_timestamp(meta_text(m, "time"), &us) ? us : INT64_MIN;
    ev->tx_id = meta_text(m, "trans");
    ev->tx_last = ev->tx_id.len != 0 && is_last(m);
    ev->tx_marks_last = ev->tx_id.len != 0 && meta_text(m, "size").len != 0;
    if (op_z != NULL)
        ev->meta = mr_meta_fields(m->dec->meta, m->dec->cn, m->rec, NULL, NULL, mr_str_z(op_z), m->ar);
    return ev;
}

/* An update of the row that `old` finds. keys: columns of `old` that find it, where the settings do not say. */
static enum mr_status emit_update(struct message *m, const struct mr_fields *old,
                                  const struct mr_fields *data, size_t keys, struct mr_error *err)
{
    struct mr_change *ev = new_change(m, MR_OP_UPSERT, "u");
    ev->partial = true;
    lay_over(m, old, data, &ev->after, &ev->before);
    if (!m->is_keyed && keys != 0) {
        ev->key = (struct mr_fields){ev->after.items, keys};
        ev->has_key = true;
        mr_key_detect_change(m->ar, ev);
        if (m->dec->wants_key_text)
            ev->key_text = mr_key_fields_text(&ev->key, m->ar);
        ev->before = (struct mr_fields){0};
    }
    mr_meta_override(&ev->meta, &ev->after);
    return m->emit(m->ctx, ev, err);
}

static enum mr_status nothing(struct message *m, enum mr_control kind, struct mr_error *err)
{
    struct mr_change *ev = new_change(m, MR_OP_CONTROL, NULL);
    ev->control = kind;
    ev->relation = (struct mr_relation){MR_STR(""), MR_STR("")};
    ev->tx_last = ev->tx_last || (kind == MR_CONTROL_TRANSACTION && ev->tx_id.len > 0);
    return m->emit(m->ctx, ev, err);
}

static enum mr_status insert(struct message *m, struct mr_error *err)
{
    struct mr_change *ev = new_change(m, MR_OP_UPSERT, "c");
    ev->is_new = true;
    MR_TRY(read_row(m, m->doc, m->data, "data", &ev->after, err));
    if (ev->after.count == 0)
        return mr_fail_data(err, MR_CODE_BAD_IMAGE, "an insert without its row");
    mr_meta_override(&ev->meta, &ev->after);
    return m->emit(m->ctx, ev, err);
}

static enum mr_status update(struct message *m, struct mr_error *err)
{
    struct mr_fields old, data;
    MR_TRY(read_row(m, m->doc, m->data, "data", &data, err));
    MR_TRY(read_row(m, m->doc, m->key, "key", &old, err));
    if (data.count == 0)
        return nothing(m, MR_CONTROL_EMPTY, err);
    if (old.count == 0 && !m->is_keyed)
        return mr_fail_data(err, MR_CODE_NO_KEY, "an update without \"key\": nothing tells which row it is");
    return emit_update(m, &old, &data, old.count, err);
}

static enum mr_status delete_row(struct message *m, struct mr_error *err)
{
    struct mr_change *ev = new_change(m, MR_OP_DELETE, "d");
    MR_TRY(read_row(m, m->doc, m->data, "data", &ev->before, err));
    if (ev->before.count == 0)
        MR_TRY(read_row(m, m->doc, m->key, "key", &ev->before, err));
    if (ev->before.count == 0)
        return mr_fail_data(err, MR_CODE_BAD_IMAGE, "a delete without its row");
    return m->emit(m->ctx, ev, err);
}

/* ---- Updates in two halves ---- */

static enum mr_status lost_half(struct mr_error *err)
{
    (void)mr_fail_data(err, MR_CODE_INCOMPLETE,
                       "the row before an update, and the row after it did not come");
    mr_error_hint(err, "what the update did to the row is unknown: load the row anew from the source");
    return MR_E_DATA;
}

static enum mr_status before_half(struct message *m, struct mr_error *err)
{
    struct mr_pair_name name = pair_name(m);
    if (!mr_json_is(m->doc, m->data, MR_J_OBJECT))
        return mr_fail_data(err, MR_CODE_BAD_IMAGE, "\"data\" is no row");
    if (is_last(m))
        return lost_half(err);
    if (!mr_pairs_keep(m->dec->pairs, place(m), &name, mr_json_raw(m->doc, m->data)))
        return mr_fail_data(err, MR_CODE_TOO_LARGE,
                            "too many rows before updates wait for the rows after them");
    return MR_OK;
}

static enum mr_status after_half(struct message *m, struct mr_error *err)
{
    struct mr_pair_name name = pair_name(m);
    struct mr_fields old = {0}, data;
    struct mr_str text;
    MR_TRY(read_row(m, m->doc, m->data, "data", &data, err));
    if (mr_pairs_take(m->dec->pairs, place(m), &name, m->ar, &text)) {
        struct mr_json_doc doc;
        MR_TRY(mr_json_parse_arena(m->dec->json, text, m->ar, &doc, err));
        MR_TRY(read_row(m, &doc, 0, "data", &old, err));
    } else if (mr_json_is(m->doc, m->key, MR_J_OBJECT)) {
        MR_TRY(read_row(m, m->doc, m->key, "key", &old, err));
        return emit_update(m, &old, &data, old.count, err);
    }
    return data.count == 0 ? nothing(m, MR_CONTROL_EMPTY, err) : emit_update(m, &old, &data, 0, err);
}

/* Halves that will not get their other half: each is a dead letter of its own, noted with this record. */
static enum mr_status tell_lost(struct message *m, struct mr_error *err)
{
    struct mr_pair_name name = pair_name(m);
    struct mr_str text;
    while (mr_pairs_lost(m->dec->pairs, place(m), &name, is_last(m), m->ar, &text)) {
        struct mr_change *ev = new_change(m, MR_OP_CONTROL, NULL);
        ev->control = MR_CONTROL_EMPTY;
        ev->lost = text;
        MR_TRY(m->emit(m->ctx, ev, err));
    }
    return MR_OK;
}

/* ---- Schema changes ---- */

static enum mr_status schema_change(struct message *m, struct mr_error *err)
{
    struct mr_change *ev = new_change(m, MR_OP_CONTROL, NULL);
    uint32_t sql = MR_JSON_MEMBER(m->doc, m->data, "sql");
    ev->control = MR_CONTROL_SCHEMA_CHANGE;
    ev->statement =
        mr_json_is(m->doc, sql, MR_J_STRING) ? mr_json_string(m->doc, sql, m->ar, NULL) : MR_STR("");
    ev->statement_db = m->relation.database;
    ev->statement_kind = ev->statement.len == 0 ? MR_STMT_ALTER : MR_STMT_UNKNOWN;
    return m->emit(m->ctx, ev, err);
}

/* ---- Documents ---- */

enum action { INSERT, UPDATE, DELETE, TRUNCATE, BEFORE, AFTER, DDL, COMMIT, HEARTBEAT, UNKNOWN };

static enum action action_of(struct mr_str op)
{
    static const struct {
        const char *word_z;
        enum action action;
    } words[] = {
        {"ins", INSERT},
        {"insert", INSERT},
        {"upd", UPDATE},
        {"update", UPDATE},
        {"del", DELETE},
        {"delete", DELETE},
        {"trunc", TRUNCATE},
        {"truncate", TRUNCATE},
        {"umb", BEFORE},
        {"updatebefore", BEFORE},
        {"uma", AFTER},
        {"updateafter", AFTER},
        {"dropcolumn", DDL},
        {"drop", DDL},
        {"ddl", DDL},
        {"commit", COMMIT},
        {"heartbeat", HEARTBEAT},
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (mr_str_eq_z(op, words[i].word_z))
            return words[i].action;
    }
    return UNKNOWN;
}

static enum mr_status act(struct message *m, enum action action, struct mr_error *err)
{
    switch (action) {
    case INSERT:
        return insert(m, err);
    case UPDATE:
        return update(m, err);
    case DELETE:
        return delete_row(m, err);
    case TRUNCATE:
        return m->emit(m->ctx, new_change(m, MR_OP_TRUNCATE, "t"), err);
    case BEFORE:
        return before_half(m, err);
    case AFTER:
        return after_half(m, err);
    case DDL:
        return schema_change(m, err);
    case COMMIT:
        return nothing(m, MR_CONTROL_TRANSACTION, err);
    case HEARTBEAT:
    case UNKNOWN:
        return nothing(m, MR_CONTROL_HEARTBEAT, err);
    }
    return MR_OK;
}

static enum mr_status on_document(void *ctx, const struct mr_json_doc *doc, uint32_t node,
                                  struct mr_error *err)
{
    struct message *shared = ctx, one = *shared;
    shared->number++;
    one.doc = doc;
    one.meta = MR_JSON_MEMBER(doc, node, "meta");
    one.data = MR_JSON_MEMBER(doc, node, "data");
    one.key = MR_JSON_MEMBER(doc, node, "key");
    if (!mr_json_is(doc, one.meta, MR_J_OBJECT))
        return mr_fail_data(err, MR_CODE_AMBIGUOUS,
                            "the message has no \"meta\", so it is none of SharePlex's");
    struct mr_str op = operation(&one);
    enum action action = action_of(op);
    if (action == UNKNOWN)
        return mr_fail_data(err, MR_CODE_UNKNOWN_OP, "SharePlex has no operation \"%.*s\"",
                            (int)(op.len < 40 ? op.len : 40), op.ptr);

    mr_pairs_begin(one.dec->pairs, place(&one));
    if (action != COMMIT && action != HEARTBEAT)
        MR_TRY(find_relation(&one, err));
    MR_TRY(act(&one, action, err));
    return action == HEARTBEAT ? MR_OK : tell_lost(&one, err);
}

static enum mr_status decode(struct mr_decoder *dec, const struct mr_record *rec,
                             struct mr_topic_facts *facts, struct mr_arena *ar, mr_emit_fn emit, void *ctx,
                             struct mr_error *err)
{
    struct message m = {
        .dec = dec, .rec = rec, .ar = ar, .emit = emit, .ctx = ctx, .relation = {MR_STR(""), MR_STR("")}};
    bool is_null;
    (void)facts;
    MR_TRY(mr_documents_each(dec->cn, rec, ar, on_document, &m, &is_null, err));
    return is_null ? mr_control_emit(MR_CONTROL_EMPTY, NULL, ar, emit, ctx, err) : MR_OK;
}

static int64_t waits(const struct mr_decoder *dec, const struct mr_partition *part, int64_t position,
                     int64_t after)
{
    return mr_pairs_waiting(dec->pairs, part->index, position, after);
}

static int sniff(struct mr_decoder *dec, const struct mr_record *rec, struct mr_arena *ar)
{
    struct mr_first_document first;
    enum mr_first what;
    if (mr_documents_first(dec->cn, rec, ar, &first, &what, NULL) != MR_OK || what != MR_FIRST_OBJECT ||
        first.is_described || mr_detect_has_debezium_header(rec))
        return 0;
    return mr_detect_is_shareplex(&first.shape) ? MR_SNIFF_SHAREPLEX : 0;
}

const struct mr_decoder_ops mr_decoder_shareplex = {
    .name = "shareplex",
    .sniff = sniff,
    .create = create,
    .decode = decode,
    .destroy = destroy,
    .waits = waits,
};
