/* Decimal numbers as text. A number is scanned once into the places of its digits and its point; everything else
 * is arithmetic on those places, so that a thousand digits cost a thousand steps and no allocation but the result. */
#include <millrace/base/decimal.h>

#define MAX_EXPONENT 20000
#define MAX_BYTES 4096

/* The digits of a number are its integer and fraction digits as written, one after the other; digit k is counted
 * over both. Its value is 0.DIGITS times 10 to the power of `point`. */
struct scan {
    const char *integer, *fraction;
    size_t integer_len, len; /* digits before the written point, all digits */
    size_t first, last;      /* significant digits are first…last - 1; both 0 for zero */
    int64_t point;
    bool is_negative;
    bool has_point;
    bool is_signed; /* a sign was written */
    bool has_exponent;
};

static inline bool is_digit(char c)
{
    return (unsigned)(unsigned char)c - '0' <= 9;
}

static bool scan_exponent(const char *p, const char *end, int64_t *exponent)
{
    bool is_negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    if (p == end)
        return false;
    int64_t n = 0;
    for (; p < end; p++) {
        if (!is_digit(*p))
            return false;
        n = n * 10 + (*p - '0');
        if (n > MAX_EXPONENT)
            return false;
    }
    *exponent = is_negative ? -n : n;
    return true;
}

static inline char digit_at(const struct scan *s, size_t k)
{
    return k < s->integer_len ? s->integer[k] : s->fraction[k - s->integer_len];
}

static bool scan_number(struct mr_str text, struct scan *s)
{
    const char *p = text.ptr, *end = text.ptr + text.len;
    s->is_signed = p < end && (*p == '-' || *p == '+');
    s->is_negative = s->is_signed && *p == '-';
    p += s->is_signed;
    s->integer = p;
    while (p < end && is_digit(*p))
        p++;
    s->integer_len = (size_t)(p - s->integer);
    if (s->integer_len == 0)
        return false;
    s->fraction = p;
    s->len = s->integer_len;
    s->has_point = p < end;
    if (p < end && *p == '.') {
        s->fraction = ++p;
        while (p < end && is_digit(*p))
            p++;
        if (p == s->fraction)
            return false;
        s->len += (size_t)(p - s->fraction);
    }
    int64_t exponent = 0;
    s->has_exponent = p < end;
    if (p < end && ((*p != 'e' && *p != 'E') || !scan_exponent(p + 1, end, &exponent)))
        return false;
    s->point = (int64_t)s->integer_len + exponent;
    s->first = 0;
    s->last = s->len;
    while (s->first < s->last && digit_at(s, s->first) == '0')
        s->first++;
    while (s->last > s->first && digit_at(s, s->last - 1) == '0')
        s->last--;
    if (s->first == s->last)
        s->first = s->last = 0;
    return true;
}

static inline bool is_zero(const struct scan *s)
{
    return s->last == 0;
}

