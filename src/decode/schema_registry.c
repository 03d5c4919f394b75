/* The registry's client over libcurl. See schema_registry.h.
 *
 * A request goes to the URL that answered last; where it fails in a way that may pass, it is repeated with growing waits, then the next URL is
 * tried. What no URL answers is trouble of the environment: the engine pauses the partitions and asks again, and no record is lost. An id that
 * the registry does not know is asked for again for a while: a registry that has just started says that of all its ids. */
#include "schema_registry.h"

#include <stdio.h>

#include <millrace/base/backoff.h>
#include <millrace/base/encode.h>
#include <millrace/base/log.h>
#include <millrace/base/mem.h>
#include <millrace/base/stop.h>
#include <millrace/base/time.h>

#include "registry_parts.h"
#include "registry_reply.h"

#define MISSING_PAUSE_MS 500
#define MISSING_BELIEVED_MS 60000
#define FILES_TRUSTED_MS 30000

static void sleep_unless_stopped(int64_t ms)
{
    for (; ms > 0 && !mr_stop_requested(); ms -= 100)
        mr_sleep_ms(ms < 100 ? ms : 100);
}

/* ---- One request ---- */

enum outcome {
    ANSWERED, /* with some status */
    PASSING,  /* trouble that may pass: again, then the next URL */
    FINAL,    /* a certificate or credentials that will not do */
};

struct request {
    const char *path_z;
    bool takes_500; /* that status is an answer like another */
    bool is_native; /* of Apicurio's own interface: below the host, and no context */
    bool is_kept;   /* its answer never changes: it may be kept in a file */
};

/* The request's headers with the token. */
static enum mr_status with_token(struct mr_registry *reg, struct curl_slist **headers, struct mr_error *err)
{
    const char *token_z;
    struct mr_buf line = MR_BUF_INIT(1u << 20);
    MR_TRY(mr_oauth_token(reg->oauth, &token_z, err));
    mr_buf_printf(&line, "Authorization: Bearer %s", token_z);
    *headers = curl_slist_append(NULL, mr_buf_z(&line));
    mr_buf_free(&line);
    for (const struct curl_slist *h = reg->headers; h != NULL; h = h->next)
        *headers = curl_slist_append(*headers, h->data);
    curl_easy_setopt(reg->curl, CURLOPT_HTTPHEADER, *headers);
    return MR_OK;
}

