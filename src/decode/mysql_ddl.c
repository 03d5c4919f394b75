/* See mysql_ddl.h. One pass over the words, without recursion; work and memory grow with the text. */
#include "mysql_ddl.h"

#include <millrace/base/map.h>

#include "mysql_scan.h"
#include "mysql_type.h"
#include "names.h"

struct reading {
    struct mr_sqlscan s;
    const struct mr_config *cfg;
    struct mr_str database;
    struct mr_action_list *out;
    struct mr_relation table; /* of the statement under way */
};

struct mr_source_action *mr_action_add(struct mr_action_list *list, struct mr_arena *ar)
{
    if (list->count == list->cap) {
        size_t cap = list->cap == 0 ? 4 : list->cap * 2;
        struct mr_source_action *items = mr_arena_alloc(ar, cap * sizeof(*items));
        if (list->count > 0)
            memcpy(items, list->items, list->count * sizeof(*items));
        list->items = items;
        list->cap = cap;
    }
    struct mr_source_action *a = &list->items[list->count++];
    *a = (struct mr_source_action){0};
    return a;
}

static struct mr_source_action *add(struct reading *r, enum mr_source_ddl kind)
{
    struct mr_source_action *a = mr_action_add(r->out, r->s.ar);
    a->kind = kind;
    a->relation = r->table;
    return a;
}

static void not_understood(struct reading *r, const char *why_z)
{
    add(r, MR_SRC_NOT_UNDERSTOOD)->why = mr_str_z(why_z);
}

/* ---- Words ---- */

static bool at_end(const struct reading *r)
{
    return r->s.now.kind == MR_SQLSCAN_END || mr_sqlscan_is_mark(&r->s, ';');
}

static bool is_any(const struct reading *r, const char *const *words_z)
{
    for (size_t i = 0; words_z[i] != NULL; i++)
        if (mr_sqlscan_is(&r->s, words_z[i]))
            return true;
    return false;
}

static bool take(struct reading *r, const char *word_z)
{
    return mr_sqlscan_take(&r->s, word_z);
}

/* Up to the comma that ends the clause, or the bracket that ends the list. */
static void skip_clause(struct reading *r)
{
    int depth = 0;
    while (!at_end(r)) {
        if (depth == 0 && (mr_sqlscan_is_mark(&r->s, ',') || mr_sqlscan_is_mark(&r->s, ')')))
            return;
        depth += mr_sqlscan_is_mark(&r->s, '(') - mr_sqlscan_is_mark(&r->s, ')');
        mr_sqlscan_next(&r->s);
    }
}

static void skip_statement(struct reading *r)
{
    while (!at_end(r))
        mr_sqlscan_next(&r->s);
}

static const char *const if_exists[] = {"IF", "NOT", "EXISTS", NULL};

static bool read_table(struct reading *r, struct mr_relation *out)
{
    if (!mr_sqlscan_name(&r->s, out))
        return false;
    if (out->database.len == 0)
        out->database = r->database;
    out->database = mr_name_spelled(r->cfg, out->database, r->s.ar);
    out->table = mr_name_spelled(r->cfg, out->table, r->s.ar);
    return true;
}

/* A column's name, as a source path. */
static bool read_column(struct reading *r, struct mr_str *path)
{
    if (!mr_sqlscan_is_identifier(&r->s))
        return false;
    struct mr_str name = mr_name_spelled(r->cfg, r->s.now.text, r->s.ar);
    char *out = mr_arena_alloc(r->s.ar, name.len * 2 + 1);
    size_t n = 0;
    for (size_t i = 0; i < name.len; i++) {
        if (name.ptr[i] == '.' || name.ptr[i] == '\\')
            out[n++] = '\\';
        out[n++] = name.ptr[i];
    }
    *path = mr_str_of(out, n);
    mr_sqlscan_next(&r->s);
    return true;
}

/* ---- Columns ---- */

