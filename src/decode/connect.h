/* Messages as Kafka Connect's JSON converter writes them: bare, or wrapped as {"schema", "payload"}. A schema is compiled once into a
 * form that turns payloads into typed fields without looking anything up by text; compiled schemas are kept by their exact bytes, so
 * that a schema part that has been seen is compared, not parsed.
 *
 * The parts: connect.c (payload to fields), connect_value.c and connect_time.c (one value), connect_schema.c (compiling),
 * connect_cache.c (compiled schemas by their bytes), connect_open.c (a message's bytes to its payload).
 *
 * Main thread only; each decoder owns one `struct mr_connect`. */
#ifndef MILLRACE_DECODE_CONNECT_H
#define MILLRACE_DECODE_CONNECT_H

#include <millrace/config/config.h>
#include <millrace/model/change.h>

#include "flatten.h"
#include "json.h"

/* Connect's own types. */
enum mr_connect_kind {
    MR_C_ANY, /* none, or one we do not know: taken as it looks */
    MR_C_INT8,
    MR_C_INT16,
    MR_C_INT32,
    MR_C_INT64,
    MR_C_FLOAT32,
    MR_C_FLOAT64,
    MR_C_BOOLEAN,
    MR_C_STRING,
    MR_C_BYTES,
    MR_C_ARRAY,
    MR_C_MAP,
    MR_C_STRUCT,
};

/* What a value means beyond its Connect type: how connect_value.c reads it. */
enum mr_semantic {
    MR_S_PLAIN, /* nothing beyond the Connect type */
    MR_S_DECIMAL,
    MR_S_DECIMAL_TEXT,     /* a string that the propagated source type calls a decimal */
    MR_S_VARIABLE_DECIMAL,
    MR_S_HEX,              /* bytes as hexadecimal text */
    MR_S_BASE64_URL,       /* bytes as base64 text with the alphabet of URLs */
    MR_S_UNSIGNED64,       /* an int64 that wraps: the propagated source type is BIGINT UNSIGNED */
    MR_S_BITS,
    MR_S_JSON,
    MR_S_ENUM,
    MR_S_UUID,
    MR_S_GEOMETRY,         /* Point, Geometry, Geography: one JSON document with wkb (base64) and srid */
    MR_S_DOCUMENT,         /* arrays, maps, vectors: one JSON field */
    MR_S_ANY_TEXT,         /* scalars of several types: their text */
    MR_S_DATE,             /* days */
    MR_S_TIME_MS,
    MR_S_TIME_US,
    MR_S_TIME_NS,
    MR_S_TIMESTAMP_MS,
    MR_S_TIMESTAMP_US,
    MR_S_TIMESTAMP_NS,
    MR_S_INSTANT_MS,       /* Connect's own Timestamp */
    MR_S_INSTANT_US,
    MR_S_INSTANT_NS,
    MR_S_DAY_TIME_MS,      /* a time of day and nothing else */
    MR_S_DAY_TIME_US,
    MR_S_DURATION_US,
    MR_S_DURATION_NS,
    MR_S_ZONED_TIMESTAMP,
    MR_S_ZONED_TIME,       /* kept in UTC */
    MR_S_ISO_DATE,
    MR_S_ISO_TIME,
    MR_S_ISO_TIMESTAMP,    /* wall clock in spite of its Z */
    MR_S_STRUCT_DATE,
    MR_S_STRUCT_TIME,
    MR_S_STRUCT_DURATION,
    MR_S_STRUCT_TIMESTAMP,
    MR_S_STRUCT_ZONED_TIMESTAMP,
};

struct mr_connect_schema;

struct mr_connect_field {
    struct mr_str name; /* member name in the payload */
    bool is_plain;      /* the name is its own source path: nothing in it has to be escaped */
    const struct mr_connect_schema *schema;
};

