/* Parts of changes to patches of columns: which column holds the field, and what the tracker says to the values: see patches.h.
 *
 * Where nothing is flattened the column is that of the first name. Where documents are flattened a path leads through columns' paths: `items.2.price`
 * into the column `items`, an array; `map.2` to the column `map_2`, if there are columns below `map` and none at it. */
#include "patches.h"

#include <millrace/base/map.h>
#include <millrace/schema/name.h>

/* Columns looked at for one change; beyond, thousands of deep paths of one message would hold up all others. */
#define MAX_LOOKS ((uint64_t)1 << 26)
#define MAX_PATH ((size_t)1 << 20)

/* The steps into one column. */
struct group {
    struct mr_str path;
    struct mr_step *steps;
    struct mr_type *item_types;
    uint8_t *json_flags;
    size_t count, cap;
};

/* What a field's value points to: the patch, and what judging it needs. */
struct placed {
    struct mr_patch patch; /* first */
    const struct mr_type *item_types;
    const uint8_t *json_flags;
};

struct place {
    const struct mr_tracker *tk;
    const struct mr_config *cfg;
    struct mr_arena *ar;
    struct mr_buf path;
    struct mr_map *groups; /* by path */
    struct mr_field *after, *removed;
    size_t after_count, after_cap, removed_count, removed_cap;
    uint64_t looks;
};

static void add_field(struct mr_field **list, size_t *count, size_t *cap, struct mr_field field,
                      struct mr_arena *ar)
{
    if (*count == *cap) {
        *cap = *cap * 2 + 16;
        struct mr_field *bigger = mr_arena_alloc(ar, *cap * sizeof *bigger);
        if (*count > 0)
            memcpy(bigger, *list, *count * sizeof *bigger);
        *list = bigger;
    }
    (*list)[(*count)++] = field;
}

static enum mr_status cannot_place(const struct mr_part *part, const char *why_z, struct mr_error *err)
{
    struct mr_str path = part->path;

    mr_fail_data(err, MR_CODE_UNSUPPORTED,
                 "the update of \"%.*s\" cannot be applied without the document: %s",
                 MR_STR_FMT(mr_str_of(path.ptr, path.len < 200 ? path.len : 200)), why_z);
    mr_error_hint(err, "let the connector send full documents: capture.mode "
                       "change_streams_update_full or change_streams_update_full_with_pre_image");
    mr_error_field(err, path.ptr, path.len);
    return MR_E_DATA;
}

static enum mr_status cannot_tell(const struct mr_part *part, struct mr_error *err)
{
    return cannot_place(
        part,
        "it names a position in an array, or a member, and the columns that are known do not tell which",
        err);
}

/* ---- Which column ---- */

/* Columns below a path; with `member`, below that member of it or at it. */
static bool has_below(struct place *pl, struct mr_str path, const struct mr_str *member)
{
    bool found = false;

    pl->looks += mr_tracker_count(pl->tk);
    for (size_t i = 0; i < mr_tracker_count(pl->tk) && !found; i++) {
        struct mr_str column = mr_tracker_column(pl->tk, i)->path;
        if (column.len <= path.len + 1 || column.ptr[path.len] != '.' ||
            memcmp(column.ptr, path.ptr, path.len) != 0)
            continue;
        struct mr_str rest = mr_str_of(column.ptr + path.len + 1, column.len - path.len - 1);
        found = member == NULL || mr_path_is_below(rest, *member);
    }
    return found;
}

/* Is there a document at the path in some rows that has numbers for names? */
static bool has_numbers_below(struct place *pl, struct mr_str path)
{
    bool found = false;

    pl->looks += mr_tracker_count(pl->tk);
    for (size_t i = 0; i < mr_tracker_count(pl->tk) && !found; i++) {
        struct mr_str column = mr_tracker_column(pl->tk, i)->path;
        if (column.len <= path.len + 1 || column.ptr[path.len] != '.' || memcmp(column.ptr, path.ptr, path.len) != 0)
            continue;
        struct mr_str rest = mr_str_of(column.ptr + path.len + 1, column.len - path.len - 1);
        ptrdiff_t dot = mr_str_find(rest, '.');
        found = mr_is_position(dot < 0 ? rest : mr_str_of(rest.ptr, (size_t)dot));
    }
    return found;
}

