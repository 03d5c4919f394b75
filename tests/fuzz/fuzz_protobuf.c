/* Protobuf: the input is a .proto text, the byte FF, and a framed message (indexes and data). */
#include <stdlib.h>

#include <millrace/base/mem.h>

#include "decode/proto.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static char placeholder[] = "__debezium_unavailable_value";
    const unsigned char *stop = size == 0 ? NULL : memchr(data, 0xff, size);
    struct mr_str text = mr_str_of((const char *)data, stop == NULL ? size : (size_t)(stop - data));
    struct mr_str bytes = stop == NULL ? MR_STR("") : mr_str_of((const char *)stop + 1, size - text.len - 1);
    struct mr_config cfg = {.flatten_struct = (size & 1) != 0,
                            .unavailable_placeholder = placeholder,
                            .max_depth = 64,
                            .max_message_bytes = 1 << 20};
    struct mr_proto *p = mr_proto_create();
    struct mr_proto_message *msg;
    struct mr_error err = {0};
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_json_build build;
    struct mr_json_doc doc;
    mr_json_build_init(&build, 1 << 20);
    enum mr_status status = mr_proto_add(p, MR_STR(""), text, &err);
    if (status == MR_OK)
        status = mr_proto_link(p, &err);
    if (status == MR_OK)
        status = mr_proto_message_of(p, &bytes, false, &msg, &err);
    if (status == MR_OK) {
        struct mr_connect *cn = mr_connect_create(&cfg);
        const struct mr_connect_schema *connect = mr_proto_connect(p, msg);
        status = mr_proto_read(msg, bytes, (size & 2) != 0, &build, &err);
        if (status == MR_OK)
            status = mr_json_build_finish(&build, ar, &doc, &err);
        if (status == MR_OK) {
            struct mr_field_list list = {0};
            mr_connect_row(cn, connect, &doc, 0, MR_STR(""), ar, &list);
        }
        mr_connect_destroy(cn);
    }
    require(status == MR_OK || (status == MR_E_DATA && err.code[0] != 0));
    mr_json_build_free(&build);
    mr_arena_destroy(ar);
    mr_proto_destroy(p);
    return 0;
}
