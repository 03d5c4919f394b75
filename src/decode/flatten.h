/* Documents to columns: the one place where nested objects become paths. What a leaf is (plain JSON, Extended JSON, a Connect struct) is
 * the caller's matter; flatten only walks, names and collects. The further options of the MongoDB transform belong here too. */
#ifndef MILLRACE_DECODE_FLATTEN_H
#define MILLRACE_DECODE_FLATTEN_H

#include <millrace/config/config.h>
#include <millrace/model/change.h>

#include "json.h"

struct mr_arrays;

/* A growing list of fields in an arena. Zero it to begin. */
struct mr_field_list {
    struct mr_field *items;
    size_t count, cap;
    size_t joined; /* bytes of paths made so far; see mr_flatten_may */
    struct mr_arrays *arrays; /* takes the arrays (arrays.h); NULL: they are JSON fields */
};
void mr_field_add(struct mr_field_list *list, struct mr_arena *ar, struct mr_str path,
                  struct mr_type type, struct mr_value value);
struct mr_fields mr_field_list_get(const struct mr_field_list *list);

/* Path of a member: parent path (may be empty) + '.' + escaped name. Borrows `name` where nothing has to be joined or escaped. */
struct mr_str mr_flatten_path(struct mr_str parent, struct mr_str name, struct mr_arena *ar);

/* May an object at that path with that many members be flattened? Not where the paths would become absurd: one name of a megabyte over
 * 100,000 members would make 100 GB of them. Such an object stays one JSON field, so nothing is lost. */
bool mr_flatten_may(const struct mr_field_list *list, struct mr_str path, uint32_t member_count);

/* The walk: for every member of `object` that no later one hides, in order, calls visit with the value's node and its path. visit either
 * deals with the value (adds fields, or none) and returns NONE, or returns an object node that stands for it (mostly the value itself),
 * whose members are then walked below that path. That may be an ARRAY too, as a document with the members _0, _1 … Without recursion. */
typedef uint32_t (*mr_flatten_visit_fn)(void *ctx, const struct mr_json_doc *doc, uint32_t value,
                                        struct mr_str path, struct mr_arena *ar,
                                        struct mr_field_list *out);
void mr_flatten_walk(const struct mr_json_doc *doc, uint32_t object, struct mr_str parent,
                     mr_flatten_visit_fn visit, void *ctx, struct mr_arena *ar,
                     struct mr_field_list *out);

/* Plain JSON without schema: objects are flattened to their leaves if flatten_struct, else one JSON field; an empty object leaves no
 * field when flattened; arrays are one JSON field; integers INT, other numbers NUMBER, WORDs FLOAT. `object` must be an OBJECT node. */
void mr_flatten_json(const struct mr_config *cfg, const struct mr_json_doc *doc, uint32_t object,
                     struct mr_str parent, struct mr_arena *ar, struct mr_field_list *out);
/* Name of an array's element as a member of a document: "_0", "_1" … */
struct mr_str mr_flatten_element(uint32_t index, struct mr_arena *ar);
/* One plain JSON value as unwrap.array.encoding `array` has it: of an array of scalars an ARRAY; one beside a container is mixed. */
struct mr_value mr_flatten_value(const struct mr_config *cfg, const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar);
/* One plain JSON value that is not to be flattened, arrays as JSON. */
struct mr_value mr_flatten_scalar(const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar);

#endif
