/* Updates that lead into a field: "address.city", "items.2.price", an array that is cut short. Where the field is one column, or may be, the update
 * becomes a part of the change, to be applied to what that column holds; where documents are flattened it is told as columns, too, and the engine,
 * which knows the table, takes the one or the other. */
#include "mongodb_parts.h"

bool mr_mongodb_cuts_within(const struct mr_mongodb_event *mev)
{
    const struct mr_config *cfg = mev->mg->cfg;

    return !cfg->flatten_struct || cfg->array_encoding == MR_ARRAY_JSON ||
           cfg->array_encoding == MR_ARRAY_ARRAY;
}

bool mr_mongodb_is_within(const struct mr_mongodb_event *mev, struct mr_str name)
{
    return mr_str_find(name, '.') >= 0 && mr_mongodb_cuts_within(mev);
}

static enum mr_status split(struct mr_str name, struct mr_arena *ar, struct mr_step *step,
                            struct mr_error *err)
{
    size_t count = 1;

    for (size_t i = 0; i < name.len; i++)
        count += name.ptr[i] == '.';
    if (count > MR_PATCH_MAX_NAMES)
        return mr_mongodb_needs_document(name, "its path is too long", err);
    struct mr_str *names = mr_arena_alloc(ar, count * sizeof *names);
    for (size_t i = 0; i < count; i++) {
        ptrdiff_t dot = mr_str_find(name, '.');
        size_t len = dot < 0 ? name.len : (size_t)dot;
        names[i] = mr_str_of(name.ptr, len);
        name = mr_str_of(name.ptr + len + (dot >= 0), name.len - len - (dot >= 0));
    }
    step->names = names;
    step->count = (uint32_t)count;
    return MR_OK;
}

/* Without a value yet. */
static enum mr_status add_part(struct mr_mongodb_event *mev, enum mr_step_kind kind, struct mr_str name,
                               struct mr_part **out, struct mr_error *err)
{
    if (mev->part_count == mev->part_cap) {
        size_t cap = mev->part_cap == 0 ? 8 : mev->part_cap * 2;
        struct mr_part *bigger = mr_arena_alloc(mev->ar, cap * sizeof *bigger);
        if (mev->part_count > 0)
            memcpy(bigger, mev->parts, mev->part_count * sizeof *bigger);
        mev->parts = bigger;
        mev->part_cap = cap;
    }
    struct mr_part *part = &mev->parts[mev->part_count];
    *part = (struct mr_part){.step.kind = kind, .item_type = MR_TYPE(MR_T_NONE)};
    MR_TRY(split(name, mev->ar, &part->step, err));
    part->may_be_columns =
        mev->mg->cfg->flatten_struct && kind != MR_STEP_CUT && name.len <= MR_FLATTEN_MAX_PATH;
    part->path = part->may_be_columns ? mr_mongodb_path(name, mev->ar)
                                      : mr_flatten_path((struct mr_str){0}, name, mev->ar);
    mev->part_count++;
    *out = part;
    return MR_OK;
}

/* As an element of an array of scalars; ABSENT for what is JSON. */
static void set_item(struct mr_mongodb_event *mev, const struct mr_json_doc *doc,
                     const struct mr_bson_value *read, struct mr_part *part)
{
    if (read->kind == MR_BSON_DOCUMENT || read->kind == MR_BSON_ARRAY)
        return;
    struct mr_value item = mr_extjson_scalar(&mev->mg->ej, doc, read, mev->ar, &part->item_type);
    if (item.tag != MR_V_JSON)
        part->step.item = item;
}

static void set_json(struct mr_mongodb_event *mev, const struct mr_json_doc *doc,
                     const struct mr_bson_value *read, struct mr_part *part)
{
    unsigned flags;

    part->step.json = mr_extjson_render(&mev->mg->ej, doc, read, mev->ar, &flags);
    part->json_flags = (uint8_t)flags;
}

enum mr_status mr_mongodb_set_within(struct mr_mongodb_event *mev, const struct mr_json_doc *doc,
                                     uint32_t node, struct mr_str name, struct mr_error *err)
{
    struct mr_bson_value read = mr_extjson_read(doc, node, mev->ar);
    struct mr_field_list fields = {0};
    struct mr_part *part;

    if (read.kind == MR_BSON_UNDEFINED) /* which is nowhere written */
        return mr_mongodb_unset_within(mev, name, err);
    MR_TRY(add_part(mev, MR_STEP_SET, name, &part, err));
    part->step.is_empty = read.kind == MR_BSON_ARRAY && doc->nodes[read.node].count == 0;
    set_item(mev, doc, &read, part);
    set_json(mev, doc, &read, part);
    if (part->may_be_columns || !mev->mg->cfg->flatten_struct)
        mr_extjson_field(&mev->mg->ej, doc, node, part->path, mev->ar, &fields);
    part->fields = mr_field_list_get(&fields);
    return MR_OK;
}

enum mr_status mr_mongodb_unset_within(struct mr_mongodb_event *mev, struct mr_str name, struct mr_error *err)
{
    struct mr_part *part;

    return add_part(mev, MR_STEP_UNSET, name, &part, err);
}

enum mr_status mr_mongodb_cut_within(struct mr_mongodb_event *mev, struct mr_str name, int64_t size,
                                     struct mr_error *err)
{
    struct mr_part *part;

    MR_TRY(add_part(mev, MR_STEP_CUT, name, &part, err));
    part->step.size = size;
    return MR_OK;
}
