/* What a check found: something that was looked at, and whether it is as it should be. */
#ifndef MILLRACE_BASE_FINDING_H
#define MILLRACE_BASE_FINDING_H

#include <millrace/base/error.h>
#include <millrace/base/str.h>

struct mr_finding {
    const char *subject_z;      /* "topic", "file", "control tables" */
    struct mr_str text;         /* "shop.orders: 8 partitions"; valid during the call */
    const struct mr_error *err; /* what is wrong, NULL = nothing. CONFIG: the configuration asks for what is not there; ENV: not now */
};

typedef void (*mr_finding_fn)(void *ctx, const struct mr_finding *finding);

#endif
