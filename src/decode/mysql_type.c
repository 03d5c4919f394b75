/* See mysql_type.h. */
#include "mysql_type.h"

#include <millrace/base/map.h>
#include <millrace/base/mem.h>

#define MAX_KEPT 4096            /* types */
#define MAX_KEPT_BYTES (4u << 20) /* of their texts */

/* ---- Words ---- */

struct word {
    const char *name_z;
    uint8_t kind;
    uint8_t bytes;
};

/* The first word of the type. */
static const struct word words[] = {
    {"tinyint", MR_MY_INTEGER, 1},     {"int1", MR_MY_INTEGER, 1},        {"bool", MR_MY_INTEGER, 1},
    {"boolean", MR_MY_INTEGER, 1},     {"smallint", MR_MY_INTEGER, 2},    {"int2", MR_MY_INTEGER, 2},
    {"mediumint", MR_MY_INTEGER, 3},   {"middleint", MR_MY_INTEGER, 3},   {"int3", MR_MY_INTEGER, 3},
    {"int", MR_MY_INTEGER, 4},         {"integer", MR_MY_INTEGER, 4},     {"int4", MR_MY_INTEGER, 4},
    {"bigint", MR_MY_INTEGER, 8},      {"int8", MR_MY_INTEGER, 8},        {"serial", MR_MY_INTEGER, 8},
    {"bit", MR_MY_BIT, 0},             {"decimal", MR_MY_DECIMAL, 0},     {"dec", MR_MY_DECIMAL, 0},
    {"numeric", MR_MY_DECIMAL, 0},     {"fixed", MR_MY_DECIMAL, 0},       {"float", MR_MY_FLOAT, 0},
    {"float4", MR_MY_FLOAT, 0},        {"double", MR_MY_DOUBLE, 0},       {"real", MR_MY_DOUBLE, 0},
    {"float8", MR_MY_DOUBLE, 0},       {"date", MR_MY_DATE, 0},           {"time", MR_MY_TIME, 0},
    {"datetime", MR_MY_DATETIME, 0},   {"timestamp", MR_MY_TIMESTAMP, 0}, {"year", MR_MY_YEAR, 0},
    {"binary", MR_MY_BINARY, 0},       {"varbinary", MR_MY_BYTES, 0},     {"tinyblob", MR_MY_BYTES, 0},
    {"blob", MR_MY_BYTES, 0},          {"mediumblob", MR_MY_BYTES, 0},    {"longblob", MR_MY_BYTES, 0},
    {"enum", MR_MY_ENUM, 0},           {"set", MR_MY_SET, 0},             {"json", MR_MY_JSON, 0},
    {"geometry", MR_MY_GEOMETRY, 0},   {"point", MR_MY_GEOMETRY, 0},      {"linestring", MR_MY_GEOMETRY, 0},
    {"polygon", MR_MY_GEOMETRY, 0},    {"multipoint", MR_MY_GEOMETRY, 0}, {"multilinestring", MR_MY_GEOMETRY, 0},
    {"multipolygon", MR_MY_GEOMETRY, 0}, {"geometrycollection", MR_MY_GEOMETRY, 0}, {"geomcollection", MR_MY_GEOMETRY, 0},
};

