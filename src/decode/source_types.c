/* The columns of source tables over time. See source_types.h. */
#include "source_types.h"

#include <millrace/base/hash.h>
#include <millrace/base/log.h>
#include <millrace/base/map.h>
#include <millrace/base/mem.h>
#include <millrace/base/time.h>

#include "source_change.h"
#include "maxwell_types.h"
#include "source_column.h"
#include "told_types.h"

/* Names of a table's columns that are held against types.columns; a table of more is none. */
#define MAX_HAND_COLUMNS 8192

struct version {
    struct mr_source_place place;
    uint64_t seq;                           /* order in which they were told */
    uint64_t hash;                          /* of the table's text */
    const struct mr_connect_schema *schema; /* NULL: the table was dropped */
};

struct entry {
    struct mr_str name, database, table; /* connector and table, in st->ar */
    struct version *versions;            /* in order of place */
    size_t count, cap;
    struct mr_connect_schema *hand; /* columns with a type set by hand; NULL = none so far */
    struct mr_map *hand_seen;       /* names that have been looked up */
    bool has_plain_rows;            /* rows were taken as they looked */
};

/* Whose rows a topic brings. */
struct topic_note {
    struct entry *entry;
    struct mr_str prefix; /* the connector's, by the topic's name if that tells, in st->ar */
    const struct mr_connect_schema *schema; /* of the last row */
};

struct mr_source_types {
    const struct mr_config *cfg;
    bool is_off;
    bool has_hand;            /* some column has a type set by hand */
    struct mr_arena *ar;      /* all that is kept */
    struct mr_arena *scratch; /* of one call */
    struct mr_map *tables;    /* connector NUL database NUL table → entry */
    struct mr_map *topics;    /* topic → topic_note */
    struct mr_told told;
    struct mr_maxwell_defs *maxwell;
    struct mr_json_reader *reader;
    struct mr_types_host host;
    uint64_t next_seq;
};

struct mr_source_types *mr_source_types_create(const struct mr_config *cfg)
{
    struct mr_json_limits limits = {.max_depth = cfg->max_depth, .max_bytes = cfg->max_message_bytes};
    struct mr_source_types *st = mr_xcalloc(1, sizeof(*st));
    st->cfg = cfg;
    st->is_off = cfg->debezium_schema_topic != NULL && strcmp(cfg->debezium_schema_topic, "none") == 0;
    for (size_t i = 0; i < cfg->column_count; i++)
        st->has_hand = st->has_hand || cfg->columns[i].type.kind != MR_T_NONE;
    st->ar = mr_arena_create(0);
    st->scratch = mr_arena_create(0);
    st->tables = mr_map_create();
    st->topics = mr_map_create();
    mr_told_init(&st->told);
    st->maxwell = mr_maxwell_defs_create(cfg, &st->told);
    st->reader = mr_json_reader_create(&limits);
    return st;
}

static void destroy_entry(void *value)
{
    struct entry *en = value;
    mr_xfree(en->versions);
    mr_map_destroy(en->hand_seen, NULL);
    mr_xfree(en);
}

void mr_source_types_destroy(struct mr_source_types *st)
{
    if (st == NULL)
        return;
    mr_maxwell_defs_destroy(st->maxwell);
    mr_told_free(&st->told);
    mr_json_reader_destroy(st->reader);
    mr_map_destroy(st->topics, mr_xfree);
    mr_map_destroy(st->tables, destroy_entry);
    mr_arena_destroy(st->scratch);
    mr_arena_destroy(st->ar);
    mr_xfree(st);
}

void mr_source_types_host(struct mr_source_types *st, const struct mr_types_host *host)
{
    st->host = host == NULL ? (struct mr_types_host){0} : *host;
}

/* ---- Places ---- */

