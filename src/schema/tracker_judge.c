/* What happens to a field that the fast path does not settle: new columns, declared types that changed, widenings, conflicts and their
 * policies, values the target cannot hold. Order of the questions: does the schema now declare another type → does the value fit
 * the column → is there a lossless join → what does the field's policy say → can the target hold it. */
#include "tracker_parts.h"

#include <math.h>

#include <millrace/base/decimal.h>
#include <millrace/base/time.h>

#define TYPE_TEXT 32

static bool is_float_kind(uint8_t kind)
{
    return kind == MR_T_FLOAT32 || kind == MR_T_FLOAT64;
}

static bool is_mixed(const struct mr_tk_judge *j)
{
    return j->v.tag == MR_V_ARRAY && mr_value_array(j->v)->is_mixed;
}

static bool is_declared(const struct mr_field *field)
{
    return field->type.kind != MR_T_NONE && field->type.origin == MR_SCHEMA;
}

/* Key columns are never emptied, never split, never turned into something else. */
static enum mr_policy policy_of(const struct mr_tk_judge *j)
{
    enum mr_policy policy = j->col->pub.policy;

    if (j->is_key && policy != MR_POLICY_STRICT && policy != MR_POLICY_FAIL)
        return MR_POLICY_WIDEN;
    return policy;
}

/* A number under a type that says float or double is a float, written with whatever digits. */
static bool is_trusted_float(const struct mr_tk_judge *j, struct mr_type have)
{
    double f;

    if (!is_float_kind(j->field->type.kind) || !is_float_kind(have.kind))
        return false;
    if (j->v.tag == MR_V_INT)
        return mr_type_accepts(have, mr_value_float((double)j->v.i)) && j->v.i < INT64_MAX - 1023 &&
               (int64_t)(double)j->v.i == j->v.i;
    return j->v.tag == MR_V_NUMBER && mr_decimal_shows_double(mr_value_str(j->v)) &&
           mr_parse_double(mr_value_str(j->v), &f) && isfinite(f) && mr_type_accepts(have, mr_value_float(f));
}

static bool fits(const struct mr_tk_judge *j)
{
    struct mr_type have = j->col->pub.type;

    if (mr_type_accepts(have, j->v) || is_trusted_float(j, have))
        return true;
    if (j->is_key || j->col->pub.configured)
        return false;
    if (have.kind == MR_T_TEXT) /* it holds the text of everything, once a policy or the source has said so */
        return policy_of(j) == MR_POLICY_TEXT || (have.origin == MR_SCHEMA && is_declared(j->field));
    return have.kind == MR_T_JSON && policy_of(j) == MR_POLICY_JSON;
}

/* The type that a value alone needs: TIME outside the day is a duration. */
static struct mr_type plain_type(struct mr_value v)
{
    struct mr_type type = mr_value_type(v);

    if (v.tag == MR_V_TIME && (v.i < 0 || v.i > MR_US_PER_DAY))
        type.kind = MR_T_DURATION;
    return type;
}

/* The smallest type for this field: what is declared or carried along, and wider where the value goes beyond it. */
static struct mr_type needed_type(const struct mr_tk_judge *j)
{
    struct mr_type said = mr_tk_normal(j->field->type), shown, joined;

    if (said.kind == MR_T_NONE)
        return mr_tk_normal(plain_type(j->v));
    if (j->v.tag <= MR_V_NULL || j->v.tag == MR_V_INVALID || mr_type_accepts(said, j->v) || is_trusted_float(j, said))
        return said;
    shown = mr_tk_normal(plain_type(j->v));
    struct mr_facts facts = mr_facts_of(j->v);
    return mr_type_join(said, shown, &facts, &joined) ? joined : shown;
}

static bool may_alter(const struct mr_tk_judge *j, struct mr_type to)
{
    bool is_ruled_out = j->tk->cfg->evolve == MR_EVOLVE_ADD || j->col->alter_refused != NULL;
    return !is_ruled_out || !mr_tk_needs_alter(j->tk, j->col, to);
}

static bool is_fixed(const struct mr_tk_column *col)
{
    return col->pub.configured || col->pub.by_hand || col->unwritable;
}

/* ---- A declared type that differs from the last one ---- */

static enum mr_verdict source_changed(struct mr_tk_judge *j, struct mr_type declared)
{
    struct mr_type text = MR_TYPE(MR_T_TEXT);