struct mr_connect_schema {
    uint8_t kind;         /* enum mr_connect_kind */
    uint8_t semantic;     /* enum mr_semantic */
    struct mr_type type;  /* of the column, origin MR_SCHEMA; kind MR_T_NONE for ANY and for structs that are flattened */
    struct mr_str name;   /* "" = none */
    int32_t scale;        /* DECIMAL; INT32_MIN = the schema does not say */
    uint32_t length;      /* BITS; 0 = the schema does not say */
    const struct mr_str *labels; /* ENUM: unescaped */
    uint32_t label_count;
    bool takes_bool;      /* an integer that a converter may have made true or false of */
    uint8_t written;      /* enum mr_json_kind of values that this is for, if there is an `other` */
    const struct mr_connect_schema *other; /* how values of other JSON kinds are read: a column whose type is known without its schema, so that the
                             connector's options show only in what it writes; NULL = all the same */
    const struct mr_connect_schema *items; /* ARRAY; MAP: its values, where they are known */
    bool is_closed;       /* STRUCT: members that it does not name are no columns */
    bool renders;         /* values in it, written into a document, have another form than in the payload; connect_render.c */
    const struct mr_connect_field *fields; /* STRUCT, in the schema's order */
    uint32_t field_count;
    const struct mr_connect_field *const *sorted; /* the same by name, if there are many; else NULL */
};

/* Field of a struct by name, first tried at `hint`; NULL if there is none or `schema` is NULL or no struct. */
const struct mr_connect_field *mr_connect_field(const struct mr_connect_schema *schema,
                                                struct mr_str name, uint32_t hint);

/* Compile the schema at `node`. Texts borrow from the document where they can, else from `ar`. Never fails: what makes no sense becomes
 * MR_C_ANY. */
const struct mr_connect_schema *mr_connect_compile(const struct mr_json_doc *doc, uint32_t node,
                                                   struct mr_arena *ar);

/* A schema of that kind, name and parameters (an object of `doc`, or MR_JSON_NONE) made by another format's compiler, which fills in fields or
 * items. Texts borrow from the document where they can, else from `ar`. */
struct mr_connect_schema *mr_connect_make(enum mr_connect_kind kind, struct mr_str name, const struct mr_json_doc *doc,
                                          uint32_t parameters, struct mr_arena *ar);
void mr_connect_set_fields(struct mr_connect_schema *schema, struct mr_connect_field *fields, uint32_t count,
                           struct mr_arena *ar);
/* decimal(p,s) where that makes sense, else digits open. */
struct mr_type mr_connect_decimal_type(int64_t precision, int32_t scale);

/* ---- Compiled schemas by their bytes ---- */

struct mr_connect_cache;
struct mr_connect_cache *mr_connect_cache_create(const struct mr_json_limits *limits);
void mr_connect_cache_destroy(struct mr_connect_cache *cache);
/* If `text` (a whole message) begins with {"schema": and a schema that is known, then "payload": return that schema and set *payload to
 * what lies between there and the last brace. `place` is any number that messages of the same kind share (a hash of the topic). */
const struct mr_connect_schema *mr_connect_cache_find(struct mr_connect_cache *cache, uint64_t place,
                                                      struct mr_str text, struct mr_str *payload);
/* The compiled form of a schema part; kept if it is not too large, else compiled into `ar` from `doc`. */
const struct mr_connect_schema *mr_connect_cache_add(struct mr_connect_cache *cache, uint64_t place,
                                                     const struct mr_json_doc *doc, uint32_t node,
                                                     struct mr_arena *ar);

/* ---- Messages ---- */

/* The text that stands for "unknown, keep what is there", in every form it can take. */
struct mr_placeholder {
    struct mr_str text;        /* "" = none */
    struct mr_str base64, base64_url, hex;
    struct mr_str json_text;   /* "…" with its quotes */
    struct mr_str json_array;  /* ["…"] */
    struct mr_str json_base64_array, json_numbers; /* of arrays of bytes and of whole numbers: [95,95,…], its bytes */
    struct mr_str uuid, json_uuid_array;           /* of arrays of UUIDs: named by the text; "" where the text is not the usual one */
};
/* Is the array the placeholder of an array's type: one text, one base64 text, or its bytes as numbers? */
bool mr_placeholder_is_array(const struct mr_placeholder *p, const struct mr_json_doc *doc, uint32_t node);

struct mr_connect {
    const struct mr_config *cfg;
    bool no_wrapper; /* an object with schema and payload is a plain one */
    bool rows_only; /* plain rows: a wrapper must hold a struct's schema, and no envelope is looked for in {"payload": …} */
    struct mr_json_reader *key_reader, *value_reader;
    struct mr_json_reader *inner_reader; /* JSON columns */
    struct mr_connect_cache *cache;
    struct mr_placeholder placeholder;
    struct mr_arena *own; /* holds the placeholder's forms */
};

