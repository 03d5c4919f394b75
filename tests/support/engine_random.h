/* Random streams through the whole engine, with random batches, lanes, faults, rebalances and ends in the middle: the tables, the dead letters and
 * the positions must be those of the same stream loaded record by record with nothing going wrong. Whoever includes this has the target, and
 * says what stands in it.
 *
 * FLOW_SEED=n tries one seed, FLOW_SEEDS=n so many from 1 on. */
#ifndef MILLRACE_TEST_ENGINE_RANDOM_H
#define MILLRACE_TEST_ENGINE_RANDOM_H

#include "support/engine_flow.h"

static void begin_target(void);  /* an empty one, behind stage_wrap */
static char *picture(void);      /* tables, dead letters, notes, positions; the caller frees */
static void forget_target(void); /* empty again */

static uint64_t random_state;

static unsigned any(unsigned n)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(random_state >> 33) % n;
}

/* ---- Streams ---- */

#define MAX_TEXT 512

static void put_event(size_t part, const char *key_z, const char *op_z, const char *before_z, const char *after_z, const char *table_z)
{
    char text[4 * MAX_TEXT];
    snprintf(text, sizeof text, "{\"op\":\"%s\",\"before\":%s,\"after\":%s,\"source\":{\"db\":\"d\",\"table\":\"%s\",\"ts_ms\":1},\"ts_ms\":1}", op_z,
             before_z, after_z, table_z);
    stage_put(part, key_z, text);
}

static const char *a_number(void)
{
    static const char *const numbers[] = {"1", "2", "null", "9007199254740993", "1.5", "-3", "1e3", "\"text\"", "true"};
    return numbers[any(any(4) ? 3 : 9)];
}

static const char *a_text(void)
{
    static const char *const texts[] = {"\"a\"", "\"b\"", "null", "\"__debezium_unavailable_value\"", "\"\"", "\"long long text\""};
    return texts[any(6)];
}

/* Keyed rows: few keys, so that many changes meet; some columns come later. */
static void put_keyed(size_t part, const char *table_z, unsigned first_id, unsigned i)
{
    char key[MAX_TEXT], row[MAX_TEXT];
    unsigned id = first_id + any(12);
    snprintf(key, sizeof key, "{\"id\":%u}", id);
    if (i > 20 && any(30) == 0) {
        id = first_id + 100 + i; /* touched once: what the target refuses is one change */
        snprintf(key, sizeof key, "{\"id\":%u}", id);
        snprintf(row, sizeof row, "{\"id\":%u,\"v\":\"poison\"}", id);
    } else {
        snprintf(row, sizeof row, "{\"id\":%u,\"v\":%s,\"w\":%s%s%s}", id, a_text(), a_text(), i > 40 && part == 0 ? ",\"n\":" : "",
                 i > 40 && part == 0 ? a_number() : ""); /* of two partitions the first to come would decide the type */
    }
    switch (any(8)) {
    case 0:
        put_event(part, key, "d", "null", "null", table_z);
        break;
    case 1:
        stage_put(part, key, NULL);
        break;
    case 2:
        if (any(4) == 0) {
            stage_put(part, key, "{\"op\":\"c\",");
            break;
        }
        put_event(part, key, "c", "null", row, table_z);
        break;
    default:
        put_event(part, key, any(2) ? "u" : "c", "null", row, table_z);
        break;
    }
}

