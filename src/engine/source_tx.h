/* Transactions of the source, put together again (`transactions: source`). Records go in as they are read, and come out in units: a unit is what must
 * be applied in one transaction of the target, and batches end between units only.
 *
 * A transaction's records are in one partition and follow one another (Maxwell, SharePlex, Canal, DTS), or are spread over many (Debezium: one topic a
 * table), where an END event tells how many there are. Positions move with units: what comes before a member in its partition goes along with it, so a
 * unit is the smallest set of records that is whole in its transactions and has nothing before it in any of its partitions.
 *
 * Knows nothing of batches or of the target; records are copied shallow. Main thread only. */
#ifndef MILLRACE_ENGINE_SOURCE_TX_H
#define MILLRACE_ENGINE_SOURCE_TX_H

#include <millrace/model/change.h>

struct mr_tx_queue;

/* What a record tells of its transaction. Texts are borrowed for the call. */
struct mr_tx_mark {
    bool has_rows;           /* it changes rows: control messages end no transaction by standing between others */
    struct mr_str id, scope; /* as in struct mr_change */
    int64_t order;
    bool is_last, marks_last;
    const struct mr_tx_end *end;
};

struct mr_tx_settings {
    size_t max_bytes;   /* held in all; beyond it the oldest transaction is let go unfinished */
    int64_t wait_ms;    /* for a transaction's missing records, since the last one came */
    bool is_file;       /* one partition may hold several topics */
    void *ctx;
    bool (*reads_topic)(void *ctx, struct mr_str topic); /* is the topic among those that are read? Not asked for files, nor is the next */
    size_t (*partitions)(void *ctx, struct mr_str topic); /* of the topic, as far as this instance has ever had them */
};

/* Counted since the start. */
struct mr_tx_counts {
    uint64_t whole;     /* transactions of the source that came whole */
    uint64_t split;     /* that could not be kept together */
    uint64_t short_of;  /* whose end tells of more records than the topics hold */
};

struct mr_tx_queue *mr_tx_queue_create(const struct mr_tx_settings *set); /* copied */
void mr_tx_queue_destroy(struct mr_tx_queue *q); /* NULL is fine; what it holds is the caller's to release first (mr_tx_queue_take_all) */

/* CONFIG: the producer spreads transactions over partitions, and the topic that tells of their ends is not read. */
enum mr_status mr_tx_queue_add(struct mr_tx_queue *q, const struct mr_record *rec, const struct mr_tx_mark *mark, struct mr_error *err)
    MR_MUST_CHECK;
/* Time passes. To be called often: longer gaps count as half a second, since nothing could be read meanwhile. */
void mr_tx_queue_tick(struct mr_tx_queue *q, int64_t now_ms);
/* Nothing more will come. What ends without a mark has ended. */
void mr_tx_queue_finish(struct mr_tx_queue *q);
/* May the next call of mr_tx_queue_next find a unit? */
bool mr_tx_queue_ready(const struct mr_tx_queue *q);
/* The next unit, in the order in which its records came; false: none is whole. Lives until the next call. */
bool mr_tx_queue_next(struct mr_tx_queue *q, const struct mr_record **records, size_t *count);
/* Everything that is held, in the order in which it came: the queue is empty afterwards. Lives until the next call. */
size_t mr_tx_queue_take_all(struct mr_tx_queue *q, const struct mr_record **records);
size_t mr_tx_queue_held(const struct mr_tx_queue *q);       /* records */
size_t mr_tx_queue_unfinished(const struct mr_tx_queue *q); /* transactions of which something is held */
/* The partition is far ahead of what its oldest transaction waits for, which it cannot hold itself: reading on there can wait. */
bool mr_tx_queue_is_ahead(const struct mr_tx_queue *q, const struct mr_partition *part);
/* Counted elsewhere: a transaction whose rows did not go together. */
void mr_tx_queue_note_split(struct mr_tx_queue *q, const char *why_z);
const struct mr_tx_counts *mr_tx_queue_counts(const struct mr_tx_queue *q);

#endif
