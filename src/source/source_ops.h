/* The sources, each in its own files; registry.c lists them. */
#ifndef MILLRACE_SOURCE_SOURCE_OPS_H
#define MILLRACE_SOURCE_SOURCE_OPS_H

#include <millrace/source.h>

extern const struct mr_source_ops mr_source_kafka;
extern const struct mr_source_ops mr_source_file;

#endif
