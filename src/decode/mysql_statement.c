/* See mysql_statement.h. Comments are passed over, those that the server executes are read. */
#include "mysql_statement.h"

enum token_kind { END, WORD, NAME, LITERAL, MARK };

/* NAME: an identifier in quotes, unescaped. WORD: anything else that may be one. */
struct token {
    enum token_kind kind;
    struct mr_str text;
};

struct scan {
    const char *p, *end;
    struct mr_arena *ar;
    struct token now;
};

/* ---- Tokens ---- */

static bool is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
           (unsigned char)c >= 0x80;
}

static bool starts(const struct scan *s, const char *text_z)
{
    size_t len = strlen(text_z);
    return (size_t)(s->end - s->p) >= len && memcmp(s->p, text_z, len) == 0;
}

static void skip_line(struct scan *s)
{
    while (s->p < s->end && *s->p != '\n')
        s->p++;
}

static void skip_comment(struct scan *s)
{
    s->p += 2;
    while (s->p < s->end && !starts(s, "*/"))
        s->p++;
    s->p = s->end - s->p < 2 ? s->end : s->p + 2;
}

/* Blanks, comments, and the marks of comments whose content is executed. */
static void skip_space(struct scan *s)
{
    while (s->p < s->end) {
        if (*s->p == ' ' || (*s->p >= '\t' && *s->p <= '\r')) {
            s->p++;
        } else if (*s->p == '#' || (starts(s, "--") && (s->end - s->p == 2 || (unsigned char)s->p[2] <= ' '))) {
            skip_line(s);
        } else if (starts(s, "/*!") || starts(s, "/*M!")) {
            s->p += s->p[2] == '!' ? 3 : 4;
            while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
                s->p++;
        } else if (starts(s, "*/")) {
            s->p += 2;
        } else if (starts(s, "/*")) {
            skip_comment(s);
        } else {
            return;
        }
    }
}

/* At an opening quote. Doubled quotes stand for one; in literals a backslash hides what follows. */
static void read_quoted(struct scan *s)
{
    char quote = *s->p++;
    const char *from = s->p;
    bool is_literal = quote == '\'';
    while (s->p < s->end) {
        if (is_literal && *s->p == '\\' && s->end - s->p > 1)
            s->p++;
        else if (*s->p == quote) {
            if (s->end - s->p < 2 || s->p[1] != quote)
                break;
            s->p++;
        }
        s->p++;
    }
    struct mr_str raw = mr_str_of(from, (size_t)(s->p - from));
    if (s->p < s->end)
        s->p++;
    s->now = (struct token){is_literal ? LITERAL : NAME, raw};
    if (is_literal || memchr(raw.ptr, quote, raw.len) == NULL)
        return;

    char *out = mr_arena_alloc(s->ar, raw.len);
    size_t n = 0;
    for (size_t i = 0; i < raw.len; i++) {
        out[n++] = raw.ptr[i];
        i += raw.ptr[i] == quote;
    }
    s->now.text = mr_str_of(out, n);
}

static void next(struct scan *s)
{
    skip_space(s);
    s->now = (struct token){END, MR_STR("")};
    if (s->p == s->end)
        return;
    const char *from = s->p;
    if (*from == '\'' || *from == '"' || *from == '`') {
        read_quoted(s);
        return;
    }
    s->now.kind = MARK;
    if (is_word_char(*from)) {
        s->now.kind = WORD;
        while (s->p < s->end && is_word_char(*s->p))
            s->p++;
    } else {
        s->p++;
    }
    s->now.text = mr_str_of(from, (size_t)(s->p - from));
}

static bool is_word(const struct scan *s, const char *word_z)
{
    return s->now.kind == WORD && mr_str_eq_nocase(s->now.text, mr_str_z(word_z));
}

static bool is_mark(const struct scan *s, char c)
{
    return s->now.kind == MARK && s->now.text.ptr[0] == c;
}

static bool take(struct scan *s, const char *word_z)
{
    if (!is_word(s, word_z))
        return false;
    next(s);
    return true;
}

static void skip_words(struct scan *s, const char *const *words_z)
{
    for (size_t i = 0; words_z[i] != NULL; i++) {
        if (take(s, words_z[i]))
            i = (size_t)-1; /* once more from the first */
    }
}

static bool is_identifier(const struct scan *s)
{
    return (s->now.kind == WORD || s->now.kind == NAME) && s->now.text.len != 0;
}

/* ---- Names ---- */

/* [database.]table */
static bool read_name(struct scan *s, struct mr_relation *out)
{
    *out = (struct mr_relation){MR_STR(""), MR_STR("")};
    if (is_mark(s, '.')) /* `.table`: the current database */
        next(s);
    if (!is_identifier(s))
        return false;
    out->table = s->now.text;
    next(s);
    if (!is_mark(s, '.'))
        return true;
    next(s);
    if (!is_identifier(s))
        return false;
    out->database = out->table;
    out->table = s->now.text;
    next(s);
    return true;
}

struct list {
    struct mr_mysql_target *items;
    size_t count, cap;
};

static struct mr_mysql_target *add(struct scan *s, struct list *list)
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

static bool one_table(struct scan *s, struct list *list)
{
    skip_words(s, if_exists);
    return read_name(s, &add(s, list)->name);
}

static bool one_database(struct scan *s, struct list *list)
{
    struct mr_mysql_target *t = add(s, list);
    skip_words(s, if_exists);
    if (!is_identifier(s))
        return false;
    t->name = (struct mr_relation){s->now.text, MR_STR("")};
    return true;
}

