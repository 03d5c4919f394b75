/* From a change to fold entries: which cells, under which key. See rowbuild.c. */
#ifndef MILLRACE_ENGINE_ROWBUILD_H
#define MILLRACE_ENGINE_ROWBUILD_H

#include "intake.h"

/* A judged field: what goes into which column. */
struct mr_judged {
    uint32_t column;
    bool is_key;
    struct mr_value value;
};

enum mr_row_outcome {
    MR_ROW_TAKEN,   /* folded, or nothing to do */
    MR_ROW_SPLIT,   /* the batch must be finished first */
    MR_ROW_DEAD,    /* err says why: dead letter */
    MR_ROW_STOPPED, /* policy fail, or a bug: status and err are set */
};

/* Take one change of a record into the batch. `element_rels`: the table of each of its elements. `lane_zero`: the change is for lanes that have not passed the record's position yet; lanes that
 * have are skipped. */
enum mr_row_outcome mr_rowbuild(struct mr_intake *in, struct mr_batch *batch, struct mr_rel *rel,
                                struct mr_rel *const *element_rels, const struct mr_change *ev, uint32_t origin,
                                const struct mr_part_state *part, struct mr_error *err);

/* Positions of a partial update that are names of members, as far as what is known of the table tells (rowguess.c). */
void mr_rowbuild_settle_guesses(const struct mr_rel *rel, struct mr_change *ev, struct mr_arena *ar);
/* After that: is it unknown whether the element is one, or a member? */
bool mr_rowbuild_is_undecided(const struct mr_rel *rel, const struct mr_element *el, struct mr_arena *ar);

/* Would the change need a barrier when there are several lanes? */
bool mr_rowbuild_is_barrier(const struct mr_change *ev);
/* The same of one whose key the producer does not name, but the settings do: the before image has another. */
bool mr_rowbuild_changes_key(const struct mr_rel *rel, const struct mr_change *ev);

#endif
