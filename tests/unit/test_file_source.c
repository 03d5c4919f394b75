/* The file source: which files, which lines, compression, limits. */
#include "file_run.h"

static void test_lines_are_read_and_counted(void **state)
{
    struct target *tg = target_create();
    struct run r;
    (void)state;

    write_file("a.jsonl", "\xEF\xBB\xBF{\"n\":1}\r\n\n  \t\r\n{\"n\":2}\nbroken\n{\"n\":3}");
    run_init(&r, tg, path_of("a.jsonl"), NULL);
    r.cfg.file_topic = (char *)(uintptr_t) "shop.orders";
    assert_int_equal(run_start(&r, true), MR_OK);
    assert_int_equal(run_until(&r, 0), MR_OK);
    assert_string_equal(mr_buf_z(&r.seen), "{\"n\":1}\n{\"n\":2}\n!5\n{\"n\":3}\n");
    run_end(&r);
    assert_string_equal(tg->log, "+0@-1 -0 ");
    assert_int_equal(*(int64_t *)mr_map_at(tg->positions, 0, NULL), 6);
    /* and a second time nothing */
    assert_backfill(tg, path_of("a.jsonl"), "");
    target_destroy(tg);
}

static void test_name_holds_path_length_and_hash(void **state)
{
    struct target *tg = target_create();
    char expected[256];
    (void)state;

    write_file("a.jsonl", "{\"n\":1}\n");
    assert_backfill(tg, path_of("a.jsonl"), "{\"n\":1}\n");
    snprintf(expected, sizeof(expected), "file:%s#8:", path_of("a.jsonl"));
    assert_true(mr_str_starts(only_name(tg), mr_str_z(expected)));
    target_destroy(tg);
}

static void test_name_is_text_whatever_the_path_is(void **state)
{
    struct target *tg = target_create();
    char expected[256];
    (void)state;

    write_file("caf\xC3\xA9-\xE9.jsonl", "{\"n\":1}\n");
    assert_backfill(tg, path_of("caf\xC3\xA9-\xE9.jsonl"), "{\"n\":1}\n");
    snprintf(expected, sizeof(expected), "file:%s/caf\xC3\xA9-%%E9.jsonl#8:", dir);
    assert_true(mr_str_starts(only_name(tg), mr_str_z(expected)));
    target_destroy(tg);
}

static void test_partition_knows_the_path_of_its_file(void **state)
{
    struct mr_partition file = {.topic_z = "file:/data/a#b/orders.jsonl.gz#4096:0123456789abcdef"};
    struct mr_partition topic = {.topic_z = "shop.orders"}, in = {.topic_z = "stdin:nightly"};
    (void)state;

    assert_true(mr_str_eq_z(mr_partition_file(&file), "/data/a#b/orders.jsonl.gz"));
    assert_int_equal(mr_partition_file(&topic).len, 0);
    assert_int_equal(mr_partition_file(&in).len, 0);
}

static void test_gzip_and_zstd_by_content_also_concatenated(void **state)
{
    struct target *tg = target_create();
    char packed[4096], more[4096];
    struct mr_str gz = gzipped(MR_STR("{\"n\":1}\n{\"n\""), packed, sizeof(packed));
    struct mr_str zst = zstded(MR_STR(":2}\n{\"n\":3}\n"), more, sizeof(more));
    (void)state;

    /* A line may lie across two members, and the members may be of two kinds. Zero padding at the end is passed over. */
    write_bytes("a.dat", gz.ptr, gz.len, "w");
    write_bytes("a.dat", zst.ptr, zst.len, "a");
    write_bytes("a.dat", gz.ptr, gz.len, "a");
    write_bytes("a.dat", "\0\0\0\0\0\0\0\0", 8, "a");
    assert_backfill(tg, path_of("a.dat"), "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n{\"n\":1}\n{\"n\"\n");
    target_destroy(tg);
}

static void test_large_compressed_input_arrives_whole(void **state)
{
    struct target *tg = target_create();
    struct mr_buf text = MR_BUF_INIT(BIG);
    char *packed = mr_xmalloc(BIG);
    struct mr_str out;
    (void)state;

    numbered(&text, 0, 200000);
    out = gzipped(mr_buf_str(&text), packed, BIG);
    write_bytes("a.gz", out.ptr, out.len, "w");
    assert_backfill(tg, path_of("a.gz"), mr_buf_z(&text));
    out = zstded(mr_buf_str(&text), packed, BIG);
    write_bytes("a.zst", out.ptr, out.len, "w");
    assert_backfill(tg, path_of("a.zst"), mr_buf_z(&text));
    mr_buf_free(&text);
    mr_xfree(packed);
    target_destroy(tg);
}

