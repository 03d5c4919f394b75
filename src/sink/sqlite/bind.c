/* From a cell to a bound parameter, as types.c says each column stores it. */
#include "internal.h"

#include <millrace/base/decimal.h>

static bool is_word(struct mr_str digits)
{
    return mr_str_eq_z(digits, "NaN") || mr_str_eq_z(digits, "Infinity") || mr_str_eq_z(digits, "-Infinity");
}

enum mr_sqlite_number mr_sqlite_number_form(struct mr_str digits, int64_t *i, double *f)
{
    if (is_word(digits))
        return MR_SQLITE_AS_TEXT;
    if (mr_decimal_to_int64(digits, i))
        return MR_SQLITE_AS_INT;
    return mr_decimal_is_double(digits) && mr_parse_double(digits, f) ? MR_SQLITE_AS_REAL : MR_SQLITE_AS_TEXT;
}

struct mr_str mr_sqlite_pad(struct mr_str digits, int scale, struct mr_arena *ar)
{
    struct mr_decimal_info info;
    if (is_word(digits) || !mr_decimal_parse(digits, &info))
        return digits;
    struct mr_str plain = mr_decimal_plain(digits, ar);
    ptrdiff_t point = mr_str_find(plain, '.');
    size_t have = point < 0 ? 0 : plain.len - (size_t)point - 1;
    if (scale <= 0 || have >= (size_t)scale)
        return plain;
    size_t zeros = (size_t)scale - have, len = plain.len + (point < 0) + zeros;
    char *out = mr_arena_alloc(ar, len);
    memcpy(out, plain.ptr, plain.len);
    if (point < 0)
        out[plain.len] = '.';
    memset(out + len - zeros, '0', zeros);
    return mr_str_of(out, len);
}

static bool is_plain_text(struct mr_str native)
{
    return mr_sqlite_affinity(native) == MR_AFFINITY_TEXT && mr_sqlite_type_of_column(native).kind == MR_T_TEXT;
}

enum mr_sqlite_store mr_sqlite_store_of(const struct mr_column *col)
{
    bool is_known = col->native.len > 0;
    if (is_known && col->type.kind != MR_T_TEXT && is_plain_text(col->native))
        return MR_SQLITE_STORE_TEXT;
    if (col->type.kind != MR_T_DECIMAL && col->type.kind != MR_T_JSON)
        return MR_SQLITE_STORE_PLAIN;

    enum mr_affinity affinity;
    if (is_known) {
        affinity = mr_sqlite_affinity(col->native);
    } else {
        struct mr_buf native = MR_BUF_INIT(256);
        mr_sqlite_column_type(col, &native);
        affinity = mr_sqlite_affinity(mr_buf_str(&native));
        mr_buf_free(&native);
    }
    bool is_json = col->type.kind == MR_T_JSON;
    switch (affinity) {
    case MR_AFFINITY_TEXT:
        return is_json ? MR_SQLITE_STORE_PLAIN : MR_SQLITE_STORE_DIGITS;
    case MR_AFFINITY_NONE:
        return is_json ? MR_SQLITE_STORE_PLAIN : MR_SQLITE_STORE_OPEN;
    case MR_AFFINITY_INTEGER:
    case MR_AFFINITY_REAL:
    case MR_AFFINITY_NUMERIC:
        break;
    }
    return MR_SQLITE_STORE_NUMERIC;
}

static int bind_str(sqlite3_stmt *stmt, int index, struct mr_str text)
{
    return sqlite3_bind_text64(stmt, index, text.len ? text.ptr : "", text.len, SQLITE_STATIC, SQLITE_UTF8);
}

static int bind_canonical(struct mr_sqlite *s, sqlite3_stmt *stmt, int index, struct mr_value v)
{
    mr_buf_clear(&s->text);
    mr_value_append_text(v, &s->text);
    return s->text.overflow ? SQLITE_TOOBIG : bind_str(stmt, index, mr_arena_copy(s->ar, mr_buf_str(&s->text)));
}

/* A float32 is kept as the double that prints the same: 0.1, not 0.10000000149011612. Read back as a float it is the same. */
static double float_for(const struct mr_column *col, double f)
{
    if (col->type.kind != MR_T_FLOAT32 || (double)(float)f != f)
        return f;
    char text[32];
    size_t len = mr_float_text((float)f, text);
    double shortest = f;
    return mr_parse_double(mr_str_of(text, len), &shortest) ? shortest : f;
}

