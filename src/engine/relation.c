/* Relations and their target tables: see relation.h. */
#include "relation_parts.h"

#include <millrace/base/log.h>
#include <millrace/base/mem.h>

#include "control.h"

static bool template_uses(const struct mr_relations *rels, const char *variable_z)
{
    const struct mr_config *cfg = rels->cfg;
    if (strstr(cfg->target_table, variable_z) != NULL)
        return true;
    if (rels->sink_ops->dialect->has_schemas)
        return strstr(cfg->target_schema, variable_z) != NULL;
    return !cfg->target_table_set && strcmp(variable_z, "{db}") == 0; /* the default there is {db}_{table} */
}

static void make_stores(struct mr_relations *rels)
{
    rels->ar = mr_arena_create(0);
    rels->stored = mr_map_create();
    rels->rels = mr_map_create();
    rels->names = mr_map_create();
    rels->schemas = mr_names_create_tables(rels->sink_ops->dialect);
    if (rels->sink_ops->dialect->reserved_schemas != NULL)
        mr_names_forbid(rels->schemas, rels->sink_ops->dialect->reserved_schemas);
    (void)mr_names_take(rels->schemas, (struct mr_str){0}, MR_STR("information_schema"));
    const char *const *own = rels->sink_ops->dialect->own_schemas;
    for (; own != NULL && *own != NULL; own++)
        (void)mr_names_take(rels->schemas, (struct mr_str){0}, mr_str_z(*own));
    rels->last = NULL;
}

struct mr_relations *mr_relations_create(const struct mr_config *cfg, const struct mr_sink_ops *sink_ops)
{
    struct mr_relations *rels = mr_xcalloc(1, sizeof *rels);
    rels->cfg = cfg;
    rels->sink_ops = sink_ops;
    rels->key = MR_BUF_INIT(1u << 20);
    rels->last_key = MR_BUF_INIT(1u << 20);
    rels->refusals = mr_refusals_create();
    make_stores(rels);
    rels->uses_db = template_uses(rels, "{db}");
    rels->uses_table = template_uses(rels, "{table}");
    rels->uses_topic = template_uses(rels, "{topic}");
    return rels;
}

void mr_rel_destroy(void *value)
{
    struct mr_rel *rel = value;
    mr_map_destroy(rel->by_array, NULL);
    mr_xfree(rel->children);
    mr_tracker_destroy(rel->tk);
    mr_table_unref(rel->tbl);
    mr_xfree(rel->known);
    mr_xfree(rel);
}

static void destroy_names(void *value)
{
    mr_names_destroy(value);
}

static void drop_stores(struct mr_relations *rels)
{
    mr_map_destroy(rels->rels, mr_rel_destroy);
    mr_map_destroy(rels->stored, NULL);
    mr_map_destroy(rels->names, destroy_names);
    mr_names_destroy(rels->schemas);
    mr_arena_destroy(rels->ar);
}

void mr_relations_destroy(struct mr_relations *rels)
{
    if (rels == NULL)
        return;
    drop_stores(rels);
    mr_refusals_destroy(rels->refusals);
    mr_buf_free(&rels->key);
    mr_buf_free(&rels->last_key);
    mr_xfree(rels);
}

/* The control tables' names are taken, or their prefix where the target has no schemas: no event's table may become one of them. */
static void keep_control_tables(const struct mr_relations *rels, struct mr_str schema, struct mr_names *names)
{
    static const char *const tables[] = {"meta", "position", "topic_fact", "tracked_table", "tracked_column",
                                         "type_history", "ddl_history", "source_type", "source_ddl", "dead_letter"};
    const char *control_z = rels->cfg->control_schema;
    control_z = control_z != NULL && *control_z ? control_z : "millrace";
    if (!rels->sink_ops->dialect->has_schemas) {
        struct mr_buf prefix = MR_BUF_INIT(4096);
        mr_buf_printf(&prefix, "%s_", control_z);
        mr_names_forbid(names, mr_buf_z(&prefix));
        mr_buf_free(&prefix);
    } else if (mr_str_eq_z(schema, control_z)) {
        for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
            (void)mr_names_take(names, (struct mr_str){0}, mr_str_z(tables[i]));
    }
}

