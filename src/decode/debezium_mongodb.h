/* Debezium's MongoDB envelopes to changes. The debezium decoder parses the message, unwraps schema/payload, decides that the envelope is
 * MongoDB's, and hands it over here; this part reads the Extended JSON texts inside it (before, after, updateDescription, the oplog era's
 * patch and filter, the key's id) and emits exactly one change.
 *
 * What the envelope says decides, never its op: `after` not null is the whole row; else updateDescription (or patch) is a partial update;
 * else the row is deleted by key. Partial updates that need the stored document (array positions, truncated arrays, a path into a JSON
 * column) are DATA "unsupported", never a wrong value. Main thread only. */
#ifndef MILLRACE_DECODE_DEBEZIUM_MONGODB_H
#define MILLRACE_DECODE_DEBEZIUM_MONGODB_H

#include <millrace/decoder.h>

#include "json.h"

struct mr_debezium_mongodb;

/* cfg outlives the object. Cannot fail. */
struct mr_debezium_mongodb *mr_debezium_mongodb_create(const struct mr_config *cfg);
void mr_debezium_mongodb_destroy(struct mr_debezium_mongodb *mg); /* NULL is fine */

/* One change event. `envelope` is the object node of the unwrapped envelope in `doc`; `key_payload` the node of the unwrapped key in
 * `key_doc` (NULL if the record has no key: the document's own _id is then the key). `meta` (may be NULL) goes into the change as it is.
 * The documents' tapes are not needed after the return; what the change borrows is in the record or in `ar`.
 * DATA: bad_json (a text that is no Extended JSON), bad_image (parts that do not fit together), unsupported (see above). */
enum mr_status mr_debezium_mongodb_decode(struct mr_debezium_mongodb *mg, const struct mr_record *rec,
                                          const struct mr_json_doc *key_doc, uint32_t key_payload,
                                          const struct mr_json_doc *doc, uint32_t envelope,
                                          const struct mr_fields *meta, struct mr_arena *ar,
                                          mr_emit_fn emit, void *ctx, struct mr_error *err)
    MR_MUST_CHECK;

/* A null value under a raw MongoDB key {"id": "<Extended JSON text>"}: emits DELETE with is_tombstone. `relation` is what the caller knows
 * of the table (usually nothing: the topic's name then decides). */
enum mr_status mr_debezium_mongodb_tombstone(struct mr_debezium_mongodb *mg, const struct mr_record *rec,
                                             const struct mr_json_doc *key_doc, uint32_t key_payload,
                                             struct mr_relation relation, const struct mr_fields *meta,
                                             struct mr_arena *ar, mr_emit_fn emit, void *ctx,
                                             struct mr_error *err) MR_MUST_CHECK;

#endif