static enum mr_status bind_number(struct mr_sqlite *s, sqlite3_stmt *stmt, int index, const struct mr_column *col,
                                  enum mr_sqlite_store store, struct mr_str digits, int *rc, struct mr_error *err)
{
    if (store == MR_SQLITE_STORE_DIGITS) {
        /* Digits open in a text column of somebody else: one text per value, so that equal keys are equal. */
        bool is_open = col->type.open;
        struct mr_str text = is_open && !is_word(digits) ? mr_decimal_canonical(digits, s->ar)
                                                         : mr_sqlite_pad(digits, col->type.scale, s->ar);
        *rc = bind_str(stmt, index, text);
        return MR_OK;
    }
    int64_t i = 0;
    double f = 0;
    switch (mr_sqlite_number_form(digits, &i, &f)) {
    case MR_SQLITE_AS_INT:
        *rc = sqlite3_bind_int64(stmt, index, i);
        return MR_OK;
    case MR_SQLITE_AS_REAL:
        *rc = sqlite3_bind_double(stmt, index, f);
        return MR_OK;
    case MR_SQLITE_AS_TEXT:
        break;
    }
    if (is_word(digits)) {
        *rc = bind_str(stmt, index, digits);
        return MR_OK;
    }
    if (store == MR_SQLITE_STORE_NUMERIC)
        return mr_fail_data(err, MR_CODE_OUT_OF_RANGE, "a column of type %.*s cannot hold all digits of the number",
                            MR_STR_FMT(col->native));
    *rc = bind_str(stmt, index, mr_decimal_canonical(digits, s->ar));
    return MR_OK;
}

/* In a column declared JSON, which has numeric affinity, a bare number would be converted. */
static enum mr_status check_json(const struct mr_column *col, struct mr_str json, struct mr_error *err)
{
    struct mr_decimal_info info;
    int64_t i = 0;
    double f = 0;
    if (!mr_decimal_parse(mr_str_trim(json), &info) ||
        mr_sqlite_number_form(mr_str_trim(json), &i, &f) != MR_SQLITE_AS_TEXT)
        return MR_OK;
    return mr_fail_data(err, MR_CODE_OUT_OF_RANGE, "a column of type %.*s cannot hold all digits of the number",
                        MR_STR_FMT(col->native));
}

static enum mr_status bind_cell(struct mr_sqlite *s, sqlite3_stmt *stmt, int index, const struct mr_column *col,
                                enum mr_sqlite_store store, struct mr_value v, int *rc, struct mr_error *err)
{
    switch ((enum mr_tag)v.tag) {
    case MR_V_NULL:
    case MR_V_ABSENT:
        *rc = sqlite3_bind_null(stmt, index);
        return MR_OK;
    case MR_V_BOOL:
    case MR_V_INT:
        *rc = store == MR_SQLITE_STORE_TEXT ? bind_canonical(s, stmt, index, v) : sqlite3_bind_int64(stmt, index, v.i);
        return MR_OK;
    case MR_V_NUMBER:
        if (store == MR_SQLITE_STORE_TEXT)
            break;
        return bind_number(s, stmt, index, col, store, mr_value_str(v), rc, err);
    case MR_V_FLOAT:
        if (store == MR_SQLITE_STORE_TEXT)
            break;
        if (v.f != v.f) /* SQLite would store NULL; holds() refuses it before */
            return mr_fail_data(err, MR_CODE_OUT_OF_RANGE, "SQLite cannot hold NaN in a floating-point column");
        *rc = sqlite3_bind_double(stmt, index, float_for(col, v.f));
        return MR_OK;
    case MR_V_BYTES:
        if (store == MR_SQLITE_STORE_TEXT)
            break;
        *rc = sqlite3_bind_blob64(stmt, index, v.len ? v.ptr : "", v.len, SQLITE_STATIC);
        return MR_OK;
    case MR_V_JSON:
        if (store == MR_SQLITE_STORE_NUMERIC)
            MR_TRY(check_json(col, mr_value_str(v), err));
        *rc = bind_str(stmt, index, mr_value_str(v));
        return MR_OK;
    case MR_V_TEXT:
    case MR_V_BITS:
        *rc = bind_str(stmt, index, mr_value_str(v));
        return MR_OK;
    case MR_V_DATE:
    case MR_V_TIME:
    case MR_V_DURATION:
    case MR_V_TIMESTAMP:
    case MR_V_TIMESTAMPTZ:
    case MR_V_UUID:
    case MR_V_ARRAY:
        break;
    case MR_V_UNAVAILABLE:
    case MR_V_PATCH:
    case MR_V_INVALID:
        return mr_fail(err, MR_E_BUG, "a cell of column %.*s has tag %u", MR_STR_FMT(col->name), (unsigned)v.tag);
    }
    *rc = bind_canonical(s, stmt, index, v);
    return MR_OK;
}

enum mr_status mr_sqlite_bind(struct mr_sqlite *s, sqlite3_stmt *stmt, int index, const struct mr_column *col,
                              enum mr_sqlite_store store, struct mr_value v, struct mr_error *err)
{
    int rc = SQLITE_OK;
    enum mr_status status = bind_cell(s, stmt, index, col, store, v, &rc, err);
    if (status == MR_OK && rc == SQLITE_OK)
        return MR_OK;
    if (status == MR_OK && rc == SQLITE_TOOBIG)
        status = mr_fail_data(err, MR_CODE_TOO_LARGE, "a value of %u bytes is too large for SQLite", (unsigned)v.len);
    else if (status == MR_OK)
        status = mr_sqlite_fail(s, err, "bind a value");
    mr_error_field(err, col->path.ptr, col->path.len);
    return status;
}
