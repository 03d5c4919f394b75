/* Format `dts-avro`: the records of Alibaba's Data Transmission Service, one Avro datum a message. One record is one row, or a statement, or a mark of
 * its transaction. See dts.h. */
#include "dts.h"

#include <millrace/base/mem.h>
#include <millrace/base/time.h>

#include "control.h"
#include "debezium.h"
#include "detect.h"
#include "flatten.h"
#include "key.h"
#include "meta.h"
#include "mysql_statement.h"
#include "names.h"

struct mr_decoder {
    const struct mr_config *cfg;
    struct mr_connect *cn; /* metadata columns */
    struct mr_meta *meta;
    struct mr_dts_reader rd;
    struct mr_json_reader *json; /* pk_uk_info */
    bool wants_key_text;
    bool wants_before; /* some table takes its key from the row */
};

/* One record on its way. */
struct message {
    struct mr_decoder *dec;
    const struct mr_record *rec;
    struct mr_dts_record in;
    struct mr_arena *ar;
    mr_emit_fn emit;
    void *ctx;
    struct mr_relation relation;
    const struct mr_str *paths; /* of the fields */
};

static void destroy(struct mr_decoder *dec)
{
    if (dec == NULL)
        return;
    mr_json_reader_destroy(dec->json);
    mr_dts_reader_free(&dec->rd);
    mr_meta_destroy(dec->meta);
    mr_connect_destroy(dec->cn);
    mr_xfree(dec);
}

static enum mr_status create(const struct mr_config *cfg, struct mr_decoder **out, struct mr_error *err)
{
    struct mr_json_limits limits = {.max_depth = 8, .max_bytes = 1u << 24};
    struct mr_decoder *dec = mr_xcalloc(1, sizeof(*dec));
    dec->cfg = cfg;
    mr_dts_reader_init(&dec->rd, cfg);
    dec->json = mr_json_reader_create(&limits);
    enum mr_status status = mr_meta_create(cfg, &dec->meta, err);
    if (status != MR_OK) {
        destroy(dec);
        return status;
    }
    dec->cn = mr_connect_create(cfg);
    dec->wants_key_text = mr_config_wants_key_text(cfg);
    for (size_t i = 0; i < cfg->table_count; i++)
        dec->wants_before |= cfg->tables[i].key_mode == MR_KEY_FIELDS;
    *out = dec;
    return MR_OK;
}

/* ---- Names ---- */

/* A dot inside a name is written as the six characters \u002E. */
static struct mr_str unescaped(struct mr_str name, struct mr_arena *ar)
{
    if (name.len < 6 || memmem(name.ptr, name.len, "\\u002", 5) == NULL)
        return name;
    char *out = mr_arena_alloc(ar, name.len);
    size_t n = 0;
    for (size_t i = 0; i < name.len; i++) {
        struct mr_str rest = mr_str_of(name.ptr + i, name.len - i);
        bool is_dot = mr_str_starts(rest, MR_STR("\\u002E")) || mr_str_starts(rest, MR_STR("\\u002e"));
        out[n++] = is_dot ? '.' : name.ptr[i];
        i += is_dot ? 5 : 0;
    }
    return mr_str_of(out, n);
}

/* database.table, schema.table, or database.schema.table; of three parts the first two are the database, so that tables of one name in two
 * schemas stay two. */
static enum mr_status find_relation(struct message *m, struct mr_error *err)
{
    struct mr_str name = m->in.object;
    ptrdiff_t dot = mr_str_rfind(name, '.');
    struct mr_str table = dot < 0 ? name : mr_str_of(name.ptr + dot + 1, name.len - (size_t)dot - 1);
    struct mr_str database = dot < 0 ? MR_STR("") : mr_str_of(name.ptr, (size_t)dot);
    if (table.len == 0)
        return mr_fail_data(err, MR_CODE_NO_TABLE, "the record names no table");
    database = unescaped(database, m->ar);
    table = unescaped(table, m->ar);
    if (m->dec->cfg->dts_logical_names) { /* the table of which this one is a shard */
        if (m->in.logical_db.len != 0)
            database = m->in.logical_db;
        if (m->in.logical_table.len != 0)
            table = m->in.logical_table;
    }
    m->relation.database = mr_name_spelled(m->dec->cfg, database, m->ar);
    m->relation.table = mr_name_spelled(m->dec->cfg, table, m->ar);
    return MR_OK;
}

