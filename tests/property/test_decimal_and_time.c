/* Properties of decimals, doubles and times, over random values. A failure names its seed: add it to `seeds`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <millrace/base/decimal.h>
#include <millrace/base/time.h>
#include <millrace/base/utf8.h>
#include <millrace/model/value.h>

static const uint64_t seeds[] = {1, 2, 20240229, 0x9E3779B97F4A7C15};
#define SEEDS (sizeof(seeds) / sizeof(seeds[0]))

struct random {
    uint64_t seed, state;
};

static uint64_t next(struct random *r)
{
    uint64_t z = r->state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static size_t below(struct random *r, size_t n)
{
    return (size_t)(next(r) % n);
}

/* Numbers of all sizes, the borders of int64 more often than by chance. */
static int64_t any_int64(struct random *r)
{
    static const int64_t borders[] = {0, 1, -1, INT64_MAX, INT64_MIN, INT64_MAX - 1, INT64_MIN + 1, 1000000, -1000000};
    if (below(r, 16) == 0)
        return borders[below(r, sizeof(borders) / sizeof(borders[0]))];
    return (int64_t)(next(r)) >> below(r, 64);
}

/* A decimal text in any of its spellings. */
static struct mr_str any_decimal(struct random *r, struct mr_arena *ar)
{
    char *text = mr_arena_alloc(ar, 200);
    size_t len = 0;
    size_t sign = below(r, 4);
    if (sign < 2)
        text[len++] = sign ? '-' : '+';
    size_t most = below(r, 8) == 0 ? 60 : 6;
    for (size_t zeros = below(r, 4) == 0 ? below(r, 5) : 0; zeros > 0; zeros--)
        text[len++] = '0';
    for (size_t digits = 1 + below(r, most); digits > 0; digits--)
        text[len++] = (char)('0' + (below(r, 3) ? below(r, 10) : 0));
    if (below(r, 2)) {
        text[len++] = '.';
        for (size_t digits = 1 + below(r, most); digits > 0; digits--)
            text[len++] = (char)('0' + (below(r, 3) ? below(r, 10) : 0));
    }
    if (below(r, 2))
        len += (size_t)snprintf(text + len, 20, "%c%s%d", below(r, 2) ? 'e' : 'E', below(r, 4) ? "" : "-",
                                (int)below(r, 40));
    return mr_str_of(text, len);
}

static void fail_with(const struct random *r, const char *what, struct mr_str text)
{
    fail_msg("seed %llu: %s: \"%.*s\"", (unsigned long long)r->seed, what, MR_STR_FMT(text));
}

static void for_each_seed(void (*property)(struct random *, struct mr_arena *), int rounds)
{
    struct mr_arena *ar = mr_arena_create(0);
    for (size_t i = 0; i < SEEDS; i++) {
        struct random r = {seeds[i], seeds[i]};
        for (int round = 0; round < rounds; round++) {
            property(&r, ar);
            mr_arena_reset(ar);
        }
    }
    mr_arena_destroy(ar);
}

/* ---- Decimals ---- */

static void plain_is_plain(struct random *r, struct mr_arena *ar)
{
    struct mr_str text = any_decimal(r, ar);
    struct mr_decimal_info info;
    if (!mr_decimal_parse(text, &info))
        fail_with(r, "no number", text);
    struct mr_str plain = mr_decimal_plain(text, ar), canonical = mr_decimal_canonical(text, ar);
    if (!mr_decimal_is_plain(plain) || !mr_decimal_is_plain(canonical))
        fail_with(r, "not plain", text);
    if (!mr_str_eq(mr_decimal_plain(plain, ar), plain) || !mr_str_eq(mr_decimal_canonical(plain, ar), canonical))
        fail_with(r, "not idempotent", text);
    if (mr_decimal_cmp(text, plain) != 0 || mr_decimal_cmp(text, canonical) != 0)
        fail_with(r, "another value", text);
    /* What the text says about itself is what its plain form shows. */
    ptrdiff_t point = mr_str_find(plain, '.');
    size_t frac = point < 0 ? 0 : plain.len - (size_t)point - 1;
    size_t whole = (point < 0 ? plain.len : (size_t)point) - mr_str_starts(plain, MR_STR("-"));
    if (whole == 1 && plain.ptr[plain.ptr[0] == '-'] == '0')
        whole = 0;
    if (info.frac_digits != frac || info.int_digits != whole)
        fail_with(r, "wrong digits", text);
    ptrdiff_t end = mr_str_find(canonical, '.');
    if (info.frac_significant != (end < 0 ? 0 : canonical.len - (size_t)end - 1))
        fail_with(r, "wrong significant digits", text);
}

