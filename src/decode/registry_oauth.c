/* Tokens for the registry. See registry_oauth.h. */
#include "registry_oauth.h"

#include <stdio.h>

#include <curl/curl.h>

#include <millrace/base/mem.h>
#include <millrace/base/stop.h>
#include <millrace/base/time.h>

#include "json.h"
#include "registry_parts.h"
#include "registry_reply.h"

#define MAX_REPLY (UINT64_C(1) << 20)

struct mr_oauth {
    const struct mr_registry_config *rc;
    const char *url_z, *id_z, *secret_z,
        *scope_z; /* of the issuer; the registry's own settings, or Kafka's */
    CURL *curl;
    struct mr_buf body;
    char *token_z;    /* NULL = none */
    int64_t until_ms; /* when to ask for another one */
    bool is_accepted; /* the registry has taken it */
};

static size_t on_body(char *data, size_t size, size_t count, void *ctx)
{
    struct mr_buf *body = ctx;
    (void)size; /* always 1 */
    mr_buf_append(body, data, count);
    return body->overflow ? 0 : count;
}

static int on_progress(void *ctx, curl_off_t want, curl_off_t have, curl_off_t send, curl_off_t sent)
{
    (void)ctx, (void)want, (void)have, (void)send, (void)sent;
    return mr_stop_requested() ? 1 : 0;
}

bool mr_oauth_is_inherited(const struct mr_registry_config *rc)
{
    return strcmp(rc->bearer_source, "SASL_OAUTHBEARER_INHERIT") == 0;
}

enum mr_status mr_oauth_create(const struct mr_config *cfg, struct mr_oauth **out, struct mr_error *err)
{
    const struct mr_registry_config *rc = &cfg->registry;
    struct mr_oauth own = {.rc = rc,
                           .url_z = rc->oauth_url,
                           .id_z = rc->oauth_client_id,
                           .secret_z = rc->oauth_client_secret,
                           .scope_z = rc->oauth_scope};
    if (mr_oauth_is_inherited(rc))
        own =
            (struct mr_oauth){.rc = rc,
                              .url_z = mr_registry_kafka_property(cfg, "sasl.oauthbearer.token.endpoint.url"),
                              .id_z = mr_registry_kafka_property(cfg, "sasl.oauthbearer.client.id"),
                              .secret_z = mr_registry_kafka_property(cfg, "sasl.oauthbearer.client.secret"),
                              .scope_z = mr_registry_kafka_property(cfg, "sasl.oauthbearer.scope")};
    if (*own.url_z == 0 || *own.id_z == 0 || *own.secret_z == 0)
        return mr_fail(err, MR_E_CONFIG, "registry: %s needs %s",
                       mr_oauth_is_inherited(rc) ? "SASL_OAUTHBEARER_INHERIT" : "OAUTHBEARER",
                       mr_oauth_is_inherited(rc)
                           ? "sasl.oauthbearer.token.endpoint.url, sasl.oauthbearer.client.id and "
                             "sasl.oauthbearer.client.secret among source.kafka.properties"
                           : "registry.bearer.auth.issuer.endpoint.url, registry.bearer.auth.client.id and "
                             "registry.bearer.auth.client.secret");
    struct mr_oauth *o = mr_xcalloc(1, sizeof(*o));
    *o = own;
    o->body = MR_BUF_INIT(MAX_REPLY);
    o->curl = curl_easy_init();
    *out = o;
    return MR_OK;
}

void mr_oauth_destroy(struct mr_oauth *o)
{
    if (o == NULL)
        return;
    curl_easy_cleanup(o->curl);
    mr_buf_free(&o->body);
    mr_xfree(o->token_z);
    mr_xfree(o);
}

