/* Rows without a schema, decoded by what schema changes told of their tables, or by types set by hand. */
#include "decode_helper.h"

#define P "pre.shop.t"
#define COLUMN(name, type, rest) "{\"name\":\"" name "\",\"typeName\":\"" type "\",\"optional\":true" rest "}"
#define ID "{\"name\":\"id\",\"typeName\":\"INT\",\"optional\":false}"

static const char *source(const char *table_z, int file, int pos, int server)
{
    static char text[4][512];
    static unsigned turn;
    char *out = text[turn++ % 4];
    snprintf(out, sizeof(text[0]),
             "\"source\":{\"connector\":\"mysql\",\"name\":\"pre\",\"db\":\"shop\",\"table\":\"%s\",\"file\":"
             "\"bin.%06d\",\"pos\":%d,"
             "\"server_id\":%d,\"ts_ms\":%d}",
             table_z, file, pos, server, 1000000 + file * 1000 + pos);
    return out;
}

/* A schema change of shop.t with those columns; NULL: the table is dropped. */
static void tell(struct helper *h, const char *source_z, const char *columns_z)
{
    char text[8192], table[7000];
    snprintf(table, sizeof(table), "{\"primaryKeyColumnNames\":[\"id\"],\"columns\":[%s]}",
             columns_z == NULL ? "" : columns_z);
    snprintf(text, sizeof(text),
             "{%s,\"ts_ms\":1,\"databaseName\":\"shop\",\"ddl\":\"…\",\"tableChanges\":[{\"type\":\"%s\","
             "\"id\":\"\\\"shop\\\".\\\"t\\\"\","
             "\"table\":%s}]}",
             source_z, columns_z == NULL ? "DROP" : "ALTER", columns_z == NULL ? "null" : table);
    assert_decodes(h, "pre", "{\"databaseName\":\"shop\"}", text, "control schema-change shop.t ddl …");
}

static void assert_row(struct helper *h, const char *key_z, const char *row_z, const char *source_z,
                       const char *expected_z)
{
    char text[8192];
    snprintf(text, sizeof(text), "{\"before\":null,\"after\":%s,%s,\"op\":\"c\",\"ts_ms\":1}", row_z,
             source_z);
    assert_decodes(h, P, key_z, text, expected_z);
}

static void test_every_column_is_read_as_its_type_at_the_source(void **state)
{
    (void)state;
    struct helper *h = helper_with("debezium");
    tell(
        h, source("t", 1, 10, 0),
        ID
        "," COLUMN("d", "DECIMAL UNSIGNED", ",\"length\":10,\"scale\":2") "," COLUMN("u", "BIGINT UNSIGNED", "") "," COLUMN(
            "b", "BIT",
            ",\"length\":12") "," COLUMN("b1", "BIT",
                                         ",\"length\":1") "," COLUMN("t1",
                                                                     "TINYINT", ",\"length\":1") "," COLUMN("x",
                                                                                                            "VARBINARY",
                                                                                                            ",\"length\":9") "," COLUMN("day", "DATE", "") "," COLUMN("ti", "TIME", ",\"length\":3") "," COLUMN("dt", "DATETIME", "") "," COLUMN("dt6", "DATETIME", ",\"length\":6") "," COLUMN("ts", "TIMESTAMP",
                                                                                                                                                                                                                                                                                                "") "," COLUMN("f",
                                                                                                                                                                                                                                                                                                               "FLOAT", ",\"length\":7,\"scale\":3") "," COLUMN("j",
                                                                                                                                                                                                                                                                                                                                                                "JSON",
                                                                                                                                                                                                                                                                                                                                                                "") "," COLUMN("y",
                                                                                                                                                                                                                                                                                                                                                                               "YEAR", "") "," COLUMN("e",
                                                                                                                                                                                                                                                                                                                                                                                                      "ENUM",
                                                                                                                                                                                                                                                                                                                                                                                                      ",\"enumValues\":[\"'a,b'\",\"'it''s'\"]") "," COLUMN("s",
                                                                                                                                                                                                                                                                                                                                                                                                                                                            "SET",
                                                                                                                                                                                                                                                                                                                                                                                                                                                            "") "," COLUMN("odd",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                           "WHATEVER",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                           ""));
    assert_row(
        h, "{\"id\":1}",
        "{\"id\":1,\"d\":\"MDk=\",\"u\":-1,\"b\":\"AQ8=\",\"b1\":true,\"t1\":1,\"x\":\"YWI=\",\"day\":0,"
        "\"ti\":-1000000,"
        "\"dt\":1000,\"dt6\":1000001,\"ts\":\"2020-01-01T00:00:00Z\",\"f\":1.5,\"j\":\"{\\\"a\\\": "
        "1}\",\"y\":2020,"
        "\"e\":\"a\\\\,b\",\"s\":\"p,q\",\"odd\":\"as it looks\"}",
        source("t", 1, 20, 5),
        "upsert new shop.t key(id=1:int32!) after(id=1:int32! d=#123.45:decimal(10,2)! "
        "u=#18446744073709551615:decimal(20,0)! "
        "b=b111100000001:bits(12)! b1=true:boolean! t1=1:int16! x=x6162:bytes! day=D1970-01-01:date! "
        "ti=I-00:00:01:time! "
        "dt=1970-01-01T00:00:01:timestamp! dt6=1970-01-01T00:00:01.000001:timestamp! "
        "ts=2020-01-01T00:00:00Z:timestamptz! "
        "f=~1.5:float64! j=J{\"a\":1}:json! y=2020:int32! e='a,b':text! s='p,q':text! odd='as it looks')");
    helper_free(h);
}

