/* The control tables: positions and fence, tracked types and their history, DDL history, topic facts, dead letters. Typed functions over a
 * sink's named queries; the only place in the engine that knows what a control row looks like. Every function runs in the open
 * transaction of the connection it is given, or on its own if there is none. Multi-row arguments travel as one JSON text parameter,
 * unpacked by the server (json_to_recordset, json_each), so that a batch costs one round trip.
 *
 * Tables (columns in sql/<dialect>/control_create.sql): meta (version of the layout, schema_epoch), position, topic_fact, tracked_table,
 * tracked_column, type_history, ddl_history, source_type, dead_letter. */
#ifndef MILLRACE_ENGINE_CONTROL_H
#define MILLRACE_ENGINE_CONTROL_H

#include <millrace/decoder.h>
#include <millrace/schema/tracker.h>
#include <millrace/sink.h>
#include <millrace/source.h>

#define MR_MAX_LANES 16

/* ---- Positions and fence ---- */

struct mr_stored_position {
    int64_t lane_position[MR_MAX_LANES]; /* next to read of each lane; MR_POSITION_NONE (-1): never stored */
    uint32_t lanes;                      /* how many lanes the rows were written for; 0: no rows before */
    int64_t epoch;                       /* ours now */
};

/* Raise the epoch of every lane row of each partition (making `lanes` rows with position -1 where there are none) and return what is stored.
 * Waits for a former owner's open transaction. out[i] belongs to parts[i]. */
enum mr_status mr_control_claim(struct mr_sink *sink, struct mr_str pipeline,
                                const struct mr_partition *const *parts, size_t count, uint32_t lanes,
                                struct mr_stored_position *out, struct mr_error *err) MR_MUST_CHECK;
/* Read without claiming (status). Calls back per row. */
struct mr_position_row {
    struct mr_str pipeline, topic;
    int32_t partition;
    uint32_t lane, lanes;
    int64_t position, epoch, updated_us;
};
typedef enum mr_status (*mr_position_fn)(void *ctx, const struct mr_position_row *row, struct mr_error *err);
enum mr_status mr_control_positions(struct mr_sink *sink, mr_position_fn fn, void *ctx,
                                    struct mr_error *err) MR_MUST_CHECK;

struct mr_position_move {
    const struct mr_partition *part;
    uint32_t lane;
    int64_t from, to; /* expected old position, new position */
    int64_t epoch;    /* ours */
};
/* Move positions inside the open data transaction. Fewer rows matched than asked for: FENCED (message names the first partition that is not
 * ours). *schema_epoch gets the target's present schema epoch, read in the same statement. */
enum mr_status mr_control_store(struct mr_sink *sink, struct mr_str pipeline,
                                const struct mr_position_move *moves, size_t count,
                                int64_t *schema_epoch, struct mr_error *err) MR_MUST_CHECK;
/* Replace a partition's lane rows by `lanes` rows at one position, if the epoch is still ours (else FENCED). */
enum mr_status mr_control_set_lanes(struct mr_sink *sink, struct mr_str pipeline,
                                    const struct mr_partition *part, uint32_t lanes, int64_t position,
                                    int64_t epoch, struct mr_error *err) MR_MUST_CHECK;
/* Forget a partition's or (part NULL) all positions of the pipeline: --again, --reset-position. */
enum mr_status mr_control_forget(struct mr_sink *sink, struct mr_str pipeline,
                                 const struct mr_partition *part, struct mr_error *err) MR_MUST_CHECK;

/* ---- Schema epoch, tracked tables and columns ---- */

enum mr_status mr_control_schema_epoch(struct mr_sink *sink, int64_t *epoch, struct mr_error *err)
    MR_MUST_CHECK;
enum mr_status mr_control_raise_schema_epoch(struct mr_sink *sink, int64_t *epoch, struct mr_error *err)
    MR_MUST_CHECK;

/* A tracked table: target name ↔ source relation. */
struct mr_tracked_table {
    struct mr_str target_schema, target_table;
    struct mr_str database, table; /* source names ("" unknown) */
    struct mr_str topic;           /* where the names came from if database or table is "" */
    const struct mr_str *key_paths; /* primary key by source path, in order */
    size_t key_count;
    bool created_by_us;
    struct mr_str expanded;        /* target name as the templates gave it, a path (schema.table), before any substitute */
};
typedef enum mr_status (*mr_tracked_table_fn)(void *ctx, const struct mr_tracked_table *tbl,
                                              struct mr_error *err);
enum mr_status mr_control_tables(struct mr_sink *sink, mr_tracked_table_fn fn, void *ctx,
                                 struct mr_error *err) MR_MUST_CHECK;
