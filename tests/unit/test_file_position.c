/* The file source over time: going on, following, growth, seeking, standard input. */
#include "file_run.h"

static void test_interrupted_run_goes_on_at_its_line(void **state)
{
    struct target *tg = target_create();
    struct mr_buf text = MR_BUF_INIT(BIG), rest = MR_BUF_INIT(BIG);
    char *packed = mr_xmalloc(BIG);
    struct mr_str out;
    (void)state;

    numbered(&text, 0, 50000);
    numbered(&rest, 700, 50000 - 700);
    out = gzipped(mr_buf_str(&text), packed, BIG);
    write_bytes("a.gz", out.ptr, out.len, "w");
    for (int i = 0; i < 7; i++) {
        struct run r;

        run_init(&r, tg, path_of("a.gz"), NULL);
        assert_int_equal(run_start(&r, true), MR_OK);
        assert_int_equal(run_poll(&r, 100, 1000), MR_OK);
        assert_int_equal(r.records, 100);
        run_end(&r);
    }
    assert_backfill(tg, path_of("a.gz"), mr_buf_z(&rest));
    mr_buf_free(&text);
    mr_buf_free(&rest);
    mr_xfree(packed);
    target_destroy(tg);
}

static void test_grown_file_is_known_again_and_other_content_is_not(void **state)
{
    struct target *tg = target_create();
    (void)state;

    write_file("a.jsonl", "{\"n\":1}\n");
    assert_backfill(tg, path_of("a.jsonl"), "{\"n\":1}\n");
    append_file("a.jsonl", "{\"n\":2}\n");
    assert_backfill(tg, path_of("a.jsonl"), "{\"n\":2}\n");
    assert_int_equal(mr_map_count(tg->positions), 1);
    write_file("a.jsonl", "{\"n\":7}\n{\"n\":8}\n");
    assert_backfill(tg, path_of("a.jsonl"), "{\"n\":7}\n{\"n\":8}\n");
    assert_int_equal(mr_map_count(tg->positions), 2);
    /* the first content is back */
    write_file("a.jsonl", "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n");
    assert_backfill(tg, path_of("a.jsonl"), "{\"n\":3}\n");
    target_destroy(tg);
}

static void test_cut_file_is_an_error(void **state)
{
    struct target *tg = target_create();
    struct run r;
    (void)state;

    write_file("a.jsonl", "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n");
    assert_backfill(tg, path_of("a.jsonl"), "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n");
    remember(tg, only_name(tg), 9);
    run_init(&r, tg, path_of("a.jsonl"), NULL);
    assert_int_equal(run_start(&r, true), MR_OK);
    assert_int_equal(run_until(&r, 0), MR_E_CONFIG);
    assert_contains(r.err.message, "has 3 lines, but 9 of it are recorded as done");
    run_end(&r);
    target_destroy(tg);
}

static void test_run_waits_for_the_end_of_a_line_and_follows(void **state)
{
    struct target *tg = target_create();
    struct run r;
    (void)state;

    write_file("a.jsonl", "{\"n\":1}\n{\"n\"");
    run_init(&r, tg, path_of("*.jsonl"), NULL);
    assert_int_equal(run_start(&r, false), MR_OK);
    assert_int_equal(run_until(&r, 1), MR_OK);
    assert_string_equal(mr_buf_z(&r.seen), "{\"n\":1}\n");

    append_file("a.jsonl", ":2}\n{\"n\":3}\n");
    assert_int_equal(run_until(&r, 3), MR_OK);
    write_file("b.jsonl", "{\"n\":4}\n");
    assert_int_equal(run_until(&r, 4), MR_OK);
    append_file("a.jsonl", "{\"n\":5}\n");
    assert_int_equal(run_until(&r, 5), MR_OK);
    assert_string_equal(mr_buf_z(&r.seen), "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n{\"n\":4}\n{\"n\":5}\n");

    /* Rotation: the same name with other content is another file. */
    write_file("a.jsonl", "{\"n\":6}\n");
    assert_int_equal(run_until(&r, 6), MR_OK);
    assert_contains(mr_buf_z(&r.seen), "{\"n\":6}\n");
    run_end(&r);
    assert_string_equal(tg->log, "+0@-1 +1@-1 -0 +2@-1 -2 -1 ");
    target_destroy(tg);
}

