/* The file source against real files in a temporary folder, with a listener that remembers positions as the target does. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <millrace/base/buf.h>
#include <millrace/base/log.h>
#include <millrace/base/map.h>
#include <millrace/base/mem.h>
#include <millrace/base/time.h>
#include <millrace/source.h>

#include "source/source_ops.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define BIG ((size_t)64 << 20)

static char dir[64];

/* ---- Files ---- */

static int setup(void **state)
{
    char template[] = "/tmp/millrace-file-XXXXXX";
    (void)state;

    if (!mkdtemp(template))
        return -1;
    snprintf(dir, sizeof(dir), "%s", template);
    return 0;
}

static int teardown(void **state)
{
    char command[128];
    (void)state;

    snprintf(command, sizeof(command), "rm -rf '%s'", dir);
    return system(command);
}

/* A path in the test's folder; four are kept at a time. */
static char *path_of(const char *name_z)
{
    static char paths[4][256];
    static int next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof(paths[0]), "%s/%s", dir, name_z);
    return path;
}

static void write_bytes(const char *name_z, const void *ptr, size_t len, const char *mode_z)
{
    FILE *file = fopen(path_of(name_z), mode_z);

    assert_non_null(file);
    assert_int_equal(fwrite(ptr, 1, len, file), len);
    fclose(file);
}

static void write_file(const char *name_z, const char *text_z)
{
    write_bytes(name_z, text_z, strlen(text_z), "w");
}

static void append_file(const char *name_z, const char *text_z)
{
    write_bytes(name_z, text_z, strlen(text_z), "a");
}

static struct mr_str gzipped(struct mr_str text, char *out, size_t cap)
{
    z_stream z = {0};

    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (unsigned char *)(uintptr_t)text.ptr;
    z.avail_in = (uInt)text.len;
    z.next_out = (unsigned char *)out;
    z.avail_out = (uInt)cap;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return mr_str_of(out, z.total_out);
}

static struct mr_str zstded(struct mr_str text, char *out, size_t cap)
{
    size_t len = ZSTD_compress(out, cap, text.ptr, text.len, 3);

    assert_false(ZSTD_isError(len));
    return mr_str_of(out, len);
}

/* `count` bare events {"n":first} … one a line. */
static void numbered(struct mr_buf *buf, int first, int count)
{
    for (int i = 0; i < count; i++)
        mr_buf_printf(buf, "{\"n\":%d}\n", first + i);
}

/* ---- The target's memory of positions, and a run of the source ---- */

struct target {
    struct mr_map *positions; /* name → int64_t on the heap */
    char log[4096];           /* what the listener was told */
};

static void remember(struct target *tg, struct mr_str name, int64_t position)
{
    int64_t *slot = mr_map_get(tg->positions, name);

    if (!slot) {
        slot = mr_xmalloc(sizeof(*slot));
        mr_map_put(tg->positions, name, slot);
    }
    *slot = position;
}

static enum mr_status on_assigned(void *ctx, const struct mr_partition *const *parts, size_t count,
                                  int64_t *position, struct mr_error *err)
{
    struct target *tg = ctx;
    (void)err;

    for (size_t i = 0; i < count; i++) {
        int64_t *slot = mr_map_get(tg->positions, mr_str_z(parts[i]->topic_z));

        position[i] = slot ? *slot : MR_POSITION_NONE;
        snprintf(tg->log + strlen(tg->log), sizeof(tg->log) - strlen(tg->log), "+%u@%lld ",
                 parts[i]->index, (long long)position[i]);
    }
    return MR_OK;
}

static void on_revoked(void *ctx, const struct mr_partition *const *parts, size_t count, bool lost)
{
    struct target *tg = ctx;

    for (size_t i = 0; i < count; i++)
        snprintf(tg->log + strlen(tg->log), sizeof(tg->log) - strlen(tg->log), "-%u%s ",
                 parts[i]->index, lost ? "!" : "");
}

static enum mr_status on_find(void *ctx, struct mr_str prefix,
                              void (*found)(void *found_ctx, struct mr_str name), void *found_ctx,
                              struct mr_error *err)
{
    struct target *tg = ctx;
    (void)err;

    for (size_t i = 0; i < mr_map_count(tg->positions); i++) {
        struct mr_str name;

        mr_map_at(tg->positions, i, &name);
        if (mr_str_starts(name, prefix))
            found(found_ctx, name);
    }
    return MR_OK;
}

struct run {
    struct target *tg;
    struct mr_config cfg;
    char *paths[8];
    struct mr_source_listener listener;
    struct mr_source *src;
    struct mr_arena *ar;
    struct mr_buf seen;      /* values of all records, one a line; broken ones as "!line" */
    size_t records, polls;
    enum mr_poll_state state; /* of the last poll */
    struct mr_error err;
};

