/* The control tables' making, and the gate that lets one instance at a time change the schema. Both rest on named locks of the server, whose
 * names are made of the database of the control tables: pipelines with different control tables do not wait for one another. */
#include "my.h"
#include "query_text.h"

enum lock_purpose { LOCK_CONTROL, LOCK_GATE };

#define MAKING_SECONDS 60 /* the others are making the control tables: so long at most */

/* GET_LOCK answers 1, or 0 after `seconds`, or NULL when the wait was ended. */
static enum mr_status take_lock(struct mr_my *my, enum lock_purpose purpose, long long seconds, enum mr_status otherwise,
                                const char *taken_z, struct mr_error *err)
{
    MR_MY_RESULT res = NULL;
    MYSQL_ROW row;

    mr_buf_clear(&my->sql);
    mr_buf_append_z(&my->sql, "SELECT GET_LOCK(");
    mr_my_quote_text(mr_str_z(my->lock_name[purpose]), &my->sql);
    mr_buf_printf(&my->sql, ", %lld)", seconds);
    MR_TRY(mr_my_query_built(my, "cannot take a named lock", &res, err));
    if (res && (row = mysql_fetch_row(res)) && mr_str_eq_z(mr_my_cell(res, row, 0), "1"))
        return MR_OK;
    return mr_fail(err, otherwise, "%s", taken_z);
}

static void give_lock(struct mr_my *my, enum lock_purpose purpose)
{
    struct mr_error ignored = {0};

    mr_buf_clear(&my->sql);
    mr_buf_append_z(&my->sql, "SELECT RELEASE_LOCK(");
    mr_my_quote_text(mr_str_z(my->lock_name[purpose]), &my->sql);
    mr_buf_append_char(&my->sql, ')');
    (void)!mr_my_run_built(my, "cannot give a named lock back", &ignored); /* the end of the connection gives it back too */
}

/* Not waited for inside the call: the other instance may be rewriting a table for an hour, and meanwhile the caller has a group to keep. */
enum mr_status mr_my_gate_lock(struct mr_sink *sink, struct mr_error *err)
{
    return take_lock(mr_my_of(sink), LOCK_GATE, 0, MR_E_BUSY, "another instance is changing the schema", err);
}

void mr_my_gate_unlock(struct mr_sink *sink)
{
    give_lock(mr_my_of(sink), LOCK_GATE);
}

static enum mr_status on_version(void *ctx, const struct mr_value *cells, size_t count, struct mr_error *err)
{
    if (count != 1 || cells[0].tag != MR_V_INT)
        return mr_fail(err, MR_E_BUG, "the layout version is no integer");
    *(int64_t *)ctx = cells[0].i;
    return MR_OK;
}

/* *version is 0 if there are no control tables, or if their making was ended before its last statement. */
static enum mr_status read_version(struct mr_sink *sink, int64_t *version, struct mr_error *err)
{
    struct mr_error own = {0};

    *version = 0;
    enum mr_status status = mr_my_exec(sink, MR_Q_control_version, NULL, 0, on_version, version, NULL, &own);
    if (status == MR_OK || status == MR_E_SCHEMA)
        return MR_OK;
    if (err)
        *err = own;
    return status;
}

static enum mr_status make_database(struct mr_my *my, struct mr_error *err)
{
    bool exists = false;
    MR_TRY(mr_my_schema_exists(my, my->control_name, &exists, err));
    if (exists) /* CREATE DATABASE IF NOT EXISTS wants the right to create it even then */
        return MR_OK;
    mr_buf_clear(&my->sql);
    mr_buf_append_z(&my->sql, "CREATE DATABASE IF NOT EXISTS ");
    mr_buf_append_str(&my->sql, mr_buf_str(&my->control));
    mr_buf_append_z(&my->sql, " CHARACTER SET utf8mb4 COLLATE ");
    mr_buf_append_z(&my->sql, mr_my_collation(&my->server));
    return mr_my_run_built(my, "cannot create the database of the control tables", err);
}

static enum mr_status run_create(struct mr_my *my, struct mr_error *err)
{
    struct mr_my_statement *statements;
    size_t count;

    MR_TRY(make_database(my, err));
    MR_TRY(mr_my_query_split(mr_sql_mysql[MR_Q_control_create], mr_buf_str(&my->control), mr_my_collation(&my->server), my->scratch,
                             &statements, &count, err));
    for (size_t i = 0; i < count; i++)
        MR_TRY(mr_my_run(my, statements[i].text, "cannot create the control tables", err));
    return MR_OK;
}

/* One instance makes them; the others wait at the lock and then find them there. The row with the version comes last: what was ended before it
 * is gone through again. */
static enum mr_status create_tables(struct mr_sink *sink, struct mr_error *err)
{
    struct mr_my *my = mr_my_of(sink);
    int64_t version;

    mr_arena_reset(my->scratch);
    MR_TRY(take_lock(my, LOCK_CONTROL, MAKING_SECONDS, MR_E_ENV, "another instance is making the control tables", err));
    enum mr_status status = run_create(my, err);
    give_lock(my, LOCK_CONTROL);
    MR_TRY(status);
    MR_TRY(read_version(sink, &version, err));
    if (version != MR_CONTROL_LAYOUT_VERSION)
        return mr_fail(err, MR_E_BUG, "control_create made layout version %lld", (long long)version);
    return MR_OK;
}

enum mr_status mr_my_prepare_control(struct mr_sink *sink, struct mr_error *err)
{
    int64_t version;

    MR_TRY(read_version(sink, &version, err));
    if (version > MR_CONTROL_LAYOUT_VERSION)
        return mr_fail(err, MR_E_CONFIG, "the control tables in %.*s were made by a newer Millrace (layout version %lld, this one knows %d)",
                       MR_STR_FMT(mr_buf_str(&mr_my_of(sink)->control)), (long long)version, MR_CONTROL_LAYOUT_VERSION);
    return version == MR_CONTROL_LAYOUT_VERSION ? MR_OK : create_tables(sink, err);
}
