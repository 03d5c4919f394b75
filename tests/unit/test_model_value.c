/* Model: what a value shows, where it can go, how it is spelled, when two are equal as keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include <millrace/base/mem.h>
#include <millrace/base/time.h>
#include <millrace/base/utf8.h>
#include <millrace/model/value.h>

#define UUID_TEXT "00112233-4455-6677-8899-aabbccddeeff"
static const char uuid_bytes[] = "\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xAA\xBB\xCC\xDD\xEE\xFF";

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

static struct mr_value payload(enum mr_tag tag, const char *text_z)
{
    return mr_value_bytes(tag, mr_str_z(text_z));
}

static struct mr_value number(const char *text_z)
{
    return payload(MR_V_NUMBER, text_z);
}

static struct mr_value uuid(void)
{
    return mr_value_bytes(MR_V_UUID, mr_str_of(uuid_bytes, 16));
}

static void assert_str(struct mr_str have, const char *want)
{
    if (!mr_str_eq_z(have, want))
        fail_msg("\"%.*s\" is not \"%s\"", MR_STR_FMT(have), want);
}

static void assert_value_text(struct mr_value v, const char *want)
{
    struct mr_buf buf = MR_BUF_INIT(10000);
    mr_value_append_text(v, &buf);
    assert_str(mr_buf_str(&buf), want);
    mr_buf_free(&buf);
}

static void assert_value_json(struct mr_value v, const char *want)
{
    struct mr_buf buf = MR_BUF_INIT(10000);
    mr_value_append_json(v, &buf);
    assert_str(mr_buf_str(&buf), want);
    mr_buf_free(&buf);
}

static struct mr_type type_of(const char *text_z)
{
    struct mr_type type;
    if (!mr_type_parse(mr_str_z(text_z), &type))
        fail_msg("\"%s\" is no type", text_z);
    return type;
}

static void test_a_value_has_sixteen_bytes(void **state)
{
    (void)state;
    assert_int_equal(sizeof(struct mr_value), 16);
}

static void test_a_value_shows_its_type(void **state)
{
    (void)state;
    const struct {
        struct mr_value v;
        const char *type;
    } cases[] = {
        {{.tag = MR_V_ABSENT}, "none"},
        {{.tag = MR_V_UNAVAILABLE}, "none"},
        {mr_value_null(), "none"},
        {payload(MR_V_INVALID, "why"), "none"},
        {mr_value_bool(true), "boolean"},
        {mr_value_int(INT64_MIN), "int64"},
        {number("123456789012345678901"), "decimal(21,0)"},
        {number("-0"), "decimal(1,0)"},
        {number("5.00"), "decimal"},
        {number("5e3"), "decimal"},
        {number("NaN"), "decimal"},
        {mr_value_float(1), "float64"},
        {payload(MR_V_TEXT, "x"), "text"},
        {payload(MR_V_BYTES, "x"), "bytes"},
        {mr_value_time(MR_V_DATE, 1), "date"},
        {mr_value_time(MR_V_TIME, 1), "time"},
        {mr_value_time(MR_V_DURATION, 1), "duration"},
        {mr_value_time(MR_V_TIMESTAMP, 1), "timestamp"},
        {mr_value_time(MR_V_TIMESTAMPTZ, 1), "timestamptz"},
        {uuid(), "uuid"},
        {payload(MR_V_BITS, "01011"), "bits(5)"},
        {payload(MR_V_JSON, "{}"), "json"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[32];
        assert_string_equal(mr_type_text(mr_value_type(cases[i].v), text), cases[i].type);
    }
}

static void test_a_number_of_too_many_digits_has_open_digits(void **state)
{
    char *digits = mr_arena_alloc(*state, 65536);
    memset(digits, '7', 65536);
    char text[32];
    struct mr_type type = mr_value_type(mr_value_bytes(MR_V_NUMBER, mr_str_of(digits, 65535)));
    assert_string_equal(mr_type_text(type, text), "decimal(65535,0)");
    type = mr_value_type(mr_value_bytes(MR_V_NUMBER, mr_str_of(digits, 65536)));
    assert_string_equal(mr_type_text(type, text), "decimal");
}

/* ---- Every tag in every kind ---- */

static const struct mr_value one_int = {.tag = MR_V_INT, .i = 7}, one_null = {.tag = MR_V_NULL};
static const struct mr_array int_array = {.items = &one_int, .count = 1, .json = {"[7]", 3}, .type = {.kind = MR_T_ARRAY, .element = MR_T_INT64}};
static const struct mr_array null_array = {.items = &one_null, .count = 1, .json = {"[null]", 6}, .type = {.kind = MR_T_ARRAY}};
static const struct mr_array mixed_array = {.json = {"[1,\"a\"]", 7}, .is_mixed = true};

/* What becomes of it: C conflict, R out of range, V bad value, = the same value, T and J its text and JSON, otherwise the
 * text of the result in the kind's own tag. One column per kind from NONE to JSON. */
struct pair_row {
    const char *name;
    struct mr_value v;
    const char *want[MR_TYPE_KINDS];
};

