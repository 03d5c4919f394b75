/* Declared columns out of a message. See payload_columns.h. */
#include "payload_columns.h"

#include "key.h"

/* ---- Windows ---- */

static int64_t long_at(const char *p)
{
    uint64_t v = 0;
    for (int i = 0; i < 8; i++)
        v = v << 8 | (unsigned char)p[i];
    return (int64_t)v;
}

enum mr_status mr_window_cut(struct mr_str said, struct mr_str *bytes, struct mr_window *out,
                             struct mr_error *err)
{
    *out = (struct mr_window){0};
    if (said.len == 0 || mr_str_eq_z(said, "none"))
        return MR_OK;
    out->count = mr_str_eq_z(said, "session") ? 2 : 1;
    size_t size = 8u * (size_t)out->count;
    if (bytes->len < size)
        return mr_fail_data(err, MR_CODE_BAD_LENGTH,
                            "a key with a window ends in %zu bytes for it, there are %zu in all", size,
                            bytes->len);
    const char *at = bytes->ptr + bytes->len - size;
    out->start_ms = long_at(out->count == 2 ? at + 8 : at);
    out->end_ms = out->count == 2 ? long_at(at) : 0;
    bytes->len -= size;
    return MR_OK;
}

static void put_window(const struct mr_window *w, struct mr_json_build *build)
{
    if (w->count == 0)
        return;
    mr_json_build_name(build, MR_STR("WINDOWSTART"));
    mr_json_build_int(build, w->start_ms);
    if (w->count == 1)
        return;
    mr_json_build_name(build, MR_STR("WINDOWEND"));
    mr_json_build_int(build, w->end_ms);
}

/* The schema with the window's columns behind. */
static const struct mr_connect_schema *with_window(const struct mr_connect_schema *schema,
                                                   const struct mr_window *w, struct mr_arena *ar)
{
    if (w->count == 0)
        return schema;
    static const struct mr_column bigint = {.kind = MR_SQL_BIGINT};
    uint32_t count = schema == NULL ? 0 : schema->field_count;
    struct mr_connect_schema *out = mr_connect_make(MR_C_STRUCT, MR_STR(""), NULL, MR_JSON_NONE, ar);
    struct mr_connect_field *fields = mr_arena_zalloc(ar, (count + 2) * sizeof(*fields));
    for (uint32_t i = 0; i < count; i++)
        fields[i] = schema->fields[i];
    for (int i = 0; i < w->count; i++)
        fields[count + (uint32_t)i] =
            (struct mr_connect_field){.name = i == 0 ? MR_STR("WINDOWSTART") : MR_STR("WINDOWEND"),
                                      .schema = mr_column_schema(&bigint, ar)};
    mr_connect_set_fields(out, fields, count + (uint32_t)w->count, ar);
    return out;
}

/* ---- Picking ---- */

/* The member of that name: exactly, else the first that matches without regard to case. Its name node, or NONE. */
static uint32_t member_of(const struct mr_json_doc *doc, uint32_t object, struct mr_str name,
                          struct mr_arena *ar)
{
    uint32_t folded = MR_JSON_NONE, exact = MR_JSON_NONE;
    for (uint32_t n = mr_json_first(doc, object); n != MR_JSON_NONE; n = mr_json_next_in(doc, object, n)) {
        struct mr_str have = mr_json_string(doc, n, ar, NULL);
        if (mr_str_eq(have, name))
            exact = n;
        else if (folded == MR_JSON_NONE && mr_str_eq_nocase(have, name))
            folded = n;
    }
    return exact != MR_JSON_NONE ? exact : folded;
}

static struct mr_value value_at(struct mr_connect *cn, const struct mr_connect_schema *schema,
                                const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar)
{
    bool is_free = schema == NULL || schema->type.kind == MR_T_NONE;
    if (is_free && mr_json_is(doc, node, MR_J_NUMBER)) /* digits as they stand: 1.50 stays 1.50 in a text */
        return mr_value_bytes(MR_V_NUMBER, mr_json_raw(doc, node));
    if (schema != NULL && schema->kind == MR_C_STRUCT && schema->semantic == MR_S_PLAIN)
        schema = NULL;
    if (mr_json_is(doc, node, MR_J_OBJECT) || mr_json_is(doc, node, MR_J_ARRAY)) {
        if (schema == NULL)
            return mr_value_bytes(MR_V_JSON, mr_json_text(doc, node, ar, NULL));
    }
    return mr_connect_value(cn, schema, doc, node, ar);
}

