/* What the control tables promise, the same on every target: the tests of control*.c, for programs that set up `control_sink` (a
 * connection with freshly made control tables) and `control_other` (a second one) before each. */
#ifndef MILLRACE_TEST_CONTROL_CHECKS_H
#define MILLRACE_TEST_CONTROL_CHECKS_H

#include "support/sink_helper.h"

#include <millrace/base/time.h>

#include "engine/control.h"

static struct mr_sink *control_sink, *control_other;

#define NAME MR_STR("test")

static const struct mr_partition part_a = {.topic_z = "shop.a", .partition = 0}, part_b = {.topic_z = "shop.b", .partition = 7, .index = 1},
                                 part_file = {.topic_z = "file:/tmp/\xff'\".jsonl#0011", .index = 2};

/* ---- Positions ---- */

static struct mr_stored_position claim_one(struct mr_sink *sink, const struct mr_partition *part, uint32_t lanes)
{
    struct mr_stored_position out;
    const struct mr_partition *parts[] = {part};
    OK(mr_control_claim(sink, NAME, parts, 1, lanes, &out, &err));
    return out;
}

static void test_a_first_claim_makes_rows_without_a_position(void **state)
{
    (void)state;
    const struct mr_partition *parts[] = {&part_b, &part_a, &part_file};
    struct mr_stored_position out[3];
    OK(mr_control_claim(control_sink, NAME, parts, 3, 2, out, &err));
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(out[i].lanes, 2);
        assert_int_equal(out[i].lane_position[0], -1);
        assert_int_equal(out[i].lane_position[1], -1);
        assert_int_equal(out[i].lane_position[2], -1);
        assert_int_equal(out[i].epoch, 1);
    }
}

static void test_a_claim_of_nothing_does_nothing(void **state)
{
    (void)state;
    OK(mr_control_claim(control_sink, NAME, NULL, 0, 1, NULL, &err));
}

static void test_every_claim_raises_the_epoch_and_returns_what_is_stored(void **state)
{
    (void)state;
    struct mr_stored_position first = claim_one(control_sink, &part_a, 2);
    struct mr_position_move moves[] = {{&part_a, 0, -1, 10, first.epoch}, {&part_a, 1, -1, 12, first.epoch}};
    int64_t epoch = -1;
    OK(mr_control_store(control_sink, NAME, moves, 2, &epoch, &err));
    assert_int_equal(epoch, 0);
    /* Another number of lanes is asked for; what is stored comes back. */
    struct mr_stored_position second = claim_one(control_other, &part_a, 5);
    assert_int_equal(second.lanes, 2);
    assert_int_equal(second.epoch, 2);
    assert_int_equal(second.lane_position[0], 10);
    assert_int_equal(second.lane_position[1], 12);
    assert_int_equal(claim_one(control_sink, &part_a, 1).epoch, 3);
    /* Another pipeline has its own positions. */
    struct mr_stored_position other;
    const struct mr_partition *parts[] = {&part_a};
    OK(mr_control_claim(control_sink, MR_STR("other"), parts, 1, 1, &other, &err));
    assert_int_equal(other.lane_position[0], -1);
    assert_int_equal(other.epoch, 1);
}

static enum mr_status store_one(struct mr_sink *sink, const struct mr_partition *part, uint32_t lane, int64_t from, int64_t to,
                                int64_t epoch, struct mr_error *refusal)
{
    struct mr_position_move move = {part, lane, from, to, epoch};
    int64_t schema_epoch;
    return mr_control_store(sink, NAME, &move, 1, &schema_epoch, refusal);
}

static void test_a_former_owner_is_fenced(void **state)
{
    (void)state;
    int64_t mine = claim_one(control_sink, &part_b, 1).epoch;
    OK(store_one(control_sink, &part_b, 0, -1, 5, mine, &err));
    claim_one(control_other, &part_b, 1);
    struct mr_error refusal = {0};
    assert_int_equal(store_one(control_sink, &part_b, 0, 5, 9, mine, &refusal), MR_E_FENCED);
    assert_non_null(strstr(refusal.message, "shop.b [7]"));
    assert_int_equal(claim_one(control_sink, &part_b, 1).lane_position[0], 5);
}

static void test_a_position_moves_only_from_where_it_was_left(void **state)
{
    (void)state;
    int64_t mine = claim_one(control_sink, &part_a, 1).epoch;
    struct mr_error refusal = {0};
    OK(store_one(control_sink, &part_a, 0, -1, 5, mine, &err));
    assert_int_equal(store_one(control_sink, &part_a, 0, 4, 9, mine, &refusal), MR_E_FENCED);
    assert_int_equal(store_one(control_sink, &part_a, 1, -1, 9, mine, &refusal), MR_E_FENCED);
    OK(store_one(control_sink, &part_a, 0, 5, 9, mine, &err));
}

static void test_one_fenced_partition_fails_the_whole_store(void **state)
{
    (void)state;
    int64_t a = claim_one(control_sink, &part_a, 1).epoch, f = claim_one(control_sink, &part_file, 1).epoch;
    claim_one(control_other, &part_a, 1);
    struct mr_position_move moves[] = {{&part_file, 0, -1, 3, f}, {&part_a, 0, -1, 4, a}};
    int64_t schema_epoch;
    struct mr_error refusal = {0};
    OK(control_sink->ops->begin(control_sink, &err));
    assert_int_equal(mr_control_store(control_sink, NAME, moves, 2, &schema_epoch, &refusal), MR_E_FENCED);
    assert_non_null(strstr(refusal.message, "shop.a [0]"));
    control_sink->ops->rollback(control_sink);
    assert_int_equal(claim_one(control_sink, &part_file, 1).lane_position[0], -1);
}

