/* format: auto. Which format a message is taken for, what fixes the choice of a topic, and what is refused by name. */
#include "decode_helper.h"

#include "decode/shape.h"

#define SOURCE "\"source\":{\"connector\":\"mysql\",\"db\":\"shop\",\"table\":\"t\"}"
#define ENVELOPE "{\"after\":{\"id\":1}," SOURCE ",\"op\":\"c\"}"

static struct helper *h;

static int start(void **state)
{
    (void)state;
    h = helper_with("auto");
    mr_log_setup(MR_LOG_ERROR, MR_LOG_LOGFMT, false);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    helper_free(h);
    return 0;
}

static void assert_found(const char *topic_z, const char *value_z, const char *format_z)
{
    memset(&h->facts, 0, sizeof(h->facts));
    assert_int_equal(helper_decode(h, topic_z, "{\"id\":1}", value_z), MR_OK);
    assert_string_equal(h->facts.format, format_z);
    assert_int_equal(h->facts.dirty, format_z[0] != '\0');
}

static void assert_foreign(const char *key_z, const char *value_z, const char *name_z)
{
    memset(&h->facts, 0, sizeof(h->facts));
    assert_refused(h, "t", key_z, value_z, "unsupported", name_z);
    assert_string_equal(h->facts.format, "");
}

static void test_every_known_member_is_found(void **state)
{
    (void)state;
#define CHECK(id, name) assert_int_equal(mr_member_of(MR_STR(name)), MR_M_##id);
    MR_MEMBER_NAMES(CHECK)
    assert_int_equal(mr_member_of(MR_STR("")), MR_MEMBER_COUNT);
    assert_int_equal(mr_member_of(MR_STR("aggregate_typo")), MR_MEMBER_COUNT);
    assert_int_equal(mr_member_of(MR_STR("__source_collection_")), MR_MEMBER_COUNT);
}

static void test_envelopes_are_debezium(void **state)
{
    (void)state;
    assert_found("a.b.c", ENVELOPE, "debezium");
    assert_found("a.b.c", "{" SOURCE ",\"op\":\"t\"}", "debezium");
    assert_found("a.b.c", "{\"schema\":{\"type\":\"struct\",\"fields\":[],\"name\":\"a.b.c.Envelope\"},\"payload\":" ENVELOPE "}", "debezium");
    assert_found("a.b.c", "\xef\xbb\xbf \n" ENVELOPE, "debezium");
    assert_found("a.b.c", "{\"before\":null,\"after\":\"{\\\"_id\\\":1}\",\"source\":{\"ns\":\"d.c\"},\"op\":\"c\"}", "debezium/mongodb");
}

static void test_rows_are_flat_with_or_without_a_sign(void **state)
{
    (void)state;
    assert_found("a.b.c", "{\"id\":1,\"__deleted\":\"false\"}", "flat");
    assert_found("a.b.c", "{\"id\":1}", "flat");
    assert_found("a.b.c", "{\"op\":\"c\",\"before\":1,\"source\":\"s\"}", "flat");
    assert_found("a.b.c", "{\"op\":\"create\",\"before\":null,\"source\":{}}", "flat");
    assert_found("a.b.c", "{\"schema\":\"public\",\"payload\":{\"a\":1}}", "flat");
    assert_found("a.b.c", "{\"schema\":{\"type\":\"struct\",\"fields\":[],\"name\":\"a.b.c.Value\"},\"payload\":{\"id\":1}}", "flat");
    assert_found("a.b.c", "{\"type\":\"insert\",\"data\":\"text\"}", "flat");
}

