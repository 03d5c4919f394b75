/* Values for columns whose type a person has set. Somebody who writes `decimal(10,2)` for a field that arrives as text says what the text
 * means, so texts are read here as they never are without such a word. What cannot be read without loss is refused. */
#include "tracker_parts.h"

#include <math.h>

#include <millrace/base/decimal.h>
#include <millrace/base/encode.h>
#include <millrace/base/time.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* [-]digits[.digits] */
static bool is_plain_number(struct mr_str s)
{
    size_t i = s.len > 0 && s.ptr[0] == '-', start = i;

    while (i < s.len && is_digit(s.ptr[i]))
        i++;
    if (i == start)
        return false;
    if (i == s.len)
        return true;
    if (s.ptr[i++] != '.' || i == s.len)
        return false;
    while (i < s.len && is_digit(s.ptr[i]))
        i++;
    return i == s.len;
}

/* Base64 exactly as an encoder writes it: padded, nothing left over in the last bits. */
static bool strict_base64(struct mr_str text, struct mr_arena *ar, struct mr_str *bytes)
{
    if (text.len == 0 || text.len % 4 != 0 || !mr_base64_decode(text, ar, bytes))
        return false;
    struct mr_buf again = MR_BUF_INIT(text.len + 4);
    mr_base64_append(&again, *bytes);
    bool same = mr_str_eq(mr_buf_str(&again), text);
    mr_buf_free(&again);
    return same;
}

/* Java's BigInteger writes the shortest form: no byte that only repeats the sign. */
static bool is_shortest(struct mr_str bytes)
{
    if (bytes.len < 2)
        return bytes.len == 1;
    unsigned char first = (unsigned char)bytes.ptr[0], second = (unsigned char)bytes.ptr[1];
    return !((first == 0x00 && second < 0x80) || (first == 0xff && second >= 0x80));
}

/* Debezium without schema writes a decimal as base64 of its unscaled integer: the column's scale says where the point goes. */
static bool unscaled_number(struct mr_str text, struct mr_type type, struct mr_arena *ar, struct mr_str *digits)
{
    struct mr_str bytes;

    return !type.open && strict_base64(text, ar, &bytes) && is_shortest(bytes) &&
           mr_decimal_from_bytes(bytes, type.scale, ar, digits);
}

static bool number_of_text(struct mr_str text, struct mr_type type, struct mr_arena *ar, struct mr_value *out)
{
    struct mr_decimal_info info;
    struct mr_str digits = text;
    double f;

    if (type.kind == MR_T_DECIMAL && !is_plain_number(text) && unscaled_number(text, type, ar, &digits)) {
        *out = mr_value_bytes(MR_V_NUMBER, digits);
        return true;
    }
    if (mr_decimal_parse(text, &info)) {
        *out = mr_value_bytes(MR_V_NUMBER, mr_decimal_plain(text, ar));
        return true;
    }
    if (mr_parse_double(text, &f) && !isfinite(f)) { /* NaN, Infinity, -Infinity */
        *out = type.kind == MR_T_DECIMAL ? mr_value_bytes(MR_V_NUMBER, text) : mr_value_float(f);
        return true;
    }
    return false;
}

static bool bool_of_text(struct mr_str text, struct mr_value *out)
{
    static const char *const yes[] = {"true", "t", "1"}, *const no[] = {"false", "f", "0"};

    for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
        bool is_yes = mr_str_eq_nocase(text, mr_str_z(yes[i]));
        if (is_yes || mr_str_eq_nocase(text, mr_str_z(no[i]))) {
            *out = mr_value_bool(is_yes);
            return true;
        }
    }
    return false;
}

/* Would reading the text cut digits of its fraction that are not zero? */
static bool is_beyond_micros(struct mr_str text)
{
    ptrdiff_t dot = mr_str_find(text, '.');

    if (dot < 0)
        return false;
    for (size_t i = (size_t)dot + 7; i < text.len && is_digit(text.ptr[i]); i++)
        if (text.ptr[i] != '0')
            return true;
    return false;
}

static bool infinity_of_text(struct mr_str text, int64_t *i)
{
    if (mr_str_eq_z(text, "infinity"))
        *i = MR_TIME_INFINITY;
    else if (mr_str_eq_z(text, "-infinity"))
        *i = MR_TIME_NEG_INFINITY;
    else
        return false;
    return true;
}

