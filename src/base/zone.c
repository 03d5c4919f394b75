/* Zone files (TZif, all versions) and fixed offsets. See zone.h. */
#include <millrace/base/zone.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <millrace/base/buf.h>
#include <millrace/base/mem.h>
#include <millrace/base/time.h>

#include "zone_rule.h"

#define MAX_FILE (1u << 20)
#define DAY_S 86400

struct transition {
    int64_t at_s;     /* instant */
    int32_t offset_s; /* from then on */
};

struct mr_zone {
    int32_t first_s;  /* before all transitions */
    struct transition *transitions;
    size_t count;
    bool has_rule;    /* after all of them */
    struct mr_zone_rule rule;
};

/* ---- Offsets ---- */

/* +8, -03, +0530, +05:30. */
static bool parse_offset(const char *text_z, int32_t *out)
{
    char digits[5] = {0};
    size_t n = 0;
    const char *p = text_z + 1;
    if (*text_z != '+' && *text_z != '-')
        return false;
    for (; *p != '\0'; p++) {
        if (*p == ':' && n == 2 && p == text_z + 3)
            continue;
        if (*p < '0' || *p > '9' || n == 4)
            return false;
        digits[n++] = *p;
    }
    if (n == 0 || n == 3)
        return false;
    int64_t hours, minutes = 0;
    if (!mr_parse_int64(mr_str_of(digits, n <= 2 ? n : 2), &hours) ||
        (n == 4 && !mr_parse_int64(mr_str_of(digits + 2, 2), &minutes)) || hours > 18 || minutes > 59)
        return false;
    *out = (int32_t)((hours * 60 + minutes) * 60) * (*text_z == '-' ? -1 : 1);
    return true;
}

static bool is_utc(const char *name_z)
{
    struct mr_str name = mr_str_z(name_z);
    return mr_str_eq_nocase(name, MR_STR("UTC")) || mr_str_eq_nocase(name, MR_STR("GMT")) || mr_str_eq_nocase(name, MR_STR("Z"));
}

/* ---- Zone files ---- */

static int64_t read_be(const unsigned char *p, size_t bytes)
{
    uint64_t v = (p[0] & 0x80) != 0 ? UINT64_MAX : 0;
    for (size_t i = 0; i < bytes; i++)
        v = v << 8 | p[i];
    return (int64_t)v;
}

/* Counts of one block, from its header of 44 bytes. */
struct block {
    size_t isut, isstd, leap, times, types, chars;
    size_t width; /* bytes of a time */
    size_t len;   /* after the header */
};

static bool read_header(struct mr_str file, size_t at, size_t width, struct block *b)
{
    if (file.len < at + 44 || memcmp(file.ptr + at, "TZif", 4) != 0)
        return false;
    const unsigned char *p = (const unsigned char *)file.ptr + at + 20;
    size_t *const counts[] = {&b->isut, &b->isstd, &b->leap, &b->times, &b->types, &b->chars};
    for (size_t i = 0; i < 6; i++) {
        int64_t n = read_be(p + 4 * i, 4);
        if (n < 0 || n > MAX_FILE)
            return false;
        *counts[i] = (size_t)n;
    }
    b->width = width;
    b->len = b->times * (width + 1) + b->types * 6 + b->chars + b->leap * (width + 4) + b->isstd + b->isut;
    return b->types != 0 && file.len - at - 44 >= b->len;
}

static bool read_block(struct mr_str file, size_t at, const struct block *b, struct mr_zone *zone)
{
    const unsigned char *times = (const unsigned char *)file.ptr + at + 44;
    const unsigned char *which = times + b->times * b->width;
    const unsigned char *types = which + b->times;
    zone->first_s = (int32_t)read_be(types, 4);
    zone->count = b->times;
    zone->transitions = mr_xcalloc(b->times + 1, sizeof(*zone->transitions));
    for (size_t i = 0; i < b->times; i++) {
        if (which[i] >= b->types)
            return false;
        struct transition *t = &zone->transitions[i];
        t->at_s = read_be(times + i * b->width, b->width);
        t->offset_s = (int32_t)read_be(types + 6 * (size_t)which[i], 4);
        if (t->offset_s > 2 * DAY_S || t->offset_s < -2 * DAY_S || (i > 0 && t->at_s <= t[-1].at_s))
            return false;
    }
    return zone->first_s <= 2 * DAY_S && zone->first_s >= -2 * DAY_S;
}

static bool read_zone(struct mr_str file, struct mr_zone *zone)
{
    struct block b;
    if (!read_header(file, 0, 4, &b))
        return false;
    if (file.ptr[4] == '\0')
        return read_block(file, 0, &b, zone);

    size_t second = 44 + b.len;
    if (!read_header(file, second, 8, &b) || !read_block(file, second, &b, zone))
        return false;
    struct mr_str footer = mr_str_of(file.ptr + second + 44 + b.len, file.len - second - 44 - b.len);
    if (footer.len < 2 || footer.ptr[0] != '\n')
        return true;
    ptrdiff_t end = mr_str_find(mr_str_of(footer.ptr + 1, footer.len - 1), '\n');
    if (end <= 0)
        return true;
    zone->has_rule = mr_zone_rule_parse(mr_str_of(footer.ptr + 1, (size_t)end), &zone->rule);
    return zone->has_rule;
}

