/* The target's URL: its check, and opening a connection with it. libpq reads URLs itself; what it says about a broken one may
 * quote the password, so its words stay here. */
#include "pg.h"


#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define MAX_PASSWORD 4096

static void free_options(PQconninfoOption **options)
{
    PQconninfoFree(*options);
}

static const char *value_of(const PQconninfoOption *options, const char *keyword)
{
    for (; options && options->keyword; options++)
        if (strcmp(options->keyword, keyword) == 0)
            return options->val ? options->val : "";
    return "";
}

/* The first line of the password file, without its end of line. out holds MAX_PASSWORD + 1 bytes. */
static enum mr_status read_password(const char *path_z, char *out, struct mr_error *err)
{
    int fd = open(path_z, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return mr_fail(err, MR_E_CONFIG, "cannot read the password file %s: %s", path_z, strerror(errno));
    ssize_t len = read(fd, out, MAX_PASSWORD + 1);
    int error = errno;
    close(fd);
    if (len < 0)
        return mr_fail(err, MR_E_CONFIG, "cannot read the password file %s: %s", path_z, strerror(error));
    const char *end = memchr(out, '\n', (size_t)len);
    if (end)
        len = end - out;
    if (len > 0 && out[len - 1] == '\r')
        len--;
    if (len > MAX_PASSWORD)
        return mr_fail(err, MR_E_CONFIG, "the password in %s is longer than %d bytes", path_z, MAX_PASSWORD);
    out[len] = '\0';
    return MR_OK;
}

static bool has_password_file(const struct mr_config *cfg)
{
    return cfg->target_password_file && *cfg->target_password_file;
}

enum mr_status mr_pg_check_url(const struct mr_config *cfg, struct mr_error *err)
{
    __attribute__((cleanup(free_options))) PQconninfoOption *options = PQconninfoParse(cfg->target_url, NULL);
    if (!options) {
        enum mr_status status = mr_fail(err, MR_E_CONFIG, "target.url is no URL that PostgreSQL's client library can read");
        mr_error_hint(err, "the form is postgresql://user:password@host:5432/database?sslmode=require; special characters "
                           "in user and password are written as %%XX");
        return status;
    }
    if (has_password_file(cfg)) {
        char password[MAX_PASSWORD + 1];
        if (*value_of(options, "password"))
            return mr_fail(err, MR_E_CONFIG, "target.url has a password and target.password_file is set too; use one of them");
        MR_TRY(read_password(cfg->target_password_file, password, err));
    }
    if (cfg->control_schema && strlen(cfg->control_schema) > MR_PG_MAX_IDENT)
        return mr_fail(err, MR_E_CONFIG, "target.control_schema is longer than %d bytes", MR_PG_MAX_IDENT);
    return MR_OK;
}

/* What people find their tables in when neither event nor topic names a database. */
void mr_pg_default_schema(const struct mr_config *cfg, struct mr_buf *out)
{
    (void)cfg;
    mr_buf_append_z(out, "public");
}

enum mr_status mr_pg_open(const struct mr_config *cfg, const char *application_z, PGconn **out,
                          struct mr_error *err)
{
    char password[MAX_PASSWORD + 1] = "";
    if (has_password_file(cfg))
        MR_TRY(read_password(cfg->target_password_file, password, err));

    /* What stands before dbname can be said otherwise in the URL; what stands after it cannot. */
    const char *const keywords[] = {
        "connect_timeout", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout",
        "fallback_application_name", "dbname", "client_encoding", *password ? "password" : NULL, NULL,
    };
    const char *const values[] = {
        "10", "30", "10", "3", "60000", application_z ? application_z : "millrace", cfg->target_url, "UTF8", password, NULL,
    };
    PGconn *conn = PQconnectdbParams(keywords, values, 1);
    explicit_bzero(password, sizeof(password));
    if (conn && PQstatus(conn) == CONNECTION_OK) {
        *out = conn;
        return MR_OK;
    }
    enum mr_status status = mr_fail(err, MR_E_ENV, "cannot connect to PostgreSQL: %s",
                                    conn ? PQerrorMessage(conn) : "out of memory");
    PQfinish(conn);
    return status;
}
