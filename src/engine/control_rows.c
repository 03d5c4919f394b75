/* Result rows, JSON parameters and texts of the control tables: see control_rows.h. */
#include "control_rows.h"

#include <jansson.h>

#include <millrace/base/mem.h>
#include <millrace/base/time.h>
#include <millrace/base/utf8.h>

#define MAX_PARAM (900u << 20) /* below PostgreSQL's limit of 1 GiB for one value */

/* ---- Results ---- */

static bool has_payload(uint8_t tag)
{
    return tag == MR_V_TEXT || tag == MR_V_BYTES || tag == MR_V_JSON || tag == MR_V_NUMBER;
}

static enum mr_status keep_row(void *ctx, const struct mr_value *cells, size_t count, struct mr_error *err)
{
    struct mr_control_rows *rows = ctx;
    if (count != rows->width)
        return mr_fail(err, MR_E_BUG, "a control query gave %zu columns, not %zu", count, rows->width);
    rows->cells = mr_xgrow(rows->cells, &rows->cap, (rows->count + 1) * rows->width, sizeof(*rows->cells));
    struct mr_value *row = rows->cells + rows->count++ * rows->width;
    for (size_t i = 0; i < count; i++) {
        row[i] = cells[i];
        if (has_payload(cells[i].tag))
            row[i].ptr = mr_arena_copy(rows->ar, mr_value_str(cells[i])).ptr;
    }
    return MR_OK;
}

enum mr_status mr_control_fetch(struct mr_sink *sink, enum mr_query query, const struct mr_value *params, size_t param_count,
                                size_t width, struct mr_control_rows *rows, struct mr_error *err)
{
    *rows = (struct mr_control_rows){.ar = mr_arena_create(0), .width = width};
    return sink->ops->exec(sink, query, params, param_count, keep_row, rows, NULL, err);
}

void mr_control_free(struct mr_control_rows *rows)
{
    mr_arena_destroy(rows->ar);
    mr_xfree(rows->cells);
    *rows = (struct mr_control_rows){0};
}

#define ROOM (4u << 20)

size_t mr_control_room(const struct mr_sink *sink)
{
    uint64_t room = sink->ops->room != NULL ? sink->ops->room(sink) / 2 : ROOM;
    return room < ROOM ? (size_t)room : ROOM;
}

enum mr_status mr_control_run(struct mr_sink *sink, enum mr_query query, const struct mr_value *params, size_t param_count,
                              uint64_t *affected, struct mr_error *err)
{
    return sink->ops->exec(sink, query, params, param_count, NULL, NULL, affected, err);
}

int64_t mr_control_int(struct mr_value cell)
{
    int64_t number = 0;
    if (cell.tag == MR_V_INT || cell.tag == MR_V_BOOL)
        return cell.i;
    if (cell.tag == MR_V_FLOAT)
        return (int64_t)cell.f;
    return has_payload(cell.tag) && mr_parse_int64(mr_value_str(cell), &number) ? number : 0;
}

bool mr_control_bool(struct mr_value cell)
{
    return mr_control_int(cell) != 0;
}

struct mr_str mr_control_str(struct mr_value cell)
{
    return has_payload(cell.tag) ? mr_value_str(cell) : (struct mr_str){0};
}

uint64_t mr_control_uint(struct mr_value cell)
{
    uint64_t number = 0;
    if (has_payload(cell.tag))
        return mr_parse_uint64(mr_value_str(cell), &number) ? number : 0;
    return (uint64_t)mr_control_int(cell);
}

int64_t mr_control_time_us(struct mr_value cell)
{
    int64_t us = 0;
    bool has_zone = false;
    return mr_parse_timestamptz(mr_control_str(cell), &us, &has_zone) ? us : 0;
}

/* ---- Texts ---- */

struct mr_str mr_control_text(struct mr_str text, struct mr_arena *ar)
{
    if (text.len == 0)
        return MR_STR(""); /* with a pointer: the empty text is not NULL */
    return mr_utf8_check(text) ? mr_utf8_repair(text, true, ar) : text;
}

struct mr_value mr_control_param(struct mr_str text, struct mr_arena *ar)
{
    return mr_value_text(mr_control_text(text, ar));
}

/* Bytes of one well-formed character at the start, 0 if there is none. */
static size_t character(struct mr_str s)
{
    unsigned char c = (unsigned char)s.ptr[0];
    size_t len = c < 0x80 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 0;
    if (len == 0 || len > s.len)
        return 0;
    return (mr_utf8_check(mr_str_of(s.ptr, len)) & MR_TEXT_ILL_FORMED) ? 0 : len;
}

