/* Values of Maxwell's rows: native JSON, and what types.columns or Maxwell's schema changes say of their columns. */
#ifndef MILLRACE_DECODE_MAXWELL_H
#define MILLRACE_DECODE_MAXWELL_H

#include <millrace/config/config.h>
#include <millrace/model/change.h>

#include "json.h"

struct mr_maxwell_types;
struct mr_maxwell_defs;

/* CONFIG: source_time_zone is no zone. */
enum mr_status mr_maxwell_types_create(const struct mr_config *cfg, struct mr_maxwell_types **out, struct mr_error *err)
    MR_MUST_CHECK;
void mr_maxwell_types_destroy(struct mr_maxwell_types *types); /* NULL is fine */
void mr_maxwell_types_use(struct mr_maxwell_types *types, struct mr_maxwell_defs *defs);

/* Sets type and value of a field whose path is set. */
void mr_maxwell_value(struct mr_maxwell_types *types, const struct mr_relation *relation, const struct mr_json_doc *doc,
                      uint32_t node, struct mr_arena *ar, struct mr_field *out);

#endif
