/* Metadata columns. See meta.h. */
#include "meta.h"

#include <millrace/base/log.h>
#include <millrace/base/mem.h>
#include <millrace/base/time.h>

enum where { FROM_RECORD, FROM_ENVELOPE, FROM_STRUCT };

struct item {
    enum where where;
    struct mr_str holder; /* STRUCT: source, transaction, … */
    struct mr_str name;   /* member */
    enum mr_member top;   /* the envelope's member to start at; MR_MEMBER_COUNT = search by name */
    struct mr_str path;   /* of the column */
};

struct list {
    const char *option_z;
    struct item *items;
    size_t count;
};

struct mr_meta {
    struct mr_arena *ar;
    struct list fields, headers;
    bool names_are_adjusted; /* those of fields, but not ours */
};

static bool is_one_of(struct mr_str s, const char *const *list_z)
{
    for (; *list_z != NULL; list_z++) {
        if (mr_str_eq_z(s, *list_z))
            return true;
    }
    return false;
}

/* Where a bare name is read from. */
static void place_bare(struct item *it)
{
    static const char *const ours[] = {"topic", "partition", "offset", NULL};
    static const char *const envelope[] = {"op", "ts_ms", "ts_us", "ts_ns", NULL};
    static const char *const transaction[] = {"id", "total_order", "data_collection_order", NULL};

    if (is_one_of(it->name, ours)) {
        it->where = FROM_RECORD;
    } else if (is_one_of(it->name, envelope)) {
        it->where = FROM_ENVELOPE;
        it->top = mr_member_of(it->name);
    } else {
        it->where = FROM_STRUCT;
        it->holder = is_one_of(it->name, transaction) ? MR_STR("transaction") : MR_STR("source");
        it->top = mr_member_of(it->holder);
    }
}

/* Where the names of fields are adjusted, an added column has a path of Millrace's own: its name is not adjusted, and it cannot be the same as a
 * field's. */
static struct mr_str column_path(const struct mr_meta *meta, struct mr_str name)
{
    struct mr_str path = mr_flatten_path(MR_STR(""), name, meta->ar);
    if (!meta->names_are_adjusted || path.len == 0 || path.ptr[0] == '\\')
        return path;
    return mr_arena_printf(meta->ar, "\\%.*s", MR_STR_FMT(path));
}

static enum mr_status parse_item(struct mr_meta *meta, const struct list *list, struct mr_str text, struct mr_str prefix,
                                 struct item *it, struct mr_error *err)
{
    struct mr_str rename = MR_STR("");
    struct mr_str ref = text;
    ptrdiff_t colon = mr_str_find(text, ':');
    if (colon >= 0) {
        ref = mr_str_trim(mr_str_of(text.ptr, (size_t)colon));
        rename = mr_str_trim(mr_str_of(text.ptr + colon + 1, text.len - (size_t)colon - 1));
        if (mr_str_find(rename, ':') >= 0)
            return mr_fail(err, MR_E_CONFIG, "%s: unexpected field name: \"%.*s\" has more than one colon", list->option_z,
                           MR_STR_FMT(text));
    }

    struct mr_str column = ref;
    ptrdiff_t dot = mr_str_find(ref, '.');
    if (dot < 0) {
        it->name = ref;
        place_bare(it);
    } else {
        it->where = FROM_STRUCT;
        it->holder = mr_str_of(ref.ptr, (size_t)dot);
        it->name = mr_str_of(ref.ptr + dot + 1, ref.len - (size_t)dot - 1);
        it->top = mr_member_of(it->holder);
        ptrdiff_t more = mr_str_find(it->name, '.'); /* a third part is ignored, as Debezium does */
        if (more >= 0)
            it->name.len = (size_t)more;
        column = mr_arena_printf(meta->ar, "%.*s_%.*s", MR_STR_FMT(it->holder), MR_STR_FMT(it->name));
        if (it->holder.len == 0)
            it->name.len = 0;
    }
    if (it->name.len == 0)
        return mr_fail(err, MR_E_CONFIG, "%s: \"%.*s\" names no field", list->option_z, MR_STR_FMT(text));

    if (rename.len != 0)
        column = rename;
    struct mr_str name = mr_arena_printf(meta->ar, "%.*s%.*s", MR_STR_FMT(prefix), MR_STR_FMT(column));
    it->path = list == &meta->headers ? name : column_path(meta, name);
    return MR_OK;
}

