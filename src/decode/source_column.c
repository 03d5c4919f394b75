/* From a column's type at the source to the way its values are written. See source_column.h. The facts stand in Debezium's documentation of
 * its MySQL connector; what depends on the connector's options is told apart by the value's JSON kind where that is enough (ISO texts,
 * structures, numbers for decimals) and by the same options of ours where it is not. */
#include "source_column.h"

/* What a type word stands for. */
enum family {
    F_INT8,
    F_INT16,
    F_INT24,
    F_INT32,
    F_INT64,
    F_BOOLEAN,
    F_FLOAT,
    F_REAL,
    F_DOUBLE,
    F_DECIMAL,
    F_BIT,
    F_TEXT,
    F_BYTES,
    F_ENUM,
    F_SET,
    F_JSON,
    F_UUID,
    F_YEAR,
    F_DATE,
    F_TIME,
    F_DATETIME,
    F_TIMESTAMP,
    F_GEOMETRY,
    F_VECTOR,
    F_UNKNOWN,
};

static const struct {
    const char *name_z;
    enum family family;
} words[] = {
    {"TINYINT", F_INT8},
    {"INT1", F_INT8},
    {"SMALLINT", F_INT16},
    {"INT2", F_INT16},
    {"MEDIUMINT", F_INT24},
    {"INT3", F_INT24},
    {"MIDDLEINT", F_INT24},
    {"INT", F_INT32},
    {"INTEGER", F_INT32},
    {"INT4", F_INT32},
    {"BIGINT", F_INT64},
    {"INT8", F_INT64},
    {"SERIAL", F_INT64},
    {"BOOLEAN", F_BOOLEAN},
    {"BOOL", F_BOOLEAN},
    {"FLOAT", F_FLOAT},
    {"FLOAT4", F_FLOAT},
    {"REAL", F_REAL},
    {"DOUBLE", F_DOUBLE},
    {"DOUBLE PRECISION", F_DOUBLE},
    {"FLOAT8", F_DOUBLE},
    {"DECIMAL", F_DECIMAL},
    {"DEC", F_DECIMAL},
    {"NUMERIC", F_DECIMAL},
    {"FIXED", F_DECIMAL},
    {"BIT", F_BIT},
    {"CHAR", F_TEXT},
    {"CHARACTER", F_TEXT},
    {"VARCHAR", F_TEXT},
    {"CHARACTER VARYING", F_TEXT},
    {"CHAR VARYING", F_TEXT},
    {"VARCHARACTER", F_TEXT},
    {"NCHAR", F_TEXT},
    {"NVARCHAR", F_TEXT},
    {"NATIONAL CHARACTER", F_TEXT},
    {"NATIONAL CHAR", F_TEXT},
    {"NATIONAL VARCHAR", F_TEXT},
    {"NATIONAL CHARACTER VARYING", F_TEXT},
    {"NATIONAL CHAR VARYING", F_TEXT},
    {"NCHAR VARCHAR", F_TEXT},
    {"NCHAR VARYING", F_TEXT},
    {"LONG VARCHAR", F_TEXT},
    {"LONG", F_TEXT},
    {"TINYTEXT", F_TEXT},
    {"TEXT", F_TEXT},
    {"MEDIUMTEXT", F_TEXT},
    {"LONGTEXT", F_TEXT},
    {"INET4", F_TEXT},
    {"INET6", F_TEXT},
    {"BINARY", F_BYTES},
    {"VARBINARY", F_BYTES},
    {"LONG VARBINARY", F_BYTES},
    {"TINYBLOB", F_BYTES},
    {"BLOB", F_BYTES},
    {"MEDIUMBLOB", F_BYTES},
    {"LONGBLOB", F_BYTES},
    {"ENUM", F_ENUM},
    {"SET", F_SET},
    {"JSON", F_JSON},
    {"UUID", F_UUID},
    {"YEAR", F_YEAR},
    {"DATE", F_DATE},
    {"TIME", F_TIME},
    {"DATETIME", F_DATETIME},
    {"TIMESTAMP", F_TIMESTAMP},
    {"POINT", F_GEOMETRY},
    {"LINESTRING", F_GEOMETRY},
    {"POLYGON", F_GEOMETRY},
    {"MULTIPOINT", F_GEOMETRY},
    {"MULTILINESTRING", F_GEOMETRY},
    {"MULTIPOLYGON", F_GEOMETRY},
    {"GEOMETRY", F_GEOMETRY},
    {"GEOMCOLLECTION", F_GEOMETRY},
    {"GEOMETRYCOLLECTION", F_GEOMETRY},
    {"VECTOR", F_VECTOR},
};

