/* Telling formats apart (format: auto): what a message is when no decoder of ours is to be asked, since it says nothing of rows or comes
 * from a producer whose format cannot be read here. */
#ifndef MILLRACE_DECODE_DETECT_H
#define MILLRACE_DECODE_DETECT_H

#include "connect.h"
#include "shape.h"

enum mr_detected {
    MR_DETECT_NEUTRAL, /* a tombstone or a control message: fixes no choice */
    MR_DETECT_ROWS,    /* an object: the decoders' sniff tells whose */
    MR_DETECT_FOREIGN, /* another producer's format; *name says which */
    MR_DETECT_NOTHING, /* JSON, but no object */
};

/* Errors as mr_connect_open: the value is no JSON. */
enum mr_status mr_detect(struct mr_connect *cn, const struct mr_record *rec, struct mr_arena *ar,
                         enum mr_detected *out, const char **name, struct mr_error *err) MR_MUST_CHECK;

/* The producer of an object that is not Debezium's, by its members; NULL if none of those we know by name. */
const char *mr_detect_foreign(struct mr_connect *cn, const struct mr_record *rec,
                              const struct mr_shape *shape, struct mr_arena *ar);

#endif
