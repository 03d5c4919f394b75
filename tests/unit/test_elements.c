/* Arrays to elements (array.encoding=table): what the decoders make of whole documents and of partial updates. */
#include "decode_helper.h"

#define INSERT(doc)                                                                                                                        \
    "{\"op\":\"c\",\"before\":null,\"after\":" doc ",\"source\":{\"db\":\"d\",\"table\":\"t\"},\"ts_ms\":1}"
#define MONGO(after, description)                                                                                                          \
    "{\"op\":\"u\",\"before\":null,\"after\":" after ",\"updateDescription\":" description                                                \
    ",\"source\":{\"db\":\"d\",\"collection\":\"c\"},\"ts_ms\":1}"
#define KEY "{\"id\":1}"
#define MONGO_KEY "{\"id\":\"1\"}"

static struct helper *with_tables(void)
{
    struct helper *h = helper_new("debezium");
    h->cfg.array_encoding = MR_ARRAY_TABLE;
    helper_start(h);
    return h;
}

static void test_elements_come_level_by_level_behind_the_length_of_their_array(void **state)
{
    (void)state;
    struct helper *h = with_tables();
    assert_decodes(h, "p.d.t", KEY, INSERT("{\"id\":1,\"a\":[{\"x\":1,\"b\":[2]},3],\"c\":[]}"),
                   "upsert new d.t key(id=1) after(id=1)\n"
                   " length a = 2\n row a @0 (x=1)\n row a @1 (\\value=3)\n length c = 0\n"
                   " length a\\[b @0 = 1\n row a\\[b @0 0 (\\value=2)");
    helper_free(h);
}

static void test_an_array_in_an_array_is_the_elements_value(void **state)
{
    (void)state;
    struct helper *h = with_tables();
    assert_decodes(h, "p.d.t", KEY, INSERT("{\"id\":1,\"a\":[[],null,[5]]}"),
                   "upsert new d.t key(id=1) after(id=1)\n"
                   " length a = 3\n row a @0\n row a @1\n row a @2\n"
                   " length a\\[\\value @0 = 0\n length a\\[\\value @2 = 1\n row a\\[\\value @2 0 (\\value=5)");
    helper_free(h);
}

static void test_paths_lead_through_documents_and_escape_their_dots(void **state)
{
    (void)state;
    struct helper *h = with_tables();
    assert_decodes(h, "p.d.t", KEY, INSERT("{\"id\":1,\"d\":{\"e.f\":[{\"g\":{\"h\":1}}]}}"),
                   "upsert new d.t key(id=1) after(id=1)\n length d.e\\.f = 1\n row d.e\\.f @0 (g.h=1)");
    helper_free(h);
}

static void test_unknown_arrays_are_kept_and_before_images_have_none(void **state)
{
    (void)state;
    struct helper *h = with_tables();
    assert_decodes(h, "p.d.t", KEY,
                   "{\"op\":\"u\",\"before\":{\"id\":2,\"a\":[1]},\"after\":{\"id\":1,\"a\":[\"__debezium_unavailable_value\"]},"
                   "\"source\":{\"db\":\"d\",\"table\":\"t\"},\"ts_ms\":1}",
                   "upsert d.t key(id=1) after(id=1)\n keep a");
    assert_decodes(h, "p.d.t", KEY, /* of whole numbers and of bytes */
                   "{\"op\":\"u\",\"before\":null,\"after\":{\"id\":1,\"a\":[95,95,100,101,98,101,122,105,117,109,95,117,110,97,118,97,105,108,97,"
                   "98,108,101,95,118,97,108,117,101],\"b\":[\"X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==\"],\"c\":[95]},"
                   "\"source\":{\"db\":\"d\",\"table\":\"t\"},\"ts_ms\":1}",
                   "upsert d.t key(id=1) after(id=1)\n keep a\n keep b\n length c = 1\n row c @0 (\\value=95)");
    helper_free(h);
}

static void test_arrays_beyond_eight_stay_json(void **state)
{
    (void)state;
    struct helper *h = with_tables();
    assert_int_equal(helper_decode(h, "p.d.t", KEY, INSERT("{\"id\":1,\"a\":[[[[[[[[[[1]]]]]]]]]]}")), MR_OK);
    assert_non_null(strstr(mr_buf_z(&h->out), "@0 0 0 0 0 0 0 0 (\\value=J[[1]])"));
    helper_free(h);
}

