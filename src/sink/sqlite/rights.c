/* Can this file be written? SQLite has no roles: the file system decides, about the file and about its folder, where the journal is made. */
#include "internal.h"

#include <errno.h>
#include <unistd.h>

static void tell(mr_finding_fn fn, void *ctx, const char *subject_z, struct mr_str text, const struct mr_error *err)
{
    fn(ctx, &(struct mr_finding){.subject_z = subject_z, .text = text, .err = err});
}

static struct mr_str folder_of(const char *path, struct mr_arena *ar)
{
    struct mr_str text = mr_str_z(path);
    ptrdiff_t slash = mr_str_rfind(text, '/');
    if (slash < 0)
        return MR_STR(".");
    return slash == 0 ? MR_STR("/") : mr_str_of(mr_arena_strndup(ar, path, (size_t)slash), (size_t)slash);
}

static void check_file(const char *path, bool exists, struct mr_arena *ar, mr_finding_fn fn, void *ctx)
{
    struct mr_error err = {0};
    struct mr_str folder = folder_of(path, ar);
    if (exists && access(path, W_OK) != 0)
        (void)mr_fail(&err, MR_E_ENV, "cannot write %s: %s", path, strerror(errno));
    else if (access(folder.ptr, W_OK | X_OK) != 0)
        (void)mr_fail(&err, MR_E_ENV, "cannot make files in %s: %s", folder.ptr, strerror(errno));
    tell(fn, ctx, "file", mr_arena_printf(ar, exists ? "%s can be written" : "%s will be created", path),
         err.status == MR_OK ? NULL : &err);
}

static enum mr_status on_version(void *ctx, const struct mr_value *cells, size_t count, struct mr_error *err)
{
    (void)err;
    *(int64_t *)ctx = count == 1 ? cells[0].i : 0;
    return MR_OK;
}

static void check_control(struct mr_sink *sink, mr_finding_fn fn, void *ctx)
{
    struct mr_error err = {0};
    int64_t version = 0;
    enum mr_status status = mr_sqlite_exec(sink, MR_Q_control_version, NULL, 0, on_version, &version, NULL, &err);
    if (status == MR_OK && version > MR_CONTROL_LAYOUT_VERSION)
        status = mr_fail(&err, MR_E_CONFIG, "the control tables were made by a newer Millrace (layout version %lld, this one knows %d)",
                         (long long)version, MR_CONTROL_LAYOUT_VERSION);
    tell(fn, ctx, "control tables", status == MR_E_SCHEMA ? MR_STR("will be created") : MR_STR("are there"),
         status == MR_OK || status == MR_E_SCHEMA ? NULL : &err);
}

void mr_sqlite_check(struct mr_sink *sink, const struct mr_sink_place *places, size_t count, mr_finding_fn fn, void *ctx)
{
    (void)places, (void)count; /* whoever may write the file may write every table */
    const char *path = mr_sqlite_path(mr_sqlite_of(sink)->cfg->target_url);
    struct mr_arena *ar = mr_arena_create(0);
    check_file(path, access(path, F_OK) == 0, ar, fn, ctx);
    check_control(sink, fn, ctx);
    mr_arena_destroy(ar);
}
