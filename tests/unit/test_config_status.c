/* The settings of the status topic: what is refused before anything is opened, and what they take from the source's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include <millrace/config/config.h>
#include <millrace/producer.h>

static struct mr_config *load(const char *const *pairs, struct mr_error *err)
{
    struct mr_setting settings[8];
    size_t count = 0;
    struct mr_config *cfg = NULL;
    for (; pairs[0] != NULL; pairs += 2)
        settings[count++] = (struct mr_setting){pairs[0], pairs[1], "--set"};
    return mr_config_load(NULL, settings, count, &cfg, err) == MR_OK ? cfg : NULL;
}
#define LOAD(err, ...) load((const char *const[]){__VA_ARGS__, NULL}, err)

static void assert_refused(struct mr_config *cfg, const struct mr_error *err, const char *text_z)
{
    assert_null(cfg);
    assert_int_equal(err->status, MR_E_CONFIG);
    if (strstr(err->message, text_z) == NULL)
        fail_msg("\"%s\" is not in: %s", text_z, err->message);
}

#define BROKERS "source.kafka.brokers", "here:1"

static void test_a_topic_needs_brokers_and_a_name(void **state)
{
    struct mr_error err = {0};
    (void)state;
    assert_refused(LOAD(&err, "status.kafka.topic", "s"), &err, "needs status.kafka.brokers");
    assert_refused(LOAD(&err, "status.kafka.topic", "a b", BROKERS), &err, "no name of a topic");
    assert_refused(LOAD(&err, "status.kafka.topic", "..", BROKERS), &err, "no name of a topic");
}

static void test_a_pipeline_does_not_read_what_it_writes(void **state)
{
    struct mr_error err = {0};
    (void)state;
    assert_refused(LOAD(&err, "status.kafka.topic", "s", BROKERS, "source.kafka.topics", "[a, s]"), &err,
                   "feed on its own");
    assert_refused(LOAD(&err, "status.kafka.topic", "shop.s", BROKERS, "source.kafka.topics", "^shop"), &err,
                   "feed on its own");
    assert_refused(LOAD(&err, "status.kafka.topic", "s", BROKERS, "source.kafka.topics", "s",
                        "status.kafka.brokers", "here:1"),
                   &err, "feed on its own");
    struct mr_config *cfg = LOAD(&err, "status.kafka.topic", "s", BROKERS, "source.kafka.topics", "s",
                                 "status.kafka.brokers", "there:1");
    assert_non_null(cfg);
    mr_config_destroy(cfg);
}

static void test_brokers_and_login_are_the_sources_unless_others_are_named(void **state)
{
    struct mr_error err = {0};
    (void)state;
    struct mr_config *cfg = LOAD(&err, "status.kafka.topic", "s", BROKERS, "source.kafka.topics", "a",
                                 "source.kafka.properties.\"security.protocol\"", "nonsense");
    assert_non_null(cfg);
    assert_string_equal(cfg->status_brokers, "here:1");
    assert_true(cfg->status_on_source);
    assert_int_equal(mr_kafka_producer.check_settings(cfg, &err), MR_E_CONFIG); /* it is handed on */
    mr_config_destroy(cfg);
    cfg = LOAD(&err, "status.kafka.topic", "s", BROKERS, "source.kafka.properties.\"security.protocol\"",
               "nonsense", "status.kafka.brokers", "there:1");
    assert_non_null(cfg);
    assert_false(cfg->status_on_source);
    assert_int_equal(mr_kafka_producer.check_settings(cfg, &err), MR_OK);
    mr_config_destroy(cfg);
    cfg = LOAD(&err, "status.kafka.topic", "s", BROKERS, "source.kafka.properties.\"fetch.min.bytes\"",
               "100000"); /* says nothing about brokers */
    assert_non_null(cfg);
    assert_int_equal(mr_kafka_producer.check_settings(cfg, &err), MR_OK);
    mr_config_destroy(cfg);
}

static void test_properties_on_which_the_promise_rests_are_refused(void **state)
{
    static const char *const names[][2] = {
        {"status.kafka.properties.\"enable.idempotence\"", "cannot be set"},
        {"status.kafka.properties.acks", "cannot be set"},
        {"status.kafka.properties.\"transactional.id\"", "cannot be set"},
        {"status.kafka.properties.\"bootstrap.servers\"", "set status.kafka.brokers instead"},
        {"status.kafka.properties.nosuch", "has no property \"nosuch\""}};
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct mr_error err = {0};
        struct mr_config *cfg = LOAD(&err, "status.kafka.topic", "s", BROKERS, names[i][0], "1");
        assert_non_null(cfg);
        assert_int_equal(mr_kafka_producer.check_settings(cfg, &err), MR_E_CONFIG);
        assert_non_null(strstr(err.message, names[i][1]));
        mr_config_destroy(cfg);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_topic_needs_brokers_and_a_name),
        cmocka_unit_test(test_a_pipeline_does_not_read_what_it_writes),
        cmocka_unit_test(test_brokers_and_login_are_the_sources_unless_others_are_named),
        cmocka_unit_test(test_properties_on_which_the_promise_rests_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
