/* The control tables in SQLite: the checks that hold for every target, and what is SQLite's own. */
#include "support/control_checks.h"

#include <stdlib.h>

#include <millrace/base/utf8.h>

#include "engine/control_rows.h"
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
    by_hand("UPDATE millrace_meta SET layout_version = 1000");
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

/* ---- Texts that a target cannot hold ---- */

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 33;
}

static void assert_round_trip(struct mr_str text, bool is_path, uint64_t seed)
{
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_str stored = mr_control_escape(text, is_path, ar);
    if (mr_utf8_check(stored) != 0)
        fail_msg("seed %llu: the stored form is no clean text", (unsigned long long)seed);
    if (!mr_str_eq(mr_control_unescape(stored, is_path, ar), text))
        fail_msg("seed %llu: stored as %.*s", (unsigned long long)seed, MR_STR_FMT(stored));
    mr_arena_destroy(ar);
}

static void test_any_name_and_path_comes_back_from_its_stored_form(void **state)
{
    (void)state;
    static const char *const parts[] = {"a", "\\", ".", "0", "x", "u", "D800", "FF", "\xff", "\xed\xa0\x80", "\xc3", "ü", "\xf0\x9f\x9c\x81", "\xe2\x82", NULL};
    for (uint64_t seed = 1; seed <= 20000; seed++) {
        uint64_t random = seed;
        struct mr_buf name = MR_BUF_INIT(1000), path = MR_BUF_INIT(1000);
        for (uint64_t n = next_random(&random) % 8; n > 0; n--) {
            const char *part = parts[next_random(&random) % (sizeof(parts) / sizeof(parts[0]))];
            struct mr_str bytes = part ? mr_str_z(part) : mr_str_of("", 1); /* NUL */
            mr_buf_append_str(&name, bytes);
            if (mr_str_eq_z(bytes, "\\") || mr_str_eq_z(bytes, "."))
                mr_buf_append_char(&path, '\\'); /* as mr_path_append does */
            mr_buf_append_str(&path, bytes);
        }
        assert_round_trip(mr_buf_str(&name), false, seed);
        assert_round_trip(mr_buf_str(&path), true, seed);
        mr_buf_free(&name);
        mr_buf_free(&path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONTROL_CHECKS,
        CONTROL_CHECK(test_tables_of_a_newer_layout_are_refused),
        CONTROL_CHECK(test_the_control_schema_is_a_prefix),
        CONTROL_CHECK(test_without_control_tables_it_is_a_schema_error),
        cmocka_unit_test(test_any_name_and_path_comes_back_from_its_stored_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
