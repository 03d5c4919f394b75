/* What the files of the Canal decoder share: canal.c (messages and operations), canal_row.c (rows by their columns' types), canal_ddl.c
 * (statements). */
#ifndef MILLRACE_DECODE_CANAL_H
#define MILLRACE_DECODE_CANAL_H

#include <millrace/decoder.h>

#include "connect.h"
#include "meta.h"
#include "mysql_value.h"
#include "shape.h"

struct mr_canal {
    const struct mr_config *cfg;
    struct mr_connect *cn;
    struct mr_meta *meta;
    struct mr_mysql_reader rd;
    struct mr_mysql_types *types;
    bool wants_key_text;
    bool wants_before; /* some table takes its key from the row: an update's old key is in its before image */
};

/* A column of the message's table. */
struct mr_canal_column {
    struct mr_str name;  /* as the message spells it, unescaped */
    struct mr_str path;
    const struct mr_mysql_type *type; /* NULL: nothing is told, values are taken as they look */
    struct mr_type column_type;
    bool is_latin1;      /* sqlType 2004 */
    uint32_t row, place; /* which row of the message had it last, and where in it */
};

/* One message on its way. */
struct mr_canal_message {
    struct mr_canal *cl;
    const struct mr_record *rec;
    const struct mr_shape *sh;
    struct mr_arena *ar;
    struct mr_topic_facts *facts;
    mr_emit_fn emit;
    void *ctx;

    struct mr_relation relation;
    int64_t source_us;
    struct mr_str tx_id, gtid;
    int64_t produced_ms;     /* `ts` */
    struct mr_str op;        /* for the metadata columns */
    struct mr_change row_change; /* the row's that is being read: whoever gets it keeps a copy, and a message may have very many */

    struct mr_canal_column *columns;
    size_t column_count, column_cap;
    size_t cursor;           /* where the next name is looked for first */
    uint32_t row;            /* rows read so far */
    uint32_t *index;         /* by hash, for wide tables; slots of column + 1 */
    const struct mr_str *pk; /* paths of the key columns */
    size_t pk_count;
};

/* ---- canal_row.c ---- */

/* The columns and key columns that the message tells of. DATA: too many, or no list of names. */
enum mr_status mr_canal_columns(struct mr_canal_message *m, struct mr_error *err) MR_MUST_CHECK;
/* The members of a row. DATA bad_image if it is no object. */
enum mr_status mr_canal_row(struct mr_canal_message *m, uint32_t node, struct mr_fields *out, struct mr_error *err)
    MR_MUST_CHECK;
/* The members of the element of `old` that belongs to the row that was read last (`now`), and that row as it was before. */
enum mr_status mr_canal_old(struct mr_canal_message *m, uint32_t node, const struct mr_fields *now, struct mr_fields *old,
                            struct mr_fields *before, struct mr_error *err) MR_MUST_CHECK;
/* The change's key from an image of its row. DATA no_key. */
enum mr_status mr_canal_key(struct mr_canal_message *m, const struct mr_fields *image, struct mr_change *ev,
                            struct mr_error *err) MR_MUST_CHECK;

/* The metadata columns of a change whose relation is set. */
void mr_canal_meta(struct mr_canal_message *m, struct mr_str op, struct mr_change *ev);

/* ---- canal_ddl.c ---- */

/* A message that carries a statement about tables or databases. `type` is its type in capitals. */
enum mr_status mr_canal_statement(struct mr_canal_message *m, struct mr_str type, struct mr_error *err) MR_MUST_CHECK;

#endif
