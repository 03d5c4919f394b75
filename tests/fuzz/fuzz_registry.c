/* What comes from a registry and is no schema of Avro or Protobuf: answers, and JSON schemas. Also declared columns and the two formats that
 * know only bytes; the input is then a declaration, the byte FF, and a key. */
#include <stdlib.h>

#include <millrace/base/mem.h>

#include "decode/columns.h"
#include "decode/json_schema.h"
#include "decode/registry_reply.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void read_columns(struct mr_str text, struct mr_str key, enum mr_encoding encoding,
                         struct mr_arena *ar)
{
    struct mr_columns cols;
    struct mr_error err = {0};
    struct mr_json_build build;
    struct mr_json_doc doc;
    if (mr_columns_parse(text, encoding, true, ar, &cols, &err) != MR_OK || cols.count == 0)
        return;
    mr_json_build_init(&build, 1 << 20);
    mr_json_build_open(&build, MR_J_OBJECT);
    enum mr_status status = encoding == MR_ENC_KAFKA
                                ? mr_columns_kafka(&cols, key, &build, &err)
                                : mr_columns_delimited(&cols, MR_STR(";"), key, ar, &build, &err);
    mr_json_build_close(&build);
    if (status == MR_OK)
        status = mr_json_build_finish(&build, ar, &doc, &err);
    require(status == MR_OK || (status == MR_E_DATA && err.code[0] != 0));
    mr_json_build_free(&build);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct mr_str text = mr_str_of((const char *)data, size);
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_error err = {0};
    struct mr_schema_reply reply;
    int64_t code;
    struct mr_str message;
    enum mr_status status = mr_registry_read_reply(text, false, ar, &reply, &err);
    require(status == MR_OK || status == MR_E_ENV || status == MR_E_DATA);
    mr_registry_read_error(text, ar, &code, &message);
    struct mr_json_schema *s = mr_json_schema_create(ar);
    if (mr_json_schema_add(s, MR_STR(""), status == MR_OK ? reply.text : text, &err) == MR_OK)
        require(mr_json_schema_connect(s, (size & 1) != 0) != NULL);
    mr_json_schema_destroy(s);
    const unsigned char *stop = size == 0 ? NULL : memchr(data, 0xff, size);
    if (stop != NULL) {
        struct mr_str head = mr_str_of(text.ptr, (size_t)(stop - data));
        struct mr_str key = mr_str_of((const char *)stop + 1, size - head.len - 1);
        read_columns(head, key, MR_ENC_KAFKA, ar);
        read_columns(head, key, MR_ENC_DELIMITED, ar);
    }
    mr_arena_destroy(ar);
    return 0;
}
