/* Flattened rows (`flat`) and plain rows (`json`). */
#include "decode_helper.h"

#define T "pre.shop.t"

static void test_row_is_an_upsert_with_its_documents_flattened(void **state)
{
    (void)state;
    struct helper *h = helper_with("flat");
    assert_decodes(h, T, "{\"id\":1}", "{\"id\":1,\"a\":{\"b\":{\"c\":true}},\"l\":[1, 2],\"x.y\":1.0,\"__op\":\"d\"}",
                   "upsert key(id=1) after(id=1 a.b.c=true l=J[1,2] x\\.y=#1.0 __op='d')");
    helper_free(h);
}

static struct helper *helper_encoding(enum mr_array_encoding encoding)
{
    struct helper *h = helper_new("flat");

    h->cfg.array_encoding = encoding;
    helper_start(h);
    return h;
}

static void test_arrays_without_schema_are_of_what_json_shows(void **state)
{
    (void)state;
    struct helper *h = helper_encoding(MR_ARRAY_ARRAY);
    assert_decodes(h, T, "{\"id\":1}", "{\"id\":1,\"a\":[1, null],\"b\":[1,2.5],\"c\":[],\"d\":[{\"x\":1}],\"e\":[[1]]}",
                   "upsert key(id=1) after(id=1 a=[1,null] b=[1,2.5] c=[] d=J[{\"x\":1}] e=J[[1]])");
    assert_decodes(h, T, "{\"id\":1}", "{\"id\":1,\"a\":[1,\"x\"],\"b\":[1,{}],\"c\":[null,{}]}",
                   "upsert key(id=1) after(id=1 a=mixed[1,\"x\"] b=mixed[1,{}] c=J[null,{}])");
    helper_free(h);
}

static void test_arrays_as_documents_have_members_by_position(void **state)
{
    (void)state;
    struct helper *h = helper_encoding(MR_ARRAY_DOCUMENT);
    assert_decodes(h, T, "{\"id\":1}", "{\"id\":1,\"a\":[1,\"x\",{\"k\":true},[2],[]]}",
                   "upsert key(id=1) after(id=1 a._0=1 a._1='x' a._2.k=true a._3._0=2)");
    helper_free(h);
}

#define ROW(items)                                                                                                     \
    "{\"schema\":{\"type\":\"struct\",\"name\":\"pre.shop.t.Value\",\"fields\":[{\"type\":\"int32\",\"field\":\"id\"},{\"type\":"  \
    "\"array\",\"optional\":true,\"field\":\"a\",\"items\":" items "}]},\"payload\":{\"id\":1,\"a\":"

static void test_arrays_of_a_schema_have_its_type(void **state)
{
    (void)state;
    struct helper *h = helper_encoding(MR_ARRAY_ARRAY);
    struct mr_type type = mr_type_array_of(MR_TYPE(MR_T_DATE));
    char text[32];

    assert_string_equal(mr_type_text(type, text), "date[]");
    assert_decodes(h, T, "{\"id\":1}", ROW("{\"type\":\"int32\",\"optional\":true}") "[1,null]}}", "upsert shop.t key(id=1) after(id=1:int32! a=[1,null]:int32[]!)");
    assert_decodes(h, T, "{\"id\":1}", ROW("{\"type\":\"int32\",\"name\":\"io.debezium.time.Date\"}") "[1]}}", "upsert shop.t key(id=1) after(id=1:int32! a=[1]:date[]!)");
    assert_decodes(h, T, "{\"id\":1}", ROW("{\"type\":\"string\"}") "null}}", "upsert shop.t key(id=1) after(id=1:int32! a=null:text[]!)");
    assert_decodes(h, T, "{\"id\":1}", ROW("{\"type\":\"string\"}") "[]}}", "upsert shop.t key(id=1) after(id=1:int32! a=[]:text[]!)");
    assert_decodes(h, T, "{\"id\":1}", ROW("{\"type\":\"struct\",\"fields\":[]}") "[{}]}}", "upsert shop.t key(id=1) after(id=1:int32! a=J[{}]:json!)");
    helper_free(h);
}

