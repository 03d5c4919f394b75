/* What the tracker makes of every field: first types, widening, declared types, policies, configured types, values that the target
 * refuses. Keys, refused rows and the catalog: test_tracker_table.c. */
#include "support/tracker_test.h"

#include <math.h>

#include <millrace/base/utf8.h>

#define TWO_53 (INT64_C(1) << 53)

/* ---- First values ---- */

static void test_the_first_value_makes_the_column(void **state)
{
    (void)state;
    start("");
    assert_int_equal(row(field("a", mr_value_int(7))), MR_VERDICT_OK);
    assert_int_equal(column, 0);
    assert_int_equal(nulled, -1);
    assert_int_equal(stored.i, 7);
    type_is("a", "int64");
    assert_int_equal(row(field("b", number("1.50"))), MR_VERDICT_OK);
    type_is("b", "decimal");
    assert_int_equal(row(field("c", number("18446744073709551615"))), MR_VERDICT_OK);
    type_is("c", "decimal(20,0)");
    assert_int_equal(row(field("d.e", text("x"))), MR_VERDICT_OK);
    type_is("d.e", "text");
    name_is(3, "d_e");
    assert_int_equal(col("a")->counts[MR_T_INT64], 1);
    assert_int_equal(col("a")->facts.max_abs, 7);
    assert_true(mr_str_eq_z(col("a")->first.topic, "srv.shop.orders"));
    assert_int_equal(col("a")->first.offset, 77);
    assert_int_equal(col("a")->widened.topic.len, 0);
    assert_true(mr_tracker_changed(tk));
}

static void test_integers_of_values_are_int64_and_declared_ones_as_declared(void **state)
{
    (void)state;
    start("");
    row(typed("a", "int32", MR_TYPED, mr_value_int(1)));
    type_is("a", "int64");
    row(declared("b", "int16", mr_value_int(1)));
    type_is("b", "int16");
    assert_int_equal(col("b")->type.origin, MR_SCHEMA);
}

static void test_a_null_makes_a_column_only_where_a_type_is_declared(void **state)
{
    (void)state;
    start("types: {columns: {shop.orders.c: date}}");
    assert_int_equal(row(field("a", mr_value_null())), MR_VERDICT_SKIP);
    assert_int_equal(row(typed("a", "int64", MR_TYPED, mr_value_null())), MR_VERDICT_SKIP);
    assert_int_equal(mr_tracker_count(tk), 0);
    assert_int_equal(row(declared("b", "decimal(10,2)", mr_value_null())), MR_VERDICT_OK);
    type_is("b", "decimal(10,2)");
    assert_int_equal(col("b")->counts[MR_T_NONE], 1);
    assert_int_equal(row(field("c", mr_value_null())), MR_VERDICT_OK);
    type_is("c", "date");
}

static void test_absent_and_unavailable_make_no_column_and_pass_a_known_one(void **state)
{
    struct mr_value unavailable = {.tag = MR_V_UNAVAILABLE};

    (void)state;
    start("");
    assert_int_equal(row(declared("a", "text", unavailable)), MR_VERDICT_SKIP);
    row(field("a", text("x")));
    assert_int_equal(row(field("a", unavailable)), MR_VERDICT_OK);
    assert_int_equal(stored.tag, MR_V_UNAVAILABLE);
}

/* ---- Widening ---- */

static void test_a_lossless_join_widens_and_tells_where(void **state)
{
    (void)state;
    start("");
    row(field("a", mr_value_int(7)));
    mr_table_unref(mr_tracker_publish(tk));
    assert_false(mr_tracker_changed(tk));
    assert_int_equal(row(field("a", number("1.50"))), MR_VERDICT_OK);
    type_is("a", "decimal");
    assert_int_equal(col("a")->widened_from.kind, MR_T_INT64);
    assert_int_equal(col("a")->widened.offset, 77);
    assert_true(mr_tracker_changed(tk));
}

static void test_a_whole_float_leaves_an_integer_column_as_it_is(void **state)
{
    (void)state;
    start("");
    row(field("a", mr_value_int(7)));
    assert_int_equal(row(field("a", mr_value_float(8.0))), MR_VERDICT_OK);
    type_is("a", "int64");
    assert_int_equal(row(field("a", mr_value_float(8.5))), MR_VERDICT_OK);
    type_is("a", "float64");
}

