/* Tables: made, copied into the next version, shared, found in. Everything of a table stands in its own arena. */
#include <millrace/model/table.h>

#include <millrace/base/mem.h>

#include <stdatomic.h>

#define ARENA_CHUNK 4096

static _Atomic uint64_t last_id;

static struct mr_table *table_alloc(void)
{
    struct mr_arena *ar = mr_arena_create(ARENA_CHUNK);
    struct mr_table *tbl = mr_arena_zalloc(ar, sizeof(*tbl));
    tbl->ar = ar;
    tbl->refs = 1;
    return tbl;
}

struct mr_table *mr_table_create(struct mr_str schema, struct mr_str name)
{
    struct mr_table *tbl = table_alloc();
    tbl->schema = mr_arena_copy(tbl->ar, schema);
    tbl->name = mr_arena_copy(tbl->ar, name);
    tbl->version = 1;
    tbl->id = atomic_fetch_add(&last_id, 1) + 1;
    return tbl;
}

struct mr_table *mr_table_clone(const struct mr_table *tbl, size_t extra_columns)
{
    struct mr_table *copy = table_alloc();
    struct mr_arena *ar = copy->ar;
    *copy = *tbl;
    copy->ar = ar;
    copy->refs = 1;
    copy->version = tbl->version + 1;
    copy->schema = mr_arena_copy(ar, tbl->schema);
    copy->name = mr_arena_copy(ar, tbl->name);

    struct mr_column *columns = mr_arena_zalloc(ar, (tbl->column_count + extra_columns) * sizeof(*columns));
    for (size_t i = 0; i < tbl->column_count; i++) {
        columns[i] = tbl->columns[i];
        columns[i].name = mr_arena_copy(ar, tbl->columns[i].name);
        columns[i].path = mr_arena_copy(ar, tbl->columns[i].path);
        columns[i].native = mr_arena_copy(ar, tbl->columns[i].native);
    }
    copy->columns = columns;

    uint32_t *keys = mr_arena_zalloc(ar, (tbl->key_count + 1) * sizeof(*keys));
    if (tbl->key_count)
        memcpy(keys, tbl->key_columns, tbl->key_count * sizeof(*keys));
    copy->key_columns = keys;
    return copy;
}

struct mr_table *mr_table_ref(const struct mr_table *tbl)
{
    struct mr_table *shared = (struct mr_table *)tbl;
    __atomic_add_fetch(&shared->refs, 1, __ATOMIC_RELAXED);
    return shared;
}

void mr_table_unref(const struct mr_table *tbl)
{
    if (!tbl)
        return;
    struct mr_table *shared = (struct mr_table *)tbl;
    if (__atomic_sub_fetch(&shared->refs, 1, __ATOMIC_ACQ_REL) == 0)
        mr_arena_destroy(shared->ar); /* the table itself stands in it */
}

int mr_table_find(const struct mr_table *tbl, struct mr_str column_name)
{
    for (size_t i = 0; i < tbl->column_count; i++) {
        if (mr_str_eq(tbl->columns[i].name, column_name))
            return (int)i;
    }
    return -1;
}
