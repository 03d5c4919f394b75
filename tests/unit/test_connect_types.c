/* Every semantic type of a Connect schema, read through a wrapped row. */
#include "decode_helper.h"

static struct helper *h;

static int start(void **state)
{
    (void)state;
    h = helper_with("flat");
    return 0;
}

static int stop(void **state)
{
    (void)state;
    helper_free(h);
    return 0;
}

/* One field `v` with that schema (members of a schema object, without braces) and that value. */
static void assert_reads(const char *schema_z, const char *value_z, const char *expected_z)
{
    char message[4096], expected[1024];
    snprintf(message, sizeof(message),
             "{\"schema\":{\"type\":\"struct\",\"fields\":[{%s,\"optional\":true,\"field\":\"v\"}]},\"payload\":{\"v\":%s}}",
             schema_z, value_z);
    snprintf(expected, sizeof(expected), "upsert after(v=%s)", expected_z);
    assert_decodes(h, "t", NULL, message, expected);
}

#define NAMED(type, name) "\"type\":\"" type "\",\"name\":\"" name "\",\"version\":1"
#define CONNECT(type, name) NAMED(type, "org.apache.kafka.connect.data." name)
#define DBZ(type, name) NAMED(type, "io.debezium." name)
#define DECIMAL(parameters) CONNECT("bytes", "Decimal") ",\"parameters\":{" parameters "}"
#define SOURCE_TYPE(text) "\"parameters\":{\"__debezium.source.column.type\":\"" text "\""

static void test_integers_keep_their_width_and_int8_becomes_int16(void **state)
{
    (void)state;
    assert_reads("\"type\":\"int8\"", "-128", "-128:int16!");
    assert_reads("\"type\":\"int16\"", "255", "255:int16!");
    assert_reads("\"type\":\"int32\"", "2147483647", "2147483647:int32!");
    assert_reads("\"type\":\"int64\"", "-9223372036854775808", "-9223372036854775808:int64!");
    assert_reads("\"type\":\"int64\"", "\"7\"", "7:int64!");
    assert_reads("\"type\":\"int32\"", "5.0", "5:int32!");
    assert_reads("\"type\":\"int32\"", "null", "null:int32!");
    assert_reads("\"type\":\"int16\"", "32768", "invalid(beyond the range of the declared integer type):int16!");
    assert_reads("\"type\":\"int32\"", "1.5", "invalid(expected a whole number of at most 64 bits):int32!");
    assert_reads("\"type\":\"int64\"", "9223372036854775808", "invalid(expected a whole number of at most 64 bits):int64!");
    assert_reads("\"type\":\"int32\"", "true", "invalid(expected a whole number of at most 64 bits):int32!");
}

static void test_wrapped_unsigned_64_bits_are_put_right_by_the_source_type(void **state)
{
    (void)state;
    assert_reads("\"type\":\"int64\"," SOURCE_TYPE("BIGINT UNSIGNED") "}", "-1", "#18446744073709551615:decimal(20,0)!");
    assert_reads("\"type\":\"int64\"," SOURCE_TYPE("BIGINT UNSIGNED ZEROFILL") "}", "7", "7:decimal(20,0)!");
    assert_reads("\"type\":\"int64\"," SOURCE_TYPE("BIGINT UNSIGNED") "}", "18446744073709551615", "#18446744073709551615:decimal(20,0)!");
    assert_reads("\"type\":\"int64\"," SOURCE_TYPE("BIGINT") "}", "-1", "-1:int64!");
}

static void test_floats_under_both_names_with_their_specials(void **state)
{
    (void)state;
    assert_reads("\"type\":\"float\"", "1.5", "~1.5:float32!");
    assert_reads("\"type\":\"float32\"", "1.5", "~1.5:float32!");
    assert_reads("\"type\":\"double\"", "1e300", "~1.0000000000000001e+300:float64!");
    assert_reads("\"type\":\"float64\"", "\"NaN\"", "~nan:float64!");
    assert_reads("\"type\":\"double\"", "\"-Infinity\"", "~-inf:float64!");
    assert_reads("\"type\":\"float\"", "3.4028235E38", "~3.4028234663852886e+38:float32!");
    assert_reads("\"type\":\"float\"", "1e39", "invalid(beyond the range of a 32-bit float):float32!");
    assert_reads("\"type\":\"double\"", "\"x\"", "invalid(expected a number):float64!");
    assert_reads("\"type\":\"double\"", "[]", "invalid(expected a number):float64!");
}

