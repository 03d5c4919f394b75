/* Recognising what a value of an Extended JSON text is: the wrappers, one reader each. */
#include "extjson.h"

#include <millrace/base/decimal.h>
#include <millrace/base/encode.h>
#include <millrace/base/time.h>

/* Value of an object's first member: the object, the name, the value follow one another on the tape. */
static uint32_t first_value(uint32_t object)
{
    return object + 2;
}

static struct mr_bson_value document(uint32_t node)
{
    return (struct mr_bson_value){.kind = MR_BSON_DOCUMENT, .node = node};
}

static struct mr_bson_value bad(uint32_t node, enum mr_type_kind type, enum mr_invalid why, const char *what)
{
    return (struct mr_bson_value){.kind = MR_BSON_BAD, .node = node, .type = (uint8_t)type,
                                  .number = (int64_t)why, .text = mr_str_z(what)};
}

/* JSON's number grammar. */
static bool is_number(struct mr_str s)
{
    size_t i = s.len > 0 && s.ptr[0] == '-', start;

    if (i < s.len && s.ptr[i] == '0')
        i++;
    else {
        for (start = i; i < s.len && s.ptr[i] >= '0' && s.ptr[i] <= '9'; i++)
            ;
        if (i == start)
            return false;
    }
    if (i < s.len && s.ptr[i] == '.') {
        for (start = ++i; i < s.len && s.ptr[i] >= '0' && s.ptr[i] <= '9'; i++)
            ;
        if (i == start)
            return false;
    }
    if (i < s.len && (s.ptr[i] | 0x20) == 'e') {
        i++;
        if (i < s.len && (s.ptr[i] == '+' || s.ptr[i] == '-'))
            i++;
        for (start = i; i < s.len && s.ptr[i] >= '0' && s.ptr[i] <= '9'; i++)
            ;
        if (i == start)
            return false;
    }
    return i == s.len;
}

/* NaN and the infinities in every spelling that the MongoDB driver reads; false if it is none of them. */
static bool special_word(struct mr_str s, struct mr_str *word)
{
    bool negative = s.len > 0 && s.ptr[0] == '-';
    struct mr_str name = negative || (s.len > 0 && s.ptr[0] == '+') ? mr_str_of(s.ptr + 1, s.len - 1) : s;

    if (mr_str_eq_nocase(s, MR_STR("NaN")))
        *word = MR_STR("NaN");
    else if (mr_str_eq_nocase(name, MR_STR("Infinity")) || mr_str_eq_nocase(name, MR_STR("Inf")))
        *word = negative ? MR_STR("-Infinity") : MR_STR("Infinity");
    else
        return false;
    return true;
}

/* The text of a wrapper's content: a string, or a number where a careless producer left the quotation marks out. */
static bool number_text(const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar,
                        struct mr_str *out)
{
    if (mr_json_is(doc, node, MR_J_STRING))
        *out = mr_json_string(doc, node, ar, NULL);
    else if (mr_json_is(doc, node, MR_J_NUMBER) || mr_json_is(doc, node, MR_J_WORD))
        *out = mr_json_raw(doc, node);
    else
        return false;
    return true;
}

/* ---- one reader a keyword ---- */

typedef struct mr_bson_value (*read_fn)(const struct mr_json_doc *doc, uint32_t object, struct mr_arena *ar);

static struct mr_bson_value read_oid(const struct mr_json_doc *doc, uint32_t object, struct mr_arena *ar)
{
    uint32_t value = first_value(object);
    if (!mr_json_is(doc, value, MR_J_STRING))
        return document(object);

    struct mr_str text = mr_json_string(doc, value, ar, NULL);
    bool has_upper = false, is_hex = text.len == 24;
    for (size_t i = 0; i < text.len && is_hex; i++) {
        char c = text.ptr[i];
        has_upper |= c >= 'A' && c <= 'F';
        is_hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    }
    if (!is_hex)
        return bad(object, MR_T_TEXT, MR_INVALID_BAD_VALUE, "$oid is not 24 hexadecimal digits");
    if (has_upper) {
        char *lower = mr_arena_alloc(ar, text.len);
        for (size_t i = 0; i < text.len; i++)
            lower[i] = (char)(text.ptr[i] | 0x20); /* digits have that bit already */
        text.ptr = lower;
    }
    return (struct mr_bson_value){.kind = MR_BSON_OID, .text = text};
}

static struct mr_bson_value read_int(const struct mr_json_doc *doc, uint32_t object, struct mr_arena *ar)
{
    struct mr_bson_value value = {.kind = MR_BSON_INT};
    struct mr_str text;