static enum mr_status pick_one(struct mr_connect *cn, const struct mr_columns_from *from,
                               const struct mr_column *col, const struct mr_connect_message *msg,
                               uint32_t node, const struct mr_connect_schema *schema, struct mr_arena *ar,
                               struct mr_json_build *build, struct mr_error *err)
{
    bool is_typed = from->encoding == MR_ENC_AVRO || from->encoding == MR_ENC_PROTOBUF;
    struct mr_value v = node == MR_JSON_NONE ? mr_value_null() : value_at(cn, schema, &msg->doc, node, ar);
    mr_json_build_name(build, col->name);
    return mr_column_put(col, v, is_typed ? MR_COLUMN_TYPED : MR_COLUMN_JSON, ar, build, err);
}

/* Is the one column's value a member of the object, or the payload itself? */
static bool is_wrapped(const struct mr_columns_from *from, const struct mr_connect_message *msg,
                       struct mr_arena *ar)
{
    if (from->encoding == MR_ENC_AVRO || from->encoding == MR_ENC_PROTOBUF)
        return mr_json_is(&msg->doc, msg->root, MR_J_OBJECT) && msg->schema != NULL &&
               msg->schema->kind == MR_C_STRUCT;
    if (mr_str_eq_z(from->rule->wrap_single[from->side], "true"))
        return true;
    if (mr_str_eq_z(from->rule->wrap_single[from->side], "false"))
        return false;
    return member_of(&msg->doc, msg->root, from->columns->items[0].name, ar) != MR_JSON_NONE;
}

static enum mr_status pick_declared(struct mr_connect *cn, const struct mr_columns_from *from,
                                    struct mr_arena *ar, struct mr_json_build *build,
                                    const struct mr_connect_message *msg, struct mr_error *err)
{
    const struct mr_columns *cols = from->columns;
    bool is_object = mr_json_is(&msg->doc, msg->root, MR_J_OBJECT);
    if (cols->count == 1 && !is_wrapped(from, msg, ar))
        return pick_one(cn, from, &cols->items[0], msg, msg->root, msg->schema, ar, build, err);
    if (!is_object && from->encoding == MR_ENC_AVRO)
        return mr_fail_data(err, MR_CODE_COLUMN_COUNT,
                            "%zu columns are declared, the data is one value without fields", cols->count);
    if (!is_object)
        return mr_fail_data(err, MR_CODE_BAD_VALUE, "an object with the columns expected");
    for (size_t i = 0; i < cols->count; i++) {
        uint32_t n = member_of(&msg->doc, msg->root, cols->items[i].name, ar);
        const struct mr_connect_field *f = NULL;
        if (n != MR_JSON_NONE)
            f = mr_connect_field(msg->schema, mr_json_string(&msg->doc, n, ar, NULL), 0);
        MR_TRY(pick_one(cn, from, &cols->items[i], msg, n == MR_JSON_NONE ? n : n + 1,
                        f == NULL ? NULL : f->schema, ar, build, err));
    }
    return MR_OK;
}

/* Without declared columns everything stays as it is, and the window's columns come behind. */
static const struct mr_connect_schema *copy_all(struct mr_json_build *build,
                                                const struct mr_connect_message *msg, struct mr_arena *ar)
{
    if (mr_json_is(&msg->doc, msg->root, MR_J_OBJECT)) {
        for (uint32_t n = mr_json_first(&msg->doc, msg->root); n != MR_JSON_NONE;
             n = mr_json_next_in(&msg->doc, msg->root, n)) {
            mr_json_build_name(build, mr_json_string(&msg->doc, n, ar, NULL));
            mr_json_build_copy(build, &msg->doc, n + 1);
        }
        return msg->schema;
    }
    struct mr_connect_schema *row = mr_connect_make(MR_C_STRUCT, MR_STR(""), NULL, MR_JSON_NONE, ar);
    struct mr_connect_field *field = mr_arena_zalloc(ar, sizeof(*field));
    *field = (struct mr_connect_field){.name = msg->scalar_name, .schema = msg->schema};
    mr_connect_set_fields(row, field, 1, ar);
    mr_json_build_name(build, msg->scalar_name);
    mr_json_build_copy(build, &msg->doc, msg->root);
    return row;
}