struct mr_names *mr_relations_names(struct mr_relations *rels, struct mr_str schema)
{
    struct mr_names *names = mr_map_get(rels->names, schema);
    if (names == NULL) {
        names = mr_names_create_tables(rels->sink_ops->dialect);
        const char *const *reserved = rels->sink_ops->dialect->reserved_tables;
        for (; reserved != NULL && *reserved != NULL; reserved++)
            mr_names_forbid(names, *reserved);
        keep_control_tables(rels, schema, names);
        mr_map_put(rels->names, schema, names);
    }
    return names;
}

/* A schema of that name, or of a name that the target takes for it. */
static struct mr_str schema_name(struct mr_relations *rels, struct mr_str wanted)
{
    bool substituted = false;
    if (wanted.len == 0)
        return wanted;
    struct mr_str name = mr_arena_copy(rels->ar, mr_names_give(rels->schemas, wanted, wanted, &substituted));
    if (substituted)
        mr_log(MR_LOG_WARN, "the schema's name cannot be used; it gets a substitute", MR_KV_STR("wanted", wanted),
               MR_KV_STR("name", name));
    return name;
}

static void identity(struct mr_buf *buf, struct mr_str database, struct mr_str table, struct mr_str topic)
{
    mr_buf_clear(buf);
    mr_buf_append_str(buf, database);
    mr_buf_append_char(buf, '\0');
    mr_buf_append_str(buf, table);
    mr_buf_append_char(buf, '\0');
    mr_buf_append_str(buf, topic);
}

/* What is stored is found by the identity and by the name that the templates give it: other templates make another table of it. */
static void add_expanded(struct mr_buf *buf, struct mr_str expanded)
{
    mr_buf_append_char(buf, '\0');
    mr_buf_append_str(buf, expanded);
}

static struct mr_str expanded_path(const struct mr_target_name *name, struct mr_arena *ar)
{
    struct mr_buf path = MR_BUF_INIT(1u << 20);
    if (name->schema.len > 0)
        mr_path_append(&path, name->schema);
    mr_path_append(&path, name->table);
    struct mr_str out = mr_arena_copy(ar, mr_buf_str(&path));
    mr_buf_free(&path);
    return out;
}

void mr_relations_stored_key(struct mr_buf *buf, const struct mr_rel *rel, struct mr_str expanded)
{
    identity(buf, rel->database, rel->table, rel->topic);
    add_expanded(buf, expanded);
}

static enum mr_status on_stored(void *ctx, const struct mr_tracked_table *tbl, struct mr_error *err)
{
    struct mr_relations *rels = ctx;
    (void)err;
    struct mr_rel_stored *st = mr_arena_zalloc(rels->ar, sizeof *st);
    st->target_schema = mr_arena_copy(rels->ar, tbl->target_schema);
    st->target_table = mr_arena_copy(rels->ar, tbl->target_table);
    st->created_by_us = tbl->created_by_us;
    st->key_count = tbl->key_count;
    st->key_paths = mr_arena_alloc(rels->ar, (tbl->key_count + 1) * sizeof *st->key_paths);
    for (size_t i = 0; i < tbl->key_count; i++)
        st->key_paths[i] = mr_arena_copy(rels->ar, tbl->key_paths[i]);
    identity(&rels->key, tbl->database, tbl->table, tbl->topic);
    add_expanded(&rels->key, tbl->expanded);
    mr_map_put(rels->stored, mr_buf_str(&rels->key), st);
    mr_names_take(mr_relations_names(rels, st->target_schema), mr_buf_str(&rels->key), st->target_table);
    return MR_OK;
}

