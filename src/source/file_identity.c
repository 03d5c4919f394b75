/* Which file is this? Its path and a hash of its first 4 KiB: another content under the same path is another file. A file that was shorter
 * when it was first read has the hash of what there was then, and the length stands in its name, so that it is known again after
 * it has grown. */
#include "file_list.h"

#include <millrace/base/buf.h>
#include <millrace/base/hash.h>
#include <millrace/base/mem.h>
#include <millrace/base/time.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HEAD_BYTES 4096
#define NAME_BYTES ((size_t)64 * 1024)
#define IDENTITY_SEED UINT64_C(0x6d696c6c72616365)

struct search {
    const char *head;   /* the file's first bytes */
    size_t head_len;
    size_t prefix_len;  /* of "file:" path "#" */
    size_t best_len;
    const char *best_z; /* remembered name with the longest hash that fits */
};

static uint64_t hash_of(const char *head, size_t len)
{
    return mr_hash(head, len, IDENTITY_SEED);
}

/* A remembered name: "…#LENGTH:HASH". Does it fit the bytes that are there now? */
static void try_name(struct search *se, const char *name_z)
{
    struct mr_str name = mr_str_z(name_z);
    struct mr_str rest = mr_str_of(name.ptr + se->prefix_len, name.len - se->prefix_len);
    ptrdiff_t colon = mr_str_find(rest, ':');
    char expected[24];
    uint64_t len;

    if (colon < 0 || !mr_parse_uint64(mr_str_of(rest.ptr, (size_t)colon), &len))
        return;
    if (len == 0 || len > se->head_len || len <= se->best_len)
        return;
    snprintf(expected, sizeof(expected), "%016" PRIx64, hash_of(se->head, (size_t)len));
    if (!mr_str_eq_z(mr_str_of(rest.ptr + colon + 1, rest.len - (size_t)colon - 1), expected))
        return;
    se->best_z = name_z;
    se->best_len = (size_t)len;
}

static void keep_name(void *ctx, struct mr_str name)
{
    struct mr_map *remembered = ctx;
    struct mr_str path = mr_str_of(name.ptr, (size_t)(mr_str_rfind(name, '#') + 1));
    struct mr_strings *names = mr_map_get(remembered, path);

    if (!names) {
        names = mr_xcalloc(1, sizeof(*names));
        mr_map_put(remembered, path, names);
    }
    names->items = mr_xrealloc(names->items, (names->count + 1) * sizeof(*names->items));
    names->items[names->count++] = mr_xstrndup(name.ptr, name.len);
}

static void free_names(void *value)
{
    struct mr_strings *names = value;

    for (size_t i = 0; i < names->count; i++)
        mr_xfree(names->items[i]);
    mr_xfree(names->items);
    mr_xfree(names);
}

void mr_file_forget_names(struct mr_file_list *list)
{
    mr_map_destroy(list->remembered, free_names);
    list->remembered = NULL;
}

/* Ask the target once for all files: there may be thousands. What we begin to read ourselves we know anyway. */
static enum mr_status remember(struct mr_file_list *list, const struct mr_source_listener *listener,
                               struct mr_error *err)
{
    enum mr_status status;

    if (list->remembered || !listener->find)
        return MR_OK;
    list->remembered = mr_map_create();
    status = listener->find(listener->ctx, MR_STR("file:"), keep_name, list->remembered, err);
    if (status != MR_OK)
        mr_file_forget_names(list);
    return status;
}

static enum mr_status read_head(const struct mr_file *file, int fd, char head[HEAD_BYTES],
                                size_t *len, struct mr_error *err)
{
    *len = 0;
    while (*len < HEAD_BYTES) {
        ssize_t got = pread(fd, head + *len, HEAD_BYTES - *len, (off_t)*len);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return mr_fail(err, MR_E_ENV, "cannot read %s: %s", file->shown_z, strerror(errno));
        if (got == 0)
            break;
        *len += (size_t)got;
    }
    return MR_OK;
}

/* The name of a regular file, owned by the caller. */
static enum mr_status name_regular(struct mr_file_list *list, const struct mr_file *file, int fd,
                                   const struct mr_source_listener *listener, char **name_z,
                                   struct mr_error *err)
{
    char head[HEAD_BYTES];
    struct search se = {.head = head};
    struct mr_buf buf = MR_BUF_INIT(NAME_BYTES);
    const struct mr_strings *names;
    enum mr_status status;

    MR_TRY(read_head(file, fd, head, &se.head_len, err));
    MR_TRY(remember(list, listener, err));
    mr_buf_printf(&buf, "file:%s#", file->shown_z);
    se.prefix_len = buf.len;
    /* What this run has begun to read it knows itself: the target may not have it yet. */
    if (file->part)
        try_name(&se, file->part->topic_z);
    names = list->remembered && !se.best_z ? mr_map_get(list->remembered, mr_buf_str(&buf)) : NULL;
    for (size_t i = 0; names && i < names->count; i++)
        try_name(&se, names->items[i]);
    if (!se.best_z)
        mr_buf_printf(&buf, "%zu:%016" PRIx64, se.head_len, hash_of(head, se.head_len));
    status = mr_buf_check(&buf, "the name of the file", err);
    if (status == MR_OK)
        *name_z = mr_xstrdup(se.best_z ? se.best_z : mr_buf_z(&buf));
    mr_buf_free(&buf);
    return status;
}

/* A stream can be read once, so its name is used once, unless the user vouches for its content with an id. */
static char *name_stream(const struct mr_file *file, const char *id_z)
{
    bool is_stdin = strcmp(file->path_z, "-") == 0;
    struct mr_buf buf = MR_BUF_INIT(NAME_BYTES);
    char *name_z;

    if (is_stdin && id_z && *id_z)
        mr_buf_printf(&buf, "stdin:%s", id_z);
    else if (is_stdin)
        mr_buf_printf(&buf, "stdin:%" PRId64 "-%ld", mr_now_us(), (long)getpid());
    else
        mr_buf_printf(&buf, "file:%s#0:%" PRId64 "-%ld", file->shown_z, mr_now_us(), (long)getpid());
    name_z = mr_xstrdup(mr_buf_z(&buf));
    mr_buf_free(&buf);
    return name_z;
}

enum mr_status mr_file_identify(struct mr_file_list *list, struct mr_file *file, int fd,
                                const char *stream_id_z, const struct mr_source_listener *listener,
                                struct mr_error *err)
{
    struct mr_partition *part;
    char *name_z = NULL;

    if (!file->is_stream)
        MR_TRY(name_regular(list, file, fd, listener, &name_z, err));
    else if (!file->part)
        name_z = name_stream(file, stream_id_z);
    else
        return MR_OK;

    if (file->part && strcmp(file->part->topic_z, name_z) == 0) {
        mr_xfree(name_z);
        return MR_OK;
    }
    part = mr_xcalloc(1, sizeof(*part));
    part->topic_z = name_z;
    part->index = (uint32_t)list->part_count;
    list->parts = mr_xgrow(list->parts, &list->part_cap, list->part_count + 1, sizeof(*list->parts));
    list->parts[list->part_count++] = part;
    file->part = part;
    file->assigned = false;
    file->want = 0;
    file->at_line = 0;
    file->offset = 0;
    return MR_OK;
}