/* ---- The type's words ---- */

static bool cut_word(struct mr_str *type, const char *word_z)
{
    size_t len = strlen(word_z);
    if (type->len <= len || !mr_str_eq_nocase(mr_str_of(type->ptr + type->len - len, len), mr_str_z(word_z)))
        return false;
    type->len -= len;
    *type = mr_str_trim(*type);
    return true;
}

static enum family family_of(struct mr_str type, bool *is_unsigned)
{
    *is_unsigned = false;
    type = mr_str_trim(type);
    for (bool any = true; any;) {
        bool zerofill = cut_word(&type, " ZEROFILL"); /* makes it unsigned, too */
        bool uns = cut_word(&type, " UNSIGNED");
        *is_unsigned = *is_unsigned || uns || zerofill;
        any = zerofill || uns || cut_word(&type, " SIGNED");
    }
    *is_unsigned = *is_unsigned || mr_str_eq_nocase(type, MR_STR("SERIAL"));
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (mr_str_eq_nocase(type, mr_str_z(words[i].name_z)))
            return words[i].family;
    return F_UNKNOWN;
}

/* ---- Schemas ---- */

static struct mr_connect_schema *make(struct mr_arena *ar, enum mr_connect_kind kind,
                                      enum mr_semantic semantic, struct mr_type type)
{
    struct mr_connect_schema *out = mr_arena_zalloc(ar, sizeof(*out));
    out->kind = (uint8_t)kind;
    out->semantic = (uint8_t)semantic;
    out->scale = INT32_MIN;
    out->type = type;
    if (type.kind != MR_T_NONE)
        out->type.origin = MR_SCHEMA;
    return out;
}

/* `first` is for values of the kind `written`, `other` for the rest. */
static struct mr_connect_schema *either(struct mr_connect_schema *first, enum mr_json_kind written,
                                        const struct mr_connect_schema *other)
{
    first->written = (uint8_t)written;
    first->other = other;
    return first;
}

static struct mr_connect_schema *integer(struct mr_arena *ar, enum mr_connect_kind kind,
                                         enum mr_type_kind type)
{
    struct mr_connect_schema *out = make(ar, kind, MR_S_PLAIN, MR_TYPE(type));
    out->takes_bool = true;
    return out;
}

/* In mode `long` a number that wraps, in mode `precise` the bytes of a decimal. */
static struct mr_connect_schema *unsigned_bigint(struct mr_arena *ar)
{
    struct mr_type type = MR_TYPE_DECIMAL(20, 0);
    struct mr_connect_schema *precise = make(ar, MR_C_BYTES, MR_S_DECIMAL, type);
    precise->scale = 0;
    return either(make(ar, MR_C_INT64, MR_S_UNSIGNED64, type), MR_J_NUMBER, precise);
}

static struct mr_connect_schema *decimal(const struct mr_config *cfg, struct mr_type type,
                                         struct mr_arena *ar)
{
    struct mr_connect_schema *number = make(ar, MR_C_BYTES, MR_S_DECIMAL, type);
    number->scale = type.open ? INT32_MIN : type.scale;
    if (cfg->debezium_decimal != MR_DECIMAL_STRING)
        return number; /* reads numbers, too */
    return either(number, MR_J_NUMBER, make(ar, MR_C_STRING, MR_S_DECIMAL_TEXT, type));
}

