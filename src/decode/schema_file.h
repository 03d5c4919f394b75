/* A schema in a file of this machine. */
#ifndef MILLRACE_DECODE_SCHEMA_FILE_H
#define MILLRACE_DECODE_SCHEMA_FILE_H

#include <millrace/base/arena.h>
#include <millrace/base/error.h>

/* Its text, in the arena. CONFIG: it cannot be read, or is larger than a schema. */
enum mr_status mr_schema_file_read(struct mr_str path, struct mr_arena *ar, struct mr_str *out,
                                   struct mr_error *err) MR_MUST_CHECK;

#endif
