/* One row's passage: the fast path for fields that fit as they are, and the journal that lets a refused row leave no trace.
 *
 * The fast path runs for every field of every event. It finds the column at the place where the field stood last time (one compare of
 * the path) and judges by a switch over the value's tag; it settles only values that every target can hold in a column of that type.
 * All others go to tracker_judge.c. */
#include "tracker_parts.h"

#include <math.h>

#include <millrace/base/decimal.h>
#include <millrace/base/mem.h>
#include <millrace/base/time.h>

#include "facts.h"

#define MAX_HINTS 8192
#define EXACT_DIGITS 15               /* every number of so many digits is a double's */
#define SAFE_DIGITS 30                /* decimals up to here fit every target's widest type */
#define DAY_0001 INT64_C(-719162)     /* 0001-01-01 */
#define DAY_9999 INT64_C(2932896)     /* 9999-12-31 */
#define EXACT_IN_DOUBLE (INT64_C(1) << 53)

/* ---- Journal ---- */

struct mr_tk_mark mr_tk_mark(const struct mr_tracker *tk)
{
    return (struct mr_tk_mark){tk->undo_count, tk->touched_count, tk->count, tk->changed};
}

void mr_tk_undo_to(struct mr_tracker *tk, struct mr_tk_mark mark)
{
    while (tk->touched_count > mark.touched) {
        uint32_t touch = tk->touched[--tk->touched_count];
        if (touch / 32 < mark.columns)
            tk->columns[touch / 32]->pub.counts[touch % 32]--;
    }
    while (tk->undo_count > mark.undo) {
        const struct mr_tk_undo *undo = &tk->undo[--tk->undo_count];
        if (undo->column >= mark.columns)
            continue;
        struct mr_tk_column *col = tk->columns[undo->column];
        col->pub.facts = undo->facts;
        if (undo->facts_only)
            continue;
        col->pub.type = undo->type;
        col->pub.widened = undo->widened;
        col->pub.widened_from = undo->widened_from;
        col->seen = MR_TYPE(MR_T_NONE);
    }
    while (tk->count > mark.columns)
        mr_tk_remove_last(tk);
    tk->changed = mark.changed;
}

static struct mr_tk_undo *remember(struct mr_tracker *tk, uint32_t column)
{
    if (tk->undo_count == tk->undo_cap)
        tk->undo = mr_xgrow(tk->undo, &tk->undo_cap, tk->undo_count + 1, sizeof(*tk->undo));
    struct mr_tk_undo *undo = &tk->undo[tk->undo_count++];
    undo->column = column;
    undo->facts_only = true;
    undo->facts = tk->columns[column]->pub.facts;
    return undo;
}

static inline void count_kind(struct mr_tracker *tk, struct mr_tk_column *col, uint32_t column, uint32_t kind)
{
    if (tk->touched_count == tk->touched_cap)
        tk->touched = mr_xgrow(tk->touched, &tk->touched_cap, tk->touched_count + 1, sizeof(*tk->touched));
    tk->touched[tk->touched_count++] = column * 32 + kind;
    col->pub.counts[kind]++;
    col->pub.dirty = true;
}

void mr_tk_count(struct mr_tracker *tk, uint32_t column, enum mr_type_kind kind)
{
    count_kind(tk, tk->columns[column], column, kind);
}

/* What decides whether an int64 column may become float64 must be known before it is needed; and a decimal that is a double as long as that is enough
 * becomes one of digits with the first number that wants it, whether or not that number is still there when the batch is written. */
static void watch_exactness(struct mr_tracker *tk, const struct mr_tk_column *col, uint64_t max_abs, bool has_inexact)
{
    const struct mr_facts *now = &col->pub.facts;

    if (col->pub.type.kind == MR_T_INT64 && max_abs <= EXACT_IN_DOUBLE && now->max_abs > EXACT_IN_DOUBLE)
        tk->beyond_double = tk->changed = true;
    if (tk->dialect->keeps_doubles && col->pub.type.kind == MR_T_DECIMAL && col->pub.type.open && now->has_inexact && !has_inexact)
        tk->changed = true;
}

