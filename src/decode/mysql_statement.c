/* See mysql_statement.h. */
#include "mysql_statement.h"

#include "mysql_scan.h"

struct list {
    struct mr_mysql_target *items;
    size_t count, cap;
};

static struct mr_mysql_target *add(struct mr_sqlscan *s, struct list *list)
{
    if (list->count == list->cap) {
        size_t cap = list->cap == 0 ? 2 : list->cap * 2;
        struct mr_mysql_target *items = mr_arena_zalloc(s->ar, cap * sizeof(*items));
        if (list->count != 0)
            memcpy(items, list->items, list->count * sizeof(*items));
        list->items = items;
        list->cap = cap;
    }
    return &list->items[list->count++];
}

static const char *const if_exists[] = {"IF", "NOT", "EXISTS", NULL};

static bool one_table(struct mr_sqlscan *s, struct list *list)
{
    mr_sqlscan_skip_words(s, if_exists);
    return mr_sqlscan_name(s, &add(s, list)->name);
}

static bool one_database(struct mr_sqlscan *s, struct list *list)
{
    struct mr_mysql_target *t = add(s, list);
    mr_sqlscan_skip_words(s, if_exists);
    if (!mr_sqlscan_is_identifier(s))
        return false;
    t->name = (struct mr_relation){s->now.text, MR_STR("")};
    return true;
}

/* The table of an index: what follows ON. */
static bool table_of_index(struct mr_sqlscan *s, struct list *list)
{
    while (s->now.kind != MR_SQLSCAN_END && !mr_sqlscan_is(s, "ON"))
        mr_sqlscan_next(s);
    mr_sqlscan_next(s);
    return mr_sqlscan_name(s, &add(s, list)->name);
}

static bool table_list(struct mr_sqlscan *s, struct list *list)
{
    mr_sqlscan_skip_words(s, if_exists);
    do {
        if (list->count != 0)
            mr_sqlscan_next(s);
        if (!mr_sqlscan_name(s, &add(s, list)->name))
            return false;
    } while (mr_sqlscan_is_mark(s, ','));
    return true;
}

static bool rename_list(struct mr_sqlscan *s, struct list *list)
{
    mr_sqlscan_skip_words(s, if_exists);
    do {
        if (list->count != 0)
            mr_sqlscan_next(s);
        struct mr_mysql_target *t = add(s, list);
        if (!mr_sqlscan_name(s, &t->name))
            return false;
        while (s->now.kind == MR_SQLSCAN_WORD && !mr_sqlscan_is(s, "TO")) /* WAIT 5, NOWAIT */
            mr_sqlscan_next(s);
        if (!mr_sqlscan_take(s, "TO") || !mr_sqlscan_name(s, &t->new_name))
            return false;
    } while (mr_sqlscan_is_mark(s, ','));
    return true;
}

/* RENAME [TO | AS | =] name, among the clauses of an ALTER TABLE. */
static bool find_rename(struct mr_sqlscan *s, struct mr_relation *out)
{
    int depth = 0;
    bool at_start = true;
    for (; s->now.kind != MR_SQLSCAN_END; mr_sqlscan_next(s)) {
        if (at_start && depth == 0 && mr_sqlscan_take(s, "RENAME")) {
            bool has_sign = mr_sqlscan_take(s, "TO") || mr_sqlscan_take(s, "AS");
            if (mr_sqlscan_is_mark(s, '=')) {
                has_sign = true;
                mr_sqlscan_next(s);
            }
            bool is_other = !has_sign && (mr_sqlscan_is(s, "COLUMN") || mr_sqlscan_is(s, "INDEX") || mr_sqlscan_is(s, "KEY"));
            if (!is_other)
                return mr_sqlscan_name(s, out);
        }
        depth += mr_sqlscan_is_mark(s, '(') - mr_sqlscan_is_mark(s, ')');
        at_start = mr_sqlscan_is_mark(s, ',');
    }
    return false;
}

