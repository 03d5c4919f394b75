/* One value of a Connect payload, read by its compiled schema. See connect.h. A value that contradicts its schema is no error of the
 * message: it becomes INVALID, and the field's policy decides. */
#include "connect.h"

#include <float.h>
#include <math.h>

#include <millrace/base/decimal.h>
#include <millrace/base/encode.h>
#include <millrace/base/utf8.h>

static struct mr_value unavailable(void)
{
    return (struct mr_value){.tag = MR_V_UNAVAILABLE};
}

/* A text column holds the placeholder as it is, or encoded where a binary column is written as text. */
static bool is_placeholder_text(const struct mr_placeholder *p, struct mr_str s)
{
    if (p->text.len == 0)
        return false;
    return mr_str_eq(s, p->text) || mr_str_eq(s, p->base64) || mr_str_eq(s, p->hex) ||
           mr_str_eq(s, p->base64_url);
}

bool mr_connect_int64(const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar,
                      int64_t *out)
{
    if (mr_json_int64(doc, node, out))
        return true;
    if (mr_json_is(doc, node, MR_J_NUMBER))
        return mr_decimal_to_int64(mr_json_raw(doc, node), out);
    return mr_json_is(doc, node, MR_J_STRING) &&
           mr_parse_int64(mr_json_string(doc, node, ar, NULL), out);
}

static struct mr_value integer(const struct mr_connect_schema *schema, const struct mr_json_doc *doc, uint32_t node,
                               struct mr_arena *ar)
{
    enum mr_connect_kind kind = (enum mr_connect_kind)schema->kind;
    int64_t v;
    if (schema->takes_bool && (mr_json_is(doc, node, MR_J_TRUE) || mr_json_is(doc, node, MR_J_FALSE)))
        return mr_value_int(mr_json_is(doc, node, MR_J_TRUE));
    if (!mr_connect_int64(doc, node, ar, &v))
        return MR_BAD_VALUE("expected a whole number of at most 64 bits");

    int64_t most = kind == MR_C_INT8    ? INT8_MAX
                   : kind == MR_C_INT16 ? INT16_MAX
                   : kind == MR_C_INT32 ? INT32_MAX
                                        : INT64_MAX;
    if (v > most || v < -most - 1)
        return MR_BAD_VALUE("beyond the range of the declared integer type");
    return mr_value_int(v);
}

/* In mode `long` BIGINT UNSIGNED wraps: a negative number stands for itself plus 2^64. */
static struct mr_value unsigned64(const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar)
{
    int64_t v;
    uint64_t u;
    if (mr_connect_int64(doc, node, ar, &v)) {
        if (v >= 0)
            return mr_value_int(v);
        u = (uint64_t)v;
    } else if (!mr_json_is(doc, node, MR_J_NUMBER) || !mr_parse_uint64(mr_json_raw(doc, node), &u)) {
        return MR_BAD_VALUE("expected a whole number of at most 64 bits");
    }
    return mr_value_bytes(MR_V_NUMBER, mr_arena_printf(ar, "%llu", (unsigned long long)u));
}

static struct mr_value floating(enum mr_connect_kind kind, const struct mr_json_doc *doc,
                                uint32_t node, struct mr_arena *ar)
{
    double d;
    struct mr_str text = mr_json_is(doc, node, MR_J_STRING) ? mr_json_string(doc, node, ar, NULL)
                                                            : mr_json_raw(doc, node);
    enum mr_json_kind found = mr_json_kind(doc, node);
    if ((found != MR_J_NUMBER && found != MR_J_STRING && found != MR_J_WORD) ||
        !mr_parse_double(text, &d))
        return MR_BAD_VALUE("expected a number");
    if (kind == MR_C_FLOAT32 && isfinite(d) && fabs(d) > FLT_MAX) {
        /* The shortest text of the largest float lies above it. */
        if (fabs(d) > 3.4028235e38)
            return MR_BAD_VALUE("beyond the range of a 32-bit float");
        d = copysign((double)FLT_MAX, d);
    }
    return mr_value_float(d);
}

static struct mr_value text(struct mr_connect *cn, const struct mr_json_doc *doc, uint32_t node,
                            struct mr_arena *ar)
{
    if (!mr_json_is(doc, node, MR_J_STRING))
        return MR_BAD_VALUE("expected a text");
    unsigned flags;
    struct mr_str s = mr_json_string(doc, node, ar, &flags);
    if (is_placeholder_text(&cn->placeholder, s))
        return unavailable();
    struct mr_value v = mr_value_text(s);
    v.flags = (uint8_t)flags;
    return v;
}