static void test_run_follows_an_archive_that_gets_more_members(void **state)
{
    struct target *tg = target_create();
    char packed[4096];
    struct mr_str gz = gzipped(MR_STR("{\"n\":1}\n{\"n\":2}\n"), packed, sizeof(packed));
    struct run r;
    (void)state;

    write_bytes("a.gz", gz.ptr, gz.len / 2, "w");
    run_init(&r, tg, path_of("a.gz"), NULL);
    assert_int_equal(run_start(&r, false), MR_OK);
    assert_int_equal(run_until(&r, 0), MR_OK);
    write_bytes("a.gz", gz.ptr + gz.len / 2, gz.len - gz.len / 2, "a");
    assert_int_equal(run_until(&r, 2), MR_OK);
    write_bytes("a.gz", gz.ptr, gz.len, "a");
    assert_int_equal(run_until(&r, 4), MR_OK);
    assert_string_equal(mr_buf_z(&r.seen), "{\"n\":1}\n{\"n\":2}\n{\"n\":1}\n{\"n\":2}\n");
    run_end(&r);
    target_destroy(tg);
}

static void test_backfill_then_run_does_not_repeat_the_unfinished_line(void **state)
{
    struct target *tg = target_create();
    struct run r;
    (void)state;

    write_file("a.jsonl", "{\"n\":1}\n{\"n\":2}");
    assert_backfill(tg, path_of("a.jsonl"), "{\"n\":1}\n{\"n\":2}\n");
    run_init(&r, tg, path_of("a.jsonl"), NULL);
    assert_int_equal(run_start(&r, false), MR_OK);
    assert_int_equal(run_until(&r, 0), MR_OK);
    append_file("a.jsonl", "\n{\"n\":3}\n");
    assert_int_equal(run_until(&r, 1), MR_OK);
    assert_string_equal(mr_buf_z(&r.seen), "{\"n\":3}\n");
    run_end(&r);
    target_destroy(tg);
}

static void test_many_files_are_given_back_in_groups(void **state)
{
    struct target *tg = target_create();
    struct run r;
    (void)state;

    for (int i = 0; i < 200; i++) {
        char name[32], text[32];

        snprintf(name, sizeof(name), "f%03d.jsonl", i);
        snprintf(text, sizeof(text), "{\"n\":%d}\n", i);
        write_file(name, text);
    }
    run_init(&r, tg, path_of("*.jsonl"), NULL);
    assert_int_equal(run_start(&r, true), MR_OK);
    assert_int_equal(run_until(&r, 0), MR_OK);
    assert_int_equal(r.records, 200);
    assert_contains(tg->log, "+63@-1 -0 -1 ");
    assert_contains(tg->log, "-63 +64@-1 ");
    run_end(&r);
    assert_contains(tg->log, " -199 ");
    target_destroy(tg);
}

static void test_seek_goes_back_and_forth(void **state)
{
    struct target *tg = target_create();
    struct mr_record recs[10];
    struct run r;
    size_t count;
    (void)state;

    write_file("a.jsonl", "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n");
    write_file("b.jsonl", "{\"n\":4}\n");
    run_init(&r, tg, path_of("a.jsonl"), path_of("b.jsonl"));
    assert_int_equal(run_start(&r, true), MR_OK);
    assert_int_equal(mr_source_file.poll(r.src, r.ar, recs, 10, BIG, 0, &count, &r.state, &r.err), MR_OK);
    assert_int_equal(count, 3);
    assert_int_equal(mr_source_file.seek(r.src, recs[0].part, 1, &r.err), MR_OK);
    assert_int_equal(run_until(&r, 0), MR_OK);
    assert_string_equal(mr_buf_z(&r.seen), "{\"n\":2}\n{\"n\":3}\n{\"n\":4}\n");
    run_end(&r);
    assert_string_equal(tg->log, "+0@-1 +1@-1 -0 -1 ");
    target_destroy(tg);
}