static void test_options_of_the_connector_that_show_in_a_value_are_recognised(void **state)
{
    (void)state;
    struct helper *h = helper_with("debezium");
    tell(h, source("t", 1, 10, 0),
         ID "," COLUMN("d", "DECIMAL", ",\"length\":10,\"scale\":2") "," COLUMN(
             "u", "BIGINT UNSIGNED",
             "") "," COLUMN("t1", "TINYINT",
                            ",\"length\":1") "," COLUMN("day", "DATE",
                                                        "") "," COLUMN("ti", "TIME",
                                                                       "") "," COLUMN("dt", "DATETIME", ""));
    assert_row(h, "{\"id\":1}",
               "{\"id\":1,\"d\":1.5,\"u\":\"AP//////////"
               "\",\"t1\":true,\"day\":\"2017-09-15Z\",\"ti\":\"04:05:11.789Z\","
               "\"dt\":\"2019-07-09T02:28:57.5Z\"}",
               source("t", 1, 20, 5),
               "upsert new shop.t key(id=1:int32!) after(id=1:int32! d=#1.50:decimal(10,2)! "
               "u=#18446744073709551615:decimal(20,0)! "
               "t1=1:int16! day=D2017-09-15:date! ti=T04:05:11.789000:time! "
               "dt=2019-07-09T02:28:57.500000:timestamp!)");
    helper_free(h);
}

static void test_options_of_the_connector_that_do_not_show_are_ours_too(void **state)
{
    (void)state;
    struct helper *h = helper_new("debezium");
    h->cfg.debezium_decimal = MR_DECIMAL_STRING;
    h->cfg.debezium_time = MR_TIME_NANOSECONDS;
    h->cfg.debezium_binary = MR_BINARY_HEX;
    helper_start(h);
    tell(h, source("t", 1, 10, 0),
         ID "," COLUMN("d", "DECIMAL", ",\"length\":10,\"scale\":0") "," COLUMN(
             "dt", "DATETIME", "") "," COLUMN("x", "BLOB", ""));
    assert_row(h, "{\"id\":1}", "{\"id\":1,\"d\":\"1234\",\"dt\":1000000000,\"x\":\"6162\"}",
               source("t", 1, 20, 5),
               "upsert new shop.t key(id=1:int32!) after(id=1:int32! d=#1234:decimal(10,0)! "
               "dt=1970-01-01T00:00:01:timestamp! x=x6162:bytes!)");
    helper_free(h);
}

