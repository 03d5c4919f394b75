/* Base: decimal texts, doubles and floats. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <locale.h>
#include <math.h>
#include <stdlib.h>

#include <millrace/base/decimal.h>
#include <millrace/base/mem.h>
#include <millrace/base/time.h>

static int make_arena(void **state)
{
    *state = mr_arena_create(0);
    return 0;
}

static int free_arena(void **state)
{
    mr_arena_destroy(*state);
    return 0;
}

static void assert_text(struct mr_str have, const char *want, const char *of)
{
    if (!mr_str_eq_z(have, want))
        fail_msg("\"%s\" gave \"%.*s\", not \"%s\"", of, MR_STR_FMT(have), want);
}

static void test_decimal_info_counts_digits(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        struct mr_decimal_info info; /* negative zero point int frac significant digits */
    } cases[] = {
        {"0", {false, true, false, 0, 0, 0, 0}},
        {"-0", {true, true, false, 0, 0, 0, 0}},
        {"0.00", {false, true, true, 0, 2, 0, 0}},
        {"0e5", {false, true, true, 0, 0, 0, 0}},
        {"0e-5", {false, true, true, 0, 5, 0, 0}},
        {"7", {false, false, false, 1, 0, 0, 1}},
        {"+7", {false, false, false, 1, 0, 0, 1}},
        {"007", {false, false, false, 1, 0, 0, 1}},
        {"-120", {true, false, false, 3, 0, 0, 2}},
        {"1.10", {false, false, true, 1, 2, 1, 2}},
        {"0.05", {false, false, true, 0, 2, 2, 1}},
        {"0.050", {false, false, true, 0, 3, 2, 1}},
        {"10.01", {false, false, true, 2, 2, 2, 4}},
        {"1e3", {false, false, true, 4, 0, 0, 1}},
        {"1.50E+1", {false, false, true, 2, 1, 0, 2}},
        {"1.5e3", {false, false, true, 4, 0, 0, 2}},
        {"100e-2", {false, false, true, 1, 2, 0, 1}},
        {"1e-2", {false, false, true, 0, 2, 2, 1}},
        {"12345e-3", {false, false, true, 2, 3, 3, 5}},
        {"0.001e2", {false, false, true, 0, 1, 1, 1}},
        {"0.001e3", {false, false, true, 1, 0, 0, 1}},
        {"1e20000", {false, false, true, 20001, 0, 0, 1}},
        {"1e-20000", {false, false, true, 0, 20000, 20000, 1}},
        {"5e-0000000000000000000000000000002", {false, false, true, 0, 2, 2, 1}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct mr_decimal_info have;
        const struct mr_decimal_info *want = &cases[i].info;
        if (!mr_decimal_parse(mr_str_z(cases[i].text), &have))
            fail_msg("\"%s\" is no number", cases[i].text);
        if (have.negative != want->negative || have.is_zero != want->is_zero ||
            have.has_point != want->has_point || have.int_digits != want->int_digits ||
            have.frac_digits != want->frac_digits || have.frac_significant != want->frac_significant ||
            have.digits != want->digits)
            fail_msg("\"%s\": int %u frac %u significant %u digits %u", cases[i].text, have.int_digits,
                     have.frac_digits, have.frac_significant, have.digits);
    }
}

static void test_decimal_refuses_what_is_no_number(void **state)
{
    struct mr_decimal_info info;
    static const char *const bad[] = {"",     "-",     "+",      ".",     ".5",     "5.",       "-.5",    "1e",
                                      "1e+",  "1e-",   "e5",     "1.e5",  "1..5",   "1.5.5",    "1e5.5",  "--1",
                                      "+-1",  " 1",    "1 ",     "1,5",   "0x1",    "NaN",      "Infinity", "1e20001",
                                      "1e-20001", "0e99999", "1e99999999999999999999", "1f", "\xEF\xBC\x91"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (mr_decimal_parse(mr_str_z(bad[i]), &info))
            fail_msg("\"%s\" is a number", bad[i]);
        /* The others are harmless with such texts. */
        assert_text(mr_decimal_plain(mr_str_z(bad[i]), *state), bad[i], bad[i]);
        assert_text(mr_decimal_canonical(mr_str_z(bad[i]), *state), bad[i], bad[i]);
        assert_false(mr_decimal_is_plain(mr_str_z(bad[i])));
        assert_int_equal(mr_decimal_cmp(mr_str_z(bad[i]), mr_str_z(bad[i])), 0);
    }
    assert_false(mr_decimal_parse(mr_str_of(NULL, 0), &info));
}

