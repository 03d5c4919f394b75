/* The registry's client out of its options: URLs, credentials, TLS. See schema_registry.h. */
#include "registry_parts.h"

#include <stdio.h>

#include <millrace/base/mem.h>
#include <millrace/base/stop.h>
#include <millrace/base/time.h>

#define MAX_REPLY (UINT64_C(16) << 20)
#define MAX_URLS 64

static enum mr_status option_fail(struct mr_error *err, const char *what_z)
{
    return mr_fail(err, MR_E_CONFIG, "registry: %s", what_z);
}

static void add_text(struct mr_strings *list, struct mr_str text)
{
    list->items = mr_xrealloc(list->items, (list->count + 1) * sizeof(*list->items));
    list->items[list->count++] = mr_xstrndup(text.len != 0 ? text.ptr : "", text.len);
}

static void percent_decode(struct mr_str s, struct mr_buf *out)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned v = 0;
        if (s.ptr[i] == '%' && i + 2 < s.len && sscanf(s.ptr + i + 1, "%2x", &v) == 1) {
            mr_buf_append_char(out, (char)v);
            i += 2;
        } else {
            mr_buf_append_char(out, s.ptr[i]);
        }
    }
}

/* Cut user and password out of a URL. */
static enum mr_status add_url(struct mr_registry *reg, struct mr_str url, struct mr_error *err)
{
    bool is_http = mr_str_starts(url, MR_STR("http://")) || mr_str_starts(url, MR_STR("https://"));
    if (!is_http)
        return option_fail(err, "registry.url must begin with http:// or https://");
    size_t scheme = url.ptr[4] == 's' ? 8 : 7, end = scheme;
    while (url.len > scheme && url.ptr[url.len - 1] == '/')
        url.len--;
    while (end < url.len && url.ptr[end] != '/')
        end++;
    ptrdiff_t at = mr_str_rfind(mr_str_of(url.ptr + scheme, end - scheme), '@');
    struct mr_buf user = MR_BUF_INIT(8192), plain = MR_BUF_INIT(8192);
    mr_buf_append(&plain, url.ptr, scheme);
    if (at >= 0)
        percent_decode(mr_str_of(url.ptr + scheme, (size_t)at), &user);
    mr_buf_append(&plain, url.ptr + scheme + (at + 1), url.len - scheme - (size_t)(at + 1));
    add_text(&reg->urls, mr_buf_str(&plain));
    add_text(&reg->users, mr_buf_str(&user));
    mr_buf_free(&user);
    mr_buf_free(&plain);
    return MR_OK;
}

static enum mr_status read_urls(struct mr_registry *reg, struct mr_error *err)
{
    struct mr_str rest = mr_str_z(reg->cfg->registry.url);
    while (rest.len != 0) {
        ptrdiff_t comma = mr_str_find(rest, ',');
        size_t len = comma < 0 ? rest.len : (size_t)comma;
        struct mr_str one = mr_str_trim(mr_str_of(rest.ptr, len));
        if (one.len != 0)
            MR_TRY(add_url(reg, one, err));
        rest = mr_str_of(rest.ptr + len + (comma >= 0), rest.len - len - (comma >= 0));
    }
    if (reg->urls.count == 0 || reg->urls.count > MAX_URLS)
        return option_fail(err, "registry.url names no URL, or too many");
    if (reg->cfg->registry.url_randomize)
        reg->current = (size_t)((uint64_t)mr_now_us() % reg->urls.count);
    return MR_OK;
}

const char *mr_registry_kafka_property(const struct mr_config *cfg, const char *name_z)
{
    for (size_t i = 0; i < cfg->kafka_properties.count; i++)
        if (strcmp(cfg->kafka_properties.items[i].key, name_z) == 0)
            return cfg->kafka_properties.items[i].value;
    return "";
}

/* What the basic credentials are, for all URLs. */
static enum mr_status read_basic(struct mr_registry *reg, struct mr_error *err)
{
    const struct mr_registry_config *rc = &reg->cfg->registry;
    bool has_info = *rc->basic_user_info != 0, in_url = false;
    for (size_t i = 0; i < reg->users.count; i++)
        in_url = in_url || *reg->users.items[i] != 0;
    const char *source_z = *rc->basic_source != 0 ? rc->basic_source : has_info ? "USER_INFO" : "URL";
    struct mr_buf user = MR_BUF_INIT(8192);
    if (has_info && in_url)
        return option_fail(
            err,
            "user and password stand in registry.url and in registry.basic.auth.user.info; leave one out");
    if (strcmp(source_z, "USER_INFO") == 0) {
        if (strchr(rc->basic_user_info, ':') == NULL)
            return option_fail(err, "registry.basic.auth.user.info must be user:password");
        mr_buf_append_z(&user, rc->basic_user_info);
    } else if (strcmp(source_z, "SASL_INHERIT") == 0) {
        mr_buf_printf(&user, "%s:%s", mr_registry_kafka_property(reg->cfg, "sasl.username"),
                      mr_registry_kafka_property(reg->cfg, "sasl.password"));
    } else if (strcmp(source_z, "URL") != 0) {
        return option_fail(err,
                           "registry.basic.auth.credentials.source must be URL, USER_INFO or SASL_INHERIT");
    }
    for (size_t i = 0; i < reg->users.count && user.len != 0; i++) {
        mr_xfree(reg->users.items[i]);
        reg->users.items[i] = mr_xstrndup(user.data, user.len);
    }
    mr_buf_free(&user);
    return MR_OK;
}

