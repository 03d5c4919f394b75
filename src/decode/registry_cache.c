/* Answers of the registry in files (registry.cache.dir), for a start while the registry is down. Only what never changes is kept: a schema by its id or
 * GUID, and the version of a subject. A file says in its first line what it answers; its name is only a hash of that. */
#include "registry_parts.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <millrace/base/hash.h>
#include <millrace/base/log.h>

#define MAX_FILE (UINT64_C(17) << 20)
#define SECOND_SEED 1 /* of the name's second half */

/* By URL, context and path; without user and password. */
static void title_of(const struct mr_registry *reg, const char *path_z, struct mr_buf *out)
{
    mr_buf_printf(out, "%s %s %s\n", reg->urls.items[0], reg->cfg->registry.context, path_z);
}

static void path_of(const struct mr_registry *reg, struct mr_str title, struct mr_buf *out)
{
    mr_buf_printf(out, "%s/%016llx%016llx", reg->cfg->registry.cache_dir, (unsigned long long)mr_hash(title.ptr, title.len, 0),
                  (unsigned long long)mr_hash(title.ptr, title.len, SECOND_SEED));
}

enum mr_status mr_registry_cache_check(const struct mr_registry *reg, struct mr_error *err)
{
    const char *dir_z = reg->cfg->registry.cache_dir;
    if (*dir_z == 0)
        return MR_OK;
    if (mkdir(dir_z, 0777) != 0 && errno != EEXIST)
        return mr_fail(err, MR_E_CONFIG, "registry.cache.dir: the folder %s cannot be made: %s", dir_z, strerror(errno));
    if (access(dir_z, R_OK | W_OK | X_OK) != 0)
        return mr_fail(err, MR_E_CONFIG, "registry.cache.dir: %s: %s", dir_z, strerror(errno));
    return MR_OK;
}

static bool write_file(const char *path_z, struct mr_str title, struct mr_str body)
{
    FILE *f = fopen(path_z, "wb");
    if (f == NULL)
        return false;
    bool ok = fwrite(title.ptr, 1, title.len, f) == title.len && fwrite(body.ptr, 1, body.len, f) == body.len;
    return fclose(f) == 0 && ok;
}

/* Another file first, which takes the name when it is whole: several instances may share the folder. */
void mr_registry_cache_put(struct mr_registry *reg, const char *path_z)
{
    if (*reg->cfg->registry.cache_dir == 0)
        return;
    struct mr_buf title = MR_BUF_INIT(1u << 17), path = MR_BUF_INIT(1u << 17), part = MR_BUF_INIT(1u << 17);
    title_of(reg, path_z, &title);
    path_of(reg, mr_buf_str(&title), &path);
    mr_buf_printf(&part, "%s.%ld", mr_buf_z(&path), (long)getpid());
    bool ok = write_file(mr_buf_z(&part), mr_buf_str(&title), mr_buf_str(&reg->body)) && rename(mr_buf_z(&part), mr_buf_z(&path)) == 0;
    if (!ok) {
        mr_log(MR_LOG_WARN, "a schema cannot be kept for a start without the registry (registry.cache.dir)", MR_KV_Z("file", mr_buf_z(&path)),
               MR_KV_Z("error", strerror(errno)));
        (void)remove(mr_buf_z(&part));
    }
    mr_buf_free(&title);
    mr_buf_free(&path);
    mr_buf_free(&part);
}

static bool read_file(const char *path_z, struct mr_buf *out)
{
    FILE *f = fopen(path_z, "rb");
    char chunk[16384];
    size_t got;
    if (f == NULL)
        return false;
    while (!out->overflow && (got = fread(chunk, 1, sizeof(chunk), f)) > 0)
        mr_buf_append(out, chunk, got);
    bool ok = !ferror(f) && !out->overflow;
    (void)fclose(f);
    return ok;
}

bool mr_registry_cache_get(struct mr_registry *reg, const char *path_z)
{
    if (*reg->cfg->registry.cache_dir == 0)
        return false;
    struct mr_buf title = MR_BUF_INIT(1u << 17), path = MR_BUF_INIT(1u << 17), text = MR_BUF_INIT(MAX_FILE);
    title_of(reg, path_z, &title);
    path_of(reg, mr_buf_str(&title), &path);
    bool found = read_file(mr_buf_z(&path), &text) && mr_str_starts(mr_buf_str(&text), mr_buf_str(&title));
    if (found) {
        mr_buf_clear(&reg->body);
        mr_buf_append(&reg->body, text.data + title.len, text.len - title.len);
    }
    mr_buf_free(&title);
    mr_buf_free(&path);
    mr_buf_free(&text);
    return found;
}