static bool temporal_of_text(struct mr_str text, enum mr_type_kind kind, struct mr_value *out)
{
    bool has_zone = true, good;
    int64_t i = 0;

    if (is_beyond_micros(text))
        return false;
    switch (kind) {
    case MR_T_DATE:
        good = mr_parse_date(text, &i) || infinity_of_text(text, &i);
        break;
    case MR_T_TIME:
        good = mr_parse_time(text, &i) && i >= 0 && i <= MR_US_PER_DAY;
        break;
    case MR_T_DURATION:
        good = mr_parse_time(text, &i);
        break;
    case MR_T_TIMESTAMP:
        good = mr_parse_timestamp(text, &i) || infinity_of_text(text, &i);
        break;
    default:
        good = (mr_parse_timestamptz(text, &i, &has_zone) && has_zone) || infinity_of_text(text, &i);
        break;
    }
    *out = mr_value_time(mr_type_tag(kind), i);
    return good;
}

static bool bits_of_text(struct mr_str text, struct mr_value *out)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] != '0' && text.ptr[i] != '1')
            return false;
    *out = mr_value_bytes(MR_V_BITS, text);
    return text.len > 0;
}

static bool read_text(struct mr_value v, struct mr_type type, struct mr_arena *ar, struct mr_value *out)
{
    struct mr_str text = mr_value_str(v), bytes;

    switch ((enum mr_type_kind)type.kind) {
    case MR_T_BOOL:
        return bool_of_text(text, out);
    case MR_T_INT16:
    case MR_T_INT32:
    case MR_T_INT64:
    case MR_T_DECIMAL:
    case MR_T_FLOAT32:
    case MR_T_FLOAT64:
        return number_of_text(text, type, ar, out);
    case MR_T_BYTES:
        if (text.len > 0 && !strict_base64(text, ar, &bytes))
            return false;
        *out = mr_value_bytes(MR_V_BYTES, text.len > 0 ? bytes : MR_STR(""));
        return true;
    case MR_T_DATE:
    case MR_T_TIME:
    case MR_T_DURATION:
    case MR_T_TIMESTAMP:
    case MR_T_TIMESTAMPTZ:
        return temporal_of_text(text, (enum mr_type_kind)type.kind, out);
    case MR_T_UUID: {
        unsigned char *uuid = mr_arena_alloc(ar, 16);
        *out = mr_value_bytes(MR_V_UUID, mr_str_of((const char *)uuid, 16));
        return mr_uuid_parse(text, uuid);
    }
    case MR_T_BITS:
        return bits_of_text(text, out);
    case MR_T_NONE:
    case MR_T_TEXT:
    case MR_T_JSON:
    case MR_T_ARRAY:
        break;
    }
    return false;
}

static bool read_int(int64_t i, struct mr_type type, struct mr_value *out)
{
    switch (type.kind) {
    case MR_T_BOOL:
        *out = mr_value_bool(i == 1);
        return i == 0 || i == 1;
    case MR_T_DATE: /* Debezium without schema: days */
        *out = mr_value_time(MR_V_DATE, i);
        return i >= INT32_MIN && i <= INT32_MAX;
    default:
        return false;
    }
}

/* Elements are read as the configured element's type, each as if it stood alone. */
static enum mr_status convert_array(struct mr_value v, struct mr_type type, struct mr_arena *ar, struct mr_value *out,
                                    struct mr_error *err)
{
    const struct mr_array *from = mr_value_array(v);
    struct mr_value *items = mr_arena_alloc(ar, (from->count + 1) * sizeof *items);
    struct mr_array *array = mr_arena_alloc(ar, sizeof *array);

    if (from->is_mixed)
        return mr_fail_data(err, MR_CODE_MIXED_ARRAY, "the elements of the array have no type in common");
    for (uint32_t i = 0; i < from->count; i++)
        MR_TRY(mr_configured_convert(from->items[i], mr_type_element(type), ar, &items[i], err));
    *array = *from;
    array->items = items;
    array->type = type;
    *out = mr_value_of_array(array, v.flags);
    return MR_OK;
}

enum mr_status mr_configured_convert(struct mr_value v, struct mr_type type, struct mr_arena *ar,
                                     struct mr_value *out, struct mr_error *err)
{
    struct mr_value read;
    if (type.kind == MR_T_ARRAY && v.tag == MR_V_ARRAY)
        return convert_array(v, type, ar, out, err);
    if (type.kind == MR_T_ARRAY && v.tag == MR_V_JSON && mr_array_of_json(v, type, ar, &read))
        return convert_array(read, type, ar, out, err);
    enum mr_status status = mr_value_coerce(v, type, ar, out, err);

    if (status == MR_OK)
        return MR_OK;
    if (!(v.tag == MR_V_TEXT && read_text(v, type, ar, &read)) && !(v.tag == MR_V_INT && read_int(v.i, type, &read)))
        return status;
    MR_TRY(mr_value_coerce(read, type, ar, out, err));
    if (!mr_type_accepts(type, *out))
        return mr_fail_data(err, MR_CODE_OUT_OF_RANGE, "the value is beyond the column's type");
    return MR_OK;
}
