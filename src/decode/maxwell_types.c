/* See maxwell_types.h. */
#include "maxwell_types.h"

#include <millrace/base/mem.h>

#include "flatten.h"
#include "mysql_ddl.h"
#include "names.h"
#include "told_types.h"

#define MAX_COLUMNS 200000 /* of all tables */

struct mr_maxwell_defs {
    const struct mr_config *cfg;
    struct mr_map *columns; /* database NUL table NUL path → struct mr_maxwell_column */
    struct mr_told *told;
    struct mr_arena *ar;      /* all that is kept */
    struct mr_arena *scratch; /* of one message */
    struct mr_json_reader *reader;
    struct mr_buf key;
};

struct mr_maxwell_defs *mr_maxwell_defs_create(const struct mr_config *cfg, struct mr_told *told)
{
    struct mr_json_limits limits = {.max_depth = cfg->max_depth, .max_bytes = cfg->max_message_bytes};
    struct mr_maxwell_defs *defs = mr_xcalloc(1, sizeof(*defs));
    defs->cfg = cfg;
    defs->columns = mr_map_create();
    defs->told = told;
    defs->ar = mr_arena_create(0);
    defs->scratch = mr_arena_create(0);
    defs->reader = mr_json_reader_create(&limits);
    defs->key = MR_BUF_INIT(1u << 20);
    return defs;
}

void mr_maxwell_defs_destroy(struct mr_maxwell_defs *defs)
{
    if (defs == NULL)
        return;
    mr_buf_free(&defs->key);
    mr_json_reader_destroy(defs->reader);
    mr_arena_destroy(defs->scratch);
    mr_arena_destroy(defs->ar);
    mr_map_destroy(defs->columns, NULL);
    mr_xfree(defs);
}

static struct mr_str key_of(struct mr_maxwell_defs *defs, const struct mr_relation *relation, struct mr_str path)
{
    mr_buf_clear(&defs->key);
    mr_buf_append_str(&defs->key, relation->database);
    mr_buf_append_char(&defs->key, '\0');
    mr_buf_append_str(&defs->key, relation->table);
    mr_buf_append_char(&defs->key, '\0');
    mr_buf_append_str(&defs->key, path);
    return mr_buf_str(&defs->key);
}

const struct mr_maxwell_column *mr_maxwell_defs_find(struct mr_maxwell_defs *defs, const struct mr_relation *relation, struct mr_str path)
{
    return mr_map_count(defs->columns) == 0 ? NULL : mr_map_get(defs->columns, key_of(defs, relation, path));
}

/* ---- Learning ---- */

static struct mr_str text_of(const struct mr_json_doc *doc, uint32_t object, const char *name_z, struct mr_arena *ar)
{
    uint32_t n = mr_json_member(doc, object, mr_str_z(name_z));
    return mr_json_is(doc, n, MR_J_STRING) ? mr_json_string(doc, n, ar, NULL) : MR_STR("");
}

/* A column of `def` as MySQL would write its type: digits of seconds, sign, and the character set of bytes are all that it tells beside the name. */
static struct mr_str def_text(const struct mr_json_doc *doc, uint32_t column, struct mr_arena *ar)
{
    struct mr_str type = text_of(doc, column, "type", ar);
    int64_t digits = 0;
    uint32_t length = MR_JSON_MEMBER(doc, column, "column-length");
    bool is_unsigned = mr_json_is(doc, MR_JSON_MEMBER(doc, column, "signed"), MR_J_FALSE);
    bool is_binary = mr_str_eq_nocase(text_of(doc, column, "charset", ar), MR_STR("binary"));
    bool has_digits = length != MR_JSON_NONE && mr_json_int64(doc, length, &digits) && digits > 0 && digits <= 6;
    if (has_digits)
        return mr_arena_printf(ar, "%.*s(%d)", MR_STR_FMT(type), (int)digits);
    return mr_arena_printf(ar, "%.*s%s%s", MR_STR_FMT(type), is_unsigned ? " unsigned" : "", is_binary ? " binary" : "");
}

/* The type's text in the statement; "" = the statement does not speak of the column. */
static struct mr_str sql_text(const struct mr_action_list *list, const struct mr_relation *relation, struct mr_str path)
{
    struct mr_str found = MR_STR("");
    for (size_t i = 0; i < list->count; i++) {
        const struct mr_source_action *a = &list->items[i];
        if (a->kind != MR_SRC_DESCRIBE || a->column_texts == NULL || !mr_str_eq(a->relation.table, relation->table))
            continue;
        for (size_t k = 0; k < a->columns.count; k++)
            if (mr_str_eq_nocase(a->columns.items[k].path, path)) /* as MySQL takes it */
                found = a->column_texts[k];
    }
    return found;
}

static void set_type(struct mr_maxwell_defs *defs, struct mr_maxwell_column *c, struct mr_str text, bool is_lengthless)
{
    mr_mysql_type_parse(text, defs->ar, &c->type);
    c->is_lengthless = is_lengthless;
    if (c->type.kind == MR_MY_TEXT && mr_str_ends(c->def, MR_STR(" binary"))) /* CHAR … CHARACTER SET binary */
        c->type.kind = MR_MY_BYTES;
    c->column = mr_mysql_column_type(&c->type, is_lengthless, defs->cfg->tinyint1_as_bool);
}

