/* MySQL's and MariaDB's dialect, the part about names and types. Pure text. Native types are read in native.c; values are in holds.c, DDL in
 * render.c and convert.c, errors in classify.c.
 *
 *   type                 column                       remark
 *   bool                 TINYINT(1)
 *   int16 int32 int64    SMALLINT INT BIGINT
 *   decimal(p,s)         DECIMAL(p,s)                 at most 65 digits, 30 after the point
 *   decimal, digits open DECIMAL(65,30)               seen in JSON alone: DOUBLE, while that holds every number digit for digit
 *   float32 float64      DOUBLE                       FLOAT shows six digits only; a float32 is the double with the same shortest text
 *   text                 LONGTEXT                     key: VARCHAR(n) within the 3,072 bytes of an index
 *   bytes                LONGBLOB                     key: VARBINARY(n)
 *   date                 DATE
 *   time, duration       TIME(6)                      up to ±838 hours
 *   timestamp            DATETIME(6)
 *   timestamptz          DATETIME(6) COMMENT 'UTC'    TIMESTAMP ends in 2038
 *   uuid                 CHAR(36)
 *   bits(1…64)           BIT(n)                       others: LONGTEXT of digits
 *   json                 JSON                         MariaDB: LONGTEXT with a check
 */
#include "native.h"

#include "my.h"

void mr_my_quote_ident(struct mr_str name, struct mr_buf *out)
{
    mr_buf_append_char(out, '`');
    for (size_t i = 0; i < name.len; i++) {
        if (name.ptr[i] == '`')
            mr_buf_append_char(out, '`');
        if (name.ptr[i] != '\0') /* cannot be in an identifier; the name resolver has replaced it long before */
            mr_buf_append_char(out, name.ptr[i]);
    }
    mr_buf_append_char(out, '`');
}

void mr_my_quote_table(struct mr_str schema, struct mr_str table, struct mr_buf *out)
{
    if (schema.len > 0) {
        mr_my_quote_ident(schema, out);
        mr_buf_append_char(out, '.');
    }
    mr_my_quote_ident(table, out);
}

/* Our sessions have no NO_BACKSLASH_ESCAPES, but people paste what plan prints into theirs: a text with a backslash is written in hexadecimal. */
void mr_my_quote_text(struct mr_str text, struct mr_buf *out)
{
    static const char digits[] = "0123456789ABCDEF";

    if (mr_str_find(text, '\\') < 0 && mr_str_find(text, '\0') < 0) {
        mr_buf_append_char(out, '\'');
        for (size_t i = 0; i < text.len; i++) {
            if (text.ptr[i] == '\'')
                mr_buf_append_char(out, '\'');
            mr_buf_append_char(out, text.ptr[i]);
        }
        mr_buf_append_char(out, '\'');
        return;
    }
    mr_buf_append_z(out, "_utf8mb4 0x");
    for (size_t i = 0; i < text.len; i++) {
        mr_buf_append_char(out, digits[(unsigned char)text.ptr[i] >> 4]);
        mr_buf_append_char(out, digits[text.ptr[i] & 15]);
    }
}

struct mr_type mr_my_decimal(struct mr_type type)
{
    long scale = type.scale > 0 ? type.scale : 0;
    long whole = type.scale < 0 ? (long)type.precision - type.scale : (long)type.precision - scale;

    if (type.open || type.precision == 0)
        return MR_TYPE_DECIMAL(MR_MY_MAX_DIGITS, MR_MY_MAX_SCALE);
    if (scale > MR_MY_MAX_SCALE)
        scale = MR_MY_MAX_SCALE;
    if (whole < 0)
        whole = 0;
    if (whole > MR_MY_MAX_DIGITS - scale)
        whole = MR_MY_MAX_DIGITS - scale;
    return MR_TYPE_DECIMAL((uint16_t)(whole + scale > 0 ? whole + scale : 1), (int16_t)scale);
}

