/* See status_event.h. Members stand in Prostore's order, without blanks, so that texts can be compared byte by byte. */
#include "status_event.h"

#include <millrace/base/encode.h>
#include <millrace/base/time.h>

const char *mr_status_event_name(enum mr_status_action action)
{
    switch (action) {
    case MR_STATUS_TABLE_CREATED:
    case MR_STATUS_TABLE_ALTERED:
    case MR_STATUS_TABLE_DROPPED:
        return "DATAMART_SCHEMA_CHANGED";
    case MR_STATUS_BATCH_OPENED:
        return "DELTA_OPEN";
    case MR_STATUS_BATCH_COMMITTED:
        return "DELTA_CLOSE";
    case MR_STATUS_BATCH_ROLLED_BACK:
        return "DELTA_CANCEL";
    case MR_STATUS_WRITE_COMPLETED:
        return "WRITE_OK";
    case MR_STATUS_WRITE_CANCELLED:
        return "WRITE_CANCEL";
    }
    return "";
}

bool mr_status_event_is_write(enum mr_status_action action)
{
    return action == MR_STATUS_WRITE_COMPLETED || action == MR_STATUS_WRITE_CANCELLED;
}

/* Whole seconds are cut, not rounded: those of an instant before 1970 too. */
static void append_seconds(int64_t us, struct mr_buf *out)
{
    char text[MR_TIME_TEXT];
    size_t len = mr_format_timestamp(us - mr_floor_mod(us, MR_US_PER_SEC), ' ', false, text);
    mr_buf_append_char(out, '"');
    mr_buf_append(out, text, len);
    mr_buf_append_char(out, '"');
}

static void append_micros(int64_t us, struct mr_buf *out)
{
    char text[MR_TIME_TEXT];
    size_t len = mr_format_timestamp(us, ' ', true, text);
    mr_buf_append_char(out, '"');
    mr_buf_append(out, text, len);
    mr_buf_append_char(out, '"');
}

static void append_write(const struct mr_status_event *event, struct mr_buf *out)
{
    mr_buf_append_z(out, "{\"entity\":");
    mr_buf_append_json(out, event->entity);
    if (event->has_cn)
        mr_buf_printf(out, ",\"cn\":%lld", (long long)event->cn);
    else
        mr_buf_append_z(out, ",\"cn\":null");
    if (event->action == MR_STATUS_WRITE_COMPLETED) {
        mr_buf_append_z(out, ",\"ts\":");
        if (event->has_cn)
            append_micros(event->done_us, out);
        else
            mr_buf_append_z(out, "null");
        mr_buf_append_z(out, ",\"rowsAffected\":null");
    }
    mr_buf_append_char(out, '}');
}

void mr_status_event_key(const struct mr_status_event *event, struct mr_buf *out)
{
    char id[37];
    mr_uuid_format(event->id, id);
    mr_buf_append_z(out, "{\"datamart\":");
    mr_buf_append_json(out, event->datamart);
    mr_buf_append_z(out, ",\"datetime\":");
    append_seconds(event->at_us, out);
    mr_buf_printf(out, ",\"event\":\"%s\",\"eventLogId\":\"%s\"}", mr_status_event_name(event->action), id);
}

void mr_status_event_value(const struct mr_status_event *event, struct mr_buf *out)
{
    switch (event->action) {
    case MR_STATUS_TABLE_CREATED:
    case MR_STATUS_TABLE_ALTERED:
    case MR_STATUS_TABLE_DROPPED:
        mr_buf_append_z(out, "{\"changeDateTime\":");
        append_seconds(event->at_us, out);
        mr_buf_append_z(out, ",\"datamart\":");
        mr_buf_append_json(out, event->datamart);
        mr_buf_append_char(out, '}');
        return;
    case MR_STATUS_BATCH_OPENED:
    case MR_STATUS_BATCH_ROLLED_BACK:
        mr_buf_printf(out, "{\"deltaNum\":%lld}", (long long)event->delta);
        return;
    case MR_STATUS_BATCH_COMMITTED:
        mr_buf_printf(out, "{\"deltaNum\":%lld,\"deltaDate\":", (long long)event->delta);
        append_micros(event->done_us, out);
        mr_buf_append_char(out, '}');
        return;
    case MR_STATUS_WRITE_COMPLETED:
    case MR_STATUS_WRITE_CANCELLED:
        append_write(event, out);
        return;
    }
}