static void test_plain_and_canonical_keep_the_value(void **state)
{
    (void)state;
    for_each_seed(plain_is_plain, 20000);
}

/* Compare plain texts by padding both to the same width: slow and obvious. */
static int cmp_by_padding(struct mr_str a, struct mr_str b)
{
    enum { WIDTH = 320, POINT = 160 };
    char wide[2][WIDTH];
    struct mr_str texts[2] = {a, b};
    bool negative[2];
    for (int i = 0; i < 2; i++) {
        struct mr_str t = texts[i];
        negative[i] = t.ptr[0] == '-';
        t.ptr += negative[i];
        t.len -= negative[i];
        ptrdiff_t point = mr_str_find(t, '.');
        size_t whole = point < 0 ? t.len : (size_t)point;
        memset(wide[i], '0', WIDTH);
        memcpy(wide[i] + POINT - whole, t.ptr, whole);
        if (point >= 0)
            memcpy(wide[i] + POINT, t.ptr + whole + 1, t.len - whole - 1);
    }
    int order = memcmp(wide[0], wide[1], WIDTH);
    if (negative[0] != negative[1])
        return negative[0] ? -1 : 1; /* a plain zero has no sign */
    return negative[0] ? -order : order;
}

static void order_is_by_value(struct random *r, struct mr_arena *ar)
{
    struct mr_str a = any_decimal(r, ar), b = any_decimal(r, ar);
    int order = mr_decimal_cmp(a, b), want = cmp_by_padding(mr_decimal_plain(a, ar), mr_decimal_plain(b, ar));
    if ((order > 0) - (order < 0) != (want > 0) - (want < 0) || mr_decimal_cmp(b, a) != -order)
        fail_with(r, "wrong order", mr_arena_printf(ar, "%.*s %.*s", MR_STR_FMT(a), MR_STR_FMT(b)));
    bool same_form = mr_str_eq(mr_decimal_canonical(a, ar), mr_decimal_canonical(b, ar));
    if (same_form != (order == 0))
        fail_with(r, "canonical forms are not the values", a);
}

static void test_order_of_decimals_is_that_of_their_values(void **state)
{
    (void)state;
    for_each_seed(order_is_by_value, 20000);
}

/* Undo mr_decimal_from_bytes by multiplying digit by digit in two's complement. */
static void bytes_come_back(struct random *r, struct mr_arena *ar)
{
    unsigned char bytes[64], back[64] = {0};
    size_t len = 1 + below(r, sizeof(bytes));
    for (size_t i = 0; i < len; i++)
        bytes[i] = below(r, 4) ? (unsigned char)next(r) : below(r, 2) ? 0xff : 0;
    int32_t scale = (int32_t)below(r, 40);
    struct mr_str text;
    assert_true(mr_decimal_from_bytes(mr_str_of((const char *)bytes, len), scale, ar, &text));
    ptrdiff_t point = mr_str_find(text, '.');
    if (!mr_decimal_is_plain(text) || (point < 0 ? 0 : (int32_t)(text.len - (size_t)point - 1)) != scale)
        fail_with(r, "wrong scale", text);
    bool is_negative = text.ptr[0] == '-';
    for (size_t k = 0; k < text.len; k++) {
        if (text.ptr[k] < '0')
            continue; /* sign, point */
        unsigned carry = (unsigned)(text.ptr[k] - '0');
        for (size_t i = len; i-- > 0; carry >>= 8) {
            carry += back[i] * 10u;
            back[i] = (unsigned char)carry;
        }
    }
    unsigned carry = 1;
    for (size_t i = len; is_negative && i-- > 0; carry >>= 8) {
        carry += (unsigned char)~back[i];
        back[i] = (unsigned char)carry;
    }
    if (memcmp(bytes, back, len) != 0)
        fail_with(r, "other bytes", text);
}

