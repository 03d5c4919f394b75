/* What tests do to a broker: topics, messages, transactions, deleted records. On failure these functions print why and end the
 * test program: a test without its broker has nothing left to say. One thread. */
#ifndef MILLRACE_TEST_KAFKA_ADMIN_H
#define MILLRACE_TEST_KAFKA_ADMIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The broker's address from the environment: MILLRACE_TEST_KAFKA is an address, or the path of a file that holds one (the
 * fixture's DIR/bootstrap). Never NULL. */
const char *test_kafka_bootstrap(void);

/* Create a topic and wait until the broker shows all its partitions. */
void test_kafka_create_topic(const char *bootstrap_z, const char *topic_z, int partitions);
void test_kafka_delete_topic(const char *bootstrap_z, const char *topic_z);
/* Let a topic grow. */
void test_kafka_add_partitions(const char *bootstrap_z, const char *topic_z, int total);
/* Remove everything before `offset`, as retention does. */
void test_kafka_delete_records(const char *bootstrap_z, const char *topic_z, int partition,
                               int64_t offset);

struct test_producer;
/* transactional_id_z may be NULL. */
struct test_producer *test_producer_create(const char *bootstrap_z, const char *transactional_id_z);
void test_producer_begin(struct test_producer *pr);
void test_producer_end(struct test_producer *pr, bool commit);
/* NULL key or value = no bytes. */
void test_producer_send(struct test_producer *pr, const char *topic_z, int partition,
                        const char *key_z, const char *value_z);
/* One header with a value, one without. */
void test_producer_send_headers(struct test_producer *pr, const char *topic_z, int partition,
                                const char *key_z, const char *value_z, const char *name_z,
                                const char *header_value_z, const char *null_name_z);
void test_producer_flush(struct test_producer *pr);
void test_producer_destroy(struct test_producer *pr); /* flushes */

#endif
