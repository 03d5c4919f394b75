/* Record keys. See key.h. */
#include "key.h"

#include <stdio.h>

#include <millrace/base/decimal.h>
#include <millrace/base/utf8.h>

/* A logical router writes it into keys; it is no column of the table. */
static const struct mr_str router_member = {"__dbz__physicalTableIdentifier", 30};

struct mr_relation mr_relation_of_topic(struct mr_str topic)
{
    struct mr_relation rel = {MR_STR(""), topic};
    ptrdiff_t dot = mr_str_rfind(topic, '.');
    if (dot < 0)
        return rel;
    rel.table = mr_str_of(topic.ptr + dot + 1, topic.len - (size_t)dot - 1);
    struct mr_str before = mr_str_of(topic.ptr, (size_t)dot);
    dot = mr_str_rfind(before, '.');
    rel.database = mr_str_of(before.ptr + dot + 1, before.len - (size_t)(dot + 1));
    return rel;
}

/* Column of a key that is a bare scalar: the table's own setting if it names one column, else `key`. */
static struct mr_str scalar_path(const struct mr_config *cfg, const struct mr_record *rec,
                                 const struct mr_connect_message *key, const struct mr_key_rule *rule)
{
    struct mr_relation rel = rule->relation.table.len != 0 ? rule->relation : mr_relation_of_topic(rec->topic);
    struct mr_table_settings settings;
    mr_config_table(cfg, rel.database, rel.table, &settings);
    if (settings.key_mode == MR_KEY_FIELDS && settings.key_fields.count == 1)
        return mr_str_z(settings.key_fields.items[0]);
    return key->scalar_name.len != 0 ? key->scalar_name : MR_STR("key");
}

uint32_t mr_key_single_id(const struct mr_connect_message *key)
{
    if (!mr_json_is(&key->doc, key->root, MR_J_OBJECT) || key->doc.nodes[key->root].count != 1)
        return MR_JSON_NONE;
    return MR_JSON_MEMBER(&key->doc, key->root, "id");
}

static void object_fields(struct mr_connect *cn, const struct mr_connect_message *key,
                          const struct mr_key_rule *rule, struct mr_arena *ar,
                          struct mr_field_list *list)
{
    uint32_t id = rule->id_is_document_id ? mr_key_single_id(key) : MR_JSON_NONE;
    if (id != MR_JSON_NONE) {
        const struct mr_connect_field *f = mr_connect_field(key->schema, MR_STR("id"), 0);
        mr_connect_member(cn, f == NULL ? NULL : f->schema, &key->doc, id, MR_STR("_id"), ar, list);
        return;
    }

    mr_connect_row(cn, key->schema, &key->doc, key->root, MR_STR(""), ar, list);
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (!mr_str_eq(list->items[i].path, router_member))
            list->items[kept++] = list->items[i];
    }
    list->count = kept;
}

enum mr_status mr_key_fields(struct mr_connect *cn, const struct mr_record *rec,
                             const struct mr_connect_message *key, const struct mr_key_rule *rule,
                             struct mr_arena *ar, struct mr_fields *out, struct mr_error *err)
{
    struct mr_field_list list = {0};
    *out = (struct mr_fields){0};
    if (key->is_null)
        return MR_OK;

    if (key->is_text) {
        struct mr_value v = mr_value_text(key->text);
        v.flags = (uint8_t)mr_utf8_check(key->text);
        mr_field_add(&list, ar, scalar_path(cn->cfg, rec, key, rule), MR_TYPE(MR_T_NONE), v);
    } else if (mr_json_is(&key->doc, key->root, MR_J_OBJECT)) {
        object_fields(cn, key, rule, ar, &list);
    } else if (mr_json_is(&key->doc, key->root, MR_J_ARRAY)) {
        return mr_fail_data(err, MR_CODE_NO_KEY, "the message's key is a JSON array, no set of columns");
    } else {
        mr_connect_member(cn, key->schema, &key->doc, key->root, scalar_path(cn->cfg, rec, key, rule), ar,
                          &list);
    }
    *out = mr_field_list_get(&list);
    return MR_OK;
}

