/* Changes of what lies within one column: a member of a JSON document, an element of an array. A partial update brings them as parts of a change; the
 * engine finds the column, and the cell is a patch then: steps that are applied to what the column holds.
 *
 * A step means what MongoDB's $set and $unset mean: a member that is missing on the way is made as a document, an array that is too short is filled
 * with nulls, and what leads through a number or a text is an error. A position ("2") is one in an array; in a document it is a member's name. */
#ifndef MILLRACE_MODEL_PATCH_H
#define MILLRACE_MODEL_PATCH_H

#include <millrace/base/buf.h>
#include <millrace/model/field_name.h>
#include <millrace/model/value.h>

#define MR_PATCH_MAX_NAMES 256 /* of a path; MongoDB nests documents 100 deep */
#define MR_PATCH_MAX_PADDING                                                                                 \
    ((uint64_t)1500000) /* nulls that one patch may fill arrays with: MongoDB's own limit for one array */
#define MR_PATCH_MAX_BYTES                                                                                   \
    ((size_t)128 << 20) /* of a patched value; a document of MongoDB's has at most 16 MiB */

enum mr_step_kind {
    MR_STEP_SET,   /* the value at the path is this */
    MR_STEP_UNSET, /* the member is gone, the element is null */
    MR_STEP_CUT,   /* the array at the path has `size` elements from now on */
};

struct mr_step {
    enum mr_step_kind kind;
    const struct mr_str
        *names;           /* members and positions within the column's value, as the source spells them */
    uint32_t count;       /* of names; 0: the column's value itself (CUT) */
    struct mr_str json;   /* SET: the value, one well-formed JSON text */
    struct mr_value item; /* SET: the same as an element of an array column; ABSENT where it can be none */
    bool is_empty;        /* SET: an array without elements */
    int64_t size;         /* CUT */
};

/* How names and arrays are written in the column. */
struct mr_patch_style {
    enum mr_name_mode
        names; /* names of members are adjusted; an array without elements is null then, where it is a member's value */
    bool arrays_are_documents; /* an array is {"_0": …, "_1": …} */
};

struct mr_patch {
    const struct mr_patch *before; /* goes first; NULL: this one is the first */
    struct mr_value
        base; /* of the first: what it is applied to, not yet coerced; ABSENT: what the target holds */
    const struct mr_step *steps;
    size_t count;
    struct mr_patch_style style;
};

static inline const struct mr_patch *mr_value_patch(struct mr_value v)
{
    return (const struct mr_patch *)(const void *)v.ptr;
}
static inline struct mr_value mr_value_of_patch(const struct mr_patch *patch)
{
    return (struct mr_value){.tag = MR_V_PATCH, .ptr = (const char *)patch};
}

/* A patch behind what the cell was until now: another patch, a value, or ABSENT or UNAVAILABLE (the target has it). Neither is changed. */
struct mr_value mr_patch_after(struct mr_value patch, struct mr_value have, struct mr_arena *ar);

/* What the patch is applied to; ABSENT: what the target holds. */
struct mr_value mr_patch_base(const struct mr_patch *patch);

/* The patched value for a column of `type` (JSON, TEXT, an ARRAY). `have` is the base: NULL, or JSON or TEXT with a JSON text; for an ARRAY column an
 * ARRAY, or a JSON array of the elements' canonical texts. The result has the type's tag, or is NULL. DATA: unsupported where a step has no place in
 * the value, type_conflict where an array column cannot be so, too_large. */
enum mr_status mr_patch_apply(const struct mr_patch *patch, struct mr_value have, struct mr_type type,
                              struct mr_arena *ar, struct mr_value *out, struct mr_error *err) MR_MUST_CHECK;

/* Digits as MongoDB writes a position in an array. A document's member can look the same. */
bool mr_is_position(struct mr_str name);

#endif
