/* Relations: which target table a source relation goes to, and everything known of that table. Main thread only. Two source relations share
 * a target table exactly if they agree in all variables that the name templates use; everything else that would collide gets a substitute
 * name, recorded in the control table. */
#ifndef MILLRACE_ENGINE_RELATION_H
#define MILLRACE_ENGINE_RELATION_H

#include <millrace/base/map.h>
#include <millrace/schema/tracker.h>
#include <millrace/sink.h>

#include "fold.h"
#include "refusal.h"

struct mr_rel {
    struct mr_str database, table, topic;  /* values that identify it ("" where the templates do not use them) */
    struct mr_str source_name;             /* "db.table", for people */
    struct mr_str target_schema, target_table;
    struct mr_str expanded;                /* schema.table as the templates give it, a path */
    struct mr_tracker *tk;
    const struct mr_table_settings *set;   /* the tracker's */
    const struct mr_table *tbl;            /* last published version that the target holds, NULL before the first */
    bool exists;                           /* in the catalog */
    bool created_by_us;
    bool saved;                            /* has its row in tracked_table */
    struct mr_type *known;                 /* column types as the control tables have them; owned */
    size_t known_count;
    bool has_other_unique, has_foreign_keys;
    bool shape_dirty;                      /* the wanted table differs from what the target holds */
    uint64_t rows_seen, rows_dead;         /* for plan */
    struct mr_refusals *refusals;          /* where the gate notes what the target refuses */
    const struct mr_refusal *refused;      /* what it has refused of this table */
    struct mr_place shape_place;           /* the event that last changed the shape (strings in the tracker or literal) */
    uint32_t new_pause, new_pause_next;    /* batches in which rows said to be new are not taken for it: some have not been */
    /* in the batch being filled */
    uint64_t batch_seq;                    /* which batch `fold` belongs to */
    struct mr_fold *fold;
    struct mr_type *key_types;             /* types under which the fold's keys were made, key_count of them */
    size_t key_type_count;
};

struct mr_relations;

struct mr_relations *mr_relations_create(const struct mr_config *cfg, const struct mr_sink_ops *sink_ops);
void mr_relations_destroy(struct mr_relations *rels);
/* Read the tracked tables' names from the control tables (once connected). */
enum mr_status mr_relations_load(struct mr_relations *rels, struct mr_sink *sink, struct mr_error *err)
    MR_MUST_CHECK;
/* Forget every tracker (another instance changed the schema): they are read again when needed. */
enum mr_status mr_relations_reload(struct mr_relations *rels, struct mr_sink *sink, struct mr_error *err)
    MR_MUST_CHECK;
/* The column types of `rel` are in the control tables now. */
void mr_rel_remember_types(struct mr_rel *rel);
/* The relation of a change; on first use its columns are read from the control tables and the catalog over `sink`. */
enum mr_status mr_relations_get(struct mr_relations *rels, struct mr_sink *sink,
                                const struct mr_relation *relation, const struct mr_record *rec,
                                struct mr_rel **out, struct mr_error *err) MR_MUST_CHECK;
size_t mr_relations_count(const struct mr_relations *rels);
struct mr_rel *mr_relations_at(const struct mr_relations *rels, size_t i);

#endif
