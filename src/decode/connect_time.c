/* Dates, times and instants of Connect payloads: numbers since an epoch, ISO texts, and structs of their parts. See connect.h.
 *
 * PostgreSQL's infinities arrive as two numbers (its driver's, whatever the unit) or as words. */
#include "connect.h"

#include <millrace/base/time.h>

/* What the PostgreSQL driver, and Debezium after it, uses for +infinity and -infinity. */
#define SENTINEL_INFINITY INT64_C(9223372036825200000)
#define SENTINEL_NEG_INFINITY INT64_C(-9223372036832400000)

static struct mr_value not_whole(void)
{
    return MR_BAD_VALUE("expected a whole number");
}

static bool infinity_number(int64_t v, int64_t *out)
{
    if (v == SENTINEL_INFINITY)
        *out = MR_TIME_INFINITY;
    else if (v == SENTINEL_NEG_INFINITY)
        *out = MR_TIME_NEG_INFINITY;
    else
        return false;
    return true;
}

static bool infinity_word(struct mr_str s, int64_t *out)
{
    if (mr_str_eq_nocase(s, MR_STR("infinity")) || mr_str_eq_nocase(s, MR_STR("+infinity")))
        *out = MR_TIME_INFINITY;
    else if (mr_str_eq_nocase(s, MR_STR("-infinity")))
        *out = MR_TIME_NEG_INFINITY;
    else
        return false;
    return true;
}

/* A time of day where it is one, else a duration; 24:00:00 is a duration. */
static struct mr_value time_or_duration(int64_t us)
{
    bool in_day = us >= 0 && us < MR_US_PER_DAY;
    return mr_value_time(in_day ? MR_V_TIME : MR_V_DURATION, us);
}

static struct mr_value moment(enum mr_tag tag, int64_t v, int64_t us_per_unit)
{
    int64_t us;
    if (infinity_number(v, &us))
        return mr_value_time(tag, us);
    if (__builtin_mul_overflow(v, us_per_unit, &us) || us == INT64_MAX || us == INT64_MIN)
        return MR_BAD_RANGE("beyond the range of timestamps");
    return mr_value_time(tag, us);
}

static struct mr_value moment_ns(int64_t v)
{
    int64_t us;
    if (!infinity_number(v, &us))
        us = mr_floor_div(v, 1000);
    return mr_value_time(MR_V_TIMESTAMP, us);
}

static struct mr_value date(int64_t days)
{
    if (days == INT32_MAX)
        return mr_value_time(MR_V_DATE, MR_TIME_INFINITY);
    if (days == INT32_MIN)
        return mr_value_time(MR_V_DATE, MR_TIME_NEG_INFINITY);
    if (days > INT32_MAX || days < INT32_MIN)
        return MR_BAD_RANGE("beyond the range of dates");
    return mr_value_time(MR_V_DATE, days);
}

static struct mr_value day_time(int64_t us)
{
    if (us < 0 || us > MR_US_PER_DAY)
        return MR_BAD_RANGE("no time of day");
    return time_or_duration(us);
}

static struct mr_value from_number(enum mr_semantic semantic, int64_t v)
{
    int64_t us;
    switch (semantic) {
    case MR_S_DATE:
        return date(v);
    case MR_S_TIME_MS:
        if (__builtin_mul_overflow(v, INT64_C(1000), &us))
            return MR_BAD_RANGE("beyond the range of durations");
        return time_or_duration(us);
    case MR_S_TIME_US:
        return time_or_duration(v);
    case MR_S_TIME_NS:
        return time_or_duration(mr_floor_div(v, 1000));
    case MR_S_TIMESTAMP_MS:
        return moment(MR_V_TIMESTAMP, v, 1000);
    case MR_S_TIMESTAMP_US:
        return moment(MR_V_TIMESTAMP, v, 1);
    case MR_S_TIMESTAMP_NS:
        return moment_ns(v);
    case MR_S_INSTANT_MS:
        return moment(MR_V_TIMESTAMPTZ, v, 1000);
    case MR_S_INSTANT_US:
        return moment(MR_V_TIMESTAMPTZ, v, 1);
    case MR_S_INSTANT_NS:
        return mr_value_time(MR_V_TIMESTAMPTZ, mr_floor_div(v, 1000));
    case MR_S_DAY_TIME_MS:
        if (__builtin_mul_overflow(v, INT64_C(1000), &us))
            return MR_BAD_RANGE("no time of day");
        return day_time(us);
    case MR_S_DAY_TIME_US:
        return day_time(v);
    case MR_S_DURATION_US:
        return mr_value_time(MR_V_DURATION, v);
    case MR_S_DURATION_NS:
        return mr_value_time(MR_V_DURATION, mr_floor_div(v, 1000));
    default:
        return MR_BAD_VALUE("not a temporal number");
    }
}

