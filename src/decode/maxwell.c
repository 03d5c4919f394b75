/* Format `maxwell`: the JSON of Maxwell's daemon. One message is one row, with native numbers and documents and no types, or a schema
 * change, or a mark of a bootstrap. Types come from types.columns, else from the schema changes.
 *
 * The record's key names the key columns, in lower case, and has their values after the change: it tells which columns are the key, and the row
 * tells their values. */
#include <millrace/base/map.h>
#include <millrace/base/mem.h>
#include <millrace/base/time.h>
#include <millrace/model/table.h>

#include "control.h"
#include "debezium.h"
#include "detect.h"
#include "documents.h"
#include "key.h"
#include "maxwell.h"
#include "maxwell_types.h"
#include "meta.h"
#include "names.h"
#include "source_types.h"

struct mr_decoder {
    const struct mr_config *cfg;
    struct mr_connect *cn;
    struct mr_meta *meta;
    struct mr_maxwell_types *types;
    struct mr_maxwell_defs *defs; /* NULL: alone, in a test */
    bool wants_key_text;
    bool wants_before;
};

/* One message on its way. */
struct message {
    struct mr_decoder *dec;
    const struct mr_record *rec;
    const struct mr_connect_message *key;
    const struct mr_shape *sh;
    struct mr_arena *ar;
    mr_emit_fn emit;
    void *ctx;
    struct mr_relation relation;
};

static void destroy(struct mr_decoder *dec)
{
    if (dec == NULL)
        return;
    mr_maxwell_types_destroy(dec->types);
    mr_meta_destroy(dec->meta);
    mr_connect_destroy(dec->cn);
    mr_xfree(dec);
}

static enum mr_status create(const struct mr_config *cfg, struct mr_decoder **out, struct mr_error *err)
{
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
    dec->wants_key_text = mr_config_wants_key_text(cfg);
    for (size_t i = 0; i < cfg->table_count; i++)
        dec->wants_before |= cfg->tables[i].key_mode == MR_KEY_FIELDS;
    *out = dec;
    return MR_OK;
}

static struct mr_str text_at(const struct mr_shape *sh, enum mr_member m, struct mr_arena *ar)
{
    return mr_shape_is(sh, m, MR_J_STRING) ? mr_json_string(sh->doc, sh->node[m], ar, NULL) : MR_STR("");
}

static struct mr_str name_at(const struct message *m, const struct mr_json_doc *doc, uint32_t node)
{
    struct mr_str name = mr_json_is(doc, node, MR_J_STRING) ? mr_json_string(doc, node, m->ar, NULL) : MR_STR("");
    return mr_name_spelled(m->dec->cfg, name, m->ar);
}

/* ---- The key's columns ---- */

#define MAX_KEY 64

struct names {
    struct mr_str items[MAX_KEY];
    size_t count;
};

static enum mr_status add_name(struct names *names, struct mr_str name, struct mr_error *err)
{
    if (names->count == MAX_KEY)
        return mr_fail_data(err, MR_CODE_TOO_LARGE, "a key of more than %d columns", MAX_KEY);
    names->items[names->count++] = name;
    return MR_OK;
}

/* `primary_key_columns` of the value, under both of its spellings. *found: there is one. */
static enum mr_status names_of_value(const struct message *m, struct names *out, bool *found, struct mr_error *err)
{
    const struct mr_json_doc *doc = m->sh->doc;
    uint32_t list = MR_JSON_MEMBER(doc, m->sh->object, "primary_key_columns");
    if (list == MR_JSON_NONE)
        list = MR_JSON_MEMBER(doc, m->sh->object, "primaryKeyColumns");
    *found = mr_json_is(doc, list, MR_J_ARRAY);
    if (!*found)
        return MR_OK;
    for (uint32_t n = mr_json_first(doc, list); n != MR_JSON_NONE; n = mr_json_next_in(doc, list, n)) {
        if (mr_json_is(doc, n, MR_J_STRING))
            MR_TRY(add_name(out, mr_json_string(doc, n, m->ar, NULL), err));
    }
    return MR_OK;
}

