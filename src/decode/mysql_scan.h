/* The words of MySQL's statements, for those who read DDL that comes as text. Comments are passed over, those that the server executes are read. */
#ifndef MILLRACE_DECODE_MYSQL_SCAN_H
#define MILLRACE_DECODE_MYSQL_SCAN_H

#include <millrace/base/arena.h>
#include <millrace/model/change.h>

/* NAME: an identifier in quotes, unescaped. WORD: anything else that may be one. */
enum mr_sqlscan_kind {
    MR_SQLSCAN_END,
    MR_SQLSCAN_WORD,
    MR_SQLSCAN_NAME,
    MR_SQLSCAN_LITERAL,
    MR_SQLSCAN_MARK
};

struct mr_sqlscan_token {
    enum mr_sqlscan_kind kind;
    struct mr_str text;
};

struct mr_sqlscan {
    const char *p, *end;
    const char *last; /* behind the token before `now` */
    struct mr_arena *ar;
    struct mr_sqlscan_token now;
};

/* The next token into `now`. */
void mr_sqlscan_next(struct mr_sqlscan *s);
/* Is `now` that word (in any case), or that mark? */
bool mr_sqlscan_is(const struct mr_sqlscan *s, const char *word_z);
bool mr_sqlscan_is_mark(const struct mr_sqlscan *s, char c);
/* Go past the word, if it is there. */
bool mr_sqlscan_take(struct mr_sqlscan *s, const char *word_z);
/* Go past any of these words, NULL at the end of the list, in any order and number. */
void mr_sqlscan_skip_words(struct mr_sqlscan *s, const char *const *words_z);
bool mr_sqlscan_is_identifier(const struct mr_sqlscan *s);
/* [database.]table; database "" where none stands there. */
bool mr_sqlscan_name(struct mr_sqlscan *s, struct mr_relation *out);

#endif