static void test_bson_types_reach_the_elements_and_arrays_of_the_id_do_not(void **state)
{
    (void)state;
    struct helper *h = with_tables();
    assert_int_equal(helper_decode(h, "p.d.c", "{\"id\":\"{\\\"k\\\": [1]}\"}",
                                   MONGO("\"{\\\"_id\\\":{\\\"k\\\":[1]},\\\"a\\\":[{\\\"$date\\\":1000},{\\\"$numberDecimal\\\":\\\"1.50\\\"},"
                                         "{\\\"$undefined\\\":true},{\\\"$oid\\\":\\\"596e275826f08b2730779e1f\\\"}]}\"",
                                         "null")),
                     MR_OK);
    const char *out = mr_buf_z(&h->out);
    assert_null(strstr(out, "length _id"));
    assert_non_null(strstr(out, " length a = 4\n"));
    assert_non_null(strstr(out, ":timestamptz)\n"));
    assert_non_null(strstr(out, ":decimal)\n row a @2\n row a @3 (\\value="));
    helper_free(h);
}

static void test_names_with_positions_are_elements_and_parts_of_them(void **state)
{
    (void)state;
    struct helper *h = with_tables();
    assert_decodes(h, "p.d.c", MONGO_KEY,
                   MONGO("null", "{\"updatedFields\":\"{\\\"a.2.x\\\":5,\\\"a.0\\\":{\\\"t\\\":[7]},\\\"a.1.t.3\\\":8,\\\"b\\\":[9]}\","
                                 "\"removedFields\":[\"a.4\",\"a.5.y\",\"n\"],\"truncatedArrays\":[{\"field\":\"a.6.t\",\"size\":1},{\"field\":\"c\",\"size\":2}]}"),
                   "upsert partial d.c key(_id=1:int64)\n"
                   " cut a\\[t @6 = 1\n cut c = 2\n"
                   " row a @4\n part a @5 without y\n"
                   " part a @2 (x=5:int64) without x\n"
                   " row a @0\n length a\\[t @0 = 1\n row a\\[t @0 0 (\\value=7:int64)\n"
                   " row a\\[t @1 3 (\\value=8:int64)\n"
                   " length b = 1\n row b @0 (\\value=9:int64)");
    helper_free(h);
}

static void test_an_array_set_within_an_element_stands_by_itself(void **state)
{
    (void)state;
    struct helper *h = with_tables();
    assert_decodes(h, "p.d.c", MONGO_KEY, MONGO("null", "{\"updatedFields\":\"{\\\"a.2.t\\\":[1]}\",\"removedFields\":null,\"truncatedArrays\":null}"),
                   "upsert partial d.c key(_id=1:int64)\n part a @2 without t\n length a\\[t @2 = 1\n row a\\[t @2 0 (\\value=1:int64)");
    helper_free(h);
}

static void test_bad_truncations_are_refused(void **state)
{
    (void)state;
    struct helper *h = with_tables();
    static const char *const bad[] = {"{\"field\":\"a\"}", "{\"field\":\"a\",\"size\":-1}", "{\"field\":\"a\",\"size\":1e99}", "7", "{\"size\":1}"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[512];
        snprintf(text, sizeof text, MONGO("null", "{\"updatedFields\":\"{}\",\"removedFields\":null,\"truncatedArrays\":[%s]}"), bad[i]);
        assert_refused(h, "p.d.c", MONGO_KEY, text, "bad_image", "truncatedArrays");
    }
    assert_refused(h, "p.d.c", MONGO_KEY, MONGO("null", "{\"updatedFields\":\"{\\\"a.1.1.1.1.1.1.1.1.1\\\":1}\"}"), "unsupported", "8 arrays");
    helper_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elements_come_level_by_level_behind_the_length_of_their_array),
        cmocka_unit_test(test_an_array_in_an_array_is_the_elements_value),
        cmocka_unit_test(test_paths_lead_through_documents_and_escape_their_dots),
        cmocka_unit_test(test_unknown_arrays_are_kept_and_before_images_have_none),
        cmocka_unit_test(test_arrays_beyond_eight_stay_json),
        cmocka_unit_test(test_bson_types_reach_the_elements_and_arrays_of_the_id_do_not),
        cmocka_unit_test(test_names_with_positions_are_elements_and_parts_of_them),
        cmocka_unit_test(test_an_array_set_within_an_element_stands_by_itself),
        cmocka_unit_test(test_bad_truncations_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
