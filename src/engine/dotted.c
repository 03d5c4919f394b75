/* Which names of a partial update are no paths: see dotted.h. */
#include "dotted.h"

#include <millrace/base/map.h>

/* Columns looked at for one change; beyond, thousands of names of one message would hold up all others. */
#define MAX_LOOKS ((uint64_t)1 << 24)

struct dotted {
    const struct mr_tracker *tk;
    const struct mr_config *cfg;
    struct mr_arena *ar;
    const struct mr_str *columns; /* paths in which a name has dots */
    size_t count;
    uint64_t looks;
};

static bool has_dotted_name(struct mr_str path)
{
    const char *at = path.ptr, *end = path.ptr + path.len;

    while (at < end && (at = memchr(at, '\\', (size_t)(end - at))) != NULL && at + 1 < end) {
        if (at[1] == '.')
            return true;
        at += 2;
    }
    return false;
}

static void find_columns(struct dotted *d)
{
    size_t total = mr_tracker_count(d->tk);
    struct mr_str *found = NULL;

    for (size_t i = 0; i < total; i++) {
        struct mr_str path = mr_tracker_column(d->tk, i)->path;
        if (!has_dotted_name(path))
            continue;
        if (found == NULL)
            found = mr_arena_alloc(d->ar, total * sizeof *found);
        found[d->count++] = path;
    }
    d->columns = found;
}

/* How far a column's path and a name agree, the name's dots standing for either kind. */
struct match {
    size_t column_len, name_len; /* up to the last end of a member in both; 0: no member with dots is in it */
    size_t first_dot;            /* of the name: the first that is a part of a member's name */
};

static struct match compare(struct mr_str column, struct mr_str name)
{
    struct match m = {0};
    size_t i = 0, j = 0, dot = 0;

    for (;;) {
        bool ends = i == column.len || column.ptr[i] == '.', ends_too = j == name.len || name.ptr[j] == '.';
        if (ends && ends_too && dot > 0)
            m = (struct match){i, j, dot};
        if (i == column.len || j == name.len)
            return m;
        bool is_escaped = column.ptr[i] == '\\' && i + 1 < column.len;
        if (is_escaped && column.ptr[i + 1] == '.' && name.ptr[j] == '.') {
            dot = dot > 0 ? dot : j + 1;
            i++;
        } else if (is_escaped && name.ptr[j] == '\\' && j + 1 < name.len &&
                   name.ptr[j + 1] == column.ptr[i + 1]) {
            i++;
            j++;
        } else if (is_escaped || name.ptr[j] != column.ptr[i]) {
            return m;
        }
        i++;
        j++;
    }
}

static enum mr_status cannot_tell(struct mr_str name, struct mr_error *err)
{
    mr_fail_data(err, MR_CODE_UNSUPPORTED,
                 "the update of \"%.*s\" cannot be applied without the document: it names a path, or a "
                 "member whose name has dots, and the "
                 "columns that are known do not tell which",
                 MR_STR_FMT(mr_str_of(name.ptr, name.len < 200 ? name.len : 200)));
    mr_error_hint(err, "let the connector send full documents: capture.mode "
                       "change_streams_update_full or change_streams_update_full_with_pre_image");
    mr_error_field(err, name.ptr, name.len);
    return MR_E_DATA;
}

/* Is there a column that the path leads to or through? One of numbers at a document's place is none. */
static bool has_column_at(const struct dotted *d, struct mr_str path)
{
    for (size_t i = 0; i < mr_tracker_count(d->tk); i++) {
        const struct mr_tracked_column *col = mr_tracker_column(d->tk, i);
        bool may_hold = col->type.kind == MR_T_JSON || col->type.kind == MR_T_ARRAY ||
                        (col->type.kind == MR_T_TEXT && !d->cfg->flatten_struct);
        if (mr_path_is_below(col->path, path) && (col->path.len > path.len || may_hold))
            return true;
    }
    return false;
}

/* The path that a name stands for; the name itself (same pointer) where it is a path. */
static enum mr_status read_name(struct dotted *d, struct mr_str name, struct mr_str *out,
                                struct mr_error *err)
{
    struct match best = {0};
    struct mr_str column = {0};
    bool is_ambiguous = false;

    *out = name;
    if (name.len == 0 || memchr(name.ptr, '.', name.len) == NULL)
        return MR_OK;
    d->looks += d->count;
    for (size_t i = 0; i < d->count && d->looks <= MAX_LOOKS; i++) {
        struct match m = compare(d->columns[i], name);
        if (m.name_len == 0 || m.name_len < best.name_len)
            continue;
        is_ambiguous = m.name_len == best.name_len &&
                       (is_ambiguous || !mr_str_eq(mr_str_of(column.ptr, best.column_len),
                                                   mr_str_of(d->columns[i].ptr, m.column_len)));
        best = m;
        column = d->columns[i];
    }
    if (best.name_len == 0)
        return d->looks > MAX_LOOKS ? cannot_tell(name, err) : MR_OK;
    d->looks += mr_tracker_count(d->tk);
    if (is_ambiguous || d->looks > MAX_LOOKS || has_column_at(d, mr_str_of(name.ptr, best.first_dot - 1)))
        return cannot_tell(name, err);
    *out = mr_arena_printf(d->ar, "%.*s%.*s", (int)best.column_len, column.ptr,
                           (int)(name.len - best.name_len), name.ptr + best.name_len);
    return MR_OK;
}