/* Rows without a key; a row that is changed or deleted is one that is there. */
static void put_keyless(size_t part, unsigned i)
{
    static unsigned rows[64];
    static size_t count;
    char row[MAX_TEXT], before[MAX_TEXT];
    if (i == 0)
        count = 0;
    if (count > 0 && any(3) == 0) {
        size_t at = any((unsigned)count);
        snprintf(before, sizeof before, "{\"a\":%u,\"b\":\"x\"}", rows[at]);
        snprintf(row, sizeof row, "{\"a\":%u,\"b\":\"x\"}", 1000 + i);
        if (any(2)) {
            put_event(part, NULL, "d", before, "null", "l");
            rows[at] = rows[--count];
        } else {
            put_event(part, NULL, "u", before, row, "l");
            rows[at] = 1000 + i;
        }
        return;
    }
    unsigned a = any(5);
    snprintf(row, sizeof row, "{\"a\":%u,\"b\":\"x\"}", a);
    put_event(part, NULL, "c", "null", row, "l");
    if (count < 64)
        rows[count++] = a;
}

/* The key is a field of the row, and changes; sometimes the table is emptied. */
static void put_moving(size_t part, unsigned i)
{
    char before[MAX_TEXT], after[MAX_TEXT];
    unsigned from = any(8), to = any(3) ? from : any(8);
    if (i % 40 == 39) {
        put_event(part, NULL, "t", "null", "null", "k");
        return;
    }
    snprintf(before, sizeof before, any(3) ? "{\"code\":\"c%u\",\"v\":1}" : "{\"code\":null,\"v\":%u}", from);
    snprintf(after, sizeof after, "{\"code\":\"c%u\",\"v\":%u}", to, i);
    if (any(6) == 0) {
        snprintf(before, sizeof before, "{\"code\":\"c%u\",\"v\":1}", from);
        put_event(part, NULL, "d", before, "null", "k");
    } else {
        put_event(part, NULL, "u", before, after, "k");
    }
}

static void make_stream(void)
{
    stage_part("x.d.t", 0);
    stage_part("x.d.t", 1);
    stage_part("x.d.l", 0);
    stage_part("x.d.k", 0);
    for (unsigned i = 0; i < 90; i++) {
        put_keyed(0, "t", 0, i);
        if (i < 60)
            put_keyed(1, "t", 500, i);
        if (i < 70)
            put_keyless(2, i);
        if (i < 100)
            put_moving(3, i);
    }
}

/* ---- Trouble ---- */

static void make_rebalances(void)
{
    unsigned all = (1u << stage.part_count) - 1, given = 0;
    for (unsigned n = any(4); n > 0; n--) {
        unsigned set = 1 + any(all);
        given += 10 + any(80);
        stage_at(given, any(3) ? STAGE_REVOKE : STAGE_LOSE, set);
        stage_at(given, STAGE_ASSIGN, set);
    }
}

static void make_faults(bool may_end)
{
    static const char *const who[] = {"applier", "applier 0", "applier 1", "applier 2", "control"};
    for (unsigned n = any(4); n > 0; n--) {
        unsigned w = any(5), nth = 1 + any(w == 4 ? 40 : 12);
        switch (any(may_end ? 7 : 6)) {
        case 0:
            stage_fail(who[w], ON_COMMIT, nth, MR_E_ENV, AFTER);
            break;
        case 1:
            stage_fail(who[w], ON_COMMIT, nth, MR_E_ENV, BEFORE);
            break;
        case 2:
            stage_fail(who[w], ON_EXEC, nth, any(2) ? MR_E_ENV : MR_E_BUSY, BEFORE);
            break;
        case 3:
            stage_fail(who[w == 4 ? 0 : w], ON_APPLY, nth, MR_E_SCHEMA, BEFORE);
            break;
        case 4:
            stage_fail(who[w], ON_BEGIN, nth, MR_E_BUSY, BEFORE);
            break;
        case 5:
            stage_fail(who[w], any(2) ? ON_DESCRIBE : ON_SAVEPOINT, 1 + any(3), MR_E_ENV, BEFORE);
            break;
        default:
            stage_fail(who[w], any(2) ? ON_APPLY : ON_COMMIT, nth, MR_E_CONFIG, any(2) ? BEFORE : AFTER); /* the end, as a kill would be */
            break;
        }
    }
}

/* ---- Comparing ---- */

