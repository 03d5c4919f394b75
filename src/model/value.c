/* Values and the types they show, and the one conversion: into the tag of a column, without loss or not at all.
 * Error messages name types and digits, never the value: they reach the log. */
#include <millrace/model/value.h>

#include <millrace/base/decimal.h>
#include <millrace/base/encode.h>
#include <millrace/base/time.h>
#include <millrace/base/utf8.h>

#include <math.h>

#include "value_text.h"

struct mr_type mr_value_type(struct mr_value v)
{
    struct mr_decimal_info info;
    switch ((enum mr_tag)v.tag) {
    case MR_V_ABSENT:
    case MR_V_UNAVAILABLE:
    case MR_V_NULL:
    case MR_V_PATCH:
    case MR_V_INVALID:
        return MR_TYPE(MR_T_NONE);
    case MR_V_BOOL:
        return MR_TYPE(MR_T_BOOL);
    case MR_V_INT:
        return MR_TYPE(MR_T_INT64);
    case MR_V_NUMBER:
        if (!mr_decimal_parse(mr_value_str(v), &info) || info.has_point || info.int_digits > UINT16_MAX)
            return MR_TYPE_DECIMAL_OPEN;
        return MR_TYPE_DECIMAL(info.int_digits ? (uint16_t)info.int_digits : 1, 0);
    case MR_V_FLOAT:
        return MR_TYPE(MR_T_FLOAT64);
    case MR_V_TEXT:
        return MR_TYPE(MR_T_TEXT);
    case MR_V_BYTES:
        return MR_TYPE(MR_T_BYTES);
    case MR_V_DATE:
        return MR_TYPE(MR_T_DATE);
    case MR_V_TIME:
        return MR_TYPE(MR_T_TIME);
    case MR_V_DURATION:
        return MR_TYPE(MR_T_DURATION);
    case MR_V_TIMESTAMP:
        return MR_TYPE(MR_T_TIMESTAMP);
    case MR_V_TIMESTAMPTZ:
        return MR_TYPE(MR_T_TIMESTAMPTZ);
    case MR_V_UUID:
        return MR_TYPE(MR_T_UUID);
    case MR_V_BITS:
        return MR_TYPE_BITS(v.len <= UINT16_MAX ? (uint16_t)v.len : 0);
    case MR_V_JSON:
        return MR_TYPE(MR_T_JSON);
    case MR_V_ARRAY:
        return mr_value_array(v)->is_mixed ? MR_TYPE(MR_T_JSON) : mr_value_array(v)->type;
    }
    return MR_TYPE(MR_T_NONE);
}

enum mr_tag mr_type_tag(enum mr_type_kind kind)
{
    switch (kind) {
    case MR_T_NONE:
        return MR_V_NULL;
    case MR_T_BOOL:
        return MR_V_BOOL;
    case MR_T_INT16:
    case MR_T_INT32:
    case MR_T_INT64:
        return MR_V_INT;
    case MR_T_DECIMAL:
        return MR_V_NUMBER;
    case MR_T_FLOAT32:
    case MR_T_FLOAT64:
        return MR_V_FLOAT;
    case MR_T_TEXT:
        return MR_V_TEXT;
    case MR_T_BYTES:
        return MR_V_BYTES;
    case MR_T_DATE:
        return MR_V_DATE;
    case MR_T_TIME:
        return MR_V_TIME;
    case MR_T_DURATION:
        return MR_V_DURATION;
    case MR_T_TIMESTAMP:
        return MR_V_TIMESTAMP;
    case MR_T_TIMESTAMPTZ:
        return MR_V_TIMESTAMPTZ;
    case MR_T_UUID:
        return MR_V_UUID;
    case MR_T_BITS:
        return MR_V_BITS;
    case MR_T_JSON:
        return MR_V_JSON;
    case MR_T_ARRAY:
        return MR_V_ARRAY;
    }
    return MR_V_NULL;
}

/* ---- Refusals ---- */

static enum mr_status conflict(struct mr_value v, struct mr_type type, struct mr_error *err)
{
    char have[32], want[32];
    return mr_fail_data(err, MR_CODE_TYPE_CONFLICT, "a value of type %s does not go into a column of type %s",
                        mr_type_text(mr_value_type(v), have), mr_type_text(type, want));
}

static enum mr_status out_of_range(struct mr_type type, const char *what, struct mr_error *err)
{
    char want[32];
    return mr_fail_data(err, MR_CODE_OUT_OF_RANGE, "%s is beyond what the column's type %s holds", what,
                        mr_type_text(type, want));
}

