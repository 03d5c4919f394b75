/* The texts of Prostore's status events, against the handed cases: each names an action and the exact key and value that must come of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>
#include <jansson.h>

#include <millrace/base/encode.h>
#include <millrace/base/time.h>

#include "engine/status_event.h"

static const struct {
    const char *op_z;
    enum mr_status_action action;
} ops[] = {
    {"table_created", MR_STATUS_TABLE_CREATED},     {"table_altered", MR_STATUS_TABLE_ALTERED},
    {"table_dropped", MR_STATUS_TABLE_DROPPED},     {"batch_opened", MR_STATUS_BATCH_OPENED},
    {"batch_committed", MR_STATUS_BATCH_COMMITTED}, {"batch_rolled_back", MR_STATUS_BATCH_ROLLED_BACK},
    {"write_completed", MR_STATUS_WRITE_COMPLETED}, {"write_cancelled", MR_STATUS_WRITE_CANCELLED},
};

static struct mr_str text_of(json_t *object, const char *name_z)
{
    return mr_str_z(json_string_value(json_object_get(object, name_z)));
}

static int64_t instant_of(struct mr_str text)
{
    int64_t us;
    bool has_zone;
    assert_true(mr_parse_timestamptz(text, &us, &has_zone));
    return us;
}

static struct mr_status_event event_of(json_t *one)
{
    json_t *options = json_object_get(one, "options"), *value = json_object_get(one, "value");
    struct mr_status_event ev = {.datamart = text_of(options, "datamart"),
                                 .at_us = instant_of(text_of(options, "clock"))};
    struct mr_str op = text_of(value, "op"), done;
    bool found = false;
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        if (mr_str_eq_z(op, ops[i].op_z)) {
            ev.action = ops[i].action;
            found = true;
        }
    }
    assert_true(found);
    assert_true(mr_uuid_parse(
        mr_str_z(json_string_value(json_array_get(json_object_get(options, "uuids"), 0))), ev.id));
    ev.delta = json_integer_value(json_object_get(value, "delta"));
    ev.entity = text_of(value, "entity");
    ev.has_cn = json_is_integer(json_object_get(value, "cn"));
    ev.cn = json_integer_value(json_object_get(value, "cn"));
    done = text_of(value, ev.action == MR_STATUS_BATCH_COMMITTED ? "committed_at" : "finished_at");
    if (done.len != 0)
        ev.done_us = instant_of(done);
    return ev;
}

static void assert_case(json_t *one)
{
    struct mr_status_event ev = event_of(one);
    json_t *expect = json_array_get(json_object_get(one, "expect"), 0);
    bool writes = !json_is_false(json_object_get(json_object_get(one, "options"), "status.write_operations"));
    if (mr_str_eq_z(text_of(expect, "action"), "ignore")) {
        assert_false(writes);
        assert_true(mr_status_event_is_write(ev.action));
        return;
    }
    struct mr_buf key = MR_BUF_INIT(4096), value = MR_BUF_INIT(4096);
    mr_status_event_key(&ev, &key);
    mr_status_event_value(&ev, &value);
    assert_string_equal(mr_buf_z(&key), text_of(expect, "key").ptr);
    assert_string_equal(mr_buf_z(&value), text_of(expect, "value").ptr);
    mr_buf_free(&key);
    mr_buf_free(&value);
}

static void test_every_handed_action_gives_its_exact_texts(void **state)
{
    (void)state;
    FILE *f = fopen(MR_SOURCE_DIR "/tests/cases/prostore/emit.jsonl", "r");
    size_t count = 0;
    assert_non_null(f);
    for (;; count++) {
        json_error_t fault;
        json_t *one = json_loadf(f, JSON_DISABLE_EOF_CHECK, &fault);
        if (one == NULL)
            break;
        assert_case(one);
        json_decref(one);
    }
    assert_true(feof(f));
    assert_int_equal(count, 7);
    fclose(f);
}

static void assert_value(const struct mr_status_event *ev, const char *want_z)
{
    struct mr_buf value = MR_BUF_INIT(4096);
    mr_status_event_value(ev, &value);
    assert_string_equal(mr_buf_z(&value), want_z);
    mr_buf_free(&value);
}

static void test_a_write_without_number_has_no_time_either(void **state)
{
    (void)state;
    struct mr_status_event ev = {.action = MR_STATUS_WRITE_COMPLETED, .entity = MR_STR("t"), .done_us = 5};
    assert_value(&ev, "{\"entity\":\"t\",\"cn\":null,\"ts\":null,\"rowsAffected\":null}");
    ev.action = MR_STATUS_WRITE_CANCELLED;
    assert_value(&ev, "{\"entity\":\"t\",\"cn\":null}");
}

static void test_whole_seconds_are_cut_and_six_digits_are_always_there(void **state)
{
    (void)state;
    struct mr_status_event ev = {.action = MR_STATUS_TABLE_ALTERED, .datamart = MR_STR("a"), .at_us = 999999};
    assert_value(&ev, "{\"changeDateTime\":\"1970-01-01 00:00:00\",\"datamart\":\"a\"}");
    ev.at_us = -1;
    assert_value(&ev, "{\"changeDateTime\":\"1969-12-31 23:59:59\",\"datamart\":\"a\"}");
    ev = (struct mr_status_event){.action = MR_STATUS_BATCH_COMMITTED, .delta = 0, .done_us = 1000000};
    assert_value(&ev, "{\"deltaNum\":0,\"deltaDate\":\"1970-01-01 00:00:01.000000\"}");
}

static void test_names_are_escaped_only_where_json_wants_it(void **state)
{
    (void)state;
    struct mr_status_event ev = {
        .action = MR_STATUS_WRITE_CANCELLED, .entity = MR_STR("пр\"о\\д/а\n"), .has_cn = true, .cn = 1};
    assert_value(&ev, "{\"entity\":\"пр\\\"о\\\\д/а\\n\",\"cn\":1}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_handed_action_gives_its_exact_texts),
        cmocka_unit_test(test_a_write_without_number_has_no_time_either),
        cmocka_unit_test(test_whole_seconds_are_cut_and_six_digits_are_always_there),
        cmocka_unit_test(test_names_are_escaped_only_where_json_wants_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
