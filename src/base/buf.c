/* Growable bytes with a maximum. The first append that does not fit drops itself and everything after it: a
 * text with a hole in the middle would be worse than a short one. */
#include <millrace/base/buf.h>

#include <millrace/base/mem.h>
#include <millrace/base/utf8.h>

#include <stdarg.h>
#include <stdio.h>

void mr_buf_free(struct mr_buf *buf)
{
    mr_xfree(buf->data);
    buf->data = NULL;
    buf->len = 0;
    buf->cap = 0;
    buf->overflow = false;
}

void mr_buf_clear(struct mr_buf *buf)
{
    buf->len = 0;
    buf->overflow = false;
}

static void grow(struct mr_buf *buf, size_t need)
{
    size_t cap = buf->cap < 64 ? 64 : buf->cap;
    while (cap < need)
        cap = cap <= SIZE_MAX / 2 ? cap * 2 : need;
    if (cap > buf->max && need <= buf->max)
        cap = buf->max;
    buf->data = mr_xrealloc(buf->data, cap);
    buf->cap = cap;
}

char *mr_buf_reserve(struct mr_buf *buf, size_t size)
{
    if (buf->overflow || buf->len > buf->max || size > buf->max - buf->len) {
        buf->overflow = true;
        return NULL;
    }
    if (buf->len + size > buf->cap || !buf->data)
        grow(buf, buf->len + size);
    return buf->data + buf->len;
}

void mr_buf_append(struct mr_buf *buf, const void *ptr, size_t len)
{
    if (len == 0)
        return;
    char *room = mr_buf_reserve(buf, len);
    if (!room)
        return;
    memcpy(room, ptr, len);
    buf->len += len;
}

void mr_buf_append_z(struct mr_buf *buf, const char *text_z)
{
    mr_buf_append(buf, text_z, strlen(text_z));
}

void mr_buf_append_str(struct mr_buf *buf, struct mr_str s)
{
    mr_buf_append(buf, s.ptr, s.len);
}

void mr_buf_append_char(struct mr_buf *buf, char c)
{
    char *room = mr_buf_reserve(buf, 1);
    if (!room)
        return;
    *room = c;
    buf->len++;
}

void mr_buf_printf(struct mr_buf *buf, const char *fmt, ...)
{
    char text[256];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (n <= 0)
        return;
    if ((size_t)n < sizeof(text)) {
        mr_buf_append(buf, text, (size_t)n);
        return;
    }
    /* vsnprintf wants room for its NUL, which is not ours to count against the maximum. */
    char *whole = mr_xmalloc((size_t)n + 1);
    va_start(args, fmt);
    n = vsnprintf(whole, (size_t)n + 1, fmt, args);
    va_end(args);
    if (n > 0)
        mr_buf_append(buf, whole, (size_t)n);
    mr_xfree(whole);
}

void mr_buf_append_u16be(struct mr_buf *buf, uint16_t v)
{
    unsigned char bytes[2] = {(unsigned char)(v >> 8), (unsigned char)v};
    mr_buf_append(buf, bytes, sizeof(bytes));
}

void mr_buf_append_u32be(struct mr_buf *buf, uint32_t v)
{
    unsigned char bytes[4];
    for (int i = 0; i < 4; i++)
        bytes[i] = (unsigned char)(v >> (24 - 8 * i));
    mr_buf_append(buf, bytes, sizeof(bytes));
}

void mr_buf_append_u64be(struct mr_buf *buf, uint64_t v)
{
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(v >> (56 - 8 * i));
    mr_buf_append(buf, bytes, sizeof(bytes));
}

static void append_json_control(struct mr_buf *buf, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    switch (c) {
    case '"':
        mr_buf_append(buf, "\\\"", 2);
        return;
    case '\\':
        mr_buf_append(buf, "\\\\", 2);
        return;
    case '\n':
        mr_buf_append(buf, "\\n", 2);
        return;
    case '\r':
        mr_buf_append(buf, "\\r", 2);
        return;
    case '\t':
        mr_buf_append(buf, "\\t", 2);
        return;
    case '\b':
        mr_buf_append(buf, "\\b", 2);
        return;
    case '\f':
        mr_buf_append(buf, "\\f", 2);
        return;
    default: {
        char text[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
        mr_buf_append(buf, text, sizeof(text));
        return;
    }
    }
}

/* A lone surrogate (three bytes from ED A0) is spelled as JSON spells it; any other ill-formed byte is lost. */
static size_t append_json_wide(struct mr_buf *buf, struct mr_str rest)
{
    uint32_t code;
    size_t len = mr_utf8_decode(rest, &code);
    if (len == 0) {
        mr_buf_append(buf, "\xEF\xBF\xBD", 3);
        return 1;
    }
    if (code >= 0xD800 && code <= 0xDFFF)
        mr_buf_printf(buf, "\\u%04x", code);
    else
        mr_buf_append(buf, rest.ptr, len);
    return len;
}

void mr_buf_append_json(struct mr_buf *buf, struct mr_str s)
{
    mr_buf_append_char(buf, '"');
    size_t from = 0, i = 0;
    while (i < s.len) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (c >= 0x20 && c < 0x80 && c != '"' && c != '\\') {
            i++;
            continue;
        }
        mr_buf_append(buf, s.ptr + from, i - from);
        if (c < 0x80) {
            append_json_control(buf, c);
            i++;
        } else {
            i += append_json_wide(buf, mr_str_of(s.ptr + i, s.len - i));
        }
        from = i;
    }
    if (i > from)
        mr_buf_append(buf, s.ptr + from, i - from);
    mr_buf_append_char(buf, '"');
}

const char *mr_buf_z(struct mr_buf *buf)
{
    if (buf->len >= buf->cap)
        grow(buf, buf->len + 1);
    buf->data[buf->len] = 0;
    return buf->data;
}

struct mr_str mr_buf_str(const struct mr_buf *buf)
{
    return mr_str_of(buf->data, buf->len);
}

enum mr_status mr_buf_check(const struct mr_buf *buf, const char *what, struct mr_error *err)
{
    if (!buf->overflow)
        return MR_OK;
    return mr_fail_data(err, MR_CODE_TOO_LARGE, "%s is larger than %zu bytes", what, buf->max);
}
