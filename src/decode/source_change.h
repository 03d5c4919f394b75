/* One entry of `tableChanges` in a Debezium schema change: whose table, and its columns. */
#ifndef MILLRACE_DECODE_SOURCE_CHANGE_H
#define MILLRACE_DECODE_SOURCE_CHANGE_H

#include "source_types.h"

struct mr_source_change {
    struct mr_str type;            /* CREATE, ALTER, DROP */
    struct mr_str database, table; /* as they are called afterwards */
    uint32_t columns;              /* array node; MR_JSON_NONE: the table is gone */
    uint32_t key;                  /* primaryKeyColumnNames, or MR_JSON_NONE */
};

/* False if it is none. Texts borrow from the document or `ar`. */
bool mr_source_change_read(const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar,
                           struct mr_source_change *out);
/* The columns as a struct's schema, wholly in `ar`. */
const struct mr_connect_schema *mr_source_change_schema(const struct mr_config *cfg,
                                                        const struct mr_json_doc *doc,
                                                        const struct mr_source_change *change,
                                                        struct mr_arena *ar);

#endif
