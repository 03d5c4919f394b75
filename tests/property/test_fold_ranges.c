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

/* ---- arrays that are filled with nulls ---- */

#define LONGEST 14

/* What the target has: 0 no row, 1 a null, else the value. */
struct array {
    int64_t at[LONGEST + 1];
};

static struct mr_entry array_entry(struct mr_arena *ar, enum mr_row_kind kind, uint32_t place, int64_t value)
{
    struct mr_entry e = {.kind = kind, .full = true, .cell_count = 2};
    e.cells = mr_arena_alloc(ar, 2 * sizeof *e.cells);
    e.cells[0] = mr_value_int(place);
    e.cells[1] = mr_value_int(value);
    e.end = kind == MR_ROW_DELETE_RANGE ? LAST : place;
    e.from = kind == MR_ROW_DELETE_RANGE ? place : 0;
    if (kind == MR_ROW_DELETE_RANGE)
        set_key(&e, ar, 0, NULL, 0, &e.end);
    else
        set_key(&e, ar, 0, &place, 1, NULL);
    return e;
}

static void apply_to_array(struct array *a, const struct mr_entry *e)
{
    uint32_t first = 0;
    switch (e->kind) {
    case MR_ROW_DELETE_RANGE:
        for (uint32_t i = e->from; i < LONGEST; i++)
            a->at[i] = 0;
        return;
    case MR_ROW_FILL: /* as the sinks do it: from behind the last row before */
        for (uint32_t i = 0; i < e->end; i++)
            first = a->at[i] != 0 ? i + 1 : first;
        for (uint32_t i = first; i < e->end; i++)
            a->at[i] = 1;
        return;
    default:
        a->at[position(e, 0)] = e->kind == MR_ROW_DELETE ? 0 : e->cells[1].i;
        return;
    }
}

static uint32_t length_of(const struct array *a)
{
    uint32_t n = 0;
    while (n < LONGEST && a->at[n] != 0)
        n++;
    return n;
}

static void change_array(uint64_t *state, struct mr_arena *ar, struct array *one_by_one, struct mr_fold *fold)
{
    struct mr_entry e[LONGEST + 2];
    uint32_t n = 0, place = (uint32_t)(next(state) % LONGEST), length = length_of(one_by_one);
    switch (next(state) % 4) {
    case 0: /* cut, or gone */
        e[n++] = array_entry(ar, MR_ROW_DELETE_RANGE, next(state) % 4 == 0 ? 0 : place, 0);
        break;
    case 1: /* the whole array */
        e[n++] = array_entry(ar, MR_ROW_DELETE_RANGE, place, 0);
        for (uint32_t i = 0; i < place; i++)
            e[n++] = array_entry(ar, MR_ROW_UPSERT, i, (int64_t)(next(state) % 1000) + 2);
        break;
    default: /* an element, there or beyond the end */
        place = next(state) % 2 && length < LONGEST ? length : place;
        e[n++] = array_entry(ar, MR_ROW_UPSERT, place, (int64_t)(next(state) % 1000) + 2);
        if (place > 0)
            e[n++] = array_entry(ar, MR_ROW_FILL, place, 0);
        break;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (e[i].kind == MR_ROW_DELETE_RANGE)
            mr_fold_void(fold, &e[i], 1);
        mr_fold_add(fold, ar, &e[i]);
    }
    for (int fills = 0; fills < 2; fills++) /* by itself: each position that is missing */
        for (uint32_t i = 0; i < n; i++)
            if ((e[i].kind == MR_ROW_FILL) == fills)
                apply_to_array(one_by_one, &e[i]);
}

static int compare_keys(const void *a, const void *b)
{
    return mr_str_cmp(((const struct mr_entry *)a)->key, ((const struct mr_entry *)b)->key);
}

static void test_folded_elements_beyond_the_end_equal_change_by_change(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 50000; seed++) {
        uint64_t random = seed * 2654435761u + 1;
        struct mr_arena *ar = mr_arena_create(0);
        struct array one_by_one = {{0}}, folded;
        struct mr_fold fold = {0};
        for (uint64_t i = 0, n = next(&random) % 5; i < n; i++)
            one_by_one.at[i] = 2;
        folded = one_by_one;
        for (uint64_t i = 0, n = 1 + next(&random) % 12; i < n; i++)
            change_array(&random, ar, &one_by_one, &fold);
        qsort(fold.entries, fold.count, sizeof *fold.entries, compare_keys);
        static const enum mr_row_kind order[] = {MR_ROW_DELETE_RANGE, MR_ROW_UPSERT, MR_ROW_FILL};
        for (int pass = 0; pass < 3; pass++)
            for (size_t i = 0; i < fold.count; i++)
                if (fold.entries[i].kind == order[pass] || (pass == 1 && fold.entries[i].kind == MR_ROW_DELETE))
                    apply_to_array(&folded, &fold.entries[i]);
        if (memcmp(&folded, &one_by_one, sizeof folded) != 0)
            fail_msg("seed %llu differs", (unsigned long long)seed);
        mr_arena_destroy(ar);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_folded_ranges_and_rows_equal_change_by_change),
                                       cmocka_unit_test(test_folded_elements_beyond_the_end_equal_change_by_change)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