static void test_booleans_and_texts(void **state)
{
    (void)state;
    assert_reads("\"type\":\"boolean\"", "true", "true:boolean!");
    assert_reads("\"type\":\"boolean\"", "1", "invalid(expected true or false):boolean!");
    assert_reads("\"type\":\"string\"", "\"a\\u00e9\"", "'a\xc3\xa9':text!");
}

static void test_lone_surrogate_in_a_text_is_flagged(void **state)
{
    (void)state;
    assert_reads("\"type\":\"string\"", "\"\\ud800\"", "'\xed\xa0\x80'?2:text!");
}

static void test_bytes_are_base64(void **state)
{
    (void)state;
    assert_reads("\"type\":\"bytes\"", "\"AAECAwT/AA==\"", "x0001020304ff00:bytes!");
    assert_reads("\"type\":\"bytes\"", "\"\"", "x:bytes!");
    assert_reads("\"type\":\"bytes\"", "\"*\"", "invalid(expected bytes as base64 text):bytes!");
    /* text stays text, whatever the source calls it: nothing tells base64 from hexadecimal */
    assert_reads("\"type\":\"string\"," SOURCE_TYPE("VARBINARY") "}", "\"AAEC\"", "'AAEC':text!");
}

static void test_decimals_have_exactly_the_digits_of_their_scale(void **state)
{
    (void)state;
    assert_reads(DECIMAL("\"scale\":\"2\",\"connect.decimal.precision\":\"5\""), "\"AIU=\"", "#1.33:decimal(5,2)!");
    assert_reads(DECIMAL("\"scale\":\"3\",\"connect.decimal.precision\":\"8\""), "\"98E=\"", "#-2.111:decimal(8,3)!");
    assert_reads(DECIMAL("\"scale\":\"18\""), "\"AA==\"", "#0.000000000000000000:decimal!");
    assert_reads(DECIMAL("\"scale\":\"2\",\"connect.decimal.precision\":\"9\""), "12345.6", "#12345.60:decimal(9,2)!");
    assert_reads(DECIMAL("\"scale\":\"2\",\"connect.decimal.precision\":\"9\""), "12", "#12.00:decimal(9,2)!");
    assert_reads(DECIMAL("\"scale\":\"0\",\"connect.decimal.precision\":\"20\""), "\"AP//////////\"", "#18446744073709551615:decimal(20,0)!");
    assert_reads(DECIMAL("\"scale\":\"-2\",\"connect.decimal.precision\":\"20\""), "\"AQ==\"", "#100:decimal!");
    assert_reads(DECIMAL("\"scale\":\"2\",\"connect.decimal.precision\":\"1\""), "\"AQ==\"", "#0.01:decimal!");
    assert_reads(DECIMAL("\"scale\":\"1500\""), "\"AQ==\"", "#1E-1500:decimal!");
    assert_reads(DECIMAL("\"scale\":\"x\""), "\"AQ==\"", "invalid(the schema of this decimal names no scale):decimal!");
    assert_reads(DECIMAL("\"scale\":\"2\""), "\"\"", "invalid(expected the bytes of a decimal number):decimal!");
    assert_reads(DECIMAL("\"scale\":\"2\""), "{}", "invalid(expected a decimal as base64 text):decimal!");
}

static void test_decimals_as_text_are_numbers_where_the_source_type_says_so(void **state)
{
    (void)state;
    assert_reads("\"type\":\"string\"", "\"3.44400\"", "'3.44400':text!");
    assert_reads("\"type\":\"string\"," SOURCE_TYPE("DECIMAL UNSIGNED") ",\"__debezium.source.column.length\":\"8\",\"__debezium.source.column.scale\":\"3\"}",
                 "\"3.4\"", "#3.400:decimal(8,3)!");
    assert_reads("\"type\":\"string\"," SOURCE_TYPE("NUMERIC") "}", "\"NaN\"", "#NaN:decimal!");
    assert_reads("\"type\":\"string\"," SOURCE_TYPE("DECIMAL") "}", "\"x\"", "invalid(expected a decimal number):decimal!");
}

