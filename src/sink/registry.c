/* Every sink there is. A new database touches this array and its own folder. */
#include <millrace/sink.h>

extern const struct mr_sink_ops mr_sink_postgres;
extern const struct mr_sink_ops mr_sink_mysql;
extern const struct mr_sink_ops mr_sink_sqlite;

const struct mr_sink_ops *const mr_sinks[] = {
    &mr_sink_postgres,
    &mr_sink_mysql,
    &mr_sink_sqlite,
    NULL,
};

static void append_schemes(struct mr_buf *out)
{
    for (size_t i = 0; mr_sinks[i]; i++) {
        for (size_t k = 0; mr_sinks[i]->url_schemes[k]; k++) {
            mr_buf_append_z(out, out->len ? ", " : "");
            mr_buf_append_z(out, mr_sinks[i]->url_schemes[k]);
        }
    }
}

enum mr_status mr_sink_for_url(const char *url_z, const struct mr_sink_ops **out, struct mr_error *err)
{
    struct mr_str url = mr_str_z(url_z);

    for (size_t i = 0; mr_sinks[i]; i++) {
        for (size_t k = 0; mr_sinks[i]->url_schemes[k]; k++) {
            if (mr_str_starts(url, mr_str_z(mr_sinks[i]->url_schemes[k]))) {
                *out = mr_sinks[i];
                return MR_OK;
            }
        }
    }
    /* The URL itself is not repeated: it may hold a password. */
    struct mr_buf known = MR_BUF_INIT(512);
    append_schemes(&known);
    enum mr_status status = mr_fail(err, MR_E_CONFIG, "target.url begins with none of the known schemes: %s", mr_buf_z(&known));
    mr_buf_free(&known);
    return status;
}
