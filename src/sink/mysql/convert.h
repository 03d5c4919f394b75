/* ALTER TYPE as text, and the forms in which values are read out of columns. Pure text. */
#ifndef MILLRACE_SINK_MYSQL_CONVERT_H
#define MILLRACE_SINK_MYSQL_CONVERT_H

#include "my.h"

void mr_my_render_alter(const struct mr_ddl_step *step, const struct mr_catalog_table *now, const struct mr_server *server,
                        struct mr_buf *out);
/* The name of the column into which the converted values go before they take the place of the old ones. */
void mr_my_shadow_name(struct mr_str column, struct mr_buf *out);
/* The same with the column as text, whatever the step says: nothing is lost that way. */
void mr_my_render_alter_to_text(const struct mr_ddl_step *step, const struct mr_catalog_table *now, const struct mr_server *server,
                                struct mr_buf *out);
/* Does the step put converted values into a column of their own? */
bool mr_my_needs_shadow(const struct mr_ddl_step *step, const struct mr_catalog_table *now);
/* Does the step make decimals of doubles? A DECIMAL may not hold them: whether it does only the rows can tell. The query finds one that it does
 * not. */
bool mr_my_makes_decimals_of_doubles(const struct mr_ddl_step *step, const struct mr_catalog_table *now);
void mr_my_find_lossy_double(const struct mr_ddl_step *step, struct mr_buf *out);

/* render.c, for convert.c */
void mr_my_alter_table(const struct mr_table *tbl, struct mr_buf *out);
void mr_my_algorithm(const char *algorithm_z, struct mr_buf *out);
void mr_my_type_in_table(const struct mr_table *tbl, uint32_t column, const struct mr_catalog_table *now, const char *collation_z,
                         struct mr_buf *out);

#endif
