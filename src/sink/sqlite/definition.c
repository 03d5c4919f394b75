/* Editing a CREATE TABLE statement as it stands in sqlite_schema. SQLite cannot alter a column's type or a primary key, so the table is made
 * anew; taking its own text and changing only what has to change keeps everything a person may have added by hand: defaults, checks,
 * collations, generated columns, comments. This is no parser of SQL: it finds the tokens, the top-level commas, the names of the columns and
 * their types, and the primary key clauses. */
#include "internal.h"

enum kind { WORD, QUOTED, NUMBER, PUNCT, END };

struct token {
    enum kind kind;
    struct mr_str text; /* as it stands */
};

struct scan {
    const char *at, *end;
};

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' || (c & 0x80);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

static void skip_blanks(struct scan *sc)
{
    while (sc->at < sc->end) {
        if (is_blank(*sc->at)) {
            sc->at++;
        } else if (sc->end - sc->at >= 2 && sc->at[0] == '-' && sc->at[1] == '-') {
            while (sc->at < sc->end && *sc->at != '\n')
                sc->at++;
        } else if (sc->end - sc->at >= 2 && sc->at[0] == '/' && sc->at[1] == '*') {
            sc->at += 2;
            while (sc->at < sc->end && !(sc->end - sc->at >= 2 && sc->at[0] == '*' && sc->at[1] == '/'))
                sc->at++;
            sc->at = sc->end - sc->at >= 2 ? sc->at + 2 : sc->end;
        } else {
            return;
        }
    }
}

/* The next token; quotes are '…' "…" `…` with doubling, and […]. */
static struct token next(struct scan *sc)
{
    skip_blanks(sc);
    if (sc->at == sc->end)
        return (struct token){END, {sc->end, 0}};
    const char *start = sc->at;
    char c = *sc->at++;
    enum kind kind = PUNCT;
    if (c == '\'' || c == '"' || c == '`') {
        kind = QUOTED;
        while (sc->at < sc->end) {
            if (*sc->at++ != c)
                continue;
            if (sc->at == sc->end || *sc->at != c)
                break;
            sc->at++;
        }
    } else if (c == '[') {
        kind = QUOTED;
        while (sc->at < sc->end && *sc->at++ != ']')
            ;
    } else if (is_word(c)) {
        kind = c >= '0' && c <= '9' ? NUMBER : WORD;
        while (sc->at < sc->end && is_word(*sc->at))
            sc->at++;
    }
    return (struct token){kind, {start, (size_t)(sc->at - start)}};
}

static struct token peek(const struct scan *sc)
{
    struct scan copy = *sc;
    return next(&copy);
}

static bool word_is(struct token t, const char *word_z)
{
    return t.kind == WORD && mr_str_eq_nocase(t.text, mr_str_z(word_z));
}

static bool punct_is(struct token t, char c)
{
    return t.kind == PUNCT && t.text.ptr[0] == c;
}

/* After an opening parenthesis: to behind its closing one. */
static bool skip_parens(struct scan *sc)
{
    for (size_t depth = 1; depth > 0;) {
        struct token t = next(sc);
        if (t.kind == END)
            return false;
        if (punct_is(t, '('))
            depth++;
        else if (punct_is(t, ')'))
            depth--;
    }
    return true;
}

/* Does the token name this column? Names differ by more than ASCII case. */
static bool names(struct token t, struct mr_str column)
{
    if (t.kind == WORD)
        return mr_str_eq_nocase(t.text, column);
    if (t.kind != QUOTED || t.text.len < 2)
        return false;
    char quote = t.text.ptr[0];
    struct mr_str inner = {t.text.ptr + 1, t.text.len - 2};
    size_t j = 0;
    for (size_t i = 0; i < inner.len; i++, j++) {
        if (j >= column.len || !mr_str_eq_nocase(mr_str_of(inner.ptr + i, 1), mr_str_of(column.ptr + j, 1)))
            return false;
        if (quote != '[' && inner.ptr[i] == quote && i + 1 < inner.len)
            i++; /* a doubled quote is one */
    }
    return j == column.len;
}

