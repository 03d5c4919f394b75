/* Avro: the input is a schema's text, the byte FF (which stands in no JSON text), and a datum. Whatever can be read must become a row by the
 * schema, and the document that was built must be what the JSON reader makes of its text. */
#include <stdlib.h>

#include <millrace/base/mem.h>

#include "decode/avro.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void same_as_parsed(const struct mr_json_doc *built)
{
    struct mr_json_limits limits = {.max_depth = 1000, .max_bytes = 64u << 20, .allow_ill_formed = true};
    struct mr_json_reader *reader = mr_json_reader_create(&limits);
    struct mr_json_doc parsed;
    require(mr_json_parse(reader, built->text, &parsed, NULL) == MR_OK);
    require(parsed.node_count == built->node_count);
    for (uint32_t i = 0; i < parsed.node_count; i++) {
        const struct mr_json_node *a = &parsed.nodes[i], *b = &built->nodes[i];
        require(a->kind == b->kind && a->count == b->count && a->next == b->next && a->offset == b->offset &&
                a->len == b->len);
    }
    mr_json_reader_destroy(reader);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static char placeholder[] = "__debezium_unavailable_value";
    const unsigned char *stop = size == 0 ? NULL : memchr(data, 0xff, size);
    struct mr_str text = mr_str_of((const char *)data, stop == NULL ? size : (size_t)(stop - data));
    struct mr_str datum = stop == NULL ? MR_STR("") : mr_str_of((const char *)stop + 1, size - text.len - 1);
    struct mr_config cfg = {.flatten_struct = (size & 1) != 0,
                            .unavailable_placeholder = placeholder,
                            .max_depth = 64,
                            .max_message_bytes = 1 << 20};
    struct mr_avro_limits limits = {.max_depth = 64, .max_items = 1000, .allow_ill_formed = (size & 2) != 0};
    struct mr_avro_schema *schema = mr_avro_schema_create();
    struct mr_error err = {0};
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_json_build build;
    struct mr_json_doc doc;
    mr_json_build_init(&build, 1 << 20);
    enum mr_status status = mr_avro_schema_parse(schema, text, &err);
    if (status == MR_OK) {
        struct mr_connect *cn = mr_connect_create(&cfg);
        const struct mr_connect_schema *connect = mr_avro_connect(schema);
        status = mr_avro_read(schema, datum, &limits, &build, &err);
        if (status == MR_OK)
            status = mr_json_build_finish(&build, ar, &doc, &err);
        if (status == MR_OK) {
            struct mr_field_list list = {0};
            same_as_parsed(&doc);
            mr_connect_member(cn, connect, &doc, 0, MR_STR("v"), ar, &list);
            mr_connect_row(cn, connect, &doc, 0, MR_STR(""), ar, &list);
        }
        mr_connect_destroy(cn);
    }
    require(status == MR_OK || (status == MR_E_DATA && err.code[0] != 0));
    mr_json_build_free(&build);
    mr_arena_destroy(ar);
    mr_avro_schema_destroy(schema);
    return 0;
}
