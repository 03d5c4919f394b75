/* SQLite's dialect: types both ways, what a column holds, names, DDL text, the editing of definitions, error classes. */
#include "support/sink_helper.h"

#include <millrace/base/time.h>
#include <millrace/base/utf8.h>

#include "sink/sqlite/internal.h"

static const struct mr_dialect *const dialect = &mr_sqlite_dialect;

static const struct mr_type all_types[] = {
    {.kind = MR_T_BOOL},  {.kind = MR_T_INT16},    {.kind = MR_T_INT32},     {.kind = MR_T_INT64},       {.kind = MR_T_FLOAT32},
    {.kind = MR_T_FLOAT64}, {.kind = MR_T_TEXT},   {.kind = MR_T_BYTES},     {.kind = MR_T_DATE},        {.kind = MR_T_TIME},
    {.kind = MR_T_DURATION}, {.kind = MR_T_TIMESTAMP}, {.kind = MR_T_TIMESTAMPTZ}, {.kind = MR_T_UUID}, {.kind = MR_T_BITS},
    {.kind = MR_T_BITS, .precision = 5}, {.kind = MR_T_JSON}, {.kind = MR_T_DECIMAL, .open = true},
    {.kind = MR_T_DECIMAL, .precision = 10, .scale = 2}, {.kind = MR_T_DECIMAL, .precision = 15},
    {.kind = MR_T_DECIMAL, .precision = 16}, {.kind = MR_T_DECIMAL, .precision = 30, .scale = 10},
    {.kind = MR_T_DECIMAL, .precision = 5, .scale = -2},
};
#define TYPE_COUNT (sizeof(all_types) / sizeof(all_types[0]))

static struct mr_str native_of(struct mr_type type, bool is_key, struct mr_buf *out)
{
    struct mr_column col = {.type = type, .is_key = is_key};
    mr_buf_clear(out);
    dialect->column_type(&col, out);
    return mr_buf_str(out);
}

static void test_every_type_is_read_back_from_its_declared_name(void **state)
{
    (void)state;
    struct mr_buf native = MR_BUF_INIT(256);
    for (size_t i = 0; i < TYPE_COUNT; i++) {
        struct mr_type back = dialect->type_of_column(native_of(all_types[i], false, &native));
        assert_true(mr_type_eq(back, all_types[i]));
    }
    mr_buf_free(&native);
}

static void test_every_column_holds_its_own_type(void **state)
{
    (void)state;
    struct mr_buf native = MR_BUF_INIT(256);
    for (size_t i = 0; i < TYPE_COUNT; i++) {
        assert_true(dialect->native_holds(native_of(all_types[i], false, &native), all_types[i]));
        assert_true(dialect->native_holds(native_of(all_types[i], true, &native), all_types[i]));
    }
    mr_buf_free(&native);
}

