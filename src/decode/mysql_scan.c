/* See mysql_scan.h. */
#include "mysql_scan.h"

/* ---- Tokens ---- */

static bool is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || (unsigned char)c >= 0x80;
}

static bool starts(const struct mr_sqlscan *s, const char *text_z)
{
    size_t len = strlen(text_z);
    return (size_t)(s->end - s->p) >= len && memcmp(s->p, text_z, len) == 0;
}

static void skip_line(struct mr_sqlscan *s)
{
    while (s->p < s->end && *s->p != '\n')
        s->p++;
}

static void skip_comment(struct mr_sqlscan *s)
{
    s->p += 2;
    while (s->p < s->end && !starts(s, "*/"))
        s->p++;
    s->p = s->end - s->p < 2 ? s->end : s->p + 2;
}

/* Blanks, comments, and the marks of comments whose content is executed. */
static void skip_space(struct mr_sqlscan *s)
{
    while (s->p < s->end) {
        if (*s->p == ' ' || (*s->p >= '\t' && *s->p <= '\r')) {
            s->p++;
        } else if (*s->p == '#' ||
                   (starts(s, "--") && (s->end - s->p == 2 || (unsigned char)s->p[2] <= ' '))) {
            skip_line(s);
        } else if (starts(s, "/*!") || starts(s, "/*M!")) {
            s->p += s->p[2] == '!' ? 3 : 4;
            while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
                s->p++;
        } else if (starts(s, "*/")) {
            s->p += 2;
        } else if (starts(s, "/*")) {
            skip_comment(s);
        } else {
            return;
        }
    }
}

/* At an opening quote. Doubled quotes stand for one; in literals a backslash hides what follows. */
static void read_quoted(struct mr_sqlscan *s)
{
    char quote = *s->p++;
    const char *from = s->p;
    bool is_literal = quote == '\'';
    while (s->p < s->end) {
        if (is_literal && *s->p == '\\' && s->end - s->p > 1)
            s->p++;
        else if (*s->p == quote) {
            if (s->end - s->p < 2 || s->p[1] != quote)
                break;
            s->p++;
        }
        s->p++;
    }
    struct mr_str raw = mr_str_of(from, (size_t)(s->p - from));
    if (s->p < s->end)
        s->p++;
    s->now = (struct mr_sqlscan_token){is_literal ? MR_SQLSCAN_LITERAL : MR_SQLSCAN_NAME, raw};
    if (is_literal || memchr(raw.ptr, quote, raw.len) == NULL)
        return;

    char *out = mr_arena_alloc(s->ar, raw.len);
    size_t n = 0;
    for (size_t i = 0; i < raw.len; i++) {
        out[n++] = raw.ptr[i];
        i += raw.ptr[i] == quote;
    }
    s->now.text = mr_str_of(out, n);
}

void mr_sqlscan_next(struct mr_sqlscan *s)
{
    s->last = s->p;
    skip_space(s);
    s->now = (struct mr_sqlscan_token){MR_SQLSCAN_END, MR_STR("")};
    if (s->p == s->end)
        return;
    const char *from = s->p;
    if (*from == '\'' || *from == '"' || *from == '`') {
        read_quoted(s);
        return;
    }
    s->now.kind = MR_SQLSCAN_MARK;
    if (is_word_char(*from)) {
        s->now.kind = MR_SQLSCAN_WORD;
        while (s->p < s->end && is_word_char(*s->p))
            s->p++;
    } else {
        s->p++;
    }
    s->now.text = mr_str_of(from, (size_t)(s->p - from));
}

bool mr_sqlscan_is(const struct mr_sqlscan *s, const char *word_z)
{
    return s->now.kind == MR_SQLSCAN_WORD && mr_str_eq_nocase(s->now.text, mr_str_z(word_z));
}

bool mr_sqlscan_is_mark(const struct mr_sqlscan *s, char c)
{
    return s->now.kind == MR_SQLSCAN_MARK && s->now.text.ptr[0] == c;
}

bool mr_sqlscan_take(struct mr_sqlscan *s, const char *word_z)
{
    if (!mr_sqlscan_is(s, word_z))
        return false;
    mr_sqlscan_next(s);
    return true;
}

void mr_sqlscan_skip_words(struct mr_sqlscan *s, const char *const *words_z)
{
    for (size_t i = 0; words_z[i] != NULL; i++) {
        if (mr_sqlscan_take(s, words_z[i]))
            i = (size_t)-1; /* once more from the first */
    }
}

bool mr_sqlscan_is_identifier(const struct mr_sqlscan *s)
{
    return (s->now.kind == MR_SQLSCAN_WORD || s->now.kind == MR_SQLSCAN_NAME) && s->now.text.len != 0;
}

/* ---- Names ---- */

/* [database.]table */
bool mr_sqlscan_name(struct mr_sqlscan *s, struct mr_relation *out)
{
    *out = (struct mr_relation){MR_STR(""), MR_STR("")};
    if (mr_sqlscan_is_mark(s, '.')) /* `.table`: the current database */
        mr_sqlscan_next(s);
    if (!mr_sqlscan_is_identifier(s))
        return false;
    out->table = s->now.text;
    mr_sqlscan_next(s);
    if (!mr_sqlscan_is_mark(s, '.'))
        return true;
    mr_sqlscan_next(s);
    if (!mr_sqlscan_is_identifier(s))
        return false;
    out->database = out->table;
    out->table = s->now.text;
    mr_sqlscan_next(s);
    return true;
}
