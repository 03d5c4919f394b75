/* Maxwell's messages: rows, keys from the message's key, configured types, schema changes. */
#include "decode_helper.h"

#define KEY "{\"database\":\"d\",\"table\":\"t\",\"pk.id\":1}"
#define ROW(type, data) "{\"database\":\"d\",\"table\":\"t\",\"type\":\"" type "\",\"ts\":1718000000,\"data\":" data "}"
#define UPDATE(data, old) "{\"database\":\"d\",\"table\":\"t\",\"type\":\"update\",\"ts\":1718000000,\"data\":" data ",\"old\":" old "}"

static struct helper *maxwell(void)
{
    return helper_with("maxwell");
}

static void test_rows_with_the_key_columns_that_the_message_key_names(void **state)
{
    (void)state;
    struct helper *h = maxwell();
    assert_decodes(h, "m", KEY, ROW("insert", "{\"id\":1,\"n\":18446744073709551615,\"x\":1.50,\"z\":null}"),
                   "upsert new d.t key(id=1) after(id=1 n=#18446744073709551615 x=#1.50 z=null)");
    assert_decodes(h, "m", KEY, ROW("bootstrap-insert", "{\"id\":1}"), "upsert new partial d.t key(id=1) after(id=1)");
    assert_decodes(h, "m", KEY, ROW("delete", "{\"id\":1,\"n\":2}"), "delete d.t key(id=1) before(id=1 n=2)");
    assert_decodes(h, "m", KEY, ROW("bootstrap-start", "{}"), "control empty");
    assert_decodes(h, "m", KEY, ROW("bootstrap-complete", "{}"), "control empty");
    assert_decodes(h, "m", KEY, NULL, "control empty");
    helper_free(h);
}

static void test_keys_in_every_form(void **state)
{
    (void)state;
    struct helper *h = maxwell();
    assert_decodes(h, "m", "[\"d\",\"t\",[{\"order_id\":7},{\"no\":2}]]", ROW("insert", "{\"Order_ID\":7,\"No\":2,\"s\":\"K\"}"),
                   "upsert new d.t key(Order_ID=7 No=2) after(Order_ID=7 No=2 s='K')");
    assert_decodes(h, "m", "{\"database\":\"d\",\"table\":\"t\",\"pk.order_id\":7}", ROW("insert", "{\"orderId\":7}"),
                   "upsert new d.t key(orderId=7) after(orderId=7)"); /* camel case of a naming strategy */
    assert_decodes(h, "m", "{\"database\":\"d\",\"table\":\"t\",\"_uuid\":\"x\"}", ROW("insert", "{\"a\":1}"), "upsert new d.t after(a=1)");
    assert_decodes(h, "m", "[\"d\",\"t\",[]]", ROW("insert", "{\"a\":1}"), "upsert new d.t after(a=1)");
    assert_decodes(h, "m", "[\"d\"]", ROW("insert", "{\"a\":1}"), "upsert new d.t after(a=1)");
    assert_decodes(h, "m", "{broken", ROW("insert", "{\"a\":1}"), "upsert new d.t after(a=1)");
    assert_decodes(h, "m", KEY, "{\"database\":\"d\",\"table\":\"t\",\"type\":\"insert\",\"primaryKeyColumns\":[\"b\"],\"data\":{\"id\":1,\"b\":2}}",
                   "upsert new d.t key(b=2) after(id=1 b=2)"); /* the value's own list wins */
    assert_refused(h, "m", KEY, ROW("insert", "{\"a\":1}"), "no_key", "\"id\"");
    helper_free(h);
}