/* Base64 at `node`; false if it is none. *is_placeholder where the bytes are the placeholder's. */
static bool base64(struct mr_connect *cn, const struct mr_json_doc *doc, uint32_t node,
                   struct mr_arena *ar, struct mr_str *out, bool *is_placeholder)
{
    if (!mr_json_is(doc, node, MR_J_STRING))
        return false;
    struct mr_str s = mr_json_string(doc, node, ar, NULL);
    const struct mr_placeholder *p = &cn->placeholder;
    *is_placeholder = p->text.len != 0 && (mr_str_eq(s, p->base64) || mr_str_eq(s, p->text));
    return *is_placeholder || mr_base64_decode(s, ar, out);
}

static struct mr_value bytes(struct mr_connect *cn, const struct mr_json_doc *doc, uint32_t node,
                             struct mr_arena *ar)
{
    struct mr_str out;
    bool is_placeholder;
    if (!base64(cn, doc, node, ar, &out, &is_placeholder))
        return MR_BAD_VALUE("expected bytes as base64 text");
    return is_placeholder ? unavailable() : mr_value_bytes(MR_V_BYTES, out);
}

/* Bytes that a connector's option has made text of, in another way than the converter does. */
static struct mr_value encoded_bytes(struct mr_connect *cn, enum mr_semantic how, const struct mr_json_doc *doc,
                                     uint32_t node, struct mr_arena *ar)
{
    struct mr_value v = text(cn, doc, node, ar);
    if (v.tag != MR_V_TEXT)
        return v;
    struct mr_str out;
    if (how == MR_S_HEX)
        return mr_hex_decode(mr_value_str(v), ar, &out) ? mr_value_bytes(MR_V_BYTES, out)
                                                        : MR_BAD_VALUE("expected bytes as hexadecimal text");
    char *plain = mr_arena_strndup(ar, v.ptr, v.len);
    for (uint32_t i = 0; i < v.len; i++)
        plain[i] = plain[i] == '-' ? '+' : plain[i] == '_' ? '/' : plain[i];
    return mr_base64_decode(mr_str_of(plain, v.len), ar, &out) ? mr_value_bytes(MR_V_BYTES, out)
                                                               : MR_BAD_VALUE("expected bytes as base64 text");
}

/* ---- Decimals ---- */

struct mr_value mr_connect_number(struct mr_str digits, int32_t scale, struct mr_arena *ar)
{
    struct mr_decimal_info info;
    if (!mr_decimal_parse(digits, &info))
        return MR_BAD_VALUE("expected a decimal number");
    /* A large exponent is left as it stands: what it takes written out is for the column to decide. */
    if ((uint64_t)info.int_digits + info.frac_digits > digits.len + 128)
        return mr_value_bytes(MR_V_NUMBER, digits);

    struct mr_str plain = mr_decimal_plain(digits, ar);
    if (scale > 0 && info.frac_digits < (uint32_t)scale) {
        int zeros = scale - (int)info.frac_digits;
        plain = mr_arena_printf(ar, "%.*s%s%0*d", MR_STR_FMT(plain), info.frac_digits == 0 ? "." : "",
                                zeros, 0);
    }
    return mr_value_bytes(MR_V_NUMBER, plain);
}

/* The unscaled integer's bytes times 10^-scale. A scale far from the digits is kept as an exponent, so that a few bytes of a message
 * never become thousands. */
static struct mr_value unscaled(struct mr_str raw, int32_t scale, struct mr_arena *ar)
{
    struct mr_str out;
    bool is_far = scale > 1000 || scale < -100;
    if (!mr_decimal_from_bytes(raw, is_far ? 0 : scale, ar, &out))
        return MR_BAD_VALUE("expected the bytes of a decimal number");
    if (is_far)
        out = mr_arena_printf(ar, "%.*sE%d", MR_STR_FMT(out), (int)-scale);
    return mr_value_bytes(MR_V_NUMBER, out);
}

