/* Random streams into MariaDB and MySQL, where lanes run at the same time and DDL commits by itself: see support/engine_random.h. */
#include "support/engine_random.h"

#include "my_server.h"

extern const struct mr_sink_ops mr_sink_mysql;

static void forget_target(void)
{
    sql("DROP DATABASE IF EXISTS flow");
    sql("DROP DATABASE IF EXISTS flow_c");
}

static void begin_target(void)
{
    stage_wrap(&mr_sink_mysql);
    snprintf(stage.url, sizeof stage.url, "%.*s", (int)sizeof stage.url - 1, server_url);
    stage.more_settings[0] = "target.schema=flow";
    stage.more_settings[1] = "target.control_schema=flow_c";
    forget_target();
}

/* All rows, their columns in the order of their names; nothing if there is no table. */
static const char *table_rows(const char *table_z)
{
    char text[1024];
    struct mr_buf select = MR_BUF_INIT(1u << 20);
    sql("SET SESSION group_concat_max_len = 1000000");
    snprintf(text, sizeof text,
             "SELECT CONCAT('SELECT CONCAT_WS('' '', ', GROUP_CONCAT('CAST(QUOTE(`', COLUMN_NAME, '`) AS BINARY)' ORDER BY COLUMN_NAME SEPARATOR ', '), ') AS r "
             "FROM flow.%s ORDER BY r') FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'flow' AND TABLE_NAME = '%s' "
             "HAVING COUNT(*) > 0", table_z, table_z);
    mr_buf_append_z(&select, rows_text(text));
    const char *found = select.len > 0 ? rows_text(mr_buf_z(&select)) : "";
    mr_buf_free(&select);
    return found;
}

static void add_part(struct mr_buf *out, const char *rows_z)
{
    mr_buf_append_z(out, rows_z);
    mr_buf_append_z(out, "--\n");
}

static char *picture(void)
{
    static const char *const tables[] = {"t", "l", "k"};
    struct mr_buf out = MR_BUF_INIT(1u << 24);
    for (size_t i = 0; i < 3; i++)
        add_part(&out, table_rows(tables[i]));
    add_part(&out, rows_text("SELECT topic, `partition`, record_offset, code FROM flow_c.millrace_dead_letter ORDER BY 1, 2, 3, 4"));
    add_part(&out, rows_text("SELECT topic, `partition`, record_offset, path FROM flow_c.millrace_type_history WHERE event = 'nulled' "
                             "ORDER BY 1, 2, 3, 4"));
    add_part(&out, rows_text("SELECT DISTINCT topic, `partition`, position FROM flow_c.millrace_position ORDER BY 1, 2"));
    add_part(&out, rows_text("SELECT target_table, column_name FROM flow_c.millrace_tracked_column WHERE is_by_hand ORDER BY 1, 2"));
    char *text = mr_xstrndup(out.data, out.len);
    mr_buf_free(&out);
    return text;
}

static int stop(void **state)
{
    forget_target();
    return close_server(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_trouble_of_every_kind_changes_nothing)};
    return cmocka_run_group_tests(tests, open_server, stop);
}