static void test_deleted_flag_as_text_or_boolean_in_any_case(void **state)
{
    (void)state;
    struct helper *h = helper_with("flat");
    assert_decodes(h, T, "{\"id\":1}", "{\"id\":1,\"n\":2,\"__deleted\":\"true\"}", "delete row key(id=1) after(id=1 n=2)");
    assert_decodes(h, T, "{\"id\":1}", "{\"id\":1,\"__deleted\":\"TRUE\"}", "delete row key(id=1) after(id=1)");
    assert_decodes(h, T, "{\"id\":1}", "{\"id\":1,\"__deleted\":true}", "delete row key(id=1) after(id=1)");
    assert_decodes(h, T, "{\"id\":1}", "{\"id\":1,\"__deleted\":\"False\"}", "upsert key(id=1) after(id=1)");
    assert_decodes(h, T, "{\"id\":1}", "{\"id\":1,\"__deleted\":false}", "upsert key(id=1) after(id=1)");
    assert_decodes(h, T, "{\"id\":1}", "{\"id\":1,\"__deleted\":null}", "upsert key(id=1) after(id=1)");
    assert_decodes(h, T, "{\"id\":1}", "{\"id\":1,\"__deleted\":\"2020\"}", "upsert key(id=1) after(id=1 __deleted='2020')");
    helper_free(h);
}

static void test_all_four_shapes_of_null_delete_by_key(void **state)
{
    (void)state;
    struct helper *h = helper_with("flat");
    assert_decodes(h, T, "{\"id\":1}", NULL, "delete tombstone key(id=1)");
    assert_decodes(h, T, "{\"id\":1}", "null", "delete tombstone key(id=1)");
    assert_decodes(h, T, "{\"id\":1}", "{\"schema\":null,\"payload\":null}", "delete tombstone key(id=1)");
    assert_decodes(h, T, "{\"id\":1}", "{\"schema\":{\"type\":\"struct\",\"fields\":[],\"name\":\"pre.shop.t.Value\"},\"payload\":null}",
                   "delete tombstone shop.t key(id=1)");
    assert_decodes(h, T, NULL, NULL, "control empty");
    assert_decodes(h, "__debezium-heartbeat.pre", "{\"serverName\":\"pre\"}", NULL, "control heartbeat");
    helper_free(h);
}

static void test_keys_that_are_null_empty_or_scalar(void **state)
{
    (void)state;
    struct helper *h = helper_with("flat");
    assert_decodes(h, T, NULL, "{\"n\":1}", "upsert after(n=1)");
    assert_decodes(h, T, "{}", "{\"n\":1}", "upsert after(n=1)");
    assert_decodes(h, T, "7", "{\"n\":1}", "upsert key(key=7) after(n=1)");
    assert_decodes(h, T, "\"a\"", "{\"n\":1}", "upsert key(key='a') after(n=1)");
    assert_decodes(h, T, "user-1", "{\"n\":1}", "upsert key(key='user-1') after(n=1)");
    assert_decodes(h, T, "{\"schema\":{\"type\":\"int64\",\"optional\":false},\"payload\":7}", "{\"n\":1}", "upsert key(key=7:int64!) after(n=1)");
    assert_refused(h, T, "[1]", "{\"n\":1}", "no_key", "array");
    assert_refused(h, T, "{\"id\":", "{\"n\":1}", "bad_json", "key: ");
    helper_free(h);
}

static void test_mongodb_key_id_is_the_column_underscore_id(void **state)
{
    (void)state;
    struct helper *h = helper_with("flat");
    assert_decodes(h, T, "{\"id\":\"5f\"}", "{\"_id\":\"5f\",\"n\":1}", "upsert key(_id='5f') after(_id='5f' n=1)");
    /* a document key is flattened like the value's */
    assert_decodes(h, T, "{\"id\":{\"a\":1,\"b\":\"x\"}}", "{\"_id\":{\"a\":1,\"b\":\"x\"}}",
                   "upsert key(_id.a=1 _id.b='x') after(_id.a=1 _id.b='x')");
    assert_decodes(h, T, "{\"id\":1004}", "{\"__deleted\":true}", "delete row key(_id=1004)");
    /* a document may have its own field `id` */
    assert_decodes(h, T, "{\"id\":1}", "{\"_id\":1,\"id\":9}", "upsert key(_id=1) after(_id=1 id=9)");
    /* the tombstone has no row; the topic's facts know */
    assert_string_equal(h->facts.format, "flat/mongodb");
    assert_decodes(h, T, "{\"id\":\"5f\"}", NULL, "delete tombstone key(_id='5f')");
    helper_free(h);
}

