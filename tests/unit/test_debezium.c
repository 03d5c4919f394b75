/* Relational envelopes: operations, keys, tombstones, control messages, wrapped and bare. */
#include "decode_helper.h"

#define SOURCE "\"source\":{\"connector\":\"mysql\",\"db\":\"shop\",\"table\":\"t\",\"ts_ms\":1700000000000}"
#define T "pre.shop.t"

static void test_insert_bare_gives_an_upsert_of_a_new_row(void **state)
{
    (void)state;
    struct helper *h = helper_with("debezium");
    assert_decodes(h, T, "{\"id\":1}",
                   "{\"before\":null,\"after\":{\"id\":1,\"n\":\"a\",\"x\":null,\"d\":1.50}," SOURCE
                   ",\"op\":\"c\",\"ts_ms\":1}",
                   "upsert new shop.t key(id=1) after(id=1 n='a' x=null d=#1.50)");
    assert_true(h->facts.envelopes_seen && h->facts.dirty);
    helper_free(h);
}

static void test_snapshot_read_is_new_and_update_is_not(void **state)
{
    (void)state;
    struct helper *h = helper_with("debezium");
    assert_decodes(h, T, "{\"id\":1}", "{\"after\":{\"id\":1}," SOURCE ",\"op\":\"r\"}",
                   "upsert new shop.t key(id=1) after(id=1)");
    assert_decodes(h, T, "{\"id\":1}", "{\"before\":{\"id\":1,\"n\":1},\"after\":{\"id\":1,\"n\":2}," SOURCE ",\"op\":\"u\"}",
                   "upsert shop.t key(id=1) after(id=1 n=2)");
    helper_free(h);
}

static void test_keyless_update_and_delete_carry_the_before_image(void **state)
{
    (void)state;
    struct helper *h = helper_with("debezium");
    assert_decodes(h, T, NULL, "{\"before\":{\"n\":1},\"after\":{\"n\":2}," SOURCE ",\"op\":\"u\"}",
                   "upsert shop.t before(n=1) after(n=2)");
    assert_decodes(h, T, "{}", "{\"before\":{\"n\":1},\"after\":null," SOURCE ",\"op\":\"d\"}",
                   "delete shop.t before(n=1)");
    assert_refused(h, T, NULL, "{\"before\":null,\"after\":null," SOURCE ",\"op\":\"d\"}", "bad_image", "neither");
    helper_free(h);
}

static void test_key_of_one_update_that_differs_from_its_row_is_the_old_key(void **state)
{
    (void)state;
    struct helper *h = helper_with("debezium");
    assert_decodes(h, T, "{\"id\":1,\"k\":\"x\"}",
                   "{\"before\":{\"id\":1,\"k\":\"x\"},\"after\":{\"id\":2,\"k\":\"x\",\"n\":0}," SOURCE ",\"op\":\"u\"}",
                   "upsert shop.t key(id=2 k='x') old(id=1 k='x') after(id=2 k='x' n=0)");
    helper_free(h);
}

static void test_update_without_row_is_refused(void **state)
{
    (void)state;
    struct helper *h = helper_with("debezium");
    assert_refused(h, T, "{\"id\":1}", "{\"before\":null,\"after\":null," SOURCE ",\"op\":\"u\"}", "bad_image", "no row");
    helper_free(h);
}

static void test_truncate_needs_neither_key_nor_images(void **state)
{
    (void)state;
    struct helper *h = helper_with("debezium");
    assert_decodes(h, T, NULL, "{" SOURCE ",\"op\":\"t\",\"ts_ms\":1}", "truncate shop.t");
    assert_decodes(h, T, NULL, "{\"before\":null,\"after\":null," SOURCE ",\"op\":\"t\"}", "truncate shop.t");
    assert_decodes(h, T, NULL, "{" SOURCE ",\"op\":\"m\",\"message\":{}}", "control empty");
    helper_free(h);
}