enum mr_status mr_control_table_save(struct mr_sink *sink, const struct mr_tracked_table *tbl,
                                     struct mr_error *err) MR_MUST_CHECK;
/* Columns of one tracked table, in column order (the order in which they were saved first). */
typedef enum mr_status (*mr_tracked_column_fn)(void *ctx, const struct mr_tracked_column *col,
                                               struct mr_error *err);
enum mr_status mr_control_columns(struct mr_sink *sink, struct mr_str target_schema,
                                  struct mr_str target_table, mr_tracked_column_fn fn, void *ctx,
                                  struct mr_error *err) MR_MUST_CHECK;
/* Insert or update the columns given (index = place in the table). */
enum mr_status mr_control_columns_save(struct mr_sink *sink, struct mr_str target_schema,
                                       struct mr_str target_table,
                                       const struct mr_tracked_column *const *cols,
                                       const uint32_t *index, size_t count, struct mr_error *err)
    MR_MUST_CHECK;

/* Where DDL commits by itself, what it is to make is on record before it runs: columns as they will be, one plan a column, never removed. Kept among the
 * tracked columns, under a table's name that no table has. */
enum mr_status mr_control_plan(struct mr_sink *sink, struct mr_str target_schema, struct mr_str target_table, mr_tracked_column_fn fn,
                               void *ctx, struct mr_error *err) MR_MUST_CHECK;
enum mr_status mr_control_plan_save(struct mr_sink *sink, struct mr_str target_schema, struct mr_str target_table,
                                    const struct mr_tracked_column *const *cols, const uint32_t *index, size_t count,
                                    struct mr_error *err) MR_MUST_CHECK;

/* ---- Histories ---- */

enum mr_type_event { MR_TYPE_EVENT_CREATED, MR_TYPE_EVENT_WIDENED, MR_TYPE_EVENT_NULLED, MR_TYPE_EVENT_BY_HAND, MR_TYPE_EVENT_VARIANT };
struct mr_type_history_row {
    int64_t id, at_us; /* read only */
    struct mr_str target_schema, target_table, column, path;
    enum mr_type_event event;
    struct mr_str from_type, to_type, message;
    struct mr_str topic;
    int32_t partition;
    int64_t offset;
};
enum mr_status mr_control_type_history_add(struct mr_sink *sink, const struct mr_type_history_row *rows,
                                           size_t count, struct mr_error *err) MR_MUST_CHECK;
typedef enum mr_status (*mr_type_history_fn)(void *ctx, const struct mr_type_history_row *row,
                                             struct mr_error *err);
/* All, or those of one target table (both "" = all), oldest first. */
enum mr_status mr_control_type_history(struct mr_sink *sink, struct mr_str target_schema,
                                       struct mr_str target_table, mr_type_history_fn fn, void *ctx,
                                       struct mr_error *err) MR_MUST_CHECK;

struct mr_ddl_history_row {
    int64_t id, at_us;
    struct mr_str target_schema, target_table, statement, reason;
    bool rewrite; /* cost: the table was rewritten */
    struct mr_str topic;
    int32_t partition;
    int64_t offset;
};
enum mr_status mr_control_ddl_history_add(struct mr_sink *sink, const struct mr_ddl_history_row *row,
                                          struct mr_error *err) MR_MUST_CHECK;
typedef enum mr_status (*mr_ddl_history_fn)(void *ctx, const struct mr_ddl_history_row *row,
                                            struct mr_error *err);
enum mr_status mr_control_ddl_history(struct mr_sink *sink, mr_ddl_history_fn fn, void *ctx,
                                      struct mr_error *err) MR_MUST_CHECK;

/* ---- Topic facts ---- */

/* By pipeline and topic. *found false and facts untouched if there is no row. */
enum mr_status mr_control_topic_fact(struct mr_sink *sink, struct mr_str pipeline, struct mr_str topic,
                                     struct mr_topic_facts *facts, bool *found, struct mr_error *err)
    MR_MUST_CHECK;
enum mr_status mr_control_topic_fact_save(struct mr_sink *sink, struct mr_str pipeline,
                                          struct mr_str topic, const struct mr_topic_facts *facts,
                                          struct mr_error *err) MR_MUST_CHECK;

/* ---- Following the source's DDL ---- */

/* Has that part of the schema change in that message been done? Noted in the transaction that does it; mr_control_forget forgets it with the
 * position. */
enum mr_status mr_control_source_ddl_done(struct mr_sink *sink, struct mr_str pipeline, const struct mr_record *rec, uint32_t part,
                                          bool *done, struct mr_error *err) MR_MUST_CHECK;
enum mr_status mr_control_source_ddl_note(struct mr_sink *sink, struct mr_str pipeline, const struct mr_record *rec, uint32_t part,
                                          struct mr_error *err) MR_MUST_CHECK;
