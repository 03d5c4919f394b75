/* See mysql_value.h. */
#include "mysql_value.h"

#include <float.h>
#include <math.h>

#include <millrace/base/decimal.h>
#include <millrace/base/encode.h>
#include <millrace/base/time.h>
#include <millrace/base/utf8.h>

#include "connect.h"

enum mr_status mr_mysql_reader_init(struct mr_mysql_reader *rd, const struct mr_config *cfg, struct mr_error *err)
{
    struct mr_json_limits limits = {.max_depth = cfg->max_depth, .max_bytes = cfg->max_message_bytes};
    *rd = (struct mr_mysql_reader){.cfg = cfg};
    enum mr_status status = mr_zone_open(cfg->source_time_zone != NULL ? cfg->source_time_zone : "UTC", &rd->zone, err);
    if (status != MR_OK) {
        mr_error_prefix(err, "source_time_zone: ");
        return status;
    }
    rd->json = mr_json_reader_create(&limits);
    return MR_OK;
}

void mr_mysql_reader_free(struct mr_mysql_reader *rd)
{
    mr_json_reader_destroy(rd->json);
    mr_zone_close(rd->zone);
}

/* ---- Latin-1 ---- */

bool mr_latin1_bytes(struct mr_str text, struct mr_arena *ar, struct mr_str *out)
{
    char *bytes = mr_arena_alloc(ar, text.len + 1);
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c < 0x80) {
            bytes[n++] = (char)c;
            continue;
        }
        if ((c != 0xc2 && c != 0xc3) || i + 1 == text.len)
            return false;
        bytes[n++] = (char)((c & 0x03) << 6 | ((unsigned char)text.ptr[++i] & 0x3f));
    }
    *out = mr_str_of(bytes, n);
    return true;
}

static bool is_ascii(struct mr_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if ((unsigned char)s.ptr[i] >= 0x80)
            return false;
    }
    return true;
}

struct mr_str mr_latin1_undo(struct mr_str text, struct mr_arena *ar)
{
    struct mr_str bytes;
    if (is_ascii(text) || !mr_latin1_bytes(text, ar, &bytes) || (mr_utf8_check(bytes) & (MR_TEXT_ILL_FORMED | MR_TEXT_HAS_SURROGATE)))
        return text;
    return bytes;
}

/* ---- Numbers ---- */

static struct mr_value integer(const struct mr_mysql_type *type, struct mr_str text, bool as_bool, struct mr_arena *ar)
{
    int64_t v;
    uint64_t u;
    if (mr_parse_int64(text, &v)) {
        if (!as_bool || !type->is_tinyint1)
            return mr_value_int(v);
        return v == 0 || v == 1 ? mr_value_bool(v == 1) : MR_BAD_VALUE("TINYINT(1) as boolean: neither 0 nor 1");
    }
    if (!mr_parse_uint64(text, &u))
        return MR_BAD_VALUE("expected a whole number of at most 64 bits");
    return mr_value_bytes(MR_V_NUMBER, mr_arena_printf(ar, "%llu", (unsigned long long)u));
}

static struct mr_value bits(const struct mr_mysql_type *type, const struct mr_mysql_text *in, struct mr_arena *ar)
{
    struct mr_type column = mr_mysql_column_type(type, in->is_lengthless, false);
    uint64_t v;
    if (column.kind == MR_T_DECIMAL)
        return integer(type, in->text, false, ar);
    if (!mr_parse_uint64(in->text, &v))
        return MR_BAD_VALUE("expected bits as a whole number");
    if (column.kind == MR_T_BOOL)
        return v <= 1 ? mr_value_bool(v == 1) : MR_BAD_VALUE("more bits than the type has");

    unsigned length = column.precision;
    if (length < 64 && v >> length != 0)
        return MR_BAD_VALUE("more bits than the type has");
    char *digits = mr_arena_alloc(ar, length);
    for (unsigned i = 0; i < length; i++)
        digits[length - 1 - i] = (v >> i & 1) ? '1' : '0';
    return mr_value_bytes(MR_V_BITS, mr_str_of(digits, length));
}

static struct mr_value floating(bool is_single, struct mr_str text)
{
    double d;
    if (!mr_parse_double(text, &d))
        return MR_BAD_VALUE("expected a number");
    if (!is_single || !isfinite(d))
        return mr_value_float(d);

    /* The column's value is a float, however many digits Java has for it (1.4E-45 for 1e-45): it goes on as the double of its shortest text. That
     * of the largest float lies above it. */
    char shortest[32];
    double shown;
    if (fabs(d) > 3.4028235e38)
        return MR_BAD_VALUE("beyond the range of a 32-bit float");
    if (fabs(d) >= (double)FLT_MAX)
        return mr_value_float(copysign((double)FLT_MAX, d));
    size_t len = mr_float_text((float)d, shortest);
    return mr_value_float(mr_parse_double(mr_str_of(shortest, len), &shown) ? shown : d);
}

