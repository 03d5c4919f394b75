/* MySQL's types from their texts, the values of such columns, and what statements do to which tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "decode/mysql_statement.h"
#include "decode/mysql_type.h"
#include "decode/names.h"

static struct mr_arena *ar;

static int start(void **state)
{
    (void)state;
    ar = mr_arena_create(0);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    mr_arena_destroy(ar);
    return 0;
}

static void assert_type(const char *text_z, const char *column_z)
{
    struct mr_mysql_type type;
    char text[32];
    mr_mysql_type_parse(mr_str_z(text_z), ar, &type);
    mr_type_text(mr_mysql_column_type(&type, false, false), text);
    if (strcmp(text, column_z) != 0)
        fail_msg("%s: wanted %s, is %s", text_z, column_z, text);
}

static void test_types_as_servers_and_people_write_them(void **state)
{
    (void)state;
    static const char *const types[][2] = {
        {"bigint(20)", "int64"}, {"BIGINT unsigned", "decimal(20,0)"}, {"bigint(20) unsigned zerofill", "decimal(20,0)"},
        {"INT8", "int64"}, {"SERIAL", "decimal(20,0)"}, {"int(10) unsigned", "int64"}, {"INT(8) zerofill", "int64"}, {"INTEGER", "int32"},
        {"MIDDLEINT", "int32"}, {"mediumint(8) unsigned", "int32"}, {"smallint unsigned", "int32"}, {"INT2", "int16"},
        {"tinyint(3) unsigned", "int16"}, {"TINYINT(1)", "int16"}, {"BOOL", "int16"}, {"year(4)", "int16"},
        {"DECIMAL", "decimal(10,0)"}, {"DEC(5,2)", "decimal(5,2)"}, {"DECIMAL(10)", "decimal(10,0)"}, {"FIXED(6, 1)", "decimal(6,1)"},
        {"NUMERIC(4,4)", "decimal(4,4)"}, {"decimal(8,2) unsigned zerofill", "decimal(8,2)"}, {"decimal(99,2)", "decimal"},
        {"FLOAT", "float32"}, {"FLOAT(24)", "float32"}, {"FLOAT(25)", "float64"}, {"FLOAT(7,4)", "float32"}, {"FLOAT4", "float32"},
        {"double(53)", "float64"}, {"DOUBLE PRECISION", "float64"}, {"REAL", "float64"}, {"FLOAT8", "float64"},
        {"date", "date"}, {"time(3)", "time"}, {"datetime(6)", "timestamp"}, {"TIMESTAMP", "timestamptz"},
        {"bit(1)", "boolean"}, {"BIT", "boolean"}, {"bit(33)", "bits(33)"}, {"bit(65)", "decimal(20,0)"},
        {"char(3)", "text"}, {"CHAR VARYING(3)", "text"}, {"LONG VARCHAR", "text"}, {"LONG VARBINARY", "bytes"}, {"LONG", "text"},
        {"CHAR(3) BYTE", "bytes"}, {"binary(16)", "bytes"}, {"varbinary(9)", "bytes"}, {"MEDIUMBLOB", "bytes"},
        {"enum('a','unsigned (1)')", "text"}, {"set('a','b')", "text"}, {"JSON", "json"}, {"geometrycollection", "json"},
        {"GEOMCOLLECTION", "json"}, {"point", "json"}, {"VECTOR(3)", "text"}, {"UUID", "text"}, {"inet6", "text"}, {"", "text"}, {"(", "text"},
    };
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        assert_type(types[i][0], types[i][1]);
}

static void test_a_producer_without_lengths_leaves_digits_open(void **state)
{
    (void)state;
    struct mr_mysql_type type;
    char text[32];
    mr_mysql_type_parse(MR_STR("decimal"), ar, &type);
    assert_string_equal(mr_type_text(mr_mysql_column_type(&type, true, false), text), "decimal");
    mr_mysql_type_parse(MR_STR("bit"), ar, &type);
    assert_string_equal(mr_type_text(mr_mysql_column_type(&type, true, false), text), "decimal(20,0)");
    mr_mysql_type_parse(MR_STR("bit(3)"), ar, &type);
    assert_string_equal(mr_type_text(mr_mysql_column_type(&type, true, false), text), "bits(3)");
    assert_false(type.lacks_length);
    static const char *const shows[] = {"varchar", "VARBINARY", "enum", "set"};
    for (size_t i = 0; i < 4; i++) {
        mr_mysql_type_parse(mr_str_z(shows[i]), ar, &type);
        assert_true(type.lacks_length);
    }
    mr_mysql_type_parse(MR_STR("varchar(3)"), ar, &type);
    assert_false(type.lacks_length);
}

static void test_tinyint1_is_boolean_when_asked(void **state)
{
    (void)state;
    static const char *const yes[] = {"tinyint(1)", "BOOL", "boolean", "TINYINT( 1 )"}, *const no[] = {"tinyint(4)", "int(1)", "tinyint", "tinyint(1) unsigned"};
    struct mr_mysql_type type;
    for (size_t i = 0; i < 4; i++) {
        mr_mysql_type_parse(mr_str_z(yes[i]), ar, &type);
        assert_int_equal(mr_mysql_column_type(&type, false, true).kind, MR_T_BOOL);
        mr_mysql_type_parse(mr_str_z(no[i]), ar, &type);
        assert_int_not_equal(mr_mysql_column_type(&type, false, true).kind, MR_T_BOOL);
    }
}

static void test_labels_may_hold_anything(void **state)
{
    (void)state;
    struct mr_mysql_type type;
    mr_mysql_type_parse(MR_STR("ENUM( 'a','b,c' , 'd''e','(f)','unsigned','','ü',\"q\"\"r\",'back\\slash') unsigned"), ar, &type);
    static const char *const labels[] = {"a", "b,c", "d'e", "(f)", "unsigned", "", "ü", "q\"r", "back\\slash"};
    assert_int_equal(type.label_count, 9);
    for (size_t i = 0; i < 9; i++)
        assert_true(mr_str_eq_z(type.labels[i], labels[i]));
    mr_mysql_type_parse(MR_STR("set('open"), ar, &type);
    assert_int_equal(type.label_count, 1);
    mr_mysql_type_parse(MR_STR("set('"), ar, &type);
    assert_int_equal(type.label_count, 1);
}

static void test_codes_stand_in_for_types(void **state)
{
    (void)state;
    struct mr_mysql_type type;
    static const struct {
        int64_t code;
        bool is_dts;
        uint8_t kind;
    } codes[] = {
        {-5, false, MR_T_INT64}, {3, false, MR_T_DECIMAL}, {7, false, MR_T_FLOAT64}, {91, false, MR_T_DATE}, {93, false, MR_T_TIMESTAMP},
        {2004, false, MR_T_BYTES}, {12, false, MR_T_TEXT}, {12, true, MR_T_TIMESTAMP}, {246, true, MR_T_DECIMAL}, {253, true, MR_T_TEXT},
        {INT64_MAX, false, MR_T_TEXT}, {INT64_MIN, true, MR_T_TEXT},
    };
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        mr_mysql_type_of_code(codes[i].code, codes[i].is_dts, &type);
        struct mr_type column = mr_mysql_column_type(&type, false, false);
        assert_int_equal(column.kind, codes[i].kind);
        assert_int_equal(column.origin, MR_TYPED); /* the code varies from row to row: it speaks for the value */
    }
}

