/* DTS: a datum built field by field, the values of every branch, operations, and what is no datum. */
#include "decode_helper.h"

#include "decode/dts.h"
#include "decode/wkb.h"

/* ---- a builder of Avro binary ---- */

static void put_long(struct mr_buf *b, int64_t v)
{
    uint64_t z = ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
    for (; z >= 0x80; z >>= 7)
        mr_buf_append_char(b, (char)(z | 0x80));
    mr_buf_append_char(b, (char)z);
}

static void put_text(struct mr_buf *b, const char *text_z)
{
    put_long(b, (int64_t)strlen(text_z));
    mr_buf_append_z(b, text_z);
}

struct datum {
    int source, op;
    const char *object_z, *keys_z; /* NULL = none */
    const char *fields_z;          /* one letter each: "ab" */
    int32_t types[8];
    struct mr_buf before, after; /* values, one behind another */
    size_t before_count, after_count;
    const char *statement_z;
    bool is_old; /* without bornTimestamp */
    bool has_logical;
};

static struct datum new_datum(int source, int op, const char *fields_z)
{
    return (struct datum){.source = source,
                          .op = op,
                          .object_z = "d.t",
                          .keys_z = "{\"PRIMARY\":[\"a\"]}",
                          .fields_z = fields_z,
                          .before = MR_BUF_INIT(1 << 20),
                          .after = MR_BUF_INIT(1 << 20)};
}

static void put_image(struct mr_buf *b, const struct mr_buf *values, size_t count, const char *text_z)
{
    if (text_z != NULL) {
        put_long(b, 1);
        put_text(b, text_z);
    } else if (count == 0) {
        put_long(b, 0);
    } else {
        put_long(b, 2);
        put_long(b, -(int64_t)count); /* with the block's size, as a writer may do */
        put_long(b, (int64_t)values->len);
        mr_buf_append_str(b, mr_buf_str(values));
        put_long(b, 0);
    }
}

static struct mr_buf built(const struct datum *d)
{
    struct mr_buf b = MR_BUF_INIT(1 << 22);
    size_t fields = strlen(d->fields_z);
    put_long(&b, 0);
    put_long(&b, 12345);
    put_long(&b, 1700000000);
    put_text(&b, "1@2");
    put_text(&b, "0@2");
    put_text(&b, "0");
    put_long(&b, d->source);
    put_text(&b, "8.0");
    put_long(&b, d->op);
    put_long(&b, d->object_z != NULL);
    if (d->object_z != NULL)
        put_text(&b, d->object_z);
    put_long(&b, 1); /* processTimestamps */
    put_long(&b, 2);
    put_long(&b, 1);
    put_long(&b, 2);
    put_long(&b, 0);
    put_long(&b, 1 + (d->keys_z != NULL) + (d->has_logical ? 2 : 0));
    put_text(&b, "thread_id");
    put_text(&b, "7");
    if (d->keys_z != NULL) {
        put_text(&b, "pk_uk_info");
        put_text(&b, d->keys_z);
    }
    if (d->has_logical) {
        put_text(&b, "l_db_name");
        put_text(&b, "ld");
        put_text(&b, "l_tb_name");
        put_text(&b, "lt");
    }
    put_long(&b, 0);
    put_long(&b, fields == 0 ? 0 : 2);
    for (size_t i = 0; i < fields; i++) { /* a block for each */
        char name[2] = {d->fields_z[i], '\0'};
        put_long(&b, 1);
        put_text(&b, name);
        put_long(&b, d->types[i]);
    }
    if (fields != 0)
        put_long(&b, 0);
    put_image(&b, &d->before, d->before_count, NULL);
    put_image(&b, &d->after, d->after_count, d->statement_z);
    if (!d->is_old)
        put_long(&b, 1700000000123);
    return b;
}

static void add_int(struct mr_buf *b, const char *digits_z)
{
    put_long(b, MR_DTS_INTEGER);
    put_long(b, 8);
    put_text(b, digits_z);
}

static void add_worded(struct mr_buf *b, int branch, const char *word_z, struct mr_str bytes)
{
    put_long(b, branch);
    put_text(b, word_z);
    put_long(b, (int64_t)bytes.len);
    mr_buf_append_str(b, bytes);
}

