/* What the files of the JSON reader share with one another and with nobody else: the state of a parse, escapes, the order of member
 * names, and the marks that tell which member of a large object is repeated later. */
#ifndef MILLRACE_DECODE_JSON_PARTS_H
#define MILLRACE_DECODE_JSON_PARTS_H

#include "json.h"

/* Objects with more members than this are looked through for repeated names once, when they are parsed; in smaller ones looking when asked
 * is cheaper. Both bound the work: a hostile object with 100,000 names must not cost 100,000 squared. */
#define MR_JSON_LARGE_OBJECT 48

/* On the name node of a large object: the name occurs again later in it. */
#define MR_JSON_SHADOWED 64

/* The reader on its way through a text. */
struct mr_json_scan {
    struct mr_json_reader *reader;
    const unsigned char *begin, *p, *end;
    uint32_t count;       /* nodes on the tape */
    uint32_t open;        /* innermost open container, NONE at the top */
    uint32_t depth;       /* open containers */
    bool allow_words, allow_ill_formed;
    const char *expected; /* what the grammar wanted at p when it failed */
    bool is_too_large;    /* or it failed for the size of the tape */
};

/* p is behind the opening quotation mark; leaves it behind the closing one, and fills the node but for next. */
bool mr_json_scan_string(struct mr_json_scan *s, struct mr_json_node *node);

/* Decode the escape at *p (a backslash) of a checked string: up to four bytes to out, *p behind it. A high surrogate takes the low one
 * that follows along; a lone one becomes its three-byte encoding. */
size_t mr_json_unescape(const char **p, const char *end, char out[4]);

/* Order of two STRING nodes of one text by their unescaped bytes. */
int mr_json_compare_strings(const char *text, const struct mr_json_node *a,
                            const struct mr_json_node *b);

/* Mark the repeated names of a large object. `room` has room for as many indexes as mr_json_order_room says. */
void mr_json_mark_shadowed(const char *text, struct mr_json_node *nodes, uint32_t object, uint32_t *room);
size_t mr_json_order_room(uint32_t member_count);

#endif
