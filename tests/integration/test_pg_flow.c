/* Random streams into PostgreSQL, where lanes really run at the same time: see support/engine_random.h. */
#include "support/engine_random.h"

#include <libpq-fe.h>

static PGconn *pg;
static char pg_url[512];

extern const struct mr_sink_ops mr_sink_postgres;

static char *pg_rows(const char *sql_z)
{
    PGresult *res = PQexec(pg, sql_z);
    struct mr_buf out = MR_BUF_INIT(1u << 24);
    if (PQresultStatus(res) != PGRES_TUPLES_OK && PQresultStatus(res) != PGRES_COMMAND_OK)
        fail_msg("%s: %s", sql_z, PQerrorMessage(pg));
    for (int r = 0; r < PQntuples(res); r++) {
        for (int c = 0; c < PQnfields(res); c++) {
            mr_buf_append_z(&out, c > 0 ? " " : r > 0 ? ";" : "");
            mr_buf_append_z(&out, PQgetisnull(res, r, c) ? "-" : PQgetvalue(res, r, c));
        }
    }
    PQclear(res);
    char *text = mr_xstrndup(out.data ? out.data : "", out.len);
    mr_buf_free(&out);
    return text;
}

static void forget_target(void)
{
    mr_xfree(pg_rows("SET client_min_messages TO error; DROP SCHEMA IF EXISTS flow CASCADE; DROP SCHEMA IF EXISTS flow_c CASCADE"));
}

/* The URL, or the name of the file that holds it. */
static void find_url(void)
{
    const char *name_z = getenv("MILLRACE_TEST_PG");
    if (name_z == NULL)
        fail_msg("MILLRACE_TEST_PG is not set");
    snprintf(pg_url, sizeof pg_url, "%s", name_z);
    FILE *file = fopen(name_z, "r");
    if (file == NULL)
        return;
    if (fscanf(file, "%511s", pg_url) != 1)
        fail_msg("%s is empty", name_z);
    fclose(file);
}

static void begin_target(void)
{
    if (pg == NULL) {
        find_url();
        pg = PQconnectdb(pg_url);
    }
    stage_wrap(&mr_sink_postgres);
    snprintf(stage.url, sizeof stage.url, "%s", pg_url);
    stage.more_settings[0] = "target.schema=flow";
    stage.more_settings[1] = "target.control_schema=flow_c";
    forget_target();
}

static char *pg_table(const char *table_z)
{
    char sql[1024];
    snprintf(sql, sizeof sql,
             "SELECT 'SELECT ' || string_agg(format('coalesce(quote_nullable(%%I::text), ''-'')', column_name), ' || '' '' || ' ORDER BY column_name) || "
             "' COLLATE \"C\" FROM flow.%s ORDER BY 1' FROM information_schema.columns WHERE table_schema = 'flow' AND table_name = '%s'", table_z, table_z);
    char *select = pg_rows(sql), *rows = pg_rows(select);
    mr_xfree(select);
    return rows;
}

static char *picture(void)
{
    static const char *const tables[] = {"t", "l", "k"};
    static const char *const sql[] = {
        "SELECT topic, partition, record_offset, code FROM flow_c.dead_letter ORDER BY 1, 2, 3, 4",
        "SELECT topic, partition, record_offset, path FROM flow_c.type_history WHERE event = 'nulled' ORDER BY 1, 2, 3, 4",
        "SELECT DISTINCT topic, partition, position FROM flow_c.position ORDER BY 1, 2",
    };
    struct mr_buf out = MR_BUF_INIT(1u << 24);
    for (size_t i = 0; i < 3; i++) {
        add_lines(&out, pg_table(tables[i]));
        add_lines(&out, pg_rows(sql[i]));
    }
    char *text = mr_xstrndup(out.data, out.len);
    mr_buf_free(&out);
    return text;
}

static int stop(void **state)
{
    (void)state;
    forget_target();
    PQfinish(pg);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_trouble_of_every_kind_changes_nothing)};
    return cmocka_run_group_tests(tests, NULL, stop);
}
