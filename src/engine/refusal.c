/* Refusals: see refusal.h. A list per table; a table with very many of them refuses every new column, so that a stream of new names cannot make
 * the target say no for ever. */
#include "refusal.h"

#include <stdlib.h>

#include <millrace/base/arena.h>
#include <millrace/base/mem.h>
#include <millrace/base/time.h>

#define MAX_COLUMNS_REFUSED 32 /* of one table, before all new ones are */
#define RETRY_MS 60000

struct table_refusals {
    struct mr_refusal *first;
    size_t columns;
};

struct mr_refusals {
    struct mr_arena *ar;   /* all of it; refusals are few */
    struct mr_map *tables; /* schema NUL table → struct table_refusals */
    struct mr_buf key;     /* scratch */
};

struct mr_refusals *mr_refusals_create(void)
{
    struct mr_refusals *refusals = mr_xcalloc(1, sizeof *refusals);
    refusals->ar = mr_arena_create(4096);
    refusals->tables = mr_map_create();
    refusals->key = MR_BUF_INIT(1u << 20);
    return refusals;
}

void mr_refusals_destroy(struct mr_refusals *refusals)
{
    if (refusals == NULL)
        return;
    mr_map_destroy(refusals->tables, NULL);
    mr_arena_destroy(refusals->ar);
    mr_buf_free(&refusals->key);
    mr_xfree(refusals);
}

static struct table_refusals *find_table(const struct mr_refusals *refusals, struct mr_str schema, struct mr_str table)
{
    struct mr_buf *key = (struct mr_buf *)&refusals->key;
    mr_buf_clear(key);
    mr_buf_append_str(key, schema);
    mr_buf_append_char(key, '\0');
    mr_buf_append_str(key, table);
    return mr_map_get(refusals->tables, mr_buf_str(key));
}

static struct mr_refusal *find(const struct table_refusals *of, enum mr_refused kind, struct mr_str what)
{
    for (struct mr_refusal *r = of != NULL ? of->first : NULL; r != NULL; r = (struct mr_refusal *)r->next)
        if (r->kind == kind && mr_str_eq(r->what, what))
            return r;
    return NULL;
}

static struct mr_refusal *add(struct mr_refusals *refusals, struct mr_str schema, struct mr_str table, enum mr_refused kind,
                              struct mr_str what)
{
    struct table_refusals *of = find_table(refusals, schema, table);
    if (of == NULL) {
        of = mr_arena_zalloc(refusals->ar, sizeof *of);
        mr_map_put(refusals->tables, mr_buf_str(&refusals->key), of);
    }
    if (kind == MR_REFUSED_COLUMN && ++of->columns > MAX_COLUMNS_REFUSED)
        what = (struct mr_str){0};
    struct mr_refusal *r = mr_arena_zalloc(refusals->ar, sizeof *r);
    *r = (struct mr_refusal){.next = of->first, .kind = kind, .what = mr_arena_copy(refusals->ar, what)};
    of->first = r;
    return r;
}

static bool holds(const struct mr_refusal *r)
{
    return r->why_z != NULL && mr_monotonic_ms() < r->until_ms;
}

bool mr_refusals_add(struct mr_refusals *refusals, struct mr_str schema, struct mr_str table, enum mr_refused kind,
                     struct mr_str what, const char *why_z)
{
    struct mr_refusal *r = find(find_table(refusals, schema, table), kind, what);
    if (r != NULL && holds(r))
        return false;
    if (r == NULL)
        r = add(refusals, schema, table, kind, what);
    if (r->why_z == NULL || strcmp(r->why_z, why_z) != 0)
        r->why_z = mr_arena_strndup(refusals->ar, why_z, strlen(why_z));
    bool is_tried_again = kind == MR_REFUSED_KEY || kind == MR_REFUSED_TABLE;
    r->until_ms = is_tried_again ? mr_monotonic_ms() + RETRY_MS : INT64_MAX;
    return true;
}

bool mr_refusals_try_again(struct mr_refusals *refusals, struct mr_str schema, struct mr_str table, enum mr_refused kind,
                           struct mr_str what)
{
    if (find(find_table(refusals, schema, table), kind, what) != NULL)
        return false;
    (void)add(refusals, schema, table, kind, what);
    return true;
}

const struct mr_refusal *mr_refusals_of(const struct mr_refusals *refusals, struct mr_str schema, struct mr_str table)
{
    const struct table_refusals *of = find_table(refusals, schema, table);
    return of != NULL ? of->first : NULL;
}

const char *mr_refusal_why(const struct mr_refusal *list, enum mr_refused kind, struct mr_str what)
{
    for (; list != NULL; list = list->next)
        if (list->kind == kind && mr_str_eq(list->what, what) && holds(list))
            return list->why_z;
    return NULL;
}

static int compare(const void *a, const void *b)
{
    return mr_str_cmp(*(const struct mr_str *)a, *(const struct mr_str *)b);
}

void mr_refusal_key_name(const struct mr_str *paths, size_t count, struct mr_buf *out)
{
    struct mr_str *sorted = mr_xcalloc(count + 1, sizeof *sorted);
    for (size_t i = 0; i < count; i++)
        sorted[i] = paths[i];
    qsort(sorted, count, sizeof *sorted, compare);
    for (size_t i = 0; i < count; i++) {
        mr_buf_append_str(out, sorted[i]);
        mr_buf_append_char(out, '\0');
    }
    mr_xfree(sorted);
}
