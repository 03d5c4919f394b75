/* The PostgreSQL types that Millrace reads and writes: their names in the catalog, their OIDs, and how a column's values
 * go over the wire. Pure data and text; no connection. */
#ifndef MILLRACE_SINK_POSTGRES_WIRE_H
#define MILLRACE_SINK_POSTGRES_WIRE_H

#include <millrace/model/table.h>

/* One binary representation each. Several catalog types may share one (text and varchar). */
enum mr_pg_wire {
    MR_PG_BOOL,
    MR_PG_INT2,
    MR_PG_INT4,
    MR_PG_INT8,
    MR_PG_NUMERIC,
    MR_PG_FLOAT4,
    MR_PG_FLOAT8,
    MR_PG_TEXT,
    MR_PG_BYTEA,
    MR_PG_DATE,
    MR_PG_TIME,
    MR_PG_INTERVAL,
    MR_PG_TIMESTAMP,
    MR_PG_TIMESTAMPTZ,
    MR_PG_UUID,
    MR_PG_BIT,
    MR_PG_VARBIT,
    MR_PG_JSON,
    MR_PG_JSONB,
};
#define MR_PG_WIRES (MR_PG_JSONB + 1)
/* An array is the wire of its elements (not json, not jsonb) and this bit. */
#define MR_PG_ARRAY 32u

static inline bool mr_pg_is_array(enum mr_pg_wire wire)
{
    return ((unsigned)wire & MR_PG_ARRAY) != 0;
}
static inline enum mr_pg_wire mr_pg_array_of(enum mr_pg_wire element)
{
    return (enum mr_pg_wire)((unsigned)element | MR_PG_ARRAY);
}
static inline enum mr_pg_wire mr_pg_element_of(enum mr_pg_wire array)
{
    return (enum mr_pg_wire)((unsigned)array & ~MR_PG_ARRAY);
}

struct mr_pg_wire_info {
    uint32_t oid;       /* of the type that parameters of this wire are declared as */
    uint32_t array_oid; /* of its array; 0 for an array */
    enum mr_type_kind kind;
};
const struct mr_pg_wire_info *mr_pg_wire_info(enum mr_pg_wire wire);

/* A type's text taken apart: "numeric(18,2)" is numeric, args 18 and 2. */
struct mr_pg_native {
    bool known;             /* one of the types below; all else is false */
    enum mr_pg_wire wire;
    bool is_bounded_text;   /* varchar or char */
    bool is_alias;          /* varchar or char, with or without a length: an array of it is none of text */
    bool is_padded;         /* char(n): blanks at the end do not survive */
    unsigned arg_count;
    int args[2];
};
struct mr_pg_native mr_pg_native_parse(struct mr_str text);

/* The wire of columns that Millrace makes for a type (kind not NONE). */
enum mr_pg_wire mr_pg_wire_of_type(struct mr_type type);

#endif
