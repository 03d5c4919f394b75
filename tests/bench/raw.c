/* The database alone: the changes of a rows file (gen.c), decoded already, into a table that is there. Every batch is folded to the last
 * change per key, sorted by key, and applied in one transaction: binary COPY into a temporary table, INSERT … ON CONFLICT, DELETE … = ANY.
 * One connection, nothing at the same time as anything else. Prints the changes and the seconds from the first batch's begin to the last
 * one's commit; reading the file does not count.
 *
 *   bench_raw URL SCHEMA TABLE ROWS-FILE [BATCH] */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include <libpq-fe.h>

#include <millrace/base/buf.h>
#include <millrace/base/hash.h>
#include <millrace/base/mem.h>

#define MAX_COLUMNS 200
#define TYPE_INT8 20
#define TYPE_INT8_ARRAY 1016
#define TYPE_TEXT_ARRAY 1009
#define MAX_BYTES ((size_t)1 << 30)

struct change {
    char op;
    struct mr_str key, tuple;
};

struct raw {
    PGconn *conn;
    struct mr_buf file;
    size_t at; /* bytes of the file that are read */
    struct mr_str columns[MAX_COLUMNS];
    size_t column_count;
    uint32_t key_type;
    struct mr_buf upsert, remove; /* statements */
    struct mr_buf copy, keys;
    struct change *changes; /* of the batch */
    size_t batch, count;
    uint32_t *index; /* by hash: place in `changes` + 1 */
    size_t index_size;
};