static enum mr_status invalid(struct mr_value v, struct mr_error *err)
{
    const char *code = v.aux == MR_INVALID_RANGE ? MR_CODE_OUT_OF_RANGE : MR_CODE_BAD_VALUE;
    return mr_fail_data(err, code, "%.*s", MR_STR_FMT(mr_value_str(v)));
}

/* ---- Integers ---- */

static enum mr_status integer_from(struct mr_value v, struct mr_type type, int64_t *n, struct mr_error *err)
{
    if (v.tag == MR_V_INT) {
        *n = v.i;
        return MR_OK;
    }
    if (v.tag == MR_V_FLOAT) {
        if (!isfinite(v.f) || v.f != trunc(v.f))
            return conflict(v, type, err);
        if (v.f < -0x1p63 || v.f >= 0x1p63)
            return out_of_range(type, "an integer", err);
        *n = (int64_t)v.f;
        return MR_OK;
    }
    struct mr_decimal_info info;
    if (v.tag != MR_V_NUMBER || !mr_decimal_parse(mr_value_str(v), &info) || info.frac_significant > 0)
        return conflict(v, type, err);
    return mr_decimal_to_int64(mr_value_str(v), n) ? MR_OK : out_of_range(type, "an integer", err);
}

static enum mr_status to_integer(struct mr_value v, struct mr_type type, struct mr_value *out,
                                 struct mr_error *err)
{
    int64_t n;
    MR_TRY(integer_from(v, type, &n, err));
    if ((type.kind == MR_T_INT16 && n != (int16_t)n) || (type.kind == MR_T_INT32 && n != (int32_t)n))
        return out_of_range(type, "an integer", err);
    *out = mr_value_int(n);
    return MR_OK;
}

/* ---- Decimals ---- */

static bool is_number_word(struct mr_str s)
{
    return mr_str_eq(s, MR_STR("NaN")) || mr_str_eq(s, MR_STR("Infinity")) || mr_str_eq(s, MR_STR("-Infinity"));
}

static enum mr_status check_digits(const struct mr_decimal_info *info, struct mr_type type,
                                   struct mr_error *err)
{
    int64_t room = (int64_t)type.precision - type.scale;
    /* Where the first digit stands; below the point negative, so that a scale beyond the precision is right too. */
    int64_t first = info->int_digits ? (int64_t)info->int_digits : (int64_t)info->digits - info->frac_significant;
    int64_t scale = type.scale > 0 ? type.scale : 0;
    /* A negative scale counts tens: the digits below must be zeros. */
    bool is_coarse = type.scale >= 0 ||
                     (int64_t)info->int_digits - (int64_t)info->digits >= -(int64_t)type.scale;
    if (info->is_zero || (first <= room && (int64_t)info->frac_significant <= scale && is_coarse))
        return MR_OK;
    char want[32];
    return mr_fail_data(err, MR_CODE_OUT_OF_RANGE,
                        "a number with %u digits before and %u after the point does not fit %s", info->int_digits,
                        info->frac_significant, mr_type_text(type, want));
}

/* `text` has parsed as `info`: its plain form, without zeros that the scale has no place for. */
static struct mr_str plain_digits(struct mr_str text, const struct mr_decimal_info *info, struct mr_type type,
                                  struct mr_arena *ar)
{
    struct mr_str plain = mr_decimal_is_plain(text) ? text : mr_decimal_plain(text, ar);
    uint32_t scale = type.open || type.scale < 0 ? 0 : (uint32_t)type.scale;
    if (type.open || info->frac_digits <= scale)
        return plain;
    plain.len -= info->frac_digits - scale + (scale == 0);
    /* "-0.00" is not plain, so no "-0" can be left here. */
    return plain;
}

static enum mr_status to_decimal(struct mr_value v, struct mr_type type, struct mr_arena *ar,
                                 struct mr_value *out, struct mr_error *err)
{
    char buffer[SHORT_TEXT];
    struct mr_str text = mr_value_str(v);
    if (v.tag == MR_V_INT || v.tag == MR_V_FLOAT)
        text = mr_str_of(buffer, value_short_text(v, buffer));
    else if (v.tag != MR_V_NUMBER)
        return conflict(v, type, err);
    if (is_number_word(text)) {
        if (!type.open && text.len > 3)
            return out_of_range(type, "infinity", err);
    } else {
        struct mr_decimal_info info;
        if (!mr_decimal_parse(text, &info))
            return out_of_range(type, "a number with such an exponent", err);
        if (!type.open)
            MR_TRY(check_digits(&info, type, err));
        text = plain_digits(text, &info, type, ar);
    }
    if (text.ptr == buffer)
        text = mr_arena_copy(ar, text);
    *out = mr_value_bytes(MR_V_NUMBER, text);
    return MR_OK;
}