static void skip_brackets(struct reading *r)
{
    int depth = 0;
    if (!mr_sqlscan_is_mark(&r->s, '('))
        return;
    do {
        depth += mr_sqlscan_is_mark(&r->s, '(') - mr_sqlscan_is_mark(&r->s, ')');
        mr_sqlscan_next(&r->s);
    } while (depth > 0 && r->s.now.kind != MR_SQLSCAN_END);
}

/* The type's text as it stands, and past it. */
static bool read_type(struct reading *r, struct mr_type *out, struct mr_str *text)
{
    static const char *const before[] = {"NATIONAL", NULL};
    static const char *const behind[] = {"PRECISION", "VARYING", "VARCHAR", "VARBINARY", NULL};
    static const char *const signs[] = {"UNSIGNED", "SIGNED", "ZEROFILL", NULL};
    const char *from = r->s.now.text.ptr;
    if (r->s.now.kind != MR_SQLSCAN_WORD)
        return false;
    mr_sqlscan_skip_words(&r->s, before);
    mr_sqlscan_next(&r->s);
    mr_sqlscan_skip_words(&r->s, behind);
    skip_brackets(r);
    const char *end = r->s.last;
    while (is_any(r, signs)) {
        mr_sqlscan_next(&r->s);
        end = r->s.last;
    }
    struct mr_mysql_type type;
    *text = mr_str_of(from, (size_t)(end - from));
    mr_mysql_type_parse(*text, r->s.ar, &type);
    *out = mr_mysql_column_type(&type, false, r->cfg->tinyint1_as_bool);
    out->origin = MR_SCHEMA;
    return true;
}

struct columns {
    struct mr_field *items;
    struct mr_str *texts;
    size_t count, cap;
};

static void add_column(struct reading *r, struct columns *cols, struct mr_str path, struct mr_type type, struct mr_str text)
{
    if (cols->count == cols->cap) {
        size_t cap = cols->cap == 0 ? 8 : cols->cap * 2;
        struct mr_field *items = mr_arena_alloc(r->s.ar, cap * sizeof(*items));
        struct mr_str *texts = mr_arena_alloc(r->s.ar, cap * sizeof(*texts));
        if (cols->count > 0) {
            memcpy(items, cols->items, cols->count * sizeof(*items));
            memcpy(texts, cols->texts, cols->count * sizeof(*texts));
        }
        cols->items = items;
        cols->texts = texts;
        cols->cap = cap;
    }
    cols->texts[cols->count] = text;
    cols->items[cols->count++] = (struct mr_field){path, type, mr_value_null()};
}

/* name type attributes…; *is_key: PRIMARY KEY stands among them. */
static bool read_definition(struct reading *r, struct columns *cols, bool *is_key)
{
    struct mr_str path;
    struct mr_type type;
    int depth = 0;
    *is_key = false;
    struct mr_str text;
    if (!read_column(r, &path) || !read_type(r, &type, &text))
        return false;
    add_column(r, cols, path, type, text);
    while (!at_end(r) &&
           !(depth == 0 && (mr_sqlscan_is_mark(&r->s, ',') || mr_sqlscan_is_mark(&r->s, ')')))) {
        depth += mr_sqlscan_is_mark(&r->s, '(') - mr_sqlscan_is_mark(&r->s, ')');
        *is_key = *is_key || (depth == 0 && mr_sqlscan_is(&r->s, "PRIMARY"));
        mr_sqlscan_next(&r->s);
    }
    return true;
}

static void describe(struct reading *r, const struct columns *cols)
{
    if (cols->count == 0)
        return;
    struct mr_source_action *a = add(r, MR_SRC_DESCRIBE);
    a->columns = (struct mr_fields){cols->items, cols->count};
    a->column_texts = cols->texts;
}