static const struct pair_row pairs[] = {
    /*            none bool i16  i32  i64  dec  f32  f64  text bytes date time dur  ts   tstz uuid bits json */
    {"absent", {.tag = MR_V_ABSENT},
     {"=", "=", "=", "=", "=", "=", "=", "=", "=", "=", "=", "=", "=", "=", "=", "=", "=", "=", "="}},
    {"unavailable", {.tag = MR_V_UNAVAILABLE},
     {"=", "=", "=", "=", "=", "=", "=", "=", "=", "=", "=", "=", "=", "=", "=", "=", "=", "=", "="}},
    {"null", {.tag = MR_V_NULL},
     {"=", "=", "=", "=", "=", "=", "=", "=", "=", "=", "=", "=", "=", "=", "=", "=", "=", "=", "="}},
    {"bool", {.tag = MR_V_BOOL, .i = 1},
     {"C", "=", "C", "C", "C", "C", "C", "C", "T", "C", "C", "C", "C", "C", "C", "C", "C", "J", "C"}},
    {"int", {.tag = MR_V_INT, .i = 70000},
     {"C", "C", "R", "=", "=", "70000", "70000", "70000", "T", "C", "C", "C", "C", "C", "C", "C", "C", "J", "C"}},
    {"number", {.tag = MR_V_NUMBER, .len = 4, .ptr = "1.50"},
     {"C", "C", "C", "C", "C", "=", "1.5", "1.5", "T", "C", "C", "C", "C", "C", "C", "C", "C", "J", "C"}},
    {"whole", {.tag = MR_V_NUMBER, .len = 3, .ptr = "4e4"},
     {"C", "C", "R", "40000", "40000", "40000", "40000", "40000", "T", "C", "C", "C", "C", "C", "C", "C", "C", "J", "C"}},
    {"float", {.tag = MR_V_FLOAT, .f = -2.5},
     {"C", "C", "C", "C", "C", "-2.5", "=", "=", "T", "C", "C", "C", "C", "C", "C", "C", "C", "J", "C"}},
    {"whole float", {.tag = MR_V_FLOAT, .f = 3e9},
     {"C", "C", "R", "R", "3000000000", "3000000000", "=", "=", "T", "C", "C", "C", "C", "C", "C", "C", "C", "J", "C"}},
    {"text", {.tag = MR_V_TEXT, .len = 1, .ptr = "1"},
     {"C", "C", "C", "C", "C", "C", "C", "C", "=", "C", "C", "C", "C", "C", "C", "C", "C", "J", "C"}},
    {"bytes", {.tag = MR_V_BYTES, .len = 2, .ptr = "\xFF"},
     {"C", "C", "C", "C", "C", "C", "C", "C", "T", "=", "C", "C", "C", "C", "C", "C", "C", "J", "C"}},
    {"date", {.tag = MR_V_DATE, .i = 1},
     {"C", "C", "C", "C", "C", "C", "C", "C", "T", "C", "=", "C", "C", "C", "C", "C", "C", "J", "C"}},
    {"time", {.tag = MR_V_TIME, .i = 1},
     {"C", "C", "C", "C", "C", "C", "C", "C", "T", "C", "C", "=", "00:00:00.000001", "C", "C", "C", "C", "J", "C"}},
    {"duration", {.tag = MR_V_DURATION, .i = -1},
     {"C", "C", "C", "C", "C", "C", "C", "C", "T", "C", "C", "R", "=", "C", "C", "C", "C", "J", "C"}},
    {"short duration", {.tag = MR_V_DURATION, .i = MR_US_PER_DAY},
     {"C", "C", "C", "C", "C", "C", "C", "C", "T", "C", "C", "24:00:00", "=", "C", "C", "C", "C", "J", "C"}},
    {"timestamp", {.tag = MR_V_TIMESTAMP, .i = 1},
     {"C", "C", "C", "C", "C", "C", "C", "C", "T", "C", "C", "C", "C", "=", "C", "C", "C", "J", "C"}},
    {"timestamptz", {.tag = MR_V_TIMESTAMPTZ, .i = 1},
     {"C", "C", "C", "C", "C", "C", "C", "C", "T", "C", "C", "C", "C", "C", "=", "C", "C", "J", "C"}},
    {"uuid", {.tag = MR_V_UUID, .len = 16, .ptr = uuid_bytes},
     {"C", "C", "C", "C", "C", "C", "C", "C", "T", "C", "C", "C", "C", "C", "C", "=", "C", "J", "C"}},
    {"bits", {.tag = MR_V_BITS, .len = 3, .ptr = "101"},
     {"C", "C", "C", "C", "C", "C", "C", "C", "T", "C", "C", "C", "C", "C", "C", "C", "=", "J", "C"}},
    {"json", {.tag = MR_V_JSON, .len = 7, .ptr = "{\"a\":1}"},
     {"C", "C", "C", "C", "C", "C", "C", "C", "T", "C", "C", "C", "C", "C", "C", "C", "C", "=", "C"}},
    {"array", {.tag = MR_V_ARRAY, .len = 3, .ptr = (const char *)&int_array},
     {"C", "C", "C", "C", "C", "C", "C", "C", "T", "C", "C", "C", "C", "C", "C", "C", "C", "J", "C"}},
    {"array of nulls", {.tag = MR_V_ARRAY, .len = 6, .ptr = (const char *)&null_array},
     {"C", "C", "C", "C", "C", "C", "C", "C", "T", "C", "C", "C", "C", "C", "C", "C", "C", "J", "="}},
    {"mixed array", {.tag = MR_V_ARRAY, .len = 7, .ptr = (const char *)&mixed_array},
     {"C", "C", "C", "C", "C", "C", "C", "C", "T", "C", "C", "C", "C", "C", "C", "C", "C", "J", "C"}},
    {"bad", {.tag = MR_V_INVALID, .aux = MR_INVALID_BAD_VALUE, .len = 3, .ptr = "why"},
     {"V", "V", "V", "V", "V", "V", "V", "V", "V", "V", "V", "V", "V", "V", "V", "V", "V", "V", "V"}},
    {"beyond", {.tag = MR_V_INVALID, .aux = MR_INVALID_RANGE, .len = 3, .ptr = "why"},
     {"R", "R", "R", "R", "R", "R", "R", "R", "R", "R", "R", "R", "R", "R", "R", "R", "R", "R", "R"}},
};