/* ---- Fields ---- */

static struct mr_field *copy_fields(struct mr_fields fields, struct mr_arena *ar)
{
    struct mr_field *copy = mr_arena_alloc(ar, (fields.count + 1) * sizeof *copy);

    if (fields.count > 0)
        memcpy(copy, fields.items, fields.count * sizeof *copy);
    return copy;
}

static struct mr_str moved(struct mr_str path, size_t old_len, struct mr_str to, struct mr_arena *ar)
{
    return mr_arena_printf(ar, "%.*s%.*s", MR_STR_FMT(to), (int)(path.len - old_len), path.ptr + old_len);
}

/* A field belongs to the name that its path begins with; what is behind that comes from the value, and its dots are what they seem. */
static void move_fields(struct mr_field *fields, size_t count, const struct mr_map *names,
                        struct mr_arena *ar)
{
    for (size_t i = 0; i < count; i++) {
        struct mr_str path = fields[i].path;
        for (size_t len = 1; len <= path.len; len++) {
            if (len < path.len && path.ptr[len] != '.')
                continue;
            const struct mr_str *to = mr_map_get(names, mr_str_of(path.ptr, len));
            if (to == NULL)
                continue;
            fields[i].path = moved(path, len, *to, ar);
            break;
        }
    }
}

static enum mr_status resolve_fields(struct dotted *d, const struct mr_change *ev, struct mr_change *out,
                                     bool *any, struct mr_error *err)
{
    struct mr_field *removed = copy_fields(ev->removed, d->ar);
    struct mr_map *names = mr_map_create();
    enum mr_status status = MR_OK;

    for (size_t i = 0; i < ev->removed.count && status == MR_OK; i++) {
        struct mr_str name = removed[i].path;
        status = read_name(d, name, &removed[i].path, err);
        if (status == MR_OK && removed[i].path.ptr != name.ptr)
            mr_map_put(names, name, &removed[i].path);
    }
    if (status == MR_OK && mr_map_count(names) > 0) {
        struct mr_field *after = copy_fields(ev->after, d->ar);
        move_fields(after, ev->after.count, names, d->ar);
        out->removed.items = removed;
        out->after.items = after;
        *any = true;
    }
    mr_map_destroy(names, NULL);
    return status;
}

/* ---- Parts ---- */

static struct mr_str plain_path(const struct mr_step *step, struct mr_arena *ar)
{
    struct mr_buf path = MR_BUF_INIT((size_t)1 << 24);

    for (uint32_t i = 0; i < step->count; i++) {
        if (i > 0)
            mr_buf_append_char(&path, '.');
        else if (step->names[i].len == 0)
            mr_buf_append_z(&path, MR_EMPTY_NAME);
        for (size_t k = 0; k < step->names[i].len; k++) {
            if (step->names[i].ptr[k] == '\\')
                mr_buf_append_char(&path, '\\');
            mr_buf_append_char(&path, step->names[i].ptr[k]);
        }
    }
    struct mr_str out = mr_arena_copy(ar, mr_buf_str(&path));
    mr_buf_free(&path);
    return out;
}

/* The members of a path, as the source spells them. */
static void split_path(struct mr_str path, struct mr_step *step, struct mr_arena *ar)
{
    struct mr_str *names = mr_arena_alloc(ar, step->count * sizeof *names);
    char *bytes = mr_arena_alloc(ar, path.len + 1);
    uint32_t count = 0;
    size_t from = 0, len = 0,
           begin = mr_str_starts(path, MR_STR(MR_EMPTY_NAME)) ? sizeof MR_EMPTY_NAME - 1 : 0;

    for (size_t i = begin; i <= path.len; i++) {
        if (i == path.len || path.ptr[i] == '.') {
            names[count++] = mr_str_of(bytes + from, len - from);
            from = len;
            continue;
        }
        if (path.ptr[i] == '\\' && i + 1 < path.len)
            i++;
        bytes[len++] = path.ptr[i];
    }
    step->names = names;
    step->count = count;
}

static enum mr_status resolve_parts(struct dotted *d, const struct mr_change *ev, struct mr_change *out,
                                    bool *any, struct mr_error *err)
{
    struct mr_part *parts = mr_arena_alloc(d->ar, (ev->parts.count + 1) * sizeof *parts);

    for (size_t i = 0; i < ev->parts.count; i++) {
        struct mr_part *part = &parts[i];
        *part = ev->parts.items[i];
        struct mr_str name = plain_path(&part->step, d->ar), path;
        MR_TRY(read_name(d, name, &path, err));
        if (path.ptr == name.ptr)
            continue;
        *any = true;
        split_path(path, &part->step, d->ar);
        struct mr_field *fields = copy_fields(part->fields, d->ar);
        for (size_t k = 0; k < part->fields.count; k++)
            fields[k].path = moved(fields[k].path, part->path.len, path, d->ar);
        part->fields.items = fields;
        part->path = path;
    }
    out->parts.items = parts;
    return MR_OK;
}

