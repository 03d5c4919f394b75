/* See json_build.h. Text and nodes grow side by side; a container learns its length and its `next` when it is closed. */
#include "json_build.h"

#include <math.h>
#include <stdio.h>

#include <millrace/base/decimal.h>
#include <millrace/base/encode.h>
#include <millrace/base/mem.h>
#include <millrace/base/utf8.h>

void mr_json_build_init(struct mr_json_build *b, uint64_t max_bytes)
{
    *b = (struct mr_json_build){0};
    b->text = MR_BUF_INIT(max_bytes > UINT32_MAX / 2 ? UINT32_MAX / 2 : (size_t)max_bytes);
}

void mr_json_build_free(struct mr_json_build *b)
{
    mr_buf_free(&b->text);
    mr_xfree(b->nodes);
    b->nodes = NULL;
}

void mr_json_build_reset(struct mr_json_build *b)
{
    mr_buf_clear(&b->text);
    b->text.overflow = false;
    b->count = 0;
    b->depth = 0;
    b->is_too_deep = false;
}

static struct mr_json_node *push(struct mr_json_build *b, enum mr_json_kind kind)
{
    b->nodes = mr_xgrow(b->nodes, &b->cap, b->count + 1, sizeof(*b->nodes));
    struct mr_json_node *n = &b->nodes[b->count++];
    *n = (struct mr_json_node){
        .kind = (uint8_t)kind, .next = (uint32_t)b->count, .offset = (uint32_t)b->text.len};
    return n;
}

/* The separator before a value, and the count of what it stands in. */
static void before_value(struct mr_json_build *b)
{
    if (b->depth == 0)
        return;
    struct mr_json_node *in = &b->nodes[b->open[b->depth - 1]];
    if (in->kind == MR_J_OBJECT)
        return; /* its name has done it */
    if (in->count++ != 0)
        mr_buf_append_char(&b->text, ',');
}

/* Once the text is full nothing more is kept: the document is refused at its end. */
static bool is_full(const struct mr_json_build *b)
{
    return b->text.overflow || b->is_too_deep;
}

void mr_json_build_open(struct mr_json_build *b, enum mr_json_kind kind)
{
    if (b->depth == MR_JSON_BUILD_DEPTH)
        b->is_too_deep = true;
    if (is_full(b))
        return;
    before_value(b);
    push(b, kind);
    b->open[b->depth++] = (uint32_t)b->count - 1;
    mr_buf_append_char(&b->text, kind == MR_J_OBJECT ? '{' : '[');
}

void mr_json_build_close(struct mr_json_build *b)
{
    if (is_full(b) || b->depth == 0)
        return;
    struct mr_json_node *n = &b->nodes[b->open[--b->depth]];
    mr_buf_append_char(&b->text, n->kind == MR_J_OBJECT ? '}' : ']');
    n->next = (uint32_t)b->count;
    n->len = (uint32_t)b->text.len - n->offset;
}

/* A quoted text; its node is `n`, which must be the last one pushed. */
static void quoted(struct mr_json_build *b, struct mr_str s, unsigned text_flags)
{
    static const char hex[] = "0123456789abcdef";
    mr_buf_append_char(&b->text, '"');
    size_t start = b->text.len, from = 0;
    unsigned flags = 0;
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        mr_buf_append(&b->text, s.ptr + from, i - from);
        from = i + 1;
        flags |= MR_JSON_ESCAPED;
        if (c >= 0x20) {
            char pair[2] = {'\\', (char)c};
            mr_buf_append(&b->text, pair, 2);
        } else {
            char six[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
            mr_buf_append(&b->text, six, 6);
        }
    }
    mr_buf_append(&b->text, s.ptr + from, s.len - from);
    struct mr_json_node *n = &b->nodes[b->count - 1];
    flags |= text_flags & MR_TEXT_HAS_NUL ? MR_JSON_NUL : 0u;
    flags |= text_flags & MR_TEXT_HAS_SURROGATE ? MR_JSON_SURROGATE : 0u;
    flags |= text_flags & MR_TEXT_ILL_FORMED ? MR_JSON_ILL_FORMED : 0u;
    n->flags = (uint8_t)flags;
    n->offset = (uint32_t)start;
    n->len = (uint32_t)(b->text.len - start);
    mr_buf_append_char(&b->text, '"');
}

void mr_json_build_name(struct mr_json_build *b, struct mr_str name)
{
    if (is_full(b) || b->depth == 0)
        return;
    if (b->nodes[b->open[b->depth - 1]].count++ != 0)
        mr_buf_append_char(&b->text, ',');
    push(b, MR_J_STRING);
    quoted(b, name, mr_utf8_check(name));
    mr_buf_append_char(&b->text, ':');
}

/* A text that is escaped already. */
static void copy_quoted(struct mr_json_build *b, const struct mr_json_doc *doc,
                        const struct mr_json_node *from, bool is_name)
{
    if (is_full(b))
        return;
    if (!is_name)
        before_value(b);
    else if (b->nodes[b->open[b->depth - 1]].count++ != 0)
        mr_buf_append_char(&b->text, ',');
    struct mr_json_node *n = push(b, MR_J_STRING);
    n->flags = from->flags;
    mr_buf_append_char(&b->text, '"');
    n->offset = (uint32_t)b->text.len;
    n->len = from->len;
    mr_buf_append(&b->text, doc->text.ptr + from->offset, from->len);
    mr_buf_append_char(&b->text, '"');
    if (is_name)
        mr_buf_append_char(&b->text, ':');
}

