/* One value as its declared column. See columns.h. Nothing is rounded, cut or guessed: what does not fit is an error that names the column, what
 * it should be and what it is. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <millrace/base/decimal.h>
#include <millrace/base/encode.h>
#include <millrace/base/time.h>
#include <millrace/base/utf8.h>

#include "columns.h"

struct put {
    const struct mr_column *col;
    struct mr_value v;
    enum mr_column_mode mode;
    struct mr_arena *ar;
    struct mr_json_build *out;
    struct mr_error *err;
};

static enum mr_status refuse(const struct put *p, const char *code_z)
{
    struct mr_buf found = MR_BUF_INIT(1u << 20);
    if (p->v.tag != MR_V_INVALID)
        mr_value_append_text(p->v, &found);
    enum mr_status status = mr_fail_data(
        p->err, code_z, "column \"%.*s\": %s %.*s%s: \"%.*s\"", MR_STR_FMT(p->col->name),
        strcmp(code_z, MR_CODE_OUT_OF_RANGE) == 0 ? "beyond" : "expected", MR_STR_FMT(p->col->type_text),
        p->v.tag == MR_V_INVALID ? ", the value cannot be read" : ", found",
        (int)(found.len < 60 ? found.len : 60), found.len ? found.data : "");
    mr_error_field(p->err, p->col->name.ptr, p->col->name.len);
    mr_buf_free(&found);
    return status;
}

static enum mr_status bad(const struct put *p)
{
    return refuse(p, MR_CODE_BAD_VALUE);
}

static enum mr_status beyond(const struct put *p)
{
    return refuse(p, MR_CODE_OUT_OF_RANGE);
}

static bool may_be_text(const struct put *p)
{
    return p->v.tag == MR_V_TEXT && p->mode != MR_COLUMN_TYPED;
}

/* A whole number: *fits false where it is one beyond 64 bits. */
static bool whole(const struct put *p, int64_t *out, bool *fits)
{
    struct mr_str s = mr_value_str(p->v);
    struct mr_decimal_info info;
    *fits = true;
    if (p->v.tag == MR_V_INT) {
        *out = p->v.i;
        return true;
    }
    if (p->v.tag == MR_V_NUMBER || may_be_text(p)) {
        if (!mr_decimal_parse(s, &info) || info.frac_significant != 0)
            return false;
        if (p->v.tag == MR_V_TEXT) { /* a sign and digits, nothing else */
            for (size_t i = s.ptr[0] == '-' || s.ptr[0] == '+'; i < s.len; i++)
                if (s.ptr[i] < '0' || s.ptr[i] > '9')
                    return false;
        }
        *fits = mr_decimal_to_int64(s, out);
        return true;
    }
    return false;
}

static enum mr_status put_int(const struct put *p, int64_t least, int64_t most)
{
    int64_t v;
    bool fits;
    if (!whole(p, &v, &fits))
        return bad(p);
    if (!fits || v < least || v > most)
        return beyond(p);
    mr_json_build_int(p->out, v);
    return MR_OK;
}

/* NaN and the infinities in any case. */
static bool special(struct mr_str s, double *out)
{
    if (s.len != 0 && s.ptr[0] == '+')
        s = mr_str_of(s.ptr + 1, s.len - 1);
    if (mr_str_eq_nocase(s, MR_STR("NaN")))
        *out = NAN;
    else if (mr_str_eq_nocase(s, MR_STR("Infinity")))
        *out = INFINITY;
    else if (mr_str_eq_nocase(s, MR_STR("-Infinity")))
        *out = -INFINITY;
    else
        return false;
    return true;
}

