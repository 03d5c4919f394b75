/* Messages that are no rows. See control.h. */
#include "control.h"

static const struct mr_str heartbeat_topic = {"__debezium-heartbeat", 20};

static const struct {
    struct mr_str ending;
    enum mr_control kind;
} value_names[] = {
    {{".common.Heartbeat", 17}, MR_CONTROL_HEARTBEAT},
    {{".TransactionMetadataValue", 25}, MR_CONTROL_TRANSACTION},
    {{".common.Notification", 20}, MR_CONTROL_NOTIFICATION},
    {{".SchemaChangeValue", 18}, MR_CONTROL_SCHEMA_CHANGE},
};

static const struct {
    struct mr_str ending;
    enum mr_control kind;
} key_names[] = {
    {{".common.ServerNameKey", 21}, MR_CONTROL_HEARTBEAT},
    {{".TransactionMetadataKey", 23}, MR_CONTROL_TRANSACTION},
    {{".common.NotificationKey", 23}, MR_CONTROL_NOTIFICATION},
    {{".SchemaChangeKey", 16}, MR_CONTROL_SCHEMA_CHANGE},
};

/* Only members of the list, and no other member. */
static bool only(const struct mr_shape *sh, const enum mr_member *list, size_t count)
{
    uint32_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += mr_shape_has(sh, list[i]);
    return sh->others == 0 && sh->known == found;
}

static bool is_schema_change(const struct mr_shape *sh)
{
    return mr_shape_is(sh, MR_M_DDL, MR_J_STRING) && mr_shape_has(sh, MR_M_DATABASENAME) &&
           mr_shape_is(sh, MR_M_SOURCE, MR_J_OBJECT);
}

static bool is_transaction(const struct mr_shape *sh)
{
    static const enum mr_member members[] = {MR_M_STATUS, MR_M_ID, MR_M_EVENT_COUNT,
                                             MR_M_DATA_COLLECTIONS, MR_M_TS_MS};
    return mr_shape_is(sh, MR_M_ID, MR_J_STRING) && mr_shape_has(sh, MR_M_EVENT_COUNT) &&
           only(sh, members, 5) &&
           (mr_json_string_is(sh->doc, sh->node[MR_M_STATUS], MR_STR("BEGIN")) ||
            mr_json_string_is(sh->doc, sh->node[MR_M_STATUS], MR_STR("END")));
}

static bool is_notification(const struct mr_shape *sh)
{
    static const enum mr_member members[] = {MR_M_ID, MR_M_TYPE, MR_M_AGGREGATE_TYPE,
                                             MR_M_ADDITIONAL_DATA, MR_M_TIMESTAMP};
    return sh->known == 5 && only(sh, members, 5);
}

/* The key is {"serverName": …}, wrapped or bare; a search in its bytes is enough beside the other signs. */
static bool has_server_name_key(const struct mr_record *rec)
{
    return rec->has_key && memmem(rec->key.ptr, rec->key.len, "\"serverName\":", 13) != NULL;
}

static bool is_heartbeat(const struct mr_record *rec, const struct mr_shape *sh)
{
    static const enum mr_member members[] = {MR_M_TS_MS};
    return mr_shape_is(sh, MR_M_TS_MS, MR_J_NUMBER) && only(sh, members, 1) &&
           (mr_str_starts(rec->topic, heartbeat_topic) || has_server_name_key(rec));
}

bool mr_control_recognise(const struct mr_record *rec, const struct mr_connect_message *value,
                          const struct mr_shape *sh, enum mr_control *out)
{
    if (value->schema != NULL && value->schema->name.len != 0) {
        for (size_t i = 0; i < sizeof(value_names) / sizeof(value_names[0]); i++) {
            if (!mr_str_ends(value->schema->name, value_names[i].ending))
                continue;
            *out = value_names[i].kind;
            return true;
        }
        return false;
    }

    if (is_schema_change(sh))
        *out = MR_CONTROL_SCHEMA_CHANGE;
    else if (is_transaction(sh))
        *out = MR_CONTROL_TRANSACTION;
    else if (is_heartbeat(rec, sh))
        *out = MR_CONTROL_HEARTBEAT;
    else if (is_notification(sh))
        *out = MR_CONTROL_NOTIFICATION;
    else
        return false;
    return true;
}

