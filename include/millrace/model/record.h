/* What a source delivers: the message as it stood, with its place. Bytes belong to the source until the
 * records are released, so nothing is copied on the way. */
#ifndef MILLRACE_MODEL_RECORD_H
#define MILLRACE_MODEL_RECORD_H

#include <millrace/base/str.h>

struct mr_opened;
struct mr_chunk;

struct mr_header {
    struct mr_str name;
    struct mr_str value;
    bool is_null; /* a header without value */
};

/* A position sequence: a Kafka partition or a file. Owned by the source, lives until destroy. */
struct mr_partition {
    const char *topic_z; /* Kafka topic; "file:" + path + "#" + length + ":" + hash of the first bytes for files;
                          * "stdin:" + its id, or a name used only once */
    int32_t partition;   /* 0 for files */
    uint32_t index;      /* dense, given by the source in order of first assignment, never reused */
};

/* The path of the file that the partition is; "" for a Kafka partition and for standard input. */
struct mr_str mr_partition_file(const struct mr_partition *part);

struct mr_record {
    const struct mr_partition *part; /* whose position this record moves */
    int64_t position;     /* the position after this record: offset + 1, or line number (1-based) */

    struct mr_str topic;  /* the message's own topic ("" if a file's bare event has none) */
    int32_t partition;    /* the message's own partition, -1 unknown */
    int64_t offset;       /* the message's own offset, or the line number; -1 unknown */
    int64_t timestamp_ms; /* -1 unknown */
    struct mr_str key, value;
    bool has_key, has_value; /* false = null (no bytes), not the empty string */
    bool is_bare;         /* a file's bare event: no key was there to be null */
    struct mr_header *headers;
    size_t header_count;
    const struct mr_header *added; /* the engine's: headers that unwrap.add.headers asks for, in the batch's arena */
    size_t added_count;

    const char *broken_code; /* not NULL: the source could not make a record of this line; value = the raw line */
    struct mr_str broken_message;

    void *owner;          /* the source's own handle on the memory */
    const struct mr_opened *opened; /* the decoders' own: key and value that are not JSON, opened; NULL elsewhere */
    int64_t epoch;        /* the engine's: under which claim of its partition it was read */
    struct mr_chunk *chunk; /* the engine's: which one it is from, while it waits for its transaction */
    bool goes_along;      /* the engine's: applied in one transaction with the record before it in its batch */
};

/* The header's value, or NULL. */
const struct mr_header *mr_record_header(const struct mr_record *rec, const char *name_z);

#endif
