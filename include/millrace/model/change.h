/* What a decoder makes of a record: one change of one row (or table). The engine keeps it in the batch's arena, and it is
 * const after the decoder has emitted it. */
#ifndef MILLRACE_MODEL_CHANGE_H
#define MILLRACE_MODEL_CHANGE_H

#include <millrace/model/patch.h>
#include <millrace/model/record.h>
#include <millrace/model/value.h>

enum mr_op {
    MR_OP_UPSERT,   /* after = the row; partial = only some columns */
    MR_OP_DELETE,   /* key, or before where there is no key */
    MR_OP_TRUNCATE,
    MR_OP_CONTROL,  /* a message that is no data (heartbeat, transaction, schema change, notification): counted */
};

/* Kinds of MR_OP_CONTROL. */
enum mr_control {
    MR_CONTROL_HEARTBEAT,
    MR_CONTROL_TRANSACTION,
    MR_CONTROL_SCHEMA_CHANGE,
    MR_CONTROL_NOTIFICATION,
    MR_CONTROL_EMPTY,       /* null key and null value, or an operation without effect (Debezium's `m`) */
};

/* What a schema change does to its table, as far as the decoder can tell (CONTROL SCHEMA_CHANGE). */
enum mr_statement_kind {
    MR_STMT_UNKNOWN = 0,     /* not told: the statement has to be read */
    MR_STMT_CREATE,
    MR_STMT_ALTER,
    MR_STMT_DROP,
    MR_STMT_RENAME,          /* of the table; its new name is in `new_relation` */
    MR_STMT_CREATE_INDEX,
    MR_STMT_DROP_INDEX,
    MR_STMT_CREATE_DATABASE, /* `relation` has no table, here and in the next two */
    MR_STMT_ALTER_DATABASE,
    MR_STMT_DROP_DATABASE,
};
/* "CREATE", "ALTER", "CREATE_INDEX", …; "" for UNKNOWN. */
const char *mr_statement_kind_name(enum mr_statement_kind kind);

/* A field on its way to a column. `path` is the source path: member names joined by '.', with '.' and '\' inside a
 * name escaped by '\' ("address.city", "a\.b"). The column's name is made of the path by the name resolver, once. */
struct mr_field {
    struct mr_str path;
    struct mr_type type;   /* what is declared; kind MR_T_NONE = look at the value (origin MR_OBSERVED) */
    struct mr_value value;
};

/* How a path begins whose first member has no name: "\\~" is the member "" itself, "\\~.a" the member `a` of it. */
#define MR_EMPTY_NAME "\\~"

/* A document whose own path is longer is not taken apart when documents are flattened: it is one JSON field. */
#define MR_FLATTEN_MAX_PATH ((size_t)1024)

struct mr_fields {
    const struct mr_field *items;
    size_t count;
};

/* Whose row. Names as the source has them; "" where unknown (the engine's templates decide). */
struct mr_relation {
    struct mr_str database;
    struct mr_str table;
};

/* ---- Elements of arrays, under array.encoding=table ---- */

/* Between the steps of an array's path ("items", "items\\[tags"): each step is a path within the element of the array before. */
#define MR_ARRAY_MARK "\\["
#define MR_ARRAY_MAX_DEPTH 8 /* arrays that lie deeper stay JSON */

enum mr_element_kind {
    MR_ELEMENT_LENGTH, /* the array is all there is now: `length` elements, given by the ROWs that follow */
    MR_ELEMENT_ROW,    /* the element is this; what its fields do not tell is NULL */
    MR_ELEMENT_PART,   /* `fields` of the element have changed, `removed` are gone, the others stay */
    MR_ELEMENT_CUT,    /* elements from `length` on are gone */
    MR_ELEMENT_KEEP,   /* the array is there, and its elements are not known: they stay */
};

struct mr_element {
    uint8_t kind;           /* enum mr_element_kind */
    bool is_inner;          /* lies in an element that this change gives as a whole */
    bool is_guess;          /* the positions may be names of members: see mr_change.elements */
    uint32_t set;           /* inner elements belong to the elements of the same number that are not inner */
    struct mr_str array;    /* its path; the same pointer for all elements of an array */
    uint32_t depth;         /* arrays in the path */
    const uint32_t *pos;    /* positions: of the elements around, and for ROW and PART (`depth` of them) the element's own */
    uint32_t length;        /* LENGTH, CUT */
    struct mr_fields fields, removed; /* paths are those within the element; a value that is no document is under MR_ELEMENT_VALUE */
};
/* Path of an element that is no document: spelt as no member can be (schema/tracker.h, MR_OWN_PATH). */
#define MR_ELEMENT_VALUE "\\value"

struct mr_elements {
    const struct mr_element *items;
    size_t count;
};

/* A partial update of what lies within a field. Which column holds the field, and how much of the path that column is, the engine finds out. */
struct mr_part {
    struct mr_step step;      /* names from the top of the document on */
    uint8_t json_flags;       /* SET: MR_TEXT_… bits of all strings of step.json */
    struct mr_type item_type; /* SET: declared type of step.item, as in mr_field */
    bool may_be_columns;      /* documents are flattened, so that the path may lead to columns: `path`, and `fields` below it */
    struct mr_str path;       /* the whole path, if `may_be_columns`; else the path of a field whose name has dots */
    struct mr_fields fields;  /* SET: the value as fields, at and below `path` */
};

struct mr_part_list {
    const struct mr_part *items;
    size_t count;
    struct mr_patch_style style;
};

/* One thing that a schema change does to a table of the source, read from the statement's text or from the structure that came with it.
 * What is no matter of the target (indexes, options, comments, defaults) gives none. */