/* Settings that change what a delete, a missing column or a misfit means. */
static unsigned variant;

static struct mr_config *config(unsigned rows)
{
    static const char *const sets[][2] = {
        {"tables.\"d.t\".delete=hard", "types.policies.\"d.t.n\"=widen"},  {"tables.\"d.t\".delete=soft", "types.policies.\"d.t.n\"=text"},
        {"tables.\"d.t\".missing=keep", "types.policies.\"d.t.n\"=variant"}, {"tables.\"d.t\".delete=ignore", "types.policies.\"d.t.n\"=\"null\""},
        {"tables.\"d.k\".delete=soft", "types.policies.\"d.t.n\"=json"},
        {"unwrap.delete.tombstone.handling.mode=rewrite-with-tombstone", "types.policies.\"d.t.n\"=widen"},
        {"unwrap.drop.tombstones=false", "unwrap.add.fields=op"},
        {"unwrap.delete.tombstone.handling.mode=rewrite", "unwrap.add.headers=op"},
    };
    char text[32];
    snprintf(text, sizeof text, "batch.rows=%u", rows);
    return stage_config("format=debezium", "tables.\"d.k\".primary_key=[code]", sets[variant % 8][0], sets[variant % 8][1], text,
                        "batch.interval=20ms", "dead_letters.max_rate=0");
}

UNUSED static void add_lines(struct mr_buf *out, char *rows)
{
    for (char *c = rows; *c; c++)
        if (*c == ';')
            *c = '\n';
    mr_buf_append_z(out, rows);
    mr_buf_append_z(out, "\n--\n");
    mr_xfree(rows);
}

static void load_with_trouble(void)
{
    for (unsigned attempt = 0;; attempt++) {
        struct mr_config *cfg = config(1 + any(40));
        stage_forget_script();
        make_rebalances();
        make_faults(attempt < 3);
        stage.names_rows = any(2);
        stage.slow = any(4) == 0;
        enum mr_status status = stage_run(cfg, 1 + any(4));
        mr_config_destroy(cfg);
        if (status == MR_OK)
            return;
        if (status != MR_E_CONFIG || strcmp(stage.err.message, "as the script wants") != 0)
            if (strstr(stage.err.message, "as the script wants") == NULL)
                fail_msg("%s: %s", mr_status_name(status), stage.err.message);
    }
}

static void show_difference(const char *want_z, const char *have_z, uint64_t seed)
{
    size_t at = 0, line = 0;
    while (want_z[at] && want_z[at] == have_z[at]) {
        if (want_z[at] == '\n')
            line = at + 1;
        at++;
    }
    fail_msg("seed %llu: %.200s\n   instead of %.200s", (unsigned long long)seed, have_z + line, want_z + line);
}

static void one_seed(uint64_t seed)
{
    random_state = seed * 7919;
    variant = (unsigned)seed;
    stage_begin();
    begin_target();
    make_stream();
    struct mr_config *cfg = config(1);
    stage_run_ok(cfg, 1);
    mr_config_destroy(cfg);
    char *want = picture();
    forget_target();
    load_with_trouble();
    char *have = picture();
    if (strcmp(want, have) != 0)
        show_difference(want, have, seed);
    mr_xfree(want);
    mr_xfree(have);
    stage_end();
}

static void test_trouble_of_every_kind_changes_nothing(void **state)
{
    (void)state;
    const char *one = getenv("FLOW_SEED"), *many = getenv("FLOW_SEEDS");
    uint64_t first = one ? strtoull(one, NULL, 10) : 1;
    uint64_t count = one ? 1 : many ? strtoull(many, NULL, 10) : 20;
    mr_log_setup(getenv("FLOW_LOG") ? MR_LOG_INFO : (enum mr_log_level)(MR_LOG_ERROR + 1), MR_LOG_LOGFMT, false);
    for (uint64_t seed = first; seed < first + count; seed++)
        one_seed(seed);
}

#endif
