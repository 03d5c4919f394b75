/* Patches fold as they apply: changes of a batch folded, and what is left applied, gives the same as applying every change by itself. Whole rows, partial
 * rows, deletes and patches over a few keys, against a model table of one JSON column; a failure prints its seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <millrace/base/hash.h>
#include <millrace/model/patch.h>

#include "engine/fold.h"

#define KEYS 4
#define CHANGES 30
#define STEPS 3

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

struct model {
    bool there[KEYS];
    struct mr_value cell[KEYS]; /* NULL or JSON */
};

static void apply(struct model *m, const struct mr_entry *e, struct mr_arena *ar)
{
    int64_t key = e->cells[0].i;
    struct mr_value v = mr_entry_cell(e, 1), have = m->there[key] ? m->cell[key] : mr_value_null();
    struct mr_error err = {0};

    if (e->kind == MR_ROW_DELETE) {
        m->there[key] = false;
        return;
    }
    if (v.tag == MR_V_PATCH) {
        struct mr_value base = mr_patch_base(mr_value_patch(v));
        assert_int_equal(mr_patch_apply(mr_value_patch(v), base.tag == MR_V_ABSENT ? have : base,
                                        MR_TYPE(MR_T_JSON), ar, &v, &err),
                         MR_OK);
    } else if (v.tag == MR_V_ABSENT || v.tag == MR_V_UNAVAILABLE) {
        v = have;
    }
    m->there[key] = true;
    m->cell[key] = v;
}

static struct mr_value random_patch(uint64_t *state, struct mr_arena *ar)
{
    static struct mr_str names[][2] = {{{"x", 1}}, {{"y", 1}}, {{"in", 2}, {"p", 1}}, {{"in", 2}, {"q", 1}}};
    struct mr_patch *patch = mr_arena_zalloc(ar, sizeof *patch);
    struct mr_step *steps = mr_arena_zalloc(ar, STEPS * sizeof *steps);

    patch->steps = steps;
    patch->count = 1 + next(state) % STEPS;
    for (size_t i = 0; i < patch->count; i++) {
        size_t name = next(state) % 4;
        steps[i] = (struct mr_step){.kind = next(state) % 3 ? MR_STEP_SET : MR_STEP_UNSET,
                                    .names = names[name],
                                    .count = name < 2 ? 1 : 2};
        steps[i].json = mr_arena_printf(ar, "%u", (unsigned)(next(state) % 100));
    }
    return mr_value_of_patch(patch);
}

static struct mr_entry random_change(uint64_t *state, struct mr_arena *ar)
{
    int64_t key = (int64_t)(next(state) % KEYS);
    struct mr_entry e = {
        .merged = 1, .kind = next(state) % 6 == 0 ? MR_ROW_DELETE : MR_ROW_UPSERT, .cell_count = 2};

    e.cells = mr_arena_zalloc(ar, 2 * sizeof *e.cells);
    e.cells[0] = mr_value_int(key);
    e.full = e.kind == MR_ROW_UPSERT && next(state) % 4 == 0;
    switch (e.kind == MR_ROW_DELETE ? 9 : next(state) % 6) {
    case 0:
        e.cells[1] = mr_value_bytes(
            MR_V_JSON, mr_arena_printf(ar, "{\"x\":%u,\"in\":{\"p\":1}}", (unsigned)(next(state) % 100)));
        break;
    case 1:
        e.cells[1] = e.full ? mr_value_null() : (struct mr_value){.tag = MR_V_UNAVAILABLE};
        break;
    case 2:
        e.cells[1] = mr_value_null();
        break;
    case 9:
        break;
    default:
        e.cells[1] = e.full ? mr_value_bytes(MR_V_JSON, MR_STR("{}")) : random_patch(state, ar);
    }
    e.key = mr_arena_printf(ar, "%lld", (long long)key);
    e.hash = mr_hash(e.key.ptr, e.key.len, 0);
    return e;
}

/* A fold takes cells over: a change that is applied by itself, too, keeps its own. */
static struct mr_entry copy_of(const struct mr_entry *e, struct mr_arena *ar)
{
    struct mr_entry copy = *e;

    copy.cells = mr_arena_alloc(ar, e->cell_count * sizeof *copy.cells);
    memcpy(copy.cells, e->cells, e->cell_count * sizeof *copy.cells);
    return copy;
}

static void run_seed(uint64_t seed)
{
    uint64_t state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    struct mr_arena *ar = mr_arena_create(0);
    struct model one_by_one = {0}, together = {0};
    struct mr_fold fold = {0};

    for (int64_t key = 0; key < KEYS / 2; key++) {
        one_by_one.there[key] = together.there[key] = true;
        one_by_one.cell[key] = together.cell[key] =
            mr_value_bytes(MR_V_JSON, MR_STR("{\"old\":1,\"in\":{}}"));
    }
    for (int i = 0; i < CHANGES; i++) {
        struct mr_entry e = random_change(&state, ar), mine = copy_of(&e, ar);
        apply(&one_by_one, &e, ar);
        mr_fold_add(&fold, ar, &mine);
        if (i == CHANGES / 2) { /* another batch */
            for (size_t k = 0; k < fold.count; k++)
                apply(&together, &fold.entries[k], ar);
            fold = (struct mr_fold){0};
        }
    }
    for (size_t k = 0; k < fold.count; k++)
        apply(&together, &fold.entries[k], ar);

    for (int key = 0; key < KEYS; key++) {
        struct mr_value a = one_by_one.cell[key], b = together.cell[key];
        bool same = one_by_one.there[key] == together.there[key] &&
                    (!one_by_one.there[key] ||
                     (a.tag == b.tag && (a.tag == MR_V_NULL || mr_str_eq(mr_value_str(a), mr_value_str(b)))));
        if (!same)
            fail_msg("seed %llu, key %d: %.*s one by one, %.*s together", (unsigned long long)seed, key,
                     (int)a.len, a.len ? a.ptr : "", (int)b.len, b.len ? b.ptr : "");
    }
    mr_arena_destroy(ar);
}

static void test_folded_patches_give_what_patches_one_by_one_give(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5000; seed++)
        run_seed(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folded_patches_give_what_patches_one_by_one_give),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