static inline uint32_t at_least_zero(int64_t n)
{
    if (n < 0)
        return 0;
    return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

bool mr_decimal_parse(struct mr_str text, struct mr_decimal_info *info)
{
    struct scan s;
    if (!scan_number(text, &s))
        return false;
    info->negative = s.is_negative;
    info->is_zero = is_zero(&s);
    info->has_point = s.has_point;
    info->int_digits = info->is_zero ? 0 : at_least_zero(s.point - (int64_t)s.first);
    info->frac_digits = at_least_zero((int64_t)s.len - s.point);
    info->frac_significant = info->is_zero ? 0 : at_least_zero((int64_t)s.last - s.point);
    info->digits = at_least_zero((int64_t)(s.last - s.first));
    return true;
}

/* ---- Writing ---- */

/* Without leading zeros, sign of zero, exponent and plus: nothing to do. */
static bool is_plain(const struct scan *s)
{
    if (s->has_exponent || (s->is_signed && !s->is_negative) || (s->is_negative && is_zero(s)))
        return false;
    return s->integer_len == 1 || s->integer[0] != '0';
}

bool mr_decimal_is_plain(struct mr_str text)
{
    struct scan s;
    return scan_number(text, &s) && is_plain(&s);
}

static char *put_digits(char *out, const struct scan *s, size_t from, size_t to)
{
    if (from < s->integer_len && from < to) {
        size_t stop = to < s->integer_len ? to : s->integer_len;
        memcpy(out, s->integer + from, stop - from);
        out += stop - from;
        from = stop;
    }
    if (from < to) {
        memcpy(out, s->fraction + (from - s->integer_len), to - from);
        out += to - from;
    }
    return out;
}

static char *put_zeros(char *out, size_t count)
{
    memset(out, '0', count);
    return out + count;
}

/* An upper bound for put_plain. */
static size_t plain_size(const struct scan *s)
{
    size_t zeros = s->point < 0 ? (size_t)-s->point : 0;
    if (s->point > (int64_t)s->len)
        zeros = (size_t)s->point - s->len;
    return s->len + zeros + 3;
}

/* The number in plain form, of its digits only those before `len`. */
static char *put_plain(char *out, const struct scan *s, size_t len)
{
    if (s->is_negative && !is_zero(s))
        *out++ = '-';
    if (is_zero(s) || s->point <= (int64_t)s->first) {
        *out++ = '0';
    } else {
        size_t point = (size_t)s->point;
        size_t stop = point < s->len ? point : s->len;
        out = put_digits(out, s, s->first, stop);
        out = put_zeros(out, point - stop);
    }
    if ((int64_t)len <= s->point)
        return out;
    *out++ = '.';
    if (s->point < 0) {
        out = put_zeros(out, (size_t)-s->point);
        return put_digits(out, s, 0, len);
    }
    return put_digits(out, s, (size_t)s->point, len);
}

struct mr_str mr_decimal_plain(struct mr_str text, struct mr_arena *ar)
{
    struct scan s;
    if (!scan_number(text, &s) || is_plain(&s))
        return mr_arena_copy(ar, text);
    char *out = mr_arena_alloc(ar, plain_size(&s));
    return mr_str_of(out, (size_t)(put_plain(out, &s, s.len) - out));
}

/* A number without significant digits is "0", whatever its point. */
static char *put_canonical(char *out, const struct scan *s)
{
    if (is_zero(s)) {
        *out = '0';
        return out + 1;
    }
    return put_plain(out, s, s->last);
}

struct mr_str mr_decimal_canonical(struct mr_str text, struct mr_arena *ar)
{
    struct scan s;
    if (!scan_number(text, &s))
        return mr_arena_copy(ar, text);
    char *out = mr_arena_alloc(ar, plain_size(&s));
    return mr_str_of(out, (size_t)(put_canonical(out, &s) - out));
}

void mr_decimal_append_canonical(struct mr_str text, struct mr_buf *buf)
{
    struct scan s;
    if (!scan_number(text, &s)) {
        mr_buf_append_str(buf, text);
        return;
    }
    char *out = mr_buf_reserve(buf, plain_size(&s));
    if (out)
        buf->len += (size_t)(put_canonical(out, &s) - out);
}

/* ---- Comparing ---- */

bool mr_decimal_to_int64(struct mr_str text, int64_t *out)
{
    if (mr_parse_int64(text, out))
        return true;
    struct scan s;
    if (!scan_number(text, &s))
        return false;
    if (is_zero(&s)) {
        *out = 0;
        return true;
    }
    int64_t digits = s.point - (int64_t)s.first;
    if (s.point < (int64_t)s.last || digits > 19)
        return false;
    uint64_t n = 0; /* nineteen digits cannot overflow */
    for (size_t k = s.first; k < s.first + (size_t)digits; k++)
        n = n * 10 + (k < s.last ? (unsigned)(digit_at(&s, k) - '0') : 0);
    if (n > (uint64_t)INT64_MAX + s.is_negative)
        return false;
    *out = s.is_negative ? (int64_t)(0 - n) : (int64_t)n;
    return true;
}

/* Compare the sizes of two numbers that are not zero. */
static int cmp_size(const struct scan *a, const struct scan *b)
{
    int64_t size_a = a->point - (int64_t)a->first, size_b = b->point - (int64_t)b->first;
    if (size_a != size_b)
        return size_a < size_b ? -1 : 1;
    size_t len_a = a->last - a->first, len_b = b->last - b->first;
    for (size_t k = 0; k < len_a && k < len_b; k++) {
        char digit_a = digit_at(a, a->first + k), digit_b = digit_at(b, b->first + k);
        if (digit_a != digit_b)
            return digit_a < digit_b ? -1 : 1;
    }
    return len_a < len_b ? -1 : len_a > len_b;
}

static int sign_of(const struct scan *s)
{
    if (is_zero(s))
        return 0;
    return s->is_negative ? -1 : 1;
}

int mr_decimal_cmp(struct mr_str a_text, struct mr_str b_text)
{
    struct scan a, b;
    if (!scan_number(a_text, &a) || !scan_number(b_text, &b))
        return mr_str_cmp(a_text, b_text);
    int sign = sign_of(&a);
    if (sign != sign_of(&b))
        return sign - sign_of(&b);
    return sign == 0 ? 0 : sign * cmp_size(&a, &b);
}

/* ---- Java's BigInteger bytes ---- */

/* The absolute value as 32-bit words, most significant first; returns their number. */
static size_t load_words(const unsigned char *p, size_t len, bool is_negative, uint32_t *words)
{
    size_t count = (len + 3) / 4;
    for (size_t i = 0; i < count; i++)
        words[i] = is_negative ? UINT32_MAX : 0;
    for (size_t i = 0; i < len; i++) {
        size_t place = len - 1 - i; /* bytes behind this one */
        uint32_t *word = &words[count - 1 - place / 4];
        unsigned shift = (unsigned)(place % 4) * 8;
        *word = (*word & ~((uint32_t)0xff << shift)) | (uint32_t)p[i] << shift;
    }
    if (!is_negative)
        return count;
    bool carry = true;
    for (size_t i = count; i-- > 0;) {
        words[i] = ~words[i] + carry;
        carry = carry && words[i] == 0;
    }
    return count;
}

/* Write the digits of the words, which it uses up, to the end of a buffer; returns the first digit's place. */
static size_t write_digits(uint32_t *words, size_t count, char *digits, size_t size)
{
    size_t at = size, from = 0;
    while (from < count) {
        uint64_t rest = 0;
        for (size_t i = from; i < count; i++) {
            uint64_t part = rest << 32 | words[i];
            words[i] = (uint32_t)(part / 1000000000);
            rest = part % 1000000000;
        }
        for (int k = 0; k < 9; k++, rest /= 10)
            digits[--at] = (char)('0' + rest % 10);
        while (from < count && words[from] == 0)
            from++;
    }
    while (at < size && digits[at] == '0')
        at++;
    return at;
}

bool mr_decimal_from_bytes(struct mr_str bytes, int32_t scale, struct mr_arena *ar, struct mr_str *out)
{
    if (bytes.len == 0 || bytes.len > MAX_BYTES || scale > MAX_EXPONENT || scale < -MAX_EXPONENT)
        return false;
    const unsigned char *p = (const unsigned char *)bytes.ptr;
    bool is_negative = p[0] & 0x80;
    uint32_t words[MAX_BYTES / 4];
    char digits[(MAX_BYTES * 8 / 29 + 2) * 9]; /* a group of nine digits takes away at least 29 bits */
    size_t count = load_words(p, bytes.len, is_negative, words);
    size_t first = write_digits(words, count, digits, sizeof(digits));
    struct mr_str number = mr_str_of(digits + first, sizeof(digits) - first);
    if (number.len == 0)
        number = MR_STR("0");
    struct scan s = {.integer = number.ptr,
                     .integer_len = number.len,
                     .len = number.len,
                     .last = first < sizeof(digits) ? number.len : 0,
                     .point = (int64_t)number.len - scale,
                     .is_negative = is_negative};
    char *text = mr_arena_alloc(ar, plain_size(&s));
    *out = mr_str_of(text, (size_t)(put_plain(text, &s, s.len) - text));
    return true;
}
