/* From our configuration to librdkafka's. The user's properties go through as they are, but for those on which exactly-once rests. */
#include "kafka_parts.h"

#include <regex.h>
#include <string.h>

struct fixed {
    const char *name_z;
    const char *why_z;
};

/* Properties that are not the user's, and why. */
static const struct fixed refused[] = {
    {"bootstrap.servers", "set source.kafka.brokers instead"},
    {"metadata.broker.list", "set source.kafka.brokers instead"},
    {"group.id", "set source.kafka.group instead"},
    {"auto.offset.reset", "set source.kafka.start instead"},
    {"enable.auto.commit", "the position is kept in the target, with the rows; Millrace commits to Kafka itself, for monitoring only"},
    {"auto.commit.enable", "the position is kept in the target, with the rows; Millrace commits to Kafka itself, for monitoring only"},
    {"enable.auto.offset.store", "the position is kept in the target, with the rows"},
    {"enable.partition.eof", "Millrace needs it to find the end of a backfill"},
    {"statistics.interval.ms", "Millrace reads the statistics itself"},
};

/* Ours unless the user says otherwise. */
static const struct {
    const char *name_z, *value_z;
} defaults[] = {
    {"client.id", "millrace"},
    /* A topic or partition that appears is to be noticed in seconds, not after the library's five minutes. */
    {"topic.metadata.refresh.interval.ms", "10000"},
    /* A pattern must not sweep in the brokers' own bookkeeping. */
    {"topic.blacklist", "^__consumer_offsets$,^__transaction_state$,^__share_group_state$"},
};

static enum mr_status set(rd_kafka_conf_t *conf, const char *name_z, const char *value_z,
                          struct mr_error *err)
{
    char text[512];

    switch (rd_kafka_conf_set(conf, name_z, value_z, text, sizeof(text))) {
    case RD_KAFKA_CONF_OK:
        return MR_OK;
    case RD_KAFKA_CONF_UNKNOWN:
        mr_fail(err, MR_E_CONFIG, "source.kafka.properties: librdkafka has no property \"%s\"", name_z);
        mr_error_hint(err, "its properties are listed in its CONFIGURATION.md");
        return MR_E_CONFIG;
    case RD_KAFKA_CONF_INVALID:
        break;
    }
    /* The text names the property and what is wrong, and may repeat the value: never for a secret. */
    if (strstr(name_z, "password") || strstr(name_z, "secret") || strstr(name_z, "key.pem"))
        return mr_fail(err, MR_E_CONFIG, "source.kafka.properties: bad value for \"%s\"", name_z);
    return mr_fail(err, MR_E_CONFIG, "source.kafka.properties: %s", text);
}

static enum mr_status set_user(rd_kafka_conf_t *conf, const struct mr_pairs *pairs, struct mr_error *err)
{
    for (size_t i = 0; i < pairs->count; i++) {
        const struct mr_pair *pair = &pairs->items[i];

        for (size_t j = 0; j < sizeof(refused) / sizeof(refused[0]); j++) {
            if (strcmp(pair->key, refused[j].name_z) == 0)
                return mr_fail(err, MR_E_CONFIG, "source.kafka.properties: \"%s\" cannot be set: %s",
                               pair->key, refused[j].why_z);
        }
        MR_TRY(set(conf, pair->key, pair->value, err));
    }
    return MR_OK;
}

static enum mr_status set_ours(struct mr_source *src, rd_kafka_conf_t *conf, struct mr_error *err)
{
    MR_TRY(set(conf, "bootstrap.servers", src->cfg->kafka_brokers, err));
    MR_TRY(set(conf, "group.id", src->cfg->kafka_group, err));
    MR_TRY(set(conf, "enable.auto.commit", "false", err));
    MR_TRY(set(conf, "enable.auto.offset.store", "false", err));
    /* Every partition is assigned at a place of our choosing; a place that does not exist must not be replaced silently. */
    MR_TRY(set(conf, "auto.offset.reset", "error", err));
    MR_TRY(set(conf, "enable.partition.eof", src->bounded ? "true" : "false", err));
    return set(conf, "statistics.interval.ms", "1000", err);
}

/* A pattern that is none is told at the start, and by name. */
static enum mr_status check_topics(const struct mr_config *cfg, struct mr_error *err)
{
    if (!cfg->kafka_brokers || !*cfg->kafka_brokers)
        return mr_fail(err, MR_E_CONFIG, "source.kafka.brokers is not set");
    if (cfg->kafka_topics.count == 0)
        return mr_fail(err, MR_E_CONFIG, "source.kafka.topics is empty");
    for (size_t i = 0; i < cfg->kafka_topics.count; i++) {
        const char *topic_z = cfg->kafka_topics.items[i];
        regex_t compiled;
        char text[128];
        int rc;

        if (topic_z[0] != '^')
            continue;
        rc = regcomp(&compiled, topic_z, REG_EXTENDED | REG_NOSUB);
        if (rc == 0) {
            regfree(&compiled);
            continue;
        }
        regerror(rc, NULL, text, sizeof(text));
        return mr_fail(err, MR_E_CONFIG, "source.kafka.topics: \"%s\" is no regular expression: %s",
                       topic_z, text);
    }
    return MR_OK;
}

static bool is_read_committed(rd_kafka_conf_t *conf)
{
    char value[32];
    size_t size = sizeof(value);

    return rd_kafka_conf_get(conf, "isolation.level", value, &size) != RD_KAFKA_CONF_OK ||
           strcmp(value, "read_uncommitted") != 0;
}

enum mr_status mr_kafka_connect(struct mr_source *src, struct mr_error *err)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    enum mr_status status = check_topics(src->cfg, err);
    char text[512];

    for (size_t i = 0; status == MR_OK && i < sizeof(defaults) / sizeof(defaults[0]); i++)
        status = set(conf, defaults[i].name_z, defaults[i].value_z, err);
    if (status == MR_OK)
        status = set_user(conf, &src->cfg->kafka_properties, err);
    if (status == MR_OK)
        status = set_ours(src, conf, err);
    if (status != MR_OK) {
        rd_kafka_conf_destroy(conf);
        return status;
    }
    src->read_committed = is_read_committed(conf);
    rd_kafka_conf_set_opaque(conf, src);
    rd_kafka_conf_set_log_cb(conf, mr_kafka_on_log);
    rd_kafka_conf_set_error_cb(conf, mr_kafka_on_error);
    rd_kafka_conf_set_stats_cb(conf, mr_kafka_on_stats);
    rd_kafka_conf_set_rebalance_cb(conf, mr_kafka_on_rebalance);

    src->rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, text, sizeof(text));
    if (!src->rk) {
        rd_kafka_conf_destroy(conf);
        return mr_fail(err, MR_E_CONFIG, "cannot set up the Kafka client: %s", text);
    }
    rd_kafka_poll_set_consumer(src->rk); /* all callbacks come through one poll */
    return MR_OK;
}
