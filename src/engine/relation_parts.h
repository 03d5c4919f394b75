/* What the two files of the relations share: relation.c (roots) and child.c (tables of arrays). */
#ifndef MILLRACE_ENGINE_RELATION_PARTS_H
#define MILLRACE_ENGINE_RELATION_PARTS_H

#include "relation.h"

/* A tracked table as the control tables have it, until its relation is used. */
struct mr_rel_stored {
    struct mr_str target_schema, target_table;
    struct mr_str *key_paths;
    size_t key_count;
    bool created_by_us;
};

struct mr_relations {
    const struct mr_config *cfg;
    const struct mr_sink_ops *sink_ops;
    struct mr_str default_schema;
    bool uses_db, uses_table, uses_topic;
    struct mr_arena *ar;      /* names and stored rows; lives until reload or destroy */
    struct mr_map *stored;    /* identity and expanded name → struct mr_rel_stored */
    struct mr_map *rels;      /* identity → struct mr_rel; of children identity and expanded name */
    struct mr_map *names;     /* target schema → struct mr_names */
    struct mr_refusals *refusals; /* outlive a reload */
    struct mr_names *schemas; /* the names of the schemas themselves; the path is the wanted name */
    struct mr_buf key;        /* scratch */
    struct mr_buf last_key;   /* of the relation asked for last */
    struct mr_rel *last;
};

/* The names of the tables of a target schema. */
struct mr_names *mr_relations_names(struct mr_relations *rels, struct mr_str schema);
/* The key under which a table of these source names and this expanded name is stored, in `buf`. */
void mr_relations_stored_key(struct mr_buf *buf, const struct mr_rel *rel, struct mr_str expanded);
/* Columns from the control tables (`st` may be NULL: none), then what the catalog really has. */
enum mr_status mr_rel_restore(struct mr_relations *rels, struct mr_sink *sink, struct mr_rel *rel, const struct mr_rel_stored *st,
                              struct mr_error *err) MR_MUST_CHECK;
void mr_rel_destroy(void *rel);

/* child.c: the children that the control tables know of a new root. They belong to the root until mr_rel_adopt_children has put them into the map. */
enum mr_status mr_rel_restore_children(struct mr_relations *rels, struct mr_sink *sink, struct mr_rel *root, struct mr_error *err)
    MR_MUST_CHECK;
void mr_rel_adopt_children(struct mr_relations *rels, struct mr_rel *root);
void mr_rel_drop_children(struct mr_rel *root);

#endif
