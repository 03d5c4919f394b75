/* Partial updates: names of updates to paths of columns. A name like "address.city" is a path into the document: to a column of its own where
 * documents are flattened, else, or where an array is on the way, into a column (mongodb_within.c). */
#include "mongodb_parts.h"

enum mr_status mr_mongodb_needs_document(struct mr_str name, const char *why_z, struct mr_error *err)
{
    mr_fail_data(err, MR_CODE_UNSUPPORTED, "the update of \"%.*s\" cannot be applied without the document: %s",
                 MR_STR_FMT(mr_str_of(name.ptr, name.len < 200 ? name.len : 200)), why_z);
    mr_error_hint(err, "let the connector send full documents: capture.mode "
                       "change_streams_update_full or change_streams_update_full_with_pre_image");
    mr_error_field(err, name.ptr, name.len);
    return MR_E_DATA;
}

/* Can columns stand for that name? Where elements are rows of their own, positions are theirs. */
static enum mr_status check_name(struct mr_mongodb_event *mev, struct mr_str name, struct mr_error *err)
{
    const struct mr_config *cfg = mev->mg->cfg;
    ptrdiff_t dot = mr_str_find(name, '.');

    if (dot < 0)
        return MR_OK;
    if (name.len > MR_FLATTEN_MAX_PATH)
        return mr_mongodb_needs_document(name, "its path is too long", err);
    struct mr_str rest = name;
    while (dot >= 0) {
        rest = mr_str_of(rest.ptr + dot + 1, rest.len - (size_t)dot - 1);
        dot = mr_str_find(rest, '.');
        if (cfg->array_encoding != MR_ARRAY_TABLE) /* elements have columns of their own */
            mev->has_positions |= mr_is_position(dot < 0 ? rest : mr_str_of(rest.ptr, (size_t)dot));
    }
    return MR_OK;
}

struct mr_str mr_mongodb_path(struct mr_str name, struct mr_arena *ar)
{
    bool is_nameless = name.len == 0 || name.ptr[0] == '.';
    size_t extra = is_nameless ? sizeof MR_EMPTY_NAME - 1 : 0, len = extra;

    for (size_t i = 0; i < name.len; i++)
        extra += name.ptr[i] == '\\';
    if (extra == 0)
        return name;
    char *out = mr_arena_alloc(ar, name.len + extra);
    if (is_nameless)
        memcpy(out, MR_EMPTY_NAME, len);
    for (size_t i = 0; i < name.len; i++) {
        if (name.ptr[i] == '\\')
            out[len++] = '\\';
        out[len++] = name.ptr[i];
    }
    return mr_str_of(out, len);
}

static void remove_path(struct mr_mongodb_event *mev, struct mr_str path)
{
    mr_field_add(&mev->removed, mev->ar, path, MR_TYPE(MR_T_NONE), mr_value_null());
}

/* The same where arrays are tables and the name may lead into one. */
static enum mr_status set_field(struct mr_mongodb_event *mev, const struct mr_json_doc *doc, uint32_t node, struct mr_str name,
                                struct mr_error *err)
{
    struct mr_mongodb_name split;

    MR_TRY(mr_mongodb_split_name(name, mev->ar, &split, err));
    if (mr_mongodb_set_element(mev, doc, node, &split))
        return MR_OK;
    mr_extjson_field(&mev->mg->ej, doc, node, split.rest, mev->ar, &mev->after);
    mr_extjson_drain(&mev->mg->ej, &mev->after);
    remove_path(mev, split.rest);
    return MR_OK;
}

/* A field that is gone. */
static enum mr_status unset_name(struct mr_mongodb_event *mev, struct mr_str name, struct mr_error *err)
{
    struct mr_mongodb_name split;

