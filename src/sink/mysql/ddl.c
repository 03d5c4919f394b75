/* Running DDL steps. DDL waits for locks no longer than target.lock_timeout, so that it never queues everybody else up behind it. Every
 * statement of DDL commits by itself: what the caller began goes on as a new transaction. Where the server cannot do with the algorithm that a
 * statement names, the next one is taken; what is told is what ran. */
#include "convert.h"
#include "my.h"
#include "native.h"

#define NO_ALGORITHM "no_such_algorithm"

static const char *const algorithms[] = {"INSTANT", "INPLACE", "COPY"};

/* Errors whose plain class would be wrong for DDL. */
static enum mr_status judge(struct mr_error *err, enum mr_status status, const char *state_z)
{
    if (status == MR_E_BUSY && strcmp(err->code, "lock_timeout") == 0) /* the lock is held by somebody who may hold it for long */
        status = err->status = MR_E_ENV;
    if (status == MR_E_SCHEMA && (strcmp(err->code, "wrong_type") == 0 || strcmp(err->code, MR_CODE_OUT_OF_RANGE) == 0))
        status = err->status = MR_E_DATA; /* what is stored does not fit the new type */
    if (status == MR_E_ENV && strcmp(err->code, MR_CODE_UNKNOWN) == 0 && strncmp(state_z, "42", 2) == 0) {
        status = err->status = MR_E_CONFIG; /* a rule of the server's about what can be: waiting does not change it */
        mr_my_set_code(err, MR_CODE_REFUSED);
    }
    if (strcmp(err->code, NO_ALGORITHM) == 0 || strcmp(err->code, "has_dependents") == 0) { /* does not go here, today and tomorrow */
        mr_error_hint(err, "something in the target depends on it (a foreign key, a generated column, an index): drop that, or make the "
                           "change by hand");
        status = err->status = MR_E_CONFIG;
    }
    return status;
}

/* The statement's algorithm replaced by the next one in the list; false if it names none or the last. */
static bool next_algorithm(struct mr_str *sql, struct mr_arena *ar)
{
    for (size_t i = 0; i + 1 < sizeof(algorithms) / sizeof(algorithms[0]); i++) {
        struct mr_str ending = mr_arena_printf(ar, ", ALGORITHM=%s", algorithms[i]);
        if (!mr_str_ends(*sql, ending))
            continue;
        *sql = mr_arena_printf(ar, "%.*s, ALGORITHM=%s", (int)(sql->len - ending.len), sql->ptr, algorithms[i + 1]);
        return true;
    }
    return false;
}

static enum mr_status run_one(struct mr_my *my, struct mr_str *sql, struct mr_arena *ar, struct mr_error *err)
{
    struct mr_error own = {0};
    enum mr_status status;

    do {
        own = (struct mr_error){.row = -1};
        status = mr_my_run(my, *sql, "cannot change the schema", &own);
    } while (status == MR_E_ENV && strcmp(own.code, NO_ALGORITHM) == 0 && next_algorithm(sql, ar));
    if (status == MR_OK)
        return mr_my_go_on(my, err);
    status = judge(&own, status, mysql_sqlstate(my->conn));
    if (err)
        *err = own;
    return status;
}

/* Up to the next ";\n" outside quotes, which are part of a name or a literal. */
static size_t statement_length(struct mr_str sql)
{
    char quote = 0;
    for (size_t i = 0; i < sql.len; i++) {
        char c = sql.ptr[i];
        if (quote)
            quote = c == quote ? 0 : quote; /* a doubled one begins the quotes anew */
        else if (c == '`' || c == '\'')
            quote = c;
        else if (c == ';' && i + 1 < sql.len && sql.ptr[i + 1] == '\n')
            return i;
    }
    return sql.len;
}

/* A step is one statement, or several separated by ";\n". *text gets what ran. */
static enum mr_status run_all(struct mr_my *my, struct mr_str sql, struct mr_arena *ar, struct mr_str *text, struct mr_error *err)
{
    struct mr_buf ran = MR_BUF_INIT(MR_MY_MAX_TEXT);
    enum mr_status status = MR_OK;

