/* What DDL texts of MySQL and MariaDB change. */
#include "decode_helper.h"

#include "../../src/decode/mysql_ddl.h"

/* One line an action. */
static void render_action(const struct mr_source_action *a, struct mr_buf *out)
{
    static const char *const kinds[] = {"describe",   "drop column",  "rename column",
                                        "drop table", "rename table", "not understood"};
    char text[32];
    mr_buf_printf(out, "%s%s %.*s.%.*s", out->len > 0 ? "; " : "", kinds[a->kind],
                  MR_STR_FMT(a->relation.database), MR_STR_FMT(a->relation.table));
    if (a->kind == MR_SRC_RENAME_TABLE)
        mr_buf_printf(out, " to %.*s.%.*s", MR_STR_FMT(a->new_relation.database),
                      MR_STR_FMT(a->new_relation.table));
    if (a->path.len > 0)
        mr_buf_printf(out, " %.*s", MR_STR_FMT(a->path));
    if (a->new_path.len > 0)
        mr_buf_printf(out, " to %.*s", MR_STR_FMT(a->new_path));
    for (size_t i = 0; i < a->columns.count; i++)
        mr_buf_printf(out, "%s%.*s %s", i == 0 ? " (" : ", ", MR_STR_FMT(a->columns.items[i].path),
                      mr_type_text(a->columns.items[i].type, text));
    if (a->columns.count > 0)
        mr_buf_append_char(out, ')');
    for (size_t i = 0; i < a->key_count; i++)
        mr_buf_printf(out, "%s%.*s", i == 0 ? " key " : ",", MR_STR_FMT(a->key[i]));
}

static void assert_reads(const char *sql_z, const char *expected_z)
{
    struct mr_config cfg = helper_config("canal");
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_action_list list = {0};
    struct mr_buf out = MR_BUF_INIT(65536);
    size_t len = strlen(sql_z);
    char *copy = mr_xmalloc(len + 1); /* so that a read beyond its end is found */
    memcpy(copy, sql_z, len);
    mr_mysql_ddl_read(&cfg, mr_str_of(copy, len), MR_STR("d"), ar, &list);
    for (size_t i = 0; i < list.count; i++)
        render_action(&list.items[i], &out);
    assert_string_equal(mr_buf_z(&out), expected_z);
    mr_xfree(copy);
    mr_buf_free(&out);
    mr_arena_destroy(ar);
}

static void test_added_columns_have_their_types(void **state)
{
    (void)state;
    assert_reads("ALTER TABLE t ADD COLUMN age int NULL", "describe d.t (age int32)");
    assert_reads("alter table `x y`.`t``u` add `a.b` decimal(10,2) unsigned not null default '1,5' comment "
                 "'it''s (not' after `z`, add c text",
                 "describe x y.t`u (a\\.b decimal(10,2), c text)");
    assert_reads("ALTER TABLE t ADD (a BIGINT UNSIGNED, b VARCHAR(5) CHARACTER SET utf8mb4 CHECK (b IN "
                 "('x','y')), INDEX i (a))",
                 "describe d.t (a decimal(20,0), b text)");
    assert_reads("ALTER TABLE t ADD IF NOT EXISTS a DOUBLE PRECISION FIRST, ADD COLUMN IF NOT EXISTS b "
                 "NATIONAL CHAR VARYING(9)",
                 "describe d.t (a float64, b text)");
    assert_reads("ALTER TABLE t ADD e ENUM('a,b)','c''d') NOT NULL, ADD v INT AS (a + (b * 2)) VIRTUAL",
                 "describe d.t (e text, v int32)");
}

static void test_dropped_renamed_and_modified_columns_are_told_apart(void **state)
{
    (void)state;
    assert_reads("ALTER TABLE t DROP COLUMN a, DROP b CASCADE, DROP COLUMN IF EXISTS c",
                 "drop column d.t a; drop column d.t b; drop column d.t c");
    assert_reads("ALTER TABLE t RENAME COLUMN a TO b", "rename column d.t a to b");
    assert_reads("ALTER TABLE t CHANGE a b BIGINT NOT NULL",
                 "rename column d.t a to b; describe d.t (b int64)");
    assert_reads("ALTER TABLE t CHANGE COLUMN a a BIGINT", "describe d.t (a int64)");
    assert_reads("ALTER TABLE t MODIFY a DATETIME(6) NULL AFTER c", "describe d.t (a timestamp)");
    assert_reads("ALTER TABLE t RENAME COLUMN a TO b, ADD a DATE, RENAME TO u",
                 "rename column d.t a to b; describe d.t (a date); rename table d.t to d.u");
}

