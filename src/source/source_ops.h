/* The sources, each in its own files; registry.c lists them. */
#ifndef MILLRACE_SOURCE_SOURCE_OPS_H
#define MILLRACE_SOURCE_SOURCE_OPS_H

#include <millrace/source.h>

extern const struct mr_source_ops mr_source_kafka;
extern const struct mr_source_ops mr_source_file;

/* kafka_check.c, file_check.c */
void mr_kafka_check(const struct mr_config *cfg, int timeout_ms, mr_finding_fn fn, void *ctx);
enum mr_status mr_kafka_ends(const struct mr_config *cfg, const struct mr_partition *parts, size_t count, int timeout_ms,
                             int64_t *end, struct mr_error *err);
void mr_file_check(const struct mr_config *cfg, int timeout_ms, mr_finding_fn fn, void *ctx);

extern const struct mr_feed_ops mr_kafka_feed;

#endif
