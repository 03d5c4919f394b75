/* May this role do what loading does? Asked of the catalog's own functions; nothing is written. */
#include "pg.h"

struct asking {
    struct mr_pg *pg;
    mr_finding_fn fn;
    void *ctx;
    struct mr_arena *ar;
};

static void tell(struct asking *a, const char *subject_z, struct mr_str text, const struct mr_error *err)
{
    a->fn(a->ctx, &(struct mr_finding){.subject_z = subject_z, .text = text, .err = err});
}

static bool is_true(const PGresult *res, int column)
{
    return strcmp(PQgetvalue(res, 0, column), "t") == 0;
}

/* A right that is missing is given by somebody, not by another configuration: ENV. */
static void tell_missing(struct asking *a, const char *subject_z, struct mr_str text, struct mr_str message, struct mr_str hint)
{
    struct mr_error err = {0};
    (void)mr_fail(&err, MR_E_ENV, "%.*s", MR_STR_FMT(message));
    mr_error_hint(&err, "%.*s", MR_STR_FMT(hint));
    tell(a, subject_z, text, &err);
}

static struct mr_str quoted(struct asking *a, struct mr_str name)
{
    struct mr_buf buf = MR_BUF_INIT(1024);
    mr_pg_quote_ident(name, &buf);
    struct mr_str out = mr_arena_copy(a->ar, mr_buf_str(&buf));
    mr_buf_free(&buf);
    return out;
}

static const char schema_sql[] =
    "SELECT n.oid IS NOT NULL, coalesce(has_schema_privilege(n.oid, 'USAGE'), false), "
    "coalesce(has_schema_privilege(n.oid, 'CREATE'), false), has_database_privilege(current_database(), 'CREATE'), "
    "quote_ident(current_user), quote_ident(current_database()) "
    "FROM (SELECT (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = $1) AS oid) AS n";

/* Can tables be made in this schema? *exists tells whether it is there. */
static void check_schema(struct asking *a, const char *subject_z, struct mr_str schema, bool needs_create, bool *exists)
{
    const char *name_z = mr_arena_strndup(a->ar, schema.ptr, schema.len);
    struct mr_error err = {0};
    struct mr_str q = quoted(a, schema);
    MR_PG_RESULT res = NULL;
    *exists = false;
    if (mr_pg_query(a->pg, schema_sql, 1, &name_z, "cannot read the role's rights", &res, &err) != MR_OK) {
        tell(a, subject_z, schema, &err);
        return;
    }
    const char *role_z = PQgetvalue(res, 0, 4), *db_z = PQgetvalue(res, 0, 5);
    *exists = is_true(res, 0);
    if (!*exists && is_true(res, 3))
        tell(a, subject_z, mr_arena_printf(a->ar, "schema %.*s will be created", MR_STR_FMT(q)), NULL);
    else if (!*exists)
        tell_missing(a, subject_z, mr_arena_printf(a->ar, "schema %.*s", MR_STR_FMT(q)),
                     mr_arena_printf(a->ar, "schema %.*s does not exist, and role %s may not create schemas in database %s",
                                     MR_STR_FMT(q), role_z, db_z),
                     mr_arena_printf(a->ar, "run: CREATE SCHEMA %.*s AUTHORIZATION %s; or: GRANT CREATE ON DATABASE %s TO %s",
                                     MR_STR_FMT(q), role_z, db_z, role_z));
    else if (!is_true(res, 1) || (needs_create && !is_true(res, 2)))
        tell_missing(a, subject_z, mr_arena_printf(a->ar, "schema %.*s", MR_STR_FMT(q)),
                     mr_arena_printf(a->ar, "role %s may not %s schema %.*s", role_z,
                                     is_true(res, 1) ? "create tables in" : "use", MR_STR_FMT(q)),
                     mr_arena_printf(a->ar, "run: GRANT USAGE%s ON SCHEMA %.*s TO %s", needs_create ? ", CREATE" : "",
                                     MR_STR_FMT(q), role_z));
    else
        tell(a, subject_z,
             mr_arena_printf(a->ar, "schema %.*s is there%s", MR_STR_FMT(q), needs_create ? ", tables can be created in it" : ""),
             NULL);
}

/* $1 schema, $2 table, null: the control tables. May they be written, may they be altered? */
static const char tables_sql[] =
    "SELECT c.relname, bool_and(has_table_privilege(c.oid, p.name)), bool_and(pg_has_role(c.relowner, 'USAGE')), "
    "quote_ident(current_user) "
    "FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace, "
    "(VALUES ('SELECT'), ('INSERT'), ('UPDATE'), ('DELETE')) AS p (name) "
    "WHERE n.nspname = $1 AND c.relkind IN ('r', 'p') AND CASE WHEN $2::text IS NULL THEN c.relname IN ('meta', 'position', "
    "'topic_fact', 'tracked_table', 'tracked_column', 'type_history', 'ddl_history', 'dead_letter') ELSE c.relname = $2 END "
    "GROUP BY 1 ORDER BY 1";