static void name_fields(struct message *m)
{
    struct mr_str *paths = mr_arena_alloc(m->ar, (m->in.field_count + 1) * sizeof(*paths));
    for (size_t i = 0; i < m->in.field_count; i++)
        paths[i] =
            mr_flatten_path(MR_STR(""), mr_name_spelled(m->dec->cfg, m->in.fields[i].name, m->ar), m->ar);
    m->paths = paths;
}

/* ---- Rows ---- */

static struct mr_fields row_of(struct message *m, const struct mr_dts_image *image, bool *is_whole)
{
    struct mr_field *fields = mr_arena_alloc(m->ar, (image->count + 1) * sizeof(*fields));
    size_t n = 0;
    for (size_t i = 0; i < image->count; i++) {
        struct mr_field *f = &fields[n];
        *f = (struct mr_field){.path = m->paths[i]};
        mr_dts_value(&m->dec->rd, m->in.source, m->in.fields[i].type, &image->values[i], m->ar, f);
        n += f->value.tag != MR_V_ABSENT;
    }
    *is_whole = n == image->count;
    return (struct mr_fields){fields, n};
}

static const struct mr_field *find_field(const struct mr_fields *row, struct mr_str path)
{
    for (size_t i = 0; i < row->count; i++) {
        if (mr_str_eq(row->items[i].path, path))
            return &row->items[i];
    }
    return NULL;
}

/* ---- Keys ---- */

static struct mr_str column_path(struct message *m, const struct mr_json_doc *doc, uint32_t node)
{
    struct mr_str name =
        mr_json_is(doc, node, MR_J_STRING) ? mr_json_string(doc, node, m->ar, NULL) : MR_STR("");
    return mr_flatten_path(MR_STR(""), mr_name_spelled(m->dec->cfg, name, m->ar), m->ar);
}

/* Is every column of the index there, and none null? A row without an image passes. */
static bool is_filled(struct message *m, const struct mr_json_doc *doc, uint32_t columns,
                      const struct mr_fields *row)
{
    if (row->count == 0)
        return true;
    for (uint32_t n = mr_json_first(doc, columns); n != MR_JSON_NONE; n = mr_json_next_in(doc, columns, n)) {
        const struct mr_field *f = find_field(row, column_path(m, doc, n));
        if (f == NULL || f->value.tag == MR_V_NULL)
            return false;
    }
    return true;
}

/* The columns of the primary key, else of the first unique index whose columns are filled. NONE: the table has no key. */
static uint32_t key_columns(struct message *m, const struct mr_json_doc *doc, const struct mr_change *ev)
{
    uint32_t primary = MR_JSON_MEMBER(doc, 0, "PRIMARY");
    if (mr_json_is(doc, primary, MR_J_ARRAY) && doc->nodes[primary].count != 0)
        return primary;
    for (uint32_t n = mr_json_first(doc, 0); n != MR_JSON_NONE; n = mr_json_next_in(doc, 0, n)) {
        uint32_t columns = n + 1;
        if (mr_json_is(doc, columns, MR_J_ARRAY) && doc->nodes[columns].count != 0 &&
            is_filled(m, doc, columns, &ev->before) && is_filled(m, doc, columns, &ev->after))
            return columns;
    }
    return MR_JSON_NONE;
}

static enum mr_status missing_column(struct mr_str path, struct mr_error *err)
{
    (void)mr_fail_data(err, MR_CODE_NO_KEY, "the record does not bring its key column \"%.*s\"",
                       MR_STR_FMT(path));
    mr_error_field(err, path.ptr, path.len);
    return MR_E_DATA;
}

/* The key as the row after has it, else as the row before had it. */
static enum mr_status fill_key(struct message *m, struct mr_change *ev, struct mr_error *err)
{
    struct mr_json_doc doc;
    if (m->in.pk_uk_info.len == 0)
        return MR_OK;
    if (mr_json_parse_arena(m->dec->json, m->in.pk_uk_info, m->ar, &doc, NULL) != MR_OK ||
        !mr_json_is(&doc, 0, MR_J_OBJECT))
        return mr_fail_data(err, MR_CODE_BAD_VALUE, "the tag pk_uk_info is no JSON object");
    uint32_t columns = key_columns(m, &doc, ev);
    if (columns == MR_JSON_NONE)
        return MR_OK;

