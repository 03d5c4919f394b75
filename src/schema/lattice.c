/* The join of two types. The numbers form the interesting part: integers by width, decimals by their digits on both sides of the
 * point, floats apart from both, meeting them where nothing is lost. Everything else joins with itself, with TIME ∪ DURATION and
 * bits of two lengths as the exceptions; arrays join by their elements. What single values need stands in facts.c. */
#include <millrace/schema/lattice.h>

#define EXACT_IN_DOUBLE (UINT64_C(1) << 53)

/* Digits before the point that any value of a number type may bring. */
static uint32_t int_digits(struct mr_type type)
{
    switch (type.kind) {
    case MR_T_INT16:
        return 5;
    case MR_T_INT32:
        return 10;
    case MR_T_INT64:
        return 19;
    default:
        return type.precision > type.scale ? (uint32_t)((int32_t)type.precision - type.scale) : 0;
    }
}

static uint32_t frac_digits(struct mr_type type)
{
    return type.kind == MR_T_DECIMAL && type.scale > 0 ? (uint32_t)type.scale : 0;
}

/* decimal(int + frac, frac); digits open where that is beyond what a type can say. */
static struct mr_type decimal_of(uint32_t whole, uint32_t frac)
{
    if (whole + frac == 0)
        whole = 1;
    if (frac > INT16_MAX || whole + frac > UINT16_MAX)
        return MR_TYPE_DECIMAL_OPEN;
    return MR_TYPE_DECIMAL((uint16_t)(whole + frac), (int16_t)frac);
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static bool is_float(struct mr_type type)
{
    return type.kind == MR_T_FLOAT32 || type.kind == MR_T_FLOAT64;
}

/* A float type with an integer or a decimal. A column that has held NaN or an infinity cannot leave the floats, so what a double
 * cannot hold is then a conflict. */
static bool join_float(struct mr_type flt, struct mr_type other, const struct mr_facts *facts,
                       struct mr_type *out)
{
    switch (other.kind) {
    case MR_T_INT16:
        *out = flt;
        return true;
    case MR_T_INT32:
        *out = MR_TYPE(MR_T_FLOAT64);
        return true;
    case MR_T_INT64:
        if (facts->max_abs <= EXACT_IN_DOUBLE) {
            *out = MR_TYPE(MR_T_FLOAT64);
            return true;
        }
        break;
    default:
        break;
    }
    if (facts->has_special)
        return false;
    *out = MR_TYPE_DECIMAL_OPEN;
    return true;
}

static bool join_numbers(struct mr_type a, struct mr_type b, const struct mr_facts *facts,
                         struct mr_type *out)
{
    if (is_float(a) && is_float(b)) {
        *out = MR_TYPE(MR_T_FLOAT64); /* equal types do not come here */
        return true;
    }
    if (is_float(a))
        return join_float(a, b, facts, out);
    if (is_float(b))
        return join_float(b, a, facts, out);
    if (mr_type_is_integer(a) && mr_type_is_integer(b))
        *out = MR_TYPE(a.kind > b.kind ? a.kind : b.kind); /* the kinds are in order of width */
    else if (a.open || b.open)
        *out = MR_TYPE_DECIMAL_OPEN;
    else
        *out = decimal_of(larger(int_digits(a), int_digits(b)), larger(frac_digits(a), frac_digits(b)));
    return true;
}

static bool is_clock(struct mr_type type)
{
    return type.kind == MR_T_TIME || type.kind == MR_T_DURATION;
}

static bool is_bare(struct mr_type type)
{
    return type.kind == MR_T_ARRAY && type.element == MR_T_NONE;
}

/* Arrays join by their elements. One that has held nothing yet is JSON as well. */
static bool join_arrays(struct mr_type a, struct mr_type b, const struct mr_facts *facts, struct mr_type *out)
{
    struct mr_type element;

    if (a.kind == b.kind) {
        if (!mr_type_join(mr_type_element(a), mr_type_element(b), facts, &element))
            return false;
        *out = mr_type_array_of(element);
        return true;
    }
    *out = MR_TYPE(MR_T_JSON);
    return (is_bare(a) && b.kind == MR_T_JSON) || (is_bare(b) && a.kind == MR_T_JSON);
}

bool mr_type_join(struct mr_type a, struct mr_type b, const struct mr_facts *facts, struct mr_type *out)
{
    static const struct mr_facts nothing;
    struct mr_type joined;

    if (!facts)
        facts = &nothing;
    if (a.kind == MR_T_NONE || b.kind == MR_T_NONE) {
        joined = a.kind == MR_T_NONE ? b : a;
        a.not_null = b.not_null = joined.not_null;
    } else if (mr_type_eq(a, b)) {
        joined = a;
    } else if (mr_type_is_numeric(a) && mr_type_is_numeric(b)) {
        if (!join_numbers(a, b, facts, &joined))
            return false;
    } else if (is_clock(a) && is_clock(b)) {
        joined = MR_TYPE(MR_T_DURATION);
    } else if (a.kind == MR_T_ARRAY || b.kind == MR_T_ARRAY) {
        if (!join_arrays(a, b, facts, &joined))
            return false;
    } else if (a.kind == MR_T_BITS && b.kind == MR_T_BITS) {
        joined = MR_TYPE_BITS(0);
    } else {
        return false;
    }
    joined.origin = a.origin > b.origin ? a.origin : b.origin;
    joined.not_null = a.not_null && b.not_null;
    *out = joined;
    return true;
}