static void test_all_four_shapes_of_tombstones_delete_by_key(void **state)
{
    (void)state;
    struct helper *h = helper_with("debezium");
    const char *expected = "delete tombstone key(id=1)";
    assert_decodes(h, T, "{\"id\":1}", NULL, expected);
    assert_decodes(h, T, "{\"id\":1}", " null\n", expected);
    assert_decodes(h, T, "{\"id\":1}", "{\"schema\":{\"type\":\"struct\",\"fields\":[]},\"payload\":null}", expected);
    assert_decodes(h, T, "{\"id\":1}", "{\"schema\": null, \"payload\": null}", expected);
    helper_free(h);
}

static void test_null_key_and_null_value_mean_nothing(void **state)
{
    (void)state;
    struct helper *h = helper_with("debezium");
    assert_decodes(h, T, NULL, NULL, "control empty");
    assert_decodes(h, T, "null", "null", "control empty");
    assert_decodes(h, T, "{}", NULL, "control empty");
    helper_free(h);
}

static void test_tombstone_key_is_read_by_its_schema_which_names_the_table(void **state)
{
    (void)state;
    struct helper *h = helper_with("debezium");
    assert_decodes(h, "all",
                   "{\"schema\":{\"type\":\"struct\",\"fields\":[{\"type\":\"int32\",\"optional\":false,\"field\":\"id\"}],"
                   "\"name\":\"pre.shop.t.Key\"},\"payload\":{\"id\":1}}",
                   "{\"schema\":null,\"payload\":null}", "delete tombstone shop.t key(id=1:int32!)");
    helper_free(h);
}

#define ROW_SCHEMA(field)                                                                                            \
    "{\"type\":\"struct\",\"fields\":[{\"type\":\"int32\",\"optional\":false,\"field\":\"id\"},"                       \
    "{\"type\":\"string\",\"optional\":true,\"field\":\"n.x\"}],\"optional\":true,\"name\":\"pre.shop.t.Value\","      \
    "\"field\":\"" field "\"}"
#define ENVELOPE_SCHEMA                                                                                               \
    "{\"type\":\"struct\",\"fields\":[" ROW_SCHEMA("before") "," ROW_SCHEMA("after")                                  \
    ",{\"type\":\"struct\",\"fields\":[{\"type\":\"string\",\"field\":\"db\"}],\"field\":\"source\"}"                  \
    "],\"name\":\"pre.shop.t.Envelope\"}"
#define WRAPPED(payload) "{\"schema\":" ENVELOPE_SCHEMA ",\"payload\":" payload "}"

static void test_wrapped_rows_are_typed_by_their_schema_every_time(void **state)
{
    (void)state;
    struct helper *h = helper_with("debezium");
    for (int i = 0; i < 3; i++) { /* parsed, then known by its bytes */
        assert_decodes(h, T, "{\"id\":1}",
                       WRAPPED("{\"before\":null,\"after\":{\"id\":1,\"n.x\":\"a\"}," SOURCE ",\"op\":\"c\"}"),
                       "upsert new shop.t key(id=1) after(id=1:int32! n\\.x='a':text!)");
    }
    assert_decodes(h, T, "{\"id\":1}",
                   WRAPPED("{\"after\":{\"n.x\":null,\"id\":1,\"more\":true}," SOURCE ",\"op\":\"c\"}"),
                   "upsert new shop.t key(id=1) after(n\\.x=null:text! id=1:int32! more=true)");
    helper_free(h);
}

static void test_broken_payload_behind_a_known_schema_is_refused_with_its_place(void **state)
{
    (void)state;
    struct helper *h = helper_with("debezium");
    assert_decodes(h, T, NULL, WRAPPED("{\"after\":{\"id\":1}," SOURCE ",\"op\":\"c\"}"),
                   "upsert new shop.t after(id=1:int32!)");
    assert_refused(h, T, NULL, WRAPPED("{\"after\":{\"id\":},\"op\":\"c\"}"), "bad_json", "");
    assert_refused(h, T, NULL, WRAPPED("{\"op\":\"c\"},\"x\":{}"), "ambiguous", "no Debezium envelope");
    assert_refused(h, T, NULL, "{\"schema\":" ENVELOPE_SCHEMA ",\"payload\":{}", "bad_json", "");
    helper_free(h);
}