/* The affinity decides what SQLite converts behind our back, so each name is held against SQLite's own rules. */
static void test_declared_names_have_the_right_affinity(void **state)
{
    (void)state;
    static const struct {
        const char *native;
        enum mr_affinity affinity;
    } cases[] = {
        {"BOOLEAN", MR_AFFINITY_NUMERIC}, {"SMALLINT", MR_AFFINITY_INTEGER}, {"INT", MR_AFFINITY_INTEGER},
        {"INTEGER", MR_AFFINITY_INTEGER}, {"FLOAT4", MR_AFFINITY_REAL},      {"REAL", MR_AFFINITY_REAL},
        {"TEXT", MR_AFFINITY_TEXT},       {"BLOB", MR_AFFINITY_NONE},        {"DATE", MR_AFFINITY_NUMERIC},
        {"TIME", MR_AFFINITY_NUMERIC},    {"DURATION", MR_AFFINITY_NUMERIC}, {"TIMESTAMPTZ", MR_AFFINITY_NUMERIC},
        {"UUID_TEXT", MR_AFFINITY_TEXT},  {"BITS_TEXT(5)", MR_AFFINITY_TEXT}, {"JSON_TEXT", MR_AFFINITY_TEXT},
        {"DECIMAL_TEXT(30,2)", MR_AFFINITY_TEXT}, {"DECIMAL_BLOB", MR_AFFINITY_NONE}, {"NUMERIC(10,2)", MR_AFFINITY_NUMERIC},
        {"interval", MR_AFFINITY_INTEGER}, {"varchar(20)", MR_AFFINITY_TEXT}, {"double precision", MR_AFFINITY_REAL},
        {"", MR_AFFINITY_NONE},           {"whatever", MR_AFFINITY_NUMERIC},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(mr_sqlite_affinity(mr_str_z(cases[i].native)), cases[i].affinity);
}

static void test_what_a_column_holds(void **state)
{
    (void)state;
    static const struct {
        const char *native;
        struct mr_type type;
        bool holds;
    } cases[] = {
        {"SMALLINT", {.kind = MR_T_INT64}, true},
        {"INT", {.kind = MR_T_DECIMAL, .precision = 18}, true},
        {"INT", {.kind = MR_T_DECIMAL, .precision = 19}, false},
        {"INT", {.kind = MR_T_DECIMAL, .open = true}, false},
        {"INTEGER", {.kind = MR_T_BOOL}, false},
        {"REAL", {.kind = MR_T_INT32}, true},
        {"REAL", {.kind = MR_T_INT64}, false},
        {"REAL", {.kind = MR_T_DECIMAL, .open = true}, false},
        {"FLOAT4", {.kind = MR_T_FLOAT64}, false},
        {"VARCHAR(3)", {.kind = MR_T_DATE}, true},
        {"TEXT", {.kind = MR_T_BYTES}, true},
        {"TEXT", {.kind = MR_T_JSON}, false},
        {"JSON_TEXT", {.kind = MR_T_TEXT}, false},
        {"UUID_TEXT", {.kind = MR_T_TEXT}, false},
        {"BLOB", {.kind = MR_T_TEXT}, false},
        {"DECIMAL_BLOB", {.kind = MR_T_INT64}, true},
        {"DECIMAL_BLOB", {.kind = MR_T_FLOAT64}, true},
        {"DECIMAL_BLOB", {.kind = MR_T_DECIMAL, .precision = 60, .scale = 30}, true},
        {"NUMERIC(10,2)", {.kind = MR_T_DECIMAL, .precision = 8, .scale = 2}, true},
        {"NUMERIC(10,2)", {.kind = MR_T_DECIMAL, .precision = 10, .scale = 3}, false},
        {"NUMERIC(10,2)", {.kind = MR_T_INT16}, true},
        {"NUMERIC(10,2)", {.kind = MR_T_INT64}, false},
        {"NUMERIC(30,2)", {.kind = MR_T_DECIMAL, .precision = 30, .scale = 2}, false}, /* 15 digits are exact there */
        {"DECIMAL_TEXT(30,2)", {.kind = MR_T_DECIMAL, .precision = 30, .scale = 2}, true},
        {"TIME", {.kind = MR_T_DURATION}, false},
        {"DURATION", {.kind = MR_T_TIME}, true},
        {"DATETIME", {.kind = MR_T_TIMESTAMP}, true},
        {"BITS_TEXT", {.kind = MR_T_BITS, .precision = 3}, true},
        {"BITS_TEXT(5)", {.kind = MR_T_BITS, .precision = 3}, false},
        {"", {.kind = MR_T_JSON}, true},
        {"GEOMETRY", {.kind = MR_T_INT16}, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (dialect->native_holds(mr_str_z(cases[i].native), cases[i].type) != cases[i].holds)
            fail_msg("case %zu: %s", i, cases[i].native);
    }
}

static void test_integer_keys_are_declared_so_that_they_are_the_rowid(void **state)
{
    (void)state;
    struct mr_buf native = MR_BUF_INIT(256);
    assert_true(mr_str_eq_z(native_of(MR_TYPE(MR_T_INT16), true, &native), "INTEGER"));
    assert_true(mr_str_eq_z(native_of(MR_TYPE(MR_T_INT64), true, &native), "INTEGER"));
    assert_true(mr_str_eq_z(native_of(MR_TYPE(MR_T_TEXT), true, &native), "TEXT"));
    mr_buf_free(&native);
}

static void test_values_that_sqlite_cannot_hold(void **state)
{
    (void)state;
    struct mr_error err = {0};
    struct mr_value nan = mr_value_float(0.0 / 0.0), inf = mr_value_float(1.0 / 0.0);
    assert_int_equal(dialect->holds(MR_TYPE(MR_T_FLOAT64), false, nan, &err), MR_E_DATA);
    assert_string_equal(err.code, MR_CODE_OUT_OF_RANGE);
    assert_int_equal(dialect->holds(MR_TYPE(MR_T_FLOAT64), false, inf, &err), MR_OK);
    assert_int_equal(dialect->holds(MR_TYPE(MR_T_DATE), false, mr_value_time(MR_V_DATE, MR_TIME_INFINITY), &err), MR_E_DATA);
    assert_string_equal(err.code, MR_CODE_OUT_OF_RANGE);
    assert_int_equal(dialect->holds(MR_TYPE(MR_T_DATE), false, mr_value_time(MR_V_DATE, 5000000), &err), MR_OK);

    struct mr_value text = text_value("a");
    text.flags = MR_TEXT_HAS_NUL;
    assert_int_equal(dialect->holds(MR_TYPE(MR_T_TEXT), true, text, &err), MR_OK);
    text.flags = MR_TEXT_HAS_SURROGATE;
    assert_int_equal(dialect->holds(MR_TYPE(MR_T_TEXT), false, text, &err), MR_E_DATA);
    assert_string_equal(err.code, MR_CODE_TEXT_INVALID);
}

static void test_identifiers_are_quoted(void **state)
{
    (void)state;
    struct mr_buf out = MR_BUF_INIT(256);
    dialect->quote_table(MR_STR(""), MR_STR("we\"ird; DROP"), &out);
    assert_string_equal(mr_buf_z(&out), "\"we\"\"ird; DROP\"");
    mr_buf_free(&out);
}

static void assert_rendered(const struct mr_ddl_step *step, const struct mr_catalog_table *now, const char *expected)
{
    struct mr_buf out = MR_BUF_INIT(1 << 20);
    struct mr_server server = {0};
    dialect->render(step, now, &server, &out);
    assert_string_equal(mr_buf_z(&out), expected);
    mr_buf_free(&out);
}

static void test_create_and_add_column_are_rendered(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", {.kind = MR_T_INT64}, true}, {"a b", {.kind = MR_T_TEXT}, false});
    struct mr_catalog_table now = {0};
    assert_rendered(&(struct mr_ddl_step){.kind = MR_DDL_CREATE_TABLE, .tbl = tbl}, &now,
                    "CREATE TABLE IF NOT EXISTS \"t\" (\n  \"id\" INTEGER NOT NULL,\n  \"a b\" TEXT,\n  PRIMARY KEY (\"id\")\n)");
    assert_rendered(&(struct mr_ddl_step){.kind = MR_DDL_ADD_COLUMN, .tbl = tbl, .column = 1}, &now,
                    "ALTER TABLE \"t\" ADD COLUMN \"a b\" TEXT");
    assert_int_equal(dialect->cost(&(struct mr_ddl_step){.kind = MR_DDL_ADD_COLUMN}, NULL), MR_COST_CATALOG);
    assert_int_equal(dialect->cost(&(struct mr_ddl_step){.kind = MR_DDL_ALTER_TYPE}, NULL), MR_COST_REWRITE);
    mr_table_unref(tbl);
}

static void test_a_type_change_is_rendered_as_a_rebuild(void **state)
{
    (void)state;
    struct mr_table *tbl = TABLE("t", {"id", {.kind = MR_T_INT64}, true}, {"v", {.kind = MR_T_TEXT}, false});
    struct mr_str key[] = {MR_STR("id")};
    struct mr_catalog_column columns[] = {
        {.name = MR_STR("id"), .native = MR_STR("INTEGER"), .type = {.kind = MR_T_INT64}},
        {.name = MR_STR("v"), .native = MR_STR("BOOLEAN"), .type = {.kind = MR_T_BOOL}, .nullable = true},
    };
    struct mr_catalog_table now = {.exists = true, .columns = columns, .column_count = 2, .key = key, .key_count = 1};
    assert_rendered(&(struct mr_ddl_step){.kind = MR_DDL_ALTER_TYPE, .tbl = tbl, .column = 1, .from = {.kind = MR_T_BOOL}}, &now,
                    "CREATE TABLE \"millrace_rebuild_t\" (\n  \"id\" INTEGER NOT NULL,\n  \"v\" TEXT,\n  PRIMARY KEY (\"id\")\n\n);\n"
                    "INSERT INTO \"millrace_rebuild_t\" (\"id\", \"v\") SELECT \"id\", CASE \"v\" WHEN 0 THEN 'false' WHEN 1 THEN 'true'"
                    " ELSE \"v\" END FROM \"t\";\nDROP TABLE \"t\";\nALTER TABLE \"millrace_rebuild_t\" RENAME TO \"t\"");
    mr_table_unref(tbl);
}

/* ---- Definitions ---- */

static void assert_edited(const char *sql, const struct mr_sqlite_change *change, const char *expected)
{
    struct mr_buf out = MR_BUF_INIT(1 << 20);
    assert_true(mr_sqlite_edit_definition(mr_str_z(sql), MR_STR("n"), change, &out));
    assert_string_equal(mr_buf_z(&out), expected);
    mr_buf_free(&out);
}

static void test_only_the_type_of_the_column_is_replaced(void **state)
{
    (void)state;
    struct mr_sqlite_change change = {.column = MR_STR("b"), .native = MR_STR("TEXT")};
    assert_edited("CREATE TABLE t(a INT DEFAULT 5, b NUMERIC(10, 2) NOT NULL CHECK (b > 0) -- money, in EUR\n, c TEXT COLLATE NOCASE)",
                  &change,
                  "CREATE TABLE \"n\" (a INT DEFAULT 5, b TEXT NOT NULL CHECK (b > 0) -- money, in EUR\n, c TEXT COLLATE NOCASE\n)");
    assert_edited("CREATE TABLE \"t (\" ([B] double precision DEFAULT ',)', \"b \" INT) WITHOUT ROWID", &change,
                  "CREATE TABLE \"n\" ([B] TEXT DEFAULT ',)', \"b \" INT\n) WITHOUT ROWID");
    assert_edited("CREATE TABLE t(b, c)", &change, "CREATE TABLE \"n\" (b TEXT, c\n)");
    assert_edited("CREATE TABLE t(b INTEGER PRIMARY KEY AUTOINCREMENT /* x */)", &change,
                  "CREATE TABLE \"n\" (b TEXT PRIMARY KEY  /* x */\n)");
}

static void test_quotes_in_names_are_understood(void **state)
{
    (void)state;
    struct mr_sqlite_change change = {.column = MR_STR("a\"b"), .native = MR_STR("TEXT")};
    assert_edited("CREATE TABLE t(\"a\"\"b\" INT, `a\"b2` INT)", &change, "CREATE TABLE \"n\" (\"a\"\"b\" TEXT, `a\"b2` INT\n)");
}

static void test_the_primary_key_is_replaced(void **state)
{
    (void)state;
    const struct mr_str key[] = {MR_STR("b"), MR_STR("c")};
    struct mr_sqlite_change change = {.replace_key = true, .key = key, .key_count = 2};
    assert_edited("CREATE TABLE t(a INTEGER CONSTRAINT pk PRIMARY KEY ASC AUTOINCREMENT, b INT, c TEXT NOT NULL)", &change,
                  "CREATE TABLE \"n\" (a INTEGER , b INT NOT NULL, c TEXT NOT NULL\n,\n  PRIMARY KEY (\"b\", \"c\"))");
    assert_edited("CREATE TABLE t(a INT NOT NULL, b INT, c TEXT, CONSTRAINT x PRIMARY KEY (a), UNIQUE (b))", &change,
                  "CREATE TABLE \"n\" (a INT, b INT NOT NULL, c TEXT NOT NULL,\n  PRIMARY KEY (\"b\", \"c\"), UNIQUE (b)\n)");
    change.key_count = 0;
    assert_edited("CREATE TABLE t(a INT NOT NULL, PRIMARY KEY (a))", &change, "CREATE TABLE \"n\" (a INT\n)");
}

static void test_what_is_no_create_table_is_refused(void **state)
{
    (void)state;
    struct mr_sqlite_change change = {.column = MR_STR("b"), .native = MR_STR("TEXT")};
    static const char *const texts[] = {"", "CREATE VIRTUAL TABLE t USING fts5(a)", "CREATE TABLE t", "CREATE TABLE t(a", "CREATE TABLE t(a 'x",
                                        "CREATE TABLE t(a /* x", "CREATE TABLE t(a CHECK ((b)"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct mr_buf out = MR_BUF_INIT(1 << 20);
        assert_false(mr_sqlite_edit_definition(mr_str_z(texts[i]), MR_STR("n"), &change, &out));
        mr_buf_free(&out);
    }
}

/* What is cut anywhere, or has any byte changed, is read or refused, and never read beyond its end (the sanitizer watches). */
static void test_broken_definitions_do_no_harm(void **state)
{
    (void)state;
    static const char sql[] = "CREATE TABLE \"t\"(a INTEGER CONSTRAINT pk PRIMARY KEY ON CONFLICT FAIL, [b] NUMERIC(10, 2) NOT NULL CHECK (b > ')'"
                              " /* , */), `c` DEFAULT 'x''y' -- end\n, d AS (a + 1) STORED, UNIQUE (b, c), FOREIGN KEY (b) REFERENCES p) STRICT";
    const struct mr_str key[] = {MR_STR("b")};
    struct mr_sqlite_change type = {.column = MR_STR("b"), .native = MR_STR("TEXT")}, replace = {.replace_key = true, .key = key, .key_count = 1};
    static const char bytes[] = "'\"`[](),-*/ P";
    size_t len = sizeof(sql) - 1;
    for (size_t i = 0; i < len * sizeof(bytes); i++) {
        size_t at = i / sizeof(bytes), cut = i % sizeof(bytes) + 1 == sizeof(bytes) ? at : len;
        char *copy = mr_xmalloc(cut ? cut : 1); /* of exactly that size */
        memcpy(copy, sql, cut);
        if (cut == len)
            copy[at] = bytes[i % sizeof(bytes)];
        for (int which = 0; which < 2; which++) {
            struct mr_buf out = MR_BUF_INIT(1 << 20);
            (void)mr_sqlite_edit_definition(mr_str_of(copy, cut), MR_STR("n"), which ? &type : &replace, &out);
            mr_buf_free(&out);
        }
        mr_xfree(copy);
    }
}

static void test_result_codes_are_classified(void **state)
{
    (void)state;
    static const struct {
        int code;
        enum mr_status status;
        const char *word;
    } cases[] = {
        {SQLITE_BUSY, MR_E_BUSY, NULL},       {SQLITE_BUSY_SNAPSHOT, MR_E_BUSY, NULL},  {SQLITE_LOCKED_SHAREDCACHE, MR_E_BUSY, NULL},
        {SQLITE_FULL, MR_E_ENV, NULL},        {SQLITE_IOERR_FSYNC, MR_E_ENV, NULL},     {SQLITE_CANTOPEN_ISDIR, MR_E_ENV, NULL},
        {SQLITE_READONLY_DBMOVED, MR_E_ENV, NULL}, {SQLITE_NOMEM, MR_E_ENV, NULL},      {SQLITE_ERROR, MR_E_SCHEMA, NULL},
        {SQLITE_SCHEMA, MR_E_SCHEMA, NULL},   {SQLITE_CONSTRAINT_DATATYPE, MR_E_SCHEMA, NULL},
        {SQLITE_CONSTRAINT_UNIQUE, MR_E_DATA, MR_CODE_CONSTRAINT}, {SQLITE_CONSTRAINT_NOTNULL, MR_E_DATA, MR_CODE_CONSTRAINT},
        {SQLITE_CONSTRAINT_FOREIGNKEY, MR_E_DATA, MR_CODE_CONSTRAINT}, {SQLITE_TOOBIG, MR_E_DATA, MR_CODE_TOO_LARGE},
        {SQLITE_MISMATCH, MR_E_DATA, MR_CODE_REFUSED}, {SQLITE_NOTADB, MR_E_CONFIG, NULL}, {SQLITE_INTERRUPT, MR_E_STOPPED, NULL},
        {SQLITE_CORRUPT_INDEX, MR_E_CONFIG, "corrupt"}, {SQLITE_READONLY, MR_E_ENV, MR_CODE_NO_RIGHTS}, {SQLITE_MISUSE, MR_E_BUG, NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char native[16];
        const char *word = NULL;
        snprintf(native, sizeof(native), "%d", cases[i].code);
        assert_int_equal(dialect->classify(native, &word), cases[i].status);
        if (cases[i].word)
            assert_string_equal(word, cases[i].word);
    }
    assert_int_equal(dialect->classify("nonsense", NULL), MR_E_BUG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type_is_read_back_from_its_declared_name),
        cmocka_unit_test(test_every_column_holds_its_own_type),
        cmocka_unit_test(test_declared_names_have_the_right_affinity),
        cmocka_unit_test(test_what_a_column_holds),
        cmocka_unit_test(test_integer_keys_are_declared_so_that_they_are_the_rowid),
        cmocka_unit_test(test_values_that_sqlite_cannot_hold),
        cmocka_unit_test(test_identifiers_are_quoted),
        cmocka_unit_test(test_create_and_add_column_are_rendered),
        cmocka_unit_test(test_a_type_change_is_rendered_as_a_rebuild),
        cmocka_unit_test(test_only_the_type_of_the_column_is_replaced),
        cmocka_unit_test(test_quotes_in_names_are_understood),
        cmocka_unit_test(test_the_primary_key_is_replaced),
        cmocka_unit_test(test_what_is_no_create_table_is_refused),
        cmocka_unit_test(test_broken_definitions_do_no_harm),
        cmocka_unit_test(test_result_codes_are_classified),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