static void test_variable_scale_decimals_are_never_flattened(void **state)
{
    (void)state;
    const char *schema = DBZ("struct", "data.VariableScaleDecimal")
        ",\"fields\":[{\"type\":\"int32\",\"field\":\"scale\"},{\"type\":\"bytes\",\"field\":\"value\"}]";
    assert_reads(schema, "{\"scale\":1,\"value\":\"ew==\"}", "#12.3:decimal!");
    assert_reads(schema, "{\"scale\":16000,\"value\":\"AQ==\"}", "#1E-16000:decimal!");
    assert_reads(schema, "null", "null:decimal!");
    assert_reads(schema, "{\"value\":\"AQ==\"}", "invalid(expected a decimal as scale and value):decimal!");
    assert_reads(schema, "{\"scale\":99999,\"value\":\"AQ==\"}", "invalid(expected a decimal as scale and value):decimal!");
}

static void test_bits_are_reversed_to_exactly_their_length(void **state)
{
    (void)state;
#define BITS(n) DBZ("bytes", "data.Bits") ",\"parameters\":{\"length\":\"" n "\"}"
    assert_reads(BITS("2"), "\"Ag==\"", "b10:bits(2)!");
    assert_reads(BITS("10"), "\"AQI=\"", "b1000000001:bits(10)!");
    assert_reads(BITS("64"), "\"2w5uAQAAAAA=\"", "b0000000000000000000000000000000000000001011011100000111011011011:bits(64)!");
    assert_reads(BITS("12"), "\"AQ==\"", "b000000000001:bits(12)!");
    assert_reads(BITS("2147483647"), "\"AQ==\"", "b00000001:bits!");
    assert_reads(BITS("3"), "\"/w==\"", "invalid(more bits than the schema declares):bits(3)!");
    assert_reads(BITS("60000"), "\"AQ==\"", "invalid(fewer bits than the schema declares):bits(60000)!");
}

static void test_dates_and_times_as_numbers(void **state)
{
    (void)state;
    assert_reads(DBZ("int32", "time.Date"), "17622", "D2018-04-01:date!");
    assert_reads(DBZ("int32", "time.Date"), "-712863", "D0018-04-01:date!");
    assert_reads(DBZ("int32", "time.Date"), "2147483647", "D+inf:date!");
    assert_reads(CONNECT("int32", "Date"), "-1", "D1969-12-31:date!");
    assert_reads(DBZ("int32", "time.Time"), "64264777", "T17:51:04.777000:time!");
    assert_reads(CONNECT("int32", "Time"), "64264777", "T17:51:04.777000:time!");
    assert_reads(DBZ("int64", "time.MicroTime"), "64264777000", "T17:51:04.777000:time!");
    assert_reads(DBZ("int64", "time.NanoTime"), "1999", "T00:00:00.000001:time!");
    assert_reads(DBZ("int64", "time.MicroTime"), "86400000000", "I24:00:00:time!");
    assert_reads(DBZ("int64", "time.MicroTime"), "-3020398999999", "I-838:59:58.999999:time!");
    assert_reads(DBZ("int32", "time.Year"), "2155", "2155:int32!");
    assert_reads(DBZ("int32", "time.Date"), "\"x\"", "invalid(expected a whole number):date!");
}

