/* The control tables in MariaDB and MySQL: the checks that hold for every target, and claims that meet one another. The server is named by the
 * file in MILLRACE_TEST_MYSQL; the control tables live in a database of their own. */
#include <pthread.h>
#include <stdatomic.h>

#include "my_server.h"
#undef OK /* both helpers have it */

#include "support/control_checks.h"

#include "sink/mysql/my.h"

static char schema[] = "mr `control";
#define SCHEMA "`mr ``control`"

static void assert_value(const char *query, const char *expected)
{
    assert_string_equal(rows_text(query), expected);
}

static int close_control(void **state)
{
    sql("DROP DATABASE IF EXISTS " SCHEMA);
    return close_server(state);
}

static int control_setup(void **state)
{
    (void)state;
    sql("DROP DATABASE IF EXISTS " SCHEMA);
    cfg.control_schema = schema;
    control_sink = connect_with(&cfg);
    control_other = connect_with(&cfg);
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
        if (strcmp(rows_text("SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT'"), "0\n") != 0)
            return;
        mr_sleep_ms(110); /* the server looks at its own locks no more often than ten times a second */
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
        claimers[i].sink = connect_with(&cfg);
        assert_int_equal(pthread_create(&threads[i], NULL, claim_many, &claimers[i]), 0);
    }
    for (size_t i = 0; i < CLAIMERS; i++) {
        pthread_join(threads[i], NULL);
        if (claimers[i].status != MR_OK)
            fail_msg("%s", claimers[i].err.message);
        claimers[i].sink->ops->destroy(claimers[i].sink);
    }
    assert_value("SELECT topic, MIN(epoch), MAX(epoch), MIN(lanes = n) AND MAX(lanes = n) FROM " SCHEMA ".millrace_position"
                 " JOIN (SELECT place_key AS k, COUNT(*) AS n FROM " SCHEMA ".millrace_position GROUP BY place_key) AS c ON k = place_key"
                 " GROUP BY topic ORDER BY topic",
                 "shop.a|120|120|1\nshop.b|120|120|1\n");
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
    sql("DROP DATABASE " SCHEMA);
    struct claimer claimers[CLAIMERS] = {{0}};
    pthread_t threads[CLAIMERS];
    for (size_t i = 0; i < CLAIMERS; i++) {
        claimers[i].sink = connect_with(&cfg);
        assert_int_equal(pthread_create(&threads[i], NULL, prepare_in_thread, &claimers[i]), 0);
    }
    for (size_t i = 0; i < CLAIMERS; i++) {
        pthread_join(threads[i], NULL);
        if (claimers[i].status != MR_OK)
            fail_msg("%s", claimers[i].err.message);
        claimers[i].sink->ops->destroy(claimers[i].sink);
    }
    assert_value("SELECT COUNT(*) FROM " SCHEMA ".millrace_meta", "1\n");
}

/* Every statement of it commits by itself: it may have ended anywhere. */
static void test_a_making_that_was_ended_is_gone_through_again(void **state)
{
    (void)state;
    sql("DROP TABLE " SCHEMA ".millrace_dead_letter");
    sql("DELETE FROM " SCHEMA ".millrace_meta");
    OK(control_other->ops->prepare_control(control_other, &err));
    int64_t open = -1;
    OK(mr_control_dead_letter_count(control_other, NAME, &open, &err));
    assert_int_equal(open, 0);
}

static void test_tables_of_a_newer_layout_are_refused(void **state)
{
    (void)state;
    sql("UPDATE " SCHEMA ".millrace_meta SET layout_version = 1000");
    struct mr_error refusal = {0};
    assert_int_equal(control_other->ops->prepare_control(control_other, &refusal), MR_E_CONFIG);
    assert_non_null(strstr(refusal.message, "newer"));
}

/* ---- KILL QUERY ---- */

struct killer {
    char statement[64];
    atomic_bool quit;
};

static void *kill_in_thread(void *ctx)
{
    struct killer *k = ctx;
    MYSQL *conn = connect_raw();
    for (unsigned pause = 1; !atomic_load(&k->quit); pause = pause * 5 % 307) {
        (void)mysql_query(conn, k->statement);
        usleep(pause);
    }
    mysql_close(conn);
    return NULL;
}

static void connect_again(void)
{
    control_sink->ops->destroy(control_sink);
    control_sink = connect_with(&cfg);
}

/* Queries, one after another, until one is ended by somebody else. */
static void query_until_killed(int64_t epoch)
{
    struct mr_position_move stay = {&part_a, 0, -1, -1, epoch};
    struct mr_error why = {0};
    enum mr_status status = MR_OK;
    int64_t schema_epoch;
    for (int i = 0; i < 100000 && status == MR_OK; i++)
        status = i % 2 ? mr_control_store(control_sink, NAME, &stay, 1, &schema_epoch, &why) :
                         mr_control_schema_epoch(control_sink, &schema_epoch, &why);
    if (status != MR_E_ENV)
        fail_msg("%s: %s", mr_status_name(status), why.message);
    if (!control_sink->ops->is_alive(control_sink))
        connect_again();
}

/* The server may end a query in the midst of its result: that must neither be taken for an answer, nor leave a connection on which the next query
 * waits for ever. */
static void test_a_query_that_is_killed_fails_and_the_work_goes_on(void **state)
{
    (void)state;
    int64_t mine = claim_one(control_sink, &part_a, 1).epoch;
    for (int i = 0; i < 40; i++) {
        struct killer k = {.quit = false};
        pthread_t thread;
        snprintf(k.statement, sizeof(k.statement), "KILL QUERY %lu", mr_my_of(control_sink)->thread_id);
        assert_int_equal(pthread_create(&thread, NULL, kill_in_thread, &k), 0);
        query_until_killed(mine);
        atomic_store(&k.quit, true);
        pthread_join(thread, NULL);
    }
}

/* What people query: readable without knowing the program. */
static void test_the_tables_explain_themselves(void **state)
{
    (void)state;
    assert_value("SELECT COUNT(*), SUM(TABLE_COMMENT = '') FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'mr `control'", "14|0\n");
}

/* The path of a file is a topic too. */
static void test_a_topic_of_many_bytes_has_its_position(void **state)
{
    (void)state;
    static char topic[4000];
    memset(topic, 'x', sizeof(topic) - 1);
    struct mr_partition one = {.topic_z = topic};
    int64_t mine = claim_one(control_sink, &one, 1).epoch;
    OK(store_one(control_sink, &one, 0, -1, 5, mine, &err));
    assert_int_equal(claim_one(control_sink, &one, 1).lane_position[0], 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONTROL_CHECKS,
        CONTROL_CHECK(test_a_claim_waits_for_the_former_owners_transaction),
        CONTROL_CHECK(test_a_store_that_waited_for_a_claim_is_fenced),
        CONTROL_CHECK(test_claims_at_once_agree),
        CONTROL_CHECK(test_several_instances_may_make_the_tables_at_once),
        CONTROL_CHECK(test_a_making_that_was_ended_is_gone_through_again),
        CONTROL_CHECK(test_tables_of_a_newer_layout_are_refused),
        CONTROL_CHECK(test_a_query_that_is_killed_fails_and_the_work_goes_on),
        CONTROL_CHECK(test_the_tables_explain_themselves),
        CONTROL_CHECK(test_a_topic_of_many_bytes_has_its_position),
    };
    return cmocka_run_group_tests(tests, open_server, close_control);
}
