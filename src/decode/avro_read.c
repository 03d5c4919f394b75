/* Avro binary data. See avro.h. Every length and count is held against what is left before anything is made of it. */
#include "avro.h"

#include <millrace/base/decimal.h>
#include <millrace/base/encode.h>
#include <millrace/base/utf8.h>

struct reader {
    const unsigned char *p, *end;
    const struct mr_avro_limits *limits;
    struct mr_json_build *out;
    struct mr_error *err;
    uint64_t empty_items; /* items of size zero so far */
    uint32_t depth;
};

static enum mr_status truncated(struct reader *r)
{
    return mr_fail_data(r->err, MR_CODE_TRUNCATED, "the Avro data ends in the middle");
}

static enum mr_status corrupt(struct reader *r, const char *what_z)
{
    return mr_fail_data(r->err, MR_CODE_CORRUPT, "the Avro data holds %s", what_z);
}

static size_t left(const struct reader *r)
{
    return (size_t)(r->end - r->p);
}

/* ---- Numbers ---- */

static enum mr_status read_long(struct reader *r, int64_t *out)
{
    uint64_t v = 0;
    for (unsigned shift = 0;; shift += 7) {
        if (r->p == r->end)
            return truncated(r);
        uint64_t c = *r->p++;
        if (shift == 63 && c > 1)
            return corrupt(r, "a number of more than 64 bits");
        v |= (c & 0x7f) << shift;
        if (c < 0x80)
            break;
    }
    *out = (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
    return MR_OK;
}

static enum mr_status read_int(struct reader *r, int64_t *out)
{
    MR_TRY(read_long(r, out));
    return *out > INT32_MAX || *out < INT32_MIN ? corrupt(r, "an int of more than 32 bits") : MR_OK;
}

static enum mr_status read_little_endian(struct reader *r, size_t size, uint64_t *out)
{
    if (left(r) < size)
        return truncated(r);
    *out = 0;
    for (size_t i = 0; i < size; i++)
        *out |= (uint64_t)r->p[i] << (8 * i);
    r->p += size;
    return MR_OK;
}

static enum mr_status read_bytes(struct reader *r, struct mr_str *out)
{
    int64_t len;
    MR_TRY(read_long(r, &len));
    if (len < 0)
        return corrupt(r, "a negative length");
    if ((uint64_t)len > left(r))
        return truncated(r);
    *out = mr_str_of((const char *)r->p, (size_t)len);
    r->p += len;
    return MR_OK;
}

static enum mr_status read_text(struct reader *r, struct mr_str *out, unsigned *flags)
{
    MR_TRY(read_bytes(r, out));
    *flags = mr_utf8_check(*out);
    if ((*flags & (MR_TEXT_ILL_FORMED | MR_TEXT_HAS_SURROGATE)) != 0 && !r->limits->allow_ill_formed)
        return mr_fail_data(r->err, MR_CODE_BAD_UTF8, "a text in the Avro data is no UTF-8");
    return MR_OK;
}

static enum mr_status read_index(struct reader *r, uint32_t count, const char *what_z, uint32_t *out)
{
    int64_t v;
    MR_TRY(read_long(r, &v));
    if (v < 0 || v >= (int64_t)count)
        return corrupt(r, what_z);
    *out = (uint32_t)v;
    return MR_OK;
}

/* ---- Logical types that are no number or text of the same shape ---- */

static void put_duration(struct reader *r, struct mr_str raw)
{
    uint32_t part[3];
    const unsigned char *u = (const unsigned char *)raw.ptr;
    for (int i = 0; i < 3; i++)
        part[i] = (uint32_t)u[4 * i] | (uint32_t)u[4 * i + 1] << 8 | (uint32_t)u[4 * i + 2] << 16 |
                  (uint32_t)u[4 * i + 3] << 24;
    struct mr_buf text = MR_BUF_INIT(128);
    mr_buf_append_char(&text, 'P');
    if (part[0] != 0)
        mr_buf_printf(&text, "%uM", part[0]);
    if (part[1] != 0)
        mr_buf_printf(&text, "%uD", part[1]);
    if (part[2] != 0) {
        mr_buf_printf(&text, "T%u", part[2] / 1000);
        if (part[2] % 1000 != 0) {
            mr_buf_printf(&text, ".%03u", part[2] % 1000);
            while (text.data[text.len - 1] == '0')
                text.len--;
        }
        mr_buf_append_char(&text, 'S');
    }
    if (text.len == 1)
        mr_buf_append_z(&text, "T0S");
    mr_json_build_string(r->out, mr_buf_str(&text), 0);
    mr_buf_free(&text);
}

/* Inside the bytes: the unscaled number with its length, then the scale. It goes on as digits. */
static enum mr_status put_big_decimal(struct reader *r, struct mr_str raw)
{
    struct reader in = *r;
    in.p = (const unsigned char *)raw.ptr;
    in.end = in.p + raw.len;
    struct mr_str unscaled, digits;
    int64_t scale;
    MR_TRY(read_bytes(&in, &unscaled));
    MR_TRY(read_int(&in, &scale));
    struct mr_arena *ar = mr_arena_create(256);
    bool is_far = scale > 1000 || scale < -100;
    enum mr_status status = MR_OK;
    if (in.p != in.end || scale > 19000 || scale < -19000 ||
        !mr_decimal_from_bytes(unscaled, is_far ? 0 : (int32_t)scale, ar, &digits))
        status = corrupt(r, "a big-decimal that is none");
    else if (is_far)
        digits = mr_arena_printf(ar, "%.*sE%d", MR_STR_FMT(digits), (int)-scale);
    if (status == MR_OK)
        mr_json_build_string(r->out, digits, 0);
    mr_arena_destroy(ar);
    return status;
}

static enum mr_status put_bytes(struct reader *r, const struct mr_avro_type *type, struct mr_str raw)
{
    char id[37];
    switch ((enum mr_avro_logical)type->logical) {
    case MR_AL_DECIMAL:
        if (raw.len == 0)
            return corrupt(r, "a decimal without digits");
        break;
    case MR_AL_BIG_DECIMAL:
        return put_big_decimal(r, raw);
    case MR_AL_UUID:
        mr_uuid_format((const unsigned char *)raw.ptr, id);
        mr_json_build_string(r->out, mr_str_of(id, 36), 0);
        return MR_OK;
    case MR_AL_DURATION:
        put_duration(r, raw);
        return MR_OK;
    case MR_AL_NONE:
    case MR_AL_DATE:
    case MR_AL_TIME_MS:
    case MR_AL_TIME_US:
    case MR_AL_INSTANT_MS:
    case MR_AL_INSTANT_US:
    case MR_AL_INSTANT_NS:
    case MR_AL_LOCAL_MS:
    case MR_AL_LOCAL_US:
    case MR_AL_LOCAL_NS:
        break;
    }
    mr_json_build_base64(r->out, raw);
    return MR_OK;
}

/* ---- Collections ---- */

static enum mr_status read_value(struct reader *r, const struct mr_avro_type *type);

/* The count of the next block, 0 at the end, held against what is left. *size: the block's bytes, or -1. */
static enum mr_status read_block(struct reader *r, size_t least, int64_t *count, const unsigned char **stop)
{
    int64_t size;
    *stop = NULL;
    MR_TRY(read_long(r, count));
    if (*count < 0) {
        MR_TRY(read_long(r, &size));
        if (*count == INT64_MIN || size < 0)
            return corrupt(r, "a negative length");
        *count = -*count;
        if ((uint64_t)size > left(r))
            return truncated(r);
        *stop = r->p + size;
    }
    if (least != 0)
        return (uint64_t)*count > left(r) / least ? truncated(r) : MR_OK;
    if ((uint64_t)*count > r->limits->max_items ||
        (r->empty_items += (uint64_t)*count) > r->limits->max_items)
        return mr_fail_data(r->err, MR_CODE_LIMIT_EXCEEDED, "the Avro data holds more than %llu empty items",
                            (unsigned long long)r->limits->max_items);
    return MR_OK;
}

static enum mr_status check_block(struct reader *r, const unsigned char *stop)
{
    return stop != NULL && stop != r->p ? corrupt(r, "a block of another length than it says") : MR_OK;
}

static enum mr_status read_array(struct reader *r, const struct mr_avro_type *type)
{
    mr_json_build_open(r->out, MR_J_ARRAY);
    for (;;) {
        int64_t count;
        const unsigned char *stop;
        MR_TRY(read_block(r, type->items->min_size, &count, &stop));
        if (count == 0)
            break;
        for (int64_t i = 0; i < count; i++)
            MR_TRY(read_value(r, type->items));
        MR_TRY(check_block(r, stop));
    }
    mr_json_build_close(r->out);
    return MR_OK;
}

/* The key of a map entry as a member's name: what is no text becomes the text of its JSON. */
static enum mr_status entry_key(struct reader *r, const struct mr_avro_type *type)
{
    struct mr_json_build key;
    struct mr_json_doc doc;
    struct mr_json_build *out = r->out;
    struct mr_arena *ar = mr_arena_create(256);
    mr_json_build_init(&key, r->out->text.max);
    r->out = &key;
    enum mr_status status = read_value(r, type);
    r->out = out;
    if (status == MR_OK)
        status = mr_json_build_finish(&key, ar, &doc, r->err);
    if (status == MR_OK)
        mr_json_build_name(out, mr_json_is(&doc, 0, MR_J_STRING) ? mr_json_string(&doc, 0, ar, NULL)
                                                                 : mr_json_raw(&doc, 0));
    mr_json_build_free(&key);
    mr_arena_destroy(ar);
    return status;
}

static enum mr_status read_map(struct reader *r, const struct mr_avro_type *type)
{
    const struct mr_avro_type *entry = type->is_entries ? type->items : NULL;
    size_t least = entry != NULL ? entry->min_size : (size_t)type->items->min_size + 1;
    mr_json_build_open(r->out, MR_J_OBJECT);
    for (;;) {
        int64_t count;
        const unsigned char *stop;
        MR_TRY(read_block(r, least, &count, &stop));
        if (count == 0)
            break;
        for (int64_t i = 0; i < count; i++) {
            struct mr_str name;
            unsigned flags;
            if (entry != NULL) {
                MR_TRY(entry_key(r, entry->fields[0].type));
            } else {
                MR_TRY(read_text(r, &name, &flags));
                mr_json_build_name(r->out, name);
            }
            MR_TRY(read_value(r, entry != NULL ? entry->fields[1].type : type->items));
        }
        MR_TRY(check_block(r, stop));
    }
    mr_json_build_close(r->out);
    return MR_OK;
}

/* Schemaless data: the one field that is not null is the value. */
static enum mr_status read_anything(struct reader *r, const struct mr_avro_type *type)
{
    bool is_given = false;
    for (uint32_t i = 0; i < type->count; i++) {
        const struct mr_avro_type *of = type->fields[i].type;
        uint32_t index = 0;
        if (of->kind == MR_A_UNION) {
            MR_TRY(read_index(r, of->count, "a union branch that does not exist", &index));
            of = of->branches[index];
        }
        if (of->kind == MR_A_NULL)
            continue;
        if (is_given)
            return corrupt(r, "two values where one is expected");
        is_given = true;
        MR_TRY(read_value(r, of));
    }
    if (!is_given)
        mr_json_build_null(r->out);
    return MR_OK;
}

static enum mr_status read_record(struct reader *r, const struct mr_avro_type *type)
{
    if (type->is_anything)
        return read_anything(r, type);
    mr_json_build_open(r->out, MR_J_OBJECT);
    for (uint32_t i = 0; i < type->count; i++) {
        mr_json_build_name(r->out, type->fields[i].name);
        MR_TRY(read_value(r, type->fields[i].type));
    }
    mr_json_build_close(r->out);
    return MR_OK;
}

/* ---- Values ---- */

static enum mr_status read_scalar(struct reader *r, const struct mr_avro_type *type)
{
    int64_t v;
    uint64_t bits;
    uint32_t index;
    unsigned flags;
    struct mr_str s;
    float f;
    double d;
    switch ((enum mr_avro_kind)type->kind) {
    case MR_A_NULL:
        mr_json_build_null(r->out);
        break;
    case MR_A_BOOLEAN:
        if (r->p == r->end)
            return truncated(r);
        if (*r->p > 1)
            return corrupt(r, "a boolean that is neither 0 nor 1");
        mr_json_build_bool(r->out, *r->p++ == 1);
        break;
    case MR_A_INT:
        MR_TRY(read_int(r, &v));
        mr_json_build_int(r->out, v);
        break;
    case MR_A_LONG:
        MR_TRY(read_long(r, &v));
        mr_json_build_int(r->out, v);
        break;
    case MR_A_FLOAT:
        MR_TRY(read_little_endian(r, 4, &bits));
        uint32_t word = (uint32_t)bits;
        memcpy(&f, &word, sizeof(f));
        mr_json_build_float(r->out, f);
        break;
    case MR_A_DOUBLE:
        MR_TRY(read_little_endian(r, 8, &bits));
        memcpy(&d, &bits, sizeof(d));
        mr_json_build_double(r->out, d);
        break;
    case MR_A_BYTES:
        MR_TRY(read_bytes(r, &s));
        return put_bytes(r, type, s);
    case MR_A_FIXED:
        if (left(r) < type->size)
            return truncated(r);
        s = mr_str_of((const char *)r->p, type->size);
        r->p += type->size;
        return put_bytes(r, type, s);
    case MR_A_STRING:
        MR_TRY(read_text(r, &s, &flags));
        mr_json_build_string(r->out, s, flags);
        break;
    case MR_A_ENUM:
        MR_TRY(read_index(r, type->count, "an enum symbol that does not exist", &index));
        mr_json_build_string(r->out, type->symbols[index], mr_utf8_check(type->symbols[index]));
        break;
    case MR_A_RECORD:
    case MR_A_ARRAY:
    case MR_A_MAP:
    case MR_A_UNION:
        break;
    }
    return MR_OK;
}

static enum mr_status read_value(struct reader *r, const struct mr_avro_type *type)
{
    uint32_t index;
    if (type->kind == MR_A_UNION) {
        MR_TRY(read_index(r, type->count, "a union branch that does not exist", &index));
        type = type->branches[index];
    }
    if (type->kind != MR_A_RECORD && type->kind != MR_A_ARRAY && type->kind != MR_A_MAP)
        return read_scalar(r, type);