/* A column that another statement has told with its length keeps that as long as `def` says the same of it, under the table's new name too. */
static void learn_column(struct mr_maxwell_defs *defs, const struct mr_relation *was, const struct mr_relation *now, struct mr_str path, struct mr_str def,
                         struct mr_str sql)
{
    const struct mr_maxwell_column *old = mr_map_get(defs->columns, key_of(defs, was, path));
    struct mr_str key = key_of(defs, now, path);
    struct mr_maxwell_column *c = mr_map_get(defs->columns, key);
    if (defs->key.overflow || (c == NULL && mr_map_count(defs->columns) >= MAX_COLUMNS))
        return;
    if (c == NULL) {
        c = mr_arena_zalloc(defs->ar, sizeof(*c));
        if (old != NULL)
            *c = *old;
        mr_map_put(defs->columns, key, c);
    }
    if (sql.len == 0 && mr_str_eq(c->def, def))
        return;
    if (!mr_str_eq(c->def, def))
        c->def = mr_arena_copy(defs->ar, def);
    set_type(defs, c, sql.len > 0 ? sql : def, sql.len == 0);
}

static void learn(struct mr_maxwell_defs *defs, const struct mr_relation *was, const struct mr_relation *now, const struct mr_json_doc *doc, uint32_t def,
                  struct mr_str sql)
{
    struct mr_action_list list = {0};
    uint32_t columns = MR_JSON_MEMBER(doc, def, "columns");
    if (!mr_json_is(doc, columns, MR_J_ARRAY))
        return;
    mr_mysql_ddl_read(defs->cfg, sql, was->database, defs->scratch, &list);
    for (uint32_t n = mr_json_first(doc, columns); n != MR_JSON_NONE; n = mr_json_next_in(doc, columns, n)) {
        if (!mr_json_is(doc, n, MR_J_OBJECT))
            continue;
        struct mr_str name = mr_name_spelled(defs->cfg, text_of(doc, n, "name", defs->scratch), defs->scratch);
        struct mr_str path = mr_flatten_path(MR_STR(""), name, defs->scratch);
        learn_column(defs, was, now, path, def_text(doc, n, defs->scratch), sql_text(&list, was, path));
    }
}

static struct mr_str told_text(struct mr_maxwell_defs *defs, const struct mr_relation *was, const struct mr_json_doc *doc, uint32_t def, struct mr_str sql)
{
    struct mr_buf buf = MR_BUF_INIT(defs->cfg->max_message_bytes);
    mr_buf_append_z(&buf, MR_MAXWELL_TOLD "{\"database\":");
    mr_buf_append_json(&buf, was->database);
    mr_buf_append_z(&buf, ",\"table\":");
    mr_buf_append_json(&buf, was->table);
    mr_buf_append_z(&buf, ",\"sql\":");
    mr_buf_append_json(&buf, sql);
    mr_buf_append_z(&buf, ",\"def\":");
    mr_json_append(doc, def, &buf);
    mr_buf_append_z(&buf, "}}");
    struct mr_str out = buf.overflow ? MR_STR("") : mr_arena_copy(defs->scratch, mr_buf_str(&buf));
    mr_buf_free(&buf);
    return out;
}

void mr_maxwell_defs_learn(struct mr_maxwell_defs *defs, const struct mr_record *rec, const struct mr_relation *was, const struct mr_relation *now,
                           const struct mr_json_doc *doc, uint32_t def, struct mr_str sql)
{
    if (!mr_json_is(doc, def, MR_J_OBJECT))
        return;
    struct mr_source_type row = {
        .topic = rec->topic.len > 0 ? rec->topic : mr_str_z(rec->part->topic_z),
        .partition = rec->partition,
        .position = rec->offset,
        .database = now->database,
        .table = now->table,
        .text = told_text(defs, was, doc, def, sql),
    };
    learn(defs, was, now, doc, def, sql); /* known or not: records may be read again, and rows want what held before them */
    if (row.text.len > 0 && !mr_told_is_known(defs->told, &row))
        mr_told_note(defs->told, &row);
    mr_arena_reset(defs->scratch);
}

void mr_maxwell_defs_load(struct mr_maxwell_defs *defs, const struct mr_source_type *row)
{
    struct mr_json_doc doc;
    if (mr_told_is_known(defs->told, row) || mr_json_parse(defs->reader, row->text, &doc, NULL) != MR_OK)
        return;
    uint32_t told = MR_JSON_MEMBER(&doc, 0, "maxwell");
    struct mr_relation was = {text_of(&doc, told, "database", defs->scratch), text_of(&doc, told, "table", defs->scratch)};
    struct mr_relation now = {mr_arena_copy(defs->scratch, row->database), mr_arena_copy(defs->scratch, row->table)};
    learn(defs, &was, &now, &doc, MR_JSON_MEMBER(&doc, told, "def"), text_of(&doc, told, "sql", defs->scratch));
    mr_arena_reset(defs->scratch);
}