static void test_relational_key_id_stays_id(void **state)
{
    (void)state;
    struct helper *h = helper_with("flat");
    assert_decodes(h, T, "{\"id\":1}", "{\"id\":1,\"_id\":9}", "upsert key(id=1) after(id=1 _id=9)");
    assert_decodes(h, T, "{\"id\":1}", "{\"id\":1,\"__deleted\":\"true\"}", "delete row key(id=1) after(id=1)");
    assert_decodes(h, T, "{\"id\":1}", NULL, "delete tombstone key(id=1)");
    assert_string_equal(h->facts.format, "flat");
    helper_free(h);
}

static void test_unnamed_key_schema_or_header_tells_mongodb_for_tombstones(void **state)
{
    (void)state;
    struct helper *h = helper_with("flat");
    assert_decodes(h, T, "{\"schema\":{\"type\":\"struct\",\"fields\":[{\"type\":\"string\",\"field\":\"id\"}]},\"payload\":{\"id\":\"x\"}}", NULL,
                   "delete tombstone key(_id='x':text!)");
    memset(&h->facts, 0, sizeof(h->facts));
    h->headers[0] = (struct mr_header){MR_STR("__debezium.context.connectorName"), MR_STR("mongodb"), false};
    h->header_count = 1;
    assert_decodes(h, T, "{\"id\":\"x\"}", NULL, "delete tombstone key(_id='x')");
    helper_free(h);
}

static void test_table_comes_from_metadata_only_where_the_topic_agrees(void **state)
{
    (void)state;
    struct helper *h = helper_with("flat");
    assert_decodes(h, "p.d_b.t_1", NULL, "{\"__table\":\"t\xc3\xa4" "1\",\"__db\":\"d\xc3\xb6" "b\"}",
                   "upsert d\xc3\xb6" "b.t\xc3\xa4" "1 after(__table='t\xc3\xa4" "1' __db='d\xc3\xb6" "b')");
    assert_decodes(h, "p.db.a.b", NULL, "{\"__source_collection\":\"a.b\"}", "upsert db.a.b after(__source_collection='a.b')");
    assert_decodes(h, "p.db.other", NULL, "{\"__table\":\"t1\"}", "upsert after(__table='t1')");
    assert_decodes(h, "p.db.xt1", NULL, "{\"__table\":\"t1\"}", "upsert after(__table='t1')");
    /* else the value's schema name, if it has all three parts */
    assert_decodes(h, "routed", NULL, "{\"schema\":{\"type\":\"struct\",\"fields\":[],\"name\":\"p.db.coll\"},\"payload\":{}}", "upsert db.coll");
    assert_decodes(h, "routed", NULL, "{\"schema\":{\"type\":\"struct\",\"fields\":[],\"name\":\"db.coll\"},\"payload\":{}}", "upsert");
    helper_free(h);
}

static void test_control_messages_may_stand_between_rows(void **state)
{
    (void)state;
    struct helper *h = helper_with("flat");
    assert_decodes(h, "", NULL, "{\"source\":{\"table\":\"t\"},\"databaseName\":\"d\",\"ddl\":\"X\",\"tableChanges\":[]}",
                   "control schema-change d.t ddl X");
    /* rows that only look a little like it */
    assert_decodes(h, "", NULL, "{\"ddl\":\"X\",\"databaseName\":\"d\",\"source\":\"s\"}", "upsert after(ddl='X' databaseName='d' source='s')");
    assert_decodes(h, "", NULL, "{\"status\":\"END\",\"id\":\"1\",\"event_count\":1,\"more\":1}", "upsert after(status='END' id='1' event_count=1 more=1)");
    assert_decodes(h, "", NULL, "{\"ts_ms\":1}", "upsert after(ts_ms=1)");
    helper_free(h);
}

