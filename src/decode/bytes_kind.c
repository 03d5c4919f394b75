/* First bytes of messages that are no JSON. See bytes_kind.h. */
#include "bytes_kind.h"

const char *mr_bytes_kind(struct mr_str bytes)
{
    static const struct {
        struct mr_str start;
        const char *kind;
    } kinds[] = {
        {{"\xc3\x01", 2}, "Avro in single-object encoding"},
        {{"Obj\x01", 4}, "an Avro container file"},
        {{"\x1f\x8b", 2}, "compressed as a whole (gzip)"},
        {{"\x28\xb5\x2f\xfd", 4}, "compressed as a whole (zstd)"},
        {{"\x04\x22\x4d\x18", 4}, "compressed as a whole (LZ4)"},
        {{"\xff\x06\x00\x00sNaPpY", 10}, "compressed as a whole (Snappy)"},
    };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (mr_str_starts(bytes, kinds[i].start))
            return kinds[i].kind;
    }
    if (bytes.len == 0 || bytes.ptr[0] != 0)
        return NULL;

    /* A schema id is small, so its first byte is nearly always 0; a DTS record's second field is a long, whose first byte is not. */
    if (bytes.len >= 6 && bytes.ptr[1] != 0)
        return "Alibaba DTS Avro, or schema-registry framing with a large id";
    return "schema-registry framing (Avro, Protobuf or JSON Schema)";
}
