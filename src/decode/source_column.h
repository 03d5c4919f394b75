/* How a column's values are written where no schema comes with them: made of the type that the column has at the source (MySQL, MariaDB),
 * or of a type that the configuration gives it. The result is what a Connect schema would have been compiled to (connect.h). */
#ifndef MILLRACE_DECODE_SOURCE_COLUMN_H
#define MILLRACE_DECODE_SOURCE_COLUMN_H

#include "connect.h"

/* A column as the source's schema describes it. */
struct mr_source_column {
    struct mr_str name;
    struct mr_str type;    /* "DECIMAL UNSIGNED", in any case */
    int64_t length, scale; /* -1 = none */
    bool not_null;
    const struct mr_str *labels; /* ENUM: as they are, without quotes */
    size_t label_count;
};

/* Never NULL; a type that is not known gives MR_C_ANY: values are taken as they look. */
const struct mr_connect_schema *
mr_source_column_schema(const struct mr_config *cfg, const struct mr_source_column *col, struct mr_arena *ar);
/* For a type set by hand; `digits` of timestamp(6). NULL where a value is right as it looks. */
const struct mr_connect_schema *mr_source_hand_schema(const struct mr_config *cfg, struct mr_type type,
                                                      unsigned digits, struct mr_arena *ar);

#endif
