/* May this user do what loading does? Nothing is written: rights on tables are asked by preparing statements, which the server refuses to a user
 * who may not run them, roles and all; the rights to create and alter, which it only looks at when it runs them, are read from
 * information_schema, and not asked for where a role is on, whose rights do not stand there. */
#include "my.h"

struct asking {
    struct mr_my *my;
    mr_finding_fn fn;
    void *ctx;
    struct mr_arena *ar;
    struct mr_str user; /* 'name'@'host' */
    bool has_role;
};

static void tell(struct asking *a, const char *subject_z, struct mr_str text, const struct mr_error *err)
{
    a->fn(a->ctx, &(struct mr_finding){.subject_z = subject_z, .text = text, .err = err});
}

/* A right that is missing is given by somebody, not by another configuration: ENV. */
static void tell_missing(struct asking *a, const char *subject_z, struct mr_str text, struct mr_str message, struct mr_str hint)
{
    struct mr_error err = {0};
    (void)mr_fail(&err, MR_E_ENV, "%.*s", MR_STR_FMT(message));
    mr_error_hint(&err, "%.*s", MR_STR_FMT(hint));
    tell(a, subject_z, text, &err);
}

static struct mr_str quoted(struct asking *a, struct mr_str schema, struct mr_str table)
{
    struct mr_buf buf = MR_BUF_INIT(2048);
    if (table.len > 0)
        mr_my_quote_table(schema, table, &buf);
    else
        mr_my_quote_ident(schema, &buf);
    struct mr_str out = mr_arena_copy(a->ar, mr_buf_str(&buf));
    mr_buf_free(&buf);
    return out;
}

static enum mr_status read_user(struct asking *a, struct mr_error *err)
{
    static const char sql[] =
        "SELECT CONCAT('''', LEFT(CURRENT_USER(), CHAR_LENGTH(CURRENT_USER()) - LOCATE('@', REVERSE(CURRENT_USER()))), '''@''', "
        "SUBSTRING_INDEX(CURRENT_USER(), '@', -1), ''''), COALESCE(CURRENT_ROLE(), 'NONE') <> 'NONE'";
    MR_MY_RESULT res = NULL;
    MYSQL_ROW row;

    MR_TRY(mr_my_query(a->my, MR_STR(sql), "cannot read the user's rights", &res, err));
    if (!res || !(row = mysql_fetch_row(res)))
        return mr_fail(err, MR_E_ENV, "cannot read the user's rights: no answer");
    a->user = mr_arena_copy(a->ar, mr_my_cell(res, row, 0));
    a->has_role = mr_str_eq_z(mr_my_cell(res, row, 1), "1");
    return MR_OK;
}

/* MariaDB does not even prepare a statement that writes while transactions are read-only. */
static enum mr_status begin_asking(struct asking *a, struct mr_error *err)
{
    MR_TRY(read_user(a, err));
    return mr_my_run_z(a->my, "SET SESSION TRANSACTION READ WRITE", "cannot set up the session", err);
}

static enum mr_status end_asking(struct asking *a, struct mr_error *err)
{
    return a->my->read_only ? mr_my_run_z(a->my, "SET SESSION TRANSACTION READ ONLY", "cannot set up the session", err) : MR_OK;
}

/* Does the user have the right on everything, on the database, or on the table ("": not asked)? */
static enum mr_status has_right(struct asking *a, const char *right_z, struct mr_str schema, struct mr_str table, bool *yes,
                                struct mr_error *err)
{
    struct mr_my *my = a->my;
    MR_MY_RESULT res = NULL;

    *yes = a->has_role;
    if (a->has_role)
        return MR_OK;
    static const char *const places[] = {"USER_PRIVILEGES WHERE ", "SCHEMA_PRIVILEGES WHERE ", "TABLE_PRIVILEGES WHERE "};
    mr_buf_clear(&my->sql);
    for (size_t i = 0; i < 3; i++) {
        mr_buf_append_z(&my->sql, i ? " UNION ALL SELECT 1 FROM information_schema." : "SELECT 1 FROM information_schema.");
        mr_buf_append_z(&my->sql, places[i]);
        mr_buf_append_z(&my->sql, "GRANTEE = ");
        mr_my_quote_text(a->user, &my->sql);
        mr_buf_append_z(&my->sql, " AND PRIVILEGE_TYPE = ");
        mr_my_quote_text(mr_str_z(right_z), &my->sql);
        if (i == 0)
            continue;
        mr_buf_append_z(&my->sql, " AND ");
        mr_my_quote_text(schema, &my->sql);
        mr_buf_append_z(&my->sql, i == 1 ? " LIKE TABLE_SCHEMA" : " = TABLE_SCHEMA AND TABLE_NAME = ");
        if (i == 2)
            mr_my_quote_text(table, &my->sql);
    }
    MR_TRY(mr_my_query_built(my, "cannot read the user's rights", &res, err));
    *yes = res && mysql_num_rows(res) > 0;
    return MR_OK;
}