static void test_paused_source_gives_nothing(void **state)
{
    struct target *tg = target_create();
    struct run r;
    (void)state;

    write_file("a.jsonl", "{\"n\":1}\n");
    run_init(&r, tg, path_of("a.jsonl"), NULL);
    assert_int_equal(run_start(&r, true), MR_OK);
    mr_source_file.pause(r.src);
    assert_int_equal(run_poll(&r, 10, 5), MR_OK);
    assert_int_equal(r.records, 0);
    assert_int_equal(r.state, MR_POLL_IDLE);
    mr_source_file.resume(r.src);
    assert_int_equal(run_until(&r, 0), MR_OK);
    assert_int_equal(r.records, 1);
    run_end(&r);
    target_destroy(tg);
}

static void test_lag_counts_bytes_of_all_files(void **state)
{
    struct target *tg = target_create();
    struct mr_lag lag;
    struct run r;
    (void)state;

    write_file("a.jsonl", "{\"n\":1}\n");
    write_file("b.jsonl", "{\"n\":22}\n");
    run_init(&r, tg, path_of("*.jsonl"), NULL);
    assert_int_equal(run_start(&r, true), MR_OK);
    assert_int_equal(mr_source_file.lag(r.src, &lag, 1), 0);
    assert_int_equal(run_poll(&r, 1, 0), MR_OK);
    assert_int_equal(mr_source_file.lag(r.src, &lag, 1), 1);
    assert_int_equal(lag.position, 8);
    assert_int_equal(lag.end, 17);
    assert_int_equal(run_until(&r, 0), MR_OK);
    assert_int_equal(mr_source_file.lag(r.src, &lag, 1), 1);
    assert_int_equal(lag.position, 17);
    run_end(&r);
    target_destroy(tg);
}

static void test_dropped_file_is_left_alone(void **state)
{
    struct target *tg = target_create();
    struct mr_record rec;
    struct run r;
    size_t count;
    (void)state;

    write_file("a.jsonl", "{\"n\":1}\n{\"n\":2}\n");
    write_file("b.jsonl", "{\"n\":3}\n");
    run_init(&r, tg, path_of("*.jsonl"), NULL);
    assert_int_equal(run_start(&r, true), MR_OK);
    assert_int_equal(mr_source_file.poll(r.src, r.ar, &rec, 1, BIG, 0, &count, &r.state, &r.err), MR_OK);
    assert_int_equal(count, 1);
    mr_source_file.drop(r.src, rec.part);
    assert_int_equal(run_until(&r, 0), MR_OK);
    assert_string_equal(mr_buf_z(&r.seen), "{\"n\":3}\n");
    run_end(&r);
    target_destroy(tg);
}

/* Put a pipe in the place of standard input; returns its other end. */
static int replace_stdin(int *saved)
{
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    *saved = dup(STDIN_FILENO);
    assert_true(dup2(ends[0], STDIN_FILENO) >= 0);
    close(ends[0]);
    return ends[1];
}

static void restore_stdin(int saved)
{
    dup2(saved, STDIN_FILENO);
    close(saved);
}