static struct mr_value decimal(struct mr_connect *cn, const struct mr_connect_schema *schema,
                               const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar)
{
    if (mr_json_is(doc, node, MR_J_NUMBER)) /* decimal.format=NUMERIC */
        return mr_connect_number(mr_json_raw(doc, node), schema->scale == INT32_MIN ? 0 : schema->scale, ar);

    struct mr_str raw;
    bool is_placeholder;
    if (!base64(cn, doc, node, ar, &raw, &is_placeholder))
        return MR_BAD_VALUE("expected a decimal as base64 text");
    if (is_placeholder)
        return unavailable();
    if (schema->scale == INT32_MIN)
        return MR_BAD_VALUE("the schema of this decimal names no scale");
    return unscaled(raw, schema->scale, ar);
}

static struct mr_value decimal_text(struct mr_connect *cn, const struct mr_connect_schema *schema,
                                    const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar)
{
    struct mr_value v = text(cn, doc, node, ar);
    if (v.tag != MR_V_TEXT)
        return v;
    struct mr_str s = mr_value_str(v);
    if (mr_str_eq(s, MR_STR("NaN")) || mr_str_eq(s, MR_STR("Infinity")) ||
        mr_str_eq(s, MR_STR("-Infinity")))
        return mr_value_bytes(MR_V_NUMBER, s);
    return mr_connect_number(s, schema->type.open ? 0 : schema->type.scale, ar);
}

static struct mr_value variable_decimal(struct mr_connect *cn, const struct mr_json_doc *doc,
                                        uint32_t node, struct mr_arena *ar)
{
    if (mr_json_is(doc, node, MR_J_NUMBER))
        return mr_connect_number(mr_json_raw(doc, node), 0, ar);

    int64_t scale;
    struct mr_str raw;
    bool is_placeholder;
    if (!base64(cn, doc, MR_JSON_MEMBER(doc, node, "value"), ar, &raw, &is_placeholder))
        return MR_BAD_VALUE("expected a decimal as scale and value");
    if (is_placeholder)
        return unavailable();
    if (!mr_connect_int64(doc, MR_JSON_MEMBER(doc, node, "scale"), ar, &scale) || scale > 19000 ||
        scale < -19000)
        return MR_BAD_VALUE("expected a decimal as scale and value");
    return unscaled(raw, (int32_t)scale, ar);
}

/* ---- Bits ---- */

/* Bytes come least significant first; the digits go out most significant first, exactly `length` of them. */
static struct mr_value bits(struct mr_connect *cn, const struct mr_connect_schema *schema,
                            const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar)
{
    struct mr_str raw;
    bool is_placeholder;
    if (!base64(cn, doc, node, ar, &raw, &is_placeholder))
        return MR_BAD_VALUE("expected bits as base64 text");
    if (is_placeholder)
        return unavailable();

    size_t length = schema->length != 0 ? schema->length : raw.len * 8;
    if (length > raw.len * 8 + 1024)
        return MR_BAD_VALUE("fewer bits than the schema declares");
    char *digits = mr_arena_alloc(ar, length + 1);
    for (size_t i = 0; i < raw.len * 8; i++) {
        bool one = ((unsigned char)raw.ptr[i / 8] >> (i % 8)) & 1;
        if (i < length)
            digits[length - 1 - i] = one ? '1' : '0';
        else if (one)
            return MR_BAD_VALUE("more bits than the schema declares");
    }
    for (size_t i = raw.len * 8; i < length; i++)
        digits[length - 1 - i] = '0';
    return mr_value_bytes(MR_V_BITS, mr_str_of(digits, length));
}

/* ---- Documents ---- */

static struct mr_value document(struct mr_connect *cn, const struct mr_json_doc *doc, uint32_t node,
                                struct mr_arena *ar)
{
    unsigned flags = 0;
    struct mr_str s = mr_json_text(doc, node, ar, &flags);
    if (cn->placeholder.text.len != 0 &&
        (mr_str_eq(s, cn->placeholder.json_array) || mr_str_eq(s, cn->placeholder.json_text)))
        return unavailable();
    struct mr_value v = mr_value_bytes(MR_V_JSON, s);
    v.flags = (uint8_t)flags;
    return v;
}

