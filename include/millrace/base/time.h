/* Civil time without libc's global state: days and microseconds since 1970-01-01 in the proleptic
 * Gregorian calendar, for any int64. Years are astronomical (0 = 1 BC). */
#ifndef MILLRACE_BASE_TIME_H
#define MILLRACE_BASE_TIME_H

#include <millrace/base/str.h>

#define MR_US_PER_DAY INT64_C(86400000000)
#define MR_US_PER_SEC INT64_C(1000000)
/* PostgreSQL's infinities in every temporal kind. */
#define MR_TIME_INFINITY INT64_MAX
#define MR_TIME_NEG_INFINITY INT64_MIN

struct mr_civil {
    int64_t year;
    int month, day;         /* 1…12, 1…31 */
    int hour, minute, second;
    int micro;              /* 0…999999 */
};

int64_t mr_days_from_civil(int64_t year, int month, int day);
void mr_civil_from_days(int64_t days, int64_t *year, int *month, int *day);
void mr_civil_from_us(int64_t us, struct mr_civil *out); /* floors, negative too */
bool mr_civil_valid(int64_t year, int month, int day);

/* Floor division, right for negative numbers. */
static inline int64_t mr_floor_div(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}
static inline int64_t mr_floor_mod(int64_t a, int64_t b)
{
    int64_t rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/* Parse: false if the text is not of the form or the date does not exist. Fractions beyond six digits
 * are cut (floored). `T` or a blank between date and time. Years may have a sign and up to six digits. */
bool mr_parse_date(struct mr_str s, int64_t *days);             /* YYYY-MM-DD with an optional Z */
bool mr_parse_time(struct mr_str s, int64_t *us);               /* [-]H…H:MM[:SS[.f]][Z]; hours may exceed 23 */
bool mr_parse_timestamp(struct mr_str s, int64_t *us);          /* wall clock; a trailing Z is allowed, ignored */
/* With Z, ±HH, ±HHMM or ±HH:MM; *has_zone false if none was there (then read as UTC). */
bool mr_parse_timestamptz(struct mr_str s, int64_t *us, bool *has_zone);

/* Format into a buffer of at least MR_TIME_TEXT bytes; return the length. Six fraction digits if
 * any is not zero, else none, unless `all_digits`. Years outside 0…9999 get a sign and all their digits. */
#define MR_TIME_TEXT 48
size_t mr_format_date(int64_t days, char out[MR_TIME_TEXT]);
size_t mr_format_time(int64_t us, bool all_digits, char out[MR_TIME_TEXT]); /* [-]HH:MM:SS[.ffffff] */
size_t mr_format_timestamp(int64_t us, char separator, bool all_digits, char out[MR_TIME_TEXT]);

int64_t mr_now_us(void);           /* wall clock, since 1970 */
int64_t mr_monotonic_ms(void);
void mr_sleep_ms(int64_t ms);

#endif