/* ---- Floats ---- */

static enum mr_status double_from(struct mr_value v, struct mr_type type, double *f, struct mr_error *err)
{
    if (v.tag == MR_V_FLOAT) {
        *f = v.f;
        return MR_OK;
    }
    if (v.tag == MR_V_INT) {
        *f = (double)v.i;
        /* 2^63 itself would overflow on the way back. */
        if (*f >= 0x1p63 || (int64_t)*f != v.i)
            return out_of_range(type, "an integer with so many digits", err);
        return MR_OK;
    }
    if (v.tag != MR_V_NUMBER)
        return conflict(v, type, err);
    struct mr_str text = mr_value_str(v);
    if (!is_number_word(text) && !mr_decimal_shows_double(text))
        return out_of_range(type, "a number with such digits or exponent", err);
    return mr_parse_double(text, f) ? MR_OK : out_of_range(type, "a number with such an exponent", err);
}

/* A float32 column holds the float whose shortest text the double has: 0.1 stays 0.1. */
static bool narrow(double f, double *out)
{
    if (!isfinite(f)) {
        *out = f;
        return true;
    }
    float narrowed = (float)f;
    if (!isfinite(narrowed))
        return false;
    char short_text[32], long_text[32];
    struct mr_str text = mr_str_of(short_text, mr_float_text(narrowed, short_text));
    double shown;
    if (!mr_parse_double(text, &shown))
        return false;
    bool is_same = (double)narrowed == f || mr_str_eq(text, mr_str_of(long_text, mr_double_text(f, long_text)));
    *out = (float)shown == narrowed ? shown : (double)narrowed;
    return is_same;
}

static enum mr_status to_float(struct mr_value v, struct mr_type type, struct mr_value *out,
                               struct mr_error *err)
{
    double f;
    MR_TRY(double_from(v, type, &f, err));
    if (type.kind == MR_T_FLOAT32 && !narrow(f, &f))
        return out_of_range(type, "a number with so many digits", err);
    *out = mr_value_float(f);
    return MR_OK;
}

/* ---- Texts, JSON, times, bits ---- */

/* What append writes, as a value in the arena. */
static enum mr_status spell(struct mr_value v, enum mr_tag tag, void (*append)(struct mr_value, struct mr_buf *),
                            struct mr_arena *ar, struct mr_value *out, struct mr_error *err)
{
    struct mr_buf buf = MR_BUF_INIT(UINT32_MAX);
    append(v, &buf);
    enum mr_status status = mr_buf_check(&buf, "the text of a value", err);
    if (status == MR_OK) {
        *out = mr_value_bytes(tag, mr_arena_copy(ar, mr_buf_str(&buf)));
        out->flags = v.flags;
    }
    mr_buf_free(&buf);
    return status;
}

static enum mr_status to_text(struct mr_value v, struct mr_arena *ar, struct mr_value *out, struct mr_error *err)
{
    char buffer[SHORT_TEXT];
    size_t len = value_short_text(v, buffer);
    if (len > 0) {
        *out = mr_value_text(mr_arena_copy(ar, mr_str_of(buffer, len)));
        return MR_OK;
    }
    if (v.tag == MR_V_ARRAY)
        v = mr_value_json_of_array(v);
    if (v.tag == MR_V_BYTES)
        return spell(v, MR_V_TEXT, mr_value_append_text, ar, out, err);
    *out = mr_value_text(mr_value_str(v)); /* NUMBER, TEXT, BITS, JSON */
    /* JSON's flags speak of its strings unescaped; the text spells them. */
    out->flags = v.flags && v.tag == MR_V_JSON ? (uint8_t)mr_utf8_check(mr_value_str(v)) : v.flags;
    return MR_OK;
}

static enum mr_status to_time(struct mr_value v, struct mr_type type, struct mr_value *out,
                              struct mr_error *err)
{
    if (v.tag != MR_V_TIME && v.tag != MR_V_DURATION)
        return conflict(v, type, err);
    if (type.kind == MR_T_TIME && v.tag == MR_V_DURATION && (v.i < 0 || v.i > MR_US_PER_DAY))
        return out_of_range(type, "a duration that is no time of day", err);
    *out = mr_value_time(mr_type_tag((enum mr_type_kind)type.kind), v.i);
    return MR_OK;
}