struct scan {
    const char *p, *end;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_blanks(struct scan *s)
{
    while (s->p < s->end && is_blank(*s->p))
        s->p++;
}

/* The next run of letters, figures and underscores; "" at anything else. */
static struct mr_str next_word(struct scan *s)
{
    skip_blanks(s);
    const char *from = s->p;
    while (s->p < s->end && ((*s->p >= 'a' && *s->p <= 'z') || (*s->p >= 'A' && *s->p <= 'Z') || (*s->p >= '0' && *s->p <= '9') ||
                             *s->p == '_'))
        s->p++;
    return mr_str_of(from, (size_t)(s->p - from));
}

/* ---- What stands in parentheses ---- */

/* A label, at its opening quote. Doubled quotes stand for one. */
static struct mr_str read_label(struct scan *s, struct mr_arena *ar)
{
    char quote = *s->p++;
    char *out = mr_arena_alloc(ar, (size_t)(s->end - s->p) + 1);
    size_t n = 0;
    while (s->p < s->end) {
        char c = *s->p++;
        if (c == quote) {
            if (s->p == s->end || *s->p != quote)
                break;
            s->p++;
        }
        out[n++] = c;
    }
    return mr_arena_copy(ar, mr_str_of(out, n));
}

/* How many labels at most: a quote begins one. */
static size_t count_quotes(const struct scan *s)
{
    size_t n = 0;
    for (const char *p = s->p; p < s->end; p++)
        n += *p == '\'' || *p == '"';
    return n;
}

static void read_labels(struct scan *s, struct mr_arena *ar, struct mr_mysql_type *out)
{
    struct mr_str *labels = mr_arena_alloc(ar, (count_quotes(s) / 2 + 1) * sizeof(*labels));
    struct mr_arena *scratch = mr_arena_create(0);
    while (s->p < s->end && *s->p != ')') {
        if (*s->p != '\'' && *s->p != '"') {
            s->p++;
            continue;
        }
        labels[out->label_count++] = mr_arena_copy(ar, read_label(s, scratch));
        mr_arena_reset(scratch);
    }
    out->labels = labels;
    mr_arena_destroy(scratch);
}

static void read_numbers(struct scan *s, struct mr_mysql_type *out)
{
    while (s->p < s->end && *s->p != ')') {
        if (*s->p < '0' || *s->p > '9') {
            s->p++;
            continue;
        }
        uint32_t v = 0;
        for (; s->p < s->end && *s->p >= '0' && *s->p <= '9'; s->p++)
            v = v < 100000000 ? v * 10 + (uint32_t)(*s->p - '0') : v;
        if (out->number_count < 2)
            out->numbers[out->number_count++] = v;
    }
}

/* ---- The whole ---- */

static void apply_word(struct mr_str word, struct mr_mysql_type *out)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (!mr_str_eq_nocase(word, mr_str_z(words[i].name_z)))
            continue;
        out->kind = words[i].kind;
        out->bytes = words[i].bytes;
        out->is_tinyint1 = mr_str_eq_nocase(word, MR_STR("bool")) || mr_str_eq_nocase(word, MR_STR("boolean"));
        out->is_unsigned = mr_str_eq_nocase(word, MR_STR("serial"));
    }
}

/* Words between the first one and the parentheses: CHAR VARYING, LONG VARBINARY, DOUBLE PRECISION. */
static void apply_further_word(struct mr_str first, struct mr_str word, struct mr_mysql_type *out)
{
    bool is_long = mr_str_eq_nocase(first, MR_STR("long"));
    if (mr_str_eq_nocase(word, MR_STR("unsigned")) || mr_str_eq_nocase(word, MR_STR("zerofill")))
        out->is_unsigned = true;
    else if (is_long && mr_str_eq_nocase(word, MR_STR("varbinary")))
        out->kind = MR_MY_BYTES;
    else if (mr_str_eq_nocase(word, MR_STR("byte")) && out->kind == MR_MY_TEXT)
        out->kind = mr_str_eq_nocase(first, MR_STR("char")) ? MR_MY_BINARY : MR_MY_BYTES;
}

static bool has_no_length(struct mr_str first, const struct mr_mysql_type *type)
{
    return type->number_count == 0 && type->label_count == 0 &&
           (type->kind == MR_MY_ENUM || type->kind == MR_MY_SET || mr_str_eq_nocase(first, MR_STR("varchar")) ||
            mr_str_eq_nocase(first, MR_STR("varbinary")));
}

void mr_mysql_type_parse(struct mr_str text, struct mr_arena *ar, struct mr_mysql_type *out)
{
    struct scan s = {text.ptr, text.ptr + text.len};
    *out = (struct mr_mysql_type){.kind = MR_MY_TEXT};
    struct mr_str first = next_word(&s), word;
    apply_word(first, out);
    while ((word = next_word(&s)).len != 0)
        apply_further_word(first, word, out);

    bool has_list = s.p < s.end && *s.p == '(';
    if (has_list) {
        s.p++;
        if (out->kind == MR_MY_ENUM || out->kind == MR_MY_SET)
            read_labels(&s, ar, out);
        else
            read_numbers(&s, out);
        if (s.p < s.end)
            s.p++;
        while ((word = next_word(&s)).len != 0)
            apply_further_word(first, word, out);
    }
    if (out->kind == MR_MY_INTEGER && out->bytes == 1 && out->number_count == 1 && out->numbers[0] == 1)
        out->is_tinyint1 = !out->is_unsigned;
    if (out->kind == MR_MY_FLOAT && out->number_count == 1 && out->numbers[0] > 24)
        out->kind = MR_MY_DOUBLE;
    out->lacks_length = !has_list && has_no_length(first, out);
}

