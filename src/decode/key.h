/* A record's key as fields, for the formats whose key is Connect's: a struct or object of key columns, a bare scalar, or nothing. */
#ifndef MILLRACE_DECODE_KEY_H
#define MILLRACE_DECODE_KEY_H

#include <millrace/decoder.h>

#include "connect.h"

/* How a key becomes fields. */
struct mr_key_rule {
    struct mr_relation relation; /* whose primary_key setting names the column of a bare scalar; "" = by the record's topic */
    bool id_is_document_id;      /* flattened MongoDB rows: the single member `id` is the column `_id` */
};

/* The last two parts of a topic, as the names that templates fall back on. */
struct mr_relation mr_relation_of_topic(struct mr_str topic);

/* *out gets the key's fields; count 0 where the record has no key (null, or an object without members). */
enum mr_status mr_key_fields(struct mr_connect *cn, const struct mr_record *rec,
                             const struct mr_connect_message *key, const struct mr_key_rule *rule,
                             struct mr_arena *ar, struct mr_fields *out, struct mr_error *err)
    MR_MUST_CHECK;

/* The key's payload as canonical JSON text, "" without a key. */
struct mr_str mr_key_text(const struct mr_connect_message *key, struct mr_arena *ar);

/* Key fields as one JSON object, for formats whose key is not the record's. */
struct mr_str mr_key_fields_text(const struct mr_fields *key, struct mr_arena *ar);

/* Is the key an object whose only member is `id`? Its node, else MR_JSON_NONE. */
uint32_t mr_key_single_id(const struct mr_connect_message *key);

/* The change's key_text if any table wants it, its key and has_key. */
enum mr_status mr_key_apply(struct mr_connect *cn, const struct mr_record *rec,
                            const struct mr_connect_message *key, const struct mr_key_rule *rule,
                            bool wants_text, struct mr_arena *ar, struct mr_change *ev,
                            struct mr_error *err) MR_MUST_CHECK;

/* Where the row image has other values for the key's columns, they are the key: the row's schema may know more (a BIGINT UNSIGNED whose wrapped
 * value only the row's propagated source type explains), and row and key must name the same row. */
void mr_key_follow_image(struct mr_arena *ar, struct mr_change *ev, const struct mr_fields *image);

/* A BIGINT UNSIGNED beyond 2^63 stands in the key as it was wrapped, and the row's schema knows what it is: the key takes the row's value. Nothing
 * else of the row counts against the key. */
void mr_key_unwrap(struct mr_arena *ar, struct mr_change *ev);

/* Do key and `after` disagree on a key column? */
bool mr_key_disagrees(struct mr_arena *ar, const struct mr_change *ev);

/* An update whose key and row disagree: the row's values are the key; if the before image had others (or there is none) the primary key has
 * changed, and ev->old_key names the row that goes. (dtle sends a changed primary key as one update under the old key.) */
void mr_key_detect_change(struct mr_arena *ar, struct mr_change *ev);

#endif
