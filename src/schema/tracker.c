/* The tracker's columns and keys, and the wanted table made of them. */
#include "tracker_parts.h"

#include <millrace/base/mem.h>

#define MAX_LABEL (64 * 1024)

struct mr_str mr_tk_keep(struct mr_str s)
{
    return mr_str_of(mr_xstrndup(s.len > 0 ? s.ptr : "", s.len), s.len);
}

void mr_tk_drop(struct mr_str s)
{
    mr_xfree((void *)(uintptr_t)s.ptr);
}

static struct mr_str make_label(struct mr_str database, struct mr_str table)
{
    struct mr_buf buf = MR_BUF_INIT(MAX_LABEL);

    if (database.len > 0) {
        mr_buf_append_str(&buf, database);
        mr_buf_append_char(&buf, '.');
    }
    mr_buf_append_str(&buf, table);
    struct mr_str label = mr_tk_keep(mr_buf_str(&buf));
    mr_buf_free(&buf);
    return label;
}

struct mr_tracker *mr_tracker_create(const struct mr_config *cfg, const struct mr_dialect *dialect,
                                     struct mr_str database, struct mr_str table,
                                     struct mr_str target_schema, struct mr_str target_table)
{
    static uint64_t last_id; /* main thread only */
    struct mr_tracker *tk = mr_xcalloc(1, sizeof(*tk));

    tk->cfg = cfg;
    tk->dialect = dialect;
    tk->id = ++last_id;
    tk->database = mr_tk_keep(database);
    tk->table = mr_tk_keep(table);
    tk->target_schema = mr_tk_keep(target_schema);
    tk->target_table = mr_tk_keep(target_table);
    tk->label = make_label(database, table);
    mr_config_table(cfg, tk->database, tk->table, &tk->settings);
    tk->by_path = mr_map_create();
    tk->catalog = mr_map_create();
    tk->names = mr_names_create(dialect);
    return tk;
}

static void destroy_column(struct mr_tk_column *col)
{
    mr_tk_drop(col->pub.name);
    mr_tk_drop(col->pub.path);
    mr_tk_drop(col->native);
    mr_xfree(col);
}

static void drop_key(struct mr_tracker *tk)
{
    for (size_t i = 0; i < tk->key_count; i++)
        mr_tk_drop(tk->key[i]);
    mr_xfree(tk->key);
    tk->key = NULL;
    tk->key_count = 0;
}

void mr_tracker_destroy(struct mr_tracker *tk)
{
    if (!tk)
        return;
    for (size_t i = 0; i < tk->count; i++)
        destroy_column(tk->columns[i]);
    mr_xfree(tk->columns);
    drop_key(tk);
    for (size_t i = 0; i < tk->topic_count; i++)
        mr_xfree(tk->topics[i]);
    mr_xfree(tk->topics);
    mr_xfree(tk->hints[0].column);
    mr_xfree(tk->hints[1].column);
    mr_xfree(tk->undo);
    mr_xfree(tk->touched);
    mr_tk_catalog_clear(tk);
    mr_tk_refusals_clear(tk);
    mr_tk_planned_clear(tk);
    mr_map_destroy(tk->catalog, NULL);
    mr_map_destroy(tk->by_path, NULL);
    mr_names_destroy(tk->names);
    mr_tk_drop(tk->root_database);
    mr_tk_drop(tk->root_table);
    mr_tk_drop(tk->label);
    mr_tk_drop(tk->target_table);
    mr_tk_drop(tk->target_schema);
    mr_tk_drop(tk->table);
    mr_tk_drop(tk->database);
    mr_xfree(tk);
}

const struct mr_table_settings *mr_tracker_settings(const struct mr_tracker *tk)
{
    return &tk->settings;
}

void mr_tracker_set_root(struct mr_tracker *tk, struct mr_str database, struct mr_str table, enum mr_policy policy)
{
    tk->root_database = mr_tk_keep(database);
    tk->root_table = mr_tk_keep(table);
    if (!tk->settings.policy_is_set)
        tk->settings.policy = policy;
}

/* Topics are few: each is kept once. */
struct mr_str mr_tk_keep_topic(struct mr_tracker *tk, struct mr_str topic)
{
    for (size_t i = tk->topic_count; i-- > 0;)
        if (mr_str_eq_z(topic, tk->topics[i]))
            return mr_str_z(tk->topics[i]);
    tk->topics = mr_xgrow(tk->topics, &tk->topic_cap, tk->topic_count + 1, sizeof(*tk->topics));
    tk->topics[tk->topic_count] = mr_xstrndup(topic.len > 0 ? topic.ptr : "", topic.len);
    return mr_str_of(tk->topics[tk->topic_count++], topic.len);
}