static void test_a_store_that_is_rolled_back_has_not_happened(void **state)
{
    (void)state;
    int64_t mine = claim_one(control_sink, &part_a, 1).epoch;
    OK(control_sink->ops->begin(control_sink, &err));
    OK(store_one(control_sink, &part_a, 0, -1, 5, mine, &err));
    control_sink->ops->rollback(control_sink);
    OK(store_one(control_sink, &part_a, 0, -1, 6, mine, &err));
}

static void test_lanes_are_rewritten_to_one_position(void **state)
{
    (void)state;
    int64_t mine = claim_one(control_sink, &part_a, 2).epoch;
    OK(mr_control_set_lanes(control_sink, NAME, &part_a, 4, 77, mine, &err));
    struct mr_stored_position now = claim_one(control_sink, &part_a, 1);
    assert_int_equal(now.lanes, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(now.lane_position[i], 77);
    OK(mr_control_set_lanes(control_sink, NAME, &part_a, 1, -1, now.epoch, &err));
    now = claim_one(control_sink, &part_a, 3);
    assert_int_equal(now.lanes, 1);
    assert_int_equal(now.lane_position[0], -1);
    struct mr_error refusal = {0};
    assert_int_equal(mr_control_set_lanes(control_sink, NAME, &part_a, 2, 5, now.epoch - 1, &refusal), MR_E_FENCED);
    assert_int_equal(claim_one(control_sink, &part_a, 1).lanes, 1);
}

static enum mr_status count_position(void *ctx, const struct mr_position_row *row, struct mr_error *err)
{
    struct mr_buf *out = ctx;
    (void)err;
    assert_true(row->updated_us > INT64_C(1600000000000000) && row->updated_us <= mr_now_us() + 60 * MR_US_PER_SEC);
    mr_buf_printf(out, "%.*s %.*s %d %u/%u %lld %lld;", MR_STR_FMT(row->pipeline), MR_STR_FMT(row->topic), (int)row->partition,
                  row->lane, row->lanes, (long long)row->position, (long long)row->epoch);
    return MR_OK;
}

static void assert_positions(const char *expected)
{
    struct mr_buf out = MR_BUF_INIT(1 << 20);
    OK(mr_control_positions(control_sink, count_position, &out, &err));
    assert_string_equal(mr_buf_z(&out), expected);
    mr_buf_free(&out);
}

static void test_positions_are_listed_and_forgotten(void **state)
{
    (void)state;
    int64_t mine = claim_one(control_sink, &part_a, 2).epoch;
    claim_one(control_sink, &part_b, 1);
    OK(store_one(control_sink, &part_a, 1, -1, INT64_MAX, mine, &err));
    assert_positions("test shop.a 0 0/2 -1 1;test shop.a 0 1/2 9223372036854775807 1;test shop.b 7 0/1 -1 1;");
    OK(mr_control_forget(control_sink, NAME, &part_a, &err));
    assert_positions("test shop.b 7 0/1 -1 1;");
    OK(mr_control_forget(control_sink, MR_STR("other"), NULL, &err));
    assert_positions("test shop.b 7 0/1 -1 1;");
    OK(mr_control_forget(control_sink, NAME, NULL, &err));
    assert_positions("");
}

/* ---- Schema epoch ---- */

static void test_the_schema_epoch_is_read_with_the_positions(void **state)
{
    (void)state;
    int64_t epoch = -1, raised = -1, seen = -1;
    OK(mr_control_schema_epoch(control_sink, &epoch, &err));
    assert_int_equal(epoch, 0);
    OK(mr_control_raise_schema_epoch(control_other, &raised, &err));
    assert_int_equal(raised, 1);
    struct mr_position_move move = {&part_a, 0, -1, 3, claim_one(control_sink, &part_a, 1).epoch};
    OK(mr_control_store(control_sink, NAME, &move, 1, &seen, &err));
    assert_int_equal(seen, 1);
    seen = -1;
    OK(mr_control_store(control_sink, NAME, NULL, 0, &seen, &err));
    assert_int_equal(seen, 1);
}

/* ---- Tracked tables ---- */

struct seen_tables {
    struct mr_arena *ar;
    struct mr_tracked_table tables[4];
    size_t count;
};

static enum mr_status see_table(void *ctx, const struct mr_tracked_table *tbl, struct mr_error *err)
{
    struct seen_tables *seen = ctx;
    int64_t epoch;
    MR_TRY(mr_control_schema_epoch(control_sink, &epoch, err)); /* the connection may be used meanwhile */
    struct mr_tracked_table *copy = &seen->tables[seen->count++];
    *copy = *tbl;
    copy->target_schema = mr_arena_copy(seen->ar, tbl->target_schema);
    copy->target_table = mr_arena_copy(seen->ar, tbl->target_table);
    copy->database = mr_arena_copy(seen->ar, tbl->database);
    copy->table = mr_arena_copy(seen->ar, tbl->table);
    copy->topic = mr_arena_copy(seen->ar, tbl->topic);
    copy->expanded = mr_arena_copy(seen->ar, tbl->expanded);
    struct mr_str *paths = mr_arena_alloc(seen->ar, (tbl->key_count + 1) * sizeof(*paths));
    for (size_t i = 0; i < tbl->key_count; i++)
        paths[i] = mr_arena_copy(seen->ar, tbl->key_paths[i]);
    copy->key_paths = paths;
    return MR_OK;
}

static void assert_same(struct mr_str a, struct mr_str b)
{
    if (!mr_str_eq(a, b))
        fail_msg("\"%.*s\" is not \"%.*s\"", MR_STR_FMT(a), MR_STR_FMT(b));
}

static void test_tracked_tables_come_back_exactly(void **state)
{
    (void)state;
    const struct mr_str paths[] = {MR_STR("a.b"), MR_STR("we\\.ird\\\\0"), {"n\0l\xff\xed\xa0\x80\\\\", 9}, MR_STR("\"quoted\" ü")};
    struct mr_tracked_table tables[] = {
        {.target_schema = MR_STR(""), .target_table = MR_STR("t\"1"), .database = MR_STR("db\\0"), .table = MR_STR("T"), .topic = MR_STR(""),
         .key_paths = paths, .key_count = 4, .created_by_us = true, .expanded = MR_STR("a\\.b.T")},
        {.target_schema = MR_STR("s"), .target_table = MR_STR("t"), .database = MR_STR(""), .table = mr_str_of("\0\xc3", 2),
         .topic = MR_STR("shop.orders")},
    };
    for (size_t round = 0; round < 2; round++) {
        OK(mr_control_table_save(control_sink, &tables[0], &err));
        OK(mr_control_table_save(control_sink, &tables[1], &err));
        struct seen_tables seen = {.ar = mr_arena_create(0)};
        OK(mr_control_tables(control_sink, see_table, &seen, &err));
        assert_int_equal(seen.count, 2);
        for (size_t i = 0; i < 2; i++) {
            assert_same(seen.tables[i].target_schema, tables[i].target_schema);
            assert_same(seen.tables[i].target_table, tables[i].target_table);
            assert_same(seen.tables[i].database, tables[i].database);
            assert_same(seen.tables[i].table, tables[i].table);
            assert_same(seen.tables[i].topic, tables[i].topic);
            assert_same(seen.tables[i].expanded, tables[i].expanded);
            assert_int_equal(seen.tables[i].created_by_us, tables[i].created_by_us);
            assert_int_equal(seen.tables[i].key_count, tables[i].key_count);
            for (size_t k = 0; k < tables[i].key_count; k++)
                assert_same(seen.tables[i].key_paths[k], paths[k]);
        }
        mr_arena_destroy(seen.ar);
        tables[0].key_count = 2; /* the second round updates */
        tables[0].created_by_us = false;
        tables[1].table = MR_STR("other");
    }
}

/* ---- Tracked columns ---- */

struct seen_columns {
    const struct mr_tracked_column *expected;
    size_t count;
};

static void assert_same_type(struct mr_type a, struct mr_type b)
{
    assert_true(mr_type_eq(a, b));
    assert_int_equal(a.origin, b.origin);
    assert_int_equal(a.not_null, b.not_null);
}

static void assert_same_place(const struct mr_place *a, const struct mr_place *b)
{
    assert_same(a->topic, b->topic);
    assert_int_equal(a->partition, b->partition);
    assert_int_equal(a->offset, b->offset);
    assert_int_equal(a->time_us, b->time_us);
}

static enum mr_status see_column(void *ctx, const struct mr_tracked_column *col, struct mr_error *err)
{
    struct seen_columns *seen = ctx;
    const struct mr_tracked_column *want = &seen->expected[seen->count++];
    (void)err;
    assert_same(col->name, want->name);
    assert_same(col->path, want->path);
    assert_same_type(col->type, want->type);
    assert_int_equal(col->facts.int_digits, want->facts.int_digits);
    assert_int_equal(col->facts.frac_digits, want->facts.frac_digits);
    assert_true(col->facts.max_abs == want->facts.max_abs);
    assert_int_equal(col->facts.max_len, want->facts.max_len);
    assert_int_equal(col->facts.has_special, want->facts.has_special);
    assert_int_equal(col->facts.has_fraction, want->facts.has_fraction);
    assert_int_equal(col->facts.has_negative_time, want->facts.has_negative_time);
    assert_int_equal(col->policy, want->policy);
    assert_int_equal(col->is_key, want->is_key);
    assert_int_equal(col->configured, want->configured);
    assert_int_equal(col->by_hand, want->by_hand);
    assert_int_equal(col->name_substituted, want->name_substituted);
    for (size_t i = 0; i < MR_TYPE_KINDS; i++)
        assert_true(col->counts[i] == want->counts[i]);
    assert_true(col->conflicts == want->conflicts);
    assert_same_place(&col->first, &want->first);
    assert_same_place(&col->widened, &want->widened);
    assert_same_type(col->widened_from, want->widened_from);
    assert_false(col->dirty);
    return MR_OK;
}

static void fill_columns(struct mr_tracked_column *cols, size_t count, const char (*names)[16])
{
    for (size_t i = 0; i < count; i++) {
        struct mr_tracked_column *col = &cols[i];
        *col = (struct mr_tracked_column){
            .name = mr_str_z(names[i]),
            .path = mr_str_z(names[i]),
            .type = {.kind = (uint8_t)(i % MR_TYPE_KINDS), .origin = (uint8_t)(i % 3), .not_null = i % 2},
            .facts = {.int_digits = (uint32_t)i, .frac_digits = UINT32_MAX, .max_abs = UINT64_MAX, .max_len = UINT32_MAX,
                      .has_special = i & 1, .has_fraction = i & 2, .has_negative_time = i & 4},
            .policy = (enum mr_policy)(i % (MR_POLICY_FAIL + 1)),
            .is_key = i & 8, .configured = i & 1, .by_hand = i & 2, .name_substituted = i & 4,
            .conflicts = UINT64_MAX,
            .first = {MR_STR("shop.a"), 3, INT64_MAX, INT64_MIN},
            .widened_from = {.kind = (uint8_t)((i + 7) % MR_TYPE_KINDS), .origin = (uint8_t)((i + 1) % 3), .not_null = !(i % 2)},
        };
        col->type.open = col->type.kind == MR_T_DECIMAL;
        col->widened_from.open = col->widened_from.kind == MR_T_DECIMAL;
        for (size_t k = 0; k < MR_TYPE_KINDS; k++)
            col->counts[k] = k == i ? INT64_MAX : k % 3 ? k : 0;
    }
}

static void test_tracked_columns_come_back_exactly(void **state)
{
    (void)state;
    enum { N = 2 * MR_TYPE_KINDS };
    static char names[N][16];
    static struct mr_tracked_column cols[N];
    const struct mr_tracked_column *list[N];
    uint32_t index[N];
    for (uint32_t i = 0; i < N; i++) {
        snprintf(names[i], sizeof(names[i]), "c%u", N - i); /* names in another order than the places */
        list[i] = &cols[i];
        index[i] = i;
    }
    fill_columns(cols, N, (const char(*)[16])names);
    cols[0].path = mr_str_of("a\0b\\.c", 6);
    cols[1].path = MR_STR("");
    cols[2].type = MR_TYPE_DECIMAL(30, -4);
    cols[3].type = MR_TYPE_DECIMAL(60000, 30000);
    cols[4].type = MR_TYPE_BITS(64);
    cols[5].widened_from = MR_TYPE_DECIMAL(18, 2);
    cols[5].widened = (struct mr_place){MR_STR("file:a\xff"), -1, -1, INT64_MAX};
    cols[6].first.time_us = 0;
    for (size_t round = 0; round < 2; round++) {
        struct seen_columns seen = {.expected = cols};
        OK(mr_control_columns_save(control_sink, MR_STR(""), MR_STR("t"), list, index, N, &err));
        OK(mr_control_columns(control_sink, MR_STR(""), MR_STR("t"), see_column, &seen, &err));
        assert_int_equal(seen.count, N);
        fill_columns(cols, N - 1, (const char(*)[16])names); /* the second round updates all but one */
    }
    struct seen_columns none = {.expected = cols};
    OK(mr_control_columns(control_sink, MR_STR(""), MR_STR("other"), see_column, &none, &err));
    assert_int_equal(none.count, 0);
    OK(mr_control_columns_save(control_sink, MR_STR(""), MR_STR("t"), NULL, NULL, 0, &err));
}

static enum mr_status take_facts_of(void *ctx, const struct mr_tracked_column *col, struct mr_error *err)
{
    (void)err;
    *(struct mr_facts *)ctx = col->facts;
    return MR_OK;
}

static void test_what_values_have_needed_only_grows(void **state)
{
    (void)state;
    struct mr_tracked_column col = {.name = MR_STR("n"), .path = MR_STR("n"), .type = MR_TYPE(MR_T_INT64)};
    const struct mr_tracked_column *list[] = {&col};
    const struct mr_facts all[] = {{.int_digits = 19, .max_abs = UINT64_C(9007199254740993), .has_fraction = true},
                                   {.frac_digits = 3, .max_abs = 999, .max_len = 7, .has_special = true},
                                   {.max_abs = UINT64_MAX},
                                   {.max_abs = UINT64_C(18446744073709551614)}};
    struct mr_facts stored = {0};
    for (size_t i = 0; i < 4; i++) {
        col.facts = all[i];
        OK(mr_control_columns_save(control_sink, MR_STR(""), MR_STR("grows"), list, (const uint32_t[]){0}, 1, &err));
        OK(mr_control_columns(control_sink, MR_STR(""), MR_STR("grows"), take_facts_of, &stored, &err));
        assert_true(stored.max_abs == (i < 2 ? all[0].max_abs : UINT64_MAX));
    }
    assert_int_equal(stored.int_digits, 19);
    assert_int_equal(stored.frac_digits, 3);
    assert_int_equal(stored.max_len, 7);
    assert_true(stored.has_special && stored.has_fraction && !stored.has_negative_time);
}

/* ---- Histories and facts ---- */

static enum mr_status list_type(void *ctx, const struct mr_type_history_row *row, struct mr_error *err)
{
    struct mr_buf *out = ctx;
    (void)err;
    assert_true(row->id > 0 && row->at_us > INT64_C(1600000000000000));
    mr_buf_printf(out, "%.*s.%.*s %.*s %.*s %d %.*s>%.*s %.*s %.*s/%d/%lld\n", MR_STR_FMT(row->target_schema),
                  MR_STR_FMT(row->target_table), MR_STR_FMT(row->column), MR_STR_FMT(row->path), (int)row->event,
                  MR_STR_FMT(row->from_type), MR_STR_FMT(row->to_type), MR_STR_FMT(row->message), MR_STR_FMT(row->topic),
                  (int)row->partition, (long long)row->offset);
    return MR_OK;
}

static void test_the_type_history_is_kept_in_order(void **state)
{
    (void)state;
    struct mr_type_history_row rows[] = {
        {.target_table = MR_STR("t"), .column = MR_STR("c"), .path = MR_STR("a\\.b"), .event = MR_TYPE_EVENT_CREATED, .to_type = MR_STR("int64"),
         .topic = MR_STR("x"), .partition = 1, .offset = 2},
        {.target_schema = MR_STR("s"), .target_table = MR_STR("u"), .column = MR_STR("c"), .event = MR_TYPE_EVENT_VARIANT,
         .from_type = MR_STR("int64"), .to_type = MR_STR("text"), .message = mr_str_of("bad \0 \xff value", 13), .partition = -1, .offset = -1},
        {.target_table = MR_STR("t"), .column = MR_STR("d"), .event = MR_TYPE_EVENT_NULLED},
    };
    OK(mr_control_type_history_add(control_sink, rows, 3, &err));
    OK(mr_control_type_history_add(control_sink, rows, 0, &err));
    struct mr_buf out = MR_BUF_INIT(1 << 20);
    OK(mr_control_type_history(control_sink, MR_STR(""), MR_STR(""), list_type, &out, &err));
    assert_string_equal(mr_buf_z(&out), ".t c a\\.b 0 >int64  x/1/2\ns.u c  4 int64>text bad \xef\xbf\xbd \xef\xbf\xbd value /-1/-1\n"
                                        ".t d  2 >  /0/0\n");
    mr_buf_clear(&out);
    OK(mr_control_type_history(control_sink, MR_STR("s"), MR_STR("u"), list_type, &out, &err));
    assert_string_equal(mr_buf_z(&out), "s.u c  4 int64>text bad \xef\xbf\xbd \xef\xbf\xbd value /-1/-1\n");
    mr_buf_free(&out);
}

static enum mr_status count_type(void *ctx, const struct mr_type_history_row *row, struct mr_error *err)
{
    int64_t *next = ctx;
    (void)err;
    assert_int_equal(row->offset, (*next)++);
    return MR_OK;
}

static void test_a_long_history_is_read_page_by_page(void **state)
{
    (void)state;
    enum { N = 2500 };
    static struct mr_type_history_row rows[N];
    for (size_t i = 0; i < N; i++)
        rows[i] = (struct mr_type_history_row){.target_table = MR_STR("t"), .offset = (int64_t)i};
    OK(mr_control_type_history_add(control_sink, rows, N, &err));
    int64_t next = 0;
    OK(mr_control_type_history(control_sink, MR_STR(""), MR_STR(""), count_type, &next, &err));
    assert_int_equal(next, N);
}

static enum mr_status list_ddl(void *ctx, const struct mr_ddl_history_row *row, struct mr_error *err)
{
    struct mr_buf *out = ctx;
    (void)err;
    assert_true(row->id > 0 && row->at_us > INT64_C(1600000000000000));
    mr_buf_printf(out, "%.*s.%.*s %.*s %.*s %d %.*s/%d/%lld\n", MR_STR_FMT(row->target_schema), MR_STR_FMT(row->target_table),
                  MR_STR_FMT(row->statement), MR_STR_FMT(row->reason), row->rewrite, MR_STR_FMT(row->topic), (int)row->partition,
                  (long long)row->offset);
    return MR_OK;
}

static void test_the_ddl_history_is_kept_in_order(void **state)
{
    (void)state;
    struct mr_ddl_history_row row = {.target_schema = MR_STR("s"), .target_table = MR_STR("t"), .statement = MR_STR("CREATE \"t\";"),
                                     .reason = MR_STR("new"), .topic = MR_STR("x"), .partition = 1, .offset = 5};
    OK(mr_control_ddl_history_add(control_sink, &row, &err));
    row.rewrite = true;
    row.statement = MR_STR("");
    OK(mr_control_ddl_history_add(control_sink, &row, &err));
    struct mr_buf out = MR_BUF_INIT(1 << 20);
    OK(mr_control_ddl_history(control_sink, list_ddl, &out, &err));
    assert_string_equal(mr_buf_z(&out), "s.t CREATE \"t\"; new 0 x/1/5\ns.t  new 1 x/1/5\n");
    mr_buf_free(&out);
}

static void test_topic_facts_are_kept_per_pipeline(void **state)
{
    (void)state;
    struct mr_topic_facts facts = {.format = "debezium", .envelopes_seen = true, .dirty = true}, back = {.format = "untouched"};
    bool found = true;
    OK(mr_control_topic_fact(control_sink, NAME, MR_STR("x"), &back, &found, &err));
    assert_false(found);
    assert_string_equal(back.format, "untouched");
    OK(mr_control_topic_fact_save(control_sink, NAME, MR_STR("x"), &facts, &err));
    facts.envelopes_seen = false;
    OK(mr_control_topic_fact_save(control_sink, MR_STR("other"), MR_STR("x"), &facts, &err));
    OK(mr_control_topic_fact(control_sink, NAME, MR_STR("x"), &back, &found, &err));
    assert_true(found);
    assert_string_equal(back.format, "debezium");
    assert_true(back.envelopes_seen);
    assert_false(back.dirty);
    snprintf(facts.format, sizeof(facts.format), "flat");
    OK(mr_control_topic_fact_save(control_sink, NAME, MR_STR("x"), &facts, &err));
    OK(mr_control_topic_fact(control_sink, NAME, MR_STR("x"), &back, &found, &err));
    assert_string_equal(back.format, "flat");
    assert_false(back.envelopes_seen);
}

/* ---- Dead letters ---- */

static struct mr_dead_letter a_letter(int64_t offset)
{
    return (struct mr_dead_letter){
        .pipeline = NAME, .part_topic = MR_STR("shop.a"), .position = offset + 1, .topic = MR_STR("shop.a"), .partition = 3, .offset = offset,
        .timestamp_ms = 1700000000000, .has_key = true, .has_value = true, .key = MR_STR("k"), .value = MR_STR("v"),
        .headers = MR_STR("[[\"h\",null]]"), .code = MR_STR("bad_json"), .native = MR_STR("22P02"), .message = MR_STR("no \"JSON\""),
        .field = MR_STR("a.b"), .target_schema = MR_STR("shop"), .target_table = MR_STR("a"), .rows = MR_STR("[{\"id\":1}]"),
    };
}

static enum mr_status list_letter(void *ctx, const struct mr_dead_letter *letter, struct mr_error *err)
{
    struct mr_buf *out = ctx;
    (void)err;
    mr_buf_printf(out, "%lld ", (long long)letter->offset);
    return MR_OK;
}

static void assert_letters(struct mr_dead_filter filter, const char *expected)
{
    struct mr_buf out = MR_BUF_INIT(1 << 20);
    OK(mr_control_dead_letters(control_sink, &filter, false, list_letter, &out, &err));
    assert_string_equal(mr_buf_z(&out), expected);
    mr_buf_free(&out);
}

static enum mr_status same_letter(void *ctx, const struct mr_dead_letter *letter, struct mr_error *err)
{
    const struct mr_dead_letter **want = ctx;
    const struct mr_dead_letter *w = (*want)++;
    (void)err;
    assert_int_equal(letter->state, MR_DEAD_OPEN);
    assert_true(letter->at_us > INT64_C(1600000000000000));
    assert_same(letter->pipeline, w->pipeline);
    assert_same(letter->part_topic, w->part_topic);
    assert_int_equal(letter->position, w->position);
    assert_same(letter->topic, w->topic);
    assert_int_equal(letter->partition, w->partition);
    assert_int_equal(letter->offset, w->offset);
    assert_int_equal(letter->timestamp_ms, w->timestamp_ms);
    assert_int_equal(letter->has_key, w->has_key);
    assert_int_equal(letter->has_value, w->has_value);
    assert_int_equal(letter->is_bare, w->is_bare);
    assert_same(letter->key, w->key);
    assert_same(letter->value, w->value);
    assert_same(letter->headers, w->headers);
    assert_same(letter->code, w->code);
    assert_same(letter->native, w->native);
    assert_same(letter->message, w->message);
    assert_same(letter->field, w->field);
    assert_same(letter->target_schema, w->target_schema);
    assert_same(letter->target_table, w->target_table);
    assert_same(letter->rows, w->rows);
    return MR_OK;
}

static void test_dead_letters_keep_their_exact_bytes(void **state)
{
    (void)state;
    static char all_bytes[256];
    for (size_t i = 0; i < 256; i++)
        all_bytes[i] = (char)i;
    struct mr_dead_letter letters[] = {a_letter(1), a_letter(2), a_letter(3), a_letter(INT64_MAX - 1)};
    letters[0].value = mr_str_of(all_bytes, 256);
    letters[1].has_key = false;
    letters[1].key = (struct mr_str){0};
    letters[1].value = MR_STR("");
    letters[2].has_value = false;
    letters[2].value = (struct mr_str){0};
    letters[2].key = mr_str_of("\0\\", 2);
    letters[2].is_bare = true;
    letters[3].timestamp_ms = -1;
    letters[3].rows = letters[3].field = letters[3].target_table = (struct mr_str){0};
    OK(mr_control_dead_letters_add(control_sink, letters, 4, &err));
    const struct mr_dead_letter *want = letters;
    OK(mr_control_dead_letters(control_sink, &(struct mr_dead_filter){0}, true, same_letter, &want, &err));
    assert_ptr_equal(want, letters + 4);
}

static void test_a_dead_letter_without_any_bytes_is_kept(void **state)
{
    (void)state;
    struct mr_dead_letter letter = a_letter(1);
    letter.has_key = letter.has_value = false;
    letter.key = letter.value = (struct mr_str){0};
    OK(mr_control_dead_letters_add(control_sink, &letter, 1, &err));
    const struct mr_dead_letter *want = &letter;
    OK(mr_control_dead_letters(control_sink, &(struct mr_dead_filter){0}, true, same_letter, &want, &err));
    assert_ptr_equal(want, &letter + 1);
}

/* The message names a value of the event, so a broken text must not lose the letter. */
static void test_texts_that_no_target_holds_do_not_lose_a_letter(void **state)
{
    (void)state;
    struct mr_dead_letter letter = a_letter(1);
    letter.message = mr_str_of("\0\xff\xed\xa0\x80.", 6);
    letter.field = letter.rows = letter.headers = letter.topic = letter.message;
    OK(mr_control_dead_letters_add(control_sink, &letter, 1, &err));
    assert_letters((struct mr_dead_filter){0}, "1 ");
}

static void test_dead_letters_are_filtered(void **state)
{
    (void)state;
    struct mr_dead_letter letters[] = {a_letter(1), a_letter(2), a_letter(3), a_letter(4)};
    letters[1].topic = MR_STR("shop.b");
    letters[1].target_table = MR_STR("b");
    letters[2].code = MR_STR("out_of_range");
    letters[3].pipeline = MR_STR("other");
    OK(mr_control_dead_letters_add(control_sink, letters, 4, &err));
    assert_letters((struct mr_dead_filter){0}, "1 2 3 4 ");
    assert_letters((struct mr_dead_filter){.pipeline = NAME}, "1 2 3 ");
    assert_letters((struct mr_dead_filter){.topic = MR_STR("shop.b")}, "2 ");
    assert_letters((struct mr_dead_filter){.code = MR_STR("out_of_range")}, "3 ");
    assert_letters((struct mr_dead_filter){.table = MR_STR("b")}, "2 ");
    assert_letters((struct mr_dead_filter){.table = MR_STR("shop.b")}, "2 ");
    assert_letters((struct mr_dead_filter){.table = MR_STR("shop.b"), .code = MR_STR("out_of_range")}, "");
    assert_letters((struct mr_dead_filter){.limit = 2}, "1 2 ");
    assert_letters((struct mr_dead_filter){.before_us = mr_now_us() + 60 * MR_US_PER_SEC}, "1 2 3 4 ");
    assert_letters((struct mr_dead_filter){.before_us = mr_now_us() - 60 * MR_US_PER_SEC}, "");
    int64_t open = 0;
    OK(mr_control_dead_letter_count(control_sink, NAME, &open, &err));
    assert_int_equal(open, 3);
    OK(mr_control_dead_letter_count(control_sink, MR_STR(""), &open, &err));
    assert_int_equal(open, 4);
}

static enum mr_status mark_it(void *ctx, const struct mr_dead_letter *letter, struct mr_error *err)
{
    (void)ctx;
    return mr_control_dead_letter_mark(control_sink, letter->id, MR_DEAD_REPLAYED, err);
}

static void test_replayed_letters_are_marked_and_purged(void **state)
{
    (void)state;
    static struct mr_dead_letter letters[100];
    for (int64_t i = 0; i < 100; i++)
        letters[i] = a_letter(i);
    OK(mr_control_dead_letters_add(control_sink, letters, 100, &err));
    /* Marking while reading, over several pages. */
    OK(mr_control_dead_letters(control_sink, &(struct mr_dead_filter){.limit = 97}, true, mark_it, NULL, &err));
    assert_letters((struct mr_dead_filter){0}, "97 98 99 ");
    assert_letters((struct mr_dead_filter){.with_replayed = true, .limit = 2}, "0 1 ");

    uint64_t removed = 0;
    OK(mr_control_dead_letters_purge(control_sink, &(struct mr_dead_filter){.limit = 1}, &removed, &err));
    assert_int_equal(removed, 1);
    assert_letters((struct mr_dead_filter){0}, "98 99 ");
    OK(mr_control_dead_letters_purge(control_sink, &(struct mr_dead_filter){.with_replayed = true}, &removed, &err));
    assert_int_equal(removed, 99);
    assert_letters((struct mr_dead_filter){.with_replayed = true}, "");
}

static enum mr_status take_id(void *ctx, const struct mr_dead_letter *letter, struct mr_error *err)
{
    (void)err;
    *(int64_t *)ctx = letter->id;
    return MR_OK;
}

static void test_one_letter_is_found_by_its_id(void **state)
{
    (void)state;
    struct mr_dead_letter letters[] = {a_letter(1), a_letter(2)};
    OK(mr_control_dead_letters_add(control_sink, letters, 2, &err));
    int64_t id = 0;
    OK(mr_control_dead_letters(control_sink, &(struct mr_dead_filter){0}, false, take_id, &id, &err));
    assert_letters((struct mr_dead_filter){.id = id}, "2 ");
    assert_letters((struct mr_dead_filter){.id = id + 1}, "");
}

/* More than one round trip's worth, in one transaction. */
static void test_large_dead_letters_are_split_over_round_trips(void **state)
{
    (void)state;
    enum { SIZE = 5 << 20, N = 5 };
    char *big = mr_xmalloc(SIZE);
    memset(big, 0xe4, SIZE);
    struct mr_dead_letter letters[N];
    for (int64_t i = 0; i < N; i++) {
        letters[i] = a_letter(i);
        letters[i].value = mr_str_of(big, SIZE);
    }
    OK(control_sink->ops->begin(control_sink, &err));
    OK(mr_control_dead_letters_add(control_sink, letters, N, &err));
    OK(control_sink->ops->commit(control_sink, &err));
    const struct mr_dead_letter *want = letters;
    OK(mr_control_dead_letters(control_sink, &(struct mr_dead_filter){0}, true, same_letter, &want, &err));
    assert_ptr_equal(want, letters + N);
    mr_xfree(big);
}

/* ---- Types of the source ---- */

static enum mr_status take_told(void *ctx, const struct mr_source_type *row, struct mr_error *ignored)
{
    struct mr_buf *out = ctx;
    (void)ignored;
    mr_buf_printf(out, "%.*s %d %lld %d %.*s.%.*s %.*s;", MR_STR_FMT(row->topic), (int)row->partition, (long long)row->position,
                  (int)row->part, MR_STR_FMT(row->database), MR_STR_FMT(row->table), MR_STR_FMT(row->text));
    return MR_OK;
}

static void test_what_schema_topics_told_comes_back_in_their_order(void **state)
{
    (void)state;
    struct mr_source_type rows[] = {
        {MR_STR("pre"), 0, 7, 1, MR_STR("d\"b"), MR_STR("t"), MR_STR("{\"a\":\"\\u0000\"}")},
        {MR_STR("pre"), 0, 7, 0, MR_STR("db"), MR_STR("s"), MR_STR("{}")},
        {MR_STR("pre"), 0, 12, 0, MR_STR("db"), MR_STR("t"), MR_STR("{\"b\":1}")},
        {MR_STR("also"), 1, 99, 0, MR_STR("db"), MR_STR("t"), MR_STR("{}")},
    };
    struct mr_buf out = MR_BUF_INIT(4096);
    OK(mr_control_source_types_save(control_sink, NAME, rows, 4, &err));
    rows[2].text = MR_STR("{\"b\":2}");
    OK(mr_control_source_types_save(control_sink, NAME, &rows[2], 1, &err));
    OK(mr_control_source_types_save(control_sink, MR_STR("other"), &rows[1], 1, &err));
    OK(mr_control_source_types(control_sink, NAME, take_told, &out, &err));
    assert_string_equal(mr_buf_z(&out), "also 1 99 0 db.t {};pre 0 7 0 db.s {};pre 0 7 1 d\"b.t {\"a\":\"\\u0000\"};pre 0 12 0 db.t {\"b\":2};");
    mr_buf_free(&out);
}

/* ---- Layout ---- */

static void test_making_the_control_tables_again_changes_nothing(void **state)
{
    (void)state;
    int64_t mine = claim_one(control_sink, &part_a, 1).epoch, raised;
    OK(store_one(control_sink, &part_a, 0, -1, 5, mine, &err));
    OK(mr_control_raise_schema_epoch(control_sink, &raised, &err));
    OK(control_other->ops->prepare_control(control_other, &err));
    OK(control_other->ops->exec(control_other, MR_Q_control_create, NULL, 0, NULL, NULL, NULL, &err));
    assert_positions("test shop.a 0 0/1 5 1;");
    OK(mr_control_schema_epoch(control_sink, &raised, &err));
    assert_int_equal(raised, 1);
}

/* Parameters that fit the query's types; only whether the server accepts the text counts. */
static void test_every_named_query_is_accepted_by_the_server(void **state)
{
    (void)state;
    static const struct {
        enum mr_query query;
        const char *types; /* t text, i int, j JSON list, b boolean, x bytes, n null */
    } queries[] = {
        {MR_Q_control_version, ""},       {MR_Q_position_claim, "tji"},     {MR_Q_position_list, ""},         {MR_Q_position_store, "tj"},
        {MR_Q_position_check, "tj"},      {MR_Q_position_set_lanes, "ttiiii"}, {MR_Q_position_forget, "tni"}, {MR_Q_schema_epoch_get, ""},
        {MR_Q_schema_epoch_raise, ""},    {MR_Q_tracked_table_list, ""},    {MR_Q_tracked_table_save, "tttttjbt"}, {MR_Q_tracked_column_list, "tt"},
        {MR_Q_tracked_column_save, "ttj"}, {MR_Q_type_history_add, "j"},    {MR_Q_type_history_list, "ttii"}, {MR_Q_ddl_history_add, "ttttbtii"},
        {MR_Q_ddl_history_list, "ii"},    {MR_Q_topic_fact_get, "tt"},      {MR_Q_topic_fact_save, "tttb"},   {MR_Q_dead_letter_add, "jx"},
        {MR_Q_dead_letter_list, "ttttibniib"}, {MR_Q_dead_letter_count, "t"}, {MR_Q_dead_letter_codes, "t"}, {MR_Q_dead_letter_mark, "it"},  {MR_Q_dead_letter_purge, "ttttibnn"},
        {MR_Q_source_type_list, "ttiiii"}, {MR_Q_source_type_save, "tj"}, {MR_Q_source_ddl_get, "ttiii"}, {MR_Q_source_ddl_add, "ttiii"},
        {MR_Q_source_ddl_forget, "tni"}, {MR_Q_tracked_column_rename, "ttttt"}, {MR_Q_tracked_column_drop, "ttt"},
        {MR_Q_tracked_table_rename, "tttt"}, {MR_Q_tracked_table_drop, "tt"},
        {MR_Q_status_number, "tii"}, {MR_Q_status_outbox_add, "tj"}, {MR_Q_status_outbox_list, "ti"}, {MR_Q_status_outbox_sent, "tj"},
        {MR_Q_status_outbox_found, "tj"}, {MR_Q_status_outbox_count, ""}, {MR_Q_status_lease, "tti"}, {MR_Q_status_sent_from, "tti"},
        {MR_Q_status_release, "tt"}, {MR_Q_status_planned_add, "ttt"}, {MR_Q_status_planned_list, ""}, {MR_Q_status_planned_forget, "tt"},
        {MR_Q_control_create, ""},
    };
    bool tried[MR_QUERY_COUNT] = {false};
    for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
        struct mr_value params[16];
        size_t count = strlen(queries[i].types);
        for (size_t p = 0; p < count; p++) {
            char type = queries[i].types[p];
            params[p] = type == 't'   ? text_value("x")
                        : type == 'i' ? int_value(1)
                        : type == 'j' ? text_value("[]")
                        : type == 'b' ? mr_value_bool(true)
                        : type == 'x' ? mr_value_bytes(MR_V_BYTES, MR_STR("x"))
                                      : null_value();
        }
        struct mr_error refusal = {0};
        if (control_sink->ops->exec(control_sink, queries[i].query, params, count, NULL, NULL, NULL, &refusal) != MR_OK)
            fail_msg("query %d: %s", (int)queries[i].query, refusal.message);
        tried[queries[i].query] = true;
    }
    for (size_t i = 0; i < MR_QUERY_COUNT; i++)
        assert_true(tried[i]);
}