/* A document whose values are dates, decimals, … by its schema. */
static struct mr_value rendered(struct mr_connect *cn, const struct mr_connect_schema *schema,
                                const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar)
{
    if (mr_placeholder_is_array(&cn->placeholder, doc, node))
        return unavailable();
    if (!schema->renders)
        return document(cn, doc, node, ar);
    struct mr_value v;
    struct mr_buf buf = MR_BUF_INIT(cn->cfg->max_message_bytes);
    if (mr_connect_render(cn, schema, doc, node, ar, &buf, &v)) {
        v = buf.overflow ? MR_BAD_VALUE("the document is too large")
                         : mr_value_bytes(MR_V_JSON, mr_arena_copy(ar, mr_buf_str(&buf)));
        unsigned flags = 0;
        (void)mr_json_text(doc, node, ar, &flags);
        v.flags = (uint8_t)flags;
    }
    mr_buf_free(&buf);
    return v;
}

/* Scalars of several types in one column: each as its text. */
static struct mr_value any_text(struct mr_connect *cn, const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar)
{
    if (mr_json_is(doc, node, MR_J_STRING))
        return text(cn, doc, node, ar);
    return mr_value_text(mr_json_raw(doc, node));
}

/* A JSON column: text that holds JSON. It goes on in compact form, so that the snapshot's and the stream's spelling agree. */
static struct mr_value json_text(struct mr_connect *cn, const struct mr_json_doc *doc, uint32_t node,
                                 struct mr_arena *ar)
{
    if (!mr_json_is(doc, node, MR_J_STRING))
        return MR_BAD_VALUE("expected JSON as text");
    struct mr_str s = mr_json_string(doc, node, ar, NULL);
    if (is_placeholder_text(&cn->placeholder, s))
        return unavailable();

    struct mr_json_doc inner;
    if (mr_json_parse(cn->inner_reader, s, &inner, NULL) != MR_OK)
        return MR_BAD_VALUE("the text of a JSON column is not JSON");
    return document(cn, &inner, 0, ar);
}

static struct mr_value geometry(struct mr_connect *cn, const struct mr_json_doc *doc, uint32_t node,
                                struct mr_arena *ar)
{
    uint32_t wkb = MR_JSON_MEMBER(doc, node, "wkb");
    if (!mr_json_is(doc, node, MR_J_OBJECT) || !mr_json_is(doc, wkb, MR_J_STRING))
        return MR_BAD_VALUE("expected a geometry with its wkb");
    struct mr_str s = mr_json_string(doc, wkb, ar, NULL);
    const struct mr_placeholder *p = &cn->placeholder;
    if (p->text.len != 0 && (mr_str_eq(s, p->base64) || mr_str_eq(s, p->text)))
        return unavailable();
    return document(cn, doc, node, ar);
}

/* ---- Texts with a meaning ---- */

static bool is_label(const struct mr_connect_schema *schema, struct mr_str s)
{
    for (uint32_t i = 0; i < schema->label_count; i++) {
        if (mr_str_eq(schema->labels[i], s))
            return true;
    }
    return false;
}

/* Streamed events have a backslash before a comma or backslash inside a label, snapshots have none: unescape what is no label as it
 * stands. Labels come from the schema, so without it nothing is touched. */
static struct mr_value enum_label(struct mr_connect *cn, const struct mr_connect_schema *schema,
                                  const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar)
{
    struct mr_value v = text(cn, doc, node, ar);
    if (v.tag != MR_V_TEXT || memchr(v.ptr, '\\', v.len) == NULL || is_label(schema, mr_value_str(v)))
        return v;

    char *out = mr_arena_alloc(ar, v.len);
    uint32_t n = 0;
    for (uint32_t i = 0; i < v.len; i++) {
        if (v.ptr[i] == '\\' && i + 1 < v.len && (v.ptr[i + 1] == ',' || v.ptr[i + 1] == '\\'))
            i++;
        out[n++] = v.ptr[i];
    }
    if (!is_label(schema, mr_str_of(out, n)))
        return v;
    v.ptr = out;
    v.len = n;
    return v;
}

static struct mr_value uuid(struct mr_connect *cn, const struct mr_json_doc *doc, uint32_t node,
                            struct mr_arena *ar)
{
    struct mr_value v = text(cn, doc, node, ar);
    if (v.tag != MR_V_TEXT)
        return v;
    unsigned char *out = mr_arena_alloc(ar, 16);
    if (!mr_uuid_parse(mr_value_str(v), out))
        return MR_BAD_VALUE("expected a UUID");
    return mr_value_bytes(MR_V_UUID, mr_str_of((const char *)out, 16));
}