/* "" = no header. */
static enum mr_status add_header(struct mr_registry *reg, const char *name_z, const char *value_z,
                                 struct mr_error *err)
{
    struct mr_buf line = MR_BUF_INIT(65536);
    if (value_z == NULL || *value_z == 0)
        return MR_OK;
    mr_buf_printf(&line, "%s: %s", name_z, value_z);
    bool is_one_line = strpbrk(mr_buf_z(&line), "\r\n") == NULL;
    if (is_one_line)
        reg->headers = curl_slist_append(reg->headers, mr_buf_z(&line));
    mr_buf_free(&line);
    return is_one_line ? MR_OK : option_fail(err, "a header is one line");
}

static enum mr_status read_bearer(struct mr_registry *reg, struct mr_error *err)
{
    const struct mr_registry_config *rc = &reg->cfg->registry;
    bool is_oauth = strcmp(rc->bearer_source, "OAUTHBEARER") == 0 || mr_oauth_is_inherited(rc);
    if (*rc->bearer_source != 0 && !is_oauth && strcmp(rc->bearer_source, "STATIC_TOKEN") != 0)
        return option_fail(err,
                           "registry.bearer.auth.credentials.source must be STATIC_TOKEN, OAUTHBEARER or "
                           "SASL_OAUTHBEARER_INHERIT");
    if (*rc->bearer_token == 0 && !is_oauth)
        return *rc->bearer_source != 0 ? option_fail(err, "registry.bearer.auth.token is missing") : MR_OK;
    for (size_t i = 0; i < reg->users.count; i++)
        if (*reg->users.items[i] != 0)
            return option_fail(err, "there are basic and bearer credentials; leave one out");
    MR_TRY(add_header(reg, "target-sr-cluster", rc->logical_cluster, err));
    MR_TRY(add_header(reg, "Confluent-Identity-Pool-Id", rc->identity_pool, err));
    if (is_oauth)
        return mr_oauth_create(reg->cfg, &reg->oauth, err);
    struct mr_buf line = MR_BUF_INIT(65536);
    mr_buf_printf(&line, "Bearer %s", rc->bearer_token);
    enum mr_status status = add_header(reg, "Authorization", mr_buf_z(&line), err);
    mr_buf_free(&line);
    return status;
}

static size_t on_body(char *data, size_t size, size_t count, void *ctx)
{
    struct mr_buf *body = ctx;
    (void)size; /* always 1 */
    mr_buf_append(body, data, count);
    return body->overflow ? 0 : count;
}

/* A request ends when the program is asked to stop. */
static int on_progress(void *ctx, curl_off_t want, curl_off_t have, curl_off_t send, curl_off_t sent)
{
    (void)ctx, (void)want, (void)have, (void)send, (void)sent;
    return mr_stop_requested() ? 1 : 0;
}

static void set_text(CURL *c, CURLoption option, char *pem_z)
{
    struct curl_blob blob = {.data = pem_z, .len = strlen(pem_z), .flags = CURL_BLOB_COPY};
    if (*pem_z != 0)
        curl_easy_setopt(c, option, &blob);
}

static void set_certificates(struct mr_registry *reg)
{
    const struct mr_registry_config *rc = &reg->cfg->registry;
    CURL *c = reg->curl;
    if (*rc->ca_location != 0)
        curl_easy_setopt(c, CURLOPT_CAINFO, rc->ca_location);
    if (*rc->certificate_location != 0)
        curl_easy_setopt(c, CURLOPT_SSLCERT, rc->certificate_location);
    if (*rc->key_location != 0)
        curl_easy_setopt(c, CURLOPT_SSLKEY, rc->key_location);
    if (*rc->key_password != 0)
        curl_easy_setopt(c, CURLOPT_KEYPASSWD, rc->key_password);
    if (*rc->keystore_location != 0) {
        curl_easy_setopt(c, CURLOPT_SSLCERTTYPE, "P12");
        curl_easy_setopt(c, CURLOPT_SSLCERT, rc->keystore_location);
        curl_easy_setopt(c, CURLOPT_KEYPASSWD, rc->keystore_password);
    }
    set_text(c, CURLOPT_CAINFO_BLOB, rc->ca_pem);
    set_text(c, CURLOPT_SSLCERT_BLOB, rc->certificate_pem);
    set_text(c, CURLOPT_SSLKEY_BLOB, rc->key_pem);
}

