/* Rows of the benchmark: what a row holds is a function of its key and a version, so that nothing has to be remembered and two runs
 * write the same bytes. A row can be written as the JSON of an event and as the tuple of a binary COPY. */
#ifndef BENCH_ROWS_H
#define BENCH_ROWS_H

#include <millrace/base/buf.h>

enum bench_kind {
    KIND_INT,     /* whole number */
    KIND_TEXT,
    KIND_DECIMAL, /* two fraction digits */
    KIND_INSTANT,
    KIND_BOOL,
    KIND_JSON,
    KIND_OID,     /* MongoDB's ObjectId, the key */
};

struct bench_column {
    char name[40];
    const char *path_z;    /* member path in a document, MongoDB only */
    enum bench_kind kind;
    bool is_long;          /* INT: eight bytes where a schema tells */
    unsigned null_percent; /* how many rows have no value */
    unsigned min_len, max_len; /* TEXT */
};

enum bench_shape { SHAPE_NARROW, SHAPE_NARROW_SCHEMA, SHAPE_WIDE, SHAPE_MONGO };

struct bench_rows {
    enum bench_shape shape;
    bool declared; /* a schema goes with every event: types are declared */
    struct bench_column columns[100];
    size_t column_count;
    struct mr_buf schema; /* the schema part of every value; empty where there is none */
};

/* False if there is no shape of that name. */
bool bench_rows_init(struct bench_rows *rows, const char *shape_z);
void bench_rows_free(struct bench_rows *rows);

/* {"column": value, …}; MongoDB: the document as Extended JSON. */
void bench_row_json(const struct bench_rows *rows, uint64_t key, uint64_t version, struct mr_buf *out);
/* The row as a tuple of a binary COPY. */
void bench_row_tuple(const struct bench_rows *rows, uint64_t key, uint64_t version, struct mr_buf *out);
/* The key's value: in an event's key, and as PostgreSQL's binary value. */
void bench_key_json(const struct bench_rows *rows, uint64_t key, struct mr_buf *out);
void bench_key_binary(const struct bench_rows *rows, uint64_t key, struct mr_buf *out);
/* The type's OID of the key column. */
uint32_t bench_key_type(const struct bench_rows *rows);

/* A number that depends on nothing but its arguments. */
uint64_t bench_mix(uint64_t a, uint64_t b);

#endif
