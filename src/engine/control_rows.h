/* What the files of control*.c share: result rows kept in an arena, JSON parameters, and texts made fit for every target. */
#ifndef MILLRACE_ENGINE_CONTROL_ROWS_H
#define MILLRACE_ENGINE_CONTROL_ROWS_H

#include "control.h"

/* ---- Results ---- */

/* All rows of a query, copied into an arena, so that a callback may use the same connection. */
struct mr_control_rows {
    struct mr_arena *ar;
    struct mr_value *cells; /* count * width */
    size_t count, width, cap;
};
#define MR_CONTROL_PAGE 1000 /* rows fetched at a time where a table can grow without bound */

/* Run a query and collect its rows, which must have `width` columns. Free with mr_control_free, also after failure. */
enum mr_status mr_control_fetch(struct mr_sink *sink, enum mr_query query, const struct mr_value *params, size_t param_count,
                                size_t width, struct mr_control_rows *rows, struct mr_error *err) MR_MUST_CHECK;
void mr_control_free(struct mr_control_rows *rows);
/* Run a query that has no rows. */
enum mr_status mr_control_run(struct mr_sink *sink, enum mr_query query, const struct mr_value *params, size_t param_count,
                              uint64_t *affected, struct mr_error *err) MR_MUST_CHECK;

/* What one round trip takes at most: lists are sent in pieces of about that size. */
size_t mr_control_room(const struct mr_sink *sink);

static inline const struct mr_value *mr_control_row(const struct mr_control_rows *rows, size_t i)
{
    return rows->cells + i * rows->width;
}
/* Cells as what they mean; the databases differ in how they deliver booleans. NULL gives 0, false, "". */
int64_t mr_control_int(struct mr_value cell);
bool mr_control_bool(struct mr_value cell);
struct mr_str mr_control_str(struct mr_value cell);
uint64_t mr_control_uint(struct mr_value cell); /* digits as text */
int64_t mr_control_time_us(struct mr_value cell); /* ISO text */

/* ---- Parameters ---- */

/* A text that every target can hold: NUL, lone surrogates and bytes that are no UTF-8 become U+FFFD. */
struct mr_str mr_control_text(struct mr_str text, struct mr_arena *ar);
struct mr_value mr_control_param(struct mr_str text, struct mr_arena *ar);

/* Source names and paths must come back exactly, so what a target cannot hold is escaped: \0, \uD800, \xFF. In a path every backslash is
 * followed by a point or a backslash already; in a plain name backslashes are doubled. */
struct mr_str mr_control_escape(struct mr_str text, bool is_path, struct mr_arena *ar);
struct mr_str mr_control_unescape(struct mr_str text, bool is_path, struct mr_arena *ar);

/* A JSON list of flat objects, or of strings. */
struct mr_control_json {
    struct mr_buf buf;
    struct mr_arena *ar; /* for repaired texts */
    bool comma;
};
void mr_control_json_begin(struct mr_control_json *json, struct mr_arena *ar); /* [ */
void mr_control_json_object(struct mr_control_json *json);                     /* { */
void mr_control_json_end_object(struct mr_control_json *json);                 /* } */
void mr_control_json_str(struct mr_control_json *json, const char *name_z, struct mr_str text);
void mr_control_json_int(struct mr_control_json *json, const char *name_z, int64_t number);
void mr_control_json_uint(struct mr_control_json *json, const char *name_z, uint64_t number); /* as a string of digits */
void mr_control_json_bool(struct mr_control_json *json, const char *name_z, bool yes);
void mr_control_json_null(struct mr_control_json *json, const char *name_z);
void mr_control_json_raw(struct mr_control_json *json, const char *name_z, struct mr_str text); /* JSON as it stands */
void mr_control_json_element(struct mr_control_json *json, struct mr_str text);                /* a string in the list */
/* ] ; *out is the parameter and lives until mr_control_json_free. */
enum mr_status mr_control_json_end(struct mr_control_json *json, struct mr_value *out, struct mr_error *err) MR_MUST_CHECK;
void mr_control_json_free(struct mr_control_json *json);
/* The elements of a JSON list of strings, into `ar`. False if it is none. */
bool mr_control_json_list(struct mr_str text, struct mr_arena *ar, struct mr_str **items, size_t *count);

#endif