/* ---- Statements ---- */

static void assert_statement(const char *sql_z, const char *want_z)
{
    struct mr_mysql_statement stmt;
    struct mr_buf out = MR_BUF_INIT(4096);
    if (mr_mysql_statement_read(mr_str_z(sql_z), ar, &stmt)) {
        mr_buf_append_z(&out, stmt.is_truncate ? "TRUNCATE" : mr_statement_kind_name(stmt.kind));
        for (size_t i = 0; i < stmt.count; i++) {
            const struct mr_mysql_target *t = &stmt.targets[i];
            mr_buf_printf(&out, " %.*s.%.*s", MR_STR_FMT(t->name.database), MR_STR_FMT(t->name.table));
            if (t->new_name.table.len != 0)
                mr_buf_printf(&out, ">%.*s.%.*s", MR_STR_FMT(t->new_name.database), MR_STR_FMT(t->new_name.table));
        }
    }
    if (strcmp(mr_buf_z(&out), want_z) != 0)
        fail_msg("%s: wanted \"%s\", is \"%s\"", sql_z, want_z, mr_buf_z(&out));
    mr_buf_free(&out);
}

static void test_statements_tell_what_they_do_to_which_tables(void **state)
{
    (void)state;
    static const char *const statements[][2] = {
        {"CREATE TABLE `customer` (`id` bigint)", "CREATE .customer"},
        {"create or replace table if not exists shop . `a``b` like x", "CREATE shop.a`b"},
        {"/* lead */ ALTER TABLE /* in */ a ADD c1 INT -- tail", "ALTER .a"},
        {"ALTER ONLINE TABLE IF EXISTS d.t WAIT 5 ADD x INT COMMENT 'rename to y', DROP z", "ALTER d.t"},
        {"ALTER TABLE a RENAME COLUMN d1 TO d_one, RENAME INDEX i TO j, RENAME KEY k TO l", "ALTER .a"},
        {"ALTER TABLE b RENAME TO c", "RENAME .b>.c"},
        {"ALTER TABLE b ADD (x INT, y INT), RENAME AS d.c", "RENAME .b>d.c"},
        {"ALTER TABLE b RENAME c", "RENAME .b>.c"},
        {"ALTER TABLE b RENAME = `to`", "RENAME .b>.to"},
        {"RENAME TABLE s1 TO tmp_s, s2 TO s1, tmp_s TO s2", "RENAME .s1>.tmp_s .s2>.s1 .tmp_s>.s2"},
        {"RENAME TABLES IF EXISTS c NOWAIT TO ddl2.moved", "RENAME .c>ddl2.moved"},
        {"DROP TABLE IF EXISTS `dr1`,d.`dr2` /* generated by server */", "DROP .dr1 d.dr2"},
        {"TRUNCATE dr2", "TRUNCATE .dr2"},
        {"truncate table `d`.`dr2`;", "TRUNCATE d.dr2"},
        {"CREATE UNIQUE INDEX i1 USING BTREE ON customer (name)", "CREATE_INDEX .customer"},
        {"DROP INDEX `on` ON a", "DROP_INDEX .a"},
        {"create database if not exists wh", "CREATE_DATABASE wh."},
        {"ALTER SCHEMA `w h` CHARACTER SET utf8", "ALTER_DATABASE w h."},
        {"DROP SCHEMA IF EXISTS gone", "DROP_DATABASE gone."},
        {"/*!50001 CREATE TABLE t (a INT) */", "CREATE .t"},
        {"/*M!100401 ALTER TABLE t */ ADD a INT", "ALTER .t"},
        {"# c\n-- d\n--\n DROP TABLE t", "DROP .t"},
        {"CREATE TABLE 日本 (a INT)", "CREATE .日本"},
        {"CREATE TABLE .t (a INT)", "CREATE .t"},
        {"GRANT SELECT ON shop.* TO 'r'@'%'", ""},
        {"CREATE TEMPORARY TABLE t (a INT)", ""},
        {"DROP TEMPORARY TABLE t", ""},
        {"CREATE DEFINER=`a`@`b` VIEW v AS SELECT 1", ""},
        {"CREATE TABLE", ""},
        {"DROP TABLE a,", ""},
        {"RENAME TABLE a", ""},
        {"RENAME TABLE a TO", ""},
        {"INSERT INTO t VALUES (1)", ""},
        {"CREATE TABLE `", ""},
        {"/*", ""},
        {"/*!", ""},
        {"'", ""},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++)
        assert_statement(statements[i][0], statements[i][1]);
}