static void add_decimal(struct mr_buf *b, const char *digits_z, int precision, int scale)
{
    put_long(b, MR_DTS_DECIMAL);
    put_text(b, digits_z);
    put_long(b, precision);
    put_long(b, scale);
}

#define NO INT32_MIN
static void put_members(struct mr_buf *b, const int32_t m[7])
{
    for (int i = 0; i < 7; i++) {
        put_long(b, m[i] != NO);
        if (m[i] != NO)
            put_long(b, m[i]);
    }
}

static void add_datetime(struct mr_buf *b, const int32_t m[7])
{
    put_long(b, MR_DTS_DATETIME);
    put_members(b, m);
}

static void add_zoned(struct mr_buf *b, const int32_t m[7], const char *zone_z)
{
    put_long(b, MR_DTS_ZONED);
    put_members(b, m);
    put_text(b, zone_z);
}

static enum mr_status decode(struct helper *h, struct datum *d)
{
    struct mr_buf b = built(d);
    enum mr_status status = helper_decode_bytes(h, "x", (struct mr_str){NULL, 0}, mr_buf_str(&b));
    mr_buf_free(&b);
    mr_buf_free(&d->before);
    mr_buf_free(&d->after);
    return status;
}

static struct helper *new_helper(void)
{
    struct helper *h = helper_new("dts-avro");
    h->cfg.dts_logical_names = true;
    return h;
}

/* The row {a: value} as the decoder renders the field. */
#define assert_value(h, source, type, ADD, want)                                                             \
    do {                                                                                                     \
        struct datum d_ = new_datum(source, MR_DTS_INSERT, "a");                                             \
        struct mr_buf *b = &d_.after;                                                                        \
        d_.keys_z = NULL;                                                                                    \
        d_.types[0] = (type);                                                                                \
        ADD;                                                                                                 \
        d_.after_count = 1;                                                                                  \
        assert_int_equal(decode(h, &d_), MR_OK);                                                             \
        assert_string_equal(mr_buf_z(&(h)->out), "upsert new d.t" want);                                     \
    } while (0)

/* ---- values ---- */

static void test_numbers(void **state)
{
    (void)state;
    struct helper *h = new_helper();
    helper_start(h);
    assert_value(h, MR_DTS_MYSQL, 8, add_int(b, "-5"), " after(a=-5:int64)");
    assert_value(h, MR_DTS_MYSQL, 8, add_int(b, "18446744073709551615"), " after(a=#18446744073709551615)");
    assert_value(h, MR_DTS_MYSQL, 8, add_int(b, "1.5"), " after(a=invalid(expected a whole number))");
    assert_value(h, MR_DTS_MYSQL, 8, add_int(b, ""), " after(a=invalid(expected a whole number))");
    assert_value(h, MR_DTS_MYSQL, 246, add_decimal(b, "-12.50", 10, 2), " after(a=#-12.50:decimal(10,2))");
    assert_value(h, MR_DTS_MYSQL, 246, add_decimal(b, "1E+3", 10, 2), " after(a=#1000:decimal(10,2))");
    assert_value(h, MR_DTS_MYSQL, 246, add_decimal(b, "123.456", 4, 2), " after(a=#123.456:decimal)");
    assert_value(h, MR_DTS_MYSQL, 246, add_decimal(b, "1", -1, 99999), " after(a=#1:decimal)");
    assert_value(h, MR_DTS_ORACLE, 2, add_decimal(b, "~", 0, 0), " after(a=#Infinity:decimal)");
    assert_value(h, MR_DTS_ORACLE, 2, add_decimal(b, "-~", 0, 0), " after(a=#-Infinity:decimal)");
    assert_value(h, MR_DTS_ORACLE, 2, add_decimal(b, "NaN", 0, 0), " after(a=#NaN:decimal)");
    assert_value(h, MR_DTS_ORACLE, 2, add_decimal(b, "1e999999999", 0, 0),
                 " after(a=invalid(expected a decimal number):decimal)");
    helper_free(h);
}

