/* Values in PostgreSQL's binary formats (the `recv` functions of its types): integers big-endian, times as microseconds since 2000, numeric
 * in digits of base 10,000. */
#include "encode.h"

#include "pg.h"

#include <millrace/base/decimal.h>
#include <millrace/base/time.h>

#include <math.h>

#define MR_PG_MAX_ARRAY 134217727 /* MaxArraySize: elements of an array */
#define EPOCH_DAYS 10957 /* 2000-01-01 since 1970-01-01 */
#define EPOCH_US (EPOCH_DAYS * MR_US_PER_DAY)

#define NUMERIC_NEGATIVE 0x4000
#define NUMERIC_NAN 0xC000
#define NUMERIC_INFINITY 0xD000
#define NUMERIC_NEG_INFINITY 0xF000

static enum mr_status wrong_tag(struct mr_value v, struct mr_error *err)
{
    return mr_fail(err, MR_E_BUG, "a value with tag %u cannot be written to this column", (unsigned)v.tag);
}

static enum mr_status out_of_range(const char *what, struct mr_error *err)
{
    return mr_fail_data(err, MR_CODE_OUT_OF_RANGE, "PostgreSQL cannot hold this value: %s", what);
}

/* ---- numeric ---- */

static void numeric_special(uint16_t sign, struct mr_buf *out)
{
    mr_buf_append_u16be(out, 0); /* digits */
    mr_buf_append_u16be(out, 0); /* weight */
    mr_buf_append_u16be(out, sign);
    mr_buf_append_u16be(out, 0); /* scale */
}

static enum mr_status encode_number_word(struct mr_str text, int server, struct mr_buf *out, struct mr_error *err)
{
    if (mr_str_eq_z(text, "NaN")) {
        numeric_special(NUMERIC_NAN, out);
        return MR_OK;
    }
    if (server < 140000)
        return out_of_range("an infinity in a numeric column needs PostgreSQL 14", err);
    numeric_special(text.ptr[0] == '-' ? NUMERIC_NEG_INFINITY : NUMERIC_INFINITY, out);
    return MR_OK;
}

/* The digit at place `i` of a number whose point stands before place 0: negative places are the whole part. */
static int digit_at(struct mr_str whole, struct mr_str fraction, int64_t i)
{
    if (i < 0)
        return (int64_t)whole.len + i >= 0 ? whole.ptr[(int64_t)whole.len + i] - '0' : 0;
    return i < (int64_t)fraction.len ? fraction.ptr[i] - '0' : 0;
}

static unsigned group_at(struct mr_str whole, struct mr_str fraction, int64_t group)
{
    int64_t i = group * 4;
    return (unsigned)(digit_at(whole, fraction, i) * 1000 + digit_at(whole, fraction, i + 1) * 100 +
                      digit_at(whole, fraction, i + 2) * 10 + digit_at(whole, fraction, i + 3));
}

static bool is_plain(struct mr_str digits)
{
    for (size_t i = 0; i < digits.len; i++)
        if (digits.ptr[i] < '0' || digits.ptr[i] > '9')
            return false;
    return true;
}

/* [-]digits[.digits] */
static bool split_plain(struct mr_str text, bool *is_negative, struct mr_str *whole, struct mr_str *fraction)
{
    *is_negative = text.len > 0 && text.ptr[0] == '-';
    if (*is_negative)
        text = mr_str_of(text.ptr + 1, text.len - 1);
    ptrdiff_t point = mr_str_find(text, '.');
    *whole = point < 0 ? text : mr_str_of(text.ptr, (size_t)point);
    *fraction = point < 0 ? (struct mr_str){0} : mr_str_of(text.ptr + point + 1, text.len - (size_t)point - 1);
    return whole->len > 0 && is_plain(*whole) && is_plain(*fraction);
}

static enum mr_status encode_numeric(struct mr_value v, int server, struct mr_buf *out, struct mr_error *err)
{
    struct mr_str text = mr_value_str(v), whole, fraction;
    bool is_negative;

