/* Prostore's status events as rows: the file's layout, texts in single quotes, events that come twice, keys that say too little. */
#include "decode_helper.h"

#include "decode/prostore.h"

#define ID "6b80c392-3198-492f-a631-6a684e521b79"
#define KEY                                                                                                  \
    "{\"datamart\":\"m\",\"datetime\":\"2022-02-28 08:02:40\",\"event\":\"DELTA_OPEN\",\"eventLogId\":\"" ID \
    "\"}"
#define ROW                                                                                                  \
    "upsert new .prostore_status_event key(event_log_id=U" ID ":uuid!) after(event_log_id=U" ID              \
    ":uuid! datamart='m':text! event='DELTA_OPEN':text! event_datetime=2022-02-28T08:02:40Z:timestamptz! "   \
    "delta_num=8:int64! body=J{\"deltaNum\":8}:json!)"

static void test_key_and_value_are_one_row(void **state)
{
    (void)state;
    struct helper *h = helper_with("prostore");
    assert_decodes(h, "s", KEY, "{\"deltaNum\":8}", ROW);
    assert_decodes(h, "s", KEY, NULL, "control empty");
    assert_decodes(
        h, "s", KEY, "{\"deltaNum\":\"8\",\"new\":1}",
        "upsert new .prostore_status_event key(event_log_id=U" ID ":uuid!) after(event_log_id=U" ID
        ":uuid! datamart='m':text! event='DELTA_OPEN':text! event_datetime=2022-02-28T08:02:40Z:timestamptz! "
        "delta_num=invalid(expected a whole number of 64 bits):int64! "
        "body=J{\"deltaNum\":\"8\",\"new\":1}:json!)");
    helper_free(h);
}

static void test_a_line_with_key_and_value_is_an_event(void **state)
{
    (void)state;
    struct helper *h = helper_with("prostore");
    assert_decodes(h, "s", NULL, "{\"key\":" KEY ",\"value\":{\"deltaNum\":8}}", ROW);
    helper_free(h);
}

static void test_texts_in_single_quotes_are_read(void **state)
{
    (void)state;
    struct helper *h = helper_with("prostore");
    assert_decodes(h, "s",
                   "{'datamart':'m','datetime':'2022-02-28 08:02:40','event':'DELTA_OPEN','eventLogId':'" ID
                   "'}",
                   "{'deltaNum':8}", ROW);
    assert_true(
        mr_str_eq_z(mr_prostore_requoted(MR_STR("{'a\"\\'':\"it's\"}"), h->ar), "{\"a\\\"'\":\"it's\"}"));
    assert_true(mr_str_eq_z(mr_prostore_requoted(MR_STR("'\\"), h->ar), "\"\\"));
    helper_free(h);
}

static void test_keys_that_say_too_little_are_refused(void **state)
{
    (void)state;
    struct helper *h = helper_with("prostore");
    assert_refused(h, "s", NULL, "{\"deltaNum\":8}", "no_key", "datamart");
    assert_refused(h, "s", "[]", "{\"deltaNum\":8}", "no_key", "datamart");
    assert_refused(h, "s", "{\"datamart\":\"m\",\"event\":1,\"eventLogId\":\"" ID "\"}", "{}", "no_key",
                   "event");
    assert_refused(h, "s", "{\"datamart\":\"m\",\"event\":\"e\",\"eventLogId\":\"x\"}", "{}", "bad_value",
                   "UUID");
    assert_refused(h, "s", KEY, "[1]", "bad_value", "object");
    helper_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_key_and_value_are_one_row),
        cmocka_unit_test(test_a_line_with_key_and_value_is_an_event),
        cmocka_unit_test(test_texts_in_single_quotes_are_read),
        cmocka_unit_test(test_keys_that_say_too_little_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
