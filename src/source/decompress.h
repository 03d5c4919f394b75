/* Bytes of an input, decompressed on the way. gzip and zstd are recognised by their first bytes, never by a file's name; one
 * frame may follow another (`cat a.gz b.gz`), of either kind. One thread. */
#ifndef MILLRACE_SOURCE_DECOMPRESS_H
#define MILLRACE_SOURCE_DECOMPRESS_H

#include <millrace/base/error.h>

struct mr_bytes;

enum mr_bytes_state {
    MR_BYTES_DATA, /* something was read */
    MR_BYTES_WAIT, /* a stream had nothing within the timeout */
    MR_BYTES_END,  /* end of the input, between two frames */
    MR_BYTES_CUT,  /* end of the input in the middle of a frame: a truncated or still growing file */
};

/* Takes over `fd`, at whose present place a plain text or a frame begins; `start` is the byte that this is. `waits`: the
 * descriptor may block (a pipe, a terminal), so wait for it first. name_z is for messages and outlives the reader. `plain`
 * says that no magic is to be looked for, since the place is in the middle of a plain text. */
struct mr_bytes *mr_bytes_open(int fd, bool waits, bool plain, uint64_t start, const char *name_z);
void mr_bytes_close(struct mr_bytes *in); /* NULL is fine */

/* Up to `cap` bytes. DATA for corrupt input, ENV for a failing read; both come again at the next call. END and CUT may be
 * asked again too. */
enum mr_status mr_bytes_read(struct mr_bytes *in, char *out, size_t cap, int timeout_ms, size_t *len,
                             enum mr_bytes_state *state, struct mr_error *err) MR_MUST_CHECK;

/* Bytes of the input used up so far, counted from its beginning. */
uint64_t mr_bytes_offset(const struct mr_bytes *in);
bool mr_bytes_is_plain(const struct mr_bytes *in);

#endif
