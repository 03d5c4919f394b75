/* The SQLite sink on real files: values exact, every kind of row, rebuilds that keep what people added, transactions, errors. */
#include "support/sink_helper.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include <millrace/base/time.h>

#include "sink/sqlite/internal.h"

static char dir[64], url[128];
static struct mr_config cfg;
static struct mr_sink *sink;

static struct mr_sink *connect_sink(void)
{
    struct mr_sink *out = NULL;
    struct mr_sink_options opt = {.cfg = &cfg, .application_z = "test"};
    OK(mr_sink_sqlite.connect(&opt, &out, &err));
    return out;
}

static int setup(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/millrace-sqlite-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    snprintf(url, sizeof(url), "sqlite:%s/target.db", dir);
    cfg = (struct mr_config){.target_url = url, .control_schema = (char[]){""}, .appliers = 1, .bulk_rows = 100};
    sink = connect_sink();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    char command[128];
    mr_sink_sqlite.destroy(sink);
    snprintf(command, sizeof(command), "rm -rf '%s'", dir);
    return system(command);
}

/* A person's own statement. */
static void by_hand(const char *sql_z)
{
    char *message = NULL;
    if (sqlite3_exec(((struct mr_sqlite *)(void *)sink)->db, sql_z, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql_z, message);
}

static void assert_query(const char *sql_z, const char *expected)
{
    sqlite3_stmt *stmt = NULL;
    assert_int_equal(sqlite3_prepare_v2(((struct mr_sqlite *)(void *)sink)->db, sql_z, -1, &stmt, NULL), SQLITE_OK);
    struct mr_buf out = MR_BUF_INIT(1 << 20);
    int rc;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(stmt); i++) {
            const char *text = (const char *)sqlite3_column_text(stmt, i);
            mr_buf_printf(&out, "%s%s", i ? "|" : "", text ? text : "~");
        }
        mr_buf_append_char(&out, '\n');
    }
    assert_int_equal(rc, SQLITE_DONE);
    sqlite3_finalize(stmt);
    assert_string_equal(mr_buf_z(&out), expected);
    mr_buf_free(&out);
}

#define INT64 {.kind = MR_T_INT64}
#define TEXT {.kind = MR_T_TEXT}
#define OPEN {.kind = MR_T_DECIMAL, .open = true}

static struct mr_table *keyed(void)
{
    struct mr_table *tbl = TABLE("t", {"id", INT64, true}, {"a", INT64, false}, {"b", TEXT, false});
    create_table(sink, tbl);
    return tbl;
}

/* ---- URL ---- */

static void test_urls_and_options_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        bool schema;
        uint32_t appliers;
        enum mr_status status;
    } cases[] = {
        {"sqlite:x.db", false, 1, MR_OK},           {"sqlite:///tmp/x.db", false, 1, MR_OK}, {"sqlite:", false, 1, MR_E_CONFIG},
        {"sqlite::memory:", false, 1, MR_E_CONFIG}, {"sqlite:x.db", true, 1, MR_E_CONFIG},   {"sqlite:x.db", false, 2, MR_E_CONFIG},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[64];
        struct mr_error err = {0};
        snprintf(text, sizeof(text), "%s", cases[i].url);
        struct mr_config other = {.target_url = text, .target_schema_set = cases[i].schema, .appliers = cases[i].appliers};
        assert_int_equal(mr_sink_sqlite.check_url(&other, &err), cases[i].status);
    }
}

static void test_a_folder_that_does_not_exist_is_a_configuration_error_and_a_file_that_cannot_be_opened_is_environment(void **state)
{
    (void)state;
    char text[128];
    struct mr_sink *none = NULL;
    struct mr_error err = {0};
    snprintf(text, sizeof(text), "sqlite:%s/no/such/folder/x.db", dir);
    struct mr_config other = {.target_url = text};
    struct mr_sink_options opt = {.cfg = &other};
    assert_int_equal(mr_sink_sqlite.connect(&opt, &none, &err), MR_E_CONFIG);
    assert_non_null(strstr(err.message, "no/such/folder"));
    snprintf(text, sizeof(text), "sqlite:%s", dir);
    assert_int_equal(mr_sink_sqlite.connect(&opt, &none, &err), MR_E_ENV);
}

static void test_a_file_that_is_no_database_is_a_configuration_error(void **state)
{
    (void)state;
    char text[128], path[100];
    snprintf(path, sizeof(path), "%s/other.txt", dir);
    FILE *file = fopen(path, "w");
    for (int i = 0; i < 200; i++)
        fputs("this is no database at all\n", file);
    fclose(file);
    snprintf(text, sizeof(text), "sqlite:%s", path);
    struct mr_config other = {.target_url = text};
    struct mr_sink_options opt = {.cfg = &other};
    struct mr_sink *none = NULL;
    struct mr_error err = {0};
    assert_int_equal(mr_sink_sqlite.connect(&opt, &none, &err), MR_E_CONFIG);
}

/* ---- Values ---- */

