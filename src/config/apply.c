/* From the tree to the configuration: walk it, find each key in the option table, and hand the leaves to the parsers. The keys of
 * nested maps are joined by dots, so that `unwrap: {array.encoding: json}`, `unwrap: {array: {encoding: json}}` and
 * `--set unwrap.array.encoding=json` are the same thing. */
#include "node.h"
#include "option.h"

#include <millrace/base/buf.h>
#include <millrace/base/mem.h>

struct walk {
    struct mr_config *cfg;
    const struct mr_origin *origin;
    bool *seen;
    struct mr_arena *ar;
};

static enum mr_status unknown_key(const struct walk *wk, struct mr_str key, const struct mr_node *at,
                                  struct mr_error *err)
{
    struct mr_buf scratch = MR_BUF_INIT(MR_CONFIG_MAX_KEY);
    const char *near = mr_option_nearest(key, &scratch);
    const char *name_z, *advice_z;
    enum mr_status status;
    int len = (int)(key.len < 200 ? key.len : 200);

    if (mr_unwrap_advice(key, &name_z, &advice_z))
        status = mr_node_fail(at, wk->origin, err, "%s is an option of Debezium's transforms that does not exist here: %s", name_z, advice_z);
    else if (near)
        status = mr_node_fail(at, wk->origin, err, "unknown key \"%.*s\"; did you mean \"%s\"?", len, key.ptr,
                              near);
    else
        status = mr_node_fail(at, wk->origin, err, "unknown key \"%.*s\"; `millrace config` lists the keys",
                              len, key.ptr);
    mr_buf_free(&scratch);
    return status;
}

static void note_origin(const struct walk *wk, const struct mr_option *opt, const struct mr_node *at)
{
    struct mr_config_origin *from = &wk->cfg->origins[mr_option_index(opt)];
    mr_xfree(from->text_z);
    from->from = wk->origin->path_z ? MR_FROM_FILE : MR_FROM_COMMAND;
    from->line = at->line;
    from->column = at->column;
    if (wk->origin->path_z)
        from->text_z = mr_xstrdup(wk->origin->path_z);
    else
        from->text_z = mr_xstrdup(wk->origin->setting->flag_z ? wk->origin->setting->flag_z : "--set");
}

enum mr_status mr_node_list(const struct mr_node *node, const struct mr_origin *origin, bool whole,
                            struct mr_arena *ar, struct mr_strings *out, struct mr_error *err)
{
    struct mr_strings list = {0};
    struct mr_str text;

    if (node->kind == MR_NODE_SCALAR) {
        MR_TRY(mr_node_expand(node, origin, ar, &text, err));
        if (!whole)
            mr_strings_split(&list, text);
        else if (text.len > 0)
            mr_strings_add(&list, text);
        *out = list;
        return MR_OK;
    }
    enum mr_status status = MR_OK;
    for (size_t i = 0; i < node->count && status == MR_OK; i++) {
        const struct mr_node *item = node->items[i];
        if (item->kind != MR_NODE_SCALAR || mr_node_is_null(item))
            status = mr_node_fail(item, origin, err, "a list of texts is wanted, this is %s",
                                  mr_node_kind_name(item));
        else
            status = mr_node_expand(item, origin, ar, &text, err);
        if (status == MR_OK)
            mr_strings_add(&list, text);
    }
    if (status != MR_OK)
        mr_strings_free(&list);
    else
        *out = list;
    return status;
}

/* "target.appliers: \"40\" is not a whole number from 1 to 16" */
static enum mr_status wrong_value(const struct walk *wk, const struct mr_option *opt,
                                  const struct mr_node *node, struct mr_str text, struct mr_error *err)
{
    struct mr_buf expected = MR_BUF_INIT(1024);
    mr_option_append_expected(opt, &expected);
    enum mr_status status = mr_node_fail(node, wk->origin, err, "%s: \"%.*s\" is not %s%s", opt->key_z,
                                         (int)(text.len < 100 ? text.len : 100), text.ptr,
                                         opt->words ? "one of " : "", mr_buf_z(&expected));
    mr_buf_free(&expected);
    return status;
}

