/* The files of a file source: which there are, and how far each has been read. Main thread. */
#ifndef MILLRACE_SOURCE_FILE_LIST_H
#define MILLRACE_SOURCE_FILE_LIST_H

#include <millrace/base/error.h>
#include <millrace/base/map.h>
#include <millrace/config/config.h>
#include <millrace/source.h>

enum mr_file_state {
    MR_FILE_READY,   /* there is something to read, or nobody has looked yet */
    MR_FILE_DONE,    /* read to its present end */
    MR_FILE_DROPPED, /* given up: another instance reads it */
};

struct mr_file {
    char *path_z;       /* absolute and without symbolic links; "-" for standard input */
    char *shown_z;      /* the path for people and for the target: bytes that are no UTF-8 as %XX */
    bool is_stream;     /* standard input, a pipe: read once, no way back */
    enum mr_file_state state;
    struct mr_partition *part; /* NULL until first opened; owned by the list */
    bool assigned;      /* the listener has it */

    int64_t want;       /* line after which reading goes on */
    int64_t at_line;    /* lines that end before `offset` */
    uint64_t offset;    /* byte of the input where line at_line + 1 begins */
    bool is_plain;      /* offset lies in plain text, not between two compressed frames */

    uint64_t size;      /* bytes of the file when last looked at */
    uint64_t done;      /* bytes of it read */
    uint64_t device, inode;
};

struct mr_file_list {
    struct mr_file **items; /* in reading order: patterns as given, the matches of each sorted by bytes */
    size_t count, cap;
    struct mr_map *by_path; /* path → struct mr_file */
    struct mr_map *remembered; /* "file:PATH#" → struct mr_strings: names that the target had when we first asked; or NULL */
    struct mr_partition **parts; /* every partition ever made, by index */
    size_t part_count, part_cap;
};

/* Look for files. At the first time every pattern must be good: CONFIG for a path that is missing, a folder, unreadable, and (where
 * `bounded`) for a pattern without a match. Later calls find new files, and see which have changed. */
enum mr_status mr_file_list_scan(struct mr_file_list *list, const struct mr_strings *patterns,
                                 bool is_first, bool bounded, struct mr_error *err) MR_MUST_CHECK;
void mr_file_list_free(struct mr_file_list *list);
struct mr_file *mr_file_list_by_part(const struct mr_file_list *list, const struct mr_partition *part);

/* Give the open file its partition. For a regular file the name is made of its path and the hash of its first bytes; a name that the target
 * remembers, and whose bytes are still there, is taken again. The file begins anew (want = 0) if that makes it another partition
 * than before. ENV for a failing read. */
enum mr_status mr_file_identify(struct mr_file_list *list, struct mr_file *file, int fd,
                                const char *stream_id_z, const struct mr_source_listener *listener,
                                struct mr_error *err) MR_MUST_CHECK;

/* What the target remembered when it was asked. */
void mr_file_forget_names(struct mr_file_list *list);

/* The name to show to people. */
const char *mr_file_shown(const struct mr_file *file);

#endif
