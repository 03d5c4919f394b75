/* The contract of a source (Kafka, files). All calls come from the main thread; listener calls happen inside
 * mr_source poll(). Errors: CONFIG (cannot ever work), ENV (not now), STOPPED. */
#ifndef MILLRACE_SOURCE_H
#define MILLRACE_SOURCE_H

#include <millrace/base/arena.h>
#include <millrace/base/error.h>
#include <millrace/base/finding.h>
#include <millrace/config/config.h>
#include <millrace/model/record.h>

struct mr_source; /* each source's own */

/* Where to begin a newly assigned partition. */
#define MR_POSITION_NONE (-1) /* the target has none: the source's `start` decides */

struct mr_source_listener {
    void *ctx;
    /* Partitions are ours now. position[i] comes as MR_POSITION_NONE or, where `start` depends on the moment (the end of a topic), as the place where
     * it is now: to be stored, since after a restart or at another owner it would be a later one. Fill position[i] with the next position to read (a Kafka offset; for files the number of
     * lines already done), or MR_POSITION_NONE. On failure the source gives the partitions up again. */
    enum mr_status (*assigned)(void *ctx, const struct mr_partition *const *parts, size_t count,
                               int64_t *position, struct mr_error *err);
    /* They are being taken: finish or roll back what is open for them before returning. `lost`: already gone, no commit
     * can succeed any more. */
    void (*revoked)(void *ctx, const struct mr_partition *const *parts, size_t count, bool lost);
    /* Optional. Call back with the name (mr_partition.topic_z) of every partition of this pipeline that has a position in the target and
     * whose name begins with `prefix`. Files use it to know a file again that has grown. NULL: nothing is remembered. */
    enum mr_status (*find)(void *ctx, struct mr_str prefix, void (*found)(void *found_ctx, struct mr_str name),
                           void *found_ctx, struct mr_error *err);
};

enum mr_poll_state {
    MR_POLL_MORE, /* there may be more at once */
    MR_POLL_IDLE, /* nothing within the timeout */
    MR_POLL_END,  /* bounded input read to its end (backfill) */
};

struct mr_lag {
    const struct mr_partition *part;
    int64_t position; /* next to read */
    int64_t end;      /* end of the partition, -1 unknown. For files one entry for all of them: bytes done and bytes in all */
};

/* A topic that is read beside the source's own partitions: whole and from its beginning, by every instance, without a group or stored
 * positions. Main thread. */
struct mr_feed;
typedef enum mr_status (*mr_feed_fn)(void *ctx, const struct mr_record *rec, struct mr_error *err);
struct mr_feed_ops {
    /* *out = NULL: there is no such topic. ENV where nobody answers, CONFIG where it may not be read. cfg outlives the feed. */
    enum mr_status (*open)(const struct mr_config *cfg, const char *topic_z, struct mr_feed **out, struct mr_error *err);
    /* Ask where the topic ends now, and give what comes until there, each record until fn returns. ENV if that cannot be had within timeout_ms; the
     * next call goes on. */
    enum mr_status (*read)(struct mr_feed *feed, int timeout_ms, mr_feed_fn fn, void *ctx, struct mr_error *err);
    void (*close)(struct mr_feed *feed); /* NULL is fine */
};

struct mr_source_ops {
    const char *name; /* "kafka", "file" */

    /* `bounded`: stop at the present end (backfill). cfg outlives the source. */
    enum mr_status (*create)(const struct mr_config *cfg, bool bounded,
                             const struct mr_source_listener *listener, struct mr_source **out,
                             struct mr_error *err);
    /* Append up to `cap` records, stopping near max_bytes. They stay valid until release. Blocks at most timeout_ms, and
     * calls the listener on rebalance. Copies, where needed, go to `ar`, which lives as long as the records. */
    enum mr_status (*poll)(struct mr_source *src, struct mr_arena *ar, struct mr_record *out,
                           size_t cap, size_t max_bytes, int timeout_ms, size_t *count,
                           enum mr_poll_state *state, struct mr_error *err);
    void (*release)(struct mr_source *src, struct mr_record *records, size_t count);
    /* Advisory only: the truth is in the target. Never fails loudly. */
    void (*commit)(struct mr_source *src, const struct mr_partition *const *parts,
                   const int64_t *positions, size_t count);
    void (*destroy)(struct mr_source *src); /* leaves the group; calls revoked for what is still assigned */

    /* Optional (NULL = not supported). */
    void (*pause)(struct mr_source *src);  /* all partitions; poll goes on, serving the group, delivering nothing */
    void (*resume)(struct mr_source *src);
    enum mr_status (*seek)(struct mr_source *src, const struct mr_partition *part, int64_t position,
                           struct mr_error *err);
    /* First and end position of the partition, to recognise a stored position that is gone. */
    enum mr_status (*bounds)(struct mr_source *src, const struct mr_partition *part, int64_t *first,
                             int64_t *end, struct mr_error *err);
    size_t (*lag)(struct mr_source *src, struct mr_lag *out, size_t cap); /* entries written */
    /* Give one partition up (fenced). */
    void (*drop)(struct mr_source *src, const struct mr_partition *part);
    /* Can it be reached, and is there what the configuration names? Needs no source and reads no record. Each question is given up
     * after timeout_ms. */
    void (*check)(const struct mr_config *cfg, int timeout_ms, mr_finding_fn fn, void *ctx);
    /* End positions of partitions, by topic_z and partition alone, within timeout_ms; -1 where it is not known. Needs no source. */
    enum mr_status (*ends)(const struct mr_config *cfg, const struct mr_partition *parts, size_t count, int timeout_ms,
                           int64_t *end, struct mr_error *err);
    const struct mr_feed_ops *feed;
    /* Read no further in one partition, or (on false) do again. Beside pause and resume, which concern all; ends when the partition is assigned anew. */
    void (*hold)(struct mr_source *src, const struct mr_partition *part, bool on);
};

/* Every source, NULL at the end (src/source/registry.c). */
extern const struct mr_source_ops *const mr_sources[];

#endif
