/* MongoDB envelopes to changes: which parts of the envelope count, the key, full documents, deletes. Partial updates are in
 * mongodb_update.c. */
#include "debezium_mongodb.h"

#include <millrace/base/mem.h>

#include "mongodb_parts.h"

struct mr_debezium_mongodb *mr_debezium_mongodb_create(const struct mr_config *cfg)
{
    struct mr_debezium_mongodb *mg = mr_xcalloc(1, sizeof *mg);
    struct mr_json_limits limits = {
        .max_depth = cfg->max_depth,
        .max_bytes = cfg->max_message_bytes,
        .allow_words = true, /* v1 strict writes NaN and the infinities bare */
        .allow_ill_formed = cfg->text_invalid != MR_TEXT_DEAD_LETTER,
    };

    mg->cfg = cfg;
    mg->wants_key_text = mr_config_wants_key_text(cfg);
    for (size_t i = 0; i < cfg->table_count; i++)
        mg->wants_id |= cfg->rewrite_with_id && cfg->unwrap_delete == MR_DELETE_SOFT &&
                        cfg->tables[i].key_mode != MR_KEY_UNSET && cfg->tables[i].key_mode != MR_KEY_RECORD;
    mg->reader = mr_json_reader_create(&limits);
    mr_extjson_init(&mg->ej, cfg);
    return mg;
}

void mr_debezium_mongodb_destroy(struct mr_debezium_mongodb *mg)
{
    if (mg == NULL)
        return;
    mr_extjson_free(&mg->ej);
    mr_json_reader_destroy(mg->reader);
    mr_xfree(mg);
}

bool mr_mongodb_is_null(const struct mr_json_doc *doc, uint32_t node)
{
    return node == MR_JSON_NONE || mr_json_is(doc, node, MR_J_NULL);
}

enum mr_status mr_mongodb_open(struct mr_debezium_mongodb *mg, const struct mr_json_doc *doc,
                               uint32_t node, const char *what_z, struct mr_arena *ar,
                               struct mr_json_doc *inner, uint32_t *root, struct mr_error *err)
{
    if (!mr_json_is(doc, node, MR_J_STRING)) {
        *inner = *doc;
        *root = node;
        return MR_OK;
    }
    enum mr_status status = mr_json_parse(mg->reader, mr_json_string(doc, node, ar, NULL), inner, err);
    if (status != MR_OK)
        mr_error_prefix(err, "%s: ", what_z);
    *root = 0;
    return status;
}

enum mr_status mr_mongodb_open_document(struct mr_debezium_mongodb *mg, const struct mr_json_doc *doc,
                                        uint32_t node, const char *what_z, struct mr_arena *ar,
                                        struct mr_json_doc *inner, uint32_t *root, struct mr_error *err)
{
    MR_TRY(mr_mongodb_open(mg, doc, node, what_z, ar, inner, root, err));
    if (!mr_json_is(inner, *root, MR_J_OBJECT))
        return mr_fail_data(err, MR_CODE_BAD_IMAGE, "%s is no document", what_z);
    return MR_OK;
}

/* ---- the key ---- */

static bool is_id(struct mr_str path)
{
    return mr_str_eq(path, MR_STR("_id")) || mr_str_starts(path, MR_STR("_id."));
}

/* The fields of an _id. One that would leave no trace (an empty document, undefined) keeps its column, or the row would have no key. */
static void add_id(struct mr_debezium_mongodb *mg, const struct mr_json_doc *doc, uint32_t node,
                   struct mr_arena *ar, struct mr_field_list *out)
{
    size_t before = out->count;

    mr_extjson_field(&mg->ej, doc, node, MR_STR("_id"), ar, out);
    if (out->count == before) {
        struct mr_value value;
        struct mr_type type;
        mr_extjson_value(&mg->ej, doc, node, ar, &value, &type);
        mr_field_add(out, ar, MR_STR("_id"), type, value);
    }
}

/* The record key's id: Extended JSON in a text, or (should a producer have expanded it) as it stands. */
static enum mr_status key_fields(struct mr_debezium_mongodb *mg, const struct mr_json_doc *key_doc,
                                 uint32_t key_payload, struct mr_arena *ar, struct mr_field_list *out,
                                 struct mr_error *err)
{
    struct mr_json_doc inner;
    uint32_t root, id;

    if (key_doc == NULL)
        return MR_OK;
    id = MR_JSON_MEMBER(key_doc, key_payload, "id");
    if (id == MR_JSON_NONE)
        return MR_OK;
    MR_TRY(mr_mongodb_open(mg, key_doc, id, "the key's id", ar, &inner, &root, err));
    add_id(mg, &inner, root, ar, out);
    return MR_OK;
}

static bool has_id(const struct mr_field_list *row)
{
    for (size_t i = row->count; i-- > 0;)
        if (is_id(row->items[i].path))
            return true;
    return false;
}

