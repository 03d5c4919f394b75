/* Keys and values with declared columns, from whatever their format has made of the bytes; and what holds of keys whose format somebody has named. */
#ifndef MILLRACE_DECODE_PAYLOAD_COLUMNS_H
#define MILLRACE_DECODE_PAYLOAD_COLUMNS_H

#include <millrace/decoder.h>

#include "columns.h"

/* The window behind the key's bytes (ksqlDB). */
struct mr_window {
    int count; /* 0 = none, 1 = start, 2 = start and end */
    int64_t start_ms, end_ms;
};

/* Cut the window off. DATA bad_length. */
enum mr_status mr_window_cut(struct mr_str said, struct mr_str *bytes, struct mr_window *out,
                             struct mr_error *err) MR_MUST_CHECK;

/* Where a message's columns come from and how. */
struct mr_columns_from {
    const struct mr_payload_rule *rule;
    enum mr_connect_side side;
    enum mr_encoding encoding;        /* of the message: never AUTO */
    const struct mr_columns *columns; /* count 0: none declared */
    struct mr_window window;
};

/* The message as an object of the declared columns (and the window's), with their schema. DATA bad_value, column_count, map_in_key, … */
enum mr_status mr_columns_pick(struct mr_connect *cn, const struct mr_columns_from *from, struct mr_arena *ar,
                               struct mr_json_build *build, struct mr_connect_message *msg,
                               struct mr_error *err) MR_MUST_CHECK;

/* A key without declared columns must not hold a map. */
enum mr_status mr_key_check_maps(const struct mr_connect_schema *schema, struct mr_error *err) MR_MUST_CHECK;

/* Hold a change against its key: a null key (skipped or an error), null columns, columns that differ between key and row. *is_skipped: it is to be
 * passed over. DATA null_key, null_key_column, key_value_conflict. */
enum mr_status mr_key_hold(const struct mr_config *cfg, const struct mr_payload_rule *rule,
                           const struct mr_record *rec, struct mr_arena *ar, struct mr_change *ev,
                           bool *is_skipped, struct mr_error *err) MR_MUST_CHECK;

#endif
