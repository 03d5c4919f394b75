/* The control tables' making, and the gate that lets one instance at a time change the schema. Both rest on advisory locks whose
 * keys are made of the control schema's name: pipelines with different control schemas do not wait for one another. */
#include "pg.h"

#include "query_text.h"

#include <millrace/base/hash.h>

enum lock_purpose { LOCK_CONTROL = 1, LOCK_GATE };

/* The lock's key as text, for a bound parameter. */
static void lock_key(const struct mr_pg *pg, enum lock_purpose purpose, char out[32])
{
    snprintf(out, 32, "%lld", (long long)mr_hash(pg->control.data, pg->control.len, (uint64_t)purpose));
}

static enum mr_status take_lock(struct mr_pg *pg, enum lock_purpose purpose, const char *sql_z, struct mr_error *err)
{
    char key[32];
    lock_key(pg, purpose, key);
    MR_PG_RESULT res = NULL;
    return mr_pg_query(pg, sql_z, 1, (const char *const[]){key}, "cannot take an advisory lock", &res, err);
}

/* Not waited for inside the call: the other instance may be rewriting a table for an hour, and meanwhile the caller has a group to keep. */
enum mr_status mr_pg_gate_lock(struct mr_sink *sink, struct mr_error *err)
{
    char key[32];
    MR_PG_RESULT res = NULL;

    lock_key(mr_pg_of(sink), LOCK_GATE, key);
    MR_TRY(mr_pg_query(mr_pg_of(sink), "SELECT pg_try_advisory_lock($1)", 1, (const char *const[]){key}, "cannot take an advisory lock",
                       &res, err));
    if (strcmp(PQgetvalue(res, 0, 0), "t") == 0)
        return MR_OK;
    return mr_fail(err, MR_E_BUSY, "another instance is changing the schema");
}

void mr_pg_gate_unlock(struct mr_sink *sink)
{
    struct mr_pg *pg = mr_pg_of(sink);
    struct mr_error ignored = {0};

    if (PQtransactionStatus(pg->conn) == PQTRANS_INERROR)
        mr_pg_rollback(sink);
    if (PQstatus(pg->conn) == CONNECTION_OK) /* else the server has let go of it already */
        (void)take_lock(pg, LOCK_GATE, "SELECT pg_advisory_unlock($1)", &ignored);
}

static enum mr_status on_version(void *ctx, const struct mr_value *cells, size_t count, struct mr_error *err)
{
    if (count != 1 || cells[0].tag != MR_V_INT)
        return mr_fail(err, MR_E_BUG, "the layout version is no integer");
    *(int64_t *)ctx = cells[0].i;
    return MR_OK;
}

/* *version is 0 if there are no control tables. */
static enum mr_status read_version(struct mr_sink *sink, int64_t *version, struct mr_error *err)
{
    struct mr_error own = {0};

    *version = 0;
    enum mr_status status = mr_pg_exec(sink, MR_Q_control_version, NULL, 0, on_version, version, NULL, &own);
    if (status == MR_OK || status == MR_E_SCHEMA)
        return MR_OK;
    if (err)
        *err = own;
    return status;
}

static enum mr_status control_schema_exists(struct mr_pg *pg, bool *exists, struct mr_error *err)
{
    const char *name = mr_buf_z(&pg->control);
    MR_PG_RESULT res = NULL;
    MR_TRY(mr_pg_query(pg, "SELECT to_regnamespace($1) IS NOT NULL", 1, &name, "cannot look for the control schema", &res, err));
    *exists = strcmp(PQgetvalue(res, 0, 0), "t") == 0;
    return MR_OK;
}

/* CREATE SCHEMA IF NOT EXISTS wants a right on the database even where the schema exists: a role that was given its schema can
 * do without. */
static enum mr_status run_create(struct mr_pg *pg, struct mr_error *err)
{
    struct mr_pg_statement *statements;
    size_t count;
    bool exists;

    MR_TRY(mr_pg_query_split(mr_sql_postgres[MR_Q_control_create], mr_buf_str(&pg->control), pg->scratch, &statements,
                             &count, err));
    MR_TRY(control_schema_exists(pg, &exists, err));
    for (size_t i = 0; i < count; i++) {
        bool is_schema = mr_str_starts(mr_str_z(statements[i].text_z), MR_STR("CREATE SCHEMA"));
        if (!(is_schema && exists))
            MR_TRY(mr_pg_run(pg, statements[i].text_z, "cannot create the control tables", err));
    }
    return MR_OK;
}

/* One instance makes them; the others wait at the lock and then find them there. */
static enum mr_status create_tables(struct mr_sink *sink, struct mr_error *err)
{
    struct mr_pg *pg = mr_pg_of(sink);
    int64_t version;

    mr_arena_reset(pg->scratch);
    MR_TRY(mr_pg_begin(sink, err));
    enum mr_status status = take_lock(pg, LOCK_CONTROL, "SELECT pg_advisory_xact_lock($1)", err);
    if (status == MR_OK)
        status = run_create(pg, err);
    if (status == MR_OK)
        status = mr_pg_commit(sink, err);
    if (status != MR_OK) {
        mr_pg_rollback(sink);
        return status;
    }
    MR_TRY(read_version(sink, &version, err));
    if (version != MR_CONTROL_LAYOUT_VERSION)
        return mr_fail(err, MR_E_BUG, "control_create made layout version %lld", (long long)version);
    return MR_OK;
}

enum mr_status mr_pg_prepare_control(struct mr_sink *sink, struct mr_error *err)
{
    int64_t version;

    MR_TRY(read_version(sink, &version, err));
    if (version > MR_CONTROL_LAYOUT_VERSION)
        return mr_fail(err, MR_E_CONFIG, "the control tables in %.*s were made by a newer Millrace (layout version %lld, this one "
                       "knows %d)", MR_STR_FMT(mr_buf_str(&mr_pg_of(sink)->control)), (long long)version,
                       MR_CONTROL_LAYOUT_VERSION);
    return version == MR_CONTROL_LAYOUT_VERSION ? MR_OK : create_tables(sink, err);
}
