/* The JSON event reader: text to tape in one pass. No recursion: while a container is open, its `next` holds the index of the container
 * around it, so the tape is the stack. Strings are scanned in json_string.c, reading the tape is in json_read.c, writing
 * text from it in json_text.c. */
#include "json.h"

#include <millrace/base/mem.h>

#include "json_parts.h"

/* A tape this large is given back before a small document, so that one giant message does not cost memory for ever. */
#define KEEP_NODES ((size_t)1 << 18)

/* A text may have this many values and names, 320 MB of tape: a sane message of the greatest size has far fewer. */
#define MAX_NODES ((size_t)1 << 24)

struct mr_json_reader {
    struct mr_json_limits limits;
    struct mr_json_node *nodes;
    size_t cap;
    uint32_t *order; /* for the repeated names of large objects */
    size_t order_cap;
};

/* ---- numbers and words ---- */

static bool digits(struct mr_json_scan *s)
{
    if (s->p == s->end || *s->p < '0' || *s->p > '9') {
        s->expected = "a digit";
        return false;
    }
    while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
        s->p++;
    return true;
}

static bool scan_word(struct mr_json_scan *s, const char *word, size_t len, uint8_t kind,
                      struct mr_json_node *node)
{
    if ((size_t)(s->end - s->p) < len || memcmp(s->p, word, len) != 0) {
        s->expected = "a value";
        return false;
    }
    node->kind = kind;
    node->offset = (uint32_t)(s->p - s->begin);
    node->len = (uint32_t)len;
    s->p += len;
    return true;
}

static bool scan_number(struct mr_json_scan *s, struct mr_json_node *node)
{
    const unsigned char *start = s->p;
    unsigned flags = 0;

    if (*s->p == '-') {
        if (s->allow_words && s->end - s->p > 1 && s->p[1] == 'I')
            return scan_word(s, "-Infinity", 9, MR_J_WORD, node);
        s->p++;
    }
    if (s->p < s->end && *s->p == '0')
        s->p++; /* a leading zero stands alone */
    else if (!digits(s))
        return false;
    if (s->p < s->end && *s->p == '.') {
        s->p++;
        flags = MR_JSON_FRACTION;
        if (!digits(s))
            return false;
    }
    if (s->p < s->end && (*s->p == 'e' || *s->p == 'E')) {
        s->p++;
        flags = MR_JSON_FRACTION;
        if (s->p < s->end && (*s->p == '+' || *s->p == '-'))
            s->p++;
        if (!digits(s))
            return false;
    }
    node->kind = MR_J_NUMBER;
    node->flags = (uint8_t)flags;
    node->offset = (uint32_t)(start - s->begin);
    node->len = (uint32_t)(s->p - start);
    return true;
}

/* ---- structure ---- */

static inline void skip_blanks(struct mr_json_scan *s)
{
    while (s->p < s->end && *s->p <= ' ' &&
           (*s->p == ' ' || *s->p == '\n' || *s->p == '\r' || *s->p == '\t'))
        s->p++;
}

static bool grow_tape(struct mr_json_scan *s)
{
    struct mr_json_reader *reader = s->reader;

    if (s->count >= MAX_NODES) {
        s->is_too_large = true;
        return false;
    }
    reader->nodes = mr_xgrow(reader->nodes, &reader->cap, (size_t)s->count + 1, sizeof *reader->nodes);
    return true;
}

/* A new node at the end of the tape, or NULL; the pointer holds until the next one. */
static inline struct mr_json_node *add_node(struct mr_json_scan *s)
{
    struct mr_json_reader *reader = s->reader;

    if (s->count == reader->cap && !grow_tape(s))
        return NULL;

    struct mr_json_node *node = &reader->nodes[s->count++];
    node->flags = 0;
    node->reserved = 0;
    node->count = 0;
    node->next = s->count;
    return node;
}