static void test_tombstones_and_control_messages_fix_no_choice(void **state)
{
    (void)state;
    assert_found("a.b.c", NULL, "");
    assert_found("a.b.c", "null", "");
    assert_found("a", "{" SOURCE ",\"databaseName\":\"d\",\"ddl\":\"X\"}", "");
    assert_found("__debezium-heartbeat.a", "{\"ts_ms\":1}", "");
    assert_found("x", "{\"status\":\"BEGIN\",\"id\":\"1\",\"event_count\":null}", "");
    assert_found("x", "{\"id\":\"1\",\"type\":\"a\",\"aggregate_type\":\"b\",\"additional_data\":null,\"timestamp\":1}", "");
    assert_found("x", "{\"schema\":{\"type\":\"struct\",\"fields\":[],\"name\":\"io.debezium.connector.common.Heartbeat\"},\"payload\":{\"ts_ms\":1}}", "");
}

static void test_choice_of_a_topic_stays_and_a_contradiction_is_an_error(void **state)
{
    (void)state;
    assert_found("a.b.c", ENVELOPE, "debezium");
    assert_refused(h, "a.b.c", NULL, "{\"id\":1}", "ambiguous", "no Debezium envelope");
    assert_string_equal(h->facts.format, "debezium");

    assert_found("a.b.d", "{\"id\":1}", "flat");
    assert_refused(h, "a.b.d", NULL, ENVELOPE, "ambiguous", "envelope");
    assert_string_equal(h->facts.format, "flat");
}

static void test_other_producers_are_refused_by_name(void **state)
{
    (void)state;
    assert_foreign(NULL, "{\"schema\":{\"dataColumn\":[]},\"payload\":{}}", "DataWorks");
    assert_foreign(NULL, "{\"schema\":{},\"payload\":{\"op\":\"UPDATE_BEFORE\"}}", "DataWorks");
    assert_foreign(NULL, "{\"table\":\"A.B\",\"op_type\":\"I\",\"op_ts\":\"x\",\"after\":{}}", "GoldenGate");
    assert_foreign(NULL, "{\"specversion\":\"1.0\",\"data\":{}}", "CloudEvents");
    assert_non_null(strstr(h->err.hint, "json"));
}

static void test_canal_and_maxwell_are_found_whole_and_stripped(void **state)
{
    (void)state;
    assert_found("t", "{\"data\":null,\"database\":\"d\",\"table\":\"t\",\"isDdl\":true,\"type\":\"ALTER\",\"sql\":\"x\"}", "canal");
    assert_found("t", "{\"type\":\"INSERT\",\"data\":[{\"a\":1}],\"table\":\"t\"}", "canal");
    assert_found("t", "{\"type\":\"delete\",\"old\":[{\"a\":1}],\"table\":\"t\"}", "canal");
    assert_found("t", "{\"type\":\"INSERT\",\"data\":[{\"a\":\"1\"}],\"table\":\"t\",\"_tidb\":{}}", "canal");
    assert_found("t", "[{\"type\":\"INSERT\",\"data\":[],\"sqlType\":null}]", "canal");
    assert_found("t", "{\"type\":\"QUERY\",\"isDdl\":false}\r\n{\"type\":\"QUERY\",\"isDdl\":false}\r\n", "canal");
    assert_found("t", "{\"type\":\"insert\",\"data\":{\"a\":1},\"database\":\"d\",\"table\":\"t\"}", "maxwell");
    assert_found("t", "{\"type\":\"bootstrap-start\",\"data\":{}}", "maxwell");
    assert_found("t", "{\"type\":\"table-create\",\"sql\":\"x\"}", "maxwell");
    assert_int_equal(helper_decode(h, "e", NULL, "{\"encrypted\":{\"iv\":\"x\",\"bytes\":\"y\"}}"), MR_E_DATA);
    assert_string_equal(h->err.code, "encrypted");
}