/* "mysql-bin.000012": the part before the number, and the number. */
static bool split_file(struct mr_str file, struct mr_str *base, uint64_t *number)
{
    ptrdiff_t dot = mr_str_rfind(file, '.');
    if (dot < 0 || !mr_parse_uint64(mr_str_of(file.ptr + dot + 1, file.len - (size_t)dot - 1), number))
        return false;
    *base = mr_str_of(file.ptr, (size_t)dot);
    return true;
}

static int cmp_int64(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

/* Places of one server's log; numbers of another server's log mean nothing. */
static bool cmp_log(const struct mr_source_place *a, const struct mr_source_place *b, int *out)
{
    struct mr_str base_a, base_b;
    uint64_t number_a, number_b;
    if (a->server_id != b->server_id && a->server_id != 0 && b->server_id != 0)
        return false;
    if (!split_file(a->file, &base_a, &number_a) || !split_file(b->file, &base_b, &number_b) ||
        !mr_str_eq(base_a, base_b))
        return false;
    *out = number_a != number_b ? (number_a < number_b ? -1 : 1) : cmp_int64(a->pos, b->pos);
    return true;
}

static int cmp_time(const struct mr_source_place *a, const struct mr_source_place *b)
{
    return a->us == INT64_MIN || b->us == INT64_MIN ? 0 : cmp_int64(a->us, b->us);
}

static int cmp_place(const struct mr_source_place *a, const struct mr_source_place *b)
{
    int c;
    return cmp_log(a, b, &c) ? c : cmp_time(a, b);
}

/* A snapshot tells everything at one place: DROP TABLE, then CREATE TABLE. The later one holds. */
static int cmp_version(const struct version *a, const struct version *b)
{
    int c = cmp_place(&a->place, &b->place);
    if (c == 0)
        c = cmp_time(&a->place, &b->place);
    return c != 0 ? c : (a->seq < b->seq ? -1 : a->seq > b->seq);
}

/* ---- Tables ---- */

static struct entry *entry_of(struct mr_source_types *st, struct mr_str name, struct mr_str database,
                              struct mr_str table)
{
    struct mr_str parts[] = {name, database, table};
    struct mr_str key = {mr_arena_zalloc(st->scratch, name.len + database.len + table.len + 3), 0};
    for (size_t i = 0; i < 3; i++) { /* with a NUL behind each */
        if (parts[i].len > 0)
            memcpy((char *)key.ptr + key.len, parts[i].ptr, parts[i].len);
        key.len += parts[i].len + 1;
    }
    struct entry *en = mr_map_get(st->tables, key);
    if (en == NULL) {
        en = mr_xcalloc(1, sizeof(*en));
        en->name = mr_arena_copy(st->ar, name);
        en->database = mr_arena_copy(st->ar, database);
        en->table = mr_arena_copy(st->ar, table);
        mr_map_put(st->tables, key, en);
    }
    return en;
}

/* The last version that is not later than the row; where all are later, the first: that of the oldest time that is known. */
static struct version *version_at(const struct entry *en, const struct mr_source_place *place)
{
    for (size_t i = en->count; i-- > 0;) {
        if (cmp_place(&en->versions[i].place, place) <= 0)
            return en->versions[i].schema == NULL ? NULL : &en->versions[i];
    }
    for (size_t i = 0; i < en->count; i++)
        if (en->versions[i].schema != NULL)
            return &en->versions[i];
    return NULL;
}

static void add_version(struct mr_source_types *st, struct entry *en, struct version v)
{
    size_t at = en->count;
    v.seq = ++st->next_seq;
    en->versions = mr_xgrow(en->versions, &en->cap, en->count + 1, sizeof(*en->versions));
    while (at > 0 && cmp_version(&en->versions[at - 1], &v) > 0)
        at--;
    memmove(&en->versions[at + 1], &en->versions[at], (en->count - at) * sizeof(*en->versions));
    en->versions[at] = v;
    en->count++;
}

/* ---- Learning ---- */

static struct mr_source_place keep_place(struct mr_source_types *st, struct mr_source_place place)
{
    place.name = mr_arena_copy(st->ar, place.name);
    place.file = mr_arena_copy(st->ar, place.file);
    return place;
}

/* The same table told again (an index was made, a snapshot taken anew) costs no second schema. */
static const struct mr_connect_schema *schema_like(const struct entry *en, uint64_t hash)
{
    for (size_t i = en->count; i-- > 0;)
        if (en->versions[i].schema != NULL && en->versions[i].hash == hash)
            return en->versions[i].schema;
    return NULL;
}

static void take_change(struct mr_source_types *st, const struct mr_json_doc *doc, uint32_t source,
                        const struct mr_source_change *change)
{
    struct mr_source_place place = mr_source_place_of(doc, source, st->scratch);
    struct entry *en = entry_of(st, place.name, change->database, change->table);
    struct version v = {.place = keep_place(st, place)};
    if (change->columns != MR_JSON_NONE) {
        struct mr_str text = mr_json_raw(doc, change->columns);
        v.hash = mr_hash(text.ptr, text.len, 0);
        v.schema = schema_like(en, v.hash);
        if (v.schema == NULL)
            v.schema = mr_source_change_schema(st->cfg, doc, change, st->ar);
    }
    if (en->has_plain_rows && en->count == 0)
        mr_log(MR_LOG_WARN, "the types of a table are told after rows of it; those were taken as they looked",
               MR_KV_STR("database", en->database), MR_KV_STR("table", en->table),
               MR_KV_Z("hint", "give the file of the schema topic first"));
    add_version(st, en, v);
}

static struct mr_str row_text(struct mr_source_types *st, const struct mr_json_doc *doc, uint32_t source,
                              uint32_t change)
{
    struct mr_buf buf = MR_BUF_INIT(st->cfg->max_message_bytes);
    mr_buf_append_z(&buf, "{\"source\":");
    mr_json_append(doc, source, &buf);
    mr_buf_append_z(&buf, ",\"change\":");
    mr_json_append(doc, change, &buf);
    mr_buf_append_char(&buf, '}');
    struct mr_str out = buf.overflow ? MR_STR("") : mr_arena_copy(st->scratch, mr_buf_str(&buf));
    mr_buf_free(&buf);
    return out;
}

void mr_source_types_learn(struct mr_source_types *st, const struct mr_record *rec, const struct mr_shape *sh)
{
    uint32_t changes = MR_JSON_MEMBER(sh->doc, sh->object, "tableChanges"), source = sh->node[MR_M_SOURCE];
    struct mr_source_type row = {
        .topic = rec->topic.len > 0 ? rec->topic : mr_str_z(rec->part->topic_z),
        .partition = rec->partition,
        .position = rec->offset,
    };
    if (st->is_off || !mr_json_is(sh->doc, changes, MR_J_ARRAY) ||
        !mr_source_place_of(sh->doc, source, st->scratch).is_mysql)
        return;
    for (uint32_t n = mr_json_first(sh->doc, changes); n != MR_JSON_NONE;
         n = mr_json_next_in(sh->doc, changes, n), row.part++) {
        struct mr_source_change change;
        if (!mr_source_change_read(sh->doc, n, st->scratch, &change))
            continue;
        row.text = row_text(st, sh->doc, source, n);
        if (row.text.len == 0 || mr_told_is_known(&st->told, &row))
            continue;
        row.database = change.database;
        row.table = change.table;
        take_change(st, sh->doc, source, &change);
        mr_told_note(&st->told, &row);
    }
    mr_arena_reset(st->scratch);
}

enum mr_status mr_source_types_load(struct mr_source_types *st, const struct mr_source_type *row,
                                    struct mr_error *err)
{
    struct mr_json_doc doc;
    struct mr_source_change change;
    if (mr_str_starts(row->text, MR_STR(MR_MAXWELL_TOLD))) {
        mr_maxwell_defs_load(st->maxwell, row);
        return MR_OK;
    }
    if (st->is_off)
        return MR_OK;
    if (mr_json_parse(st->reader, row->text, &doc, err) != MR_OK)
        return mr_fail(
            err, MR_E_CONFIG,
            "the control table source_type holds a row that is no JSON (topic \"%.*s\", position %lld)",
            MR_STR_FMT(row->topic), (long long)row->position);
    uint32_t source = MR_JSON_MEMBER(&doc, 0, "source");
    if (mr_json_is(&doc, source, MR_J_OBJECT) &&
        mr_source_change_read(&doc, MR_JSON_MEMBER(&doc, 0, "change"), st->scratch, &change) &&
        !mr_told_is_known(&st->told, row))
        take_change(st, &doc, source, &change);
    mr_arena_reset(st->scratch);
    return MR_OK;
}

struct mr_maxwell_defs *mr_source_types_maxwell(struct mr_source_types *st)
{
    return st->maxwell;
}

const struct mr_source_type *mr_source_types_unsaved(const struct mr_source_types *st, size_t i)
{
    return i < st->told.count ? &st->told.unsaved[i] : NULL;
}

void mr_source_types_saved(struct mr_source_types *st)
{
    mr_told_saved(&st->told);
}

/* ---- Types set by hand ---- */

static struct mr_connect_schema *with_field(struct mr_source_types *st, const struct mr_connect_schema *old,
                                            struct mr_str name, const struct mr_connect_schema *type)
{
    struct mr_connect_schema *out = mr_arena_zalloc(st->ar, sizeof(*out));
    uint32_t count = old == NULL ? 0 : old->field_count;
    struct mr_connect_field *fields = mr_arena_alloc(st->ar, (count + 1) * sizeof(*fields));
    if (count > 0)
        memcpy(fields, old->fields, count * sizeof(*fields));
    fields[count] = (struct mr_connect_field){
        .name = mr_arena_copy(st->ar, name),
        .schema = type,
    };
    out->kind = MR_C_STRUCT;
    mr_connect_set_fields(out, fields, count + 1, st->ar);
    return out;
}

/* The column's type as types.columns gives it; false if it gives none. */
static bool hand_type(struct mr_source_types *st, const struct entry *en, struct mr_str name,
                      const struct mr_connect_schema **out)
{
    struct mr_type type;
    unsigned digits;
    struct mr_buf path = MR_BUF_INIT(name.len * 2 + 1);
    for (size_t i = 0; i < name.len; i++) { /* as a source path */
        if (name.ptr[i] == '.' || name.ptr[i] == '\\')
            mr_buf_append_char(&path, '\\');
        mr_buf_append_char(&path, name.ptr[i]);
    }
    mr_config_column_type(st->cfg, en->database, en->table, mr_buf_str(&path), &type, &digits);
    mr_buf_free(&path);
    *out = type.kind == MR_T_NONE ? NULL : mr_source_hand_schema(st->cfg, type, digits, st->ar);
    return type.kind != MR_T_NONE;
}

/* A member's name, in the scratch arena or in the message. */
static struct mr_str name_at(struct mr_source_types *st, const struct mr_json_doc *doc, uint32_t node)
{
    return mr_json_string(doc, node, st->scratch, NULL);
}

static const struct mr_connect_schema *hand_schema(struct mr_source_types *st, struct entry *en,
                                                   const struct mr_json_doc *doc, uint32_t row)
{
    if (!st->has_hand)
        return NULL;
    if (en->hand_seen == NULL)
        en->hand_seen = mr_map_create();
    for (uint32_t n = mr_json_first(doc, row); n != MR_JSON_NONE; n = mr_json_next_in(doc, row, n)) {
        struct mr_str name = name_at(st, doc, n);
        const struct mr_connect_schema *type;
        if (mr_map_get(en->hand_seen, name) != NULL || mr_map_count(en->hand_seen) >= MAX_HAND_COLUMNS)
            continue;
        mr_map_put(en->hand_seen, name, en);
        if (hand_type(st, en, name, &type) && type != NULL)
            en->hand = with_field(st, en->hand, name, type);
    }
    return en->hand;
}

/* ---- Rows ---- */

/* The first member of the row that the schema does not have; false if it has all. What has a type set by hand becomes part of it. */
static bool find_unknown(struct mr_source_types *st, const struct entry *en, struct version *v,
                         const struct mr_json_doc *doc, uint32_t row, struct mr_str *unknown)
{
    uint32_t hint = 0;
    for (uint32_t n = mr_json_first(doc, row); n != MR_JSON_NONE; n = mr_json_next_in(doc, row, n)) {
        struct mr_str name = name_at(st, doc, n);
        const struct mr_connect_field *f = mr_connect_field(v->schema, name, hint);
        const struct mr_connect_schema *type;
        if (f != NULL) {
            hint = (uint32_t)(f - v->schema->fields) + 1;
            continue;
        }
        if (v->schema->field_count >= MAX_HAND_COLUMNS || !hand_type(st, en, name, &type)) {
            *unknown = name;
            return true;
        }
        v->schema = with_field(st, v->schema, name, type);
    }
    return false;
}

static void append_sanitised(struct mr_buf *buf, struct mr_str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool is_kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '_' || c == '-';
        mr_buf_append_char(buf, is_kept ? c : '_');
    }
}