enum mr_status mr_dotted_resolve(const struct mr_tracker *tk, const struct mr_config *cfg,
                                 const struct mr_change *ev, struct mr_arena *ar,
                                 const struct mr_change **out, struct mr_error *err)
{
    struct dotted d = {.tk = tk, .cfg = cfg, .ar = ar};
    bool any = false;

    *out = ev;
    if (!ev->partial)
        return MR_OK;
    find_columns(&d);
    if (d.count == 0)
        return MR_OK;
    struct mr_change *read = mr_arena_alloc(ar, sizeof *read);
    *read = *ev;
    MR_TRY(resolve_fields(&d, ev, read, &any, err));
    MR_TRY(resolve_parts(&d, ev, read, &any, err));
    if (any)
        *out = read;
    return MR_OK;
}

/* ---- Arrays that are tables ---- */

/* Does `name` lead to or through a member of the known path whose own name has dots? */
static bool is_hidden_in(struct mr_str known, struct mr_str name)
{
    return has_dotted_name(known) && compare(known, name).name_len > 0;
}

static bool has_dot(struct mr_str name)
{
    return name.len > 0 && memchr(name.ptr, '.', name.len) != NULL;
}

/* Among what is known of the row (`outer` NULL), or of the elements of `outer`: columns, and arrays in them. */
static bool is_hidden_below(const struct mr_rel *rel, struct mr_str outer, struct mr_str name)
{
    const struct mr_rel *at = outer.ptr == NULL ? rel : mr_rel_find_child(rel, outer);
    if (at == NULL || !has_dot(name))
        return false;
    for (size_t i = 0; i < mr_tracker_count(at->tk); i++)
        if (is_hidden_in(mr_tracker_column(at->tk, i)->path, name))
            return true;
    for (size_t i = 0; i < rel->child_count; i++) {
        struct mr_str around, step = mr_array_last_step(rel->children[i]->array, &around);
        bool is_here = outer.ptr == NULL ? around.ptr == NULL : around.ptr != NULL && mr_str_eq(around, outer);
        if (is_here && is_hidden_in(step, name))
            return true;
    }
    return false;
}

static bool any_dotted(const struct mr_rel *rel)
{
    for (size_t k = 0; k <= rel->child_count; k++) {
        const struct mr_rel *at = k == 0 ? rel : rel->children[k - 1];
        if (k > 0 && has_dotted_name(at->array))
            return true;
        for (size_t i = 0; at->tk != NULL && i < mr_tracker_count(at->tk); i++)
            if (has_dotted_name(mr_tracker_column(at->tk, i)->path))
                return true;
    }
    return false;
}

static bool is_in_fields(const struct mr_rel *rel, const struct mr_element *el, struct mr_fields fields, struct mr_str *name)
{
    for (size_t i = 0; i < fields.count; i++) {
        *name = fields.items[i].path;
        if (is_hidden_below(rel, el->array, *name))
            return true;
    }
    return false;
}

bool mr_dotted_is_in_element(const struct mr_rel *rel, const struct mr_element *el, struct mr_str *name)
{
    struct mr_str array = el->array, outer;
    if (el->is_inner)
        return false; /* its names come from a value, in which they are what they are */
    do {
        *name = mr_array_last_step(array, &outer);
        if (is_hidden_below(rel, outer, *name))
            return true;
        array = outer;
    } while (outer.ptr != NULL);
    return el->kind == MR_ELEMENT_PART &&
           (is_in_fields(rel, el, el->fields, name) || is_in_fields(rel, el, el->removed, name));
}

/* A field that may be an array's whose name has dots: what it had been is in a table of its own. */
static bool is_array_in(const struct mr_rel *rel, struct mr_fields fields, struct mr_str *name)
{
    for (size_t i = 0; i < fields.count; i++) {
        *name = fields.items[i].path;
        for (size_t k = 0; has_dot(*name) && k < rel->child_count; k++) {
            struct mr_str around, step = mr_array_last_step(rel->children[k]->array, &around);
            if (around.ptr == NULL && is_hidden_in(step, *name))
                return true;
        }
    }
    return false;
}

enum mr_status mr_dotted_check_elements(const struct mr_rel *rel, const struct mr_change *ev, struct mr_error *err)
{
    struct mr_str name;
    if (!ev->partial || rel->child_count == 0 || !any_dotted(rel))
        return MR_OK;
    if (is_array_in(rel, ev->after, &name) || is_array_in(rel, ev->removed, &name))
        return cannot_tell(name, err);
    for (size_t i = 0; i < ev->elements.count; i++)
        if (mr_dotted_is_in_element(rel, &ev->elements.items[i], &name))
            return cannot_tell(name, err);
    return MR_OK;
}