static void die(const char *what_z, const char *why_z)
{
    fprintf(stderr, "bench_raw: %s: %s\n", what_z, why_z);
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

static uint32_t take_number(struct raw *raw, size_t bytes)
{
    struct mr_str s = take(raw, bytes);
    uint32_t n = 0;

    for (size_t i = 0; i < bytes; i++)
        n = n << 8 | (unsigned char)s.ptr[i];
    return n;
}

static void read_file(struct raw *raw, const char *path_z)
{
    FILE *file = fopen(path_z, "rb");
    struct stat st;

    if (file == NULL || fstat(fileno(file), &st) != 0)
        die(path_z, "cannot open");
    raw->file = MR_BUF_INIT(MAX_BYTES);
    char *to = mr_buf_reserve(&raw->file, (size_t)st.st_size);
    if (to == NULL || fread(to, 1, (size_t)st.st_size, file) != (size_t)st.st_size)
        die(path_z, "cannot read");
    raw->file.len = (size_t)st.st_size;
    fclose(file);

    if (!mr_str_eq_z(take(raw, 8), "MRBENCH1"))
        die(path_z, "no rows file");
    raw->column_count = take_number(raw, 4);
    if (raw->column_count == 0 || raw->column_count > MAX_COLUMNS)
        die(path_z, "too many columns");
    for (size_t i = 0; i < raw->column_count; i++)
        raw->columns[i] = take(raw, take_number(raw, 2));
    raw->key_type = take_number(raw, 4);
}

/* ---- statements ---- */

static void append_ident(struct mr_buf *out, struct mr_str name)
{
    mr_buf_append_char(out, '"');
    mr_buf_append_str(out, name);
    mr_buf_append_char(out, '"');
}

static void append_columns(struct raw *raw, struct mr_buf *out)
{
    for (size_t i = 0; i < raw->column_count; i++) {
        if (i > 0)
            mr_buf_append_char(out, ',');
        append_ident(out, raw->columns[i]);
    }
}

static void run(struct raw *raw, const char *sql_z)
{
    PGresult *res = PQexec(raw->conn, sql_z);

    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        die(sql_z, PQerrorMessage(raw->conn));
    PQclear(res);
}

static void prepare(struct raw *raw, const char *schema_z, const char *table_z)
{
    struct mr_buf target = MR_BUF_INIT(4096), stage = MR_BUF_INIT(MAX_BYTES);

    append_ident(&target, mr_str_z(schema_z));
    mr_buf_append_char(&target, '.');
    append_ident(&target, mr_str_z(table_z));

    mr_buf_append_z(&stage, "CREATE TEMP TABLE stage AS SELECT ");
    append_columns(raw, &stage);
    mr_buf_printf(&stage, " FROM %s LIMIT 0", mr_buf_z(&target));
    run(raw, mr_buf_z(&stage));

    mr_buf_printf(&raw->upsert, "INSERT INTO %s (", mr_buf_z(&target));
    append_columns(raw, &raw->upsert);
    mr_buf_append_z(&raw->upsert, ") SELECT ");
    append_columns(raw, &raw->upsert);
    mr_buf_append_z(&raw->upsert, " FROM stage ON CONFLICT (");
    append_ident(&raw->upsert, raw->columns[0]);
    mr_buf_append_z(&raw->upsert, ") DO UPDATE SET ");
    for (size_t i = 1; i < raw->column_count; i++) {
        mr_buf_append_z(&raw->upsert, i > 1 ? ", " : "");
        append_ident(&raw->upsert, raw->columns[i]);
        mr_buf_append_z(&raw->upsert, " = EXCLUDED.");
        append_ident(&raw->upsert, raw->columns[i]);
    }
    mr_buf_printf(&raw->remove, "DELETE FROM %s WHERE ", mr_buf_z(&target));
    append_ident(&raw->remove, raw->columns[0]);
    mr_buf_append_z(&raw->remove, " = ANY ($1)");
    mr_buf_free(&target);
    mr_buf_free(&stage);
}

/* ---- a batch ---- */

static void fold_in(struct raw *raw, struct change ch)
{
    size_t slot = mr_hash(ch.key.ptr, ch.key.len, 0) & (raw->index_size - 1);

    for (; raw->index[slot] != 0; slot = (slot + 1) & (raw->index_size - 1)) {
        struct change *have = &raw->changes[raw->index[slot] - 1];
        if (mr_str_eq(have->key, ch.key)) {
            *have = ch;
            return;
        }
    }
    raw->changes[raw->count++] = ch;
    raw->index[slot] = (uint32_t)raw->count;
}

static size_t read_batch(struct raw *raw)
{
    size_t taken = 0;

    raw->count = 0;
    memset(raw->index, 0, raw->index_size * sizeof *raw->index);
    for (; taken < raw->batch && raw->at < raw->file.len; taken++) {
        struct change ch = {.op = *take(raw, 1).ptr};

        ch.key = take(raw, take_number(raw, 2));
        ch.tuple = take(raw, take_number(raw, 4));
        fold_in(raw, ch);
    }
    return taken;
}

/* Keys are big-endian and positive, so their bytes are in order. */
static int compare(const void *a, const void *b)
{
    return mr_str_cmp(((const struct change *)a)->key, ((const struct change *)b)->key);
}

static void stage(struct raw *raw)
{
    PGresult *res = PQexec(raw->conn, "COPY stage FROM STDIN (FORMAT binary)");

    if (PQresultStatus(res) != PGRES_COPY_IN)
        die("COPY", PQerrorMessage(raw->conn));
    PQclear(res);
    mr_buf_clear(&raw->copy);
    mr_buf_append(&raw->copy, "PGCOPY\n\377\r\n\0", 11);
    mr_buf_append_u32be(&raw->copy, 0);
    mr_buf_append_u32be(&raw->copy, 0);
    for (size_t i = 0; i < raw->count; i++)
        if (raw->changes[i].op == 'u')
            mr_buf_append_str(&raw->copy, raw->changes[i].tuple);
    mr_buf_append_u16be(&raw->copy, UINT16_MAX);
    if (raw->copy.overflow || PQputCopyData(raw->conn, raw->copy.data, (int)raw->copy.len) != 1 ||
        PQputCopyEnd(raw->conn, NULL) != 1)
        die("COPY", PQerrorMessage(raw->conn));
    while ((res = PQgetResult(raw->conn)) != NULL) {
        if (PQresultStatus(res) != PGRES_COMMAND_OK)
            die("COPY", PQerrorMessage(raw->conn));
        PQclear(res);
    }
}

static void remove_keys(struct raw *raw)
{
    uint32_t count = 0;

    for (size_t i = 0; i < raw->count; i++)
        count += raw->changes[i].op == 'd';
    if (count == 0)
        return;
    mr_buf_clear(&raw->keys);
    mr_buf_append_u32be(&raw->keys, 1);
    mr_buf_append_u32be(&raw->keys, 0);
    mr_buf_append_u32be(&raw->keys, raw->key_type);
    mr_buf_append_u32be(&raw->keys, count);
    mr_buf_append_u32be(&raw->keys, 1);
    for (size_t i = 0; i < raw->count; i++) {
        if (raw->changes[i].op != 'd')
            continue;
        mr_buf_append_u32be(&raw->keys, (uint32_t)raw->changes[i].key.len);
        mr_buf_append_str(&raw->keys, raw->changes[i].key);
    }
    Oid type = raw->key_type == TYPE_INT8 ? TYPE_INT8_ARRAY : TYPE_TEXT_ARRAY;
    const char *values[] = {raw->keys.data};
    int lengths[] = {(int)raw->keys.len}, formats[] = {1};
    PGresult *res = PQexecParams(raw->conn, mr_buf_z(&raw->remove), 1, &type, values, lengths, formats, 0);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        die("DELETE", PQerrorMessage(raw->conn));
    PQclear(res);
}

static void apply(struct raw *raw)
{
    qsort(raw->changes, raw->count, sizeof *raw->changes, compare);
    run(raw, "BEGIN; TRUNCATE stage");
    stage(raw);
    run(raw, mr_buf_z(&raw->upsert));
    remove_keys(raw);
    run(raw, "COMMIT");
}

int main(int argc, char **argv)
{
    struct raw raw = {
        .batch = 5000,
        .upsert = MR_BUF_INIT(MAX_BYTES),
        .remove = MR_BUF_INIT(MAX_BYTES),
        .copy = MR_BUF_INIT(MAX_BYTES),
        .keys = MR_BUF_INIT(MAX_BYTES),
    };
    uint64_t batch = 5000, total = 0;

    if (argc < 5 || (argc > 5 && (!mr_parse_uint64(mr_str_z(argv[5]), &batch) || batch == 0 || batch > 1000000))) {
        fprintf(stderr, "usage: %s URL SCHEMA TABLE ROWS-FILE [BATCH]\n", argv[0]);
        return 2;
    }
    raw.batch = batch;
    raw.changes = mr_xcalloc(raw.batch, sizeof *raw.changes);
    for (raw.index_size = 1024; raw.index_size < raw.batch * 2;)
        raw.index_size *= 2;
    raw.index = mr_xcalloc(raw.index_size, sizeof *raw.index);
    read_file(&raw, argv[4]);
    raw.conn = PQconnectdb(argv[1]);
    if (PQstatus(raw.conn) != CONNECTION_OK)
        die("cannot connect", PQerrorMessage(raw.conn));
    prepare(&raw, argv[2], argv[3]);

    double start = seconds();
    for (size_t taken; (taken = read_batch(&raw)) > 0; total += taken)
        apply(&raw);
    printf("%llu %.6f\n", (unsigned long long)total, seconds() - start);

    PQfinish(raw.conn);
    mr_buf_free(&raw.file);
    mr_buf_free(&raw.upsert);
    mr_buf_free(&raw.remove);
    mr_buf_free(&raw.copy);
    mr_buf_free(&raw.keys);
    mr_xfree(raw.changes);
    mr_xfree(raw.index);
    return 0;
}