static enum mr_status put_float(const struct put *p)
{
    double d;
    struct mr_decimal_info info;
    struct mr_str s = mr_value_str(p->v);
    if (p->v.tag == MR_V_FLOAT) {
        d = p->v.f;
    } else if (p->v.tag == MR_V_INT) {
        d = (double)p->v.i;
    } else if (p->v.tag == MR_V_NUMBER || may_be_text(p)) {
        if (!special(s, &d) && !mr_parse_double(s, &d))
            return mr_decimal_parse(s, &info) ? beyond(p) : bad(p);
    } else {
        return bad(p);
    }
    if (p->col->kind == MR_SQL_DOUBLE) {
        mr_json_build_double(p->out, d);
        return MR_OK;
    }
    if (isfinite(d) && fabs(d) > 3.4028235677973366e38)
        return beyond(p);
    mr_json_build_float(p->out, (float)d);
    return MR_OK;
}

static enum mr_status put_decimal(const struct put *p)
{
    struct mr_decimal_info info;
    struct mr_str s = mr_value_str(p->v);
    if (p->v.tag == MR_V_INT)
        s = mr_arena_printf(p->ar, "%lld", (long long)p->v.i);
    else if (p->v.tag != MR_V_NUMBER && !may_be_text(p))
        return bad(p);
    if (!mr_decimal_parse(s, &info))
        return bad(p);
    if (info.frac_significant > (uint32_t)p->col->scale ||
        info.int_digits > (uint32_t)(p->col->precision - p->col->scale))
        return beyond(p);
    struct mr_str plain = mr_decimal_canonical(s, p->ar);
    ptrdiff_t dot = mr_str_find(plain, '.');
    int have = dot < 0 ? 0 : (int)(plain.len - (size_t)dot - 1);
    if (have < p->col->scale)
        plain = mr_arena_printf(p->ar, "%.*s%s%0*d", MR_STR_FMT(plain), dot < 0 ? "." : "",
                                p->col->scale - have, 0);
    mr_json_build_string(p->out, plain, 0);
    return MR_OK;
}

static enum mr_status put_boolean(const struct put *p)
{
    struct mr_str s = mr_value_str(p->v);
    bool is_true = p->v.tag == MR_V_BOOL && p->v.i != 0;
    if (p->mode == MR_COLUMN_CSV && p->v.tag == MR_V_TEXT) {
        is_true = mr_str_eq_nocase(s, MR_STR("true"));
        if (!is_true && !mr_str_eq_nocase(s, MR_STR("false")))
            return bad(p);
    } else if (p->v.tag != MR_V_BOOL) {
        return bad(p);
    }
    mr_json_build_bool(p->out, is_true);
    return MR_OK;
}

static enum mr_status put_text(const struct put *p)
{
    if (p->v.tag == MR_V_TEXT) {
        mr_json_build_string(p->out, mr_value_str(p->v), p->v.flags);
        return MR_OK;
    }
    if (p->v.tag == MR_V_BYTES)
        return bad(p);
    struct mr_buf text = MR_BUF_INIT(p->out->text.max);
    mr_value_append_text(p->v, &text);
    enum mr_status status = mr_buf_check(&text, "the column's text", p->err);
    if (status == MR_OK)
        mr_json_build_string(p->out, mr_buf_str(&text), mr_utf8_check(mr_buf_str(&text)));
    mr_buf_free(&text);
    return status;
}

static enum mr_status put_bytes(const struct put *p)
{
    struct mr_str raw = mr_value_str(p->v);
    if (p->v.tag != MR_V_BYTES && (!may_be_text(p) || !mr_base64_decode(raw, p->ar, &raw)))
        return bad(p);
    mr_json_build_base64(p->out, raw);
    return MR_OK;
}

static enum mr_status put_date(const struct put *p)
{
    int64_t days;
    bool fits;
    if (p->v.tag == MR_V_DATE)
        days = p->v.i;
    else if (may_be_text(p) && mr_parse_date(mr_value_str(p->v), &days))
        ;
    else if (p->mode == MR_COLUMN_TYPED || !whole(p, &days, &fits))
        return bad(p);
    else if (!fits || days > INT32_MAX - 1 || days < INT32_MIN + 1)
        return beyond(p);
    mr_json_build_int(p->out, days);
    return MR_OK;
}

