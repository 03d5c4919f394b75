/* Detection by members, in the order of the formats' page: the rules ask for types and companions, since a table may have columns of any
 * of these names. See detect.h. */
#include "detect.h"

#include "control.h"
#include "debezium.h"

static bool only_of(const struct mr_shape *sh, uint32_t count)
{
    return sh->others == 0 && sh->known == count;
}

static bool is_shareplex(const struct mr_shape *sh)
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

static bool is_canal(const struct mr_shape *sh)
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

static bool is_stripped_canal(const struct mr_shape *sh, struct mr_arena *ar)
{
    static const char *const words[] = {"INSERT", "UPDATE", "DELETE",   "CREATE", "ALTER",  "ERASE",
                                        "DROP",   "QUERY",  "TRUNCATE", "RENAME", "CINDEX", "DINDEX",
                                        "INIT",   "DDL",    "INIT_DDL", NULL};
    return mr_shape_is(sh, MR_M_TYPE, MR_J_STRING) &&
           (mr_shape_is(sh, MR_M_DATA, MR_J_ARRAY) || mr_shape_is(sh, MR_M_OLD, MR_J_ARRAY)) &&
           is_word_of(mr_json_string(sh->doc, sh->node[MR_M_TYPE], ar, NULL), words);
}

static bool is_maxwell(const struct mr_shape *sh, struct mr_arena *ar)
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

static bool is_prostore(struct mr_connect *cn, const struct mr_record *rec, const struct mr_shape *sh,
                        struct mr_arena *ar)
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
    if (is_shareplex(sh))
        return "SharePlex";
    if (is_dataworks(sh))
        return "Alibaba DataWorks";
    if (is_goldengate(sh))
        return "GoldenGate";
    if (is_canal(sh))
        return mr_shape_has(sh, MR_M_TIDB) ? "Canal (TiCDC)" : "Canal";
    if (is_prostore(cn, rec, sh, ar))
        return "Prostore";
    if (is_stripped_canal(sh, ar))
        return "Canal";
    if (is_maxwell(sh, ar))
        return "Maxwell";
    if (mr_shape_is(sh, MR_M_SPECVERSION, MR_J_STRING) && mr_shape_has(sh, MR_M_DATA))
        return "CloudEvents";
    return NULL;
}

/* A JSON array is a batch of one of the JSON formats: its first element tells. */
static enum mr_detected detect_array(struct mr_connect *cn, const struct mr_record *rec,
                                     const struct mr_connect_message *value, struct mr_arena *ar,
                                     const char **name)
{
    uint32_t first = mr_json_first(&value->doc, value->root);
    if (!mr_json_is(&value->doc, first, MR_J_OBJECT))
        return MR_DETECT_NOTHING;
    struct mr_shape sh;
    mr_shape_of(&value->doc, first, ar, &sh);
    *name = mr_detect_foreign(cn, rec, &sh, ar);
    return *name == NULL ? MR_DETECT_NOTHING : MR_DETECT_FOREIGN;
}

enum mr_status mr_detect(struct mr_connect *cn, const struct mr_record *rec, struct mr_arena *ar,
                         enum mr_detected *out, const char **name, struct mr_error *err)
{
    struct mr_connect_message value;
    *name = NULL;
    MR_TRY(mr_connect_open(cn, MR_SIDE_VALUE, rec, ar, &value, err));
    if (value.is_null) {
        *out = MR_DETECT_NEUTRAL;
        return MR_OK;
    }
    if (mr_json_is(&value.doc, value.root, MR_J_ARRAY)) {
        *out = detect_array(cn, rec, &value, ar, name);
        return MR_OK;
    }
    if (!mr_json_is(&value.doc, value.root, MR_J_OBJECT)) {
        *out = MR_DETECT_NOTHING;
        return MR_OK;
    }

    struct mr_shape sh;
    enum mr_control control;
    mr_shape_of(&value.doc, value.root, ar, &sh);
    bool is_described = value.schema != NULL && value.schema->kind == MR_C_STRUCT;
    if (mr_debezium_is_envelope(&value, &sh))
        *out = MR_DETECT_ROWS;
    else if (mr_control_recognise(rec, &value, &sh, &control))
        *out = MR_DETECT_NEUTRAL;
    else if (!is_described && (*name = mr_detect_foreign(cn, rec, &sh, ar)) != NULL)
        *out = MR_DETECT_FOREIGN;
    else
        *out = MR_DETECT_ROWS;
    return MR_OK;
}
