/* How a tracked column is shown, by `plan` and by `schema`. */
#ifndef MR_CLI_TRACKED_H
#define MR_CLI_TRACKED_H

#include "json_out.h"
#include "text_out.h"

#include <millrace/schema/tracker.h>

/* "shop.orders[0]@17" */
void mr_tracked_append_place(struct mr_buf *out, const struct mr_place *place);
/* A source path as people read it: variants and columns of Millrace's own in words. */
void mr_tracked_append_path(struct mr_buf *out, struct mr_str path);
/* Six cells: name (path, where it differs), type, type in the target, values seen by kind, first seen, notes. `scratch` is cleared. */
void mr_tracked_grid_row(struct mr_grid *grid, const struct mr_tracked_column *col, struct mr_buf *scratch, struct mr_str native);
/* Who says the type: "configured", "declared", "typed", "observed", "by hand". */
const char *mr_tracked_origin(const struct mr_tracked_column *col);
/* All that is known of a column, as members of the open object. */
void mr_tracked_json_members(struct mr_jo *js, const struct mr_tracked_column *col);
void mr_tracked_json_place(struct mr_jo *js, const char *name_z, const struct mr_place *place);

#endif