static struct mr_connect_schema *bytes(const struct mr_config *cfg, struct mr_arena *ar)
{
    switch (cfg->debezium_binary) {
    case MR_BINARY_BASE64_URL:
        return make(ar, MR_C_STRING, MR_S_BASE64_URL, MR_TYPE(MR_T_BYTES));
    case MR_BINARY_HEX:
        return make(ar, MR_C_STRING, MR_S_HEX, MR_TYPE(MR_T_BYTES));
    case MR_BINARY_BASE64:
        break;
    }
    return make(ar, MR_C_BYTES, MR_S_PLAIN, MR_TYPE(MR_T_BYTES));
}

static struct mr_connect_schema *bits(uint32_t length, struct mr_arena *ar)
{
    struct mr_connect_schema *out = make(ar, MR_C_BYTES, MR_S_BITS, MR_TYPE_BITS((uint16_t)length));
    out->length = length;
    return out;
}

/* A number in the unit that the mode says, an ISO text, or a structure. */
static struct mr_connect_schema *temporal(struct mr_arena *ar, enum mr_type_kind kind,
                                          enum mr_semantic number, enum mr_semantic text,
                                          enum mr_semantic structure)
{
    struct mr_type type = MR_TYPE(kind);
    struct mr_connect_schema *last = make(ar, MR_C_STRUCT, structure, type);
    struct mr_connect_schema *second = either(make(ar, MR_C_STRING, text, type), MR_J_STRING, last);
    return either(make(ar, MR_C_INT64, number, type), MR_J_NUMBER, second);
}

static enum mr_semantic time_unit(const struct mr_config *cfg, unsigned digits)
{
    switch (cfg->debezium_time) {
    case MR_TIME_CONNECT:
        return MR_S_TIME_MS;
    case MR_TIME_NANOSECONDS:
        return MR_S_TIME_NS;
    case MR_TIME_ADAPTIVE:
        return digits <= 3 ? MR_S_TIME_MS : digits <= 6 ? MR_S_TIME_US : MR_S_TIME_NS;
    case MR_TIME_ADAPTIVE_US:
    case MR_TIME_MICROSECONDS:
    case MR_TIME_BY_FORM:
        break;
    }
    return MR_S_TIME_US;
}

static enum mr_semantic timestamp_unit(const struct mr_config *cfg, unsigned digits)
{
    switch (cfg->debezium_time) {
    case MR_TIME_CONNECT:
        return MR_S_TIMESTAMP_MS;
    case MR_TIME_NANOSECONDS:
        return MR_S_TIMESTAMP_NS;
    case MR_TIME_MICROSECONDS:
        return MR_S_TIMESTAMP_US;
    case MR_TIME_ADAPTIVE:
    case MR_TIME_ADAPTIVE_US:
    case MR_TIME_BY_FORM:
        break;
    }
    return digits <= 3 ? MR_S_TIMESTAMP_MS : digits <= 6 ? MR_S_TIMESTAMP_US : MR_S_TIMESTAMP_NS;
}

static struct mr_connect_schema *date(struct mr_arena *ar)
{
    return temporal(ar, MR_T_DATE, MR_S_DATE, MR_S_ISO_DATE, MR_S_STRUCT_DATE);
}

static struct mr_connect_schema *time_of(const struct mr_config *cfg, unsigned digits, struct mr_arena *ar)
{
    return temporal(ar, MR_T_TIME, time_unit(cfg, digits), MR_S_ISO_TIME, MR_S_STRUCT_DURATION);
}

static struct mr_connect_schema *timestamp(const struct mr_config *cfg, unsigned digits, struct mr_arena *ar)
{
    return temporal(ar, MR_T_TIMESTAMP, timestamp_unit(cfg, digits), MR_S_ISO_TIMESTAMP,
                    MR_S_STRUCT_TIMESTAMP);
}

