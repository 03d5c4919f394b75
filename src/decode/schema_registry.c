/* The registry's client over libcurl. See schema_registry.h.
 *
 * A request goes to the URL that answered last; where it fails in a way that may pass, it is repeated with growing waits, then the next URL is
 * tried. What no URL answers is trouble of the environment: the engine pauses the partitions and asks again, and no record is lost. An id that
 * the registry does not know is asked for again for a while: a registry that has just started says that of all its ids. */
#include "schema_registry.h"

#include <stdio.h>

#include <curl/curl.h>

#include <millrace/base/backoff.h>
#include <millrace/base/log.h>
#include <millrace/base/mem.h>
#include <millrace/base/time.h>

#include "registry_reply.h"

#define MAX_REPLY (UINT64_C(16) << 20)
#define MAX_URLS 64
#define MISSING_PAUSE_MS 500
#define MISSING_BELIEVED_MS 60000

struct mr_registry {
    const struct mr_config *cfg;
    CURL *curl;
    struct curl_slist *headers;
    struct mr_strings urls; /* without user, password and trailing slash */
    struct mr_strings users; /* user:password of each, "" = none */
    size_t current;          /* the one that answered last */
    bool has_answered;       /* with sense, once at least */
    int64_t first_failure_ms; /* of a registry that has never done so; -1 = none yet */
    int64_t missing_since_ms; /* when waiting for an unknown id was in vain; INT64_MIN = not lately */
    struct mr_buf body;
};

/* ---- Setting up ---- */

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
    return MR_OK;
}

static const char *kafka_property(const struct mr_config *cfg, const char *name_z)
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
        return option_fail(err, "user and password stand in registry.url and in registry.basic.auth.user.info; leave one out");
    if (strcmp(source_z, "USER_INFO") == 0) {
        if (strchr(rc->basic_user_info, ':') == NULL)
            return option_fail(err, "registry.basic.auth.user.info must be user:password");
        mr_buf_append_z(&user, rc->basic_user_info);
    } else if (strcmp(source_z, "SASL_INHERIT") == 0) {
        mr_buf_printf(&user, "%s:%s", kafka_property(reg->cfg, "sasl.username"), kafka_property(reg->cfg, "sasl.password"));
    } else if (strcmp(source_z, "URL") != 0) {
        return option_fail(err, "registry.basic.auth.credentials.source must be URL, USER_INFO or SASL_INHERIT");
    }
    for (size_t i = 0; i < reg->users.count && user.len != 0; i++) {
        mr_xfree(reg->users.items[i]);
        reg->users.items[i] = mr_xstrndup(user.data, user.len);
    }
    mr_buf_free(&user);
    return MR_OK;
}

static enum mr_status read_bearer(struct mr_registry *reg, struct mr_error *err)
{
    const struct mr_registry_config *rc = &reg->cfg->registry;
    if (*rc->bearer_source != 0 && strcmp(rc->bearer_source, "STATIC_TOKEN") != 0)
        return option_fail(err, "registry.bearer.auth.credentials.source must be STATIC_TOKEN");
    if (*rc->bearer_token == 0)
        return *rc->bearer_source != 0 ? option_fail(err, "registry.bearer.auth.token is missing") : MR_OK;
    for (size_t i = 0; i < reg->users.count; i++)
        if (*reg->users.items[i] != 0)
            return option_fail(err, "there are basic and bearer credentials; leave one out");
    struct mr_buf line = MR_BUF_INIT(65536);
    mr_buf_printf(&line, "Authorization: Bearer %s", rc->bearer_token);
    reg->headers = curl_slist_append(reg->headers, mr_buf_z(&line));
    mr_buf_free(&line);
    return MR_OK;
}

static size_t on_body(char *data, size_t size, size_t count, void *ctx)
{
    struct mr_buf *body = ctx;
    (void)size; /* always 1 */
    mr_buf_append(body, data, count);
    return body->overflow ? 0 : count;
}