static void test_values_of_every_type_come_back_exactly(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE(
        "t", {"id", INT64, true}, {"bool", {.kind = MR_T_BOOL}, false}, {"i16", {.kind = MR_T_INT16}, false},
        {"i64", INT64, false}, {"dec", {.kind = MR_T_DECIMAL, .precision = 10, .scale = 2}, false},
        {"big", {.kind = MR_T_DECIMAL, .precision = 40, .scale = 3}, false}, {"open", OPEN, false},
        {"f32", {.kind = MR_T_FLOAT32}, false}, {"f64", {.kind = MR_T_FLOAT64}, false}, {"text", TEXT, false},
        {"bytes", {.kind = MR_T_BYTES}, false}, {"date", {.kind = MR_T_DATE}, false}, {"time", {.kind = MR_T_TIME}, false},
        {"dur", {.kind = MR_T_DURATION}, false}, {"ts", {.kind = MR_T_TIMESTAMP}, false}, {"tz", {.kind = MR_T_TIMESTAMPTZ}, false},
        {"uuid", {.kind = MR_T_UUID}, false}, {"bits", {.kind = MR_T_BITS, .precision = 5}, false}, {"json", {.kind = MR_T_JSON}, false});
    create_table(sink, tbl);
    APPLY(sink, tbl, false,
          ROW(MR_ROW_UPSERT, int_value(INT64_MIN), mr_value_bool(true), int_value(-32768), int_value(INT64_MAX), number_value("-0.10"),
              number_value("12345678901234567890123456789012345.5"), number_value("0.1"), mr_value_float((double)0.1f), mr_value_float(1e300),
              mr_value_text(mr_str_of("a\0b", 3)), mr_value_bytes(MR_V_BYTES, mr_str_of("\0\xff", 2)), mr_value_time(MR_V_DATE, 0),
              mr_value_time(MR_V_TIME, 3723000001), mr_value_time(MR_V_DURATION, -INT64_C(3020399000000)),
              mr_value_time(MR_V_TIMESTAMP, 1), mr_value_time(MR_V_TIMESTAMPTZ, INT64_C(253402300800000000)),
              mr_value_bytes(MR_V_UUID, mr_str_of("\x12\x34\x56\x78\x9a\xbc\xde\xf0\x12\x34\x56\x78\x9a\xbc\xde\xf0", 16)),
              mr_value_bytes(MR_V_BITS, MR_STR("00101")), json_value("{\"a\": 1.10}")));
    struct mr_buf out = MR_BUF_INIT(1 << 20);
    OK(sink->ops->dump_table(sink, MR_STR(""), MR_STR("t"), 10, dump_row, &out, &err));
    static const char expected[] =
        "id|bool|i16|i64|dec|big|open|f32|f64|text|bytes|date|time|dur|ts|tz|uuid|bits|json\n"
        "-9223372036854775808|true|-32768|9223372036854775807|-0.10|12345678901234567890123456789012345.500|0.1|0.1|1e300|a\0b|AP8=|"
        "1970-01-01|01:02:03.000001|-838:59:59|1970-01-01T00:00:00.000001|+10000-01-01T00:00:00Z|12345678-9abc-def0-1234-56789abcdef0|"
        "00101|{\"a\": 1.10}\n";
    assert_int_equal(out.len, sizeof(expected) - 1);
    assert_memory_equal(out.data, expected, out.len);
    mr_buf_free(&out);
    mr_table_unref(tbl);
}

static void test_open_decimals_are_numbers_where_nothing_is_lost_and_texts_otherwise(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"k", OPEN, true});
    create_table(sink, tbl);
    static const char *const digits[] = {"1", "1.50", "0.1", "9007199254740993", "9007199254740993.5", "-1e30",
                                         "0.1000000000000000055511151231257827", "123456789012345678901234567890", "NaN", "-Infinity"};
    for (size_t i = 0; i < sizeof(digits) / sizeof(digits[0]); i++)
        APPLY(sink, tbl, false, ROW(MR_ROW_UPSERT, number_value(digits[i])));
    assert_query("SELECT k, typeof(k) FROM t ORDER BY rowid",
                 "1|integer\n1.5|real\n0.1|real\n9007199254740993|integer\n9007199254740993.5|text\n-1.0e+30|real\n"
                 "0.1000000000000000055511151231257827|text\n123456789012345678901234567890|text\nNaN|text\n-Infinity|text\n");
    /* The same number in another writing is the same key. */
    APPLY(sink, tbl, false, ROW(MR_ROW_UPSERT, number_value("1.5000")), ROW(MR_ROW_UPSERT, number_value("9007199254740993.500")),
          ROW(MR_ROW_UPSERT, number_value("1.0")));
    assert_query("SELECT count(*) FROM t", "10\n");
    mr_table_unref(tbl);
}

static void test_texts_that_look_like_numbers_stay_texts(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"a", TEXT, false}, {"b", {.kind = MR_T_BITS}, false}, {"c", {.kind = MR_T_JSON}, false},
                                 {"d", {.kind = MR_T_DECIMAL, .precision = 20, .scale = 1}, false});
    create_table(sink, tbl);
    APPLY(sink, tbl, true,
          ROW(MR_ROW_APPEND, text_value("0012"), mr_value_bytes(MR_V_BITS, MR_STR("0011")), json_value("1e2"), number_value("7")));
    assert_query("SELECT * FROM t", "0012|0011|1e2|7.0\n");
    mr_table_unref(tbl);
}

static void test_a_hand_made_numeric_column_takes_only_what_it_can_hold(void **state)
{
    (void)state;
    by_hand("CREATE TABLE t (id INTEGER PRIMARY KEY, n NUMERIC, j JSON, s VARCHAR(5))");
    struct mr_table *tbl = TABLE("t", {"id", INT64, true}, {"n", OPEN, false}, {"j", {.kind = MR_T_JSON}, false}, {"s", {.kind = MR_T_FLOAT64}, false});
    struct mr_column *columns = (struct mr_column *)(void *)(uintptr_t)tbl->columns;
    columns[1].native = MR_STR("NUMERIC");
    columns[2].native = MR_STR("JSON");
    columns[3].native = MR_STR("VARCHAR(5)");
    APPLY(sink, tbl, false, ROW(MR_ROW_UPSERT, int_value(1), number_value("1.25"), json_value("[1]"), mr_value_float(0.30000000000000004)));
    assert_query("SELECT n, j, s FROM t", "1.25|[1]|0.30000000000000004\n");

    struct mr_error err = {0};
    struct mr_row rows[] = {ROW(MR_ROW_UPSERT, int_value(2), number_value("1"), null_value(), null_value()),
                            ROW(MR_ROW_UPSERT, int_value(3), number_value("9007199254740993.5"), null_value(), null_value())};
    assert_int_equal(apply_rows(sink, tbl, rows, 2, false, &err), MR_E_DATA);
    assert_string_equal(err.code, MR_CODE_OUT_OF_RANGE);
    assert_string_equal(err.field, "n");
    assert_int_equal(err.row, 1);
    mr_table_unref(tbl);
}

/* ---- Rows ---- */

static void test_upserts_insert_and_update_and_deletes_delete(void **state)
{
    (void)state;
    struct mr_table *tbl = keyed();
    APPLY(sink, tbl, false, ROW(MR_ROW_UPSERT, int_value(1), int_value(10), text_value("one")),
          ROW(MR_ROW_UPSERT, int_value(2), int_value(20), text_value("two")));
    APPLY(sink, tbl, false, ROW(MR_ROW_UPSERT, int_value(1), null_value(), text_value("uno")),
          ROW(MR_ROW_DELETE, int_value(2), absent_value(), absent_value()),
          ROW(MR_ROW_DELETE, int_value(9), absent_value(), absent_value()));
    assert_table(sink, "", "t", "id|a|b\n1|~|uno\n");
    mr_table_unref(tbl);
}