void mr_tk_learn(struct mr_tracker *tk, uint32_t column, const struct mr_facts *facts)
{
    struct mr_facts *have = &tk->columns[column]->pub.facts;
    struct mr_facts sum = *have;

    mr_facts_add(&sum, facts);
    if (sum.int_digits == have->int_digits && sum.frac_digits == have->frac_digits &&
        sum.max_abs == have->max_abs && sum.max_len == have->max_len &&
        sum.has_special == have->has_special && sum.has_fraction == have->has_fraction &&
        sum.has_negative_time == have->has_negative_time && sum.has_inexact == have->has_inexact)
        return;
    struct mr_facts before = *have;
    remember(tk, column);
    *have = sum;
    watch_exactness(tk, tk->columns[column], before.max_abs, before.has_inexact);
}

void mr_tk_set_type(struct mr_tracker *tk, uint32_t column, struct mr_type type)
{
    struct mr_tk_column *col = tk->columns[column];
    struct mr_tk_undo *undo = remember(tk, column);

    undo->facts_only = false;
    undo->type = col->pub.type;
    undo->widened = col->pub.widened;
    undo->widened_from = col->pub.widened_from;
    col->pub.dirty = true;
    if (!mr_type_eq(col->pub.type, type)) {
        col->pub.widened_from = col->pub.type;
        col->pub.widened = mr_tk_place(tk);
        tk->changed = true;
    }
    col->pub.type = type;
    col->seen = MR_TYPE(MR_T_NONE); /* what is declared is to be held against the new type */
}

void mr_tracker_row_begin(struct mr_tracker *tk, const struct mr_place *place)
{
    tk->place = *place;
    tk->undo_count = 0;
    tk->touched_count = 0;
    tk->row = mr_tk_mark(tk);
}

void mr_tracker_row_commit(struct mr_tracker *tk)
{
    tk->undo_count = 0;
    tk->touched_count = 0;
    tk->row = mr_tk_mark(tk);
}

void mr_tracker_row_rollback(struct mr_tracker *tk)
{
    mr_tk_undo_to(tk, tk->row);
}

/* ---- Fast path ---- */

/* Column of a path, -1 unknown. The place where the field stood is tried first. */
static inline int find_column(struct mr_tracker *tk, struct mr_str path, size_t hint, bool is_key)
{
    struct mr_tk_hints *hints = &tk->hints[is_key];

    if (hint < hints->count && hints->column[hint] < tk->count) {
        struct mr_str known = tk->columns[hints->column[hint]]->pub.path;
        if (known.len == path.len && (path.len == 0 || memcmp(known.ptr, path.ptr, path.len) == 0))
            return (int)hints->column[hint];
    }
    int found = mr_tk_find(tk, path);
    if (found < 0 || hint >= MAX_HINTS)
        return found;
    if (hint >= hints->count) {
        size_t count = hints->count ? hints->count : 16;
        while (count <= hint)
            count *= 2;
        hints->column = mr_xrealloc(hints->column, count * sizeof(*hints->column));
        for (size_t i = hints->count; i < count; i++)
            hints->column[i] = UINT32_MAX;
        hints->count = count;
    }
    hints->column[hint] = (uint32_t)found;
    return found;
}

static inline bool same_type(struct mr_type a, struct mr_type b)
{
    return (a.kind == b.kind) & (a.element == b.element) & (a.precision == b.precision) & (a.scale == b.scale) & (a.open == b.open);
}

static void learn_whole(struct mr_tracker *tk, uint32_t column, uint64_t abs)
{
    struct mr_facts *facts = &tk->columns[column]->pub.facts;
    uint32_t digits = 1;
    struct mr_facts before = *facts;

    remember(tk, column);
    facts->max_abs = abs;
    facts->has_inexact |= abs > MR_EXACT_IN_DOUBLE;
    watch_exactness(tk, tk->columns[column], before.max_abs, before.has_inexact);
    for (; abs >= 10; abs /= 10)
        digits++;
    if (digits > facts->int_digits)
        facts->int_digits = digits;
}

