/* Format `prostore`: the status events of Prostore, one row an event, in one table. The value does not say which event it is: key and value are read
 * together. A file's line is {"key": {…}, "value": {…}}. Events are added, never changed: one that comes a second time is passed over. */
#include <millrace/base/encode.h>
#include <millrace/base/map.h>
#include <millrace/base/mem.h>

#include "control.h"
#include "debezium.h"
#include "detect.h"
#include "documents.h"
#include "meta.h"
#include "mysql_value.h"
#include "prostore.h"

#define MAX_SEEN 65536 /* ids remembered; behind them the row's key does the work */

/* Where an event came first. */
struct seen {
    uint32_t part;
    int64_t position;
};

struct mr_decoder {
    const struct mr_config *cfg;
    struct mr_connect *cn;
    struct mr_meta *meta;
    struct mr_mysql_reader rd; /* times in the source's zone */
    struct mr_map *seen;       /* 16 bytes of the id → struct seen */
};

/* Key and value of an event. */
struct event {
    struct mr_connect_message key, value;
    const struct mr_json_doc *key_doc, *doc;
    uint32_t key_node, node;
};

static void destroy(struct mr_decoder *dec)
{
    if (dec == NULL)
        return;
    mr_map_destroy(dec->seen, mr_xfree);
    mr_mysql_reader_free(&dec->rd);
    mr_meta_destroy(dec->meta);
    mr_connect_destroy(dec->cn);
    mr_xfree(dec);
}

static enum mr_status create(const struct mr_config *cfg, struct mr_decoder **out, struct mr_error *err)
{
    struct mr_decoder *dec = mr_xcalloc(1, sizeof(*dec));
    dec->cfg = cfg;
    dec->seen = mr_map_create();
    enum mr_status status = mr_meta_create(cfg, &dec->meta, err);
    if (status == MR_OK)
        status = mr_mysql_reader_init(&dec->rd, cfg, err);
    if (status != MR_OK) {
        destroy(dec);
        return status;
    }
    dec->cn = mr_connect_create(cfg);
    *out = dec;
    return MR_OK;
}

/* ---- Reading ---- */

/* Prostore's own reader takes texts in single quotes, and its documentation prints one. */
struct mr_str mr_prostore_requoted(struct mr_str text, struct mr_arena *ar)
{
    char *out = mr_arena_alloc(ar, text.len * 2 + 1), quote = '\0';
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (quote == '\0') {
            quote = c == '"' || c == '\'' ? c : '\0';
            out[n++] = quote != '\0' ? '"' : c;
        } else if (c == '\\' && i + 1 < text.len) {
            if (text.ptr[++i] != '\'')
                out[n++] = '\\';
            out[n++] = text.ptr[i];
        } else if (c == quote) {
            quote = '\0';
            out[n++] = '"';
        } else {
            if (c == '"')
                out[n++] = '\\';
            out[n++] = c;
        }
    }
    return mr_str_of(out, n);
}

static enum mr_status open_side(struct mr_connect *cn, enum mr_connect_side side, const struct mr_record *rec,
                                struct mr_arena *ar, struct mr_connect_message *out, struct mr_error *err)
{
    struct mr_record with = *rec;
    struct mr_str *text = side == MR_SIDE_KEY ? &with.key : &with.value;
    struct mr_error first = {0};
    enum mr_status status = mr_connect_open(cn, side, rec, ar, out, &first);
    bool is_read = status == MR_OK && !out->is_text;
    if (is_read || rec->opened != NULL || mr_str_find(*text, '\'') < 0) {
        if (status != MR_OK && err != NULL)
            *err = first;
        return status;
    }
    *text = mr_prostore_requoted(*text, ar);
    return mr_connect_open(cn, side, &with, ar, out, err);
}

static bool is_file_layout(const struct mr_connect_message *value)
{
    return mr_json_is(&value->doc, value->root, MR_J_OBJECT) && value->doc.nodes[value->root].count == 2 &&
           mr_json_is(&value->doc, MR_JSON_MEMBER(&value->doc, value->root, "key"), MR_J_OBJECT) &&
           MR_JSON_MEMBER(&value->doc, value->root, "value") != MR_JSON_NONE;
}

/* *is_null: there is no event to store. */
static enum mr_status open_event(struct mr_decoder *dec, const struct mr_record *rec, struct mr_arena *ar,
                                 struct event *out, bool *is_null, struct mr_error *err)
{
    MR_TRY(open_side(dec->cn, MR_SIDE_VALUE, rec, ar, &out->value, err));
    *is_null = out->value.is_null;
    if (*is_null)
        return MR_OK;
    out->doc = &out->value.doc;
    out->node = out->value.root;
    if ((rec->is_bare || !rec->has_key) && is_file_layout(&out->value)) {
        out->key_doc = out->doc;
        out->key_node = MR_JSON_MEMBER(out->doc, out->node, "key");
        out->node = MR_JSON_MEMBER(out->doc, out->node, "value");
        *is_null = mr_json_is(out->doc, out->node, MR_J_NULL);
        return MR_OK;
    }
    MR_TRY(open_side(dec->cn, MR_SIDE_KEY, rec, ar, &out->key, err));
    out->key_doc = &out->key.doc;
    out->key_node = out->key.is_null || out->key.is_text ? MR_JSON_NONE : out->key.root;
    return MR_OK;
}

