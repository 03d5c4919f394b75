/* Column types as texts, both ways, and the small questions about them. */
#include <millrace/model/type.h>

#include <stdio.h>
#include <string.h>

bool mr_type_eq(struct mr_type a, struct mr_type b)
{
    return a.kind == b.kind && a.element == b.element && a.open == b.open && a.precision == b.precision &&
           a.scale == b.scale;
}

struct mr_type mr_type_array_of(struct mr_type element)
{
    struct mr_type array = element;

    array.kind = MR_T_ARRAY;
    array.element = element.kind;
    array.not_null = false;
    return array;
}

struct mr_type mr_type_element(struct mr_type array)
{
    struct mr_type element = array;

    element.kind = array.element;
    element.element = MR_T_NONE;
    element.not_null = false;
    return element;
}

bool mr_type_is_integer(struct mr_type type)
{
    return type.kind == MR_T_INT16 || type.kind == MR_T_INT32 || type.kind == MR_T_INT64;
}

bool mr_type_is_numeric(struct mr_type type)
{
    return mr_type_is_integer(type) || type.kind == MR_T_DECIMAL || type.kind == MR_T_FLOAT32 ||
           type.kind == MR_T_FLOAT64;
}

static const char *kind_name(enum mr_type_kind kind)
{
    switch (kind) {
    case MR_T_NONE:
        return "none";
    case MR_T_BOOL:
        return "boolean";
    case MR_T_INT16:
        return "int16";
    case MR_T_INT32:
        return "int32";
    case MR_T_INT64:
        return "int64";
    case MR_T_DECIMAL:
        return "decimal";
    case MR_T_FLOAT32:
        return "float32";
    case MR_T_FLOAT64:
        return "float64";
    case MR_T_TEXT:
        return "text";
    case MR_T_BYTES:
        return "bytes";
    case MR_T_DATE:
        return "date";
    case MR_T_TIME:
        return "time";
    case MR_T_DURATION:
        return "duration";
    case MR_T_TIMESTAMP:
        return "timestamp";
    case MR_T_TIMESTAMPTZ:
        return "timestamptz";
    case MR_T_UUID:
        return "uuid";
    case MR_T_BITS:
        return "bits";
    case MR_T_JSON:
        return "json";
    case MR_T_ARRAY:
        return "array";
    }
    return "none";
}

const char *mr_type_text(struct mr_type type, char out[32])
{
    bool is_array = type.kind == MR_T_ARRAY;
    enum mr_type_kind kind = (enum mr_type_kind)(is_array ? type.element : type.kind);
    const char *name = kind_name(kind), *end = is_array ? "[]" : "";
    if (kind == MR_T_DECIMAL && !type.open)
        snprintf(out, 32, "%s(%u,%d)%s", name, type.precision, type.scale, end);
    else if (kind == MR_T_BITS && type.precision > 0)
        snprintf(out, 32, "%s(%u)%s", name, type.precision, end);
    else
        snprintf(out, 32, "%s%s", name, end);
    return out;
}

void mr_type_format(struct mr_type type, struct mr_buf *out)
{
    char text[32];
    mr_buf_append_z(out, mr_type_text(type, text));
}

/* ---- Reading ---- */

/* What may stand in parentheses after a name. */
enum params {
    PARAMS_NONE,
    PARAMS_IGNORED, /* one number: a length or a fraction's digits, which our types do not have */
    PARAMS_LENGTH,  /* bits(n) */
    PARAMS_DECIMAL, /* (p) or (p,s) */
};

