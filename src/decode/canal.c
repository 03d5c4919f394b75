/* Format `canal`: the JSON of Alibaba's Canal and of its kin (DTS, TiCDC, Huawei DRS, Flink's and Paimon's writers). One message brings
 * several rows of one table, in the order of execution, or a statement, or nothing but a mark of progress. A value may hold several messages,
 * one behind another or in an array.
 *
 * `old` lists what changed, collected from row to row, so that a listed key column need not have changed; null there means that the value was
 * null, absence that it is unchanged. */
#include "canal.h"

#include <millrace/base/mem.h>

#include "control.h"
#include "debezium.h"
#include "detect.h"
#include "documents.h"
#include "key.h"
#include "names.h"

struct mr_decoder {
    struct mr_canal cl;
};

static void destroy(struct mr_decoder *dec)
{
    if (dec == NULL)
        return;
    mr_mysql_types_destroy(dec->cl.types);
    mr_mysql_reader_free(&dec->cl.rd);
    mr_meta_destroy(dec->cl.meta);
    mr_connect_destroy(dec->cl.cn);
    mr_xfree(dec);
}

static enum mr_status create(const struct mr_config *cfg, struct mr_decoder **out, struct mr_error *err)
{
    struct mr_decoder *dec = mr_xcalloc(1, sizeof(*dec));
    struct mr_canal *cl = &dec->cl;
    cl->cfg = cfg;
    enum mr_status status = mr_meta_create(cfg, &cl->meta, err);
    if (status == MR_OK)
        status = mr_mysql_reader_init(&cl->rd, cfg, err);
    if (status != MR_OK) {
        destroy(dec);
        return status;
    }
    cl->cn = mr_connect_create(cfg);
    cl->types = mr_mysql_types_create();
    cl->wants_key_text = mr_config_wants_key_text(cfg);
    for (size_t i = 0; i < cfg->table_count; i++)
        cl->wants_before |= cfg->tables[i].key_mode == MR_KEY_FIELDS;
    *out = dec;
    return MR_OK;
}

/* ---- Changes of rows ---- */

void mr_canal_meta(struct mr_canal_message *m, struct mr_str op, struct mr_change *ev)
{
    struct mr_meta_facts facts = {.op = op, .database = ev->relation.database, .table = ev->relation.table, .gtid = m->gtid,
                                  .tx_id = m->tx_id, .source_us = m->source_us, .produced_ms = m->produced_ms};
    mr_meta_of_facts(m->cl->meta, m->cl->cn, m->rec, &facts, m->ar, ev);
}

static struct mr_change *new_row(struct mr_canal_message *m, enum mr_op op)
{
    struct mr_change *ev = &m->row_change;
    memset(ev, 0, sizeof(*ev));
    ev->op = op;
    ev->relation = m->relation;
    ev->source_us = m->source_us;
    ev->tx_id = m->tx_id;
    mr_canal_meta(m, m->op, ev);
    return ev;
}

static enum mr_status insert_row(struct mr_canal_message *m, uint32_t row, struct mr_error *err)
{
    struct mr_change *ev = new_row(m, MR_OP_UPSERT);
    ev->is_new = true;
    MR_TRY(mr_canal_row(m, row, &ev->after, err));
    MR_TRY(mr_canal_key(m, &ev->after, ev, err));
    mr_meta_override(&ev->meta, &ev->after);
    return m->emit(m->ctx, ev, err);
}

static bool lists_key(const struct mr_canal_message *m, const struct mr_fields *old)
{
    for (size_t k = 0; k < m->pk_count; k++) {
        for (size_t i = 0; i < old->count; i++) {
            if (mr_str_eq(old->items[i].path, m->pk[k]))
                return true;
        }
    }
    return false;
}

/* `old` NONE: nothing is told of the row before. */
static enum mr_status update_row(struct mr_canal_message *m, uint32_t row, uint32_t old, struct mr_error *err)
{
    struct mr_fields was = {0}, before;
    struct mr_change *ev = new_row(m, MR_OP_UPSERT);
    ev->partial = true;
    MR_TRY(mr_canal_row(m, row, &ev->after, err));
    before = ev->after;
    if (old != MR_JSON_NONE && !mr_json_is(m->sh->doc, old, MR_J_NULL))
        MR_TRY(mr_canal_old(m, old, &ev->after, &was, &before, err));
    MR_TRY(mr_canal_key(m, &ev->after, ev, err));

