/* MariaDB alone: the changes of a rows file (gen.c), decoded before the clock starts, into a table that is there. Every batch is folded to the
 * last change per key, sorted by key, and applied in one transaction: INSERT … ON DUPLICATE KEY UPDATE with its rows bound as arrays (one
 * execution), DELETE … IN (…). One connection, nothing at the same time as anything else. Prints the changes and the seconds from the first
 * batch's begin to the last one's commit.
 *
 *   bench_raw_mariadb SOCKET USER DATABASE TABLE SHAPE ROWS-FILE [BATCH] */
#include "rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include <mysql.h>

#include <millrace/base/arena.h>
#include <millrace/base/hash.h>
#include <millrace/base/mem.h>

#define MAX_COLUMNS 100
#define MAX_BYTES ((size_t)1 << 30)
#define POSTGRES_EPOCH_US (INT64_C(946684800) * 1000000)

/* How a value goes to the server. */
enum wire { WIRE_INT, WIRE_BOOL, WIRE_INSTANT, WIRE_TEXT };

struct cell {
    union {
        long long number;
        const char *text;
        MYSQL_TIME *instant;
    } as;
    uint32_t len;
    bool is_null;
};

struct change {
    bool is_delete;
    struct mr_str key;   /* in the file: big-endian or text, so bytes are in order */
    struct cell *cells;
};

/* One column of the batch, bound as arrays. */
struct lane {
    enum wire wire;
    long long *numbers;
    signed char *bools;
    void **pointers;
    unsigned long *lengths;
    char *indicators;
};

struct raw {
    MYSQL *conn;
    MYSQL_STMT *upsert;
    struct mr_arena *ar;
    struct mr_buf file, sql;
    size_t at; /* bytes of the file that are read */
    struct bench_rows rows;
    struct mr_str names[MAX_COLUMNS];
    size_t column_count;
    struct lane lanes[MAX_COLUMNS];
    struct change *all;
    size_t all_count, all_cap;
    struct change *batch;
    size_t batch_rows, count;
    uint32_t *index; /* by hash: place in `batch` + 1 */
    size_t index_size;
    const char *table_z;
};