/* rewrite-with-id: a row that lacks its _id gets the key's. */
static void complete_id(struct mr_mongodb_event *mev, struct mr_change *ev)
{
    struct mr_field_list *row = ev->op == MR_OP_DELETE ? &mev->before : &mev->after;

    if (!mev->mg->wants_id || has_id(row))
        return;
    for (size_t i = 0; i < mev->key.count; i++)
        mr_field_add(row, mev->ar, mev->key.items[i].path, mev->key.items[i].type, mev->key.items[i].value);
}

/* Without a record key the document's own _id is the key. */
static void key_from_document(const struct mr_field_list *document, struct mr_arena *ar,
                              struct mr_field_list *key)
{
    for (size_t i = 0; i < document->count; i++) {
        const struct mr_field *field = &document->items[i];
        if (is_id(field->path))
            mr_field_add(key, ar, field->path, field->type, field->value);
    }
}

/* The oplog era's filter names the row, too. */
static enum mr_status key_from_filter(struct mr_mongodb_event *mev, struct mr_error *err)
{
    uint32_t filter = MR_JSON_MEMBER(mev->doc, mev->envelope, "filter"), root;
    struct mr_json_doc inner;

    if (mr_mongodb_is_null(mev->doc, filter))
        return MR_OK;
    MR_TRY(mr_mongodb_open_document(mev->mg, mev->doc, filter, "filter", mev->ar, &inner, &root, err));
    uint32_t id = MR_JSON_MEMBER(&inner, root, "_id");
    if (id != MR_JSON_NONE)
        add_id(mev->mg, &inner, id, mev->ar, &mev->key);
    return MR_OK;
}

/* ---- documents ---- */

void mr_mongodb_document_fields(struct mr_debezium_mongodb *mg, const struct mr_json_doc *doc,
                                uint32_t root, struct mr_arena *ar, struct mr_field_list *out)
{
    mr_extjson_fields(&mg->ej, doc, root, (struct mr_str){NULL, 0}, ar, out);
    mr_extjson_drain(&mg->ej, out);
    for (size_t i = 0; i < out->count; i++) {
        if (is_id(out->items[i].path))
            return;
    }
    uint32_t id = MR_JSON_MEMBER(doc, root, "_id");
    if (id != MR_JSON_NONE)
        add_id(mg, doc, id, ar, out);
}

static enum mr_status image(struct mr_mongodb_event *mev, uint32_t node, const char *what_z,
                            struct mr_field_list *out, struct mr_error *err)
{
    struct mr_json_doc inner;
    uint32_t root;

    if (mr_mongodb_is_null(mev->doc, node))
        return MR_OK;
    MR_TRY(mr_mongodb_open_document(mev->mg, mev->doc, node, what_z, mev->ar, &inner, &root, err));
    mr_mongodb_document_fields(mev->mg, &inner, root, mev->ar, out);
    return MR_OK;
}

/* ---- source ---- */

static int64_t scaled(const struct mr_json_doc *doc, uint32_t node, int64_t factor)
{
    int64_t n;

    if (!mr_json_int64(doc, node, &n) || __builtin_mul_overflow(n, factor, &n))
        return INT64_MIN;
    return n;
}

static int64_t source_time(const struct mr_json_doc *doc, uint32_t source)
{
    int64_t us = scaled(doc, MR_JSON_MEMBER(doc, source, "ts_us"), 1);

    if (us == INT64_MIN)
        us = scaled(doc, MR_JSON_MEMBER(doc, source, "ts_ms"), 1000);
    if (us == INT64_MIN)
        us = scaled(doc, MR_JSON_MEMBER(doc, source, "sec"), 1000000); /* before 0.9 */
    return us;
}

static struct mr_relation source_relation(const struct mr_json_doc *doc, uint32_t source, struct mr_arena *ar)
{
    struct mr_relation relation = {
        .database = mr_json_string(doc, MR_JSON_MEMBER(doc, source, "db"), ar, NULL),
        .table = mr_json_string(doc, MR_JSON_MEMBER(doc, source, "collection"), ar, NULL),
    };
    if (relation.table.len > 0)
        return relation;

    /* Before 0.9: "database.collection", and only the collection may hold dots. */
    struct mr_str ns = mr_json_string(doc, MR_JSON_MEMBER(doc, source, "ns"), ar, NULL);
    ptrdiff_t dot = mr_str_find(ns, '.');
    if (dot > 0) {
        relation.database = mr_str_of(ns.ptr, (size_t)dot);
        relation.table = mr_str_of(ns.ptr + dot + 1, ns.len - (size_t)dot - 1);
    }
    return relation;
}

/* ---- the change ---- */

static void set_key(struct mr_debezium_mongodb *mg, const struct mr_json_doc *key_doc, uint32_t key_payload,
                    const struct mr_field_list *key, struct mr_arena *ar, struct mr_change *ev)
{
    ev->key = mr_field_list_get(key);
    ev->has_key = key->count > 0;
    if (mg->wants_key_text && key_doc != NULL)
        ev->key_text = mr_json_text(key_doc, key_payload, ar, NULL);
}

