/* The laws of the join over random types and values, given the facts of all: commutative, associative, idempotent, never narrower, and
 * without loss: what fitted a side fits the join, and arrives there as the same value. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <millrace/base/arena.h>
#include <millrace/base/decimal.h>
#include <millrace/schema/lattice.h>

#define ROUNDS 200000

struct random {
    uint64_t seed, state;
};

static struct random start(void)
{
    const char *given = getenv("MR_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : 0x9e3779b97f4a7c15u;

    return (struct random){seed, seed};
}

static uint64_t next(struct random *r)
{
    uint64_t z = r->state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static uint64_t below(struct random *r, uint64_t n)
{
    return next(r) % n;
}

static struct mr_type random_scalar(struct random *r)
{
    /* Numbers join in interesting ways, so they come more often. */
    static const uint8_t numbers[] = {MR_T_INT16, MR_T_INT32, MR_T_INT64, MR_T_DECIMAL, MR_T_DECIMAL, MR_T_FLOAT32, MR_T_FLOAT64};
    uint8_t kind = below(r, 3) ? numbers[below(r, sizeof(numbers))] : (uint8_t)below(r, MR_T_ARRAY);
    struct mr_type type = MR_TYPE(kind);

    type.origin = (uint8_t)below(r, 3);
    if (kind == MR_T_DECIMAL) {
        type.open = below(r, 4) == 0;
        if (!type.open) {
            type.precision = (uint16_t)(1 + below(r, 40));
            type.scale = (int16_t)below(r, (uint64_t)type.precision + 1);
        }
    } else if (kind == MR_T_BITS) {
        type.precision = (uint16_t)below(r, 4);
    }
    return type;
}

/* Arrays of scalars now and then; of nothing yet, too. */
static struct mr_type random_type(struct random *r)
{
    struct mr_type type = random_scalar(r);

    return below(r, 3) == 0 && type.kind != MR_T_JSON ? mr_type_array_of(type) : type;
}

static struct mr_facts random_facts(struct random *r)
{
    static const uint64_t abs[] = {0, 7, UINT64_C(1) << 53, (UINT64_C(1) << 53) + 1, UINT64_MAX};

    return (struct mr_facts){.max_abs = abs[below(r, 5)], .has_special = below(r, 4) == 0};
}

static void fail_with(const struct random *r, const char *what, struct mr_type a, struct mr_type b, struct mr_type c)
{
    char ta[32], tb[32], tc[32];

    fail_msg("MR_SEED=%llu: %s: %s, %s, %s", (unsigned long long)r->seed, what, mr_type_text(a, ta),
             mr_type_text(b, tb), mr_type_text(c, tc));
}

static bool same(bool a_good, struct mr_type a, bool b_good, struct mr_type b)
{
    return a_good == b_good && (!a_good || (mr_type_eq(a, b) && a.origin == b.origin));
}

static void test_join_is_commutative_and_idempotent(void **state)
{
    struct random r = start();

    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        struct mr_type a = random_type(&r), b = random_type(&r), ab, ba, aa;
        struct mr_facts facts = random_facts(&r);
        bool ab_good = mr_type_join(a, b, &facts, &ab), ba_good = mr_type_join(b, a, &facts, &ba);
        if (!same(ab_good, ab, ba_good, ba))
            fail_with(&r, "not commutative", a, b, a);
        if (!mr_type_join(a, a, &facts, &aa) || !mr_type_eq(a, aa))
            fail_with(&r, "not idempotent", a, a, a);
        if (ab_good && (!mr_type_join(ab, b, &facts, &aa) || !mr_type_eq(aa, ab)))
            fail_with(&r, "does not absorb", a, b, ab);
    }
}

static void test_join_is_associative_given_the_facts_of_all(void **state)
{
    struct random r = start();

    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        struct mr_type a = random_type(&r), b = random_type(&r), c = random_type(&r), ab, bc, left, right;
        struct mr_facts facts = random_facts(&r);
        bool l = mr_type_join(a, b, &facts, &ab) && mr_type_join(ab, c, &facts, &left);
        bool rr = mr_type_join(b, c, &facts, &bc) && mr_type_join(a, bc, &facts, &right);
        if (!same(l, left, rr, right))
            fail_with(&r, "not associative", a, b, c);
    }
}