static void test_a_row_takes_the_version_of_its_own_place(void **state)
{
    (void)state;
    struct helper *h = helper_with("debezium");
    tell(h, source("t", 9, 500, 0), NULL);
    tell(h, source("t", 9, 500, 0), ID "," COLUMN("v", "DATETIME", ""));
    tell(h, source("t", 10, 40, 7), ID "," COLUMN("v", "DATETIME", ",\"length\":6"));
    assert_row(h, "{\"id\":1}", "{\"id\":1,\"v\":1000}", source("t", 9, 500, 0),
               "upsert new shop.t key(id=1:int32!) after(id=1:int32! v=1970-01-01T00:00:01:timestamp!)");
    assert_row(h, "{\"id\":1}", "{\"id\":1,\"v\":1000}", source("t", 10, 39, 7),
               "upsert new shop.t key(id=1:int32!) after(id=1:int32! v=1970-01-01T00:00:01:timestamp!)");
    assert_row(
        h, "{\"id\":1}", "{\"id\":1,\"v\":1000}", source("t", 10, 41, 7),
        "upsert new shop.t key(id=1:int32!) after(id=1:int32! v=1970-01-01T00:00:00.001000:timestamp!)");
    /* Earlier than everything that was told: the oldest version that is known. */
    assert_row(h, "{\"id\":1}", "{\"id\":1,\"v\":1000}", source("t", 8, 1, 7),
               "upsert new shop.t key(id=1:int32!) after(id=1:int32! v=1970-01-01T00:00:01:timestamp!)");
    helper_free(h);
}

static void test_places_of_another_server_are_compared_by_time(void **state)
{
    (void)state;
    struct helper *h = helper_with("debezium");
    tell(h, source("t", 90, 500, 7), ID "," COLUMN("v", "DATETIME", ""));
    tell(h, source("t", 91, 40, 7), ID "," COLUMN("v", "DATETIME", ",\"length\":6"));
    /* After the failover the log begins anew: file 1, later than all of the above only by its time. */
    char text[512];
    snprintf(text, sizeof(text),
             "\"source\":{\"connector\":\"mysql\",\"name\":\"pre\",\"db\":\"shop\",\"table\":\"t\",\"file\":"
             "\"bin.000001\","
             "\"pos\":4,\"server_id\":8,\"ts_ms\":1200000}");
    assert_row(
        h, "{\"id\":1}", "{\"id\":1,\"v\":1000}", text,
        "upsert new shop.t key(id=1:int32!) after(id=1:int32! v=1970-01-01T00:00:00.001000:timestamp!)");
    helper_free(h);
}

static void test_keys_and_tombstones_are_read_like_the_rows(void **state)
{
    (void)state;
    struct helper *h = helper_with("debezium");
    tell(h, source("t", 1, 10, 0),
         "{\"name\":\"id\",\"typeName\":\"DECIMAL\",\"length\":5,\"scale\":1,\"optional\":false}");
    /* Before any row of the topic its name tells the table. */
    assert_decodes(h, P, "{\"id\":\"Cg==\"}", NULL, "delete tombstone key(id=#1.0:decimal(5,1)!)");
    char text[1024];
    snprintf(text, sizeof(text), "{\"before\":{\"id\":\"Cg==\"},\"after\":null,%s,\"op\":\"d\"}",
             source("t", 1, 20, 5));
    assert_decodes(h, P, "{\"id\":\"Cg==\"}", text,
                   "delete shop.t key(id=#1.0:decimal(5,1)!) before(id=#1.0:decimal(5,1)!)");
    assert_decodes(h, P, "{\"id\":\"Cg==\"}", NULL, "delete tombstone key(id=#1.0:decimal(5,1)!)");
    helper_free(h);
}