/* ---- Rows ---- */

enum kind { KIND_TEXT, KIND_INTEGER, KIND_INSTANT };

static const struct {
    const char *member_z, *column_z;
    enum kind kind;
} columns[] = {
    {"changeDateTime", "change_datetime", KIND_INSTANT},
    {"deltaNum", "delta_num", KIND_INTEGER},
    {"deltaDate", "delta_date", KIND_INSTANT},
    {"entity", "entity", KIND_TEXT},
    {"cn", "cn", KIND_INTEGER},
    {"ts", "ts", KIND_INSTANT},
    {"rowsAffected", "rows_affected", KIND_INTEGER},
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static struct mr_type declared(enum mr_type_kind kind)
{
    struct mr_type type = MR_TYPE(kind);
    type.origin = MR_SCHEMA;
    return type;
}

static struct mr_value text_value(const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar)
{
    unsigned flags = 0;
    if (!mr_json_is(doc, node, MR_J_STRING))
        return MR_BAD_VALUE("expected a text");
    struct mr_value v = mr_value_text(mr_json_string(doc, node, ar, &flags));
    v.flags = (uint8_t)flags;
    return v;
}

static struct mr_value instant_value(struct mr_decoder *dec, const struct mr_json_doc *doc, uint32_t node,
                                     struct mr_arena *ar)
{
    struct mr_value v;
    if (!mr_json_is(doc, node, MR_J_STRING) ||
        !mr_mysql_read_temporal(&dec->rd, mr_json_string(doc, node, ar, NULL), MR_T_TIMESTAMPTZ, &v))
        return MR_BAD_VALUE("expected a date and time");
    return v;
}

static struct mr_field field_of(struct mr_decoder *dec, const char *column_z, enum kind kind,
                                const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar)
{
    static const enum mr_type_kind types[] = {
        [KIND_TEXT] = MR_T_TEXT, [KIND_INTEGER] = MR_T_INT64, [KIND_INSTANT] = MR_T_TIMESTAMPTZ};
    struct mr_field f = {.path = mr_str_z(column_z), .type = declared(types[kind])};
    int64_t number;
    if (mr_json_is(doc, node, MR_J_NULL))
        f.value = mr_value_null();
    else if (kind == KIND_INSTANT)
        f.value = instant_value(dec, doc, node, ar);
    else if (kind == KIND_TEXT)
        f.value = text_value(doc, node, ar);
    else
        f.value = mr_json_int64(doc, node, &number) ? mr_value_int(number)
                                                    : MR_BAD_VALUE("expected a whole number of 64 bits");
    return f;
}

static struct mr_field body_of(const struct event *event, struct mr_arena *ar)
{
    struct mr_field f = {.path = MR_STR("body"), .type = declared(MR_T_JSON)};
    unsigned flags = 0;
    f.value = mr_value_bytes(MR_V_JSON, mr_json_text(event->doc, event->node, ar, &flags));
    f.value.flags = (uint8_t)flags;
    return f;
}

/* The event's id; DATA where the key does not say whose event it is. */
static enum mr_status read_id(const struct event *event, struct mr_arena *ar, unsigned char **out,
                              struct mr_error *err)
{
    static const char *const wanted[] = {"datamart", "event", "eventLogId"};
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        uint32_t node = mr_json_member(event->key_doc, event->key_node, mr_str_z(wanted[i]));
        if (mr_json_is(event->key_doc, node, MR_J_STRING))
            continue;
        (void)mr_fail_data(err, MR_CODE_NO_KEY, "the message's key has no \"%s\"", wanted[i]);
        mr_error_hint(err, "an event of Prostore is its key and its value together; in a file each line is "
                           "{\"key\": {…}, \"value\": {…}}");
        return MR_E_DATA;
    }
    *out = mr_arena_alloc(ar, 16);
    struct mr_str id = mr_json_string(
        event->key_doc, MR_JSON_MEMBER(event->key_doc, event->key_node, "eventLogId"), ar, NULL);
    return mr_uuid_parse(id, *out)
               ? MR_OK
               : mr_fail_data(err, MR_CODE_BAD_VALUE, "the event's eventLogId is no UUID");
}

