/* Values of MySQL's columns from the texts in which Canal and its kin send them. A text that is no value of its type is no error of the
 * message: it becomes INVALID, and the field's policy decides. */
#ifndef MILLRACE_DECODE_MYSQL_VALUE_H
#define MILLRACE_DECODE_MYSQL_VALUE_H

#include <millrace/base/zone.h>
#include <millrace/config/config.h>
#include <millrace/model/value.h>

#include "json.h"
#include "mysql_type.h"

struct mr_mysql_reader {
    const struct mr_config *cfg;
    struct mr_zone *zone;           /* source_time_zone */
    struct mr_json_reader *json;    /* JSON columns */
};

/* CONFIG: the zone is none. */
enum mr_status mr_mysql_reader_init(struct mr_mysql_reader *rd, const struct mr_config *cfg, struct mr_error *err)
    MR_MUST_CHECK;
void mr_mysql_reader_free(struct mr_mysql_reader *rd);

/* How the text came. */
struct mr_mysql_text {
    struct mr_str text;
    unsigned flags;      /* MR_TEXT_… */
    bool is_latin1;      /* the producer took its bytes for a blob's: each character is one byte of the text */
    bool is_lengthless;  /* the producer leaves out lengths */
};

struct mr_value mr_mysql_value(struct mr_mysql_reader *rd, const struct mr_mysql_type *type,
                               const struct mr_mysql_text *in, struct mr_arena *ar);

/* The same for texts whose type is one of ours, as the formats without types need it: zero dates, and instants in the source's zone. False: the
 * text is of none of these kinds, or is not read as one; the tracker reads it. */
bool mr_mysql_read_temporal(struct mr_mysql_reader *rd, struct mr_str text, enum mr_type_kind kind, struct mr_value *out);

/* Characters U+0000 to U+00FF as bytes; false if there are others. */
bool mr_latin1_bytes(struct mr_str text, struct mr_arena *ar, struct mr_str *out);
/* A UTF-8 text that somebody read as Latin-1, as what it was; the text itself where it cannot have been that. */
struct mr_str mr_latin1_undo(struct mr_str text, struct mr_arena *ar);

#endif
