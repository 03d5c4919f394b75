/* Canal's messages, and those of its kin: rows, key changes, values by MySQL's types, statements. */
#include "decode_helper.h"

/* A message of table d.t: type, rows, rows before, types (with the key `id`). */
#define HEAD(type) "{\"database\":\"d\",\"table\":\"t\",\"type\":\"" type "\",\"isDdl\":false,\"gtid\":\"\",\"sql\":\"\","
#define INT_V "\"mysqlType\":{\"id\":\"int(11)\",\"v\":\"varchar(9)\"},\"pkNames\":[\"id\"],"
#define ROWS(type, data, old) HEAD(type) INT_V "\"data\":" data ",\"old\":" old "}"
#define TYPED(types, row) HEAD("INSERT") "\"mysqlType\":" types ",\"pkNames\":null,\"old\":null,\"data\":[" row "]}"
#define DDL(type, database, table, sql) \
    "{\"data\":null,\"database\":\"" database "\",\"table\":\"" table "\",\"type\":\"" type "\",\"isDdl\":true,\"sql\":\"" sql "\"}"

static struct helper *canal(void)
{
    return helper_with("canal");
}

static void test_rows_come_in_order_with_the_types_of_their_columns(void **state)
{
    (void)state;
    struct helper *h = canal();
    assert_decodes(h, "c", NULL, ROWS("INSERT", "[{\"id\":\"1\",\"v\":\"a\"},{\"id\":\"2\",\"v\":null}]", "null"),
                   "upsert new d.t key(id=1:int32!) after(id=1:int32! v='a':text!)\n"
                   "upsert new d.t key(id=2:int32!) after(id=2:int32! v=null:text!)");
    assert_decodes(h, "c", NULL, ROWS("DELETE", "[{\"id\":\"1\",\"v\":\"a\"}]", "null"),
                   "delete d.t key(id=1:int32!) before(id=1:int32! v='a':text!)");
    assert_decodes(h, "c", NULL, ROWS("init", "[{\"id\":\"1\"}]", "null"), "upsert new d.t key(id=1:int32!) after(id=1:int32!)");
    assert_decodes(h, "c", NULL, ROWS("Row", "[{\"id\":\"1\"}]", "null"), "upsert new d.t key(id=1:int32!) after(id=1:int32!)");
    helper_free(h);
}

static void test_update_keeps_what_it_does_not_list(void **state)
{
    (void)state;
    struct helper *h = canal();
    assert_decodes(h, "c", NULL, ROWS("UPDATE", "[{\"id\":\"1\",\"v\":\"b\"}]", "[{\"v\":null}]"),
                   "upsert partial d.t key(id=1:int32!) after(id=1:int32! v='b':text!)");
    assert_decodes(h, "c", NULL, ROWS("UPDATE", "[{\"id\":\"1\"}]", "null"), "upsert partial d.t key(id=1:int32!) after(id=1:int32!)");
    assert_decodes(h, "c", NULL, ROWS("UPDATE", "[{\"id\":\"1\"}]", "[null]"), "upsert partial d.t key(id=1:int32!) after(id=1:int32!)");
    helper_free(h);
}

static void test_key_changes_are_told_by_values_in_the_order_of_the_message(void **state)
{
    (void)state;
    struct helper *h = canal();
    assert_decodes(h, "c", NULL, ROWS("UPDATE", "[{\"id\":\"3\",\"v\":\"b\"},{\"id\":\"2\",\"v\":\"a\"},{\"id\":\"7\",\"v\":\"x\"}]",
                                      "[{\"id\":\"2\"},{\"id\":\"1\"},{\"id\":\"07\",\"v\":\"y\"}]"),
                   "upsert partial d.t key(id=3:int32!) old(id=2:int32!) after(id=3:int32! v='b':text!)\n"
                   "upsert partial d.t key(id=2:int32!) old(id=1:int32!) after(id=2:int32! v='a':text!)\n"
                   "upsert partial d.t key(id=7:int32!) after(id=7:int32! v='x':text!)");
    helper_free(h);
}