    text.origin = MR_SCHEMA;
    if (j->col->pub.type.origin != MR_SCHEMA || policy_of(j) == MR_POLICY_STRICT || !may_alter(j, text)) {
        j->col->seen = declared;
        return MR_VERDICT_OK; /* no more than a conflict of the value, if it is one */
    }
    if (j->is_key) {
        j->col->pub.conflicts++;
        j->col->pub.dirty = true;
        mr_tk_tell_misfit(j, declared, MR_TK_CONFLICT, MR_CODE_TYPE_CONFLICT);
        return MR_VERDICT_DEAD;
    }
    /* Once policy json has made it JSON, it holds whatever the source declares. */
    bool is_json = j->col->pub.type.kind == MR_T_JSON && policy_of(j) == MR_POLICY_JSON;
    if (j->col->pub.type.kind != MR_T_TEXT && !is_json)
        mr_tk_set_type(j->tk, j->index, text);
    j->col->seen = declared;
    return MR_VERDICT_OK;
}

/* The column follows what the schema declares: to the join, or to text where there is none. */
static enum mr_verdict follow_declared(struct mr_tk_judge *j)
{
    struct mr_type declared = j->field->type, joined;
    struct mr_tk_column *col = j->col;

    if (is_fixed(col)) {
        col->seen = declared;
        return MR_VERDICT_OK;
    }
    if (!mr_type_join(col->pub.type, mr_tk_normal(declared), &col->pub.facts, &joined)) {
        /* Numbers conflict only over NaN and infinities: the column stays as it is, its values decide one by one. */
        if (!mr_type_is_numeric(col->pub.type) || !mr_type_is_numeric(declared))
            return source_changed(j, declared);
    } else if (mr_type_eq(joined, col->pub.type)) {
        if (joined.origin != col->pub.type.origin)
            mr_tk_set_type(j->tk, j->index, joined);
    } else if (policy_of(j) != MR_POLICY_STRICT && may_alter(j, joined)) {
        mr_tk_set_type(j->tk, j->index, joined);
    }
    col->seen = declared;
    return MR_VERDICT_OK;
}

/* ---- Policies ---- */

static enum mr_verdict left_out(struct mr_tk_judge *j, uint32_t *column, struct mr_value *value)
{
    mr_tk_undo_to(j->tk, j->mark);
    *column = j->index;
    *value = mr_value_null();
    return MR_VERDICT_NULLED;
}

/* One column a kind: wide enough for every value of it, so that it needs no further widening. */
static struct mr_type variant_type(struct mr_type type)
{
    struct mr_type wide = MR_TYPE(type.kind);

    if (type.kind == MR_T_ARRAY)
        return mr_type_array_of(variant_type(mr_type_element(type)));
    if (mr_type_is_integer(type))
        wide.kind = MR_T_INT64;
    else if (is_float_kind(type.kind))
        wide.kind = MR_T_FLOAT64;
    else if (type.kind == MR_T_DECIMAL)
        wide.open = true;
    else if (type.kind == MR_T_TIME)
        wide.kind = MR_T_DURATION;
    wide.origin = type.origin;
    return wide;
}

static size_t max_columns(const struct mr_tracker *tk)
{
    size_t max = tk->dialect->max_columns;

    return max > 0 && max < MR_TABLE_MAX_COLUMNS ? max : MR_TABLE_MAX_COLUMNS;
}

/* May the table keep the column that has just been added? One that the target has already needs nothing. Those that are none of ours count, and in
 * PostgreSQL those that have been dropped. */
static bool may_keep_new(struct mr_tk_judge *j, uint32_t column, struct mr_tk_mark before)
{
    struct mr_tracker *tk = j->tk;

    if (tk->columns[column]->in_catalog)
        return true;
    const char *why_z = mr_tk_refused_new(tk, tk->columns[column]->pub.path);
    bool has_room = tk->catalog_width + tk->count - tk->catalog_ours <= max_columns(tk);
    if (!why_z && has_room)
        return true;
    mr_tk_undo_to(tk, before);
    if (why_z)
        mr_tk_tell_no_column(j, why_z);
    else
        mr_tk_tell_too_many(j, max_columns(tk));
    return false;
}

/* The value goes to `name__type`. */
static enum mr_verdict to_variant(struct mr_tk_judge *j, struct mr_type needed)
{
    struct mr_tracker *tk = j->tk;
    struct mr_type type = variant_type(needed);
    char text[TYPE_TEXT];

