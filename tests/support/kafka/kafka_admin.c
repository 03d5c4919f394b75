/* Kafka helpers of the tests, over librdkafka's admin and producer interfaces. */
#include "kafka_admin.h"

#include <librdkafka/rdkafka.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ADMIN_TIMEOUT_MS 30000

static void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
static void die(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    fprintf(stderr, "kafka_admin: ");
    vfprintf(stderr, fmt, args);
    fprintf(stderr, "\n");
    va_end(args);
    exit(99);
}

const char *test_kafka_bootstrap(void)
{
    static char address[256];
    const char *value = getenv("MILLRACE_TEST_KAFKA");
    FILE *file;

    if (!value || !*value)
        die("MILLRACE_TEST_KAFKA is not set");
    if (value[0] != '/')
        return value;
    file = fopen(value, "r");
    if (!file || !fgets(address, sizeof(address), file))
        die("no broker address in %s", value);
    fclose(file);
    address[strcspn(address, "\r\n")] = '\0';
    return address;
}

static void set(rd_kafka_conf_t *conf, const char *name_z, const char *value_z)
{
    char text[256];

    if (rd_kafka_conf_set(conf, name_z, value_z, text, sizeof(text)) != RD_KAFKA_CONF_OK)
        die("%s", text);
}

static rd_kafka_t *producer(const char *bootstrap_z, const char *transactional_id_z)
{
    char text[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_t *rk;

    set(conf, "bootstrap.servers", bootstrap_z);
    set(conf, "linger.ms", "0");
    set(conf, "log_level", "2"); /* a coordinator that is still loading is no news */
    set(conf, "message.max.bytes", "67108864");
    set(conf, "topic.metadata.refresh.interval.ms", "1000");
    if (transactional_id_z)
        set(conf, "transactional.id", transactional_id_z);
    rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof(text));
    if (!rk)
        die("%s", text);
    return rk;
}

/* Partitions of the topic that have a leader; 0 if there is no such topic. */
static int ready_partitions(rd_kafka_t *rk, const char *topic_z)
{
    const struct rd_kafka_metadata *md;
    int ready = 0;

    /* All topics: asking for one by name would create it. */
    if (rd_kafka_metadata(rk, 1, NULL, &md, ADMIN_TIMEOUT_MS) != RD_KAFKA_RESP_ERR_NO_ERROR)
        return 0;
    for (int i = 0; i < md->topic_cnt; i++) {
        if (strcmp(md->topics[i].topic, topic_z) != 0)
            continue;
        for (int j = 0; j < md->topics[i].partition_cnt; j++)
            ready += md->topics[i].partitions[j].leader >= 0;
    }
    rd_kafka_metadata_destroy(md);
    return ready;
}

static void wait_for_partitions(rd_kafka_t *rk, const char *topic_z, int partitions)
{
    for (int i = 0; i < 600; i++) {
        if (ready_partitions(rk, topic_z) == partitions)
            return;
        usleep(50000);
    }
    die("topic %s does not get to %d partitions", topic_z, partitions);
}

/* Wait for an admin operation's answer; `check` tells the error of its only result. */
static void await(rd_kafka_queue_t *queue, const char *what_z,
                  rd_kafka_resp_err_t (*check)(const rd_kafka_event_t *event))
{
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, ADMIN_TIMEOUT_MS);
    rd_kafka_resp_err_t code;

    if (!event)
        die("%s: no answer", what_z);
    code = rd_kafka_event_error(event);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        code = check(event);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        die("%s: %s", what_z, rd_kafka_err2str(code));
    rd_kafka_event_destroy(event);
}

static rd_kafka_resp_err_t created(const rd_kafka_event_t *event)
{
    size_t count;
    const rd_kafka_topic_result_t **results = rd_kafka_CreateTopics_result_topics(
        rd_kafka_event_CreateTopics_result((rd_kafka_event_t *)event), &count);

    return count == 1 ? rd_kafka_topic_result_error(results[0]) : RD_KAFKA_RESP_ERR__FAIL;
}

static rd_kafka_resp_err_t deleted(const rd_kafka_event_t *event)
{
    size_t count;
    const rd_kafka_topic_result_t **results = rd_kafka_DeleteTopics_result_topics(
        rd_kafka_event_DeleteTopics_result((rd_kafka_event_t *)event), &count);

    return count == 1 ? rd_kafka_topic_result_error(results[0]) : RD_KAFKA_RESP_ERR__FAIL;
}

static rd_kafka_resp_err_t grown(const rd_kafka_event_t *event)
{
    size_t count;
    const rd_kafka_topic_result_t **results = rd_kafka_CreatePartitions_result_topics(
        rd_kafka_event_CreatePartitions_result((rd_kafka_event_t *)event), &count);

    return count == 1 ? rd_kafka_topic_result_error(results[0]) : RD_KAFKA_RESP_ERR__FAIL;
}

static rd_kafka_resp_err_t records_deleted(const rd_kafka_event_t *event)
{
    const rd_kafka_topic_partition_list_t *list = rd_kafka_DeleteRecords_result_offsets(
        rd_kafka_event_DeleteRecords_result((rd_kafka_event_t *)event));

    return list->cnt == 1 ? list->elems[0].err : RD_KAFKA_RESP_ERR__FAIL;
}

void test_kafka_create_topic(const char *bootstrap_z, const char *topic_z, int partitions)
{
    char text[256];
    rd_kafka_t *rk = producer(bootstrap_z, NULL);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
    rd_kafka_NewTopic_t *topic = rd_kafka_NewTopic_new(topic_z, partitions, 1, text, sizeof(text));

    if (!topic)
        die("%s", text);
    rd_kafka_CreateTopics(rk, &topic, 1, NULL, queue);
    await(queue, "create topic", created);
    wait_for_partitions(rk, topic_z, partitions);
    rd_kafka_NewTopic_destroy(topic);
    rd_kafka_queue_destroy(queue);
    rd_kafka_destroy(rk);
}

