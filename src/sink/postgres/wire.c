/* The table of PostgreSQL types: see wire.h. The OIDs are fixed by PostgreSQL's own catalog (pg_type.dat) and never change. */
#include "wire.h"


static const struct mr_pg_wire_info infos[MR_PG_WIRES] = {
    [MR_PG_BOOL] = {16, 1000, MR_T_BOOL},
    [MR_PG_INT2] = {21, 1005, MR_T_INT16},
    [MR_PG_INT4] = {23, 1007, MR_T_INT32},
    [MR_PG_INT8] = {20, 1016, MR_T_INT64},
    [MR_PG_NUMERIC] = {1700, 1231, MR_T_DECIMAL},
    [MR_PG_FLOAT4] = {700, 1021, MR_T_FLOAT32},
    [MR_PG_FLOAT8] = {701, 1022, MR_T_FLOAT64},
    [MR_PG_TEXT] = {25, 1009, MR_T_TEXT},
    [MR_PG_BYTEA] = {17, 1001, MR_T_BYTES},
    [MR_PG_DATE] = {1082, 1182, MR_T_DATE},
    [MR_PG_TIME] = {1083, 1183, MR_T_TIME},
    [MR_PG_INTERVAL] = {1186, 1187, MR_T_DURATION},
    [MR_PG_TIMESTAMP] = {1114, 1115, MR_T_TIMESTAMP},
    [MR_PG_TIMESTAMPTZ] = {1184, 1185, MR_T_TIMESTAMPTZ},
    [MR_PG_UUID] = {2950, 2951, MR_T_UUID},
    [MR_PG_BIT] = {1560, 1561, MR_T_BITS},
    [MR_PG_VARBIT] = {1562, 1563, MR_T_BITS},
    [MR_PG_JSON] = {114, 199, MR_T_JSON},
    [MR_PG_JSONB] = {3802, 3807, MR_T_JSON},
};

/* The catalog's own spelling (format_type) and the short ones that our DDL uses. */
static const struct {
    const char *name;
    enum mr_pg_wire wire;
    bool is_bounded_text;
    bool is_padded;
} names[] = {
    {"boolean", MR_PG_BOOL, false, false},
    {"smallint", MR_PG_INT2, false, false},
    {"integer", MR_PG_INT4, false, false},
    {"bigint", MR_PG_INT8, false, false},
    {"numeric", MR_PG_NUMERIC, false, false},
    {"real", MR_PG_FLOAT4, false, false},
    {"double precision", MR_PG_FLOAT8, false, false},
    {"text", MR_PG_TEXT, false, false},
    {"character varying", MR_PG_TEXT, true, false},
    {"varchar", MR_PG_TEXT, true, false},
    {"character", MR_PG_TEXT, true, true},
    {"bytea", MR_PG_BYTEA, false, false},
    {"date", MR_PG_DATE, false, false},
    {"time without time zone", MR_PG_TIME, false, false},
    {"time", MR_PG_TIME, false, false},
    {"interval", MR_PG_INTERVAL, false, false},
    {"timestamp without time zone", MR_PG_TIMESTAMP, false, false},
    {"timestamp", MR_PG_TIMESTAMP, false, false},
    {"timestamp with time zone", MR_PG_TIMESTAMPTZ, false, false},
    {"timestamptz", MR_PG_TIMESTAMPTZ, false, false},
    {"uuid", MR_PG_UUID, false, false},
    {"bit", MR_PG_BIT, false, false},
    {"bit varying", MR_PG_VARBIT, false, false},
    {"json", MR_PG_JSON, false, false},
    {"jsonb", MR_PG_JSONB, false, false},
};

#define ARRAY(wire, oid) [wire] = {oid, 0, MR_T_ARRAY}
static const struct mr_pg_wire_info array_infos[MR_PG_WIRES] = {
    ARRAY(MR_PG_BOOL, 1000),      ARRAY(MR_PG_INT2, 1005),        ARRAY(MR_PG_INT4, 1007),   ARRAY(MR_PG_INT8, 1016),
    ARRAY(MR_PG_NUMERIC, 1231),   ARRAY(MR_PG_FLOAT4, 1021),      ARRAY(MR_PG_FLOAT8, 1022), ARRAY(MR_PG_TEXT, 1009),
    ARRAY(MR_PG_BYTEA, 1001),     ARRAY(MR_PG_DATE, 1182),        ARRAY(MR_PG_TIME, 1183),   ARRAY(MR_PG_INTERVAL, 1187),
    ARRAY(MR_PG_TIMESTAMP, 1115), ARRAY(MR_PG_TIMESTAMPTZ, 1185), ARRAY(MR_PG_UUID, 2951),   ARRAY(MR_PG_BIT, 1561),
    ARRAY(MR_PG_VARBIT, 1563),
};
#undef ARRAY