/* Each part of what proves who we are is said once. */
static enum mr_status check_certificates(const struct mr_registry_config *rc, struct mr_error *err)
{
    bool has_file = *rc->certificate_location != 0, has_text = *rc->certificate_pem != 0,
         has_store = *rc->keystore_location != 0;
    if (has_file + has_text + has_store > 1)
        return option_fail(err,
                           "registry.ssl.certificate.location, registry.ssl.certificate.pem and "
                           "registry.ssl.keystore.location each name our certificate; leave all but one out");
    if (*rc->ca_location != 0 && *rc->ca_pem != 0)
        return option_fail(
            err, "registry.ssl.ca.location and registry.ssl.ca.pem both name certificates; leave one out");
    if (*rc->key_location != 0 && *rc->key_pem != 0)
        return option_fail(
            err, "registry.ssl.key.location and registry.ssl.key.pem both name our key; leave one out");
    return MR_OK;
}

static void set_transport(struct mr_registry *reg)
{
    const struct mr_registry_config *rc = &reg->cfg->registry;
    CURL *c = reg->curl;
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_HTTP_VERSION,
                     (long)CURL_HTTP_VERSION_1_1); /* Karapace knows no other on plain connections */
    curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L); /* registry_follow.c */
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)rc->connect_timeout_ms);
    curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)rc->connect_timeout_ms + (long)rc->read_timeout_ms);
    curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, &reg->body);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, reg->headers);
    curl_easy_setopt(c, CURLOPT_USERAGENT, "millrace/" MILLRACE_VERSION);
    curl_easy_setopt(c, CURLOPT_ACCEPT_ENCODING, "");
    curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, rc->verify ? 1L : 0L);
    bool checks_host =
        rc->verify && strcmp(rc->endpoint_algorithm, "none") != 0 && *rc->endpoint_algorithm != 0;
    curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, checks_host ? 2L : 0L);
    set_certificates(reg);
    if (*rc->proxy != 0)
        curl_easy_setopt(c, CURLOPT_PROXY, rc->proxy);
}

static enum mr_status set_up(struct mr_registry *reg, struct mr_error *err)
{
    static const char accept_z[] = "Accept: application/vnd.schemaregistry.v1+json, "
                                   "application/vnd.schemaregistry+json; q=0.9, application/json; q=0.5";
    reg->headers = curl_slist_append(NULL, accept_z);
    reg->plain_headers = curl_slist_append(NULL, accept_z);
    MR_TRY(check_certificates(&reg->cfg->registry, err));
    MR_TRY(read_urls(reg, err));
    MR_TRY(mr_registry_cache_check(reg, err));
    MR_TRY(read_basic(reg, err));
    MR_TRY(read_bearer(reg, err));
    for (size_t i = 0; i < reg->cfg->registry.headers.count; i++) {
        const struct mr_pair *pair = &reg->cfg->registry.headers.items[i];
        MR_TRY(add_header(reg, pair->key, pair->value, err));
    }
    if (reg->curl == NULL || reg->headers == NULL || reg->plain_headers == NULL)
        return mr_fail(err, MR_E_ENV, "libcurl cannot be set up");
    set_transport(reg);
    return MR_OK;
}

enum mr_status mr_registry_create(const struct mr_config *cfg, struct mr_registry **out, struct mr_error *err)
{
    struct mr_registry *reg = mr_xcalloc(1, sizeof(*reg));
    reg->cfg = cfg;
    reg->body = MR_BUF_INIT(MAX_REPLY);
    reg->first_failure_ms = -1;
    reg->missing_since_ms = reg->from_files_ms = INT64_MIN;
    curl_global_init(CURL_GLOBAL_DEFAULT);
    reg->curl = curl_easy_init();
    enum mr_status status = set_up(reg, err);
    if (status != MR_OK) {
        mr_registry_destroy(reg);
        return status;
    }
    *out = reg;
    return MR_OK;
}

static void free_texts(struct mr_strings *list)
{
    for (size_t i = 0; i < list->count; i++)
        mr_xfree(list->items[i]);
    mr_xfree(list->items);
}

void mr_registry_destroy(struct mr_registry *reg)
{
    if (reg == NULL)
        return;
    mr_oauth_destroy(reg->oauth);
    curl_easy_cleanup(reg->curl);
    curl_slist_free_all(reg->headers);
    curl_slist_free_all(reg->plain_headers);
    free_texts(&reg->urls);
    free_texts(&reg->users);
    mr_buf_free(&reg->body);
    mr_xfree(reg);
}