struct mr_place mr_tk_place(struct mr_tracker *tk)
{
    struct mr_place place = tk->place;

    place.topic = mr_tk_keep_topic(tk, place.topic);
    return place;
}

struct mr_type mr_tk_target(const struct mr_tracker *tk, struct mr_type type)
{
    if (type.kind != MR_T_ARRAY || tk->dialect->has_arrays)
        return type;
    struct mr_type json = MR_TYPE(MR_T_JSON);
    json.origin = type.origin;
    json.not_null = type.not_null;
    return json;
}

struct mr_type mr_tk_normal(struct mr_type type)
{
    if (type.kind == MR_T_ARRAY && type.element == MR_T_DECIMAL)
        return mr_type_array_of(mr_tk_normal(mr_type_element(type)));
    if (type.kind != MR_T_DECIMAL || type.open)
        return type;
    int32_t precision = type.precision;
    if (type.scale < 0) {
        precision -= type.scale;
        type.scale = 0;
    }
    if (precision < type.scale)
        precision = type.scale;
    if (precision < 1 || precision > UINT16_MAX) { /* no such type: the digits stay open */
        type.open = true;
        type.precision = 0;
        type.scale = 0;
        return type;
    }
    type.precision = (uint16_t)precision;
    return type;
}

bool mr_tk_is_key_path(const struct mr_tracker *tk, struct mr_str path)
{
    for (size_t i = 0; i < tk->key_count; i++)
        if (mr_str_eq(tk->key[i], path))
            return true;
    return false;
}

/* The effective policy: path over table over default (the table's settings hold the last two). */
static void read_settings(const struct mr_tracker *tk, struct mr_tk_column *col, struct mr_type *type)
{
    enum mr_policy policy = MR_POLICY_UNSET;

    struct mr_str mark = MR_STR(MR_ROOT_KEY_MARK), path = col->pub.path;
    if (mr_str_starts(path, mark))
        mr_config_column(tk->cfg, tk->root_database, tk->root_table, mr_str_of(path.ptr + mark.len, path.len - mark.len), type, &policy);
    else
        mr_config_column(tk->cfg, tk->database, tk->table, path, type, &policy);
    col->pub.policy = policy != MR_POLICY_UNSET ? policy : tk->settings.policy;
}

static bool is_variant_path(struct mr_str path)
{
    ptrdiff_t at = mr_str_find(path, '\x1f');

    return at > 0 && path.ptr[at - 1] == '\\';
}

static uint32_t append(struct mr_tracker *tk, struct mr_tk_column *col)
{
    tk->columns = mr_xgrow(tk->columns, &tk->cap, tk->count + 1, sizeof(struct mr_tk_column *));
    tk->columns[tk->count++] = col;
    mr_map_put(tk->by_path, col->pub.path, (void *)(uintptr_t)tk->count);
    col->is_variant = is_variant_path(col->pub.path);
    col->pub.dirty = true;
    return (uint32_t)(tk->count - 1);
}

uint32_t mr_tk_add_column(struct mr_tracker *tk, struct mr_str path, struct mr_str wanted, struct mr_type type,
                          bool is_key)
{
    struct mr_tk_column *col = mr_xcalloc(1, sizeof(*col));
    struct mr_type configured = MR_TYPE(MR_T_NONE);

    col->pub.path = mr_tk_keep(path);
    col->pub.name = mr_tk_keep(mr_names_give(tk->names, path, wanted, &col->pub.name_substituted));
    col->native = mr_tk_keep(MR_STR(""));
    read_settings(tk, col, &configured);
    col->pub.type = mr_tk_normal(type);
    if (configured.kind != MR_T_NONE) {
        col->pub.type = mr_tk_normal(configured);
        col->pub.type.origin = MR_SCHEMA;
        col->pub.configured = true;
    }
    col->pub.is_key = is_key || mr_tk_is_key_path(tk, path);
    col->pub.first = mr_tk_place(tk);
    col->pub.widened = (struct mr_place){.topic = MR_STR("")};
    col->alter_refused = mr_tk_refused_alter(tk, path);
    mr_tk_adopt(tk, col);
    tk->changed = true;
    return append(tk, col);
}