static void test_updates_and_changed_keys(void **state)
{
    (void)state;
    struct helper *h = maxwell();
    assert_decodes(h, "m", KEY, UPDATE("{\"id\":1,\"n\":\"b\"}", "{\"n\":null}"), "upsert partial d.t key(id=1) after(id=1 n='b')");
    assert_decodes(h, "m", KEY, UPDATE("{\"id\":1,\"n\":\"b\"}", "null"), "upsert partial d.t key(id=1) after(id=1 n='b')");
    assert_decodes(h, "m", KEY, ROW("update", "{\"id\":1,\"n\":\"b\"}"), "upsert partial d.t key(id=1) after(id=1 n='b')");
    assert_decodes(h, "m", "{\"pk.id\":100}", UPDATE("{\"id\":100,\"n\":\"b\"}", "{\"id\":1}"),
                   "upsert partial d.t key(id=100) old(id=1) after(id=100 n='b')");
    assert_decodes(h, "m", KEY, UPDATE("{\"id\":1}", "{\"note\":\"x\"}"), "upsert partial d.t key(id=1) after(id=1 note=null)");
    assert_decodes(h, "m", NULL, UPDATE("{\"a\":1,\"n\":\"b\"}", "{\"n\":\"a\",\"gone\":1}"),
                   "upsert partial d.t before(a=1 n='a' gone=1) after(a=1 n='b' gone=null)");
    helper_free(h);
    h = helper_new("maxwell");
    h->cfg.maxwell_missing_is_null = true;
    helper_start(h);
    assert_decodes(h, "m", KEY, UPDATE("{\"id\":1}", "{\"n\":1}"), "upsert d.t key(id=1) after(id=1 n=null)");
    assert_decodes(h, "m", KEY, ROW("bootstrap-insert", "{\"id\":1}"), "upsert new d.t key(id=1) after(id=1)");
    helper_free(h);
}

static void test_transactions_are_told(void **state)
{
    (void)state;
    struct helper *h = maxwell();
    assert_decodes(h, "m", KEY, "{\"database\":\"d\",\"table\":\"t\",\"type\":\"delete\",\"xid\":23396,\"xoffset\":0,\"data\":{\"id\":1}}",
                   "delete d.t key(id=1) before(id=1) tx 23396");
    assert_decodes(h, "m", KEY, "{\"database\":\"d\",\"table\":\"t\",\"type\":\"delete\",\"xid\":23396,\"commit\":true,\"data\":{\"id\":1}}",
                   "delete d.t key(id=1) before(id=1) tx 23396 last");
    helper_free(h);
}

static void test_what_is_no_row_is_refused(void **state)
{
    (void)state;
    struct helper *h = maxwell();
    assert_refused(h, "m", KEY, "{\"database\":\"d\",\"table\":\"t\",\"type\":\"insert\",\"encrypted\":{\"iv\":\"x\",\"bytes\":\"y\"}}", "encrypted", "encrypted");
    assert_refused(h, "m", KEY, "{\"encrypted\":{\"iv\":\"x\",\"bytes\":\"y\"}}", "encrypted", "encrypted");
    assert_refused(h, "m", KEY, "{\"database\":\"d\",\"table\":\"t\",\"type\":\"insert\",\"reason\":\"too large\",\"data\":{\"id\":1}}", "incomplete", "key");
    assert_refused(h, "m", KEY, ROW("merge", "{}"), "unknown_op", "merge");
    assert_refused(h, "m", KEY, ROW("insert", "[{}]"), "bad_image", "data");
    assert_refused(h, "m", KEY, UPDATE("{\"id\":1}", "[1]"), "bad_image", "old");
    assert_refused(h, "m", KEY, "{\"data\":{}}", "ambiguous", "type");
    assert_refused(h, "m", KEY, "{\"type\":\"insert\",\"data\":{\"id\":1}}", "no_table", "names no table");
    assert_refused(h, "m", KEY, "7", "ambiguous", "no JSON object");
    helper_free(h);
}

static struct mr_type declared(enum mr_type_kind kind)
{
    struct mr_type type = MR_TYPE(kind);
    type.origin = MR_SCHEMA;
    return type;
}