static void test_decimals_from_bytes_come_back(void **state)
{
    (void)state;
    for_each_seed(bytes_come_back, 20000);
}

static void integers_come_back(struct random *r, struct mr_arena *ar)
{
    int64_t n = any_int64(r), back;
    struct mr_str text = mr_arena_printf(ar, "%lld", (long long)n);
    if (!mr_parse_int64(text, &back) || back != n)
        fail_with(r, "mr_parse_int64", text);
    /* Any spelling of the same value is the same integer. */
    struct mr_str other = mr_arena_printf(ar, "%lld.%0*d", (long long)n, (int)(1 + below(r, 5)), 0);
    if (!mr_decimal_to_int64(other, &back) || back != n)
        fail_with(r, "mr_decimal_to_int64", other);
    other = mr_arena_printf(ar, "%lld%0*de-%d", (long long)n, 4, 0, 4);
    if (!mr_decimal_to_int64(other, &back) || back != n)
        fail_with(r, "mr_decimal_to_int64", other);
}

static void test_integers_come_back(void **state)
{
    (void)state;
    for_each_seed(integers_come_back, 20000);
}

/* ---- Doubles ---- */

static double any_double(struct random *r)
{
    double value;
    uint64_t bits = next(r);
    switch (below(r, 6)) {
    case 0: /* money */
        return (double)(int64_t)(next(r) % 20000000000) / 100 - 100000000;
    case 1:
        return (double)any_int64(r);
    case 2: /* subnormal */
        bits &= ~(UINT64_C(0x7ff) << 52);
        break;
    case 3: /* near a power of two */
        bits = (bits & (UINT64_C(0x7ff) << 52)) + below(r, 5) - 2;
        break;
    case 4: /* the everyday range */
        return ldexp((double)(next(r) >> 11), (int)below(r, 80) - 90);
    default:
        break;
    }
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static void double_is_shortest(struct random *r, struct mr_arena *ar)
{
    double value = any_double(r), back;
    char text[32], shorter[48];
    struct mr_str s = mr_str_of(text, mr_double_text(value, text));
    if (!mr_parse_double(s, &back) || (memcmp(&back, &value, sizeof(value)) != 0 && !isnan(value)))
        fail_with(r, "read back by us", s);
    if (!isfinite(value))
        return;
    if (strtod(text, NULL) != value)
        fail_with(r, "read back by libc", s);
    struct mr_decimal_info info;
    struct mr_str plain = mr_decimal_plain(s, ar);
    if (!mr_decimal_parse(plain, &info) || !mr_decimal_is_double(s) || !mr_decimal_shows_double(s))
        fail_with(r, "is_double", s);
    if (info.digits > 1) {
        snprintf(shorter, sizeof(shorter), "%.*e", (int)info.digits - 2, value);
        if (strtod(shorter, NULL) == value)
            fail_with(r, "not the shortest", s);
    }
}

static void test_doubles_are_written_shortest_and_read_back(void **state)
{
    (void)state;
    for_each_seed(double_is_shortest, 20000);
}

static void float_is_shortest(struct random *r, struct mr_arena *ar)
{
    float value;
    uint32_t bits = (uint32_t)next(r);
    if (below(r, 4) == 0)
        bits &= ~(UINT32_C(0xff) << 23);
    memcpy(&value, &bits, sizeof(value));
    if (below(r, 3) == 0)
        value = (float)(int32_t)below(r, 2000000) / 100.0f;
    if (!isfinite(value))
        return;
    char text[32], shorter[48];
    struct mr_str s = mr_str_of(text, mr_float_text(value, text));
    if (strtof(text, NULL) != value)
        fail_with(r, "read back", s);
    struct mr_decimal_info info;
    assert_true(mr_decimal_parse(mr_decimal_plain(s, ar), &info));
    if (info.digits > 1) {
        snprintf(shorter, sizeof(shorter), "%.*e", (int)info.digits - 2, (double)value);
        if (strtof(shorter, NULL) == value)
            fail_with(r, "not the shortest", s);
    }
    struct mr_value out;
    if (mr_value_coerce(mr_value_float((double)value), MR_TYPE(MR_T_FLOAT32), ar, &out, NULL) != MR_OK ||
        (float)out.f != value)
        fail_with(r, "coerced", s);
}

static void test_floats_are_written_shortest_and_read_back(void **state)
{
    (void)state;
    for_each_seed(float_is_shortest, 20000);
}

static void text_is_read_like_libc(struct random *r, struct mr_arena *ar)
{
    struct mr_str text = any_decimal(r, ar);
    double have, want = strtod(mr_arena_strndup(ar, text.ptr, text.len), NULL);
    struct mr_str plain = mr_decimal_plain(text, ar);
    if (!mr_parse_double(plain, &have) || fabs(have) != fabs(want))
        fail_with(r, "plain", text);
    if (text.ptr[0] != '+' && mr_parse_double(text, &have) && have != want)
        fail_with(r, "as it stands", text);
}

static void test_doubles_are_read_like_libc_reads_them(void **state)
{
    (void)state;
    for_each_seed(text_is_read_like_libc, 20000);
}

/* ---- Keys ---- */

static void keys_are_equal_by_value(struct random *r, struct mr_arena *ar)
{
    struct mr_str a = any_decimal(r, ar), b = below(r, 2) ? any_decimal(r, ar) : mr_decimal_plain(a, ar);
    struct mr_buf key_a = MR_BUF_INIT(1000), key_b = MR_BUF_INIT(1000);
    mr_value_append_key(mr_value_bytes(MR_V_NUMBER, a), MR_TYPE_DECIMAL_OPEN, &key_a);
    mr_value_append_key(mr_value_bytes(MR_V_NUMBER, b), MR_TYPE_DECIMAL_OPEN, &key_b);
    if (mr_str_eq(mr_buf_str(&key_a), mr_buf_str(&key_b)) != (mr_decimal_cmp(a, b) == 0))
        fail_with(r, "key", a);
    mr_buf_free(&key_a);
    mr_buf_free(&key_b);
}

static void test_keys_of_decimals_are_equal_by_value(void **state)
{
    (void)state;
    for_each_seed(keys_are_equal_by_value, 20000);
}

/* ---- Time ---- */

/* Days before 1 January of a year, counted from year 0, by the calendar's rule itself. */
static __int128 days_before_year(__int128 year)
{
    __int128 y = year - 1 + (__int128)400 * 100000000000000; /* whole eras, to stay positive */
    __int128 shifted = (__int128)146097 * 100000000000000;
    return 365 * (year - 1) + y / 4 - y / 100 + y / 400 - (shifted - (__int128)365 * 400 * 100000000000000) + 366;
}

static int day_of_year(int64_t year, int month, int day)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int days = day - 1 + (month > 2 && mr_civil_valid(year, 2, 29));
    for (int m = 1; m < month; m++)
        days += lengths[m - 1];
    return days;
}