static void test_timestamps_floor_and_know_infinity(void **state)
{
    (void)state;
    assert_reads(DBZ("int64", "time.Timestamp"), "1529476623000", "2018-06-20T06:37:03:timestamp!");
    assert_reads(DBZ("int64", "time.Timestamp"), "-1", "1969-12-31T23:59:59.999000:timestamp!");
    assert_reads(DBZ("int64", "time.MicroTimestamp"), "1529476623123456", "2018-06-20T06:37:03.123456:timestamp!");
    assert_reads(DBZ("int64", "time.NanoTimestamp"), "-1", "1969-12-31T23:59:59.999999:timestamp!");
    assert_reads(CONNECT("int64", "Timestamp"), "1580122032311", "2020-01-27T10:47:12.311000Z:timestamptz!");
    assert_reads(DBZ("int64", "time.MicroTimestamp"), "9223372036825200000", "+inf:timestamp!");
    assert_reads(DBZ("int64", "time.Timestamp"), "-9223372036832400000", "-inf:timestamp!");
    assert_reads(DBZ("int64", "time.Timestamp"), "9223372036854775807", "range(beyond the range of timestamps):timestamp!");
}

static void test_temporal_texts(void **state)
{
    (void)state;
    assert_reads(DBZ("string", "time.ZonedTimestamp"), "\"2014-09-08T17:51:04.78-05:00\"", "2014-09-08T22:51:04.780000Z:timestamptz!");
    assert_reads(DBZ("string", "time.ZonedTimestamp"), "\"infinity\"", "+inf:timestamptz!");
    assert_reads(DBZ("string", "time.ZonedTimestamp"), "\"soon\"", "invalid(expected a timestamp with zone):timestamptz!");
    assert_reads(DBZ("string", "time.ZonedTime"), "\"10:15:30Z\"", "T10:15:30:time!");
    assert_reads(DBZ("string", "time.ZonedTime"), "\"00:15:30+01:00\"", "T23:15:30:time!");
    assert_reads(DBZ("string", "time.IsoDate"), "\"2017-09-15Z\"", "D2017-09-15:date!");
    assert_reads(DBZ("string", "time.IsoTime"), "\"04:05:11.789Z\"", "T04:05:11.789000:time!");
    assert_reads(DBZ("string", "time.IsoTimestamp"), "\"2019-07-09T02:28:57.123456Z\"", "2019-07-09T02:28:57.123456:timestamp!");
    assert_reads(DBZ("string", "time.IsoDate"), "17", "invalid(expected a text):date!");
}

static void test_temporal_structs_and_zero_dates(void **state)
{
    (void)state;
    assert_reads(DBZ("struct", "time.StructuredDate") ",\"fields\":[]", "{\"year\":2020,\"month\":2,\"day\":29}", "D2020-02-29:date!");
    assert_reads(DBZ("struct", "time.StructuredDate") ",\"fields\":[]", "{\"year\":0,\"month\":0,\"day\":0}", "null:date!");
    assert_reads(DBZ("struct", "time.StructuredDate") ",\"fields\":[]", "{\"year\":2021,\"month\":2,\"day\":29}", "invalid(no date of the calendar):date!");
    assert_reads(DBZ("struct", "time.StructuredDuration") ",\"fields\":[]", "{\"hours\":-838,\"minutes\":-59,\"seconds\":-58,\"nanos\":-999999000}", "I-838:59:58.999999:time!");
    assert_reads(DBZ("struct", "time.StructuredDuration") ",\"fields\":[]", "{\"years\":1}", "range(a duration of months or years has no fixed length):time!");
    assert_reads(DBZ("struct", "time.StructuredTimestamp") ",\"fields\":[]",
                 "{\"year\":2018,\"month\":6,\"day\":20,\"hour\":6,\"minute\":37,\"second\":3,\"nanos\":123456789,\"precision\":6}",
                 "2018-06-20T06:37:03.123456:timestamp!");
    assert_reads(DBZ("struct", "time.StructuredZonedTimestamp") ",\"fields\":[]",
                 "{\"year\":2018,\"month\":6,\"day\":20,\"hour\":6,\"minute\":0,\"second\":0,\"nanos\":0,\"offsetSeconds\":7200,\"zoneId\":\"x\"}",
                 "2018-06-20T04:00:00Z:timestamptz!");
}

static void test_durations_are_numbers_and_intervals_text(void **state)
{
    (void)state;
    assert_reads(DBZ("int64", "time.MicroDuration"), "-1000000", "I-00:00:01:duration!");
    assert_reads(DBZ("double", "time.MicroDuration"), "2000000.0", "I00:00:02:duration!");
    assert_reads(DBZ("int64", "time.NanoDuration"), "1000000000", "I00:00:01:duration!");
    assert_reads(DBZ("string", "time.Interval"), "\"P1Y2M\"", "'P1Y2M':text!");
}