static void test_an_integer_beyond_two_to_the_53_turns_a_float_column_into_a_decimal(void **state)
{
    (void)state;
    start("");
    row(field("a", mr_value_int(TWO_53 + 1)));
    row(field("a", mr_value_float(0.5)));
    type_is("a", "decimal");
    row(field("b", mr_value_float(0.5)));
    row(field("b", mr_value_int(TWO_53)));
    type_is("b", "float64");
    row(field("b", mr_value_int(TWO_53 + 1)));
    type_is("b", "decimal");
}

static void test_the_first_number_that_no_double_holds_changes_a_decimal_that_is_one(void **state)
{
    (void)state;
    dialect.keeps_doubles = true;
    start("");
    row(field("a", number("0.5")));
    mr_table_unref(mr_tracker_publish(tk));
    row(field("a", number("0.25")));
    assert_false(mr_tracker_changed(tk));
    row(field("a", number("0.1234567890123456789")));
    assert_true(mr_tracker_changed(tk));
    mr_table_unref(mr_tracker_publish(tk));
    row(field("a", number("0.1234567890123456788")));
    assert_false(mr_tracker_changed(tk)); /* once is enough */
}

static void test_a_column_that_held_nan_stays_a_float(void **state)
{
    (void)state;
    start("");
    row(field("a", mr_value_float(NAN)));
    assert_int_equal(row(field("a", mr_value_int(5))), MR_VERDICT_OK);
    assert_int_equal(row(field("a", number("0.25"))), MR_VERDICT_OK);
    assert_int_equal(row(field("a", mr_value_int(TWO_53 + 1))), MR_VERDICT_DEAD);
    says("type_conflict", "float64");
    type_is("a", "float64");
}

static void test_a_time_outside_the_day_makes_a_duration(void **state)
{
    (void)state;
    start("");
    row(declared("a", "time", mr_value_time(MR_V_TIME, 1)));
    type_is("a", "time");
    assert_int_equal(row(declared("a", "time", mr_value_time(MR_V_TIME, -1))), MR_VERDICT_OK);
    type_is("a", "duration");
}

static void test_a_value_beyond_its_declared_integer_widens_it(void **state)
{
    (void)state;
    start("");
    row(declared("a", "int64", mr_value_int(1)));
    assert_int_equal(row(declared("a", "int64", number("18446744073709551615"))), MR_VERDICT_OK);
    type_is("a", "decimal(20,0)");
}

static void test_declared_floats_take_numbers_of_any_spelling(void **state)
{
    (void)state;
    start("");
    row(declared("a", "float64", number("0.10")));
    row(declared("a", "float64", mr_value_int(3)));
    row(declared("a", "float64", mr_value_float(0.7)));
    type_is("a", "float64");
    row(declared("b", "float32", mr_value_float(0.1)));
    row(declared("b", "float32", mr_value_float(1234.567)));
    type_is("b", "float32");
}

/* ---- Declared types that change ---- */

static void test_a_column_follows_a_wider_declaration(void **state)
{
    (void)state;
    start("");
    row(declared("a", "int32", mr_value_int(1)));
    row(declared("a", "int64", mr_value_int(1)));
    type_is("a", "int64");
    row(declared("a", "int32", mr_value_int(1))); /* a partition that still sends the old schema */
    type_is("a", "int64");
    row(declared("a", "decimal(10,2)", mr_value_null()));
    type_is("a", "decimal(21,2)");
}

static void test_a_declaration_that_does_not_join_makes_text_for_good(void **state)
{
    (void)state;
    start("");
    row(declared("a", "int32", mr_value_int(1)));
    assert_int_equal(row(declared("a", "text", text("x"))), MR_VERDICT_OK);
    type_is("a", "text");
    assert_int_equal(row(declared("a", "int32", mr_value_int(1))), MR_VERDICT_OK);
    assert_int_equal(row(declared("a", "date", mr_value_time(MR_V_DATE, 1))), MR_VERDICT_OK);
    type_is("a", "text");
    assert_int_equal(col("a")->conflicts, 0);
}

