/* Binding values: see bind.h. The server rounds fractions and cuts trailing blanks without a word, strict mode or not; so what a column cannot
 * take exactly is found here. */
#include "bind.h"

#include <math.h>

#include <millrace/base/decimal.h>
#include <millrace/base/encode.h>
#include <millrace/base/time.h>
#include <millrace/base/utf8.h>

#define MAX_TEXT ((size_t)0x3fff0000)

static enum mr_status refuse(const struct mr_column *col, const char *why, struct mr_error *err)
{
    enum mr_status status =
        mr_fail_data(err, MR_CODE_OUT_OF_RANGE, "column \"%.*s\" cannot hold the value: %s", MR_STR_FMT(col->name), why);
    mr_error_field(err, col->path.ptr, col->path.len);
    return status;
}

/* As the server says it of columns that do not invent a value. */
static enum mr_status refuse_null(const struct mr_column *col, struct mr_error *err)
{
    enum mr_status status = mr_fail_data(err, MR_CODE_CONSTRAINT, "column \"%.*s\" cannot be null", MR_STR_FMT(col->name));
    mr_error_field(err, col->path.ptr, col->path.len);
    return status;
}

static enum mr_status too_long(const struct mr_column *col, struct mr_error *err)
{
    mr_fail(err, MR_E_SCHEMA, "a value is longer than column \"%.*s\"", MR_STR_FMT(col->name));
    mr_my_set_code(err, MR_CODE_OUT_OF_RANGE);
    mr_error_field(err, col->path.ptr, col->path.len);
    return MR_E_SCHEMA;
}

/* ---- Texts ---- */

static enum mr_status check_length(const struct mr_my_column *to, const struct mr_column *col, struct mr_str text, struct mr_error *err)
{
    bool by_characters = to->nat.base == MR_MY_CHAR || to->nat.base == MR_MY_VARCHAR;

    if (to->nat.capacity > 0 && text.len > to->nat.capacity &&
        (!by_characters || mr_utf8_count(text) > to->nat.capacity))
        return too_long(col, err);
    if (to->nat.base == MR_MY_CHAR && text.len > 0 && text.ptr[text.len - 1] == ' ')
        return refuse(col, "CHAR forgets blanks at the end", err);
    if (to->nat.base == MR_MY_BINARY && text.len != to->nat.capacity)
        return refuse(col, "BINARY adds zeros at the end", err);
    return MR_OK;
}

/* The next member of enum('a','it''s','x\\y') from `at` on, which stands behind a quote; false at the end. */
static bool next_member(struct mr_str members, size_t *at, struct mr_buf *out)
{
    mr_buf_clear(out);
    while (*at < members.len && members.ptr[*at] != '\'')
        ++*at;
    if (*at == members.len)
        return false;
    for (++*at; *at < members.len; ++*at) {
        char c = members.ptr[*at], next = *at + 1 < members.len ? members.ptr[*at + 1] : 0;
        if (c == '\'' && next != '\'')
            break;
        if ((c == '\'' || c == '\\') && next != 0)
            c = members.ptr[++*at];
        mr_buf_append_char(out, c);
    }
    ++*at;
    return true;
}

/* Is the text the member's own spelling, and does it stand at or behind `from`? *from is what follows then. */
static bool is_member(const struct mr_my_column *to, struct mr_str text, size_t *from)
{
    struct mr_buf member = MR_BUF_INIT((size_t)1 << 20);
    size_t at = *from;
    bool found = false;

    while (!found && next_member(to->members, &at, &member))
        found = !member.overflow && mr_str_eq(mr_buf_str(&member), text);
    if (found)
        *from = at;
    mr_buf_free(&member);
    return found;
}

/* The server takes another spelling of a member, by case or blanks, a number in its place, and the members of a SET in any order and twice, and keeps
 * what it makes of them. */