bool mr_my_may_be_double(struct mr_type type)
{
    return type.kind == MR_T_DECIMAL && type.open && type.origin == MR_OBSERVED;
}

static void decimal_type(const struct mr_column *col, struct mr_buf *out)
{
    struct mr_type made = mr_my_decimal(col->type);

    if (mr_my_may_be_double(col->type) && !col->has_inexact) {
        mr_buf_append_z(out, "DOUBLE");
        return;
    }
    mr_buf_printf(out, "DECIMAL(%u,%d)", (unsigned)made.precision, (int)made.scale);
}

static const char *const plain_types[MR_TYPE_KINDS] = {
    [MR_T_NONE] = "LONGTEXT",
    [MR_T_BOOL] = "TINYINT(1)",
    [MR_T_INT16] = "SMALLINT",
    [MR_T_INT32] = "INT",
    [MR_T_INT64] = "BIGINT",
    [MR_T_FLOAT32] = "DOUBLE",
    [MR_T_FLOAT64] = "DOUBLE",
    [MR_T_TEXT] = "LONGTEXT",
    [MR_T_BYTES] = "LONGBLOB",
    [MR_T_DATE] = "DATE",
    [MR_T_TIME] = "TIME(6)",
    [MR_T_DURATION] = "TIME(6)",
    [MR_T_TIMESTAMP] = "DATETIME(6)",
    [MR_T_TIMESTAMPTZ] = "DATETIME(6) COMMENT '" MR_MY_UTC_COMMENT "'",
    [MR_T_UUID] = "CHAR(36)",
    [MR_T_BITS] = "LONGTEXT",
    [MR_T_JSON] = "JSON",
};

/* A key column by itself takes the whole index; how several share it only the table knows (native.c). */
void mr_my_column_type(const struct mr_column *col, struct mr_buf *out)
{
    if (col->is_key && mr_my_is_bounded_key(col->type))
        mr_buf_printf(out, col->type.kind == MR_T_BYTES ? "VARBINARY(%d)" : "VARCHAR(%d)",
                      col->type.kind == MR_T_BYTES ? MR_MY_MAX_KEY_BYTES : MR_MY_MAX_KEY_CHARS);
    else if (col->type.kind == MR_T_DECIMAL)
        decimal_type(col, out);
    else if (col->type.kind == MR_T_BITS && col->type.precision > 0 && col->type.precision <= 64)
        mr_buf_printf(out, "BIT(%u)", (unsigned)col->type.precision);
    else
        mr_buf_append_z(out, plain_types[col->type.kind]);
}

static struct mr_type decimal_of(const struct mr_my_native *nat)
{
    unsigned scale = nat->arg_count > 1 ? nat->args[1] : 0;

    if (nat->args[0] == MR_MY_MAX_DIGITS && scale == MR_MY_MAX_SCALE)
        return MR_TYPE_DECIMAL_OPEN;
    return MR_TYPE_DECIMAL((uint16_t)(nat->args[0] & 0xff), (int16_t)(scale & 0xff));
}

struct mr_type mr_my_type_of_column(struct mr_str native)
{
    struct mr_my_native nat = mr_my_native_parse(native);