static inline bool int_fast(struct mr_tracker *tk, struct mr_tk_column *col, uint32_t column, int64_t i)
{
    switch (col->pub.type.kind) {
    case MR_T_INT64:
        break;
    case MR_T_INT32:
        if (i != (int32_t)i)
            return false;
        break;
    case MR_T_INT16:
        if (i != (int16_t)i)
            return false;
        break;
    case MR_T_FLOAT64:
        if (i > EXACT_IN_DOUBLE || i < -EXACT_IN_DOUBLE)
            return false;
        break;
    case MR_T_DECIMAL:
        if (!col->pub.type.open)
            return false;
        break;
    default:
        return false;
    }
    uint64_t abs = i < 0 ? UINT64_C(0) - (uint64_t)i : (uint64_t)i;
    if (abs > col->pub.facts.max_abs)
        learn_whole(tk, column, abs);
    return true;
}

/* A number's text in a column for decimals. */
static bool number_fast(struct mr_tracker *tk, const struct mr_tk_column *col, uint32_t column, struct mr_value v)
{
    struct mr_decimal_info info;
    struct mr_type type = col->pub.type;

    if (type.open && v.len > EXACT_DIGITS && !col->pub.facts.has_inexact && tk->dialect->keeps_doubles)
        return false; /* the slow path learns whether a double holds it */
    if (type.kind != MR_T_DECIMAL || v.len > SAFE_DIGITS || !mr_decimal_parse(mr_value_str(v), &info) ||
        info.int_digits + info.frac_digits > SAFE_DIGITS)
        return false;
    if (!type.open && (info.frac_digits > (type.scale > 0 ? (uint32_t)type.scale : 0) ||
                       info.int_digits + (uint32_t)type.scale > type.precision))
        return false;
    /* A decimal column never becomes an integer again, so its largest |n| is not asked for. */
    if (info.int_digits <= col->pub.facts.int_digits && info.frac_digits <= col->pub.facts.frac_digits)
        return true;
    struct mr_facts facts = mr_facts_of(v);
    mr_tk_learn(tk, column, &facts);
    return true;
}

static inline bool len_fast(struct mr_tracker *tk, struct mr_tk_column *col, uint32_t column, bool is_key,
                            struct mr_value v)
{
    if (v.flags || v.len > (is_key ? MR_SAFE_KEY_LEN : MR_SAFE_LEN))
        return false;
    if (v.len > col->pub.facts.max_len) {
        remember(tk, column);
        col->pub.facts.max_len = v.len;
    }
    return true;
}

static inline bool float_fast(const struct mr_tk_column *col, double f)
{
    const struct mr_facts *facts = &col->pub.facts;
    double abs = fabs(f);

    if (!isfinite(f))
        return false;
    /* The slow path learns: that there are fractions, and the largest whole number. */
    if (abs != floor(abs) ? !facts->has_fraction
                          : facts->max_abs != UINT64_MAX && (abs >= 0x1p64 || (uint64_t)abs > facts->max_abs))
        return false;
    return col->pub.type.kind == MR_T_FLOAT64 || (col->pub.type.kind == MR_T_FLOAT32 && mr_float32_holds(f));
}

static inline bool fits_fast(struct mr_tracker *tk, struct mr_tk_column *col, uint32_t column, bool is_key,
                             struct mr_value v)
{
    uint8_t kind = col->pub.type.kind;