/* Has the column a second one for what does not fit it (policy `variant`)? A document or an array may be there. */
static bool has_variant(struct place *pl, struct mr_str path)
{
    int base = mr_tracker_find(pl->tk, path);
    bool found = false;

    pl->looks += mr_tracker_count(pl->tk);
    for (size_t i = 0; i < mr_tracker_count(pl->tk) && !found && base >= 0; i++)
        found = mr_tracker_variant_of(pl->tk, i) == base;
    return found;
}

static bool may_hold(const struct mr_tracked_column *col)
{
    return col->type.kind == MR_T_JSON || col->type.kind == MR_T_ARRAY || col->type.kind == MR_T_TEXT;
}

enum answer { GO_ON, IS_HOLDER, NOBODY_KNOWS };

/* Documents are flattened: does the path's first `taken` names' column (-1 none) hold the rest? */
static enum answer look_at(struct place *pl, const struct mr_step *step, uint32_t taken, int column)
{
    struct mr_str path = mr_buf_str(&pl->path);
    const struct mr_tracked_column *col = column < 0 ? NULL : mr_tracker_column(pl->tk, (size_t)column);
    bool is_cut = taken == step->count, is_position = !is_cut && mr_is_position(step->names[taken]);

    if (!is_cut && !is_position) /* a document that has not been taken apart */
        return col != NULL && col->type.kind == MR_T_JSON &&
                       (col->configured || path.len > MR_FLATTEN_MAX_PATH)
                   ? IS_HOLDER
                   : GO_ON;
    if (pl->looks > MAX_LOOKS)
        return NOBODY_KNOWS;
    bool leaves_no_trace = pl->cfg->field_names != MR_NAMES_NONE; /* an array without elements is NULL then */
    if (col == NULL && (is_cut || !has_below(pl, path, NULL)))
        return NOBODY_KNOWS;
    if (col == NULL)
        return leaves_no_trace && !has_numbers_below(pl, path) ? NOBODY_KNOWS : GO_ON;
    if (col->type.kind != MR_T_JSON && has_variant(pl, path))
        return NOBODY_KNOWS;
    if (is_cut)
        return IS_HOLDER;
    if (!may_hold(col) && has_numbers_below(pl, path))
        return GO_ON;
    if (!may_hold(col)) /* an array that did not fit may have been left out */
        return has_below(pl, path, NULL) ? NOBODY_KNOWS : IS_HOLDER;
    return has_below(pl, path, leaves_no_trace ? NULL : &step->names[taken]) ? NOBODY_KNOWS : IS_HOLDER;
}

/* How many names are the path of the column that holds the rest; 0: none does. pl->path is that path. */
static enum mr_status find_holder(struct place *pl, const struct mr_part *part, uint32_t *taken, int *column,
                                  struct mr_error *err)
{
    const struct mr_step *step = &part->step;
    uint32_t most = step->kind == MR_STEP_CUT ? step->count : step->count - 1;

    *taken = 0;
    *column = -1;
    mr_buf_clear(&pl->path);
    if (!pl->cfg->flatten_struct && most > 0) {
        mr_path_append(&pl->path, step->names[0]);
        *column = mr_tracker_find(pl->tk, mr_buf_str(&pl->path));
        *taken = *column >= 0;
        bool may_be_elsewhere = *column >= 0 && mr_tracker_column(pl->tk, (size_t)*column)->type.kind != MR_T_JSON &&
                                has_variant(pl, mr_buf_str(&pl->path));
        return may_be_elsewhere ? cannot_tell(part, err) : MR_OK;
    }
    for (uint32_t k = 1; k <= most; k++) {
        mr_path_append(&pl->path, step->names[k - 1]);
        *column = mr_tracker_find(pl->tk, mr_buf_str(&pl->path));
        switch (look_at(pl, step, k, *column)) {
        case GO_ON:
            continue;
        case IS_HOLDER:
            *taken = k;
            return MR_OK;
        case NOBODY_KNOWS:
            return cannot_tell(part, err);
        }
    }
    return MR_OK;
}

