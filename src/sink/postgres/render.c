/* DDL of PostgreSQL as text, and what it costs. A change of type converts the old values in place, without loss: what becomes text is exactly
 * the canonical text that the same value would be written with from then on. */
#include "pg.h"

/* Append `pattern` with every `$` replaced by the quoted column. */
static void append_pattern(const char *pattern, struct mr_str column, struct mr_buf *out)
{
    for (const char *at = pattern; *at; at++) {
        if (*at == '$')
            mr_pg_quote_ident(column, out);
        else
            mr_buf_append_char(out, *at);
    }
}

#define FRACTION(value)                                                                            \
    "CASE WHEN to_char(" value ", 'US') = '000000' THEN '' ELSE '.' || to_char(" value ", 'US') END"
/* Years are astronomical: 1 BC is 0000. Above 9999 they carry a sign. */
#define MOMENT(value)                                                                              \
    "CASE WHEN " value " >= '10000-01-01' THEN '+' ELSE '' END || "                                \
    "CASE WHEN " value " < '0001-01-01' "                                                          \
    "THEN to_char(extract(year FROM " value ")::integer + 1, 'FM0000') "                           \
    "ELSE to_char(" value ", 'YYYY') END || "                                                      \
    "to_char(" value ", '-MM-DD\"T\"HH24:MI:SS') || " FRACTION(value)
/* Days as hours: our durations are microseconds alone. */
#define HOURS                                                                                      \
    "($ + make_interval(hours => 24 * extract(day FROM $)::integer, days => -extract(day FROM $)::integer))"

/* The canonical text (mr_value_append_text) of a column as an SQL expression. */
static const char *text_pattern(enum mr_type_kind from)
{
    switch (from) {
    case MR_T_BYTES:
        return "replace(encode($, 'base64'), chr(10), '')";
    case MR_T_DATE: /* not through to_char above 9999: dates go beyond what a timestamp holds */
        return "CASE WHEN NOT isfinite($) THEN $::text "
               "WHEN $ >= '10000-01-01' THEN '+' || $::text "
               "WHEN $ < '0001-01-01' "
               "THEN to_char(extract(year FROM $)::integer + 1, 'FM0000') || to_char($, '-MM-DD') "
               "ELSE to_char($, 'YYYY-MM-DD') END";
    case MR_T_TIME:
        return "to_char($, 'HH24:MI:SS') || " FRACTION("$");
    case MR_T_DURATION:
        return "CASE WHEN extract(year FROM $) <> 0 OR extract(month FROM $) <> 0 THEN $::text "
               "ELSE CASE WHEN " HOURS " < interval '0' THEN '-' ELSE '' END || "
               "to_char(greatest(" HOURS ", -" HOURS "), 'HH24:MI:SS') || "
               FRACTION("greatest(" HOURS ", -" HOURS ")") " END";
    case MR_T_TIMESTAMP:
        return "CASE WHEN NOT isfinite($) THEN $::text ELSE " MOMENT("$") " END";
    case MR_T_TIMESTAMPTZ:
        return "CASE WHEN NOT isfinite($) THEN $::text ELSE " MOMENT("($ AT TIME ZONE 'UTC')") " || 'Z' END";
    case MR_T_FLOAT32:
    case MR_T_FLOAT64: /* plain digits where mr_double_text writes them, else its form of the exponent; NaN is above all */
        return "CASE WHEN $ = 0 THEN $::text "
               "WHEN abs($) >= 1e-6 AND abs($) < 1e21 THEN $::text::numeric::text "
               "ELSE regexp_replace($::text, 'e\\+?(-?)0*', 'e\\1') END";
    case MR_T_NONE:
    case MR_T_BOOL:
    case MR_T_INT16:
    case MR_T_INT32:
    case MR_T_INT64:
    case MR_T_DECIMAL:
    case MR_T_TEXT:
    case MR_T_UUID:
    case MR_T_BITS:
    case MR_T_JSON:
        return "$::text";
    case MR_T_ARRAY: /* as JSON writes it */
        return "to_jsonb($)::text";
    }
    return "$::text";
}

void mr_pg_append_text_of(enum mr_type_kind kind, struct mr_str column, struct mr_buf *out)
{
    append_pattern(text_pattern(kind), column, out);
}

static bool is_float(enum mr_type_kind kind)
{
    return kind == MR_T_FLOAT32 || kind == MR_T_FLOAT64;
}

static bool is_number(enum mr_type_kind kind)
{
    return kind == MR_T_INT16 || kind == MR_T_INT32 || kind == MR_T_INT64 || kind == MR_T_DECIMAL || is_float(kind);
}

static void using_json(enum mr_type_kind from, struct mr_str column, struct mr_buf *out)
{
    if (from == MR_T_JSON) {
        append_pattern("$::jsonb", column, out);
        return;
    }
    mr_buf_append_z(out, "to_jsonb(");
    append_pattern(is_number(from) || from == MR_T_BOOL || from == MR_T_ARRAY ? "$" : text_pattern(from), column, out);
    mr_buf_append_char(out, ')');
}

