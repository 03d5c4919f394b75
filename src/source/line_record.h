/* A line of a file as a record. What is a record and what a bare event is told in docs/files.md, "Records and bare events". Main thread. */
#ifndef MILLRACE_SOURCE_LINE_RECORD_H
#define MILLRACE_SOURCE_LINE_RECORD_H

#include <millrace/base/arena.h>
#include <millrace/model/record.h>

struct mr_line_place {
    const char *file_z;   /* for messages */
    int64_t line;         /* 1-based */
    struct mr_str topic;  /* of records and events that name none */
};

/* Fill the message's part of *rec (not part, position, owner). Everything borrows from `text` or `ar`. A line that is
 * no record comes back with broken_code set, the raw line as value. */
void mr_line_record(struct mr_str text, const struct mr_line_place *place, struct mr_arena *ar,
                    struct mr_record *rec);
/* A record for a line that cannot be made one. */
void mr_line_broken(struct mr_str text, const struct mr_line_place *place, struct mr_arena *ar,
                    struct mr_record *rec, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

#endif
