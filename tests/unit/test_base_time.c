/* Base: civil time, its texts, the clocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <millrace/base/time.h>

#define DAY MR_US_PER_DAY
#define SEC MR_US_PER_SEC

static void assert_text(const char *have, size_t len, const char *want)
{
    if (strlen(want) != len || strcmp(have, want) != 0)
        fail_msg("\"%s\" (%zu) is not \"%s\"", have, len, want);
}

static void test_floor_division_goes_down(void **state)
{
    (void)state;
    assert_int_equal(mr_floor_div(7, 3), 2);
    assert_int_equal(mr_floor_div(-7, 3), -3);
    assert_int_equal(mr_floor_div(-6, 3), -2);
    assert_int_equal(mr_floor_div(7, -3), -3);
    assert_int_equal(mr_floor_div(-7, -3), 2);
    assert_int_equal(mr_floor_div(0, 3), 0);
    assert_int_equal(mr_floor_mod(-7, 3), 2);
    assert_int_equal(mr_floor_mod(-6, 3), 0);
    assert_int_equal(mr_floor_mod(INT64_MIN, 1000), 192);
}

static void test_days_and_civil_dates(void **state)
{
    (void)state;
    static const struct {
        int64_t days, year;
        int month, day;
    } cases[] = {
        {0, 1970, 1, 1},
        {-1, 1969, 12, 31},
        {59, 1970, 3, 1},
        {11016, 2000, 2, 29},
        {11017, 2000, 3, 1},
        {19782, 2024, 2, 29},
        {-25509, 1900, 2, 28},
        {-25508, 1900, 3, 1},
        {-719528, 0, 1, 1},
        {-719469, 0, 2, 29},
        {-719468, 0, 3, 1},
        {-719529, -1, 12, 31},
        {-719162, 1, 1, 1},
        {2932896, 9999, 12, 31},
        {2932897, 10000, 1, 1},
        {106751991, 294247, 1, 10},
        {-106751992, -290308, 12, 21},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t year;
        int month, day;
        mr_civil_from_days(cases[i].days, &year, &month, &day);
        if (year != cases[i].year || month != cases[i].month || day != cases[i].day)
            fail_msg("day %lld: %lld-%d-%d", (long long)cases[i].days, (long long)year, month, day);
        assert_int_equal(mr_days_from_civil(year, month, day), cases[i].days);
    }
}

static void test_every_day_of_nine_centuries_follows_the_one_before(void **state)
{
    (void)state;
    int64_t year = 1599;
    int month = 12, day = 31;
    for (int64_t days = mr_days_from_civil(1600, 1, 1); days <= mr_days_from_civil(2500, 1, 1); days++) {
        int64_t y;
        int m, d;
        mr_civil_from_days(days, &y, &m, &d);
        bool is_next_day = y == year && m == month && d == day + 1;
        bool is_next_month = y == year && m == month + 1 && d == 1 && !mr_civil_valid(year, month, day + 1);
        bool is_next_year = y == year + 1 && month == 12 && day == 31 && m == 1 && d == 1;
        if (!is_next_day && !is_next_month && !is_next_year)
            fail_msg("after %lld-%d-%d comes %lld-%d-%d", (long long)year, month, day, (long long)y, m, d);
        assert_true(mr_civil_valid(y, m, d));
        assert_int_equal(mr_days_from_civil(y, m, d), days);
        year = y;
        month = m;
        day = d;
    }
}

static void test_the_ends_of_int64_are_dates_too(void **state)
{
    (void)state;
    int64_t year;
    int month, day;
    mr_civil_from_days(INT64_MAX, &year, &month, &day);
    assert_true(year > INT64_C(25000000000000000));
    assert_in_range(month, 1, 12);
    mr_civil_from_days(INT64_MIN, &year, &month, &day);
    assert_true(year < -INT64_C(25000000000000000));
    assert_int_equal(mr_days_from_civil(INT64_MAX, 1, 1), INT64_MAX);
    assert_int_equal(mr_days_from_civil(INT64_MIN, 1, 1), INT64_MIN);
    struct mr_civil t;
    mr_civil_from_us(INT64_MAX, &t);
    assert_int_equal(t.year, 294247);
    assert_int_equal(t.micro, 775807);
    mr_civil_from_us(INT64_MIN, &t);
    assert_int_equal(t.year, -290308);
    assert_int_equal(t.month, 12);
    assert_int_equal(t.day, 21);
    assert_int_equal(t.hour, 19);
    assert_int_equal(t.minute, 59);
    assert_int_equal(t.second, 5);
    assert_int_equal(t.micro, 224192);
}

static void test_civil_time_floors_before_1970(void **state)
{
    (void)state;
    struct mr_civil t;
    mr_civil_from_us(-1, &t);
    assert_int_equal(t.year, 1969);
    assert_int_equal(t.month, 12);
    assert_int_equal(t.day, 31);
    assert_int_equal(t.hour, 23);
    assert_int_equal(t.minute, 59);
    assert_int_equal(t.second, 59);
    assert_int_equal(t.micro, 999999);
}

static void test_only_dates_that_exist_are_valid(void **state)
{
    (void)state;
    assert_true(mr_civil_valid(2000, 2, 29));
    assert_true(mr_civil_valid(0, 2, 29));
    assert_true(mr_civil_valid(-4, 2, 29));
    assert_false(mr_civil_valid(1900, 2, 29));
    assert_false(mr_civil_valid(2023, 2, 29));
    assert_false(mr_civil_valid(-1, 2, 29));
    assert_false(mr_civil_valid(2023, 4, 31));
    assert_false(mr_civil_valid(2023, 0, 1));
    assert_false(mr_civil_valid(2023, 13, 1));
    assert_false(mr_civil_valid(2023, 1, 0));
    assert_false(mr_civil_valid(2023, 1, 32));
}

/* ---- Parsing ---- */

