/* Values of DTS: the branch of the union and the object's type word decide, the field's number tells no more than how wide a float is. A value that
 * is none of its kind becomes INVALID, and the field's policy decides. See dts.h.
 *
 * The member called `millis` is no milliseconds: microseconds, and nanoseconds from Oracle. */
#include "dts.h"

#include <millrace/base/decimal.h>
#include <millrace/base/encode.h>
#include <millrace/base/time.h>
#include <millrace/base/utf8.h>

#include "charset.h"
#include "connect.h"
#include "wkb.h"

void mr_dts_reader_init(struct mr_dts_reader *rd, const struct mr_config *cfg)
{
    struct mr_json_limits limits = {.max_depth = cfg->max_depth, .max_bytes = cfg->max_message_bytes};
    *rd = (struct mr_dts_reader){.cfg = cfg, .json = mr_json_reader_create(&limits)};
}

void mr_dts_reader_free(struct mr_dts_reader *rd)
{
    mr_json_reader_destroy(rd->json);
    mr_zone_close(rd->zone);
}

static void set_kind(struct mr_field *out, enum mr_type_kind kind)
{
    out->type = MR_TYPE(kind);
    out->type.origin = MR_TYPED;
}

/* ---- Numbers ---- */

static void integer(const struct mr_dts_value *in, struct mr_arena *ar, struct mr_field *out)
{
    int64_t v;
    struct mr_decimal_info info;
    if (mr_parse_int64(in->text, &v)) {
        set_kind(out, MR_T_INT64);
        out->value = mr_value_int(v);
        return;
    }
    if (!mr_decimal_parse(in->text, &info) || info.has_point) {
        out->value = MR_BAD_VALUE("expected a whole number");
        return;
    }
    out->value =
        mr_value_bytes(MR_V_NUMBER, mr_decimal_plain(in->text, ar)); /* observed: as many digits as it has */
}

/* Oracle's infinities are tildes. */
static bool special_number(struct mr_str text, struct mr_value *out)
{
    static const struct {
        const char *text_z, *word_z;
    } words[] = {
        {"NaN", "NaN"},      {"Infinity", "Infinity"}, {"+Infinity", "Infinity"}, {"-Infinity", "-Infinity"},
        {"Inf", "Infinity"}, {"-Inf", "-Infinity"},    {"~", "Infinity"},         {"-~", "-Infinity"}};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (!mr_str_eq_nocase(text, mr_str_z(words[i].text_z)))
            continue;
        *out = mr_value_bytes(MR_V_NUMBER, mr_str_z(words[i].word_z));
        return true;
    }
    return false;
}

static void decimal(const struct mr_dts_value *in, struct mr_arena *ar, struct mr_field *out)
{
    struct mr_decimal_info info;
    set_kind(out, MR_T_DECIMAL);
    out->type.open = true;
    if (special_number(in->text, &out->value))
        return;
    if (!mr_decimal_parse(in->text, &info)) {
        out->value = MR_BAD_VALUE("expected a decimal number");
        return;
    }
    out->value = mr_connect_number(in->text, 0, ar);
    bool is_told = in->precision > 0 && in->precision <= 1000 && in->scale >= 0 && in->scale <= in->precision;
    if (is_told && info.int_digits <= (uint32_t)(in->precision - in->scale) &&
        info.frac_significant <= (uint32_t)in->scale) {
        out->type = MR_TYPE_DECIMAL((uint16_t)in->precision, (int16_t)in->scale);
        out->type.origin = MR_TYPED;
    }
}

static bool is_single(enum mr_dts_source source, int32_t type)
{
    switch (source) {
    case MR_DTS_MYSQL:
    case MR_DTS_DRDS:
        return type == 4;
    case MR_DTS_POSTGRESQL:
    case MR_DTS_PPAS:
        return type == 700;
    case MR_DTS_ORACLE:
        return type == 100;
    case MR_DTS_SQLSERVER:
    case MR_DTS_MONGODB:
    case MR_DTS_REDIS:
    case MR_DTS_DB2:
    case MR_DTS_HBASE:
    case MR_DTS_HDFS:
    case MR_DTS_FILE:
    case MR_DTS_OTHER:
        return false;
    }
    return false;
}

/* ---- Texts and bytes ---- */

static void text(struct mr_str s, unsigned flags, struct mr_field *out)
{
    set_kind(out, MR_T_TEXT);
    out->value = mr_value_text(s);
    out->value.flags = (uint8_t)flags;
}