static void test_tables_without_a_key_match_by_the_whole_row_before(void **state)
{
    (void)state;
    struct helper *h = canal();
    const char *head = HEAD("UPDATE") "\"mysqlType\":{\"a\":\"int\",\"b\":\"text\"},\"pkNames\":null,";
    char message[512];
    snprintf(message, sizeof(message), "%s\"data\":[{\"a\":\"1\",\"b\":\"x\"}],\"old\":[{\"b\":null,\"gone\":\"z\"}]}", head);
    assert_decodes(h, "c", NULL, message,
                   "upsert partial d.t before(a=1:int32! b=null:text! gone='z') after(a=1:int32! b='x':text!)");
    snprintf(message, sizeof(message), "%s\"data\":[{\"a\":\"1\",\"b\":\"x\"}],\"old\":null}", head);
    assert_decodes(h, "c", NULL, message,
                   "upsert partial d.t before(a=1:int32! b='x':text!) after(a=1:int32! b='x':text!)");
    helper_free(h);
}

static void test_images_that_do_not_fit_together_are_refused(void **state)
{
    (void)state;
    struct helper *h = canal();
    assert_refused(h, "c", NULL, ROWS("UPDATE", "[{\"id\":\"1\"},{\"id\":\"2\"}]", "[{\"v\":\"a\"}]"), "bad_image", "2 rows");
    assert_refused(h, "c", NULL, ROWS("UPDATE", "[7]", "[{}]"), "bad_image", "no object");
    assert_refused(h, "c", NULL, ROWS("UPDATE", "[{\"id\":\"1\"}]", "[7]"), "bad_image", "old");
    assert_refused(h, "c", NULL, ROWS("INSERT", "[{\"v\":\"1\"}]", "null"), "no_key", "\"id\"");
    assert_refused(h, "c", NULL, ROWS("INSERT", "{\"id\":\"1\"}", "null"), "ambiguous", "data");
    assert_refused(h, "c", NULL, ROWS("MERGE", "[{\"id\":\"1\"}]", "null"), "unknown_op", "MERGE");
    assert_refused(h, "c", NULL, HEAD("INSERT") "\"pkNames\":\"id\",\"data\":[{}]}", "bad_image", "pkNames");
    assert_refused(h, "c", NULL, HEAD("INSERT") "\"pkNames\":[1],\"data\":[{}]}", "bad_image", "pkNames");
    assert_refused(h, "c", NULL, "{\"data\":[]}", "ambiguous", "type");
    assert_refused(h, "c", NULL, "7", "ambiguous", "no JSON object");
    assert_int_equal(helper_decode(h, "c", NULL, "[{\"type\":\"QUERY\"},7]"), MR_E_DATA); /* the engine drops what came before */
    assert_string_equal(h->err.code, "ambiguous");
    helper_free(h);
}

static void test_statements_in_place_of_rows_are_a_loss_and_said_so(void **state)
{
    (void)state;
    struct helper *h = canal();
    assert_refused(h, "c", NULL, "{\"type\":\"INSERT\",\"data\":null,\"table\":\"t\",\"sql\":\"insert into t values (1)\"}", "statement_binlog", "statement");
    assert_non_null(strstr(h->err.hint, "binlog_format=ROW"));
    assert_decodes(h, "c", NULL, "{\"type\":\"INSERT\",\"data\":null,\"table\":\"t\",\"sql\":\"\"}", "control empty");
    assert_decodes(h, "c", NULL, "{\"type\":\"UPDATE\",\"data\":[],\"old\":[],\"table\":\"t\"}", "control empty");
    helper_free(h);
}

static void test_dts_before_march_2022_has_images_the_other_way_round(void **state)
{
    (void)state;
    struct helper *h = helper_new("canal");
    h->cfg.canal_image = MR_CANAL_DTS_LEGACY;
    helper_start(h);
    assert_decodes(h, "c", NULL, ROWS("UPDATE", "[{\"id\":\"1\",\"v\":\"was\"}]", "[{\"id\":\"2\",\"v\":\"is\"}]"),
                   "upsert partial d.t key(id=2:int32!) old(id=1:int32!) after(id=2:int32! v='is':text!)");
    assert_refused(h, "c", NULL, ROWS("UPDATE", "[{\"id\":\"1\"}]", "null"), "bad_image", "before");
    assert_decodes(h, "c", NULL, ROWS("DELETE", "null", "[{\"id\":\"1\"}]"), "delete d.t key(id=1:int32!) before(id=1:int32!)");
    helper_free(h);
}