static bool alter_table(struct mr_sqlscan *s, struct list *list, struct mr_mysql_statement *out)
{
    struct mr_relation new_name;
    out->kind = MR_STMT_ALTER;
    if (!one_table(s, list))
        return false;
    if (mr_sqlscan_take(s, "WAIT"))
        mr_sqlscan_next(s);
    (void)mr_sqlscan_take(s, "NOWAIT");
    if (find_rename(s, &new_name)) {
        out->kind = MR_STMT_RENAME;
        list->items[0].new_name = new_name;
    }
    return true;
}

/* ---- Statements ---- */

static bool read_create(struct mr_sqlscan *s, struct list *list, struct mr_mysql_statement *out)
{
    static const char *const before[] = {"OR", "REPLACE", "UNIQUE", "FULLTEXT", "SPATIAL", "ONLINE", "OFFLINE", NULL};
    mr_sqlscan_skip_words(s, before);
    if (mr_sqlscan_take(s, "TABLE")) {
        out->kind = MR_STMT_CREATE;
        return one_table(s, list);
    }
    if (mr_sqlscan_take(s, "INDEX")) {
        out->kind = MR_STMT_CREATE_INDEX;
        return table_of_index(s, list);
    }
    out->kind = MR_STMT_CREATE_DATABASE;
    return (mr_sqlscan_take(s, "DATABASE") || mr_sqlscan_take(s, "SCHEMA")) && one_database(s, list);
}

static bool read_alter(struct mr_sqlscan *s, struct list *list, struct mr_mysql_statement *out)
{
    static const char *const before[] = {"ONLINE", "OFFLINE", "IGNORE", NULL};
    mr_sqlscan_skip_words(s, before);
    if (mr_sqlscan_take(s, "TABLE"))
        return alter_table(s, list, out);
    out->kind = MR_STMT_ALTER_DATABASE;
    return (mr_sqlscan_take(s, "DATABASE") || mr_sqlscan_take(s, "SCHEMA")) && one_database(s, list);
}

static bool read_drop(struct mr_sqlscan *s, struct list *list, struct mr_mysql_statement *out)
{
    static const char *const before[] = {"ONLINE", "OFFLINE", NULL};
    mr_sqlscan_skip_words(s, before);
    if (mr_sqlscan_take(s, "TABLE") || mr_sqlscan_take(s, "TABLES")) {
        out->kind = MR_STMT_DROP;
        return table_list(s, list);
    }
    if (mr_sqlscan_take(s, "INDEX")) {
        out->kind = MR_STMT_DROP_INDEX;
        return table_of_index(s, list);
    }
    out->kind = MR_STMT_DROP_DATABASE;
    return (mr_sqlscan_take(s, "DATABASE") || mr_sqlscan_take(s, "SCHEMA")) && one_database(s, list);
}

static bool read_statement(struct mr_sqlscan *s, struct list *list, struct mr_mysql_statement *out)
{
    mr_sqlscan_next(s);
    if (mr_sqlscan_take(s, "CREATE"))
        return read_create(s, list, out);
    if (mr_sqlscan_take(s, "ALTER"))
        return read_alter(s, list, out);
    if (mr_sqlscan_take(s, "DROP"))
        return read_drop(s, list, out);
    if (mr_sqlscan_take(s, "RENAME")) {
        out->kind = MR_STMT_RENAME;
        return (mr_sqlscan_take(s, "TABLE") || mr_sqlscan_take(s, "TABLES")) && rename_list(s, list);
    }
    if (mr_sqlscan_take(s, "TRUNCATE")) {
        out->is_truncate = true;
        (void)mr_sqlscan_take(s, "TABLE");
        return one_table(s, list);
    }
    return false;
}

bool mr_mysql_statement_read(struct mr_str sql, struct mr_arena *ar, struct mr_mysql_statement *out)
{
    struct mr_sqlscan s = {.p = sql.ptr, .end = sql.ptr + sql.len, .ar = ar};
    struct list list = {0};
    *out = (struct mr_mysql_statement){0};
    if (sql.len == 0 || !read_statement(&s, &list, out))
        return false;
    out->targets = list.items;
    out->count = list.count;
    return true;
}