static void bytes(struct mr_str s, struct mr_field *out)
{
    set_kind(out, MR_T_BYTES);
    out->value = mr_value_bytes(MR_V_BYTES, s);
}

static void character(const struct mr_dts_value *in, struct mr_arena *ar, struct mr_field *out)
{
    struct mr_str decoded;
    if (mr_charset_is_binary(in->word)) {
        bytes(in->text, out);
        return;
    }
    switch (mr_charset_decode(in->word, in->text, ar, &decoded)) {
    case MR_CHARSET_OK:
        text(decoded, mr_utf8_check(decoded), out);
        return;
    case MR_CHARSET_UNKNOWN:
        out->value = MR_BAD_VALUE("a text in a character set that is not known");
        return;
    case MR_CHARSET_BAD:
        out->value = MR_BAD_VALUE("bytes that the text's character set does not have");
        return;
    }
}

/* ---- Dates and times ---- */

/* The fraction as microseconds; false where it is a second or more. */
static bool micros(const struct mr_dts_reader *rd, enum mr_dts_source source, int32_t fraction, int64_t *us)
{
    int64_t size = fraction < 0 ? -(int64_t)fraction : fraction, out = size;
    switch (rd->cfg->dts_fraction) {
    case MR_DTS_FRACTION_AUTO:
        if (source == MR_DTS_ORACLE || size > 999999)
            out = size / 1000;
        break;
    case MR_DTS_FRACTION_MICRO:
        break;
    case MR_DTS_FRACTION_NANO:
        out = size / 1000;
        break;
    case MR_DTS_FRACTION_MILLI:
        out = size * 1000;
        break;
    }
    *us = fraction < 0 ? -out : out;
    return out < MR_US_PER_SEC;
}

static void no_date(const struct mr_dts_reader *rd, struct mr_field *out)
{
    out->value = rd->cfg->zero_date == MR_ZERO_DATE_NULL ? mr_value_null()
                                                         : MR_BAD_VALUE("a date without month or day");
}

static void instant(const struct mr_dts_reader *rd, enum mr_dts_source source, const struct mr_dts_value *in,
                    struct mr_field *out)
{
    int64_t us;
    set_kind(out, MR_T_TIMESTAMPTZ);
    bool is_mysql = source == MR_DTS_MYSQL || source == MR_DTS_DRDS;
    if (is_mysql && in->seconds == 0 && in->member[MR_DTS_FRACTION] == 0)
        no_date(rd, out);
    else if (!micros(rd, source, in->member[MR_DTS_FRACTION], &us))
        out->value = MR_BAD_VALUE("a fraction of a second or more");
    else if (in->seconds >= INT64_MAX / MR_US_PER_SEC || in->seconds <= INT64_MIN / MR_US_PER_SEC)
        out->value = MR_BAD_RANGE("an instant beyond all calendars");
    else
        out->value = mr_value_time(MR_V_TIMESTAMPTZ, in->seconds * MR_US_PER_SEC + us);
}

#define BIT(m) (1u << (m))
#define DATE_BITS (BIT(MR_DTS_YEAR) | BIT(MR_DTS_MONTH) | BIT(MR_DTS_DAY))
#define CLOCK_BITS (BIT(MR_DTS_HOUR) | BIT(MR_DTS_MINUTE) | BIT(MR_DTS_SECOND) | BIT(MR_DTS_FRACTION))

static bool is_negative(const struct mr_dts_value *in)
{
    for (int i = 0; i < MR_DTS_MEMBERS; i++) {
        if (in->member[i] < 0)
            return true;
    }
    return false;
}

static int64_t size_of(const struct mr_dts_value *in, enum mr_dts_member m)
{
    return in->member[m] < 0 ? -(int64_t)in->member[m] : in->member[m];
}

/* Hours, minutes, seconds and fraction as microseconds, without their sign. False: members that no clock has. */
static bool clock_us(const struct mr_dts_reader *rd, enum mr_dts_source source, const struct mr_dts_value *in,
                     int64_t *us)
{
    int64_t fraction;
    if (size_of(in, MR_DTS_MINUTE) > 59 || size_of(in, MR_DTS_SECOND) > 59 ||
        !micros(rd, source, in->member[MR_DTS_FRACTION], &fraction))
        return false;
    *us = ((size_of(in, MR_DTS_HOUR) * 60 + size_of(in, MR_DTS_MINUTE)) * 60 + size_of(in, MR_DTS_SECOND)) *
              MR_US_PER_SEC +
          (fraction < 0 ? -fraction : fraction);
    return true;
}