static void test_ticdc_tells_its_transaction_and_cuts_rows_openly(void **state)
{
    (void)state;
    struct helper *h = canal();
    assert_decodes(h, "c", NULL, HEAD("INSERT") INT_V "\"data\":[{\"id\":\"1\"}],\"_tidb\":{\"commitTs\":163963314122145239}}",
                   "upsert new d.t key(id=1:int32!) after(id=1:int32!) tx 163963314122145239");
    assert_refused(h, "c", NULL, HEAD("UPDATE") INT_V "\"data\":[{\"id\":\"1\"}],\"_tidb\":{\"onlyHandleKey\":true}}", "incomplete", "key");
    assert_refused(h, "c", NULL, HEAD("INSERT") INT_V "\"data\":[{\"id\":\"1\"}],\"_tidb\":{\"claimCheckLocation\":\"s3:x\"}}", "incomplete", "key");
    assert_decodes(h, "c", NULL, HEAD("DELETE") INT_V "\"data\":[{\"id\":\"1\"}],\"_tidb\":{\"onlyHandleKey\":true}}",
                   "delete d.t key(id=1:int32!) before(id=1:int32!)");
    assert_decodes(h, "c", NULL, "{\"type\":\"TIDB_WATERMARK\",\"data\":null,\"_tidb\":{\"watermarkTs\":1}}", "control empty");
    /* without lengths a DECIMAL and a BIT say nothing of theirs, and the topic remembers it */
    assert_decodes(h, "c", NULL, TYPED("{\"a\":\"bit\",\"b\":\"decimal\",\"c\":\"varchar\",\"d\":\"enum\"}", "{\"a\":\"5\",\"b\":\"1.50\",\"c\":\"x\",\"d\":\"2\"}"),
                   "upsert new d.t after(a=5:decimal(20,0)! b=#1.50:decimal! c='x':text! d='2':text!)");
    assert_string_equal(h->facts.format, "canal/lengthless");
    assert_decodes(h, "c", NULL, TYPED("{\"a\":\"bit\"}", "{\"a\":\"5\"}"), "upsert new d.t after(a=5:decimal(20,0)!)");
    helper_free(h);
}