static void die(const char *what_z, const char *why_z)
{
    fprintf(stderr, "bench_raw_mariadb: %s: %s\n", what_z, why_z);
    exit(1);
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- the file ---- */

static struct mr_str take(struct raw *raw, size_t len)
{
    if (raw->file.len - raw->at < len)
        die("rows file", "cut off");
    struct mr_str s = mr_str_of(raw->file.data + raw->at, len);
    raw->at += len;
    return s;
}

static uint64_t number_of(struct mr_str s)
{
    uint64_t n = 0;

    for (size_t i = 0; i < s.len; i++)
        n = n << 8 | (unsigned char)s.ptr[i];
    return n;
}

static uint32_t take_number(struct raw *raw, size_t bytes)
{
    return (uint32_t)number_of(take(raw, bytes));
}

static enum wire wire_of(const struct raw *raw, size_t i)
{
    switch (raw->rows.columns[i].kind) {
    case KIND_INT:
        return WIRE_INT;
    case KIND_BOOL:
        return WIRE_BOOL;
    case KIND_INSTANT:
        return raw->rows.declared ? WIRE_INSTANT : WIRE_TEXT;
    case KIND_TEXT:
    case KIND_DECIMAL:
    case KIND_JSON:
    case KIND_OID:
        break;
    }
    return WIRE_TEXT;
}

static MYSQL_TIME *instant_of(struct raw *raw, int64_t us)
{
    MYSQL_TIME *out = mr_arena_zalloc(raw->ar, sizeof *out);
    time_t second = (time_t)(us / 1000000);
    struct tm tm;

    gmtime_r(&second, &tm);
    *out = (MYSQL_TIME){.year = (unsigned)tm.tm_year + 1900, .month = (unsigned)tm.tm_mon + 1, .day = (unsigned)tm.tm_mday,
                        .hour = (unsigned)tm.tm_hour, .minute = (unsigned)tm.tm_min, .second = (unsigned)tm.tm_sec,
                        .second_part = (unsigned long)(us % 1000000), .time_type = MYSQL_TIMESTAMP_DATETIME};
    return out;
}

/* PostgreSQL's binary numeric of two fraction digits, as gen.c writes it: groups of four digits. */
static struct mr_str decimal_text(struct raw *raw, struct mr_str s)
{
    size_t groups = (size_t)number_of(mr_str_of(s.ptr, 2));
    int weight = (int16_t)number_of(mr_str_of(s.ptr + 2, 2));
    int64_t cents = 0;

    for (size_t i = 0; i < groups; i++, weight--) {
        int64_t digits = (int64_t)number_of(mr_str_of(s.ptr + 8 + 2 * i, 2));
        int64_t unit = 100;
        for (int w = 0; w < weight; w++)
            unit *= 10000;
        cents += weight < 0 ? digits / 100 : digits * unit;
    }
    return mr_arena_printf(raw->ar, "%lld.%02lld", (long long)(cents / 100), (long long)(cents % 100));
}

static void put_text(struct cell *cell, struct mr_str text)
{
    cell->as.text = text.ptr;
    cell->len = (uint32_t)text.len;
}

static void decode(struct raw *raw, size_t i, struct mr_str s, struct cell *cell)
{
    switch (raw->rows.columns[i].kind) {
    case KIND_INT:
        cell->as.number = s.len == 4 ? (int32_t)number_of(s) : (long long)number_of(s);
        return;
    case KIND_BOOL:
        cell->as.number = s.ptr[0];
        return;
    case KIND_INSTANT:
        if (raw->rows.declared)
            cell->as.instant = instant_of(raw, (int64_t)number_of(s) + POSTGRES_EPOCH_US);
        else
            put_text(cell, s);
        return;
    case KIND_DECIMAL:
        put_text(cell, decimal_text(raw, s));
        return;
    case KIND_JSON: /* jsonb begins with its version */
        put_text(cell, raw->rows.declared ? mr_str_of(s.ptr + 1, s.len - 1) : s);
        return;
    case KIND_TEXT:
    case KIND_OID:
        put_text(cell, s);
        return;
    }
}

static void take_change(struct raw *raw)
{
    struct change ch = {.is_delete = *take(raw, 1).ptr == 'd'};

    ch.key = take(raw, take_number(raw, 2));
    if (take_number(raw, 4) > 0) {
        if (take_number(raw, 2) != raw->column_count)
            die("rows file", "another number of columns");
        ch.cells = mr_arena_zalloc(raw->ar, raw->column_count * sizeof *ch.cells);
        for (size_t i = 0; i < raw->column_count; i++) {
            uint32_t len = take_number(raw, 4);
            ch.cells[i].is_null = len == UINT32_MAX;
            if (!ch.cells[i].is_null)
                decode(raw, i, take(raw, len), &ch.cells[i]);
        }
    }
    raw->all = mr_xgrow(raw->all, &raw->all_cap, raw->all_count + 1, sizeof *raw->all);
    raw->all[raw->all_count++] = ch;
}

static void read_file(struct raw *raw, const char *path_z)
{
    FILE *file = fopen(path_z, "rb");
    struct stat st;

    if (file == NULL || fstat(fileno(file), &st) != 0)
        die(path_z, "cannot open");
    char *to = mr_buf_reserve(&raw->file, (size_t)st.st_size);
    if (to == NULL || fread(to, 1, (size_t)st.st_size, file) != (size_t)st.st_size)
        die(path_z, "cannot read");
    raw->file.len = (size_t)st.st_size;
    fclose(file);

    if (!mr_str_eq_z(take(raw, 8), "MRBENCH1"))
        die(path_z, "no rows file");
    raw->column_count = take_number(raw, 4);
    if (raw->column_count != raw->rows.column_count)
        die(path_z, "another shape");
    for (size_t i = 0; i < raw->column_count; i++)
        raw->names[i] = take(raw, take_number(raw, 2));
    take_number(raw, 4);
    while (raw->at < raw->file.len)
        take_change(raw);
}

/* ---- statements ---- */

static void run(struct raw *raw, const char *sql_z, size_t len)
{
    if (mysql_real_query(raw->conn, sql_z, len) != 0)
        die("statement", mysql_error(raw->conn));
}

static void run_z(struct raw *raw, const char *sql_z)
{
    run(raw, sql_z, strlen(sql_z));
}

static void prepare(struct raw *raw)
{
    struct mr_buf *sql = &raw->sql;

    mr_buf_printf(sql, "INSERT INTO `%s` (", raw->table_z);
    for (size_t i = 0; i < raw->column_count; i++)
        mr_buf_printf(sql, "%s`%.*s`", i > 0 ? "," : "", MR_STR_FMT(raw->names[i]));
    mr_buf_append_z(sql, ") VALUES (");
    for (size_t i = 0; i < raw->column_count; i++)
        mr_buf_append_z(sql, i > 0 ? ",?" : "?");
    mr_buf_append_z(sql, ") ON DUPLICATE KEY UPDATE ");
    for (size_t i = 1; i < raw->column_count; i++)
        mr_buf_printf(sql, "%s`%.*s` = VALUES(`%.*s`)", i > 1 ? "," : "", MR_STR_FMT(raw->names[i]), MR_STR_FMT(raw->names[i]));
    raw->upsert = mysql_stmt_init(raw->conn);
    if (raw->upsert == NULL || mysql_stmt_prepare(raw->upsert, sql->data, sql->len) != 0)
        die(mr_buf_z(sql), mysql_error(raw->conn));
}

static void make_lanes(struct raw *raw)
{
    for (size_t i = 0; i < raw->column_count; i++) {
        struct lane *lane = &raw->lanes[i];
        lane->wire = wire_of(raw, i);
        lane->numbers = mr_xcalloc(raw->batch_rows, sizeof *lane->numbers);
        lane->bools = mr_xcalloc(raw->batch_rows, sizeof *lane->bools);
        lane->pointers = mr_xcalloc(raw->batch_rows, sizeof *lane->pointers);
        lane->lengths = mr_xcalloc(raw->batch_rows, sizeof *lane->lengths);
        lane->indicators = mr_xcalloc(raw->batch_rows, 1);
    }
}

static void free_lanes(struct raw *raw)
{
    for (size_t i = 0; i < raw->column_count; i++) {
        mr_xfree(raw->lanes[i].numbers);
        mr_xfree(raw->lanes[i].bools);
        mr_xfree(raw->lanes[i].pointers);
        mr_xfree(raw->lanes[i].lengths);
        mr_xfree(raw->lanes[i].indicators);
    }
}

/* ---- a batch ---- */

static void fold_in(struct raw *raw, const struct change *ch)
{
    size_t slot = mr_hash(ch->key.ptr, ch->key.len, 0) & (raw->index_size - 1);

    for (; raw->index[slot] != 0; slot = (slot + 1) & (raw->index_size - 1)) {
        struct change *have = &raw->batch[raw->index[slot] - 1];
        if (mr_str_eq(have->key, ch->key)) {
            *have = *ch;
            return;
        }
    }
    raw->batch[raw->count++] = *ch;
    raw->index[slot] = (uint32_t)raw->count;
}

static int compare(const void *a, const void *b)
{
    return mr_str_cmp(((const struct change *)a)->key, ((const struct change *)b)->key);
}

static void fill_cell(struct lane *lane, const struct cell *cell, size_t row)
{
    lane->indicators[row] = cell->is_null ? STMT_INDICATOR_NULL : STMT_INDICATOR_NONE;
    switch (lane->wire) {
    case WIRE_INT:
        lane->numbers[row] = cell->as.number;
        break;
    case WIRE_BOOL:
        lane->bools[row] = (signed char)cell->as.number;
        break;
    case WIRE_INSTANT:
        lane->pointers[row] = cell->as.instant;
        break;
    case WIRE_TEXT:
        memcpy(&lane->pointers[row], &cell->as.text, sizeof cell->as.text);
        lane->lengths[row] = cell->len;
        break;
    }
}

static void upsert(struct raw *raw)
{
    static const enum enum_field_types types[] = {
        [WIRE_INT] = MYSQL_TYPE_LONGLONG, [WIRE_BOOL] = MYSQL_TYPE_TINY, [WIRE_INSTANT] = MYSQL_TYPE_DATETIME,
        [WIRE_TEXT] = MYSQL_TYPE_STRING};
    MYSQL_BIND binds[MAX_COLUMNS] = {{0}};
    unsigned rows = 0;

    for (size_t r = 0; r < raw->count; r++) {
        if (raw->batch[r].is_delete)
            continue;
        for (size_t i = 0; i < raw->column_count; i++)
            fill_cell(&raw->lanes[i], &raw->batch[r].cells[i], rows);
        rows++;
    }
    if (rows == 0)
        return;
    for (size_t i = 0; i < raw->column_count; i++) {
        struct lane *lane = &raw->lanes[i];
        binds[i].buffer_type = types[lane->wire];
        binds[i].buffer = lane->wire == WIRE_INT ? (void *)lane->numbers : lane->wire == WIRE_BOOL ? (void *)lane->bools : lane->pointers;
        binds[i].length = lane->lengths;
        binds[i].u.indicator = lane->indicators;
    }
    mysql_stmt_attr_set(raw->upsert, STMT_ATTR_ARRAY_SIZE, &rows);
    if (mysql_stmt_bind_param(raw->upsert, binds) != 0 || mysql_stmt_execute(raw->upsert) != 0)
        die("INSERT", mysql_stmt_error(raw->upsert));
}

static void remove_keys(struct raw *raw)
{
    bool is_text = raw->lanes[0].wire == WIRE_TEXT;
    size_t count = 0;

    mr_buf_clear(&raw->sql);
    mr_buf_printf(&raw->sql, "DELETE FROM `%s` WHERE `%.*s` IN (", raw->table_z, MR_STR_FMT(raw->names[0]));
    for (size_t i = 0; i < raw->count; i++) {
        if (!raw->batch[i].is_delete)
            continue;
        if (is_text) /* hexadecimal digits: nothing to quote */
            mr_buf_printf(&raw->sql, "%s'%.*s'", count++ > 0 ? "," : "", MR_STR_FMT(raw->batch[i].key));
        else
            mr_buf_printf(&raw->sql, "%s%lld", count++ > 0 ? "," : "", (long long)number_of(raw->batch[i].key));
    }
    mr_buf_append_char(&raw->sql, ')');
    if (count > 0)
        run(raw, raw->sql.data, raw->sql.len);
}

static void apply(struct raw *raw, size_t first, size_t count)
{
    raw->count = 0;
    memset(raw->index, 0, raw->index_size * sizeof *raw->index);
    for (size_t i = 0; i < count; i++)
        fold_in(raw, &raw->all[first + i]);
    qsort(raw->batch, raw->count, sizeof *raw->batch, compare);
    run_z(raw, "START TRANSACTION");
    upsert(raw);
    remove_keys(raw);
    run_z(raw, "COMMIT");
}

int main(int argc, char **argv)
{
    struct raw raw = {.file = MR_BUF_INIT(MAX_BYTES), .sql = MR_BUF_INIT(MAX_BYTES), .ar = mr_arena_create(1u << 20)};
    uint64_t batch = 5000;

    if (argc < 7 || (argc > 7 && (!mr_parse_uint64(mr_str_z(argv[7]), &batch) || batch == 0 || batch > 1000000)) ||
        !bench_rows_init(&raw.rows, argv[5])) {
        fprintf(stderr, "usage: %s SOCKET USER DATABASE TABLE SHAPE ROWS-FILE [BATCH]\n", argv[0]);
        return 2;
    }
    raw.table_z = argv[4];
    raw.batch_rows = batch;
    raw.batch = mr_xcalloc(raw.batch_rows, sizeof *raw.batch);
    for (raw.index_size = 1024; raw.index_size < raw.batch_rows * 2;)
        raw.index_size *= 2;
    raw.index = mr_xcalloc(raw.index_size, sizeof *raw.index);
    read_file(&raw, argv[6]);
    raw.conn = mysql_init(NULL);
    mysql_optionsv(raw.conn, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    if (mysql_real_connect(raw.conn, "localhost", argv[2], "", argv[3], 0, argv[1], 0) == NULL)
        die("cannot connect", mysql_error(raw.conn));
    run_z(&raw, "SET SESSION time_zone = '+00:00', sql_mode = 'STRICT_ALL_TABLES'");
    run_z(&raw, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    prepare(&raw);
    make_lanes(&raw);

    double start = seconds();
    for (size_t first = 0; first < raw.all_count; first += raw.batch_rows)
        apply(&raw, first, raw.all_count - first < raw.batch_rows ? raw.all_count - first : raw.batch_rows);
    printf("%zu %.6f\n", raw.all_count, seconds() - start);

    mysql_stmt_close(raw.upsert);
    mysql_close(raw.conn);
    free_lanes(&raw);
    mr_arena_destroy(raw.ar);
    mr_buf_free(&raw.file);
    mr_buf_free(&raw.sql);
    mr_xfree(raw.all);
    mr_xfree(raw.batch);
    mr_xfree(raw.index);
    bench_rows_free(&raw.rows);
    return 0;
}