bool mr_control_key(const struct mr_record *rec, const struct mr_connect_message *key,
                    enum mr_control *out)
{
    if (mr_str_starts(rec->topic, heartbeat_topic)) {
        *out = MR_CONTROL_HEARTBEAT;
        return true;
    }
    for (size_t i = 0; key->schema != NULL && i < sizeof(key_names) / sizeof(key_names[0]); i++) {
        if (!mr_str_ends(key->schema->name, key_names[i].ending))
            continue;
        *out = key_names[i].kind;
        return true;
    }
    return false;
}

static struct mr_str text_at(const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar)
{
    return mr_json_is(doc, node, MR_J_STRING) ? mr_json_string(doc, node, ar, NULL) : MR_STR("");
}

/* A number, or its text: some producers write it so. */
static int64_t number_at(const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar)
{
    int64_t n = 0;
    if (mr_json_is(doc, node, MR_J_STRING))
        (void)mr_parse_int64(mr_json_string(doc, node, ar, NULL), &n);
    else
        (void)mr_json_int64(doc, node, &n);
    return n;
}

/* `data_collections`: [{"data_collection": "shop.orders", "event_count": 2}, …] */
static const struct mr_tx_end *end_of(const struct mr_shape *sh, struct mr_arena *ar)
{
    const struct mr_json_doc *doc = sh->doc;
    uint32_t list = sh->node[MR_M_DATA_COLLECTIONS];
    struct mr_tx_end *out = mr_arena_zalloc(ar, sizeof *out);
    out->events = number_at(doc, sh->node[MR_M_EVENT_COUNT], ar);
    if (!mr_json_is(doc, list, MR_J_ARRAY))
        return out;
    size_t count = 0;
    for (uint32_t n = list + 1; n < doc->nodes[list].next; n = doc->nodes[n].next)
        count++;
    struct mr_tx_count *counts = mr_arena_zalloc(ar, (count + 1) * sizeof *counts);
    for (uint32_t n = list + 1; n < doc->nodes[list].next; n = doc->nodes[n].next) {
        counts[out->count].collection = text_at(doc, MR_JSON_MEMBER(doc, n, "data_collection"), ar);
        counts[out->count++].events = number_at(doc, MR_JSON_MEMBER(doc, n, "event_count"), ar);
    }
    out->counts = counts;
    return out;
}

/* Whose transactions they are is in the topic's name alone: `<topic.prefix>.transaction`. */
static void fill_transaction(const struct mr_record *rec, const struct mr_shape *sh, struct mr_arena *ar, struct mr_change *ev)
{
    ptrdiff_t dot = mr_str_rfind(rec->topic, '.');
    ev->tx_id = text_at(sh->doc, sh->node[MR_M_ID], ar);
    ev->tx_scope = dot > 0 ? mr_str_of(rec->topic.ptr, (size_t)dot) : rec->topic;
    if (mr_json_string_is(sh->doc, sh->node[MR_M_STATUS], MR_STR("END")))
        ev->tx_end = end_of(sh, ar);
}

static struct mr_change *change_of(enum mr_control kind, const struct mr_shape *sh, struct mr_arena *ar)
{
    struct mr_change *ev = mr_arena_zalloc(ar, sizeof(*ev));
    ev->op = MR_OP_CONTROL;
    ev->control = kind;
    ev->source_us = INT64_MIN;
    if (kind == MR_CONTROL_SCHEMA_CHANGE && sh != NULL) {
        uint32_t table = MR_JSON_MEMBER(sh->doc, sh->node[MR_M_SOURCE], "table");
        ev->relation.database = text_at(sh->doc, sh->node[MR_M_DATABASENAME], ar);
        ev->relation.table = text_at(sh->doc, table, ar);
        ev->statement_db = ev->relation.database;
        ev->statement = text_at(sh->doc, sh->node[MR_M_DDL], ar);
    }
    return ev;
}

enum mr_status mr_control_emit(enum mr_control kind, const struct mr_shape *sh, struct mr_arena *ar,
                               mr_emit_fn emit, void *ctx, struct mr_error *err)
{
    return emit(ctx, change_of(kind, sh, ar), err);
}

enum mr_status mr_control_emit_message(const struct mr_record *rec, enum mr_control kind, const struct mr_shape *sh, struct mr_arena *ar,
                                       mr_emit_fn emit, void *ctx, struct mr_error *err)
{
    struct mr_change *ev = change_of(kind, sh, ar);
    if (kind == MR_CONTROL_TRANSACTION)
        fill_transaction(rec, sh, ar, ev);
    return emit(ctx, ev, err);
}
