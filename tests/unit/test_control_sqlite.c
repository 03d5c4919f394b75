/* The control tables in SQLite: the checks that hold for every target, and what is SQLite's own. */
#include "support/control_checks.h"

#include <stdlib.h>

#include "sink/sqlite/internal.h"

static char dir[64], url[128], prefix[32];
static struct mr_config cfg;

static struct mr_sink *connect_sink(void)
{
    struct mr_sink *out = NULL;
    struct mr_sink_options opt = {.cfg = &cfg, .application_z = "test"};
    OK(mr_sink_sqlite.connect(&opt, &out, &err));
    return out;
}

static int control_setup(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/millrace-control-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    snprintf(url, sizeof(url), "sqlite:%s/target.db", dir);
    prefix[0] = 0;
    cfg = (struct mr_config){.target_url = url, .control_schema = prefix, .appliers = 1};
    control_sink = connect_sink();
    control_other = connect_sink();
    OK(control_sink->ops->prepare_control(control_sink, &err));
    return 0;
}

static int control_teardown(void **state)
{
    (void)state;
    char command[128];
    mr_sink_sqlite.destroy(control_sink);
    mr_sink_sqlite.destroy(control_other);
    snprintf(command, sizeof(command), "rm -rf '%s'", dir);
    return system(command);
}

static void by_hand(const char *sql_z)
{
    assert_int_equal(sqlite3_exec(((struct mr_sqlite *)(void *)control_sink)->db, sql_z, NULL, NULL, NULL), SQLITE_OK);
}

static void test_tables_of_a_newer_layout_are_refused(void **state)
{
    (void)state;
    by_hand("UPDATE millrace_meta SET layout_version = 2");
    struct mr_error refusal = {0};
    assert_int_equal(control_other->ops->prepare_control(control_other, &refusal), MR_E_CONFIG);
    assert_non_null(strstr(refusal.message, "newer"));
}

static void test_the_control_schema_is_a_prefix(void **state)
{
    (void)state;
    snprintf(prefix, sizeof(prefix), "my \"own");
    struct mr_sink *own = connect_sink();
    OK(own->ops->prepare_control(own, &err));
    OK(store_one(own, &part_a, 0, -1, 1, claim_one(own, &part_a, 1).epoch, &err));
    by_hand("UPDATE \"my \"\"own_position\" SET epoch = 5");
    by_hand("DELETE FROM millrace_position");
    own->ops->destroy(own);
}

static void test_without_control_tables_it_is_a_schema_error(void **state)
{
    (void)state;
    by_hand("DROP TABLE millrace_position");
    struct mr_error refusal = {0};
    struct mr_buf out = MR_BUF_INIT(100);
    assert_int_equal(mr_control_positions(control_sink, count_position, &out, &refusal), MR_E_SCHEMA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONTROL_CHECKS,
        CONTROL_CHECK(test_tables_of_a_newer_layout_are_refused),
        CONTROL_CHECK(test_the_control_schema_is_a_prefix),
        CONTROL_CHECK(test_without_control_tables_it_is_a_schema_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