static void test_decimal_plain_and_canonical(void **state)
{
    static const struct {
        const char *text, *plain, *canonical;
    } cases[] = {
        {"0", "0", "0"},
        {"-0", "0", "0"},
        {"+0", "0", "0"},
        {"-0.00", "0.00", "0"},
        {"000", "0", "0"},
        {"000.10", "0.10", "0.1"},
        {"0e5", "0", "0"},
        {"-0e-3", "0.000", "0"},
        {"7", "7", "7"},
        {"007", "7", "7"},
        {"-007", "-7", "-7"},
        {"+7.0", "7.0", "7"},
        {"100", "100", "100"},
        {"1.10", "1.10", "1.1"},
        {"-1.50", "-1.50", "-1.5"},
        {"1.50E+1", "15.0", "15"},
        {"1.5e3", "1500", "1500"},
        {"1.500e1", "15.00", "15"},
        {"12e-1", "1.2", "1.2"},
        {"12e-2", "0.12", "0.12"},
        {"12e-4", "0.0012", "0.0012"},
        {"120e-4", "0.0120", "0.012"},
        {"0.0012e2", "0.12", "0.12"},
        {"0.0012e3", "1.2", "1.2"},
        {"0.0012e4", "12", "12"},
        {"0.0012e5", "120", "120"},
        {"-5e-1", "-0.5", "-0.5"},
        {"123456789012345678901234567890.123456789", "123456789012345678901234567890.123456789",
         "123456789012345678901234567890.123456789"},
    };
    struct mr_buf buf = MR_BUF_INIT(1000);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct mr_str text = mr_str_z(cases[i].text);
        assert_text(mr_decimal_plain(text, *state), cases[i].plain, cases[i].text);
        assert_text(mr_decimal_canonical(text, *state), cases[i].canonical, cases[i].text);
        mr_buf_clear(&buf);
        mr_decimal_append_canonical(text, &buf);
        assert_text(mr_buf_str(&buf), cases[i].canonical, cases[i].text);
        assert_int_equal(mr_decimal_is_plain(text), mr_str_eq_z(text, cases[i].plain));
    }
    mr_buf_free(&buf);
}

static void test_decimals_with_ten_thousand_digits(void **state)
{
    enum { DIGITS = 10000 };
    char *text = mr_arena_alloc(*state, DIGITS + 20);
    memset(text, '9', DIGITS);
    memcpy(text + DIGITS, "e-5000", 6);
    struct mr_decimal_info info;
    assert_true(mr_decimal_parse(mr_str_of(text, DIGITS), &info));
    assert_int_equal(info.int_digits, DIGITS);
    assert_true(mr_decimal_parse(mr_str_of(text, DIGITS + 6), &info));
    assert_int_equal(info.int_digits, 5000);
    assert_int_equal(info.frac_digits, 5000);
    struct mr_str plain = mr_decimal_plain(mr_str_of(text, DIGITS + 6), *state);
    assert_int_equal(plain.len, DIGITS + 1);
    assert_int_equal(plain.ptr[5000], '.');
    assert_int_equal(mr_decimal_cmp(plain, mr_str_of(text, DIGITS + 6)), 0);
    assert_true(mr_decimal_cmp(mr_str_of(text, DIGITS), plain) > 0);
    plain = mr_decimal_plain(MR_STR("-1e20000"), *state);
    assert_int_equal(plain.len, 20002);
    plain = mr_decimal_plain(MR_STR("-1.5e-20000"), *state);
    assert_int_equal(plain.len, 20004);
    assert_int_equal(mr_decimal_cmp(plain, MR_STR("-1.5e-20000")), 0);
    double value;
    assert_false(mr_parse_double(mr_str_of(text, DIGITS), &value));
    assert_false(mr_decimal_is_double(mr_str_of(text, DIGITS)));
    int64_t n;
    assert_false(mr_decimal_to_int64(mr_str_of(text, DIGITS), &n));
}

static void test_decimal_to_int64_takes_whole_values(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_whole;
        int64_t value;
    } cases[] = {
        {"5", true, 5},
        {"5.00", true, 5},
        {"5e2", true, 500},
        {"-5.5e1", true, -55},
        {"500e-2", true, 5},
        {"0.00", true, 0},
        {"-0.0", true, 0},
        {"0e20000", true, 0},
        {"9223372036854775807", true, INT64_MAX},
        {"9223372036854775807.000", true, INT64_MAX},
        {"9.223372036854775807e18", true, INT64_MAX},
        {"-9223372036854775808.0", true, INT64_MIN},
        {"-922337203685477580.8e1", true, INT64_MIN},
        {"9223372036854775808", false, 0},
        {"9223372036854775808.0", false, 0},
        {"-9223372036854775809.0", false, 0},
        {"1e19", false, 0},
        {"1e18", true, INT64_C(1000000000000000000)},
        {"5.5", false, 0},
        {"5e-1", false, 0},
        {"1e20000", false, 0},
        {"x", false, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t n = 77;
        bool is_whole = mr_decimal_to_int64(mr_str_z(cases[i].text), &n);
        if (is_whole != cases[i].is_whole || (is_whole && n != cases[i].value))
            fail_msg("\"%s\" was read wrongly", cases[i].text);
    }
}

