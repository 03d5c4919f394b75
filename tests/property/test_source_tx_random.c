/* Random transactions of a source, spread over topics and partitions as Debezium does, through an engine in every kind of trouble: what a reader sees
 * after any commit is a state between two transactions. Every transaction moves money between accounts of two tables, so that the sum is always 0. */
#include "support/engine_flow.h"

#define ACCOUNTS 12

enum { A0, A1, B0, NOTES, ENDS, PARTS };

struct random {
    uint64_t state;
};
static struct random rnd;

static unsigned below(unsigned n)
{
    rnd.state = rnd.state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (unsigned)((rnd.state >> 33) % n);
}

static struct mr_config *cfg;
static size_t looked, seen_whole;
static char wrong[256];

/* Called after each commit, in the thread of the applier. */
static void look(void)
{
    sqlite3 *db = stage_open();
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(db, "SELECT (SELECT coalesce(sum(v), 0) FROM a) + (SELECT coalesce(sum(v), 0) FROM b)", -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW) {
        looked++;
        if (sqlite3_column_int64(stmt, 0) == 0)
            seen_whole++;
        else if (wrong[0] == '\0')
            snprintf(wrong, sizeof wrong, "the sum is %lld after look %zu", (long long)sqlite3_column_int64(stmt, 0), looked);
    }
    sqlite3_finalize(stmt);
    sqlite3_close(db);
}

static long balance[2][ACCOUNTS];

static size_t part_of(unsigned table, unsigned id)
{
    return table == 1 ? B0 : id % 2 == 0 ? A0 : A1;
}

static void put_row(unsigned table, unsigned id, unsigned tx, unsigned order)
{
    char key[64], value[512];
    snprintf(key, sizeof key, "{\"id\":%u}", id);
    snprintf(value, sizeof value,
             "{\"before\":null,\"after\":{\"id\":%u,\"v\":%ld},\"source\":{\"name\":\"p\",\"db\":\"db\",\"table\":\"%c\"},\"op\":\"c\",\"ts_ms\":1,"
             "\"transaction\":{\"id\":\"t%u\",\"total_order\":%u,\"data_collection_order\":1}}", id, balance[table][id], "ab"[table], tx, order);
    stage_put(part_of(table, id), key, value);
}

/* Of a snapshot. */
static void put_plain(size_t part, unsigned id)
{
    char key[64], value[256];
    snprintf(key, sizeof key, "{\"id\":%u}", id);
    snprintf(value, sizeof value,
             "{\"before\":null,\"after\":{\"id\":%u,\"v\":0},\"source\":{\"name\":\"p\",\"db\":\"db\",\"table\":\"a\"},\"op\":\"r\",\"ts_ms\":1}", id);
    stage_put(part, key, value);
}

/* Counted by its END, and maybe not to be read. */
static void put_note(unsigned tx, unsigned order, bool is_broken)
{
    char key[64], value[512];
    snprintf(key, sizeof key, "{\"id\":%u}", tx);
    snprintf(value, sizeof value,
             "{\"before\":null,\"after\":{\"id\":%u,\"v\":0},\"source\":{\"name\":\"p\",\"db\":\"db\",\"table\":\"n\"},\"op\":\"c\",\"ts_ms\":1,"
             "\"transaction\":{\"id\":\"t%u\",\"total_order\":%u,\"data_collection_order\":1}%s", tx, tx, order, is_broken ? "" : "}");
    stage_put(NOTES, key, value);
}

static void put_end(unsigned tx, const unsigned count[3])
{
    char key[64], value[512];
    snprintf(key, sizeof key, "{\"id\":\"t%u\"}", tx);
    snprintf(value, sizeof value,
             "{\"status\":\"END\",\"id\":\"t%u\",\"event_count\":%u,\"data_collections\":[{\"data_collection\":\"db.a\",\"event_count\":%u},"
             "{\"data_collection\":\"db.b\",\"event_count\":%u},{\"data_collection\":\"db.n\",\"event_count\":%u},"
             "{\"data_collection\":\"db.not_loaded\",\"event_count\":3}],\"ts_ms\":1}",
             tx, count[0] + count[1] + count[2] + 3, count[0], count[1], count[2]);
    stage_put(ENDS, key, value);
}

static void put_begin(unsigned tx)
{
    char key[64], value[256];
    snprintf(key, sizeof key, "{\"id\":\"t%u\"}", tx);
    snprintf(value, sizeof value, "{\"status\":\"BEGIN\",\"id\":\"t%u\",\"event_count\":null,\"data_collections\":null,\"ts_ms\":1}", tx);
    stage_put(ENDS, key, value);
}

