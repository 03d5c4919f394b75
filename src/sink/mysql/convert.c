/* A change of type. Where the server's own conversion gives what we would have written (an integer that gets wider, a text that gets longer) one
 * MODIFY does it. Elsewhere (a DATETIME that becomes text has a T in the middle) the values go through an expression: a second column is added,
 * filled, and takes the place of the first in one statement. Ended anywhere between, the next attempt goes through the same steps again. */
#include "convert.h"

#include <millrace/base/hash.h>

#include "native.h"

#define SHADOW_PREFIX "millrace_new_"

void mr_my_shadow_name(struct mr_str column, struct mr_buf *out)
{
    char hex[9];
    mr_hash_hex8(column, hex);
    mr_buf_append_z(out, SHADOW_PREFIX);
    mr_buf_append_z(out, hex);
}

static const struct mr_catalog_column *find_column(const struct mr_catalog_table *now, struct mr_str name)
{
    for (size_t i = 0; now && i < now->column_count; i++)
        if (mr_str_eq(now->columns[i].name, name))
            return &now->columns[i];
    return NULL;
}

/* What the column is made of now; without a catalog (nothing of that name) a type of ours. */
static struct mr_my_native native_now(const struct mr_ddl_step *step, const struct mr_catalog_table *now)
{
    const struct mr_column *col = &step->tbl->columns[step->column];
    const struct mr_catalog_column *have = find_column(now, col->name);
    struct mr_column before = {.type = step->from, .is_key = col->is_key};
    struct mr_buf text = MR_BUF_INIT(256);

    if (have)
        return mr_my_native_parse(have->native);
    mr_my_column_type(&before, &text);
    struct mr_my_native nat = mr_my_native_parse(mr_buf_str(&text));
    mr_buf_free(&text);
    return nat;
}

/* Append `pattern` with every `$` replaced by the quoted column. */
static void append_pattern(const char *pattern, struct mr_str column, struct mr_buf *out)
{
    for (const char *at = pattern; *at; at++) {
        if (*at == '$')
            mr_my_quote_ident(column, out);
        else
            mr_buf_append_char(out, *at);
    }
}

#define WITHOUT_ZEROS(value) "TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM " value "))"
/* Of a small number that the server writes without exponent: what stands behind the point, and that without the zeros before it. */
#define SMALL_FRACTION "SUBSTRING_INDEX(CAST(ABS($) AS CHAR), '.', -1)"
#define SMALL_DIGITS "TRIM(LEADING '0' FROM " SMALL_FRACTION ")"
#define WHOLE_SECONDS "TRIM(TRAILING '.000000' FROM CAST($ AS CHAR))"

/* The canonical text (mr_value_append_text) of a column as an SQL expression; NULL where the server's own is the same. */
static const char *text_pattern(const struct mr_my_native *nat)
{
    struct mr_type type = {0};

    switch (nat->base) {
    case MR_MY_TINYINT:
        return nat->arg_count == 1 && nat->args[0] == 1 ? "CASE WHEN $ IS NULL THEN NULL WHEN $ THEN 'true' ELSE 'false' END" : NULL;
    case MR_MY_DECIMAL: /* in the widest of all the zeros are the column's, not the value's */
        type = MR_TYPE_DECIMAL((uint16_t)nat->args[0], (int16_t)(nat->arg_count > 1 ? nat->args[1] : 0));
        return type.precision == MR_MY_MAX_DIGITS && type.scale == MR_MY_MAX_SCALE ? WITHOUT_ZEROS("$") : NULL;
    case MR_MY_FLOAT:
    case MR_MY_DOUBLE: /* plain digits where mr_double_text writes them, else its form of the exponent */
        return "CASE WHEN ABS($) >= 1e-6 AND ABS($) < 1e21 THEN " WITHOUT_ZEROS("CAST($ AS DECIMAL(65,30))")
               " WHEN $ = 0 OR LOCATE('e', CAST($ AS CHAR)) > 0 THEN CAST($ AS CHAR)"
               " ELSE CONCAT(IF($ < 0, '-', ''), LEFT(" SMALL_DIGITS ", 1), IF(CHAR_LENGTH(" SMALL_DIGITS ") > 1, '.', ''), SUBSTRING("
               SMALL_DIGITS ", 2), 'e-', CHAR_LENGTH(" SMALL_FRACTION ") - CHAR_LENGTH(" SMALL_DIGITS ") + 1) END";
    case MR_MY_BINARY:
    case MR_MY_VARBINARY:
    case MR_MY_BLOB:
        return "REPLACE(TO_BASE64($), CHAR(10), '')";
    case MR_MY_TIME:
        return WHOLE_SECONDS;
    case MR_MY_DATETIME:
        return nat->is_utc ? "CONCAT(REPLACE(" WHOLE_SECONDS ", ' ', 'T'), 'Z')" : "REPLACE(" WHOLE_SECONDS ", ' ', 'T')";
    case MR_MY_TIMESTAMP:
        return "CONCAT(REPLACE(" WHOLE_SECONDS ", ' ', 'T'), 'Z')";
    case MR_MY_OTHER:
    case MR_MY_SMALLINT:
    case MR_MY_MEDIUMINT:
    case MR_MY_INT:
    case MR_MY_BIGINT:
    case MR_MY_CHAR:
    case MR_MY_VARCHAR:
    case MR_MY_TEXT:
    case MR_MY_ENUM:
    case MR_MY_DATE:
    case MR_MY_YEAR:
    case MR_MY_BIT:
    case MR_MY_JSON:
    case MR_MY_UUID:
        break;
    }
    return NULL;
}

