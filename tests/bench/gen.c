/* The benchmark's stream: Debezium events as JSON lines for `millrace backfill`, and the same changes as tuples for the raw client.
 * The same arguments give the same bytes.
 *
 *   bench_gen SHAPE LOAD EVENTS SEEDED [--events FILE] [--messages FILE] [--rows FILE]
 *
 *   SHAPE  narrow (12 columns, MySQL envelopes), narrow-schema (the same with the converter's schemas), wide (100 columns), mongo
 *          (nested documents)
 *   LOAD   seed: the rows that are there before, keys 1 … SEEDED (EVENTS is not used)
 *          insert: new keys
 *          mixed: half new keys, half updates all over the seeded keys
 *          delete: the same, and one event in ten deletes a seeded key
 *          hot: updates, Zipf (s = 0.99) over the seeded keys
 *
 * Messages file: the events' key and value, a tabulator between them, as kcat -P -K takes them.
 *
 * Rows file: "MRBENCH1", u32 columns, a name (u16 length) each, u32 type of the key (the first column), then per change: u8 'u' or 'd', u16
 * length and the key, u32 length and the tuple (none for 'd'). All big-endian. */
#include "rows.h"

#include <math.h>
#include <stdio.h>

#include <millrace/base/mem.h>

#define FLUSH_BYTES ((size_t)1 << 20)
#define START_MS INT64_C(1764500000000)

enum load { LOAD_SEED, LOAD_INSERT, LOAD_MIXED, LOAD_DELETE, LOAD_HOT };

struct gen {
    struct bench_rows rows;
    enum load load;
    uint64_t events, seeded;
    FILE *events_file, *messages_file, *rows_file; /* NULL: not wanted */
    struct mr_buf lines, messages, tuples, row;
    double *zipf; /* HOT: the probability of the keys up to this one */
    bool failed;
};

struct change {
    char op; /* c, u, d, r */
    uint64_t key, version;
};

/* ---- what happens ---- */

static void make_zipf(struct gen *g)
{
    double sum = 0;

    g->zipf = mr_xcalloc(g->seeded, sizeof *g->zipf);
    for (uint64_t i = 0; i < g->seeded; i++)
        g->zipf[i] = sum += pow((double)(i + 1), -0.99);
    for (uint64_t i = 0; i < g->seeded; i++)
        g->zipf[i] /= sum;
}

/* The hottest keys do not stand side by side: 7919 is prime, so ranks and keys go one to one unless it divides the count. */
static uint64_t hot_key(const struct gen *g, uint64_t h)
{
    double u = (double)(h >> 11) / 9007199254740992.0;
    uint64_t low = 0, high = g->seeded - 1;

    while (low < high) {
        uint64_t mid = (low + high) / 2;
        if (g->zipf[mid] < u)
            low = mid + 1;
        else
            high = mid;
    }
    return 1 + low * 7919 % g->seeded;
}

static struct change change_at(const struct gen *g, uint64_t i)
{
    uint64_t h = bench_mix(i, UINT64_C(0xBE9C4));
    uint64_t old = 1 + (h >> 20) % (g->seeded > 0 ? g->seeded : 1);
    struct change ch = {'c', g->seeded + 1 + i, i + 1};

    switch (g->load) {
    case LOAD_SEED:
        return (struct change){'r', i + 1, 0};
    case LOAD_INSERT:
        return ch;
    case LOAD_DELETE:
        if (h % 10 == 0)
            return (struct change){'d', old, i + 1};
        return h >> 8 & 1 ? ch : (struct change){'u', old, i + 1};
    case LOAD_MIXED:
        return h & 1 ? ch : (struct change){'u', old, i + 1};
    case LOAD_HOT:
        return (struct change){'u', hot_key(g, h), i + 1};
    }
    return ch;
}

/* ---- as an event ---- */

static void image(struct gen *g, const char *member_z, bool is_there, const struct change *ch, uint64_t version,
                  struct mr_buf *out)
{
    mr_buf_printf(out, "\"%s\":", member_z);
    mr_buf_clear(&g->row);
    if (is_there)
        bench_row_json(&g->rows, ch->key, version, &g->row);
    if (!is_there)
        mr_buf_append_z(out, "null");
    else if (g->rows.shape == SHAPE_MONGO)
        mr_buf_append_json(out, mr_buf_str(&g->row));
    else
        mr_buf_append_str(out, mr_buf_str(&g->row));
    mr_buf_append_char(out, ',');
}

