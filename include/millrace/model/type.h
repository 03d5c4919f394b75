/* The types of columns, the same for every source and every target. What a target can hold is its
 * dialect's matter; which type two values have in common is schema/lattice's. */
#ifndef MILLRACE_MODEL_TYPE_H
#define MILLRACE_MODEL_TYPE_H

#include <millrace/base/buf.h>
#include <millrace/base/error.h>
#include <millrace/base/str.h>

enum mr_type_kind {
    MR_T_NONE = 0, /* nothing known yet: only nulls seen */
    MR_T_BOOL,
    MR_T_INT16,
    MR_T_INT32,
    MR_T_INT64,
    MR_T_DECIMAL, /* precision and scale, or digits open */
    MR_T_FLOAT32,
    MR_T_FLOAT64,
    MR_T_TEXT,
    MR_T_BYTES,
    MR_T_DATE,
    MR_T_TIME,        /* time of day, 0…24 h */
    MR_T_DURATION,    /* signed, any length */
    MR_T_TIMESTAMP,   /* wall clock, no zone */
    MR_T_TIMESTAMPTZ, /* instant */
    MR_T_UUID,
    MR_T_BITS,
    MR_T_JSON,
    MR_T_ARRAY, /* of scalars: `element` says of which */
};
#define MR_TYPE_KINDS (MR_T_ARRAY + 1)

/* Who says so. Only MR_SCHEMA speaks for the column; the others speak for one value. */
enum mr_type_origin {
    MR_OBSERVED = 0, /* JSON alone */
    MR_TYPED,        /* the value carries its type (BSON), the field does not */
    MR_SCHEMA,       /* a schema declares the field (Connect, Avro, configuration) */
};

struct mr_type {
    uint8_t kind;   /* enum mr_type_kind */
    uint8_t origin; /* enum mr_type_origin; not compared by mr_type_eq */
    uint8_t
        element; /* ARRAY: kind of its elements, NONE = none seen but nulls; else 0. open, precision and scale are theirs */
    bool open;          /* DECIMAL: digits open; precision and scale are then 0 */
    bool not_null;      /* declared NOT NULL: information only */
    uint16_t precision; /* DECIMAL: all digits; BITS: length, 0 = varying */
    int16_t scale;      /* DECIMAL: digits after the point */
};

#define MR_TYPE(k) ((struct mr_type){.kind = (k)})
#define MR_TYPE_DECIMAL(p, s) ((struct mr_type){.kind = MR_T_DECIMAL, .precision = (p), .scale = (s)})
#define MR_TYPE_DECIMAL_OPEN ((struct mr_type){.kind = MR_T_DECIMAL, .open = true})
#define MR_TYPE_BITS(n) ((struct mr_type){.kind = MR_T_BITS, .precision = (n)})

/* The type of an array of such elements (no JSON, no arrays), and of the elements of such an array. The origin stays. */
struct mr_type mr_type_array_of(struct mr_type element);
struct mr_type mr_type_element(struct mr_type array);
/* Same kind and same digits; origin and not_null do not count. */
bool mr_type_eq(struct mr_type a, struct mr_type b);
/* "int64", "decimal(18,2)", "decimal", "bits(5)", "timestamptz", "int64[]", … as in the configuration and reports. */
void mr_type_format(struct mr_type type, struct mr_buf *out);
const char *mr_type_text(struct mr_type type, char out[32]); /* the same into a small buffer; returns out */
/* Reads what mr_type_format writes, plus the usual aliases (int, integer, bigint, smallint, numeric(p,s), double,
 * real, varchar, string, bytea, boolean, jsonb, datetime …). False if unknown. */
bool mr_type_parse(struct mr_str text, struct mr_type *out);
bool mr_type_is_numeric(struct mr_type type);
bool mr_type_is_integer(struct mr_type type);

#endif
