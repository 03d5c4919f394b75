/* Doubles and floats to text and back, whatever the locale. Common values (at most 15 digits, small exponent) take
 * an exact path through integers and one division; the rest goes through libc, which rounds correctly. */
#include <millrace/base/decimal.h>
#include <millrace/base/str.h>

#include <float.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* Powers of ten that a double holds exactly. */
static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
#define MAX_POWER 22
#define MAX_EXACT_INTEGER (UINT64_C(1) << 53)

static pthread_once_t locale_once = PTHREAD_ONCE_INIT;
static locale_t c_locale; /* lives as long as the process */

static void make_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static locale_t plain_locale(void)
{
    pthread_once(&locale_once, make_locale);
    return c_locale;
}

/* ---- Reading ---- */

/* No more digits than these can change how a double is rounded; of the others only whether one is not zero. */
#define MAX_DIGITS 780

struct number {
    struct mr_str integer, fraction; /* digits as written */
    int64_t exponent;
    bool is_negative;
};

static inline bool is_digit(char c)
{
    return (unsigned)(unsigned char)c - '0' <= 9;
}

static struct mr_str take_digits(const char **p, const char *end)
{
    const char *from = *p;
    while (*p < end && is_digit(**p))
        (*p)++;
    return mr_str_of(from, (size_t)(*p - from));
}

/* [-]digits[.digits][(e|E)[+-]digits]; a plus and leading zeros only if not strict. */
static bool split_number(struct mr_str text, bool strict, struct number *out)
{
    const char *p = text.ptr, *end = text.ptr + text.len;
    out->is_negative = p < end && *p == '-';
    if (p < end && (*p == '-' || (*p == '+' && !strict)))
        p++;
    out->integer = take_digits(&p, end);
    if (out->integer.len == 0 || (strict && out->integer.len > 1 && out->integer.ptr[0] == '0'))
        return false;
    out->fraction = mr_str_of("", 0);
    if (p < end && *p == '.') {
        p++;
        out->fraction = take_digits(&p, end);
        if (out->fraction.len == 0)
            return false;
    }
    out->exponent = 0;
    if (p == end)
        return true;
    if (*p != 'e' && *p != 'E')
        return false;
    p++;
    bool is_negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    struct mr_str digits = take_digits(&p, end);
    for (size_t i = 0; i < digits.len && out->exponent < INT64_C(1000000000000000); i++)
        out->exponent = out->exponent * 10 + (digits.ptr[i] - '0');
    if (is_negative)
        out->exponent = -out->exponent;
    return digits.len > 0 && p == end;
}

/* The significant digits as one integer of at most `max` digits and the power of ten that belongs to it. */
static size_t collect_digits(const struct number *n, char *digits, size_t max, int64_t *exponent, bool *rest)
{
    size_t count = 0;
    *rest = false;
    *exponent = n->exponent;
    const struct mr_str parts[2] = {n->integer, n->fraction};
    for (int part = 0; part < 2; part++) {
        for (size_t i = 0; i < parts[part].len; i++) {
            char c = parts[part].ptr[i];
            *exponent -= part;
            if (count == 0 && c == '0')
                continue;
            if (count < max) {
                digits[count++] = c;
            } else {
                *rest = *rest || c != '0';
                (*exponent)++;
            }
        }
    }
    return count;
}

/* Through strtod: correct for any number of digits. */
static double read_slowly(const struct number *n)
{
    char text[MAX_DIGITS + 32];
    int64_t exponent;
    bool rest;
    size_t len = collect_digits(n, text, MAX_DIGITS, &exponent, &rest);
    if (rest) {
        text[len++] = '1';
        exponent--;
    }
    if (exponent > 100000)
        exponent = 100000;
    if (exponent < -100000)
        exponent = -100000;
    snprintf(text + len, sizeof(text) - len, "e%d", (int)exponent);
    return strtod_l(text, NULL, plain_locale());
}

