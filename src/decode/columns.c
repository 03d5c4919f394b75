/* Declared columns. See columns.h. */
#include "columns.h"

#include <millrace/base/mem.h>

#define MAX_COLUMNS 1000

static const struct {
    const char *name_z;
    enum mr_sql_kind kind;
} kinds[] = {
    {"BOOLEAN", MR_SQL_BOOLEAN}, {"SMALLINT", MR_SQL_SMALLINT},   {"INT", MR_SQL_INT},
    {"INTEGER", MR_SQL_INT},     {"BIGINT", MR_SQL_BIGINT},       {"REAL", MR_SQL_REAL},
    {"DOUBLE", MR_SQL_DOUBLE},   {"STRING", MR_SQL_STRING},       {"VARCHAR", MR_SQL_STRING},
    {"TEXT", MR_SQL_STRING},     {"BYTES", MR_SQL_BYTES},         {"DATE", MR_SQL_DATE},
    {"TIME", MR_SQL_TIME},       {"TIMESTAMP", MR_SQL_TIMESTAMP}, {"UUID", MR_SQL_UUID},
};

static bool starts_nocase(struct mr_str text, const char *prefix_z)
{
    size_t len = strlen(prefix_z);
    return text.len >= len && mr_str_eq_nocase(mr_str_of(text.ptr, len), mr_str_z(prefix_z));
}

static bool has_map(struct mr_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (starts_nocase(mr_str_of(text.ptr + i, text.len - i), "MAP<"))
            return true;
    return false;
}

static bool parse_decimal(struct mr_str text, struct mr_column *out)
{
    ptrdiff_t open = mr_str_find(text, '('), close = mr_str_rfind(text, ')');
    if (open < 0 || close != (ptrdiff_t)text.len - 1)
        return false;
    struct mr_str inner = mr_str_of(text.ptr + open + 1, (size_t)(close - open - 1));
    ptrdiff_t comma = mr_str_find(inner, ',');
    int64_t p, s = 0;
    struct mr_str first = comma < 0 ? inner : mr_str_of(inner.ptr, (size_t)comma);
    if (!mr_parse_int64(mr_str_trim(first), &p) || p < 1 || p > 1000)
        return false;
    if (comma >= 0 &&
        !mr_parse_int64(mr_str_trim(mr_str_of(inner.ptr + comma + 1, inner.len - (size_t)comma - 1)), &s))
        return false;
    if (s < 0 || s > p)
        return false;
    out->kind = MR_SQL_DECIMAL;
    out->precision = (int32_t)p;
    out->scale = (int32_t)s;
    return true;
}

static bool parse_type(struct mr_str text, struct mr_column *out)
{
    bool is_nested =
        starts_nocase(text, "ARRAY<") || starts_nocase(text, "STRUCT<") || starts_nocase(text, "MAP<");
    if (is_nested && text.ptr[text.len - 1] == '>') {
        out->kind = has_map(text) ? MR_SQL_MAP : MR_SQL_DOCUMENT;
        return true;
    }
    if (starts_nocase(text, "DECIMAL") || starts_nocase(text, "NUMERIC"))
        return parse_decimal(text, out);
    if (starts_nocase(text, "VARCHAR(") && text.ptr[text.len - 1] == ')')
        text.len = 7;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (mr_str_eq_nocase(text, mr_str_z(kinds[i].name_z))) {
            out->kind = kinds[i].kind;
            return true;
        }
    }
    return false;
}

/* `name TYPE`, the name perhaps in quotes or back quotes. */
static bool parse_one(struct mr_str item, struct mr_arena *ar, struct mr_column *out)
{
    size_t end = 0;
    char quote = item.len != 0 && (item.ptr[0] == '`' || item.ptr[0] == '"') ? item.ptr[0] : 0;
    if (quote != 0) {
        for (end = 1; end < item.len && item.ptr[end] != quote; end++)
            ;
        if (end == item.len)
            return false;
        out->name = mr_str_of(item.ptr + 1, end - 1);
        end++;
    } else {
        while (end < item.len && item.ptr[end] != ' ' && item.ptr[end] != '\t')
            end++;
        out->name = mr_str_of(item.ptr, end);
    }
    out->name = mr_arena_copy(ar, out->name);
    out->type_text = mr_arena_copy(ar, mr_str_trim(mr_str_of(item.ptr + end, item.len - end)));
    return out->name.len != 0 && out->type_text.len != 0 && parse_type(out->type_text, out);
}

/* The types that ksqlDB's formats cannot carry. */
static bool carries(enum mr_encoding encoding, enum mr_sql_kind kind)
{
    switch (encoding) {
    case MR_ENC_KAFKA:
        return kind != MR_SQL_BOOLEAN && kind != MR_SQL_DECIMAL && kind != MR_SQL_DATE &&
               kind != MR_SQL_TIME && kind != MR_SQL_TIMESTAMP && kind != MR_SQL_DOCUMENT;
    case MR_ENC_DELIMITED:
        return kind != MR_SQL_DOCUMENT && kind != MR_SQL_MAP;
    case MR_ENC_AUTO:
    case MR_ENC_JSON:
    case MR_ENC_JSON_SR:
    case MR_ENC_AVRO:
    case MR_ENC_PROTOBUF:
    case MR_ENC_NONE:
        break;
    }
    return true;
}