    if (!number_text(doc, first_value(object), ar, &text))
        return document(object);
    if (!mr_parse_int64(text, &value.number))
        return bad(object, MR_T_INT64, MR_INVALID_BAD_VALUE, "$numberInt or $numberLong is no 64-bit integer");
    return value;
}

static struct mr_bson_value read_double(const struct mr_json_doc *doc, uint32_t object, struct mr_arena *ar)
{
    struct mr_bson_value value = {.kind = MR_BSON_DOUBLE};

    if (!number_text(doc, first_value(object), ar, &value.text))
        return document(object);
    if (!is_number(value.text) && !special_word(value.text, &value.text))
        return bad(object, MR_T_FLOAT64, MR_INVALID_BAD_VALUE, "$numberDouble is no number");
    return value;
}

static struct mr_bson_value read_decimal(const struct mr_json_doc *doc, uint32_t object, struct mr_arena *ar)
{
    struct mr_bson_value value = {.kind = MR_BSON_DECIMAL};
    struct mr_decimal_info info;

    if (!number_text(doc, first_value(object), ar, &value.text))
        return document(object);
    if (special_word(value.text, &value.text))
        return value;
    bool is_json = is_number(value.text);
    if (!mr_decimal_parse(value.text, &info))
        return bad(object, MR_T_DECIMAL, is_json ? MR_INVALID_RANGE : MR_INVALID_BAD_VALUE,
                   is_json ? "$numberDecimal has an exponent beyond Decimal128" : "$numberDecimal is no number");
    if (!is_json)
        value.text = mr_decimal_plain(value.text, ar); /* "007.5", "+1" */
    return value;
}

/* ISO 8601 to milliseconds; a date alone is midnight. The words for infinity that our parser knows are no dates here. */
static bool iso_ms(struct mr_str text, int64_t *ms)
{
    bool has_zone;
    int64_t us, days;

    if (mr_parse_timestamptz(text, &us, &has_zone)) {
        if (us == MR_TIME_INFINITY || us == MR_TIME_NEG_INFINITY)
            return false;
        *ms = mr_floor_div(us, 1000);
        return true;
    }
    if (!mr_parse_date(text, &days) || days == MR_TIME_INFINITY || days == MR_TIME_NEG_INFINITY)
        return false;
    return !__builtin_mul_overflow(days, MR_US_PER_DAY / 1000, ms);
}

static struct mr_bson_value read_date(const struct mr_json_doc *doc, uint32_t object, struct mr_arena *ar)
{
    struct mr_bson_value value = {.kind = MR_BSON_DATE};
    uint32_t content = first_value(object);

    switch (mr_json_kind(doc, content)) {
    case MR_J_NUMBER: /* v1 */
        if (!mr_json_int64(doc, content, &value.number))
            return bad(object, MR_T_TIMESTAMPTZ, MR_INVALID_RANGE, "$date is beyond 64-bit milliseconds");
        return value;
    case MR_J_STRING: /* v2 relaxed */
        if (!iso_ms(mr_json_string(doc, content, ar, NULL), &value.number))
            return bad(object, MR_T_TIMESTAMPTZ, MR_INVALID_BAD_VALUE, "$date is no ISO 8601 time");
        return value;
    case MR_J_OBJECT: { /* v2 canonical */
        if (doc->nodes[content].count != 1 ||
            !mr_json_string_is(doc, content + 1, MR_STR("$numberLong")))
            return document(object);
        struct mr_bson_value inner = read_int(doc, content, ar);
        if (inner.kind == MR_BSON_BAD)
            return bad(object, MR_T_TIMESTAMPTZ, MR_INVALID_RANGE, "$date is beyond 64-bit milliseconds");
        if (inner.kind != MR_BSON_INT)
            return document(object);
        value.number = inner.number;
        return value;
    }
    case MR_J_NULL: case MR_J_FALSE: case MR_J_TRUE: case MR_J_WORD: case MR_J_ARRAY:
        break;
    }
    return document(object);
}

/* Seconds are unsigned 32 bits; the increment has no place in an instant. */
static struct mr_bson_value read_timestamp(const struct mr_json_doc *doc, uint32_t object, struct mr_arena *ar)
{
    (void)ar;
    uint32_t content = first_value(object);
    int64_t seconds;