static void test_texts_are_read_in_their_character_set(void **state)
{
    (void)state;
    struct helper *h = new_helper();
    helper_start(h);
    assert_value(h, 0, 253, add_worded(b, MR_DTS_CHARACTER, "utf8mb4", MR_STR("ä")), " after(a='ä':text)");
    assert_value(h, 0, 253, add_worded(b, MR_DTS_CHARACTER, "latin1", MR_STR("\x80\x81\xe4")),
                 " after(a='€\xc2\x81ä':text)");
    assert_value(h, 0, 253, add_worded(b, MR_DTS_CHARACTER, "GBK", MR_STR("\xd6\xd0")),
                 " after(a='中':text)");
    assert_value(h, 0, 253, add_worded(b, MR_DTS_CHARACTER, "ucs2", MR_STR("\x00\x41")),
                 " after(a='A':text)");
    assert_value(h, 0, 253, add_worded(b, MR_DTS_CHARACTER, "cp1251", MR_STR("\xcf")), " after(a='П':text)");
    assert_value(h, 0, 253, add_worded(b, MR_DTS_CHARACTER, "", MR_STR("\x00\xff")), " after(a=x00ff:bytes)");
    assert_value(h, 0, 253, add_worded(b, MR_DTS_CHARACTER, "binary", MR_STR("a")), " after(a=x61:bytes)");
    assert_value(h, 0, 253, add_worded(b, MR_DTS_CHARACTER, "utf8", MR_STR("\xff")),
                 " after(a='\xff'?4:text)");
    assert_value(h, 0, 253, add_worded(b, MR_DTS_CHARACTER, "gbk", MR_STR("\xd6")),
                 " after(a=invalid(bytes that the text's character set does not have))");
    assert_value(h, 0, 253, add_worded(b, MR_DTS_CHARACTER, "klingon", MR_STR("a")),
                 " after(a=invalid(a text in a character set that is not known))");
    helper_free(h);
}

static void test_dates_and_times_are_told_by_their_members(void **state)
{
    (void)state;
    struct helper *h = new_helper();
    helper_start(h);
    assert_value(h, 0, 12, add_datetime(b, (int32_t[7]){2024, 6, 10, 8, 15, 30, 123}),
                 " after(a=2024-06-10T08:15:30.000123:timestamp)");
    assert_value(h, 1, 180, add_datetime(b, (int32_t[7]){2024, 6, 10, 8, 15, 30, 123456789}),
                 " after(a=2024-06-10T08:15:30.123456:timestamp)");
    assert_value(h, 0, 12, add_datetime(b, (int32_t[7]){2024, 6, 10, 8, 15, 30, 123456789}),
                 " after(a=2024-06-10T08:15:30.123456:timestamp)");
    assert_value(h, 0, 10, add_datetime(b, (int32_t[7]){2024, 2, 29, NO, NO, NO, NO}),
                 " after(a=D2024-02-29:date)");
    assert_value(h, 0, 10, add_datetime(b, (int32_t[7]){2023, 2, 29, NO, NO, NO, NO}),
                 " after(a=invalid(a date or time that does not exist):date)");
    assert_value(h, 0, 11, add_datetime(b, (int32_t[7]){NO, NO, NO, 0, -5, 0, NO}),
                 " after(a=I-00:05:00:duration)");
    assert_value(h, 0, 11, add_datetime(b, (int32_t[7]){NO, NO, NO, -101, -2, -3, NO}),
                 " after(a=I-101:02:03:duration)");
    assert_value(h, 0, 11, add_datetime(b, (int32_t[7]){NO, NO, NO, 8, 1, 2, NO}),
                 " after(a=T08:01:02:time)");
    assert_value(h, 0, 11, add_datetime(b, (int32_t[7]){NO, NO, NO, 8, 61, 2, NO}),
                 " after(a=invalid(a time that does not exist))");
    assert_value(h, 0, 13, add_datetime(b, (int32_t[7]){2024, NO, NO, NO, NO, NO, NO}),
                 " after(a=2024:int64)");
    assert_value(h, 1, 182, add_datetime(b, (int32_t[7]){-3, -2, NO, NO, NO, NO, NO}),
                 " after(a='-3-2':text)");
    assert_value(h, 1, 183, add_datetime(b, (int32_t[7]){NO, NO, 4, 5, 6, 7, 500000000}),
                 " after(a='4 05:06:07.500000':text)");
    assert_value(h, 0, 12, add_datetime(b, (int32_t[7]){0, 0, 0, 0, 0, 0, NO}), " after(a=null:timestamp)");
    assert_value(h, 0, 12, add_datetime(b, (int32_t[7]){INT32_MAX, 1, 1, 0, 0, 0, NO}),
                 " after(a=invalid(a date or time that does not exist):timestamp)");
    assert_value(h, 0, 12, add_datetime(b, (int32_t[7]){NO, 1, NO, NO, NO, NO, NO}),
                 " after(a=invalid(members that make neither a date nor a time))");
    assert_value(h, 0, 12, add_datetime(b, (int32_t[7]){NO, NO, NO, INT32_MIN + 1, 0, 0, NO}),
                 " after(a=I-2147483647:00:00:duration)");
    helper_free(h);
}