static struct mr_type column_of(int kind)
{
    return kind == MR_T_DECIMAL ? MR_TYPE_DECIMAL_OPEN : MR_TYPE((uint8_t)kind);
}

static void check_spelling(const struct mr_value *v, const struct mr_value *out, bool is_json)
{
    struct mr_buf buf = MR_BUF_INIT(1000);
    (is_json ? mr_value_append_json : mr_value_append_text)(*v, &buf);
    assert_int_equal(out->tag, is_json ? MR_V_JSON : MR_V_TEXT);
    assert_true(mr_str_eq(mr_value_str(*out), mr_buf_str(&buf)));
    mr_buf_free(&buf);
}

static void check_pair(const struct pair_row *row, int kind, struct mr_arena *ar)
{
    struct mr_value out = {.tag = MR_V_INVALID, .i = 77};
    struct mr_error err = {0};
    const char *want = row->want[kind];
    enum mr_status status = mr_value_coerce(row->v, column_of(kind), ar, &out, &err);
    const char *code = *want == 'C' ? "type_conflict" : *want == 'R' ? "out_of_range" : *want == 'V' ? "bad_value" : "";
    if ((status == MR_OK) != (*code == 0) || strcmp(err.code, code) != 0)
        fail_msg("%s into kind %d: status %d \"%s\" %s", row->name, kind, status, err.code, err.message);
    if (status != MR_OK) {
        assert_int_equal(status, MR_E_DATA);
        assert_string_not_equal(err.message, "");
        return;
    }
    if (*want == '=') {
        assert_memory_equal(&out, &row->v, sizeof(out));
    } else if (*want == 'T' || *want == 'J') {
        check_spelling(&row->v, &out, *want == 'J');
    } else {
        assert_int_equal(out.tag, mr_type_tag((enum mr_type_kind)kind));
        assert_value_text(out, want);
    }
}

static void test_every_tag_goes_into_every_kind_or_says_why_not(void **state)
{
    unsigned seen = 0;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        seen |= 1u << pairs[i].v.tag;
        for (int kind = 0; kind < MR_TYPE_KINDS; kind++)
            check_pair(&pairs[i], kind, *state);
    }
    assert_int_equal(seen, (1u << (MR_V_ARRAY + 1)) - 1); /* no tag is missing */
}

static void test_coercing_twice_changes_nothing_more(void **state)
{
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        for (int kind = 0; kind < MR_TYPE_KINDS; kind++) {
            struct mr_value once, twice;
            if (mr_value_coerce(pairs[i].v, column_of(kind), *state, &once, NULL) != MR_OK)
                continue;
            assert_int_equal(mr_value_coerce(once, column_of(kind), *state, &twice, NULL), MR_OK);
            assert_memory_equal(&once, &twice, sizeof(once));
        }
    }
}

/* ---- Single rules ---- */

struct rule {
    struct mr_value v;
    const char *type;
    const char *want; /* the result's text, or "!" and the error's code */
};

static void check_rules(const struct rule *rules, size_t count, struct mr_arena *ar)
{
    for (size_t i = 0; i < count; i++) {
        struct mr_value out;
        struct mr_error err = {0};
        struct mr_type type = type_of(rules[i].type);
        enum mr_status status = mr_value_coerce(rules[i].v, type, ar, &out, &err);
        if (rules[i].want[0] == '!') {
            assert_int_equal(status, MR_E_DATA);
            if (strcmp(err.code, rules[i].want + 1) != 0)
                fail_msg("rule %zu: %s, %s", i, err.code, err.message);
            continue;
        }
        if (status != MR_OK)
            fail_msg("rule %zu: %s", i, err.message);
        assert_int_equal(out.tag, mr_type_tag((enum mr_type_kind)type.kind));
        assert_value_text(out, rules[i].want);
    }
}