enum mr_status mr_relations_load(struct mr_relations *rels, struct mr_sink *sink, struct mr_error *err)
{
    struct mr_buf name = MR_BUF_INIT(4096);
    rels->sink_ops->default_schema(rels->cfg, &name);
    rels->default_schema = mr_arena_copy(rels->ar, mr_buf_str(&name));
    mr_buf_free(&name);
    return mr_control_tables(sink, on_stored, rels, err);
}

enum mr_status mr_relations_reload(struct mr_relations *rels, struct mr_sink *sink, struct mr_error *err)
{
    drop_stores(rels);
    make_stores(rels);
    enum mr_status status = mr_relations_load(rels, sink, err);
    if (status != MR_E_SCHEMA)
        return status;
    /* The control tables were there when the target was connected, and are gone: waiting does not bring them back. */
    mr_error_hint(err, "the control tables are gone or not whole: restore them, or drop all of them to start anew");
    return err->status = MR_E_CONFIG;
}

static enum mr_status on_planned(void *ctx, const struct mr_tracked_column *col, struct mr_error *err)
{
    (void)err;
    mr_tracker_planned(ctx, col);
    return MR_OK;
}

static enum mr_status on_column(void *ctx, const struct mr_tracked_column *col, struct mr_error *err)
{
    (void)err;
    mr_tracker_restore(ctx, col);
    return MR_OK;
}

void mr_rel_remember_types(struct mr_rel *rel)
{
    rel->known_count = mr_tracker_count(rel->tk);
    rel->known = mr_xrealloc(rel->known, (rel->known_count + 1) * sizeof *rel->known);
    for (size_t i = 0; i < rel->known_count; i++)
        rel->known[i] = mr_tracker_column(rel->tk, i)->type;
}

/* What the target has refused of this table is not asked of it again. */
static void apply_refusals(struct mr_relations *rels, struct mr_rel *rel)
{
    rel->refusals = rels->refusals;
    rel->refused = mr_refusals_of(rels->refusals, rel->target_schema, rel->target_table);
    for (const struct mr_refusal *r = rel->refused; r != NULL; r = r->next) {
        if (r->why_z != NULL && r->kind == MR_REFUSED_COLUMN)
            mr_tracker_refuse_new(rel->tk, r->what, r->why_z);
        else if (r->why_z != NULL && r->kind == MR_REFUSED_ALTER)
            mr_tracker_refuse_alter(rel->tk, r->what, r->why_z);
    }
}

enum mr_status mr_rel_restore(struct mr_relations *rels, struct mr_sink *sink, struct mr_rel *rel,
                              const struct mr_rel_stored *st, struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_buf notes = MR_BUF_INIT(65536);
    struct mr_catalog_table now = {0};
    enum mr_status status = MR_OK;
    if (st != NULL) {
        MR_TRY_DONE(mr_control_columns(sink, rel->target_schema, rel->target_table, on_column, rel->tk, err));
        if (rels->sink_ops->ddl_commits)
            MR_TRY_DONE(mr_control_plan(sink, rel->target_schema, rel->target_table, on_planned, rel->tk, err));
        mr_tracker_set_key(rel->tk, st->key_paths, st->key_count);
        rel->created_by_us = st->created_by_us;
        rel->saved = true;
        mr_rel_remember_types(rel);
    }
    MR_TRY_DONE(rels->sink_ops->describe_table(sink, rel->target_schema, rel->target_table, ar, &now, err));
    rel->exists = now.exists;
    rel->has_other_unique = now.unique_count > 0;
    rel->has_foreign_keys = now.has_foreign_keys;
    if (now.exists)
        mr_tracker_meet_catalog(rel->tk, &now, &notes);
    apply_refusals(rels, rel);
    if (notes.len > 0)
        mr_log(MR_LOG_WARN, "the target's table was changed by hand; its types are respected",
               MR_KV_STR("table", rel->source_name), MR_KV_STR("columns", mr_buf_str(&notes)));
    rel->shape_dirty = true; /* the first batch compares with the catalog under the gate */

done:
    mr_buf_free(&notes);
    mr_arena_destroy(ar);
    return status;
}