/* {"database":…,"table":…,"pk.a":1} or ["db","table",[{"a":1}]]. A random `_uuid`, or a text, names no column. */
static enum mr_status names_of_key(const struct message *m, struct names *out, struct mr_error *err)
{
    const struct mr_json_doc *doc = &m->key->doc;
    uint32_t root = m->key->root;
    if (m->key->is_null || m->key->is_text)
        return MR_OK;
    if (mr_json_is(doc, root, MR_J_ARRAY)) {
        uint32_t list = mr_json_first(doc, root);
        for (int i = 0; i < 2 && list != MR_JSON_NONE; i++)
            list = mr_json_next_in(doc, root, list);
        if (!mr_json_is(doc, list, MR_J_ARRAY))
            return MR_OK;
        for (uint32_t n = mr_json_first(doc, list); n != MR_JSON_NONE; n = mr_json_next_in(doc, list, n)) {
            if (mr_json_is(doc, n, MR_J_OBJECT) && doc->nodes[n].count == 1)
                MR_TRY(add_name(out, mr_json_string(doc, mr_json_first(doc, n), m->ar, NULL), err));
        }
        return MR_OK;
    }
    if (!mr_json_is(doc, root, MR_J_OBJECT))
        return MR_OK;
    for (uint32_t n = mr_json_first(doc, root); n != MR_JSON_NONE; n = mr_json_next_in(doc, root, n)) {
        struct mr_str name = mr_json_string(doc, n, m->ar, NULL);
        if (mr_str_starts(name, MR_STR("pk.")))
            MR_TRY(add_name(out, mr_str_of(name.ptr + 3, name.len - 3), err));
    }
    return MR_OK;
}

/* Alike but for case and underscores? Keys are lower-cased, and a naming strategy makes camel case of the row's names. */
static bool is_alike(struct mr_str a, struct mr_str b)
{
    size_t i = 0, k = 0;
    for (;;) {
        while (i < a.len && a.ptr[i] == '_')
            i++;
        while (k < b.len && b.ptr[k] == '_')
            k++;
        if (i == a.len || k == b.len)
            return i == a.len && k == b.len;
        if (!mr_str_eq_nocase(mr_str_of(a.ptr + i++, 1), mr_str_of(b.ptr + k++, 1)))
            return false;
    }
}

/* The row's field of that name: as it stands, else without regard to case, else without underscores too. */
static const struct mr_field *find_named(const struct message *m, const struct mr_fields *image, struct mr_str name)
{
    struct mr_str path = mr_flatten_path(MR_STR(""), mr_name_spelled(m->dec->cfg, name, m->ar), m->ar);
    for (size_t i = 0; i < image->count; i++) {
        if (mr_str_eq(image->items[i].path, path))
            return &image->items[i];
    }
    for (size_t i = 0; i < image->count; i++) {
        if (mr_str_eq_nocase(image->items[i].path, path))
            return &image->items[i];
    }
    for (size_t i = 0; i < image->count; i++) {
        if (is_alike(image->items[i].path, path))
            return &image->items[i];
    }
    return NULL;
}

static enum mr_status fill_key(struct message *m, const struct mr_fields *image, struct mr_change *ev, struct mr_error *err)
{
    struct names names;
    bool found;
    names.count = 0;
    MR_TRY(names_of_value(m, &names, &found, err));
    if (!found)
        MR_TRY(names_of_key(m, &names, err));
    if (names.count == 0)
        return MR_OK;