static void plain(struct mr_json_build *b, enum mr_json_kind kind, struct mr_str text)
{
    if (is_full(b))
        return;
    before_value(b);
    struct mr_json_node *n = push(b, kind);
    n->len = (uint32_t)text.len;
    mr_buf_append_str(&b->text, text);
}

void mr_json_build_null(struct mr_json_build *b)
{
    plain(b, MR_J_NULL, MR_STR("null"));
}

void mr_json_build_bool(struct mr_json_build *b, bool v)
{
    plain(b, v ? MR_J_TRUE : MR_J_FALSE, v ? MR_STR("true") : MR_STR("false"));
}

static void whole(struct mr_json_build *b, bool is_negative, uint64_t v)
{
    char digits[24];
    size_t at = sizeof(digits);
    do {
        digits[--at] = (char)('0' + v % 10);
        v /= 10;
    } while (v != 0);
    if (is_negative)
        digits[--at] = '-';
    plain(b, MR_J_NUMBER, mr_str_of(digits + at, sizeof(digits) - at));
}

void mr_json_build_int(struct mr_json_build *b, int64_t v)
{
    whole(b, v < 0, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void mr_json_build_uint(struct mr_json_build *b, uint64_t v)
{
    whole(b, false, v);
}

void mr_json_build_number(struct mr_json_build *b, struct mr_str digits)
{
    if (is_full(b))
        return;
    plain(b, MR_J_NUMBER, digits);
    for (size_t i = 0; i < digits.len; i++) {
        if (digits.ptr[i] == '.' || digits.ptr[i] == 'e' || digits.ptr[i] == 'E')
            b->nodes[b->count - 1].flags = MR_JSON_FRACTION;
    }
}

/* 1.0, not 1: a float that is whole is no integer in a document. */
static void floating(struct mr_json_build *b, char text[40], size_t len, bool is_finite)
{
    if (!is_finite) {
        mr_json_build_string(b, mr_str_of(text, len), 0);
        return;
    }
    bool is_whole = true;
    for (size_t i = 0; i < len; i++)
        is_whole = is_whole && text[i] != '.' && text[i] != 'e' && text[i] != 'E';
    if (is_whole) {
        text[len++] = '.';
        text[len++] = '0';
    }
    mr_json_build_number(b, mr_str_of(text, len));
}

void mr_json_build_double(struct mr_json_build *b, double v)
{
    char text[40];
    floating(b, text, mr_double_text(v, text), isfinite(v));
}

void mr_json_build_float(struct mr_json_build *b, float v)
{
    char text[40];
    floating(b, text, mr_float_text(v, text), isfinite(v));
}

void mr_json_build_string(struct mr_json_build *b, struct mr_str s, unsigned text_flags)
{
    if (is_full(b))
        return;
    before_value(b);
    push(b, MR_J_STRING);
    quoted(b, s, text_flags);
}

void mr_json_build_base64(struct mr_json_build *b, struct mr_str bytes)
{
    if (is_full(b))
        return;
    before_value(b);
    struct mr_json_node *n = push(b, MR_J_STRING);
    mr_buf_append_char(&b->text, '"');
    n->offset = (uint32_t)b->text.len;
    mr_base64_append(&b->text, bytes);
    n->len = (uint32_t)b->text.len - n->offset;
    mr_buf_append_char(&b->text, '"');
}

/* Iterative: the nodes of the other document stand in the order of its text. */
void mr_json_build_copy(struct mr_json_build *b, const struct mr_json_doc *doc, uint32_t node)
{
    uint32_t ends[MR_JSON_BUILD_DEPTH], depth = 0;
    bool is_object[MR_JSON_BUILD_DEPTH];
    uint32_t end = doc->nodes[node].next, n = node;
    for (;;) {
        while (depth > 0 && n == ends[depth - 1]) {
            mr_json_build_close(b);
            depth--;
        }
        if (n >= end || is_full(b))
            return;
        const struct mr_json_node *from = &doc->nodes[n];
        if (depth > 0 && is_object[depth - 1]) {
            copy_quoted(b, doc, from, true);
            from = &doc->nodes[++n];
        }
        if (from->kind == MR_J_ARRAY || from->kind == MR_J_OBJECT) {
            mr_json_build_open(b, (enum mr_json_kind)from->kind);
            if (is_full(b))
                return;
            is_object[depth] = from->kind == MR_J_OBJECT;
            ends[depth++] = from->next;
        } else if (from->kind == MR_J_STRING) {
            copy_quoted(b, doc, from, false);
        } else {
            plain(b, (enum mr_json_kind)from->kind, mr_json_raw(doc, n));
            if (!is_full(b))
                b->nodes[b->count - 1].flags = from->flags;
        }
        n++;
    }
}

enum mr_status mr_json_build_finish(struct mr_json_build *b, struct mr_arena *ar, struct mr_json_doc *out,
                                    struct mr_error *err)
{
    MR_TRY(mr_buf_check(&b->text, "the decoded message", err));
    if (b->is_too_deep)
        return mr_fail_data(err, MR_CODE_LIMIT_EXCEEDED, "the message is nested more than %d deep",
                            MR_JSON_BUILD_DEPTH);
    if (b->count == 0 || b->depth != 0)
        return mr_fail(err, MR_E_BUG, "a decoded document is not complete");
    *out = (struct mr_json_doc){mr_arena_copy(ar, mr_buf_str(&b->text)), b->nodes, (uint32_t)b->count};
    return MR_OK;
}