    if (is_mixed(j))
        j->v = mr_value_json_of_array(j->v);
    mr_type_text(type, text);
    struct mr_str path = mr_arena_printf(j->ar, "%.*s" MR_VARIANT_MARK "%s", MR_STR_FMT(j->field->path), text);
    int found = mr_tk_find(tk, path);
    if (found < 0) {
        size_t scalar = strcspn(text, "[");
        struct mr_str wanted = mr_arena_printf(j->ar, "%.*s__%.*s%s", MR_STR_FMT(j->col->pub.name), (int)scalar, text,
                                               text[scalar] ? "_array" : "");
        struct mr_tk_mark before = mr_tk_mark(tk);
        found = (int)mr_tk_add_column(tk, path, wanted, type, false);
        if (!may_keep_new(j, (uint32_t)found, before))
            return MR_VERDICT_DEAD;
    }
    const struct mr_tk_column *col = tk->columns[found];
    if (col->unwritable || !(mr_type_accepts(col->pub.type, j->v) || is_trusted_float(j, col->pub.type))) {
        mr_tk_tell_misfit(j, needed, MR_TK_BY_HAND, MR_CODE_TYPE_CONFLICT);
        return MR_VERDICT_DEAD;
    }
    j->target = (uint32_t)found;
    return MR_VERDICT_OK;
}

static enum mr_verdict convert_column(struct mr_tk_judge *j, struct mr_type needed, enum mr_type_kind kind,
                                      enum mr_tk_reason reason, const char *code)
{
    struct mr_type to = MR_TYPE(kind);

    to.origin = j->col->pub.type.origin;
    if (is_fixed(j->col)) {
        mr_tk_tell_misfit(j, needed, reason, code);
        return MR_VERDICT_DEAD;
    }
    if (!may_alter(j, to)) {
        mr_tk_tell_misfit(j, needed, MR_TK_EVOLVE, code);
        return MR_VERDICT_DEAD;
    }
    mr_tk_set_type(j->tk, j->index, to);
    return MR_VERDICT_OK;
}

/* A value that neither fits nor widens the column. OK: the policy found a place for it (j->target). */
static enum mr_verdict misfit(struct mr_tk_judge *j, struct mr_type needed, enum mr_tk_reason reason,
                              const char *code)
{
    j->col->pub.conflicts++;
    j->col->pub.dirty = true;

    switch (policy_of(j)) {
    case MR_POLICY_TEXT:
        return convert_column(j, needed, MR_T_TEXT, reason, code);
    case MR_POLICY_JSON:
        return convert_column(j, needed, MR_T_JSON, reason, code);
    case MR_POLICY_VARIANT:
        return to_variant(j, needed);
    case MR_POLICY_NULL:
        mr_tk_tell_misfit(j, needed, reason, code);
        return MR_VERDICT_NULLED;
    case MR_POLICY_FAIL:
        mr_tk_tell_misfit(j, needed, reason, code);
        mr_tk_tell_place(j);
        return MR_VERDICT_FAIL;
    case MR_POLICY_UNSET:
    case MR_POLICY_WIDEN:
    case MR_POLICY_STRICT:
        break;
    }
    mr_tk_tell_misfit(j, needed, reason, code);
    return MR_VERDICT_DEAD;
}

/* ---- The value ---- */

/* A float column that has held NaN or an infinity stays what it is; other numbers join it while doubles hold them exactly. */
static bool fits_special_float(const struct mr_tk_judge *j, const struct mr_facts *facts)
{
    return j->col->pub.type.kind == MR_T_FLOAT64 && facts->has_special && j->v.tag == MR_V_NUMBER &&
           mr_decimal_shows_double(mr_value_str(j->v));
}

static enum mr_tk_reason reason_of(const struct mr_tk_column *col)
{
    if (col->unwritable)
        return MR_TK_UNWRITABLE;
    return col->pub.configured ? MR_TK_CONFIGURED : MR_TK_BY_HAND;
}

static bool is_bare_array(struct mr_type type)
{
    return type.kind == MR_T_ARRAY && type.element == MR_T_NONE;
}

static enum mr_verdict widen(struct mr_tk_judge *j)
{
    struct mr_tk_column *col = j->col;
    struct mr_type needed = needed_type(j), joined;
    struct mr_facts facts = mr_facts_of(j->v);

    if (is_fixed(col))
        return misfit(j, needed, reason_of(col), MR_CODE_TYPE_CONFLICT);
    mr_facts_add(&facts, &col->pub.facts);
    if (fits_special_float(j, &facts))
        return MR_VERDICT_OK;
    if (!mr_type_join(col->pub.type, needed, &facts, &joined) || mr_type_eq(joined, col->pub.type))
        return misfit(j, needed, MR_TK_CONFLICT, MR_CODE_TYPE_CONFLICT);
    if (policy_of(j) == MR_POLICY_STRICT && !is_bare_array(col->pub.type)) /* which has no first type yet */
        return misfit(j, needed, MR_TK_STRICT, MR_CODE_TYPE_CONFLICT);
    if (!may_alter(j, joined))
        return misfit(j, needed, MR_TK_EVOLVE, MR_CODE_TYPE_CONFLICT);
    mr_tk_set_type(j->tk, j->index, joined);
    return MR_VERDICT_OK;
}