/* Two columns of one name. The transform adds `__deleted` itself, in the modes that rewrite. */
static enum mr_status check_unique(const struct mr_config *cfg, const struct list *list, const struct item *it,
                                   struct mr_error *err)
{
    bool is_soft = cfg->unwrap_delete == MR_DELETE_SOFT;
    for (size_t i = 0; i < cfg->table_count; i++)
        is_soft |= cfg->tables[i].delete_mode == MR_DELETE_SOFT;
    if (is_soft && (mr_str_eq(it->path, MR_STR("__deleted")) || mr_str_eq(it->path, MR_STR("\\__deleted"))))
        return mr_fail(err, MR_E_CONFIG, "%s makes a column \"__deleted\", which deletes have already", list->option_z);
    for (size_t i = 0; i < list->count; i++) {
        if (mr_str_eq(list->items[i].path, it->path))
            return mr_fail(err, MR_E_CONFIG, "%s makes two columns \"%.*s\"", list->option_z, MR_STR_FMT(it->path));
    }
    return MR_OK;
}

static enum mr_status parse_list(struct mr_meta *meta, const struct mr_config *cfg, const char *text_z, const char *prefix_z,
                                 struct list *list, struct mr_error *err)
{
    struct mr_str rest = mr_arena_copy(meta->ar, mr_str_z(text_z));
    size_t most = 1;
    for (size_t i = 0; i < rest.len; i++)
        most += rest.ptr[i] == ',';
    list->items = mr_arena_zalloc(meta->ar, most * sizeof(*list->items));

    while (rest.len != 0) {
        ptrdiff_t comma = mr_str_find(rest, ',');
        size_t len = comma < 0 ? rest.len : (size_t)comma;
        struct mr_str text = mr_str_trim(mr_str_of(rest.ptr, len));
        rest = comma < 0 ? MR_STR("") : mr_str_of(rest.ptr + len + 1, rest.len - len - 1);
        if (text.len == 0)
            continue;

        struct item *it = &list->items[list->count];
        MR_TRY(parse_item(meta, list, text, mr_str_z(prefix_z), it, err));
        if (list == &meta->fields)
            MR_TRY(check_unique(cfg, list, it, err));
        list->count++;
    }
    return MR_OK;
}

enum mr_status mr_meta_create(const struct mr_config *cfg, struct mr_meta **out, struct mr_error *err)
{
    struct mr_meta *meta = mr_xcalloc(1, sizeof(*meta));
    meta->ar = mr_arena_create(1024);
    meta->fields.option_z = "unwrap.add.fields";
    meta->headers.option_z = "unwrap.add.headers";
    meta->names_are_adjusted = cfg->field_names != MR_NAMES_NONE;
    enum mr_status status = parse_list(meta, cfg, cfg->add_fields, cfg->add_fields_prefix, &meta->fields, err);
    if (status == MR_OK && cfg->add_headers != NULL)
        status = parse_list(meta, cfg, cfg->add_headers, cfg->add_headers_prefix, &meta->headers, err);
    if (status != MR_OK) {
        mr_meta_destroy(meta);
        return status;
    }
    *out = meta;
    return MR_OK;
}

void mr_meta_destroy(struct mr_meta *meta)
{
    if (meta == NULL)
        return;
    mr_arena_destroy(meta->ar);
    mr_xfree(meta);
}

static struct mr_type declared(enum mr_type_kind kind)
{
    struct mr_type t = MR_TYPE(kind);
    t.origin = MR_SCHEMA;
    return t;
}

static void from_record(const struct item *it, const struct mr_record *rec, struct mr_arena *ar,
                        struct mr_field_list *out)
{
    if (it->name.ptr[0] == 't') {
        mr_field_add(out, ar, it->path, declared(MR_T_TEXT), mr_value_text(rec->topic));
    } else if (it->name.ptr[0] == 'p') {
        struct mr_value v = rec->partition < 0 ? mr_value_null() : mr_value_int(rec->partition);
        mr_field_add(out, ar, it->path, declared(MR_T_INT32), v);
    } else {
        struct mr_value v = rec->offset < 0 ? mr_value_null() : mr_value_int(rec->offset);
        mr_field_add(out, ar, it->path, declared(MR_T_INT64), v);
    }
}