void mr_tk_remove_last(struct mr_tracker *tk)
{
    struct mr_tk_column *col = tk->columns[--tk->count];

    if (col->in_catalog)
        tk->catalog_ours--;
    mr_map_remove(tk->by_path, col->pub.path);
    mr_names_release(tk->names, col->pub.name);
    destroy_column(col);
}

/* What types.columns says now may differ from what the column was made with. The type may widen to it, never narrow. */
static void apply_configured(struct mr_tracker *tk, struct mr_tk_column *col, struct mr_type configured)
{
    struct mr_type joined;

    col->pub.configured = false;
    if (configured.kind == MR_T_NONE)
        return;
    configured = mr_tk_normal(configured);
    configured.origin = MR_SCHEMA;
    bool holds = configured.kind == MR_T_TEXT || configured.kind == MR_T_JSON ||
                 (mr_type_join(col->pub.type, configured, &col->pub.facts, &joined) && mr_type_eq(joined, configured));
    if (!holds) {
        col->config_refused = true;
        return;
    }
    col->pub.configured = true;
    if (mr_type_eq(col->pub.type, configured))
        return;
    col->pub.type = configured;
    col->pub.dirty = true;
    tk->changed = true;
}

void mr_tracker_restore(struct mr_tracker *tk, const struct mr_tracked_column *stored)
{
    struct mr_type configured = MR_TYPE(MR_T_NONE);

    if (mr_tk_find(tk, stored->path) >= 0)
        return;
    struct mr_tk_column *col = mr_xcalloc(1, sizeof(*col));
    col->pub = *stored;
    /* Not kept, but an integer that large may have been none of a double's. */
    col->pub.facts.has_inexact = stored->facts.max_abs > MR_EXACT_IN_DOUBLE && stored->facts.max_abs != UINT64_MAX;
    col->pub.name = mr_tk_keep(stored->name);
    col->pub.path = mr_tk_keep(stored->path);
    col->pub.first.topic = mr_tk_keep_topic(tk, stored->first.topic);
    col->pub.widened.topic = mr_tk_keep_topic(tk, stored->widened.topic);
    col->native = mr_tk_keep(MR_STR(""));
    col->saved = col->stored = stored->type;
    col->published = mr_tk_target(tk, stored->type);
    read_settings(tk, col, &configured);
    (void)mr_names_take(tk->names, stored->path, stored->name);
    append(tk, col);
    col->pub.dirty = false;
    if (!col->pub.by_hand)
        apply_configured(tk, col, configured);
}

static bool same_set(const struct mr_tracker *tk, const struct mr_str *paths, size_t count)
{
    if (count != tk->key_count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!mr_tk_is_key_path(tk, paths[i]))
            return false;
    return true;
}

static void keep_key(struct mr_tracker *tk, const struct mr_str *paths, size_t count)
{
    struct mr_str *key = mr_xcalloc(count + 1, sizeof(*key));

    for (size_t i = 0; i < count; i++)
        key[i] = mr_tk_keep(paths[i]);
    drop_key(tk);
    tk->key = key;
    tk->key_count = count;
}

bool mr_tracker_set_key(struct mr_tracker *tk, const struct mr_str *paths, size_t count)
{
    bool same = same_set(tk, paths, count);

    keep_key(tk, paths, count);
    if (same) /* perhaps in another order, which no table has to change for */
        return false;
    for (size_t i = 0; i < tk->count; i++) {
        struct mr_tracked_column *col = &tk->columns[i]->pub;
        bool is_key = mr_tk_is_key_path(tk, col->path);
        col->dirty |= is_key != col->is_key;
        col->is_key = is_key;
    }
    tk->changed = true;
    tk->row.changed = true; /* a key change outlives a refused row */
    return true;
}

static struct mr_str wanted_name(const struct mr_tracker *tk, struct mr_str path, struct mr_arena *ar)
{
    return mr_path_adjusted_name(path, mr_str_z(tk->cfg->flatten_delimiter), tk->cfg->field_names, ar);
}

void mr_tracker_declare(struct mr_tracker *tk, struct mr_str path, struct mr_type type, bool is_key, struct mr_arena *ar)
{
    if (mr_tracker_find(tk, path) >= 0 || path.len > MR_MAX_PATH)
        return;
    (void)mr_tk_add_column(tk, path, wanted_name(tk, path, ar), type, is_key);
    tk->changed = true;
}