    if (v.tag != MR_V_NUMBER)
        return wrong_tag(v, err);
    if (mr_str_eq_z(text, "NaN") || mr_str_eq_z(text, "Infinity") || mr_str_eq_z(text, "-Infinity"))
        return encode_number_word(text, server, out, err);
    if (!split_plain(text, &is_negative, &whole, &fraction))
        return mr_fail(err, MR_E_BUG, "a decimal column's value is not in plain digits");

    int64_t first = -(int64_t)((whole.len + 3) / 4), end = (int64_t)((fraction.len + 3) / 4);
    if (first < -32768 || fraction.len > 16383)
        return out_of_range("more than 131072 digits before or 16383 after the point", err);
    while (first < end && group_at(whole, fraction, first) == 0)
        first++;
    while (end > first && group_at(whole, fraction, end - 1) == 0)
        end--;
    bool is_zero = first == end;

    mr_buf_append_u16be(out, (uint16_t)(end - first));
    mr_buf_append_u16be(out, is_zero ? 0 : (uint16_t)(int16_t)(-first - 1));
    mr_buf_append_u16be(out, is_negative && !is_zero ? NUMERIC_NEGATIVE : 0);
    mr_buf_append_u16be(out, (uint16_t)fraction.len);
    for (int64_t group = first; group < end; group++)
        mr_buf_append_u16be(out, (uint16_t)group_at(whole, fraction, group));
    return MR_OK;
}

/* ---- the others ---- */

static enum mr_status encode_int(enum mr_pg_wire wire, struct mr_value v, struct mr_buf *out, struct mr_error *err)
{
    if (v.tag != MR_V_INT)
        return wrong_tag(v, err);
    if (wire == MR_PG_INT8) {
        mr_buf_append_u64be(out, (uint64_t)v.i);
        return MR_OK;
    }
    int64_t limit = wire == MR_PG_INT2 ? INT16_MAX : INT32_MAX;
    if (v.i > limit || v.i < -limit - 1)
        return out_of_range("an integer beyond the column's type", err);
    if (wire == MR_PG_INT2)
        mr_buf_append_u16be(out, (uint16_t)v.i);
    else
        mr_buf_append_u32be(out, (uint32_t)v.i);
    return MR_OK;
}

static enum mr_status encode_float(enum mr_pg_wire wire, struct mr_value v, struct mr_buf *out, struct mr_error *err)
{
    if (v.tag != MR_V_FLOAT)
        return wrong_tag(v, err);
    if (wire == MR_PG_FLOAT8) {
        uint64_t bits;
        memcpy(&bits, &v.f, sizeof(bits));
        mr_buf_append_u64be(out, bits);
        return MR_OK;
    }
    float narrow = (float)v.f; /* the shortest text of the largest float lies above it, and rounds to it */
    if (isfinite(v.f) && !isfinite(narrow))
        return out_of_range("a number beyond the range of real", err);
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof(bits));
    mr_buf_append_u32be(out, bits);
    return MR_OK;
}

static enum mr_status encode_date(struct mr_value v, struct mr_buf *out, struct mr_error *err)
{
    if (v.tag != MR_V_DATE)
        return wrong_tag(v, err);
    if (!mr_pg_date_fits(v.i))
        return out_of_range("a date beyond the years 4713 BC to 5874897", err);
    if (v.i == MR_TIME_INFINITY || v.i == MR_TIME_NEG_INFINITY)
        mr_buf_append_u32be(out, v.i == MR_TIME_INFINITY ? (uint32_t)INT32_MAX : (uint32_t)INT32_MIN);
    else
        mr_buf_append_u32be(out, (uint32_t)(int32_t)(v.i - EPOCH_DAYS));
    return MR_OK;
}

static enum mr_status encode_time(struct mr_value v, struct mr_buf *out, struct mr_error *err)
{
    if (v.tag != MR_V_TIME)
        return wrong_tag(v, err);
    if (v.i < 0 || v.i > MR_US_PER_DAY)
        return out_of_range("a time of day that is not between 00:00 and 24:00", err);
    mr_buf_append_u64be(out, (uint64_t)v.i);
    return MR_OK;
}