static void test_a_declaration_never_turns_a_key_into_text(void **state)
{
    (void)state;
    start("");
    begin();
    assert_int_equal(judge(declared("id", "int32", mr_value_int(1)), true), MR_VERDICT_OK);
    assert_int_equal(judge(declared("id", "text", text("x")), true), MR_VERDICT_DEAD);
    says("type_conflict", "key column");
    mr_tracker_row_commit(tk);
    type_is("id", "int32");
}

static void test_nan_keeps_declared_numbers_apart_without_making_text(void **state)
{
    (void)state;
    start("");
    row(declared("a", "float64", mr_value_float(NAN)));
    assert_int_equal(row(declared("a", "decimal(10,2)", number("1.50"))), MR_VERDICT_OK); /* a double shows it */
    type_is("a", "float64");
    row(declared("b", "decimal", number("NaN")));
    assert_int_equal(row(declared("b", "float64", mr_value_float(0.5))), MR_VERDICT_OK);
    type_is("b", "decimal");
}

static void test_json_by_policy_stays_json_after_a_restart(void **state)
{
    (void)state;
    start(POLICY("json"));
    row(declared("a", "int32", mr_value_int(1)));
    row(field("a", text("x")));
    struct mr_tracked_column known = *col("a");
    struct mr_tracker *first = tk;
    tk = mr_tracker_create(cfg, &dialect, MR_STR("shop"), MR_STR("orders"), MR_STR("shop"), MR_STR("orders"));
    mr_tracker_restore(tk, &known);
    mr_tracker_destroy(first);
    assert_int_equal(row(declared("a", "int32", mr_value_int(1))), MR_VERDICT_OK);
    type_is("a", "json");
}

static void test_declared_against_observed_is_a_matter_of_the_policy(void **state)
{
    (void)state;
    start("");
    row(field("a", text("x")));
    assert_int_equal(row(declared("a", "int32", mr_value_int(1))), MR_VERDICT_DEAD);
    type_is("a", "text");
    row(declared("b", "int32", mr_value_int(1)));
    assert_int_equal(row(field("b", text("x"))), MR_VERDICT_DEAD);
    type_is("b", "int32");
}

/* ---- Policies ---- */

static void test_widen_sends_a_conflict_to_the_dead_letters(void **state)
{
    (void)state;
    start("");
    row(field("a", mr_value_int(7)));
    assert_int_equal(row(field("a", text("secret"))), MR_VERDICT_DEAD);
    says("type_conflict", "shop.orders: field \"a\": a value of type text does not fit the column of type int64");
    says("type_conflict", "types.policies.\"shop.orders.a\": text");
    assert_null(strstr(err.message, "secret"));
    assert_string_equal(err.field, "a");
    assert_int_equal(col("a")->conflicts, 1);
}

static void test_strict_keeps_the_first_type(void **state)
{
    (void)state;
    start(POLICY("strict"));
    row(declared("a", "int32", mr_value_int(7)));
    assert_int_equal(row(declared("a", "int64", mr_value_int(8))), MR_VERDICT_OK); /* it fits as it is */
    assert_int_equal(row(declared("a", "int64", mr_value_int(INT64_MAX))), MR_VERDICT_DEAD);
    says("type_conflict", "strict");
    type_is("a", "int32");
    assert_int_equal(row(declared("a", "text", text("x"))), MR_VERDICT_DEAD);
    type_is("a", "int32");
}

static void test_text_turns_the_column_into_text_on_a_conflict_only(void **state)
{
    (void)state;
    start(POLICY("text"));
    row(field("a", mr_value_int(7)));
    row(field("a", number("1.5")));
    type_is("a", "decimal");
    assert_int_equal(row(field("a", text("x"))), MR_VERDICT_OK);
    type_is("a", "text");
    assert_int_equal(row(field("a", mr_value_int(7))), MR_VERDICT_OK);
    assert_int_equal(stored.tag, MR_V_INT); /* coerced by whoever writes it */
    assert_int_equal(col("a")->conflicts, 1);
}

