/* Format `debezium`: change envelopes of the relational connectors, and the way to the part that reads MongoDB's. Key and value may each
 * be wrapped with a schema or bare. Heartbeats, transaction boundaries, schema changes and notifications are passed over.
 *
 * Nothing of `source` but the names is required: old versions and dtle leave most of it out. */
#include "debezium.h"

#include <millrace/base/mem.h>
#include <millrace/base/time.h>

#include "arrays.h"
#include "control.h"
#include "debezium_ddl.h"
#include "debezium_mongodb.h"
#include "detect.h"
#include "key.h"
#include "meta.h"
#include "source_types.h"

/* facts->format of a topic whose envelopes are MongoDB's: its tombstones have to be read as such after a restart, too. */
#define MONGODB_FACT "debezium/mongodb"

struct mr_decoder {
    const struct mr_config *cfg;
    struct mr_connect *cn;
    struct mr_meta *meta;
    struct mr_debezium_mongodb *mg;
    struct mr_source_types *types; /* the set's */
    const struct mr_connect_schema *row_schema; /* of the message in hand, if it comes without one and its table is known; else NULL */
    bool wants_key_text;
    bool wants_before; /* some table takes its key from the row: an update's old key is in its before image */
};

static void destroy(struct mr_decoder *dec)
{
    if (dec == NULL)
        return;
    mr_debezium_mongodb_destroy(dec->mg);
    mr_meta_destroy(dec->meta);
    mr_connect_destroy(dec->cn);
    mr_xfree(dec);
}

static enum mr_status create(const struct mr_config *cfg, struct mr_decoder **out, struct mr_error *err)
{
    struct mr_decoder *dec = mr_xcalloc(1, sizeof(*dec));
    dec->cfg = cfg;
    enum mr_status status = mr_meta_create(cfg, &dec->meta, err);
    if (status != MR_OK) {
        destroy(dec);
        return status;
    }
    dec->cn = mr_connect_create(cfg);
    dec->mg = mr_debezium_mongodb_create(cfg);
    dec->wants_key_text = mr_config_wants_key_text(cfg);
    for (size_t i = 0; i < cfg->table_count; i++)
        dec->wants_before |= cfg->tables[i].key_mode == MR_KEY_FIELDS;
    *out = dec;
    return MR_OK;
}

static void use_types(struct mr_decoder *dec, struct mr_source_types *types)
{
    dec->types = types;
}

/* ---- What it is ---- */

bool mr_debezium_is_mongodb(const struct mr_shape *sh)
{
    uint32_t source = sh->node[MR_M_SOURCE];
    uint32_t connector = MR_JSON_MEMBER(sh->doc, source, "connector");
    if (connector != MR_JSON_NONE)
        return mr_json_string_is(sh->doc, connector, MR_STR("mongodb"));
    return mr_shape_has(sh, MR_M_UPDATE_DESCRIPTION) || mr_shape_has(sh, MR_M_PATCH) ||
           mr_shape_is(sh, MR_M_BEFORE, MR_J_STRING) || mr_shape_is(sh, MR_M_AFTER, MR_J_STRING) ||
           MR_JSON_MEMBER(sh->doc, source, "collection") != MR_JSON_NONE ||
           MR_JSON_MEMBER(sh->doc, source, "ns") != MR_JSON_NONE;
}

bool mr_debezium_is_envelope(const struct mr_connect_message *value, const struct mr_shape *sh)
{
    /* A flattened collection may be called Envelope, so the name alone is not enough. */
    if (value->schema != NULL && value->schema->name.len != 0 &&
        !mr_str_ends(value->schema->name, MR_STR(".Envelope")))
        return false;
    return mr_shape_is_envelope(sh);
}

bool mr_debezium_from_mongodb(const struct mr_record *rec)
{
    const struct mr_header *h = mr_record_header(rec, "__debezium.context.connectorName");
    return h != NULL && mr_str_eq(h->value, MR_STR("mongodb"));
}

/* ---- Source ---- */

struct source {
    struct mr_relation relation;
    int64_t us;
};

/* The connector's topics have names of the form `<topic.prefix>.<rest>`, maybe behind a prefix of whoever mirrors them: as far as the connector's own
 * prefix, which `source.name` tells. */
