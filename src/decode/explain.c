/* Why a record was taken for a format: the signs that are there, in words for a person. It repeats no rule: the format is given. */
#include "control.h"
#include "debezium.h"
#include "detect.h"
#include "documents.h"
#include "payload.h"

struct telling {
    const struct mr_record *rec;
    const struct mr_first_document *first;
    const struct mr_shape *sh;
    struct mr_arena *ar;
    struct mr_buf out;
};

static void say(struct telling *t, const char *text_z)
{
    if (t->out.len != 0)
        mr_buf_append_z(&t->out, "; ");
    mr_buf_append_z(&t->out, text_z);
}

static struct mr_str text_of(const struct telling *t, uint32_t node)
{
    const struct mr_json_doc *doc = t->sh->doc;
    return mr_json_is(doc, node, MR_J_STRING) ? mr_json_string(doc, node, t->ar, NULL) : MR_STR("");
}

/* "members a, b, c": those of a list that are there. */
static void say_members(struct telling *t, const enum mr_member *list, const char *const *names_z, size_t count)
{
    bool is_first = true;
    for (size_t i = 0; i < count; i++) {
        if (!mr_shape_has(t->sh, list[i]))
            continue;
        if (is_first)
            say(t, "members ");
        mr_buf_printf(&t->out, is_first ? "%s" : ", %s", names_z[i]);
        is_first = false;
    }
}

/* ---- Formats ---- */

/* Does mysqlType leave out the lengths that Canal always sends? 1 yes, 0 no, -1 no such type is there. */
static int lacks_lengths(const struct telling *t)
{
    const struct mr_json_doc *doc = t->sh->doc;
    uint32_t types = t->sh->node[MR_M_MYSQLTYPE];
    static const char *const words[] = {"varchar", "varbinary", "enum", "set"};
    int found = -1;
    for (uint32_t n = mr_json_first(doc, types); mr_json_is(doc, types, MR_J_OBJECT) && n != MR_JSON_NONE;
         n = mr_json_next_in(doc, types, n)) {
        struct mr_str type = text_of(t, n + 1);
        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
            size_t len = strlen(words[i]);
            if (type.len >= len && mr_str_eq_nocase(mr_str_of(type.ptr, len), mr_str_z(words[i])))
                found = type.len == len ? 1 : found == 1 ? 1 : 0;
        }
    }
    return found;
}

static const char *canal_producer(const struct telling *t)
{
    const struct mr_shape *sh = t->sh;
    struct mr_str type = text_of(t, sh->node[MR_M_TYPE]);
    bool has_gtid = MR_JSON_MEMBER(sh->doc, sh->object, "gtid") != MR_JSON_NONE;
    int64_t id;
    if (mr_shape_has(sh, MR_M_TIDB) || (mr_json_int64(sh->doc, sh->node[MR_M_ID], &id) && id == 0 && !has_gtid))
        return "written by TiCDC";
    if (mr_str_eq_nocase(type, MR_STR("INIT_DDL")))
        return "written by Huawei DRS";
    if (mr_str_eq_nocase(type, MR_STR("INIT")) || mr_str_eq_nocase(type, MR_STR("DDL")))
        return "written by Alibaba DTS (or Huawei DRS)";
    int lengths = lacks_lengths(t);
    if (lengths == 1)
        return "written by Alibaba DTS or TiCDC (mysqlType without lengths)";
    if (lengths == 0 && has_gtid)
        return "written by Canal";
    if (!mr_shape_has(sh, MR_M_DATABASE) && !mr_shape_has(sh, MR_M_MYSQLTYPE))
        return "no database and no mysqlType: written by Flink's sink, or stripped";
    return "which of its producers wrote it, " MR_GUESS_VAGUE;
}

static void explain_canal(struct telling *t)
{
    static const enum mr_member list[] = {MR_M_ISDDL, MR_M_MYSQLTYPE, MR_M_SQLTYPE, MR_M_PKNAMES, MR_M_TIDB};
    static const char *const names[] = {"isDdl", "mysqlType", "sqlType", "pkNames", "_tidb"};
    if (mr_detect_is_canal(t->sh))
        say_members(t, list, names, 5);
    else
        say(t, "\"type\" is a word of Canal's, and the rows are a list");
    say(t, canal_producer(t));
}