static bool is_date(const struct mr_dts_value *in)
{
    return in->member[MR_DTS_YEAR] >= -9999999 && in->member[MR_DTS_YEAR] <= 9999999 &&
           mr_civil_valid(in->member[MR_DTS_YEAR], in->member[MR_DTS_MONTH], in->member[MR_DTS_DAY]);
}

/* The wall clock of a whole date. False: *out is set to what it is instead. */
static bool wall_clock(const struct mr_dts_reader *rd, enum mr_dts_source source,
                       const struct mr_dts_value *in, int64_t *us, struct mr_field *out)
{
    int64_t clock;
    if (in->member[MR_DTS_MONTH] == 0 || in->member[MR_DTS_DAY] == 0) {
        no_date(rd, out);
        return false;
    }
    bool is_clock = clock_us(rd, source, in, &clock) && clock < MR_US_PER_DAY &&
                    in->member[MR_DTS_HOUR] >= 0 && in->member[MR_DTS_MINUTE] >= 0 &&
                    in->member[MR_DTS_SECOND] >= 0 && in->member[MR_DTS_FRACTION] >= 0;
    if (!is_date(in) || !is_clock) {
        out->value = MR_BAD_VALUE("a date or time that does not exist");
        return false;
    }
    int64_t days =
        mr_days_from_civil(in->member[MR_DTS_YEAR], in->member[MR_DTS_MONTH], in->member[MR_DTS_DAY]);
    *us = days * MR_US_PER_DAY + clock;
    return true;
}

static void time_of_day(const struct mr_dts_reader *rd, enum mr_dts_source source,
                        const struct mr_dts_value *in, struct mr_field *out)
{
    int64_t us;
    if (!clock_us(rd, source, in, &us)) {
        out->value = MR_BAD_VALUE("a time that does not exist");
        return;
    }
    if (is_negative(in)) /* of -00:05:00 the hour is zero: any member has the sign */
        us = -us;
    bool is_day = us >= 0 && us < MR_US_PER_DAY;
    set_kind(out, is_day ? MR_T_TIME : MR_T_DURATION);
    out->value = mr_value_time(is_day ? MR_V_TIME : MR_V_DURATION, us);
}

/* Oracle's intervals, as texts: [-]Y-M, [-]D HH:MM:SS[.f]. */
static void interval(const struct mr_dts_reader *rd, enum mr_dts_source source, const struct mr_dts_value *in,
                     bool is_months, struct mr_arena *ar, struct mr_field *out)
{
    char clock[MR_TIME_TEXT];
    int64_t us;
    const char *sign_z = is_negative(in) ? "-" : "";
    if (is_months) {
        text(mr_arena_printf(ar, "%s%lld-%lld", sign_z, (long long)size_of(in, MR_DTS_YEAR),
                             (long long)size_of(in, MR_DTS_MONTH)),
             0, out);
        return;
    }
    if (!clock_us(rd, source, in, &us)) {
        out->value = MR_BAD_VALUE("an interval that does not exist");
        return;
    }
    size_t len = mr_format_time(us, false, clock);
    text(mr_arena_printf(ar, "%s%lld %.*s", sign_z, (long long)size_of(in, MR_DTS_DAY), (int)len, clock), 0,
         out);
}

static void date_time(const struct mr_dts_reader *rd, enum mr_dts_source source,
                      const struct mr_dts_value *in, struct mr_arena *ar, struct mr_field *out)
{
    unsigned date = in->set & DATE_BITS, clock = in->set & CLOCK_BITS;
    int64_t us;
    if (date == DATE_BITS) {
        set_kind(out, clock != 0 ? MR_T_TIMESTAMP : MR_T_DATE);
        if (!wall_clock(rd, source, in, &us, out))
            return;
        out->value = clock != 0 ? mr_value_time(MR_V_TIMESTAMP, us)
                                : mr_value_time(MR_V_DATE, mr_floor_div(us, MR_US_PER_DAY));
    } else if (date == 0 && (clock & BIT(MR_DTS_HOUR)) != 0) {
        time_of_day(rd, source, in, out);
    } else if (date == BIT(MR_DTS_YEAR) && clock == 0) {
        set_kind(out, MR_T_INT64);
        out->value = mr_value_int(in->member[MR_DTS_YEAR]);
    } else if (date == (BIT(MR_DTS_YEAR) | BIT(MR_DTS_MONTH)) && clock == 0) {
        interval(rd, source, in, true, ar, out);
    } else if (date == BIT(MR_DTS_DAY) && (clock & BIT(MR_DTS_HOUR)) != 0) {
        interval(rd, source, in, false, ar, out);
    } else if (in->set == 0) {
        out->value = mr_value_null();
    } else {
        out->value = MR_BAD_VALUE("members that make neither a date nor a time");
    }
}

