/* The tracker meets the catalog: which columns the target has, of which native types, and which of them somebody changed by hand. A
 * column of the catalog that no field has claimed yet is remembered, so that the field of that name adopts it (a table that was
 * there before, a column added on request) instead of getting a substitute name. */
#include "tracker_parts.h"

#include <millrace/base/mem.h>

#include "fold.h"

#define MAX_NAME (64 * 1024)
#define TYPE_TEXT 32

static void destroy_entry(void *ptr)
{
    struct mr_tk_catalog_column *entry = ptr;

    mr_tk_drop(entry->native);
    mr_xfree(entry);
}

void mr_tk_catalog_clear(struct mr_tracker *tk)
{
    mr_map_clear(tk->catalog, destroy_entry);
}

static struct mr_str folded(const struct mr_tracker *tk, struct mr_str name, struct mr_buf *buf)
{
    mr_buf_clear(buf);
    mr_name_fold(tk->dialect, name, buf);
    return buf->len > 0 ? mr_buf_str(buf) : MR_STR("");
}

static void remember_catalog(struct mr_tracker *tk, const struct mr_catalog_table *now)
{
    struct mr_buf buf = MR_BUF_INIT(MAX_NAME);

    mr_tk_catalog_clear(tk);
    for (size_t i = 0; now->exists && i < now->column_count; i++) {
        struct mr_str name = folded(tk, now->columns[i].name, &buf);
        if (mr_map_get(tk->catalog, name))
            continue;
        struct mr_tk_catalog_column *entry = mr_xcalloc(1, sizeof(*entry));
        entry->native = mr_tk_keep(now->columns[i].native);
        entry->type = now->columns[i].type;
        mr_map_put(tk->catalog, name, entry);
    }
    mr_buf_free(&buf);
}

static void set_native(struct mr_tk_column *col, struct mr_str native)
{
    mr_tk_drop(col->native);
    col->native = mr_tk_keep(native);
}

/* The catalog's type is the column's from now on. */
static void respect(struct mr_tk_column *col, struct mr_type type)
{
    type = mr_tk_normal(type);
    col->pub.by_hand = true;
    col->unwritable = type.kind == MR_T_NONE;
    if (!col->unwritable) {
        type.origin = col->pub.type.origin;
        col->pub.type = type;
    }
    col->seen = MR_TYPE(MR_T_NONE);
    col->pub.dirty = true;
}

void mr_tk_adopt(struct mr_tracker *tk, struct mr_tk_column *col)
{
    struct mr_buf buf = MR_BUF_INIT(MAX_NAME);
    const struct mr_tk_catalog_column *entry = mr_map_get(tk->catalog, folded(tk, col->pub.name, &buf));

    mr_buf_free(&buf);
    if (!entry)
        return;
    set_native(col, entry->native);
    col->in_catalog = true;
    tk->catalog_ours++;
    if (!tk->dialect->native_holds(entry->native, mr_tk_target(tk, col->pub.type)))
        respect(col, entry->type);
    col->met = col->pub.type;
    col->has_met = true;
}

struct mr_str mr_tracker_altered(struct mr_tracker *tk, size_t column, const struct mr_catalog_table *now)
{
    struct mr_tk_column *col = tk->columns[column];
    int found = mr_catalog_find(tk->dialect, now, col->pub.name);

    set_native(col, found >= 0 ? now->columns[found].native : MR_STR(""));
    col->met = col->pub.type;
    col->has_met = found >= 0;
    return col->native;
}

bool mr_tk_needs_alter(const struct mr_tracker *tk, const struct mr_tk_column *col, struct mr_type to)
{
    to = mr_tk_target(tk, to);
    if (mr_evolve_turns_to_json(mr_tk_target(tk, col->saved), to))
        return true;
    if (col->native.len > 0)
        return !tk->dialect->native_holds(col->native, to);
    if (col->published.kind == MR_T_NONE)
        return false; /* the target has no such column yet */

    struct mr_buf native = MR_BUF_INIT(MAX_NAME);
    struct mr_column column = {
        .name = col->pub.name,
        .path = col->pub.path,
        .type = col->published,
        .is_key = col->pub.is_key,
        .max_len = col->pub.facts.max_len,
    };
    tk->dialect->column_type(&column, &native);
    bool needs = !tk->dialect->native_holds(mr_buf_str(&native), to);
    mr_buf_free(&native);
    return needs;
}

static void note(const struct mr_tracker *tk, const struct mr_tk_column *col, struct mr_buf *notes,
                 struct mr_type recorded)
{
    char text[TYPE_TEXT];