static struct mr_str scope_of(struct mr_str topic, struct mr_str name)
{
    for (size_t at = 0; name.len > 0 && at + name.len < topic.len; at++) {
        bool begins = at == 0 || topic.ptr[at - 1] == '.';
        if (begins && topic.ptr[at + name.len] == '.' && memcmp(topic.ptr + at, name.ptr, name.len) == 0)
            return mr_str_of(topic.ptr, at + name.len);
    }
    return name;
}

/* The member `transaction`: the connector's provide.transaction.metadata. For MySQL and MariaDB a TRUNCATE is a
 * transaction by itself, whose end is never told. */
static void read_transaction(const struct mr_record *rec, const struct mr_shape *sh, struct mr_arena *ar, struct mr_change *out)
{
    const struct mr_json_doc *doc = sh->doc;
    uint32_t tx = sh->node[MR_M_TRANSACTION], source = sh->node[MR_M_SOURCE];
    if (!mr_json_is(doc, tx, MR_J_OBJECT))
        return;
    uint32_t id = MR_JSON_MEMBER(doc, tx, "id"), order = MR_JSON_MEMBER(doc, tx, "total_order");
    uint32_t name = MR_JSON_MEMBER(doc, source, "name"), connector = MR_JSON_MEMBER(doc, source, "connector");
    bool commits_ddl = mr_json_string_is(doc, connector, MR_STR("mysql")) || mr_json_string_is(doc, connector, MR_STR("mariadb"));
    if (!mr_json_is(doc, id, MR_J_STRING))
        return;
    out->tx_last = commits_ddl && mr_json_string_is(doc, sh->node[MR_M_OP], MR_STR("t"));
    out->tx_id = mr_json_string(doc, id, ar, NULL);
    if (mr_json_is(doc, name, MR_J_STRING))
        out->tx_scope = scope_of(rec->topic, mr_json_string(doc, name, ar, NULL));
    if (mr_json_is(doc, order, MR_J_STRING)) /* several producers write numbers of the transaction as texts */
        (void)mr_parse_int64(mr_json_string(doc, order, ar, NULL), &out->tx_order);
    else
        (void)mr_json_int64(doc, order, &out->tx_order);
}

static struct mr_str text_at(const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar)
{
    return mr_json_is(doc, node, MR_J_STRING) ? mr_json_string(doc, node, ar, NULL) : MR_STR("");
}

static int64_t scaled(const struct mr_json_doc *doc, uint32_t node, int64_t factor)
{
    int64_t v, us;
    if (!mr_json_int64(doc, node, &v) || __builtin_mul_overflow(v, factor, &us))
        return INT64_MIN;
    return us;
}

/* One pass over the members of `source`; names and the finest time there is. */
static struct source read_source(const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar)
{
    struct source s = {{MR_STR(""), MR_STR("")}, INT64_MIN};
    struct mr_str schema = MR_STR("");
    uint32_t end = doc->nodes[node].next;
    for (uint32_t n = node + 1; n < end; n = doc->nodes[n + 1].next) {
        struct mr_str name = mr_json_raw(doc, n);
        uint32_t value = n + 1;
        if (name.len == 2 && mr_str_eq(name, MR_STR("db")))
            s.relation.database = text_at(doc, value, ar);
        else if (name.len == 5 && mr_str_eq(name, MR_STR("table")))
            s.relation.table = text_at(doc, value, ar);
        else if (name.len == 5 && mr_str_eq(name, MR_STR("ts_us")))
            s.us = scaled(doc, value, 1);
        else if (name.len == 5 && mr_str_eq(name, MR_STR("ts_ms")) && s.us == INT64_MIN)
            s.us = scaled(doc, value, 1000);
        else if (name.len == 6 && mr_str_eq(name, MR_STR("ts_sec")) && s.us == INT64_MIN) {
            s.us = scaled(doc, value, MR_US_PER_SEC);
            if (s.us == 0) /* dtle's snapshots */
                s.us = INT64_MIN;
        } else if (name.len == 6 && mr_str_eq(name, MR_STR("schema")))
            schema = text_at(doc, value, ar);
    }
    /* PostgreSQL, SQL Server, Oracle: tables of one name in several schemas are several tables. */
    if (schema.len != 0)
        s.relation.database = schema;
    return s;
}