/* ---- Into groups, or to fields ---- */

static void add_step(struct place *pl, const struct mr_part *part, uint32_t taken)
{
    struct group *g = mr_map_get(pl->groups, mr_buf_str(&pl->path));

    if (g == NULL) {
        g = mr_arena_zalloc(pl->ar, sizeof *g);
        g->path = mr_arena_copy(pl->ar, mr_buf_str(&pl->path));
        mr_map_put(pl->groups, g->path, g);
    }
    if (g->count == g->cap) {
        size_t cap = g->cap * 2 + 4;
        struct mr_step *steps = mr_arena_alloc(pl->ar, cap * sizeof *steps);
        struct mr_type *types = mr_arena_alloc(pl->ar, cap * sizeof *types);
        uint8_t *flags = mr_arena_alloc(pl->ar, cap);
        if (g->count > 0) {
            memcpy(steps, g->steps, g->count * sizeof *steps);
            memcpy(types, g->item_types, g->count * sizeof *types);
            memcpy(flags, g->json_flags, g->count);
        }
        g->steps = steps;
        g->item_types = types;
        g->json_flags = flags;
        g->cap = cap;
    }
    g->steps[g->count] = part->step;
    g->steps[g->count].names += taken;
    g->steps[g->count].count -= taken;
    g->item_types[g->count] = part->item_type;
    g->json_flags[g->count++] = part->json_flags;
}

static void add_columns(struct place *pl, const struct mr_part *part)
{
    struct mr_field gone = {.path = part->path, .value = mr_value_null()};

    add_field(&pl->removed, &pl->removed_count, &pl->removed_cap, gone, pl->ar);
    for (size_t i = 0; i < part->fields.count; i++)
        add_field(&pl->after, &pl->after_count, &pl->after_cap, part->fields.items[i], pl->ar);
}

/* Nothing is flattened, and there is no column of the first name: a field whose name has dots, or a document of which nothing has been seen. */
static enum mr_status place_unknown(struct place *pl, const struct mr_part *part, struct mr_error *err)
{
    if (part->step.kind != MR_STEP_CUT && mr_tracker_find(pl->tk, part->path) >= 0) {
        add_columns(pl, part);
        return MR_OK;
    }
    if (part->step.kind == MR_STEP_UNSET)
        return MR_OK;
    if (part->step.kind == MR_STEP_CUT || mr_is_position(part->step.names[1]))
        return cannot_tell(part, err);
    add_step(pl, part, 1);
    return MR_OK;
}

static enum mr_status place_part(struct place *pl, const struct mr_part *part, struct mr_error *err)
{
    uint32_t taken;
    int column;

    MR_TRY(find_holder(pl, part, &taken, &column, err));
    if (taken > 0 && mr_tracker_column(pl->tk, (size_t)column)->is_key)
        return cannot_place(part, "it changes a part of the key", err);
    if (taken > 0) {
        add_step(pl, part, taken);
        return MR_OK;
    }
    if (part->step.kind != MR_STEP_CUT && part->step.count == 1) { /* a member whose name has dots */
        add_columns(pl, part);
        return MR_OK;
    }
    if (!pl->cfg->flatten_struct)
        return place_unknown(pl, part, err);
    if (!part->may_be_columns)
        return cannot_place(part, "its path is too long", err);
    add_columns(pl, part);
    return MR_OK;
}