static void test_enum_labels_are_unescaped_only_if_that_gives_a_label(void **state)
{
    (void)state;
#define ENUM(allowed) DBZ("string", "data.Enum") ",\"parameters\":{\"allowed\":\"" allowed "\"}"
    assert_reads(ENUM("b,a,c\\\\,d"), "\"c\\\\,d\"", "'c,d':text!");
    assert_reads(ENUM("b,a,c\\\\,d"), "\"c,d\"", "'c,d':text!");
    assert_reads(ENUM("a\\\\\\\\,b"), "\"a\\\\\"", "'a\\':text!"); /* a label that is itself escaped-looking stays */
    assert_reads(ENUM("x,y"), "\"q\\\\,r\"", "'q\\,r':text!");
    assert_reads(ENUM("x,y"), "\"\"", "'':text!");
    assert_reads(DBZ("string", "data.EnumSet") ",\"parameters\":{\"allowed\":\"a,b\"}", "\"a,b\"", "'a,b':text!");
}

static void test_json_columns_are_checked_compacted_and_never_flattened(void **state)
{
    (void)state;
    assert_reads(DBZ("string", "data.Json"), "\"{\\\"k\\\": [1, 2.50, null]}\"", "J{\"k\":[1,2.50,null]}:json!");
    assert_reads(DBZ("string", "data.Json"), "\"null\"", "Jnull:json!");
    assert_reads(DBZ("string", "data.Json"), "\"{\"", "invalid(the text of a JSON column is not JSON):json!");
    assert_reads(DBZ("string", "data.Json"), "{}", "invalid(expected JSON as text):json!");
}

static void test_uuid_xml_and_unknown_names(void **state)
{
    (void)state;
    assert_reads(DBZ("string", "data.Uuid"), "\"123E4567-E89B-12D3-A456-426614174000\"", "U123e4567-e89b-12d3-a456-426614174000:uuid!");
    assert_reads(DBZ("string", "data.Uuid"), "\"x\"", "invalid(expected a UUID):uuid!");
    assert_reads(DBZ("string", "data.Xml"), "\"<a/>\"", "'<a/>':text!");
    assert_reads(NAMED("int32", "com.example.Thing"), "5", "5:int32!");
    assert_reads(DBZ("string", "time.Date"), "\"5\"", "'5':text!"); /* a name on the wrong type says nothing */
    assert_reads("\"type\":\"decimal128\"", "[1]", "J[1]");
}

static void test_geometry_keeps_wkb_and_srid_in_one_document(void **state)
{
    (void)state;
    assert_reads(DBZ("struct", "data.geometry.Geometry") ",\"fields\":[{\"type\":\"bytes\",\"field\":\"wkb\"},{\"type\":\"int32\",\"field\":\"srid\"}]",
                 "{\"wkb\":\"AQEAAAA=\",\"srid\":4326}", "J{\"wkb\":\"AQEAAAA=\",\"srid\":4326}:json!");
    assert_reads(DBZ("struct", "data.geometry.Point") ",\"fields\":[]", "{\"x\":1}", "invalid(expected a geometry with its wkb):json!");
    assert_reads(DBZ("struct", "data.geometry.Geography") ",\"fields\":[]", "null", "null:json!");
}

static void test_vectors_arrays_and_maps_are_one_document(void **state)
{
    (void)state;
    assert_reads(DBZ("array", "data.FloatVector") ",\"items\":{\"type\":\"float\"}", "[0.0, 1.5]", "J[0.0,1.5]:json!");
    assert_reads("\"type\":\"array\",\"items\":{\"type\":\"string\"}", "[\"a\"]", "J[\"a\"]:json!");
    assert_reads("\"type\":\"map\",\"keys\":{\"type\":\"string\"},\"values\":{\"type\":\"int32\"}", "{\"a\":1}", "J{\"a\":1}:json!");
}