static bool names_any(struct token t, const struct mr_str *columns, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (names(t, columns[i]))
            return true;
    }
    return false;
}

static bool begins_constraint(struct token t)
{
    static const char *const words[] = {"CONSTRAINT", "PRIMARY", "NOT",        "NULL",      "UNIQUE", "CHECK",
                                        "DEFAULT",    "COLLATE", "REFERENCES", "GENERATED", "AS"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (word_is(t, words[i]))
            return true;
    }
    return false;
}

static bool begins_table_constraint(struct token t)
{
    return word_is(t, "CONSTRAINT") || word_is(t, "PRIMARY") || word_is(t, "UNIQUE") || word_is(t, "CHECK") || word_is(t, "FOREIGN");
}

static void append_range(struct mr_buf *out, const char *from, const char *to)
{
    mr_buf_append(out, from, (size_t)(to - from));
}

/* After PRIMARY KEY of a column: [ASC|DESC] [ON CONFLICT word] [AUTOINCREMENT]. */
static void skip_key_options(struct scan *sc)
{
    if (word_is(peek(sc), "ASC") || word_is(peek(sc), "DESC"))
        next(sc);
    if (word_is(peek(sc), "ON")) {
        next(sc);
        next(sc);
        next(sc);
    }
    if (word_is(peek(sc), "AUTOINCREMENT"))
        next(sc);
}

/* Copy a column's constraints, leaving out PRIMARY KEY and, for columns that are no key any more, NOT NULL. */
static bool copy_constraints(struct scan *sc, bool drop_not_null, struct mr_buf *out, bool *has_not_null)
{
    const char *from = sc->at; /* not copied yet */
    const char *constraint = NULL; /* start of "CONSTRAINT name", which goes with what it names */
    while (peek(sc).kind != END) {
        struct scan before = *sc;
        struct token t = next(sc);
        if (word_is(t, "CONSTRAINT")) {
            constraint = t.text.ptr;
            next(sc);
            continue;
        }
        bool is_key = word_is(t, "PRIMARY") && word_is(peek(sc), "KEY");
        bool is_not_null = word_is(t, "NOT") && word_is(peek(sc), "NULL");
        *has_not_null = *has_not_null || is_not_null;
        if (is_key || (is_not_null && drop_not_null)) {
            append_range(out, from, constraint ? constraint : before.at);
            next(sc);
            skip_key_options(sc);
            from = sc->at;
        } else if (punct_is(t, '(') && !skip_parens(sc)) {
            return false;
        }
        constraint = NULL;
    }
    append_range(out, from, sc->end);
    return true;
}

/* The rest of a column whose type changes: only an INTEGER can be AUTOINCREMENT. */
static void copy_without_autoincrement(struct scan *sc, struct mr_buf *out)
{
    const char *from = sc->at;
    for (struct token t = next(sc); t.kind != END; t = next(sc)) {
        if (word_is(t, "AUTOINCREMENT")) {
            append_range(out, from, t.text.ptr);
            from = sc->at;
        }
    }
    append_range(out, from, sc->end);
}

