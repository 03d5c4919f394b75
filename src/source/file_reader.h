/* The inside of the file source: its state, and reading the file that is open. file_source.c has the contract and the order of files, file_reader.c
 * opens, reads and closes one of them. Main thread. */
#ifndef MILLRACE_SOURCE_FILE_READER_H
#define MILLRACE_SOURCE_FILE_READER_H

#include "file_list.h"
#include "lines.h"

struct mr_source {
    const struct mr_config *cfg;
    const struct mr_source_listener *listener;
    struct mr_file_list list;
    size_t next;            /* no file before this one is ready */
    size_t assigned;        /* partitions the listener has */
    struct mr_file *cur;    /* open, or NULL */
    struct mr_lines *lines; /* of cur */
    int64_t line;           /* lines of cur read so far */
    int64_t next_scan_ms;
    bool bounded;
    bool paused;
};

/* How reading in the current file ended. */
enum mr_file_outcome { MR_FILE_OUT_FULL, MR_FILE_OUT_WAIT, MR_FILE_OUT_TIME, MR_FILE_OUT_FILE_END };

struct mr_file_poll {
    struct mr_arena *ar;
    struct mr_record *out;
    size_t cap, count;
    size_t max_bytes, bytes;
    int64_t deadline_ms;
};

/* Milliseconds until the poll must return. */
int mr_file_time_left(const struct mr_file_poll *call);

/* The next file that is ready becomes the current one; none: cur stays NULL. May call the listener. */
enum mr_status mr_file_open_next(struct mr_source *src, struct mr_error *err) MR_MUST_CHECK;
/* Close the file we are in, remembering where we are. `at_end`: nothing whole is left in it. */
void mr_file_close_current(struct mr_source *src, bool at_end);
/* Lines of the current file into the call's records. An error comes alone: records read before it are given out first. */
enum mr_status mr_file_read_current(struct mr_source *src, struct mr_file_poll *call,
                                    enum mr_file_outcome *outcome, struct mr_error *err) MR_MUST_CHECK;
/* Tell the listener that a partition is no longer ours. The caller clears file->assigned. */
void mr_file_give_back(struct mr_source *src, const struct mr_partition *part);

#endif
