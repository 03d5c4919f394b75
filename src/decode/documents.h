/* Messages that may hold several JSON documents: an array of them, or one a line, as files' writers join them. */
#ifndef MILLRACE_DECODE_DOCUMENTS_H
#define MILLRACE_DECODE_DOCUMENTS_H

#include "connect.h"
#include "shape.h"

typedef enum mr_status (*mr_document_fn)(void *ctx, const struct mr_json_doc *doc, uint32_t node, struct mr_error *err);

/* Calls fn for each document of the record's value, in order; stops at its first error. *is_null: there is none. Errors as mr_connect_open. */
enum mr_status mr_documents_each(struct mr_connect *cn, const struct mr_record *rec, struct mr_arena *ar, mr_document_fn fn,
                                 void *ctx, bool *is_null, struct mr_error *err) MR_MUST_CHECK;

enum mr_first {
    MR_FIRST_OBJECT,
    MR_FIRST_NULL,  /* no value */
    MR_FIRST_OTHER, /* JSON, but no object, nor a list of them */
};

struct mr_first_document {
    struct mr_connect_message value; /* the payload, where the value is one document */
    struct mr_shape shape;           /* OBJECT */
    struct mr_json_doc doc;
    bool is_described;               /* a Connect schema says that it is a struct */
};

/* The first document, for detection. Its nodes are valid until the next open of the value. Errors as mr_connect_open. */
enum mr_status mr_documents_first(struct mr_connect *cn, const struct mr_record *rec, struct mr_arena *ar,
                                  struct mr_first_document *out, enum mr_first *what, struct mr_error *err) MR_MUST_CHECK;

#endif