static void test_decimals_compare_by_value(void **state)
{
    (void)state;
    /* Ascending; the members of a group are equal. */
    static const char *const groups[][4] = {
        {"-1e20000"},
        {"-10", "-1e1", "-10.0"},
        {"-9.99"},
        {"-1", "-1.0", "-01"},
        {"-0.5", "-5e-1", "-0.50"},
        {"-1e-20000"},
        {"0", "-0", "0.00", "0e-7"},
        {"1e-20000"},
        {"0.049"},
        {"0.05", "5e-2", "0.0500"},
        {"0.5"},
        {"1", "+1", "1.000", "100e-2"},
        {"1.0000000000000000000000000000000000001"},
        {"9.99"},
        {"10", "1e1"},
        {"100", "1.00e2"},
        {"1e20000"},
    };
    size_t count = sizeof(groups) / sizeof(groups[0]);
    for (size_t a = 0; a < count; a++) {
        for (size_t b = 0; b < count; b++) {
            for (size_t i = 0; i < 4 && groups[a][i]; i++) {
                for (size_t k = 0; k < 4 && groups[b][k]; k++) {
                    int order = mr_decimal_cmp(mr_str_z(groups[a][i]), mr_str_z(groups[b][k]));
                    if ((order > 0) - (order < 0) != (a > b) - (a < b))
                        fail_msg("\"%s\" to \"%s\": %d", groups[a][i], groups[b][k], order);
                }
            }
        }
    }
}

static void test_decimal_from_bytes(void **state)
{
    static const struct {
        struct mr_str bytes;
        int32_t scale;
        const char *text;
    } cases[] = {
        {{"\x00", 1}, 0, "0"},
        {{"\x00", 1}, 2, "0.00"},
        {{"\x00", 1}, -2, "0"},
        {{"\x01", 1}, 0, "1"},
        {{"\x7f", 1}, 0, "127"},
        {{"\x80", 1}, 0, "-128"},
        {{"\xff", 1}, 0, "-1"},
        {{"\xff\xff\xff\xff\xff", 5}, 0, "-1"},
        {{"\x00\x80", 2}, 0, "128"},
        {{"\xff\x7f", 2}, 0, "-129"},
        {{"\x30\x39", 2}, 0, "12345"},
        {{"\x30\x39", 2}, 2, "123.45"},
        {{"\x30\x39", 2}, 5, "0.12345"},
        {{"\x30\x39", 2}, 7, "0.0012345"},
        {{"\xcf\xc7", 2}, 7, "-0.0012345"},
        {{"\x30\x39", 2}, -3, "12345000"},
        {{"\x03\xe8", 2}, 2, "10.00"},
        {{"\x7f\xff\xff\xff\xff\xff\xff\xff", 8}, 0, "9223372036854775807"},
        {{"\x80\x00\x00\x00\x00\x00\x00\x00", 8}, 0, "-9223372036854775808"},
        {{"\x00\xff\xff\xff\xff\xff\xff\xff\xff", 9}, 0, "18446744073709551615"},
        {{"\x01\x00\x00\x00\x00\x00\x00\x00\x00", 9}, 3, "18446744073709551.616"},
        {{"\xff\x00\x00\x00\x00\x00\x00\x00\x00", 9}, 0, "-18446744073709551616"},
        {{"\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", 17}, 0,
         "340282366920938463463374607431768211456"},
    };
    struct mr_str out;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_true(mr_decimal_from_bytes(cases[i].bytes, cases[i].scale, *state, &out));
        assert_text(out, cases[i].text, "bytes");
    }
    assert_false(mr_decimal_from_bytes(MR_STR(""), 0, *state, &out));
    assert_false(mr_decimal_from_bytes(MR_STR("\1"), 20001, *state, &out));
    assert_false(mr_decimal_from_bytes(MR_STR("\1"), INT32_MIN, *state, &out));
    assert_true(mr_decimal_from_bytes(MR_STR("\1"), 20000, *state, &out));
    assert_int_equal(out.len, 20002);
    char *large = mr_arena_alloc(*state, 4097);
    memset(large, 0x7f, 4097);
    assert_true(mr_decimal_from_bytes(mr_str_of(large, 4096), 5, *state, &out));
    assert_int_equal(out.len, 9865);
    memset(large, 0x80, 4097);
    assert_true(mr_decimal_from_bytes(mr_str_of(large, 4096), 0, *state, &out));
    assert_int_equal(out.ptr[0], '-');
    assert_false(mr_decimal_from_bytes(mr_str_of(large, 4097), 5, *state, &out));
}

