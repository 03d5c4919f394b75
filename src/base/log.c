/* Log lines. A line is built whole under the lock and leaves with one write(2), so that lines of several threads
 * and of several processes on one pipe stay whole. */
#include <millrace/base/log.h>

#include <millrace/base/buf.h>
#include <millrace/base/decimal.h>
#include <millrace/base/time.h>
#include <millrace/base/utf8.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define MAX_LINE (256 * 1024)
#define MAX_VALUE 8192 /* a longer value is cut */

static atomic_int min_level = MR_LOG_INFO;
static atomic_int line_format = MR_LOG_LOGFMT;
static atomic_bool with_values;

/* Guards the line, the hooks and the order of lines. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mr_buf line = MR_BUF_INIT(MAX_LINE);
static void (*hook_before)(void);
static void (*hook_after)(void);

void mr_log_setup(enum mr_log_level level, enum mr_log_format format, bool values)
{
    atomic_store(&min_level, (int)level);
    atomic_store(&line_format, (int)format);
    atomic_store(&with_values, values);
}

bool mr_log_enabled(enum mr_log_level level)
{
    return (int)level >= atomic_load_explicit(&min_level, memory_order_relaxed);
}

bool mr_log_values(void)
{
    return atomic_load(&with_values);
}

void mr_log_set_hooks(void (*before)(void), void (*after)(void))
{
    pthread_mutex_lock(&lock);
    hook_before = before;
    hook_after = after;
    pthread_mutex_unlock(&lock);
}

static const char *level_name(enum mr_log_level level)
{
    switch (level) {
    case MR_LOG_DEBUG:
        return "debug";
    case MR_LOG_INFO:
        return "info";
    case MR_LOG_WARN:
        return "warn";
    case MR_LOG_ERROR:
        return "error";
    }
    return "unknown";
}

/* Logfmt needs quotes for whatever would end a value or not be seen. */
static bool needs_quotes(struct mr_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (c <= ' ' || c == '"' || c == '=' || c == '\\' || c == 0x7f)
            return true;
    }
    return s.len == 0 || mr_utf8_check(s) != 0;
}

/* How many bytes stand before the next wide character that acts on a terminal; *hidden is that character, 0 if there is none. */
static size_t before_hidden(struct mr_str s, uint32_t *hidden, size_t *len)
{
    size_t at = 0;
    *hidden = 0;
    while (at < s.len) {
        uint32_t c = 0;
        size_t n = (unsigned char)s.ptr[at] < 0x7f ? 1 : mr_utf8_decode(mr_str_of(s.ptr + at, s.len - at), &c);
        if (c >= 0x7f && mr_utf8_is_hidden(c)) {
            *hidden = c;
            *len = n;
            break;
        }
        at += n > 0 ? n : 1;
    }
    return at;
}

/* As a JSON text in which nothing is left that a terminal would obey. */
static void append_quoted(struct mr_str s)
{
    uint32_t hidden;
    size_t hidden_len = 0, n = before_hidden(s, &hidden, &hidden_len);
    mr_buf_append_json(&line, mr_str_of(s.ptr, n));
    while (hidden != 0 && !line.overflow) {
        s = mr_str_of(s.ptr + n + hidden_len, s.len - n - hidden_len);
        line.len--; /* go on inside the quotes */
        mr_buf_printf(&line, "\\u%04x", (unsigned)hidden);
        n = before_hidden(s, &hidden, &hidden_len);
        size_t at = line.len;
        mr_buf_append_json(&line, mr_str_of(s.ptr, n));
        if (line.overflow)
            return;
        memmove(line.data + at, line.data + at + 1, line.len - at - 1); /* its opening quote */
        line.len--;
    }
}

static bool has_hidden(struct mr_str s)
{
    uint32_t hidden;
    size_t len;
    (void)before_hidden(s, &hidden, &len);
    return hidden != 0;
}