static struct mr_type integer_type(const struct mr_mysql_type *type, bool tinyint1_as_bool)
{
    if (type->is_tinyint1 && tinyint1_as_bool)
        return MR_TYPE(MR_T_BOOL);
    switch (type->bytes) {
    case 1:
        return MR_TYPE(MR_T_INT16);
    case 2:
        return MR_TYPE(type->is_unsigned ? MR_T_INT32 : MR_T_INT16);
    case 3:
        return MR_TYPE(MR_T_INT32);
    case 4:
        return MR_TYPE(type->is_unsigned ? MR_T_INT64 : MR_T_INT32);
    default:
        break;
    }
    return type->is_unsigned ? MR_TYPE_DECIMAL(20, 0) : MR_TYPE(MR_T_INT64);
}

/* What MySQL and MariaDB allow; any other figures are a mistake of somebody's. */
static struct mr_type decimal_type(const struct mr_mysql_type *type, bool is_lengthless)
{
    uint32_t precision = type->number_count > 0 ? type->numbers[0] : 10;
    uint32_t scale = type->number_count > 1 ? type->numbers[1] : 0;
    if (precision == 0)
        precision = 10;
    if ((type->number_count == 0 && (is_lengthless || type->is_by_code)) || precision > 65 || scale > 38 || scale > precision)
        return MR_TYPE_DECIMAL_OPEN;
    return MR_TYPE_DECIMAL((uint16_t)precision, (int16_t)scale);
}

static struct mr_type bit_type(const struct mr_mysql_type *type, bool is_lengthless)
{
    if (type->number_count == 0)
        return is_lengthless ? MR_TYPE_DECIMAL(20, 0) : MR_TYPE(MR_T_BOOL);
    if (type->numbers[0] == 0 || type->numbers[0] > 64)
        return MR_TYPE_DECIMAL(20, 0);
    return type->numbers[0] == 1 ? MR_TYPE(MR_T_BOOL) : MR_TYPE_BITS((uint16_t)type->numbers[0]);
}

struct mr_type mr_mysql_column_type(const struct mr_mysql_type *type, bool is_lengthless, bool tinyint1_as_bool)
{
    struct mr_type out = MR_TYPE(MR_T_TEXT);
    switch ((enum mr_mysql_kind)type->kind) {
    case MR_MY_TEXT:
    case MR_MY_ENUM:
    case MR_MY_SET:
        break;
    case MR_MY_INTEGER:
        out = integer_type(type, tinyint1_as_bool);
        break;
    case MR_MY_BIT:
        out = bit_type(type, is_lengthless);
        break;
    case MR_MY_DECIMAL:
        out = decimal_type(type, is_lengthless);
        break;
    case MR_MY_FLOAT:
        out.kind = MR_T_FLOAT32;
        break;
    case MR_MY_DOUBLE:
        out.kind = MR_T_FLOAT64;
        break;
    case MR_MY_DATE:
        out.kind = MR_T_DATE;
        break;
    case MR_MY_TIME:
        out.kind = MR_T_TIME;
        break;
    case MR_MY_DATETIME:
        out.kind = MR_T_TIMESTAMP;
        break;
    case MR_MY_TIMESTAMP:
        out.kind = MR_T_TIMESTAMPTZ;
        break;
    case MR_MY_YEAR:
        out.kind = MR_T_INT16;
        break;
    case MR_MY_BINARY:
    case MR_MY_BYTES:
        out.kind = MR_T_BYTES;
        break;
    case MR_MY_JSON:
    case MR_MY_GEOMETRY:
        out.kind = MR_T_JSON;
        break;
    }
    out.origin = type->is_by_code ? MR_TYPED : MR_SCHEMA;
    return out;
}