    ev->before = before;
    if (ev->has_key && lists_key(m, &was))
        mr_key_detect_change(m->ar, ev);
    if (ev->has_key && !m->cl->wants_before)
        ev->before = (struct mr_fields){0};
    mr_meta_override(&ev->meta, &ev->after);
    return m->emit(m->ctx, ev, err);
}

static enum mr_status delete_row(struct mr_canal_message *m, uint32_t row, struct mr_error *err)
{
    struct mr_change *ev = new_row(m, MR_OP_DELETE);
    MR_TRY(mr_canal_row(m, row, &ev->before, err));
    MR_TRY(mr_canal_key(m, &ev->before, ev, err));
    return m->emit(m->ctx, ev, err);
}

/* ---- Messages of rows ---- */

enum row_op { OP_INSERT, OP_UPDATE, OP_DELETE };

static uint32_t row_count(const struct mr_json_doc *doc, uint32_t list)
{
    return mr_json_is(doc, list, MR_J_ARRAY) ? doc->nodes[list].count : 0;
}

static enum mr_status check_lists(const struct mr_shape *sh, uint32_t data, uint32_t old, struct mr_error *err)
{
    const uint32_t lists[] = {data, old};
    for (size_t i = 0; i < 2; i++) {
        if (lists[i] != MR_JSON_NONE && !mr_json_is(sh->doc, lists[i], MR_J_ARRAY) && !mr_json_is(sh->doc, lists[i], MR_J_NULL))
            return mr_fail_data(err, MR_CODE_AMBIGUOUS, "\"%s\" is no list of rows, so this is no message of Canal's",
                                i == 0 ? "data" : "old");
    }
    return MR_OK;
}

/* TiCDC may send no more than the key of a row that is too large. */
static bool is_cut(const struct mr_shape *sh, struct mr_arena *ar)
{
    uint32_t tidb = sh->node[MR_M_TIDB];
    uint32_t claim = MR_JSON_MEMBER(sh->doc, tidb, "claimCheckLocation");
    return mr_json_is(sh->doc, MR_JSON_MEMBER(sh->doc, tidb, "onlyHandleKey"), MR_J_TRUE) ||
           (mr_json_is(sh->doc, claim, MR_J_STRING) && mr_json_string(sh->doc, claim, ar, NULL).len != 0);
}

static enum mr_status check_old(const struct mr_json_doc *doc, uint32_t data, uint32_t old, bool is_swapped, struct mr_error *err)
{
    bool has_old = mr_json_is(doc, old, MR_J_ARRAY);
    if ((has_old || is_swapped) && row_count(doc, old) != row_count(doc, data))
        return mr_fail_data(err, MR_CODE_BAD_IMAGE, "an update of %u rows has %u before them", (unsigned)row_count(doc, data),
                            (unsigned)row_count(doc, old));
    return MR_OK;
}

static enum mr_status each_row(struct mr_canal_message *m, enum row_op op, uint32_t data, uint32_t old, struct mr_error *err)
{
    const struct mr_json_doc *doc = m->sh->doc;
    uint32_t was = row_count(doc, old) != 0 ? mr_json_first(doc, old) : MR_JSON_NONE;
    for (uint32_t n = mr_json_first(doc, data); n != MR_JSON_NONE; n = mr_json_next_in(doc, data, n)) {
        if (op == OP_INSERT)
            MR_TRY(insert_row(m, n, err));
        else if (op == OP_DELETE)
            MR_TRY(delete_row(m, n, err));
        else
            MR_TRY(update_row(m, n, was, err));
        if (was != MR_JSON_NONE)
            was = mr_json_next_in(doc, old, was);
    }
    return MR_OK;
}

static struct mr_str text_at(const struct mr_shape *sh, enum mr_member m, struct mr_arena *ar)
{
    return mr_shape_is(sh, m, MR_J_STRING) ? mr_json_string(sh->doc, sh->node[m], ar, NULL) : MR_STR("");
}