static void append_text(struct mr_str s, bool is_json)
{
    if (s.len <= MAX_VALUE) {
        if (is_json || needs_quotes(s) || has_hidden(s))
            append_quoted(s);
        else
            mr_buf_append_str(&line, s);
        return;
    }
    append_quoted(mr_str_of(s.ptr, mr_utf8_cut(s, MAX_VALUE)));
    line.len--; /* the cut shows: "…" inside the quotes */
    mr_buf_append_z(&line, "\xE2\x80\xA6\"");
}

static void append_key(const char *key, bool is_json)
{
    if (!is_json) {
        if (line.len)
            mr_buf_append_char(&line, ' ');
        mr_buf_append_z(&line, key);
        mr_buf_append_char(&line, '=');
        return;
    }
    mr_buf_append_char(&line, line.len ? ',' : '{');
    mr_buf_append_json(&line, mr_str_z(key));
    mr_buf_append_char(&line, ':');
}

static void append_double(double value, bool is_json)
{
    char text[32];
    size_t len = mr_double_text(value, text);
    bool is_number = text[len - 1] >= '0' && text[len - 1] <= '9';
    append_text(mr_str_of(text, len), is_json && !is_number);
}

static void append_pair(const struct mr_kv *kv, bool is_json)
{
    append_key(kv->key, is_json);
    switch (kv->kind) {
    case MR_KV_KIND_STR:
        append_text(kv->str, is_json);
        return;
    case MR_KV_KIND_INT:
        mr_buf_printf(&line, "%lld", (long long)kv->num);
        return;
    case MR_KV_KIND_DOUBLE:
        append_double(kv->real, is_json);
        return;
    }
}

static void build_line(enum mr_log_level level, const char *message, const struct mr_kv *kv, size_t count)
{
    bool is_json = atomic_load(&line_format) == MR_LOG_JSON;
    char now[MR_TIME_TEXT + 1];
    size_t len = mr_format_timestamp(mr_now_us(), 'T', true, now);
    now[len++] = 'Z';
    mr_buf_clear(&line);
    append_key("time", is_json);
    append_text(mr_str_of(now, len), is_json);
    append_key("level", is_json);
    append_text(mr_str_z(level_name(level)), is_json);
    append_key("msg", is_json);
    append_text(mr_str_z(message), is_json);
    for (size_t i = 0; i < count && line.len < MAX_LINE - 7 * MAX_VALUE; i++)
        append_pair(&kv[i], is_json);
    mr_buf_append_z(&line, is_json ? "}\n" : "\n");
}

/* A full pipe or a signal may split a line; nothing else does. What cannot be written is lost: logging never fails. */
static void write_line(void)
{
    size_t done = 0;
    while (done < line.len) {
        ssize_t n = write(STDERR_FILENO, line.data + done, line.len - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        done += (size_t)n;
    }
}

void mr_log_write(enum mr_log_level level, const char *message, const struct mr_kv *kv, size_t count)
{
    if (!mr_log_enabled(level))
        return;
    int saved_errno = errno;
    pthread_mutex_lock(&lock);
    build_line(level, message, kv, count);
    if (hook_before)
        hook_before();
    write_line();
    if (hook_after)
        hook_after();
    pthread_mutex_unlock(&lock);
    errno = saved_errno;
}

void mr_log_error(enum mr_log_level level, const char *message, const struct mr_error *err)
{
    const struct mr_kv all[] = {
        MR_KV_Z("error", err->message), MR_KV_Z("code", err->code),     MR_KV_Z("native", err->native),
        MR_KV_Z("field", err->field),   MR_KV_Z("detail", err->detail), MR_KV_Z("hint", err->hint),
    };
    struct mr_kv said[sizeof(all) / sizeof(all[0])];
    size_t count = 0;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (all[i].str.len > 0)
            said[count++] = all[i];
    }
    mr_log_write(level, message, said, count);
}