    if (MR_JSON_MEMBER(doc, content, "t") == MR_JSON_NONE || MR_JSON_MEMBER(doc, content, "i") == MR_JSON_NONE)
        return document(object);
    if (!mr_json_int64(doc, MR_JSON_MEMBER(doc, content, "t"), &seconds) || seconds < 0 ||
        seconds > (int64_t)UINT32_MAX)
        return bad(object, MR_T_TIMESTAMPTZ, MR_INVALID_BAD_VALUE, "$timestamp has no unsigned 32-bit seconds");
    return (struct mr_bson_value){.kind = MR_BSON_TIMESTAMP, .number = seconds * 1000};
}

static struct mr_bson_value base64_value(const struct mr_json_doc *doc, uint32_t object, uint32_t text,
                                         struct mr_arena *ar)
{
    struct mr_bson_value value = {.kind = MR_BSON_BINARY};

    if (!mr_base64_decode(mr_json_string(doc, text, ar, NULL), ar, &value.text))
        return bad(object, MR_T_BYTES, MR_INVALID_BAD_VALUE, "$binary is no base64");
    return value;
}

static bool is_subtype(const struct mr_json_doc *doc, uint32_t node)
{
    return mr_json_is(doc, node, MR_J_STRING) || mr_json_is(doc, node, MR_J_NUMBER);
}

/* {"$binary": "…", "$type": "00"} in either order, or {"$binary": {"base64": "…", "subType": "00"}}. */
static struct mr_bson_value read_binary(const struct mr_json_doc *doc, uint32_t object, struct mr_arena *ar)
{
    if (doc->nodes[object].count == 1) {
        uint32_t inner = first_value(object), text = MR_JSON_MEMBER(doc, inner, "base64");
        if (!mr_json_is(doc, text, MR_J_STRING) || !is_subtype(doc, MR_JSON_MEMBER(doc, inner, "subType")))
            return document(object);
        return base64_value(doc, object, text, ar);
    }
    uint32_t text = MR_JSON_MEMBER(doc, object, "$binary");
    if (!mr_json_is(doc, text, MR_J_STRING) || !is_subtype(doc, MR_JSON_MEMBER(doc, object, "$type")))
        return document(object);
    return base64_value(doc, object, text, ar);
}

static struct mr_bson_value read_uuid(const struct mr_json_doc *doc, uint32_t object, struct mr_arena *ar)
{
    uint32_t content = first_value(object);
    if (!mr_json_is(doc, content, MR_J_STRING))
        return document(object);

    unsigned char *bytes = mr_arena_alloc(ar, 16);
    if (!mr_uuid_parse(mr_json_string(doc, content, ar, NULL), bytes))
        return bad(object, MR_T_BYTES, MR_INVALID_BAD_VALUE, "$uuid is no UUID");
    return (struct mr_bson_value){.kind = MR_BSON_BINARY, .text = mr_str_of((const char *)bytes, 16)};
}

static struct mr_bson_value regex(const struct mr_json_doc *doc, uint32_t object, uint32_t pattern,
                                  uint32_t options)
{
    if (!mr_json_is(doc, pattern, MR_J_STRING) || !mr_json_is(doc, options, MR_J_STRING))
        return document(object);
    return (struct mr_bson_value){.kind = MR_BSON_REGEX, .node = pattern, .second = options};
}

static struct mr_bson_value read_regex_v1(const struct mr_json_doc *doc, uint32_t object, struct mr_arena *ar)
{
    (void)ar;
    return regex(doc, object, first_value(object), MR_JSON_MEMBER(doc, object, "$options"));
}

static struct mr_bson_value read_regex_v2(const struct mr_json_doc *doc, uint32_t object, struct mr_arena *ar)
{
    (void)ar;
    uint32_t inner = first_value(object);
    return regex(doc, object, MR_JSON_MEMBER(doc, inner, "pattern"), MR_JSON_MEMBER(doc, inner, "options"));
}

static struct mr_bson_value read_code(const struct mr_json_doc *doc, uint32_t object, struct mr_arena *ar)
{
    (void)ar;
    uint32_t code = first_value(object);
    if (!mr_json_is(doc, code, MR_J_STRING))
        return document(object);
    if (doc->nodes[object].count == 1)
        return (struct mr_bson_value){.kind = MR_BSON_STRING, .node = code};

    uint32_t scope = MR_JSON_MEMBER(doc, object, "$scope");
    if (!mr_json_is(doc, scope, MR_J_OBJECT))
        return document(object);
    return (struct mr_bson_value){.kind = MR_BSON_CODE_SCOPE, .node = code, .second = scope};
}

static struct mr_bson_value read_symbol(const struct mr_json_doc *doc, uint32_t object, struct mr_arena *ar)
{
    (void)ar;
    if (!mr_json_is(doc, first_value(object), MR_J_STRING))
        return document(object);
    return (struct mr_bson_value){.kind = MR_BSON_STRING, .node = first_value(object)};
}

