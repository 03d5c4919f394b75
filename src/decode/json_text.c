/* From the tape back to compact text. Between two tokens of a JSON text stand only structural characters and blanks, so the text is made
 * of the tokens as they are and the gaps without their blanks: no stack, no knowledge of nesting. */
#include "json.h"

#include <millrace/base/mem.h>
#include <millrace/base/utf8.h>

#include "json_parts.h"

/* What one look over the nodes tells. */
struct survey {
    size_t compact;   /* length without blanks */
    bool has_word;    /* has to be quoted */
    bool has_shadowed;
    unsigned flags;   /* MR_TEXT_… of all strings */
};

static void survey_object(const struct mr_json_doc *doc, uint32_t object, struct survey *sv)
{
    for (uint32_t n = mr_json_first(doc, object); n != MR_JSON_NONE && !sv->has_shadowed;
         n = mr_json_next_in(doc, object, n))
        sv->has_shadowed = mr_json_is_shadowed(doc, object, n);
}

static struct survey survey(const struct mr_json_doc *doc, uint32_t root)
{
    struct survey sv = {0};
    unsigned strings = 0;

    for (uint32_t n = root; n < doc->nodes[root].next; n++) {
        const struct mr_json_node *node = &doc->nodes[n];

        switch ((enum mr_json_kind)node->kind) {
        case MR_J_NULL: case MR_J_FALSE: case MR_J_TRUE: case MR_J_NUMBER:
            sv.compact += node->len;
            break;
        case MR_J_WORD:
            sv.has_word = true;
            break;
        case MR_J_STRING:
            sv.compact += (size_t)node->len + 2;
            strings |= node->flags;
            break;
        case MR_J_ARRAY:
            sv.compact += 2 + (node->count > 0 ? (size_t)node->count - 1 : 0);
            break;
        case MR_J_OBJECT: /* a comma less than members, a colon for each */
            sv.compact += 2 + (node->count > 0 ? 2 * (size_t)node->count - 1 : 0);
            if (node->count > 1 && !sv.has_shadowed)
                survey_object(doc, n, &sv);
            break;
        }
    }
    sv.flags = ((strings & MR_JSON_NUL) ? (unsigned)MR_TEXT_HAS_NUL : 0) |
               ((strings & MR_JSON_SURROGATE) ? (unsigned)MR_TEXT_HAS_SURROGATE : 0) |
               ((strings & MR_JSON_ILL_FORMED) ? (unsigned)MR_TEXT_ILL_FORMED : 0);
    return sv;
}

/* One bit a node of the subtree: a name that a later member hides. Owned by the caller. */
static unsigned char *shadow_map(const struct mr_json_doc *doc, uint32_t root)
{
    uint32_t end = doc->nodes[root].next;
    unsigned char *map = mr_xcalloc((size_t)(end - root) / 8 + 1, 1);

    for (uint32_t o = root; o < end; o++) {
        if (doc->nodes[o].kind != MR_J_OBJECT)
            continue;
        for (uint32_t n = mr_json_first(doc, o); n != MR_JSON_NONE; n = mr_json_next_in(doc, o, n)) {
            if (mr_json_is_shadowed(doc, o, n))
                map[(n - root) / 8] |= (unsigned char)(1u << ((n - root) % 8));
        }
    }
    return map;
}

/* The structural characters from `from` to `to`; the comma behind a member that was left out is left out too. */
static void append_gap(const char *from, const char *to, bool *skip_comma, struct mr_buf *out)
{
    for (; from < to; from++) {
        if (*from == ' ' || *from == '\n' || *from == '\r' || *from == '\t')
            continue;
        if (*from == ',' && *skip_comma)
            *skip_comma = false;
        else
            mr_buf_append_char(out, *from);
    }
}

static void append_compact(const struct mr_json_doc *doc, uint32_t root, const unsigned char *shadowed,
                           struct mr_buf *out)
{
    const char *text = doc->text.ptr;
    const char *at = text + doc->nodes[root].offset - (doc->nodes[root].kind == MR_J_STRING);
    bool skip_comma = false;

    for (uint32_t n = root; n < doc->nodes[root].next;) {
        const struct mr_json_node *node = &doc->nodes[n];
        const char *start = text + node->offset;

        if (node->kind >= MR_J_ARRAY) { /* its brackets stand in gaps */
            n++;
            continue;
        }
        bool is_string = node->kind == MR_J_STRING;
        append_gap(at, start - is_string, &skip_comma, out);
        at = start + node->len + is_string;
        if (shadowed != NULL && (shadowed[(n - root) / 8] >> ((n - root) % 8) & 1) != 0) {
            const struct mr_json_node *value = &doc->nodes[n + 1];
            at = text + value->offset + value->len + (value->kind == MR_J_STRING);
            skip_comma = true; /* there is one: the member that hides this one follows */
            n = value->next;
            continue;
        }
        if (is_string || node->kind == MR_J_WORD) {
            mr_buf_append_char(out, '"');
            mr_buf_append(out, start, node->len);
            mr_buf_append_char(out, '"');
        } else {
            mr_buf_append(out, start, node->len);
        }
        n++;
    }
    const struct mr_json_node *node = &doc->nodes[root];
    append_gap(at, text + node->offset + node->len + (node->kind == MR_J_STRING), &skip_comma, out);
}

static void append_surveyed(const struct mr_json_doc *doc, uint32_t node, const struct survey *sv,
                            struct mr_buf *out)
{
    unsigned char *shadowed = sv->has_shadowed ? shadow_map(doc, node) : NULL;

    append_compact(doc, node, shadowed, out);
    mr_xfree(shadowed);
}

void mr_json_append(const struct mr_json_doc *doc, uint32_t node, struct mr_buf *out)
{
    if (node == MR_JSON_NONE)
        return;
    struct survey sv = survey(doc, node);
    append_surveyed(doc, node, &sv, out);
}

struct mr_str mr_json_text(const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar,
                           unsigned *flags)
{
    if (flags != NULL)
        *flags = 0;
    if (node == MR_JSON_NONE)
        return (struct mr_str){NULL, 0};

    const struct mr_json_node *root = &doc->nodes[node];
    bool is_string = root->kind == MR_J_STRING;
    size_t raw = root->len + (is_string ? 2u : 0u);
    struct survey sv = survey(doc, node);
    if (flags != NULL)
        *flags = sv.flags;
    if (!sv.has_word && !sv.has_shadowed && sv.compact == raw)
        return mr_str_of(doc->text.ptr + root->offset - is_string, raw);

    if (!sv.has_word && !sv.has_shadowed) { /* its length is known: written where it stays */
        struct mr_buf exact = {.data = mr_arena_alloc(ar, sv.compact), .cap = sv.compact, .max = sv.compact};
        append_compact(doc, node, NULL, &exact);
        return mr_buf_str(&exact);
    }

    struct mr_buf buf = MR_BUF_INIT(3 * raw + 2); /* words grow by their quotation marks */
    append_surveyed(doc, node, &sv, &buf);
    struct mr_str copy = mr_arena_copy(ar, mr_buf_str(&buf));
    mr_buf_free(&buf);
    return copy;
}