static struct mr_connect_schema *instant(struct mr_arena *ar)
{
    struct mr_type type = MR_TYPE(MR_T_TIMESTAMPTZ);
    return either(make(ar, MR_C_STRING, MR_S_ZONED_TIMESTAMP, type), MR_J_STRING,
                  make(ar, MR_C_STRUCT, MR_S_STRUCT_ZONED_TIMESTAMP, type));
}

/* The column's own digits where they make sense, else digits open. MySQL's DECIMAL without digits is DECIMAL(10,0). */
static struct mr_type decimal_type(int64_t length, int64_t scale)
{
    if (length < 0)
        length = 10;
    if (scale < 0)
        scale = 0;
    if (length < 1 || length > 1000 || scale > length)
        return MR_TYPE_DECIMAL_OPEN;
    return MR_TYPE_DECIMAL((uint16_t)length, (int16_t)scale);
}

static struct mr_connect_schema *enumeration(const struct mr_source_column *col, struct mr_arena *ar)
{
    struct mr_connect_schema *out = make(ar, MR_C_STRING, MR_S_ENUM, MR_TYPE(MR_T_TEXT));
    out->labels = col->labels;
    out->label_count = (uint32_t)col->label_count;
    return out;
}

static struct mr_connect_schema *vector(struct mr_arena *ar)
{
    struct mr_connect_schema *out = make(ar, MR_C_ARRAY, MR_S_DOCUMENT, MR_TYPE(MR_T_JSON));
    out->items = make(ar, MR_C_FLOAT32, MR_S_PLAIN, MR_TYPE(MR_T_FLOAT32));
    return out;
}

static struct mr_connect_schema *by_family(const struct mr_config *cfg, const struct mr_source_column *col,
                                           struct mr_arena *ar)
{
    bool is_unsigned;
    int64_t length = col->length;
    unsigned digits = length > 0 && length <= 9 ? (unsigned)length : 0;
    switch (family_of(col->type, &is_unsigned)) {
    case F_INT8:
        return integer(ar, MR_C_INT16, MR_T_INT16);
    case F_INT16:
        return is_unsigned ? integer(ar, MR_C_INT32, MR_T_INT32) : integer(ar, MR_C_INT16, MR_T_INT16);
    case F_INT24:
    case F_YEAR:
        return integer(ar, MR_C_INT32, MR_T_INT32);
    case F_INT32:
        return is_unsigned ? integer(ar, MR_C_INT64, MR_T_INT64) : integer(ar, MR_C_INT32, MR_T_INT32);
    case F_INT64:
        return is_unsigned ? unsigned_bigint(ar) : integer(ar, MR_C_INT64, MR_T_INT64);
    case F_BOOLEAN:
        return make(ar, MR_C_BOOLEAN, MR_S_PLAIN, MR_TYPE(MR_T_BOOL));
    case F_FLOAT: /* FLOAT(30) and FLOAT(7,3) come as 64 bits */
        return col->scale >= 0 || length > 24 ? make(ar, MR_C_FLOAT64, MR_S_PLAIN, MR_TYPE(MR_T_FLOAT64))
                                              : make(ar, MR_C_FLOAT32, MR_S_PLAIN, MR_TYPE(MR_T_FLOAT32));
    case F_REAL: /* declared as 32 bits by the connector, but the column holds 64 */
    case F_DOUBLE:
        return make(ar, MR_C_FLOAT64, MR_S_PLAIN, MR_TYPE(MR_T_FLOAT64));
    case F_DECIMAL:
        return decimal(cfg, decimal_type(length, col->scale), ar);
    case F_BIT:
        return length <= 1 || length > UINT16_MAX ? make(ar, MR_C_BOOLEAN, MR_S_PLAIN, MR_TYPE(MR_T_BOOL))
                                                  : bits((uint32_t)length, ar);
    case F_TEXT:
    case F_SET:
        return make(ar, MR_C_STRING, MR_S_PLAIN, MR_TYPE(MR_T_TEXT));
    case F_BYTES:
        return bytes(cfg, ar);
    case F_ENUM:
        return enumeration(col, ar);
    case F_JSON:
        return make(ar, MR_C_STRING, MR_S_JSON, MR_TYPE(MR_T_JSON));
    case F_UUID:
        return make(ar, MR_C_STRING, MR_S_UUID, MR_TYPE(MR_T_UUID));
    case F_DATE:
        return date(ar);
    case F_TIME:
        return time_of(cfg, digits, ar);
    case F_DATETIME:
        return timestamp(cfg, digits, ar);
    case F_TIMESTAMP:
        return instant(ar);
    case F_GEOMETRY:
        return make(ar, MR_C_STRUCT, MR_S_GEOMETRY, MR_TYPE(MR_T_JSON));
    case F_VECTOR:
        return vector(ar);
    case F_UNKNOWN:
        break;
    }
    return make(ar, MR_C_ANY, MR_S_PLAIN, MR_TYPE(MR_T_NONE));
}