static void test_a_column_that_nobody_told_of_is_refused_by_name(void **state)
{
    (void)state;
    struct helper *h = helper_with("debezium");
    char text[1024];
    tell(h, source("t", 1, 10, 0), ID);
    snprintf(text, sizeof(text), "{\"after\":{\"id\":1,\"new\":\"AQ==\"},%s,\"op\":\"c\"}",
             source("t", 1, 20, 5));
    assert_refused(h, P, "{\"id\":1}", text, "no_type", "column \"new\"");
    assert_non_null(strstr(h->err.hint, "types.columns.\"shop.t.new\""));
    tell(h, source("t", 1, 15, 0), ID "," COLUMN("new", "DECIMAL", ",\"length\":3,\"scale\":0"));
    assert_decodes(h, P, "{\"id\":1}", text,
                   "upsert new shop.t key(id=1:int32!) after(id=1:int32! new=#1:decimal(3,0)!)");
    helper_free(h);
}

static void test_rows_of_other_tables_and_connectors_are_taken_as_they_look(void **state)
{
    (void)state;
    struct helper *h = helper_with("debezium");
    tell(h, source("t", 1, 10, 0), ID "," COLUMN("v", "DATE", ""));
    assert_row(h, "{\"id\":1}", "{\"id\":1,\"v\":5}", source("other", 1, 20, 5),
               "upsert new shop.other key(id=1) after(id=1 v=5)");
    assert_row(h, "{\"id\":1}", "{\"id\":1,\"v\":5}",
               "\"source\":{\"connector\":\"postgresql\",\"name\":\"pre\",\"db\":\"shop\",\"table\":\"t\","
               "\"ts_ms\":1}",
               "upsert new shop.t key(id=1) after(id=1 v=5)");
    helper_free(h);
}

static void test_types_set_by_hand_do_where_nobody_tells(void **state)
{
    (void)state;
    struct mr_column_rule rules[] = {
        {.name = (char[]){"shop.t.d"}, .type = MR_TYPE_DECIMAL(10, 2)},
        {.name = (char[]){"shop.t.u"}, .type = MR_TYPE_DECIMAL(20, 0)},
        {.name = (char[]){"shop.t.b"}, .type = MR_TYPE_BITS(12)},
        {.name = (char[]){"shop.t.x"}, .type = MR_TYPE(MR_T_BYTES)},
        {.name = (char[]){"shop.t.day"}, .type = MR_TYPE(MR_T_DATE)},
        {.name = (char[]){"shop.t.ti"}, .type = MR_TYPE(MR_T_TIME)},
        {.name = (char[]){"shop.t.dt"}, .type = MR_TYPE(MR_T_TIMESTAMP)},
        {.name = (char[]){"shop.t.dt6"}, .type = MR_TYPE(MR_T_TIMESTAMP), .digits = 6},
        {.name = (char[]){"shop.t.j"}, .type = MR_TYPE(MR_T_JSON)},
    };
    struct helper *h = helper_new("debezium");
    h->cfg.columns = rules;
    h->cfg.column_count = sizeof(rules) / sizeof(rules[0]);
    helper_start(h);
    assert_row(h, "{\"id\":1}",
               "{\"id\":1,\"d\":\"MDk=\",\"u\":-1,\"b\":\"AQ8=\",\"x\":\"YWI=\",\"day\":0,\"ti\":-1000000,"
               "\"dt\":1000,\"dt6\":1000001,"
               "\"j\":\"[1]\",\"n\":5}",
               source("t", 1, 20, 5),
               "upsert new shop.t key(id=1) after(id=1 d=#123.45:decimal(10,2)! "
               "u=#18446744073709551615:decimal(20,0)! "
               "b=b111100000001:bits(12)! x=x6162:bytes! day=D1970-01-01:date! ti=I-00:00:01:time! "
               "dt=1970-01-01T00:00:01:timestamp! "
               "dt6=1970-01-01T00:00:01.000001:timestamp! j=J[1]:json! n=5)");
    helper_free(h);
}