const struct mr_pg_wire_info *mr_pg_wire_info(enum mr_pg_wire wire)
{
    return mr_pg_is_array(wire) ? &array_infos[mr_pg_element_of(wire)] : &infos[wire];
}

/* Cut "(…)" out of the text: the rest goes to `base`, the numbers to the native. False if it is not of that form. */
static bool split_args(struct mr_str text, char *base, size_t cap, struct mr_pg_native *out)
{
    ptrdiff_t open = mr_str_find(text, '(');
    ptrdiff_t close = mr_str_rfind(text, ')');

    if (text.len == 0 || text.len >= cap || (open < 0) != (close < 0) || (open >= 0 && close < open))
        return false;
    if (open < 0) {
        memcpy(base, text.ptr, text.len);
        base[text.len] = '\0';
        return true;
    }

    struct mr_str args = mr_str_of(text.ptr + open + 1, (size_t)(close - open - 1));
    while (out->arg_count < 2) {
        ptrdiff_t comma = mr_str_find(args, ',');
        int64_t n;
        if (!mr_parse_int64(mr_str_trim(comma < 0 ? args : mr_str_of(args.ptr, (size_t)comma)), &n) || n < -100000000 ||
            n > 100000000)
            return false;
        out->args[out->arg_count++] = (int)n;
        if (comma < 0)
            break;
        args = mr_str_of(args.ptr + comma + 1, args.len - (size_t)comma - 1);
    }

    size_t tail = text.len - (size_t)close - 1;
    memcpy(base, text.ptr, (size_t)open);
    memcpy(base + open, text.ptr + close + 1, tail);
    base[(size_t)open + tail] = '\0';
    return true;
}

static struct mr_pg_native parse_scalar(struct mr_str text)
{
    struct mr_pg_native out = {0};
    char base[64];

    if (!split_args(mr_str_trim(text), base, sizeof(base), &out))
        return (struct mr_pg_native){0};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!mr_str_eq_nocase(mr_str_z(base), mr_str_z(names[i].name)))
            continue;
        out.known = true;
        out.wire = names[i].wire;
        out.is_bounded_text = names[i].is_bounded_text && (out.arg_count > 0 || names[i].is_padded);
        out.is_alias = names[i].is_bounded_text;
        out.is_padded = names[i].is_padded;
        return out;
    }
    return (struct mr_pg_native){0};
}

/* How many dimensions are declared does not matter to PostgreSQL, and format_type tells of one. */
struct mr_pg_native mr_pg_native_parse(struct mr_str text)
{
    text = mr_str_trim(text);
    if (text.len < 3 || memcmp(text.ptr + text.len - 2, "[]", 2) != 0)
        return parse_scalar(text);
    struct mr_pg_native out = parse_scalar(mr_str_of(text.ptr, text.len - 2));
    if (!out.known || out.wire == MR_PG_JSON || out.wire == MR_PG_JSONB)
        return (struct mr_pg_native){0};
    out.wire = mr_pg_array_of(out.wire);
    return out;
}

enum mr_pg_wire mr_pg_wire_of_type(struct mr_type type)
{
    switch ((enum mr_type_kind)type.kind) {
    case MR_T_BOOL:
        return MR_PG_BOOL;
    case MR_T_INT16:
        return MR_PG_INT2;
    case MR_T_INT32:
        return MR_PG_INT4;
    case MR_T_INT64:
        return MR_PG_INT8;
    case MR_T_DECIMAL:
        return MR_PG_NUMERIC;
    case MR_T_FLOAT32:
        return MR_PG_FLOAT4;
    case MR_T_FLOAT64:
        return MR_PG_FLOAT8;
    case MR_T_NONE:
    case MR_T_TEXT:
        return MR_PG_TEXT;
    case MR_T_BYTES:
        return MR_PG_BYTEA;
    case MR_T_DATE:
        return MR_PG_DATE;
    case MR_T_TIME:
        return MR_PG_TIME;
    case MR_T_DURATION:
        return MR_PG_INTERVAL;
    case MR_T_TIMESTAMP:
        return MR_PG_TIMESTAMP;
    case MR_T_TIMESTAMPTZ:
        return MR_PG_TIMESTAMPTZ;
    case MR_T_UUID:
        return MR_PG_UUID;
    case MR_T_BITS:
        return type.precision ? MR_PG_BIT : MR_PG_VARBIT;
    case MR_T_JSON:
        return MR_PG_JSONB;
    case MR_T_ARRAY:
        return mr_pg_array_of(mr_pg_wire_of_type(mr_type_element(type)));
    }
    return MR_PG_TEXT;
}