static void test_clauses_speak_of_the_columns_as_they_were(void **state)
{
    (void)state;
    assert_reads("ALTER TABLE t CHANGE a b INT, DROP COLUMN b", "drop column d.t b; rename column d.t a to b; describe d.t (b int32)");
    assert_reads("ALTER TABLE t RENAME COLUMN a TO b, RENAME COLUMN b TO c", "rename column d.t b to c; rename column d.t a to b");
    assert_reads("ALTER TABLE t RENAME COLUMN b TO c, RENAME COLUMN a TO B", "rename column d.t b to c; rename column d.t a to B");
    assert_reads("ALTER TABLE t RENAME COLUMN a TO b, RENAME COLUMN b TO a",
                 "rename column d.t a to millrace_moved_0; rename column d.t b to a; rename column d.t millrace_moved_0 to b");
    assert_reads("ALTER TABLE t RENAME COLUMN x TO a, RENAME COLUMN a TO b, RENAME COLUMN b TO c, DROP c",
                 "drop column d.t c; rename column d.t b to c; rename column d.t a to b; rename column d.t x to a");
    assert_reads("ALTER TABLE t CHANGE a A INT", "rename column d.t a to A; describe d.t (A int32)");
    assert_reads("ALTER TABLE t DROP period, DROP system, DROP PERIOD FOR SYSTEM_TIME, DROP SYSTEM VERSIONING", "drop column d.t period; drop column d.t system");
    assert_reads("ALTER TABLE t ADD period INT, ADD PERIOD FOR SYSTEM_TIME (s, e), ADD SYSTEM VERSIONING", "describe d.t (period int32)");
}

static void test_what_is_no_matter_of_the_target_gives_nothing(void **state)
{
    (void)state;
    static const char *const nothing[] = {
        "ALTER TABLE t ADD INDEX i (a), ADD UNIQUE KEY (b), ADD CONSTRAINT c FOREIGN KEY (x) REFERENCES y "
        "(z), ADD PRIMARY KEY (id)",
        "ALTER TABLE t DROP INDEX i, DROP PRIMARY KEY, DROP FOREIGN KEY f, DROP CONSTRAINT c",
        "ALTER TABLE t ENGINE=InnoDB, COMMENT='x, y', AUTO_INCREMENT = 5, CONVERT TO CHARACTER SET utf8mb4, "
        "ALGORITHM=INPLACE, LOCK=NONE",
        "ALTER TABLE t ALTER COLUMN a SET DEFAULT 5, RENAME INDEX i TO j, ORDER BY a, FORCE, ENABLE KEYS",
        "CREATE INDEX i ON t (a)",
        "DROP INDEX i ON t",
        "CREATE VIEW v AS SELECT 1",
        "DROP VIEW v",
        "SET NAMES utf8mb4",
        "USE `d`",
        "GRANT SELECT ON d.* TO 'r'@'%'",
        "CREATE DATABASE x CHARSET utf8mb4",
        "TRUNCATE TABLE t",
        "CREATE TEMPORARY TABLE t (a INT)",
        "DROP TEMPORARY TABLE t",
        "CREATE TABLE t LIKE u",
        "CREATE TABLE t (LIKE u)",
        "CREATE TABLE t SELECT 1 AS a",
        "-- a comment",
        "/* DROP TABLE t */",
        "",
        ";;",
        "INSERT INTO t VALUES ('; DROP TABLE t')",
        "RENAME USER a TO b",
    };
    for (size_t i = 0; i < sizeof(nothing) / sizeof(nothing[0]); i++)
        assert_reads(nothing[i], "");
}