static void test_shareplex_and_prostore_are_found(void **state)
{
    (void)state;
    assert_found("t", "{\"meta\":{\"op\":\"ins\",\"table\":\"A.B\"},\"data\":{\"a\":1}}", "shareplex");
    assert_found("t", "{\"meta\":{\"op\":\"ins\"},\"data\":{\"a\":1},\"more\":1}", "flat");
    assert_found("t", "{\"meta\":\"op\",\"data\":{\"a\":1}}", "flat");
    memset(&h->facts, 0, sizeof(h->facts));
    assert_int_equal(helper_decode(h, "e", "{\"datamart\":\"d\",\"event\":\"x\",\"eventLogId\":\"6b80c392-3198-492f-a631-6a684e521b79\"}",
                                   "{\"deltaNum\":1}"), MR_OK);
    assert_string_equal(h->facts.format, "prostore");
}

/* A table may have columns of any of these names. */
static void test_rows_with_a_sign_of_debezium_are_no_messages_of_others(void **state)
{
    (void)state;
    assert_found("t", "{\"type\":\"insert\",\"data\":\"x\"}", "flat");
    assert_found("t", "{\"type\":\"bill\",\"data\":[1]}", "flat");
    assert_found("t", "{\"schema\":{\"type\":\"struct\",\"fields\":[{\"field\":\"type\",\"type\":\"string\"},{\"field\":\"isDdl\",\"type\":\"boolean\"}]},"
                      "\"payload\":{\"type\":\"INSERT\",\"isDdl\":true}}", "flat");
    h->headers[0] = (struct mr_header){MR_STR("__debezium.context.connectorName"), MR_STR("mysql"), false};
    h->header_count = 1;
    assert_found("t", "{\"type\":\"insert\",\"data\":{\"a\":1}}", "flat");
    h->header_count = 0;
}

static void test_signs_of_two_formats_are_ambiguous(void **state)
{
    (void)state;
    memset(&h->facts, 0, sizeof(h->facts));
    assert_refused(h, "t", NULL, "{\"type\":\"INSERT\",\"isDdl\":false,\"data\":{\"a\":1}}", "ambiguous", "Maxwell");
    assert_string_equal(h->facts.format, "");
}

static void assert_explained(const char *value_z, const char *format_z, const char *part_z)
{
    static const struct mr_partition part = {"t", 0, 0};
    struct mr_record rec = {.part = &part, .topic = MR_STR("t"), .value = mr_str_z(value_z), .has_value = true};
    struct mr_guess guess;
    assert_int_equal(mr_decoder_set_guess(h->set, &rec, h->ar, &guess, &h->err), MR_OK);
    assert_null(guess.configured_z);
    if (format_z == NULL)
        assert_null(guess.format_z);
    else
        assert_string_equal(guess.format_z, format_z);
    const char *why_z = mr_arena_strndup(h->ar, guess.why.ptr, guess.why.len);
    if (strstr(why_z, part_z) == NULL)
        print_error("%s\n", why_z);
    assert_non_null(strstr(why_z, part_z));
}

static void test_a_guess_names_the_signs(void **state)
{
    (void)state;
    assert_explained(ENVELOPE, "debezium", "connector mysql");
    assert_explained("{\"type\":\"INSERT\",\"isDdl\":false,\"data\":[],\"_tidb\":{}}", "canal", "TiCDC");
    assert_explained("{\"type\":\"INIT\",\"isDdl\":false,\"data\":[]}", "canal", "DTS");
    assert_explained("{\"type\":\"INSERT\",\"gtid\":\"\",\"mysqlType\":{\"a\":\"VARCHAR(3)\"},\"data\":[]}", "canal", "written by Canal");
    assert_explained("{\"type\":\"INSERT\",\"gtid\":\"\",\"mysqlType\":{\"a\":\"varchar\"},\"data\":[]}", "canal", "without lengths");
    assert_explained("{\"type\":\"INSERT\",\"gtid\":\"\",\"mysqlType\":{\"a\":\"int\"},\"data\":[]}", "canal", MR_GUESS_VAGUE);
    assert_explained("{\"type\":\"INSERT\",\"data\":[{}]}", "canal", "Flink");
    assert_explained("{\"type\":\"insert\",\"data\":{}}", "maxwell", "one row");
    assert_explained("{\"a\":1}", "flat", "nothing in it tells");
    assert_explained("null", NULL, "tombstone");
}

