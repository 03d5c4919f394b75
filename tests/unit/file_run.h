/* A run of the file source over real files in a temporary folder, and a target that remembers positions. */
#ifndef MILLRACE_TEST_FILE_RUN_H
#define MILLRACE_TEST_FILE_RUN_H

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

static inline int setup(void **state)
{
    char template[] = "/tmp/millrace-file-XXXXXX";
    (void)state;

    if (!mkdtemp(template))
        return -1;
    snprintf(dir, sizeof(dir), "%s", template);
    return 0;
}

static inline int teardown(void **state)
{
    char command[128];
    (void)state;

    snprintf(command, sizeof(command), "rm -rf '%s'", dir);
    return system(command);
}

/* A path in the test's folder; four are kept at a time. */
static inline char *path_of(const char *name_z)
{
    static char paths[4][256];
    static int next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof(paths[0]), "%s/%s", dir, name_z);
    return path;
}

static inline void write_bytes(const char *name_z, const void *ptr, size_t len, const char *mode_z)
{
    FILE *file = fopen(path_of(name_z), mode_z);

    assert_non_null(file);
    assert_int_equal(fwrite(ptr, 1, len, file), len);
    fclose(file);
}

static inline void write_file(const char *name_z, const char *text_z)
{
    write_bytes(name_z, text_z, strlen(text_z), "w");
}

static inline void append_file(const char *name_z, const char *text_z)
{
    write_bytes(name_z, text_z, strlen(text_z), "a");
}

static inline struct mr_str gzipped(struct mr_str text, char *out, size_t cap)
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

static inline struct mr_str zstded(struct mr_str text, char *out, size_t cap)
{
    size_t len = ZSTD_compress(out, cap, text.ptr, text.len, 3);

    assert_false(ZSTD_isError(len));
    return mr_str_of(out, len);
}

/* `count` bare events {"n":first} … one a line. */
static inline void numbered(struct mr_buf *buf, int first, int count)
{
    for (int i = 0; i < count; i++)
        mr_buf_printf(buf, "{\"n\":%d}\n", first + i);
}

/* ---- The target's memory of positions, and a run of the source ---- */

struct target {
    struct mr_map *positions; /* name → int64_t on the heap */
    char log[4096];           /* what the listener was told */
};

static inline void remember(struct target *tg, struct mr_str name, int64_t position)
{
    int64_t *slot = mr_map_get(tg->positions, name);

    if (!slot) {
        slot = mr_xmalloc(sizeof(*slot));
        mr_map_put(tg->positions, name, slot);
    }
    *slot = position;
}

static inline enum mr_status on_assigned(void *ctx, const struct mr_partition *const *parts, size_t count,
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

static inline void on_revoked(void *ctx, const struct mr_partition *const *parts, size_t count, bool lost)
{
    struct target *tg = ctx;

    for (size_t i = 0; i < count; i++)
        snprintf(tg->log + strlen(tg->log), sizeof(tg->log) - strlen(tg->log), "-%u%s ",
                 parts[i]->index, lost ? "!" : "");
}

static inline enum mr_status on_find(void *ctx, struct mr_str prefix,
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

static inline struct target *target_create(void)
{
    struct target *tg = mr_xcalloc(1, sizeof(*tg));

    tg->positions = mr_map_create();
    return tg;
}

static inline void target_destroy(struct target *tg)
{
    mr_map_destroy(tg->positions, mr_xfree);
    mr_xfree(tg);
}

static inline void run_init(struct run *r, struct target *tg, const char *path1_z, const char *path2_z)
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

static inline enum mr_status run_start(struct run *r, bool bounded)
{
    return mr_source_file.create(&r->cfg, bounded, &r->listener, &r->src, &r->err);
}

/* One poll; the records go to `seen` and their positions to the target at once. */
static inline enum mr_status run_poll(struct run *r, size_t cap, int timeout_ms)
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
static inline enum mr_status run_until(struct run *r, size_t wanted)
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

static inline void run_end(struct run *r)
{
    mr_source_file.destroy(r->src);
    mr_arena_destroy(r->ar);
    mr_buf_free(&r->seen);
}

/* A whole bounded run over one path. */
static inline void assert_backfill(struct target *tg, const char *path_z, const char *expected_z)
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

static inline void assert_contains(const char *text_z, const char *part_z)
{
    if (!strstr(text_z, part_z))
        fail_msg("\"%s\" is not in \"%s\"", part_z, text_z);
}

/* The one name that the target has. */
static inline struct mr_str only_name(const struct target *tg)
{
    struct mr_str name = {NULL, 0};

    assert_int_equal(mr_map_count(tg->positions), 1);
    mr_map_at(tg->positions, 0, &name);
    return name;
}

#define FILE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