static void dates_follow_the_calendar(struct random *r, struct mr_arena *ar)
{
    int64_t days = any_int64(r), year;
    int month, day;
    mr_civil_from_days(days, &year, &month, &day);
    struct mr_str what = mr_arena_printf(ar, "day %lld: %lld-%d-%d", (long long)days, (long long)year, month, day);
    if (!mr_civil_valid(year, month, day))
        fail_with(r, "no date", what);
    if (days_before_year(year) + day_of_year(year, month, day) - 719528 != days)
        fail_with(r, "another day", what);
    if (days > INT64_MIN / 2 && days < INT64_MAX / 2 && mr_days_from_civil(year, month, day) != days)
        fail_with(r, "does not come back", what);
}

static void test_dates_follow_the_calendar_over_all_of_int64(void **state)
{
    (void)state;
    for_each_seed(dates_follow_the_calendar, 20000);
}

static void moments_come_back(struct random *r, struct mr_arena *ar)
{
    (void)ar;
    int64_t us = any_int64(r), back;
    bool has_zone;
    char text[MR_TIME_TEXT];
    struct mr_str s = mr_str_of(text, mr_format_timestamp(us, below(r, 2) ? 'T' : ' ', below(r, 2), text));
    if (!mr_parse_timestamp(s, &back) || back != us)
        fail_with(r, "timestamp", s);
    if (!mr_parse_timestamptz(s, &back, &has_zone) || back != us)
        fail_with(r, "timestamptz", s);
    s = mr_str_of(text, mr_format_time(us, below(r, 2), text));
    bool is_infinite = us == MR_TIME_INFINITY || us == MR_TIME_NEG_INFINITY;
    if (!is_infinite && (!mr_parse_time(s, &back) || back != us))
        fail_with(r, "time", s);
    int64_t days = us / MR_US_PER_DAY; /* six digits of year */
    s = mr_str_of(text, mr_format_date(days, text));
    if (!mr_parse_date(s, &back) || back != days)
        fail_with(r, "date", s);
}