    if (mr_mongodb_is_within(mev, name))
        return mr_mongodb_unset_within(mev, name, err);
    MR_TRY(check_name(mev, name, err));
    if (mev->after.arrays == NULL) {
        remove_path(mev, mr_mongodb_path(name, mev->ar));
        return MR_OK;
    }
    MR_TRY(mr_mongodb_split_name(name, mev->ar, &split, err));
    if (!mr_mongodb_unset_element(mev, &split))
        remove_path(mev, split.rest);
    return MR_OK;
}

/* Members of `set`, each a name and its new value. The new value replaces all that was at and below the name: flattened, the old columns
 * go first. */
static enum mr_status read_set(struct mr_mongodb_event *mev, const struct mr_json_doc *doc, uint32_t set,
                               struct mr_error *err)
{
    const struct mr_config *cfg = mev->mg->cfg;

    for (uint32_t n = mr_json_first(doc, set); n != MR_JSON_NONE; n = mr_json_next_in(doc, set, n)) {
        if (mr_json_is_shadowed(doc, set, n))
            continue;
        struct mr_str name = mr_json_string(doc, n, mev->ar, NULL);
        if (mr_mongodb_is_within(mev, name)) {
            MR_TRY(mr_mongodb_set_within(mev, doc, n + 1, name, err));
            continue;
        }
        MR_TRY(check_name(mev, name, err));
        if (mev->after.arrays != NULL) {
            MR_TRY(set_field(mev, doc, n + 1, name, err));
            continue;
        }
        struct mr_str path = mr_mongodb_path(name, mev->ar);
        size_t before = mev->after.count;
        mr_extjson_field(&mev->mg->ej, doc, n + 1, path, mev->ar, &mev->after);
        if (cfg->flatten_struct || mev->after.count == before)
            remove_path(mev, path);
    }
    return MR_OK;
}

static enum mr_status read_removed(struct mr_mongodb_event *mev, uint32_t names, struct mr_error *err)
{
    const struct mr_json_doc *doc = mev->doc;

    if (mr_mongodb_is_null(doc, names))
        return MR_OK;
    if (!mr_json_is(doc, names, MR_J_ARRAY))
        return mr_fail_data(err, MR_CODE_BAD_IMAGE, "updateDescription.removedFields is no array");
    for (uint32_t n = mr_json_first(doc, names); n != MR_JSON_NONE; n = mr_json_next_in(doc, names, n)) {
        if (!mr_json_is(doc, n, MR_J_STRING))
            return mr_fail_data(err, MR_CODE_BAD_IMAGE, "updateDescription.removedFields holds something that is no text");
        MR_TRY(unset_name(mev, mr_json_string(doc, n, mev->ar, NULL), err));
    }
    return MR_OK;
}

static enum mr_status cut_array(struct mr_mongodb_event *mev, struct mr_str field, int64_t size, struct mr_error *err)
{
    struct mr_mongodb_name split;

    MR_TRY(mr_mongodb_split_name(field, mev->ar, &split, err));
    return mr_mongodb_cut_array(mev, &split, (uint32_t)size, err);
}

/* Arrays that have been cut short: within their column, or the columns or rows of the elements that are gone. */
static enum mr_status read_truncated(struct mr_mongodb_event *mev, uint32_t arrays, struct mr_error *err)
{
    const struct mr_json_doc *doc = mev->doc;

    for (uint32_t n = mr_json_first(doc, arrays); n != MR_JSON_NONE; n = mr_json_next_in(doc, arrays, n)) {
        uint32_t name = MR_JSON_MEMBER(doc, n, "field"), size = MR_JSON_MEMBER(doc, n, "size");
        int64_t count;
        if (size == MR_JSON_NONE)
            size = MR_JSON_MEMBER(doc, n, "newSize");
        if (size == MR_JSON_NONE || !mr_json_int64(doc, size, &count) || count < 0 || count > INT32_MAX || !mr_json_is(doc, name, MR_J_STRING))
            return mr_fail_data(err, MR_CODE_BAD_IMAGE, "updateDescription.truncatedArrays holds something without a field and a size");
        struct mr_str field = mr_json_string(doc, name, mev->ar, NULL);
        if (mr_mongodb_cuts_within(mev)) {
            MR_TRY(mr_mongodb_cut_within(mev, field, count, err));
            continue;
        }
        MR_TRY(check_name(mev, field, err));
        if (mev->after.arrays != NULL) {
            MR_TRY(cut_array(mev, field, count, err));
            continue;
        }
        mev->has_positions = true;
        mr_field_add(&mev->removed, mev->ar, mr_mongodb_path(field, mev->ar), MR_TYPE(MR_T_NONE), mr_value_int(count));
    }
    return MR_OK;
}

