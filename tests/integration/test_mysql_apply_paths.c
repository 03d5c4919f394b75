/* Fast path = slow path: random batches give the same table as arrays, as statements of many rows, as one prepared statement a row, and row by
 * row in isolation, on tables with and without keys and further unique indexes. A failure names its seed: MILLRACE_SEED repeats it. */
#include "sink/mysql/my.h"

#include <millrace/base/time.h>

#include "my_helper.h"

enum way { WAY_ARRAYS, WAY_MULTI, WAY_SMALL, WAY_SINGLE, WAYS };
static const char *const way_names[] = {"arrays", "many rows a statement", "small", "row by row"};

static struct mr_config cfg_of[WAYS];
static struct mr_sink *sink_of[WAYS];
static uint64_t seed, random_state;

static uint32_t dice(uint32_t sides)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(random_state >> 33) % sides;
}

/* Each way has a connection of its own. MySQL has no arrays: the first two ways are one there. */
static void connect_ways(void)
{
    for (size_t w = 0; w < WAYS; w++) {
        cfg_of[w] = cfg;
        cfg_of[w].bulk_rows = w <= WAY_MULTI ? 1 : 1000000;
        sink_of[w] = connect_with(&cfg_of[w]);
        if (w != WAY_ARRAYS)
            ((struct mr_my *)(void *)sink_of[w])->can_bulk = false;
    }
}

static void disconnect_ways(void)
{
    for (size_t w = 0; w < WAYS; w++)
        sink_of[w]->ops->destroy(sink_of[w]);
}

/* ---- Tables ---- */

struct shape {
    const char *columns; /* CREATE TABLE s.<name> (…) */
    struct col cols[6];
    size_t count;
    bool keyless, partial, unique;
};

static const struct shape shapes[] = {
    {"(id bigint NOT NULL, t longtext, d decimal(20,3), f double, at datetime(6), PRIMARY KEY (id))",
     {{"id", {.kind = MR_T_INT64}, true}, {"t", {.kind = MR_T_TEXT}}, {"d", {.kind = MR_T_DECIMAL, .precision = 20, .scale = 3}},
      {"f", {.kind = MR_T_FLOAT64}}, {"at", {.kind = MR_T_TIMESTAMP}}}, 5, .partial = true},
    {"(a varchar(100) NOT NULL, b decimal(65,30) NOT NULL, c datetime(6) NOT NULL, v longblob, PRIMARY KEY (a, b, c))",
     {{"a", {.kind = MR_T_TEXT}, true}, {"b", {.kind = MR_T_DECIMAL, .open = true}, true}, {"c", {.kind = MR_T_TIMESTAMP}, true},
      {"v", {.kind = MR_T_BYTES}}}, 4, .partial = true},
    {"(id bigint NOT NULL, t longtext, d decimal(20,3), j json)",
     {{"id", {.kind = MR_T_INT64}}, {"t", {.kind = MR_T_TEXT}}, {"d", {.kind = MR_T_DECIMAL, .precision = 20, .scale = 3}},
      {"j", {.kind = MR_T_JSON}}}, 4, .keyless = true},
    {"(id bigint NOT NULL, u bigint, t varchar(100), PRIMARY KEY (id), UNIQUE (u))",
     {{"id", {.kind = MR_T_INT64}, true}, {"u", {.kind = MR_T_INT64}}, {"t", {.kind = MR_T_TEXT}}}, 3, .unique = true, .partial = true},
    {"(id bigint NOT NULL, u bigint NOT NULL, t varchar(100), PRIMARY KEY (id), UNIQUE (u, t))",
     {{"id", {.kind = MR_T_INT64}, true}, {"u", {.kind = MR_T_INT64}}, {"t", {.kind = MR_T_TEXT}}}, 3, .unique = true},
    {"(a bigint NOT NULL, b bigint NOT NULL, PRIMARY KEY (a, b))", {{"a", {.kind = MR_T_INT64}, true}, {"b", {.kind = MR_T_INT64}, true}}, 2},
};

static struct mr_table *make_table(const struct shape *shape, enum way way)
{
    const char *name = text_of("t%d", (int)way);
    sql(text_of("CREATE TABLE s.%s %s", name, shape->columns));
    return table_of(name, shape->cols, shape->count);
}

/* ---- Values ---- */

