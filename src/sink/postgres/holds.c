/* Which values a PostgreSQL column can hold at all. What only the server can know (a limit of its own version, a
 * constraint) is left to it: its answer is classified as data then. */
#include "pg.h"

#include <millrace/base/decimal.h>
#include <millrace/base/time.h>
#include <millrace/base/utf8.h>

#define EPOCH_DAYS 10957                              /* 2000-01-01, PostgreSQL's day 0, since 1970-01-01 */
#define MIN_DAY (-INT64_C(2451545) + EPOCH_DAYS)      /* 4713-11-24 BC: Julian day 0 */
#define MAX_DAY (INT64_C(2147483493) - 2451545 + EPOCH_DAYS) /* 5874897-12-31 */
#define EPOCH_US (EPOCH_DAYS * MR_US_PER_DAY)
#define MIN_US (-INT64_C(211813488000000000) + EPOCH_US) /* 4713-11-24 BC 00:00 */

/* A tuple of a btree must fit a third of a page: 2,704 bytes with the tuple's and the value's own headers. */
#define MAX_KEY_BYTES 2692

bool mr_pg_date_fits(int64_t days)
{
    return days == MR_TIME_INFINITY || days == MR_TIME_NEG_INFINITY || (days >= MIN_DAY && days <= MAX_DAY);
}

/* Above there is no test: all of int64 since 1970 lies before PostgreSQL's end in the year 294276. */
bool mr_pg_timestamp_fits(int64_t us)
{
    return us == MR_TIME_NEG_INFINITY || us >= MIN_US;
}

static enum mr_status out_of_range(struct mr_type type, const char *why, struct mr_error *err)
{
    char text[32];
    return mr_fail_data(err, MR_CODE_OUT_OF_RANGE, "PostgreSQL cannot hold this value in a column of type %s: %s",
                        mr_type_text(type, text), why);
}

static enum mr_status text_holds(struct mr_value v, const char *what, struct mr_error *err)
{
    if (v.flags & MR_TEXT_HAS_NUL)
        return mr_fail_data(err, MR_CODE_TEXT_INVALID, "PostgreSQL cannot hold the character U+0000 in %s", what);
    if (v.flags & MR_TEXT_HAS_SURROGATE)
        return mr_fail_data(err, MR_CODE_TEXT_INVALID, "PostgreSQL cannot hold a lone surrogate in %s", what);
    if (v.flags & MR_TEXT_ILL_FORMED)
        return mr_fail_data(err, MR_CODE_TEXT_INVALID, "PostgreSQL cannot hold bytes that are no UTF-8 in %s", what);
    return MR_OK;
}

static enum mr_status number_holds(struct mr_type type, struct mr_value v, struct mr_error *err)
{
    struct mr_str text = mr_value_str(v);
    struct mr_decimal_info info;

    if (mr_str_eq_z(text, "NaN"))
        return MR_OK;
    if (mr_str_eq_z(text, "Infinity") || mr_str_eq_z(text, "-Infinity"))
        return type.open ? MR_OK : out_of_range(type, "an infinity has no place beside a precision", err);
    if (!mr_decimal_parse(text, &info))
        return out_of_range(type, "its exponent is too large", err);
    if (info.int_digits > 131072 || info.frac_digits > 16383)
        return out_of_range(type, "more than 131072 digits before or 16383 after the point", err);
    return MR_OK;
}

static bool is_infinite(struct mr_value v)
{
    return v.i == MR_TIME_INFINITY || v.i == MR_TIME_NEG_INFINITY;
}

/* Each element as if it stood alone. */
static enum mr_status array_holds(struct mr_type type, struct mr_value v, struct mr_error *err)
{
    const struct mr_array *array = mr_value_array(v);

    for (uint32_t i = 0; i < array->count; i++)
        MR_TRY(mr_pg_holds(mr_type_element(type), false, array->items[i], err));
    return MR_OK;
}

enum mr_status mr_pg_holds(struct mr_type type, bool is_key, struct mr_value v, struct mr_error *err)
{
    switch ((enum mr_tag)v.tag) {
    case MR_V_ABSENT:
    case MR_V_UNAVAILABLE:
    case MR_V_NULL:
    case MR_V_BOOL:
    case MR_V_INT:
    case MR_V_FLOAT:
    case MR_V_UUID:
        return MR_OK;
    case MR_V_NUMBER:
        MR_TRY(number_holds(type, v, err));
        break;
    case MR_V_TEXT:
        MR_TRY(text_holds(v, "text", err));
        break;
    case MR_V_JSON:
        MR_TRY(text_holds(v, "a string of a JSON document", err));
        break;
    case MR_V_ARRAY:
        MR_TRY(array_holds(type, v, err));
        break;
    case MR_V_BYTES:
        break;
    case MR_V_BITS:
        if (type.precision && v.len != type.precision)
            return out_of_range(type, "another number of bits", err);
        break;
    case MR_V_DATE:
        return mr_pg_date_fits(v.i) ? MR_OK : out_of_range(type, "beyond the years 4713 BC to 5874897", err);
    case MR_V_TIME:
        return v.i >= 0 && v.i <= MR_US_PER_DAY ? MR_OK : out_of_range(type, "not between 00:00 and 24:00", err);
    case MR_V_DURATION:
        return is_infinite(v) ? out_of_range(type, "infinite", err) : MR_OK;
    case MR_V_TIMESTAMP:
    case MR_V_TIMESTAMPTZ:
        return mr_pg_timestamp_fits(v.i) ? MR_OK : out_of_range(type, "before the year 4713 BC", err);
    case MR_V_PATCH:
    case MR_V_INVALID:
        return mr_fail_data(err, MR_CODE_BAD_VALUE, "%.*s", MR_STR_FMT(mr_value_str(v)));
    }
    if (v.len > MR_PG_MAX_VALUE)
        return out_of_range(type, "longer than 1 GiB", err);
    if (is_key && v.len > MAX_KEY_BYTES)
        return out_of_range(type, "longer than 2692 bytes, the limit of an index key", err);
    return MR_OK;
}