    struct mr_table_settings settings;
    mr_config_table(m->dec->cfg, m->relation.database, m->relation.table, &settings);
    bool is_configured = settings.key_mode == MR_KEY_FIELDS || settings.key_mode == MR_KEY_NONE;
    struct mr_field *items = mr_arena_alloc(m->ar, (size_t)doc.nodes[columns].count * sizeof(*items));
    size_t count = 0;
    for (uint32_t n = mr_json_first(&doc, columns); n != MR_JSON_NONE;
         n = mr_json_next_in(&doc, columns, n)) {
        struct mr_str path = column_path(m, &doc, n);
        const struct mr_field *f = find_field(&ev->after, path);
        if (f == NULL)
            f = find_field(&ev->before, path);
        if (f == NULL)
            return is_configured ? MR_OK : missing_column(path, err);
        items[count++] = *f;
    }
    ev->key = (struct mr_fields){items, count};
    ev->has_key = true;
    if (m->dec->wants_key_text)
        ev->key_text = mr_key_fields_text(&ev->key, m->ar);
    return MR_OK;
}

/* ---- Changes ---- */

static struct mr_change *new_change(struct message *m, enum mr_op op, const char *op_z)
{
    struct mr_change *ev = mr_arena_zalloc(m->ar, sizeof(*ev));
    ev->op = op;
    ev->relation = m->relation;
    ev->source_us = INT64_MIN;
    if (m->in.source_s > 0 && m->in.source_s < INT64_MAX / MR_US_PER_SEC)
        ev->source_us = m->in.source_s * MR_US_PER_SEC;
    if (!mr_str_eq_z(m->in.tx_id, "0"))
        ev->tx_id = m->in.tx_id;
    ev->tx_marks_last = ev->tx_id.len > 0; /* by a record of its own */
    if (op_z != NULL)
        ev->meta = mr_meta_fields(m->dec->meta, m->dec->cn, m->rec, NULL, NULL, mr_str_z(op_z), m->ar);
    return ev;
}

static enum mr_status no_image(const char *what_z, struct mr_error *err)
{
    return mr_fail_data(err, MR_CODE_BAD_IMAGE, "the record has no row %s the change", what_z);
}

static enum mr_status upsert(struct message *m, struct mr_error *err)
{
    bool is_update = m->in.op == MR_DTS_UPDATE, is_whole;
    struct mr_change *ev = new_change(m, MR_OP_UPSERT, is_update ? "u" : m->in.op == MR_DTS_INIT ? "r" : "c");
    if (m->in.after.shape != MR_DTS_LIST)
        return no_image("after", err);
    ev->after = row_of(m, &m->in.after, &is_whole);
    ev->partial = is_update;
    ev->is_new = !is_update;
    if (is_update && m->in.before.shape == MR_DTS_LIST)
        ev->before = row_of(m, &m->in.before, &is_whole);
    MR_TRY(fill_key(m, ev, err));
    if (ev->has_key && ev->before.count != 0)
        mr_key_detect_change(m->ar, ev);
    if (ev->has_key && !m->dec->wants_before)
        ev->before = (struct mr_fields){0};
    mr_meta_override(&ev->meta, &ev->after);
    return m->emit(m->ctx, ev, err);
}

static enum mr_status delete_row(struct message *m, struct mr_error *err)
{
    struct mr_change *ev = new_change(m, MR_OP_DELETE, "d");
    if (m->in.before.shape != MR_DTS_LIST)
        return no_image("before", err);
    ev->before = row_of(m, &m->in.before, &ev->is_whole_before);
    MR_TRY(fill_key(m, ev, err));
    return m->emit(m->ctx, ev, err);
}

/* ---- Statements ---- */

static struct mr_relation resolved(struct message *m, struct mr_relation rel, struct mr_str session)
{
    struct mr_relation out;
    out.database = mr_name_spelled(m->dec->cfg, rel.database.len != 0 ? rel.database : session, m->ar);
    out.table = mr_name_spelled(m->dec->cfg, rel.table, m->ar);
    return out;
}

static struct mr_change *new_statement(struct message *m, struct mr_str session)
{
    struct mr_change *ev = new_change(m, MR_OP_CONTROL, NULL);
    ev->control = MR_CONTROL_SCHEMA_CHANGE;
    ev->statement = m->in.after.text;
    ev->statement_db = mr_name_spelled(m->dec->cfg, session, m->ar);
    return ev;
}