#define STRUCT "\"type\":\"struct\",\"fields\":[{\"type\":\"int32\",\"field\":\"a\"},{\"type\":\"struct\",\"fields\":[{\"type\":\"string\",\"field\":\"c\"}],\"field\":\"b\"}]"

#define WRAPPED(value) "{\"schema\":{\"type\":\"struct\",\"fields\":[{" STRUCT ",\"field\":\"v\"}]},\"payload\":{\"v\":" value "}}"

static void test_structs_are_flattened_and_a_null_one_nulls_all_its_columns(void **state)
{
    (void)state;
    assert_decodes(h, "t", NULL, WRAPPED("{\"a\":1,\"b\":{\"c\":\"x\"}}"), "upsert after(v.a=1:int32! v.b.c='x':text!)");
    assert_decodes(h, "t", NULL, WRAPPED("{\"a\":1,\"b\":null}"), "upsert after(v.a=1:int32! v.b.c=null:text!)");
    assert_decodes(h, "t", NULL, WRAPPED("null"), "upsert after(v.a=null:int32! v.b.c=null:text!)");

    struct helper *whole = helper_new("flat");
    whole->cfg.flatten_struct = false;
    helper_start(whole);
    assert_decodes(whole, "t", NULL, WRAPPED("{\"a\":1,\"b\":null}"), "upsert after(v=J{\"a\":1,\"b\":null}:json!)");
    assert_decodes(whole, "t", NULL, WRAPPED("null"), "upsert after(v=null:json!)");
    helper_free(whole);
}

static void test_nul_in_a_text_is_flagged(void **state)
{
    (void)state;
    assert_int_equal(helper_decode(h, "t", NULL,
                                   "{\"schema\":{\"type\":\"struct\",\"fields\":[{\"type\":\"string\",\"field\":\"v\"}]},"
                                   "\"payload\":{\"v\":\"\\u0000\"}}"),
                     MR_OK);
    static const char expected[] = "upsert after(v=''?1:text!)";
    assert_string_equal(mr_buf_z(&h->out), expected);
}

static void test_placeholder_is_recognised_in_every_disguise(void **state)
{
    (void)state;
#define P "__debezium_unavailable_value"
#define P_NUMBERS "[95,95,100,101,98,101,122,105,117,109,95,117,110,97,118,97,105,108,97,98,108,101,95,118,97,108,117,101]"
#define P64 "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="
    assert_reads("\"type\":\"string\"", "\"" P "\"", "unavailable:text!");
    assert_reads("\"type\":\"string\"", "\"" P64 "\"", "unavailable:text!");
    assert_reads("\"type\":\"string\"", "\"5f5f646562657a69756d5f756e617661696c61626c655f76616c7565\"", "unavailable:text!");
    assert_reads("\"type\":\"bytes\"", "\"" P64 "\"", "unavailable:bytes!");
    assert_reads(DBZ("string", "data.Json"), "\"" P "\"", "unavailable:json!");
    assert_reads(DBZ("string", "data.Json"), "\"\\\"" P "\\\"\"", "unavailable:json!");
    assert_reads("\"type\":\"array\",\"items\":{\"type\":\"string\"}", "[\"" P "\"]", "unavailable:json!");
    assert_reads("\"type\":\"array\",\"items\":{\"type\":\"bytes\"}", "[\"" P64 "\"]", "unavailable:json!");
    assert_reads("\"type\":\"array\",\"items\":{\"type\":\"int64\"}", P_NUMBERS, "unavailable:json!");
    assert_reads("\"type\":\"array\",\"items\":{" DBZ("string", "data.Uuid") "}", "[\"b68a35a7-17ad-35b3-af2a-ae46edb4545a\"]", "unavailable:json!");
    assert_reads("\"type\":\"array\",\"items\":{" DBZ("int32", "time.Date") "}", P_NUMBERS, "unavailable:json!");
    assert_reads("\"type\":\"array\",\"items\":{\"type\":\"int32\"}", "[95,95]", "J[95,95]:json!");
    assert_reads("\"type\":\"array\",\"items\":{\"type\":\"string\"}", "[\"" P "\",\"a\"]", "J[\"" P "\",\"a\"]:json!");
    assert_reads(DECIMAL("\"scale\":\"2\""), "\"" P64 "\"", "unavailable:decimal!");
    /* without a schema: the exact text, its base64, or an array of nothing else */
    assert_decodes(h, "t", NULL, "{\"a\":\"" P "\",\"b\":\"" P64 "\",\"c\":[\"" P "\"],\"d\":\"x" P "\",\"e\":{\"f\":\"" P "\"},\"g\":" P_NUMBERS "}",
                   "upsert after(a=unavailable b=unavailable c=unavailable d='x" P "' e.f=unavailable g=unavailable)");
}

