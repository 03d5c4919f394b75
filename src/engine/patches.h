/* Partial updates of what lies within one column: from the parts of a change to patches in cells, and from those to values when the row is applied.
 *
 * A patch needs what the row holds now. Where the batch has it (a whole value, then patches) nothing is read; else the row is read, and locked, in the
 * transaction that writes it: one read a row. All changes of a key are in one lane, so nobody of ours writes the row meanwhile, and a transaction that
 * is tried again reads again. */
#ifndef MILLRACE_ENGINE_PATCHES_H
#define MILLRACE_ENGINE_PATCHES_H

#include <millrace/schema/tracker.h>
#include <millrace/sink.h>

/* A change like `ev`, with a field for each column that parts of it lead into, whose value is a PATCH, and the other parts as fields and removed
 * paths. DATA unsupported where the columns that are known do not tell. Main thread. */
enum mr_status mr_patches_place(const struct mr_tracker *tk, const struct mr_config *cfg,
                                const struct mr_change *ev, struct mr_arena *ar, struct mr_change *out,
                                struct mr_error *err) MR_MUST_CHECK;

/* mr_tracker_field for a field with a PATCH: each value that it brings is judged as the column's element or member. *value is the patch with values
 * as the column takes them, or NULL (verdict NULLED). Main thread. */
enum mr_verdict mr_patches_judge(struct mr_tracker *tk, const struct mr_field *field, size_t hint,
                                 struct mr_arena *ar, uint32_t *column, struct mr_value *value,
                                 struct mr_error *err);

/* The sink's `apply` for rows of which some have patches: reads what they need, applies them, hands whole values over. Where one cannot be applied:
 * DATA, err->row is the row. In the batch's transaction; the thread of the connection. */
enum mr_status mr_patches_apply(struct mr_sink *sink, struct mr_table_batch *batch,
                                struct mr_error *err) MR_MUST_CHECK;

#endif
