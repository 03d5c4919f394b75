/* Log lines to stderr, logfmt or JSON, one per call, from any thread. Keys and values are passed as
 * pairs so that nothing has to be parsed back out of prose:
 *
 *   mr_log(MR_LOG_INFO, "partition assigned", MR_KV_STR("topic", topic), MR_KV_INT("partition", 3));
 *
 * Values of rows never go here unless log.values is on; secrets never. */
#ifndef MILLRACE_BASE_LOG_H
#define MILLRACE_BASE_LOG_H

#include <millrace/base/error.h>
#include <millrace/base/str.h>

enum mr_log_level { MR_LOG_DEBUG, MR_LOG_INFO, MR_LOG_WARN, MR_LOG_ERROR };
enum mr_log_format { MR_LOG_LOGFMT, MR_LOG_JSON };

struct mr_kv {
    const char *key;
    enum { MR_KV_KIND_STR, MR_KV_KIND_INT, MR_KV_KIND_DOUBLE } kind;
    struct mr_str str;
    int64_t num;
    double real;
};

#define MR_KV_STR(k, s) ((struct mr_kv){.key = (k), .kind = MR_KV_KIND_STR, .str = (s)})
#define MR_KV_Z(k, z) ((struct mr_kv){.key = (k), .kind = MR_KV_KIND_STR, .str = mr_str_z(z)})
#define MR_KV_INT(k, n) ((struct mr_kv){.key = (k), .kind = MR_KV_KIND_INT, .num = (int64_t)(n)})
#define MR_KV_DOUBLE(k, d) ((struct mr_kv){.key = (k), .kind = MR_KV_KIND_DOUBLE, .real = (d)})

void mr_log_setup(enum mr_log_level level, enum mr_log_format format, bool values);
bool mr_log_enabled(enum mr_log_level level);
bool mr_log_values(void); /* may row values be logged? */
void mr_log_write(enum mr_log_level level, const char *message, const struct mr_kv *kv, size_t count);
/* The error as one line: message, code, native code, field, detail, hint. */
void mr_log_error(enum mr_log_level level, const char *message, const struct mr_error *err);
/* Called before and after each line so that a progress bar can step aside; NULL = none. */
void mr_log_set_hooks(void (*before)(void), void (*after)(void));

#define mr_log(level, message, ...)                                                                \
    mr_log_write((level), (message), (const struct mr_kv[]){__VA_ARGS__},                          \
                 sizeof((const struct mr_kv[]){__VA_ARGS__}) / sizeof(struct mr_kv))
#define mr_log_plain(level, message) mr_log_write((level), (message), NULL, 0)

#endif
