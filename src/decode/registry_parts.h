/* The registry's client from inside: registry_setup.c makes it of the options, schema_registry.c asks with it, registry_follow.c goes after redirects,
 * registry_cache.c keeps answers in files. */
#ifndef MILLRACE_DECODE_REGISTRY_PARTS_H
#define MILLRACE_DECODE_REGISTRY_PARTS_H

#include <curl/curl.h>

#include "registry_oauth.h"

struct mr_registry {
    const struct mr_config *cfg;
    CURL *curl;
    struct curl_slist *headers;
    struct curl_slist *plain_headers; /* without what only the registry itself may see */
    struct mr_oauth *oauth;   /* NULL = no such credentials */
    struct mr_strings urls;   /* without user, password and trailing slash */
    struct mr_strings users;  /* user:password of each, "" = none */
    size_t current;           /* the one that answered last */
    bool has_answered;        /* with sense, once at least */
    int64_t first_failure_ms; /* of a registry that has never done so; -1 = none yet */
    int64_t missing_since_ms; /* when waiting for an unknown id was in vain; INT64_MIN = not lately */
    bool is_from_file;        /* the answer in `body` */
    int64_t from_files_ms;    /* when it was down and a file answered last; INT64_MIN = it answers, as far as known */
    struct mr_buf body;
};

/* registry_cache.c. An answer (reg->body) to the request of that path is kept, or found again. CONFIG: a folder that cannot be used. */
enum mr_status mr_registry_cache_check(const struct mr_registry *reg, struct mr_error *err) MR_MUST_CHECK;
void mr_registry_cache_put(struct mr_registry *reg, const char *path_z);
bool mr_registry_cache_get(struct mr_registry *reg, const char *path_z);

/* Perform the request that is set up, to url_z, and what it is redirected to. Credentials and headers of the configuration go to the host of url_z only. */
CURLcode mr_registry_follow(struct mr_registry *reg, const char *url_z);

/* A property of source.kafka.properties; "" = not set. */
const char *mr_registry_kafka_property(const struct mr_config *cfg, const char *name_z);

#endif
