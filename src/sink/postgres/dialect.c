/* PostgreSQL's dialect, the part about names and types. Pure text. Values are in holds.c, DDL in render.c, errors in
 * classify.c. */
#include "pg.h"

void mr_pg_quote_ident(struct mr_str name, struct mr_buf *out)
{
    mr_buf_append_char(out, '"');
    for (size_t i = 0; i < name.len; i++) {
        if (name.ptr[i] == '"')
            mr_buf_append_char(out, '"');
        if (name.ptr[i] != '\0') /* cannot be in an identifier; the name resolver has replaced it long before */
            mr_buf_append_char(out, name.ptr[i]);
    }
    mr_buf_append_char(out, '"');
}

void mr_pg_quote_table(struct mr_str schema, struct mr_str table, struct mr_buf *out)
{
    if (schema.len > 0) {
        mr_pg_quote_ident(schema, out);
        mr_buf_append_char(out, '.');
    }
    mr_pg_quote_ident(table, out);
}

/* numeric(p,s) as every supported server takes it: before 15 the scale must lie between 0 and the precision; above 1,000
 * digits there is only the open form. */
static void decimal_type(struct mr_type type, struct mr_buf *out)
{
    long precision = type.precision, scale = type.scale;

    if (scale < 0) {
        precision -= scale;
        scale = 0;
    }
    if (scale > precision)
        precision = scale;
    if (type.open || precision == 0 || precision > 1000)
        mr_buf_append_z(out, "numeric");
    else
        mr_buf_printf(out, "numeric(%ld,%ld)", precision, scale);
}

/* Types whose column type is one word; decimal and bits have parameters. */
static const char *const plain_types[MR_TYPE_KINDS] = {
    [MR_T_NONE] = "text",
    [MR_T_BOOL] = "boolean",
    [MR_T_INT16] = "smallint",
    [MR_T_INT32] = "integer",
    [MR_T_INT64] = "bigint",
    [MR_T_FLOAT32] = "real",
    [MR_T_FLOAT64] = "double precision",
    [MR_T_TEXT] = "text",
    [MR_T_BYTES] = "bytea",
    [MR_T_DATE] = "date",
    [MR_T_TIME] = "time",
    [MR_T_DURATION] = "interval",
    [MR_T_TIMESTAMP] = "timestamp",
    [MR_T_TIMESTAMPTZ] = "timestamptz",
    [MR_T_UUID] = "uuid",
    [MR_T_JSON] = "jsonb",
};

void mr_pg_column_type(const struct mr_column *col, struct mr_buf *out)
{
    if (col->type.kind == MR_T_ARRAY) {
        struct mr_column element = *col;
        element.type = mr_type_element(col->type);
        mr_pg_column_type(&element, out);
        mr_buf_append_z(out, "[]");
        return;
    }
    if (col->type.kind == MR_T_DECIMAL)
        decimal_type(col->type, out);
    else if (col->type.kind == MR_T_BITS && col->type.precision)
        mr_buf_printf(out, "bit(%u)", (unsigned)col->type.precision);
    else if (col->type.kind == MR_T_BITS)
        mr_buf_append_z(out, "bit varying");
    else
        mr_buf_append_z(out, plain_types[col->type.kind]);
}

static struct mr_type type_of_native(struct mr_pg_native nat)
{
    if (!nat.known)
        return MR_TYPE(MR_T_NONE);
    if (mr_pg_is_array(nat.wire)) {
        nat.wire = mr_pg_element_of(nat.wire);
        return mr_type_array_of(type_of_native(nat));
    }

    struct mr_type type = MR_TYPE(mr_pg_wire_info(nat.wire)->kind);
    if (nat.wire == MR_PG_NUMERIC && nat.arg_count == 0)
        return MR_TYPE_DECIMAL_OPEN;
    if (nat.wire == MR_PG_NUMERIC) {
        type.precision = (uint16_t)nat.args[0];
        type.scale = nat.arg_count > 1 ? (int16_t)nat.args[1] : 0;
    }
    if (nat.wire == MR_PG_BIT) {
        int bits = nat.arg_count ? nat.args[0] : 1;
        type.precision = bits <= UINT16_MAX ? (uint16_t)bits : 0;
    }
    return type;
}

struct mr_type mr_pg_type_of_column(struct mr_str native)
{
    return type_of_native(mr_pg_native_parse(native));
}

