/* Bump allocator. Small pieces come from equal chunks that are kept over resets; a piece that is larger than a
 * chunk gets its own block. Blocks are reused after a reset and given back if the batch in between did not
 * want them, so one giant message does not stay in memory for ever.
 *
 * Under AddressSanitizer, memory that is not handed out is poisoned: use after a reset is reported. */
#include <millrace/base/arena.h>

#include <millrace/base/mem.h>

#include <stdarg.h>
#include <stdio.h>

#if defined(__SANITIZE_ADDRESS__)
#define ARENA_POISON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_POISON 1
#endif
#endif

#ifdef ARENA_POISON
#include <sanitizer/asan_interface.h>
#define poison(ptr, size) __asan_poison_memory_region((ptr), (size))
#define unpoison(ptr, size) __asan_unpoison_memory_region((ptr), (size))
#else
#define poison(ptr, size) ((void)(ptr), (void)(size))
#define unpoison(ptr, size) ((void)(ptr), (void)(size))
#endif

#define ALIGNMENT 16
#define DEFAULT_CHUNK (64 * 1024)

struct chunk {
    struct chunk *next;
    size_t size; /* bytes of data */
    _Alignas(ALIGNMENT) char data[];
};

struct mr_arena {
    char *at;             /* next free byte of the current chunk */
    char *end;
    size_t used;          /* bytes handed out since reset */
    size_t chunk_bytes;
    struct chunk *first;  /* all chunks, those in use first */
    struct chunk *current;
    struct chunk *large;      /* blocks in use */
    struct chunk *large_free; /* blocks of the batch before */
};

static struct chunk *chunk_create(size_t size)
{
    if (size > PTRDIFF_MAX - sizeof(struct chunk))
        size = PTRDIFF_MAX; /* mr_xmalloc ends the process */
    struct chunk *chunk = mr_xmalloc(sizeof(struct chunk) + size);
    chunk->next = NULL;
    chunk->size = size;
    poison(chunk->data, size);
    return chunk;
}

static void free_chunks(struct chunk *chunk)
{
    while (chunk) {
        struct chunk *next = chunk->next;
        unpoison(chunk->data, chunk->size);
        mr_xfree(chunk);
        chunk = next;
    }
}

static void use_chunk(struct mr_arena *ar, struct chunk *chunk)
{
    ar->current = chunk;
    ar->at = chunk->data;
    ar->end = chunk->data + chunk->size;
}

struct mr_arena *mr_arena_create(size_t chunk_bytes)
{
    struct mr_arena *ar = mr_xcalloc(1, sizeof(*ar));
    if (chunk_bytes == 0)
        chunk_bytes = DEFAULT_CHUNK;
    ar->chunk_bytes = (chunk_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return ar;
}

void mr_arena_destroy(struct mr_arena *ar)
{
    if (!ar)
        return;
    free_chunks(ar->large_free);
    free_chunks(ar->large);
    free_chunks(ar->first);
    mr_xfree(ar);
}

void mr_arena_reset(struct mr_arena *ar)
{
    free_chunks(ar->large_free);
    ar->large_free = ar->large;
    ar->large = NULL;
    for (struct chunk *c = ar->large_free; c; c = c->next)
        poison(c->data, c->size);
    for (struct chunk *c = ar->first; c; c = c->next)
        poison(c->data, c->size);
    ar->used = 0;
    if (ar->first)
        use_chunk(ar, ar->first);
}

size_t mr_arena_used(const struct mr_arena *ar)
{
    return ar->used;
}

static void *alloc_large(struct mr_arena *ar, size_t size)
{
    struct chunk **link = &ar->large_free;
    while (*link && (*link)->size < size)
        link = &(*link)->next;
    struct chunk *block = *link;
    if (block)
        *link = block->next;
    else
        block = chunk_create(size);
    block->next = ar->large;
    ar->large = block;
    unpoison(block->data, size);
    return block->data;
}

static __attribute__((noinline)) void *alloc_slow(struct mr_arena *ar, size_t rounded, size_t size)
{
    if (rounded < size || rounded > ar->chunk_bytes)
        return alloc_large(ar, size);
    struct chunk *next = ar->current ? ar->current->next : ar->first;
    if (!next) {
        next = chunk_create(ar->chunk_bytes);
        if (ar->current)
            ar->current->next = next;
        else
            ar->first = next;
    }
    use_chunk(ar, next);
    void *ptr = ar->at;
    ar->at += rounded;
    unpoison(ptr, size);
    return ptr;
}

void *mr_arena_alloc(struct mr_arena *ar, size_t size)
{
    size_t rounded = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    ar->used += size;
    if (__builtin_expect(rounded < size || rounded > (size_t)(ar->end - ar->at) || !ar->at, 0))
        return alloc_slow(ar, rounded, size);
    void *ptr = ar->at;
    ar->at += rounded;
    unpoison(ptr, size);
    return ptr;
}

void *mr_arena_zalloc(struct mr_arena *ar, size_t size)
{
    void *ptr = mr_arena_alloc(ar, size);
    memset(ptr, 0, size);
    return ptr;
}

struct mr_str mr_arena_copy(struct mr_arena *ar, struct mr_str s)
{
    if (s.len == 0)
        return mr_str_of("", 0);
    char *copy = mr_arena_alloc(ar, s.len);
    memcpy(copy, s.ptr, s.len);
    return mr_str_of(copy, s.len);
}

char *mr_arena_strndup(struct mr_arena *ar, const char *ptr, size_t len)
{
    char *copy = mr_arena_alloc(ar, len < SIZE_MAX ? len + 1 : len);
    if (len)
        memcpy(copy, ptr, len);
    copy[len] = 0;
    return copy;
}

struct mr_str mr_arena_printf(struct mr_arena *ar, const char *fmt, ...)
{
    char text[256];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (n <= 0)
        return mr_str_of("", 0);
    if ((size_t)n < sizeof(text))
        return mr_arena_copy(ar, mr_str_of(text, (size_t)n));
    char *copy = mr_arena_alloc(ar, (size_t)n + 1);
    va_start(args, fmt);
    n = vsnprintf(copy, (size_t)n + 1, fmt, args);
    va_end(args);
    return mr_str_of(copy, n < 0 ? 0 : (size_t)n);
}
