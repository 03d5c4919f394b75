/* The registry's client from inside: registry_setup.c makes it of the options, schema_registry.c asks with it. */
#ifndef MILLRACE_DECODE_REGISTRY_PARTS_H
#define MILLRACE_DECODE_REGISTRY_PARTS_H

#include <curl/curl.h>

#include "registry_oauth.h"

struct mr_registry {
    const struct mr_config *cfg;
    CURL *curl;
    struct curl_slist *headers;
    struct mr_oauth *oauth;   /* NULL = no such credentials */
    struct mr_strings urls;   /* without user, password and trailing slash */
    struct mr_strings users;  /* user:password of each, "" = none */
    size_t current;           /* the one that answered last */
    bool has_answered;        /* with sense, once at least */
    int64_t first_failure_ms; /* of a registry that has never done so; -1 = none yet */
    int64_t missing_since_ms; /* when waiting for an unknown id was in vain; INT64_MIN = not lately */
    struct mr_buf body;
};

/* A property of source.kafka.properties; "" = not set. */
const char *mr_registry_kafka_property(const struct mr_config *cfg, const char *name_z);

#endif