/* True if all that are there can be written (and altered, if that is wanted). */
static bool check_tables(struct asking *a, const char *subject_z, struct mr_str schema, const char *table_z, bool wants_alter)
{
    const char *params[] = {mr_arena_strndup(a->ar, schema.ptr, schema.len), table_z};
    struct mr_error err = {0};
    bool fine = true;
    MR_PG_RESULT res = NULL;
    if (mr_pg_query(a->pg, tables_sql, 2, params, "cannot read the role's rights", &res, &err) != MR_OK) {
        tell(a, subject_z, schema, &err);
        return false;
    }
    for (int i = 0; i < PQntuples(res); i++) {
        bool may_write = strcmp(PQgetvalue(res, i, 1), "t") == 0, is_owner = strcmp(PQgetvalue(res, i, 2), "t") == 0;
        struct mr_str name = mr_str_z(PQgetvalue(res, i, 0)), s = quoted(a, schema), t = quoted(a, name);
        const char *role_z = PQgetvalue(res, i, 3);
        if (may_write && (is_owner || !wants_alter))
            continue;
        fine = false;
        tell_missing(a, subject_z, mr_arena_printf(a->ar, "%.*s.%.*s", MR_STR_FMT(s), MR_STR_FMT(t)),
                     mr_arena_printf(a->ar, "role %s may not %s table %.*s.%.*s", role_z, may_write ? "alter" : "write",
                                     MR_STR_FMT(s), MR_STR_FMT(t)),
                     may_write ? mr_arena_printf(a->ar, "run: ALTER TABLE %.*s.%.*s OWNER TO %s; or set target.evolve=none",
                                                 MR_STR_FMT(s), MR_STR_FMT(t), role_z)
                               : mr_arena_printf(a->ar, "run: GRANT SELECT, INSERT, UPDATE, DELETE ON %.*s.%.*s TO %s",
                                                 MR_STR_FMT(s), MR_STR_FMT(t), role_z));
    }
    return fine;
}

static enum mr_status on_version(void *ctx, const struct mr_value *cells, size_t count, struct mr_error *err)
{
    (void)err;
    *(int64_t *)ctx = count == 1 ? cells[0].i : 0;
    return MR_OK;
}

static void check_control(struct asking *a)
{
    const char *name_z = a->pg->cfg->control_schema;
    struct mr_str schema = mr_str_z(name_z && *name_z ? name_z : "millrace");
    struct mr_error err = {0};
    int64_t version = 0;
    enum mr_status status = mr_pg_exec(&a->pg->base, MR_Q_control_version, NULL, 0, on_version, &version, NULL, &err);
    bool has_tables = status != MR_E_SCHEMA, exists;
    if (version > MR_CONTROL_LAYOUT_VERSION) {
        (void)mr_fail(&err, MR_E_CONFIG, "the control tables were made by a newer Millrace (layout version %lld, this one knows %d)",
                      (long long)version, MR_CONTROL_LAYOUT_VERSION);
        tell(a, "control tables", schema, &err);
        return;
    }
    check_schema(a, "control tables", schema, !has_tables, &exists);
    if (exists && has_tables)
        (void)check_tables(a, "control tables", schema, NULL, false);
}

static void check_places(struct asking *a, const struct mr_sink_place *places, size_t count)
{
    size_t tables = 0;
    bool fine = true, ignored;
    for (size_t i = 0; i < count; i++) {
        if (places[i].table.len == 0) {
            check_schema(a, "schema", places[i].schema, a->pg->cfg->evolve != MR_EVOLVE_NONE, &ignored);
            continue;
        }
        const char *table_z = mr_arena_strndup(a->ar, places[i].table.ptr, places[i].table.len);
        tables++;
        fine = check_tables(a, "table", places[i].schema, table_z, a->pg->cfg->evolve == MR_EVOLVE_FULL) && fine;
    }
    if (tables > 0 && fine)
        tell(a, "tables", mr_arena_printf(a->ar, "%zu loaded so far can be written%s", tables,
                                          a->pg->cfg->evolve == MR_EVOLVE_FULL ? " and altered" : ""), NULL);
}

void mr_pg_check(struct mr_sink *sink, const struct mr_sink_place *places, size_t count, mr_finding_fn fn, void *ctx)
{
    struct asking a = {.pg = mr_pg_of(sink), .fn = fn, .ctx = ctx};
    a.ar = mr_arena_create(0);
    check_control(&a);
    check_places(&a, places, count);
    if (!a.pg->can_temp)
        tell(&a, "speed", MR_STR("without the right TEMPORARY on the database, large batches are applied row by row"), NULL);
    mr_arena_destroy(a.ar);
}