static struct target *target_create(void)
{
    struct target *tg = mr_xcalloc(1, sizeof(*tg));

    tg->positions = mr_map_create();
    return tg;
}

static void target_destroy(struct target *tg)
{
    mr_map_destroy(tg->positions, mr_xfree);
    mr_xfree(tg);
}

static void run_init(struct run *r, struct target *tg, const char *path1_z, const char *path2_z)
{
    *r = (struct run){.tg = tg};
    r->paths[0] = (char *)(uintptr_t)path1_z;
    r->paths[1] = (char *)(uintptr_t)path2_z;
    r->cfg.file_paths = (struct mr_strings){r->paths, path2_z ? 2 : 1};
    r->cfg.max_message_bytes = 1 << 20;
    r->listener = (struct mr_source_listener){tg, on_assigned, on_revoked, on_find};
    r->ar = mr_arena_create(0);
    r->seen = MR_BUF_INIT(BIG);
}

static enum mr_status run_start(struct run *r, bool bounded)
{
    return mr_source_file.create(&r->cfg, bounded, &r->listener, &r->src, &r->err);
}

/* One poll; the records go to `seen` and their positions to the target at once. */
static enum mr_status run_poll(struct run *r, size_t cap, int timeout_ms)
{
    struct mr_record *recs = mr_xcalloc(cap, sizeof(*recs));
    size_t count = 0;
    enum mr_status status = mr_source_file.poll(r->src, r->ar, recs, cap, BIG, timeout_ms, &count,
                                                &r->state, &r->err);

    for (size_t i = 0; i < count; i++) {
        if (recs[i].broken_code)
            mr_buf_printf(&r->seen, "!%lld\n", (long long)recs[i].position);
        else
            mr_buf_printf(&r->seen, "%.*s\n", MR_STR_FMT(recs[i].value));
        remember(r->tg, mr_str_z(recs[i].part->topic_z), recs[i].position);
    }
    r->records += count;
    r->polls++;
    mr_source_file.release(r->src, recs, count);
    mr_arena_reset(r->ar);
    mr_xfree(recs);
    return status;
}

/* Poll until the end, an error, or `wanted` records and then nothing for two polls. */
static enum mr_status run_until(struct run *r, size_t wanted)
{
    enum mr_status status = MR_OK;
    int64_t deadline = mr_monotonic_ms() + 20000;
    int idle = 0;

    r->state = MR_POLL_MORE;
    while (status == MR_OK && r->state != MR_POLL_END && idle < 2) {
        assert_true(mr_monotonic_ms() < deadline);
        status = run_poll(r, 1000, 100);
        idle = r->state == MR_POLL_IDLE && r->records >= wanted ? idle + 1 : 0;
    }
    return status;
}

static void run_end(struct run *r)
{
    mr_source_file.destroy(r->src);
    mr_arena_destroy(r->ar);
    mr_buf_free(&r->seen);
}

/* A whole bounded run over one path. */
static void assert_backfill(struct target *tg, const char *path_z, const char *expected_z)
{
    struct run r;

    run_init(&r, tg, path_z, NULL);
    assert_int_equal(run_start(&r, true), MR_OK);
    if (run_until(&r, 0) != MR_OK)
        fail_msg("%s", r.err.message);
    assert_int_equal(r.state, MR_POLL_END);
    assert_string_equal(mr_buf_z(&r.seen), expected_z);
    run_end(&r);
}

static void assert_contains(const char *text_z, const char *part_z)
{
    if (!strstr(text_z, part_z))
        fail_msg("\"%s\" is not in \"%s\"", part_z, text_z);
}

/* The one name that the target has. */
static struct mr_str only_name(const struct target *tg)
{
    struct mr_str name = {NULL, 0};

    assert_int_equal(mr_map_count(tg->positions), 1);
    mr_map_at(tg->positions, 0, &name);
    return name;
}

/* ---- Tests ---- */

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

#define FILE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILE_TEST(test_lines_are_read_and_counted),
        FILE_TEST(test_name_holds_path_length_and_hash),
        FILE_TEST(test_gzip_and_zstd_by_content_also_concatenated),
        FILE_TEST(test_large_compressed_input_arrives_whole),
        FILE_TEST(test_truncated_archive_gives_its_lines_then_an_error),
        FILE_TEST(test_damaged_archive_is_an_error_with_its_place),
        FILE_TEST(test_patterns_are_sorted_and_every_file_comes_once),
        FILE_TEST(test_missing_folder_and_unmatched_are_refused_with_their_path),
        FILE_TEST(test_line_beyond_the_limit_is_broken_and_the_next_is_fine),
        FILE_TEST(test_line_of_exactly_the_limit_passes),
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