    switch ((enum mr_tag)v.tag) {
    case MR_V_INT:
        return int_fast(tk, col, column, v.i);
    case MR_V_TEXT:
        return kind == MR_T_TEXT && len_fast(tk, col, column, is_key, v);
    case MR_V_NULL:
        return !is_key;
    case MR_V_NUMBER:
        return number_fast(tk, col, column, v);
    case MR_V_FLOAT:
        return float_fast(col, v.f);
    case MR_V_BOOL:
        return kind == MR_T_BOOL;
    case MR_V_BYTES:
        return kind == MR_T_BYTES && len_fast(tk, col, column, is_key, v);
    case MR_V_JSON:
        return kind == MR_T_JSON && !v.flags && tk->dialect->holds(col->pub.type, is_key, v, NULL) == MR_OK &&
               len_fast(tk, col, column, is_key, v);
    case MR_V_DATE:
        return kind == MR_T_DATE && v.i >= DAY_0001 && v.i <= DAY_9999;
    case MR_V_TIMESTAMP:
        return kind == MR_T_TIMESTAMP && v.i >= DAY_0001 * MR_US_PER_DAY && v.i < (DAY_9999 + 1) * MR_US_PER_DAY;
    case MR_V_TIMESTAMPTZ:
        return kind == MR_T_TIMESTAMPTZ && v.i >= DAY_0001 * MR_US_PER_DAY && v.i < (DAY_9999 + 1) * MR_US_PER_DAY;
    case MR_V_TIME:
    case MR_V_DURATION:
        return (kind == MR_T_TIME || kind == MR_T_DURATION) && v.i >= 0 && v.i < MR_US_PER_DAY;
    case MR_V_UUID:
        return kind == MR_T_UUID;
    case MR_V_BITS:
        return kind == MR_T_BITS && (col->pub.type.precision == 0 || col->pub.type.precision == v.len);
    case MR_V_ARRAY: /* its elements are looked at one by one */
    case MR_V_ABSENT:
    case MR_V_UNAVAILABLE:
    case MR_V_PATCH:
    case MR_V_INVALID:
        return false;
    }
    return false;
}

enum mr_type_kind mr_tk_shown(const struct mr_field *field)
{
    static const uint8_t kind_of[] = {
        [MR_V_BOOL] = MR_T_BOOL,           [MR_V_INT] = MR_T_INT64,
        [MR_V_NUMBER] = MR_T_DECIMAL,      [MR_V_FLOAT] = MR_T_FLOAT64,
        [MR_V_TEXT] = MR_T_TEXT,           [MR_V_BYTES] = MR_T_BYTES,
        [MR_V_DATE] = MR_T_DATE,           [MR_V_TIME] = MR_T_TIME,
        [MR_V_DURATION] = MR_T_DURATION,   [MR_V_TIMESTAMP] = MR_T_TIMESTAMP,
        [MR_V_TIMESTAMPTZ] = MR_T_TIMESTAMPTZ, [MR_V_UUID] = MR_T_UUID,
        [MR_V_BITS] = MR_T_BITS,           [MR_V_JSON] = MR_T_JSON,
        [MR_V_INVALID] = MR_T_NONE,        [MR_V_ARRAY] = MR_T_ARRAY,
    };

    if (field->value.tag == MR_V_NULL)
        return MR_T_NONE;
    if (field->type.kind != MR_T_NONE)
        return (enum mr_type_kind)field->type.kind;
    return (enum mr_type_kind)kind_of[field->value.tag];
}

enum mr_verdict mr_tracker_field(struct mr_tracker *tk, const struct mr_field *field, size_t hint,
                                 bool is_key, struct mr_arena *ar, uint32_t *column, int *nulled,
                                 struct mr_value *value, struct mr_error *err)
{
    int found = find_column(tk, field->path, hint, is_key);

    *nulled = -1;
    if (found >= 0) {
        struct mr_tk_column *col = tk->columns[found];
        bool declared = field->type.origin == MR_SCHEMA && field->type.kind != MR_T_NONE;
        is_key |= col->pub.is_key;
        if ((!declared || same_type(field->type, col->seen)) && !col->unwritable &&
            fits_fast(tk, col, (uint32_t)found, is_key, field->value)) {
            count_kind(tk, col, (uint32_t)found, mr_tk_shown(field));
            *column = (uint32_t)found;
            *value = field->value;
            return MR_VERDICT_OK;
        }
    }
    struct mr_tk_judge j = {
        .tk = tk,
        .field = field,
        .v = field->value,
        .col = found >= 0 ? tk->columns[found] : NULL,
        .index = found >= 0 ? (uint32_t)found : UINT32_MAX,
        .is_key = is_key,
        .ar = ar,
        .err = err,
    };
    return mr_tk_judge(&j, column, nulled, value);
}