    while (status == MR_OK && sql.len > 0) {
        size_t length = statement_length(sql), next = length < sql.len ? length + 2 : length;
        struct mr_str one = mr_str_of(sql.ptr, length);
        sql = mr_str_of(sql.ptr + next, sql.len - next);
        status = run_one(my, &one, ar, err);
        mr_buf_append_z(&ran, ran.len ? ";\n" : "");
        mr_buf_append_str(&ran, one);
    }
    *text = mr_arena_copy(ar, mr_buf_str(&ran));
    mr_buf_free(&ran);
    return status;
}

static enum mr_status refuse_held(struct mr_str column, const char *kind_z, struct mr_str name, struct mr_error *err)
{
    enum mr_status status = mr_fail(err, MR_E_CONFIG, "column %.*s must get another type, and %s %.*s holds it", MR_STR_FMT(column), kind_z,
                                    MR_STR_FMT(name));
    mr_error_hint(err, "drop the %s, or make the change by hand", kind_z);
    return status;
}

static bool mentions(struct mr_str clause, struct mr_str quoted)
{
    for (size_t i = 0; i + quoted.len <= clause.len; i++)
        if (mr_str_eq_nocase(mr_str_of(clause.ptr + i, quoted.len), quoted))
            return true;
    return false;
}

/* Nor does a check outlive the column: that of MariaDB's JSON alone is the type. */
static enum mr_status check_checks(struct mr_my *my, const struct mr_table *tbl, struct mr_str column, struct mr_arena *ar, struct mr_error *err)
{
    MR_MY_RESULT res = NULL;
    struct mr_buf name = MR_BUF_INIT(1024);

    mr_my_quote_ident(column, &name);
    struct mr_str quoted = mr_arena_copy(ar, mr_buf_str(&name));
    struct mr_str is_json = mr_arena_printf(ar, "json_valid(%.*s)", MR_STR_FMT(quoted));
    mr_buf_free(&name);
    mr_buf_clear(&my->sql);
    mr_buf_append_z(&my->sql, "SELECT c.CONSTRAINT_NAME, c.CHECK_CLAUSE FROM information_schema.CHECK_CONSTRAINTS AS c ");
    if (!my->is_mariadb)
        mr_buf_append_z(&my->sql, "JOIN information_schema.TABLE_CONSTRAINTS AS t USING (CONSTRAINT_SCHEMA, CONSTRAINT_NAME) ");
    mr_buf_append_z(&my->sql, "WHERE CONSTRAINT_SCHEMA = ");
    mr_my_quote_text(tbl->schema, &my->sql);
    mr_buf_append_z(&my->sql, my->is_mariadb ? " AND c.TABLE_NAME = " : " AND t.TABLE_NAME = ");
    mr_my_quote_text(tbl->name, &my->sql);
    MR_TRY(mr_my_query_built(my, "cannot read the catalog", &res, err));
    for (MYSQL_ROW row; res && (row = mysql_fetch_row(res));)
        if (mentions(mr_my_cell(res, row, 1), quoted) && !mr_str_eq(mr_my_cell(res, row, 1), is_json))
            return refuse_held(column, "check", mr_my_cell(res, row, 0), err);
    return MR_OK;
}

/* A column that is to be replaced by another of its name would take its indexes with it. */
static enum mr_status check_indexes(struct mr_my *my, const struct mr_table *tbl, struct mr_str column, struct mr_error *err)
{
    MR_MY_RESULT res = NULL;
    MYSQL_ROW row;