struct mr_connect *mr_connect_create(const struct mr_config *cfg);
void mr_connect_destroy(struct mr_connect *cn); /* NULL is fine */

enum mr_connect_side { MR_SIDE_KEY, MR_SIDE_VALUE };

struct mr_connect_message {
    bool is_null;     /* no bytes, no bytes but blanks, the text null, or a wrapper whose payload is null */
    bool is_wrapped;
    bool is_text;     /* KEY only: no JSON at all, a string converter's plain text; see `text` */
    struct mr_str text;
    struct mr_str scalar_name; /* KEY: the column of one that is a bare scalar, where the format says; else "" */
    const struct mr_connect_schema *schema; /* NULL = none */
    struct mr_json_doc doc; /* valid until the next open of the same side */
    uint32_t root;          /* the payload's node; MR_JSON_NONE if is_null or is_text */
};

/* Parse a record's key or value and unwrap it. DATA bad_json, too_large, or unsupported where the bytes are of a kind that is
 * recognised (registry framing, compressed, …). */
enum mr_status mr_connect_open(struct mr_connect *cn, enum mr_connect_side side,
                               const struct mr_record *rec, struct mr_arena *ar,
                               struct mr_connect_message *out, struct mr_error *err) MR_MUST_CHECK;

/* ---- Payloads to fields ---- */

/* Under unwrap.array.encoding `array`: does the schema declare an array of one scalar type? And its value: ARRAY, or INVALID or UNAVAILABLE as its
 * elements are. */
bool mr_connect_is_array(const struct mr_connect *cn, const struct mr_connect_schema *schema);
struct mr_value mr_connect_array(struct mr_connect *cn, const struct mr_connect_schema *schema, const struct mr_json_doc *doc,
                                 uint32_t node, struct mr_arena *ar);

/* The members of the object at `node` as fields, under `parent` ("" at the top). With a struct schema by that schema, else as plain
 * JSON. */
void mr_connect_row(struct mr_connect *cn, const struct mr_connect_schema *schema,
                    const struct mr_json_doc *doc, uint32_t node, struct mr_str parent,
                    struct mr_arena *ar, struct mr_field_list *out);
/* One member: as one field, or as several if it is an object to be flattened. schema NULL = plain JSON; doc NULL = null. */
void mr_connect_member(struct mr_connect *cn, const struct mr_connect_schema *schema,
                       const struct mr_json_doc *doc, uint32_t node, struct mr_str path,
                       struct mr_arena *ar, struct mr_field_list *out);
/* One value that is not flattened. */
struct mr_value mr_connect_value(struct mr_connect *cn, const struct mr_connect_schema *schema,
                                 const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar);

/* connect_render.c: the value as JSON for a document: dates and times as ISO texts, decimals as texts, bytes as base64; false (with *invalid) if a
 * value in it cannot be read. */
bool mr_connect_render(struct mr_connect *cn, const struct mr_connect_schema *schema, const struct mr_json_doc *doc,
                       uint32_t node, struct mr_arena *ar, struct mr_buf *out, struct mr_value *invalid);

/* connect_time.c: the temporal semantics. */
struct mr_value mr_connect_time(const struct mr_connect_schema *schema, const struct mr_json_doc *doc,
                                uint32_t node, struct mr_arena *ar);

/* A decimal number's plain digits, at least `scale` of them after the point; INVALID if it is none. */
struct mr_value mr_connect_number(struct mr_str digits, int32_t scale, struct mr_arena *ar);

/* An INVALID value with its reason. */
static inline struct mr_value mr_connect_invalid(enum mr_invalid why, struct mr_str reason)
{
    struct mr_value v = mr_value_bytes(MR_V_INVALID, reason);
    v.aux = (uint16_t)why;
    return v;
}
#define MR_BAD_VALUE(literal) mr_connect_invalid(MR_INVALID_BAD_VALUE, MR_STR(literal))
#define MR_BAD_RANGE(literal) mr_connect_invalid(MR_INVALID_RANGE, MR_STR(literal))

/* A whole number at `node`, also as a fraction of zeros (5.0) or as text; false if it is none or beyond int64. */
bool mr_connect_int64(const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar,
                      int64_t *out);

#endif
