/* From a record's key or value to its payload. See connect.h. */
#include "connect.h"

#include <millrace/base/encode.h>
#include <millrace/base/hash.h>
#include <millrace/base/mem.h>
#include <millrace/base/utf8.h>

#include "bytes_kind.h"
#include "payload.h"
#include "shape.h"

/* Java's UUID.nameUUIDFromBytes of the usual placeholder. */
#define USUAL_PLACEHOLDER "__debezium_unavailable_value"
#define UUID_OF_USUAL "b68a35a7-17ad-35b3-af2a-ae46edb4545a"

static void placeholder_init(struct mr_connect *cn)
{
    struct mr_placeholder *p = &cn->placeholder;
    p->text = mr_str_z(cn->cfg->unavailable_placeholder);
    if (p->text.len == 0)
        return;

    struct mr_buf buf = MR_BUF_INIT(p->text.len * 16 + 64);
    mr_base64_append(&buf, p->text);
    p->base64 = mr_arena_copy(cn->own, mr_buf_str(&buf));

    for (size_t i = 0; i < buf.len; i++) {
        if (buf.data[i] == '+')
            buf.data[i] = '-';
        if (buf.data[i] == '/')
            buf.data[i] = '_';
    }
    p->base64_url = mr_arena_copy(cn->own, mr_buf_str(&buf));

    mr_buf_clear(&buf);
    mr_hex_append(&buf, p->text);
    p->hex = mr_arena_copy(cn->own, mr_buf_str(&buf));

    mr_buf_clear(&buf);
    mr_buf_append_char(&buf, '[');
    mr_buf_append_json(&buf, p->text);
    mr_buf_append_char(&buf, ']');
    p->json_array = mr_arena_copy(cn->own, mr_buf_str(&buf));
    p->json_text = mr_str_of(p->json_array.ptr + 1, p->json_array.len - 2);

    bool is_usual = mr_str_eq(p->text, MR_STR(USUAL_PLACEHOLDER));
    p->uuid = is_usual ? MR_STR(UUID_OF_USUAL) : MR_STR("");
    p->json_uuid_array = is_usual ? MR_STR("[\"" UUID_OF_USUAL "\"]") : MR_STR("");
    p->json_base64_array = mr_arena_printf(cn->own, "[\"%.*s\"]", MR_STR_FMT(p->base64));
    mr_buf_clear(&buf);
    for (size_t i = 0; i < p->text.len; i++)
        mr_buf_printf(&buf, "%c%d", i ? ',' : '[', (signed char)p->text.ptr[i]);
    mr_buf_append_char(&buf, ']');
    p->json_numbers = mr_arena_copy(cn->own, mr_buf_str(&buf));
    mr_buf_free(&buf);
}

bool mr_placeholder_is_array(const struct mr_placeholder *p, const struct mr_json_doc *doc, uint32_t node)
{
    if (p->text.len == 0 || !mr_json_is(doc, node, MR_J_ARRAY))
        return false;
    uint32_t n = mr_json_first(doc, node), count = doc->nodes[node].count;
    if (count == 1 && mr_json_is(doc, n, MR_J_STRING))
        return mr_json_string_is(doc, n, p->text) || mr_json_string_is(doc, n, p->base64) ||
               (p->uuid.len > 0 && mr_json_string_is(doc, n, p->uuid));
    if (count != p->text.len)
        return false;
    for (uint32_t i = 0; n != MR_JSON_NONE; n = mr_json_next_in(doc, node, n), i++) {
        int64_t byte;
        if (!mr_json_int64(doc, n, &byte) || byte != (signed char)p->text.ptr[i])
            return false;
    }
    return true;
}

struct mr_connect *mr_connect_create(const struct mr_config *cfg)
{
    struct mr_json_limits limits = {
        .max_depth = cfg->max_depth,
        .max_bytes = cfg->max_message_bytes,
        .allow_ill_formed = cfg->text_invalid != MR_TEXT_DEAD_LETTER,
    };
    struct mr_connect *cn = mr_xcalloc(1, sizeof(*cn));
    cn->cfg = cfg;
    cn->key_reader = mr_json_reader_create(&limits);
    cn->value_reader = mr_json_reader_create(&limits);
    cn->inner_reader = mr_json_reader_create(&limits);
    cn->cache = mr_connect_cache_create(&limits);
    cn->own = mr_arena_create(1024);
    placeholder_init(cn);
    return cn;
}

void mr_connect_destroy(struct mr_connect *cn)
{
    if (cn == NULL)
        return;
    mr_arena_destroy(cn->own);
    mr_connect_cache_destroy(cn->cache);
    mr_json_reader_destroy(cn->inner_reader);
    mr_json_reader_destroy(cn->value_reader);
    mr_json_reader_destroy(cn->key_reader);
    mr_xfree(cn);
}