    mr_buf_clear(&my->sql);
    mr_buf_append_z(&my->sql, "SELECT INDEX_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = ");
    mr_my_quote_text(tbl->schema, &my->sql);
    mr_buf_append_z(&my->sql, " AND TABLE_NAME = ");
    mr_my_quote_text(tbl->name, &my->sql);
    mr_buf_append_z(&my->sql, " AND COLUMN_NAME = ");
    mr_my_quote_text(column, &my->sql);
    mr_buf_append_z(&my->sql, " LIMIT 1");
    MR_TRY(mr_my_query_built(my, "cannot read the catalog", &res, err));
    if (!res || !(row = mysql_fetch_row(res)))
        return MR_OK;
    return refuse_held(column, "index", mr_my_cell(res, row, 0), err);
}

/* The second column is in nobody's way, but it is nobody's either once the target has refused to let it take the place of the first. */
static void drop_shadow(struct mr_my *my, const struct mr_ddl_step *step)
{
    struct mr_error ignored = {0};

    mr_buf_clear(&my->sql);
    mr_my_alter_table(step->tbl, &my->sql);
    mr_buf_append_z(&my->sql, " DROP COLUMN `");
    mr_my_shadow_name(step->tbl->columns[step->column].name, &my->sql);
    mr_buf_append_char(&my->sql, '`');
    if (mr_my_run_built(my, "cannot change the schema", &ignored) == MR_OK)
        (void)!mr_my_go_on(my, &ignored);
}

/* my->sql gets the step's text. Doubles that no DECIMAL holds, which would silently be rounded, become text. */
static enum mr_status render(struct mr_my *my, const struct mr_ddl_step *step, const struct mr_catalog_table *now, bool *has_shadow,
                             struct mr_error *err)
{
    MR_MY_RESULT res = NULL;
    bool is_lossy = false;

    if (step->kind == MR_DDL_ALTER_TYPE && mr_my_makes_decimals_of_doubles(step, now)) {
        mr_buf_clear(&my->sql);
        mr_my_find_lossy_double(step, &my->sql);
        MR_TRY(mr_my_query_built(my, "cannot look through the table", &res, err));
        is_lossy = res && mysql_num_rows(res) > 0;
    }
    mr_buf_clear(&my->sql);
    is_lossy = is_lossy && !step->tbl->columns[step->column].is_key;
    *has_shadow = is_lossy || (step->kind == MR_DDL_ALTER_TYPE && mr_my_needs_shadow(step, now));
    if (is_lossy)
        mr_my_render_alter_to_text(step, now, &my->server, &my->sql);
    else
        mr_my_render(step, now, &my->server, &my->sql);
    return mr_buf_check(&my->sql, "a statement", err);
}

enum mr_status mr_my_ddl(struct mr_sink *sink, const struct mr_ddl_step *step, const struct mr_catalog_table *now, struct mr_arena *ar,
                         struct mr_str *statement, struct mr_error *err)
{
    struct mr_my *my = mr_my_of(sink);
    bool is_there = false, has_shadow = false;

    MR_TRY(render(my, step, now, &has_shadow, err));
    struct mr_str sql = *statement = mr_arena_copy(ar, mr_buf_str(&my->sql));
    if (step->kind == MR_DDL_CREATE_SCHEMA) /* CREATE DATABASE IF NOT EXISTS wants the right to create it even where it exists */
        MR_TRY(mr_my_schema_exists(my, step->tbl->schema, &is_there, err));
    if (is_there)
        return MR_OK;
    if (has_shadow) {
        MR_TRY(check_indexes(my, step->tbl, step->tbl->columns[step->column].name, err));
        MR_TRY(check_checks(my, step->tbl, step->tbl->columns[step->column].name, ar, err));
    }
    MR_TRY(mr_my_set_lock_wait(my, my->cfg->lock_timeout_ms > 0 ? my->cfg->lock_timeout_ms : 1, err));
    enum mr_status status = run_all(my, sql, ar, statement, err);
    if (has_shadow && (status == MR_E_CONFIG || status == MR_E_DATA))
        drop_shadow(my, step);
    struct mr_error ignored = {0};
    enum mr_status restored = mr_my_set_lock_wait(my, my->lock_wait_ms, status == MR_OK ? err : &ignored);
    return status == MR_OK ? restored : status;
}
