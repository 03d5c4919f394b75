/* text.invalid: what a target refuses is taken out of texts. In JSON the characters may also be spelt as escapes. */
#include "tracker_parts.h"

#include <millrace/base/utf8.h>

#define REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* The code unit of a \uXXXX at s, or -1. */
static int32_t escape_at(struct mr_str s, size_t at)
{
    int32_t unit = 0;

    if (at + 6 > s.len || s.ptr[at] != '\\' || s.ptr[at + 1] != 'u')
        return -1;
    for (size_t i = at + 2; i < at + 6; i++) {
        int digit = hex_digit(s.ptr[i]);
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

static bool is_high(int32_t unit)
{
    return unit >= 0xD800 && unit <= 0xDBFF;
}

static bool is_low(int32_t unit)
{
    return unit >= 0xDC00 && unit <= 0xDFFF;
}

/* Bytes of the escape at `at` that stay together; *bad: it spells NUL or a lone surrogate. */
static size_t escape_len(struct mr_str s, size_t at, bool *bad)
{
    int32_t unit = escape_at(s, at);

    *bad = false;
    if (unit < 0)
        return at + 2 <= s.len ? 2 : 1;
    if (is_high(unit) && is_low(escape_at(s, at + 6)))
        return 12;
    *bad = unit == 0 || is_high(unit) || is_low(unit);
    return 6;
}

static struct mr_str repair_escapes(struct mr_str s, bool replace, struct mr_arena *ar)
{
    if (mr_str_find(s, '\\') < 0)
        return s;

    char *out = mr_arena_alloc(ar, s.len); /* what replaces an escape is shorter than it */
    size_t len = 0;
    for (size_t i = 0; i < s.len;) {
        bool bad = false;
        size_t step = s.ptr[i] == '\\' ? escape_len(s, i, &bad) : 1;
        if (!bad) {
            memcpy(out + len, s.ptr + i, step);
            len += step;
        } else if (replace) {
            memcpy(out + len, REPLACEMENT, sizeof(REPLACEMENT) - 1);
            len += sizeof(REPLACEMENT) - 1;
        }
        i += step;
    }
    return mr_str_of(out, len);
}

static struct mr_value repair_array(struct mr_value v, bool replace, struct mr_arena *ar)
{
    const struct mr_array *from = mr_value_array(v);
    struct mr_array *array = mr_arena_alloc(ar, sizeof *array);
    struct mr_value *items = mr_arena_alloc(ar, (from->count + 1) * sizeof *items);

    for (uint32_t i = 0; i < from->count; i++)
        items[i] = from->items[i].tag == MR_V_TEXT && from->items[i].flags
                       ? mr_text_repair(from->items[i], replace, ar)
                       : from->items[i];
    *array = *from;
    array->items = items;
    array->json = mr_value_str(mr_text_repair(mr_value_json_of_array(v), replace, ar));
    return mr_value_of_array(array, 0);
}

struct mr_value mr_text_repair(struct mr_value v, bool replace, struct mr_arena *ar)
{
    if (v.tag == MR_V_ARRAY)
        return repair_array(v, replace, ar);

    struct mr_str text = mr_utf8_repair(mr_value_str(v), replace, ar);

    if (v.tag == MR_V_JSON)
        text = repair_escapes(text, replace, ar);
    return mr_value_bytes((enum mr_tag)v.tag, text);
}
