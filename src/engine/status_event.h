/* The texts of Prostore's status events: what Millrace says about its own work. Pure: it numbers nothing, keeps nothing and sends nothing; ids,
 * times and numbers come from the caller, so that an event that is sent again is the same to the byte. Any thread. */
#ifndef MILLRACE_ENGINE_STATUS_EVENT_H
#define MILLRACE_ENGINE_STATUS_EVENT_H

#include <millrace/base/buf.h>
#include <millrace/base/str.h>

/* What was done. */
enum mr_status_action {
    MR_STATUS_TABLE_CREATED, /* the first three are one event, DATAMART_SCHEMA_CHANGED */
    MR_STATUS_TABLE_ALTERED,
    MR_STATUS_TABLE_DROPPED,
    MR_STATUS_BATCH_OPENED,
    MR_STATUS_BATCH_COMMITTED,
    MR_STATUS_BATCH_ROLLED_BACK,
    MR_STATUS_WRITE_COMPLETED,
    MR_STATUS_WRITE_CANCELLED,
};

struct mr_status_event {
    enum mr_status_action action;
    struct mr_str datamart;
    unsigned char id[16]; /* a UUID of version 4; kept before the event is sent */
    int64_t at_us;        /* when it happened, since 1970 UTC */
    int64_t delta;        /* BATCH_…: the delta's number, from 0 */
    int64_t done_us;      /* BATCH_COMMITTED: when; WRITE_COMPLETED: when */
    struct mr_str entity; /* WRITE_…: the table */
    bool has_cn;          /* WRITE_…: the operation has a number; false: `cn` is null, and so is `ts` */
    int64_t cn;
};

/* The event's code ("DELTA_OPEN"). Never NULL. */
const char *mr_status_event_name(enum mr_status_action action);
/* Is it one of the events that status.write_operations switches? */
bool mr_status_event_is_write(enum mr_status_action action);

/* Append the message's key and value. Whoever gives the buffers looks for their overflow. */
void mr_status_event_key(const struct mr_status_event *event, struct mr_buf *out);
void mr_status_event_value(const struct mr_status_event *event, struct mr_buf *out);

#endif