#define CONTROL_CHECK(name) cmocka_unit_test_setup_teardown(name, control_setup, control_teardown)
#define CONTROL_CHECKS                                                                                                           \
    CONTROL_CHECK(test_a_first_claim_makes_rows_without_a_position), CONTROL_CHECK(test_a_claim_of_nothing_does_nothing),      \
        CONTROL_CHECK(test_every_claim_raises_the_epoch_and_returns_what_is_stored), CONTROL_CHECK(test_a_former_owner_is_fenced), \
        CONTROL_CHECK(test_a_position_moves_only_from_where_it_was_left),                                                       \
        CONTROL_CHECK(test_one_fenced_partition_fails_the_whole_store),                                                         \
        CONTROL_CHECK(test_a_store_that_is_rolled_back_has_not_happened),                                                       \
        CONTROL_CHECK(test_lanes_are_rewritten_to_one_position), CONTROL_CHECK(test_positions_are_listed_and_forgotten),        \
        CONTROL_CHECK(test_the_schema_epoch_is_read_with_the_positions), CONTROL_CHECK(test_tracked_tables_come_back_exactly),  \
        CONTROL_CHECK(test_tracked_columns_come_back_exactly), CONTROL_CHECK(test_what_values_have_needed_only_grows), CONTROL_CHECK(test_the_type_history_is_kept_in_order),           \
        CONTROL_CHECK(test_a_long_history_is_read_page_by_page), CONTROL_CHECK(test_the_ddl_history_is_kept_in_order),          \
        CONTROL_CHECK(test_topic_facts_are_kept_per_pipeline), CONTROL_CHECK(test_what_schema_topics_told_comes_back_in_their_order), CONTROL_CHECK(test_dead_letters_keep_their_exact_bytes),         \
        CONTROL_CHECK(test_a_dead_letter_without_any_bytes_is_kept),                                                            \
        CONTROL_CHECK(test_texts_that_no_target_holds_do_not_lose_a_letter), CONTROL_CHECK(test_dead_letters_are_filtered),     \
        CONTROL_CHECK(test_replayed_letters_are_marked_and_purged), CONTROL_CHECK(test_one_letter_is_found_by_its_id),          \
        CONTROL_CHECK(test_large_dead_letters_are_split_over_round_trips),                                                      \
        CONTROL_CHECK(test_making_the_control_tables_again_changes_nothing),                                                    \
        CONTROL_CHECK(test_every_named_query_is_accepted_by_the_server)

#endif