const struct mr_connect_schema *
mr_source_column_schema(const struct mr_config *cfg, const struct mr_source_column *col, struct mr_arena *ar)
{
    struct mr_connect_schema *out = by_family(cfg, col, ar);
    out->type.not_null = out->type.kind != MR_T_NONE && col->not_null;
    return out;
}

/* A text is left to the configured type, which reads every usual spelling; only numbers need their unit. */
static const struct mr_connect_schema *if_number(struct mr_connect_schema *schema, struct mr_arena *ar)
{
    return either(schema, MR_J_NUMBER, make(ar, MR_C_ANY, MR_S_PLAIN, MR_TYPE(MR_T_NONE)));
}

static const struct mr_connect_schema *hand_decimal(const struct mr_config *cfg, struct mr_type type,
                                                    struct mr_arena *ar)
{
    /* A whole number in a column of 20 digits is a BIGINT UNSIGNED: a decimal is a text, or in mode `double` has a fraction. */
    if (!type.open && type.precision == 20 && type.scale == 0 && cfg->debezium_decimal == MR_DECIMAL_PRECISE)
        return unsigned_bigint(ar);
    if (type.open)
        return NULL; /* without its scale the bytes of a decimal say nothing */
    return decimal(cfg, type, ar);
}

const struct mr_connect_schema *mr_source_hand_schema(const struct mr_config *cfg, struct mr_type type,
                                                      unsigned digits, struct mr_arena *ar)
{
    switch ((enum mr_type_kind)type.kind) {
    case MR_T_DECIMAL:
        return hand_decimal(cfg, type, ar);
    case MR_T_BYTES:
        return bytes(cfg, ar);
    case MR_T_BITS:
        return either(bits(type.precision, ar), MR_J_STRING,
                      make(ar, MR_C_ANY, MR_S_PLAIN, MR_TYPE(MR_T_NONE)));
    case MR_T_DATE:
        return if_number(make(ar, MR_C_INT32, MR_S_DATE, MR_TYPE(MR_T_DATE)), ar);
    case MR_T_TIME:
    case MR_T_DURATION:
        return if_number(make(ar, MR_C_INT64, time_unit(cfg, digits), type), ar);
    case MR_T_TIMESTAMP:
        return if_number(make(ar, MR_C_INT64, timestamp_unit(cfg, digits), type), ar);
    case MR_T_JSON:
        return either(make(ar, MR_C_STRING, MR_S_JSON, type), MR_J_STRING,
                      make(ar, MR_C_ARRAY, MR_S_DOCUMENT, type));
    case MR_T_NONE:
    case MR_T_BOOL:
    case MR_T_INT16:
    case MR_T_INT32:
    case MR_T_INT64:
    case MR_T_FLOAT32:
    case MR_T_FLOAT64:
    case MR_T_TEXT:
    case MR_T_TIMESTAMPTZ:
    case MR_T_UUID:
    case MR_T_ARRAY:
        break;
    }
    return NULL;
}