static void assert_cut(const char *name_z, struct mr_str packed, size_t len, struct mr_str whole)
{
    struct target *tg = target_create();
    struct run r;

    write_bytes(name_z, packed.ptr, len, "w");
    run_init(&r, tg, path_of(name_z), NULL);
    assert_int_equal(run_start(&r, true), MR_OK);
    assert_int_equal(run_until(&r, 0), MR_E_CONFIG);
    assert_contains(r.err.message, "ends in the middle, after line");
    /* what came is the beginning of the text, in whole lines */
    assert_true(r.records > 0);
    assert_memory_equal(r.seen.data, whole.ptr, r.seen.len);
    run_end(&r);

    /* When the rest has come, reading goes on where it stopped. */
    write_bytes(name_z, packed.ptr, packed.len, "w");
    run_init(&r, tg, path_of(name_z), NULL);
    assert_int_equal(run_start(&r, true), MR_OK);
    assert_int_equal(run_until(&r, 0), MR_OK);
    assert_true(r.records > 0);
    assert_memory_equal(r.seen.data, whole.ptr + whole.len - r.seen.len, r.seen.len);
    run_end(&r);
    target_destroy(tg);
}

static void test_truncated_archive_gives_its_lines_then_an_error(void **state)
{
    struct mr_buf text = MR_BUF_INIT(BIG);
    char *packed = mr_xmalloc(BIG);
    struct mr_str out;
    (void)state;

    numbered(&text, 0, 100000);
    out = gzipped(mr_buf_str(&text), packed, BIG);
    assert_cut("a.gz", out, out.len / 2, mr_buf_str(&text));
    out = zstded(mr_buf_str(&text), packed, BIG);
    assert_cut("a.zst", out, out.len - 10, mr_buf_str(&text));
    mr_buf_free(&text);
    mr_xfree(packed);
}

static void test_damaged_archive_is_an_error_with_its_place(void **state)
{
    struct target *tg = target_create();
    struct mr_buf text = MR_BUF_INIT(BIG);
    char *packed = mr_xmalloc(BIG);
    struct mr_str out;
    struct run r;
    (void)state;

    numbered(&text, 0, 100000);
    out = gzipped(mr_buf_str(&text), packed, BIG);
    memset(packed + out.len / 2, 0xA5, 64);
    write_bytes("a.gz", out.ptr, out.len, "w");
    run_init(&r, tg, path_of("a.gz"), NULL);
    assert_int_equal(run_start(&r, true), MR_OK);
    assert_int_equal(run_until(&r, 0), MR_E_CONFIG);
    assert_contains(r.err.message, "a.gz: corrupt gzip data near byte");
    assert_contains(r.err.message, ", after line ");
    assert_true(r.records > 0);
    run_end(&r);

    write_bytes("b.gz", packed, gzipped(MR_STR("{\"n\":1}\n"), packed, BIG).len, "w");
    append_file("b.gz", "{\"n\":2}\n");
    run_init(&r, tg, path_of("b.gz"), NULL);
    assert_int_equal(run_start(&r, true), MR_OK);
    assert_int_equal(run_until(&r, 0), MR_E_CONFIG);
    assert_contains(r.err.message, "something that is not compressed");
    assert_int_equal(r.records, 1);
    run_end(&r);
    mr_buf_free(&text);
    mr_xfree(packed);
    target_destroy(tg);
}

static void test_patterns_are_sorted_and_every_file_comes_once(void **state)
{
    struct target *tg = target_create();
    struct run r;
    (void)state;

    write_file("b.jsonl", "{\"n\":2}\n");
    write_file("a.jsonl", "{\"n\":1}\n");
    write_file("c.jsonl", "{\"n\":3}");
    write_file("[x].jsonl", "{\"n\":0}\n"); /* a name that looks like a pattern */
    assert_int_equal(mkdir(path_of("d.jsonl"), 0755), 0);
    assert_int_equal(symlink(path_of("a.jsonl"), path_of("z.jsonl")), 0);
    run_init(&r, tg, path_of("[x].jsonl"), path_of("*.jsonl"));
    assert_int_equal(run_start(&r, true), MR_OK);
    assert_int_equal(run_until(&r, 0), MR_OK);
    assert_string_equal(mr_buf_z(&r.seen), "{\"n\":0}\n{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n");
    run_end(&r);
    assert_string_equal(tg->log, "+0@-1 +1@-1 +2@-1 +3@-1 -0 -1 -2 -3 ");
    target_destroy(tg);
}

