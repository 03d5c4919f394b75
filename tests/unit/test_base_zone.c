/* Time zones: a wall clock in a zone as an instant. */
#include <millrace/base/time.h>
#include <millrace/base/zone.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static void assert_utc(const char *zone_z, const char *local_z, const char *utc_z)
{
    struct mr_zone *zone;
    struct mr_error err = {0};
    int64_t local, want, have;
    assert_int_equal(mr_zone_open(zone_z, &zone, &err), MR_OK);
    assert_true(mr_parse_timestamp(mr_str_z(local_z), &local));
    assert_true(mr_parse_timestamp(mr_str_z(utc_z), &want));
    assert_true(mr_zone_to_utc(zone, local, &have));
    if (have != want)
        fail_msg("%s in %s: wanted %lld, have %lld", local_z, zone_z, (long long)want, (long long)have);
    mr_zone_close(zone);
}

static void test_fixed_offsets_need_no_files(void **state)
{
    (void)state;
    assert_utc("UTC", "2024-06-10 08:15:30.500", "2024-06-10 08:15:30.500");
    assert_utc("+08:00", "2024-06-10 08:15:30.500", "2024-06-10 00:15:30.500");
    assert_utc("-0330", "2024-06-10 08:15:30", "2024-06-10 11:45:30");
    assert_utc("+5", "1969-12-31 23:00:00.000001", "1969-12-31 18:00:00.000001");
}

static void test_a_zone_with_summer_time_before_and_after_the_listed_changes(void **state)
{
    (void)state;
    assert_utc("Europe/Berlin", "2024-06-10 12:00:00", "2024-06-10 10:00:00");
    assert_utc("Europe/Berlin", "2024-01-10 12:00:00", "2024-01-10 11:00:00");
    assert_utc("Europe/Berlin", "2099-06-10 12:00:00", "2099-06-10 10:00:00");
    assert_utc("Europe/Berlin", "2099-12-10 12:00:00", "2099-12-10 11:00:00");
    assert_utc("Europe/Berlin", "9999-07-31 23:59:59.999999", "9999-07-31 21:59:59.999999");
    assert_utc("Asia/Shanghai", "1991-06-01 12:00:00", "1991-06-01 03:00:00");
    assert_utc("Asia/Shanghai", "2024-06-10 08:15:30.5", "2024-06-10 00:15:30.5");
    assert_utc("Australia/Lord_Howe", "2050-01-01 00:00:00", "2049-12-31 13:00:00");
    assert_utc("America/New_York", "2040-07-04 12:00:00", "2040-07-04 16:00:00");
}

static void test_a_repeated_hour_is_the_first_one(void **state)
{
    (void)state;
    assert_utc("Europe/Berlin", "2024-10-27 02:30:00", "2024-10-27 00:30:00");
    assert_utc("Europe/Berlin", "2024-10-27 01:59:59", "2024-10-26 23:59:59");
    assert_utc("Europe/Berlin", "2024-10-27 03:00:00", "2024-10-27 02:00:00");
    assert_utc("Europe/Berlin", "2060-10-31 02:30:00", "2060-10-31 00:30:00");
}

static void test_a_skipped_hour_has_the_offset_before_it(void **state)
{
    (void)state;
    assert_utc("Europe/Berlin", "2024-03-31 02:30:00", "2024-03-31 01:30:00");
    assert_utc("Europe/Berlin", "2024-03-31 03:00:00", "2024-03-31 01:00:00");
    assert_utc("Europe/Berlin", "2060-03-28 02:30:00", "2060-03-28 01:30:00");
    assert_utc("Pacific/Apia", "2011-12-30 12:00:00", "2011-12-30 22:00:00"); /* a whole day left out */
}

static void test_what_is_no_zone_is_refused_with_advice(void **state)
{
    static const char *const names[] = {"", "Atlantis/Poseidonis", "../../etc/passwd", "/etc/localtime", "+25", "+1:5", "+123", "Europe", "zone.tab"};
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct mr_zone *zone;
        struct mr_error err = {0};
        assert_int_equal(mr_zone_open(names[i], &zone, &err), MR_E_CONFIG);
        assert_null(zone);
        assert_non_null(strstr(err.hint, "+08:00"));
    }
}

/* Every cut and every flipped byte of a real file: refused or read, never worse (under the sanitizers). */
static void test_damaged_zone_files_do_no_harm(void **state)
{
    char folder[] = "/tmp/mr-zone-XXXXXX", path[64];
    unsigned char bytes[4096];
    (void)state;
    FILE *in = fopen("/usr/share/zoneinfo/Europe/Berlin", "rb");
    assert_non_null(in);
    size_t len = fread(bytes, 1, sizeof(bytes), in);
    fclose(in);
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/Damaged", folder);
    setenv("TZDIR", folder, 1);
    for (size_t i = 0; i < 2 * len; i += 3) {
        unsigned char keep = bytes[i % len];
        size_t write_len = i < len ? i : len;
        bytes[i % len] = i < len ? keep : (unsigned char)(keep ^ (0x80 | i));
        FILE *to = fopen(path, "wb");
        fwrite(bytes, 1, write_len, to);
        fclose(to);
        bytes[i % len] = keep;
        struct mr_zone *zone;
        int64_t utc;
        if (mr_zone_open("Damaged", &zone, NULL) == MR_OK) {
            for (int64_t at = INT64_MIN / 4; at < INT64_MAX / 4; at += INT64_MAX / 64)
                (void)mr_zone_to_utc(zone, at, &utc);
            mr_zone_close(zone);
        }
    }
    unlink(path);
    rmdir(folder);
    unsetenv("TZDIR");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixed_offsets_need_no_files),
        cmocka_unit_test(test_a_zone_with_summer_time_before_and_after_the_listed_changes),
        cmocka_unit_test(test_a_repeated_hour_is_the_first_one),
        cmocka_unit_test(test_a_skipped_hour_has_the_offset_before_it),
        cmocka_unit_test(test_what_is_no_zone_is_refused_with_advice),
        cmocka_unit_test(test_damaged_zone_files_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
