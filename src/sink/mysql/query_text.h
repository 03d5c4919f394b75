/* The text of a named query (sql/mysql/NAME.sql) taken apart: names of control tables put in, statements separated, parameters made
 * positional. Pure text. */
#ifndef MILLRACE_SINK_MYSQL_QUERY_TEXT_H
#define MILLRACE_SINK_MYSQL_QUERY_TEXT_H

#include <millrace/base/arena.h>
#include <millrace/base/error.h>

struct mr_my_statement {
    struct mr_str text;
    size_t param_count;      /* question marks */
    const uint16_t *params;  /* which of the query's parameters each is, from 0; one may come several times */
};

/* ?1 … ?n become ?. {name} becomes `control`.`millrace_name` (`control` is quoted already), {control} the database alone, {collation} the
 * collation. Everything is allocated in `ar`. Semicolons and parameters in literals, quoted names and comments are left alone. BUG on a text
 * that does not end what it begins. */
enum mr_status mr_my_query_split(const char *sql_z, struct mr_str control, const char *collation_z, struct mr_arena *ar,
                                 struct mr_my_statement **out, size_t *count, struct mr_error *err) MR_MUST_CHECK;

#endif