/* Did another record bring this event before? The record itself may be read more than once. */
static bool is_repeated(struct mr_decoder *dec, const struct mr_record *rec, const unsigned char *id)
{
    struct mr_str name = mr_str_of((const char *)id, 16);
    uint32_t part = rec->part != NULL ? rec->part->index : 0;
    struct seen *have = mr_map_get(dec->seen, name);
    if (have != NULL) {
        if (have->part == part && rec->position < have->position)
            have->position = rec->position;
        return have->part != part || have->position < rec->position;
    }
    if (mr_map_count(dec->seen) >= MAX_SEEN) {
        mr_map_destroy(dec->seen, mr_xfree);
        dec->seen = mr_map_create();
    }
    struct seen *kept = mr_xcalloc(1, sizeof(*kept));
    *kept = (struct seen){part, rec->position};
    mr_map_put(dec->seen, name, kept);
    return false;
}

static enum mr_status emit_row(struct mr_decoder *dec, const struct mr_record *rec, const struct event *event,
                               const unsigned char *id, struct mr_arena *ar, mr_emit_fn emit, void *ctx,
                               struct mr_error *err)
{
    const struct mr_json_doc *key = event->key_doc;
    struct mr_change *ev = mr_arena_zalloc(ar, sizeof(*ev));
    struct mr_field *fields = mr_arena_zalloc(ar, (COLUMNS + 5) * sizeof(*fields));
    size_t n = 0;
    fields[n++] = (struct mr_field){MR_STR("event_log_id"), declared(MR_T_UUID),
                                    mr_value_bytes(MR_V_UUID, mr_str_of((const char *)id, 16))};
    fields[n++] =
        field_of(dec, "datamart", KIND_TEXT, key, MR_JSON_MEMBER(key, event->key_node, "datamart"), ar);
    fields[n++] = field_of(dec, "event", KIND_TEXT, key, MR_JSON_MEMBER(key, event->key_node, "event"), ar);
    uint32_t at = MR_JSON_MEMBER(key, event->key_node, "datetime");
    if (at != MR_JSON_NONE)
        fields[n++] = field_of(dec, "event_datetime", KIND_INSTANT, key, at, ar);
    for (size_t i = 0; i < COLUMNS; i++) {
        uint32_t node = mr_json_member(event->doc, event->node, mr_str_z(columns[i].member_z));
        if (node != MR_JSON_NONE)
            fields[n++] = field_of(dec, columns[i].column_z, columns[i].kind, event->doc, node, ar);
    }
    fields[n++] = body_of(event, ar);

    ev->op = MR_OP_UPSERT;
    ev->relation.database = MR_STR("");
    ev->relation.table =
        mr_str_z(dec->cfg->event_table != NULL ? dec->cfg->event_table : "prostore_status_event");
    ev->is_new = ev->has_key = true;
    ev->after = (struct mr_fields){fields, n};
    ev->key = (struct mr_fields){fields, 1};
    ev->source_us =
        at != MR_JSON_NONE && fields[3].value.tag == MR_V_TIMESTAMPTZ ? fields[3].value.i : INT64_MIN;
    ev->meta = mr_meta_fields(dec->meta, dec->cn, rec, NULL, NULL, MR_STR("c"), ar);
    mr_meta_override(&ev->meta, &ev->after);
    return emit(ctx, ev, err);
}

static enum mr_status decode(struct mr_decoder *dec, const struct mr_record *rec,
                             struct mr_topic_facts *facts, struct mr_arena *ar, mr_emit_fn emit, void *ctx,
                             struct mr_error *err)
{
    struct event event;
    unsigned char *id = NULL;
    bool is_null;
    (void)facts;
    MR_TRY(open_event(dec, rec, ar, &event, &is_null, err));
    if (is_null)
        return mr_control_emit(MR_CONTROL_EMPTY, NULL, ar, emit, ctx, err);
    MR_TRY(read_id(&event, ar, &id, err));
    if (!mr_json_is(event.doc, event.node, MR_J_OBJECT))
        return mr_fail_data(err, MR_CODE_BAD_VALUE, "the event's value is no object");
    if (is_repeated(dec, rec, id))
        return mr_control_emit(MR_CONTROL_EMPTY, NULL, ar, emit, ctx, err);
    return emit_row(dec, rec, &event, id, ar, emit, ctx, err);
}

static int sniff(struct mr_decoder *dec, const struct mr_record *rec, struct mr_arena *ar)
{
    struct mr_first_document first;
    enum mr_first what;
    if (mr_documents_first(dec->cn, rec, ar, &first, &what, NULL) != MR_OK || what != MR_FIRST_OBJECT ||
        first.is_described || mr_detect_has_debezium_header(rec))
        return 0;
    return mr_detect_is_prostore(dec->cn, rec, &first.shape, ar) ? MR_SNIFF_PROSTORE : 0;
}

const struct mr_decoder_ops mr_decoder_prostore = {
    .name = "prostore",
    .sniff = sniff,
    .create = create,
    .decode = decode,
    .destroy = destroy,
};