static void test_integers_are_held_to_their_range(void **state)
{
    const struct rule rules[] = {
        {mr_value_int(INT16_MAX), "int16", "32767"},
        {mr_value_int(INT16_MIN), "int16", "-32768"},
        {mr_value_int(INT16_MAX + 1), "int16", "!out_of_range"},
        {mr_value_int(INT16_MIN - 1), "int16", "!out_of_range"},
        {mr_value_int(INT32_MAX), "int32", "2147483647"},
        {mr_value_int((int64_t)INT32_MAX + 1), "int32", "!out_of_range"},
        {mr_value_int((int64_t)INT32_MIN - 1), "int32", "!out_of_range"},
        {number("9223372036854775807.0"), "int64", "9223372036854775807"},
        {number("-9223372036854775808"), "int64", "-9223372036854775808"},
        {number("9223372036854775808"), "int64", "!out_of_range"},
        {number("1e20000"), "int64", "!out_of_range"},
        {number("1e-1"), "int64", "!type_conflict"},
        {number("NaN"), "int64", "!type_conflict"},
        {mr_value_float(-0x1p63), "int64", "-9223372036854775808"},
        {mr_value_float(0x1p63), "int64", "!out_of_range"},
        {mr_value_float(1e300), "int64", "!out_of_range"},
        {mr_value_float(-0.0), "int64", "0"},
        {mr_value_float(0.5), "int64", "!type_conflict"},
        {mr_value_float((double)NAN), "int64", "!type_conflict"},
        {mr_value_float((double)INFINITY), "int64", "!type_conflict"},
    };
    check_rules(rules, sizeof(rules) / sizeof(rules[0]), *state);
}

static void test_decimals_are_held_to_their_digits(void **state)
{
    const struct rule rules[] = {
        {number("123.45"), "decimal(5,2)", "123.45"},
        {number("123.4"), "decimal(5,2)", "123.4"},
        {number("-999.99"), "decimal(5,2)", "-999.99"},
        {number("1000"), "decimal(5,2)", "!out_of_range"},
        {number("1.234"), "decimal(5,2)", "!out_of_range"},
        {number("1.230"), "decimal(5,2)", "1.23"},
        {number("-0.000"), "decimal(5,2)", "0.00"},
        {number("1.000"), "decimal(5,0)", "1"},
        {number("-0.0"), "decimal(5,0)", "0"},
        {number("1.5e2"), "decimal(5,2)", "150"},
        {number("1.5e2"), "decimal", "150"},
        {number("1.500"), "decimal", "1.500"},
        {number("0.05"), "decimal(2,2)", "0.05"},
        {number("1.05"), "decimal(2,2)", "!out_of_range"},
        {number("0.0005"), "decimal(2,4)", "0.0005"},
        {number("0.05"), "decimal(2,4)", "!out_of_range"},
        {number("12300"), "decimal(3,-2)", "12300"},
        {number("12300.00"), "decimal(3,-2)", "12300"},
        {number("12345"), "decimal(5,-2)", "!out_of_range"},
        {number("0"), "decimal(3,-2)", "0"},
        {number("NaN"), "decimal", "NaN"},
        {number("-Infinity"), "decimal", "-Infinity"},
        {number("NaN"), "decimal(5,2)", "NaN"},
        {number("Infinity"), "decimal(5,2)", "!out_of_range"},
        {number("1e99999"), "decimal", "!out_of_range"},
        {mr_value_int(INT64_MIN), "decimal", "-9223372036854775808"},
        {mr_value_int(1000), "decimal(5,2)", "!out_of_range"},
        {mr_value_float(0.1), "decimal", "0.1"},
        {mr_value_float(-0.0), "decimal", "0"},
        {mr_value_float(1e22), "decimal", "10000000000000000000000"},
        {mr_value_float(1.5e-9), "decimal", "0.0000000015"},
        {mr_value_float((double)NAN), "decimal", "NaN"},
        {mr_value_float(-(double)INFINITY), "decimal", "-Infinity"},
        {mr_value_float(-(double)INFINITY), "decimal(5,2)", "!out_of_range"},
        {mr_value_float(1.25), "decimal(3,1)", "!out_of_range"},
    };
    check_rules(rules, sizeof(rules) / sizeof(rules[0]), *state);
}

static void test_floats_take_what_comes_back(void **state)
{
    const struct rule rules[] = {
        {mr_value_int(INT64_C(1) << 53), "float64", "9007199254740992"},
        {mr_value_int((INT64_C(1) << 53) + 1), "float64", "!out_of_range"},
        {mr_value_int(INT64_MAX), "float64", "!out_of_range"},
        {mr_value_int(INT64_MIN), "float64", "-9223372036854776000"},
        {number("0.1"), "float64", "0.1"},
        {number("0.10"), "float64", "0.1"},
        {number("0.10000000000000001"), "float64", "0.1"},
        {number("0.12345678901234567890"), "float64", "!out_of_range"},
        {number("1e400"), "float64", "!out_of_range"},
        {number("1e-400"), "float64", "!out_of_range"},
        {number("NaN"), "float64", "NaN"},
        {number("Infinity"), "float64", "Infinity"},
        {mr_value_float(0.1), "float32", "0.1"},
        {mr_value_float((double)0.1f), "float32", "0.1"},
        {mr_value_float(0.123456789012), "float32", "!out_of_range"},
        {mr_value_float(1e39), "float32", "!out_of_range"},
        {mr_value_float((double)INFINITY), "float32", "Infinity"},
        {mr_value_float((double)NAN), "float32", "NaN"},
        {number("0.1"), "float32", "0.1"},
        {number("3.4028235e38"), "float32", "3.4028235e38"},
        {mr_value_int(16777216), "float32", "16777216"},
        {mr_value_int(16777217), "float32", "!out_of_range"},
    };
    check_rules(rules, sizeof(rules) / sizeof(rules[0]), *state);
}