/* ---- Doubles ---- */

static void test_doubles_are_read_by_json_grammar(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } good[] = {
        {"0", 0.0},
        {"1", 1.0},
        {"-1.5", -1.5},
        {"0.1", 0.1},
        {"1e3", 1e3},
        {"1E-3", 1e-3},
        {"123456789012345678", 123456789012345678.0},
        {"9007199254740993", 9007199254740992.0},
        {"9007199254740993.00000000000000000000000000000000000000001", 9007199254740994.0},
        {"1.7976931348623157e308", 1.7976931348623157e308},
        {"4.9e-324", 4.9406564584124654e-324},
        {"2.4e-324", 0.0},
        {"2.2250738585072011e-308", 2.2250738585072011e-308},
        {"0e999999999999999999999", 0.0},
        {"1e-999999999999999999999", 0.0},
        {"0.000000000000000000000000000000000000000000000000001e51", 1.0},
        {"3.1415926535897932384626433832795028841971", 3.141592653589793},
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        double value = -77;
        if (!mr_parse_double(mr_str_z(good[i].text), &value) || value != good[i].value)
            fail_msg("\"%s\" was read as %.17g", good[i].text, value);
    }
    static const char *const bad[] = {"",    "-",  "+1",  ".5",  "5.",  "01",   "1e",       "1e400", "-1e400", "nan",
                                      "inf", "1 ", " 1",  "0x1", "1,5", "--1",  "infinity", "+Infinity", "-NaN",
                                      "1.7976931348623159e308", "1e999999999999999999999", "1e5x"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        double value;
        if (mr_parse_double(mr_str_z(bad[i]), &value))
            fail_msg("\"%s\" was read", bad[i]);
    }
    double value;
    assert_true(mr_parse_double(MR_STR("NaN"), &value) && isnan(value));
    assert_true(mr_parse_double(MR_STR("Infinity"), &value) && value == (double)INFINITY);
    assert_true(mr_parse_double(MR_STR("-Infinity"), &value) && value == -(double)INFINITY);
    assert_true(mr_parse_double(MR_STR("-0"), &value) && value == 0 && signbit(value));
}

static void test_a_number_of_many_digits_is_rounded_by_all_of_them(void **state)
{
    /* Half-way between 1 and the next double, then a digit far behind decides. */
    char *text = mr_arena_alloc(*state, 200000);
    static const char half[] = "1.00000000000000011102230246251565404236316680908203125";
    size_t len = sizeof(half) - 1;
    memcpy(text, half, len);
    memset(text + len, '0', 100000);
    double value;
    assert_true(mr_parse_double(mr_str_of(text, len + 100000), &value));
    assert_true(value == 1.0);
    text[len + 99999] = '1';
    assert_true(mr_parse_double(mr_str_of(text, len + 100000), &value));
    assert_true(value == 1.0 + 0x1p-52);
}

static void test_doubles_are_written_as_short_as_possible(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0.0, "0"},
        {-0.0, "-0"},
        {1.0, "1"},
        {-1.0, "-1"},
        {100.0, "100"},
        {0.1, "0.1"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1.1, "1.1"},
        {-19.99, "-19.99"},
        {1234567.891, "1234567.891"},
        {123456789012345.0, "123456789012345"},
        {9007199254740992.0, "9007199254740992"},
        {9007199254740993.0, "9007199254740992"},
        {1e15, "1000000000000000"},
        {1e20, "100000000000000000000"},
        {1e21, "1e21"},
        {1.5e300, "1.5e300"},
        {0.000001, "0.000001"},
        {0.0000012, "0.0000012"},
        {0.0000001, "1e-7"},
        {1.25e-9, "1.25e-9"},
        {1.7976931348623157e308, "1.7976931348623157e308"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {4.9406564584124654e-324, "5e-324"},
        {1.0 / 3, "0.3333333333333333"},
        {2.0 / 3, "0.6666666666666666"},
        {5e-324, "5e-324"},
        {9.5367431640625e-7, "9.5367431640625e-7"},
        {-1.2345678901234567e-5, "-0.000012345678901234568"},
        {-9.9999999999999995e-7, "-0.000001"},
        {1.2345678901234567e20, "123456789012345670000"},
        {(double)INFINITY, "Infinity"},
        {-(double)INFINITY, "-Infinity"},
        {(double)NAN, "NaN"},
        {-(double)NAN, "NaN"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char out[32];
        size_t len = mr_double_text(cases[i].value, out);
        assert_text(mr_str_of(out, len), cases[i].text, "a double");
        assert_int_equal(out[len], 0);
    }
}

