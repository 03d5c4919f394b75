/* Rules of the join, of facts and of the fit of single values, one by one. The laws stand in property/test_lattice_laws.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <millrace/schema/lattice.h>

#define TWO_53 (UINT64_C(1) << 53)

static struct mr_type type_of(const char *text_z)
{
    struct mr_type type;

    if (!mr_type_parse(mr_str_z(text_z), &type))
        fail_msg("no type: %s", text_z);
    return type;
}

static void join_is(const char *a_z, const char *b_z, const struct mr_facts *facts, const char *want_z)
{
    struct mr_type out = MR_TYPE(MR_T_NONE);
    char text[32];
    bool ab = mr_type_join(type_of(a_z), type_of(b_z), facts, &out);

    assert_string_equal(ab ? mr_type_text(out, text) : "conflict", want_z);
    bool ba = mr_type_join(type_of(b_z), type_of(a_z), facts, &out);
    assert_string_equal(ba ? mr_type_text(out, text) : "conflict", want_z);
}

static void test_integers_join_to_the_wider(void **state)
{
    (void)state;
    join_is("int16", "int32", NULL, "int32");
    join_is("int32", "int64", NULL, "int64");
    join_is("int16", "int16", NULL, "int16");
}

static void test_decimals_join_by_integer_and_fraction_digits(void **state)
{
    (void)state;
    join_is("decimal(5,2)", "decimal(6,4)", NULL, "decimal(7,4)");
    join_is("decimal(18,0)", "decimal(5,5)", NULL, "decimal(23,5)");
    join_is("decimal(5,2)", "decimal", NULL, "decimal");
    join_is("decimal(40000,20000)", "decimal(60000,0)", NULL, "decimal"); /* no such precision */
}

static void test_an_integer_brings_the_digits_of_its_width_to_a_decimal(void **state)
{
    (void)state;
    join_is("int16", "decimal(4,2)", NULL, "decimal(7,2)");
    join_is("int32", "decimal(4,2)", NULL, "decimal(12,2)");
    join_is("int64", "decimal(4,2)", NULL, "decimal(21,2)");
    join_is("int64", "decimal(30,2)", NULL, "decimal(30,2)");
    join_is("int64", "decimal", NULL, "decimal");
}

static void test_int64_and_double_are_double_up_to_two_to_the_53(void **state)
{
    struct mr_facts facts = {.max_abs = TWO_53};

    (void)state;
    join_is("int64", "float64", &facts, "float64");
    facts.max_abs++;
    join_is("int64", "float64", &facts, "decimal");
    join_is("int64", "float32", &facts, "decimal");
    join_is("int32", "float64", &facts, "float64");
    facts.has_special = true;
    join_is("int64", "float64", &facts, "conflict");
    facts.max_abs = TWO_53;
    join_is("int64", "float64", &facts, "float64");
}

static void test_floats_join_where_nothing_is_lost(void **state)
{
    struct mr_facts special = {.has_special = true};

    (void)state;
    join_is("float32", "float64", NULL, "float64");
    join_is("float32", "int16", NULL, "float32");
    join_is("float32", "int32", NULL, "float64");
    join_is("float32", "decimal(5,2)", NULL, "decimal");
    join_is("float64", "decimal(5,2)", NULL, "decimal");
    join_is("float64", "decimal", &special, "conflict");
}

static void test_clocks_and_bits_have_their_own_joins(void **state)
{
    (void)state;
    join_is("time", "duration", NULL, "duration");
    join_is("bits(3)", "bits(5)", NULL, "bits");
    join_is("bits(3)", "bits(3)", NULL, "bits(3)");
}

static void test_everything_else_conflicts(void **state)
{
    static const char *const kinds[] = {"boolean", "int64", "decimal", "float64", "text",        "bytes",     "date",
                                        "time",    "uuid",  "bits",    "json",    "timestamptz", "timestamp"};

    (void)state;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        for (size_t k = 0; k < i; k++)
            if (!(k >= 1 && k <= 3 && i >= 1 && i <= 3))
                join_is(kinds[i], kinds[k], NULL, "conflict");
}

static void test_none_is_neutral_and_the_stronger_origin_stays(void **state)
{
    struct mr_type declared = type_of("int32"), out;

    (void)state;
    declared.origin = MR_SCHEMA;
    assert_true(mr_type_join(MR_TYPE(MR_T_NONE), declared, NULL, &out));
    assert_true(mr_type_eq(out, declared));
    assert_true(mr_type_join(type_of("int64"), declared, NULL, &out));
    assert_int_equal(out.kind, MR_T_INT64);
    assert_int_equal(out.origin, MR_SCHEMA);
}

static struct mr_value number(const char *text_z)
{
    return mr_value_bytes(MR_V_NUMBER, mr_str_z(text_z));
}

static bool accepts(const char *type_z, struct mr_value v)
{
    return mr_type_accepts(type_of(type_z), v);
}

static void test_whole_numbers_of_any_spelling_fit_integers(void **state)
{
    (void)state;
    assert_true(accepts("int64", mr_value_float(5.0)));
    assert_true(accepts("int64", number("5.00")));
    assert_true(accepts("int64", number("5e2")));
    assert_true(accepts("int64", mr_value_float(-9223372036854775808.0)));
    assert_false(accepts("int64", mr_value_float(9223372036854775808.0)));
    assert_false(accepts("int64", mr_value_float(5.5)));
    assert_false(accepts("int64", mr_value_float(NAN)));
    assert_false(accepts("int64", mr_value_float(INFINITY)));
    assert_false(accepts("int64", number("9223372036854775808")));
    assert_false(accepts("int16", mr_value_int(32768)));
    assert_true(accepts("int16", mr_value_int(-32768)));
}

