/* A target table as one connection has seen it in the catalog, matched with the columns that Millrace writes: how each value goes over
 * the wire, which columns could stand in the way, the staging table. Kept per table and version; read again after every error that
 * says that the catalog is not what we thought. */
#ifndef MILLRACE_SINK_POSTGRES_SHAPE_H
#define MILLRACE_SINK_POSTGRES_SHAPE_H

#include "pg.h"

struct mr_pg_column {
    struct mr_str ident;   /* quoted name */
    struct mr_str stage;   /* column of the staging table: c0, c1, … */
    struct mr_str native;  /* the target's type as text */
    enum mr_pg_wire wire;  /* of our values: the target's own type where it takes the same values */
    bool casts;            /* our value becomes the target's by an assignment cast: not for COPY into the target */
    bool compares_cast;    /* comparing wants the value cast to `native` */
    bool is_json_text;     /* the target's type is json, which cannot be compared as it is */
    bool is_key;
    bool not_null;
    bool is_unique;        /* member of another unique index */
    bool is_referenced;    /* a foreign key refers to it: what is set to NULL here might not come back there */
};

/* How two rows may exchange a value of another unique index (ARCHITECTURE.md, "Several writers of one table"). */
enum mr_pg_vacate {
    MR_PG_VACATE_NONE,  /* no other unique index */
    MR_PG_VACATE_NULL,  /* set its changed columns to NULL first: nothing else of the row is lost */
    MR_PG_VACATE_ROW,   /* delete the changed rows first: complete rows only, in a table of no other columns, and nothing may reference them */
    MR_PG_VACATE_NEVER, /* impossible: rows are applied one by one as they come */
};

struct mr_pg_row_stmt; /* pipe.h */

struct mr_pg_shape {
    uint64_t table_id, version;
    bool is_stale;
    uint64_t last_used;
    struct mr_arena *ar;
    struct mr_str relname;         /* bare name, as it stands in messages */
    struct mr_str target;          /* quoted schema.table */
    struct mr_str stage;           /* pg_temp.mr_stage_N */
    struct mr_str stage_name;      /* mr_stage_N */
    struct mr_str fingerprint;     /* names and types of all columns in the catalog */
    struct mr_pg_column *columns;  /* as tbl->columns */
    size_t column_count;
    const uint32_t *key;           /* as tbl->key_columns, copied */
    size_t key_count;
    bool is_partitioned;
    bool may_truncate;             /* has the right, and no foreign key forbids it */
    bool references_itself;
    bool has_deferrable;           /* some constraint may speak only at commit */
    bool has_row_security;         /* its policies hold for us: no COPY into the table */
    bool any_casts;
    bool skips_same;               /* as of the table */
    enum mr_pg_vacate vacate;
    bool has_columns_of_others;    /* which a row that is deleted and comes back would have lost */
    bool vacate_compares_all;      /* a partial or computed index: any changed column counts */

    bool stage_made;               /* created by this connection … */
    bool stage_committed;          /* … in a transaction that has committed */
    uint64_t stage_undo;           /* undo_mark when it was created */

    struct mr_map *statements;     /* key → struct mr_pg_row_stmt, owned */
};

struct mr_pg_shapes *mr_pg_shapes_create(void);
void mr_pg_shapes_destroy(struct mr_pg_shapes *shapes);
/* The shape of this version of the table; read from the catalog when it is not known. SCHEMA if the table or a column is missing. */
enum mr_status mr_pg_shape_get(struct mr_pg *pg, const struct mr_table *tbl, struct mr_pg_shape **out,
                               struct mr_error *err) MR_MUST_CHECK;
/* Lock the table against DDL for the rest of the transaction and make sure that the shape still holds; *shape may be another one then, and NULL after a
 * failure. */
enum mr_status mr_pg_shape_verify(struct mr_pg *pg, const struct mr_table *tbl, struct mr_pg_shape **shape,
                                  struct mr_error *err) MR_MUST_CHECK;
/* A transaction has committed: staging tables made in it are there to stay. */
void mr_pg_shapes_committed(struct mr_pg_shapes *shapes, uint64_t undo_mark);

/* Append to pg->sql the statements that leave an empty staging table; tell once they have run. */
void mr_pg_stage_append(struct mr_pg *pg, const struct mr_pg_shape *shape, const struct mr_table *tbl);
void mr_pg_stage_made(struct mr_pg *pg, struct mr_pg_shape *shape);

#endif
