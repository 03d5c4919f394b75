/* Members whose names have dots, in partial updates. MongoDB writes an update of the member `b` of `a` and one of a member called `a.b` alike, and the
 * decoder takes the name for a path. Where the table has a column that only the member with dots can have made, and none that the path leads to, the
 * name is that member's. */
#ifndef MILLRACE_ENGINE_DOTTED_H
#define MILLRACE_ENGINE_DOTTED_H

#include <millrace/schema/tracker.h>

#include "relation.h"

/* A change like `ev`, with the paths of such members for those that lead nowhere; *out is *ev itself where there is nothing to correct. DATA unsupported
 * where the table has columns for both readings. Main thread. */
enum mr_status mr_dotted_resolve(const struct mr_tracker *tk, const struct mr_config *cfg,
                                 const struct mr_change *ev, struct mr_arena *ar,
                                 const struct mr_change **out, struct mr_error *err) MR_MUST_CHECK;

/* Of a partial update where arrays are tables: does the name of an array, or of what is set within an element, also stand for a member with dots that
 * the table or the elements are known to have? *name is that name. The elements of the change can then not be told from others. */
bool mr_dotted_is_in_element(const struct mr_rel *rel, const struct mr_element *el, struct mr_str *name);
/* The first such name of a change: DATA unsupported. */
enum mr_status mr_dotted_check_elements(const struct mr_rel *rel, const struct mr_change *ev, struct mr_error *err) MR_MUST_CHECK;

#endif
