/* JSON Schema (JSON_SR) as a Connect schema: what the values of a framed JSON payload are. Payloads are not validated against it. */
#ifndef MILLRACE_DECODE_JSON_SCHEMA_H
#define MILLRACE_DECODE_JSON_SCHEMA_H

#include "connect.h"

struct mr_json_schema;
struct mr_json_schema *
mr_json_schema_create(struct mr_arena *ar);            /* lives as long as the arena; destroy before it */
void mr_json_schema_destroy(struct mr_json_schema *s); /* NULL is fine */
/* A schema's text; `name` is what others refer to it by, "" = the root. DATA bad_schema. */
enum mr_status mr_json_schema_add(struct mr_json_schema *s, struct mr_str name, struct mr_str text,
                                  struct mr_error *err) MR_MUST_CHECK;
/* The root as a Connect schema. with_formats: `format` of texts counts (date-time, date, time, uuid). */
const struct mr_connect_schema *mr_json_schema_connect(struct mr_json_schema *s, bool with_formats);

#endif
