/* Bump allocator: everything of a batch comes from its arena and goes with it. Reset keeps
 * the chunks, so a running pipeline does not allocate. One thread at a time. */
#ifndef MILLRACE_BASE_ARENA_H
#define MILLRACE_BASE_ARENA_H

#include <millrace/base/str.h>

struct mr_arena;

struct mr_arena *mr_arena_create(size_t chunk_bytes); /* 0 = 64 KiB */
void mr_arena_destroy(struct mr_arena *ar);           /* NULL is fine */
void mr_arena_reset(struct mr_arena *ar);
size_t mr_arena_used(const struct mr_arena *ar); /* bytes handed out since reset */

/* Never NULL; aligned to 16; not zeroed. */
void *mr_arena_alloc(struct mr_arena *ar, size_t size);
void *mr_arena_zalloc(struct mr_arena *ar, size_t size);
struct mr_str mr_arena_copy(struct mr_arena *ar, struct mr_str s);
char *mr_arena_strndup(struct mr_arena *ar, const char *ptr, size_t len); /* NUL-terminated */
struct mr_str mr_arena_printf(struct mr_arena *ar, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