/* ---- Emitting ---- */

/* What is added to a change on its way to the engine. */
struct adding {
    const struct mr_config *cfg;
    struct mr_fields meta, headers;
    struct mr_change tx; /* of the message: tx_id, tx_scope, tx_order */
    struct mr_arena *ar;
    mr_emit_fn emit;
    void *ctx;
};

static enum mr_status emit_marked(void *ctx, const struct mr_change *ev, struct mr_error *err)
{
    struct adding *add = ctx;
    if (add->tx.tx_id.len == 0)
        return add->emit(add->ctx, ev, err);
    struct mr_change copy = *ev;
    copy.tx_id = add->tx.tx_id;
    copy.tx_scope = add->tx.tx_scope;
    copy.tx_order = add->tx.tx_order;
    copy.tx_last = add->tx.tx_last;
    return add->emit(add->ctx, &copy, err);
}

/* Takes out of the row what the metadata columns replace. */
static enum mr_status emit_added(void *ctx, const struct mr_change *ev, struct mr_error *err)
{
    struct adding *add = ctx;
    if (ev->op == MR_OP_DELETE && !ev->is_tombstone && add->cfg->drops_delete_events)
        return mr_control_emit(MR_CONTROL_EMPTY, NULL, add->ar, emit_marked, add, err);
    if (add->meta.count == 0 && add->headers.count == 0)
        return emit_marked(add, ev, err);
    struct mr_change *copy = mr_arena_alloc(add->ar, sizeof(*copy));
    *copy = *ev;
    copy->meta = add->meta;
    copy->headers = add->headers;
    mr_meta_override(&add->meta, &copy->after);
    if (copy->is_whole_before) /* it may become the row */
        mr_meta_override(&add->meta, &copy->before);
    return emit_marked(add, copy, err);
}

/* ---- Rows ---- */

/* `ev` gets the elements of the image's arrays, where arrays are tables; NULL: they are of no interest. */
static struct mr_fields read_image(struct mr_decoder *dec, const struct mr_connect_message *value,
                                   const struct mr_shape *sh, enum mr_member which, struct mr_str name,
                                   struct mr_arena *ar, struct mr_change *ev)
{
    if (!mr_shape_is(sh, which, MR_J_OBJECT))
        return (struct mr_fields){0};
    const struct mr_connect_schema *row = dec->row_schema;
    if (row == NULL) {
        const struct mr_connect_field *f = mr_connect_field(value->schema, name, which == MR_M_AFTER);
        row = f == NULL ? NULL : f->schema;
    }
    struct mr_field_list list = {0};
    struct mr_arrays arrays = {0};
    mr_arrays_begin(&arrays, dec->cn->cfg, ar, &list);
    arrays.is_dropped = ev == NULL;
    mr_connect_row(dec->cn, row, &value->doc, sh->node[which], MR_STR(""), ar, &list);
    if (ev != NULL)
        mr_arrays_give(&arrays, &list, ev);
    return mr_field_list_get(&list);
}

/* A row that comes without a schema: what is known of its table takes the schema's place. */
static enum mr_status find_row_schema(struct mr_decoder *dec, const struct mr_record *rec, const struct mr_connect_message *value,
                                      const struct mr_shape *sh, const struct mr_relation *rel, struct mr_arena *ar,
                                      struct mr_error *err)
{
    dec->row_schema = NULL;
    if (value->schema != NULL)
        return MR_OK;
    enum mr_member which = mr_shape_is(sh, MR_M_AFTER, MR_J_OBJECT) ? MR_M_AFTER : MR_M_BEFORE;
    if (!mr_shape_is(sh, which, MR_J_OBJECT))
        return MR_OK;
    struct mr_source_place place = mr_source_place_of(&value->doc, sh->node[MR_M_SOURCE], ar);
    return mr_source_types_for_row(dec->types, rec, rel, &place, &value->doc, sh->node[which], &dec->row_schema, err);
}