/* Rows of the table of an array; both bounds of a range. */
#define RANGE(id_, from_, to_)                                                                                                   \
    ((struct mr_row){.kind = MR_ROW_DELETE_RANGE, .cells = CELLS(id_, from_, absent_value()), .match = CELLS(absent_value(), to_, absent_value())})

static void test_a_range_deletes_the_rows_between(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", INT64, true}, {"pos", INT64, true}, {"v", TEXT, false});
    create_table(sink, tbl);
    for (int i = 0; i < 5; i++)
        APPLY(sink, tbl, false, ROW(MR_ROW_UPSERT, int_value(1), int_value(i), text_value("x")),
              ROW(MR_ROW_UPSERT, int_value(2), int_value(i), text_value("x")));
    APPLY(sink, tbl, false, RANGE(int_value(1), int_value(1), int_value(3)), RANGE(int_value(2), int_value(3), int_value(INT32_MAX)),
          RANGE(int_value(9), int_value(0), int_value(9)));
    assert_query("SELECT id, group_concat(pos) FROM t GROUP BY id", "1|0,3,4\n2|0,1,2\n");
    mr_table_unref(tbl);
}

static void test_rows_that_are_the_same_are_not_written_where_the_table_says_so(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", INT64, true}, {"n", OPEN, false}, {"v", TEXT, false});
    tbl->skips_same = true;
    create_table(sink, tbl);
    by_hand("CREATE TABLE log (id INTEGER); CREATE TRIGGER u AFTER UPDATE ON t BEGIN INSERT INTO log VALUES (new.id); END");
    for (int pass = 0; pass < 2; pass++)
        APPLY(sink, tbl, false, ROW(MR_ROW_UPSERT, int_value(1), number_value("1.5"), text_value("a")),
              ROW(MR_ROW_UPSERT, int_value(2), number_value(pass ? "2.5" : "1.5"), null_value()),
              ROW(MR_ROW_UPSERT, int_value(3), null_value(), text_value(pass ? "A" : "a")),
              ROW(MR_ROW_UPSERT, int_value(4), pass ? null_value() : number_value("1"), null_value()));
    assert_query("SELECT id FROM log", "2\n3\n4\n");
    mr_table_unref(tbl);
}

static void test_a_partial_update_keeps_the_other_columns_and_inserts_null(void **state)
{
    (void)state;
    struct mr_table *tbl = keyed();
    APPLY(sink, tbl, false, ROW(MR_ROW_UPSERT, int_value(1), int_value(10), text_value("one")));
    struct mr_row keep = ROW(MR_ROW_UPSERT, int_value(1), absent_value(), text_value("new"));
    struct mr_row fresh = ROW(MR_ROW_UPSERT, int_value(2), int_value(5), absent_value());
    struct mr_row only_key = ROW(MR_ROW_UPSERT, int_value(1), absent_value(), absent_value());
    keep.has_keep = fresh.has_keep = only_key.has_keep = true;
    APPLY(sink, tbl, false, keep, fresh, only_key);
    assert_table(sink, "", "t", "id|a|b\n1|10|new\n2|5|~\n");
    mr_table_unref(tbl);
}

static void assert_read(const struct mr_table *tbl, struct mr_value key, struct mr_value a, struct mr_value b, const char *want)
{
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_value cells[] = {key, a, b}, out[3] = {0};
    struct mr_error err = {0};
    struct mr_buf text = MR_BUF_INIT(1000);
    bool found = false;

    assert_int_equal(sink->ops->begin(sink, &err), MR_OK);
    assert_int_equal(sink->ops->read_row(sink, tbl, cells, ar, out, &found, &err), MR_OK);
    assert_int_equal(sink->ops->commit(sink, &err), MR_OK);
    for (size_t i = 1; i < 3 && found; i++)
        mr_buf_printf(&text, "%u %.*s;", out[i].tag, (int)out[i].len, out[i].tag == MR_V_ABSENT || out[i].tag == MR_V_NULL ? "" : out[i].ptr);
    assert_string_equal(found ? mr_buf_z(&text) : "none", want);
    mr_buf_free(&text);
    mr_arena_destroy(ar);
}

static void test_cells_of_a_row_are_read(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", TEXT, true}, {"j", {.kind = MR_T_JSON}, false}, {"b", TEXT, false});
    char want[64];
    create_table(sink, tbl);
    APPLY(sink, tbl, false, ROW(MR_ROW_UPSERT, text_value("k"), mr_value_bytes(MR_V_JSON, MR_STR("{\"a\":1.10}")), text_value("t")),
          ROW(MR_ROW_UPSERT, text_value("n"), null_value(), null_value()));
    snprintf(want, sizeof want, "%d {\"a\":1.10};%d t;", MR_V_JSON, MR_V_TEXT);
    assert_read(tbl, text_value("k"), null_value(), null_value(), want);
    snprintf(want, sizeof want, "%d ;%d t;", MR_V_ABSENT, MR_V_TEXT);
    assert_read(tbl, text_value("k"), absent_value(), null_value(), want);
    snprintf(want, sizeof want, "%d ;%d ;", MR_V_NULL, MR_V_ABSENT);
    assert_read(tbl, text_value("n"), null_value(), absent_value(), want);
    assert_read(tbl, text_value("x"), null_value(), null_value(), "none");
    mr_table_unref(tbl);
}

static void test_a_null_in_the_key_is_refused(void **state)
{
    (void)state;
    struct mr_table *tbl = keyed(); /* SQLite itself would invent a rowid */
    struct mr_error err = {0};
    struct mr_row rows[] = {ROW(MR_ROW_UPSERT, null_value(), int_value(1), null_value())};
    assert_int_equal(apply_rows(sink, tbl, rows, 1, false, &err), MR_E_DATA);
    assert_string_equal(err.code, MR_CODE_NULL_KEY);
    assert_int_equal(err.row, 0);
    mr_table_unref(tbl);
}

static void test_replay_reports_rows_that_were_there(void **state)
{
    (void)state;
    struct mr_table *tbl = keyed();
    struct mr_row rows[] = {ROW(MR_ROW_INSERT_ONLY, int_value(1), int_value(1), null_value()),
                            ROW(MR_ROW_INSERT_ONLY, int_value(1), int_value(2), null_value())};
    OK(apply_rows(sink, tbl, rows, 2, true, &err));
    assert_false(rows[0].was_there);
    assert_true(rows[1].was_there);
    assert_table(sink, "", "t", "id|a|b\n1|1|~\n");
    mr_table_unref(tbl);
}