static double read_number(const struct number *n)
{
    if (n->integer.len + n->fraction.len <= 19) {
        uint64_t w = 0;
        for (size_t i = 0; i < n->integer.len; i++)
            w = w * 10 + (unsigned)(n->integer.ptr[i] - '0');
        for (size_t i = 0; i < n->fraction.len; i++)
            w = w * 10 + (unsigned)(n->fraction.ptr[i] - '0');
        int64_t exponent = n->exponent - (int64_t)n->fraction.len;
        if (w == 0)
            return 0;
        /* Both operands are exact, so the one rounding is the right one. */
        if (w <= MAX_EXACT_INTEGER && exponent >= -MAX_POWER && exponent <= MAX_POWER)
            return exponent < 0 ? (double)w / powers[-exponent] : (double)w * powers[exponent];
    }
    char digit;
    int64_t exponent;
    bool rest;
    if (collect_digits(n, &digit, 1, &exponent, &rest) == 0)
        return 0;
    return read_slowly(n);
}

static bool read_double(struct mr_str s, bool strict, double *out)
{
    struct number n;
    if (!split_number(s, strict, &n))
        return false;
    double value = read_number(&n);
    if (isinf(value))
        return false;
    *out = n.is_negative ? -value : value;
    return true;
}

bool mr_parse_double(struct mr_str s, double *out)
{
    if (read_double(s, true, out))
        return true;
    if (mr_str_eq(s, MR_STR("NaN")))
        *out = (double)NAN;
    else if (mr_str_eq(s, MR_STR("Infinity")))
        *out = (double)INFINITY;
    else if (mr_str_eq(s, MR_STR("-Infinity")))
        *out = -(double)INFINITY;
    else
        return false;
    return true;
}

/* ---- Writing ---- */

static size_t put_word(char *out, const char *word)
{
    size_t len = strlen(word);
    memcpy(out, word, len + 1);
    return len;
}

static char *put_text(char *out, const char *text, size_t len)
{
    memcpy(out, text, len);
    return out + len;
}

/* 0.DIGITS times 10^point, as people write it: plain from 0.000001 up to 21 digits, else with an exponent. */
static size_t put_number(char out[32], bool is_negative, const char *digits, size_t len, int point)
{
    while (len > 1 && digits[len - 1] == '0')
        len--;
    char *at = out;
    if (is_negative)
        *at++ = '-';
    if (point > 0 && point <= 21) {
        size_t whole = (size_t)point < len ? (size_t)point : len;
        at = put_text(at, digits, whole);
        for (size_t i = whole; i < (size_t)point; i++)
            *at++ = '0';
        if (whole < len) {
            *at++ = '.';
            at = put_text(at, digits + whole, len - whole);
        }
    } else if (point <= 0 && point > -6) {
        at = put_text(at, "0.", 2);
        for (int i = 0; i < -point; i++)
            *at++ = '0';
        at = put_text(at, digits, len);
    } else {
        *at++ = digits[0];
        if (len > 1) {
            *at++ = '.';
            at = put_text(at, digits + 1, len - 1);
        }
        at += snprintf(at, 8, "e%d", point - 1);
    }
    *at = 0;
    return (size_t)(at - out);
}

/* The value with `precision` digits, rounded correctly. */
static size_t put_precise(char out[32], double value, int precision)
{
    char text[48], digits[32];
    snprintf(text, sizeof(text), "%.*e", precision - 1, fabs(value));
    size_t len = 0;
    const char *p = text;
    for (; *p && *p != 'e'; p++) { /* the point is whatever the locale says */
        if (is_digit(*p) && len < sizeof(digits))
            digits[len++] = *p;
    }
    int exponent = *p ? (int)strtol(p + 1, NULL, 10) : 0;
    return put_number(out, signbit(value), digits, len, exponent + 1);
}

static size_t put_integer_digits(uint64_t n, char digits[20])
{
    char reversed[20];
    size_t len = 0;
    do {
        reversed[len++] = (char)('0' + n % 10);
        n /= 10;
    } while (n);
    for (size_t i = 0; i < len; i++)
        digits[i] = reversed[len - 1 - i];
    return len;
}