static void test_json_turns_the_column_into_json(void **state)
{
    (void)state;
    start(POLICY("json"));
    row(field("a", mr_value_bool(true)));
    assert_int_equal(row(field("a", mr_value_bytes(MR_V_JSON, MR_STR("[1]")))), MR_VERDICT_OK);
    type_is("a", "json");
    assert_int_equal(row(field("a", text("x"))), MR_VERDICT_OK);
}

static void test_variant_sends_a_conflict_to_a_second_column(void **state)
{
    (void)state;
    start(POLICY("variant"));
    row(field("a", text("x")));
    assert_int_equal(row(field("a", mr_value_int(7))), MR_VERDICT_OK);
    assert_int_equal(column, 1);
    assert_int_equal(nulled, 0);
    name_is(1, "a__int64");
    type_is("a", "text");
    assert_int_equal(row(field("a", mr_value_int(8))), MR_VERDICT_OK);
    assert_int_equal(column, 1);
    assert_int_equal(row(field("a", number("1.5"))), MR_VERDICT_OK);
    name_is(2, "a__decimal");
    assert_int_equal(row(field("a", text("y"))), MR_VERDICT_OK);
    assert_int_equal(column, 0);
    assert_int_equal(nulled, -1);
    assert_int_equal(mr_tracker_find(tk, MR_STR("a")), 0);
}

static void collect(void *ctx, uint32_t found)
{
    *(uint32_t *)ctx |= 1u << found;
}

static void test_variants_lie_below_their_field_and_survive_a_restart(void **state)
{
    uint32_t found = 0;

    (void)state;
    start(POLICY("variant"));
    row(field("a", text("x")));
    row(field("ab", text("x")));
    row(field("a", mr_value_int(7)));
    mr_tracker_below(tk, MR_STR("a"), collect, &found);
    assert_int_equal(found, 1u | 4u);

    struct mr_tracker *first = tk;
    tk = mr_tracker_create(cfg, &dialect, MR_STR("shop"), MR_STR("orders"), MR_STR("shop"), MR_STR("orders"));
    for (size_t i = 0; i < 3; i++)
        mr_tracker_restore(tk, mr_tracker_column(first, i));
    mr_tracker_destroy(first);
    assert_int_equal(row(field("a", mr_value_int(8))), MR_VERDICT_OK);
    assert_int_equal(column, 2);
    assert_int_equal(mr_tracker_count(tk), 3);
}

static void test_null_leaves_the_value_out_and_says_why(void **state)
{
    (void)state;
    start(POLICY("\"null\""));
    row(field("a", mr_value_int(7)));
    assert_int_equal(row(field("a", text("x"))), MR_VERDICT_NULLED);
    assert_int_equal(column, 0);
    assert_int_equal(stored.tag, MR_V_NULL);
    says("type_conflict", "int64");
    assert_int_equal(col("a")->conflicts, 1);
    assert_int_equal(col("a")->counts[MR_T_TEXT], 0);
}

static void test_fail_names_the_place(void **state)
{
    (void)state;
    start("types: {policy: fail}");
    row(field("a", mr_value_int(7)));
    assert_int_equal(row(field("a", text("x"))), MR_VERDICT_FAIL);
    says("type_conflict", "srv.shop.orders [3] at 77");
    assert_int_equal(row(field("a", number("1.5"))), MR_VERDICT_OK); /* a widening is none of its business */
}

static void test_path_wins_over_table_and_table_over_default(void **state)
{
    (void)state;
    start("{types: {policy: strict, policies: {shop.orders.a: widen}}, tables: {shop.orders: {policy: text}}}");
    row(field("a", mr_value_int(7)));
    row(field("b", mr_value_int(7)));
    assert_int_equal(row(field("a", text("x"))), MR_VERDICT_DEAD);
    assert_int_equal(row(field("b", text("x"))), MR_VERDICT_OK);
    type_is("b", "text");
}

static void test_policies_that_would_change_a_key_do_not_apply_to_it(void **state)
{
    static const char *const yaml[] = {POLICY("text"), POLICY("json"), POLICY("variant"), POLICY("\"null\"")};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        start(yaml[i]);
        begin();
        assert_int_equal(judge(field("a", mr_value_int(7)), true), MR_VERDICT_OK);
        assert_int_equal(judge(field("a", text("x")), true), MR_VERDICT_DEAD);
        mr_tracker_row_commit(tk);
        assert_int_equal(mr_tracker_count(tk), 1);
        type_is("a", "int64");
        mr_tracker_destroy(tk);
        mr_config_destroy(cfg);
    }
    start("");
}