static const struct {
    const char *name;
    uint8_t kind;
    uint8_t params;
} names[] = {
    {"none", MR_T_NONE, PARAMS_NONE},
    {"boolean", MR_T_BOOL, PARAMS_NONE},
    {"bool", MR_T_BOOL, PARAMS_NONE},
    {"int16", MR_T_INT16, PARAMS_NONE},
    {"smallint", MR_T_INT16, PARAMS_NONE},
    {"int2", MR_T_INT16, PARAMS_NONE},
    {"tinyint", MR_T_INT16, PARAMS_IGNORED}, /* these are MySQL's, as SHOW CREATE TABLE writes them */
    {"tinyint unsigned", MR_T_INT16, PARAMS_NONE},
    {"smallint unsigned", MR_T_INT32, PARAMS_NONE},
    {"mediumint", MR_T_INT32, PARAMS_NONE},
    {"mediumint unsigned", MR_T_INT32, PARAMS_NONE},
    {"int unsigned", MR_T_INT64, PARAMS_NONE},
    {"bigint unsigned", MR_T_DECIMAL, PARAMS_NONE}, /* decimal(20,0) */
    {"year", MR_T_INT32, PARAMS_NONE},
    {"tinytext", MR_T_TEXT, PARAMS_NONE},
    {"mediumtext", MR_T_TEXT, PARAMS_NONE},
    {"longtext", MR_T_TEXT, PARAMS_NONE},
    {"tinyblob", MR_T_BYTES, PARAMS_NONE},
    {"mediumblob", MR_T_BYTES, PARAMS_NONE},
    {"longblob", MR_T_BYTES, PARAMS_NONE},
    {"int32", MR_T_INT32, PARAMS_NONE},
    {"int", MR_T_INT32, PARAMS_NONE},
    {"integer", MR_T_INT32, PARAMS_NONE},
    {"int4", MR_T_INT32, PARAMS_NONE},
    {"int64", MR_T_INT64, PARAMS_NONE},
    {"bigint", MR_T_INT64, PARAMS_NONE},
    {"int8", MR_T_INT64, PARAMS_NONE}, /* PostgreSQL's eight bytes; they hold Avro's eight bits too */
    {"long", MR_T_INT64, PARAMS_NONE},
    {"decimal", MR_T_DECIMAL, PARAMS_DECIMAL},
    {"numeric", MR_T_DECIMAL, PARAMS_DECIMAL},
    {"float32", MR_T_FLOAT32, PARAMS_NONE},
    {"real", MR_T_FLOAT32, PARAMS_NONE},
    {"float4", MR_T_FLOAT32, PARAMS_NONE},
    {"float64", MR_T_FLOAT64, PARAMS_NONE},
    {"float", MR_T_FLOAT64, PARAMS_NONE},
    {"float8", MR_T_FLOAT64, PARAMS_NONE},
    {"double", MR_T_FLOAT64, PARAMS_NONE},
    {"double precision", MR_T_FLOAT64, PARAMS_NONE},
    {"text", MR_T_TEXT, PARAMS_IGNORED},
    {"string", MR_T_TEXT, PARAMS_IGNORED},
    {"varchar", MR_T_TEXT, PARAMS_IGNORED},
    {"character varying", MR_T_TEXT, PARAMS_IGNORED},
    {"char", MR_T_TEXT, PARAMS_IGNORED},
    {"character", MR_T_TEXT, PARAMS_IGNORED},
    {"clob", MR_T_TEXT, PARAMS_IGNORED},
    {"bytes", MR_T_BYTES, PARAMS_IGNORED},
    {"bytea", MR_T_BYTES, PARAMS_NONE},
    {"blob", MR_T_BYTES, PARAMS_IGNORED},
    {"binary", MR_T_BYTES, PARAMS_IGNORED},
    {"varbinary", MR_T_BYTES, PARAMS_IGNORED},
    {"date", MR_T_DATE, PARAMS_NONE},
    {"time", MR_T_TIME, PARAMS_IGNORED},
    {"time without time zone", MR_T_TIME, PARAMS_NONE},
    {"duration", MR_T_DURATION, PARAMS_NONE},
    {"interval", MR_T_DURATION, PARAMS_IGNORED},
    {"timestamp", MR_T_TIMESTAMP, PARAMS_IGNORED},
    {"datetime", MR_T_TIMESTAMP, PARAMS_IGNORED},
    {"timestamp without time zone", MR_T_TIMESTAMP, PARAMS_NONE},
    {"timestamptz", MR_T_TIMESTAMPTZ, PARAMS_IGNORED},
    {"timestamp with time zone", MR_T_TIMESTAMPTZ, PARAMS_NONE},
    {"instant", MR_T_TIMESTAMPTZ, PARAMS_NONE},
    {"uuid", MR_T_UUID, PARAMS_NONE},
    {"bits", MR_T_BITS, PARAMS_LENGTH},
    {"bit", MR_T_BITS, PARAMS_LENGTH},
    {"varbit", MR_T_BITS, PARAMS_NONE},
    {"bit varying", MR_T_BITS, PARAMS_NONE},
    {"json", MR_T_JSON, PARAMS_NONE},
    {"jsonb", MR_T_JSON, PARAMS_NONE},
};

