/* Put recorded streams into a broker, byte for byte:
 *
 *   kafka_load BOOTSTRAP PREFIX < events.jsonl
 *
 * Each line is {"topic", "partition", "timestamp", "key", "value", "headers"} as in tests/recorded/README.md: key and value are the exact text, null is no
 * bytes, headers a list of [name, text or null]. Topics are made with as many partitions as their records need, and named PREFIX + topic. */
#include "kafka_admin.h"

#include <jansson.h>
#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void die(const char *what, const char *why)
{
    fprintf(stderr, "kafka_load: %s: %s\n", what, why);
    exit(1);
}

static json_t *read_all(void)
{
    json_t *records = json_array();
    char *line = NULL;
    size_t cap = 0;
    ssize_t len;
    while ((len = getline(&line, &cap, stdin)) > 0) {
        json_error_t why;
        json_t *record = json_loadb(line, (size_t)len, JSON_ALLOW_NUL, &why);
        if (record == NULL)
            die("bad line", why.text);
        json_array_append_new(records, record);
    }
    free(line);
    return records;
}

static void make_topics(const char *bootstrap, const char *prefix, json_t *records)
{
    json_t *partitions = json_object();
    size_t i;
    json_t *record;
    json_array_foreach(records, i, record) {
        const char *topic = json_string_value(json_object_get(record, "topic"));
        json_int_t need = json_integer_value(json_object_get(record, "partition")) + 1;
        if (json_integer_value(json_object_get(partitions, topic)) < need)
            json_object_set_new(partitions, topic, json_integer(need));
    }
    const char *topic;
    json_t *count;
    json_object_foreach(partitions, topic, count) {
        char name[300];
        snprintf(name, sizeof name, "%s%s", prefix, topic);
        test_kafka_create_topic(bootstrap, name, (int)json_integer_value(count));
    }
    json_decref(partitions);
}

static rd_kafka_headers_t *headers_of(json_t *list)
{
    rd_kafka_headers_t *headers = rd_kafka_headers_new(4);
    size_t i;
    json_t *pair;
    json_array_foreach(list, i, pair) {
        const char *name = json_string_value(json_array_get(pair, 0));
        json_t *value = json_array_get(pair, 1);
        rd_kafka_header_add(headers, name, -1, json_string_value(value), (ssize_t)json_string_length(value));
    }
    return headers;
}

/* Bytes of a message's part: base64 if that is given, else the text. NULL = none. */
static const void *bytes_of(json_t *record, const char *name, size_t *len, unsigned char **owned)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char member[32];
    snprintf(member, sizeof member, "%s_base64", name);
    json_t *encoded = json_object_get(record, member), *plain = json_object_get(record, name);
    *owned = NULL;
    *len = 0;
    if (!json_is_string(encoded)) {
        *len = json_string_length(plain);
        return json_string_value(plain);
    }
    const char *text = json_string_value(encoded);
    unsigned bits = 0, count = 0;
    *owned = calloc(json_string_length(encoded) + 1, 1);
    for (; *text != 0 && *text != '='; text++) {
        bits = bits << 6 | (unsigned)(strchr(alphabet, *text) - alphabet);
        count += 6;
        if (count < 8)
            continue;
        count -= 8;
        (*owned)[(*len)++] = (unsigned char)(bits >> count);
    }
    return *owned;
}

static void send_record(rd_kafka_t *rk, const char *prefix, json_t *record)
{
    char name[300];
    snprintf(name, sizeof name, "%s%s", prefix, json_string_value(json_object_get(record, "topic")));
    unsigned char *owned_key, *owned_value;
    size_t key_len, value_len;
    const void *key = bytes_of(record, "key", &key_len, &owned_key), *value = bytes_of(record, "value", &value_len, &owned_value);
    rd_kafka_resp_err_t err;
    do {
        err = rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(name),
                                RD_KAFKA_V_PARTITION((int32_t)json_integer_value(json_object_get(record, "partition"))),
                                RD_KAFKA_V_KEY(key, key_len), RD_KAFKA_V_VALUE((void *)value, value_len),
                                RD_KAFKA_V_TIMESTAMP(json_integer_value(json_object_get(record, "timestamp"))),
                                RD_KAFKA_V_HEADERS(headers_of(json_object_get(record, "headers"))),
                                RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
        if (err == RD_KAFKA_RESP_ERR__QUEUE_FULL)
            rd_kafka_poll(rk, 100);
        else if (err != RD_KAFKA_RESP_ERR_NO_ERROR)
            die("cannot produce", rd_kafka_err2str(err));
    } while (err == RD_KAFKA_RESP_ERR__QUEUE_FULL);
    free(owned_key);
    free(owned_value);
    rd_kafka_poll(rk, 0);
}

static rd_kafka_t *make_producer(const char *bootstrap)
{
    char why[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", bootstrap, why, sizeof why);
    rd_kafka_conf_set(conf, "enable.idempotence", "true", why, sizeof why);
    rd_kafka_conf_set(conf, "linger.ms", "5", why, sizeof why);
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof why);
    if (rk == NULL)
        die("cannot start the producer", why);
    return rk;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fputs("usage: kafka_load BOOTSTRAP PREFIX < events.jsonl\n", stderr);
        return 2;
    }
    json_t *records = read_all();
    make_topics(argv[1], argv[2], records);
    rd_kafka_t *rk = make_producer(argv[1]);
    size_t i;
    json_t *record;
    json_array_foreach(records, i, record)
        send_record(rk, argv[2], record);
    if (rd_kafka_flush(rk, 30000) != RD_KAFKA_RESP_ERR_NO_ERROR)
        die("flush", "not all records were taken");
    rd_kafka_destroy(rk);
    json_decref(records);
    return 0;
}