/* ---- evolve: add ---- */

static void test_add_refuses_a_widening_of_what_the_target_has_already(void **state)
{
    (void)state;
    start("target: {evolve: add}");
    row(field("a", mr_value_int(7)));
    assert_int_equal(row(field("a", number("1.5"))), MR_VERDICT_OK); /* not created yet */
    type_is("a", "decimal");
    row(field("b", mr_value_int(7)));
    mr_table_unref(mr_tracker_publish(tk));
    assert_int_equal(row(field("b", number("1.5"))), MR_VERDICT_DEAD);
    says("type_conflict", "target.evolve: full");
    assert_int_equal(row(field("a", mr_value_int(1))), MR_VERDICT_OK);
    assert_int_equal(row(declared("b", "decimal(30,2)", mr_value_int(1))), MR_VERDICT_OK); /* fits as it is */
    type_is("b", "int64");
}

/* ---- Configured types ---- */

static struct mr_value configured_value(const char *type_z, struct mr_value v)
{
    char yaml[128];

    mr_tracker_destroy(tk);
    mr_config_destroy(cfg);
    cfg = NULL;
    tk = NULL;
    snprintf(yaml, sizeof(yaml), "types: {columns: {shop.orders.a: \"%s\"}}", type_z);
    start(yaml);
    err = (struct mr_error){0};
    if (row(field("a", v)) != MR_VERDICT_OK)
        return (struct mr_value){.tag = MR_V_INVALID};
    return stored;
}

static void configured_text_is(const char *type_z, const char *text_z, enum mr_tag tag, const char *want_z)
{
    struct mr_buf out = MR_BUF_INIT(1000);
    struct mr_value v = configured_value(type_z, text(text_z));

    if (v.tag != tag)
        fail_msg("%s as %s: tag %d, %s", text_z, type_z, v.tag, err.message);
    mr_value_append_text(v, &out);
    assert_string_equal(mr_buf_z(&out), want_z);
    mr_buf_free(&out);
}

static void configured_text_is_refused(const char *type_z, const char *text_z, const char *code_z)
{
    if (configured_value(type_z, text(text_z)).tag != MR_V_INVALID)
        fail_msg("%s passed as %s", text_z, type_z);
    says(code_z, "types.columns");
}

static void test_a_configured_type_reads_texts(void **state)
{
    (void)state;
    configured_text_is("decimal(10,2)", "12.50", MR_V_NUMBER, "12.50");
    configured_text_is("decimal(10,2)", "BNI=", MR_V_NUMBER, "12.34"); /* unscaled 1234 */
    configured_text_is("decimal(10,2)", "/w==", MR_V_NUMBER, "-0.01");
    configured_text_is("decimal", "1.5e3", MR_V_NUMBER, "1500");
    configured_text_is("int32", "-7", MR_V_INT, "-7");
    configured_text_is("float64", "0.5", MR_V_FLOAT, "0.5");
    configured_text_is("float64", "NaN", MR_V_FLOAT, "NaN");
    configured_text_is("boolean", "true", MR_V_BOOL, "true");
    configured_text_is("date", "2020-02-29", MR_V_DATE, "2020-02-29");
    configured_text_is("time", "10:11:12", MR_V_TIME, "10:11:12");
    configured_text_is("duration", "-30:00:00", MR_V_DURATION, "-30:00:00");
    configured_text_is("timestamp", "2020-01-02 03:04:05.5", MR_V_TIMESTAMP, "2020-01-02T03:04:05.500000");
    configured_text_is("timestamptz", "2020-01-02T03:04:05+02:00", MR_V_TIMESTAMPTZ, "2020-01-02T01:04:05Z");
    configured_text_is("uuid", "6F9619FF-8B86-D011-B42D-00CF4FC964FF", MR_V_UUID, "6f9619ff-8b86-d011-b42d-00cf4fc964ff");
    configured_text_is("bytes", "AQI=", MR_V_BYTES, "AQI=");
    configured_text_is("bits(3)", "101", MR_V_BITS, "101");
    assert_int_equal(configured_value("date", mr_value_int(19000)).i, 19000);
    assert_int_equal(configured_value("boolean", mr_value_int(1)).tag, MR_V_BOOL);
    assert_int_equal(configured_value("text", mr_value_int(1)).tag, MR_V_TEXT);
}