struct mr_str mr_control_escape(struct mr_str text, bool is_path, struct mr_arena *ar)
{
    bool is_plain = mr_utf8_check(text) == 0 && (is_path || mr_str_find(text, '\\') < 0);
    if (is_plain)
        return text;
    struct mr_buf out = MR_BUF_INIT(text.len * 4 + 16);
    while (text.len > 0) {
        size_t len = character(text);
        struct mr_str one = mr_str_of(text.ptr, len ? len : 1);
        unsigned bad = mr_utf8_check(one);
        if (bad & MR_TEXT_HAS_SURROGATE)
            mr_buf_printf(&out, "\\u%04X",
                          0xd000u | ((unsigned)((unsigned char)one.ptr[1] & 0x3f) << 6) | ((unsigned char)one.ptr[2] & 0x3fu));
        else if (bad & MR_TEXT_HAS_NUL)
            mr_buf_append_z(&out, "\\0");
        else if (bad)
            mr_buf_printf(&out, "\\x%02X", (unsigned)(unsigned char)one.ptr[0]);
        else if (one.ptr[0] == '\\' && !is_path)
            mr_buf_append_z(&out, "\\\\");
        else
            mr_buf_append_str(&out, one);
        text = mr_str_of(text.ptr + one.len, text.len - one.len);
    }
    struct mr_str kept = mr_arena_copy(ar, mr_buf_str(&out));
    mr_buf_free(&out);
    return kept;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool hex(struct mr_str s, size_t digits, uint32_t *out)
{
    *out = 0;
    for (size_t i = 0; i < digits; i++) {
        int digit = i < s.len ? hex_digit(s.ptr[i]) : -1;
        if (digit < 0)
            return false;
        *out = *out << 4 | (uint32_t)digit;
    }
    return true;
}

struct mr_str mr_control_unescape(struct mr_str text, bool is_path, struct mr_arena *ar)
{
    if (mr_str_find(text, '\\') < 0)
        return text;
    char *out = mr_arena_alloc(ar, text.len);
    size_t len = 0;
    for (size_t i = 0; i < text.len;) {
        struct mr_str rest = mr_str_of(text.ptr + i + 1, text.len - i - 1);
        uint32_t code = 0;
        char next = rest.len > 0 ? rest.ptr[0] : 0;
        struct mr_str digits = rest.len > 0 ? mr_str_of(rest.ptr + 1, rest.len - 1) : rest;
        if (text.ptr[i] != '\\') {
            out[len++] = text.ptr[i++];
        } else if (next == '0') {
            out[len++] = 0;
            i += 2;
        } else if (next == 'u' && hex(digits, 4, &code)) {
            len += mr_utf8_encode(code, out + len); /* three bytes for six */
            i += 6;
        } else if (next == 'x' && hex(digits, 2, &code)) {
            out[len++] = (char)code;
            i += 4;
        } else if (next == '\\' || next == '.') {
            if (is_path || next == '.')
                out[len++] = '\\';
            out[len++] = next;
            i += 2;
        } else {
            out[len++] = text.ptr[i++];
        }
    }
    return mr_str_of(out, len);
}

/* ---- JSON ---- */

void mr_control_json_begin(struct mr_control_json *json, struct mr_arena *ar)
{
    *json = (struct mr_control_json){.buf = MR_BUF_INIT(MAX_PARAM), .ar = ar};
    mr_buf_append_char(&json->buf, '[');
}

static void separate(struct mr_control_json *json)
{
    if (json->comma)
        mr_buf_append_char(&json->buf, ',');
    json->comma = true;
}

void mr_control_json_object(struct mr_control_json *json)
{
    separate(json);
    mr_buf_append_char(&json->buf, '{');
    json->comma = false;
}

void mr_control_json_end_object(struct mr_control_json *json)
{
    mr_buf_append_char(&json->buf, '}');
    json->comma = true;
}

static void member(struct mr_control_json *json, const char *name_z)
{
    separate(json);
    mr_buf_append_char(&json->buf, '"');
    mr_buf_append_z(&json->buf, name_z);
    mr_buf_append_z(&json->buf, "\":");
}

void mr_control_json_str(struct mr_control_json *json, const char *name_z, struct mr_str text)
{
    member(json, name_z);
    mr_buf_append_json(&json->buf, mr_control_text(text, json->ar));
}

void mr_control_json_int(struct mr_control_json *json, const char *name_z, int64_t number)
{
    member(json, name_z);
    mr_buf_printf(&json->buf, "%lld", (long long)number);
}

void mr_control_json_uint(struct mr_control_json *json, const char *name_z, uint64_t number)
{
    member(json, name_z);
    mr_buf_printf(&json->buf, "\"%llu\"", (unsigned long long)number);
}

void mr_control_json_bool(struct mr_control_json *json, const char *name_z, bool yes)
{
    member(json, name_z);
    mr_buf_append_z(&json->buf, yes ? "true" : "false");
}

void mr_control_json_null(struct mr_control_json *json, const char *name_z)
{
    member(json, name_z);
    mr_buf_append_z(&json->buf, "null");
}

void mr_control_json_raw(struct mr_control_json *json, const char *name_z, struct mr_str text)
{
    member(json, name_z);
    mr_buf_append_str(&json->buf, text);
}

void mr_control_json_element(struct mr_control_json *json, struct mr_str text)
{
    separate(json);
    mr_buf_append_json(&json->buf, mr_control_text(text, json->ar));
}

enum mr_status mr_control_json_end(struct mr_control_json *json, struct mr_value *out, struct mr_error *err)
{
    mr_buf_append_char(&json->buf, ']');
    MR_TRY(mr_buf_check(&json->buf, "a parameter of a control query", err));
    *out = mr_value_text(mr_buf_str(&json->buf));
    return MR_OK;
}

void mr_control_json_free(struct mr_control_json *json)
{
    mr_buf_free(&json->buf);
}

bool mr_control_json_list(struct mr_str text, struct mr_arena *ar, struct mr_str **items, size_t *count)
{
    json_t *list = json_loadb(text.ptr ? text.ptr : "", text.len, 0, NULL);
    bool fine = json_is_array(list);
    size_t n = fine ? json_array_size(list) : 0;
    *items = mr_arena_alloc(ar, (n ? n : 1) * sizeof(**items));
    *count = n;
    for (size_t i = 0; i < n && fine; i++) {
        json_t *item = json_array_get(list, i);
        fine = json_is_string(item);
        if (fine)
            (*items)[i] = mr_arena_copy(ar, mr_str_of(json_string_value(item), json_string_length(item)));
    }
    json_decref(list);
    return fine;
}
