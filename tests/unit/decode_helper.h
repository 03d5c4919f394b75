/* For the tests of the decoders: records from texts, and changes rendered as one line of text, so that a test compares the whole result.
 *
 * A field is  path=value:type  — the value by its tag (see render_value), the type as the configuration writes it, with `!` behind it if the
 * schema declares it (nothing stands there for a type that is only observed). */
#ifndef TESTS_UNIT_DECODE_HELPER_H
#define TESTS_UNIT_DECODE_HELPER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include <millrace/base/buf.h>
#include <millrace/base/encode.h>
#include <millrace/base/mem.h>
#include <millrace/base/time.h>
#include <millrace/base/utf8.h>
#include <millrace/decoder.h>

struct helper {
    struct mr_config cfg;
    struct mr_decoder_set *set;
    struct mr_arena *ar;
    struct mr_topic_facts facts;
    struct mr_buf out; /* what was emitted, one line each */
    struct mr_error err;
    struct mr_header headers[4];
    size_t header_count;
    struct mr_table_rule rules[2];
};

static inline struct mr_config helper_config(const char *format_z)
{
    static char delimiter[] = "_", nothing[] = "", prefix[] = "__", zone[] = "UTC",
                placeholder[] = "__debezium_unavailable_value";
    static char formats[4][16];
    static unsigned turn;
    char *format = formats[turn++ % 4];
    snprintf(format, sizeof(formats[0]), "%s", format_z);
    return (struct mr_config){
        .format = format,
        .flatten_struct = true,
        .flatten_delimiter = delimiter,
        .add_fields = nothing,
        .add_fields_prefix = prefix,
        .source_time_zone = zone,
        .unavailable_placeholder = placeholder,
        .max_depth = 100,
        .max_message_bytes = 64u << 20,
    };
}

/* Settings go into h->cfg between the two calls. */
static inline struct helper *helper_new(const char *format_z)
{
    struct helper *h = mr_xcalloc(1, sizeof(*h));
    h->cfg = helper_config(format_z);
    h->ar = mr_arena_create(0);
    h->out = MR_BUF_INIT(64u << 20);
    return h;
}

static inline void helper_start(struct helper *h)
{
    assert_int_equal(mr_decoder_set_create(&h->cfg, &h->set, &h->err), MR_OK);
}

static inline struct helper *helper_with(const char *format_z)
{
    struct helper *h = helper_new(format_z);
    helper_start(h);
    return h;
}

static inline void helper_free(struct helper *h)
{
    mr_decoder_set_destroy(h->set);
    mr_buf_free(&h->out);
    mr_arena_destroy(h->ar);
    mr_xfree(h);
}

static inline void render_value(struct mr_value v, struct mr_buf *out)
{
    char text[MR_TIME_TEXT], id[37];
    size_t len;
    switch ((enum mr_tag)v.tag) {
    case MR_V_ABSENT:
        mr_buf_append_z(out, "absent");
        break;
    case MR_V_UNAVAILABLE:
        mr_buf_append_z(out, "unavailable");
        break;
    case MR_V_NULL:
        mr_buf_append_z(out, "null");
        break;
    case MR_V_BOOL:
        mr_buf_append_z(out, v.i ? "true" : "false");
        break;
    case MR_V_INT:
        mr_buf_printf(out, "%lld", (long long)v.i);
        break;
    case MR_V_NUMBER:
        mr_buf_printf(out, "#%.*s", (int)v.len, v.ptr);
        break;
    case MR_V_FLOAT:
        mr_buf_printf(out, "~%.17g", v.f);
        break;
    case MR_V_TEXT:
        mr_buf_printf(out, "'%.*s'", (int)v.len, v.ptr);
        if (v.flags != 0)
            mr_buf_printf(out, "?%u", v.flags);
        break;
    case MR_V_BYTES:
        mr_buf_append_z(out, "x");
        mr_hex_append(out, mr_value_str(v));
        break;
    case MR_V_DATE:
        if (v.i == MR_TIME_INFINITY || v.i == MR_TIME_NEG_INFINITY) {
            mr_buf_append_z(out, v.i > 0 ? "D+inf" : "D-inf");
            break;
        }
        len = mr_format_date(v.i, text);
        mr_buf_printf(out, "D%.*s", (int)len, text);
        break;
    case MR_V_TIME:
    case MR_V_DURATION:
        len = mr_format_time(v.i, false, text);
        mr_buf_printf(out, "%s%.*s", v.tag == MR_V_TIME ? "T" : "I", (int)len, text);
        break;
    case MR_V_TIMESTAMP:
    case MR_V_TIMESTAMPTZ:
        if (v.i == MR_TIME_INFINITY || v.i == MR_TIME_NEG_INFINITY) {
            mr_buf_append_z(out, v.i > 0 ? "+inf" : "-inf");
            break;
        }
        len = mr_format_timestamp(v.i, 'T', false, text);
        mr_buf_printf(out, "%.*s%s", (int)len, text, v.tag == MR_V_TIMESTAMPTZ ? "Z" : "");
        break;
    case MR_V_ARRAY:
        if (mr_value_array(v)->is_mixed)
            mr_buf_append_z(out, "mixed");
        mr_buf_append_str(out, mr_value_array(v)->json);
        break;
    case MR_V_UUID:
        mr_uuid_format((const unsigned char *)v.ptr, id);
        mr_buf_printf(out, "U%s", id);
        break;
    case MR_V_BITS:
        mr_buf_printf(out, "b%.*s", (int)v.len, v.ptr);
        break;
    case MR_V_JSON:
        mr_buf_printf(out, "J%.*s", (int)v.len, v.ptr);
        break;
    case MR_V_PATCH:
    case MR_V_INVALID:
        mr_buf_printf(out, "%s(%.*s)", v.aux == MR_INVALID_RANGE ? "range" : "invalid", (int)v.len, v.ptr);
        break;
    }
}

