/* Folding the changes of a table of arrays, ranges and rows, gives the same table as applying every change by itself: its ranges, then its rows. Random
 * changes over a few roots and positions, against a model table; a failure prints its seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine/fold.h"

#define ROOTS 3
#define PLACES 5 /* positions at each of two levels */
#define LAST 2147483647u
#define CHANGES 25

struct model {
    bool there[ROOTS][PLACES][PLACES];
    int64_t a[ROOTS][PLACES][PLACES], b[ROOTS][PLACES][PLACES]; /* 0 = NULL */
};

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void put(char *at, uint32_t n)
{
    for (int i = 0; i < 4; i++)
        at[i] = (char)(n >> (24 - 8 * i));
}

/* The key's cells come first: root, two positions; then the two columns. */
static void set_key(struct mr_entry *e, struct mr_arena *ar, uint32_t root, const uint32_t *pos, uint32_t count, const uint32_t *end)
{
    char *key = mr_arena_alloc(ar, 16);
    key[0] = (char)('a' + root);
    for (uint32_t i = 0; i < count; i++)
        put(key + 1 + 4 * i, pos[i]);
    if (end != NULL)
        put(key + 1 + 4 * count, *end);
    e->key = mr_str_of(key, 1 + 4 * (count + (end != NULL)));
    e->root_len = 1;
    e->merged = 1;
    mr_entry_hash(e);
}

static struct mr_entry random_range(uint64_t *state, struct mr_arena *ar, uint32_t root)
{
    struct mr_entry e = {.kind = MR_ROW_DELETE_RANGE};
    uint32_t pos = (uint32_t)(next(state) % PLACES), count = (uint32_t)(next(state) % 2);
    e.from = (uint32_t)(next(state) % PLACES);
    e.end = next(state) % 2 ? LAST : e.from + 1 + (uint32_t)(next(state) % 2);
    set_key(&e, ar, root, &pos, count, &e.end);
    return e;
}

static struct mr_value random_cell(uint64_t *state, bool full)
{
    switch (next(state) % 3) {
    case 0:
        return mr_value_null();
    case 1:
        return full ? mr_value_null() : (struct mr_value){.tag = MR_V_ABSENT};
    default:
        return mr_value_int((int64_t)(next(state) % 1000) + 1);
    }
}

static struct mr_entry random_row(uint64_t *state, struct mr_arena *ar, uint32_t root)
{
    struct mr_entry e = {.kind = MR_ROW_UPSERT, .full = next(state) % 2, .cell_count = 2};
    uint32_t pos[2] = {(uint32_t)(next(state) % PLACES), (uint32_t)(next(state) % PLACES)};
    e.cells = mr_arena_alloc(ar, 2 * sizeof *e.cells);
    e.cells[0] = random_cell(state, e.full);
    e.cells[1] = random_cell(state, e.full);
    set_key(&e, ar, root, pos, 2, NULL);
    return e;
}

static uint32_t position(const struct mr_entry *e, uint32_t level)
{
    return (uint32_t)(unsigned char)e->key.ptr[4 + 4 * level]; /* the low byte will do */
}

static void apply_cell(int64_t *cell, struct mr_value v, bool there)
{
    if (v.tag == MR_V_INT)
        *cell = v.i;
    else if (v.tag == MR_V_NULL || !there)
        *cell = 0;
}

