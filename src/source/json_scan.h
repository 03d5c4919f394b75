/* A walk over the outermost object of a line of JSON. It finds where each member's value begins and ends and leaves the value's bytes as
 * they stand, so that every digit arrives; whether the inside of a nested value is good JSON is for the decoder to say. No recursion, no
 * allocation, any thread. */
#ifndef MILLRACE_SOURCE_JSON_SCAN_H
#define MILLRACE_SOURCE_JSON_SCAN_H

#include <millrace/base/arena.h>

enum mr_scan_kind {
    MR_SCAN_NULL,
    MR_SCAN_SCALAR, /* a number, true, false (or a word that is none of them) */
    MR_SCAN_STRING, /* text: between the quotes, still escaped */
    MR_SCAN_OBJECT,
    MR_SCAN_ARRAY,
};

struct mr_scan_value {
    enum mr_scan_kind kind;
    struct mr_str text;
    bool is_escaped; /* STRING: holds a backslash */
    bool has_blanks; /* OBJECT, ARRAY: not compact */
};

struct mr_scan {
    const char *pos, *end, *start;
    const char *expected; /* after a failure: what should have stood at pos */
};

struct mr_scan mr_scan_begin(struct mr_str text);
void mr_scan_blanks(struct mr_scan *sc);
/* Consume `c` after blanks; false (and nothing consumed) if something else is there. */
bool mr_scan_char(struct mr_scan *sc, char c);
/* One value after blanks; false on a broken one. */
bool mr_scan_next(struct mr_scan *sc, struct mr_scan_value *out);
/* The next `"name": value` of an object whose brace has been consumed; *more is false at the closing brace, which is consumed too.
 * `is_first`: no comma before it. */
bool mr_scan_member(struct mr_scan *sc, bool is_first, struct mr_str *name,
                    struct mr_scan_value *value, bool *more);

/* The text of a STRING, unescaped into `ar` where it holds escapes. A lone surrogate becomes its three-byte encoding. False on a bad
 * escape. */
bool mr_scan_string(const struct mr_scan_value *value, struct mr_arena *ar, struct mr_str *out);
/* The value as a message holds it: a STRING's text, anything else compact, as it stands. */
bool mr_scan_message(const struct mr_scan_value *value, struct mr_arena *ar, struct mr_str *out);

#endif
