/* Patches on JSON: what patch.c and json_patch.c share. */
#ifndef MILLRACE_MODEL_PATCH_PARTS_H
#define MILLRACE_MODEL_PATCH_PARTS_H

#include <millrace/model/patch.h>

struct mr_json_tree;

/* A well-formed JSON text, which is borrowed; ptr NULL: nothing is there, or null. Always to be closed. */
struct mr_json_tree *mr_json_tree_open(struct mr_str json, const struct mr_patch_style *style,
                                       struct mr_arena *ar);
enum mr_status mr_json_tree_step(struct mr_json_tree *tree, const struct mr_step *step,
                                 struct mr_error *err) MR_MUST_CHECK;
/* The text as it is now; out->ptr is NULL where nothing is left, or null. DATA too_large. */
enum mr_status mr_json_tree_close(struct mr_json_tree *tree, struct mr_str *out,
                                  struct mr_error *err) MR_MUST_CHECK;

/* DATA unsupported: the step has no place in what is there. */
enum mr_status mr_step_fail(const struct mr_step *step, const char *why_z, struct mr_error *err);
/* DATA too_large: its position would need more nulls before it than a patch may make. */
enum mr_status mr_step_too_far(const struct mr_step *step, struct mr_error *err);

#endif
