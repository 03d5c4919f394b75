/* The inside of the Kafka source. Everything runs on the main thread, but for librdkafka's log callback.
 *
 *   kafka_source.c     the contract: polling, records, pause, seek, closing
 *   kafka_conf.c       the configuration, librdkafka's logs
 *   kafka_group.c      run: the consumer group, rebalancing
 *   kafka_bounded.c    backfill: the partitions as they are now, up to their present ends
 *   kafka_partition.c  the table of partitions
 *   kafka_trouble.c    errors and statistics: what they mean for us
 *   kafka_check.c      questions without reading: is it there, where does it end
 *   kafka_feed.c       a topic read beside the partitions
 */
#ifndef MILLRACE_SOURCE_KAFKA_PARTS_H
#define MILLRACE_SOURCE_KAFKA_PARTS_H

#include <millrace/base/map.h>
#include <millrace/source.h>

#include <librdkafka/rdkafka.h>

#define MR_KAFKA_REQUEST_MS 5000 /* a question to the brokers from the main thread */

struct mr_kafka_part {
    struct mr_partition part;
    bool assigned;
    bool done;         /* bounded: read to its end */
    bool dropped;      /* fenced: not read until it is assigned anew */
    bool held;         /* the engine wants no more of it for now */
    bool stopped;      /* cannot go on (records removed, corrupt); not read until it is assigned anew */
    int64_t next;      /* next offset to give out, -1 not known yet */
    int64_t first;     /* bounded: first and end offset when we looked, start: where to begin without a stored position */
    int64_t start;
    int64_t end;       /* bounded: where to stop. Else the end as the statistics tell, -1 unknown */
    int64_t commit;    /* offset to commit, -1 nothing new */
};

/* One call of poll, as the callbacks inside it see it. */
struct mr_kafka_poll {
    struct mr_arena *ar;
    struct mr_record *out;
    size_t cap, count;
    size_t bytes;
};

enum mr_kafka_stage { MR_KAFKA_TOPICS, MR_KAFKA_ENDS, MR_KAFKA_ASSIGN, MR_KAFKA_READING };

struct mr_source {
    const struct mr_config *cfg;
    const struct mr_source_listener *listener;
    bool bounded;
    bool paused;
    bool closing;
    bool read_committed;
    bool was_assigned; /* the group has given an assignment once, be it an empty one */
    bool told_group;   /* that this takes a while has been said */
    rd_kafka_t *rk;

    struct mr_kafka_part **parts; /* by index, never removed */
    size_t part_count, part_cap;
    struct mr_map *by_name;       /* topic, NUL, partition number → struct mr_kafka_part */
    struct mr_kafka_part *last;   /* of the last message */

    struct mr_kafka_poll *call;   /* the poll under way, or NULL */
    rd_kafka_message_t *held;     /* came although nothing was wanted */

    enum mr_kafka_stage stage;    /* bounded: how far opening has come */
    size_t stage_at;

    bool rejoin;                  /* an assignment failed: ask the group again */
    int64_t rejoin_ms;
    int64_t created_ms;
    int64_t committed_ms;         /* when offsets were last committed */
    bool contact;                 /* a broker has answered */
    bool down;                    /* no broker answers now */
    char trouble[256];            /* why */
    struct mr_error failed;       /* from a callback; the next poll returns it */
    struct mr_map *warned;        /* topics whose absence has been logged */
};

/* kafka_conf.c. CONFIG for a property that librdkafka does not know or that is ours. */
enum mr_status mr_kafka_connect(struct mr_source *src, struct mr_error *err) MR_MUST_CHECK;

/* kafka_check.c: the listener of a client that only asks, or assigns by itself. */
extern const struct mr_source_listener mr_kafka_no_listener;

/* kafka_partition.c */
struct mr_kafka_part *mr_kafka_part_get(struct mr_source *src, const char *topic_z, int32_t partition);
struct mr_kafka_part *mr_kafka_part_of(struct mr_source *src, const rd_kafka_message_t *msg);
bool mr_kafka_part_reads(const struct mr_kafka_part *kp); /* assigned, and nothing speaks against reading it */
/* All partitions that are read, as a list with their next offsets; destroy it. */
rd_kafka_topic_partition_list_t *mr_kafka_reading(const struct mr_source *src);
void mr_kafka_stop_fetching(struct mr_source *src, const struct mr_kafka_part *kp);
/* Remember offsets to commit, send what is due. Never blocks. */
void mr_kafka_commit_due(struct mr_source *src, bool now);
/* Forget what has been polled but not given out of partitions that are no longer ours. */
void mr_kafka_forget_in_hand(struct mr_source *src);
/* Offsets at `start` for every element (TIME: one question to the brokers). ENV. */
enum mr_status mr_kafka_start_offsets(struct mr_source *src, rd_kafka_topic_partition_list_t *list,
                                      struct mr_error *err) MR_MUST_CHECK;
void mr_kafka_parts_free(struct mr_source *src);

/* kafka_group.c */
enum mr_status mr_kafka_subscribe(struct mr_source *src, struct mr_error *err) MR_MUST_CHECK;
void mr_kafka_on_rebalance(rd_kafka_t *rk, rd_kafka_resp_err_t code,
                           rd_kafka_topic_partition_list_t *list, void *opaque);

/* kafka_bounded.c. One step of opening; *open tells when all is assigned. */
enum mr_status mr_kafka_open_bounded(struct mr_source *src, int timeout_ms, bool *open,
                                     struct mr_error *err) MR_MUST_CHECK;
/* The partitions of a topic, or of all that match a pattern, into the table. CONFIG if there is none, with the nearest names as the hint. */
enum mr_status mr_kafka_add_topic(struct mr_source *src, const rd_kafka_metadata_t *md, const char *wanted_z,
                                  struct mr_error *err) MR_MUST_CHECK;
bool mr_kafka_all_done(const struct mr_source *src);
void mr_kafka_part_done(struct mr_source *src, struct mr_kafka_part *kp);

/* kafka_trouble.c */
void mr_kafka_on_error(rd_kafka_t *rk, int code, const char *reason_z, void *opaque);
int mr_kafka_on_stats(rd_kafka_t *rk, char *json, size_t len, void *opaque);
void mr_kafka_on_log(const rd_kafka_t *rk, int level, const char *facility_z, const char *text_z);
/* A message that is an error. It goes to src->failed or to the log. */
void mr_kafka_message_error(struct mr_source *src, const rd_kafka_message_t *msg);
/* Nothing came: is that because no broker answers? ENV then. */
enum mr_status mr_kafka_check_contact(struct mr_source *src, struct mr_error *err) MR_MUST_CHECK;
void mr_kafka_contact(struct mr_source *src);
/* Class of a librdkafka error that stands in the way of a request. */
enum mr_status mr_kafka_fail(struct mr_error *err, rd_kafka_resp_err_t code, const char *doing_z,
                             const char *text_z);

#endif
