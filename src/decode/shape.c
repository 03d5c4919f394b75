/* One pass over an object's member names. See shape.h. */
#include "shape.h"

struct member_name {
    uint8_t len;
    const char *name;
};

#define MEMBER_ROW(id, text) {sizeof(text) - 1, text},
static const struct member_name names[MR_MEMBER_COUNT] = {MR_MEMBER_NAMES(MEMBER_ROW)};

#define LONGEST 19 /* "__source_collection" */

/* First entry of each length, and the end. Holds as long as the list in shape.h is ordered by length
 * (test_every_known_member_is_found). */
static const uint8_t first_of[LONGEST + 2] = {
    0,               /* 0 */
    0,               /* 1 */
    MR_M_OP,         /* 2 */
    MR_M_DDL,        /* 3 */
    MR_M_DATA,       /* 4 */
    MR_M_AFTER,      /* 5 */
    MR_M_BEFORE,     /* 6 */
    MR_M_OP_TYPE,    /* 7 */
    MR_M_DATABASE,   /* 8 */
    MR_M_DELETED,    /* 9 */
    MR_M_EVENT_COUNT, /* 10: none */
    MR_M_EVENT_COUNT, /* 11 */
    MR_M_DATABASENAME, /* 12 */
    MR_M_AGGREGATE_TYPE, /* 13: none */
    MR_M_AGGREGATE_TYPE, /* 14 */
    MR_M_ADDITIONAL_DATA, /* 15 */
    MR_M_DATA_COLLECTIONS, /* 16 */
    MR_M_UPDATE_DESCRIPTION, /* 17 */
    MR_M_META_SOURCE_COLLECTION, /* 18: none */
    MR_M_META_SOURCE_COLLECTION, /* 19 */
    MR_MEMBER_COUNT,
};

enum mr_member mr_member_of(struct mr_str name)
{
    if (name.len < 2 || name.len > LONGEST)
        return MR_MEMBER_COUNT;

    for (unsigned i = first_of[name.len]; i < first_of[name.len + 1]; i++) {
        if (names[i].name[0] == name.ptr[0] && memcmp(names[i].name, name.ptr, name.len) == 0)
            return (enum mr_member)i;
    }
    return MR_MEMBER_COUNT;
}

void mr_shape_of(const struct mr_json_doc *doc, uint32_t object, struct mr_arena *ar,
                 struct mr_shape *out)
{
    out->doc = doc;
    out->object = object;
    out->known = 0;
    out->others = 0;
    memset(out->node, 0xff, sizeof(out->node)); /* MR_JSON_NONE */

    uint32_t end = doc->nodes[object].next;
    for (uint32_t n = object + 1; n < end; n = doc->nodes[n + 1].next) {
        const struct mr_json_node *node = &doc->nodes[n];
        struct mr_str name = {doc->text.ptr + node->offset, node->len};
        if (node->flags & MR_JSON_ESCAPED)
            name = mr_json_string(doc, n, ar, NULL);

        enum mr_member m = mr_member_of(name);
        if (m == MR_MEMBER_COUNT) {
            out->others++;
            continue;
        }
        out->known += out->node[m] == MR_JSON_NONE;
        out->node[m] = n + 1;
    }
}

bool mr_shape_is_envelope(const struct mr_shape *sh)
{
    if (!mr_shape_is(sh, MR_M_OP, MR_J_STRING) || !mr_shape_is(sh, MR_M_SOURCE, MR_J_OBJECT))
        return false;

    struct mr_str op = mr_json_raw(sh->doc, sh->node[MR_M_OP]);
    if (op.len != 1 || memchr("cudrtm", op.ptr[0], 6) == NULL)
        return false;
    return mr_shape_has(sh, MR_M_BEFORE) || mr_shape_has(sh, MR_M_AFTER) || op.ptr[0] == 't' ||
           op.ptr[0] == 'm' ||
           /* MongoDB's oplog era wrote updates with nothing but a patch */
           mr_shape_has(sh, MR_M_PATCH) || mr_shape_has(sh, MR_M_UPDATE_DESCRIPTION);
}

bool mr_shape_is_wrapper(const struct mr_shape *sh)
{
    if (sh->others != 0 || sh->known != 2 || !mr_shape_has(sh, MR_M_SCHEMA) ||
        !mr_shape_has(sh, MR_M_PAYLOAD))
        return false;

    uint32_t schema = sh->node[MR_M_SCHEMA];
    return mr_json_is(sh->doc, schema, MR_J_NULL) ||
           (mr_json_is(sh->doc, schema, MR_J_OBJECT) &&
            mr_json_is(sh->doc, MR_JSON_MEMBER(sh->doc, schema, "type"), MR_J_STRING));
}