static void explain_maxwell(struct telling *t)
{
    struct mr_str type = text_of(t, t->sh->node[MR_M_TYPE]);
    if (mr_shape_has(t->sh, MR_M_ENCRYPTED))
        say(t, "\"encrypted\" has iv and bytes");
    else if (mr_str_starts(type, MR_STR("table-")) || mr_str_starts(type, MR_STR("database-")))
        say(t, "\"type\" is a schema change of Maxwell's, and there is \"sql\"");
    else
        say(t, "\"type\" is a word of Maxwell's, and \"data\" is one row");
}

static void explain_debezium(struct telling *t)
{
    uint32_t connector = MR_JSON_MEMBER(t->sh->doc, t->sh->node[MR_M_SOURCE], "connector");
    say(t, "an envelope: \"op\", \"source\", and the row before or after");
    struct mr_str name = text_of(t, connector);
    if (name.len != 0 && name.len < 40)
        mr_buf_printf(&t->out, "; connector %.*s", MR_STR_FMT(name));
    say(t, mr_debezium_is_mongodb(t->sh) ? "documents" : "rows of tables");
    say(t, t->first->value.schema != NULL ? "with its schema" : "without a schema");
}

static void explain_flat(struct telling *t, bool is_sure)
{
    if (mr_detect_has_debezium_header(t->rec))
        say(t, "headers of Debezium's (__debezium.context)");
    if (t->first->is_described)
        say(t, "a schema that describes the row");
    if (mr_shape_has(t->sh, MR_M_DELETED))
        say(t, "member __deleted");
    if (!is_sure)
        say(t, "an object, and nothing in it tells; if these are no rows of Debezium's transform, set format: json");
}

static void explain_neutral(struct telling *t)
{
    enum mr_control control;
    if (!mr_control_recognise(t->rec, &t->first->value, t->sh, &control)) {
        say(t, "tells nothing of rows");
        return;
    }
    switch (control) {
    case MR_CONTROL_HEARTBEAT:
        say(t, "a heartbeat of Debezium's");
        break;
    case MR_CONTROL_TRANSACTION:
        say(t, "a transaction boundary of Debezium's");
        break;
    case MR_CONTROL_SCHEMA_CHANGE:
        say(t, "a schema change of Debezium's");
        break;
    case MR_CONTROL_NOTIFICATION:
        say(t, "a notification of Debezium's");
        break;
    case MR_CONTROL_EMPTY:
        say(t, "tells nothing of rows");
        break;
    }
}

struct mr_str mr_detect_explain(struct mr_connect *cn, const struct mr_record *rec, const char *format_z, bool is_sure,
                                struct mr_arena *ar)
{
    struct mr_first_document first;
    enum mr_first what;
    if (mr_documents_first(cn, rec, ar, &first, &what, NULL) != MR_OK)
        return MR_STR("binary, and read without an error to its last byte");
    if (what != MR_FIRST_OBJECT)
        return what == MR_FIRST_NULL ? MR_STR("no value: a tombstone") : MR_STR("");

    struct telling t = {.rec = rec, .first = &first, .sh = &first.shape, .ar = ar, .out = MR_BUF_INIT(4096)};
    if (rec->opened != NULL && rec->opened->is_encoded)
        say(&t, "encoded with a schema of a registry");
    if (format_z == NULL)
        explain_neutral(&t);
    else if (strcmp(format_z, "canal") == 0)
        explain_canal(&t);
    else if (strcmp(format_z, "maxwell") == 0)
        explain_maxwell(&t);
    else if (strcmp(format_z, "shareplex") == 0)
        say(&t, "`meta` with an operation, beside `data` and `key`");
    else if (strcmp(format_z, "prostore") == 0)
        say(&t, "the key has `event` and `eventLogId`");
    else if (strcmp(format_z, "debezium") == 0)
        explain_debezium(&t);
    else if (strcmp(format_z, "flat") == 0)
        explain_flat(&t, is_sure);
    struct mr_str out = mr_arena_copy(ar, mr_buf_str(&t.out));
    mr_buf_free(&t.out);
    return out;
}