static void test_a_moved_row_keeps_its_columns_and_replaces_what_is_in_its_way(void **state)
{
    (void)state;
    struct mr_table *tbl = keyed();
    APPLY(sink, tbl, false, ROW(MR_ROW_UPSERT, int_value(1), int_value(10), text_value("one")),
          ROW(MR_ROW_UPSERT, int_value(2), int_value(20), text_value("two")));
    struct mr_row free_key = ROW(MR_ROW_MOVE, int_value(3), absent_value(), absent_value());
    free_key.match = CELLS(int_value(2), absent_value(), absent_value());
    struct mr_row taken = ROW(MR_ROW_MOVE, int_value(3), absent_value(), absent_value());
    taken.match = CELLS(int_value(1), absent_value(), absent_value());
    struct mr_row none = ROW(MR_ROW_MOVE, int_value(3), absent_value(), absent_value());
    none.match = CELLS(int_value(9), absent_value(), absent_value());
    APPLY(sink, tbl, true, free_key, none);
    assert_table(sink, "", "t", "id|a|b\n1|10|one\n3|20|two\n");
    APPLY(sink, tbl, true, taken);
    assert_table(sink, "", "t", "id|a|b\n3|10|one\n");
    mr_table_unref(tbl);
}

static void test_all_rows_of_a_part_of_the_key_are_moved(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", INT64, true}, {"pos", INT64, true}, {"v", TEXT, false});
    create_table(sink, tbl);
    for (int i = 0; i < 3; i++)
        APPLY(sink, tbl, false, ROW(MR_ROW_UPSERT, int_value(1), int_value(i), text_value("one")),
              ROW(MR_ROW_UPSERT, int_value(2), int_value(i), text_value("two")));
    struct mr_row move = ROW(MR_ROW_MOVE_ALL, int_value(3), absent_value(), absent_value());
    move.match = CELLS(int_value(1), absent_value(), absent_value());
    APPLY(sink, tbl, true, move, ROW(MR_ROW_UPSERT, int_value(3), int_value(1), text_value("new")));
    assert_query("SELECT id, group_concat(pos || v) FROM t GROUP BY id", "2|0two,1two,2two\n3|0one,1new,2one\n");
    mr_table_unref(tbl);
}

static void test_rows_without_a_key_change_one_matching_row(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"a", INT64, false}, {"b", TEXT, false}, {"j", {.kind = MR_T_JSON}, false}, {"n", OPEN, false});
    create_table(sink, tbl);
    struct mr_row same = ROW(MR_ROW_APPEND, int_value(1), null_value(), json_value("{\"x\": 1}"), number_value("1.10"));
    struct mr_row update = ROW(MR_ROW_UPDATE_MATCH, int_value(7), text_value("new"), json_value("[]"), absent_value());
    update.match = CELLS(int_value(1), null_value(), json_value("{ \"x\":1 }"), number_value("1.1"));
    struct mr_row no_match = ROW(MR_ROW_UPDATE_MATCH, int_value(8), text_value("inserted"), absent_value(), absent_value());
    no_match.match = CELLS(int_value(99), absent_value(), absent_value(), absent_value());
    APPLY(sink, tbl, true, same, same, update, no_match);
    assert_table(sink, "", "t", "a|b|j|n\n7|new|[]|1.1\n1|~|{\"x\": 1}|1.1\n8|inserted|~|~\n");

    struct mr_row gone = {.kind = MR_ROW_DELETE_MATCH, .match = CELLS(int_value(1), null_value(), absent_value(), absent_value())};
    struct mr_row none = {.kind = MR_ROW_DELETE_MATCH, .match = CELLS(int_value(8), null_value(), absent_value(), absent_value())};
    APPLY(sink, tbl, true, gone, none);
    assert_table(sink, "", "t", "a|b|j|n\n7|new|[]|1.1\n8|inserted|~|~\n");
    mr_table_unref(tbl);
}

static void test_matching_works_where_columns_are_named_like_the_rowid(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"rowid", TEXT, false}, {"OID", TEXT, false});
    create_table(sink, tbl);
    struct mr_row del = {.kind = MR_ROW_DELETE_MATCH, .match = CELLS(text_value("x"), text_value("y"))};
    APPLY(sink, tbl, true, ROW(MR_ROW_APPEND, text_value("x"), text_value("y")), ROW(MR_ROW_APPEND, text_value("x"), text_value("z")), del);
    assert_table(sink, "", "t", "rowid|OID\nx|z\n");
    mr_table_unref(tbl);
}

static void test_truncate_comes_before_the_rows(void **state)
{
    (void)state;
    struct mr_table *tbl = keyed();
    APPLY(sink, tbl, false, ROW(MR_ROW_UPSERT, int_value(1), int_value(1), null_value()));
    struct mr_row row = ROW(MR_ROW_UPSERT, int_value(2), int_value(2), null_value());
    struct mr_table_batch batch = {.tbl = tbl, .rows = &row, .row_count = 1, .truncate_first = true};
    OK(sink->ops->begin(sink, &err));
    OK(sink->ops->apply(sink, &batch, &err));
    OK(sink->ops->commit(sink, &err));
    assert_table(sink, "", "t", "id|a|b\n2|2|~\n");
    mr_table_unref(tbl);
}

/* ---- Constraints ---- */

static void test_the_offending_row_is_named(void **state)
{
    (void)state;
    struct mr_table *tbl = keyed();
    by_hand("CREATE TRIGGER no_13 BEFORE INSERT ON t WHEN NEW.a = 13 BEGIN SELECT RAISE(ABORT, 'unlucky'); END");
    struct mr_row rows[] = {ROW(MR_ROW_UPSERT, int_value(1), int_value(12), null_value()),
                            ROW(MR_ROW_UPSERT, int_value(2), int_value(13), null_value()),
                            ROW(MR_ROW_UPSERT, int_value(3), int_value(14), null_value())};
    struct mr_error err = {0};
    assert_int_equal(apply_rows(sink, tbl, rows, 3, false, &err), MR_E_DATA);
    assert_int_equal(err.row, 1);
    assert_string_equal(err.code, MR_CODE_CONSTRAINT);
    assert_non_null(strstr(err.message, "unlucky"));
    assert_table(sink, "", "t", "id|a|b\n");
    mr_table_unref(tbl);
}

