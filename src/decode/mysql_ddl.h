/* What a DDL statement of MySQL or MariaDB changes, read from its text: the columns and tables that a target would have to follow. Nothing of the
 * text is ever run. */
#ifndef MILLRACE_DECODE_MYSQL_DDL_H
#define MILLRACE_DECODE_MYSQL_DDL_H

#include <millrace/config/config.h>
#include <millrace/model/change.h>

struct mr_action_list {
    struct mr_source_action *items; /* in `ar` */
    size_t count, cap;
};
struct mr_source_action *mr_action_add(struct mr_action_list *list, struct mr_arena *ar);

/* The actions of all statements in `sql`, in order. Names without a database belong to `database`. Names are spelled as name_case asks for, types are
 * those that columns of Canal and its kin get. What may concern the target and is not understood becomes NOT_UNDERSTOOD. */
void mr_mysql_ddl_read(const struct mr_config *cfg, struct mr_str sql, struct mr_str database,
                       struct mr_arena *ar, struct mr_action_list *out);

#endif