static void test_values_by_their_types(void **state)
{
    (void)state;
    struct helper *h = canal();
    assert_decodes(h, "c", NULL, TYPED("{\"a\":\"bigint unsigned\",\"b\":\"BIT\",\"c\":\"bit(5)\",\"d\":\"decimal(10,2)\",\"e\":\"float\",\"f\":\"double\"}",
                                       "{\"a\":\"18446744073709551615\",\"b\":\"1\",\"c\":\"5\",\"d\":\"7.0\",\"e\":\"3.4028235E38\",\"f\":\"1.0E16\"}"),
                   "upsert new d.t after(a=#18446744073709551615:decimal(20,0)! b=true:boolean! c=b00101:bits(5)! d=#7.00:decimal(10,2)! "
                   "e=~3.4028234663852886e+38:float32! f=~10000000000000000:float64!)");
    /* Java writes more digits of a float than it takes */
    assert_decodes(h, "c", NULL, TYPED("{\"a\":\"float\",\"b\":\"float\",\"c\":\"float\"}", "{\"a\":\"1.4E-45\",\"b\":\"-3.4028235E38\",\"c\":\"0.1\"}"),
                   "upsert new d.t after(a=~9.9999999999999998e-46:float32! b=~-3.4028234663852886e+38:float32! c=~0.10000000000000001:float32!)");
    assert_decodes(h, "c", NULL, TYPED("{\"a\":\"date\",\"b\":\"datetime(3)\",\"c\":\"timestamp\",\"d\":\"time\",\"e\":\"TIME(3)\",\"f\":\"year\"}",
                                       "{\"a\":\"2024-02-29\",\"b\":\"2024-01-02 03:04:05.600\",\"c\":\"2024-01-02 03:04:05\",\"d\":\"23:59:59\",\"e\":\"-838:59:59.5\",\"f\":\"0000\"}"),
                   "upsert new d.t after(a=D2024-02-29:date! b=2024-01-02T03:04:05.600000:timestamp! c=2024-01-02T03:04:05Z:timestamptz! "
                   "d=T23:59:59:time! e=I-838:59:59.500000:time! f=0:int16!)");
    assert_decodes(h, "c", NULL, TYPED("{\"a\":\"binary(4)\",\"b\":\"varbinary(9)\",\"c\":\"blob\",\"d\":\"binary\"}",
                                       "{\"a\":\"\\u00ff\",\"b\":\"\\u0000\\u00e9\",\"c\":\"\",\"d\":\"A\"}"),
                   "upsert new d.t after(a=xff000000:bytes! b=x00e9:bytes! c=x:bytes! d=x41:bytes!)");
    assert_decodes(h, "c", NULL, TYPED("{\"a\":\"json\",\"b\":\"json\",\"c\":\"point\"}",
                                       "{\"a\":\" {\\\"x\\\": [1, 1.50]} \",\"b\":\"\",\"c\":\"\\u00e6\\u0010\\u0000\\u0000\\u0001abcd\"}"),
                   "upsert new d.t after(a=J{\"x\":[1,1.50]}:json! b=Jnull:json! c=J{\"wkb\":\"AWFiY2Q=\",\"srid\":4326}:json!)");
    helper_free(h);
}

