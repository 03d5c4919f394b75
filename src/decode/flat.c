/* Format `flat`: rows that one of Debezium's transforms has unwrapped already. The value is the row; a null value, in any of its shapes, is
 * a delete by key; the member `__deleted` marks deletes that were rewritten as rows. Control messages may stand between the rows of a file
 * and are passed over.
 *
 * The MongoDB transform calls the key member `id` and the column `_id`; what tells is the row, the schema names, or the record's header.
 * For tombstones, which have nothing of that, the topic's facts remember it. */
#include <millrace/base/mem.h>

#include "arrays.h"
#include "control.h"
#include "debezium.h"
#include "detect.h"
#include "key.h"
#include "meta.h"

#define MONGODB_FACT "flat/mongodb"
#define FLATTENED_FACT "flat/mongodb/flat-id" /* a document as _id is flattened in the rows */

struct mr_decoder {
    struct mr_connect *cn;
    struct mr_meta *meta;
    bool wants_key_text;
    bool is_detected; /* format: auto */
    const char *delimiter_z; /* of flattened names; the configuration's */
};

static void destroy(struct mr_decoder *dec)
{
    if (dec == NULL)
        return;
    mr_meta_destroy(dec->meta);
    mr_connect_destroy(dec->cn);
    mr_xfree(dec);
}

static enum mr_status create(const struct mr_config *cfg, struct mr_decoder **out, struct mr_error *err)
{
    struct mr_decoder *dec = mr_xcalloc(1, sizeof(*dec));
    enum mr_status status = mr_meta_create(cfg, &dec->meta, err);
    if (status != MR_OK) {
        destroy(dec);
        return status;
    }
    dec->cn = mr_connect_create(cfg);
    dec->wants_key_text = mr_config_wants_key_text(cfg);
    dec->is_detected = strcmp(cfg->format, "auto") == 0;
    dec->delimiter_z = cfg->flatten_delimiter;
    *out = dec;
    return MR_OK;
}

/* ---- Which table ---- */

static struct mr_str text_at(const struct mr_shape *sh, enum mr_member m, struct mr_arena *ar)
{
    return mr_shape_is(sh, m, MR_J_STRING) ? mr_json_string(sh->doc, sh->node[m], ar, NULL) : MR_STR("");
}

/* Does `topic` end in `name` (at a dot), once every character that topics cannot hold is `_`? Then *rest is what stands before. */
static bool ends_in_name(struct mr_str topic, struct mr_str name, struct mr_str *rest)
{
    size_t t = topic.len, n = name.len;
    while (n != 0) {
        /* One character of the name, however many bytes it has, is one of the topic. */
        unsigned char c = (unsigned char)name.ptr[--n];
        while ((c & 0xc0) == 0x80 && n != 0)
            c = (unsigned char)name.ptr[--n];
        bool is_kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '_' || c == '-';
        if (t == 0 || topic.ptr[--t] != (is_kept ? (char)c : '_'))
            return false;
    }
    if (t != 0 && topic.ptr[t - 1] != '.')
        return false;
    *rest = mr_str_of(topic.ptr, t == 0 ? 0 : t - 1);
    return true;
}

static struct mr_str last_part(struct mr_str name)
{
    ptrdiff_t dot = mr_str_rfind(name, '.');
    return mr_str_of(name.ptr + dot + 1, name.len - (size_t)(dot + 1));
}

/* The names that metadata members give, where topic or schema name agree with them: a column of the row may be called the same. */
static bool relation_of_metadata(const struct mr_shape *sh, struct mr_str place, struct mr_arena *ar,
                                 struct mr_relation *out)
{
    static const enum mr_member tables[] = {MR_M_META_TABLE, MR_M_META_SOURCE_TABLE, MR_M_META_COLLECTION,
                                            MR_M_META_SOURCE_COLLECTION};
    static const enum mr_member databases[] = {MR_M_META_DB, MR_M_META_SOURCE_DB};
    struct mr_str rest, before;
    for (size_t i = 0; i < 4; i++) {
        struct mr_str table = text_at(sh, tables[i], ar);
        if (table.len == 0 || !ends_in_name(place, table, &rest))
            continue;
        out->table = table;
        out->database = last_part(rest);
        for (size_t d = 0; d < 2; d++) {
            struct mr_str db = text_at(sh, databases[d], ar);
            if (db.len != 0 && ends_in_name(rest, db, &before))
                out->database = db;
        }
        return true;
    }
    return false;
}