struct parse_case {
    const char *text;
    int64_t value; /* BAD: must be refused */
};
#define BAD INT64_C(-7777777777)

static void test_dates_are_parsed(void **state)
{
    (void)state;
    static const struct parse_case cases[] = {
        {"1970-01-01", 0},
        {"1969-12-31", -1},
        {"2000-02-29", 11016},
        {"2000-02-29Z", 11016},
        {"+2000-02-29", 11016},
        {"0000-01-01", -719528},
        {"-0001-12-31", -719529},
        {"9999-12-31", 2932896},
        {"10000-01-01", 2932897},
        {"+10000-01-01", 2932897},
        {"999999-12-31", 364522971},
        {"infinity", MR_TIME_INFINITY},
        {"-infinity", MR_TIME_NEG_INFINITY},
        {"INFINITY", MR_TIME_INFINITY},
        {"", BAD},
        {"0000-00-00", BAD},
        {"2001-02-29", BAD},
        {"2000-13-01", BAD},
        {"2000-00-01", BAD},
        {"2000-01-32", BAD},
        {"2000-1-01", BAD},
        {"2000-01-1", BAD},
        {"200-01-01", BAD},
        {"1000000-01-01", BAD},
        {"2000-01-01 ", BAD},
        {" 2000-01-01", BAD},
        {"2000/01/01", BAD},
        {"20000101", BAD},
        {"2000-01-01T00:00:00", BAD},
        {"2000-01-01ZZ", BAD},
        {"--2000-01-01", BAD},
        {"+-2000-01-01", BAD},
        {"infinit", BAD},
        {"infinity!", BAD},
        {"+infinity", BAD},
        {"today", BAD},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t days = BAD;
        bool is_read = mr_parse_date(mr_str_z(cases[i].text), &days);
        if (is_read != (cases[i].value != BAD) || days != cases[i].value)
            fail_msg("\"%s\": %lld", cases[i].text, (long long)days);
    }
    int64_t days;
    assert_false(mr_parse_date(mr_str_of(NULL, 0), &days));
}

static void test_times_are_parsed(void **state)
{
    (void)state;
    static const struct parse_case cases[] = {
        {"00:00", 0},
        {"00:00:00", 0},
        {"1:02", 3720 * SEC},
        {"01:02:03", 3723 * SEC},
        {"01:02:03Z", 3723 * SEC},
        {"01:02:03.5", 3723 * SEC + 500000},
        {"01:02:03.000001", 3723 * SEC + 1},
        {"01:02:03.1234567890123", 3723 * SEC + 123456},
        {"23:59:59.999999", DAY - 1},
        {"24:00:00", DAY},
        {"838:59:59", 3020399 * SEC},
        {"-838:59:59.999999", -3020399 * SEC - 999999},
        {"-00:00:01", -SEC},
        {"-0:00:00.000001", -1},
        {"-00:00:00.0000001", -1}, /* floored */
        {"-00:00:00.0000000", 0},
        {"2562047788:00:54.775806", INT64_MAX - 1},
        {"2562047788:00:54.775807", BAD}, /* the infinity */
        {"2562047789:00:00", BAD},
        {"-2562047788:00:54.775807", -INT64_MAX},
        {"-2562047788:00:54.775808", BAD},
        {"99999999999:00:00", BAD},
        {"", BAD},
        {"12", BAD},
        {"12:", BAD},
        {"12:3", BAD},
        {"12:60", BAD},
        {"12:30:60", BAD},
        {"12:30:5", BAD},
        {"12:30:05.", BAD},
        {"12:30:05,5", BAD},
        {"12:30.5", BAD},
        {":30:00", BAD},
        {"+12:30:00", BAD},
        {"12:30:00+01", BAD},
        {"12:30:00 ", BAD},
        {"12:-3:00", BAD},
        {"infinity", BAD},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t us = BAD;
        bool is_read = mr_parse_time(mr_str_z(cases[i].text), &us);
        if (is_read != (cases[i].value != BAD) || us != cases[i].value)
            fail_msg("\"%s\": %lld", cases[i].text, (long long)us);
    }
}

