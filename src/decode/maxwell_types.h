/* The columns of Maxwell's tables, as its schema changes tell them: `def`, the whole table, without lengths, and `sql`, the statement, with them. They
 * hold from then on, and over restarts. Main thread only. */
#ifndef MILLRACE_DECODE_MAXWELL_TYPES_H
#define MILLRACE_DECODE_MAXWELL_TYPES_H

#include <millrace/decoder.h>

#include "json.h"
#include "mysql_type.h"

struct mr_maxwell_column {
    struct mr_mysql_type type;
    struct mr_type column;
    struct mr_str def; /* as `def` has it */
    bool is_lengthless;
};

struct mr_maxwell_defs;
struct mr_told;
/* What is to be stored goes to `told`, which outlives it. */
struct mr_maxwell_defs *mr_maxwell_defs_create(const struct mr_config *cfg, struct mr_told *told);
void mr_maxwell_defs_destroy(struct mr_maxwell_defs *defs); /* NULL is fine */

/* `def` of a message, an object; the table's name before and now; the statement. */
void mr_maxwell_defs_learn(struct mr_maxwell_defs *defs, const struct mr_record *rec, const struct mr_relation *was, const struct mr_relation *now,
                           const struct mr_json_doc *doc, uint32_t def, struct mr_str sql);
/* By source path; NULL: nothing has been told. */
const struct mr_maxwell_column *mr_maxwell_defs_find(struct mr_maxwell_defs *defs, const struct mr_relation *relation, struct mr_str path);

/* What an earlier run has been told: a text that begins so. */
#define MR_MAXWELL_TOLD "{\"maxwell\":"
void mr_maxwell_defs_load(struct mr_maxwell_defs *defs, const struct mr_source_type *row);

#endif