/* Seconds east of UTC of a trailing Z, +HH, +HHMM or +HH:MM, and the text before it. False if there is no zone. */
static bool split_zone(struct mr_str *s, int64_t *offset_s)
{
    *offset_s = 0;
    if (s->len != 0 && (s->ptr[s->len - 1] == 'Z' || s->ptr[s->len - 1] == 'z')) {
        s->len--;
        return true;
    }
    for (size_t back = 3; back <= 6 && back < s->len; back++) {
        const char *at = s->ptr + s->len - back;
        if (*at != '+' && *at != '-')
            continue;
        char digits[5] = {0};
        size_t n = 0;
        for (const char *c = at + 1; c < s->ptr + s->len && n < 4; c++) {
            if (*c != ':')
                digits[n++] = *c;
        }
        int64_t v;
        if ((n != 2 && n != 4) || !mr_parse_int64(mr_str_of(digits, n), &v) || v < 0)
            return false;
        int64_t minutes = n == 2 ? v * 60 : v / 100 * 60 + v % 100;
        *offset_s = (*at == '-' ? -minutes : minutes) * 60;
        s->len -= back;
        return true;
    }
    return false;
}

static struct mr_value from_text(enum mr_semantic semantic, struct mr_str s)
{
    int64_t v, offset_s;
    bool has_zone;
    switch (semantic) {
    case MR_S_ZONED_TIMESTAMP:
        if (infinity_word(s, &v) || mr_parse_timestamptz(s, &v, &has_zone))
            return mr_value_time(MR_V_TIMESTAMPTZ, v);
        return MR_BAD_VALUE("expected a timestamp with zone");
    case MR_S_ZONED_TIME:
        split_zone(&s, &offset_s);
        if (!mr_parse_time(s, &v))
            return MR_BAD_VALUE("expected a time with zone");
        if (offset_s != 0)
            v = mr_floor_mod(v - offset_s * MR_US_PER_SEC, MR_US_PER_DAY);
        return time_or_duration(v);
    case MR_S_ISO_DATE:
        if (infinity_word(s, &v) || mr_parse_date(s, &v))
            return mr_value_time(MR_V_DATE, v);
        return MR_BAD_VALUE("expected an ISO date");
    case MR_S_ISO_TIME:
        if (mr_parse_time(s, &v))
            return time_or_duration(v);
        return MR_BAD_VALUE("expected an ISO time");
    case MR_S_ISO_TIMESTAMP:
        if (infinity_word(s, &v) || mr_parse_timestamp(s, &v))
            return mr_value_time(MR_V_TIMESTAMP, v);
        return MR_BAD_VALUE("expected an ISO timestamp");
    default:
        return MR_BAD_VALUE("not a temporal text");
    }
}

/* ---- Structs of parts ---- */

enum part { YEAR, MONTH, DAY, HOUR, MINUTE, SECOND, NANO, OFFSET, PARTS };

static const char *const part_names[PARTS][2] = {
    {"year", "years"},     {"month", "months"},   {"day", "days"},    {"hour", "hours"},
    {"minute", "minutes"}, {"second", "seconds"}, {"nano", "nanos"}, {"offsetSeconds", "offsetSeconds"},
};

