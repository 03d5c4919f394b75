/* What the two files of the MongoDB envelope decoder share. */
#ifndef MILLRACE_DECODE_MONGODB_PARTS_H
#define MILLRACE_DECODE_MONGODB_PARTS_H

#include "debezium_mongodb.h"
#include "extjson.h"

struct mr_debezium_mongodb {
    const struct mr_config *cfg;
    struct mr_json_reader *reader; /* for the texts inside the envelope, one after another */
    struct mr_extjson ej;
    bool wants_key_text;
    bool wants_id; /* rewrite-with-id, and some table has another key than `_id` */
};

/* One event on its way. */
struct mr_mongodb_event {
    struct mr_debezium_mongodb *mg;
    const struct mr_json_doc *doc;
    uint32_t envelope;
    struct mr_arena *ar;
    struct mr_field_list key, before, after, removed;
    struct mr_arrays arrays, dropped; /* of after, of before */
    bool has_positions;
    struct mr_part *parts;
    size_t part_count, part_cap;
};

/* NONE or null. */
bool mr_mongodb_is_null(const struct mr_json_doc *doc, uint32_t node);

/* The Extended JSON that a STRING node holds, or the node itself if a producer has put it there unquoted. *inner is valid until the next
 * call. DATA bad_json, naming `what`. */
enum mr_status mr_mongodb_open(struct mr_debezium_mongodb *mg, const struct mr_json_doc *doc,
                               uint32_t node, const char *what_z, struct mr_arena *ar,
                               struct mr_json_doc *inner, uint32_t *root, struct mr_error *err)
    MR_MUST_CHECK;
/* The same; DATA bad_image if it is no document. */
enum mr_status mr_mongodb_open_document(struct mr_debezium_mongodb *mg, const struct mr_json_doc *doc,
                                        uint32_t node, const char *what_z, struct mr_arena *ar,
                                        struct mr_json_doc *inner, uint32_t *root, struct mr_error *err)
    MR_MUST_CHECK;
/* A whole document as fields, its _id in any case. */
void mr_mongodb_document_fields(struct mr_debezium_mongodb *mg, const struct mr_json_doc *doc,
                                uint32_t root, struct mr_arena *ar, struct mr_field_list *out);

/* updateDescription and the oplog era's patch, into after and removed. *partial is false if a patch turns out to be a whole document. */
enum mr_status mr_mongodb_read_description(struct mr_mongodb_event *mev, uint32_t description,
                                           bool *partial, struct mr_error *err) MR_MUST_CHECK;
enum mr_status mr_mongodb_read_patch(struct mr_mongodb_event *mev, uint32_t patch, bool *partial,
                                     struct mr_error *err) MR_MUST_CHECK;

/* ---- Names of updates that lead into arrays (mongodb_elements.c) ---- */

/* A name of an update, taken apart at the positions in it: "items.2.tags.0" is an element of an array in an element. */
struct mr_mongodb_name {
    struct mr_array_place place; /* the innermost element; depth 0: the name has no position */
    struct mr_str rest;          /* path within that element, or within the row; "" = the element itself */
};

/* DATA unsupported where it is too deep. */
enum mr_status mr_mongodb_split_name(struct mr_str name, struct mr_arena *ar, struct mr_mongodb_name *out,
                                     struct mr_error *err) MR_MUST_CHECK;
/* The value is an element's, or a field's of an element; false if the name has no position. */
bool mr_mongodb_set_element(struct mr_mongodb_event *mev, const struct mr_json_doc *doc, uint32_t node,
                            const struct mr_mongodb_name *name);
/* An element becomes null, a field of one goes; false as above. */
bool mr_mongodb_unset_element(struct mr_mongodb_event *mev, const struct mr_mongodb_name *name);
/* The array that the name leads to has `size` elements from now on. */
enum mr_status mr_mongodb_cut_array(struct mr_mongodb_event *mev, const struct mr_mongodb_name *name, uint32_t size,
                                    struct mr_error *err) MR_MUST_CHECK;
/* ---- Updates within a field (mongodb_within.c) ---- */

/* May the name lead into a column that holds a document or an array? Such updates are parts; the others are fields. */
bool mr_mongodb_is_within(const struct mr_mongodb_event *mev, struct mr_str name);
enum mr_status mr_mongodb_set_within(struct mr_mongodb_event *mev, const struct mr_json_doc *doc, uint32_t node, struct mr_str name,
                                     struct mr_error *err) MR_MUST_CHECK;
enum mr_status mr_mongodb_unset_within(struct mr_mongodb_event *mev, struct mr_str name, struct mr_error *err) MR_MUST_CHECK;
/* Are arrays that are cut short parts, too? */
bool mr_mongodb_cuts_within(const struct mr_mongodb_event *mev);
enum mr_status mr_mongodb_cut_within(struct mr_mongodb_event *mev, struct mr_str name, int64_t size, struct mr_error *err) MR_MUST_CHECK;

/* Dots of the name are the path's own; only backslashes have to be escaped, and a first member without a name. */
struct mr_str mr_mongodb_path(struct mr_str name, struct mr_arena *ar);
enum mr_status mr_mongodb_needs_document(struct mr_str name, const char *why_z, struct mr_error *err);

#endif
