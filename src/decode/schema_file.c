/* Schemas in files. See schema_file.h. */
#include "schema_file.h"

#include <errno.h>
#include <stdio.h>

#include <millrace/base/buf.h>
#include <millrace/base/mem.h>

#define MAX_SCHEMA (UINT64_C(16) << 20)

enum mr_status mr_schema_file_read(struct mr_str path, struct mr_arena *ar, struct mr_str *out,
                                   struct mr_error *err)
{
    FILE *file = fopen(mr_arena_strndup(ar, path.ptr, path.len), "rb");
    if (file == NULL)
        return mr_fail(err, MR_E_CONFIG, "cannot open the schema %.*s: %s", MR_STR_FMT(path),
                       strerror(errno));
    struct mr_buf text = MR_BUF_INIT(MAX_SCHEMA);
    char chunk[8192];
    size_t got;
    while (!text.overflow && (got = fread(chunk, 1, sizeof(chunk), file)) > 0)
        mr_buf_append(&text, chunk, got);
    bool failed = ferror(file) != 0;
    int reason = errno;
    fclose(file);
    enum mr_status status = MR_OK;
    if (failed)
        status =
            mr_fail(err, MR_E_CONFIG, "cannot read the schema %.*s: %s", MR_STR_FMT(path), strerror(reason));
    else if (text.overflow)
        status =
            mr_fail(err, MR_E_CONFIG, "%.*s is larger than 16 MiB, which no schema is", MR_STR_FMT(path));
    else
        *out = mr_arena_copy(ar, mr_buf_str(&text));
    mr_buf_free(&text);
    return status;
}