    if (++r->depth > r->limits->max_depth)
        return mr_fail_data(r->err, MR_CODE_LIMIT_EXCEEDED, "the Avro data is nested more than %u deep",
                            r->limits->max_depth);
    enum mr_status status = type->kind == MR_A_RECORD                    ? read_record(r, type)
                            : type->kind == MR_A_MAP || type->is_entries ? read_map(r, type)
                                                                         : read_array(r, type);
    r->depth--;
    if (status == MR_OK && r->out->text.overflow)
        return mr_buf_check(&r->out->text, "the decoded message", r->err); /* no further work for it */
    return status;
}

enum mr_status mr_avro_read(const struct mr_avro_schema *schema, struct mr_str bytes,
                            const struct mr_avro_limits *limits, struct mr_json_build *out,
                            struct mr_error *err)
{
    struct reader r = {.p = (const unsigned char *)bytes.ptr, .limits = limits, .out = out, .err = err};
    if (bytes.len == 0)
        r.p = (const unsigned char *)"";
    r.end = r.p + bytes.len;
    if (schema->root->kind == MR_A_BYTES) /* the registry's serializers write it bare */
        return put_bytes(&r, schema->root, bytes);
    MR_TRY(read_value(&r, schema->root));
    if (r.p != r.end && !limits->allow_trailing)
        return mr_fail_data(err, MR_CODE_TRAILING, "%zu bytes stand behind the Avro data", left(&r));
    return MR_OK;
}
