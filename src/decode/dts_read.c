/* The datum of DTS: see dts.h. Plain Avro: zigzag numbers, texts with their length, unions and enums by index, arrays and maps in blocks. */
#include "dts.h"

#include <millrace/base/hash.h>
#include <millrace/base/utf8.h>
#include <millrace/model/table.h>

#define MAX_HOPS 1000000u /* numbers and tags that are read and passed over */

struct reader {
    const unsigned char *p, *end;
    struct mr_arena *ar;
    struct mr_error *err;
};

static enum mr_status truncated(struct reader *r)
{
    return mr_fail_data(r->err, MR_CODE_TRUNCATED, "the DTS record ends in the middle");
}

static enum mr_status corrupt(struct reader *r, const char *what_z)
{
    return mr_fail_data(r->err, MR_CODE_CORRUPT, "the DTS record holds %s", what_z);
}

static size_t left(const struct reader *r)
{
    return (size_t)(r->end - r->p);
}

/* ---- Scalars ---- */

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

static enum mr_status read_int(struct reader *r, int32_t *out)
{
    int64_t v;
    MR_TRY(read_long(r, &v));
    if (v > INT32_MAX || v < INT32_MIN)
        return corrupt(r, "an int of more than 32 bits");
    *out = (int32_t)v;
    return MR_OK;
}