/* `shape` NULL: no row. "" where only the topic can tell. */
static struct mr_relation relation_of(const struct mr_record *rec, const struct mr_connect_message *value,
                                      const struct mr_shape *sh, struct mr_arena *ar)
{
    struct mr_relation rel = {MR_STR(""), MR_STR("")};
    struct mr_str name = MR_STR("");
    if (value->schema != NULL) {
        name = value->schema->name;
        if (mr_str_ends(name, MR_STR(".Value")))
            name.len -= 6;
    }
    if (sh != NULL &&
        (relation_of_metadata(sh, rec->topic, ar, &rel) || relation_of_metadata(sh, name, ar, &rel))) {
        rel.database = mr_arena_copy(ar, rel.database);
        return rel;
    }

    ptrdiff_t last = mr_str_rfind(name, '.');
    if (last < 0 || mr_str_rfind(mr_str_of(name.ptr, (size_t)last), '.') < 0)
        return rel;
    rel.table = mr_arena_copy(ar, last_part(name));
    rel.database = mr_arena_copy(ar, last_part(mr_str_of(name.ptr, (size_t)last)));
    return rel;
}

/* ---- Which key ---- */

/* Nothing but `__deleted` and other metadata: what is left of a MongoDB document that was deleted without a before image. */
static bool is_only_metadata(const struct mr_shape *sh)
{
    if (!mr_shape_has(sh, MR_M_DELETED))
        return false;
    const struct mr_json_doc *doc = sh->doc;
    for (uint32_t n = mr_json_first(doc, sh->object); n != MR_JSON_NONE;
         n = mr_json_next_in(doc, sh->object, n)) {
        if (!mr_str_starts(mr_json_raw(doc, n), MR_STR("__")))
            return false;
    }
    return true;
}

static bool same_json(const struct mr_json_doc *a, uint32_t an, const struct mr_json_doc *b, uint32_t bn,
                      struct mr_arena *ar)
{
    return mr_str_eq(mr_json_text(a, an, ar, NULL), mr_json_text(b, bn, ar, NULL));
}

/* Is the key's single member `id` the column `_id`? `shape` NULL: no row. */
static bool is_document_id(const struct mr_record *rec, const struct mr_connect_message *key,
                           const struct mr_connect_message *value, const struct mr_shape *sh,
                           const struct mr_topic_facts *facts, struct mr_arena *ar)
{
    uint32_t id = mr_key_single_id(key);
    if (id == MR_JSON_NONE)
        return false;
    if (sh != NULL && mr_shape_has(sh, MR_M_UNDERSCORE_ID)) {
        /* A table may have columns `id` and `_id`; a document may have a field `id`. */
        return !mr_shape_has(sh, MR_M_ID) ||
               same_json(&key->doc, id, sh->doc, sh->node[MR_M_UNDERSCORE_ID], ar) ||
               !same_json(&key->doc, id, sh->doc, sh->node[MR_M_ID], ar);
    }
    if (sh != NULL && !is_only_metadata(sh))
        return false;

    bool is_unnamed = key->schema != NULL && key->schema->name.len == 0;
    bool is_row_of_table = value->schema != NULL && mr_str_ends(value->schema->name, MR_STR(".Value"));
    return sh != NULL || (is_unnamed && !is_row_of_table) || mr_debezium_from_mongodb(rec) ||
           strncmp(facts->format, MONGODB_FACT, sizeof(MONGODB_FACT) - 1) == 0;
}

static void note_document_ids(struct mr_topic_facts *facts, bool is_flattened)
{
    const char *fact_z = is_flattened ? FLATTENED_FACT : MONGODB_FACT;
    if (strcmp(facts->format, fact_z) == 0 || strncmp(facts->format, "flat", 4) != 0)
        return;
    if (!is_flattened && strcmp(facts->format, FLATTENED_FACT) == 0)
        return;
    memcpy(facts->format, fact_z, strlen(fact_z) + 1);
    facts->dirty = true;
}

/* A document as `_id`: the key keeps it nested, while the transform may have made `_id_company`, `_id_dept` of it in the row (flattened.md §1).
 * Then the key's paths are those names too. Without a row the topic's facts tell. */
static bool is_flattened_id(const struct mr_connect_message *key, const struct mr_shape *sh,
                            const struct mr_topic_facts *facts)
{
    uint32_t id = mr_key_single_id(key);
    if (!mr_json_is(&key->doc, id, MR_J_OBJECT) || key->doc.nodes[id].count == 0)
        return false;
    if (sh == NULL || is_only_metadata(sh))
        return strcmp(facts->format, FLATTENED_FACT) == 0;
    if (mr_shape_has(sh, MR_M_UNDERSCORE_ID))
        return false;
    for (uint32_t n = mr_json_first(sh->doc, sh->object); n != MR_JSON_NONE; n = mr_json_next_in(sh->doc, sh->object, n))
        if (mr_str_starts(mr_json_raw(sh->doc, n), MR_STR("_id")))
            return true;
    return false;
}