static struct mr_value decimal(const struct mr_mysql_type *type, const struct mr_mysql_text *in, struct mr_arena *ar)
{
    struct mr_type column = mr_mysql_column_type(type, in->is_lengthless, false);
    return mr_connect_number(in->text, column.open ? 0 : column.scale, ar);
}

/* ---- Dates and times ---- */

/* 0000-00-00, 2024-00-10: figures and dashes where a date has them, and no month or no day. */
static bool is_zero_date(struct mr_str s)
{
    if (s.len < 10 || s.ptr[4] != '-' || s.ptr[7] != '-')
        return false;
    for (size_t i = 0; i < 10; i++) {
        if (i != 4 && i != 7 && (s.ptr[i] < '0' || s.ptr[i] > '9'))
            return false;
    }
    return (s.ptr[5] == '0' && s.ptr[6] == '0') || (s.ptr[8] == '0' && s.ptr[9] == '0');
}

static struct mr_value zero_date(const struct mr_mysql_reader *rd)
{
    if (rd->cfg->zero_date == MR_ZERO_DATE_NULL)
        return mr_value_null();
    return MR_BAD_VALUE("a date without month or day");
}

static bool read_instant(const struct mr_mysql_reader *rd, struct mr_str text, struct mr_value *out)
{
    int64_t us, utc;
    bool has_zone;
    if (!mr_parse_timestamptz(text, &us, &has_zone) || (!has_zone && !mr_zone_to_utc(rd->zone, us, &utc)))
        return false;
    *out = mr_value_time(MR_V_TIMESTAMPTZ, has_zone ? us : utc);
    return true;
}

bool mr_mysql_read_temporal(struct mr_mysql_reader *rd, struct mr_str text, enum mr_type_kind kind, struct mr_value *out)
{
    if (kind != MR_T_DATE && kind != MR_T_TIMESTAMP && kind != MR_T_TIMESTAMPTZ)
        return false;
    if (is_zero_date(text)) {
        *out = zero_date(rd);
        return true;
    }
    return kind == MR_T_TIMESTAMPTZ && read_instant(rd, text, out);
}

static struct mr_value temporal(const struct mr_mysql_reader *rd, enum mr_mysql_kind kind, struct mr_str text)
{
    struct mr_value out;
    int64_t v;
    if (kind == MR_MY_TIME) {
        if (!mr_parse_time(text, &v))
            return MR_BAD_VALUE("expected a time");
        return mr_value_time(v >= 0 && v < MR_US_PER_DAY ? MR_V_TIME : MR_V_DURATION, v);
    }
    if (is_zero_date(text))
        return zero_date(rd);
    if (kind == MR_MY_DATE)
        return mr_parse_date(text, &v) ? mr_value_time(MR_V_DATE, v) : MR_BAD_VALUE("expected a date");
    if (kind == MR_MY_DATETIME)
        return mr_parse_timestamp(text, &v) ? mr_value_time(MR_V_TIMESTAMP, v) : MR_BAD_VALUE("expected a date and time");
    return read_instant(rd, text, &out) ? out : MR_BAD_VALUE("expected a date and time");
}

/* ---- Bytes ---- */

/* The binary log drops the zero bytes at the end of a BINARY(n); 255 is the longest there is. */
static struct mr_value bytes(const struct mr_mysql_type *type, struct mr_str text, struct mr_arena *ar)
{
    struct mr_str raw;
    if (!mr_latin1_bytes(text, ar, &raw))
        return MR_BAD_VALUE("a character above U+00FF in a binary value");
    size_t length = type->kind == MR_MY_BINARY && type->number_count > 0 ? type->numbers[0] : 0;
    if (raw.len >= length || length > 255)
        return mr_value_bytes(MR_V_BYTES, raw);
    char *padded = mr_arena_zalloc(ar, length);
    if (raw.len != 0)
        memcpy(padded, raw.ptr, raw.len);
    return mr_value_bytes(MR_V_BYTES, mr_str_of(padded, length));
}

/* SRID (little-endian) and WKB, as the document that Debezium makes of a geometry. */
static struct mr_value geometry(struct mr_str text, struct mr_arena *ar)
{
    struct mr_str raw;
    if (!mr_latin1_bytes(text, ar, &raw))
        return MR_BAD_VALUE("a character above U+00FF in a binary value");
    if (raw.len < 4 + 5)
        return MR_BAD_VALUE("expected a geometry: a number of four bytes, and WKB");
    const unsigned char *p = (const unsigned char *)raw.ptr;
    uint32_t srid = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;

    struct mr_buf out = MR_BUF_INIT(raw.len * 2 + 128);
    mr_buf_append_z(&out, "{\"wkb\":\"");
    mr_base64_append(&out, mr_str_of(raw.ptr + 4, raw.len - 4));
    mr_buf_printf(&out, "\",\"srid\":%lu}", (unsigned long)srid);
    struct mr_str text_out = mr_arena_copy(ar, mr_buf_str(&out));
    mr_buf_free(&out);
    return mr_value_bytes(MR_V_JSON, text_out);
}