static inline void render_fields(const char *name, const struct mr_fields *fields, struct mr_buf *out)
{
    char text[32];
    if (fields->count == 0)
        return;
    mr_buf_printf(out, " %s(", name);
    for (size_t i = 0; i < fields->count; i++) {
        const struct mr_field *f = &fields->items[i];
        mr_buf_printf(out, "%s%.*s=", i == 0 ? "" : " ", MR_STR_FMT(f->path));
        render_value(f->value, out);
        if (f->type.kind != MR_T_NONE)
            mr_buf_printf(out, ":%s%s", mr_type_text(f->type, text), f->type.origin == MR_SCHEMA ? "!" : "");
    }
    mr_buf_append_char(out, ')');
}

/* One line an element: its kind, its array, positions in brackets, the length, the fields. */
static inline void render_elements(const struct mr_elements *els, struct mr_buf *out)
{
    static const char *const kinds[] = {"length", "row", "part", "cut", "keep"};
    for (size_t i = 0; i < els->count; i++) {
        const struct mr_element *el = &els->items[i];
        bool has_own = el->kind == MR_ELEMENT_ROW || el->kind == MR_ELEMENT_PART;
        mr_buf_printf(out, "\n %s %.*s", kinds[el->kind], MR_STR_FMT(el->array));
        for (uint32_t p = 0; p < el->depth - !has_own; p++)
            mr_buf_printf(out, p > 0 ? " %u" : " @%u", el->pos[p]);
        if (el->kind == MR_ELEMENT_LENGTH || el->kind == MR_ELEMENT_CUT)
            mr_buf_printf(out, " = %u", el->length);
        render_fields("", &el->fields, out);
        for (size_t r = 0; r < el->removed.count; r++)
            mr_buf_printf(out, " without %.*s", MR_STR_FMT(el->removed.items[r].path));
    }
}