static uint32_t member_at(const struct mr_shape *shape, enum mr_member top, struct mr_str name)
{
    return top != MR_MEMBER_COUNT ? shape->node[top] : mr_json_member(shape->doc, shape->object, name);
}

static const struct mr_connect_schema *schema_at(const struct mr_connect_schema *schema,
                                                 struct mr_str name)
{
    const struct mr_connect_field *f = mr_connect_field(schema, name, 0);
    return f == NULL ? NULL : f->schema;
}

/* Types of the envelope's own members, which need no schema to be known. */
static struct mr_type envelope_type(const struct item *it)
{
    return declared(it->top == MR_M_OP ? MR_T_TEXT : MR_T_INT64);
}

/* The item's value in an envelope, and its schema (NULL = none). *is_known: does the envelope have the name at all? A struct that is null
 * (a transaction, mostly) has every name. */
static uint32_t find_in_envelope(const struct item *it, const struct mr_shape *shape, const struct mr_connect_schema **schema,
                                 bool *is_known)
{
    if (it->where == FROM_ENVELOPE) {
        uint32_t node = member_at(shape, it->top, it->name);
        *schema = schema_at(*schema, it->name);
        *is_known = node != MR_JSON_NONE || *schema != NULL;
        return node;
    }
    uint32_t holder = member_at(shape, it->top, it->holder);
    const struct mr_connect_schema *holder_schema = schema_at(*schema, it->holder);
    bool is_null_holder = mr_json_is(shape->doc, holder, MR_J_NULL);
    uint32_t node = mr_json_member(shape->doc, holder, it->name);
    if (node == MR_JSON_NONE && !is_null_holder && schema_at(holder_schema, it->name) == NULL) {
        /* A struct that does not know the name: the envelope may. */
        node = mr_json_member(shape->doc, shape->object, it->name);
        holder_schema = *schema;
    }
    *schema = schema_at(holder_schema, it->name);
    *is_known = node != MR_JSON_NONE || *schema != NULL || (is_null_holder && holder_schema == NULL);
    return node;
}

static struct mr_value value_in_envelope(struct mr_connect *cn, const struct mr_connect_schema *schema, const struct mr_shape *shape,
                                         uint32_t node, struct mr_arena *ar)
{
    return node == MR_JSON_NONE ? mr_value_null() : mr_connect_value(cn, schema, shape->doc, node, ar);
}

static void from_envelope(const struct item *it, struct mr_connect *cn, const struct mr_shape *shape,
                          const struct mr_connect_schema *schema, struct mr_arena *ar,
                          struct mr_field_list *out)
{
    bool is_known;
    uint32_t node = find_in_envelope(it, shape, &schema, &is_known);
    struct mr_type type = schema == NULL ? MR_TYPE(MR_T_NONE) : schema->type;
    if (it->where == FROM_ENVELOPE)
        type = envelope_type(it);
    else if (schema != NULL && schema->kind == MR_C_STRUCT && type.kind == MR_T_NONE)
        type = declared(MR_T_JSON);
    type.not_null = false;
    mr_field_add(out, ar, it->path, type, value_in_envelope(cn, schema, shape, node, ar));
}

struct mr_fields mr_meta_fields(const struct mr_meta *meta, struct mr_connect *cn,
                                const struct mr_record *rec, const struct mr_shape *shape,
                                const struct mr_connect_schema *schema, struct mr_str op,
                                struct mr_arena *ar)
{
    struct mr_field_list list = {0};
    for (size_t i = 0; i < meta->fields.count; i++) {
        const struct item *it = &meta->fields.items[i];
        if (it->where == FROM_RECORD)
            from_record(it, rec, ar, &list);
        else if (shape != NULL)
            from_envelope(it, cn, shape, schema, ar, &list);
        else if (it->where == FROM_ENVELOPE && it->top == MR_M_OP && op.len != 0)
            mr_field_add(&list, ar, it->path, declared(MR_T_TEXT), mr_value_text(op));
    }
    return mr_field_list_get(&list);
}