static void text_of(const struct mr_my_native *nat, struct mr_str column, struct mr_buf *out)
{
    const char *pattern = text_pattern(nat);

    if (nat->base != MR_MY_BIT) {
        append_pattern(pattern ? pattern : "CAST($ AS CHAR)", column, out);
        return;
    }
    append_pattern("LPAD(BIN($ + 0), ", column, out);
    mr_buf_printf(out, "%u, '0')", nat->arg_count > 0 ? nat->args[0] : 1);
}

static bool is_number(const struct mr_my_native *nat)
{
    return mr_my_is_integer(nat) || nat->base == MR_MY_DECIMAL || nat->base == MR_MY_FLOAT || nat->base == MR_MY_DOUBLE ||
           nat->base == MR_MY_YEAR;
}

static void json_of(const struct mr_my_native *nat, struct mr_str column, bool is_mariadb, struct mr_buf *out)
{
    if (!is_mariadb)
        mr_buf_append_z(out, "CAST(");
    if (is_number(nat)) { /* a number of its own, not one that a JSON reader has made of digits */
        if (is_mariadb || nat->base == MR_MY_TINYINT)
            text_of(nat, column, out);
        else
            mr_my_quote_ident(column, out);
    } else {
        mr_buf_append_z(out, "JSON_QUOTE(");
        text_of(nat, column, out);
        mr_buf_append_char(out, ')');
    }
    if (!is_mariadb)
        mr_buf_append_z(out, " AS JSON)");
}

/* The DECIMAL that holds what is wanted and what is there. False if there is none so wide: the column becomes text then, which loses nothing. */
static bool merge_decimals(const struct mr_my_native *nat, struct mr_type wanted, struct mr_type *merged)
{
    struct mr_type made = mr_my_decimal(wanted);
    int scale = nat->arg_count > 1 ? (int)nat->args[1] : 0, whole = (int)nat->args[0] - scale;

    if (whole < made.precision - made.scale)
        whole = made.precision - made.scale;
    if (scale < made.scale)
        scale = made.scale;
    *merged = MR_TYPE_DECIMAL((uint16_t)(whole + scale), (int16_t)scale);
    return whole + scale <= MR_MY_MAX_DIGITS;
}

static bool wants_text(const struct mr_column *col, const struct mr_my_native *nat)
{
    return col->type.kind == MR_T_TEXT || col->type.kind == MR_T_NONE || (col->type.kind == MR_T_BITS && nat->base == MR_MY_BIT);
}

/* Is it the text of the values that is wanted, or their JSON, and not what MODIFY makes of them? */
bool mr_my_needs_shadow(const struct mr_ddl_step *step, const struct mr_catalog_table *now)
{
    const struct mr_column *col = &step->tbl->columns[step->column];
    struct mr_my_native nat = native_now(step, now);

    if (col->is_key || step->wider)
        return false;
    if (col->type.kind == MR_T_JSON)
        return nat.base != MR_MY_JSON;
    return wants_text(col, &nat) && (text_pattern(&nat) || nat.base == MR_MY_BIT);
}