static void test_what_was_told_is_given_once_to_be_kept_and_taken_back(void **state)
{
    (void)state;
    struct helper *h = helper_with("debezium"), *again = helper_with("debezium");
    tell(h, source("t", 1, 10, 0), ID "," COLUMN("v", "DATE", ""));
    tell(h, source("t", 1, 10, 0), ID "," COLUMN("v", "DATE", "")); /* the same record read once more */
    const struct mr_source_type *row = mr_decoder_set_types_unsaved(h->set, 0);
    assert_non_null(row);
    assert_null(mr_decoder_set_types_unsaved(h->set, 1));
    assert_true(mr_str_eq_z(row->topic, "pre") && row->partition == 3 && row->position == 42 &&
                row->part == 0);
    assert_true(mr_str_eq_z(row->database, "shop") && mr_str_eq_z(row->table, "t"));
    assert_int_equal(mr_decoder_set_types_load(again->set, row, &h->err), MR_OK);
    assert_null(mr_decoder_set_types_unsaved(again->set, 0));
    mr_decoder_set_types_saved(h->set);
    assert_null(mr_decoder_set_types_unsaved(h->set, 0));
    assert_row(again, "{\"id\":1}", "{\"id\":1,\"v\":0}", source("t", 1, 20, 5),
               "upsert new shop.t key(id=1:int32!) after(id=1:int32! v=D1970-01-01:date!)");
    helper_free(again);
    helper_free(h);
}

static void test_none_switches_all_of_it_off(void **state)
{
    (void)state;
    static char none[] = "none";
    struct helper *h = helper_new("debezium");
    h->cfg.debezium_schema_topic = none;
    helper_start(h);
    tell(h, source("t", 1, 10, 0), ID "," COLUMN("v", "DATE", ""));
    assert_row(h, "{\"id\":1}", "{\"id\":1,\"v\":0}", source("t", 1, 20, 5),
               "upsert new shop.t key(id=1) after(id=1 v=0)");
    assert_null(mr_decoder_set_types_unsaved(h->set, 0));
    helper_free(h);
}

static void test_changes_that_make_no_sense_are_passed_over(void **state)
{
    (void)state;
    static const char *const changes[] = {
        "null",
        "[]",
        "{}",
        "{\"type\":\"ALTER\"}",
        "{\"type\":\"ALTER\",\"id\":\"x\"}",
        "{\"type\":\"ALTER\",\"id\":\"\\\"a\",\"table\":{}}",
        "{\"type\":\"ALTER\",\"id\":\"\\\"a\\\"\",\"table\":{\"columns\":[]}}",
        "{\"type\":\"ALTER\",\"id\":\"\\\"a\\\".\\\"b\\\"\",\"table\":{\"columns\":5}}",
        "{\"type\":\"ALTER\",\"id\":\"\\\"shop\\\".\\\"t\\\"\",\"table\":{\"columns\":[null,{},{\"name\":5,"
        "\"typeName\":[],\"length\":-9}]}}",
    };
    struct helper *h = helper_with("debezium");
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        char text[2048];
        snprintf(text, sizeof(text),
                 "{%s,\"ts_ms\":1,\"databaseName\":\"shop\",\"ddl\":\"x\",\"tableChanges\":[%s]}",
                 source("t", 1, 1, 0), changes[i]);
        assert_int_equal(helper_decode(h, "pre", NULL, text), MR_OK);
    }
    helper_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_column_is_read_as_its_type_at_the_source),
        cmocka_unit_test(test_options_of_the_connector_that_show_in_a_value_are_recognised),
        cmocka_unit_test(test_options_of_the_connector_that_do_not_show_are_ours_too),
        cmocka_unit_test(test_a_row_takes_the_version_of_its_own_place),
        cmocka_unit_test(test_places_of_another_server_are_compared_by_time),
        cmocka_unit_test(test_keys_and_tombstones_are_read_like_the_rows),
        cmocka_unit_test(test_a_column_that_nobody_told_of_is_refused_by_name),
        cmocka_unit_test(test_rows_of_other_tables_and_connectors_are_taken_as_they_look),
        cmocka_unit_test(test_types_set_by_hand_do_where_nobody_tells),
        cmocka_unit_test(test_what_was_told_is_given_once_to_be_kept_and_taken_back),
        cmocka_unit_test(test_none_switches_all_of_it_off),
        cmocka_unit_test(test_changes_that_make_no_sense_are_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
