/* Reading the tape: members, iteration, strings, integers. */
#include "json.h"

#include <millrace/base/utf8.h>

#include "json_parts.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

static const char *text_at(const struct mr_json_doc *doc, const struct mr_json_node *node)
{
    return doc->text.ptr + node->offset;
}

/* Does a string with escapes unescape to `text`? */
static bool escaped_is(const struct mr_json_doc *doc, const struct mr_json_node *node,
                       struct mr_str text)
{
    const char *p = text_at(doc, node), *end = p + node->len;
    size_t at = 0;

    if (node->len < text.len) /* unescaping never lengthens */
        return false;
    while (p < end) {
        char part[4];
        size_t len = 1;

        if (*p == '\\')
            len = mr_json_unescape(&p, end, part);
        else
            part[0] = *p++;
        if (text.len - at < len || memcmp(text.ptr + at, part, len) != 0)
            return false;
        at += len;
    }
    return at == text.len;
}

static inline bool string_is(const struct mr_json_doc *doc, const struct mr_json_node *node,
                             struct mr_str text)
{
    if ((node->flags & MR_JSON_ESCAPED) != 0)
        return escaped_is(doc, node, text);
    return mr_str_eq(mr_str_of(text_at(doc, node), node->len), text);
}

bool mr_json_is(const struct mr_json_doc *doc, uint32_t node, enum mr_json_kind kind)
{
    return node != MR_JSON_NONE && doc->nodes[node].kind == kind;
}

uint32_t mr_json_member(const struct mr_json_doc *doc, uint32_t object, struct mr_str name)
{
    if (!mr_json_is(doc, object, MR_J_OBJECT))
        return MR_JSON_NONE;

    uint32_t found = MR_JSON_NONE;
    uint32_t end = doc->nodes[object].next;
    for (uint32_t n = object + 1; n < end; n = doc->nodes[n + 1].next) {
        if (string_is(doc, &doc->nodes[n], name))
            found = n + 1;
    }
    return found;
}

uint32_t mr_json_first(const struct mr_json_doc *doc, uint32_t parent)
{
    if (parent == MR_JSON_NONE || doc->nodes[parent].kind < MR_J_ARRAY || doc->nodes[parent].count == 0)
        return MR_JSON_NONE;
    return parent + 1;
}

uint32_t mr_json_next_in(const struct mr_json_doc *doc, uint32_t parent, uint32_t node)
{
    if (parent == MR_JSON_NONE || node == MR_JSON_NONE)
        return MR_JSON_NONE;

    uint32_t value = doc->nodes[parent].kind == MR_J_OBJECT ? node + 1 : node;
    uint32_t next = doc->nodes[value].next;
    return next < doc->nodes[parent].next ? next : MR_JSON_NONE;
}

struct mr_str mr_json_raw(const struct mr_json_doc *doc, uint32_t node)
{
    if (node == MR_JSON_NONE)
        return (struct mr_str){NULL, 0};
    return mr_str_of(text_at(doc, &doc->nodes[node]), doc->nodes[node].len);
}

/* Copy up to the next backslash; returns the bytes copied. Never writes beyond out + (end - p). */
static size_t copy_plain(const char *p, const char *end, char *out)
{
    size_t len = (size_t)(end - p), i = 0;

#ifdef __SSE2__
    const __m128i backslash = _mm_set1_epi8('\\');
    for (; len - i >= 16; i += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
        _mm_storeu_si128((__m128i *)(void *)(out + i), v);
        unsigned mask = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, backslash));
        if (mask != 0)
            return i + (size_t)__builtin_ctz(mask);
    }
#endif
    for (; i < len && p[i] != '\\'; i++)
        out[i] = p[i];
    return i;
}

/* Resolve the escapes of a string into `out`, which has room for the string as it stands; returns the length. What is left to write is never
 * longer than what is left to read, so whole blocks may be copied ahead. */
static size_t unescape(const char *p, const char *end, char *out)
{
    size_t len = 0;

    while (p < end) {
        size_t plain = copy_plain(p, end, out + len);
        p += plain;
        len += plain;
        if (p < end) {
            char part[4];
            size_t n = mr_json_unescape(&p, end, part);
            memcpy(out + len, part, n);
            len += n;
        }
    }
    return len;
}

struct mr_str mr_json_string(const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar,
                             unsigned *flags)
{
    if (flags != NULL)
        *flags = 0;
    if (!mr_json_is(doc, node, MR_J_STRING))
        return (struct mr_str){NULL, 0};

    const struct mr_json_node *string = &doc->nodes[node];
    const char *p = text_at(doc, string);
    struct mr_str text = mr_str_of(p, string->len);
    if ((string->flags & MR_JSON_ESCAPED) != 0) {
        char *out = mr_arena_alloc(ar, string->len);
        text = mr_str_of(out, unescape(p, p + string->len, out));
    }
    if (flags != NULL && (string->flags & (MR_JSON_NUL | MR_JSON_SURROGATE | MR_JSON_ILL_FORMED)) != 0)
        *flags = mr_utf8_check(text) | ((string->flags & MR_JSON_ILL_FORMED) ? (unsigned)MR_TEXT_ILL_FORMED : 0);
    return text;
}

bool mr_json_string_is(const struct mr_json_doc *doc, uint32_t node, struct mr_str text)
{
    return mr_json_is(doc, node, MR_J_STRING) && string_is(doc, &doc->nodes[node], text);
}

bool mr_json_int64(const struct mr_json_doc *doc, uint32_t node, int64_t *out)
{
    if (!mr_json_is(doc, node, MR_J_NUMBER) || (doc->nodes[node].flags & MR_JSON_FRACTION) != 0)
        return false;
    return mr_parse_int64(mr_json_raw(doc, node), out);
}