bool mr_my_makes_decimals_of_doubles(const struct mr_ddl_step *step, const struct mr_catalog_table *now)
{
    struct mr_my_native nat = native_now(step, now);
    return (nat.base == MR_MY_DOUBLE || nat.base == MR_MY_FLOAT) && step->tbl->columns[step->column].type.kind == MR_T_DECIMAL;
}

void mr_my_find_lossy_double(const struct mr_ddl_step *step, struct mr_buf *out)
{
    struct mr_str column = step->tbl->columns[step->column].name;

    mr_buf_append_z(out, "SELECT 1 FROM ");
    mr_my_quote_table(step->tbl->schema, step->tbl->name, out);
    append_pattern(" WHERE $ IS NOT NULL AND CAST(CAST($ AS DECIMAL(65,30)) AS DOUBLE) <> $ LIMIT 1", column, out);
}

/* The column before it, so that the new one takes its place. */
static void append_place(const struct mr_catalog_table *now, struct mr_str column, struct mr_buf *out)
{
    for (size_t i = 0; now && i < now->column_count; i++) {
        if (!mr_str_eq(now->columns[i].name, column))
            continue;
        mr_buf_append_z(out, i ? " AFTER " : " FIRST");
        if (i)
            mr_my_quote_ident(now->columns[i - 1].name, out);
        return;
    }
}

static void text_type(bool is_key, const struct mr_server *server, struct mr_buf *out)
{
    mr_buf_append_z(out, is_key ? "VARCHAR(80)" : "LONGTEXT");
    mr_buf_append_z(out, " CHARACTER SET utf8mb4 COLLATE ");
    mr_buf_append_z(out, mr_my_collation(server));
    mr_buf_append_z(out, is_key ? " NOT NULL" : "");
}

/* One change of type. */
struct alter {
    const struct mr_ddl_step *step;
    const struct mr_catalog_table *now;
    const struct mr_server *server;
    struct mr_buf *out;
    const struct mr_column *col;
    struct mr_my_native nat;
    bool to_text; /* instead of what the step says */
};

static void wanted_type(const struct alter *a)
{
    if (a->to_text)
        text_type(false, a->server, a->out);
    else
        mr_my_type_in_table(a->step->tbl, a->step->column, a->now, mr_my_collation(a->server), a->out);
}

static void render_shadow(const struct alter *a)
{
    const struct mr_table *tbl = a->step->tbl;
    struct mr_buf *out = a->out, shadow = MR_BUF_INIT(256);

    mr_my_shadow_name(a->col->name, &shadow);
    if (!find_column(a->now, mr_buf_str(&shadow))) {
        mr_my_alter_table(tbl, out);
        mr_buf_append_z(out, " ADD COLUMN ");
        mr_my_quote_ident(mr_buf_str(&shadow), out);
        mr_buf_append_char(out, ' ');
        wanted_type(a);
        mr_my_algorithm("INSTANT", out);
        mr_buf_append_z(out, ";\n");
    }
    mr_buf_append_z(out, "UPDATE ");
    mr_my_quote_table(tbl->schema, tbl->name, out);
    mr_buf_append_z(out, " SET ");
    mr_my_quote_ident(mr_buf_str(&shadow), out);
    mr_buf_append_z(out, " = ");
    if (a->col->type.kind == MR_T_JSON)
        json_of(&a->nat, a->col->name, mr_my_is_mariadb(a->server), out);
    else
        text_of(&a->nat, a->col->name, out);
    for (size_t i = 0; a->now && i < a->now->column_count; i++) {
        if (!a->now->columns[i].follows) /* ON UPDATE is for changes of the row's values, and these are none */
            continue;
        mr_buf_append_z(out, ", ");
        mr_my_quote_ident(a->now->columns[i].name, out);
        mr_buf_append_z(out, " = ");
        mr_my_quote_ident(a->now->columns[i].name, out);
    }
    mr_buf_append_z(out, ";\n");
    mr_my_alter_table(tbl, out);
    mr_buf_append_z(out, " DROP COLUMN ");
    mr_my_quote_ident(a->col->name, out);
    mr_buf_append_z(out, ", CHANGE COLUMN ");
    mr_my_quote_ident(mr_buf_str(&shadow), out);
    mr_buf_append_char(out, ' ');
    mr_my_quote_ident(a->col->name, out);
    mr_buf_append_char(out, ' ');
    wanted_type(a);
    append_place(a->now, a->col->name, out);
    mr_my_algorithm("COPY", out);
    mr_buf_free(&shadow);
}

