/* Values as canonical text and as canonical JSON, and texts as values of a declared type. */
#include <millrace/model/value.h>

#include <millrace/base/decimal.h>
#include <millrace/base/encode.h>
#include <millrace/base/time.h>

#include "value_text.h"

static size_t integer_text(int64_t i, char *out)
{
    char reversed[20];
    size_t len = 0, at = 0;
    uint64_t n = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
    do {
        reversed[len++] = (char)('0' + n % 10);
        n /= 10;
    } while (n);
    if (i < 0)
        out[at++] = '-';
    while (len)
        out[at++] = reversed[--len];
    return at;
}

static size_t word(const char *text, char *out)
{
    size_t len = strlen(text);
    memcpy(out, text, len);
    return len;
}

size_t value_short_text(struct mr_value v, char out[SHORT_TEXT])
{
    size_t len;
    switch ((enum mr_tag)v.tag) {
    case MR_V_BOOL:
        return word(v.i ? "true" : "false", out);
    case MR_V_INT:
        return integer_text(v.i, out);
    case MR_V_FLOAT:
        return mr_double_text(v.f, out);
    case MR_V_DATE:
        return mr_format_date(v.i, out);
    case MR_V_TIME:
    case MR_V_DURATION:
        return mr_format_time(v.i, false, out);
    case MR_V_TIMESTAMP:
        return mr_format_timestamp(v.i, 'T', false, out);
    case MR_V_TIMESTAMPTZ:
        len = mr_format_timestamp(v.i, 'T', false, out);
        if (v.i != MR_TIME_INFINITY && v.i != MR_TIME_NEG_INFINITY)
            out[len++] = 'Z';
        return len;
    case MR_V_UUID:
        mr_uuid_format((const unsigned char *)v.ptr, out);
        return 36;
    case MR_V_ABSENT:
    case MR_V_UNAVAILABLE:
    case MR_V_NULL:
    case MR_V_NUMBER:
    case MR_V_TEXT:
    case MR_V_BYTES:
    case MR_V_BITS:
    case MR_V_JSON:
    case MR_V_ARRAY:
    case MR_V_PATCH:
    case MR_V_INVALID:
        return 0;
    }
    return 0;
}

void mr_value_append_text(struct mr_value v, struct mr_buf *out)
{
    char text[SHORT_TEXT];
    switch ((enum mr_tag)v.tag) {
    case MR_V_ABSENT:
    case MR_V_UNAVAILABLE:
    case MR_V_NULL:
    case MR_V_PATCH:
    case MR_V_INVALID:
        return;
    case MR_V_NUMBER:
    case MR_V_TEXT:
    case MR_V_BITS:
    case MR_V_JSON:
        mr_buf_append_str(out, mr_value_str(v));
        return;
    case MR_V_ARRAY:
        mr_buf_append_str(out, mr_value_array(v)->json);
        return;
    case MR_V_BYTES:
        mr_base64_append(out, mr_value_str(v));
        return;
    case MR_V_BOOL:
    case MR_V_INT:
    case MR_V_FLOAT:
    case MR_V_DATE:
    case MR_V_TIME:
    case MR_V_DURATION:
    case MR_V_TIMESTAMP:
    case MR_V_TIMESTAMPTZ:
    case MR_V_UUID:
        mr_buf_append(out, text, value_short_text(v, text));
        return;
    }
}

/* Numbers end in a digit; NaN and the infinities do not, and JSON has no numbers for them. */
static void append_number(struct mr_str text, struct mr_buf *out)
{
    bool is_word = text.len == 0 || text.ptr[text.len - 1] < '0' || text.ptr[text.len - 1] > '9';
    if (is_word)
        mr_buf_append_char(out, '"');
    mr_buf_append_str(out, text);
    if (is_word)
        mr_buf_append_char(out, '"');
}