static void add_timestamp(struct mr_buf *b, int64_t seconds, int32_t fraction)
{
    put_long(b, MR_DTS_TIMESTAMP);
    put_long(b, seconds);
    put_long(b, fraction);
}

static void test_instants(void **state)
{
    (void)state;
    struct helper *h = new_helper();
    helper_start(h);
    assert_value(h, 0, 7, add_timestamp(b, 1523543851, 500000),
                 " after(a=2018-04-12T14:37:31.500000Z:timestamptz)");
    assert_value(h, 0, 7, add_timestamp(b, 0, 0), " after(a=null:timestamptz)");
    assert_value(h, 3, 1184, add_timestamp(b, 0, 0), " after(a=1970-01-01T00:00:00Z:timestamptz)");
    assert_value(h, 0, 7, add_timestamp(b, INT64_MAX, 0),
                 " after(a=range(an instant beyond all calendars):timestamptz)");
    assert_value(h, 0, 7, add_timestamp(b, INT64_MIN, 0),
                 " after(a=range(an instant beyond all calendars):timestamptz)");
    assert_value(h, 0, 7, add_timestamp(b, 1, INT32_MIN),
                 " after(a=invalid(a fraction of a second or more):timestamptz)");
    static const int32_t at[7] = {2024, 6, 10, 8, 15, 30, 123456};
    assert_value(h, 3, 1184, add_zoned(b, at, "+08"), " after(a=2024-06-10T00:15:30.123456Z:timestamptz)");
    assert_value(h, 3, 1184, add_zoned(b, at, "GMT+8"), " after(a=2024-06-10T00:15:30.123456Z:timestamptz)");
    assert_value(h, 3, 1184, add_zoned(b, at, "Asia/Shanghai"),
                 " after(a=2024-06-10T00:15:30.123456Z:timestamptz)");
    assert_value(h, 3, 1184, add_zoned(b, at, "../../etc/passwd"),
                 " after(a=invalid(a time zone that is not known))");
    assert_value(h, 3, 1184, add_zoned(b, at, ""), " after(a=invalid(a time zone that is not known))");
    assert_value(h, 3, 1266, add_zoned(b, (int32_t[7]){NO, NO, NO, 8, 0, 0, NO}, "-03:30"),
                 " after(a='08:00:00.000000-03:30':text)");
    helper_free(h);
}

static void test_the_unit_of_fractions_can_be_set(void **state)
{
    (void)state;
    struct helper *h = new_helper();
    h->cfg.dts_fraction = MR_DTS_FRACTION_MILLI;
    helper_start(h);
    assert_value(h, 2, 0, add_timestamp(b, 1, 123), " after(a=1970-01-01T00:00:01.123000Z:timestamptz)");
    helper_free(h);
}

static void test_objects_are_told_by_their_word(void **state)
{
    (void)state;
    struct helper *h = new_helper();
    helper_start(h);
    assert_value(h, 0, 252, add_worded(b, MR_DTS_BINARY_OBJECT, "blob", MR_STR("\x00\xff")),
                 " after(a=x00ff:bytes)");
    assert_value(h, 0, 252, add_worded(b, MR_DTS_BINARY_OBJECT, "TEXT", MR_STR("t")), " after(a='t':text)");
    assert_value(h, 0, 245, add_worded(b, MR_DTS_BINARY_OBJECT, "json", MR_STR("[1, 2]")),
                 " after(a=J[1,2]:json!)");
    assert_value(h, 0, 245, add_worded(b, MR_DTS_TEXT_OBJECT, "JSON", MR_STR("{")),
                 " after(a=invalid(the text of a JSON column is not JSON):json!)");
    assert_value(h, 3, 16, add_worded(b, MR_DTS_TEXT_OBJECT, "bool", MR_STR("t")), " after(a=true:boolean)");
    assert_value(h, 3, 16, add_worded(b, MR_DTS_TEXT_OBJECT, "bool", MR_STR("x")),
                 " after(a=invalid(expected true or false):boolean)");
    assert_value(h, 3, 17, add_worded(b, MR_DTS_TEXT_OBJECT, "BYTEA", MR_STR("\\x00fF")),
                 " after(a=x00ff:bytes)");
    assert_value(h, 0, 255, add_worded(b, MR_DTS_TEXT_GEOMETRY, "geometry", MR_STR("POINT(1 2)")),
                 " after(a='POINT(1 2)':text)");
    assert_value(h, 0, 255, add_worded(b, MR_DTS_BINARY_GEOMETRY, "geometry", MR_STR("\x01")),
                 " after(a=invalid(expected a geometry as WKB):json!)");
    helper_free(h);
}