static void test_bits_of_a_fixed_length_are_padded_or_refused(void **state)
{
    const struct rule rules[] = {
        {payload(MR_V_BITS, "101"), "bits(5)", "00101"},
        {payload(MR_V_BITS, "00101"), "bits(3)", "101"},
        {payload(MR_V_BITS, "1101"), "bits(3)", "!out_of_range"},
        {payload(MR_V_BITS, "101"), "bits", "101"},
        {payload(MR_V_BITS, ""), "bits(2)", "00"},
    };
    check_rules(rules, sizeof(rules) / sizeof(rules[0]), *state);
}

static void test_infinite_durations_are_no_time_of_day(void **state)
{
    const struct rule rules[] = {
        {mr_value_time(MR_V_DURATION, MR_TIME_INFINITY), "time", "!out_of_range"},
        {mr_value_time(MR_V_DURATION, MR_TIME_NEG_INFINITY), "time", "!out_of_range"},
        {mr_value_time(MR_V_TIME, MR_TIME_INFINITY), "duration", "infinity"},
    };
    check_rules(rules, sizeof(rules) / sizeof(rules[0]), *state);
}

static void test_flags_of_texts_stay_with_them(void **state)
{
    struct mr_value out, text = payload(MR_V_TEXT, "x");
    text.flags = MR_TEXT_HAS_NUL;
    assert_int_equal(mr_value_coerce(text, MR_TYPE(MR_T_JSON), *state, &out, NULL), MR_OK);
    assert_int_equal(out.flags, MR_TEXT_HAS_NUL);
    struct mr_value json = payload(MR_V_JSON, "[\"\\u0000\"]");
    json.flags = MR_TEXT_HAS_NUL;
    assert_int_equal(mr_value_coerce(json, MR_TYPE(MR_T_TEXT), *state, &out, NULL), MR_OK);
    assert_int_equal(out.flags, 0); /* the escape is text like any other now */
    json = payload(MR_V_JSON, "[\"\xED\xA0\x80\"]");
    json.flags = MR_TEXT_HAS_SURROGATE;
    assert_int_equal(mr_value_coerce(json, MR_TYPE(MR_T_TEXT), *state, &out, NULL), MR_OK);
    assert_int_equal(out.flags, MR_TEXT_HAS_SURROGATE);
}

static void test_errors_do_not_show_the_value(void **state)
{
    struct mr_value out;
    struct mr_error err = {0};
    assert_int_equal(mr_value_coerce(payload(MR_V_TEXT, "secret"), MR_TYPE(MR_T_INT64), *state, &out, &err), MR_E_DATA);
    assert_string_equal(err.message, "a value of type text does not go into a column of type int64");
    assert_int_equal(mr_value_coerce(number("987654"), MR_TYPE_DECIMAL(3, 1), *state, &out, &err), MR_E_DATA);
    assert_string_equal(err.message, "a number with 6 digits before and 0 after the point does not fit decimal(3,1)");
    assert_int_equal(mr_value_coerce(payload(MR_V_INVALID, "no such date"), MR_TYPE(MR_T_DATE), *state, &out, &err),
                     MR_E_DATA);
    assert_string_equal(err.message, "no such date");
}

/* ---- Spelling ---- */

