/* Base: log lines. stderr goes to a temporary file while a line is written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <jansson.h>

#include <millrace/base/buf.h>
#include <millrace/base/log.h>

#define TIME_LEN 27 /* 2024-01-01T00:00:00.123456Z */

static FILE *captured;
static int real_stderr = -1;

static void capture(void)
{
    captured = tmpfile();
    assert_non_null(captured);
    fflush(stderr);
    real_stderr = dup(STDERR_FILENO);
    dup2(fileno(captured), STDERR_FILENO);
}

/* What was written since capture(), as text that the caller frees. */
static char *release(size_t *len)
{
    dup2(real_stderr, STDERR_FILENO);
    close(real_stderr);
    long size = lseek(fileno(captured), 0, SEEK_END);
    rewind(captured);
    char *text = calloc(1, (size_t)size + 1);
    *len = fread(text, 1, (size_t)size, captured);
    fclose(captured);
    return text;
}

/* One logfmt line without its time. */
static void assert_line(const char *text, const char *want)
{
    assert_memory_equal(text, "time=20", 7);
    assert_int_equal(text[5 + TIME_LEN - 1], 'Z');
    assert_int_equal(text[5 + 19], '.');
    assert_string_equal(text + 5 + TIME_LEN, want);
}

static void test_logfmt_quotes_what_needs_it(void **state)
{
    (void)state;
    mr_log_setup(MR_LOG_INFO, MR_LOG_LOGFMT, false);
    size_t len;
    capture();
    mr_log(MR_LOG_WARN, "partition assigned", MR_KV_Z("topic", "shop.orders"), MR_KV_INT("n", -3),
           MR_KV_DOUBLE("rate", 0.25), MR_KV_Z("empty", ""), MR_KV_Z("eq", "a=b"), MR_KV_Z("quote", "a\"b\\"),
           MR_KV_Z("lines", "a\nb"), MR_KV_Z("wide", "\xC3\xA4"), MR_KV_STR("nul", MR_STR("a\0b")),
           MR_KV_Z("bad", "\xFF"), MR_KV_DOUBLE("nan", (double)NAN));
    char *text = release(&len);
    assert_line(text, " level=warn msg=\"partition assigned\" topic=shop.orders n=-3 rate=0.25 empty=\"\" eq=\"a=b\" "
                      "quote=\"a\\\"b\\\\\" lines=\"a\\nb\" wide=\xC3\xA4 nul=\"a\\u0000b\" "
                      "bad=\"\xEF\xBF\xBD\" nan=NaN\n");
    free(text);
}

static void test_nothing_that_a_terminal_would_obey_reaches_it(void **state)
{
    (void)state;
    mr_log_setup(MR_LOG_INFO, MR_LOG_LOGFMT, false);
    size_t len;
    capture();
    mr_log(MR_LOG_WARN, "x", MR_KV_Z("escape", "a\x1b[2J"), MR_KV_Z("c1", "\xC2\x9B" "31m\xC2\x9B"), MR_KV_Z("bidi", "a\xE2\x80\xAE" "b"),
           MR_KV_Z("wide", "\xC3\xA4\x7f"));
    char *text = release(&len);
    assert_line(text, " level=warn msg=x escape=\"a\\u001b[2J\" c1=\"\\u009b31m\\u009b\" bidi=\"a\\u202eb\" wide=\"\xC3\xA4\\u007f\"\n");
    free(text);
}

static void test_json_lines_are_json(void **state)
{
    (void)state;
    mr_log_setup(MR_LOG_DEBUG, MR_LOG_JSON, false);
    size_t len;
    capture();
    mr_log(MR_LOG_DEBUG, "a \"message\"", MR_KV_STR("text", MR_STR("x\0\n\xFF")), MR_KV_INT("int", INT64_MIN),
           MR_KV_DOUBLE("real", 1.5), MR_KV_DOUBLE("inf", (double)INFINITY));
    mr_log_plain(MR_LOG_ERROR, "plain");
    char *text = release(&len);
    json_error_t err;
    char *second = strchr(text, '\n') + 1;
    json_t *first = json_loadb(text, (size_t)(second - text), JSON_ALLOW_NUL, &err);
    json_t *plain = json_loads(second, 0, &err);
    assert_non_null(first);
    assert_non_null(plain);
    assert_int_equal(json_string_length(json_object_get(first, "time")), TIME_LEN);
    assert_string_equal(json_string_value(json_object_get(first, "level")), "debug");
    assert_string_equal(json_string_value(json_object_get(first, "msg")), "a \"message\"");
    assert_memory_equal(json_string_value(json_object_get(first, "text")), "x\0\n\xEF\xBF\xBD", 7);
    assert_int_equal(json_integer_value(json_object_get(first, "int")), INT64_MIN);
    assert_true(json_real_value(json_object_get(first, "real")) == 1.5);
    assert_string_equal(json_string_value(json_object_get(first, "inf")), "Infinity");
    assert_int_equal(json_object_size(plain), 3);
    json_decref(first);
    json_decref(plain);
    free(text);
}

