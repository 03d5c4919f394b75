/* Cutting a byte stream into lines. The window slides over the input and grows only for a line that does not fit, up to the limit. */
#include "lines.h"

#include <millrace/base/mem.h>

#include <string.h>

#define WINDOW_BYTES ((size_t)256 * 1024)
/* So much is read at a time without coming to a line's end: then the caller has a look at the clock. */
#define STEP_BYTES ((size_t)16 * 1024 * 1024)

struct mr_lines {
    struct mr_bytes *in;
    char *data;
    size_t cap;
    size_t start, end;   /* unread part of data */
    size_t scanned;      /* no line end in [start, scanned) */
    size_t max_bytes;    /* longest line, without its end */
    bool at_start;       /* a byte order mark may still come */
    bool skipping;       /* in the middle of a line that is too long: [start, end) holds its head */
    uint64_t skipped;    /* bytes of it that were dropped */
};

struct mr_lines *mr_lines_create(struct mr_bytes *in, bool at_start, uint64_t max_bytes)
{
    struct mr_lines *ln = mr_xcalloc(1, sizeof(*ln));

    ln->in = in;
    ln->cap = WINDOW_BYTES;
    ln->data = mr_xmalloc(ln->cap);
    ln->at_start = at_start;
    ln->max_bytes = max_bytes > SIZE_MAX / 4 ? SIZE_MAX / 4 : (size_t)max_bytes;
    return ln;
}

void mr_lines_destroy(struct mr_lines *ln)
{
    if (!ln)
        return;
    mr_bytes_close(ln->in);
    mr_xfree(ln->data);
    mr_xfree(ln);
}

struct mr_bytes *mr_lines_input(const struct mr_lines *ln)
{
    return ln->in;
}

uint64_t mr_lines_pending(const struct mr_lines *ln)
{
    return ln->skipped + (ln->end - ln->start);
}

/* Make room behind `end`: slide, then grow, then forget the middle of a line that is too long. */
static void make_room(struct mr_lines *ln)
{
    size_t limit = ln->max_bytes + 2; /* with both bytes of a CRLF */

    if (ln->end < ln->cap)
        return;
    if (ln->start > 0) {
        memmove(ln->data, ln->data + ln->start, ln->end - ln->start);
        ln->end -= ln->start;
        ln->scanned -= ln->start;
        ln->start = 0;
        if (ln->end < ln->cap)
            return;
    }
    if (ln->cap < limit) {
        ln->cap = ln->cap > limit / 2 ? limit : ln->cap * 2;
        ln->data = mr_xrealloc(ln->data, ln->cap);
        return;
    }
    ln->skipping = true;
    ln->skipped += ln->end - MR_LINE_HEAD;
    ln->end = MR_LINE_HEAD;
    ln->scanned = MR_LINE_HEAD;
}

/* The line [start, stop) and `next`, where the one after it begins. */
static void give(struct mr_lines *ln, size_t stop, size_t next, struct mr_line *line)
{
    struct mr_str text = mr_str_of(ln->data + ln->start, stop - ln->start);

    line->length = text.len + ln->skipped;
    line->too_long = ln->skipping || text.len > ln->max_bytes + 1;
    if (text.len > 0 && text.ptr[text.len - 1] == '\r')
        text.len--;
    if (text.len > ln->max_bytes)
        line->too_long = true;
    if (line->too_long && text.len > MR_LINE_HEAD)
        text.len = MR_LINE_HEAD;
    if (ln->at_start && mr_str_starts(text, MR_STR("\xEF\xBB\xBF")))
        text = mr_str_of(text.ptr + 3, text.len - 3);

    line->text = text;
    ln->at_start = false;
    ln->skipping = false;
    ln->skipped = 0;
    ln->start = next;
    ln->scanned = next;
}

enum mr_status mr_lines_next(struct mr_lines *ln, bool take_rest, int timeout_ms,
                             struct mr_line *line, enum mr_lines_state *state, struct mr_error *err)
{
    size_t read_bytes = 0;

    for (;;) {
        enum mr_bytes_state got;
        size_t len;
        const char *lf = NULL;

        if (ln->scanned < ln->end)
            lf = memchr(ln->data + ln->scanned, '\n', ln->end - ln->scanned);
        if (lf) {
            size_t stop = (size_t)(lf - ln->data);

            give(ln, stop, stop + 1, line);
            *state = MR_LINES_LINE;
            return MR_OK;
        }
        ln->scanned = ln->end;
        if (ln->start == ln->end && !ln->skipping)
            ln->start = ln->end = ln->scanned = 0;
        make_room(ln);
        MR_TRY(mr_bytes_read(ln->in, ln->data + ln->end, ln->cap - ln->end, timeout_ms, &len, &got,
                             err));
        ln->end += len;
        read_bytes += len;
        if (got == MR_BYTES_DATA && read_bytes < STEP_BYTES)
            continue;
        if (got == MR_BYTES_DATA) {
            *state = MR_LINES_MORE;
            return MR_OK;
        }

        if (got == MR_BYTES_END && take_rest && ln->end > ln->start) {
            give(ln, ln->end, ln->end, line);
            *state = MR_LINES_LINE;
        } else {
            *state = got == MR_BYTES_WAIT ? MR_LINES_WAIT
                     : got == MR_BYTES_CUT ? MR_LINES_CUT
                                           : MR_LINES_END;
        }
        return MR_OK;
    }
}