/* A configured column takes what its type can be made of, and keeps its type. */
static enum mr_verdict configured(struct mr_tk_judge *j)
{
    struct mr_error why = {0};
    struct mr_value converted;

    if (mr_type_accepts(j->col->pub.type, j->v))
        return MR_VERDICT_OK;
    if (!j->col->unwritable && mr_configured_convert(j->v, j->col->pub.type, j->ar, &converted, &why) == MR_OK) {
        j->v = converted;
        return MR_VERDICT_OK;
    }
    bool out_of_range = strcmp(why.code, MR_CODE_OUT_OF_RANGE) == 0;
    return misfit(j, needed_type(j), reason_of(j->col), out_of_range ? MR_CODE_OUT_OF_RANGE : MR_CODE_TYPE_CONFLICT);
}

static enum mr_status ask_target(struct mr_tk_judge *j, const struct mr_tk_column *col)
{
    struct mr_value coerced = j->v;
    struct mr_type type = mr_tk_target(j->tk, col->pub.type);
    bool is_key = j->is_key && j->target == j->index;

    if (j->v.tag != mr_type_tag((enum mr_type_kind)type.kind) || type.kind == MR_T_ARRAY)
        MR_TRY(mr_value_coerce(j->v, type, j->ar, &coerced, j->err));
    return j->tk->dialect->holds(type, is_key, coerced, j->err);
}

static bool target_holds(struct mr_tk_judge *j)
{
    const struct mr_tk_column *col = j->tk->columns[j->target];
    enum mr_text_invalid mode = j->tk->cfg->text_invalid;

    if (ask_target(j, col) == MR_OK)
        return true;
    bool has_text = j->v.tag == MR_V_TEXT || j->v.tag == MR_V_JSON || j->v.tag == MR_V_ARRAY;
    if (!has_text || j->v.flags == 0 || mode == MR_TEXT_DEAD_LETTER)
        return false;
    j->v = mr_text_repair(j->v, mode == MR_TEXT_REPLACE, j->ar);
    return ask_target(j, col) == MR_OK;
}

/* JSON for a column that is an array (made under another unwrap.array.encoding, there before, or configured): its elements, where they are
 * that column's. */
static void read_as_array(struct mr_tk_judge *j)
{
    struct mr_type have = j->col->pub.type;
    struct mr_value array;

    if (have.kind == MR_T_ARRAY && j->v.tag == MR_V_JSON && !j->is_key && mr_array_of_json(j->v, have, j->ar, &array) &&
        mr_type_accepts(have, array))
        j->v = array;
}

static enum mr_verdict judge_value(struct mr_tk_judge *j, uint32_t *column, int *nulled, struct mr_value *value)
{
    enum mr_verdict verdict = MR_VERDICT_OK;

    j->target = j->index;
    j->mark = mr_tk_mark(j->tk);
    read_as_array(j);
    if (j->col->pub.configured)
        verdict = configured(j);
    else if (is_mixed(j) && (j->col->unwritable || !fits(j)))
        verdict = misfit(j, MR_TYPE(MR_T_JSON), MR_TK_CONFLICT, MR_CODE_MIXED_ARRAY);
    else if (j->col->unwritable || !fits(j))
        verdict = widen(j);
    if (verdict == MR_VERDICT_NULLED)
        return left_out(j, column, value);
    if (verdict != MR_VERDICT_OK)
        return verdict;

    if (!target_holds(j)) {
        j->col->pub.conflicts++;
        j->col->pub.dirty = true;
        mr_tk_tell_refused(j);
        return policy_of(j) == MR_POLICY_NULL ? left_out(j, column, value) : MR_VERDICT_DEAD;
    }
    struct mr_facts facts = mr_facts_of(j->v);
    mr_tk_learn(j->tk, j->target, &facts);
    mr_tk_count(j->tk, j->target, mr_tk_shown(j->field));
    if (j->target != j->index)
        *nulled = (int)j->index;
    *column = j->target;
    *value = j->v;
    return MR_VERDICT_OK;
}

static enum mr_verdict judge_invalid(struct mr_tk_judge *j, uint32_t *column, struct mr_value *value)
{
    j->mark = mr_tk_mark(j->tk);
    j->col->pub.conflicts++;
    j->col->pub.dirty = true;
    mr_tk_tell_invalid(j);
    return policy_of(j) == MR_POLICY_NULL ? left_out(j, column, value) : MR_VERDICT_DEAD;
}

