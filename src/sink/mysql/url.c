/* The target's URL, mysql://user:password@host:port/database?socket=/path&ssl-mode=REQUIRED, and opening a connection with it. What is
 * said about a broken URL never quotes it: it may hold a password. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <millrace/base/utf8.h>

#include "my.h"

#define MAX_PASSWORD 4096
#define CONNECT_SECONDS 10
#define DEAD_PEER_MS 60000 /* an unanswered packet for so long ends the connection */
#define NO_RIGHT_TO_DATABASE 1044 /* what a user without rights on it is told, whether it exists or not */
#define NO_DATABASE 1049

enum ssl_mode { SSL_DISABLED, SSL_PREFERRED, SSL_REQUIRED, SSL_VERIFY_CA, SSL_VERIFY_IDENTITY };

static const char *const ssl_modes[] = {"DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"};

struct url {
    const char *user_z, *password_z, *host_z, *database_z, *socket_z;
    const char *ssl_ca_z, *ssl_cert_z, *ssl_key_z;
    bool has_password, has_ssl_mode;
    unsigned port;
    enum ssl_mode ssl_mode;
    struct mr_arena *ar;
};

static enum mr_status broken(struct mr_error *err, const char *what)
{
    enum mr_status status = mr_fail(err, MR_E_CONFIG, "target.url: %s", what);
    mr_error_hint(err, "the form is mysql://user:password@host:3306/database?ssl-mode=REQUIRED, or …/database?socket=/path; special "
                       "characters are written as %%XX");
    return status;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* %XX undone; NULL for a broken one and for a NUL. */
static const char *decoded(struct url *url, struct mr_str s)
{
    char *out = mr_arena_alloc(url->ar, s.len + 1);
    size_t len = 0;

    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (c == '%') {
            int high = i + 2 < s.len ? hex_digit(s.ptr[i + 1]) : -1;
            int low = high >= 0 ? hex_digit(s.ptr[i + 2]) : -1;
            if (low < 0)
                return NULL;
            c = (char)(high << 4 | low);
            i += 2;
        }
        if (c == '\0')
            return NULL;
        out[len++] = c;
    }
    out[len] = '\0';
    return out;
}

/* What stands before the first `c`; *rest gets what follows it (untouched if there is none). */
static struct mr_str before(struct mr_str s, char c, struct mr_str *rest, bool *found)
{
    ptrdiff_t at = mr_str_find(s, c);
    *found = at >= 0;
    if (at < 0)
        return s;
    *rest = mr_str_of(s.ptr + at + 1, s.len - (size_t)at - 1);
    return mr_str_of(s.ptr, (size_t)at);
}

static enum mr_status take_user(struct url *url, struct mr_str part, struct mr_error *err)
{
    struct mr_str password = {"", 0};
    struct mr_str user = before(part, ':', &password, &url->has_password);

    url->user_z = decoded(url, user);
    url->password_z = decoded(url, password);
    return url->user_z && url->password_z ? MR_OK : broken(err, "user or password is not written as it should be");
}

static enum mr_status take_host(struct url *url, struct mr_str part, struct mr_error *err)
{
    struct mr_str port = {"", 0}, host = part;
    bool has_port;
    int64_t number = 0;

    if (part.len > 0 && part.ptr[0] == '[') { /* an address of IPv6 */
        ptrdiff_t end = mr_str_find(part, ']');
        if (end < 0)
            return broken(err, "the host's bracket is not closed");
        host = mr_str_of(part.ptr + 1, (size_t)end - 1);
        (void)before(mr_str_of(part.ptr + end + 1, part.len - (size_t)end - 1), ':', &port, &has_port);
    } else {
        host = before(part, ':', &port, &has_port);
    }
    url->host_z = decoded(url, host);
    if (!url->host_z)
        return broken(err, "the host is not written as it should be");
    if (!has_port)
        return MR_OK;
    if (!mr_parse_int64(port, &number) || number < 1 || number > 65535)
        return broken(err, "the port must be a number from 1 to 65535");
    url->port = (unsigned)number;
    return MR_OK;
}

