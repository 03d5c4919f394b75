/* What the files of the DTS decoder share: dts_read.c (the datum), dts_value.c (values), dts.c (operations).
 *
 * A datum is one record of Alibaba's fixed schema in plain Avro binary: no header, no schema id. The reader knows the schema, takes it in one
 * pass without recursion, and holds every length and count against what is left. */
#ifndef MILLRACE_DECODE_DTS_H
#define MILLRACE_DECODE_DTS_H

#include <millrace/base/zone.h>
#include <millrace/decoder.h>

#include "json.h"

enum mr_dts_source {
    MR_DTS_MYSQL,
    MR_DTS_ORACLE,
    MR_DTS_SQLSERVER,
    MR_DTS_POSTGRESQL,
    MR_DTS_MONGODB,
    MR_DTS_REDIS,
    MR_DTS_DB2,
    MR_DTS_PPAS,
    MR_DTS_DRDS,
    MR_DTS_HBASE,
    MR_DTS_HDFS,
    MR_DTS_FILE,
    MR_DTS_OTHER,
};

enum mr_dts_op {
    MR_DTS_INSERT,
    MR_DTS_UPDATE,
    MR_DTS_DELETE,
    MR_DTS_DDL,
    MR_DTS_BEGIN,
    MR_DTS_COMMIT,
    MR_DTS_ROLLBACK,
    MR_DTS_ABORT,
    MR_DTS_HEARTBEAT,
    MR_DTS_CHECKPOINT,
    MR_DTS_COMMAND,
    MR_DTS_FILL,
    MR_DTS_FINISH,
    MR_DTS_CONTROL,
    MR_DTS_RDB,
    MR_DTS_NOOP,
    MR_DTS_INIT,
};

/* The branches of the union of values, by index. */
enum mr_dts_kind {
    MR_DTS_NULL,
    MR_DTS_INTEGER,
    MR_DTS_CHARACTER,
    MR_DTS_DECIMAL,
    MR_DTS_FLOAT,
    MR_DTS_TIMESTAMP,
    MR_DTS_DATETIME,
    MR_DTS_ZONED,
    MR_DTS_BINARY_GEOMETRY,
    MR_DTS_TEXT_GEOMETRY,
    MR_DTS_BINARY_OBJECT,
    MR_DTS_TEXT_OBJECT,
    MR_DTS_EMPTY,
};

enum mr_dts_member {
    MR_DTS_YEAR,
    MR_DTS_MONTH,
    MR_DTS_DAY,
    MR_DTS_HOUR,
    MR_DTS_MINUTE,
    MR_DTS_SECOND,
    MR_DTS_FRACTION
};
#define MR_DTS_MEMBERS 7

struct mr_dts_value {
    uint8_t kind;  /* enum mr_dts_kind */
    uint8_t flags; /* MR_TEXT_… of text */
    uint8_t set;   /* DATETIME, ZONED: bit per member that is not null */
    bool is_none;  /* EMPTY: the column was not captured */
    int32_t precision, scale;
    struct mr_str text; /* INTEGER, DECIMAL digits; CHARACTER bytes; OBJECT and GEOMETRY content */
    struct mr_str word; /* CHARACTER charset; OBJECT and GEOMETRY type; ZONED zone */
    union {
        double f;        /* FLOAT */
        int64_t seconds; /* TIMESTAMP; its fraction is member[MR_DTS_FRACTION] */
    };
    int32_t member[MR_DTS_MEMBERS];
};

struct mr_dts_field {
    struct mr_str name;
    int32_t type; /* dataTypeNumber */
};

/* One of the three unions null, text, list. */
enum mr_dts_shape { MR_DTS_NOTHING, MR_DTS_TEXT, MR_DTS_LIST };

struct mr_dts_image {
    enum mr_dts_shape shape;
    struct mr_str text;
    struct mr_dts_value *values; /* LIST */
    size_t count;
};

/* Texts point into the datum. */
struct mr_dts_record {
    int64_t id, source_s;
    struct mr_str tx_id;
    enum mr_dts_source source;
    enum mr_dts_op op;
    struct mr_str object;                                /* "" = none */
    struct mr_str pk_uk_info, logical_db, logical_table; /* tags; "" = none */
    enum mr_dts_shape fields_shape;
    struct mr_dts_field *fields;
    size_t field_count;
    struct mr_dts_image before, after;
};

/* DATA truncated, corrupt, bad_utf8, trailing_data, limit_exceeded: it is no such datum. bad_image: images and fields differ in length. */
enum mr_status mr_dts_read(struct mr_str datum, struct mr_arena *ar, struct mr_dts_record *out,
                           struct mr_error *err) MR_MUST_CHECK;

/* Is it one? By reading it to its last byte. */
bool mr_dts_is(struct mr_str datum, struct mr_arena *ar);

struct mr_dts_reader {
    const struct mr_config *cfg;
    struct mr_json_reader *json;
    struct mr_zone *zone; /* the one used last */
    char zone_z[64];
};
void mr_dts_reader_init(struct mr_dts_reader *rd, const struct mr_config *cfg);
void mr_dts_reader_free(struct mr_dts_reader *rd);

/* Type and value of a field; ABSENT for what was not captured. `type` is the field's dataTypeNumber. */
void mr_dts_value(struct mr_dts_reader *rd, enum mr_dts_source source, int32_t type,
                  const struct mr_dts_value *in, struct mr_arena *ar, struct mr_field *out);

#endif