/* `_id.company` → `_id_company`: one name, with what would be a separator inside it escaped. */
static struct mr_str joined_path(struct mr_str path, const char *delimiter_z, struct mr_arena *ar)
{
    struct mr_buf out = MR_BUF_INIT(65536);
    for (size_t i = 0; i < path.len; i++) {
        if (path.ptr[i] == '\\' && i + 1 < path.len)
            mr_buf_append_char(&out, path.ptr[i++]);
        else if (path.ptr[i] == '.') {
            for (const char *d = delimiter_z; *d != '\0'; d++) {
                if (*d == '.' || *d == '\\')
                    mr_buf_append_char(&out, '\\');
                mr_buf_append_char(&out, *d);
            }
            continue;
        }
        mr_buf_append_char(&out, path.ptr[i]);
    }
    struct mr_str joined = mr_arena_copy(ar, mr_buf_str(&out));
    mr_buf_free(&out);
    return joined;
}

static void join_key_paths(struct mr_fields *key, const char *delimiter_z, struct mr_arena *ar)
{
    struct mr_field *items = mr_arena_alloc(ar, (key->count + 1) * sizeof(*items));
    for (size_t i = 0; i < key->count; i++) {
        items[i] = key->items[i];
        items[i].path = joined_path(items[i].path, delimiter_z, ar);
    }
    key->items = items;
}

/* Open the key and fill relation, key and metadata of a change. */
static enum mr_status begin(struct mr_decoder *dec, const struct mr_record *rec,
                            const struct mr_connect_message *value, const struct mr_shape *sh, bool is_delete,
                            struct mr_topic_facts *facts, struct mr_arena *ar, struct mr_change *ev,
                            enum mr_control *control, bool *is_control, struct mr_error *err)
{
    struct mr_connect_message key;
    MR_TRY(mr_connect_open(dec->cn, MR_SIDE_KEY, rec, ar, &key, err));
    *is_control = value->is_null && mr_control_key(rec, &key, control);
    if (*is_control)
        return MR_OK;

    struct mr_key_rule rule = {.relation = relation_of(rec, value, sh, ar)};
    rule.id_is_document_id = is_document_id(rec, &key, value, sh, facts, ar);
    bool is_flattened = is_flattened_id(&key, sh, facts);
    rule.id_is_document_id = rule.id_is_document_id || is_flattened;
    if (rule.id_is_document_id)
        note_document_ids(facts, is_flattened);

    ev->relation = rule.relation;
    ev->source_us = INT64_MIN;
    struct mr_str op = is_delete ? MR_STR("d") : MR_STR("");
    ev->meta = mr_meta_fields(dec->meta, dec->cn, rec, NULL, NULL, op, ar);
    ev->headers = mr_meta_headers(dec->meta, dec->cn, rec, NULL, NULL, op, ar);
    MR_TRY(mr_key_apply(dec->cn, rec, &key, &rule, dec->wants_key_text, ar, ev, err));
    if (is_flattened)
        join_key_paths(&ev->key, dec->delimiter_z, ar);
    return MR_OK;
}

/* ---- Deletes ---- */

static enum mr_status tombstone(struct mr_decoder *dec, const struct mr_record *rec,
                                const struct mr_connect_message *value, struct mr_topic_facts *facts,
                                struct mr_arena *ar, mr_emit_fn emit, void *ctx, struct mr_error *err)
{
    struct mr_change *ev = mr_arena_zalloc(ar, sizeof(*ev));
    enum mr_control control;
    bool is_control;
    MR_TRY(begin(dec, rec, value, NULL, true, facts, ar, ev, &control, &is_control, err));
    if (is_control)
        return mr_control_emit(control, NULL, ar, emit, ctx, err);
    if (!ev->has_key)
        return mr_control_emit(MR_CONTROL_EMPTY, NULL, ar, emit, ctx, err);
    ev->op = MR_OP_DELETE;
    ev->is_tombstone = true;
    return emit(ctx, ev, err);
}

enum deleted { NOT_A_FLAG, IS_NOT_DELETED, IS_DELETED };

/* What the member `__deleted` says: text from the relational transform, boolean from MongoDB's. Anything else is a column. */
static enum deleted read_deleted(const struct mr_shape *sh, struct mr_arena *ar)
{
    uint32_t node = sh->node[MR_M_DELETED];
    if (mr_json_is(sh->doc, node, MR_J_TRUE))
        return IS_DELETED;
    if (mr_json_is(sh->doc, node, MR_J_FALSE) || mr_json_is(sh->doc, node, MR_J_NULL))
        return IS_NOT_DELETED;
    struct mr_str s = text_at(sh, MR_M_DELETED, ar);
    if (mr_str_eq_nocase(s, MR_STR("true")))
        return IS_DELETED;
    return mr_str_eq_nocase(s, MR_STR("false")) ? IS_NOT_DELETED : NOT_A_FLAG;
}