static void key(const struct gen *g, const struct change *ch, struct mr_buf *out)
{
    bool has_schema = g->rows.schema.len > 0;

    if (has_schema)
        mr_buf_append_z(out, "{\"schema\":{\"type\":\"struct\",\"fields\":[{\"type\":\"int64\",\"optional\":false,\"field\":\"id\"}],"
                             "\"optional\":false,\"name\":\"bench.shop.t.Key\"},\"payload\":");
    bench_key_json(&g->rows, ch->key, out);
    mr_buf_append_z(out, has_schema ? "}" : "");
}

static void value(struct gen *g, uint64_t i, const struct change *ch, struct mr_buf *out)
{
    bool is_mongo = g->rows.shape == SHAPE_MONGO;
    bool has_schema = g->rows.schema.len > 0;
    int64_t ms = START_MS + (int64_t)i;

    if (has_schema) {
        mr_buf_append_z(out, "{\"schema\":");
        mr_buf_append_str(out, mr_buf_str(&g->rows.schema));
        mr_buf_append_z(out, ",\"payload\":");
    }
    mr_buf_append_char(out, '{');
    image(g, "before", !is_mongo && (ch->op == 'u' || ch->op == 'd'), ch, 0, out);
    image(g, "after", ch->op != 'd', ch, ch->version, out);
    if (is_mongo)
        mr_buf_append_z(out, "\"updateDescription\":null,");
    mr_buf_printf(out, "\"source\":{\"version\":\"3.5.0.Final\",\"connector\":\"%s\",\"name\":\"bench\",\"ts_ms\":%lld,\"snapshot\":\"%s\","
                       "\"db\":\"shop\",\"%s\":\"t\"",
                  is_mongo ? "mongodb" : "mysql", (long long)ms, ch->op == 'r' ? "true" : "false", is_mongo ? "collection" : "table");
    if (is_mongo)
        mr_buf_printf(out, ",\"ord\":%llu", (unsigned long long)i % 1000 + 1);
    else
        mr_buf_printf(out, ",\"server_id\":223344,\"file\":\"mysql-bin.000003\",\"pos\":%llu,\"row\":0,\"thread\":7",
                      (unsigned long long)(i * 731 + 154));
    mr_buf_printf(out, "},\"op\":\"%c\",\"ts_ms\":%lld%s", ch->op, (long long)ms + 5, has_schema ? "}}" : "}");
}

static void line(struct gen *g, uint64_t i, const struct change *ch)
{
    struct mr_buf *out = &g->lines;

    mr_buf_printf(out, "{\"topic\":\"bench.shop.t\",\"partition\":0,\"offset\":%llu,\"timestamp\":%lld,\"key\":",
                  (unsigned long long)i, (long long)(START_MS + (int64_t)i));
    key(g, ch, out);
    mr_buf_append_z(out, ",\"value\":");
    value(g, i, ch, out);
    mr_buf_append_z(out, "}\n");
}

static void message(struct gen *g, uint64_t i, const struct change *ch)
{
    key(g, ch, &g->messages);
    mr_buf_append_char(&g->messages, '\t');
    value(g, i, ch, &g->messages);
    mr_buf_append_char(&g->messages, '\n');
}

/* ---- as a tuple ---- */

static void rows_head(struct gen *g)
{
    struct mr_buf *out = &g->tuples;

    mr_buf_append_z(out, "MRBENCH1");
    mr_buf_append_u32be(out, (uint32_t)g->rows.column_count);
    for (size_t i = 0; i < g->rows.column_count; i++) {
        struct mr_str name = mr_str_z(g->rows.columns[i].name);
        mr_buf_append_u16be(out, (uint16_t)name.len);
        mr_buf_append_str(out, name);
    }
    mr_buf_append_u32be(out, bench_key_type(&g->rows));
}

