/* Strings of the JSON event reader: sixteen bytes at a time as long as nothing special comes, then escapes and UTF-8 checked byte by byte. */
#include "json_parts.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* The first byte that is not plain ASCII inside a string (a quotation mark, a backslash, a control or a byte of a longer character), or
 * end. Compared as signed bytes, controls and bytes from 0x80 on are both below the blank. */
static inline const unsigned char *skip_plain(const unsigned char *p, const unsigned char *end)
{
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"');
    const __m128i backslash = _mm_set1_epi8('\\');
    const __m128i blank = _mm_set1_epi8(' ');

    while (end - p >= 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i special = _mm_or_si128(_mm_cmplt_epi8(v, blank),
                                       _mm_or_si128(_mm_cmpeq_epi8(v, quote),
                                                    _mm_cmpeq_epi8(v, backslash)));
        unsigned mask = (unsigned)_mm_movemask_epi8(special);
        if (mask != 0)
            return p + __builtin_ctz(mask);
        p += 16;
    }
#endif
    while (p < end && *p >= ' ' && *p < 0x80 && *p != '"' && *p != '\\')
        p++;
    return p;
}

/* Length of the well-formed UTF-8 sequence of two to four bytes at p; 0 if there is none. */
static size_t utf8_sequence(const unsigned char *p, const unsigned char *end)
{
    unsigned char c = p[0];
    size_t left = (size_t)(end - p);

    if (c < 0xC2 || c > 0xF4)
        return 0;
    if (left < 2 || (p[1] & 0xC0) != 0x80)
        return 0;
    if (c < 0xE0)
        return 2;
    /* The second byte rules out overlong forms, surrogates and what lies beyond U+10FFFF. */
    if ((c == 0xE0 && p[1] < 0xA0) || (c == 0xED && p[1] > 0x9F) || (c == 0xF0 && p[1] < 0x90) ||
        (c == 0xF4 && p[1] > 0x8F))
        return 0;
    if (left < 3 || (p[2] & 0xC0) != 0x80)
        return 0;
    if (c < 0xF0)
        return 3;
    if (left < 4 || (p[3] & 0xC0) != 0x80)
        return 0;
    return 4;
}

static int hex_digit(unsigned char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* The four hex digits at p, or -1. */
static int32_t hex4(const unsigned char *p, const unsigned char *end)
{
    int32_t v = 0;

    if (end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int d = hex_digit(p[i]);
        if (d < 0)
            return -1;
        v = v * 16 + d;
    }
    return v;
}

/* p is at a backslash: check the escape and step over it. */
static bool scan_escape(struct mr_json_scan *s, unsigned *flags)
{
    *flags |= MR_JSON_ESCAPED;
    s->p++;
    if (s->p == s->end) {
        s->expected = "an escape";
        return false;
    }
    switch (*s->p) {
    case '"': case '\\': case '/': case 'b': case 'f': case 'n': case 'r': case 't':
        s->p++;
        return true;
    case 'u':
        break;
    default:
        s->expected = "one of \"\\/bfnrtu after a backslash";
        return false;
    }

    int32_t unit = hex4(s->p + 1, s->end);
    if (unit < 0) {
        s->expected = "four hexadecimal digits after \\u";
        return false;
    }
    s->p += 5;
    if (unit == 0)
        *flags |= MR_JSON_NUL;
    if (unit < 0xD800 || unit > 0xDFFF)
        return true;
    if (unit < 0xDC00 && s->end - s->p >= 2 && s->p[0] == '\\' && s->p[1] == 'u') {
        int32_t low = hex4(s->p + 2, s->end);
        if (low >= 0xDC00 && low <= 0xDFFF) {
            s->p += 6;
            return true;
        }
    }
    *flags |= MR_JSON_SURROGATE; /* whatever follows is looked at by itself */
    return true;
}

bool mr_json_scan_string(struct mr_json_scan *s, struct mr_json_node *node)
{
    const unsigned char *start = s->p;
    unsigned flags = 0;

    for (;;) {
        s->p = skip_plain(s->p, s->end);
        if (s->p == s->end) {
            s->expected = "a closing quotation mark";
            return false;
        }
        unsigned char c = *s->p;
        if (c == '"')
            break;
        if (c == '\\') {
            if (!scan_escape(s, &flags))
                return false;
            continue;
        }
        if (c < ' ') {
            s->expected = "an escaped control character in a string";
            return false;
        }
        size_t len = utf8_sequence(s->p, s->end);
        if (len == 0) {
            if (!s->allow_ill_formed) {
                s->expected = "well-formed UTF-8";
                return false;
            }
            flags |= MR_JSON_ILL_FORMED;
            len = 1;
        }
        s->p += len;
    }
    node->kind = MR_J_STRING;
    node->flags = (uint8_t)flags;
    node->offset = (uint32_t)(start - s->begin);
    node->len = (uint32_t)(s->p - start);
    s->p++;
    return true;
}