static void test_repeated_members_count_by_their_last_value(void **state)
{
    (void)state;
    struct helper *h = helper_with("debezium");
    assert_decodes(h, T, NULL, WRAPPED("{\"after\":{\"id\":1,\"n.x\":\"a\",\"id\":2}," SOURCE ",\"op\":\"c\"}"),
                   "upsert new shop.t after(n\\.x='a':text! id=2:int32!)");
    helper_free(h);
}

static void test_more_schemas_than_are_kept_are_all_read_right(void **state)
{
    (void)state;
    struct helper *h = helper_with("debezium");
    char value[1024], expected[256];
    for (int i = 0; i < 2500; i++) {
        int n = i % 1250; /* each twice, so that dropped ones come back */
        snprintf(value, sizeof(value),
                 "{\"schema\":{\"type\":\"struct\",\"fields\":[{\"type\":\"struct\",\"fields\":[{\"type\":\"int32\",\"field\":\"c%d\"}],"
                 "\"field\":\"after\"}],\"name\":\"a.b.Envelope\"},\"payload\":{\"after\":{\"c%d\":%d}," SOURCE ",\"op\":\"c\"}}",
                 n, n, i);
        snprintf(expected, sizeof(expected), "upsert new shop.t after(c%d=%d:int32!)", n, i);
        assert_decodes(h, T, NULL, value, expected);
        mr_arena_reset(h->ar);
    }
    helper_free(h);
}

/* A second try at every level would take 2^60 steps. */
static void test_deep_structs_out_of_order_are_read_in_one_go(void **state)
{
    (void)state;
    struct helper *h = helper_with("debezium");
    struct mr_buf b = MR_BUF_INIT(1 << 20);
    mr_buf_append_z(&b, "{\"schema\":{\"type\":\"struct\",\"fields\":[{\"type\":\"struct\",\"field\":\"after\",\"fields\":[");
    for (int i = 0; i < 30; i++)
        mr_buf_append_z(&b, "{\"type\":\"int32\",\"field\":\"a\"},{\"type\":\"struct\",\"field\":\"\",\"fields\":[");
    for (int i = 0; i < 30; i++)
        mr_buf_append_z(&b, "]}");
    mr_buf_append_z(&b, "]}],\"name\":\"x.Envelope\"},\"payload\":{\"after\":");
    for (int i = 0; i < 30; i++)
        mr_buf_append_z(&b, "{\"\":");
    mr_buf_append_z(&b, "null");
    for (int i = 0; i < 30; i++)
        mr_buf_append_z(&b, ",\"a\":1}");
    mr_buf_append_z(&b, "," SOURCE ",\"op\":\"c\"}}");
    assert_int_equal(helper_decode(h, T, NULL, mr_buf_z(&b)), MR_OK);
    mr_buf_free(&b);
    helper_free(h);
}

static void test_key_of_another_kind_than_the_row_is_no_key_change(void **state)
{
    (void)state;
    struct helper *h = helper_with("debezium");
    assert_decodes(h, T, "{\"id\":\"1\"}", "{\"after\":{\"id\":1}," SOURCE ",\"op\":\"u\"}", "upsert shop.t key(id='1') after(id=1)");
    assert_decodes(h, T, "{\"id\":1.0}", "{\"after\":{\"id\":1}," SOURCE ",\"op\":\"u\"}", "upsert shop.t key(id=#1.0) after(id=1)");
    helper_free(h);
}

static void test_lone_payload_with_an_envelope_is_unwrapped(void **state)
{
    (void)state;
    struct helper *h = helper_with("debezium");
    assert_decodes(h, T, NULL, "{\"payload\":{\"after\":{\"id\":1}," SOURCE ",\"op\":\"c\"}}",
                   "upsert new shop.t after(id=1)");
    helper_free(h);
}

