/* The control tables in PostgreSQL: the checks that hold for every target, and claims that meet one another. The server is named by the
 * file in MILLRACE_TEST_PG; the control tables live in a schema of their own. */
#include "support/control_checks.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <libpq-fe.h>

static char url[512], schema[] = "mr \"control";
static char no_password[] = "";
static struct mr_config cfg;
static PGconn *raw;

static void by_hand(const char *sql_z)
{
    PGresult *res = PQexec(raw, sql_z);
    if (PQresultStatus(res) != PGRES_COMMAND_OK && PQresultStatus(res) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", sql_z, PQerrorMessage(raw));
    PQclear(res);
}

static void assert_value(const char *sql_z, const char *expected)
{
    PGresult *res = PQexec(raw, sql_z);
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
        fail_msg("%s: %s", sql_z, PQerrorMessage(raw));
    assert_string_equal(PQgetvalue(res, 0, 0), expected);
    PQclear(res);
}

static void be_quiet(void *ctx, const char *message)
{
    (void)ctx;
    (void)message;
}

static int open_server(void **state)
{
    (void)state;
    const char *path = getenv("MILLRACE_TEST_PG");
    FILE *file = path ? fopen(path, "r") : NULL;
    if (!file || !fgets(url, sizeof(url), file)) {
        fprintf(stderr, "MILLRACE_TEST_PG must name the file that holds the test server's URL\n");
        return -1;
    }
    fclose(file);
    url[strcspn(url, "\n")] = 0;
    raw = PQconnectdb(url);
    PQsetNoticeProcessor(raw, be_quiet, NULL);
    return PQstatus(raw) == CONNECTION_OK ? 0 : -1;
}

static int close_server(void **state)
{
    (void)state;
    by_hand("DROP SCHEMA IF EXISTS \"mr \"\"control\" CASCADE");
    PQfinish(raw);
    return 0;
}

static struct mr_sink *connect_sink(void)
{
    const struct mr_sink_ops *ops = NULL;
    struct mr_sink *out = NULL;
    struct mr_sink_options opt = {.cfg = &cfg, .application_z = "test"};
    OK(mr_sink_for_url(url, &ops, &err));
    OK(ops->connect(&opt, &out, &err));
    return out;
}

static int control_setup(void **state)
{
    (void)state;
    by_hand("DROP SCHEMA IF EXISTS \"mr \"\"control\" CASCADE");
    cfg = (struct mr_config){.target_url = url, .target_password_file = no_password, .control_schema = schema, .appliers = 1,
                             .lock_timeout_ms = 5000, .connect_timeout_ms = 5000, .bulk_rows = 100};
    control_sink = connect_sink();
    control_other = connect_sink();
    OK(control_sink->ops->prepare_control(control_sink, &err));
    return 0;
}

static int control_teardown(void **state)
{
    (void)state;
    control_sink->ops->destroy(control_sink);
    control_other->ops->destroy(control_other);
    return 0;
}

/* ---- Claims that meet ---- */

struct claimer {
    struct mr_sink *sink;
    struct mr_stored_position out;
    enum mr_status status;
    struct mr_error err;
};

static void *claim_in_thread(void *ctx)
{
    struct claimer *c = ctx;
    const struct mr_partition *parts[] = {&part_a};
    c->status = mr_control_claim(c->sink, NAME, parts, 1, 2, &c->out, &c->err);
    return NULL;
}

static void wait_until_blocked(void)
{
    for (int i = 0; i < 500; i++) {
        PGresult *res = PQexec(raw, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
                                  "datname = current_database()");
        bool is_blocked = strcmp(PQgetvalue(res, 0, 0), "0") != 0;
        PQclear(res);
        if (is_blocked)
            return;
        mr_sleep_ms(10);
    }
    fail_msg("nobody waits");
}

static void test_a_claim_waits_for_the_former_owners_transaction(void **state)
{
    (void)state;
    int64_t mine = claim_one(control_sink, &part_a, 2).epoch;
    OK(control_sink->ops->begin(control_sink, &err));
    OK(store_one(control_sink, &part_a, 1, -1, 40, mine, &err));
    struct claimer c = {.sink = control_other};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, claim_in_thread, &c), 0);
    wait_until_blocked();
    OK(control_sink->ops->commit(control_sink, &err));
    pthread_join(thread, NULL);
    assert_int_equal(c.status, MR_OK);
    assert_int_equal(c.out.lane_position[1], 40);
    struct mr_error refusal = {0};
    assert_int_equal(store_one(control_sink, &part_a, 1, 40, 41, mine, &refusal), MR_E_FENCED);
}

struct storer {
    int64_t epoch;
    enum mr_status status;
    struct mr_error err;
};

static void *store_in_thread(void *ctx)
{
    struct storer *st = ctx;
    st->status = store_one(control_sink, &part_a, 0, -1, 5, st->epoch, &st->err);
    return NULL;
}