/* GMT+8 and UTC+08:00 are offsets. False: no such zone. */
static bool find_zone(struct mr_dts_reader *rd, struct mr_str name)
{
    name = mr_str_trim(name);
    if (name.len > 3 && (mr_str_starts(name, MR_STR("GMT")) || mr_str_starts(name, MR_STR("UTC"))) &&
        (name.ptr[3] == '+' || name.ptr[3] == '-'))
        name = mr_str_of(name.ptr + 3, name.len - 3);
    if (name.len == 0 || name.len >= sizeof(rd->zone_z) || memchr(name.ptr, '\0', name.len) != NULL)
        return false;
    if (mr_str_eq_z(name, rd->zone_z))
        return rd->zone != NULL;
    mr_zone_close(rd->zone);
    rd->zone = NULL;
    memcpy(rd->zone_z, name.ptr, name.len);
    rd->zone_z[name.len] = '\0';
    return mr_zone_open(rd->zone_z, &rd->zone, NULL) == MR_OK;
}

/* A time with its zone and no date is kept as text: no instant can be told. */
static void zoned_time(struct mr_dts_reader *rd, enum mr_dts_source source, const struct mr_dts_value *in,
                       struct mr_arena *ar, struct mr_field *out)
{
    char clock[MR_TIME_TEXT];
    int64_t us;
    if (is_negative(in) || !clock_us(rd, source, in, &us) || us >= MR_US_PER_DAY) {
        out->value = MR_BAD_VALUE("a time that does not exist");
        return;
    }
    long offset = (long)mr_zone_offset(rd->zone, 0), size = offset < 0 ? -offset : offset;
    size_t len = mr_format_time(us, true, clock);
    text(mr_arena_printf(ar, "%.*s%c%02ld:%02ld", (int)len, clock, offset < 0 ? '-' : '+', size / 3600,
                         size / 60 % 60),
         0, out);
}

static void zoned(struct mr_dts_reader *rd, enum mr_dts_source source, const struct mr_dts_value *in,
                  struct mr_arena *ar, struct mr_field *out)
{
    int64_t us, utc;
    if (in->set == 0) {
        out->value = mr_value_null();
        return;
    }
    if (!find_zone(rd, in->word)) {
        out->value = MR_BAD_VALUE("a time zone that is not known");
        return;
    }
    if ((in->set & DATE_BITS) == 0) {
        zoned_time(rd, source, in, ar, out);
        return;
    }
    set_kind(out, MR_T_TIMESTAMPTZ);
    if ((in->set & DATE_BITS) != DATE_BITS)
        out->value = MR_BAD_VALUE("a date without all of its parts");
    else if (wall_clock(rd, source, in, &us, out))
        out->value = mr_zone_to_utc(rd->zone, us, &utc) ? mr_value_time(MR_V_TIMESTAMPTZ, utc)
                                                        : MR_BAD_RANGE("an instant beyond all calendars");
}

/* ---- Objects ---- */

static void json(struct mr_dts_reader *rd, const struct mr_dts_value *in, struct mr_arena *ar,
                 struct mr_field *out)
{
    struct mr_json_doc doc;
    unsigned flags = 0;
    set_kind(out, MR_T_JSON);
    out->type.origin = MR_SCHEMA; /* declared, so that it is not flattened */
    if (in->text.len == 0) {      /* a document without bytes */
        out->value = mr_value_bytes(MR_V_JSON, MR_STR("null"));
        return;
    }
    if (mr_json_parse(rd->json, in->text, &doc, NULL) != MR_OK) {
        out->value = MR_BAD_VALUE("the text of a JSON column is not JSON");
        return;
    }
    out->value = mr_value_bytes(MR_V_JSON, mr_json_text(&doc, 0, ar, &flags));
    out->value.flags = (uint8_t)flags;
}

static void boolean(struct mr_str s, struct mr_field *out)
{
    static const char *const yes[] = {"t", "true", "1", "y", "yes", "on"}, *const no[] = {"f",  "false",
                                                                                          "0",  "n",
                                                                                          "no", "off"};
    set_kind(out, MR_T_BOOL);
    out->value = MR_BAD_VALUE("expected true or false");
    for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
        if (mr_str_eq_nocase(s, mr_str_z(yes[i])) || mr_str_eq_nocase(s, mr_str_z(no[i])))
            out->value = mr_value_bool(mr_str_eq_nocase(s, mr_str_z(yes[i])));
    }
}

