/* What a MySQL statement does to which tables: no more than its kind and the names, for the messages that carry DDL as text. It does not
 * read columns. */
#ifndef MILLRACE_DECODE_MYSQL_STATEMENT_H
#define MILLRACE_DECODE_MYSQL_STATEMENT_H

#include <millrace/base/arena.h>
#include <millrace/model/change.h>

struct mr_mysql_target {
    struct mr_relation name;     /* database "" where the statement names none */
    struct mr_relation new_name; /* RENAME */
};

struct mr_mysql_statement {
    enum mr_statement_kind kind; /* UNKNOWN with is_truncate */
    bool is_truncate;
    const struct mr_mysql_target *targets;
    size_t count;                /* at least one */
};

/* False if it is none of these: GRANT, views, triggers, temporary tables, anything that cannot be read. */
bool mr_mysql_statement_read(struct mr_str sql, struct mr_arena *ar, struct mr_mysql_statement *out);

#endif