/* The expression after USING; nothing where the plain cast is what is wanted (that one may be free of a rewrite). */
static void append_using(enum mr_type_kind from, const struct mr_column *col, struct mr_buf *out)
{
    enum mr_type_kind to = col->type.kind;

    if (to == MR_T_ARRAY && from == MR_T_ARRAY) { /* through text: a float's direct cast to numeric rounds, and texts have no other way */
        mr_buf_append_z(out, " USING ");
        append_pattern("$::text[]::", col->name, out);
        mr_pg_column_type(col, out);
        return;
    }
    if (from == to || (is_number(from) && is_number(to) && !is_float(from)))
        return;
    mr_buf_append_z(out, " USING ");
    if (to == MR_T_TEXT || to == MR_T_NONE)
        append_pattern(text_pattern(from), col->name, out);
    else if (to == MR_T_JSON)
        using_json(from, col->name, out);
    else if (is_float(from) && to == MR_T_DECIMAL) /* the direct cast rounds to 15 digits */
        append_pattern("$::text::numeric", col->name, out);
    else if (from == MR_T_FLOAT32 && to == MR_T_FLOAT64) /* 0.1 stays 0.1, as it is written from then on */
        append_pattern("$::text::double precision", col->name, out);
    else if ((from == MR_T_TIMESTAMP && to == MR_T_TIMESTAMPTZ) || (from == MR_T_TIMESTAMPTZ && to == MR_T_TIMESTAMP))
        append_pattern("$ AT TIME ZONE 'UTC'", col->name, out);
    else {
        append_pattern("$::", col->name, out);
        mr_pg_column_type(col, out);
    }
}

static void render_create_table(const struct mr_table *tbl, struct mr_buf *out)
{
    mr_buf_append_z(out, "CREATE TABLE IF NOT EXISTS ");
    mr_pg_quote_table(tbl->schema, tbl->name, out);
    mr_buf_append_z(out, " (");
    for (size_t i = 0; i < tbl->column_count; i++) {
        mr_buf_append_z(out, i ? ",\n    " : "\n    ");
        mr_pg_quote_ident(tbl->columns[i].name, out);
        mr_buf_append_char(out, ' ');
        mr_pg_column_type(&tbl->columns[i], out);
        if (tbl->columns[i].is_key)
            mr_buf_append_z(out, " NOT NULL");
    }
    if (tbl->key_count > 0) {
        mr_buf_append_z(out, ",\n    PRIMARY KEY (");
        for (size_t i = 0; i < tbl->key_count; i++) {
            mr_buf_append_z(out, i ? ", " : "");
            mr_pg_quote_ident(tbl->columns[tbl->key_columns[i]].name, out);
        }
        mr_buf_append_char(out, ')');
    }
    mr_buf_append_z(out, tbl->column_count ? "\n)" : ")");
}

static void alter_table(const struct mr_table *tbl, struct mr_buf *out)
{
    mr_buf_append_z(out, "ALTER TABLE ");
    mr_pg_quote_table(tbl->schema, tbl->name, out);
}

static bool is_new_key(const struct mr_table *tbl, struct mr_str name)
{
    for (size_t i = 0; i < tbl->key_count; i++)
        if (mr_str_eq(tbl->columns[tbl->key_columns[i]].name, name))
            return true;
    return false;
}

/* The old key goes, its columns become nullable like all others, the new key comes (which makes its own NOT NULL). */
static void render_replace_key(const struct mr_table *tbl, const struct mr_catalog_table *now, struct mr_buf *out)
{
    bool is_first = true;

    if (now && now->key_count > 0 && now->key_name.len > 0) {
        alter_table(tbl, out);
        mr_buf_append_z(out, " DROP CONSTRAINT ");
        mr_pg_quote_ident(now->key_name, out);
        is_first = false;
        for (size_t i = 0; i < now->key_count; i++) {
            if (is_new_key(tbl, now->key[i]))
                continue;
            mr_buf_append_z(out, ";\n");
            alter_table(tbl, out);
            mr_buf_append_z(out, " ALTER COLUMN ");
            mr_pg_quote_ident(now->key[i], out);
            mr_buf_append_z(out, " DROP NOT NULL");
        }
    }
    if (tbl->key_count == 0)
        return;
    mr_buf_append_z(out, is_first ? "" : ";\n");
    alter_table(tbl, out);
    mr_buf_append_z(out, " ADD PRIMARY KEY (");
    for (size_t i = 0; i < tbl->key_count; i++) {
        mr_buf_append_z(out, i ? ", " : "");
        mr_pg_quote_ident(tbl->columns[tbl->key_columns[i]].name, out);
    }
    mr_buf_append_char(out, ')');
}

/* A table moves to another schema under its own name, and is then renamed there: a name that is taken in the old schema is in nobody's way. */
static void render_rename_table(const struct mr_ddl_step *step, struct mr_buf *out)
{
    bool moves = !mr_str_eq(step->tbl->schema, step->schema);

    alter_table(step->tbl, out);
    if (moves) {
        mr_buf_append_z(out, " SET SCHEMA ");
        mr_pg_quote_ident(step->schema, out);
    }
    if (moves && mr_str_eq(step->tbl->name, step->name))
        return;
    if (moves) {
        mr_buf_append_z(out, ";\nALTER TABLE ");
        mr_pg_quote_table(step->schema, step->tbl->name, out);
    }
    mr_buf_append_z(out, " RENAME TO ");
    mr_pg_quote_ident(step->name, out);
}

