/* Laws of the tracker over random rows under every policy: a refused row leaves no trace (the tracker equals one that never saw it), every
 * value that passes goes into its column without loss, and no type ever becomes narrower. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <millrace/base/utf8.h>
#include <millrace/schema/tracker.h>

#include "config/node.h"
#include "support/fake_dialect.h"

#define ROUNDS 150
#define ROWS 60
#define MAX_FIELDS 6

static uint64_t seed, random_state;

static uint64_t next(void)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static const char *const policies[] = {"widen", "strict", "text", "json", "variant", "\"null\"", "fail"};

static struct mr_value random_value(void)
{
    static const char *const numbers[] = {"1.10", "0.25", "99999999999999999999", "-1e3", "5.00", "NaN", "Infinity", "123456.789"};
    static const double doubles[] = {1.0, 0.1, 1e300, -3.5, NAN, INFINITY, 4503599627370497.5};
    static const int64_t ints[] = {0, 1, -5, 70000, INT64_C(9007199254740993), INT64_MAX, INT64_MIN};
    static const char *const texts[] = {"", "abc", "2020-01-01", "12.5", "AQI="};
    struct mr_value v;

    switch (next() % 16) {
    case 0:
        return mr_value_null();
    case 1:
        return mr_value_bool(next() & 1);
    case 2:
    case 3:
    case 4:
        return mr_value_int(ints[next() % 7]);
    case 5:
    case 6:
        return mr_value_bytes(MR_V_NUMBER, mr_str_z(numbers[next() % 8]));
    case 7:
        return mr_value_float(doubles[next() % 7]);
    case 8:
        v = mr_value_text(mr_str_z(texts[next() % 5]));
        if (next() % 4 == 0) {
            v = mr_value_text(mr_str_of("a\0", 2));
            v.flags = MR_TEXT_HAS_NUL;
        }
        return v;
    case 9:
        return mr_value_bytes(MR_V_JSON, MR_STR("{\"a\":[1]}"));
    case 10:
        return mr_value_time(MR_V_DATE, (int64_t)(next() % 4000000));
    case 11:
        return mr_value_time(next() & 1 ? MR_V_TIME : MR_V_DURATION, (int64_t)next() >> 26);
    case 12:
        return mr_value_bytes(MR_V_BITS, mr_str_of("10101", 1 + next() % 5));
    case 13:
        return (struct mr_value){.tag = MR_V_UNAVAILABLE};
    case 14:
        v = mr_value_bytes(MR_V_INVALID, MR_STR("broken"));
        v.aux = MR_INVALID_RANGE;
        return v;
    default:
        return mr_value_bytes(MR_V_UUID, MR_STR("0123456789abcdef"));
    }
}

/* Mostly the type that fits, sometimes none, sometimes another. */
static struct mr_type random_type(struct mr_value v)
{
    static const char *const texts[] = {"int16", "int32", "int64", "decimal(10,2)", "decimal", "float32", "float64", "text", "time", "date", "bits(3)"};
    struct mr_type type = mr_value_type(v);

    switch (next() % 4) {
    case 0:
        return MR_TYPE(MR_T_NONE);
    case 1:
        (void)mr_type_parse(mr_str_z(texts[next() % 11]), &type);
        break;
    default:
        break;
    }
    type.origin = (uint8_t)(type.kind == MR_T_NONE ? MR_OBSERVED : 1 + next() % 2);
    return type;
}

struct row {
    struct mr_field fields[MAX_FIELDS];
    size_t count;
    struct mr_place place;
};

static void random_row(struct row *row, int64_t offset)
{
    static const char *const paths[] = {"id", "a", "b", "a.b", "a_b", "A", "c\\.d", "c.d"};

    row->count = 1 + next() % MAX_FIELDS;
    row->place = (struct mr_place){.topic = MR_STR("t"), .offset = offset};
    for (size_t i = 0; i < row->count; i++) {
        struct mr_value v = random_value();
        row->fields[i] = (struct mr_field){.path = mr_str_z(paths[next() % 8]), .type = random_type(v), .value = v};
    }
}

static void fail_with(const char *what, const struct mr_field *f, const struct mr_tracked_column *col, const char *more)
{
    char have[32], said[32];

    fail_msg("MR_SEED=%llu: %s: field %.*s said %s tag %d, column %s: %s", (unsigned long long)seed, what, MR_STR_FMT(f->path),
             mr_type_text(f->type, said), f->value.tag, mr_type_text(col->type, have), more);
}

/* Types that hold everything, or at least what the other holds. */
static bool holds(struct mr_type wide, struct mr_type type, const struct mr_facts *facts)
{
    struct mr_type joined;

    if (wide.kind == MR_T_TEXT || wide.kind == MR_T_JSON || (wide.open && mr_type_is_numeric(type)))
        return true;
    return mr_type_join(wide, type, facts, &joined) && mr_type_eq(joined, wide);
}