static struct mr_table *with_unique(void)
{
    struct mr_table *tbl = keyed();
    by_hand("CREATE UNIQUE INDEX t_a ON t (a)");
    tbl->has_other_unique = true;
    APPLY(sink, tbl, true, ROW(MR_ROW_UPSERT, int_value(1), int_value(10), text_value("x")),
          ROW(MR_ROW_UPSERT, int_value(2), int_value(20), text_value("y")));
    return tbl;
}

static void test_rows_that_swap_a_unique_value_are_applied(void **state)
{
    (void)state;
    struct mr_table *tbl = with_unique();
    APPLY(sink, tbl, true, ROW(MR_ROW_UPSERT, int_value(1), int_value(20), text_value("x")),
          ROW(MR_ROW_UPSERT, int_value(2), int_value(10), text_value("y")));
    assert_table(sink, "", "t", "id|a|b\n1|20|x\n2|10|y\n");
    mr_table_unref(tbl);
}

static void test_a_unique_violation_that_stays_names_its_row(void **state)
{
    (void)state;
    struct mr_table *tbl = with_unique();
    struct mr_row rows[] = {ROW(MR_ROW_UPSERT, int_value(1), int_value(11), text_value("x")),
                            ROW(MR_ROW_UPSERT, int_value(3), int_value(20), text_value("z"))};
    struct mr_error err = {0};
    assert_int_equal(apply_rows(sink, tbl, rows, 2, true, &err), MR_E_DATA);
    assert_int_equal(err.row, 1);
    assert_table(sink, "", "t", "id|a|b\n1|10|x\n2|20|y\n");
    mr_table_unref(tbl);
}

/* Removing the old rows would lose what a person has put into a column of their own. */
static void test_rows_of_tables_with_hand_made_columns_are_never_replaced(void **state)
{
    (void)state;
    struct mr_table *tbl = with_unique();
    by_hand("ALTER TABLE t ADD COLUMN note TEXT");
    by_hand("UPDATE t SET note = 'mine'");
    struct mr_row rows[] = {ROW(MR_ROW_UPSERT, int_value(1), int_value(20), text_value("x")),
                            ROW(MR_ROW_UPSERT, int_value(2), int_value(10), text_value("y"))};
    struct mr_error err = {0};
    assert_int_equal(apply_rows(sink, tbl, rows, 2, true, &err), MR_E_DATA);
    assert_int_equal(err.row, 0);
    assert_table(sink, "", "t", "id|a|b|note\n1|10|x|mine\n2|20|y|mine\n");
    mr_table_unref(tbl);
}

static void test_a_missing_table_or_column_is_a_schema_error(void **state)
{
    (void)state;
    struct mr_table *none = TABLE("nowhere", {"id", INT64, true});
    struct mr_row row = ROW(MR_ROW_UPSERT, int_value(1));
    struct mr_error err = {0};
    assert_int_equal(apply_rows(sink, none, &row, 1, false, &err), MR_E_SCHEMA);
    mr_table_unref(none);

    mr_table_unref(keyed());
    struct mr_table *wider = TABLE("t", {"id", INT64, true}, {"unknown", TEXT, false});
    struct mr_row two = ROW(MR_ROW_UPSERT, int_value(1), text_value("x"));
    assert_int_equal(apply_rows(sink, wider, &two, 1, false, &err), MR_E_SCHEMA);
    mr_table_unref(wider);

    by_hand("CREATE TABLE keyless (id INTEGER)");
    struct mr_table *tbl = TABLE("keyless", {"id", INT64, true});
    assert_int_equal(apply_rows(sink, tbl, &row, 1, false, &err), MR_E_SCHEMA);
    mr_table_unref(tbl);
}

/* ---- Transactions ---- */

static void test_savepoints_undo_only_what_came_after_them(void **state)
{
    (void)state;
    struct mr_table *tbl = keyed();
    struct mr_row one = ROW(MR_ROW_UPSERT, int_value(1), int_value(1), null_value());
    struct mr_row two = ROW(MR_ROW_UPSERT, int_value(2), int_value(2), null_value());
    struct mr_row three = ROW(MR_ROW_UPSERT, int_value(3), int_value(3), null_value());
    OK(sink->ops->begin(sink, &err));
    OK(sink->ops->apply(sink, &(struct mr_table_batch){.tbl = tbl, .rows = &one, .row_count = 1}, &err));
    OK(sink->ops->savepoint(sink, &err));
    OK(sink->ops->apply(sink, &(struct mr_table_batch){.tbl = tbl, .rows = &two, .row_count = 1}, &err));
    OK(sink->ops->rollback_savepoint(sink, &err));
    OK(sink->ops->savepoint(sink, &err));
    OK(sink->ops->apply(sink, &(struct mr_table_batch){.tbl = tbl, .rows = &three, .row_count = 1}, &err));
    OK(sink->ops->release_savepoint(sink, &err));
    OK(sink->ops->commit(sink, &err));
    assert_table(sink, "", "t", "id|a|b\n1|1|~\n3|3|~\n");
    sink->ops->rollback(sink); /* fine without a transaction */
    mr_table_unref(tbl);
}

static void test_what_was_not_committed_is_gone_after_reconnecting(void **state)
{
    (void)state;
    struct mr_table *tbl = keyed();
    struct mr_row row = ROW(MR_ROW_UPSERT, int_value(1), int_value(1), null_value());
    OK(sink->ops->begin(sink, &err));
    OK(sink->ops->apply(sink, &(struct mr_table_batch){.tbl = tbl, .rows = &row, .row_count = 1}, &err));
    sink->ops->destroy(sink);
    sink = connect_sink();
    assert_table(sink, "", "t", "id|a|b\n");
    mr_table_unref(tbl);
}

static void *cancel_soon(void *ctx)
{
    mr_sleep_ms(100);
    sink->ops->cancel(ctx);
    return NULL;
}

static void test_cancel_ends_the_wait_for_another_writer(void **state)
{
    (void)state;
    struct mr_sink *other = connect_sink();
    OK(other->ops->begin(other, &err));
    pthread_t thread;
    int64_t start = mr_monotonic_ms();
    struct mr_error refusal = {0};
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, sink), 0);
    assert_int_equal(sink->ops->begin(sink, &refusal), MR_E_BUSY);
    assert_true(mr_monotonic_ms() - start < 5000); /* not the whole wait */
    pthread_join(thread, NULL);
    other->ops->rollback(other);
    other->ops->destroy(other);
    OK(sink->ops->begin(sink, &err));
    sink->ops->rollback(sink);
}

