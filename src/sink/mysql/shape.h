/* A target table as one connection has seen it in the catalog, matched with the columns that Millrace writes: how each value is bound, which
 * columns could stand in the way. Kept per table and version; read again after every error that says that the catalog is not what we thought. */
#ifndef MILLRACE_SINK_MYSQL_SHAPE_H
#define MILLRACE_SINK_MYSQL_SHAPE_H

#include "my.h"
#include "native.h"

/* How a column's values are bound. One way a column, so that a whole batch can be bound as arrays. */
enum mr_my_store {
    MR_MY_STORE_INT,     /* integers, booleans */
    MR_MY_STORE_BITS,    /* an unsigned integer */
    MR_MY_STORE_DOUBLE,
    MR_MY_STORE_DECIMAL, /* digits as text, compared as a decimal */
    MR_MY_STORE_TEXT,
    MR_MY_STORE_JSON,
    MR_MY_STORE_BYTES,
};

struct mr_my_column {
    struct mr_str ident; /* quoted name */
    struct mr_my_native nat;
    struct mr_str members; /* of an ENUM or SET: 'a','b'; else empty */
    enum mr_my_store store;
    bool is_key;
    bool not_null;
    bool fills_itself;   /* a NULL would become the present time, or the next number */
    bool follows;        /* it changes with every other column, unless an update sets it */
    bool is_unique;      /* member of another unique index */
    bool is_referenced;  /* a foreign key refers to it: what is set to NULL here might not come back there */
    bool merges;         /* its collation takes texts that differ for equal */
};

/* How two rows may exchange a value of another unique index (ARCHITECTURE.md, "Several writers of one table"). */
enum mr_my_vacate {
    MR_MY_VACATE_NONE,  /* no other unique index */
    MR_MY_VACATE_NULL,  /* set its changed columns to NULL first: nothing else of the row is lost */
    MR_MY_VACATE_ROW,   /* delete the changed rows first: complete rows only, in a table of no other columns, and nothing may reference them */
    MR_MY_VACATE_NEVER, /* impossible: rows are applied one by one as they come */
};

struct mr_my_shape {
    uint64_t table_id, version;
    bool is_stale;
    uint64_t last_used;
    struct mr_arena *ar;
    struct mr_str target;         /* quoted schema.table */
    struct mr_my_column *columns; /* as tbl->columns */
    size_t column_count;
    const uint32_t *key;          /* as tbl->key_columns, copied */
    size_t key_count;
    bool references_itself;
    enum mr_my_vacate vacate;
    bool vacate_compares_all;     /* an index over an expression or a prefix: any changed column counts */
    struct mr_map *statements;    /* key → struct mr_my_row_stmt, owned */
};

struct mr_my_shapes *mr_my_shapes_create(void);
void mr_my_shapes_destroy(struct mr_my_shapes *shapes);
/* Prepare a statement. Where the server has no more of them to give (max_prepared_stmt_count is for all its sessions), what this connection keeps for
 * rows is given back first. No statement of a shape may be in use. */
bool mr_my_prepare(struct mr_my *my, MYSQL_STMT *stmt, struct mr_str sql);
/* The shape of this version of the table; read from the catalog when it is not known. SCHEMA if the table or a column is missing. */
enum mr_status mr_my_shape_get(struct mr_my *my, const struct mr_table *tbl, struct mr_my_shape **out, struct mr_error *err) MR_MUST_CHECK;

#endif