struct mr_str mr_tracker_name_for(struct mr_tracker *tk, struct mr_str path, struct mr_arena *ar)
{
    int found = mr_tracker_find(tk, path);
    bool substituted = false;
    if (found >= 0)
        return tk->columns[found]->pub.name;
    return mr_arena_copy(ar, mr_names_give(tk->names, path, wanted_name(tk, path, ar), &substituted));
}

size_t mr_tracker_key(const struct mr_tracker *tk, const struct mr_str **paths)
{
    *paths = tk->key;
    return tk->key_count;
}

int mr_tk_find(const struct mr_tracker *tk, struct mr_str path)
{
    if (path.len == 0)
        path = MR_STR("");
    return (int)(uintptr_t)mr_map_get(tk->by_path, path) - 1;
}

int mr_tracker_find(const struct mr_tracker *tk, struct mr_str path)
{
    return mr_tk_find(tk, path);
}

int mr_tracker_variant_of(const struct mr_tracker *tk, size_t i)
{
    const struct mr_tk_column *col = tk->columns[i];
    ptrdiff_t mark = col->is_variant ? mr_str_find(col->pub.path, '\x1f') : 0;

    return mark > 0 ? mr_tracker_find(tk, mr_str_of(col->pub.path.ptr, (size_t)mark - 1)) : -1;
}

void mr_tracker_below(const struct mr_tracker *tk, struct mr_str path,
                      void (*fn)(void *ctx, uint32_t column), void *ctx)
{
    for (size_t i = 0; i < tk->count; i++)
        if (mr_path_is_below(tk->columns[i]->pub.path, path))
            fn(ctx, (uint32_t)i);
}

size_t mr_tracker_count(const struct mr_tracker *tk)
{
    return tk->count;
}

const struct mr_tracked_column *mr_tracker_column(const struct mr_tracker *tk, size_t i)
{
    return &tk->columns[i]->pub;
}

void mr_tracker_saved(struct mr_tracker *tk)
{
    for (size_t i = 0; i < tk->count; i++) {
        tk->columns[i]->pub.dirty = false;
        tk->columns[i]->saved = tk->columns[i]->pub.type;
    }
    tk->beyond_double = false;
    mr_tk_planned_clear(tk);
}

bool mr_tracker_beyond_double(const struct mr_tracker *tk)
{
    return tk->beyond_double;
}

bool mr_tracker_changed(const struct mr_tracker *tk)
{
    return tk->changed;
}

/* The key's columns in key order; none while one of them is still unknown. */
static uint32_t *key_columns(const struct mr_tracker *tk, struct mr_arena *ar, size_t *count)
{
    uint32_t *key = mr_arena_alloc(ar, (tk->key_count + 1) * sizeof(*key));

    *count = 0;
    for (size_t i = 0; i < tk->key_count; i++) {
        int column = mr_tk_find(tk, tk->key[i]);
        if (column < 0) {
            *count = 0;
            return key;
        }
        key[(*count)++] = (uint32_t)column;
    }
    return key;
}

struct mr_table *mr_tracker_publish(struct mr_tracker *tk)
{
    struct mr_table *tbl = mr_table_create(tk->target_schema, tk->target_table);
    struct mr_column *columns = mr_arena_zalloc(tbl->ar, (tk->count + 1) * sizeof(*columns));

    for (size_t i = 0; i < tk->count; i++) {
        struct mr_tk_column *col = tk->columns[i];
        columns[i] = (struct mr_column){
            .name = mr_arena_copy(tbl->ar, col->pub.name),
            .path = mr_arena_copy(tbl->ar, col->pub.path),
            .type = mr_tk_target(tk, col->pub.type),
            .is_key = col->pub.is_key,
            .by_hand = col->pub.by_hand,
            .recorded = mr_tk_target(tk, col->saved),
            .native = mr_arena_copy(tbl->ar, col->native),
            .max_len = col->pub.facts.max_len,
            .int_digits = col->pub.facts.int_digits,
            .frac_digits = col->pub.facts.frac_digits,
            .has_inexact = col->pub.facts.has_inexact,
        };
        col->published = mr_tk_target(tk, col->pub.type);
    }
    tbl->columns = columns;
    tbl->column_count = tk->count;
    tbl->key_columns = key_columns(tk, tbl->ar, &tbl->key_count);
    tbl->version = ++tk->version;
    tbl->id = tk->id;
    tbl->exists = tk->exists;
    tbl->has_other_unique = tk->has_other_unique;
    tbl->has_foreign_keys = tk->has_foreign_keys;
    tk->changed = false;
    return tbl;
}