/* The table of an index: what follows ON. */
static bool table_of_index(struct scan *s, struct list *list)
{
    while (s->now.kind != END && !is_word(s, "ON"))
        next(s);
    next(s);
    return read_name(s, &add(s, list)->name);
}

static bool table_list(struct scan *s, struct list *list)
{
    skip_words(s, if_exists);
    do {
        if (list->count != 0)
            next(s);
        if (!read_name(s, &add(s, list)->name))
            return false;
    } while (is_mark(s, ','));
    return true;
}

static bool rename_list(struct scan *s, struct list *list)
{
    skip_words(s, if_exists);
    do {
        if (list->count != 0)
            next(s);
        struct mr_mysql_target *t = add(s, list);
        if (!read_name(s, &t->name))
            return false;
        while (s->now.kind == WORD && !is_word(s, "TO")) /* WAIT 5, NOWAIT */
            next(s);
        if (!take(s, "TO") || !read_name(s, &t->new_name))
            return false;
    } while (is_mark(s, ','));
    return true;
}

/* RENAME [TO | AS | =] name, among the clauses of an ALTER TABLE. */
static bool find_rename(struct scan *s, struct mr_relation *out)
{
    int depth = 0;
    bool at_start = true;
    for (; s->now.kind != END; next(s)) {
        if (at_start && depth == 0 && take(s, "RENAME")) {
            bool has_sign = take(s, "TO") || take(s, "AS");
            if (is_mark(s, '=')) {
                has_sign = true;
                next(s);
            }
            bool is_other = !has_sign && (is_word(s, "COLUMN") || is_word(s, "INDEX") || is_word(s, "KEY"));
            if (!is_other)
                return read_name(s, out);
        }
        depth += is_mark(s, '(') - is_mark(s, ')');
        at_start = is_mark(s, ',');
    }
    return false;
}

static bool alter_table(struct scan *s, struct list *list, struct mr_mysql_statement *out)
{
    struct mr_relation new_name;
    out->kind = MR_STMT_ALTER;
    if (!one_table(s, list))
        return false;
    if (take(s, "WAIT"))
        next(s);
    (void)take(s, "NOWAIT");
    if (find_rename(s, &new_name)) {
        out->kind = MR_STMT_RENAME;
        list->items[0].new_name = new_name;
    }
    return true;
}

/* ---- Statements ---- */

static bool read_create(struct scan *s, struct list *list, struct mr_mysql_statement *out)
{
    static const char *const before[] = {"OR", "REPLACE", "UNIQUE", "FULLTEXT", "SPATIAL", "ONLINE", "OFFLINE", NULL};
    skip_words(s, before);
    if (take(s, "TABLE")) {
        out->kind = MR_STMT_CREATE;
        return one_table(s, list);
    }
    if (take(s, "INDEX")) {
        out->kind = MR_STMT_CREATE_INDEX;
        return table_of_index(s, list);
    }
    out->kind = MR_STMT_CREATE_DATABASE;
    return (take(s, "DATABASE") || take(s, "SCHEMA")) && one_database(s, list);
}

static bool read_alter(struct scan *s, struct list *list, struct mr_mysql_statement *out)
{
    static const char *const before[] = {"ONLINE", "OFFLINE", "IGNORE", NULL};
    skip_words(s, before);
    if (take(s, "TABLE"))
        return alter_table(s, list, out);
    out->kind = MR_STMT_ALTER_DATABASE;
    return (take(s, "DATABASE") || take(s, "SCHEMA")) && one_database(s, list);
}

static bool read_drop(struct scan *s, struct list *list, struct mr_mysql_statement *out)
{
    static const char *const before[] = {"ONLINE", "OFFLINE", NULL};
    skip_words(s, before);
    if (take(s, "TABLE") || take(s, "TABLES")) {
        out->kind = MR_STMT_DROP;
        return table_list(s, list);
    }
    if (take(s, "INDEX")) {
        out->kind = MR_STMT_DROP_INDEX;
        return table_of_index(s, list);
    }
    out->kind = MR_STMT_DROP_DATABASE;
    return (take(s, "DATABASE") || take(s, "SCHEMA")) && one_database(s, list);
}

static bool read_statement(struct scan *s, struct list *list, struct mr_mysql_statement *out)
{
    next(s);
    if (take(s, "CREATE"))
        return read_create(s, list, out);
    if (take(s, "ALTER"))
        return read_alter(s, list, out);
    if (take(s, "DROP"))
        return read_drop(s, list, out);
    if (take(s, "RENAME")) {
        out->kind = MR_STMT_RENAME;
        return (take(s, "TABLE") || take(s, "TABLES")) && rename_list(s, list);
    }
    if (take(s, "TRUNCATE")) {
        out->is_truncate = true;
        (void)take(s, "TABLE");
        return one_table(s, list);
    }
    return false;
}

bool mr_mysql_statement_read(struct mr_str sql, struct mr_arena *ar, struct mr_mysql_statement *out)
{
    struct scan s = {.p = sql.ptr, .end = sql.ptr + sql.len, .ar = ar};
    struct list list = {0};
    *out = (struct mr_mysql_statement){0};
    if (sql.len == 0 || !read_statement(&s, &list, out))
        return false;
    out->targets = list.items;
    out->count = list.count;
    return true;
}