static bool parse_bounded(struct mr_str s, int64_t min, int64_t max, int64_t *out)
{
    return mr_parse_int64(mr_str_trim(s), out) && *out >= min && *out <= max;
}

/* "p" or "p,s". */
static bool parse_digits(struct mr_str inside, struct mr_type *out)
{
    ptrdiff_t comma = mr_str_find(inside, ',');
    int64_t precision, scale = 0;
    struct mr_str first = comma < 0 ? inside : mr_str_of(inside.ptr, (size_t)comma);
    if (!parse_bounded(first, 1, UINT16_MAX, &precision))
        return false;
    if (comma >= 0) {
        struct mr_str second = mr_str_of(inside.ptr + comma + 1, inside.len - (size_t)comma - 1);
        if (!parse_bounded(second, INT16_MIN, INT16_MAX, &scale))
            return false;
    }
    out->open = false;
    out->precision = (uint16_t)precision;
    out->scale = (int16_t)scale;
    return true;
}

static bool parse_params(enum params params, struct mr_str inside, struct mr_type *out)
{
    int64_t n;
    switch (params) {
    case PARAMS_NONE:
        return false;
    case PARAMS_IGNORED:
        return parse_bounded(inside, 0, INT64_MAX, &n);
    case PARAMS_LENGTH:
        if (!parse_bounded(inside, 1, UINT16_MAX, &n))
            return false;
        out->precision = (uint16_t)n;
        return true;
    case PARAMS_DECIMAL:
        return parse_digits(inside, out);
    }
    return false;
}

static bool parse_scalar(struct mr_str text, struct mr_type *out)
{
    struct mr_str name = mr_str_trim(text), inside = {NULL, 0};
    ptrdiff_t open = mr_str_find(name, '(');
    if (open >= 0) {
        if (name.ptr[name.len - 1] != ')')
            return false;
        inside = mr_str_of(name.ptr + open + 1, name.len - (size_t)open - 2);
        name = mr_str_trim(mr_str_of(name.ptr, (size_t)open));
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!mr_str_eq_nocase(name, mr_str_z(names[i].name)))
            continue;
        struct mr_type type = MR_TYPE(names[i].kind);
        type.open = names[i].kind == MR_T_DECIMAL;
        if (type.open && names[i].params == PARAMS_NONE)
            type = MR_TYPE_DECIMAL(20, 0);
        if (open >= 0 && !parse_params((enum params)names[i].params, inside, &type))
            return false;
        *out = type;
        return true;
    }
    return false;
}

/* `int64[]`, and PostgreSQL's other spellings of one dimension: `int64[3]` is none, `int64 array` is. */
bool mr_type_parse(struct mr_str text, struct mr_type *out)
{
    static const char word[] = " array";
    struct mr_str name = mr_str_trim(text);
    size_t cut = 0;

    if (name.len > 2 && memcmp(name.ptr + name.len - 2, "[]", 2) == 0)
        cut = 2;
    else if (name.len > sizeof word - 1 &&
             mr_str_eq_nocase(mr_str_of(name.ptr + name.len - (sizeof word - 1), sizeof word - 1),
                              MR_STR(" array")))
        cut = sizeof word - 1;
    if (cut == 0)
        return parse_scalar(name, out);
    struct mr_type element;
    if (!parse_scalar(mr_str_of(name.ptr, name.len - cut), &element) || element.kind == MR_T_JSON)
        return false;
    *out = mr_type_array_of(element);
    return true;
}