static enum mr_status wrong_kind(const struct walk *wk, const struct mr_option *opt,
                                 const struct mr_node *node, struct mr_error *err)
{
    struct mr_buf expected = MR_BUF_INIT(1024);
    mr_option_append_expected(opt, &expected);
    enum mr_status status = mr_node_fail(node, wk->origin, err, "%s wants %s, this is %s", opt->key_z,
                                         mr_buf_z(&expected), mr_node_kind_name(node));
    if (node->kind == MR_NODE_MAP)
        mr_error_hint(err, "a text that begins with { needs quotes: \"{db}\"");
    mr_buf_free(&expected);
    return status;
}

static bool takes_list(const struct mr_option *opt)
{
    return opt->type == MR_OPT_LIST || opt->type == MR_OPT_PATHS || opt->type == MR_OPT_COMMAS;
}

/* --set key+=value: one more item. */
static enum mr_status append_item(const struct walk *wk, const struct mr_option *opt,
                                  const struct mr_node *node, struct mr_error *err)
{
    struct mr_str text;
    if (opt->type != MR_OPT_LIST && opt->type != MR_OPT_PATHS)
        return mr_node_fail(node, wk->origin, err, "%s is no list, so nothing can be added to it",
                            opt->key_z);
    MR_TRY(mr_node_expand(node, wk->origin, wk->ar, &text, err));
    mr_strings_add((struct mr_strings *)((char *)wk->cfg + opt->offset), text);
    return MR_OK;
}

static enum mr_status assign_value(const struct walk *wk, const struct mr_option *opt, struct mr_node *node,
                                   struct mr_error *err)
{
    struct mr_strings list = {0};
    struct mr_str text;

    if (node->append)
        return append_item(wk, opt, node, err);
    MR_TRY(mr_node_resolve(node, wk->origin, wk->ar, takes_list(opt), &node, err));
    if (!node)
        return mr_fail(err, MR_E_BUG, "a quoted value without content");
    if (node->kind == MR_NODE_MAP || (node->kind == MR_NODE_LIST && !takes_list(opt)))
        return wrong_kind(wk, opt, node, err);
    if (node->kind == MR_NODE_LIST) {
        MR_TRY(mr_node_list(node, wk->origin, false, wk->ar, &list, err));
        mr_option_set_list(opt, wk->cfg, list);
        return MR_OK;
    }
    /* A null takes the option back to its default, but for the policy of that name. */
    bool is_null = mr_node_is_null(node) && opt->words != mr_policy_words;
    if (is_null)
        text = mr_str_z(opt->default_z);
    else
        MR_TRY(mr_node_expand(node, wk->origin, wk->ar, &text, err));
    if (opt->words == mr_policy_words && mr_node_is_null(node) && node->text.len < 4)
        return wrong_kind(wk, opt, node, err);
    if (!mr_option_parse(opt, wk->cfg, text))
        return wrong_value(wk, opt, node, text, err);
    if (opt->said_offset)
        *(bool *)((char *)wk->cfg + opt->said_offset) = !is_null;
    return MR_OK;
}

static enum mr_status assign(const struct walk *wk, const struct mr_option *opt, struct mr_node *node,
                             const struct mr_node *key, struct mr_error *err)
{
    if (wk->seen && wk->seen[mr_option_index(opt)])
        return mr_node_fail(key, wk->origin, err, "%s is said twice, first in line %u", opt->key_z,
                            wk->cfg->origins[mr_option_index(opt)].line);
    MR_TRY(assign_value(wk, opt, node, err));
    if (wk->seen)
        wk->seen[mr_option_index(opt)] = true;
    note_origin(wk, opt, node);
    return MR_OK;
}