static void test_decimals_take_what_their_digits_hold(void **state)
{
    (void)state;
    assert_true(accepts("decimal(5,2)", mr_value_int(999)));
    assert_false(accepts("decimal(5,2)", mr_value_int(1000)));
    assert_true(accepts("decimal(5,2)", number("-999.99")));
    assert_true(accepts("decimal(5,2)", number("1.500")));
    assert_false(accepts("decimal(5,2)", number("1.501")));
    assert_true(accepts("decimal(5,2)", mr_value_float(1.25)));
    assert_false(accepts("decimal(5,2)", mr_value_float(NAN)));
    assert_true(accepts("decimal(2,2)", mr_value_int(0)));
    assert_true(accepts("decimal", number("1e300")));
    assert_true(accepts("decimal", number("NaN")));
}

static void test_floats_take_whole_numbers_they_hold_exactly(void **state)
{
    (void)state;
    assert_true(accepts("float64", mr_value_int(INT64_C(1) << 53)));
    assert_false(accepts("float64", mr_value_int((INT64_C(1) << 53) + 1)));
    assert_true(accepts("float32", mr_value_int(1 << 24)));
    assert_false(accepts("float32", mr_value_int((1 << 24) + 1)));
    assert_true(accepts("float32", mr_value_float(0.1)));                 /* the float's shortest text */
    assert_true(accepts("float32", mr_value_float(1234.5670166015625))); /* the float itself */
    assert_false(accepts("float32", mr_value_float(0.123456789)));
    assert_false(accepts("float32", mr_value_float(1e300)));
    assert_true(accepts("float32", mr_value_float(NAN)));
}

static void test_times_fit_the_day_only(void **state)
{
    int64_t day = INT64_C(86400000000);

    (void)state;
    assert_true(accepts("time", mr_value_time(MR_V_TIME, day)));
    assert_false(accepts("time", mr_value_time(MR_V_TIME, day + 1)));
    assert_false(accepts("time", mr_value_time(MR_V_TIME, -1)));
    assert_true(accepts("time", mr_value_time(MR_V_DURATION, 0)));
    assert_true(accepts("duration", mr_value_time(MR_V_TIME, day)));
}

static void test_null_and_absent_fit_everywhere_and_invalid_nowhere(void **state)
{
    (void)state;
    assert_true(accepts("int16", mr_value_null()));
    assert_true(accepts("json", (struct mr_value){.tag = MR_V_UNAVAILABLE}));
    assert_false(accepts("text", (struct mr_value){.tag = MR_V_INVALID}));
}

static void test_facts_tell_what_a_value_needs(void **state)
{
    struct mr_facts facts = mr_facts_of(mr_value_int(INT64_MIN));

    (void)state;
    assert_int_equal(facts.max_abs, UINT64_C(1) << 63);
    assert_int_equal(facts.int_digits, 19);
    facts = mr_facts_of(number("-123.4500"));
    assert_int_equal(facts.int_digits, 3);
    assert_int_equal(facts.frac_digits, 4);
    assert_true(facts.has_fraction);
    facts = mr_facts_of(number("18446744073709551615"));
    assert_true(facts.max_abs == UINT64_MAX);
    facts = mr_facts_of(number("-18446744073709551614"));
    assert_true(facts.max_abs == UINT64_MAX - 1);
    facts = mr_facts_of(number("99999999999999999999999"));
    assert_true(facts.max_abs == UINT64_MAX);
    facts = mr_facts_of(number("Infinity"));
    assert_true(facts.has_special);
    facts = mr_facts_of(mr_value_float(NAN));
    assert_true(facts.has_special);
    facts = mr_facts_of(mr_value_float(1e300));
    assert_true(facts.max_abs == UINT64_MAX);
    facts = mr_facts_of(mr_value_text(MR_STR("four")));
    assert_int_equal(facts.max_len, 4);
    facts = mr_facts_of(mr_value_time(MR_V_TIME, -1));
    assert_true(facts.has_negative_time);
}

static void test_facts_add_up_by_maximum_and_or(void **state)
{
    struct mr_facts a = {.int_digits = 3, .frac_digits = 1, .max_abs = 7, .max_len = 2, .has_special = true};
    struct mr_facts b = {.int_digits = 1, .frac_digits = 5, .max_abs = 9, .max_len = 1, .has_fraction = true};

    (void)state;
    mr_facts_add(&a, &b);
    assert_int_equal(a.int_digits, 3);
    assert_int_equal(a.frac_digits, 5);
    assert_int_equal(a.max_abs, 9);
    assert_int_equal(a.max_len, 2);
    assert_true(a.has_special && a.has_fraction && !a.has_negative_time);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers_join_to_the_wider),
        cmocka_unit_test(test_decimals_join_by_integer_and_fraction_digits),
        cmocka_unit_test(test_an_integer_brings_the_digits_of_its_width_to_a_decimal),
        cmocka_unit_test(test_int64_and_double_are_double_up_to_two_to_the_53),
        cmocka_unit_test(test_floats_join_where_nothing_is_lost),
        cmocka_unit_test(test_clocks_and_bits_have_their_own_joins),
        cmocka_unit_test(test_everything_else_conflicts),
        cmocka_unit_test(test_none_is_neutral_and_the_stronger_origin_stays),
        cmocka_unit_test(test_whole_numbers_of_any_spelling_fit_integers),
        cmocka_unit_test(test_decimals_take_what_their_digits_hold),
        cmocka_unit_test(test_floats_take_whole_numbers_they_hold_exactly),
        cmocka_unit_test(test_times_fit_the_day_only),
        cmocka_unit_test(test_null_and_absent_fit_everywhere_and_invalid_nowhere),
        cmocka_unit_test(test_facts_tell_what_a_value_needs),
        cmocka_unit_test(test_facts_add_up_by_maximum_and_or),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
