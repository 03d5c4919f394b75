/* Paths and patterns to files. */
#include "file_list.h"

#include <millrace/base/buf.h>
#include <millrace/base/log.h>
#include <millrace/base/mem.h>
#include <millrace/base/utf8.h>

#include <sys/stat.h>

#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *mr_file_shown(const struct mr_file *file)
{
    return file->shown_z;
}

/* The path becomes part of texts in the target, which takes nothing but UTF-8; a path may be any bytes. */
static char *show(const char *path_z)
{
    struct mr_buf out = MR_BUF_INIT(64 * 1024);
    struct mr_str rest = mr_str_z(strcmp(path_z, "-") == 0 ? "standard input" : path_z);
    char *shown_z;

    while (rest.len > 0) {
        uint32_t code_point = 0;
        size_t len = mr_utf8_decode(rest, &code_point);

        if (len == 0 || (code_point >= 0xD800 && code_point < 0xE000)) {
            len = 1;
            mr_buf_printf(&out, "%%%02X", (unsigned)(unsigned char)rest.ptr[0]);
        } else {
            mr_buf_append(&out, rest.ptr, len);
        }
        rest = mr_str_of(rest.ptr + len, rest.len - len);
    }
    shown_z = mr_xstrdup(mr_buf_z(&out));
    mr_buf_free(&out);
    return shown_z;
}

static struct mr_file *add(struct mr_file_list *list, const char *path_z, bool is_stream)
{
    struct mr_file *file = mr_xcalloc(1, sizeof(*file));

    file->path_z = mr_xstrdup(path_z);
    file->shown_z = show(path_z);
    file->is_stream = is_stream;
    list->items = mr_xgrow(list->items, &list->cap, list->count + 1, sizeof(*list->items));
    list->items[list->count++] = file;
    mr_map_put(list->by_path, mr_str_z(path_z), file);
    return file;
}

/* What has changed since the file was read to its end? Only a regular file that is done can become ready again. */
static void look_again(struct mr_file *file, const struct stat *st)
{
    bool is_other = file->device != (uint64_t)st->st_dev || file->inode != (uint64_t)st->st_ino;

    file->size = (uint64_t)st->st_size;
    if (file->is_stream || file->state != MR_FILE_DONE)
        return;
    if (is_other || file->size != file->done)
        file->state = MR_FILE_READY;
}

static enum mr_status refuse(const char *path_z, int code, struct mr_error *err)
{
    return mr_fail(err, MR_E_CONFIG, "cannot read %s: %s", path_z, strerror(code));
}

/* One path, named by the user or matched by a pattern. Folders and files that may not be read are errors only if they were named. */
static enum mr_status meet(struct mr_file_list *list, const char *path_z, bool is_strict,
                           struct mr_error *err)
{
    struct stat st;
    struct mr_file *file;
    char *real_z;
    int code = 0;

    if (stat(path_z, &st) != 0)
        return is_strict ? refuse(path_z, errno, err) : MR_OK;
    if (S_ISDIR(st.st_mode)) {
        if (!is_strict)
            return MR_OK;
        mr_fail(err, MR_E_CONFIG, "%s is a folder", path_z);
        mr_error_hint(err, "name the files in it, for example '%s/*.jsonl'", path_z);
        return MR_E_CONFIG;
    }
    /* A pipe's name is not its content's: /dev/fd/63 resolves to "pipe:[123]". */
    real_z = S_ISREG(st.st_mode) ? realpath(path_z, NULL) : mr_xstrdup(path_z);
    if (!real_z)
        return is_strict ? refuse(path_z, errno, err) : MR_OK;

    file = mr_map_get(list->by_path, mr_str_z(real_z));
    if (!file && access(real_z, R_OK) != 0)
        code = errno;
    if (!file && code == 0)
        file = add(list, real_z, !S_ISREG(st.st_mode));
    mr_xfree(real_z); /* realpath's memory is malloc's, as ours is */
    if (file)
        look_again(file, &st);
    return code ? refuse(path_z, code, err) : MR_OK;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static enum mr_status meet_pattern(struct mr_file_list *list, const char *pattern_z, bool is_first,
                                   bool bounded, struct mr_error *err)
{
    glob_t found = {0};
    enum mr_status status = MR_OK;
    int rc = glob(pattern_z, GLOB_NOSORT, NULL, &found);

    if (rc == 0) {
        qsort(found.gl_pathv, found.gl_pathc, sizeof(*found.gl_pathv), by_bytes);
        for (size_t i = 0; i < found.gl_pathc && status == MR_OK; i++)
            status = meet(list, found.gl_pathv[i], false, err);
    } else if (rc != GLOB_NOMATCH) {
        status = mr_fail(err, MR_E_ENV, "cannot look for files matching %s", pattern_z);
    } else if (bounded) {
        status = mr_fail(err, MR_E_CONFIG, "no file matches %s", pattern_z);
    } else if (is_first) {
        mr_log(MR_LOG_WARN, "no file matches yet, waiting", MR_KV_Z("pattern", pattern_z));
    }
    globfree(&found);
    return status;
}

enum mr_status mr_file_list_scan(struct mr_file_list *list, const struct mr_strings *patterns,
                                 bool is_first, bool bounded, struct mr_error *err)
{
    if (!list->by_path)
        list->by_path = mr_map_create();
    for (size_t i = 0; i < patterns->count; i++) {
        const char *pattern_z = patterns->items[i];
        struct stat st;

        if (strcmp(pattern_z, "-") == 0) {
            if (!mr_map_get(list->by_path, MR_STR("-")))
                add(list, "-", true);
        } else if (strpbrk(pattern_z, "*?[") && stat(pattern_z, &st) != 0) {
            MR_TRY(meet_pattern(list, pattern_z, is_first, bounded, err));
        } else {
            /* A file that vanishes while we run has simply come to its end. */
            MR_TRY(meet(list, pattern_z, is_first, err));
        }
    }
    return MR_OK;
}

struct mr_file *mr_file_list_by_part(const struct mr_file_list *list, const struct mr_partition *part)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i]->part == part)
            return list->items[i];
    return NULL;
}

void mr_file_list_free(struct mr_file_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        mr_xfree(list->items[i]->path_z);
        mr_xfree(list->items[i]->shown_z);
        mr_xfree(list->items[i]);
    }
    for (size_t i = 0; i < list->part_count; i++) {
        mr_xfree((void *)(uintptr_t)list->parts[i]->topic_z);
        mr_xfree(list->parts[i]);
    }
    mr_xfree(list->items);
    mr_xfree(list->parts);
    mr_map_destroy(list->by_path, NULL);
    mr_file_forget_names(list);
    *list = (struct mr_file_list){0};
}