    struct mr_field *items = mr_arena_alloc(m->ar, names.count * sizeof(*items));
    for (size_t i = 0; i < names.count; i++) {
        const struct mr_field *f = find_named(m, image, names.items[i]);
        if (f == NULL) {
            struct mr_table_settings settings;
            mr_config_table(m->dec->cfg, m->relation.database, m->relation.table, &settings);
            if (settings.key_mode == MR_KEY_FIELDS || settings.key_mode == MR_KEY_NONE)
                return MR_OK;
            (void)mr_fail_data(err, MR_CODE_NO_KEY, "the row does not bring its key column \"%.*s\"", MR_STR_FMT(names.items[i]));
            mr_error_field(err, names.items[i].ptr, names.items[i].len);
            return MR_E_DATA;
        }
        items[i] = *f;
    }
    ev->key = (struct mr_fields){items, names.count};
    ev->has_key = true;
    if (m->dec->wants_key_text)
        ev->key_text = mr_key_fields_text(&ev->key, m->ar);
    return MR_OK;
}

/* ---- Rows ---- */

static struct mr_field field_of(struct message *m, const struct mr_json_doc *doc, uint32_t name)
{
    struct mr_field f = {.path = mr_flatten_path(MR_STR(""), name_at(m, doc, name), m->ar)};
    mr_maxwell_value(m->dec->types, &m->relation, doc, name + 1, m->ar, &f);
    return f;
}

static enum mr_status read_row(struct message *m, uint32_t node, const char *what_z, struct mr_fields *out, struct mr_error *err)
{
    const struct mr_json_doc *doc = m->sh->doc;
    if (!mr_json_is(doc, node, MR_J_OBJECT))
        return mr_fail_data(err, MR_CODE_BAD_IMAGE, "\"%s\" is no row", what_z);
    if (doc->nodes[node].count > MR_TABLE_MAX_COLUMNS)
        return mr_fail_data(err, MR_CODE_TOO_LARGE, "a row of more than %d columns", MR_TABLE_MAX_COLUMNS);
    struct mr_field *fields = mr_arena_alloc(m->ar, ((size_t)doc->nodes[node].count + 1) * sizeof(*fields));
    size_t n = 0;
    for (uint32_t name = mr_json_first(doc, node); name != MR_JSON_NONE; name = mr_json_next_in(doc, node, name)) {
        if (!mr_json_is_shadowed(doc, node, name))
            fields[n++] = field_of(m, doc, name);
    }
    *out = (struct mr_fields){fields, n};
    return MR_OK;
}

/* Columns in `old` that `data` lacks are null now: Maxwell leaves out nulls where output_nulls is off. Both have the table's order, so that a
 * walk beside the other finds what belongs together. */
static void lay_over(struct message *m, const struct mr_fields *old, struct mr_fields *now, struct mr_fields *before)
{
    size_t most = now->count + old->count + 1, n = now->count, at = 0, first_count = now->count;
    struct mr_field *after = mr_arena_alloc(m->ar, most * sizeof(*after));
    struct mr_field *was = mr_arena_alloc(m->ar, most * sizeof(*was));
    if (n != 0) {
        memcpy(after, now->items, n * sizeof(*after));
        memcpy(was, now->items, n * sizeof(*was));
    }
    for (size_t i = 0; i < old->count; i++) {
        size_t tried = 0;
        while (tried < first_count && !mr_str_eq(after[at].path, old->items[i].path)) {
            at = at + 1 == first_count ? 0 : at + 1;
            tried++;
        }
        if (tried < first_count) {
            was[at] = old->items[i];
            continue;
        }
        was[n] = after[n] = old->items[i];
        after[n++].value = mr_value_null();
    }
    *now = (struct mr_fields){after, n};
    *before = (struct mr_fields){was, n};
}

static bool lists_key(const struct mr_fields *key, const struct mr_fields *old)
{
    for (size_t k = 0; k < key->count; k++) {
        for (size_t i = 0; i < old->count; i++) {
            if (mr_str_eq(old->items[i].path, key->items[k].path))
                return true;
        }
    }
    return false;
}

static struct mr_str text_of(const struct message *m, const char *name_z)
{
    uint32_t node = mr_json_member(m->sh->doc, m->sh->object, mr_str_z(name_z));
    return mr_json_is(m->sh->doc, node, MR_J_STRING) ? mr_json_string(m->sh->doc, node, m->ar, NULL) : MR_STR("");
}

