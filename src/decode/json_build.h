/* Building a document node by node, without parsing a text: what the binary formats decode to. The result is what the JSON reader would have
 * made of the same compact text, so that everything behind it (Connect values, Debezium's envelopes, flattening) is the same code. */
#ifndef MILLRACE_DECODE_JSON_BUILD_H
#define MILLRACE_DECODE_JSON_BUILD_H

#include "json.h"

#define MR_JSON_BUILD_DEPTH 512

struct mr_json_build {
    struct mr_buf text; /* with its maximum */
    struct mr_json_node *nodes;
    size_t count, cap;
    uint32_t open[MR_JSON_BUILD_DEPTH]; /* the containers that are not closed yet */
    uint32_t depth;
    bool is_too_deep; /* more containers than that: the document is worthless */
};

void mr_json_build_init(struct mr_json_build *b, uint64_t max_bytes);
void mr_json_build_free(struct mr_json_build *b);
void mr_json_build_reset(struct mr_json_build *b); /* begin a document; keeps the memory */

void mr_json_build_open(struct mr_json_build *b, enum mr_json_kind kind); /* ARRAY or OBJECT */
void mr_json_build_close(struct mr_json_build *b);
/* The name of the member that comes next; only inside an object. */
void mr_json_build_name(struct mr_json_build *b, struct mr_str name);

void mr_json_build_null(struct mr_json_build *b);
void mr_json_build_bool(struct mr_json_build *b, bool v);
void mr_json_build_int(struct mr_json_build *b, int64_t v);
void mr_json_build_uint(struct mr_json_build *b, uint64_t v);
/* Finite: a number; else a text, as JSON has no such number. */
void mr_json_build_double(struct mr_json_build *b, double v);
void mr_json_build_float(struct mr_json_build *b, float v);
/* Digits in JSON's grammar. */
void mr_json_build_number(struct mr_json_build *b, struct mr_str digits);
/* text_flags: MR_TEXT_… bits, as mr_utf8_check gives them. */
void mr_json_build_string(struct mr_json_build *b, struct mr_str s, unsigned text_flags);
void mr_json_build_base64(struct mr_json_build *b, struct mr_str bytes);

/* A value of another document, with everything in it. */
void mr_json_build_copy(struct mr_json_build *b, const struct mr_json_doc *doc, uint32_t node);

/* The document: its text in `ar`, its nodes in the builder until the next reset. DATA too_large or limit_exceeded. */
enum mr_status mr_json_build_finish(struct mr_json_build *b, struct mr_arena *ar, struct mr_json_doc *out,
                                    struct mr_error *err) MR_MUST_CHECK;

#endif
