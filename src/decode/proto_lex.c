/* Words of a .proto text. See proto_parts.h. */
#include "proto_parts.h"

void mr_proto_lex_begin(struct mr_proto_lex *lex, struct mr_str text, struct mr_arena *ar)
{
    *lex = (struct mr_proto_lex){.p = text.ptr, .end = text.ptr + text.len, .ar = ar, .line = 1};
    mr_proto_lex_next(lex);
}

static void skip_blanks(struct mr_proto_lex *lex)
{
    for (; lex->p < lex->end; lex->p++) {
        bool more = lex->p + 1 < lex->end;
        if (*lex->p == '\n')
            lex->line++;
        if (*lex->p == '/' && more && lex->p[1] == '/') {
            while (lex->p + 1 < lex->end && lex->p[1] != '\n')
                lex->p++;
        } else if (*lex->p == '/' && more && lex->p[1] == '*') {
            lex->p += 2;
            while (lex->p + 1 < lex->end && !(lex->p[0] == '*' && lex->p[1] == '/')) {
                lex->line += *lex->p == '\n';
                lex->p++;
            }
            lex->p += lex->p < lex->end;
            if (lex->p >= lex->end)
                return;
        } else if (*lex->p != ' ' && *lex->p != '\t' && *lex->p != '\r' && *lex->p != '\n' &&
                   *lex->p != '\f' && *lex->p != '\v') {
            return;
        }
    }
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static int digit_of(char c, int base)
{
    int v = c >= '0' && c <= '9'   ? c - '0'
            : c >= 'a' && c <= 'f' ? c - 'a' + 10
            : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                   : 99;
    return v < base ? v : -1;
}

/* After a backslash; *p is moved behind it. */
static char escaped(struct mr_proto_lex *lex)
{
    char c = *lex->p++;
    int v = 0, n = 0, base = c == 'x' || c == 'X' ? 16 : 8;
    switch (c) {
    case 'n':
        return '\n';
    case 't':
        return '\t';
    case 'r':
        return '\r';
    case 'a':
        return '\a';
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'v':
        return '\v';
    default:
        break;
    }
    if (base == 8 && digit_of(c, 8) < 0)
        return c;
    if (base == 8)
        lex->p--;
    for (; n < (base == 16 ? 2 : 3) && lex->p < lex->end && digit_of(*lex->p, base) >= 0; n++)
        v = v * base + digit_of(*lex->p++, base);
    return (char)v;
}

static void lex_text(struct mr_proto_lex *lex)
{
    char quote = *lex->p++;
    size_t len = 0, n = 0;
    while (lex->p + len < lex->end && lex->p[len] != quote && lex->p[len] != '\n')
        len += lex->p[len] == '\\' && lex->p + len + 1 < lex->end ? 2 : 1;
    char *out = mr_arena_alloc(lex->ar, len + 1); /* unescaped it is never longer */
    lex->kind = MR_W_BAD;
    while (lex->p < lex->end && *lex->p != quote && *lex->p != '\n') {
        char c = *lex->p++;
        if (c == '\\' && lex->p < lex->end)
            c = escaped(lex);
        out[n++] = c;
    }
    if (lex->p >= lex->end || *lex->p != quote)
        return;
    lex->p++;
    lex->kind = MR_W_TEXT;
    lex->word = mr_str_of(out, n);
}

void mr_proto_lex_next(struct mr_proto_lex *lex)
{
    skip_blanks(lex);
    const char *start = lex->p;
    if (lex->p >= lex->end) {
        lex->kind = MR_W_END;
        lex->word = MR_STR("");
        return;
    }
    char c = *lex->p;
    bool dot_name =
        c == '.' && lex->p + 1 < lex->end && is_name_char(lex->p[1]) && digit_of(lex->p[1], 10) < 0;
    if (c == '"' || c == '\'') {
        lex_text(lex);
        return;
    }
    if (dot_name || (is_name_char(c) && digit_of(c, 10) < 0)) {
        lex->kind = MR_W_NAME;
        while (lex->p < lex->end && (is_name_char(*lex->p) || *lex->p == '.'))
            lex->p++;
    } else if (digit_of(c, 10) >= 0 || (c == '.' && lex->p + 1 < lex->end && digit_of(lex->p[1], 10) >= 0)) {
        lex->kind = MR_W_NUMBER;
        while (lex->p < lex->end &&
               (is_name_char(*lex->p) || *lex->p == '.' ||
                ((*lex->p == '-' || *lex->p == '+') && (lex->p[-1] == 'e' || lex->p[-1] == 'E'))))
            lex->p++;
    } else {
        lex->kind = MR_W_SIGN;
        lex->p++;
    }
    lex->word = mr_str_of(start, (size_t)(lex->p - start));
}
