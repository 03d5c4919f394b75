/* What a message is by its first bytes, where that is no JSON: names for error messages. */
#ifndef MILLRACE_DECODE_BYTES_KIND_H
#define MILLRACE_DECODE_BYTES_KIND_H

#include <millrace/base/str.h>

/* "Confluent or Apicurio schema-registry framing", "gzip", …; NULL if the bytes say nothing (JSON and plain text among them). */
const char *mr_bytes_kind(struct mr_str bytes);

#endif