/* A name that stays inside the folder of the zones. */
static bool is_file_name(const char *name_z)
{
    if (*name_z == '\0' || *name_z == '/' || strlen(name_z) > 200 || strstr(name_z, "..") != NULL)
        return false;
    for (const char *p = name_z; *p != '\0'; p++) {
        bool is_plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') ||
                        strchr("/_-+", *p) != NULL;
        if (!is_plain)
            return false;
    }
    return true;
}

static bool load_file(const char *name_z, struct mr_zone *zone, int *why)
{
    const char *folder_z = getenv("TZDIR");
    struct mr_buf path = MR_BUF_INIT(8192);
    mr_buf_printf(&path, "%s/%s", folder_z != NULL && *folder_z != '\0' ? folder_z : "/usr/share/zoneinfo", name_z);
    FILE *in = fopen(mr_buf_z(&path), "rbe");
    *why = in == NULL ? errno : 0;
    mr_buf_free(&path);
    if (in == NULL)
        return false;

    struct mr_buf bytes = MR_BUF_INIT(MAX_FILE);
    char part[4096];
    size_t n;
    while ((n = fread(part, 1, sizeof(part), in)) > 0)
        mr_buf_append(&bytes, part, n);
    (void)fclose(in);
    bool ok = !bytes.overflow && read_zone(mr_buf_str(&bytes), zone);
    mr_buf_free(&bytes);
    return ok;
}

enum mr_status mr_zone_open(const char *name_z, struct mr_zone **out, struct mr_error *err)
{
    struct mr_zone *zone = mr_xcalloc(1, sizeof(*zone));
    int why = 0;
    *out = zone;
    if (is_utc(name_z) || parse_offset(name_z, &zone->first_s))
        return MR_OK;
    if (is_file_name(name_z) && load_file(name_z, zone, &why))
        return MR_OK;

    mr_zone_close(zone);
    *out = NULL;
    enum mr_status status = mr_fail(err, MR_E_CONFIG, "there is no time zone \"%.200s\"%s%s", name_z, why != 0 ? ": " : "",
                                    why != 0 ? strerror(why) : "");
    mr_error_hint(err, "write a name such as Europe/Berlin (names need the package tzdata), or an offset such as +08:00");
    return status;
}

void mr_zone_close(struct mr_zone *zone)
{
    if (zone == NULL)
        return;
    mr_xfree(zone->transitions);
    mr_xfree(zone);
}

/* ---- Questions ---- */

/* The first transition after an instant. False if there is none. */
static bool next_transition(const struct mr_zone *zone, int64_t after_s, struct transition *out)
{
    size_t low = 0, high = zone->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (zone->transitions[middle].at_s > after_s)
            high = middle;
        else
            low = middle + 1;
    }
    if (low < zone->count) {
        *out = zone->transitions[low];
        return true;
    }
    if (!zone->has_rule || !zone->rule.has_summer)
        return false;

    int64_t year, start, end;
    int month, day;
    bool found = false;
    mr_civil_from_days(mr_floor_div(after_s, DAY_S), &year, &month, &day);
    for (int64_t y = year - 1; y <= year + 1; y++) {
        mr_zone_rule_year(&zone->rule, y, &start, &end);
        const struct transition both[] = {{start, zone->rule.summer_s}, {end, zone->rule.standard_s}};
        for (size_t i = 0; i < 2; i++) {
            if (both[i].at_s > after_s && (!found || both[i].at_s < out->at_s)) {
                *out = both[i];
                found = true;
            }
        }
    }
    return found;
}

/* By the rule: which of the two changes was the last one? */
static int32_t rule_offset(const struct mr_zone_rule *rule, int64_t utc_s)
{
    if (!rule->has_summer)
        return rule->standard_s;
    int64_t year, start, end, last = INT64_MIN;
    int month, day;
    int32_t offset = rule->standard_s;
    mr_civil_from_days(mr_floor_div(utc_s, DAY_S), &year, &month, &day);
    for (int64_t y = year - 1; y <= year + 1; y++) {
        mr_zone_rule_year(rule, y, &start, &end);
        if (start <= utc_s && start > last) {
            last = start;
            offset = rule->summer_s;
        }
        if (end <= utc_s && end > last) {
            last = end;
            offset = rule->standard_s;
        }
    }
    return offset;
}

int32_t mr_zone_offset(const struct mr_zone *zone, int64_t utc_s)
{
    if (zone->has_rule && (zone->count == 0 || utc_s >= zone->transitions[zone->count - 1].at_s))
        return rule_offset(&zone->rule, utc_s);
    int32_t offset = zone->first_s;
    size_t low = 0, high = zone->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (zone->transitions[middle].at_s <= utc_s) {
            offset = zone->transitions[middle].offset_s;
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return offset;
}

bool mr_zone_to_utc(const struct mr_zone *zone, int64_t local_us, int64_t *utc_us)
{
    int32_t offset = zone->first_s;
    if (zone->count != 0 || zone->has_rule) {
        /* Walk over the changes around this clock; each has its place on the clock that it ends. */
        int64_t local_s = mr_floor_div(local_us, MR_US_PER_SEC), at = local_s - 3 * DAY_S;
        struct transition t;
        offset = mr_zone_offset(zone, at);
        while (next_transition(zone, at, &t) && t.at_s < local_s + 3 * DAY_S) {
            int32_t later = t.offset_s > offset ? t.offset_s : offset;
            if (local_s < t.at_s + later)
                break;
            offset = t.offset_s;
            at = t.at_s;
        }
    }
    return !__builtin_sub_overflow(local_us, (int64_t)offset * MR_US_PER_SEC, utc_us);
}