const struct mr_connect_schema *mr_column_schema(const struct mr_column *col, struct mr_arena *ar)
{
    static const struct {
        enum mr_connect_kind kind;
        enum mr_semantic semantic;
        enum mr_type_kind type;
    } table[] = {
        [MR_SQL_BOOLEAN] = {MR_C_BOOLEAN, MR_S_PLAIN, MR_T_BOOL},
        [MR_SQL_SMALLINT] = {MR_C_INT16, MR_S_PLAIN, MR_T_INT16},
        [MR_SQL_INT] = {MR_C_INT32, MR_S_PLAIN, MR_T_INT32},
        [MR_SQL_BIGINT] = {MR_C_INT64, MR_S_PLAIN, MR_T_INT64},
        [MR_SQL_REAL] = {MR_C_FLOAT32, MR_S_PLAIN, MR_T_FLOAT32},
        [MR_SQL_DOUBLE] = {MR_C_FLOAT64, MR_S_PLAIN, MR_T_FLOAT64},
        [MR_SQL_STRING] = {MR_C_STRING, MR_S_PLAIN, MR_T_TEXT},
        [MR_SQL_BYTES] = {MR_C_BYTES, MR_S_PLAIN, MR_T_BYTES},
        [MR_SQL_DECIMAL] = {MR_C_STRING, MR_S_DECIMAL_TEXT, MR_T_DECIMAL},
        [MR_SQL_DATE] = {MR_C_INT32, MR_S_DATE, MR_T_DATE},
        [MR_SQL_TIME] = {MR_C_INT64, MR_S_DAY_TIME_US, MR_T_TIME},
        [MR_SQL_TIMESTAMP] = {MR_C_INT64, MR_S_INSTANT_US, MR_T_TIMESTAMPTZ},
        [MR_SQL_UUID] = {MR_C_STRING, MR_S_UUID, MR_T_UUID},
        [MR_SQL_DOCUMENT] = {MR_C_STRING, MR_S_PLAIN, MR_T_TEXT},
        [MR_SQL_MAP] = {MR_C_STRING, MR_S_PLAIN, MR_T_TEXT},
    };
    struct mr_connect_schema *out =
        mr_connect_make(table[col->kind].kind, MR_STR(""), NULL, MR_JSON_NONE, ar);
    out->semantic = (uint8_t)table[col->kind].semantic;
    out->type = MR_TYPE((uint8_t)table[col->kind].type);
    if (col->kind == MR_SQL_DECIMAL)
        out->type = MR_TYPE_DECIMAL((uint16_t)col->precision, (int16_t)col->scale);
    out->type.origin = MR_SCHEMA;
    return out;
}

static void make_schema(struct mr_columns *cols, struct mr_arena *ar)
{
    struct mr_connect_schema *schema = mr_connect_make(MR_C_STRUCT, MR_STR(""), NULL, MR_JSON_NONE, ar);
    struct mr_connect_field *fields = mr_arena_zalloc(ar, (cols->count + 1) * sizeof(*fields));
    for (size_t i = 0; i < cols->count; i++) {
        fields[i].name = cols->items[i].name;
        fields[i].schema = mr_column_schema(&cols->items[i], ar);
    }
    mr_connect_set_fields(schema, fields, (uint32_t)cols->count, ar);
    cols->schema = schema;
}

static enum mr_status check_column(const struct mr_column *col, enum mr_encoding encoding, bool is_key,
                                   struct mr_error *err)
{
    if (is_key && col->kind == MR_SQL_MAP) {
        enum mr_status status = mr_fail(err, MR_E_CONFIG,
                                        "key.columns: \"%.*s\" is or holds a MAP: equal maps may be written "
                                        "in several ways, so it is no key",
                                        MR_STR_FMT(col->name));
        return status;
    }
    if (!carries(encoding, col->kind))
        return mr_fail(err, MR_E_CONFIG, "%s.columns: the format %s has no %.*s (column \"%.*s\")",
                       is_key ? "key" : "value", mr_encoding_name(encoding), MR_STR_FMT(col->type_text),
                       MR_STR_FMT(col->name));
    return MR_OK;
}

enum mr_status mr_columns_parse(struct mr_str text, enum mr_encoding encoding, bool is_key,
                                struct mr_arena *ar, struct mr_columns *out, struct mr_error *err)
{
    const char *side_z = is_key ? "key" : "value";
    size_t start = 0, depth = 0;
    *out = (struct mr_columns){.items = mr_arena_zalloc(ar, MAX_COLUMNS * sizeof(*out->items))};
    for (size_t i = 0; i <= text.len; i++) {
        char c = i < text.len ? text.ptr[i] : ',';
        depth += c == '<' || c == '(';
        depth -= (c == '>' || c == ')') && depth > 0;
        if (c != ',' || (depth > 0 && i < text.len))
            continue;
        struct mr_str item = mr_str_trim(mr_str_of(text.ptr + start, i - start));
        start = i + 1;
        if (item.len == 0)
            continue;
        if (out->count == MAX_COLUMNS)
            return mr_fail(err, MR_E_CONFIG, "%s.columns: more than %d columns", side_z, MAX_COLUMNS);
        if (!parse_one(item, ar, &out->items[out->count])) {
            enum mr_status status =
                mr_fail(err, MR_E_CONFIG, "%s.columns: \"%.*s\" is no column", side_z, MR_STR_FMT(item));
            mr_error_hint(err, "write a name and a type: id BIGINT; types: BOOLEAN SMALLINT INT BIGINT REAL "
                               "DOUBLE STRING BYTES DECIMAL(p,s) DATE "
                               "TIME TIMESTAMP UUID ARRAY<…> STRUCT<…>");
            return status;
        }
        MR_TRY(check_column(&out->items[out->count], encoding, is_key, err));
        out->count++;
    }
    if (encoding == MR_ENC_KAFKA && out->count > 1)
        return mr_fail(err, MR_E_CONFIG, "%s.columns: the format kafka has one column", side_z);
    make_schema(out, ar);
    return MR_OK;
}