static void set_transport(struct mr_registry *reg)
{
    const struct mr_registry_config *rc = &reg->cfg->registry;
    CURL *c = reg->curl;
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1); /* Karapace knows no other on plain connections */
    curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(c, CURLOPT_MAXREDIRS, 5L);
    curl_easy_setopt(c, CURLOPT_UNRESTRICTED_AUTH, 0L); /* credentials stay with their host */
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)rc->connect_timeout_ms);
    curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)rc->connect_timeout_ms + (long)rc->read_timeout_ms);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, &reg->body);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, reg->headers);
    curl_easy_setopt(c, CURLOPT_USERAGENT, "millrace/" MILLRACE_VERSION);
    curl_easy_setopt(c, CURLOPT_ACCEPT_ENCODING, "");
    curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, rc->verify ? 1L : 0L);
    bool checks_host = rc->verify && strcmp(rc->endpoint_algorithm, "none") != 0 && *rc->endpoint_algorithm != 0;
    curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, checks_host ? 2L : 0L);
    if (*rc->ca_location != 0)
        curl_easy_setopt(c, CURLOPT_CAINFO, rc->ca_location);
    if (*rc->certificate_location != 0)
        curl_easy_setopt(c, CURLOPT_SSLCERT, rc->certificate_location);
    if (*rc->key_location != 0)
        curl_easy_setopt(c, CURLOPT_SSLKEY, rc->key_location);
    if (*rc->key_password != 0)
        curl_easy_setopt(c, CURLOPT_KEYPASSWD, rc->key_password);
    if (*rc->proxy != 0)
        curl_easy_setopt(c, CURLOPT_PROXY, rc->proxy);
}

static enum mr_status set_up(struct mr_registry *reg, struct mr_error *err)
{
    reg->headers = curl_slist_append(NULL, "Accept: application/vnd.schemaregistry.v1+json, "
                                           "application/vnd.schemaregistry+json; q=0.9, application/json; q=0.5");
    MR_TRY(read_urls(reg, err));
    MR_TRY(read_basic(reg, err));
    MR_TRY(read_bearer(reg, err));
    for (size_t i = 0; i < reg->cfg->registry.headers.count; i++) {
        const struct mr_pair *pair = &reg->cfg->registry.headers.items[i];
        struct mr_buf line = MR_BUF_INIT(65536);
        mr_buf_printf(&line, "%s: %s", pair->key, pair->value);
        bool is_one_line = strpbrk(mr_buf_z(&line), "\r\n") == NULL;
        if (is_one_line)
            reg->headers = curl_slist_append(reg->headers, mr_buf_z(&line));
        mr_buf_free(&line);
        if (!is_one_line)
            return option_fail(err, "registry.request.header: a header is one line");
    }
    if (reg->curl == NULL || reg->headers == NULL)
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
    reg->missing_since_ms = INT64_MIN;
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
    curl_easy_cleanup(reg->curl);
    curl_slist_free_all(reg->headers);
    free_texts(&reg->urls);
    free_texts(&reg->users);
    mr_buf_free(&reg->body);
    mr_xfree(reg);
}

/* ---- One request ---- */

enum outcome {
    ANSWERED,  /* with some status */
    PASSING,   /* trouble that may pass: again, then the next URL */
    FINAL_TLS, /* a certificate that will not do */
};