/* Can tables be made in this database? *exists tells whether it is there. */
static void check_schema(struct asking *a, const char *subject_z, struct mr_str schema, bool needs_create, bool *exists)
{
    struct mr_error err = {0};
    struct mr_str q = quoted(a, schema, MR_STR(""));
    bool may_create = true;

    *exists = false;
    if (mr_my_schema_exists(a->my, schema, exists, &err) != MR_OK ||
        (needs_create && has_right(a, "CREATE", schema, MR_STR(""), &may_create, &err) != MR_OK)) {
        tell(a, subject_z, schema, &err);
        return;
    }
    struct mr_str hint = mr_arena_printf(a->ar, "run: GRANT ALL ON %.*s.* TO %.*s", MR_STR_FMT(q), MR_STR_FMT(a->user));
    if (!may_create)
        tell_missing(a, subject_z, mr_arena_printf(a->ar, "database %.*s", MR_STR_FMT(q)),
                     mr_arena_printf(a->ar, "user %.*s may not create %s %.*s", MR_STR_FMT(a->user),
                                     *exists ? "tables in database" : "database", MR_STR_FMT(q)), hint);
    else
        tell(a, subject_z, mr_arena_printf(a->ar, *exists ? "database %.*s" : "database %.*s will be created", MR_STR_FMT(q)), NULL);
}

/* ---- Tables ---- */

/* The server looks at rights when it prepares. */
static enum mr_status try_prepare(struct asking *a, const char *before_z, struct mr_str table, const char *after_z, struct mr_error *err)
{
    struct mr_my *my = a->my;
    MYSQL_STMT *stmt = mysql_stmt_init(my->conn);
    enum mr_status status = MR_OK;

    if (!stmt)
        return mr_my_fail(my, "cannot read the user's rights", err);
    mr_buf_clear(&my->sql);
    mr_buf_append_z(&my->sql, before_z);
    mr_buf_append_str(&my->sql, table);
    mr_buf_append_z(&my->sql, after_z);
    if (mysql_stmt_prepare(stmt, my->sql.data, my->sql.len) != 0)
        status = mr_my_fail_stmt(my, stmt, "cannot write the table", err);
    mysql_stmt_close(stmt);
    return status;
}

/* True if the table, where it is there, is one that can be loaded exactly once and keeps its keys apart. */
static bool check_shape(struct asking *a, const char *subject_z, struct mr_str schema, struct mr_str table)
{
    struct mr_catalog_table now;
    struct mr_error err = {0};
    struct mr_str q = quoted(a, schema, table), clause = {0};

    if (mr_my_describe_table(&a->my->base, schema, table, a->ar, &now, &err) != MR_OK) {
        tell(a, subject_z, q, &err);
        return false;
    }
    for (size_t k = 0; k < now.key_count; k++)
        for (size_t i = 0; i < now.column_count; i++)
            if (mr_str_eq(now.columns[i].name, now.key[k]) && clause.len == 0)
                clause = now.columns[i].tell_apart;
    if (now.unfit.len > 0) {
        clause = now.remedy;
        (void)mr_fail(&err, MR_E_CONFIG, "the table %.*s", MR_STR_FMT(now.unfit));
    } else if (clause.len > 0) {
        (void)mr_fail(&err, MR_E_CONFIG, "a key column takes texts for equal that differ, by case, accent or blanks at the end");
    } else {
        return true;
    }
    mr_error_hint(&err, "run: ALTER TABLE %.*s %.*s", MR_STR_FMT(q), MR_STR_FMT(clause));
    tell(a, subject_z, q, &err);
    return false;
}

