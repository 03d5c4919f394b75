/* MySQL's column types from their text, as Canal and its kin send it: as the server prints it (`bigint(20) unsigned`) or as the author of
 * the CREATE TABLE wrote it (`BIGINT unsigned`, `INT8`, `DOUBLE PRECISION`, `BOOL`, `DEC(5,2)`). */
#ifndef MILLRACE_DECODE_MYSQL_TYPE_H
#define MILLRACE_DECODE_MYSQL_TYPE_H

#include <millrace/base/arena.h>
#include <millrace/model/type.h>

enum mr_mysql_kind {
    MR_MY_TEXT,     /* and everything that is not known */
    MR_MY_INTEGER,
    MR_MY_BIT,
    MR_MY_DECIMAL,
    MR_MY_FLOAT,
    MR_MY_DOUBLE,
    MR_MY_DATE,
    MR_MY_TIME,
    MR_MY_DATETIME,
    MR_MY_TIMESTAMP,
    MR_MY_YEAR,
    MR_MY_BINARY,   /* of a fixed length: its trailing zero bytes do not travel */
    MR_MY_BYTES,
    MR_MY_ENUM,
    MR_MY_SET,
    MR_MY_JSON,
    MR_MY_GEOMETRY,
};

struct mr_mysql_type {
    uint8_t kind;        /* enum mr_mysql_kind */
    uint8_t bytes;       /* INTEGER: 1, 2, 3, 4, 8 */
    bool is_unsigned;
    bool is_tinyint1;    /* TINYINT(1), BOOL, BOOLEAN */
    bool lacks_length;   /* VARCHAR, VARBINARY, ENUM, SET without parentheses: the producer leaves out all lengths */
    bool is_by_code;     /* no more than a code is known: it speaks for the value, not for the column */
    uint16_t number_count; /* how many of the two numbers in parentheses there are */
    uint32_t numbers[2];
    const struct mr_str *labels; /* ENUM, SET */
    uint32_t label_count;
};

/* Never fails. Texts and labels are copied to `ar`. */
void mr_mysql_type_parse(struct mr_str text, struct mr_arena *ar, struct mr_mysql_type *out);

/* The column's type. `is_lengthless`: the producer leaves out lengths, so DECIMAL and BIT say nothing of theirs. */
struct mr_type mr_mysql_column_type(const struct mr_mysql_type *type, bool is_lengthless, bool tinyint1_as_bool);

/* Parsed types by their text, kept as long as the holder lives; a text beyond what is kept is parsed into `ar`. */
struct mr_mysql_types;
struct mr_mysql_types *mr_mysql_types_create(void);
void mr_mysql_types_destroy(struct mr_mysql_types *types); /* NULL is fine */
const struct mr_mysql_type *mr_mysql_types_get(struct mr_mysql_types *types, struct mr_str text, struct mr_arena *ar);

/* The type that a code of java.sql.Types stands for, or MySQL's own number of a type (is_dts). */
void mr_mysql_type_of_code(int64_t code, bool is_dts, struct mr_mysql_type *out);

#endif
