/* Which values a column of MySQL or MariaDB can hold at all. What only the server can know (its own limit, a constraint) is left to it: its
 * answer is classified as data then. */
#include <float.h>
#include <math.h>

#include <millrace/base/decimal.h>
#include <millrace/base/time.h>
#include <millrace/base/utf8.h>

#include "native.h"

#include "my.h"

#define FIRST_DAY (-INT64_C(719162)) /* 0001-01-01 */
#define LAST_DAY INT64_C(2932896)    /* 9999-12-31 */
#define MAX_VALUE ((size_t)0x3fff0000) /* bytes: a packet of the protocol's largest size must hold the row */

bool mr_my_is_double(struct mr_str digits)
{
    struct mr_decimal_info info;
    return mr_decimal_is_double(digits) ||
           (mr_decimal_parse(digits, &info) && info.digits <= DBL_DIG && mr_decimal_shows_double(digits));
}

static enum mr_status out_of_range(struct mr_type type, const char *why, struct mr_error *err)
{
    char text[32];
    return mr_fail_data(err, MR_CODE_OUT_OF_RANGE, "MySQL cannot hold this value in a column of type %s: %s",
                        mr_type_text(type, text), why);
}

/* U+0000 is held as it is. */
static enum mr_status text_holds(struct mr_value v, const char *what, struct mr_error *err)
{
    if (v.flags & MR_TEXT_HAS_SURROGATE)
        return mr_fail_data(err, MR_CODE_TEXT_INVALID, "MySQL cannot hold a lone surrogate in %s", what);
    if (v.flags & MR_TEXT_ILL_FORMED)
        return mr_fail_data(err, MR_CODE_TEXT_INVALID, "MySQL cannot hold bytes that are no UTF-8 in %s", what);
    return MR_OK;
}

static enum mr_status number_holds(struct mr_type type, struct mr_value v, struct mr_error *err)
{
    struct mr_type made = mr_my_decimal(type);
    struct mr_decimal_info info;

    if (type.kind != MR_T_DECIMAL)
        return MR_OK;
    if (!mr_decimal_parse(mr_value_str(v), &info))
        return out_of_range(type, "it is no number, or its exponent is too large", err);
    if (mr_my_may_be_double(type) && mr_my_is_double(mr_value_str(v)))
        return MR_OK; /* the column may be a double; if it is not, the row finds out */
    if (info.int_digits > (uint32_t)(made.precision - made.scale) || info.frac_significant > (uint32_t)made.scale)
        return out_of_range(type, "a DECIMAL has at most 65 digits, 30 of them after the point", err);
    return MR_OK;
}

static enum mr_status key_holds(struct mr_type type, struct mr_value v, struct mr_error *err)
{
    bool is_bytes = type.kind == MR_T_BYTES;
    size_t length = is_bytes || v.len <= MR_MY_MAX_KEY_CHARS ? v.len : mr_utf8_count(mr_value_str(v));

    if (!mr_my_is_bounded_key(type) || length <= (is_bytes ? MR_MY_MAX_KEY_BYTES : MR_MY_MAX_KEY_CHARS))
        return MR_OK;
    return out_of_range(type, is_bytes ? "longer than 3072 bytes, the limit of an index key" :
                                         "longer than 768 characters, the limit of an index key", err);
}

static enum mr_status moment_holds(struct mr_type type, int64_t us, struct mr_error *err)
{
    bool fits = us >= FIRST_DAY * MR_US_PER_DAY && us < (LAST_DAY + 1) * MR_US_PER_DAY;
    return fits ? MR_OK : out_of_range(type, "not within the years 1 to 9999", err);
}

enum mr_status mr_my_holds(struct mr_type type, bool is_key, struct mr_value v, struct mr_error *err)
{
    switch ((enum mr_tag)v.tag) {
    case MR_V_ABSENT:
    case MR_V_UNAVAILABLE:
    case MR_V_NULL:
    case MR_V_BOOL:
    case MR_V_INT:
    case MR_V_UUID:
        return MR_OK;
    case MR_V_FLOAT:
        return isfinite(v.f) ? MR_OK : out_of_range(type, "it has no NaN and no infinities", err);
    case MR_V_NUMBER:
        return number_holds(type, v, err);
    case MR_V_TEXT:
        MR_TRY(text_holds(v, "text", err));
        break;
    case MR_V_JSON:
    case MR_V_ARRAY: /* the tracker makes JSON of it */
        MR_TRY(text_holds(v, "a string of a JSON document", err));
        break;
    case MR_V_BYTES:
        break;
    case MR_V_BITS:
        if (type.precision && v.len != type.precision)
            return out_of_range(type, "another number of bits", err);
        break;
    case MR_V_DATE:
        return v.i >= FIRST_DAY && v.i <= LAST_DAY ? MR_OK : out_of_range(type, "not within the years 1 to 9999", err);
    case MR_V_TIME:
        return v.i >= 0 && v.i <= MR_US_PER_DAY ? MR_OK : out_of_range(type, "not between 00:00 and 24:00", err);
    case MR_V_DURATION:
        return v.i >= -MR_MY_MAX_DURATION && v.i <= MR_MY_MAX_DURATION ? MR_OK :
                                                                        out_of_range(type, "beyond 838:59:59.999999", err);
    case MR_V_TIMESTAMP:
    case MR_V_TIMESTAMPTZ:
        return moment_holds(type, v.i, err);
    case MR_V_PATCH:
    case MR_V_INVALID:
        return mr_fail_data(err, MR_CODE_BAD_VALUE, "%.*s", MR_STR_FMT(mr_value_str(v)));
    }
    if (v.len > MAX_VALUE)
        return out_of_range(type, "longer than 1 GiB", err);
    return is_key ? key_holds(type, v, err) : MR_OK;
}