/* The struct's members by name; those that are missing or null are 0. */
static bool read_parts(const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar,
                       int64_t out[PARTS])
{
    memset(out, 0, PARTS * sizeof(out[0]));
    for (uint32_t n = mr_json_first(doc, node); n != MR_JSON_NONE; n = mr_json_next_in(doc, node, n)) {
        struct mr_str name = mr_json_string(doc, n, ar, NULL);
        for (int p = 0; p < PARTS; p++) {
            if (!mr_str_eq_z(name, part_names[p][0]) && !mr_str_eq_z(name, part_names[p][1]))
                continue;
            if (!mr_json_is(doc, n + 1, MR_J_NULL) && !mr_connect_int64(doc, n + 1, ar, &out[p]))
                return false;
            /* Far beyond every calendar, and far from overflow below. */
            if (out[p] > INT64_C(1) << 40 || out[p] < -(INT64_C(1) << 40))
                return false;
        }
    }
    return true;
}

static bool clock_us(const int64_t p[PARTS], int64_t *out)
{
    __int128 us = (__int128)(p[HOUR] * 3600 + p[MINUTE] * 60 + p[SECOND]) * MR_US_PER_SEC +
                  mr_floor_div(p[NANO], 1000);
    *out = (int64_t)us;
    return us < INT64_MAX && us > INT64_MIN;
}

static struct mr_value from_parts(enum mr_semantic semantic, const struct mr_json_doc *doc,
                                  uint32_t node, struct mr_arena *ar)
{
    int64_t p[PARTS], us;
    if (!mr_json_is(doc, node, MR_J_OBJECT) || !read_parts(doc, node, ar, p) || !clock_us(p, &us))
        return MR_BAD_VALUE("expected an object of date and time parts");

    if (semantic == MR_S_STRUCT_TIME)
        return time_or_duration(us);
    if (semantic == MR_S_STRUCT_DURATION) {
        int64_t total;
        if (p[YEAR] != 0 || p[MONTH] != 0)
            return MR_BAD_RANGE("a duration of months or years has no fixed length");
        if (__builtin_mul_overflow(p[DAY], MR_US_PER_DAY, &total) ||
            __builtin_add_overflow(total, us, &total))
            return MR_BAD_RANGE("beyond the range of durations");
        return time_or_duration(total);
    }

    /* MySQL's zero dates, and dates with a zero month or day, are no dates anywhere else. */
    if (p[MONTH] == 0 || p[DAY] == 0)
        return mr_value_null();
    if (p[YEAR] > 300000 || p[YEAR] < -300000 || p[MONTH] < 1 || p[MONTH] > 12 || p[DAY] < 1 ||
        p[DAY] > 31 || !mr_civil_valid(p[YEAR], (int)p[MONTH], (int)p[DAY]))
        return MR_BAD_VALUE("no date of the calendar");
    int64_t days = mr_days_from_civil(p[YEAR], (int)p[MONTH], (int)p[DAY]);
    if (semantic == MR_S_STRUCT_DATE)
        return date(days);

    if (us < 0 || us > MR_US_PER_DAY)
        return MR_BAD_VALUE("no time of day");
    int64_t at;
    if (__builtin_mul_overflow(days, MR_US_PER_DAY, &at) ||
        __builtin_add_overflow(at, us - p[OFFSET] * MR_US_PER_SEC, &at))
        return MR_BAD_RANGE("beyond the range of timestamps");
    return mr_value_time(
        semantic == MR_S_STRUCT_ZONED_TIMESTAMP ? MR_V_TIMESTAMPTZ : MR_V_TIMESTAMP, at);
}

struct mr_value mr_connect_time(const struct mr_connect_schema *schema, const struct mr_json_doc *doc,
                                uint32_t node, struct mr_arena *ar)
{
    enum mr_semantic semantic = (enum mr_semantic)schema->semantic;
    if (semantic >= MR_S_STRUCT_DATE)
        return from_parts(semantic, doc, node, ar);

    if (semantic >= MR_S_ZONED_TIMESTAMP) {
        if (!mr_json_is(doc, node, MR_J_STRING))
            return MR_BAD_VALUE("expected a text");
        return from_text(semantic, mr_json_string(doc, node, ar, NULL));
    }

    int64_t v;
    if (!mr_connect_int64(doc, node, ar, &v))
        return not_whole();
    return from_number(semantic, v);
}