static bool random_scalar_value(struct random *r, struct mr_type type, struct mr_arena *ar, struct mr_value *out)
{
    static const int64_t ints[] = {0, 1, -1, 42, 32767, -32768, 65536, INT32_MAX, INT32_MIN, INT64_C(9007199254740992),
                                   INT64_C(-9007199254740993), INT64_MAX, INT64_MIN};
    static const double doubles[] = {0, 0.1, -2.5, 1e10, 9007199254740992.0, 1e300, 5e-324, 1234.5670166015625, NAN, INFINITY, -INFINITY};

    switch (below(r, 4)) {
    case 0:
        *out = mr_value_int(below(r, 2) ? ints[below(r, 13)] : (int64_t)next(r) >> below(r, 64));
        break;
    case 1:
        *out = mr_value_float(doubles[below(r, 11)]);
        break;
    case 2: {
        uint64_t whole = next(r) >> below(r, 64), frac = next(r) >> (20 + below(r, 44));
        struct mr_str text = below(r, 2) ? mr_arena_printf(ar, "%s%llu.%llu", below(r, 2) ? "-" : "", (unsigned long long)whole,
                                                           (unsigned long long)frac)
                                         : mr_arena_printf(ar, "%llu%llu", (unsigned long long)whole + 1, (unsigned long long)frac);
        *out = mr_value_bytes(MR_V_NUMBER, text);
        break;
    }
    default:
        *out = mr_value_time(below(r, 2) ? MR_V_TIME : MR_V_DURATION, (int64_t)next(r) >> below(r, 64));
        break;
    }
    return mr_type_accepts(type, *out);
}

/* A value that fits the type, of the kinds of values decoders make. */
static bool random_value(struct random *r, struct mr_type type, struct mr_arena *ar, struct mr_value *out)
{
    if (type.kind != MR_T_ARRAY)
        return random_scalar_value(r, type, ar, out);

    uint32_t count = (uint32_t)below(r, 4);
    struct mr_value *items = mr_arena_alloc(ar, (count + 1) * sizeof *items);
    struct mr_buf json = MR_BUF_INIT(1 << 20);
    mr_buf_append_char(&json, '[');
    for (uint32_t i = 0; i < count; i++) {
        if (!random_scalar_value(r, mr_type_element(type), ar, &items[i]))
            items[i] = mr_value_null();
        mr_buf_append_z(&json, i ? "," : "");
        mr_value_append_json(items[i], &json);
    }
    mr_buf_append_char(&json, ']');
    *out = mr_array_of(items, count, mr_arena_copy(ar, mr_buf_str(&json)), 0, MR_OBSERVED, ar);
    mr_buf_free(&json);
    return mr_type_accepts(type, *out);
}

/* Equal as values of a column of that type: arrays element by element. */
static bool same_in(struct mr_value a, struct mr_value b, struct mr_type type)
{
    struct mr_buf one = MR_BUF_INIT(1 << 20), two = MR_BUF_INIT(1 << 20);
    bool is_array = type.kind == MR_T_ARRAY;
    uint32_t count = is_array ? mr_value_array(a)->count : 1;

    for (uint32_t i = 0; i < count; i++) {
        mr_value_append_key(is_array ? mr_value_array(a)->items[i] : a, is_array ? mr_type_element(type) : type, &one);
        mr_value_append_key(is_array ? mr_value_array(b)->items[i] : b, is_array ? mr_type_element(type) : type, &two);
    }
    bool same = mr_str_eq(mr_buf_str(&one), mr_buf_str(&two)) && (!is_array || mr_value_array(b)->count == count);
    mr_buf_free(&one);
    mr_buf_free(&two);
    return same;
}

static void test_what_fitted_before_fits_the_join_and_stays_the_same_value(void **state)
{
    struct random r = start();
    struct mr_arena *ar = mr_arena_create(0);
    size_t checked = 0;

    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        struct mr_type a = random_type(&r), b = random_type(&r), joined;
        struct mr_value v, in_a, in_join;
        struct mr_error err = {0};
        mr_arena_reset(ar);
        if (!random_value(&r, a, ar, &v))
            continue;
        struct mr_facts facts = mr_facts_of(v), more = random_facts(&r);
        mr_facts_add(&facts, &more);
        if (!mr_type_join(a, b, &facts, &joined))
            continue;
        checked++;
        if (mr_value_coerce(v, a, ar, &in_a, &err) != MR_OK)
            fail_with(&r, err.message, a, b, joined);
        if (!mr_type_accepts(joined, v) && !mr_type_accepts(joined, in_a))
            fail_with(&r, "the join refuses it", a, b, joined);
        if (mr_value_coerce(in_a, joined, ar, &in_join, &err) != MR_OK)
            fail_with(&r, err.message, a, b, joined);
        /* A float and the double of its shortest text are one value of a float32 column, not of a float64 one. */
        bool is_float32 = a.kind == MR_T_FLOAT32 || (a.kind == MR_T_ARRAY && a.element == MR_T_FLOAT32);
        if (!same_in(v, in_join, is_float32 ? a : joined))
            fail_with(&r, "another value in the join", a, b, joined);
    }
    mr_arena_destroy(ar);
    assert_true(checked > ROUNDS / 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_join_is_commutative_and_idempotent),
        cmocka_unit_test(test_join_is_associative_given_the_facts_of_all),
        cmocka_unit_test(test_what_fitted_before_fits_the_join_and_stays_the_same_value),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
