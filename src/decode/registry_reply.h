/* What a registry's answer says: JSON to a schema. Apart from the client, so that it can be tested and fuzzed without a network. */
#ifndef MILLRACE_DECODE_REGISTRY_REPLY_H
#define MILLRACE_DECODE_REGISTRY_REPLY_H

#include "schema_registry.h"

/* A reply of success. ENV registry_bad_reply where it is none; DATA unsupported_schema where its rules say that the data is encrypted. */
enum mr_status mr_registry_read_reply(struct mr_str body, bool ignore_rules, struct mr_arena *ar,
                                      struct mr_schema_reply *out, struct mr_error *err) MR_MUST_CHECK;
/* An error reply's code (0 = none) and message ("" = none). */
void mr_registry_read_error(struct mr_str body, struct mr_arena *ar, int64_t *code, struct mr_str *message);
/* ENV with the code word. */
enum mr_status mr_registry_fail(struct mr_error *err, enum mr_status status, const char *code_z,
                                const char *fmt, ...) __attribute__((format(printf, 4, 5)));

#endif