/* What follows names no column. PERIOD and SYSTEM may be columns' names too, but then neither FOR nor VERSIONING follows. */
static bool is_no_column(const struct reading *r)
{
    static const char *const words[] = {"INDEX",   "KEY",     "PRIMARY",    "UNIQUE",    "FULLTEXT", "SPATIAL",
                                        "FOREIGN", "CONSTRAINT", "PARTITION", "CHECK", NULL};
    bool is_period = mr_sqlscan_is(&r->s, "PERIOD"), is_system = mr_sqlscan_is(&r->s, "SYSTEM");
    if (r->s.now.kind != MR_SQLSCAN_WORD)
        return false;
    if (!is_period && !is_system)
        return is_any(r, words);
    struct mr_sqlscan ahead = r->s;
    mr_sqlscan_next(&ahead);
    return mr_sqlscan_is(&ahead, is_period ? "FOR" : "VERSIONING");
}

/* ---- ALTER TABLE ---- */

static bool alter_add(struct reading *r, struct columns *cols)
{
    bool ignored, has_word = take(r, "COLUMN");
    mr_sqlscan_skip_words(&r->s, if_exists);
    if (!has_word && is_no_column(r)) {
        skip_clause(r);
        return true;
    }
    if (!mr_sqlscan_is_mark(&r->s, '('))
        return read_definition(r, cols, &ignored);
    do {
        mr_sqlscan_next(&r->s);
        if (is_no_column(r))
            skip_clause(r);
        else if (!read_definition(r, cols, &ignored))
            return false;
    } while (mr_sqlscan_is_mark(&r->s, ','));
    if (!mr_sqlscan_is_mark(&r->s, ')'))
        return false;
    mr_sqlscan_next(&r->s);
    return true;
}

static bool alter_drop(struct reading *r)
{
    struct mr_str path;
    bool has_word = take(r, "COLUMN");
    if (!has_word && mr_sqlscan_is(&r->s, "PARTITION")) {
        not_understood(r, "rows of a partition are gone, and no event tells which");
        skip_statement(r);
        return true;
    }
    if (!has_word && is_no_column(r)) {
        skip_clause(r);
        return true;
    }
    mr_sqlscan_skip_words(&r->s, if_exists);
    if (!read_column(r, &path))
        return false;
    add(r, MR_SRC_DROP_COLUMN)->path = path;
    skip_clause(r);
    return true;
}

static void rename_column(struct reading *r, struct mr_str from, struct mr_str to)
{
    if (mr_str_eq(from, to))
        return;
    struct mr_source_action *a = add(r, MR_SRC_RENAME_COLUMN);
    a->path = from;
    a->new_path = to;
}

static bool alter_change(struct reading *r, struct columns *cols)
{
    struct mr_str from;
    bool ignored;
    (void)take(r, "COLUMN");
    mr_sqlscan_skip_words(&r->s, if_exists);
    if (!read_column(r, &from) || !read_definition(r, cols, &ignored))
        return false;
    rename_column(r, from, cols->items[cols->count - 1].path);
    return true;
}

static bool alter_modify(struct reading *r, struct columns *cols)
{
    bool ignored;
    (void)take(r, "COLUMN");
    mr_sqlscan_skip_words(&r->s, if_exists);
    return read_definition(r, cols, &ignored);
}

/* RENAME COLUMN, of an index, or of the table; the table's new name comes back and is dealt with last. */
static bool alter_rename(struct reading *r, struct mr_relation *new_name)
{
    struct mr_str from, to;
    if (take(r, "COLUMN")) {
        mr_sqlscan_skip_words(&r->s, if_exists);
        if (!read_column(r, &from) || !take(r, "TO") || !read_column(r, &to))
            return false;
        rename_column(r, from, to);
        return true;
    }
    if (mr_sqlscan_is(&r->s, "INDEX") || mr_sqlscan_is(&r->s, "KEY")) {
        skip_clause(r);
        return true;
    }
    if (!take(r, "TO"))
        (void)take(r, "AS");
    if (mr_sqlscan_is_mark(&r->s, '='))
        mr_sqlscan_next(&r->s);
    return read_table(r, new_name);
}