/* ---- Texts ---- */

static struct mr_value text_value(const struct mr_mysql_text *in, struct mr_arena *ar)
{
    struct mr_str text = in->is_latin1 ? mr_latin1_undo(in->text, ar) : in->text;
    struct mr_value v = mr_value_text(text);
    v.flags = (uint8_t)in->flags;
    return v;
}

static bool is_number(struct mr_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] < '0' || s.ptr[i] > '9')
            return false;
    }
    return s.len != 0;
}

static struct mr_value label_value(struct mr_str label, struct mr_arena *ar)
{
    struct mr_value v = mr_value_text(mr_arena_copy(ar, label)); /* the kept types' memory is not the batch's */
    v.flags = (uint8_t)mr_utf8_check(label);
    return v;
}

/* Does the text have to be looked up? */
static bool is_index(const struct mr_mysql_reader *rd, const struct mr_mysql_type *type, struct mr_str text)
{
    return type->label_count != 0 && rd->cfg->canal_enum == MR_CANAL_INDEX && is_number(text);
}

static struct mr_value enumeration(const struct mr_mysql_reader *rd, const struct mr_mysql_type *type,
                                   const struct mr_mysql_text *in, struct mr_arena *ar)
{
    uint64_t index;
    if (!is_index(rd, type, in->text))
        return text_value(in, ar);
    if (!mr_parse_uint64(in->text, &index) || index > type->label_count)
        return MR_BAD_VALUE("no label of that number in the ENUM");
    return index == 0 ? mr_value_text(MR_STR("")) : label_value(type->labels[index - 1], ar);
}

static struct mr_value set(const struct mr_mysql_reader *rd, const struct mr_mysql_type *type, const struct mr_mysql_text *in,
                           struct mr_arena *ar)
{
    uint64_t mask;
    if (!is_index(rd, type, in->text))
        return text_value(in, ar);
    if (!mr_parse_uint64(in->text, &mask) || (type->label_count < 64 && mask >> type->label_count != 0))
        return MR_BAD_VALUE("bits beyond the labels of the SET");

    struct mr_buf out = MR_BUF_INIT(1u << 20);
    for (uint32_t i = 0; i < type->label_count && i < 64; i++) {
        if ((mask >> i & 1) == 0)
            continue;
        if (out.len != 0)
            mr_buf_append_char(&out, ',');
        mr_buf_append_str(&out, type->labels[i]);
    }
    struct mr_value v = label_value(mr_buf_str(&out), ar);
    bool overflow = out.overflow;
    mr_buf_free(&out);
    return overflow ? MR_BAD_RANGE("the labels of the SET are too long") : v;
}

/* A JSON column. It goes on in compact form. */
static struct mr_value json(struct mr_mysql_reader *rd, const struct mr_mysql_text *in, struct mr_arena *ar)
{
    struct mr_str text = in->is_latin1 ? mr_latin1_undo(in->text, ar) : in->text;
    struct mr_json_doc doc;
    unsigned flags = 0;
    if (text.len == 0) /* a document without bytes */
        return mr_value_bytes(MR_V_JSON, MR_STR("null"));
    if (mr_json_parse(rd->json, text, &doc, NULL) != MR_OK)
        return MR_BAD_VALUE("the text of a JSON column is not JSON");
    struct mr_value v = mr_value_bytes(MR_V_JSON, mr_json_text(&doc, 0, ar, &flags));
    v.flags = (uint8_t)flags;
    return v;
}

struct mr_value mr_mysql_value(struct mr_mysql_reader *rd, const struct mr_mysql_type *type,
                               const struct mr_mysql_text *in, struct mr_arena *ar)
{
    switch ((enum mr_mysql_kind)type->kind) {
    case MR_MY_TEXT:
        break;
    case MR_MY_INTEGER:
        return integer(type, in->text, rd->cfg->tinyint1_as_bool, ar);
    case MR_MY_YEAR:
        return integer(type, in->text, false, ar);
    case MR_MY_BIT:
        return bits(type, in, ar);
    case MR_MY_DECIMAL:
        return decimal(type, in, ar);
    case MR_MY_FLOAT:
        return floating(true, in->text);
    case MR_MY_DOUBLE:
        return floating(false, in->text);
    case MR_MY_DATE:
    case MR_MY_TIME:
    case MR_MY_DATETIME:
    case MR_MY_TIMESTAMP:
        return temporal(rd, (enum mr_mysql_kind)type->kind, in->text);
    case MR_MY_BINARY:
    case MR_MY_BYTES:
        return bytes(type, in->text, ar);
    case MR_MY_ENUM:
        return enumeration(rd, type, in, ar);
    case MR_MY_SET:
        return set(rd, type, in, ar);
    case MR_MY_JSON:
        return json(rd, in, ar);
    case MR_MY_GEOMETRY:
        return geometry(in->text, ar);
    }
    return text_value(in, ar);
}