    mr_buf_printf(notes, "%.*s: column \"%.*s\" is %.*s in the target, recorded was %s: ", MR_STR_FMT(tk->label),
                  MR_STR_FMT(col->pub.name), MR_STR_FMT(col->native), mr_type_text(recorded, text));
    mr_buf_append_z(notes, col->unwritable ? "it cannot be written\n" : "the target's type is kept\n");
}

/* Is the catalog's type something that nobody but a person can have made? `recorded` is the type that the catalog's column held
 * when it was known last; a column that only this run knows may have been made, narrower, by another instance. */
static bool is_by_hand(const struct mr_tracker *tk, const struct mr_tk_column *col,
                       const struct mr_catalog_column *now)
{
    struct mr_type joined;
    struct mr_column recorded = {.name = col->pub.name, .type = mr_tk_target(tk, col->has_met ? col->met : col->stored)};

    if (recorded.type.kind != MR_T_NONE)
        return mr_evolve_changed_by_hand(&recorded, now, tk->dialect);
    return now->type.kind == MR_T_NONE ||
           !mr_type_join(col->pub.type, mr_tk_normal(now->type), &col->pub.facts, &joined) ||
           !mr_type_eq(joined, col->pub.type);
}

static void meet_column(struct mr_tracker *tk, struct mr_tk_column *col, const struct mr_catalog_column *now,
                        struct mr_buf *notes)
{
    struct mr_type before = col->pub.type, kept = mr_tk_target(tk, before);
    bool was_by_hand = col->pub.by_hand, was_unwritable = col->unwritable;

    if (!mr_str_eq(col->native, now->native))
        set_native(col, now->native);
    if (was_by_hand)
        respect(col, tk->dialect->native_holds(now->native, kept) ? before : now->type);
    else if (!tk->dialect->native_holds(now->native, kept) && is_by_hand(tk, col, now))
        respect(col, now->type);
    if (tk->dialect->native_holds(now->native, mr_tk_target(tk, col->pub.type)))
        col->met = col->pub.type;
    else if (!col->has_met) /* an ALTER of ours is still to come */
        col->met = col->stored.kind != MR_T_NONE ? col->stored : now->type;
    col->has_met = true;
    if (was_by_hand != col->pub.by_hand || was_unwritable != col->unwritable || !mr_type_eq(before, col->pub.type)) {
        tk->changed = true;
        note(tk, col, notes, before);
    }
}

static bool is_key_set(const struct mr_tracker *tk, const struct mr_str *names, size_t count)
{
    if (count != tk->key_count)
        return false;
    for (size_t i = 0; i < tk->key_count; i++) {
        int column = mr_tk_find(tk, tk->key[i]);
        bool found = false;
        for (size_t k = 0; column >= 0 && k < count && !found; k++)
            found = mr_name_same(tk->dialect, names[k], tk->columns[column]->pub.name);
        if (!found)
            return false;
    }
    return true;
}

/* Unique sets other than the one that rows are upserted by. */
static bool other_unique(const struct mr_tracker *tk, const struct mr_catalog_table *now)
{
    bool key_seen = is_key_set(tk, now->key, now->key_count);
    size_t others = now->key_count > 0 && !key_seen;

    for (size_t i = 0; i < now->unique_count; i++) {
        if (!key_seen && is_key_set(tk, now->unique_sets[i], now->unique_set_sizes[i]))
            key_seen = true;
        else
            others++;
    }
    return others > 0;
}

void mr_tracker_meet_catalog(struct mr_tracker *tk, const struct mr_catalog_table *now, struct mr_buf *notes)
{
    remember_catalog(tk, now);
    tk->exists = now->exists;
    tk->catalog_width = now->exists ? now->column_count + now->gone_columns : 0;
    tk->catalog_ours = 0;
    tk->has_foreign_keys = now->exists && now->has_foreign_keys;
    tk->has_other_unique = now->exists && other_unique(tk, now);
    mr_tk_take_planned(tk, now);
    for (size_t i = 0; i < tk->count; i++) {
        struct mr_tk_column *col = tk->columns[i];
        int found = now->exists ? mr_catalog_find(tk->dialect, now, col->pub.name) : -1;
        col->in_catalog = found >= 0;
        tk->catalog_ours += col->in_catalog;
        if (found >= 0) {
            meet_column(tk, col, &now->columns[found], notes);
        } else {
            set_native(col, MR_STR(""));
            col->has_met = false;
            col->unwritable = false;
        }
        if (col->config_refused) {
            char text[TYPE_TEXT];
            mr_buf_printf(notes, "%.*s: types.columns for \"%.*s\" is not applied: the column is %s, and no type becomes narrower\n",
                          MR_STR_FMT(tk->label), MR_STR_FMT(col->pub.path), mr_type_text(col->pub.type, text));
            col->config_refused = false;
        }
    }
}