static void test_timestamps_are_parsed(void **state)
{
    (void)state;
    static const struct parse_case cases[] = {
        {"1970-01-01T00:00:00", 0},
        {"1970-01-01 00:00:00", 0},
        {"1970-01-01T00:00", 0},
        {"1970-01-01", 0},
        {"1970-01-01T00:00:00Z", 0},
        {"1970-01-01T24:00:00", DAY},
        {"1970-01-01T00:00:00.000001999", 1},
        {"1969-12-31T23:59:59.9999999", -1},
        {"2000-02-29 12:34:56.789", 11016 * DAY + 45296789000},
        {"0000-01-01T00:00:00", -719528 * DAY},
        {"294247-01-10T04:00:54.775806", INT64_MAX - 1},
        {"-290308-12-21T19:59:05.224193", -INT64_MAX},
        {"infinity", MR_TIME_INFINITY},
        {"-infinity", MR_TIME_NEG_INFINITY},
        {"294247-01-10T04:00:54.775807", BAD},
        {"-290308-12-21T19:59:05.224192", BAD},
        {"294248-01-01T00:00:00", BAD},
        {"999999-12-31T23:59:59", BAD},
        {"-999999-01-01T00:00:00", BAD},
        {"1970-01-01T24:00:01", BAD},
        {"1970-01-01T24:00:00.0000001", BAD},
        {"1970-01-01T25:00:00", BAD},
        {"1970-01-01T23:59:60", BAD},
        {"1970-01-01T", BAD},
        {"1970-01-01T0:00:00", BAD},
        {"1970-01-01  00:00:00", BAD},
        {"1970-01-01_00:00:00", BAD},
        {"1970-01-01T00:00:00+00", BAD},
        {"1970-02-30T00:00:00", BAD},
        {"0000-00-00 00:00:00", BAD},
        {"", BAD},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t us = BAD;
        bool is_read = mr_parse_timestamp(mr_str_z(cases[i].text), &us);
        if (is_read != (cases[i].value != BAD) || us != cases[i].value)
            fail_msg("\"%s\": %lld", cases[i].text, (long long)us);
    }
}

static void test_instants_are_parsed_with_their_zone(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
        bool has_zone;
    } cases[] = {
        {"1970-01-01T00:00:00Z", 0, true},
        {"1970-01-01 00:00:00Z", 0, true},
        {"1970-01-01T00:00:00", 0, false},
        {"1970-01-01", 0, false},
        {"1970-01-01T00:00:00+01", -3600 * SEC, true},
        {"1970-01-01T00:00:00-01", 3600 * SEC, true},
        {"1970-01-01T00:00:00+0130", -5400 * SEC, true},
        {"1970-01-01T00:00:00.5+01:30", -5400 * SEC + 500000, true},
        {"1970-01-01T00:00:00-00:30", 1800 * SEC, true},
        {"1970-01-01T00:00:00+00:19:32", -1172 * SEC, true},
        {"1970-01-01T00:00+23:59", -86340 * SEC, true},
        {"2024-02-29T23:30:00-05:00", 19783 * DAY + 4 * 3600 * SEC + 1800 * SEC, true},
        {"294247-01-10T04:00:54.775806Z", INT64_MAX - 1, true},
        {"294247-01-10T05:00:54.775807+01", BAD, false},
        {"294247-01-10T04:00:54.775806-01", BAD, false},
        {"-290308-12-21T19:59:05.224193+01", BAD, false},
        {"infinity", MR_TIME_INFINITY, true},
        {"-infinity", MR_TIME_NEG_INFINITY, true},
        {"1970-01-01T00:00:00 Z", BAD, false},
        {"1970-01-01T00:00:00z", BAD, false},
        {"1970-01-01T00:00:00+", BAD, false},
        {"1970-01-01T00:00:00+1", BAD, false},
        {"1970-01-01T00:00:00+24", BAD, false},
        {"1970-01-01T00:00:00+01:60", BAD, false},
        {"1970-01-01T00:00:00+01:", BAD, false},
        {"1970-01-01T00:00:00+01300", BAD, false},
        {"1970-01-01T00:00:00+0130:00", BAD, false},
        {"1970-01-01T00:00:00Z[UTC]", BAD, false},
        {"1970-01-01T00:00:00 UTC", BAD, false},
        {"", BAD, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t us = BAD;
        bool has_zone = false;
        bool is_read = mr_parse_timestamptz(mr_str_z(cases[i].text), &us, &has_zone);
        if (is_read != (cases[i].value != BAD) || us != cases[i].value || has_zone != cases[i].has_zone)
            fail_msg("\"%s\": %lld %d", cases[i].text, (long long)us, has_zone);
    }
}