/* Does the topic's name end with the table's, as Debezium names topics? Then the rest is the prefix. */
static bool split_topic(struct mr_str topic, struct mr_str database, struct mr_str table,
                        struct mr_str *prefix)
{
    struct mr_buf end = MR_BUF_INIT(database.len + table.len + 2);
    mr_buf_append_char(&end, '.');
    append_sanitised(&end, database);
    mr_buf_append_char(&end, '.');
    append_sanitised(&end, table);
    bool fits = topic.len > end.len && mr_str_ends(topic, mr_buf_str(&end));
    if (fits)
        *prefix = mr_str_of(topic.ptr, topic.len - end.len);
    mr_buf_free(&end);
    return fits;
}

/* The note of the row's topic; made anew when the topic brings another table's rows than before. */
static struct topic_note *note_of(struct mr_source_types *st, struct mr_str topic, struct mr_str name,
                                  const struct mr_relation *rel)
{
    struct topic_note *note = mr_map_get(st->topics, topic);
    if (note == NULL) {
        note = mr_xcalloc(1, sizeof(*note));
        mr_map_put(st->topics, topic, note);
    }
    const struct entry *en = note->entry;
    if (en != NULL && mr_str_eq(en->table, rel->table) && mr_str_eq(en->database, rel->database) &&
        mr_str_eq(en->name, name))
        return note;
    struct mr_str prefix = name;
    note->entry = entry_of(st, name, rel->database, rel->table);
    split_topic(topic, rel->database, rel->table, &prefix);
    note->prefix = mr_str_eq(prefix, note->prefix) ? note->prefix : mr_arena_copy(st->ar, prefix);
    note->schema = NULL;
    return note;
}