static void test_tables_are_made_dropped_and_renamed(void **state)
{
    (void)state;
    assert_reads("CREATE TABLE IF NOT EXISTS `t` (`id` bigint NOT NULL AUTO_INCREMENT, `v` varchar(9) "
                 "DEFAULT 'a)b', PRIMARY KEY (`id`) USING BTREE,"
                 " KEY k (v(3)), CONSTRAINT f FOREIGN KEY (v) REFERENCES o (id)) ENGINE=InnoDB COMMENT='(x'",
                 "describe d.t (id int64, v text) key id");
    assert_reads("create table x.t (a int primary key, b bit(3))", "describe x.t (a int32, b bits(3)) key a");
    assert_reads("CREATE TABLE t (a INT, b INT, CONSTRAINT PRIMARY KEY (b DESC, a))",
                 "describe d.t (a int32, b int32) key b,a");
    assert_reads("DROP TABLE IF EXISTS `shop`.`customer`, u /* generated by server */",
                 "drop table shop.customer; drop table d.u");
    assert_reads("RENAME TABLE a TO tmp, x.b TO d.a, tmp TO x.b",
                 "rename table d.a to d.tmp; rename table x.b to d.a; rename table d.tmp to x.b");
    assert_reads("ALTER TABLE IF EXISTS t WAIT 5 RENAME = e.u", "rename table d.t to e.u");
}

static void test_versioned_comments_are_read_and_others_are_not(void **state)
{
    (void)state;
    assert_reads("ALTER TABLE t /*!80000 ADD COLUMN a INT */, # DROP b\n DROP c -- , DROP d",
                 "drop column d.t c; describe d.t (a int32)");
    assert_reads("/*!40000 DROP TABLE */ t", "drop table d.t");
    assert_reads("ALTER TABLE t ADD a INT /*M!100100 COMPRESSED */ /*! INVISIBLE */",
                 "describe d.t (a int32)");
}

static void test_several_statements_are_read_one_by_one(void **state)
{
    (void)state;
    assert_reads("ALTER TABLE t ADD a INT; ALTER TABLE t ADD; DROP TABLE u;",
                 "describe d.t (a int32); not understood d.t; drop table d.u");
}

static void test_what_takes_rows_away_without_events_is_not_passed_over(void **state)
{
    (void)state;
    assert_reads("ALTER TABLE t DROP PARTITION p0, p1", "not understood d.t");
    assert_reads("ALTER TABLE t TRUNCATE PARTITION ALL", "not understood d.t");
    assert_reads("ALTER TABLE t EXCHANGE PARTITION p WITH TABLE u", "not understood d.t");
    assert_reads("DROP DATABASE x", "not understood d.");
    assert_reads("CREATE OR REPLACE TABLE t (a INT, PRIMARY KEY (a))", "drop table d.t; describe d.t (a int32) key a");
    assert_reads("CREATE OR REPLACE TABLE t LIKE u", "drop table d.t");
    assert_reads("CREATE OR REPLACE VIEW t AS SELECT 1", "");
}

static void test_half_a_statement_is_none(void **state)
{
    (void)state;
    static const char *const broken[] = {
        "ALTER TABLE",
        "ALTER TABLE t DROP a, ADD",
        "ALTER TABLE t ADD (a INT",
        "ALTER TABLE t ADD a INT)",
        "CREATE TABLE t (a INT",
        "CREATE TABLE t (",
        "CREATE TABLE t ()",
        "RENAME TABLE a",
        "RENAME TABLE a TO b,",
        "DROP TABLE",
        "DROP TABLE a,",
        "ALTER TABLE t CHANGE a",
        "ALTER TABLE t RENAME COLUMN a b",
        "ALTER TABLE `t",
        "ALTER TABLE t ADD `a",
        "CREATE TABLE t (PRIMARY KEY (",
        "ALTER TABLE t ADD a 'x'",
        "(((",
        "'ALTER TABLE t DROP a'",
    };
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        struct mr_config cfg = helper_config("canal");
        struct mr_arena *ar = mr_arena_create(0);
        struct mr_action_list list = {0};
        mr_mysql_ddl_read(&cfg, mr_str_z(broken[i]), MR_STR("d"), ar, &list);
        if (list.count != 1 || list.items[0].kind != MR_SRC_NOT_UNDERSTOOD)
            fail_msg("%s: %zu actions", broken[i], list.count);
        mr_arena_destroy(ar);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_added_columns_have_their_types),
        cmocka_unit_test(test_dropped_renamed_and_modified_columns_are_told_apart),
        cmocka_unit_test(test_clauses_speak_of_the_columns_as_they_were),
        cmocka_unit_test(test_what_is_no_matter_of_the_target_gives_nothing),
        cmocka_unit_test(test_tables_are_made_dropped_and_renamed),
        cmocka_unit_test(test_versioned_comments_are_read_and_others_are_not),
        cmocka_unit_test(test_several_statements_are_read_one_by_one),
        cmocka_unit_test(test_what_takes_rows_away_without_events_is_not_passed_over),
        cmocka_unit_test(test_half_a_statement_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