static bool numeric_holds(const struct mr_pg_native *nat, struct mr_type type)
{
    long int_digits, frac_digits = 0;

    if (type.kind == MR_T_INT16)
        int_digits = 5;
    else if (type.kind == MR_T_INT32)
        int_digits = 10;
    else if (type.kind == MR_T_INT64)
        int_digits = 19;
    else if (type.kind == MR_T_DECIMAL && !type.open) {
        int_digits = (long)type.precision - type.scale;
        frac_digits = type.scale;
    } else
        return type.kind == MR_T_DECIMAL && nat->arg_count == 0;
    if (nat->arg_count == 0)
        return true;
    long scale = nat->arg_count > 1 ? nat->args[1] : 0;
    return frac_digits <= scale && (int_digits > 0 ? int_digits : 0) <= nat->args[0] - scale;
}

static bool native_holds(struct mr_pg_native nat, struct mr_type type)
{
    if (!nat.known)
        return false;
    if (mr_pg_is_array(nat.wire)) { /* one of texts is none of numbers: it could hold their texts, but nobody means that */
        struct mr_type element = mr_type_element(type);
        nat.wire = mr_pg_element_of(nat.wire);
        bool is_meant = nat.wire != MR_PG_TEXT || element.kind == MR_T_TEXT;
        return type.kind == MR_T_ARRAY && (element.kind == MR_T_NONE || (is_meant && native_holds(nat, element)));
    }

    bool is_full = nat.arg_count == 0 || nat.args[0] >= 6; /* temporal types: microseconds */
    switch (nat.wire) {
    case MR_PG_TEXT:
        return !nat.is_bounded_text;
    case MR_PG_BOOL:
        return type.kind == MR_T_BOOL;
    case MR_PG_INT2:
        return type.kind == MR_T_INT16;
    case MR_PG_INT4:
        return type.kind == MR_T_INT16 || type.kind == MR_T_INT32;
    case MR_PG_INT8:
        return mr_type_is_integer(type);
    case MR_PG_NUMERIC:
        return numeric_holds(&nat, type);
    case MR_PG_FLOAT4:
        return type.kind == MR_T_FLOAT32 || type.kind == MR_T_INT16;
    case MR_PG_FLOAT8:
        return type.kind == MR_T_FLOAT32 || type.kind == MR_T_FLOAT64 || type.kind == MR_T_INT16 ||
               type.kind == MR_T_INT32;
    case MR_PG_BYTEA:
        return type.kind == MR_T_BYTES;
    case MR_PG_DATE:
        return type.kind == MR_T_DATE;
    case MR_PG_TIME:
        return type.kind == MR_T_TIME && is_full;
    case MR_PG_INTERVAL:
        return (type.kind == MR_T_TIME || type.kind == MR_T_DURATION) && is_full;
    case MR_PG_TIMESTAMP:
        return type.kind == MR_T_TIMESTAMP && is_full;
    case MR_PG_TIMESTAMPTZ:
        return type.kind == MR_T_TIMESTAMPTZ && is_full;
    case MR_PG_UUID:
        return type.kind == MR_T_UUID;
    case MR_PG_BIT:
        return type.kind == MR_T_BITS && type.precision == (nat.arg_count ? nat.args[0] : 1);
    case MR_PG_VARBIT:
        return type.kind == MR_T_BITS &&
               (nat.arg_count == 0 || (type.precision > 0 && type.precision <= nat.args[0]));
    case MR_PG_JSON:
    case MR_PG_JSONB:
        return type.kind == MR_T_JSON;
    }
    return false;
}

bool mr_pg_native_holds(struct mr_str native, struct mr_type type)
{
    return native_holds(mr_pg_native_parse(native), type);
}

static const char *const reserved_columns[] = {"tableoid", "xmin", "cmin", "xmax", "cmax", "ctid", NULL};

const struct mr_dialect mr_pg_dialect = {
    .name = "postgresql",
    .max_ident = MR_PG_MAX_IDENT,
    .ident_case_folds = false,
    .has_schemas = true,
    .max_columns = 1600,
    .has_arrays = true,
    .quote_ident = mr_pg_quote_ident,
    .quote_table = mr_pg_quote_table,
    .column_type = mr_pg_column_type,
    .type_of_column = mr_pg_type_of_column,
    .native_holds = mr_pg_native_holds,
    .holds = mr_pg_holds,
    .render = mr_pg_render,
    .cost = mr_pg_cost,
    .classify = mr_pg_classify,
    .reserved_columns = reserved_columns,
    .reserved_schemas = "pg_",
};
