/* Dead letters from records: see dead_letter.h. */
#include "dead_letter.h"

#include <millrace/base/encode.h>

static void append_headers(const struct mr_header *headers, size_t count, struct mr_buf *buf)
{
    for (size_t i = 0; i < count; i++) {
        mr_buf_append_z(buf, buf->len == 1 ? "[" : ",[");
        mr_buf_append_json(buf, headers[i].name);
        mr_buf_append_char(buf, ',');
        if (headers[i].is_null) {
            mr_buf_append_z(buf, "null");
        } else {
            mr_buf_append_char(buf, '"');
            mr_base64_append(buf, headers[i].value);
            mr_buf_append_char(buf, '"');
        }
        mr_buf_append_char(buf, ']');
    }
}

/* Headers as JSON: [["name", "base64"], ["name", null], …]: the record's own, then those that were asked for. */
static struct mr_str headers_json(const struct mr_record *rec, struct mr_arena *ar)
{
    struct mr_buf buf = MR_BUF_INIT(64u << 20);
    mr_buf_append_char(&buf, '[');
    append_headers(rec->headers, rec->header_count, &buf);
    append_headers(rec->added, rec->added_count, &buf);
    mr_buf_append_char(&buf, ']');
    struct mr_str out = mr_arena_copy(ar, buf.overflow ? MR_STR("[]") : mr_buf_str(&buf));
    mr_buf_free(&buf);
    return out;
}

/* Message, detail and hint as one text. */
static struct mr_str reason(const struct mr_error *err, struct mr_arena *ar)
{
    return mr_arena_printf(ar, "%s%s%s%s%s", err->message, err->detail[0] ? "; " : "", err->detail,
                           err->hint[0] ? ". " : "", err->hint);
}

void mr_dead_letter_fill(struct mr_dead_letter *out, const struct mr_record *rec, const struct mr_error *err,
                         struct mr_str pipeline, struct mr_str schema, struct mr_str table, struct mr_str row,
                         struct mr_arena *ar)
{
    *out = (struct mr_dead_letter){
        .pipeline = pipeline,
        .part_topic = mr_str_z(rec->part->topic_z),
        .position = rec->position,
        .topic = rec->topic,
        .partition = rec->partition,
        .offset = rec->offset,
        .timestamp_ms = rec->timestamp_ms,
        .has_key = rec->has_key,
        .has_value = rec->has_value,
        .is_bare = rec->is_bare,
        .key = rec->key,
        .value = rec->value,
        .headers = headers_json(rec, ar),
        .code = mr_arena_copy(ar, mr_str_z(err->code)),
        .native = mr_arena_copy(ar, mr_str_z(err->native)),
        .message = reason(err, ar),
        .field = mr_arena_copy(ar, mr_str_z(err->field)),
        .target_schema = mr_arena_copy(ar, schema),
        .target_table = mr_arena_copy(ar, table),
        .rows = mr_arena_copy(ar, row),
    };
}