/* Microseconds alone: no days, no months, so that nothing depends on a calendar. */
static enum mr_status encode_interval(struct mr_value v, struct mr_buf *out, struct mr_error *err)
{
    if (v.tag != MR_V_DURATION && v.tag != MR_V_TIME)
        return wrong_tag(v, err);
    if (v.i == MR_TIME_INFINITY || v.i == MR_TIME_NEG_INFINITY)
        return out_of_range("an infinite duration", err);
    mr_buf_append_u64be(out, (uint64_t)v.i);
    mr_buf_append_u32be(out, 0);
    mr_buf_append_u32be(out, 0);
    return MR_OK;
}

static enum mr_status encode_timestamp(struct mr_value v, enum mr_tag tag, struct mr_buf *out, struct mr_error *err)
{
    if (v.tag != tag)
        return wrong_tag(v, err);
    if (!mr_pg_timestamp_fits(v.i))
        return out_of_range("a timestamp before the year 4713 BC", err);
    bool is_infinite = v.i == MR_TIME_INFINITY || v.i == MR_TIME_NEG_INFINITY;
    mr_buf_append_u64be(out, (uint64_t)(is_infinite ? v.i : v.i - EPOCH_US));
    return MR_OK;
}

static enum mr_status encode_bits(struct mr_value v, struct mr_buf *out, struct mr_error *err)
{
    if (v.tag != MR_V_BITS || (v.len > 0 && !v.ptr))
        return wrong_tag(v, err);
    mr_buf_append_u32be(out, v.len);
    for (uint32_t i = 0; i < v.len; i += 8) {
        unsigned byte = 0;
        for (uint32_t k = 0; k < 8; k++)
            byte = byte << 1 | (i + k < v.len && v.ptr[i + k] == '1');
        mr_buf_append_char(out, (char)byte);
    }
    return MR_OK;
}

static enum mr_status encode_json(enum mr_pg_wire wire, struct mr_value v, struct mr_buf *out)
{
    if (wire == MR_PG_JSONB)
        mr_buf_append_char(out, 1); /* version of the format */
    if (v.tag == MR_V_JSON)
        mr_buf_append(out, v.ptr, v.len);
    else
        mr_value_append_json(v, out);
    return MR_OK;
}

static enum mr_status encode_raw(struct mr_value v, enum mr_tag tag, struct mr_buf *out, struct mr_error *err)
{
    if (v.tag != tag)
        return wrong_tag(v, err);
    mr_buf_append(out, v.ptr, v.len);
    return MR_OK;
}

/* One dimension from 1 on, or none at all for an empty array. */
static enum mr_status encode_array(enum mr_pg_wire element, int server, struct mr_value v, struct mr_buf *out, struct mr_error *err)
{
    if (v.tag != MR_V_ARRAY || mr_value_array(v)->is_mixed)
        return wrong_tag(v, err);
    const struct mr_array *array = mr_value_array(v);
    bool has_null = false;
    for (uint32_t i = 0; i < array->count && !has_null; i++)
        has_null = array->items[i].tag == MR_V_NULL;
    if (array->count > MR_PG_MAX_ARRAY)
        return out_of_range("an array of so many elements", err);

    mr_buf_append_u32be(out, array->count > 0);
    mr_buf_append_u32be(out, has_null);
    mr_buf_append_u32be(out, mr_pg_wire_info(element)->oid);
    if (array->count == 0)
        return MR_OK;
    mr_buf_append_u32be(out, array->count);
    mr_buf_append_u32be(out, 1);
    for (uint32_t i = 0; i < array->count; i++)
        MR_TRY(mr_pg_encode_field(element, server, array->items[i], out, err));
    return MR_OK;
}

