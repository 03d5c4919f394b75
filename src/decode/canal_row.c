/* Rows of Canal's messages: every value is a text, and the column's type, a text too, says what it stands for. See canal.h. */
#include "canal.h"

#include <millrace/base/hash.h>
#include <millrace/model/table.h>

#include "key.h"
#include "names.h"

#define INDEX_SLOTS 16384 /* a power of two, twice the most columns at least */
#define MAX_KEY 64       /* columns; MySQL allows 16 */
#define NARROW 32         /* tables of so many columns need no index */
#define LENGTHLESS_FACT "canal/lengthless"

/* ---- Columns ---- */

static void index_column(struct mr_canal_message *m, size_t column)
{
    struct mr_str name = m->columns[column].name;
    size_t slot = mr_hash(name.ptr, name.len, 0) & (INDEX_SLOTS - 1);
    while (m->index[slot] != 0)
        slot = (slot + 1) & (INDEX_SLOTS - 1);
    m->index[slot] = (uint32_t)column + 1;
}

static struct mr_canal_column *add_column(struct mr_canal_message *m, struct mr_str name, struct mr_error *err)
{
    if (m->column_count == MR_TABLE_MAX_COLUMNS) {
        (void)mr_fail_data(err, MR_CODE_TOO_LARGE, "a row of more than %d columns", MR_TABLE_MAX_COLUMNS);
        return NULL;
    }
    if (m->column_count == m->column_cap) {
        size_t cap = m->column_cap == 0 ? 16 : m->column_cap * 2;
        struct mr_canal_column *columns = mr_arena_alloc(m->ar, cap * sizeof(*columns));
        if (m->column_count != 0)
            memcpy(columns, m->columns, m->column_count * sizeof(*columns));
        m->columns = columns;
        m->column_cap = cap;
    }
    struct mr_canal_column *col = &m->columns[m->column_count++];
    *col = (struct mr_canal_column){.name = name, .column_type = MR_TYPE(MR_T_NONE)};
    col->path = mr_flatten_path(MR_STR(""), mr_name_spelled(m->cl->cfg, name, m->ar), m->ar);
    if (m->index == NULL && m->column_count > NARROW) {
        m->index = mr_arena_zalloc(m->ar, INDEX_SLOTS * sizeof(*m->index));
        for (size_t i = 0; i + 1 < m->column_count; i++)
            index_column(m, i);
    }
    if (m->index != NULL)
        index_column(m, m->column_count - 1);
    return col;
}

/* Mostly names come in the columns' order: the first look hits. */
static struct mr_canal_column *find_column(struct mr_canal_message *m, struct mr_str name)
{
    if (m->cursor < m->column_count && mr_str_eq(m->columns[m->cursor].name, name))
        return &m->columns[m->cursor++];
    if (m->index == NULL) {
        for (size_t i = 0; i < m->column_count; i++) {
            if (mr_str_eq(m->columns[i].name, name)) {
                m->cursor = i + 1;
                return &m->columns[i];
            }
        }
        return NULL;
    }
    size_t slot = mr_hash(name.ptr, name.len, 0) & (INDEX_SLOTS - 1);
    for (; m->index[slot] != 0; slot = (slot + 1) & (INDEX_SLOTS - 1)) {
        struct mr_canal_column *col = &m->columns[m->index[slot] - 1];
        if (mr_str_eq(col->name, name)) {
            m->cursor = m->index[slot];
            return col;
        }
    }
    return NULL;
}

/* The members of mysqlType. *lacks_length: some type is one that Canal never sends without its length. */
static enum mr_status columns_by_text(struct mr_canal_message *m, bool *lacks_length, struct mr_error *err)
{
    const struct mr_json_doc *doc = m->sh->doc;
    uint32_t object = m->sh->node[MR_M_MYSQLTYPE];
    for (uint32_t n = mr_json_first(doc, object); n != MR_JSON_NONE; n = mr_json_next_in(doc, object, n)) {
        if (!mr_json_is(doc, n + 1, MR_J_STRING) || mr_json_is_shadowed(doc, object, n))
            continue;
        struct mr_canal_column *col = add_column(m, mr_json_string(doc, n, m->ar, NULL), err);
        if (col == NULL)
            return MR_E_DATA;
        col->type = mr_mysql_types_get(m->cl->types, mr_json_string(doc, n + 1, m->ar, NULL), m->ar);
        *lacks_length = *lacks_length || col->type->lacks_length;
    }
    return MR_OK;
}

/* The members of sqlType: what mysqlType leaves out, and which texts came as a blob's bytes. */
static enum mr_status columns_by_code(struct mr_canal_message *m, struct mr_error *err)
{
    const struct mr_json_doc *doc = m->sh->doc;
    uint32_t object = m->sh->node[MR_M_SQLTYPE];
    bool is_dts = m->cl->cfg->canal_sqltype == MR_CANAL_DTS;
    m->cursor = 0;
    for (uint32_t n = mr_json_first(doc, object); n != MR_JSON_NONE; n = mr_json_next_in(doc, object, n)) {
        int64_t code;
        if (!mr_json_int64(doc, n + 1, &code) || mr_json_is_shadowed(doc, object, n))
            continue;
        struct mr_str name = mr_json_string(doc, n, m->ar, NULL);
        struct mr_canal_column *col = find_column(m, name);
        if (col != NULL) {
            col->is_latin1 = code == 2004 && !is_dts;
            continue;
        }
        col = add_column(m, name, err);
        if (col == NULL)
            return MR_E_DATA;
        struct mr_mysql_type *type = mr_arena_alloc(m->ar, sizeof(*type));
        mr_mysql_type_of_code(code, is_dts, type);
        col->type = type;
    }
    return MR_OK;
}

