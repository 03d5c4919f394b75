/* Decimal numbers as text: nothing here goes through a double. A "plain" decimal is
 * [-]digits[.digits], a digit before the point, no exponent, no leading zeros, no "-0" without
 * fraction digits that are not zero; trailing zeros of the fraction are kept. The words NaN,
 * Infinity and -Infinity pass where a function says so. */
#ifndef MILLRACE_BASE_DECIMAL_H
#define MILLRACE_BASE_DECIMAL_H

#include <millrace/base/arena.h>
#include <millrace/base/buf.h>
#include <millrace/base/error.h>

/* What a number's text says about itself. */
struct mr_decimal_info {
    bool negative;
    bool is_zero;
    bool has_point;           /* fraction or exponent was written */
    uint32_t int_digits;      /* significant digits before the point after resolving the exponent */
    uint32_t frac_digits;     /* digits after the point after resolving the exponent, zeros kept */
    uint32_t frac_significant; /* the same without trailing zeros */
    uint32_t digits;          /* without leading and trailing zeros, wherever the point is; 0 for zero */
};

/* Analyse [-+]digits[.digits][(e|E)[+-]digits]. False if it is no number. Exponents are kept in
 * bounds: an absolute exponent above 20,000 is false. */
bool mr_decimal_parse(struct mr_str text, struct mr_decimal_info *info);
/* The plain form in `ar`; the input must have parsed. "1.50E+1" → "15.0", "007" → "7". */
struct mr_str mr_decimal_plain(struct mr_str text, struct mr_arena *ar);
/* Is the text in plain form already? */
bool mr_decimal_is_plain(struct mr_str text);
/* The canonical form for keys and comparing: plain without trailing fraction zeros, "0" for zero. */
struct mr_str mr_decimal_canonical(struct mr_str text, struct mr_arena *ar);
void mr_decimal_append_canonical(struct mr_str text, struct mr_buf *out);
/* Big-endian two's complement of the unscaled integer (Connect's Decimal, Java's BigInteger) times
 * 10^-scale, plain, with exactly `scale` fraction digits when scale ≥ 0. Empty bytes are false. At most
 * 4,096 bytes. */
bool mr_decimal_from_bytes(struct mr_str bytes, int32_t scale, struct mr_arena *ar,
                           struct mr_str *out);
/* Whole-valued and within int64? ("5.00" and "5e2" are.) */
bool mr_decimal_to_int64(struct mr_str text, int64_t *out);
/* <0, 0, >0 by value. Both must parse. */
int mr_decimal_cmp(struct mr_str a, struct mr_str b);
/* The shortest text that reads back as the same double / float; plain or with exponent as JSON allows;
 * "NaN", "Infinity", "-Infinity" for the specials. Buffer of 32 bytes; returns the length. */
size_t mr_double_text(double value, char out[32]);
size_t mr_float_text(float value, char out[32]);
/* Does the text, read as a double, print back to the same number (by value)? */
bool mr_decimal_is_double(struct mr_str text);
/* Is the text its double written with as many digits as the text has? True where mr_decimal_is_double is, and for
 * doubles written with 16 or 17 digits ("0.10000000000000001"). */
bool mr_decimal_shows_double(struct mr_str text);

#endif
