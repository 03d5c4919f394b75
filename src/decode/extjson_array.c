/* Arrays of Extended JSON under unwrap.array.encoding `array`: are the elements of one type, as Debezium's transform sees types? It compares what
 * Connect has for them, so texts, ObjectIds, decimals, code and null are one type, and dates and timestamps another; a number beside a null or a
 * text is none. Documents agree if no member of theirs has two types. Integers of both widths are one type here: relaxed notation loses the width. */
#include "extjson.h"

#include <millrace/base/map.h>

enum class {
    CLASS_NONE,
    CLASS_TEXT, /* and null */
    CLASS_INT,
    CLASS_DOUBLE,
    CLASS_BOOL,
    CLASS_INSTANT,
    CLASS_BYTES,
    CLASS_DOCUMENT, /* and what is written as one */
    CLASS_ARRAY,
};

static enum class class_of(const struct mr_bson_value *value) {
    switch (value->kind){
        case MR_BSON_NULL : case MR_BSON_STRING : case MR_BSON_OID : case MR_BSON_DECIMAL : return CLASS_TEXT;
        case MR_BSON_INT : case MR_BSON_BIG_INT : return CLASS_INT;
        case MR_BSON_DOUBLE : return CLASS_DOUBLE;
        case MR_BSON_BOOL : return CLASS_BOOL;
        case MR_BSON_DATE : case MR_BSON_TIMESTAMP : return CLASS_INSTANT;
        case MR_BSON_BINARY : return CLASS_BYTES;
        case MR_BSON_REGEX : case MR_BSON_CODE_SCOPE : case MR_BSON_MIN_KEY : case MR_BSON_MAX_KEY : case
        MR_BSON_DOCUMENT : return CLASS_DOCUMENT;
        case MR_BSON_ARRAY : return CLASS_ARRAY;
        case MR_BSON_UNDEFINED : case MR_BSON_BAD : break;
    }
return CLASS_NONE;
}

/* Has a member of these documents a type that it did not have in an earlier one? `classes`: by name, class + 1. */
static bool members_differ(const struct mr_json_doc *doc, uint32_t object, struct mr_map *classes,
                           struct mr_arena *ar)
{
    for (uint32_t n = mr_json_first(doc, object); n != MR_JSON_NONE; n = mr_json_next_in(doc, object, n)) {
        if (mr_json_is_shadowed(doc, object, n))
            continue;
        struct mr_bson_value value = mr_extjson_read(doc, n + 1, ar);
        enum class class = class_of(&value);
        if (class == CLASS_NONE)
            continue;
        struct mr_str name = mr_json_string(doc, n, ar, NULL);
        uintptr_t before = (uintptr_t)mr_map_get(classes, name);
        if (before != 0 && before != (uintptr_t) class)
            return true;
        if (before == 0)
            mr_map_put(classes, name, (void *)(uintptr_t) class);
    }
    return false;
}

struct survey {
    enum class class; /* of the elements, but for nulls beside documents */
    bool is_mixed, has_null, has_other_text, has_decimal;
    struct mr_bson_value bad; /* an element that cannot be */
};

static void add_class(struct survey *s, const struct mr_bson_value *value)
{
    enum class class = class_of(value);

    if (value->kind == MR_BSON_BAD && s->bad.kind != MR_BSON_BAD)
        s->bad = *value;
    if (value->kind == MR_BSON_NULL) { /* stands with texts and documents */
        s->has_null = true;
        return;
    }
    s->has_decimal |= value->kind == MR_BSON_DECIMAL;
    s->has_other_text |= class == CLASS_TEXT && value->kind != MR_BSON_DECIMAL;
    if (s->class == CLASS_NONE)
        s->class = class;
    s->is_mixed |= class != CLASS_NONE && class != s->class;
}

static struct survey look_at(const struct mr_json_doc *doc, uint32_t array, struct mr_arena *ar)
{
    struct survey s = {.class = CLASS_NONE};
    struct mr_map *members = mr_map_create();

    for (uint32_t n = mr_json_first(doc, array); n != MR_JSON_NONE && !s.is_mixed;
         n = mr_json_next_in(doc, array, n)) {
        struct mr_bson_value value = mr_extjson_read(doc, n, ar);
        add_class(&s, &value);
        if (value.kind == MR_BSON_DOCUMENT)
            s.is_mixed |= members_differ(doc, value.node, members, ar);
    }
    mr_map_destroy(members, NULL);
    s.is_mixed |= s.has_null && s.class != CLASS_NONE && s.class != CLASS_TEXT && s.class != CLASS_DOCUMENT;
    return s;
}

/* A decimal among texts is its text. */
static struct mr_value item_of(struct mr_extjson *ej, const struct mr_json_doc *doc,
                               const struct mr_bson_value *read, bool as_text, struct mr_arena *ar)
{
    struct mr_type ignored;

    if (as_text && read->kind == MR_BSON_DECIMAL)
        return mr_value_text(read->text);
    return mr_extjson_scalar(ej, doc, read, ar, &ignored);
}

struct mr_value mr_extjson_array(struct mr_extjson *ej, const struct mr_json_doc *doc,
                                 const struct mr_bson_value *array, struct mr_arena *ar, struct mr_type *type)
{
    struct mr_value json = mr_extjson_scalar(ej, doc, array, ar, type);
    struct survey s = look_at(doc, array->node, ar);
    uint32_t count = 0;

    if (s.is_mixed) {
        *type = MR_TYPE(MR_T_NONE);
        return mr_array_mixed(mr_value_str(json), json.flags, ar);
    }
    if (s.class == CLASS_DOCUMENT || s.class == CLASS_ARRAY)
        return json;
    if (s.bad.kind == MR_BSON_BAD)
        return mr_extjson_scalar(ej, doc, &s.bad, ar, type);
    struct mr_value *items = mr_arena_alloc(ar, (doc->nodes[array->node].count + 1) * sizeof *items);
    for (uint32_t n = mr_json_first(doc, array->node); n != MR_JSON_NONE;
         n = mr_json_next_in(doc, array->node, n)) {
        struct mr_bson_value value = mr_extjson_read(doc, n, ar);
        if (value.kind == MR_BSON_UNDEFINED)
            continue;
        items[count] = item_of(ej, doc, &value, s.has_other_text && s.has_decimal, ar);
        if (items[count].tag == MR_V_INVALID) { /* a date beyond 64 bits of microseconds */
            *type = MR_TYPE(MR_T_TIMESTAMPTZ);
            type->origin = MR_TYPED;
            return items[count];
        }
        count++;
    }
    struct mr_value value = mr_array_of(items, count, mr_value_str(json), json.flags, MR_TYPED, ar);
    *type = mr_value_array(value)->type;
    return value;
}
