/* MongoDB Extended JSON to values: v1 strict, v2 relaxed and v2 canonical, mixed as they come. Which notation was meant is seen at each
 * value, since Debezium mixes them in one event. A wrapper ({"$oid": …}) is one only with its keyword first and exactly its own members;
 * anything else is an ordinary document.
 *
 * Every value is MR_TYPED: int32 and int64 → int64, double → float64, Decimal128 → decimal with digits open, Date and Timestamp →
 * timestamptz, Binary → bytes, ObjectId, String, Symbol, JavaScript → text, the rest → json. Undefined is left out everywhere. A
 * DBPointer is the document {"$ref", "$id"}, as v1 writes it. A wrapper whose content cannot be is MR_V_INVALID.
 *
 * Where unwrap.field.name.adjustment.mode says so, names inside JSON values are adjusted; one whose adjusted form another member of the same
 * document has, too, stays as it is.
 *
 * Inside JSON values are rendered as Kafka Connect does: dates epoch milliseconds, binaries base64, decimals and ObjectIds text, NaN and
 * the infinities quoted. Main thread only. */
#ifndef MILLRACE_DECODE_EXTJSON_H
#define MILLRACE_DECODE_EXTJSON_H

#include <millrace/base/buf.h>
#include <millrace/config/config.h>

#include "arrays.h"
#include "flatten.h"
#include "json.h"

struct mr_extjson {
    const struct mr_config *cfg;
    struct mr_buf scratch; /* for rendering; kept between calls */
    struct mr_buf name;    /* a name being adjusted */
};

void mr_extjson_init(struct mr_extjson *ej, const struct mr_config *cfg);
void mr_extjson_free(struct mr_extjson *ej);

/* The members of a document as fields; documents in it are flattened if flatten_struct (an empty one then leaves no field), else one JSON
 * field each. Regular expressions are documents with the members regex and options. `object` must be an OBJECT node. */
void mr_extjson_fields(struct mr_extjson *ej, const struct mr_json_doc *doc, uint32_t object,
                       struct mr_str parent, struct mr_arena *ar, struct mr_field_list *out);
/* One value at a path: no field (undefined, an empty document when flattened), one, or many. */
void mr_extjson_field(struct mr_extjson *ej, const struct mr_json_doc *doc, uint32_t node,
                      struct mr_str path, struct mr_arena *ar, struct mr_field_list *out);
/* Make elements of the arrays that the list has put aside. */
void mr_extjson_drain(struct mr_extjson *ej, struct mr_field_list *list);
/* One element: its members, or its value under MR_ELEMENT_VALUE. A mr_arrays_element_fn whose ctx is the struct mr_extjson. */
void mr_extjson_element(void *ctx, const struct mr_json_doc *doc, uint32_t node, const void *schema, struct mr_arena *ar,
                        struct mr_field_list *list);
/* One value that is not to be flattened, and its type (kind NONE for null). False: undefined, *out is NULL then. */
bool mr_extjson_value(struct mr_extjson *ej, const struct mr_json_doc *doc, uint32_t node,
                      struct mr_arena *ar, struct mr_value *out, struct mr_type *type);

/* ---- The parts, for extjson.c and extjson_render.c ---- */

enum mr_bson {
    MR_BSON_NULL,
    MR_BSON_BOOL,       /* number */
    MR_BSON_INT,        /* number */
    MR_BSON_BIG_INT,    /* node: a whole number beyond int64; BSON has none */
    MR_BSON_DOUBLE,     /* text: digits, or NaN, Infinity, -Infinity */
    MR_BSON_DECIMAL,    /* text: the same */
    MR_BSON_DATE,       /* number: ms since 1970 */
    MR_BSON_TIMESTAMP,  /* number: ms since 1970 */
    MR_BSON_BINARY,     /* text: the bytes */
    MR_BSON_OID,        /* text: 24 lower-case digits */
    MR_BSON_STRING,     /* node: STRING; also symbol and code */
    MR_BSON_REGEX,      /* node: pattern, second: options */
    MR_BSON_CODE_SCOPE, /* node: code, second: scope */
    MR_BSON_MIN_KEY,
    MR_BSON_MAX_KEY,
    MR_BSON_UNDEFINED,
    MR_BSON_DOCUMENT,   /* node: OBJECT */
    MR_BSON_ARRAY,      /* node: ARRAY */
    MR_BSON_BAD,        /* node: OBJECT; text: what is wrong, type: what it should have been, number: enum mr_invalid */
};

struct mr_bson_value {
    enum mr_bson kind;
    uint32_t node, second;
    int64_t number;
    struct mr_str text; /* borrowed from the document, the arena or static */
    uint8_t type;       /* BAD: enum mr_type_kind */
};

/* An empty array, which the transform makes a null when it adjusts names. */
bool mr_extjson_is_nothing(const struct mr_extjson *ej, const struct mr_json_doc *doc, const struct mr_bson_value *value);
/* Under unwrap.array.encoding `array`, an array as its column gets it, and the type; as JSON where it is one of containers. */
struct mr_value mr_extjson_array(struct mr_extjson *ej, const struct mr_json_doc *doc, const struct mr_bson_value *array,
                                 struct mr_arena *ar, struct mr_type *type);
/* One scalar as a value; *type of kind NONE for null. */
struct mr_value mr_extjson_scalar(struct mr_extjson *ej, const struct mr_json_doc *doc, const struct mr_bson_value *read,
                                  struct mr_arena *ar, struct mr_type *type);
struct mr_bson_value mr_extjson_read(const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar);
/* The value as one JSON text in `ar`, rendered as Connect does. *flags gets MR_TEXT_… bits of all strings inside. */
struct mr_str mr_extjson_render(struct mr_extjson *ej, const struct mr_json_doc *doc,
                                const struct mr_bson_value *value, struct mr_arena *ar, unsigned *flags);

#endif
