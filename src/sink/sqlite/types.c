/* Types of columns in SQLite. A declared type is a name of ours whose letters give the affinity we need (SQLite looks for INT, CHAR, CLOB,
 * TEXT, BLOB, REAL, FLOA, DOUB in it, in that order, else NUMERIC), so that nothing is ever converted behind our back:
 *
 *   type                 declared            affinity  stored as
 *   bool                 BOOLEAN             NUMERIC   0, 1
 *   int16 int32 int64    SMALLINT INT INTEGER INTEGER  integer; key columns are always INTEGER, so that a single one is the rowid
 *   decimal(p≤15,s)      NUMERIC(p,s)        NUMERIC   integer or double, exact up to 15 digits
 *   decimal(p>15,s)      DECIMAL_TEXT(p,s)   TEXT      digits with exactly s after the point
 *   decimal, digits open DECIMAL_BLOB        none      integer or double where the digits come back the same, else digits as text
 *   float32 float64      FLOAT4 REAL         REAL      double (float32: the double with the same shortest text)
 *   text                 TEXT                TEXT      as it is, NUL included
 *   bytes                BLOB                none      as they are
 *   date time duration   DATE TIME DURATION  NUMERIC   ISO text, which never looks like a number
 *   timestamp …tz        TIMESTAMP …TZ       NUMERIC   ISO text; instants in UTC with Z
 *   uuid bits json       UUID_TEXT BITS_TEXT(n) JSON_TEXT TEXT  text
 *
 * NaN and the infinities of a decimal are kept as words. A double's minus zero comes back as zero; its NaN is refused, since SQLite would
 * store NULL. */
#include "internal.h"

#define MAX_NATIVE 256 /* a longer declared type is none of ours */

/* A declared type taken apart: name in upper case without its arguments. */
struct native {
    char name[MAX_NATIVE];
    int64_t args[2];
    size_t arg_count;
};

static char upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static void split_native(struct mr_str text, struct native *out)
{
    text = mr_str_trim(text);
    out->arg_count = 0;
    out->name[0] = 0;
    ptrdiff_t open = mr_str_find(text, '(');
    struct mr_str name = open < 0 ? text : mr_str_trim(mr_str_of(text.ptr, (size_t)open));
    if (name.len >= MAX_NATIVE)
        return;
    for (size_t i = 0; i < name.len; i++)
        out->name[i] = upper(name.ptr[i]);
    out->name[name.len] = 0;
    if (open < 0)
        return;

    struct mr_str rest = mr_str_of(text.ptr + open + 1, text.len - (size_t)open - 1);
    ptrdiff_t close = mr_str_find(rest, ')');
    if (close < 0)
        return;
    rest.len = (size_t)close;
    while (out->arg_count < 2) {
        ptrdiff_t comma = mr_str_find(rest, ',');
        struct mr_str arg = comma < 0 ? rest : mr_str_of(rest.ptr, (size_t)comma);
        if (!mr_parse_int64(mr_str_trim(arg), &out->args[out->arg_count]))
            return;
        out->arg_count++;
        if (comma < 0)
            return;
        rest = mr_str_of(rest.ptr + comma + 1, rest.len - (size_t)comma - 1);
    }
}

static bool has(const char *name_z, const char *part_z)
{
    return strstr(name_z, part_z) != NULL;
}

static enum mr_affinity affinity_of(const char *name_z)
{
    if (has(name_z, "INT"))
        return MR_AFFINITY_INTEGER;
    if (has(name_z, "CHAR") || has(name_z, "CLOB") || has(name_z, "TEXT"))
        return MR_AFFINITY_TEXT;
    if (has(name_z, "BLOB") || !*name_z)
        return MR_AFFINITY_NONE;
    if (has(name_z, "REAL") || has(name_z, "FLOA") || has(name_z, "DOUB"))
        return MR_AFFINITY_REAL;
    return MR_AFFINITY_NUMERIC;
}

enum mr_affinity mr_sqlite_affinity(struct mr_str native)
{
    struct native n;
    split_native(native, &n);
    if (!n.name[0] && native.len > 0)
        return MR_AFFINITY_NUMERIC; /* too long to be ours; the cautious reading */
    return affinity_of(n.name);
}

