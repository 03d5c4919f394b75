/* Output for people: texts that cannot upset a terminal, and columns that stand under one another. */
#ifndef MR_CLI_TEXT_OUT_H
#define MR_CLI_TEXT_OUT_H

#include <millrace/base/arena.h>
#include <millrace/base/buf.h>

/* Append a text that may come from anywhere: control characters as \u00NN, ill-formed bytes as U+FFFD. `lines`: line feeds and tabs stay. */
void mr_text_append_safe(struct mr_buf *out, struct mr_str text, bool lines);
/* At most `max` characters of it, with "…" where something is missing; one line. */
void mr_text_append_cut(struct mr_buf *out, struct mr_str text, size_t max);
/* Characters per line of the terminal on stdout; 0 if stdout is none. */
size_t mr_text_width(void);
/* A text of several lines, each behind `indent` blanks; ends with a line feed. */
void mr_text_append_block(struct mr_buf *out, struct mr_str text, size_t indent);
/* 2026-01-31 06:00:00 (UTC), "-" if unknown (0 or INT64_MIN). */
void mr_text_append_time(struct mr_buf *out, int64_t us);
/* 1234567 → 1,234,567 */
void mr_text_append_count(struct mr_buf *out, uint64_t n);

/* A table of texts. Columns are as wide as their widest cell; a column whose cells are all empty is left out. */
struct mr_grid;

/* `titles` holds column names between blanks-free bars: "id|when|reason"; a name that begins with '>' is aligned to the right. An empty
 * list of titles ("||") prints no head line. */
struct mr_grid *mr_grid_create(const char *titles_z);
void mr_grid_destroy(struct mr_grid *grid);
/* The next cell, row after row. The text is copied and made safe. */
void mr_grid_add(struct mr_grid *grid, struct mr_str text);
void mr_grid_add_z(struct mr_grid *grid, const char *text_z);
void mr_grid_add_int(struct mr_grid *grid, int64_t n);
void mr_grid_add_count(struct mr_grid *grid, uint64_t n); /* with commas */
void mr_grid_add_time(struct mr_grid *grid, int64_t us);
void mr_grid_printf(struct mr_grid *grid, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool mr_grid_is_empty(const struct mr_grid *grid);
/* Every row behind `indent` blanks. On a terminal the last column is cut to its width. */
void mr_grid_print(const struct mr_grid *grid, size_t indent, struct mr_buf *out);

#endif