static struct mr_field field_of(const struct group *g, const struct mr_change *ev, struct mr_arena *ar)
{
    struct placed *placed = mr_arena_zalloc(ar, sizeof *placed);

    placed->patch = (struct mr_patch){
        .base = {.tag = MR_V_ABSENT}, .steps = g->steps, .count = g->count, .style = ev->parts.style};
    placed->item_types = g->item_types;
    placed->json_flags = g->json_flags;
    return (struct mr_field){
        .path = g->path, .type = MR_TYPE(MR_T_NONE), .value = mr_value_of_patch(&placed->patch)};
}

static enum mr_status place_all(struct place *pl, const struct mr_change *ev, struct mr_error *err)
{
    for (size_t i = 0; i < ev->after.count; i++)
        add_field(&pl->after, &pl->after_count, &pl->after_cap, ev->after.items[i], pl->ar);
    for (size_t i = 0; i < ev->removed.count; i++)
        add_field(&pl->removed, &pl->removed_count, &pl->removed_cap, ev->removed.items[i], pl->ar);
    for (size_t i = 0; i < ev->parts.count; i++)
        MR_TRY(place_part(pl, &ev->parts.items[i], err));
    if (pl->path.overflow)
        return mr_fail_data(err, MR_CODE_TOO_LARGE, "a path of the update is too long");
    for (size_t i = 0; i < pl->after_count; i++)
        if (mr_map_get(pl->groups, pl->after[i].path) != NULL)
            return mr_fail_data(err, MR_CODE_BAD_IMAGE, "the update sets \"%.*s\" and something in it",
                                MR_STR_FMT(pl->after[i].path));
    for (size_t i = 0; i < mr_map_count(pl->groups); i++)
        add_field(&pl->after, &pl->after_count, &pl->after_cap,
                  field_of(mr_map_at(pl->groups, i, NULL), ev, pl->ar), pl->ar);
    return MR_OK;
}

enum mr_status mr_patches_place(const struct mr_tracker *tk, const struct mr_config *cfg,
                                const struct mr_change *ev, struct mr_arena *ar, struct mr_change *out,
                                struct mr_error *err)
{
    struct place pl = {
        .tk = tk, .cfg = cfg, .ar = ar, .path = MR_BUF_INIT(MAX_PATH), .groups = mr_map_create()};
    enum mr_status status = place_all(&pl, ev, err);

    *out = *ev;
    out->after = (struct mr_fields){pl.after, pl.after_count};
    out->removed = (struct mr_fields){pl.removed, pl.removed_count};
    out->parts.count = 0;
    mr_map_destroy(pl.groups, NULL);
    mr_buf_free(&pl.path);
    return status;
}

/* ---- Judging ---- */

/* A value as the column would get it in a whole document: the only element of an array. What lies deeper, or is a member, is in a container there, so
 * that an array of scalars is not what the column can be. */
static struct mr_field probe_of(const struct placed *placed, size_t i, const struct mr_tracked_column *col,
                                struct mr_arena *ar, size_t *wrapped)
{
    const struct mr_step *step = &placed->patch.steps[i];
    bool is_element = step->count == 1 && mr_is_position(step->names[0]);
    struct mr_value item = step->item;
    struct mr_str json = mr_arena_printf(ar, is_element ? "[%.*s]" : "[[%.*s]]", MR_STR_FMT(step->json));
    struct mr_field field = {.type = MR_TYPE(MR_T_JSON), .value = mr_value_bytes(MR_V_JSON, json)};