static void wider_decimal(const struct alter *a)
{
    struct mr_type merged;

    if (merge_decimals(&a->nat, a->col->type, &merged)) {
        mr_buf_printf(a->out, "DECIMAL(%u,%d)", (unsigned)merged.precision, (int)merged.scale);
        mr_buf_append_z(a->out, a->col->is_key ? " NOT NULL" : "");
    } else {
        text_type(a->col->is_key, a->server, a->out);
    }
}

/* What the column is beside its type. A counter counts in whole numbers alone. */
static void kept_clauses(const struct alter *a, size_t from)
{
    const struct mr_catalog_column *have = find_column(a->now, a->col->name);
    struct mr_my_native made = mr_my_native_parse(mr_str_of(a->out->data + from, a->out->len - from));
    bool is_lob = made.base == MR_MY_TEXT || made.base == MR_MY_BLOB || made.base == MR_MY_JSON;

    if (!have)
        return;
    if (!have->nullable && !a->col->is_key)
        mr_buf_append_z(a->out, " NOT NULL");
    if (have->counts_up && mr_my_is_integer(&made))
        mr_buf_append_z(a->out, " AUTO_INCREMENT");
    mr_buf_append_str(a->out, is_lob ? have->kept_lob : have->kept);
}

/* A text that only gets longer keeps its collation, unless that is one of another character set, which would have no place for what may come. */
static void modified_type(const struct alter *a)
{
    const struct mr_catalog_column *have = find_column(a->now, a->col->name);
    const char *collation_z = mr_my_collation(a->server);
    struct mr_buf own = MR_BUF_INIT(256);

    if (a->nat.base == MR_MY_DECIMAL && a->col->type.kind == MR_T_DECIMAL) {
        wider_decimal(a);
    } else if (a->step->wider && have && mr_str_starts(have->collation, MR_STR("utf8mb4_"))) {
        mr_my_type_in_table(a->step->tbl, a->step->column, a->now, NULL, &own);
        struct mr_str type = mr_buf_str(&own);
        bool is_key = mr_str_ends(type, MR_STR(" NOT NULL"));
        mr_buf_append_str(a->out, is_key ? mr_str_of(type.ptr, type.len - strlen(" NOT NULL")) : type);
        mr_buf_append_z(a->out, " COLLATE ");
        mr_buf_append_str(a->out, have->collation);
        mr_buf_append_z(a->out, is_key ? " NOT NULL" : "");
    } else {
        mr_my_type_in_table(a->step->tbl, a->step->column, a->now, collation_z, a->out);
    }
    mr_buf_free(&own);
}

static void render_modify(const struct alter *a)
{
    bool is_free = mr_my_cost(a->step, a->server) == MR_COST_CATALOG;

    mr_my_alter_table(a->step->tbl, a->out);
    mr_buf_append_z(a->out, " MODIFY COLUMN ");
    mr_my_quote_ident(a->col->name, a->out);
    mr_buf_append_char(a->out, ' ');
    size_t from = a->out->len;
    modified_type(a);
    kept_clauses(a, from);
    mr_my_algorithm(!is_free ? "COPY" : mr_my_is_mariadb(a->server) ? "INSTANT" : "INPLACE", a->out);
}

static struct alter alter_of(const struct mr_ddl_step *step, const struct mr_catalog_table *now, const struct mr_server *server,
                             struct mr_buf *out)
{
    return (struct alter){.step = step, .now = now, .server = server, .out = out, .col = &step->tbl->columns[step->column],
                          .nat = native_now(step, now)};
}

void mr_my_render_alter(const struct mr_ddl_step *step, const struct mr_catalog_table *now, const struct mr_server *server,
                        struct mr_buf *out)
{
    struct alter a = alter_of(step, now, server, out);

    if (mr_my_needs_shadow(step, now))
        render_shadow(&a);
    else
        render_modify(&a);
}

void mr_my_render_alter_to_text(const struct mr_ddl_step *step, const struct mr_catalog_table *now, const struct mr_server *server,
                                struct mr_buf *out)
{
    struct alter a = alter_of(step, now, server, out);

    a.to_text = true;
    render_shadow(&a);
}