static void test_control_messages_are_passed_over(void **state)
{
    (void)state;
    struct helper *h = helper_with("debezium");
    assert_decodes(h, "__debezium-heartbeat.pre", "{\"serverName\":\"pre\"}", "{\"ts_ms\":1}", "control heartbeat");
    assert_decodes(h, "pre.transaction", "{\"id\":\"a:1\"}",
                   "{\"status\":\"END\",\"id\":\"a:1\",\"event_count\":1,\"data_collections\":[],\"ts_ms\":1}",
                   "control transaction tx a:1");
    assert_decodes(h, "pre", "{\"databaseName\":\"shop\"}",
                   "{\"source\":{\"table\":\"t\"},\"databaseName\":\"shop\",\"ddl\":\"ALTER TABLE t\",\"tableChanges\":[]}",
                   "control schema-change shop.t ddl ALTER TABLE t");
    assert_decodes(h, "ddl", "null",
                   "{\"source\":{\"server\":\"\"},\"position\":{},\"databaseName\":\"db1\",\"ddl\":\"X\",\"tableChanges\":null}",
                   "control schema-change db1. ddl X");
    assert_decodes(h, "n", "{\"id\":\"5\"}",
                   "{\"id\":\"5\",\"type\":\"COMPLETED\",\"aggregate_type\":\"Initial Snapshot\",\"additional_data\":null,\"timestamp\":1}",
                   "control notification");
    assert_decodes(h, "__debezium-heartbeat.pre", "{\"serverName\":\"pre\"}", NULL, "control heartbeat");
    assert_false(h->facts.envelopes_seen);
    helper_free(h);
}

static void test_row_in_a_debezium_topic_is_refused(void **state)
{
    (void)state;
    struct helper *h = helper_with("debezium");
    assert_refused(h, T, "{\"id\":1}", "{\"id\":1,\"op\":\"c\",\"source\":\"web\"}", "ambiguous", "no Debezium envelope");
    assert_refused(h, T, "{\"id\":1}", "[1]", "ambiguous", "no object");
    helper_free(h);
}

static void test_schema_of_the_source_stands_for_the_database(void **state)
{
    (void)state;
    struct helper *h = helper_with("debezium");
    assert_decodes(h, "pre.public.t", NULL,
                   "{\"after\":{\"id\":1},\"source\":{\"db\":\"x\",\"schema\":\"public\",\"table\":\"t\"},\"op\":\"c\"}",
                   "upsert new public.t after(id=1)");
    helper_free(h);
}

static void test_router_member_of_the_key_is_no_column(void **state)
{
    (void)state;
    struct helper *h = helper_with("debezium");
    assert_decodes(h, T, "{\"__dbz__physicalTableIdentifier\":\"a.b\",\"id\":1}", NULL,
                   "delete tombstone key(id=1)");
    helper_free(h);
}

static void test_before_image_comes_with_updates_where_a_table_takes_its_key_from_the_row(void **state)
{
    (void)state;
    struct helper *h = helper_new("debezium");
    static char pattern[] = "shop.t", field[] = "code";
    static char *fields[] = {field};
    h->rules[0] = (struct mr_table_rule){.pattern = pattern, .key_mode = MR_KEY_FIELDS, .key_fields = {fields, 1}};
    h->cfg.tables = h->rules;
    h->cfg.table_count = 1;
    helper_start(h);
    assert_decodes(h, T, "{\"id\":1}", "{\"before\":{\"code\":1},\"after\":{\"code\":2}," SOURCE ",\"op\":\"u\"}",
                   "upsert shop.t key(id=1) before(code=1) after(code=2)");
    /* and the setting names the column of a bare scalar */
    assert_decodes(h, T, "\"k7\"", NULL, "delete tombstone key(code='k7')");
    helper_free(h);
}

static void test_key_text_is_canonical_json_without_the_wrapper(void **state)
{
    (void)state;
    struct helper *h = helper_new("debezium");
    static char pattern[] = "*";
    h->rules[0] = (struct mr_table_rule){.pattern = pattern, .key_mode = MR_KEY_RECORD_TEXT};
    h->cfg.tables = h->rules;
    h->cfg.table_count = 1;
    helper_start(h);
    assert_decodes(h, T, "{ \"id\" : 1 }", NULL, "delete tombstone key(id=1) keytext {\"id\":1}");
    assert_decodes(h, T, "{\"schema\":{\"type\":\"int32\"},\"payload\": 7}", NULL,
                   "delete tombstone key(key=7:int32!) keytext 7");
    assert_decodes(h, T, "abc", NULL, "delete tombstone key(key='abc') keytext \"abc\"");
    helper_free(h);
}