void mr_value_append_json(struct mr_value v, struct mr_buf *out)
{
    char text[SHORT_TEXT];
    switch ((enum mr_tag)v.tag) {
    case MR_V_ABSENT:
    case MR_V_UNAVAILABLE:
    case MR_V_NULL:
    case MR_V_PATCH:
    case MR_V_INVALID:
        mr_buf_append_z(out, "null");
        return;
    case MR_V_BOOL:
    case MR_V_INT:
        mr_buf_append(out, text, value_short_text(v, text));
        return;
    case MR_V_FLOAT:
        append_number(mr_str_of(text, value_short_text(v, text)), out);
        return;
    case MR_V_NUMBER:
        append_number(mr_value_str(v), out);
        return;
    case MR_V_TEXT:
        mr_buf_append_json(out, mr_value_str(v));
        return;
    case MR_V_JSON:
        mr_buf_append_str(out, mr_value_str(v));
        return;
    case MR_V_ARRAY:
        mr_buf_append_str(out, mr_value_array(v)->json);
        return;
    case MR_V_BYTES:
    case MR_V_DATE:
    case MR_V_TIME:
    case MR_V_DURATION:
    case MR_V_TIMESTAMP:
    case MR_V_TIMESTAMPTZ:
    case MR_V_UUID:
    case MR_V_BITS: /* their texts hold nothing that needs escaping */
        mr_buf_append_char(out, '"');
        mr_value_append_text(v, out);
        mr_buf_append_char(out, '"');
        return;
    }
}

/* ---- Texts of a declared type ---- */

static bool read_bool(struct mr_str s, struct mr_value *out)
{
    bool is_true = mr_str_eq_nocase(s, MR_STR("true"));
    *out = mr_value_bool(is_true);
    return is_true || mr_str_eq_nocase(s, MR_STR("false"));
}

static bool read_number(struct mr_str s, struct mr_value *out)
{
    struct mr_decimal_info info;
    bool is_word = mr_str_eq(s, MR_STR("NaN")) || mr_str_eq(s, MR_STR("Infinity")) ||
                   mr_str_eq(s, MR_STR("-Infinity"));
    *out = mr_value_bytes(MR_V_NUMBER, s);
    return is_word || mr_decimal_parse(s, &info);
}

static bool read_double(struct mr_str s, struct mr_value *out)
{
    double f;
    if (!mr_parse_double(s, &f))
        return false;
    *out = mr_value_float(f);
    return true;
}

static bool read_time(struct mr_str s, enum mr_type_kind kind, struct mr_value *out)
{
    int64_t n;
    bool has_zone, is_read;
    if (kind == MR_T_DATE)
        is_read = mr_parse_date(s, &n);
    else if (kind == MR_T_TIMESTAMP)
        is_read = mr_parse_timestamp(s, &n);
    else if (kind == MR_T_TIMESTAMPTZ)
        is_read = mr_parse_timestamptz(s, &n, &has_zone);
    else
        is_read = mr_parse_time(s, &n) && (kind == MR_T_DURATION || (n >= 0 && n <= MR_US_PER_DAY));
    if (is_read)
        *out = mr_value_time(mr_type_tag(kind), n);
    return is_read;
}

static bool read_bits(struct mr_str s, struct mr_value *out)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] != '0' && s.ptr[i] != '1')
            return false;
    }
    *out = mr_value_bytes(MR_V_BITS, s);
    return s.len > 0;
}

static bool read_uuid(struct mr_str s, struct mr_arena *ar, struct mr_value *out)
{
    unsigned char bytes[16];
    if (!mr_uuid_parse(s, bytes))
        return false;
    *out = mr_value_bytes(MR_V_UUID, mr_arena_copy(ar, mr_str_of((const char *)bytes, sizeof(bytes))));
    return true;
}

bool mr_value_read_text(struct mr_value text, struct mr_type type, struct mr_arena *ar, struct mr_value *out)
{
    if (text.tag != MR_V_TEXT)
        return false;
    struct mr_str s = mr_value_str(text), bytes;
    switch ((enum mr_type_kind)type.kind) {
    case MR_T_BOOL:
        return read_bool(s, out);
    case MR_T_INT16:
    case MR_T_INT32:
    case MR_T_INT64:
    case MR_T_DECIMAL:
        return read_number(s, out);
    case MR_T_FLOAT32:
    case MR_T_FLOAT64:
        return read_double(s, out);
    case MR_T_TEXT:
        *out = text;
        return true;
    case MR_T_BYTES:
        if (!mr_base64_decode(s, ar, &bytes))
            return false;
        *out = mr_value_bytes(MR_V_BYTES, bytes);
        return true;
    case MR_T_DATE:
    case MR_T_TIME:
    case MR_T_DURATION:
    case MR_T_TIMESTAMP:
    case MR_T_TIMESTAMPTZ:
        return read_time(s, (enum mr_type_kind)type.kind, out);
    case MR_T_UUID:
        return read_uuid(s, ar, out);
    case MR_T_BITS:
        return read_bits(s, out);
    case MR_T_NONE:
    case MR_T_JSON:
    case MR_T_ARRAY:
        return false;
    }
    return false;
}
