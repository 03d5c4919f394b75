/* Names of document members made fit for Avro, as unwrap.field.name.adjustment.mode of Debezium's MongoDB transform does. Any thread. */
#ifndef MILLRACE_MODEL_FIELD_NAME_H
#define MILLRACE_MODEL_FIELD_NAME_H

#include <millrace/base/buf.h>
#include <millrace/base/str.h>

enum mr_name_mode {
    MR_NAMES_NONE,         /* as they are */
    MR_NAMES_AVRO,         /* what is not A-Z a-z 0-9 _ becomes _; a digit in front gets one before it */
    MR_NAMES_AVRO_UNICODE, /* that, and the underscore, becomes _u and its code in hexadecimal */
};

/* Append the adjusted name. The transform works on UTF-16 units, so a character beyond the basic plane counts as two. Nothing is added for an
 * empty name. */
void mr_field_name_append(enum mr_name_mode mode, struct mr_str name, struct mr_buf *out);

#endif
