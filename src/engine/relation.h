/* Relations: which target table a source relation goes to, and everything known of that table. Main thread only. Two source relations share
 * a target table exactly if they agree in all variables that the name templates use; everything else that would collide gets a substitute
 * name, recorded in the control table. */
#ifndef MILLRACE_ENGINE_RELATION_H
#define MILLRACE_ENGINE_RELATION_H

#include <millrace/base/map.h>
#include <millrace/model/change.h>
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
    struct mr_relation settings_names;     /* under which it is looked up in the configuration */
    /* a table of an array's elements */
    struct mr_rel *root;                   /* the relation whose documents have the array; NULL: this is none */
    struct mr_str array;                   /* the array's path (model/change.h) */
    uint32_t depth;                        /* arrays in it */
    uint32_t child_index;                  /* among the root's children */
    uint64_t build_seq;                    /* of the change that uses it now (rowchild.c) */
    void *build;
    uint64_t begun_seq;      /* last change that has brought elements of it (intake.c) */
    uint64_t mention_seq;                  /* the change tells of an array of it that lies in no whole element, */
    uint32_t mention_set;                  /* last under this number, + 1 */
    /* of a root: its tables of elements, at all depths, in the order in which they have come */
    struct mr_rel **children;
    size_t child_count, child_cap;
    struct mr_map *by_array;
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
/* The database of the only table of this name that is known; "" = there is none, or several. Borrowed until the next reload. */
struct mr_str mr_relations_only_database(const struct mr_relations *rels, struct mr_str table);
/* The relation of a change; on first use its columns are read from the control tables and the catalog over `sink`. */
enum mr_status mr_relations_get(struct mr_relations *rels, struct mr_sink *sink,
                                const struct mr_relation *relation, const struct mr_record *rec,
                                struct mr_rel **out, struct mr_error *err) MR_MUST_CHECK;
/* The table for the elements of an array in the documents of `root`, made if need be, and of those around it. DATA no_table where there are too
 * many. */
enum mr_status mr_relations_child(struct mr_relations *rels, struct mr_sink *sink, struct mr_rel *root, struct mr_str array,
                                  struct mr_rel **out, struct mr_error *err) MR_MUST_CHECK;
/* That table if there is one, else NULL. */
struct mr_rel *mr_rel_find_child(const struct mr_rel *root, struct mr_str array);
/* Does `array` lie within elements of `outer`? */
bool mr_array_is_within(struct mr_str array, struct mr_str outer);
/* The step after the last mark; *outer gets what comes before it ("" for an array of the row itself). */
struct mr_str mr_array_last_step(struct mr_str array, struct mr_str *outer);
/* The step before the first mark. */
struct mr_str mr_array_first_step(struct mr_str array);
size_t mr_relations_count(const struct mr_relations *rels);
struct mr_rel *mr_relations_at(const struct mr_relations *rels, size_t i);

#endif