struct mr_str mr_key_text(const struct mr_connect_message *key, struct mr_arena *ar)
{
    if (key->is_null)
        return MR_STR("");
    if (!key->is_text)
        return mr_json_text(&key->doc, key->root, ar, NULL);

    struct mr_buf buf = MR_BUF_INIT(key->text.len * 6 + 16);
    mr_buf_append_json(&buf, key->text);
    struct mr_str text = mr_arena_copy(ar, mr_buf_str(&buf));
    mr_buf_free(&buf);
    return text;
}

struct mr_str mr_key_fields_text(const struct mr_fields *key, struct mr_arena *ar)
{
    struct mr_buf out = MR_BUF_INIT(1u << 20);
    for (size_t i = 0; i < key->count; i++) {
        mr_buf_append_char(&out, i == 0 ? '{' : ',');
        mr_buf_append_json(&out, key->items[i].path);
        mr_buf_append_char(&out, ':');
        if (key->items[i].value.tag <= MR_V_NULL || key->items[i].value.tag == MR_V_INVALID)
            mr_buf_append_z(&out, "null");
        else
            mr_value_append_json(key->items[i].value, &out);
    }
    mr_buf_append_char(&out, '}');
    struct mr_str text = mr_arena_copy(ar, mr_buf_str(&out));
    mr_buf_free(&out);
    return text;
}

enum mr_status mr_key_apply(struct mr_connect *cn, const struct mr_record *rec,
                            const struct mr_connect_message *key, const struct mr_key_rule *rule,
                            bool wants_text, struct mr_arena *ar, struct mr_change *ev,
                            struct mr_error *err)
{
    MR_TRY(mr_key_fields(cn, rec, key, rule, ar, &ev->key, err));
    ev->has_key = ev->key.count != 0;
    if (wants_text)
        ev->key_text = mr_key_text(key, ar);
    return MR_OK;
}

/* Equal as values of one column? Key and row of one producer spell a value alike, but numbers may differ in form. Values of different
 * kinds (a key converted to text, say) are no proof of a change. */
static bool same_value(struct mr_value a, struct mr_value b)
{
    struct mr_decimal_info info;
    char text[24];
    if (a.tag == MR_V_NUMBER && b.tag == MR_V_INT)
        return same_value(b, a);
    if (a.tag == MR_V_INT && b.tag == MR_V_NUMBER) {
        int len = snprintf(text, sizeof(text), "%lld", (long long)a.i);
        a = mr_value_bytes(MR_V_NUMBER, mr_str_of(text, (size_t)len));
    }
    bool are_times = (a.tag == MR_V_TIME && b.tag == MR_V_DURATION) ||
                     (a.tag == MR_V_DURATION && b.tag == MR_V_TIME);
    if (a.tag != b.tag && !are_times)
        return true;

    switch ((enum mr_tag)a.tag) {
    case MR_V_NUMBER:
        return mr_str_eq(mr_value_str(a), mr_value_str(b)) ||
               (mr_decimal_parse(mr_value_str(a), &info) && mr_decimal_parse(mr_value_str(b), &info) &&
                mr_decimal_cmp(mr_value_str(a), mr_value_str(b)) == 0);
    case MR_V_FLOAT:
        return a.f == b.f || (a.f != a.f && b.f != b.f);
    case MR_V_TEXT:
    case MR_V_BYTES:
    case MR_V_UUID:
    case MR_V_BITS:
    case MR_V_JSON:
        return mr_str_eq(mr_value_str(a), mr_value_str(b));
    case MR_V_ARRAY:
        return mr_str_eq(mr_value_array(a)->json, mr_value_array(b)->json);
    case MR_V_BOOL:
    case MR_V_INT:
    case MR_V_DATE:
    case MR_V_TIME:
    case MR_V_DURATION:
    case MR_V_TIMESTAMP:
    case MR_V_TIMESTAMPTZ:
        return a.i == b.i;
    case MR_V_ABSENT:
    case MR_V_UNAVAILABLE:
    case MR_V_NULL:
    case MR_V_PATCH:
    case MR_V_INVALID:
        break;
    }
    return true;
}

