/* Exponential backoff with jitter, so that many instances do not come back at the same moment. */
#include <millrace/base/backoff.h>

#include <millrace/base/hash.h>
#include <millrace/base/time.h>

void mr_backoff_init(struct mr_backoff *b, int64_t base_ms, int64_t max_ms)
{
    b->base_ms = base_ms > 0 ? base_ms : 1;
    b->max_ms = max_ms > b->base_ms ? max_ms : b->base_ms;
    b->attempt = 0;
    uint64_t seed[2] = {(uint64_t)mr_now_us(), (uint64_t)(uintptr_t)b};
    b->random_state = mr_hash(seed, sizeof(seed), 0) | 1;
}

static uint64_t next_random(struct mr_backoff *b)
{
    uint64_t x = b->random_state ? b->random_state : 1;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    b->random_state = x;
    return x;
}

int64_t mr_backoff_next_ms(struct mr_backoff *b)
{
    int64_t wait_ms = b->base_ms;
    for (unsigned i = 0; i < b->attempt && wait_ms < b->max_ms; i++)
        wait_ms = wait_ms > b->max_ms / 2 ? b->max_ms : wait_ms * 2;
    if (wait_ms > b->max_ms)
        wait_ms = b->max_ms;
    if (b->attempt < UINT32_MAX)
        b->attempt++;
    uint64_t spread = (uint64_t)(wait_ms / 2) + 1;
    return wait_ms - wait_ms / 4 + (int64_t)(next_random(b) % spread);
}

void mr_backoff_reset(struct mr_backoff *b)
{
    b->attempt = 0;
}