static const char *plain_name(enum mr_type_kind kind)
{
    switch (kind) {
    case MR_T_BOOL:
        return "BOOLEAN";
    case MR_T_INT16:
        return "SMALLINT";
    case MR_T_INT32:
        return "INT";
    case MR_T_INT64:
        return "INTEGER";
    case MR_T_FLOAT32:
        return "FLOAT4";
    case MR_T_FLOAT64:
        return "REAL";
    case MR_T_BYTES:
        return "BLOB";
    case MR_T_DATE:
        return "DATE";
    case MR_T_TIME:
        return "TIME";
    case MR_T_DURATION:
        return "DURATION";
    case MR_T_TIMESTAMP:
        return "TIMESTAMP";
    case MR_T_TIMESTAMPTZ:
        return "TIMESTAMPTZ";
    case MR_T_UUID:
        return "UUID_TEXT";
    case MR_T_JSON:
    case MR_T_ARRAY:
        return "JSON_TEXT";
    case MR_T_BITS:
        return "BITS_TEXT";
    case MR_T_DECIMAL:
        return "DECIMAL_BLOB";
    case MR_T_NONE:
    case MR_T_TEXT:
        break;
    }
    return "TEXT";
}

void mr_sqlite_column_type(const struct mr_column *col, struct mr_buf *out)
{
    struct mr_type t = col->type;
    if (t.kind == MR_T_DECIMAL && !t.open) {
        const char *name = t.precision <= MR_SQLITE_EXACT_DIGITS ? "NUMERIC" : "DECIMAL_TEXT";
        mr_buf_printf(out, "%s(%u,%d)", name, (unsigned)t.precision, (int)t.scale);
        return;
    }
    if (t.kind == MR_T_BITS && t.precision > 0) {
        mr_buf_printf(out, "BITS_TEXT(%u)", (unsigned)t.precision);
        return;
    }
    if (col->is_key && mr_type_is_integer(t)) {
        mr_buf_append_z(out, "INTEGER");
        return;
    }
    mr_buf_append_z(out, plain_name((enum mr_type_kind)t.kind));
}

/* Names that are read, ours and the usual ones of others. Everything else goes by affinity. */
static const struct {
    const char *name;
    enum mr_type_kind kind;
} names[] = {
    {"BOOLEAN", MR_T_BOOL},       {"BOOL", MR_T_BOOL},
    {"SMALLINT", MR_T_INT16},     {"INT2", MR_T_INT16},          {"TINYINT", MR_T_INT16},
    {"INT", MR_T_INT32},          {"INT4", MR_T_INT32},          {"MEDIUMINT", MR_T_INT32},
    {"FLOAT4", MR_T_FLOAT32},     {"BLOB", MR_T_BYTES},          {"DATE", MR_T_DATE},
    {"TIME", MR_T_TIME},          {"DURATION", MR_T_DURATION},   {"TIMESTAMP", MR_T_TIMESTAMP},
    {"DATETIME", MR_T_TIMESTAMP}, {"TIMESTAMPTZ", MR_T_TIMESTAMPTZ}, {"UUID_TEXT", MR_T_UUID},
    {"UUID", MR_T_UUID},          {"JSON_TEXT", MR_T_JSON},      {"JSON", MR_T_JSON},
    {"BITS_TEXT", MR_T_BITS},     {"DECIMAL_BLOB", MR_T_DECIMAL}, {"DECIMAL_TEXT", MR_T_DECIMAL},
    {"NUMERIC", MR_T_DECIMAL},    {"DECIMAL", MR_T_DECIMAL},
};

static enum mr_type_kind kind_of(const char *name_z)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(names[i].name, name_z) == 0)
            return names[i].kind;
    }
    if (!*name_z)
        return MR_T_NONE;
    switch (affinity_of(name_z)) {
    case MR_AFFINITY_INTEGER:
        return MR_T_INT64;
    case MR_AFFINITY_TEXT:
        return MR_T_TEXT;
    case MR_AFFINITY_REAL:
        return MR_T_FLOAT64;
    case MR_AFFINITY_NONE:
        return MR_T_BYTES;
    case MR_AFFINITY_NUMERIC:
        break;
    }
    return MR_T_NONE;
}