static const struct mr_field *find(const struct mr_fields *fields, struct mr_str path, size_t hint)
{
    if (hint < fields->count && mr_str_eq(fields->items[hint].path, path))
        return &fields->items[hint];
    for (size_t i = 0; i < fields->count; i++) {
        if (mr_str_eq(fields->items[i].path, path))
            return &fields->items[i];
    }
    return NULL;
}

static bool tells_a_value(const struct mr_field *f)
{
    return f != NULL && f->value.tag != MR_V_NULL && f->value.tag != MR_V_UNAVAILABLE &&
           f->value.tag != MR_V_ABSENT && f->value.tag != MR_V_INVALID;
}

/* The key with the values that the row image has for it; `fields` itself where they are the same. */
static struct mr_fields key_of_image(struct mr_arena *ar, struct mr_fields fields, const struct mr_fields *image)
{
    struct mr_field *changed = NULL;
    for (size_t i = 0; i < fields.count; i++) {
        const struct mr_field *k = &fields.items[i];
        const struct mr_field *a = find(image, k->path, i);
        if (!tells_a_value(a) || !tells_a_value(k) || same_value(k->value, a->value))
            continue;
        if (changed == NULL) {
            changed = mr_arena_alloc(ar, fields.count * sizeof(*changed));
            memcpy(changed, fields.items, fields.count * sizeof(*changed));
        }
        changed[i] = *a;
    }
    if (changed != NULL)
        fields.items = changed;
    return fields;
}

void mr_key_follow_image(struct mr_arena *ar, struct mr_change *ev, const struct mr_fields *image)
{
    ev->key = key_of_image(ar, ev->key, image);
}

/* Is `whole` what the negative number `wrapped` was before it had to fit into 64 bits with a sign? */
static bool is_unwrapped(struct mr_value wrapped, struct mr_value whole)
{
    char text[24];
    if (wrapped.tag != MR_V_INT || wrapped.i >= 0 || whole.tag != MR_V_NUMBER)
        return false;
    snprintf(text, sizeof(text), "%llu", (unsigned long long)wrapped.i);
    return mr_str_eq_z(mr_value_str(whole), text);
}

void mr_key_unwrap(struct mr_arena *ar, struct mr_change *ev)
{
    struct mr_field *key = NULL;
    for (size_t i = 0; i < ev->key.count; i++) {
        const struct mr_field *a = find(&ev->after, ev->key.items[i].path, i);
        if (a == NULL || !is_unwrapped(ev->key.items[i].value, a->value))
            continue;
        if (key == NULL) {
            key = mr_arena_alloc(ar, ev->key.count * sizeof(*key));
            memcpy(key, ev->key.items, ev->key.count * sizeof(*key));
            ev->key.items = key;
        }
        key[i] = *a;
    }
}

bool mr_key_disagrees(struct mr_arena *ar, const struct mr_change *ev)
{
    return key_of_image(ar, ev->key, &ev->after).items != ev->key.items;
}

void mr_key_detect_change(struct mr_arena *ar, struct mr_change *ev)
{
    struct mr_fields old = key_of_image(ar, ev->key, &ev->before);
    struct mr_fields now = key_of_image(ar, ev->key, &ev->after);
    bool changed = false;
    for (size_t i = 0; i < now.count; i++)
        changed = changed || (tells_a_value(&now.items[i]) && tells_a_value(&old.items[i]) &&
                              !same_value(old.items[i].value, now.items[i].value));
    ev->key = now;
    if (changed)
        ev->old_key = old;
}