static enum mr_status fill_upsert(struct mr_decoder *dec, const struct mr_connect_message *value,
                                  const struct mr_shape *sh, char op, struct mr_arena *ar,
                                  struct mr_change *ev, struct mr_error *err)
{
    if (!mr_shape_is(sh, MR_M_AFTER, MR_J_OBJECT))
        return mr_fail_data(err, MR_CODE_BAD_IMAGE, "an event with op \"%c\" has no row in \"after\"", op);

    ev->op = MR_OP_UPSERT;
    ev->is_new = op != 'u';
    ev->after = read_image(dec, value, sh, MR_M_AFTER, MR_STR("after"), ar, ev);
    if (op == 'u' && (!ev->has_key || dec->wants_before))
        ev->before = read_image(dec, value, sh, MR_M_BEFORE, MR_STR("before"), ar, NULL);
    if (op != 'u')
        mr_key_follow_image(ar, ev, &ev->after);
    if (op != 'u' || !ev->has_key || !mr_key_disagrees(ar, ev))
        return MR_OK;
    bool has_before = ev->before.count > 0;
    if (!has_before)
        ev->before = read_image(dec, value, sh, MR_M_BEFORE, MR_STR("before"), ar, NULL);
    mr_key_detect_change(ar, ev);
    if (!has_before)
        ev->before = (struct mr_fields){0};
    return MR_OK;
}

static enum mr_status fill_delete(struct mr_decoder *dec, const struct mr_connect_message *value,
                                  const struct mr_shape *sh, struct mr_arena *ar, struct mr_change *ev,
                                  struct mr_error *err)
{
    ev->op = MR_OP_DELETE;
    ev->before = read_image(dec, value, sh, MR_M_BEFORE, MR_STR("before"), ar, NULL);
    if (!ev->has_key && ev->before.count == 0)
        return mr_fail_data(err, MR_CODE_BAD_IMAGE, "a delete has neither a key nor a row in \"before\"");
    mr_key_follow_image(ar, ev, &ev->before);
    return MR_OK;
}

static enum mr_status relational(struct mr_decoder *dec, const struct mr_record *rec,
                                 const struct mr_connect_message *value, const struct mr_shape *sh,
                                 struct mr_arena *ar, mr_emit_fn emit, void *ctx, struct mr_error *err)
{
    char op = mr_json_raw(&value->doc, sh->node[MR_M_OP]).ptr[0];
    if (op == 'm')
        return mr_control_emit(MR_CONTROL_EMPTY, NULL, ar, emit, ctx, err);

    struct source source = read_source(&value->doc, sh->node[MR_M_SOURCE], ar);
    struct mr_change *ev = mr_arena_zalloc(ar, sizeof(*ev));
    ev->relation = source.relation;
    ev->source_us = source.us;
    if (op == 't') {
        ev->op = MR_OP_TRUNCATE;
        return emit(ctx, ev, err);
    }

    struct mr_connect_message key;
    struct mr_key_rule rule = {.relation = source.relation};
    MR_TRY(find_row_schema(dec, rec, value, sh, &source.relation, ar, err));
    MR_TRY(mr_connect_open(dec->cn, MR_SIDE_KEY, rec, ar, &key, err));
    if (key.schema == NULL)
        key.schema = dec->row_schema;
    MR_TRY(mr_key_apply(dec->cn, rec, &key, &rule, dec->wants_key_text, ar, ev, err));

    if (op == 'd')
        MR_TRY(fill_delete(dec, value, sh, ar, ev, err));
    else
        MR_TRY(fill_upsert(dec, value, sh, op, ar, ev, err));
    return emit(ctx, ev, err);
}

/* ---- MongoDB ---- */

static enum mr_status mongodb(struct mr_decoder *dec, const struct mr_record *rec,
                              const struct mr_connect_message *value, const struct mr_shape *sh,
                              struct mr_arena *ar, mr_emit_fn emit, void *ctx, struct mr_error *err)
{
    struct mr_connect_message key;
    MR_TRY(mr_connect_open(dec->cn, MR_SIDE_KEY, rec, ar, &key, err));
    bool has_key = !key.is_null && !key.is_text;
    return mr_debezium_mongodb_decode(dec->mg, rec, has_key ? &key.doc : NULL, key.root, &value->doc,
                                      sh->object, NULL, ar, emit, ctx, err);
}