static enum mr_status check_members(const struct mr_my_column *to, const struct mr_column *col, struct mr_str text, struct mr_error *err)
{
    bool is_set = mr_str_starts(to->members, MR_STR("set"));
    struct mr_str rest = text;
    size_t from = 0;

    while (rest.len > 0 || (!is_set && rest.ptr == text.ptr)) {
        ptrdiff_t comma = is_set ? mr_str_find(rest, ',') : -1;
        size_t len = comma >= 0 ? (size_t)comma : rest.len;
        size_t anywhere = 0;
        if (!is_member(to, mr_str_of(rest.ptr, len), &anywhere))
            return refuse(col, "it is none of the column's", err);
        if (!is_member(to, mr_str_of(rest.ptr, len), &from) || (comma >= 0 && len + 1 == rest.len))
            return refuse(col, "a SET has its members in the column's order, and each once", err);
        if (!is_set)
            break;
        rest = comma >= 0 ? mr_str_of(rest.ptr + len + 1, rest.len - len - 1) : MR_STR("");
    }
    return MR_OK;
}

static enum mr_status canonical(const struct mr_column *col, struct mr_value v, bool as_json, struct mr_arena *ar, struct mr_str *out,
                                struct mr_error *err)
{
    struct mr_buf text = MR_BUF_INIT(MAX_TEXT);

    if (as_json)
        mr_value_append_json(v, &text);
    else
        mr_value_append_text(v, &text);
    enum mr_status status = mr_buf_check(&text, "a value", err);
    if (status == MR_OK)
        *out = mr_arena_copy(ar, mr_buf_str(&text));
    else
        mr_error_field(err, col->path.ptr, col->path.len);
    mr_buf_free(&text);
    return status;
}

static struct mr_str formatted(const char *text, size_t len, struct mr_arena *ar)
{
    return mr_arena_copy(ar, mr_str_of(text, len));
}

/* ---- Times ---- */

static enum mr_status check_fraction(const struct mr_my_column *to, const struct mr_column *col, int64_t us, struct mr_error *err)
{
    int64_t unit = 1;
    unsigned digits = to->nat.arg_count > 0 ? to->nat.args[0] : 0;

    for (unsigned i = digits; i < 6; i++)
        unit *= 10;
    return us % unit == 0 ? MR_OK : refuse(col, "it would be rounded", err);
}

static enum mr_status bind_time(const struct mr_my_column *to, const struct mr_column *col, struct mr_value v, struct mr_arena *ar,
                                struct mr_my_bound *out, struct mr_error *err)
{
    char text[MR_TIME_TEXT];
    size_t len;

    if (v.i == MR_TIME_INFINITY || v.i == MR_TIME_NEG_INFINITY)
        return refuse(col, "it is infinite", err);
    if (v.tag == MR_V_DATE) {
        len = mr_format_date(v.i, text);
    } else {
        MR_TRY(check_fraction(to, col, v.i, err));
        len = v.tag == MR_V_TIME || v.tag == MR_V_DURATION ? mr_format_time(v.i, false, text) :
                                                             mr_format_timestamp(v.i, ' ', false, text);
    }
    out->text = formatted(text, len, ar);
    return MR_OK;
}

/* ---- Numbers ---- */

static enum mr_status check_digits(const struct mr_my_column *to, const struct mr_column *col, struct mr_str digits, struct mr_error *err)
{
    struct mr_decimal_info info;
    uint32_t scale = to->nat.base == MR_MY_DECIMAL && to->nat.arg_count > 1 ? to->nat.args[1] : 0;

    if (!mr_decimal_parse(digits, &info))
        return refuse(col, "it is no number", err);
    if ((to->nat.base == MR_MY_DECIMAL || mr_my_is_integer(&to->nat)) && info.frac_significant > scale)
        return refuse(col, "it has more digits after the point", err);
    if (to->nat.base == MR_MY_DECIMAL && info.int_digits > to->nat.args[0] - scale)
        return refuse(col, "it has more digits before the point", err);
    return MR_OK;
}

