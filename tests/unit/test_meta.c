/* unwrap.add.fields: the grammar, where each item is read, and what it is called. */
#include "decode_helper.h"

#include <millrace/base/log.h>

#define T "pre.shop.t"
#define EVENT                                                                                                        \
    "{\"before\":null,\"after\":{\"id\":1,\"__op\":\"mine\"},"                                                        \
    "\"source\":{\"connector\":\"mysql\",\"db\":\"shop\",\"table\":\"t\",\"ts_ms\":1700,\"gtid\":null,\"version\":\"3\"}," \
    "\"transaction\":%s,\"op\":\"u\",\"ts_ms\":1701,\"ts_us\":1701002}"

static char fields[512], prefix[16];

static struct helper *helper_adding(const char *format_z, const char *list_z, const char *prefix_z)
{
    struct helper *h = helper_new(format_z);
    snprintf(fields, sizeof(fields), "%s", list_z);
    snprintf(prefix, sizeof(prefix), "%s", prefix_z);
    h->cfg.add_fields = fields;
    h->cfg.add_fields_prefix = prefix;
    return h;
}

static void assert_adds(const char *list_z, const char *prefix_z, const char *transaction_z, const char *expected_z)
{
    char value[1024];
    struct helper *h = helper_adding("debezium", list_z, prefix_z);
    helper_start(h);
    snprintf(value, sizeof(value), EVENT, transaction_z);
    assert_int_equal(helper_decode(h, T, NULL, value), MR_OK);
    const char *meta = strstr(mr_buf_z(&h->out), " meta(");
    assert_string_equal(meta == NULL ? "" : meta + 1, expected_z);
    helper_free(h);
}

static void test_names_are_read_from_envelope_source_and_transaction(void **state)
{
    (void)state;
    assert_adds("op , ts_ms,source.ts_ms", "__", "null", "meta(__op='u':text! __ts_ms=1701:int64! __source_ts_ms=1700)");
    assert_adds("ts_us,ts_ns", "__", "null", "meta(__ts_us=1701002:int64! __ts_ns=null:int64!)");
    assert_adds("db,table,gtid", "__", "null", "meta(__db='shop' __table='t' __gtid=null)");
    assert_adds("transaction.id,total_order", "__", "{\"id\":\"x\",\"total_order\":\"2\"}", "meta(__transaction_id='x' __total_order='2') tx x no 2 of ");
    assert_adds("transaction.id,total_order", "__", "null", "meta(__transaction_id=null __total_order=null)");
    assert_adds("nosuch,nosuch.x,source.a.b", "__", "null", "meta(__nosuch=null __nosuch_x=null __source_a=null)");
}

static void test_renames_and_prefixes(void **state)
{
    (void)state;
    assert_adds("version:VERSION,source.ts_ms:AT, op:", "__", "null", "meta(__VERSION='3' __AT=1700 __op='u':text!)");
    assert_adds("op:OP,db", "", "null", "meta(OP='u':text! db='shop')");
    assert_adds("op", "meta.", "null", "meta(meta\\.op='u':text!)");
}

static void test_our_own_names_tell_where_the_message_stood(void **state)
{
    (void)state;
    assert_adds("topic,partition,offset:pos", "__", "null", "meta(__topic='pre.shop.t':text! __partition=3:int32! __pos=42:int64!)");
}

static void test_types_come_from_the_schema(void **state)
{
    (void)state;
    struct helper *h = helper_adding("debezium", "op,pos,snapshot", "__");
    helper_start(h);
    assert_decodes(h, T, NULL,
                   "{\"schema\":{\"type\":\"struct\",\"fields\":[{\"type\":\"struct\",\"field\":\"after\",\"fields\":[]},"
                   "{\"type\":\"struct\",\"field\":\"source\",\"fields\":[{\"type\":\"int64\",\"optional\":false,\"field\":\"pos\"},"
                   "{\"type\":\"string\",\"field\":\"snapshot\"}]}],\"name\":\"x.Envelope\"},"
                   "\"payload\":{\"after\":{},\"source\":{\"db\":\"d\",\"table\":\"t\",\"pos\":7,\"snapshot\":\"last\"},\"op\":\"c\"}}",
                   "upsert new d.t meta(__op='c':text! __pos=7:int64! __snapshot='last':text!)");
    helper_free(h);
}

static void test_metadata_wins_over_a_field_of_the_same_name(void **state)
{
    (void)state;
    char value[1024];
    struct helper *h = helper_adding("debezium", "op", "__");
    helper_start(h);
    snprintf(value, sizeof(value), EVENT, "null");
    assert_decodes(h, T, "{\"id\":1}", value, "upsert shop.t key(id=1) after(id=1) meta(__op='u':text!)");
    helper_free(h);
}