enum mr_status mr_pg_encode(enum mr_pg_wire wire, int server, struct mr_value v, struct mr_buf *out,
                            struct mr_error *err)
{
    if (mr_pg_is_array(wire))
        return encode_array(mr_pg_element_of(wire), server, v, out, err);
    switch (wire) {
    case MR_PG_BOOL:
        if (v.tag != MR_V_BOOL)
            return wrong_tag(v, err);
        mr_buf_append_char(out, v.i != 0);
        return MR_OK;
    case MR_PG_INT2:
    case MR_PG_INT4:
    case MR_PG_INT8:
        return encode_int(wire, v, out, err);
    case MR_PG_NUMERIC:
        return encode_numeric(v, server, out, err);
    case MR_PG_FLOAT4:
    case MR_PG_FLOAT8:
        return encode_float(wire, v, out, err);
    case MR_PG_TEXT:
        if (v.tag == MR_V_TEXT)
            return encode_raw(v, MR_V_TEXT, out, err);
        mr_value_append_text(v, out); /* a text column holds the canonical text of anything */
        return MR_OK;
    case MR_PG_BYTEA:
        return encode_raw(v, MR_V_BYTES, out, err);
    case MR_PG_DATE:
        return encode_date(v, out, err);
    case MR_PG_TIME:
        return encode_time(v, out, err);
    case MR_PG_INTERVAL:
        return encode_interval(v, out, err);
    case MR_PG_TIMESTAMP:
        return encode_timestamp(v, MR_V_TIMESTAMP, out, err);
    case MR_PG_TIMESTAMPTZ:
        return encode_timestamp(v, MR_V_TIMESTAMPTZ, out, err);
    case MR_PG_UUID:
        return v.len == 16 ? encode_raw(v, MR_V_UUID, out, err) : wrong_tag(v, err);
    case MR_PG_BIT:
    case MR_PG_VARBIT:
        return encode_bits(v, out, err);
    case MR_PG_JSON:
    case MR_PG_JSONB:
        return encode_json(wire, v, out);
    }
    return mr_fail(err, MR_E_BUG, "no such wire");
}

static void put_u32(char *at, uint32_t n)
{
    at[0] = (char)(n >> 24);
    at[1] = (char)(n >> 16);
    at[2] = (char)(n >> 8);
    at[3] = (char)n;
}

/* What most fields are, written at once; false: not one of them, nothing is written. */
static bool encode_common(enum mr_pg_wire wire, struct mr_value v, struct mr_buf *out)
{
    bool is_int = wire == MR_PG_INT8 && v.tag == MR_V_INT;
    bool is_text = wire == MR_PG_TEXT && v.tag == MR_V_TEXT;

    if (!is_int && !is_text)
        return false;
    size_t len = is_int ? 8 : v.len;
    char *at = mr_buf_reserve(out, 4 + len);
    if (!at)
        return false;
    put_u32(at, (uint32_t)len);
    if (is_int) {
        put_u32(at + 4, (uint32_t)((uint64_t)v.i >> 32));
        put_u32(at + 8, (uint32_t)v.i);
    } else if (len > 0) {
        memcpy(at + 4, v.ptr, len);
    }
    out->len += 4 + len;
    return true;
}

enum mr_status mr_pg_encode_field(enum mr_pg_wire wire, int server, struct mr_value v, struct mr_buf *out,
                                  struct mr_error *err)
{
    if (v.tag == MR_V_NULL || v.tag == MR_V_ABSENT || v.tag == MR_V_UNAVAILABLE) {
        mr_buf_append_u32be(out, UINT32_MAX);
        return MR_OK;
    }
    if (v.len <= MR_PG_MAX_VALUE && encode_common(wire, v, out))
        return MR_OK;
    size_t at = out->len;
    mr_buf_append_u32be(out, 0);
    MR_TRY(mr_pg_encode(wire, server, v, out, err));
    if (out->overflow || out->len - at - 4 > MR_PG_MAX_VALUE + 5)
        return mr_fail_data(err, MR_CODE_TOO_LARGE, "the row is longer than 1 GiB");
    put_u32(out->data + at, (uint32_t)(out->len - at - 4));
    return MR_OK;
}