static enum mr_status take_ssl_mode(struct url *url, const char *value_z, struct mr_error *err)
{
    for (size_t i = 0; i < sizeof(ssl_modes) / sizeof(ssl_modes[0]); i++) {
        if (mr_str_eq_nocase(mr_str_z(value_z), mr_str_z(ssl_modes[i]))) {
            url->ssl_mode = (enum ssl_mode)i;
            url->has_ssl_mode = true;
            return MR_OK;
        }
    }
    return broken(err, "ssl-mode must be DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY");
}

static enum mr_status take_option(struct url *url, struct mr_str option, struct mr_error *err)
{
    struct mr_str value = {"", 0};
    bool found;
    struct mr_str name = before(option, '=', &value, &found);
    const char *value_z = decoded(url, value);

    if (!value_z || !found || !*value_z)
        return broken(err, "an option behind the ? is not written as name=value");
    if (mr_str_eq_z(name, "socket"))
        url->socket_z = value_z;
    else if (mr_str_eq_z(name, "ssl-mode"))
        return take_ssl_mode(url, value_z, err);
    else if (mr_str_eq_z(name, "ssl-ca"))
        url->ssl_ca_z = value_z;
    else if (mr_str_eq_z(name, "ssl-cert"))
        url->ssl_cert_z = value_z;
    else if (mr_str_eq_z(name, "ssl-key"))
        url->ssl_key_z = value_z;
    else
        return broken(err, "the options behind the ? are socket, ssl-mode, ssl-ca, ssl-cert, ssl-key");
    return MR_OK;
}

static enum mr_status take_options(struct url *url, struct mr_str options, struct mr_error *err)
{
    bool more = options.len > 0;
    while (more) {
        struct mr_str rest = {"", 0};
        struct mr_str option = before(options, '&', &rest, &more);
        MR_TRY(take_option(url, option, err));
        options = rest;
    }
    return MR_OK;
}

static enum mr_status check_parts(struct url *url, struct mr_error *err)
{
    if (!*url->database_z)
        return broken(err, "it names no database");
    if (mr_utf8_count(mr_str_z(url->database_z)) > MR_MY_MAX_IDENT)
        return broken(err, "the database's name is longer than 64 characters");
    if (!url->has_ssl_mode && url->ssl_ca_z)
        url->ssl_mode = SSL_VERIFY_CA; /* who names an authority wants it asked, as the servers' own clients do */
    if (url->ssl_mode >= SSL_VERIFY_CA && !url->ssl_ca_z)
        return broken(err, "ssl-mode VERIFY_CA and VERIFY_IDENTITY need ssl-ca");
    if (url->socket_z && *url->host_z && strcmp(url->host_z, "localhost") != 0)
        return broken(err, "it names a host and a socket; use one of them");
    return MR_OK;
}

static enum mr_status parse(const char *text_z, struct mr_arena *ar, struct url *url, struct mr_error *err)
{
    struct mr_str text = mr_str_z(text_z), options = {"", 0}, path = {"", 0}, host = {"", 0};
    bool found;

    *url = (struct url){.port = 0, .ssl_mode = SSL_PREFERRED, .ar = ar, .user_z = "", .password_z = ""};
    for (size_t k = 0; mr_sink_mysql.url_schemes[k]; k++)
        if (mr_str_starts(text, mr_str_z(mr_sink_mysql.url_schemes[k])))
            text = mr_str_of(text.ptr + strlen(mr_sink_mysql.url_schemes[k]), text.len - strlen(mr_sink_mysql.url_schemes[k]));
    text = before(text, '?', &options, &found);
    struct mr_str authority = before(text, '/', &path, &found);
    ptrdiff_t at = mr_str_rfind(authority, '@'); /* a password may hold one that is not written as %40 */
    host = mr_str_of(authority.ptr + at + 1, authority.len - (size_t)(at + 1));
    if (at >= 0)
        MR_TRY(take_user(url, mr_str_of(authority.ptr, (size_t)at), err));
    MR_TRY(take_host(url, host, err));
    url->database_z = decoded(url, path);
    if (!url->database_z)
        return broken(err, "the database is not written as it should be");
    MR_TRY(take_options(url, options, err));
    return check_parts(url, err);
}

