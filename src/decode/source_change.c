/* Reading `tableChanges`. See source_change.h. */
#include "source_change.h"

#include "source_column.h"

static struct mr_str text_at(const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar)
{
    return mr_json_is(doc, node, MR_J_STRING) ? mr_json_string(doc, node, ar, NULL) : MR_STR("");
}

static int64_t number_at(const struct mr_json_doc *doc, uint32_t node, int64_t otherwise)
{
    int64_t v;
    return mr_json_int64(doc, node, &v) ? v : otherwise;
}

/* ---- Places ---- */

static int64_t scaled(const struct mr_json_doc *doc, uint32_t node, int64_t factor)
{
    int64_t v, us;
    if (!mr_json_int64(doc, node, &v) || v == 0 || __builtin_mul_overflow(v, factor, &us))
        return INT64_MIN;
    return us;
}

/* The members of `source` that tell where in the source's log an event stands. */
enum place_member { CONNECTOR, NAME, FILE_NAME, POS, SERVER_ID, TS_US, TS_MS, PLACE_MEMBERS };

static enum place_member place_member(struct mr_str name)
{
    static const struct mr_str names[PLACE_MEMBERS] = {
        [CONNECTOR] = {"connector", 9}, [NAME] = {"name", 4},   [FILE_NAME] = {"file", 4}, [POS] = {"pos", 3},
        [SERVER_ID] = {"server_id", 9}, [TS_US] = {"ts_us", 5}, [TS_MS] = {"ts_ms", 5},
    };
    enum place_member m = 0;
    while (m < PLACE_MEMBERS && !mr_str_eq(names[m], name))
        m++;
    return m;
}

/* In one pass: rows without schemas come here one by one. */
static void find_place(const struct mr_json_doc *doc, uint32_t source, struct mr_arena *ar, uint32_t *node)
{
    for (size_t m = 0; m < PLACE_MEMBERS; m++)
        node[m] = MR_JSON_NONE;
    if (!mr_json_is(doc, source, MR_J_OBJECT))
        return;
    for (uint32_t n = source + 1; n < doc->nodes[source].next; n = doc->nodes[n + 1].next) {
        const struct mr_json_node *name = &doc->nodes[n];
        bool is_escaped = name->flags & MR_JSON_ESCAPED;
        enum place_member m = place_member(is_escaped ? mr_json_string(doc, n, ar, NULL) : mr_json_raw(doc, n));
        if (m < PLACE_MEMBERS)
            node[m] = n + 1; /* the last of repeated names */
    }
}

struct mr_source_place mr_source_place_of(const struct mr_json_doc *doc, uint32_t source, struct mr_arena *ar)
{
    uint32_t node[PLACE_MEMBERS];
    find_place(doc, source, ar, node);
    struct mr_str connector = text_at(doc, node[CONNECTOR], ar);
    struct mr_source_place place = {
        .name = text_at(doc, node[NAME], ar),
        .file = text_at(doc, node[FILE_NAME], ar),
        .pos = number_at(doc, node[POS], 0),
        .server_id = number_at(doc, node[SERVER_ID], 0),
        .us = scaled(doc, node[TS_US], 1),
        .is_mysql = mr_str_eq(connector, MR_STR("mysql")) || mr_str_eq(connector, MR_STR("mariadb")),
    };
    if (place.us == INT64_MIN)
        place.us = scaled(doc, node[TS_MS], 1000);
    return place;
}

/* ---- Names ---- */

/* A part in double quotes at the beginning of *rest, which goes past it; quotes inside are doubled. */
static bool take_quoted(struct mr_str *rest, struct mr_arena *ar, struct mr_str *out)
{
    if (rest->len == 0 || rest->ptr[0] != '"')
        return false;
    char *text = mr_arena_alloc(ar, rest->len);
    size_t n = 0;
    for (size_t i = 1; i < rest->len; i++) {
        bool is_quote = rest->ptr[i] == '"';
        if (is_quote && (i + 1 == rest->len || rest->ptr[i + 1] != '"')) {
            *out = mr_str_of(text, n);
            *rest = mr_str_of(rest->ptr + i + 1, rest->len - i - 1);
            return true;
        }
        i += is_quote;
        text[n++] = rest->ptr[i];
    }
    return false;
}

