/* Borrowed strings: what is too long for the header, and integers. Doubles are in double.c. */
#include <millrace/base/str.h>

int mr_str_cmp(struct mr_str a, struct mr_str b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len ? memcmp(a.ptr, b.ptr, len) : 0;
    if (order != 0)
        return order;
    return a.len < b.len ? -1 : a.len > b.len;
}

static inline char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

bool mr_str_eq_nocase(struct mr_str a, struct mr_str b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++) {
        if (lower(a.ptr[i]) != lower(b.ptr[i]))
            return false;
    }
    return true;
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

struct mr_str mr_str_trim(struct mr_str s)
{
    while (s.len > 0 && is_space(s.ptr[0])) {
        s.ptr++;
        s.len--;
    }
    while (s.len > 0 && is_space(s.ptr[s.len - 1]))
        s.len--;
    return s;
}

ptrdiff_t mr_str_find(struct mr_str s, char c)
{
    const char *at = s.len ? memchr(s.ptr, c, s.len) : NULL;
    return at ? at - s.ptr : -1;
}

ptrdiff_t mr_str_rfind(struct mr_str s, char c)
{
    const char *at = s.len ? memrchr(s.ptr, c, s.len) : NULL;
    return at ? at - s.ptr : -1;
}

bool mr_parse_uint64(struct mr_str s, uint64_t *out)
{
    size_t i = s.len > 0 && s.ptr[0] == '+';
    if (i == s.len)
        return false;
    uint64_t n = 0;
    /* Nineteen digits cannot overflow. */
    size_t safe = s.len - i > 19 ? i + 19 : s.len;
    for (; i < safe; i++) {
        unsigned digit = (unsigned)(unsigned char)s.ptr[i] - '0';
        if (digit > 9)
            return false;
        n = n * 10 + digit;
    }
    for (; i < s.len; i++) {
        unsigned digit = (unsigned)(unsigned char)s.ptr[i] - '0';
        if (digit > 9 || __builtin_mul_overflow(n, (uint64_t)10, &n) ||
            __builtin_add_overflow(n, (uint64_t)digit, &n))
            return false;
    }
    *out = n;
    return true;
}

bool mr_parse_int64(struct mr_str s, int64_t *out)
{
    bool is_negative = s.len > 0 && s.ptr[0] == '-';
    if (is_negative) {
        s.ptr++;
        s.len--;
        if (s.len > 0 && s.ptr[0] == '+')
            return false;
    }
    uint64_t n;
    if (!mr_parse_uint64(s, &n) || n > (uint64_t)INT64_MAX + is_negative)
        return false;
    *out = is_negative ? (int64_t)(0 - n) : (int64_t)n;
    return true;
}

#define DISTANCE_MAX_LEN 64

size_t mr_str_distance(struct mr_str a, struct mr_str b)
{
    if (a.len > DISTANCE_MAX_LEN || b.len > DISTANCE_MAX_LEN)
        return SIZE_MAX;
    size_t row[DISTANCE_MAX_LEN + 1];
    for (size_t j = 0; j <= b.len; j++)
        row[j] = j;
    for (size_t i = 0; i < a.len; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < b.len; j++) {
            size_t best = diagonal + (a.ptr[i] != b.ptr[j]);
            diagonal = row[j + 1];
            if (row[j + 1] + 1 < best)
                best = row[j + 1] + 1;
            if (row[j] + 1 < best)
                best = row[j] + 1;
            row[j + 1] = best;
        }
    }
    return row[b.len];
}