static void *roll_back_soon(void *ctx)
{
    struct mr_sink *other = ctx;
    mr_sleep_ms(100);
    other->ops->rollback(other);
    return NULL;
}

static void test_a_transaction_waits_for_the_other_writer(void **state)
{
    (void)state;
    struct mr_sink *other = connect_sink();
    OK(other->ops->begin(other, &err));
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, roll_back_soon, other), 0);
    OK(sink->ops->begin(sink, &err));
    pthread_join(thread, NULL);
    sink->ops->rollback(sink);
    other->ops->destroy(other);
}

/* ---- Catalog ---- */

static void test_the_catalog_of_a_hand_made_table_is_read(void **state)
{
    (void)state;
    by_hand("CREATE TABLE parent (id INTEGER PRIMARY KEY)");
    by_hand("CREATE TABLE t (b TEXT COLLATE NOCASE DEFAULT 'x', a INT NOT NULL REFERENCES parent, c GENERATED ALWAYS AS (a + 1), u TEXT UNIQUE,"
            " PRIMARY KEY (a, b))");
    by_hand("CREATE UNIQUE INDEX t_partial ON t (u) WHERE u > 'm'; CREATE UNIQUE INDEX t_expression ON t (lower(u));"
            "CREATE INDEX t_plain ON t (u); CREATE UNIQUE INDEX t_two ON t (u, a)");
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_catalog_table now;
    OK(sink->ops->describe_table(sink, MR_STR(""), MR_STR("T"), ar, &now, &err));
    assert_true(now.exists);
    assert_int_equal(now.column_count, 4);
    assert_true(now.columns[0].has_default);
    assert_true(now.columns[0].merges_texts);
    assert_false(now.columns[3].merges_texts);
    assert_true(now.columns[0].nullable);
    assert_false(now.columns[1].nullable);
    assert_true(now.columns[2].generated);
    assert_int_equal(now.key_count, 2);
    assert_true(mr_str_eq_z(now.key[0], "a"));
    assert_true(mr_str_eq_z(now.key[1], "b"));
    assert_int_equal(now.unique_count, 2);
    assert_int_equal(now.unique_set_sizes[0], 1);
    assert_int_equal(now.unique_set_sizes[1], 2);
    assert_true(mr_str_eq_z(now.unique_sets[1][1], "a"));
    assert_true(now.has_foreign_keys);
    OK(sink->ops->describe_table(sink, MR_STR(""), MR_STR("parent"), ar, &now, &err));
    assert_true(now.has_foreign_keys);
    OK(sink->ops->describe_table(sink, MR_STR(""), MR_STR("nowhere"), ar, &now, &err));
    assert_false(now.exists);
    mr_arena_destroy(ar);
}

/* ---- DDL ---- */

static struct mr_str alter(struct mr_table *tbl, enum mr_ddl_kind kind, uint32_t column, struct mr_type from)
{
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_str statement =
        run_step(sink, (struct mr_ddl_step){.kind = kind, .tbl = tbl, .column = column, .from = from, .reason = MR_STR("test")}, ar);
    struct mr_str outcome = statement.len > 0 ? MR_STR("ran") : MR_STR("nothing to do");
    mr_arena_destroy(ar);
    return outcome;
}

/* One row in a column of `from`, widened to `to`: as the text of the new column. */
static void assert_conversion(struct mr_type from, struct mr_value v, struct mr_type to, const char *expected, const char *storage)
{
    by_hand("DROP TABLE IF EXISTS c");
    struct mr_table *before = TABLE("c", {"id", INT64, true}, {"v", from, false});
    struct mr_table *after = TABLE("c", {"id", INT64, true}, {"v", to, false});
    create_table(sink, before);
    APPLY(sink, before, false, ROW(MR_ROW_UPSERT, int_value(1), v), ROW(MR_ROW_UPSERT, int_value(2), null_value()));
    alter(after, MR_DDL_ALTER_TYPE, 1, from);
    char line[256];
    snprintf(line, sizeof(line), "1|%s|%s\n2|~|null\n", expected, storage);
    assert_query("SELECT id, v, typeof(v) FROM c ORDER BY id", line);

    /* What is written now is what the conversion made of the old. */
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_value fresh;
    OK(mr_value_coerce(v, to, ar, &fresh, &err));
    APPLY(sink, after, false, ROW(MR_ROW_UPSERT, int_value(3), fresh));
    if (from.kind != MR_T_DECIMAL && from.kind != MR_T_FLOAT32) /* their texts keep the digits as they stood in the event */
        assert_query("SELECT count(DISTINCT v) FROM c", "1\n");
    mr_arena_destroy(ar);
    mr_table_unref(before);
    mr_table_unref(after);
}

