/* Extended JSON to the JSON that Kafka Connect would write. One loop over the containers, innermost on top; what is in a container is
 * written as it comes, so nothing recurses however deep the document is. */
#include "extjson.h"

#include <millrace/base/encode.h>
#include <millrace/base/map.h>
#include <millrace/base/utf8.h>

#include <stdio.h>

/* A scratch buffer larger than this is given back, so that one giant document does not cost memory for ever. */
#define KEEP_BYTES ((size_t)1 << 20)

/* A container that is being written. */
struct frame {
    struct frame *up;
    uint32_t node;     /* ARRAY or OBJECT */
    uint32_t next;     /* next element or name, NONE at the end */
    bool is_object;
    bool is_document; /* an ARRAY written as one: {"_0": …} */
    uint32_t index;   /* of the next element */
    bool has_any;      /* a comma goes before the next */
    bool closes_scope; /* it is the scope of code: one brace more at its end */
    struct mr_map *names; /* how many members want each adjusted name; NULL = no name of it has been adjusted yet */
};

struct render {
    struct mr_extjson *ej;
    const struct mr_json_doc *doc;
    struct mr_arena *ar;
    struct mr_buf *out;
    struct frame *top, *unused;
    unsigned strings; /* MR_JSON_… flags of all strings written */
};

/* A STRING node stays as it is escaped: JSON it came from, JSON it goes to. */
static void put_string(struct render *r, uint32_t node)
{
    r->strings |= r->doc->nodes[node].flags;
    mr_buf_append_char(r->out, '"');
    mr_buf_append_str(r->out, mr_json_raw(r->doc, node));
    mr_buf_append_char(r->out, '"');
}

/* Text without anything to escape. */
static void put_quoted(struct render *r, struct mr_str text)
{
    mr_buf_append_char(r->out, '"');
    mr_buf_append_str(r->out, text);
    mr_buf_append_char(r->out, '"');
}

/* The member's name, adjusted, in ej->name. False: it stays as it is. */
static bool adjust(struct render *r, uint32_t name)
{
    struct mr_str own = mr_json_string(r->doc, name, r->ar, NULL);

    mr_buf_clear(&r->ej->name);
    mr_field_name_append(r->ej->cfg->field_names, own, &r->ej->name);
    return !mr_str_eq(mr_buf_str(&r->ej->name), own);
}

static void count_names(struct render *r, struct frame *frame)
{
    frame->names = mr_map_create();
    for (uint32_t n = mr_json_first(r->doc, frame->node); n != MR_JSON_NONE; n = mr_json_next_in(r->doc, frame->node, n)) {
        if (mr_json_is_shadowed(r->doc, frame->node, n))
            continue;
        (void)adjust(r, n);
        struct mr_str name = mr_buf_str(&r->ej->name);
        mr_map_put(frame->names, name, (void *)((uintptr_t)mr_map_get(frame->names, name) + 1));
    }
}

static void put_name(struct render *r, struct frame *frame, uint32_t name)
{
    if (r->ej->cfg->field_names == MR_NAMES_NONE || !adjust(r, name)) {
        put_string(r, name);
        return;
    }
    if (frame->names == NULL) {
        count_names(r, frame);
        (void)adjust(r, name);
    }
    struct mr_str adjusted = mr_buf_str(&r->ej->name);
    if ((uintptr_t)mr_map_get(frame->names, adjusted) > 1)
        put_string(r, name);
    else
        put_quoted(r, adjusted); /* nothing in it needs an escape */
}

/* An element's position as a member's name. */
static void put_position(struct render *r, uint32_t index)
{
    char name[16];
    int len = snprintf(name, sizeof name, "_%u", index);

    mr_buf_clear(&r->ej->name);
    mr_field_name_append(r->ej->cfg->field_names, mr_str_of(name, (size_t)len), &r->ej->name);
    put_quoted(r, mr_buf_str(&r->ej->name));
    mr_buf_append_char(r->out, ':');
}

static void open_container(struct render *r, uint32_t node, bool closes_scope)
{
    struct frame *frame = r->unused;

    if (frame != NULL)
        r->unused = frame->up;
    else
        frame = mr_arena_alloc(r->ar, sizeof *frame);
    *frame = (struct frame){.up = r->top, .node = node, .next = mr_json_first(r->doc, node),
                            .is_object = mr_json_is(r->doc, node, MR_J_OBJECT),
                            .closes_scope = closes_scope};
    frame->is_document = !frame->is_object && r->ej->cfg->array_encoding == MR_ARRAY_DOCUMENT;
    r->top = frame;
    mr_buf_append_char(r->out, frame->is_object || frame->is_document ? '{' : '[');
}

