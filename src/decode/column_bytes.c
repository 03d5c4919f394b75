/* The formats KAFKA (one primitive, as Kafka's serializers write it) and DELIMITED (one CSV record). See columns.h. */
#include <millrace/base/utf8.h>

#include "columns.h"

/* ---- KAFKA ---- */

static enum mr_status bad_length(const struct mr_column *col, size_t want, size_t have, struct mr_error *err)
{
    enum mr_status status =
        mr_fail_data(err, MR_CODE_BAD_LENGTH, "column \"%.*s\": %.*s takes %zu bytes, there are %zu",
                     MR_STR_FMT(col->name), MR_STR_FMT(col->type_text), want, have);
    mr_error_field(err, col->name.ptr, col->name.len);
    if ((want == 4 && have == 8) || (want == 8 && have == 4))
        mr_error_hint(err, "is the column %s?", want == 4 ? "BIGINT or DOUBLE" : "INT or REAL");
    return status;
}

static uint64_t big_endian(struct mr_str bytes)
{
    uint64_t v = 0;
    for (size_t i = 0; i < bytes.len; i++)
        v = v << 8 | (unsigned char)bytes.ptr[i];
    return v;
}

static enum mr_status check_text(const struct mr_column *col, struct mr_str s, unsigned *flags,
                                 struct mr_error *err)
{
    *flags = mr_utf8_check(s);
    if ((*flags & (MR_TEXT_ILL_FORMED | MR_TEXT_HAS_SURROGATE)) == 0)
        return MR_OK;
    mr_error_field(err, col->name.ptr, col->name.len);
    return mr_fail_data(err, MR_CODE_BAD_UTF8, "column \"%.*s\": the bytes are no UTF-8 text",
                        MR_STR_FMT(col->name));
}

enum mr_status mr_columns_kafka(const struct mr_columns *cols, struct mr_str bytes, struct mr_json_build *out,
                                struct mr_error *err)
{
    const struct mr_column *col = &cols->items[0];
    size_t want = col->kind == MR_SQL_SMALLINT                               ? 2
                  : col->kind == MR_SQL_INT || col->kind == MR_SQL_REAL      ? 4
                  : col->kind == MR_SQL_BIGINT || col->kind == MR_SQL_DOUBLE ? 8
                  : col->kind == MR_SQL_UUID                                 ? 36
                                                                             : bytes.len;
    if (bytes.len != want)
        return bad_length(col, want, bytes.len, err);
    mr_json_build_name(out, col->name);
    uint64_t bits = want <= 8 ? big_endian(bytes) : 0;
    uint32_t word = (uint32_t)bits;
    unsigned flags;
    float f;
    double d;
    switch (col->kind) {
    case MR_SQL_SMALLINT:
        mr_json_build_int(out, (int16_t)bits);
        break;
    case MR_SQL_INT:
        mr_json_build_int(out, (int32_t)bits);
        break;
    case MR_SQL_BIGINT:
        mr_json_build_int(out, (int64_t)bits);
        break;
    case MR_SQL_REAL:
        memcpy(&f, &word, sizeof(f));
        mr_json_build_float(out, f);
        break;
    case MR_SQL_DOUBLE:
        memcpy(&d, &bits, sizeof(d));
        mr_json_build_double(out, d);
        break;
    case MR_SQL_UUID:
        return mr_column_put(col, mr_value_text(bytes), MR_COLUMN_TYPED, NULL, out, err);
    case MR_SQL_BYTES:
        mr_json_build_base64(out, bytes);
        break;
    case MR_SQL_STRING:
        MR_TRY(check_text(col, bytes, &flags, err));
        mr_json_build_string(out, bytes, flags);
        break;
    case MR_SQL_BOOLEAN:
    case MR_SQL_DECIMAL:
    case MR_SQL_DATE:
    case MR_SQL_TIME:
    case MR_SQL_TIMESTAMP:
    case MR_SQL_DOCUMENT:
    case MR_SQL_MAP:
        return mr_fail(err, MR_E_BUG, "a column type that the format kafka does not have");
    }
    return MR_OK;
}

/* ---- DELIMITED ---- */

static struct mr_str delimiter_text(struct mr_str delimiter)
{
    if (delimiter.len == 0)
        return MR_STR(",");
    if (mr_str_eq_nocase(delimiter, MR_STR("TAB")))
        return MR_STR("\t");
    if (mr_str_eq_nocase(delimiter, MR_STR("SPACE")))
        return MR_STR(" ");
    return delimiter;
}