static enum mr_status untold(const struct entry *en, struct mr_str column, struct mr_error *err)
{
    enum mr_status status =
        mr_fail_data(err, MR_CODE_NO_TYPE,
                     "%.*s.%.*s: the row comes without a schema, and the schema topic tells nothing "
                     "of the column \"%.*s\"",
                     MR_STR_FMT(en->database), MR_STR_FMT(en->table), MR_STR_FMT(column));
    mr_error_hint(err,
                  "set its type by hand: types.columns.\"%.*s.%.*s.%.*s\"; or set debezium.schema_topic to "
                  "the right topic, or to none",
                  MR_STR_FMT(en->database), MR_STR_FMT(en->table), MR_STR_FMT(column));
    mr_error_field(err, column.ptr, column.len);
    return status;
}

/* What is looked for, and how long it may be waited for: the producer writes a change of the table before the rows that need it, but into another
 * topic. A row that is old enough has nothing to wait for. */
struct search {
    struct entry *en;
    struct mr_str prefix, unknown;
    int64_t until_ms; /* wall clock */
    bool there;       /* the topic exists */
};

static bool is_covered(struct mr_source_types *st, struct search *s, const struct mr_source_place *place,
                       const struct mr_json_doc *doc, uint32_t row, const struct mr_connect_schema **out)
{
    struct version *v = version_at(s->en, place);
    s->unknown = (struct mr_str){0};
    if (v == NULL || find_unknown(st, s->en, v, doc, row, &s->unknown))
        return false;
    *out = v->schema;
    return true;
}

