/* Chunks of records, and the ones kept for reuse: see batch.h. Without this every thousand records would cost fresh pages from the kernel. */
#include "batch.h"

#include <millrace/base/mem.h>

/* Kept in all, by what they held last: more than the batches under way need of records of the usual size. */
#define MAX_SPARE_BYTES ((size_t)48 << 20)
#define MIN_CHUNK_BYTES ((size_t)1 << 18)

static size_t weight(const struct mr_chunk *chunk)
{
    return chunk->kept_bytes > MIN_CHUNK_BYTES ? chunk->kept_bytes : MIN_CHUNK_BYTES;
}

static void destroy(struct mr_chunk *chunk)
{
    mr_arena_destroy(chunk->ar);
    mr_xfree(chunk->records);
    mr_xfree(chunk);
}

struct mr_chunk *mr_chunk_take(struct mr_chunk_pool *pool)
{
    struct mr_chunk *chunk = pool->spare;
    if (chunk != NULL) {
        pool->spare = chunk->next_spare;
        pool->spare_bytes -= weight(chunk);
        mr_arena_reset(chunk->ar);
    } else {
        chunk = mr_xcalloc(1, sizeof *chunk);
        chunk->ar = mr_arena_create(MIN_CHUNK_BYTES);
        chunk->records = mr_xcalloc(MR_CHUNK_RECORDS, sizeof *chunk->records);
    }
    chunk->count = chunk->next = 0;
    chunk->refs = 1;
    return chunk;
}

void mr_chunk_give(struct mr_chunk_pool *pool, struct mr_chunk *chunk)
{
    size_t used = mr_arena_used(chunk->ar);
    if (used > chunk->kept_bytes) /* the arena keeps its blocks */
        chunk->kept_bytes = used;
    if (weight(chunk) > MAX_SPARE_BYTES - pool->spare_bytes) {
        destroy(chunk);
        return;
    }
    pool->spare_bytes += weight(chunk);
    chunk->next_spare = pool->spare;
    pool->spare = chunk;
}

void mr_chunk_pool_free(struct mr_chunk_pool *pool)
{
    while (pool->spare != NULL) {
        struct mr_chunk *next = pool->spare->next_spare;
        destroy(pool->spare);
        pool->spare = next;
    }
    pool->spare_bytes = 0;
}
