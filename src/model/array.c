/* Arrays of scalars: what their elements have in common, and JSON read as one. */
#include <millrace/model/value.h>

#include <millrace/base/decimal.h>
#include <millrace/base/utf8.h>

#include <math.h>

#include "json_text.h"

static bool is_number(uint8_t tag)
{
    return tag == MR_V_INT || tag == MR_V_NUMBER;
}

static bool is_clock(uint8_t tag)
{
    return tag == MR_V_TIME || tag == MR_V_DURATION;
}

/* What holds all that `have` holds, and this one too; false: nothing. */
static bool add_type(struct mr_type *have, uint8_t tag, struct mr_value v)
{
    struct mr_type type = mr_value_type(v);

    if (v.tag == MR_V_NUMBER)
        type = MR_TYPE_DECIMAL_OPEN;
    if (have->kind == MR_T_NONE || mr_type_eq(*have, type)) {
        *have = type;
        return type.kind != MR_T_NONE && type.kind != MR_T_JSON && type.kind != MR_T_ARRAY;
    }
    if (is_number(tag) && is_number(v.tag))
        *have = MR_TYPE_DECIMAL_OPEN;
    else if (is_clock(tag) && is_clock(v.tag))
        *have = MR_TYPE(MR_T_DURATION);
    else if (tag == MR_V_BITS && v.tag == MR_V_BITS)
        *have = MR_TYPE_BITS(0);
    else
        return false;
    return true;
}

struct mr_value mr_array_of(const struct mr_value *items, uint32_t count, struct mr_str json, unsigned flags,
                            enum mr_type_origin origin, struct mr_arena *ar)
{
    struct mr_array *array = mr_arena_alloc(ar, sizeof *array);
    struct mr_type element = MR_TYPE(MR_T_NONE);
    uint8_t tag = MR_V_NULL;

    *array = (struct mr_array){.items = items, .count = count, .json = json};
    for (uint32_t i = 0; i < count && !array->is_mixed; i++) {
        if (items[i].tag == MR_V_NULL)
            continue;
        array->is_mixed = !add_type(&element, tag, items[i]);
        tag = items[i].tag;
    }
    if (array->is_mixed) {
        array->items = NULL;
        array->count = 0;
        array->type = MR_TYPE(MR_T_NONE);
    } else {
        element.origin = (uint8_t)origin;
        array->type = mr_type_array_of(element);
    }
    return mr_value_of_array(array, flags);
}

struct mr_value mr_array_mixed(struct mr_str json, unsigned flags, struct mr_arena *ar)
{
    struct mr_array *array = mr_arena_alloc(ar, sizeof *array);

    *array = (struct mr_array){.json = json, .is_mixed = true, .type = MR_TYPE(MR_T_NONE)};
    return mr_value_of_array(array, flags);
}

/* ---- JSON ---- */

struct reader {
    const char *at, *end; /* of one well-formed JSON array */
    struct mr_arena *ar;
    struct mr_type element;
};

static void skip_blanks(struct reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
        r->at++;
}

/* A string; r->at stands behind its opening quote. */
static struct mr_value read_string(struct reader *r)
{
    const char *from = r->at;

    while (r->at < r->end && *r->at != '"')
        r->at += *r->at == '\\' && r->at + 1 < r->end ? 2 : 1;
    struct mr_str text = mr_str_of(from, (size_t)(r->at - from));
    r->at++;
    text = mr_json_text_plain(text, r->ar);
    struct mr_value v = mr_value_text(text);
    v.flags = (uint8_t)mr_utf8_check(text);
    return v;
}

static bool wants_float(const struct reader *r)
{
    return r->element.kind == MR_T_FLOAT32 || r->element.kind == MR_T_FLOAT64;
}

/* A number or a word. */
static bool read_bare(struct reader *r, struct mr_value *out)
{
    const char *from = r->at;
    int64_t whole;
    double f;

    while (r->at < r->end && *r->at != ',' && *r->at != ']' && *r->at != ' ' && *r->at != '\t' &&
           *r->at != '\n' && *r->at != '\r')
        r->at++;
    struct mr_str text = mr_str_of(from, (size_t)(r->at - from));
    if (mr_str_eq(text, MR_STR("null")))
        *out = mr_value_null();
    else if (mr_str_eq(text, MR_STR("true")) || mr_str_eq(text, MR_STR("false")))
        *out = mr_value_bool(text.len == 4);
    else if (mr_parse_int64(text, &whole))
        *out = mr_value_int(whole);
    else if (wants_float(r) && mr_decimal_shows_double(text) && mr_parse_double(text, &f) && isfinite(f))
        *out = mr_value_float(f);
    else
        *out = mr_value_bytes(MR_V_NUMBER, text);
    return text.len > 0;
}

/* NaN and the infinities stand in JSON as texts. */
static struct mr_value special_of(const struct reader *r, struct mr_value v)
{
    double f;

    if (wants_float(r) && mr_parse_double(mr_value_str(v), &f) && !isfinite(f))
        return mr_value_float(f);
    return v;
}

static bool read_item(struct reader *r, struct mr_value *out)
{
    if (*r->at == '[' || *r->at == '{')
        return false;
    if (*r->at != '"')
        return read_bare(r, out);
    r->at++;
    *out = special_of(r, read_string(r));
    return true;
}

/* More than the elements there are: commas in strings count too. */
static size_t room(struct mr_str json)
{
    size_t n = 1;

    for (size_t i = 0; i < json.len; i++)
        n += json.ptr[i] == ',';
    return n;
}

bool mr_array_of_json(struct mr_value v, struct mr_type type, struct mr_arena *ar, struct mr_value *out)
{
    struct mr_str json = mr_value_str(v);
    struct reader r = {
        .at = json.ptr, .end = json.ptr + json.len, .ar = ar, .element = mr_type_element(type)};
    uint32_t count = 0;

    skip_blanks(&r);
    if (r.at == r.end || *r.at++ != '[')
        return false;
    struct mr_value *items = mr_arena_alloc(ar, room(json) * sizeof *items);
    for (;;) {
        skip_blanks(&r);
        if (r.at < r.end && *r.at == ']' && count == 0)
            break;
        if (r.at == r.end || !read_item(&r, &items[count++]))
            return false;
        skip_blanks(&r);
        if (r.at == r.end || (*r.at != ',' && *r.at != ']'))
            return false;
        if (*r.at++ == ']')
            break;
    }
    *out = mr_array_of(items, count, json, v.flags, MR_OBSERVED, ar);
    return !mr_value_array(*out)->is_mixed;
}