static void test_stdin_gives_what_is_there_and_does_not_block(void **state)
{
    struct target *tg = target_create();
    struct run r;
    int saved, in = replace_stdin(&saved);
    int64_t start;
    (void)state;

    run_init(&r, tg, "-", NULL);
    assert_int_equal(run_start(&r, true), MR_OK);
    assert_int_equal(write(in, "{\"n\":1}\n{\"n\":2}\n{\"n", 19), 19);
    assert_int_equal(run_poll(&r, 100, 1000), MR_OK);
    assert_int_equal(r.records, 2);
    start = mr_monotonic_ms();
    assert_int_equal(run_poll(&r, 100, 30), MR_OK);
    assert_int_equal(r.state, MR_POLL_IDLE);
    assert_in_range(mr_monotonic_ms() - start, 20, 5000);
    assert_int_equal(write(in, "\":3}", 4), 4);
    close(in);
    assert_int_equal(run_until(&r, 0), MR_OK);
    assert_string_equal(mr_buf_z(&r.seen), "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n");
    run_end(&r);
    restore_stdin(saved);
    assert_true(mr_str_starts(only_name(tg), MR_STR("stdin:")));
    target_destroy(tg);
}

static void test_stdin_has_a_position_only_with_an_id(void **state)
{
    struct target *tg = target_create();
    (void)state;

    for (int i = 0; i < 4; i++) {
        struct run r;
        int saved, in = replace_stdin(&saved);

        assert_int_equal(write(in, "{\"n\":1}\n{\"n\":2}\n", 16), 16);
        close(in);
        run_init(&r, tg, "-", NULL);
        r.cfg.file_id = i < 2 ? NULL : (char *)(uintptr_t) "nightly";
        assert_int_equal(run_start(&r, true), MR_OK);
        assert_int_equal(run_until(&r, 0), MR_OK);
        assert_int_equal(r.records, i < 3 ? 2 : 0);
        run_end(&r);
        restore_stdin(saved);
    }
    assert_int_equal(mr_map_count(tg->positions), 3);
    assert_non_null(mr_map_get(tg->positions, MR_STR("stdin:nightly")));
    target_destroy(tg);
}

static void test_compressed_stdin_is_recognised(void **state)
{
    struct target *tg = target_create();
    char packed[4096];
    struct mr_str gz = gzipped(MR_STR("{\"n\":1}\n"), packed, sizeof(packed));
    struct run r;
    int saved, in = replace_stdin(&saved);
    (void)state;

    assert_int_equal(write(in, gz.ptr, 1), 1); /* even if the magic comes byte by byte */
    run_init(&r, tg, "-", NULL);
    assert_int_equal(run_start(&r, true), MR_OK);
    assert_int_equal(run_poll(&r, 100, 10), MR_OK);
    assert_int_equal(write(in, gz.ptr + 1, gz.len - 1), gz.len - 1);
    close(in);
    assert_int_equal(run_until(&r, 0), MR_OK);
    assert_string_equal(mr_buf_z(&r.seen), "{\"n\":1}\n");
    run_end(&r);
    restore_stdin(saved);
    target_destroy(tg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILE_TEST(test_interrupted_run_goes_on_at_its_line),
        FILE_TEST(test_grown_file_is_known_again_and_other_content_is_not),
        FILE_TEST(test_cut_file_is_an_error),
        FILE_TEST(test_run_waits_for_the_end_of_a_line_and_follows),
        FILE_TEST(test_run_follows_an_archive_that_gets_more_members),
        FILE_TEST(test_backfill_then_run_does_not_repeat_the_unfinished_line),
        FILE_TEST(test_many_files_are_given_back_in_groups),
        FILE_TEST(test_seek_goes_back_and_forth),
        FILE_TEST(test_paused_source_gives_nothing),
        FILE_TEST(test_lag_counts_bytes_of_all_files),
        FILE_TEST(test_dropped_file_is_left_alone),
        FILE_TEST(test_stdin_gives_what_is_there_and_does_not_block),
        FILE_TEST(test_stdin_has_a_position_only_with_an_id),
        FILE_TEST(test_compressed_stdin_is_recognised),
    };

    mr_log_setup(MR_LOG_ERROR, MR_LOG_LOGFMT, false);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