static void test_a_configured_type_refuses_what_it_would_lose(void **state)
{
    (void)state;
    configured_text_is_refused("decimal(4,2)", "123.45", "out_of_range");
    configured_text_is_refused("decimal(10,2)", "n/a", "type_conflict");
    configured_text_is_refused("int32", "3000000000", "out_of_range");
    configured_text_is_refused("int32", "1.5", "type_conflict");
    configured_text_is_refused("date", "2020-02-30", "type_conflict");
    configured_text_is_refused("time", "25:00:00", "type_conflict");
    configured_text_is_refused("timestamp", "2020-01-02 03:04:05.1234567", "type_conflict");
    configured_text_is_refused("timestamptz", "2020-01-02 03:04:05", "type_conflict");
    configured_text_is_refused("bytes", "AQI", "type_conflict");
    configured_text_is_refused("bits(3)", "1012", "type_conflict");
    configured_text_is_refused("boolean", "yes?", "type_conflict");
    assert_int_equal(configured_value("timestamp", mr_value_int(1)).tag, MR_V_INVALID);
    assert_int_equal(configured_value("boolean", mr_value_int(2)).tag, MR_V_INVALID);
}

static void test_a_configured_column_keeps_its_type(void **state)
{
    (void)state;
    start("types: {columns: {shop.orders.a: int32}, policies: {shop.orders.a: text}}");
    row(declared("a", "int64", mr_value_int(1)));
    type_is("a", "int32");
    assert_true(col("a")->configured);
    assert_int_equal(row(declared("a", "int64", mr_value_int(INT64_MAX))), MR_VERDICT_DEAD);
    type_is("a", "int32");
}

/* ---- What the target refuses, what is invalid ---- */

static struct mr_value bad_text(void)
{
    struct mr_value v = mr_value_text(mr_str_of("a\0b", 3));

    v.flags = MR_TEXT_HAS_NUL;
    return v;
}

static void test_a_text_the_target_refuses_is_dead_stripped_or_replaced(void **state)
{
    (void)state;
    start("");
    assert_int_equal(row(field("a", bad_text())), MR_VERDICT_DEAD);
    says("text_invalid", "text.invalid: strip");
    assert_int_equal(mr_tracker_count(tk), 0);
    tear_down(NULL);
    set_up(NULL);
    start("text: {invalid: strip}");
    assert_int_equal(row(field("a", bad_text())), MR_VERDICT_OK);
    assert_true(mr_str_eq_z(mr_value_str(stored), "ab"));
    assert_int_equal(stored.flags, 0);
    tear_down(NULL);
    set_up(NULL);
    start("text: {invalid: replace}");
    assert_int_equal(row(field("a", bad_text())), MR_VERDICT_OK);
    assert_true(mr_str_eq_z(mr_value_str(stored), "a\xEF\xBF\xBD"
                                                  "b"));
}

static void repaired_is(const char *json_z, const char *want_z)
{
    struct mr_value v = mr_value_bytes(MR_V_JSON, mr_str_z(json_z));

    v.flags = MR_TEXT_HAS_NUL | MR_TEXT_HAS_SURROGATE;
    assert_int_equal(row(field("a", v)), MR_VERDICT_OK);
    if (!mr_str_eq_z(mr_value_str(stored), want_z))
        fail_msg("have %.*s, want %s", MR_STR_FMT(mr_value_str(stored)), want_z);
}