static struct mr_str source_name(struct mr_relations *rels, const struct mr_relation *relation,
                                 struct mr_str target_table)
{
    if (relation->table.len == 0)
        return mr_arena_copy(rels->ar, target_table);
    if (relation->database.len == 0)
        return mr_arena_copy(rels->ar, relation->table);
    return mr_arena_printf(rels->ar, "%.*s.%.*s", MR_STR_FMT(relation->database), MR_STR_FMT(relation->table));
}

static struct mr_str last_part(struct mr_str topic, size_t back)
{
    for (size_t i = 0; i < back; i++) {
        ptrdiff_t dot = mr_str_rfind(topic, '.');
        if (dot < 0)
            return (struct mr_str){0};
        topic.len = (size_t)dot;
    }
    ptrdiff_t dot = mr_str_rfind(topic, '.');
    return dot < 0 ? topic : mr_str_of(topic.ptr + dot + 1, topic.len - (size_t)dot - 1);
}

/* Names under which the rules of the configuration (tables, types) are looked up: the event's, else the topic's parts. */
static struct mr_relation settings_names(const struct mr_relation *relation, const struct mr_record *rec,
                                         struct mr_str target_table)
{
    struct mr_relation out = *relation;
    if (out.table.len == 0)
        out.table = rec->topic.len > 0 ? last_part(rec->topic, 0) : target_table;
    if (out.database.len == 0 && rec->topic.len > 0)
        out.database = last_part(rec->topic, 1);
    return out;
}

static enum mr_status make_rel(struct mr_relations *rels, struct mr_sink *sink,
                               const struct mr_relation *relation, const struct mr_record *rec,
                               struct mr_rel *rel, struct mr_error *err)
{
    const struct mr_sink_ops *ops = rels->sink_ops;
    struct mr_target_name name;
    MR_TRY(mr_name_target(rels->cfg, ops->dialect, rels->default_schema, relation->database, relation->table, rec->topic,
                          mr_partition_file(rec->part), rels->ar, &name, err));
    rel->expanded = expanded_path(&name, rels->ar);
    struct mr_buf key = MR_BUF_INIT(1u << 20);
    mr_buf_append_str(&key, mr_buf_str(&rels->key));
    add_expanded(&key, rel->expanded);
    struct mr_rel_stored *st = mr_map_get(rels->stored, mr_buf_str(&key));
    if (st != NULL) {
        rel->target_schema = st->target_schema;
        rel->target_table = st->target_table;
    } else {
        bool substituted = false;
        rel->target_schema = schema_name(rels, name.schema);
        rel->target_table = mr_arena_copy(
            rels->ar, mr_names_give(mr_relations_names(rels, rel->target_schema), mr_buf_str(&key), name.table, &substituted));
        if (substituted)
            mr_log(MR_LOG_WARN, "the table's name is taken or cannot be used; it gets a substitute",
                   MR_KV_STR("wanted", name.table), MR_KV_STR("name", rel->target_table));
    }
    mr_buf_free(&key);
    struct mr_relation names = settings_names(relation, rec, rel->target_table);
    rel->source_name = source_name(rels, &names, rel->target_table);
    rel->tk = mr_tracker_create(rels->cfg, ops->dialect, names.database, names.table, rel->target_schema,
                                rel->target_table);
    rel->set = mr_tracker_settings(rel->tk);
    rel->settings_names = (struct mr_relation){mr_arena_copy(rels->ar, names.database), mr_arena_copy(rels->ar, names.table)};
    MR_TRY(mr_rel_restore(rels, sink, rel, st, err));
    if (rels->cfg->array_encoding != MR_ARRAY_TABLE)
        return MR_OK;
    return mr_rel_restore_children(rels, sink, rel, err);
}

