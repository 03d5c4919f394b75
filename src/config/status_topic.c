/* The settings of `status`: what a topic needs, and that nobody reads what he writes. */
#include "option.h"

#include <millrace/base/mem.h>

#include <regex.h>

#define MAX_TOPIC 249    /* Kafka's */
#define MAX_DATAMART 255 /* characters of a column of ours */

static bool is_topic_name(const char *name_z)
{
    size_t len = strlen(name_z);
    if (len == 0 || len > MAX_TOPIC || strcmp(name_z, ".") == 0 || strcmp(name_z, "..") == 0)
        return false;
    for (size_t i = 0; i < len; i++) {
        char c = name_z[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
              c == '_' || c == '-'))
            return false;
    }
    return true;
}

static bool is_read(const char *wanted_z, const char *topic_z)
{
    regex_t compiled;
    if (wanted_z[0] != '^')
        return strcmp(wanted_z, topic_z) == 0;
    if (regcomp(&compiled, wanted_z, REG_EXTENDED | REG_NOSUB) != 0)
        return false; /* told by the source */
    bool matches = regexec(&compiled, topic_z, 0, NULL, 0) == 0;
    regfree(&compiled);
    return matches;
}

static bool is_on_source(const struct mr_config *cfg)
{
    return !*cfg->status_brokers || strcmp(cfg->status_brokers, cfg->kafka_brokers) == 0;
}

enum mr_status mr_config_check_status(const struct mr_config *cfg, struct mr_error *err)
{
    const char *topic_z = cfg->status_topic;
    if (!*topic_z)
        return MR_OK;
    if (!is_topic_name(topic_z))
        return mr_config_fail(cfg, &cfg->status_topic, err,
                              "is no name of a topic: letters, digits, '.', '_' and '-', at most 249");
    if (!*cfg->status_brokers && !*cfg->kafka_brokers)
        return mr_config_fail(cfg, &cfg->status_topic, err,
                              "needs status.kafka.brokers, since no Kafka source is set");
    if (strlen(cfg->status_datamart) > MAX_DATAMART)
        return mr_config_fail(cfg, &cfg->status_datamart, err, "is longer than 255 bytes");
    for (size_t i = 0; is_on_source(cfg) && i < cfg->kafka_topics.count; i++)
        if (is_read(cfg->kafka_topics.items[i], topic_z))
            return mr_config_fail(
                cfg, &cfg->status_topic, err,
                "is a topic that source.kafka.topics reads: the pipeline would feed on its own events");
    return MR_OK;
}

void mr_config_complete_status(struct mr_config *cfg)
{
    cfg->status_on_source = is_on_source(cfg);
    if (!*cfg->status_topic || *cfg->status_brokers)
        return;
    mr_xfree(cfg->status_brokers);
    cfg->status_brokers = mr_xstrdup(cfg->kafka_brokers);
}