static struct mr_change *new_change(struct message *m, enum mr_op op, const char *op_z, int64_t us_per_ts)
{
    const struct mr_json_doc *doc = m->sh->doc;
    uint32_t xid = MR_JSON_MEMBER(doc, m->sh->object, "xid");
    struct mr_change *ev = mr_arena_zalloc(m->ar, sizeof(*ev));
    int64_t ts;
    ev->op = op;
    ev->relation = m->relation;
    ev->source_us = INT64_MIN;
    if (mr_json_int64(doc, MR_JSON_MEMBER(doc, m->sh->object, "ts"), &ts) && ts > 0 && ts < INT64_MAX / us_per_ts)
        ev->source_us = ts * us_per_ts;
    if (mr_json_is(doc, xid, MR_J_NUMBER)) {
        ev->tx_id = mr_json_raw(doc, xid);
        ev->tx_marks_last = true;
        ev->tx_last = mr_json_is(doc, MR_JSON_MEMBER(doc, m->sh->object, "commit"), MR_J_TRUE);
    }
    if (op_z == NULL)
        return ev;
    struct mr_meta_facts facts = {.op = mr_str_z(op_z), .database = m->relation.database, .table = m->relation.table,
                                  .gtid = text_of(m, "gtid"), .tx_id = ev->tx_id, .source_us = ev->source_us, .produced_ms = INT64_MIN};
    mr_meta_of_facts(m->dec->meta, m->dec->cn, m->rec, &facts, m->ar, ev);
    return ev;
}

static enum mr_status insert(struct message *m, bool is_bootstrap, struct mr_error *err)
{
    struct mr_change *ev = new_change(m, MR_OP_UPSERT, is_bootstrap ? "r" : "c", MR_US_PER_SEC);
    ev->is_new = true;
    /* A bootstrap may come again over rows that are there. */
    ev->partial = is_bootstrap && !m->dec->cfg->maxwell_missing_is_null;
    MR_TRY(read_row(m, m->sh->node[MR_M_DATA], "data", &ev->after, err));
    MR_TRY(fill_key(m, &ev->after, ev, err));
    mr_meta_override(&ev->meta, &ev->after);
    return m->emit(m->ctx, ev, err);
}

static enum mr_status update(struct message *m, struct mr_error *err)
{
    struct mr_change *ev = new_change(m, MR_OP_UPSERT, "u", MR_US_PER_SEC);
    struct mr_fields old = {0};
    ev->partial = !m->dec->cfg->maxwell_missing_is_null;
    MR_TRY(read_row(m, m->sh->node[MR_M_DATA], "data", &ev->after, err));
    if (mr_shape_has(m->sh, MR_M_OLD) && !mr_shape_is(m->sh, MR_M_OLD, MR_J_NULL))
        MR_TRY(read_row(m, m->sh->node[MR_M_OLD], "old", &old, err));
    lay_over(m, &old, &ev->after, &ev->before);
    MR_TRY(fill_key(m, &ev->after, ev, err));
    if (ev->has_key && lists_key(&ev->key, &old))
        mr_key_detect_change(m->ar, ev);
    if (ev->has_key && !m->dec->wants_before)
        ev->before = (struct mr_fields){0};
    mr_meta_override(&ev->meta, &ev->after);
    return m->emit(m->ctx, ev, err);
}

static enum mr_status delete_row(struct message *m, struct mr_error *err)
{
    struct mr_change *ev = new_change(m, MR_OP_DELETE, "d", MR_US_PER_SEC);
    MR_TRY(read_row(m, m->sh->node[MR_M_DATA], "data", &ev->before, err));
    MR_TRY(fill_key(m, &ev->before, ev, err));
    return m->emit(m->ctx, ev, err);
}

/* ---- Schema changes ---- */