    *wrapped = is_element ? 1 : 2;
    field.type.origin = MR_TYPED;
    field.value.flags = placed->json_flags[i];
    if (!is_element || col == NULL || col->type.kind != MR_T_ARRAY || item.tag == MR_V_ABSENT)
        return field;
    if (item.tag == MR_V_INVALID) {
        field.type = placed->item_types[i];
        field.value = item;
        return field;
    }
    if (item.tag == MR_V_NUMBER && placed->item_types[i].kind == MR_T_DECIMAL &&
        mr_type_element(col->type).kind == MR_T_TEXT)
        item.tag = MR_V_TEXT; /* a decimal among texts is its text */
    struct mr_value *items = mr_arena_alloc(ar, sizeof *items);
    *items = item;
    field.value = mr_array_of(items, 1, json, field.value.flags, MR_TYPED, ar);
    field.type = mr_value_array(field.value)->type;
    return field;
}

/* What the tracker made of the probe (it repairs texts, and reads elements as the column's type) goes back into the step. */
static bool take_back(struct mr_step *step, struct mr_value judged, size_t wrapped)
{
    struct mr_str json = judged.tag == MR_V_ARRAY ? mr_value_array(judged)->json : mr_value_str(judged);

    if (judged.tag != MR_V_ARRAY && judged.tag != MR_V_JSON && judged.tag != MR_V_TEXT)
        return false;
    step->item = (struct mr_value){.tag = MR_V_ABSENT};
    if (judged.tag == MR_V_ARRAY && mr_value_array(judged)->count == 1)
        step->item = mr_value_array(judged)->items[0];
    step->json = mr_str_of(json.ptr + wrapped, json.len - 2 * wrapped);
    return true;
}

static enum mr_verdict refuse(const struct mr_field *field, const char *why_z, struct mr_error *err)
{
    mr_fail_data(err, MR_CODE_UNSUPPORTED, "an update within \"%.*s\" cannot be applied: %s",
                 MR_STR_FMT(field->path), why_z);
    mr_error_field(err, field->path.ptr, field->path.len);
    return MR_VERDICT_DEAD;
}

static enum mr_verdict judge_set(struct mr_tracker *tk, const struct mr_field *field,
                                 const struct placed *placed, size_t i, size_t hint, struct mr_arena *ar,
                                 struct mr_step *step, uint32_t *column, struct mr_value *value,
                                 struct mr_error *err)
{
    int known = mr_tracker_find(tk, field->path), nulled = -1;
    size_t wrapped;
    struct mr_field probe =
        probe_of(placed, i, known < 0 ? NULL : mr_tracker_column(tk, (size_t)known), ar, &wrapped);

    probe.path = field->path;
    enum mr_verdict verdict = mr_tracker_field(tk, &probe, hint, false, ar, column, &nulled, value, err);
    if (verdict != MR_VERDICT_OK)
        return verdict;
    if (nulled >= 0)
        return refuse(field,
                      "what it sets belongs into another column under policy \"variant\", and the rest of "
                      "the document is not known",
                      err);
    if (!take_back(step, *value, wrapped))
        return refuse(field, "the column is neither a document nor an array", err);
    return MR_VERDICT_OK;
}

enum mr_verdict mr_patches_judge(struct mr_tracker *tk, const struct mr_field *field, size_t hint,
                                 struct mr_arena *ar, uint32_t *column, struct mr_value *value,
                                 struct mr_error *err)
{
    const struct placed *placed = (const struct placed *)(const void *)mr_value_patch(field->value);
    struct mr_patch *patch = mr_arena_alloc(ar, sizeof *patch);
    struct mr_step *steps = mr_arena_alloc(ar, (placed->patch.count + 1) * sizeof *steps);
    int known = mr_tracker_find(tk, field->path);

    *column = known < 0 ? 0 : (uint32_t)known;
    *patch = placed->patch;
    patch->steps = steps;
    for (size_t i = 0; i < patch->count; i++) {
        steps[i] = placed->patch.steps[i];
        if (steps[i].kind != MR_STEP_SET)
            continue;
        enum mr_verdict verdict = judge_set(tk, field, placed, i, hint, ar, &steps[i], column, value, err);
        if (verdict != MR_VERDICT_OK)
            return verdict;
    }
    *value = mr_value_of_patch(patch);
    return MR_VERDICT_OK;
}