/* ---- Password file ---- */

static bool has_password_file(const struct mr_config *cfg)
{
    return cfg->target_password_file && *cfg->target_password_file;
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

/* The library says "No such file" without its name, and under PREFERRED goes on without encryption. */
static enum mr_status check_file(const char *option_z, const char *path_z, struct mr_error *err)
{
    if (!path_z || access(path_z, R_OK) == 0)
        return MR_OK;
    return mr_fail(err, MR_E_CONFIG, "target.url: %s: cannot read %s: %s", option_z, path_z, strerror(errno));
}

static enum mr_status check_files(const struct url *url, struct mr_error *err)
{
    MR_TRY(check_file("ssl-ca", url->ssl_ca_z, err));
    MR_TRY(check_file("ssl-cert", url->ssl_cert_z, err));
    return check_file("ssl-key", url->ssl_key_z, err);
}

enum mr_status mr_my_check_url(const struct mr_config *cfg, struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(1024);
    char password[MAX_PASSWORD + 1];
    struct url url;
    enum mr_status status = parse(cfg->target_url, ar, &url, err);

    if (status == MR_OK)
        status = check_files(&url, err);
    if (status == MR_OK && has_password_file(cfg)) {
        if (url.has_password)
            status = mr_fail(err, MR_E_CONFIG, "target.url has a password and target.password_file is set too; use one of them");
        else
            status = read_password(cfg->target_password_file, password, err);
        explicit_bzero(password, sizeof(password));
    }
    if (status == MR_OK && cfg->control_schema && mr_utf8_count(mr_str_z(cfg->control_schema)) > MR_MY_MAX_IDENT)
        status = mr_fail(err, MR_E_CONFIG, "target.control_schema is longer than %d characters", MR_MY_MAX_IDENT);
    mr_arena_destroy(ar);
    return status;
}

void mr_my_default_schema(const struct mr_config *cfg, struct mr_buf *out)
{
    struct mr_arena *ar = mr_arena_create(1024);
    struct url url;

    if (parse(cfg->target_url, ar, &url, NULL) == MR_OK)
        mr_buf_append_z(out, url.database_z);
    mr_arena_destroy(ar);
}

/* ---- Opening ---- */

static void set_tls(MYSQL *conn, const struct url *url, bool enforce)
{
    my_bool on = 1, verify = url->ssl_mode >= SSL_VERIFY_CA;

    if (url->ssl_ca_z)
        mysql_optionsv(conn, MYSQL_OPT_SSL_CA, url->ssl_ca_z);
    if (url->ssl_cert_z)
        mysql_optionsv(conn, MYSQL_OPT_SSL_CERT, url->ssl_cert_z);
    if (url->ssl_key_z)
        mysql_optionsv(conn, MYSQL_OPT_SSL_KEY, url->ssl_key_z);
    if (enforce)
        mysql_optionsv(conn, MYSQL_OPT_SSL_ENFORCE, &on);
    mysql_optionsv(conn, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
}

/* A peer that is gone without a word must not block for ever. The library has no option for it. */
static void set_keepalive(MYSQL *conn)
{
    int fd = (int)mysql_get_socket(conn), on = 1, idle = 30, interval = 10, count = 3;
    unsigned dead_ms = DEAD_PEER_MS;

    /* On a unix socket these fail, and are not needed. */
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &dead_ms, sizeof(dead_ms));
}

static MYSQL *make_handle(const struct url *url, const char *application_z, bool tls)
{
    MYSQL *conn = mysql_init(NULL);
    unsigned seconds = CONNECT_SECONDS, protocol = url->socket_z ? MYSQL_PROTOCOL_SOCKET : MYSQL_PROTOCOL_TCP;
    unsigned local_infile = 0;

    if (!conn)
        return NULL;
    mysql_optionsv(conn, MYSQL_OPT_CONNECT_TIMEOUT, &seconds);
    mysql_optionsv(conn, MYSQL_OPT_PROTOCOL, &protocol);
    mysql_optionsv(conn, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    mysql_optionsv(conn, MYSQL_OPT_LOCAL_INFILE, &local_infile); /* no server may ask for our files */
    mysql_optionsv(conn, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name", application_z ? application_z : "millrace");
    if (tls)
        set_tls(conn, url, true);
    return conn;
}

/* UPDATE must tell the rows it found, not only those it changed. */
#define CLIENT_FLAGS (CLIENT_FOUND_ROWS)

static enum mr_status connect_once(const struct url *url, const char *password_z, const char *application_z, bool tls, MYSQL **out,
                                   struct mr_error *err)
{
    MYSQL *conn = make_handle(url, application_z, tls);
    const char *host_z = url->socket_z ? "localhost" : *url->host_z ? url->host_z : "localhost";
    char native[16];
    const char *code;

    if (conn && mysql_real_connect(conn, host_z, url->user_z, password_z, url->database_z, url->port, url->socket_z, CLIENT_FLAGS)) {
        set_keepalive(conn);
        *out = conn;
        return MR_OK;
    }
    if (!conn)
        return mr_fail(err, MR_E_ENV, "cannot connect to MySQL: out of memory");
    snprintf(native, sizeof(native), "%u", mysql_errno(conn));
    bool is_configured_wrong = mr_my_classify(native, &code) == MR_E_CONFIG || mysql_errno(conn) == NO_DATABASE;
    enum mr_status status = is_configured_wrong ? MR_E_CONFIG : MR_E_ENV;
    mr_fail(err, status, "cannot connect to MySQL: %s", mysql_error(conn));
    if (err) {
        memcpy(err->native, native, sizeof(err->native));
        mr_my_set_code(err, code);
    }
    if (mysql_errno(conn) == NO_DATABASE || mysql_errno(conn) == NO_RIGHT_TO_DATABASE)
        mr_error_hint(err, "the database that target.url names must be there, and the user have rights on it: CREATE DATABASE %s; GRANT ALL ON %s.* TO %s",
                      url->database_z, url->database_z, *url->user_z ? url->user_z : "…");
    mysql_close(conn);
    return status;
}

/* PREFERRED: with TLS where the server has it, else without. */
static enum mr_status connect_preferred(const struct url *url, const char *password_z, const char *application_z, MYSQL **out,
                                        struct mr_error *err)
{
    struct mr_error own = {0};
    enum mr_status status = connect_once(url, password_z, application_z, true, out, &own);

    if (status != MR_OK && strcmp(own.native, "2026") == 0)
        return connect_once(url, password_z, application_z, false, out, err);
    if (status != MR_OK && err)
        *err = own;
    return status;
}

enum mr_status mr_my_open(const struct mr_config *cfg, const char *application_z, MYSQL **out, struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(1024);
    char password[MAX_PASSWORD + 1] = "";
    struct url url;
    enum mr_status status;

    MR_TRY_DONE(parse(cfg->target_url, ar, &url, err));
    if (has_password_file(cfg))
        MR_TRY_DONE(read_password(cfg->target_password_file, password, err));
    const char *password_z = *password ? password : url.password_z;
    /* Nobody listens on a unix socket. */
    if (url.ssl_mode == SSL_PREFERRED && !url.socket_z)
        status = connect_preferred(&url, password_z, application_z, out, err);
    else
        status = connect_once(&url, password_z, application_z, url.ssl_mode >= SSL_REQUIRED, out, err);

done:
    explicit_bzero(password, sizeof(password));
    mr_arena_destroy(ar);
    return status;
}