static void test_widening_converts_the_values_that_are_there(void **state)
{
    (void)state;
    struct mr_type text = TEXT, json = {.kind = MR_T_JSON}, open = OPEN, int64 = INT64, f64 = {.kind = MR_T_FLOAT64};
    struct mr_type dec = MR_TYPE_DECIMAL(10, 2), big = MR_TYPE_DECIMAL(30, 4), bytes = {.kind = MR_T_BYTES}, boolean = {.kind = MR_T_BOOL};
    struct mr_type date = {.kind = MR_T_DATE}, time = {.kind = MR_T_TIME}, duration = {.kind = MR_T_DURATION};
    assert_conversion(boolean, mr_value_bool(true), text, "true", "text");
    assert_conversion(boolean, mr_value_bool(false), json, "false", "text");
    assert_conversion(int64, int_value(INT64_MIN), text, "-9223372036854775808", "text");
    assert_conversion(int64, int_value(7), json, "7", "text");
    assert_conversion(int64, int_value(INT64_MAX), open, "9223372036854775807", "integer");
    assert_conversion(int64, int_value(INT64_MAX), big, "9223372036854775807.0000", "text");
    assert_conversion(MR_TYPE(MR_T_INT32), int_value(7), f64, "7.0", "real");
    assert_conversion(f64, mr_value_float(0.30000000000000004), text, "0.30000000000000004", "text");
    assert_conversion(f64, mr_value_float(1.0 / 0.0), text, "Infinity", "text");
    assert_conversion(f64, mr_value_float(1.0 / 0.0), json, "\"Infinity\"", "text");
    assert_conversion(f64, mr_value_float(0.1), open, "0.1", "real");
    assert_conversion(MR_TYPE(MR_T_FLOAT32), mr_value_float((double)0.1f), text, "0.1", "text");
    assert_conversion(dec, number_value("1234567.80"), text, "1234567.80", "text");
    assert_conversion(dec, number_value("-0.05"), big, "-0.0500", "text");
    assert_conversion(dec, number_value("1.5"), open, "1.5", "real");
    assert_conversion(dec, number_value("1.50"), json, "1.50", "text");
    assert_conversion(big, number_value("12345678901234567890.1"), open, "12345678901234567890.1", "text");
    assert_conversion(big, number_value("2.5"), open, "2.5", "real");
    assert_conversion(big, number_value("12345678901234567890.1"), text, "12345678901234567890.1000", "text");
    assert_conversion(open, number_value("1e30"), text, "1000000000000000000000000000000", "text");
    assert_conversion(open, number_value("NaN"), json, "\"NaN\"", "text");
    assert_conversion(text, text_value("a\"b\n"), json, "\"a\\\"b\\n\"", "text");
    assert_conversion(bytes, mr_value_bytes(MR_V_BYTES, mr_str_of("\0\xff", 2)), text, "AP8=", "text");
    assert_conversion(bytes, mr_value_bytes(MR_V_BYTES, MR_STR("")), json, "\"\"", "text");
    assert_conversion(date, mr_value_time(MR_V_DATE, 1), text, "1970-01-02", "text");
    assert_conversion(date, mr_value_time(MR_V_DATE, 1), json, "\"1970-01-02\"", "text");
    assert_conversion(time, mr_value_time(MR_V_TIME, 1000000), duration, "00:00:01", "text");
    assert_conversion(json, json_value("{\"a\":1}"), text, "{\"a\":1}", "text");
}

static void test_a_rebuild_keeps_what_people_have_added(void **state)
{
    (void)state;
    by_hand("CREATE TABLE parent (id INTEGER PRIMARY KEY); INSERT INTO parent VALUES (5)");
    struct mr_table *before = keyed();
    by_hand("ALTER TABLE t ADD COLUMN note TEXT DEFAULT 'none' COLLATE NOCASE");
    by_hand("ALTER TABLE t ADD COLUMN p INTEGER REFERENCES parent");
    by_hand("CREATE INDEX t_note ON t (note) WHERE note > ';'; CREATE TABLE log (what TEXT);"
            "CREATE TRIGGER t_log AFTER INSERT ON t BEGIN INSERT INTO log VALUES (NEW.note); END;"
            "CREATE VIEW v AS SELECT id, a FROM t; CREATE TABLE child (t_id INTEGER REFERENCES t ON DELETE CASCADE)");
    APPLY(sink, before, false, ROW(MR_ROW_UPSERT, int_value(1), int_value(10), text_value("x")));
    by_hand("UPDATE t SET p = 5; INSERT INTO child VALUES (1)");

    struct mr_table *after = TABLE("t", {"id", INT64, true}, {"a", OPEN, false}, {"b", TEXT, false});
    assert_true(mr_str_eq_z(alter(after, MR_DDL_ALTER_TYPE, 1, MR_TYPE(MR_T_INT64)), "ran"));
    APPLY(sink, after, false, ROW(MR_ROW_UPSERT, int_value(2), number_value("0.5"), null_value()));
    assert_table(sink, "", "t", "id|a|b|note|p\n1|10|x|none|5\n2|0.5|~|none|~\n");
    assert_query("SELECT * FROM v ORDER BY id", "1|10\n2|0.5\n");
    assert_query("SELECT * FROM log", "none\nnone\n"); /* the rebuild itself fired nothing */
    assert_query("SELECT * FROM child", "1\n");
    assert_query("SELECT type, name FROM sqlite_master WHERE tbl_name = 't' ORDER BY 1, 2", "index|t_note\ntable|t\ntrigger|t_log\n");
    assert_query("PRAGMA foreign_keys", "1\n");
    assert_query("PRAGMA legacy_alter_table", "0\n");
    assert_true(mr_str_eq_z(alter(after, MR_DDL_ALTER_TYPE, 1, MR_TYPE(MR_T_INT64)), "nothing to do"));
    mr_table_unref(before);
    mr_table_unref(after);
}

static void test_the_primary_key_can_be_replaced_and_dropped(void **state)
{
    (void)state;
    struct mr_table *before = keyed();
    APPLY(sink, before, false, ROW(MR_ROW_UPSERT, int_value(1), int_value(10), text_value("x")));
    struct mr_table *after = TABLE("t", {"id", INT64, false}, {"a", INT64, true}, {"b", TEXT, true});
    alter(after, MR_DDL_REPLACE_KEY, 0, MR_TYPE(MR_T_NONE));
    APPLY(sink, after, false, ROW(MR_ROW_UPSERT, null_value(), int_value(10), text_value("x")),
          ROW(MR_ROW_UPSERT, int_value(1), int_value(11), text_value("x")));
    assert_table(sink, "", "t", "id|a|b\n~|10|x\n1|11|x\n");

    struct mr_table *none = TABLE("t", {"id", INT64, false}, {"a", INT64, false}, {"b", TEXT, false});
    alter(none, MR_DDL_REPLACE_KEY, 0, MR_TYPE(MR_T_NONE));
    APPLY(sink, none, true, ROW(MR_ROW_APPEND, null_value(), null_value(), null_value()));
    assert_query("SELECT count(*) FROM t", "3\n");
    mr_table_unref(before);
    mr_table_unref(after);
    mr_table_unref(none);
}