static void test_enums_and_sets_are_looked_up(void **state)
{
    (void)state;
    struct helper *h = canal();
#define LOOKED_UP TYPED("{\"e\":\"enum('a','it''s','3')\",\"s\":\"set('x','y','z')\"}", "{\"e\":\"%s\",\"s\":\"%s\"}")
    char message[512];
    static const struct {
        const char *e, *s, *want;
    } rows[] = {
        {"2", "5", "e='it's':text! s='x,z':text!"}, {"0", "0", "e='':text! s='':text!"}, {"3", "7", "e='3':text! s='x,y,z':text!"},
        {"a", "x,y", "e='a':text! s='x,y':text!"},
        {"4", "8", "e=invalid(no label of that number in the ENUM):text! s=invalid(bits beyond the labels of the SET):text!"},
        {"99999999999999999999", "99999999999999999999", "e=invalid(no label of that number in the ENUM):text! s=invalid(bits beyond the labels of the SET):text!"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char want[512];
        snprintf(message, sizeof(message), LOOKED_UP, rows[i].e, rows[i].s);
        snprintf(want, sizeof(want), "upsert new d.t after(%s)", rows[i].want);
        assert_decodes(h, "c", NULL, message, want);
    }
    helper_free(h);

    h = helper_new("canal");
    h->cfg.canal_enum = MR_CANAL_LABEL;
    helper_start(h);
    snprintf(message, sizeof(message), LOOKED_UP, "3", "x");
    assert_decodes(h, "c", NULL, message, "upsert new d.t after(e='3':text! s='x':text!)");
    helper_free(h);
}

static void test_a_value_that_is_none_of_its_type_is_no_fault_of_the_message(void **state)
{
    (void)state;
    struct helper *h = canal();
    static const char *const cases[][3] = {
        {"int", "x", "invalid(expected a whole number of at most 64 bits):int32!"},
        {"bit(3)", "8", "invalid(more bits than the type has):bits(3)!"},
        {"bit(1)", "2", "invalid(more bits than the type has):boolean!"},
        {"decimal(5,2)", "1,5", "invalid(expected a decimal number):decimal(5,2)!"},
        {"float", "1e39", "invalid(beyond the range of a 32-bit float):float32!"},
        {"date", "2024-02-30", "invalid(expected a date):date!"},
        {"datetime", "yesterday", "invalid(expected a date and time):timestamp!"},
        {"time", "1", "invalid(expected a time):time!"},
        {"json", "{", "invalid(the text of a JSON column is not JSON):json!"},
        {"json", "JSON_REPLACE(`a`, '$', 1)", "invalid(the text of a JSON column is not JSON):json!"},
        {"blob", "€", "invalid(a character above U+00FF in a binary value):bytes!"},
        {"point", "abc", "invalid(expected a geometry: a number of four bytes, and WKB):json!"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char message[512], want[512];
        snprintf(message, sizeof(message), TYPED("{\"a\":\"%s\"}", "{\"a\":\"%s\"}"), cases[i][0], cases[i][1]);
        snprintf(want, sizeof(want), "upsert new d.t after(a=%s)", cases[i][2]);
        assert_decodes(h, "c", NULL, message, want);
    }
    assert_decodes(h, "c", NULL, TYPED("{\"a\":\"int\",\"b\":\"json\"}", "{\"a\":[1],\"b\":{\"x\":1}}"),
                   "upsert new d.t after(a=invalid(expected a text):int32! b=J{\"x\":1}:json!)");
    helper_free(h);
}

static void test_zero_dates_are_null_or_an_error(void **state)
{
    (void)state;
    const char *message = TYPED("{\"a\":\"date\",\"b\":\"datetime\",\"c\":\"timestamp(3)\",\"d\":\"date\"}",
                                "{\"a\":\"0000-00-00\",\"b\":\"2024-00-10 01:02:03\",\"c\":\"0000-00-00 00:00:00.000\",\"d\":\"2024-10-00\"}");
    (void)state;
    struct helper *h = canal();
    assert_decodes(h, "c", NULL, message, "upsert new d.t after(a=null:date! b=null:timestamp! c=null:timestamptz! d=null:date!)");
    helper_free(h);
    h = helper_new("canal");
    h->cfg.zero_date = MR_ZERO_DATE_ERROR;
    helper_start(h);
    assert_int_equal(helper_decode(h, "c", NULL, message), MR_OK);
    assert_non_null(strstr(mr_buf_z(&h->out), "a=invalid(a date without month or day):date!"));
    helper_free(h);
}

static void test_a_text_that_came_as_a_blob_is_turned_back(void **state)
{
    (void)state;
    struct helper *h = canal();
    assert_decodes(h, "c", NULL, HEAD("INSERT") "\"pkNames\":null,\"mysqlType\":{\"a\":\"text(200)\",\"b\":\"JSON\",\"c\":\"text(9)\",\"d\":\"text(9)\"},"
                   "\"sqlType\":{\"a\":2004,\"b\":2004,\"c\":2004,\"d\":2004},\"data\":[{\"a\":\"hÃ©llo\",\"b\":\"[\\\"Ã¤\\\"]\",\"c\":\"€\",\"d\":\"é\"}]}",
                   "upsert new d.t after(a='héllo':text! b=J[\"ä\"]:json! c='€':text! d='é':text!)");
    helper_free(h);
}

static void test_without_mysql_types_codes_tell_or_nothing_does(void **state)
{
    (void)state;
    struct helper *h = canal();
    assert_decodes(h, "c", NULL, HEAD("INSERT") "\"sqlType\":{\"a\":-5,\"b\":3,\"c\":91,\"d\":12},\"data\":[{\"a\":\"5\",\"b\":\"1.5\",\"c\":\"2024-01-01\",\"d\":\"x\"}]}",
                   "upsert new d.t after(a=5:int64 b=#1.5:decimal c=D2024-01-01:date d='x':text)");
    assert_decodes(h, "c", NULL, HEAD("INSERT") "\"data\":[{\"a\":12,\"b\":1.50,\"c\":true,\"d\":\"x\",\"e\":{\"f\":[1]},\"f\":null}]}",
                   "upsert new d.t after(a=12 b=#1.50 c=true d='x' e=J{\"f\":[1]} f=null)");
    helper_free(h);
}

static void test_messages_without_names_need_a_table(void **state)
{
    (void)state;
    struct helper *h = canal();
    assert_refused(h, "orders", NULL, "{\"data\":[{\"id\":12}],\"type\":\"INSERT\"}", "no_table", "names no table");
    helper_free(h);
    static char table[] = "shop.t";
    h = helper_new("canal");
    h->cfg.target_table = table;
    h->cfg.target_table_set = true;
    helper_start(h);
    assert_decodes(h, "orders", NULL, "{\"data\":[{\"id\":12}],\"type\":\"INSERT\"}", "upsert new .shop.t after(id=12)");
    helper_free(h);
}

static void test_several_messages_in_one_value(void **state)
{
    (void)state;
    struct helper *h = canal();
    assert_decodes(h, "c", NULL, "[" ROWS("INSERT", "[{\"id\":\"1\"}]", "null") "," ROWS("DELETE", "[{\"id\":\"1\"}]", "null") "]",
                   "upsert new d.t key(id=1:int32!) after(id=1:int32!)\ndelete d.t key(id=1:int32!) before(id=1:int32!)");
    assert_decodes(h, "c", NULL, ROWS("INSERT", "[{\"id\":\"1\"}]", "null") "\r\n\r\n" ROWS("DELETE", "[{\"id\":\"1\"}]", "null") "\r\n",
                   "upsert new d.t key(id=1:int32!) after(id=1:int32!)\ndelete d.t key(id=1:int32!) before(id=1:int32!)");
    assert_int_equal(helper_decode(h, "c", NULL, ROWS("INSERT", "[{\"id\":\"1\"}]", "null") "\n{\"type\":"), MR_E_DATA);
    assert_string_equal(h->err.code, "bad_json");
    assert_non_null(strstr(h->err.message, "line 2"));
    assert_refused(h, "c", NULL, "{\"type\":\n\"INSERT\"", "bad_json", "byte");
    assert_decodes(h, "c", NULL, NULL, "control empty");
    assert_decodes(h, "c", NULL, "[]", "control empty");
    helper_free(h);
}

static void test_statements_become_schema_changes_one_a_table(void **state)
{
    (void)state;
    struct helper *h = canal();
    assert_decodes(h, "c", NULL, DDL("ALTER", "shop", "a", "ALTER TABLE a ADD b INT"),
                   "control schema-change shop.a ddl ALTER TABLE a ADD b INT ALTER in 'shop' part 0");
    assert_decodes(h, "c", NULL, DDL("ERASE", "ddl", "dr1", "DROP TABLE `dr1`,x.`dr2` /* generated */"),
                   "control schema-change ddl.dr1 ddl DROP TABLE `dr1`,x.`dr2` /* generated */ DROP in 'ddl' part 0\n"
                   "control schema-change x.dr2 ddl DROP TABLE `dr1`,x.`dr2` /* generated */ DROP in 'ddl' part 1");
    assert_decodes(h, "c", NULL, DDL("RENAME", "shop", "client", "RENAME TABLE customer TO client"),
                   "control schema-change shop.customer ddl RENAME TABLE customer TO client RENAME in 'shop' part 0 to shop.client");
    /* where `c` was is told nowhere */
    assert_decodes(h, "c", NULL, DDL("RENAME", "ddl2", "moved", "RENAME TABLE c TO ddl2.moved"),
                   "control schema-change .c ddl RENAME TABLE c TO ddl2.moved RENAME in '' part 0 to ddl2.moved");
    assert_decodes(h, "c", NULL, DDL("DDL", "shop", "t", "truncate table t"), "truncate shop.t");
    assert_decodes(h, "c", NULL, DDL("TRUNCATE", "shop", "t", ""), "truncate shop.t");
    assert_decodes(h, "c", NULL, DDL("TRUNCATE", "BÃ¼ro", "Aufträge", "TRUNCATE TABLE `Aufträge`"), "truncate Büro.Aufträge");
    assert_decodes(h, "c", NULL, DDL("QUERY", "`wh`", "", "create database wh"),
                   "control schema-change wh. ddl create database wh CREATE_DATABASE in 'wh' part 0");
    assert_decodes(h, "c", NULL, DDL("QUERY", "", "", "CREATE TABLE texts (a LONG VARCHAR)"),
                   "control schema-change .texts ddl CREATE TABLE texts (a LONG VARCHAR) CREATE in '' part 0");
    assert_decodes(h, "c", NULL, DDL("ALTER", "d", "t", "ALTER something odd"),
                   "control schema-change d.t ddl ALTER something odd ALTER in 'd' part 0");
    assert_decodes(h, "c", NULL, DDL("QUERY", "d", "", "GRANT ALL ON *.* TO x"), "control empty");
    assert_decodes(h, "c", NULL, "{\"type\":\"QUERY\",\"isDdl\":false,\"sql\":\"DROP TABLE t\"}", "control empty");
    assert_refused(h, "c", NULL, DDL("TRUNCATE", "", "", ""), "no_table", "TRUNCATE");
    helper_free(h);
}

static void test_names_follow_name_case(void **state)
{
    (void)state;
    struct helper *h = helper_new("canal");
    h->cfg.name_case = MR_CASE_LOWER;
    helper_start(h);
    assert_decodes(h, "c", NULL, "{\"database\":\"SHOP\",\"table\":\"Kunden\",\"type\":\"INSERT\",\"mysqlType\":{\"ID\":\"int\",\"GRÖẞE\":\"int\"},\"pkNames\":[\"ID\"],"
                                 "\"data\":[{\"ID\":\"1\",\"A.B\":\"2\"}]}",
                   "upsert new shop.kunden key(id=1:int32!) after(id=1:int32! a\\.b='2')");
    helper_free(h);
}

static void test_a_configured_key_or_record_key_text_works_without_a_record_key(void **state)
{
    (void)state;
    static char pattern[] = "d.t", field[] = "v";
    static char *fields[] = {field};
    struct helper *h = helper_new("canal");
    h->rules[0] = (struct mr_table_rule){.pattern = pattern, .key_mode = MR_KEY_FIELDS, .key_fields = {fields, 1}};
    h->cfg.tables = h->rules;
    h->cfg.table_count = 1;
    helper_start(h);
    assert_decodes(h, "c", NULL, ROWS("UPDATE", "[{\"id\":\"1\",\"v\":\"b\"}]", "[{\"v\":\"a\"}]"),
                   "upsert partial d.t key(id=1:int32!) before(id=1:int32! v='a':text!) after(id=1:int32! v='b':text!)");
    assert_decodes(h, "c", NULL, ROWS("INSERT", "[{\"v\":\"b\"}]", "null"), "upsert new d.t after(v='b':text!)");
    helper_free(h);

    h = helper_new("canal");
    h->rules[0] = (struct mr_table_rule){.pattern = pattern, .key_mode = MR_KEY_RECORD_TEXT};
    h->cfg.tables = h->rules;
    h->cfg.table_count = 1;
    helper_start(h);
    assert_decodes(h, "c", NULL, ROWS("DELETE", "[{\"id\":\"1\"}]", "null"),
                   "delete d.t key(id=1:int32!) before(id=1:int32!) keytext {\"id\":1}");
    helper_free(h);
}

/* More columns than a table may have are refused before anything is reckoned with; wide rows in any order are found fast. */
static void test_wide_rows(void **state)
{
    (void)state;
    struct helper *h = canal();
    struct mr_buf message = MR_BUF_INIT(64u << 20);
    for (int columns = 4096; columns <= 4097; columns++) {
        mr_buf_clear(&message);
        mr_buf_append_z(&message, HEAD("UPDATE") "\"pkNames\":[\"c1\"],\"mysqlType\":{");
        for (int i = 0; i < columns; i++)
            mr_buf_printf(&message, "%s\"c%d\":\"int\"", i == 0 ? "" : ",", i);
        mr_buf_append_z(&message, "},\"data\":[{");
        for (int i = columns; i-- > 0;)
            mr_buf_printf(&message, "\"c%d\":\"1\"%s", i, i == 0 ? "" : ",");
        mr_buf_append_z(&message, "}],\"old\":[{");
        for (int i = 0; i < columns; i += 2)
            mr_buf_printf(&message, "%s\"c%d\":\"2\"", i == 0 ? "" : ",", i);
        mr_buf_append_z(&message, "}]}");
        if (columns == 4096)
            assert_int_equal(helper_decode(h, "c", NULL, mr_buf_z(&message)), MR_OK);
        else
            assert_refused(h, "c", NULL, mr_buf_z(&message), "too_large", "4096 columns");
    }
    mr_buf_free(&message);
    helper_free(h);
}

static void test_added_fields_have_debezium_names(void **state)
{
    (void)state;
    static char fields[] = "op,ts_ms,source.ts_ms,source.db,table,gtid,topic,offset";
    struct helper *h = helper_new("canal");
    h->cfg.add_fields = fields;
    helper_start(h);
    assert_decodes(h, "c", NULL, "{\"database\":\"d\",\"table\":\"t\",\"type\":\"DELETE\",\"es\":1718000000000,\"ts\":1718000000123,\"gtid\":\"g:1\",\"data\":[{\"a\":1}]}",
                   "delete d.t before(a=1) meta(__op='d':text! __ts_ms=1718000000123:int64! __source_ts_ms=1718000000000 __source_db='d' __table='t' "
                   "__gtid='g:1' __topic='c':text! __offset=42:int64!) tx g:1");
    helper_free(h);
}

static void test_times_in_the_zone_of_the_producer(void **state)
{
    (void)state;
    static char zone[] = "Asia/Shanghai", wrong[] = "Mars";
    struct helper *h = helper_new("canal");
    h->cfg.source_time_zone = zone;
    helper_start(h);
    assert_decodes(h, "c", NULL, TYPED("{\"a\":\"timestamp(3)\",\"b\":\"datetime\"}", "{\"a\":\"2024-06-10 08:15:30.500\",\"b\":\"2024-06-10 08:15:30\"}"),
                   "upsert new d.t after(a=2024-06-10T00:15:30.500000Z:timestamptz! b=2024-06-10T08:15:30:timestamp!)");
    helper_free(h);
    h = helper_new("canal");
    h->cfg.source_time_zone = wrong;
    assert_int_equal(mr_decoder_set_create(&h->cfg, &h->set, &h->err), MR_E_CONFIG);
    assert_non_null(strstr(h->err.message, "source_time_zone: there is no time zone \"Mars\""));
    helper_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_come_in_order_with_the_types_of_their_columns),
        cmocka_unit_test(test_update_keeps_what_it_does_not_list),
        cmocka_unit_test(test_key_changes_are_told_by_values_in_the_order_of_the_message),
        cmocka_unit_test(test_tables_without_a_key_match_by_the_whole_row_before),
        cmocka_unit_test(test_images_that_do_not_fit_together_are_refused),
        cmocka_unit_test(test_statements_in_place_of_rows_are_a_loss_and_said_so),
        cmocka_unit_test(test_dts_before_march_2022_has_images_the_other_way_round),
        cmocka_unit_test(test_ticdc_tells_its_transaction_and_cuts_rows_openly),
        cmocka_unit_test(test_values_by_their_types),
        cmocka_unit_test(test_enums_and_sets_are_looked_up),
        cmocka_unit_test(test_a_value_that_is_none_of_its_type_is_no_fault_of_the_message),
        cmocka_unit_test(test_zero_dates_are_null_or_an_error),
        cmocka_unit_test(test_a_text_that_came_as_a_blob_is_turned_back),
        cmocka_unit_test(test_without_mysql_types_codes_tell_or_nothing_does),
        cmocka_unit_test(test_messages_without_names_need_a_table),
        cmocka_unit_test(test_several_messages_in_one_value),
        cmocka_unit_test(test_statements_become_schema_changes_one_a_table),
        cmocka_unit_test(test_names_follow_name_case),
        cmocka_unit_test(test_a_configured_key_or_record_key_text_works_without_a_record_key),
        cmocka_unit_test(test_wide_rows),
        cmocka_unit_test(test_added_fields_have_debezium_names),
        cmocka_unit_test(test_times_in_the_zone_of_the_producer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