static enum outcome perform(struct mr_registry *reg, const char *path_z, long *http, struct mr_error *err)
{
    const char *base_z = reg->urls.items[reg->current];
    struct mr_buf url = MR_BUF_INIT(65536);
    mr_buf_append_z(&url, base_z);
    if (*reg->cfg->registry.context != 0)
        mr_buf_printf(&url, "/contexts/%s", reg->cfg->registry.context);
    mr_buf_append_z(&url, path_z);
    mr_buf_clear(&reg->body);
    reg->body.overflow = false;
    curl_easy_setopt(reg->curl, CURLOPT_URL, mr_buf_z(&url));
    const char *user_z = reg->users.items[reg->current];
    curl_easy_setopt(reg->curl, CURLOPT_USERPWD, NULL);
    if (*user_z != 0) {
        struct mr_str user = mr_str_z(user_z);
        ptrdiff_t colon = mr_str_find(user, ':');
        char *name_z = mr_xstrndup(user_z, colon < 0 ? user.len : (size_t)colon);
        curl_easy_setopt(reg->curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
        curl_easy_setopt(reg->curl, CURLOPT_USERNAME, name_z);
        curl_easy_setopt(reg->curl, CURLOPT_PASSWORD, colon < 0 ? "" : user_z + colon + 1);
        mr_xfree(name_z);
    }
    CURLcode code = curl_easy_perform(reg->curl);
    mr_buf_free(&url);
    *http = 0;
    if (code == CURLE_OK) {
        curl_easy_getinfo(reg->curl, CURLINFO_RESPONSE_CODE, http);
        return ANSWERED;
    }
    bool is_tls = code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CERTPROBLEM || code == CURLE_SSL_CACERT_BADFILE ||
                  code == CURLE_SSL_ISSUER_ERROR || code == CURLE_SSL_INVALIDCERTSTATUS || code == CURLE_SSL_ENGINE_NOTFOUND;
    mr_registry_fail(err, is_tls ? MR_E_CONFIG : MR_E_ENV, is_tls ? MR_CODE_REGISTRY_TLS : MR_CODE_REGISTRY_DOWN,
                     "the schema registry %s: %s", base_z, curl_easy_strerror(code));
    return is_tls ? FINAL_TLS : PASSING;
}

static bool is_passing(long http)
{
    return http == 408 || http == 429 || http == 500 || http == 502 || http == 503 || http == 504;
}

/* How long the server asks to wait, within our own bounds. */
static int64_t wait_ms(struct mr_registry *reg, struct mr_backoff *backoff)
{
    int64_t ms = mr_backoff_next_ms(backoff);
    curl_off_t after = 0;
    if (curl_easy_getinfo(reg->curl, CURLINFO_RETRY_AFTER, &after) == CURLE_OK && after > 0 && after < 3600)
        ms = (int64_t)after * 1000 > ms ? (int64_t)after * 1000 : ms;
    return ms > reg->cfg->registry.retries_max_wait_ms ? reg->cfg->registry.retries_max_wait_ms : ms;
}

/* The current URL, with repetitions. */
static enum mr_status ask_current(struct mr_registry *reg, const char *path_z, long *http, struct mr_error *err)
{
    struct mr_backoff backoff;
    mr_backoff_init(&backoff, reg->cfg->registry.retries_wait_ms, reg->cfg->registry.retries_max_wait_ms);
    for (uint32_t try = 0;; try++) {
        enum outcome outcome = perform(reg, path_z, http, err);
        if (outcome == FINAL_TLS)
            return MR_E_CONFIG;
        if (outcome == ANSWERED && !is_passing(*http))
            return MR_OK;
        if (outcome == ANSWERED)
            mr_registry_fail(err, MR_E_ENV, MR_CODE_REGISTRY_DOWN, "the schema registry %s answers with status %ld",
                             reg->urls.items[reg->current], *http);
        if (try >= reg->cfg->registry.max_retries)
            return MR_E_ENV;
        mr_sleep_ms(wait_ms(reg, &backoff));
    }
}

/* A registry that has never answered at all is most likely a wrong URL. */
static enum mr_status down(struct mr_registry *reg, struct mr_error *err)
{
    int64_t now = mr_monotonic_ms();
    reg->missing_since_ms = INT64_MIN;
    if (reg->first_failure_ms < 0)
        reg->first_failure_ms = now;
    mr_error_hint(err, "no record is skipped; reading goes on when the registry answers (registry.url)");
    if (reg->has_answered || now - reg->first_failure_ms < reg->cfg->connect_timeout_ms)
        return MR_E_ENV;
    if (err != NULL)
        err->status = MR_E_CONFIG;
    mr_error_hint(err, "it has not given one sensible answer; does registry.url lead to a schema registry?");
    return MR_E_CONFIG;
}

static enum mr_status ask(struct mr_registry *reg, const char *path_z, long *http, struct mr_error *err)
{
    for (size_t i = 0; i < reg->urls.count; i++) {
        enum mr_status status = ask_current(reg, path_z, http, err);
        if (status != MR_E_ENV)
            return status;
        reg->current = (reg->current + 1) % reg->urls.count;
    }
    return down(reg, err);
}

/* ---- Schemas ---- */

/* What a status other than success means. 404 is the caller's matter. */
static enum mr_status refused(struct mr_registry *reg, const char *path_z, long http, struct mr_arena *ar, struct mr_error *err)
{
    int64_t code;
    struct mr_str message;
    const char *base_z = reg->urls.items[reg->current];
    mr_registry_read_error(mr_buf_str(&reg->body), ar, &code, &message);
    if (http == 401 || http == 403) {
        mr_registry_fail(err, MR_E_CONFIG, MR_CODE_REGISTRY_AUTH, "the schema registry %s does not let us in (status %ld): %.*s", base_z,
                         http, (int)(message.len < 200 ? message.len : 200), message.len ? message.ptr : "");
        mr_error_hint(err, "user and password: registry.basic.auth.user.info; a token: registry.bearer.auth.token");
        return MR_E_CONFIG;
    }
    mr_registry_fail(err, MR_E_ENV, MR_CODE_REGISTRY_REPLY, "the schema registry %s answers GET %.200s with status %ld%s%.*s", base_z,
                     path_z, http, message.len != 0 ? ": " : "", (int)(message.len < 200 ? message.len : 200),
                     message.len ? message.ptr : "");
    return down(reg, err);
}

/* Is it a 404 that speaks of the schema, not of a path that the server does not have? */
static bool is_missing(struct mr_registry *reg, long http, struct mr_arena *ar)
{
    int64_t code;
    struct mr_str message;
    if (http != 404)
        return false;
    mr_registry_read_error(mr_buf_str(&reg->body), ar, &code, &message);
    return code == 40403 || code == 40401 || code == 40402; /* a plain 404 is a path that the server does not have */
}

/* *is_unknown where the registry has no such schema. */
static enum mr_status fetch(struct mr_registry *reg, const char *path_z, struct mr_arena *ar, struct mr_schema_reply *out,
                            bool *is_unknown, struct mr_error *err)
{
    long http;
    int64_t start = mr_monotonic_ms();
    *is_unknown = false;
    for (;;) {
        MR_TRY(ask(reg, path_z, &http, err));
        if (http >= 200 && http < 300) {
            enum mr_status status =
                mr_registry_read_reply(mr_buf_str(&reg->body), reg->cfg->registry.ignore_rules, ar, out, err);
            if (status != MR_OK)
                mr_error_prefix(err, "GET %s%s: ", reg->urls.items[reg->current], path_z);
            reg->has_answered = reg->has_answered || status == MR_OK;
            return status == MR_E_ENV ? down(reg, err) : status;
        }
        if (!is_missing(reg, http, ar))
            return refused(reg, path_z, http, ar, err);
        reg->has_answered = true;
        int64_t now = mr_monotonic_ms();
        bool is_believed = reg->missing_since_ms != INT64_MIN && now - reg->missing_since_ms < MISSING_BELIEVED_MS;
        if (is_believed || now - start >= reg->cfg->registry.missing_wait_ms)
            break;
        int64_t left = reg->cfg->registry.missing_wait_ms - (now - start);
        mr_sleep_ms(left < MISSING_PAUSE_MS ? left : MISSING_PAUSE_MS);
    }
    if (reg->missing_since_ms == INT64_MIN || mr_monotonic_ms() - reg->missing_since_ms >= MISSING_BELIEVED_MS)
        reg->missing_since_ms = mr_monotonic_ms();
    *is_unknown = true;
    return MR_OK;
}

static enum mr_status by(struct mr_registry *reg, const char *what_z, const char *path_z, struct mr_arena *ar,
                         struct mr_schema_reply *out, struct mr_error *err)
{
    bool is_unknown;
    MR_TRY(fetch(reg, path_z, ar, out, &is_unknown, err));
    if (!is_unknown)
        return MR_OK;
    enum mr_status status = mr_fail_data(err, MR_CODE_UNKNOWN_SCHEMA, "the schema registry has no schema %s", what_z);
    mr_error_hint(err, "the record was written with another registry, or the schema has been deleted there");
    return status;
}

enum mr_status mr_registry_by_id(struct mr_registry *reg, uint32_t id, struct mr_arena *ar, struct mr_schema_reply *out,
                                 struct mr_error *err)
{
    char path[64], what[32];
    snprintf(path, sizeof(path), "/schemas/ids/%u", id);
    snprintf(what, sizeof(what), "%u", id);
    return by(reg, what, path, ar, out, err);
}

enum mr_status mr_registry_by_guid(struct mr_registry *reg, const char *guid_z, struct mr_arena *ar, struct mr_schema_reply *out,
                                   struct mr_error *err)
{
    char path[96];
    snprintf(path, sizeof(path), "/schemas/guids/%s", guid_z);
    return by(reg, guid_z, path, ar, out, err);
}

enum mr_status mr_registry_by_version(struct mr_registry *reg, struct mr_str subject, int64_t version, struct mr_arena *ar,
                                      struct mr_schema_reply *out, struct mr_error *err)
{
    static const char hex[] = "0123456789ABCDEF";
    struct mr_buf path = MR_BUF_INIT(65536);
    bool is_unknown = false;
    mr_buf_append_z(&path, "/subjects/");
    for (size_t i = 0; i < subject.len; i++) {
        unsigned char c = (unsigned char)subject.ptr[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
                        c == '_' || c == '~';
        if (!is_plain) {
            mr_buf_append_char(&path, '%');
            mr_buf_append_char(&path, hex[c >> 4]);
        }
        mr_buf_append_char(&path, is_plain ? (char)c : hex[c & 15]);
    }
    mr_buf_printf(&path, "/versions/%lld?deleted=true", (long long)version);
    enum mr_status status = mr_buf_check(&path, "the subject's name", err);
    if (status == MR_OK)
        status = fetch(reg, mr_buf_z(&path), ar, out, &is_unknown, err);
    if (status == MR_OK && is_unknown)
        status = mr_fail_data(err, MR_CODE_BAD_SCHEMA, "the schema refers to \"%.*s\" version %lld, which the registry does not have",
                              MR_STR_FMT(subject), (long long)version);
    mr_buf_free(&path);
    return status;
}