static void test_a_key_that_the_rows_forbid_is_a_data_error(void **state)
{
    (void)state;
    struct mr_table *before = keyed();
    APPLY(sink, before, false, ROW(MR_ROW_UPSERT, int_value(1), int_value(10), null_value()),
          ROW(MR_ROW_UPSERT, int_value(2), int_value(10), null_value()));
    struct mr_table *after = TABLE("t", {"id", INT64, false}, {"a", INT64, true}, {"b", TEXT, false});
    struct mr_ddl_step step = {.kind = MR_DDL_REPLACE_KEY, .tbl = after};
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_catalog_table now = {0};
    struct mr_str statement;
    struct mr_error refusal = {0};
    OK(sink->ops->begin(sink, &err));
    assert_int_equal(sink->ops->ddl(sink, &step, &now, ar, &statement, &refusal), MR_E_DATA);
    assert_string_equal(refusal.code, MR_CODE_CONSTRAINT);
    sink->ops->rollback(sink);
    assert_table(sink, "", "t", "id|a|b\n1|10|~\n2|10|~\n");
    assert_query("SELECT count(*) FROM sqlite_master", "1\n");
    mr_arena_destroy(ar);
    mr_table_unref(before);
    mr_table_unref(after);
}

static void test_steps_that_are_done_already_do_nothing(void **state)
{
    (void)state;
    struct mr_table *tbl = keyed();
    assert_true(mr_str_eq_z(alter(tbl, MR_DDL_CREATE_TABLE, 0, MR_TYPE(MR_T_NONE)), "nothing to do"));
    assert_true(mr_str_eq_z(alter(tbl, MR_DDL_ADD_COLUMN, 1, MR_TYPE(MR_T_NONE)), "nothing to do"));
    assert_true(mr_str_eq_z(alter(tbl, MR_DDL_REPLACE_KEY, 0, MR_TYPE(MR_T_NONE)), "nothing to do"));
    assert_true(mr_str_eq_z(alter(tbl, MR_DDL_CREATE_SCHEMA, 0, MR_TYPE(MR_T_NONE)), "nothing to do"));
    struct mr_table *wider = TABLE("t", {"id", INT64, true}, {"a", INT64, false}, {"b", TEXT, false}, {"c", {.kind = MR_T_DATE}, false});
    assert_true(mr_str_eq_z(alter(wider, MR_DDL_ADD_COLUMN, 3, MR_TYPE(MR_T_NONE)), "ran"));
    assert_table(sink, "", "t", "id|a|b|c\n");
    mr_table_unref(tbl);
    mr_table_unref(wider);
}

static void test_a_view_in_the_way_is_refused(void **state)
{
    (void)state;
    by_hand("CREATE VIEW t AS SELECT 1 AS id");
    struct mr_table *tbl = TABLE("t", {"id", INT64, true});
    struct mr_ddl_step step = {.kind = MR_DDL_CREATE_TABLE, .tbl = tbl};
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_catalog_table now = {0};
    struct mr_str statement;
    struct mr_error err = {0};
    assert_int_equal(sink->ops->ddl(sink, &step, &now, ar, &statement, &err), MR_E_CONFIG);
    mr_arena_destroy(ar);
    mr_table_unref(tbl);
}

/* A partial update makes one statement per set of columns; they must not pile up. */
static void test_many_sets_of_columns_do_not_pile_up(void **state)
{
    (void)state;
    enum { N = 12 };
    struct column_spec specs[N] = {{"id", INT64, true}};
    char names[N][8];
    for (size_t i = 1; i < N; i++) {
        snprintf(names[i], sizeof(names[i]), "c%zu", i);
        specs[i] = (struct column_spec){names[i], INT64, false};
    }
    struct mr_table *tbl = make_table("t", specs, N);
    create_table(sink, tbl);
    for (unsigned set = 0; set < 1u << (N - 1); set++) {
        struct mr_value cells[N] = {int_value(1)};
        for (unsigned i = 1; i < N; i++)
            cells[i] = set >> (i - 1) & 1 ? int_value(set) : absent_value();
        struct mr_row row = {.kind = MR_ROW_UPSERT, .cells = cells, .has_keep = true};
        OK(apply_rows(sink, tbl, &row, 1, false, &err));
    }
    assert_true(mr_map_count(((struct mr_sqlite *)(void *)sink)->statements) <= 512);
    assert_query("SELECT c1, c11 FROM t", "2047|2047\n");
    mr_table_unref(tbl);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_urls_and_options_are_checked),
        TEST(test_a_folder_that_does_not_exist_is_a_configuration_error_and_a_file_that_cannot_be_opened_is_environment),
        TEST(test_a_file_that_is_no_database_is_a_configuration_error),
        TEST(test_values_of_every_type_come_back_exactly),
        TEST(test_open_decimals_are_numbers_where_nothing_is_lost_and_texts_otherwise),
        TEST(test_texts_that_look_like_numbers_stay_texts),
        TEST(test_a_hand_made_numeric_column_takes_only_what_it_can_hold),
        TEST(test_upserts_insert_and_update_and_deletes_delete),
        TEST(test_a_range_deletes_the_rows_between),
        TEST(test_rows_that_are_the_same_are_not_written_where_the_table_says_so),
        TEST(test_a_partial_update_keeps_the_other_columns_and_inserts_null),
        TEST(test_cells_of_a_row_are_read),
        TEST(test_a_null_in_the_key_is_refused),
        TEST(test_replay_reports_rows_that_were_there),
        TEST(test_a_moved_row_keeps_its_columns_and_replaces_what_is_in_its_way),
        TEST(test_all_rows_of_a_part_of_the_key_are_moved),
        TEST(test_rows_without_a_key_change_one_matching_row),
        TEST(test_matching_works_where_columns_are_named_like_the_rowid),
        TEST(test_truncate_comes_before_the_rows),
        TEST(test_the_offending_row_is_named),
        TEST(test_rows_that_swap_a_unique_value_are_applied),
        TEST(test_a_unique_violation_that_stays_names_its_row),
        TEST(test_rows_of_tables_with_hand_made_columns_are_never_replaced),
        TEST(test_a_missing_table_or_column_is_a_schema_error),
        TEST(test_savepoints_undo_only_what_came_after_them),
        TEST(test_what_was_not_committed_is_gone_after_reconnecting),
        TEST(test_cancel_ends_the_wait_for_another_writer),
        TEST(test_a_transaction_waits_for_the_other_writer),
        TEST(test_the_catalog_of_a_hand_made_table_is_read),
        TEST(test_widening_converts_the_values_that_are_there),
        TEST(test_a_rebuild_keeps_what_people_have_added),
        TEST(test_the_primary_key_can_be_replaced_and_dropped),
        TEST(test_a_key_that_the_rows_forbid_is_a_data_error),
        TEST(test_steps_that_are_done_already_do_nothing),
        TEST(test_a_view_in_the_way_is_refused),
        TEST(test_many_sets_of_columns_do_not_pile_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