static size_t put_special(double value, char out[32])
{
    if (isnan(value))
        return put_word(out, "NaN");
    if (isinf(value))
        return put_word(out, value > 0 ? "Infinity" : "-Infinity");
    return put_word(out, signbit(value) ? "-0" : "0");
}

static inline bool is_special(double value)
{
    return value == 0 || !isfinite(value);
}

static size_t put_scaled(char out[32], bool is_negative, uint64_t n, int places)
{
    char digits[20];
    size_t len = put_integer_digits(n, digits);
    return put_number(out, is_negative, digits, len, (int)len - places);
}

size_t mr_double_text(double value, char out[32])
{
    if (is_special(value))
        return put_special(value, out);
    double size = fabs(value);
    /* Is it n / 10^k with at most 15 digits? That text is unique, hence the shortest, and one exact division shows
     * that it reads back. From 1e-7 to 1e15 this finds every such text. */
    bool is_common = size >= 1e-7 && size < 1e15;
    for (int k = 0; is_common && k <= MAX_POWER; k++) {
        double scaled = size * powers[k];
        if (scaled >= 1e15)
            break;
        uint64_t n = (uint64_t)(scaled + 0.5);
        if ((double)n / powers[k] == size)
            return put_scaled(out, value < 0, n, k);
    }
    /* Subnormals have fewer digits than fifteen to tell them apart. */
    int precision = is_common ? 16 : size >= DBL_MIN ? 15 : 1;
    for (; precision < 17; precision++) {
        size_t len = put_precise(out, value, precision);
        double back;
        if (read_double(mr_str_of(out, len), true, &back) && back == value)
            return len;
    }
    return put_precise(out, value, 17);
}

size_t mr_float_text(float value, char out[32])
{
    if (is_special((double)value))
        return put_special((double)value, out);
    double size = fabs((double)value);
    /* As above with six digits. Up to 10^8 the quotient, rounded to double and then to float, is as if rounded once:
     * it cannot come so near the middle of two floats. */
    bool is_common = size >= 1e-2 && size < 1e6;
    for (int k = 0; is_common && k <= 8; k++) {
        double scaled = size * powers[k];
        if (scaled >= 1e6)
            break;
        uint64_t n = (uint64_t)(scaled + 0.5);
        if ((double)(float)((double)n / powers[k]) == size)
            return put_scaled(out, value < 0, n, k);
    }
    int precision = is_common ? 7 : size >= (double)FLT_MIN ? 6 : 1;
    for (; precision < 9; precision++) {
        size_t len = put_precise(out, (double)value, precision);
        if (strtof_l(out, NULL, plain_locale()) == value)
            return len;
    }
    return put_precise(out, (double)value, 9);
}

/* ---- Does a decimal survive as a double? ---- */

/* At most 15 digits, far from both ends of the exponent's range: always. */
static bool surely_double(const struct mr_decimal_info *info)
{
    if (info->digits > 15)
        return false;
    return info->int_digits > 0 ? info->int_digits < 290 : info->frac_significant < 290;
}

bool mr_decimal_is_double(struct mr_str text)
{
    struct mr_decimal_info info;
    if (!mr_decimal_parse(text, &info) || info.digits > 17)
        return false;
    if (surely_double(&info))
        return true;
    double value;
    char back[32];
    if (!read_double(text, false, &value))
        return false;
    return mr_decimal_cmp(text, mr_str_of(back, mr_double_text(value, back))) == 0;
}

bool mr_decimal_shows_double(struct mr_str text)
{
    if (mr_decimal_is_double(text))
        return true;
    struct mr_decimal_info info;
    double value;
    char back[32];
    if (!mr_decimal_parse(text, &info) || info.digits > 17 || !read_double(text, false, &value) || value == 0)
        return false;
    size_t len = put_precise(back, value, (int)info.digits);
    return mr_decimal_cmp(text, mr_str_of(back, len)) == 0;
}