static void assert_bytes_refused(struct mr_str value, const char *name_z)
{
    memset(&h->facts, 0, sizeof(h->facts));
    assert_int_equal(helper_decode_bytes(h, "t", MR_STR("{}"), value), MR_E_DATA);
    assert_string_equal(h->err.code, "unsupported");
    assert_non_null(strstr(h->err.message, name_z));
}

static void test_bytes_that_are_no_json_are_refused_by_what_they_look_like(void **state)
{
    (void)state;
    assert_bytes_refused(MR_STR("\0\0\0\0\7abc"), "schema-registry");
    assert_bytes_refused(MR_STR("\0\x80\1\2\3\4\5"), "DTS");
    assert_bytes_refused(MR_STR("\xc3\x01xx"), "single-object");
    assert_bytes_refused(MR_STR("Obj\1xx"), "container");
    assert_bytes_refused(MR_STR("\x1f\x8bxx"), "gzip");
    assert_bytes_refused(MR_STR("\x28\xb5\x2f\xfdxx"), "zstd");
    assert_int_equal(helper_decode(h, "t", "{}", "a,b,c"), MR_E_DATA);
    assert_string_equal(h->err.code, "bad_json");
}

static void test_json_that_is_no_object_has_no_format(void **state)
{
    (void)state;
    memset(&h->facts, 0, sizeof(h->facts));
    assert_refused(h, "t", NULL, "[1,2]", "unknown_format", "no object");
    assert_refused(h, "t", NULL, "\"text\"", "unknown_format", "no object");
    assert_refused(h, "t", NULL, "[]", "unknown_format", "no object");
}

static void test_configured_format_wins_over_what_was_found(void **state)
{
    (void)state;
    struct helper *own = helper_with("json");
    snprintf(own->facts.format, sizeof(own->facts.format), "debezium/mongodb");
    assert_decodes(own, "t", NULL, "{\"id\":1}", "upsert after(id=1)");
    assert_string_equal(own->facts.format, "json");
    assert_true(own->facts.dirty);
    own->facts.dirty = false;
    assert_decodes(own, "t", NULL, "{\"id\":1}", "upsert after(id=1)");
    assert_false(own->facts.dirty);
    helper_free(own);
}

static void test_unknown_format_is_a_configuration_error_that_lists_the_known(void **state)
{
    (void)state;
    struct helper *own = helper_new("avron");
    assert_int_equal(mr_decoder_set_create(&own->cfg, &own->set, &own->err), MR_E_CONFIG);
    assert_non_null(strstr(own->err.message, "avron"));
    assert_non_null(strstr(own->err.hint, "debezium"));
    helper_free(own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_known_member_is_found),
        cmocka_unit_test(test_envelopes_are_debezium),
        cmocka_unit_test(test_rows_are_flat_with_or_without_a_sign),
        cmocka_unit_test(test_tombstones_and_control_messages_fix_no_choice),
        cmocka_unit_test(test_choice_of_a_topic_stays_and_a_contradiction_is_an_error),
        cmocka_unit_test(test_other_producers_are_refused_by_name),
        cmocka_unit_test(test_canal_and_maxwell_are_found_whole_and_stripped),
        cmocka_unit_test(test_shareplex_and_prostore_are_found),
        cmocka_unit_test(test_rows_with_a_sign_of_debezium_are_no_messages_of_others),
        cmocka_unit_test(test_signs_of_two_formats_are_ambiguous),
        cmocka_unit_test(test_a_guess_names_the_signs),
        cmocka_unit_test(test_bytes_that_are_no_json_are_refused_by_what_they_look_like),
        cmocka_unit_test(test_json_that_is_no_object_has_no_format),
        cmocka_unit_test(test_configured_format_wins_over_what_was_found),
        cmocka_unit_test(test_unknown_format_is_a_configuration_error_that_lists_the_known),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
