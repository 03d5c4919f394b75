/* The engine: records in, tables out. One call runs a pipeline to its end (backfill: the input's end; run: a stop request). The cli wires
 * the parts; the engine knows only contracts. */
#ifndef MILLRACE_ENGINE_H
#define MILLRACE_ENGINE_H

#include <millrace/decoder.h>
#include <millrace/producer.h>
#include <millrace/schema/tracker.h>
#include <millrace/sink.h>
#include <millrace/source.h>

enum mr_engine_mode {
    MR_MODE_RUN,      /* until asked to stop */
    MR_MODE_BACKFILL, /* to the present end of the input */
};

/* Running counts, for the progress line and the summary. */
struct mr_engine_stats {
    uint64_t records;       /* read and decided */
    uint64_t bytes;         /* of their keys and values */
    uint64_t upserts;       /* rows handed to the target after folding */
    uint64_t deletes;
    uint64_t appends;
    uint64_t truncates;
    uint64_t changes;       /* row changes decoded, before folding */
    uint64_t control;       /* heartbeats, transactions, schema changes, notifications, empty messages */
    uint64_t schema_changes; /* of those, DDL of the source that was passed over */
    uint64_t skipped;       /* deletes and tombstones that had nothing to do */
    uint64_t dead_letters;
    uint64_t nulled;        /* values left out under policy null */
    uint64_t ddl;           /* DDL steps run */
    uint64_t commits;
    uint64_t transactions;  /* of the source, applied whole (transactions: source) */
    uint64_t transactions_split; /* that could not be kept together */
    uint64_t transactions_short; /* applied with fewer records than their end told of, or without one */
    uint64_t tables;        /* touched */
    int64_t started_ms, now_ms; /* monotonic */
    int64_t input_done, input_total; /* summed lag of the source (files: bytes, Kafka: records); total -1 unknown */
    bool waiting;           /* the target does not answer */
    bool finished_before;   /* backfill: the input had been read to its end by an earlier run */
};

struct mr_engine_parts {
    const struct mr_config *cfg;
    const struct mr_source_ops *source;
    const struct mr_sink_ops *sink;
    const struct mr_producer_ops *producer; /* of the status topic */
    enum mr_engine_mode mode;
    void *ctx;
    void (*progress)(void *ctx, const struct mr_engine_stats *stats); /* a few times a second; may be NULL */
};

/* Run. *stats is filled on every outcome. Status: OK (done, or stopped cleanly), and every class that ends a run. A DATA status means that the
 * policy `fail`, the breaker or `evolve` refused (exit 6). *unreachable tells which side could not be reached when ENV comes back. */
enum mr_unreachable { MR_REACHED, MR_SOURCE_UNREACHABLE, MR_TARGET_UNREACHABLE };
enum mr_status mr_engine_run(const struct mr_engine_parts *parts, struct mr_engine_stats *stats,
                             enum mr_unreachable *unreachable, struct mr_error *err) MR_MUST_CHECK;

/* Ask the running engine to finish: async-signal-safe. */
void mr_engine_stop(void);
bool mr_engine_stopping(void);

/* ---- plan ---- */

/* What the input would do to the target, without touching it: read at most `max_records` from where the pipeline stands. */
struct mr_plan_column {
    const struct mr_tracked_column *column; /* evidence: counts, first, widened */
    bool is_new, is_altered;
    struct mr_type from;                    /* is_altered */
};
struct mr_plan_table {
    struct mr_str database, table, target_schema, target_table;
    bool exists;
    const struct mr_plan_column *columns;
    size_t column_count;
    const struct mr_str *statements; /* DDL as it would run */
    const bool *rewrites;            /* per statement */
    const struct mr_str *reasons;
    const bool *allowed;             /* under `evolve` */
    size_t statement_count;
    const struct mr_error *refused;  /* the table cannot be loaded as it is, and why; no statements then */
    uint64_t rows, dead;             /* changes seen, rows that would be dead letters */
};
struct mr_plan_handler {
    void *ctx;
    enum mr_status (*table)(void *ctx, const struct mr_plan_table *tbl, struct mr_error *err);
    void (*dead)(void *ctx, const struct mr_record *rec, const struct mr_error *why); /* may be NULL */
};
enum mr_status mr_engine_plan(const struct mr_engine_parts *parts, uint64_t max_records,
                              const struct mr_plan_handler *handler, struct mr_engine_stats *stats,
                              enum mr_unreachable *unreachable, struct mr_error *err) MR_MUST_CHECK;

/* ---- replay ---- */

/* What became of one dead letter. Whatever is not DONE leaves the letter open and the tables' rows as they were. */
enum mr_replay_outcome {
    MR_REPLAY_DONE,   /* applied and marked, in one transaction */
    MR_REPLAY_EXISTS, /* a row with that key is there, maybe a newer one: left alone */
    MR_REPLAY_FORCE,  /* it removes or changes a row: only with `overwrite` */
    MR_REPLAY_FAILED, /* refused again */
    MR_REPLAY_NOT,    /* not there, not open, or of another pipeline */
};
struct mr_replay_report {
    int64_t id;
    enum mr_replay_outcome outcome;
    struct mr_str topic; /* "" if the letter is not there */
    int32_t partition;
    int64_t offset;
    uint64_t rows;              /* DONE: rows applied */
    const struct mr_error *why; /* not DONE */
};
struct mr_replay_request {
    const int64_t *ids;         /* these, in this order; or else all open ones that the filter lets through, oldest first */
    size_t id_count;
    struct mr_str pipeline, topic, code, table; /* "" = any */
    int64_t limit;              /* 0 = no limit */
    bool overwrite;             /* upserts replace, deletes delete */
};
struct mr_replay_handler {
    void *ctx;
    void (*told)(void *ctx, const struct mr_replay_report *report);
};
/* Feed dead letters to the pipeline's own intake once more, under the present configuration. Rows are inserted where their key is absent,
 * unless `overwrite`; positions stay where they are. The source of `parts` is not used. Ends early, with OK, when asked to stop. */
enum mr_status mr_engine_replay(const struct mr_engine_parts *parts, const struct mr_replay_request *request,
                                const struct mr_replay_handler *handler, enum mr_unreachable *unreachable,
                                struct mr_error *err) MR_MUST_CHECK;

#endif
