/* Borrowed strings: pointer and length into somebody else's bytes. Nobody owns them; they
 * never outlive the batch (or the object) whose memory they point into. Not NUL-terminated. */
#ifndef MILLRACE_BASE_STR_H
#define MILLRACE_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct mr_str {
    const char *ptr; /* NULL only if len is 0 */
    size_t len;      /* bytes */
};

#define MR_STR(literal) ((struct mr_str){(literal), sizeof(literal) - 1})
#define MR_STR_FMT(s) (int)(s).len, (s).ptr ? (s).ptr : "" /* for "%.*s" */

static inline struct mr_str mr_str_of(const char *ptr, size_t len)
{
    return (struct mr_str){ptr, len};
}

static inline struct mr_str mr_str_z(const char *text_z)
{
    return (struct mr_str){text_z, text_z ? strlen(text_z) : 0};
}

static inline bool mr_str_eq(struct mr_str a, struct mr_str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool mr_str_eq_z(struct mr_str a, const char *b_z)
{
    size_t len = strlen(b_z);
    return a.len == len && (len == 0 || memcmp(a.ptr, b_z, len) == 0);
}

static inline bool mr_str_starts(struct mr_str s, struct mr_str prefix)
{
    return s.len >= prefix.len && (prefix.len == 0 || memcmp(s.ptr, prefix.ptr, prefix.len) == 0);
}

static inline bool mr_str_ends(struct mr_str s, struct mr_str suffix)
{
    return s.len >= suffix.len &&
           (suffix.len == 0 || memcmp(s.ptr + s.len - suffix.len, suffix.ptr, suffix.len) == 0);
}

/* <0, 0, >0 by bytes, then by length. */
int mr_str_cmp(struct mr_str a, struct mr_str b);
/* ASCII case only. */
bool mr_str_eq_nocase(struct mr_str a, struct mr_str b);
/* Without ASCII white space at both ends. */
struct mr_str mr_str_trim(struct mr_str s);
/* Index of the first/last byte c, or -1. */
ptrdiff_t mr_str_find(struct mr_str s, char c);
ptrdiff_t mr_str_rfind(struct mr_str s, char c);

/* Whole text as an integer: optional sign, digits only, in range; false otherwise. */
bool mr_parse_int64(struct mr_str s, int64_t *out);
bool mr_parse_uint64(struct mr_str s, uint64_t *out);
/* Whole text as a double (JSON grammar plus NaN, Infinity, -Infinity), correctly rounded; false if a number is too
 * large to be finite. */
bool mr_parse_double(struct mr_str s, double *out);
/* Levenshtein distance, for "did you mean"; texts over 64 bytes count as far. */
size_t mr_str_distance(struct mr_str a, struct mr_str b);

#endif