/* One item between two commas that is a column. */
static bool copy_column(struct mr_str item, const struct mr_sqlite_change *change, struct mr_buf *out)
{
    struct scan sc = {item.ptr, item.ptr + item.len};
    struct token name = next(&sc);
    append_range(out, item.ptr, sc.at);

    const char *type_end = sc.at;
    const char *type_start = sc.at;
    while (peek(&sc).kind == WORD || peek(&sc).kind == QUOTED) {
        if (begins_constraint(peek(&sc)))
            break;
        next(&sc);
        type_end = sc.at;
    }
    if (type_end != type_start && punct_is(peek(&sc), '(')) {
        next(&sc);
        if (!skip_parens(&sc))
            return false;
        type_end = sc.at;
    }
    bool is_changed = change->column.len > 0 && names(name, change->column);
    if (is_changed) {
        mr_buf_append_char(out, ' ');
        mr_buf_append_str(out, change->native);
    } else {
        append_range(out, type_start, type_end);
    }

    sc.at = type_end;
    if (!change->replace_key) {
        if (is_changed)
            copy_without_autoincrement(&sc, out);
        else
            append_range(out, sc.at, sc.end);
        return true;
    }
    bool is_key = names_any(name, change->key, change->key_count), has_not_null = false;
    if (is_key) {
        /* The addition goes in front of what is there, which may end in a comment. */
        struct scan probe = sc;
        struct mr_buf nothing = MR_BUF_INIT(out->max);
        bool fine = copy_constraints(&probe, false, &nothing, &has_not_null);
        mr_buf_free(&nothing);
        if (!fine)
            return false;
        if (!has_not_null)
            mr_buf_append_z(out, " NOT NULL");
    }
    return copy_constraints(&sc, !is_key, out, &has_not_null);
}

static bool is_key_constraint(struct mr_str item)
{
    struct scan sc = {item.ptr, item.ptr + item.len};
    struct token t = next(&sc);
    if (word_is(t, "CONSTRAINT")) {
        next(&sc);
        t = next(&sc);
    }
    return word_is(t, "PRIMARY");
}

static void append_key(const struct mr_sqlite_change *change, struct mr_buf *out)
{
    mr_buf_append_z(out, ",\n  PRIMARY KEY (");
    for (size_t i = 0; i < change->key_count; i++) {
        if (i > 0)
            mr_buf_append_z(out, ", ");
        mr_sqlite_quote(change->key[i], out);
    }
    mr_buf_append_z(out, ")");
}

/* The item up to the next comma or the closing parenthesis at this level; *last tells which. */
static bool next_item(struct scan *sc, struct mr_str *item, bool *last)
{
    const char *start = sc->at;
    for (;;) {
        struct token t = next(sc);
        if (t.kind == END)
            return false;
        if (punct_is(t, '(')) {
            if (!skip_parens(sc))
                return false;
        } else if (punct_is(t, ',') || punct_is(t, ')')) {
            *item = mr_str_of(start, (size_t)(t.text.ptr - start));
            *last = punct_is(t, ')');
            return true;
        }
    }
}

bool mr_sqlite_edit_definition(struct mr_str sql, struct mr_str new_name, const struct mr_sqlite_change *change,
                               struct mr_buf *out)
{
    struct scan sc = {sql.ptr, sql.ptr + sql.len};
    if (!word_is(next(&sc), "CREATE") || !word_is(next(&sc), "TABLE"))
        return false;
    for (struct token t = next(&sc); !punct_is(t, '('); t = next(&sc)) {
        if (t.kind == END)
            return false;
    }
    mr_buf_append_z(out, "CREATE TABLE ");
    mr_sqlite_quote(new_name, out);
    mr_buf_append_z(out, " (");

    bool last = false, first = true, key_done = !change->replace_key || change->key_count == 0;
    while (!last) {
        struct mr_str item;
        if (!next_item(&sc, &item, &last))
            return false;
        struct scan probe = {item.ptr, item.ptr + item.len};
        bool is_constraint = begins_table_constraint(peek(&probe));
        /* Constraints come after all columns, so the key goes in front of the first of them. */
        if (is_constraint && !key_done) {
            append_key(change, out);
            key_done = true;
        }
        if (is_constraint && change->replace_key && is_key_constraint(item))
            continue;
        if (!first)
            mr_buf_append_char(out, ',');
        first = false;
        if (is_constraint)
            mr_buf_append_str(out, item);
        else if (!copy_column(item, change, out))
            return false;
    }
    /* The last item may end in a comment to the end of its line. */
    mr_buf_append_char(out, '\n');
    if (!key_done)
        append_key(change, out);
    mr_buf_append_char(out, ')');
    append_range(out, sc.at, sc.end);
    return true;
}
