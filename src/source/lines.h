/* Lines of an input. A line ends with LF or CRLF; a byte order mark before the first one is passed over. Lines beyond the limit are
 * reported with their beginning, their rest is read and forgotten. One thread. */
#ifndef MILLRACE_SOURCE_LINES_H
#define MILLRACE_SOURCE_LINES_H

#include "decompress.h"

#include <millrace/base/str.h>

struct mr_lines;

#define MR_LINE_HEAD ((size_t)4096) /* what is kept of a line that is too long */

struct mr_line {
    struct mr_str text; /* without its end; borrowed until the next call */
    bool too_long;      /* text is only the beginning */
    uint64_t length;    /* bytes in all */
};

enum mr_lines_state {
    MR_LINES_LINE,
    MR_LINES_MORE, /* in the middle of a long line: call again */
    MR_LINES_WAIT, /* nothing within the timeout */
    MR_LINES_END,  /* no more whole line; what is left over has no line end */
    MR_LINES_CUT,  /* no more whole line: the compressed data ends in the middle */
};

/* Takes over `in`. `at_start`: the input is read from its first byte. */
struct mr_lines *mr_lines_create(struct mr_bytes *in, bool at_start, uint64_t max_bytes);
void mr_lines_destroy(struct mr_lines *ln); /* NULL is fine */

/* The next line. `take_rest`: at the end, a last line without a line end is a line too. */
enum mr_status mr_lines_next(struct mr_lines *ln, bool take_rest, int timeout_ms,
                             struct mr_line *line, enum mr_lines_state *state, struct mr_error *err)
    MR_MUST_CHECK;

/* The input behind it. */
struct mr_bytes *mr_lines_input(const struct mr_lines *ln);
/* Bytes read from the input but not yet given out as lines (of the decompressed text). */
uint64_t mr_lines_pending(const struct mr_lines *ln);

#endif
