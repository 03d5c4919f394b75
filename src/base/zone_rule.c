/* See zone_rule.h. "CET-1CEST,M3.5.0,M10.5.0/3", "<+08>-8", "EST5EDT,M3.2.0,M11.1.0". */
#include "zone_rule.h"

#include <millrace/base/time.h>

struct scan {
    const char *p, *end;
};

static bool is_digit(const struct scan *s)
{
    return s->p < s->end && *s->p >= '0' && *s->p <= '9';
}

static bool take(struct scan *s, char c)
{
    if (s->p == s->end || *s->p != c)
        return false;
    s->p++;
    return true;
}

static bool number(struct scan *s, int max, int *out)
{
    int v = 0;
    if (!is_digit(s))
        return false;
    while (is_digit(s)) {
        v = v * 10 + (*s->p++ - '0');
        if (v > max)
            return false;
    }
    *out = v;
    return true;
}

/* The zone's short name: letters, or anything in angle brackets. */
static bool skip_name(struct scan *s)
{
    const char *from = s->p;
    if (take(s, '<')) {
        while (s->p < s->end && *s->p != '>')
            s->p++;
        return take(s, '>');
    }
    while (s->p < s->end && ((*s->p >= 'A' && *s->p <= 'Z') || (*s->p >= 'a' && *s->p <= 'z')))
        s->p++;
    return s->p > from;
}

/* [+-]h[:mm[:ss]] in seconds. */
static bool clock_time(struct scan *s, int32_t *out)
{
    int h, m = 0, sec = 0;
    bool negative = take(s, '-');
    if (!negative)
        (void)take(s, '+');
    if (!number(s, 167, &h))
        return false;
    if (take(s, ':') && (!number(s, 59, &m) || (take(s, ':') && !number(s, 59, &sec))))
        return false;
    *out = (h * 60 + m) * 60 + sec;
    if (negative)
        *out = -*out;
    return true;
}

static bool day_of_year(struct scan *s, struct mr_zone_day *out)
{
    *out = (struct mr_zone_day){.form = 'N', .time_s = 7200};
    if (take(s, 'M')) {
        out->form = 'M';
        if (!number(s, 12, &out->month) || out->month == 0 || !take(s, '.') || !number(s, 5, &out->week) || out->week == 0 ||
            !take(s, '.') || !number(s, 6, &out->day))
            return false;
    } else {
        if (take(s, 'J'))
            out->form = 'J';
        if (!number(s, 365, &out->day) || (out->form == 'J' && out->day == 0))
            return false;
    }
    return !take(s, '/') || clock_time(s, &out->time_s);
}

bool mr_zone_rule_parse(struct mr_str text, struct mr_zone_rule *out)
{
    struct scan s = {text.ptr, text.ptr + text.len};
    int32_t west;
    *out = (struct mr_zone_rule){0};
    if (!skip_name(&s) || !clock_time(&s, &west))
        return false;
    out->standard_s = out->summer_s = -west;
    if (s.p == s.end)
        return true;

    out->has_summer = true;
    out->summer_s = out->standard_s + 3600;
    if (!skip_name(&s))
        return false;
    if (s.p < s.end && *s.p != ',') {
        if (!clock_time(&s, &west))
            return false;
        out->summer_s = -west;
    }
    return take(&s, ',') && day_of_year(&s, &out->start) && take(&s, ',') && day_of_year(&s, &out->end) && s.p == s.end;
}

static bool is_leap(int64_t year)
{
    return mr_civil_valid(year, 2, 29);
}

/* Days since 1970 of the day in that year. */
static int64_t day_in(const struct mr_zone_day *d, int64_t year)
{
    int64_t first = mr_days_from_civil(year, 1, 1);
    if (d->form == 'N')
        return first + d->day;
    if (d->form == 'J')
        return first + d->day - 1 + (is_leap(year) && d->day >= 60);

    int64_t day = mr_days_from_civil(year, d->month, 1);
    int64_t weekday = mr_floor_mod(day + 4, 7); /* 1970-01-01 was a Thursday */
    day += mr_floor_mod(d->day - weekday, 7) + 7 * (d->week - 1);
    int64_t next = d->month == 12 ? mr_days_from_civil(year + 1, 1, 1) : mr_days_from_civil(year, d->month + 1, 1);
    return day < next ? day : day - 7; /* week 5 is the last one */
}

void mr_zone_rule_year(const struct mr_zone_rule *rule, int64_t year, int64_t *start, int64_t *end)
{
    *start = day_in(&rule->start, year) * 86400 + rule->start.time_s - rule->standard_s;
    *end = day_in(&rule->end, year) * 86400 + rule->end.time_s - rule->summer_s;
}
