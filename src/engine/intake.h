/* Intake: one record into the batch. Decodes it, finds the table, judges every field with the table's tracker, folds the row. Main thread only;
 * reads control tables and catalog over the control connection when a table is met for the first time. */
#ifndef MILLRACE_ENGINE_INTAKE_H
#define MILLRACE_ENGINE_INTAKE_H

#include "batch.h"
#include "source_tx.h"

struct mr_intake {
    const struct mr_config *cfg;
    struct mr_str pipeline;
    struct mr_sink *control;           /* set while connected */
    bool no_control_tables;            /* plan on a target that Millrace has never written */
    struct mr_relations *rels;
    struct mr_decoder_set *decoders;
    bool types_loaded;                 /* what schema topics told in earlier runs */
    struct mr_map *facts;              /* topic → struct topic_entry of intake.c */
    uint32_t lanes;
    uint64_t decided;                  /* records that entered batches, for the breaker */
    uint64_t dead;                     /* of those, dead letters */
    void *plan_ctx;                    /* plan, replay: told of every record that would be a dead letter, which then is none */
    void (*plan_dead)(void *ctx, const struct mr_record *rec, const struct mr_error *why);
    struct mr_str only_rows;           /* replay: JSON list of the keys to take of a message with several rows; empty = all */

    /* scratch for one row, kept between rows */
    struct mr_judged *judged;
    size_t judged_count, judged_cap;
    struct mr_buf key;                 /* canonical key bytes */
    struct mr_buf scratch;
    struct mr_change **changes;  /* of the record being taken in */
    size_t change_count, change_cap;
    struct mr_rel **rel_of;      /* of each change */
    struct mr_rel ***element_rels; /* of each change: the table of each of its elements; in the batch's arena */
    size_t rel_cap, element_cap;
    bool is_one_job;    /* one transaction will hold all lanes of the record being taken in */
    uint64_t find_seq;           /* which change's tables of arrays are being looked for */
    uint64_t build_seq;          /* which change is being built */
};

void mr_intake_init(struct mr_intake *in, const struct mr_config *cfg);
void mr_intake_free(struct mr_intake *in);

/* Take records[index] of the batch in. *split: the record must begin a new batch (the table's key changes): finish this batch first; if the record
 * has several changes some may have been folded already, so the batch must be made anew without it. *barrier: with several lanes the batch
 * must be applied by one for all. Statuses: OK (a dead letter is OK); ENV, CONFIG, BUG; DATA only under policy `fail`. */
enum mr_status mr_intake_record(struct mr_intake *in, struct mr_batch *batch, uint32_t index,
                                struct mr_part_state *part, bool *split, bool *barrier, struct mr_error *err)
    MR_MUST_CHECK;

/* What the record tells of its transaction, before it is taken in; borrowed from the record and `ar`. One that cannot be decoded tells nothing; what it
 * is, is found out when it is taken in. Statuses: OK; ENV, CONFIG, BUG. */
enum mr_status mr_intake_peek(struct mr_intake *in, const struct mr_record *rec, struct mr_arena *ar, struct mr_tx_mark *out,
                              struct mr_error *err) MR_MUST_CHECK;

/* Topic facts that changed since the last call, and what schema topics told since, are saved in the open transaction of `sink`. */
enum mr_status mr_intake_save_facts(struct mr_intake *in, struct mr_sink *sink, struct mr_error *err) MR_MUST_CHECK;
bool mr_intake_facts_dirty(const struct mr_intake *in);

#endif
