/* Civil time: days and clock to numbers and back, and the system's clocks. Texts are in time_text.c. Days are
 * counted in eras of 400 years (146,097 days), which begin on 1 March so that the leap day is a year's last. */
#include <millrace/base/time.h>

#include <errno.h>
#include <time.h>

#define DAYS_PER_ERA 146097
#define DAYS_TO_1970 719468 /* from 0000-03-01 */
#define YEAR_BOUND INT64_C(25000000000000000) /* its days fit in int64; beyond, results are saturated */

int64_t mr_days_from_civil(int64_t year, int month, int day)
{
    if (year > YEAR_BOUND)
        return INT64_MAX;
    if (year < -YEAR_BOUND)
        return INT64_MIN;
    int64_t y = year - (month <= 2);
    int64_t era = mr_floor_div(y, 400);
    int64_t year_of_era = y - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * DAYS_PER_ERA + day_of_era - DAYS_TO_1970;
}

void mr_civil_from_days(int64_t days, int64_t *year, int *month, int *day)
{
    /* Divide before shifting to March of year 0: the sum could overflow. */
    int64_t era = mr_floor_div(days, DAYS_PER_ERA);
    int64_t day_of_era = mr_floor_mod(days, DAYS_PER_ERA) + DAYS_TO_1970 % DAYS_PER_ERA;
    era += DAYS_TO_1970 / DAYS_PER_ERA;
    if (day_of_era >= DAYS_PER_ERA) {
        day_of_era -= DAYS_PER_ERA;
        era++;
    }
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t shifted_month = (5 * day_of_year + 2) / 153;
    *day = (int)(day_of_year - (153 * shifted_month + 2) / 5 + 1);
    *month = (int)(shifted_month < 10 ? shifted_month + 3 : shifted_month - 9);
    *year = era * 400 + year_of_era + (*month <= 2);
}

void mr_civil_from_us(int64_t us, struct mr_civil *out)
{
    int64_t days = mr_floor_div(us, MR_US_PER_DAY);
    int64_t rest = mr_floor_mod(us, MR_US_PER_DAY);
    mr_civil_from_days(days, &out->year, &out->month, &out->day);
    out->micro = (int)(rest % MR_US_PER_SEC);
    rest /= MR_US_PER_SEC;
    out->second = (int)(rest % 60);
    out->minute = (int)(rest / 60 % 60);
    out->hour = (int)(rest / 3600);
}

bool mr_civil_valid(int64_t year, int month, int day)
{
    static const int month_days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (month < 1 || month > 12 || day < 1 || day > month_days[month - 1])
        return false;
    bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return month != 2 || day <= 28 || is_leap;
}

int64_t mr_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * MR_US_PER_SEC + now.tv_nsec / 1000;
}

int64_t mr_monotonic_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void mr_sleep_ms(int64_t ms)
{
    if (ms <= 0)
        return;
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR)
        ;
}
