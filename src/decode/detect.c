/* Detection by members, in the order of the formats' page: the rules ask for types and companions, since a table may have columns of any
 * of these names. See detect.h. */
#include "detect.h"

#include "control.h"
#include "debezium.h"
#include "documents.h"

static bool only_of(const struct mr_shape *sh, uint32_t count)
{
    return sh->others == 0 && sh->known == count;
}

bool mr_detect_is_shareplex(const struct mr_shape *sh)
{
    uint32_t listed = (uint32_t)mr_shape_has(sh, MR_M_META) + mr_shape_has(sh, MR_M_DATA) +
                      mr_shape_has(sh, MR_M_KEY);
    return mr_shape_is(sh, MR_M_META, MR_J_OBJECT) && only_of(sh, listed) &&
           MR_JSON_MEMBER(sh->doc, sh->node[MR_M_META], "op") != MR_JSON_NONE;
}

/* Alibaba DataWorks uses Connect's two names for something else. */
static bool is_dataworks(const struct mr_shape *sh)
{
    if (!mr_shape_has(sh, MR_M_SCHEMA) || !mr_shape_has(sh, MR_M_PAYLOAD))
        return false;
    uint32_t schema = sh->node[MR_M_SCHEMA];
    uint32_t op = MR_JSON_MEMBER(sh->doc, sh->node[MR_M_PAYLOAD], "op");
    if (MR_JSON_MEMBER(sh->doc, schema, "dataColumn") != MR_JSON_NONE ||
        MR_JSON_MEMBER(sh->doc, schema, "primaryKey") != MR_JSON_NONE)
        return true;
    if (!mr_json_is(sh->doc, op, MR_J_STRING))
        return false;
    struct mr_str word = mr_json_raw(sh->doc, op);
    return word.len > 1 && word.ptr[0] >= 'A' && word.ptr[0] <= 'Z';
}

static bool is_goldengate(const struct mr_shape *sh)
{
    return mr_shape_has(sh, MR_M_OP_TYPE) && mr_shape_has(sh, MR_M_TABLE) && mr_shape_has(sh, MR_M_OP_TS);
}

bool mr_detect_is_canal(const struct mr_shape *sh)
{
    return mr_shape_is(sh, MR_M_TYPE, MR_J_STRING) &&
           (mr_shape_has(sh, MR_M_ISDDL) || mr_shape_has(sh, MR_M_MYSQLTYPE) ||
            mr_shape_has(sh, MR_M_SQLTYPE) || mr_shape_has(sh, MR_M_PKNAMES) ||
            mr_shape_has(sh, MR_M_TIDB));
}

static bool is_word_of(struct mr_str s, const char *const *words_z)
{
    for (; *words_z != NULL; words_z++) {
        if (mr_str_eq_nocase(s, mr_str_z(*words_z)))
            return true;
    }
    return false;
}

bool mr_detect_is_stripped_canal(const struct mr_shape *sh, struct mr_arena *ar)
{
    static const char *const words[] = {"INSERT", "UPDATE", "DELETE",   "CREATE", "ALTER",  "ERASE",
                                        "DROP",   "QUERY",  "TRUNCATE", "RENAME", "CINDEX", "DINDEX",
                                        "INIT",   "DDL",    "INIT_DDL", "ROW",    NULL};
    return mr_shape_is(sh, MR_M_TYPE, MR_J_STRING) &&
           (mr_shape_is(sh, MR_M_DATA, MR_J_ARRAY) || mr_shape_is(sh, MR_M_OLD, MR_J_ARRAY)) &&
           is_word_of(mr_json_string(sh->doc, sh->node[MR_M_TYPE], ar, NULL), words);
}

bool mr_detect_is_maxwell(const struct mr_shape *sh, struct mr_arena *ar)
{
    uint32_t encrypted = sh->node[MR_M_ENCRYPTED];
    if (MR_JSON_MEMBER(sh->doc, encrypted, "iv") != MR_JSON_NONE &&
        MR_JSON_MEMBER(sh->doc, encrypted, "bytes") != MR_JSON_NONE)
        return true;
    if (!mr_shape_is(sh, MR_M_TYPE, MR_J_STRING))
        return false;

    static const char *const words[] = {"insert", "update", "delete", NULL};
    struct mr_str type = mr_json_string(sh->doc, sh->node[MR_M_TYPE], ar, NULL);
    if (mr_shape_is(sh, MR_M_DATA, MR_J_OBJECT) &&
        (is_word_of(type, words) || mr_str_starts(type, MR_STR("bootstrap-"))))
        return true;
    return mr_shape_has(sh, MR_M_SQL) &&
           (mr_str_starts(type, MR_STR("table-")) || mr_str_starts(type, MR_STR("database-")));
}