static void test_moments_come_back_from_their_text_over_all_of_int64(void **state)
{
    (void)state;
    for_each_seed(moments_come_back, 20000);
}

static void zones_are_subtracted(struct random *r, struct mr_arena *ar)
{
    int64_t us = any_int64(r) / 4, back;
    int hours = (int)below(r, 24), minutes = (int)below(r, 60);
    bool is_negative = below(r, 2), has_zone, has_colon = below(r, 2);
    char text[MR_TIME_TEXT];
    size_t len = mr_format_timestamp(us, 'T', false, text);
    struct mr_str s = mr_arena_printf(ar, "%.*s%c%02d%s%02d", (int)len, text, is_negative ? '-' : '+', hours,
                                      has_colon ? ":" : "", minutes);
    int64_t offset_us = (hours * 60 + minutes) * INT64_C(60000000);
    if (!mr_parse_timestamptz(s, &back, &has_zone) || !has_zone || back != us + (is_negative ? offset_us : -offset_us))
        fail_with(r, "zone", s);
}

static void test_zones_are_subtracted(void **state)
{
    (void)state;
    for_each_seed(zones_are_subtracted, 20000);
}

/* ---- Hostile texts ---- */

/* Bytes that look like numbers and dates, but need not be: nothing may crash, and what is accepted must be spelled
 * again as something that is accepted. */
static void noise_does_no_harm(struct random *r, struct mr_arena *ar)
{
    static const char alphabet[] = "0123456789012345678900..--++eE:TZ ,infity\xff\0";
    char *text = mr_arena_alloc(ar, 40);
    size_t len = below(r, 40);
    for (size_t i = 0; i < len; i++)
        text[i] = alphabet[below(r, sizeof(alphabet))];
    struct mr_str s = mr_str_of(text, len);
    struct mr_decimal_info info;
    double f;
    int64_t n;
    bool has_zone;
    char out[MR_TIME_TEXT];
    if (mr_decimal_parse(s, &info) && !mr_decimal_is_plain(mr_decimal_plain(s, ar)))
        fail_with(r, "plain", s);
    (void)mr_parse_double(s, &f);
    (void)mr_decimal_to_int64(s, &n);
    (void)mr_utf8_check(s);
    if (mr_parse_timestamptz(s, &n, &has_zone) && mr_format_timestamp(n, ' ', true, out) == 0)
        fail_with(r, "timestamptz", s);
    if (mr_parse_time(s, &n) && mr_format_time(n, true, out) == 0)
        fail_with(r, "time", s);
    for (int kind = 0; kind < MR_TYPE_KINDS; kind++) {
        struct mr_value v, fit;
        if (mr_value_read_text(mr_value_text(s), MR_TYPE((uint8_t)kind), ar, &v))
            (void)!mr_value_coerce(v, MR_TYPE((uint8_t)kind), ar, &fit, NULL);
    }
}

static void test_noise_does_no_harm(void **state)
{
    (void)state;
    for_each_seed(noise_does_no_harm, 50000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_and_canonical_keep_the_value),
        cmocka_unit_test(test_order_of_decimals_is_that_of_their_values),
        cmocka_unit_test(test_decimals_from_bytes_come_back),
        cmocka_unit_test(test_integers_come_back),
        cmocka_unit_test(test_doubles_are_written_shortest_and_read_back),
        cmocka_unit_test(test_floats_are_written_shortest_and_read_back),
        cmocka_unit_test(test_doubles_are_read_like_libc_reads_them),
        cmocka_unit_test(test_keys_of_decimals_are_equal_by_value),
        cmocka_unit_test(test_dates_follow_the_calendar_over_all_of_int64),
        cmocka_unit_test(test_moments_come_back_from_their_text_over_all_of_int64),
        cmocka_unit_test(test_zones_are_subtracted),
        cmocka_unit_test(test_noise_does_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
