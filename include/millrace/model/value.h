/* One value of one field. 16 bytes, passed by value; long payloads are borrowed from the record or an
 * arena. Absent, unavailable and null are three states and stay three states. */
#ifndef MILLRACE_MODEL_VALUE_H
#define MILLRACE_MODEL_VALUE_H

#include <millrace/base/arena.h>
#include <millrace/base/error.h>
#include <millrace/model/type.h>

enum mr_tag {
    MR_V_ABSENT = 0,  /* the event says nothing of this field */
    MR_V_UNAVAILABLE, /* the event says that it does not know the value: keep what is there */
    MR_V_NULL,
    MR_V_BOOL,        /* i: 0, 1 */
    MR_V_INT,         /* i */
    MR_V_NUMBER,      /* ptr: digits as they stood (JSON grammar), or NaN, Infinity, -Infinity for decimals */
    MR_V_FLOAT,       /* f */
    MR_V_TEXT,        /* ptr; flags: MR_TEXT_… bits of base/utf8.h */
    MR_V_BYTES,       /* ptr */
    MR_V_DATE,        /* i: days since 1970-01-01, or MR_TIME_(NEG_)INFINITY, as in the next four */
    MR_V_TIME,        /* i: µs of the day, 0…86,400,000,000 */
    MR_V_DURATION,    /* i: µs, signed */
    MR_V_TIMESTAMP,   /* i: µs since 1970-01-01 00:00:00 on the wall clock */
    MR_V_TIMESTAMPTZ, /* i: µs since 1970-01-01T00:00:00Z */
    MR_V_UUID,        /* ptr: 16 bytes */
    MR_V_BITS,        /* ptr: len digits '0' and '1', most significant first */
    MR_V_JSON,        /* ptr: one well-formed JSON text; flags as TEXT, of the strings inside after unescaping */
    MR_V_INVALID,     /* a value that cannot be represented: ptr = reason, aux = enum mr_invalid. A misfit for its policy */
    MR_V_ARRAY,       /* ptr: struct mr_array, len: bytes of its JSON; flags as JSON */
    MR_V_PATCH,       /* ptr: struct mr_patch (model/patch.h): what to do to the value that is there. In cells of the engine alone, never in a sink's */
};

/* Why a value is MR_V_INVALID. */
enum mr_invalid {
    MR_INVALID_BAD_VALUE, /* contradicts its declared type: code bad_value */
    MR_INVALID_RANGE,     /* beyond what the model holds (a date beyond int64 µs): code out_of_range */
};

struct mr_value {
    uint8_t tag;   /* enum mr_tag */
    uint8_t flags; /* see the tags */
    uint16_t aux;  /* see the tags */
    uint32_t len;  /* bytes at ptr */
    union {
        int64_t i;
        double f;
        const char *ptr;
    };
};

/* An array as it arrived. Its JSON is what columns that are no arrays get. */
struct mr_array {
    const struct mr_value *items; /* scalars and NULL; none where is_mixed */
    uint32_t count;
    struct mr_str json;           /* the source's own rendering: one well-formed JSON text */
    struct mr_type type;          /* ARRAY of what the elements have in common; NONE where is_mixed */
    bool is_mixed;                /* the elements have nothing in common: a misfit for the field's policy */
};

/* Text of more than 4 GiB − 1 is refused by the readers before it becomes a value. */

static inline struct mr_str mr_value_str(struct mr_value v)
{
    return (struct mr_str){v.ptr, v.len};
}

static inline struct mr_value mr_value_null(void)
{
    return (struct mr_value){.tag = MR_V_NULL};
}
static inline struct mr_value mr_value_int(int64_t i)
{
    return (struct mr_value){.tag = MR_V_INT, .i = i};
}
static inline struct mr_value mr_value_bool(bool b)
{
    return (struct mr_value){.tag = MR_V_BOOL, .i = b};
}
static inline struct mr_value mr_value_float(double f)
{
    return (struct mr_value){.tag = MR_V_FLOAT, .f = f};
}
static inline const struct mr_array *mr_value_array(struct mr_value v)
{
    return (const struct mr_array *)(const void *)v.ptr;
}
/* `array` lives in the record's arena and stays. flags: MR_TEXT_… bits of all strings inside. */
static inline struct mr_value mr_value_of_array(const struct mr_array *array, unsigned flags)
{
    return (struct mr_value){.tag = MR_V_ARRAY, .flags = (uint8_t)flags, .len = (uint32_t)array->json.len, .ptr = (const char *)array};
}
static inline struct mr_value mr_value_json_of_array(struct mr_value v)
{
    struct mr_str json = mr_value_array(v)->json;
    return (struct mr_value){.tag = MR_V_JSON, .flags = v.flags, .len = (uint32_t)json.len, .ptr = json.ptr};
}
/* Tags with an integer payload: DATE, TIME, DURATION, TIMESTAMP, TIMESTAMPTZ. */
static inline struct mr_value mr_value_time(enum mr_tag tag, int64_t i)
{
    return (struct mr_value){.tag = (uint8_t)tag, .i = i};
}
/* Tags with a borrowed payload: NUMBER, TEXT, BYTES, UUID, BITS, JSON. For TEXT the caller sets flags. */
static inline struct mr_value mr_value_bytes(enum mr_tag tag, struct mr_str s)
{
    return (struct mr_value){.tag = (uint8_t)tag, .len = (uint32_t)s.len, .ptr = s.ptr};
}
static inline struct mr_value mr_value_text(struct mr_str s)
{
    return mr_value_bytes(MR_V_TEXT, s);
}