/* The store has looked at the old row before the claim commits; it must look again. */
static void test_a_store_that_waited_for_a_claim_is_fenced(void **state)
{
    (void)state;
    struct storer st = {.epoch = claim_one(control_sink, &part_a, 1).epoch};
    pthread_t thread;
    OK(control_other->ops->begin(control_other, &err));
    claim_one(control_other, &part_a, 1);
    assert_int_equal(pthread_create(&thread, NULL, store_in_thread, &st), 0);
    wait_until_blocked();
    OK(control_other->ops->commit(control_other, &err));
    pthread_join(thread, NULL);
    assert_int_equal(st.status, MR_E_FENCED);
    assert_int_equal(claim_one(control_sink, &part_a, 1).lane_position[0], -1);
}

enum { CLAIMERS = 6, ROUNDS = 20 };

static void *claim_many(void *ctx)
{
    struct claimer *c = ctx;
    const struct mr_partition *parts[] = {&part_a, &part_b};
    const struct mr_partition *reversed[] = {&part_b, &part_a};
    struct mr_stored_position out[2];
    uint32_t lanes = (uint32_t)(1 + (uintptr_t)c % 5);
    for (int i = 0; i < ROUNDS && c->status == MR_OK; i++)
        c->status = mr_control_claim(c->sink, NAME, i % 2 ? parts : reversed, 2, lanes, out, &c->err);
    return NULL;
}

/* Whoever comes first decides the number of lanes; no claim is lost, and all lanes of a partition always have one epoch. */
static void test_claims_at_once_agree(void **state)
{
    (void)state;
    struct claimer claimers[CLAIMERS] = {{0}};
    pthread_t threads[CLAIMERS];
    for (size_t i = 0; i < CLAIMERS; i++) {
        claimers[i].sink = connect_sink();
        assert_int_equal(pthread_create(&threads[i], NULL, claim_many, &claimers[i]), 0);
    }
    for (size_t i = 0; i < CLAIMERS; i++) {
        pthread_join(threads[i], NULL);
        if (claimers[i].status != MR_OK)
            fail_msg("%s", claimers[i].err.message);
        claimers[i].sink->ops->destroy(claimers[i].sink);
    }
    assert_value("SELECT string_agg(x, ';') FROM (SELECT concat(topic, ' ', min(epoch), ' ', max(epoch), ' ', bool_and(p.lanes = n)) AS x"
                 " FROM \"mr \"\"control\".position AS p JOIN (SELECT topic, count(*) AS n FROM \"mr \"\"control\".position GROUP BY topic)"
                 " AS c USING (topic) GROUP BY topic ORDER BY topic) AS s",
                 "shop.a 120 120 t;shop.b 120 120 t");
}

static void *prepare_in_thread(void *ctx)
{
    struct claimer *c = ctx;
    c->status = c->sink->ops->prepare_control(c->sink, &c->err);
    return NULL;
}

static void test_several_instances_may_make_the_tables_at_once(void **state)
{
    (void)state;
    by_hand("DROP SCHEMA \"mr \"\"control\" CASCADE");
    struct claimer claimers[CLAIMERS] = {{0}};
    pthread_t threads[CLAIMERS];
    for (size_t i = 0; i < CLAIMERS; i++) {
        claimers[i].sink = connect_sink();
        assert_int_equal(pthread_create(&threads[i], NULL, prepare_in_thread, &claimers[i]), 0);
    }
    for (size_t i = 0; i < CLAIMERS; i++) {
        pthread_join(threads[i], NULL);
        if (claimers[i].status != MR_OK)
            fail_msg("%s", claimers[i].err.message);
        claimers[i].sink->ops->destroy(claimers[i].sink);
    }
    assert_value("SELECT count(*) FROM \"mr \"\"control\".meta", "1");
}

static void test_tables_of_a_newer_layout_are_refused(void **state)
{
    (void)state;
    by_hand("UPDATE \"mr \"\"control\".meta SET layout_version = 1000");
    struct mr_error refusal = {0};
    assert_int_equal(control_other->ops->prepare_control(control_other, &refusal), MR_E_CONFIG);
    assert_non_null(strstr(refusal.message, "newer"));
}

/* What people query: readable without knowing the program. */
static void test_the_tables_explain_themselves(void **state)
{
    (void)state;
    assert_value("SELECT count(*) FROM pg_class WHERE relnamespace = '\"mr \"\"control\"'::regnamespace AND relkind = 'r'"
                 " AND obj_description(oid) IS NULL",
                 "0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONTROL_CHECKS,
        CONTROL_CHECK(test_a_claim_waits_for_the_former_owners_transaction),
        CONTROL_CHECK(test_a_store_that_waited_for_a_claim_is_fenced),
        CONTROL_CHECK(test_claims_at_once_agree),
        CONTROL_CHECK(test_several_instances_may_make_the_tables_at_once),
        CONTROL_CHECK(test_tables_of_a_newer_layout_are_refused),
        CONTROL_CHECK(test_the_tables_explain_themselves),
    };
    return cmocka_run_group_tests(tests, open_server, close_server);
}
