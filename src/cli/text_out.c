/* Output for people: see text_out.h. */
#include "text_out.h"

#include <millrace/base/mem.h>
#include <millrace/base/time.h>
#include <millrace/base/utf8.h>

#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define MAX_COLUMNS 12
#define MIN_LAST 20 /* a last column is never cut shorter */

/* ---- Texts ---- */

/* One character from the front of *text; how many columns it takes. */
static size_t append_one(struct mr_buf *out, struct mr_str *text, bool lines)
{
    uint32_t c = 0;
    size_t len = mr_utf8_decode(*text, &c), before = out->len;
    if (len == 0 || (c >= 0xd800 && c <= 0xdfff)) {
        len = len == 0 ? 1 : len;
        mr_buf_append_z(out, "\xef\xbf\xbd");
    } else if (mr_utf8_is_hidden(c) && !(lines && (c == '\n' || c == '\t'))) {
        mr_buf_printf(out, "\\u%04x", (unsigned)c);
    } else {
        mr_buf_append(out, text->ptr, len);
    }
    *text = mr_str_of(text->ptr + len, text->len - len);
    return mr_utf8_count(mr_str_of(out->data + before, out->len - before));
}

void mr_text_append_safe(struct mr_buf *out, struct mr_str text, bool lines)
{
    while (text.len > 0)
        (void)append_one(out, &text, lines);
}

void mr_text_append_cut(struct mr_buf *out, struct mr_str text, size_t max)
{
    size_t used = 0, fits = out->len; /* with the "…" behind it */
    while (text.len > 0) {
        used += append_one(out, &text, false);
        if (used > max) {
            out->len = fits;
            mr_buf_append_z(out, "…");
            return;
        }
        if (used < max)
            fits = out->len;
    }
}

size_t mr_text_width(void)
{
    struct winsize size = {0};
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
        return 0;
    return size.ws_col;
}

static void append_blanks(struct mr_buf *out, size_t n)
{
    for (; n > 0; n--)
        mr_buf_append_char(out, ' ');
}

void mr_text_append_block(struct mr_buf *out, struct mr_str text, size_t indent)
{
    do {
        ptrdiff_t end = mr_str_find(text, '\n');
        struct mr_str line = end < 0 ? text : mr_str_of(text.ptr, (size_t)end);
        append_blanks(out, indent);
        mr_text_append_safe(out, line, true);
        mr_buf_append_char(out, '\n');
        text = end < 0 ? (struct mr_str){0} : mr_str_of(text.ptr + end + 1, text.len - (size_t)end - 1);
    } while (text.len > 0);
}

void mr_text_append_time(struct mr_buf *out, int64_t us)
{
    char text[MR_TIME_TEXT];
    if (us == 0 || us == INT64_MIN) {
        mr_buf_append_char(out, '-');
        return;
    }
    mr_buf_append(out, text, mr_format_timestamp(us - mr_floor_mod(us, MR_US_PER_SEC), ' ', false, text));
}

void mr_text_append_count(struct mr_buf *out, uint64_t n)
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            mr_buf_append_char(out, ',');
        mr_buf_append_char(out, digits[i]);
    }
}

/* ---- Tables ---- */

struct mr_grid {
    struct mr_arena *ar;
    struct mr_str titles[MAX_COLUMNS];
    bool right[MAX_COLUMNS];
    size_t width[MAX_COLUMNS];
    bool is_used[MAX_COLUMNS]; /* some cell of it is not empty */
    size_t columns;
    bool has_head;
    struct mr_str *cells;
    size_t count, cap;
    struct mr_buf scratch;
};

