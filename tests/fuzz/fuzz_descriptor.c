/* Protobuf's serialized schemas: the input is the descriptor's length in two bytes (little-endian), the descriptor, and a framed message (indexes
 * and data). The first bit of the length says whether the entries of maps take an index. */
#include <stdlib.h>

#include <millrace/base/mem.h>

#include "decode/proto.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static enum mr_status read_row(struct mr_proto *p, struct mr_str bytes, struct mr_error *err)
{
    static char placeholder[] = "__debezium_unavailable_value";
    struct mr_config cfg = {
        .unavailable_placeholder = placeholder, .max_depth = 64, .max_message_bytes = 1 << 20};
    struct mr_connect *cn = mr_connect_create(&cfg);
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_json_build build;
    struct mr_json_doc doc;
    struct mr_proto_message *msg;
    struct mr_field_list list = {0};
    mr_json_build_init(&build, 1 << 20);
    enum mr_status status = mr_proto_message_of(p, &bytes, false, &msg, err);
    if (status == MR_OK)
        status = mr_proto_read(msg, bytes, false, &build, err);
    if (status == MR_OK)
        status = mr_json_build_finish(&build, ar, &doc, err);
    if (status == MR_OK)
        mr_connect_row(cn, mr_proto_connect(p, msg), &doc, 0, MR_STR(""), ar, &list);
    mr_json_build_free(&build);
    mr_arena_destroy(ar);
    mr_connect_destroy(cn);
    return status;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    if (size < 2)
        return 0;
    size_t len = (size_t)data[0] | (size_t)data[1] << 8;
    len = len > size - 2 ? size - 2 : len;
    struct mr_proto *p = mr_proto_create();
    struct mr_error err = {0};
    enum mr_status status = mr_proto_add_descriptor(p, MR_STR(""), mr_str_of((const char *)data + 2, len),
                                                    (data[0] & 1) != 0, &err);
    if (status == MR_OK)
        status = mr_proto_link(p, &err);
    if (status == MR_OK)
        status = read_row(p, mr_str_of((const char *)data + 2 + len, size - 2 - len), &err);
    require(status == MR_OK || (status == MR_E_DATA && err.code[0] != 0));
    mr_proto_destroy(p);
    return 0;
}