static enum mr_status without_rows(struct mr_canal_message *m, struct mr_error *err)
{
    if (text_at(m->sh, MR_M_SQL, m->ar).len == 0)
        return mr_control_emit(MR_CONTROL_EMPTY, NULL, m->ar, m->emit, m->ctx, err);
    (void)mr_fail_data(err, MR_CODE_STATEMENT_BINLOG, "the source logs the statement and not the rows that it changed");
    mr_error_hint(err, "set binlog_format=ROW at the source; what such statements have changed must be loaded anew");
    return MR_E_DATA;
}

static enum mr_status rows(struct mr_canal_message *m, enum row_op op, struct mr_error *err)
{
    const struct mr_shape *sh = m->sh;
    uint32_t data = sh->node[MR_M_DATA], old = sh->node[MR_M_OLD];
    MR_TRY(check_lists(sh, data, old, err));
    bool is_swapped = op == OP_UPDATE && m->cl->cfg->canal_image == MR_CANAL_DTS_LEGACY;
    if (is_swapped) {
        data = sh->node[MR_M_OLD];
        old = sh->node[MR_M_DATA];
    }
    if (op == OP_DELETE && row_count(sh->doc, data) == 0) /* DTS before 2022-03-20 */
        data = old;
    if (row_count(sh->doc, data) == 0 && !is_swapped)
        return without_rows(m, err);
    if (op == OP_UPDATE)
        MR_TRY(check_old(sh->doc, data, old, is_swapped, err));
    if (op != OP_DELETE && is_cut(sh, m->ar)) {
        (void)mr_fail_data(err, MR_CODE_INCOMPLETE, "the message holds no more than the row's key");
        mr_error_hint(err, "raise max-message-bytes of the TiCDC changefeed, or turn off large-message-handle-option");
        return MR_E_DATA;
    }

    m->relation.database = mr_name_spelled(m->cl->cfg, text_at(sh, MR_M_DATABASE, m->ar), m->ar);
    m->relation.table = mr_name_spelled(m->cl->cfg, text_at(sh, MR_M_TABLE, m->ar), m->ar);
    if (m->relation.table.len == 0)
        MR_TRY(mr_name_unnamed(m->cl->cfg, m->rec->is_bare, &m->relation, err));
    MR_TRY(mr_canal_columns(m, err));
    m->op = op == OP_INSERT ? MR_STR("c") : op == OP_UPDATE ? MR_STR("u") : MR_STR("d");
    return each_row(m, op, data, old, err);
}

/* ---- Messages ---- */

static struct mr_str capitals(struct mr_str s, struct mr_arena *ar)
{
    char *out = mr_arena_alloc(ar, s.len + 1);
    for (size_t i = 0; i < s.len; i++)
        out[i] = s.ptr[i] >= 'a' && s.ptr[i] <= 'z' ? (char)(s.ptr[i] - 32) : s.ptr[i];
    return mr_str_of(out, s.len);
}

static bool is_one_of(struct mr_str s, const char *const *list_z)
{
    for (; *list_z != NULL; list_z++) {
        if (mr_str_eq_z(s, *list_z))
            return true;
    }
    return false;
}

static void read_origin(struct mr_canal_message *m)
{
    const struct mr_json_doc *doc = m->sh->doc;
    uint32_t es = MR_JSON_MEMBER(doc, m->sh->object, "es"), gtid = MR_JSON_MEMBER(doc, m->sh->object, "gtid");
    uint32_t commit = MR_JSON_MEMBER(doc, m->sh->node[MR_M_TIDB], "commitTs");
    int64_t ms;
    m->source_us = m->produced_ms = INT64_MIN;
    if (mr_json_int64(doc, MR_JSON_MEMBER(doc, m->sh->object, "ts"), &ms) && ms > 0)
        m->produced_ms = ms;
    if (mr_json_is(doc, gtid, MR_J_STRING))
        m->gtid = mr_json_string(doc, gtid, m->ar, NULL);
    if (mr_json_int64(doc, es, &ms) && ms > 0 && ms < INT64_MAX / 1000)
        m->source_us = ms * 1000;
    if (mr_json_is(doc, commit, MR_J_NUMBER))
        m->tx_id = mr_json_raw(doc, commit);
    else
        m->tx_id = m->gtid;
}

