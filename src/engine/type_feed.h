/* Schema topics, read beside the partitions: what the decoders ask for when a row comes without a schema (mr_types_host in decoder.h).
 *
 * Every instance reads them for itself, from their beginning, before the first row that needs them; afterwards up to their end each time records
 * have been polled. A change of a table is written before the rows that need it, so what was there after the rows had come holds all that
 * concerns them, but for what a producer still had on its way: for that the decoder waits. Main thread only. */
#ifndef MILLRACE_ENGINE_TYPE_FEED_H
#define MILLRACE_ENGINE_TYPE_FEED_H

#include <millrace/decoder.h>
#include <millrace/source.h>

struct mr_type_feeds;

/* `pause` waits that long with an ear for a stop (STOPPED) and for the group. Tells `decoders` that it is there, if the source can read topics. */
typedef enum mr_status (*mr_feed_pause_fn)(void *ctx, int ms, struct mr_error *err);
struct mr_type_feeds *mr_type_feeds_create(const struct mr_config *cfg, const struct mr_source_ops *source,
                                           struct mr_decoder_set *decoders, mr_feed_pause_fn pause,
                                           void *ctx);
/* New records are in hand. */
void mr_type_feeds_stale(struct mr_type_feeds *tf);
void mr_type_feeds_destroy(struct mr_type_feeds *tf); /* NULL is fine */

#endif
