/* Errors: texts are formatted into a scratch buffer first, so that an argument may point into the very error
 * that is being filled, and are cut at a character's border. */
#include <millrace/base/error.h>

#include <millrace/base/str.h>
#include <millrace/base/utf8.h>

#include <stdarg.h>
#include <stdio.h>

/* Copy as much of src as fits, whole characters only, control characters as blanks: each text is one line. */
static void set_text(char *dst, size_t cap, const char *src, size_t len)
{
    size_t n = mr_utf8_cut(mr_str_of(src, len), cap - 1);
    while (n > 0 && (src[n - 1] == '\n' || src[n - 1] == '\r' || src[n - 1] == ' '))
        n--;
    for (size_t i = 0; i < n; i++)
        dst[i] = (unsigned char)src[i] < 0x20 ? ' ' : src[i];
    dst[n] = 0;
}

__attribute__((format(printf, 3, 0))) static void format_text(char *dst, size_t cap, const char *fmt,
                                                               va_list args)
{
    char text[1280];
    int n = vsnprintf(text, sizeof(text), fmt, args);
    if (n < 0)
        n = 0;
    set_text(dst, cap, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

static void begin_error(struct mr_error *err, enum mr_status status, const char *code)
{
    err->status = status;
    set_text(err->code, sizeof(err->code), code, strlen(code));
    err->native[0] = 0;
    err->detail[0] = 0;
    err->hint[0] = 0;
    err->field[0] = 0;
    err->row = -1;
}

enum mr_status mr_fail(struct mr_error *err, enum mr_status status, const char *fmt, ...)
{
    if (!err)
        return status;
    va_list args;
    va_start(args, fmt);
    format_text(err->message, sizeof(err->message), fmt, args);
    va_end(args);
    begin_error(err, status, mr_status_name(status));
    return status;
}

enum mr_status mr_fail_data(struct mr_error *err, const char *code, const char *fmt, ...)
{
    if (!err)
        return MR_E_DATA;
    va_list args;
    va_start(args, fmt);
    format_text(err->message, sizeof(err->message), fmt, args);
    va_end(args);
    begin_error(err, MR_E_DATA, code);
    return MR_E_DATA;
}

void mr_error_hint(struct mr_error *err, const char *fmt, ...)
{
    if (!err)
        return;
    va_list args;
    va_start(args, fmt);
    format_text(err->hint, sizeof(err->hint), fmt, args);
    va_end(args);
}

void mr_error_detail(struct mr_error *err, const char *fmt, ...)
{
    if (!err)
        return;
    va_list args;
    va_start(args, fmt);
    format_text(err->detail, sizeof(err->detail), fmt, args);
    va_end(args);
}

void mr_error_field(struct mr_error *err, const char *field, size_t len)
{
    if (err)
        set_text(err->field, sizeof(err->field), field, len);
}

void mr_error_prefix(struct mr_error *err, const char *fmt, ...)
{
    if (!err)
        return;
    char text[sizeof(err->message) * 2];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    size_t written = n < 0 ? 0 : (size_t)n;
    if (written >= sizeof(text))
        written = sizeof(text) - 1;
    size_t front = mr_utf8_cut(mr_str_of(text, written), sizeof(err->message) - 1);
    size_t rest = strnlen(err->message, sizeof(err->message) - 1);
    memcpy(text + front, err->message, rest);
    set_text(err->message, sizeof(err->message), text, front + rest);
}

const char *mr_status_name(enum mr_status status)
{
    switch (status) {
    case MR_OK:
        return "ok";
    case MR_E_CONFIG:
        return "config";
    case MR_E_ENV:
        return "env";
    case MR_E_BUSY:
        return "busy";
    case MR_E_SCHEMA:
        return "schema";
    case MR_E_DATA:
        return "data";
    case MR_E_FENCED:
        return "fenced";
    case MR_E_STOPPED:
        return "stopped";
    case MR_E_BUG:
        return "bug";
    }
    return "unknown";
}