static void drop_flag(struct mr_field_list *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (!mr_str_eq(list->items[i].path, MR_STR("__deleted")))
            list->items[kept++] = list->items[i];
    }
    list->count = kept;
}

/* ---- Rows ---- */

static enum mr_status row(struct mr_decoder *dec, const struct mr_record *rec,
                          const struct mr_connect_message *value, const struct mr_shape *sh,
                          struct mr_topic_facts *facts, struct mr_arena *ar, mr_emit_fn emit, void *ctx,
                          struct mr_error *err)
{
    enum deleted deleted = mr_shape_has(sh, MR_M_DELETED) ? read_deleted(sh, ar) : NOT_A_FLAG;
    struct mr_change *ev = mr_arena_zalloc(ar, sizeof(*ev));
    enum mr_control control;
    bool is_control;
    MR_TRY(begin(dec, rec, value, sh, deleted == IS_DELETED, facts, ar, ev, &control, &is_control, err));

    struct mr_field_list list = {0};
    struct mr_arrays arrays = {0};
    mr_arrays_begin(&arrays, dec->cn->cfg, ar, &list);
    mr_connect_row(dec->cn, value->schema, &value->doc, value->root, MR_STR(""), ar, &list);
    if (deleted != NOT_A_FLAG)
        drop_flag(&list);
    ev->after = mr_field_list_get(&list);
    mr_arrays_give(&arrays, &list, ev);
    mr_meta_override(&ev->meta, &ev->after);
    mr_key_unwrap(ar, ev);

    int64_t ms, us;
    if (mr_json_int64(&value->doc, sh->node[MR_M_META_SOURCE_TS_MS], &ms) &&
        !__builtin_mul_overflow(ms, INT64_C(1000), &us))
        ev->source_us = us;

    ev->op = deleted == IS_DELETED ? MR_OP_DELETE : MR_OP_UPSERT;
    ev->is_deleted_row = deleted == IS_DELETED;
    return emit(ctx, ev, err);
}

static enum mr_status decode(struct mr_decoder *dec, const struct mr_record *rec,
                             struct mr_topic_facts *facts, struct mr_arena *ar, mr_emit_fn emit,
                             void *ctx, struct mr_error *err)
{
    struct mr_connect_message value;
    MR_TRY(mr_connect_open(dec->cn, MR_SIDE_VALUE, rec, ar, &value, err));
    if (value.is_null)
        return tombstone(dec, rec, &value, facts, ar, emit, ctx, err);
    if (!mr_json_is(&value.doc, value.root, MR_J_OBJECT))
        return mr_fail_data(err, MR_CODE_AMBIGUOUS, "the value is no JSON object, so no row");

    struct mr_shape sh;
    enum mr_control control;
    mr_shape_of(&value.doc, value.root, ar, &sh);
    if (mr_control_recognise(rec, &value, &sh, &control))
        return mr_control_emit_message(rec, control, &sh, ar, emit, ctx, err);
    if (dec->is_detected && mr_debezium_is_envelope(&value, &sh)) {
        enum mr_status status = mr_fail_data(
            err, MR_CODE_AMBIGUOUS, "a Debezium envelope in a topic of rows without envelope");
        mr_error_hint(err, "set format: flat if this really is a row, or format: debezium for the topic");
        return status;
    }
    return row(dec, rec, &value, &sh, facts, ar, emit, ctx, err);
}

/* A row of Debezium's shows by its header, its flag, or by a schema that describes a struct. Any other object gets the lowest score: it is
 * taken for a flattened row when nothing else claims it. */
static int sniff(struct mr_decoder *dec, const struct mr_record *rec, struct mr_arena *ar)
{
    struct mr_connect_message value;
    struct mr_shape sh;
    if (mr_connect_open(dec->cn, MR_SIDE_VALUE, rec, ar, &value, NULL) != MR_OK || value.is_null ||
        !mr_json_is(&value.doc, value.root, MR_J_OBJECT))
        return 0;
    mr_shape_of(&value.doc, value.root, ar, &sh);
    if (mr_record_header(rec, "__debezium.context.connectorName") != NULL ||
        (value.schema != NULL && value.schema->kind == MR_C_STRUCT))
        return MR_SNIFF_DESCRIBED_ROW;
    return mr_shape_has(&sh, MR_M_DELETED) && read_deleted(&sh, ar) != NOT_A_FLAG ? MR_SNIFF_FLAGGED_ROW : MR_SNIFF_ANY_OBJECT;
}

const struct mr_decoder_ops mr_decoder_flat = {
    .name = "flat",
    .sniff = sniff,
    .create = create,
    .decode = decode,
    .destroy = destroy,
};