static bool open_container(struct mr_json_scan *s, uint8_t kind, struct mr_json_node *node)
{
    if (s->depth == s->reader->limits.max_depth) {
        s->expected = "no nesting beyond limits.depth";
        return false;
    }
    node->kind = kind;
    node->offset = (uint32_t)(s->p - s->begin);
    node->next = s->open; /* until it is closed */
    s->open = s->count - 1;
    s->depth++;
    s->p++;
    return true;
}

/* p is at the closing bracket. */
static void close_container(struct mr_json_scan *s)
{
    struct mr_json_reader *reader = s->reader;
    uint32_t index = s->open;
    struct mr_json_node *node = &reader->nodes[index];

    s->p++;
    s->open = node->next;
    s->depth--;
    node->next = s->count;
    node->len = (uint32_t)(s->p - s->begin) - node->offset;

    if (node->kind == MR_J_OBJECT && node->count > MR_JSON_LARGE_OBJECT) {
        reader->order = mr_xgrow(reader->order, &reader->order_cap, mr_json_order_room(node->count),
                                 sizeof *reader->order);
        mr_json_mark_shadowed((const char *)s->begin, reader->nodes, index, reader->order);
    }
}

/* The value at p, which is no blank. A container is only opened. */
static bool scan_value(struct mr_json_scan *s)
{
    if (s->p == s->end) {
        s->expected = "a value";
        return false;
    }
    struct mr_json_node *node = add_node(s);
    if (node == NULL)
        return false;

    switch (*s->p) {
    case '"':
        s->p++;
        return mr_json_scan_string(s, node);
    case '{':
        return open_container(s, MR_J_OBJECT, node);
    case '[':
        return open_container(s, MR_J_ARRAY, node);
    case 't':
        return scan_word(s, "true", 4, MR_J_TRUE, node);
    case 'f':
        return scan_word(s, "false", 5, MR_J_FALSE, node);
    case 'n':
        return scan_word(s, "null", 4, MR_J_NULL, node);
    case '-': case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7': case '8': case '9':
        return scan_number(s, node);
    case 'N':
        if (s->allow_words)
            return scan_word(s, "NaN", 3, MR_J_WORD, node);
        break;
    case 'I':
        if (s->allow_words)
            return scan_word(s, "Infinity", 8, MR_J_WORD, node);
        break;
    default:
        break;
    }
    s->expected = "a value";
    return false;
}

/* In an object: the name, the colon, and the blanks up to the value. */
static bool scan_name(struct mr_json_scan *s)
{
    if (s->p == s->end || *s->p != '"') {
        s->expected = "a member name in quotation marks";
        return false;
    }
    struct mr_json_node *node = add_node(s);
    if (node == NULL)
        return false;
    s->p++;
    if (!mr_json_scan_string(s, node))
        return false;
    skip_blanks(s);
    if (s->p == s->end || *s->p != ':') {
        s->expected = "a colon";
        return false;
    }
    s->p++;
    skip_blanks(s);
    return true;
}

/* Just behind an opening bracket: an empty container is closed, otherwise p is left at the first value. */
static bool enter_container(struct mr_json_scan *s, bool *is_closed)
{
    bool is_object = s->reader->nodes[s->open].kind == MR_J_OBJECT;

    *is_closed = false;
    skip_blanks(s);
    if (s->p < s->end && *s->p == (is_object ? '}' : ']')) {
        close_container(s);
        *is_closed = true;
        return true;
    }
    if (is_object && (s->p == s->end || *s->p != '"')) {
        s->expected = "a member name in quotation marks or \"}\"";
        return false;
    }
    s->reader->nodes[s->open].count = 1;
    return is_object ? scan_name(s) : true;
}

/* Behind a value: close what closes, and leave p at the next value, or at the end of the outermost. */
static bool leave_value(struct mr_json_scan *s)
{
    while (s->open != MR_JSON_NONE) {
        struct mr_json_node *node = &s->reader->nodes[s->open];
        bool is_object = node->kind == MR_J_OBJECT;

        skip_blanks(s);
        if (s->p < s->end && *s->p == ',') {
            node->count++;
            s->p++;
            skip_blanks(s);
            return is_object ? scan_name(s) : true;
        }
        if (s->p == s->end || *s->p != (is_object ? '}' : ']')) {
            s->expected = is_object ? "\",\" or \"}\"" : "\",\" or \"]\"";
            return false;
        }
        close_container(s);
    }
    return true;
}