/* What the column really is now: the catalog's word counts more than the step's. */
static enum mr_type_kind kind_now(const struct mr_ddl_step *step, const struct mr_catalog_table *now)
{
    struct mr_str name = step->tbl->columns[step->column].name;

    for (size_t i = 0; now && i < now->column_count; i++)
        if (mr_str_eq(now->columns[i].name, name) && now->columns[i].type.kind != MR_T_NONE)
            return now->columns[i].type.kind;
    return step->from.kind;
}

void mr_pg_render(const struct mr_ddl_step *step, const struct mr_catalog_table *now,
                  const struct mr_server *server, struct mr_buf *out)
{
    const struct mr_table *tbl = step->tbl;
    const struct mr_column *col = tbl->column_count ? &tbl->columns[step->column] : NULL;

    (void)server; /* the same text for every version from 13 on */
    switch (step->kind) {
    case MR_DDL_CREATE_SCHEMA:
        mr_buf_append_z(out, "CREATE SCHEMA IF NOT EXISTS ");
        mr_pg_quote_ident(tbl->schema, out);
        return;
    case MR_DDL_CREATE_TABLE:
        render_create_table(tbl, out);
        return;
    case MR_DDL_ADD_COLUMN:
        alter_table(tbl, out);
        mr_buf_append_z(out, " ADD COLUMN IF NOT EXISTS ");
        mr_pg_quote_ident(col->name, out);
        mr_buf_append_char(out, ' ');
        mr_pg_column_type(col, out);
        return;
    case MR_DDL_ALTER_TYPE:
        alter_table(tbl, out);
        mr_buf_append_z(out, " ALTER COLUMN ");
        mr_pg_quote_ident(col->name, out);
        mr_buf_append_z(out, " TYPE ");
        mr_pg_column_type(col, out);
        append_using(kind_now(step, now), col, out);
        return;
    case MR_DDL_REPLACE_KEY:
        render_replace_key(tbl, now, out);
        return;
    case MR_DDL_DROP_COLUMN:
        alter_table(tbl, out);
        mr_buf_append_z(out, " DROP COLUMN IF EXISTS ");
        mr_pg_quote_ident(step->old, out);
        return;
    case MR_DDL_RENAME_COLUMN:
        alter_table(tbl, out);
        mr_buf_append_z(out, " RENAME COLUMN ");
        mr_pg_quote_ident(step->old, out);
        mr_buf_append_z(out, " TO ");
        mr_pg_quote_ident(step->name, out);
        return;
    case MR_DDL_DROP_TABLE:
        mr_buf_append_z(out, "DROP TABLE IF EXISTS ");
        mr_pg_quote_table(tbl->schema, tbl->name, out);
        return;
    case MR_DDL_RENAME_TABLE:
        render_rename_table(step, out);
        return;
    }
}

/* numeric: free as long as no stored value has to be rounded or checked anew. */
static bool decimal_is_free(struct mr_type from, struct mr_type to)
{
    if (to.open || to.precision == 0 || to.precision > 1000)
        return true;
    return !from.open && from.scale >= 0 && from.scale == to.scale && from.precision <= to.precision;
}

static bool alter_is_free(struct mr_type from, struct mr_type to)
{
    if (from.kind != to.kind)
        return false;
    if (from.kind == MR_T_DECIMAL)
        return decimal_is_free(from, to);
    if (from.kind == MR_T_ARRAY)
        return from.element == to.element && alter_is_free(mr_type_element(from), mr_type_element(to));
    if (from.kind == MR_T_BITS)
        return to.precision == 0 || from.precision == to.precision;
    return from.kind == MR_T_TEXT; /* varchar(n) to text; for the rest we do not know what is different */
}

/* A new key counts as a rewrite: it reads the whole table and builds an index under an exclusive lock. */
enum mr_ddl_cost mr_pg_cost(const struct mr_ddl_step *step, const struct mr_server *server)
{
    (void)server;
    switch (step->kind) {
    case MR_DDL_CREATE_SCHEMA:
    case MR_DDL_CREATE_TABLE:
    case MR_DDL_ADD_COLUMN:
    case MR_DDL_DROP_COLUMN:
    case MR_DDL_RENAME_COLUMN:
    case MR_DDL_DROP_TABLE:
    case MR_DDL_RENAME_TABLE:
        return MR_COST_CATALOG;
    case MR_DDL_ALTER_TYPE:
        return alter_is_free(step->from, step->tbl->columns[step->column].type) ? MR_COST_CATALOG : MR_COST_REWRITE;
    case MR_DDL_REPLACE_KEY:
        return step->tbl->key_count > 0 ? MR_COST_REWRITE : MR_COST_CATALOG;
    }
    return MR_COST_REWRITE;
}
