/* ISO texts of dates, times and timestamps, both ways. Parsers are strict: two digits where ISO has two, dates that
 * exist, results that int64 microseconds can hold and that are not one of the two infinities by accident. */
#include <millrace/base/time.h>

/* A cursor over the text. Each take_… function steps on if it succeeds. */
struct cursor {
    const char *at, *end;
};

static bool take_char(struct cursor *c, char want)
{
    if (c->at == c->end || *c->at != want)
        return false;
    c->at++;
    return true;
}

static bool is_digit(const struct cursor *c)
{
    return c->at < c->end && *c->at >= '0' && *c->at <= '9';
}

static bool take_two(struct cursor *c, int max, int *out)
{
    if (c->end - c->at < 2)
        return false;
    unsigned tens = (unsigned)c->at[0] - '0', ones = (unsigned)c->at[1] - '0';
    if (tens > 9 || ones > 9 || (int)(tens * 10 + ones) > max)
        return false;
    *out = (int)(tens * 10 + ones);
    c->at += 2;
    return true;
}

static bool take_number(struct cursor *c, int min_digits, int max_digits, int64_t *out)
{
    int64_t n = 0;
    int digits = 0;
    for (; is_digit(c); c->at++) {
        if (++digits > max_digits)
            return false;
        n = n * 10 + (*c->at - '0');
    }
    *out = n;
    return digits >= min_digits;
}

static bool take_date(struct cursor *c, int64_t *days)
{
    bool is_negative = take_char(c, '-');
    if (!is_negative)
        (void)take_char(c, '+');
    int64_t year;
    int month, day;
    if (!take_number(c, 4, 6, &year) || !take_char(c, '-') || !take_two(c, 12, &month) ||
        !take_char(c, '-') || !take_two(c, 31, &day))
        return false;
    if (is_negative)
        year = -year;
    if (!mr_civil_valid(year, month, day))
        return false;
    *days = mr_days_from_civil(year, month, day);
    return true;
}

/* [.ffffff…] after the seconds; *rest: digits that are not zero were cut. */
static bool take_fraction(struct cursor *c, int64_t *us, bool *rest)
{
    *us = 0;
    *rest = false;
    if (!take_char(c, '.'))
        return true;
    if (!is_digit(c))
        return false;
    int64_t unit = 100000;
    for (; is_digit(c); c->at++) {
        *us += (*c->at - '0') * unit;
        *rest = *rest || (unit == 0 && *c->at != '0');
        unit /= 10;
    }
    return true;
}

/* :MM[:SS[.f]] after the hours, as microseconds. */
static bool take_minutes(struct cursor *c, int64_t *us, bool *rest)
{
    int minute, second = 0;
    *us = 0;
    *rest = false;
    if (!take_char(c, ':') || !take_two(c, 59, &minute))
        return false;
    if (take_char(c, ':') && (!take_two(c, 59, &second) || !take_fraction(c, us, rest)))
        return false;
    *us += (minute * 60 + second) * MR_US_PER_SEC;
    return true;
}

/* HH:MM[:SS[.f]]; 24:00 is the end of the day. */
static bool take_clock(struct cursor *c, int64_t *us)
{
    int hour;
    int64_t below;
    bool rest;
    if (!take_two(c, 24, &hour) || !take_minutes(c, &below, &rest))
        return false;
    *us = hour * INT64_C(3600) * MR_US_PER_SEC + below;
    return *us < MR_US_PER_DAY || (*us == MR_US_PER_DAY && !rest);
}

/* Z, ±HH, ±HHMM, ±HH:MM or ±HH:MM:SS (zones before 1900 have seconds), or nothing. */
static bool take_zone(struct cursor *c, int64_t *offset_us, bool *has_zone)
{
    *offset_us = 0;
    *has_zone = c->at < c->end;
    if (c->at == c->end || take_char(c, 'Z'))
        return true;
    bool is_negative = take_char(c, '-');
    int hour, minute = 0, second = 0;
    if ((!is_negative && !take_char(c, '+')) || !take_two(c, 23, &hour))
        return false;
    if (c->at < c->end) {
        bool has_colon = take_char(c, ':');
        if (!take_two(c, 59, &minute))
            return false;
        if (has_colon && take_char(c, ':') && !take_two(c, 59, &second))
            return false;
    }
    int64_t seconds = hour * INT64_C(3600) + minute * 60 + second;
    *offset_us = (is_negative ? -seconds : seconds) * MR_US_PER_SEC;
    return true;
}

static bool parse_infinity(struct mr_str s, int64_t *out)
{
    if (s.len < 8 || s.len > 9)
        return false;
    if (mr_str_eq_nocase(s, MR_STR("infinity")))
        *out = MR_TIME_INFINITY;
    else if (mr_str_eq_nocase(s, MR_STR("-infinity")))
        *out = MR_TIME_NEG_INFINITY;
    else
        return false;
    return true;
}

/* A date, and a clock if one follows, as microseconds without any zone. */
static bool take_moment(struct cursor *c, int64_t *us)
{
    int64_t days, clock_us = 0;
    if (!take_date(c, &days))
        return false;
    if ((take_char(c, 'T') || take_char(c, ' ')) && !take_clock(c, &clock_us))
        return false;
    /* Add in the direction that cannot overflow: the first days of the range begin before INT64_MIN. */
    __int128 sum = (__int128)days * MR_US_PER_DAY + clock_us;
    if (sum <= INT64_MIN || sum >= INT64_MAX)
        return false;
    *us = (int64_t)sum;
    return true;
}