static bool scan_document(struct mr_json_scan *s)
{
    if (s->end - s->p >= 3 && memcmp(s->p, "\xEF\xBB\xBF", 3) == 0)
        s->p += 3;
    skip_blanks(s);
    do {
        bool is_closed = true;
        uint32_t depth = s->depth;

        if (!scan_value(s))
            return false;
        if (s->depth > depth && !enter_container(s, &is_closed))
            return false;
        if (is_closed && !leave_value(s))
            return false;
    } while (s->open != MR_JSON_NONE);

    skip_blanks(s);
    if (s->p != s->end) {
        s->expected = "nothing more after the value";
        return false;
    }
    return true;
}

/* ---- public ---- */

struct mr_json_reader *mr_json_reader_create(const struct mr_json_limits *limits)
{
    struct mr_json_reader *reader = mr_xcalloc(1, sizeof *reader);

    reader->limits = *limits;
    return reader;
}

void mr_json_reader_destroy(struct mr_json_reader *reader)
{
    if (reader == NULL)
        return;
    mr_xfree(reader->order);
    mr_xfree(reader->nodes);
    mr_xfree(reader);
}

static enum mr_status bad_json(const struct mr_json_scan *s, struct mr_error *err)
{
    size_t at = (size_t)(s->p - s->begin);

    if (s->is_too_large)
        return mr_fail_data(err, MR_CODE_TOO_LARGE, "a JSON text of more than %zu values", MAX_NODES);
    if (s->p == s->end)
        return mr_fail_data(err, MR_CODE_BAD_JSON, "not JSON: expected %s at byte %zu, found the end",
                            s->expected, at);
    if (*s->p > ' ' && *s->p < 0x7F)
        return mr_fail_data(err, MR_CODE_BAD_JSON, "not JSON: expected %s at byte %zu, found '%c'",
                            s->expected, at, *s->p);
    return mr_fail_data(err, MR_CODE_BAD_JSON, "not JSON: expected %s at byte %zu, found byte 0x%02X",
                        s->expected, at, *s->p);
}

enum mr_status mr_json_parse(struct mr_json_reader *reader, struct mr_str text, struct mr_json_doc *out,
                             struct mr_error *err)
{
    /* Offsets have 32 bits; a node takes two bytes of text or more, so node indexes always fit. */
    if (text.len > reader->limits.max_bytes || text.len >= UINT32_MAX)
        return mr_fail_data(err, MR_CODE_TOO_LARGE, "a JSON text of %zu bytes is beyond the limit of %llu",
                            text.len, (unsigned long long)reader->limits.max_bytes);
    if (reader->cap > KEEP_NODES && text.len < KEEP_NODES) {
        mr_xfree(reader->nodes);
        reader->nodes = NULL;
        reader->cap = 0;
    }

    const unsigned char *begin = (const unsigned char *)(text.ptr ? text.ptr : "");
    struct mr_json_scan s = {.reader = reader, .begin = begin, .p = begin, .end = begin + text.len,
                     .open = MR_JSON_NONE,
                              .allow_words = reader->limits.allow_words,
                              .allow_ill_formed = reader->limits.allow_ill_formed};
    if (!scan_document(&s))
        return bad_json(&s, err);

    *out = (struct mr_json_doc){.text = text, .nodes = reader->nodes, .node_count = s.count};
    return MR_OK;
}

enum mr_status mr_json_parse_arena(struct mr_json_reader *reader, struct mr_str text,
                                   struct mr_arena *ar, struct mr_json_doc *out, struct mr_error *err)
{
    MR_TRY(mr_json_parse(reader, text, out, err));

    size_t size = (size_t)out->node_count * sizeof *out->nodes;
    void *copy = mr_arena_alloc(ar, size);
    memcpy(copy, out->nodes, size);
    out->nodes = copy;
    return MR_OK;
}