/* "db"."table"; a rename of some versions has "db"."old","db"."new". The last two parts count. */
static bool read_id(struct mr_str id, struct mr_arena *ar, struct mr_source_change *out)
{
    size_t parts = 0;
    while (take_quoted(&id, ar, &out->table)) {
        parts++;
        if (id.len == 0)
            return parts >= 2;
        if (id.ptr[0] == '.')
            out->database = out->table;
        else if (id.ptr[0] == ',')
            parts = 0;
        else
            return false;
        id = mr_str_of(id.ptr + 1, id.len - 1);
    }
    return false;
}

bool mr_source_change_read(const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar,
                           struct mr_source_change *out)
{
    *out = (struct mr_source_change){.columns = MR_JSON_NONE, .key = MR_JSON_NONE};
    if (!mr_json_is(doc, node, MR_J_OBJECT))
        return false;
    out->type = text_at(doc, MR_JSON_MEMBER(doc, node, "type"), ar);
    if (!read_id(text_at(doc, MR_JSON_MEMBER(doc, node, "id"), ar), ar, out))
        return false;
    uint32_t table = MR_JSON_MEMBER(doc, node, "table");
    if (mr_str_eq(out->type, MR_STR("DROP")) || !mr_json_is(doc, table, MR_J_OBJECT))
        return mr_str_eq(out->type, MR_STR("DROP"));
    out->columns = MR_JSON_MEMBER(doc, table, "columns");
    out->key = MR_JSON_MEMBER(doc, table, "primaryKeyColumnNames");
    return mr_json_is(doc, out->columns, MR_J_ARRAY);
}

/* ---- Columns ---- */

/* 'it''s' to it's. */
static struct mr_str unquote(struct mr_str text, struct mr_arena *ar)
{
    if (text.len < 2 || text.ptr[0] != '\'' || text.ptr[text.len - 1] != '\'')
        return mr_arena_copy(ar, text);
    char *out = mr_arena_alloc(ar, text.len);
    size_t n = 0;
    for (size_t i = 1; i + 1 < text.len; i++) {
        out[n++] = text.ptr[i];
        i += text.ptr[i] == '\'' && i + 2 < text.len && text.ptr[i + 1] == '\'';
    }
    return mr_str_of(out, n);
}

static void read_labels(const struct mr_json_doc *doc, uint32_t array, struct mr_arena *ar,
                        struct mr_source_column *out)
{
    if (!mr_json_is(doc, array, MR_J_ARRAY))
        return;
    struct mr_str *labels = mr_arena_alloc(ar, (doc->nodes[array].count + 1) * sizeof(*labels));
    for (uint32_t n = mr_json_first(doc, array); n != MR_JSON_NONE; n = mr_json_next_in(doc, array, n))
        labels[out->label_count++] = unquote(text_at(doc, n, ar), ar);
    out->labels = labels;
}

static void read_column(const struct mr_json_doc *doc, uint32_t node, struct mr_arena *ar,
                        struct mr_source_column *out)
{
    *out = (struct mr_source_column){
        .name = mr_arena_copy(ar, text_at(doc, MR_JSON_MEMBER(doc, node, "name"), ar)),
        .type = text_at(doc, MR_JSON_MEMBER(doc, node, "typeName"), ar),
        .length = number_at(doc, MR_JSON_MEMBER(doc, node, "length"), -1),
        .scale = number_at(doc, MR_JSON_MEMBER(doc, node, "scale"), -1),
        .not_null = mr_json_is(doc, MR_JSON_MEMBER(doc, node, "optional"), MR_J_FALSE),
    };
    read_labels(doc, MR_JSON_MEMBER(doc, node, "enumValues"), ar, out);
}

const struct mr_connect_schema *mr_source_change_schema(const struct mr_config *cfg,
                                                        const struct mr_json_doc *doc,
                                                        const struct mr_source_change *change,
                                                        struct mr_arena *ar)
{
    struct mr_connect_schema *out = mr_arena_zalloc(ar, sizeof(*out));
    uint32_t count = doc->nodes[change->columns].count, n = 0;
    struct mr_connect_field *fields = mr_arena_alloc(ar, (count + 1) * sizeof(*fields));
    for (uint32_t e = mr_json_first(doc, change->columns); e != MR_JSON_NONE;
         e = mr_json_next_in(doc, change->columns, e)) {
        struct mr_source_column col;
        if (!mr_json_is(doc, e, MR_J_OBJECT))
            continue;
        read_column(doc, e, ar, &col);
        fields[n++] = (struct mr_connect_field){
            .name = col.name,
            .schema = mr_source_column_schema(cfg, &col, ar),
        };
    }
    out->kind = MR_C_STRUCT;
    mr_connect_set_fields(out, fields, n, ar);
    return out;
}
