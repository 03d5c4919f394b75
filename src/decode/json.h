/* The JSON event reader: one pass over the text, no recursion, no copy. It makes a flat tape of nodes that point into the text; numbers
 * keep their digits, strings are unescaped only when somebody wants them. It is strict RFC 8259 but for what Debezium writes on
 * purpose: the bare words NaN, Infinity and -Infinity (Extended JSON v1), where the caller allows them.
 *
 * Checked: grammar of numbers and strings, UTF-8, depth, size. Reported, not refused: U+0000 and lone surrogates in strings (flags).
 * A member that occurs twice: the last one wins (mr_json_member finds the last; iteration shows both, use mr_json_is_shadowed).
 *
 * Main thread only. The reader keeps its tape between documents, so a parse allocates nothing once warm. Several documents can be
 * alive at once if their tapes are taken from an arena (mr_json_parse_arena). */
#ifndef MILLRACE_DECODE_JSON_H
#define MILLRACE_DECODE_JSON_H

#include <millrace/base/arena.h>
#include <millrace/base/buf.h>
#include <millrace/base/error.h>

enum mr_json_kind {
    MR_J_NULL,
    MR_J_FALSE,
    MR_J_TRUE,
    MR_J_NUMBER, /* text = digits as they stand */
    MR_J_WORD,   /* NaN, Infinity, -Infinity */
    MR_J_STRING, /* text = between the quotes, still escaped */
    MR_J_ARRAY,
    MR_J_OBJECT, /* children alternate: STRING name, value */
};

enum {
    MR_JSON_ESCAPED = 1,    /* STRING holds a backslash */
    MR_JSON_FRACTION = 2,   /* NUMBER has a point or an exponent */
    MR_JSON_NUL = 4,        /* STRING unescapes to something with U+0000 */
    MR_JSON_SURROGATE = 8,  /* STRING unescapes to something with a lone surrogate */
    MR_JSON_ILL_FORMED = 16, /* STRING holds bytes that are no UTF-8 (only with allow_ill_formed) */
};

struct mr_json_node {
    uint8_t kind;
    uint8_t flags;
    uint16_t reserved;
    uint32_t count;  /* ARRAY elements, OBJECT members */
    uint32_t next;   /* index of the first node after this one and everything in it */
    uint32_t offset; /* into text; STRING: after the quote; ARRAY, OBJECT: at the bracket */
    uint32_t len;    /* bytes; STRING: without quotes; ARRAY, OBJECT: with both brackets */
};

struct mr_json_doc {
    struct mr_str text;
    const struct mr_json_node *nodes; /* nodes[0] is the root */
    uint32_t node_count;
};

struct mr_json_limits {
    uint32_t max_depth;
    uint64_t max_bytes;
    bool allow_words;      /* NaN, Infinity, -Infinity */
    bool allow_ill_formed; /* bytes that are no UTF-8: flag instead of error (text.invalid strip or replace) */
};

struct mr_json_reader;
struct mr_json_reader *mr_json_reader_create(const struct mr_json_limits *limits);
void mr_json_reader_destroy(struct mr_json_reader *reader);

/* *out borrows text and the reader's tape: valid until the next parse with this reader. DATA bad_json with the byte position and what was
 * expected; DATA too_large beyond max_bytes. Leading BOM and white space are allowed, anything after the value is not. */
enum mr_status mr_json_parse(struct mr_json_reader *reader, struct mr_str text, struct mr_json_doc *out,
                             struct mr_error *err) MR_MUST_CHECK;
/* The same with the tape in `ar`: valid as long as the arena and the text. */
enum mr_status mr_json_parse_arena(struct mr_json_reader *reader, struct mr_str text,
                                   struct mr_arena *ar, struct mr_json_doc *out, struct mr_error *err)
    MR_MUST_CHECK;

/* Node indexes are uint32_t; MR_JSON_NONE = there is none. Passing NONE to the readers below gives NONE, NULL or false. */
#define MR_JSON_NONE UINT32_MAX

/* Value of an object's member by its (unescaped) name, the last one if repeated; NONE if `object` is none or no object. */
uint32_t mr_json_member(const struct mr_json_doc *doc, uint32_t object, struct mr_str name);
#define MR_JSON_MEMBER(doc, object, literal) mr_json_member((doc), (object), MR_STR(literal))
/* Is the member whose name node is `name` repeated later in the same object? */
bool mr_json_is_shadowed(const struct mr_json_doc *doc, uint32_t object, uint32_t name);
/* Iterate: for (n = mr_json_first(doc, parent); n != NONE; n = mr_json_next_in(doc, parent, n)). In an object n runs over name nodes; the
 * value of name node n is n + 1 and mr_json_next_in steps over it. */
uint32_t mr_json_first(const struct mr_json_doc *doc, uint32_t parent);
uint32_t mr_json_next_in(const struct mr_json_doc *doc, uint32_t parent, uint32_t node);

static inline enum mr_json_kind mr_json_kind(const struct mr_json_doc *doc, uint32_t node)
{
    return (enum mr_json_kind)doc->nodes[node].kind;
}
bool mr_json_is(const struct mr_json_doc *doc, uint32_t node, enum mr_json_kind kind); /* false for NONE */

/* Bytes of the node as they stand (STRING: without quotes, still escaped). */
struct mr_str mr_json_raw(const struct mr_json_doc *doc, uint32_t node);
/* A STRING's text, unescaped (copied to `ar` only if it holds escapes). *flags (may be NULL) gets MR_TEXT_… bits. */
struct mr_str mr_json_string(const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar,
                             unsigned *flags);
/* Is the node a STRING equal to text? */
bool mr_json_string_is(const struct mr_json_doc *doc, uint32_t node, struct mr_str text);
/* A whole NUMBER in range. */
bool mr_json_int64(const struct mr_json_doc *doc, uint32_t node, int64_t *out);
/* Append the node's compact text: no blanks between tokens, order and digits as they stand. WORDs become quoted strings. */
void mr_json_append(const struct mr_json_doc *doc, uint32_t node, struct mr_buf *out);
/* The node as one JSON text: borrowed from the document where it is compact already or `ar` otherwise. Shadowed members are left out.
 * *flags gets MR_TEXT_… bits of all strings inside. */
struct mr_str mr_json_text(const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar,
                           unsigned *flags);

#endif