static enum mr_status wait_for_it(struct mr_source_types *st, struct search *s,
                                  const struct mr_source_place *place, const struct mr_json_doc *doc,
                                  uint32_t row, const struct mr_connect_schema **out, bool *covered,
                                  struct mr_error *err)
{
    int64_t since_ms = mr_monotonic_ms();
    bool is_told = false;
    while (!*covered && s->there && st->host.wait != NULL && mr_now_us() / 1000 < s->until_ms &&
           mr_monotonic_ms() - since_ms < st->cfg->debezium_schema_wait_ms) {
        if (!is_told)
            mr_log(MR_LOG_INFO, "a row waits for the schema topic to tell of its table",
                   MR_KV_STR("prefix", s->prefix), MR_KV_STR("database", s->en->database),
                   MR_KV_STR("table", s->en->table), MR_KV_STR("column", s->unknown));
        is_told = true;
        MR_TRY(st->host.wait(st->host.ctx, s->prefix, err));
        *covered = is_covered(st, s, place, doc, row, out);
    }
    return MR_OK;
}

enum mr_status mr_source_types_for_row(struct mr_source_types *st, const struct mr_record *rec,
                                       const struct mr_relation *rel, const struct mr_source_place *place,
                                       const struct mr_json_doc *doc, uint32_t row,
                                       const struct mr_connect_schema **out, struct mr_error *err)
{
    bool is_told_of = !st->is_off && place->is_mysql;
    *out = NULL;
    if (!is_told_of && !st->has_hand)
        return MR_OK;
    mr_arena_reset(st->scratch);
    struct topic_note *note = note_of(st, rec->topic, place->name, rel);
    struct search s = {
        .en = note->entry,
        .prefix = note->prefix,
        .until_ms = rec->timestamp_ms < 0 ? INT64_MAX : rec->timestamp_ms + st->cfg->debezium_schema_wait_ms,
    };
    if (is_told_of && s.prefix.len > 0 && st->host.refresh != NULL)
        MR_TRY(st->host.refresh(st->host.ctx, s.prefix, &s.there, err));
    bool covered = is_told_of && is_covered(st, &s, place, doc, row, out);
    if (is_told_of && !covered)
        MR_TRY(wait_for_it(st, &s, place, doc, row, out, &covered, err));
    if (!covered && s.unknown.len > 0)
        return untold(s.en, s.unknown, err);
    if (!covered) {
        *out = hand_schema(st, s.en, doc, row);
        s.en->has_plain_rows = true;
    }
    note->schema = *out;
    return MR_OK;
}

const struct mr_connect_schema *mr_source_types_for_topic(struct mr_source_types *st, struct mr_str topic)
{
    const struct topic_note *note = mr_map_get(st->topics, topic);
    if (note != NULL)
        return note->schema;
    for (size_t i = 0; i < mr_map_count(st->tables); i++) {
        const struct entry *en = mr_map_at(st->tables, i, NULL);
        struct mr_str prefix;
        const struct mr_connect_schema *last = en->count == 0 ? NULL : en->versions[en->count - 1].schema;
        if (last != NULL && split_topic(topic, en->database, en->table, &prefix))
            return last;
    }
    return NULL;
}