/* Clauses that take rows away without an event. */
static bool removes_rows(const struct reading *r)
{
    static const char *const words[] = {"TRUNCATE", "EXCHANGE", "DISCARD", "IMPORT", NULL};
    return is_any(r, words);
}

static bool alter_clause(struct reading *r, struct columns *cols, struct mr_relation *new_name)
{
    if (take(r, "ADD"))
        return alter_add(r, cols);
    if (take(r, "DROP"))
        return alter_drop(r);
    if (take(r, "MODIFY"))
        return alter_modify(r, cols);
    if (take(r, "CHANGE"))
        return alter_change(r, cols);
    if (take(r, "RENAME"))
        return alter_rename(r, new_name);
    if (removes_rows(r)) {
        not_understood(r, "rows are gone or come without events");
        skip_statement(r);
        return true;
    }
    skip_clause(r); /* options, defaults, indexes: nothing for the target */
    return true;
}

/* Renames of one statement, by the old name without regard to case. */
struct renames {
    struct mr_source_action *items;
    size_t count;
    struct mr_map *by_old; /* item */
    unsigned char *state;  /* of each: 0 to be done, 1 waits for another, 2 done */
    size_t *chain;
};

static struct mr_str lower(struct mr_str name, struct mr_arena *ar)
{
    char *out = mr_arena_alloc(ar, name.len + 1);
    for (size_t i = 0; i < name.len; i++)
        out[i] = (char)(name.ptr[i] >= 'A' && name.ptr[i] <= 'Z' ? name.ptr[i] + 32 : name.ptr[i]);
    return mr_str_of(out, name.len);
}

/* A rename, and before it the one whose column still has the name that it takes. Of a ring the first is put aside under a name of its own. */
static void add_chain(struct reading *r, struct renames *rn, size_t first)
{
    size_t depth = 0;
    for (size_t i = first; rn->state[i] == 0;) {
        struct mr_source_action *next = mr_map_get(rn->by_old, lower(rn->items[i].new_path, r->s.ar));
        rn->state[i] = 1;
        rn->chain[depth++] = i;
        if (next == NULL || next == &rn->items[i])
            break;
        i = (size_t)(next - rn->items);
        if (rn->state[i] == 1) {
            struct mr_source_action aside = *next;
            next->path = aside.new_path = mr_arena_printf(r->s.ar, "millrace_moved_%zu", i);
            *mr_action_add(r->out, r->s.ar) = aside;
        }
    }
    while (depth > 0) {
        size_t i = rn->chain[--depth];
        *mr_action_add(r->out, r->s.ar) = rn->items[i];
        rn->state[i] = 2;
    }
}

/* The clauses of one ALTER speak of the columns as they were before it. So drops come first, then renames, each when its new name has become free. */
static void order_columns(struct reading *r, size_t from)
{
    size_t count = r->out->count - from;
    struct mr_source_action *all = mr_arena_alloc(r->s.ar, (count + 1) * sizeof(*all));
    struct renames rn = {.items = mr_arena_alloc(r->s.ar, (count + 1) * sizeof(*all))};
    if (count < 2)
        return;
    memcpy(all, r->out->items + from, count * sizeof(*all));
    r->out->count = from;
    for (size_t i = 0; i < count; i++) {
        if (all[i].kind == MR_SRC_RENAME_COLUMN)
            rn.items[rn.count++] = all[i];
        else
            *mr_action_add(r->out, r->s.ar) = all[i];
    }
    rn.by_old = mr_map_create();
    rn.state = mr_arena_zalloc(r->s.ar, rn.count + 1);
    rn.chain = mr_arena_alloc(r->s.ar, (rn.count + 1) * sizeof(*rn.chain));
    for (size_t i = 0; i < rn.count; i++)
        mr_map_put(rn.by_old, lower(rn.items[i].path, r->s.ar), &rn.items[i]);
    for (size_t i = 0; i < rn.count; i++)
        add_chain(r, &rn, i);
    mr_map_destroy(rn.by_old, NULL);
}

