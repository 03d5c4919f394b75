/* YAML to a tree, over libyaml: the only file that knows the library. A plain subset is read: maps, lists and texts in block or
 * flow form. Anchors, aliases, tags and further documents are refused, since nothing in a configuration needs them and an
 * alias can make a small file enormous. */
#include "node.h"

#include <millrace/base/map.h>

#include <yaml.h>

struct reader {
    yaml_parser_t parser;
    const struct mr_origin *origin;
    struct mr_arena *ar;
    struct mr_node *root;
    struct mr_node *stack[MR_CONFIG_MAX_DEPTH]; /* open lists and maps */
    struct mr_node *key[MR_CONFIG_MAX_DEPTH];   /* MAP: the key whose value comes next, or NULL */
    struct mr_map *names[MR_CONFIG_MAX_DEPTH];  /* MAP: keys so far, to find what was said twice */
    size_t depth;
    unsigned documents;
};

static struct mr_node *place(struct reader *rd, enum mr_node_kind kind, const yaml_mark_t *mark)
{
    bool in_file = rd->origin->path_z != NULL;
    return mr_node_new(rd->ar, kind, in_file ? (uint32_t)mark->line + 1 : 0,
                       in_file ? (uint32_t)mark->column + 1 : 0);
}

static enum mr_status fail_at(struct reader *rd, const yaml_mark_t *mark, struct mr_error *err,
                              const char *what)
{
    return mr_node_fail(place(rd, MR_NODE_SCALAR, mark), rd->origin, err, "%s", what);
}

/* Remember a key of the map on top. */
static enum mr_status take_key(struct reader *rd, struct mr_node *key, struct mr_error *err)
{
    size_t top = rd->depth - 1;
    const struct mr_node *before = mr_map_get(rd->names[top], key->text);
    if (key->text.len == 0)
        return mr_node_fail(key, rd->origin, err, "a key without a name");
    if (key->text.len > MR_CONFIG_MAX_KEY)
        return mr_node_fail(key, rd->origin, err, "a key that is too long");
    if (before)
        return mr_node_fail(key, rd->origin, err, "\"%.*s\" is said twice here, first in line %u",
                            (int)(key->text.len < 100 ? key->text.len : 100), key->text.ptr, before->line);
    mr_map_put(rd->names[top], key->text, key);
    rd->key[top] = key;
    return MR_OK;
}

/* A finished scalar, or a list or map that has just opened, into what is open. */
static enum mr_status attach(struct reader *rd, struct mr_node *node, struct mr_error *err)
{
    if (rd->depth == 0) {
        rd->root = node;
        return MR_OK;
    }
    size_t top = rd->depth - 1;
    struct mr_node *parent = rd->stack[top];
    if (parent->kind == MR_NODE_LIST) {
        mr_node_add(rd->ar, parent, NULL, node);
        return MR_OK;
    }
    if (!rd->key[top]) {
        if (node->kind != MR_NODE_SCALAR)
            return mr_node_fail(node, rd->origin, err,
                                "a key must be a text (texts that hold { or [ need quotes)");
        return take_key(rd, node, err);
    }
    mr_node_add(rd->ar, parent, rd->key[top], node);
    rd->key[top] = NULL;
    return MR_OK;
}

static enum mr_status open_node(struct reader *rd, enum mr_node_kind kind, const yaml_mark_t *mark,
                                struct mr_error *err)
{
    if (rd->depth == MR_CONFIG_MAX_DEPTH)
        return fail_at(rd, mark, err, "nested too deeply");
    struct mr_node *node = place(rd, kind, mark);
    MR_TRY(attach(rd, node, err));
    rd->stack[rd->depth] = node;
    rd->key[rd->depth] = NULL;
    rd->names[rd->depth] = kind == MR_NODE_MAP ? mr_map_create() : NULL;
    rd->depth++;
    return MR_OK;
}

static void close_node(struct reader *rd)
{
    rd->depth--;
    mr_map_destroy(rd->names[rd->depth], NULL);
    rd->names[rd->depth] = NULL;
}

static enum mr_status take_scalar(struct reader *rd, const yaml_event_t *ev, struct mr_error *err)
{
    struct mr_node *node = place(rd, MR_NODE_SCALAR, &ev->start_mark);
    node->text =
        mr_arena_copy(rd->ar, mr_str_of((const char *)ev->data.scalar.value, ev->data.scalar.length));
    node->plain = ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    return attach(rd, node, err);
}