/* ---- Names ---- */

static void assert_spelled(enum mr_name_case how, const char *name_z, const char *want_z)
{
    struct mr_config cfg = {.name_case = how};
    struct mr_str have = mr_name_spelled(&cfg, mr_str_z(name_z), ar);
    if (!mr_str_eq_z(have, want_z))
        fail_msg("%s: wanted %s, is %.*s", name_z, want_z, MR_STR_FMT(have));
}

static void test_names_in_the_case_that_is_asked_for(void **state)
{
    (void)state;
    assert_spelled(MR_CASE_PRESERVE, "Größe_ЯЖ", "Größe_ЯЖ");
    assert_spelled(MR_CASE_LOWER, "GRÖßE_ÿŸ_ЯЖЁ_ΑΩ_ŁŽ×", "größe_ÿÿ_яжё_αω_łž×");
    assert_spelled(MR_CASE_UPPER, "größe_ÿ_яжё_αω_łž÷", "GRÖßE_Ÿ_ЯЖЁ_ΑΩ_ŁŽ÷");
    assert_spelled(MR_CASE_UPPER, "a\xff" "b日", "A\xff" "B日");
    assert_spelled(MR_CASE_LOWER, "", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types_as_servers_and_people_write_them),
        cmocka_unit_test(test_a_producer_without_lengths_leaves_digits_open),
        cmocka_unit_test(test_tinyint1_is_boolean_when_asked),
        cmocka_unit_test(test_labels_may_hold_anything),
        cmocka_unit_test(test_codes_stand_in_for_types),
        cmocka_unit_test(test_statements_tell_what_they_do_to_which_tables),
        cmocka_unit_test(test_names_in_the_case_that_is_asked_for),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