struct mr_grid *mr_grid_create(const char *titles_z)
{
    struct mr_grid *grid = mr_xcalloc(1, sizeof *grid);
    struct mr_str rest = mr_str_z(titles_z);
    grid->ar = mr_arena_create(0);
    grid->scratch = MR_BUF_INIT(16u << 20);
    for (bool more = true; more && grid->columns < MAX_COLUMNS;) {
        ptrdiff_t bar = mr_str_find(rest, '|');
        struct mr_str title = bar < 0 ? rest : mr_str_of(rest.ptr, (size_t)bar);
        size_t i = grid->columns++;
        grid->right[i] = title.len > 0 && title.ptr[0] == '>';
        if (grid->right[i])
            title = mr_str_of(title.ptr + 1, title.len - 1);
        grid->titles[i] = title;
        grid->width[i] = mr_utf8_count(title);
        grid->has_head = grid->has_head || title.len > 0;
        more = bar >= 0;
        if (more)
            rest = mr_str_of(rest.ptr + bar + 1, rest.len - (size_t)bar - 1);
    }
    return grid;
}

void mr_grid_destroy(struct mr_grid *grid)
{
    if (grid == NULL)
        return;
    mr_arena_destroy(grid->ar);
    mr_buf_free(&grid->scratch);
    mr_xfree(grid->cells);
    mr_xfree(grid);
}

/* What stands in the scratch buffer is the next cell. */
static void keep(struct mr_grid *grid)
{
    struct mr_str cell = mr_arena_copy(grid->ar, mr_buf_str(&grid->scratch));
    size_t column = grid->count % grid->columns, width = mr_utf8_count(cell);
    grid->cells = mr_xgrow(grid->cells, &grid->cap, grid->count + 1, sizeof *grid->cells);
    grid->cells[grid->count++] = cell;
    if (width > grid->width[column])
        grid->width[column] = width;
    grid->is_used[column] = grid->is_used[column] || width > 0;
}

void mr_grid_add(struct mr_grid *grid, struct mr_str text)
{
    mr_buf_clear(&grid->scratch);
    mr_text_append_safe(&grid->scratch, text, false);
    keep(grid);
}

void mr_grid_add_z(struct mr_grid *grid, const char *text_z)
{
    mr_grid_add(grid, mr_str_z(text_z));
}

void mr_grid_add_int(struct mr_grid *grid, int64_t n)
{
    mr_grid_printf(grid, "%lld", (long long)n);
}

void mr_grid_add_count(struct mr_grid *grid, uint64_t n)
{
    mr_buf_clear(&grid->scratch);
    mr_text_append_count(&grid->scratch, n);
    keep(grid);
}

void mr_grid_add_time(struct mr_grid *grid, int64_t us)
{
    mr_buf_clear(&grid->scratch);
    mr_text_append_time(&grid->scratch, us);
    keep(grid);
}

void mr_grid_printf(struct mr_grid *grid, const char *fmt, ...)
{
    char small[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(small, sizeof small, fmt, args);
    va_end(args);
    mr_grid_add_z(grid, small);
}

bool mr_grid_is_empty(const struct mr_grid *grid)
{
    return grid->count == 0;
}

static void print_row(const struct mr_grid *grid, const struct mr_str *cells, size_t indent, size_t terminal, struct mr_buf *out)
{
    size_t used = indent, last = grid->columns;
    while (last > 0 && !grid->is_used[last - 1])
        last--;
    append_blanks(out, indent);
    for (size_t i = 0; i < last; i++) {
        if (!grid->is_used[i])
            continue;
        size_t width = mr_utf8_count(cells[i]), fill = grid->width[i] - width;
        bool is_last = i + 1 == last;
        if (grid->right[i])
            append_blanks(out, fill);
        if (is_last && terminal > 0)
            mr_text_append_cut(out, cells[i], terminal > used + MIN_LAST ? terminal - used : MIN_LAST);
        else
            mr_buf_append_str(out, cells[i]);
        if (!is_last) {
            append_blanks(out, (grid->right[i] ? 0 : fill) + 2);
            used += grid->width[i] + 2;
        }
    }
    while (out->len > 0 && out->data[out->len - 1] == ' ')
        out->len--;
    mr_buf_append_char(out, '\n');
}

void mr_grid_print(const struct mr_grid *grid, size_t indent, struct mr_buf *out)
{
    size_t terminal = mr_text_width();
    if (grid->has_head)
        print_row(grid, grid->titles, indent, terminal, out);
    for (size_t at = 0; at + grid->columns <= grid->count; at += grid->columns)
        print_row(grid, grid->cells + at, indent, terminal, out);
}