static void test_not_null_is_kept_as_information(void **state)
{
    (void)state;
    assert_decodes(h, "t", NULL,
                   "{\"schema\":{\"type\":\"struct\",\"fields\":[{\"type\":\"int32\",\"optional\":false,\"field\":\"a\"}]},\"payload\":{\"a\":null}}",
                   "upsert after(a=null:int32!)");
}

static void test_hostile_schemas_are_survived(void **state)
{
    (void)state;
    struct mr_buf buf = MR_BUF_INIT(1 << 20);
    for (int i = 0; i < 90; i++)
        mr_buf_append_z(&buf, "{\"type\":\"array\",\"items\":");
    mr_buf_append_z(&buf, "1");
    for (int i = 0; i < 90; i++)
        mr_buf_append_char(&buf, '}');
    struct mr_buf message = MR_BUF_INIT(1 << 20);
    mr_buf_printf(&message, "{\"schema\":{\"type\":\"struct\",\"fields\":[{\"type\":7},9,null,{\"type\":\"struct\",\"fields\":{},\"field\":\"a\"},%s]},\"payload\":{\"a\":{\"b\":1},\"\":2}}",
                  mr_buf_z(&buf));
    assert_int_equal(helper_decode(h, "t", NULL, mr_buf_z(&message)), MR_OK);
    mr_buf_free(&buf);
    mr_buf_free(&message);
    assert_decodes(h, "t", NULL, "{\"schema\":{\"type\":\"int32\"},\"payload\":{\"a\":1}}", "upsert after(a=1)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers_keep_their_width_and_int8_becomes_int16),
        cmocka_unit_test(test_wrapped_unsigned_64_bits_are_put_right_by_the_source_type),
        cmocka_unit_test(test_floats_under_both_names_with_their_specials),
        cmocka_unit_test(test_booleans_and_texts),
        cmocka_unit_test(test_nul_in_a_text_is_flagged),
        cmocka_unit_test(test_lone_surrogate_in_a_text_is_flagged),
        cmocka_unit_test(test_bytes_are_base64),
        cmocka_unit_test(test_decimals_have_exactly_the_digits_of_their_scale),
        cmocka_unit_test(test_decimals_as_text_are_numbers_where_the_source_type_says_so),
        cmocka_unit_test(test_variable_scale_decimals_are_never_flattened),
        cmocka_unit_test(test_bits_are_reversed_to_exactly_their_length),
        cmocka_unit_test(test_dates_and_times_as_numbers),
        cmocka_unit_test(test_timestamps_floor_and_know_infinity),
        cmocka_unit_test(test_temporal_texts),
        cmocka_unit_test(test_temporal_structs_and_zero_dates),
        cmocka_unit_test(test_durations_are_numbers_and_intervals_text),
        cmocka_unit_test(test_enum_labels_are_unescaped_only_if_that_gives_a_label),
        cmocka_unit_test(test_json_columns_are_checked_compacted_and_never_flattened),
        cmocka_unit_test(test_uuid_xml_and_unknown_names),
        cmocka_unit_test(test_geometry_keeps_wkb_and_srid_in_one_document),
        cmocka_unit_test(test_vectors_arrays_and_maps_are_one_document),
        cmocka_unit_test(test_structs_are_flattened_and_a_null_one_nulls_all_its_columns),
        cmocka_unit_test(test_placeholder_is_recognised_in_every_disguise),
        cmocka_unit_test(test_not_null_is_kept_as_information),
        cmocka_unit_test(test_hostile_schemas_are_survived),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