/* Of a fixed length: shorter ones get their zeros in front, as the numbers that they are at their source. */
static enum mr_status to_bits(struct mr_value v, struct mr_type type, struct mr_arena *ar, struct mr_value *out,
                              struct mr_error *err)
{
    if (v.tag != MR_V_BITS)
        return conflict(v, type, err);
    *out = v;
    if (type.precision == 0 || v.len == type.precision)
        return MR_OK;
    uint32_t zeros = 0;
    while (v.len - zeros > type.precision && v.ptr[zeros] == '0')
        zeros++;
    if (v.len - zeros > type.precision)
        return out_of_range(type, "a longer bit string", err);
    char *digits = mr_arena_alloc(ar, type.precision);
    size_t used = v.len - zeros, pad = type.precision - used;
    memset(digits, '0', pad);
    memcpy(digits + pad, v.ptr + zeros, used);
    *out = mr_value_bytes(MR_V_BITS, mr_str_of(digits, type.precision));
    return MR_OK;
}

static bool is_ready_element(struct mr_value v, struct mr_type type)
{
    return v.tag == MR_V_NULL ||
           (v.tag == mr_type_tag((enum mr_type_kind)type.kind) && !mr_type_is_integer(type) && type.kind != MR_T_DECIMAL &&
            type.kind != MR_T_FLOAT32 && type.kind != MR_T_BITS) ||
           (v.tag == MR_V_INT && type.kind == MR_T_INT64);
}

/* Each element as if it stood alone; an array whose elements are right already stays itself. */
static enum mr_status to_array(struct mr_value v, struct mr_type type, struct mr_arena *ar, struct mr_value *out,
                               struct mr_error *err)
{
    struct mr_type element = mr_type_element(type);

    if (v.tag != MR_V_ARRAY || mr_value_array(v)->is_mixed)
        return conflict(v, type, err);
    const struct mr_array *from = mr_value_array(v);
    uint32_t ready = 0;
    while (ready < from->count && is_ready_element(from->items[ready], element))
        ready++;
    *out = v;
    if (ready == from->count)
        return MR_OK;
    struct mr_value *items = mr_arena_alloc(ar, from->count * sizeof *items);
    memcpy(items, from->items, ready * sizeof *items);
    for (uint32_t i = ready; i < from->count; i++) {
        if (element.kind == MR_T_NONE && from->items[i].tag != MR_V_NULL)
            return conflict(v, type, err);
        MR_TRY(mr_value_coerce(from->items[i], element, ar, &items[i], err));
    }
    struct mr_array *array = mr_arena_alloc(ar, sizeof *array);
    *array = *from;
    array->items = items;
    array->type = type;
    *out = mr_value_of_array(array, v.flags);
    return MR_OK;
}

enum mr_status mr_value_coerce(struct mr_value v, struct mr_type type, struct mr_arena *ar, struct mr_value *out,
                               struct mr_error *err)
{
    if (v.tag <= MR_V_NULL) {
        *out = v;
        return MR_OK;
    }
    if (v.tag == MR_V_INVALID)
        return invalid(v, err);
    switch ((enum mr_type_kind)type.kind) {
    case MR_T_INT16:
    case MR_T_INT32:
    case MR_T_INT64:
        return to_integer(v, type, out, err);
    case MR_T_DECIMAL:
        return to_decimal(v, type, ar, out, err);
    case MR_T_FLOAT32:
    case MR_T_FLOAT64:
        return to_float(v, type, out, err);
    case MR_T_TEXT:
        return to_text(v, ar, out, err);
    case MR_T_JSON:
        if (v.tag == MR_V_ARRAY)
            v = mr_value_json_of_array(v);
        else if (v.tag != MR_V_JSON)
            return spell(v, MR_V_JSON, mr_value_append_json, ar, out, err);
        break;
    case MR_T_TIME:
    case MR_T_DURATION:
        return to_time(v, type, out, err);
    case MR_T_BITS:
        return to_bits(v, type, ar, out, err);
    case MR_T_ARRAY:
        return to_array(v, type, ar, out, err);
    case MR_T_NONE:
    case MR_T_BOOL:
    case MR_T_BYTES:
    case MR_T_DATE:
    case MR_T_TIMESTAMP:
    case MR_T_TIMESTAMPTZ:
    case MR_T_UUID:
        if (v.tag != mr_type_tag((enum mr_type_kind)type.kind))
            return conflict(v, type, err);
        break;
    }
    *out = v;
    return MR_OK;
}
