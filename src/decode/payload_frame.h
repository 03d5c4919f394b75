/* The registry's framings: which schema, and where the payload begins. */
#ifndef MILLRACE_DECODE_PAYLOAD_FRAME_H
#define MILLRACE_DECODE_PAYLOAD_FRAME_H

#include <millrace/model/record.h>

#include "connect.h"

struct mr_frame {
    bool is_guid;
    uint32_t id;
    unsigned char guid[16];
    struct mr_str payload;
};

/* By the record's header (`__key_schema_id`, `__value_schema_id`), else by what stands in front of the payload. DATA bad_magic, truncated. */
enum mr_status mr_frame_read(const struct mr_record *rec, enum mr_connect_side side, struct mr_str bytes,
                             struct mr_frame *out, struct mr_error *err) MR_MUST_CHECK;
/* Does it look framed? For `auto`. */
bool mr_frame_sniff(const struct mr_record *rec, enum mr_connect_side side, struct mr_str bytes);

#endif