static enum mr_status message(struct mr_canal_message *m, struct mr_error *err)
{
    static const char *const statements[] = {"CREATE", "ALTER", "RENAME", "CINDEX", "DINDEX", "ERASE", "TRUNCATE", "DDL", "INIT_DDL", NULL};
    static const char *const inserts[] = {"INSERT", "INIT", "ROW", NULL};
    static const char *const marks[] = {"QUERY", "XACOMMIT", "XAROLLBACK", "GTID", "MHEARTBEAT", "EVENTTYPECOMPATIBLEPROTO2",
                                        "TIDB_WATERMARK", NULL};
    if (!mr_shape_is(m->sh, MR_M_TYPE, MR_J_STRING))
        return mr_fail_data(err, MR_CODE_AMBIGUOUS, "the message has no \"type\", so it is none of Canal's");
    struct mr_str type = capitals(text_at(m->sh, MR_M_TYPE, m->ar), m->ar);
    read_origin(m);

    if (mr_shape_is(m->sh, MR_M_ISDDL, MR_J_TRUE) || is_one_of(type, statements))
        return mr_canal_statement(m, type, err);
    if (is_one_of(type, inserts))
        return rows(m, OP_INSERT, err);
    if (mr_str_eq_z(type, "UPDATE"))
        return rows(m, OP_UPDATE, err);
    if (mr_str_eq_z(type, "DELETE"))
        return rows(m, OP_DELETE, err);
    if (is_one_of(type, marks)) /* QUERY without isDdl: the text of a statement whose rows come by themselves */
        return mr_control_emit(MR_CONTROL_EMPTY, NULL, m->ar, m->emit, m->ctx, err);
    return mr_fail_data(err, MR_CODE_UNKNOWN_OP, "Canal has no operation \"%.*s\"", (int)(type.len < 40 ? type.len : 40), type.ptr);
}

static enum mr_status on_document(void *ctx, const struct mr_json_doc *doc, uint32_t node, struct mr_error *err)
{
    struct mr_canal_message one = *(const struct mr_canal_message *)ctx;
    struct mr_shape sh;
    if (!mr_json_is(doc, node, MR_J_OBJECT))
        return mr_fail_data(err, MR_CODE_AMBIGUOUS, "the value is no JSON object, so no message of Canal's");
    mr_shape_of(doc, node, one.ar, &sh);
    one.sh = &sh;
    return message(&one, err);
}

static enum mr_status decode(struct mr_decoder *dec, const struct mr_record *rec, struct mr_topic_facts *facts,
                             struct mr_arena *ar, mr_emit_fn emit, void *ctx, struct mr_error *err)
{
    struct mr_canal_message m = {.cl = &dec->cl, .rec = rec, .ar = ar, .facts = facts, .emit = emit, .ctx = ctx};
    bool is_null;
    MR_TRY(mr_documents_each(dec->cl.cn, rec, ar, on_document, &m, &is_null, err));
    return is_null ? mr_control_emit(MR_CONTROL_EMPTY, NULL, ar, emit, ctx, err) : MR_OK;
}

static int sniff(struct mr_decoder *dec, const struct mr_record *rec, struct mr_arena *ar)
{
    struct mr_first_document first;
    enum mr_first what;
    if (mr_documents_first(dec->cl.cn, rec, ar, &first, &what, NULL) != MR_OK || what != MR_FIRST_OBJECT ||
        first.is_described || mr_detect_has_debezium_header(rec))
        return 0;
    if (mr_detect_is_canal(&first.shape))
        return MR_SNIFF_CANAL;
    return mr_detect_is_stripped_canal(&first.shape, ar) ? MR_SNIFF_STRIPPED_CANAL : 0;
}

const struct mr_decoder_ops mr_decoder_canal = {
    .name = "canal",
    .sniff = sniff,
    .create = create,
    .decode = decode,
    .destroy = destroy,
};
