/* The contract of a dialect: everything about a target that is pure text and needs no connection. No I/O, no state,
 * any thread. */
#ifndef MILLRACE_DIALECT_H
#define MILLRACE_DIALECT_H

#include <millrace/base/arena.h>
#include <millrace/base/buf.h>
#include <millrace/base/error.h>
#include <millrace/model/table.h>
#include <millrace/schema/evolve.h>

/* What is known of the server; filled at connect, printed by plan and status. */
struct mr_server {
    int version;      /* 150018, 3040001 … as the client library numbers it */
    char text[96];    /* for people */
};

struct mr_dialect {
    const char *name;          /* "postgresql", "sqlite" */
    size_t max_ident;          /* of an identifier: bytes, or characters (ident_in_characters) */
    bool ident_case_folds;     /* names that differ only in case are the same (SQLite, MySQL columns) */
    bool has_schemas;
    size_t max_columns;        /* of a table */

    void (*quote_ident)(struct mr_str name, struct mr_buf *out);
    /* schema.table, quoted. */
    void (*quote_table)(struct mr_str schema, struct mr_str table, struct mr_buf *out);

    /* The native type of a column; is_key and max_len may bound it. */
    void (*column_type)(const struct mr_column *col, struct mr_buf *out);
    /* The type that a native type of the catalog holds; kind NONE if none of ours. */
    struct mr_type (*type_of_column)(struct mr_str native);
    /* Can values of `type` be stored in a column of native type `native` without loss? (A text column holds everything;
     * varchar(n) does not hold text.) */
    bool (*native_holds)(struct mr_str native, struct mr_type type);

    /* May this target hold this value in a column of this type? The value is already coerced to the type's tag. DATA text_invalid,
     * out_of_range otherwise. */
    enum mr_status (*holds)(struct mr_type type, bool is_key, struct mr_value v, struct mr_error *err);

    /* A DDL step as statements, ready to run in one transaction, separated by ";\n". `now` is the catalog's table. */
    void (*render)(const struct mr_ddl_step *step, const struct mr_catalog_table *now,
                   const struct mr_server *server, struct mr_buf *out);
    /* What it costs there: catalog only, or a rewrite of the table. */
    enum mr_ddl_cost (*cost)(const struct mr_ddl_step *step, const struct mr_server *server);

    /* Class and code word of a native error code (SQLSTATE; SQLite result code as text). One visible table a dialect. */
    enum mr_status (*classify)(const char *native_z, const char **code_z);

    /* Optional. */
    bool ident_folds_unicode;            /* ident_case_folds covers more than ASCII (MySQL) */
    bool ident_in_characters;            /* max_ident counts characters (MySQL) */
    bool ident_is_bmp;                   /* no character beyond U+FFFF, no blank at the end (MySQL) */
    const char *const *reserved_columns; /* names no column may have (PostgreSQL's xmin, ctid, …), NULL at the end */
    const char *const *reserved_tables;  /* what no table's name may begin with (SQLite's sqlite_), NULL at the end; may be NULL */
    const char *reserved_schemas;        /* what no schema's name may begin with (PostgreSQL's pg_), NULL none */
    const char *const *own_schemas;      /* the server's own, beside information_schema (MySQL's mysql, sys, …), NULL at the end; may be NULL */
    bool has_arrays;                     /* has arrays of its own (PostgreSQL); elsewhere an array is a JSON column */
    bool keeps_doubles;                  /* an observed decimal is a double while every number seen is one's, digit for digit (MySQL) */
    /* Shall a column whose native type holds the type become wider for the values seen so far: a text longer (col->max_len), a double that is
     * to keep the digits of a decimal (col->has_inexact) a decimal? */
    bool (*wants_wider)(const struct mr_table *tbl, uint32_t column, const struct mr_catalog_table *now, struct mr_str native);
};

#endif
