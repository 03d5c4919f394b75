/* What stands where in 64 bytes of JSON, a bit a byte: the scanner of record lines steps over nested values block by block with it. There
 * are two ways to the same masks, so that processors without SSE2 need no other scanner; blanks may include control characters and bytes
 * from 0x80 on in one of them, which cannot stand outside strings. No state, any thread. */
#ifndef MILLRACE_SOURCE_JSON_MASK_H
#define MILLRACE_SOURCE_JSON_MASK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define MR_JSON_BLOCK ((size_t)64)

struct mr_json_mask {
    uint64_t quotes, backslashes;
    uint64_t opens, closes; /* brackets and braces */
    uint64_t blanks;
};

static inline struct mr_json_mask mr_json_mask_plain(const char *p)
{
    struct mr_json_mask m = {0, 0, 0, 0, 0};

    for (size_t i = 0; i < MR_JSON_BLOCK; i++) {
        uint64_t bit = UINT64_C(1) << i;

        switch (p[i]) {
        case '"':
            m.quotes |= bit;
            break;
        case '\\':
            m.backslashes |= bit;
            break;
        case '{':
        case '[':
            m.opens |= bit;
            break;
        case '}':
        case ']':
            m.closes |= bit;
            break;
        case ' ':
        case '\t':
        case '\r':
        case '\n':
            m.blanks |= bit;
            break;
        default:
            break;
        }
    }
    return m;
}

#ifdef __SSE2__
static inline struct mr_json_mask mr_json_mask_of(const char *p)
{
    struct mr_json_mask m = {0, 0, 0, 0, 0};

    for (unsigned i = 0; i < MR_JSON_BLOCK; i += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
        /* A bracket and its brace differ in this bit alone. */
        __m128i folded = _mm_or_si128(v, _mm_set1_epi8(0x20));
        __m128i quotes = _mm_cmpeq_epi8(v, _mm_set1_epi8('"'));
        __m128i backslashes = _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'));
        __m128i opens = _mm_cmpeq_epi8(folded, _mm_set1_epi8('{'));
        __m128i closes = _mm_cmpeq_epi8(folded, _mm_set1_epi8('}'));
        __m128i blanks = _mm_cmplt_epi8(v, _mm_set1_epi8(' ' + 1));

        m.quotes |= (uint64_t)(unsigned)_mm_movemask_epi8(quotes) << i;
        m.backslashes |= (uint64_t)(unsigned)_mm_movemask_epi8(backslashes) << i;
        m.opens |= (uint64_t)(unsigned)_mm_movemask_epi8(opens) << i;
        m.closes |= (uint64_t)(unsigned)_mm_movemask_epi8(closes) << i;
        m.blanks |= (uint64_t)(unsigned)_mm_movemask_epi8(blanks) << i;
    }
    return m;
}
#else
static inline struct mr_json_mask mr_json_mask_of(const char *p)
{
    return mr_json_mask_plain(p);
}
#endif

/* The bytes that a backslash makes ordinary. *is_escaped: is the first byte one of them; afterwards that of the next block. */
static inline uint64_t mr_json_mask_escaped(uint64_t backslashes, uint64_t *is_escaped)
{
    uint64_t escaped = *is_escaped;

    backslashes &= ~escaped;
    *is_escaped = 0;
    while (backslashes != 0) {
        uint64_t first = backslashes & (UINT64_C(0) - backslashes);

        if (first >> 63)
            *is_escaped = 1;
        escaped |= first << 1;
        backslashes &= ~(first | first << 1);
    }
    return escaped;
}

/* The bytes from an odd quotation mark up to the one after it, without that. */
static inline uint64_t mr_json_mask_inside(uint64_t quotes)
{
    for (unsigned shift = 1; shift < 64; shift *= 2)
        quotes ^= quotes << shift;
    return quotes;
}

#endif
