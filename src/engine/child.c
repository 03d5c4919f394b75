/* The tables of arrays (array.encoding=table): relations that hang below a root. In the control tables such a table has its root's source names, and
 * the root's expanded name with the array's path behind it; no template can give that name, since no table's name holds a mark. */
#include <millrace/base/log.h>
#include <millrace/base/mem.h>

#include "relation_parts.h"

#define MAX_CHILDREN 256 /* arrays of one relation: every whole document has something to say to each of them */

static const char mark_z[] = MR_ARRAY_MARK;
#define MARK_LEN (sizeof mark_z - 1)

/* ---- paths ---- */

/* Index of the next mark from `at` on, or the length. A backslash stands before what it escapes, so that two of them hide no mark. */
static size_t next_mark(struct mr_str array, size_t at)
{
    while (at < array.len) {
        if (array.ptr[at] != '\\') {
            at++;
            continue;
        }
        if (at + 1 < array.len && array.ptr[at + 1] == mark_z[1])
            return at;
        at += 2;
    }
    return array.len;
}

bool mr_array_is_within(struct mr_str array, struct mr_str outer)
{
    return array.len >= outer.len + MARK_LEN && mr_str_starts(array, outer) && memcmp(array.ptr + outer.len, mark_z, MARK_LEN) == 0;
}

struct mr_str mr_array_last_step(struct mr_str array, struct mr_str *outer)
{
    size_t start = 0;
    *outer = (struct mr_str){0};
    for (size_t at = next_mark(array, 0); at < array.len; at = next_mark(array, start)) {
        *outer = mr_str_of(array.ptr, at);
        start = at + MARK_LEN;
    }
    return mr_str_of(array.ptr + start, array.len - start);
}

struct mr_str mr_array_first_step(struct mr_str array)
{
    return mr_str_of(array.ptr, next_mark(array, 0));
}

static uint32_t depth_of(struct mr_str array)
{
    uint32_t depth = 1;
    for (size_t at = next_mark(array, 0); at < array.len; at = next_mark(array, at + MARK_LEN))
        depth++;
    return depth;
}

/* ---- relations ---- */

struct mr_rel *mr_rel_find_child(const struct mr_rel *root, struct mr_str array)
{
    return root->by_array == NULL ? NULL : mr_map_get(root->by_array, array);
}

static struct mr_str expanded_name(const struct mr_rel *root, struct mr_str array, struct mr_arena *ar)
{
    return mr_arena_printf(ar, "%.*s%s%.*s", MR_STR_FMT(root->expanded), mark_z, MR_STR_FMT(array));
}

/* Its table in the target: the one it has, or parent__field. */
static void name_child(struct mr_relations *rels, struct mr_rel *child, const struct mr_rel *above, struct mr_str column,
                       const struct mr_rel_stored *st)
{
    if (st != NULL) {
        child->target_schema = st->target_schema;
        child->target_table = st->target_table;
        return;
    }
    struct mr_buf key = MR_BUF_INIT(1u << 20);
    bool substituted = false;
    mr_relations_stored_key(&key, child, child->expanded);
    struct mr_str wanted = mr_arena_printf(rels->ar, "%.*s__%.*s", MR_STR_FMT(above->target_table), MR_STR_FMT(column));
    child->target_schema = above->target_schema;
    child->target_table = mr_arena_copy(
        rels->ar, mr_names_give(mr_relations_names(rels, child->target_schema), mr_buf_str(&key), wanted, &substituted));
    if (substituted)
        mr_log(MR_LOG_WARN, "the table's name is taken or cannot be used; it gets a substitute", MR_KV_STR("wanted", wanted),
               MR_KV_STR("name", child->target_table));
    mr_buf_free(&key);
}

static void add_child(struct mr_rel *root, struct mr_rel *child)
{
    if (root->by_array == NULL)
        root->by_array = mr_map_create();
    root->children = mr_xgrow(root->children, &root->child_cap, root->child_count + 1, sizeof(struct mr_rel *));
    child->child_index = (uint32_t)root->child_count;
    root->children[root->child_count++] = child;
    mr_map_put(root->by_array, child->array, child);
}