static enum mr_status put_time(const struct put *p)
{
    int64_t v;
    bool fits;
    if (p->v.tag == MR_V_TIME || p->v.tag == MR_V_DURATION) {
        v = p->v.i;
    } else if (may_be_text(p) && mr_str_find(mr_value_str(p->v), ':') >= 0) {
        if (!mr_parse_time(mr_value_str(p->v), &v))
            return bad(p);
    } else if (p->mode == MR_COLUMN_TYPED || !whole(p, &v, &fits)) {
        return bad(p);
    } else if (!fits || v < 0 || v > 86400000) {
        return beyond(p);
    } else {
        v *= 1000;
    }
    if (v < 0 || v > MR_US_PER_DAY)
        return beyond(p);
    mr_json_build_int(p->out, v);
    return MR_OK;
}

static enum mr_status put_timestamp(const struct put *p)
{
    int64_t us;
    bool fits, has_zone;
    if (p->v.tag == MR_V_TIMESTAMPTZ || p->v.tag == MR_V_TIMESTAMP) {
        us = p->v.i;
    } else if (may_be_text(p) && mr_parse_timestamptz(mr_value_str(p->v), &us, &has_zone)) {
        ;
    } else {
        if (!whole(p, &us, &fits))
            return bad(p);
        if (!fits || __builtin_mul_overflow(us, INT64_C(1000), &us))
            return beyond(p);
    }
    mr_json_build_int(p->out, us);
    return MR_OK;
}

static enum mr_status put_uuid(const struct put *p)
{
    unsigned char id[16];
    char text[37];
    struct mr_str s = mr_value_str(p->v);
    if (p->v.tag == MR_V_UUID)
        memcpy(id, p->v.ptr, sizeof(id));
    else if (p->v.tag != MR_V_TEXT || s.len != 36 || !mr_uuid_parse(s, id))
        return bad(p);
    mr_uuid_format(id, text);
    mr_json_build_string(p->out, mr_str_of(text, 36), 0);
    return MR_OK;
}

enum mr_status mr_column_put(const struct mr_column *col, struct mr_value v, enum mr_column_mode mode,
                             struct mr_arena *ar, struct mr_json_build *out, struct mr_error *err)
{
    struct put p = {col, v, mode, ar, out, err};
    if (v.tag == MR_V_NULL || v.tag == MR_V_ABSENT || v.tag == MR_V_UNAVAILABLE) {
        mr_json_build_null(out);
        return MR_OK;
    }
    if (v.tag == MR_V_INVALID)
        return v.aux == MR_INVALID_RANGE ? beyond(&p) : bad(&p);
    switch (col->kind) {
    case MR_SQL_BOOLEAN:
        return put_boolean(&p);
    case MR_SQL_SMALLINT:
        return put_int(&p, INT16_MIN, INT16_MAX);
    case MR_SQL_INT:
        return put_int(&p, INT32_MIN, INT32_MAX);
    case MR_SQL_BIGINT:
        return put_int(&p, INT64_MIN, INT64_MAX);
    case MR_SQL_REAL:
    case MR_SQL_DOUBLE:
        return put_float(&p);
    case MR_SQL_STRING:
        return put_text(&p);
    case MR_SQL_BYTES:
        return put_bytes(&p);
    case MR_SQL_DECIMAL:
        return put_decimal(&p);
    case MR_SQL_DATE:
        return put_date(&p);
    case MR_SQL_TIME:
        return put_time(&p);
    case MR_SQL_TIMESTAMP:
        return put_timestamp(&p);
    case MR_SQL_UUID:
        return put_uuid(&p);
    case MR_SQL_DOCUMENT:
    case MR_SQL_MAP:
        break;
    }
    return v.tag == MR_V_JSON ? put_text(&p) : bad(&p);
}
