/* The tree of what a person wrote: building it, naming its places, and the environment in its values. */
#include "node.h"

#include <millrace/base/buf.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct mr_node *mr_node_new(struct mr_arena *ar, enum mr_node_kind kind, uint32_t line, uint32_t column)
{
    struct mr_node *node = mr_arena_zalloc(ar, sizeof *node);
    node->kind = kind;
    node->line = line;
    node->column = column;
    return node;
}

/* Double an array in the arena; the old one goes with the arena. */
static struct mr_node **grow(struct mr_arena *ar, struct mr_node **old, size_t count, size_t cap)
{
    struct mr_node **bigger = mr_arena_alloc(ar, cap * sizeof(struct mr_node *));
    if (count > 0)
        memcpy(bigger, old, count * sizeof(struct mr_node *));
    return bigger;
}

void mr_node_add(struct mr_arena *ar, struct mr_node *parent, struct mr_node *key, struct mr_node *item)
{
    if (parent->count == parent->cap) {
        size_t cap = parent->cap ? parent->cap * 2 : 8;
        parent->items = grow(ar, parent->items, parent->count, cap);
        if (parent->kind == MR_NODE_MAP)
            parent->keys = grow(ar, parent->keys, parent->count, cap);
        parent->cap = cap;
    }
    parent->items[parent->count] = item;
    if (parent->kind == MR_NODE_MAP)
        parent->keys[parent->count] = key;
    parent->count++;
}

bool mr_node_is_null(const struct mr_node *node)
{
    return node->kind == MR_NODE_SCALAR && node->plain &&
           (node->text.len == 0 || mr_str_eq_z(node->text, "~") || mr_str_eq_z(node->text, "null") ||
            mr_str_eq_z(node->text, "Null") || mr_str_eq_z(node->text, "NULL"));
}

const char *mr_node_kind_name(const struct mr_node *node)
{
    switch (node->kind) {
    case MR_NODE_SCALAR:
        return mr_node_is_null(node) ? "nothing" : "a text";
    case MR_NODE_LIST:
        return "a list";
    case MR_NODE_MAP:
        return "a map";
    }
    return "";
}

enum mr_status mr_node_fail(const struct mr_node *node, const struct mr_origin *origin, struct mr_error *err,
                            const char *fmt, ...)
{
    char message[640];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);

    const struct mr_setting *set = origin->setting;
    if (!set)
        return mr_fail(err, MR_E_CONFIG, "%s:%u:%u: %s", origin->path_z, node ? node->line : 1,
                       node ? node->column : 1, message);
    if (set->flag_z && strcmp(set->flag_z, "--set") != 0)
        return mr_fail(err, MR_E_CONFIG, "%s: %s", set->flag_z, message);
    return mr_fail(err, MR_E_CONFIG, "--set %.200s: %s", set->key_z, message);
}

/* ---- ${NAME} ---- */

static bool is_name_char(char c, bool first)
{
    return c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (!first && c >= '0' && c <= '9');
}

/* A variable's value, or the text after ":-"; `inside` is what stands between the braces. */
static enum mr_status lookup(const struct mr_node *node, const struct mr_origin *origin, struct mr_str inside,
                             struct mr_arena *ar, struct mr_str *out, struct mr_error *err)
{
    size_t len = 0;
    while (len < inside.len && is_name_char(inside.ptr[len], len == 0))
        len++;
    struct mr_str rest = mr_str_of(inside.ptr + len, inside.len - len);
    bool has_default = mr_str_starts(rest, MR_STR(":-"));
    if (len == 0 || (rest.len > 0 && !has_default))
        return mr_node_fail(
            node, origin, err,
            "\"${%.*s}\" is no variable; write ${NAME} or ${NAME:-default}, and $${ for a plain ${",
            MR_STR_FMT(mr_str_of(inside.ptr, inside.len < 60 ? inside.len : 60)));

    const char *value_z = getenv(mr_arena_strndup(ar, inside.ptr, len));
    if (value_z && (*value_z || !has_default)) {
        *out = mr_str_z(value_z);
        return MR_OK;
    }
    if (has_default) {
        *out = mr_str_of(rest.ptr + 2, rest.len - 2);
        return MR_OK;
    }
    return mr_node_fail(node, origin, err, "the environment has no variable %.*s (a default: ${%.*s:-text})",
                        (int)(len < 100 ? len : 100), inside.ptr, (int)(len < 100 ? len : 100), inside.ptr);
}

enum mr_status mr_node_expand(const struct mr_node *node, const struct mr_origin *origin, struct mr_arena *ar,
                              struct mr_str *out, struct mr_error *err)
{
    struct mr_str text = node->text;
    *out = text;
    if (memchr(text.ptr ? text.ptr : "", 0, text.len))
        return mr_node_fail(node, origin, err, "holds the character U+0000");
    if (!memmem(text.ptr ? text.ptr : "", text.len, "${", 2))
        return MR_OK;