static bool alter_table(struct reading *r)
{
    struct columns cols = {0};
    struct mr_relation new_name = {0};
    size_t from = r->out->count;
    mr_sqlscan_skip_words(&r->s, if_exists);
    if (!read_table(r, &r->table))
        return false;
    if (take(r, "WAIT"))
        mr_sqlscan_next(&r->s);
    (void)take(r, "NOWAIT");
    bool ok = !at_end(r);
    while (ok && !at_end(r)) {
        ok = alter_clause(r, &cols, &new_name);
        if (ok && mr_sqlscan_is_mark(&r->s, ','))
            mr_sqlscan_next(&r->s);
        else if (ok && mr_sqlscan_is_mark(&r->s, ')'))
            ok = false;
    }
    order_columns(r, from);
    describe(r, &cols); /* after drops and renames, so that a name that has become free can be taken */
    if (ok && new_name.table.len > 0)
        add(r, MR_SRC_RENAME_TABLE)->new_relation = new_name;
    return ok;
}

/* ---- CREATE, DROP, RENAME ---- */

/* (a, b(10) DESC, …) */
static bool read_key(struct reading *r, struct mr_str **key, size_t *count)
{
    size_t cap = 0;
    while (!at_end(r) && !mr_sqlscan_is_mark(&r->s, '(')) /* USING BTREE, a name */
        mr_sqlscan_next(&r->s);
    do {
        struct mr_str path;
        mr_sqlscan_next(&r->s);
        if (!read_column(r, &path))
            return false;
        if (*count == cap) {
            cap = cap == 0 ? 4 : cap * 2;
            struct mr_str *items = mr_arena_alloc(r->s.ar, cap * sizeof(*items));
            if (*count > 0)
                memcpy(items, *key, *count * sizeof(*items));
            *key = items;
        }
        (*key)[(*count)++] = path;
        skip_clause(r);
    } while (mr_sqlscan_is_mark(&r->s, ','));
    skip_clause(r);
    return true;
}

static bool create_element(struct reading *r, struct columns *cols, struct mr_str **key, size_t *key_count)
{
    bool is_key = false;
    if (take(r, "CONSTRAINT") && !mr_sqlscan_is(&r->s, "PRIMARY") && !is_no_column(r) &&
        r->s.now.kind != MR_SQLSCAN_MARK)
        mr_sqlscan_next(&r->s); /* its name */
    if (take(r, "PRIMARY"))
        return read_key(r, key, key_count);
    if (is_no_column(r)) {
        skip_clause(r);
        return true;
    }
    if (!read_definition(r, cols, &is_key))
        return false;
    if (is_key) {
        *key = mr_arena_alloc(r->s.ar, sizeof(**key));
        (*key)[0] = cols->items[cols->count - 1].path;
        *key_count = 1;
    }
    return true;
}

/* A table made like another, or from a query, gets its columns with its rows. One that is replaced is dropped before: its rows are gone. */
static bool create_table(struct reading *r, bool replaces)
{
    struct columns cols = {0};
    struct mr_str *key = NULL;
    size_t key_count = 0;
    mr_sqlscan_skip_words(&r->s, if_exists);
    if (!read_table(r, &r->table))
        return false;
    if (replaces)
        (void)add(r, MR_SRC_DROP_TABLE);
    if (!mr_sqlscan_is_mark(&r->s, '(')) {
        skip_statement(r);
        return true;
    }
    mr_sqlscan_next(&r->s);
    if (mr_sqlscan_is(&r->s, "LIKE")) {
        skip_statement(r);
        return true;
    }
    for (;;) {
        if (!create_element(r, &cols, &key, &key_count))
            return false;
        if (!mr_sqlscan_is_mark(&r->s, ','))
            break;
        mr_sqlscan_next(&r->s);
    }
    if (!mr_sqlscan_is_mark(&r->s, ')') || cols.count == 0)
        return false;
    describe(r, &cols);
    struct mr_source_action *a = &r->out->items[r->out->count - 1];
    a->is_whole = true;
    a->key = key;
    a->key_count = key_count;
    skip_statement(r);
    return true;
}