    switch (nat.base) {
    case MR_MY_OTHER:
        break;
    case MR_MY_TINYINT:
        return MR_TYPE(nat.arg_count == 1 && nat.args[0] == 1 && !nat.is_unsigned ? MR_T_BOOL : MR_T_INT16);
    case MR_MY_SMALLINT:
        return MR_TYPE(nat.is_unsigned ? MR_T_INT32 : MR_T_INT16);
    case MR_MY_MEDIUMINT:
        return MR_TYPE(MR_T_INT32);
    case MR_MY_INT:
        return MR_TYPE(nat.is_unsigned ? MR_T_INT64 : MR_T_INT32);
    case MR_MY_BIGINT:
        return nat.is_unsigned ? MR_TYPE_DECIMAL(20, 0) : MR_TYPE(MR_T_INT64);
    case MR_MY_DECIMAL:
        return decimal_of(&nat);
    case MR_MY_FLOAT:
        return MR_TYPE(MR_T_FLOAT32);
    case MR_MY_DOUBLE:
        return MR_TYPE(MR_T_FLOAT64);
    case MR_MY_CHAR:
    case MR_MY_VARCHAR:
    case MR_MY_TEXT:
    case MR_MY_ENUM:
        return MR_TYPE(MR_T_TEXT);
    case MR_MY_BINARY:
    case MR_MY_VARBINARY:
    case MR_MY_BLOB:
        return MR_TYPE(MR_T_BYTES);
    case MR_MY_DATE:
        return MR_TYPE(MR_T_DATE);
    case MR_MY_TIME:
        return MR_TYPE(MR_T_DURATION);
    case MR_MY_DATETIME:
        return MR_TYPE(nat.is_utc ? MR_T_TIMESTAMPTZ : MR_T_TIMESTAMP);
    case MR_MY_TIMESTAMP:
        return MR_TYPE(MR_T_TIMESTAMPTZ);
    case MR_MY_YEAR:
        return MR_TYPE(MR_T_INT16);
    case MR_MY_BIT:
        return MR_TYPE_BITS((uint16_t)(nat.arg_count > 0 && nat.args[0] <= 64 ? nat.args[0] : 1));
    case MR_MY_JSON:
        return MR_TYPE(MR_T_JSON);
    case MR_MY_UUID:
        return MR_TYPE(MR_T_UUID);
    }
    return MR_TYPE(MR_T_NONE);
}

static bool decimal_holds(const struct mr_my_native *nat, struct mr_type type)
{
    long scale = nat->arg_count > 1 ? (long)nat->args[1] : 0, whole = (long)nat->args[0] - scale;
    struct mr_type made = mr_my_decimal(type);

    if (nat->is_unsigned)
        return false;
    switch ((enum mr_type_kind)type.kind) {
    case MR_T_INT16:
        return whole >= 5;
    case MR_T_INT32:
        return whole >= 10;
    case MR_T_INT64:
        return whole >= 19;
    case MR_T_DECIMAL:
        return made.scale <= scale && made.precision - made.scale <= whole;
    default:
        return false;
    }
}

/* Texts and bytes of a bounded length hold what fits: mr_my_wants_wider speaks about lengths. */
bool mr_my_native_holds(struct mr_str native, struct mr_type type)
{
    struct mr_my_native nat = mr_my_native_parse(native);
    bool is_exact = nat.arg_count == 1 && nat.args[0] == 6; /* temporal types: microseconds */

    switch (nat.base) {
    case MR_MY_OTHER:
    case MR_MY_ENUM:
    case MR_MY_TINYINT:
        return nat.base == MR_MY_TINYINT && !nat.is_unsigned && type.kind == MR_T_BOOL;
    case MR_MY_SMALLINT:
    case MR_MY_MEDIUMINT:
        return !nat.is_unsigned && type.kind == MR_T_INT16;
    case MR_MY_INT:
        return !nat.is_unsigned && (type.kind == MR_T_INT16 || type.kind == MR_T_INT32);
    case MR_MY_BIGINT:
        return !nat.is_unsigned && mr_type_is_integer(type);
    case MR_MY_DECIMAL:
        return decimal_holds(&nat, type);
    case MR_MY_FLOAT:
        return nat.arg_count == 0 && type.kind == MR_T_INT16;
    case MR_MY_DOUBLE:
        return nat.arg_count == 0 && (type.kind == MR_T_FLOAT32 || type.kind == MR_T_FLOAT64 || type.kind == MR_T_INT16 ||
                                      type.kind == MR_T_INT32 || mr_my_may_be_double(type));
    case MR_MY_CHAR: /* it forgets trailing blanks */
        return type.kind == MR_T_UUID && nat.capacity >= 36;
    case MR_MY_VARCHAR:
        return type.kind != MR_T_UUID || nat.capacity >= 36;
    case MR_MY_TEXT:
        return true;
    case MR_MY_BINARY: /* it adds zeros */
        return false;
    case MR_MY_VARBINARY:
    case MR_MY_BLOB:
        return type.kind == MR_T_BYTES;
    case MR_MY_DATE:
        return type.kind == MR_T_DATE;
    case MR_MY_TIME:
        return is_exact && (type.kind == MR_T_TIME || type.kind == MR_T_DURATION);
    case MR_MY_DATETIME:
        return is_exact && (type.kind == MR_T_TIMESTAMP || type.kind == MR_T_TIMESTAMPTZ);
    case MR_MY_TIMESTAMP:
        return is_exact && type.kind == MR_T_TIMESTAMPTZ;
    case MR_MY_YEAR:
        return false;
    case MR_MY_BIT:
        return type.kind == MR_T_BITS && type.precision == (nat.arg_count > 0 ? nat.args[0] : 1);
    case MR_MY_JSON:
        return type.kind == MR_T_JSON;
    case MR_MY_UUID:
        return type.kind == MR_T_UUID;
    }
    return false;
}