/* The type that the value alone shows: INT → int64, NUMBER whole → decimal(n,0), NUMBER with fraction or
 * exponent → decimal open, FLOAT → float64, TEXT → text, …, ARRAY → of what its elements have in common (mixed: json) NULL, ABSENT, UNAVAILABLE, INVALID → none. */
struct mr_type mr_value_type(struct mr_value v);

/* The one tag in which columns of a kind hold their values: BOOL→BOOL, INT*→INT, DECIMAL→NUMBER (plain
 * digits), FLOAT*→FLOAT, TEXT→TEXT, and so on by name. */
enum mr_tag mr_type_tag(enum mr_type_kind kind);

/* An array of these elements, which stay with the caller's arena as `json` does: of what they have in common by the kinds of the values alone (any
 * integers int64, other numbers too: decimal; TIME and DURATION: duration; nulls fit everything), or mixed. Containers never have. */
struct mr_value mr_array_of(const struct mr_value *items, uint32_t count, struct mr_str json, unsigned flags,
                            enum mr_type_origin origin, struct mr_arena *ar);
struct mr_value mr_array_mixed(struct mr_str json, unsigned flags, struct mr_arena *ar);
/* A JSON value as an array whose elements `type` (an ARRAY) may take: numbers for floats become floats, all else is as JSON shows it. False if it is
 * no array of scalars that have a type in common. */
bool mr_array_of_json(struct mr_value v, struct mr_type type, struct mr_arena *ar, struct mr_value *out);

/* Bring a value to its column type's tag, without loss:
 * whole NUMBER and FLOAT → INT; INT and FLOAT → NUMBER plain digits (also zero-padded to nothing: digits stay);
 * INT and NUMBER → FLOAT; TIME ↔ DURATION; anything → TEXT (canonical text below); anything → JSON (a scalar
 * becomes its JSON form); an ARRAY's elements as if each stood alone; NULL, ABSENT, UNAVAILABLE pass. Everything else is DATA "type_conflict"; a number that does not
 * fit its kind's range or digits is DATA "out_of_range". The result borrows from `v` or from `ar`. */
enum mr_status mr_value_coerce(struct mr_value v, struct mr_type type, struct mr_arena *ar,
                               struct mr_value *out, struct mr_error *err) MR_MUST_CHECK;

/* Read a TEXT as the type that the configuration declares for its column: numbers, true/false, ISO dates and times,
 * UUIDs, base64, bit digits. False if it is none, or if the type cannot be read from a text (json: needs a reader).
 * *out has the type's tag and may borrow from the text; whether it fits is mr_value_coerce's matter. */
bool mr_value_read_text(struct mr_value text, struct mr_type type, struct mr_arena *ar, struct mr_value *out);

/* Canonical text of a value, as a text column of ours holds it: digits as they stood, true/false, dates and times
 * ISO (instants in UTC with Z), bytes base64, bits as digits, uuid lower case, JSON as it stands. NULL appends
 * nothing. */
void mr_value_append_text(struct mr_value v, struct mr_buf *out);
/* Canonical JSON of a value: numbers as numbers, texts quoted, times as ISO texts, bytes base64, NaN quoted. */
void mr_value_append_json(struct mr_value v, struct mr_buf *out);

/* Append a form that is equal exactly if the values are equal as keys of a column of that type: coerced to
 * the type's tag, numbers canonical, instants by number. Self-delimiting, so forms of several columns can follow
 * one another. */
void mr_value_append_key(struct mr_value v, struct mr_type type, struct mr_buf *out);

#endif