static enum outcome perform(struct mr_registry *reg, const struct request *req, long *http,
                            struct mr_error *err)
{
    const char *base_z = reg->urls.items[reg->current];
    struct mr_buf url = MR_BUF_INIT(65536);
    const char *apis_z = strstr(base_z, "/apis/");
    if (req->is_native && apis_z != NULL)
        mr_buf_append(&url, base_z, (size_t)(apis_z - base_z));
    else
        mr_buf_append_z(&url, base_z);
    if (!req->is_native && *reg->cfg->registry.context != 0)
        mr_buf_printf(&url, "/contexts/%s", reg->cfg->registry.context);
    mr_buf_append_z(&url, req->path_z);
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
    struct curl_slist *headers = NULL;
    if (reg->oauth != NULL) {
        enum mr_status status = with_token(reg, &headers, err);
        if (status != MR_OK) {
            mr_buf_free(&url);
            return status == MR_E_CONFIG ? FINAL : PASSING;
        }
    }
    CURLcode code = mr_registry_follow(reg, mr_buf_z(&url));
    curl_easy_setopt(reg->curl, CURLOPT_HTTPHEADER, reg->headers);
    curl_slist_free_all(headers);
    mr_buf_free(&url);
    *http = 0;
    if (code == CURLE_OK) {
        curl_easy_getinfo(reg->curl, CURLINFO_RESPONSE_CODE, http);
        return ANSWERED;
    }
    bool is_tls = code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CERTPROBLEM ||
                  code == CURLE_SSL_CACERT_BADFILE || code == CURLE_SSL_ISSUER_ERROR ||
                  code == CURLE_SSL_INVALIDCERTSTATUS || code == CURLE_SSL_ENGINE_NOTFOUND;
    mr_registry_fail(err, is_tls ? MR_E_CONFIG : MR_E_ENV,
                     is_tls ? MR_CODE_REGISTRY_TLS : MR_CODE_REGISTRY_DOWN, "the schema registry %s: %s",
                     base_z, curl_easy_strerror(code));
    return is_tls ? FINAL : PASSING;
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
static enum mr_status ask_current(struct mr_registry *reg, const struct request *req, long *http,
                                  struct mr_error *err)
{
    struct mr_backoff backoff;
    mr_backoff_init(&backoff, reg->cfg->registry.retries_wait_ms, reg->cfg->registry.retries_max_wait_ms);
    for (uint32_t try = 0;; try++) {
        enum outcome outcome = perform(reg, req, http, err);
        if (outcome == FINAL)
            return MR_E_CONFIG;
        if (outcome == ANSWERED && *http == 401 && reg->oauth != NULL && mr_oauth_forget(reg->oauth))
            continue; /* it has expired before its time */
        if (outcome == ANSWERED && *http != 401 && reg->oauth != NULL)
            mr_oauth_accepted(reg->oauth);
        if (outcome == ANSWERED && (!is_passing(*http) || (req->takes_500 && *http == 500)))
            return MR_OK;
        if (outcome == ANSWERED)
            mr_registry_fail(err, MR_E_ENV, MR_CODE_REGISTRY_DOWN,
                             "the schema registry %s answers with status %ld", reg->urls.items[reg->current],
                             *http);
        if (try >= reg->cfg->registry.max_retries || mr_stop_requested())
            return MR_E_ENV;
        sleep_unless_stopped(wait_ms(reg, &backoff));
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

/* The registry is down; an answer that it has given before serves as well. */
static bool is_in_file(struct mr_registry *reg, const struct request *req, long *http)
{
    if (!req->is_kept || !mr_registry_cache_get(reg, req->path_z))
        return false;
    if (reg->from_files_ms == INT64_MIN)
        mr_log(MR_LOG_WARN, "the schema registry does not answer; schemas are taken from files", MR_KV_Z("registry", reg->urls.items[reg->current]),
               MR_KV_Z("folder", reg->cfg->registry.cache_dir));
    *http = 200;
    return reg->is_from_file = true;
}

static enum mr_status ask(struct mr_registry *reg, const struct request *req, long *http,
                          struct mr_error *err)
{
    reg->is_from_file = false;
    /* Not each of many schemas waits for all the repetitions. */
    bool was_down = reg->from_files_ms != INT64_MIN && mr_monotonic_ms() - reg->from_files_ms < FILES_TRUSTED_MS;
    if (was_down && is_in_file(reg, req, http))
        return MR_OK;
    for (size_t i = 0; i < reg->urls.count; i++) {
        enum mr_status status = ask_current(reg, req, http, err);
        if (status == MR_OK)
            reg->from_files_ms = INT64_MIN;
        if (status != MR_E_ENV)
            return status;
        reg->current = (reg->current + 1) % reg->urls.count;
    }
    if (!mr_stop_requested() && is_in_file(reg, req, http)) {
        reg->from_files_ms = mr_monotonic_ms();
        return MR_OK;
    }
    return down(reg, err);
}

/* ---- Schemas ---- */

/* What a status other than success means. 404 is the caller's matter. */
static enum mr_status refused(struct mr_registry *reg, const char *path_z, long http, struct mr_arena *ar,
                              struct mr_error *err)
{
    int64_t code;
    struct mr_str message;
    const char *base_z = reg->urls.items[reg->current];
    mr_registry_read_error(mr_buf_str(&reg->body), ar, &code, &message);
    if (http == 401 || http == 403) {
        mr_registry_fail(err, MR_E_CONFIG, MR_CODE_REGISTRY_AUTH,
                         "the schema registry %s does not let us in (status %ld): %.*s", base_z, http,
                         (int)(message.len < 200 ? message.len : 200), message.len ? message.ptr : "");
        mr_error_hint(
            err, "user and password: registry.basic.auth.user.info; a token: registry.bearer.auth.token");
        return MR_E_CONFIG;
    }
    mr_registry_fail(err, MR_E_ENV, MR_CODE_REGISTRY_REPLY,
                     "the schema registry %s answers GET %.200s with status %ld%s%.*s", base_z, path_z, http,
                     message.len != 0 ? ": " : "", (int)(message.len < 200 ? message.len : 200),
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
    return code == 40403 || code == 40401 ||
           code == 40402; /* a plain 404 is a path that the server does not have */
}

/* Apicurio's own interface answers with the schema as it was registered. */
static enum mr_status read_native(struct mr_registry *reg, enum mr_schema_type type, struct mr_arena *ar,
                                  struct mr_schema_reply *out)
{
    *out = (struct mr_schema_reply){.type = type, .text = mr_arena_copy(ar, mr_buf_str(&reg->body))};
    return MR_OK;
}

/* *is_unknown where the registry has no such schema. */
static enum mr_status fetch(struct mr_registry *reg, const struct request *req,
                            enum mr_schema_type native_type, struct mr_arena *ar, struct mr_schema_reply *out,
                            bool *is_unknown, struct mr_error *err)
{
    long http;
    int64_t start = mr_monotonic_ms();
    *is_unknown = false;
    for (;;) {
        MR_TRY(ask(reg, req, &http, err));
        if (http >= 200 && http < 300) {
            enum mr_status status =
                req->is_native ? read_native(reg, native_type, ar, out)
                               : mr_registry_read_reply(mr_buf_str(&reg->body),
                                                        reg->cfg->registry.ignore_rules, ar, out, err);
            if (status != MR_OK)
                mr_error_prefix(err, "GET %s%s: ", reg->urls.items[reg->current], req->path_z);
            reg->has_answered = reg->has_answered || status == MR_OK;
            if (status == MR_OK && !reg->is_from_file)
                mr_registry_cache_put(reg, req->path_z);
            return status == MR_E_ENV ? down(reg, err) : status;
        }
        if (!(req->is_native && http == 404) && !is_missing(reg, http, ar))
            return refused(reg, req->path_z, http, ar, err);
        reg->has_answered = true;
        int64_t now = mr_monotonic_ms();
        bool is_believed =
            reg->missing_since_ms != INT64_MIN && now - reg->missing_since_ms < MISSING_BELIEVED_MS;
        if (is_believed || now - start >= reg->cfg->registry.missing_wait_ms)
            break;
        int64_t left = reg->cfg->registry.missing_wait_ms - (now - start);
        if (mr_stop_requested())
            return mr_registry_fail(err, MR_E_ENV, MR_CODE_REGISTRY_DOWN,
                                    "stopped while the schema registry was asked again");
        sleep_unless_stopped(left < MISSING_PAUSE_MS ? left : MISSING_PAUSE_MS);
    }
    if (reg->missing_since_ms == INT64_MIN ||
        mr_monotonic_ms() - reg->missing_since_ms >= MISSING_BELIEVED_MS)
        reg->missing_since_ms = mr_monotonic_ms();
    *is_unknown = true;
    return MR_OK;
}

/* The path of a subject's version, its name percent-encoded. */
static void version_path(struct mr_str subject, int64_t version, struct mr_buf *path)
{
    static const char hex[] = "0123456789ABCDEF";
    mr_buf_append_z(path, "/subjects/");
    for (size_t i = 0; i < subject.len; i++) {
        unsigned char c = (unsigned char)subject.ptr[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                        c == '-' || c == '.' || c == '_' || c == '~';
        if (!is_plain) {
            mr_buf_append_char(path, '%');
            mr_buf_append_char(path, hex[c >> 4]);
        }
        mr_buf_append_char(path, is_plain ? (char)c : hex[c & 15]);
    }
    mr_buf_printf(path, "/versions/%lld?deleted=true", (long long)version);
}

/* What a place is asked by, and what it is called in messages. */
static enum mr_status path_of(const struct mr_schema_place *place, struct mr_buf *path, struct mr_error *err)
{
    char guid[37];
    if (place->guid != NULL) {
        mr_uuid_format(place->guid, guid);
        mr_buf_printf(path, "/schemas/guids/%s", guid);
    } else if (place->subject.len != 0) {
        version_path(place->subject, place->version, path);
    } else if (place->native_z != NULL) {
        mr_buf_printf(path, "/apis/registry/v3/ids/%s/%llu", place->native_z, (unsigned long long)place->id);
    } else {
        mr_buf_printf(path, "/schemas/ids/%llu", (unsigned long long)place->id);
    }
    return mr_buf_check(path, "the subject's name", err);
}

static enum mr_status unknown(const struct mr_schema_place *place, struct mr_error *err)
{
    char guid[37];
    if (place->subject.len != 0)
        return mr_fail_data(err, MR_CODE_BAD_SCHEMA,
                            "the schema refers to \"%.*s\" version %lld, which the registry does not have",
                            MR_STR_FMT(place->subject), (long long)place->version);
    if (place->guid != NULL) {
        mr_uuid_format(place->guid, guid);
        (void)mr_fail_data(err, MR_CODE_UNKNOWN_SCHEMA, "the schema registry has no schema %s", guid);
    } else {
        (void)mr_fail_data(err, MR_CODE_UNKNOWN_SCHEMA, "the schema registry has no schema %llu",
                           (unsigned long long)place->id);
    }
    mr_error_hint(err, "the record was written with another registry, or the schema has been deleted there");
    return MR_E_DATA;
}

enum mr_status mr_registry_schema(struct mr_registry *reg, const struct mr_schema_place *place,
                                  struct mr_arena *ar, struct mr_schema_reply *out, struct mr_error *err)
{
    struct mr_buf path = MR_BUF_INIT(65536);
    bool is_unknown = false;
    enum mr_status status = path_of(place, &path, err);
    if (status == MR_OK)
        status = fetch(reg, &(struct request){mr_buf_z(&path), .is_native = place->native_z != NULL, .is_kept = true},
                       place->native_type, ar, out, &is_unknown, err);
    mr_buf_free(&path);
    return status == MR_OK && is_unknown ? unknown(place, err) : status;
}

enum mr_status mr_registry_descriptor(struct mr_registry *reg, const struct mr_schema_place *place,
                                      struct mr_arena *ar, struct mr_str *out, struct mr_error *err)
{
    struct mr_buf path = MR_BUF_INIT(65536);
    long http = 0;
    *out = MR_STR("");
    enum mr_status status = path_of(place, &path, err);
    mr_buf_append_z(&path, place->subject.len != 0 ? "&format=serialized" : "?format=serialized");
    if (status == MR_OK)
        status = mr_buf_check(&path, "the subject's name", err);
    struct request req = {mr_buf_z(&path), .takes_500 = true, .is_kept = true};
    if (status == MR_OK)
        status = ask(reg, &req, &http, err);
    struct mr_schema_reply reply;
    if (status == MR_OK && http >= 200 && http < 300 &&
        mr_registry_read_reply(mr_buf_str(&reg->body), true, ar, &reply, NULL) == MR_OK) {
        *out = reply.text;
        if (!reg->is_from_file)
            mr_registry_cache_put(reg, req.path_z);
    }
    mr_buf_free(&path);
    return status;
}

enum mr_status mr_registry_ping(struct mr_registry *reg, struct mr_arena *ar, struct mr_error *err)
{
    long http;
    MR_TRY(ask(reg, &(struct request){"/subjects?limit=1"}, &http, err));
    return http >= 200 && http < 300 ? MR_OK : refused(reg, "/subjects", http, ar, err);
}