/* The row, the changed columns, or the deletion; sets op, partial and the lists. */
static enum mr_status read_change(struct mr_mongodb_event *mev, struct mr_change *ev, struct mr_error *err)
{
    const struct mr_json_doc *doc = mev->doc;
    uint32_t after = MR_JSON_MEMBER(doc, mev->envelope, "after");
    uint32_t description = MR_JSON_MEMBER(doc, mev->envelope, "updateDescription");
    uint32_t patch = MR_JSON_MEMBER(doc, mev->envelope, "patch");

    MR_TRY(image(mev, MR_JSON_MEMBER(doc, mev->envelope, "before"), "before", &mev->before, err));
    ev->op = MR_OP_UPSERT;
    if (!mr_mongodb_is_null(doc, after))
        return image(mev, after, "after", &mev->after, err);
    if (!mr_mongodb_is_null(doc, description))
        return mr_mongodb_read_description(mev, description, &ev->partial, err);
    if (!mr_mongodb_is_null(doc, patch))
        return mr_mongodb_read_patch(mev, patch, &ev->partial, err);
    ev->op = MR_OP_DELETE;
    return MR_OK;
}

enum mr_status mr_debezium_mongodb_decode(struct mr_debezium_mongodb *mg, const struct mr_record *rec,
                                          const struct mr_json_doc *key_doc, uint32_t key_payload,
                                          const struct mr_json_doc *doc, uint32_t envelope,
                                          const struct mr_fields *meta, struct mr_arena *ar,
                                          mr_emit_fn emit, void *ctx, struct mr_error *err)
{
    (void)rec;
    struct mr_mongodb_event mev = {.mg = mg, .doc = doc, .envelope = envelope, .ar = ar};
    struct mr_change *ev = mr_arena_zalloc(ar, sizeof *ev);
    uint32_t source = MR_JSON_MEMBER(doc, envelope, "source");
    uint32_t op = MR_JSON_MEMBER(doc, envelope, "op");

    mr_arrays_begin(&mev.arrays, mg->cfg, ar, &mev.after);
    mr_arrays_begin(&mev.dropped, mg->cfg, ar, &mev.before);
    mev.dropped.is_dropped = true;
    MR_TRY(key_fields(mg, key_doc, key_payload, ar, &mev.key, err));
    MR_TRY(read_change(&mev, ev, err));
    if (mev.key.count == 0 && !ev->partial)
        key_from_document(&mev.after, ar, &mev.key);
    if (mev.key.count == 0)
        MR_TRY(key_from_filter(&mev, err));
    if (mev.key.count == 0)
        key_from_document(&mev.before, ar, &mev.key);

    set_key(mg, key_doc, key_payload, &mev.key, ar, ev);
    ev->relation = source_relation(doc, source, ar);
    ev->source_us = source_time(doc, source);
    ev->is_new = ev->op == MR_OP_UPSERT && !ev->partial &&
                (mr_json_string_is(doc, op, MR_STR("c")) || mr_json_string_is(doc, op, MR_STR("r")));
    ev->is_whole_before = ev->op == MR_OP_DELETE && mev.before.count > 0;
    complete_id(&mev, ev);
    ev->before = mr_field_list_get(&mev.before);
    ev->after = mr_field_list_get(&mev.after);
    mr_arrays_give(&mev.arrays, &mev.after, ev);
    ev->removed = mr_field_list_get(&mev.removed);
    ev->has_positions = mev.has_positions;
    ev->parts = (struct mr_part_list){mev.parts, mev.part_count, {mg->cfg->field_names, mg->cfg->array_encoding == MR_ARRAY_DOCUMENT}};
    if (meta != NULL)
        ev->meta = *meta;
    return emit(ctx, ev, err);
}

enum mr_status mr_debezium_mongodb_tombstone(struct mr_debezium_mongodb *mg, const struct mr_record *rec,
                                             const struct mr_json_doc *key_doc, uint32_t key_payload,
                                             struct mr_relation relation, const struct mr_fields *meta,
                                             struct mr_arena *ar, mr_emit_fn emit, void *ctx,
                                             struct mr_error *err)
{
    (void)rec;
    struct mr_field_list key = {0};
    struct mr_change *ev = mr_arena_zalloc(ar, sizeof *ev);

    *ev = (struct mr_change){.op = MR_OP_DELETE, .is_tombstone = true, .relation = relation,
                             .source_us = INT64_MIN};

    MR_TRY(key_fields(mg, key_doc, key_payload, ar, &key, err));
    if (key.count == 0)
        return mr_fail_data(err, MR_CODE_NO_KEY, "a null value whose key has no member \"id\"");
    set_key(mg, key_doc, key_payload, &key, ar, ev);
    if (meta != NULL)
        ev->meta = *meta;
    return emit(ctx, ev, err);
}