/* Moves that end at 0 in all; the same account may be written more than once. */
static void put_transaction(unsigned tx, bool broken_notes)
{
    unsigned count[3] = {0}, order = 0, moves = 1 + below(below(10) == 0 ? 40 : 4);
    put_begin(tx);
    for (unsigned i = 0; i < moves; i++) {
        unsigned from = below(2), to = below(2), a = below(ACCOUNTS), b = below(ACCOUNTS);
        long amount = 1 + (long)below(100);
        balance[from][a] -= amount;
        balance[to][b] += amount;
        put_row(from, a, tx, ++order);
        put_row(to, b, tx, ++order);
        count[from]++;
        count[to]++;
        if (below(3) == 0) {
            put_note(tx, ++order, broken_notes && below(3) == 0);
            count[2]++;
        }
    }
    put_end(tx, count);
}

static void make_trouble(size_t records)
{
    for (unsigned n = below(4); n > 0; n--) {
        static const enum mr_status kinds[] = {MR_E_ENV, MR_E_BUSY, MR_E_ENV};
        stage_fail("applier", (enum stage_call[]){ON_COMMIT, ON_APPLY, ON_BEGIN}[below(3)], 1 + below(8), kinds[below(3)], below(2) ? BEFORE : AFTER);
    }
    for (size_t at = below(60); at < records && stage.action_count < 28; at += 20 + below((unsigned)records)) {
        unsigned parts = 1 + below((1u << PARTS) - 1);
        stage_at(at, below(2) ? STAGE_REVOKE : STAGE_LOSE, parts);
        stage_at(at + below(15), STAGE_ASSIGN, parts);
    }
}

static void play(uint64_t seed)
{
    char rows[32], sums[64] = "";
    rnd.state = seed;
    memset(balance, 0, sizeof balance);
    looked = seen_whole = 0;
    wrong[0] = '\0';
    stage_begin();
    stage_part("p.db.a", 0);
    stage_part("p.db.a", 1);
    stage_part("p.db.b", 0);
    stage_part("p.db.n", 0);
    stage_part("p.transaction", 0);
    snprintf(rows, sizeof rows, "batch.rows=%u", 1 + below(40));
    cfg = stage_config("transactions=source", rows, "dead_letters.max_rate=0", "batch.transaction_wait=1h");
    unsigned count = 20 + below(80);
    bool broken_notes = below(2) == 0;
    size_t records = 0;
    for (unsigned i = below(3) * 40; i > 0; i--) /* a partition that lags behind the others */
        put_plain(A1, 1000 + i);
    for (unsigned tx = 1; tx <= count; tx++)
        put_transaction(tx, broken_notes && tx < count);
    count++;
    put_transaction(count, false); /* behind the last broken one stands another: then nothing is waited for in vain */
    put_note(count + 1, 1, false);
    put_begin(count + 1);
    put_end(count + 1, (const unsigned[]){0, 0, 1});
    for (size_t i = 0; i < PARTS; i++)
        records += stage.parts[i].count;
    make_trouble(records);
    struct stage_fault *f = stage_fail("applier", ON_COMMIT, 1, MR_OK, AFTER);
    f->times = 1000000;
    f->fn = look;
    stage.slow = below(2) == 0;
    stage_run_ok(cfg, 1);
    if (wrong[0] != '\0')
        fail_msg("seed %llu: %s", (unsigned long long)seed, wrong);
    for (unsigned t = 0; t < 2; t++)
        for (unsigned id = 0; id < ACCOUNTS; id++) {
            char sql[128];
            snprintf(sql, sizeof sql, "SELECT coalesce((SELECT v FROM %c WHERE id = %u), 0)", "ab"[t], id);
            snprintf(sums, sizeof sums, "%ld", balance[t][id]);
            stage_expect(sql, sums);
        }
    if (stage.stats.transactions_split != 0)
        fail_msg("seed %llu: %llu transactions were split", (unsigned long long)seed, (unsigned long long)stage.stats.transactions_split);
    mr_config_destroy(cfg);
    stage_end();
}

static void test_no_commit_shows_half_of_a_transaction(void **state)
{
    (void)state;
    const char *only = getenv("SEED");
    mr_log_setup(getenv("FLOW_LOG") ? MR_LOG_INFO : (enum mr_log_level)(MR_LOG_ERROR + 1), MR_LOG_LOGFMT, false);
    uint64_t most = getenv("MILLRACE_ALL_TESTS") ? 150 : 5;
    for (uint64_t seed = 1; seed <= most || only; seed++) {
        if (only == NULL || strtoull(only, NULL, 10) == seed)
            play(seed);
        if (only != NULL && strtoull(only, NULL, 10) == seed)
            return;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_commit_shows_half_of_a_transaction)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
