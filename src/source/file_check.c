/* What `check` asks of files: is each named file there and readable, does each pattern match something. Nothing is opened. */
#include "file_list.h"
#include "source_ops.h"

#include <millrace/base/mem.h>

#include <stdio.h>
#include <string.h>

static void tell_pattern(const char *pattern_z, mr_finding_fn fn, void *ctx)
{
    struct mr_strings one = {.items = (char *[]){(char *)(uintptr_t)pattern_z}, .count = 1};
    struct mr_file_list list = {0};
    struct mr_error err = {0};
    enum mr_status status = mr_file_list_scan(&list, &one, true, true, &err);
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_finding finding = {.subject_z = "file", .text = mr_str_z(pattern_z), .err = status == MR_OK ? NULL : &err};
    uint64_t bytes = 0;

    for (size_t i = 0; i < list.count; i++)
        bytes += list.items[i]->size;
    if (status == MR_OK && strcmp(pattern_z, "-") == 0)
        finding.text = MR_STR("standard input");
    else if (status == MR_OK && list.count == 1)
        finding.text = mr_arena_printf(ar, "%s: readable, %llu bytes", pattern_z, (unsigned long long)bytes);
    else if (status == MR_OK)
        finding.text = mr_arena_printf(ar, "%s: %zu files, %llu bytes", pattern_z, list.count, (unsigned long long)bytes);
    fn(ctx, &finding);
    mr_file_list_free(&list);
    mr_arena_destroy(ar);
}

void mr_file_check(const struct mr_config *cfg, int timeout_ms, mr_finding_fn fn, void *ctx)
{
    (void)timeout_ms;
    for (size_t i = 0; i < cfg->file_paths.count; i++)
        tell_pattern(cfg->file_paths.items[i], fn, ctx);
}
