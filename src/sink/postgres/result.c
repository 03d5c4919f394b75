/* From libpq's results to errors and back: the one place that reads an SQLSTATE out of a result. */
#include "pg.h"

#include <stdlib.h>

void mr_pg_clear(PGresult **res)
{
    PQclear(*res);
    *res = NULL;
}

static const char *field_of(const PGresult *res, int field)
{
    const char *text = res ? PQresultErrorField(res, field) : NULL;
    return text ? text : "";
}

static void set_native(struct mr_error *err, const char *state, const char *code)
{
    size_t len = strnlen(state, sizeof(err->native) - 1);
    memcpy(err->native, state, len);
    err->native[len] = '\0';
    len = strnlen(code, sizeof(err->code) - 1);
    memcpy(err->code, code, len);
    err->code[len] = '\0';
}

/* What a person can do about the states where that is not plain from the message. */
static const char *own_hint(const char *state)
{
    if (strcmp(state, "42501") == 0)
        return "grant the missing right to the role in target.url; `millrace run` goes on by itself then";
    if (strcmp(state, "53100") == 0)
        return "make room on the server's disk; the work goes on by itself then";
    if (strcmp(state, "25006") == 0)
        return "the server is read-only (a standby?): point target.url to the primary, or add target_session_attrs=read-write";
    if (strcmp(state, "55P03") == 0)
        return "another session holds a lock on the table; target.lock_timeout says how long to wait for it";
    return NULL;
}

/* The constraint is what a person looks for first. */
static void describe(const PGresult *res, const char *what, enum mr_status status, struct mr_error *err)
{
    const char *message = field_of(res, PG_DIAG_MESSAGE_PRIMARY);
    const char *constraint = field_of(res, PG_DIAG_CONSTRAINT_NAME);
    const char *detail = field_of(res, PG_DIAG_MESSAGE_DETAIL);
    const char *hint = field_of(res, PG_DIAG_MESSAGE_HINT);

    if (*constraint)
        mr_fail(err, status, "%s: %s (constraint \"%s\")", what, message, constraint);
    else
        mr_fail(err, status, "%s: %s", what, message);
    if (*detail && (status != MR_E_DATA || mr_log_values())) /* a detail of a refused row quotes its values */
        mr_error_detail(err, "%s", detail);
    if (*hint)
        mr_error_hint(err, "%s", hint);
}

enum mr_status mr_pg_fail(struct mr_pg *pg, const PGresult *res, const char *what, struct mr_error *err)
{
    const char *state = field_of(res, PG_DIAG_SQLSTATE);
    const char *code;

    if (PQstatus(pg->conn) == CONNECTION_BAD || !*state) {
        enum mr_status status = mr_fail(err, MR_E_ENV, "%s: %s", what, PQerrorMessage(pg->conn));
        if (err)
            set_native(err, *state ? state : "08006", "connection");
        return status;
    }

    enum mr_status status = mr_pg_classify(state, &code);
    if (status == MR_E_ENV && strcmp(code, "unknown") == 0 && strcmp(field_of(res, PG_DIAG_SOURCE_FUNCTION), "exec_stmt_raise") == 0) {
        status = MR_E_DATA; /* a state of the user's own: RAISE … USING ERRCODE in a trigger */
        code = MR_CODE_REFUSED;
    }
    describe(res, what, status, err);
    if (!err)
        return status;
    set_native(err, state, code);
    const char *hint = own_hint(state);
    if (hint)
        mr_error_hint(err, "%s", hint);
    return status;
}

static bool is_fine(const PGresult *res)
{
    ExecStatusType status = PQresultStatus(res);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_EMPTY_QUERY;
}

enum mr_status mr_pg_run(struct mr_pg *pg, const char *sql_z, const char *what, struct mr_error *err)
{
    MR_PG_RESULT res = PQexec(pg->conn, sql_z);
    return is_fine(res) ? MR_OK : mr_pg_fail(pg, res, what, err);
}

enum mr_status mr_pg_sql(struct mr_pg *pg, const char **sql_z, struct mr_error *err)
{
    *sql_z = mr_buf_z(&pg->sql);
    return mr_buf_check(&pg->sql, "an SQL statement", err);
}

enum mr_status mr_pg_query(struct mr_pg *pg, const char *sql_z, int count, const char *const *params,
                           const char *what, PGresult **res, struct mr_error *err)
{
    *res = PQexecParams(pg->conn, sql_z, count, NULL, params, NULL, NULL, 0);
    return is_fine(*res) ? MR_OK : mr_pg_fail(pg, *res, what, err);
}

/* The context reads "COPY stage, line 17, column c3: …" in English; in every language the table's name stands before the line's
 * number, so nothing depends on the words. */
int64_t mr_pg_copy_line(const PGresult *res, struct mr_str relation)
{
    const char *context = field_of(res, PG_DIAG_CONTEXT);
    size_t len = strlen(context);
    const char *at = len && relation.len ? memmem(context, len, relation.ptr, relation.len) : NULL;
    if (!at)
        return -1;

    at += relation.len;
    while (*at && *at != '\n' && (*at < '0' || *at > '9'))
        at++;
    const char *end = at;
    while (*end >= '0' && *end <= '9')
        end++;
    int64_t line;
    if (!mr_parse_int64(mr_str_of(at, (size_t)(end - at)), &line) || line < 1)
        return -1;
    return line - 1;
}
