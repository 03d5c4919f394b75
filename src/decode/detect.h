/* Telling formats apart (format: auto): what a message is when no decoder of ours is to be asked, since it says nothing of rows or comes
 * from a producer whose format cannot be read here. */
#ifndef MILLRACE_DECODE_DETECT_H
#define MILLRACE_DECODE_DETECT_H

#include "connect.h"
#include "shape.h"

enum mr_detected {
    MR_DETECT_NEUTRAL, /* a tombstone or a control message: fixes no choice */
    MR_DETECT_ROWS,    /* an object, or a list of them: the decoders' sniff tells whose */
    MR_DETECT_FOREIGN, /* another producer's format; *name says which */
    MR_DETECT_NOTHING, /* JSON, but no object */
};

/* Errors as mr_connect_open: the value is no JSON. DATA ambiguous: signs of two formats that exclude one another. */
enum mr_status mr_detect(struct mr_connect *cn, const struct mr_record *rec, struct mr_arena *ar,
                         enum mr_detected *out, const char **name, struct mr_error *err) MR_MUST_CHECK;

/* How sure the decoders are, in the order of the formats' rules: the first rule that holds wins. */
enum {
    MR_SNIFF_SHAREPLEX = 100,
    MR_SNIFF_DTS = 95,
    MR_SNIFF_ENVELOPE = 90,
    MR_SNIFF_CANAL = 88,
    MR_SNIFF_PROSTORE = 86,
    MR_SNIFF_STRIPPED_CANAL = 84,
    MR_SNIFF_MAXWELL = 82,
    MR_SNIFF_DESCRIBED_ROW = 80, /* a schema or a header says that it is a row of Debezium's */
    MR_SNIFF_FLAGGED_ROW = 60,   /* __deleted */
    MR_SNIFF_ANY_OBJECT = 1,     /* nothing tells */
};

/* Canal's own members; or, where they have been taken out, its words and lists. */
bool mr_detect_is_canal(const struct mr_shape *shape);
bool mr_detect_is_stripped_canal(const struct mr_shape *shape, struct mr_arena *ar);
bool mr_detect_is_maxwell(const struct mr_shape *shape, struct mr_arena *ar);
bool mr_detect_is_shareplex(const struct mr_shape *shape);
/* By the message's key, or in a file by a line that has one. */
bool mr_detect_is_prostore(struct mr_connect *cn, const struct mr_record *rec, const struct mr_shape *shape, struct mr_arena *ar);
/* Has the record a header of Debezium's? Then its members prove nothing about other producers. */
bool mr_detect_has_debezium_header(const struct mr_record *rec);

/* Does the value begin as JSON does? Else it is asked of the decoders of binary formats first. */
bool mr_detect_is_text(const struct mr_record *rec);

/* The producer of an object that is not Debezium's, by its members; NULL if none of those we know by name. */
const char *mr_detect_foreign(struct mr_connect *cn, const struct mr_record *rec,
                              const struct mr_shape *shape, struct mr_arena *ar);

/* The signs by which a record was taken for a format, in words; NULL for one that tells nothing of rows. */
struct mr_str mr_detect_explain(struct mr_connect *cn, const struct mr_record *rec, const char *format_z, bool is_sure,
                                struct mr_arena *ar);

#endif