static void close_container(struct render *r)
{
    struct frame *frame = r->top;

    mr_buf_append_char(r->out, frame->is_object || frame->is_document ? '}' : ']');
    if (frame->closes_scope)
        mr_buf_append_char(r->out, '}');
    mr_map_destroy(frame->names, NULL);
    r->top = frame->up;
    frame->up = r->unused;
    r->unused = frame;
}

/* Write a value; of a container only the beginning. Not for undefined. */
static void put_value(struct render *r, const struct mr_bson_value *value)
{
    switch (value->kind) {
    case MR_BSON_NULL:
    case MR_BSON_UNDEFINED:
        mr_buf_append_z(r->out, "null");
        break;
    case MR_BSON_BOOL:
        mr_buf_append_z(r->out, value->number ? "true" : "false");
        break;
    case MR_BSON_INT:
    case MR_BSON_DATE:
    case MR_BSON_TIMESTAMP:
        mr_buf_printf(r->out, "%lld", (long long)value->number);
        break;
    case MR_BSON_BIG_INT:
        mr_buf_append_str(r->out, mr_json_raw(r->doc, value->node));
        break;
    case MR_BSON_DOUBLE: {
        char last = value->text.ptr[value->text.len - 1];
        if (last >= '0' && last <= '9')
            mr_buf_append_str(r->out, value->text);
        else
            put_quoted(r, value->text);
        break;
    }
    case MR_BSON_DECIMAL:
    case MR_BSON_OID:
        put_quoted(r, value->text);
        break;
    case MR_BSON_BINARY:
        mr_buf_append_char(r->out, '"');
        mr_base64_append(r->out, value->text);
        mr_buf_append_char(r->out, '"');
        break;
    case MR_BSON_STRING:
        put_string(r, value->node);
        break;
    case MR_BSON_REGEX:
        mr_buf_append_z(r->out, "{\"regex\":");
        put_string(r, value->node);
        mr_buf_append_z(r->out, ",\"options\":");
        put_string(r, value->second);
        mr_buf_append_char(r->out, '}');
        break;
    case MR_BSON_CODE_SCOPE:
        mr_buf_append_z(r->out, "{\"code\":");
        put_string(r, value->node);
        mr_buf_append_z(r->out, ",\"scope\":");
        open_container(r, value->second, true);
        break;
    case MR_BSON_MIN_KEY:
        mr_buf_append_z(r->out, "{\"$minKey\":1}");
        break;
    case MR_BSON_MAX_KEY:
        mr_buf_append_z(r->out, "{\"$maxKey\":1}");
        break;
    case MR_BSON_DOCUMENT:
    case MR_BSON_ARRAY:
    case MR_BSON_BAD: /* what cannot be read stays as it was written */
        open_container(r, value->node, false);
        break;
    }
}

/* The next element or member of the innermost container, if it is to be written. */
static void put_next(struct render *r)
{
    struct frame *frame = r->top;
    uint32_t node = frame->next;

    uint32_t index = frame->index++;
    frame->next = mr_json_next_in(r->doc, frame->node, node);
    if (frame->is_object && mr_json_is_shadowed(r->doc, frame->node, node))
        return;
    struct mr_bson_value value = mr_extjson_read(r->doc, frame->is_object ? node + 1 : node, r->ar);
    if (value.kind == MR_BSON_UNDEFINED)
        return;

    if (frame->has_any)
        mr_buf_append_char(r->out, ',');
    frame->has_any = true;
    if (frame->is_object) {
        put_name(r, frame, node);
        mr_buf_append_char(r->out, ':');
        if (mr_extjson_is_nothing(r->ej, r->doc, &value))
            value.kind = MR_BSON_NULL;
    } else if (frame->is_document) {
        put_position(r, index);
    }
    put_value(r, &value);
}

struct mr_str mr_extjson_render(struct mr_extjson *ej, const struct mr_json_doc *doc,
                                const struct mr_bson_value *value, struct mr_arena *ar, unsigned *flags)
{
    struct render r = {.ej = ej, .doc = doc, .ar = ar, .out = &ej->scratch};

    mr_buf_clear(&ej->scratch);
    put_value(&r, value);
    while (r.top != NULL) {
        if (r.top->next == MR_JSON_NONE)
            close_container(&r);
        else
            put_next(&r);
    }
    *flags = ((r.strings & MR_JSON_NUL) ? (unsigned)MR_TEXT_HAS_NUL : 0) |
             ((r.strings & MR_JSON_SURROGATE) ? (unsigned)MR_TEXT_HAS_SURROGATE : 0) |
             ((r.strings & MR_JSON_ILL_FORMED) ? (unsigned)MR_TEXT_ILL_FORMED : 0);

    struct mr_str text = mr_arena_copy(ar, mr_buf_str(&ej->scratch));
    if (ej->scratch.cap > KEEP_BYTES)
        mr_buf_free(&ej->scratch);
    return text;
}