/* `prefix.key`, at most MR_CONFIG_MAX_KEY bytes. */
static enum mr_status join(const struct walk *wk, struct mr_str prefix, const struct mr_node *key,
                           struct mr_str *out, struct mr_error *err)
{
    if (prefix.len + key->text.len + 1 > MR_CONFIG_MAX_KEY)
        return mr_node_fail(key, wk->origin, err, "the key is too long");
    if (prefix.len == 0)
        *out = key->text;
    else
        *out = mr_arena_printf(wk->ar, "%.*s.%.*s", MR_STR_FMT(prefix), MR_STR_FMT(key->text));
    return MR_OK;
}

/* Everything below a map option: nested keys are joined until a leaf is reached. Depth is bounded by the readers. */
static enum mr_status walk_map(const struct walk *wk, const struct mr_option *opt, struct mr_str name,
                               struct mr_node *node, const struct mr_node *key, struct mr_error *err)
{
    if (node->append)
        return mr_node_fail(node, wk->origin, err, "%s is no list, so nothing can be added to it",
                            opt->key_z);
    struct mr_node *found = node;
    if (node->kind == MR_NODE_SCALAR && node->raw && node->text.len > 0 && node->text.ptr[0] == '{')
        MR_TRY(mr_node_resolve(node, wk->origin, wk->ar, true, &found, err));
    if (found && found->kind == MR_NODE_MAP) {
        for (size_t i = 0; i < found->count; i++) {
            struct mr_str below;
            MR_TRY(join(wk, name, found->keys[i], &below, err));
            MR_TRY(walk_map(wk, opt, below, found->items[i], found->keys[i], err));
        }
        return MR_OK;
    }
    if (name.len == 0) {
        if (found && mr_node_is_null(found))
            return MR_OK; /* an empty section */
        return wrong_kind(wk, opt, node, err);
    }
    MR_TRY(mr_rule_set(wk->cfg, opt, name, node, key, wk->origin, wk->ar, err));
    note_origin(wk, opt, node);
    return MR_OK;
}

static enum mr_status walk_node(const struct walk *wk, struct mr_str prefix, struct mr_node *node,
                                const struct mr_node *key, struct mr_error *err)
{
    struct mr_str rest = {0};
    const struct mr_option *opt = mr_option_find(prefix);
    if (opt && mr_option_is_map(opt))
        return walk_map(wk, opt, rest, node, key, err);
    if (!opt) {
        const struct mr_option *above = mr_option_above(prefix, &rest);
        if (above)
            return walk_map(wk, above, rest, node, key, err);
    }

    bool is_group = mr_option_is_group(prefix);
    if (is_group && !opt && node->raw)
        MR_TRY(mr_node_resolve(node, wk->origin, wk->ar, true, &node, err));
    bool may_be_map = opt && is_group && node->raw && node->kind == MR_NODE_SCALAR && node->text.len > 0 && node->text.ptr[0] == '{';
    if (may_be_map) /* format={key: kafka, value: avro} */
        MR_TRY(mr_node_resolve(node, wk->origin, wk->ar, true, &node, err));
    if (!node || (is_group && !opt && mr_node_is_null(node)))
        return MR_OK; /* an empty section */
    if (opt && !(is_group && node->kind == MR_NODE_MAP))
        return assign(wk, opt, node, key, err);
    if (!is_group)
        return unknown_key(wk, prefix, key, err);
    if (node->kind != MR_NODE_MAP)
        return mr_node_fail(node, wk->origin, err, "%s%.*s%swants options below it, this is %s",
                            prefix.len ? "\"" : "", MR_STR_FMT(prefix),
                            prefix.len ? "\" " : "a configuration ", mr_node_kind_name(node));
    for (size_t i = 0; i < node->count; i++) {
        struct mr_str below;
        MR_TRY(join(wk, prefix, node->keys[i], &below, err));
        MR_TRY(walk_node(wk, below, node->items[i], node->keys[i], err));
    }
    return MR_OK;
}

enum mr_status mr_config_apply(struct mr_config *cfg, struct mr_node *root, const struct mr_origin *origin,
                               bool *seen, struct mr_arena *ar, struct mr_error *err)
{
    const struct walk wk = {cfg, origin, seen, ar};
    return walk_node(&wk, (struct mr_str){0}, root, root, err);
}
