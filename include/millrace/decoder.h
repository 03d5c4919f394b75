/* The contract of a decoder (a format), and the set of decoders the engine drives. Main thread only. */
#ifndef MILLRACE_DECODER_H
#define MILLRACE_DECODER_H

#include <millrace/base/arena.h>
#include <millrace/base/error.h>
#include <millrace/config/config.h>
#include <millrace/model/change.h>

struct mr_decoder; /* each format's own */

/* What is known of a topic, kept in the target over restarts. Owned by the engine, one a topic. */
struct mr_topic_facts {
    char format[24];     /* the format found out or configured, maybe with a note of the decoder's own behind a slash
                            ("flat/mongodb"); "" = not yet */
    bool envelopes_seen; /* Debezium envelopes came: a tombstone is then redundant */
    bool dirty;          /* set by the decoders when they change anything above */
};

/* Called for every change, in order. The change itself is there for the call only, whoever wants it keeps a copy; everything it points to lives
 * in the arena or the record. */
typedef enum mr_status (*mr_emit_fn)(void *ctx, const struct mr_change *ev, struct mr_error *err);

struct mr_source_types; /* the decoders' own: columns of source tables, as schema topics tell them */

struct mr_decoder_ops {
    const char *name; /* "debezium", "flat", "json" */
    /* How sure is it that this format wrote the record: 0 no, higher is surer; detection takes the highest. Looks at the
     * record alone. NULL: never guessed. */
    int (*sniff)(struct mr_decoder *dec, const struct mr_record *rec, struct mr_arena *ar);
    enum mr_status (*create)(const struct mr_config *cfg, struct mr_decoder **out,
                             struct mr_error *err);
    /* Zero, one or many changes. DATA: the whole record goes to the dead letters, nothing of it is applied (the engine
     * drops what was emitted). A single bad value is no error: it is emitted as MR_V_INVALID. */
    enum mr_status (*decode)(struct mr_decoder *dec, const struct mr_record *rec,
                             struct mr_topic_facts *facts, struct mr_arena *ar, mr_emit_fn emit,
                             void *ctx, struct mr_error *err);
    void (*destroy)(struct mr_decoder *dec);
    /* Optional. */
    void (*use_types)(struct mr_decoder *dec, struct mr_source_types *types); /* shared by all decoders of a set; outlives them */
    enum mr_status (*flush)(struct mr_decoder *dec, struct mr_arena *ar, mr_emit_fn emit, void *ctx,
                            struct mr_error *err);
    /* The first record of the partition, from behind position `after`, that waits for a later record when everything up to `position` has been
     * decoded: its position; 0 = none. No position from there on may then be stored. Must depend on positions alone: records may be decoded again. */
    int64_t (*waits)(const struct mr_decoder *dec, const struct mr_partition *part, int64_t position, int64_t after);
};

/* Every format, NULL at the end (src/decode/registry.c). */
extern const struct mr_decoder_ops *const mr_decoders[];

/* All decoders of a pipeline, with detection per topic for `format: auto`. */
struct mr_decoder_set;

enum mr_status mr_decoder_set_create(const struct mr_config *cfg, struct mr_decoder_set **out,
                                     struct mr_error *err) MR_MUST_CHECK;
/* Decode with the topic's format (the configured one, else facts->format, else detected; a first detection is logged
 * and written to facts). Tombstones and control messages fix no choice. DATA "unknown_format" / "ambiguous" where
 * detection fails. */
enum mr_status mr_decoder_set_decode(struct mr_decoder_set *set, const struct mr_record *rec,
                                     struct mr_topic_facts *facts, struct mr_arena *ar,
                                     mr_emit_fn emit, void *ctx, struct mr_error *err) MR_MUST_CHECK;

/* What detection makes of a record by itself, whatever the topic's choice is: for a person who wants to know why. */
struct mr_guess {
    const char *format_z;   /* NULL: the record tells nothing of rows (a tombstone, a control message) */
    bool is_sure;           /* false: nothing in the message tells, the format is the last resort */
    const char *configured_z; /* the format that the configuration sets for its topic; NULL = auto */
    struct mr_str why;      /* the signs, in words; ends in MR_GUESS_VAGUE where other messages may say more */
};
#define MR_GUESS_VAGUE "this message does not tell"
/* Errors as mr_decoder_set_decode. Texts live in `ar`. */
enum mr_status mr_decoder_set_guess(struct mr_decoder_set *set, const struct mr_record *rec, struct mr_arena *ar,
                                    struct mr_guess *out, struct mr_error *err) MR_MUST_CHECK;

/* The first record of the partition that waits for a later one; 0 = none (mr_decoder_ops.waits). */
int64_t mr_decoder_set_waits(const struct mr_decoder_set *set, const struct mr_partition *part, int64_t position, int64_t after);
void mr_decoder_set_destroy(struct mr_decoder_set *set);

/* ---- Types of the source's columns ---- */

/* Rows without a schema are decoded by what a schema topic tells of their tables. The set knows what it has been told; whoever drives it keeps
 * that over restarts, and can read the topic. */
struct mr_source_type {
    struct mr_str topic;   /* of the message that told it, with its place */
    int32_t partition;
    int64_t position;
    int32_t part;          /* which of the message's changes */
    struct mr_str database, table;
    struct mr_str text;    /* JSON: {"source": …, "change": …} as the message has them */
};

/* Who can read schema topics. Both may wait, and come back with STOPPED or another class that ends the run. */
struct mr_types_host {
    void *ctx;
    /* Read the topic of that connector's prefix to its present end, unless that has been done for the records now in hand. What it brings goes
     * to mr_decoder_set_learn before the call returns. *there = false: there is no such topic. */
    enum mr_status (*refresh)(void *ctx, struct mr_str prefix, bool *there, struct mr_error *err);
    /* Wait a moment, then read on in that topic. */
    enum mr_status (*wait)(void *ctx, struct mr_str prefix, struct mr_error *err);
};
void mr_decoder_set_types_host(struct mr_decoder_set *set, const struct mr_types_host *host); /* copied; NULL: nobody can */
/* A record of a schema topic. Whatever is no schema change is passed over; *is_change tells. */
enum mr_status mr_decoder_set_learn(struct mr_decoder_set *set, const struct mr_record *rec, struct mr_arena *ar, bool *is_change,
                                    struct mr_error *err) MR_MUST_CHECK;
/* What an earlier run has been told. Texts are copied. */
enum mr_status mr_decoder_set_types_load(struct mr_decoder_set *set, const struct mr_source_type *row, struct mr_error *err) MR_MUST_CHECK;
/* What has been told since the last mr_decoder_set_types_saved, one after the other in memory: NULL from its end on. To be stored before rows
 * that were decoded by it. */
const struct mr_source_type *mr_decoder_set_types_unsaved(const struct mr_decoder_set *set, size_t i);
void mr_decoder_set_types_saved(struct mr_decoder_set *set);

#endif