enum mr_status mr_columns_pick(struct mr_connect *cn, const struct mr_columns_from *from, struct mr_arena *ar,
                               struct mr_json_build *build, struct mr_connect_message *msg,
                               struct mr_error *err)
{
    const struct mr_connect_schema *schema;
    if (msg->is_null || (from->columns->count == 0 && from->window.count == 0))
        return MR_OK;
    mr_json_build_reset(build);
    mr_json_build_open(build, MR_J_OBJECT);
    if (from->columns->count != 0) {
        MR_TRY(pick_declared(cn, from, ar, build, msg, err));
        schema = from->columns->schema;
    } else {
        schema = copy_all(build, msg, ar);
    }
    put_window(&from->window, build);
    mr_json_build_close(build);
    MR_TRY(mr_json_build_finish(build, ar, &msg->doc, err));
    msg->root = 0;
    msg->is_wrapped = true;
    msg->schema = with_window(schema, &from->window, ar);
    return MR_OK;
}

enum mr_status mr_key_check_maps(const struct mr_connect_schema *schema, struct mr_error *err)
{
    if (schema == NULL)
        return MR_OK;
    if (schema->kind == MR_C_MAP)
        return mr_fail_data(
            err, MR_CODE_MAP_IN_KEY,
            "the key holds a map: equal maps may be written in several ways, so it is no key");
    for (uint32_t i = 0; i < schema->field_count; i++)
        MR_TRY(mr_key_check_maps(schema->fields[i].schema, err));
    return schema->kind == MR_C_ARRAY ? mr_key_check_maps(schema->items, err) : MR_OK;
}

/* ---- Keys against rows ---- */

static bool same_content(const struct mr_field *key, const struct mr_field *row, struct mr_arena *ar)
{
    struct mr_type type = key->type.kind != MR_T_NONE ? key->type : mr_value_type(key->value);
    struct mr_value a, b;
    bool is_null = key->value.tag == MR_V_NULL, row_is_null = row->value.tag == MR_V_NULL;
    if (row->value.tag == MR_V_UNAVAILABLE || row->value.tag == MR_V_ABSENT)
        return true;
    if (is_null || row_is_null)
        return is_null && row_is_null;
    if (mr_value_coerce(key->value, type, ar, &a, NULL) != MR_OK ||
        mr_value_coerce(row->value, type, ar, &b, NULL) != MR_OK)
        return false;
    struct mr_buf x = MR_BUF_INIT(1u << 24), y = MR_BUF_INIT(1u << 24);
    mr_value_append_key(a, type, &x);
    mr_value_append_key(b, type, &y);
    bool is_same = mr_str_eq(mr_buf_str(&x), mr_buf_str(&y));
    mr_buf_free(&x);
    mr_buf_free(&y);
    return is_same;
}

/* The row's field of the key column's name, in any case. SIZE_MAX if there is none. */
static size_t row_field(const struct mr_fields *row, struct mr_str path)
{
    size_t folded = SIZE_MAX;
    for (size_t i = 0; i < row->count; i++) {
        if (mr_str_eq(row->items[i].path, path))
            return i;
        if (folded == SIZE_MAX && mr_str_eq_nocase(row->items[i].path, path))
            folded = i;
    }
    return folded;
}

