/* JSON as text, for the parts of the model that have to look into it: values come as well-formed texts, and targets give them back. */
#ifndef MILLRACE_MODEL_JSON_TEXT_H
#define MILLRACE_MODEL_JSON_TEXT_H

#include <millrace/base/arena.h>

/* One well-formed value, with blanks around it or without? Without recursion. */
bool mr_json_text_is_valid(struct mr_str text);

/* The next are for texts that are well-formed. */
const char *mr_json_text_blanks(const char *at, const char *end);
/* The end of the value that begins at `at`. */
const char *mr_json_text_skip(const char *at, const char *end);
/* The escape at *at, which stands behind its backslash; *at goes past it. At most 4 bytes; a lone surrogate as utf8.h has it. */
size_t mr_json_text_escape(const char **at, const char *end, char *out);
/* What stands between the quotes, without escapes. */
struct mr_str mr_json_text_plain(struct mr_str inner, struct mr_arena *ar);

#endif