/* ---- A path without a column ---- */

static enum mr_policy policy_of_path(const struct mr_tk_judge *j, struct mr_type *configured_type)
{
    const struct mr_tracker *tk = j->tk;
    enum mr_policy policy = MR_POLICY_UNSET;

    *configured_type = MR_TYPE(MR_T_NONE);
    mr_config_column(tk->cfg, tk->database, tk->table, j->field->path, configured_type, &policy);
    return policy != MR_POLICY_UNSET ? policy : tk->settings.policy;
}

/* The first type of a column. Integers that only a value's own type tells are int64: the width of such values flaps. */
static struct mr_type first_type(const struct mr_tk_judge *j)
{
    struct mr_type type = needed_type(j);

    if (is_mixed(j)) /* what is to become of it is the policy's matter; the array's own elements give no type */
        return mr_type_array_of(MR_TYPE(MR_T_NONE));
    if (mr_type_is_integer(type) && type.origin != MR_SCHEMA)
        type.kind = MR_T_INT64;
    return type;
}

/* OK: the column exists now (j->col). */
static enum mr_verdict make_column(struct mr_tk_judge *j)
{
    struct mr_tracker *tk = j->tk;
    struct mr_type configured_type;
    enum mr_policy policy = policy_of_path(j, &configured_type);
    bool is_known = configured_type.kind != MR_T_NONE || j->field->type.kind != MR_T_NONE;

    switch (j->v.tag) {
    case MR_V_ABSENT:
    case MR_V_UNAVAILABLE:
        return MR_VERDICT_SKIP;
    case MR_V_NULL:
        if (j->is_key) {
            mr_tk_tell_null_key(j);
            return MR_VERDICT_DEAD;
        }
        if (configured_type.kind == MR_T_NONE && !is_declared(j->field))
            return MR_VERDICT_SKIP;
        break;
    case MR_V_INVALID:
        if (policy != MR_POLICY_NULL || j->is_key || !is_known) {
            mr_tk_tell_invalid(j);
            return MR_VERDICT_DEAD;
        }
        break;
    default:
        break;
    }
    if (j->field->path.len > MR_MAX_PATH) {
        mr_tk_tell_long_path(j);
        return MR_VERDICT_DEAD;
    }
    struct mr_str delimiter = mr_str_z(tk->cfg->flatten_delimiter);
    struct mr_str wanted = mr_path_adjusted_name(j->field->path, delimiter, tk->cfg->field_names, j->ar);
    struct mr_tk_mark before = mr_tk_mark(tk);
    j->index = mr_tk_add_column(tk, j->field->path, wanted, first_type(j), j->is_key);
    if (!may_keep_new(j, j->index, before))
        return MR_VERDICT_DEAD;
    j->col = tk->columns[j->index];
    j->is_key |= j->col->pub.is_key;
    return MR_VERDICT_OK;
}

enum mr_verdict mr_tk_judge(struct mr_tk_judge *j, uint32_t *column, int *nulled, struct mr_value *value)
{
    enum mr_verdict verdict = MR_VERDICT_OK;
    struct mr_field plain;

    if (j->is_key && (j->v.tag == MR_V_ARRAY || j->field->type.kind == MR_T_ARRAY)) { /* no target compares keys of arrays alike */
        plain = *j->field;
        plain.type = MR_TYPE(MR_T_JSON);
        plain.type.origin = j->field->type.origin;
        if (j->v.tag == MR_V_ARRAY)
            plain.value = j->v = mr_value_json_of_array(j->v);
        j->field = &plain;
    }
    if (!j->col)
        verdict = make_column(j);
    if (verdict == MR_VERDICT_OK && is_declared(j->field) && !mr_type_eq(j->field->type, j->col->seen))
        verdict = follow_declared(j);
    if (verdict != MR_VERDICT_OK)
        return verdict;

    switch (j->v.tag) {
    case MR_V_NULL:
        if (j->is_key) {
            mr_tk_tell_null_key(j);
            return MR_VERDICT_DEAD;
        }
        mr_tk_count(j->tk, j->index, MR_T_NONE);
        *column = j->index;
        *value = j->v;
        return MR_VERDICT_OK;
    case MR_V_ABSENT:
    case MR_V_UNAVAILABLE:
        *column = j->index;
        *value = j->v;
        return MR_VERDICT_OK;
    case MR_V_INVALID:
        return judge_invalid(j, column, value);
    default:
        return judge_value(j, column, nulled, value);
    }
}