/* ---- Tombstones ---- */

/* Does the text look like Extended JSON's object, or like its text with its own quotation marks? Neither is likely to be the key of a
 * relational table. */
static bool looks_extended(struct mr_str id)
{
    return (id.len >= 2 && id.ptr[0] == '"' && id.ptr[id.len - 1] == '"') ||
           (id.len >= 4 && id.ptr[0] == '{' && memchr(id.ptr, '$', id.len) != NULL);
}

static bool is_mongodb_key(const struct mr_record *rec, const struct mr_connect_message *key,
                           const struct mr_topic_facts *facts, struct mr_arena *ar)
{
    uint32_t id = mr_key_single_id(key);
    if (!mr_json_is(&key->doc, id, MR_J_STRING))
        return false;
    return mr_debezium_from_mongodb(rec) || strcmp(facts->format, MONGODB_FACT) == 0 ||
           looks_extended(mr_json_string(&key->doc, id, ar, NULL));
}

/* dtle may write all tables into one topic; the key's schema still names the table. */
static struct mr_relation relation_of_key(const struct mr_connect_message *key, struct mr_arena *ar)
{
    struct mr_relation rel = {MR_STR(""), MR_STR("")};
    if (key->schema == NULL || !mr_str_ends(key->schema->name, MR_STR(".Key")))
        return rel;
    struct mr_str name = mr_arena_copy(ar, mr_str_of(key->schema->name.ptr, key->schema->name.len - 4));
    ptrdiff_t last = mr_str_rfind(name, '.');
    ptrdiff_t first = last < 0 ? -1 : mr_str_rfind(mr_str_of(name.ptr, (size_t)last), '.');
    if (first < 0)
        return rel;
    rel.database = mr_str_of(name.ptr + first + 1, (size_t)(last - first - 1));
    rel.table = mr_str_of(name.ptr + last + 1, name.len - (size_t)last - 1);
    return rel;
}

static enum mr_status tombstone(struct mr_decoder *dec, const struct mr_record *rec,
                                const struct mr_topic_facts *facts, struct mr_arena *ar, mr_emit_fn emit,
                                void *ctx, struct mr_error *err)
{
    struct mr_connect_message key;
    enum mr_control control;
    MR_TRY(mr_connect_open(dec->cn, MR_SIDE_KEY, rec, ar, &key, err));
    if (mr_control_key(rec, &key, &control))
        return mr_control_emit(control, NULL, ar, emit, ctx, err);

    if (dec->cfg->drops_tombstones)
        return mr_control_emit(MR_CONTROL_EMPTY, NULL, ar, emit, ctx, err);

    struct adding add = {.cfg = dec->cfg, .ar = ar, .emit = emit, .ctx = ctx};
    add.meta = mr_meta_fields(dec->meta, dec->cn, rec, NULL, NULL, MR_STR("d"), ar);
    add.headers = mr_meta_headers(dec->meta, dec->cn, rec, NULL, NULL, MR_STR("d"), ar);
    struct mr_relation relation = relation_of_key(&key, ar);
    if (is_mongodb_key(rec, &key, facts, ar))
        return mr_debezium_mongodb_tombstone(dec->mg, rec, &key.doc, key.root, relation, NULL, ar, emit_added,
                                             &add, err);

    if (key.schema == NULL)
        key.schema = mr_source_types_for_topic(dec->types, rec->topic);
    struct mr_change *ev = mr_arena_zalloc(ar, sizeof(*ev));
    struct mr_key_rule rule = {.relation = relation};
    ev->op = MR_OP_DELETE;
    ev->is_tombstone = true;
    ev->relation = relation;
    ev->source_us = INT64_MIN;
    MR_TRY(mr_key_apply(dec->cn, rec, &key, &rule, dec->wants_key_text, ar, ev, err));
    if (!ev->has_key) /* follows every delete of a table without key */
        return mr_control_emit(MR_CONTROL_EMPTY, NULL, ar, emit, ctx, err);
    return emit_added(&add, ev, err);
}

/* ---- Schema changes ---- */

/* Adds to a schema change what it does, on its way to the engine. */
struct filling {
    const struct mr_config *cfg;
    const struct mr_shape *sh;
    struct mr_arena *ar;
    mr_emit_fn emit;
    void *ctx;
};