static void test_lower_levels_are_silent(void **state)
{
    (void)state;
    mr_log_setup(MR_LOG_WARN, MR_LOG_LOGFMT, true);
    assert_true(mr_log_values());
    assert_false(mr_log_enabled(MR_LOG_INFO));
    assert_true(mr_log_enabled(MR_LOG_WARN));
    size_t len;
    capture();
    mr_log_plain(MR_LOG_DEBUG, "no");
    mr_log_plain(MR_LOG_INFO, "no");
    char *text = release(&len);
    assert_int_equal(len, 0);
    free(text);
    mr_log_setup(MR_LOG_WARN, MR_LOG_LOGFMT, false);
    assert_false(mr_log_values());
}

static void test_an_error_becomes_one_line_of_what_it_says(void **state)
{
    (void)state;
    mr_log_setup(MR_LOG_INFO, MR_LOG_LOGFMT, false);
    struct mr_error err = {0};
    (void)mr_fail(&err, MR_E_ENV, "cannot reach db");
    mr_error_hint(&err, "start it");
    size_t len;
    capture();
    mr_log_error(MR_LOG_ERROR, "apply failed", &err);
    char *text = release(&len);
    assert_line(text, " level=error msg=\"apply failed\" error=\"cannot reach db\" code=env hint=\"start it\"\n");
    free(text);
}

static void test_a_giant_value_is_cut_with_a_sign(void **state)
{
    (void)state;
    mr_log_setup(MR_LOG_INFO, MR_LOG_LOGFMT, false);
    char *giant = calloc(1, 1000001);
    for (size_t i = 0; i < 1000000; i += 2)
        memcpy(giant + i, "\xC3\xA4", 2);
    size_t len;
    capture();
    mr_log(MR_LOG_INFO, giant, MR_KV_Z("a", giant), MR_KV_Z("b", "end"));
    char *text = release(&len);
    assert_in_range(len, 16000, 17000);
    assert_non_null(strstr(text, "\xC3\xA4\xE2\x80\xA6\" b=end\n"));
    free(text);
    free(giant);
}

static int hooks_before, hooks_after;

static void before(void)
{
    hooks_before++;
    assert_int_equal(hooks_before, hooks_after + 1);
}

static void after(void)
{
    hooks_after++;
}

static void test_hooks_stand_around_each_line(void **state)
{
    (void)state;
    mr_log_setup(MR_LOG_INFO, MR_LOG_LOGFMT, false);
    mr_log_set_hooks(before, after);
    size_t len;
    capture();
    mr_log_plain(MR_LOG_INFO, "one");
    mr_log_plain(MR_LOG_DEBUG, "not");
    mr_log_plain(MR_LOG_INFO, "two");
    free(release(&len));
    mr_log_set_hooks(NULL, NULL);
    assert_int_equal(hooks_before, 2);
    assert_int_equal(hooks_after, 2);
}

enum { THREADS = 4, LINES = 500 };

static void *write_lines(void *arg)
{
    for (int i = 0; i < LINES; i++)
        mr_log(MR_LOG_INFO, "a line of a thread", MR_KV_INT("thread", (intptr_t)arg), MR_KV_INT("line", i));
    return NULL;
}

static void test_lines_of_several_threads_stay_whole(void **state)
{
    (void)state;
    mr_log_setup(MR_LOG_INFO, MR_LOG_LOGFMT, false);
    pthread_t threads[THREADS];
    size_t len;
    capture();
    for (intptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, write_lines, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    char *text = release(&len);
    int next[THREADS] = {0}, count = 0;
    for (char *line = text; *line; count++) {
        char *end = strchr(line, '\n');
        assert_non_null(end);
        int thread, number, used = 0;
        sscanf(line + 5 + TIME_LEN, " level=info msg=\"a line of a thread\" thread=%d line=%d%n", &thread, &number, &used);
        assert_ptr_equal(line + 5 + TIME_LEN + used, end);
        assert_int_equal(number, next[thread]++);
        line = end + 1;
    }
    assert_int_equal(count, THREADS * LINES);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_logfmt_quotes_what_needs_it),
        cmocka_unit_test(test_nothing_that_a_terminal_would_obey_reaches_it),
        cmocka_unit_test(test_json_lines_are_json),
        cmocka_unit_test(test_lower_levels_are_silent),
        cmocka_unit_test(test_an_error_becomes_one_line_of_what_it_says),
        cmocka_unit_test(test_a_giant_value_is_cut_with_a_sign),
        cmocka_unit_test(test_hooks_stand_around_each_line),
        cmocka_unit_test(test_lines_of_several_threads_stay_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