/* What is refused on any node. */
static enum mr_status check_extras(struct reader *rd, const yaml_mark_t *mark, const yaml_char_t *anchor,
                                   const yaml_char_t *tag, struct mr_error *err)
{
    if (anchor)
        return fail_at(rd, mark, err, "anchors (&name) are not read; a text that begins with & needs quotes");
    if (tag)
        return fail_at(rd, mark, err, "tags (!name) are not read; a text that begins with ! needs quotes");
    return MR_OK;
}

static enum mr_status take_event(struct reader *rd, const yaml_event_t *ev, struct mr_error *err)
{
    const yaml_mark_t *mark = &ev->start_mark;

    switch (ev->type) {
    case YAML_SCALAR_EVENT:
        MR_TRY(check_extras(rd, mark, ev->data.scalar.anchor, ev->data.scalar.tag, err));
        return take_scalar(rd, ev, err);
    case YAML_SEQUENCE_START_EVENT:
        MR_TRY(check_extras(rd, mark, ev->data.sequence_start.anchor, ev->data.sequence_start.tag, err));
        return open_node(rd, MR_NODE_LIST, mark, err);
    case YAML_MAPPING_START_EVENT:
        MR_TRY(check_extras(rd, mark, ev->data.mapping_start.anchor, ev->data.mapping_start.tag, err));
        return open_node(rd, MR_NODE_MAP, mark, err);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        close_node(rd);
        return MR_OK;
    case YAML_ALIAS_EVENT:
        return fail_at(rd, mark, err, "aliases (*name) are not read; a text that begins with * needs quotes");
    case YAML_DOCUMENT_START_EVENT:
        if (++rd->documents > 1)
            return fail_at(rd, mark, err, "a second document; a configuration is one");
        return MR_OK;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        return MR_OK;
    }
    return MR_OK;
}

/* libyaml's own words, at the place where it stopped. */
static enum mr_status syntax_error(struct reader *rd, struct mr_error *err)
{
    const yaml_parser_t *p = &rd->parser;
    const yaml_mark_t *mark = p->error == YAML_READER_ERROR ? &p->mark : &p->problem_mark;
    struct mr_node *node = place(rd, MR_NODE_SCALAR, mark);
    enum mr_status status;

    if (p->error == YAML_READER_ERROR)
        status = mr_node_fail(node, rd->origin, err, "not readable as text: %s",
                              p->problem ? p->problem : "bad bytes");
    else
        status = mr_node_fail(node, rd->origin, err, "not YAML: %s%s%s", p->context ? p->context : "",
                              p->context ? ", " : "", p->problem ? p->problem : "syntax error");
    mr_error_hint(err,
                  "texts that begin with one of { [ * & ! %% @ ` or hold ${NAME} inside [ ] need quotes; lines are indented with blanks, never tabs");
    return status;
}

enum mr_status mr_yaml_read(struct mr_str text, const struct mr_origin *origin, struct mr_arena *ar,
                            struct mr_node **out, struct mr_error *err)
{
    struct reader rd = {.origin = origin, .ar = ar};
    enum mr_status status = MR_OK;
    bool at_end = false;

    *out = NULL;
    if (!yaml_parser_initialize(&rd.parser))
        return mr_fail(err, MR_E_BUG, "cannot set up the YAML reader");
    yaml_parser_set_encoding(&rd.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&rd.parser, (const unsigned char *)(text.ptr ? text.ptr : ""), text.len);
    while (status == MR_OK && !at_end) {
        yaml_event_t ev;
        if (!yaml_parser_parse(&rd.parser, &ev)) {
            status = syntax_error(&rd, err);
            break;
        }
        at_end = ev.type == YAML_STREAM_END_EVENT;
        status = take_event(&rd, &ev, err);
        yaml_event_delete(&ev);
    }
    while (rd.depth > 0)
        close_node(&rd);
    yaml_parser_delete(&rd.parser);
    if (status == MR_OK && rd.root && !(mr_node_is_null(rd.root) && rd.root->text.len == 0))
        *out = rd.root;
    return status;
}
