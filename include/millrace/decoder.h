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

/* Called for every change, in order. Everything it points to lives in the arena or the record. */
typedef enum mr_status (*mr_emit_fn)(void *ctx, const struct mr_change *ev, struct mr_error *err);

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
    enum mr_status (*flush)(struct mr_decoder *dec, struct mr_arena *ar, mr_emit_fn emit, void *ctx,
                            struct mr_error *err);
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

void mr_decoder_set_destroy(struct mr_decoder_set *set);

#endif