static enum mr_status read_pk(struct mr_canal_message *m, struct mr_error *err)
{
    const struct mr_json_doc *doc = m->sh->doc;
    uint32_t list = m->sh->node[MR_M_PKNAMES];
    if (list == MR_JSON_NONE || mr_json_is(doc, list, MR_J_NULL))
        return MR_OK;
    if (!mr_json_is(doc, list, MR_J_ARRAY) || doc->nodes[list].count > MAX_KEY)
        return mr_fail_data(err, MR_CODE_BAD_IMAGE, "\"pkNames\" is no list of column names");

    struct mr_str *pk = mr_arena_alloc(m->ar, (doc->nodes[list].count + 1) * sizeof(*pk));
    for (uint32_t n = mr_json_first(doc, list); n != MR_JSON_NONE; n = mr_json_next_in(doc, list, n)) {
        if (!mr_json_is(doc, n, MR_J_STRING))
            return mr_fail_data(err, MR_CODE_BAD_IMAGE, "\"pkNames\" is no list of column names");
        struct mr_str name = mr_name_spelled(m->cl->cfg, mr_json_string(doc, n, m->ar, NULL), m->ar);
        pk[m->pk_count++] = mr_flatten_path(MR_STR(""), name, m->ar);
    }
    m->pk = pk;
    return MR_OK;
}

/* TiCDC and DTS leave out all lengths: BIT and DECIMAL then say nothing of theirs. Once seen it holds for the topic, as a message may have no
 * column that shows it. */
static bool is_lengthless(struct mr_canal_message *m, bool lacks_length)
{
    const struct mr_json_doc *doc = m->sh->doc;
    if (strcmp(m->facts->format, LENGTHLESS_FACT) == 0 || mr_shape_has(m->sh, MR_M_TIDB))
        return true;
    int64_t id;
    bool is_ticdc = mr_json_int64(doc, m->sh->node[MR_M_ID], &id) && id == 0 &&
                    MR_JSON_MEMBER(doc, m->sh->object, "gtid") == MR_JSON_NONE;
    if (!lacks_length && !is_ticdc)
        return false;
    if (strcmp(m->facts->format, "canal") == 0) {
        memcpy(m->facts->format, LENGTHLESS_FACT, sizeof(LENGTHLESS_FACT));
        m->facts->dirty = true;
    }
    return true;
}

enum mr_status mr_canal_columns(struct mr_canal_message *m, struct mr_error *err)
{
    bool lacks_length = false;
    MR_TRY(columns_by_text(m, &lacks_length, err));
    MR_TRY(columns_by_code(m, err));
    MR_TRY(read_pk(m, err));
    bool lengthless = is_lengthless(m, lacks_length);
    for (size_t i = 0; i < m->column_count; i++)
        m->columns[i].column_type =
            mr_mysql_column_type(m->columns[i].type, lengthless, m->cl->cfg->tinyint1_as_bool);
    return MR_OK;
}

/* ---- Rows ---- */

/* BIT and DECIMAL without a length: the column's type tells how they were understood. */
static bool was_lengthless(const struct mr_canal_column *col)
{
    return col->column_type.kind == MR_T_DECIMAL && (col->column_type.open || col->type->kind == MR_MY_BIT);
}

static struct mr_value value_of(struct mr_canal_message *m, const struct mr_canal_column *col, uint32_t node)
{
    const struct mr_json_doc *doc = m->sh->doc;
    struct mr_mysql_text in = {.is_latin1 = col->is_latin1};
    if (mr_json_is(doc, node, MR_J_NULL))
        return mr_value_null();
    if (col->type == NULL)
        return mr_flatten_scalar(doc, node, m->ar);

    switch (mr_json_kind(doc, node)) {
    case MR_J_STRING:
        in.text = mr_json_string(doc, node, m->ar, &in.flags);
        break;
    case MR_J_NUMBER:
    case MR_J_WORD:
        in.text = mr_json_raw(doc, node);
        break;
    case MR_J_TRUE:
        in.text = MR_STR("1");
        break;
    case MR_J_FALSE:
        in.text = MR_STR("0");
        break;
    case MR_J_NULL:
    case MR_J_ARRAY:
    case MR_J_OBJECT:
        if (col->type->kind == MR_MY_JSON)
            return mr_flatten_scalar(doc, node, m->ar);
        return MR_BAD_VALUE("expected a text");
    }
    in.is_lengthless = was_lengthless(col);
    return mr_mysql_value(&m->cl->rd, col->type, &in, m->ar);
}