/* A DOUBLE becomes a DECIMAL when digits are to be kept that it does not; not where it has held a number that a DECIMAL cannot. */
static bool wants_digits(const struct mr_column *col, const struct mr_my_native *nat)
{
    return nat->base == MR_MY_DOUBLE && mr_my_may_be_double(col->type) && col->has_inexact &&
           col->int_digits <= MR_MY_MAX_DIGITS - MR_MY_MAX_SCALE && col->frac_digits <= MR_MY_MAX_SCALE;
}

/* `max_len` counts bytes, a VARCHAR characters: it may grow a little early. */
bool mr_my_wants_wider(const struct mr_table *tbl, uint32_t column, const struct mr_catalog_table *now, struct mr_str native)
{
    const struct mr_column *col = &tbl->columns[column];
    struct mr_my_native nat = mr_my_native_parse(native);
    bool is_text = mr_my_is_text(&nat) && (col->type.kind == MR_T_TEXT || col->type.kind == MR_T_JSON);
    bool is_bytes = mr_my_is_bytes(&nat) && col->type.kind == MR_T_BYTES;

    if (wants_digits(col, &nat))
        return true;
    if (!is_text && !is_bytes)
        return false;
    if (!col->is_key)
        return nat.capacity < col->max_len;
    return (nat.base == MR_MY_VARCHAR || nat.base == MR_MY_VARBINARY) && mr_my_key_length(tbl, column, now) > nat.capacity;
}

/* What follows it is taken for the name of a file or folder. */
#define FILE_NAME "#mysql50#"
/* The control tables may be beside the others. */
static const char *const reserved_tables[] = {"millrace_", FILE_NAME, NULL};
/* Who may write the first may do everything. */
static const char *const own_schemas[] = {"mysql", "performance_schema", "sys", "ndbinfo", NULL};

const struct mr_dialect mr_my_dialect = {
    .name = "mysql",
    .max_ident = MR_MY_MAX_IDENT,
    .ident_case_folds = true,
    .has_schemas = true,
    .max_columns = MR_MY_MAX_COLUMNS,
    .quote_ident = mr_my_quote_ident,
    .quote_table = mr_my_quote_table,
    .column_type = mr_my_column_type,
    .type_of_column = mr_my_type_of_column,
    .native_holds = mr_my_native_holds,
    .holds = mr_my_holds,
    .render = mr_my_render,
    .cost = mr_my_cost,
    .classify = mr_my_classify,
    .ident_folds_unicode = true,
    .ident_in_characters = true,
    .ident_is_bmp = true,
    .reserved_tables = reserved_tables,
    .reserved_schemas = FILE_NAME,
    .own_schemas = own_schemas,
    .keeps_doubles = true,
    .wants_wider = mr_my_wants_wider,
};