static void test_values_as_text_and_as_json(void **state)
{
    (void)state;
    const struct {
        struct mr_value v;
        const char *text, *json;
    } cases[] = {
        {{.tag = MR_V_ABSENT}, "", "null"},
        {{.tag = MR_V_UNAVAILABLE}, "", "null"},
        {mr_value_null(), "", "null"},
        {payload(MR_V_INVALID, "why"), "", "null"},
        {mr_value_bool(true), "true", "true"},
        {mr_value_bool(false), "false", "false"},
        {mr_value_int(INT64_MIN), "-9223372036854775808", "-9223372036854775808"},
        {mr_value_int(0), "0", "0"},
        {number("1.10"), "1.10", "1.10"},
        {number("-1.5E+3"), "-1.5E+3", "-1.5E+3"},
        {number("NaN"), "NaN", "\"NaN\""},
        {number("-Infinity"), "-Infinity", "\"-Infinity\""},
        {mr_value_float(1.5), "1.5", "1.5"},
        {mr_value_float(1e100), "1e100", "1e100"},
        {mr_value_float((double)NAN), "NaN", "\"NaN\""},
        {mr_value_float((double)INFINITY), "Infinity", "\"Infinity\""},
        {payload(MR_V_TEXT, "a\"\n"), "a\"\n", "\"a\\\"\\n\""},
        {payload(MR_V_TEXT, ""), "", "\"\""},
        {payload(MR_V_BYTES, "\xff\xfe\xfd"), "//79", "\"//79\""},
        {mr_value_time(MR_V_DATE, -1), "1969-12-31", "\"1969-12-31\""},
        {mr_value_time(MR_V_TIME, 500000), "00:00:00.500000", "\"00:00:00.500000\""},
        {mr_value_time(MR_V_DURATION, -3600 * MR_US_PER_SEC), "-01:00:00", "\"-01:00:00\""},
        {mr_value_time(MR_V_TIMESTAMP, 0), "1970-01-01T00:00:00", "\"1970-01-01T00:00:00\""},
        {mr_value_time(MR_V_TIMESTAMPTZ, 0), "1970-01-01T00:00:00Z", "\"1970-01-01T00:00:00Z\""},
        {mr_value_time(MR_V_TIMESTAMPTZ, MR_TIME_INFINITY), "infinity", "\"infinity\""},
        {mr_value_time(MR_V_TIMESTAMP, MR_TIME_NEG_INFINITY), "-infinity", "\"-infinity\""},
        {uuid(), UUID_TEXT, "\"" UUID_TEXT "\""},
        {payload(MR_V_BITS, "0101"), "0101", "\"0101\""},
        {payload(MR_V_JSON, "{\"a\":[1]}"), "{\"a\":[1]}", "{\"a\":[1]}"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_value_text(cases[i].v, cases[i].text);
        assert_value_json(cases[i].v, cases[i].json);
    }
}

/* ---- Keys ---- */

/* Values in one group are equal as keys of the column, values of different groups are not. */
static void check_groups(const char *type_z, const struct mr_value *values, const int *groups, size_t count)
{
    struct mr_type type = type_of(type_z);
    for (size_t a = 0; a < count; a++) {
        for (size_t b = 0; b < count; b++) {
            struct mr_buf key_a = MR_BUF_INIT(1000), key_b = MR_BUF_INIT(1000);
            mr_value_append_key(values[a], type, &key_a);
            mr_value_append_key(values[b], type, &key_b);
            bool is_equal = mr_str_eq(mr_buf_str(&key_a), mr_buf_str(&key_b));
            if (is_equal != (groups[a] == groups[b]))
                fail_msg("%s: values %zu and %zu", type_z, a, b);
            assert_true(key_a.len > 0);
            mr_buf_free(&key_a);
            mr_buf_free(&key_b);
        }
    }
}

#define CHECK_GROUPS(type, values, groups)                                                         \
    do {                                                                                           \
        assert_int_equal(sizeof(values) / sizeof((values)[0]), sizeof(groups) / sizeof((groups)[0])); \
        check_groups(type, values, groups, sizeof(values) / sizeof((values)[0]));                  \
    } while (0)

static void test_keys_of_decimals_are_equal_by_value(void **state)
{
    (void)state;
    const struct mr_value values[] = {
        mr_value_int(1),      number("1"),     number("1.0"),   number("1e0"),        number("+01.00"), mr_value_float(1),
        number("1.5"),        number("15e-1"), mr_value_float(1.5), number("0"),      number("-0.00"),  mr_value_float(-0.0),
        mr_value_int(0),      number("10"),    number("1e1"),   number("NaN"),        mr_value_float((double)NAN),
        number("Infinity"),   mr_value_null(), payload(MR_V_TEXT, "1"), {.tag = MR_V_ABSENT},
    };
    const int groups[] = {1, 1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 4, 4, 5, 5, 6, 7, 8, 9};
    CHECK_GROUPS("decimal", values, groups);
    CHECK_GROUPS("decimal(5,2)", values, groups);
}

static void test_keys_of_integers_are_equal_by_value(void **state)
{
    (void)state;
    const struct mr_value values[] = {
        mr_value_int(5), number("5.0"), number("50e-1"), mr_value_float(5), mr_value_int(-5), mr_value_int(INT64_MAX),
        number("9223372036854775807"), number("5.5"), mr_value_float(5.5), payload(MR_V_TEXT, "5"),
        number("1e20000"), mr_value_bool(true), payload(MR_V_INVALID, "a"), payload(MR_V_INVALID, "b"),
    };
    const int groups[] = {1, 1, 1, 1, 2, 3, 3, 4, 5, 6, 7, 8, 9, 10};
    CHECK_GROUPS("int64", values, groups);
}

static void test_keys_of_floats_are_equal_by_value(void **state)
{
    (void)state;
    const struct mr_value values[] = {
        mr_value_float(0.0), mr_value_float(-0.0), mr_value_int(0), number("-0.0"), mr_value_float(0.1), number("0.1"),
        number("1e-1"), mr_value_float((double)NAN), mr_value_float(-(double)NAN), mr_value_float(0.25), number("0.250"),
    };
    const int groups[] = {1, 1, 1, 1, 2, 2, 2, 3, 3, 4, 4};
    CHECK_GROUPS("float64", values, groups);
    CHECK_GROUPS("float32", values, groups);
    const struct mr_value narrow[] = {mr_value_float(0.1), mr_value_float((double)0.1f)};
    const int same[] = {1, 1}, different[] = {1, 2};
    CHECK_GROUPS("float32", narrow, same);
    CHECK_GROUPS("float64", narrow, different);
}

static void test_keys_of_texts_bits_and_json(void **state)
{
    (void)state;
    const struct mr_value texts[] = {payload(MR_V_TEXT, "1"), mr_value_int(1), payload(MR_V_TEXT, "1.0"),
                                     number("1.0"), payload(MR_V_TEXT, ""), mr_value_null(), payload(MR_V_TEXT, "A"),
                                     payload(MR_V_TEXT, "a")};
    const int text_groups[] = {1, 1, 2, 2, 3, 4, 5, 6};
    CHECK_GROUPS("text", texts, text_groups);
    const struct mr_value bits[] = {payload(MR_V_BITS, "0101"), payload(MR_V_BITS, "101"), payload(MR_V_BITS, "1101"),
                                    payload(MR_V_TEXT, "101")};
    const int fixed[] = {1, 1, 2, 3}, varying[] = {1, 2, 3, 4};
    CHECK_GROUPS("bits(4)", bits, fixed);
    CHECK_GROUPS("bits", bits, varying);
    const struct mr_value json[] = {payload(MR_V_JSON, "\"a\""), payload(MR_V_TEXT, "a"), payload(MR_V_JSON, "1"),
                                    mr_value_int(1), payload(MR_V_JSON, "{}")};
    const int json_groups[] = {1, 1, 2, 2, 3};
    CHECK_GROUPS("json", json, json_groups);
}

static void test_keys_of_other_kinds(void **state)
{
    (void)state;
    const struct mr_value times[] = {mr_value_time(MR_V_TIMESTAMPTZ, 1), mr_value_time(MR_V_TIMESTAMPTZ, 1),
                                     mr_value_time(MR_V_TIMESTAMPTZ, MR_TIME_INFINITY), mr_value_time(MR_V_TIMESTAMP, 1),
                                     payload(MR_V_TEXT, "1970-01-01T00:00:00.000001Z")};
    const int time_groups[] = {1, 1, 2, 3, 4};
    CHECK_GROUPS("timestamptz", times, time_groups);
    const struct mr_value durations[] = {mr_value_time(MR_V_TIME, 1), mr_value_time(MR_V_DURATION, 1),
                                         mr_value_time(MR_V_DURATION, -1)};
    const int duration_groups[] = {1, 1, 2};
    CHECK_GROUPS("duration", durations, duration_groups);
    const struct mr_value ids[] = {uuid(), uuid(), payload(MR_V_TEXT, UUID_TEXT)};
    const int id_groups[] = {1, 1, 2};
    CHECK_GROUPS("uuid", ids, id_groups);
    const struct mr_value bytes[] = {payload(MR_V_BYTES, "a"), payload(MR_V_BYTES, "b"), payload(MR_V_TEXT, "a")};
    const int byte_groups[] = {1, 2, 3};
    CHECK_GROUPS("bytes", bytes, byte_groups);
    const struct mr_value bools[] = {mr_value_bool(true), mr_value_bool(false), mr_value_int(1)};
    const int bool_groups[] = {1, 2, 3};
    CHECK_GROUPS("boolean", bools, bool_groups);
}

/* ("a", "bc") and ("ab", "c") are different keys, and so for every pair of types. */
static void test_key_forms_end_themselves(void **state)
{
    (void)state;
    const struct mr_value values[] = {payload(MR_V_TEXT, ""),  payload(MR_V_TEXT, "a"), payload(MR_V_TEXT, "ab"),
                                      mr_value_null(),         mr_value_int(1),         number("11"),
                                      payload(MR_V_BYTES, "a"), mr_value_bool(true),    payload(MR_V_JSON, "\"a\"")};
    enum { COUNT = sizeof(values) / sizeof(values[0]) };
    static const char *const types[] = {"text", "decimal", "json", "bytes", "int64"};
    for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
        struct mr_type type = type_of(types[t]);
        struct mr_buf forms[COUNT];
        for (size_t i = 0; i < COUNT; i++) {
            forms[i] = MR_BUF_INIT(1000);
            mr_value_append_key(values[i], type, &forms[i]);
        }
        for (size_t a = 0; a < COUNT; a++) {
            for (size_t b = 0; b < COUNT; b++) {
                bool is_prefix = mr_str_starts(mr_buf_str(&forms[a]), mr_buf_str(&forms[b]));
                if (is_prefix && forms[a].len != forms[b].len)
                    fail_msg("%s: the form of value %zu begins that of %zu", types[t], b, a);
            }
        }
        for (size_t i = 0; i < COUNT; i++)
            mr_buf_free(&forms[i]);
    }
}

