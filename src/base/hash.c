/* A 64-bit hash by folded multiplication: 16 bytes a step, little-endian loads on every machine. Its values decide
 * lanes and shortened names that stand in targets, so they never change (test_hash_values_never_change). */
#include <millrace/base/hash.h>

#define K0 UINT64_C(0x9E3779B97F4A7C15)
#define K1 UINT64_C(0xD1B54A32D192ED03)
#define K2 UINT64_C(0xABC98388FB8FAC03)
#define K3 UINT64_C(0x8CB92BA72F3D8DD7)

static inline uint64_t load64(const unsigned char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static inline uint64_t load_tail(const unsigned char *p, size_t len)
{
    uint64_t word = 0;
    for (size_t i = 0; i < len; i++)
        word |= (uint64_t)p[i] << (8 * i);
    return word;
}

/* The operands are mixed in again so that a zero factor does not erase the other one. */
static inline uint64_t fold(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64) ^ a ^ (b << 32 | b >> 32);
}

uint64_t mr_hash(const void *ptr, size_t len, uint64_t seed)
{
    const unsigned char *p = ptr;
    uint64_t h = fold(seed ^ K0, (uint64_t)len ^ K1);
    size_t rest = len;
    while (rest > 16) {
        h = fold(load64(p) ^ h ^ K1, load64(p + 8) ^ (h << 29 | h >> 35) ^ K2);
        p += 16;
        rest -= 16;
    }
    uint64_t a, b;
    if (rest >= 8) {
        a = load64(p);
        b = rest == 16 ? load64(p + 8) : load_tail(p + 8, rest - 8);
    } else {
        a = load_tail(p, rest);
        b = 0;
    }
    h = fold(a ^ h ^ K2, b ^ (h << 31 | h >> 33) ^ K3);
    h ^= h >> 32;
    h *= K3;
    return h ^ h >> 29;
}

void mr_hash_hex8(struct mr_str s, char out[9])
{
    static const char hex[] = "0123456789abcdef";
    uint64_t h = mr_hash(s.ptr, s.len, 0);
    for (int i = 0; i < 8; i++)
        out[i] = hex[h >> (60 - 4 * i) & 15];
    out[8] = 0;
}
