/* When is a transaction of the source whole? See source_tx.h.
 *
 * One whose end is told is whole when as many rows are there as the END event counts in the topics that are read. Fewer may be all that there are: a
 * message may be unreadable, or compaction has removed it. That shows when every topic that owes rows has gone on to a later transaction, since a
 * connector writes one after the other. */
#include "source_tx_parts.h"

#include <millrace/base/buf.h>
#include <millrace/base/log.h>
#include <millrace/base/mem.h>

/* Debezium's names of topics: what Kafka does not allow becomes '_'. */
static struct mr_str topic_of(const struct tx_scope *scope, struct mr_str collection, struct mr_buf *buf)
{
    mr_buf_clear(buf);
    mr_buf_append_str(buf, scope->name);
    mr_buf_append_char(buf, '.');
    for (size_t i = 0; i < collection.len; i++) {
        unsigned char c = (unsigned char)collection.ptr[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        bool is_kept = is_letter || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
        if ((c & 0xc0) == 0x80) /* one for each of UTF-16's units */
            continue;
        mr_buf_append_char(buf, is_kept ? (char)c : '_');
        if (c >= 0xf0)
            mr_buf_append_char(buf, '_');
    }
    return buf->overflow ? MR_STR("") : mr_buf_str(buf);
}

bool mr_tx_reads(const struct mr_tx_queue *q, const struct tx_scope *scope, struct mr_str collection)
{
    struct mr_buf buf = MR_BUF_INIT(4096);
    struct mr_str topic = topic_of(scope, collection, &buf);
    bool reads = scope->is_routed || q->set.is_file || mr_map_get(q->topics, topic) != NULL || q->set.reads_topic(q->set.ctx, topic);
    mr_buf_free(&buf);
    return reads;
}

void mr_tx_take_end(struct mr_tx_queue *q, struct tx *tx, const struct mr_tx_end *end)
{
    if (tx->end_seen) /* told again after a restart of the connector */
        return;
    struct mr_tx_count *counts = mr_xcalloc(end->count + 1, sizeof *counts);
    size_t kept = 0;
    bool is_total = end->count == 0 || tx->scope->is_routed;
    tx->expected = is_total ? end->events : 0;
    for (size_t i = 0; i < end->count; i++) {
        struct mr_str name = end->counts[i].collection;
        int64_t events = end->counts[i].events;
        if (is_total || events <= 0 || tx->expected > INT64_MAX - events || !mr_tx_reads(q, tx->scope, name))
            continue;
        counts[kept].collection = mr_str_of(mr_xstrndup(name.ptr, name.len), name.len);
        counts[kept++].events = events;
        tx->expected += events;
    }
    tx->end = (struct mr_tx_end){end->events, counts, kept};
    tx->end_seen = true;
    tx->end_seq = q->seq;
}

static int64_t rows_of(const struct tx *tx, const struct tx_topic *topic)
{
    int64_t rows = 0;
    for (size_t i = 0; i < tx->in_count; i++)
        if (tx->in[i].stream->topic == topic)
            rows += tx->in[i].rows;
    return rows;
}

/* Has the stream gone on to a transaction that ends later? */
static bool has_passed(const struct tx_stream *st, const struct tx *tx)
{
    if (st->last == NULL)
        return st->last_end_seq > tx->end_seq;
    return st->last != tx && st->last->scope == tx->scope && (!st->last->end_seen || st->last->end_seq > tx->end_seq);
}

/* Do the ends come in the order of the transactions? Then they are in one partition. */
static bool ends_in_order(const struct mr_tx_queue *q, const struct tx_scope *scope)
{
    if (scope->many_ends_in || scope->ends_in == NULL)
        return false;
    return q->set.is_file || q->set.partitions(q->set.ctx, mr_str_z(scope->ends_in->topic_z)) == 1;
}

/* Have all partitions of the topic gone on? One of which nothing has come yet has not. */
static bool all_passed(const struct mr_tx_queue *q, const struct tx_topic *topic, const struct tx *tx)
{
    if (topic == NULL || topic->count == 0 || (!q->set.is_file && topic->count < q->set.partitions(q->set.ctx, topic->name)))
        return false;
    for (size_t k = 0; k < topic->count; k++)
        if (!has_passed(topic->streams[k], tx))
            return false;
    return true;
}

/* Every topic that owes rows has passed it: more will not come. */
static bool owes_nothing(const struct mr_tx_queue *q, const struct tx *tx)
{
    struct mr_buf buf = MR_BUF_INIT(4096);
    bool may_come = q->set.is_file && !q->finished; /* nobody knows what is further down */
    bool done = !may_come && !tx->scope->is_routed && tx->end.count > 0 && ends_in_order(q, tx->scope);
    for (size_t i = 0; i < tx->end.count && done; i++) {
        const struct mr_tx_count *count = &tx->end.counts[i];
        const struct tx_topic *topic = mr_map_get(q->topics, topic_of(tx->scope, count->collection, &buf));
        if (topic != NULL && rows_of(tx, topic) >= count->events)
            continue;
        done = all_passed(q, topic, tx);
    }
    mr_buf_free(&buf);
    return done;
}

/* Behind it in one of its topics stands a transaction whose end has been told: its own will not be. */
static bool has_no_end(const struct mr_tx_queue *q, const struct tx *tx)
{
    bool in_order = ends_in_order(q, tx->scope);
    for (size_t i = 0; i < tx->in_count && in_order; i++) {
        const struct tx *last = tx->in[i].stream->last;
        if (last != NULL && last != tx && last->scope == tx->scope && last->end_seen)
            return true;
    }
    return false;
}

/* A BEGIN, and behind it another transaction's: its rows have gone, or will come without an end. */
static bool is_begin_alone(const struct tx *tx)
{
    const struct tx *last = tx->in_count == 1 && tx->rows == 0 && !tx->end_seen ? tx->in[0].stream->last : NULL;
    return last != NULL && last != tx && last->scope == tx->scope;
}

bool mr_tx_is_whole(struct mr_tx_queue *q, struct tx *tx)
{
    if (tx->is_whole || tx->scope == NULL || tx->scope->ends == ENDS_UNKNOWN)
        return tx->is_whole;
    if (tx->asked == q->seq && tx->asked_ms == q->clock_ms)
        return false;
    tx->asked = q->seq;
    tx->asked_ms = q->clock_ms;
    if ((tx->end_seen && tx->rows >= tx->expected) || is_begin_alone(tx))
        return tx->is_whole = true;
    if (!q->finished && q->clock_ms - tx->last_ms < QUIET_MS) /* partitions may still be on their way to us */
        return false;
    if (tx->end_seen ? !owes_nothing(q, tx) : !has_no_end(q, tx))
        return false;
    if (q->counts.short_of++ == 0)
        mr_log(MR_LOG_WARN, "a transaction of the source has fewer records in its topics than its end tells, or no end: it is applied as it is",
               MR_KV_STR("transaction", tx->id), MR_KV_INT("rows", tx->rows), MR_KV_INT("of", tx->end.events));
    return tx->is_whole = true;
}