struct mr_fields mr_meta_headers(const struct mr_meta *meta, struct mr_connect *cn, const struct mr_record *rec,
                                 const struct mr_shape *shape, const struct mr_connect_schema *schema, struct mr_str op,
                                 struct mr_arena *ar)
{
    struct mr_field_list list = {0};
    for (size_t i = 0; i < meta->headers.count; i++) {
        const struct item *it = &meta->headers.items[i];
        if (it->where == FROM_RECORD) {
            from_record(it, rec, ar, &list);
        } else if (shape != NULL) {
            const struct mr_connect_schema *at = schema;
            bool is_known;
            uint32_t node = find_in_envelope(it, shape, &at, &is_known);
            if (is_known)
                mr_field_add(&list, ar, it->path, MR_TYPE(MR_T_NONE), value_in_envelope(cn, at, shape, node, ar));
        } else if (it->where == FROM_ENVELOPE && it->top == MR_M_OP && op.len != 0) {
            mr_field_add(&list, ar, it->path, MR_TYPE(MR_T_NONE), mr_value_text(op));
        }
    }
    return mr_field_list_get(&list);
}

static void append_text(struct mr_buf *out, const char *name_z, struct mr_str text)
{
    if (text.len == 0)
        return;
    mr_buf_printf(out, "%s\"%s\":", out->data[out->len - 1] == '{' ? "" : ",", name_z);
    mr_buf_append_json(out, text);
}

static void append_number(struct mr_buf *out, const char *name_z, int64_t n)
{
    if (n != INT64_MIN)
        mr_buf_printf(out, "%s\"%s\":%lld", out->data[out->len - 1] == '{' ? "" : ",", name_z, (long long)n);
}

/* As the envelope that Debezium would have written. */
static struct mr_str envelope_of(const struct mr_meta_facts *facts, struct mr_arena *ar)
{
    struct mr_buf text = MR_BUF_INIT(1u << 20);
    mr_buf_append_char(&text, '{');
    append_text(&text, "op", facts->op);
    append_number(&text, "ts_ms", facts->produced_ms);
    mr_buf_append_z(&text, text.len == 1 ? "\"source\":{" : ",\"source\":{");
    append_text(&text, "db", facts->database);
    append_text(&text, "table", facts->table);
    append_text(&text, "gtid", facts->gtid);
    append_text(&text, "txId", facts->tx_id);
    append_number(&text, "ts_ms", facts->source_us == INT64_MIN ? INT64_MIN : mr_floor_div(facts->source_us, 1000));
    mr_buf_append_z(&text, "}}");
    struct mr_str copy = mr_arena_copy(ar, mr_buf_str(&text));
    mr_buf_free(&text);
    return copy;
}

void mr_meta_of_facts(const struct mr_meta *meta, struct mr_connect *cn, const struct mr_record *rec,
                      const struct mr_meta_facts *facts, struct mr_arena *ar, struct mr_change *ev)
{
    struct mr_json_doc doc;
    struct mr_shape shape;
    if (meta->fields.count == 0 && meta->headers.count == 0)
        return;
    bool is_read = mr_json_parse_arena(cn->inner_reader, envelope_of(facts, ar), ar, &doc, NULL) == MR_OK;
    if (is_read) /* each name is found where it always is */
        mr_shape_of(&doc, 0, ar, &shape);
    ev->meta = mr_meta_fields(meta, cn, rec, is_read ? &shape : NULL, NULL, facts->op, ar);
    ev->headers = mr_meta_headers(meta, cn, rec, is_read ? &shape : NULL, NULL, facts->op, ar);
}

/* A value of the row is lost for the name that was asked for: said once, since it happens in every row. Main thread only, as all of this. */
static void warn_hidden(const struct mr_field *field)
{
    static bool is_told;
    if (is_told || field->value.tag <= MR_V_NULL)
        return;
    is_told = true;
    mr_log(MR_LOG_WARN, "a field of the row has the name of an added column and gives way; unwrap.add.fields.prefix or a new name (op:NAME) keeps both",
           MR_KV_STR("field", field->path));
}

void mr_meta_override(const struct mr_fields *meta, struct mr_fields *fields)
{
    if (meta->count == 0)
        return;
    struct mr_field *items = (struct mr_field *)(uintptr_t)fields->items;
    size_t kept = 0;
    for (size_t i = 0; i < fields->count; i++) {
        bool is_hidden = false;
        for (size_t m = 0; m < meta->count && !is_hidden; m++)
            is_hidden = mr_str_eq(meta->items[m].path, items[i].path);
        if (!is_hidden)
            items[kept++] = items[i];
        else
            warn_hidden(&items[i]);
    }
    fields->count = kept;
}