static void test_configured_types_explain_what_json_does_not_tell(void **state)
{
    (void)state;
    static char zone[] = "Europe/Berlin", names[][8] = {"d.t.st", "d.t.js", "d.t.dt", "d.t.ts", "d.t.zd", "d.t.bi", "d.t.bl"};
    struct mr_column_rule rules[] = {
        {.name = names[0], .type = declared(MR_T_TEXT)},        {.name = names[1], .type = declared(MR_T_JSON)},
        {.name = names[2], .type = declared(MR_T_TIMESTAMP)},   {.name = names[3], .type = declared(MR_T_TIMESTAMPTZ)},
        {.name = names[4], .type = declared(MR_T_DATE)},        {.name = names[5], .type = declared(MR_T_BYTES), .fixed_bytes = 4},
        {.name = names[6], .type = declared(MR_T_BYTES)},
    };
    struct helper *h = helper_new("maxwell");
    h->cfg.columns = rules;
    h->cfg.column_count = 7;
    h->cfg.source_time_zone = zone;
    helper_start(h);
    assert_decodes(h, "m", NULL, ROW("insert", "{\"st\":[\"a\",\"b\"],\"js\":\"x\",\"dt\":\"2012-01-01 22:32:34\",\"ts\":\"2012-01-01 22:32:34.5\",\"zd\":\"0000-00-00\",\"bi\":\"AQ==\",\"bl\":\"AQ==\"}"),
                   "upsert new d.t after(st='a,b' js=J\"x\":json dt='2012-01-01 22:32:34' ts=2012-01-01T21:32:34.500000Z zd=null bi=x01000000 bl='AQ==')");
    assert_decodes(h, "m", NULL, ROW("insert", "{\"st\":[],\"js\":5,\"ts\":\"yesterday\",\"zd\":\"2024-01-01\",\"bi\":\"?\"}"),
                   "upsert new d.t after(st='' js=J5:json ts='yesterday' zd='2024-01-01' bi='?')");
    assert_decodes(h, "m", NULL, ROW("insert", "{\"st\":[1],\"js\":{\"a\":1},\"other\":{\"a\":1}}"),
                   "upsert new d.t after(st=J[1]:json js=J{\"a\":1}:json other=J{\"a\":1}:json)");
    helper_free(h);
}

static void test_schema_changes(void **state)
{
    (void)state;
    struct helper *h = maxwell();
    assert_decodes(h, "m", "uuid", "{\"type\":\"table-create\",\"database\":\"shop\",\"table\":\"e\",\"def\":{\"database\":\"shop\",\"table\":\"e\"},\"ts\":1477053126000,\"sql\":\"create table e (id int)\"}",
                   "control schema-change shop.e ddl create table e (id int) CREATE in 'shop' part 0 repeats");
    assert_decodes(h, "m", "uuid", "{\"type\":\"table-alter\",\"database\":\"shop\",\"table\":\"e\",\"def\":{\"database\":\"shop\",\"table\":\"e\"},\"sql\":\"alter table e add a int\"}",
                   "control schema-change shop.e ddl alter table e add a int ALTER in 'shop' part 0 repeats");
    assert_decodes(h, "m", "uuid", "{\"type\":\"table-alter\",\"database\":\"shop\",\"table\":\"e\",\"def\":{\"database\":\"x\",\"table\":\"f\"},\"sql\":\"rename\"}",
                   "control schema-change shop.e ddl rename RENAME in 'shop' part 0 repeats to x.f");
    assert_decodes(h, "m", "uuid", "{\"type\":\"table-drop\",\"database\":\"shop\",\"table\":\"e\",\"sql\":\"drop table e\"}",
                   "control schema-change shop.e ddl drop table e DROP in 'shop' part 0 repeats");
    assert_decodes(h, "m", "uuid", "{\"type\":\"database-drop\",\"database\":\"shop\",\"sql\":\"drop database shop\"}",
                   "control schema-change shop. ddl drop database shop DROP_DATABASE in 'shop' part 0 repeats");
    helper_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_with_the_key_columns_that_the_message_key_names),
        cmocka_unit_test(test_keys_in_every_form),
        cmocka_unit_test(test_updates_and_changed_keys),
        cmocka_unit_test(test_transactions_are_told),
        cmocka_unit_test(test_what_is_no_row_is_refused),
        cmocka_unit_test(test_configured_types_explain_what_json_does_not_tell),
        cmocka_unit_test(test_schema_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
