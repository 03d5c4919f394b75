/* SharePlex: operations in every spelling, what an update makes of its row, and updates in two halves. */
#include "decode_helper.h"

static void test_operations_in_every_spelling(void **state)
{
    (void)state;
    struct helper *h = helper_with("shareplex");
    static const char *const inserts[] = {"ins", "INSERT", "In-Sert", "i n s", "in_s"};
    for (size_t i = 0; i < sizeof(inserts) / sizeof(inserts[0]); i++) {
        char text[128];
        snprintf(text, sizeof(text),
                 "{\"meta\":{\"op\":\"%s\",\"table\":\"O.T\"},\"data\":{\"A\":1,\"B\":\"x\"}}", inserts[i]);
        assert_decodes(h, "t", NULL, text, "upsert new O.T after(A=1 B='x')");
    }
    assert_decodes(h, "t", NULL,
                   "{\"meta\":{\"op\":\"DEL\",\"table\":\"O.T\"},\"data\":{\"A\":1,\"B\":null}}",
                   "delete O.T before(A=1 B=null)");
    assert_decodes(h, "t", NULL, "{\"meta\":{\"op\":\"truncate\",\"table\":\"O.T\"}}", "truncate O.T");
    assert_decodes(h, "t", NULL, "{\"meta\":{\"op\":\"commit\"}}", "control transaction");
    assert_decodes(h, "t", NULL, "{\"meta\":{\"op\":\"heartbeat\"}}", "control heartbeat");
    assert_decodes(h, "t", NULL, "{\"meta\":{\"op\":\"drop column\",\"table\":\"O.T\"}}",
                   "control schema-change O.T ALTER in 'O' part 0");
    assert_decodes(h, "t", NULL,
                   "{\"meta\":{\"op\":\"ddl\",\"table\":\"O.T\"},\"data\":{\"sql\":\"ALTER X\"}}",
                   "control schema-change O.T ddl ALTER X");
    assert_refused(h, "t", NULL, "{\"meta\":{\"op\":\"xyz\",\"table\":\"O.T\"}}", "unknown_op", "xyz");
    assert_refused(h, "t", NULL, "{\"meta\":{\"table\":\"O.T\"}}", "unknown_op", "");
    helper_free(h);
}

static void test_an_update_is_the_row_before_with_the_changes_over_it(void **state)
{
    (void)state;
    struct helper *h = helper_with("shareplex");
    assert_decodes(h, "t", NULL,
                   "{\"meta\":{\"op\":\"upd\",\"table\":\"O.T\"},\"data\":{\"B\":2},\"key\":{\"A\":1}}",
                   "upsert partial O.T key(A=1) after(A=1 B=2)");
    assert_decodes(
        h, "t", NULL,
        "{\"meta\":{\"op\":\"upd\",\"table\":\"O.T\"},\"data\":{\"A\":3},\"key\":{\"A\":1,\"B\":null}}",
        "upsert partial O.T key(A=3 B=null) old(A=1 B=null) after(A=3 B=null)");
    assert_decodes(h, "t", NULL,
                   "{\"meta\":{\"op\":\"upd\",\"table\":\"O.T\"},\"data\":{},\"key\":{\"A\":1}}",
                   "control empty");
    assert_refused(h, "t", NULL, "{\"meta\":{\"op\":\"upd\",\"table\":\"O.T\"},\"data\":{\"A\":1}}", "no_key",
                   "key");
    assert_refused(h, "t", NULL,
                   "{\"meta\":{\"op\":\"upd\",\"table\":\"O.T\"},\"data\":[1],\"key\":{\"A\":1}}",
                   "bad_image", "data");
    assert_refused(h, "t", NULL, "{\"meta\":{\"op\":\"ins\",\"table\":\"O.T\"}}", "bad_image", "row");
    assert_refused(h, "t", NULL, "{\"meta\":{\"op\":\"del\",\"table\":\"O.T\"},\"data\":{}}", "bad_image",
                   "row");
    assert_refused(h, "t", NULL, "{\"meta\":{\"op\":\"ins\"},\"data\":{\"A\":1}}", "no_table", "table");
    helper_free(h);
}

#define HALF(op, data)                                                                                       \
    "{\"meta\":{\"op\":\"" op "\",\"table\":\"O.T\",\"trans\":\"1\",\"rowid\":\"A\"},\"data\":" data "}"

static void test_two_halves_in_one_message_are_one_update(void **state)
{
    (void)state;
    struct helper *h = helper_with("shareplex");
    assert_decodes(h, "t", NULL, "[" HALF("umb", "{\"A\":1,\"B\":5}") "," HALF("uma", "{\"A\":2}") "]",
                   "upsert partial O.T before(A=1 B=5) after(A=2 B=5) tx 1");
    assert_decodes(h, "t", NULL, HALF("uma", "{\"A\":2}"), "upsert partial O.T before(A=2) after(A=2) tx 1");
    assert_refused(h, "t", NULL, HALF("umb", "[]"), "bad_image", "data");
    assert_refused(h, "t", NULL,
                   "{\"meta\":{\"op\":\"umb\",\"table\":\"O.T\",\"trans\":\"1\",\"seq\":3,\"size\":3},"
                   "\"data\":{\"A\":1}}",
                   "incomplete", "before");
    helper_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operations_in_every_spelling),
        cmocka_unit_test(test_an_update_is_the_row_before_with_the_changes_over_it),
        cmocka_unit_test(test_two_halves_in_one_message_are_one_update),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