static void tuple(struct gen *g, const struct change *ch)
{
    struct mr_buf *out = &g->tuples;

    mr_buf_append_char(out, ch->op == 'd' ? 'd' : 'u');
    mr_buf_clear(&g->row);
    bench_key_binary(&g->rows, ch->key, &g->row);
    mr_buf_append_u16be(out, (uint16_t)g->row.len);
    mr_buf_append_str(out, mr_buf_str(&g->row));
    mr_buf_clear(&g->row);
    if (ch->op != 'd')
        bench_row_tuple(&g->rows, ch->key, ch->version, &g->row);
    mr_buf_append_u32be(out, (uint32_t)g->row.len);
    mr_buf_append_str(out, mr_buf_str(&g->row));
}

/* ---- writing ---- */

/* What has come together goes to its file; of less than `least` bytes nothing yet. */
static void flush(struct gen *g, struct mr_buf *buf, FILE *file, size_t least)
{
    if (file == NULL || buf->len < least)
        return;
    if (buf->overflow || fwrite(buf->data, 1, buf->len, file) != buf->len)
        g->failed = true;
    mr_buf_clear(buf);
}

static void flush_all(struct gen *g, size_t least)
{
    flush(g, &g->lines, g->events_file, least);
    flush(g, &g->messages, g->messages_file, least);
    flush(g, &g->tuples, g->rows_file, least);
}

static void generate(struct gen *g)
{
    uint64_t count = g->load == LOAD_SEED ? g->seeded : g->events;

    if (g->rows_file != NULL)
        rows_head(g);
    for (uint64_t i = 0; i < count && !g->failed; i++) {
        struct change ch = change_at(g, i);

        if (g->events_file != NULL)
            line(g, i, &ch);
        if (g->messages_file != NULL)
            message(g, i, &ch);
        if (g->rows_file != NULL)
            tuple(g, &ch);
        flush_all(g, FLUSH_BYTES);
    }
    flush_all(g, 0);
}

/* ---- arguments ---- */

static bool read_load(const char *name_z, enum load *load)
{
    static const char *const names[] = {"seed", "insert", "mixed", "delete", "hot"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i], name_z) == 0) {
            *load = (enum load)i;
            return true;
        }
    }
    return false;
}

static bool read_arguments(struct gen *g, int argc, char **argv)
{
    if (argc < 5 || (argc - 5) % 2 != 0 || !bench_rows_init(&g->rows, argv[1]) || !read_load(argv[2], &g->load) ||
        !mr_parse_uint64(mr_str_z(argv[3]), &g->events) || !mr_parse_uint64(mr_str_z(argv[4]), &g->seeded) ||
        (g->load == LOAD_HOT && g->seeded == 0)) {
        fprintf(stderr, "usage: %s narrow|narrow-schema|wide|mongo seed|insert|mixed|delete|hot EVENTS SEEDED "
                        "[--events FILE] [--messages FILE] [--rows FILE]\n", argv[0]);
        return false;
    }
    for (int i = 5; i < argc; i += 2) {
        FILE **file = strcmp(argv[i], "--events") == 0     ? &g->events_file
                      : strcmp(argv[i], "--messages") == 0 ? &g->messages_file
                      : strcmp(argv[i], "--rows") == 0     ? &g->rows_file
                                                           : NULL;
        if (file == NULL) {
            fprintf(stderr, "%s: no option %s\n", argv[0], argv[i]);
            return false;
        }
        *file = fopen(argv[i + 1], "wb");
        if (*file == NULL) {
            perror(argv[i + 1]);
            return false;
        }
    }
    return true;
}

static void close_file(struct gen *g, FILE *file)
{
    if (file != NULL && fclose(file) != 0)
        g->failed = true;
}

int main(int argc, char **argv)
{
    struct gen g = {
        .lines = MR_BUF_INIT((size_t)1 << 24),
        .messages = MR_BUF_INIT((size_t)1 << 24),
        .tuples = MR_BUF_INIT((size_t)1 << 24),
        .row = MR_BUF_INIT((size_t)1 << 20),
    };

    if (!read_arguments(&g, argc, argv))
        return 2;
    if (g.load == LOAD_HOT)
        make_zipf(&g);
    generate(&g);
    close_file(&g, g.events_file);
    close_file(&g, g.messages_file);
    close_file(&g, g.rows_file);
    if (g.failed)
        perror("cannot write");
    mr_buf_free(&g.lines);
    mr_buf_free(&g.messages);
    mr_buf_free(&g.tuples);
    mr_buf_free(&g.row);
    mr_xfree(g.zipf);
    bench_rows_free(&g.rows);
    return g.failed;
}