/* A number in a column that is a double as long as that is enough. */
static enum mr_status bind_digits_as_double(const struct mr_column *col, struct mr_str digits, struct mr_my_bound *out, struct mr_error *err)
{
    if (mr_my_is_double(digits) && mr_parse_double(digits, &out->real))
        return MR_OK;
    mr_fail(err, MR_E_SCHEMA, "a double does not hold all digits of a number for column \"%.*s\"", MR_STR_FMT(col->name));
    mr_my_set_code(err, MR_CODE_OUT_OF_RANGE);
    mr_error_field(err, col->path.ptr, col->path.len);
    return MR_E_SCHEMA;
}

/* A float32 comes as the double of its text, or of its bits: 0.1, or 0.10000000149011612. */
static bool is_float32(double f)
{
    char text[32];
    double shortest;

    return (double)(float)f == f || (mr_parse_double(mr_str_of(text, mr_float_text((float)f, text)), &shortest) && shortest == f);
}

/* It is kept as the double that prints the same: 0.1. Read back as a float it is the same. A FLOAT keeps it as it is. */
static double float_for(const struct mr_my_column *to, const struct mr_column *col, double f)
{
    char text[32];
    double shortest = f;

    if (to->nat.base == MR_MY_FLOAT)
        return (double)(float)f;
    if (col->type.kind != MR_T_FLOAT32 || (double)(float)f != f)
        return f;
    size_t len = mr_float_text((float)f, text);
    return mr_parse_double(mr_str_of(text, len), &shortest) ? shortest : f;
}

static enum mr_status bind_real(const struct mr_my_column *to, const struct mr_column *col, double f, struct mr_arena *ar,
                                struct mr_my_bound *out, struct mr_error *err)
{
    char text[32];

    if (!isfinite(f))
        return refuse(col, "it is not finite", err);
    bool is_exact = col->type.kind == MR_T_FLOAT32 ? is_float32(f) : (double)(float)f == f;
    if (to->nat.base == MR_MY_FLOAT && !is_exact)
        return refuse(col, "a FLOAT would round it", err);
    out->real = float_for(to, col, f);
    if (to->store != MR_MY_STORE_DECIMAL)
        return MR_OK;
    out->text = formatted(text, mr_double_text(f, text), ar);
    return check_digits(to, col, out->text, err);
}

static long long bits_number(struct mr_str digits)
{
    uint64_t number = 0;
    for (size_t i = 0; i < digits.len; i++)
        number = number << 1 | (digits.ptr[i] == '1');
    return (long long)number;
}

/* ---- JSON ---- */

