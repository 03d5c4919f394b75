/* Framings. See payload_frame.h. */
#include "payload_frame.h"

#include <millrace/base/encode.h>

#define GUID_BYTES 17

/* The last header of the name counts. */
static const struct mr_header *header_named(const struct mr_record *rec, const char *name_z)
{
    for (size_t i = rec->header_count; i-- > 0;)
        if (mr_str_eq_z(rec->headers[i].name, name_z) && !rec->headers[i].is_null)
            return &rec->headers[i];
    return NULL;
}

static const struct mr_header *header_of(const struct mr_record *rec, enum mr_connect_side side)
{
    return header_named(rec, side == MR_SIDE_KEY ? "__key_schema_id" : "__value_schema_id");
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

static uint64_t number_at(const char *bytes, size_t count)
{
    uint64_t v = 0;
    for (size_t i = 0; i < count; i++)
        v = v << 8 | (unsigned char)bytes[i];
    return v;
}

/* Id or GUID in front; *used: its bytes. */
static enum mr_status read_prefix(struct mr_str bytes, size_t id_bytes, struct mr_frame *out, size_t *used,
                                  struct mr_error *err)
{
    const unsigned char *b = (const unsigned char *)bytes.ptr;
    if (bytes.len == 0)
        return mr_fail_data(err, MR_CODE_TRUNCATED, "there are no bytes, not even a schema's id");
    if (b[0] > 1)
        return bad_magic(bytes, err);
    *used = b[0] == 0 ? 1 + id_bytes : GUID_BYTES;
    if (bytes.len < *used)
        return mr_fail_data(err, MR_CODE_TRUNCATED, "it ends inside the schema's id");
    out->by = b[0] == 1 ? MR_BY_GUID : MR_BY_ID;
    if (out->by == MR_BY_GUID)
        memcpy(out->guid, b + 1, sizeof(out->guid));
    else
        out->id = number_at(bytes.ptr + 1, id_bytes);
    return MR_OK;
}

/* Apicurio's own headers: eight bytes of an id. */
static const struct mr_header *apicurio_header(const struct mr_framing *how, const struct mr_record *rec,
                                               enum mr_connect_side side, enum mr_frame_by *by)
{
    if (!how->has_apicurio_headers)
        return NULL;
    bool is_key = side == MR_SIDE_KEY;
    const struct mr_header *header =
        header_named(rec, is_key ? "apicurio.key.contentId" : "apicurio.value.contentId");
    *by = MR_BY_CONTENT;
    if (header != NULL)
        return header;
    *by = MR_BY_GLOBAL;
    return header_named(rec, is_key ? "apicurio.key.globalId" : "apicurio.value.globalId");
}

enum mr_status mr_frame_read(const struct mr_framing *how, const struct mr_record *rec,
                             enum mr_connect_side side, struct mr_str bytes, struct mr_frame *out,
                             struct mr_error *err)
{
    const struct mr_header *header = how->is_bare ? NULL : header_of(rec, side);
    size_t used = 0, id_bytes = how->has_long_ids ? 8 : 4;
    enum mr_frame_by by;
    *out = how->is_bare ? how->named : (struct mr_frame){0};
    out->payload = bytes;
    if (how->is_bare)
        return MR_OK;
    if (header != NULL) { /* message indexes stand there, too, behind the id */
        MR_TRY(read_prefix(header->value, id_bytes, out, &used, err));
        out->has_indexes = true;
        out->indexes = mr_str_of(header->value.ptr + used, header->value.len - used);
        return MR_OK;
    }
    header = apicurio_header(how, rec, side, &by);
    if (header != NULL) {
        if (header->value.len != 8)
            return mr_fail_data(err, MR_CODE_TRUNCATED,
                                "Apicurio's header with the schema's id has %zu bytes, not 8",
                                header->value.len);
        out->by = by;
        out->id = number_at(header->value.ptr, 8);
        out->type = how->type;
        return MR_OK;
    }
    MR_TRY(read_prefix(bytes, id_bytes, out, &used, err));
    out->payload = mr_str_of(bytes.ptr + used, bytes.len - used);
    return MR_OK;
}

bool mr_frame_sniff(const struct mr_framing *how, const struct mr_record *rec, enum mr_connect_side side,
                    struct mr_str bytes)
{
    enum mr_frame_by by;
    size_t id_bytes = how->has_long_ids ? 8 : 4;
    if (header_of(rec, side) != NULL || apicurio_header(how, rec, side, &by) != NULL)
        return true;
    return (bytes.len >= 1 + id_bytes && bytes.ptr[0] == 0) || (bytes.len >= GUID_BYTES && bytes.ptr[0] == 1);
}

void mr_frame_append_key(const struct mr_frame *frame, struct mr_buf *out)
{
    mr_buf_append_char(out, (char)('a' + frame->by));
    if (frame->by == MR_BY_GUID)
        mr_buf_append(out, frame->guid, sizeof(frame->guid));
    else if (frame->by == MR_BY_FILE)
        mr_buf_append_str(out, frame->files);
    else
        mr_buf_append(out, &frame->id, sizeof(frame->id));
    if (frame->by >= MR_BY_FILE)
        mr_buf_append_char(out, (char)frame->type);
}

void mr_frame_append_name(const struct mr_frame *frame, struct mr_buf *out)
{
    char guid[37];
    mr_uuid_format(frame->guid, guid);
    if (frame->by == MR_BY_GUID)
        mr_buf_append_z(out, guid);
    else if (frame->by == MR_BY_FILE)
        mr_buf_append_str(out, frame->files);
    else
        mr_buf_printf(out, "%llu", (unsigned long long)frame->id);
}
