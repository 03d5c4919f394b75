/* The SQLite sink: what it offers to the engine. */
#include "internal.h"

static const struct mr_server *server(const struct mr_sink *sink)
{
    return &((const struct mr_sqlite *)(const void *)sink)->server;
}

/* There is no connection that could break: an error of the file shows itself at the next statement. */
static bool is_alive(struct mr_sink *sink)
{
    (void)sink;
    return true;
}

static const char *const schemes[] = {"sqlite:", NULL};

const struct mr_sink_ops mr_sink_sqlite = {
    .name = "sqlite",
    .url_schemes = schemes,
    .dialect = &mr_sqlite_dialect,
    .single_writer = true,
    .check_url = mr_sqlite_check_url,
    .default_schema = mr_sqlite_default_schema,
    .connect = mr_sqlite_connect,
    .destroy = mr_sqlite_destroy,
    .server = server,
    .is_alive = is_alive,
    .begin = mr_sqlite_begin,
    .commit = mr_sqlite_commit,
    .rollback = mr_sqlite_rollback,
    .savepoint = mr_sqlite_savepoint,
    .rollback_savepoint = mr_sqlite_rollback_savepoint,
    .release_savepoint = mr_sqlite_release_savepoint,
    .exec = mr_sqlite_exec,
    .apply = mr_sqlite_apply,
    .read_row = mr_sqlite_read_row,
    .describe_table = mr_sqlite_describe,
    .ddl = mr_sqlite_ddl,
    .gate_lock = mr_sqlite_gate_lock,
    .gate_unlock = mr_sqlite_gate_unlock,
    .prepare_control = mr_sqlite_prepare_control,
    .dump_table = mr_sqlite_dump,
    .cancel = mr_sqlite_cancel,
    .check = mr_sqlite_check,
};
