/* JSON as text: see json_text.h. */
#include "json_text.h"

#include <millrace/base/buf.h>
#include <millrace/base/utf8.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

const char *mr_json_text_blanks(const char *at, const char *end)
{
    while (at < end && is_blank(*at))
        at++;
    return at;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ---- Is it well-formed? Each returns where it ends, NULL if it is not. ---- */

static const char *check_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++) {
        if ((unsigned char)*at < 0x20)
            return NULL;
        if (*at != '\\')
            continue;
        if (++at == end || memchr("\"\\/bfnrtu", *at, 9) == NULL)
            return NULL;
        for (int i = 0; *at == 'u' && i < 4; i++) {
            char c = at + 1 + i < end ? at[1 + i] : '\0';
            if (!is_digit(c) && ((c | 32) < 'a' || (c | 32) > 'f'))
                return NULL;
        }
    }
    return at < end ? at + 1 : NULL;
}

static const char *check_digits(const char *at, const char *end)
{
    if (at == end || !is_digit(*at))
        return NULL;
    while (at < end && is_digit(*at))
        at++;
    return at;
}

static const char *check_number(const char *at, const char *end)
{
    at += *at == '-';
    if (at < end && *at == '0')
        at++;
    else if ((at = check_digits(at, end)) == NULL)
        return NULL;
    if (at < end && *at == '.' && (at = check_digits(at + 1, end)) == NULL)
        return NULL;
    if (at < end && (*at | 32) == 'e') {
        at++;
        at += at < end && (*at == '+' || *at == '-');
        at = check_digits(at, end);
    }
    return at;
}

static const char *check_word(const char *at, const char *end)
{
    static const char *const words[] = {"null", "true", "false"};

    for (size_t i = 0; i < 3; i++) {
        size_t len = strlen(words[i]);
        if ((size_t)(end - at) >= len && memcmp(at, words[i], len) == 0)
            return at + len;
    }
    return NULL;
}

static const char *check_scalar(const char *at, const char *end)
{
    if (*at == '"')
        return check_string(at, end);
    return *at == '-' || is_digit(*at) ? check_number(at, end) : check_word(at, end);
}

/* A member's name and its colon. */
static const char *check_name(const char *at, const char *end)
{
    at = mr_json_text_blanks(at, end);
    at = at < end && *at == '"' ? check_string(at, end) : NULL;
    if (at == NULL)
        return NULL;
    at = mr_json_text_blanks(at, end);
    return at < end && *at == ':' ? at + 1 : NULL;
}

/* Behind a value: what closes, up to the next comma, goes. *done: nothing is open any more. */
static const char *check_behind(const char *at, const char *end, struct mr_buf *open, bool *done)
{
    for (;;) {
        at = mr_json_text_blanks(at, end);
        *done = open->len == 0;
        if (*done)
            return at;
        char inner = open->data[open->len - 1];
        if (at == end)
            return NULL;
        if (*at == ',')
            return inner == '{' ? check_name(at + 1, end) : at + 1;
        if (*at != (inner == '{' ? '}' : ']'))
            return NULL;
        open->len--;
        at++;
    }
}

bool mr_json_text_is_valid(struct mr_str text)
{
    const char *at = text.ptr, *end = text.ptr + text.len;
    struct mr_buf open = MR_BUF_INIT(text.len + 1); /* one '[' or '{' for each container around */
    bool done = text.len == 0;
    bool is_empty = done;

    while (at != NULL && !done) {
        at = mr_json_text_blanks(at, end);
        if (at == end) {
            at = NULL;
            break;
        }
        char c = *at;
        if (c == '[' || c == '{') {
            mr_buf_append_char(&open, c);
            const char *inside = mr_json_text_blanks(at + 1, end);
            bool closes = inside < end && *inside == (c == '[' ? ']' : '}');
            at = closes ? inside : c == '{' ? check_name(at + 1, end) : at + 1;
            if (!closes)
                continue;
        } else {
            at = check_scalar(at, end);
        }
        if (at != NULL)
            at = check_behind(at, end, &open, &done);
    }
    mr_buf_free(&open);
    return !is_empty && at == end;
}

/* ---- Texts that are well-formed ---- */

static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        at += *at == '\\';
    return at < end ? at + 1 : end;
}

const char *mr_json_text_skip(const char *at, const char *end)
{
    size_t depth = 0;

    while (at < end) {
        char c = *at;
        if (c == '"') {
            at = skip_string(at, end);
        } else if (c == '[' || c == '{') {
            depth++;
            at++;
        } else if (c == ']' || c == '}') {
            if (depth == 0)
                return at;
            depth--;
            at++;
        } else if (depth == 0 && (c == ',' || is_blank(c))) {
            return at;
        } else {
            at++;
            continue;
        }
        if (depth == 0)
            return at;
    }
    return end;
}

static uint32_t hex4(const char *s)
{
    uint32_t n = 0;

    for (int i = 0; i < 4; i++)
        n = n * 16 + (uint32_t)(s[i] <= '9' ? s[i] - '0' : (s[i] | 32) - 'a' + 10);
    return n;
}

size_t mr_json_text_escape(const char **at, const char *end, char *out)
{
    static const char plain[] = "bfnrt", meant[] = "\b\f\n\r\t";
    char c = *(*at)++;
    const char *found = memchr(plain, c, sizeof plain - 1);

    if (found) {
        *out = meant[found - plain];
        return 1;
    }
    if (c != 'u' || end - *at < 4) {
        *out = c;
        return 1;
    }
    uint32_t unit = hex4(*at);
    *at += 4;
    if (unit >= 0xD800 && unit < 0xDC00 && end - *at >= 6 && (*at)[0] == '\\' && (*at)[1] == 'u') {
        uint32_t low = hex4(*at + 2);
        if (low >= 0xDC00 && low < 0xE000) {
            *at += 6;
            unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
        }
    }
    return mr_utf8_encode(unit, out);
}

struct mr_str mr_json_text_plain(struct mr_str inner, struct mr_arena *ar)
{
    const char *at = inner.ptr, *end = inner.ptr + inner.len;

    if (inner.len == 0 || memchr(inner.ptr, '\\', inner.len) == NULL)
        return inner;
    char *out = mr_arena_alloc(ar, inner.len);
    size_t len = 0;
    while (at < end) {
        if (*at != '\\')
            out[len++] = *at++;
        else if (at++, at < end)
            len += mr_json_text_escape(&at, end, out + len);
    }
    return mr_str_of(out, len);
}