static void apply(struct model *m, const struct mr_entry *e)
{
    uint32_t root = (uint32_t)(e->key.ptr[0] - 'a');
    if (e->kind == MR_ROW_MOVE_ALL) { /* the key has no positions; `from` is the root that it was */
        memcpy(m->there[root], m->there[e->from], sizeof m->there[root]);
        memcpy(m->a[root], m->a[e->from], sizeof m->a[root]);
        memcpy(m->b[root], m->b[e->from], sizeof m->b[root]);
        memset(m->there[e->from], 0, sizeof m->there[root]);
        return;
    }
    if (e->kind == MR_ROW_DELETE_RANGE) {
        bool has_prefix = e->key.len > 5;
        for (uint32_t p = 0; p < PLACES; p++)
            for (uint32_t q = 0; q < PLACES; q++)
                if (has_prefix ? p == position(e, 0) && q >= e->from && q < e->end : p >= e->from && p < e->end)
                    m->there[root][p][q] = false;
        return;
    }
    uint32_t p = position(e, 0), q = position(e, 1);
    if (e->kind == MR_ROW_UPSERT) {
        apply_cell(&m->a[root][p][q], mr_entry_cell(e, 0), m->there[root][p][q]);
        apply_cell(&m->b[root][p][q], mr_entry_cell(e, 1), m->there[root][p][q]);
    }
    m->there[root][p][q] = e->kind == MR_ROW_UPSERT;
}

/* One change: up to three ranges and up to three rows of a root. */
static void change(uint64_t *state, struct mr_arena *ar, struct model *one_by_one, struct mr_fold *fold)
{
    uint32_t root = (uint32_t)(next(state) % ROOTS);
    struct mr_entry ranges[3];
    size_t count = next(state) % 4;
    if (next(state) % 60 == 0) { /* a root gets another key: order counts from here on */
        struct mr_entry move = {.kind = MR_ROW_MOVE_ALL, .from = (root + 1) % ROOTS};
        set_key(&move, ar, root, NULL, 0, NULL);
        mr_fold_order(fold, ar);
        mr_fold_add(fold, ar, &move);
        apply(one_by_one, &move);
    }
    for (size_t i = 0; i < count; i++) {
        ranges[i] = random_range(state, ar, root);
        apply(one_by_one, &ranges[i]);
    }
    if (!fold->ordered)
        mr_fold_void(fold, ranges, count);
    for (size_t i = 0; i < count; i++)
        mr_fold_add(fold, ar, &ranges[i]);
    for (uint64_t rows = next(state) % 4; rows > 0; rows--) {
        struct mr_entry e = random_row(state, ar, root);
        apply(one_by_one, &e);
        mr_fold_add(fold, ar, &e);
    }
}

static void run_seed(uint64_t seed)
{
    uint64_t state = seed * 2654435761u + 1;
    struct mr_arena *ar = mr_arena_create(0);
    struct model one_by_one, folded;
    struct mr_fold fold = {0};
    memset(&one_by_one, 0, sizeof one_by_one);
    for (int i = 0; i < ROOTS * PLACES * PLACES; i++) /* some rows are there before */
        (&one_by_one.there[0][0][0])[i] = next(&state) % 2;
    folded = one_by_one;
    for (int i = 0; i < CHANGES; i++) {
        if (next(&state) % 50 == 0) {
            mr_fold_truncate(&fold, 0);
            memset(one_by_one.there, 0, sizeof one_by_one.there);
        }
        change(&state, ar, &one_by_one, &fold);
    }
    if (fold.truncate_first)
        memset(folded.there, 0, sizeof folded.there);
    for (size_t i = 0; fold.ordered && i < fold.count; i++)
        apply(&folded, &fold.entries[i]);
    for (int ranges = 1; !fold.ordered && ranges >= 0; ranges--)
        for (size_t i = fold.count; i-- > 0;) /* in whatever order */
            if ((fold.entries[i].kind == MR_ROW_DELETE_RANGE) == ranges)
                apply(&folded, &fold.entries[i]);
    for (int i = 0; i < ROOTS * PLACES * PLACES; i++) {
        bool there = (&one_by_one.there[0][0][0])[i];
        if (there != (&folded.there[0][0][0])[i] || (there && ((&one_by_one.a[0][0][0])[i] != (&folded.a[0][0][0])[i] ||
                                                                (&one_by_one.b[0][0][0])[i] != (&folded.b[0][0][0])[i])))
            fail_msg("seed %llu: place %d differs", (unsigned long long)seed, i);
    }
    mr_arena_destroy(ar);
}

static void test_folded_ranges_and_rows_equal_change_by_change(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20000; seed++)
        run_seed(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_folded_ranges_and_rows_equal_change_by_change)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