static bool is_number_char(char c)
{
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

static bool number_is_exact(struct mr_str number)
{
    int64_t i;
    uint64_t u;
    return mr_parse_int64(number, &i) || mr_parse_uint64(number, &u) || mr_decimal_is_double(number);
}

bool mr_my_json_is_exact(struct mr_str json)
{
    for (size_t i = 0; i < json.len; i++) {
        if (json.ptr[i] == '"') {
            for (i++; i < json.len && json.ptr[i] != '"'; i++)
                i += json.ptr[i] == '\\';
            continue;
        }
        if (json.ptr[i] != '-' && (json.ptr[i] < '0' || json.ptr[i] > '9'))
            continue;
        size_t end = i + 1;
        while (end < json.len && is_number_char(json.ptr[end]))
            end++;
        if (!number_is_exact(mr_str_of(json.ptr + i, end - i)))
            return false;
        i = end - 1;
    }
    return true;
}

static enum mr_status bind_json(const struct mr_my *my, const struct mr_column *col, struct mr_value v, struct mr_arena *ar,
                                struct mr_my_bound *out, struct mr_error *err)
{
    if (v.tag == MR_V_JSON)
        out->text = mr_value_str(v);
    else
        MR_TRY(canonical(col, v, true, ar, &out->text, err));
    if (!my->is_mariadb && !mr_my_json_is_exact(out->text))
        return refuse(col, "MySQL's JSON keeps numbers as 64-bit integers and doubles, and one of the document's is neither", err);
    return MR_OK;
}

/* ---- All ---- */

static enum mr_status bind_text(const struct mr_my_column *to, const struct mr_column *col, struct mr_value v, struct mr_arena *ar,
                                struct mr_my_bound *out, struct mr_error *err)
{
    bool is_plain_time = !mr_my_is_text(&to->nat) && to->nat.base != MR_MY_ENUM &&
                         (v.tag == MR_V_DATE || v.tag == MR_V_TIME || v.tag == MR_V_DURATION || v.tag == MR_V_TIMESTAMP ||
                          v.tag == MR_V_TIMESTAMPTZ);

    if (is_plain_time)
        return bind_time(to, col, v, ar, out, err);
    if (v.tag == MR_V_TEXT || v.tag == MR_V_BITS || v.tag == MR_V_JSON)
        out->text = mr_value_str(v);
    else
        MR_TRY(canonical(col, v, false, ar, &out->text, err));
    if (to->nat.base == MR_MY_ENUM)
        return check_members(to, col, out->text, err);
    return check_length(to, col, out->text, err);
}

static enum mr_status wrong_tag(const struct mr_column *col, struct mr_value v, struct mr_error *err)
{
    return mr_fail(err, MR_E_BUG, "a cell of column \"%.*s\" has tag %u", MR_STR_FMT(col->name), (unsigned)v.tag);
}

enum mr_status mr_my_bind(const struct mr_my *my, const struct mr_my_column *to, const struct mr_column *col, struct mr_value v,
                          struct mr_arena *ar, struct mr_my_bound *out, struct mr_error *err)
{
    *out = (struct mr_my_bound){.text = {"", 0}};
    if (v.tag == MR_V_NULL || v.tag == MR_V_ABSENT) {
        out->is_null = true;
        return to->fills_itself ? refuse_null(col, err) : MR_OK;
    }
    if (v.tag == MR_V_UNAVAILABLE || v.tag == MR_V_INVALID)
        return wrong_tag(col, v, err);
    switch (to->store) {
    case MR_MY_STORE_INT:
        out->number = v.i;
        if (to->nat.base == MR_MY_YEAR && v.i > 0 && v.i < 100)
            return refuse(col, "YEAR takes it for one of the years 1970 to 2069", err);
        return v.tag == MR_V_INT || v.tag == MR_V_BOOL ? MR_OK : wrong_tag(col, v, err);
    case MR_MY_STORE_BITS:
        if (v.tag != MR_V_BITS)
            return wrong_tag(col, v, err);
        out->number = bits_number(mr_value_str(v));
        return v.len == (to->nat.arg_count > 0 ? to->nat.args[0] : 1) ? MR_OK : refuse(col, "another number of bits", err);
    case MR_MY_STORE_DOUBLE:
        if (v.tag == MR_V_NUMBER)
            return bind_digits_as_double(col, mr_value_str(v), out, err);
        return v.tag == MR_V_FLOAT ? bind_real(to, col, v.f, ar, out, err) : wrong_tag(col, v, err);
    case MR_MY_STORE_DECIMAL:
        if (v.tag == MR_V_FLOAT)
            return bind_real(to, col, v.f, ar, out, err);
        out->text = mr_value_str(v);
        return v.tag == MR_V_NUMBER ? check_digits(to, col, out->text, err) : wrong_tag(col, v, err);
    case MR_MY_STORE_TEXT:
        return bind_text(to, col, v, ar, out, err);
    case MR_MY_STORE_JSON:
        return bind_json(my, col, v, ar, out, err);
    case MR_MY_STORE_BYTES:
        out->text = mr_value_str(v);
        return v.tag == MR_V_BYTES ? check_length(to, col, out->text, err) : wrong_tag(col, v, err);
    }
    return wrong_tag(col, v, err);
}