/* True if the table can be written (and altered, if that is wanted). */
static bool check_table(struct asking *a, const char *subject_z, struct mr_str schema, struct mr_str table, bool wants_alter)
{
    struct mr_str q = quoted(a, schema, table);
    struct mr_error err = {0};
    bool may_alter = true;
    enum mr_status status = try_prepare(a, "SELECT * FROM ", q, " WHERE FALSE", &err);

    if (status == MR_OK)
        status = try_prepare(a, "DELETE FROM ", q, " WHERE FALSE", &err);
    if (status == MR_OK)
        status = try_prepare(a, "INSERT INTO ", q, " VALUES ()", &err);
    if (status == MR_E_SCHEMA)
        return true; /* it is not there yet */
    if (status == MR_OK && wants_alter)
        status = has_right(a, "ALTER", schema, table, &may_alter, &err);
    if (status == MR_OK && may_alter)
        return check_shape(a, subject_z, schema, table);
    if (status == MR_OK)
        tell_missing(a, subject_z, q, mr_arena_printf(a->ar, "user %.*s may not alter table %.*s", MR_STR_FMT(a->user), MR_STR_FMT(q)),
                     mr_arena_printf(a->ar, "run: GRANT ALTER, CREATE, INSERT, DROP ON %.*s TO %.*s; or set target.evolve=none", MR_STR_FMT(q),
                                     MR_STR_FMT(a->user)));
    else if (strcmp(err.code, MR_CODE_NO_RIGHTS) == 0)
        tell_missing(a, subject_z, q, mr_arena_printf(a->ar, "user %.*s may not write table %.*s", MR_STR_FMT(a->user), MR_STR_FMT(q)),
                     mr_arena_printf(a->ar, "run: GRANT SELECT, INSERT, UPDATE, DELETE ON %.*s TO %.*s", MR_STR_FMT(q), MR_STR_FMT(a->user)));
    else
        tell(a, subject_z, q, &err);
    return false;
}

static enum mr_status on_version(void *ctx, const struct mr_value *cells, size_t count, struct mr_error *err)
{
    (void)err;
    *(int64_t *)ctx = count == 1 ? cells[0].i : 0;
    return MR_OK;
}

static void check_control(struct asking *a)
{
    static const char *const names[] = {"meta", "position", "topic_fact", "tracked_table", "tracked_column", "type_history", "ddl_history",
                                        "source_type", "source_ddl", "dead_letter"};
    struct mr_error err = {0};
    int64_t version = 0;
    enum mr_status status = mr_my_exec(&a->my->base, MR_Q_control_version, NULL, 0, on_version, &version, NULL, &err);
    bool has_tables = status == MR_OK, exists;

    if (version > MR_CONTROL_LAYOUT_VERSION) {
        (void)mr_fail(&err, MR_E_CONFIG, "the control tables were made by a newer Millrace (layout version %lld, this one knows %d)",
                      (long long)version, MR_CONTROL_LAYOUT_VERSION);
        tell(a, "control tables", a->my->control_name, &err);
        return;
    }
    check_schema(a, "control tables", a->my->control_name, !has_tables, &exists);
    for (size_t i = 0; has_tables && i < sizeof(names) / sizeof(names[0]); i++)
        (void)check_table(a, "control tables", a->my->control_name, mr_arena_printf(a->ar, "millrace_%s", names[i]), false);
}

static void check_places(struct asking *a, const struct mr_sink_place *places, size_t count)
{
    enum mr_evolve evolve = a->my->cfg->evolve;
    size_t tables = 0;
    bool fine = true, ignored;

    for (size_t i = 0; i < count; i++) {
        if (places[i].table.len == 0) {
            check_schema(a, "schema", places[i].schema, evolve != MR_EVOLVE_NONE, &ignored);
            continue;
        }
        tables++;
        fine = check_table(a, "table", places[i].schema, places[i].table, evolve == MR_EVOLVE_FULL) && fine;
    }
    if (tables > 0 && fine)
        tell(a, "tables", mr_arena_printf(a->ar, "%zu loaded so far can be written%s", tables,
                                          evolve == MR_EVOLVE_FULL ? " and altered" : ""), NULL);
}

void mr_my_check(struct mr_sink *sink, const struct mr_sink_place *places, size_t count, mr_finding_fn fn, void *ctx)
{
    struct asking a = {.my = mr_my_of(sink), .fn = fn, .ctx = ctx};
    struct mr_error err = {0};

    a.ar = mr_arena_create(0);
    if (begin_asking(&a, &err) != MR_OK) {
        tell(&a, "rights", MR_STR("user"), &err);
    } else {
        check_control(&a);
        check_places(&a, places, count);
        if (end_asking(&a, &err) != MR_OK)
            tell(&a, "rights", MR_STR("user"), &err);
    }
    mr_arena_destroy(a.ar);
}
