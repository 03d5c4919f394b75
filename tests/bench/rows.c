/* Rows of the benchmark: see rows.h. */
#include "rows.h"

#include <stdio.h>
#include <string.h>

#include <millrace/base/encode.h>
#include <millrace/base/time.h>

#define TYPE_INT8 20
#define TYPE_TEXT 25
#define POSTGRES_EPOCH_SECONDS INT64_C(946684800)
#define FIRST_SECOND INT64_C(1700000000)
#define YEAR_SECONDS 31536000

uint64_t bench_mix(uint64_t a, uint64_t b)
{
    uint64_t x = a * UINT64_C(0x9E3779B97F4A7C15) + b * UINT64_C(0xC2B2AE3D27D4EB4F) + UINT64_C(0x165667B19E3779F9);

    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

/* ---- columns ---- */

static void add(struct bench_rows *rows, const char *name_z, const char *path_z, struct bench_column col)
{
    struct bench_column *at = &rows->columns[rows->column_count++];

    *at = col;
    at->path_z = path_z;
    snprintf(at->name, sizeof at->name, "%s", name_z);
}

static void narrow(struct bench_rows *rows)
{
    add(rows, "id", NULL, (struct bench_column){.kind = KIND_INT, .is_long = true});
    add(rows, "cust", NULL, (struct bench_column){.kind = KIND_INT});
    add(rows, "qty", NULL, (struct bench_column){.kind = KIND_INT});
    add(rows, "big", NULL, (struct bench_column){.kind = KIND_INT, .is_long = true});
    add(rows, "name", NULL, (struct bench_column){.kind = KIND_TEXT, .min_len = 20, .max_len = 35});
    add(rows, "email", NULL, (struct bench_column){.kind = KIND_TEXT, .min_len = 24, .max_len = 32});
    add(rows, "status", NULL, (struct bench_column){.kind = KIND_TEXT, .min_len = 4, .max_len = 8});
    add(rows, "cre", NULL, (struct bench_column){.kind = KIND_INSTANT});
    add(rows, "upd", NULL, (struct bench_column){.kind = KIND_INSTANT});
    add(rows, "amount", NULL, (struct bench_column){.kind = KIND_DECIMAL});
    add(rows, "active", NULL, (struct bench_column){.kind = KIND_BOOL});
    add(rows, "attrs", NULL, (struct bench_column){.kind = KIND_JSON});
}

static void wide(struct bench_rows *rows)
{
    static const struct bench_column cycle[] = {
        {.kind = KIND_INT},
        {.kind = KIND_TEXT, .min_len = 6, .max_len = 14},
        {.kind = KIND_DECIMAL},
        {.kind = KIND_BOOL},
        {.kind = KIND_TEXT, .min_len = 10, .max_len = 30, .null_percent = 60},
        {.kind = KIND_INT, .is_long = true},
        {.kind = KIND_INSTANT},
        {.kind = KIND_INT, .null_percent = 30},
    };

    add(rows, "id", NULL, (struct bench_column){.kind = KIND_INT, .is_long = true});
    for (unsigned i = 1; i < 100; i++) {
        char name[24];

        snprintf(name, sizeof name, "column_%02u", i);
        add(rows, name, NULL, cycle[i % (sizeof cycle / sizeof *cycle)]);
    }
}

static void mongo(struct bench_rows *rows)
{
    add(rows, "_id", "_id", (struct bench_column){.kind = KIND_OID});
    add(rows, "customer_name", "customer.name", (struct bench_column){.kind = KIND_TEXT, .min_len = 20, .max_len = 35});
    add(rows, "customer_email", "customer.email", (struct bench_column){.kind = KIND_TEXT, .min_len = 24, .max_len = 32});
    add(rows, "customer_address_city", "customer.address.city",
        (struct bench_column){.kind = KIND_TEXT, .min_len = 5, .max_len = 12});
    add(rows, "customer_address_zip", "customer.address.zip",
        (struct bench_column){.kind = KIND_TEXT, .min_len = 5, .max_len = 5});
    add(rows, "qty", "qty", (struct bench_column){.kind = KIND_INT});
    add(rows, "big", "big", (struct bench_column){.kind = KIND_INT, .is_long = true});
    add(rows, "amount", "amount", (struct bench_column){.kind = KIND_DECIMAL});
    add(rows, "cre", "cre", (struct bench_column){.kind = KIND_INSTANT});
    add(rows, "active", "active", (struct bench_column){.kind = KIND_BOOL});
    add(rows, "status", "status", (struct bench_column){.kind = KIND_TEXT, .min_len = 4, .max_len = 8});
    add(rows, "tags", "tags", (struct bench_column){.kind = KIND_JSON});
}

/* ---- the Connect schema of an envelope ---- */

static const char *schema_of(const struct bench_column *col)
{
    switch (col->kind) {
    case KIND_INT:
        return col->is_long ? "\"type\":\"int64\"" : "\"type\":\"int32\"";
    case KIND_TEXT:
    case KIND_OID:
        return "\"type\":\"string\"";
    case KIND_DECIMAL:
        return "\"type\":\"bytes\",\"name\":\"org.apache.kafka.connect.data.Decimal\",\"version\":1,"
               "\"parameters\":{\"scale\":\"2\",\"connect.decimal.precision\":\"18\"}";
    case KIND_INSTANT:
        return "\"type\":\"string\",\"name\":\"io.debezium.time.ZonedTimestamp\",\"version\":1";
    case KIND_BOOL:
        return "\"type\":\"boolean\"";
    case KIND_JSON:
        return "\"type\":\"string\",\"name\":\"io.debezium.data.Json\",\"version\":1";
    }
    return "";
}

static void row_schema(const struct bench_rows *rows, const char *member_z, struct mr_buf *out)
{
    mr_buf_append_z(out, "{\"type\":\"struct\",\"fields\":[");
    for (size_t i = 0; i < rows->column_count; i++)
        mr_buf_printf(out, "%s{%s,\"optional\":%s,\"field\":\"%s\"}", i > 0 ? "," : "", schema_of(&rows->columns[i]),
                      i > 0 ? "true" : "false", rows->columns[i].name);
    mr_buf_printf(out, "],\"optional\":true,\"name\":\"bench.shop.t.Value\",\"field\":\"%s\"}", member_z);
}

static void envelope_schema(struct bench_rows *rows)
{
    static const char *const source[][2] = {
        {"version", "string"},  {"connector", "string"}, {"name", "string"},  {"ts_ms", "int64"},
        {"snapshot", "string"}, {"db", "string"},        {"table", "string"}, {"server_id", "int64"},
        {"file", "string"},     {"pos", "int64"},        {"row", "int32"},    {"thread", "int64"},
    };
    struct mr_buf *out = &rows->schema;

    mr_buf_append_z(out, "{\"type\":\"struct\",\"fields\":[");
    row_schema(rows, "before", out);
    mr_buf_append_char(out, ',');
    row_schema(rows, "after", out);
    mr_buf_append_z(out, ",{\"type\":\"struct\",\"fields\":[");
    for (size_t i = 0; i < sizeof source / sizeof *source; i++)
        mr_buf_printf(out, "%s{\"type\":\"%s\",\"optional\":true,\"field\":\"%s\"}", i > 0 ? "," : "", source[i][1],
                      source[i][0]);
    mr_buf_append_z(out, "],\"optional\":false,\"name\":\"io.debezium.connector.mysql.Source\",\"field\":\"source\"},"
                         "{\"type\":\"string\",\"optional\":false,\"field\":\"op\"},"
                         "{\"type\":\"int64\",\"optional\":true,\"field\":\"ts_ms\"}],"
                         "\"optional\":false,\"name\":\"bench.shop.t.Envelope\",\"version\":2}");
}

bool bench_rows_init(struct bench_rows *rows, const char *shape_z)
{
    static const char *const names[] = {"narrow", "narrow-schema", "wide", "mongo"};
    size_t i = 0;

    while (i < 4 && strcmp(names[i], shape_z) != 0)
        i++;
    if (i == 4)
        return false;
    *rows = (struct bench_rows){.shape = (enum bench_shape)i, .schema = MR_BUF_INIT(1u << 20)};
    rows->declared = rows->shape == SHAPE_NARROW_SCHEMA || rows->shape == SHAPE_MONGO;
    if (rows->shape == SHAPE_WIDE)
        wide(rows);
    else if (rows->shape == SHAPE_MONGO)
        mongo(rows);
    else
        narrow(rows);
    if (rows->shape == SHAPE_NARROW_SCHEMA)
        envelope_schema(rows);
    return true;
}

void bench_rows_free(struct bench_rows *rows)
{
    mr_buf_free(&rows->schema);
}

/* ---- one value ---- */

static uint64_t draw(uint64_t key, uint64_t version, size_t column)
{
    return bench_mix(key, version * 128 + column);
}

static bool is_null(const struct bench_column *col, uint64_t h)
{
    return col->null_percent > 0 && (h >> 40) % 100 < col->null_percent;
}

static int64_t whole(const struct bench_rows *rows, size_t i, uint64_t key, uint64_t h)
{
    if (i == 0)
        return (int64_t)key;
    return rows->columns[i].is_long ? (int64_t)(h >> 12) : (int64_t)(h % 1000000);
}

static int64_t cents(uint64_t h)
{
    return (int64_t)(h % 100000000);
}

static int64_t second(uint64_t h)
{
    return FIRST_SECOND + (int64_t)(h % YEAR_SECONDS);
}

/* Letters and blanks, as long as the column wants them. Buffer of 64 bytes. */
static struct mr_str words(const struct bench_column *col, uint64_t h, char out[64])
{
    static const char letters[] = "etaoinshrdlucmfwypvbgkjqxz .@-_01";
    size_t len = col->min_len + (size_t)(h % (col->max_len - col->min_len + 1));

    for (size_t i = 0; i < len; i++) {
        h = h * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        out[i] = letters[(h >> 59) & 31];
    }
    return mr_str_of(out, len);
}

/* Buffer of MR_TIME_TEXT + 1 bytes. */
static struct mr_str instant_text(uint64_t h, char *out)
{
    size_t len = mr_format_timestamp(second(h) * 1000000, 'T', false, out);

    out[len++] = 'Z';
    return mr_str_of(out, len);
}

static struct mr_str json_text(uint64_t h, bool is_list, char out[128])
{
    int len = is_list ? snprintf(out, 128, "[\"tag%u\",\"amber\",\"basil%u\"]", (unsigned)(h % 50), (unsigned)(h >> 58))
                      : snprintf(out, 128, "{\"src\": \"web\", \"tags\": [\"amber\", \"basil\"], \"score\": %u, \"note\": \"say %llx\"}",
                                 (unsigned)(h % 1000), (unsigned long long)h);
    return mr_str_of(out, (size_t)len);
}

static struct mr_str oid_text(uint64_t key, char out[32])
{
    snprintf(out, 32, "65a0b1c2d3e4%012llx", (unsigned long long)key);
    return mr_str_of(out, 24);
}

/* ---- JSON ---- */

static void decimal_json(const struct bench_rows *rows, int64_t v, struct mr_buf *out)
{
    if (rows->shape == SHAPE_NARROW_SCHEMA) { /* the unscaled number's bytes */
        char bytes[8];
        size_t len = 1;

        while (len < 8 && v >> (8 * len - 1) != 0)
            len++;
        for (size_t i = 0; i < len; i++)
            bytes[i] = (char)(v >> (8 * (len - 1 - i)));
        mr_buf_append_char(out, '"');
        mr_base64_append(out, mr_str_of(bytes, len));
        mr_buf_append_char(out, '"');
        return;
    }
    mr_buf_printf(out, rows->shape == SHAPE_MONGO ? "{\"$numberDecimal\": \"%lld.%02lld\"}" : "%lld.%02lld",
                  (long long)(v / 100), (long long)(v % 100));
}

static void value_json(const struct bench_rows *rows, size_t i, uint64_t key, uint64_t version, struct mr_buf *out)
{
    const struct bench_column *col = &rows->columns[i];
    uint64_t h = draw(key, version, i);
    bool is_mongo = rows->shape == SHAPE_MONGO;
    char text[128];

    if (is_null(col, h)) {
        mr_buf_append_z(out, "null");
        return;
    }
    switch (col->kind) {
    case KIND_INT:
        mr_buf_printf(out, is_mongo && col->is_long ? "{\"$numberLong\": \"%lld\"}" : "%lld", (long long)whole(rows, i, key, h));
        break;
    case KIND_TEXT:
        mr_buf_append_json(out, words(col, h, text));
        break;
    case KIND_DECIMAL:
        decimal_json(rows, cents(h), out);
        break;
    case KIND_INSTANT:
        if (is_mongo)
            mr_buf_printf(out, "{\"$date\": %lld}", (long long)second(h) * 1000);
        else
            mr_buf_append_json(out, instant_text(h, text));
        break;
    case KIND_BOOL:
        mr_buf_append_z(out, h & 1 ? "true" : "false");
        break;
    case KIND_JSON:
        if (is_mongo)
            mr_buf_append_str(out, json_text(h, true, text));
        else
            mr_buf_append_json(out, json_text(h, false, text));
        break;
    case KIND_OID:
        mr_buf_printf(out, "{\"$oid\": \"%.*s\"}", MR_STR_FMT(oid_text(key, text)));
        break;
    }
}

/* How many members of the path are the same. */
static size_t common_depth(const char *a, const char *b)
{
    size_t depth = 0;

    for (size_t i = 0; a[i] == b[i] && a[i] != '\0'; i++)
        depth += a[i] == '.';
    return depth;
}

static size_t depth_of(const char *path)
{
    size_t depth = 0;

    for (; *path != '\0'; path++)
        depth += *path == '.';
    return depth;
}

/* Columns of one sub-document stand side by side, so the paths can be walked in order. */
static void document_json(const struct bench_rows *rows, uint64_t key, uint64_t version, struct mr_buf *out)
{
    const char *last = "";
    size_t open = 0;

    mr_buf_append_char(out, '{');
    for (size_t i = 0; i < rows->column_count; i++) {
        const char *path = rows->columns[i].path_z;
        size_t keep = common_depth(last, path);

        for (; open > keep; open--)
            mr_buf_append_char(out, '}');
        if (i > 0)
            mr_buf_append_z(out, ", ");
        const char *at = path;
        for (size_t k = 0; k < keep; k++)
            at = strchr(at, '.') + 1;
        for (size_t depth = depth_of(path); open < depth; open++) {
            const char *dot = strchr(at, '.');
            mr_buf_printf(out, "\"%.*s\": {", (int)(dot - at), at);
            at = dot + 1;
        }
        mr_buf_printf(out, "\"%s\": ", at);
        value_json(rows, i, key, version, out);
        last = path;
    }
    for (; open > 0; open--)
        mr_buf_append_char(out, '}');
    mr_buf_append_char(out, '}');
}

void bench_row_json(const struct bench_rows *rows, uint64_t key, uint64_t version, struct mr_buf *out)
{
    if (rows->shape == SHAPE_MONGO) {
        document_json(rows, key, version, out);
        return;
    }
    for (size_t i = 0; i < rows->column_count; i++) {
        mr_buf_printf(out, "%c\"%s\":", i > 0 ? ',' : '{', rows->columns[i].name);
        value_json(rows, i, key, version, out);
    }
    mr_buf_append_char(out, '}');
}

void bench_key_json(const struct bench_rows *rows, uint64_t key, struct mr_buf *out)
{
    char text[32];

    if (rows->shape == SHAPE_MONGO)
        mr_buf_printf(out, "{\"id\":\"{\\\"$oid\\\": \\\"%.*s\\\"}\"}", MR_STR_FMT(oid_text(key, text)));
    else
        mr_buf_printf(out, "{\"id\":%llu}", (unsigned long long)key);
}

/* ---- PostgreSQL's binary formats ---- */

static void numeric_binary(int64_t v, struct mr_buf *out)
{
    uint16_t digits[8];
    size_t first = 6; /* the fraction's group stands at 6 */
    int64_t left = v / 100;

    digits[6] = (uint16_t)(v % 100 * 100);
    for (; left > 0; left /= 10000)
        digits[--first] = (uint16_t)(left % 10000);
    size_t end = 7;
    while (end > first && digits[end - 1] == 0)
        end--;
    while (first < end && digits[first] == 0)
        first++;
    mr_buf_append_u16be(out, (uint16_t)(end - first));
    mr_buf_append_u16be(out, first == end ? 0 : (uint16_t)(int16_t)(5 - (int)first));
    mr_buf_append_u16be(out, 0);
    mr_buf_append_u16be(out, 2);
    for (size_t i = first; i < end; i++)
        mr_buf_append_u16be(out, digits[i]);
}

static void int_binary(const struct bench_rows *rows, const struct bench_column *col, int64_t v, struct mr_buf *out)
{
    if (rows->shape == SHAPE_NARROW_SCHEMA && !col->is_long)
        mr_buf_append_u32be(out, (uint32_t)v);
    else
        mr_buf_append_u64be(out, (uint64_t)v);
}

static void value_binary(const struct bench_rows *rows, size_t i, uint64_t key, uint64_t h, struct mr_buf *out)
{
    const struct bench_column *col = &rows->columns[i];
    char text[128];

    switch (col->kind) {
    case KIND_INT:
        int_binary(rows, col, whole(rows, i, key, h), out);
        break;
    case KIND_TEXT:
        mr_buf_append_str(out, words(col, h, text));
        break;
    case KIND_DECIMAL:
        numeric_binary(cents(h), out);
        break;
    case KIND_INSTANT:
        if (rows->declared)
            mr_buf_append_u64be(out, (uint64_t)((second(h) - POSTGRES_EPOCH_SECONDS) * 1000000));
        else
            mr_buf_append_str(out, instant_text(h, text));
        break;
    case KIND_BOOL:
        mr_buf_append_char(out, (char)(h & 1));
        break;
    case KIND_JSON:
        if (rows->declared)
            mr_buf_append_char(out, 1); /* version of the format of jsonb */
        mr_buf_append_str(out, json_text(h, rows->shape == SHAPE_MONGO, text));
        break;
    case KIND_OID:
        mr_buf_append_str(out, oid_text(key, text));
        break;
    }
}

static void put_length(struct mr_buf *out, size_t at)
{
    uint32_t len = (uint32_t)(out->len - at - 4);

    for (int i = 0; i < 4; i++)
        out->data[at + (size_t)i] = (char)(len >> (24 - 8 * i));
}

void bench_row_tuple(const struct bench_rows *rows, uint64_t key, uint64_t version, struct mr_buf *out)
{
    mr_buf_append_u16be(out, (uint16_t)rows->column_count);
    for (size_t i = 0; i < rows->column_count; i++) {
        uint64_t h = draw(key, version, i);
        size_t at = out->len;

        mr_buf_append_u32be(out, UINT32_MAX);
        if (is_null(&rows->columns[i], h))
            continue;
        value_binary(rows, i, key, h, out);
        put_length(out, at);
    }
}

void bench_key_binary(const struct bench_rows *rows, uint64_t key, struct mr_buf *out)
{
    value_binary(rows, 0, key, 0, out);
}

uint32_t bench_key_type(const struct bench_rows *rows)
{
    return rows->shape == SHAPE_MONGO ? TYPE_TEXT : TYPE_INT8;
}
