/* Errors: one status enum whose value says what the caller must do, and one struct that
 * lives on the caller's stack and says what happened, in words a person can act on.
 * The place that detects fills it; the place that handles logs it, once. */
#ifndef MILLRACE_BASE_ERROR_H
#define MILLRACE_BASE_ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The class of an outcome. The comment is the whole policy (ARCHITECTURE.md, "Errors"). */
enum mr_status {
    MR_OK = 0,
    MR_E_CONFIG,  /* stop, exit 3 */
    MR_E_ENV,     /* outside trouble: retry with backoff, never dead-letter */
    MR_E_BUSY,    /* deadlock, serialisation: retry the transaction now */
    MR_E_SCHEMA,  /* the target's catalog is not what we thought: read it again, plan once more */
    MR_E_DATA,    /* this value or row: isolate and dead-letter */
    MR_E_FENCED,  /* another instance owns the partition: drop it, stop with 8 if still ours */
    MR_E_STOPPED, /* asked to stop */
    MR_E_BUG,     /* cannot happen: exit 70 */
};

/* What happened. All texts are NUL-terminated and cut to fit. Zero it with `= {0}`. */
struct mr_error {
    enum mr_status status;
    char code[32];      /* stable word for machines: "type_conflict", "bad_json", … */
    char native[16];    /* SQLSTATE, errno or library code; "" if none */
    char message[768];  /* what and where, one line */
    char detail[768];   /* more, may be "" */
    char hint[1024];    /* what to do, may be "" */
    char field[256];    /* the field's source path, "" if the whole record */
    int64_t row;        /* index of the offending row in the table batch, -1 unknown */
};

/* No error, for a struct that has been in use. It is large, and zeroing all of it for every record costs more than reading the record's key. */
static inline void mr_error_clear(struct mr_error *err)
{
    err->status = MR_OK;
    err->code[0] = err->native[0] = err->message[0] = err->detail[0] = err->hint[0] = err->field[0] = 0;
    err->row = -1;
}

/* Fill *err (which may be NULL) and return the class. `code` is left as the class's name. */
enum mr_status mr_fail(struct mr_error *err, enum mr_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* A DATA error with its stable code word (one of the MR_CODE_… below). */
enum mr_status mr_fail_data(struct mr_error *err, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Set the hint, detail or field of an error already made. err may be NULL. */
void mr_error_hint(struct mr_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void mr_error_detail(struct mr_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void mr_error_field(struct mr_error *err, const char *field, size_t len);

/* Put text in front of the message ("shop.orders: …"). */
void mr_error_prefix(struct mr_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

const char *mr_status_name(enum mr_status status);

/* Return the status of a failing call up. */
#define MR_TRY(call)                                                                               \
    do {                                                                                           \
        enum mr_status mr_try_status_ = (call);                                                    \
        if (mr_try_status_ != MR_OK)                                                               \
            return mr_try_status_;                                                                 \
    } while (0)

/* Go to the function's `done:` label with `status` set. */
#define MR_TRY_DONE(call)                                                                          \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != MR_OK)                                                                       \
            goto done;                                                                             \
    } while (0)

#define MR_MUST_CHECK __attribute__((warn_unused_result))

/* Code words of DATA errors, as they stand in the dead letters. */
#define MR_CODE_BAD_JSON "bad_json"             /* not JSON, or beyond depth and size limits */
#define MR_CODE_BAD_LINE "bad_line"             /* a file's line that is no record */
#define MR_CODE_BAD_VALUE "bad_value"           /* a value that contradicts its declared type */
#define MR_CODE_BAD_IMAGE "bad_image"           /* envelope parts that do not fit together */
#define MR_CODE_NO_TYPE "no_type"               /* a value that cannot be read without its column's type, and nobody tells it */
#define MR_CODE_TYPE_CONFLICT "type_conflict"   /* does not join with the column's type */
#define MR_CODE_MIXED_ARRAY "mixed_array"       /* elements without a type in common, where arrays are of one type */
#define MR_CODE_OUT_OF_RANGE "out_of_range"     /* the target's type cannot hold it */
#define MR_CODE_TEXT_INVALID "text_invalid"     /* NUL, lone surrogate, ill-formed UTF-8 */
#define MR_CODE_NO_KEY "no_key"                 /* a keyed table, and the event brings no key */
#define MR_CODE_NULL_KEY "null_key"             /* a key column is null */
#define MR_CODE_NO_TABLE "no_table"             /* no way to name the table */
#define MR_CODE_UNKNOWN_FORMAT "unknown_format" /* detection found nothing that fits */
#define MR_CODE_AMBIGUOUS "ambiguous"           /* contradicts the topic's format */
#define MR_CODE_UNSUPPORTED "unsupported"       /* recognised, not readable here */
#define MR_CODE_UNKNOWN_OP "unknown_op"         /* an operation that the format does not have */
#define MR_CODE_INCOMPLETE "incomplete"         /* a row that its producer has cut down to its key */
#define MR_CODE_STATEMENT_BINLOG "statement_binlog" /* the source logs statements, not rows */
#define MR_CODE_ENCRYPTED "encrypted"           /* encrypted by the producer */
#define MR_CODE_TOO_LARGE "too_large"           /* beyond a size limit */
#define MR_CODE_BAD_MAGIC "bad_magic"           /* no framing of a schema registry */
#define MR_CODE_TRUNCATED "truncated"           /* ends before it is complete */
#define MR_CODE_TRAILING "trailing_data"        /* more bytes than it should have */
#define MR_CODE_CORRUPT "corrupt"               /* binary data that cannot be */
#define MR_CODE_BAD_UTF8 "bad_utf8"             /* a text that is no UTF-8 */
#define MR_CODE_LIMIT_EXCEEDED "limit_exceeded" /* nested too deep, or too many items */
#define MR_CODE_BAD_SCHEMA "bad_schema"         /* a schema that makes no sense */
#define MR_CODE_UNSUPPORTED_SCHEMA "unsupported_schema" /* one that says that the data is encrypted */
#define MR_CODE_SCHEMA_TYPE "schema_type_mismatch" /* the id is of another kind of schema than the format says */
#define MR_CODE_UNKNOWN_SCHEMA "unknown_schema_id"
#define MR_CODE_BAD_LENGTH "bad_length"         /* another number of bytes than its type takes */
#define MR_CODE_BAD_CSV "bad_csv"               /* no CSV record */
#define MR_CODE_COLUMN_COUNT "column_count"     /* another number of fields than columns are declared */
#define MR_CODE_MAP_IN_KEY "map_in_key"         /* a map in a key: equal ones may be written differently */
#define MR_CODE_NULL_KEY_COLUMN "null_key_column"
#define MR_CODE_KEY_CONFLICT "key_value_conflict" /* a column differs between key and value */
#define MR_CODE_KEY_SCHEMA "key_schema_changed" /* other key columns than before, and nobody declares them */
#define MR_CODE_NAME_COLLISION "name_collision"
#define MR_CODE_CONSTRAINT "constraint"         /* the target's own constraint refused the row */
#define MR_CODE_REFUSED "refused"               /* any other data refusal of the target */
#define MR_CODE_UNKNOWN "unknown"               /* ENV: a native code that the dialect does not know */
#define MR_CODE_NO_RIGHTS "no_rights"           /* ENV: the target's user may not; a person gives the right */

#endif
