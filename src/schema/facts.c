/* What single values need: their facts, and whether they fit a type as they are. The fit is judged by value, not by the value's own
 * type: 5.0 fits an integer column, 7 fits decimal(5,2). */
#include "facts.h"

#include <float.h>
#include <math.h>

#include <millrace/base/decimal.h>
#include <millrace/base/time.h>

#define EXACT_IN_DOUBLE (UINT64_C(1) << 53)
#define EXACT_IN_FLOAT (UINT64_C(1) << 24)
#define TWO_63 9223372036854775808.0
#define TWO_64 18446744073709551616.0

static uint64_t magnitude(int64_t i)
{
    return i < 0 ? UINT64_C(0) - (uint64_t)i : (uint64_t)i;
}

static uint32_t digits_of(uint64_t n)
{
    uint32_t digits = 1;
    while (n >= 10) {
        n /= 10;
        digits++;
    }
    return digits;
}

static void whole_facts(uint64_t abs, struct mr_facts *facts)
{
    facts->max_abs = abs;
    facts->int_digits = abs ? digits_of(abs) : 0; /* as with texts: the digit of 0 is not significant */
}

static void number_facts(struct mr_str text, struct mr_facts *facts)
{
    struct mr_decimal_info info;
    int64_t i;

    if (!mr_decimal_parse(text, &info)) { /* NaN, Infinity, -Infinity */
        facts->has_special = true;
        return;
    }
    facts->int_digits = info.int_digits;
    facts->frac_digits = info.frac_digits;
    facts->has_inexact = info.digits > DBL_DIG && !mr_decimal_is_double(text);
    if (info.frac_significant > 0) {
        facts->has_fraction = true;
        return;
    }
    if (mr_decimal_to_int64(text, &i)) {
        facts->max_abs = magnitude(i);
        return;
    }
    if (text.len > 0 && (text.ptr[0] == '-' || text.ptr[0] == '+'))
        text = mr_str_of(text.ptr + 1, text.len - 1);
    if (info.has_point || !mr_parse_uint64(text, &facts->max_abs))
        facts->max_abs = UINT64_MAX;
}

static void float_facts(double f, struct mr_facts *facts)
{
    double abs = fabs(f);

    if (!isfinite(f)) {
        facts->has_special = true;
    } else if (abs != floor(abs)) {
        facts->has_fraction = true;
    } else if (abs < TWO_64) {
        whole_facts((uint64_t)abs, facts);
    } else {
        facts->max_abs = UINT64_MAX;
        facts->int_digits = (uint32_t)floor(log10(abs)) + 1;
    }
}

static bool is_time_of_day(int64_t us)
{
    return us >= 0 && us <= MR_US_PER_DAY;
}

struct mr_facts mr_facts_of(struct mr_value v)
{
    struct mr_facts facts = {0};

    switch ((enum mr_tag)v.tag) {
    case MR_V_INT:
        whole_facts(magnitude(v.i), &facts);
        facts.has_inexact = facts.max_abs > EXACT_IN_DOUBLE;
        break;
    case MR_V_NUMBER:
        number_facts(mr_value_str(v), &facts);
        break;
    case MR_V_FLOAT:
        float_facts(v.f, &facts);
        break;
    case MR_V_TEXT:
    case MR_V_BYTES:
    case MR_V_JSON:
        facts.max_len = v.len;
        break;
    case MR_V_ARRAY: /* those of all elements, and its own length */
        for (uint32_t i = 0; i < mr_value_array(v)->count; i++) {
            struct mr_facts one = mr_facts_of(mr_value_array(v)->items[i]);
            mr_facts_add(&facts, &one);
        }
        facts.max_len = v.len;
        break;
    case MR_V_TIME:
    case MR_V_DURATION:
        facts.has_negative_time = !is_time_of_day(v.i);
        break;
    case MR_V_ABSENT:
    case MR_V_UNAVAILABLE:
    case MR_V_NULL:
    case MR_V_BOOL:
    case MR_V_DATE:
    case MR_V_TIMESTAMP:
    case MR_V_TIMESTAMPTZ:
    case MR_V_UUID:
    case MR_V_BITS:
    case MR_V_PATCH:
    case MR_V_INVALID:
        break;
    }
    return facts;
}

void mr_facts_add(struct mr_facts *into, const struct mr_facts *more)
{
    if (more->int_digits > into->int_digits)
        into->int_digits = more->int_digits;
    if (more->frac_digits > into->frac_digits)
        into->frac_digits = more->frac_digits;
    if (more->max_abs > into->max_abs)
        into->max_abs = more->max_abs;
    if (more->max_len > into->max_len)
        into->max_len = more->max_len;
    into->has_special |= more->has_special;
    into->has_fraction |= more->has_fraction;
    into->has_negative_time |= more->has_negative_time;
    into->has_inexact |= more->has_inexact;
}

static bool int_fits(int64_t i, int64_t low, int64_t high)
{
    return i >= low && i <= high;
}