struct mr_type mr_sqlite_type_of_column(struct mr_str native)
{
    struct native n;
    split_native(native, &n);
    enum mr_type_kind kind = kind_of(n.name);
    if (kind == MR_T_BITS)
        return MR_TYPE_BITS(n.arg_count && n.args[0] > 0 && n.args[0] <= UINT16_MAX ? (uint16_t)n.args[0] : 0);
    if (kind != MR_T_DECIMAL)
        return MR_TYPE(kind);
    int64_t precision = n.arg_count > 0 ? n.args[0] : 0, scale = n.arg_count > 1 ? n.args[1] : 0;
    if (precision <= 0 || precision > UINT16_MAX || scale < INT16_MIN || scale > INT16_MAX)
        return MR_TYPE_DECIMAL_OPEN;
    return MR_TYPE_DECIMAL((uint16_t)precision, (int16_t)scale);
}

static int integer_digits(uint8_t kind)
{
    return kind == MR_T_INT16 ? 5 : kind == MR_T_INT32 ? 10 : 19;
}

static bool decimal_holds(struct mr_type have, bool any_digits, struct mr_type type)
{
    if (mr_type_is_integer(type))
        return any_digits || have.precision - have.scale >= integer_digits(type.kind);
    if (type.kind != MR_T_DECIMAL)
        return any_digits && type.kind == MR_T_FLOAT64;
    if (any_digits)
        return true;
    return !type.open && type.scale <= have.scale && type.precision - type.scale <= have.precision - have.scale;
}

static bool is_plain_text(const char *name_z)
{
    return affinity_of(name_z) == MR_AFFINITY_TEXT && kind_of(name_z) == MR_T_TEXT;
}

bool mr_sqlite_native_holds(struct mr_str native, struct mr_type type)
{
    struct native n;
    split_native(native, &n);
    if (!n.name[0])
        return native.len == 0; /* a column without a type takes anything as it is */
    /* Everything is bound as canonical text. Not JSON: the texts that are there would not be JSON, so policy `json` must convert them. */
    if (is_plain_text(n.name))
        return type.kind != MR_T_JSON;

    struct mr_type have = mr_sqlite_type_of_column(native);
    switch ((enum mr_type_kind)have.kind) {
    case MR_T_INT16:
    case MR_T_INT32:
    case MR_T_INT64: /* SQLite's integers have 64 bits whatever they are called */
        return mr_type_is_integer(type) ||
               (type.kind == MR_T_DECIMAL && !type.open && type.scale <= 0 && type.precision - type.scale <= 18);
    case MR_T_DECIMAL:
        if (affinity_of(n.name) == MR_AFFINITY_NONE)
            return decimal_holds(have, true, type);
        if (have.open) /* NUMERIC made by hand: 15 digits are sure, and whole int64 */
            return mr_type_is_integer(type) ||
                   (type.kind == MR_T_DECIMAL && (type.open || type.precision <= MR_SQLITE_EXACT_DIGITS));
        if (affinity_of(n.name) == MR_AFFINITY_NUMERIC && have.precision > MR_SQLITE_EXACT_DIGITS)
            return mr_type_is_integer(type);
        return decimal_holds(have, false, type);
    case MR_T_FLOAT64:
        return type.kind == MR_T_FLOAT64 || type.kind == MR_T_FLOAT32 || type.kind == MR_T_INT32 || type.kind == MR_T_INT16 ||
               (type.kind == MR_T_DECIMAL && !type.open && type.precision <= MR_SQLITE_EXACT_DIGITS);
    case MR_T_FLOAT32:
        return type.kind == MR_T_FLOAT32 || type.kind == MR_T_INT16;
    case MR_T_DURATION:
        return type.kind == MR_T_DURATION || type.kind == MR_T_TIME;
    case MR_T_BITS:
        return type.kind == MR_T_BITS && (have.precision == 0 || have.precision == type.precision);
    case MR_T_NONE:
        return false;
    case MR_T_BOOL:
    case MR_T_TEXT:
    case MR_T_BYTES:
    case MR_T_DATE:
    case MR_T_TIME:
    case MR_T_TIMESTAMP:
    case MR_T_TIMESTAMPTZ:
    case MR_T_UUID:
    case MR_T_JSON:
    case MR_T_ARRAY:
        return have.kind == type.kind;
    }
    return false;
}