void test_kafka_delete_topic(const char *bootstrap_z, const char *topic_z)
{
    rd_kafka_t *rk = producer(bootstrap_z, NULL);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
    rd_kafka_DeleteTopic_t *topic = rd_kafka_DeleteTopic_new(topic_z);

    rd_kafka_DeleteTopics(rk, &topic, 1, NULL, queue);
    await(queue, "delete topic", deleted);
    wait_for_partitions(rk, topic_z, 0);
    rd_kafka_DeleteTopic_destroy(topic);
    rd_kafka_queue_destroy(queue);
    rd_kafka_destroy(rk);
}

void test_kafka_add_partitions(const char *bootstrap_z, const char *topic_z, int total)
{
    char text[256];
    rd_kafka_t *rk = producer(bootstrap_z, NULL);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
    rd_kafka_NewPartitions_t *more =
        rd_kafka_NewPartitions_new(topic_z, (size_t)total, text, sizeof(text));

    if (!more)
        die("%s", text);
    rd_kafka_CreatePartitions(rk, &more, 1, NULL, queue);
    await(queue, "add partitions", grown);
    wait_for_partitions(rk, topic_z, total);
    rd_kafka_NewPartitions_destroy(more);
    rd_kafka_queue_destroy(queue);
    rd_kafka_destroy(rk);
}

void test_kafka_delete_records(const char *bootstrap_z, const char *topic_z, int partition,
                               int64_t offset)
{
    rd_kafka_t *rk = producer(bootstrap_z, NULL);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_DeleteRecords_t *request;

    rd_kafka_topic_partition_list_add(list, topic_z, partition)->offset = offset;
    request = rd_kafka_DeleteRecords_new(list);
    rd_kafka_DeleteRecords(rk, &request, 1, NULL, queue);
    await(queue, "delete records", records_deleted);
    rd_kafka_DeleteRecords_destroy(request);
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_queue_destroy(queue);
    rd_kafka_destroy(rk);
}

struct test_producer {
    rd_kafka_t *rk;
};

static void check(rd_kafka_error_t *error, const char *what_z)
{
    if (error)
        die("%s: %s", what_z, rd_kafka_error_string(error));
}

struct test_producer *test_producer_create(const char *bootstrap_z, const char *transactional_id_z)
{
    struct test_producer *pr = calloc(1, sizeof(*pr));

    if (!pr)
        die("out of memory");
    pr->rk = producer(bootstrap_z, transactional_id_z);
    if (transactional_id_z)
        check(rd_kafka_init_transactions(pr->rk, ADMIN_TIMEOUT_MS), "init transactions");
    return pr;
}

void test_producer_begin(struct test_producer *pr)
{
    check(rd_kafka_begin_transaction(pr->rk), "begin");
}

void test_producer_end(struct test_producer *pr, bool commit)
{
    test_producer_flush(pr);
    check(commit ? rd_kafka_commit_transaction(pr->rk, ADMIN_TIMEOUT_MS)
                 : rd_kafka_abort_transaction(pr->rk, ADMIN_TIMEOUT_MS),
          "end of transaction");
}

void test_producer_send(struct test_producer *pr, const char *topic_z, int partition,
                        const char *key_z, const char *value_z)
{
    test_producer_send_headers(pr, topic_z, partition, key_z, value_z, NULL, NULL, NULL);
}

void test_producer_send_headers(struct test_producer *pr, const char *topic_z, int partition,
                                const char *key_z, const char *value_z, const char *name_z,
                                const char *header_value_z, const char *null_name_z)
{
    rd_kafka_resp_err_t code;
    rd_kafka_headers_t *headers = rd_kafka_headers_new(2);
    int misses = 0;

    if (name_z)
        rd_kafka_header_add(headers, name_z, -1, header_value_z, (ssize_t)strlen(header_value_z));
    if (null_name_z)
        rd_kafka_header_add(headers, null_name_z, -1, NULL, 0);
    for (;;) {
        rd_kafka_headers_t *copy = rd_kafka_headers_copy(headers);

        code = rd_kafka_producev(
            pr->rk, RD_KAFKA_V_TOPIC(topic_z), RD_KAFKA_V_PARTITION(partition),
            RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
            RD_KAFKA_V_KEY(key_z, key_z ? strlen(key_z) : 0),
            RD_KAFKA_V_VALUE((void *)(uintptr_t)value_z, value_z ? strlen(value_z) : 0),
            RD_KAFKA_V_HEADERS(copy), RD_KAFKA_V_END);
        if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
            break;
        rd_kafka_headers_destroy(copy);
        /* A partition that has just been added is known to the client after its next look at the metadata. */
        if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL &&
            (code != RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION || ++misses > 200))
            die("produce: %s", rd_kafka_err2str(code));
        rd_kafka_poll(pr->rk, 50);
    }
    rd_kafka_headers_destroy(headers);
    rd_kafka_poll(pr->rk, 0);
}

void test_producer_flush(struct test_producer *pr)
{
    rd_kafka_resp_err_t code = rd_kafka_flush(pr->rk, ADMIN_TIMEOUT_MS);

    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        die("flush: %s", rd_kafka_err2str(code));
}

void test_producer_destroy(struct test_producer *pr)
{
    test_producer_flush(pr);
    rd_kafka_destroy(pr->rk);
    free(pr);
}