/* ---- Formatting ---- */

static void test_dates_are_formatted(void **state)
{
    (void)state;
    char out[MR_TIME_TEXT];
    assert_text(out, mr_format_date(0, out), "1970-01-01");
    assert_text(out, mr_format_date(-719528, out), "0000-01-01");
    assert_text(out, mr_format_date(-719529, out), "-0001-12-31");
    assert_text(out, mr_format_date(2932896, out), "9999-12-31");
    assert_text(out, mr_format_date(2932897, out), "+10000-01-01");
    assert_text(out, mr_format_date(INT64_MAX, out), "infinity");
    assert_text(out, mr_format_date(INT64_MIN, out), "-infinity");
    assert_true(mr_format_date(INT64_MAX - 1, out) < MR_TIME_TEXT);
    assert_true(mr_format_date(INT64_MIN + 1, out) < MR_TIME_TEXT);
}

static void test_times_are_formatted(void **state)
{
    (void)state;
    char out[MR_TIME_TEXT];
    assert_text(out, mr_format_time(0, false, out), "00:00:00");
    assert_text(out, mr_format_time(0, true, out), "00:00:00.000000");
    assert_text(out, mr_format_time(1, false, out), "00:00:00.000001");
    assert_text(out, mr_format_time(500000, false, out), "00:00:00.500000");
    assert_text(out, mr_format_time(-1, false, out), "-00:00:00.000001");
    assert_text(out, mr_format_time(DAY, false, out), "24:00:00");
    assert_text(out, mr_format_time(-3020399 * SEC, false, out), "-838:59:59");
    assert_text(out, mr_format_time(INT64_MAX - 1, false, out), "2562047788:00:54.775806");
    assert_text(out, mr_format_time(INT64_MIN + 1, false, out), "-2562047788:00:54.775807");
    assert_text(out, mr_format_time(INT64_MAX, false, out), "infinity");
    assert_text(out, mr_format_time(INT64_MIN, false, out), "-infinity");
}

static void test_timestamps_are_formatted(void **state)
{
    (void)state;
    char out[MR_TIME_TEXT];
    assert_text(out, mr_format_timestamp(0, 'T', false, out), "1970-01-01T00:00:00");
    assert_text(out, mr_format_timestamp(0, ' ', true, out), "1970-01-01 00:00:00.000000");
    assert_text(out, mr_format_timestamp(-1, ' ', false, out), "1969-12-31 23:59:59.999999");
    assert_text(out, mr_format_timestamp(-719529 * DAY, ' ', false, out), "-0001-12-31 00:00:00");
    assert_text(out, mr_format_timestamp(INT64_MAX - 1, 'T', false, out), "+294247-01-10T04:00:54.775806");
    assert_text(out, mr_format_timestamp(INT64_MIN + 1, 'T', false, out), "-290308-12-21T19:59:05.224193");
    assert_text(out, mr_format_timestamp(INT64_MAX, 'T', true, out), "infinity");
    assert_text(out, mr_format_timestamp(INT64_MIN, 'T', true, out), "-infinity");
}

/* ---- Clocks ---- */

static void test_clocks_run_forward(void **state)
{
    (void)state;
    int64_t before_ms = mr_monotonic_ms();
    mr_sleep_ms(20);
    assert_in_range(mr_monotonic_ms() - before_ms, 19, 5000);
    mr_sleep_ms(0);
    mr_sleep_ms(-5);
    assert_true(mr_now_us() > INT64_C(1700000000) * SEC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floor_division_goes_down),
        cmocka_unit_test(test_days_and_civil_dates),
        cmocka_unit_test(test_every_day_of_nine_centuries_follows_the_one_before),
        cmocka_unit_test(test_the_ends_of_int64_are_dates_too),
        cmocka_unit_test(test_civil_time_floors_before_1970),
        cmocka_unit_test(test_only_dates_that_exist_are_valid),
        cmocka_unit_test(test_dates_are_parsed),
        cmocka_unit_test(test_times_are_parsed),
        cmocka_unit_test(test_timestamps_are_parsed),
        cmocka_unit_test(test_instants_are_parsed_with_their_zone),
        cmocka_unit_test(test_dates_are_formatted),
        cmocka_unit_test(test_times_are_formatted),
        cmocka_unit_test(test_timestamps_are_formatted),
        cmocka_unit_test(test_clocks_run_forward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
