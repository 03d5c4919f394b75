/* See debezium_ddl.h. */
#include "debezium_ddl.h"

#include "flatten.h"
#include "mysql_ddl.h"
#include "source_change.h"

/* "true", "first", "last" …: how far a snapshot has come; true in old versions. */
static bool is_snapshot(const struct mr_json_doc *doc, uint32_t source)
{
    uint32_t node = MR_JSON_MEMBER(doc, source, "snapshot");
    return mr_json_is(doc, node, MR_J_TRUE) ||
           (mr_json_is(doc, node, MR_J_STRING) && !mr_json_string_is(doc, node, MR_STR("false")));
}

/* dtle names no connector, and reads MySQL. */
static bool is_mysql(const struct mr_json_doc *doc, uint32_t source)
{
    uint32_t node = MR_JSON_MEMBER(doc, source, "connector");
    return node == MR_JSON_NONE || mr_json_string_is(doc, node, MR_STR("mysql")) ||
           mr_json_string_is(doc, node, MR_STR("mariadb"));
}

static void read_key(const struct mr_json_doc *doc, uint32_t array, struct mr_arena *ar,
                     struct mr_source_action *out)
{
    if (!mr_json_is(doc, array, MR_J_ARRAY))
        return;
    struct mr_str *key = mr_arena_alloc(ar, (doc->nodes[array].count + 1) * sizeof(*key));
    for (uint32_t n = mr_json_first(doc, array); n != MR_JSON_NONE; n = mr_json_next_in(doc, array, n))
        if (mr_json_is(doc, n, MR_J_STRING))
            key[out->key_count++] = mr_flatten_path(MR_STR(""), mr_json_string(doc, n, ar, NULL), ar);
    out->key = key;
}

/* A type that the columns of other connectors than MySQL's have is not known here: such a column comes with its rows. */
static void describe(const struct mr_config *cfg, const struct mr_json_doc *doc,
                     const struct mr_source_change *change, struct mr_arena *ar, struct mr_action_list *list)
{
    const struct mr_connect_schema *schema = mr_source_change_schema(cfg, doc, change, ar);
    struct mr_source_action *a = mr_action_add(list, ar);
    struct mr_field *fields = mr_arena_alloc(ar, (schema->field_count + 1) * sizeof(*fields));
    size_t count = 0;
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const struct mr_connect_field *f = &schema->fields[i];
        if (f->schema->type.kind != MR_T_NONE)
            fields[count++] =
                (struct mr_field){mr_flatten_path(MR_STR(""), f->name, ar), f->schema->type, mr_value_null()};
    }
    a->kind = MR_SRC_DESCRIBE;
    a->relation = (struct mr_relation){mr_arena_copy(ar, change->database), mr_arena_copy(ar, change->table)};
    a->columns = (struct mr_fields){fields, count};
    a->is_whole = true;
    read_key(doc, change->key, ar, a);
}

static void add_structure(const struct mr_config *cfg, const struct mr_json_doc *doc, uint32_t changes,
                          struct mr_arena *ar, struct mr_action_list *list)
{
    for (uint32_t n = mr_json_first(doc, changes); n != MR_JSON_NONE; n = mr_json_next_in(doc, changes, n)) {
        struct mr_source_change change;
        if (mr_source_change_read(doc, n, ar, &change) && change.columns != MR_JSON_NONE)
            describe(cfg, doc, &change, ar, list);
    }
}

/* What the text tells beside columns: drops and renames. Where there is no structure its columns count, too. */
static void add_text(const struct mr_config *cfg, const struct mr_change *ev, bool has_structure,
                     struct mr_arena *ar, struct mr_action_list *list)
{
    struct mr_action_list read = {0};
    struct mr_config as_they_are = *cfg;
    as_they_are.name_case = MR_CASE_PRESERVE; /* Debezium's names are never spelled anew */
    mr_mysql_ddl_read(&as_they_are, ev->statement, ev->relation.database, ar, &read);
    for (size_t i = 0; i < read.count; i++)
        if (!has_structure || read.items[i].kind != MR_SRC_DESCRIBE)
            *mr_action_add(list, ar) = read.items[i];
}

/* Of a RENAME of several tables there is one event for each clause, with the new names of all of them in source.table (3.6.1). */
static void add_beside(const struct mr_json_doc *doc, uint32_t source, struct mr_arena *ar, struct mr_action_list *list)
{
    uint32_t node = MR_JSON_MEMBER(doc, source, "table");
    if (list->count != 1 || list->items[0].kind != MR_SRC_RENAME_TABLE || !mr_json_is(doc, node, MR_J_STRING))
        return;
    struct mr_str rest = mr_json_string(doc, node, ar, NULL);
    struct mr_relation *names = mr_arena_alloc(ar, (rest.len + 1) * sizeof(*names));
    size_t count = 0;
    while (rest.len > 0) {
        ptrdiff_t comma = mr_str_find(rest, ',');
        size_t len = comma < 0 ? rest.len : (size_t)comma;
        names[count++] = (struct mr_relation){list->items[0].new_relation.database, mr_str_of(rest.ptr, len)};
        len += comma >= 0;
        rest = mr_str_of(rest.ptr + len, rest.len - len);
    }
    list->items[0].beside = names;
    list->items[0].beside_count = count > 1 ? count : 0;
}

void mr_debezium_ddl_fill(const struct mr_config *cfg, const struct mr_shape *sh, struct mr_arena *ar,
                          struct mr_change *ev)
{
    uint32_t source = sh->node[MR_M_SOURCE], changes = MR_JSON_MEMBER(sh->doc, sh->object, "tableChanges");
    struct mr_action_list list = {0};
    bool has_structure = mr_json_is(sh->doc, changes, MR_J_ARRAY) && sh->doc->nodes[changes].count > 0;
    ev->is_snapshot = is_snapshot(sh->doc, source);
    if (cfg->ddl != MR_DDL_APPLY)
        return;
    if (!ev->is_snapshot && is_mysql(sh->doc, source))
        add_text(cfg, ev, has_structure, ar, &list);
    add_beside(sh->doc, source, ar, &list);
    if (has_structure && is_mysql(sh->doc, source))
        add_structure(cfg, sh->doc, changes, ar, &list);
    ev->actions = list.items;
    ev->action_count = list.count;
}
