/* Statements in Canal's messages. The text decides what happens to which tables, one change for each; the message's own names are no more
 * than defaults, since `table` is only the first table, and after a RENAME its new name. See canal.h. */
#include "canal.h"

#include "control.h"
#include "mysql_statement.h"
#include "names.h"

static struct mr_str text_at(const struct mr_shape *sh, enum mr_member m, struct mr_arena *ar)
{
    return mr_shape_is(sh, m, MR_J_STRING) ? mr_json_string(sh->doc, sh->node[m], ar, NULL) : MR_STR("");
}

/* CREATE and DROP DATABASE have the name as it was written. */
static struct mr_str without_backticks(struct mr_str name)
{
    if (name.len > 2 && name.ptr[0] == '`' && name.ptr[name.len - 1] == '`')
        return mr_str_of(name.ptr + 1, name.len - 2);
    return name;
}

/* The message's names. What comes from the session's current database has its UTF-8 bytes as Latin-1 characters. */
static struct mr_relation header_names(struct mr_canal_message *m)
{
    struct mr_relation rel;
    rel.database = mr_latin1_undo(without_backticks(text_at(m->sh, MR_M_DATABASE, m->ar)), m->ar);
    rel.table = text_at(m->sh, MR_M_TABLE, m->ar);
    return rel;
}

/* What the type of a message says by itself, for statements that cannot be read. */
static enum mr_statement_kind kind_of_type(struct mr_str type)
{
    static const struct {
        const char *type_z;
        enum mr_statement_kind kind;
    } kinds[] = {
        {"CREATE", MR_STMT_CREATE},       {"ALTER", MR_STMT_ALTER},       {"ERASE", MR_STMT_DROP},
        {"RENAME", MR_STMT_RENAME},       {"CINDEX", MR_STMT_CREATE_INDEX}, {"DINDEX", MR_STMT_DROP_INDEX},
    };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (mr_str_eq_z(type, kinds[i].type_z))
            return kinds[i].kind;
    }
    return MR_STMT_UNKNOWN;
}

/* Names without a database belong to the session's. After RENAME TABLE a TO other.b the header has `other`, and where `a` was is told nowhere. A header
 * with another name than that has the session's. */
static struct mr_str session_database(const struct mr_mysql_statement *stmt, struct mr_str header)
{
    bool hides = stmt->kind == MR_STMT_RENAME && stmt->targets[0].name.database.len == 0 &&
                 stmt->targets[0].new_name.database.len != 0 && mr_str_eq_nocase(stmt->targets[0].new_name.database, header);
    return hides ? MR_STR("") : header;
}

static struct mr_relation resolved(struct mr_canal_message *m, struct mr_relation rel, struct mr_str session)
{
    struct mr_relation out;
    out.database = mr_name_spelled(m->cl->cfg, rel.database.len != 0 ? rel.database : session, m->ar);
    out.table = mr_name_spelled(m->cl->cfg, rel.table, m->ar);
    return out;
}

static struct mr_change *new_change(struct mr_canal_message *m, enum mr_op op)
{
    struct mr_change *ev = mr_arena_zalloc(m->ar, sizeof(*ev));
    ev->op = op;
    ev->source_us = m->source_us;
    ev->tx_id = m->tx_id;
    return ev;
}

static struct mr_change *new_schema_change(struct mr_canal_message *m, struct mr_str sql, struct mr_str session,
                                           enum mr_statement_kind kind, uint32_t part)
{
    struct mr_change *ev = new_change(m, MR_OP_CONTROL);
    ev->control = MR_CONTROL_SCHEMA_CHANGE;
    ev->statement = sql;
    ev->statement_db = mr_name_spelled(m->cl->cfg, session, m->ar);
    ev->statement_kind = kind;
    ev->statement_part = part;
    return ev;
}

static enum mr_status emit_targets(struct mr_canal_message *m, struct mr_str sql, const struct mr_mysql_statement *stmt,
                                   struct mr_str header_db, struct mr_error *err)
{
    struct mr_str session = session_database(stmt, header_db);
    for (size_t i = 0; i < stmt->count; i++) {
        const struct mr_mysql_target *t = &stmt->targets[i];
        struct mr_change *ev;
        if (stmt->is_truncate) {
            ev = new_change(m, MR_OP_TRUNCATE);
        } else {
            ev = new_schema_change(m, sql, session, stmt->kind, (uint32_t)i);
            if (stmt->kind == MR_STMT_RENAME)
                ev->new_relation = resolved(m, t->new_name, session);
        }
        ev->relation = resolved(m, t->name, session);
        if (stmt->is_truncate)
            mr_canal_meta(m, MR_STR("t"), ev);
        MR_TRY(m->emit(m->ctx, ev, err));
    }
    return MR_OK;
}

enum mr_status mr_canal_statement(struct mr_canal_message *m, struct mr_str type, struct mr_error *err)
{
    struct mr_str sql = text_at(m->sh, MR_M_SQL, m->ar);
    struct mr_relation header = header_names(m);
    struct mr_mysql_statement stmt;
    if (mr_mysql_statement_read(sql, m->ar, &stmt))
        return emit_targets(m, sql, &stmt, header.database, err);

    if (mr_str_eq_z(type, "TRUNCATE")) {
        if (header.table.len == 0)
            return mr_fail_data(err, MR_CODE_NO_TABLE, "a TRUNCATE that names no table");
        struct mr_change *ev = new_change(m, MR_OP_TRUNCATE);
        ev->relation = resolved(m, header, MR_STR(""));
        return m->emit(m->ctx, ev, err);
    }
    enum mr_statement_kind kind = kind_of_type(type);
    if (kind == MR_STMT_UNKNOWN) /* GRANT, views, users and the like */
        return mr_control_emit(MR_CONTROL_EMPTY, NULL, m->ar, m->emit, m->ctx, err);
    struct mr_change *ev = new_schema_change(m, sql, header.database, kind, 0);
    ev->relation = resolved(m, header, MR_STR(""));
    if (kind == MR_STMT_RENAME) { /* the header's table is the new one */
        ev->new_relation = ev->relation;
        ev->relation.table = MR_STR("");
    }
    return m->emit(m->ctx, ev, err);
}