/* ---- By code ---- */

struct code {
    int16_t code;
    uint8_t kind;
    uint8_t bytes;
};

static const struct code jdbc_codes[] = {
    {-7, MR_MY_INTEGER, 8}, {-6, MR_MY_INTEGER, 8}, {5, MR_MY_INTEGER, 8}, {4, MR_MY_INTEGER, 8}, {-5, MR_MY_INTEGER, 8},
    {2, MR_MY_DECIMAL, 0},  {3, MR_MY_DECIMAL, 0},  {6, MR_MY_DOUBLE, 0},  {7, MR_MY_DOUBLE, 0},  {8, MR_MY_DOUBLE, 0},
    {91, MR_MY_DATE, 0},    {92, MR_MY_TIME, 0},    {93, MR_MY_DATETIME, 0}, {-2, MR_MY_BYTES, 0}, {-3, MR_MY_BYTES, 0},
    {-4, MR_MY_BYTES, 0},   {2004, MR_MY_BYTES, 0},
};
static const struct code dts_codes[] = {
    {0, MR_MY_DECIMAL, 0},   {246, MR_MY_DECIMAL, 0},   {1, MR_MY_INTEGER, 8},  {2, MR_MY_INTEGER, 8},  {3, MR_MY_INTEGER, 8},
    {8, MR_MY_INTEGER, 8},   {9, MR_MY_INTEGER, 8},     {4, MR_MY_DOUBLE, 0},   {5, MR_MY_DOUBLE, 0},   {7, MR_MY_TIMESTAMP, 0},
    {17, MR_MY_TIMESTAMP, 0}, {10, MR_MY_DATE, 0},      {14, MR_MY_DATE, 0},    {11, MR_MY_TIME, 0},    {19, MR_MY_TIME, 0},
    {12, MR_MY_DATETIME, 0}, {18, MR_MY_DATETIME, 0},   {13, MR_MY_YEAR, 0},    {16, MR_MY_BIT, 0},     {245, MR_MY_JSON, 0},
    {255, MR_MY_GEOMETRY, 0},
};

void mr_mysql_type_of_code(int64_t code, bool is_dts, struct mr_mysql_type *out)
{
    const struct code *codes = is_dts ? dts_codes : jdbc_codes;
    size_t count = is_dts ? sizeof(dts_codes) / sizeof(dts_codes[0]) : sizeof(jdbc_codes) / sizeof(jdbc_codes[0]);
    *out = (struct mr_mysql_type){.kind = MR_MY_TEXT, .is_by_code = true};
    for (size_t i = 0; i < count; i++) {
        if (codes[i].code == code) {
            out->kind = codes[i].kind;
            out->bytes = codes[i].bytes;
        }
    }
}

/* ---- Kept ---- */

struct mr_mysql_types {
    struct mr_map *map;
    struct mr_arena *ar;
};

struct mr_mysql_types *mr_mysql_types_create(void)
{
    struct mr_mysql_types *types = mr_xcalloc(1, sizeof(*types));
    types->map = mr_map_create();
    types->ar = mr_arena_create(0);
    return types;
}

void mr_mysql_types_destroy(struct mr_mysql_types *types)
{
    if (types == NULL)
        return;
    mr_map_destroy(types->map, NULL);
    mr_arena_destroy(types->ar);
    mr_xfree(types);
}

const struct mr_mysql_type *mr_mysql_types_get(struct mr_mysql_types *types, struct mr_str text, struct mr_arena *ar)
{
    struct mr_mysql_type *type = mr_map_get(types->map, text);
    if (type != NULL)
        return type;
    bool is_kept = mr_map_count(types->map) < MAX_KEPT && mr_arena_used(types->ar) + text.len < MAX_KEPT_BYTES;
    struct mr_arena *place = is_kept ? types->ar : ar;
    type = mr_arena_alloc(place, sizeof(*type));
    mr_mysql_type_parse(text, place, type);
    if (is_kept)
        mr_map_put(types->map, text, type);
    return type;
}
