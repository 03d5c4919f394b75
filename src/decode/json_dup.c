/* Names of members as they compare once unescaped, and which member of an object a later one of the same name hides. */
#include <stdlib.h>

#include "json_parts.h"

#include <millrace/base/hash.h>
#include <millrace/base/utf8.h>

#define MAX_HASHED 4096 /* members; rows have no more columns, and what has more may take longer */

static uint32_t hex4(const char *p)
{
    uint32_t v = 0;

    for (int i = 0; i < 4; i++) {
        char c = p[i];
        v = v * 16 + (uint32_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return v;
}

size_t mr_json_unescape(const char **p, const char *end, char out[4])
{
    const char *at = *p + 1;

    *p += 2;
    switch (*at) {
    case 'b': out[0] = '\b'; return 1;
    case 'f': out[0] = '\f'; return 1;
    case 'n': out[0] = '\n'; return 1;
    case 'r': out[0] = '\r'; return 1;
    case 't': out[0] = '\t'; return 1;
    case 'u': break;
    default: out[0] = *at; return 1;
    }

    uint32_t code = hex4(at + 1);
    *p += 4;
    if (code >= 0xD800 && code < 0xDC00 && end - *p >= 6 && (*p)[0] == '\\' && (*p)[1] == 'u') {
        uint32_t low = hex4(*p + 2);
        if (low >= 0xDC00 && low <= 0xDFFF) {
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            *p += 6;
        }
    }
    return mr_utf8_encode(code, out);
}

/* The bytes of a string one after another, escapes resolved. */
struct cursor {
    const char *p, *end;
    char part[4]; /* what the last escape gave */
    size_t len, at;
};

static int next_byte(struct cursor *c)
{
    if (c->at < c->len)
        return (unsigned char)c->part[c->at++];
    if (c->p == c->end)
        return -1;
    if (*c->p != '\\')
        return (unsigned char)*c->p++;
    c->len = mr_json_unescape(&c->p, c->end, c->part);
    c->at = 1;
    return (unsigned char)c->part[0];
}

int mr_json_compare_strings(const char *text, const struct mr_json_node *a,
                            const struct mr_json_node *b)
{
    if (((a->flags | b->flags) & MR_JSON_ESCAPED) == 0)
        return mr_str_cmp(mr_str_of(text + a->offset, a->len), mr_str_of(text + b->offset, b->len));

    struct cursor ca = {.p = text + a->offset, .end = text + a->offset + a->len};
    struct cursor cb = {.p = text + b->offset, .end = text + b->offset + b->len};
    for (;;) {
        int x = next_byte(&ca), y = next_byte(&cb);
        if (x != y)
            return x < y ? -1 : 1; /* the end comes before every byte */
        if (x < 0)
            return 0;
    }
}

struct order_context {
    const char *text;
    const struct mr_json_node *nodes;
};

/* By name, then by place. */
static int compare_names(const void *a, const void *b, void *arg)
{
    const struct order_context *ctx = arg;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int order = mr_json_compare_strings(ctx->text, &ctx->nodes[x], &ctx->nodes[y]);

    return order != 0 ? order : (x > y) - (x < y);
}

static uint32_t table_size(uint32_t count)
{
    uint32_t size = 128;

    while (size < count * 2)
        size *= 2;
    return size;
}

size_t mr_json_order_room(uint32_t member_count)
{
    return member_count <= MAX_HASHED ? table_size(member_count) : member_count;
}

/* Do all names differ, as they nearly always do? False is no answer: a repeated name, an escape, or names that were chosen to meet in one
 * place. */
static bool all_differ(const char *text, const struct mr_json_node *nodes, uint32_t object, uint32_t *table)
{
    uint32_t count = nodes[object].count, mask = table_size(count) - 1, steps = 0;

    if (count > MAX_HASHED)
        return false;
    memset(table, 0, ((size_t)mask + 1) * sizeof *table);
    for (uint32_t n = object + 1; n < nodes[object].next; n = nodes[n + 1].next) {
        const struct mr_json_node *name = &nodes[n];

        if (name->flags & MR_JSON_ESCAPED)
            return false;
        uint32_t slot = (uint32_t)mr_hash(text + name->offset, name->len, 0) & mask;
        for (; table[slot] != 0; slot = (slot + 1) & mask) {
            const struct mr_json_node *other = &nodes[table[slot]];
            if (++steps > 4 * count || (other->len == name->len &&
                                        memcmp(text + other->offset, text + name->offset, name->len) == 0))
                return false;
        }
        table[slot] = n; /* never 0: that is the document's root */
    }
    return true;
}

void mr_json_mark_shadowed(const char *text, struct mr_json_node *nodes, uint32_t object, uint32_t *room)
{
    struct order_context ctx = {text, nodes};
    uint32_t *order = room;
    uint32_t count = 0;

    if (all_differ(text, nodes, object, room))
        return;
    for (uint32_t n = object + 1; n < nodes[object].next; n = nodes[n + 1].next)
        order[count++] = n;
    qsort_r(order, count, sizeof *order, compare_names, &ctx);
    for (uint32_t i = 0; i + 1 < count; i++) {
        if (mr_json_compare_strings(text, &nodes[order[i]], &nodes[order[i + 1]]) == 0)
            nodes[order[i]].flags |= MR_JSON_SHADOWED;
    }
}

bool mr_json_is_shadowed(const struct mr_json_doc *doc, uint32_t object, uint32_t name)
{
    if (object == MR_JSON_NONE || name == MR_JSON_NONE)
        return false;

    const struct mr_json_node *nodes = doc->nodes;
    if (nodes[object].count > MR_JSON_LARGE_OBJECT)
        return (nodes[name].flags & MR_JSON_SHADOWED) != 0;

    const struct mr_json_node *mine = &nodes[name];
    uint32_t end = nodes[object].next;
    for (uint32_t n = nodes[name + 1].next; n < end; n = nodes[n + 1].next) {
        /* Without escapes names of different lengths differ. */
        if (((mine->flags | nodes[n].flags) & MR_JSON_ESCAPED) == 0 && mine->len != nodes[n].len)
            continue;
        if (mr_json_compare_strings(doc->text.ptr, mine, &nodes[n]) == 0)
            return true;
    }
    return false;
}
