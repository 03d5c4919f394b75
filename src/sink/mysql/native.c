/* Reading native types, and the lengths of key columns: see native.h. */
#include "native.h"

#include <stdio.h>

#include "my.h"

#define MAX_WORD 32
#define MIN_KEY_LENGTH 16 /* characters or bytes: a start for columns that share a key with many others */
#define START_CHARS 255   /* enough for most keys, and three of them fit an index */
#define MAX_SHARES 32     /* columns of a key that MariaDB takes at most */
#define GROW_STEP 64      /* lengths grow by multiples of it, so that not every new key alters the table */

static const struct {
    const char *word_z;
    enum mr_my_base base;
    uint64_t capacity;
} words[] = {
    {"tinyint", MR_MY_TINYINT, 0},       {"smallint", MR_MY_SMALLINT, 0},
    {"mediumint", MR_MY_MEDIUMINT, 0},   {"int", MR_MY_INT, 0},
    {"integer", MR_MY_INT, 0},           {"bigint", MR_MY_BIGINT, 0},
    {"decimal", MR_MY_DECIMAL, 0},       {"numeric", MR_MY_DECIMAL, 0},
    {"float", MR_MY_FLOAT, 0},           {"double", MR_MY_DOUBLE, 0},
    {"char", MR_MY_CHAR, 1},             {"varchar", MR_MY_VARCHAR, 0},
    {"tinytext", MR_MY_TEXT, 255},       {"text", MR_MY_TEXT, 65535},
    {"mediumtext", MR_MY_TEXT, 16777215}, {"longtext", MR_MY_TEXT, UINT32_MAX},
    {"enum", MR_MY_ENUM, 0},             {"set", MR_MY_ENUM, 0},
    {"binary", MR_MY_BINARY, 1},         {"varbinary", MR_MY_VARBINARY, 0},
    {"tinyblob", MR_MY_BLOB, 255},       {"blob", MR_MY_BLOB, 65535},
    {"mediumblob", MR_MY_BLOB, 16777215}, {"longblob", MR_MY_BLOB, UINT32_MAX},
    {"date", MR_MY_DATE, 0},             {"time", MR_MY_TIME, 0},
    {"datetime", MR_MY_DATETIME, 0},     {"timestamp", MR_MY_TIMESTAMP, 0},
    {"year", MR_MY_YEAR, 0},             {"bit", MR_MY_BIT, 0},
    {"json", MR_MY_JSON, 0},             {"uuid", MR_MY_UUID, 0},
};

static size_t word_length(struct mr_str s)
{
    size_t n = 0;
    while (n < s.len && ((s.ptr[n] >= 'a' && s.ptr[n] <= 'z') || (s.ptr[n] >= 'A' && s.ptr[n] <= 'Z')))
        n++;
    return n;
}

/* "(18,2)": numbers only; the list of an ENUM is left alone. Returns what follows. */
static struct mr_str take_args(struct mr_str s, struct mr_my_native *nat)
{
    size_t at = 0;
    if (s.len == 0 || s.ptr[0] != '(')
        return s;
    for (at = 1; at < s.len && nat->arg_count < 2;) {
        uint64_t number = 0;
        size_t digits = 0;
        while (at + digits < s.len && s.ptr[at + digits] >= '0' && s.ptr[at + digits] <= '9' && digits < 10) {
            number = number * 10 + (uint64_t)(s.ptr[at + digits] - '0');
            digits++;
        }
        if (digits == 0)
            break;
        nat->args[nat->arg_count++] = number <= UINT32_MAX ? (unsigned)number : UINT32_MAX;
        at += digits;
        if (at >= s.len || s.ptr[at] != ',')
            break;
        at++;
    }
    if (at < s.len && s.ptr[at] == ')')
        at++;
    return mr_str_of(s.ptr + at, s.len - at);
}

static bool has_word(struct mr_str s, struct mr_str word)
{
    for (size_t i = 0; i + word.len <= s.len; i++)
        if (mr_str_eq_nocase(mr_str_of(s.ptr + i, word.len), word))
            return true;
    return false;
}

struct mr_my_native mr_my_native_parse(struct mr_str native)
{
    struct mr_my_native nat = {.base = MR_MY_OTHER};
    native = mr_str_trim(native);
    struct mr_str word = mr_str_of(native.ptr, word_length(native));

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (!mr_str_eq_nocase(word, mr_str_z(words[i].word_z)))
            continue;
        nat.base = words[i].base;
        nat.capacity = words[i].capacity;
    }
    if (nat.base == MR_MY_OTHER || nat.base == MR_MY_ENUM)
        return nat;
    struct mr_str rest = take_args(mr_str_of(native.ptr + word.len, native.len - word.len), &nat);
    nat.is_unsigned = has_word(rest, MR_STR("unsigned"));
    nat.is_utc = nat.base == MR_MY_DATETIME && has_word(rest, MR_STR("comment '" MR_MY_UTC_COMMENT "'"));
    if (nat.arg_count > 0 && (nat.base == MR_MY_CHAR || nat.base == MR_MY_VARCHAR || nat.base == MR_MY_BINARY || nat.base == MR_MY_VARBINARY))
        nat.capacity = nat.args[0];
    if (nat.base == MR_MY_DECIMAL && nat.arg_count == 0) {
        nat.args[0] = 10;
        nat.arg_count = 1;
    }
    return nat;
}

bool mr_my_is_text(const struct mr_my_native *nat)
{
    return nat->base == MR_MY_CHAR || nat->base == MR_MY_VARCHAR || nat->base == MR_MY_TEXT;
}

bool mr_my_is_bytes(const struct mr_my_native *nat)
{
    return nat->base == MR_MY_BINARY || nat->base == MR_MY_VARBINARY || nat->base == MR_MY_BLOB;
}

