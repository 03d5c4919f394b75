/* Framings. See payload_frame.h. */
#include "payload_frame.h"

#define ID_BYTES 5
#define GUID_BYTES 17

/* The last header of the name counts. */
static const struct mr_header *header_of(const struct mr_record *rec, enum mr_connect_side side)
{
    const char *name_z = side == MR_SIDE_KEY ? "__key_schema_id" : "__value_schema_id";
    for (size_t i = rec->header_count; i-- > 0;)
        if (mr_str_eq_z(rec->headers[i].name, name_z) && !rec->headers[i].is_null)
            return &rec->headers[i];
    return NULL;
}

static enum mr_status bad_magic(struct mr_str bytes, struct mr_error *err)
{
    const unsigned char *b = (const unsigned char *)bytes.ptr;
    const char *what_z =
        bytes.len > 1 && b[0] == 0xc3 && b[1] == 0x01   ? ", it is Avro's single-object encoding"
        : bytes.len > 3 && memcmp(b, "Obj\x01", 4) == 0 ? ", it is an Avro container file"
        : b[0] == '{' || b[0] == '[' || b[0] == '"' || b[0] == ' ' || (b[0] >= '0' && b[0] <= '9')
            ? ", it looks like plain JSON"
            : "";
    return mr_fail_data(err, MR_CODE_BAD_MAGIC,
                        "no framing of a schema registry: it begins with the byte %02x%s", b[0], what_z);
}

/* Id or GUID in front; *used: its bytes. */
static enum mr_status read_prefix(struct mr_str bytes, struct mr_frame *out, size_t *used,
                                  struct mr_error *err)
{
    const unsigned char *b = (const unsigned char *)bytes.ptr;
    if (bytes.len == 0)
        return mr_fail_data(err, MR_CODE_TRUNCATED, "there are no bytes, not even a schema's id");
    if (b[0] > 1)
        return bad_magic(bytes, err);
    *used = b[0] == 0 ? ID_BYTES : GUID_BYTES;
    if (bytes.len < *used)
        return mr_fail_data(err, MR_CODE_TRUNCATED, "it ends inside the schema's id");
    out->is_guid = b[0] == 1;
    if (out->is_guid)
        memcpy(out->guid, b + 1, sizeof(out->guid));
    else
        out->id = (uint32_t)b[1] << 24 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 8 | b[4];
    return MR_OK;
}

enum mr_status mr_frame_read(const struct mr_record *rec, enum mr_connect_side side, struct mr_str bytes,
                             struct mr_frame *out, struct mr_error *err)
{
    const struct mr_header *header = header_of(rec, side);
    size_t used;
    *out = (struct mr_frame){0};
    if (header != NULL) {
        MR_TRY(read_prefix(header->value, out, &used, err));
        out->payload = bytes;
        return MR_OK;
    }
    MR_TRY(read_prefix(bytes, out, &used, err));
    out->payload = mr_str_of(bytes.ptr + used, bytes.len - used);
    return MR_OK;
}

bool mr_frame_sniff(const struct mr_record *rec, enum mr_connect_side side, struct mr_str bytes)
{
    if (header_of(rec, side) != NULL)
        return true;
    return (bytes.len >= ID_BYTES && bytes.ptr[0] == 0) || (bytes.len >= GUID_BYTES && bytes.ptr[0] == 1);
}