static enum mr_statement_kind kind_of(struct mr_str type)
{
    static const struct {
        const char *type_z;
        enum mr_statement_kind kind;
    } kinds[] = {
        {"table-create", MR_STMT_CREATE},
        {"table-alter", MR_STMT_ALTER},
        {"table-drop", MR_STMT_DROP},
        {"database-create", MR_STMT_CREATE_DATABASE},
        {"database-alter", MR_STMT_ALTER_DATABASE},
        {"database-drop", MR_STMT_DROP_DATABASE},
    };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (mr_str_eq_nocase(type, mr_str_z(kinds[i].type_z)))
            return kinds[i].kind;
    }
    return MR_STMT_UNKNOWN;
}

/* The times of schema changes are milliseconds, those of rows are seconds. */
static enum mr_status schema_change(struct message *m, enum mr_statement_kind kind, struct mr_error *err)
{
    const struct mr_json_doc *doc = m->sh->doc;
    struct mr_change *ev = new_change(m, MR_OP_CONTROL, NULL, 1000);
    ev->control = MR_CONTROL_SCHEMA_CHANGE;
    ev->statement = text_at(m->sh, MR_M_SQL, m->ar);
    ev->statement_db = m->relation.database;
    ev->statement_kind = kind;
    ev->statement_repeats = true;
    if (kind == MR_STMT_CREATE_DATABASE || kind == MR_STMT_ALTER_DATABASE || kind == MR_STMT_DROP_DATABASE)
        ev->relation.table = MR_STR("");

    uint32_t def = MR_JSON_MEMBER(doc, m->sh->object, "def");
    struct mr_relation now = {name_at(m, doc, MR_JSON_MEMBER(doc, def, "database")), name_at(m, doc, MR_JSON_MEMBER(doc, def, "table"))};
    bool is_renamed = now.table.len != 0 && (!mr_str_eq(now.table, m->relation.table) ||
                                             (now.database.len != 0 && !mr_str_eq(now.database, m->relation.database)));
    if (kind == MR_STMT_ALTER && is_renamed) {
        ev->statement_kind = MR_STMT_RENAME;
        ev->new_relation = now;
        if (now.database.len == 0)
            ev->new_relation.database = m->relation.database;
    }
    if (m->dec->defs != NULL)
        mr_maxwell_defs_learn(m->dec->defs, m->rec, &m->relation, is_renamed ? &ev->new_relation : &m->relation, doc, def, ev->statement);
    return m->emit(m->ctx, ev, err);
}

/* ---- Messages ---- */

static bool is_encrypted(const struct mr_shape *sh)
{
    uint32_t encrypted = sh->node[MR_M_ENCRYPTED];
    return MR_JSON_MEMBER(sh->doc, encrypted, "iv") != MR_JSON_NONE && MR_JSON_MEMBER(sh->doc, encrypted, "bytes") != MR_JSON_NONE;
}

static bool is_type(struct mr_str type, const char *word_z)
{
    return mr_str_eq_nocase(type, mr_str_z(word_z));
}

static enum mr_status check_whole(const struct mr_shape *sh, struct mr_error *err)
{
    if (is_encrypted(sh)) {
        (void)mr_fail_data(err, MR_CODE_ENCRYPTED, "Maxwell has encrypted the message");
        mr_error_hint(err, "Millrace has no key for it: have Maxwell write plain messages (encrypt=none)");
        return MR_E_DATA;
    }
    if (!mr_shape_is(sh, MR_M_TYPE, MR_J_STRING))
        return mr_fail_data(err, MR_CODE_AMBIGUOUS, "the message has no \"type\", so it is none of Maxwell's");
    if (MR_JSON_MEMBER(sh->doc, sh->object, "reason") != MR_JSON_NONE)
        return mr_fail_data(err, MR_CODE_INCOMPLETE, "a message of Maxwell's own dead-letter topic: it holds no more than the row's key");
    return MR_OK;
}

