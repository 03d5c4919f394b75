/* Declared columns ("id BIGINT, region STRING") of keys and values, and what a format's content becomes as them. Every value is written into a
 * document that goes with the columns' Connect schema.
 *
 * The parts: columns.c (declarations), column_value.c (one value as its column), column_bytes.c (the formats KAFKA and DELIMITED). */
#ifndef MILLRACE_DECODE_COLUMNS_H
#define MILLRACE_DECODE_COLUMNS_H

#include "connect.h"
#include "json_build.h"
#include "payload_rules.h"

enum mr_sql_kind {
    MR_SQL_BOOLEAN,
    MR_SQL_SMALLINT,
    MR_SQL_INT,
    MR_SQL_BIGINT,
    MR_SQL_REAL,
    MR_SQL_DOUBLE,
    MR_SQL_STRING,
    MR_SQL_BYTES,
    MR_SQL_DECIMAL,
    MR_SQL_DATE,
    MR_SQL_TIME,
    MR_SQL_TIMESTAMP,
    MR_SQL_UUID,
    MR_SQL_DOCUMENT, /* ARRAY, STRUCT: as JSON text */
    MR_SQL_MAP,      /* in it or itself: no key */
};

struct mr_column {
    struct mr_str name;
    enum mr_sql_kind kind;
    int32_t precision, scale; /* DECIMAL */
    struct mr_str type_text;  /* as declared, for messages */
};

struct mr_columns {
    struct mr_column *items;
    size_t count;
    const struct mr_connect_schema *schema; /* of an object with them */
};

/* Everything in `ar`. CONFIG: no such type; one that the encoding cannot carry; too many columns. side_z: "key" or "value". */
enum mr_status mr_columns_parse(struct mr_str text, enum mr_encoding encoding, bool is_key,
                                struct mr_arena *ar, struct mr_columns *out,
                                struct mr_error *err) MR_MUST_CHECK;
/* The Connect schema of one column. */
const struct mr_connect_schema *mr_column_schema(const struct mr_column *col, struct mr_arena *ar);

/* How strict a value is taken. */
enum mr_column_mode {
    MR_COLUMN_TYPED, /* Avro, Protobuf: a text is no number */
    MR_COLUMN_JSON,  /* numbers and times may be texts */
    MR_COLUMN_CSV,   /* everything is a text */
};
/* Write the value as the column. DATA bad_value, out_of_range, with the column as the error's field. */
enum mr_status mr_column_put(const struct mr_column *col, struct mr_value v, enum mr_column_mode mode,
                             struct mr_arena *ar, struct mr_json_build *out,
                             struct mr_error *err) MR_MUST_CHECK;

/* The bytes as the columns, into an object that is open. DATA bad_length, bad_utf8, bad_value, bad_csv, column_count, trailing_data. */
enum mr_status mr_columns_kafka(const struct mr_columns *cols, struct mr_str bytes, struct mr_json_build *out,
                                struct mr_error *err) MR_MUST_CHECK;
/* delimiter: one character, TAB, SPACE; "" = a comma. */
enum mr_status mr_columns_delimited(const struct mr_columns *cols, struct mr_str delimiter,
                                    struct mr_str bytes, struct mr_arena *ar, struct mr_json_build *out,
                                    struct mr_error *err) MR_MUST_CHECK;
/* CONFIG: a delimiter that is none. */
enum mr_status mr_delimiter_check(struct mr_str delimiter, struct mr_error *err) MR_MUST_CHECK;

#endif
