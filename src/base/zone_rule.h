/* The rule at the end of a zone file (the form of the variable TZ): what holds after the last transition that the file lists. */
#ifndef MILLRACE_BASE_ZONE_RULE_H
#define MILLRACE_BASE_ZONE_RULE_H

#include <millrace/base/str.h>

/* A day of the year, and the time on it at which the clock is changed. */
struct mr_zone_day {
    char form;      /* 'J': day 1…365 without 29 February; 'N': day 0…365 with it; 'M': month, week, weekday */
    int day, month, week;
    int32_t time_s; /* may be negative or beyond a day */
};

struct mr_zone_rule {
    bool has_summer;
    int32_t standard_s, summer_s; /* east of UTC */
    struct mr_zone_day start, end; /* of summer time, on the wall clock before each */
};

bool mr_zone_rule_parse(struct mr_str text, struct mr_zone_rule *out);
/* The instants (seconds since 1970) at which summer time begins and ends in a year. */
void mr_zone_rule_year(const struct mr_zone_rule *rule, int64_t year, int64_t *start, int64_t *end);

#endif