static void geometry(const struct mr_dts_value *in, struct mr_arena *ar, struct mr_field *out)
{
    set_kind(out, MR_T_JSON);
    out->type.origin = MR_SCHEMA;
    if (!mr_wkb_read(in->text, ar, &out->value))
        out->value = MR_BAD_VALUE("expected a geometry as WKB");
}

static bool is_word(struct mr_str word, const char *const *list_z)
{
    for (; *list_z != NULL; list_z++) {
        if (mr_str_eq_nocase(word, mr_str_z(*list_z)))
            return true;
    }
    return false;
}

static void binary_object(struct mr_dts_reader *rd, const struct mr_dts_value *in, struct mr_arena *ar,
                          struct mr_field *out)
{
    static const char *const texts[] = {"TEXT",  "XML",    "ENUM", "SET",   "UUID",
                                        "ROWID", "UROWID", "CLOB", "NCLOB", NULL};
    static const char *const documents[] = {"JSON", "JSONB", NULL}, *const booleans[] = {"BOOL", "BOOLEAN",
                                                                                         NULL};
    static const char *const geometries[] = {"GEOMETRY", NULL};
    if (is_word(in->word, texts))
        text(in->text, mr_utf8_check(in->text), out);
    else if (is_word(in->word, documents))
        json(rd, in, ar, out);
    else if (is_word(in->word, booleans))
        boolean(in->text, out);
    else if (is_word(in->word, geometries))
        geometry(in, ar, out);
    else
        bytes(in->text, out);
}

/* Bytes in a text: \x and hexadecimal digits, as PostgreSQL prints them; else the text's own. */
static void bytes_of_text(struct mr_str s, struct mr_arena *ar, struct mr_field *out)
{
    struct mr_str raw;
    if (mr_str_starts(s, MR_STR("\\x")) && mr_hex_decode(mr_str_of(s.ptr + 2, s.len - 2), ar, &raw))
        bytes(raw, out);
    else
        bytes(s, out);
}

static void text_object(struct mr_dts_reader *rd, const struct mr_dts_value *in, struct mr_arena *ar,
                        struct mr_field *out)
{
    static const char *const binaries[] = {"BINARY", "BLOB", "BYTEA", "RAW", "LONG_RAW", NULL};
    static const char *const documents[] = {"JSON", "JSONB", NULL}, *const booleans[] = {"BOOL", "BOOLEAN",
                                                                                         NULL};
    if (is_word(in->word, binaries))
        bytes_of_text(in->text, ar, out);
    else if (is_word(in->word, documents))
        json(rd, in, ar, out);
    else if (is_word(in->word, booleans))
        boolean(in->text, out);
    else
        text(in->text, in->flags, out);
}

void mr_dts_value(struct mr_dts_reader *rd, enum mr_dts_source source, int32_t type,
                  const struct mr_dts_value *in, struct mr_arena *ar, struct mr_field *out)
{
    out->type = MR_TYPE(MR_T_NONE);
    out->value = mr_value_null();
    switch ((enum mr_dts_kind)in->kind) {
    case MR_DTS_NULL:
        return;
    case MR_DTS_INTEGER:
        integer(in, ar, out);
        return;
    case MR_DTS_CHARACTER:
        character(in, ar, out);
        return;
    case MR_DTS_DECIMAL:
        decimal(in, ar, out);
        return;
    case MR_DTS_FLOAT:
        set_kind(out, is_single(source, type) ? MR_T_FLOAT32 : MR_T_FLOAT64);
        out->value = mr_value_float(in->f);
        return;
    case MR_DTS_TIMESTAMP:
        instant(rd, source, in, out);
        return;
    case MR_DTS_DATETIME:
        date_time(rd, source, in, ar, out);
        return;
    case MR_DTS_ZONED:
        zoned(rd, source, in, ar, out);
        return;
    case MR_DTS_BINARY_GEOMETRY:
        geometry(in, ar, out);
        return;
    case MR_DTS_TEXT_GEOMETRY:
        text(in->text, in->flags, out);
        return;
    case MR_DTS_BINARY_OBJECT:
        binary_object(rd, in, ar, out);
        return;
    case MR_DTS_TEXT_OBJECT:
        text_object(rd, in, ar, out);
        return;
    case MR_DTS_EMPTY:
        if (in->is_none)
            out->value = (struct mr_value){.tag = MR_V_ABSENT};
        return;
    }
}