enum mr_source_ddl {
    MR_SRC_DESCRIBE,      /* the table has these columns, with these types; others stay as they are */
    MR_SRC_DROP_COLUMN,
    MR_SRC_RENAME_COLUMN,
    MR_SRC_DROP_TABLE,
    MR_SRC_RENAME_TABLE,
    MR_SRC_NOT_UNDERSTOOD, /* `why` tells */
};
struct mr_source_action {
    enum mr_source_ddl kind;
    struct mr_relation relation;
    struct mr_relation new_relation; /* RENAME_TABLE */
    const struct mr_relation *beside; /* RENAME_TABLE whose statement is told clause by clause: the new names of all its clauses, this one's too */
    size_t beside_count;
    struct mr_str path, new_path;    /* DROP_COLUMN, RENAME_COLUMN */
    struct mr_fields columns;        /* DESCRIBE: values are null */
    const struct mr_str *column_texts; /* their types as the statement writes them; NULL = not from a statement */
    bool is_whole;                   /* DESCRIBE: these are all columns, and `key` is the key */
    const struct mr_str *key;        /* paths */
    size_t key_count;
    struct mr_str why;
};

/* How many events a transaction of the source has had, told at its end: in all, and for each table or collection. */
struct mr_tx_count {
    struct mr_str collection; /* as the producer names it ("shop.orders") */
    int64_t events;
};
struct mr_tx_end {
    int64_t events;
    const struct mr_tx_count *counts;
    size_t count;
};

struct mr_change {
    enum mr_op op;
    enum mr_control control;      /* CONTROL only */
    struct mr_relation relation;
    bool has_key;                 /* the record has a key with at least one member */
    bool is_key_observed;         /* which members the key has tells the key alone: it does not change the table's key */
    bool partial;                 /* UPSERT: columns not listed keep their value */
    bool is_new;                  /* UPSERT: the producer says that the row is new (c, r): a hint for bulk */
    bool is_tombstone;            /* DELETE: a null value, not a delete event */
    bool is_echo;                 /* DELETE: a tombstone where delete events come, too, and before it; the engine's intake finds out */
    bool is_deleted_row;          /* DELETE: a rewritten row with __deleted true; `after` holds that row */
    bool has_positions;           /* UPSERT partial: segments of digits in `after` and `removed` may be positions in arrays, and an INT as a removed
                                     value is the size that an array has been cut to; the engine finds out (positions.h) */
    bool is_whole_before;         /* DELETE: `before` is the whole row; what it lacks was NULL */
    struct mr_fields key;         /* key members as columns */
    struct mr_fields before;      /* the row before, where the event tells; else count 0 */
    struct mr_fields after;       /* the row, or the changed columns; key members may be missing here */
    struct mr_fields old_key;     /* UPSERT: the row with this key goes away in the same step; else count 0 */
    struct mr_fields meta;        /* columns asked for by unwrap.add.fields, for every op */
    struct mr_fields headers;     /* asked for by unwrap.add.headers; `path` is the header's name as it is */
    struct mr_fields removed;     /* UPSERT partial: paths that are gone: this column and all below it become NULL;
                                     only `path` counts. Goes before `after`: a document set as a whole has its path here
                                     and its members there */
    bool has_elements;            /* arrays are tables: a row that is not partial tells of all arrays there are */
    struct mr_elements elements;  /* An array's LENGTH comes before its ROWs, an array before those within it, arrays of one path in the order of
                                     their positions. `is_guess`: in a path like items.2.price, 2 may be a member's name */
    struct mr_part_list parts;        /* UPSERT partial: to be applied in this order, after `removed` and `after` */
    struct mr_str key_text;       /* the record key as canonical JSON (schema wrapper removed), if asked for */
    struct mr_str statement;      /* CONTROL SCHEMA_CHANGE: the DDL text, whole; names in it that have no database belong to
                                     `statement_db` */
    struct mr_str statement_db;
    uint32_t statement_part;      /* SCHEMA_CHANGE: a statement that names several tables gives one change a table, each with the
                                     whole text; whoever reads the text deals with part 0 alone */
    bool statement_repeats;       /* SCHEMA_CHANGE: the producer sends the whole text once for every table in it, so that only what
                                     it says of `relation` is meant */
    enum mr_statement_kind statement_kind; /* SCHEMA_CHANGE: what it does to `relation` */
    struct mr_relation new_relation; /* SCHEMA_CHANGE, RENAME: the table's name from now on */
    const struct mr_source_action *actions; /* SCHEMA_CHANGE, under `ddl: apply`: in order; for the whole statement, with part 0 */
    size_t action_count;
    bool is_snapshot;             /* SCHEMA_CHANGE: how a snapshot begins, no change at the source */
    struct mr_str lost;           /* CONTROL: the text of an earlier half of an update whose other half will not come: a dead letter */
    struct mr_str tx_id;          /* the source's transaction, "" where the producer does not tell; equal for neighbours of one */
    bool tx_last;                 /* this change ends its transaction */
    bool tx_marks_last;           /* the producer does mark the last one */
    struct mr_str tx_scope;       /* not "": the transaction may lie in several partitions, and a message with tx_end tells its end. Ids are
                                     unique within the scope (Debezium: its topics' common beginning) */
    int64_t tx_order;             /* the event's number in such a transaction, from 1; 0 = it is not counted */
    const struct mr_tx_end *tx_end; /* CONTROL TRANSACTION; else NULL */
    int64_t source_us;            /* time of the change at the source, INT64_MIN unknown */
};

#endif
