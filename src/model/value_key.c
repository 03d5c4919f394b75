/* Values as parts of a canonical key: one byte for the column's tag, then a payload that ends itself (eight bytes, a
 * counted text, or digits up to a zero byte). These bytes are hashed into lanes, so they never change. */
#include <millrace/model/value.h>

#include <millrace/base/decimal.h>

#include <math.h>

#include "value_text.h"

#define MISFIT 0xFF /* a value that its column cannot hold: equal to nothing but itself */

static void append_fixed(enum mr_tag tag, uint64_t payload, struct mr_buf *out)
{
    char *room = mr_buf_reserve(out, 9);
    if (!room)
        return;
    room[0] = (char)tag;
    for (int i = 0; i < 8; i++)
        room[1 + i] = (char)(payload >> (56 - 8 * i));
    out->len += 9;
}

static void append_counted(uint8_t tag, struct mr_str s, struct mr_buf *out)
{
    mr_buf_append_char(out, (char)tag);
    mr_buf_append_u32be(out, (uint32_t)s.len);
    mr_buf_append_str(out, s);
}

/* The same for a text that is written on the spot; its length is filled in afterwards. */
static void append_spelled(uint8_t tag, struct mr_value v, void (*append)(struct mr_value, struct mr_buf *),
                           struct mr_buf *out)
{
    mr_buf_append_char(out, (char)tag);
    size_t at = out->len;
    mr_buf_append_u32be(out, 0);
    append(v, out);
    if (out->overflow)
        return;
    uint32_t len = (uint32_t)(out->len - at - 4);
    for (int i = 0; i < 4; i++)
        out->data[at + (size_t)i] = (char)(len >> (24 - 8 * i));
}

static void append_misfit(struct mr_value v, struct mr_buf *out)
{
    mr_buf_append_char(out, (char)MISFIT);
    if (v.tag == MR_V_INVALID)
        append_counted(v.tag, mr_value_str(v), out);
    else
        append_spelled(v.tag, v, mr_value_append_text, out);
}

static void append_digits(struct mr_value v, struct mr_buf *out)
{
    char text[SHORT_TEXT];
    mr_buf_append_char(out, MR_V_NUMBER);
    if (v.tag == MR_V_NUMBER)
        mr_decimal_append_canonical(mr_value_str(v), out);
    else
        mr_decimal_append_canonical(mr_str_of(text, value_short_text(v, text)), out);
    mr_buf_append_char(out, 0);
}

static void append_double(double f, struct mr_type type, struct mr_buf *out)
{
    if (type.kind == MR_T_FLOAT32)
        f = (double)(float)f;
    if (f == 0)
        f = 0; /* -0 is 0 */
    uint64_t bits = UINT64_C(0x7FF8000000000000); /* one NaN for all */
    if (!isnan(f))
        memcpy(&bits, &f, sizeof(bits));
    append_fixed(MR_V_FLOAT, bits, out);
}

/* Kinds whose coercion needs no memory. */
static void append_coerced(struct mr_value v, struct mr_type type, struct mr_buf *out)
{
    struct mr_value fit = v;
    bool is_ready = v.tag == mr_type_tag((enum mr_type_kind)type.kind) && type.kind != MR_T_FLOAT32;
    if (!is_ready && mr_value_coerce(v, type, NULL, &fit, NULL) != MR_OK) {
        append_misfit(v, out);
        return;
    }
    if (fit.tag == MR_V_FLOAT)
        append_double(fit.f, type, out);
    else if (fit.tag == MR_V_BYTES || fit.tag == MR_V_UUID)
        append_counted(fit.tag, mr_value_str(fit), out);
    else
        append_fixed((enum mr_tag)fit.tag, (uint64_t)fit.i, out);
}

static void append_bits(struct mr_value v, struct mr_type type, struct mr_buf *out)
{
    struct mr_str s = mr_value_str(v);
    /* Of a fixed length: padded in the column, so leading zeros tell nothing. */
    while (type.precision > 0 && s.len > 0 && s.ptr[0] == '0') {
        s.ptr++;
        s.len--;
    }
    append_counted(MR_V_BITS, s, out);
}

void mr_value_append_key(struct mr_value v, struct mr_type type, struct mr_buf *out)
{
    if (v.tag <= MR_V_NULL) {
        mr_buf_append_char(out, (char)v.tag);
        return;
    }
    if (v.tag == MR_V_INVALID) {
        append_misfit(v, out);
        return;
    }
    switch ((enum mr_type_kind)type.kind) {
    case MR_T_DECIMAL:
        if (v.tag == MR_V_NUMBER || v.tag == MR_V_INT || v.tag == MR_V_FLOAT)
            append_digits(v, out);
        else
            append_misfit(v, out);
        return;
    case MR_T_TEXT:
        if (v.tag == MR_V_TEXT)
            append_counted(MR_V_TEXT, mr_value_str(v), out);
        else
            append_spelled(MR_V_TEXT, v, mr_value_append_text, out);
        return;
    case MR_T_JSON:
    case MR_T_ARRAY:
        append_spelled(MR_V_JSON, v, mr_value_append_json, out);
        return;
    case MR_T_BITS:
        if (v.tag == MR_V_BITS)
            append_bits(v, type, out);
        else
            append_misfit(v, out);
        return;
    case MR_T_NONE:
    case MR_T_BOOL:
    case MR_T_INT16:
    case MR_T_INT32:
    case MR_T_INT64:
    case MR_T_FLOAT32:
    case MR_T_FLOAT64:
    case MR_T_BYTES:
    case MR_T_DATE:
    case MR_T_TIME:
    case MR_T_DURATION:
    case MR_T_TIMESTAMP:
    case MR_T_TIMESTAMPTZ:
    case MR_T_UUID:
        append_coerced(v, type, out);
        return;
    }
}
