/* Names of tables and columns: one resolver for DDL, DML and catalog. Deterministic: the same set of paths, learned in the same
 * order, gives the same names; what has been given once is recorded and given again. */
#ifndef MILLRACE_SCHEMA_NAME_H
#define MILLRACE_SCHEMA_NAME_H

#include <millrace/base/arena.h>
#include <millrace/base/str.h>
#include <millrace/config/config.h>

struct mr_dialect;
struct mr_names; /* the names taken in one scope (a table's columns, a schema's tables) */

struct mr_names *mr_names_create(const struct mr_dialect *dialect); /* of columns: reserved_columns are never given */
struct mr_names *mr_names_create_tables(const struct mr_dialect *dialect); /* of tables, or of schemas */
/* No name given from now on begins with `prefix_z` (letters' case aside): one that would gets "_" in front. */
void mr_names_forbid(struct mr_names *names, const char *prefix_z);
void mr_names_destroy(struct mr_names *names);
/* Record a name that exists already (from the control table or the catalog). `path` "" = taken by somebody else. False if another
 * path holds it. */
bool mr_names_take(struct mr_names *names, struct mr_str path, struct mr_str name);
/* The name for a path, made of `wanted`: sanitised (NUL and ill-formed bytes → '_', empty → "_"), cut to max_ident with a hash of the
 * full name, and given a hash suffix "_xxxxxxxx" when another path has it (case folded where the dialect folds). *substituted tells if
 * the name is not `wanted` itself. The result lives in `names`. */
struct mr_str mr_names_give(struct mr_names *names, struct mr_str path, struct mr_str wanted,
                            bool *substituted);
/* Give a name back (a row that was refused). */
void mr_names_release(struct mr_names *names, struct mr_str name);

/* The column name a path wants: its segments, unescaped, joined by the delimiter. */
struct mr_str mr_path_column_name(struct mr_str path, struct mr_str delimiter, struct mr_arena *ar);
/* The same with every segment adjusted as unwrap.field.name.adjustment.mode says; Millrace's own names (MR_OWN_PATH) stay as they are. */
struct mr_str mr_path_adjusted_name(struct mr_str path, struct mr_str delimiter, enum mr_name_mode mode, struct mr_arena *ar);
/* Is it the path of a column of Millrace's own (MR_OWN_PATH)? */
bool mr_path_is_own(struct mr_str path);
/* The last segments: does `path` equal `prefix` or lie below it? */
bool mr_path_is_below(struct mr_str path, struct mr_str prefix);
/* Append one member name to a path, escaped. */
void mr_path_append(struct mr_buf *path, struct mr_str name);

/* Target names of a relation by the templates {db}, {table}, {topic}: `db` and `table` already resolved (fallbacks below). */
struct mr_target_name {
    struct mr_str schema; /* "" where the dialect has none */
    struct mr_str table;
};
/* architecture §11 "names": db = event's database, else the topic's last part but one, else default_schema; table = the event's table,
 * else the topic's last part, else the file's name without its endings. DATA no_table if there is none. SQLite: table template
 * defaults to {db}_{table}, {table} where there is no database. The raw names come back; the caller gives them through mr_names. */
enum mr_status mr_name_target(const struct mr_config *cfg, const struct mr_dialect *dialect,
                              struct mr_str default_schema, struct mr_str database, struct mr_str table,
                              struct mr_str topic, struct mr_str file, struct mr_arena *ar,
                              struct mr_target_name *out, struct mr_error *err) MR_MUST_CHECK;

#endif
