/* Native column types taken apart: what stands in information_schema's COLUMN_TYPE, and what the catalog knows beside it, which
 * describe_table appends: json on MariaDB (a LONGTEXT with a check there), and the mark of a DATETIME that holds instants. Pure text. */
#ifndef MILLRACE_SINK_MYSQL_NATIVE_H
#define MILLRACE_SINK_MYSQL_NATIVE_H

#include <millrace/model/table.h>
#include <millrace/schema/evolve.h>

/* A DATETIME column of ours that holds instants says so in its comment, so that it can be told from a wall clock later. */
#define MR_MY_UTC_COMMENT "UTC"

enum mr_my_base {
    MR_MY_OTHER, /* none of ours */
    MR_MY_TINYINT,
    MR_MY_SMALLINT,
    MR_MY_MEDIUMINT,
    MR_MY_INT,
    MR_MY_BIGINT,
    MR_MY_DECIMAL,
    MR_MY_FLOAT,
    MR_MY_DOUBLE,
    MR_MY_CHAR,
    MR_MY_VARCHAR,
    MR_MY_TEXT, /* all four sizes: capacity */
    MR_MY_ENUM, /* and SET */
    MR_MY_BINARY,
    MR_MY_VARBINARY,
    MR_MY_BLOB, /* all four sizes */
    MR_MY_DATE,
    MR_MY_TIME,
    MR_MY_DATETIME,
    MR_MY_TIMESTAMP,
    MR_MY_YEAR,
    MR_MY_BIT,
    MR_MY_JSON,
    MR_MY_UUID,
};

struct mr_my_native {
    enum mr_my_base base;
    unsigned args[2];
    unsigned arg_count;
    bool is_unsigned;
    bool is_utc;       /* DATETIME with the mark */
    uint64_t capacity; /* texts: characters of CHAR and VARCHAR, else bytes; 0 where it does not matter */
};

struct mr_my_native mr_my_native_parse(struct mr_str native);
bool mr_my_is_text(const struct mr_my_native *nat);   /* takes the text of anything, up to its length */
bool mr_my_is_bytes(const struct mr_my_native *nat);
bool mr_my_is_integer(const struct mr_my_native *nat);

/* How long a key column of a bounded type (VARCHAR, VARBINARY) shall be: characters or bytes; 0 for types of fixed size. What the index has
 * room for is shared out; a column that needs more than its share takes what is left. `now` is the catalog's table, whose lengths never
 * shrink; NULL: none. */
uint32_t mr_my_key_length(const struct mr_table *tbl, uint32_t column, const struct mr_catalog_table *now);
/* Is the kind kept in VARCHAR or VARBINARY when it is part of a key? */
bool mr_my_is_bounded_key(struct mr_type type);

#endif