static struct mr_bson_value read_min_key(const struct mr_json_doc *doc, uint32_t object, struct mr_arena *ar)
{
    (void)doc, (void)object, (void)ar;
    return (struct mr_bson_value){.kind = MR_BSON_MIN_KEY};
}

static struct mr_bson_value read_max_key(const struct mr_json_doc *doc, uint32_t object, struct mr_arena *ar)
{
    (void)doc, (void)object, (void)ar;
    return (struct mr_bson_value){.kind = MR_BSON_MAX_KEY};
}

static struct mr_bson_value read_undefined(const struct mr_json_doc *doc, uint32_t object, struct mr_arena *ar)
{
    (void)ar;
    if (!mr_json_is(doc, first_value(object), MR_J_TRUE))
        return document(object);
    return (struct mr_bson_value){.kind = MR_BSON_UNDEFINED};
}

static struct mr_bson_value read_db_pointer(const struct mr_json_doc *doc, uint32_t object, struct mr_arena *ar)
{
    (void)ar;
    if (!mr_json_is(doc, first_value(object), MR_J_OBJECT))
        return document(object);
    return document(first_value(object));
}

/* Keyword of the first member, and how many members the wrapper has. The frequent ones come first. */
static const struct {
    struct mr_str keyword;
    uint32_t min_members, max_members;
    read_fn read;
} wrappers[] = {
    {{"$oid", 4}, 1, 1, read_oid},
    {{"$date", 5}, 1, 1, read_date},
    {{"$numberLong", 11}, 1, 1, read_int},
    {{"$numberDecimal", 14}, 1, 1, read_decimal},
    {{"$numberInt", 10}, 1, 1, read_int},
    {{"$numberDouble", 13}, 1, 1, read_double},
    {{"$binary", 7}, 1, 2, read_binary},
    {{"$type", 5}, 2, 2, read_binary},
    {{"$uuid", 5}, 1, 1, read_uuid},
    {{"$timestamp", 10}, 1, 1, read_timestamp},
    {{"$regularExpression", 18}, 1, 1, read_regex_v2},
    {{"$regex", 6}, 2, 2, read_regex_v1},
    {{"$code", 5}, 1, 2, read_code},
    {{"$symbol", 7}, 1, 1, read_symbol},
    {{"$minKey", 7}, 1, 1, read_min_key},
    {{"$maxKey", 7}, 1, 1, read_max_key},
    {{"$undefined", 10}, 1, 1, read_undefined},
    {{"$dbPointer", 10}, 1, 1, read_db_pointer},
};

static struct mr_bson_value read_object(const struct mr_json_doc *doc, uint32_t object, struct mr_arena *ar)
{
    const struct mr_json_node *node = &doc->nodes[object];
    if (node->count == 0 || node->count > 2)
        return document(object);

    const struct mr_json_node *name = &doc->nodes[object + 1];
    if (name->len == 0 || (doc->text.ptr[name->offset] != '$' && (name->flags & MR_JSON_ESCAPED) == 0))
        return document(object);
    for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++) {
        if (!mr_json_string_is(doc, object + 1, wrappers[i].keyword))
            continue;
        if (node->count < wrappers[i].min_members || node->count > wrappers[i].max_members)
            return document(object);
        return wrappers[i].read(doc, object, ar);
    }
    return document(object);
}

struct mr_bson_value mr_extjson_read(const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar)
{
    struct mr_bson_value value = {.kind = MR_BSON_NULL, .node = node};

    switch (mr_json_kind(doc, node)) {
    case MR_J_NULL:
        break;
    case MR_J_FALSE:
    case MR_J_TRUE:
        value.kind = MR_BSON_BOOL;
        value.number = mr_json_kind(doc, node) == MR_J_TRUE;
        break;
    case MR_J_NUMBER:
        value.text = mr_json_raw(doc, node);
        if ((doc->nodes[node].flags & MR_JSON_FRACTION) != 0)
            value.kind = MR_BSON_DOUBLE;
        else
            value.kind = mr_json_int64(doc, node, &value.number) ? MR_BSON_INT : MR_BSON_BIG_INT;
        break;
    case MR_J_WORD:
        value.kind = MR_BSON_DOUBLE;
        value.text = mr_json_raw(doc, node);
        break;
    case MR_J_STRING:
        value.kind = MR_BSON_STRING;
        break;
    case MR_J_ARRAY:
        value.kind = MR_BSON_ARRAY;
        break;
    case MR_J_OBJECT:
        return read_object(doc, node, ar);
    }
    return value;
}
