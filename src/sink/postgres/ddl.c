/* Running DDL steps. DDL waits for locks no longer than target.lock_timeout, so that it never queues everybody else up behind it. */
#include "pg.h"

/* The statement is what does not go here, today and tomorrow: no trouble of the server's that passes by itself. 42501 passes: a right is given. */
static bool is_about_the_statement(const char *state)
{
    return strcmp(state, "0A000") == 0 || strcmp(state, "2BP01") == 0 || (strncmp(state, "42", 2) == 0 && strcmp(state, "42501") != 0);
}

/* Errors whose plain class would be wrong for DDL. */
static enum mr_status judge(struct mr_error *err, const PGresult *res, enum mr_status status)
{
    const char *schema = res ? PQresultErrorField(res, PG_DIAG_SCHEMA_NAME) : NULL;

    if (status == MR_E_DATA && schema && strcmp(schema, "pg_catalog") == 0) {
        err->status = MR_E_BUSY; /* two instances made the same object at once: the catalog's own unique index speaks */
        return MR_E_BUSY;
    }
    if ((status == MR_E_ENV || status == MR_E_CONFIG) && is_about_the_statement(err->native)) {
        mr_error_hint(err, "something in the target depends on it (a view, a rule, a generated column, a foreign key): drop that, or make "
                           "the change by hand");
        err->status = MR_E_CONFIG;
        return MR_E_CONFIG;
    }
    return status;
}

static enum mr_status run(struct mr_pg *pg, const char *sql_z, struct mr_error *err)
{
    struct mr_error own = {0};
    struct mr_error *to = err ? err : &own;
    MR_PG_RESULT res = PQexec(pg->conn, sql_z);

    if (PQresultStatus(res) == PGRES_COMMAND_OK)
        return MR_OK;
    return judge(to, res, mr_pg_fail(pg, res, "cannot change the schema", to));
}

static enum mr_status set_lock_timeout(struct mr_pg *pg, struct mr_error *err)
{
    char text[32];
    MR_PG_RESULT res = NULL;

    snprintf(text, sizeof(text), "%lld", (long long)pg->cfg->lock_timeout_ms);
    return mr_pg_query(pg, "SELECT set_config('lock_timeout', $1, true)", 1, (const char *const[]){text},
                       "cannot set the lock timeout", &res, err);
}

/* CREATE SCHEMA IF NOT EXISTS wants a right on the database even where the schema exists. */
static enum mr_status schema_exists(struct mr_pg *pg, struct mr_str schema, bool *exists, struct mr_error *err)
{
    const char *name = mr_arena_strndup(pg->scratch, schema.ptr, schema.len);
    MR_PG_RESULT res = NULL;
    MR_TRY(mr_pg_query(pg, "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1", 1, &name, "cannot read the catalog",
                       &res, err));
    *exists = PQntuples(res) > 0;
    return MR_OK;
}

enum mr_status mr_pg_ddl(struct mr_sink *sink, const struct mr_ddl_step *step, const struct mr_catalog_table *now,
                         struct mr_arena *ar, struct mr_str *statement, struct mr_error *err)
{
    struct mr_pg *pg = mr_pg_of(sink);
    bool is_there = false;
    const char *sql_z;

    mr_arena_reset(pg->scratch);
    mr_buf_clear(&pg->sql);
    mr_pg_render(step, now, &pg->server, &pg->sql);
    MR_TRY(mr_pg_sql(pg, &sql_z, err));
    *statement = mr_arena_copy(ar, mr_buf_str(&pg->sql));
    if (step->kind == MR_DDL_CREATE_SCHEMA)
        MR_TRY(schema_exists(pg, step->tbl->schema, &is_there, err));
    if (is_there)
        return MR_OK;
    MR_TRY(set_lock_timeout(pg, err));
    MR_TRY(run(pg, sql_z, err));
    return mr_pg_run(pg, "SET LOCAL lock_timeout TO DEFAULT", "cannot set the lock timeout", err);
}
