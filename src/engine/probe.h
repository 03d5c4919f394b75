/* Is a row there already? Asked before anything is changed for its sake. */
#ifndef MILLRACE_ENGINE_PROBE_H
#define MILLRACE_ENGINE_PROBE_H

#include "relation.h"

/* Does the table, as the target has it now, hold a row with the entry's key? Opens and rolls back a transaction of its own. A key that the
 * table cannot hold is not there; nor is one of which the table cannot tell (then the insert itself will). */
enum mr_status mr_probe_row(struct mr_sink *sink, const struct mr_rel *rel, const struct mr_entry *e, bool *is_there,
                            struct mr_error *err) MR_MUST_CHECK;

#endif