static enum mr_status emit_filled(void *ctx, const struct mr_change *ev, struct mr_error *err)
{
    struct filling *f = ctx;
    struct mr_change copy = *ev;
    mr_debezium_ddl_fill(f->cfg, f->sh, f->ar, &copy);
    return f->emit(f->ctx, &copy, err);
}

/* ---- The decoder ---- */

static void note_envelope(struct mr_topic_facts *facts, bool is_mongodb)
{
    if (!facts->envelopes_seen) {
        facts->envelopes_seen = true;
        facts->dirty = true;
    }
    if (is_mongodb && strcmp(facts->format, "debezium") == 0) {
        memcpy(facts->format, MONGODB_FACT, sizeof(MONGODB_FACT));
        facts->dirty = true;
    }
}

static enum mr_status decode(struct mr_decoder *dec, const struct mr_record *rec,
                             struct mr_topic_facts *facts, struct mr_arena *ar, mr_emit_fn emit,
                             void *ctx, struct mr_error *err)
{
    struct mr_connect_message value;
    MR_TRY(mr_connect_open(dec->cn, MR_SIDE_VALUE, rec, ar, &value, err));
    if (value.is_null)
        return tombstone(dec, rec, facts, ar, emit, ctx, err);
    if (!mr_json_is(&value.doc, value.root, MR_J_OBJECT))
        return mr_fail_data(err, MR_CODE_AMBIGUOUS, "the value is no object, so no Debezium event");

    struct mr_shape sh;
    enum mr_control control;
    mr_shape_of(&value.doc, value.root, ar, &sh);
    /* The format is known, so a schema's name, which transforms may change, counts for nothing here. */
    if (mr_shape_is_envelope(&sh)) {
        bool is_mongodb = mr_debezium_is_mongodb(&sh);
        note_envelope(facts, is_mongodb);
        struct adding add = {.cfg = dec->cfg, .ar = ar, .emit = emit, .ctx = ctx};
        add.meta = mr_meta_fields(dec->meta, dec->cn, rec, &sh, value.schema, MR_STR(""), ar);
        add.headers = mr_meta_headers(dec->meta, dec->cn, rec, &sh, value.schema, MR_STR(""), ar);
        read_transaction(rec, &sh, ar, &add.tx);
        return is_mongodb ? mongodb(dec, rec, &value, &sh, ar, emit_added, &add, err)
                          : relational(dec, rec, &value, &sh, ar, emit_added, &add, err);
    }
    if (mr_control_recognise(rec, &value, &sh, &control)) {
        struct filling f = {dec->cfg, &sh, ar, emit, ctx};
        if (control != MR_CONTROL_SCHEMA_CHANGE)
            return mr_control_emit_message(rec, control, &sh, ar, emit, ctx, err);
        if (!value.is_wrapped) /* where it is, the rows are, and tell their types themselves */
            mr_source_types_learn(dec->types, rec, &sh);
        return mr_control_emit(control, &sh, ar, emit_filled, &f, err);
    }

    enum mr_status status =
        mr_fail_data(err, MR_CODE_AMBIGUOUS,
                     "the value is no Debezium envelope: it lacks a known \"op\", \"source\", \"before\" or "
                     "\"after\"");
    mr_error_hint(err, "if this topic holds rows without an envelope, set format: flat");
    return status;
}

static int sniff(struct mr_decoder *dec, const struct mr_record *rec, struct mr_arena *ar)
{
    struct mr_connect_message value;
    struct mr_shape sh;
    if (mr_connect_open(dec->cn, MR_SIDE_VALUE, rec, ar, &value, NULL) != MR_OK || value.is_null ||
        !mr_json_is(&value.doc, value.root, MR_J_OBJECT))
        return 0;
    mr_shape_of(&value.doc, value.root, ar, &sh);
    return mr_debezium_is_envelope(&value, &sh) ? MR_SNIFF_ENVELOPE : 0;
}

const struct mr_decoder_ops mr_decoder_debezium = {
    .name = "debezium",
    .sniff = sniff,
    .create = create,
    .decode = decode,
    .destroy = destroy,
    .use_types = use_types,
};