/* One key column that the row has too: the same column, and both sides must agree. */
static enum mr_status hold_one(const struct mr_payload_rule *rule, struct mr_field *key,
                               struct mr_fields *row, struct mr_arena *ar, struct mr_error *err)
{
    size_t at = row_field(row, key->path);
    if (at == SIZE_MAX)
        return MR_OK;
    const struct mr_field *have = &row->items[at];
    bool wants_value = mr_str_eq_z(rule->conflict, "value");
    if (!wants_value && !mr_str_eq_z(rule->conflict, "key") && !same_content(key, have, ar)) {
        enum mr_status status = mr_fail_data(
            err, MR_CODE_KEY_CONFLICT, "column \"%.*s\" has another content in the key than in the value",
            MR_STR_FMT(key->path));
        mr_error_hint(err, "key.value.conflict says which side wins; where the key is no key of the table, "
                           "set the key's format to none and "
                           "tables.NAME.primary_key");
        mr_error_field(err, key->path.ptr, key->path.len);
        return status;
    }
    if (wants_value && have->value.tag != MR_V_NULL && have->value.tag != MR_V_UNAVAILABLE) {
        struct mr_value v;
        if (key->type.kind == MR_T_NONE || mr_value_coerce(have->value, key->type, ar, &v, NULL) != MR_OK)
            v = have->value;
        key->value = v;
    }
    /* The key's column stands for both. */
    struct mr_field *kept = mr_arena_alloc(ar, (row->count + 1) * sizeof(*kept));
    size_t n = 0;
    for (size_t i = 0; i < row->count; i++)
        if (i != at)
            kept[n++] = row->items[i];
    row->items = kept;
    row->count = n;
    return MR_OK;
}

/* In a table without key the key's columns are columns like others. */
static void prepend(const struct mr_field *key, size_t count, struct mr_fields *row, struct mr_arena *ar)
{
    struct mr_field *all = mr_arena_alloc(ar, (count + row->count + 1) * sizeof(*all));
    memcpy(all, key, count * sizeof(*all));
    if (row->count != 0)
        memcpy(all + count, row->items, row->count * sizeof(*all));
    row->items = all;
    row->count += count;
}

static enum mr_key_mode mode_of(const struct mr_config *cfg, const struct mr_record *rec,
                                const struct mr_change *ev)
{
    struct mr_table_settings settings;
    struct mr_relation rel = ev->relation.table.len != 0 ? ev->relation : mr_relation_of_topic(rec->topic);
    mr_config_table(cfg, rel.database, rel.table, &settings);
    return settings.key_mode;
}

enum mr_status mr_key_hold(const struct mr_config *cfg, const struct mr_payload_rule *rule,
                           const struct mr_record *rec, struct mr_arena *ar, struct mr_change *ev,
                           bool *is_skipped, struct mr_error *err)
{
    *is_skipped = false;
    if (ev->op != MR_OP_UPSERT && ev->op != MR_OP_DELETE)
        return MR_OK;
    enum mr_key_mode mode = mode_of(cfg, rec, ev);
    if (!ev->has_key && mode == MR_KEY_RECORD) {
        *is_skipped = mr_str_eq_z(rule->null_key, "skip");
        if (*is_skipped)
            return MR_OK;
        enum mr_status status = mr_fail_data(err, MR_CODE_NULL_KEY, "the record has no key");
        mr_error_hint(err,
                      "null.key: skip passes such records over; tables.NAME.primary_key: none appends them");
        return status;
    }
    if (ev->key.count == 0)
        return MR_OK;
    struct mr_field *key = mr_arena_alloc(ar, ev->key.count * sizeof(*key));
    memcpy(key, ev->key.items, ev->key.count * sizeof(*key));
    for (size_t i = 0; i < ev->key.count; i++) {
        if (ev->op == MR_OP_UPSERT)
            MR_TRY(hold_one(rule, &key[i], &ev->after, ar, err));
        if (key[i].value.tag != MR_V_NULL || mode != MR_KEY_RECORD)
            continue;
        mr_error_field(err, key[i].path.ptr, key[i].path.len);
        return mr_fail_data(err, MR_CODE_NULL_KEY_COLUMN, "the key column \"%.*s\" is null",
                            MR_STR_FMT(key[i].path));
    }
    ev->key.items = key;
    if (mode == MR_KEY_NONE && ev->op == MR_OP_UPSERT)
        prepend(key, ev->key.count, &ev->after, ar);
    return MR_OK;
}
