/* Exponential backoff with jitter, for environment errors. */
#ifndef MILLRACE_BASE_BACKOFF_H
#define MILLRACE_BASE_BACKOFF_H

#include <stdint.h>

struct mr_backoff {
    int64_t base_ms, max_ms; /* first and longest wait */
    unsigned attempt;        /* failures so far */
    uint64_t random_state;
};

void mr_backoff_init(struct mr_backoff *b, int64_t base_ms, int64_t max_ms);
int64_t mr_backoff_next_ms(struct mr_backoff *b); /* counts the attempt; ±25 % jitter */
void mr_backoff_reset(struct mr_backoff *b);

#endif