static bool read_create(struct reading *r)
{
    bool replaces = take(r, "OR") && take(r, "REPLACE");
    if (take(r, "TABLE"))
        return create_table(r, replaces);
    skip_statement(r); /* temporary tables, indexes, views, databases, users … */
    return true;
}

static bool read_drop(struct reading *r)
{
    if (mr_sqlscan_is(&r->s, "DATABASE") || mr_sqlscan_is(&r->s, "SCHEMA")) {
        not_understood(r, "a database with all its tables is gone");
        skip_statement(r);
        return true;
    }
    if (!take(r, "TABLE") && !take(r, "TABLES")) {
        skip_statement(r);
        return true;
    }
    mr_sqlscan_skip_words(&r->s, if_exists);
    for (;;) {
        if (!read_table(r, &r->table))
            return false;
        (void)add(r, MR_SRC_DROP_TABLE);
        if (!mr_sqlscan_is_mark(&r->s, ','))
            break;
        mr_sqlscan_next(&r->s);
    }
    skip_statement(r); /* RESTRICT, CASCADE, WAIT n */
    return true;
}

static bool read_rename(struct reading *r)
{
    if (!take(r, "TABLE") && !take(r, "TABLES")) {
        skip_statement(r);
        return true;
    }
    mr_sqlscan_skip_words(&r->s, if_exists);
    for (;;) {
        struct mr_relation to;
        if (!read_table(r, &r->table))
            return false;
        while (r->s.now.kind == MR_SQLSCAN_WORD && !mr_sqlscan_is(&r->s, "TO")) /* WAIT 5, NOWAIT */
            mr_sqlscan_next(&r->s);
        if (!take(r, "TO") || !read_table(r, &to))
            return false;
        add(r, MR_SRC_RENAME_TABLE)->new_relation = to;
        if (!mr_sqlscan_is_mark(&r->s, ','))
            return at_end(r);
        mr_sqlscan_next(&r->s);
    }
}

/* ---- Statements ---- */

static bool read_statement(struct reading *r)
{
    static const char *const before[] = {"ONLINE", "OFFLINE", "IGNORE", NULL};
    if (take(r, "ALTER")) {
        mr_sqlscan_skip_words(&r->s, before);
        if (take(r, "TABLE"))
            return alter_table(r);
    } else if (take(r, "CREATE")) {
        return read_create(r);
    } else if (take(r, "DROP")) {
        return read_drop(r);
    } else if (take(r, "RENAME")) {
        return read_rename(r);
    }
    if (r->s.now.kind != MR_SQLSCAN_WORD && !at_end(r))
        return false;
    skip_statement(r); /* TRUNCATE is a change of its own; SET, USE, GRANT, views, indexes … */
    return true;
}

void mr_mysql_ddl_read(const struct mr_config *cfg, struct mr_str sql, struct mr_str database,
                       struct mr_arena *ar, struct mr_action_list *out)
{
    struct reading r = {.s = {.p = sql.ptr, .end = sql.ptr + sql.len, .ar = ar},
                        .cfg = cfg,
                        .database = database,
                        .out = out};
    if (sql.len == 0)
        return;
    mr_sqlscan_next(&r.s);
    while (r.s.now.kind != MR_SQLSCAN_END) {
        size_t before = out->count;
        r.table = (struct mr_relation){database, MR_STR("")};
        if (!read_statement(&r) || !at_end(&r)) {
            out->count = before; /* half a statement is none */
            not_understood(&r, "the statement cannot be read");
            skip_statement(&r);
        }
        while (mr_sqlscan_is_mark(&r.s, ';'))
            mr_sqlscan_next(&r.s);
    }
}