bool mr_detect_is_prostore(struct mr_connect *cn, const struct mr_record *rec, const struct mr_shape *sh, struct mr_arena *ar)
{
    if (rec->is_bare && only_of(sh, 2) && mr_shape_has(sh, MR_M_VALUE)) {
        uint32_t inner = sh->node[MR_M_KEY];
        return MR_JSON_MEMBER(sh->doc, inner, "event") != MR_JSON_NONE &&
               MR_JSON_MEMBER(sh->doc, inner, "eventLogId") != MR_JSON_NONE;
    }
    struct mr_connect_message key;
    if (mr_connect_open(cn, MR_SIDE_KEY, rec, ar, &key, NULL) != MR_OK || key.is_null || key.is_text)
        return false;
    return MR_JSON_MEMBER(&key.doc, key.root, "event") != MR_JSON_NONE &&
           MR_JSON_MEMBER(&key.doc, key.root, "eventLogId") != MR_JSON_NONE;
}

const char *mr_detect_foreign(struct mr_connect *cn, const struct mr_record *rec,
                              const struct mr_shape *sh, struct mr_arena *ar)
{
    if (mr_detect_is_shareplex(sh))
        return NULL;
    if (is_dataworks(sh))
        return "Alibaba DataWorks";
    if (is_goldengate(sh))
        return "GoldenGate";
    if (!mr_detect_is_canal(sh) && mr_detect_is_prostore(cn, rec, sh, ar))
        return NULL;
    if (mr_shape_is(sh, MR_M_SPECVERSION, MR_J_STRING) && mr_shape_has(sh, MR_M_DATA) && !mr_detect_is_canal(sh) &&
        !mr_detect_is_stripped_canal(sh, ar) && !mr_detect_is_maxwell(sh, ar))
        return "CloudEvents";
    return NULL;
}

bool mr_detect_has_debezium_header(const struct mr_record *rec)
{
    return mr_record_header(rec, "__debezium.context.connectorName") != NULL;
}

bool mr_detect_is_text(const struct mr_record *rec)
{
    struct mr_str text = mr_str_trim(rec->value);
    if (mr_str_starts(text, MR_STR("\xef\xbb\xbf")))
        text = mr_str_trim(mr_str_of(text.ptr + 3, text.len - 3));
    return text.len == 0 || (text.ptr[0] != '\0' && strchr("{[\"ntf-0123456789", text.ptr[0]) != NULL);
}

/* Canal's rows are lists, Maxwell's are objects. */
static enum mr_status check_signs(const struct mr_shape *sh, struct mr_error *err)
{
    if (!mr_detect_is_canal(sh) || !mr_shape_is(sh, MR_M_DATA, MR_J_OBJECT))
        return MR_OK;
    return mr_fail_data(err, MR_CODE_AMBIGUOUS, "the message has members of Canal's, but its \"data\" is an object as in Maxwell's messages");
}

enum mr_status mr_detect(struct mr_connect *cn, const struct mr_record *rec, struct mr_arena *ar,
                         enum mr_detected *out, const char **name, struct mr_error *err)
{
    struct mr_first_document first;
    enum mr_first what;
    enum mr_control control;
    *name = NULL;
    MR_TRY(mr_documents_first(cn, rec, ar, &first, &what, err));
    *out = what == MR_FIRST_NULL ? MR_DETECT_NEUTRAL : MR_DETECT_NOTHING;
    if (what != MR_FIRST_OBJECT)
        return MR_OK;

    const struct mr_shape *sh = &first.shape;
    *out = MR_DETECT_ROWS;
    if (mr_debezium_is_envelope(&first.value, sh))
        return MR_OK;
    if (mr_control_recognise(rec, &first.value, sh, &control)) {
        *out = MR_DETECT_NEUTRAL;
        return MR_OK;
    }
    if (first.is_described || mr_detect_has_debezium_header(rec))
        return MR_OK;
    *name = mr_detect_foreign(cn, rec, sh, ar);
    if (*name != NULL) {
        *out = MR_DETECT_FOREIGN;
        return MR_OK;
    }
    return check_signs(sh, err);
}
