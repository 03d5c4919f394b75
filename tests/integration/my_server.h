/* For tests that need the test server, MariaDB or MySQL: its URL, a plain connection to look at what has become of things, and sinks. */
#ifndef TESTS_INTEGRATION_MY_SERVER_H
#define TESTS_INTEGRATION_MY_SERVER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <mysql.h>

#include <millrace/base/mem.h>
#include <millrace/sink.h>

#define UNUSED __attribute__((unused))
#define SKIPPED 77 /* ctest's SKIP_RETURN_CODE */

static char server_url[1024];
static struct mr_config cfg;
static MYSQL *raw;
static struct mr_error last_error;
static struct mr_error *const e = &last_error;

#define OK(call)                                                                                   \
    do {                                                                                           \
        last_error = (struct mr_error){.row = -1};                                                 \
        enum mr_status ok_status_ = (call);                                                        \
        if (ok_status_ != MR_OK)                                                                   \
            fail_msg("%s: %s: %s", #call, mr_status_name(ok_status_), last_error.message);         \
    } while (0)

/* The file in MILLRACE_TEST_MYSQL holds the URL. Where the server cannot be had on this machine a file `skipped` beside it says why. */
UNUSED static const char *url_file(void)
{
    const char *path = getenv("MILLRACE_TEST_MYSQL");
    if (!path) {
        fprintf(stderr, "MILLRACE_TEST_MYSQL must name the file that holds the test server's URL\n");
        exit(1);
    }
    return path;
}

UNUSED static bool read_line(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "r");
    bool ok = file && fgets(out, (int)size, file);
    if (file)
        fclose(file);
    if (ok)
        out[strcspn(out, "\n")] = '\0';
    return ok;
}

/* Another file of the fixture: "socket", "ca.pem". */
UNUSED static const char *fixture_file(const char *name)
{
    static char path[1024];
    const char *url = url_file(), *slash = strrchr(url, '/');
    snprintf(path, sizeof(path), "%.*s%s", (int)(slash ? slash - url + 1 : 0), url, name);
    return path;
}

UNUSED static void read_server_url(void)
{
    char why[512];
    if (read_line(url_file(), server_url, sizeof(server_url)))
        return;
    if (read_line(fixture_file("skipped"), why, sizeof(why))) {
        fprintf(stderr, "skipped: %s\n", why);
        exit(SKIPPED);
    }
    fprintf(stderr, "cannot read %s\n", url_file());
    exit(1);
}

/* mysql://user:password@127.0.0.1:port/database, as the fixtures write it. */
UNUSED static MYSQL *connect_raw(void)
{
    char user[64], password[64], host[64], database[64];
    unsigned port;
    if (sscanf(server_url, "mysql://%63[^:]:%63[^@]@%63[^:]:%u/%63s", user, password, host, &port, database) != 5) {
        fprintf(stderr, "cannot read the URL %s\n", server_url);
        exit(1);
    }
    MYSQL *conn = mysql_init(NULL);
    my_bool on = 1, off = 0;
    mysql_optionsv(conn, MYSQL_OPT_SSL_ENFORCE, &on);
    mysql_optionsv(conn, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &off);
    mysql_optionsv(conn, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    if (!mysql_real_connect(conn, host, user, password, database, port, NULL, 0)) {
        fprintf(stderr, "%s\n", mysql_error(conn));
        exit(1);
    }
    return conn;
}

/* One statement; rows are dropped. */
UNUSED static void sql(const char *text)
{
    if (mysql_query(raw, text) != 0)
        fail_msg("%s: %s", text, mysql_error(raw));
    MYSQL_RES *res = mysql_store_result(raw);
    mysql_free_result(res);
}

/* All rows of a query as one text: cells by |, NULL as -, rows by newline. */
UNUSED static const char *rows_text(const char *query)
{
    static struct mr_buf buf = {.max = (size_t)1 << 28};
    mr_buf_clear(&buf);
    if (mysql_query(raw, query) != 0)
        fail_msg("%s: %s", query, mysql_error(raw));
    MYSQL_RES *res = mysql_store_result(raw);
    for (MYSQL_ROW row; res && (row = mysql_fetch_row(res));) {
        for (unsigned i = 0; i < mysql_num_fields(res); i++) {
            mr_buf_append_z(&buf, i ? "|" : "");
            if (row[i])
                mr_buf_append(&buf, row[i], mysql_fetch_lengths(res)[i]);
            else
                mr_buf_append_z(&buf, "-");
        }
        mr_buf_append_z(&buf, "\n");
    }
    mysql_free_result(res);
    return mr_buf_z(&buf);
}

UNUSED static bool is_mariadb(void)
{
    return strstr(mysql_get_server_info(raw), "MariaDB") != NULL;
}

static int open_server(void **state)
{
    (void)state;
    read_server_url();
    cfg = (struct mr_config){
        .target_url = server_url,
        .target_password_file = (char *)"",
        .control_schema = (char *)"mr control",
        .lock_timeout_ms = 1000,
        .connect_timeout_ms = 5000,
        .bulk_rows = 50,
        .evolve = MR_EVOLVE_FULL,
    };
    raw = connect_raw();
    sql("SET SESSION time_zone = '+00:00'");
    return 0;
}

static int close_server(void **state)
{
    (void)state;
    sql("DROP DATABASE IF EXISTS `mr control`");
    sql("DROP DATABASE IF EXISTS s");
    mysql_close(raw);
    return 0;
}

UNUSED static struct mr_sink *connect_with(const struct mr_config *config)
{
    const struct mr_sink_ops *ops;
    struct mr_sink *out = NULL;
    struct mr_sink_options opt = {.cfg = config, .application_z = "millrace test"};
    OK(mr_sink_for_url(config->target_url, &ops, e));
    OK(ops->connect(&opt, &out, e));
    return out;
}

#endif