/* Index of a union's branch or an enum's symbol. */
static enum mr_status read_index(struct reader *r, int count, const char *what_z, int *out)
{
    int64_t v;
    MR_TRY(read_long(r, &v));
    if (v < 0 || v >= count)
        return corrupt(r, what_z);
    *out = (int)v;
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

static enum mr_status read_text(struct reader *r, struct mr_str *out, uint8_t *flags)
{
    MR_TRY(read_bytes(r, out));
    unsigned found = mr_utf8_check(*out);
    if (found & (MR_TEXT_ILL_FORMED | MR_TEXT_HAS_SURROGATE))
        return mr_fail_data(r->err, MR_CODE_BAD_UTF8, "a text in the DTS record is no UTF-8");
    if (flags != NULL)
        *flags = (uint8_t)found;
    return MR_OK;
}

static enum mr_status read_double(struct reader *r, double *out)
{
    uint64_t bits = 0;
    if (left(r) < 8)
        return truncated(r);
    for (int i = 0; i < 8; i++)
        bits |= (uint64_t)r->p[i] << (8 * i);
    r->p += 8;
    memcpy(out, &bits, sizeof *out);
    return MR_OK;
}

/* The head of a block of an array or map; *count 0 = it was the end. No item is shorter than a byte. */
static enum mr_status read_block(struct reader *r, size_t *count)
{
    int64_t n, size;
    MR_TRY(read_long(r, &n));
    if (n < 0) {
        if (n == INT64_MIN)
            return corrupt(r, "a count beyond all bounds");
        n = -n;
        MR_TRY(read_long(r, &size));
        if (size < 0)
            return corrupt(r, "a negative size");
        if ((uint64_t)size > left(r))
            return truncated(r);
    }
    if ((uint64_t)n > left(r))
        return truncated(r);
    *count = (size_t)n;
    return MR_OK;
}

static enum mr_status count_items(struct reader *r, size_t have, size_t more, size_t most)
{
    if (more > most - have)
        return mr_fail_data(r->err, MR_CODE_LIMIT_EXCEEDED, "more than %zu items in a list of the DTS record",
                            most);
    return MR_OK;
}

/* ---- Values ---- */

static enum mr_status read_members(struct reader *r, struct mr_dts_value *v)
{
    for (int i = 0; i < MR_DTS_MEMBERS; i++) {
        int branch;
        MR_TRY(read_index(r, 2, "a branch that the schema does not have", &branch));
        if (branch == 0)
            continue;
        v->set |= (uint8_t)(1u << i);
        MR_TRY(read_int(r, &v->member[i]));
    }
    return MR_OK;
}

static enum mr_status read_empty(struct reader *r, struct mr_dts_value *v)
{
    int symbol;
    MR_TRY(read_index(r, 2, "a symbol that the schema does not have", &symbol));
    v->is_none = symbol == 1;
    return MR_OK;
}

static enum mr_status read_value(struct reader *r, struct mr_dts_value *v)
{
    int branch;
    *v = (struct mr_dts_value){0};
    MR_TRY(read_index(r, MR_DTS_EMPTY + 1, "a branch that the schema does not have", &branch));
    v->kind = (uint8_t)branch;
    switch ((enum mr_dts_kind)branch) {
    case MR_DTS_NULL:
        return MR_OK;
    case MR_DTS_INTEGER:
        MR_TRY(read_int(r, &v->precision));
        return read_text(r, &v->text, &v->flags);
    case MR_DTS_CHARACTER:
        MR_TRY(read_text(r, &v->word, NULL));
        return read_bytes(r, &v->text);
    case MR_DTS_DECIMAL:
        MR_TRY(read_text(r, &v->text, &v->flags));
        MR_TRY(read_int(r, &v->precision));
        return read_int(r, &v->scale);
    case MR_DTS_FLOAT:
        MR_TRY(read_double(r, &v->f));
        MR_TRY(read_int(r, &v->precision));
        return read_int(r, &v->scale);
    case MR_DTS_TIMESTAMP:
        MR_TRY(read_long(r, &v->seconds));
        return read_int(r, &v->member[MR_DTS_FRACTION]);
    case MR_DTS_DATETIME:
        return read_members(r, v);
    case MR_DTS_ZONED:
        MR_TRY(read_members(r, v));
        return read_text(r, &v->word, NULL);
    case MR_DTS_BINARY_GEOMETRY:
    case MR_DTS_BINARY_OBJECT:
        MR_TRY(read_text(r, &v->word, NULL));
        return read_bytes(r, &v->text);
    case MR_DTS_TEXT_GEOMETRY:
    case MR_DTS_TEXT_OBJECT:
        MR_TRY(read_text(r, &v->word, NULL));
        return read_text(r, &v->text, &v->flags);
    case MR_DTS_EMPTY:
        return read_empty(r, v);
    }
    return MR_OK;
}

/* ---- Lists ---- */

static enum mr_status read_shape(struct reader *r, struct mr_str *text, enum mr_dts_shape *out)
{
    int branch;
    MR_TRY(read_index(r, 3, "a branch that the schema does not have", &branch));
    *out = (enum mr_dts_shape)branch;
    return *out == MR_DTS_TEXT ? read_text(r, text, NULL) : MR_OK;
}

/* Room for `more` items behind `have`; lists come in one block, as a rule. */
static void *more_room(struct mr_arena *ar, void *items, size_t have, size_t more, size_t size)
{
    void *room = mr_arena_alloc(ar, (have + more) * size);
    if (have != 0)
        memcpy(room, items, have * size);
    return room;
}

static enum mr_status read_fields(struct reader *r, struct mr_dts_record *out)
{
    struct mr_str unused;
    MR_TRY(read_shape(r, &unused, &out->fields_shape));
    if (out->fields_shape != MR_DTS_LIST)
        return MR_OK;
    size_t cap = 0;
    for (;;) {
        size_t count;
        MR_TRY(read_block(r, &count));
        if (count == 0)
            return MR_OK;
        MR_TRY(count_items(r, out->field_count, count, MR_TABLE_MAX_COLUMNS));
        if (out->field_count + count > cap) {
            size_t spare = cap; /* doubling: many small blocks cost no more than one */
            out->fields = more_room(r->ar, out->fields, out->field_count, count + spare, sizeof *out->fields);
            cap = out->field_count + count + spare;
        }
        for (; count > 0; count--) {
            struct mr_dts_field *f = &out->fields[out->field_count++];
            MR_TRY(read_text(r, &f->name, NULL));
            MR_TRY(read_int(r, &f->type));
        }
    }
}

static enum mr_status read_image(struct reader *r, struct mr_dts_image *out)
{
    MR_TRY(read_shape(r, &out->text, &out->shape));
    if (out->shape != MR_DTS_LIST)
        return MR_OK;
    size_t cap = 0;
    for (;;) {
        size_t count;
        MR_TRY(read_block(r, &count));
        if (count == 0)
            return MR_OK;
        MR_TRY(count_items(r, out->count, count, MR_TABLE_MAX_COLUMNS));
        if (out->count + count > cap) {
            size_t spare = cap;
            out->values = more_room(r->ar, out->values, out->count, count + spare, sizeof *out->values);
            cap = out->count + count + spare;
        }
        for (; count > 0; count--)
            MR_TRY(read_value(r, &out->values[out->count++]));
    }
}

static enum mr_status read_hops(struct reader *r)
{
    int branch;
    size_t total = 0;
    MR_TRY(read_index(r, 2, "a branch that the schema does not have", &branch));
    if (branch == 0)
        return MR_OK;
    for (;;) {
        size_t count;
        int64_t unused;
        MR_TRY(read_block(r, &count));
        if (count == 0)
            return MR_OK;
        MR_TRY(count_items(r, total, count, MAX_HOPS));
        total += count;
        for (; count > 0; count--)
            MR_TRY(read_long(r, &unused));
    }
}

static enum mr_status read_tags(struct reader *r, struct mr_dts_record *out)
{
    size_t total = 0;
    for (;;) {
        size_t count;
        MR_TRY(read_block(r, &count));
        if (count == 0)
            return MR_OK;
        MR_TRY(count_items(r, total, count, MAX_HOPS));
        total += count;
        for (; count > 0; count--) {
            struct mr_str name, value;
            MR_TRY(read_text(r, &name, NULL));
            MR_TRY(read_text(r, &value, NULL));
            if (mr_str_eq_z(name, "pk_uk_info"))
                out->pk_uk_info = value;
            else if (mr_str_eq_z(name, "l_db_name"))
                out->logical_db = value;
            else if (mr_str_eq_z(name, "l_tb_name"))
                out->logical_table = value;
        }
    }
}

/* ---- The record ---- */

static enum mr_status read_head(struct reader *r, struct mr_dts_record *out)
{
    struct mr_str unused;
    int32_t version;
    int symbol;
    MR_TRY(read_int(r, &version));
    MR_TRY(read_long(r, &out->id));
    MR_TRY(read_long(r, &out->source_s));
    MR_TRY(read_text(r, &unused, NULL)); /* sourcePosition, safeSourcePosition */
    MR_TRY(read_text(r, &unused, NULL));
    MR_TRY(read_text(r, &out->tx_id, NULL));
    MR_TRY(read_index(r, MR_DTS_OTHER + 1, "a symbol that the schema does not have", &symbol));
    out->source = (enum mr_dts_source)symbol;
    MR_TRY(read_text(r, &unused, NULL)); /* the source's version */
    MR_TRY(read_index(r, MR_DTS_INIT + 1, "a symbol that the schema does not have", &symbol));
    out->op = (enum mr_dts_op)symbol;
    MR_TRY(read_index(r, 2, "a branch that the schema does not have", &symbol));
    return symbol == 1 ? read_text(r, &out->object, NULL) : MR_OK;
}

/* One value of two under one name would be dropped. */
static enum mr_status check_names(const struct mr_dts_record *rec, struct mr_arena *ar, struct mr_error *err)
{
    size_t slots = 16;
    while (slots < rec->field_count * 2)
        slots *= 2;
    uint32_t *index = mr_arena_zalloc(ar, slots * sizeof *index);
    for (size_t i = 0; i < rec->field_count; i++) {
        struct mr_str name = rec->fields[i].name;
        size_t at = (size_t)mr_hash(name.ptr, name.len, 0) & (slots - 1);
        for (; index[at] != 0; at = (at + 1) & (slots - 1)) {
            if (mr_str_eq(rec->fields[index[at] - 1].name, name))
                return mr_fail_data(err, MR_CODE_BAD_IMAGE, "two fields are called \"%.*s\"",
                                    (int)(name.len < 100 ? name.len : 100), name.ptr);
        }
        index[at] = (uint32_t)i + 1;
    }
    return MR_OK;
}

static enum mr_status check_length(const struct mr_dts_record *rec, const struct mr_dts_image *image,
                                   const char *what_z, struct mr_error *err)
{
    if (image->shape != MR_DTS_LIST || image->count == rec->field_count)
        return MR_OK;
    return mr_fail_data(err, MR_CODE_BAD_IMAGE, "the %s image has %zu values for %zu fields", what_z,
                        image->count, rec->field_count);
}

enum mr_status mr_dts_read(struct mr_str datum, struct mr_arena *ar, struct mr_dts_record *out,
                           struct mr_error *err)
{
    const unsigned char *start = (const unsigned char *)(datum.ptr != NULL ? datum.ptr : "");
    struct reader r = {.p = start, .end = start + datum.len, .ar = ar, .err = err};
    int64_t born;
    *out = (struct mr_dts_record){0};
    MR_TRY(read_head(&r, out));
    MR_TRY(read_hops(&r));
    MR_TRY(read_tags(&r, out));
    MR_TRY(read_fields(&r, out));
    MR_TRY(read_image(&r, &out->before));
    MR_TRY(read_image(&r, &out->after));
    if (left(&r) > 0) /* bornTimestamp, which older schemas lack */
        MR_TRY(read_long(&r, &born));
    if (left(&r) > 0)
        return mr_fail_data(err, MR_CODE_TRAILING, "%zu bytes behind the DTS record", left(&r));
    MR_TRY(check_names(out, ar, err));
    MR_TRY(check_length(out, &out->before, "before", err));
    return check_length(out, &out->after, "after", err);
}

bool mr_dts_is(struct mr_str datum, struct mr_arena *ar)
{
    struct mr_dts_record in;
    return mr_dts_read(datum, ar, &in, NULL) == MR_OK;
}
