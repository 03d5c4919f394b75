/* UTF-8: checks with a fast path for ASCII, cutting, counting, repairing. A surrogate's three-byte form counts
 * as one (bad) character everywhere here, never as three broken bytes. */
#include <millrace/base/utf8.h>

#define ASCII_MASK UINT64_C(0x8080808080808080)

static inline uint64_t load64(const char *ptr)
{
    uint64_t word;
    memcpy(&word, ptr, sizeof(word));
    return word;
}

/* Some byte of the word is zero (the classic test; exact as a yes or no). */
static inline bool has_zero_byte(uint64_t word)
{
    return ((word - UINT64_C(0x0101010101010101)) & ~word & ASCII_MASK) != 0;
}

static inline bool is_continuation(unsigned char c)
{
    return (c & 0xC0) == 0x80;
}

size_t mr_utf8_decode(struct mr_str s, uint32_t *code_point)
{
    if (s.len == 0)
        return 0;
    const unsigned char *p = (const unsigned char *)s.ptr;
    unsigned char c = p[0];
    if (c < 0x80) {
        *code_point = c;
        return 1;
    }
    if (c < 0xC2 || c > 0xF4)
        return 0;
    if (c < 0xE0) {
        if (s.len < 2 || !is_continuation(p[1]))
            return 0;
        *code_point = (uint32_t)(c & 0x1F) << 6 | (p[1] & 0x3F);
        return 2;
    }
    if (c < 0xF0) {
        if (s.len < 3 || !is_continuation(p[1]) || !is_continuation(p[2]) || (c == 0xE0 && p[1] < 0xA0))
            return 0;
        *code_point = (uint32_t)(c & 0x0F) << 12 | (uint32_t)(p[1] & 0x3F) << 6 | (p[2] & 0x3F);
        return 3;
    }
    if (s.len < 4 || !is_continuation(p[1]) || !is_continuation(p[2]) || !is_continuation(p[3]) ||
        (c == 0xF0 && p[1] < 0x90) || (c == 0xF4 && p[1] > 0x8F))
        return 0;
    *code_point = (uint32_t)(c & 0x07) << 18 | (uint32_t)(p[1] & 0x3F) << 12 |
                  (uint32_t)(p[2] & 0x3F) << 6 | (p[3] & 0x3F);
    return 4;
}

static unsigned flags_of(uint32_t code_point)
{
    if (code_point == 0)
        return MR_TEXT_HAS_NUL;
    return code_point >= 0xD800 && code_point <= 0xDFFF ? MR_TEXT_HAS_SURROGATE : 0;
}

static inline bool is_clean(uint64_t word)
{
    return !(word & ASCII_MASK) && !has_zero_byte(word);
}

/* All bytes 01…7F? Most texts are, and short ones at that: the last word overlaps the one before. */
static bool is_clean_ascii(const char *ptr, size_t len)
{
    if (len >= 8) {
        size_t i = 0;
        for (; len - i >= 16; i += 16) {
            uint64_t a = load64(ptr + i), b = load64(ptr + i + 8);
            if (((a | b) & ASCII_MASK) || has_zero_byte(a) || has_zero_byte(b))
                return false;
        }
        return (len - i < 8 || is_clean(load64(ptr + i))) && is_clean(load64(ptr + len - 8));
    }
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)ptr[i] - 1u > 0x7Eu)
            return false;
    }
    return true;
}

unsigned mr_utf8_check(struct mr_str s)
{
    if (is_clean_ascii(s.ptr, s.len))
        return 0;
    unsigned flags = 0;
    size_t i = 0;
    while (i < s.len) {
        while (s.len - i >= 8 && is_clean(load64(s.ptr + i)))
            i += 8;
        /* One stretch by hand, then try whole words again. */
        size_t stop = s.len - i > 16 ? i + 16 : s.len;
        while (i < stop) {
            uint32_t code;
            size_t len = mr_utf8_decode(mr_str_of(s.ptr + i, s.len - i), &code);
            flags |= len ? flags_of(code) : (unsigned)MR_TEXT_ILL_FORMED;
            i += len ? len : 1;
        }
    }
    return flags;
}

size_t mr_utf8_cut(struct mr_str s, size_t max)
{
    if (s.len <= max)
        return s.len;
    /* The character that would be cut begins at most three bytes before the border. */
    for (size_t back = 1; back <= 3 && back <= max; back++) {
        unsigned char c = (unsigned char)s.ptr[max - back];
        if (is_continuation(c))
            continue;
        uint32_t code;
        size_t len = mr_utf8_decode(mr_str_of(s.ptr + max - back, s.len - (max - back)), &code);
        return len > back ? max - back : max;
    }
    return max;
}

size_t mr_utf8_count(struct mr_str s)
{
    size_t count = 0, i = 0;
    while (i < s.len) {
        while (s.len - i >= 8 && !(load64(s.ptr + i) & ASCII_MASK)) {
            i += 8;
            count += 8;
        }
        if (i >= s.len)
            break;
        uint32_t code;
        size_t len = mr_utf8_decode(mr_str_of(s.ptr + i, s.len - i), &code);
        i += len ? len : 1;
        count++;
    }
    return count;
}

struct mr_str mr_utf8_repair(struct mr_str s, bool replace, struct mr_arena *ar)
{
    size_t bad = 0;
    uint32_t code;
    for (size_t i = 0; i < s.len;) {
        size_t len = mr_utf8_decode(mr_str_of(s.ptr + i, s.len - i), &code);
        bad += len == 0 || flags_of(code) != 0;
        i += len ? len : 1;
    }
    if (bad == 0)
        return s;
    char *out = mr_arena_alloc(ar, s.len + 2 * bad);
    size_t n = 0;
    for (size_t i = 0; i < s.len;) {
        size_t len = mr_utf8_decode(mr_str_of(s.ptr + i, s.len - i), &code);
        if (len != 0 && flags_of(code) == 0) {
            memcpy(out + n, s.ptr + i, len);
            n += len;
        } else if (replace) {
            memcpy(out + n, "\xEF\xBF\xBD", 3);
            n += 3;
        }
        i += len ? len : 1;
    }
    return mr_str_of(out, n);
}

bool mr_utf8_is_hidden(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

size_t mr_utf8_encode(uint32_t code_point, char out[4])
{
    if (code_point < 0x80) {
        out[0] = (char)code_point;
        return 1;
    }
    if (code_point < 0x800) {
        out[0] = (char)(0xC0 | code_point >> 6);
        out[1] = (char)(0x80 | (code_point & 0x3F));
        return 2;
    }
    if (code_point < 0x10000) {
        out[0] = (char)(0xE0 | code_point >> 12);
        out[1] = (char)(0x80 | (code_point >> 6 & 0x3F));
        out[2] = (char)(0x80 | (code_point & 0x3F));
        return 3;
    }
    if (code_point > 0x10FFFF)
        return mr_utf8_encode(0xFFFD, out);
    out[0] = (char)(0xF0 | code_point >> 18);
    out[1] = (char)(0x80 | (code_point >> 12 & 0x3F));
    out[2] = (char)(0x80 | (code_point >> 6 & 0x3F));
    out[3] = (char)(0x80 | (code_point & 0x3F));
    return 4;
}
