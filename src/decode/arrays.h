/* Arrays to elements, for array.encoding=table: what mr_change.elements tells. While a document is flattened its arrays are noted, not walked;
 * afterwards they are drained: every element becomes fields of its own, and the arrays in it are noted in their turn. So nothing recurses, and the
 * elements come in the order that the engine wants. What an element's fields are is the caller's matter, as it is with flatten.h. */
#ifndef MILLRACE_DECODE_ARRAYS_H
#define MILLRACE_DECODE_ARRAYS_H

#include "flatten.h"

struct mr_array_note; /* an array that waits */

struct mr_arrays {
    struct mr_arena *ar;
    bool is_dropped;       /* arrays are of no interest (a before image) */
    struct mr_element *items;
    size_t *first_field;   /* of each element, in `fields` */
    size_t count, cap;
    struct mr_field_list fields; /* of all elements, one after another */
    struct mr_array_note *notes; /* from next_note on they wait */
    size_t note_count, note_cap, next_note;
    uint32_t set;
    bool is_guess;         /* of the elements being made */
    struct mr_array_note *around; /* array of the element that is being walked; NULL: the row itself */
    const uint32_t *around_pos;   /* that element's positions */
};

/* Make `list` put arrays aside if the configuration wants tables of them; else it stays as it is, and arrays are JSON. */
void mr_arrays_begin(struct mr_arrays *arrays, const struct mr_config *cfg, struct mr_arena *ar,
                     struct mr_field_list *list);
/* Put the ARRAY node aside. False: it is to be a JSON field after all (no tables wanted, too deep, too long a path). `schema` is the caller's. */
bool mr_arrays_note(struct mr_field_list *list, const struct mr_json_doc *doc, uint32_t node, struct mr_str path,
                    const void *schema);
/* Arrays of the row put aside since there were `waiting` notes that `is_unknown` finds to be placeholders: the event does not know their elements. */
typedef bool (*mr_arrays_unknown_fn)(const void *ctx, const struct mr_json_doc *doc, uint32_t node);
void mr_arrays_keep_unknown(struct mr_field_list *list, size_t waiting, mr_arrays_unknown_fn is_unknown, const void *ctx);

/* Fields of one element: add them to `list`, without a parent's path; a value that is no document under MR_ELEMENT_VALUE. */
typedef void (*mr_arrays_element_fn)(void *ctx, const struct mr_json_doc *doc, uint32_t node, const void *schema,
                                     struct mr_arena *ar, struct mr_field_list *list);
/* Make elements of all arrays put aside; their documents must still be alive. */
void mr_arrays_drain(struct mr_arrays *arrays, mr_arrays_element_fn element, void *ctx);
/* Forget what was put aside since there were so many notes and elements. */
void mr_arrays_forget(struct mr_field_list *list, size_t waiting, size_t count);
size_t mr_arrays_waiting(const struct mr_field_list *list);
size_t mr_arrays_count(const struct mr_field_list *list);

/* A place in an array that a partial update names. */
struct mr_array_place {
    struct mr_str array;
    uint32_t depth;
    const uint32_t *pos; /* `depth` positions; the last one counts only where an element is meant */
};
/* Begin an element (ROW, PART) or tell of an array (LENGTH, CUT); until mr_arrays_end fields go to it, and arrays noted lie in it. */
struct mr_field_list *mr_arrays_open(struct mr_arrays *arrays, enum mr_element_kind kind, const struct mr_array_place *place,
                                     uint32_t length);
/* The element is complete: `removed` (may be empty) belongs to it, and the arrays noted in it are drained. */
void mr_arrays_close(struct mr_arrays *arrays, struct mr_fields removed, mr_arrays_element_fn element, void *ctx);

/* Hand everything over to the change. */
void mr_arrays_give(struct mr_arrays *arrays, const struct mr_field_list *list, struct mr_change *ev);

#endif