/* Rules for plain rows: columns may be called schema and payload, so the schema must be one that describes a row. */
static bool is_row_wrapper(const struct mr_shape *sh)
{
    uint32_t schema = sh->node[MR_M_SCHEMA];
    return mr_json_string_is(sh->doc, MR_JSON_MEMBER(sh->doc, schema, "type"), MR_STR("struct")) &&
           mr_json_is(sh->doc, MR_JSON_MEMBER(sh->doc, schema, "fields"), MR_J_ARRAY);
}

/* Some pipelines leave the schema out and keep the payload member. */
static bool is_lone_payload(const struct mr_shape *sh, struct mr_arena *ar)
{
    if (sh->others != 0 || sh->known != 1 || !mr_shape_is(sh, MR_M_PAYLOAD, MR_J_OBJECT))
        return false;
    struct mr_shape inner;
    mr_shape_of(sh->doc, sh->node[MR_M_PAYLOAD], ar, &inner);
    return mr_shape_is_envelope(&inner);
}

static void unwrap(struct mr_connect *cn, uint64_t place, struct mr_arena *ar,
                   struct mr_connect_message *out)
{
    if (cn->no_wrapper || !mr_json_is(&out->doc, out->root, MR_J_OBJECT) || out->doc.nodes[out->root].count > 2)
        return;

    struct mr_shape sh;
    mr_shape_of(&out->doc, out->root, ar, &sh);
    if (!cn->rows_only && is_lone_payload(&sh, ar)) {
        out->root = sh.node[MR_M_PAYLOAD];
        return;
    }
    if (!mr_shape_is_wrapper(&sh) || (cn->rows_only && !is_row_wrapper(&sh)))
        return;

    out->is_wrapped = true;
    out->root = sh.node[MR_M_PAYLOAD];
    if (mr_shape_is(&sh, MR_M_SCHEMA, MR_J_OBJECT))
        out->schema = mr_connect_cache_add(cn->cache, place, &out->doc, sh.node[MR_M_SCHEMA], ar);
}

static bool is_blank(struct mr_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != ' ' && text.ptr[i] != '\t' && text.ptr[i] != '\n' && text.ptr[i] != '\r')
            return false;
    }
    return true;
}

/* A string converter writes keys as they are. What begins like JSON is taken for broken JSON all the same. */
static bool is_plain_text(struct mr_str text)
{
    unsigned char c = (unsigned char)text.ptr[0];
    return c != '{' && c != '[' && c != '"' && mr_bytes_kind(text) == NULL;
}

static enum mr_status not_json(enum mr_connect_side side, struct mr_str text, struct mr_error *err)
{
    const char *kind = mr_bytes_kind(text);
    const char *what = side == MR_SIDE_KEY ? "key" : "value";
    if (kind != NULL) {
        enum mr_status status = mr_fail_data(err, MR_CODE_UNSUPPORTED,
                                             "the message's %s is no JSON: it looks like %s", what, kind);
        mr_error_hint(err, "this format cannot be read here; have the producer write JSON");
        return status;
    }
    mr_error_prefix(err, "%s: ", what);
    return MR_E_DATA;
}

enum mr_status mr_connect_open(struct mr_connect *cn, enum mr_connect_side side,
                               const struct mr_record *rec, struct mr_arena *ar,
                               struct mr_connect_message *out, struct mr_error *err)
{
    if (rec->opened != NULL && rec->opened->has[side]) {
        *out = rec->opened->message[side];
        return MR_OK;
    }
    bool is_key = side == MR_SIDE_KEY;
    struct mr_str text = is_key ? rec->key : rec->value;
    struct mr_json_reader *reader = is_key ? cn->key_reader : cn->value_reader;
    *out = (struct mr_connect_message){.root = MR_JSON_NONE};
    if (!(is_key ? rec->has_key : rec->has_value) || is_blank(text)) {
        out->is_null = true;
        return MR_OK;
    }

    uint64_t place = 0;
    struct mr_str payload;
    if (!cn->no_wrapper && text.len > 10 && text.ptr[0] == '{' && text.ptr[1] == '"' && text.ptr[2] == 's') {
        place = mr_hash(rec->topic.ptr, rec->topic.len, (uint64_t)side);
        out->schema = mr_connect_cache_find(cn->cache, place, text, &payload);
    }
    if (out->schema != NULL && mr_json_parse(reader, payload, &out->doc, NULL) == MR_OK) {
        out->is_wrapped = true;
        out->root = 0;
    } else {
        /* With the whole text, so that the error's place counts from its beginning. */
        out->schema = NULL;
        bool may_be_text = is_key && is_plain_text(text);
        enum mr_status status = mr_json_parse(reader, text, &out->doc, may_be_text ? NULL : err);
        if (status != MR_OK && may_be_text) {
            out->is_text = true;
            out->text = text;
            return MR_OK;
        }
        if (status == MR_E_DATA)
            return not_json(side, text, err);
        if (status != MR_OK)
            return status;
        out->root = 0;
        unwrap(cn, place, ar, out);
    }

    if (mr_json_is(&out->doc, out->root, MR_J_NULL)) {
        out->is_null = true;
        out->root = MR_JSON_NONE;
    }
    return MR_OK;
}