/* Lanes are chosen by a hash of these bytes: a new version must find each key in the lane of the old one. */
static void test_key_bytes_never_change(void **state)
{
    (void)state;
    const struct {
        struct mr_value v;
        const char *type, *hex;
    } cases[] = {
        {mr_value_null(), "text", "02"},
        {mr_value_int(-2), "int32", "04fffffffffffffffe"},
        {payload(MR_V_TEXT, "ab"), "text", "07000000026162"},
        {number("1.50"), "decimal", "05312e3500"},
        {mr_value_float(1), "float64", "063ff0000000000000"},
        {mr_value_bool(true), "boolean", "030000000000000001"},
        {payload(MR_V_TEXT, "a"), "int64", "ff070000000161"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct mr_buf buf = MR_BUF_INIT(100), hex = MR_BUF_INIT(200);
        mr_value_append_key(cases[i].v, type_of(cases[i].type), &buf);
        for (size_t k = 0; k < buf.len; k++)
            mr_buf_printf(&hex, "%02x", (unsigned char)buf.data[k]);
        assert_str(mr_buf_str(&hex), cases[i].hex);
        mr_buf_free(&buf);
        mr_buf_free(&hex);
    }
}

static void test_a_full_key_buffer_says_so(void **state)
{
    (void)state;
    for (size_t max = 0; max < 12; max++) {
        struct mr_buf buf = MR_BUF_INIT(max);
        mr_value_append_key(uuid(), MR_TYPE(MR_T_TEXT), &buf);
        mr_value_append_key(number("1.5"), MR_TYPE_DECIMAL_OPEN, &buf);
        mr_value_append_key(mr_value_int(1), MR_TYPE(MR_T_INT64), &buf);
        assert_true(buf.overflow);
        assert_true(buf.len <= max);
        mr_buf_free(&buf);
    }
}

/* ---- Texts of a declared type ---- */

static void test_texts_are_read_as_their_declared_type(void **state)
{
    static const struct {
        const char *text, *type, *want; /* NULL: refused */
    } cases[] = {
        {"true", "boolean", "true"},
        {"False", "boolean", "false"},
        {"1", "boolean", NULL},
        {"42", "int64", "42"},
        {"42.0", "int64", "42.0"},
        {"x", "int64", NULL},
        {"", "int64", NULL},
        {"1.50", "decimal(5,2)", "1.50"},
        {"NaN", "decimal", "NaN"},
        {"1.50", "float64", "1.5"},
        {"Infinity", "float32", "Infinity"},
        {"1,5", "float64", NULL},
        {"abc", "text", "abc"},
        {"//79", "bytes", "//79"},
        {"?", "bytes", NULL},
        {"2024-02-29", "date", "2024-02-29"},
        {"2023-02-29", "date", NULL},
        {"23:59:59", "time", "23:59:59"},
        {"25:00:00", "time", NULL},
        {"-00:00:01", "time", NULL},
        {"-25:00:00", "duration", "-25:00:00"},
        {"2024-02-29 12:00:00", "timestamp", "2024-02-29T12:00:00"},
        {"2024-02-29T12:00:00+02:00", "timestamptz", "2024-02-29T10:00:00Z"},
        {"-infinity", "timestamptz", "-infinity"},
        {"2024-02-29T12:00:00+02:00", "timestamp", NULL},
        {UUID_TEXT, "uuid", UUID_TEXT},
        {"0011", "uuid", NULL},
        {"0101", "bits(4)", "0101"},
        {"012", "bits", NULL},
        {"", "bits", NULL},
        {"{}", "json", NULL},
        {"x", "none", NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct mr_value out;
        struct mr_type type = type_of(cases[i].type);
        bool is_read = mr_value_read_text(payload(MR_V_TEXT, cases[i].text), type, *state, &out);
        if (is_read != (cases[i].want != NULL))
            fail_msg("\"%s\" as %s", cases[i].text, cases[i].type);
        if (is_read)
            assert_value_text(out, cases[i].want);
    }
    struct mr_value out;
    assert_false(mr_value_read_text(mr_value_int(1), MR_TYPE(MR_T_INT64), *state, &out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_value_has_sixteen_bytes),
        cmocka_unit_test(test_a_value_shows_its_type),
        cmocka_unit_test(test_a_number_of_too_many_digits_has_open_digits),
        cmocka_unit_test(test_every_tag_goes_into_every_kind_or_says_why_not),
        cmocka_unit_test(test_coercing_twice_changes_nothing_more),
        cmocka_unit_test(test_integers_are_held_to_their_range),
        cmocka_unit_test(test_decimals_are_held_to_their_digits),
        cmocka_unit_test(test_floats_take_what_comes_back),
        cmocka_unit_test(test_bits_of_a_fixed_length_are_padded_or_refused),
        cmocka_unit_test(test_infinite_durations_are_no_time_of_day),
        cmocka_unit_test(test_flags_of_texts_stay_with_them),
        cmocka_unit_test(test_errors_do_not_show_the_value),
        cmocka_unit_test(test_values_as_text_and_as_json),
        cmocka_unit_test(test_keys_of_decimals_are_equal_by_value),
        cmocka_unit_test(test_keys_of_integers_are_equal_by_value),
        cmocka_unit_test(test_keys_of_floats_are_equal_by_value),
        cmocka_unit_test(test_keys_of_texts_bits_and_json),
        cmocka_unit_test(test_keys_of_other_kinds),
        cmocka_unit_test(test_key_forms_end_themselves),
        cmocka_unit_test(test_key_bytes_never_change),
        cmocka_unit_test(test_a_full_key_buffer_says_so),
        cmocka_unit_test(test_texts_are_read_as_their_declared_type),
    };
    return cmocka_run_group_tests(tests, make_arena, free_arena);
}
