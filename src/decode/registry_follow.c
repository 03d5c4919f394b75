/* Redirects of a registry. libcurl would take them along by itself, but it hands headers that we do not know for credentials (`X-Api-Key`) to
 * whatever host it is sent to. So each step is a request of its own: to the registry's own host with all that is ours, to another one with none of it. */
#include "registry_parts.h"

#define MAX_REDIRECTS 5

/* Scheme, host and port; NULL where it is no URL. To be freed with curl_free. */
static char *origin_of(const char *url_z)
{
    char *origin_z = NULL;
    CURLU *u = curl_url();
    if (u != NULL && curl_url_set(u, CURLUPART_URL, url_z, 0) == CURLUE_OK) {
        (void)curl_url_set(u, CURLUPART_PATH, "/", 0);
        (void)curl_url_set(u, CURLUPART_QUERY, NULL, 0);
        (void)curl_url_set(u, CURLUPART_FRAGMENT, NULL, 0);
        (void)curl_url_set(u, CURLUPART_USER, NULL, 0);
        (void)curl_url_set(u, CURLUPART_PASSWORD, NULL, 0);
        (void)curl_url_get(u, CURLUPART_URL, &origin_z, CURLU_DEFAULT_PORT);
    }
    curl_url_cleanup(u);
    return origin_z;
}

static bool is_same_origin(const char *a_z, const char *b_z)
{
    char *a = origin_of(a_z), *b = origin_of(b_z);
    bool same = a != NULL && b != NULL && strcmp(a, b) == 0;
    curl_free(a);
    curl_free(b);
    return same;
}

static void forget_credentials(struct mr_registry *reg)
{
    curl_easy_setopt(reg->curl, CURLOPT_USERPWD, NULL);
    curl_easy_setopt(reg->curl, CURLOPT_HTTPHEADER, reg->plain_headers);
}

CURLcode mr_registry_follow(struct mr_registry *reg, const char *url_z)
{
    for (int i = 0;; i++) {
        long http = 0;
        char *to_z = NULL;
        CURLcode code = curl_easy_perform(reg->curl);
        if (code != CURLE_OK)
            return code;
        curl_easy_getinfo(reg->curl, CURLINFO_RESPONSE_CODE, &http);
        curl_easy_getinfo(reg->curl, CURLINFO_REDIRECT_URL, &to_z);
        if (http < 300 || http > 399 || to_z == NULL)
            return CURLE_OK;
        if (i == MAX_REDIRECTS)
            return CURLE_TOO_MANY_REDIRECTS;
        if (!is_same_origin(url_z, to_z))
            forget_credentials(reg); /* for good: who has been elsewhere is not trusted to lead back */
        mr_buf_clear(&reg->body);
        curl_easy_setopt(reg->curl, CURLOPT_URL, to_z); /* copied before the text of getinfo goes */
    }
}