static void test_missing_folder_and_unmatched_are_refused_with_their_path(void **state)
{
    struct target *tg = target_create();
    struct run r;
    (void)state;

    run_init(&r, tg, path_of("nowhere.jsonl"), NULL);
    assert_int_equal(run_start(&r, true), MR_E_CONFIG);
    assert_contains(r.err.message, "nowhere.jsonl: No such file");
    run_end(&r);
    run_init(&r, tg, path_of("*.nothing"), NULL);
    assert_int_equal(run_start(&r, true), MR_E_CONFIG);
    assert_contains(r.err.message, "no file matches");
    run_end(&r);
    run_init(&r, tg, dir, NULL);
    assert_int_equal(run_start(&r, false), MR_E_CONFIG);
    assert_contains(r.err.message, "is a folder");
    run_end(&r);
    target_destroy(tg);
}

static void test_line_beyond_the_limit_is_broken_and_the_next_is_fine(void **state)
{
    struct target *tg = target_create();
    struct mr_buf text = MR_BUF_INIT(BIG);
    struct run r;
    (void)state;

    mr_buf_append_z(&text, "{\"n\":1}\n{\"x\":\"");
    for (int i = 0; i < 3000000; i++)
        mr_buf_append_char(&text, 'x');
    mr_buf_append_z(&text, "\"}\n{\"n\":2}\n");
    write_bytes("a.jsonl", text.data, text.len, "w");

    run_init(&r, tg, path_of("a.jsonl"), NULL);
    r.cfg.max_message_bytes = 1000000;
    assert_int_equal(run_start(&r, true), MR_OK);
    assert_int_equal(run_until(&r, 0), MR_OK);
    assert_string_equal(mr_buf_z(&r.seen), "{\"n\":1}\n!2\n{\"n\":2}\n");
    run_end(&r);
    mr_buf_free(&text);
    target_destroy(tg);
}

static void test_line_of_exactly_the_limit_passes(void **state)
{
    static const char *const ends[] = {"\n", "\r\n", ""};
    (void)state;

    for (size_t i = 0; i < 3; i++) {
        struct target *tg = target_create();
        struct mr_buf text = MR_BUF_INIT(BIG);
        struct run r;

        mr_buf_append_z(&text, "{\"x\":\"");
        while (text.len < 300000 - 2)
            mr_buf_append_char(&text, 'x');
        mr_buf_printf(&text, "\"}%s", ends[i]);
        write_bytes("a.jsonl", text.data, text.len, "w");
        for (int more = 0; more < 2; more++) {
            run_init(&r, tg, path_of("a.jsonl"), NULL);
            r.cfg.max_message_bytes = 300000 - (uint64_t)more;
            assert_int_equal(run_start(&r, true), MR_OK);
            assert_int_equal(run_until(&r, 0), MR_OK);
            assert_int_equal(r.records, 1);
            assert_int_equal(r.seen.data[0], more ? '!' : '{');
            run_end(&r);
            mr_map_clear(tg->positions, mr_xfree);
        }
        mr_buf_free(&text);
        target_destroy(tg);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILE_TEST(test_lines_are_read_and_counted),
        FILE_TEST(test_name_holds_path_length_and_hash),
        FILE_TEST(test_name_is_text_whatever_the_path_is),
        FILE_TEST(test_partition_knows_the_path_of_its_file),
        FILE_TEST(test_gzip_and_zstd_by_content_also_concatenated),
        FILE_TEST(test_large_compressed_input_arrives_whole),
        FILE_TEST(test_truncated_archive_gives_its_lines_then_an_error),
        FILE_TEST(test_damaged_archive_is_an_error_with_its_place),
        FILE_TEST(test_patterns_are_sorted_and_every_file_comes_once),
        FILE_TEST(test_missing_folder_and_unmatched_are_refused_with_their_path),
        FILE_TEST(test_line_beyond_the_limit_is_broken_and_the_next_is_fine),
        FILE_TEST(test_line_of_exactly_the_limit_passes),
    };

    mr_log_setup(MR_LOG_ERROR, MR_LOG_LOGFMT, false);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