/* The relation's identity: what of its names the templates use. Names that the event does not bring are the topic's parts, so that a tombstone
 * finds the table of the envelopes before it. Leaves it in rels->key. */
static void identify(struct mr_relations *rels, const struct mr_relation *relation, const struct mr_record *rec,
                     struct mr_rel *out)
{
    struct mr_str none = {0}, database = relation->database, table = relation->table;
    if (table.len == 0)
        table = last_part(rec->topic, 0);
    if (database.len == 0)
        database = last_part(rec->topic, 1);
    bool lacks = rels->uses_table && table.len == 0;
    struct mr_str where = rec->topic.len > 0 ? rec->topic : mr_str_z(rec->part->topic_z);
    out->database = rels->uses_db ? database : none;
    out->table = rels->uses_table ? table : none;
    out->topic = rels->uses_topic || lacks ? where : none;
    identity(&rels->key, out->database, out->table, out->topic);
}

/* Another database than `found`: then *found is "" for good. */
static void note_database(struct mr_str database, struct mr_str *found, bool *several)
{
    *several = *several || (found->len > 0 && !mr_str_eq(*found, database));
    *found = database;
}

struct mr_str mr_relations_only_database(const struct mr_relations *rels, struct mr_str table)
{
    struct mr_str found = {0};
    bool several = false;
    for (size_t i = 0; i < mr_map_count(rels->stored); i++) {
        struct mr_str key;
        (void)mr_map_at(rels->stored, i, &key);
        struct mr_str database = mr_str_of(key.ptr, strlen(key.ptr)); /* identity() */
        struct mr_str rest = mr_str_of(key.ptr + database.len + 1, key.len - database.len - 1);
        if (rest.len > table.len && mr_str_starts(rest, table) && rest.ptr[table.len] == '\0')
            note_database(database, &found, &several);
    }
    for (size_t i = 0; i < mr_map_count(rels->rels); i++) {
        const struct mr_rel *rel = mr_map_at(rels->rels, i, NULL);
        if (rel->saved && mr_str_eq(rel->table, table))
            note_database(rel->database, &found, &several);
    }
    return several ? (struct mr_str){0} : found;
}

static bool is_last(const struct mr_relations *rels)
{
    return rels->last != NULL && mr_str_eq(mr_buf_str(&rels->key), mr_buf_str(&rels->last_key));
}

enum mr_status mr_relations_get(struct mr_relations *rels, struct mr_sink *sink,
                                const struct mr_relation *relation, const struct mr_record *rec,
                                struct mr_rel **out, struct mr_error *err)
{
    struct mr_rel ids = {0};
    identify(rels, relation, rec, &ids);
    if (is_last(rels)) {
        *out = rels->last;
        return MR_OK;
    }
    struct mr_rel *rel = mr_map_get(rels->rels, mr_buf_str(&rels->key));
    if (rel == NULL) {
        rel = mr_xcalloc(1, sizeof *rel);
        rel->database = mr_arena_copy(rels->ar, ids.database);
        rel->table = mr_arena_copy(rels->ar, ids.table);
        rel->topic = mr_arena_copy(rels->ar, ids.topic);
        enum mr_status status = make_rel(rels, sink, relation, rec, rel, err);
        if (status != MR_OK) {
            mr_rel_drop_children(rel);
            mr_rel_destroy(rel);
            return status;
        }
        mr_map_put(rels->rels, mr_buf_str(&rels->key), rel);
        mr_rel_adopt_children(rels, rel);
    }
    rels->last = rel;
    mr_buf_clear(&rels->last_key);
    mr_buf_append_str(&rels->last_key, mr_buf_str(&rels->key));
    *out = rel;
    return MR_OK;
}

size_t mr_relations_count(const struct mr_relations *rels)
{
    return mr_map_count(rels->rels);
}

struct mr_rel *mr_relations_at(const struct mr_relations *rels, size_t i)
{
    return mr_map_at(rels->rels, i, NULL);
}