static struct mr_value random_value(struct mr_type type, bool is_key)
{
    static const char *const texts[] = {"", " ", "a", "a ", "A", "ä", "x'y\\z", "\xf0\x9f\x98\x80", "longer text than the others are"};
    if (!is_key && dice(8) == 0)
        return NIL;
    switch ((enum mr_type_kind)type.kind) {
    case MR_T_INT64:
        return INT((int64_t)dice(12) - 2);
    case MR_T_TEXT:
        return TEXT(texts[dice(is_key ? 6 : 9)]);
    case MR_T_BYTES:
        return dice(2) ? BYTES("\0\xff'\\") : BYTES("");
    case MR_T_DECIMAL: {
        const char *digits = text_of("%s%u.%03u", dice(2) ? "-" : "", 1 + dice(3), dice(2) * 500);
        return NUM(digits);
    }
    case MR_T_FLOAT64:
        return FLOAT((double)dice(100) / 8);
    case MR_T_TIMESTAMP:
        return TIME(MR_V_TIMESTAMP, (int64_t)dice(3) * 1000001);
    case MR_T_JSON:
        return dice(2) ? JSON("{\"a\":[1,2],\"b\":null}") : JSON("\"text\"");
    default:
        return NIL;
    }
}

static void random_cells(const struct shape *shape, struct mr_value *cells, bool partial)
{
    for (size_t i = 0; i < shape->count; i++) {
        bool is_key = shape->cols[i].is_key || (shape->keyless && i == 0);
        cells[i] = !is_key && partial && dice(3) == 0 ? ABSENT : random_value(shape->cols[i].type, is_key);
    }
}

static bool has_key(const struct rows *rows, const struct shape *shape, const struct mr_value *cells)
{
    struct mr_buf want = MR_BUF_INIT(1 << 20), have = MR_BUF_INIT(1 << 20);
    bool found = false;
    for (size_t r = 0; r <= rows->batch.row_count; r++) {
        struct mr_buf *to = r ? &have : &want;
        const struct mr_value *from = r ? rows->items[r - 1].cells : cells;
        mr_buf_clear(&have);
        for (size_t i = 0; i < shape->count; i++)
            if (shape->cols[i].is_key)
                mr_value_append_key(from[i], shape->cols[i].type, to);
        found = found || (r && mr_str_eq(mr_buf_str(&want), mr_buf_str(&have)));
    }
    mr_buf_free(&want);
    mr_buf_free(&have);
    return found;
}

static void add_keyless(struct rows *rows, const struct shape *shape)
{
    struct mr_value cells[6], match[6];
    enum mr_row_kind kinds[] = {MR_ROW_APPEND, MR_ROW_APPEND, MR_ROW_APPEND, MR_ROW_UPDATE_MATCH, MR_ROW_DELETE_MATCH};
    enum mr_row_kind kind = kinds[dice(5)];
    random_cells(shape, cells, false);
    random_cells(shape, match, true);
    add_match(rows, kind, cells, kind == MR_ROW_APPEND ? NULL : match);
}

/* Every key at once gets a value of the unique column, each another one: rows exchange them in circles. Now and then a value is taken twice. */
static void fill_unique(struct rows *rows, const struct shape *shape)
{
    enum { KEYS = 12 };
    int64_t of[KEYS];
    for (uint32_t i = 0; i < KEYS; i++)
        of[i] = i;
    for (uint32_t i = KEYS - 1; i > 0; i--) {
        uint32_t k = dice(i + 1);
        int64_t kept = of[i];
        of[i] = of[k];
        of[k] = kept;
    }
    if (dice(5) == 0)
        of[0] = of[1];
    bool partial = shape->partial && dice(4) == 0;
    for (uint32_t i = 0; i < KEYS; i++) {
        struct mr_value cells[6];
        random_cells(shape, cells, partial);
        cells[0] = INT(i);
        if (cells[1].tag != MR_V_ABSENT)
            cells[1] = shape->partial && dice(6) == 0 ? NIL : INT(of[i]);
        if (dice(5) == 0)
            cells[1] = cells[2] = ABSENT;
        add_match(rows, cells[1].tag == MR_V_ABSENT && cells[2].tag == MR_V_ABSENT ? MR_ROW_DELETE : MR_ROW_UPSERT, cells, NULL);
    }
}

static void fill(struct rows *rows, const struct shape *shape)
{
    size_t count = 1 + dice(60);
    rows->batch.ordered = shape->keyless || (shape->unique && dice(2));
    rows->batch.truncate_first = dice(20) == 0;
    if (shape->unique) {
        fill_unique(rows, shape);
        return;
    }
    for (size_t r = 0; r < count; r++) {
        struct mr_value cells[6];
        if (shape->keyless) {
            add_keyless(rows, shape);
            continue;
        }
        random_cells(shape, cells, shape->partial);
        if (has_key(rows, shape, cells)) /* the engine folds to one row a key */
            continue;
        bool is_delete = dice(4) == 0;
        for (size_t i = 0; is_delete && i < shape->count; i++)
            if (!shape->cols[i].is_key)
                cells[i] = ABSENT;
        add_match(rows, is_delete ? MR_ROW_DELETE : MR_ROW_UPSERT, cells, NULL);
    }
}