enum mr_status mr_mongodb_read_description(struct mr_mongodb_event *mev, uint32_t description,
                                           bool *partial, struct mr_error *err)
{
    const struct mr_json_doc *doc = mev->doc;

    if (!mr_json_is(doc, description, MR_J_OBJECT))
        return mr_fail_data(err, MR_CODE_BAD_IMAGE, "updateDescription is no object");
    *partial = true;

    MR_TRY(read_truncated(mev, MR_JSON_MEMBER(doc, description, "truncatedArrays"), err));
    MR_TRY(read_removed(mev, MR_JSON_MEMBER(doc, description, "removedFields"), err));

    uint32_t updated = MR_JSON_MEMBER(doc, description, "updatedFields"), root;
    struct mr_json_doc inner;
    if (mr_mongodb_is_null(doc, updated))
        return MR_OK;
    MR_TRY(mr_mongodb_open_document(mev->mg, doc, updated, "updateDescription.updatedFields", mev->ar,
                                    &inner, &root, err));
    return read_set(mev, &inner, root, err);
}

/* {"$set": {…}, "$unset": {…}}, with "$v" beside them. */
static enum mr_status read_operators(struct mr_mongodb_event *mev, const struct mr_json_doc *doc,
                                     uint32_t patch, struct mr_error *err)
{
    for (uint32_t n = mr_json_first(doc, patch); n != MR_JSON_NONE; n = mr_json_next_in(doc, patch, n)) {
        if (mr_json_is_shadowed(doc, patch, n))
            continue;
        if (mr_json_string_is(doc, n, MR_STR("$v"))) /* the version of the operators */
            continue;
        bool is_set = mr_json_string_is(doc, n, MR_STR("$set"));
        if (!is_set && !mr_json_string_is(doc, n, MR_STR("$unset")))
            return mr_mongodb_needs_document(mr_json_string(doc, n, mev->ar, NULL), "patch holds more than $set and $unset", err);
        if (!mr_json_is(doc, n + 1, MR_J_OBJECT))
            return mr_fail_data(err, MR_CODE_BAD_IMAGE, "patch has an operator without a document");
        if (is_set) {
            MR_TRY(read_set(mev, doc, n + 1, err));
            continue;
        }
        for (uint32_t u = mr_json_first(doc, n + 1); u != MR_JSON_NONE; u = mr_json_next_in(doc, n + 1, u)) {
            MR_TRY(unset_name(mev, mr_json_string(doc, u, mev->ar, NULL), err));
        }
    }
    return MR_OK;
}

enum mr_status mr_mongodb_read_patch(struct mr_mongodb_event *mev, uint32_t patch, bool *partial,
                                     struct mr_error *err)
{
    struct mr_json_doc inner;
    uint32_t root;

    MR_TRY(mr_mongodb_open_document(mev->mg, mev->doc, patch, "patch", mev->ar, &inner, &root, err));
    struct mr_str first = mr_json_string(&inner, mr_json_first(&inner, root), mev->ar, NULL);
    *partial = first.len > 0 && first.ptr[0] == '$';
    if (*partial)
        return read_operators(mev, &inner, root, err);
    mr_mongodb_document_fields(mev->mg, &inner, root, mev->ar, &mev->after);
    return MR_OK;
}
