/* Avro: schemas and binary data, by the specification. Our own reader, driven by the writer's schema of each record: what it decodes becomes the
 * document that Connect's JSON converter would have written for the same record, and the schema becomes the Connect schema that goes with it,
 * so that Debezium's events in Avro are read by the same code as those in JSON.
 *
 * The parts: avro_schema.c (schema text to types), avro_read.c (data), avro_connect.c (types to a Connect schema).
 *
 * Bounded: nesting, sizes and work are checked before anything is allocated. Main thread only. */
#ifndef MILLRACE_DECODE_AVRO_H
#define MILLRACE_DECODE_AVRO_H

#include "connect.h"
#include "json_build.h"

enum mr_avro_kind {
    MR_A_NULL,
    MR_A_BOOLEAN,
    MR_A_INT,
    MR_A_LONG,
    MR_A_FLOAT,
    MR_A_DOUBLE,
    MR_A_BYTES,
    MR_A_STRING,
    MR_A_RECORD,
    MR_A_ENUM,
    MR_A_ARRAY,
    MR_A_MAP,
    MR_A_FIXED,
    MR_A_UNION,
};

enum mr_avro_logical {
    MR_AL_NONE,
    MR_AL_DECIMAL,
    MR_AL_BIG_DECIMAL,
    MR_AL_DATE,
    MR_AL_TIME_MS,
    MR_AL_TIME_US,
    MR_AL_INSTANT_MS,
    MR_AL_INSTANT_US,
    MR_AL_INSTANT_NS,
    MR_AL_LOCAL_MS,
    MR_AL_LOCAL_US,
    MR_AL_LOCAL_NS,
    MR_AL_UUID,
    MR_AL_DURATION,
};

/* What a union is as one column. */
enum mr_avro_union {
    MR_AU_SIMPLE,  /* null and one type, or one type: that type */
    MR_AU_INTEGER, /* int and long */
    MR_AU_NUMBER,  /* numbers with a float or double */
    MR_AU_TEXT,    /* other scalars, mixed: as text */
    MR_AU_JSON,    /* records, arrays or maps among them: the bare value */
};

struct mr_avro_type;

struct mr_avro_field {
    struct mr_str name;
    const struct mr_avro_type *type;
    const struct mr_json_doc *doc;
    uint32_t parameters; /* node of connect.parameters on the field itself; MR_JSON_NONE */
};

struct mr_avro_type {
    uint8_t kind;       /* enum mr_avro_kind */
    uint8_t logical;    /* enum mr_avro_logical */
    uint8_t union_kind; /* enum mr_avro_union */
    bool is_nullable;   /* UNION with null */
    bool is_entries;    /* ARRAY of key and value records: a map whose keys are no texts */
    bool is_anything;   /* RECORD of Connect's schemaless data: its one field that is not null is the value */
    bool is_compiling;  /* avro_connect.c: below itself */
    bool is_sized;      /* min_size is known */
    uint32_t min_size;  /* bytes of the shortest datum */
    struct mr_str name; /* full name of records, enums, fixed */
    const struct mr_json_doc *doc;           /* where the properties stand */
    uint32_t node;                           /* the type's object; MR_JSON_NONE for a bare name */
    int32_t precision, scale;                /* DECIMAL; precision 0 = not said */
    const struct mr_avro_field *fields;      /* RECORD */
    const struct mr_avro_type **branches;    /* UNION */
    const struct mr_str *symbols;            /* ENUM */
    uint32_t count;                          /* of fields, branches or symbols */
    uint32_t size;                           /* FIXED */
    const struct mr_avro_type *items;        /* ARRAY; MAP: values; SIMPLE union: the type that is not null */
    const struct mr_connect_schema *connect; /* avro_connect.c: what it has made of it */
};

/* One writer's schema with what it refers to. */
struct mr_avro_schema {
    struct mr_arena *ar;
    struct mr_map *names; /* full name → type */
    const struct mr_avro_type *root;
    size_t type_count;
};

struct mr_avro_schema *mr_avro_schema_create(void);
void mr_avro_schema_destroy(struct mr_avro_schema *schema); /* NULL is fine */
/* Parse a text; the types that it names can be used by the next one. The last one parsed is the root. DATA bad_schema. */
enum mr_status mr_avro_schema_parse(struct mr_avro_schema *schema, struct mr_str text,
                                    struct mr_error *err) MR_MUST_CHECK;
/* The Connect schema of the root; made once, lives as long as the schema. */
const struct mr_connect_schema *mr_avro_connect(struct mr_avro_schema *schema);

struct mr_avro_limits {
    uint32_t max_depth;
    uint64_t max_items; /* of size zero, in one message */
    bool allow_ill_formed;
    bool allow_trailing;
};

/* One datum into the builder, which must be empty. The bytes must be used up. A top-level `bytes` has no length. DATA truncated, corrupt,
 * bad_utf8, trailing_data, limit_exceeded. */
enum mr_status mr_avro_read(const struct mr_avro_schema *schema, struct mr_str bytes,
                            const struct mr_avro_limits *limits, struct mr_json_build *out,
                            struct mr_error *err) MR_MUST_CHECK;

#endif