static void assert_geometry(struct mr_str bytes, const char *want_z)
{
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_value v;
    assert_int_equal(mr_wkb_read(bytes, ar, &v), want_z != NULL);
    if (want_z != NULL)
        assert_true(mr_str_eq_z(mr_value_str(v), want_z));
    mr_arena_destroy(ar);
}

#define POINT "\x01\x01\0\0\0\0\0\0\0\0\0\x08@\0\0\0\0\0\0\0@"
static void test_geometries_with_and_without_their_reference_system(void **state)
{
    (void)state;
    assert_geometry(MR_STR(POINT), "{\"wkb\":\"AQEAAAAAAAAAAAAIQAAAAAAAAABA\",\"srid\":0}");
    assert_geometry(MR_STR("\xe6\x10\0\0" POINT), "{\"wkb\":\"AQEAAAAAAAAAAAAIQAAAAAAAAABA\",\"srid\":4326}");
    assert_geometry(MR_STR("\0\0\0\0" POINT), "{\"wkb\":\"AQEAAAAAAAAAAAAIQAAAAAAAAABA\",\"srid\":0}");
    assert_geometry(MR_STR("\x01\x01\0\0\x20\xe6\x10\0\0\0\0\0\0\0\0\x08@\0\0\0\0\0\0\0@"),
                    "{\"wkb\":\"AQEAAAAAAAAAAAAIQAAAAAAAAABA\",\"srid\":4326}");
    assert_geometry(MR_STR("\x01\x07\0\0\0\x01\0\0\0" POINT),
                    "{\"wkb\":\"AQcAAAABAAAAAQEAAAAAAAAAAAAIQAAAAAAAAABA\",\"srid\":0}");
    assert_geometry(MR_STR("\x01\x07\0\0\0\xff\xff\xff\xff"), NULL); /* collections that are not there */
    assert_geometry(MR_STR("\x01\x02\0\0\0\xff\xff\xff\xff"), NULL);
    assert_geometry(MR_STR("\x02"), NULL);
    assert_geometry(MR_STR(""), NULL);
    assert_geometry(MR_STR("\x01\x01\0\0\x20\xe6"), NULL);
}

/* ---- operations ---- */

static void test_operations_and_their_images(void **state)
{
    (void)state;
    struct helper *h = new_helper();
    helper_start(h);
    struct datum d = new_datum(0, MR_DTS_UPDATE, "ab");
    add_int(&d.before, "1");
    add_int(&d.before, "5");
    add_int(&d.after, "2");
    put_long(&d.after, MR_DTS_EMPTY);
    put_long(&d.after, 1); /* not captured */
    d.before_count = d.after_count = 2;
    assert_int_equal(decode(h, &d), MR_OK);
    assert_string_equal(mr_buf_z(&h->out),
                        "upsert partial d.t key(a=2:int64) old(a=1:int64) after(a=2:int64)");

    d = new_datum(0, MR_DTS_DELETE, "ab");
    d.is_old = true;
    add_int(&d.before, "1");
    put_long(&d.before, 0);
    d.before_count = 2;
    assert_int_equal(decode(h, &d), MR_OK);
    assert_string_equal(mr_buf_z(&h->out), "delete d.t key(a=1:int64) before(a=1:int64 b=null)");

    d = new_datum(0, MR_DTS_BEGIN, "");
    d.object_z = NULL;
    assert_int_equal(decode(h, &d), MR_OK);
    assert_string_equal(mr_buf_z(&h->out), "control transaction");

    d = new_datum(0, MR_DTS_DDL, "");
    d.object_z = "d";
    d.statement_z = "alter table t add c int";
    assert_int_equal(decode(h, &d), MR_OK);
    assert_string_equal(mr_buf_z(&h->out),
                        "control schema-change d.t ddl alter table t add c int ALTER in 'd' part 0");
    d = new_datum(0, MR_DTS_DDL, "");
    d.object_z = "d";
    d.statement_z = "truncate table t";
    assert_int_equal(decode(h, &d), MR_OK);
    assert_string_equal(mr_buf_z(&h->out), "truncate d.t");
    helper_free(h);
}