static enum mr_status message(struct message *m, struct mr_error *err)
{
    MR_TRY(check_whole(m->sh, err));
    struct mr_str type = text_at(m->sh, MR_M_TYPE, m->ar);
    m->relation.database = mr_name_spelled(m->dec->cfg, text_at(m->sh, MR_M_DATABASE, m->ar), m->ar);
    m->relation.table = mr_name_spelled(m->dec->cfg, text_at(m->sh, MR_M_TABLE, m->ar), m->ar);
    if (is_type(type, "bootstrap-start") || is_type(type, "bootstrap-complete"))
        return mr_control_emit(MR_CONTROL_EMPTY, NULL, m->ar, m->emit, m->ctx, err);
    enum mr_statement_kind kind = kind_of(type);
    if (kind != MR_STMT_UNKNOWN)
        return schema_change(m, kind, err);

    bool is_bootstrap = is_type(type, "bootstrap-insert");
    bool is_insert = is_bootstrap || is_type(type, "insert");
    if (!is_insert && !is_type(type, "update") && !is_type(type, "delete"))
        return mr_fail_data(err, MR_CODE_UNKNOWN_OP, "Maxwell has no operation \"%.*s\"", (int)(type.len < 40 ? type.len : 40), type.ptr);
    if (m->relation.table.len == 0)
        MR_TRY(mr_name_unnamed(m->dec->cfg, m->rec->is_bare, &m->relation, err));
    if (is_insert)
        return insert(m, is_bootstrap, err);
    return is_type(type, "update") ? update(m, err) : delete_row(m, err);
}

static enum mr_status on_document(void *ctx, const struct mr_json_doc *doc, uint32_t node, struct mr_error *err)
{
    struct message one = *(const struct message *)ctx;
    struct mr_shape sh;
    if (!mr_json_is(doc, node, MR_J_OBJECT))
        return mr_fail_data(err, MR_CODE_AMBIGUOUS, "the value is no JSON object, so no message of Maxwell's");
    mr_shape_of(doc, node, one.ar, &sh);
    one.sh = &sh;
    return message(&one, err);
}

static enum mr_status decode(struct mr_decoder *dec, const struct mr_record *rec, struct mr_topic_facts *facts, struct mr_arena *ar,
                             mr_emit_fn emit, void *ctx, struct mr_error *err)
{
    struct mr_connect_message key;
    bool is_null;
    (void)facts;
    /* A schema change has a plain text as key; what cannot be read names no columns. */
    if (mr_connect_open(dec->cn, MR_SIDE_KEY, rec, ar, &key, NULL) != MR_OK)
        key = (struct mr_connect_message){.is_null = true, .root = MR_JSON_NONE};
    struct message m = {.dec = dec, .rec = rec, .key = &key, .ar = ar, .emit = emit, .ctx = ctx};
    MR_TRY(mr_documents_each(dec->cn, rec, ar, on_document, &m, &is_null, err));
    return is_null ? mr_control_emit(MR_CONTROL_EMPTY, NULL, ar, emit, ctx, err) : MR_OK;
}

static void use_types(struct mr_decoder *dec, struct mr_source_types *types)
{
    dec->defs = mr_source_types_maxwell(types);
    mr_maxwell_types_use(dec->types, dec->defs);
}

static int sniff(struct mr_decoder *dec, const struct mr_record *rec, struct mr_arena *ar)
{
    struct mr_first_document first;
    enum mr_first what;
    if (mr_documents_first(dec->cn, rec, ar, &first, &what, NULL) != MR_OK || what != MR_FIRST_OBJECT || first.is_described ||
        mr_detect_has_debezium_header(rec))
        return 0;
    return mr_detect_is_maxwell(&first.shape, ar) ? MR_SNIFF_MAXWELL : 0;
}

const struct mr_decoder_ops mr_decoder_maxwell = {
    .name = "maxwell",
    .sniff = sniff,
    .create = create,
    .decode = decode,
    .destroy = destroy,
    .use_types = use_types,
};