static void test_columns_named_like_an_envelope_are_a_row_where_flat_is_configured(void **state)
{
    (void)state;
    struct helper *h = helper_with("flat");
    assert_decodes(h, T, "{\"id\":1}", "{\"op\":\"c\",\"source\":{\"a\":1},\"after\":null}", "upsert key(id=1) after(op='c' source.a=1 after=null)");
    helper_free(h);
}

static void test_value_that_is_no_object_is_refused(void **state)
{
    (void)state;
    struct helper *h = helper_with("flat");
    assert_refused(h, T, NULL, "[{\"a\":1}]", "ambiguous", "no row");
    assert_refused(h, T, NULL, "7", "ambiguous", "no row");
    assert_refused(h, T, NULL, "{\"a\":1", "bad_json", "value: ");
    helper_free(h);
}

static void test_plain_rows_have_no_members_with_a_meaning(void **state)
{
    (void)state;
    struct helper *h = helper_with("json");
    assert_decodes(h, T, "{\"id\":1}", "{\"id\":1,\"__deleted\":true,\"op\":\"c\"}", "upsert key(id=1) after(id=1 __deleted=true op='c')");
    assert_decodes(h, T, "{\"id\":1}", "{\"_id\":1}", "upsert key(id=1) after(_id=1)");
    assert_decodes(h, T, "{\"id\":1}", NULL, "delete tombstone key(id=1)");
    assert_decodes(h, T, NULL, "null", "control empty");
    assert_decodes(h, T, NULL, "{\"source\":{},\"databaseName\":\"d\",\"ddl\":\"X\"}", "upsert after(databaseName='d' ddl='X')");
    assert_refused(h, T, NULL, "[]", "ambiguous", "no row");
    helper_free(h);
}

static void test_plain_rows_are_unwrapped_only_from_a_schema_that_describes_a_row(void **state)
{
    (void)state;
    struct helper *h = helper_with("json");
    assert_decodes(h, T, NULL, "{\"schema\":{\"type\":\"struct\",\"fields\":[{\"type\":\"int32\",\"field\":\"a\"}]},\"payload\":{\"a\":1}}", "upsert after(a=1:int32!)");
    assert_decodes(h, T, NULL, "{\"schema\":{\"type\":\"x\"},\"payload\":{\"a\":1}}", "upsert after(schema.type='x' payload.a=1)");
    assert_decodes(h, T, NULL, "{\"schema\":null,\"payload\":2}", "upsert after(schema=null payload=2)");
    helper_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_row_is_an_upsert_with_its_documents_flattened),
        cmocka_unit_test(test_arrays_without_schema_are_of_what_json_shows),
        cmocka_unit_test(test_arrays_as_documents_have_members_by_position),
        cmocka_unit_test(test_arrays_of_a_schema_have_its_type),
        cmocka_unit_test(test_deleted_flag_as_text_or_boolean_in_any_case),
        cmocka_unit_test(test_all_four_shapes_of_null_delete_by_key),
        cmocka_unit_test(test_keys_that_are_null_empty_or_scalar),
        cmocka_unit_test(test_mongodb_key_id_is_the_column_underscore_id),
        cmocka_unit_test(test_relational_key_id_stays_id),
        cmocka_unit_test(test_unnamed_key_schema_or_header_tells_mongodb_for_tombstones),
        cmocka_unit_test(test_table_comes_from_metadata_only_where_the_topic_agrees),
        cmocka_unit_test(test_control_messages_may_stand_between_rows),
        cmocka_unit_test(test_columns_named_like_an_envelope_are_a_row_where_flat_is_configured),
        cmocka_unit_test(test_value_that_is_no_object_is_refused),
        cmocka_unit_test(test_plain_rows_have_no_members_with_a_meaning),
        cmocka_unit_test(test_plain_rows_are_unwrapped_only_from_a_schema_that_describes_a_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
