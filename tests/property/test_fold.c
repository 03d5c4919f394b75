/* Folding a batch and applying what is left gives the same table as applying every change by itself. Random changes over a few keys and columns, against
 * a model table; a failure prints its seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <millrace/base/hash.h>

#include "engine/fold.h"

#define KEYS 5
#define COLUMNS 4 /* column 0 is the key */
#define CHANGES 40

struct model {
    bool there[KEYS];
    int64_t cell[KEYS][COLUMNS]; /* 0 = NULL */
};

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* What the target does with one row. */
static void apply(struct model *m, const struct mr_entry *e)
{
    int64_t key = e->cells[0].i;
    if (e->kind == MR_ROW_DELETE) {
        m->there[key] = false;
        return;
    }
    for (uint32_t c = 0; c < COLUMNS; c++) {
        struct mr_value v = mr_entry_cell(e, c);
        if (v.tag == MR_V_INT)
            m->cell[key][c] = v.i;
        else if (v.tag == MR_V_NULL || !m->there[key])
            m->cell[key][c] = 0;
    }
    m->there[key] = true;
}

static struct mr_entry random_change(uint64_t *state, struct mr_arena *ar, uint32_t columns)
{
    int64_t key = (int64_t)(next(state) % KEYS);
    struct mr_entry e = {.merged = 1, .kind = next(state) % 4 == 0 ? MR_ROW_DELETE : MR_ROW_UPSERT};
    e.cells = mr_arena_zalloc(ar, columns * sizeof *e.cells);
    e.cell_count = columns;
    e.full = e.kind == MR_ROW_UPSERT && next(state) % 2 == 0;
    e.cells[0] = mr_value_int(key);
    for (uint32_t c = 1; c < columns && e.kind == MR_ROW_UPSERT; c++) {
        switch (next(state) % 4) {
        case 0:
            e.cells[c] = (struct mr_value){.tag = MR_V_UNAVAILABLE};
            break;
        case 1:
            e.cells[c] = mr_value_null();
            break;
        case 2: /* a full row has no absent cells: what it does not list is NULL */
            e.cells[c] = e.full ? mr_value_null() : (struct mr_value){.tag = MR_V_ABSENT};
            break;
        default:
            e.cells[c] = mr_value_int((int64_t)(next(state) % 1000) + 1);
        }
    }
    e.key = mr_arena_printf(ar, "%lld", (long long)key);
    e.hash = mr_hash(e.key.ptr, e.key.len, 0);
    return e;
}

static void run_seed(uint64_t seed)
{
    uint64_t state = seed * 2654435761u + 1;
    struct mr_arena *ar = mr_arena_create(0);
    struct model one_by_one = {0}, folded = {0};
    struct mr_fold fold = {0};
    for (int64_t k = 0; k < KEYS; k++) { /* some rows are there before */
        one_by_one.there[k] = folded.there[k] = next(&state) % 2;
        for (uint32_t c = 0; c < COLUMNS; c++)
            one_by_one.cell[k][c] = folded.cell[k][c] = c == 0 ? k : (int64_t)c;
    }
    uint32_t columns = 2;
    for (int i = 0; i < CHANGES; i++) {
        if (columns < COLUMNS && next(&state) % 10 == 0)
            columns++; /* a column is learned in the middle of the batch */
        if (next(&state) % 37 == 0) {
            mr_fold_truncate(&fold, 0);
            memset(one_by_one.there, 0, sizeof one_by_one.there);
            continue;
        }
        struct mr_entry e = random_change(&state, ar, columns);
        e.is_new = e.kind == MR_ROW_UPSERT && e.full && !one_by_one.there[e.cells[0].i]; /* a truthful producer */
        apply(&one_by_one, &e);
        mr_fold_add(&fold, ar, &e);
    }
    if (fold.truncate_first)
        memset(folded.there, 0, sizeof folded.there);
    for (size_t i = 0; i < fold.count; i++) {
        const struct mr_entry *e = &fold.entries[i];
        if (e->is_new && e->kind == MR_ROW_UPSERT && folded.there[e->cells[0].i])
            fail_msg("seed %llu: key %lld is not new to the target", (unsigned long long)seed, (long long)e->cells[0].i);
        apply(&folded, e);
    }
    for (int64_t k = 0; k < KEYS; k++) {
        bool same = one_by_one.there[k] == folded.there[k];
        for (uint32_t c = 0; c < COLUMNS && same && folded.there[k]; c++)
            same = one_by_one.cell[k][c] == folded.cell[k][c];
        if (!same)
            fail_msg("seed %llu: key %lld differs", (unsigned long long)seed, (long long)k);
    }
    mr_arena_destroy(ar);
}

static void test_fold_and_apply_equals_row_by_row(void **cmocka)
{
    (void)cmocka;
    for (uint64_t seed = 1; seed <= 20000; seed++)
        run_seed(seed);
}

static void test_keys_are_unique_after_folding(void **cmocka)
{
    (void)cmocka;
    uint64_t state = 42;
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_fold fold = {0};
    for (int i = 0; i < 500; i++) {
        struct mr_entry e = random_change(&state, ar, COLUMNS);
        mr_fold_add(&fold, ar, &e);
    }
    assert_int_equal(fold.count, KEYS);
    uint32_t merged = 0;
    for (size_t i = 0; i < fold.count; i++)
        merged += fold.entries[i].merged;
    assert_int_equal(merged, 500);
    mr_arena_destroy(ar);
}

static void test_an_ordered_fold_merges_nothing(void **cmocka)
{
    (void)cmocka;
    uint64_t state = 7;
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_fold fold = {.ordered = true};
    for (int i = 0; i < 100; i++) {
        struct mr_entry e = random_change(&state, ar, COLUMNS);
        mr_fold_add(&fold, ar, &e);
    }
    assert_int_equal(fold.count, 100);
    mr_arena_destroy(ar);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fold_and_apply_equals_row_by_row),
        cmocka_unit_test(test_keys_are_unique_after_folding),
        cmocka_unit_test(test_an_ordered_fold_merges_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