bool mr_my_is_integer(const struct mr_my_native *nat)
{
    return nat->base >= MR_MY_TINYINT && nat->base <= MR_MY_BIGINT;
}

/* ---- Lengths of key columns ---- */

bool mr_my_is_bounded_key(struct mr_type type)
{
    switch ((enum mr_type_kind)type.kind) {
    case MR_T_NONE:
    case MR_T_TEXT:
    case MR_T_BYTES:
    case MR_T_JSON:
    case MR_T_ARRAY:
        return true;
    case MR_T_BITS:
        return type.precision == 0 || type.precision > 64;
    case MR_T_BOOL:
    case MR_T_INT16:
    case MR_T_INT32:
    case MR_T_INT64:
    case MR_T_DECIMAL:
    case MR_T_FLOAT32:
    case MR_T_FLOAT64:
    case MR_T_DATE:
    case MR_T_TIME:
    case MR_T_DURATION:
    case MR_T_TIMESTAMP:
    case MR_T_TIMESTAMPTZ:
    case MR_T_UUID:
        break;
    }
    return false;
}

/* Bytes that a column of fixed size takes in an index; never too few. */
static uint32_t fixed_bytes(struct mr_type type)
{
    if (type.kind == MR_T_UUID)
        return 36 * 4;
    return type.kind == MR_T_DECIMAL ? 30 : 8;
}

static uint32_t bytes_per_unit(struct mr_type type)
{
    return type.kind == MR_T_BYTES ? 1 : 4;
}

/* The length that the catalog's column has, 0 if it is none of a bounded type. */
static uint32_t length_now(const struct mr_catalog_table *now, struct mr_str name)
{
    for (size_t i = 0; now && now->exists && i < now->column_count; i++) {
        if (!mr_str_eq(now->columns[i].name, name))
            continue;
        struct mr_my_native nat = mr_my_native_parse(now->columns[i].native);
        return nat.base == MR_MY_VARCHAR || nat.base == MR_MY_VARBINARY ? (uint32_t)nat.capacity : 0;
    }
    return 0;
}

/* What the columns share: the index without those of fixed size. */
static uint32_t shared_bytes(const struct mr_table *tbl, uint32_t *columns)
{
    uint32_t bytes = MR_MY_MAX_KEY_BYTES;

    *columns = 0;
    for (size_t k = 0; k < tbl->key_count; k++) {
        struct mr_type type = tbl->columns[tbl->key_columns[k]].type;
        if (mr_my_is_bounded_key(type)) {
            ++*columns;
            continue;
        }
        uint32_t fixed = fixed_bytes(type);
        bytes = bytes > fixed ? bytes - fixed : 0;
    }
    return bytes;
}

/* Without a reason to take more: all of it for one column, two thirds of an equal share for several, so that something is left to grow. */
static uint32_t start_length(struct mr_type type, uint32_t bytes, uint32_t columns)
{
    uint32_t share = columns > 1 ? bytes / columns * 2 / 3 : bytes;
    uint32_t units = share / bytes_per_unit(type);

    if (columns > 1 && units > START_CHARS)
        units = START_CHARS;
    return units > MIN_KEY_LENGTH ? units : MIN_KEY_LENGTH;
}

static uint32_t wanted_length(const struct mr_column *col)
{
    uint32_t wanted = col->max_len > UINT32_MAX - GROW_STEP ? col->max_len : (col->max_len + GROW_STEP - 1) / GROW_STEP * GROW_STEP;
    uint32_t most = MR_MY_MAX_KEY_BYTES / bytes_per_unit(col->type);
    return wanted < most ? wanted : most;
}

/* A column of the key that shares the room. */
struct share {
    uint32_t column, unit, length, wanted; /* length and wanted: units */
};

/* What is left goes in equal parts to those who want more, until nobody does: a column with a value that will never fit does not take from the others
 * what theirs would. In key order, so that everybody comes to the same lengths. */
static void hand_out(struct share *shares, size_t count, uint32_t left)
{
    for (bool any = true; any;) {
        uint32_t wanting = 0;
        for (size_t i = 0; i < count; i++)
            wanting += shares[i].wanted > shares[i].length && left >= shares[i].unit;
        uint32_t part = wanting ? left / wanting : 0;
        any = false;
        for (size_t i = 0; i < count; i++) {
            uint32_t most = part / shares[i].unit ? part / shares[i].unit : 1;
            uint32_t more = shares[i].wanted > shares[i].length ? shares[i].wanted - shares[i].length : 0;
            more = more < most ? more : most;
            if (more == 0 || more * shares[i].unit > left)
                continue;
            shares[i].length += more;
            left -= more * shares[i].unit;
            any = true;
        }
    }
}

uint32_t mr_my_key_length(const struct mr_table *tbl, uint32_t column, const struct mr_catalog_table *now)
{
    struct share shares[MAX_SHARES];
    uint32_t columns, bytes = shared_bytes(tbl, &columns), used = 0;
    size_t count = 0;

    if (columns > MAX_SHARES)
        return MIN_KEY_LENGTH; /* no server makes such a key */
    for (size_t k = 0; k < tbl->key_count; k++) {
        const struct mr_column *col = &tbl->columns[tbl->key_columns[k]];
        if (!mr_my_is_bounded_key(col->type))
            continue;
        uint32_t unit = bytes_per_unit(col->type), have = length_now(now, col->name);
        uint32_t length = have ? have : start_length(col->type, bytes, columns);
        shares[count++] = (struct share){tbl->key_columns[k], unit, length, wanted_length(col)};
        used += length * unit;
    }
    hand_out(shares, count, used < bytes ? bytes - used : 0);
    for (size_t i = 0; i < count; i++)
        if (shares[i].column == column)
            return shares[i].length;
    return 0;
}