static bool integer_accepts(struct mr_value v, int64_t low, int64_t high)
{
    int64_t i;

    switch (v.tag) {
    case MR_V_INT:
        return int_fits(v.i, low, high);
    case MR_V_NUMBER:
        return mr_decimal_to_int64(mr_value_str(v), &i) && int_fits(i, low, high);
    case MR_V_FLOAT:
        return v.f >= -TWO_63 && v.f < TWO_63 && v.f == floor(v.f) && int_fits((int64_t)v.f, low, high);
    default:
        return false;
    }
}

/* A number's text within the digits of decimal(p,s), by value: zeros at the end of the fraction need no place. */
static bool digits_fit(struct mr_type have, struct mr_str text)
{
    struct mr_decimal_info info;
    int32_t scale = have.scale > 0 ? have.scale : 0;
    int32_t whole = (int32_t)have.precision - have.scale;

    if (!mr_decimal_parse(text, &info))
        return false;
    return info.frac_significant <= (uint32_t)scale &&
           (info.is_zero || (whole >= 0 ? info.int_digits <= (uint32_t)whole : false));
}

static bool decimal_accepts(struct mr_type have, struct mr_value v)
{
    char text[32];

    switch (v.tag) {
    case MR_V_INT:
        return have.open || v.i == 0 ||
               (int32_t)digits_of(magnitude(v.i)) <= (int32_t)have.precision - have.scale;
    case MR_V_NUMBER:
        return have.open || digits_fit(have, mr_value_str(v));
    case MR_V_FLOAT:
        return have.open || digits_fit(have, mr_str_of(text, mr_double_text(v.f, text)));
    default:
        return false;
    }
}

bool mr_float32_holds(double f)
{
    char text[32];
    double shown;

    if (!isfinite(f) || (double)(float)f == f)
        return true;
    if (fabs(f) > (double)FLT_MAX)
        return false;
    return mr_parse_double(mr_str_of(text, mr_float_text((float)f, text)), &shown) && shown == f;
}

static bool float_accepts(struct mr_type have, struct mr_value v)
{
    uint64_t exact = have.kind == MR_T_FLOAT32 ? EXACT_IN_FLOAT : EXACT_IN_DOUBLE;
    int64_t i;

    switch (v.tag) {
    case MR_V_INT:
        return magnitude(v.i) <= exact;
    case MR_V_NUMBER:
        return mr_decimal_to_int64(mr_value_str(v), &i) && magnitude(i) <= exact;
    case MR_V_FLOAT:
        return have.kind == MR_T_FLOAT64 || mr_float32_holds(v.f);
    default:
        return false;
    }
}

/* Without elements, or with nulls alone: an array of anything, and JSON too. */
static bool is_bare_array(const struct mr_array *array)
{
    return !array->is_mixed && array->type.element == MR_T_NONE;
}

static bool array_accepts(struct mr_type have, const struct mr_array *array)
{
    struct mr_type element = mr_type_element(have);

    if (array->is_mixed)
        return false;
    if (is_bare_array(array))
        return true;
    if (element.kind == MR_T_NONE)
        return false;
    for (uint32_t i = 0; i < array->count; i++)
        if (!mr_type_accepts(element, array->items[i]))
            return false;
    return true;
}

bool mr_type_accepts(struct mr_type have, struct mr_value v)
{
    if (v.tag <= MR_V_NULL)
        return true;

    switch ((enum mr_type_kind)have.kind) {
    case MR_T_NONE:
        return false;
    case MR_T_BOOL:
        return v.tag == MR_V_BOOL;
    case MR_T_INT16:
        return integer_accepts(v, INT16_MIN, INT16_MAX);
    case MR_T_INT32:
        return integer_accepts(v, INT32_MIN, INT32_MAX);
    case MR_T_INT64:
        return integer_accepts(v, INT64_MIN, INT64_MAX);
    case MR_T_DECIMAL:
        return decimal_accepts(have, v);
    case MR_T_FLOAT32:
    case MR_T_FLOAT64:
        return float_accepts(have, v);
    case MR_T_TEXT:
        return v.tag == MR_V_TEXT;
    case MR_T_BYTES:
        return v.tag == MR_V_BYTES;
    case MR_T_DATE:
        return v.tag == MR_V_DATE;
    case MR_T_TIME:
        return (v.tag == MR_V_TIME || v.tag == MR_V_DURATION) && is_time_of_day(v.i);
    case MR_T_DURATION:
        return v.tag == MR_V_TIME || v.tag == MR_V_DURATION;
    case MR_T_TIMESTAMP:
        return v.tag == MR_V_TIMESTAMP;
    case MR_T_TIMESTAMPTZ:
        return v.tag == MR_V_TIMESTAMPTZ;
    case MR_T_UUID:
        return v.tag == MR_V_UUID;
    case MR_T_BITS:
        return v.tag == MR_V_BITS && (have.precision == 0 || v.len == have.precision);
    case MR_T_JSON: /* a whole array is JSON as it stands; one of mixed elements is for the policy to judge */
        return v.tag == MR_V_JSON || (v.tag == MR_V_ARRAY && !mr_value_array(v)->is_mixed);
    case MR_T_ARRAY:
        return v.tag == MR_V_ARRAY && array_accepts(have, mr_value_array(v));
    }
    return false;
}
