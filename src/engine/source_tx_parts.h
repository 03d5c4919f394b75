/* What the files of source_tx share: source_tx.c (records come and go, time passes), source_tx_whole.c (when is a transaction whole),
 * source_tx_unit.c (what goes together). */
#ifndef MILLRACE_ENGINE_SOURCE_TX_PARTS_H
#define MILLRACE_ENGINE_SOURCE_TX_PARTS_H

#include <millrace/base/map.h>

#include "source_tx.h"

#define RECORD_BYTES 256 /* what a record takes beside its own bytes */
#define QUIET_MS 1000    /* of a producer that marks no ends, and before it is believed that records are lacking */
#define RECENT 16 /* transactions of a partition that are remembered after they have ended without a mark */

struct tx;

/* The connector that spreads its transactions over partitions: what is known of its END events. */
enum tx_ends {
    ENDS_UNKNOWN, /* a file: they may still come */
    ENDS_TOLD,
    ENDS_NEVER,   /* nobody reads them: a transaction ends as it does for other producers */
};
struct tx_scope {
    struct mr_str name; /* owned */
    enum tx_ends ends;
    bool is_routed;     /* topics are not called after tables: nobody can say which of them are read */
    const struct mr_partition *rows_in, *ends_in;
    bool many_rows_in, many_ends_in; /* several partitions */
};

/* A topic, and in which partitions it comes (a file: its lines of that topic). */
struct tx_topic {
    struct mr_str name; /* borrowed from the map */
    struct tx_stream **streams;
    size_t count, cap;
};
struct tx_stream {
    struct tx_part *part;
    struct tx_topic *topic;
    int32_t partition;     /* the messages' own */
    struct tx *last;       /* whose row came last; NULL none, or one that is gone */
    uint64_t last_end_seq; /* when the END of the one that is gone came; 0 never */
};

struct tx_held {
    struct mr_record rec;
    struct tx *tx; /* NULL: it stands alone */
    uint64_t seq;  /* order of coming */
};

struct tx_part {
    const struct mr_partition *part;
    struct tx_held *items; /* items[head … head + count) */
    size_t head, count, cap;
    uint64_t base;         /* number of items[head], counted from the partition's first */
    size_t bytes;
    struct mr_map *streams; /* partition and topic of the messages → struct tx_stream */
    struct tx_stream *recent_stream;
    struct tx *run;        /* the transaction that goes on here, of a producer that keeps its records together; NULL none */
    uint64_t ended[RECENT]; /* hashes of names */
    size_t ended_at;
    struct tx *blocked;    /* what the first record waits for */
    uint64_t upto, seen, visit; /* while a unit is looked for: numbers of records */
    bool is_todo;
};

struct tx_member {
    struct tx_stream *stream;
    uint64_t last;   /* number of the last record in the partition */
    int64_t order;   /* highest so far */
    int64_t rows;    /* counted */
};

struct tx {
    struct mr_str name;     /* owned; its key in the map */
    struct mr_str id;       /* as the producer calls it; part of the name */
    bool in_map;
    struct tx_scope *scope; /* NULL: it lies in one partition, its records in a row */
    struct tx_member *in;
    size_t in_count, in_cap;
    int64_t rows;           /* counted: those that come again are not */
    bool end_seen;
    uint64_t end_seq;
    struct mr_tx_end end;   /* texts owned; the counts of topics that are read */
    int64_t expected;       /* of the topics that are read */
    bool marks_last;
    bool is_whole;          /* may go */
    bool is_split;          /* told and counted: it goes unfinished */
    int64_t last_ms;        /* by the queue's clock: when its last record came */
    uint64_t visit;
    uint64_t asked;         /* when it was last found not to be whole, as the queue's seq and clock */
    int64_t asked_ms;
    bool is_gone;
};

struct mr_tx_queue {
    struct mr_tx_settings set;
    struct mr_tx_counts counts;
    struct tx_part **parts; /* by mr_partition.index */
    size_t part_count, part_cap;
    struct mr_map *txs;     /* name → struct tx, those that may still grow */
    struct mr_map *scopes, *topics;
    struct mr_map *let_go;  /* names of transactions that went unfinished */
    uint64_t seq, visit;
    size_t held, bytes, open; /* open: transactions */
    int64_t clock_ms, ticked_ms;
    bool dirty;             /* something has changed since no unit was found */
    uint64_t unmarked;      /* rows without a transaction, as long as none had one */
    bool any_marked, finished;
    struct mr_record *out;
    size_t out_cap;
    struct tx_held *sorted;
    size_t sorted_cap;
    struct tx_part **todo;
    size_t todo_cap;
};

/* Is it whole by what is known now? Sets is_whole. */
bool mr_tx_is_whole(struct mr_tx_queue *q, struct tx *tx);
/* All its records are gone, or are none of its any more: forget it. */
void mr_tx_end(struct mr_tx_queue *q, struct tx *tx);
/* It is not waited for any longer. In a file no END may have come so far: then none will. */
void mr_tx_release(struct mr_tx_queue *q, struct tx *tx, const char *why_z);
/* The END event has come. */
void mr_tx_take_end(struct mr_tx_queue *q, struct tx *tx, const struct mr_tx_end *end);
/* Does that topic come with the records that are read? */
bool mr_tx_reads(const struct mr_tx_queue *q, const struct tx_scope *scope, struct mr_str collection);

#endif