/* The column of a member, made if it is new. NULL: too many. */
static struct mr_canal_column *column_of(struct mr_canal_message *m, uint32_t name, struct mr_error *err)
{
    struct mr_str text = mr_json_string(m->sh->doc, name, m->ar, NULL);
    struct mr_canal_column *col = find_column(m, text);
    return col != NULL ? col : add_column(m, text, err);
}

static struct mr_field field_of(struct mr_canal_message *m, const struct mr_canal_column *col, uint32_t value)
{
    return (struct mr_field){.path = col->path, .type = col->column_type, .value = value_of(m, col, value)};
}

enum mr_status mr_canal_row(struct mr_canal_message *m, uint32_t node, struct mr_fields *out, struct mr_error *err)
{
    const struct mr_json_doc *doc = m->sh->doc;
    if (!mr_json_is(doc, node, MR_J_OBJECT))
        return mr_fail_data(err, MR_CODE_BAD_IMAGE, "a row is no object");
    struct mr_field *fields = mr_arena_alloc(m->ar, ((size_t)doc->nodes[node].count + 1) * sizeof(*fields));
    uint32_t n = 0;
    m->cursor = 0;
    m->row++;
    for (uint32_t name = mr_json_first(doc, node); name != MR_JSON_NONE; name = mr_json_next_in(doc, node, name)) {
        if (mr_json_is_shadowed(doc, node, name))
            continue;
        struct mr_canal_column *col = column_of(m, name, err);
        if (col == NULL)
            return MR_E_DATA;
        col->row = m->row;
        col->place = n;
        fields[n++] = field_of(m, col, name + 1);
    }
    *out = (struct mr_fields){fields, n};
    return MR_OK;
}

enum mr_status mr_canal_old(struct mr_canal_message *m, uint32_t node, const struct mr_fields *now, struct mr_fields *old,
                            struct mr_fields *before, struct mr_error *err)
{
    const struct mr_json_doc *doc = m->sh->doc;
    if (!mr_json_is(doc, node, MR_J_OBJECT))
        return mr_fail_data(err, MR_CODE_BAD_IMAGE, "a row in \"old\" is no object");
    size_t most = now->count + doc->nodes[node].count + 1, n = 0, end = now->count;
    struct mr_field *fields = mr_arena_alloc(m->ar, most * sizeof(*fields));
    struct mr_field *whole = mr_arena_alloc(m->ar, most * sizeof(*whole));
    if (now->count != 0)
        memcpy(whole, now->items, now->count * sizeof(*whole));
    m->cursor = 0;
    for (uint32_t name = mr_json_first(doc, node); name != MR_JSON_NONE; name = mr_json_next_in(doc, node, name)) {
        if (mr_json_is_shadowed(doc, node, name))
            continue;
        struct mr_canal_column *col = column_of(m, name, err);
        if (col == NULL)
            return MR_E_DATA;
        fields[n] = field_of(m, col, name + 1);
        whole[col->row == m->row ? col->place : end++] = fields[n];
        n++;
    }
    *old = (struct mr_fields){fields, n};
    *before = (struct mr_fields){whole, end};
    return MR_OK;
}

static const struct mr_field *find(const struct mr_fields *fields, struct mr_str path, size_t hint)
{
    if (hint < fields->count && mr_str_eq(fields->items[hint].path, path))
        return &fields->items[hint];
    for (size_t i = 0; i < fields->count; i++) {
        if (mr_str_eq(fields->items[i].path, path))
            return &fields->items[i];
    }
    return NULL;
}

/* Does a setting name the key, so that the message's own does not count? */
static bool has_configured_key(const struct mr_canal_message *m)
{
    struct mr_table_settings settings;
    mr_config_table(m->cl->cfg, m->relation.database, m->relation.table, &settings);
    return settings.key_mode == MR_KEY_FIELDS || settings.key_mode == MR_KEY_NONE;
}

enum mr_status mr_canal_key(struct mr_canal_message *m, const struct mr_fields *image, struct mr_change *ev, struct mr_error *err)
{
    if (m->pk_count == 0)
        return MR_OK;
    struct mr_field *items = mr_arena_alloc(m->ar, m->pk_count * sizeof(*items));
    for (size_t i = 0; i < m->pk_count; i++) {
        const struct mr_field *f = find(image, m->pk[i], i);
        if (f == NULL && has_configured_key(m))
            return MR_OK;
        if (f == NULL) {
            (void)mr_fail_data(err, MR_CODE_NO_KEY, "the row does not bring its key column \"%.*s\"", MR_STR_FMT(m->pk[i]));
            mr_error_field(err, m->pk[i].ptr, m->pk[i].len);
            mr_error_hint(err, "the source must log the key in every row image (binlog_row_image=FULL), and no filter may take it out");
            return MR_E_DATA;
        }
        items[i] = *f;
    }
    ev->key = (struct mr_fields){items, m->pk_count};
    ev->has_key = true;
    if (m->cl->wants_key_text)
        ev->key_text = mr_key_fields_text(&ev->key, m->ar);
    return MR_OK;
}