static CURLcode post(struct mr_oauth *o, long *http)
{
    CURL *c = o->curl;
    struct mr_buf fields = MR_BUF_INIT(65536);
    mr_buf_append_z(&fields, "grant_type=client_credentials");
    if (*o->scope_z != 0) {
        char *scope_z = curl_easy_escape(c, o->scope_z, 0);
        mr_buf_printf(&fields, "&scope=%s", scope_z != NULL ? scope_z : "");
        curl_free(scope_z);
    }
    mr_buf_clear(&o->body);
    o->body.overflow = false;
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_URL, o->url_z);
    curl_easy_setopt(c, CURLOPT_COPYPOSTFIELDS, mr_buf_z(&fields));
    curl_easy_setopt(c, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
    curl_easy_setopt(c, CURLOPT_USERNAME, o->id_z);
    curl_easy_setopt(c, CURLOPT_PASSWORD, o->secret_z);
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)o->rc->connect_timeout_ms);
    curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)o->rc->connect_timeout_ms + (long)o->rc->read_timeout_ms);
    curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, &o->body);
    curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, o->rc->verify ? 1L : 0L);
    if (*o->rc->ca_location != 0)
        curl_easy_setopt(c, CURLOPT_CAINFO, o->rc->ca_location);
    struct curl_blob pem = {.data = o->rc->ca_pem, .len = strlen(o->rc->ca_pem), .flags = CURL_BLOB_COPY};
    if (pem.len != 0)
        curl_easy_setopt(c, CURLOPT_CAINFO_BLOB, &pem);
    if (*o->rc->proxy != 0)
        curl_easy_setopt(c, CURLOPT_PROXY, o->rc->proxy);
    CURLcode code = curl_easy_perform(c);
    *http = 0;
    curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, http);
    mr_buf_free(&fields);
    return code;
}

/* {"access_token": …, "expires_in": seconds} */
static bool read_token(struct mr_oauth *o)
{
    struct mr_json_limits limits = {.max_depth = 50, .max_bytes = MAX_REPLY};
    struct mr_json_reader *reader = mr_json_reader_create(&limits);
    struct mr_arena *ar = mr_arena_create(1024);
    struct mr_json_doc doc;
    bool is_token = false;
    if (mr_json_parse(reader, mr_buf_str(&o->body), &doc, NULL) == MR_OK &&
        mr_json_is(&doc, 0, MR_J_OBJECT)) {
        uint32_t node = MR_JSON_MEMBER(&doc, 0, "access_token");
        int64_t seconds = 300;
        struct mr_str token =
            mr_json_is(&doc, node, MR_J_STRING) ? mr_json_string(&doc, node, ar, NULL) : MR_STR("");
        (void)mr_json_int64(&doc, MR_JSON_MEMBER(&doc, 0, "expires_in"), &seconds);
        is_token = token.len != 0 && memchr(token.ptr, '\r', token.len) == NULL &&
                   memchr(token.ptr, '\n', token.len) == NULL;
        if (is_token) {
            int64_t early = o->rc->oauth_buffer_s;
            seconds = seconds < 0 ? 0 : seconds > 86400 ? 86400 : seconds;
            mr_xfree(o->token_z);
            o->token_z = mr_xstrndup(token.ptr, token.len);
            /* One that lives shorter than the buffer is used for half of its life. */
            o->until_ms = mr_monotonic_ms() + (seconds > early ? seconds - early : seconds / 2) * 1000;
            o->is_accepted = false;
        }
    }
    mr_arena_destroy(ar);
    mr_json_reader_destroy(reader);
    return is_token;
}

enum mr_status mr_oauth_token(struct mr_oauth *o, const char **token_z, struct mr_error *err)
{
    long http;
    *token_z = o->token_z;
    if (o->token_z != NULL && mr_monotonic_ms() < o->until_ms)
        return MR_OK;
    CURLcode code = post(o, &http);
    if (code != CURLE_OK)
        return mr_registry_fail(err, MR_E_ENV, MR_CODE_REGISTRY_DOWN,
                                "the issuer of tokens for the schema registry: %s", curl_easy_strerror(code));
    if (http == 400 || http == 401 || http == 403)
        return mr_registry_fail(err, MR_E_CONFIG, MR_CODE_REGISTRY_AUTH,
                                "the issuer of tokens for the schema registry refuses us (status %ld)", http);
    if (http < 200 || http >= 300 || !read_token(o))
        return mr_registry_fail(err, MR_E_ENV, MR_CODE_REGISTRY_REPLY,
                                "the issuer of tokens for the schema registry gives none (status %ld)", http);
    *token_z = o->token_z;
    return MR_OK;
}

void mr_oauth_accepted(struct mr_oauth *o)
{
    o->is_accepted = true;
}

bool mr_oauth_forget(struct mr_oauth *o)
{
    bool was_accepted = o->is_accepted;
    o->is_accepted = false;
    mr_xfree(o->token_z);
    o->token_z = NULL;
    return was_accepted;
}