/* A child of which all around it are there. */
static enum mr_status make_child(struct mr_relations *rels, struct mr_sink *sink, struct mr_rel *root, struct mr_str array,
                                 const struct mr_rel_stored *st, struct mr_rel **out, struct mr_error *err)
{
    struct mr_str outer, step = mr_array_last_step(array, &outer);
    const struct mr_rel *above = outer.ptr != NULL ? mr_rel_find_child(root, outer) : root;
    above = above != NULL ? above : root; /* somebody has tampered with the control tables */
    struct mr_str column = mr_path_adjusted_name(step, mr_str_z(rels->cfg->flatten_delimiter), rels->cfg->field_names, rels->ar);
    struct mr_rel *child = mr_xcalloc(1, sizeof *child);
    child->database = root->database;
    child->table = root->table;
    child->topic = root->topic;
    child->root = root;
    child->array = mr_arena_copy(rels->ar, array);
    child->depth = depth_of(array);
    child->expanded = expanded_name(root, array, rels->ar);
    name_child(rels, child, above, column, st);
    child->settings_names.database = root->settings_names.database;
    child->settings_names.table =
        mr_arena_printf(rels->ar, "%.*s__%.*s", MR_STR_FMT(above->settings_names.table), MR_STR_FMT(column));
    child->source_name = mr_arena_printf(rels->ar, "%.*s__%.*s", MR_STR_FMT(above->source_name), MR_STR_FMT(column));
    child->tk = mr_tracker_create(rels->cfg, rels->sink_ops->dialect, child->settings_names.database, child->settings_names.table,
                                  child->target_schema, child->target_table);
    mr_tracker_set_root(child->tk, root->settings_names.database, root->settings_names.table, root->set->policy);
    child->set = mr_tracker_settings(child->tk);
    enum mr_status status = mr_rel_restore(rels, sink, child, st, err);
    if (status != MR_OK) {
        mr_rel_destroy(child);
        return status;
    }
    add_child(root, child);
    *out = child;
    return MR_OK;
}

/* In the map they are found by what they are stored under. */
static void put_into_map(struct mr_relations *rels, struct mr_rel *child)
{
    struct mr_buf key = MR_BUF_INIT(1u << 20);
    mr_relations_stored_key(&key, child, child->expanded);
    mr_map_put(rels->rels, mr_buf_str(&key), child);
    mr_buf_free(&key);
}

void mr_rel_adopt_children(struct mr_relations *rels, struct mr_rel *root)
{
    for (size_t i = 0; i < root->child_count; i++)
        put_into_map(rels, root->children[i]);
}

void mr_rel_drop_children(struct mr_rel *root)
{
    for (size_t i = 0; i < root->child_count; i++)
        mr_rel_destroy(root->children[i]);
    root->child_count = 0;
}

/* Outer arrays first: they have been stored no later than those within them, but perhaps in one step. */
enum mr_status mr_rel_restore_children(struct mr_relations *rels, struct mr_sink *sink, struct mr_rel *root, struct mr_error *err)
{
    struct mr_buf prefix = MR_BUF_INIT(1u << 20);
    mr_relations_stored_key(&prefix, root, expanded_name(root, (struct mr_str){0}, rels->ar));
    struct mr_str begin = mr_buf_str(&prefix);
    enum mr_status status = MR_OK;
    for (uint32_t depth = 1; depth <= MR_ARRAY_MAX_DEPTH && status == MR_OK; depth++) {
        for (size_t i = 0; i < mr_map_count(rels->stored) && status == MR_OK; i++) {
            struct mr_str key;
            const struct mr_rel_stored *st = mr_map_at(rels->stored, i, &key);
            if (!mr_str_starts(key, begin)) /* the array may have an empty name */
                continue;
            struct mr_str array = mr_str_of(key.ptr + begin.len, key.len - begin.len);
            struct mr_rel *child = NULL;
            if (depth_of(array) == depth)
                status = make_child(rels, sink, root, array, st, &child, err);
        }
    }
    mr_buf_free(&prefix);
    return status;
}

enum mr_status mr_relations_child(struct mr_relations *rels, struct mr_sink *sink, struct mr_rel *root, struct mr_str array,
                                  struct mr_rel **out, struct mr_error *err)
{
    *out = mr_rel_find_child(root, array);
    if (*out != NULL)
        return MR_OK;
    for (size_t at = next_mark(array, 0); at < array.len; at = next_mark(array, at + MARK_LEN)) {
        struct mr_rel *ignored = NULL;
        struct mr_str outer = mr_str_of(array.ptr, at);
        if (mr_rel_find_child(root, outer) == NULL)
            MR_TRY(mr_relations_child(rels, sink, root, outer, &ignored, err));
    }
    if (root->child_count >= MAX_CHILDREN) {
        mr_fail_data(err, MR_CODE_NO_TABLE, "%.*s: more than %d arrays want a table of their own", MR_STR_FMT(root->source_name),
                     MAX_CHILDREN);
        mr_error_hint(err, "unwrap.array.encoding=json keeps arrays in one column each");
        mr_error_field(err, array.ptr, array.len);
        return MR_E_DATA;
    }
    MR_TRY(make_child(rels, sink, root, array, NULL, out, err));
    put_into_map(rels, *out);
    return MR_OK;
}