static void test_escapes_in_json_are_repaired_too(void **state)
{
    (void)state;
    start("text: {invalid: strip}");
    repaired_is("[\"a\\u0000b\"]", "[\"ab\"]");
    repaired_is("[\"\\\\u0000\\n\"]", "[\"\\\\u0000\\n\"]");
    repaired_is("[\"\\ud83d\\ude00\"]", "[\"\\ud83d\\ude00\"]");
    repaired_is("[\"\\ud83d\\u0000\\ude00\"]", "[\"\"]");
    repaired_is("[\"\\uDE00x\\uD83D\"]", "[\"x\"]");
}

static void test_null_leaves_out_what_the_target_refuses(void **state)
{
    (void)state;
    start(POLICY("\"null\""));
    row(field("a", mr_value_time(MR_V_DATE, 0)));
    assert_int_equal(row(field("a", mr_value_time(MR_V_DATE, 2932897))), MR_VERDICT_NULLED);
    says("out_of_range", "field \"a\"");
    assert_int_equal(row(field("a", mr_value_time(MR_V_DATE, 2932896))), MR_VERDICT_OK);
    assert_int_equal(col("a")->counts[MR_T_DATE], 2);
}

static void test_invalid_values_are_dead_or_left_out(void **state)
{
    struct mr_value v = mr_value_bytes(MR_V_INVALID, MR_STR("no base64"));

    (void)state;
    start("types: {policies: {shop.orders.b: \"null\"}}");
    v.aux = MR_INVALID_RANGE;
    assert_int_equal(row(declared("a", "bytes", v)), MR_VERDICT_DEAD);
    says("out_of_range", "no base64");
    v.aux = MR_INVALID_BAD_VALUE;
    assert_int_equal(row(declared("b", "bytes", v)), MR_VERDICT_NULLED);
    says("bad_value", "no base64");
    type_is("b", "bytes");
    assert_int_equal(stored.tag, MR_V_NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_the_first_value_makes_the_column),
        CASE(test_integers_of_values_are_int64_and_declared_ones_as_declared),
        CASE(test_a_null_makes_a_column_only_where_a_type_is_declared),
        CASE(test_absent_and_unavailable_make_no_column_and_pass_a_known_one),
        CASE(test_a_lossless_join_widens_and_tells_where),
        CASE(test_a_whole_float_leaves_an_integer_column_as_it_is),
        CASE(test_an_integer_beyond_two_to_the_53_turns_a_float_column_into_a_decimal),
        CASE(test_the_first_number_that_no_double_holds_changes_a_decimal_that_is_one),
        CASE(test_a_column_that_held_nan_stays_a_float),
        CASE(test_a_time_outside_the_day_makes_a_duration),
        CASE(test_a_value_beyond_its_declared_integer_widens_it),
        CASE(test_declared_floats_take_numbers_of_any_spelling),
        CASE(test_a_column_follows_a_wider_declaration),
        CASE(test_a_declaration_that_does_not_join_makes_text_for_good),
        CASE(test_a_declaration_never_turns_a_key_into_text),
        CASE(test_nan_keeps_declared_numbers_apart_without_making_text),
        CASE(test_json_by_policy_stays_json_after_a_restart),
        CASE(test_declared_against_observed_is_a_matter_of_the_policy),
        CASE(test_widen_sends_a_conflict_to_the_dead_letters),
        CASE(test_strict_keeps_the_first_type),
        CASE(test_text_turns_the_column_into_text_on_a_conflict_only),
        CASE(test_json_turns_the_column_into_json),
        CASE(test_variant_sends_a_conflict_to_a_second_column),
        CASE(test_variants_lie_below_their_field_and_survive_a_restart),
        CASE(test_null_leaves_the_value_out_and_says_why),
        CASE(test_fail_names_the_place),
        CASE(test_path_wins_over_table_and_table_over_default),
        CASE(test_policies_that_would_change_a_key_do_not_apply_to_it),
        CASE(test_add_refuses_a_widening_of_what_the_target_has_already),
        CASE(test_a_configured_type_reads_texts),
        CASE(test_a_configured_type_refuses_what_it_would_lose),
        CASE(test_a_configured_column_keeps_its_type),
        CASE(test_a_text_the_target_refuses_is_dead_stripped_or_replaced),
        CASE(test_escapes_in_json_are_repaired_too),
        CASE(test_null_leaves_out_what_the_target_refuses),
        CASE(test_invalid_values_are_dead_or_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
