/* Members whose names have dots, in partial updates. MongoDB writes an update of the member `b` of `a` and one of a member called `a.b` alike, and the
 * decoder takes the name for a path. Where the table has a column that only the member with dots can have made, and none that the path leads to, the
 * name is that member's. */
#ifndef MILLRACE_ENGINE_DOTTED_H
#define MILLRACE_ENGINE_DOTTED_H

#include <millrace/schema/tracker.h>

/* A change like `ev`, with the paths of such members for those that lead nowhere; *out is *ev itself where there is nothing to correct. DATA unsupported
 * where the table has columns for both readings. Main thread. */
enum mr_status mr_dotted_resolve(const struct mr_tracker *tk, const struct mr_config *cfg,
                                 const struct mr_change *ev, struct mr_arena *ar,
                                 const struct mr_change **out, struct mr_error *err) MR_MUST_CHECK;

#endif
