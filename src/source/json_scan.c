/* The scanner of record lines. Nested values are most of a line, so they are walked in blocks of 64 bytes, and other strings eight bytes
 * at a time. */
#include "json_scan.h"

#include "json_mask.h"

#include <millrace/base/utf8.h>

#include <string.h>

#define ONES UINT64_C(0x0101010101010101)
#define HIGHS UINT64_C(0x8080808080808080)

/* Has the word a byte equal to the one repeated in `pattern`? Not zero: yes (the lowest set bit is exact). */
static uint64_t has_byte(uint64_t word, uint64_t pattern)
{
    uint64_t x = word ^ pattern;

    return (x - ONES) & ~x & HIGHS;
}

/* The first quote or backslash at or after p; `end` if there is none. */
static const char *find_special(const char *p, const char *end)
{
    while (end - p >= 8) {
        uint64_t word;

        memcpy(&word, p, 8);
        if (has_byte(word, ONES * '"') | has_byte(word, ONES * '\\'))
            break;
        p += 8;
    }
    while (p < end && *p != '"' && *p != '\\')
        p++;
    return p;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool expect(struct mr_scan *sc, const char *what_z)
{
    sc->expected = what_z;
    return false;
}

struct mr_scan mr_scan_begin(struct mr_str text)
{
    return (struct mr_scan){text.ptr, text.ptr + text.len, text.ptr, NULL};
}

void mr_scan_blanks(struct mr_scan *sc)
{
    while (sc->pos < sc->end && is_blank(*sc->pos))
        sc->pos++;
}

bool mr_scan_char(struct mr_scan *sc, char c)
{
    mr_scan_blanks(sc);
    if (sc->pos == sc->end || *sc->pos != c)
        return false;
    sc->pos++;
    return true;
}

/* The rest of a string whose opening quote has been consumed. */
static bool scan_string(struct mr_scan *sc, struct mr_str *text, bool *is_escaped)
{
    const char *start = sc->pos;

    *is_escaped = false;
    for (;;) {
        sc->pos = find_special(sc->pos, sc->end);
        if (sc->pos == sc->end)
            return expect(sc, "the end of a string");
        if (*sc->pos == '"')
            break;
        *is_escaped = true;
        if (sc->end - sc->pos < 2) {
            sc->pos = sc->end;
            return expect(sc, "the end of a string");
        }
        sc->pos += 2;
    }
    *text = mr_str_of(start, (size_t)(sc->pos - start));
    sc->pos++;
    return true;
}

/* An object or array that is being stepped over. */
struct nesting {
    size_t depth;
    bool has_blanks;
    bool is_inside; /* of a string */
};

/* Through these brackets, which all stand outside strings; the end of the value if it lies among them. */
static inline const char *through_brackets(const char *block, uint64_t opens, uint64_t closes, size_t *depth)
{
    for (uint64_t left = opens | closes; left != 0; left &= left - 1) {
        if (opens & left & (UINT64_C(0) - left))
            ++*depth;
        else if (--*depth == 0)
            return block + __builtin_ctzll(left) + 1;
    }
    return NULL;
}

/* Whole blocks, up to the one in which the value ends (whose end is returned), or as far as there are any. A backslash outside a string is no
 * JSON and stops the walk: what it means is said byte by byte. */
static const char *walk_blocks(struct mr_scan *sc, struct nesting *n)
{
    uint64_t is_escaped = 0;

    while ((size_t)(sc->end - sc->pos) >= MR_JSON_BLOCK) {
        struct mr_json_mask m = mr_json_mask_of(sc->pos);
        uint64_t was_escaped = is_escaped;
        uint64_t quotes = m.quotes & ~mr_json_mask_escaped(m.backslashes, &is_escaped);
        uint64_t inside = mr_json_mask_inside(quotes) ^ (n->is_inside ? UINT64_MAX : 0);

        if (m.backslashes & ~inside) {
            sc->pos += was_escaped;
            return NULL;
        }
        const char *end = through_brackets(sc->pos, m.opens & ~inside, m.closes & ~inside, &n->depth);
        if (end) {
            uint64_t before = UINT64_MAX >> (64 - (end - sc->pos));
            n->has_blanks = n->has_blanks || (m.blanks & ~inside & before) != 0;
            return end;
        }
        n->has_blanks = n->has_blanks || (m.blanks & ~inside) != 0;
        n->is_inside = inside >> 63;
        sc->pos += MR_JSON_BLOCK;
    }
    if (is_escaped && sc->pos < sc->end)
        sc->pos++;
    return NULL;
}

/* The rest, byte by byte. */
static const char *walk_bytes(struct mr_scan *sc, struct nesting *n)
{
    struct mr_str text;
    bool is_escaped;

    if (n->is_inside && !scan_string(sc, &text, &is_escaped))
        return NULL;
    while (sc->pos < sc->end) {
        char c = *sc->pos++;

        if (c == '"') {
            if (!scan_string(sc, &text, &is_escaped))
                return NULL;
        } else if (c == '{' || c == '[') {
            n->depth++;
        } else if (c == '}' || c == ']') {
            if (--n->depth == 0)
                return sc->pos;
        } else if (is_blank(c)) {
            n->has_blanks = true;
        }
    }
    expect(sc, "the end of an object or array");
    return NULL;
}

/* An object or array as a whole: only depth and strings matter here. Which bracket closes which is the decoder's business. */
static bool scan_nested(struct mr_scan *sc, struct mr_scan_value *out)
{
    const char *start = sc->pos++;
    struct nesting n = {.depth = 1};
    const char *end = walk_blocks(sc, &n);

    if (!end)
        end = walk_bytes(sc, &n);
    if (!end)
        return false;
    sc->pos = end;
    out->has_blanks = n.has_blanks;
    out->text = mr_str_of(start, (size_t)(end - start));
    return true;
}

static bool scan_scalar(struct mr_scan *sc, struct mr_scan_value *out)
{
    const char *start = sc->pos;

    while (sc->pos < sc->end && !is_blank(*sc->pos) && !strchr(",:]}[{\"", *sc->pos))
        sc->pos++;
    out->text = mr_str_of(start, (size_t)(sc->pos - start));
    out->kind = mr_str_eq_z(out->text, "null") ? MR_SCAN_NULL : MR_SCAN_SCALAR;
    return out->text.len > 0 || expect(sc, "a value");
}

bool mr_scan_next(struct mr_scan *sc, struct mr_scan_value *out)
{
    *out = (struct mr_scan_value){0};
    mr_scan_blanks(sc);
    if (sc->pos == sc->end)
        return expect(sc, "a value");
    switch (*sc->pos) {
    case '"':
        sc->pos++;
        out->kind = MR_SCAN_STRING;
        return scan_string(sc, &out->text, &out->is_escaped);
    case '{':
        out->kind = MR_SCAN_OBJECT;
        return scan_nested(sc, out);
    case '[':
        out->kind = MR_SCAN_ARRAY;
        return scan_nested(sc, out);
    default:
        return scan_scalar(sc, out);
    }
}

bool mr_scan_member(struct mr_scan *sc, bool is_first, struct mr_str *name,
                    struct mr_scan_value *value, bool *more)
{
    bool is_escaped;

    *more = false;
    if (mr_scan_char(sc, '}'))
        return true;
    if (!is_first && !mr_scan_char(sc, ','))
        return expect(sc, "a comma or the end of the object");
    if (!mr_scan_char(sc, '"'))
        return expect(sc, "a member name");
    if (!scan_string(sc, name, &is_escaped))
        return false;
    if (!mr_scan_char(sc, ':'))
        return expect(sc, "a colon");
    *more = true;
    return mr_scan_next(sc, value);
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Four hexadecimal digits at p; -1 if they are not there. */
static int32_t code_unit(const char *p, const char *end)
{
    int32_t unit = 0;

    if (end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int digit = hex_value(p[i]);

        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

/* The escape after "\u" at *p: one unit, or a pair. Moves *p behind it; returns the encoded length, 0 if bad. */
static size_t unescape_unicode(const char **p, const char *end, char out[4])
{
    int32_t unit = code_unit(*p, end);
    uint32_t code_point;

    if (unit < 0)
        return 0;
    *p += 4;
    code_point = (uint32_t)unit;
    if (unit >= 0xD800 && unit < 0xDC00 && end - *p >= 6 && (*p)[0] == '\\' && (*p)[1] == 'u') {
        int32_t low = code_unit(*p + 2, end);

        if (low >= 0xDC00 && low < 0xE000) {
            code_point = 0x10000 + (((uint32_t)unit - 0xD800) << 10) + ((uint32_t)low - 0xDC00);
            *p += 6;
        }
    }
    return mr_utf8_encode(code_point, out);
}

static char unescape_simple(char c)
{
    switch (c) {
    case '"':
    case '\\':
    case '/':
        return c;
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return 0;
    }
}

bool mr_scan_string(const struct mr_scan_value *value, struct mr_arena *ar, struct mr_str *out)
{
    const char *p = value->text.ptr, *end = p + value->text.len;
    char *start, *to;

    *out = value->text;
    if (!value->is_escaped)
        return true;
    /* An escape is never shorter than what it stands for. */
    start = to = mr_arena_alloc(ar, value->text.len);
    while (p < end) {
        const char *stop = find_special(p, end);
        char simple;

        memcpy(to, p, (size_t)(stop - p));
        to += stop - p;
        if (stop == end)
            break;
        p = stop + 2; /* scan_string has seen to it that something follows the backslash */
        simple = unescape_simple(stop[1]);
        if (simple) {
            *to++ = simple;
        } else if (stop[1] == 'u') {
            char encoded[4];
            size_t len = unescape_unicode(&p, end, encoded);

            if (len == 0)
                return false;
            memcpy(to, encoded, len);
            to += len;
        } else {
            return false;
        }
    }
    *out = mr_str_of(start, (size_t)(to - start));
    return true;
}

/* Leave out the blanks between tokens. */
static struct mr_str compact(struct mr_str text, struct mr_arena *ar)
{
    struct mr_scan sc = mr_scan_begin(text);
    char *start = mr_arena_alloc(ar, text.len), *to = start;

    while (sc.pos < sc.end) {
        const char *from = sc.pos;
        char c = *sc.pos++;
        struct mr_str inner;
        bool is_escaped;

        if (is_blank(c))
            continue;
        if (c == '"' && !scan_string(&sc, &inner, &is_escaped))
            break; /* cannot be: the value has been walked before */
        memcpy(to, from, (size_t)(sc.pos - from));
        to += sc.pos - from;
    }
    return mr_str_of(start, (size_t)(to - start));
}

bool mr_scan_message(const struct mr_scan_value *value, struct mr_arena *ar, struct mr_str *out)
{
    if (value->kind == MR_SCAN_STRING)
        return mr_scan_string(value, ar, out);
    *out = value->has_blanks ? compact(value->text, ar) : value->text;
    return true;
}