bool mr_parse_date(struct mr_str s, int64_t *days)
{
    if (parse_infinity(s, days))
        return true;
    struct cursor c = {s.ptr, s.ptr + s.len};
    int64_t n;
    if (!take_date(&c, &n))
        return false;
    (void)take_char(&c, 'Z');
    if (c.at != c.end)
        return false;
    *days = n;
    return true;
}

bool mr_parse_time(struct mr_str s, int64_t *us)
{
    struct cursor c = {s.ptr, s.ptr + s.len};
    bool is_negative = take_char(&c, '-'), rest;
    int64_t hours, below;
    if (!take_number(&c, 1, 10, &hours) || !take_minutes(&c, &below, &rest))
        return false;
    (void)take_char(&c, 'Z');
    if (c.at != c.end)
        return false;
    __int128 n = (__int128)hours * 3600 * MR_US_PER_SEC + below;
    if (is_negative)
        n = -n - rest; /* floored */
    if (n <= INT64_MIN || n >= INT64_MAX)
        return false;
    *us = (int64_t)n;
    return true;
}

bool mr_parse_timestamp(struct mr_str s, int64_t *us)
{
    if (parse_infinity(s, us))
        return true;
    struct cursor c = {s.ptr, s.ptr + s.len};
    int64_t n;
    if (!take_moment(&c, &n))
        return false;
    (void)take_char(&c, 'Z');
    if (c.at != c.end)
        return false;
    *us = n;
    return true;
}

bool mr_parse_timestamptz(struct mr_str s, int64_t *us, bool *has_zone)
{
    if (parse_infinity(s, us)) {
        *has_zone = true;
        return true;
    }
    struct cursor c = {s.ptr, s.ptr + s.len};
    int64_t n, offset_us;
    bool zone;
    if (!take_moment(&c, &n) || !take_zone(&c, &offset_us, &zone) || c.at != c.end)
        return false;
    if (__builtin_sub_overflow(n, offset_us, &n) || n == INT64_MIN || n == INT64_MAX)
        return false;
    *us = n;
    *has_zone = zone;
    return true;
}

/* ---- Formatting ---- */

static size_t put_word(char *out, const char *word)
{
    size_t len = strlen(word);
    memcpy(out, word, len + 1);
    return len;
}

static char *put_digits(char *out, uint64_t n, int min_digits)
{
    char digits[20];
    int count = 0;
    do {
        digits[count++] = (char)('0' + n % 10);
        n /= 10;
    } while (n);
    while (count < min_digits)
        digits[count++] = '0';
    while (count)
        *out++ = digits[--count];
    return out;
}

static char *put_date(char *out, int64_t year, int month, int day)
{
    if (year < 0 || year > 9999)
        *out++ = year < 0 ? '-' : '+';
    out = put_digits(out, year < 0 ? 0 - (uint64_t)year : (uint64_t)year, 4);
    *out++ = '-';
    out = put_digits(out, (uint64_t)month, 2);
    *out++ = '-';
    return put_digits(out, (uint64_t)day, 2);
}

static char *put_clock(char *out, uint64_t hour, int minute, int second, int micro, bool all_digits)
{
    out = put_digits(out, hour, 2);
    *out++ = ':';
    out = put_digits(out, (uint64_t)minute, 2);
    *out++ = ':';
    out = put_digits(out, (uint64_t)second, 2);
    if (micro || all_digits) {
        *out++ = '.';
        out = put_digits(out, (uint64_t)micro, 6);
    }
    return out;
}

static bool is_infinite(int64_t n)
{
    return n == MR_TIME_INFINITY || n == MR_TIME_NEG_INFINITY;
}

static size_t put_infinity(int64_t n, char *out)
{
    return put_word(out, n == MR_TIME_INFINITY ? "infinity" : "-infinity");
}

size_t mr_format_date(int64_t days, char out[MR_TIME_TEXT])
{
    if (is_infinite(days))
        return put_infinity(days, out);
    int64_t year;
    int month, day;
    mr_civil_from_days(days, &year, &month, &day);
    char *end = put_date(out, year, month, day);
    *end = 0;
    return (size_t)(end - out);
}

size_t mr_format_time(int64_t us, bool all_digits, char out[MR_TIME_TEXT])
{
    if (is_infinite(us))
        return put_infinity(us, out);
    char *at = out;
    if (us < 0)
        *at++ = '-';
    uint64_t n = us < 0 ? 0 - (uint64_t)us : (uint64_t)us;
    uint64_t seconds = n / 1000000;
    at = put_clock(at, seconds / 3600, (int)(seconds / 60 % 60), (int)(seconds % 60), (int)(n % 1000000),
                   all_digits);
    *at = 0;
    return (size_t)(at - out);
}

size_t mr_format_timestamp(int64_t us, char separator, bool all_digits, char out[MR_TIME_TEXT])
{
    if (is_infinite(us))
        return put_infinity(us, out);
    struct mr_civil t;
    mr_civil_from_us(us, &t);
    char *at = put_date(out, t.year, t.month, t.day);
    *at++ = separator;
    at = put_clock(at, (uint64_t)t.hour, t.minute, t.second, t.micro, all_digits);
    *at = 0;
    return (size_t)(at - out);
}