    struct mr_buf buf = MR_BUF_INIT(MR_CONFIG_MAX_BYTES);
    enum mr_status status = MR_OK;
    for (size_t i = 0; i < text.len; i++) {
        struct mr_str rest = mr_str_of(text.ptr + i, text.len - i);
        if (mr_str_starts(rest, MR_STR("$${"))) {
            mr_buf_append_z(&buf, "${");
            i += 2;
            continue;
        }
        if (!mr_str_starts(rest, MR_STR("${"))) {
            mr_buf_append_char(&buf, text.ptr[i]);
            continue;
        }
        ptrdiff_t close = mr_str_find(rest, '}');
        if (close < 0) {
            status = mr_node_fail(node, origin, err, "\"${\" without its \"}\"; write $${ for a plain ${");
            goto done;
        }
        struct mr_str value = {0};
        MR_TRY_DONE(lookup(node, origin, mr_str_of(rest.ptr + 2, (size_t)close - 2), ar, &value, err));
        mr_buf_append_str(&buf, value);
        i += (size_t)close;
    }
    if (buf.overflow)
        status = mr_node_fail(node, origin, err, "is too long after its variables are filled in");
    else
        *out = mr_arena_copy(ar, mr_buf_str(&buf));
done:
    mr_buf_free(&buf);
    return status;
}

/* ---- --set key.path=value ---- */

/* The next part of a key: up to a dot, or between quotes. Moves *key on; *last tells that nothing follows. */
static bool next_part(struct mr_str *key, struct mr_str *part, bool *last)
{
    size_t len;
    size_t used;

    if (key->len > 0 && (key->ptr[0] == '"' || key->ptr[0] == '\'')) {
        ptrdiff_t close = mr_str_find(mr_str_of(key->ptr + 1, key->len - 1), key->ptr[0]);
        if (close <= 0)
            return false;
        *part = mr_str_of(key->ptr + 1, (size_t)close);
        len = used = (size_t)close + 2;
        if (used < key->len && key->ptr[used] != '.')
            return false;
    } else {
        ptrdiff_t dot = mr_str_find(*key, '.');
        len = used = dot < 0 ? key->len : (size_t)dot;
        *part = mr_str_of(key->ptr, len);
        if (len == 0)
            return false;
    }
    *last = used == key->len;
    if (!*last)
        used++;
    *key = mr_str_of(key->ptr + used, key->len - used);
    return *last || key->len > 0;
}

enum mr_status mr_setting_read(const struct mr_setting *setting, struct mr_arena *ar, struct mr_node **out,
                               struct mr_error *err)
{
    const struct mr_origin origin = {NULL, setting};
    struct mr_str key = mr_str_trim(mr_str_z(setting->key_z));
    bool append = key.len > 0 && key.ptr[key.len - 1] == '+';
    if (append)
        key.len--;
    if (key.len > MR_CONFIG_MAX_KEY)
        return mr_node_fail(NULL, &origin, err, "the key is too long");

    struct mr_node *root = mr_node_new(ar, MR_NODE_MAP, 0, 0);
    struct mr_node *at = root;
    for (bool last = false; !last;) {
        struct mr_str part;
        if (!next_part(&key, &part, &last))
            return mr_node_fail(NULL, &origin, err,
                                "is no key; write section.option=value, and quotes around a "
                                "part that holds dots");
        struct mr_node *name = mr_node_new(ar, MR_NODE_SCALAR, 0, 0);
        name->text = part;
        struct mr_node *item = mr_node_new(ar, last ? MR_NODE_SCALAR : MR_NODE_MAP, 0, 0);
        if (last) {
            item->text = mr_str_z(setting->value_z);
            item->raw = true;
            item->append = append;
        }
        mr_node_add(ar, at, name, item);
        at = item;
    }
    *out = root;
    return MR_OK;
}

enum mr_status mr_node_resolve(struct mr_node *node, const struct mr_origin *origin, struct mr_arena *ar,
                               bool want_structure, struct mr_node **out, struct mr_error *err)
{
    *out = node;
    if (node->kind != MR_NODE_SCALAR || !node->raw || node->append)
        return MR_OK;

    struct mr_str text = mr_str_trim(node->text);
    char first = text.len > 1 ? text.ptr[0] : 0;
    bool quoted = (first == '"' || first == '\'') && text.ptr[text.len - 1] == first;
    bool structure = want_structure && (first == '[' || first == '{');
    if (!quoted && !structure)
        return MR_OK;
    return mr_yaml_read(text, origin, ar, out, err);
}