static enum mr_status statement(struct message *m, struct mr_error *err)
{
    struct mr_mysql_statement stmt;
    struct mr_str session = unescaped(m->in.object, m->ar);
    if (m->in.after.shape != MR_DTS_TEXT)
        return mr_fail_data(err, MR_CODE_BAD_IMAGE, "a DDL record without its statement");
    if (!mr_mysql_statement_read(m->in.after.text, m->ar, &stmt)) {
        struct mr_change *ev = new_statement(m, session);
        ev->relation.database = ev->statement_db;
        return m->emit(m->ctx, ev, err);
    }
    for (size_t i = 0; i < stmt.count; i++) {
        struct mr_change *ev;
        if (stmt.is_truncate) {
            ev = new_change(m, MR_OP_TRUNCATE, "t");
        } else {
            ev = new_statement(m, session);
            ev->statement_kind = stmt.kind;
            ev->statement_part = (uint32_t)i;
            if (stmt.kind == MR_STMT_RENAME)
                ev->new_relation = resolved(m, stmt.targets[i].new_name, session);
        }
        ev->relation = resolved(m, stmt.targets[i].name, session);
        MR_TRY(m->emit(m->ctx, ev, err));
    }
    return MR_OK;
}

/* ---- Records ---- */

static enum mr_status row(struct message *m, struct mr_error *err)
{
    if (m->in.fields_shape != MR_DTS_LIST)
        return mr_fail_data(err, MR_CODE_BAD_IMAGE, "the record does not list its fields");
    MR_TRY(find_relation(m, err));
    name_fields(m);
    return m->in.op == MR_DTS_DELETE ? delete_row(m, err) : upsert(m, err);
}

static enum mr_status mark(struct message *m, enum mr_control kind, struct mr_error *err)
{
    struct mr_change *ev = new_change(m, MR_OP_CONTROL, NULL);
    ev->control = kind;
    ev->relation = (struct mr_relation){MR_STR(""), MR_STR("")};
    ev->tx_last = m->in.op == MR_DTS_COMMIT && ev->tx_id.len > 0;
    return m->emit(m->ctx, ev, err);
}

static enum mr_status decode(struct mr_decoder *dec, const struct mr_record *rec,
                             struct mr_topic_facts *facts, struct mr_arena *ar, mr_emit_fn emit, void *ctx,
                             struct mr_error *err)
{
    struct message m = {.dec = dec, .rec = rec, .ar = ar, .emit = emit, .ctx = ctx};
    (void)facts;
    if (!rec->has_value)
        return mark(&m, MR_CONTROL_EMPTY, err);
    if (rec->value.len > dec->cfg->max_message_bytes)
        return mr_fail_data(err, MR_CODE_TOO_LARGE, "the record is larger than limits.message_bytes");
    MR_TRY(mr_dts_read(rec->value, ar, &m.in, err));
    switch (m.in.op) {
    case MR_DTS_INSERT:
    case MR_DTS_UPDATE:
    case MR_DTS_DELETE:
    case MR_DTS_INIT:
        return row(&m, err);
    case MR_DTS_DDL:
        return statement(&m, err);
    case MR_DTS_BEGIN:
    case MR_DTS_COMMIT:
        return mark(&m, MR_CONTROL_TRANSACTION, err);
    case MR_DTS_HEARTBEAT:
        return mark(&m, MR_CONTROL_HEARTBEAT, err);
    case MR_DTS_ROLLBACK:
    case MR_DTS_ABORT:
    case MR_DTS_CHECKPOINT:
    case MR_DTS_COMMAND:
    case MR_DTS_FILL:
    case MR_DTS_FINISH:
    case MR_DTS_CONTROL:
    case MR_DTS_RDB:
    case MR_DTS_NOOP:
        return mark(&m, MR_CONTROL_EMPTY, err);
    }
    return MR_OK;
}

/* A strict reading to the last byte; nothing that is framed for a registry passes it. */
static int sniff(struct mr_decoder *dec, const struct mr_record *rec, struct mr_arena *ar)
{
    (void)dec;
    return rec->has_value && !mr_detect_is_text(rec) && mr_dts_is(rec->value, ar) ? MR_SNIFF_DTS : 0;
}

const struct mr_decoder_ops mr_decoder_dts = {
    .name = "dts-avro",
    .sniff = sniff,
    .create = create,
    .decode = decode,
    .destroy = destroy,
};
