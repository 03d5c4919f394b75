/* Growable bytes with a mandatory maximum. Appends never fail at the call: going beyond the
 * maximum marks the buffer (`overflow`) and drops the rest, and whoever uses the bytes asks
 * mr_buf_check once at the end. */
#ifndef MILLRACE_BASE_BUF_H
#define MILLRACE_BASE_BUF_H

#include <millrace/base/error.h>
#include <millrace/base/str.h>

struct mr_buf {
    char *data;    /* owned; not NUL-terminated unless mr_buf_z was called */
    size_t len;    /* bytes used */
    size_t cap;    /* bytes allocated */
    size_t max;    /* never grows beyond */
    bool overflow; /* something did not fit */
};

#define MR_BUF_INIT(max_bytes) ((struct mr_buf){NULL, 0, 0, (max_bytes), false})

void mr_buf_free(struct mr_buf *buf);
void mr_buf_clear(struct mr_buf *buf); /* keeps the memory */
/* Room for `size` more bytes; NULL (and overflow) if beyond max. Caller adds to len. */
char *mr_buf_reserve(struct mr_buf *buf, size_t size);
void mr_buf_append(struct mr_buf *buf, const void *ptr, size_t len);
void mr_buf_append_z(struct mr_buf *buf, const char *text_z);
void mr_buf_append_str(struct mr_buf *buf, struct mr_str s);
void mr_buf_append_char(struct mr_buf *buf, char c);
void mr_buf_printf(struct mr_buf *buf, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Big-endian integers, as PostgreSQL's binary formats want them. */
void mr_buf_append_u16be(struct mr_buf *buf, uint16_t v);
void mr_buf_append_u32be(struct mr_buf *buf, uint32_t v);
void mr_buf_append_u64be(struct mr_buf *buf, uint64_t v);
/* A JSON string literal with its quotes; ill-formed UTF-8 bytes become U+FFFD. */
void mr_buf_append_json(struct mr_buf *buf, struct mr_str s);
/* NUL-terminate (not counted in len) and return data. */
const char *mr_buf_z(struct mr_buf *buf);
struct mr_str mr_buf_str(const struct mr_buf *buf);
/* DATA "too_large" if something did not fit. */
enum mr_status mr_buf_check(const struct mr_buf *buf, const char *what, struct mr_error *err)
    MR_MUST_CHECK;

#endif