enum mr_status mr_delimiter_check(struct mr_str delimiter, struct mr_error *err)
{
    uint32_t code_point;
    struct mr_str text = delimiter_text(delimiter);
    bool is_blank = mr_str_eq_z(delimiter, " ") || mr_str_eq_z(delimiter, "\t");
    bool is_one = mr_utf8_decode(text, &code_point) == text.len;
    if (is_one && !is_blank && text.ptr[0] != '"' && text.ptr[0] != '\r' && text.ptr[0] != '\n')
        return MR_OK;
    enum mr_status status =
        mr_fail(err, MR_E_CONFIG, "a delimiter is one character, no quotation mark and no line end");
    mr_error_hint(err, "a blank is written SPACE, a tabulator TAB");
    return status;
}

struct csv {
    const char *p, *end;
    struct mr_str delimiter;
    struct mr_error *err;
};

static enum mr_status bad_csv(struct csv *c, const char *what_z)
{
    return mr_fail_data(c->err, MR_CODE_BAD_CSV, "no CSV record: %s", what_z);
}

static bool at_delimiter(const struct csv *c)
{
    return (size_t)(c->end - c->p) >= c->delimiter.len &&
           memcmp(c->p, c->delimiter.ptr, c->delimiter.len) == 0;
}

static bool at_line_end(const struct csv *c)
{
    return c->p < c->end && (*c->p == '\r' || *c->p == '\n');
}

static void skip_line_end(struct csv *c)
{
    bool is_cr = *c->p == '\r';
    c->p++;
    if (is_cr && c->p < c->end && *c->p == '\n')
        c->p++;
}

/* A quoted field: everything to the closing quote, doubled ones are one. */
static enum mr_status quoted(struct csv *c, struct mr_arena *ar, struct mr_str *out)
{
    const char *start = ++c->p;
    char *text = mr_arena_alloc(ar, (size_t)(c->end - start) + 1);
    size_t n = 0;
    for (;; c->p++) {
        if (c->p == c->end)
            return bad_csv(c, "a closing quotation mark is missing");
        if (*c->p == '"') {
            if (c->p + 1 == c->end || c->p[1] != '"')
                break;
            c->p++;
        }
        text[n++] = *c->p;
    }
    c->p++;
    while (c->p < c->end && (*c->p == ' ' || *c->p == '\t') && !at_delimiter(c))
        c->p++;
    if (c->p < c->end && !at_delimiter(c) && !at_line_end(c))
        return bad_csv(c, "text stands behind a closing quotation mark");
    *out = mr_str_of(text, n);
    return MR_OK;
}

static enum mr_status field(struct csv *c, struct mr_arena *ar, struct mr_str *out)
{
    if (c->p < c->end && *c->p == '"')
        return quoted(c, ar, out);
    const char *start = c->p;
    while (c->p < c->end && !at_delimiter(c) && !at_line_end(c))
        c->p++;
    *out = mr_str_of(start, (size_t)(c->p - start));
    return MR_OK;
}

static enum mr_status column_count(const struct mr_columns *cols, size_t have, struct mr_error *err)
{
    return mr_fail_data(err, MR_CODE_COLUMN_COUNT, "%zu columns are declared, there are %s%zu fields",
                        cols->count, have > cols->count ? "at least " : "", have);
}

enum mr_status mr_columns_delimited(const struct mr_columns *cols, struct mr_str delimiter,
                                    struct mr_str bytes, struct mr_arena *ar, struct mr_json_build *out,
                                    struct mr_error *err)
{
    struct csv c = {bytes.ptr, bytes.ptr + bytes.len, delimiter_text(delimiter), err};
    while (at_line_end(&c))
        skip_line_end(&c);
    if (c.p == c.end)
        return bad_csv(&c, "it is empty");
    for (size_t i = 0;; i++) {
        struct mr_str text;
        unsigned flags;
        MR_TRY(field(&c, ar, &text));
        if (i >= cols->count)
            return column_count(cols, i + 1, err);
        MR_TRY(check_text(&cols->items[i], text, &flags, err));
        struct mr_value v = text.len == 0 ? mr_value_null() : mr_value_text(text);
        v.flags = (uint8_t)flags;
        mr_json_build_name(out, cols->items[i].name);
        MR_TRY(mr_column_put(&cols->items[i], v, MR_COLUMN_CSV, ar, out, err));
        if (c.p == c.end || at_line_end(&c)) {
            if (i + 1 != cols->count)
                return column_count(cols, i + 1, err);
            break;
        }
        c.p += c.delimiter.len;
    }
    if (c.p < c.end)
        skip_line_end(&c);
    return c.p == c.end ? MR_OK
                        : mr_fail_data(err, MR_CODE_TRAILING, "more text stands behind the CSV record");
}