static void test_ill_formed_text_is_refused_unless_it_may_be_repaired(void **state)
{
    (void)state;
    struct helper *h = helper_with("debezium");
    const char *value = "{\"after\":{\"id\":1,\"n\":\"a\xff\"}," SOURCE ",\"op\":\"c\"}";
    assert_refused(h, T, NULL, value, "bad_json", "");
    helper_free(h);

    h = helper_new("debezium");
    h->cfg.text_invalid = MR_TEXT_REPLACE;
    helper_start(h);
    assert_decodes(h, T, NULL, value, "upsert new shop.t after(id=1 n='a\xff'?4)");
    helper_free(h);
}

static void test_mongodb_tombstones_are_told_from_those_of_tables(void **state)
{
    (void)state;
    struct helper *h = helper_with("debezium");
    assert_decodes(h, T, "{\"id\":\"1004\"}", NULL, "delete tombstone key(id='1004')");
    h->headers[0] = (struct mr_header){MR_STR("__debezium.context.connectorName"), MR_STR("mongodb"), false};
    h->header_count = 1;
    assert_int_equal(helper_decode(h, T, "{\"id\":\"1004\"}", NULL), MR_OK);
    assert_non_null(strstr(mr_buf_z(&h->out), "key(_id=1004"));
    h->header_count = 0;
    assert_int_equal(helper_decode(h, T, "{\"id\":\"\\\"abc\\\"\"}", NULL), MR_OK);
    assert_non_null(strstr(mr_buf_z(&h->out), "key(_id='abc'"));
    /* after an envelope the topic's facts say so, over restarts too */
    assert_int_equal(helper_decode(h, T, "{\"id\":\"1\"}",
                                   "{\"before\":null,\"after\":\"{\\\"_id\\\":1}\",\"source\":{\"connector\":\"mongodb\","
                                   "\"db\":\"d\",\"collection\":\"c\"},\"op\":\"c\"}"),
                     MR_OK);
    assert_string_equal(h->facts.format, "debezium/mongodb");
    assert_int_equal(helper_decode(h, T, "{\"id\":\"1004\"}", NULL), MR_OK);
    assert_non_null(strstr(mr_buf_z(&h->out), "key(_id=1004"));
    helper_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_insert_bare_gives_an_upsert_of_a_new_row),
        cmocka_unit_test(test_snapshot_read_is_new_and_update_is_not),
        cmocka_unit_test(test_keyless_update_and_delete_carry_the_before_image),
        cmocka_unit_test(test_key_of_one_update_that_differs_from_its_row_is_the_old_key),
        cmocka_unit_test(test_update_without_row_is_refused),
        cmocka_unit_test(test_truncate_needs_neither_key_nor_images),
        cmocka_unit_test(test_all_four_shapes_of_tombstones_delete_by_key),
        cmocka_unit_test(test_null_key_and_null_value_mean_nothing),
        cmocka_unit_test(test_tombstone_key_is_read_by_its_schema_which_names_the_table),
        cmocka_unit_test(test_wrapped_rows_are_typed_by_their_schema_every_time),
        cmocka_unit_test(test_broken_payload_behind_a_known_schema_is_refused_with_its_place),
        cmocka_unit_test(test_repeated_members_count_by_their_last_value),
        cmocka_unit_test(test_more_schemas_than_are_kept_are_all_read_right),
        cmocka_unit_test(test_deep_structs_out_of_order_are_read_in_one_go),
        cmocka_unit_test(test_key_of_another_kind_than_the_row_is_no_key_change),
        cmocka_unit_test(test_lone_payload_with_an_envelope_is_unwrapped),
        cmocka_unit_test(test_control_messages_are_passed_over),
        cmocka_unit_test(test_row_in_a_debezium_topic_is_refused),
        cmocka_unit_test(test_schema_of_the_source_stands_for_the_database),
        cmocka_unit_test(test_router_member_of_the_key_is_no_column),
        cmocka_unit_test(test_before_image_comes_with_updates_where_a_table_takes_its_key_from_the_row),
        cmocka_unit_test(test_key_text_is_canonical_json_without_the_wrapper),
        cmocka_unit_test(test_ill_formed_text_is_refused_unless_it_may_be_repaired),
        cmocka_unit_test(test_mongodb_tombstones_are_told_from_those_of_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