/* ---- Comparing ---- */

static const char *content(const struct shape *shape, enum way way)
{
    static struct mr_buf out[WAYS];
    out[way].max = 1 << 26;
    mr_buf_clear(&out[way]);
    struct mr_buf query = MR_BUF_INIT(1 << 16);
    mr_buf_append_z(&query, "SELECT * FROM s.t");
    mr_buf_printf(&query, "%d ORDER BY ", (int)way);
    for (size_t i = 0; i < shape->count; i++)
        mr_buf_printf(&query, "%s%zu", i ? ", " : "", i + 1);
    mr_buf_append_z(&out[way], rows_text(mr_buf_z(&query)));
    mr_buf_free(&query);
    return mr_buf_z(&out[way]);
}

/* A batch is refused by all or by none: a unique value that is taken, say. */
static enum mr_status apply_way(const struct rows *rows, struct mr_table *tbl, enum way way, struct mr_error *err)
{
    struct mr_sink *s = sink_of[way];
    struct mr_table_batch batch = rows->batch;
    batch.tbl = tbl;
    batch.row_by_row = way == WAY_SINGLE;
    OK(s->ops->begin(s, e));
    enum mr_status status = s->ops->apply(s, &batch, err);
    if (status == MR_OK)
        OK(s->ops->commit(s, e));
    else
        s->ops->rollback(s);
    return status;
}

static void run_shape(const struct shape *shape, int batches)
{
    struct mr_table *tbl[WAYS];
    int taken = 0;
    for (enum way w = 0; w < WAYS; w++)
        tbl[w] = make_table(shape, w);
    for (int b = 0; b < batches; b++) {
        struct rows *rows = rows_of(tbl[0]);
        struct mr_error err[WAYS] = {{0}};
        enum mr_status first = MR_OK;
        fill(rows, shape);
        for (enum way w = 0; w < WAYS; w++) {
            enum mr_status status = apply_way(rows, tbl[w], w, &err[w]);
            if (w == 0)
                first = status;
            taken += w == 0 && status == MR_OK;
            if (status != MR_OK && status != MR_E_DATA)
                fail_msg("seed %llu, batch %d, %s: %s", (unsigned long long)seed, b, way_names[w], err[w].message);
            if (status != first)
                fail_msg("seed %llu, batch %d: %s says \"%s\", %s says \"%s\"", (unsigned long long)seed, b, way_names[0], err[0].message,
                         way_names[w], err[w].message);
            if (w > 0 && strcmp(content(shape, 0), content(shape, w)) != 0)
                fail_msg("seed %llu, batch %d, %s:\n%s--- but %s:\n%s", (unsigned long long)seed, b, way_names[0], content(shape, 0), way_names[w],
                         content(shape, w));
        }
    }
    assert_true(taken > batches / 2); /* a refusal tells little */
    for (enum way w = 0; w < WAYS; w++)
        sql(text_of("DROP TABLE s.t%d", (int)w));
}

static void run(size_t index)
{
    const char *given = getenv("MILLRACE_SEED");
    seed = given ? strtoull(given, NULL, 10) : (uint64_t)mr_now_us();
    random_state = seed;
    connect_ways();
    run_shape(&shapes[index], shapes[index].unique ? 30 : 20);
    disconnect_ways();
}

#define PATHS(name, index)                                                                         \
    static void name(void **state)                                                                 \
    {                                                                                              \
        (void)state;                                                                               \
        run(index);                                                                                \
    }
PATHS(test_all_ways_give_the_same_table_with_a_key, 0)
PATHS(test_all_ways_give_the_same_table_with_a_key_of_three_columns, 1)
PATHS(test_all_ways_give_the_same_table_without_a_key, 2)
PATHS(test_all_ways_give_the_same_table_with_a_unique_index_of_nullable_columns, 3)
PATHS(test_all_ways_give_the_same_table_with_a_unique_index_that_cannot_be_null, 4)
PATHS(test_all_ways_give_the_same_table_of_keys_alone, 5)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_all_ways_give_the_same_table_with_a_key),
        TEST(test_all_ways_give_the_same_table_with_a_key_of_three_columns),
        TEST(test_all_ways_give_the_same_table_without_a_key),
        TEST(test_all_ways_give_the_same_table_with_a_unique_index_of_nullable_columns),
        TEST(test_all_ways_give_the_same_table_with_a_unique_index_that_cannot_be_null),
        TEST(test_all_ways_give_the_same_table_of_keys_alone),
    };
    return cmocka_run_group_tests(tests, open_server, close_server);
}
