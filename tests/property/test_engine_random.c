/* Random streams into SQLite: see support/engine_random.h. */
#include "support/engine_random.h"

static void begin_target(void)
{
}

/* All columns, in the order of their names, as texts. */
static char *table_picture(const char *table_z)
{
    char sql[MAX_TEXT];
    snprintf(sql, sizeof sql, "SELECT group_concat('quote(CAST(\"' || name || '\" AS TEXT))', ', ') FROM (SELECT name FROM pragma_table_info('%s') ORDER BY 1)",
             table_z);
    char *columns = stage_rows(sql);
    struct mr_buf select = MR_BUF_INIT(1u << 16);
    mr_buf_append_z(&select, "SELECT ");
    for (const char *c = columns; *c; c++) {
        if (c[0] == ',' && c[1] == ' ')
            mr_buf_append_z(&select, " || ' ' ||"), c++;
        else
            mr_buf_append_char(&select, *c);
    }
    mr_buf_printf(&select, " FROM %s ORDER BY 1", table_z);
    char *rows = stage_rows(mr_buf_z(&select));
    mr_buf_free(&select);
    mr_xfree(columns);
    return rows;
}

static char *picture(void)
{
    static const char *const tables[] = {"t", "l", "k"};
    static const char *const sql[] = {
        "SELECT topic, \"partition\", record_offset, code FROM millrace_dead_letter ORDER BY 1, 2, 3, 4",
        "SELECT topic, \"partition\", record_offset, path FROM millrace_type_history WHERE event = 'nulled' ORDER BY 1, 2, 3, 4",
        "SELECT DISTINCT topic, \"partition\", position FROM millrace_position ORDER BY 1, 2",
    };
    struct mr_buf out = MR_BUF_INIT(1u << 24);
    for (size_t i = 0; i < 3; i++) {
        add_lines(&out, table_picture(tables[i]));
        add_lines(&out, stage_rows(sql[i]));
    }
    char *text = mr_xstrndup(out.data, out.len);
    mr_buf_free(&out);
    return text;
}

static void forget_target(void)
{
    char command[256];
    snprintf(command, sizeof command, "rm -f '%s'/target.db*", stage.dir);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_trouble_of_every_kind_changes_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