/* ---- By Connect type ---- */

static struct mr_value plain(struct mr_connect *cn, const struct mr_connect_schema *schema,
                             const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar)
{
    enum mr_connect_kind kind = (enum mr_connect_kind)schema->kind;
    switch (kind) {
    case MR_C_INT8:
    case MR_C_INT16:
    case MR_C_INT32:
    case MR_C_INT64:
        return integer(schema, doc, node, ar);
    case MR_C_FLOAT32:
    case MR_C_FLOAT64:
        return floating(kind, doc, node, ar);
    case MR_C_BOOLEAN:
        if (mr_json_is(doc, node, MR_J_TRUE) || mr_json_is(doc, node, MR_J_FALSE))
            return mr_value_bool(mr_json_is(doc, node, MR_J_TRUE));
        return MR_BAD_VALUE("expected true or false");
    case MR_C_STRING:
        return text(cn, doc, node, ar);
    case MR_C_BYTES:
        return bytes(cn, doc, node, ar);
    case MR_C_ARRAY:
    case MR_C_MAP:
    case MR_C_STRUCT:
        return rendered(cn, schema, doc, node, ar);
    case MR_C_ANY:
        break;
    }
    return mr_flatten_scalar(doc, node, ar);
}

struct mr_value mr_connect_value(struct mr_connect *cn, const struct mr_connect_schema *schema,
                                 const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar)
{
    if (node == MR_JSON_NONE)
        return (struct mr_value){.tag = MR_V_ABSENT};
    if (mr_json_is(doc, node, MR_J_NULL))
        return mr_value_null();
    while (schema != NULL && schema->other != NULL && !mr_json_is(doc, node, (enum mr_json_kind)schema->written))
        schema = schema->other;
    if (schema == NULL)
        return mr_flatten_scalar(doc, node, ar);

    switch ((enum mr_semantic)schema->semantic) {
    case MR_S_PLAIN:
        return plain(cn, schema, doc, node, ar);
    case MR_S_DECIMAL:
        return decimal(cn, schema, doc, node, ar);
    case MR_S_DECIMAL_TEXT:
        return decimal_text(cn, schema, doc, node, ar);
    case MR_S_VARIABLE_DECIMAL:
        return variable_decimal(cn, doc, node, ar);
    case MR_S_HEX:
    case MR_S_BASE64_URL:
        return encoded_bytes(cn, (enum mr_semantic)schema->semantic, doc, node, ar);
    case MR_S_UNSIGNED64:
        return unsigned64(doc, node, ar);
    case MR_S_BITS:
        return bits(cn, schema, doc, node, ar);
    case MR_S_JSON:
        return json_text(cn, doc, node, ar);
    case MR_S_ENUM:
        return enum_label(cn, schema, doc, node, ar);
    case MR_S_UUID:
        return uuid(cn, doc, node, ar);
    case MR_S_GEOMETRY:
        return geometry(cn, doc, node, ar);
    case MR_S_DOCUMENT:
        return rendered(cn, schema, doc, node, ar);
    case MR_S_ANY_TEXT:
        return any_text(cn, doc, node, ar);
    case MR_S_DATE:
    case MR_S_TIME_MS:
    case MR_S_TIME_US:
    case MR_S_TIME_NS:
    case MR_S_TIMESTAMP_MS:
    case MR_S_TIMESTAMP_US:
    case MR_S_TIMESTAMP_NS:
    case MR_S_INSTANT_MS:
    case MR_S_INSTANT_US:
    case MR_S_INSTANT_NS:
    case MR_S_DAY_TIME_MS:
    case MR_S_DAY_TIME_US:
    case MR_S_DURATION_US:
    case MR_S_DURATION_NS:
    case MR_S_ZONED_TIMESTAMP:
    case MR_S_ZONED_TIME:
    case MR_S_ISO_DATE:
    case MR_S_ISO_TIME:
    case MR_S_ISO_TIMESTAMP:
    case MR_S_STRUCT_DATE:
    case MR_S_STRUCT_TIME:
    case MR_S_STRUCT_DURATION:
    case MR_S_STRUCT_TIMESTAMP:
    case MR_S_STRUCT_ZONED_TIMESTAMP:
        break;
    }
    return mr_connect_time(schema, doc, node, ar);
}