static void test_other_formats_add_what_they_know(void **state)
{
    (void)state;
    struct helper *h = helper_adding("flat", "op,ts_ms,topic,offset", "__");
    helper_start(h);
    assert_decodes(h, T, "{\"id\":1}", "{\"id\":1,\"__topic\":\"x\"}", "upsert key(id=1) after(id=1) meta(__topic='pre.shop.t':text! __offset=42:int64!)");
    assert_decodes(h, T, "{\"id\":1}", "{\"id\":1,\"__deleted\":true}",
                   "delete row key(id=1) after(id=1) meta(__op='d':text! __topic='pre.shop.t':text! __offset=42:int64!)");
    helper_free(h);

    h = helper_adding("json", "partition", "__");
    helper_start(h);
    assert_decodes(h, T, NULL, "{\"id\":1}", "upsert after(id=1) meta(__partition=3:int32!)");
    helper_free(h);
}

static void test_tombstones_of_envelopes_carry_the_op_of_a_delete(void **state)
{
    (void)state;
    struct helper *h = helper_adding("debezium", "op,source.ts_ms", "__");
    helper_start(h);
    assert_decodes(h, T, "{\"id\":1}", NULL, "delete tombstone key(id=1) meta(__op='d':text!)");
    helper_free(h);
}

static void assert_bad(const char *list_z, const char *message_part_z)
{
    struct helper *h = helper_adding("debezium", list_z, "__");
    assert_int_equal(mr_decoder_set_create(&h->cfg, &h->set, &h->err), MR_E_CONFIG);
    assert_non_null(strstr(h->err.message, message_part_z));
    helper_free(h);
}

static void test_mistakes_in_the_list_are_configuration_errors(void **state)
{
    (void)state;
    assert_bad("op:a:b", "more than one colon");
    assert_bad(":x", "names no field");
    assert_bad("source.", "names no field");
    assert_bad(".x", "names no field");
    assert_bad("op,op", "two columns");
    assert_bad("op,ts_ms:op", "two columns");
}

static void test_a_column_of_the_marks_name_is_refused_where_deletes_set_it(void **state)
{
    (void)state;
    struct helper *h = helper_adding("debezium", "op:deleted", "__");
    helper_start(h); /* nothing sets it */
    mr_decoder_set_destroy(h->set);
    h->set = NULL;
    h->cfg.unwrap_delete = MR_DELETE_SOFT;
    assert_int_equal(mr_decoder_set_create(&h->cfg, &h->set, &h->err), MR_E_CONFIG);
    assert_string_equal(h->err.message, "unwrap.add.fields makes a column \"__deleted\", which deletes have already");
    helper_free(h);
}

static void test_added_columns_keep_their_names_where_fields_are_adjusted(void **state)
{
    (void)state;
    struct helper *h = helper_adding("debezium", "op,source.db:a-b", "__");
    h->cfg.field_names = MR_NAMES_AVRO_UNICODE;
    helper_start(h);
    assert_int_equal(helper_decode(h, T, NULL, "{\"before\":null,\"after\":{\"__op\":\"mine\"},\"source\":{\"connector\":\"mysql\","
                                               "\"db\":\"d\",\"table\":\"t\"},\"op\":\"c\"}"),
                     MR_OK);
    assert_non_null(strstr(mr_buf_z(&h->out), "after(__op='mine')"));
    assert_non_null(strstr(mr_buf_z(&h->out), "meta(\\__op='c':text! \\__a-b='d')"));
    helper_free(h);
}

static void test_mongodb_rows_get_them_too(void **state)
{
    (void)state;
    struct helper *h = helper_adding("debezium", "op,collection", "__");
    helper_start(h);
    assert_int_equal(helper_decode(h, T, "{\"id\":\"1\"}",
                                   "{\"before\":null,\"after\":\"{\\\"_id\\\":1,\\\"__op\\\":5}\",\"source\":{\"connector\":\"mongodb\","
                                   "\"db\":\"d\",\"collection\":\"c\"},\"op\":\"c\"}"),
                     MR_OK);
    assert_non_null(strstr(mr_buf_z(&h->out), "meta(__op='c':text! __collection='c')"));
    assert_null(strstr(mr_buf_z(&h->out), "__op=5"));
    helper_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_are_read_from_envelope_source_and_transaction),
        cmocka_unit_test(test_renames_and_prefixes),
        cmocka_unit_test(test_our_own_names_tell_where_the_message_stood),
        cmocka_unit_test(test_types_come_from_the_schema),
        cmocka_unit_test(test_metadata_wins_over_a_field_of_the_same_name),
        cmocka_unit_test(test_other_formats_add_what_they_know),
        cmocka_unit_test(test_tombstones_of_envelopes_carry_the_op_of_a_delete),
        cmocka_unit_test(test_mistakes_in_the_list_are_configuration_errors),
        cmocka_unit_test(test_a_column_of_the_marks_name_is_refused_where_deletes_set_it),
        cmocka_unit_test(test_added_columns_keep_their_names_where_fields_are_adjusted),
        cmocka_unit_test(test_mongodb_rows_get_them_too),
    };
    mr_log_setup(MR_LOG_ERROR, MR_LOG_LOGFMT, false);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
