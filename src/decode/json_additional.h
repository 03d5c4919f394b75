/* Members of a JSON_SR payload that its schema does not name (`json.additional`). */
#ifndef MILLRACE_DECODE_JSON_ADDITIONAL_H
#define MILLRACE_DECODE_JSON_ADDITIONAL_H

#include "connect.h"
#include "json_build.h"

#define MR_ADDITIONAL MR_STR("additional") /* the column that takes them */

/* The schema with that column; NULL where it is no record's, or has a field of that name. In `ar`. */
const struct mr_connect_schema *mr_additional_schema(const struct mr_connect_schema *of, struct mr_arena *ar);
/* The first member of the object that the schema does not name; MR_JSON_NONE: there is none. */
uint32_t mr_additional_first(const struct mr_connect_schema *schema, const struct mr_json_doc *doc, uint32_t object, struct mr_arena *ar);
/* The object with those members in one object of their own. */
enum mr_status mr_additional_gather(const struct mr_connect_schema *schema, const struct mr_json_doc *doc, uint32_t object, struct mr_json_build *build,
                                    struct mr_arena *ar, struct mr_json_doc *out, struct mr_error *err) MR_MUST_CHECK;

#endif