/* False: the row is refused. */
static bool feed(struct mr_tracker *tk, const struct row *row, struct mr_arena *ar)
{
    mr_tracker_row_begin(tk, &row->place);
    for (size_t i = 0; i < row->count; i++) {
        const struct mr_field *f = &row->fields[i];
        struct mr_error err = {0};
        struct mr_value v, coerced;
        uint32_t column;
        int nulled, known = mr_tracker_find(tk, f->path);
        struct mr_type before = MR_TYPE(MR_T_NONE);
        struct mr_facts facts = {0};
        if (known >= 0) {
            before = mr_tracker_column(tk, (size_t)known)->type;
            facts = mr_tracker_column(tk, (size_t)known)->facts;
        }
        switch (mr_tracker_field(tk, f, i, mr_str_eq_z(f->path, "id"), ar, &column, &nulled, &v, &err)) {
        case MR_VERDICT_SKIP:
            continue;
        case MR_VERDICT_DEAD:
        case MR_VERDICT_FAIL:
            assert_true(err.status == MR_E_DATA && err.code[0] && err.message[0]);
            return false;
        case MR_VERDICT_NULLED:
            assert_true(v.tag == MR_V_NULL && err.code[0]);
            break;
        case MR_VERDICT_OK:
            break;
        }
        const struct mr_tracked_column *col = mr_tracker_column(tk, column);
        err = (struct mr_error){0};
        if (mr_value_coerce(v, col->type, ar, &coerced, &err) != MR_OK)
            fail_with("what passed does not go in", f, col, err.message);
        if (fake_holds(col->type, col->is_key, coerced, &err) != MR_OK)
            fail_with("the target refuses it", f, col, err.message);
        if (known >= 0 && !holds(mr_tracker_column(tk, (size_t)known)->type, before, &facts))
            fail_with("the column became narrower", f, mr_tracker_column(tk, (size_t)known), "");
    }
    return true;
}

static bool same_place(const struct mr_place *a, const struct mr_place *b)
{
    return mr_str_eq(a->topic, b->topic) && a->offset == b->offset;
}

/* Decimals do not ask for their largest |n|, nor does what becomes of them. */
static bool keeps_max_abs(struct mr_type type)
{
    return mr_type_is_integer(type) || type.kind == MR_T_FLOAT32 || type.kind == MR_T_FLOAT64;
}

static void compare(const struct mr_tracker *one, const struct mr_tracker *two)
{
    assert_int_equal(mr_tracker_count(one), mr_tracker_count(two));
    for (size_t i = 0; i < mr_tracker_count(one); i++) {
        const struct mr_tracked_column *a = mr_tracker_column(one, i), *b = mr_tracker_column(two, i);
        if (!mr_str_eq(a->name, b->name) || !mr_str_eq(a->path, b->path) || !mr_type_eq(a->type, b->type) ||
            a->type.origin != b->type.origin || a->is_key != b->is_key || memcmp(a->counts, b->counts, sizeof(a->counts)) != 0 ||
            (keeps_max_abs(a->type) && a->facts.max_abs != b->facts.max_abs) || a->facts.max_len != b->facts.max_len ||
            a->facts.int_digits != b->facts.int_digits || a->facts.frac_digits != b->facts.frac_digits ||
            a->facts.has_special != b->facts.has_special || !mr_type_eq(a->widened_from, b->widened_from) ||
            !same_place(&a->first, &b->first) || !same_place(&a->widened, &b->widened))
            fail_msg("MR_SEED=%llu: column %.*s remembers a refused row", (unsigned long long)seed, MR_STR_FMT(a->name));
    }
}

static void check_round(size_t round, struct mr_dialect *dialect)
{
    char yaml[200];
    struct mr_config *cfg;
    struct mr_error err = {0};
    struct mr_arena *ar = mr_arena_create(0);
    size_t kept = 0;

    snprintf(yaml, sizeof(yaml), "{types: {policy: %s%s}, text: {invalid: %s}, target: {evolve: %s}}", policies[round % 7],
             round % 3 ? "" : ", columns: {t.b: \"decimal(10,2)\"}", round % 5 ? "dead_letter" : "strip", round % 4 ? "full" : "add");
    if (mr_config_load_text("m.yaml", mr_str_z(yaml), NULL, 0, &cfg, &err) != MR_OK)
        fail_msg("%s", err.message);
    struct mr_tracker *one = mr_tracker_create(cfg, dialect, MR_STR(""), MR_STR("t"), MR_STR(""), MR_STR("t"));
    struct mr_tracker *two = mr_tracker_create(cfg, dialect, MR_STR(""), MR_STR("t"), MR_STR(""), MR_STR("t"));
    for (int64_t i = 0; i < ROWS; i++) {
        struct row row;
        random_row(&row, i);
        if (!feed(one, &row, ar) || next() % 4 == 0) {
            mr_tracker_row_rollback(one);
        } else {
            mr_tracker_row_commit(one);
            assert_true(feed(two, &row, ar));
            mr_tracker_row_commit(two);
            kept++;
        }
        compare(one, two);
        if (mr_tracker_changed(one) != mr_tracker_changed(two))
            fail_msg("MR_SEED=%llu: one has changed, the other not", (unsigned long long)seed);
        if (next() % 8 == 0) {
            mr_table_unref(mr_tracker_publish(one));
            mr_table_unref(mr_tracker_publish(two));
        }
        mr_arena_reset(ar);
    }
    assert_true(kept > 0);
    mr_tracker_destroy(one);
    mr_tracker_destroy(two);
    mr_config_destroy(cfg);
    mr_arena_destroy(ar);
}

static void test_refused_rows_leave_no_trace_and_what_passes_fits(void **state)
{
    const char *given = getenv("MR_SEED");
    struct mr_dialect dialect = fake_dialect();

    (void)state;
    for (size_t round = 0; round < (given ? 1 : ROUNDS); round++) {
        seed = given ? strtoull(given, NULL, 0) : round + 1;
        random_state = seed;
        dialect.ident_case_folds = seed & 1;
        check_round(seed, &dialect);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused_rows_leave_no_trace_and_what_passes_fits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