static void assert_named(struct helper *h, const char *object_z, bool has_logical, const char *want_z)
{
    struct datum d = new_datum(3, MR_DTS_INSERT, "a");
    d.object_z = object_z;
    d.has_logical = has_logical;
    d.keys_z = NULL;
    put_long(&d.after, 0);
    d.after_count = 1;
    assert_int_equal(decode(h, &d), MR_OK);
    assert_string_equal(mr_buf_z(&h->out), want_z);
}

static void test_names_of_two_and_three_parts_and_of_shards(void **state)
{
    (void)state;
    struct helper *h = new_helper();
    helper_start(h);
    assert_named(h, "app.public.ev", false, "upsert new app.public.ev after(a=null)");
    assert_named(h, "d.a\\u002Eb", false, "upsert new d.a.b after(a=null)");
    assert_named(h, "d_0001.t_7", true, "upsert new ld.lt after(a=null)");
    helper_free(h);
    h = new_helper();
    h->cfg.dts_logical_names = false;
    helper_start(h);
    assert_named(h, "d_0001.t_7", true, "upsert new d_0001.t_7 after(a=null)");
    helper_free(h);
}

static void test_the_key_is_the_primary_or_the_first_filled_unique_index(void **state)
{
    (void)state;
    static const struct {
        const char *keys_z, *want_z;
    } cases[] = {
        {"{\"u\":[\"b\"],\"PRIMARY\":[\"a\"]}", "upsert new d.t key(a=1:int64) after(a=1:int64 b=null)"},
        {"{\"u\":[\"b\"],\"v\":[\"a\"]}", "upsert new d.t key(a=1:int64) after(a=1:int64 b=null)"},
        {"{\"u\":[\"b\"]}", "upsert new d.t after(a=1:int64 b=null)"},
        {"{}", "upsert new d.t after(a=1:int64 b=null)"},
    };
    struct helper *h = new_helper();
    helper_start(h);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct datum d = new_datum(0, MR_DTS_INSERT, "ab");
        d.keys_z = cases[i].keys_z;
        add_int(&d.after, "1");
        put_long(&d.after, 0);
        d.after_count = 2;
        assert_int_equal(decode(h, &d), MR_OK);
        assert_string_equal(mr_buf_z(&h->out), cases[i].want_z);
    }
    helper_free(h);
}

/* ---- what is no datum ---- */

static void assert_code(struct helper *h, struct datum *d, const char *code_z)
{
    assert_int_equal(decode(h, d), MR_E_DATA);
    assert_string_equal(h->err.code, code_z);
    assert_int_equal(h->out.len, 0);
}

static void test_records_that_contradict_themselves_are_refused(void **state)
{
    (void)state;
    struct helper *h = new_helper();
    helper_start(h);
    struct datum d = new_datum(0, MR_DTS_INSERT, "ab");
    put_long(&d.after, 0);
    d.after_count = 1;
    assert_code(h, &d, "bad_image");
    d = new_datum(0, MR_DTS_INSERT, "a");
    assert_code(h, &d, "bad_image");
    d = new_datum(0, MR_DTS_INSERT, "aba");
    add_int(&d.after, "1");
    add_int(&d.after, "2");
    add_int(&d.after, "3");
    d.after_count = 3;
    assert_code(h, &d, "bad_image");
    d = new_datum(0, MR_DTS_INSERT, "b");
    put_long(&d.after, 0);
    d.after_count = 1;
    assert_code(h, &d, "no_key");
    d = new_datum(0, MR_DTS_INSERT, "a");
    d.keys_z = "[";
    put_long(&d.after, 0);
    d.after_count = 1;
    assert_code(h, &d, "bad_value");
    d = new_datum(0, MR_DTS_INSERT, "a");
    d.object_z = NULL;
    put_long(&d.after, 0);
    d.after_count = 1;
    assert_code(h, &d, "no_table");
    d = new_datum(0, 17, "a");
    assert_code(h, &d, "corrupt");
    d = new_datum(13, 0, "a");
    assert_code(h, &d, "corrupt");
    d = new_datum(0, 0, "a");
    put_long(&d.after, 13);
    d.after_count = 1;
    assert_code(h, &d, "corrupt");
    d = new_datum(0, 0, "a");
    d.object_z = "\xff.t";
    assert_code(h, &d, "bad_utf8");
    helper_free(h);
}