static void test_floats_are_written_as_short_as_possible(void **state)
{
    (void)state;
    static const struct {
        float value;
        const char *text;
    } cases[] = {
        {0.0f, "0"},
        {-0.0f, "-0"},
        {0.1f, "0.1"},
        {1.5f, "1.5"},
        {-19.99f, "-19.99"},
        {16777216.0f, "16777216"},
        {3.4028235e38f, "3.4028235e38"},
        {1.17549435e-38f, "1.1754944e-38"},
        {1.4e-45f, "1e-45"},
        {1.0f / 3, "0.33333334"},
        {123456.0f, "123456"},
        {1234567.0f, "1234567"},
        {(float)INFINITY, "Infinity"},
        {(float)NAN, "NaN"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char out[32];
        assert_text(mr_str_of(out, mr_float_text(cases[i].value, out)), cases[i].text, "a float");
    }
}

static void test_decimal_is_double_where_it_comes_back(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_double, shows_double;
    } cases[] = {
        {"0", true, true},
        {"0.1", true, true},
        {"1.10", true, true},
        {"123456789012345", true, true},
        {"+0007.50", true, true},
        {"9007199254740992", true, true},
        {"9007199254740993", false, false},
        {"9007199254740994", true, true},
        {"18446744073709551616", false, false},
        {"10000000000000000000000", true, true},
        {"1e300", true, true},
        {"1e308", true, true},
        {"1e309", false, false},
        {"1e20000", false, false},
        {"5e-324", true, true},
        {"1e-324", false, false},
        {"1e-20000", false, false},
        {"1.7976931348623157e308", true, true},
        {"0.30000000000000004", true, true},
        {"0.10000000000000001", false, true},
        {"0.10000000000000003", true, true},
        {"0.12345678901234567", false, false},
        {"0.123456789012345678", false, false},
        {"NaN", false, false},
        {"", false, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct mr_str text = mr_str_z(cases[i].text);
        if (mr_decimal_is_double(text) != cases[i].is_double ||
            mr_decimal_shows_double(text) != cases[i].shows_double)
            fail_msg("\"%s\": %d %d", cases[i].text, mr_decimal_is_double(text), mr_decimal_shows_double(text));
    }
}

static void test_doubles_do_not_depend_on_the_locale(void **state)
{
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE", "ps_AF.UTF-8"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!setlocale(LC_ALL, names[i]))
            continue; /* a machine without that locale shows nothing */
        char out[32];
        double value;
        assert_text(mr_str_of(out, mr_double_text(0.1 + 0.2, out)), "0.30000000000000004", names[i]);
        assert_text(mr_str_of(out, mr_float_text(1.0f / 3, out)), "0.33333334", names[i]);
        assert_true(mr_parse_double(MR_STR("1.2345678901234567890123e-5"), &value));
        assert_true(value > 1.2e-5 && value < 1.3e-5);
    }
    setlocale(LC_ALL, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decimal_info_counts_digits),
        cmocka_unit_test(test_decimal_refuses_what_is_no_number),
        cmocka_unit_test(test_decimal_plain_and_canonical),
        cmocka_unit_test(test_decimals_with_ten_thousand_digits),
        cmocka_unit_test(test_decimal_to_int64_takes_whole_values),
        cmocka_unit_test(test_decimals_compare_by_value),
        cmocka_unit_test(test_decimal_from_bytes),
        cmocka_unit_test(test_doubles_are_read_by_json_grammar),
        cmocka_unit_test(test_a_number_of_many_digits_is_rounded_by_all_of_them),
        cmocka_unit_test(test_doubles_are_written_as_short_as_possible),
        cmocka_unit_test(test_floats_are_written_as_short_as_possible),
        cmocka_unit_test(test_decimal_is_double_where_it_comes_back),
        cmocka_unit_test(test_doubles_do_not_depend_on_the_locale),
    };
    return cmocka_run_group_tests(tests, make_arena, free_arena);
}
