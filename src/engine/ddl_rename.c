/* See ddl_rename.h. Tools that change a table by copying it (gh-ost, pt-online-schema-change) end with one statement: the table gets another name, the
 * copy takes the old one; then the old table is dropped. Where the copy has not been loaded, what the target has is all there is of its rows.
 *
 * Canal and Maxwell bring the statement whole. Debezium (3.6.1) makes an event of each clause, with the new names of all clauses beside it
 * (mr_source_action.beside); there the first clause waits for the second one, which tells what the copy is called. */
#include "ddl_rename.h"

#include "internal.h"

bool mr_relation_is_same(const struct mr_relation *a, const struct mr_relation *b)
{
    return mr_str_eq(a->database, b->database) && mr_str_eq(a->table, b->table);
}

struct judging {
    struct mr_engine *e;
    const struct mr_record *rec;
    const struct mr_source_action *act;
    struct mr_arena *ar;
    struct mr_error *err;
};

static enum mr_status is_loaded(const struct judging *j, const struct mr_relation *name, bool *out)
{
    struct mr_rel *rel = NULL;
    MR_TRY(mr_relations_get(j->e->rels, j->e->control, name, j->rec, &rel, j->err));
    *out = rel->saved;
    return MR_OK;
}

static struct mr_str stays_because_of(const struct judging *j, const struct mr_relation *copy)
{
    return mr_arena_printf(j->ar, "%.*s, which takes its place, has not been loaded: the table stays as it is", MR_STR_FMT(copy->table));
}

/* In a statement that came whole. */
static enum mr_status judge_whole(const struct judging *j, const struct mr_change *ev, size_t part, struct mr_rename_verdict *out)
{
    for (size_t i = part + 1; i < ev->action_count; i++) {
        const struct mr_source_action *later = &ev->actions[i];
        bool loaded;
        if (later->kind != MR_SRC_RENAME_TABLE || !mr_relation_is_same(&later->new_relation, &j->act->relation))
            continue;
        MR_TRY(is_loaded(j, &later->relation, &loaded));
        if (!loaded)
            out->why = stays_because_of(j, &later->relation);
        return MR_OK;
    }
    return MR_OK;
}

/* A table goes, and another clause gives its name to another one. */
static enum mr_status judge_going(const struct judging *j, struct mr_rename_verdict *out)
{
    out->waits = true;
    for (size_t i = 0; i < j->act->beside_count; i++) {
        const struct mr_relation *other = &j->act->beside[i];
        bool loaded;
        if (mr_relation_is_same(other, &j->act->relation) || mr_relation_is_same(other, &j->act->new_relation))
            continue;
        out->waits = false; /* more than two: tables that exchange their names, if all are known here */
        MR_TRY(is_loaded(j, other, &loaded));
        if (!loaded)
            out->why = stays_because_of(j, other);
        if (!loaded)
            return MR_OK;
    }
    return MR_OK;
}

/* The clause that follows one that waits: X becomes T, and T was to become D. */
static enum mr_status judge_coming(const struct judging *j, bool copy_loaded, struct mr_rename_verdict *out)
{
    const struct mr_source_action *act = j->act;
    bool is_first = mr_relation_is_same(&act->beside[1], &act->new_relation);
    const struct mr_relation *old = &act->beside[is_first ? 0 : 1];
    bool has_table, has_old;
    MR_TRY(is_loaded(j, &act->new_relation, &has_table));
    MR_TRY(is_loaded(j, old, &has_old));
    if (has_table && !copy_loaded)
        out->why = stays_because_of(j, &act->relation);
    if (has_table && copy_loaded && !has_old)
        out->before = (struct mr_source_action){.kind = MR_SRC_RENAME_TABLE, .relation = act->new_relation, .new_relation = *old};
    return MR_OK;
}

enum mr_status mr_ddl_rename_judge(struct mr_engine *e, const struct mr_record *rec, const struct mr_change *ev, size_t part, const struct mr_rel *rel,
                                   struct mr_arena *ar, struct mr_rename_verdict *out, struct mr_error *err)
{
    const struct mr_source_action *act = &ev->actions[part];
    struct judging j = {e, rec, act, ar, err};
    bool takes_its_name = false;
    *out = (struct mr_rename_verdict){.before = {.kind = MR_SRC_NOT_UNDERSTOOD}};
    if (act->kind != MR_SRC_RENAME_TABLE && act->kind != MR_SRC_DROP_TABLE)
        return MR_OK;
    for (size_t i = 0; i < act->beside_count; i++)
        takes_its_name = takes_its_name || mr_relation_is_same(&act->beside[i], &act->relation);
    if (takes_its_name)
        return rel->saved ? judge_going(&j, out) : MR_OK;
    if (act->beside_count == 2)
        return judge_coming(&j, rel->saved, out);
    return rel->saved ? judge_whole(&j, ev, part, out) : MR_OK;
}