enum mr_status mr_control_column_rename(struct mr_sink *sink, struct mr_str target_schema, struct mr_str target_table, struct mr_str column,
                                        struct mr_str name, struct mr_str path, struct mr_error *err) MR_MUST_CHECK;
enum mr_status mr_control_column_drop(struct mr_sink *sink, struct mr_str target_schema, struct mr_str target_table, struct mr_str column,
                                      struct mr_error *err) MR_MUST_CHECK;
/* With its columns; what is tracked under the new name is forgotten first. */
enum mr_status mr_control_table_rename(struct mr_sink *sink, struct mr_str target_schema, struct mr_str target_table, struct mr_str new_schema,
                                       struct mr_str new_table, struct mr_error *err) MR_MUST_CHECK;
enum mr_status mr_control_table_drop(struct mr_sink *sink, struct mr_str target_schema, struct mr_str target_table, struct mr_error *err)
    MR_MUST_CHECK;

/* ---- Types of the source's columns ---- */

/* What schema topics told, in the order of their topics and offsets. */
typedef enum mr_status (*mr_source_type_fn)(void *ctx, const struct mr_source_type *row, struct mr_error *err);
enum mr_status mr_control_source_types(struct mr_sink *sink, struct mr_str pipeline, mr_source_type_fn fn, void *ctx, struct mr_error *err)
    MR_MUST_CHECK;
/* Add, or replace what was told at the same place. */
enum mr_status mr_control_source_types_save(struct mr_sink *sink, struct mr_str pipeline, const struct mr_source_type *rows, size_t count,
                                            struct mr_error *err) MR_MUST_CHECK;

/* ---- Dead letters ---- */

enum mr_dead_state { MR_DEAD_OPEN, MR_DEAD_REPLAYED };
struct mr_dead_letter {
    int64_t id, at_us;      /* read only */
    enum mr_dead_state state; /* read only */
    struct mr_str pipeline;
    /* position */
    struct mr_str part_topic; /* the partition's position name (a file's identity) */
    int64_t position;
    /* the message itself */
    struct mr_str topic;
    int32_t partition;
    int64_t offset, timestamp_ms;
    bool has_key, has_value, is_bare;
    struct mr_str key, value;
    struct mr_str headers;  /* JSON: list of [name, base64 or null] */
    /* why */
    struct mr_str code, native, message, field;
    struct mr_str target_schema, target_table; /* "" unknown */
    struct mr_str rows;     /* which rows of the message failed, JSON list of keys; "" = the whole message */
};
/* In the open transaction, many in one round trip. */
enum mr_status mr_control_dead_letters_add(struct mr_sink *sink, const struct mr_dead_letter *letters,
                                           size_t count, struct mr_error *err) MR_MUST_CHECK;

struct mr_dead_filter {
    struct mr_str pipeline, topic, code, table; /* "" = any; table = target_table or schema.table */
    int64_t id;                                  /* 0 = any */
    bool with_replayed;
    int64_t before_us;                           /* 0 = any: older than */
    int64_t limit;                               /* 0 = no limit */
};
typedef enum mr_status (*mr_dead_letter_fn)(void *ctx, const struct mr_dead_letter *letter,
                                            struct mr_error *err);
enum mr_status mr_control_dead_letters(struct mr_sink *sink, const struct mr_dead_filter *filter,
                                       bool with_bytes, mr_dead_letter_fn fn, void *ctx,
                                       struct mr_error *err) MR_MUST_CHECK;
enum mr_status mr_control_dead_letter_count(struct mr_sink *sink, struct mr_str pipeline, int64_t *open,
                                            struct mr_error *err) MR_MUST_CHECK;
/* The open ones by reason. */
struct mr_dead_code {
    struct mr_str pipeline, code;
    int64_t count, first_us, last_us;
};
typedef enum mr_status (*mr_dead_code_fn)(void *ctx, const struct mr_dead_code *code, struct mr_error *err);
enum mr_status mr_control_dead_letter_codes(struct mr_sink *sink, struct mr_str pipeline, mr_dead_code_fn fn, void *ctx,
                                            struct mr_error *err) MR_MUST_CHECK;
/* DATA "refused" if the letter is gone or has that state already: somebody else was faster. */
enum mr_status mr_control_dead_letter_mark(struct mr_sink *sink, int64_t id, enum mr_dead_state state,
                                           struct mr_error *err) MR_MUST_CHECK;
enum mr_status mr_control_dead_letters_purge(struct mr_sink *sink, const struct mr_dead_filter *filter,
                                             uint64_t *removed, struct mr_error *err) MR_MUST_CHECK;

#endif