static void test_every_shorter_and_every_longer_datum_is_refused(void **state)
{
    (void)state;
    struct helper *h = new_helper();
    helper_start(h);
    struct datum d = new_datum(0, MR_DTS_INSERT, "a");
    add_datetime(&d.after, (int32_t[7]){2024, 6, 10, 8, 15, 30, 123});
    d.after_count = 1;
    struct mr_buf b = built(&d);
    d.is_old = true;
    struct mr_buf old = built(&d);
    for (size_t len = 0; len < b.len; len++) {
        if (len == old.len) /* the older schema's */
            continue;
        assert_int_equal(helper_decode_bytes(h, "x", (struct mr_str){NULL, 0}, mr_str_of(b.data, len)),
                         MR_E_DATA);
        assert_string_equal(h->err.code, "truncated");
    }
    mr_buf_append_char(&b, '\0');
    assert_int_equal(helper_decode_bytes(h, "x", (struct mr_str){NULL, 0}, mr_buf_str(&b)), MR_E_DATA);
    assert_string_equal(h->err.code, "trailing_data");
    mr_buf_free(&b);
    mr_buf_free(&old);
    mr_buf_free(&d.after);
    helper_free(h);
}

static void test_lying_lengths_and_endless_numbers_are_refused(void **state)
{
    (void)state;
    struct helper *h = new_helper();
    helper_start(h);
    static const struct {
        const char *bytes;
        size_t len;
        const char *code_z;
    } cases[] = {
        {"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80", 12, "corrupt"}, /* a number without end */
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, "corrupt"},         /* an int of 64 bits */
        {"\x00\x00\x00\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", 13,
         "truncated"},                      /* a text of 2^63 - 1 bytes */
        {"\x00\x00\x00\x01", 4, "corrupt"}, /* a text of minus one */
        {"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02", 12, "truncated"},
        {"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 21,
         "corrupt"}, /* a block of -2^63 */
        {"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x02\x02", 14,
         "truncated"}, /* a block longer than the rest */
        {"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xfe\xff\xff\xff\x0f", 16, "truncated"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(
            helper_decode_bytes(h, "x", (struct mr_str){NULL, 0}, mr_str_of(cases[i].bytes, cases[i].len)),
            MR_E_DATA);
        assert_string_equal(h->err.code, cases[i].code_z);
    }
    helper_free(h);
}

static void test_a_datum_is_recognised_by_reading_it(void **state)
{
    (void)state;
    struct helper *h = helper_with("auto");
    struct datum d = new_datum(0, MR_DTS_INSERT, "a");
    add_int(&d.after, "1");
    d.after_count = 1;
    assert_int_equal(decode(h, &d), MR_OK);
    assert_string_equal(h->facts.format, "dts-avro");
    helper_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_texts_are_read_in_their_character_set),
        cmocka_unit_test(test_dates_and_times_are_told_by_their_members),
        cmocka_unit_test(test_instants),
        cmocka_unit_test(test_the_unit_of_fractions_can_be_set),
        cmocka_unit_test(test_objects_are_told_by_their_word),
        cmocka_unit_test(test_geometries_with_and_without_their_reference_system),
        cmocka_unit_test(test_operations_and_their_images),
        cmocka_unit_test(test_names_of_two_and_three_parts_and_of_shards),
        cmocka_unit_test(test_the_key_is_the_primary_or_the_first_filled_unique_index),
        cmocka_unit_test(test_records_that_contradict_themselves_are_refused),
        cmocka_unit_test(test_every_shorter_and_every_longer_datum_is_refused),
        cmocka_unit_test(test_lying_lengths_and_endless_numbers_are_refused),
        cmocka_unit_test(test_a_datum_is_recognised_by_reading_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
