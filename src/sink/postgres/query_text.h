/* The text of a named query (sql/postgres/NAME.sql) taken apart: names of control tables put in, statements separated, parameters
 * numbered anew for each statement. Pure text. */
#ifndef MILLRACE_SINK_POSTGRES_QUERY_TEXT_H
#define MILLRACE_SINK_POSTGRES_QUERY_TEXT_H

#include <millrace/base/arena.h>
#include <millrace/base/error.h>

struct mr_pg_statement {
    const char *text_z;      /* $1 … $n are dense: PostgreSQL must find a type for every one */
    size_t param_count;
    const uint16_t *params;  /* which of the query's parameters $i is, from 0 */
};

/* {control} becomes `control` (quoted already), {name} becomes control."name"; inside a text literal quotes are doubled. Everything is
 * allocated in `ar`. Semicolons and parameters in literals, quoted names, dollar quotes and comments are left alone. BUG on a text that
 * does not end what it begins. */
enum mr_status mr_pg_query_split(const char *sql_z, struct mr_str control, struct mr_arena *ar,
                                 struct mr_pg_statement **out, size_t *count, struct mr_error *err) MR_MUST_CHECK;

#endif