static inline enum mr_status helper_emit(void *ctx, const struct mr_change *ev, struct mr_error *err)
{
    static const char *const ops[] = {"upsert", "delete", "truncate", "control"};
    static const char *const controls[] = {"heartbeat", "transaction", "schema-change", "notification",
                                           "empty"};
    struct mr_buf *out = &((struct helper *)ctx)->out;
    (void)err;
    if (out->len != 0)
        mr_buf_append_char(out, '\n');
    mr_buf_append_z(out, ops[ev->op]);
    if (ev->op == MR_OP_CONTROL)
        mr_buf_printf(out, " %s", controls[ev->control]);
    if (ev->is_new)
        mr_buf_append_z(out, " new");
    if (ev->partial)
        mr_buf_append_z(out, " partial");
    if (ev->is_tombstone)
        mr_buf_append_z(out, " tombstone");
    if (ev->is_deleted_row)
        mr_buf_append_z(out, " row");
    if (ev->relation.table.len != 0 || ev->relation.database.len != 0)
        mr_buf_printf(out, " %.*s.%.*s", MR_STR_FMT(ev->relation.database), MR_STR_FMT(ev->relation.table));
    assert_int_equal(ev->has_key, ev->key.count != 0);
    render_fields("key", &ev->key, out);
    render_fields("old", &ev->old_key, out);
    render_fields("before", &ev->before, out);
    render_fields("after", &ev->after, out);
    render_fields("meta", &ev->meta, out);
    if (ev->key_text.len != 0)
        mr_buf_printf(out, " keytext %.*s", MR_STR_FMT(ev->key_text));
    if (ev->statement.len != 0)
        mr_buf_printf(out, " ddl %.*s", MR_STR_FMT(ev->statement));
    if (ev->statement_kind != MR_STMT_UNKNOWN)
        mr_buf_printf(out, " %s in '%.*s' part %u%s", mr_statement_kind_name(ev->statement_kind), MR_STR_FMT(ev->statement_db),
                      (unsigned)ev->statement_part, ev->statement_repeats ? " repeats" : "");
    if (ev->new_relation.table.len != 0)
        mr_buf_printf(out, " to %.*s.%.*s", MR_STR_FMT(ev->new_relation.database), MR_STR_FMT(ev->new_relation.table));
    if (ev->tx_id.len != 0)
        mr_buf_printf(out, " tx %.*s%s", MR_STR_FMT(ev->tx_id), ev->tx_last ? " last" : "");
    if (ev->tx_order > 0)
        mr_buf_printf(out, " no %lld of %.*s", (long long)ev->tx_order, MR_STR_FMT(ev->tx_scope));
    for (size_t i = 0; ev->tx_end != NULL && i < ev->tx_end->count; i++)
        mr_buf_printf(out, " %lld in %.*s", (long long)ev->tx_end->counts[i].events, MR_STR_FMT(ev->tx_end->counts[i].collection));
    render_elements(&ev->elements, out);
    return MR_OK;
}

/* NULL = no bytes. The bytes are copied to the heap, so that a read beyond their end is found. */
static inline enum mr_status helper_decode_bytes(struct helper *h, const char *topic_z, struct mr_str key,
                                                 struct mr_str value)
{
    static const struct mr_partition part = {"t", 0, 0};
    char *k = mr_xmalloc(key.len != 0 ? key.len : 1), *v = mr_xmalloc(value.len != 0 ? value.len : 1);
    if (key.len != 0)
        memcpy(k, key.ptr, key.len);
    if (value.len != 0)
        memcpy(v, value.ptr, value.len);
    struct mr_record rec = {
        .part = &part,
        .position = 43,
        .topic = mr_str_z(topic_z),
        .partition = 3,
        .offset = 42,
        .timestamp_ms = -1,
        .key = {k, key.len},
        .value = {v, value.len},
        .has_key = key.ptr != NULL,
        .has_value = value.ptr != NULL,
        .headers = h->headers,
        .header_count = h->header_count,
    };
    h->err = (struct mr_error){0};
    mr_buf_clear(&h->out);
    enum mr_status status = mr_decoder_set_decode(h->set, &rec, &h->facts, h->ar, helper_emit, h, &h->err);
    mr_buf_z(&h->out);
    mr_xfree(k);
    mr_xfree(v);
    return status;
}

static inline enum mr_status helper_decode(struct helper *h, const char *topic_z, const char *key_z,
                                           const char *value_z)
{
    return helper_decode_bytes(h, topic_z, mr_str_z(key_z), mr_str_z(value_z));
}

/* The changes as text. */
static inline void assert_decodes(struct helper *h, const char *topic_z, const char *key_z,
                                  const char *value_z, const char *expected_z)
{
    enum mr_status status = helper_decode(h, topic_z, key_z, value_z);
    if (status != MR_OK)
        print_error("%s: %s\n", h->err.code, h->err.message);
    assert_int_equal(status, MR_OK);
    assert_string_equal(mr_buf_z(&h->out), expected_z);
}

static inline void assert_refused(struct helper *h, const char *topic_z, const char *key_z,
                                  const char *value_z, const char *code_z, const char *message_part_z)
{
    assert_int_equal(helper_decode(h, topic_z, key_z, value_z), MR_E_DATA);
    assert_string_equal(h->err.code, code_z);
    if (strstr(h->err.message, message_part_z) == NULL)
        print_error("message: %s\n", h->err.message);
    assert_non_null(strstr(h->err.message, message_part_z));
    assert_int_equal(h->out.len, 0);
}

#endif
