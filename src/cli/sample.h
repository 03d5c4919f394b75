/* `check --sample`: the first messages of a topic or a file, and what detection makes of them. */
#ifndef MR_CLI_SAMPLE_H
#define MR_CLI_SAMPLE_H

#include <millrace/config/config.h>
#include <millrace/base/arena.h>
#include <millrace/base/error.h>

#define MR_SAMPLE_FORMATS 12
#define MR_SAMPLE_TABLES 20

/* One format that messages of a topic look like; name_z NULL: those that tell nothing of rows. */
struct mr_sample_format {
    const char *name_z;
    bool is_sure;
    uint64_t messages;
    struct mr_str why; /* the first message's signs */
};

/* Rows that the messages bring, as their decoder reads them. */
struct mr_sample_table {
    struct mr_str database, table;
    uint64_t upserts, deletes, truncates, schema_changes;
};

struct mr_sample_topic {
    struct mr_str topic;
    uint64_t messages;
    const char *configured_z; /* format set for it; NULL = auto */
    struct mr_sample_format formats[MR_SAMPLE_FORMATS];
    size_t format_count;
    struct mr_sample_table tables[MR_SAMPLE_TABLES];
    size_t table_count;
    uint64_t more_changes;    /* of tables beyond those listed */
    uint64_t failed;          /* messages that would become dead letters before any target is asked */
    struct mr_error first;    /* the first of these; status OK if there is none */
};

typedef void (*mr_sample_fn)(void *ctx, const struct mr_sample_topic *topic);

/* Read up to 1,000 messages of the file or topic of that name, and call fn for each topic among them. *read is their number. `ar` holds the topics.
 * CONFIG: neither a file nor a topic that could be asked for; ENV: the source's. */
enum mr_status mr_sample_run(const struct mr_config *cfg, const char *name_z, struct mr_arena *ar, mr_sample_fn fn, void *ctx,
                             uint64_t *read, struct mr_error *err) MR_MUST_CHECK;

#endif
